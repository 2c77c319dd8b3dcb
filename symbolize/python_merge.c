// SPDX-License-Identifier: MIT
#include "symbolize/python_merge.h"

#include <string.h>

struct merge {
	const struct python_merge_input *in;
	struct python_merged *out;
	uint32_t count, max;
	uint32_t next;   /* the next Python frame */
	uint32_t behind; /* entries of `out` up to the last Python frame; 0: none yet */
};

static void append(struct merge *m, bool is_python, uint32_t index)
{
	if (m->count < m->max)
		m->out[m->count++] = (struct python_merged){is_python, index};
}

/* Drops the interpreter's frames since the last Python frame: they turned out to be between two. */
static void drop_between(struct merge *m)
{
	uint32_t kept = m->behind;

	if (m->behind == 0 || m->in->keeps_native)
		return;
	for (uint32_t i = m->behind; i < m->count; i++)
		if (m->in->natives[m->out[i].index] == PYTHON_NATIVE_OTHER)
			m->out[kept++] = m->out[i];
	m->count = kept;
}

/* Appends the Python frames of `loops` loops, or all that are left. */
static void append_python(struct merge *m, uint32_t loops)
{
	const struct python_stack *python = m->in->python;

	drop_between(m);
	while (m->next < python->count && loops > 0) {
		loops -= python->frames[m->next].is_entry;
		append(m, true, m->next++);
	}
	m->behind = m->count;
}

static uint32_t count_loops(const struct python_merge_input *in)
{
	uint32_t loops = 0;

	for (uint32_t i = 0; i < in->native_count; i++)
		loops += in->natives[i] == PYTHON_NATIVE_LOOP;
	return loops;
}

/* Counts loop entries; the outermost frames count as one even if their entry is not marked. */
static uint32_t count_entries(const struct python_stack *python)
{
	uint32_t entries = 0;

	for (uint32_t i = 0; i < python->count; i++)
		entries += python->frames[i].is_entry || i + 1 == python->count;
	return entries;
}

uint32_t python_merge(const struct python_merge_input *in, struct python_merged *out, uint32_t max)
{
	struct merge m = {.in = in, .out = out, .max = max};
	uint32_t loops = count_loops(in), entries = count_entries(in->python), spare = 0, extra = 0;

	if (in->native_is_whole && in->python->is_whole) {
		spare = loops > entries ? loops - entries : 0;
		extra = loops < entries ? entries - loops : 0;
	}
	for (uint32_t i = 0; i < in->native_count; i++) {
		bool is_loop = in->natives[i] == PYTHON_NATIVE_LOOP;
		bool replaced = is_loop && spare == 0 && m.next < in->python->count;

		if (replaced) {
			append_python(&m, 1 + extra);
			extra = 0;
		}
		if (!replaced || in->keeps_native)
			append(&m, false, i);
		if (replaced)
			m.behind = m.count;
		if (is_loop && spare > 0)
			spare--;
	}
	if (m.next < in->python->count)
		append_python(&m, UINT32_MAX);
	return m.count;
}
