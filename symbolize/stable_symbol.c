// SPDX-License-Identifier: MIT
#include "symbolize/stable_symbol.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/util/text.h"

#define NV_STATIC "__nv_static_"
#define DEVICE_STUB "__device_stub_"
#define OPENMP "__omp_offloading_"

/*
 * Maximum length of the end of an id: a hash, the name of a function, or a hash and a process id.
 */
#define TAIL_MAX 64

#define DIGITS_MAX 5 /* digits of a length */

/* ---- pieces ---- */

/* Skips at least `least` hexadecimal digits and a '_'. Returns NULL if there are none. */
static const char *after_hexadecimal(const char *at, size_t least)
{
	size_t n = 0;

	while (hex_digit(at[n]) >= 0)
		n++;
	return n >= least && at[n] == '_' ? at + n + 1 : NULL;
}

/* Skips a number and a '_'. Returns NULL if there is none. */
static const char *after_number(const char *at, size_t *value)
{
	size_t n = 0;

	for (*value = 0; isdigit((unsigned char)at[n]) && n < DIGITS_MAX; n++)
		*value = *value * 10 + (size_t)(at[n] - '0');
	return n > 0 && at[n] == '_' ? at + n + 1 : NULL;
}

/* ---- ids of translation units ---- */

/*
 * Skips an id: "ce6f4918_12_rdc_names_cu", a hash, a length, and a file name of this length; or of
 * older versions, "14_coords_cpp1_ii_7126c51d", with the hash last. Returns NULL for another form.
 */
static const char *after_unit(const char *at)
{
	const char *hash, *name;
	size_t length, n = 0;

	at += *at == '_';
	hash = after_hexadecimal(at, 8);
	name = after_number(hash ? hash : at, &length);
	if (!name || strnlen(name, length) < length)
		return NULL;
	name += length;
	if (hash)
		return name;
	/* a digit of the next length may follow the hash */
	while (n < 8 && name[0] == '_' && hex_digit(name[1 + n]) >= 0)
		n++;
	return n == 8 ? name + 9 : NULL;
}

/*
 * Returns the replacement of the identifier at `at`, behind its length; NULL: it stays. *least:
 * minimum length of the identifier, which TAIL_MAX bytes may exceed.
 */
static const char *unit_name(const char *at, size_t *least)
{
	const char *end = NULL, *name = NULL;

	if (starts_with(at, "_GLOBAL__N_")) {
		end = after_unit(at + strlen("_GLOBAL__N_"));
		name = "12_GLOBAL__N_1";
	} else if (starts_with(at, STABLE_SYMBOL_INTERNAL)) {
		end = after_unit(at + strlen(STABLE_SYMBOL_INTERNAL));
		name = "10" STABLE_SYMBOL_INTERNAL;
	}
	*least = end ? (size_t)(end - at) : 0;
	return end ? name : NULL;
}

/*
 * Returns how many of the last digits are the length of the next identifier, of at least `least`
 * bytes. Earlier digits belong to the identifier before. 0: none. *length: the length.
 */
static size_t length_digits(const char *text, size_t count, size_t least, size_t *length)
{
	size_t digits = count_last_digits(text, count);

	for (digits = digits < DIGITS_MAX ? digits : DIGITS_MAX; digits > 0; digits--) {
		const char *at = text + count - digits;

		*length = strtoul(at, NULL, 10);
		if (*at != '0' && *length >= least && *length <= least + TAIL_MAX)
			return digits;
	}
	return 0;
}

/*
 * Replaces ids in a mangled name, in place: replacements are shorter. Each distinct id remains an
 * identifier, so references to earlier parts ("S1_") stay right.
 */
static void replace_units(char *text)
{
	const char *from = text;
	char *to = text;

	while (*from) {
		size_t least, length, digits, count = (size_t)(to - text);
		const char *name = *from == '_' ? unit_name(from, &least) : NULL;

		digits = name ? length_digits(text, count, least, &length) : 0;
		if (digits == 0 || strnlen(from, length) < length) {
			*to++ = *from++;
			continue;
		}
		to -= digits;
		memcpy(to, name, strlen(name));
		to += strlen(name);
		from += length;
	}
	*to = '\0';
}

/* ---- around the symbol ---- */

/* Skips "__nv_static_30_", 30 bytes, "_". */
static const char *after_static(const char *symbol)
{
	const char *at = symbol + strlen(NV_STATIC);
	size_t length;

	if (!starts_with(symbol, NV_STATIC))
		return symbol;
	at = after_number(at, &length);
	if (!at || strnlen(at, length) < length || at[length] != '_' || !at[length + 1])
		return symbol;
	return at + length + 1;
}

/* Returns the identifier in "_ZL33__device_stub__Z13static_kernelPiPi", of *length bytes. */
static const char *stub(const char *symbol, size_t *length)
{
	const char *at = symbol;
	char *end;
	unsigned long claimed;

	*length = strlen(symbol);
	if (!starts_with(symbol, "_Z"))
		return symbol;
	at += 2 + (symbol[2] == 'L');
	claimed = isdigit((unsigned char)*at) ? strtoul(at, &end, 10) : 0;
	if (claimed <= strlen(DEVICE_STUB) || !starts_with(end, DEVICE_STUB) ||
	    strnlen(end, claimed) < claimed)
		return symbol;
	*length = claimed;
	return end;
}

/*
 * Returns the length before "_l12" or "_l12_3" at the end of a name of `length` bytes; 0: there is
 * no such end.
 */
static size_t before_line(const char *name, size_t length, unsigned long *line)
{
	for (int numbers = 0; numbers < 2; numbers++) {
		size_t digits = count_last_digits(name, length);

		if (digits == 0 || digits > 9 || digits + 1 >= length)
			return 0;
		length -= digits + 1;
		if (name[length] == 'l' && name[length - 1] == '_') {
			*line = strtoul(name + length + 1, NULL, 10);
			return *line ? length - 1 : 0;
		}
		if (name[length] != '_')
			return 0;
	}
	return 0;
}

/* Returns the function in "__omp_offloading_10302_1a2b3c__Z3fooPi_l12", of *length bytes. */
static const char *openmp_function(const char *symbol, size_t *length, unsigned long *line)
{
	const char *at;
	size_t stem;

	*line = 0;
	if (!starts_with(symbol, OPENMP))
		return symbol;
	at = after_hexadecimal(symbol + strlen(OPENMP), 1);
	at = at ? after_hexadecimal(at, 1) : NULL;
	stem = at ? before_line(at, *length - (size_t)(at - symbol), line) : 0;
	if (stem == 0) {
		*line = 0;
		return symbol;
	}
	*length = stem;
	return at;
}

struct stable_symbol stable_symbol(const char *symbol)
{
	struct stable_symbol out;
	size_t length;

	symbol = stub(after_static(symbol), &length);
	symbol = openmp_function(symbol, &length, &out.line);
	out.text = strndup(symbol, length);
	if (out.text && (starts_with(out.text, "_Z") || starts_with(out.text, DEVICE_STUB "_Z")))
		replace_units(out.text);
	return out;
}
