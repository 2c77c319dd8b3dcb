// SPDX-License-Identifier: MIT
#include "profiler/sources/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "profiler/base/cuda_functions.h"
#include "symbolize/util/guarded_path.h"
#include "symbolize/util/id_map.h"

enum { KIND_SAMPLE = 1, KIND_LAUNCH = 2, FLAG_CUT = 1 };

#define STACK_FRAMES_MAX 512 /* user frames of a recorded stack */

#define HELD_MAX_BYTES (32u << 20) /* limit of all held mappings; further ones are dropped */

struct recording {
	FILE *pipe;
	FILE *events;
	int err;               /* error of the first failed write of pipe bytes, -errno */
	size_t held_bytes;     /* bytes of all held lines */
	bool holds_maps;       /* hold mappings until a stack proves access */
	struct id_map waiting; /* by pid: struct held */
};

/* Lines that are recorded once the user may inspect the process. */
struct held {
	size_t bytes;
	char *lines;
};

static FILE *open_file(const char *prefix, const char *suffix)
{
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s.%s", prefix, suffix), fd;
	FILE *file;

	if (n < 0 || (size_t)n >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	fd = guarded_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_NOCTTY, 0666);
	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	fcntl(fd, F_SETFL, 0);
	file = fdopen(fd, "w");
	if (!file)
		close(fd);
	return file;
}

struct recording *recording_open(const char *prefix, bool holds_maps)
{
	struct recording *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->holds_maps = holds_maps;
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

static void free_held(struct held *held)
{
	free(held->lines);
	free(held);
}

int recording_close(struct recording *r)
{
	uint32_t position = 0, pid;
	int err, pipe_err, events_err;
	uint64_t value;

	if (!r)
		return 0;
	while (id_map_next(&r->waiting, &position, &pid, &value))
		free_held((struct held *)(uintptr_t)value);
	id_map_release(&r->waiting);
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

/* ---- mappings of programs that the user may look into ---- */

/* Removes the held lines of a process, and writes them if the user may inspect the process. */
static void release_held(struct recording *r, pid_t pid, bool writes)
{
	const uint64_t *value = id_map_find(&r->waiting, (uint32_t)pid);
	struct held *held = value ? (struct held *)(uintptr_t)*value : NULL;

	if (!held)
		return;
	id_map_remove(&r->waiting, (uint32_t)pid);
	if (writes)
		fwrite(held->lines, 1, held->bytes, r->events);
	r->held_bytes -= held->bytes;
	free_held(held);
}

/* Holds lines of a process. Drops them over HELD_MAX_BYTES or without memory. */
static void hold(struct recording *r, pid_t pid, const char *lines, size_t bytes)
{
	uint64_t *value = id_map_get(&r->waiting, (uint32_t)pid);
	struct held *held;
	char *grown;

	if (!value)
		return;
	held = *value ? (struct held *)(uintptr_t)*value : calloc(1, sizeof(*held));
	*value = (uint64_t)(uintptr_t)held;
	if (!held) {
		id_map_remove(&r->waiting, (uint32_t)pid);
		return;
	}
	grown = r->held_bytes + bytes < HELD_MAX_BYTES ? realloc(held->lines, held->bytes + bytes)
						       : NULL;
	if (!grown)
		return;
	held->lines = grown;
	memcpy(grown + held->bytes, lines, bytes);
	held->bytes += bytes;
	r->held_bytes += bytes;
}

void recording_no_access(struct recording *r, pid_t pid)
{
	if (r)
		release_held(r, pid, false);
}

/* Copies the held lines of a parent to its child. */
static void inherit_held(struct recording *r, pid_t parent, pid_t child)
{
	const uint64_t *value = id_map_find(&r->waiting, (uint32_t)parent);
	const struct held *held = value ? (const struct held *)(uintptr_t)*value : NULL;

	release_held(r, child, false);
	if (held && held->bytes)
		hold(r, child, held->lines, held->bytes);
}

static void write_map(FILE *to, const struct process_event *e)
{
	const struct code_mapping *m = &e->mapping;

	fprintf(to, "map %" PRIu64 " %d %" PRIx64 " %" PRIx64 " %" PRIx64 " %u %u %" PRIu64 " ",
		e->time_ns, (int)e->pid, m->start, m->end, m->file_offset, m->dev_major,
		m->dev_minor, m->inode);
	for (const char *p = m->path; *p; p++)
		fputc(*p == '\n' ? '?' : *p, to);
	fputc('\n', to);
}

static void record_map(struct recording *r, const struct process_event *e)
{
	char *line = NULL;
	size_t bytes = 0;
	FILE *stream;

	if (!r->holds_maps) {
		write_map(r->events, e);
		return;
	}
	stream = open_memstream(&line, &bytes);
	if (!stream)
		return;
	write_map(stream, e);
	if (fclose(stream) == 0)
		hold(r, e->pid, line, bytes);
	free(line);
}

void recording_process_event(struct recording *r, const struct process_event *e)
{
	if (!r)
		return;
	switch (e->type) {
	case PROCESS_FORK:
		if (e->parent == e->pid) {
			fprintf(r->events, "thread %" PRIu64 " %d %d\n", e->time_ns, (int)e->pid,
				(int)e->tid);
		} else {
			inherit_held(r, e->parent, e->pid);
			fprintf(r->events, "fork %" PRIu64 " %d %d\n", e->time_ns, (int)e->parent,
				(int)e->pid);
		}
		break;
	case PROCESS_EXEC:
		release_held(r, e->pid, false);
		fprintf(r->events, "exec %" PRIu64 " %d\n", e->time_ns, (int)e->pid);
		break;
	case PROCESS_EXIT:
		if (e->tid == e->pid)
			release_held(r, e->pid, false);
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
	if (e->flags & STACK_EVENT_NO_ACCESS)
		release_held(r, (pid_t)e->pid, false);
	else if (!(e->flags & (STACK_EVENT_IN_EXEC | STACK_EVENT_NO_MEMORY)))
		release_held(r, (pid_t)e->pid, true);
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

/* Reader of numbers from a line. A missing number sets `bad`. */
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
