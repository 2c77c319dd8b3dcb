/* SPDX-License-Identifier: MIT */
/* Any bytes as the file of an interpreter, by each kind of name: what is found is inside it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "symbolize/python_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_loop(const struct python_loop *loop)
{
	if (loop->count > PYTHON_LOOP_PARTS)
		abort();
	for (uint32_t i = 0; i < loop->count; i++)
		if (loop->parts[i].start >= loop->parts[i].end ||
		    loop->parts[i].start < loop->module_start ||
		    loop->parts[i].end > loop->module_end)
			abort();
}

static void check_image(const struct python_image *image, size_t size)
{
	uint32_t found = 0;

	if (image->segment_count == 0 || image->segment_count > PYTHON_SEGMENTS)
		abort();
	if (image->loop.count == 0 && !python_offsets_have_anchors(&image->offsets))
		abort();
	check_loop(&image->loop);
	for (uint64_t offset = 0; offset < size; offset += 3)
		found += python_image_in_loop(image, offset);
	if (found > 0 && image->loop.count == 0)
		abort();
	python_image_in_loop(image, UINT64_MAX);
	python_image_address(image, UINT64_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const paths[] = {"/usr/bin/python3.8", "/lib/libpython3.12.so.1.0",
					    "/opt/engine"};
	struct quota_share share;
	struct python_image image;
	uint64_t limit;
	int fd;

	if (size == 0)
		return 0;
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		/* the file decides whether its tables fit */
		limit = 2 * size + ((uint64_t)data[size - 1] << 8);
		quota_share_open(&share, limit);
		if (python_image_read(fd, paths[i], &share, &image) == 0)
			check_image(&image, size);
		if (quota_share_close(&share) > limit)
			abort();
	}
	close(fd);
	return 0;
}
