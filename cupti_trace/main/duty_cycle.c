// SPDX-License-Identifier: MIT
#include "cupti_trace/main/duty_cycle.h"

#include <stdlib.h>
#include <time.h>
#include "cupti_trace/core/duty_schedule.h"
#include "cupti_trace/main/callback.h"
#include "cupti_trace/main/record_kinds.h"

/*
 * Limits of the wait for launches that have not returned, which may wait for room in a stream. A
 * launch that takes longer has no record, and counts as such.
 */
#define RETURN_TIMEOUT_NS 100000000u
#define BLOCKED_TIMEOUT_NS 1000000u
#define RETURN_STEP_NS 100000u /* between looks */

/*
 * OFF -> COUNTS -> OFF. OFF -> RECORDS -> OFF, or RECORDS -> RUNS_OUT -> OFF: graphs that were
 * launched run.
 */
enum duty_state { DUTY_OFF, DUTY_COUNTS, DUTY_RECORDS, DUTY_RUNS_OUT };

/* Times that graphs have to run out: the first one, and the longest, as a part of the period. */
#define RUN_OUT_FIRST_NS 2000000u
#define RUN_OUT_LEAST_NS 200000u
#define RUN_OUT_PART 8u

#define GRAPHS 256u    /* number of launches whose ends are looked for */
#define INTERVALS 256u /* number of times that records were on */

static struct {
	struct duty_schedule schedule; /* touched by one thread at a time */
	_Atomic bool is_used;
	bool is_blocked;           /* a launch has not returned: callbacks stay on */
	_Atomic int state;         /* enum duty_state */
	struct duty_window window; /* the open or next one */
	uint64_t length_ns;
	uint64_t opened_ns;        /* when records were switched on */
	_Atomic uint64_t until_ns; /* calls before are counted or recorded */
	_Atomic uint64_t calls;    /* calls that launch, in this window */
	_Atomic uint32_t launches; /* recorded ones that have not returned */
	_Atomic uint32_t records;  /* not yet counted by the schedule */
	/* graphs: the last launches, by correlation id, and how long they took */
	struct {
		_Atomic uint32_t correlation_id;
		_Atomic uint64_t launched_ns;
	} graphs[GRAPHS];
	_Atomic uint64_t graph_ns; /* the longest of this window */
	_Atomic bool has_graphs;   /* this window */
	_Atomic bool was_cut;      /* a graph of a window ran on */
	uint64_t run_out_ns;
	/* when records were on, a ring */
	struct {
		_Atomic uint64_t on_ns, off_ns;
	} intervals[INTERVALS];
	_Atomic uint32_t interval; /* number of the present one */
	uint64_t block_ns;         /* windows pause in every second block; 0: never */
} duty;

_Static_assert(UINT32_MAX % INTERVALS == INTERVALS - 1, "the ring goes on after 2^32");

void duty_cycle_begin(struct tracer *tracer)
{
	uint64_t now = clock_now_ns();
	const char *block;

	atomic_store(&duty.is_used, tracer->config.budget != 0);
	duty.is_blocked = false;
	atomic_store(&duty.state, DUTY_OFF);
	atomic_store(&duty.launches, 0);
	atomic_store(&duty.records, 0);
	duty.run_out_ns = RUN_OUT_FIRST_NS;
	block = secure_getenv("PROFILE_BUDGET_BLOCK_MS");
	duty.block_ns = block ? strtoull(block, NULL, 10) * 1000000u : 0;
	if (!duty.is_used)
		return;
	callback_switch_launches(tracer, false);
	record_kinds_switch(tracer, false);
	duty_schedule_init(&duty.schedule, tracer->config.budget, now, clock_wall_ns());
	duty.window = duty_schedule_next(&duty.schedule, now);
}

uint64_t duty_cycle_next_ns(void)
{
	if (!duty.is_used)
		return UINT64_MAX;
	return atomic_load(&duty.state) == DUTY_OFF ? duty.window.from_ns : duty.window.to_ns;
}

/* Enters a state, for calls until then. */
static void enter(enum duty_state state, uint64_t until_ns)
{
	atomic_store(&duty.until_ns, until_ns);
	atomic_store(&duty.calls, 0);
	atomic_store(&duty.state, state);
}

static void note_on(void)
{
	uint32_t at = (atomic_load(&duty.interval) + 1) % INTERVALS;

	atomic_store(&duty.intervals[at].on_ns, clock_now_ns());
	atomic_store(&duty.intervals[at].off_ns, UINT64_MAX);
	atomic_fetch_add(&duty.interval, 1);
	atomic_store(&duty.has_graphs, false);
	atomic_store(&duty.graph_ns, 0);
	atomic_store(&duty.was_cut, false);
}

static void note_off(void)
{
	atomic_store(&duty.intervals[atomic_load(&duty.interval) % INTERVALS].off_ns,
		     clock_now_ns());
}

/* Records launches. The window begins late, and ends as much later: it keeps its length. */
static void begin_recording(struct tracer *tracer)
{
	struct gpu_event event = {.type = GPU_EVENT_WINDOW};

	duty.length_ns = duty.window.to_ns - duty.window.from_ns;
	duty.opened_ns = clock_now_ns();
	/* a launch that is called back has a record */
	record_kinds_switch(tracer, true);
	note_on();
	callback_switch_launches(tracer, true);
	event.window.from_ns = clock_now_ns();
	event.window.to_ns = event.window.from_ns + duty.length_ns;
	event.window.period_from_ns = duty.window.period_from_ns;
	event.window.period_ns = duty.schedule.period_ns;
	event.window.represents = duty.window.represents;
	sink_put(&tracer->sink, &event); /* before its launches; may wait */
	duty.window.to_ns = clock_now_ns() + duty.length_ns;
	enter(DUTY_RECORDS, duty.window.to_ns);
}

/* Counts launches until the window ends, however late it began. */
static void begin_counting(struct tracer *tracer)
{
	uint64_t now;

	callback_switch_launches(tracer, true);
	now = clock_now_ns();
	duty.length_ns = duty.window.to_ns > now ? duty.window.to_ns - now : 0;
	enter(DUTY_COUNTS, duty.window.to_ns);
}

/*
 * Waits until the window's launches have returned. Returns false if one takes too long. While one
 * does, later windows wait less: records are on meanwhile.
 */
static bool wait_for_launches(void)
{
	uint64_t until =
		clock_now_ns() + (duty.is_blocked ? BLOCKED_TIMEOUT_NS : RETURN_TIMEOUT_NS);
	const struct timespec step = {.tv_nsec = RETURN_STEP_NS};

	while (atomic_load(&duty.launches) > 0 && clock_now_ns() < until)
		nanosleep(&step, NULL);
	return atomic_load(&duty.launches) == 0;
}

static void switch_off(struct tracer *tracer)
{
	note_off();
	atomic_store(&duty.state, DUTY_OFF);
	record_kinds_switch(tracer, false);
	duty_schedule_count(&duty.schedule, atomic_exchange(&duty.records, 0));
	duty_schedule_recorded(&duty.schedule, duty.length_ns, clock_now_ns() - duty.opened_ns);
	duty.window = duty_schedule_next(&duty.schedule, clock_now_ns());
}

/*
 * Returns how long the window's graphs have to run out: longer than those known, which are of this
 * window and the one before.
 */
static uint64_t run_out_ns(void)
{
	uint64_t known = atomic_load(&duty.graph_ns), most = duty.schedule.period_ns / RUN_OUT_PART;
	uint64_t wanted = atomic_load(&duty.was_cut) ? 2 * duty.run_out_ns
			  : known                    ? known + known / 2 + RUN_OUT_LEAST_NS
						     : duty.run_out_ns;

	duty.run_out_ns = wanted < most ? wanted : most;
	return duty.run_out_ns;
}

static void end_recording(struct tracer *tracer, struct gpu_event_window_end *end)
{
	end->recorded_ns = duty.length_ns;
	end->recorded_calls = atomic_load(&duty.calls);
	/* a launch that is not called back when it returns would leave its thread in it */
	duty.is_blocked = !wait_for_launches();
	if (!duty.is_blocked)
		callback_switch_launches(tracer, false);
	if (!atomic_load(&duty.has_graphs)) {
		switch_off(tracer);
		return;
	}
	duty.window.to_ns = clock_now_ns() + run_out_ns();
	enter(DUTY_RUNS_OUT, 0);
}

static void end_counting(struct tracer *tracer, struct gpu_event_window_end *end)
{
	end->counted_ns = duty.length_ns;
	end->counted_calls = atomic_load(&duty.calls);
	if (!duty.is_blocked)
		callback_switch_launches(tracer, false);
	atomic_store(&duty.state, DUTY_OFF);
	duty.window = duty_schedule_next(&duty.schedule, clock_now_ns());
}

static void end_window(struct tracer *tracer)
{
	struct gpu_event event = {.type = GPU_EVENT_WINDOW_END,
				  .window_end.represents = duty.window.represents};

	if (duty.window.only_counts)
		end_counting(tracer, &event.window_end);
	else
		end_recording(tracer, &event.window_end);
	sink_put(&tracer->sink, &event);
}

/*
 * Returns whether no window is opened now. With PROFILE_BUDGET_BLOCK_MS=N they are in every second
 * N ms by CLOCK_MONOTONIC: so a program finds by its own progress what windows cost
 * (tests/gpu/budget).
 */
static bool is_paused(void)
{
	return duty.block_ns && clock_now_ns() / duty.block_ns % 2;
}

static void begin_window(struct tracer *tracer)
{
	if (atomic_load(&tracer->phase) & TRACER_IDLE || is_paused()) /* outside the range */
		duty.window = duty_schedule_next(&duty.schedule, clock_now_ns());
	else if (duty.window.only_counts)
		begin_counting(tracer);
	else
		begin_recording(tracer);
}

void duty_cycle_step(struct tracer *tracer)
{
	if (clock_now_ns() < duty_cycle_next_ns())
		return;
	switch (atomic_load(&duty.state)) {
	case DUTY_OFF:
		begin_window(tracer);
		break;
	case DUTY_RUNS_OUT:
		switch_off(tracer);
		break;
	default:
		end_window(tracer);
	}
}

bool duty_cycle_takes_launch(void)
{
	int state;

	/* before the clock is read: a window that ends meanwhile waits */
	atomic_fetch_add(&duty.launches, 1);
	state = atomic_load(&duty.state);
	if ((state == DUTY_COUNTS || state == DUTY_RECORDS) &&
	    clock_now_ns() < atomic_load(&duty.until_ns)) {
		atomic_fetch_add(&duty.calls, 1);
		if (state == DUTY_RECORDS)
			return true;
	}
	duty_cycle_launch_ends();
	return false;
}

void duty_cycle_launch_ends(void)
{
	uint32_t launches = atomic_load(&duty.launches);

	/* one that began before the library left, and came again, is counted no more */
	while (launches > 0 &&
	       !atomic_compare_exchange_weak(&duty.launches, &launches, launches - 1))
		;
}

void duty_cycle_launches_graph(uint32_t correlation_id)
{
	uint32_t at = correlation_id % GRAPHS;

	atomic_store(&duty.graphs[at].launched_ns, clock_now_ns());
	atomic_store(&duty.graphs[at].correlation_id, correlation_id);
	atomic_store(&duty.has_graphs, true);
}

/* Returns whether records were on all the time. */
static bool was_on(uint64_t start_ns, uint64_t end_ns)
{
	uint32_t newest = atomic_load(&duty.interval);

	for (uint32_t i = 0; i < INTERVALS; i++) {
		uint32_t at = (newest - i) % INTERVALS;

		if (start_ns >= atomic_load(&duty.intervals[at].on_ns))
			return end_ns < atomic_load(&duty.intervals[at].off_ns);
	}
	return false;
}

bool duty_cycle_has_times(uint32_t correlation_id, uint64_t start_ns, uint64_t end_ns)
{
	uint32_t at = correlation_id % GRAPHS;
	uint64_t launched, longest = atomic_load(&duty.graph_ns);
	bool is_right;

	if (!duty.is_used)
		return true;
	is_right = was_on(start_ns, end_ns);
	if (atomic_load(&duty.graphs[at].correlation_id) != correlation_id)
		return is_right;
	launched = atomic_load(&duty.graphs[at].launched_ns);
	if (!is_right)
		atomic_store(&duty.was_cut, true);
	else if (end_ns > launched && end_ns - launched > longest)
		atomic_store(&duty.graph_ns, end_ns - launched);
	return is_right;
}

void duty_cycle_count(uint32_t records)
{
	if (duty.is_used)
		atomic_fetch_add(&duty.records, records);
}
