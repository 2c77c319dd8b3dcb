/* SPDX-License-Identifier: MIT */
/* The command with its options, in children: exit status, output and messages. */
#include "unit.h"
#include "profiler/base/exit_status.h"
#include "profiler/commands/run.h"

struct bench {
	char folder[64]; /* the run's working directory, and its TMPDIR */
	struct inherited inherited;
	struct capture captured;
	const char *said;
};

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	*state = b;
	snprintf(b->folder, sizeof(b->folder), "/tmp/profile_unit.XXXXXX");
	inherited_note(&b->inherited);
	return mkdtemp(b->folder) ? 0 : -1;
}

static int end(void **state)
{
	struct bench *b = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", b->folder);
	free(b);
	return system(command);
}

/* Runs profile ARGUMENTS... with `output` as its stdout, as main() does. Returns the exit
 * status. */
static int profile_to(struct bench *b, int output, char **argv)
{
	int count = 0, status;
	pid_t pid;

	while (argv[count])
		count++;
	capture_begin(&b->captured);
	pid = fork();
	if (pid == 0) {
		struct options options;

		if (chdir(b->folder) != 0 || setenv("TMPDIR", b->folder, 1) != 0 ||
		    dup2(output, STDOUT_FILENO) < 0 ||
		    options_parse(count, argv, &options) != COMMAND_RUN)
			_exit(1);
		_exit(run(&options, &b->inherited));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	b->said = capture_end(&b->captured);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

#define PROFILE(b, ...) \
	profile_to(b, STDERR_FILENO, (char **)(const char *[]){"profile", __VA_ARGS__, NULL})

static void expect_said(const struct bench *b, const char *text)
{
	if (!strstr(b->said, text))
		fail_msg("'%s' does not say '%s'", b->said, text);
}

/* Returns the content of a file in the folder. */
static const char *read_file(const struct bench *b, const char *name)
{
	static char text[65536];
	char path[128];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", b->folder, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	assert_true(n >= 0);
	text[n] = '\0';
	return text;
}

static bool exists(const struct bench *b, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", b->folder, name);
	return access(path, F_OK) == 0;
}

/* Long enough for samples at 1000 Hz. */
#define BURN "i=0; while test $i -lt 300000; do i=$((i + 1)); done; "

static void profile_and_status(void **state)
{
	struct bench *b = *state;

	assert_int_equal(PROFILE(b, "-v", "-o", "out", "-cpu-only", "-F", "1000", "sh", "-c",
				 BURN "exit 37"),
			 37);
	expect_said(b, "Wrote ");
	assert_non_null(strchr(read_file(b, "out"), ';'));
	/* silence is kept */
	assert_int_equal(PROFILE(b, "-o", "out", "-q", "true"), 0);
	assert_string_equal(b->said, "");
}

static void units_are_as_requested(void **state)
{
	struct bench *b = *state;
	unsigned long samples = 0;
	char written[64];
	const char *text;

	assert_int_equal(PROFILE(b, "-v", "-o", "out", "-cpu-only", "-F", "1000", "sh", "-c", BURN),
			 0);
	text = strstr(b->said, "Samples: ");
	assert_non_null(text);
	assert_int_equal(sscanf(text, "Samples: %lu CPU", &samples), 1);
	snprintf(written, sizeof(written), "(%lu x 1 ms: %lu CPU", samples, samples);
	expect_said(b, written);
	assert_int_equal(PROFILE(b, "-v", "-o", "out", "-cpu-only", "-F", "1000", "--unit", "ns",
				 "sh", "-c", BURN),
			 0);
	expect_said(b, " ns: ");
	text = read_file(b, "out");
	assert_true(*text != '\0');
	for (const char *end = strchr(text, '\n'); end; end = strchr(end + 1, '\n'))
		assert_memory_equal(end - 6, "000000", 6); /* whole ticks, of 1 ms */
}

static void obstacles_to_an_output(void **state)
{
	struct bench *b = *state;

	assert_int_equal(PROFILE(b, "-o", "nowhere/out", "touch", "ran"), EXIT_PROFILER_FAILED);
	expect_said(b, "cannot write nowhere/out: ");
	expect_said(b, "choose another file with -o");
	assert_false(exists(b, "ran"));
	assert_int_equal(PROFILE(b, "-o", "/dev/full", "-cpu-only", "-F", "1000", "sh", "-c", BURN),
			 EXIT_PROFILER_FAILED);
	expect_said(b, "writing /dev/full: No space left on device");
}

/* No profile replaces an old one when the command did not run. */
static void a_command_that_does_not_run_leaves_no_profile(void **state)
{
	struct bench *b = *state;

	assert_int_equal(PROFILE(b, "-o", "out", "./nowhere"), EXIT_NOT_FOUND);
	expect_said(b, "./nowhere");
	assert_false(exists(b, "out"));
}

/* With a profile on stdout, nothing else is on stdout. Its reader may stop. */
static void a_profile_on_stdout(void **state)
{
	const char *arguments[] = {"profile", "-o", "-",  "-cpu-only",        "-F",
				   "1000",    "sh", "-c", "echo text; " BURN, NULL};
	struct bench *b = *state;
	char path[128];
	int output, ends[2];

	snprintf(path, sizeof(path), "%s/stdout", b->folder);
	output = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(profile_to(b, output, (char **)arguments), 0);
	close(output);
	assert_non_null(strchr(read_file(b, "stdout"), ';'));
	assert_null(strstr(read_file(b, "stdout"), "text"));
	expect_said(b, "text\n");
	expect_said(b, "standard output");

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	close(ends[0]);
	assert_int_equal(profile_to(b, ends[1], (char **)arguments), EXIT_SIGNAL_BASE + SIGPIPE);
	close(ends[1]);
}

static void losses_are_errors_if_requested(void **state)
{
	const char *stand_ins = getenv("FAKE_CUDA_DIR");
	struct bench *b = *state;
	char path[256];

	if (!stand_ins)
		SKIP("FAKE_CUDA_DIR is not set: the stand-ins have not been built");
	setenv("LD_LIBRARY_PATH", stand_ins, 1);
	snprintf(path, sizeof(path), "%s/../workloads/launches", stand_ins);
	assert_int_equal(PROFILE(b, "-v", "--strict", "-o", "out", path, "100"), 0);
	expect_said(b, "100 GPU kernels");
	setenv("FAKE_CUDA_DROP_EVERY", "10", 1);
	assert_int_equal(PROFILE(b, "--strict", "-o", "out", path, "100"), EXIT_NOT_EXACT);
	assert_int_equal(PROFILE(b, "-o", "out", path, "100"), 0);
	unsetenv("FAKE_CUDA_DROP_EVERY");
	expect_said(b, "10 dropped");
}

static void sudos_ids_must_be_numbers(void **state)
{
	struct bench *b = *state;

	setenv("SUDO_UID", "nobody", 1);
	assert_int_equal(PROFILE(b, "-o", "out", "touch", "ran"), EXIT_PROFILER_FAILED);
	unsetenv("SUDO_UID");
	expect_said(b, "SUDO_UID or SUDO_GID is not a number");
	assert_false(exists(b, "ran"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(profile_and_status),
		TEST(units_are_as_requested),
		TEST(obstacles_to_an_output),
		TEST(a_command_that_does_not_run_leaves_no_profile),
		TEST(a_profile_on_stdout),
		TEST(losses_are_errors_if_requested),
		TEST(sudos_ids_must_be_numbers),
	};

	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	if (geteuid() != 0) {
		print_message(
			"1..0 # SKIP needs root: the kernel gives eBPF programs to root only\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
