/* SPDX-License-Identifier: MIT */
/*
 * Whose time it is: lists of parts, groups in their order, names of this very process, its threads
 * and children, and launches with their threads.
 */
#include "unit.h"
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include "profiler/collect/by.h"
#include "profiler/collect/join.h"
#include "profiler/profile/profile.h"

/* A process started as another program's name: it only waits. */
#define WAITS_ENV "TEST_BY_WAITS"

struct bench {
	struct by by;
	struct stack_table *stacks;
	struct intern strings;
};

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	*state = b;
	b->stacks = stack_table_new();
	by_init(&b->by, b->stacks, &b->strings);
	return b->stacks ? 0 : -1;
}

static int end(void **state)
{
	struct bench *b = *state;

	by_release(&b->by);
	stack_table_free(b->stacks);
	intern_release(&b->strings);
	free(b);
	return 0;
}

static void order(struct bench *b, const char *text)
{
	assert_true(by_parse(text, &b->by.order));
}

/* The group of a place as "outermost;...;innermost". */
static const char *group(struct bench *b, struct by_place place)
{
	static char text[2048];
	uint32_t id = by_group(&b->by, &place), count;
	const struct frame *frames;
	size_t used = 0;

	text[0] = '\0';
	if (id == PROFILE_NO_GROUP)
		return "(none)";
	frames = stack_table_get(b->stacks, id, &count);
	while (count-- > 0) {
		assert_int_equal(frames[count].kind, FRAME_TEXT);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? ";" : "",
					 frames[count].text);
	}
	return text;
}

static const char *name(const char *text, uint32_t id)
{
	static char out[256];

	snprintf(out, sizeof(out), "%s %u", text, id);
	return out;
}

static uint32_t own_tid(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

/* ---- lists ---- */

static void good_lists(void **state)
{
	static const char *const words[] = {"process", "thread", "device", "context", "stream"};
	struct by_order o;
	uint32_t lists = 0;

	(void)state;
	for (uint8_t i = 0; i < BY_PARTS; i++) {
		assert_true(by_parse(words[i], &o));
		assert_int_equal(o.count, 1);
		assert_int_equal(o.parts[0], i);
	}
	/* all orders of all five */
	for (uint32_t n = 0; n < 5 * 5 * 5 * 5 * 5; n++) {
		uint32_t at[5] = {n % 5, n / 5 % 5, n / 25 % 5, n / 125 % 5, n / 625};
		uint32_t seen = 0;
		char text[64];

		for (int i = 0; i < 5; i++)
			seen |= 1u << at[i];
		snprintf(text, sizeof(text), "%s,%s,%s,%s,%s", words[at[0]], words[at[1]],
			 words[at[2]], words[at[3]], words[at[4]]);
		assert_int_equal(by_parse(text, &o), seen == 0x1f);
		for (int i = 0; seen == 0x1f && i < 5; i++)
			assert_int_equal(o.parts[i], at[i]);
		lists += seen == 0x1f;
	}
	assert_int_equal(lists, 120);
}

static void bad_lists(void **state)
{
	static const char *const bad[] = {
		"",
		",",
		"process,",
		",process",
		"process,,thread",
		"process,process",
		"process,thread,process",
		"proc",
		"processes",
		"Process",
		" process",
		"process thread",
		"process;thread",
		"process,thread,device,context,stream,process",
		"process,thread,device,context,stream,",
		"stack",
	};
	struct by_order o;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (by_parse(bad[i], &o))
			fail_msg("'%s' was taken", bad[i]);
}

/* ---- groups ---- */

static void no_groups_unless_asked_for(void **state)
{
	struct bench *b = *state;
	uint32_t tid;

	assert_string_equal(group(b, (struct by_place){.pid = 1, .tid = 1, .is_gpu = true}),
			    "(none)");
	assert_int_equal(by_launch(&b->by, 17, 1, 2), 17);
	assert_int_equal(by_launch_stack(&b->by, 17, &tid), 17);
	assert_int_equal(tid, 0);
	by_process(&b->by, (uint32_t)getpid());
	assert_int_equal(b->by.name_count, 0);
}

static void gpu_work_has_all_parts(void **state)
{
	struct bench *b = *state;
	struct by_place place = {
		.is_gpu = true, .pid = 4194305, .device = 3, .context = 2, .stream = 1};

	order(b, "device,context,stream");
	assert_string_equal(group(b, place), "GPU 3;context 2;stream 1");
}

/* Every part at every place, one place in each bench: groups are kept. */
static void in_the_order_that_is_asked_for(void **state)
{
	static const char *const words[] = {"process", "thread", "device", "context", "stream"};
	static const char *const frames[] = {"[process 4194305]", "[thread 4194306]", "GPU 3",
					     "context 2", "stream 1"};
	static const struct by_place place = {
		.pid = 4194305,
		.tid = 4194306,
		.is_gpu = true,
		.device = 3,
		.context = 2,
		.stream = 1,
	};

	(void)state;
	for (int shift = 0; shift < 5; shift++) {
		char parts[128] = "", want[128] = "";
		void *bench = NULL;

		for (int i = 0; i < 5; i++) {
			int at = (i * 2 + shift) % 5;

			snprintf(parts + strlen(parts), sizeof(parts) - strlen(parts), "%s%s",
				 i ? "," : "", words[at]);
			snprintf(want + strlen(want), sizeof(want) - strlen(want), "%s%s",
				 i ? ";" : "", frames[at]);
		}
		assert_int_equal(begin(&bench), 0);
		order(bench, parts);
		assert_string_equal(group(bench, place), want);
		end(&bench);
	}
}

static void cpu_samples_have_process_and_thread(void **state)
{
	struct bench *b = *state;
	struct by_place place = {.pid = 4194305, .tid = 4194306, .device = 5, .stream = 6};

	order(b, "device,thread,stream,process,context");
	assert_string_equal(group(b, place), "[thread 4194306];[process 4194305]");
	place.is_gpu = true;
	assert_string_equal(group(b, place),
			    "GPU 5;[thread 4194306];stream 6;[process 4194305];context 0");
	place.tid = 0; /* no launch was found */
	assert_string_equal(group(b, place), "GPU 5;stream 6;[process 4194305];context 0");
}

static void a_device_is_its_label(void **state)
{
	char label[20] = "GPU 0", other[20] = "GPU 0";
	struct bench *b = *state;
	struct by_place place = {.is_gpu = true, .pid = 1, .device_label = label};
	uint32_t first;

	order(b, "device,stream");
	first = by_group(&b->by, &place);
	assert_string_equal(group(b, place), "GPU 0;stream 0");
	/* told later: the same group has another name */
	memcpy(label, "GPU 0 MIG 3/0", sizeof("GPU 0 MIG 3/0"));
	assert_string_equal(group(b, place), "GPU 0 MIG 3/0;stream 0");
	assert_int_equal(by_group(&b->by, &place), first);
	/* another process's device of the same number */
	place.device_label = other;
	assert_int_not_equal(by_group(&b->by, &place), first);
	assert_string_equal(group(b, place), "GPU 0;stream 0");
	/* where devices are not wanted they make no groups */
	order(b, "stream");
	first = by_group(&b->by, &place);
	place.device_label = label;
	assert_int_equal(by_group(&b->by, &place), first);
}

static void samples_have_no_device(void **state)
{
	struct bench *b = *state;

	order(b, "device");
	assert_string_equal(group(b, (struct by_place){.pid = 1, .tid = 1}), "(none)");
	assert_string_equal(group(b, (struct by_place){.is_gpu = true, .pid = 1}), "GPU 0");
}

/* Places that differ in what is not wanted are one group; others are not. */
static void groups_are_kept(void **state)
{
	struct bench *b = *state;
	struct by_place place = {.is_gpu = true, .pid = 1};
	uint32_t first;

	order(b, "device,stream");
	first = by_group(&b->by, &place);
	place.pid = place.tid = place.context = 9;
	assert_int_equal(by_group(&b->by, &place), first);
	place.stream = 1;
	assert_int_not_equal(by_group(&b->by, &place), first);
	place.stream = 0;
	place.device = 1;
	assert_int_not_equal(by_group(&b->by, &place), first);
	assert_int_equal(b->by.group_count, 3);
	for (uint32_t i = 0; i < 10000; i++) {
		place.stream = i % 500;
		by_group(&b->by, &place);
	}
	assert_int_equal(b->by.group_count, 502);
}

/* ---- names ---- */

static void this_process_and_thread(void **state)
{
	struct bench *b = *state;
	struct by_place place = {.pid = (uint32_t)getpid(), .tid = own_tid()};

	char want[64];

	order(b, "process,thread");
	assert_int_equal(prctl(PR_SET_NAME, "test_by_main"), 0);
	snprintf(want, sizeof(want), "test_by_main %u;test_by_main %u", place.pid, place.tid);
	assert_string_equal(group(b, place), want);
}

static void *thread_main(void *arg)
{
	struct bench *b = arg;
	char want[64];

	prctl(PR_SET_NAME, "pool;1\x1b\x7f\t*\n;");
	snprintf(want, sizeof(want), "pool_1___* %u", own_tid());
	if (strcmp(group(b, (struct by_place){.pid = (uint32_t)getpid(), .tid = own_tid()}), want))
		return arg;
	return NULL;
}

static void names_break_no_line_and_no_frame(void **state)
{
	pthread_t thread;
	void *wrong;

	order(*state, "thread");
	assert_int_equal(pthread_create(&thread, NULL, thread_main, *state), 0);
	assert_int_equal(pthread_join(thread, &wrong), 0);
	assert_null(wrong);
}

static void names_are_those_of_the_first_look(void **state)
{
	struct bench *b = *state;
	uint32_t pid = (uint32_t)getpid();
	struct by_place place = {.pid = pid, .tid = pid, .is_gpu = true};

	order(b, "process,stream");
	prctl(PR_SET_NAME, "early");
	by_process(&b->by, pid);
	prctl(PR_SET_NAME, "late");
	for (place.stream = 1; place.stream < 100; place.stream++) {
		char want[64];

		snprintf(want, sizeof(want), "early %u;stream %u", pid, place.stream);
		assert_string_equal(group(b, place), want);
	}
	assert_int_equal(b->by.name_count, 1);
}

static void what_does_not_exist_has_its_number(void **state)
{
	struct bench *b = *state;
	uint32_t pid = (uint32_t)getpid();
	char want[64];

	order(b, "process,thread");
	assert_string_equal(group(b, (struct by_place){.pid = 4194305, .tid = 4194305}),
			    "[process 4194305];[thread 4194305]");
	assert_string_equal(group(b, (struct by_place){.pid = UINT32_MAX, .tid = UINT32_MAX}),
			    "[process 4294967295];[thread 4294967295]");
	/* a thread of another process */
	prctl(PR_SET_NAME, "here");
	snprintf(want, sizeof(want), "here %u;[thread 1]", pid);
	assert_string_equal(group(b, (struct by_place){.pid = pid, .tid = 1}), want);
	assert_string_equal(group(b, (struct by_place){.is_gpu = true}), "(none)");
}

/* This program again, under another command line: it says that it is there, and waits. */
static pid_t start(const char *const *argv)
{
	int pipes[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(pipes[1], STDOUT_FILENO);
		setenv(WAITS_ENV, "1", 1);
		execv("/proc/self/exe", (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	close(pipes[1]);
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	close(pipes[0]);
	return pid;
}

static void expect_name(struct bench *b, const char *want, const char *const *argv)
{
	pid_t pid = start(argv);
	const char *got = group(b, (struct by_place){.pid = (uint32_t)pid});
	bool same = strcmp(got, name(want, (uint32_t)pid)) == 0;

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (!same)
		fail_msg("%s: got '%s', wanted '%s'", argv[1] ? argv[1] : argv[0], got, want);
}

#define NAME(b, want, ...) expect_name(b, want, (const char *const[]){__VA_ARGS__, NULL})

static void an_interpreter_is_its_script(void **state)
{
	struct bench *b = *state;

	if (getenv("UNDER_VALGRIND"))
		SKIP("valgrind runs no program under another's name");
	order(b, "process");
	NAME(b, "train.py", "python3", "train.py");
	NAME(b, "train.py", "/usr/bin/python3.12", "-u", "/home/a/train.py", "--lr", "1");
	NAME(b, "t_r_.py", "python", "a;b/t;r\n.py");
	NAME(b, "train.py", "python3", "-W", "ignore", "-X", "dev", "-O", "train.py");
	/* no script: the name of the program */
	NAME(b, "exe", "python3", "-c", "print(1)");
	NAME(b, "exe", "python3", "-u", "-m", "module", "x.py");
	NAME(b, "exe", "python3");
	NAME(b, "exe", "python3", "-W");
	NAME(b, "exe", "python3", "");
	NAME(b, "exe", "bash", "train.sh");
}

static void a_long_name_is_cut(void **state)
{
	struct bench *b = *state;
	char script[5000], want[201];

	if (getenv("UNDER_VALGRIND"))
		SKIP("valgrind runs no program under another's name");
	order(b, "process");
	memset(script, 'x', sizeof(script) - 1);
	script[sizeof(script) - 1] = '\0';
	memset(want, 'x', 200);
	want[200] = '\0';
	NAME(b, want, "python3", script);
}

/* ---- launches ---- */

static void launches_carry_their_thread(void **state)
{
	struct bench *b = *state;
	uint32_t tid, one, two;

	order(b, "process,thread");
	one = by_launch(&b->by, 500, 1, 11);
	two = by_launch(&b->by, 500, 1, 12);
	assert_int_not_equal(one, two);
	assert_int_equal(by_launch(&b->by, 500, 1, 11), one);
	assert_int_equal(by_launch_stack(&b->by, one, &tid), 500);
	assert_int_equal(tid, 11);
	assert_int_equal(by_launch_stack(&b->by, two, &tid), 500);
	assert_int_equal(tid, 12);
	/* what is no launch stays what it is */
	assert_int_equal(by_launch(&b->by, STACK_NONE, 1, 11), STACK_NONE);
	assert_int_equal(by_launch_stack(&b->by, STACK_NONE, &tid), STACK_NONE);
	assert_int_equal(tid, 0);
	assert_int_equal(by_launch_stack(&b->by, PROFILE_STACK_ROOT, &tid), PROFILE_STACK_ROOT);
	assert_int_equal(tid, 0);
}

static void launches_are_stacks_where_threads_are_not_wanted(void **state)
{
	struct bench *b = *state;
	uint32_t tid;

	order(b, "process,stream");
	assert_int_equal(by_launch(&b->by, 500, 1, 11), 500);
	assert_int_equal(by_launch_stack(&b->by, 500, &tid), 500);
	assert_int_equal(tid, 0);
}

static void random_launches(void **state)
{
	struct bench *b = *state;
	struct prng prng = prng_round(0);
	uint32_t ids[50][40];

	order(b, "thread");
	memset(ids, 0xff, sizeof(ids));
	for (int i = 0; i < 20000; i++) {
		uint32_t stack = (uint32_t)prng_below(&prng, 50);
		uint32_t thread = (uint32_t)prng_below(&prng, 40), tid;
		uint32_t id = by_launch(&b->by, stack, 4194305, 4194306 + thread);

		EXPECT(&prng, ids[stack][thread] == UINT32_MAX || ids[stack][thread] == id);
		ids[stack][thread] = id;
		EXPECT(&prng, by_launch_stack(&b->by, id, &tid) == stack);
		EXPECT(&prng, tid == 4194306 + thread);
	}
	assert_int_equal(b->by.launch_count, 50 * 40);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_lists),
		cmocka_unit_test(bad_lists),
		TEST(no_groups_unless_asked_for),
		TEST(gpu_work_has_all_parts),
		cmocka_unit_test(in_the_order_that_is_asked_for),
		TEST(cpu_samples_have_process_and_thread),
		TEST(a_device_is_its_label),
		TEST(samples_have_no_device),
		TEST(groups_are_kept),
		TEST(this_process_and_thread),
		TEST(names_break_no_line_and_no_frame),
		TEST(names_are_those_of_the_first_look),
		TEST(what_does_not_exist_has_its_number),
		TEST(an_interpreter_is_its_script),
		TEST(a_long_name_is_cut),
		TEST(launches_carry_their_thread),
		TEST(launches_are_stacks_where_threads_are_not_wanted),
		TEST(random_launches),
	};

	if (getenv(WAITS_ENV)) {
		if (write(STDOUT_FILENO, "!", 1) == 1)
			pause();
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
