// SPDX-License-Identifier: MIT
#include "symbolize/python_dict.h"

/* Py_TPFLAGS_ */
#define INLINE_VALUES (1u << 2)
#define MANAGED_DICT (1u << 4)

bool python_read(const struct python_reader *r, uint64_t address, void *out, size_t size)
{
	return address >> 12 && address <= UINT64_MAX / 2 - size &&
	       r->memory->read(r->memory->context, address, out, size);
}

bool python_read_object(const struct python_reader *r, uint64_t address, uint64_t *object)
{
	return python_read(r, address, object, sizeof(*object)) && !(*object & 7) && *object >> 12;
}

/* ---- dictionaries ---- */

/* Opens the keys of a dictionary: struct _dictkeysobject. */
static bool open_keys(const struct python_reader *r, uint64_t keys, uint32_t max,
		      struct python_dict *t)
{
	unsigned char head[40];
	uint64_t count, index_bytes;
	bool has_hash = true;

	if (!python_read(r, keys, head, sizeof(head)))
		return false;
	if (r->o->version < 0x030b) {
		uint64_t size;

		memcpy(&size, head + 8, sizeof(size));
		memcpy(&count, head + 32, sizeof(count));
		if (size > 1u << 28)
			return false;
		index_bytes = size * (size <= UINT8_MAX ? 1 : size <= UINT16_MAX ? 2 : 4) + 8;
	} else {
		memcpy(&count, head + 24, sizeof(count));
		if (head[9] > 30)
			return false;
		index_bytes = UINT64_C(1) << head[9];
		has_hash = head[10] == 0; /* DICT_KEYS_GENERAL */
	}
	if (count > max)
		return false;
	t->keys = keys;
	t->entries = keys + 32 + index_bytes;
	t->count = (uint32_t)count;
	t->stride = has_hash ? PYTHON_DICT_ENTRY_BYTES : 16;
	t->key_at = has_hash ? 8 : 0;
	t->value_at = t->key_at + 8;
	return true;
}

/* Returns the first value of an instance with shared keys. */
static uint64_t first_value(const struct python_reader *r, uint64_t values)
{
	return values && r->o->version >= 0x030d ? values + 8 : values;
}

bool python_dict_open(const struct python_reader *r, uint64_t dict, uint32_t max,
		      struct python_dict *t)
{
	uint64_t members[2]; /* ma_keys, ma_values */

	if (!python_read(r, dict + r->o->object_bytes + 16, members, sizeof(members)) ||
	    !open_keys(r, members[0], max, t))
		return false;
	t->values = first_value(r, members[1]);
	return true;
}

bool python_dict_read(const struct python_reader *r, const struct python_dict *t, uint32_t first,
		      struct python_dict_piece *piece)
{
	piece->count = t->count - first < PYTHON_DICT_PIECE ? t->count - first : PYTHON_DICT_PIECE;
	return python_read(r, t->entries + (uint64_t)first * t->stride, piece->bytes,
			   (size_t)piece->count * t->stride);
}

/* Returns whether a str is this text, of at most 16 ASCII characters. */
static bool is_text(const struct python_reader *r, uint64_t object, const char *text)
{
	const struct python_offsets *o = r->o;
	unsigned char bytes[128];
	const size_t length = strlen(text), size = o->text_ascii_data + length;
	uint64_t type, characters;
	uint32_t state;

	if (object & 7 || size > sizeof(bytes) || !python_read(r, object, bytes, size))
		return false;
	memcpy(&type, bytes + o->object_type, sizeof(type));
	memcpy(&characters, bytes + o->text_length, sizeof(characters));
	memcpy(&state, bytes + o->text_state, sizeof(state));
	return (!r->types->text || type == r->types->text) && characters == length &&
	       (state >> o->text_kind_bit & 7) == 1 && (state >> (o->text_kind_bit + 3) & 3) == 3 &&
	       memcmp(bytes + o->text_ascii_data, text, length) == 0;
}

int32_t python_dict_find(const struct python_reader *r, const struct python_dict *t,
			 const char *text, uint64_t *known)
{
	struct python_dict_piece piece;

	for (int by_text = *known ? 0 : 1; by_text < 2; by_text++) {
		for (uint32_t at = 0; at < t->count; at += piece.count) {
			if (!python_dict_read(r, t, at, &piece))
				return -1;
			for (uint32_t i = 0; i < piece.count; i++) {
				uint64_t key = python_dict_key(t, &piece, i);

				if (by_text ? !is_text(r, key, text) : key != *known)
					continue;
				*known = key;
				return (int32_t)(at + i);
			}
		}
	}
	return -1;
}

bool python_dict_look_up(const struct python_reader *r, uint64_t dict, uint32_t max,
			 const char *text, uint64_t *value)
{
	struct python_dict table;
	uint64_t known = 0;
	int32_t at;

	if (!python_dict_open(r, dict, max, &table))
		return false;
	at = python_dict_find(r, &table, text, &known);
	return at >= 0 && python_read_object(r, python_dict_place(&table, (uint32_t)at), value);
}

/* ---- attributes ---- */

bool python_attributes_open(const struct python_reader *r, uint64_t object, struct python_dict *t)
{
	const struct python_offsets *o = r->o;
	uint64_t type, flags, keys, size, offset, dict = 0, values = 0;

	/* tp_basicsize, tp_flags, tp_dictoffset, ht_cached_keys */
	if (!python_read_object(r, object + o->object_type, &type) ||
	    !python_read(r, type + o->object_bytes + 16, &size, 8) ||
	    !python_read(r, type + o->object_bytes + 152, &flags, 8) ||
	    !python_read(r, type + o->object_bytes + 272, &offset, 8) ||
	    !python_read(r, type + o->type_keys, &keys, 8))
		return false;
	if (o->version < 0x030b || !(flags & MANAGED_DICT)) {
		/* limit 4096: far more than an instance has besides */
		return offset >= o->object_bytes && offset < 4096 &&
		       python_read_object(r, object + offset, &dict) &&
		       python_dict_open(r, dict, PYTHON_ATTRIBUTES_MAX, t);
	}
	if (!python_read(r, object - (o->object_bytes > 16 ? 8 : 24), &dict, 8))
		return false;
	if (o->version == 0x030b) {
		if (!python_read(r, object - 32, &values, 8))
			return false;
	} else if (o->version == 0x030c) {
		if (dict & 1)
			values = dict + 1;
	} else if (!dict && flags & INLINE_VALUES) {
		values = size < 4096 ? object + size : 0;
	}
	if (!values)
		return !(dict & 7) && python_dict_open(r, dict, PYTHON_ATTRIBUTES_MAX, t);
	if (!open_keys(r, keys, PYTHON_ATTRIBUTES_MAX, t))
		return false;
	t->values = first_value(r, values);
	return true;
}
