// SPDX-License-Identifier: MIT
#include "profiler/collect/target_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cupti_trace/gpu_event.h"

struct target_process {
	uint32_t pid;
	uint32_t count;
	uint32_t *stacks;          /* by id */
	struct code_mapping *code; /* in order of arrival */
	uint32_t code_count, code_capacity;
	struct target_python *pythons; /* by id; without a name where none was sent */
	uint32_t python_count;
	const char **ranges; /* NVTX's, by id; NULL where none was sent */
	uint32_t range_count;
};

static void forget(struct target_process *p)
{
	for (uint32_t i = 0; i < p->code_count; i++)
		free((char *)p->code[i].path);
	free(p->code);
	free(p->stacks);
	free(p->pythons);
	free(p->ranges);
	*p = (struct target_process){.pid = p->pid};
}

void target_stacks_release(struct target_stacks *w)
{
	for (uint32_t i = 0; i < w->count; i++)
		forget(&w->processes[i]);
	free(w->processes);
	hash_index_release(&w->index);
	memset(w, 0, sizeof(*w));
}

static bool process_equal(const void *records, uint32_t position, const void *key)
{
	return ((const struct target_process *)records + position)->pid == *(const uint32_t *)key;
}

static struct target_process *find(const struct target_stacks *w, uint32_t pid)
{
	uint32_t at = hash_index_find(&w->index, hash_bytes(&pid, sizeof(pid)), process_equal,
				      w->processes, &pid);

	return at == HASH_INDEX_NONE ? NULL : &w->processes[at];
}

static struct target_process *find_or_add(struct target_stacks *w, uint32_t pid)
{
	struct target_process *p = find(w, pid);

	if (p)
		return p;
	if (w->count == w->capacity) {
		uint32_t capacity = w->capacity ? w->capacity * 2 : 16;

		p = realloc(w->processes, capacity * sizeof(*p));
		if (!p)
			return NULL;
		w->processes = p;
		w->capacity = capacity;
	}
	if (hash_index_add(&w->index, hash_bytes(&pid, sizeof(pid)), w->count) != 0)
		return NULL;
	w->processes[w->count] = (struct target_process){.pid = pid};
	return &w->processes[w->count++];
}

static bool same_mapping(const struct code_mapping *a, const struct code_mapping *b)
{
	return a->start == b->start && a->end == b->end && a->file_offset == b->file_offset &&
	       a->inode == b->inode && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor && strcmp(a->path, b->path) == 0;
}

/*
 * Takes out what the new mapping replaces as a whole. True if nothing need be added: a process says
 * all of its mappings anew whenever one has changed, which is at each import of a Python module.
 */
static bool replace_code(struct target_process *p, const struct code_mapping *mapping)
{
	uint32_t kept = 0;

	for (uint32_t i = p->code_count; i-- > 0;) {
		const struct code_mapping *old = &p->code[i];

		if (old->start >= mapping->end || old->end <= mapping->start)
			continue;
		if (same_mapping(old, mapping))
			return true; /* and nothing since has overlapped it */
		break;
	}
	for (uint32_t i = 0; i < p->code_count; i++) {
		struct code_mapping *old = &p->code[i];

		if (old->start >= mapping->start && old->end <= mapping->end)
			free((char *)(uintptr_t)old->path);
		else
			p->code[kept++] = *old;
	}
	p->code_count = kept;
	return false;
}

int target_stacks_add_code(struct target_stacks *w, uint32_t pid,
			   const struct code_mapping *mapping)
{
	struct target_process *p = find_or_add(w, pid);
	char *path;

	if (!p)
		return -ENOMEM;
	if (replace_code(p, mapping))
		return 0;
	if (p->code_count == TARGET_STACKS_MAX_CODE)
		return -ENOSPC;
	if (p->code_count == p->code_capacity) {
		uint32_t capacity = p->code_capacity ? p->code_capacity * 2 : 64;
		struct code_mapping *code = realloc(p->code, capacity * sizeof(*code));

		if (!code)
			return -ENOMEM;
		p->code = code;
		p->code_capacity = capacity;
	}
	path = strdup(mapping->path);
	if (!path)
		return -ENOMEM;
	p->code[p->code_count] = *mapping;
	p->code[p->code_count++].path = path;
	return 0;
}

const struct code_mapping *target_stacks_find_code(const struct target_stacks *w, uint32_t pid,
						   uint64_t address)
{
	const struct target_process *p = find(w, pid);

	/* the latest word first */
	for (uint32_t i = p ? p->code_count : 0; i-- > 0;)
		if (address > p->code[i].start && address <= p->code[i].end)
			return &p->code[i];
	return NULL;
}

int target_stacks_set_python(struct target_stacks *w, uint32_t pid, uint32_t id,
			     const struct target_python *python)
{
	struct target_process *p;

	if (id == 0 || id >= GPU_PYCODE_MAX_ID)
		return -ERANGE;
	p = find_or_add(w, pid);
	if (!p)
		return -ENOMEM;
	if (id >= p->python_count) {
		uint32_t count = id < 128 ? 256 : id * 2;
		struct target_python *pythons = realloc(p->pythons, count * sizeof(*pythons));

		if (!pythons)
			return -ENOMEM;
		memset(pythons + p->python_count, 0, (count - p->python_count) * sizeof(*pythons));
		p->pythons = pythons;
		p->python_count = count;
	}
	p->pythons[id] = *python;
	return 0;
}

const struct target_python *target_stacks_get_python(const struct target_stacks *w, uint32_t pid,
						     uint32_t id)
{
	const struct target_process *p = find(w, pid);

	return p && id < p->python_count && p->pythons[id].name ? &p->pythons[id] : NULL;
}

int target_stacks_set_nvtx(struct target_stacks *w, uint32_t pid, uint32_t id, const char *text)
{
	struct target_process *p;

	if (id == 0 || id >= GPU_NVTX_MAX_ID)
		return -ERANGE;
	p = find_or_add(w, pid);
	if (!p)
		return -ENOMEM;
	if (id >= p->range_count) {
		uint32_t count = id < 128 ? 256 : id * 2;
		const char **ranges = realloc(p->ranges, count * sizeof(*ranges));

		if (!ranges)
			return -ENOMEM;
		memset(ranges + p->range_count, 0, (count - p->range_count) * sizeof(*ranges));
		p->ranges = ranges;
		p->range_count = count;
	}
	p->ranges[id] = text;
	return 0;
}

const char *target_stacks_get_nvtx(const struct target_stacks *w, uint32_t pid, uint32_t id)
{
	const struct target_process *p = find(w, pid);

	return p && id < p->range_count ? p->ranges[id] : NULL;
}

int target_stacks_set(struct target_stacks *w, uint32_t pid, uint32_t id, uint32_t stack)
{
	struct target_process *p;

	if (id == 0 || id >= TARGET_STACKS_MAX_ID)
		return -ERANGE;
	p = find_or_add(w, pid);
	if (!p)
		return -ENOMEM;
	if (id >= p->count) {
		uint32_t count = id < 128 ? 256 : id * 2;
		uint32_t *stacks = realloc(p->stacks, count * sizeof(*stacks));

		if (!stacks)
			return -ENOMEM;
		for (uint32_t i = p->count; i < count; i++)
			stacks[i] = TARGET_STACKS_NONE;
		p->stacks = stacks;
		p->count = count;
	}
	p->stacks[id] = stack;
	return 0;
}

uint32_t target_stacks_get(const struct target_stacks *w, uint32_t pid, uint32_t id)
{
	const struct target_process *p = find(w, pid);

	return p && id < p->count ? p->stacks[id] : TARGET_STACKS_NONE;
}

void target_stacks_forget(struct target_stacks *w, uint32_t pid)
{
	struct target_process *p = find(w, pid);

	if (p)
		forget(p);
}
