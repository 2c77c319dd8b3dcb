/* SPDX-License-Identifier: MIT */
/* Stack fingerprints: a made-up stack is recognized if its words are equal, and only then. */
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "unit.h"
#include "cupti_trace/unwind/stack_fingerprint.h"

#define WORDS (1u << 20)
/* Guesses that share a place share it at all addresses near by. */
#define FAR_APART (WORDS / 20)

static uint64_t stack[WORDS];
static uint32_t asked; /* the kernel, for a page */

/* Stands for the C library's function. */
long syscall(long number, ...)
{
	register long fourth __asm__("r10");
	long first, second, third, result;
	va_list more;

	va_start(more, number);
	first = va_arg(more, long);
	second = va_arg(more, long);
	third = va_arg(more, long);
	fourth = va_arg(more, long);
	va_end(more);
	asked += number == SYS_rt_sigprocmask;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(first), "S"(second), "d"(third), "r"(fourth)
			 : "rcx", "r11", "memory");
	if (result >= 0)
		return result;
	errno = (int)-result;
	return -1;
}

static struct stack_fingerprint words;

static int set_up(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < WORDS; i++)
		stack[i] = i * 7919;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	stack_fingerprint_release(&words);
	return 0;
}

static uint64_t *map_pages(size_t count)
{
	uint64_t *pages = mmap(NULL, count * 4096, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(pages != MAP_FAILED);
	return pages;
}

static uint64_t frame_at(uint32_t word)
{
	return (uint64_t)(uintptr_t)&stack[word];
}

/* Learns a layout of `count` words, `step` apart. */
static uint64_t learn(uint32_t frame, uint32_t count, uint32_t step)
{
	uint16_t offsets[STACK_FINGERPRINT_MOST];

	for (uint32_t i = 0; i < count; i++)
		offsets[i] = (uint16_t)(1 + i * step);
	return stack_fingerprint_learn(&words, frame_at(frame), offsets, count);
}

/* Hashes a stack with a fresh table. Leaves the table under test unchanged. */
static uint64_t hash_at(uint32_t frame, uint32_t count, uint32_t step)
{
	struct stack_fingerprint others = words;
	uint64_t hash;

	memset(&words, 0, sizeof(words));
	hash = learn(frame, count, step);
	stack_fingerprint_release(&words);
	words = others;
	return hash;
}

static void the_same_is_recognized(void **state)
{
	uint64_t hash;

	(void)state;
	for (uint32_t count = 1; count < 90; count++) {
		hash = learn(count, count, 3);
		assert_true(hash != 0);
		assert_true(stack_fingerprint_guess(&words, frame_at(count)) == hash);
	}
}

static void each_word_counts(void **state)
{
	uint64_t hash = learn(8, 41, 5);

	(void)state;
	for (uint32_t i = 0; i < 41; i++) {
		uint64_t *word = &stack[8 + 1 + i * 5];

		for (uint32_t bit = 0; bit < 63; bit++) { /* no address has the last */
			*word ^= UINT64_C(1) << bit;
			assert_true(stack_fingerprint_guess(&words, frame_at(8)) != hash);
			*word ^= UINT64_C(1) << bit;
			assert_true(stack_fingerprint_guess(&words, frame_at(8)) == hash);
		}
	}
	stack[8 + 3] = 0; /* between the words */
	assert_true(stack_fingerprint_guess(&words, frame_at(8)) == hash);
}

/*
 * Two exchanged words, or equal changes of two words, do not cancel out. Words that differ only in
 * their highest bits may collide; addresses of one program do not differ so.
 */
#define LOW_BITS 36
static void each_place_counts(void **state)
{
	uint64_t hash = learn(8, 21, 5);

	(void)state;
	for (uint32_t i = 0; i < 21; i++) {
		for (uint32_t k = 0; k < i; k++) {
			uint64_t *a = &stack[8 + 1 + i * 5], *b = &stack[8 + 1 + k * 5];
			uint64_t was_a = *a, was_b = *b;

			*a = was_b;
			*b = was_a;
			assert_true(stack_fingerprint_guess(&words, frame_at(8)) != hash);
			for (uint32_t bit = 0; bit < LOW_BITS; bit++) {
				*a = was_a ^ UINT64_C(1) << bit;
				*b = was_b ^ UINT64_C(1) << bit;
				assert_true(stack_fingerprint_guess(&words, frame_at(8)) != hash);
			}
			for (uint64_t up = 1; up <= 9; up++) {
				for (uint64_t down = 1; down <= 9; down++) {
					*a = was_a + 16 * up;
					*b = was_b - 16 * down;
					assert_true(stack_fingerprint_guess(&words, frame_at(8)) !=
						    hash);
				}
			}
			*a = was_a;
			*b = was_b;
		}
	}
	assert_true(stack_fingerprint_guess(&words, frame_at(8)) == hash);
}

static void the_layout_counts(void **state)
{
	uint64_t a, b, c;

	(void)state;
	memset(stack, 0, sizeof(stack));
	a = learn(8, 20, 2);
	b = learn(8, 20, 3);
	c = learn(8, 21, 2);
	assert_true(a != b && a != c && b != c);
	assert_true(learn(8, 20, 2) == a);
	assert_true(learn(9, 20, 2) != a);
}

static void another_frame_is_not_guessed(void **state)
{
	(void)state;
	assert_true(stack_fingerprint_guess(&words, frame_at(8)) == 0);
	learn(8, 20, 2);
	assert_true(stack_fingerprint_guess(&words, frame_at(8)) != 0);
	assert_true(stack_fingerprint_guess(&words, frame_at(9)) == 0);
	stack_fingerprint_forget(&words);
	assert_true(stack_fingerprint_guess(&words, frame_at(8)) == 0);
}

/* Launches a loop of layouts with one frame, in a repeating order. Returns the number of wrong
 * guesses in the last round. */
static uint32_t repeat_order(uint32_t frame)
{
	static const uint32_t order[] = {2, 2, 3, 4, 2, 3, 3, 5, 6, 2, 4, 4, 4, 7};
	const uint32_t launches = sizeof(order) / sizeof(order[0]);
	uint32_t right = 0;

	for (uint32_t round = 0; round < 4; round++) {
		right = 0;
		for (uint32_t i = 0; i < launches; i++) {
			uint64_t guess = stack_fingerprint_guess(&words, frame_at(frame));

			right += guess == learn(frame, 30, order[i]);
		}
	}
	return launches - right;
}

/* Two contexts may share a guess, by chance: not in all of these. */
static void an_order_is_learnt(void **state)
{
	uint32_t least = UINT32_MAX;

	(void)state;
	for (uint32_t frame = 1; frame <= 10; frame++) {
		uint32_t wrong = repeat_order(frame * FAR_APART);

		least = wrong < least ? wrong : least;
		stack_fingerprint_release(&words);
	}
	assert_int_equal(least, 0);
}

/* Launches 50 loops of 11 launches from one place and 1 from another. Returns the number of
 * wrong first guesses. */
static uint32_t guess_loops_again(uint32_t frame)
{
	uint64_t hash, guess;
	uint32_t wrong, walks = 0, again = 0;

	for (uint32_t round = 0; round < 50; round++) {
		for (uint32_t i = 0; i < 12; i++) {
			uint32_t step = i < 11 ? 2 : 3;

			guess = stack_fingerprint_guess(&words, frame_at(frame));
			hash = hash_at(frame, 30, step);
			for (wrong = 1; guess && guess != hash; wrong++)
				guess = stack_fingerprint_guess_again(&words, frame_at(frame),
								      wrong);
			assert_in_range(wrong, 1, 5);
			if (!guess) {
				walks++;
				assert_true(learn(frame, 30, step) == hash);
			} else if (wrong > 1) {
				again++;
				stack_fingerprint_guessed(&words, frame_at(frame));
			}
		}
	}
	assert_in_range(walks, 2, 4);
	return again;
}

/*
 * The layout after a loop differs from those in the loop, and one of the guesses finds it. Two
 * guesses per loop are wrong. A third is wrong if the last two layouts share a slot of the guess
 * table. That happens at one address in 80.
 */
static void the_end_of_a_loop_is_guessed(void **state)
{
	uint32_t again, shared = 0;

	(void)state;
	for (uint32_t frame = 8; frame < 24; frame++) {
		again = guess_loops_again(frame);
		assert_in_range(again, 49, 150);
		shared += again > 120;
		assert_true(stack_fingerprint_guess_again(&words, frame_at(frame + 1), 1) == 0);
		stack_fingerprint_release(&words);
	}
	assert_in_range(shared, 0, 4);
}

/* More layouts than there is memory for: older ones are forgotten, the last is known. */
static void many_layouts(void **state)
{
	struct prng p = prng_round(0);
	uint32_t right = 0;

	(void)state;
	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t frame = (uint32_t)prng_below(&p, 512);
		uint32_t count = 1 + (uint32_t)prng_below(&p, 1000), step = 1 + (frame + i) % 3;
		uint64_t hash = learn(frame, count, step);

		assert_true(hash != 0);
		right += stack_fingerprint_guess(&words, frame_at(frame)) == hash;
		assert_in_range(words.used, 1, words.size);
	}
	assert_in_range(right, 19000, 20000);
}

static void the_deepest(void **state)
{
	uint64_t hash = learn(0, STACK_FINGERPRINT_MOST, 3);

	(void)state;
	assert_true(hash != 0);
	assert_true(stack_fingerprint_guess(&words, frame_at(0)) == hash);
}

/* A saved rbp may be the only word on the page below its return address. That page is not read
 * once earlier words have changed. */
static void a_page_between_is_not_read(void **state)
{
	enum { PAGE = 4096 / 8 };
	const uint16_t offsets[] = {1, 8, 2 * PAGE, 2 * PAGE - 1, 2 * PAGE + 5};
	uint64_t *pages = map_pages(4);
	uint64_t frame = (uint64_t)(uintptr_t)pages, hash;

	(void)state;
	hash = stack_fingerprint_learn(&words, frame, offsets, 5);
	assert_true(stack_fingerprint_guess(&words, frame) == hash);
	assert_int_equal(mprotect(pages + PAGE, 4096, PROT_NONE), 0);
	pages[8]++;
	pages[2 * PAGE]++;
	assert_true(stack_fingerprint_guess(&words, frame) == 0);
	assert_int_equal(mprotect(pages + PAGE, 4096, PROT_READ | PROT_WRITE), 0);
	pages[8]--;
	pages[2 * PAGE]--;
	assert_true(stack_fingerprint_guess(&words, frame) == hash);
	munmap(pages, 4 * 4096);
}

/* No word of an unreadable page is read, unless the last word before that page is unchanged. */
static void unreadable_pages_are_not_read(void **state)
{
	enum { PAGE = 4096 / 8, FIRST = PAGE - 10 };
	const uint16_t offsets[] = {1, 8, 5, 20, 12, PAGE + 12};
	uint64_t *pages = map_pages(4);
	uint64_t frame = (uint64_t)(uintptr_t)&pages[FIRST], hash;

	(void)state;
	hash = stack_fingerprint_learn(&words, frame, offsets, 6);
	for (uint32_t page = 1; page <= 3; page++) {
		uint32_t before = page == 1 ? 8 : page == 2 ? 20 : PAGE + 12;

		assert_true(stack_fingerprint_guess(&words, frame) == hash);
		assert_int_equal(mprotect(pages + page * PAGE, 4096, PROT_NONE), 0);
		if (page < 3) {
			pages[FIRST + before]++;
			assert_true(stack_fingerprint_guess(&words, frame) == 0);
			pages[FIRST + before]--;
		} else {
			assert_true(stack_fingerprint_guess(&words, frame) ==
				    hash); /* none is there */
		}
		assert_int_equal(mprotect(pages + page * PAGE, 4096, PROT_READ | PROT_WRITE), 0);
		pages[FIRST + before]++;
		if (page < 3)
			assert_true(stack_fingerprint_guess(&words, frame) != hash);
		pages[FIRST + before]--;
	}
	munmap(pages, 4 * 4096);
}

/* A walk would lead elsewhere by any of the words before. */
static void each_word_before_a_page_counts(void **state)
{
	enum { PAGE = 4096 / 8, FIRST = PAGE - 40, COUNT = 12 };
	const uint16_t offsets[COUNT] = {1, 4, 3, 9, 7, 12, 20, 18, 30, 28, 45, 44};
	uint64_t *pages = map_pages(2);
	uint64_t frame = (uint64_t)(uintptr_t)&pages[FIRST], hash;

	(void)state;
	for (uint32_t i = 0; i < 40; i++)
		pages[FIRST + i] = i * 4711;
	hash = stack_fingerprint_learn(&words, frame, offsets, COUNT);
	assert_int_equal(mprotect(pages + PAGE, 4096, PROT_NONE), 0);
	for (uint32_t i = 0; i < COUNT && offsets[i] < 40; i++)
		for (uint32_t bit = 0; bit < 48; bit++) {
			pages[FIRST + offsets[i]] ^= UINT64_C(1) << bit;
			assert_true(stack_fingerprint_guess(&words, frame) == 0);
			pages[FIRST + offsets[i]] ^= UINT64_C(1) << bit;
		}
	assert_int_equal(mprotect(pages + PAGE, 4096, PROT_READ | PROT_WRITE), 0);
	assert_true(stack_fingerprint_guess(&words, frame) == hash);
	munmap(pages, 2 * 4096);
}

/* Returns the right guess for a walked stack. */
static uint64_t recognize(uint64_t frame)
{
	uint64_t hash = stack_fingerprint_guess(&words, frame);

	stack_fingerprint_found(&words, &words);
	return hash;
}

/* The kernel is asked for each stack once, not each time that another one was before. */
static void stacks_take_turns(void **state)
{
	enum { PAGE = 4096 / 8, FIRST = PAGE - 10, STACKS = 4 };
	const uint16_t offsets[] = {1, 8, 20};
	uint64_t *pages = map_pages(2);
	uint64_t frame = (uint64_t)(uintptr_t)&pages[FIRST], hash[STACKS];

	(void)state;
	stack_fingerprint_learn(&words, frame, offsets, 3);
	asked = 0;
	for (uint32_t i = 0; i < STACKS; i++) {
		pages[FIRST + 8] = i;
		hash[i] = recognize(frame);
	}
	assert_int_equal(asked, STACKS - 1); /* the first is the one that was learnt */
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t turn = i * 7 / 3 % STACKS;

		pages[FIRST + 8] = turn;
		assert_true(recognize(frame) == hash[turn]);
	}
	assert_int_equal(asked, STACKS - 1);
	/* each new stack is asked for, and so is one that was forgotten */
	for (uint32_t i = 0; i < 100; i++) {
		pages[FIRST + 8] = 1000 + i;
		assert_true(recognize(frame) != 0);
	}
	assert_int_equal(asked, STACKS - 1 + 100);
	pages[FIRST + 8] = 0;
	assert_true(recognize(frame) == hash[0]);
	assert_int_equal(asked, STACKS + 100);
	munmap(pages, 2 * 4096);
}

/*
 * A stack is not known if only a wrong guess has read the stack. Nor is it known if its parts
 * belong to several known stacks.
 */
static void what_was_no_stack_is_asked_for(void **state)
{
	enum { PAGE = 4096 / 8, FIRST = PAGE - 10 };
	const uint16_t offsets[] = {1, 8, 20, PAGE + 12};
	uint64_t *pages = map_pages(3);
	uint64_t frame = (uint64_t)(uintptr_t)&pages[FIRST];

	(void)state;
	pages[FIRST + 8] = pages[FIRST + 20] = 1;
	stack_fingerprint_learn(&words, frame, offsets, 4);
	pages[FIRST + 8] = pages[FIRST + 20] = 2;
	recognize(frame);
	asked = 0;
	recognize(frame);
	pages[FIRST + 8] = pages[FIRST + 20] = 1;
	recognize(frame);
	assert_int_equal(asked, 0);
	pages[FIRST + 20] = 2; /* the first page can be read, as it is */
	for (uint32_t i = 1; i <= 3; i++) {
		stack_fingerprint_guess(&words, frame);
		assert_int_equal(asked, i);
	}
	pages[FIRST + 8] = pages[FIRST + 20] = 0; /* zeros are no stack that was there */
	stack_fingerprint_guess(&words, frame);
	assert_int_equal(asked, 5);
	munmap(pages, 3 * 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_same_is_recognized, set_up, tear_down),
		cmocka_unit_test_setup_teardown(each_word_counts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(each_place_counts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_layout_counts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(another_frame_is_not_guessed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_order_is_learnt, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_end_of_a_loop_is_guessed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(many_layouts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_deepest, set_up, tear_down),
		cmocka_unit_test_setup_teardown(unreadable_pages_are_not_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(stacks_take_turns, set_up, tear_down),
		cmocka_unit_test_setup_teardown(each_word_before_a_page_counts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_was_no_stack_is_asked_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_page_between_is_not_read, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
