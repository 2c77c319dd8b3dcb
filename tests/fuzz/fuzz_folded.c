/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as folded stacks, one or, around the first byte 0xff, two files: what is accepted is
 * written again, and both are compared and the difference is written in each format.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/formats/folded_read.h"
#include "profiler/formats/writer.h"
#include "profiler/tables/comparison.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The text, to be freed. */
static char *write_with(const struct writer *writer, const struct result *result,
			const struct comparison *comparison)
{
	const struct writer_options options = {.unit_ns = 1, .comparison = comparison};
	struct written written;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out || writer->write(result, &options, out, &written) != 0)
		abort();
	fclose(out);
	return text;
}

static struct folded_stacks *read_part(const void *bytes, size_t size, struct quota *memory)
{
	FILE *in = fmemopen((void *)(uintptr_t)bytes, size, "r");
	struct folded_stacks *folded;
	enum folded_error error;
	uint64_t line;

	if (!in)
		abort();
	folded = folded_read(in, memory, &error, &line);
	if (!folded != (error != FOLDED_OK))
		abort();
	fclose(in);
	return folded;
}

/* Writes the result as text, which must read back equal. */
static void write_again(const struct folded_stacks *folded)
{
	struct quota memory = {.limit = 64 << 20};
	char *text = write_with(&folded_writer, folded_result(folded), NULL), *again;
	struct folded_stacks *second;

	if (*text) {
		second = read_part(text, strlen(text), &memory);
		if (!second)
			abort();
		again = write_with(&folded_writer, folded_result(second), NULL);
		if (strcmp(text, again) != 0)
			abort();
		free(again);
		folded_free(second);
	}
	free(text);
}

static void compare_both(const struct folded_stacks *before, const struct folded_stacks *after,
			 struct quota *memory)
{
	static const struct writer *const writers_of_differences[] = {&folded_writer, &svg_writer,
								      &json_difference_writer};
	const struct comparison_options options = {
		.shown = SIDE_AFTER, .is_weights = true, .memory = memory};
	const struct result *b = folded_result(before), *a = folded_result(after);
	struct comparison *c = comparison_new(&b, 1, &a, 1, &options);

	for (size_t i = 0; c && i < 3; i++)
		free(write_with(writers_of_differences[i], &c->result, c));
	comparison_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *border = memchr(data, 0xff, size);
	size_t first = border ? (size_t)(border - data) : size;
	struct quota memory = {.limit = 64 << 20};
	struct folded_stacks *before, *after = NULL;

	if (first == 0)
		return 0;
	before = read_part(data, first, &memory);
	if (before)
		write_again(before);
	if (border && first + 1 < size)
		after = read_part(border + 1, size - first - 1, &memory);
	if (before && after)
		compare_both(before, after, &memory);
	folded_free(before);
	folded_free(after);
	if (memory.used != 0)
		abort();
	return 0;
}
