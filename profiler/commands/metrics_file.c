// SPDX-License-Identifier: MIT
#include "profiler/commands/metrics_file.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include "profiler/formats/output_file.h"
#include "profiler/formats/prometheus.h"
#include "profiler/run/privilege.h"
#include "symbolize/util/guarded_path.h"
#include "symbolize/util/worker_thread.h"

static int write_file(const char *path, const char *text, size_t size)
{
	struct output output;
	int err = output_open(&output, path);
	FILE *stream = err ? NULL : output_begin(&output);

	if (!stream) {
		err = err ? err : -errno;
	} else {
		errno = 0;
		if (fwrite(text, 1, size, stream) != size)
			err = errno ? -errno : -EIO;
		err = output_end(&output, stream, err);
	}
	output_cancel(&output);
	return err;
}

static void *write_files(void *arg)
{
	struct metrics_file *f = arg;

	privilege_drop_thread();
	pthread_mutex_lock(&f->lock);
	for (;;) {
		char *text;
		size_t size;
		int err;

		while (!f->text && !f->is_last)
			pthread_cond_wait(&f->changed, &f->lock);
		if (!f->text)
			break;
		text = f->text;
		size = f->size;
		f->text = NULL;
		pthread_mutex_unlock(&f->lock);
		err = write_file(f->path, text, size);
		free(text);
		pthread_mutex_lock(&f->lock);
		f->error = err;
		f->is_busy = false;
		pthread_cond_broadcast(&f->changed);
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

bool metrics_file_start(struct metrics_file *f, struct log *log, const char *path)
{
	struct output output;
	int err = output_open(&output, path);

	if (err && err != -EAGAIN)
		return log_error(log, "cannot write %s: %s; choose another file with --prometheus",
				 path, guarded_error(-err));
	output_cancel(&output);
	*f = (struct metrics_file){.log = log, .path = path};
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->changed, NULL);
	f->is_started = true;
	return true;
}

/*
 * Starts the writer, after the command was forked: a child must not inherit locks that a thread
 * holds.
 */
static int start_writer(struct metrics_file *f)
{
	int err;

	if (f->has_writer)
		return 0;
	err = worker_thread_start(&f->writer, 0, write_files, f);
	f->has_writer = err == 0;
	return err;
}

/* Returns the metrics as text. Returns NULL if out of memory. */
static char *make_text(const struct collected *collected, size_t *size)
{
	char *text = NULL;
	FILE *stream = open_memstream(&text, size);

	if (!stream)
		return NULL;
	prometheus_write(stream, collected->metrics, collected->ledger, collected->devices,
			 collected->gpus);
	if (fclose(stream) == 0)
		return text;
	free(text);
	return NULL;
}

/* Hands the metrics to the idle writer. The caller holds the lock. */
static void hand_over(struct metrics_file *f, const struct collected *collected)
{
	f->error = start_writer(f);
	if (f->error)
		return;
	f->text = make_text(collected, &f->size);
	f->is_busy = f->text != NULL;
	if (!f->text)
		f->error = -ENOMEM;
	pthread_cond_broadcast(&f->changed);
}

void metrics_file_update(struct metrics_file *f, const struct collected *collected, uint64_t now_ns)
{
	int err;

	if (!f->is_started || now_ns < f->next_ns)
		return;
	pthread_mutex_lock(&f->lock);
	err = f->error;
	f->error = 0;
	if (!f->is_busy) {
		hand_over(f, collected);
		f->next_ns = now_ns + METRICS_PERIOD_S * UINT64_C(1000000000);
	}
	pthread_mutex_unlock(&f->lock);
	if (err && err != -EAGAIN && !f->has_reported) {
		f->has_reported = true;
		log_warn(f->log, "cannot write %s: %s; trying again every %u s", f->path,
			 guarded_error(-err), METRICS_PERIOD_S);
	}
}

/* Waits until the writer is idle. The caller holds the lock. Returns false at the deadline. */
static bool wait_for_writer(struct metrics_file *f, const struct timespec *deadline)
{
	while (f->is_busy)
		if (pthread_cond_clockwait(&f->changed, &f->lock, CLOCK_MONOTONIC, deadline) ==
		    ETIMEDOUT)
			return !f->is_busy;
	return true;
}

bool metrics_file_end(struct metrics_file *f, const struct collected *collected)
{
	struct timespec deadline;
	int err = -ETIMEDOUT;

	if (!f->is_started)
		return true;
	f->is_started = false;
	clock_gettime(CLOCK_MONOTONIC, &deadline);
	deadline.tv_sec += METRICS_TIMEOUT_S;
	pthread_mutex_lock(&f->lock);
	if (wait_for_writer(f, &deadline)) {
		f->error = 0;
		if (collected)
			hand_over(f, collected);
		if (wait_for_writer(f, &deadline))
			err = f->error;
	}
	f->is_last = true;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
	if (f->has_writer && err != -ETIMEDOUT)
		pthread_join(f->writer, NULL);
	else if (f->has_writer)
		pthread_detach(f->writer);
	return !err || log_error(f->log, "writing %s: %s", f->path,
				 err == -EAGAIN ? "nobody reads this FIFO" : guarded_error(-err));
}
