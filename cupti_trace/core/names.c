// SPDX-License-Identifier: MIT
#include "cupti_trace/core/names.h"

#include <stdlib.h>
#include <string.h>
#include "cupti_trace/core/readable.h"
#include "cupti_trace/core/sink.h"
#include "symbolize/util/array.h"
#include "symbolize/util/text.h"

static bool equal(const void *records, uint32_t position, const void *key)
{
	char *const *list = records;

	return strcmp(list[position], key) == 0;
}

static uint32_t add(struct names *names, const char *name, uint32_t hash)
{
	size_t bytes = strlen(name) + 1;
	char *copy;

	if (names->count >= NAMES_MAX || names->bytes + bytes > NAMES_MAX_BYTES ||
	    !array_make_room(&names->list, names->count, &names->capacity, sizeof(*names->list)))
		return NAMES_OVERFLOW_ID;
	copy = strdup(name);
	if (!copy || hash_index_add(&names->index, hash, names->count) != 0) {
		free(copy);
		return NAMES_OVERFLOW_ID;
	}
	names->list[names->count++] = copy;
	names->bytes += bytes;
	return names->count;
}

/* Returns the id of a name, adding it if it is new. */
static uint32_t look_up(struct names *names, const char *name, bool *is_new)
{
	uint32_t hash = hash_bytes(name, strlen(name)), id;
	uint32_t at = hash_index_find(&names->index, hash, equal, names->list, name);

	if (at != HASH_INDEX_NONE)
		return at + 1;
	id = add(names, name, hash);
	*is_new = id != NAMES_OVERFLOW_ID;
	return id;
}

#define PIECE 4096 /* no read goes beyond a page of the name */

/*
 * Appends to the copy from `name` + `used` up to the end of the page. Returns -1 if the page is not
 * readable, 1 if the name ends there, 0 if it goes on.
 */
static int read_page(struct names *names, const char *name, size_t used)
{
	const char *from = name + used;
	size_t n = PIECE - (uintptr_t)from % PIECE;

	if (!is_readable((uintptr_t)from & ~(uintptr_t)7))
		return -1;
	/* not by functions that sanitizers watch: those know less about what may be read */
	for (size_t i = 0; i < n; i++) {
		names->copy[used + i] = from[i];
		if (!from[i])
			return 1;
	}
	return 0;
}

/* Copies the name without trust. Returns NULL if it is not there, or has no end. */
static const char *copy_name(struct names *names, const char *name)
{
	size_t used = 0;
	int ended = 0;

	while (!ended) {
		size_t page = PIECE - ((uintptr_t)name + used) % PIECE;

		if (used + PIECE > names->copy_size) {
			char *grown = used + PIECE <= NAMES_MAX_BYTES
					      ? realloc(names->copy, 2 * (used + PIECE))
					      : NULL;

			if (!grown)
				return NULL;
			names->copy = grown;
			names->copy_size = 2 * (used + PIECE);
		}
		ended = read_page(names, name, used);
		if (ended < 0)
			return NULL;
		used += page;
	}
	return names->copy;
}

/* Returns whether this is the last name that came by this pointer. */
static bool is_cached(const struct names *names, size_t c, const char *name)
{
	return names->cache[c].pointer == name && !names->has_unloaded &&
	       strcmp(names->list[names->cache[c].id - 1], name) == 0;
}

uint32_t names_id(struct names *names, const char *name, bool *is_new)
{
	size_t c = ((uintptr_t)name >> 4) % NAMES_POINTER_CACHE;
	const char *text;
	uint32_t id;

	*is_new = false;
	if (!name)
		return NAMES_OVERFLOW_ID;
	if (is_cached(names, c, name))
		return names->cache[c].id;
	text = names->has_unloaded ? copy_name(names, name) : name;
	id = text ? look_up(names, text, is_new) : NAMES_OVERFLOW_ID;
	if (id != NAMES_OVERFLOW_ID) {
		names->cache[c].pointer = name;
		names->cache[c].id = id;
	}
	return id;
}

const char *names_text(const struct names *names, uint32_t id)
{
	return names->list[id - 1];
}

void names_module_unloads(struct names *names)
{
	names->has_unloaded = true;
}

void names_release(struct names *names)
{
	for (uint32_t i = 0; i < names->count; i++)
		free(names->list[i]);
	free(names->list);
	free(names->copy);
	hash_index_release(&names->index);
	memset(names, 0, sizeof(*names));
}

/* ---- sending ---- */

/* Bytes of a name in one event: even if all are escaped, the line stays within its limit. */
#define NAME_PIECE 600

/* Returns the length of a first piece of a name, without cutting a character. */
static size_t piece_length(const char *name, size_t left)
{
	size_t n;

	if (left <= NAME_PIECE)
		return left;
	n = cut_text(name, NAME_PIECE);
	return n ? n : NAME_PIECE;
}

static void send_name(struct sink *sink, uint32_t id, const char *name)
{
	size_t left = strlen(name);
	char piece[NAME_PIECE + 1];

	do {
		size_t n = piece_length(name, left);
		struct gpu_event event = {
			.type = GPU_EVENT_NAME,
			.name = {.id = id, .more = left > n, .name = piece},
		};

		memcpy(piece, name, n);
		piece[n] = '\0';
		sink_put(sink, &event);
		name += n;
		left -= n;
	} while (left);
}

uint32_t names_send(struct names *names, struct sink *sink, const char *name)
{
	bool is_new;
	uint32_t id = names_id(names, name, &is_new);

	if (is_new)
		send_name(sink, id, names_text(names, id));
	return id;
}
