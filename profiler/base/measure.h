/* SPDX-License-Identifier: MIT */
/*
 * What a run measures, as the command line says. Each part that depends on it gets it whole.
 */
#ifndef PROFILER_BASE_MEASURE_H
#define PROFILER_BASE_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define MEASURE_MAX_HZ 10000      /* samples per second on a CPU */
#define MEASURE_RANGES_BYTES 2048 /* of `ranges`, with the end */
#define MEASURE_RANGES_SEPARATOR "\x1f"

struct measure {
	bool samples_cpu, traces_gpu;
	uint32_t frequency_hz; /* of CPU samples */
	bool probes_launches;  /* launch stacks by uprobe, not in the process */
	bool kernels_only;     /* no copies, sets, allocations, migrations */
	bool unified_memory;   /* its migrations and page faults, too */
	bool whole_graphs;     /* a graph's launch as one piece of work */
	bool device_graphs;    /* graphs that kernels launch, too */
	bool python_lines;     /* Python frames with line numbers */
	bool native_python;    /* keep the interpreter's own frames */
	bool nvtx;             /* NVTX ranges as frames of launch stacks */
	bool thread_origin;    /* threads below the stacks that created them */
	bool wall;             /* time off the CPU, too */
	bool kernel_waits;     /* that, with the kernel's functions */
	bool idle;             /* what launching threads did while GPUs were idle, too */
	bool api;              /* sums of all calls of CUDA */
	bool memory;           /* each allocation, to its release */
	bool counters;         /* hardware counters of some launches */
	bool errors;           /* calls of CUDA that fail */
	bool waits;            /* time in calls that wait for the GPU, too */
	/* what launch stacks may take of a thread's time, in thousandths of a percent; 0: all */
	uint32_t max_overhead;
	uint32_t stall_period; /* PC samples of kernels every 2^n cycles; 0: none */
	bool launch_shapes;    /* of kernels, as a table */
	bool exact_stalls;     /* these by launch; kernels run one after the other */
	bool devices;          /* their names, and which contexts are MPS clients */
	bool attached;         /* processes that ran before */
	bool alone;            /* by the library without a profiler: a trace (INJECTION_TRACE) */
	bool injects;          /* the library is brought into these; else their calls are timed */
	/* what is recorded begins this long after the command; MEASURE_UNTIL_TOLD */
	uint64_t delay_ns;
	uint64_t duration_ns; /* and lasts this long; 0: to the command's end */
	/* names of ranges that are recorded, with MEASURE_RANGES_SEPARATOR between; NULL: all */
	const char *ranges;
	uint64_t last_ns; /* only the last part of it, so long; 0: all */
};

/* As a delay: until session_begin_time_range. */
#define MEASURE_UNTIL_TOLD UINT64_MAX

/* The names of `ranges` with commas between, cut if there is less room. */
static inline void measure_range_names(const char *ranges, char *out, size_t size)
{
	snprintf(out, size, "%s", ranges);
	for (char *at = out; *at; at++)
		if (*at == MEASURE_RANGES_SEPARATOR[0])
			*at = ',';
}

/* Which hardware counters are read, and of what. */
#define COUNTER_REQUEST_METRICS_BYTES 3900
#define COUNTER_REQUEST_KERNELS_BYTES 1000
struct counter_request {
	const char *metrics; /* names separated by commas */
	const char *kernels; /* a pattern of mangled names; NULL: all */
	uint32_t launches;   /* of each kernel; 0: all */
};

/* The time that a CPU sample stands for at this frequency; 0: there are none. */
static inline uint64_t measure_sample_ns(uint32_t frequency_hz)
{
	return frequency_hz ? UINT64_C(1000000000) / frequency_hz : 0;
}

#endif
