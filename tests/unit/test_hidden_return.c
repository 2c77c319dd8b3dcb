/* SPDX-License-Identifier: MIT */
/*
 * Return addresses that a return probe hides, on made stacks of made functions: found by the calls
 * of the caller, and by nothing that only looks like it.
 */
#include "unit.h"
#include "cupti_trace/unwind/code_ranges.h"
#include "cupti_trace/unwind/hidden_return.h"

#define FUNCTION(name, code)                                                          \
	__asm__(".text\n.type " #name ",@function\n" #name ":\n.cfi_startproc\n" code \
		"\n.cfi_endproc\n.size " #name ",.-" #name "\n")

/* Functions that call one another, each with NAME_back behind its call: with this many bytes on
 * the stack and no frame pointer, or by a frame pointer. */
#define CALLER_AFTER(first, name, bytes, call)                                                     \
	FUNCTION(name,                                                                             \
		 first "sub $" #bytes ",%rsp\n.cfi_adjust_cfa_offset " #bytes "\n" call "\n" #name \
		       "_back: add $" #bytes ",%rsp\n.cfi_adjust_cfa_offset -" #bytes "\nret")
#define CALLER(name, bytes, call) CALLER_AFTER("", name, bytes, call)
/* A caller with the kernel's breakpoint at its first instruction. */
#define WATCHED(name, bytes, call) CALLER_AFTER("int3\n", name, bytes, call)
#define CALLER_BY_RBP(name, call)                                                                 \
	FUNCTION(name, "push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_offset rbp,-16\n"               \
		       "mov %rsp,%rbp\n.cfi_def_cfa_register rbp\nsub $32,%rsp\n" call "\n" #name \
		       "_back: leave\n.cfi_def_cfa rsp,8\nret")

FUNCTION(made_callee, "nop\nret");
FUNCTION(made_other, "nop\nret");
__asm__("made_stub: endbr64\njmp *made_slot(%rip)\n");
__asm__("made_stub_of_direct: jmp made_by_word\n");
__asm__(".data\n.balign 8\nmade_slot: .quad made_callee\n.text\n");
CALLER(made_direct, 24, "call made_callee");
CALLER(made_by_stub, 40, "call made_stub");
CALLER(made_by_word, 56, "call *made_slot(%rip)");
CALLER(made_by_register, 72, "call *%rax");
CALLER(made_of_other, 24, "call made_other");
CALLER(made_with_two, 88, "call made_other\ncall made_callee\nmade_first: call made_callee");
WATCHED(made_watched, 24, "call made_callee");
WATCHED(made_watched_by_register, 40, "call *%rax");
CALLER_BY_RBP(made_with_rbp, "call made_callee");
CALLER_BY_RBP(made_register_with_rbp, "call *%rax");

/* callers of these functions */
CALLER(call_direct, 8, "call made_direct");
CALLER(call_by_stub, 8, "call made_by_stub");
CALLER(call_by_word, 8, "call made_stub_of_direct");
CALLER(call_by_register, 8, "call made_by_register");
CALLER(call_of_other, 8, "call made_of_other");
CALLER(call_with_two, 8, "call made_with_two");
CALLER(call_with_rbp, 8, "call made_with_rbp");
CALLER(call_register_with_rbp, 8, "call made_register_with_rbp");
CALLER(call_watched, 8, "call made_watched");
CALLER(call_unwatched, 8, "call made_direct");
CALLER(call_watched_by_register, 16, "call made_watched_by_register");
CALLER(call_call_watched, 8, "call call_watched");
CALLER(call_call_unwatched, 8, "call call_unwatched");
CALLER(call_call_by_register, 8, "call call_watched_by_register");
CALLER(call_any, 8, "call *%rax");

/* theirs; the thread starts here */
#define CALL_FROM_START(name) "call call_" #name "\nback_" #name ": nop\n"
FUNCTION(made_start,
	 ".cfi_undefined rip\n" CALL_FROM_START(direct) CALL_FROM_START(by_stub)
		 CALL_FROM_START(by_word) CALL_FROM_START(by_register) CALL_FROM_START(of_other)
			 CALL_FROM_START(with_two) CALL_FROM_START(with_rbp)
				 CALL_FROM_START(register_with_rbp) CALL_FROM_START(call_watched)
					 CALL_FROM_START(call_unwatched) CALL_FROM_START(
						 call_by_register) "call *%rax\nback_any: hlt");

#define CODE(name) extern const char name[] __asm__(#name)
CODE(made_callee);
CODE(made_direct);
CODE(made_direct_back);
CODE(made_by_stub_back);
CODE(made_by_word_back);
CODE(made_by_register_back);
CODE(made_with_rbp_back);
CODE(made_register_with_rbp_back);
CODE(made_first);
CODE(made_watched_back);
CODE(made_watched_by_register_back);
CODE(call_unwatched_back);
CODE(call_call_watched_back);
CODE(call_call_unwatched_back);
CODE(call_call_by_register_back);
CODE(back_call_watched);
CODE(back_call_unwatched);
CODE(back_call_by_register);
CODE(call_direct_back);
CODE(call_by_stub_back);
CODE(call_by_word_back);
CODE(call_by_register_back);
CODE(call_of_other_back);
CODE(call_with_two_back);
CODE(call_with_rbp_back);
CODE(call_register_with_rbp_back);
CODE(call_any_back);
CODE(back_direct);
CODE(back_by_stub);
CODE(back_by_word);
CODE(back_by_register);
CODE(back_of_other);
CODE(back_with_two);
CODE(back_with_rbp);
CODE(back_register_with_rbp);
CODE(back_any);

static uint64_t at(const void *address)
{
	return (uint64_t)(uintptr_t)address;
}

#define WORDS 8192u
static uint64_t stack[WORDS];

static bool read_stack(void *context, uint64_t address, uint64_t *value)
{
	uint64_t offset = address - at(stack);

	(void)context;
	if (offset % 8 || offset / 8 >= WORDS)
		return false;
	*value = stack[offset / 8];
	return true;
}

#define TRAMPOLINE 0x7ffff000u

/* Returns the hidden return address of a call of `callee`, whose frame ends below stack[0]. */
static const void *find_with(uint64_t callee, uint64_t rbp)
{
	struct hidden_return hidden = {
		.trampoline = TRAMPOLINE, .callee = callee, .sp = at(stack), .rbp = rbp};

	return (const void *)(uintptr_t)hidden_return_find(&hidden, read_stack, NULL);
}

static const void *find(void)
{
	return find_with(at(made_callee) + 1, 0x1234);
}

/* Makes a stack: a caller with `bytes` of its own, whose caller is at `back`, and a last one at
 * `start`. */
static void make_stack(uint32_t bytes, const char *back, const char *start)
{
	memset(stack, 0, sizeof(stack));
	stack[bytes / 8] = at(back);
	stack[bytes / 8 + 2] = at(start);
}

static void every_kind_of_call(void **state)
{
	(void)state;
	make_stack(24, call_direct_back, back_direct);
	assert_ptr_equal(find(), made_direct_back);
	make_stack(40, call_by_stub_back, back_by_stub);
	assert_ptr_equal(find(), made_by_stub_back);
	/* a function that is itself called through a stub */
	make_stack(56, call_by_word_back, back_by_word);
	assert_ptr_equal(find(), made_by_word_back);
	/* found by the function's name alone */
	make_stack(72, call_by_register_back, back_by_register);
	assert_ptr_equal(find(), made_by_register_back);
	assert_ptr_equal(find_with(0, 0), made_by_register_back);
	/* the first of two calls */
	make_stack(88, call_with_two_back, back_with_two);
	assert_ptr_equal(find(), made_first);
}

static void by_the_frame_pointer(void **state)
{
	uint64_t rbp = at(&stack[4]);

	(void)state;
	memset(stack, 0, sizeof(stack));
	stack[4] = at(&stack[20]);
	stack[5] = at(call_with_rbp_back);
	stack[7] = at(back_with_rbp);
	assert_ptr_equal(find_with(at(made_callee), rbp), made_with_rbp_back);
	assert_null(find_with(at(made_callee), rbp + 16));
	assert_null(find_with(at(made_callee), rbp + 4));
	assert_null(find_with(at(made_callee), UINT64_MAX - 8));
	/* beyond all words that are looked at */
	memset(stack, 0, sizeof(stack));
	stack[6000] = at(&stack[6020]);
	stack[6001] = at(call_with_rbp_back);
	stack[6003] = at(back_with_rbp);
	assert_ptr_equal(find_with(at(made_callee), at(&stack[6000])), made_with_rbp_back);
	assert_null(find());
}

/* Called by one with a frame pointer through a register: that one is not the hidden caller. */
static void another_frame_between(void **state)
{
	(void)state;
	memset(stack, 0, sizeof(stack));
	stack[4] = at(&stack[20]);
	stack[5] = at(call_register_with_rbp_back);
	stack[7] = at(back_register_with_rbp);
	assert_ptr_equal(find_with(at(made_callee), at(&stack[4])), made_register_with_rbp_back);
	stack[2] = at(made_register_with_rbp_back);
	assert_null(find_with(at(made_callee), at(&stack[4])));
}

static void what_earlier_calls_have_left(void **state)
{
	(void)state;
	/* calls of functions with frames of another size */
	make_stack(56, call_by_word_back, back_by_word);
	stack[1] = at(call_direct_back);
	stack[2] = at(call_by_stub_back);
	stack[4] = at(call_with_two_back);
	stack[6] = at(made_direct_back);
	assert_ptr_equal(find(), made_by_word_back);
	/* a possible frame, but its function does not call the callee */
	stack[3] = at(call_of_other_back);
	stack[5] = at(back_of_other);
	assert_ptr_equal(find(), made_by_word_back);
	/* this function does, but its own caller does not call it */
	stack[3] = at(call_direct_back);
	stack[5] = at(back_by_stub);
	assert_ptr_equal(find(), made_by_word_back);
	stack[5] = 77;
	assert_ptr_equal(find(), made_by_word_back);
	/* and where that one would be called from, but not beyond: a newer call's frame begins
	 * there */
	stack[3] = at(call_unwatched_back);
	stack[5] = at(call_call_unwatched_back);
	assert_ptr_equal(find(), made_by_word_back);
	stack[3] = at(call_direct_back);
	/* all of it is as it would be */
	stack[5] = at(back_direct);
	assert_ptr_equal(find(), made_direct_back);
}

/*
 * The caller's caller is hidden, too, if a tracer watches functions of the runtime, and of the
 * driver below.
 */
static void the_callers_caller_is_hidden_too(void **state)
{
	(void)state;
	make_stack(40, call_call_watched_back, back_call_watched);
	stack[3] = TRAMPOLINE;
	assert_ptr_equal(find(), made_watched_back);
	/* one that an earlier call has left */
	stack[1] = TRAMPOLINE;
	assert_ptr_equal(find(), made_watched_back);
	stack[3] = 0;
	assert_null(find());
	/* nobody watches that function */
	make_stack(40, call_call_unwatched_back, back_call_unwatched);
	stack[3] = TRAMPOLINE;
	assert_null(find());
	/* a call that may lead anywhere */
	make_stack(64, call_call_by_register_back, back_call_by_register);
	stack[5] = TRAMPOLINE;
	assert_ptr_equal(find(), made_watched_by_register_back);
	stack[5] = 0;
	stack[6] = TRAMPOLINE;
	assert_null(find());
}

/* A function that was called through a register is known where its address was kept. */
static void an_address_near_by(void **state)
{
	(void)state;
	make_stack(24, call_any_back, back_any);
	assert_null(find());
	stack[12] = at(made_direct);
	assert_ptr_equal(find(), made_direct_back);
	stack[12] = at(made_direct) + 1;
	assert_null(find());
	make_stack(32, call_any_back, back_any);
	stack[12] = at(made_direct);
	assert_null(find());
}

static void nothing_is_found(void **state)
{
	(void)state;
	memset(stack, 0, sizeof(stack));
	assert_null(find());
	make_stack(24, call_of_other_back, back_of_other);
	assert_null(find());
	/* anything at all: nothing is read but the stack and code */
	srandom(1);
	for (int i = 0; i < (getenv("UNDER_VALGRIND") ? 5 : 200); i++) {
		for (uint32_t j = 0; j < WORDS; j++) {
			uint64_t word = (uint64_t)random() << 33 ^ (uint64_t)random() << 11;

			stack[j] = j % 3 == 0   ? word
				   : j % 3 == 1 ? at(made_callee) + (word >> 20) % 4096
						: at(&stack[word % WORDS]);
		}
		find_with(at(made_callee), at(&stack[random() % (int)WORDS]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_call),
		cmocka_unit_test(by_the_frame_pointer),
		cmocka_unit_test(another_frame_between),
		cmocka_unit_test(what_earlier_calls_have_left),
		cmocka_unit_test(the_callers_caller_is_hidden_too),
		cmocka_unit_test(an_address_near_by),
		cmocka_unit_test(nothing_is_found),
	};

	code_ranges_hold(at(made_callee));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
