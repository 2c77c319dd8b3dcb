// SPDX-License-Identifier: MIT
#include "symbolize/python_threads.h"

#include <string.h>

#define MODULES_MAX (1u << 16)   /* entries of sys.modules */
#define GLOBALS_MAX (1u << 12)   /* entries of the module `threading` */
#define ATTRIBUTES_MAX (1u << 9) /* attributes of a Thread */
#define PIECE_ENTRIES 128u       /* entries read at once */
#define LAYOUTS 8u               /* layouts of instances kept during a reading */

/* Py_TPFLAGS_ */
#define INLINE_VALUES (1u << 2)
#define MANAGED_DICT (1u << 4)

struct reader {
	const struct python_memory *memory;
	const struct python_offsets *o;
	const struct python_types *types;
	struct python_threads_places *places;
	struct python_threads *threads;
	/* positions of attributes, by shared keys */
	struct layout {
		uint64_t keys;
		int32_t name, tid;
	} layouts[LAYOUTS];
	uint32_t layout_count;
};

static bool read(const struct reader *r, uint64_t address, void *out, size_t size)
{
	return address >> 12 && address <= UINT64_MAX / 2 - size &&
	       r->memory->read(r->memory->context, address, out, size);
}

/* Reads a reference to an object. Returns false if unreadable, or no object. */
static bool read_object(const struct reader *r, uint64_t address, uint64_t *object)
{
	return read(r, address, object, sizeof(*object)) && !(*object & 7) && *object >> 12;
}

/* ---- dictionaries ---- */

/* Keys of a dictionary, and its values if they are beside them. */
struct table {
	uint64_t keys;
	uint64_t entries;
	uint64_t values; /* 0: values are in the entries */
	uint32_t count;
	uint32_t stride, key_at, value_at; /* in bytes, of an entry */
};

#define ENTRY_BYTES 24u /* hash, key, value */

/* Opens the keys of a dictionary: struct _dictkeysobject. */
static bool open_keys(const struct reader *r, uint64_t keys, uint32_t max, struct table *t)
{
	unsigned char head[40];
	uint64_t count, index_bytes;
	bool has_hash = true;

	if (!read(r, keys, head, sizeof(head)))
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
	t->stride = has_hash ? ENTRY_BYTES : 16;
	t->key_at = has_hash ? 8 : 0;
	t->value_at = t->key_at + 8;
	return true;
}

/* Returns the first value of an instance with shared keys. */
static uint64_t first_value(const struct reader *r, uint64_t values)
{
	return values && r->o->version >= 0x030d ? values + 8 : values;
}

static bool open_dict(const struct reader *r, uint64_t dict, uint32_t max, struct table *t)
{
	uint64_t members[2]; /* ma_keys, ma_values */

	if (!read(r, dict + r->o->object_bytes + 16, members, sizeof(members)) ||
	    !open_keys(r, members[0], max, t))
		return false;
	t->values = first_value(r, members[1]);
	return true;
}

/* Piece of a table: some entries. */
struct piece {
	uint32_t first, count;
	unsigned char bytes[PIECE_ENTRIES * ENTRY_BYTES];
};

static bool read_piece(const struct reader *r, const struct table *t, uint32_t first,
		       struct piece *piece)
{
	piece->first = first;
	piece->count = t->count - first < PIECE_ENTRIES ? t->count - first : PIECE_ENTRIES;
	return read(r, t->entries + (uint64_t)first * t->stride, piece->bytes,
		    (size_t)piece->count * t->stride);
}

static uint64_t key_of(const struct table *t, const struct piece *piece, uint32_t i)
{
	uint64_t key;

	memcpy(&key, piece->bytes + i * t->stride + t->key_at, sizeof(key));
	return key;
}

/* Returns whether a str is this text, of at most 16 ASCII characters. */
static bool is_text(const struct reader *r, uint64_t object, const char *text)
{
	const struct python_offsets *o = r->o;
	unsigned char bytes[128];
	const size_t length = strlen(text), size = o->text_ascii_data + length;
	uint64_t type, characters;
	uint32_t state;

	if (object & 7 || size > sizeof(bytes) || !read(r, object, bytes, size))
		return false;
	memcpy(&type, bytes + o->object_type, sizeof(type));
	memcpy(&characters, bytes + o->text_length, sizeof(characters));
	memcpy(&state, bytes + o->text_state, sizeof(state));
	return (!r->types->text || type == r->types->text) && characters == length &&
	       (state >> o->text_kind_bit & 7) == 1 && (state >> (o->text_kind_bit + 3) & 3) == 3 &&
	       memcmp(bytes + o->text_ascii_data, text, length) == 0;
}

/*
 * Finds a key, by its address if known, as such keys are interned; otherwise by its text, and sets
 * the address. Returns its index, or -1.
 */
static int32_t find_key(const struct reader *r, const struct table *t, const char *text,
			uint64_t *known)
{
	struct piece piece;

	for (int by_text = *known ? 0 : 1; by_text < 2; by_text++) {
		for (uint32_t at = 0; at < t->count; at += piece.count) {
			if (!read_piece(r, t, at, &piece))
				return -1;
			for (uint32_t i = 0; i < piece.count; i++) {
				uint64_t key = key_of(t, &piece, i);

				if (by_text ? !is_text(r, key, text) : key != *known)
					continue;
				*known = key;
				return (int32_t)(at + i);
			}
		}
	}
	return -1;
}

/* Returns the address of a value's reference. */
static uint64_t value_place(const struct table *t, uint32_t index)
{
	return t->values ? t->values + 8 * (uint64_t)index
			 : t->entries + (uint64_t)index * t->stride + t->value_at;
}

static bool look_up(const struct reader *r, uint64_t dict, uint32_t max, const char *text,
		    uint64_t *value)
{
	struct table table;
	uint64_t known = 0;
	int32_t at;

	if (!open_dict(r, dict, max, &table))
		return false;
	at = find_key(r, &table, text, &known);
	return at >= 0 && read_object(r, value_place(&table, (uint32_t)at), value);
}

/* ---- attributes ---- */

/* Finds the table of an instance's attributes. */
static bool open_instance(const struct reader *r, uint64_t object, struct table *t)
{
	const struct python_offsets *o = r->o;
	uint64_t type, flags, keys, size, offset, dict = 0, values = 0;

	/* tp_basicsize, tp_flags, tp_dictoffset, ht_cached_keys */
	if (!read_object(r, object + o->object_type, &type) ||
	    !read(r, type + o->object_bytes + 16, &size, 8) ||
	    !read(r, type + o->object_bytes + 152, &flags, 8) ||
	    !read(r, type + o->object_bytes + 272, &offset, 8) ||
	    !read(r, type + o->type_keys, &keys, 8))
		return false;
	if (o->version < 0x030b || !(flags & MANAGED_DICT)) {
		/* limit 4096: far more than an instance has besides */
		return offset >= o->object_bytes && offset < 4096 &&
		       read_object(r, object + offset, &dict) &&
		       open_dict(r, dict, ATTRIBUTES_MAX, t);
	}
	if (!read(r, object - (o->object_bytes > 16 ? 8 : 24), &dict, 8))
		return false;
	if (o->version == 0x030b) {
		if (!read(r, object - 32, &values, 8))
			return false;
	} else if (o->version == 0x030c) {
		if (dict & 1)
			values = dict + 1;
	} else if (!dict && flags & INLINE_VALUES) {
		values = size < 4096 ? object + size : 0;
	}
	if (!values)
		return !(dict & 7) && open_dict(r, dict, ATTRIBUTES_MAX, t);
	if (!open_keys(r, keys, ATTRIBUTES_MAX, t))
		return false;
	t->values = first_value(r, values);
	return true;
}

/* Finds the positions of the attributes in the table: equal for all instances with its keys. */
static struct layout find_layout(struct reader *r, const struct table *t)
{
	struct layout found = {.keys = t->keys};

	for (uint32_t i = 0; t->values && i < r->layout_count; i++)
		if (r->layouts[i].keys == t->keys)
			return r->layouts[i];
	found.name = find_key(r, t, "_name", &r->places->name_key);
	found.tid = find_key(r, t, "_native_id", &r->places->tid_key);
	if (t->values && found.name >= 0 && found.tid >= 0 && r->layout_count < LAYOUTS)
		r->layouts[r->layout_count++] = found;
	return found;
}

/* Reads a small int (PyLongObject). Returns 0 if it is none, or not above 0. */
static uint32_t read_number(const struct reader *r, uint64_t object)
{
	const uint64_t one = r->o->version < 0x030c ? 1 : 1 << 3; /* one digit, of 30 bits */
	uint64_t size;
	uint32_t digits[2] = {0};

	if (!read(r, object + r->o->object_bytes, &size, sizeof(size)))
		return 0;
	if (r->o->version >= 0x030c)
		size &= ~UINT64_C(4); /* 3.14: the object is never freed */
	if ((size != one && size != 2 * one) ||
	    !read(r, object + r->o->object_bytes + 8, digits, size == one ? 4 : 8) ||
	    digits[0] >> 30 || digits[1] > 1)
		return 0;
	return digits[0] | digits[1] << 30;
}

/*
 * Returns whether a name tells nothing: "MainThread", or "Dummy-1" of threads that Python did not
 * make.
 */
static bool is_default_name(const char *name)
{
	static const char dummy[] = "Dummy-";

	return !name[0] || strcmp(name, "MainThread") == 0 ||
	       (strncmp(name, dummy, strlen(dummy)) == 0 &&
		name[strlen(dummy) + strspn(name + strlen(dummy), "0123456789")] == '\0');
}

static bool read_name(struct reader *r, uint64_t thread, struct python_thread_name *out)
{
	uint64_t place, name, now, number;
	struct layout layout;
	struct table table;

	if (!open_instance(r, thread, &table))
		return false;
	layout = find_layout(r, &table);
	if (layout.name < 0 || layout.tid < 0)
		return false;
	place = value_place(&table, (uint32_t)layout.name);
	if (!read_object(r, place, &name) ||
	    python_text_read(r->memory, r->o, r->types, name, out->text, sizeof(out->text)) != 0 ||
	    !read_object(r, value_place(&table, (uint32_t)layout.tid), &number))
		return false;
	out->tid = read_number(r, number);
	return out->tid && !is_default_name(out->text) && read(r, place, &now, sizeof(now)) &&
	       now == name;
}

/* ---- threads ---- */

/* Lists the values of the dictionary by index. Returns their number; 0: none. */
static uint32_t list_threads(const struct reader *r, uint64_t active, uint64_t *list)
{
	struct table table;
	struct piece piece;

	/* entries of ended threads remain until the dictionary grows */
	if (!open_dict(r, active, PYTHON_THREADS_ENTRIES, &table) || table.values)
		return 0;
	for (uint32_t at = 0; at < table.count; at += piece.count) {
		if (!read_piece(r, &table, at, &piece))
			return at;
		for (uint32_t i = 0; i < piece.count; i++)
			memcpy(&list[at + i], piece.bytes + i * table.stride + table.value_at,
			       sizeof(*list));
	}
	return table.count;
}

static void read_active(struct reader *r, uint64_t active)
{
	struct python_threads *t = r->threads;
	uint32_t count = list_threads(r, active, t->threads), first = t->count, named = 0, still;
	uint32_t to = first;

	for (uint32_t i = 0; i < count; i++) {
		if (t->count == PYTHON_THREADS_MAX)
			break;
		if (!t->threads[i] || t->threads[i] & 7 ||
		    !read_name(r, t->threads[i], &t->names[t->count]))
			continue;
		t->threads[named++] =
			(uint64_t)i << 48 | t->threads[i]; /* addresses have 47 bits */
		t->count++;
	}
	still = list_threads(r, active, t->again);
	for (uint32_t i = 0; i < named; i++) {
		uint32_t index = (uint32_t)(t->threads[i] >> 48);

		if (index < still && t->again[index] == t->threads[i] << 16 >> 16)
			t->names[to++] = t->names[first + i];
	}
	t->count = to;
}

/* Finds threading._active of an interpreter; 0: the module is not imported. */
static uint64_t find_active(const struct reader *r, uint64_t interpreter, uint32_t number)
{
	struct python_threads_places *p = r->places;
	uint64_t modules, module, globals, active;

	if (p->interpreters[number].interpreter == interpreter)
		return p->interpreters[number].active;
	if (!read_object(r, interpreter + r->o->interpreter_modules, &modules) ||
	    !look_up(r, modules, MODULES_MAX, "threading", &module) ||
	    !read_object(r, module + r->o->object_bytes, &globals) || /* md_dict */
	    !look_up(r, globals, GLOBALS_MAX, "_active", &active))
		return 0;
	p->interpreters[number].interpreter = interpreter;
	p->interpreters[number].active = active;
	return active;
}

void python_threads_read(const struct python_memory *memory, const struct python_offsets *offsets,
			 const struct python_types *types, uint64_t runtime,
			 struct python_threads_places *places, struct python_threads *threads)
{
	struct reader r = {.memory = memory,
			   .o = offsets,
			   .types = types,
			   .places = places,
			   .threads = threads};
	uint64_t at = runtime + offsets->runtime_interpreters, active;

	threads->count = 0;
	for (uint32_t i = 0; i < PYTHON_THREADS_INTERPRETERS && read_object(&r, at, &at); i++) {
		active = find_active(&r, at, i);
		if (active)
			read_active(&r, active);
		at += offsets->interpreter_next;
	}
}
