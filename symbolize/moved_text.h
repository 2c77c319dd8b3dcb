/* SPDX-License-Identifier: MIT */
/*
 * Recognizes text of a file that a program has moved to other memory, at unchanged addresses.
 *
 * Programs do so to have their text in huge pages: they copy it, and map memory without a file (or
 * with a file that holds nothing else) in its place. The rest of the file's mappings, around the
 * memory or in its place before, tells which file it may be (`near_` in struct map_entry). The
 * file's program headers map each address to one place in the file. Then pages of the process's
 * memory are compared with the file: the page with running code, and TEXT_PAGES_MAX pages across
 * the mapping (text_pages.h). All must be equal, so generated code is not taken for text. Pages of
 * zeros, int3 or nop prove nothing.
 *
 * Memory is read with the right to trace the process (process_vm_readv(2)), by a worker without
 * capabilities that has a timeout (bounded_call.h). modules.h tells how files are read. Nothing is
 * recognized once the process has ended, nor without the right, unless the caller can open the
 * memory.
 */
#ifndef SYMBOLIZE_MOVED_TEXT_H
#define SYMBOLIZE_MOVED_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbolize/code_ref.h"
#include "symbolize/maps.h"
#include "symbolize/modules.h"

#define MOVED_TEXT_MAX_TRIES 3u /* comparisons of one mapping, which may have been half copied */

struct moved_text {
	/* failed comparisons and checks: MOVED_TEXT_MAX_MISSES, _CHECKS (table_quota.h) at most */
	uint32_t misses, checks;
	int (*open_memory)(void *context, pid_t pid); /* see symbolizer.h; may be NULL */
	void *memory_context;
};

/* Line of /proc/PID/maps; texts are borrowed. */
struct maps_line {
	struct code_mapping mapping;
	bool is_executable;
	/*
	 * Tells which file text beside it may be from. False for gaps that the loader leaves
	 * between segments, without any permission: their offsets are those of no segment.
	 */
	bool is_of_file;
};

/* Reads all lines, rewriting `text`. Returns a malloc'd list; NULL when out of memory. */
struct maps_line *moved_text_read_lines(char *text, uint32_t *count);

/*
 * Returns the line of a mapping of the file whose text lines[at] may be; NULL: there is none.
 * Visits MOVED_TEXT_LINES lines on each side at most.
 */
#define MOVED_TEXT_LINES 128u
const struct maps_line *moved_text_near_line(const struct maps_line *lines, uint32_t count,
					     uint32_t at);

/* Makes `near`, a mapping of a file, the near mapping of `entry`. */
void moved_text_set_near(struct map_entry *entry, const struct map_entry *near);

/*
 * Sets the near mapping of `entry`, which is to be added to the table: a file's mapping that
 * `entry` replaces, or lies between. Keeps an existing one.
 */
void moved_text_expect(const struct map_table *maps, struct map_entry *entry);

enum moved_text_answer {
	MOVED_TEXT_IS_ELSEWHERE, /* no text of the file is in the mapping */
	MOVED_TEXT_IS_OTHER,     /* other code */
	MOVED_TEXT_IS_UNKNOWN,   /* memory or file are unreadable */
	MOVED_TEXT_IS_OF_FILE,
};

/*
 * Compares the code of process `pid` at `address`, in `entry`, or at the byte before. If the code
 * is text of a file, `*found` is that part of the mapping, without a near mapping.
 */
enum moved_text_answer moved_text_find(struct moved_text *m, struct modules *modules, pid_t pid,
				       const struct map_entry *entry, uint64_t address,
				       struct map_entry *found);

/*
 * Returns whether `entry`, a mapping of a file as its process describes it, has text with these
 * pages (text_pages_hash). In truth it is memory, whose place in the file the process has found by
 * program headers.
 */
enum moved_text_answer moved_text_check(struct moved_text *m, struct modules *modules, pid_t pid,
					const struct map_entry *entry, uint64_t hash);

#endif
