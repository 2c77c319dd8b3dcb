/* SPDX-License-Identifier: MIT */
/*
 * Reads dictionaries of CPython and the attributes of its objects, without the interpreter.
 *
 * Layouts: Objects/dictobject.c, Include/internal/pycore_dict.h, pycore_object.h of 3.8 to 3.15.
 * A subclass of dict is read as the dictionary that it begins with. Memory is read through a
 * callback while the process runs on, and nothing is trusted: a result may be wrong or missing.
 * Does not allocate.
 */
#ifndef SYMBOLIZE_PYTHON_DICT_H
#define SYMBOLIZE_PYTHON_DICT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "symbolize/python_frames.h"

#define PYTHON_DICT_PIECE 128u      /* entries read at once */
#define PYTHON_DICT_ENTRY_BYTES 24u /* hash, key, value */
#define PYTHON_ATTRIBUTES_MAX 4096u /* attributes of an object */
#define PYTHON_DICT_TEXT_MAX 16u    /* ASCII characters of a text to be found */

struct python_reader {
	const struct python_memory *memory; /* needs a callback */
	const struct python_offsets *o;
	const struct python_types *types;
};

/* Reads memory below 2^63, but not the first page. Returns false if not all of it is readable. */
bool python_read(const struct python_reader *r, uint64_t address, void *out, size_t size);

/* Reads a reference to an object. Returns false if unreadable, or no object. */
bool python_read_object(const struct python_reader *r, uint64_t address, uint64_t *object);

/* Keys of a dictionary, and its values if they are beside them. */
struct python_dict {
	uint64_t keys;
	uint64_t entries;
	uint64_t values;                   /* 0: values are in the entries */
	uint32_t count;                    /* entries, also free ones */
	uint32_t stride, key_at, value_at; /* in bytes, of an entry */
};

/* Opens a dictionary of at most `max` entries. */
bool python_dict_open(const struct python_reader *r, uint64_t dict, uint32_t max,
		      struct python_dict *t);

/* Opens the attributes of an object, which has a dictionary or values with shared keys. */
bool python_attributes_open(const struct python_reader *r, uint64_t object, struct python_dict *t);

/* Some entries of a dictionary. */
struct python_dict_piece {
	uint32_t count;
	unsigned char bytes[PYTHON_DICT_PIECE * PYTHON_DICT_ENTRY_BYTES];
};

/* Reads the entries from `first` on, which is below the dictionary's number. */
bool python_dict_read(const struct python_reader *r, const struct python_dict *t, uint32_t first,
		      struct python_dict_piece *piece);

/* Returns the key of an entry, by its index in the piece; 0: the entry is free. */
static inline uint64_t python_dict_key(const struct python_dict *t,
				       const struct python_dict_piece *piece, uint32_t i)
{
	uint64_t key;

	memcpy(&key, piece->bytes + i * t->stride + t->key_at, sizeof(key));
	return key;
}

/* Returns the value of an entry; 0: the entry is free. For dictionaries with values in entries. */
static inline uint64_t python_dict_value(const struct python_dict *t,
					 const struct python_dict_piece *piece, uint32_t i)
{
	uint64_t value;

	memcpy(&value, piece->bytes + i * t->stride + t->value_at, sizeof(value));
	return value;
}

/* Returns the address of the reference to a value. */
static inline uint64_t python_dict_place(const struct python_dict *t, uint32_t index)
{
	return t->values ? t->values + 8 * (uint64_t)index
			 : t->entries + (uint64_t)index * t->stride + t->value_at;
}

/*
 * Finds a key, by its address if known, as such keys are interned; otherwise by its text, and sets
 * the address. Returns its index, or -1.
 */
int32_t python_dict_find(const struct python_reader *r, const struct python_dict *t,
			 const char *text, uint64_t *known);

/* Finds the value of a key in a dictionary of at most `max` entries. */
bool python_dict_look_up(const struct python_reader *r, uint64_t dict, uint32_t max,
			 const char *text, uint64_t *value);

#endif
