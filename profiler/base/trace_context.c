// SPDX-License-Identifier: MIT
#include "profiler/base/trace_context.h"
#include "symbolize/util/text.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>

/* "00-" trace id "-" parent id "-" flags */
enum { TRACE_ID_AT = 3, PARENT_ID_AT = 36, FLAGS_AT = 53, PARENT_LENGTH = 55 };

#define STATE_MEMBERS 32
#define STATE_PART 256 /* bytes of a key or a value */

static int get_random(void *bytes, size_t size)
{
	ssize_t got = getrandom(bytes, size, 0); /* a few bytes never come in parts */

	return got == (ssize_t)size ? 0 : got < 0 ? -errno : -EIO;
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i])
			return false;
	return true;
}

int trace_context_begin(struct trace_context *c)
{
	int err;

	*c = (struct trace_context){.flags = TRACE_SAMPLED | TRACE_ID_IS_RANDOM};
	do {
		err = get_random(c->trace_id, sizeof(c->trace_id));
	} while (!err && is_zero(c->trace_id, sizeof(c->trace_id)));
	return err ? err : get_random(&c->seed, sizeof(c->seed));
}

/* ---- the caller's ---- */

static bool read_bytes(const char *text, uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		bytes[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

/* Parses TRACEPARENT. Versions above 0 may append fields. */
static bool read_parent(struct trace_context *c, const char *text)
{
	size_t length = strnlen(text, PARENT_LENGTH + 1);
	uint8_t version;

	if (length < PARENT_LENGTH || !read_bytes(text, &version, 1) || version == 0xff)
		return false;
	if (length > PARENT_LENGTH && (version == 0 || text[PARENT_LENGTH] != '-'))
		return false;
	if (text[TRACE_ID_AT - 1] != '-' || text[PARENT_ID_AT - 1] != '-' ||
	    text[FLAGS_AT - 1] != '-')
		return false;
	return read_bytes(text + TRACE_ID_AT, c->trace_id, sizeof(c->trace_id)) &&
	       read_bytes(text + PARENT_ID_AT, c->parent_id, sizeof(c->parent_id)) &&
	       read_bytes(text + FLAGS_AT, &c->flags, 1) &&
	       !is_zero(c->trace_id, sizeof(c->trace_id)) &&
	       !is_zero(c->parent_id, sizeof(c->parent_id));
}

static bool is_of_key(char c, bool is_first)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       (!is_first && c && strchr("_-*/@", c));
}

/* Returns the length of the member at the start of `text`, without spaces. Returns 0 if invalid. */
static size_t member_length(const char *text)
{
	size_t key = 0, value = 0;

	while (is_of_key(text[key], key == 0))
		key++;
	if (key == 0 || key > STATE_PART || text[key] != '=')
		return 0;
	for (const char *at = text + key + 1; *at >= ' ' && *at <= '~' && !strchr(",=", *at); at++)
		value++;
	while (value > 0 && text[key + value] == ' ')
		value--;
	return value > 0 && value <= STATE_PART ? key + 1 + value : 0;
}

static bool is_same_key(const char *a, const char *b)
{
	size_t length = strcspn(a, "=");

	return length == strcspn(b, "=") && strncmp(a, b, length) == 0;
}

static bool is_state(const char *text)
{
	const char *members[STATE_MEMBERS];
	unsigned int count = 0;

	if (strnlen(text, TRACE_STATE_BYTES + 1) > TRACE_STATE_BYTES)
		return false;
	for (;;) {
		text += strspn(text, " \t");
		if (*text && *text != ',') {
			size_t length = member_length(text);

			if (length == 0 || count == STATE_MEMBERS)
				return false;
			for (unsigned int i = 0; i < count; i++)
				if (is_same_key(members[i], text))
					return false;
			members[count++] = text;
			text += length;
			text += strspn(text, " \t");
		}
		if (*text != ',')
			return *text == '\0';
		text++;
	}
}

int trace_context_continue(struct trace_context *c, const char *parent, const char *state)
{
	*c = (struct trace_context){.has_parent = true};
	if (!read_parent(c, parent))
		return -EINVAL;
	c->flags &= TRACE_SAMPLED | TRACE_ID_IS_RANDOM;
	if (state && is_state(state))
		memcpy(c->state, state, strlen(state));
	return get_random(&c->seed, sizeof(c->seed));
}

/* ---- spans ---- */

/* Mixes with MurmurHash3's finalizer, a bijection: different places keep different ids. */
static uint64_t mix(uint64_t value)
{
	value ^= value >> 33;
	value *= UINT64_C(0xff51afd7ed558ccd);
	value ^= value >> 33;
	value *= UINT64_C(0xc4ceb9fe1a85ec53);
	return value ^ value >> 33;
}

void trace_context_span_id(const struct trace_context *c, uint64_t place, uint8_t id[SPAN_ID_BYTES])
{
	uint64_t value = mix(c->seed + place);

	/* only one input maps to 0: that place gets the id of a place beyond any run */
	if (value == 0)
		value = mix(c->seed - 1);
	for (unsigned int i = 0; i < SPAN_ID_BYTES; i++)
		id[i] = (uint8_t)(value >> 8 * i);
}
