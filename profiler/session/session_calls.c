// SPDX-License-Identifier: MIT
/*
 * The part of a session for processes in which CUPTI is not to be had, because another profiler has
 * it or for any other reason: the calls of CUDA's functions are timed instead, by probes. And the
 * other way round: who asked for CUPTI where this profile has it, and was refused.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "profiler/base/call_functions.h"
#include "profiler/session/session_state.h"

#define INJECTION_ENV "CUDA_INJECTION64_PATH="
#define ENVIRONMENT_MAX (4u << 20) /* bytes looked through */

bool session_can_time_calls(const struct session *s)
{
	return s->call_probes != NULL;
}

static bool has_pid(const void *records, uint32_t position, const void *key)
{
	return ((const struct timed_process *)records + position)->pid == *(const uint32_t *)key;
}

static struct timed_process *find_timed(const struct session *s, uint32_t pid)
{
	uint32_t at = hash_index_find(&s->timed_index, hash_bytes(&pid, sizeof(pid)), has_pid,
				      s->timed, &pid);

	return at == HASH_INDEX_NONE ? NULL : &s->timed[at];
}

static bool is_timed(const struct session *s, uint32_t pid)
{
	const struct timed_process *p = find_timed(s, pid);

	return p && p->since_ns;
}

static struct timed_process *add_timed(struct session *s, uint32_t pid)
{
	if (s->timed_count == s->timed_capacity) {
		uint32_t capacity = s->timed_capacity ? s->timed_capacity * 2 : 16;
		struct timed_process *timed = realloc(s->timed, capacity * sizeof(*timed));

		if (!timed)
			return NULL;
		s->timed = timed;
		s->timed_capacity = capacity;
	}
	if (hash_index_add(&s->timed_index, hash_bytes(&pid, sizeof(pid)), s->timed_count) != 0)
		return NULL;
	s->timed[s->timed_count] = (struct timed_process){.pid = pid};
	return &s->timed[s->timed_count++];
}

/* A leader that has ended before its threads is no process that has ended. */
static bool has_threads(uint32_t pid)
{
	char path[64];
	struct dirent *entry;
	int count = 0;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	tasks = opendir(path);
	while (tasks && count < 2 && (entry = readdir(tasks)))
		count += entry->d_name[0] != '.';
	if (tasks)
		closedir(tasks);
	return count > 1;
}

/* A program that is executed there, or a process with that number, begins anew. */
static void end_timing(struct session *s, uint32_t pid, uint64_t now_ns)
{
	struct timed_process *p = find_timed(s, pid);

	if (!p || !p->since_ns || p->since_ns > now_ns)
		return;
	p->since_ns = 0;
	bpf_source_time_calls(s->cpu, (pid_t)pid, false);
	probes_forget_process(s->call_probes, (pid_t)pid);
}

void session_is_traced(struct session *s, uint32_t pid)
{
	if (!session_can_time_calls(s))
		return;
	end_timing(s, pid, UINT64_MAX);
	if (bpf_source_follows(s->cpu, (pid_t)pid))
		probes_scan_process(s->subscribe_probes, (pid_t)pid);
}

void session_time_calls(struct session *s, uint32_t pid)
{
	struct timed_process *p;
	int n, err;

	if (!session_can_time_calls(s) || is_timed(s, pid))
		return;
	/* it says its number itself, and in a pid namespace of its own has another one */
	if (!bpf_source_follows(s->cpu, (pid_t)pid)) {
		log_verbose(s->log, "process %u: no such process of the command's is known here",
			    pid);
		return;
	}
	p = find_timed(s, pid);
	if (!p)
		p = add_timed(s, pid);
	if (!p) {
		log_warn(s->log, "process %u: its CUDA calls cannot be timed: out of memory", pid);
		return;
	}
	p->since_ns = session_now_ns();
	s->collect.has_breakpoints = true;
	n = probes_scan_process(s->call_probes, (pid_t)pid);
	err = n < 0 ? n : bpf_source_time_calls(s->cpu, (pid_t)pid, true);
	if (err && err != -ENOENT && err != -ESRCH)
		log_warn(s->log, "process %u: its CUDA calls cannot be timed: %s", pid,
			 strerror(-err));
	log_verbose(s->log, "process %u: %d functions of CUDA newly probed, %u in all", pid,
		    n > 0 ? n : 0, probes_count(s->call_probes));
}

uint32_t session_timed_processes(const struct session *s)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < s->timed_count; i++)
		count += s->timed[i].counts;
	return count;
}

/* It has no GPU time that it could have had. */
void session_note_missing(struct session *s, uint32_t pid)
{
	struct timed_process *p = find_timed(s, pid);

	if (p)
		p->counts = true;
}

/* ---- another tool's library in the place of ours ---- */

/* The whole of a small file, ended with a 0; NULL if it cannot be read. */
static char *read_environment(uint32_t pid, size_t *size)
{
	char path[64], *text = malloc(ENVIRONMENT_MAX + 1);
	ssize_t n = 1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/environ", pid);
	fd = text ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0) {
		free(text);
		return NULL;
	}
	for (*size = 0; *size < ENVIRONMENT_MAX && n > 0; *size += (size_t)(n > 0 ? n : 0))
		n = read(fd, text + *size, ENVIRONMENT_MAX - *size);
	close(fd);
	text[*size] = '\0';
	return text;
}

/*
 * What the driver will load there: a path, "" for nothing, NULL if that is not known. Programs that
 * show a title in the place of their arguments write over their environment, too: what is not all
 * "NAME=VALUE" says nothing.
 */
static char *injection_of(uint32_t pid)
{
	size_t size, at = 0;
	char *text = read_environment(pid, &size), *found = NULL;
	bool is_sound = true;

	if (!text || size == 0) {
		free(text); /* it has ended, or is none of ours to read */
		return NULL;
	}
	while (at < size && is_sound) {
		is_sound = strchr(text + at, '=') > text + at;
		if (!found && strncmp(text + at, INJECTION_ENV, strlen(INJECTION_ENV)) == 0)
			found = strdup(text + at + strlen(INJECTION_ENV));
		at += strlen(text + at) + 1;
	}
	if (is_sound && !found)
		found = strdup("");
	if (!is_sound) {
		free(found);
		found = NULL;
	}
	free(text);
	return found;
}

/*
 * The driver is mapped: will it load our library? The environment is that of the process's start;
 * what it changed in it since is not seen. Should our library say hello after all, that ends it.
 */
static void judge_injection(struct session *s, uint32_t pid)
{
	const char *ours = s->options->cupti_lib ? s->cupti_lib : s->payload.library;
	char *found = gpu_pipe_is_open(s->gpu, pid) ? NULL : injection_of(pid);
	struct gpu_event_notice notice = {.code = GPU_NOTICE_NOT_INJECTED, .detail = found};

	if (found && strcmp(found, ours) != 0) {
		notices_add(&s->notices, pid, &notice);
		session_time_calls(s, pid);
	}
	free(found);
}

/* ---- mappings ---- */

static bool maps_library(const struct process_event *event, const char *name)
{
	const char *slash = strrchr(event->mapping.path, '/');

	return slash && strncmp(slash + 1, name, strlen(name)) == 0;
}

/* A process is looked at again once all that is known of its mappings has been taken in. */
static void mark_changed(struct session *s, uint32_t pid)
{
	for (uint32_t i = 0; i < s->changed_count; i++)
		if (s->changed[i] == pid)
			return;
	if (s->changed_count == SESSION_CHANGED_MAX)
		session_scan_changed(s);
	s->changed[s->changed_count++] = pid;
}

void session_watch_calls(struct session *s, const struct process_event *event)
{
	uint32_t pid = (uint32_t)event->pid;

	if (!session_can_time_calls(s))
		return;
	if (event->type == PROCESS_EXEC || (event->type == PROCESS_EXIT && !has_threads(pid)))
		end_timing(s, pid, event->time_ns);
	if (event->type != PROCESS_MAP)
		return;
	if (maps_library(event, "libcuda.so") && !is_timed(s, pid))
		judge_injection(s, pid);
	if (is_timed(s, pid) || maps_library(event, "libcupti.so"))
		mark_changed(s, pid);
}

void session_scan_changed(struct session *s)
{
	for (uint32_t i = 0; i < s->changed_count; i++) {
		pid_t pid = (pid_t)s->changed[i];

		if (is_timed(s, s->changed[i]))
			probes_scan_process(s->call_probes, pid);
		else
			probes_scan_process(s->subscribe_probes, pid);
	}
	s->changed_count = 0;
}

/* ---- events ---- */

/*
 * Somebody got CUPTI's "no": with a process of ours that is traced, because we are there. CUPTI's
 * older function calls the newer one, and it is the older one's return that tells who asked.
 */
static void on_refused(struct session *s, const struct stack_event *event, uint64_t caller)
{
	struct code_ref code = symbolizer_locate(s->collect.symbolizer, (pid_t)event->pid, caller);
	struct gpu_event_notice notice = {.code = GPU_NOTICE_OTHER_REFUSED};
	const char *path, *slash;

	if (!gpu_pipe_is_open(s->gpu, event->pid))
		return; /* it is us who was refused there */
	path = symbolizer_module_path(s->collect.symbolizer, code.module);
	slash = strrchr(path, '/');
	notice.detail = slash ? slash + 1 : path;
	if (strncmp(notice.detail, "libcupti", strlen("libcupti")) != 0) /* which probes take */
		notices_add(&s->notices, event->pid, &notice);
}

bool session_take_call(struct session *s, const struct stack_event *event)
{
	const __u64 *frames = (const __u64 *)(event + 1);
	const char *function = call_function_name(event->launch_function);

	switch (event->kind) {
	case STACK_EVENT_CALL:
		session_note_missing(s, event->pid);
		collect_call(&s->collect, (const struct stack_snapshot *)event, function,
			     call_function_kernel_register(event->launch_function));
		return true;
	case STACK_EVENT_CALL_END:
		session_note_missing(s, event->pid);
		if (event->user_frames == 1)
			collect_call_end(&s->collect, event, frames[0], function);
		return true;
	case STACK_EVENT_REFUSED:
		if (event->user_frames == 1)
			on_refused(s, event, frames[0]);
		return true;
	default:
		return false;
	}
}
