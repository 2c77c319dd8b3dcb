/* SPDX-License-Identifier: MIT */
/*
 * Makes a rank's run: steps of a kernel and an AllReduce, which ends at one time in all ranks. Rank
 * 1 comes 5 ms late to each AllReduce. Uses own_folder.h.
 */
#ifndef TESTS_UNIT_MADE_RANKS_H
#define TESTS_UNIT_MADE_RANKS_H

#include "made_timeline.h"

#define RANKS_STEPS 100u
#define RANKS_STEP_NS UINT64_C(20000000)
#define RANKS_COMPUTE_NS UINT64_C(10000000)
#define RANKS_LATE_NS UINT64_C(5000000)
#define RANKS_REDUCE_NS UINT64_C(2000000) /* counted from the last rank's start */

/* The clock of the rank's machine, for what is made next. */
static struct made_clock {
	uint32_t machine;
	int64_t ahead_ns;   /* offset of the wall clock */
	double drift;       /* drift of CLOCK_MONOTONIC, ns per ns */
	bool is_exact;      /* the kernel says so, truly or not */
	uint32_t jitter_ns; /* jitter of steps */
} made_clock;

static inline uint64_t made_step_ns(uint32_t step)
{
	uint64_t jitter_ns =
		made_clock.jitter_ns ? step * UINT64_C(7919000) % made_clock.jitter_ns : 0;

	return step * RANKS_STEP_NS + jitter_ns;
}

static inline uint64_t made_clock_ns(uint64_t since_ns)
{
	return since_ns + (uint64_t)(int64_t)(made_clock.drift * (double)since_ns);
}

static inline void made_rank_begin(struct made_timeline *m, uint32_t rank, uint32_t size)
{
	struct totals *t = &m->made.result.totals;
	static char made_host[16];

	made_timeline_begin(m);
	t->command = "python3 train.py";
	t->start_ns = UINT64_C(1000000000) * (1 + made_clock.machine);
	t->start_unix_ns = UINT64_C(1700000000000000000) + (uint64_t)made_clock.ahead_ns;
	t->wall_error_ns = made_clock.is_exact ? 1000 : 0;
	t->elapsed_ns = RANKS_STEPS * RANKS_STEP_NS;
	snprintf(made_host, sizeof(made_host), "node%u", made_clock.machine);
	t->host = made_host;
	t->boot = (struct boot_id){{7, 8 + made_clock.machine}};
	t->job = (struct job_rank){.is_known = true, .rank = rank, .size = size};
	t->measure.traces_gpu = true;
	m->ledger.pipe.processes = 1;
	place_names_add_process(
		&m->made.place_names,
		&(struct process_info){.id = 1, .pid = (pid_t)(4000 + rank), .name = "python3"});
}

/* Adds work of `ns` to each step, `start_ns` after the step's start. */
static inline uint32_t made_steps(struct made_timeline *m, uint32_t outer, const char *name,
				  uint64_t start_ns, uint64_t ns)
{
	uint32_t stack = made_push(&m->made, outer, name);
	const struct place place = {{1, 12, 0, 1, 7}};
	struct row row = {
		.kind = ROW_GPU, .stack = stack, .count = RANKS_STEPS, .ns = RANKS_STEPS * ns};

	m->made.frames[m->made.stacks[stack].frame].class = CLASS_GPU_KERNEL;
	m->made.frames[m->made.stacks[stack].frame].short_name += strlen("[GPU_Kernel]");
	for (uint32_t i = 0; i < RANKS_STEPS; i++)
		made_record(m, (struct timeline_record){
				       .kind = TIMELINE_GPU_OPERATION,
				       .start_ns = m->made.result.totals.start_ns +
						   made_clock_ns(made_step_ns(i) + start_ns),
				       .duration_ns = ns,
				       .place = made_place(m, 1, 12, 0, 7),
				       .stack = {stack}});
	made_add_at(&m->made, &row, place);
	return stack;
}

/* Makes the whole run of a rank, with kernels of these names. */
static inline void made_rank(struct made_timeline *m, uint32_t rank, uint32_t size,
			     const char *kernel, const char *collective)
{
	uint64_t compute_ns = RANKS_COMPUTE_NS + (rank == 1 ? RANKS_LATE_NS : 0);
	uint64_t end_ns = RANKS_COMPUTE_NS + RANKS_LATE_NS + RANKS_REDUCE_NS;
	uint32_t step, call;
	struct result *r = &m->made.result;

	made_rank_begin(m, rank, size);
	step = MADE_STACK(&m->made, "main", "train_step");
	call = made_push(&m->made, step, "cudaLaunchKernel");
	made_steps(m, call, kernel, 0, compute_ns);
	call = made_push(&m->made, step, "all_reduce");
	call = made_push(&m->made, call, "cudaLaunchKernel");
	made_steps(m, call, collective, compute_ns, end_ns - compute_ns);
	r->processes = m->made.place_names.processes;
	r->process_count = m->made.place_names.process_count;
	r->record_stack_count = r->stack_count;
	r->timeline = m->timeline;
	m->made.frames[0].name = m->made.frames[0].short_name = ""; /* the frame of no stack */
	assert_int_equal(timeline_finish(m->timeline), 0);
}

#endif
