/* SPDX-License-Identifier: MIT */
/*
 * paged [THREADS=20]: threads launch on stacks whose pages another thread of the program supplies
 * as they are touched (userfaultfd), for which it allocates memory. Ends with status 77 where the
 * kernel does not allow it.
 */
#include "host.h"

#include <atomic>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

GPU_KERNEL(tiny)

enum { PAGE = 4096, STACK_BYTES = 1 << 20, EACH = 30, DEPTH = 10, REFUSED = 77 };

static int faults_fd;
static std::atomic<bool> ends;
static std::atomic<long> faults;
static long launches;

static void bring_page(uint64_t address)
{
	void *page = calloc(1, 2 * PAGE);
	uint64_t from = ((uint64_t)(uintptr_t)page + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	struct uffdio_copy copy = {};

	copy.dst = address & ~(uint64_t)(PAGE - 1);
	copy.src = from;
	copy.len = PAGE;
	HOST_CHECK(ioctl(faults_fd, UFFDIO_COPY, &copy) == 0 || errno == EEXIST);
	free(page);
	faults++;
}

static void *bring_pages(void *)
{
	struct pollfd ready = {faults_fd, POLLIN, 0};
	struct uffd_msg message;

	while (!ends)
		if (poll(&ready, 1, 10) > 0 &&
		    read(faults_fd, &message, sizeof(message)) == sizeof(message))
			bring_page(message.arg.pagefault.address);
	return nullptr;
}

NOINLINE static void launch_at_depth(int depth)
{
	volatile char room[PAGE + PAGE / 2];

	room[0] = 1;
	if (depth > 0)
		launch_at_depth(depth - 1);
	else
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, tiny));
	room[1] = room[0];
}

static void *launch_some(void *)
{
	for (int i = 0; i < EACH; i++, launches++)
		launch_at_depth(i % DEPTH);
	return nullptr;
}

static void run_thread()
{
	void *stack = mmap(nullptr, STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register range = {};
	pthread_attr_t attributes;
	pthread_t thread;

	HOST_CHECK(stack != MAP_FAILED);
	range.range.start = (uint64_t)(uintptr_t)stack;
	range.range.len = STACK_BYTES;
	range.mode = UFFDIO_REGISTER_MODE_MISSING;
	HOST_CHECK(ioctl(faults_fd, UFFDIO_REGISTER, &range) == 0);
	pthread_attr_init(&attributes);
	HOST_CHECK(pthread_attr_setstack(&attributes, stack, STACK_BYTES) == 0 &&
		   pthread_create(&thread, &attributes, launch_some, nullptr) == 0);
	pthread_join(thread, nullptr);
	pthread_attr_destroy(&attributes);
	munmap(stack, STACK_BYTES);
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 20;
	struct uffdio_api api = {};
	pthread_t pager;

	faults_fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	api.api = UFFD_API;
	if (faults_fd < 0 || ioctl(faults_fd, UFFDIO_API, &api) != 0)
		return REFUSED;
	launch_some(nullptr);
	HOST_CHECK(pthread_create(&pager, nullptr, bring_pages, nullptr) == 0);
	for (int i = 0; i < threads; i++)
		run_thread();
	ends = true;
	pthread_join(pager, nullptr);
	HOST_CHECK(faults >= threads);
	GPU_CHECK(cudaDeviceSynchronize());
	printf("launches %ld\n", launches);
	return 0;
}
