/* SPDX-License-Identifier: MIT */
/* Settings from the environment, and the ground truth that a process writes. */
#define _GNU_SOURCE
#include "fake_timeline.h"
#include "../../cupti_trace/core/cupti_abi.h"
#include "visible.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A fixed point near today's CLOCK_REALTIME minus CLOCK_MONOTONIC, the same in every process. */
#define DEFAULT_CLOCK_OFFSET 1760000000000000000ull

static struct gpu_config config;
static pthread_once_t config_once = PTHREAD_ONCE_INIT;

static long long env_number(const char *name, long long otherwise)
{
	const char *text = getenv(name);
	char *end;
	long long n;

	if (!text || !*text)
		return otherwise;
	errno = 0;
	n = strtoll(text, &end, 10);
	return errno || *end ? otherwise : n;
}

/* A copy, or NULL: it is not set, or is empty. */
static const char *env_text(const char *name)
{
	const char *text = getenv(name);

	return text && *text ? strdup(text) : NULL;
}

static void config_read(void)
{
	long long devices = env_number("FAKE_CUDA_DEVICES", 1);

	config.clock_offset =
		(uint64_t)env_number("FAKE_CUDA_CLOCK_OFFSET_NS", (long long)DEFAULT_CLOCK_OFFSET);
	config.drift_ppm = env_number("FAKE_CUDA_DRIFT_PPM", 0);
	config.latency = (uint64_t)env_number("FAKE_CUDA_LATENCY_NS", 2000);
	config.launch = (uint64_t)env_number("FAKE_CUDA_LAUNCH_NS", 0);
	config.context = (uint64_t)env_number("FAKE_CUDA_CONTEXT_NS", 0);
	config.spins = env_number("FAKE_CUDA_SPIN", 0) != 0;
	config.default_duration = (uint64_t)env_number("FAKE_CUDA_KERNEL_NS", 1000);
	config.copy_duration = (uint64_t)env_number("FAKE_CUDA_COPY_NS", 2000);
	config.copy_bytes_per_us = (uint64_t)env_number("FAKE_CUDA_COPY_BYTES_PER_US", 10000);
	if (!config.copy_bytes_per_us)
		config.copy_bytes_per_us = 1;
	config.kill_after = (uint64_t)env_number("FAKE_CUDA_KILL_AFTER", 0);
	config.crash_after = (uint64_t)env_number("FAKE_CUDA_CRASH_AFTER", 0);
	config.internal_driver_calls = env_number("FAKE_CUDA_INTERNAL_DRIVER_CALLS", 0) != 0;
	config.body_correlation = (uint32_t)env_number("FAKE_CUDA_BODY_CORRELATION", 0);
	config.reuse_node_ids = env_number("FAKE_CUDA_REUSE_NODE_IDS", 0) != 0;
	config.memory_records = env_text("FAKE_CUDA_MEMORY_RECORDS");
	config.devices = devices < 0                 ? 0
			 : devices > GPU_MAX_DEVICES ? GPU_MAX_DEVICES
						     : (int)devices;
	config.devices = fake_cuda_visible(config.devices, NULL);
	config.totals = env_text("FAKE_CUDA_TOTALS");
}

const struct gpu_config *gpu_config(void)
{
	pthread_once(&config_once, config_read);
	return &config;
}

/* True if an earlier function of the list has this one's name. */
static bool listed_before(const struct fake_cuda_function *list, const struct fake_cuda_function *f)
{
	for (const struct fake_cuda_function *g = list; g != f; g = g->next)
		if (strcmp(g->name, f->name) == 0)
			return true;
	return false;
}

static void print_kernels(FILE *out, const struct fake_cuda_function *list)
{
	for (const struct fake_cuda_function *f = list; f; f = f->next) {
		uint64_t count = 0, ns = 0;

		if (listed_before(list, f))
			continue;
		for (const struct fake_cuda_function *g = f; g; g = g->next) {
			if (strcmp(g->name, f->name) == 0) {
				count += g->kernels;
				ns += g->ns;
			}
		}
		if (count)
			fprintf(out, "%d kernel %s %llu %llu\n", (int)getpid(), f->name,
				(unsigned long long)count, (unsigned long long)ns);
	}
}

static void print_sum(FILE *out, const char *what, const struct gpu_sum *s)
{
	if (s->count)
		fprintf(out, "%d %s %llu %llu %llu\n", (int)getpid(), what,
			(unsigned long long)s->count, (unsigned long long)s->ns,
			(unsigned long long)s->bytes);
}

static void print_sums(FILE *out, const struct gpu_sums *s)
{
	static const char *const copies[GPU_COPY_KINDS] = {
		"memcpy -",    "memcpy HtoD", "memcpy DtoH", "memcpy HtoA",
		"memcpy AtoH", "memcpy AtoA", "memcpy AtoD", "memcpy DtoA",
		"memcpy DtoD", "memcpy HtoH", "memcpy PtoP"};

	for (int i = 0; i < GPU_COPY_KINDS; i++)
		print_sum(out, copies[i], &s->copies[i]);
	print_sum(out, "memset -", &s->sets);
	print_sum(out, "memory alloc", &s->memory[CUPTI_ABI_MEMORY_ALLOCATION]);
	print_sum(out, "memory free", &s->memory[CUPTI_ABI_MEMORY_RELEASE]);
}

static void print_streams(FILE *out)
{
	static const char *const types[FAKE_CUDA_TIMELINE_TYPES] = {"kernel", "memcpy", "memset"};
	struct fake_cuda_stream *at = NULL;
	struct gpu_stream_sums s;
	char what[64];

	while (gpu_totals_stream(&at, &s)) {
		for (int i = 0; i < FAKE_CUDA_TIMELINE_TYPES; i++) {
			snprintf(what, sizeof(what), "sum %u %u %u %s", s.device_id, s.context_id,
				 s.stream_id, types[i]);
			print_sum(out, what, &s.sums[i]);
		}
	}
}

static void print_totals(FILE *out)
{
	const struct fake_cuda_function *list, *f;
	uint64_t launches, kernels, pending, count = 0, ns = 0;

	gpu_counts(&launches, &kernels);
	list = gpu_totals_begin(&pending);
	for (f = list; f; f = f->next) {
		count += f->kernels;
		ns += f->ns;
	}
	fprintf(out, "%d %llu %llu %llu %llu\n", (int)getpid(), (unsigned long long)launches,
		(unsigned long long)count, (unsigned long long)ns, (unsigned long long)pending);
	print_kernels(out, list);
	print_sums(out, gpu_totals_sums());
	print_streams(out);
	gpu_totals_end();
}

void gpu_write_totals(void)
{
	static int written;
	const char *path = gpu_config()->totals;
	char *text = NULL;
	size_t len = 0;
	FILE *out;
	int fd;

	if (!path || __atomic_exchange_n(&written, 1, __ATOMIC_ACQ_REL))
		return;
	out = open_memstream(&text, &len);
	if (!out)
		return;
	print_totals(out);
	fclose(out);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	/* One write, since processes share the file. A short one would show as a torn line. */
	if (fd >= 0 && write(fd, text, len) < 0)
		fprintf(stderr, "fake_cuda: %s: %s\n", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	free(text);
}
