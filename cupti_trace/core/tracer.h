/* SPDX-License-Identifier: MIT */
/*
 * Holds the one state of the injection library: one traced process, from the driver's
 * initialization to its exit. inject.c starts it, flusher.c and inject.c stop it, callback.c and
 * outflow.c feed it.
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
 * OFF -> ON: inject.c has started it, with a profiler or a trace. ON -> LEAVING: everything was
 * sent (outflow_send_rest). OFF -> ALONE: tracers want CUPTI. Any -> OFF: outflow_turn_off, or in a
 * child of fork.
 */
enum tracer_phase {
	TRACER_OFF, /* hooks do nothing */
	TRACER_ON,
	TRACER_LEAVING, /* the goodbye was sent: later events are sent at once */
	TRACER_ALONE,   /* there is no profiler; hooks fire probes */
	/* with TRACER_ON, LEAVING or ALONE: calls fire probes */
	TRACER_PROBES_CALLS = 4,
	/* with TRACER_ON or TRACER_LEAVING: outside the recorded range; launches are not logged */
	TRACER_IDLE = 8,
	/* with TRACER_ON or TRACER_LEAVING: launches are logged in windows only: duty_cycle.h */
	TRACER_IN_WINDOWS = 16,
	TRACER_FLAGS = TRACER_PROBES_CALLS | TRACER_IDLE | TRACER_IN_WINDOWS,
};

/* Start of the library: chosen before anything else. */
enum tracer_start {
	START_WITH_CUDA, /* by the driver, for a profiler or a trace */
	START_LATE,      /* by a profiler, in a running process; again when it has left */
	START_ALONE,     /* by the driver without a profiler, for tracers */
};

/* Steps that are taken once in a process, in this order. */
enum tracer_stage {
	STAGE_NEW,
	STAGE_BEGUN,  /* CUPTI has been used */
	STAGE_HOOKED, /* and handlers of forks and exits are registered */
};

/*
 * State of the records of devices. Enabling a kind makes them wanted; a context makes wanted ones
 * due. A record, or a new request for them, settles them.
 */
enum tracer_devices {
	DEVICES_SETTLED, /* or of no interest */
	DEVICES_WANTED,
	DEVICES_DUE, /* there is a context, and no record has come */
};

/*
 * State of the process's exit. AHEAD -> CALLED: its handler says goodbye. CALLED -> LATE_WORK: a
 * launch is logged after that. LATE_WORK -> CALLED: the launch is sent. Any -> AHEAD: the library
 * has left.
 */
enum tracer_exit { EXIT_AHEAD, EXIT_CALLED, EXIT_LATE_WORK };

struct tracer {
	/* read at each launch */
	_Atomic int phase;          /* enum tracer_phase */
	struct trace_config config; /* requested by the profiler, and available */
	struct buffers buffers;

	enum tracer_start start;
	enum tracer_stage stage;
	uint32_t probes;     /* probes that are served: probes.h */
	_Atomic pid_t owner; /* the process this state belongs to; another after fork */
	_Atomic uint64_t captures,
		capture_ns; /* number and time of captured launch stacks; counted when verbose */
	char pipe_path[CUPTI_API_PATH_MAX];
	struct cupti_api api;
	cupti_abi_subscriber subscriber; /* NULL: not subscribed */
	struct sink sink;
	pthread_mutex_t clock_lock;
	struct clock_map clock;
	uint64_t began_ns; /* time at which records were requested */
	/* protects names, tally, and the order of records in the pipe */
	pthread_mutex_t record_lock;
	struct names names;
	struct work_tally tally;
	bool records_copies; /* CUPTI records copies and sets */
	_Atomic bool watches_uvm, reported_device_launch;
	_Atomic bool has_conditionals;    /* the program has made conditional nodes */
	_Atomic int devices;              /* enum tracer_devices */
	_Atomic uint64_t void_launches;   /* not yet sent: callback_send_voids */
	_Atomic int exit;                 /* enum tracer_exit */
	_Atomic uint64_t code_generation; /* dlpi_adds that the profiler knows */
	struct time_range time_range;     /* recorded part of the run */
	_Atomic bool skips_unended; /* the range is over: unended operations will have no record */
};

/* Returns whether the tracer records, in this process and not in a child of it. */
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

/* Returns whether taking a stack needs more: it is sampled (stack_sampling.h), or timed. */
static inline bool tracer_minds_stacks(const struct tracer *tracer)
{
	return tracer->config.verbose || tracer->config.max_overhead;
}

/* Returns whether hardware counters of selected launches are read: hw_counters.h. */
static inline bool tracer_reads_counters(const struct tracer *tracer)
{
	return tracer->config.metrics;
}

/* Changes a state from `from` to `to`. Returns false if the state was another one, which stays. */
static inline bool tracer_moves(_Atomic int *state, int from, int to)
{
	return atomic_compare_exchange_strong(state, &from, to);
}

/* Returns whether events that begin now are in the recorded range. */
static inline bool tracer_records_now(const struct tracer *tracer)
{
	return !time_range_is_part(&tracer->time_range) ||
	       time_range_has(&tracer->time_range, clock_now_ns());
}

/* Sends the profiler a notice about this process. */
void tracer_notice(struct tracer *tracer, enum gpu_notice code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Sends a notice that something failed, with CUPTI's result; nothing if it succeeded. */
void tracer_notice_result(struct tracer *tracer, enum gpu_notice code, const char *what,
			  int result);

/*
 * Sends `event` (a hello or maps event that requests an acknowledgement). Waits until the profiler
 * has answered, is gone, or ACK_TIMEOUT_MS have passed. After a timeout it waits again only once
 * the profiler has read everything written until then.
 */
#define ACK_TIMEOUT_MS 5000
/* Timeout in a running process, where a thread of ours waits until recording begins. */
#define LATE_ACK_TIMEOUT_MS 15000
void tracer_ask(struct tracer *tracer, const struct gpu_event *event);

/* Sends an allocation or release without a CUPTI record, at a time of CUPTI's clock. */
void tracer_send_memory(struct tracer *tracer, const struct gpu_event_work *event,
			uint64_t timestamp);

/* Sends that a context, by its handle, ends now. */
void tracer_send_context_end(struct tracer *tracer, void *context);

/* Sends launches that a hook has logged after the goodbye. */
void tracer_send_late(struct tracer *tracer);

/* Makes CUPTI deliver complete records, or with `all` every record. */
void tracer_flush(struct tracer *tracer, bool all);

/*
 * Requests a flush of complete records from the flusher thread, FLUSH_PAUSE_MS after its last one.
 */
#define FLUSH_PAUSE_MS 2
void tracer_flush_soon(void);

#endif
