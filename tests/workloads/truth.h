/* SPDX-License-Identifier: MIT */
/*
 * Lets a program on the stand-ins know what its GPUs did, and why they were idle: the truth that a
 * profile of it is compared with.
 *
 * The stand-in tells when each piece of work runs (fake_cuda_follow_work). The program says what
 * its threads do: truth::phase(truth::LOADER) holds for the calling thread until the next phase.
 * Idle time of a device is charged to the phases of the thread whose launch ended it. If work began
 * QUEUE_NS or more after its launch, that time is charged to the queue. A thread that takes more
 * than STALL_NS from one launch to the next does not launch all the time, for example where others
 * have its processor. That time is host code.
 *
 * So the shares are right on a busy machine, too. They are of the steady part, from the first
 * launch of the first step after the warm-up to the end of the last work.
 *
 * truth::print writes lines for tests/findings/doses:
 *
 *	truth steps 100
 *	truth share loader 498         permille of the steady part
 *	truth start_up 62              permille of the program's time, until the first work
 *	truth working_ns 1034000000    from the first work to the end of the last
 *	truth answer loader            what a verdict may say, any of these words
 *	truth want autotuning          a finding that there must be
 *
 * Times are in ns, CLOCK_MONOTONIC.
 */
#ifndef TESTS_WORKLOADS_TRUTH_H
#define TESTS_WORKLOADS_TRUTH_H

#include "../fake_cuda/fake_cuda.h"
#include "../fake_cuda/fake_nvtx.h"

#include <algorithm>
#include <dlfcn.h>
#include <memory>
#include <mutex>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vector>

namespace truth
{

/* Uses of a device, in the words of a verdict. Each one hides those after it. */
enum use {
	COMPUTING,
	COLLECTIVES,
	WAITING_FOR_RANK, /* in a collective */
	COPIES,
	LOADER,
	HOST_CODE,
	LAUNCHING,
	SYNCHRONIZING,
	QUEUED,
	USES
};

enum { QUEUE_NS = 20000, STALL_NS = 200000 };

static const char *const words[USES] = {
	"computing", "exposed_collectives", "waiting_for_rank", "exposed_copies", "loader",
	"host_code", "launching",           "synchronizing",    "queued",
};

static inline uint64_t now()
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

struct moment {
	uint64_t from;
	use what;
};

/* A thread's phases, in order of time; written by the thread itself. */
struct thread_log {
	std::vector<moment> phases;
};

struct work {
	uint64_t start, end, launched;
	use what;
	uint32_t device;
	const thread_log *thread;
};

struct span {
	uint64_t start, end;
};

struct step_times {
	uint64_t begin, first_launch, end;
};

static struct {
	std::mutex lock; /* guards what follows */
	uint64_t begun;
	std::vector<std::unique_ptr<thread_log>> threads;
	std::vector<work> works;
	std::vector<span> waits; /* of a collective for a late rank */
	std::vector<step_times> steps;
	bool in_step, with_ranges;
} all;

static thread_local thread_log *own_log;
static thread_local bool own_steps;
static thread_local work last_work; /* that this thread launched */

static inline thread_log *log_of_thread()
{
	if (!own_log) {
		std::lock_guard<std::mutex> guard(all.lock);

		all.threads.push_back(std::make_unique<thread_log>());
		own_log = all.threads.back().get();
	}
	return own_log;
}

/* Says what the calling thread does from now on. */
static inline void phase(use what)
{
	std::vector<moment> &phases = log_of_thread()->phases;

	if (phases.empty() || phases.back().what != what)
		phases.push_back({now(), what});
}

static inline use use_of(const struct fake_cuda_activity *a)
{
	if (a->type != FAKE_CUDA_KERNEL)
		return COPIES;
	return a->name && strstr(a->name, "ncclDevKernel") ? COLLECTIVES : COMPUTING;
}

static inline void add_work(const struct fake_cuda_activity *a)
{
	work w = {a->start, a->end, now(), use_of(a), a->device_id, log_of_thread()};
	std::lock_guard<std::mutex> guard(all.lock);

	last_work = w;
	all.works.push_back(w);
	if (own_steps && all.in_step && !all.steps.back().first_launch)
		all.steps.back().first_launch = w.launched;
}

/* The work that the calling thread launched last. */
static inline const work &last()
{
	return last_work;
}

/* Follows the program's work from now on. `with_ranges`: each step is an NVTX range "step 17". */
static inline void begin(bool with_ranges = false)
{
	void (*follow)(void (*)(const struct fake_cuda_activity *));
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);

	all.begun = now();
	all.with_ranges = with_ranges;
	*(void **)&follow = driver ? dlsym(driver, "fake_cuda_follow_work") : nullptr;
	if (!follow) {
		fprintf(stderr, "this program runs on the stand-ins only\n");
		exit(2);
	}
	follow(add_work);
}

static inline void end_step()
{
	bool was_open = false;

	{
		std::lock_guard<std::mutex> guard(all.lock);

		if (all.in_step) {
			all.steps.back().end = now();
			was_open = true;
		}
		all.in_step = false;
	}
	if (was_open && all.with_ranges)
		nvtxRangePop();
}

/* Begins a step, and ends the one before. One thread has steps. */
static inline void step()
{
	char name[32];
	size_t number;

	end_step();
	{
		std::lock_guard<std::mutex> guard(all.lock);

		number = all.steps.size();
		all.steps.push_back({now(), 0, 0});
		all.in_step = own_steps = true;
	}
	snprintf(name, sizeof(name), "step %zu", number);
	if (all.with_ranges)
		nvtxRangePushA(name);
}

/* Says that collectives wait for a late rank then. */
static inline void waits_for_rank(uint64_t start, uint64_t end)
{
	std::lock_guard<std::mutex> guard(all.lock);

	if (end > start)
		all.waits.push_back({start, end});
}

struct shares {
	uint64_t ns[USES];
	uint64_t sum;

	void add(use what, uint64_t duration)
	{
		if (what == LAUNCHING && duration > STALL_NS)
			what = HOST_CODE;
		ns[what] += duration;
		sum += duration;
	}

	unsigned permille(use what) const
	{
		return sum ? (unsigned)(ns[what] * 1000 / sum) : 0;
	}
};

/* Charges idle time of the device of `next`, which it ended, to what its thread did. */
static inline void add_gap(shares &to, uint64_t from, uint64_t until, const work &next)
{
	const std::vector<moment> &phases = next.thread->phases;
	uint64_t launched = next.launched + QUEUE_NS < next.start ? next.launched : next.start;
	uint64_t at = from, end = std::min(until, std::max(from, launched));
	auto p = std::upper_bound(phases.begin(), phases.end(), from,
				  [](uint64_t ns, const moment &m) { return ns < m.from; });
	use what = p == phases.begin() ? HOST_CODE : (p - 1)->what;

	for (; p != phases.end() && p->from < end; ++p) {
		to.add(what, p->from - at);
		at = p->from;
		what = p->what;
	}
	to.add(what, end - at);
	to.add(QUEUED, until - end);
}

/* Charges a collective's time, of which a part may be waiting. */
static inline void add_collective(shares &to, uint64_t from, uint64_t until)
{
	uint64_t waited = 0;

	for (const span &w : all.waits)
		if (w.start < until && w.end > from)
			waited += std::min(w.end, until) - std::max(w.start, from);
	waited = std::min(waited, until - from);
	to.add(WAITING_FOR_RANK, waited);
	to.add(COLLECTIVES, until - from - waited);
}

/* Divides the time of a device, whose works are in order of their starts. */
static inline void divide(shares &to, const std::vector<work> &works, uint64_t from, uint64_t until)
{
	std::vector<uint64_t> edges;
	std::vector<const work *> runs;
	size_t next = 0;

	for (const work &w : works) {
		edges.push_back(w.start);
		edges.push_back(w.end);
	}
	std::sort(edges.begin(), edges.end());
	edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
	for (size_t i = 0; i + 1 < edges.size(); i++) {
		uint64_t a = std::max(edges[i], from), b = std::min(edges[i + 1], until);
		use what = USES;

		while (next < works.size() && works[next].start <= edges[i])
			runs.push_back(&works[next++]);
		runs.erase(std::remove_if(runs.begin(), runs.end(),
					  [&](const work *w) { return w->end <= edges[i]; }),
			   runs.end());
		for (const work *w : runs)
			what = std::min(what, w->what);
		if (a >= b)
			continue;
		if (what == COLLECTIVES)
			add_collective(to, a, b);
		else if (what != USES)
			to.add(what, b - a);
		else if (next < works.size())
			add_gap(to, a, b, works[next]);
	}
}

static inline std::vector<work> works_of(uint32_t device)
{
	std::vector<work> works;

	for (const work &w : all.works)
		if (w.device == device)
			works.push_back(w);
	std::stable_sort(works.begin(), works.end(),
			 [](const work &a, const work &b) { return a.start < b.start; });
	return works;
}

/* Returns the shares of all devices, from the step `warm_up` on. */
static inline shares divide_all(size_t warm_up)
{
	uint64_t from = 0, until = 0;
	shares s = {};

	for (const step_times &step : all.steps)
		if (warm_up-- == 0)
			from = step.first_launch;
	for (const work &w : all.works)
		until = std::max(until, w.end);
	for (uint32_t device = 0; device < 8; device++)
		divide(s, works_of(device), from, until);
	return s;
}

/* Prints how long the program took until its first work, and how long it had work. */
static inline void print_start_up()
{
	uint64_t first = UINT64_MAX, last = 0;

	for (const work &w : all.works) {
		first = std::min(first, w.start);
		last = std::max(last, w.end);
	}
	if (last == 0)
		return;
	printf("truth start_up %llu\n",
	       (unsigned long long)((first - all.begun) * 1000 / (last - all.begun)));
	printf("truth working_ns %llu\n", (unsigned long long)(last - first));
}

/* Writes a line for each step: its number, begin, first launch and end. */
static inline void write_steps(const char *file)
{
	FILE *f = fopen(file, "w");

	if (!f) {
		perror(file);
		exit(3);
	}
	for (size_t i = 0; i < all.steps.size(); i++)
		fprintf(f, "%zu %llu %llu %llu\n", i, (unsigned long long)all.steps[i].begin,
			(unsigned long long)all.steps[i].first_launch,
			(unsigned long long)all.steps[i].end);
	fclose(f);
}

/*
 * Prints the truth, when all threads have ended. `answers`: words, by spaces; NULL: those that are
 * true by the shares.
 */
static inline void print(const char *answers, size_t warm_up = 0, const char *want = nullptr)
{
	shares s;

	end_step();
	s = divide_all(warm_up);
	printf("truth steps %zu\ntruth warm_up %zu\n", all.steps.size(), warm_up);
	for (int i = 0; i < USES; i++)
		printf("truth share %s %u\n", words[i], s.permille((use)i));
	print_start_up();
	if (answers)
		printf("truth answer %s\n", answers);
	if (want)
		printf("truth want %s\n", want);
}

} // namespace truth

#endif
