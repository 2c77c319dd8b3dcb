// SPDX-License-Identifier: MIT
#include "profiler/shape/text_table.h"

#include <string.h>

void text_table_release(struct text_table *t)
{
	record_set_release(&t->set);
	intern_release(&t->kept);
}

static bool text_equal(const void *records, uint32_t position, const void *key)
{
	const char *const *texts = records;

	return strcmp(texts[position], key) == 0;
}

uint32_t text_table_number(struct text_table *t, const char *text)
{
	uint32_t hash = hash_bytes(text, strlen(text));
	uint32_t at = record_find_equal(t, hash, text_equal, text);

	if (at == RECORD_NONE)
		at = record_add_hashed(t, hash, &text);
	t->failed |= at == RECORD_NONE;
	return at != RECORD_NONE ? at : 0;
}

const char *text_table_keep(struct text_table *t, const char *text)
{
	const char *kept = intern_string(&t->kept, text);

	t->failed |= !kept;
	return kept ? kept : "";
}
