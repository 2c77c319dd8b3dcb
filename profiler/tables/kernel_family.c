// SPDX-License-Identifier: MIT
#include "profiler/tables/kernel_family.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/text.h"

#define PREFIX "[GPU_Kernel]"

/* Returns the length of an operator whose name has brackets, such as "operator<"; else 0. */
static size_t operator_length(const char *text)
{
	static const char *const operators[] = {
		"operator()", "operator<<", "operator<=", "operator->",
		"operator>>", "operator>=", "operator<",  "operator>"};

	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		if (starts_with(text, operators[i]))
			return strlen(operators[i]);
	return 0;
}

/* Returns true if parentheses are a scope, as in "(anonymous namespace)::f". */
static bool is_scope(const char *at)
{
	int level = 0;

	for (; *at; at++) {
		level += *at == '(';
		level -= *at == ')';
		if (level == 0)
			return at[1] == ':' && at[2] == ':';
	}
	return false;
}

/*
 * Strips template arguments, parameters and what follows, and the return type. `to` has room for
 * the whole name.
 */
static void strip(const char *name, char *to)
{
	char *start = to, *end = to;
	int level = 0, depth = 0;
	size_t n;

	while (*name) {
		n = operator_length(name);
		if (level == 0 && n > 0) {
			memcpy(end, name, n);
			end += n;
			name += n;
			continue;
		}
		if (*name == '<') {
			level++;
		} else if (*name == '>' && level > 0) {
			level--;
		} else if (level == 0) {
			if (*name == '(' && depth == 0 && !is_scope(name))
				break;
			depth += *name == '(';
			depth -= *name == ')';
			if (*name == ' ' && depth == 0 && name[1] != '<')
				start = end + 1;
			*end++ = *name;
		}
		name++;
	}
	while (end > start && end[-1] == ' ')
		end--;
	/* unbalanced, or nothing is left: the caller keeps the name */
	if (level > 0 || start >= end)
		end = start = to;
	memmove(to, start, (size_t)(end - start));
	to[end - start] = '\0';
}

/* Replaces each number by '#', in place. */
static void join_digits(char *text)
{
	char *to = text;

	while (*text) {
		if (!isdigit((unsigned char)*text)) {
			*to++ = *text++;
			continue;
		}
		while (isdigit((unsigned char)*text))
			text++;
		*to++ = '#';
	}
	*to = '\0';
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Return true if text[0..n) has these characters; if it ends with them. */
static bool has_part(const char *text, size_t n, const char *part)
{
	return memmem(text, n, part, strlen(part));
}

static bool ends_with_part(const char *text, size_t n, const char *part)
{
	return n >= strlen(part) && memcmp(text + n - strlen(part), part, strlen(part)) == 0;
}

/* Returns true if a template argument of PyTorch's names what the kernel computes. */
static bool names_work(const char *word, size_t n, bool is_std)
{
	return has_part(word, n, "unctor") || has_part(word, n, "Kernel") ||
	       has_part(word, n, "_kernel") || ends_with_part(word, n, "Op") ||
	       ends_with_part(word, n, "Ops") ||
	       (is_std && !(n == 5 && memcmp(word, "array", n) == 0));
}

/*
 * Adds to the family of a kernel of PyTorch's what it computes, from its template arguments: one
 * template serves all elementwise operators. The family stays shorter than the name.
 */
static void add_work(const char *name, char *family)
{
	const char *at = strchr(name, '<');
	char *end = family + strlen(family);
	int level = 0;

	if (!starts_with(family, "at::native::") || strchr(family, '<'))
		return;
	for (; at && *at; at++) {
		const char *word = at;

		level += *at == '<';
		level -= *at == '>';
		if (level == 0)
			break;
		if (!is_word(*at))
			continue;
		while (is_word(at[1]))
			at++;
		if (!names_work(word, (size_t)(at + 1 - word),
				word - name > 5 && starts_with(word - 5, "std::")))
			continue;
		*end++ = ' ';
		memcpy(end, word, (size_t)(at + 1 - word));
		end += at + 1 - word;
	}
	*end = '\0';
}

static bool has_letter(const char *text)
{
	for (; *text; text++)
		if (isalpha((unsigned char)*text) || (unsigned char)*text >= 0x80)
			return true;
	return false;
}

char *kernel_family(const char *name, enum kernel_family family)
{
	char *text;

	if (starts_with(name, PREFIX))
		name += strlen(PREFIX);
	text = malloc(strlen(name) + 1);
	if (!text)
		return NULL;
	strip(name, text);
	if (family != FAMILY_TEMPLATE)
		add_work(name, text);
	if (!has_letter(text))
		memcpy(text, name, strlen(name) + 1);
	if (family == FAMILY_NUMBERS && has_letter(text))
		join_digits(text);
	return text;
}
