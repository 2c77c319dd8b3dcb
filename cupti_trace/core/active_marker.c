// SPDX-License-Identifier: MIT
#include "cupti_trace/core/active_marker.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>
#include "cupti_trace/wire/gpu_wire.h"

#define SIZE 4096u

static void *_Atomic mark;

void active_marker_begin(void)
{
	int fd = memfd_create(GPU_WIRE_ACTIVE_MARKER, MFD_CLOEXEC);
	void *memory = MAP_FAILED;

	if (fd < 0)
		return;
	if (ftruncate(fd, SIZE) == 0)
		memory = mmap(NULL, SIZE, PROT_NONE, MAP_SHARED, fd, 0);
	close(fd);
	if (memory == MAP_FAILED)
		return;
	madvise(memory, SIZE, MADV_DONTFORK);
	atomic_store(&mark, memory);
}

void active_marker_end(void)
{
	void *memory = atomic_exchange(&mark, NULL);

	if (memory)
		munmap(memory, SIZE);
}
