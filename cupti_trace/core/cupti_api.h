/* SPDX-License-Identifier: MIT */
/*
 * Finds the right libcupti for this process and resolves the functions we use.
 *
 * libcupti is rarely on the loader's path, and several may be installed; the one used must be the
 * one that the program's own CUDA belongs to. In this order:
 *   1. one that is mapped already (PyTorch maps its own);
 *   2. beside the process's own libcudart (also the layout of NVIDIA's wheels, where it lies in a
 *      sibling package);
 *   3. in the folders of $LD_LIBRARY_PATH: set on purpose for the program;
 *   4. under $CUDA_HOME and $CUDA_PATH;
 *   5. in the usual toolkit folders under /usr/local and /opt;
 *   6. wherever ld.so finds libcupti.so.13, .12, .11 or libcupti.so.
 * One that lacks functions or cannot be used (a driver may be too old for it) is passed over; if
 * none is left, the first of them is the one that errors are about.
 */
#ifndef CUPTI_TRACE_CORE_CUPTI_API_H
#define CUPTI_TRACE_CORE_CUPTI_API_H

#include <stdbool.h>
#include "cupti_trace/core/cupti_abi.h"

#define CUPTI_API_PATH_MAX 1024
#define CUPTI_API_LOOKED_MAX 3000
#define CUPTI_API_TRIES_MAX 4 /* libraries: each is large */

struct cupti_api {
	void *handle;
#define X(name, required, parameters) int(*name) parameters;
	CUPTI_ABI_FUNCTIONS(X)
#undef X
	uint32_t version;              /* cuptiGetVersion */
	char path[CUPTI_API_PATH_MAX]; /* what was loaded */
	/*
	 * For the error, separated by '\n': places tried; files there that could not be loaded, and
	 * why.
	 */
	char looked[CUPTI_API_LOOKED_MAX];
	/* while loading */
	const struct cupti_api_use *use;
	void *tried[CUPTI_API_TRIES_MAX]; /* handles of those passed over */
	uint32_t tried_count;
	int first_error; /* of those, or the one that ended the search; and whose it is */
	char first_path[CUPTI_API_PATH_MAX];
	uint32_t first_version;
};

/*
 * What the caller finds out when it begins to use `api`, which is complete: 0, or an error that
 * another library might not have, or one that ends the search.
 */
struct cupti_api_use {
	int (*begin)(void *context, struct cupti_api *api);
	bool (*is_final)(void *context, int error);
	void *context;
};

/*
 * 0, or -ENOENT (no library; see `looked`), or -ENOSYS (it lacks a function; `path` says which
 * library), or the error of `use`. Libraries are never unloaded: CUPTI has threads and hooks of its
 * own.
 */
int cupti_api_load(struct cupti_api *api, const struct cupti_api_use *use);

/* CUPTI's name for a result. Never NULL. */
const char *cupti_api_error(const struct cupti_api *api, int result);

#endif
