/* SPDX-License-Identifier: MIT */
/*
 * Keeps the executable mappings of one address space, and parses /proc/PID/maps.
 *
 * A map_table has disjoint mappings sorted by address. A new mapping replaces what it overlaps,
 * like mmap(MAP_FIXED): old ones are trimmed, split or removed. A process and its forks share a
 * table until one of them changes it (most children exec at once).
 *
 * Units: addresses and sizes in bytes. Errors: 0 or -errno. Not thread-safe.
 */
#ifndef SYMBOLIZE_MAPS_H
#define SYMBOLIZE_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolize/code_ref.h"

/* Maximum number of entries (-ENOSPC). Linux's default vm.max_map_count is 65530. */
#define MAP_TABLE_MAX 65536

struct table_quota;

struct map_entry {
	uint64_t start, end;  /* start < end */
	uint64_t file_offset; /* offset of `start` */
	uint32_t module;
	/*
	 * Mapping of the file whose text this may be, as it is or was, for moved_text.h.
	 * `near_module` is MODULE_UNKNOWN if there is none.
	 */
	uint32_t near_module : 24;
	uint32_t near_tries : 7;        /* failed comparisons */
	uint32_t near_is_confirmed : 1; /* a comparison found that file's text */
	uint64_t near_start, near_end, near_offset;
};

struct map_table {
	uint32_t references;
	uint32_t count, capacity;
	struct map_entry *entries;
	/*
	 * Quota of the entries' memory, also of copies; borrowed. Set while there are none, if at
	 * all.
	 */
	struct table_quota *quota;
};

/* Creates an empty table with one reference. Returns NULL when out of memory. */
struct map_table *map_table_new(void);

/* Adds a reference to the table. */
struct map_table *map_table_share(struct map_table *table);

/* Drops one reference; the last one frees the table, which may be NULL. */
void map_table_drop(struct map_table *table);

/*
 * Adds `entry` to `*table`. A shared table is copied first, and `*table` is the copy. Returns 0;
 * -EINVAL for an empty or inverted range, -ENOSPC (also by its quota) or -ENOMEM: nothing has
 * changed.
 */
int map_table_insert(struct map_table **table, struct map_entry entry);

/*
 * Returns the mapping that contains `address`, or NULL. Valid until the table changes. The address
 * just past a mapping's end belongs to it if to no other: a call can be the last instruction of a
 * mapping, and this is its return address.
 */
const struct map_entry *map_table_find(const struct map_table *table, uint64_t address);

/* Returns the position of the first entry that ends after `address`; the count: none. */
uint32_t map_table_position(const struct map_table *table, uint64_t address);

/* Returns the entry, to be changed, but not its range. */
struct map_entry *map_table_edit(struct map_table *table, const struct map_entry *entry);

/*
 * Takes the next mapping from `*text` as maps_next does, executable or not. `*permissions` points
 * to four characters in it, such as "r-xp".
 */
bool maps_next_any(char **text, struct code_mapping *mapping, const char **permissions);

/*
 * Takes the next executable mapping from `*text`, the rest of a /proc/PID/maps (proc(5)), which is
 * rewritten in place. mapping->path points into the text. Returns false if there is none. Skips
 * malformed lines.
 *
 * The kernel prints a newline in a path as "\012" and escapes nothing else. So a path that contains
 * these four characters is misread, and fails the check of its inode.
 */
bool maps_next(char **text, struct code_mapping *mapping);

#endif
