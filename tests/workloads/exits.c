/* SPDX-License-Identifier: MIT */
/*
 * exits MODE [ARGUMENTS]: every way to end, and what a process can see of itself.
 *
 *   0..255	exit with that status
 *   segv | abort | kill	die by that signal, sent to itself
 *   sleep	print "ready", sleep until a signal ends it
 *   ignore-int	the same, but SIGINT is ignored and SIGTERM ends it with status 7
 *   _exit	_exit(5) without running exit handlers
 *   count-int	print "ready", wait for SIGINT and a moment for a second one, print how many came;
 *		status 42
 *   self	print argv, environment, directory, ids, umask, signals, limits, descriptors
 *
 * "self" prints nothing that differs from run to run by itself (no pid, no time), so that the
 * output with and without a profiler can be compared.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static void print_ids(void)
{
	uid_t ruid, euid, suid;
	gid_t rgid, egid, sgid;
	mode_t mask = umask(0);

	umask(mask);
	if (getresuid(&ruid, &euid, &suid) || getresgid(&rgid, &egid, &sgid))
		return;
	printf("uid %u %u %u\n", ruid, euid, suid);
	printf("gid %u %u %u groups %d\n", rgid, egid, sgid, getgroups(0, NULL));
	printf("umask %03o\n", mask);
	printf("session_leader %d group_leader %d\n", getsid(0) == getpid(), getpgrp() == getpid());
	printf("nice %d scheduler %d no_new_privs %d dumpable %d\n", getpriority(PRIO_PROCESS, 0),
	       sched_getscheduler(0), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
	       prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
}

static const char *disposition(const struct sigaction *action)
{
	if (action->sa_handler == SIG_DFL)
		return "default";
	return action->sa_handler == SIG_IGN ? "ignored" : "handled";
}

static void print_signals(void)
{
	sigset_t blocked, pending;

	sigprocmask(SIG_SETMASK, NULL, &blocked);
	sigpending(&pending);
	for (int s = 1; s < NSIG; s++) {
		struct sigaction action;

		if (sigaction(s, NULL, &action))
			continue;
		printf("signal %d %s%s%s\n", s, disposition(&action),
		       sigismember(&blocked, s) ? " blocked" : "",
		       sigismember(&pending, s) ? " pending" : "");
	}
}

static void print_limits(void)
{
	for (int r = 0; r < (int)RLIMIT_NLIMITS; r++) {
		struct rlimit limit;

		if (getrlimit((__rlimit_resource_t)r, &limit) == 0)
			printf("limit %d %lld %lld\n", r, (long long)limit.rlim_cur,
			       (long long)limit.rlim_max);
	}
}

/* Numbers only: what is behind 0, 1 and 2 differs from run to run. */
static void print_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(dir))
			printf("descriptor %s\n", entry->d_name);
	closedir(dir);
}

static int print_self(int argc, char **argv)
{
	char path[PATH_MAX];

	for (int i = 0; i < argc; i++)
		printf("argv[%d] %s\n", i, argv[i]);
	for (char **e = environ; *e; e++)
		printf("environment %s\n", *e);
	printf("directory %s\n", getcwd(path, sizeof(path)) ? path : strerror(errno));
	print_ids();
	print_signals();
	print_limits();
	print_descriptors();
	return 0;
}

static void on_term(int signal)
{
	(void)signal;
	_exit(7);
}

static _Noreturn void sleep_for_ever(void)
{
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

static int count_interrupts(void)
{
	const struct timespec moment = {0, 300000000};
	siginfo_t info;
	sigset_t set;
	int count = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	puts("ready");
	fflush(stdout);
	if (sigwaitinfo(&set, &info) == SIGINT)
		count++;
	while (sigtimedwait(&set, &info, &moment) == SIGINT)
		count++;
	printf("interrupts %d\n", count);
	return 42;
}

static int send_self(int signal)
{
	struct rlimit no_core = {0, 0};

	setrlimit(RLIMIT_CORE, &no_core);
	kill(getpid(), signal);
	return 1;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	struct sigaction term = {.sa_handler = on_term};
	char *end;
	long status = strtol(mode, &end, 10);

	if (*mode && !*end && status >= 0 && status <= 255)
		return (int)status;
	if (strcmp(mode, "segv") == 0)
		return send_self(SIGSEGV);
	if (strcmp(mode, "abort") == 0)
		return send_self(SIGABRT);
	if (strcmp(mode, "kill") == 0)
		return send_self(SIGKILL);
	if (strcmp(mode, "_exit") == 0)
		_exit(5);
	if (strcmp(mode, "sleep") == 0)
		sleep_for_ever();
	if (strcmp(mode, "ignore-int") == 0) {
		signal(SIGINT, SIG_IGN);
		sigaction(SIGTERM, &term, NULL);
		sleep_for_ever();
	}
	if (strcmp(mode, "count-int") == 0)
		return count_interrupts();
	if (strcmp(mode, "self") == 0)
		return print_self(argc, argv);
	fprintf(stderr,
		"usage: %s STATUS|segv|abort|kill|_exit|sleep|ignore-int|count-int|self "
		"[ARGUMENTS]\n",
		argv[0]);
	return 100;
}
