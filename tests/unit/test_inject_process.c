/* SPDX-License-Identifier: MIT */
/*
 * Libraries injected into processes that run: system calls that threads sleep in go on as if
 * nothing had been, whatever state a process is in.
 */
#include "unit.h"
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <time.h>
#include <ucontext.h>
#include "profiler/attach/remote_call.h"
#include "profiler/attach/inject_process.h"
#include "profiler/attach/remote_memory.h"
#include "tests/unit/own_folder.h"

/* The entry point writes a byte to the descriptor that the text names. It clobbers other state:
 * vectors, flags, errno. */
static const char source[] =
	"#include <errno.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
	"void begin(const char *text)\n{\n"
	"	if (write(strtol(text, 0, 10), \"b\", 1) != 1) abort();\n"
	"	errno = 77;\n"
	"	__asm__ volatile(\"pcmpeqd %%xmm7, %%xmm7; pcmpeqd %%xmm15, %%xmm15\" ::: "
	"\"xmm7\", \"xmm15\");\n}\n"
	"void fault(const char *text)\n{\n	*(volatile int *)8 = *text;\n}\n"
	"void stay(const char *text)\n{\n	char c = *text;\n"
	"	while (read(strtol(text, 0, 10), &c, 1) < 0 && errno == EINTR) ;\n}\n";

static bool begins_again;
static void *library;
static size_t library_size;

static int build(void **state)
{
	char path[256];
	FILE *file;
	long size;

	if (make_folder(state) != 0)
		return -1;
	snprintf(path, sizeof(path), "%s/l.c", folder);
	file = fopen(path, "w");
	if (!file || fputs(source, file) < 0 || fclose(file) != 0)
		return -1;
	shell("${CC:-cc} -shared -fPIC -o l.so l.c");
	snprintf(path, sizeof(path), "%s/l.so", folder);
	file = fopen(path, "r");
	if (!file || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) <= 0)
		return -1;
	rewind(file);
	library = malloc((size_t)size);
	library_size = fread(library, 1, (size_t)size, file);
	return fclose(file);
}

static int remove_all(void **state)
{
	free(library);
	return remove_folder(state);
}

/* ---- a process ---- */

struct seen {
	long result;
	int error;
	uint64_t vectors[4]; /* vector registers, before and after */
};

struct target {
	pid_t pid;
	int go[2];    /* ends what it waits for */
	int begun[2]; /* the library writes there */
	struct seen *seen;
};

static struct target start(void (*run)(struct target *t))
{
	struct target t;

	t.seen = mmap(NULL, sizeof(*t.seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	assert_true(t.seen != MAP_FAILED);
	assert_int_equal(pipe(t.go), 0);
	assert_int_equal(pipe(t.begun), 0);
	fflush(NULL);
	t.pid = fork();
	assert_true(t.pid >= 0);
	if (t.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run(&t);
		_exit(0);
	}
	return t;
}

static int end(struct target *t)
{
	int status;

	assert_int_equal(waitpid(t->pid, &status, 0), t->pid);
	close(t->go[0]);
	close(t->go[1]);
	close(t->begun[0]);
	close(t->begun[1]);
	munmap(t->seen, sizeof(*t->seen));
	return status;
}

/* Returns the system call that the process sleeps in, or -1. */
static long sleeps_in(pid_t pid)
{
	char path[64], text[64] = "";
	long number = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	file = fopen(path, "r");
	if (!file)
		return -1;
	if (fgets(text, sizeof(text), file) && strncmp(text, "running", 7) != 0)
		number = strtol(text, NULL, 10);
	fclose(file);
	return number;
}

static void wait_sleep(pid_t pid, long number)
{
	while (sleeps_in(pid) != number)
		usleep(1000);
}

static enum inject_result bring(const struct target *t, const char *entry, char *message)
{
	enum inject_result result;
	char text[32];
	struct inject_request request = {.pid = t->pid,
					 .library = library,
					 .library_size = library_size,
					 .entry = entry,
					 .text = text,
					 .begins_again = begins_again,
					 .mark = "bring-test",
					 .file_name = "libbring_test.so"};

	snprintf(text, sizeof(text), "%d", strcmp(entry, "stay") == 0 ? t->go[0] : t->begun[1]);
	result = inject_process(&request, message);
	symbolizer_free(request.symbolizer);
	return result;
}

static void bring_well(const struct target *t)
{
	char message[400], byte;

	if (bring(t, "begin", message) != INJECT_DONE)
		fail_msg("%s", message);
	assert_int_equal(read(t->begun[0], &byte, 1), 1);
}

/* ---- system calls ---- */

static void note(struct target *t, long result)
{
	t->seen->result = result;
	t->seen->error = result < 0 ? errno : 0;
}

static void sleep_while(struct target *t)
{
	note(t, syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0,
			&(struct timespec){.tv_nsec = 700000000}, NULL));
}

static void poll_pipe(struct target *t)
{
	struct pollfd p = {.fd = t->go[0], .events = POLLIN};

	note(t, poll(&p, 1, 100000));
}

static void poll_until(struct target *t)
{
	struct pollfd p = {.fd = t->go[0], .events = POLLIN};

	note(t, poll(&p, 1, 700));
}

static void ppoll_pipe(struct target *t)
{
	struct pollfd p = {.fd = t->go[0], .events = POLLIN};
	sigset_t mask;

	sigfillset(&mask);
	note(t, ppoll(&p, 1, &(struct timespec){.tv_sec = 100}, &mask));
}

static void select_pipe(struct target *t)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(t->go[0], &set);
	note(t, select(t->go[0] + 1, &set, NULL, NULL, NULL));
}

static void read_pipe(struct target *t)
{
	char byte;

	note(t, read(t->go[0], &byte, 1));
}

/* Reads the pipe, and checks that vector registers are unchanged: a system call leaves them
 * alone. */
static void read_pipe_with_vectors(struct target *t)
{
	uint64_t before[2] = {0x1122334455667788, 0x99aabbccddeeff00}, after[4];
	char byte;
	long result;

	__asm__ volatile(
		"movdqu %2, %%xmm7\n\tmovdqu %2, %%xmm15\n\txor %%eax, %%eax\n\tsyscall\n\t"
		"movdqu %%xmm7, %1\n\tmovdqu %%xmm15, 16+%1"
		: "=&a"(result), "=m"(after)
		: "m"(before), "D"(t->go[0]), "S"(&byte), "d"(1L)
		: "rcx", "r11", "memory", "xmm7", "xmm15");
	memcpy(t->seen->vectors, after, sizeof(after));
	t->seen->result = result;
}

static uint32_t *futex_word;

static void *wake_futex(void *argument)
{
	struct target *t = argument;
	struct pollfd p = {.fd = t->go[0], .events = POLLIN};
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	/* epoll_pwait, which is not taken for poll */
	while (syscall(SYS_epoll_pwait, -1, NULL, 0, 0, NULL, 0) != 0 && poll(&p, 1, 0) == 0)
		usleep(10000);
	*futex_word = 1;
	syscall(SYS_futex, futex_word, FUTEX_WAKE_PRIVATE, 1);
	return NULL;
}

static void wait_futex(struct target *t)
{
	static uint32_t word;
	pthread_t thread;

	futex_word = &word;
	pthread_create(&thread, NULL, wake_futex, t);
	note(t, syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL));
	pthread_join(thread, NULL);
}

static void wait_epoll(struct target *t)
{
	struct epoll_event e = {.events = EPOLLIN};
	int fd = epoll_create1(0);

	epoll_ctl(fd, EPOLL_CTL_ADD, t->go[0], &e);
	note(t, epoll_wait(fd, &e, 1, -1));
}

static int listening = -1;
static struct sockaddr_un address = {.sun_family = AF_UNIX};

static void accept_one(struct target *t)
{
	note(t, accept(listening, NULL, NULL) >= 0 ? 1 : -1);
}

static void wait_signal(struct target *t)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	note(t, sigwaitinfo(&set, NULL) == SIGUSR1 ? 1 : -1);
}

static void on_signal(int signal)
{
	(void)signal;
}

static void suspend(struct target *t)
{
	sigset_t set;

	signal(SIGUSR1, on_signal);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigemptyset(&set);
	/* ends by a signal alone, with EINTR */
	note(t, sigsuspend(&set) == -1 && errno == EINTR ? 1 : -1);
	sigprocmask(SIG_BLOCK, NULL, &set);
	if (!sigismember(&set, SIGUSR1))
		note(t, -1);
}

static void wait_child(struct target *t)
{
	pid_t child = fork();
	char byte;

	if (child == 0)
		_exit(read(t->go[0], &byte, 1) == 1 ? 0 : 1);
	note(t, waitpid(child, NULL, 0) == child ? 1 : -1);
}

enum finish { BY_TIME, BY_BYTE, BY_CONNECTION, BY_SIGNAL };

static const struct waiting {
	const char *name;
	void (*run)(struct target *t);
	long number, expected;
	enum finish finish;
} waitings[] = {
	{"clock_nanosleep", sleep_while, SYS_clock_nanosleep, 0, BY_TIME},
	{"poll, timed", poll_until, SYS_poll, 0, BY_TIME},
	{"poll", poll_pipe, SYS_poll, 1, BY_BYTE},
	{"ppoll", ppoll_pipe, SYS_ppoll, 1, BY_BYTE},
	{"select", select_pipe, SYS_pselect6, 1, BY_BYTE},
	{"read", read_pipe, SYS_read, 1, BY_BYTE},
	{"futex", wait_futex, SYS_futex, 0, BY_BYTE},
	{"epoll_wait", wait_epoll, SYS_epoll_wait, 1, BY_BYTE},
	{"accept", accept_one, SYS_accept, 1, BY_CONNECTION},
	{"sigwaitinfo", wait_signal, SYS_rt_sigtimedwait, 1, BY_SIGNAL},
	{"sigsuspend", suspend, SYS_rt_sigsuspend, 1, BY_SIGNAL},
	{"wait4", wait_child, SYS_wait4, 1, BY_BYTE},
};

static void open_listening(void)
{
	snprintf(address.sun_path, sizeof(address.sun_path), "%.90s/s%d", folder, rand());
	listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listening, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listening, 1), 0);
}

static void finish(struct target *t, enum finish how)
{
	int fd;

	switch (how) {
	case BY_BYTE:
		assert_int_equal(write(t->go[1], "x", 1), 1);
		break;
	case BY_CONNECTION:
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
		close(fd);
		break;
	case BY_SIGNAL:
		assert_int_equal(kill(t->pid, SIGUSR1), 0);
		break;
	case BY_TIME:
		break;
	}
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void test_system_calls_go_on(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(waitings) / sizeof(waitings[0]); i++) {
		const struct waiting *w = &waitings[i];
		uint64_t began = now_ns();
		struct target t;
		struct seen seen;

		if (w->finish == BY_CONNECTION)
			open_listening();
		t = start(w->run);
		wait_sleep(t.pid, w->number);
		/* one that ends by itself may be over before the second time */
		for (int round = 0; round < (w->finish == BY_TIME ? 1 : 3); round++)
			bring_well(&t);
		/* a futex that has changed before it is waited for again is not waited for */
		while (w->finish != BY_TIME && sleeps_in(t.pid) < 0)
			usleep(1000);
		finish(&t, w->finish);
		assert_int_equal(
			waitid(P_PID, (id_t)t.pid, &(siginfo_t){.si_pid = 0}, WEXITED | WNOWAIT),
			0);
		seen = *t.seen;
		assert_int_equal(end(&t), 0);
		if (seen.result != w->expected)
			fail_msg("%s: %ld, %s", w->name, seen.result, strerror(seen.error));
		if (w->finish == BY_TIME)
			assert_true(now_ns() - began >= 700000000);
		if (listening >= 0)
			close(listening);
		listening = -1;
	}
}

/* A timed wait that is resumed, not begun again: the kernel has another number for it. */
static void test_time_that_is_left(void **state)
{
	struct target t = start(poll_pipe);

	(void)state;
	wait_sleep(t.pid, SYS_poll);
	for (int round = 0; round < 3; round++) {
		bring_well(&t);
		wait_sleep(t.pid, SYS_restart_syscall);
	}
	finish(&t, BY_BYTE);
	assert_int_equal(end(&t), 0);
}

static void test_vectors(void **state)
{
	struct target t = start(read_pipe_with_vectors);
	const uint64_t expected[4] = {0x1122334455667788, 0x99aabbccddeeff00, 0x1122334455667788,
				      0x99aabbccddeeff00};

	(void)state;
	wait_sleep(t.pid, SYS_read);
	bring_well(&t);
	bring_well(&t);
	finish(&t, BY_BYTE);
	assert_int_equal(waitid(P_PID, (id_t)t.pid, &(siginfo_t){.si_pid = 0}, WEXITED | WNOWAIT),
			 0);
	assert_memory_equal(t.seen->vectors, expected, sizeof(expected));
	assert_int_equal(end(&t), 0);
}

/* ---- what goes wrong ---- */

static void test_fault_in_the_library(void **state)
{
	struct target t = start(read_pipe);
	char message[400];

	(void)state;
	wait_sleep(t.pid, SYS_read);
	assert_int_equal(bring(&t, "fault", message), INJECT_FAILED);
	bring_well(&t);
	finish(&t, BY_BYTE);
	assert_int_equal(end(&t), 0);
}

static void test_entry_that_stays(void **state)
{
	struct target t = start(poll_pipe);
	char message[400];

	(void)state;
	wait_sleep(t.pid, SYS_poll);
	/* the first byte ends the entry point, the second one the poll */
	assert_int_equal(bring(&t, "stay", message), INJECT_LATE);
	finish(&t, BY_BYTE);
	wait_sleep(t.pid, SYS_poll);
	finish(&t, BY_BYTE);
	assert_int_equal(waitid(P_PID, (id_t)t.pid, &(siginfo_t){.si_pid = 0}, WEXITED | WNOWAIT),
			 0);
	assert_int_equal(t.seen->result, 1);
	assert_int_equal(end(&t), 0);
}

/* The profiler is killed at any moment: the program never notices. */
static void test_killed_profiler(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 30; i++) {
		struct target t = start(i % 2 ? poll_pipe : read_pipe);
		char message[400];
		pid_t profiler;

		wait_sleep(t.pid, i % 2 ? SYS_poll : SYS_read);
		fflush(NULL);
		profiler = fork();
		if (profiler == 0) {
			for (;;)
				bring(&t, "begin", message);
		}
		usleep(5000 + i * 1300);
		kill(profiler, SIGKILL);
		assert_int_equal(waitpid(profiler, NULL, 0), profiler);
		finish(&t, BY_BYTE);
		assert_int_equal(
			waitid(P_PID, (id_t)t.pid, &(siginfo_t){.si_pid = 0}, WEXITED | WNOWAIT),
			0);
		if (t.seen->result != 1)
			fail_msg("round %u: %ld, %s", i, t.seen->result, strerror(t.seen->error));
		assert_int_equal(end(&t), 0);
	}
}

static void limit_calls(struct target *t)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	syscall(SYS_read, t->go[0], t, 1);
	syscall(SYS_exit, 0);
}

static void run_musl_like(struct target *t)
{
	char path[160];

	(void)t;
	snprintf(path, sizeof(path), "%s/static", folder);
	execl(path, path, (char *)NULL);
	_exit(1);
}

static void spin(struct target *t)
{
	struct pollfd p = {.fd = t->go[0], .events = POLLIN};

	while (poll(&p, 1, 0) == 0)
		;
}

static void be_traced(struct target *t)
{
	read_pipe(t);
}

static void test_refusals(void **state)
{
	char message[400];
	struct target t;

	(void)state;
	t = start(limit_calls);
	wait_sleep(t.pid, SYS_read);
	assert_int_equal(bring(&t, "begin", message), INJECT_UNSUITED);
	assert_non_null(strstr(message, "seccomp"));
	finish(&t, BY_BYTE);
	end(&t);

	shell("echo 'int pause(void); int main(void) { return pause(); }' > static.c && "
	      "${CC:-cc} -static -o static static.c");
	t = start(run_musl_like);
	wait_sleep(t.pid, SYS_pause);
	assert_int_equal(bring(&t, "begin", message), INJECT_UNSUITED);
	assert_non_null(strstr(message, "static"));
	kill(t.pid, SIGSTOP);
	waitpid(t.pid, NULL, WUNTRACED);
	assert_int_equal(bring(&t, "begin", message), INJECT_UNSUITED);
	assert_non_null(strstr(message, "stopped"));
	kill(t.pid, SIGKILL);
	waitid(P_PID, (id_t)t.pid, &(siginfo_t){.si_pid = 0}, WEXITED | WNOWAIT);
	assert_int_equal(bring(&t, "begin", message), INJECT_GONE); /* a zombie */
	end(&t);
	assert_int_equal(bring(&t, "begin", message), INJECT_GONE);

	t = start(be_traced);
	wait_sleep(t.pid, SYS_read);
	assert_int_equal(ptrace(PTRACE_SEIZE, t.pid, NULL, NULL), 0);
	assert_int_equal(bring(&t, "begin", message), INJECT_DENIED);
	assert_non_null(strstr(message, "traced"));
	finish(&t, BY_BYTE);
	end(&t);

	t = start(spin);
	assert_int_equal(bring(&t, "begin", message), INJECT_NO_THREAD);
	finish(&t, BY_BYTE);
	assert_int_equal(end(&t), 0);
}

static void *read_with_limits(void *argument)
{
	struct target *t = argument;
	char byte;

	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	syscall(SYS_read, t->go[0], &byte, 1);
	syscall(SYS_exit, 0);
	return NULL;
}

/* Limits a second thread. The first thread has no limits, and never sleeps. */
static void limit_a_thread(struct target *t)
{
	pthread_t thread;

	pthread_create(&thread, NULL, read_with_limits, t);
	t->seen->result = 1;
	while (!*(volatile int *)&t->seen->error)
		;
}

static void test_thread_with_limits(void **state)
{
	char message[400];
	struct target t = start(limit_a_thread);

	(void)state;
	while (!*(volatile long *)&t.seen->result)
		usleep(1000);
	usleep(100000);
	assert_int_equal(bring(&t, "begin", message), INJECT_NO_THREAD);
	*(volatile int *)&t.seen->error = 1;
	assert_int_equal(end(&t), 0);
}

/* Executes another program while no thread sleeps. */
static void become_another(struct target *t)
{
	struct timespec now;
	time_t begin;

	clock_gettime(CLOCK_MONOTONIC, &now);
	for (begin = now.tv_sec * 1000 + now.tv_nsec / 1000000, t->seen->result = 1;
	     now.tv_sec * 1000 + now.tv_nsec / 1000000 < begin + 400;)
		clock_gettime(CLOCK_MONOTONIC, &now);
	execlp("cat", "cat", (char *)NULL);
	_exit(1);
}

static void test_another_program_meanwhile(void **state)
{
	enum inject_result result = INJECT_DONE;
	char message[400] = "";
	int input[2], status;

	(void)state;
	assert_int_equal(pipe(input), 0);
	assert_true(dup2(input[0], STDIN_FILENO) >= 0);
	/* on a busy machine, the exec may come before the functions are found */
	for (int i = 0; i < 20 && result != INJECT_GONE; i++) {
		struct target t = start(become_another);

		while (!*(volatile long *)&t.seen->result)
			usleep(1000);
		result = bring(&t, "begin", message);
		kill(t.pid, SIGTERM);
		status = end(&t);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	}
	assert_int_equal(result, INJECT_GONE);
	assert_non_null(strstr(message, "another program"));
	close(input[0]);
	close(input[1]);
}

/* A stack at an address that the other program maps as well. */
#define SHARED_PLACE ((void *)0x7ab000000000)
#define SHARED_SIZE (1u << 20)

static const char other_program[] =
	"#include <stdlib.h>\n#include <sys/mman.h>\n#include <unistd.h>\n"
	"int main(int argc, char **argv)\n{\n"
	"	char *p = mmap((void *)0x7ab000000000, 1 << 20, PROT_READ | PROT_WRITE,\n"
	"		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), c;\n"
	"	if (argc < 3 || p == MAP_FAILED) return 2;\n"
	"	if (write(atoi(argv[2]), \"b\", 1) != 1 || read(atoi(argv[1]), &c, 1) != 1) return "
	"3;\n"
	"	for (int i = 0; i < 1 << 20; i++) if (p[i]) return 4;\n"
	"	return 0;\n}\n";

static void *execute_other(void *argument)
{
	const struct target *t = argument;
	char path[160], go[16], begun[16];

	snprintf(path, sizeof(path), "%s/other", folder);
	snprintf(go, sizeof(go), "%d", t->go[0]);
	snprintf(begun, sizeof(begun), "%d", t->begun[1]);
	while (!*(volatile int *)&t->seen->error)
		usleep(1000);
	execl(path, path, go, begun, (char *)NULL);
	_exit(1);
}

static struct target *pausing;

static void pause_there(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, execute_other, pausing);
	for (;;)
		syscall(SYS_pause);
}

static void pause_elsewhere(struct target *t)
{
	static ucontext_t there, here;

	pausing = t;
	getcontext(&there);
	there.uc_stack.ss_sp = mmap(SHARED_PLACE, SHARED_SIZE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	there.uc_stack.ss_size = SHARED_SIZE;
	makecontext(&there, pause_there, 0);
	swapcontext(&here, &there);
}

/* The first thread's number is the other program's then, which may have more rights. */
static void test_nothing_is_written_into_another_program(void **state)
{
	struct bounded_caller *calls = bounded_caller_new(BOUNDED_CALL_RUN_MS);
	struct remote_memory memory;
	static struct remote_call thread;
	const struct borrowed_call nothing = {
		.function = 1, .data = "text", .data_size = 5, .timeout_ns = 1000000000};
	char path[256], byte;
	struct target t;
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/other.c", folder);
	file = fopen(path, "w");
	assert_true(file && fputs(other_program, file) >= 0 && fclose(file) == 0);
	shell("${CC:-cc} -o other other.c");
	t = start(pause_elsewhere);
	wait_sleep(t.pid, SYS_pause);
	assert_int_equal(remote_memory_open(&memory, t.pid, calls), 0);
	thread.memory = &memory;
	assert_int_equal(remote_call_take(&thread, t.pid, t.pid), 0);
	*(volatile int *)&t.seen->error = 1;
	assert_int_equal(read(t.begun[0], &byte, 1), 1);
	/* nor can it be read by what was opened before */
	assert_false(remote_read(&memory, (uint64_t)(uintptr_t)SHARED_PLACE, &byte, 1));
	remote_memory_close(&memory);
	assert_int_equal(remote_memory_open(&memory, t.pid, calls), 0);
	assert_int_equal(remote_call_run(&thread, &nothing), -ESRCH);
	remote_memory_close(&memory);
	bounded_caller_free(calls);
	assert_int_equal(write(t.go[1], "b", 1), 1);
	assert_int_equal(end(&t), 0);
}

/* Entry point for the borrowed thread: executes a program that may have more rights. */
static int executed_go;

static void become_executed(void)
{
	char command[64];

	snprintf(command, sizeof(command), "read -r _ <&%d; exit 7", executed_go);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(1);
}

static void *pause_in_thread(void *argument)
{
	for (;;)
		syscall(SYS_pause);
	return argument;
}

static void pause_alone(struct target *t)
{
	executed_go = t->go[0];
	pause_in_thread(NULL);
}

static void pause_in_another(struct target *t)
{
	pthread_t thread;

	executed_go = t->go[0];
	pthread_create(&thread, NULL, pause_in_thread, NULL);
	pthread_join(thread, NULL);
}

static pid_t second_thread_of(pid_t pid)
{
	char path[64];
	pid_t second = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	while (!second) {
		DIR *tasks = opendir(path);
		struct dirent *entry;

		assert_non_null(tasks);
		while ((entry = readdir(tasks))) {
			pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

			if (tid > 0 && tid != pid)
				second = tid;
		}
		closedir(tasks);
	}
	return second;
}

/* Expects a call that executes another program to be let go at once, untouched. */
static void expect_let_go(void (*run)(struct target *t), bool is_first)
{
	struct bounded_caller *calls = bounded_caller_new(BOUNDED_CALL_RUN_MS);
	struct remote_memory memory;
	static struct remote_call thread;
	const struct borrowed_call call = {.function = (uint64_t)(uintptr_t)become_executed,
					   .data = "text",
					   .data_size = 5,
					   .timeout_ns = 10000000000};
	struct target t = start(run);
	pid_t tid = is_first ? t.pid : second_thread_of(t.pid);
	int status;

	wait_sleep(tid, SYS_pause);
	assert_int_equal(remote_memory_open(&memory, t.pid, calls), 0);
	memset(&thread, 0, sizeof(thread));
	thread.memory = &memory;
	assert_int_equal(remote_call_take(&thread, t.pid, tid), 0);
	assert_int_equal(remote_call_run(&thread, &call), -ESRCH);
	remote_memory_close(&memory);
	bounded_caller_free(calls);
	assert_int_equal(write(t.go[1], "go\n", 3), 3);
	status = end(&t);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void test_a_call_that_executes_another_program(void **state)
{
	(void)state;
	expect_let_go(pause_alone, true);
	expect_let_go(pause_in_another, false);
}

/* A process that is killed while one of its threads is held still ends. */
static void test_a_thread_that_is_killed_while_it_is_held(void **state)
{
	struct bounded_caller *calls = bounded_caller_new(BOUNDED_CALL_RUN_MS);
	struct remote_memory memory;
	static struct remote_call thread;
	int status;

	(void)state;
	for (int i = 0; i < 20; i++) {
		struct target t = start(pause_in_another);
		pid_t tid = second_thread_of(t.pid);

		wait_sleep(tid, SYS_pause);
		assert_int_equal(remote_memory_open(&memory, t.pid, calls), 0);
		memset(&thread, 0, sizeof(thread));
		thread.memory = &memory;
		assert_int_equal(remote_call_take(&thread, t.pid, tid), 0);
		assert_int_equal(kill(t.pid, SIGKILL), 0);
		remote_call_release(&thread);
		remote_memory_close(&memory);
		status = end(&t);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
	bounded_caller_free(calls);
}

static int ends[2]; /* both ends of a connection */

static void receive_all(struct target *t)
{
	char bytes[4];

	note(t, recv(ends[0], bytes, sizeof(bytes), MSG_WAITALL));
}

static void receive_message(struct target *t)
{
	char bytes[4];
	struct iovec v = {bytes, sizeof(bytes)};
	struct msghdr message = {.msg_iov = &v, .msg_iovlen = 1};

	note(t, recvmsg(ends[0], &message, MSG_WAITALL));
}

/* A stop would end these with the part that is there. */
static void test_calls_that_wait_for_all(void **state)
{
	static const struct {
		void (*run)(struct target *t);
		long number;
	} calls[] = {{receive_all, SYS_recvfrom}, {receive_message, SYS_recvmsg}};
	char message[400];

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct target t;

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
		assert_int_equal(write(ends[1], "ab", 2), 2);
		t = start(calls[i].run);
		wait_sleep(t.pid, calls[i].number);
		assert_int_equal(bring(&t, "begin", message), INJECT_NO_THREAD);
		assert_int_equal(write(ends[1], "cd", 2), 2);
		assert_int_equal(
			waitid(P_PID, (id_t)t.pid, &(siginfo_t){.si_pid = 0}, WEXITED | WNOWAIT),
			0);
		assert_int_equal(t.seen->result, 4);
		assert_int_equal(end(&t), 0);
		close(ends[0]);
		close(ends[1]);
	}
}

static void map_mark(struct target *t)
{
	int fd = memfd_create("bring-test", 0);

	if (ftruncate(fd, 4096) == 0 &&
	    mmap(NULL, 4096, PROT_NONE, MAP_SHARED, fd, 0) != MAP_FAILED)
		read_pipe(t);
}

/* Maps the library's file, as programs started with it do; the file is gone by then. */
static void map_file(struct target *t)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/libbring_test.so", folder);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (ftruncate(fd, 4096) == 0 &&
	    mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED && unlink(path) == 0)
		read_pipe(t);
}

static void test_active_marker(void **state)
{
	void (*const starts[])(struct target *) = {map_mark, map_file};
	char message[400];

	(void)state;
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		struct target t = start(starts[i]);

		wait_sleep(t.pid, SYS_read);
		assert_int_equal(bring(&t, "begin", message), INJECT_ALREADY);
		finish(&t, BY_BYTE);
		assert_int_equal(end(&t), 0);
	}
}

/* A copy that is there and does not begin is left alone: another one is loaded. */
static void test_copy_that_does_not_begin(void **state)
{
	struct target t = start(read_pipe);
	char byte;

	(void)state;
	wait_sleep(t.pid, SYS_read);
	bring_well(&t);
	begins_again = true;
	bring_well(&t);
	begins_again = false;
	/* the old one was asked, too */
	assert_int_equal(read(t.begun[0], &byte, 1), 1);
	finish(&t, BY_BYTE);
	assert_int_equal(end(&t), 0);
}

/* Moves into a mount namespace that hides the profiler's files. */
static void hide(struct target *t)
{
	char c = '0';

	if (unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	    mount("none", folder, "tmpfs", 0, NULL) == 0)
		c = '1';
	t->seen->error = c;
	note(t, read(t->go[0], &c, 1));
}

static void test_other_mounts(void **state)
{
	struct target t;

	(void)state;
	if (geteuid() != 0)
		skip();
	t = start(hide);
	wait_sleep(t.pid, SYS_read);
	if (t.seen->error == '1')
		bring_well(&t);
	finish(&t, BY_BYTE);
	assert_int_equal(end(&t), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_system_calls_go_on),
		cmocka_unit_test(test_time_that_is_left),
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_fault_in_the_library),
		cmocka_unit_test(test_entry_that_stays),
		cmocka_unit_test(test_killed_profiler),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_thread_with_limits),
		cmocka_unit_test(test_another_program_meanwhile),
		cmocka_unit_test(test_nothing_is_written_into_another_program),
		cmocka_unit_test(test_a_call_that_executes_another_program),
		cmocka_unit_test(test_a_thread_that_is_killed_while_it_is_held),
		cmocka_unit_test(test_calls_that_wait_for_all),
		cmocka_unit_test(test_active_marker),
		cmocka_unit_test(test_copy_that_does_not_begin),
		cmocka_unit_test(test_other_mounts),
	};

	return cmocka_run_group_tests(tests, build, remove_all);
}
