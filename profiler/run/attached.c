// SPDX-License-Identifier: MIT
#include "profiler/run/attached.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "profiler/attach/user_memory.h"
#include "profiler/base/command_text.h"
#include "profiler/run/kernel_reader.h"
#include "profiler/run/target.h"
#include "symbolize/maps.h"
#include "symbolize/util/monotonic.h"
#include "symbolize/util/proc_file.h"

#define AUXV_BYTES 65536
#define PROGRAM_BYTES 4096u
#define LOOK_LEAST_NS 1000000000u     /* between two looks for further processes */
#define LOOK_SHARE 200                /* looking takes one part in so many of the time */
#define SILENT_TIMEOUT_NS 1200000000u /* timeout of a library that sends nothing */

/*
 * Asks the kernel whether the user may read the process: if not, /proc/PID/auxv is refused
 * (PTRACE_MODE_READ). For a process without memory the file is empty and nothing is checked, so
 * that counts as refused.
 */
static int may_attach(void *context, pid_t pid)
{
	struct run_parts *run = context;
	char *text = NULL;
	size_t size = 0;
	int err =
		proc_file_read(collect_calls(run->collect), pid, "auxv", AUXV_BYTES, &text, &size);

	free(err ? NULL : text);
	if (err == -ENOENT)
		return -ESRCH;
	return err ? err : size == 0 ? -EACCES : 0;
}

static int follow_attached(void *context, pid_t pid)
{
	struct run_parts *run = context;

	return bpf_source_track(kernel_events_bpf(run->kernel), pid);
}

static void forget_attached(void *context, pid_t pid)
{
	struct run_parts *run = context;

	bpf_source_untrack(kernel_events_bpf(run->kernel), pid);
}

static void catch_up(void *context)
{
	struct run_parts *run = context;

	kernel_reader_drain(run, true);
}

static bool knows_attached(void *context, pid_t pid)
{
	struct run_parts *run = context;

	return collect_knows_process(run->collect, pid);
}

/* Warns about a process whose mappings cannot be read: its use of CUDA is unknown. */
static void note_unanswered(struct run_parts *run, struct process *process)
{
	if (!run->options->measure.traces_gpu)
		return;
	log_warn(run->log,
		 "no GPU time: process %d does not answer: a thread of it holds a lock, or waits "
		 "for "
		 "a FUSE or network file system (restart its server, or unmount it)",
		 (int)process->pid);
	call_timing_note_untraced(run->collect, process);
}

/* Adds the current mappings of a process. If that fails, they are read when first needed. */
static void add_mappings(struct run_parts *run, struct process *process)
{
	pid_t pid = process->pid;
	struct process_event event = {
		.type = PROCESS_MAP, .pid = pid, .tid = pid, .time_ns = monotonic_ns()};
	char *text, *rest;
	size_t size;
	int err = proc_file_read(collect_calls(run->collect), pid, "maps", PROC_FILE_MAX_MAPS,
				 &text, &size);

	if (err == -ETIMEDOUT || err == -EBUSY)
		note_unanswered(run, process);
	if (err)
		return;
	rest = text;
	while (maps_next(&rest, &event.mapping))
		collect_process_event(run->collect, &event);
	free(text);
}

static int add_attached(void *context, const struct scanned_process *scanned)
{
	struct run_parts *run = context;
	struct scanned_process now;
	struct process *process;
	uint64_t used_ns = target_used_ns(scanned->pid), time_ns = monotonic_ns();

	if (scanned_process_read(scanned->pid, &now) != 0 || now.has_ended)
		return -ESRCH;
	process = collect_attach(run->collect, now.pid, now.comm, now.threads, time_ns, used_ns);
	if (!process)
		return -ENOMEM;
	add_mappings(run, process);
	attached_cuda_begin(&run->cuda, process, NULL);
	kernel_reader_pass_on_pythons(run);
	log_verbose(run->log, "attached to process %d (%s), which has %u thread%s", (int)now.pid,
		    now.comm, now.threads, now.threads == 1 ? "" : "s");
	return 0;
}

/* Opens the pipe and the inject queue. */
static int open_inject_queue(struct run_parts *run)
{
	struct target_environment environment;
	struct inject_queue *inject_queue = NULL;
	char text[INJECT_TEXT_MAX];
	int err;

	run->cuda.collect = run->collect;
	run->cuda.call_timing = run->call_timing;
	run->cuda.log = run->log;
	if (!run->options->measure.injects)
		return 0;
	err = run_parts_open_pipe(run);
	if (err)
		return err;
	run_parts_environment(run, &run->options->measure, &environment);
	if (target_environment_text(&environment, text, sizeof(text)))
		inject_queue = inject_queue_new(&run->payload, text);
	attached_cuda_open(&run->cuda, kernel_events_bpf(run->kernel), inject_queue);
	if (inject_queue)
		return 0;
	log_error(run->log, "out of memory");
	return -ENOMEM;
}

int attached_open(struct run_parts *run)
{
	const struct attach_steps steps = {.context = run,
					   .own = {getppid(), getpid()}, /* supervisor, worker */
					   .may_follow = may_attach,
					   .follow = follow_attached,
					   .forget = forget_attached,
					   .catch_up = catch_up,
					   .knows = knows_attached,
					   .add = add_attached};

	if (run_parts_open_inputs(run) != 0 || open_inject_queue(run) != 0)
		return -1;
	collect_know_tree(run->collect);
	collect_set_memory_opener(run->collect, user_memory_open, collect_calls(run->collect));
	run_parts_lock(run);
	run->attachment =
		attachment_new(run->options->attach, &steps, collect_calls(run->collect), run->log);
	return run->attachment ? 0 : -1;
}

/* Sets the run's title: the first process's arguments, or its comm if argv was overwritten. */
static void note_program(struct run_parts *run, pid_t pid)
{
	struct scanned_process now;
	char *text = NULL;
	size_t size = 0;

	if (proc_file_read(collect_calls(run->collect), pid, "cmdline", PROGRAM_BYTES, &text,
			   &size) != 0)
		return;
	if (!text[0] && scanned_process_read(pid, &now) == 0)
		run->program = command_text((char *[]){now.comm, NULL});
	else
		run->program = command_text_packed(text, size);
	free(text);
}

int attached_follow(struct run_parts *run)
{
	int err;

	run_phase_enter(&run->phase, RUN_GOING);
	run_parts_begin(run);
	if (run->cuda.inject_queue)
		recorded_time_range_postpone(run);
	err = attachment_follow(run->attachment);
	if (err) {
		log_error(run->log, "cannot follow %s: %s",
			  attachment_count(run->attachment) ? "all of the processes"
							    : "the processes",
			  err != -ESRCH ? strerror(-err)
			  : attachment_was_refused(run->attachment)
				  ? "this user cannot inspect them; run profile as their user, "
				    "or as root"
				  : "they have ended");
		return err;
	}
	note_program(run, attachment_first(run->attachment));
	log_verbose(run->log, "attached to %u process%s", attachment_count(run->attachment),
		    attachment_count(run->attachment) == 1 ? "" : "es");
	return kernel_events_watch(run->kernel, run->epoll, READY_KERNEL);
}

/* Returns whether processes that match later are profiled, too: a run of days sees many. */
static bool keeps_looking(const struct run_parts *run)
{
	return run->options->takes_turns &&
	       (run->options->attach->name || run->options->attach->cgroup);
}

void attached_look_again(struct run_parts *run)
{
	uint64_t begun_ns, pause_ns;
	int err;

	if (!run->attachment || !keeps_looking(run) || run->phase != RUN_GOING)
		return;
	begun_ns = monotonic_ns();
	if (begun_ns < run->look_ns)
		return;
	err = attachment_look_again(run->attachment);
	if (err && !run->has_not_looked)
		log_warn(run->log, "cannot look for further processes: %s", strerror(-err));
	run->has_not_looked = err != 0;
	pause_ns = (monotonic_ns() - begun_ns) * LOOK_SHARE;
	run->look_ns = monotonic_ns() + (pause_ns > LOOK_LEAST_NS ? pause_ns : LOOK_LEAST_NS);
}

/* ---- the end ---- */

/*
 * Asks the libraries to leave. Each first sends all records up to now. A library that is just being
 * loaded learns of the end at once.
 */
static void ask_to_leave(struct run_parts *run)
{
	if (!run->cuda.inject_queue)
		return;
	run_parts_answer_all(run);
	if (run->recorded.stage == TIME_RANGE_AHEAD) {
		run->start_ns = run->recorded.time_range.from_ns = run->ended_ns;
		log_warn(run->log,
			 "nothing was recorded: the run ended before CUPTI had started in all "
			 "processes that use CUDA");
	}
	inject_queue_stop(run->cuda.inject_queue);
	recorded_time_range_end(run, run->ended_ns);
}

/* Returns true once the recorded time has reached its duration. */
static bool has_reached_duration(const struct run_parts *run)
{
	uint64_t duration_ns = run->options->attach->duration_ns;

	return duration_ns && run->recorded.stage != TIME_RANGE_AHEAD &&
	       monotonic_ns() >= run->start_ns + duration_ns;
}

bool attached_end_if_over(struct run_parts *run, bool is_told_to)
{
	bool has_any = collect_count_running(run->collect) > 0 &&
		       bpf_source_follows_any(kernel_events_bpf(run->kernel));

	if (!is_told_to && !has_reached_duration(run) && (has_any || keeps_looking(run)))
		return false;
	run_phase_enter(&run->phase, RUN_LEAVING);
	run->ended_ns = monotonic_ns();
	supervisor_report_ended(run->supervisor);
	kernel_events_stop_samples(run->kernel);
	bpf_source_end_lookouts(kernel_events_bpf(run->kernel));
	kernel_reader_drain(run, false);
	collect_read_clocks(run->collect, run->ended_ns, true);
	ask_to_leave(run);
	return true;
}

bool attached_libraries_left(struct run_parts *run)
{
	uint64_t now_ns = monotonic_ns();
	uint64_t heard_ns =
		run->reader.read_ns > run->ended_ns ? run->reader.read_ns : run->ended_ns;

	if (!run->cuda.inject_queue || run->reader.has_ended ||
	    now_ns - run->ended_ns >= GOODBYE_TIMEOUT_NS || now_ns - heard_ns >= SILENT_TIMEOUT_NS)
		return true;
	if (attached_cuda_is_busy(&run->cuda))
		return false;
	if (gpu_pipe_has_range(run->pipe) && gpu_pipe_waiting(run->pipe) == 0 &&
	    !collect_awaits_records(run->collect))
		recorded_time_range_release(run);
	return !gpu_pipe_has_running(run->pipe);
}
