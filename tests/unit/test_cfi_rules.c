/* SPDX-License-Identifier: MIT */
/*
 * Call-frame information by the rules of DWARF 4 (6.4, 7.23, 2.5) and of the Linux Standard Base.
 * Sections are made byte by byte, to cover rules that compilers seldom or never use.
 */
#include "unit.h"
#include "symbolize/cfi.h"
#include "find_row.h"

#define FRAMES_AT 0x10000
#define CODE_AT 0x2000
#define CODE_SIZE 0x100

/* ---- sections ---- */

static uint8_t section[200000];
static size_t used;
static bool is_debug_frame;

static void put(const void *bytes, size_t count)
{
	assert_true(used + count <= sizeof(section));
	memcpy(section + used, bytes, count);
	used += count;
}

static void put_u8(uint8_t value)
{
	put(&value, sizeof(value));
}

static void put_u32(uint32_t value)
{
	put(&value, sizeof(value));
}

static void put_u64(uint64_t value)
{
	put(&value, sizeof(value));
}

/* Reserves room for the entry's length, which end_entry() fills in. Returns the entry's start. */
static size_t begin_entry(bool is_long)
{
	size_t start = used;

	put_u32(is_long ? UINT32_MAX : 0);
	if (is_long)
		put_u64(0);
	return start;
}

static void end_entry(size_t start, bool is_long)
{
	uint64_t length = used - start - (is_long ? 12 : 4);

	memcpy(section + start + (is_long ? 4 : 0), &length, is_long ? 8 : 4);
}

struct bytes_of {
	const uint8_t *at;
	size_t count;
};
#define BYTES(...) \
	((struct bytes_of){(const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})})

struct common {
	const char *letters; /* augmentation string */
	struct bytes_of data;
	struct bytes_of program;
	uint8_t version, code_alignment;
	int8_t data_alignment;
	bool is_long;
	uint8_t encoding; /* pointer encoding of functions: only for the writer of these sections */
};

#define ABSOLUTE_8 0x00
#define SIGNED_2 0x0a
#define SIGNED_4_FROM_HERE 0x1b

/* The CFA is rsp + 8, and the return address is at CFA - 8. */
#define AT_ENTRY BYTES(0x0c, 7, 8, 0x90, 1)

static const struct common usual = {
	.letters = "zR",
	.data = {(const uint8_t[]){SIGNED_4_FROM_HERE}, 1},
	.version = 1,
	.code_alignment = 1,
	.data_alignment = -8,
	.encoding = SIGNED_4_FROM_HERE,
};

static size_t put_common(const struct common *c)
{
	struct bytes_of program = c->program.at ? c->program : AT_ENTRY;
	size_t start = begin_entry(c->is_long);

	put_u32(is_debug_frame ? UINT32_MAX : 0);
	put_u8(c->version);
	put(c->letters, strlen(c->letters) + 1);
	if (c->version == 4) {
		put_u8(8);
		put_u8(0);
	}
	put_u8(c->code_alignment);
	put_u8((uint8_t)c->data_alignment & 0x7f); /* one byte of SLEB128 */
	put_u8(16);                                /* the return address's column */
	if (c->letters[0] == 'z')
		put_u8((uint8_t)c->data.count);
	if (c->data.count)
		put(c->data.at, c->data.count);
	put(program.at, program.count);
	end_entry(start, c->is_long);
	return start;
}

static void put_pointer(uint8_t encoding, uint64_t value)
{
	uint64_t here = FRAMES_AT + used;

	if (encoding == SIGNED_4_FROM_HERE)
		put_u32((uint32_t)(value - here));
	else if (encoding == SIGNED_2)
		put(&value, 2);
	else
		put_u64(value);
}

/* Returns where it begins. */
static size_t put_function(const struct common *c, size_t common_at, uint64_t at,
			   struct bytes_of program)
{
	size_t start = begin_entry(c->is_long), id_at = used;

	put_u32((uint32_t)(is_debug_frame ? common_at : id_at - common_at));
	put_pointer(c->encoding, at);
	if (c->encoding == SIGNED_4_FROM_HERE)
		put_u32(CODE_SIZE); /* a size is relative to nothing */
	else
		put_pointer(c->encoding, CODE_SIZE);
	if (c->letters[0] == 'z')
		put_u8(0);
	if (program.count)
		put(program.at, program.count);
	end_entry(start, c->is_long);
	return start;
}

static struct cfi_table table(void)
{
	return (struct cfi_table){.frames = section,
				  .frames_size = used,
				  .frames_address = FRAMES_AT,
				  .is_debug_frame = is_debug_frame};
}

/* Finds the row at CODE_AT + offset of a function with this program. */
static int row_at(const struct common *c, struct bytes_of program, uint64_t offset,
		  struct cfi_row *row)
{
	struct cfi_table t;
	uint64_t at = c->encoding == SIGNED_2 ? (uint64_t)-0x200 : CODE_AT;

	used = 0;
	put_function(c, put_common(c), at, program);
	t = table();
	return find_row(&t, at + offset, row);
}

static void expect_cfa(const struct cfi_row *row, uint8_t reg, int32_t offset)
{
	assert_false(row->cfa_is_expression);
	assert_int_equal(row->cfa_register, reg);
	assert_int_equal(row->cfa_offset, offset);
}

static const struct bytes_of nothing;

/* ---- entries ---- */

static void functions_end_before_their_end(void **state)
{
	struct cfi_row row;

	(void)state;
	assert_int_equal(row_at(&usual, nothing, 0, &row), 0);
	expect_cfa(&row, CFI_RSP, 8);
	assert_int_equal(row.rules[CFI_PC].kind, CFI_OFFSET);
	assert_int_equal(row.rules[CFI_PC].offset, -8);
	assert_int_equal(row_at(&usual, nothing, CODE_SIZE - 1, &row), 0);
	assert_int_equal(row_at(&usual, nothing, CODE_SIZE, &row), -ENOENT);
	assert_int_equal(row_at(&usual, nothing, (uint64_t)-1, &row), -ENOENT);
}

static void forms_of_common_entries(void **state)
{
	struct common c = usual;
	struct cfi_row row;

	(void)state;
	for (c.version = 1; c.version <= 4; c.version++) {
		if (c.version == 2)
			continue; /* no such register */
		assert_int_equal(row_at(&c, BYTES(0x0e, 16), 0, &row), 0);
		expect_cfa(&row, CFI_RSP, 16);
	}
	c = usual;
	c.version = 5;
	assert_int_not_equal(row_at(&c, nothing, 0, &row), 0);
	c = usual;
	c.is_long = true;
	assert_int_equal(row_at(&c, BYTES(0x0e, 24), 0, &row), 0);
	expect_cfa(&row, CFI_RSP, 24);
	/* no augmentation: absolute pointers, and no data in functions */
	c = usual;
	c.letters = "";
	c.data = nothing;
	c.encoding = ABSOLUTE_8;
	assert_int_equal(row_at(&c, BYTES(0x0e, 32), 0, &row), 0);
	expect_cfa(&row, CFI_RSP, 32);
	assert_false(row.is_signal_frame);
}

static void version_1_has_a_byte_for_the_return_address(void **state)
{
	/* 0x90: in other versions it would be a number of two bytes */
	static const uint8_t entry[] = {0, 0, 0, 0, 1, 0, 1, 0x78, 0x90, 0x0c, 7, 8, 0x90, 1};
	struct cfi_table t;
	struct cfi_row row;
	size_t start;

	(void)state;
	used = 0;
	start = begin_entry(false);
	put(entry, sizeof(entry));
	end_entry(start, false);
	put_function(&(struct common){.letters = "", .encoding = ABSOLUTE_8}, start, CODE_AT,
		     nothing);
	t = table();
	assert_int_equal(find_row(&t, CODE_AT, &row), 0);
	expect_cfa(&row, CFI_RSP, 8);
}

static void augmentations(void **state)
{
	struct common c = usual;
	struct cfi_row row;

	(void)state;
	/* L has a byte, P a pointer in its encoding, S nothing; R comes last */
	c.letters = "zLPSR";
	c.data = BYTES(0x1b, 0x1b, 1, 2, 3, 4, SIGNED_4_FROM_HERE);
	assert_int_equal(row_at(&c, nothing, 0, &row), 0);
	assert_true(row.is_signal_frame);
	c.letters = "zPR";
	c.data = BYTES(0x00, 1, 2, 3, 4, 5, 6, 7, 8, SIGNED_4_FROM_HERE);
	assert_int_equal(row_at(&c, nothing, 0, &row), 0);
	assert_false(row.is_signal_frame);
	c.data = BYTES(0x02, 1, 2, SIGNED_4_FROM_HERE);
	assert_int_equal(row_at(&c, nothing, 0, &row), 0);
	/* letters that no compiler writes, but not as many as fit */
	c = usual;
	c.letters = "zRxxxxxxxxxxxxx";
	assert_int_equal(row_at(&c, nothing, 0, &row), 0);
	c.letters = "zRxxxxxxxxxxxxxx";
	assert_int_equal(row_at(&c, nothing, 0, &row), -ENOENT);
	/* the data of a function is skipped */
	c = usual;
	used = 0;
	{
		size_t common_at = put_common(&c), start = begin_entry(false), id_at = used;
		struct cfi_table t;

		put_u32((uint32_t)(id_at - common_at));
		put_pointer(c.encoding, CODE_AT);
		put_u32(CODE_SIZE);
		put_u8(3);
		put(BYTES(0x0e, 99, 0x0e).at, 3);
		put(BYTES(0x0e, 16).at, 2);
		end_entry(start, false);
		t = table();
		assert_int_equal(find_row(&t, CODE_AT, &row), 0);
		expect_cfa(&row, CFI_RSP, 16);
	}
}

static void signed_pointers(void **state)
{
	struct common c = usual;
	struct cfi_row row;

	(void)state;
	c.data = BYTES(SIGNED_2);
	c.encoding = SIGNED_2;
	assert_int_equal(row_at(&c, nothing, 0, &row), 0); /* CFA offset -0x200 */
	assert_int_equal(row_at(&c, nothing, 0x7f, &row), 0);
}

static void debug_frames(void **state)
{
	struct cfi_table t;
	struct cfi_row row;
	struct common c = {.letters = "",
			   .version = 4,
			   .code_alignment = 1,
			   .data_alignment = -8,
			   .encoding = ABSOLUTE_8};
	size_t common_at;

	(void)state;
	is_debug_frame = true;
	used = 0;
	/* the second common entry is found from the section's start */
	put_common(&c);
	c.program = BYTES(0x0c, 6, 16, 0x90, 1);
	common_at = put_common(&c);
	put_function(&c, common_at, CODE_AT, nothing);
	t = table();
	assert_int_equal(find_row(&t, CODE_AT, &row), 0);
	expect_cfa(&row, CFI_RBP, 16);
	/* the id of an .eh_frame CIE is no CIE's id in .debug_frame */
	memset(section + common_at + 4, 0, 4);
	assert_int_not_equal(find_row(&t, CODE_AT, &row), 0);
	is_debug_frame = false;
}

static void count_function(void *context, const struct cfi_index_entry *entry)
{
	assert_true(entry->end == entry->start + CODE_SIZE);
	++*(int *)context;
}

static void terminators_in_the_middle(void **state)
{
	struct cfi_table t;
	struct cfi_row row;
	size_t common_at;
	int functions = 0;

	(void)state;
	used = 0;
	common_at = put_common(&usual);
	put_function(&usual, common_at, CODE_AT, nothing);
	put_u32(0);
	put_function(&usual, common_at, CODE_AT + CODE_SIZE, BYTES(0x0e, 16));
	t = table();
	assert_int_equal(cfi_each_function(&t, count_function, &functions), 0);
	assert_int_equal(functions, 2);
	assert_int_equal(find_row(&t, CODE_AT + CODE_SIZE, &row), 0);
	expect_cfa(&row, CFI_RSP, 16);
	/* an entry that ends behind the section ends the list */
	put_u32(1000);
	t = table();
	assert_int_equal(cfi_each_function(&t, count_function, &functions), -EBADMSG);
	assert_int_equal(functions, 4);
}

static void entries_are_limited(void **state)
{
	static uint8_t nops[CFI_ENTRY_MAX + 1];
	struct bytes_of program = {nops, sizeof(nops) - 100};
	struct cfi_row row;

	(void)state;
	assert_int_equal(row_at(&usual, program, 0, &row), 0);
	program.count = sizeof(nops);
	assert_int_not_equal(row_at(&usual, program, 0, &row), 0);
}

/* ---- the search table ---- */

#define INDEX_AT 0x8000

/* Makes .eh_frame_hdr with these encodings and pairs of addresses. Returns its size. */
static size_t make_index(uint8_t *index, uint8_t encoding, uint32_t count,
			 const uint64_t (*pairs)[2], uint32_t pair_count)
{
	const int32_t frames = FRAMES_AT - (INDEX_AT + 4);
	uint8_t *at = index;

	at = (uint8_t *)mempcpy(at, (uint8_t[]){1, 0x1b, 0x03, encoding}, 4);
	at = (uint8_t *)mempcpy(at, &frames, 4);
	at = (uint8_t *)mempcpy(at, &count, 4);
	for (uint32_t i = 0; i < pair_count; i++)
		for (int part = 0; part < 2; part++) {
			int32_t relative = (int32_t)(pairs[i][part] - INDEX_AT);

			at = (uint8_t *)mempcpy(at, &relative, 4);
		}
	return (size_t)(at - index);
}

static void by_the_search_table(void **state)
{
	uint8_t index[256], *copy;
	uint64_t pairs[3][2] = {{CODE_AT}, {CODE_AT + CODE_SIZE}, {CODE_AT + 4 * CODE_SIZE}};
	struct cfi_table t;
	struct cfi_row row;
	size_t common_at;

	(void)state;
	used = 0;
	common_at = put_common(&usual);
	for (uint8_t i = 0; i < 3; i++)
		pairs[i][1] = FRAMES_AT + put_function(&usual, common_at, pairs[i][0],
						       BYTES(0x0e, (uint8_t)(16 + i)));
	t = table();
	t.index = index;
	t.index_address = INDEX_AT;
	t.index_size = make_index(index, 0x3b, 3, pairs, 3);
	assert_int_equal(find_row(&t, CODE_AT - 1, &row), -ENOENT);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(find_row(&t, pairs[i][0], &row), 0);
		expect_cfa(&row, CFI_RSP, 16 + i);
		assert_int_equal(find_row(&t, pairs[i][0] + CODE_SIZE - 1, &row), 0);
		expect_cfa(&row, CFI_RSP, 16 + i);
	}
	assert_int_equal(find_row(&t, CODE_AT + 2 * CODE_SIZE, &row), -ENOENT);
	/* a function that is not in the section */
	pairs[1][1] = FRAMES_AT + used;
	make_index(index, 0x3b, 3, pairs, 3);
	assert_int_equal(find_row(&t, pairs[1][0], &row), -EBADMSG);
	pairs[1][1] = FRAMES_AT - 8;
	make_index(index, 0x3b, 3, pairs, 3);
	assert_int_equal(find_row(&t, pairs[1][0], &row), -EBADMSG);
	/* more entries than there are, in memory that ends there; another encoding */
	t.index_size = make_index(index, 0x3b, 4, pairs, 3);
	copy = malloc(t.index_size);
	assert_non_null(copy);
	memcpy(copy, index, t.index_size);
	t.index = copy;
	assert_int_equal(find_row(&t, CODE_AT, &row), -EBADMSG);
	free(copy);
	t.index = index;
	make_index(index, 0x1b, 3, pairs, 3);
	assert_int_equal(find_row(&t, CODE_AT, &row), -EBADMSG);
}

/* ---- programs ---- */

#define ADVANCE(n) (0x40 | (n))

static void locations(void **state)
{
	struct common c = usual;
	struct cfi_row row;

	(void)state;
	/* advances to 4, to 0x24 (one byte), to 0x44 (two), to 0x64 (four) */
	const struct bytes_of program = BYTES(ADVANCE(4), 0x0e, 16, 0x02, 0x20, 0x0e, 24, 0x03,
					      0x20, 0, 0x0e, 32, 0x04, 0x20, 0, 0, 0, 0x0e, 40);
	static const int32_t offsets[][2] = {{0, 8},     {3, 8},     {4, 16},    {0x23, 16},
					     {0x24, 24}, {0x43, 24}, {0x44, 32}, {0x64, 40}};

	for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++) {
		assert_int_equal(row_at(&usual, program, (uint64_t)offsets[i][0], &row), 0);
		expect_cfa(&row, CFI_RSP, offsets[i][1]);
	}
	c.code_alignment = 4;
	assert_int_equal(row_at(&c, BYTES(ADVANCE(4), 0x0e, 16), 15, &row), 0);
	expect_cfa(&row, CFI_RSP, 8);
	assert_int_equal(row_at(&c, BYTES(ADVANCE(4), 0x0e, 16), 16, &row), 0);
	expect_cfa(&row, CFI_RSP, 16);
}

static void the_cfa(void **state)
{
	struct cfi_row row;

	(void)state;
	/* def_cfa, def_cfa_register, def_cfa_offset; then their signed, factored forms */
	assert_int_equal(row_at(&usual, BYTES(0x0c, 6, 24), 0, &row), 0);
	expect_cfa(&row, CFI_RBP, 24);
	assert_int_equal(row_at(&usual, BYTES(0x0d, 6), 0, &row), 0);
	expect_cfa(&row, CFI_RBP, 8);
	assert_int_equal(row_at(&usual, BYTES(0x0d, 6, 0x0e, 32), 0, &row), 0);
	expect_cfa(&row, CFI_RBP, 32);
	assert_int_equal(row_at(&usual, BYTES(0x12, 6, 0x7e), 0, &row), 0);
	expect_cfa(&row, CFI_RBP, 16);
	assert_int_equal(row_at(&usual, BYTES(0x13, 0x7d), 0, &row), 0);
	expect_cfa(&row, CFI_RSP, 24);
	/* an expression, and a register again */
	assert_int_equal(row_at(&usual, BYTES(0x0f, 2, 0x77, 8), 0, &row), 0);
	assert_true(row.cfa_is_expression);
	assert_int_equal(row.cfa_expression_size, 2);
	assert_int_equal(row_at(&usual, BYTES(0x0f, 2, 0x77, 8, 0x0c, 7, 16), 0, &row), 0);
	expect_cfa(&row, CFI_RSP, 16);
	/* a register that there is not; an offset that does not fit */
	assert_int_equal(row_at(&usual, BYTES(0x0c, 17, 8), 0, &row), -EBADMSG);
	assert_int_equal(row_at(&usual, BYTES(0x0e, 0x80, 0x80, 0x80, 0x80, 0x10), 0, &row),
			 -EBADMSG);
}

static void expect_rule(struct bytes_of program, unsigned int reg, enum cfi_rule_kind kind,
			int32_t offset)
{
	struct cfi_row row;

	assert_int_equal(row_at(&usual, program, 0, &row), 0);
	assert_int_equal(row.rules[reg].kind, kind);
	assert_int_equal(row.rules[reg].offset, offset);
}

static void rules_of_registers(void **state)
{
	struct cfi_row row;

	(void)state;
	expect_rule(nothing, CFI_RBX, CFI_SAME, 0);
	expect_rule(BYTES(0x80 | 3, 2), CFI_RBX, CFI_OFFSET, -16);
	expect_rule(BYTES(0x05, 3, 2), CFI_RBX, CFI_OFFSET, -16);
	expect_rule(BYTES(0x11, 3, 0x7e), CFI_RBX, CFI_OFFSET, 16);
	expect_rule(BYTES(0x2f, 3, 2), CFI_RBX, CFI_OFFSET, 16);
	expect_rule(BYTES(0x14, 3, 2), CFI_RBX, CFI_VAL_OFFSET, -16);
	expect_rule(BYTES(0x15, 3, 0x7e), CFI_RBX, CFI_VAL_OFFSET, 16);
	expect_rule(BYTES(0x07, 3), CFI_RBX, CFI_UNDEFINED, 0);
	expect_rule(BYTES(0x80 | 3, 2, 0x08, 3), CFI_RBX, CFI_SAME, 0);
	assert_int_equal(row_at(&usual, BYTES(0x09, 3, 12), 0, &row), 0);
	assert_int_equal(row.rules[CFI_RBX].kind, CFI_REGISTER_RULE);
	assert_int_equal(row.rules[CFI_RBX].reg, 12);
	assert_int_equal(row_at(&usual, BYTES(0x10, 3, 2, 0x76, 8), 0, &row), 0);
	assert_int_equal(row.rules[CFI_RBX].kind, CFI_EXPRESSION);
	assert_int_equal(row.rules[CFI_RBX].expression_size, 2);
	assert_int_equal(row_at(&usual, BYTES(0x16, 3, 2, 0x76, 8), 0, &row), 0);
	assert_int_equal(row.rules[CFI_RBX].kind, CFI_VAL_EXPRESSION);
	/* other registers, as xmm0, do not disturb what follows */
	expect_rule(
		BYTES(0x80 | 17, 4, 0x07, 40, 0x09, 40, 12, 0x10, 40, 1, 0x30, 0x0a, 0x80 | 3, 2),
		CFI_RBX, CFI_OFFSET, -16);
	/* the size of arguments has an operand */
	expect_rule(BYTES(0x2e, 0x83, 0x01, 0x80 | 3, 2), CFI_RBX, CFI_OFFSET, -16);
	/* an offset of -2^32 */
	assert_int_equal(row_at(&usual, BYTES(0x80 | 3, 0x80, 0x80, 0x80, 0x80, 0x02), 0, &row),
			 -EBADMSG);
	/* unknown operations */
	assert_int_equal(row_at(&usual, BYTES(0x3f), 0, &row), -EBADMSG);
}

static void restoring(void **state)
{
	struct common c = usual;
	struct cfi_row row;
	uint8_t many[64];

	(void)state;
	/* the common entry's rule, not none */
	c.program = BYTES(0x0c, 7, 8, 0x90, 1, 0x80 | 3, 5);
	assert_int_equal(row_at(&c, BYTES(0x80 | 3, 2, 0xc0 | 3), 0, &row), 0);
	assert_int_equal(row.rules[CFI_RBX].kind, CFI_OFFSET);
	assert_int_equal(row.rules[CFI_RBX].offset, -40);
	assert_int_equal(row_at(&c, BYTES(0x07, 3, 0x06, 3), 0, &row), 0);
	assert_int_equal(row.rules[CFI_RBX].offset, -40);
	/* states nest, and have all that a row has */
	assert_int_equal(row_at(&usual, BYTES(0x0a, 0x0e, 16, 0x0a, 0x0c, 6, 24, 0x80 | 3, 2, 0x0b),
				0, &row),
			 0);
	expect_cfa(&row, CFI_RSP, 16);
	assert_int_equal(row.rules[CFI_RBX].kind, CFI_SAME);
	assert_int_equal(row_at(&usual, BYTES(0x0a, 0x0e, 16, 0x0a, 0x0e, 24, 0x0b, 0x0b), 0, &row),
			 0);
	expect_cfa(&row, CFI_RSP, 8);
	/* none to restore; more than are kept */
	assert_int_equal(row_at(&usual, BYTES(0x0b), 0, &row), -EBADMSG);
	memset(many, 0x0a, sizeof(many));
	assert_int_equal(row_at(&usual, (struct bytes_of){many, sizeof(many)}, 0, &row), -EBADMSG);
}

/* ---- applying rows ---- */

static uint64_t memory[64];
#define MEMORY_AT 0x7000

static bool read_memory(void *context, uint64_t address, uint64_t *value)
{
	(void)context;
	if (address < MEMORY_AT || address - MEMORY_AT > sizeof(memory) - 8 || address % 8)
		return false;
	*value = memory[(address - MEMORY_AT) / 8];
	return true;
}

/* Returns known values for all registers: register i has 100 + i, rsp the memory's start. */
static struct cfi_registers all_known(void)
{
	struct cfi_registers r = {.known = (1u << CFI_REGISTERS) - 1};

	for (uint64_t i = 0; i < CFI_REGISTERS; i++)
		r.value[i] = 100 + i;
	r.value[CFI_RSP] = MEMORY_AT;
	for (size_t i = 0; i < sizeof(memory) / sizeof(*memory); i++)
		memory[i] = 0x1000 + i;
	return r;
}

/* Returns a row with CFA = rsp + 16, and the return address below the CFA. */
static struct cfi_row plain_row(void)
{
	struct cfi_row row = {.cfa_register = CFI_RSP, .cfa_offset = 16};

	row.rules[CFI_PC] = (struct cfi_rule){.kind = CFI_OFFSET, .offset = -8};
	return row;
}

static void to_the_caller(void **state)
{
	struct cfi_registers r = all_known();
	struct cfi_row row = plain_row();

	(void)state;
	row.rules[CFI_RBP] = (struct cfi_rule){.kind = CFI_OFFSET, .offset = -16};
	row.rules[CFI_RBX] = (struct cfi_rule){.kind = CFI_REGISTER_RULE, .reg = CFI_RBP};
	row.rules[12] = (struct cfi_rule){.kind = CFI_VAL_OFFSET, .offset = 24};
	row.rules[13] = (struct cfi_rule){.kind = CFI_UNDEFINED};
	row.rules[14] = (struct cfi_rule){.kind = CFI_OFFSET, .offset = 1 << 20};
	assert_int_equal(cfi_apply(&row, &r, read_memory, NULL), 0);
	assert_int_equal(r.value[CFI_PC], 0x1001);
	assert_int_equal(r.value[CFI_RSP], MEMORY_AT + 16);
	assert_int_equal(r.value[CFI_RBP], 0x1000);
	assert_int_equal(r.value[CFI_RBX], 100 + CFI_RBP); /* the value from before the step */
	assert_int_equal(r.value[12], MEMORY_AT + 16 + 24);
	assert_int_equal(r.value[15], 115);
	assert_int_equal(r.known, ((1u << CFI_REGISTERS) - 1) & ~(1u << 13) & ~(1u << 14));
}

/* A rule from another register means its value before the step, also where that has a rule. */
static void registers_are_those_before_the_step(void **state)
{
	struct cfi_registers r = all_known();
	struct cfi_row row = plain_row();

	(void)state;
	row.rules[CFI_RBX] = (struct cfi_rule){.kind = CFI_OFFSET, .offset = -16};
	row.rules[12] = (struct cfi_rule){.kind = CFI_REGISTER_RULE, .reg = CFI_RBX};
	assert_int_equal(cfi_apply(&row, &r, read_memory, NULL), 0);
	assert_int_equal(r.value[CFI_RBX], 0x1000);
	assert_int_equal(r.value[12], 100 + CFI_RBX);
}

static void steps_that_cannot_be_made(void **state)
{
	struct cfi_registers r = all_known();
	struct cfi_row row = plain_row();

	(void)state;
	row.rules[CFI_PC].kind = CFI_UNDEFINED;
	assert_int_equal(cfi_apply(&row, &r, read_memory, NULL), -ENOENT);
	row = plain_row();
	row.cfa_offset = 1 << 20;
	assert_int_equal(cfi_apply(&row, &r, read_memory, NULL), -EFAULT);
	row = plain_row();
	row.cfa_register = CFI_RBP;
	r.value[CFI_RBP] = MEMORY_AT;
	r.known &= ~(1u << CFI_RBP);
	assert_int_equal(cfi_apply(&row, &r, read_memory, NULL), -EFAULT);
	/* from an unknown register: unknown, too */
	r = all_known();
	r.known &= ~(1u << 12);
	row = plain_row();
	row.rules[CFI_RBX] = (struct cfi_rule){.kind = CFI_REGISTER_RULE, .reg = 12};
	assert_int_equal(cfi_apply(&row, &r, read_memory, NULL), 0);
	assert_false(r.known & 1u << CFI_RBX);
}

static void stack_pointers_with_a_rule(void **state)
{
	struct cfi_registers r = all_known();
	struct cfi_row row = plain_row();

	(void)state;
	row.rules[CFI_RSP] = (struct cfi_rule){.kind = CFI_OFFSET, .offset = 0};
	assert_int_equal(cfi_apply(&row, &r, read_memory, NULL), 0);
	assert_int_equal(r.value[CFI_RSP], 0x1002);
}

/* ---- expressions ---- */

/* Evaluates the expression with the CFA (MEMORY_AT + 16) on the stack. Stores the top of the
 * stack. */
static int evaluated(struct bytes_of code, uint64_t *value)
{
	struct cfi_registers r = all_known();
	struct cfi_row row = plain_row();
	uint8_t *copy = malloc(code.count); /* a read outside is seen */
	int err;

	assert_non_null(copy);
	memcpy(copy, code.at, code.count);
	r.known &= ~(1u << 15);
	row.rules[CFI_RBX] = (struct cfi_rule){.kind = CFI_VAL_EXPRESSION,
					       .expression = copy,
					       .expression_size = (uint16_t)code.count};
	err = cfi_apply(&row, &r, read_memory, NULL);
	assert_int_equal(err, 0);
	*value = r.value[CFI_RBX];
	free(copy);
	return r.known & 1u << CFI_RBX ? 0 : -1;
}

#define assert_value(expected, ...)                                         \
	do {                                                                \
		uint64_t value = 0;                                         \
		assert_int_equal(evaluated(BYTES(__VA_ARGS__), &value), 0); \
		assert_int_equal(value, (uint64_t)(expected));              \
	} while (0)
#define assert_no_value(...)                                                 \
	do {                                                                 \
		uint64_t value;                                              \
		assert_int_equal(evaluated(BYTES(__VA_ARGS__), &value), -1); \
	} while (0)

#define LIT(n) (0x30 + (n))
#define MINUS_1 0x09, 0xff /* const1s */

static void constants(void **state)
{
	(void)state;
	assert_value(7, LIT(7));
	assert_value(31, LIT(31));
	assert_value(0xfe, 0x08, 0xfe);
	assert_value(-2, 0x09, 0xfe);
	assert_value(0xfffe, 0x0a, 0xfe, 0xff);
	assert_value(-2, 0x0b, 0xfe, 0xff);
	assert_value(0xfffffffe, 0x0c, 0xfe, 0xff, 0xff, 0xff);
	assert_value(-2, 0x0d, 0xfe, 0xff, 0xff, 0xff);
	assert_value(-2, 0x0e, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff);
	assert_value(-2, 0x0f, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff);
	assert_value(0x80, 0x10, 0x80, 0x01);
	assert_value(-128, 0x11, 0x80, 0x7f);
	assert_value(0x8877665544332211, 0x03, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88);
	assert_value(100 + CFI_RBP + 5, 0x70 + CFI_RBP, 5);
	assert_value(100 + CFI_RBP - 1, 0x70 + CFI_RBP, 0x7f);
}

static void the_stack_of_an_expression(void **state)
{
	(void)state;
	assert_value(MEMORY_AT + 16, 0x96); /* the CFA */
	assert_value(0x1002, 0x06);         /* the word at the CFA */
	assert_value(2 * (MEMORY_AT + 16), 0x12, 0x22);
	assert_value(1, LIT(1), LIT(2), 0x13);       /* drop */
	assert_value(1, LIT(1), LIT(2), 0x14);       /* over: 1 2 1 */
	assert_value(2, LIT(1), LIT(2), 0x14, 0x13); /* 1 2 */
	assert_value(1, LIT(1), LIT(2), 0x16);       /* swap: 2 1 */
	assert_value(2, LIT(1), LIT(2), 0x16, 0x13); /* 2 */
	assert_value(MEMORY_AT + 16, LIT(1), LIT(2), 0x13, 0x13);
	assert_no_value(0x13);       /* nothing is left */
	assert_no_value(0x13, 0x13); /* an empty stack */
	assert_no_value(0x13, 0x22);
	assert_no_value(LIT(3), 0x06); /* no memory */
	assert_no_value(0x70 + 15, 0); /* a register that is not known */
	assert_no_value(0x70 + 17, 0); /* or no such word */
	assert_no_value(0x08);         /* the operand is missing */
	assert_no_value(0xf1);         /* unknown */
}

static void arithmetic(void **state)
{
	(void)state;
	assert_value(5, LIT(7), LIT(2), 0x1c);
	assert_value(-5, LIT(2), LIT(7), 0x1c);
	assert_value(14, LIT(7), LIT(2), 0x1e);
	assert_value(9, LIT(7), LIT(2), 0x22);
	assert_value(135, LIT(7), 0x23, 0x80, 0x01);
	assert_value(-7, LIT(7), 0x1f);
	assert_value(~7ull, LIT(7), 0x20);
	assert_value(2, LIT(7), LIT(10), 0x1a);
	assert_value(15, LIT(7), LIT(10), 0x21);
	assert_value(13, LIT(7), LIT(10), 0x27);
	assert_value(28, LIT(7), LIT(2), 0x24);
	assert_value(0, LIT(7), 0x08, 64, 0x24);
	assert_value(1, LIT(7), LIT(2), 0x25);
	assert_value(UINT64_MAX >> 2, MINUS_1, LIT(2), 0x25);
	assert_value(0, MINUS_1, 0x08, 64, 0x25);
	assert_value(-1, MINUS_1, LIT(2), 0x26);
	assert_value(-2, 0x09, 0xf8, LIT(2), 0x26);
	assert_value(-8, 0x09, 0xf8, LIT(0), 0x26);
	assert_value(-1, 0x09, 0xf8, 0x08, 64, 0x26);
	assert_value(1, LIT(7), LIT(2), 0x26);
	assert_value(0, LIT(7), 0x08, 64, 0x26);
}

static void comparisons_are_signed(void **state)
{
	/* eq, ge, gt, le, lt, ne of: 1 with 2, 2 with 2, -1 with 2 */
	static const uint8_t operations[] = {0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e};
	static const bool less[] = {false, false, false, true, true, true};
	static const bool equal[] = {true, true, false, true, false, false};

	(void)state;
	for (size_t i = 0; i < sizeof(operations); i++) {
		assert_value(less[i], LIT(1), LIT(2), operations[i]);
		assert_value(equal[i], LIT(2), LIT(2), operations[i]);
		assert_value(less[i], MINUS_1, LIT(2), operations[i]);
	}
}

static void jumps(void **state)
{
	(void)state;
	/* over a constant; if the top is not zero; to the end; backwards, out, for ever */
	assert_value(1, LIT(1), 0x2f, 1, 0, LIT(2));
	assert_value(1, LIT(1), LIT(3), 0x28, 1, 0, LIT(2));
	assert_value(2, LIT(1), LIT(0), 0x28, 1, 0, LIT(2));
	assert_value(1, LIT(1), 0x2f, 0, 0);
	assert_no_value(0x2f, 1, 0);
	assert_no_value(0x2f, 0xfc, 0xff);
	assert_no_value(0x2f, 0xfd, 0xff);
	/* counts 5 down to 0 and leaves it */
	assert_value(0, LIT(5), LIT(1), 0x1c, 0x12, 0x28, 0xfa, 0xff);
}

static void an_expression_s_stack_is_limited(void **state)
{
	uint8_t code[64];
	uint64_t value;

	(void)state;
	memset(code, LIT(1), sizeof(code));
	assert_int_equal(evaluated((struct bytes_of){code, 31}, &value), 0);
	assert_int_equal(evaluated((struct bytes_of){code, 32}, &value), -1); /* 33 values */
}

static void places_by_expression(void **state)
{
	static const uint8_t below[] = {LIT(16), 0x1c}, broken[] = {0xf1};
	struct cfi_registers r = all_known();
	struct cfi_row row = plain_row();

	(void)state;
	row.rules[CFI_RBX] = (struct cfi_rule){
		.kind = CFI_EXPRESSION, .expression = below, .expression_size = sizeof(below)};
	assert_int_equal(cfi_apply(&row, &r, read_memory, NULL), 0);
	assert_int_equal(r.value[CFI_RBX], 0x1000);
	/* the CFA: nothing is on the stack before */
	row = plain_row();
	r = all_known();
	row.cfa_is_expression = true;
	row.cfa_expression = (const uint8_t[]){0x70 + CFI_RSP, 24};
	row.cfa_expression_size = 2;
	assert_int_equal(cfi_apply(&row, &r, read_memory, NULL), 0);
	assert_int_equal(r.value[CFI_RSP], MEMORY_AT + 24);
	row.cfa_expression = (const uint8_t[]){0x06};
	row.cfa_expression_size = 1;
	assert_int_not_equal(cfi_apply(&row, &r, read_memory, NULL), 0);
	row.cfa_expression = broken;
	assert_int_not_equal(cfi_apply(&row, &r, read_memory, NULL), 0);
}

/* ---- short forms ---- */

static void short_forms(void **state)
{
	/* breg6 -8, deref; breg6 0 */
	static const uint8_t at_rbp[] = {0x76, 0x78, 0x06}, rbp_place[] = {0x76, 0};
	struct cfi_simple_row simple;
	struct cfi_row row = plain_row();

	(void)state;
	assert_true(cfi_simplify(&row, &simple));
	assert_int_equal(simple.cfa_form, CFI_CFA_RSP);
	assert_int_equal(simple.cfa_offset, 16);
	assert_int_equal(simple.rbp_offset, CFI_RBP_SAME);
	assert_false(simple.is_outermost);
	row.cfa_register = CFI_RBP;
	row.rules[CFI_RBP] = (struct cfi_rule){.kind = CFI_OFFSET, .offset = -16};
	assert_true(cfi_simplify(&row, &simple));
	assert_int_equal(simple.cfa_form, CFI_CFA_RBP);
	assert_int_equal(simple.rbp_offset, -16);
	row.rules[CFI_RBP] = (struct cfi_rule){.kind = CFI_UNDEFINED};
	assert_true(cfi_simplify(&row, &simple));
	assert_int_equal(simple.rbp_offset, CFI_RBP_UNDEFINED);
	row.rules[CFI_RBP] = (struct cfi_rule){.kind = CFI_OFFSET, .offset = 40000};
	assert_false(cfi_simplify(&row, &simple));
	row.rules[CFI_RBP] = (struct cfi_rule){.kind = CFI_REGISTER_RULE, .reg = CFI_RBX};
	assert_false(cfi_simplify(&row, &simple));
	/* a return address elsewhere, another CFA, a signal's frame, a stack pointer of its own */
	row = plain_row();
	row.rules[CFI_PC].offset = -16;
	assert_false(cfi_simplify(&row, &simple));
	row = plain_row();
	row.rules[CFI_PC] = (struct cfi_rule){.kind = CFI_REGISTER_RULE, .reg = CFI_RAX};
	assert_false(cfi_simplify(&row, &simple));
	row = plain_row();
	row.cfa_register = CFI_RBX;
	assert_false(cfi_simplify(&row, &simple));
	row = plain_row();
	row.is_signal_frame = true;
	assert_false(cfi_simplify(&row, &simple));
	row = plain_row();
	row.rules[CFI_RSP] = (struct cfi_rule){.kind = CFI_OFFSET};
	assert_false(cfi_simplify(&row, &simple));
	row = plain_row();
	row.rules[CFI_PC].kind = CFI_UNDEFINED;
	assert_true(cfi_simplify(&row, &simple));
	assert_true(simple.is_outermost);
	/* aligned frames */
	row = plain_row();
	row.cfa_is_expression = true;
	row.cfa_expression = at_rbp;
	row.cfa_expression_size = sizeof(at_rbp);
	assert_false(cfi_simplify(&row, &simple));
	row.rules[CFI_RBP] = (struct cfi_rule){.kind = CFI_EXPRESSION,
					       .expression = rbp_place,
					       .expression_size = sizeof(rbp_place)};
	assert_true(cfi_simplify(&row, &simple));
	assert_int_equal(simple.cfa_form, CFI_CFA_AT_RBP);
	assert_int_equal(simple.cfa_offset, -8);
	assert_int_equal(simple.rbp_offset, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_end_before_their_end),
		cmocka_unit_test(forms_of_common_entries),
		cmocka_unit_test(version_1_has_a_byte_for_the_return_address),
		cmocka_unit_test(augmentations),
		cmocka_unit_test(signed_pointers),
		cmocka_unit_test(debug_frames),
		cmocka_unit_test(terminators_in_the_middle),
		cmocka_unit_test(entries_are_limited),
		cmocka_unit_test(by_the_search_table),
		cmocka_unit_test(locations),
		cmocka_unit_test(the_cfa),
		cmocka_unit_test(rules_of_registers),
		cmocka_unit_test(restoring),
		cmocka_unit_test(to_the_caller),
		cmocka_unit_test(registers_are_those_before_the_step),
		cmocka_unit_test(steps_that_cannot_be_made),
		cmocka_unit_test(stack_pointers_with_a_rule),
		cmocka_unit_test(constants),
		cmocka_unit_test(the_stack_of_an_expression),
		cmocka_unit_test(arithmetic),
		cmocka_unit_test(comparisons_are_signed),
		cmocka_unit_test(jumps),
		cmocka_unit_test(an_expression_s_stack_is_limited),
		cmocka_unit_test(places_by_expression),
		cmocka_unit_test(short_forms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
