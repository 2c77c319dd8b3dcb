/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a line table: no crash, and results that end within their sections. The first byte
 * is the file's number; the last 64 bytes are the sections of texts.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/line_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct line_sections *s, const char *text)
{
	const struct line_section *const all[] = {&s->lines, &s->strings, &s->line_strings};

	for (int i = 0; i < 3; i++) {
		const char *start = all[i]->data;

		if (text >= start && text < start + all[i]->size &&
		    memchr(text, '\0', all[i]->size - (size_t)(text - start)))
			return;
	}
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *folder, *name;
	struct line_sections s;

	if (size < 66)
		return 0;
	s = (struct line_sections){.lines = {data + 1, size - 65},
				   .strings = {data + size - 64, 32},
				   .line_strings = {data + size - 32, 32}};
	if (!line_file_find(&s, 0, data[0], &folder, &name))
		return 0;
	check(&s, name);
	if (folder)
		check(&s, folder);
	return 0;
}
