/* SPDX-License-Identifier: MIT */
/*
 * Whole runs without a supervisor: each in a separate child, since a session gives up rights for
 * good. Needs root; programs that use CUDA need the stand-ins (FAKE_CUDA_DIR).
 */
#include "unit.h"
#include <dirent.h>
#include "profiler/base/exit_status.h"
#include "profiler/run/session.h"
#include "symbolize/util/monotonic.h"

/* Results of a run, in memory that the test shares. */
struct outcome {
	int status; /* result of session_open or session_run */
	int exit_status;
	struct ledger ledger; /* pointers are the child's */
	uint64_t start_ns, start_unix_ns, elapsed_ns, command_cpu_ns, sample_ns;
};

struct bench {
	char folder[64]; /* TMPDIR of the runs; commands are executed in it */
	struct inherited inherited;
	struct session_options options;
	struct outcome *outcome;
	struct capture captured;
	pid_t pid;   /* process of the run */
	int signals; /* the supervisor's end of its signals; -1: closed */
	const char *text;
};

#define COMMAND(...)              \
	(char *[])                \
	{                         \
		__VA_ARGS__, NULL \
	}
#define SHELL(script) COMMAND((char *)"/bin/sh", (char *)"-c", (char *)(uintptr_t)(script))

/* Waits until the test makes that file, or has failed. */
#define UNTIL_GO "until test -e go || ! test -d $TMPDIR; do sleep 0.01; done; "

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	*state = b;
	b->outcome = mmap(NULL, sizeof(*b->outcome), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	b->signals = -1;
	b->options.measure.samples_cpu = b->options.measure.traces_gpu = true;
	b->options.measure.frequency_hz = 50;
	snprintf(b->folder, sizeof(b->folder), "/tmp/profile_unit.XXXXXX");
	inherited_note(&b->inherited);
	return b->outcome != MAP_FAILED && mkdtemp(b->folder) ? 0 : -1;
}

static int end(void **state)
{
	struct bench *b = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", b->folder);
	munmap(b->outcome, sizeof(*b->outcome));
	free(b);
	return system(command);
}

/* ---- running ---- */

static void take_results(struct outcome *outcome, struct session *session)
{
	struct totals totals = session_totals(session);

	outcome->ledger = *totals.ledger;
	outcome->start_ns = totals.start_ns;
	outcome->start_unix_ns = totals.start_unix_ns;
	outcome->elapsed_ns = totals.elapsed_ns;
	outcome->command_cpu_ns = totals.command_cpu_ns;
	outcome->sample_ns = totals.sample_ns;
}

static void run_session(struct bench *b, int signals)
{
	struct supervisor_link link = {.signals = signals,
				       .reports = open("/dev/null", O_WRONLY | O_CLOEXEC)};
	struct log log = {.level = LOG_NORMAL};
	struct session *session;

	if (chdir(b->folder) != 0 || setenv("TMPDIR", b->folder, 1) != 0)
		_exit(1);
	session = session_new(&b->options, &b->inherited, &link, &log);
	b->outcome->status = session_open(session);
	if (!b->outcome->status)
		b->outcome->status = session_run(session, false, &b->outcome->exit_status);
	if (!b->outcome->status)
		take_results(b->outcome, session);
	session_free(session);
	_exit(0);
}

static void send_signal(const struct bench *b, int number)
{
	const struct supervisor_signal signal = {.number = number};

	assert_int_equal(write(b->signals, &signal, sizeof(signal)), sizeof(signal));
}

static void lose_supervisor(struct bench *b)
{
	close(b->signals);
	b->signals = -1;
}

/* Begins a run, with signals that were sent before it. */
static void start(struct bench *b, char **command, int early_signal)
{
	int ends[2];

	b->options.command = command;
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	b->signals = ends[1];
	if (early_signal)
		send_signal(b, early_signal);
	capture_begin(&b->captured);
	b->pid = fork();
	if (b->pid == 0) {
		close(ends[1]);
		run_session(b, ends[0]);
	}
	close(ends[0]);
}

static void finish(struct bench *b)
{
	int status;

	assert_int_equal(waitpid(b->pid, &status, 0), b->pid);
	b->text = capture_end(&b->captured);
	if (b->signals >= 0)
		lose_supervisor(b);
	if (status != 0)
		fail_msg("the run ended with %#x: %s", status, b->text);
}

static void run(struct bench *b, char **command)
{
	start(b, command, 0);
	finish(b);
}

/* Expects the command to have run, with this exit status. */
static void expect_exit(const struct bench *b, int status)
{
	if (b->outcome->status)
		fail_msg("the run failed with %d: %s", b->outcome->status, b->text);
	assert_int_equal(b->outcome->exit_status, status);
}

/* Expects the command not to have run, with this message. */
static void expect_failure(const struct bench *b, int status, const char *text)
{
	assert_int_equal(b->outcome->status, status);
	if (!strstr(b->text, text))
		fail_msg("'%s' does not say '%s'", b->text, text);
}

/* Returns the size of a file in bytes, or -1 if there is none. */
static off_t size_of(const struct bench *b, const char *name)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", b->folder, name);
	return stat(path, &st) == 0 ? st.st_size : -1;
}

static void make_file(const struct bench *b, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", b->folder, name);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

static void wait_for_file(const struct bench *b, const char *name)
{
	while (size_of(b, name) < 0)
		usleep(1000);
}

static uint32_t count_files(const struct bench *b)
{
	DIR *folder = opendir(b->folder);
	struct dirent *entry;
	uint32_t count = 0;

	assert_non_null(folder);
	while ((entry = readdir(folder)))
		count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(folder);
	return count;
}

/* Stores the path of a workload that uses the CUDA stand-ins; `name` as in "launches 100". */
static void use_stand_ins(char *path, size_t size, const char *name)
{
	const char *folder = getenv("FAKE_CUDA_DIR");

	if (!folder)
		SKIP("FAKE_CUDA_DIR is not set: the stand-ins have not been built");
	setenv("LD_LIBRARY_PATH", folder, 1);
	snprintf(path, size, "%s/../workloads/%s", folder, name);
}

/* ---- the command ---- */

static void the_status_of_the_command_is_passed_on(void **state)
{
	struct bench *b = *state;

	run(b, SHELL("exit 37"));
	expect_exit(b, 37);
	assert_string_equal(b->text, "");
	run(b, SHELL("kill -KILL $$"));
	expect_exit(b, 128 + SIGKILL);
}

static void commands_that_fail_to_run_are_explained(void **state)
{
	struct bench *b = *state;

	run(b, COMMAND((char *)"./nowhere"));
	expect_failure(b, EXIT_NOT_FOUND, "./nowhere");
	run(b, COMMAND((char *)"/etc/passwd"));
	expect_failure(b, EXIT_CANNOT_RUN, "/etc/passwd");
	assert_int_equal(count_files(b), 0);
}

/* The private folder exists while the command runs, and is removed afterwards. */
static void nothing_is_left_behind(void **state)
{
	struct bench *b = *state;

	run(b, SHELL("test -p $PROFILE_PIPE && test -r $CUDA_INJECTION64_PATH && "
		     "case $CUDA_INJECTION64_PATH in $TMPDIR/*) ;; *) exit 1 ;; esac"));
	expect_exit(b, 0);
	assert_int_equal(count_files(b), 0);
	b->options.measure.traces_gpu = false;
	run(b, SHELL("test -z \"$PROFILE_PIPE$CUDA_INJECTION64_PATH\""));
	expect_exit(b, 0);
}

static void replaced_variables_are_reported(void **state)
{
	struct bench *b = *state;

	setenv("CUDA_INJECTION64_PATH", "/other.so", 1);
	run(b, SHELL("test $CUDA_INJECTION64_PATH != /other.so"));
	unsetenv("CUDA_INJECTION64_PATH");
	expect_exit(b, 0);
	assert_non_null(strstr(b->text, "/other.so; it is replaced"));
}

static void settings_that_cannot_be(void **state)
{
	static const char *const libs[] = {"/etc/passwd"};
	struct bench *b = *state;

	b->options.record = "nowhere/run";
	run(b, SHELL("touch ran"));
	expect_failure(b, EXIT_PROFILER_FAILED, "nowhere/run.pipe");
	b->options.record = NULL;
	b->options.injection_lib = "nowhere.so";
	run(b, SHELL("touch ran"));
	expect_failure(b, EXIT_PROFILER_FAILED, "-injection-lib nowhere.so");
	b->options.injection_lib = NULL;
	b->options.measure.probes_launches = true;
	b->options.cuda_libs = libs;
	b->options.cuda_lib_count = 1;
	run(b, SHELL("touch ran"));
	expect_failure(b, EXIT_PROFILER_FAILED, "no CUDA launch function in it");
	assert_int_equal(count_files(b), 0);
}

/* ---- signals ---- */

static void signals_are_the_commands(void **state)
{
	struct bench *b = *state;

	start(b, SHELL("trap 'exit 5' USR1; touch ready; " UNTIL_GO), 0);
	wait_for_file(b, "ready");
	send_signal(b, SIGUSR1);
	finish(b);
	expect_exit(b, 5);
}

static void a_second_interrupt_kills(void **state)
{
	struct bench *b = *state;

	start(b, SHELL("trap 'touch first' INT; touch ready; " UNTIL_GO), 0);
	wait_for_file(b, "ready");
	send_signal(b, SIGINT);
	wait_for_file(b, "first");
	send_signal(b, SIGINT);
	finish(b);
	expect_exit(b, 128 + SIGKILL);
	assert_non_null(strstr(b->text, "interrupted again: killing the command"));
}

static void an_early_signal_cancels_the_run(void **state)
{
	struct bench *b = *state;

	start(b, SHELL("touch ran"), SIGTERM);
	finish(b);
	assert_int_equal(b->outcome->status, 128 + SIGTERM);
	start(b, SHELL("exit 6"), SIGUSR1); /* SIGUSR1 cancels nothing */
	finish(b);
	expect_exit(b, 6);
	assert_int_equal(count_files(b), 0);
}

/* Nobody is left to write a profile for. */
static void without_a_supervisor_it_ends(void **state)
{
	struct bench *b = *state;

	start(b, SHELL("touch ready; " UNTIL_GO "touch done"), 0);
	wait_for_file(b, "ready");
	lose_supervisor(b);
	finish(b);
	assert_int_equal(b->outcome->status, EXIT_PROFILER_FAILED);
	assert_string_equal(b->text, "");
	make_file(b, "go"); /* the command notices nothing */
	wait_for_file(b, "done");
}

/* ---- what is collected ---- */

static void cpu_time(void **state)
{
	struct bench *b = *state;
	uint64_t before_ns = monotonic_ns();
	time_t before = time(NULL);

	b->options.measure.frequency_hz = 1000;
	run(b, SHELL("i=0; while test $i -lt 300000; do i=$((i + 1)); done"));
	expect_exit(b, 0);
	assert_int_equal(b->outcome->sample_ns, 1000000);
	assert_true(b->outcome->ledger.cpu.samples > 0);
	assert_true(b->outcome->command_cpu_ns > 0);
	assert_true(b->outcome->elapsed_ns > 0);
	assert_true(b->outcome->start_ns >= before_ns && b->outcome->start_ns < monotonic_ns());
	assert_true(b->outcome->start_unix_ns / 1000000000 >= (uint64_t)before);
	assert_true(b->outcome->start_unix_ns / 1000000000 <= (uint64_t)time(NULL));
	assert_int_equal(b->outcome->ledger.cpu.after_end, 0);

	b->options.measure.samples_cpu = false;
	run(b, SHELL("i=0; while test $i -lt 300000; do i=$((i + 1)); done"));
	expect_exit(b, 0);
	assert_int_equal(b->outcome->ledger.cpu.samples, 0);
}

static void surviving_processes_are_counted(void **state)
{
	struct bench *b = *state;

	run(b, SHELL("for i in 1 2; do (" UNTIL_GO "touch done$i) & done; exit 3"));
	expect_exit(b, 3);
	/* each may be in a sleep of its own */
	assert_in_range(b->outcome->ledger.cpu.after_end, 2, 4);
	make_file(b, "go");
	wait_for_file(b, "done1");
	wait_for_file(b, "done2");
}

static void gpu_work_with_its_launches(void **state)
{
	struct bench *b = *state;
	const struct ledger *l = &b->outcome->ledger;
	char path[256];

	use_stand_ins(path, sizeof(path), "launches");
	b->options.record = "run";
	run(b, COMMAND(path, (char *)"200"));
	expect_exit(b, 0);
	assert_int_equal(l->gpu.kernels, 200);
	assert_int_equal(l->gpu.matched, 200);
	assert_int_equal(l->launches.kernels, 200);
	assert_int_equal(l->launches.by_probe, 0);
	assert_int_equal(l->pipe.processes, 1);
	assert_int_equal(l->pipe.without_goodbye, 0);
	assert_int_equal(l->pipe.malformed, 0);
	assert_true(l->gpu.sums > 0 && l->gpu.equal == l->gpu.sums);
	assert_true(size_of(b, "run.pipe") > 0 && size_of(b, "run.events") > 0);
	assert_int_equal(count_files(b), 2);
}

static void launch_stacks_by_probes(void **state)
{
	struct bench *b = *state;
	const struct ledger *l = &b->outcome->ledger;
	char path[256];

	use_stand_ins(path, sizeof(path), "launches");
	b->options.measure.probes_launches = true;
	b->options.measure.samples_cpu = false;
	run(b, COMMAND(path, (char *)"200"));
	expect_exit(b, 0);
	assert_int_equal(l->gpu.kernels, 200);
	assert_int_equal(l->gpu.matched, 200);
	assert_int_equal(l->launches.with_stack, 0);
	assert_int_equal(l->launches.by_probe, 200);
	assert_true(l->launches.probed_functions > 0);
}

/* Another profiler has CUPTI. */
static void calls_are_timed_for_lack_of_gpu_time(void **state)
{
	struct bench *b = *state;
	const struct ledger *l = &b->outcome->ledger;
	char path[256];

	use_stand_ins(path, sizeof(path), "launches");
	setenv("FAKE_CUDA_SUBSCRIBE_ERROR", "39", 1);
	run(b, COMMAND(path, (char *)"200"));
	unsetenv("FAKE_CUDA_SUBSCRIBE_ERROR");
	expect_exit(b, 0);
	assert_non_null(strstr(b->text, "another profiler"));
	assert_int_equal(l->gpu.kernels, 0);
	assert_int_equal(l->pipe.without_cupti, 1);
	assert_int_equal(l->calls.processes, 1);
	assert_true(l->calls.timed >= 200);
	assert_int_equal(l->calls.lost, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_status_of_the_command_is_passed_on),
		TEST(commands_that_fail_to_run_are_explained),
		TEST(nothing_is_left_behind),
		TEST(replaced_variables_are_reported),
		TEST(settings_that_cannot_be),
		TEST(signals_are_the_commands),
		TEST(a_second_interrupt_kills),
		TEST(an_early_signal_cancels_the_run),
		TEST(without_a_supervisor_it_ends),
		TEST(cpu_time),
		TEST(surviving_processes_are_counted),
		TEST(gpu_work_with_its_launches),
		TEST(launch_stacks_by_probes),
		TEST(calls_are_timed_for_lack_of_gpu_time),
	};

	if (geteuid() != 0 || getenv("UNDER_VALGRIND")) {
		print_message(
			"1..0 # SKIP needs root, and eBPF, of which valgrind knows too little\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
