// SPDX-License-Identifier: MIT
#include "unit.h"

#include <sys/prctl.h>
#include "profiler/attach/attach.h"
#include "symbolize/util/bounded_call.h"
#include "symbolize/symbolizer.h"

#define PROCESSES 64

/* Records what attach does, in place of a session. */
static struct world {
	pid_t followed[PROCESSES], added[PROCESSES], forgotten[PROCESSES];
	uint32_t followed_count, added_count, forgotten_count;
	pid_t refused;       /* a process that is not ours */
	pid_t dies;          /* process that ends when it is followed */
	pid_t forks;         /* process that forks when it is followed: `unseen` starts then */
	pid_t born_of, born; /* a child that appears in /proc while we look */
	bool kernel_knows_children; /* the kernel has reported the child */
} world;

static struct symbolizer *symbolizer;
static pid_t started[PROCESSES];
static uint32_t started_count;

static bool is_in(const pid_t *list, uint32_t count, pid_t pid)
{
	for (uint32_t i = 0; i < count; i++)
		if (list[i] == pid)
			return true;
	return false;
}

/* Runs a process that sleeps, after starting another one, which starts a third one, and so on. */
static void run_chain(uint32_t length, int report)
{
	pid_t self;

	do {
		self = getpid();
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (write(report, &self, sizeof(self)) != sizeof(self))
			_exit(1);
	} while (--length > 0 && fork() == 0);
	for (;;)
		pause();
}

static pid_t start(uint32_t length)
{
	int report[2];
	pid_t pid, first;

	assert_int_equal(pipe(report), 0);
	pid = fork();
	if (pid == 0)
		run_chain(length, report[1]);
	first = pid;
	for (uint32_t i = 0; i < length; i++) {
		assert_int_equal(read(report[0], &pid, sizeof(pid)), sizeof(pid));
		started[started_count++] = pid;
	}
	close(report[0]);
	close(report[1]);
	return first;
}

static int may_follow(void *context, pid_t pid)
{
	(void)context;
	return pid == world.refused ? -EACCES : 0;
}

static int follow(void *context, pid_t pid)
{
	(void)context;
	world.followed[world.followed_count++] = pid;
	if (pid == world.dies) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	/* the process starts another one just when attach follows it */
	if (pid == world.forks) {
		world.forks = 0;
		world.born = start(1);
	}
	return 0;
}

static void forget(void *context, pid_t pid)
{
	(void)context;
	world.forgotten[world.forgotten_count++] = pid;
}

static void catch_up(void *context)
{
	(void)context;
}

static bool knows(void *context, pid_t pid)
{
	(void)context;
	return is_in(world.added, world.added_count, pid) ||
	       (world.kernel_knows_children && pid == world.born);
}

static int add(void *context, const struct scanned_process *process)
{
	(void)context;
	world.added[world.added_count++] = process->pid;
	return 0;
}

static struct attach_steps steps = {.may_follow = may_follow,
				    .follow = follow,
				    .forget = forget,
				    .catch_up = catch_up,
				    .knows = knows,
				    .add = add};
static struct log quiet = {.level = LOG_ERRORS};

static struct attachment *attach_to(const struct attach_request *request)
{
	return attachment_new(request, &steps, symbolizer_calls(symbolizer), &quiet);
}

static int set_up(void **state)
{
	(void)state;
	world = (struct world){0};
	steps.own[0] = steps.own[1] = 0;
	started_count = 0;
	symbolizer = symbolizer_new();
	return symbolizer ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < started_count; i++)
		kill(started[i], SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		;
	symbolizer_free(symbolizer);
	return 0;
}

static void a_process_and_its_descendants(void **state)
{
	struct attach_request request = {.pid_count = 1};
	struct attachment *a;
	pid_t first = start(5), other = start(1);

	(void)state;
	request.pids[0] = (uint32_t)first;
	a = attach_to(&request);
	assert_non_null(a);
	assert_int_equal(world.followed_count, 0);
	assert_int_equal(attachment_follow(a), 0);
	assert_int_equal(attachment_count(a), 5);
	for (int i = 0; i < 5; i++)
		assert_true(is_in(world.added, world.added_count, started[i]));
	assert_false(is_in(world.followed, world.followed_count, other));
	/* a second call finds nothing new */
	assert_int_equal(attachment_follow(a), 0);
	assert_int_equal(attachment_count(a), 5);
	assert_int_equal(world.followed_count, 5);
	attachment_free(a);
}

/* A process that both requests name is added once. */
static void names_and_pids_together(void **state)
{
	struct attach_request request = {.pid_count = 2, .name = "^test_attach$"};
	struct attachment *a;
	pid_t first = start(1), second = start(2), own = start(2);

	(void)state;
	request.pids[0] = (uint32_t)first;
	request.pids[1] = (uint32_t)second;
	steps.own[0] = own;
	a = attach_to(&request);
	assert_non_null(a);
	assert_int_equal(attachment_follow(a), 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_true(is_in(world.added, world.added_count, started[i]));
	/* the profiler, and what it has started */
	assert_false(is_in(world.followed, world.followed_count, own));
	assert_false(is_in(world.followed, world.followed_count, started[4]));
	attachment_free(a);
}

static void one_that_ends_as_it_is_followed(void **state)
{
	struct attach_request request = {.pid_count = 2};
	struct attachment *a;
	pid_t first = start(1), second = start(1);

	(void)state;
	request.pids[0] = (uint32_t)first;
	request.pids[1] = (uint32_t)second;
	world.dies = second;
	a = attach_to(&request);
	assert_non_null(a);
	assert_int_equal(attachment_follow(a), 0);
	assert_int_equal(attachment_count(a), 1);
	assert_int_equal(attachment_first(a), first);
	assert_true(is_in(world.forgotten, world.forgotten_count, second));
	attachment_free(a);
}

static void one_that_starts_as_another_is_followed(void **state)
{
	struct attach_request request = {.pid_count = 1, .name = "^test_attach$"};
	struct attachment *a;
	pid_t first = start(1);

	(void)state;
	request.pids[0] = (uint32_t)first;
	for (int known = 0; known < 2; known++) {
		uint32_t added = world.added_count;

		world.kernel_knows_children = known;
		world.forks = first;
		a = attach_to(&request);
		assert_non_null(a);
		assert_int_equal(attachment_follow(a), 0);
		assert_true(known || is_in(world.followed, world.followed_count, world.born));
		/* a child that the kernel reports is not added or looked for again */
		assert_int_equal(is_in(world.added + added, world.added_count - added, world.born),
				 !known);
		attachment_free(a);
	}
}

static void others_are_left_out(void **state)
{
	struct attach_request request = {.pid_count = 1};
	struct attachment *a;
	pid_t first = start(3);

	(void)state;
	request.pids[0] = (uint32_t)first;
	world.refused = started[1];
	a = attach_to(&request);
	assert_non_null(a);
	assert_int_equal(attachment_follow(a), 0);
	assert_false(is_in(world.followed, world.followed_count, started[1]));
	/* the child is ours again */
	assert_true(is_in(world.added, world.added_count, started[2]));
	attachment_free(a);
	/* a process named by its pid is reported */
	world.refused = first;
	assert_null(attach_to(&request));
}

/* The message names sudo and --as-root only if profile does not run as root. */
static void who_may_look_is_told(void **state)
{
	struct attach_request request = {.pid_count = 1};
	bool is_root = geteuid() == 0;
	static struct capture c;
	struct attachment *a;
	pid_t first = start(2);

	(void)state;
	request.pids[0] = (uint32_t)first;
	world.refused = first;
	capture_begin(&c);
	assert_null(attach_to(&request));
	capture_end(&c);
	assert_non_null(strstr(c.text, is_root ? "cannot be inspected, even by root: "
					       : "under sudo, use --as-root"));
	assert_int_equal(strstr(c.text, "sudo") == NULL, is_root);
	world.refused = started[1];
	quiet.level = LOG_NORMAL;
	capture_begin(&c);
	a = attach_to(&request);
	assert_int_equal(attachment_follow(a), 0);
	capture_end(&c);
	quiet.level = LOG_ERRORS;
	attachment_free(a);
	assert_string_equal(
		c.text, is_root ? "profile: 1 process is left out: even root cannot inspect it\n"
				: "profile: 1 process is left out: this user cannot inspect it; "
				  "under sudo, use --as-root\n");
}

static void all_have_ended(void **state)
{
	struct attach_request request = {.pid_count = 1};
	struct attachment *a;
	pid_t first = start(1);

	(void)state;
	request.pids[0] = (uint32_t)first;
	a = attach_to(&request);
	assert_non_null(a);
	assert_false(attachment_has_ended(a));
	kill(first, SIGKILL);
	waitid(P_PID, (id_t)first, &(siginfo_t){0}, WEXITED | WNOWAIT);
	assert_true(attachment_has_ended(a)); /* nobody has waited for it */
	waitpid(first, NULL, 0);
	assert_true(attachment_has_ended(a));
	assert_int_equal(attachment_follow(a), -ESRCH);
	attachment_free(a);
	assert_null(attach_to(&request));
}

static void requests_that_name_nothing(void **state)
{
	(void)state;
	steps.own[0] = getpid();
	steps.own[1] = getppid();
	assert_null(attach_to(&(struct attach_request){.name = "^no such process here$"}));
	assert_null(attach_to(&(struct attach_request){.cgroup = "/no/such/group"}));
	assert_null(attach_to(&(struct attach_request){.cgroup = "/tmp"}));
	assert_null(
		attach_to(&(struct attach_request){.pids = {(uint32_t)getpid()}, .pid_count = 1}));
	assert_null(
		attach_to(&(struct attach_request){.pids = {(uint32_t)getppid()}, .pid_count = 1}));
	assert_null(attach_to(&(struct attach_request){.pids = {2147483647}, .pid_count = 1}));
}

static void texts(void **state)
{
	static const struct {
		struct attach_request request;
		const char *text;
	} cases[] = {
		{{.pids = {12}, .pid_count = 1}, "process 12"},
		{{.pids = {12, 13}, .pid_count = 2}, "processes 12, 13"},
		{{.pids = {1, 2, 3, 4, 5, 6, 7, 8, 9}, .pid_count = 9},
		 "processes 1, 2, 3, 4, 5, 6, 7, 8, ..."},
		{{.name = "a|b"}, "processes named 'a|b'"},
		{{.cgroup = "/x"}, "cgroup /x"},
		{{.pids = {12}, .pid_count = 1, .name = "a", .cgroup = "/x"},
		 "process 12, processes named 'a', cgroup /x"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = attach_text(&cases[i].request);

		assert_string_equal(text, cases[i].text);
		free(text);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(a_process_and_its_descendants),
					   TEST(names_and_pids_together),
					   TEST(one_that_ends_as_it_is_followed),
					   TEST(one_that_starts_as_another_is_followed),
					   TEST(others_are_left_out),
					   TEST(who_may_look_is_told),
					   TEST(all_have_ended),
					   TEST(requests_that_name_nothing),
					   TEST(texts)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
