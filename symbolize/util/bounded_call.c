// SPDX-License-Identifier: MIT
#include "symbolize/util/bounded_call.h"

#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "symbolize/util/monotonic.h"
#include "symbolize/util/proc_file.h"
#include "symbolize/util/worker_thread.h"

#define CHECK_MS 10 /* interval of checks whether a call sleeps */
#define LATE_CHECK_NS (2 * CHECK_MS * UINT64_C(1000000))
#define NAP_NS (BOUNDED_CALL_NAP_MS * UINT64_C(1000000))
#define WORKER_STACK (8u << 20) /* address space; unused pages cost nothing */
#define BUSY_PART 8             /* a call that used 1/8 of its time was computing, not waiting */

/*
 * A thread and the data it shares with its caller. The caller frees the worker; an abandoned thread
 * frees its worker itself.
 */
struct worker {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct bounded_job *job; /* current job; NULL: none */
	pid_t tid;
	bool keeps_capabilities, is_abandoned, must_end;
};

struct bounded_caller {
	struct worker *worker; /* NULL: not started */
	pid_t pid;         /* process that started the worker: a child of fork lacks its thread */
	uint64_t left_ns;  /* remaining time of all calls, ns */
	uint64_t sleep_ns; /* remaining sleep of all calls, ns */
	bool limits_sleep, keeps_capabilities;
	uint64_t abandoned, refused;
	uint64_t stuck_places[BOUNDED_CALL_MAX_ABANDONED]; /* places of abandoned calls */
	struct table_quota quota;
	void (*meanwhile)(void *context); /* NULL: nothing */
	void *context;
	pid_t meanwhile_pid; /* process that set `meanwhile` */
};

struct bounded_caller *bounded_caller_new(unsigned int run_ms)
{
	struct bounded_caller *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->left_ns = run_ms * UINT64_C(1000000);
	table_quota_open(&c->quota);
	return c;
}

void *bounded_job_new(size_t bytes, void (*run)(struct bounded_job *job),
		      void (*discard)(struct bounded_job *job))
{
	struct bounded_job *job = calloc(1, bytes);

	if (job)
		*job = (struct bounded_job){.run = run, .discard = discard, .fd = -1};
	return job;
}

static void free_worker(struct worker *w)
{
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

/* Waits for the next job. Returns NULL if the worker must end. */
static struct bounded_job *wait_for_job(struct worker *w)
{
	struct bounded_job *job;

	pthread_mutex_lock(&w->lock);
	w->tid = gettid();
	while (!w->job && !w->must_end)
		pthread_cond_wait(&w->changed, &w->lock);
	job = w->job;
	pthread_mutex_unlock(&w->lock);
	return job;
}

/* Returns a finished job to the caller. Returns false if the caller has abandoned the job. */
static bool return_job(struct worker *w)
{
	bool is_wanted;

	pthread_mutex_lock(&w->lock);
	is_wanted = !w->is_abandoned;
	w->job = NULL;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
	return is_wanted;
}

static void discard(struct bounded_job *job)
{
	if (job->discard)
		job->discard(job);
	if (job->fd >= 0)
		close(job->fd);
	free(job);
}

/*
 * Drops capabilities, which a thread inherits from its creator and keeps when the creator drops its
 * own. Reading files as a plain user needs none.
 */
bool bounded_drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

	return syscall(SYS_capset, &header, none) == 0;
}

static void *work(void *opaque)
{
	struct worker *w = opaque;
	struct bounded_job *job;

	if (geteuid() != 0 && !w->keeps_capabilities)
		bounded_drop_capabilities();
	while ((job = wait_for_job(w))) {
		job->run(job);
		if (!return_job(w)) {
			discard(job);
			free_worker(w);
			break;
		}
	}
	return NULL;
}

static struct worker *start_worker(bool keeps_capabilities)
{
	struct worker *w = calloc(1, sizeof(*w));
	pthread_condattr_t attributes;

	if (!w)
		return NULL;
	w->keeps_capabilities = keeps_capabilities;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&w->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	pthread_mutex_init(&w->lock, NULL);
	if (worker_thread_start(&w->thread, WORKER_STACK, work, w) != 0) {
		free_worker(w);
		return NULL;
	}
	return w;
}

static void end_worker(struct worker *w)
{
	pthread_mutex_lock(&w->lock);
	w->must_end = true;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	free_worker(w);
}

void bounded_caller_free(struct bounded_caller *c)
{
	if (c && c->worker && c->pid == getpid())
		end_worker(c->worker);
	free(c);
}

/* Returns the CPU time of the worker, ns. */
static uint64_t used_ns(const struct worker *w)
{
	struct timespec used;
	clockid_t clock;

	if (pthread_getcpuclockid(w->thread, &clock) != 0 || clock_gettime(clock, &used) != 0)
		return 0;
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

void bounded_caller_do_meanwhile(struct bounded_caller *c, void (*meanwhile)(void *context),
				 void *context)
{
	c->meanwhile = meanwhile;
	c->context = context;
	c->meanwhile_pid = getpid();
}

void bounded_caller_limit_sleep(struct bounded_caller *c, unsigned int ms)
{
	c->limits_sleep = true;
	c->sleep_ns = ms * UINT64_C(1000000);
}

void bounded_caller_keep_capabilities(struct bounded_caller *c)
{
	c->keeps_capabilities = true;
}

/* A call without a moment of CPU time. */
struct nap {
	uint64_t checked_ns, slept_ns, used_ns;
};

/* Returns whether the worker waits for a CPU that others use. */
static bool is_runnable(pid_t tid)
{
	const char state = tid ? proc_thread_state(getpid(), tid) : '\0';

	return !state ||
	       state == 'R'; /* unknown: the thread has not run yet, or /proc does not tell */
}

/*
 * Returns whether the call has slept too long. Requires the worker's lock. If this thread is late,
 * the machine is busy or the process was stopped: then time counts at most LATE_CHECK_NS.
 */
static bool sleeps_too_long(struct bounded_caller *c, const struct worker *w, struct nap *nap,
			    uint64_t now)
{
	uint64_t used = used_ns(w), since_ns = now - nap->checked_ns;
	bool is_nap;

	nap->checked_ns = now;
	if (used == nap->used_ns)
		nap->slept_ns += since_ns < LATE_CHECK_NS ? since_ns : LATE_CHECK_NS;
	is_nap = nap->slept_ns >= NAP_NS;
	if (used == nap->used_ns && (!is_nap || !is_runnable(w->tid)))
		return is_nap && nap->slept_ns >= c->sleep_ns / 2;
	if (used != nap->used_ns && is_nap)
		c->sleep_ns -= nap->slept_ns < c->sleep_ns ? nap->slept_ns : c->sleep_ns;
	*nap = (struct nap){.checked_ns = now, .used_ns = used};
	return false;
}

/*
 * Waits until the worker has run its job, the deadline has passed, or the call has slept too long.
 * Requires the worker's lock.
 */
static void wait_for_worker(struct bounded_caller *c, struct worker *w, uint64_t deadline)
{
	bool has_meanwhile = c->meanwhile && c->meanwhile_pid == getpid();
	uint64_t now = monotonic_ns();
	struct nap nap = {.checked_ns = now, .used_ns = used_ns(w)};

	while (w->job && now < deadline) {
		uint64_t at = now + (has_meanwhile ? BOUNDED_CALL_MEANWHILE_MS : CHECK_MS) *
					    UINT64_C(1000000);
		struct timespec until;

		if ((!has_meanwhile && !c->limits_sleep) || at > deadline)
			at = deadline;
		until = (struct timespec){.tv_sec = (time_t)(at / 1000000000u),
					  .tv_nsec = (long)(at % 1000000000u)};
		if (pthread_cond_timedwait(&w->changed, &w->lock, &until) != 0 && has_meanwhile) {
			pthread_mutex_unlock(&w->lock);
			c->meanwhile(c->context);
			pthread_mutex_lock(&w->lock);
		}
		now = monotonic_ns();
		if (w->job && c->limits_sleep && sleeps_too_long(c, w, &nap, now)) {
			c->sleep_ns /= 2;
			break;
		}
	}
}

/* Hands the job over and waits. Returns false if the job is late and its worker was abandoned. */
static bool run_on_worker(struct bounded_caller *c, struct bounded_job *job, uint64_t deadline)
{
	struct worker *w = c->worker;
	uint64_t start = monotonic_ns(), used = used_ns(w);
	bool is_done;

	pthread_mutex_lock(&w->lock);
	w->job = job;
	pthread_cond_signal(&w->changed);
	wait_for_worker(c, w, deadline);
	is_done = !w->job;
	if (!is_done) {
		bool is_busy = (used_ns(w) - used) * BUSY_PART > monotonic_ns() - start;

		/*
		 * The worker cannot free the job before it has the lock. The share of the job stays
		 * taken: it may never be freed.
		 */
		table_quota_settle(&c->quota, &job->share, true);
		c->stuck_places[c->abandoned++] = is_busy ? 0 : job->place;
		c->worker = NULL;
		job->is_late = true;
		w->is_abandoned = true;
		pthread_detach(w->thread);
	}
	pthread_mutex_unlock(&w->lock);
	return is_done;
}

bool bounded_is_stuck(const struct bounded_caller *c, uint64_t place)
{
	for (uint64_t i = 0; place && i < c->abandoned; i++)
		if (c->stuck_places[i] == place)
			return true;
	return false;
}

/* Starts a worker if necessary. Returns 0 if the call may be made, or -EBUSY. */
static int prepare(struct bounded_caller *c, const struct bounded_job *job)
{
	if (bounded_is_stuck(c, job->place))
		return -EBUSY;
	if (c->worker && c->pid != getpid())
		c->worker = NULL;
	if (!c->worker && c->abandoned < BOUNDED_CALL_MAX_ABANDONED && c->left_ns > 0) {
		c->pid = getpid();
		c->worker = start_worker(c->keeps_capabilities);
	}
	if (c->worker && c->left_ns > 0)
		return 0;
	c->refused++;
	return -EBUSY;
}

int bounded_call(struct bounded_caller *c, struct bounded_job *job, unsigned int timeout_ms)
{
	uint64_t start = monotonic_ns(), waited;
	int err = prepare(c, job);
	bool is_done;

	if (err) {
		free(job); /* no results to discard */
		return err;
	}
	table_quota_lend(&c->quota, &job->share, TABLE_QUOTA_FILE_BYTES);
	is_done = run_on_worker(c, job, start + timeout_ms * UINT64_C(1000000));
	waited = monotonic_ns() - start;
	c->left_ns -= waited < c->left_ns ? waited : c->left_ns;
	return is_done ? 0 : -ETIMEDOUT;
}

static void run_close(struct bounded_job *job)
{
	close(job->fd);
	job->fd = -1;
}

void bounded_close(struct bounded_caller *c, int fd)
{
	struct bounded_job *job = bounded_job_new(sizeof(*job), run_close, NULL);

	if (!job)
		return;
	job->fd = fd;
	job->place = BOUNDED_PLACE_CLOSING;
	if (bounded_call(c, job, BOUNDED_CALL_OPEN_MS) == 0)
		free(job);
}

struct table_quota *bounded_caller_budget(struct bounded_caller *c)
{
	return &c->quota;
}

bool bounded_caller_has_abandoned(const struct bounded_caller *c)
{
	return c->abandoned > 0;
}

uint64_t bounded_caller_count_stuck(const struct bounded_caller *c)
{
	return c->abandoned + c->refused;
}
