// SPDX-License-Identifier: MIT
#include "profiler/formats/query_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/model/quantity.h"
#include "profiler/model/work_names.h"
#include "profiler/tables/hot_spots.h"
#include "symbolize/util/record_set.h"
#include "symbolize/util/saturate.h"
#include "symbolize/util/sorted.h"
#include "symbolize/util/text.h"

#define FRAMES_SEEN_MAX 256u /* the innermost frames of a stack */
#define FRAMES_BEST 16u
#define FRAMES_MAX 24u
#define FRAME_BYTES 100u   /* bytes of a frame's name */
#define FRAMES_BYTES 1500u /* bytes of all names of a stack */
#define PATTERN_BYTES 160u /* bytes of a name in a pattern */

/* ---- names on a command line ---- */

bool query_is_plain(const char *name)
{
	char copy[ANSWER_TEXT_BYTES + 1];
	size_t length = fit_utf8(name, ANSWER_TEXT_BYTES);

	if (name[length] || length == 0)
		return false;
	memcpy(copy, name, length + 1);
	clean_text(copy);
	return strcmp(copy, name) == 0;
}

char *query_pattern(const char *name)
{
	size_t length = fit_utf8(name, PATTERN_BYTES), used = 0;
	char start[PATTERN_BYTES + 1], *pattern = malloc(2 * PATTERN_BYTES + 3);

	memcpy(start, name, length);
	start[length] = '\0';
	if (!pattern || !query_is_plain(start)) {
		free(pattern);
		return NULL;
	}
	pattern[used++] = '^';
	for (const char *at = start; *at; at++) {
		if (strchr("\\^$.[]|()*+?{}", *at))
			pattern[used++] = '\\';
		pattern[used++] = *at;
	}
	if (!name[length])
		pattern[used++] = '$';
	pattern[used] = '\0';
	return pattern;
}

/* ---- kernels by name ---- */

enum name_match { MATCH_NUMBER, MATCH_NAME, MATCH_START, MATCH_PART, MATCHES_OF_NAMES };

static const char *const match_words[MATCHES_OF_NAMES] = {[MATCH_NUMBER] = "number",
							  [MATCH_NAME] = "name",
							  [MATCH_START] = "start",
							  [MATCH_PART] = "part"};

struct kernel_name {
	const char *text;
	enum name_match match;
	const struct frame_info *frame; /* with MATCH_NUMBER and MATCH_START: the one kernel */
};

/* Returns the kernel's name without "[GPU_Kernel]" before it. */
static const char *bare_name(const struct frame_info *frame)
{
	const char *prefix = work_frame(GPU_WORK_KERNEL);

	return starts_with(frame->name, prefix) ? frame->name + strlen(prefix) : frame->name;
}

static bool is_match(const struct kernel_name *k, const struct frame_info *frame)
{
	switch (k->match) {
	case MATCH_NUMBER:
	case MATCH_START:
		return k->frame && strcmp(frame->name, k->frame->name) == 0;
	case MATCH_NAME:
		return strcmp(frame->name, k->text) == 0 ||
		       strcmp(bare_name(frame), k->text) == 0 ||
		       strcmp(frame->short_name, k->text) == 0;
	default:
		return strstr(frame->name, k->text) || strstr(frame->short_name, k->text);
	}
}

static bool begins_with(const struct frame_info *frame, const char *text)
{
	return starts_with(frame->name, text) || starts_with(bare_name(frame), text) ||
	       starts_with(frame->short_name, text);
}

/* Returns N of "#N", or 0 for another text. */
static uint32_t number_of(const char *text)
{
	uint32_t number = 0;

	if (text[0] != '#' || !text[1] || strlen(text) > 9)
		return 0;
	for (const char *at = text + 1; *at; at++) {
		if (*at < '0' || *at > '9')
			return 0;
		number = number * 10 + (uint32_t)(*at - '0');
	}
	return number;
}

/* Finds what a text means: a number, a name, the start of one kernel's name, or a part of names. */
static struct kernel_name find_kernel(const struct hot_spot_table *kernels, const char *text)
{
	struct kernel_name k = {.text = text, .match = MATCH_NAME};
	uint32_t starts = 0, number = number_of(text);

	if (number) {
		k.match = MATCH_NUMBER;
		k.frame = number <= kernels->count ? kernels->list[number - 1].frame : NULL;
		return k;
	}
	for (uint32_t i = 0; i < kernels->count; i++) {
		const struct frame_info *frame = kernels->list[i].frame;

		if (is_match(&k, frame))
			return k;
		if (begins_with(frame, text) && starts++ == 0)
			k.frame = frame;
	}
	k.match = starts == 1 ? MATCH_START : MATCH_PART;
	return k;
}

/* ---- their stacks ---- */

struct launch_stack {
	uint32_t stack;
	uint32_t unused;
	uint64_t count, ns;
};

struct launch_stacks {
	RECORD_SET(struct launch_stack);
	uint64_t calls, ns; /* sums of all stacks */
};

static int by_time(const void *a, const void *b)
{
	const struct launch_stack *x = a, *y = b;
	int order = compare_numbers(y->ns, x->ns);

	return order ? order : compare_numbers(x->stack, y->stack);
}

/* Adds up the rows of the kernel by stack. Returns 0 or -ENOMEM. */
static int gather(struct launch_stacks *stacks, const struct result *r, const struct kernel_name *k)
{
	for (uint32_t i = 0; i < r->row_count; i++) {
		const struct row *row = &r->rows[i];
		uint32_t stack = result_work_stack(r, row->stack), at;
		const struct frame_info *frame =
			stack == RESULT_ROOT ? NULL : &r->frames[r->stacks[stack].frame];

		if (row->kind != ROW_GPU || !frame || frame->class != CLASS_GPU_KERNEL ||
		    !is_match(k, frame))
			continue;
		at = record_get(stacks, &stack, &((struct launch_stack){.stack = stack}));
		if (at == RECORD_NONE)
			return -ENOMEM;
		saturated_add(&stacks->list[at].count, row->count);
		saturated_add(&stacks->list[at].ns, row->ns);
		saturated_add(&stacks->calls, row->count);
		saturated_add(&stacks->ns, row->ns);
	}
	if (stacks->count)
		qsort(stacks->list, stacks->count, sizeof(*stacks->list), by_time);
	return 0;
}

/* A frame of a stack, and how many equal ones follow it outwards. */
struct shown_frame {
	const struct frame_info *frame;
	uint32_t times;
	bool is_chosen;
};

/* Frames of a stack that may be shown, the innermost first. */
struct shown_frames {
	struct shown_frame list[FRAMES_SEEN_MAX];
	uint32_t count, chosen;
	size_t bytes; /* bytes of the chosen names */
	uint32_t beyond;
};

/* Lists the frames that launch, without the kernel. Equal neighbours are one. */
static void list_frames(struct shown_frames *f, const struct result *r, uint32_t stack)
{
	*f = (struct shown_frames){.count = 0};
	for (stack = r->stacks[stack].outer; stack != RESULT_ROOT; stack = r->stacks[stack].outer) {
		const struct frame_info *frame = &r->frames[r->stacks[stack].frame];

		if (f->count && strcmp(f->list[f->count - 1].frame->name, frame->name) == 0)
			f->list[f->count - 1].times++;
		else if (f->count < FRAMES_SEEN_MAX)
			f->list[f->count++] = (struct shown_frame){.frame = frame, .times = 1};
		else
			f->beyond++;
	}
}

/* Returns true for frames that tell most: Python, ranges, operators, layers, calls of CUDA. */
static bool tells_most(const struct frame_info *frame)
{
	return frame->class == CLASS_PYTHON || is_range_class(frame->class) ||
	       frame->class == CLASS_API;
}

/* Chooses frames, the innermost first, as long as there is room. */
static void choose(struct shown_frames *f, bool only_best, uint32_t most)
{
	for (uint32_t i = 0; i < f->count && f->chosen < most; i++) {
		struct shown_frame *e = &f->list[i];
		size_t length = fit_utf8(e->frame->name, FRAME_BYTES);

		if (e->is_chosen || (only_best && !tells_most(e->frame)))
			continue;
		if (f->bytes + length > FRAMES_BYTES)
			return;
		e->is_chosen = true;
		f->bytes += length;
		f->chosen++;
	}
}

static void put_frame(struct answer *a, const struct shown_frame *e)
{
	char text[FRAME_BYTES + 16];

	if (e->times == 1) {
		answer_short_text(a, NULL, e->frame->name, FRAME_BYTES);
		return;
	}
	snprintf(text, sizeof(text), "%.*s x %u", (int)fit_utf8(e->frame->name, FRAME_BYTES),
		 e->frame->name, e->times);
	answer_text(a, NULL, text);
}

/* Tells how many frames are left out at this place. */
static void put_gap(struct json *j, uint32_t frames)
{
	char text[48];

	if (!frames)
		return;
	snprintf(text, sizeof(text), "[%u frame%s left out]", frames, frames == 1 ? "" : "s");
	json_text(j, NULL, text);
}

/* Writes the frames that launch, the outermost first. Leaves out some of a deep stack. */
static void put_frames(struct answer *a, struct json *j, const struct result *r, uint32_t stack)
{
	struct shown_frames f;
	uint32_t left_out;

	list_frames(&f, r, stack);
	choose(&f, true, FRAMES_BEST);
	choose(&f, false, FRAMES_MAX);
	left_out = f.beyond;
	json_open_array(j, "frames");
	for (uint32_t i = f.count; i-- > 0;) {
		if (!f.list[i].is_chosen) {
			left_out += f.list[i].times;
			continue;
		}
		put_gap(j, left_out);
		left_out = 0;
		put_frame(a, &f.list[i]);
	}
	put_gap(j, left_out);
	json_close_array(j);
}

static void put_stacks(struct answer *a, const struct result *r, const struct launch_stacks *stacks)
{
	struct json *j;

	for (uint32_t i = 0; i < stacks->count; i++) {
		const struct launch_stack *e = &stacks->list[i];
		const struct frame_info *kernel = &r->frames[r->stacks[e->stack].frame];
		char *pattern;

		if (!(j = answer_row(a))) {
			answer_leave_out(a, stacks->count - i);
			break;
		}
		answer_text(a, "kernel", kernel->name);
		json_uint(j, "calls", e->count);
		json_uint(j, "ns", e->ns);
		query_put_share(j, e->ns, stacks->ns);
		put_frames(a, j, r, e->stack);
		pattern = query_pattern(kernel->name);
		if (pattern)
			answer_look(a, "--kernel", pattern, false, "kernel.html");
		free(pattern);
		answer_end_row(a);
	}
}

static void say(struct answer *a, const struct launch_stacks *stacks, const struct kernel_name *k)
{
	static const char *const texts[MATCHES_OF_NAMES] = {
		[MATCH_NUMBER] = "The kernel with this number",
		[MATCH_NAME] = "The kernel with this name",
		[MATCH_START] = "The one kernel whose name begins with this",
		[MATCH_PART] = "Kernels with this in their names",
	};
	char time[QUANTITY_BYTES];

	if (stacks->count == 0)
		answer_say(a, "No kernel has this name, or it in its name.");
	else
		answer_say(a, "%s: launched from %u stack%s, %s.", texts[k->match], stacks->count,
			   stacks->count == 1 ? "" : "s", time_text(time, (double)stacks->ns));
}

int query_answer_stack(struct answer *a, const struct query_input *in, const char *argument)
{
	struct hot_spots *d = hot_spots_new(in->result);
	struct launch_stacks stacks = {.calls = 0};
	struct kernel_name k;
	int err;

	if (!d)
		return -ENOMEM;
	k = find_kernel(&d->kernels, argument);
	err = gather(&stacks, in->result, &k);
	if (!err) {
		say(a, &stacks, &k);
		json_text(answer_sums(a), "matched_by", match_words[k.match]);
		json_uint(answer_sums(a), "stacks", stacks.count);
		json_uint(answer_sums(a), "calls", stacks.calls);
		json_uint(answer_sums(a), "ns", stacks.ns);
		put_stacks(a, in->result, &stacks);
	}
	record_set_release(&stacks.set);
	hot_spots_free(d);
	return err;
}
