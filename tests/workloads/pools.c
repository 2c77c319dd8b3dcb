// SPDX-License-Identifier: MIT
/*
 * pools: threads that wait, each in functions of its own, while the first one waits in `epoll_wait`
 * (wait_for_events) and hands out some work:
 *
 *   pool_worker   4 threads of a pool, which work a little
 *   lone_worker   1 thread that waits in the same way
 *   stuck         3 threads that want a lock which the first one has all the time
 *   at_barrier    2 threads that wait at a barrier for the first one
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>

enum { WORKERS = 4, STUCK = 3, AT_BARRIER = 2, ROUNDS = 20, ROUND_MS = 40 };

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int jobs, begun; /* workers that have begun */
	bool is_over;
};

static struct pool pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
static struct pool lone = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
static pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static volatile uint64_t sink;

__attribute__((noinline)) static void do_job(void)
{
	for (int i = 0; i < 100000; i++)
		sink += (uint64_t)i;
}

static void work_for(struct pool *p)
{
	pthread_mutex_lock(&p->lock);
	p->begun++;
	while (!p->is_over) {
		if (p->jobs == 0) {
			pthread_cond_wait(&p->changed, &p->lock);
			continue;
		}
		p->jobs--;
		pthread_mutex_unlock(&p->lock);
		do_job();
		pthread_mutex_lock(&p->lock);
	}
	pthread_mutex_unlock(&p->lock);
}

__attribute__((noinline)) static void *pool_worker(void *arg)
{
	work_for(&pool);
	return arg;
}

__attribute__((noinline)) static void *lone_worker(void *arg)
{
	work_for(&lone);
	return arg;
}

__attribute__((noinline)) static void *stuck(void *arg)
{
	pthread_mutex_lock(&taken);
	pthread_mutex_unlock(&taken);
	return arg;
}

__attribute__((noinline)) static void *at_barrier(void *arg)
{
	pthread_barrier_wait(&barrier);
	return arg;
}

static bool has_begun(struct pool *p, int workers)
{
	bool yes;

	pthread_mutex_lock(&p->lock);
	yes = p->begun == workers;
	pthread_mutex_unlock(&p->lock);
	return yes;
}

static void tell(struct pool *p, int jobs, bool is_over)
{
	pthread_mutex_lock(&p->lock);
	p->jobs += jobs;
	p->is_over = is_over;
	pthread_mutex_unlock(&p->lock);
	if (is_over)
		pthread_cond_broadcast(&p->changed);
	else
		pthread_cond_signal(&p->changed);
}

__attribute__((noinline)) static void wait_for_events(int events)
{
	struct epoll_event event;

	epoll_wait(events, &event, 1, ROUND_MS);
}

int main(void)
{
	pthread_t threads[WORKERS + 1 + STUCK + AT_BARRIER];
	int count = 0, events = epoll_create1(0);

	pthread_mutex_lock(&taken);
	if (events < 0 || pthread_barrier_init(&barrier, NULL, AT_BARRIER + 1) != 0)
		return 1;
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&threads[count++], NULL, pool_worker, NULL);
	pthread_create(&threads[count++], NULL, lone_worker, NULL);
	for (int i = 0; i < STUCK; i++)
		pthread_create(&threads[count++], NULL, stuck, NULL);
	for (int i = 0; i < AT_BARRIER; i++)
		pthread_create(&threads[count++], NULL, at_barrier, NULL);
	while (!has_begun(&pool, WORKERS) || !has_begun(&lone, 1))
		wait_for_events(events);
	for (int i = 0; i < ROUNDS; i++) {
		wait_for_events(events);
		tell(&pool, 1, false);
	}
	tell(&pool, 0, true);
	tell(&lone, 0, true);
	pthread_mutex_unlock(&taken);
	pthread_barrier_wait(&barrier);
	while (count > 0)
		pthread_join(threads[--count], NULL);
	return 0;
}
