// SPDX-License-Identifier: MIT
#include "profiler/shape/text_table.h"

#include <stdlib.h>
#include <string.h>
#include "symbolize/util/array.h"

void text_table_release(struct text_table *t)
{
	free(t->texts);
	hash_index_release(&t->index);
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
	uint32_t at = hash_index_find(&t->index, hash, text_equal, t->texts, text);

	if (at != HASH_INDEX_NONE)
		return at;
	if (!array_make_room(&t->texts, t->count, &t->capacity, sizeof(*t->texts)) ||
	    hash_index_add(&t->index, hash, t->count) != 0) {
		t->failed = true;
		return 0;
	}
	t->texts[t->count] = text;
	return t->count++;
}

const char *text_table_keep(struct text_table *t, const char *text)
{
	const char *kept = intern_string(&t->kept, text);

	t->failed |= !kept;
	return kept ? kept : "";
}
