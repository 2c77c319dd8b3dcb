// SPDX-License-Identifier: MIT
#include "profiler/run/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "profiler/base/exit_status.h"
#include "profiler/run/privilege.h"
#include "profiler/run/target_environment.h"

static void set_environment(const char *const *environment)
{
	for (; environment && *environment; environment++)
		putenv((char *)*environment);
}

static void run_child(const struct target_options *options, int gate, int report)
{
	char variable[TARGET_VARIABLE_BYTES] = "";
	int32_t err;
	ssize_t n;

	if (TEMP_FAILURE_RETRY(read(gate, variable, sizeof(variable) - 1)) < 1)
		_exit(EXIT_PROFILER_FAILED); /* the profiler died */

	if (options->stdout_to_stderr) /* close-on-exec stderr: replaces a closed one */
		dup3(STDERR_FILENO, STDOUT_FILENO,
		     fcntl(STDERR_FILENO, F_GETFD) & FD_CLOEXEC ? O_CLOEXEC : 0);
	set_environment(options->environment);
	if (variable[0])
		putenv(variable);
	unsetenv(TARGET_ENVIRONMENT_SECRET);
	privilege_drop_all();
	inherited_restore(options->inherited);
	dropped_environment_restore(&options->inherited->dropped);
	execvp(options->command[0], options->command);
	err = errno;
	n = write(report, &err, sizeof(err));
	(void)n;
	_exit(EXIT_PROFILER_FAILED);
}

void target_init(struct target *target)
{
	memset(target, 0, sizeof(*target));
	target->end = target->gate = target->exec_error = -1;
}

int target_start(struct target *target, const struct target_options *options)
{
	int gate[2], report[2];

	target_init(target);
	if (pipe2(gate, O_CLOEXEC) != 0)
		return -errno;
	if (pipe2(report, O_CLOEXEC) != 0) {
		int err = -errno;

		close(gate[0]);
		close(gate[1]);
		return err;
	}
	target->pid = fork();
	if (target->pid == 0) {
		close(gate[1]);
		close(report[0]);
		run_child(options, gate[0], report[1]);
	}
	close(gate[0]);
	close(report[1]);
	target->gate = gate[1];
	target->exec_error = report[0];
	if (target->pid < 0) {
		int err = -errno;

		target->pid = 0;
		target_release_resources(target);
		return err;
	}
	target->end = (int)syscall(SYS_pidfd_open, target->pid, 0);
	return 0;
}

int target_release(struct target *target, const char *variable)
{
	int32_t err = 0;
	size_t size = strlen(variable) + 1;
	ssize_t n;

	n = size <= TARGET_VARIABLE_BYTES ? write(target->gate, variable, size) : -1;
	close(target->gate);
	target->gate = -1;
	if (n < 0 || (size_t)n != size)
		return -EPIPE;
	n = TEMP_FAILURE_RETRY(read(target->exec_error, &err, sizeof(err)));
	close(target->exec_error);
	target->exec_error = -1;
	return n == sizeof(err) ? -err : 0;
}

/* Returns the CPU time of a process. A zombie keeps its clock until it is waited for. */
uint64_t target_used_ns(pid_t pid)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
		return 0;
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

bool target_poll(struct target *target)
{
	siginfo_t info = {.si_pid = 0};

	if (target->ended || target->pid <= 0 ||
	    waitid(P_PID, (id_t)target->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
	    info.si_pid != target->pid)
		return target->ended;
	target->used_ns = target_used_ns(target->pid);
	target->ended = waitpid(target->pid, &target->wait_status, WNOHANG) == target->pid;
	return target->ended;
}

int target_signal(const struct target *target, int signal)
{
	if (target->pid <= 0 || target->ended || kill(target->pid, signal) == 0)
		return 0;
	return errno == EPERM ? -EPERM : 0;
}

int target_killed_by(const struct target *target)
{
	return WIFSIGNALED(target->wait_status) ? WTERMSIG(target->wait_status) : 0;
}

int target_exit_status(const struct target *target)
{
	if (target_killed_by(target))
		return EXIT_SIGNAL_BASE + target_killed_by(target);
	return WEXITSTATUS(target->wait_status);
}

void target_release_resources(struct target *target)
{
	/* closing the gate unopened makes a waiting child exit */
	if (target->gate >= 0)
		close(target->gate);
	if (target->exec_error >= 0)
		close(target->exec_error);
	if (target->end >= 0)
		close(target->end);
	if (target->gate >= 0 && target->pid > 0)
		waitpid(target->pid, &target->wait_status, 0);
	target->end = target->gate = target->exec_error = -1;
}
