/* SPDX-License-Identifier: MIT */
/*
 * The version of an executable or library that contains CPython, its offsets, and where its state
 * and its evaluation loop are. Reads the untrusted file, not the process.
 */
#ifndef SYMBOLIZE_PYTHON_IMAGE_H
#define SYMBOLIZE_PYTHON_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include "symbolize/budget.h"
#include "symbolize/python_loop.h"
#include "symbolize/python_offsets.h"

struct python_image {
	uint32_t hex; /* PY_VERSION_HEX; before 3.11, without the micro version */
	struct python_offsets offsets;
	/* the file's own addresses: add the load address */
	uint64_t runtime;                         /* _PyRuntime */
	uint64_t code_type;                       /* PyCode_Type; 0: unknown */
	uint64_t text_type;                       /* PyUnicode_Type; 0: unknown */
	uint64_t segment_address, segment_offset; /* of the segment with the loop's code */
	struct python_loop loop;
};

/* Whether a file of this name may be CPython: "python3.11", "libpython3.so.1.0". */
bool python_image_is_candidate(const char *path);

/*
 * Reads the file open as `fd`; `path` is its name, which determines the version before 3.11. Reads
 * are taken from `share` and stay taken. 0; -ENOENT: no CPython; -ENOTSUP: an unknown version,
 * `hex` is set; or -errno.
 */
int python_image_read(int fd, const char *path, struct budget_share *share,
		      struct python_image *image);

/* Whether the code at `file_offset` (a return address: the byte before it) is in the loop. */
bool python_image_in_loop(const struct python_image *image, uint64_t file_offset);

#endif
