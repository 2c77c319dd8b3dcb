// SPDX-License-Identifier: MIT
#include "cupti_trace/wire/trace_config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/text.h"

enum kind { SWITCH, NUMBER, TEXT };

static const struct entry {
	enum kind kind;
	uint16_t offset;
	const char *word;
} entries[] = {
#define SWITCH_ENTRY(member, word) {SWITCH, offsetof(struct trace_config, member), word},
#define NUMBER_ENTRY(member, word) {NUMBER, offsetof(struct trace_config, member), word},
#define TEXT_ENTRY(member, word) {TEXT, offsetof(struct trace_config, member), word},
	TRACE_CONFIG_SWITCHES(SWITCH_ENTRY) TRACE_CONFIG_NUMBERS(NUMBER_ENTRY)
		TRACE_CONFIG_TEXTS(TEXT_ENTRY)};

#define ENTRIES (sizeof(entries) / sizeof(entries[0]))

/* ---- writing ---- */

struct output {
	char *text;
	size_t size, used;
};

static __attribute__((format(printf, 2, 3))) void put(struct output *o, const char *format, ...)
{
	size_t room = o->used < o->size ? o->size - o->used : 0;
	va_list args;

	va_start(args, format);
	o->used += (size_t)vsnprintf(room ? o->text + o->used : NULL, room, format, args);
	va_end(args);
}

static void put_escaped(struct output *o, const char *text)
{
	for (; *text; text++)
		put(o, (unsigned char)*text > ' ' && *text != '%' ? "%c" : "%%%02x",
		    (unsigned char)*text);
}

static void put_entry(struct output *o, const struct entry *e, const struct trace_config *config)
{
	const char *at = (const char *)config + e->offset, *space = o->used ? " " : "";

	if (e->kind == SWITCH && *(const bool *)at)
		put(o, "%s%s", space, e->word);
	if (e->kind == NUMBER && *(const uint32_t *)at)
		put(o, "%s%s=%u", space, e->word, *(const uint32_t *)at);
	if (e->kind == TEXT && *(const char *const *)at) {
		put(o, "%s%s=", space, e->word);
		put_escaped(o, *(const char *const *)at);
	}
}

bool trace_config_encode(const struct trace_config *config, char *text, size_t size)
{
	struct output o = {text, size, 0};

	put(&o, "%s", "");
	for (size_t i = 0; i < ENTRIES; i++)
		put_entry(&o, &entries[i], config);
	return o.used < o.size;
}

/* ---- reading ---- */

/* Replaces escapes; anything else stays as it is. */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		int high = *text == '%' ? hex_digit(text[1]) : -1;
		int low = high >= 0 ? hex_digit(text[2]) : -1;

		if (low < 0 || !(high | low)) {
			*to++ = *text;
			continue;
		}
		*to++ = (char)(high << 4 | low);
		text += 2;
	}
	*to = '\0';
}

static void read_number(const char *text, uint32_t *number)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (text[0] >= '0' && text[0] <= '9' && !*end && !errno && value <= UINT32_MAX)
		*number = (uint32_t)value;
}

static void read_word(struct trace_config *config, const char *word, char *value)
{
	for (const struct entry *e = entries; e < entries + ENTRIES; e++) {
		char *at = (char *)config + e->offset;

		if (strcmp(e->word, word) != 0 || (e->kind == SWITCH) != !value)
			continue;
		if (e->kind == SWITCH)
			*(bool *)at = true;
		else if (e->kind == NUMBER)
			read_number(value, (uint32_t *)at);
		else
			*(const char **)at = value;
	}
}

void trace_config_decode(struct trace_config *config, char *text)
{
	char *word;

	memset(config, 0, sizeof(*config));
	while ((word = strsep(&text, " "))) {
		char *value = strchr(word, '=');

		if (value) {
			*value++ = '\0';
			unescape(value);
		}
		read_word(config, word, value);
	}
}
