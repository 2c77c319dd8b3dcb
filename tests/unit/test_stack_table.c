/* SPDX-License-Identifier: MIT */
/*
 * Stacks as a tree of frames. The module is built into this test, with a bound that the tests
 * choose, and memory that can run out.
 */
#include "unit.h"
#include "unsure.h"
#include "profiler/model/pseudo_frames.h"
#include "profiler/model/stack_table.h"

static const uint32_t real_bound = STACK_TABLE_MAX;
static uint32_t bound = STACK_TABLE_MAX;
#undef STACK_TABLE_MAX
#define STACK_TABLE_MAX bound

#define record_set_add unsure_record
#include "profiler/model/stack_table.c"

static int free_bounds(void **state)
{
	(void)state;
	bound = real_bound;
	failing_allocation = 0;
	return 0;
}

static struct frame code(uint32_t module, uint64_t offset, enum frame_kind kind)
{
	struct frame f;

	memset(&f, 0, sizeof(f));
	f.kind = kind;
	f.code = (struct code_ref){.module = module, .offset = offset};
	return f;
}

static struct frame text(const char *name)
{
	struct frame f;

	memset(&f, 0, sizeof(f));
	f.kind = FRAME_MARK;
	f.text = name;
	return f;
}

/* Frames are listed innermost first. */
static struct stack_id add(struct stack_table *t, const struct frame *frames, uint32_t count)
{
	return stack_table_add(t, STACK_EMPTY, frames, count);
}

/* Returns true if the stack has these frames, starting at `outer`. */
static bool holds(const struct stack_table *t, struct stack_id stack, struct stack_id outer,
		  const struct frame *frames, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct frame *frame = stack_table_frame(t, stack);

		if (!frame || memcmp(frame, &frames[i], sizeof(*frame)) != 0)
			return false;
		stack = stack_table_outer(t, stack);
	}
	return same_id(stack, outer);
}

static void equal_stacks_are_one(void **state)
{
	struct stack_table *t = stack_table_new();
	struct frame a[] = {code(1, 5, FRAME_CODE), code(1, 6, FRAME_RETURN), text("main")};
	struct frame b[] = {code(1, 5, FRAME_CODE), code(1, 6, FRAME_RETURN), text("main")};
	struct stack_id id = add(t, a, 3);
	uint32_t count = stack_table_count(t);

	(void)state;
	b[2].text = a[2].text;
	assert_same_number(add(t, b, 3), id);
	assert_int_equal(stack_table_count(t), count);
	/* each of these differs in one thing */
	assert_other_number(add(t, a, 2), id);
	assert_other_number(add(t, a + 1, 2), id);
	b[0].kind = FRAME_RETURN;
	assert_other_number(add(t, b, 3), id);
	b[0] = code(2, 5, FRAME_CODE);
	assert_other_number(add(t, b, 3), id);
	b[0] = code(1, 5, FRAME_CODE);
	b[0].code.process = 9;
	assert_other_number(add(t, b, 3), id);
	b[0] = b[1];
	b[1] = a[0];
	assert_other_number(add(t, b, 3), id);
	assert_int_equal(stack_table_refused(t), 0);
	stack_table_free(t);
	stack_table_free(NULL);
}

/* Each of these distinguishes Python frames. */
static void texts_files_and_lines_are_of_a_frame(void **state)
{
	struct stack_table *t = stack_table_new();
	struct frame frames[5];
	struct stack_id ids[5];

	(void)state;
	for (int i = 0; i < 5; i++) {
		frames[i] = text("forward");
		frames[i].kind = FRAME_PYTHON;
		frames[i].file = "model.py";
		frames[i].line = 7;
	}
	frames[1].line = 8;
	frames[2].file = NULL;
	frames[3].text = "backward";
	frames[4].kind = FRAME_NVTX;
	for (int i = 0; i < 5; i++) {
		ids[i] = add(t, &frames[i], 1);
		for (int j = 0; j < i; j++)
			assert_other_number(ids[i], ids[j]);
		assert_true(holds(t, ids[i], STACK_EMPTY, &frames[i], 1));
	}
	stack_table_free(t);
}

static void the_empty_stack_is_there(void **state)
{
	struct stack_table *t = stack_table_new();
	struct frame one = text("x");

	(void)state;
	assert_same_number(add(t, NULL, 0), STACK_EMPTY);
	assert_same_number(add(t, &one, 0), STACK_EMPTY);
	assert_other_number(add(t, &one, 1), STACK_EMPTY);
	assert_null(stack_table_frame(t, STACK_EMPTY));
	assert_string_equal(stack_table_frame(t, STACK_NOT_KEPT)->text, PSEUDO_TOO_MANY_STACKS);
	assert_int_equal(stack_table_frame(t, STACK_NOT_KEPT)->kind, FRAME_MARK);
	assert_same_number(stack_table_outer(t, STACK_NOT_KEPT), STACK_EMPTY);
	stack_table_free(t);
}

static void stacks_share_their_outer_frames(void **state)
{
	struct stack_table *t = stack_table_new();
	struct frame frames[101];
	uint32_t stacks, longest, at;

	(void)state;
	for (uint32_t i = 0; i < 101; i++)
		frames[i] = code(1, i, FRAME_RETURN);
	longest = add(t, frames, 101).number;
	stacks = stack_table_count(t);
	/* any outer part of it is there */
	at = longest;
	for (uint32_t i = 0; i <= 101; i++) {
		assert_int_equal(add(t, frames + i, 101 - i).number, at);
		if (i < 101)
			at = stack_table_outer(t, STACK_ID(at)).number;
	}
	assert_int_equal(stack_table_count(t), stacks);
	/* another innermost frame is one stack more, and the frame is there */
	frames[0] = frames[50];
	at = stack_table_frame_count(t);
	assert_int_not_equal(add(t, frames, 101).number, longest);
	assert_int_equal(stack_table_count(t), stacks + 1);
	assert_int_equal(stack_table_frame_count(t), at);
	stack_table_free(t);
}

static void frames_have_numbers(void **state)
{
	struct stack_table *t = stack_table_new();
	struct frame a = code(1, 1, FRAME_CODE), b = text("b");
	struct stack_id x = stack_table_push(t, STACK_EMPTY, &a), y = stack_table_push(t, x, &b);
	struct stack_id z = stack_table_push(t, y, &a);

	(void)state;
	assert_int_equal(stack_table_frame_number(t, x), stack_table_frame_number(t, z));
	assert_int_not_equal(stack_table_frame_number(t, x), stack_table_frame_number(t, y));
	for (uint32_t i = 1; i < stack_table_count(t); i++) {
		uint32_t number = stack_table_frame_number(t, STACK_ID(i));

		assert_true(number < stack_table_frame_count(t));
		assert_ptr_equal(&t->frames.list[number], stack_table_frame(t, STACK_ID(i)));
	}
	assert_same_number(stack_table_push_text(t, x, FRAME_MARK, b.text), y);
	stack_table_free(t);
}

/* Makes frame i of stack n, from the numbers alone. */
static struct frame frame_of(uint32_t n, uint32_t i)
{
	return i % 7 == 3 ? text("text") : code(n % 5, (uint64_t)n << (i % 30), FRAME_RETURN);
}

static uint32_t make_stack(uint32_t n, struct frame *frames)
{
	uint32_t count = 1 + n * 7 % 254;

	for (uint32_t i = 0; i < count; i++)
		frames[i] = frame_of(n, i);
	return count;
}

static void many_stacks_are_preserved(void **state)
{
	enum { STACKS = 3000 };
	struct stack_table *t = stack_table_new();
	static struct stack_id ids[STACKS];
	struct frame frames[256];
	uint32_t count;

	(void)state;
	for (uint32_t n = 0; n < STACKS; n++)
		ids[n] = add(t, frames, make_stack(n, frames));
	count = stack_table_count(t);
	for (uint32_t n = STACKS; n-- > 0;) {
		uint32_t expected = make_stack(n, frames);

		assert_same_number(add(t, frames, expected), ids[n]);
		assert_true(holds(t, ids[n], STACK_EMPTY, frames, expected));
	}
	assert_int_equal(stack_table_count(t), count);
	stack_table_free(t);
}

/* A stack of any depth continues where the outer stack ends. */
static void a_stack_below_another(void **state)
{
	static const uint32_t depths[] = {0, 1, 2, 100, 1023, 1024, 1025, 2048, 5000};
	static struct frame frames[5000];
	struct stack_table *t = stack_table_new();
	struct frame call = text("call");
	uint32_t outer = add(t, &call, 1).number;

	(void)state;
	for (uint32_t i = 0; i < 5000; i++)
		frames[i] = code(1, i, FRAME_RETURN);
	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		uint32_t inner = add(t, frames, depths[i]).number;
		struct stack_id both = stack_table_append(t, STACK_ID(outer), STACK_ID(inner));

		assert_true(holds(t, both, STACK_ID(outer), frames, depths[i]));
		assert_true(holds(t, STACK_ID(inner), STACK_EMPTY, frames, depths[i]));
		assert_int_equal(stack_table_append(t, STACK_EMPTY, STACK_ID(inner)).number, inner);
		assert_int_equal(stack_table_append(t, STACK_ID(inner), STACK_EMPTY).number, inner);
	}
	stack_table_free(t);
}

/* ---- bounds ---- */

static void the_bound_is_two_million(void **state)
{
	(void)state;
	assert_int_equal(real_bound, 2u << 20);
}

static void excess_stacks_become_one(void **state)
{
	struct stack_table *t;
	struct frame frames[5];
	uint32_t first, frame_count;

	(void)state;
	bound = 10;
	t = stack_table_new();
	for (uint32_t i = 0; i < 5; i++)
		frames[i] = code(1, i, FRAME_CODE);
	first = add(t, frames, 5).number;
	for (uint32_t i = 0; i < 100; i++) {
		frames[0] = code(2, i, FRAME_CODE);
		/* room for three more stacks of this frame alone */
		assert_int_equal(same_id(add(t, frames, 5), STACK_NOT_KEPT), i >= 3);
	}
	assert_int_equal(stack_table_count(t), 10);
	assert_int_equal(stack_table_refused(t), 97);
	/* nor is any of their frames kept */
	frame_count = stack_table_frame_count(t);
	assert_int_equal(frame_count, 1 + 5 + 3);
	/* below one that is not kept there is no other, and it has been counted */
	assert_same_number(stack_table_push(t, STACK_NOT_KEPT, &frames[1]), STACK_NOT_KEPT);
	assert_same_number(stack_table_append(t, STACK_NOT_KEPT, STACK_ID(first)), STACK_NOT_KEPT);
	assert_int_equal(stack_table_refused(t), 97);
	/* a long one that does not fit counts once */
	for (uint32_t i = 0; i < 5; i++)
		frames[i] = code(3, i, FRAME_CODE);
	assert_same_number(add(t, frames, 5), STACK_NOT_KEPT);
	assert_int_equal(stack_table_refused(t), 98);
	/* existing stacks stay */
	for (uint32_t i = 0; i < 5; i++)
		frames[i] = code(1, i, FRAME_CODE);
	assert_int_equal(add(t, frames, 5).number, first);
	assert_true(holds(t, STACK_ID(first), STACK_EMPTY, frames, 5));
	stack_table_free(t);
}

/* Nothing is added below a dropped stack, even with room again: that stack would look complete. */
static void nothing_is_added_below_one_that_is_not_kept(void **state)
{
	struct stack_table *t = stack_table_new();
	struct frame frame = text("x");
	uint32_t count = stack_table_count(t), inner = add(t, &frame, 1).number;

	(void)state;
	assert_same_number(stack_table_push(t, STACK_NOT_KEPT, &frame), STACK_NOT_KEPT);
	assert_same_number(stack_table_append(t, STACK_NOT_KEPT, STACK_ID(inner)), STACK_NOT_KEPT);
	assert_int_equal(stack_table_count(t), count + 1);
	assert_int_equal(stack_table_refused(t), 0);
	stack_table_free(t);
}

static void without_memory_there_is_none(void **state)
{
	(void)state;
	for (uint32_t i = 1; i <= 3; i++) {
		failing_allocation = i;
		assert_null(stack_table_new());
	}
}

/* ---- beside a model ---- */

enum { MOST = 4000, KINDS = 12 };

/* Each stack by its outer one and which of the frames it adds. */
struct model {
	uint32_t outer[MOST], frame[MOST], id[MOST];
	uint32_t count;
};

static uint32_t find_in_model(const struct model *m, uint32_t outer, uint32_t frame)
{
	for (uint32_t i = 0; i < m->count; i++)
		if (m->outer[i] == outer && m->frame[i] == frame)
			return m->id[i];
	return STACK_NOT_KEPT.number;
}

static struct frame any_frame(uint32_t number)
{
	static const char texts[KINDS][2];

	return number % 3 ? code(number / 3, number, FRAME_CODE) : text(texts[number]);
}

/* Adds random stacks, with any bound and failing memory. A stack is complete, or it is not kept. */
static void random_stacks(struct prng *r)
{
	uint64_t events = prng_bits(r, 11), refused = 0;
	struct model *m = calloc(1, sizeof(*m));
	struct stack_table *t;

	assert_non_null(m);
	bound = 2 + (uint32_t)(prng_chance(r, 50) ? prng_bits(r, 10) : 10000);
	t = stack_table_new();
	assert_non_null(t);
	failing_allocation = prng_chance(r, 50) ? 1 + (uint32_t)prng_bits(r, 8) : 0;
	for (uint64_t i = 0; i < events; i++) {
		uint32_t outer = m->count && prng_chance(r, 90) ? m->id[prng_below(r, m->count)]
								: (uint32_t)prng_below(r, 2);
		uint32_t number = (uint32_t)prng_below(r, KINDS);
		uint32_t known = find_in_model(m, outer, number), id;
		struct frame frame = any_frame(number);

		id = stack_table_push(t, STACK_ID(outer), &frame).number;
		if (outer == STACK_NOT_KEPT.number)
			EXPECT(r, id == STACK_NOT_KEPT.number);
		else if (known != STACK_NOT_KEPT.number)
			EXPECT(r, id == known);
		else if (id == STACK_NOT_KEPT.number)
			refused++;
		else
			EXPECT(r, id == m->count + 2);
		if (known == STACK_NOT_KEPT.number && id != STACK_NOT_KEPT.number) {
			m->outer[m->count] = outer;
			m->frame[m->count] = number;
			m->id[m->count++] = id;
		}
	}
	EXPECT(r, stack_table_refused(t) == refused);
	EXPECT(r, stack_table_count(t) == m->count + 2 && stack_table_count(t) <= bound);
	for (uint32_t i = 0; i < m->count; i++) {
		struct frame frame = any_frame(m->frame[i]);

		EXPECT(r, holds(t, STACK_ID(m->id[i]), STACK_ID(m->outer[i]), &frame, 1));
	}
	failing_allocation = 0;
	stack_table_free(t);
	free(m);
}

static void stacks_are_kept_as_a_whole_or_not(void **state)
{
	uint64_t rounds = unit_number("UNIT_ROUNDS", getenv("UNDER_VALGRIND") ? 10 : 300);

	(void)state;
	for (uint64_t round = 0; round < rounds; round++) {
		struct prng r = prng_round(round);

		random_stacks(&r);
	}
}

/* Kept stacks keep their frames and their order. Forgotten stacks free their bytes. */
static void stacks_that_are_not_in_use_are_forgotten(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(200); round++) {
		struct prng p = prng_round(round);
		struct quota memory = {.limit = 1 << 20};
		struct stack_table *t = stack_table_new();
		struct frame frames[64][4];
		uint32_t stacks[64], depth[64], numbers[512], kept = 0;
		bool stays[64];

		assert_non_null(t);
		stack_table_limit(t, &memory);
		for (uint32_t i = 0; i < 64; i++) {
			depth[i] = 1 + (uint32_t)prng_below(&p, 4);
			for (uint32_t k = 0; k < depth[i]; k++)
				frames[i][k] = code(2 + (uint32_t)prng_below(&p, 4),
						    prng_below(&p, 4), FRAME_CODE);
			stacks[i] = add(t, frames[i], depth[i]).number;
			stays[i] = prng_chance(&p, 30);
		}
		assert_true(stack_table_count(t) <= 512);
		memset(numbers, 0xff, sizeof(numbers));
		for (uint32_t i = 0; i < 64; i++)
			if (stays[i])
				stack_table_use(t, STACK_ID(stacks[i]), numbers);
		assert_true(stack_table_forget(t, numbers));
		for (uint32_t i = 0; i < 64; i++) {
			uint32_t now = numbers[stacks[i]];

			if (!stays[i])
				continue;
			kept++;
			assert_true(now <= stacks[i]);
			assert_true(holds(t, STACK_ID(now), STACK_EMPTY, frames[i], depth[i]));
			/* the stack is found again */
			assert_int_equal(add(t, frames[i], depth[i]).number, now);
		}
		assert_true(kept || stack_table_count(t) == 2);
		for (uint32_t i = 2; i < stack_table_count(t); i++)
			assert_true(stack_table_outer(t, STACK_ID(i)).number < i);
		assert_int_equal(memory.used, (stack_table_count(t) - 2) * STACK_TABLE_STACK_BYTES +
						      (stack_table_frame_count(t) - 1) *
							      STACK_TABLE_FRAME_BYTES);
		stack_table_free(t);
	}
}

#define TEST(name) cmocka_unit_test_teardown(name, free_bounds)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(equal_stacks_are_one),
		TEST(texts_files_and_lines_are_of_a_frame),
		TEST(the_empty_stack_is_there),
		TEST(stacks_share_their_outer_frames),
		TEST(frames_have_numbers),
		TEST(many_stacks_are_preserved),
		TEST(a_stack_below_another),
		TEST(the_bound_is_two_million),
		TEST(excess_stacks_become_one),
		TEST(nothing_is_added_below_one_that_is_not_kept),
		TEST(without_memory_there_is_none),
		TEST(stacks_are_kept_as_a_whole_or_not),
		TEST(stacks_that_are_not_in_use_are_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
