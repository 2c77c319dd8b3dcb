// SPDX-License-Identifier: MIT
#include "unit.h"
#include "symbolize/python_trampoline.h"

#define BY_RSP 0x48, 0x83, 0xec, 0x08, 0xff, 0xd1, 0x48, 0x83, 0xc4, 0x08, 0xc3
#define BY_RBP 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd1, 0x5d, 0xc3
#define ENDBR64 0xf3, 0x0f, 0x1e, 0xfa

static void forms_in_files(void **state)
{
	static const struct {
		uint8_t code[16];
		size_t size;
		enum python_trampoline_form form;
	} cases[] = {
		{{BY_RSP}, 11, PYTHON_TRAMPOLINE_BY_RSP},
		{{BY_RBP}, 8, PYTHON_TRAMPOLINE_BY_RBP},
		{{ENDBR64, BY_RSP}, 15, PYTHON_TRAMPOLINE_BY_RSP},
		{{ENDBR64, BY_RBP}, 12, PYTHON_TRAMPOLINE_BY_RBP},
		{{0x90, BY_RSP}, 12, PYTHON_TRAMPOLINE_NONE},
		{{0x55, 0x48, 0x89, 0xe5, 0xff, 0xd2, 0x5d, 0xc3}, 8, PYTHON_TRAMPOLINE_NONE},
		{{0}, 0, PYTHON_TRAMPOLINE_NONE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(python_trampoline_read(cases[i].code, cases[i].size),
				 cases[i].form);
		for (size_t size = 0; size < cases[i].size; size++) { /* valgrind watches it */
			uint8_t *cut = malloc(size + 1);

			memcpy(cut, cases[i].code, size);
			assert_int_equal(python_trampoline_read(cut, size), PYTHON_TRAMPOLINE_NONE);
			free(cut);
		}
	}
}

static void forms_around_a_return_address(void **state)
{
	const uint8_t by_rsp[] = {BY_RSP}, by_rbp[] = {BY_RBP, 0, 0, 0};
	const uint8_t other[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd1, 0x48, 0x83, 0xc4, 0x10, 0xc3};

	(void)state;
	assert_int_equal(python_trampoline_around(by_rsp), PYTHON_TRAMPOLINE_BY_RSP);
	assert_int_equal(python_trampoline_around(by_rbp), PYTHON_TRAMPOLINE_BY_RBP);
	assert_int_equal(python_trampoline_around(other), PYTHON_TRAMPOLINE_NONE);
}

#define STACK 0x7ffe0000u /* a multiple of 16 */
#define LOOP 0x401100u
#define CALLER 0x402000u
#define ELSEWHERE 0x900000u

static uint64_t words[8];

static bool read_word(void *context, uint64_t address, uint64_t *value)
{
	(void)context;
	if (address < STACK || address - STACK >= sizeof(words))
		return false;
	*value = words[(address - STACK) / 8];
	return true;
}

static struct python_trampolines trampolines_of(enum python_trampoline_form form)
{
	return (struct python_trampolines){.form = form,
					   .loop = {.count = 1,
						    .parts = {{0x401000, 0x401fff}},
						    .module_start = 0x400000,
						    .module_end = 0x500000}};
}

/* Sets `*registers` to the caller's. False: it is no trampoline. */
static bool leave(struct python_trampolines *t, uint64_t sp, uint64_t callee,
		  struct cfi_registers *registers)
{
	struct cfi_row row;

	*registers = (struct cfi_registers){.known = 1u << CFI_RSP | 1u << CFI_RBP | 1u << CFI_PC};
	registers->value[CFI_RSP] = sp;
	registers->value[CFI_RBP] = 7;
	registers->value[CFI_PC] = ELSEWHERE;
	if (!python_trampoline_find_row(t, registers, callee, read_word, NULL, &row))
		return false;
	assert_int_equal(cfi_apply(&row, registers, read_word, NULL), 0);
	return true;
}

static void callers_of_trampolines(void **state)
{
	struct python_trampolines t = trampolines_of(PYTHON_TRAMPOLINE_BY_RSP);
	struct cfi_registers r;

	(void)state;
	words[0] = 9;
	words[1] = CALLER;
	assert_false(leave(&t, STACK, ELSEWHERE, &r)); /* the loop was not called */
	assert_false(leave(&t, STACK + 8, LOOP, &r));  /* no stack pointer behind a call */
	assert_false(leave(&t, STACK, 0, &r));         /* none was seen yet */
	assert_true(leave(&t, STACK, LOOP, &r));
	assert_int_equal(r.value[CFI_PC], CALLER);
	assert_int_equal(r.value[CFI_RSP], STACK + 16);
	assert_int_equal(r.value[CFI_RBP], 7);
	words[1] = ELSEWHERE;
	assert_false(leave(&t, STACK, LOOP, &r)); /* another's code has called it */
	assert_false(leave(&t, STACK + sizeof(words), LOOP, &r));
	words[1] = CALLER;
	t = trampolines_of(PYTHON_TRAMPOLINE_BY_RBP);
	assert_true(leave(&t, STACK, LOOP, &r));
	assert_int_equal(r.value[CFI_PC], CALLER);
	assert_int_equal(r.value[CFI_RBP], 9);
	t = trampolines_of(PYTHON_TRAMPOLINE_NONE);
	assert_false(leave(&t, STACK, LOOP, &r));
}

static void interrupted_trampolines(void **state)
{
	struct python_trampolines t = trampolines_of(PYTHON_TRAMPOLINE_BY_RBP);
	struct cfi_registers r;

	(void)state;
	words[0] = 9;
	words[1] = CALLER;
	words[2] = ELSEWHERE;
	assert_true(leave(&t, STACK, LOOP, &r));
	assert_true(leave(&t, STACK + 8, 0, &r)); /* before its first instruction, or at its last */
	assert_int_equal(r.value[CFI_PC], CALLER);
	assert_int_equal(r.value[CFI_RSP], STACK + 16);
	assert_int_equal(r.value[CFI_RBP], 7);
	assert_true(leave(&t, STACK, 0, &r)); /* in the middle */
	assert_int_equal(r.value[CFI_RSP], STACK + 16);
	assert_int_equal(r.value[CFI_RBP], 9);
	assert_false(leave(&t, STACK + 4, 0, &r));
	assert_false(leave(&t, STACK + 16, 0, &r));
}

/* ---- who calls them ---- */

#define RETURNS UINT64_C(0x7f0000001000) /* the return address */
#define CALLED_LOOP UINT64_C(0x7f0000000200)

/* Returns whether the call that ends with these instructions is one of a trampoline. */
static bool is_called(const uint8_t *instructions, size_t size, uint64_t pc, uint64_t loop)
{
	uint8_t code[PYTHON_TRAMPOLINE_CALL];

	memset(code, 0x90, sizeof(code));
	memcpy(code + sizeof(code) - size, instructions, size);
	return python_trampoline_is_called(code, pc, loop);
}

#define IS_CALLED(pc, loop, ...) \
	is_called((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), pc, loop)

static void calls_that_hand_the_loop_over(void **state)
{
	(void)state;
	/* CPython 3.12 as a library: mov rdi, rbp; mov rcx, [rip+x]; call r14 */
	assert_true(IS_CALLED(RETURNS, CALLED_LOOP, 0x48, 0x89, 0xef, 0x48, 0x8b, 0x0d, 0x91, 0x2e,
			      0x24, 0, 0x41, 0xff, 0xd6));
	/* lea rcx, [rip-0xdfe]; call rax: the loop, from behind the instruction on */
	assert_true(IS_CALLED(RETURNS, CALLED_LOOP, 0x48, 0x8d, 0x0d, 0x02, 0xf2, 0xff, 0xff, 0xff,
			      0xd0));
	assert_true(IS_CALLED(RETURNS, CALLED_LOOP, 0x48, 0x8d, 0x0d, 0x05, 0xf2, 0xff, 0xff, 0x48,
			      0x89, 0xef, 0xff, 0xd0));
	assert_false(IS_CALLED(RETURNS, CALLED_LOOP + 1, 0x48, 0x8d, 0x0d, 0x02, 0xf2, 0xff, 0xff,
			       0xff, 0xd0));
	/* an executable at a fixed address: mov ecx, x; call rax */
	assert_true(IS_CALLED(0x401000, 0x400200, 0xb9, 0, 0x02, 0x40, 0, 0xff, 0xd0));
	assert_true(IS_CALLED(0x401000, 0x400200, 0x48, 0xc7, 0xc1, 0, 0x02, 0x40, 0, 0xff, 0xd0));
	assert_false(IS_CALLED(0x401000, 0x400201, 0xb9, 0, 0x02, 0x40, 0, 0xff, 0xd0));
	/* three arguments: mov rdi, rbp; call rax; no known trampoline */
	assert_false(IS_CALLED(RETURNS, CALLED_LOOP, 0x48, 0x89, 0xef, 0xff, 0xd0));
	/* others: call rcx; call [rax+8]; call x; a load that is no call's */
	assert_false(
		IS_CALLED(RETURNS, CALLED_LOOP, 0x48, 0x8b, 0x0d, 0x91, 0x2e, 0x24, 0, 0xff, 0xd1));
	assert_false(IS_CALLED(RETURNS, CALLED_LOOP, 0x48, 0x8b, 0x0d, 0x91, 0x2e, 0x24, 0, 0xff,
			       0x50, 8));
	assert_false(IS_CALLED(RETURNS, CALLED_LOOP, 0x48, 0x8b, 0x0d, 0x91, 0x2e, 0x24, 0, 0xe8, 1,
			       2, 3, 4));
	assert_false(IS_CALLED(RETURNS, CALLED_LOOP, 0x48, 0x8b, 0x0d, 0x91, 0x2e, 0x24, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms_in_files),
		cmocka_unit_test(forms_around_a_return_address),
		cmocka_unit_test(callers_of_trampolines),
		cmocka_unit_test(interrupted_trampolines),
		cmocka_unit_test(calls_that_hand_the_loop_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
