// SPDX-License-Identifier: MIT
#include "symbolize/ocaml_symbol.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/text.h"

#define PREFIX "caml"

static bool is_identifier(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '\'';
}

/* Returns the operator character that "$xx" encodes; 0: none. */
static char decode(const char *at)
{
	int high = at[0] == '$' ? hex_digit(at[1]) : -1, low = high < 0 ? -1 : hex_digit(at[2]);
	int c = low < 0 ? 0 : high << 4 | low;

	return c && strchr("!$%&*+-./:<=>?@^|~#", c) ? (char)c : '\0';
}

/* Returns the length of the separator of two parts at `at`; 0: there is none. */
static size_t separator(const char *at)
{
	return at[0] == '.' ? 1 : at[0] == '_' && at[1] == '_' ? 2 : 0;
}

/* Returns whether the last part names code: it ends with "_" and a number, or is the unit's own. */
static bool is_code(const char *part)
{
	size_t length = strlen(part), before = length - count_last_digits(part, length);

	return strcmp(part, "entry") == 0 ||
	       (before < length && before > 1 && part[before - 1] == '_');
}

bool ocaml_symbol_is(const char *symbol)
{
	const char *at = symbol + strlen(PREFIX), *part = NULL;

	if (!starts_with(symbol, PREFIX) || !isupper((unsigned char)*at))
		return false;
	while (*at) {
		size_t length = separator(at);

		if (length) {
			at += length;
			part = at;
		} else if (decode(at)) {
			at += 3;
		} else if (is_identifier(*at)) {
			at++;
		} else {
			return false;
		}
	}
	return part && is_code(part);
}

char *ocaml_symbol_name(const char *symbol)
{
	const char *at = symbol + strlen(PREFIX);
	char *name = malloc(strlen(symbol) + 1), *to = name;

	if (!name)
		return NULL;
	while (*at) {
		size_t length = separator(at);

		if (length) {
			*to++ = '.';
			at += length;
		} else if (*at == '$') {
			*to++ = decode(at);
			at += 3;
		} else {
			*to++ = *at++;
		}
	}
	*to = '\0';
	return name;
}
