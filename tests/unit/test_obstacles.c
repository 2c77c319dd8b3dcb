/* SPDX-License-Identifier: MIT */
/* Obstacles to tracing that are read from real processes. */
#include "unit.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "profiler/run/obstacles.h"

struct bench {
	struct log log;
	struct collect *collect;
	struct obstacles *obstacles;
	struct capture captured;
	char folder[64], library[96], pipe[96];
};

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	FILE *file;

	if (!b)
		return -1;
	*state = b;
	b->log.level = LOG_VERBOSE;
	snprintf(b->folder, sizeof(b->folder), "/tmp/profile_unit.XXXXXX");
	if (!mkdtemp(b->folder))
		return -1;
	snprintf(b->library, sizeof(b->library), "%s/ours.so", b->folder);
	snprintf(b->pipe, sizeof(b->pipe), "%s/pipe", b->folder);
	file = fopen(b->library, "w");
	if (!file || fclose(file) != 0 || mkfifo(b->pipe, 0600) != 0)
		return -1;
	b->collect = collect_new(&(struct collect_options){.sample_ns = 1});
	b->obstacles = obstacles_new(b->collect, &b->log,
				     &(struct obstacles_options){.library = b->library,
								 .pipe = b->pipe,
								 .needed_glibc_minor = 34});
	return b->collect && b->obstacles ? 0 : -1;
}

static int end(void **state)
{
	struct bench *b = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", b->folder);
	obstacles_free(b->obstacles);
	collect_free(b->collect);
	free(b);
	return system(command);
}

/* Starts a process with this environment. `prepare` runs in the process before exec. */
static pid_t spawn(char *const *environment, void (*prepare)(void))
{
	int ends[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* ends even if a test fails */
		if (prepare)
			prepare();
		execle("/bin/sleep", "sleep", "1000", NULL, environment);
		_exit(1);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	close(ends[0]);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Maps a file into the process, and looks for obstacles. Captures the message. */
static struct process *map(struct bench *b, pid_t pid, const char *path)
{
	const struct process_event event = {
		.type = PROCESS_MAP, .pid = pid, .tid = pid, .mapping = {.path = path}};
	struct process *process = collect_find_process(b->collect, pid);

	assert_non_null(process);
	process->source = PROCESS_STARTED;
	assert_non_null(collect_process_event(b->collect, &event));
	obstacles_look(b->obstacles, 0); /* nothing is due; or they would be too many in turn */
	capture_begin(&b->captured);
	obstacles_watch(b->obstacles, &event, process);
	capture_end(&b->captured);
	return process;
}

static void expect_cause(struct bench *b, char *const *environment, void (*prepare)(void),
			 enum untraced_cause cause)
{
	pid_t pid = spawn(environment, prepare);
	struct process *process = map(b, pid, "/lib/libcudart.so");

	assert_false(process->gpu.has_obstacle);
	process = map(b, pid, "/lib/libcuda.so.1");
	assert_true(process->gpu.has_obstacle);
	assert_string_equal(untraced_cause_text(process->gpu.obstacle), untraced_cause_text(cause));
	assert_true(cause == UNTRACED_NOT_FOUND ||
		    strstr(b->captured.text, untraced_cause_text(cause)));
	assert_int_equal(process->gpu.opened, 0);
	end_child(pid);
}

static void what_the_environment_says(void **state)
{
	struct bench *b = *state;
	char ours[128], pipe[128], longer[144], hidden[144];

	snprintf(ours, sizeof(ours), "CUDA_INJECTION64_PATH=%s", b->library);
	snprintf(pipe, sizeof(pipe), "PROFILE_PIPE=%s", b->pipe);
	snprintf(longer, sizeof(longer), "%s2", ours);
	snprintf(hidden, sizeof(hidden), "B=%s", ours);
	expect_cause(b, (char *[]){"A=1", ours, pipe, NULL}, NULL, UNTRACED_NOT_FOUND);
	expect_cause(b, (char *[]){"A=1", pipe, NULL}, NULL, UNTRACED_NO_VARIABLE);
	expect_cause(b, (char *[]){"CUDA_INJECTION64_PATH=", pipe, NULL}, NULL,
		     UNTRACED_NO_VARIABLE);
	expect_cause(b, (char *[]){hidden, pipe, NULL}, NULL, UNTRACED_NO_VARIABLE);
	expect_cause(b, (char *[]){pipe, "CUDA_INJECTION64_PATH=/tool.so", NULL}, NULL,
		     UNTRACED_OTHER_LIBRARY);
	assert_non_null(strstr(b->captured.text, "CUDA_INJECTION64_PATH=/tool.so"));
	expect_cause(b, (char *[]){longer, pipe, NULL}, NULL, UNTRACED_OTHER_LIBRARY);
	expect_cause(b, (char *[]){ours, NULL}, NULL, UNTRACED_NO_PIPE_NAMED);
	expect_cause(b, (char *[]){NULL}, NULL, UNTRACED_NO_VARIABLE);
	/* getenv(3) finds the first one */
	expect_cause(
		b, (char *[]){ours, "CUDA_INJECTION64_PATH=/tool.so", pipe, "PROFILE_PIPE=", NULL},
		NULL, UNTRACED_NOT_FOUND);
	expect_cause(b, (char *[]){"CUDA_INJECTION64_PATH=/tool.so", ours, pipe, NULL}, NULL,
		     UNTRACED_OTHER_LIBRARY);
	/* an environment that the program has overwritten is ignored */
	expect_cause(b, (char *[]){"worker: idle", ours, pipe, NULL}, NULL, UNTRACED_NOT_KNOWN);
}

static void allow_long_environment(void)
{
	setrlimit(RLIMIT_STACK, &(const struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
}

/* The kernel takes 6 MiB at most, where the stack is not limited. */
static void an_environment_that_is_too_long(void **state)
{
	struct bench *b = *state;
	char ours[128], *environment[64] = {NULL};
	char *value = malloc(100000);
	struct rlimit limit;

	snprintf(ours, sizeof(ours), "CUDA_INJECTION64_PATH=%s", b->library);
	assert_int_equal(getrlimit(RLIMIT_STACK, &limit), 0);
	if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < 32u << 20 && geteuid() != 0) {
		free(value);
		print_message("[  SKIPPED ] the size of the stack is limited\n");
		skip();
	}
	assert_non_null(value);
	memset(value, 'x', 99999);
	memcpy(value, "A=", 2);
	value[99999] = '\0';
	for (int i = 0; i < 44; i++)
		environment[i] = value;
	environment[44] = ours;
	expect_cause(b, environment, allow_long_environment, UNTRACED_NOT_KNOWN);
	free(value);
}

static void what_its_files_say(void **state)
{
	struct bench *b = *state;
	char ours[128], pipe[128], kept[128];
	char *const environment[] = {ours, pipe, NULL};

	snprintf(ours, sizeof(ours), "CUDA_INJECTION64_PATH=%s", b->library);
	snprintf(pipe, sizeof(pipe), "PROFILE_PIPE=%s", b->pipe);
	assert_int_equal(unlink(b->pipe), 0);
	expect_cause(b, environment, NULL, UNTRACED_NO_PIPE);
	assert_int_equal(mkfifo(b->pipe, 0600), 0);          /* another one */
	snprintf(kept, sizeof(kept), "%s.kept", b->library); /* or its inode is used again */
	assert_int_equal(rename(b->library, kept), 0);
	expect_cause(b, environment, NULL, UNTRACED_OTHER_FILES);
	assert_int_equal(mkdir(b->library, 0700), 0);
	expect_cause(b, environment, NULL, UNTRACED_OTHER_FILES);
	assert_int_equal(rmdir(b->library), 0);
}

static void filter_calls(void)
{
	struct sock_filter allows[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	const struct sock_fprog program = {1, allows};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
		_exit(1);
}

static void a_filter_that_the_profiler_has_not(void **state)
{
	struct bench *b = *state;
	char ours[128], pipe[128];

	snprintf(ours, sizeof(ours), "CUDA_INJECTION64_PATH=%s", b->library);
	snprintf(pipe, sizeof(pipe), "PROFILE_PIPE=%s", b->pipe);
	expect_cause(b, (char *[]){ours, pipe, NULL}, filter_calls, UNTRACED_FILTERED);
}

/* A program is inspected once. An ended process is not inspected again. */
static void a_process_that_has_ended(void **state)
{
	struct bench *b = *state;
	pid_t pid = spawn((char *[]){"A=1", NULL}, NULL);
	struct process *process = map(b, pid, "/lib/libcuda.so.1");

	assert_int_equal(process->gpu.obstacle, UNTRACED_NO_VARIABLE);
	process->gpu.obstacle = UNTRACED_NOT_FOUND;
	map(b, pid, "/lib/libcuda.so.1");
	assert_int_equal(process->gpu.obstacle, UNTRACED_NOT_FOUND);
	obstacles_look(b->obstacles, 1);        /* from this time on */
	obstacles_look(b->obstacles, 50000000); /* too early */
	assert_int_equal(process->gpu.obstacle, UNTRACED_NOT_FOUND);
	obstacles_look(b->obstacles, 100000001);
	assert_int_equal(process->gpu.obstacle, UNTRACED_NO_VARIABLE);
	process->gpu.obstacle = UNTRACED_NOT_FOUND;
	obstacles_finish(b->obstacles);
	assert_int_equal(process->gpu.obstacle, UNTRACED_NO_VARIABLE);
	end_child(pid);
	process->gpu.obstacle = UNTRACED_NOT_FOUND;
	obstacles_finish(b->obstacles); /* the end is not known yet */
	assert_int_equal(process->gpu.obstacle, UNTRACED_NOT_FOUND);
	process->speech = PROCESS_SPEAKS;
	obstacles_finish(b->obstacles);
	assert_int_equal(process->gpu.obstacle, UNTRACED_NOT_FOUND);
}

/* In a long run, the user learns of each cause once, before the end. */
static void a_process_that_uses_the_gpu_for_long(void **state)
{
	struct bench *b = *state;
	pid_t pids[2];
	uint64_t now_ns = 1;
	uint32_t told = 0;

	b->log.level = LOG_NORMAL;
	for (int i = 0; i < 2; i++) {
		pids[i] = spawn((char *[]){"A=1", NULL}, NULL);
		map(b, pids[i], "/lib/libcuda.so.1")->gpu.opened = (uint32_t)i;
	}
	for (; now_ns < 20000000000u; now_ns += 100000000u) {
		const char *text;

		capture_begin(&b->captured);
		obstacles_look(b->obstacles, now_ns);
		text = capture_end(&b->captured);
		if (text[0]) {
			char expected[128];

			snprintf(expected, sizeof(expected),
				 "profile: process %d (?) uses the GPU and is not traced: no "
				 "CUDA_INJECTION64_PATH in the environment\n",
				 (int)pids[1]);
			assert_string_equal(text, expected);
			assert_true(now_ns > 3000000000u);
			told++;
			collect_find_process(b->collect, pids[0])->lacks_gpu_time = true;
		}
	}
	assert_int_equal(told, 1);
	end_child(pids[0]);
	end_child(pids[1]);
}

static void open_many(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		_exit(1);
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	for (int i = 0; i < 20000 && dup(1) >= 0; i++)
		;
	close_range(100, 120, 0); /* low numbers are for the program's files */
}

/* Others wait while they are looked at: so not all are in turn, but in the end. */
static void many_processes_with_many_descriptors(void **state)
{
	enum { PROCESSES = 20 };
	struct bench *b = *state;
	struct process *process;
	pid_t pids[PROCESSES];
	uint32_t logged = 0;

	for (int i = 0; i < PROCESSES; i++)
		pids[i] = spawn((char *[]){"A=1", NULL}, open_many);
	capture_begin(&b->captured);
	for (int i = 0; i < PROCESSES; i++) {
		const struct process_event event = {.type = PROCESS_MAP,
						    .pid = pids[i],
						    .tid = pids[i],
						    .mapping = {.path = "/lib/libcuda.so.1"}};

		collect_find_process(b->collect, pids[i])->source = PROCESS_STARTED;
		assert_non_null(collect_process_event(b->collect, &event));
		process = collect_find_process(b->collect, pids[i]);
		obstacles_watch(b->obstacles, &event, process);
		assert_true(process->gpu.has_obstacle);
		assert_true(i > 0 || process->gpu.obstacle == UNTRACED_NO_VARIABLE);
	}
	for (int i = 0; i < PROCESSES; i++)
		obstacles_look(b->obstacles, 1); /* one at least */
	for (const char *at = capture_end(&b->captured); (at = strchr(at, '\n')); at++)
		logged++;
	assert_int_equal(logged, PROCESSES);
	for (int i = 0; i < PROCESSES; i++) {
		process = collect_find_process(b->collect, pids[i]);
		assert_int_equal(process->gpu.obstacle, UNTRACED_NO_VARIABLE);
		end_child(pids[i]);
	}
}

static void a_process_that_is_gone(void **state)
{
	struct bench *b = *state;
	pid_t pid = spawn((char *[]){"A=1", NULL}, NULL);

	end_child(pid);
	assert_int_equal(map(b, pid, "/lib/libcuda.so.1")->gpu.obstacle, UNTRACED_NOT_KNOWN);
}

static void nothing_is_looked_for(void **state)
{
	struct bench *b = *state;
	const struct process_event event = {.type = PROCESS_MAP,
					    .mapping = {.path = "/lib/libcuda.so.1"}};

	obstacles_watch(NULL, &event, collect_find_process(b->collect, getpid()));
	obstacles_look(NULL, 1);
	obstacles_finish(NULL);
	obstacles_free(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_the_environment_says),
		TEST(an_environment_that_is_too_long),
		TEST(what_its_files_say),
		TEST(a_filter_that_the_profiler_has_not),
		TEST(a_process_that_has_ended),
		TEST(a_process_that_uses_the_gpu_for_long),
		TEST(a_process_that_is_gone),
		TEST(nothing_is_looked_for),
		TEST(many_processes_with_many_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
