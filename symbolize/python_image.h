/* SPDX-License-Identifier: MIT */
/*
 * Finds CPython in an executable or library: its version, its offsets, its state and its evaluation
 * loop.
 *
 * Reads the untrusted file, not the process.
 */
#ifndef SYMBOLIZE_PYTHON_IMAGE_H
#define SYMBOLIZE_PYTHON_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include "symbolize/python_loop.h"
#include "symbolize/python_offsets.h"
#include "symbolize/python_trampoline.h"
#include "symbolize/util/table_quota.h"

#define PYTHON_SEGMENTS 4

struct python_image {
	uint32_t hex; /* PY_VERSION_HEX; before 3.11, without the micro version */
	struct python_offsets offsets;
	/* the file's own addresses: add the load address */
	uint64_t runtime;       /* _PyRuntime */
	uint64_t runtime_bytes; /* 0: unknown */
	uint64_t code_type;     /* PyCode_Type; 0: unknown */
	uint64_t text_type;     /* PyUnicode_Type; 0: unknown */
	/* segments of code, in the order of the file's headers */
	uint32_t segment_count;
	struct python_segment {
		uint64_t address, offset, size;
	} segments[PYTHON_SEGMENTS];
	enum python_trampoline_form trampoline;
	struct python_loop loop; /* unknown perhaps, if python_offsets_have_anchors() */
};

/*
 * Returns whether a file of this name may be CPython: "python3.11", "libpython3.so.1.0". Programs
 * that embed CPython have other names.
 */
bool python_image_is_candidate(const char *path);

/*
 * Reads the file open as `fd`. `path`: its name, which tells versions before 3.11. Uses symbols, or
 * from 3.13 on the section .PyRuntime. Reads are taken from `share` and stay taken. Returns 0;
 * -ENOENT: no CPython; -ENOTSUP: an unknown version, with `hex` set; or -errno.
 */
int python_image_read(int fd, const char *path, struct quota_share *share,
		      struct python_image *image);

/* Converts a file offset to an address in the file; 0: no code. */
uint64_t python_image_address(const struct python_image *image, uint64_t file_offset);

/* Returns whether the return address at `file_offset` is in the loop, by the byte before. */
bool python_image_in_loop(const struct python_image *image, uint64_t file_offset);

#endif
