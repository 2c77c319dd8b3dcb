// SPDX-License-Identifier: MIT
/*
 * blocked [stop | exec]: threads that wait in functions of their own, each for one thing. Prints,
 * by CLOCK_MONOTONIC in ns, how long each was in its function:
 *
 *   FUNCTION KIND NS TID LEAST MOST
 *
 * (spaces of a kind are underscores)
 *
 * and how long its thread existed: at least from its start routine's begin to its end, at most from
 * before it was created until it was joined. With `exec`, a thread waits in one program, then in
 * the next one.
 *
 * blocked compat: sleeps in a system call of the 32-bit ABI.
 *
 * blocked pings N: N times two threads switch to each other and back; what that takes.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 12

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void rest(long ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static int slow_pipe[2], slow_socket[2], ping[2], pong[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void in_sleep(void)
{
	rest(40);
}

/* So many that most have no stack. */
__attribute__((noinline)) static void in_first_program(void)
{
	for (int i = 0; i < 3000; i++)
		nanosleep(&(struct timespec){0, 100000}, NULL);
}

/* From the same depth as in_long_naps, and for what is the same to the kernel. */
__attribute__((noinline)) static void in_short_naps(void)
{
	rest(2);
}

__attribute__((noinline)) static void in_long_naps(void)
{
	rest(30);
}

__attribute__((noinline)) static void in_poll(void)
{
	poll(NULL, 0, 30);
}

__attribute__((noinline)) static void in_read(void)
{
	char c;

	if (read(slow_pipe[0], &c, 1) != 1)
		abort();
}

__attribute__((noinline)) static void in_socket(void)
{
	char c;

	if (read(slow_socket[0], &c, 1) != 1)
		abort();
}

__attribute__((noinline)) static void in_lock(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

static unsigned long pings = 2000;

/* Many short ones. */
__attribute__((noinline)) static void in_pings(void)
{
	char c = 0;

	for (unsigned long i = 0; i < pings; i++)
		if (write(ping[1], &c, 1) != 1 || read(pong[0], &c, 1) != 1)
			abort();
}

__attribute__((noinline)) static void in_stop(void)
{
	pid_t child = fork();

	if (child == 0) {
		rest(30);
		kill(getppid(), SIGCONT);
		rest(20);
		_exit(0);
	}
	raise(SIGSTOP);
	waitpid(child, NULL, 0);
}

struct waiter {
	const char *name, *kind;
	void (*wait)(void);
	const char *other; /* a second function, in turn; NULL: none */
	void (*wait_otherwise)(void);
	pthread_t thread;
	pid_t tid;
	uint64_t ns, other_ns, created_ns, began_ns, ended_ns, joined_ns;
};

static void timed(void (*wait)(void), uint64_t *ns)
{
	uint64_t begin = now_ns();

	wait();
	*ns += now_ns() - begin;
}

static void *wait_often(void *arg)
{
	struct waiter *w = arg;

	w->began_ns = now_ns();
	w->tid = (pid_t)syscall(SYS_gettid);
	for (int i = 0; i < ROUNDS; i++) {
		timed(w->wait, &w->ns);
		if (w->wait_otherwise)
			timed(w->wait_otherwise, &w->other_ns);
		else
			rest(10);
	}
	w->ended_ns = now_ns();
	return NULL;
}

static void *answer(void *arg)
{
	char c;

	while (read(ping[0], &c, 1) == 1 && write(pong[1], &c, 1) == 1)
		;
	return arg;
}

/* Lets readers read, and holds the lock. */
static void *serve(void *arg)
{
	for (int i = 0; i < 4 * ROUNDS; i++) {
		pthread_mutex_lock(&lock);
		rest(20);
		pthread_mutex_unlock(&lock);
		rest(5);
		if (i < ROUNDS &&
		    (write(slow_pipe[1], "x", 1) != 1 || write(slow_socket[1], "x", 1) != 1))
			abort();
	}
	return arg;
}

/* Only pings: what a switch takes. */
static int switch_often(void)
{
	struct timespec used;
	uint64_t ns = 0;

	timed(in_pings, &ns);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	printf("%.0f switches/s, %.0f ns of CPU time each\n", 2e9 * (double)pings / (double)ns,
	       ((double)used.tv_sec * 1e9 + (double)used.tv_nsec) / (2.0 * (double)pings));
	return 0;
}

/* Number 162 is nanosleep there, and sync on x86-64. */
__attribute__((noinline)) static int in_compat(void)
{
	int32_t *time = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	long result = 162;

	if (time == MAP_FAILED)
		return 1;
	time[1] = 30000000;
	__asm__ volatile("int $0x80"
			 : "+a"(result)
			 : "b"(time), "c"(0)
			 : "memory", "r8", "r9", "r10", "r11");
	return result != 0;
}

/* One program after another: `first` is what the previous one took, NULL where there was none. */
static int execute(const char *first)
{
	char text[32];
	uint64_t ns = 0;
	int tid = (int)getpid();

	if (!first) {
		timed(in_first_program, &ns);
		snprintf(text, sizeof(text), "%llu", (unsigned long long)ns);
		execl("/proc/self/exe", "blocked", "exec", text, NULL);
		return 1;
	}
	for (int i = 0; i < ROUNDS; i++)
		timed(in_long_naps, &ns);
	printf("in_first_program sleep %s %d %s %s\n", first, tid, first, first);
	printf("in_long_naps sleep %llu %d %llu %llu\n", (unsigned long long)ns, tid,
	       (unsigned long long)ns, (unsigned long long)ns + strtoull(first, NULL, 10));
	return 0;
}

static void report(const struct waiter *w, const char *name, uint64_t ns)
{
	printf("%s %s %llu %d %llu %llu\n", name, w->kind, (unsigned long long)ns, (int)w->tid,
	       (unsigned long long)(w->ended_ns - w->began_ns),
	       (unsigned long long)(w->joined_ns - w->created_ns));
}

int main(int argc, char **argv)
{
	static struct waiter all[] = {
		{"in_stop", "stopped", in_stop, .other = NULL}, /* alone, for all stop */
		{"in_sleep", "sleep", in_sleep, .other = NULL},
		{"in_short_naps", "sleep", in_short_naps, "in_long_naps", in_long_naps, .ns = 0},
		{"in_poll", "poll", in_poll, .other = NULL},
		{"in_read", "read_pipe", in_read, .other = NULL},
		{"in_socket", "read_socket", in_socket, .other = NULL},
		{"in_lock", "futex", in_lock, .other = NULL},
		{"in_pings", "read_pipe", in_pings, .other = NULL},
	};
	bool stops = argc == 2 && strcmp(argv[1], "stop") == 0;
	struct waiter *waiters = stops ? all : all + 1;
	size_t count = stops ? 1 : sizeof(all) / sizeof(all[0]) - 1;
	pthread_t server, answerer;

	if (argc > 1 && strcmp(argv[1], "compat") == 0)
		return in_compat();
	if (argc > 1 && strcmp(argv[1], "exec") == 0)
		return execute(argv[2]);
	if (argc > 2)
		pings = strtoul(argv[2], NULL, 10);
	if ((argc > 1 && !stops && strcmp(argv[1], "pings") != 0) || pings == 0) {
		fprintf(stderr, "usage: blocked [stop | exec | compat | pings N]\n");
		return 2;
	}
	if (pipe(slow_pipe) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, slow_socket) != 0 ||
	    pipe(ping) != 0 || pipe(pong) != 0)
		return 1;
	pthread_create(&answerer, NULL, answer, NULL);
	if (argc > 2)
		return switch_often();
	if (!stops)
		pthread_create(&server, NULL, serve, NULL);
	for (size_t i = 0; i < count; i++) {
		waiters[i].created_ns = now_ns();
		pthread_create(&waiters[i].thread, NULL, wait_often, &waiters[i]);
	}
	for (size_t i = 0; i < count; i++) {
		pthread_join(waiters[i].thread, NULL);
		waiters[i].joined_ns = now_ns();
		report(&waiters[i], waiters[i].name, waiters[i].ns);
		if (waiters[i].other)
			report(&waiters[i], waiters[i].other, waiters[i].other_ns);
	}
	close(ping[1]);
	pthread_join(answerer, NULL);
	if (!stops)
		pthread_join(server, NULL);
	return 0;
}
