/* SPDX-License-Identifier: MIT */
/*
 * Finds the right libcupti for this process and resolves the functions we use.
 *
 * libcupti is rarely on the loader's path, and several may be installed. The right one belongs to
 * the CUDA that the program uses. Searched in this order:
 *
 *  1. a libcupti that is mapped already (PyTorch maps its own);
 *  2. beside the process's own libcudart, or in a sibling package, as in NVIDIA's wheels;
 *  3. in the folders of $LD_LIBRARY_PATH: set on purpose for the program;
 *  4. under $CUDA_HOME and $CUDA_PATH;
 *  5. in the usual toolkit folders under /usr/local and /opt;
 *  6. wherever ld.so finds libcupti.so.13, .12, .11 or libcupti.so.
 *
 * Libraries that lack functions or cannot be used (a driver may be too old) are skipped. If none is
 * left, errors are about the first of them.
 */
#ifndef CUPTI_TRACE_CORE_CUPTI_API_H
#define CUPTI_TRACE_CORE_CUPTI_API_H

#include <stdbool.h>
#include "cupti_trace/core/cupti_abi.h"

#define CUPTI_API_PATH_MAX 1024
#define CUPTI_API_LOOKED_MAX 3000
#define CUPTI_API_TRIES_MAX 4 /* limit of libraries tried: each is large */

struct cupti_api {
	void *handle;
#define X(name, required, parameters) int(*name) parameters;
	CUPTI_ABI_FUNCTIONS(X)
#undef X
	uint32_t version;              /* cuptiGetVersion */
	char path[CUPTI_API_PATH_MAX]; /* path of the loaded library */
	/*
	 * For the error, separated by '\n': places tried; files there that could not be loaded, and
	 * why.
	 */
	char looked[CUPTI_API_LOOKED_MAX];
	/* set while loading */
	const struct cupti_api_use *use;
	void *tried[CUPTI_API_TRIES_MAX]; /* handles of skipped libraries */
	uint32_t tried_count;
	int first_error; /* first error of the search, or the error that ended it */
	char first_path[CUPTI_API_PATH_MAX];
	uint32_t first_version;
};

/*
 * Checks whether the caller can use `api`, which is complete. Returns 0, an error that another
 * library might not have, or an error that ends the search.
 */
struct cupti_api_use {
	int (*begin)(void *context, struct cupti_api *api);
	bool (*is_final)(void *context, int error);
	void *context;
};

/*
 * Finds and loads libcupti. Returns 0, -ENOENT (no library; see `looked`), -ENOSYS (`path` lacks a
 * function), or the error of `use`. Libraries are never unloaded: CUPTI has threads and hooks of
 * its own.
 */
int cupti_api_load(struct cupti_api *api, const struct cupti_api_use *use);

/* Returns CUPTI's name for a function of the runtime or driver; NULL: there is none. */
const char *cupti_api_function(const struct cupti_api *api, uint32_t domain, uint32_t cbid);

/* Returns CUPTI's name for a result. Never NULL. */
const char *cupti_api_error(const struct cupti_api *api, int result);

#endif
