// SPDX-License-Identifier: MIT
#include "profiler/run/recorded_time_range.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "cupti_trace/wire/gpu_wire.h"
#include "profiler/run/kernel_reader.h"
#include "symbolize/util/monotonic.h"
#include "symbolize/util/saturate.h"

#define CLOCKS_LATE_NS 50000000u /* later readings do not match the range */

/* Passes the range to BPF and `collect`. Libraries get it by variable or link (gpu_wire.h). */
static void apply_time_range(struct run_parts *run)
{
	struct bpf_source *bpf = kernel_events_bpf(run->kernel);

	collect_set_time_range(run->collect, &run->recorded.time_range);
	if (bpf)
		bpf_source_set_time_range(bpf, &run->recorded.time_range);
}

/* Passes the range to BPF, `collect`, and libraries in running and future programs. */
static void change_time_range(struct run_parts *run)
{
	int err = run->pipe ? payload_set_time_range(&run->payload, &run->recorded.time_range) : 0;

	apply_time_range(run);
	if (err) /* libraries will notice that the pipe has no reader */
		log_verbose(run->log, "cannot tell libraries what is recorded: %s", strerror(-err));
}

void recorded_time_range_set(struct run_parts *run, char variable[TARGET_VARIABLE_BYTES])
{
	struct time_range *w = &run->recorded.time_range;
	const struct measure *m = &run->options->measure;
	bool is_put_off = m->delay_ns == MEASURE_UNTIL_TOLD;

	variable[0] = '\0';
	if (m->delay_ns)
		w->from_ns = is_put_off ? TIME_RANGE_NOT_YET : run->start_ns + m->delay_ns;
	if (m->duration_ns && !is_put_off)
		w->to_ns = run->start_ns + m->delay_ns + m->duration_ns;
	if (time_range_is_part(w))
		apply_time_range(run);
	else if (!run->options->is_controlled)
		return;
	if (run->pipe)
		snprintf(variable, TARGET_VARIABLE_BYTES,
			 GPU_WIRE_TIME_RANGE_ENV "=" GPU_WIRE_TIME_RANGE_FORMAT, w->from_ns,
			 w->to_ns);
}

void recorded_time_range_postpone(struct run_parts *run)
{
	run->recorded.time_range.from_ns = TIME_RANGE_NOT_YET;
	apply_time_range(run);
}

void recorded_time_range_end(struct run_parts *run, uint64_t to_ns)
{
	run->recorded.time_range.to_ns = to_ns;
	change_time_range(run);
}

void recorded_time_range_release(struct run_parts *run)
{
	if (run->recorded.time_range.leave_ns)
		return;
	run->recorded.time_range.leave_ns = monotonic_ns();
	log_verbose(run->log, "all of the recorded work has arrived: libraries leave");
	change_time_range(run);
}

int recorded_time_range_begin_soon(struct run_parts *run)
{
	struct time_range *w = &run->recorded.time_range;
	const struct measure *m = &run->options->measure;
	uint64_t now_ns = monotonic_ns(), from_ns = now_ns + TIME_RANGE_NOTICE_NS;

	if (time_range_is_over(w, now_ns))
		return -ESHUTDOWN;
	if (now_ns >= w->from_ns || run->recorded.begin_was_requested || run->options->attach)
		return -EALREADY;
	run->recorded.begin_was_requested = true;
	w->from_ns = from_ns < w->from_ns ? from_ns : w->from_ns;
	w->to_ns = m->duration_ns ? saturated_sum(w->from_ns, m->duration_ns) : 0;
	change_time_range(run);
	return 0;
}

/* Reads CPU time at the beginning of a range that is not the whole run. */
static void begin_time_range(struct run_parts *run)
{
	uint64_t now_ns = monotonic_ns();

	kernel_reader_drain(run, true); /* processes that ended or began before */
	attached_cuda_forget_missed(&run->cuda);
	if (now_ns - run->recorded.time_range.from_ns > CLOCKS_LATE_NS) {
		collect_forget_cpu_time(run->collect);
		return;
	}
	/* twice: a process that ends in between was read the first time */
	collect_begin_cpu_time(run->collect, now_ns);
	kernel_reader_drain(run, true);
	collect_begin_cpu_time(run->collect, now_ns);
}

/*
 * Begins the range of running processes. With injection, first waits for the library in all of them
 * that use CUDA (attached_cuda.h): returns false if it is too early.
 */
static bool begin_attached(struct run_parts *run)
{
	const struct measure *m = &run->options->measure;
	int err;

	if (run->cuda.inject_queue) {
		if (attached_cuda_delays_recording(&run->cuda, run->start_ns))
			return false;
		run_parts_begin(run);
		run->recorded.time_range.from_ns = run->start_ns;
		apply_time_range(run);
	}
	err = m->wall || m->idle ? bpf_source_follow_threads(kernel_events_bpf(run->kernel)) : 0;
	if (err) {
		log_error(run->log, "%s of processes that already run: %s",
			  m->wall ? "--wall" : "--idle",
			  err == -EOPNOTSUPP ? "Linux 6.1 or later is needed" : strerror(-err));
		run_phase_enter(&run->phase, RUN_FAILED);
	}
	return true;
}

void recorded_time_range_begin_when_due(struct run_parts *run)
{
	bool is_due =
		run->recorded.stage == TIME_RANGE_AHEAD &&
		(run->options->attach ? run->phase == RUN_GOING && begin_attached(run)
				      : time_range_has(&run->recorded.time_range, monotonic_ns()));

	if (!is_due)
		return;
	run->recorded.stage = TIME_RANGE_OPEN;
	if (run->recorded.time_range.from_ns)
		begin_time_range(run);
	run_parts_answer_all(run);
}

bool recorded_time_range_is_over(struct run_parts *run)
{
	uint64_t now_ns = monotonic_ns();

	if (run->options->attach || !time_range_is_over(&run->recorded.time_range, now_ns))
		return false;
	if (run->recorded.stage == TIME_RANGE_OVER)
		return true;
	run->recorded.stage = TIME_RANGE_OVER;
	kernel_events_stop_samples(run->kernel);
	kernel_reader_drain(run, false); /* processes that ended before */
	collect_read_clocks(run->collect, now_ns, true);
	if (now_ns - run->recorded.time_range.to_ns > CLOCKS_LATE_NS)
		collect_forget_cpu_time(run->collect);
	return true;
}

int recorded_time_range_tick(const struct run_parts *run, int tick_ms)
{
	const struct time_range *w = &run->recorded.time_range;
	uint64_t now_ns = monotonic_ns(), left_ms;
	uint64_t next_ns = now_ns < w->from_ns ? w->from_ns : w->to_ns;

	if (next_ns <= now_ns)
		return tick_ms;
	left_ms = (next_ns - now_ns) / 1000000 + 1;
	return left_ms < (uint64_t)tick_ms ? (int)left_ms : tick_ms;
}

void recorded_time_range_end_copy(struct run_parts *run, uint64_t until_ns)
{
	uint64_t waiting = run->pipe ? gpu_pipe_waiting(run->pipe) : 0;
	uint64_t launched = collect_count_launched(run->collect, until_ns);

	if (waiting > launched)
		collect_ledger(run->collect)->outside.unended += waiting - launched;
	run->recorded.time_range.to_ns = until_ns;
	collect_set_time_range(run->collect, &run->recorded.time_range);
}

void recorded_time_range_note(const struct run_parts *run, struct measure *m)
{
	const struct time_range *w = collect_time_range(run->collect);
	uint64_t from_ns = w->from_ns > run->start_ns ? w->from_ns : run->start_ns;
	uint64_t to_ns = w->to_ns && w->to_ns < run->ended_ns ? w->to_ns : run->ended_ns;

	if (m->delay_ns != MEASURE_UNTIL_TOLD && !m->last_ns && !run->recorded.begin_was_requested)
		return;
	if (run->ended_ns && from_ns > run->ended_ns)
		from_ns = run->ended_ns;
	m->delay_ns = from_ns - run->start_ns;
	m->duration_ns = to_ns > from_ns ? to_ns - from_ns : 0;
}
