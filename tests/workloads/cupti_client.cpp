/* SPDX-License-Identifier: MIT */
/*
 * cupti_client before|after|twice|title [KERNELS]: a program that uses CUPTI itself, as one with a
 * profiler inside does. It subscribes before its first CUDA call under a name (cuptiSubscribe_v2),
 * after it, or then twice, the second time under a name, launches KERNELS kernels (default 100) of
 * 20 us, and waits for them. With "title" it does not subscribe, but first writes over its
 * arguments and environment, as programs do that show a title there.
 *
 * Prints what cuptiSubscribe returned each time, how many launches and waits it made, and the wall
 * time around these, ns: the calls themselves took no longer.
 */
#include "gpu.h"

#include <dlfcn.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

GPU_KERNEL(client_kernel)

/* As in cupti_callbacks.h; the callback is never enabled for anything. */
struct subscriber_params {
	size_t size;
	const char *name;
	char *old_name;
	size_t old_size;
};
typedef void (*callback_fn)(void *, int, unsigned, const void *);
typedef int (*subscribe_fn)(void **, callback_fn, void *);
typedef int (*subscribe_v2_fn)(void **, callback_fn, void *, subscriber_params *);

static void on_callback(void *, int, unsigned, const void *)
{
}

/* A function of its own: the name of who asks. */
NOINLINE static int subscribe_client(bool named)
{
	static const char *const libraries[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
	subscriber_params params = {sizeof(params), "the client", NULL, 0};
	void *library = NULL, *subscriber, *subscribe;

	for (const char *name : libraries)
		if (!library)
			library = dlopen(name, RTLD_NOW);
	subscribe = library ? dlsym(library, named ? "cuptiSubscribe_v2" : "cuptiSubscribe") : NULL;
	if (!subscribe) {
		fprintf(stderr, "no libcupti with cuptiSubscribe_v2\n");
		exit(3);
	}
	if (named)
		return ((subscribe_v2_fn)subscribe)(&subscriber, on_callback, NULL, &params);
	return ((subscribe_fn)subscribe)(&subscriber, on_callback, NULL);
}

static gpu_ns wall_now()
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (gpu_ns)t.tv_sec * 1000000000u + (gpu_ns)t.tv_nsec;
}

NOINLINE static void work(int kernels)
{
	for (int i = 0; i < kernels; i++)
		GPU_CHECK(GPU_LAUNCH(0, 20000, client_kernel));
	GPU_CHECK(cudaDeviceSynchronize());
}

static void show_title(char **argv)
{
	char *begin = argv[0], *end = begin;

	for (char **e = environ; *e; e++) {
		end = *e + strlen(*e) + 1;
		*e = strdup(*e);
	}
	memset(begin, 0, (size_t)(end - begin));
	memcpy(begin, "worker: idle", sizeof("worker: idle"));
}

int main(int argc, char **argv)
{
	const char *when = argc > 1 ? strdup(argv[1]) : "after";
	int kernels = argc > 2 ? atoi(argv[2]) : 100, first = -1, second = -1;
	gpu_ns start;

	GPU_REGISTER(client_kernel);
	if (strcmp(when, "title") == 0)
		show_title(argv);
	if (strcmp(when, "before") == 0)
		first = subscribe_client(true);
	/* starts CUDA, and with it a profiler's library; is not timed, and calls nothing that is */
	GPU_CHECK(cudaSetDevice(0));
	if (strcmp(when, "after") == 0 || strcmp(when, "twice") == 0)
		first = subscribe_client(false);
	if (strcmp(when, "twice") == 0)
		second = subscribe_client(true);
	start = wall_now();
	work(kernels);
	printf("subscribe %d %d calls %d wall_ns %llu\n", first, second, kernels + 1,
	       wall_now() - start);
	return 0;
}
