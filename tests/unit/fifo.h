/* SPDX-License-Identifier: MIT */
/*
 * A named pipe in a folder of its own, with a reader that understands what comes through: the other
 * end of the tests of what runs inside the target.
 *
 * A fifo_reader counts and checks through gpu_pipe, hands each event to `heard`, and keeps the
 * raw bytes. fifo_start_reader reads in a thread until the last writer is gone.
 */
#ifndef TESTS_UNIT_FIFO_H
#define TESTS_UNIT_FIFO_H

#include <poll.h>
#include <pthread.h>
#include "unit.h"
#include "cupti_trace/gpu_wire.h"
#include "profiler/sources/gpu_pipe.h"

struct fifo {
	char folder[64];
	char path[80];
	int reader; /* non-blocking; -1: closed */
	int writer; /* keeps the end of file away until fifo_close_writer */
	struct intern strings;
	struct gpu_pipe *source;
	char *raw;
	size_t raw_size, raw_capacity;
	bool keep_raw;
	useconds_t nap; /* between reads, for a slow reader */
	pthread_t thread;
};

static inline void fifo_make(struct fifo *f, gpu_pipe_handler heard, void *context)
{
	memset(f, 0, sizeof(*f));
	snprintf(f->folder, sizeof(f->folder), "/tmp/profile_unit.XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(f->path, sizeof(f->path), "%s/pipe", f->folder);
	assert_int_equal(mkfifo(f->path, 0600), 0);
	f->reader = open(f->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	f->writer = open(f->path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(f->reader >= 0 && f->writer >= 0);
	f->source = gpu_pipe_new(&f->strings, heard, context);
	assert_non_null(f->source);
}

static inline void fifo_close_writer(struct fifo *f)
{
	if (f->writer >= 0)
		close(f->writer);
	f->writer = -1;
}

static inline void fifo_remove(struct fifo *f)
{
	fifo_close_writer(f);
	if (f->reader >= 0)
		close(f->reader);
	unlink(f->path);
	rmdir(f->folder);
	gpu_pipe_free(f->source);
	intern_release(&f->strings);
	free(f->raw);
}

static inline void fifo_keep(struct fifo *f, const char *bytes, size_t n)
{
	if (f->raw_size + n > f->raw_capacity) {
		f->raw_capacity = (f->raw_size + n) * 2;
		f->raw = realloc(f->raw, f->raw_capacity);
		if (!f->raw)
			abort();
	}
	memcpy(f->raw + f->raw_size, bytes, n);
	f->raw_size += n;
}

/* Reads once: the bytes read, 0 at the end of file, -1 if the pipe is empty. */
static inline ssize_t fifo_read(struct fifo *f)
{
	char bytes[5000];
	ssize_t n = read(f->reader, bytes, f->nap ? 1000 : sizeof(bytes));

	if (n <= 0)
		return n;
	if (f->keep_raw)
		fifo_keep(f, bytes, (size_t)n);
	gpu_pipe_feed(f->source, bytes, (size_t)n);
	return n;
}

/* Reads what is there. */
static inline void fifo_drain(struct fifo *f)
{
	while (fifo_read(f) > 0)
		;
}

static inline void *fifo_read_to_the_end(void *fifo)
{
	struct fifo *f = fifo;
	ssize_t n;

	while ((n = fifo_read(f)) != 0) {
		struct pollfd p = {.fd = f->reader, .events = POLLIN};

		if (n < 0)
			poll(&p, 1, -1);
		if (f->nap)
			usleep(f->nap);
	}
	return NULL;
}

static inline void fifo_start_reader(struct fifo *f)
{
	assert_int_equal(pthread_create(&f->thread, NULL, fifo_read_to_the_end, f), 0);
}

/* All other writers must have closed, or be about to. */
static inline void fifo_end_reader(struct fifo *f)
{
	fifo_close_writer(f);
	assert_int_equal(pthread_join(f->thread, NULL), 0);
	gpu_pipe_finish(f->source);
}

#endif
