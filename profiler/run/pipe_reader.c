// SPDX-License-Identifier: MIT
#include "profiler/run/pipe_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "profiler/run/kernel_reader.h"
#include "profiler/run/run_parts.h"
#include "symbolize/util/monotonic.h"

#define SILENT_NS 1000000000u /* time without data and goodbye that is worth a warning */
#define PIPE_CHUNK (4u << 20) /* more than a pipe can hold */

/* Attaches probes to a process's mappings, if requested, and releases the waiting process. */
static void acknowledge(struct run_parts *run, const struct process *process, uint64_t instance)
{
	if (run->probes) {
		int n = uprobes_scan_process(run->probes, process->pid);

		log_verbose(run->log, "process %d: %d launch functions newly probed, %u in all",
			    (int)process->pid, n > 0 ? n : 0, uprobes_count(run->probes));
	}
	run_parts_answer(run, process->pid, instance);
}

static void take_hello(struct run_parts *run, struct tracee *tracee,
		       const struct gpu_event_hello *hello)
{
	struct process *process;

	process = collect_hello(run->collect, hello);
	if (!process) {
		log_verbose(run->log,
			    "process %u (%s) sent a hello, but is not a descendant of the command",
			    hello->pid, hello->executable);
		return;
	}
	gpu_pipe_accept(run->pipe, tracee, process);
	if (run->cuda.inject_queue)
		attached_cuda_note_hello(&run->cuda, process,
					 run->recorded.stage != TIME_RANGE_AHEAD);
	log_verbose(run->log,
		    "process %d (%s) uses CUDA; CUPTI %u: %s; clock within %" PRIu64 " ns",
		    (int)process->pid, hello->executable, hello->cupti_version, hello->cupti_path,
		    hello->clock_error_ns);
	if (gpu_pipe_has_graph_time_bug(hello->cupti_version))
		log_verbose(run->log,
			    "process %d: this CUPTI (CUDA 13.0) is known to give wrong "
			    "times after some 25 million records of graph nodes",
			    (int)process->pid);
	if (run->cuda.inject_queue && !hello->is_off && process->lacks_gpu_time)
		log_warn(run->log,
			 "process %d: CUPTI has begun; from now on its GPU time is measured",
			 (int)process->pid);
	if (hello->is_off)
		call_timing_begin(run->call_timing, process);
	else
		call_timing_note_traced(run->call_timing, process);
	recorded_time_range_begin_when_due(run); /* records the process's work from its answer on */
	if (!hello->wants_ack)
		return;
	/* the process records nothing until recording begins everywhere */
	if (!run->options->attach || run->recorded.stage != TIME_RANGE_AHEAD ||
	    run->phase != RUN_GOING ||
	    !attached_cuda_postpone_answer(&run->cuda, process, hello->instance))
		acknowledge(run, process, hello->instance);
}

static void close_tracee(struct run_parts *run, struct tracee *tracee)
{
	struct process *process = tracee_process(tracee);
	uint64_t silent_ns = tracee_silence(tracee);

	if (process && silent_ns > SILENT_NS &&
	    !time_range_is_part(collect_time_range(run->collect)))
		log_warn(run->log,
			 "process %d (%s): nothing came from it in its last %.1f s: if it used "
			 "the GPU then, that is missing (it may have closed profile's pipe and "
			 "could not reopen it)",
			 (int)process->pid, process->comm ? process->comm : "?",
			 (double)silent_ns / 1e9);
	gpu_pipe_close(run->pipe, tracee);
	if (process)
		collect_goodbye(run->collect, process, monotonic_ns());
}

static void take_gpu_event(struct run_parts *run, struct tracee *tracee,
			   const struct gpu_event *event, const char *kernel)
{
	struct process *process = tracee_process(tracee);

	switch (event->type) {
	case GPU_EVENT_HELLO:
		/* applies the process's start, its earlier program's end, and its mappings */
		kernel_reader_drain(run, true);
		take_hello(run, tracee, &event->hello);
		break;
	case GPU_EVENT_NOTICE:
		notices_add(&run->notices, (uint32_t)process->pid, &event->notice);
		break;
	case GPU_EVENT_MAPS:
		if (event->maps.wants_ack) {
			kernel_reader_drain(run, true);
			acknowledge(run, process, tracee_instance(tracee));
		}
		break;
	case GPU_EVENT_GOODBYE:
		log_verbose(run->log,
			    "process %d: CUPTI reported %" PRIu64 " operations, %" PRIu64 " ns",
			    (int)process->pid, event->goodbye.kernels, event->goodbye.kernel_ns);
		break;
	default:
		/* applies the creation of the launching thread, which the kernel reported before */
		if (collect_wants_thread(run->collect, process, event))
			kernel_reader_drain(run, false);
		collect_gpu_event(run->collect, process, event, kernel);
	}
}

bool pipe_reader_read(struct run_parts *run)
{
	const struct gpu_event *event;
	struct tracee *tracee;
	const char *kernel, *bytes;
	struct pipe_reader *in = &run->reader;
	uint64_t got = 0;
	int n = 0;

	in->has_read_all = true;
	if (!run->pipe || in->has_ended)
		return true;
	while (got < PIPE_CHUNK && (n = gpu_pipe_fill(run->pipe, run->payload.pipe, &bytes)) > 0) {
		recording_pipe(run->recording, bytes, (size_t)n);
		while ((event = gpu_pipe_next(run->pipe, &tracee, &kernel)))
			take_gpu_event(run, tracee, event, kernel);
		got += (uint64_t)n;
		kernel_events_keep(run->kernel);
	}
	if (got)
		in->read_ns = monotonic_ns();
	in->unread_at_end = n > 0 && in->unread_at_end > got ? in->unread_at_end - got : 0;
	in->has_ended = n == -EPIPE;
	if (n < 0 && n != -EPIPE)
		log_warn(run->log, "reading the pipe: %s", strerror(-n));
	in->has_read_all = n <= 0;
	return in->has_read_all;
}

void pipe_reader_close_ended(struct run_parts *run, uint64_t before_ns)
{
	struct tracee *tracee;

	while (run->pipe && gpu_pipe_find_ended(run->pipe, before_ns, &tracee))
		close_tracee(run, tracee);
}

void pipe_reader_finish(struct run_parts *run)
{
	if (!run->pipe)
		return;
	if (!pipe_reader_read(run))
		collect_ledger(run->collect)->pipe.left = payload_count_left(&run->payload);
	gpu_pipe_finish(run->pipe);
	pipe_reader_close_ended(run, UINT64_MAX);
}
