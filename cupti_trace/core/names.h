/* SPDX-License-Identifier: MIT */
/*
 * Maps kernel names to small ids, so that a name crosses the pipe once and not with every launch.
 *
 * Names are copied: CUPTI's pointers die with the module. A known pointer is only trusted after
 * comparing the text. Records come late, so after a module was unloaded their pointers may dangle.
 * From then on each name is read only where the kernel confirms that there is memory. A name that
 * cannot be read has id 0.
 *
 * The table is bounded: past NAMES_MAX names or NAMES_MAX_BYTES, names share id 0. Not thread-safe;
 * the caller locks.
 */
#ifndef CUPTI_TRACE_CORE_NAMES_H
#define CUPTI_TRACE_CORE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "symbolize/util/hash_index.h"

#define NAMES_MAX 65536
#define NAMES_MAX_BYTES (16u << 20)
#define NAMES_OVERFLOW_ID 0
#define NAMES_POINTER_CACHE 1024

struct sink;

struct names {
	char **list; /* starts with id 1 */
	uint32_t count, capacity;
	struct hash_index index;
	size_t bytes;
	bool has_unloaded; /* a module was unloaded */
	char *copy;        /* copy of a name that is not trusted */
	size_t copy_size;
	struct {
		const char *pointer;
		uint32_t id;
	} cache[NAMES_POINTER_CACHE];
};

/* Returns the id of `name`, and sets *is_new if the name is new. Never fails: see overflow. */
uint32_t names_id(struct names *names, const char *name, bool *is_new);

/* Returns the text of an id other than NAMES_OVERFLOW_ID; valid until release. */
const char *names_text(const struct names *names, uint32_t id);

/*
 * Notes that a module is about to be unloaded: pointers may dangle from now on. Call with the
 * caller's lock held, so that no name is being read.
 */
void names_module_unloads(struct names *names);

/* Returns the id of a kernel's name, and sends the name first if it is new. */
uint32_t names_send(struct names *names, struct sink *sink, const char *name);

void names_release(struct names *names);

#endif
