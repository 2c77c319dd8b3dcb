/* SPDX-License-Identifier: MIT */
/*
 * Names of NVTX ranges: a small id for each pair of domain and message, so that launch stacks
 * contain ranges as numbers.
 *
 * A look-up takes no lock: names are only added, and a name is complete before its id can be found.
 * Memory is bounded. Many programs number their messages ("step 12345"), so that these would use it
 * up, and names that come later would find no room. So messages that differ only in numbers
 * (nvtx_fold.h) are a family: once it has a fifth of the room that is left to families, its further
 * messages are folded into one name, "step N". A quarter of the room is left to messages that are
 * folded or have no numbers, an eighth to the latter alone: names that are random are each a
 * family. A message that comes when memory is used up, or past the number of names, has the one id
 * NVTX_TOO_MANY. An id never changes its meaning: ranges that are open keep their names.
 *
 * Messages are copied: the program may change or free them. What is longer
 * than NVTX_TEXT_MAX is cut between characters. Wide messages are turned into UTF-8.
 *
 * One instance for the process. The functions may be called by any thread; only nvtx_name_send is
 * called by one at a time.
 */
#ifndef CUPTI_TRACE_LAUNCH_NVTX_NAMES_H
#define CUPTI_TRACE_LAUNCH_NVTX_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <wchar.h>
#include "cupti_trace/core/sink.h"

#define NVTX_NAMES_MAX (1u << 14)
#define NVTX_NAME_BYTES (1u << 20) /* of all of them */
#define NVTX_TEXT_MAX 512          /* bytes of a message */
#define NVTX_DOMAINS_MAX 256       /* the default one, number 0, included */

#define NVTX_TOO_MANY (NVTX_NAMES_MAX + 1)

/*
 * The number of the domain with this name, made if there is none: programs that create it twice
 * mean the same. Those past the limit share the last number.
 */
uint32_t nvtx_domain(const char *name);
uint32_t nvtx_domain_wide(const wchar_t *name);

/*
 * The id of a message in a domain; NULL is a message too, "[unnamed]". `color` (ARGB, 0: none) is
 * kept of the first range of that name.
 */
uint32_t nvtx_name(uint32_t domain, const char *message, uint32_t color);
uint32_t nvtx_name_wide(uint32_t domain, const wchar_t *message, uint32_t color);

/* Does the same by an id, of any domain, or a number that is none. */
uint32_t nvtx_name_registered(uint32_t domain, uint64_t id, uint32_t color);

/* Returns whether a name stands for messages that differ in numbers. */
bool nvtx_name_is_folded(uint32_t id);

/* Returns the text of a name, without its domain; NULL: the id has none. */
const char *nvtx_name_text(uint32_t id);

/* Forgets all names and domains. No range may be open, and nobody may use one meanwhile. */
void nvtx_names_forget(void);

/* Sends the name of an id, unless it was sent. */
void nvtx_name_send(struct sink *sink, uint32_t id);

/* Sends it in any case, from any thread. */
void nvtx_name_tell(struct sink *sink, uint32_t id);

#endif
