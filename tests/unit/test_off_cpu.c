/* SPDX-License-Identifier: MIT */
/*
 * Time off the CPU: which stack it is with, how sums without one are spread, limits; the names of
 * what threads wait for.
 */
#include "unit.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include "bpf/stack_event.h"
#include "profiler/model/pseudo_frames.h"
#include "profiler/model/off_cpu_kinds.h"
#include "profiler/cpu/off_cpu.h"

#define STACKS (OFF_CPU_STACKS_MAX + 11)

struct bench {
	struct quota quota;
	struct off_cpu off_cpu;
	uint64_t blocked_ns[STACKS], runnable_ns[STACKS]; /* times handed out, by stack */
	uint32_t kind;                                    /* kind of the times */
};

static const struct off_cpu_thread one = {1, 10}, two = {1, 11}, other = {2, 10};

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	b->quota.limit = 1 << 20;
	b->off_cpu.quota = &b->quota;
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	off_cpu_release(&b->off_cpu);
	assert_int_equal(b->quota.used, 0);
	free(b);
	return 0;
}

static const struct off_cpu_entry *find(const struct off_cpu *o, struct off_cpu_thread thread)
{
	for (uint32_t i = 0; i < o->threads.count; i++)
		if (o->threads.list[i].thread.process == thread.process &&
		    o->threads.list[i].thread.tid == thread.tid)
			return &o->threads.list[i];
	return NULL;
}

static int leave(struct bench *b, struct off_cpu_thread thread, uint64_t left_ns, uint32_t stack)
{
	return off_cpu_leave(&b->off_cpu, thread,
			     &(struct off_cpu_departure){.left_ns = left_ns, .stack = {stack}});
}

/* Adds a time off the CPU of a thread, with its stack. */
static void add(struct bench *b, struct off_cpu_thread thread, uint32_t stack, uint32_t kind,
		uint32_t site, uint64_t blocked_ns)
{
	struct off_cpu_times times = {kind, site, blocked_ns, 0, 0};
	struct stack_id found = STACK_ID(0);

	assert_int_equal(leave(b, thread, 5, stack), 0);
	assert_true(off_cpu_return(&b->off_cpu, thread, 5, &times, &found));
	assert_int_equal(found.number, stack);
}

static void put(void *context, struct stack_id stack, const struct off_cpu_times *part)
{
	struct bench *b = context;

	b->blocked_ns[stack.number] += part->blocked_ns;
	b->runnable_ns[stack.number] += part->runnable_ns;
	b->kind = part->kind;
}

static bool put_out(struct bench *b, struct off_cpu_thread thread, struct off_cpu_times sum)
{
	memset(b->blocked_ns, 0, sizeof(b->blocked_ns));
	memset(b->runnable_ns, 0, sizeof(b->runnable_ns));
	return off_cpu_spread(&b->off_cpu, thread, &sum, put, b);
}

static void threads_apart_have_no_times_of_others(void **state)
{
	struct bench *b = *state;
	struct off_cpu_times times = {SYS_poll, 7, 100, 0, 0};
	struct stack_id stack = STACK_ID(0);

	assert_int_equal(off_cpu_leave(&b->off_cpu, one,
				       &(struct off_cpu_departure){
					       .left_ns = 5, .stack = {3}, .is_internal = true}),
			 0);
	assert_true(off_cpu_return(&b->off_cpu, one, 5, &times, &stack));
	assert_false(put_out(b, two, (struct off_cpu_times){SYS_poll, 7, 50, 0, 0}));
	/* other calls keep their own kind */
	assert_true(put_out(b, one, (struct off_cpu_times){SYS_poll, 7, 50, 0, 0}));
	assert_int_equal(b->blocked_ns[3], 50);
}

static void a_futex_is_the_global_lock_where_a_stack_says_so(void **state)
{
	struct bench *b = *state;
	struct off_cpu_departure at_gil = {.left_ns = 5, .stack = {3}, .is_at_gil = true};
	struct off_cpu_times times = {SYS_futex, 7, 100, 0, 0};
	struct stack_id stack = STACK_ID(0);

	add(b, one, 2, SYS_futex, 8, 100);
	assert_int_equal(off_cpu_leave(&b->off_cpu, one, &at_gil), 0);
	assert_true(off_cpu_return(&b->off_cpu, one, 5, &times, &stack));
	assert_int_equal(times.kind, STACK_OFF_CPU_GIL);
	/* a sum of this site from before the interpreter was found */
	assert_true(put_out(b, one, (struct off_cpu_times){SYS_futex, 7, 50, 0, 0}));
	assert_int_equal(b->kind, STACK_OFF_CPU_GIL);
	assert_int_equal(b->blocked_ns[3], 50);
	/* a later sum */
	assert_true(put_out(b, one, (struct off_cpu_times){STACK_OFF_CPU_GIL, 7, 60, 0, 0}));
	assert_int_equal(b->blocked_ns[3], 60);
	assert_true(put_out(b, one, (struct off_cpu_times){SYS_futex, 8, 70, 0, 0}));
	assert_int_equal(b->kind, SYS_futex);
	assert_int_equal(b->blocked_ns[2], 70);
	assert_true(put_out(b, two, (struct off_cpu_times){STACK_OFF_CPU_GIL, 9, 80, 0, 0}));
	assert_int_equal(b->blocked_ns[3], 80);

	/* another call, with such an argument */
	times = (struct off_cpu_times){SYS_poll, 6, 100, 0, 0};
	assert_int_equal(off_cpu_leave(&b->off_cpu, one, &at_gil), 0);
	assert_true(off_cpu_return(&b->off_cpu, one, 5, &times, &stack));
	assert_int_equal(times.kind, SYS_poll);
}

static void a_return_belongs_to_its_leaving(void **state)
{
	struct bench *b = *state;
	struct off_cpu_times times = {SYS_futex, 1, 100, 0, 0};
	struct stack_id stack = STACK_ID(0);

	assert_false(off_cpu_return(&b->off_cpu, one, 5, &times, &stack));
	assert_int_equal(leave(b, one, 5, 3), 0);
	/* the end of 5 was lost */
	assert_int_equal(leave(b, one, 9, 4), 0);
	assert_false(off_cpu_return(&b->off_cpu, one, 5, &times, &stack));
	assert_false(off_cpu_return(&b->off_cpu, other, 9, &times, &stack));
	assert_true(off_cpu_return(&b->off_cpu, one, 9, &times, &stack));
	assert_int_equal(stack.number, 4);
	assert_false(off_cpu_return(&b->off_cpu, one, 9, &times, &stack));
	assert_false(off_cpu_return(&b->off_cpu, one, 0, &times, &stack));
}

static void a_sum_is_shared_by_what_is_known(void **state)
{
	struct bench *b = *state;

	add(b, one, 1, SYS_futex, 7, 100 - 1);
	add(b, one, 2, SYS_futex, 7, 300 - 1);
	add(b, one, 3, SYS_futex, 8, 1000);
	add(b, one, 4, SYS_read, 7, 1000);
	/* sums go to stacks of their site */
	assert_true(put_out(b, one, (struct off_cpu_times){SYS_futex, 7, 4000, 8, 0}));
	assert_int_equal(b->blocked_ns[1], 1000);
	assert_int_equal(b->blocked_ns[2], 3000);
	assert_int_equal(b->runnable_ns[1], 2);
	assert_int_equal(b->runnable_ns[2], 6);
	assert_int_equal(b->blocked_ns[3] + b->blocked_ns[4], 0);
	/* sums of an unknown site go to stacks of their kind */
	assert_true(put_out(b, one, (struct off_cpu_times){SYS_futex, 9, 1401, 0, 0}));
	assert_int_equal(b->blocked_ns[1], 100);
	assert_int_equal(b->blocked_ns[2], 300);
	assert_int_equal(b->blocked_ns[3], 1001);
	/* another thread of this process */
	assert_true(put_out(b, two, (struct off_cpu_times){SYS_read, 7, 50, 60, 0}));
	assert_int_equal(b->blocked_ns[4], 50);
	assert_int_equal(b->runnable_ns[4], 60);
	/* not to a stack where another thread was preempted */
	add(b, one, 5, STACK_OFF_CPU_RUNNABLE, 0, 1000);
	assert_true(put_out(b, one, (struct off_cpu_times){STACK_OFF_CPU_RUNNABLE, 0, 0, 9, 0}));
	assert_int_equal(b->runnable_ns[5], 9);
	assert_false(put_out(b, two, (struct off_cpu_times){STACK_OFF_CPU_RUNNABLE, 0, 0, 9, 0}));
	/* nobody's */
	assert_false(put_out(b, one, (struct off_cpu_times){SYS_poll, 7, 50, 0, 0}));
	assert_false(put_out(b, other, (struct off_cpu_times){SYS_futex, 7, 50, 0, 0}));
}

/* The process's are at no site, and a thread's own come first. */
static void a_thread_is_not_given_what_others_did_where_it_has_its_own(void **state)
{
	struct bench *b = *state;

	add(b, one, 1, SYS_futex, 0, 100);
	add(b, two, 2, SYS_futex, 7, 1000000);
	assert_true(put_out(b, one, (struct off_cpu_times){SYS_futex, 7, 4000, 0, 0}));
	assert_int_equal(b->blocked_ns[1], 4000);
	off_cpu_forget(&b->off_cpu, one);
	assert_true(put_out(b, one, (struct off_cpu_times){SYS_futex, 7, 4000, 0, 0}));
	assert_true(b->blocked_ns[1] < 2 && b->blocked_ns[1] + b->blocked_ns[2] == 4000);
	off_cpu_forget_process(&b->off_cpu, 1);
	assert_int_equal(b->quota.used, 0);
	assert_false(put_out(b, two, (struct off_cpu_times){SYS_futex, 7, 4000, 0, 0}));
}

static void no_more_stacks_than_the_limit_and_sums_hold(void **state)
{
	struct bench *b = *state;
	uint64_t all = 0;

	for (uint32_t i = 1; i < OFF_CPU_STACKS_MAX + 5; i++)
		add(b, one, i, SYS_futex, 7, i);
	assert_int_equal(find(&b->off_cpu, one)->count, OFF_CPU_STACKS_MAX);
	assert_true(put_out(b, one, (struct off_cpu_times){SYS_futex, 7, UINT64_MAX, 1, 0}));
	for (uint32_t i = 0; i < STACKS; i++)
		all += b->blocked_ns[i];
	assert_true(all == UINT64_MAX);
	assert_int_equal(b->blocked_ns[OFF_CPU_STACKS_MAX + 1], 0);
}

static void without_room_nothing_is_kept(void **state)
{
	struct bench *b = *state;
	struct off_cpu_times times = {SYS_futex, 1, 100, 0, 0};
	struct stack_id stack = STACK_ID(0);

	b->quota.limit = 0;
	assert_int_equal(leave(b, one, 5, 3), -ENOSPC);
	b->quota.limit = 1 << 20;
	assert_int_equal(leave(b, one, 5, 3), 0);
	b->quota.limit = b->quota.used; /* the thread's and its process's entry */
	off_cpu_forget_process(&b->off_cpu, one.process);
	assert_int_equal(leave(b, one, 5, 3), 0);
	assert_true(off_cpu_return(&b->off_cpu, one, 5, &times, &stack));
	assert_int_equal(stack.number, 3);
	assert_false(put_out(b, one, times));
}

/* Checks that each process's ring has all of its entries, and no others. */
static void check_rings(const struct off_cpu *o)
{
	for (uint32_t process = 1; process <= 2; process++) {
		const struct off_cpu_entry *all =
			find(o, (struct off_cpu_thread){process, OFF_CPU_ANY_THREAD});
		uint32_t own = 0, linked = all != NULL;

		for (uint32_t i = 0; i < o->threads.count; i++)
			own += o->threads.list[i].thread.process == process;
		for (uint32_t at = all ? all->next : 0; all && &o->threads.list[at] != all;
		     at = o->threads.list[at].next) {
			assert_true(o->threads.list[o->threads.list[at].next].previous == at);
			assert_int_equal(o->threads.list[at].thread.process, process);
			assert_true(++linked <= own);
		}
		assert_int_equal(linked, own);
	}
}

/* Parts of random sums add up to them, and go to stacks of the kind. */
static void random_sums(void **state)
{
	struct bench *b = *state;
	struct prng p = prng_round(1);

	for (int round = 0; round < 2000; round++) {
		struct off_cpu_thread thread = {1 + (uint32_t)prng_below(&p, 2),
						1 + (uint32_t)prng_below(&p, 4)};
		uint32_t kind = (uint32_t)prng_below(&p, 3), site = (uint32_t)prng_below(&p, 3);
		struct off_cpu_times sum = {kind, site, prng_bits(&p, 40), prng_bits(&p, 40), 0};
		uint64_t blocked_ns = 0, runnable_ns = 0;

		if (prng_chance(&p, 50)) /* stacks of a kind differ from those of others */
			add(b, thread, kind * 5 + (uint32_t)prng_below(&p, 5), kind, site,
			    prng_bits(&p, 40));
		if (prng_chance(&p, 5))
			off_cpu_forget(&b->off_cpu, thread);
		if (prng_chance(&p, 2))
			off_cpu_forget_process(&b->off_cpu, thread.process);
		check_rings(&b->off_cpu);
		if (!put_out(b, thread, sum))
			continue;
		for (uint32_t i = 0; i < STACKS; i++) {
			assert_true(i / 5 == kind || b->blocked_ns[i] + b->runnable_ns[i] == 0);
			blocked_ns += b->blocked_ns[i];
			runnable_ns += b->runnable_ns[i];
		}
		assert_true(blocked_ns == sum.blocked_ns && runnable_ns == sum.runnable_ns);
	}
}

static void names(void **state)
{
	static const struct {
		uint32_t number;
		const char *text;
		uint32_t file_type;
	} cases[] = {{SYS_futex, "[blocked: futex]", 0},
		     {SYS_read, "[blocked: read]", 0},
		     {SYS_read, "[blocked: read file]", S_IFREG},
		     {SYS_preadv2, "[blocked: read file]", S_IFREG},
		     {SYS_readv, "[blocked: read socket]", S_IFSOCK},
		     {SYS_write, "[blocked: write pipe]", S_IFIFO},
		     {SYS_pwrite64, "[blocked: write device]", S_IFBLK},
		     {SYS_read, "[blocked: read device]", S_IFCHR},
		     {SYS_write, "[blocked: write]", 0},
		     {SYS_futex, "[blocked: futex]", S_IFREG},
		     {STACK_OFF_CPU_DISK, "[blocked: disk]", S_IFREG},
		     {SYS_pselect6, "[blocked: poll]", 0},
		     {SYS_clock_nanosleep, "[blocked: sleep]", 0},
		     {435, "[blocked: wait]", 0}, /* clone3 */
		     {SYS_sched_setaffinity, "[blocked: system call 203]", 0},
		     {1023, "[blocked: system call 1023]", 0},
		     {STACK_OFF_CPU_RUNNABLE, "[runnable]", 0},
		     {STACK_OFF_CPU_NEW, "[runnable]", 0},
		     {STACK_OFF_CPU_DISK, "[blocked: disk]", 0},
		     {STACK_OFF_CPU_PAGE_FAULT, "[blocked: page fault]", 0},
		     {STACK_OFF_CPU_STOPPED, "[blocked: stopped]", 0},
		     {STACK_OFF_CPU_EXITING, "[blocked: exit]", 0},
		     {STACK_OFF_CPU_GIL, "[blocked: GIL]", 0},
		     {STACK_OFF_CPU_MIXED, "[blocked: other]", 0},
		     {UINT32_MAX, "[blocked: other]", 0}};
	char text[OFF_CPU_FRAME_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		off_cpu_frame(cases[i].number, cases[i].file_type, text);
		assert_string_equal(text, cases[i].text);
		assert_true(is_wait_mark(text));
	}
	assert_false(is_wait_mark("[blocked]"));
	for (int kind = 0; kind < OFF_CPU_KINDS; kind++)
		assert_non_null(off_cpu_name((enum off_cpu_kind)kind));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(threads_apart_have_no_times_of_others),
		TEST(a_futex_is_the_global_lock_where_a_stack_says_so),
		TEST(a_return_belongs_to_its_leaving),
		TEST(a_sum_is_shared_by_what_is_known),
		TEST(a_thread_is_not_given_what_others_did_where_it_has_its_own),
		TEST(no_more_stacks_than_the_limit_and_sums_hold),
		TEST(without_room_nothing_is_kept),
		TEST(random_sums),
		TEST(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
