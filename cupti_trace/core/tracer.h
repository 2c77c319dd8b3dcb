/* SPDX-License-Identifier: MIT */
/*
 * The one state of the injection library: one traced process, from the driver's initialization to
 * its exit. inject.c starts it, flusher.c and inject.c stop it, callback.c and outflow.c feed it.
 */
#ifndef CUPTI_TRACE_CORE_TRACER_H
#define CUPTI_TRACE_CORE_TRACER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>
#include <unistd.h>
#include "cupti_trace/core/buffers.h"
#include "cupti_trace/core/clock.h"
#include "cupti_trace/core/cupti_api.h"
#include "cupti_trace/core/names.h"
#include "cupti_trace/core/sink.h"
#include "cupti_trace/wire/trace_config.h"
#include "cupti_trace/wire/time_range.h"
#include "cupti_trace/wire/work_tally.h"

/*
 * OFF -> ON: inject.c has started it, with a profiler or a trace. ON -> LEAVING: what there is was
 * sent (outflow_send_rest). OFF -> ALONE: tracers want CUPTI. Any -> OFF: outflow_turn_off, or in a
 * child of fork.
 */
enum tracer_phase {
	TRACER_OFF, /* hooks do nothing */
	TRACER_ON,
	TRACER_LEAVING, /* the goodbye was sent: what comes later is sent at once */
	TRACER_ALONE,   /* there is no profiler; hooks fire probes */
	/* with one of those above: calls fire probes */
	TRACER_PROBES_CALLS = 4,
	/* with TRACER_ON or TRACER_LEAVING: outside of what is recorded; launches are not logged */
	TRACER_IDLE = 8,
	TRACER_FLAGS = TRACER_PROBES_CALLS | TRACER_IDLE,
};

/* How the library was started: chosen before anything else. */
enum tracer_start {
	START_WITH_CUDA, /* by the driver, for a profiler or a trace */
	START_LATE,      /* by a profiler, in a process that ran already; again when it has left */
	START_ALONE,     /* by the driver without a profiler, for tracers */
};

/* Steps that are taken once in a process, in this order. */
enum tracer_stage {
	STAGE_NEW,
	STAGE_BEGUN,  /* CUPTI has been used */
	STAGE_HOOKED, /* and there are handlers of forks and exits */
};

/*
 * The records of devices. A kind that is enabled makes them wanted, a context makes wanted ones
 * due, and what settles them is a record that comes, or that they are asked for again.
 */
enum tracer_devices {
	DEVICES_SETTLED, /* or of no interest */
	DEVICES_WANTED,
	DEVICES_DUE, /* there is a context, and no record has come */
};

/*
 * The process's exit. AHEAD -> CALLED: its handler says goodbye. CALLED -> LATE_WORK: a launch is
 * logged after that. LATE_WORK -> CALLED: it is sent. Any -> AHEAD: the library has left.
 */
enum tracer_exit { EXIT_AHEAD, EXIT_CALLED, EXIT_LATE_WORK };

struct tracer {
	/* read at each launch */
	_Atomic int phase;          /* enum tracer_phase */
	struct trace_config config; /* what the profiler asks for, and can be had */
	struct buffers buffers;

	enum tracer_start start;
	enum tracer_stage stage;
	uint32_t probes;     /* those that are served: probes.h */
	_Atomic pid_t owner; /* the process this state belongs to; another after fork */
	_Atomic uint64_t captures, capture_ns; /* of launch stacks; counted when verbose */
	char pipe_path[CUPTI_API_PATH_MAX];
	struct cupti_api api;
	cupti_abi_subscriber subscriber; /* NULL: not subscribed */
	struct sink sink;
	pthread_mutex_t clock_lock;
	struct clock_map clock;
	uint64_t began_ns;           /* records were asked for then */
	pthread_mutex_t record_lock; /* names, tally, and the order of records in the pipe */
	struct names names;
	struct work_tally tally;
	bool records_copies; /* CUPTI records copies and sets */
	_Atomic bool watches_uvm, reported_device_launch;
	_Atomic bool has_conditionals;    /* the program has made conditional nodes */
	_Atomic int devices;              /* enum tracer_devices */
	_Atomic uint64_t void_launches;   /* not yet sent: callback_send_voids */
	_Atomic int exit;                 /* enum tracer_exit */
	_Atomic uint64_t code_generation; /* dlpi_adds that the profiler knows */
	struct time_range time_range;     /* what is recorded */
	_Atomic bool skips_unended;       /* it is over: what has not ended will have no record */
};

/* Returns whether it records, in this process and no child of it. */
static inline bool tracer_is_on(struct tracer *tracer)
{
	return atomic_load(&tracer->phase) != TRACER_OFF && atomic_load(&tracer->owner) == getpid();
}

static inline bool tracer_is_late(const struct tracer *tracer)
{
	return tracer->start == START_LATE;
}

static inline bool tracer_is_alone(const struct tracer *tracer)
{
	return tracer->start == START_ALONE;
}

/* Returns whether there is more to a stack than taking it: it is limited (stack_sampling.h), or
 * timed. */
static inline bool tracer_minds_stacks(const struct tracer *tracer)
{
	return tracer->config.verbose || tracer->config.max_overhead;
}

/* Returns whether hardware counters of chosen launches are read: hw_counters.h. */
static inline bool tracer_reads_counters(const struct tracer *tracer)
{
	return tracer->config.metrics;
}

/* Changes a state from `from` to `to`. False: it was another one, and stays. */
static inline bool tracer_moves(_Atomic int *state, int from, int to)
{
	return atomic_compare_exchange_strong(state, &from, to);
}

/* Returns whether what begins now is in the part of the run that is recorded. */
static inline bool tracer_records_now(const struct tracer *tracer)
{
	return !time_range_is_part(&tracer->time_range) ||
	       time_range_has(&tracer->time_range, clock_now_ns());
}

/* Sends the profiler a notice about this process. */
void tracer_notice(struct tracer *tracer, enum gpu_notice code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Sends `event` (a hello or maps event that requests an acknowledgement) and waits until the
 * profiler has answered, is gone, or ACK_TIMEOUT_MS have passed. After one question without an
 * answer it waits again only once the profiler has read what was written until then.
 */
#define ACK_TIMEOUT_MS 5000
/* In a process that runs already, where a thread of ours waits until recording begins. */
#define LATE_ACK_TIMEOUT_MS 15000
void tracer_ask(struct tracer *tracer, const struct gpu_event *event);

/* Sends an allocation or release that CUPTI has no record of, at a time of CUPTI's clock. */
void tracer_send_memory(struct tracer *tracer, const struct gpu_event_work *event,
			uint64_t timestamp);

/* Sends that a context, by its handle, ends now. */
void tracer_send_context_end(struct tracer *tracer, void *context);

/* Sends what a hook has logged after the goodbye. */
void tracer_send_late(struct tracer *tracer);

/* Makes CUPTI hand over complete records, or with `all` every record. */
void tracer_flush(struct tracer *tracer, bool all);

/* Has the flusher thread do so for complete records, FLUSH_PAUSE_MS after its last time. */
#define FLUSH_PAUSE_MS 2
void tracer_flush_soon(void);

#endif
