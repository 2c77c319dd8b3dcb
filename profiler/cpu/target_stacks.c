// SPDX-License-Identifier: MIT
#include "profiler/cpu/target_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/array.h"

static bool reserve(struct target_stacks *t, size_t bytes)
{
	if (!quota_take(t->quota, bytes))
		return false;
	t->held += bytes;
	return true;
}

static void unreserve(struct target_stacks *t, size_t bytes)
{
	quota_return(t->quota, bytes);
	t->held -= bytes;
}

void target_stacks_release(struct target_stacks *t)
{
	for (uint32_t i = 0; i < t->code_count; i++)
		free((char *)(uintptr_t)t->code[i].path);
	free(t->code);
	free(t->pythons);
	id_map_release(&t->python_ids);
	id_map_release(&t->ranges);
	id_map_release(&t->stacks);
	id_map_release(&t->handed);
	unreserve(t, t->held);
	*t = (struct target_stacks){.quota = t->quota};
}

/* ---- code ---- */

size_t target_stacks_code_bytes(const struct code_mapping *mapping)
{
	return 2 * sizeof(*mapping) + strlen(mapping->path) + 32 +
	       (mapping->build_id ? strlen(mapping->build_id) + 1 : 0);
}

/* Copies the mapping's texts into one allocation, which begins with the path. */
static char *copy_texts(const struct code_mapping *mapping)
{
	size_t path = strlen(mapping->path) + 1,
	       build_id = mapping->build_id ? strlen(mapping->build_id) + 1 : 0;
	char *copy = malloc(path + build_id);

	if (!copy)
		return NULL;
	memcpy(copy, mapping->path, path);
	if (build_id)
		memcpy(copy + path, mapping->build_id, build_id);
	return copy;
}

static bool same_build_id(const struct code_mapping *a, const struct code_mapping *b)
{
	return !a->build_id == !b->build_id &&
	       (!a->build_id || strcmp(a->build_id, b->build_id) == 0);
}

static bool same_mapping(const struct code_mapping *a, const struct code_mapping *b)
{
	return a->start == b->start && a->end == b->end && a->file_offset == b->file_offset &&
	       a->inode == b->inode && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor && strcmp(a->path, b->path) == 0 && same_build_id(a, b);
}

/* Returns the first mapping that ends after `address`, or code_count. */
static uint32_t first_after(const struct target_stacks *t, uint64_t address)
{
	uint32_t low = 0, high = t->code_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (t->code[middle].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Removes the mappings from `first` on that begin before `end`. */
static void remove_code(struct target_stacks *t, uint32_t first, uint64_t end)
{
	uint32_t end_at = first;

	for (; end_at < t->code_count && t->code[end_at].start < end; end_at++) {
		unreserve(t, target_stacks_code_bytes(&t->code[end_at]));
		free((char *)(uintptr_t)t->code[end_at].path);
	}
	memmove(&t->code[first], &t->code[end_at], (t->code_count - end_at) * sizeof(*t->code));
	t->code_count -= end_at - first;
}

int target_stacks_add_code(struct target_stacks *t, const struct code_mapping *mapping)
{
	uint32_t at = first_after(t, mapping->start);
	char *path;

	if (at < t->code_count && same_mapping(&t->code[at], mapping))
		return 0;
	if (!array_make_room(&t->code, t->code_count, &t->code_capacity, sizeof(*t->code)))
		return -ENOMEM;
	remove_code(t, at, mapping->end);
	if (t->code_count == TARGET_STACKS_MAX_CODE) {
		if (t->quota)
			t->quota->refused++;
		return -ENOSPC;
	}
	if (!reserve(t, target_stacks_code_bytes(mapping)))
		return -ENOSPC;
	path = copy_texts(mapping);
	if (!path) {
		unreserve(t, target_stacks_code_bytes(mapping));
		return -ENOMEM;
	}
	memmove(&t->code[at + 1], &t->code[at], (t->code_count++ - at) * sizeof(*t->code));
	t->code[at] = *mapping;
	t->code[at].path = path;
	t->code[at].build_id = mapping->build_id ? path + strlen(path) + 1 : NULL;
	return 0;
}

const struct code_mapping *target_stacks_find_code(const struct target_stacks *t, uint64_t address)
{
	uint32_t at = address ? first_after(t, address - 1) : t->code_count;

	return at < t->code_count && t->code[at].start < address ? &t->code[at] : NULL;
}

/* ---- by id ---- */

/* Finds or adds the value of an id. Returns 0, -ENOMEM or -ENOSPC. */
static int get_value(struct target_stacks *t, struct id_map *map, uint32_t id, uint64_t **value)
{
	*value = id_map_find(map, id);
	if (*value)
		return 0;
	if (!reserve(t, TARGET_STACKS_ID_BYTES))
		return -ENOSPC;
	*value = id_map_get(map, id);
	if (*value)
		return 0;
	unreserve(t, TARGET_STACKS_ID_BYTES);
	return -ENOMEM;
}

int target_stacks_set_python(struct target_stacks *t, uint32_t id,
			     const struct target_python *python)
{
	uint64_t *position = id_map_find(&t->python_ids, id);
	int err;

	if (position) {
		t->pythons[*position] = *python;
		return 0;
	}
	if (!array_make_room(&t->pythons, t->python_count, &t->python_capacity, sizeof(*python)))
		return -ENOMEM;
	err = get_value(t, &t->python_ids, id, &position);
	if (err)
		return err;
	*position = t->python_count;
	t->pythons[t->python_count++] = *python;
	return 0;
}

const struct target_python *target_stacks_get_python(const struct target_stacks *t, uint32_t id)
{
	const uint64_t *position = id_map_find(&t->python_ids, id);

	return position ? &t->pythons[*position] : NULL;
}

int target_stacks_set_nvtx(struct target_stacks *t, uint32_t id, const char *text)
{
	uint64_t *value;
	int err = get_value(t, &t->ranges, id, &value);

	if (!err)
		*value = (uint64_t)(uintptr_t)text;
	return err;
}

const char *target_stacks_get_nvtx(const struct target_stacks *t, uint32_t id)
{
	const uint64_t *value = id_map_find(&t->ranges, id);

	return value ? (const char *)(uintptr_t)*value : NULL;
}

/* Flag beside a stack's number. */
#define IS_WHOLE (UINT64_C(1) << 32)

int target_stacks_set(struct target_stacks *t, uint32_t id, struct sent_stack stack)
{
	uint64_t *value;
	int err = get_value(t, &t->stacks, id, &value);

	if (!err)
		*value = stack.stack.number | (stack.is_whole ? IS_WHOLE : 0);
	return err;
}

bool target_stacks_get(const struct target_stacks *t, uint32_t id, struct sent_stack *stack)
{
	const uint64_t *value = id_map_find(&t->stacks, id);

	if (value)
		*stack = (struct sent_stack){{(uint32_t)*value}, *value & IS_WHOLE};
	return value != NULL;
}

int target_stacks_set_handed(struct target_stacks *t, uint32_t id, struct owner_stack owner)
{
	uint64_t *value;
	int err = get_value(t, &t->handed, id, &value);

	if (!err)
		*value = owner.number;
	return err;
}

bool target_stacks_get_handed(const struct target_stacks *t, uint32_t id, struct owner_stack *owner)
{
	const uint64_t *value = t->handed.count > 0 ? id_map_find(&t->handed, id) : NULL;

	if (value)
		owner->number = (uint32_t)*value;
	return value != NULL;
}

static void visit(struct id_map *map, const struct id_visitor *v)
{
	uint32_t at = 0, id, number;
	uint64_t value;

	while (id_map_next(map, &at, &id, &value)) {
		number = (uint32_t)value;
		visit_stack_or_mark(v, &number);
		*id_map_find(map, id) = number | (value & IS_WHOLE);
	}
}

void target_stacks_visit(struct target_stacks *t, const struct id_visitor *v)
{
	visit(&t->stacks, v);
	visit(&t->handed, v);
}
