/* SPDX-License-Identifier: MIT */
/*
 * idle_gpu MODE: a program whose GPUs are idle for known reasons. Each loader ends in a launch of a
 * kernel of 2 ms, for which it waits. Prints, for each loader, its device and how many ns it took
 * by its own clock while its device was idle.
 *
 * MODE: loaders (three, in turn: one sleeps, one reads from a pipe that has nothing yet, one
 * computes) | short (one that sleeps for 300 us at a time) | devices (a thread on each of two, one
 * of which sleeps while the other computes) | busy (kernels of 20 ms, all launched at once)
 */
#include "gpu.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "burn.h"

enum { ROUNDS = 25, LOAD_NS = 20000000, KERNEL_NS = 2000000, BUSY_NS = 20000000, BUSY = 40 };

GPU_KERNEL(step)

struct loader {
	const char *name;
	int device;
	void (*load)(void);
	uint64_t ns;
};

static int wanted[2], fed[2]; /* pipes */

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void sleep_ns(long ns)
{
	struct timespec ts = {0, ns};

	nanosleep(&ts, NULL);
}

NOINLINE static void load_sleeps(void)
{
	sleep_ns(LOAD_NS);
}

NOINLINE static void load_reads(void)
{
	char byte;

	if (write(wanted[1], "", 1) != 1 || read(fed[0], &byte, 1) != 1)
		exit(3);
}

NOINLINE static void load_computes(void)
{
	burn(LOAD_NS);
}

NOINLINE static void load_shortly(void)
{
	for (int i = 0; i < 100; i++)
		sleep_ns(300000);
}

static void *feed_slowly(void *)
{
	char byte;

	while (read(wanted[0], &byte, 1) == 1) {
		sleep_ns(LOAD_NS);
		if (write(fed[1], "", 1) != 1)
			exit(3);
	}
	return NULL;
}

NOINLINE static void run_step(struct loader *loader)
{
	uint64_t start = now_ns();

	loader->load();
	loader->ns += now_ns() - start;
	GPU_CHECK(GPU_LAUNCH(0, KERNEL_NS, step));
	GPU_CHECK(cudaDeviceSynchronize());
}

static void *run_loader(void *argument)
{
	struct loader *loader = (struct loader *)argument;

	GPU_CHECK(cudaSetDevice(loader->device));
	/* nothing before the first operation */
	GPU_CHECK(GPU_LAUNCH(0, KERNEL_NS, step));
	GPU_CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < ROUNDS; i++)
		run_step(loader);
	return NULL;
}

static void print(const struct loader *loader)
{
	printf("%s %d %llu\n", loader->name, loader->device, (unsigned long long)loader->ns);
}

static void run_in_turn(void)
{
	struct loader loaders[] = {{"load_sleeps", 0, load_sleeps, 0},
				   {"load_reads", 0, load_reads, 0},
				   {"load_computes", 0, load_computes, 0}};
	pthread_t feeder;

	if (pipe(wanted) != 0 || pipe(fed) != 0 ||
	    pthread_create(&feeder, NULL, feed_slowly, NULL) != 0)
		exit(3);
	GPU_CHECK(GPU_LAUNCH(0, KERNEL_NS, step));
	GPU_CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < ROUNDS; i++)
		for (struct loader &loader : loaders)
			run_step(&loader);
	for (struct loader &loader : loaders)
		print(&loader);
}

static void run_devices(void)
{
	struct loader loaders[] = {{"load_sleeps", 0, load_sleeps, 0},
				   {"load_computes", 1, load_computes, 0}};
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, run_loader, &loaders[i]) != 0)
			exit(3);
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		print(&loaders[i]);
	}
}

int main(int argc, char **argv)
{
	struct loader shortly = {"load_shortly", 0, load_shortly, 0};
	const char *mode = argc > 1 ? argv[1] : "loaders";

	if (strcmp(mode, "loaders") == 0) {
		run_in_turn();
	} else if (strcmp(mode, "short") == 0) {
		run_loader(&shortly);
		print(&shortly);
	} else if (strcmp(mode, "devices") == 0) {
		run_devices();
	} else if (strcmp(mode, "busy") == 0) {
		for (int i = 0; i < BUSY; i++)
			GPU_CHECK(GPU_LAUNCH(0, BUSY_NS, step));
		GPU_CHECK(cudaDeviceSynchronize());
	} else {
		fprintf(stderr, "unknown mode %s\n", mode);
		return 2;
	}
	return 0;
}
