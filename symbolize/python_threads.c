// SPDX-License-Identifier: MIT
#include "symbolize/python_threads.h"

#include <string.h>
#include "symbolize/python_dict.h"

#define MODULES_MAX (1u << 16) /* entries of sys.modules */
#define GLOBALS_MAX (1u << 12) /* entries of the module `threading` */
#define LAYOUTS 8u             /* layouts of instances kept during a reading */

struct reader {
	struct python_reader python;
	struct python_threads_places *places;
	struct python_threads *threads;
	/* positions of attributes, by shared keys */
	struct layout {
		uint64_t keys;
		int32_t name, tid;
	} layouts[LAYOUTS];
	uint32_t layout_count;
};

/* ---- attributes ---- */

/* Finds the positions of the attributes in the table: equal for all instances with its keys. */
static struct layout find_layout(struct reader *r, const struct python_dict *t)
{
	struct layout found = {.keys = t->keys};

	for (uint32_t i = 0; t->values && i < r->layout_count; i++)
		if (r->layouts[i].keys == t->keys)
			return r->layouts[i];
	found.name = python_dict_find(&r->python, t, "_name", &r->places->name_key);
	found.tid = python_dict_find(&r->python, t, "_native_id", &r->places->tid_key);
	if (t->values && found.name >= 0 && found.tid >= 0 && r->layout_count < LAYOUTS)
		r->layouts[r->layout_count++] = found;
	return found;
}

/* Reads a small int (PyLongObject). Returns 0 if it is none, or not above 0. */
static uint32_t read_number(const struct reader *r, uint64_t object)
{
	const uint64_t one = r->python.o->version < 0x030c ? 1 : 1 << 3; /* one digit, of 30 bits */
	uint64_t size;
	uint32_t digits[2] = {0};

	if (!python_read(&r->python, object + r->python.o->object_bytes, &size, sizeof(size)))
		return 0;
	if (r->python.o->version >= 0x030c)
		size &= ~UINT64_C(4); /* 3.14: the object is never freed */
	if ((size != one && size != 2 * one) ||
	    !python_read(&r->python, object + r->python.o->object_bytes + 8, digits,
			 size == one ? 4 : 8) ||
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
	struct python_dict table;

	if (!python_attributes_open(&r->python, thread, &table))
		return false;
	layout = find_layout(r, &table);
	if (layout.name < 0 || layout.tid < 0)
		return false;
	place = python_dict_place(&table, (uint32_t)layout.name);
	if (!python_read_object(&r->python, place, &name) ||
	    python_text_read(r->python.memory, r->python.o, r->python.types, name, out->text,
			     sizeof(out->text)) != 0 ||
	    !python_read_object(&r->python, python_dict_place(&table, (uint32_t)layout.tid),
				&number))
		return false;
	out->tid = read_number(r, number);
	return out->tid && !is_default_name(out->text) &&
	       python_read(&r->python, place, &now, sizeof(now)) && now == name;
}

/* ---- threads ---- */

/* Lists the values of the dictionary by index. Returns their number; 0: none. */
static uint32_t list_threads(const struct reader *r, uint64_t active, uint64_t *list)
{
	struct python_dict table;
	struct python_dict_piece piece;

	/* entries of ended threads remain until the dictionary grows */
	if (!python_dict_open(&r->python, active, PYTHON_THREADS_ENTRIES, &table) || table.values)
		return 0;
	for (uint32_t at = 0; at < table.count; at += piece.count) {
		if (!python_dict_read(&r->python, &table, at, &piece))
			return at;
		for (uint32_t i = 0; i < piece.count; i++)
			list[at + i] = python_dict_value(&table, &piece, i);
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
	if (!python_read_object(&r->python, interpreter + r->python.o->interpreter_modules,
				&modules) ||
	    !python_dict_look_up(&r->python, modules, MODULES_MAX, "threading", &module) ||
	    !python_read_object(&r->python, module + r->python.o->object_bytes,
				&globals) || /* md_dict */
	    !python_dict_look_up(&r->python, globals, GLOBALS_MAX, "_active", &active))
		return 0;
	p->interpreters[number].interpreter = interpreter;
	p->interpreters[number].active = active;
	return active;
}

void python_threads_read(const struct python_memory *memory, const struct python_offsets *offsets,
			 const struct python_types *types, uint64_t runtime,
			 struct python_threads_places *places, struct python_threads *threads)
{
	struct reader r = {
		.python = {memory, offsets, types}, .places = places, .threads = threads};
	uint64_t at = runtime + offsets->runtime_interpreters, active;

	threads->count = 0;
	for (uint32_t i = 0;
	     i < PYTHON_THREADS_INTERPRETERS && python_read_object(&r.python, at, &at); i++) {
		active = find_active(&r, at, i);
		if (active)
			read_active(&r, active);
		at += offsets->interpreter_next;
	}
}
