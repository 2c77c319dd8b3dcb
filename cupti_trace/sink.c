// SPDX-License-Identifier: MIT
#include "cupti_trace/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "cupti_trace/clock.h"

/* The length of a batch is known last: room for its digits is kept in the header, before "}\n". */
#define LENGTH_DIGITS 4
_Static_assert(GPU_WIRE_BATCH_MAX <= 9999, "a batch's length has four digits");

static void begin_batch(struct sink *sink)
{
	struct gpu_event event = {
		.type = GPU_EVENT_BATCH,
		.batch = {.pid = sink->pid,
			  .instance = sink->instance,
			  .sequence = sink->sequence,
			  .bytes = 9999},
	};

	/* the newline ends a half line that somebody else may have left in the pipe */
	sink->batch[0] = '\n';
	sink->used = 1 + (size_t)gpu_wire_encode(&event, sink->batch + 1, sizeof(sink->batch) - 1);
	sink->header = sink->used;
	sink->batch_kernels = 0;
	sink->batch_launches = 0;
	sink->batch_drops = (struct gpu_event_drops){0};
}

static void write_length(struct sink *sink)
{
	char *digits = sink->batch + sink->header - 2 - LENGTH_DIGITS;
	size_t length = sink->used - sink->header;
	char text[LENGTH_DIGITS + 1];
	int n = snprintf(text, sizeof(text), "%-4u", (unsigned int)(length % 10000));

	if (n == LENGTH_DIGITS)
		memcpy(digits, text, LENGTH_DIGITS);
}

/* A descriptor or -1. */
static int open_pipe(const char *path)
{
	int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);
	int high = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, SINK_LOWEST_FD) : -1;

	if (high < 0)
		return fd;
	close(fd);
	return high;
}

int sink_open(struct sink *sink, const char *pipe_path, uint32_t pid, uint64_t instance)
{
	struct stat st;
	int err = 0;

	memset(sink, 0, sizeof(*sink));
	pthread_mutex_init(&sink->lock, NULL);
	sink->pid = pid;
	sink->instance = instance;
	if (snprintf(sink->path, sizeof(sink->path), "%s", pipe_path) >= (int)sizeof(sink->path))
		err = -ENAMETOOLONG;
	sink->fd = err ? -1 : open_pipe(pipe_path);
	if (sink->fd < 0)
		return err ? err : -errno;
	if (fstat(sink->fd, &st) == 0) {
		sink->device = st.st_dev;
		sink->inode = st.st_ino;
	}
	begin_batch(sink);
	return 0;
}

static bool is_pipe(const struct sink *sink, int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) && st.st_dev == sink->device &&
	       st.st_ino == sink->inode;
}

/* False: the program has closed the pipe, and it cannot be opened again. */
static bool has_pipe(struct sink *sink)
{
	int fd;

	if (is_pipe(sink, sink->fd))
		return true;
	fd = open_pipe(sink->path);
	if (fd >= 0 && is_pipe(sink, fd)) {
		sink->fd = fd;
		return true;
	}
	if (fd >= 0)
		close(fd);
	return false;
}

static void close_pipe(struct sink *sink)
{
	if (sink->fd >= 0 && is_pipe(sink, sink->fd))
		close(sink->fd);
	sink->fd = -1;
}

static int64_t now_ms(void)
{
	return (int64_t)(clock_now_ns() / 1000000);
}

/* One write of the whole batch: 0, -EPIPE, or -EAGAIN when patience ran out. */
static int write_batch(struct sink *sink)
{
	int64_t deadline = now_ms() + (sink->stalled ? 0 : SINK_PATIENCE_MS);

	for (;;) {
		ssize_t n = write(sink->fd, sink->batch, sink->used);
		struct pollfd p = {.fd = sink->fd, .events = POLLOUT};
		int64_t left;

		if (n == (ssize_t)sink->used)
			return 0;
		if (n < 0 && errno == EINTR)
			continue;
		if (n >= 0 || errno != EAGAIN)
			return -EPIPE;
		left = deadline - now_ms();
		if (left <= 0)
			return -EAGAIN;
		if (poll(&p, 1, (int)left) > 0 && (p.revents & (POLLERR | POLLNVAL)))
			return -EPIPE;
	}
}

/*
 * EPIPE comes with a SIGPIPE to the thread that wrote, and that thread may be the application's:
 * block it, and if our write raised one that was not pending before, take it away again.
 */
static int write_batch_quietly(struct sink *sink)
{
	const struct timespec no_wait = {0, 0};
	sigset_t pipe_signal, old, pending;
	bool was_pending;
	int err, cancel;

	/* nor may the thread be cancelled here, with the lock held */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	sigpending(&pending);
	was_pending = sigismember(&pending, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_signal, &old);
	err = write_batch(sink);
	if (err == -EPIPE && !was_pending)
		while (sigtimedwait(&pipe_signal, NULL, &no_wait) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_setcancelstate(cancel, NULL);
	return err;
}

static void add_drops(struct gpu_event_drops *to, const struct gpu_event_drops *drops)
{
	to->kernels += drops->kernels;
	to->launches += drops->launches;
	to->batches += drops->batches;
	to->unsent_kernels += drops->unsent_kernels;
	to->unsent_launches += drops->unsent_launches;
	to->unknown += drops->unknown;
}

static void send_batch(struct sink *sink)
{
	int err;

	if (sink->fd < 0 || sink->used == sink->header)
		return;
	write_length(sink);
	err = has_pipe(sink) ? write_batch_quietly(sink) : -EPIPE;
	if (err == -EPIPE) {
		close_pipe(sink);
		sink->broken = true;
		return;
	}
	__atomic_store_n(&sink->stalled, err != 0, __ATOMIC_RELAXED);
	if (err) {
		sink->drops.batches++;
		sink->drops.unsent_kernels += sink->batch_kernels;
		sink->drops.unsent_launches += sink->batch_launches;
		add_drops(&sink->drops, &sink->batch_drops);
	}
	/* a batch that was given up leaves a gap in the sequence, which the reader sees */
	sink->sequence++;
	begin_batch(sink);
}

static void put_locked(struct sink *sink, const struct gpu_event *event)
{
	int n;

	if (sink->fd < 0)
		return;
	n = gpu_wire_encode(event, sink->batch + sink->used, sizeof(sink->batch) - sink->used);
	if (n == -ENOSPC) {
		send_batch(sink);
		if (sink->fd < 0)
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

static void flush_locked(struct sink *sink)
{
	const struct gpu_event_drops none = {0};
	struct gpu_event event = {.type = GPU_EVENT_DROPS, .drops = sink->drops};

	if (memcmp(&sink->drops, &none, sizeof(none)) != 0 && !sink->stalled) {
		sink->drops = none;
		put_locked(sink, &event);
	}
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
	put_locked(sink, &event);
	flush_locked(sink);
	pthread_mutex_unlock(&sink->lock);
}

bool sink_is_off(struct sink *sink)
{
	bool off;

	pthread_mutex_lock(&sink->lock);
	off = sink->fd < 0;
	pthread_mutex_unlock(&sink->lock);
	return off;
}

bool sink_is_stalled(const struct sink *sink)
{
	return __atomic_load_n(&sink->stalled, __ATOMIC_RELAXED);
}

void sink_abandon(struct sink *sink)
{
	/* no lock: the thread that held it may not exist in this process */
	close_pipe(sink);
}
