/* SPDX-License-Identifier: MIT */
/*
 * Unwinding copies of stacks, by the rules of DWARF and of the x86-64 ABI: a library of assembler
 * whose call-frame information is known, and made-up stacks of threads that run in it.
 */
#include "unit.h"
#include <sys/sysmacros.h>
#include "symbolize/unwind.h"
#include "symbolize/symbolizer.h"
#include "tests/unit/own_folder.h"

#define GHOST 0x3fff0000 /* above the largest pid_max */
#define BASE UINT64_C(0x7f0000000000)
#define JIT UINT64_C(0x7f1000000000)
#define STACK UINT64_C(0x7ffc00001000)
#define WORDS 8192u
#define FRAMES 64u

static const char source[] =
	"	.text\n"
	/* a frame by rsp; calls in several ways, each with a label behind */
	"	.globl by_rsp\n	.type by_rsp,@function\nby_rsp:	.cfi_startproc\n"
	"	sub $24,%rsp\n	.cfi_def_cfa_offset 32\n"
	"	call *%rax\nrsp_indirect:\n"
	"	call bare\nrsp_bare:\n"
	"	call by_rbp\nrsp_other:\n"
	"	call cloning\nrsp_cloning:\n"
	"	nop\nrsp_nocall:\n"
	"	add $24,%rsp\n	.cfi_def_cfa_offset 8\n	ret\n	.cfi_endproc\n"
	/* a second function like by_rsp */
	"	.globl by_rsp2\nby_rsp2:	.cfi_startproc\n"
	"	sub $40,%rsp\n	.cfi_def_cfa_offset 48\n"
	"	call *%rax\nrsp2_indirect:\n	call *%rcx\nrsp2_again:\n"
	"	add $40,%rsp\n	.cfi_def_cfa_offset 8\n	ret\n	.cfi_endproc\n"
	/* a frame by rbp, which is saved as the ABI says */
	"	.globl by_rbp\nby_rbp:	.cfi_startproc\n"
	"	push %rbp\n	.cfi_def_cfa_offset 16\n	.cfi_offset 6,-16\n"
	"	mov %rsp,%rbp\n	.cfi_def_cfa_register 6\n"
	"	call *%rax\nrbp_indirect:\n	call bare\nrbp_bare:\n"
	"	leave\n	.cfi_def_cfa 7,8\n	ret\n	.cfi_endproc\n"
	/* start of a thread */
	"	.globl start\nstart:	.cfi_startproc\n	.cfi_undefined rip\n"
	"	call *%rax\nstart_indirect:\n	call bare\nstart_bare:\n	hlt\n	"
	".cfi_endproc\n"
	/* a signal's frame: the interrupted registers are at rsp + 0, 8, 16 */
	"	nop\n	.globl restorer\nrestorer:	.cfi_startproc\n	.cfi_signal_frame\n"
	"	.cfi_def_cfa 7,0\n	.cfi_offset 16,0\n"
	"	.cfi_escape 0x10,7,2,0x77,8\n" /* rsp is saved at rsp + 8 */
	"	mov $15,%eax\n	syscall\n	.cfi_endproc\n"
	/* rows that lead nowhere */
	"	.globl looping\nlooping:	.cfi_startproc\n	.cfi_def_cfa_offset 0\n"
	"	.cfi_offset 16,8\n	nop\n	call *%rax\nloop_call:	nop\n	.cfi_endproc\n"
	"	.globl broken\nbroken:	.cfi_startproc\n	.cfi_escape 0x0f,3,0x2f,0xfd,0xff\n"
	"	nop\n	call *%rax\nbroken_call:	nop\n	.cfi_endproc\n"
	/* so much information that parsing takes a thousand times as long */
	"	.globl slow\nslow:	.cfi_startproc\n"
	"	.rept 31000\n	.cfi_remember_state\n	.cfi_restore_state\n	.endr\n"
	"	nop\n	call *%rax\nslow_call:	nop\n	call *%rax\nslow_again:	nop\n	"
	".cfi_endproc\n"
	/* assembler without information, in one piece */
	/* as the C library makes threads: no information after the system call */
	"	.globl cloning\ncloning:	.cfi_startproc\n	mov $56,%eax\n	"
	".cfi_endproc\n"
	"	syscall\ncloning_pc:	test %rax,%rax\n	jz cloned\n	ret\n"
	"cloned:	.cfi_startproc\n	.cfi_undefined rip\n	hlt\n	.cfi_endproc\n"
	"	.balign 64\nbare_before:	call *%rdx\nbare_call:	ret\n"
	"	.globl bare\nbare:	push %rbp\n	push %rbx\n"
	"bare_pc:	nop\n	call *%rcx\nbare_indirect:	pop %rbx\n	pop %rbp\n	"
	"ret\n"
	/* entry point of a dynamic loader, as the kernel starts it */
	"	.balign 64\n	.globl entry\nentry:	mov %rsp,%rdi\n	call *%rax\nentry_call:	"
	"mov %rax,%r12\n	and $-16,%rsp\n	call *%rcx\nentry_again:	jmp *%r12\n"
	"	.balign 64\n"
	"	.section .note.GNU-stack,\"\",@progbits\n";

static struct {
	char name[32];
	uint64_t offset;
} labels[64];
static size_t label_count;

static int build(void **state)
{
	char text[512];
	unsigned long offset;
	FILE *file;

	if (make_folder(state) != 0)
		return -1;
	snprintf(text, sizeof(text), "%s/l.S", folder);
	file = fopen(text, "w");
	if (!file || fputs(source, file) < 0 || fclose(file) != 0)
		return -1;
	snprintf(text, sizeof(text),
		 "cd %s && ${CC:-cc} -shared -nostdlib -Wl,-Bsymbolic,-e,entry l.S -o l.so && nm "
		 "l.so",
		 folder);
	file = popen(text, "r");
	if (!file)
		return -1;
	while (fgets(text, sizeof(text), file) && label_count < 64)
		if (sscanf(text, "%lx %*c %31s", &offset, labels[label_count].name) == 2)
			labels[label_count++].offset = offset;
	return pclose(file);
}

static uint64_t at(const char *name)
{
	for (size_t i = 0; i < label_count; i++)
		if (strcmp(labels[i].name, name) == 0)
			return BASE + labels[i].offset;
	fail_msg("no label %s", name);
	return 0;
}

/* ---- a thread ---- */

struct thread {
	struct symbolizer *symbolizer;
	struct address_space *space;
	uint64_t words[WORDS];
	uint32_t used;
	struct cfi_registers registers;
	bool has_base;
	struct unwind_interrupted interrupted;
	struct unwind_frame frames[FRAMES];
	size_t count, max;
	enum unwind_end end;
};

static int begin(void **state)
{
	struct thread *t = calloc(1, sizeof(*t));
	struct code_mapping mapping = {.start = BASE, .end = BASE + 0x10000};
	char path[256];
	struct stat st;

	if (!t)
		return -1;
	*state = t;
	snprintf(path, sizeof(path), "%s/l.so", folder);
	if (stat(path, &st) != 0)
		return -1;
	mapping.path = path;
	mapping.inode = st.st_ino;
	mapping.dev_major = major(st.st_dev);
	mapping.dev_minor = minor(st.st_dev);
	t->symbolizer = symbolizer_new();
	t->space = address_space_new(7, GHOST, true);
	if (!t->symbolizer || !t->space || symbolizer_map(t->symbolizer, t->space, &mapping) != 0)
		return -1;
	mapping = (struct code_mapping){.start = JIT, .end = JIT + 0x1000, .path = "//anon"};
	if (symbolizer_map(t->symbolizer, t->space, &mapping) != 0)
		return -1;
	t->registers.known = (1u << CFI_REGISTERS) - 1;
	t->registers.value[CFI_RSP] = STACK;
	t->has_base = true;
	t->max = FRAMES;
	return 0;
}

static int end(void **state)
{
	struct thread *t = *state;

	address_space_free(t->space);
	symbolizer_free(t->symbolizer);
	free(t);
	return 0;
}

/* Runs at `name`. */
static void run_at(struct thread *t, uint64_t pc)
{
	t->registers.value[CFI_PC] = pc;
}

/* Pushes a word. Returns its address. */
static uint64_t push(struct thread *t, uint64_t word)
{
	assert_true(t->used < WORDS);
	t->words[t->used] = word;
	return STACK + 8 * t->used++;
}

static void push_data(struct thread *t, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		push(t, 0x3ff0000000000000u + i); /* numbers of matrices */
}

static void unwind(struct thread *t)
{
	struct unwind_input input = {.registers = t->registers,
				     .stack = t->words,
				     .stack_size = 8 * (size_t)t->used,
				     .has_base = t->has_base,
				     .interrupted = t->interrupted};

	t->count = symbolizer_unwind(t->symbolizer, t->space, &input, t->frames, t->max, &t->end);
}

/* Expects these frames, innermost first; a NULL ends them. */
static void expect_frames(struct thread *t, enum unwind_end end_, const char *first, ...)
{
	va_list names;
	size_t count = 0;

	unwind(t);
	va_start(names, first);
	for (const char *name = first; name; name = va_arg(names, const char *), count++) {
		if (count == t->count)
			fail_msg("%s is missing", name);
		if (t->frames[count].address != (name[0] ? at(name) : JIT + 0x10))
			fail_msg("frame %zu is no %s, but +%#lx", count, name,
				 (unsigned long)(t->frames[count].address - BASE));
	}
	va_end(names);
	assert_int_equal(t->count, count);
	assert_int_equal(t->end, end_);
}

/* Frames of by_rsp and start, as all threads here have. */
static void push_start(struct thread *t)
{
	push_data(t, 3);
	push(t, at("start_indirect"));
	push_data(t, 2);
}

/* ---- by call-frame information ---- */

static void frames_by_rsp_and_rbp(void **state)
{
	struct thread *t = *state;
	uint64_t saved;

	run_at(t, at("rsp_nocall"));
	push_data(t, 3);
	push(t, at("rbp_indirect"));
	saved = push(t, 0x1234);
	push(t, at("rsp2_indirect"));
	push_data(t, 5);
	push(t, at("start_indirect"));
	push_data(t, 4);
	t->registers.value[CFI_RBP] = saved;
	expect_frames(t, UNWIND_WHOLE, "rsp_nocall", "rbp_indirect", "rsp2_indirect",
		      "start_indirect", NULL);
	assert_false(t->frames[0].is_return_address);
	assert_true(t->frames[1].is_return_address && t->frames[3].is_return_address);
}

static void a_zero_is_where_a_thread_starts(void **state)
{
	struct thread *t = *state;

	run_at(t, at("rsp_nocall"));
	push_data(t, 3);
	push(t, 0);
	expect_frames(t, UNWIND_WHOLE, "rsp_nocall", NULL);
}

static void a_function_that_nothing_called(void **state)
{
	struct thread *t = *state;

	/* the byte before it belongs to no function: the gap's nop */
	run_at(t, at("rsp_nocall"));
	push_data(t, 3);
	push(t, at("restorer"));
	push_data(t, 3);
	expect_frames(t, UNWIND_WHOLE, "rsp_nocall", NULL);
}

static void a_signal_interrupts_at_a_pc_on_any_stack(void **state)
{
	struct thread *t = *state;
	uint64_t other = STACK + 8 * 20;

	run_at(t, at("rsp_nocall"));
	push_data(t, 3);
	push(t, at("restorer") + 1); /* rsp is at the interrupted registers then */
	push(t, at("rsp2_again"));
	push(t, other);
	while (t->used < 20)
		push_data(t, 1);
	push_data(t, 5);
	push(t, at("start_indirect"));
	unwind(t);
	assert_int_equal(t->end, UNWIND_WHOLE);
	assert_int_equal(t->count, 4);
	assert_int_equal(t->frames[2].address, at("rsp2_again"));
	assert_false(t->frames[2].is_return_address);
	assert_true(t->frames[3].is_return_address);
}

/* The signal came on an alternate stack above the thread's. Nothing of the alternate stack is
 * copied. */
static void a_signal_came_on_a_stack_below(void **state)
{
	struct thread *t = *state;

	run_at(t, at("rsp_nocall"));
	push_data(t, 3);
	push(t, at("restorer") + 1);
	push(t, at("rsp2_again"));
	push(t, STACK - 800);
	push_data(t, 3);
	unwind(t);
	assert_int_equal(t->count, 3);
	assert_int_equal(t->frames[2].address, at("rsp2_again"));
	assert_int_equal(t->end, UNWIND_UNREADABLE);
}

#define INTERRUPTED UINT64_C(0x7fff00001000) /* another stack */

/*
 * Interrupts rsp2_again at this stack pointer, with a handler in the restorer's frame. The other
 * stack's words lead from INTERRUPTED to start.
 */
static void interrupt(struct thread *t, uint64_t sp)
{
	static uint64_t other[8];

	memset(other, 0, sizeof(other));
	other[5] = at("start_indirect");
	t->interrupted = (struct unwind_interrupted){.start = INTERRUPTED,
						     .stack = other,
						     .stack_size = sizeof(other),
						     .has_base = true};
	push(t, at("restorer") + 1); /* rsp is at the interrupted registers then */
	push(t, at("rsp2_again"));
	push(t, sp);
	push_data(t, 3);
}

static void a_signal_interrupts_another_stack(void **state)
{
	struct thread *t = *state;

	run_at(t, at("rsp_nocall"));
	push_data(t, 3);
	interrupt(t, INTERRUPTED);
	unwind(t);
	assert_int_equal(t->end, UNWIND_WHOLE);
	assert_int_equal(t->count, 4);
	assert_int_equal(t->frames[2].address, at("rsp2_again"));
	assert_int_equal(t->frames[2].sp, INTERRUPTED);
	assert_false(t->frames[2].is_return_address);
	assert_int_equal(t->frames[3].address, at("start_indirect"));
}

/* The stack has overflowed: what can be read of it begins above the stack pointer. */
static void an_interrupted_stack_begins_above_its_pointer(void **state)
{
	struct thread *t = *state;
	uint64_t word = at("start_indirect");

	run_at(t, at("rsp_nocall"));
	push_data(t, 3);
	interrupt(t, INTERRUPTED - 40);
	t->interrupted.stack = &word;
	t->interrupted.stack_size = sizeof(word);
	unwind(t);
	assert_int_equal(t->end, UNWIND_WHOLE);
	assert_int_equal(t->count, 4);
}

/* A walk that is on trial goes over, too, and what was found on the handler's stack stays there. */
static void code_without_information_in_a_handler(void **state)
{
	struct thread *t = *state;

	run_at(t, at("bare_pc"));
	push_data(t, 2);
	push(t, at("rsp_bare"));
	push_data(t, 3);
	interrupt(t, INTERRUPTED);
	unwind(t);
	assert_int_equal(t->end, UNWIND_WHOLE);
	assert_int_equal(t->count, 5);
	assert_int_equal(t->frames[1].address, at("rsp_bare"));
	assert_int_equal(t->frames[3].address, at("rsp2_again"));
	assert_int_equal(t->frames[4].address, at("start_indirect"));
}

static void interrupted_stack_pointers_that_lead_elsewhere(void **state)
{
	const uint64_t pointers[] = {0,
				     8,
				     INTERRUPTED - 8200,
				     INTERRUPTED + 64,
				     UINT64_MAX - 7,
				     UINT64_C(0xffffffff81000000)};
	struct thread *t = *state;

	for (size_t i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++) {
		t->used = 0;
		run_at(t, at("rsp_nocall"));
		push_data(t, 3);
		interrupt(t, pointers[i]);
		unwind(t);
		assert_int_equal(t->count, 3);
		assert_true(t->end == UNWIND_UNREADABLE || t->end == UNWIND_SHORT_COPY);
	}
}

/* A walk does not come back from the interrupted stack. */
static void a_signals_frame_on_the_interrupted_stack(void **state)
{
	uint64_t other[16] = {0};
	struct thread *t = *state;

	run_at(t, at("rsp_nocall"));
	push_data(t, 3);
	interrupt(t, INTERRUPTED);
	other[5] = at("restorer") + 1;
	other[6] = at("rsp2_again");
	other[7] = STACK;
	t->interrupted.stack = other;
	t->interrupted.stack_size = sizeof(other);
	unwind(t);
	assert_int_equal(t->count, 5);
	assert_int_equal(t->end, UNWIND_UNREADABLE);
}

static void the_reasons_of_cuts(void **state)
{
	struct thread *t = *state;

	run_at(t, at("rsp_nocall"));
	t->words[3] = at("start_indirect"); /* after the copy */
	push_data(t, 2);
	expect_frames(t, UNWIND_SHORT_COPY, "rsp_nocall", NULL);
	push_data(t, 1);
	expect_frames(t, UNWIND_SHORT_COPY, "rsp_nocall", NULL);
	push(t, 0x4141414141); /* nothing is mapped there */
	unwind(t);
	assert_int_equal(t->end, UNWIND_NOT_CODE);
	assert_int_equal(t->count, 2);
	assert_int_equal(t->frames[1].code.module, MODULE_UNKNOWN);
	t->words[3] = at("broken_call");
	expect_frames(t, UNWIND_BAD_INFORMATION, "rsp_nocall", "broken_call", NULL);
	t->words[3] = at("loop_call");
	push_data(t, 3);
	expect_frames(t, UNWIND_LOOP, "rsp_nocall", "loop_call", NULL);
	t->words[3] = at("rbp_indirect");
	t->registers.known &= ~(1u << CFI_RBP);
	expect_frames(t, UNWIND_UNREADABLE, "rsp_nocall", "rbp_indirect", NULL);
	t->max = 1;
	expect_frames(t, UNWIND_TOO_DEEP, "rsp_nocall", NULL);
}

static void tables_that_take_too_long(void **state)
{
	struct thread *t = *state;

	run_at(t, at("slow_call"));
	push(t, at("slow_again"));
	push(t, at("slow_again"));
	push(t, 0);
	/* the second place is one too many, and costs nothing when the first is known */
	expect_frames(t, UNWIND_BAD_INFORMATION, "slow_call", "slow_again", NULL);
	expect_frames(t, UNWIND_WHOLE, "slow_call", "slow_again", "slow_again", NULL);
	run_at(t, at("rsp_nocall"));
	t->used = 0;
	push_start(t);
	expect_frames(t, UNWIND_WHOLE, "rsp_nocall", "start_indirect", NULL);
}

/* ---- without ---- */

/* Enters `bare`, which has pushed rbx and rbp, with data below. Returns the address of the saved
 * rbp. */
static uint64_t enter_bare(struct thread *t, uint32_t data)
{
	uint64_t rbp_at;

	run_at(t, at("bare_pc"));
	push_data(t, data);
	push(t, 0x7777); /* rbx */
	rbp_at = push(t, 0x4242);
	t->registers.value[CFI_RBP] = 0x3ff123456789;
	return rbp_at;
}

static void a_direct_call_of_it_is_the_caller(void **state)
{
	struct thread *t = *state;

	enter_bare(t, 500);
	push(t, at("rsp_bare"));
	push_start(t);
	expect_frames(t, UNWIND_WHOLE, "bare_pc", "rsp_bare", "start_indirect", NULL);
}

/* The rest of a function has its caller, even if rbp is the frame pointer of a function further
 * up. */
static void the_rest_of_a_function_has_its_caller(void **state)
{
	struct thread *t = *state;

	run_at(t, at("cloning_pc"));
	push(t, at("rsp_cloning"));
	push_data(t, 3);
	push(t, at("rbp_indirect"));
	t->registers.value[CFI_RBP] = push(t, 0);
	push(t, at("start_indirect"));
	push_data(t, 2);
	expect_frames(t, UNWIND_WHOLE, "cloning_pc", "rsp_cloning", "rbp_indirect",
		      "start_indirect", NULL);
}

static void an_indirect_call_is_the_caller(void **state)
{
	struct thread *t = *state;

	enter_bare(t, 4000);
	push(t, at("rsp_indirect"));
	push_start(t);
	expect_frames(t, UNWIND_WHOLE, "bare_pc", "rsp_indirect", "start_indirect", NULL);
	/* from the cache: the second time, and with another caller in its place */
	expect_frames(t, UNWIND_WHOLE, "bare_pc", "rsp_indirect", "start_indirect", NULL);
	t->words[4002] = at("rsp_bare");
	expect_frames(t, UNWIND_WHOLE, "bare_pc", "rsp_bare", "start_indirect", NULL);
	t->words[4002] = 0;
	push(t, at("rsp_bare"));
	push_start(t);
	unwind(t);
	assert_int_not_equal(t->frames[1].address, at("rsp_indirect"));
}

static void it_has_a_caller_itself(void **state)
{
	struct thread *t = *state;

	run_at(t, at("rsp_nocall"));
	push_data(t, 3);
	push(t, at("bare_indirect"));
	push_data(t, 7);
	push(t, at("rsp_bare"));
	push_start(t);
	expect_frames(t, UNWIND_WHOLE, "rsp_nocall", "bare_indirect", "rsp_bare", "start_indirect",
		      NULL);
}

static void words_that_are_no_return_addresses(void **state)
{
	struct thread *t = *state;

	enter_bare(t, 5);
	push(t, at("by_rsp"));
	push(t, at("rsp_nocall"));
	push(t, at("bare"));
	push(t, STACK);
	push(t, at("rsp_indirect"));
	push_start(t);
	expect_frames(t, UNWIND_WHOLE, "bare_pc", "rsp_indirect", "start_indirect", NULL);
}

static void what_earlier_calls_left_behind(void **state)
{
	struct thread *t = *state;

	/* the call of another function, from which a walk would go on */
	enter_bare(t, 5);
	push(t, at("rsp_other"));
	push_data(t, 3);
	push(t, at("rsp_indirect"));
	push_start(t);
	expect_frames(t, UNWIND_WHOLE, "bare_pc", "rsp_indirect", "start_indirect", NULL);
	/* one from which none goes on */
	t->words[7] = at("rsp_indirect");
	t->words[8] = t->words[9] = t->words[10] = t->words[11] = 5;
	t->words[12] = at("rsp2_indirect");
	t->words[15] = 5;
	push(t, at("start_indirect"));
	push_data(t, 2);
	expect_frames(t, UNWIND_WHOLE, "bare_pc", "rsp2_indirect", "start_indirect", NULL);
}

/* Memory is full of zeros: they end no stack but at its base. */
static void a_zero_within_the_stack_is_no_start(void **state)
{
	struct thread *t = *state;

	enter_bare(t, 5);
	push(t, at("rsp_indirect"));
	push_data(t, 3);
	push(t, 0);
	push(t, at("rsp2_indirect"));
	push_data(t, 5);
	push(t, at("start_indirect"));
	push_data(t, 200);
	expect_frames(t, UNWIND_WHOLE, "bare_pc", "rsp2_indirect", "start_indirect", NULL);
}

/* bare <- by_rsp <- start, or bare <- by_rsp2 <- start: neither walk passes by the other. */
static void two_answers_are_a_guess(void **state)
{
	struct thread *t = *state;

	enter_bare(t, 5);
	push(t, at("rsp_indirect"));
	push(t, at("rsp2_indirect"));
	push_data(t, 2);
	push(t, at("start_indirect")); /* 24 bytes above the first one */
	push_data(t, 2);
	push(t, at("start_indirect")); /* 40 bytes above the second */
	push_data(t, 2);
	expect_frames(t, UNWIND_GUESSED, "bare_pc", "rsp_indirect", "start_indirect", NULL);
}

/* The caller of the caller fits, too, but is explained. */
static void the_callers_caller_is_no_rival(void **state)
{
	struct thread *t = *state;

	enter_bare(t, 5);
	push(t, at("rsp_indirect"));
	push_data(t, 3);
	push(t, at("rsp2_indirect"));
	push_data(t, 5);
	push(t, at("start_indirect"));
	push_data(t, 2);
	expect_frames(t, UNWIND_WHOLE, "bare_pc", "rsp_indirect", "rsp2_indirect", "start_indirect",
		      NULL);
}

/* One of two calls of by_rbp has returned, the other has not: rbp gives one frame for both. */
static void two_calls_of_one_function_are_one_answer(void **state)
{
	struct thread *t = *state;

	uint64_t rbp_at = enter_bare(t, 5);

	push(t, at("rbp_indirect"));
	push_data(t, 1);
	push(t, at("rbp_indirect"));
	push_data(t, 1);
	t->words[(rbp_at - STACK) / 8] = STACK + 8 * t->used;
	push(t, 0x1234);
	push(t, at("start_indirect"));
	push_data(t, 2);
	expect_frames(t, UNWIND_WHOLE, "bare_pc", "rbp_indirect", "start_indirect", NULL);
}

/*
 * A walk from what was left goes on, but joins the living stack at a call of another function:
 * by_rsp was called by start, which calls bare directly now.
 */
static void a_call_further_up_refutes_what_was_left(void **state)
{
	struct thread *t = *state;

	enter_bare(t, 5);
	push(t, at("rsp2_indirect"));
	push_data(t, 5);
	push(t, at("rsp_other")); /* called by_rbp, not by_rsp2 */
	push_data(t, 3);
	push(t, at("start_indirect"));
	push_data(t, 1);
	t->words[8] = at("rsp_indirect");
	push_data(t, 4);
	t->words[12] = at("start_indirect");
	expect_frames(t, UNWIND_WHOLE, "bare_pc", "rsp_indirect", "start_indirect", NULL);
}

static void rbp_that_is_data(void **state)
{
	struct thread *t = *state;
	uint64_t frame;

	/* rbp points at what looks like a frame: the return address of a call of another function
	 */
	enter_bare(t, 5);
	push(t, at("rsp_bare"));
	push_data(t, 1);
	frame = push(t, STACK + 8 * 40);
	push(t, at("rsp_other"));
	push(t, at("start_indirect"));
	t->words[7 + 4] = at("start_indirect");
	push_data(t, 40);
	t->registers.value[CFI_RBP] = frame;
	expect_frames(t, UNWIND_WHOLE, "bare_pc", "rsp_bare", "start_indirect", NULL);
	/* or a word that is no return address */
	t->words[10] = at("by_rsp");
	expect_frames(t, UNWIND_WHOLE, "bare_pc", "rsp_bare", "start_indirect", NULL);
}

static void rbp_that_is_a_frame_pointer(void **state)
{
	struct thread *t = *state;
	uint64_t rbp_at;

	rbp_at = enter_bare(t, 5);
	push(t, at("rsp_bare"));
	push_start(t);
	t->registers.value[CFI_RBP] = rbp_at;
	expect_frames(t, UNWIND_WHOLE, "bare_pc", "rsp_bare", "start_indirect", NULL);
}

/* The caller's frame is found by rbp, which bare has pushed. */
static void a_pushed_rbp_is_the_callers(void **state)
{
	struct thread *t = *state;
	uint64_t rbp_at = enter_bare(t, 5);

	push(t, at("rbp_bare"));
	push_data(t, 6);
	t->words[(rbp_at - STACK) / 8] = STACK + 8 * t->used;
	push(t, 0x1234);
	push(t, at("start_indirect"));
	push_data(t, 2);
	expect_frames(t, UNWIND_WHOLE, "bare_pc", "rbp_bare", "start_indirect", NULL);
}

/* An untouched rbp is the caller's, or was left in the register. */
static void an_untouched_rbp_is_the_callers(void **state)
{
	struct thread *t = *state;

	enter_bare(t, 0);
	push(t, at("rbp_bare"));
	push_data(t, 6);
	t->registers.value[CFI_RBP] = STACK + 8 * t->used;
	push(t, 0x1234);
	push(t, at("start_indirect"));
	push_data(t, 2);
	expect_frames(t, UNWIND_WHOLE, "bare_pc", "rbp_bare", "start_indirect", NULL);
}

/* ---- ends ---- */

static void nothing_called_code_at_the_base(void **state)
{
	struct thread *t = *state;

	run_at(t, at("rsp_nocall"));
	push_data(t, 3);
	push(t, at("bare_indirect"));
	push_data(t, 3);
	expect_frames(t, UNWIND_WHOLE, "rsp_nocall", "bare_indirect", NULL);
	t->has_base = false; /* more frames may be above */
	expect_frames(t, UNWIND_NO_INFORMATION, "rsp_nocall", "bare_indirect", NULL);
}

/* Pushes the kernel's initial stack of a program: argument count, arguments, environment. */
static void push_arguments(struct thread *t, uint64_t count)
{
	push(t, count);
	for (uint64_t i = 0; i < count; i++)
		push(t, STACK + 0x8000 + 16 * i);
	push(t, 0);
	push(t, STACK + 0x9000);
	push(t, STACK + 0x9010);
	push(t, 0);
}

static void nothing_called_an_entry_point(void **state)
{
	struct thread *t = *state;

	t->has_base = false;
	run_at(t, at("entry")); /* before the first instruction */
	push_arguments(t, 2);
	expect_frames(t, UNWIND_WHOLE, "entry", NULL);
	t->used = 0;
	run_at(t, at("rsp_nocall"));
	push_data(t, 3);
	push(t, at("entry_call"));
	push_arguments(t, 1);
	expect_frames(t, UNWIND_WHOLE, "rsp_nocall", "entry_call", NULL);
	t->used -= 3; /* no more was copied */
	expect_frames(t, UNWIND_WHOLE, "rsp_nocall", "entry_call", NULL);
	t->used = 0;
	push_data(t, 3);
	push(t, at("entry_again"));
	push(t, 7); /* aligned */
	push_arguments(t, 100);
	expect_frames(t, UNWIND_WHOLE, "rsp_nocall", "entry_again", NULL);
	t->used = 0; /* out of assembler */
	enter_bare(t, 0);
	push(t, at("rsp2_indirect")); /* left behind: leads on, and to no start */
	push_data(t, 5);
	push(t, at("rsp_indirect"));
	push_data(t, 4);
	push(t, at("rsp_indirect"));
	push_data(t, 3);
	push(t, at("entry_call"));
	push_arguments(t, 1);
	expect_frames(t, UNWIND_WHOLE, "bare_pc", "rsp_indirect", "entry_call", NULL);
}

/* A library that names an entry point may have other code there. */
static void code_at_an_entry_point_has_a_caller(void **state)
{
	struct thread *t = *state;

	t->has_base = false;
	run_at(t, at("rsp_nocall"));
	push_data(t, 3);
	push(t, at("entry_call"));
	push_data(t, 2);
	push(t, STACK + 0x8000);
	push(t, at("start_indirect"));
	push(t, 0);
	push_data(t, 2);
	expect_frames(t, UNWIND_WHOLE, "rsp_nocall", "entry_call", "start_indirect", NULL);
	t->used = 0;
	push_data(t, 3);
	push(t, at("entry_call"));
	push_data(t, 9);
	expect_frames(t, UNWIND_NO_INFORMATION, "rsp_nocall", "entry_call", NULL);
	/* nor is what else has no information where arguments are */
	t->used = 0;
	push_data(t, 3);
	push(t, at("bare_indirect"));
	push_arguments(t, 1);
	expect_frames(t, UNWIND_NO_INFORMATION, "rsp_nocall", "bare_indirect", NULL);
}

/* In musl, main has information; its caller and the caller's caller have none. */
static void a_library_that_starts_threads_without_information(void **state)
{
	struct thread *t = *state;

	run_at(t, at("rsp_nocall"));
	push_data(t, 3);
	push(t, at("bare_indirect"));
	push_data(t, 3);
	push(t, at("bare_call"));
	push_data(t, 2);
	expect_frames(t, UNWIND_WHOLE, "rsp_nocall", "bare_indirect", NULL);
}

/* memcpy at the bottom of a small stack is not where the thread starts. */
static void a_function_of_it_is_not_the_start(void **state)
{
	struct thread *t = *state;

	run_at(t, at("bare_pc"));
	push_data(t, 2);
	push(t, at("rsp_indirect"));
	push_data(t, 3);
	push(t, at("bare_indirect"));
	push_data(t, 3);
	push(t, at("bare_call"));
	push_data(t, 2);
	unwind(t);
	assert_true(t->count >= 3);
	assert_int_equal(t->frames[1].address, at("rsp_indirect"));
	assert_int_equal(t->frames[2].address, at("bare_indirect"));
	assert_int_equal(t->end, UNWIND_WHOLE);
	/* nor if its caller cannot be found */
	t->words[2] = JIT + 0x10;
	unwind(t);
	assert_int_not_equal(t->end, UNWIND_WHOLE);
}

static void nor_where_nothing_has_information(void **state)
{
	struct thread *t = *state;

	run_at(t, at("bare_pc"));
	push_data(t, 2);
	push(t, at("bare_indirect"));
	push_data(t, 3);
	push(t, at("bare_call"));
	push_data(t, 2);
	unwind(t);
	assert_true(t->count >= 2);
	assert_int_equal(t->frames[1].address, at("bare_indirect"));
	assert_int_equal(t->end, UNWIND_GUESSED);
}

/* The ABI's deepest frame has rbp and the return address 0, not the return address alone. */
static void zeros_where_rbp_points(void **state)
{
	struct thread *t = *state;

	t->has_base = false;
	run_at(t, JIT + 0x10);
	push_data(t, 3);
	t->registers.value[CFI_RBP] = push(t, 0);
	push(t, 0);
	push_data(t, 3);
	expect_frames(t, UNWIND_WHOLE, "", NULL);
	t->words[3] = 5;
	expect_frames(t, UNWIND_NO_INFORMATION, "", NULL);
}

/* ---- code that is in no file ---- */

static void generated_code_with_frame_pointers(void **state)
{
	struct thread *t = *state;
	uint64_t outer;

	run_at(t, JIT + 0x10);
	push_data(t, 4);
	push(t, 0);
	push(t, JIT + 0x10);
	push_data(t, 2);
	outer = push(t, 0);
	push(t, at("rsp_indirect"));
	push_start(t);
	t->registers.value[CFI_RBP] = STACK + 8 * 4;
	t->words[4] = outer;
	expect_frames(t, UNWIND_WHOLE, "", "", "rsp_indirect", "start_indirect", NULL);
}

/* Frames of such code may lie between: never whole. */
static void generated_code_without(void **state)
{
	struct thread *t = *state;

	run_at(t, JIT + 0x10);
	push_data(t, 4);
	push(t, JIT + 0x20);
	push(t, at("rsp_indirect"));
	push_start(t);
	t->registers.value[CFI_RBP] = 5;
	expect_frames(t, UNWIND_GUESSED, "", "rsp_indirect", "start_indirect", NULL);
	t->words[4] = 0;
	expect_frames(t, UNWIND_GUESSED, "", "rsp_indirect", "start_indirect", NULL);
}

/* ---- anything ---- */

static uint64_t any_word(struct prng *p)
{
	if (prng_chance(p, 40))
		return BASE + labels[prng_below(p, label_count)].offset;
	if (prng_chance(p, 40))
		return STACK + prng_below(p, 8 * 300) / 8 * 8;
	if (prng_chance(p, 20))
		return JIT + prng_below(p, 0x1000);
	return prng_chance(p, 50) ? 0 : prng_u64(p) >> prng_below(p, 64);
}

static void any_stack_has_an_end(void **state)
{
	struct thread *t = *state;

	for (uint64_t round = 0; round < unit_rounds(3000); round++) {
		struct prng p = prng_round(round);

		t->used = 0;
		for (uint64_t n = prng_below(&p, 200); n > 0; n--)
			push(t, any_word(&p));
		for (int i = 0; i < CFI_REGISTERS; i++)
			t->registers.value[i] = any_word(&p);
		t->registers.value[CFI_RSP] = STACK + (prng_chance(&p, 10) ? 3 : 0);
		t->registers.known = (uint32_t)prng_u64(&p) | 1u << CFI_RSP | 1u << CFI_PC;
		t->has_base = prng_chance(&p, 50);
		t->interrupted = (struct unwind_interrupted){
			.start = prng_chance(&p, 50) ? STACK + 8 * prng_below(&p, 300)
						     : any_word(&p),
			.stack = t->words,
			.stack_size = 8 * prng_below(&p, 200),
			.has_base = prng_chance(&p, 50)};
		t->max = prng_below(&p, FRAMES) + 1;
		unwind(t);
		EXPECT(&p, t->count <= t->max);
		EXPECT(&p, t->end < UNWIND_ENDS);
	}
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(frames_by_rsp_and_rbp),
		TEST(a_zero_is_where_a_thread_starts),
		TEST(a_function_that_nothing_called),
		TEST(a_signal_interrupts_at_a_pc_on_any_stack),
		TEST(a_signal_came_on_a_stack_below),
		TEST(a_signal_interrupts_another_stack),
		TEST(an_interrupted_stack_begins_above_its_pointer),
		TEST(code_without_information_in_a_handler),
		TEST(interrupted_stack_pointers_that_lead_elsewhere),
		TEST(a_signals_frame_on_the_interrupted_stack),
		TEST(the_reasons_of_cuts),
		TEST(tables_that_take_too_long),
		TEST(a_direct_call_of_it_is_the_caller),
		TEST(the_rest_of_a_function_has_its_caller),
		TEST(an_indirect_call_is_the_caller),
		TEST(it_has_a_caller_itself),
		TEST(words_that_are_no_return_addresses),
		TEST(what_earlier_calls_left_behind),
		TEST(a_zero_within_the_stack_is_no_start),
		TEST(two_answers_are_a_guess),
		TEST(the_callers_caller_is_no_rival),
		TEST(two_calls_of_one_function_are_one_answer),
		TEST(a_call_further_up_refutes_what_was_left),
		TEST(rbp_that_is_data),
		TEST(rbp_that_is_a_frame_pointer),
		TEST(a_pushed_rbp_is_the_callers),
		TEST(an_untouched_rbp_is_the_callers),
		TEST(nothing_called_code_at_the_base),
		TEST(nothing_called_an_entry_point),
		TEST(code_at_an_entry_point_has_a_caller),
		TEST(a_library_that_starts_threads_without_information),
		TEST(a_function_of_it_is_not_the_start),
		TEST(nor_where_nothing_has_information),
		TEST(zeros_where_rbp_points),
		TEST(generated_code_with_frame_pointers),
		TEST(generated_code_without),
		TEST(any_stack_has_an_end),
	};

	return cmocka_run_group_tests(tests, build, remove_folder);
}
