// SPDX-License-Identifier: MIT
#include "profiler/sources/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/cuda_functions.h"

enum { KIND_SAMPLE = 1, KIND_LAUNCH = 2, FLAG_CUT = 1 };

#define STACK_FRAMES_MAX 512 /* of a recorded stack, without the kernel's */

struct recording {
	FILE *pipe;
	FILE *events;
	int err; /* why the pipe's bytes could not all be written: -errno */
};

static FILE *open_file(const char *prefix, const char *suffix)
{
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s.%s", prefix, suffix);

	if (n < 0 || (size_t)n >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	return fopen(path, "we");
}

struct recording *recording_open(const char *prefix)
{
	struct recording *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->pipe = open_file(prefix, "pipe");
	if (r->pipe)
		r->events = open_file(prefix, "events");
	if (!r->events) {
		int err = errno;

		if (r->pipe)
			fclose(r->pipe);
		free(r);
		errno = err;
		return NULL;
	}
	return r;
}

static int close_file(FILE *file)
{
	int err = ferror(file) ? -EIO : 0;

	return fclose(file) != 0 && !err ? -errno : err;
}

int recording_close(struct recording *r)
{
	int err, pipe_err, events_err;

	if (!r)
		return 0;
	err = r->err;
	pipe_err = close_file(r->pipe);
	events_err = close_file(r->events);
	free(r);
	if (err)
		return err;
	return pipe_err ? pipe_err : events_err;
}

void recording_pipe(struct recording *r, const void *bytes, size_t size)
{
	errno = 0;
	if (r && fwrite(bytes, 1, size, r->pipe) != size && !r->err)
		r->err = -errno;
}

void recording_target(struct recording *r, pid_t pid)
{
	if (r)
		fprintf(r->events, "target %d\n", (int)pid);
}

static void record_map(struct recording *r, const struct process_event *e)
{
	const struct code_mapping *m = &e->mapping;

	fprintf(r->events,
		"map %" PRIu64 " %d %" PRIx64 " %" PRIx64 " %" PRIx64 " %u %u %" PRIu64 " ",
		e->time_ns, (int)e->pid, m->start, m->end, m->file_offset, m->dev_major,
		m->dev_minor, m->inode);
	for (const char *p = m->path; *p; p++)
		fputc(*p == '\n' ? '?' : *p, r->events);
	fputc('\n', r->events);
}

void recording_process_event(struct recording *r, const struct process_event *e)
{
	if (!r)
		return;
	switch (e->type) {
	case PROCESS_FORK:
		if (e->parent == e->pid)
			fprintf(r->events, "thread %" PRIu64 " %d %d\n", e->time_ns, (int)e->pid,
				(int)e->tid);
		else
			fprintf(r->events, "fork %" PRIu64 " %d %d\n", e->time_ns, (int)e->parent,
				(int)e->pid);
		break;
	case PROCESS_EXEC:
		fprintf(r->events, "exec %" PRIu64 " %d\n", e->time_ns, (int)e->pid);
		break;
	case PROCESS_EXIT:
		fprintf(r->events, "exit %" PRIu64 " %d %d\n", e->time_ns, (int)e->pid,
			(int)e->tid);
		break;
	case PROCESS_MAP:
		record_map(r, e);
		break;
	case PROCESS_COMM:
	case PROCESS_SAMPLE: /* recorded as a stack, after unwinding */
		break;
	}
}

void recording_stack(struct recording *r, const struct collect *collect,
		     const struct stack_event *e, bool is_launch)
{
	const struct unwind_frame *frames;
	uint32_t count, kernel = is_launch ? 0 : e->kernel_frames;
	bool is_whole;

	if (!r)
		return;
	frames = collect_last_frames(collect, &count, &is_whole);
	fprintf(r->events, "stack %" PRIu64 " %u %u %d %u %d %u %u", (uint64_t)e->time_ns, e->pid,
		e->tid, is_launch ? KIND_LAUNCH : KIND_SAMPLE, e->launch_function,
		is_whole ? 0 : FLAG_CUT, count, kernel);
	for (uint32_t i = 0; i < count; i++)
		fprintf(r->events, " %" PRIx64, frames[i].address);
	for (uint32_t i = 0; i < kernel; i++)
		fputs(" 0", r->events);
	fputc('\n', r->events);
}

/* ---- replaying ---- */

/* Reads numbers from a line; a missing one makes it bad. */
struct fields {
	char *at;
	bool bad;
};

static uint64_t next_number(struct fields *f, int base)
{
	uint64_t value;
	char *end;

	errno = 0;
	value = strtoull(f->at, &end, base);
	if (end == f->at || errno || (*end != ' ' && *end != '\0'))
		f->bad = true;
	f->at = *end == ' ' ? end + 1 : end;
	return value;
}

static int replay_stack(struct collect *c, struct fields *f)
{
	struct stack_event e = {.time_ns = next_number(f, 10)};
	__u64 frames[2 * STACK_EVENT_MAX_FRAMES + STACK_FRAMES_MAX];
	uint64_t kind, flags, count;

	e.pid = (uint32_t)next_number(f, 10);
	e.tid = (uint32_t)next_number(f, 10);
	kind = next_number(f, 10);
	e.launch_function = (uint16_t)next_number(f, 10);
	flags = next_number(f, 10);
	e.user_frames = (uint16_t)next_number(f, 10);
	e.kernel_frames = (uint16_t)next_number(f, 10);
	count = (uint64_t)e.user_frames + e.kernel_frames;
	if (f->bad || count > sizeof(frames) / sizeof(frames[0]) ||
	    (kind != KIND_SAMPLE && kind != KIND_LAUNCH))
		return -EBADMSG;
	for (uint64_t i = 0; i < count; i++)
		frames[i] = next_number(f, 16);
	if (f->bad)
		return -EBADMSG;
	e.flags = flags & FLAG_CUT ? STACK_EVENT_TRUNCATED : 0;
	collect_addresses(c, &e, frames,
			  kind == KIND_LAUNCH ? cuda_function_name(e.launch_function) : NULL);
	return 0;
}

static int replay_process(struct collect *c, enum process_event_type type, bool is_thread,
			  struct fields *f)
{
	struct process_event e = {.type = type, .time_ns = next_number(f, 10)};

	if (type == PROCESS_FORK && !is_thread)
		e.parent = (pid_t)next_number(f, 10);
	e.pid = (pid_t)next_number(f, 10);
	e.tid = e.pid;
	if (is_thread || type == PROCESS_EXIT)
		e.tid = (pid_t)next_number(f, 10);
	if (is_thread)
		e.parent = e.pid;
	if (type == PROCESS_MAP) {
		e.mapping.start = next_number(f, 16);
		e.mapping.end = next_number(f, 16);
		e.mapping.file_offset = next_number(f, 16);
		e.mapping.dev_major = (uint32_t)next_number(f, 10);
		e.mapping.dev_minor = (uint32_t)next_number(f, 10);
		e.mapping.inode = next_number(f, 10);
		e.mapping.path = f->at;
	}
	if (f->bad)
		return -EBADMSG;
	collect_process_event(c, &e);
	return 0;
}

int recording_replay_line(struct collect *c, char *line)
{
	char *space = strchr(line, ' ');
	struct fields f = {.at = space ? space + 1 : line};
	pid_t target;

	if (!space)
		return -EBADMSG;
	*space = '\0';
	if (strcmp(line, "stack") == 0)
		return replay_stack(c, &f);
	if (strcmp(line, "map") == 0)
		return replay_process(c, PROCESS_MAP, false, &f);
	if (strcmp(line, "fork") == 0)
		return replay_process(c, PROCESS_FORK, false, &f);
	if (strcmp(line, "thread") == 0)
		return replay_process(c, PROCESS_FORK, true, &f);
	if (strcmp(line, "exec") == 0)
		return replay_process(c, PROCESS_EXEC, false, &f);
	if (strcmp(line, "exit") == 0)
		return replay_process(c, PROCESS_EXIT, false, &f);
	if (strcmp(line, "target") != 0)
		return -EBADMSG;
	target = (pid_t)next_number(&f, 10);
	if (f.bad)
		return -EBADMSG;
	return collect_start_target(c, target) ? 0 : -ENOMEM;
}
