/* SPDX-License-Identifier: MIT */
/*
 * restless THREADS: threads that allocate, load and unload a library, take signals, fork, wait in
 * system calls and launch kernels, until standard input ends. Prints "ready" when all have begun,
 * at the end the number of launches, or what went wrong.
 *
 * No system call may end early but by a signal, and signals are handled with SA_RESTART: so any
 * EINTR of a read is a fault.
 */
#include "gpu.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <thread>
#include <unistd.h>
#include <vector>

GPU_KERNEL(restless_work)

static std::atomic<bool> ends;
static std::atomic<unsigned long> launches, begun, faults;

static void on_signal(int)
{
}

static void launch_some(cudaStream_t stream)
{
	GPU_CHECK(GPU_LAUNCH(stream, 20000, restless_work));
	launches++;
}

static void load_and_unload()
{
	void *library = dlopen("libresolv.so.2", RTLD_NOW);

	if (library)
		dlclose(library);
}

static void allocate()
{
	std::vector<void *> all;

	for (size_t i = 1; i < 40; i++)
		all.push_back(std::malloc(i * 997));
	for (void *memory : all)
		std::free(memory);
}

static void check_pipe()
{
	int ends_of[2];
	char byte = 0;

	if (pipe(ends_of) != 0)
		return;
	std::thread writer([&] {
		usleep(3000);
		if (write(ends_of[1], "x", 1) != 1)
			faults++;
	});
	if (read(ends_of[0], &byte, 1) != 1 || byte != 'x') {
		fprintf(stderr, "read: %s\n", strerror(errno));
		faults++;
	}
	writer.join();
	close(ends_of[0]);
	close(ends_of[1]);
}

static void run(unsigned int number, pthread_t first)
{
	cudaStream_t stream;

	GPU_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	begun++;
	while (!ends) {
		launch_some(stream);
		allocate();
		if (number % 4 == 1)
			load_and_unload();
		if (number % 4 == 2)
			check_pipe();
		if (number % 8 == 3)
			pthread_kill(first, SIGUSR1);
		usleep(2000);
	}
	GPU_CHECK(cudaStreamSynchronize(stream));
}

int main(int argc, char **argv)
{
	unsigned int count = argc > 1 ? (unsigned int)strtoul(argv[1], nullptr, 10) : 4;
	std::vector<std::thread> threads;
	struct sigaction action = {};
	char byte;
	ssize_t n;

	action.sa_handler = on_signal;
	action.sa_flags = SA_RESTART;
	sigaction(SIGUSR1, &action, nullptr);
	for (unsigned int i = 0; i < count; i++)
		threads.emplace_back(run, i, pthread_self());
	while (begun < count)
		usleep(1000);
	printf("ready\n");
	fflush(stdout);
	while ((n = read(STDIN_FILENO, &byte, 1)) > 0)
		;
	if (n < 0) {
		fprintf(stderr, "standard input: %s\n", strerror(errno));
		faults++;
	}
	ends = true;
	for (std::thread &thread : threads)
		thread.join();
	printf("%lu\n", launches.load());
	return faults ? 1 : 0;
}
