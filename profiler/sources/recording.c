// SPDX-License-Identifier: MIT
#include "profiler/sources/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct recording {
	FILE *pipe;
	FILE *events;
};

static FILE *open_file(const char *prefix, const char *suffix, const struct identity *identity)
{
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s.%s", prefix, suffix);
	FILE *file;

	if (n < 0 || (size_t)n >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	identity_enter_files(identity);
	file = fopen(path, "we");
	identity_leave_files(identity);
	return file;
}

struct recording *recording_open(const char *prefix, const struct identity *identity)
{
	struct recording *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->pipe = open_file(prefix, "pipe", identity);
	if (r->pipe)
		r->events = open_file(prefix, "events", identity);
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
	int err, err2;

	if (!r)
		return 0;
	err = close_file(r->pipe);
	err2 = close_file(r->events);
	free(r);
	return err ? err : err2;
}

void recording_pipe(struct recording *r, const void *bytes, size_t size)
{
	if (r)
		fwrite(bytes, 1, size, r->pipe);
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
		fprintf(r->events, "fork %" PRIu64 " %d %d\n", e->time_ns, (int)e->parent,
			(int)e->pid);
		break;
	case PROCESS_EXEC:
		fprintf(r->events, "exec %" PRIu64 " %d\n", e->time_ns, (int)e->pid);
		break;
	case PROCESS_EXIT:
		fprintf(r->events, "exit %" PRIu64 " %d\n", e->time_ns, (int)e->pid);
		break;
	case PROCESS_MAP:
		record_map(r, e);
		break;
	case PROCESS_SAMPLE:
		recording_stack(r, &e->snapshot->event, NULL);
		break;
	}
}

void recording_stack(struct recording *r, const struct stack_event *e, const __u64 *frames)
{
	uint32_t count = (uint32_t)e->user_frames + e->kernel_frames;

	if (!r)
		return;
	fprintf(r->events, "stack %" PRIu64 " %u %u %u %u %u %u %u", (uint64_t)e->time_ns, e->pid,
		e->tid, e->kind, e->launch_function, e->flags, e->user_frames, e->kernel_frames);
	for (uint32_t i = 0; frames && i < count; i++)
		fprintf(r->events, " %" PRIx64, (uint64_t)frames[i]);
	fputc('\n', r->events);
}

/* ---- replaying ---- */

/* Reads numbers off a line; the first that is missing makes it bad. */
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
	__u64 frames[2 * STACK_EVENT_MAX_FRAMES + 1];
	uint32_t count;

	e.pid = (uint32_t)next_number(f, 10);
	e.tid = (uint32_t)next_number(f, 10);
	e.kind = (uint16_t)next_number(f, 10);
	e.launch_function = (uint16_t)next_number(f, 10);
	e.flags = (uint32_t)next_number(f, 10);
	e.user_frames = (uint16_t)next_number(f, 10);
	e.kernel_frames = (uint16_t)next_number(f, 10);
	count = (uint32_t)e.user_frames + e.kernel_frames;
	if (f->bad || count > sizeof(frames) / sizeof(frames[0]))
		return -EBADMSG;
	for (uint32_t i = 0; i < count; i++)
		frames[i] = next_number(f, 16);
	if (f->bad)
		return -EBADMSG;
	collect_stack(c, &e, frames);
	return 0;
}

static int replay_process(struct collect *c, enum process_event_type type, struct fields *f)
{
	struct process_event e = {.type = type, .time_ns = next_number(f, 10)};

	if (type == PROCESS_FORK)
		e.parent = (pid_t)next_number(f, 10);
	e.pid = (pid_t)next_number(f, 10);
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
		return replay_process(c, PROCESS_MAP, &f);
	if (strcmp(line, "fork") == 0)
		return replay_process(c, PROCESS_FORK, &f);
	if (strcmp(line, "exec") == 0)
		return replay_process(c, PROCESS_EXEC, &f);
	if (strcmp(line, "exit") == 0)
		return replay_process(c, PROCESS_EXIT, &f);
	if (strcmp(line, "target") != 0)
		return -EBADMSG;
	target = (pid_t)next_number(&f, 10);
	if (f.bad)
		return -EBADMSG;
	collect_set_root(c, target);
	return 0;
}
