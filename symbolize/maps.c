/* SPDX-License-Identifier: MIT */
#include "symbolize/maps.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/array.h"
#include "symbolize/util/sorted.h"
#include "symbolize/util/table_quota.h"
#include "symbolize/util/text.h"

struct map_table *map_table_new(void)
{
	struct map_table *table = calloc(1, sizeof(*table));

	if (table)
		table->references = 1;
	return table;
}

struct map_table *map_table_share(struct map_table *table)
{
	table->references++;
	return table;
}

void map_table_drop(struct map_table *table)
{
	if (!table || --table->references > 0)
		return;
	if (table->quota)
		table_quota_free_maps(table->quota, table->capacity * sizeof(*table->entries));
	free(table->entries);
	free(table);
}

uint32_t map_table_position(const struct map_table *table, uint64_t address)
{
	uint32_t count = (uint32_t)sorted_count(table->entries, table->count,
						sizeof(*table->entries), address);

	return count > 0 && address < table->entries[count - 1].end ? count - 1 : count;
}

/* Makes room for `count` entries in all. Returns 0, -ENOSPC (by its quota) or -ENOMEM. */
static int make_room(struct map_table *table, uint32_t count)
{
	uint32_t capacity = table->capacity ? table->capacity : ARRAY_FIRST_CAPACITY;
	struct map_entry *grown;
	uint64_t more;

	if (count <= table->capacity)
		return 0;
	while (capacity < count)
		capacity *= 2;
	more = (capacity - table->capacity) * sizeof(*grown);
	if (table->quota && !table_quota_take_maps(table->quota, more))
		return -ENOSPC;
	grown = realloc(table->entries, capacity * sizeof(*grown));
	if (!grown) {
		if (table->quota)
			table_quota_free_maps(table->quota, more);
		return -ENOMEM;
	}
	table->entries = grown;
	table->capacity = capacity;
	return 0;
}

/* Makes `*table` unshared, with room for two more entries: an insertion adds at most two. */
static int prepare_to_change(struct map_table **table)
{
	struct map_table *old = *table, *own = old->references > 1 ? map_table_new() : old;
	int err = own ? 0 : -ENOMEM;

	if (!err) {
		own->quota = old->quota;
		err = make_room(own, old->count + 2);
	}
	if (err) {
		if (own != old)
			map_table_drop(own);
		return err;
	}
	if (own != old) {
		if (old->count > 0)
			memcpy(own->entries, old->entries, old->count * sizeof(*own->entries));
		own->count = old->count;
		map_table_drop(old);
		*table = own;
	}
	return 0;
}

int map_table_insert(struct map_table **table, struct map_entry entry)
{
	struct map_entry pieces[3];
	uint32_t first, last, count = 0;
	struct map_table *t = *table;
	int err;

	if (entry.start >= entry.end)
		return -EINVAL;
	if (t->count + 2 > MAP_TABLE_MAX)
		return -ENOSPC;
	err = prepare_to_change(table);
	if (err)
		return err;
	t = *table;

	/* entries[first..last) overlap the new one; their parts outside it stay */
	first = last = map_table_position(t, entry.start);
	while (last < t->count && t->entries[last].start < entry.end)
		last++;
	if (first < last && t->entries[first].start < entry.start) {
		pieces[count] = t->entries[first];
		pieces[count++].end = entry.start;
	}
	pieces[count++] = entry;
	if (first < last && t->entries[last - 1].end > entry.end) {
		struct map_entry tail = t->entries[last - 1];

		tail.file_offset += entry.end - tail.start;
		tail.start = entry.end;
		pieces[count++] = tail;
	}
	memmove(t->entries + first + count, t->entries + last,
		(t->count - last) * sizeof(*t->entries));
	memcpy(t->entries + first, pieces, count * sizeof(*pieces));
	t->count = t->count - (last - first) + count;
	return 0;
}

const struct map_entry *map_table_find(const struct map_table *table, uint64_t address)
{
	uint32_t i = map_table_position(table, address);

	if (i < table->count && table->entries[i].start <= address)
		return &table->entries[i];
	if (i > 0 && table->entries[i - 1].end == address)
		return &table->entries[i - 1];
	return NULL;
}

struct map_entry *map_table_edit(struct map_table *table, const struct map_entry *entry)
{
	return &table->entries[entry - table->entries];
}

/* Takes digits in `base` up to 64 bits, then the character `end`. */
static bool take_number(char **at, unsigned int base, char end, uint64_t *value)
{
	const char *begin = *at;
	int digit;

	*value = 0;
	for (; (digit = hex_digit(**at)) >= 0; (*at)++) {
		if ((unsigned int)digit >= base || *value > (UINT64_MAX - (uint64_t)digit) / base)
			return false;
		*value = *value * base + (uint64_t)digit;
	}
	if (*at == begin || **at != end)
		return false;
	(*at)++;
	return true;
}

/* Replaces each "\012" by a newline, in place. */
static void unescape_newlines(char *path)
{
	char *to = strstr(path, "\\012");

	if (!to)
		return;
	for (const char *from = to; *from; to++) {
		if (starts_with(from, "\\012")) {
			*to = '\n';
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/*
 * Parses one line of /proc/PID/maps (without its newline; proc(5)), rewriting it in place. Returns
 * whether the line is a mapping.
 */
static bool parse_line(char *line, struct code_mapping *mapping, const char **permissions)
{
	uint64_t major, minor;
	char *at = line, *flags;
	size_t digits;

	if (!take_number(&at, 16, '-', &mapping->start) ||
	    !take_number(&at, 16, ' ', &mapping->end) || mapping->start >= mapping->end)
		return false;
	flags = at;
	if (strspn(flags, "rwxsp-") != 4 || flags[4] != ' ')
		return false;
	at += 5;
	if (!take_number(&at, 16, ' ', &mapping->file_offset) ||
	    !take_number(&at, 16, ':', &major) || !take_number(&at, 16, ' ', &minor) ||
	    major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	mapping->dev_major = (uint32_t)major;
	mapping->dev_minor = (uint32_t)minor;

	/* the inode ends the line, or spaces and a path follow; old kernels always print a space */
	digits = strspn(at, "0123456789");
	if (at[digits] == '\0') {
		mapping->path = at + digits;
		if (!take_number(&at, 10, '\0', &mapping->inode))
			return false;
	} else {
		if (!take_number(&at, 10, ' ', &mapping->inode))
			return false;
		at += strspn(at, " ");
		unescape_newlines(at);
		mapping->path = at;
	}
	*permissions = flags;
	return true;
}

bool maps_next_any(char **text, struct code_mapping *mapping, const char **permissions)
{
	char *line;

	*mapping = (struct code_mapping){.path = NULL};
	while ((line = strsep(text, "\n")))
		if (parse_line(line, mapping, permissions))
			return true;
	return false;
}

bool maps_next(char **text, struct code_mapping *mapping)
{
	const char *permissions;

	while (maps_next_any(text, mapping, &permissions))
		if (permissions[2] == 'x')
			return true;
	return false;
}
