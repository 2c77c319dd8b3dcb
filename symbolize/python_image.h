/* SPDX-License-Identifier: MIT */
/*
 * What an executable or library that holds CPython says of itself: version, offsets, where its
 * state and its evaluation loop lie. Read from the file, without trust in it; the process is not
 * needed.
 */
#ifndef SYMBOLIZE_PYTHON_IMAGE_H
#define SYMBOLIZE_PYTHON_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include "symbolize/budget.h"
#include "symbolize/python_loop.h"
#include "symbolize/python_offsets.h"

struct python_image {
	uint32_t hex; /* PY_VERSION_HEX; of versions before 3.11, without the micro version */
	struct python_offsets offsets;
	/* the file's own addresses: add where it is mapped */
	uint64_t runtime;                         /* _PyRuntime */
	uint64_t code_type;                       /* PyCode_Type; 0: not known */
	uint64_t text_type;                       /* PyUnicode_Type; 0: not known */
	uint64_t segment_address, segment_offset; /* of the segment with the loop's code */
	struct python_loop loop;
};

/* Whether a file of this name may be one: "python3.11", "libpython3.so.1.0". */
bool python_image_is_candidate(const char *path);

/*
 * Reads the file open as `fd`; `path` is its name, which tells the version before 3.11. What is
 * read is taken from `share` and stays taken. 0; -ENOENT: it holds no CPython; -ENOTSUP: of a
 * version that is not known, `hex` is set; or -errno.
 */
int python_image_read(int fd, const char *path, struct budget_share *share,
		      struct python_image *image);

/* Whether the code at `file_offset` (a return address: the byte before it) is in the loop. */
bool python_image_in_loop(const struct python_image *image, uint64_t file_offset);

#endif
