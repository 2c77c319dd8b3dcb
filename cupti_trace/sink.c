// SPDX-License-Identifier: MIT
#include "cupti_trace/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "cupti_trace/clock.h"
#include "cupti_trace/guest.h"
#include "cupti_trace/own_cost.h"
#include "symbolize/text.h"

#define KEPT_FIRST 16384u
#define PIPE_FLAGS (O_WRONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW)
#define NOT_NOW (-EMFILE) /* of several errors of open, this one stands for all that may pass */

static void begin_batch(struct sink *sink)
{
	sink->used = SINK_HEADER_MAX;
	sink->batch_kernels = 0;
	sink->batch_launches = 0;
	sink->batch_drops = (struct gpu_event_drops){0};
}

/* Puts a header before the lines that end at `used`. Returns where it begins. */
static char *add_header(const struct sink *sink, char *batch, size_t used)
{
	struct gpu_event event = {
		.type = GPU_EVENT_BATCH,
		.batch = {.pid = sink->pid,
			  .instance = sink->instance,
			  .sequence = sink->sequence,
			  .bytes = (uint32_t)(used - SINK_HEADER_MAX)},
	};
	char header[SINK_HEADER_MAX];
	int length = gpu_wire_encode(&event, header + 1, sizeof(header) - 1);

	if (length < 0)
		return NULL;
	/* the newline ends a half line that somebody else may have left in the pipe */
	header[0] = '\n';
	length++;
	return memcpy(batch + SINK_HEADER_MAX - length, header, (size_t)length);
}

/* A descriptor or -errno. */
static int open_pipe(const char *path)
{
	return guest_open(path, PIPE_FLAGS);
}

int sink_open(struct sink *sink, const char *pipe_path, uint32_t pid, uint64_t instance)
{
	struct stat st;
	int fd;

	memset(sink, 0, sizeof(*sink));
	sink->fd = -1;
	pthread_mutex_init(&sink->lock, NULL);
	sink->pid = pid;
	sink->owner = getpid();
	sink->instance = instance;
	if (snprintf(sink->path, sizeof(sink->path), "%s", pipe_path) >= (int)sizeof(sink->path))
		return -ENAMETOOLONG;
	fd = open_pipe(pipe_path);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) == 0) {
		sink->device = st.st_dev;
		sink->inode = st.st_ino;
	}
	sink->fd = fd;
	sink->is_on = true;
	begin_batch(sink);
	return 0;
}

/* In a child that was made without fork's handlers, by _Fork or clone. */
static bool is_copy(const struct sink *sink)
{
	return getpid() != sink->owner;
}

static bool is_same(const struct sink *sink, const struct stat *st)
{
	return S_ISFIFO(st->st_mode) && st->st_dev == sink->device && st->st_ino == sink->inode;
}

static bool is_pipe(const struct sink *sink, int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && is_same(sink, &st);
}

/* Whether the path leads to it still. */
static bool is_there(const struct sink *sink)
{
	struct stat st;

	return stat(sink->path, &st) == 0 && is_same(sink, &st);
}

/* What follows from an error of open: -EPIPE if nobody reads the pipe any more, or NOT_NOW. */
static int why_not(int error)
{
	/* all else may pass: no descriptor is free, no permission */
	return error == -ENXIO || error == -ENOENT ? -EPIPE : NOT_NOW;
}

/* Opens it anew among the program's descriptors: 0, -EPIPE or NOT_NOW. */
static int reopen(struct sink *sink)
{
	int fd = open_pipe(sink->path);

	if (fd < 0)
		return why_not(fd);
	if (is_pipe(sink, fd)) {
		sink->fd = fd;
		return 0;
	}
	if (is_there(sink))
		return NOT_NOW; /* closed again meanwhile: it is a file of the program's now */
	close(fd);
	return -EPIPE;
}

/* Whether it is open among the program's descriptors. */
static bool is_open(struct sink *sink)
{
	if (sink->fd < 0 || is_pipe(sink, sink->fd))
		return sink->fd >= 0;
	guest_note_closed();
	sink->fd = -1;
	return false;
}

static void close_pipe(struct sink *sink)
{
	if (is_open(sink))
		close(sink->fd);
	sink->fd = -1;
	sink->is_on = false;
}

struct attempt {
	const struct sink *sink;
	const char *bytes;
	size_t length;
	ssize_t result;
};

static void write_once(struct attempt *attempt, int fd)
{
	attempt->result = attempt->length ? write(fd, attempt->bytes, attempt->length) : 0;
	if (attempt->result < 0)
		attempt->result = -errno;
}

static void write_apart(void *data)
{
	struct attempt *attempt = data;
	int fd = open(attempt->sink->path, PIPE_FLAGS | O_CLOEXEC);

	if (fd < 0)
		attempt->result = why_not(-errno);
	else if (!is_pipe(attempt->sink, fd))
		attempt->result = -EPIPE;
	else
		write_once(attempt, fd);
}

/*
 * One write, or none if `length` is 0: how much was written, or -errno. -EPIPE: nobody reads the
 * pipe; NOT_NOW: it cannot be opened.
 */
static ssize_t try_write(struct sink *sink, const char *bytes, size_t length)
{
	struct attempt attempt = {.sink = sink, .bytes = bytes, .length = length};
	int err;

	if (is_copy(sink))
		return -EPIPE;
	if (!is_open(sink)) {
		if (guest_is_apart() && guest_run_apart(write_apart, &attempt))
			return attempt.result;
		err = reopen(sink);
		if (err)
			return err;
	}
	write_once(&attempt, sink->fd);
	return attempt.result;
}

static int64_t now_ms(void)
{
	return (int64_t)(clock_now_ns() / 1000000);
}

static void wait_for_room(struct sink *sink, bool is_full, int64_t ms)
{
	struct pollfd p = {.fd = sink->fd, .events = POLLOUT};

	__atomic_store_n(&sink->waits, true, __ATOMIC_RELAXED);
	/* a program without room for any descriptor may not poll */
	if (!is_full || sink->fd < 0 || poll(&p, 1, (int)ms) < 0)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	__atomic_store_n(&sink->waits, false, __ATOMIC_RELAXED);
}

/*
 * One write of it all: 0, -EPIPE, or -EAGAIN when patience ran out. While one waits the program may
 * close the pipe, so each write looks for it.
 */
static int write_bytes(struct sink *sink, const char *bytes, size_t length)
{
	int64_t deadline = now_ms() + (sink->stalled ? 0 : SINK_PATIENCE_MS);

	for (;;) {
		ssize_t n = try_write(sink, bytes, length);
		int64_t left;

		if (n == (ssize_t)length)
			return 0;
		if (n == -EPIPE || n == NOT_NOW)
			return n == -EPIPE ? -EPIPE : -EAGAIN;
		if (n == -EINTR || n == -EBADF)
			continue;
		left = deadline - now_ms();
		if (left <= 0)
			return -EAGAIN;
		wait_for_room(sink, n == -EAGAIN, left);
	}
}

/*
 * EPIPE comes with a SIGPIPE to the thread that wrote, and that thread may be the application's:
 * it is blocked there; if our write raised one that was not pending before, take it away again.
 */
static int write_quietly(struct sink *sink, const char *bytes, size_t length)
{
	const struct timespec no_wait = {0, 0};
	sigset_t pipe_signal, pending;
	struct guest guest;
	bool was_pending;
	int err;

	guest_enter(&guest);
	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	sigpending(&pending);
	was_pending = sigismember(&pending, SIGPIPE);
	err = write_bytes(sink, bytes, length);
	if (err == -EPIPE && !was_pending)
		while (sigtimedwait(&pipe_signal, NULL, &no_wait) < 0 && errno == EINTR)
			;
	guest_leave(&guest);
	return err;
}

/* ---- what a batch that was given up defined ---- */

/* Whether later events may need this line: not what they are themselves, which is counted. */
static bool is_definition(const char *line, size_t size)
{
	static const char *const names[] = GPU_WIRE_TYPE_NAMES;
	static const enum gpu_event_type others[] = {
		GPU_EVENT_LAUNCH, GPU_EVENT_LAUNCH_END, GPU_EVENT_KERNEL, GPU_EVENT_WORK,
		GPU_EVENT_WAIT,   GPU_EVENT_DROPS,      GPU_EVENT_VOID,   GPU_EVENT_ERROR,
		GPU_EVENT_POOL,   GPU_EVENT_COUNTERS};
	static const char start[] = "{\"t\":\"", graph_launch[] = "\"c\":";
	const char *end = line + size;

	line += sizeof(start) - 1;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		size_t length = strlen(names[others[i]]);

		if (strncmp(line, names[others[i]], length) == 0 && line[length] == '"')
			return false;
	}
	/* what executes a graph, or a launch of it */
	return !starts_with(line, names[GPU_EVENT_GRAPH]) ||
	       !memmem(line, (size_t)(end - line), graph_launch, strlen(graph_launch));
}

static bool make_room(struct sink *sink, size_t length)
{
	size_t capacity = sink->kept_capacity ? sink->kept_capacity : KEPT_FIRST;
	char *bigger;

	if (sink->kept_end + length <= sink->kept_capacity)
		return true;
	if (sink->kept_from > 0) {
		sink->kept_end -= sink->kept_from;
		memmove(sink->kept, sink->kept + sink->kept_from, sink->kept_end);
		sink->kept_from = 0;
	}
	while (capacity < sink->kept_end + length)
		capacity *= 2;
	if (capacity == sink->kept_capacity)
		return true;
	bigger = capacity <= SINK_KEPT_MAX ? realloc(sink->kept, capacity) : NULL;
	if (!bigger)
		return false;
	sink->kept = bigger;
	sink->kept_capacity = capacity;
	return true;
}

static void keep_definitions(struct sink *sink)
{
	const char *line = sink->batch + SINK_HEADER_MAX, *end = sink->batch + sink->used;

	while (line < end) {
		const char *next = memchr(line, '\n', (size_t)(end - line));
		size_t length = (size_t)(next ? next + 1 - line : end - line);

		if (is_definition(line, length) && !make_room(sink, length)) {
			sink->lost_definitions++;
		} else if (is_definition(line, length)) {
			memcpy(sink->kept + sink->kept_end, line, length);
			sink->kept_end += length;
		}
		line += length;
	}
}

/* As many of the kept lines as fit a batch. Returns the batch's end. */
static size_t fill_kept_batch(struct sink *sink)
{
	size_t used = SINK_HEADER_MAX, from = sink->kept_from;

	while (from < sink->kept_end) {
		const char *line = sink->kept + from;
		const char *next = memchr(line, '\n', sink->kept_end - from);
		size_t length = next ? (size_t)(next + 1 - line) : sink->kept_end - from;

		if (used + length > sizeof(sink->kept_batch))
			break;
		memcpy(sink->kept_batch + used, line, length);
		used += length;
		from += length;
	}
	return used;
}

/* 0, -EPIPE or -EAGAIN. */
static int write_lines(struct sink *sink, char *batch, size_t used)
{
	char *start = add_header(sink, batch, used);
	int err = start ? write_quietly(sink, start, (size_t)(batch + used - start)) : -EPIPE;

	if (!err) {
		__atomic_store_n(&sink->stalled, false, __ATOMIC_RELAXED);
		sink->sequence++;
	}
	return err;
}

static int send_kept(struct sink *sink)
{
	while (sink->kept_from < sink->kept_end) {
		size_t used = fill_kept_batch(sink);
		int err = write_lines(sink, sink->kept_batch, used);

		if (err)
			return err;
		sink->kept_from += used - SINK_HEADER_MAX;
	}
	sink->kept_from = 0;
	sink->kept_end = 0;
	return 0;
}

/* ---- batches ---- */

static void add_drops(struct gpu_event_drops *to, const struct gpu_event_drops *drops)
{
	to->kernels += drops->kernels;
	to->launches += drops->launches;
	to->batches += drops->batches;
	to->unsent_kernels += drops->unsent_kernels;
	to->unsent_launches += drops->unsent_launches;
	to->unknown += drops->unknown;
	to->early += drops->early;
	to->early_ns += drops->early_ns;
}

static void give_up(struct sink *sink)
{
	sink->drops.batches++;
	sink->drops.unsent_kernels += sink->batch_kernels;
	sink->drops.unsent_launches += sink->batch_launches;
	add_drops(&sink->drops, &sink->batch_drops);
	keep_definitions(sink);
	/* leaves a gap in the sequence, which the reader sees */
	sink->sequence++;
}

static void send_batch(struct sink *sink)
{
	bool is_empty = sink->used == SINK_HEADER_MAX;
	int err;

	if (!sink->is_on || (is_empty && sink->kept_from == sink->kept_end))
		return;
	err = send_kept(sink);
	if (!err && !is_empty)
		err = write_lines(sink, sink->batch, sink->used);
	if (err == -EPIPE) {
		close_pipe(sink);
		sink->broken = true;
		return;
	}
	if (err)
		__atomic_store_n(&sink->stalled, true, __ATOMIC_RELAXED);
	if (err && !is_empty)
		give_up(sink);
	begin_batch(sink);
}

static void put_locked(struct sink *sink, const struct gpu_event *event)
{
	int n;

	if (!sink->is_on)
		return;
	n = gpu_wire_encode(event, sink->batch + sink->used, sizeof(sink->batch) - sink->used);
	if (n == -ENOSPC) {
		send_batch(sink);
		if (!sink->is_on)
			return;
		n = gpu_wire_encode(event, sink->batch + sink->used,
				    sizeof(sink->batch) - sink->used);
	}
	if (n < 0)
		return;
	sink->used += (size_t)n;
	if (event->type == GPU_EVENT_KERNEL) {
		sink->batch_kernels++;
		sink->totals.kernels++;
		sink->totals.kernel_ns += event->kernel.duration_ns;
	} else if (event->type == GPU_EVENT_WORK) {
		sink->batch_kernels++;
		sink->totals.kernels++;
		if (!gpu_work_is_stall(event->work.work))
			sink->totals.kernel_ns += event->work.duration_ns;
	} else if (event->type == GPU_EVENT_LAUNCH) {
		sink->batch_launches++;
		sink->totals.launches++;
	} else if (event->type == GPU_EVENT_DROPS) {
		add_drops(&sink->batch_drops, &event->drops);
	}
}

void sink_put(struct sink *sink, const struct gpu_event *event)
{
	pthread_mutex_lock(&sink->lock);
	put_locked(sink, event);
	pthread_mutex_unlock(&sink->lock);
}

void sink_count_drops(struct sink *sink, const struct gpu_event_drops *drops)
{
	pthread_mutex_lock(&sink->lock);
	add_drops(&sink->drops, drops);
	pthread_mutex_unlock(&sink->lock);
}

static void report_lost_definitions(struct sink *sink)
{
	char detail[128];
	struct gpu_event event = {.type = GPU_EVENT_NOTICE, .notice = {GPU_NOTICE_OTHER, detail}};

	snprintf(detail, sizeof(detail),
		 "%" PRIu64 " names and stacks were lost while the profiler did not read",
		 sink->lost_definitions);
	sink->lost_definitions = 0;
	put_locked(sink, &event);
}

static void flush_locked(struct sink *sink)
{
	const struct gpu_event_drops none = {0};
	struct gpu_event event = {.type = GPU_EVENT_DROPS, .drops = sink->drops};

	if (memcmp(&sink->drops, &none, sizeof(none)) != 0 && !sink->stalled) {
		sink->drops = none;
		put_locked(sink, &event);
	}
	if (sink->lost_definitions && !sink->stalled)
		report_lost_definitions(sink);
	send_batch(sink);
}

void sink_flush(struct sink *sink)
{
	pthread_mutex_lock(&sink->lock);
	flush_locked(sink);
	pthread_mutex_unlock(&sink->lock);
}

void sink_goodbye(struct sink *sink)
{
	struct gpu_event event = {.type = GPU_EVENT_GOODBYE};

	pthread_mutex_lock(&sink->lock);
	flush_locked(sink);
	flush_locked(
		sink); /* the first may only have ended a stall: drops come before the totals */
	event.goodbye = sink->totals;
	event.goodbye.own_ns = own_cost_ns();
	put_locked(sink, &event);
	flush_locked(sink);
	pthread_mutex_unlock(&sink->lock);
}

bool sink_is_off(struct sink *sink)
{
	bool off;

	pthread_mutex_lock(&sink->lock);
	off = !sink->is_on;
	pthread_mutex_unlock(&sink->lock);
	return off;
}

bool sink_is_stalled(const struct sink *sink)
{
	return __atomic_load_n(&sink->stalled, __ATOMIC_RELAXED);
}

bool sink_waits(const struct sink *sink)
{
	return __atomic_load_n(&sink->waits, __ATOMIC_RELAXED);
}

void sink_look_for_reader(struct sink *sink)
{
	struct pollfd p;
	bool is_alone;

	pthread_mutex_lock(&sink->lock);
	is_alone = sink->is_on && try_write(sink, "", 0) == -EPIPE;
	p = (struct pollfd){.fd = sink->fd};
	if (is_alone || (sink->fd >= 0 && poll(&p, 1, 0) > 0 && (p.revents & POLLERR))) {
		close_pipe(sink);
		sink->broken = true;
	}
	pthread_mutex_unlock(&sink->lock);
}

void sink_close(struct sink *sink)
{
	pthread_mutex_lock(&sink->lock);
	close_pipe(sink);
	pthread_mutex_unlock(&sink->lock);
}

void sink_start_over(struct sink *sink)
{
	pthread_mutex_lock(&sink->lock);
	free(sink->kept);
	sink->kept = NULL;
	sink->kept_from = sink->kept_end = sink->kept_capacity = 0;
	pthread_mutex_unlock(&sink->lock);
}

void sink_abandon(struct sink *sink)
{
	/* no lock: the thread that held it may not exist in this process */
	close_pipe(sink);
}
