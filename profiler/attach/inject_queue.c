// SPDX-License-Identifier: MIT
#include "profiler/attach/inject_queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cupti_trace/wire/gpu_wire.h"
#include "symbolize/util/bounded_call.h"
#include "symbolize/util/queue.h"
#include "symbolize/util/worker_thread.h"

#define ATTEMPTS 10u /* to borrow a thread; each takes INJECT_SEARCH_NS */
#define WORKERS_MAX 32u

struct waiting {
	uint32_t id;
	pid_t pid;
	uint32_t attempts, first_thread;
};

struct inject_queue {
	const struct payload *payload;
	char *text;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t workers[WORKERS_MAX];
	uint32_t worker_count, busy; /* threads; those with a process */
	pid_t at[WORKERS_MAX];       /* pids that the busy threads serve */
	_Atomic bool stops;          /* no new injections */
	_Atomic bool has_stuck;      /* abandoned threads still read `stops` */
	bool ends;
	struct queue waiting, done;
};

static bool refuse(struct injected *injected, enum inject_result result, const char *why)
{
	injected->result = result;
	snprintf(injected->message, sizeof(injected->message), "process %d %s", (int)injected->pid,
		 why);
	return false;
}

/* A bounded job that inspects the process's root folder, which may block forever. */
struct inspection {
	struct bounded_job job;
	bool lacks_root; /* its first thread has ended */
	bool has_pipe;
	struct stat ours;
	char root[64], path[PAYLOAD_PATH_MAX + 96];
};

static void run_inspection(struct bounded_job *opaque)
{
	struct inspection *seen = (struct inspection *)opaque;
	struct stat theirs;

	seen->lacks_root = stat(seen->root, &theirs) != 0 && errno == ENOENT;
	seen->has_pipe = !seen->lacks_root && stat(seen->path, &theirs) == 0 &&
			 seen->ours.st_dev == theirs.st_dev && seen->ours.st_ino == theirs.st_ino;
}

static bool check_pipe(const struct inject_queue *a, struct bounded_caller *calls,
		       struct injected *injected)
{
	struct inspection *seen =
		calls ? bounded_job_new(sizeof(*seen), run_inspection, NULL) : NULL;
	bool lacks_root, has_pipe;

	if (!seen || fstat(a->payload->pipe, &seen->ours) != 0) {
		free(seen);
		return refuse(injected, INJECT_DENIED, "cannot be inspected: out of memory");
	}
	bounded_caller_limit_sleep(calls, INJECT_SLEEP_MS);
	snprintf(seen->root, sizeof(seen->root), "/proc/%d/root", (int)injected->pid);
	snprintf(seen->path, sizeof(seen->path), "%s%s", seen->root, a->payload->pipe_path);
	if (bounded_call(calls, &seen->job, BOUNDED_CALL_OPEN_MS) != 0)
		return refuse(injected, INJECT_STUCK,
			      "has a root folder, or a folder for temporary files, that does not "
			      "answer (restart the server of that FUSE or network file system, or "
			      "unmount it)");
	lacks_root = seen->lacks_root;
	has_pipe = seen->has_pipe;
	free(seen);
	injected->hides_calls = lacks_root;
	if (lacks_root)
		return refuse(injected, INJECT_DENIED,
			      "continues although its main thread has ended");
	return has_pipe || refuse(injected, INJECT_DENIED,
				  "sees other files (a container?), and not profile's pipe");
}

/* Returns true if the process can open the pipe by its path. */
static bool reaches_pipe(const struct inject_queue *a, struct injected *injected)
{
	struct bounded_caller *calls;
	struct stat process;
	char path[64];
	bool reaches;

	snprintf(path, sizeof(path), "/proc/%d", (int)injected->pid);
	if (stat(path, &process) != 0)
		return refuse(injected, INJECT_GONE, "has ended");
	/* root can open any pipe */
	if (process.st_uid != geteuid() && process.st_uid != 0)
		return refuse(injected, INJECT_DENIED,
			      "runs as another user, who cannot open profile's pipe");
	calls = bounded_caller_new(BOUNDED_CALL_RUN_MS);
	reaches = check_pipe(a, calls, injected);
	bounded_caller_free(calls);
	return reaches;
}

static void inject(struct inject_queue *a, struct waiting *w, struct symbolizer **symbolizer,
		   struct injected *injected)
{
	struct inject_request request = {.pid = injected->pid,
					 .entry = GPU_WIRE_BEGIN,
					 .text = a->text,
					 .mark = GPU_WIRE_ACTIVE_MARKER,
					 .begins_again = true,
					 .called_off = &a->stops,
					 .first_thread = w->first_thread,
					 .symbolizer = *symbolizer,
					 .file_name = PAYLOAD_LIBRARY_NAME};

	if (!reaches_pipe(a, injected))
		return;
	request.library = payload_library(&request.library_size);
	injected->result = inject_process(&request, injected->message);
	w->first_thread = request.first_thread;
	*symbolizer = request.symbolizer;
	if (injected->result == INJECT_STUCK)
		a->has_stuck = true;
}

/* Serves one process. Holds the lock except while it injects. */
static void serve(struct inject_queue *a, struct waiting w, struct symbolizer **symbolizer)
{
	struct injected injected = {.id = w.id, .pid = w.pid};
	int err = 0;

	a->at[a->busy++] = w.pid;
	pthread_mutex_unlock(&a->lock);
	inject(a, &w, symbolizer, &injected);
	pthread_mutex_lock(&a->lock);
	for (uint32_t i = 0; i < a->busy; i++)
		if (a->at[i] == w.pid)
			a->at[i] = a->at[a->busy - 1];
	a->busy--;
	pthread_cond_broadcast(&a->wake); /* the process may be queued again */
	w.attempts++;
	/* a failure to find a thread is reported on the first attempt only */
	if (w.attempts == 1 || injected.result == INJECT_DONE)
		err = queue_push(&a->done, &injected);
	if (!err && injected.result == INJECT_NO_THREAD && w.attempts < ATTEMPTS && !a->stops)
		err = queue_push(&a->waiting, &w);
	(void)err; /* when out of memory, the process counts as ended */
}

static bool is_under_way(const struct inject_queue *a, pid_t pid)
{
	for (uint32_t i = 0; i < a->busy; i++)
		if (a->at[i] == pid)
			return true;
	return false;
}

/*
 * Takes the next process, with the lock held. Skips a process that is being served: after an exec
 * it is queued again, and a second thread would find it traced.
 */
static bool take_next(struct inject_queue *a, struct waiting *next)
{
	for (uint32_t left = a->stops ? 0 : queue_length(&a->waiting); left > 0; left--) {
		*next = *(const struct waiting *)queue_front(&a->waiting);
		queue_pop(&a->waiting);
		if (!is_under_way(a, next->pid))
			return true;
		if (queue_push(&a->waiting, next) != 0)
			return false; /* out of memory: the process counts as ended */
	}
	return false;
}

static void add_worker(struct inject_queue *a);

static void *work(void *argument)
{
	struct inject_queue *a = argument;
	struct symbolizer *symbolizer = NULL; /* kept between consecutive processes */

	pthread_mutex_lock(&a->lock);
	while (!a->ends) {
		struct waiting w;

		if (take_next(a, &w)) {
			/* started here: new threads inherit this thread's capabilities */
			if (queue_length(&a->waiting) && a->busy + 1 == a->worker_count)
				add_worker(a);
			serve(a, w, &symbolizer);
		} else {
			symbolizer_free(symbolizer); /* no need of it while idle */
			symbolizer = NULL;
			pthread_cond_wait(&a->wake, &a->lock);
		}
	}
	pthread_mutex_unlock(&a->lock);
	symbolizer_free(symbolizer);
	return NULL;
}

/* Starts another thread, with the lock held. Without more threads, processes wait their turn. */
static void add_worker(struct inject_queue *a)
{
	if (a->worker_count < WORKERS_MAX && !a->ends &&
	    worker_thread_start(&a->workers[a->worker_count], 0, work, a) == 0)
		a->worker_count++;
}

struct inject_queue *inject_queue_new(const struct payload *payload, const char *text)
{
	struct inject_queue *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->payload = payload;
	a->text = strdup(text);
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->wake, NULL);
	queue_init(&a->waiting, sizeof(struct waiting));
	queue_init(&a->done, sizeof(struct injected));
	pthread_mutex_lock(&a->lock);
	if (a->text)
		add_worker(a);
	pthread_mutex_unlock(&a->lock);
	if (a->worker_count)
		return a;
	inject_queue_free(a);
	return NULL;
}

void inject_queue_free(struct inject_queue *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->stops = a->ends = true; /* so no more threads are added */
	pthread_cond_broadcast(&a->wake);
	pthread_mutex_unlock(&a->lock);
	for (uint32_t i = 0; i < a->worker_count; i++)
		pthread_join(a->workers[i], NULL); /* inject_process has deadlines */
	if (a->has_stuck)
		return; /* abandoned threads still use it */
	queue_release(&a->waiting);
	queue_release(&a->done);
	pthread_cond_destroy(&a->wake);
	pthread_mutex_destroy(&a->lock);
	free(a->text);
	free(a);
}

int inject_queue_add(struct inject_queue *a, uint32_t id, pid_t pid)
{
	const struct waiting w = {.id = id, .pid = pid};
	int err;

	pthread_mutex_lock(&a->lock);
	err = queue_push(&a->waiting, &w);
	pthread_cond_signal(&a->wake);
	pthread_mutex_unlock(&a->lock);
	return err;
}

bool inject_queue_next(struct inject_queue *a, struct injected *injected)
{
	const struct injected *next;

	if (!a)
		return false;
	pthread_mutex_lock(&a->lock);
	next = queue_front(&a->done);
	if (next) {
		*injected = *next;
		queue_pop(&a->done);
	}
	pthread_mutex_unlock(&a->lock);
	return next != NULL;
}

void inject_queue_stop(struct inject_queue *a)
{
	const struct waiting *w;

	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->stops = true;
	for (; (w = queue_front(&a->waiting)); queue_pop(&a->waiting)) {
		struct injected injected = {.id = w->id, .pid = w->pid, .result = INJECT_GONE};

		snprintf(injected.message, sizeof(injected.message),
			 "process %d was queued too late for the library", (int)w->pid);
		if (w->attempts == 0 && queue_push(&a->done, &injected) != 0)
			break; /* out of memory */
	}
	pthread_mutex_unlock(&a->lock);
}

bool inject_queue_is_busy(struct inject_queue *a)
{
	bool is_busy;

	if (!a)
		return false;
	pthread_mutex_lock(&a->lock);
	is_busy = a->busy || (!a->stops && queue_length(&a->waiting) > 0);
	pthread_mutex_unlock(&a->lock);
	return is_busy;
}
