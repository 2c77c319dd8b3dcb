// SPDX-License-Identifier: MIT
#include "cupti_trace/python/module_tree.h"

#include <string.h>
#include "cupti_trace/core/clock.h"
#include "symbolize/util/record_set.h"

#define DEPTH_MAX 64u               /* modules from the outermost to any */
#define CHILDREN_MAX (1u << 20)     /* entries of one dictionary */
#define QUEUE_MAX 8192u             /* modules whose children one search reads */
#define SEARCH_NS 50000000u         /* limit of one search */
#define SHARE 50                    /* searches take a share of time of 1 / this */
#define KEY_BYTES 128u              /* limit for a key in a path, with the NUL */
#define CHECKS 1024u                /* modules that one check reads */
#define CHECKED_SLOTS (CHECKS * 8u) /* modules that one check passes */

struct module {
	uint64_t object;    /* key */
	uint64_t type;      /* 0: not called yet */
	uint64_t reference; /* address of the reference to it in its parent's dictionary; 0: none */
	uint32_t parent;    /* MODULE_TREE_NONE: no module is known to hold it */
	uint64_t not_among; /* state of the children of `not_in` at that time */
	uint32_t not_in;    /* module that was searched in vain, or MODULE_TREE_NONE */
	bool is_called, is_parent;
	uint32_t name;
	uint32_t name_places; /* the name is that of this number of places */
	uint32_t visit;       /* last search that found it */
};

static struct {
	RECORD_SET(struct module) modules;
	uint32_t version;    /* changes when a module with a name loses its place */
	uint32_t places;     /* changes with it, and when a module around others moves */
	uint32_t visit;      /* number of searches */
	uint32_t next_check; /* number of a module */
	uint64_t began_ns, spent_ns;
	uint64_t children_key; /* address of the key "_modules" */
	uint32_t queue[QUEUE_MAX];
} tree;

static struct module *module_at(uint32_t module)
{
	return &tree.modules.list[module];
}

static uint32_t find_object(uint64_t object)
{
	return record_find(&tree.modules, &object);
}

static uint32_t add_object(uint64_t object)
{
	const struct module new = {
		.object = object, .parent = MODULE_TREE_NONE, .not_in = MODULE_TREE_NONE};

	return tree.modules.count < MODULE_TREE_MAX ? record_add(&tree.modules, &object, &new)
						    : RECORD_NONE;
}

/* ---- places ---- */

/* Returns whether an object still is the one that is known. A freed one has no references. */
static bool is_alive(const struct python_reader *r, uint32_t module)
{
	const struct module *m = module_at(module);
	uint64_t references, type;

	return python_read(r, m->object, &references, sizeof(references)) &&
	       /* 32 bits from 3.14 on; without the GIL they are elsewhere */
	       ((uint32_t)references != 0 || r->o->object_bytes > 16) &&
	       python_read_object(r, m->object + r->o->object_type, &type) &&
	       (m->type == 0 || m->type == type);
}

/* Returns whether a module still has its place in its parent. */
static bool is_in_place(const struct python_reader *r, uint32_t module)
{
	const struct module *m = module_at(module);
	uint64_t now;

	return m->parent != MODULE_TREE_NONE && python_read(r, m->reference, &now, sizeof(now)) &&
	       now == m->object && is_alive(r, m->parent);
}

/*
 * Gives a module a place. The version stays where the module is held twice, and has its old place,
 * too: stacks are recognized by all modules around it.
 */
static void set_place(const struct python_reader *r, uint32_t module, uint32_t parent,
		      uint64_t reference)
{
	struct module *m = module_at(module);
	bool is_lost;

	if (m->parent == parent && m->reference == reference)
		return;
	is_lost = (m->name || m->reference) &&
		  (parent == MODULE_TREE_NONE || !is_in_place(r, module));
	tree.version += is_lost;
	tree.places += is_lost || m->is_parent; /* it is in other paths, too */
	if (parent != MODULE_TREE_NONE)
		module_at(parent)->is_parent = true;
	m->parent = parent;
	m->reference = reference;
	m->name = 0;
}

/*
 * Returns whether a module is inside another one, by places that still hold. Ends a place that does
 * not. `outer` may be MODULE_TREE_NONE: whether all of its places hold, up to a called module.
 */
static bool leads_to(const struct python_reader *r, uint32_t module, uint32_t outer)
{
	for (uint32_t depth = 0; depth < DEPTH_MAX; depth++) {
		if (module_at(module)->parent == MODULE_TREE_NONE)
			return outer == MODULE_TREE_NONE && module_at(module)->is_called;
		if (!is_in_place(r, module)) {
			set_place(r, module, MODULE_TREE_NONE, 0);
			return false;
		}
		module = module_at(module)->parent;
		if (module == outer)
			return true;
	}
	return false;
}

/* Returns whether a module is another one, or around it, by the known places. */
static bool is_around(uint32_t module, uint32_t inner)
{
	for (uint32_t depth = 0; depth < DEPTH_MAX && inner != MODULE_TREE_NONE; depth++) {
		if (inner == module)
			return true;
		inner = module_at(inner)->parent;
	}
	return false;
}

/* ---- searches ---- */

struct search {
	const struct python_reader *r;
	uint64_t object; /* looked for */
	uint32_t outer;
	uint32_t queued;
	bool is_found;
};

/* Opens the children of a module: a dictionary whose values are in its entries. */
static bool open_children(const struct python_reader *r, uint64_t object,
			  struct python_dict *children)
{
	struct python_dict attributes;
	uint64_t dict;
	int32_t at;

	if (!python_attributes_open(r, object, &attributes))
		return false;
	at = python_dict_find(r, &attributes, "_modules", &tree.children_key);
	return at >= 0 &&
	       python_read_object(r, python_dict_place(&attributes, (uint32_t)at), &dict) &&
	       python_dict_open(r, dict, CHILDREN_MAX, children) && !children->values;
}

static void take_child(struct search *s, uint32_t parent, uint64_t object, uint64_t reference)
{
	uint32_t child = find_object(object);
	bool is_wanted = object == s->object;

	if (child == RECORD_NONE)
		child = add_object(object);
	if (child == RECORD_NONE)
		return;
	s->is_found |= is_wanted;
	if (module_at(child)->visit == tree.visit) /* it is held twice: the first place counts */
		return;
	module_at(child)->visit = tree.visit;
	if (!is_around(child, parent))
		set_place(s->r, child, parent, reference);
	if (s->queued < QUEUE_MAX)
		tree.queue[s->queued++] = child;
}

/* Reads the children of a module. The dictionary may change meanwhile. */
static void visit(struct search *s, uint32_t module)
{
	struct python_dict children;
	struct python_dict_piece piece;

	if (!open_children(s->r, module_at(module)->object, &children))
		return;
	for (uint32_t at = 0; at < children.count; at += piece.count) {
		if (!python_dict_read(s->r, &children, at, &piece))
			return;
		for (uint32_t i = 0; i < piece.count; i++) {
			uint64_t child = python_dict_value(&children, &piece, i);

			if (child >> 12 && !(child & 7))
				take_child(s, module, child, python_dict_place(&children, at + i));
		}
	}
}

static bool has_time(uint64_t now)
{
	if (!tree.began_ns)
		tree.began_ns = now;
	return tree.spent_ns < MODULE_TREE_BURST_NS + (now - tree.began_ns) / SHARE;
}

/*
 * Looks for an object among the descendants of a module, the nearest first. Returns false if there
 * was no time to see all.
 */
static bool search(struct search *s)
{
	uint64_t start = clock_now_ns(), now = start;

	if (!has_time(now))
		return false;
	module_at(s->outer)->visit = ++tree.visit;
	tree.queue[0] = s->outer;
	s->queued = 1;
	for (uint32_t i = 0; i < s->queued && !s->is_found && now - start < SEARCH_NS; i++) {
		visit(s, tree.queue[i]);
		now = clock_now_ns();
	}
	tree.spent_ns += now - start;
	return s->is_found || now - start < SEARCH_NS;
}

/* ---- called modules ---- */

/* Forgets what is known of an object whose memory another one has now. */
static void start_over(const struct python_reader *r, uint32_t module, uint64_t type)
{
	struct module *m = module_at(module);

	if (m->type == type)
		return;
	if (m->type) {
		set_place(r, module, MODULE_TREE_NONE, 0);
		tree.version++;
		tree.places++;
	}
	m->not_in = MODULE_TREE_NONE;
	m->is_called = false;
	m->type = type;
}

/* Returns a number for the children that a module has now. */
static uint64_t state_of_children(const struct python_reader *r, uint32_t module)
{
	struct python_dict children;

	return open_children(r, module_at(module)->object, &children)
		       ? children.keys + children.count
		       : 0;
}

/* Returns whether a module is among the descendants of one that calls it, after a search. */
static bool is_inside(const struct python_reader *r, uint32_t module, uint32_t outer)
{
	struct search s = {.r = r, .object = module_at(module)->object, .outer = outer};
	uint64_t children;

	if (leads_to(r, module, outer))
		return true;
	children = state_of_children(r, outer);
	if (module_at(module)->not_in == outer && module_at(module)->not_among == children)
		return false;
	if (search(&s) && !s.is_found) {
		module_at(module)->not_in = outer;
		module_at(module)->not_among = children;
	}
	return s.is_found;
}

uint32_t module_tree_get(const struct python_reader *r, uint64_t object, uint32_t parent)
{
	uint32_t module = find_object(object);
	uint64_t type;

	if (!python_read_object(r, object + r->o->object_type, &type))
		return MODULE_TREE_NONE;
	if (module == RECORD_NONE)
		module = add_object(object);
	if (module == RECORD_NONE)
		return MODULE_TREE_NONE;
	start_over(r, module, type);
	module_at(module)->is_called = true;
	if (parent != module && (parent == MODULE_TREE_NONE || !is_inside(r, module, parent)) &&
	    !leads_to(r, module, MODULE_TREE_NONE))
		set_place(r, module, MODULE_TREE_NONE, 0);
	return module;
}

/* ---- paths ---- */

/* Reads a text that ends with a NUL, up to `size` - 1 bytes. */
static bool read_string(const struct python_reader *r, uint64_t address, char *out, size_t size)
{
	size_t n = 0;

	while (n < size - 1) {
		if (!python_read(r, address + n, &out[n], 1))
			return false;
		if (!out[n])
			return n > 0;
		n++;
	}
	out[n] = '\0';
	return true;
}

/* Reads the name of a class: tp_name. */
static bool read_class(const struct python_reader *r, uint64_t type, char *out, size_t size)
{
	uint64_t name;

	return python_read(r, type + r->o->object_bytes + 8, &name, sizeof(name)) &&
	       read_string(r, name, out, size);
}

/* Appends a part of a path. Returns false if it does not fit. */
static bool append(char *out, size_t size, size_t *used, const char *part)
{
	size_t n = strlen(part), point = *used > 0;

	if (*used + point + n >= size)
		return false;
	if (point)
		out[(*used)++] = '.';
	memcpy(out + *used, part, n + 1);
	*used += n;
	return true;
}

bool module_tree_path(const struct python_reader *r, uint32_t module, char *out, size_t size)
{
	const struct module *outermost, *m = module_at(module);
	uint64_t references[DEPTH_MAX], key;
	uint32_t depth = 0;
	char part[KEY_BYTES];
	size_t used = 0;

	for (; m->parent != MODULE_TREE_NONE && depth < DEPTH_MAX; m = module_at(m->parent))
		references[depth++] = m->reference;
	outermost = m;
	/* not in the module that called it: its class tells where the path begins */
	if (depth == 0 || outermost->not_in != MODULE_TREE_NONE) {
		if (!read_class(r, outermost->type, part, sizeof(part)) ||
		    !append(out, size, &used, part))
			return false;
	}
	while (depth-- > 0) {
		/* the key is before the value (PyDictUnicodeEntry, PyDictKeyEntry) */
		if (!python_read_object(r, references[depth] - 8, &key) ||
		    python_text_read(r->memory, r->o, r->types, key, part, sizeof(part)) != 0)
			memcpy(part, "?", sizeof("?")); /* no text */
		if (!append(out, size, &used, part))
			return false;
	}
	return used > 0;
}

uint32_t module_tree_name(uint32_t module)
{
	const struct module *m = module_at(module);

	return m->name_places == tree.places ? m->name : 0;
}

void module_tree_set_name(uint32_t module, uint32_t name)
{
	module_at(module)->name = name;
	module_at(module)->name_places = tree.places;
}

uint32_t module_tree_version(void)
{
	return tree.version;
}

/* The children of one module, opened. */
struct family {
	uint32_t parent;
	bool is_open;
	struct python_dict children;
};

/*
 * Returns whether a module's place is in the dictionary that its parent has now. The memory of an
 * earlier dictionary may still hold the reference.
 */
static bool is_among(const struct python_reader *r, uint32_t module, struct family *f)
{
	const struct module *m = module_at(module);

	if (f->parent != m->parent) {
		f->parent = m->parent;
		f->is_open = open_children(r, module_at(m->parent)->object, &f->children);
	}
	return f->is_open && m->reference >= f->children.entries &&
	       m->reference - f->children.entries <
		       (uint64_t)f->children.count * f->children.stride;
}

void module_tree_check(const struct python_reader *r)
{
	struct family last = {.parent = MODULE_TREE_NONE};
	uint32_t checked = 0;

	for (uint32_t i = 0; i < CHECKED_SLOTS && i < tree.modules.count && checked < CHECKS; i++) {
		uint32_t module = tree.next_check++ % tree.modules.count;

		if (module_at(module)->parent == MODULE_TREE_NONE)
			continue;
		checked++;
		if (!is_in_place(r, module) || !is_among(r, module, &last))
			set_place(r, module, MODULE_TREE_NONE, 0);
	}
}

void module_tree_clear(void)
{
	record_set_release(&tree.modules.set);
	tree.version++;
}

void module_tree_in_child(void)
{
	/* the lists may have been moving */
	memset(&tree, 0, sizeof(tree));
}
