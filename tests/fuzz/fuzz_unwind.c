/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes unwinding: registers and a stack from the fuzzer, in an address space that maps this
 * program's own code, some of it as if it were generated, so that words become addresses of
 * functions with and without call-frame information. The result keeps its bounds, and no read goes
 * beyond the copy; the same the second time, when it is known where callers were found. The results
 * may differ: reading code has a time limit.
 *
 * Input: 2 bytes of options, then words of 8 bytes, registers first. A word whose highest byte is
 * not 0 is taken as it is; else the next one says what it counts from: 0: nothing, 1: the code, 2:
 * generated code, 3: the stack.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "symbolize/unwind.h"
#include "symbolize/symbolizer.h"

#define CODE UINT64_C(0x555500000000)
#define JIT UINT64_C(0x7f1100000000)
#define STACK UINT64_C(0x7ffc00000000)
#define WORDS 4096u
#define FRAMES 128u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
	if (!holds)
		abort();
}

static struct symbolizer *symbolizer;
static struct address_space *space;

static void set_up(void)
{
	static char path[4096];
	struct code_mapping code = {.start = CODE, .end = CODE + (1u << 26), .path = path};
	struct code_mapping jit = {.start = JIT, .end = JIT + (1u << 16), .path = "//anon"};
	struct stat st;
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	expect(length > 0 && stat(path, &st) == 0);
	code.inode = st.st_ino;
	code.dev_major = major(st.st_dev);
	code.dev_minor = minor(st.st_dev);
	symbolizer = symbolizer_new();
	space = address_space_new(1, 0x3fff0000, true);
	expect(symbolizer && space);
	expect(symbolizer_map(symbolizer, space, &code) == 0);
	expect(symbolizer_map(symbolizer, space, &jit) == 0);
}

static uint64_t word_of(uint64_t raw)
{
	static const uint64_t bases[4] = {0, CODE, JIT, STACK};

	return raw >> 56 ? raw : bases[raw >> 48 & 3] + (raw & 0xffffffffffff);
}

static void unwind(const uint64_t *words, size_t count, const uint8_t *options,
		   struct unwind_frame *frames, enum unwind_end *end)
{
	struct unwind_input input = {.has_base = options[0] & 1};
	size_t max = options[1] % FRAMES + 1, skipped = 0, found;
	uint64_t *stack;

	for (; skipped < CFI_REGISTERS && skipped < count; skipped++)
		input.registers.value[skipped] = word_of(words[skipped]);
	input.registers.known =
		options[0] & 2 ? (1u << CFI_REGISTERS) - 1 : 1u << CFI_RSP | 1u << CFI_PC;
	if (options[0] & 4)
		input.registers.value[CFI_RSP] = STACK;
	/* exactly its size, so that a read beyond is seen */
	input.stack_size =
		8 * (count - skipped) - (options[0] >> 5 < count - skipped ? options[0] >> 5 : 0);
	stack = malloc(8 * (count - skipped) + 1);
	expect(stack != NULL);
	for (size_t i = skipped; i < count; i++)
		stack[i - skipped] = word_of(words[i]);
	input.stack = stack;
	memset(frames, 0, FRAMES * sizeof(*frames));
	found = symbolizer_unwind(symbolizer, space, &input, frames, max, end);
	expect(found <= max && *end < UNWIND_ENDS);
	free(stack);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint64_t words[WORDS];
	static struct unwind_frame frames[FRAMES];
	size_t count = size < 2 ? 0 : (size - 2) / 8;
	enum unwind_end end;

	if (!symbolizer)
		set_up();
	if (size < 2)
		return 0;
	if (count > WORDS)
		count = WORDS;
	memcpy(words, data + 2, 8 * count);
	unwind(words, count, data, frames, &end);
	unwind(words, count, data, frames, &end);
	return 0;
}
