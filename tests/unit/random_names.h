/* SPDX-License-Identifier: MIT */
/* Gives the frames of a made result names of any bytes and up to 4 KB. */
#ifndef TESTS_UNIT_RANDOM_NAMES_H
#define TESTS_UNIT_RANDOM_NAMES_H

#include "made_result.h"

#define RANDOM_NAME_BYTES 4096u

/* Returns a name, which the caller frees: any bytes but NUL, often of marks. */
static inline char *random_name(struct prng *p)
{
	static const char marks[] = "|`*_[]#<>&/\\\"'@\n\t{}$ \xe2\x80\xa8\xe2\x80\xae\xcc\x81";
	size_t length = prng_below(p, prng_chance(p, 70) ? 40 : RANDOM_NAME_BYTES);
	bool is_plain = prng_chance(p, 40);
	char *name = malloc(length + 2);

	assert_non_null(name);
	name[0] = 'f'; /* names are not empty */
	for (size_t i = 1; i <= length; i++)
		name[i] = is_plain             ? (char)('a' + prng_below(p, 26))
			  : prng_chance(p, 50) ? marks[prng_below(p, sizeof(marks) - 1)]
					       : (char)(1 + prng_below(p, 255));
	name[length + 1] = '\0';
	return name;
}

/* Renames all frames but the first. Returns the names, for random_names_free. */
static inline char **random_names_give(struct prng *p, struct made_result *m)
{
	char **names = calloc(m->result.frame_count + 1u, sizeof(*names));

	assert_non_null(names);
	for (uint32_t i = 1; i < m->result.frame_count; i++) {
		names[i] = random_name(p);
		m->frames[i].name = names[i];
		m->frames[i].short_name = prng_chance(p, 30) ? names[i] + 1 : names[i];
		if (!m->frames[i].short_name[0])
			m->frames[i].short_name = names[i];
	}
	return names;
}

static inline void random_names_free(char **names, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

#endif
