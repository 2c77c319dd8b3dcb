// SPDX-License-Identifier: MIT
#include "profiler/shape/short_name.h"

#include <stdlib.h>
#include <string.h>
#include "symbolize/util/text.h"

#define ELLIPSIS "\xe2\x80\xa6"
#define NESTING_MAX 256

/* ---- reading ---- */

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* Returns what closes a bracket; '\0' if `c` opens none. */
static char closer_of(char c)
{
	static const char brackets[] = "<>()[]{}";
	const char *at = c ? strchr(brackets, c) : NULL;

	return at && (at - brackets) % 2 == 0 ? at[1] : '\0';
}

/*
 * Returns the end of the group that opens at `at`. Returns NULL if the group does not end, or is
 * nested too deep. A '>' closes only a '<': within parentheses it may be a comparison, or the end
 * of "->".
 */
static const char *after_group(const char *at)
{
	char open[NESTING_MAX];
	int depth = 0;

	for (; *at; at++) {
		char closer = closer_of(*at);

		if (closer) {
			if (depth == NESTING_MAX)
				return NULL;
			open[depth++] = closer;
		} else if (*at == '>') {
			if (open[depth - 1] == '>' && at[-1] != '-')
				depth--;
		} else if (*at == ')' || *at == ']' || *at == '}') {
			/* a '<' that opened no group stays open until here */
			while (depth > 0 && open[depth - 1] == '>')
				depth--;
			if (depth == 0 || open[--depth] != *at)
				return NULL;
		}
		if (depth == 0)
			return at + 1;
	}
	return NULL;
}

/* ---- writing ---- */

/*
 * Room for a short name. A comma between template arguments may become an ellipsis, a comma and a
 * space: "k<,1>" is "k<…, 1>". Nothing else grows as much.
 */
#define SHORT_BYTES(length) (5 * (length) + 1)

struct shortened {
	char *text; /* SHORT_BYTES of the name */
	size_t length;
	bool after_lambda;    /* a lambda was written last */
	bool after_arguments; /* a parameter list was read: qualifiers may follow */
	bool is_kernel;
	bool is_argument; /* the name is an argument of a kernel */
};

/* Returns false if the name does not parse. */
static bool shorten(struct shortened *s, const char *name);

static void add(struct shortened *s, const char *text, size_t length)
{
	memcpy(s->text + s->length, text, length);
	s->length += length;
	s->after_lambda = s->after_arguments = false;
}

/* Adds "{lambda#2}" for "{lambda(int)#2}". */
static void add_lambda(struct shortened *s, const char *at, const char *end)
{
	const char *number = end;

	while (number > at && *number != '#')
		number--;
	add(s, "{lambda", 7);
	if (*number == '#')
		add(s, number, (size_t)(end - number) - 1);
	add(s, "}", 1);
	s->after_lambda = true;
}

/* Returns the end of a template argument, or NULL. `is_lambda` is set for a lambda of a function.
 */
static const char *after_argument(const char *at, bool *is_lambda)
{
	const char *start = at;

	*is_lambda = false;
	while (at && *at && *at != ',' && *at != '>') {
		if (starts_with(at, "{lambda") && at > start && at[-1] == ':')
			*is_lambda = true;
		at = closer_of(*at) ? after_group(at) : at + 1;
	}
	return at;
}

/* Returns the last part of a qualified name, with its lambdas. */
static const char *last_part(const char *text)
{
	const char *last = text;

	for (const char *at = text; at && *at;) {
		if (starts_with(at, "::") && !starts_with(at + 2, "{lambda"))
			last = at + 2;
		at = closer_of(*at) ? after_group(at) : at + 1;
	}
	return last;
}

/* Adds a lambda and its function, without scope: "gpu_kernel<AddFunctor>::{lambda#1}". */
static const char *add_lambda_argument(struct shortened *s, const char *at, const char *end)
{
	size_t length = (size_t)(end - at);
	struct shortened inner = {.text = malloc(SHORT_BYTES(length)),
				  .is_kernel = !s->is_argument,
				  .is_argument = true};
	char *argument = strndup(at, length);
	bool is_name = inner.text && argument && shorten(&inner, argument);

	if (is_name) {
		const char *part = last_part(inner.text);

		add(s, part, strlen(part));
	}
	free(inner.text);
	free(argument);
	return is_name ? end : NULL;
}

/* Adds another template argument, without scope and arguments: "FillFunctor". */
static const char *add_plain(struct shortened *s, const char *at)
{
	size_t start = s->length;

	while (*at && *at != ',' && *at != '>') {
		if (starts_with(at, "::")) {
			s->length = start;
			at += 2;
		} else if (closer_of(*at)) {
			at = after_group(at);
			if (!at)
				return NULL;
		} else {
			add(s, at++, 1);
		}
	}
	while (s->length > start && s->text[s->length - 1] == ' ')
		s->length--;
	if (s->length == start)
		add(s, ELLIPSIS, strlen(ELLIPSIS));
	return at;
}

/* Adds the plain names of a kernel's template arguments. */
static const char *add_arguments(struct shortened *s, const char *at)
{
	add(s, "<", 1);
	for (at++; at && *at != '>';) {
		bool is_lambda;
		const char *end = after_argument(at, &is_lambda);

		at = end && is_lambda ? add_lambda_argument(s, at, end) : add_plain(s, at);
		if (at && *at == ',') {
			add(s, ", ", 2);
			at += 1 + (at[1] == ' ');
		} else if (at && !*at) {
			return NULL;
		}
	}
	add(s, ">", 1);
	return at ? at + 1 : NULL;
}

static const char *take_angles(struct shortened *s, const char *at, const char *end)
{
	if (s->length == 0) { /* Rust: "<Type as Trait>::method" */
		add(s, at, (size_t)(end - at));
		return end;
	}
	if (s->after_lambda) /* arguments of the call operator */
		return end;
	if (s->is_kernel)
		return add_arguments(s, at);
	add(s, "<" ELLIPSIS ">", strlen("<" ELLIPSIS ">"));
	return end;
}

static const char *take_braces(struct shortened *s, const char *at, const char *end)
{
	if (starts_with(at, "{lambda"))
		add_lambda(s, at, end);
	else
		add(s, at, (size_t)(end - at));
	return end;
}

static const char *take_brackets(struct shortened *s, const char *at, const char *end)
{
	if (starts_with(at, "[lambda"))
		add_lambda(s, at, at + 7);
	else if (!starts_with(at, "[abi:"))
		add(s, at, (size_t)(end - at));
	return end;
}

/* Skips parameters, and "(anonymous namespace)". */
static const char *take_parentheses(struct shortened *s, const char *at, const char *end)
{
	bool after_lambda = s->after_lambda;

	if (starts_with(at, "(anonymous namespace)::"))
		return end + 2;
	if (s->length == 0)
		return NULL; /* a type, such as that of a function that returns a function */
	s->after_arguments = true;
	s->after_lambda = after_lambda;
	return end;
}

/* Takes "operator" and its symbol or type. */
static const char *take_operator(struct shortened *s, const char *at)
{
	static const char *const symbols[] = {"()", "[]",   "<=>", "<<=", ">>=", "->*", "<<", ">>",
					      "<=", ">=",   "==",  "!=",  "&&",  "||",  "++", "--",
					      "->", "+=",   "-=",  "*=",  "/=",  "%=",  "^=", "&=",
					      "|=", "\"\"", ",",   "<",   ">",   "=",   "+",  "-",
					      "*",  "/",    "%",   "^",   "&",   "|",   "~",  "!"};
	const char *end = at + strlen("operator");

	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]) && *end != ' '; i++) {
		if (!starts_with(end, symbols[i]))
			continue;
		end += strlen(symbols[i]);
		add(s, at, (size_t)(end - at));
		return end;
	}
	/* "operator bool", "operator new[]", "operator Type<Argument>" */
	while (*end && *end != '(' && *end != '<')
		end++;
	add(s, at, (size_t)(end - at));
	return end;
}

/* Returns the end of a tail such as ".constprop.0"; `at` if there is none. */
static const char *after_tail(const char *at)
{
	static const char *const tails[] = {".constprop", ".isra",     ".part",
					    ".cold",      ".lto_priv", ".llvm",
					    ".warm",      ".hot",      ".localalias"};

	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		const char *end = at + strlen(tails[i]);

		if (!starts_with(at, tails[i]) || is_word(*end))
			continue;
		while (*end == '.' && end[1] >= '0' && end[1] <= '9')
			for (end++; *end >= '0' && *end <= '9'; end++)
				;
		return end;
	}
	return at;
}

/* Returns true for the version of a symbol, "@@GLIBC_2.17". "@plt" stays. */
static bool is_version(const struct shortened *s, const char *at)
{
	return s->length > 0 && strcmp(at, "@plt") != 0 && (is_word(at[1]) || at[1] == '@') &&
	       !at[strcspn(at, " (<:")];
}

/* Returns true for the hash of a Rust symbol, "::h0123456789abcdef". */
static bool is_rust_hash(const char *at)
{
	return starts_with(at, "::h") && strspn(at + 3, "0123456789abcdef") == 16 && !at[19];
}

/* Takes a space: the end of a return type, or the start of a qualifier or tail. */
static const char *take_space(struct shortened *s, const char *at)
{
	static const char *const qualifiers[] = {" const", " volatile", " &&", " &", " noexcept"};

	if (at[1] == '<') /* after an operator */
		return at + 1;
	/* the tail of a compiler's copy, or a script's file behind the function's name */
	if (starts_with(at, " [clone") || starts_with(at, " [.cold") || starts_with(at, " (.") ||
	    starts_with(at, " /") || starts_with(at, " file:"))
		return at + strlen(at);
	for (size_t i = 0; i < sizeof(qualifiers) / sizeof(qualifiers[0]) && s->after_arguments;
	     i++)
		if (starts_with(at, qualifiers[i]))
			return at + strlen(qualifiers[i]);
	s->length = 0;
	s->after_lambda = s->after_arguments = false;
	return at + 1;
}

static const char *take_scope(struct shortened *s, const char *at)
{
	static const char *const calls[] = {"::operator()", "::_FUN", "::__invoke"};
	static const char *const inlines[] = {"::__cxx11", "::__1"}; /* namespaces of std */

	if (is_rust_hash(at))
		return at + strlen(at);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) && s->after_lambda; i++) {
		const char *end = at + strlen(calls[i]);

		if (starts_with(at, calls[i]) && !is_word(*end))
			return end;
	}
	for (size_t i = 0; i < sizeof(inlines) / sizeof(inlines[0]); i++)
		if (starts_with(at, inlines[i]) && starts_with(at + strlen(inlines[i]), "::"))
			return at + strlen(inlines[i]);
	add(s, at, 2);
	return at + 2;
}

/* Takes the next piece of the name. Returns NULL if it does not parse. */
static const char *take(struct shortened *s, const char *at)
{
	bool is_start = s->length == 0 || !is_word(s->text[s->length - 1]);
	const char *end = closer_of(*at) ? after_group(at) : at;

	if (!end)
		return NULL;
	switch (*at) {
	case '<':
		return take_angles(s, at, end);
	case '(':
		return take_parentheses(s, at, end);
	case '{':
		return take_braces(s, at, end);
	case '[':
		return take_brackets(s, at, end);
	case ' ':
		return take_space(s, at);
	case ':':
		if (at[1] == ':')
			return take_scope(s, at);
		break;
	case '.':
		end = after_tail(at);
		if (end != at)
			return end;
		break;
	case '@':
		if (is_version(s, at))
			return at + strlen(at);
		break;
	default:
		if (is_start && starts_with(at, "operator") && !is_word(at[8]))
			return take_operator(s, at);
	}
	add(s, at, 1);
	return at + 1;
}

static bool shorten(struct shortened *s, const char *name)
{
	while (name && *name)
		name = take(s, name);
	s->text[s->length] = '\0';
	return name && s->length > 0;
}

char *short_name(const char *name, bool is_kernel)
{
	struct shortened s = {.text = malloc(SHORT_BYTES(strlen(name))), .is_kernel = is_kernel};

	if (s.text && shorten(&s, name) && strcmp(s.text, name) != 0)
		return s.text;
	free(s.text);
	return NULL;
}
