/* SPDX-License-Identifier: MIT */
/*
 * Finding the evaluation loop and its far parts: in a libpython if there is one, and in a test
 * function with the layout that compilers give.
 */
#include "libpython.h"
#include "cupti_trace/python/loaded_python.h"

/*
 * A function with a frame of 64 bytes and a cold part in another section. Its call-frame
 * information begins in the middle, before all registers are saved. Next to it are a similar
 * function that nothing jumps to, and the target of the function's tail call.
 */
__asm__(".section .text.made_loop, \"ax\", @progbits\n"
	".globl made_loop\n"
	".type made_loop, @function\n"
	"made_loop:\n"
	".cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset rbx, -16\n"
	"	sub $48, %rsp\n"
	"	.cfi_def_cfa_offset 64\n"
	"	test %edi, %edi\n"
	"	.byte 0x0f, 0x84\n" /* je made_loop_far: long, as to another section */
	"	.long made_loop_far - . - 4\n"
	"	.fill 200, 1, 0x90\n"
	"made_loop_near:\n"
	"	add $48, %rsp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	pop %rbx\n"
	"	.cfi_def_cfa_offset 8\n"
	"	ret\n"
	"	.byte 0xe9\n" /* jmp made_tail: long */
	"	.long made_tail - . - 4\n"
	"	.fill 8, 1, 0x90\n"
	".cfi_endproc\n"
	".size made_loop, . - made_loop\n"
	".section .text.unlikely.made, \"ax\", @progbits\n"
	"made_other_far:\n"
	".cfi_startproc\n"
	"	.cfi_def_cfa_offset 64\n"
	"	.cfi_offset rbx, -16\n"
	"	.fill 16, 1, 0x90\n"
	"	jmp made_loop_near\n"
	".cfi_endproc\n"
	"made_tail:\n"
	".cfi_startproc\n"
	"	.fill 16, 1, 0x90\n"
	"	ret\n"
	".cfi_endproc\n"
	"made_loop_far:\n"
	".cfi_startproc\n"
	"	.cfi_def_cfa_offset 56\n"
	"	.fill 16, 1, 0x90\n"
	"	jmp made_loop_near\n"
	".cfi_endproc\n"
	"made_loop_far_end:\n"
	".text\n");

extern const char made_loop[], made_loop_far_start[] __asm__("made_loop_far");
extern const char made_loop_far_end[], made_other_far[];

static void parts_of_a_made_function(void **state)
{
	struct python_loop loop;
	uint64_t start = (uint64_t)(uintptr_t)made_loop;
	uint64_t far_start = (uint64_t)(uintptr_t)made_loop_far_start;
	uint64_t far_end = (uint64_t)(uintptr_t)made_loop_far_end;

	(void)state;
	assert_true(loaded_python_find_loop(start, start, &loop));
	if (loop.count == 0)
		SKIP("a test program's own functions are not exported");
	assert_int_equal(loop.count, 2);
	assert_true(loop.parts[0].start == start);
	assert_true(loop.parts[1].start == far_start);
	assert_true(loop.parts[1].end == far_end);
	assert_true(loop.module_start <= start && loop.module_end > far_end);
	assert_true(python_loop_has_handlers(&loop));  /* no room for instructions */
	assert_false(python_loop_holds(&loop, start)); /* a return address follows a call */
	assert_true(python_loop_holds(&loop, start + 5));
	assert_true(python_loop_holds(&loop, far_start + 5));
	assert_false(python_loop_holds(&loop, (uint64_t)(uintptr_t)made_other_far + 5));
}

/* ---- tables that take long ---- */

#define LOOP UINT64_C(0x100000) /* a loop of 1 MiB, followed by 1 MiB of other code */
#define LOOP_BYTES 0x100000u
#define PART UINT64_C(0x280000) /* 4 bytes, the target of the loop's last instruction */

static const uint8_t common[] = {20,   0,   0,   0,    0, 0,    0,  0, /* length, id */
				 1,    'z', 'R', 0,    1, 0x78, 16, 1, 0 /* absolute pointers */,
				 0x0c, 7,   16,  0x90, 1, 0,    0};

static uint8_t *put_function(uint8_t *frames, uint8_t *at, uint64_t start, uint64_t size)
{
	uint32_t head[2] = {24, (uint32_t)(at + 4 - frames)};

	memcpy(at, head, 8);
	memcpy(at + 8, &start, 8);
	memcpy(at + 16, &size, 8);
	memset(at + 24, 0, 4); /* no augmentation data, no program */
	return at + 28;
}

/* Counts the parts, with `others` functions that begin as the part does but are not jumped to. */
static uint32_t count_parts(uint32_t others)
{
	struct python_loop loop = {.count = 1, .module_start = LOOP, .module_end = 3 * LOOP};
	uint8_t *frames = malloc(sizeof(common) + 28 * (others + 1u)), *at = frames;
	uint8_t *code = malloc(LOOP_BYTES);
	struct cfi_table table = {.frames = frames};
	int32_t distance = (int32_t)(PART - LOOP - LOOP_BYTES);

	assert_true(frames && code);
	loop.parts[0].start = LOOP;
	loop.parts[0].end = LOOP + LOOP_BYTES;
	memset(code, 0x90, LOOP_BYTES);
	/* no instruction is looked for at the last byte, so the jump ends before it */
	code[LOOP_BYTES - 6] = 0xe9;
	distance++;
	memcpy(code + LOOP_BYTES - 5, &distance, 4);
	memcpy(at, common, sizeof(common));
	at += sizeof(common);
	for (uint32_t i = 0; i < others; i++)
		at = put_function(frames, at, PART + 4 + i % 16, 1);
	at = put_function(frames, at, PART, 4);
	table.frames_size = (size_t)(at - frames);
	python_loop_find_parts(&loop, &table, code);
	free(code);
	free(frames);
	return loop.count;
}

static void many_functions_like_parts_end_the_search(void **state)
{
	(void)state;
	assert_int_equal(count_parts(0), 2);
	assert_int_equal(count_parts(100), 2);
	assert_int_equal(count_parts(300), 1);
}

static void non_functions_are_refused(void **state)
{
	struct python_loop loop;
	static int data;
	int local;

	(void)state;
	assert_false(loaded_python_find_loop(0, 0, &loop));
	assert_false(loaded_python_find_loop((uint64_t)(uintptr_t)&local, 0, &loop));
	assert_true(loaded_python_find_loop((uint64_t)(uintptr_t)&data, (uint64_t)(uintptr_t)&local,
					    &loop));
	assert_int_equal(loop.count, 0);
	/* a function of another module */
	assert_true(loaded_python_find_loop((uint64_t)(uintptr_t)&data, (uint64_t)(uintptr_t)strlen,
					    &loop));
	assert_int_equal(loop.count, 0);
	assert_true(loop.module_start <= (uint64_t)(uintptr_t)non_functions_are_refused &&
		    loop.module_end > (uint64_t)(uintptr_t)non_functions_are_refused);
}

/* Finds the far part by its symbol, if the linker kept the symbol. Returns false otherwise. */
static bool named_part(const char *path, uint64_t *start, uint64_t *size)
{
	char command[600], line[600];
	bool found = false;
	FILE *pipe;

	snprintf(command, sizeof(command),
		 "nm -S '%s' 2>/dev/null | grep ' _PyEval_EvalFrameDefault.cold'", path);
	pipe = popen(command, "r");
	if (pipe && fgets(line, sizeof(line), pipe))
		found = sscanf(line, "%" SCNx64 " %" SCNx64, start, size) == 2;
	if (pipe)
		pclose(pipe);
	return found;
}

static void check_library(const char *path)
{
	void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	void *function = handle ? dlsym(handle, "_PyEval_EvalFrameDefault") : NULL;
	uint64_t start, size;
	struct python_loop loop;
	Dl_info info;

	if (!function)
		return;
	assert_true(loaded_python_find_loop((uint64_t)(uintptr_t)function,
					    (uint64_t)(uintptr_t)function, &loop));
	assert_false(python_loop_has_handlers(&loop));
	assert_true(loop.parts[0].end - loop.parts[0].start > 10000);
	print_message("%s: %u parts\n", path, loop.count);
	if (named_part(path, &start, &size) && dladdr(function, &info)) {
		bool found = false;

		start += (uint64_t)(uintptr_t)info.dli_fbase;
		for (uint32_t i = 1; i < loop.count; i++)
			found |= loop.parts[i].start == start && loop.parts[i].end == start + size;
		/* a part as short as a ud2 need not be reached by a jump, and calls nothing */
		assert_true(found || size < 16);
	}
	dlclose(handle);
}

static void parts_of_installed_libraries(void **state)
{
	glob_t found = find_libpythons();

	(void)state;
	for (size_t i = 0; i < found.gl_pathc; i++)
		check_library(found.gl_pathv[i]);
	globfree(&found);
	if (found.gl_pathc == 0)
		SKIP("no libpython is installed");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_of_a_made_function),
		cmocka_unit_test(many_functions_like_parts_end_the_search),
		cmocka_unit_test(non_functions_are_refused),
		cmocka_unit_test(parts_of_installed_libraries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
