/* SPDX-License-Identifier: MIT */
/*
 * switches ROUNDS: what --wall costs at a switch. Two threads on one CPU switch to each other over
 * pipes, for some 25 ms at a time, after a few ms in which new threads have most of their stacks
 * taken. In each round they do so without the BPF programs, before and
 * after, and while these are attached, in turns followed and not. Prints, of the median turn of
 * each kind against the same round's without them, the CPU time that a switch takes more, and how
 * many percent of a CPU, and of all, that is at 100,000 switches a second. Then how long the
 * program at switches ran itself, by the kernel's count (BPF_ENABLE_STATS), which contains one
 * reading of a clock, with a pair of threads that lives ten times as long. Needs root. `make
 * bench`.
 */
#include <bpf/bpf.h>
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "profiler/sources/bpf_source.h"

enum { FIRST_PINGS = 500, PINGS = 3000, TURNS = 10, ROUNDS_MAX = 1000 };

static int ping[2], pong[2], pings = PINGS;

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *answer(void *arg)
{
	char c;

	for (int i = 0; i < FIRST_PINGS + pings; i++)
		if (read(ping[0], &c, 1) != 1 || write(pong[1], &c, 1) != 1)
			abort();
	return arg;
}

/* Into `ns`: the CPU time for each switch. */
static void *ask(void *ns)
{
	double begin_ns = 0;
	char c = 0;

	for (int i = 0; i < FIRST_PINGS + pings; i++) {
		if (i == FIRST_PINGS)
			begin_ns = cpu_ns();
		if (write(ping[1], &c, 1) != 1 || read(pong[0], &c, 1) != 1)
			abort();
	}
	*(double *)ns = (cpu_ns() - begin_ns) / (2.0 * pings);
	return NULL;
}

/* CPU time for each switch, in ns, of two new threads. */
static double switch_often(void)
{
	pthread_t first, second;
	double ns = 0;

	if (pthread_create(&first, NULL, answer, NULL) != 0 ||
	    pthread_create(&second, NULL, ask, &ns) != 0)
		abort();
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	return ns;
}

/* Reads how often this process's program at switches has run, and for how long. */
static void read_runs(uint64_t *runs, uint64_t *ns)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;

	*runs = *ns = 0;
	while (folder && (entry = readdir(folder))) {
		int fd = (int)strtol(entry->d_name, NULL, 10);
		char path[300], target[64] = "";
		struct bpf_prog_info info = {0};
		uint32_t size = sizeof(info);

		snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
		if (readlink(path, target, sizeof(target) - 1) <= 0 ||
		    !strstr(target, "bpf-prog") || bpf_obj_get_info_by_fd(fd, &info, &size) != 0 ||
		    strncmp(info.name, "on_switch", strlen("on_switch")) != 0)
			continue;
		*runs += info.run_cnt;
		*ns += info.run_time_ns;
	}
	if (folder)
		closedir(folder);
}

static struct bpf_source *open_source(void)
{
	char error[512] = "";
	struct bpf_source *s =
		bpf_source_open(&(struct bpf_source_options){.times = true}, error, sizeof(error));

	if (!s) {
		fprintf(stderr, "%s\n", error);
		exit(1);
	}
	return s;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median_of(double *values, int count)
{
	qsort(values, (size_t)count, sizeof(*values), compare);
	return values[count / 2];
}

static void print(const char *what, double *values, int count, bool is_cost)
{
	double median = median_of(values, count);

	printf("  %-22s %5.0f (quartiles %.0f, %.0f)", what, median, values[count / 4],
	       values[count * 3 / 4]);
	if (is_cost) /* 100,000 times so many ns of a second's 1e9, in percent */
		printf(": %.1f %% of a CPU, %.2f %% of the machine's %ld", median / 100,
		       median / 100 / (double)sysconf(_SC_NPROCESSORS_ONLN),
		       sysconf(_SC_NPROCESSORS_ONLN));
	printf("\n");
}

int main(int argc, char **argv)
{
	static double alone[ROUNDS_MAX], beside[ROUNDS_MAX], followed[ROUNDS_MAX], run[ROUNDS_MAX];
	int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 11;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (rounds < 1 || rounds > ROUNDS_MAX || pipe(ping) != 0 || pipe(pong) != 0 ||
	    sched_setaffinity(0, sizeof(one), &one) != 0)
		return 1;
	for (int i = 0; i < rounds; i++) {
		double without[2 * TURNS], beside_turns[TURNS], followed_turns[TURNS];
		struct bpf_source *s;
		uint64_t runs, ns;
		int stats;

		for (int j = 0; j < TURNS; j++)
			without[j] = switch_often();
		s = open_source();
		for (int j = 0; j < TURNS; j++) {
			beside_turns[j] = switch_often();
			if (bpf_source_track(s, getpid()) != 0)
				return 1;
			followed_turns[j] = switch_often();
			bpf_source_untrack(s, getpid());
		}
		bpf_source_track(s, getpid());
		stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
		pings = TURNS *
			PINGS; /* by two threads, whose first stacks are few among so many */
		switch_often();
		pings = PINGS;
		read_runs(&runs, &ns);
		if (stats >= 0)
			close(stats);
		bpf_source_close(s);
		for (int j = TURNS; j < 2 * TURNS; j++)
			without[j] = switch_often();
		alone[i] = median_of(without, 2 * TURNS);
		beside[i] = median_of(beside_turns, TURNS) - alone[i];
		followed[i] = median_of(followed_turns, TURNS) - alone[i];
		run[i] = runs ? (double)ns / (double)runs : 0;
	}
	printf("a switch between threads, ns of CPU time (median of %d rounds):\n", rounds);
	print("alone", alone, rounds, false);
	print("not followed, more", beside, rounds, true);
	print("followed, more", followed, rounds, true);
	print("the program itself", run, rounds, false);
	return 0;
}
