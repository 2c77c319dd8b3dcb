// SPDX-License-Identifier: MIT
#include "profiler/run/run_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>
#include "profiler/run/privilege.h"
#include "symbolize/util/guarded_path.h"
#include "symbolize/util/monotonic.h"

#define ATTACHED_SLEEP_MS 600 /* limit for files and memory that do not answer */

void run_parts_init(struct run_parts *run, const struct session_options *options,
		    const struct supervisor_link *supervisor, struct log *log)
{
	run->options = options;
	run->supervisor = supervisor;
	run->log = log;
	run->epoll = run->kallsyms = -1;
	run->gpu_watch.connector = options->gpu_states;
	payload_init(&run->payload);
	notices_init(&run->notices, log);
}

int run_parts_watch(struct run_parts *run, int fd, uint32_t what)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = what};

	return epoll_ctl(run->epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

int run_parts_open(struct run_parts *run)
{
	const struct measure *m = &run->options->measure;
	bool times_calls = m->traces_gpu && bpf_source_may_probe_returns();
	struct kernel_events_options options = {
		.bpf = {.sample_hz = m->samples_cpu ? m->frequency_hz : 0,
			.launches = m->probes_launches,
			.calls = times_calls,
			.threads = m->thread_origin,
			.times = m->wall || m->idle,
			.moments = m->idle || run->options->draws_off_cpu,
			.kernel_waits = m->kernel_waits,
			.running = m->attached,
			.python_lines = m->python_lines},
		.needs_bpf =
			m->probes_launches || m->thread_origin || m->wall || m->idle || m->attached,
		.wants_bpf = m->samples_cpu || times_calls,
	};

	run->kallsyms = privilege_open_kallsyms();
	run->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (run->epoll < 0 || run_parts_watch(run, run->supervisor->signals, READY_SIGNAL) != 0)
		return log_failure(run->log, "cannot watch signals: %s", strerror(errno));
	if (m->samples_cpu)
		privilege_raise_priority();
	run->notices.fallback = geteuid() == 0 ? FALLBACK_NONE : FALLBACK_NEEDS_SUDO;
	if (kernel_events_open(&options, &run->kernel, run->no_bpf, sizeof(run->no_bpf)) == 0)
		return 0;
	return log_failure(run->log, "%s%s",
			   m->attached ? "processes that already run: "
			   : m->wall   ? "--wall: "
			   : m->idle   ? "--idle: "
				       : "",
			   run->no_bpf);
}

/* ---- as the user ---- */

/* Returns the places that --wall needs: a thread is judged idle by all of its time. */
static uint32_t places_of_wall(const struct session_options *o)
{
	return o->measure.wall ? 1u << PLACE_PROCESS | 1u << PLACE_THREAD : 0;
}

/* Moves events out of the ring buffer while a slow file blocks: it would overflow. */
static void keep_events(void *kernel)
{
	kernel_events_keep(kernel);
}

static int open_collect(struct run_parts *run)
{
	const struct session_options *o = run->options;

	run->collect = collect_new(
		&(struct collect_options){.sample_ns = measure_sample_ns(o->measure.frequency_hz),
					  .place_mask = o->place_mask | places_of_wall(o),
					  .measure = o->measure,
					  .last_ns = o->measure.last_ns,
					  .takes_turns = o->takes_turns,
					  .idle_store = o->idle_store,
					  .timeline = o->timeline,
					  .watches_load = o->watches_load,
					  .keeps_metrics = o->keeps_metrics,
					  .draws_off_cpu = o->draws_off_cpu});
	if (!run->collect) {
		log_error(run->log, "out of memory");
		return -ENOMEM;
	}
	if (kernel_events_bpf(run->kernel))
		run->kernel_names = bpf_source_kernel_names(kernel_events_bpf(run->kernel));
	if (run->kernel_names)
		collect_set_kernel_names(run->collect, kernel_names_find, run->kernel_names);
	collect_set_kallsyms(run->collect, run->kallsyms);
	run->kallsyms = -1;
	if (o->attach)
		bounded_caller_limit_sleep(collect_calls(run->collect), ATTACHED_SLEEP_MS);
	bounded_caller_do_meanwhile(collect_calls(run->collect), keep_events, run->kernel);
	return 0;
}

/* Returns true if uprobes may be added: before Linux 6.10 they need CAP_SYS_ADMIN. */
static bool may_probe(const struct bpf_source *bpf)
{
	return !bpf_source_probes_need_admin(bpf) || privilege_is_admin();
}

/* Returns the absolute path of the library for the CUDA driver. */
static const char *library_of(const struct run_parts *run)
{
	return run->options->injection_lib ? run->injection_lib : run->payload.library;
}

static int open_probes(struct run_parts *run)
{
	struct bpf_source *bpf = kernel_events_bpf(run->kernel);

	if (run->options->measure.probes_launches && !may_probe(bpf)) {
		log_error(run->log,
			  "before Linux 6.10 only root may add uprobes: use --as-root, or "
			  "leave out -launch-stacks uprobe, -injection-lib and -cuda-lib");
		return -EPERM;
	}
	if (run->options->measure.probes_launches) {
		run->probes = uprobes_new(PROBE_LAUNCH, bpf, collect_calls(run->collect), run->log);
		if (!run->probes)
			return -ENOMEM;
	}
	if (!bpf_source_may_probe_returns())
		log_verbose(run->log,
			    "CUDA's calls are never timed on Linux 6.11 to 6.13: return probes "
			    "there can kill processes whose system calls are filtered");
	if (!bpf || !bpf_source_has_calls(bpf))
		return 0;
	if (!may_probe(bpf)) {
		run->notices.fallback = FALLBACK_NEEDS_ROOT;
		return 0;
	}
	run->call_timing = call_timing_new(bpf, run->collect, &run->notices, run->log);
	if (!run->call_timing)
		return -ENOMEM;
	run->notices.fallback = FALLBACK_TIMES_CALLS;
	return 0;
}

int run_parts_probe_libraries(struct run_parts *run)
{
	for (uint32_t i = 0; run->probes && i < run->options->cuda_lib_count; i++) {
		const char *path = run->options->cuda_libs[i];
		int err = uprobes_scan_file(run->probes, path);

		if (err >= 0)
			continue;
		log_error(run->log, "-cuda-lib %s: %s", path,
			  access(path, R_OK) == 0 ? "no CUDA launch function in it"
						  : strerror(errno));
		return err;
	}
	return 0;
}

int run_parts_open_pipe(struct run_parts *run)
{
	int err = payload_create(&run->payload);

	if (err) {
		log_error(run->log,
			  "no folder for the injection library: tried %s; set TMPDIR to one "
			  "on a file system mounted without noexec",
			  run->payload.tried);
		return err;
	}
	supervisor_report_folder(run->supervisor, run->payload.path);
	run->pipe = gpu_pipe_new(run->collect);
	if (!run->pipe) {
		log_error(run->log, "out of memory");
		return -ENOMEM;
	}
	return run_parts_watch(run, run->payload.pipe, READY_PIPE);
}

/* Starts watching for obstacles. The needs of a -injection-lib are not known. */
static int open_obstacles(struct run_parts *run)
{
	size_t size;
	const unsigned char *library = payload_library(&size);

	run->obstacles = obstacles_new(
		run->collect, run->log,
		&(struct obstacles_options){.library = library_of(run),
					    .pipe = run->payload.pipe_path,
					    .needed_glibc_minor =
						    run->options->injection_lib
							    ? 0
							    : untraced_glibc_of(library, size)});
	return run->obstacles ? 0 : -ENOMEM;
}

static int open_gpu_side(struct run_parts *run)
{
	const char *library = run->options->injection_lib;
	int err;

	if (!run->options->measure.traces_gpu)
		return 0;
	/* realpath: the loader would search its path for a name without a slash */
	if (library && !realpath(library, run->injection_lib)) {
		log_error(run->log, "-injection-lib %s: %s", library, strerror(errno));
		return -ENOENT;
	}
	err = run_parts_open_pipe(run);
	if (err)
		return err;
	collect_expect_hellos(run->collect, library_of(run),
			      run->options->measure.nvtx || run->options->measure.ranges);
	err = open_obstacles(run);
	if (!err)
		err = open_probes(run);
	if (err == -ENOMEM)
		log_error(run->log, "out of memory");
	return err;
}

static int open_recording(struct run_parts *run)
{
	if (!run->options->record)
		return 0;
	run->recording =
		recording_open(run->options->record, kernel_events_bpf(run->kernel) != NULL);
	if (run->recording)
		return 0;
	log_error(run->log, "cannot record to %s.pipe and .events: %s; choose another --save-input",
		  run->options->record, guarded_error(errno));
	return -EACCES;
}

int run_parts_open_inputs(struct run_parts *run)
{
	int err = open_collect(run);

	if (err)
		return err;
	if (run->options->attach)
		return run->options->measure.traces_gpu ? open_probes(run) : 0;
	err = open_gpu_side(run);
	return err ? err : open_recording(run);
}

void run_parts_environment(struct run_parts *run, const struct measure *measure,
			   struct target_environment *environment)
{
	const struct session_options *o = run->options;

	target_environment_make(environment,
				&(struct target_environment_options){
					.library = library_of(run),
					.pipe = run->payload.pipe_path,
					.measure = *measure,
					.counters = o->counters,
					.timeline = o->timeline && !o->is_for_findings,
					.waited = o->timeline != NULL,
					.leaves_nvtx = getenv(TARGET_ENVIRONMENT_NVTX) != NULL,
					.verbose = run->log->level == LOG_VERBOSE});
}

void run_parts_lock(const struct run_parts *run)
{
	privilege_lock();
	/* bounded calls only from here on: their threads are locked, too */
	if (run->payload.path[0])
		payload_remove_stale(&run->payload, collect_calls(run->collect));
}

/* ---- during the run ---- */

/* Returns Unix time in ns, or 0 before 1970. */
static uint64_t unix_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec < 0 ? 0 : (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void run_parts_begin(struct run_parts *run)
{
	run->start_ns = monotonic_ns();
	run->start_unix_ns = unix_ns();
	collect_begin(run->collect, run->start_ns);
}

void run_parts_answer(struct run_parts *run, pid_t pid, uint64_t instance)
{
	int err = payload_acknowledge(&run->payload, collect_calls(run->collect), instance);

	if (err)
		log_warn(run->log, "cannot acknowledge process %d: %s; it waits some seconds",
			 (int)pid, strerror(-err));
}

void run_parts_answer_all(struct run_parts *run)
{
	uint64_t instance;
	uint32_t at = 0;
	pid_t pid;

	while (attached_cuda_next_unanswered(&run->cuda, &at, &pid, &instance))
		run_parts_answer(run, pid, instance);
}

/* ---- the end ---- */

void run_parts_remove_payload(struct run_parts *run)
{
	payload_remove(&run->payload);
	supervisor_report_folder(run->supervisor, "");
}

void run_parts_close_kernel(struct run_parts *run)
{
	if (run->collect)
		bounded_caller_do_meanwhile(collect_calls(run->collect), NULL, NULL);
	kernel_events_close(run->kernel);
	run->kernel = NULL;
}

void run_parts_close(struct run_parts *run)
{
	free(run->program);
	attachment_free(run->attachment);
	attached_cuda_release(&run->cuda);
	recording_close(run->recording);
	run_parts_remove_payload(run);
	uprobes_free(run->probes);
	call_timing_free(run->call_timing);
	obstacles_free(run->obstacles);
	run_parts_close_kernel(run);
	gpu_pipe_free(run->pipe);
	collect_free(run->collect);
	kernel_names_free(run->kernel_names);
	if (run->kallsyms >= 0)
		close(run->kallsyms);
	if (run->epoll >= 0)
		close(run->epoll);
}
