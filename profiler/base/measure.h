/* SPDX-License-Identifier: MIT */
/*
 * Describes what a run measures, as chosen on the command line.
 *
 * Every module that depends on a choice gets the whole struct.
 */
#ifndef PROFILER_BASE_MEASURE_H
#define PROFILER_BASE_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define MEASURE_MAX_HZ 10000      /* samples per second on a CPU */
#define MEASURE_RANGES_BYTES 2048 /* size of `ranges`, including the NUL */
#define MEASURE_RANGES_SEPARATOR "\x1f"

struct measure {
	bool samples_cpu, traces_gpu;
	uint32_t frequency_hz; /* rate of CPU samples */
	bool probes_launches;  /* launch stacks come from uprobes, not from the process */
	bool kernels_only;     /* omit copies, sets, allocations, migrations */
	bool unified_memory;   /* include migrations and page faults */
	bool whole_graphs;     /* a graph launch is one operation */
	bool device_graphs;    /* include graphs that kernels launch */
	bool python_lines;     /* Python frames with line numbers */
	bool native_python;    /* keep frames of the interpreter itself */
	bool nvtx;             /* NVTX ranges as frames of launch stacks */
	bool ops;              /* PyTorch's operators as frames of launch stacks */
	bool modules;          /* PyTorch's modules as frames of launch stacks */
	bool thread_origin;    /* put threads below the stacks that created them */
	bool wall;             /* include time off the CPU */
	bool kernel_waits;     /* `wall` with kernel functions */
	bool idle;             /* include activity of launching threads while GPUs were idle */
	bool api;              /* totals of all CUDA calls */
	bool memory;           /* each allocation until it is freed */
	bool counters;         /* hardware counters of some launches */
	bool errors;           /* failed CUDA calls */
	bool waits;            /* include time in calls that wait for the GPU */
	/* overhead limit of launch stacks, in 1/1000 % of a thread's time; 0: no limit */
	uint32_t max_overhead;
	uint32_t budget;       /* limit for recording GPU work, in 1/1000 % of the time; 0: none */
	uint32_t stall_period; /* PC samples of kernels every 2^n cycles; 0: none */
	bool launch_shapes;    /* table of kernel launch shapes */
	bool exact_stalls;     /* stalls by launch; kernels run serially */
	bool devices;          /* device names, and contexts that are MPS clients */
	bool attached;         /* attached to running processes */
	bool alone;            /* recorded by the library alone: a trace (INJECTION_TRACE) */
	bool injects; /* inject the library into attached processes; else time their calls */
	/* recording starts so long after the command, ns; or MEASURE_UNTIL_TOLD */
	uint64_t delay_ns;
	uint64_t duration_ns; /* length of the recording, ns; 0: until the command ends */
	/* recorded ranges, joined by MEASURE_RANGES_SEPARATOR; NULL: everything */
	const char *ranges;
	uint64_t last_ns; /* keep only the last so many ns; 0: everything */
};

/* Delay until session_begin_time_range. */
#define MEASURE_UNTIL_TOLD UINT64_MAX

/*
 * Returns whether the program sends some of its launches only. The work of others is left out,
 * which CUPTI records, too.
 */
static inline bool measure_selects_launches(const struct measure *m)
{
	return m->ranges || m->budget;
}

/* Copies the names of `ranges`, separated by commas and cut to `size`. */
static inline void measure_range_names(const char *ranges, char *out, size_t size)
{
	snprintf(out, size, "%s", ranges);
	for (char *at = out; *at; at++)
		if (*at == MEASURE_RANGES_SEPARATOR[0])
			*at = ',';
}

/* Selects hardware counters and the launches to read them for. */
#define COUNTER_REQUEST_METRICS_BYTES 3900
#define COUNTER_REQUEST_KERNELS_BYTES 1000
struct counter_request {
	const char *metrics; /* names separated by commas */
	const char *kernels; /* a pattern of mangled names; NULL: all */
	uint32_t launches;   /* number per kernel; 0: all */
};

/* Returns the time that one CPU sample stands for, ns. Returns 0 if there are no samples. */
static inline uint64_t measure_sample_ns(uint32_t frequency_hz)
{
	return frequency_hz ? UINT64_C(1000000000) / frequency_hz : 0;
}

#endif
