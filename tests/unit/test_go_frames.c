/* SPDX-License-Identifier: MIT */
/* Go's table of functions, made by its rules in both layouts; and damaged ones. */
#include "unit.h"
#include "symbolize/go_frames.h"

#define TEXT UINT64_C(0x401000)

/* One table: a function of the compiler, one of assembler, one that is outermost. */
struct made {
	uint8_t bytes[512];
	size_t size;
};

static void put(struct made *m, size_t at, const void *what, size_t size)
{
	assert_true(at + size <= sizeof(m->bytes));
	memcpy(m->bytes + at, what, size);
	if (at + size > m->size)
		m->size = at + size;
}

static void put32(struct made *m, size_t at, uint32_t value)
{
	put(m, at, &value, sizeof(value));
}

static void put64(struct made *m, size_t at, uint64_t value)
{
	put(m, at, &value, sizeof(value));
}

enum { PCTAB = 72, PCLN = 120 };

static void make(struct made *m, bool is_1_20, uint64_t text)
{
	/* zigzag changes from -1, lengths: 0 for 4 bytes, 24 for 60 */
	static const uint8_t deltas[] = {2, 4, 48, 60, 0};
	static const uint32_t starts[] = {0, 64, 128, 160};
	static const uint8_t flags[] = {0, 4, 1 | 4};

	memset(m, 0, sizeof(*m));
	put32(m, 0, is_1_20 ? 0xfffffff1 : 0xfffffff0);
	put(m, 6, "\1\10", 2);
	put64(m, 8, 3);
	put64(m, 24, text);
	put64(m, 56, PCTAB);
	put64(m, 64, PCLN);
	put(m, PCTAB + 5, deltas, sizeof(deltas));
	for (uint32_t i = 0; i < 4; i++)
		put32(m, PCLN + 8 * i, starts[i]);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t function = 40 + 48 * i;

		put32(m, PCLN + 8 * i + 4, function);
		put32(m, PCLN + function, starts[i]);
		put32(m, PCLN + function + 16, 5);
		put(m, PCLN + function + (is_1_20 ? 41 : 37), &flags[i], 1);
	}
	m->size = PCLN + 40 + 48 * 3;
}

static bool is_usable(struct go_table *t)
{
	return go_table_open(t) && go_frames_are_in(t);
}

static struct go_table open_table(const struct made *m)
{
	struct go_table t = {.bytes = (const char *)m->bytes, .size = m->size};

	assert_true(is_usable(&t));
	return t;
}

static void rows_of_both_layouts(void **state)
{
	(void)state;
	for (int version = 0; version < 2; version++) {
		struct go_table t;
		struct cfi_row row;
		struct made m;

		make(&m, version, TEXT);
		t = open_table(&m);
		assert_int_equal(go_frames_find_row(&t, TEXT + 3, &row), 0);
		assert_int_equal(row.cfa_register, CFI_RSP);
		assert_int_equal(row.cfa_offset, 8);
		assert_int_equal(row.rules[CFI_PC].kind, CFI_OFFSET);
		assert_int_equal(row.rules[CFI_PC].offset, -8);
		assert_int_equal(row.rules[CFI_RBP].kind, CFI_SAME);
		assert_int_equal(go_frames_find_row(&t, TEXT + 4, &row), 0);
		assert_int_equal(row.cfa_offset, 32);
		assert_int_equal(row.rules[CFI_RBP].kind, CFI_OFFSET);
		assert_int_equal(row.rules[CFI_RBP].offset, -16);
		assert_int_equal(go_frames_find_row(&t, TEXT + 64 + 63, &row), 0);
		assert_int_equal(row.cfa_offset, 32);
		assert_int_equal(row.rules[CFI_RBP].kind, CFI_UNDEFINED);
		assert_int_equal(go_frames_find_row(&t, TEXT + 128, &row), 0);
		assert_int_equal(row.rules[CFI_PC].kind, CFI_UNDEFINED);
		assert_int_equal(go_frames_find_row(&t, TEXT + 160, &row), -ENOENT);
		assert_int_equal(go_frames_find_row(&t, TEXT - 1, &row), -ENOENT);
	}
}

static void bounds(void **state)
{
	struct cfi_bounds b;
	struct go_table t;
	struct made m;

	(void)state;
	make(&m, false, TEXT);
	t = open_table(&m);
	b = go_frames_find_bounds(&t, TEXT + 64);
	assert_true(b.is_function && b.start == TEXT + 64 && b.end == TEXT + 128);
	b = go_frames_find_bounds(&t, TEXT + 127);
	assert_true(b.is_function && b.start == TEXT + 64);
	b = go_frames_find_bounds(&t, TEXT + 160);
	assert_true(!b.is_function && b.start == TEXT + 160 && b.end == UINT64_MAX);
	b = go_frames_find_bounds(&t, 5);
	assert_true(!b.is_function && b.start == 0 && b.end == TEXT);
	/* the first function may begin behind the code's beginning */
	put32(&m, PCLN, 16);
	b = go_frames_find_bounds(&t, TEXT + 15);
	assert_true(!b.is_function && b.start == 0 && b.end == TEXT + 16);
}

static void other_tables_are_refused(void **state)
{
	struct made m;

	(void)state;
	for (int how = 0; how < 10; how++) {
		struct go_table t;

		make(&m, true, TEXT);
		if (how == 0)
			put32(&m, 0, 0xfffffffa); /* Go 1.16 */
		else if (how == 1)
			m.bytes[7] = 4; /* 32 bits */
		else if (how == 2)
			put64(&m, 8, 1000);
		else if (how == 3)
			put64(&m, 8, UINT64_MAX);
		else if (how == 4)
			put64(&m, 64, m.size);
		else if (how == 5)
			put64(&m, 56, m.size);
		else if (how == 6)
			put64(&m, 24, 0); /* the start of code is unknown */
		else if (how == 8)
			put64(&m, 24, UINT64_MAX - 100); /* end past all addresses */
		else if (how == 7)
			m.bytes[4] = 1;
		else
			m.size = 60;
		t = (struct go_table){.bytes = (const char *)m.bytes, .size = m.size};
		assert_false(is_usable(&t));
	}
}

/* Each step of a walk looks one up: what leads to it may not be as long as the table. */
static void long_deltas_are_malformed(void **state)
{
	enum { DELTAS = 512, PAIRS = 40000 };
	uint8_t *bytes = calloc(1, DELTAS + 4 * PAIRS);
	struct go_table t;
	struct cfi_row row;
	struct made m;

	(void)state;
	assert_non_null(bytes);
	make(&m, true, TEXT);
	put32(&m, PCLN + 40 + 16, DELTAS - PCTAB);
	memcpy(bytes, m.bytes, m.size);
	for (size_t i = DELTAS; i < DELTAS + 4 * PAIRS; i += 4)
		memcpy(bytes + i, (uint8_t[]){18, 0, 17, 0}, 4); /* 9 more, 9 less, for no code */
	memcpy(bytes + DELTAS + 2 * 100, (uint8_t[]){18, 64}, 2);
	t = (struct go_table){.bytes = (const char *)bytes, .size = DELTAS + 4 * PAIRS};
	assert_true(is_usable(&t));
	assert_int_equal(go_frames_find_row(&t, TEXT, &row), 0);
	assert_int_equal(row.cfa_offset, 8 + 8);
	assert_int_equal(row.cost, 2 * 101);
	memcpy(bytes + DELTAS + 2 * 100, (uint8_t[]){18, 0}, 2);
	memcpy(bytes + DELTAS + 2 * 60000, (uint8_t[]){18, 64}, 2);
	assert_int_equal(go_frames_find_row(&t, TEXT, &row), -EBADMSG);
	assert_int_equal(row.cost, CFI_ENTRY_MAX);
	free(bytes);
}

static void damaged_tables_are_errors_or_harmless(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(20000); round++) {
		struct prng p = prng_round(round);
		struct cfi_row row;
		struct made m;
		char *copy;

		make(&m, prng_chance(&p, 50), TEXT);
		for (uint64_t n = prng_below(&p, 6); n > 0; n--)
			m.bytes[prng_below(&p, m.size)] = (uint8_t)prng_u64(&p);
		m.size = prng_chance(&p, 20) ? prng_below(&p, m.size) : m.size;
		copy = malloc(m.size + 1); /* exact size, for memory checkers */
		assert_non_null(copy);
		memcpy(copy, m.bytes, m.size);
		for (int i = 0; i < 20; i++) {
			struct go_table t = {.bytes = copy, .size = m.size};
			uint64_t pc = TEXT + prng_below(&p, 200);
			int err;

			if (!is_usable(&t))
				break;
			err = go_frames_find_row(&t, pc, &row);
			EXPECT(&p, err == 0 || err == -ENOENT || err == -EBADMSG);
			go_frames_find_bounds(&t, pc);
		}
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_both_layouts),
		cmocka_unit_test(bounds),
		cmocka_unit_test(other_tables_are_refused),
		cmocka_unit_test(long_deltas_are_malformed),
		cmocka_unit_test(damaged_tables_are_errors_or_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
