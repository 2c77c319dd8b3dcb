// SPDX-License-Identifier: MIT
/* The first half of a session: from nothing to a target that runs with everything attached. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "cupti_trace/gpu_wire.h"
#include "profiler/session/session.h"
#include "profiler/session/session_state.h"

#define NVTX_PATH_ENV "NVTX_INJECTION64_PATH"

static int watch(struct session *s, int fd, uint32_t what)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = what};

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

/* Signals become readable; SIGPIPE becomes an error of write(). Dispositions are left alone. */
static int take_signals(struct session *s)
{
	static const int ours[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD};
	sigset_t mask, blocked;

	sigemptyset(&mask);
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		sigaddset(&mask, ours[i]);
	blocked = mask;
	sigaddset(&blocked, SIGPIPE);
	if (sigprocmask(SIG_BLOCK, &blocked, &s->old_mask) != 0)
		return -errno;
	s->mask_changed = true;
	s->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signals < 0 ? -errno : 0;
}

/* Where CUPTI is not to be had, calls are to be timed, if they can be. */
static bool wants_calls(const struct session *s)
{
	return session_traces_gpu(s) && bpf_source_may_probe_returns();
}

/*
 * BPF for CPU samples and launch probes. Where it is not to be had, and no probes are asked for,
 * samples are left to perf events of the target alone, which follow_target opens.
 */
static int open_cpu_source(struct session *s, uint32_t sample_hz)
{
	struct bpf_source_options options = {
		.sample_hz = sample_hz,
		.launches = session_uses_probes(s),
		.calls = wants_calls(s),
	};

	s->cpu = bpf_source_open(&options, s->bpf_error, sizeof(s->bpf_error));
	if (s->cpu)
		return watch(s, bpf_source_fd(s->cpu), READY_STACKS);
	if (session_uses_probes(s)) {
		log_error(s->log, "%s", s->bpf_error);
		return -EPERM;
	}
	s->samples_by_perf = sample_hz > 0;
	return 0;
}

static void on_python(void *context, pid_t pid, const struct stack_python *layout)
{
	struct session *s = context;
	int err = bpf_source_set_python(s->cpu, pid, layout);

	log_verbose(s->log, "process %d runs Python%s%s", (int)pid, err ? ": " : "",
		    err ? strerror(-err) : "");
}

/* Said once a kind, together with what the injected library says of launches. */
static void on_unknown_python(void *context, pid_t pid, uint32_t hex)
{
	struct session *s = context;
	char detail[64];
	struct gpu_event_notice notice = {.code = GPU_NOTICE_NO_PYTHON, .detail = detail};

	snprintf(detail, sizeof(detail), "Python %u.%u.%u is not known", hex >> 24,
		 hex >> 16 & 0xff, hex >> 8 & 0xff);
	notices_add(&s->notices, (uint32_t)pid, &notice);
}

/*
 * The kernel's side: BPF, and the record of what processes map. With neither samples nor probes no
 * privilege is needed, launch stacks come with their own mappings; where there is one, calls can be
 * timed if need be.
 */
static int open_kernel_side(struct session *s)
{
	uint32_t sample_hz = s->options->mode == MODE_GPU_ONLY ? 0 : s->options->frequency_hz;
	bool needs_bpf = sample_hz > 0 || session_uses_probes(s) || wants_calls(s);
	int err = needs_bpf ? open_cpu_source(s, sample_hz) : 0;

	if (err || !s->cpu)
		return err;
	if (sample_hz > 0 || session_traces_gpu(s)) {
		s->collect.on_python = on_python;
		s->collect.on_unknown_python = on_unknown_python;
		s->collect.python_context = s;
		s->collect.pythons.lines = s->options->python_lines;
		s->collect.pythons.keeps_native = s->options->native_python;
	}
	s->process_events = process_events_open();
	if (s->process_events)
		return process_events_watch(s->process_events, s->epoll, READY_PROCESSES);
	if (sample_hz == 0 && !session_uses_probes(s)) {
		log_verbose(s->log, "CUDA's calls cannot be timed: perf_event_open: %s",
			    strerror(errno));
		epoll_ctl(s->epoll, EPOLL_CTL_DEL, bpf_source_fd(s->cpu), NULL);
		bpf_source_close(s->cpu);
		s->cpu = NULL;
		return 0;
	}
	log_error(s->log,
		  "cannot follow the processes' mappings: perf_event_open: %s; run with sudo, or "
		  "give "
		  "the binary CAP_PERFMON",
		  strerror(errno));
	return -EPERM;
}

/* CPU samples as any user may have them. What is missing is said; without any, -cpu-only is
 * pointless. */
static int sample_by_perf(struct session *s)
{
	bool needed = s->options->mode == MODE_CPU_ONLY;

	s->process_events = process_events_open_target(s->target.pid, s->options->frequency_hz);
	if (s->process_events) {
		log_warn(s->log, "%s. Going on with CPU samples of user code only", s->bpf_error);
		return process_events_watch(s->process_events, s->epoll, READY_PROCESSES);
	}
	(needed ? log_error : log_warn)(
		s->log,
		"%s. Without that, perf events need kernel.perf_event_paranoid at 2: %s. %s",
		s->bpf_error, strerror(errno),
		needed ? "No CPU samples" : "Going on with GPU time only");
	return needed ? -EPERM : 0;
}

/* The target, at its gate, is followed and sampled from here on. */
static int follow_target(struct session *s)
{
	char error[512];
	int err;

	/* the target's own fork is past, and by no process that is followed: read it before */
	if (s->process_events) {
		process_events_read(s->process_events);
		session_apply_process_events(s, UINT64_MAX);
	}
	if (s->samples_by_perf) {
		err = sample_by_perf(s);
		if (err)
			return err;
	}
	collect_set_root(&s->collect, s->target.pid);
	recording_target(s->recording, s->target.pid);
	if (!s->cpu)
		return 0;
	err = bpf_source_track(s->cpu, s->target.pid);
	if (err)
		snprintf(error, sizeof(error), "cannot follow the target: %s", strerror(-err));
	else
		err = bpf_source_start(s->cpu, error, sizeof(error));
	if (err)
		log_error(s->log, "%s", error);
	return err;
}

/* False: out of memory. */
static bool open_call_probes(struct session *s)
{
	s->notices.hints_at_root = geteuid() != 0;
	if (!bpf_source_may_probe_returns()) {
		log_verbose(s->log,
			    "CUDA's calls are never timed on Linux 6.11 to 6.13: return probes "
			    "there can kill processes whose system calls are filtered");
		return true;
	}
	if (!s->cpu || !bpf_source_has_calls(s->cpu))
		return true;
	s->call_probes = probes_new(PROBE_CALL, s->cpu, s->log);
	s->subscribe_probes = probes_new(PROBE_SUBSCRIBE, s->cpu, s->log);
	s->notices.times_calls = true;
	return s->call_probes && s->subscribe_probes;
}

static int open_gpu_side(struct session *s)
{
	int err;

	if (!session_traces_gpu(s))
		return 0;
	/* a name without a slash would be looked up on the loader's path, which is not what was
	 * meant */
	if (s->options->cupti_lib && !realpath(s->options->cupti_lib, s->cupti_lib)) {
		log_error(s->log, "-cupti-lib %s: %s", s->options->cupti_lib, strerror(errno));
		return -ENOENT;
	}
	err = payload_create(&s->payload, s->identity);
	if (err) {
		log_error(s->log,
			  "no folder for the tracing library: tried %s; set TMPDIR to one "
			  "on a file system mounted without noexec",
			  s->payload.tried);
		return err;
	}
	s->gpu = gpu_pipe_new(&s->collect.strings, session_on_gpu_event, s);
	s->collect.has_breakpoints = session_uses_probes(s);
	if (session_uses_probes(s))
		s->probes = probes_new(PROBE_LAUNCH, s->cpu, s->log);
	if (!s->gpu || (session_uses_probes(s) && !s->probes) || !open_call_probes(s)) {
		log_error(s->log, "out of memory");
		return -ENOMEM;
	}
	for (uint32_t i = 0; s->probes && i < s->options->cuda_lib_count; i++) {
		const char *path = s->options->cuda_libs[i];

		err = probes_scan_file(s->probes, path);
		if (err < 0) {
			log_error(s->log, "-cuda-lib %s: %s", path,
				  access(path, R_OK) == 0 ? "no CUDA launch function in it"
							  : strerror(errno));
			return err;
		}
	}
	return watch(s, s->payload.pipe, READY_PIPE);
}

static void tee_pipe(void *context, const void *bytes, size_t size)
{
	recording_pipe(context, bytes, size);
}

static int open_recording(struct session *s)
{
	if (!s->options->record)
		return 0;
	s->recording = recording_open(s->options->record, s->identity);
	if (!s->recording) {
		log_error(s->log, "cannot record to %s.pipe and .events: %s", s->options->record,
			  strerror(errno));
		return -EACCES;
	}
	if (s->gpu)
		gpu_pipe_tee(s->gpu, tee_pipe, s->recording);
	return 0;
}

/* A tool that the user has chosen for NVTX himself stays: there can be one. */
static bool takes_nvtx(const struct session *s)
{
	const char *chosen = getenv(NVTX_PATH_ENV);

	if (s->options->nvtx && chosen)
		log_warn(s->log,
			 NVTX_PATH_ENV " is set to %s and stays: no NVTX ranges in this profile",
			 chosen);
	return s->options->nvtx && !chosen;
}

static int start_target(struct session *s)
{
	char injection[PATH_MAX + 64], pipe[PAYLOAD_PATH_MAX + 64], nvtx[PATH_MAX + 64];
	const char *environment[16] = {NULL};
	uint32_t n = 0;
	struct target_options options = {
		.command = s->options->command,
		.identity = s->identity,
		.environment = environment,
		.stdout_to_stderr = strcmp(s->options->output, "-") == 0,
		.signal_mask = s->old_mask,
	};

	if (session_traces_gpu(s)) {
		const char *library = s->options->cupti_lib ? s->cupti_lib : s->payload.library;

		if (getenv("CUDA_INJECTION64_PATH"))
			log_warn(s->log,
				 "CUDA_INJECTION64_PATH is set to %s; it is replaced for "
				 "this run",
				 getenv("CUDA_INJECTION64_PATH"));
		snprintf(injection, sizeof(injection), "CUDA_INJECTION64_PATH=%s", library);
		snprintf(pipe, sizeof(pipe), GPU_WIRE_PIPE_ENV "=%s", s->payload.pipe_path);
		environment[n++] = injection;
		environment[n++] = pipe;
		if (!session_uses_probes(s))
			environment[n++] = GPU_WIRE_STACKS_ENV "=1";
		if (s->options->python_lines)
			environment[n++] = GPU_WIRE_PYTHON_LINES_ENV "=1";
		if (s->options->native_python)
			environment[n++] = GPU_WIRE_NATIVE_PYTHON_ENV "=1";
		if (s->options->kernels_only)
			environment[n++] = GPU_WIRE_KERNELS_ONLY_ENV "=1";
		if (s->options->whole_graphs)
			environment[n++] = GPU_WIRE_GRAPHS_ENV "=1";
		if (by_has(&s->options->by, BY_DEVICE) || s->options->level == LOG_VERBOSE)
			environment[n++] = GPU_WIRE_DEVICES_ENV "=1";
		if (s->options->waits)
			environment[n++] = GPU_WIRE_WAITS_ENV "=1";
		if (takes_nvtx(s)) {
			snprintf(nvtx, sizeof(nvtx), NVTX_PATH_ENV "=%s", library);
			environment[n++] = nvtx;
			environment[n++] = GPU_WIRE_NVTX_ENV "=1";
		}
		if (s->options->level == LOG_VERBOSE)
			environment[n++] = GPU_WIRE_VERBOSE_ENV "=1";
	}
	return target_start(&s->target, &options);
}

/* 0, or our exit status. */
int session_set_up(struct session *s)
{
	int err;

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0 || take_signals(s) != 0 || watch(s, s->signals, READY_SIGNAL) != 0) {
		log_error(s->log, "cannot watch signals: %s", strerror(errno));
		return EXIT_PROFILER_FAILED;
	}
	if (open_kernel_side(s) != 0 || open_gpu_side(s) != 0 || open_recording(s) != 0)
		return EXIT_PROFILER_FAILED;
	err = start_target(s);
	if (err) {
		log_error(s->log, "cannot start a process: %s", strerror(-err));
		return EXIT_PROFILER_FAILED;
	}
	return follow_target(s) == 0 ? 0 : EXIT_PROFILER_FAILED;
}

int session_release_target(struct session *s)
{
	const char *command = s->options->command[0];
	int err;

	s->start_ns = session_now_ns();
	s->quick_until_ns = s->start_ns + 100000000; /* then its exec will be known */
	err = target_release(&s->target);
	if (!err)
		return 0;
	if (err == -ENOENT) {
		log_error(s->log, "%s: command not found", command);
		return EXIT_NOT_FOUND;
	}
	log_error(s->log, "cannot run %s: %s", command, strerror(-err));
	return EXIT_CANNOT_RUN;
}
