/* SPDX-License-Identifier: MIT */
/*
 * Call-frame information: for every function of the test's own libraries, rows are those of
 * elfutils' libdw, an independent reader. Broken tables give errors.
 */
#include "unit.h"
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <link.h>
#include <unistd.h>
#include "symbolize/cfi.h"
#include "find_row.h"
#include "symbolize/elf_cfi.h"

/* ---- the same rows as libdw ---- */

struct oracle {
	Elf *elf;
	Dwarf_CFI *cfi;
	struct elf_cfi *ours;
	uint64_t offset_to_address; /* the executable segment's address minus its offset */
	uint64_t offset, size;
	unsigned int compared, with_row;
};

static void open_library(struct oracle *o, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;

	memset(o, 0, sizeof(*o));
	assert_true(fd >= 0);
	assert_int_equal(elf_cfi_load(fd, NULL, &o->ours), 0);
	elf_version(EV_CURRENT);
	o->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	assert_non_null(o->elf);
	o->cfi = dwarf_getcfi_elf(o->elf);
	assert_non_null(o->cfi);
	assert_int_equal(elf_getphdrnum(o->elf, &n), 0);
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr p;

		assert_non_null(gelf_getphdr(o->elf, (int)i, &p));
		if (p.p_type == PT_LOAD && (p.p_flags & PF_X)) {
			o->offset = p.p_offset;
			o->size = p.p_filesz;
			o->offset_to_address = p.p_vaddr - p.p_offset;
		}
	}
	close(fd);
}

static void close_library(struct oracle *o)
{
	dwarf_cfi_end(o->cfi);
	elf_end(o->elf);
	elf_cfi_free(o->ours);
}

static void compare_cfa(const struct cfi_row *row, Dwarf_Frame *frame)
{
	Dwarf_Op *ops = NULL;
	size_t count = 0;

	assert_int_equal(dwarf_frame_cfa(frame, &ops, &count), 0);
	if (row->cfa_is_expression) {
		assert_true(count > 1 || (count == 1 && ops[0].atom != DW_OP_bregx));
		return;
	}
	assert_true(count >= 1);
	if (ops[0].atom == DW_OP_bregx) {
		assert_int_equal(row->cfa_register, ops[0].number);
		assert_int_equal(row->cfa_offset, (int64_t)ops[0].number2);
	} else {
		assert_int_equal(row->cfa_register, ops[0].atom - DW_OP_breg0);
		assert_int_equal(row->cfa_offset, (int64_t)ops[0].number);
	}
}

/* Compares a rule with libdw's, which is an expression that computes the register. */
static void compare_register(const struct cfi_row *row, Dwarf_Frame *frame, int reg)
{
	Dwarf_Op memory[3], *ops = NULL;
	size_t count = 0;
	const struct cfi_rule *rule = &row->rules[reg];

	assert_int_equal(dwarf_frame_register(frame, reg, memory, &ops, &count), 0);
	if (count == 0 && ops == memory) {
		/* "undefined"; libdw also reports this for registers that a call may change */
		assert_true(rule->kind == CFI_UNDEFINED || rule->kind == CFI_SAME);
	} else if (count == 0) {
		assert_int_equal(rule->kind, CFI_SAME);
	} else if (rule->kind == CFI_EXPRESSION || rule->kind == CFI_VAL_EXPRESSION) {
		assert_int_equal(ops[0].atom, DW_OP_call_frame_cfa);
	} else if (ops[0].atom == DW_OP_call_frame_cfa && count <= 2) {
		int64_t offset = count == 2 ? (int64_t)ops[1].number : 0;

		assert_true(rule->kind == CFI_OFFSET || rule->kind == CFI_VAL_OFFSET ||
			    (reg == CFI_RSP && rule->kind == CFI_SAME));
		assert_int_equal(rule->offset, offset);
	}
}

/* Reads memory in which every word differs. */
static bool read_scrambled(void *context, uint64_t address, uint64_t *value)
{
	(void)context;
	*value = (address * 0x9e3779b97f4a7c15u >> 20) & ~7u;
	return true;
}

/* Applies a simple row to the caller's rsp, rbp and pc. Interprets the rules independently. */
static void apply_simple(const struct cfi_simple_row *row, uint64_t *rsp, uint64_t *rbp,
			 uint64_t *pc)
{
	uint64_t base = row->cfa_form == CFI_CFA_RSP ? *rsp : *rbp;
	uint64_t cfa = base + (uint64_t)(int64_t)row->cfa_offset;

	if (row->cfa_form == CFI_CFA_AT_RBP)
		read_scrambled(NULL, cfa, &cfa);
	else
		base = cfa;
	if (row->rbp_offset > CFI_RBP_UNDEFINED)
		read_scrambled(NULL, base + (uint64_t)(int64_t)row->rbp_offset, rbp);
	read_scrambled(NULL, cfa - 8, pc);
	*rsp = cfa;
}

/* Compares a row with its simple form, if it has one: both give equal registers. */
static void compare_simple(const struct cfi_row *row)
{
	struct cfi_registers r = {.known = (1u << CFI_REGISTERS) - 1};
	uint64_t rsp = 0x7000, rbp = 0x8000, pc = 0x4000;
	struct cfi_simple_row simple;

	if (!cfi_simplify(row, &simple) || simple.is_outermost)
		return;
	r.value[CFI_RSP] = rsp;
	r.value[CFI_RBP] = rbp;
	assert_int_equal(cfi_apply(row, &r, read_scrambled, NULL), 0);
	apply_simple(&simple, &rsp, &rbp, &pc);
	assert_int_equal(r.value[CFI_RSP], rsp);
	assert_int_equal(r.value[CFI_PC], pc);
	if (r.known & 1u << CFI_RBP)
		assert_int_equal(r.value[CFI_RBP], rbp);
}

static void compare_at(struct oracle *o, uint64_t offset)
{
	uint64_t address = offset + o->offset_to_address;
	Dwarf_Frame *frame = NULL;
	struct cfi_row row;
	int theirs = dwarf_cfi_addrframe(o->cfi, address, &frame);
	int ours = elf_cfi_find_row(o->ours, offset, &row);

	o->compared++;
	assert_int_equal(ours == 0, theirs == 0);
	if (ours != 0)
		return;
	o->with_row++;
	compare_cfa(&row, frame);
	if (row.rules[CFI_PC].kind != CFI_UNDEFINED)
		compare_register(&row, frame, CFI_PC);
	compare_register(&row, frame, CFI_RBP);
	compare_register(&row, frame, CFI_RBX);
	compare_register(&row, frame, CFI_R12);
	compare_register(&row, frame, CFI_R15);
	compare_simple(&row);
	free(frame);
}

static int find_library(struct dl_phdr_info *info, size_t size, void *data)
{
	char *path = data;

	(void)size;
	if (!strstr(info->dlpi_name, "/libc.so.6"))
		return 0;
	snprintf(path, 4096, "%s", info->dlpi_name);
	return 1;
}

static void compare_library(const char *path, unsigned int step)
{
	struct oracle o;

	open_library(&o, path);
	for (uint64_t at = 0; at < o.size; at += step)
		compare_at(&o, o.offset + at);
	assert_true(o.with_row > o.compared / 2);
	close_library(&o);
}

static void libc_has_the_rows_that_libdw_finds(void **state)
{
	char path[4096] = "";

	(void)state;
	assert_int_equal(dl_iterate_phdr(find_library, path), 1);
	compare_library(path, 13);
}

static void this_program_has_the_rows_that_libdw_finds(void **state)
{
	(void)state;
	compare_library("/proc/self/exe", 3);
}

/* ---- broken tables ---- */

static bool read_nothing(void *context, uint64_t address, uint64_t *value)
{
	(void)context;
	*value = address;
	return true;
}

static void damaged_tables_are_errors_or_harmless(void **state)
{
	uint8_t frames[512], index[128];

	(void)state;
	for (uint64_t round = 0; round < unit_rounds(20000); round++) {
		struct prng p = prng_round(round);
		struct cfi_table t = {.frames = frames,
				      .frames_size = prng_below(&p, sizeof(frames) + 1),
				      .frames_address = 0x1000,
				      .is_debug_frame = prng_chance(&p, 30)};
		struct cfi_registers r = {.known = (1u << CFI_REGISTERS) - 1};
		struct cfi_row row;

		for (size_t i = 0; i < sizeof(frames); i++)
			frames[i] = (uint8_t)prng_bits(&p, prng_chance(&p, 60) ? 3 : 8);
		for (size_t i = 0; i < sizeof(index); i++)
			index[i] = (uint8_t)prng_bits(&p, 4);
		if (prng_chance(&p, 50)) {
			memcpy(index, "\x01\x1b\x03\x3b", 4);
			t.index = index;
			t.index_size = prng_below(&p, sizeof(index) + 1);
			t.index_address = 0x800;
		}
		if (find_row(&t, prng_bits(&p, 14), &row) == 0)
			EXPECT(&p, cfi_apply(&row, &r, read_nothing, NULL) <= 0);
	}
}

/* ---- applying rows ---- */

struct fake_memory {
	uint64_t start;
	uint64_t words[8];
};

static bool read_fake(void *context, uint64_t address, uint64_t *value)
{
	struct fake_memory *m = context;

	if (address < m->start || address >= m->start + sizeof(m->words) || (address & 7))
		return false;
	*value = m->words[(address - m->start) / 8];
	return true;
}

static struct cfi_registers some_registers(void)
{
	struct cfi_registers r = {.known = (1u << CFI_REGISTERS) - 1};

	for (unsigned int i = 0; i < CFI_REGISTERS; i++)
		r.value[i] = 0x100 + i;
	r.value[CFI_RSP] = 0x7000;
	return r;
}

static void a_plain_row_pops_a_frame(void **state)
{
	struct fake_memory m = {0x7000, {11, 22, 33, 44}};
	struct cfi_registers r = some_registers();
	struct cfi_row row = {.cfa_register = CFI_RSP, .cfa_offset = 24};

	(void)state;
	row.rules[CFI_PC] = (struct cfi_rule){.kind = CFI_OFFSET, .offset = -8};
	row.rules[CFI_RBP] = (struct cfi_rule){.kind = CFI_OFFSET, .offset = -16};
	assert_int_equal(cfi_apply(&row, &r, read_fake, &m), 0);
	assert_int_equal(r.value[CFI_PC], 33);
	assert_int_equal(r.value[CFI_RBP], 22);
	assert_int_equal(r.value[CFI_RSP], 0x7018);
	assert_int_equal(r.value[CFI_RBX], 0x103);
}

static void the_outermost_frame_has_no_caller(void **state)
{
	struct cfi_registers r = some_registers();
	struct cfi_row row = {.cfa_register = CFI_RSP};

	(void)state;
	row.rules[CFI_PC].kind = CFI_UNDEFINED;
	assert_int_equal(cfi_apply(&row, &r, read_fake, NULL), -ENOENT);
}

static void memory_that_cannot_be_read_is_an_error(void **state)
{
	struct fake_memory m = {0x9000, {0}};
	struct cfi_registers r = some_registers();
	struct cfi_row row = {.cfa_register = CFI_RSP, .cfa_offset = 8};

	(void)state;
	row.rules[CFI_PC] = (struct cfi_rule){.kind = CFI_OFFSET, .offset = -8};
	assert_int_equal(cfi_apply(&row, &r, read_fake, &m), -EFAULT);
	r.known &= ~(1u << CFI_RSP);
	assert_int_equal(cfi_apply(&row, &r, read_fake, &m), -EFAULT);
}

/* At a return after pops, a popped register has its value. The copy of the stack begins at the
 * stack pointer. */
static void what_was_popped_is_in_its_register(void **state)
{
	struct fake_memory m = {0x7000, {11, 22, 33, 44}};
	struct cfi_row row = {.cfa_register = CFI_RSP, .cfa_offset = 8};
	struct cfi_registers r = some_registers();
	struct fake_memory red_zone = {0x6ff0, {55, 66, 77, 88}};

	(void)state;
	row.rules[CFI_PC] = (struct cfi_rule){.kind = CFI_OFFSET, .offset = -8};
	row.rules[CFI_RBP] = (struct cfi_rule){.kind = CFI_OFFSET, .offset = -16};
	row.rules[CFI_RBX] = (struct cfi_rule){.kind = CFI_OFFSET, .offset = -8 - 128};
	row.rules[CFI_R12] = (struct cfi_rule){.kind = CFI_OFFSET, .offset = -8 - 136};
	row.rules[CFI_R15] = (struct cfi_rule){.kind = CFI_OFFSET, .offset = 80};
	assert_int_equal(cfi_apply(&row, &r, read_fake, &m), 0);
	assert_int_equal(r.value[CFI_PC], 11);
	assert_int_equal(r.value[CFI_RBP], 0x106);
	assert_int_equal(r.value[CFI_RBX], 0x103);
	assert_true(r.known & 1u << CFI_RBP);
	assert_true(r.known & 1u << CFI_RBX);
	assert_false(r.known & 1u << CFI_R12); /* below the red zone */
	assert_false(r.known & 1u << CFI_R15); /* above the stack pointer */
	/* a word that can be read counts */
	r = some_registers();
	assert_int_equal(cfi_apply(&row, &r, read_fake, &red_zone), 0);
	assert_int_equal(r.value[CFI_RBP], 66);
	/* a register that was not known is not known now */
	r = some_registers();
	r.known &= ~(1u << CFI_RBP);
	assert_int_equal(cfi_apply(&row, &r, read_fake, &m), 0);
	assert_false(r.known & 1u << CFI_RBP);
}

/* The linker's expression for a lazy PLT slot: rsp + 8, and 8 more from its 11th byte on. */
static void a_plt_expression(void **state)
{
	static const uint8_t code[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a,
				       0x3b, 0x2a, 0x33, 0x24, 0x22};
	struct fake_memory m = {0x7000, {11, 22, 33, 44}};
	struct cfi_registers r = some_registers();
	struct cfi_row row = {.cfa_is_expression = true,
			      .cfa_expression = code,
			      .cfa_expression_size = sizeof(code)};

	(void)state;
	row.rules[CFI_PC] = (struct cfi_rule){.kind = CFI_OFFSET, .offset = -8};
	r.value[CFI_PC] = 0x4005;
	assert_int_equal(cfi_apply(&row, &r, read_fake, &m), 0);
	assert_int_equal(r.value[CFI_PC], 11);
	r = some_registers();
	r.value[CFI_PC] = 0x400b;
	assert_int_equal(cfi_apply(&row, &r, read_fake, &m), 0);
	assert_int_equal(r.value[CFI_PC], 22);
}

/* GCC's information for a function that aligns its frame: CFA from a word below rbp. */
static void an_aligned_frame_is_simple(void **state)
{
	static const uint8_t cfa[] = {0x76, 0x58, 0x06}, rbp[] = {0x76, 0x00};
	static const uint8_t far_cfa[] = {0x76, 0x80, 0x80, 0x7f, 0x06};
	struct cfi_row row = {
		.cfa_is_expression = true, .cfa_expression = cfa, .cfa_expression_size = 3};
	struct cfi_simple_row simple;

	(void)state;
	row.rules[CFI_PC] = (struct cfi_rule){.kind = CFI_OFFSET, .offset = -8};
	row.rules[CFI_RBP] =
		(struct cfi_rule){.kind = CFI_EXPRESSION, .expression = rbp, .expression_size = 2};
	assert_true(cfi_simplify(&row, &simple));
	assert_int_equal(simple.cfa_form, CFI_CFA_AT_RBP);
	assert_int_equal(simple.cfa_offset, -40);
	assert_int_equal(simple.rbp_offset, 0);
	compare_simple(&row);
	row.cfa_expression = far_cfa;
	row.cfa_expression_size = sizeof(far_cfa);
	assert_true(cfi_simplify(&row, &simple));
	assert_int_equal(simple.cfa_offset, -16384);
	compare_simple(&row);
}

static void other_expressions_are_not_simple(void **state)
{
	static const uint8_t good_cfa[] = {0x76, 0x58, 0x06}, good_rbp[] = {0x76, 0x00};
	static const uint8_t bad[][5] = {
		{0x76, 0x58, 0x22},             /* no deref */
		{0x77, 0x58, 0x06},             /* offset from rsp */
		{0x76, 0x58, 0x06, 0x06},       /* twice */
		{0x76, 0xd8, 0x80, 0x80, 0x06}, /* the number does not end */
		{0x76, 0x86},                   /* nor this one */
		{0x06},
	};
	static const size_t sizes[] = {3, 3, 4, 5, 2, 1};
	struct cfi_simple_row simple;
	struct cfi_row row = {.cfa_is_expression = true};

	(void)state;
	row.rules[CFI_PC] = (struct cfi_rule){.kind = CFI_OFFSET, .offset = -8};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		row.rules[CFI_RBP] = (struct cfi_rule){
			.kind = CFI_EXPRESSION, .expression = good_rbp, .expression_size = 2};
		row.cfa_expression = bad[i];
		row.cfa_expression_size = (uint16_t)sizes[i];
		assert_false(cfi_simplify(&row, &simple));
		row.cfa_expression = good_cfa;
		row.cfa_expression_size = sizeof(good_cfa);
		row.rules[CFI_RBP].expression = bad[i];
		row.rules[CFI_RBP].expression_size = (uint16_t)sizes[i];
		assert_false(cfi_simplify(&row, &simple));
	}
	row.rules[CFI_RBP] = (struct cfi_rule){.kind = CFI_OFFSET, .offset = -16};
	assert_false(cfi_simplify(&row, &simple));
}

/* Finds a row of a function whose program has this many bytes without effect. */
static int find_in_long_entry(uint32_t size)
{
	static const uint8_t common[] = {/* length, no pointer back */ 12, 0, 0, 0, 0, 0, 0, 0,
					 /* version 1, no letters, alignments 1, -8, column 16 */
					 1, 0, 1, 0x78, 16, 0x0c, 7, 8};
	const uint32_t start[] = {size, sizeof(common) + 4};
	const uint64_t code[] = {0x1000, 0x100};
	uint8_t *frames = calloc(1, sizeof(common) + 4 + size);
	struct cfi_table t = {.frames = frames, .frames_size = sizeof(common) + 4 + size};
	struct cfi_row row;
	int err;

	assert_non_null(frames);
	memcpy(frames, common, sizeof(common));
	memcpy(frames + sizeof(common), start, sizeof(start));
	memcpy(frames + sizeof(common) + sizeof(start), code, sizeof(code));
	err = find_row(&t, 0x1080, &row);
	if (err == 0)
		assert_int_equal(row.cfa_offset, 8);
	free(frames);
	return err;
}

/*
 * An entry of the maximum size, all letters, and the maximum number of functions that refer to it.
 * Without a bound, each function parses the letters again, which takes minutes.
 */
static void letters_are_bounded(void **state)
{
	enum { COMMON = 4 + CFI_ENTRY_MAX, FUNCTION = 24, FUNCTIONS = 4000000 };
	const size_t size = COMMON + (size_t)FUNCTION * FUNCTIONS;
	uint8_t *frames = malloc(size);
	struct cfi_table t = {.frames = frames, .frames_size = size};
	struct cfi_row row;

	(void)state;
	assert_non_null(frames);
	memset(frames, 'a', COMMON);
	memcpy(frames, (uint32_t[]){CFI_ENTRY_MAX, 0}, 8);
	frames[8] = 1;
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		uint8_t *function = frames + COMMON + (size_t)i * FUNCTION;
		const uint32_t start[] = {FUNCTION - 4, (uint32_t)(function + 4 - frames)};
		const uint64_t code[] = {0x1000, 0x100};

		memcpy(function, start, sizeof(start));
		memcpy(function + sizeof(start), code, sizeof(code));
	}
	assert_int_equal(find_row(&t, 0x1080, &row), -ENOENT);
	free(frames);
}

static void entries_are_bounded(void **state)
{
	(void)state;
	assert_int_equal(find_in_long_entry(100), 0);
	assert_int_equal(find_in_long_entry(CFI_ENTRY_MAX), 0);
	assert_int_equal(find_in_long_entry(CFI_ENTRY_MAX + 1), -ENOENT);
	assert_int_equal(find_in_long_entry(50u << 20), -ENOENT);
}

static void expressions_end(void **state)
{
	static const uint8_t endless[] = {0x2f, 0xfd, 0xff}; /* skip -3 */
	static const uint8_t underflow[] = {0x22};
	static const uint8_t unknown[] = {0xff};
	const struct {
		const uint8_t *code;
		size_t size;
	} bad[] = {{endless, 3}, {underflow, 1}, {unknown, 1}, {NULL, 0}};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct cfi_registers r = some_registers();
		struct cfi_row row = {.cfa_is_expression = true,
				      .cfa_expression = bad[i].code,
				      .cfa_expression_size = (uint16_t)bad[i].size};

		row.rules[CFI_PC] = (struct cfi_rule){.kind = CFI_OFFSET, .offset = -8};
		assert_int_equal(cfi_apply(&row, &r, read_fake, NULL), -EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(libc_has_the_rows_that_libdw_finds),
		cmocka_unit_test(this_program_has_the_rows_that_libdw_finds),
		cmocka_unit_test(damaged_tables_are_errors_or_harmless),
		cmocka_unit_test(a_plain_row_pops_a_frame),
		cmocka_unit_test(the_outermost_frame_has_no_caller),
		cmocka_unit_test(memory_that_cannot_be_read_is_an_error),
		cmocka_unit_test(what_was_popped_is_in_its_register),
		cmocka_unit_test(a_plt_expression),
		cmocka_unit_test(an_aligned_frame_is_simple),
		cmocka_unit_test(other_expressions_are_not_simple),
		cmocka_unit_test(letters_are_bounded),
		cmocka_unit_test(entries_are_bounded),
		cmocka_unit_test(expressions_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
