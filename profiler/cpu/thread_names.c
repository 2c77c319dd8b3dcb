// SPDX-License-Identifier: MIT
#include "profiler/cpu/thread_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/text.h"

struct named {
	char *name;  /* interpreter's name, or NULL */
	char *newer; /* newer name, shown once the thread spends time from `newer_ns` on; or NULL */
	uint64_t newer_ns;
	uint32_t inner;
	bool has_ended;
	bool is_pythons;               /* `comm` was set by the interpreter */
	char comm[PROCESS_COMM_BYTES]; /* kernel's name set by the program; "" if inherited */
};

#define NAMED_BYTES (sizeof(struct named) + 2 * sizeof(uint64_t) + 16) /* includes the index */

static void drop_text(struct quota *quota, char **text)
{
	if (*text)
		quota_return(quota, strlen(*text) + 1);
	free(*text);
	*text = NULL;
}

static void drop(struct quota *quota, struct named *n)
{
	drop_text(quota, &n->name);
	drop_text(quota, &n->newer);
	free(n);
	quota_return(quota, NAMED_BYTES);
}

void thread_names_release(struct thread_names *names)
{
	uint32_t position = 0, thread;
	uint64_t value;

	while (id_map_next(&names->by_thread, &position, &thread, &value))
		drop(names->quota, (struct named *)(uintptr_t)value);
	id_map_release(&names->by_thread);
	names->by_thread = (struct id_map){0};
}

static struct named *find(const struct thread_names *names, uint32_t thread)
{
	uint64_t *value = names->by_thread.count ? id_map_find(&names->by_thread, thread) : NULL;

	return value ? (struct named *)(uintptr_t)*value : NULL;
}

/*
 * Returns the record of a thread, adding it if needed. On failure returns NULL, with `*err` 0 (over
 * the quota) or -ENOMEM.
 */
static struct named *get(struct thread_names *names, uint32_t thread, int *err)
{
	struct named *n = find(names, thread);
	uint64_t *value;

	*err = 0;
	if (n || !quota_take(names->quota, NAMED_BYTES))
		return n;
	n = calloc(1, sizeof(*n));
	value = n ? id_map_get(&names->by_thread, thread) : NULL;
	if (value) {
		*value = (uint64_t)(uintptr_t)n;
		return n;
	}
	*err = -ENOMEM;
	free(n);
	quota_return(names->quota, NAMED_BYTES);
	return NULL;
}

/* Returns true if `comm` is the start of `name` as the kernel cuts it, maybe within a character. */
static bool is_start(const char *comm, const char *name)
{
	return comm[0] && starts_with(name, comm) &&
	       (!name[strlen(comm)] || strlen(comm) + 4 >= PROCESS_COMM_BYTES);
}

int thread_names_set_comm(struct thread_names *names, uint32_t thread, const char *comm)
{
	int err;
	struct named *n = get(names, thread, &err);

	if (!n)
		return err;
	snprintf(n->comm, sizeof(n->comm), "%s", comm);
	n->is_pythons =
		(n->name && is_start(comm, n->name)) || (n->newer && is_start(comm, n->newer));
	return 0;
}

int thread_names_learn(struct thread_names *names, uint32_t thread, uint64_t time_ns,
		       const char *name)
{
	int err;
	struct named *n = get(names, thread, &err);
	bool is_first = n && !n->name;
	char *copy;

	if (!n)
		return err;
	n->is_pythons |= is_start(n->comm, name);
	if (n->newer && strcmp(n->newer, name) == 0)
		return 0;
	drop_text(names->quota, &n->newer);
	if ((n->name && strcmp(n->name, name) == 0) || !quota_take(names->quota, strlen(name) + 1))
		return 0;
	copy = strdup(name);
	if (!copy) {
		quota_return(names->quota, strlen(name) + 1);
		return -ENOMEM;
	}
	if (is_first) {
		n->name = copy;
		return 1;
	}
	n->newer = copy;
	n->newer_ns = time_ns;
	return 0;
}

const char *thread_names_choose(struct thread_names *names, uint32_t thread, uint64_t time_ns,
				const char *comm, bool inherited)
{
	struct named *n = find(names, thread);

	if (!n)
		return NULL;
	if (n->newer && time_ns >= n->newer_ns) {
		drop_text(names->quota, &n->name);
		n->name = n->newer;
		n->newer = NULL;
	}
	if (!n->name || n->is_pythons)
		return n->name;
	if (n->comm[0])
		return NULL;
	return inherited || !comm || is_start(comm, n->name) ? n->name : NULL;
}

bool thread_names_waits(const struct thread_names *names, uint32_t thread, uint64_t time_ns)
{
	const struct named *n = find(names, thread);

	return n && n->newer && time_ns >= n->newer_ns;
}

int thread_names_set_inner(struct thread_names *names, uint32_t thread, uint32_t inner)
{
	int err;
	struct named *n = get(names, thread, &err);

	if (n)
		n->inner = inner;
	return err;
}

bool thread_names_has_inner(const struct thread_names *names, uint32_t thread)
{
	const struct named *n = find(names, thread);

	return n && n->inner;
}

int thread_names_by_inner(const struct thread_names *names, struct id_map *threads)
{
	uint32_t position = 0, thread, inner;
	uint64_t value, *place;

	while (id_map_next(&names->by_thread, &position, &thread, &value)) {
		inner = ((const struct named *)(uintptr_t)value)->inner;
		place = inner ? id_map_get(threads, inner) : NULL;
		if (place)
			*place = thread;
		else if (inner)
			return -ENOMEM;
	}
	return 0;
}

void thread_names_end(struct thread_names *names, uint32_t thread)
{
	uint32_t *place = &names->ended[names->ended_count % THREAD_NAMES_ENDED];
	struct named *n = find(names, thread), *oldest;

	if (!n || n->has_ended)
		return;
	oldest = names->ended_count >= THREAD_NAMES_ENDED ? find(names, *place) : NULL;
	if (oldest && oldest->has_ended) /* otherwise another thread has the id by now */
		thread_names_forget(names, *place);
	n->has_ended = true;
	*place = thread;
	names->ended_count++;
}

void thread_names_forget(struct thread_names *names, uint32_t thread)
{
	struct named *n = find(names, thread);

	if (!n)
		return;
	drop(names->quota, n);
	id_map_remove(&names->by_thread, thread);
}
