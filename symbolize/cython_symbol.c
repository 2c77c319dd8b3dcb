// SPDX-License-Identifier: MIT
#include "symbolize/cython_symbol.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/text.h"

#define PARTS_MAX 32

/* Prefixes of the symbols of functions. */
static const struct kind {
	const char *prefix;
	/*
	 * Number before the name: odd for wrappers; even for their bodies, but absent for the first
	 * of a class or module.
	 */
	enum { NO_COUNTER, ODD, EVEN_OR_NONE } counter;
	const char *slot; /* NULL: the name is that of the function; otherwise of its type */
} kinds[] = {
	{"__pyx_pw_", ODD, NULL},
	{"__pyx_pf_", EVEN_OR_NONE, NULL},
	{"__pyx_gb_", EVEN_OR_NONE, NULL},
	{"__pyx_f_", NO_COUNTER, NULL},
	{"__pyx_getprop_", NO_COUNTER, NULL},
	{"__pyx_setprop_", NO_COUNTER, NULL},
	{"__pyx_tp_new_", NO_COUNTER, "tp_new"},
	{"__pyx_tp_dealloc_", NO_COUNTER, "tp_dealloc"},
	{"__pyx_tp_traverse_", NO_COUNTER, "tp_traverse"},
	{"__pyx_tp_clear_", NO_COUNTER, "tp_clear"},
};

struct part {
	const char *at;
	size_t length;
};

static bool is_identifier(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool has_letter(const char *at, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (at[i] != '_')
			return true;
	return false;
}

/*
 * Reads "4name_", which something has to follow. Names without a letter are refused: in "1__init__"
 * and "5__len__" the digit is a counter. Returns the beginning of the next part, or NULL.
 */
static const char *read_part(const char *at, struct part *part)
{
	char *name;
	unsigned long length;

	if (!isdigit((unsigned char)*at) || *at == '0')
		return NULL;
	length = strtoul(at, &name, 10);
	if (length >= strlen(name) || name[length] != '_' || isdigit((unsigned char)*name) ||
	    !has_letter(name, length) || !has_letter(name + length, strlen(name + length)))
		return NULL;
	*part = (struct part){name, length};
	return name + length + 1;
}

static bool begins_upper(const struct part *part)
{
	size_t i = 0;

	while (i < part->length && part->at[i] == '_')
		i++;
	return i < part->length && isupper((unsigned char)part->at[i]);
}

/* Returns whether a part is the module of a file: "cyx.cpython-311-x86_64-linux-gnu.so". */
static bool is_module_of(const struct part *part, const char *file)
{
	const char *name = base_name(file);

	return strcspn(name, ".") == part->length && memcmp(name, part->at, part->length) == 0;
}

/* Returns the index of the module among the parts. */
static uint32_t find_module(const struct part *parts, uint32_t count, const char *file)
{
	uint32_t module = 0;

	for (uint32_t i = count; file && i > 0; i--)
		if (is_module_of(&parts[i - 1], file))
			return i - 1;
	while (module + 1 < count && !begins_upper(&parts[module + 1]))
		module++;
	return module;
}

static const struct kind *kind_of(const char **symbol)
{
	const char *at = *symbol;
	static const char fused[] = "__pyx_fuse_";

	if (starts_with(at, fused)) { /* followed by a number for each type: "0_1" */
		at += strlen(fused);
		at += strspn(at, "0123456789_");
		while (at > *symbol && !starts_with(at, "__pyx_"))
			at--;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (starts_with(at, kinds[i].prefix)) {
			*symbol = at + strlen(kinds[i].prefix);
			return &kinds[i];
		}
	return NULL;
}

/*
 * Returns whether the last part is really a counter and the start of the name: "2py_callback".
 * Where both are possible, classes begin with an upper-case letter.
 */
static bool is_counter(const struct kind *kind, const struct part *part, char next)
{
	if (kind->counter == NO_COUNTER || isdigit((unsigned char)next))
		return false;
	return kind->counter == ODD ? part->length % 2 == 1
				    : part->length % 2 == 0 && !begins_upper(part);
}

static char *join(const struct part *parts, uint32_t count, uint32_t module, const char *name,
		  const char *slot)
{
	size_t room = strlen(name) + 64, used = 0;
	char *text;

	for (uint32_t i = 0; i < count; i++)
		room += parts[i].length + 1;
	text = malloc(room);
	if (!text)
		return NULL;
	for (uint32_t i = module + 1; i < count; i++)
		used += (size_t)snprintf(text + used, room - used, "%.*s.", (int)parts[i].length,
					 parts[i].at);
	snprintf(text + used, room - used, "%s%s%s (%.*s.pyx)", name, slot ? "." : "",
		 slot ? slot : "", (int)parts[module].length, parts[module].at);
	return text;
}

char *cython_symbol_name(const char *symbol, const char *file)
{
	const struct kind *kind = kind_of(&symbol);
	struct part parts[PARTS_MAX];
	uint32_t count = 0;
	const char *next;

	if (!kind)
		return NULL;
	for (const char *at = symbol; *at; at++)
		if (!is_identifier(*at))
			return NULL;
	while (count < PARTS_MAX && (next = read_part(symbol, &parts[count]))) {
		symbol = next;
		count++;
	}
	if (count > 1 && is_counter(kind, &parts[count - 1], *symbol))
		symbol = parts[--count].at;
	if (count == 0)
		return NULL;
	if (kind->counter != NO_COUNTER)
		symbol += strspn(symbol, "0123456789");
	if (!*symbol || isdigit((unsigned char)*symbol))
		return NULL;
	return join(parts, count, find_module(parts, count, file), symbol, kind->slot);
}
