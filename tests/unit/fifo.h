/* SPDX-License-Identifier: MIT */
/*
 * A named pipe in a folder of its own, with a reader that decodes it: the other end for tests of
 * code inside the target.
 *
 * The reader accepts every program. It passes the bytes through gpu_pipe, which counts and checks
 * them (`ledger`), and passes each event to `heard`. It keeps the raw bytes. fifo_start_reader
 * reads in a thread until the last writer has closed the pipe.
 */
#ifndef TESTS_UNIT_FIFO_H
#define TESTS_UNIT_FIFO_H

#include <poll.h>
#include <pthread.h>
#include "unit.h"
#include "cupti_trace/wire/gpu_wire.h"
#include "profiler/sources/gpu_pipe.h"

enum { FIFO_PROGRAMS_MAX = 16 };

/* `kernel` is the name for GPU_EVENT_KERNEL. May run in a separate thread: asserts nothing. */
typedef void (*fifo_handler)(void *context, const struct gpu_event *event, const char *kernel);

struct fifo {
	char folder[64];
	char path[80];
	int reader; /* non-blocking; -1: closed */
	int writer; /* keeps the end of file away until fifo_close_writer */
	struct collect *collect;
	const struct ledger *ledger;
	struct gpu_pipe *source;
	struct process processes[FIFO_PROGRAMS_MAX]; /* programs, in order of their hellos */
	uint32_t process_count;
	fifo_handler heard; /* NULL: none */
	void *context;
	char *raw;
	size_t raw_size, raw_capacity;
	bool keep_raw;
	useconds_t nap; /* between reads, for a slow reader */
	pthread_t thread;
};

static inline void fifo_make(struct fifo *f, fifo_handler heard, void *context)
{
	memset(f, 0, sizeof(*f));
	f->heard = heard;
	f->context = context;
	snprintf(f->folder, sizeof(f->folder), "/tmp/profile_unit.XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(f->path, sizeof(f->path), "%s/pipe", f->folder);
	assert_int_equal(mkfifo(f->path, 0600), 0);
	f->reader = open(f->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	f->writer = open(f->path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(f->reader >= 0 && f->writer >= 0);
	f->collect = collect_new(&(struct collect_options){0});
	assert_non_null(f->collect);
	f->ledger = collect_ledger(f->collect);
	f->source = gpu_pipe_new(f->collect);
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
	collect_free(f->collect);
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

static inline void fifo_believe(struct fifo *f, struct tracee *tracee,
				const struct gpu_event_hello *hello)
{
	struct process *process = &f->processes[f->process_count];

	if (f->process_count == FIFO_PROGRAMS_MAX)
		abort();
	*process = (struct process){.id = ++f->process_count, .pid = (pid_t)hello->pid};
	gpu_pipe_accept(f->source, tracee, process);
}

/* Takes all whole lines of these bytes. */
static inline void fifo_take(struct fifo *f, const char *bytes, size_t n)
{
	const struct gpu_event *event;
	struct tracee *tracee;
	const char *kernel;

	gpu_pipe_feed(f->source, bytes, n);
	while ((event = gpu_pipe_next(f->source, &tracee, &kernel))) {
		if (event->type == GPU_EVENT_HELLO)
			fifo_believe(f, tracee, &event->hello);
		if (f->heard)
			f->heard(f->context, event, kernel);
		if (event->type == GPU_EVENT_GOODBYE)
			gpu_pipe_close(f->source, tracee);
	}
}

/* Ends the input, which counts missing lines. */
static inline void fifo_finish(struct fifo *f)
{
	struct tracee *tracee;

	gpu_pipe_finish(f->source);
	while (gpu_pipe_find_ended(f->source, UINT64_MAX, &tracee))
		gpu_pipe_close(f->source, tracee);
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
	fifo_take(f, bytes, (size_t)n);
	return n;
}

/* Reads the available bytes. */
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

/* Ends the reader. All other writers must have closed, or be about to close. */
static inline void fifo_end_reader(struct fifo *f)
{
	fifo_close_writer(f);
	assert_int_equal(pthread_join(f->thread, NULL), 0);
	fifo_finish(f);
}

#endif
