/* SPDX-License-Identifier: MIT */
/* Time that the kernel charged beyond the samples, by program; sums; and differences that may be
 * chance. */
#include "unit.h"
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include "failing_memory.h"
#include "profiler/cpu/cpu_time.h"

#define MS UINT64_C(1000000)
#define S (1000 * MS)
#define SAMPLE (20 * MS)

static const char shell[] = "sh", tool[] = "tool";

struct bench {
	struct cpu_time time;
	struct processes processes;
	pid_t next_pid;
};

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	*state = b;
	if (b)
		b->next_pid = 1000;
	return b ? 0 : -1;
}

static int end(void **state)
{
	struct bench *b = *state;

	cpu_time_release(&b->time);
	processes_release(&b->processes);
	free(b);
	return 0;
}

static struct process *start(struct bench *b, const char *name)
{
	struct process *p = processes_start(&b->processes, b->next_pid++, S, true);

	assert_non_null(p);
	p->comm = name;
	return p;
}

static uint64_t finish(struct bench *b, uint64_t waited_ns)
{
	struct process *p;

	while ((p = processes_take_expired(&b->processes, UINT64_MAX / 2))) {
		cpu_time_end_process(&b->time, p);
		process_free(p);
	}
	while ((p = processes_take_any(&b->processes))) {
		cpu_time_end_process(&b->time, p);
		process_free(p);
	}
	return cpu_time_finish(&b->time, waited_ns, 0, SAMPLE);
}

static const struct program_time *find(const struct bench *b, const char *name)
{
	for (uint32_t i = 0; i < b->time.programs.count; i++)
		if (b->time.programs.list[i].name == name)
			return &b->time.programs.list[i];
	return NULL;
}

static void what_lacks_stands_under_its_program(void **state)
{
	struct bench *b = *state;
	struct process *one = start(b, shell), *two = start(b, tool), *three = start(b, tool);

	cpu_time_sampled(&b->time, one, 10 * S);
	cpu_time_charge(&b->time, one, CPU_TIME_END, 10 * S, false);
	cpu_time_sampled(&b->time, two, S);
	cpu_time_charge(&b->time, two, CPU_TIME_END, 3 * S, false);
	cpu_time_charge(&b->time, three, CPU_TIME_END, 4 * S, false);
	assert_int_equal(finish(b, 0), 6 * S);
	assert_int_equal(b->time.charged_ns, 17 * S);
	assert_int_equal(find(b, shell)->rest_ns, 0);
	assert_int_equal(find(b, shell)->process, 1);
	assert_int_equal(find(b, tool)->rest_ns, 6 * S);
	assert_int_equal(find(b, tool)->process, 0); /* two */
}

/* A program that has more samples than time lets others have less: the sum holds, to the ns. */
static void samples_and_rest_add_up(void **state)
{
	static const char names[40][8];

	for (uint64_t round = 0; round < 300; round++) {
		struct prng r = prng_round(round);
		struct bench *b = *state;
		uint64_t sampled = 0, charged = 0, rest, sum = 0;

		for (int i = 0; i < 100; i++) {
			struct process *p = start(b, names[prng_below(&r, 40)]);
			uint64_t used = prng_bits(&r, 34), seen = prng_below(&r, 20) * SAMPLE;

			cpu_time_sampled(&b->time, p, seen);
			cpu_time_charge(&b->time, p, CPU_TIME_END, used, false);
			sampled += seen;
			charged += used;
		}
		rest = finish(b, 0);
		for (uint32_t i = 0; i < b->time.programs.count; i++)
			sum += b->time.programs.list[i].rest_ns;
		EXPECT(&r, sum == rest);
		EXPECT(&r, rest == 0 || sampled + rest == charged);
		EXPECT(&r, charged == b->time.charged_ns);
		cpu_time_release(&b->time);
	}
}

/* Three deviations are 0.832 s for 10 s, and 0.118 s for 0.2 s. 1 % of an hour is more than
 * three deviations. */
static void chance_is_not_shown(void **state)
{
	static const struct {
		uint64_t used, sampled, elsewhere, rest;
	} cases[] = {
		{10 * S, 9200 * MS, 0, 0},
		{10 * S, 9100 * MS, 0, 900 * MS},
		{10 * S, 9100 * MS, 100 * MS, 0},
		{10 * S, 12 * S, 0, 0},
		{3600 * S, 3566 * S, 0, 0},
		{3600 * S, 3563 * S, 0, 37 * S},
		{200 * MS, 80 * MS, 0, 120 * MS},
		{200 * MS, 100 * MS, 0, 0},
		{19 * MS, 0, 0, 0},
		{0, 0, 0, 0},
	};
	struct bench *b = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct process *p = start(b, tool);
		uint64_t rest;

		cpu_time_sampled(&b->time, p, cases[i].sampled);
		cpu_time_charge(&b->time, p, CPU_TIME_END, cases[i].used, false);
		rest = cpu_time_finish(&b->time, 0, cases[i].elsewhere, SAMPLE);
		assert_int_equal(rest, cases[i].rest);
		cpu_time_release(&b->time);
	}
}

/* Charged by its clock's readings, to each program what ran before the next. */
static void a_process_runs_one_program_after_another(void **state)
{
	struct bench *b = *state;
	struct process *old = start(b, shell), *now;

	cpu_time_charge(&b->time, old, 2 * S, 3 * S, false);
	now = processes_start(&b->processes, old->pid, 3 * S, true);
	now->comm = tool;
	cpu_time_exec(&b->time, old, now);
	cpu_time_charge(&b->time, now, 3 * S, 5 * S, true);
	cpu_time_charge(&b->time, now, CPU_TIME_END, 6 * S, false);
	cpu_time_charge(&b->time, now, CPU_TIME_END, 4 * S, false); /* late */
	assert_int_equal(finish(b, 90 * S), 6 * S);                 /* nothing is unread */
	assert_int_equal(find(b, shell)->rest_ns, 5 * S);
	assert_int_equal(find(b, tool)->rest_ns, S);
}

static void our_own_code_is_nobodys(void **state)
{
	struct bench *b = *state;
	struct process *ours = start(b, NULL), *now;

	ours->source = PROCESS_OURS;
	now = processes_start(&b->processes, ours->pid, 3 * S, true);
	now->comm = tool;
	cpu_time_exec(&b->time, ours, now);
	cpu_time_charge(&b->time, now, 3 * S, 2 * S, true);
	cpu_time_charge(&b->time, now, CPU_TIME_END, 3 * S, false);
	assert_int_equal(finish(b, 0), S);
	assert_int_equal(find(b, tool)->rest_ns, S);
}

/* Time of processes that ended unread is shared by their unread lives. */
static void what_ended_unread_is_shared(void **state)
{
	struct bench *b = *state;
	struct process *read = start(b, shell), *child;

	for (int i = 0; i < 10; i++) {
		child = start(b, shell);
		struct process *now = processes_start(&b->processes, child->pid, S + MS, true);

		now->comm = tool;
		cpu_time_exec(&b->time, child, now);
		processes_end(&b->processes, now, S + 30 * MS);
	}
	cpu_time_charge(&b->time, read, 5 * S, 2 * S, false);
	processes_end(&b->processes, read, 5 * S + 100 * MS);
	assert_int_equal(finish(b, 2 * S + 400 * MS), 2 * S + 400 * MS);
	assert_in_range(find(b, tool)->rest_ns, 299 * MS, 301 * MS);
	assert_in_range(find(b, shell)->rest_ns, 2 * S + 99 * MS, 2 * S + 101 * MS);
}

/* A running process has a clock. Time of waited-for children is not in it, and later use does
 * not count. */
static void a_running_process_has_a_clock(void **state)
{
	struct bench *b = *state;
	pid_t pid = fork();
	struct process *p, *gone;

	if (pid == 0) {
		while (clock() < CLOCKS_PER_SEC / 10)
			;
		kill(getpid(), SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	b->next_pid = pid;
	p = start(b, tool);
	cpu_time_read(&b->time, p, 2 * S, false);
	assert_in_range(p->clock.charged_ns, 95 * MS, 20 * S);
	assert_int_equal(p->clock.read_ns, 2 * S);
	cpu_time_read(&b->time, p, 3 * S, true);
	cpu_time_charge(&b->time, p, CPU_TIME_END, 100 * S, false);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	b->next_pid = pid;
	gone = start(b, shell);
	cpu_time_read(&b->time, gone, 4 * S, false);
	assert_int_equal(gone->clock.charged_ns, 0);
	processes_end(&b->processes, gone, 4 * S);
	assert_in_range(finish(b, 3 * S), 3 * S + 95 * MS, 23 * S);
	assert_int_equal(find(b, shell)->rest_ns, 3 * S);
}

static void many_programs_count_as_one(void **state)
{
	enum { PROGRAMS = CPU_TIME_PROGRAMS_MAX + 10 };
	static const char names[PROGRAMS][8];
	struct bench *b = *state;

	for (int i = 0; i < PROGRAMS; i++)
		cpu_time_charge(&b->time, start(b, names[i]), CPU_TIME_END, S, false);
	assert_int_equal(finish(b, 0), PROGRAMS * S);
	assert_int_equal(b->time.programs.count, CPU_TIME_PROGRAMS_MAX);
	assert_int_equal(b->time.programs.list[0].rest_ns, 11 * S);
	assert_null(b->time.programs.list[0].name);
}

static void without_memory_sums_stay(void **state)
{
	struct bench *b = *state;
	struct process *p = start(b, tool);

	failing_allocation = 1;
	cpu_time_sampled(&b->time, p, S);
	failing_allocation = 1;
	cpu_time_charge(&b->time, p, CPU_TIME_END, 3 * S, false);
	failing_allocation = 0;
	assert_int_equal(b->time.charged_ns, 3 * S);
	assert_int_equal(finish(b, 0), 0); /* no program to name */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

/* CPU time of before does not belong to the part, for live and for ended processes. */
static void a_part_begins_later(void **state)
{
	struct bench *b = *state;
	struct process *p = start(b, shell), *gone = start(b, tool);

	cpu_time_charge(&b->time, p, 2 * S, 700 * MS, false);
	cpu_time_charge(&b->time, gone, CPU_TIME_END, 300 * MS, false);
	cpu_time_restart(&b->time);
	assert_int_equal(b->time.charged_ns, 0);
	cpu_time_sampled(&b->time, p, 400 * MS);
	cpu_time_charge(&b->time, p, CPU_TIME_END, 3700 * MS, false);
	assert_int_equal(finish(b, 0), 2600 * MS);
	assert_int_equal(b->time.charged_ns, 3 * S);
	assert_int_equal(find(b, shell)->rest_ns, 2600 * MS);
	assert_int_equal(find(b, tool)->rest_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_lacks_stands_under_its_program),
		TEST(samples_and_rest_add_up),
		TEST(chance_is_not_shown),
		TEST(a_process_runs_one_program_after_another),
		TEST(our_own_code_is_nobodys),
		TEST(what_ended_unread_is_shared),
		TEST(a_running_process_has_a_clock),
		TEST(a_part_begins_later),
		TEST(many_programs_count_as_one),
		TEST(without_memory_sums_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
