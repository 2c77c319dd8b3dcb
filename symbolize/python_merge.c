// SPDX-License-Identifier: MIT
#include "symbolize/python_merge.h"

#define NOWHERE UINT32_MAX

/* Python frames that one loop evaluates, up to its entry. */
struct group {
	uint32_t end;    /* first frame behind the group */
	uint32_t native; /* native frame of the loop; NOWHERE: unknown */
};

struct merge {
	const struct python_merge_input *in;
	struct python_merged *out;
	uint32_t count, max;
	uint32_t next;   /* next Python frame */
	uint32_t behind; /* entries of `out` up to the last Python frame; 0: none yet */
	bool is_ordered;
	uint32_t group_count;
	struct group groups[PYTHON_FRAMES_MAX];
};

static uint8_t kind_of(const struct merge *m, uint32_t native)
{
	return m->in->natives[native];
}

static void divide(struct merge *m)
{
	const struct python_stack *python = m->in->python;

	for (uint32_t i = 0; i < python->count; i++)
		if (python->frames[i].is_entry || i + 1 == python->count)
			m->groups[m->group_count++] = (struct group){i + 1, NOWHERE};
}

static uint64_t anchor_of(const struct merge *m, uint32_t group)
{
	return m->in->python->frames[m->groups[group].end - 1].anchor;
}

/* ---- loops by their addresses ---- */

/*
 * Returns whether the frame contains this address; the end of the last frame is unknown. A frame of
 * another module may reach up to a caller further out than its own: code without call-frame
 * information, a JIT's, was left by a frame pointer that is not its own.
 */
static bool has_address(const struct merge *m, uint32_t native, uint64_t address)
{
	const uint64_t *sps = m->in->sps;

	if (address < sps[native])
		return false;
	if (native + 1 == m->in->native_count)
		return kind_of(m, native) == PYTHON_NATIVE_LOOP;
	return address < sps[native + 1];
}

static uint64_t highest_address(const struct merge *m)
{
	uint64_t highest = 0;

	for (uint32_t i = 0; i < m->in->native_count; i++)
		if (m->in->sps[i] > highest)
			highest = m->in->sps[i];
	return highest;
}

static bool is_on_stack(const struct merge *m, uint64_t address)
{
	return m->in->native_count && address >= m->in->sps[0] && address < highest_address(m);
}

static void pair_by_address(struct merge *m)
{
	uint32_t from = 0, i;

	for (uint32_t g = 0; g < m->group_count; g++) {
		uint64_t address = anchor_of(m, g);

		for (i = from; i < m->in->native_count; i++)
			if (address ? has_address(m, i, address)
				    : kind_of(m, i) == PYTHON_NATIVE_LOOP)
				break;
		if (i == m->in->native_count)
			continue;
		m->groups[g].native = i;
		from = i + (kind_of(m, i) != PYTHON_NATIVE_OTHER);
	}
}

/* ---- loops by their number ---- */

static uint32_t count_loops(const struct merge *m)
{
	uint32_t loops = 0;

	for (uint32_t i = 0; i < m->in->native_count; i++)
		loops += kind_of(m, i) == PYTHON_NATIVE_LOOP;
	return loops;
}

static void pair_by_number(struct merge *m)
{
	bool is_whole = m->in->native_is_whole && m->in->python->is_whole;
	uint32_t loops = count_loops(m), spare = 0, group = 0;

	if (is_whole && loops != m->group_count)
		m->is_ordered = false;
	if (is_whole && loops == m->group_count + 1 && kind_of(m, 0) == PYTHON_NATIVE_LOOP)
		spare = 1;
	/* the innermost loop takes frames without a loop */
	if (is_whole && loops && loops < m->group_count)
		group = m->group_count - loops;
	for (uint32_t i = 0; i < m->in->native_count && group < m->group_count; i++) {
		if (kind_of(m, i) != PYTHON_NATIVE_LOOP)
			continue;
		if (spare > 0)
			spare--;
		else
			m->groups[group++].native = i;
	}
}

static void pair(struct merge *m)
{
	if (m->in->sps && anchor_of(m, 0))
		pair_by_address(m);
	else
		pair_by_number(m);
}

/* ---- Python frames without a loop ---- */

/*
 * Returns the first frame of the interpreter that another module called; otherwise the outermost
 * frame.
 */
static uint32_t find_beginning(const struct merge *m)
{
	uint32_t i = m->in->native_count;

	while (i > 0 && kind_of(m, i - 1) != PYTHON_NATIVE_OTHER)
		i--; /* entry of an executable */
	while (i > 0 && kind_of(m, i - 1) == PYTHON_NATIVE_OTHER)
		i--;
	return i > 0 ? i - 1 : m->in->native_count - 1;
}

/*
 * Places the frames behind the last pair; those that stay NOWHERE become the outermost. Returns the
 * number of groups up to the last pair.
 */
static uint32_t place_rest(struct merge *m)
{
	uint32_t paired = m->group_count, beginning;

	while (paired > 0 && m->groups[paired - 1].native == NOWHERE)
		paired--;
	for (uint32_t g = 0; g < paired; g++)
		if (m->groups[g].native == NOWHERE)
			m->is_ordered = false;
	if (paired == m->group_count || !m->in->native_is_whole || m->in->native_count == 0)
		return paired;
	m->is_ordered = false;
	if (m->in->sps && anchor_of(m, paired) && !is_on_stack(m, anchor_of(m, paired)))
		return paired;
	beginning = find_beginning(m);
	if (paired > 0 && beginning <= m->groups[paired - 1].native)
		beginning = m->groups[paired - 1].native + 1;
	if (beginning < m->in->native_count)
		m->groups[m->group_count - 1].native = beginning;
	return paired;
}

/* ---- output ---- */

static void append(struct merge *m, bool is_python, uint32_t index)
{
	if (!is_python && kind_of(m, index) == PYTHON_NATIVE_TRAMPOLINE && !m->in->keeps_native)
		return;
	if (m->count < m->max)
		m->out[m->count++] = (struct python_merged){is_python, index};
}

/* Drops the interpreter's frames since the last Python frame: they are between two. */
static void drop_between(struct merge *m)
{
	uint32_t kept = m->behind;

	if (m->behind == 0 || m->in->keeps_native)
		return;
	for (uint32_t i = m->behind; i < m->count; i++)
		if (kind_of(m, m->out[i].index) == PYTHON_NATIVE_OTHER)
			m->out[kept++] = m->out[i];
	m->count = kept;
}

/* Drops the function in which the loop at `native` runs an instruction. */
static void drop_handler(struct merge *m, uint32_t native)
{
	if (!m->in->has_handlers || m->in->keeps_native || m->count == m->behind ||
	    kind_of(m, native) != PYTHON_NATIVE_LOOP)
		return;
	if (m->out[m->count - 1].index + 1 == native &&
	    kind_of(m, native - 1) == PYTHON_NATIVE_INTERPRETER)
		m->count--;
}

static void append_python(struct merge *m, uint32_t end)
{
	drop_between(m);
	while (m->next < end)
		append(m, true, m->next++);
	m->behind = m->count;
}

static void append_loop(struct merge *m, uint32_t native, uint32_t python_end)
{
	drop_handler(m, native);
	append_python(m, python_end);
	if (m->in->keeps_native)
		append(m, false, native);
}

/* Returns the next group from `g` on that has a native frame; group_count if there is none. */
static uint32_t next_placed(const struct merge *m, uint32_t g)
{
	while (g < m->group_count && m->groups[g].native == NOWHERE)
		g++;
	return g;
}

/*
 * Writes the merged stack. `paired` groups have a loop; one more may have a native frame to be
 * inside of.
 */
static void emit(struct merge *m, uint32_t paired)
{
	uint32_t g = next_placed(m, 0);

	for (uint32_t i = 0; i < m->in->native_count; i++) {
		bool is_here = g < m->group_count && m->groups[g].native == i;

		if (is_here && g < paired && kind_of(m, i) != PYTHON_NATIVE_OTHER) {
			append_loop(m, i, m->groups[g].end);
			g = next_placed(m, g + 1);
			continue;
		}
		if (is_here && g >= paired)
			append_python(m, m->groups[g++].end);
		append(m, false, i);
		while (g < paired && m->groups[g].native == i) {
			append_python(m, m->groups[g].end);
			g = next_placed(m, g + 1);
		}
	}
	if (m->next < m->in->python->count)
		append_python(m, m->in->python->count);
}

uint32_t python_merge(const struct python_merge_input *in, struct python_merged *out, uint32_t max,
		      bool *is_ordered)
{
	struct merge m; /* large: only used members are set */
	uint32_t paired = 0;

	m.in = in;
	m.out = out;
	m.max = max;
	m.count = m.next = m.behind = m.group_count = 0;
	m.is_ordered = true;
	divide(&m);
	if (m.group_count > 0) {
		pair(&m);
		paired = place_rest(&m);
	}
	emit(&m, paired);
	*is_ordered = m.is_ordered;
	return m.count;
}
