/* SPDX-License-Identifier: MIT */
/*
 * Recognizes text of a file that a program has moved to other memory, at the same addresses.
 *
 * Programs do so to have their text in huge pages: they copy it, and map memory without a file (or
 * with one that holds nothing else) where it was. What is left of the file's mappings around it, or
 * was mapped there before, says which file it may be (`near_` in struct map_entry). By the file's
 * program headers each address has one place in it. Then pages of the process's memory are compared
 * with the file: the one in which code has run, and TEXT_PAGES_MAX across the mapping
 * (text_pages.h). All must be equal, so generated code is not taken for text. Pages of zeros, int3
 * or nop prove nothing.
 *
 * Memory is read with the right to trace the process (process_vm_readv(2)), by a thread without
 * capabilities that has a deadline (bounded_call.h); the file as modules.h says. Without the right,
 * unless the caller can open the memory, or once the process has ended, nothing is recognized.
 */
#ifndef SYMBOLIZE_MOVED_TEXT_H
#define SYMBOLIZE_MOVED_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbolize/code_ref.h"
#include "symbolize/maps.h"
#include "symbolize/modules.h"

#define MOVED_TEXT_MAX_TRIES 3u /* of one mapping: it may have been half copied */

struct moved_text {
	/* comparisons in vain, and checks: MOVED_TEXT_MAX_MISSES, _CHECKS (table_quota.h) at most
	 */
	uint32_t misses, checks;
	int (*open_memory)(void *context, pid_t pid); /* as symbolizer.h says; or NULL */
	void *memory_context;
};

/* A line of /proc/PID/maps; texts are borrowed. */
struct maps_line {
	struct code_mapping mapping;
	bool is_executable;
	/*
	 * It tells which file text beside it may be from. Not what the loader leaves between
	 * segments, without any right: its offsets are those of no segment.
	 */
	bool is_of_file;
};

/* Reads the whole of such a file, rewriting `text`. Returns a malloc'd list; NULL: no memory. */
struct maps_line *moved_text_read_lines(char *text, uint32_t *count);

/*
 * Returns the line of a mapping of the file whose text lines[at] may be; NULL: none. Looks at
 * MOVED_TEXT_LINES lines on each side at most.
 */
#define MOVED_TEXT_LINES 128u
const struct maps_line *moved_text_near_line(const struct maps_line *lines, uint32_t count,
					     uint32_t at);

/* Makes `near`, a mapping of a file, the near mapping of `entry`. */
void moved_text_set_near(struct map_entry *entry, const struct map_entry *near);

/*
 * Sets the near mapping of `entry`, which is to be added to the table: a file's that it replaces,
 * or lies in between. It stays where there is none.
 */
void moved_text_expect(const struct map_table *maps, struct map_entry *entry);

enum moved_text_answer {
	MOVED_TEXT_IS_ELSEWHERE, /* the file has no text anywhere in the mapping */
	MOVED_TEXT_IS_OTHER,     /* other code, or not of that file */
	MOVED_TEXT_IS_UNKNOWN,   /* the memory or the file cannot be read */
	MOVED_TEXT_IS_OF_FILE,
};

/*
 * Looks at the code of process `pid` at `address`, in `entry`, or at the byte before. Where it is
 * text of a file, `*found` is the part of the mapping that is, as an entry without near mapping.
 */
enum moved_text_answer moved_text_find(struct moved_text *m, struct modules *modules, pid_t pid,
				       const struct map_entry *entry, uint64_t address,
				       struct map_entry *found);

/*
 * Returns whether `entry`, a mapping of a file as its process describes it, has text with these
 * pages (text_pages_hash): it is memory in truth, and the process has found by its program headers
 * where in the file that would be.
 */
enum moved_text_answer moved_text_check(struct moved_text *m, struct modules *modules, pid_t pid,
					const struct map_entry *entry, uint64_t hash);

#endif
