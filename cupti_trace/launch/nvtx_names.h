/* SPDX-License-Identifier: MIT */
/*
 * Maps pairs of NVTX domain and message to small ids, so that launch stacks contain ranges as
 * numbers.
 *
 * A look-up takes no lock: names are only added, and a name is complete before its id can be found.
 * Memory is bounded. Many programs number their messages ("step 12345"), which would use up the
 * memory before later names come. So messages that differ only in numbers (nvtx_fold.h) are a
 * family. Once a family has a fifth of the room left to families, its further messages are folded
 * into one name, "step N". A quarter of the room is reserved for messages that are folded or have
 * no numbers. An eighth is reserved for messages without numbers: each random name is a family. A
 * message without room, or past the number of names, has the id NVTX_TOO_MANY. An id never changes
 * its meaning: open ranges keep their names.
 *
 * Messages are copied: the program may change or free them. Text longer than NVTX_TEXT_MAX is cut
 * between characters. Wide messages are converted to UTF-8.
 *
 * One instance for the process. Any thread may call; nvtx_name_send is called by one thread at a
 * time.
 */
#ifndef CUPTI_TRACE_LAUNCH_NVTX_NAMES_H
#define CUPTI_TRACE_LAUNCH_NVTX_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <wchar.h>
#include "cupti_trace/core/sink.h"

#define NVTX_NAMES_MAX (1u << 14)
#define NVTX_NAME_BYTES (1u << 20) /* total */
#define NVTX_TEXT_MAX 512          /* bytes of a message */
#define NVTX_DOMAINS_MAX 256       /* including the default one, number 0 */
/* numbers of kinds that have no domain: PyTorch's operators, layers */
#define NVTX_OPERATORS NVTX_DOMAINS_MAX
#define NVTX_LAYERS (NVTX_DOMAINS_MAX + 1)

#define NVTX_TOO_MANY (NVTX_NAMES_MAX + 1)

/*
 * Returns the number of the domain with this name, adding it: programs that create it twice mean
 * one domain. Domains past the limit share the last number.
 */
uint32_t nvtx_domain(const char *name);
uint32_t nvtx_domain_wide(const wchar_t *name);

/*
 * Returns the id of a message in a domain; NULL is the message "[unnamed]". Keeps the `color`
 * (ARGB, 0: none) of the name's first range.
 */
uint32_t nvtx_name(uint32_t domain, const char *message, uint32_t color);
uint32_t nvtx_name_wide(uint32_t domain, const wchar_t *message, uint32_t color);

/* Returns the id for a registered message of any domain; `id` may be invalid. */
uint32_t nvtx_name_registered(uint32_t domain, uint64_t id, uint32_t color);

/* Returns whether a name stands for messages that differ in numbers. */
bool nvtx_name_is_folded(uint32_t id);

/*
 * Sets the name without details of a name that has some: what the program called the range. Any
 * thread.
 */
void nvtx_name_set_plain(uint32_t id, uint32_t plain);

/* Returns that name, or `id` if none was set. */
uint32_t nvtx_name_plain(uint32_t id);

/* Returns the text of a name, without its domain; NULL: the id has none. */
const char *nvtx_name_text(uint32_t id);

/* Forgets all names and domains. No range may be open, and no thread may use a name meanwhile. */
void nvtx_names_forget(void);

/* Makes the names usable in a child of fork, whichever thread was adding one. */
void nvtx_names_in_child(void);

/* Has all names sent again. Called by the thread that sends. */
void nvtx_names_start_over(void);

/* Sends the name of an id, unless it was sent. */
void nvtx_name_send(struct sink *sink, uint32_t id);

/* Sends the name of an id, even if it was sent. Any thread. */
void nvtx_name_resend(struct sink *sink, uint32_t id);

#endif
