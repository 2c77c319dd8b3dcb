// SPDX-License-Identifier: MIT
#include "profiler/findings/run_steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/findings/step_times.h"
#include "profiler/model/pseudo_frames.h"
#include "symbolize/util/array.h"
#include "symbolize/util/text.h"
#include "symbolize/util/time_sort.h"

#define OUTSIDE UINT32_MAX    /* no range that matches is open */
#define FIRST_LAUNCHES 65536u /* launches that tell whether stacks differ */
#define STEPS_OF_RANGE 2u     /* steps by launches that make ranges hold several */

/* ---- repeated launches ---- */

/* Details that tell launches apart when steps are looked for. */
enum token_detail { BY_STACK, BY_KERNEL, BY_WAIT, TOKEN_DETAILS };

/* Numbers launches that are alike in this detail. Returns NULL if out of memory. */
static uint32_t *number_tokens(const struct launch_schedule *launches, enum token_detail detail)
{
	RECORD_SET(struct schedule_token) all = {.count = 0};
	uint32_t *numbers = malloc((launches->tokens.count + (size_t)1) * sizeof(*numbers));

	for (uint32_t i = 0; numbers && i < launches->tokens.count; i++) {
		struct schedule_token token = launches->tokens.list[i];

		token.range = 0;
		if (detail < BY_KERNEL)
			token.frame = SCHEDULE_NO_FRAME;
		if (detail < BY_WAIT)
			token.is_waited = 0;
		numbers[i] = record_get(&all, &token, &token);
		if (numbers[i] == RECORD_NONE) {
			free(numbers);
			numbers = NULL;
		}
	}
	record_set_release(&all.set);
	return numbers;
}

/* From the first launch of a thread to its last. */
struct thread_span {
	uint64_t first_ns, last_ns;
};

/* Launches in which steps are looked for. Both arrays have an entry for each thread. */
struct repeated {
	const struct launch_schedule *launches;
	const struct step_launch *list;
	uint64_t count;
	uint32_t *process_of;
	struct thread_span *spans;
};

/* Reads the threads' processes and spans. Returns 0 or -ENOMEM. */
static int repeated_read_threads(struct repeated *r)
{
	uint32_t count = r->launches->threads.count;

	r->process_of = malloc((count + (size_t)1) * sizeof(*r->process_of));
	r->spans = malloc((count + (size_t)1) * sizeof(*r->spans));
	if (!r->process_of || !r->spans)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		r->process_of[i] = r->launches->threads.list[i].process;
		r->spans[i] = (struct thread_span){.first_ns = UINT64_MAX};
	}
	for (uint64_t i = 0; i < r->count; i++) {
		struct thread_span *span = &r->spans[r->list[i].thread];

		if (span->first_ns == UINT64_MAX)
			span->first_ns = r->list[i].start_ns;
		span->last_ns = r->list[i].start_ns;
	}
	return 0;
}

static void repeated_release(struct repeated *r)
{
	free(r->process_of);
	free(r->spans);
}

/*
 * Returns whether the threads of steps have less than half of the launches, and launch in less than
 * half of the time: one of many short threads tells nothing of the run, nor does a compiler that
 * tries kernels. Steps themselves may be short, beside seconds of such attempts.
 */
static bool is_small_part(const struct repeated *r, const struct step_series *s)
{
	uint64_t all_ns = r->list[r->count - 1].start_ns - r->list[0].start_ns;
	const struct thread_span *span = &r->spans[s->thread];

	return s->of < r->count / 2 && span->last_ns - span->first_ns < all_ns / 2;
}

/*
 * Puts the main series first: by how long it lasts, its steps and its launches. Autotuning may
 * launch more, for a short time, and a thread may do little for a long time. Releases the list if
 * each series is a small part of the run.
 */
static void find_main_series(struct step_list *steps, const struct repeated *r)
{
	struct step_series first;
	double most = -1;
	uint32_t at = 0;

	for (uint32_t i = 0; i < steps->count; i++) {
		const struct step_series *s = &steps->list[i];
		double ns = (double)(s->starts_ns[s->count] - s->starts_ns[0]);
		double weight = ns * s->count * ns * s->count * (double)s->launches;

		if (weight <= most || is_small_part(r, s))
			continue;
		most = weight;
		at = i;
	}
	if (most < 0) {
		step_list_release(steps);
		return;
	}
	if (at == 0)
		return;
	first = steps->list[at];
	memmove(&steps->list[1], &steps->list[0], at * sizeof(*steps->list));
	steps->list[0] = first;
}

/* Returns whether all launches are from one stack, so that it tells nothing of steps. */
static bool are_of_one_stack(const struct launch_schedule *launches)
{
	for (uint32_t i = 1; i < launches->tokens.count; i++)
		if (launches->tokens.list[i].stack != launches->tokens.list[0].stack)
			return false;
	return launches->tokens.count > 0;
}

/* Finds the steps of launches that are alike in this detail. Returns 0 or -ENOMEM. */
static int find_steps_by(struct step_list *steps, const struct repeated *r,
			 enum token_detail detail)
{
	uint32_t *numbers = number_tokens(r->launches, detail);
	int err = -ENOMEM;

	*steps = (struct step_list){.count = 0};
	if (numbers)
		err = steps_find(r->list, r->count, numbers, r->process_of,
				 r->launches->threads.count, steps);
	free(numbers);
	find_main_series(steps, r);
	return err;
}

/* Returns whether the main steps have several launches each. */
static bool has_structure(const struct step_list *steps)
{
	return steps->count && steps->list[0].launches >= 2 * (uint64_t)steps->list[0].count;
}

/*
 * Finds steps in details `from` to `to`: those of the least detail in which they have several
 * launches each. Sets `single` to the first detail whose steps have one launch, unless it is set.
 * Such steps are not kept: they may take as much memory as the launches.
 */
static int find_structure(const struct repeated *r, enum token_detail from, enum token_detail to,
			  enum token_detail *single, struct step_list *steps)
{
	int err = 0;

	for (int detail = (int)from; detail <= (int)to && !err && !steps->count; detail++) {
		bool is_single = detail == BY_STACK && are_of_one_stack(r->launches);

		if (!is_single)
			err = find_steps_by(steps, r, (enum token_detail)detail);
		if (err || (!is_single && !steps->count) || has_structure(steps))
			continue;
		if (*single == TOKEN_DETAILS)
			*single = (enum token_detail)detail;
		step_list_release(steps);
	}
	return err;
}

/*
 * Finds steps as find_structure does. If there are none in the last detail either, finds those of
 * one launch. Returns 0 or -ENOMEM.
 */
static int find_repeated(const struct launch_schedule *launches, const struct step_launch *list,
			 uint64_t count, enum token_detail from, enum token_detail to,
			 enum token_detail *single, struct step_list *steps)
{
	struct repeated r = {.launches = launches, .list = list, .count = count};
	int err = repeated_read_threads(&r);

	if (!err)
		err = find_structure(&r, from, to, single, steps);
	if (!err && !steps->count && to == BY_WAIT && *single != TOKEN_DETAILS)
		err = find_steps_by(steps, &r, *single);
	repeated_release(&r);
	return err;
}

/* Returns whether the first launches of a run are from one stack. */
static bool begins_with_one_stack(const struct result *result)
{
	struct timeline_reader *reader = timeline_reader_new(result->timeline);
	const struct timeline_record *record;
	uint32_t launches = 0, first = RESULT_ROOT;
	bool is_one = true;

	while (reader && is_one && launches < FIRST_LAUNCHES &&
	       timeline_reader_next(reader, &record) == 1) {
		uint32_t stack = result_record_stack(result, record);

		if (record->kind != TIMELINE_LAUNCH)
			continue;
		first = launches++ ? first : stack;
		is_one = stack == first;
	}
	timeline_reader_free(reader);
	return is_one && launches == FIRST_LAUNCHES;
}

/*
 * Leaves out allocations. They come and go as a program's caches fill, and would be taken for the
 * begins of steps.
 */
static void leave_out_allocations(struct launch_schedule *launches)
{
	uint64_t kept = 0;

	for (uint64_t i = 0; i < launches->count; i++)
		if (!launches->tokens.list[launches->list[i].token].allocates)
			launches->list[kept++] = launches->list[i];
	launches->count = kept;
}

/* Finds steps of one detail after the other. Kernels are read only if stacks tell too little. */
static int find_by_launches(struct run_steps *steps, const struct result *result)
{
	enum token_detail single = TOKEN_DETAILS;
	struct launch_schedule launches;
	uint64_t count = 0;
	int err = 0;

	/* one reading of all is enough where stacks will not tell steps */
	bool reads_once = begins_with_one_stack(result);

	for (int by_work = reads_once; by_work < 2 && !err && !steps->steps.count; by_work++) {
		err = launch_schedule_read(&launches, result, NULL, by_work);
		if (err)
			break;
		leave_out_allocations(&launches);
		err = find_repeated(&launches, launches.list, launches.count,
				    by_work && !reads_once ? BY_KERNEL : BY_STACK,
				    by_work ? BY_WAIT : BY_STACK, &single, &steps->steps);
		count = launches.count;
		if (!err && steps->steps.count)
			steps->thread = launches.threads.list[steps->steps.list[0].thread];
		launch_schedule_release(&launches);
	}
	if (!err && !steps->steps.count)
		steps->none = count < STEPS_MIN
				      ? "there are too few launches"
				      : "no sequence of launches repeats, at steady intervals, "
					"over most of the run";
	return err;
}

/* ---- ranges ---- */

/* Launches of one thread in ranges of the name. */
struct range_reading {
	const struct launch_schedule *launches;
	uint32_t thread; /* thread with most launches in ranges */
	struct step_launch *inside;
	uint64_t inside_count;
	uint64_t *starts_ns; /* begins of ranges, later of steps, in order of time */
	uint32_t count, capacity;
	uint32_t names; /* different names of ranges */
};

/*
 * Finds the outermost range of each stack whose name matches: its frame, or OUTSIDE. Returns NULL
 * if out of memory.
 */
static uint32_t *find_ranges(const struct result *result, const struct slice_match *name)
{
	uint32_t *ranges = malloc((result->stack_count + (size_t)1) * sizeof(*ranges));

	if (!ranges)
		return NULL;
	ranges[RESULT_ROOT] = OUTSIDE;
	for (uint32_t i = RESULT_ROOT + 1; i < result->stack_count; i++) {
		const struct stack_info *s = &result->stacks[i];
		const struct frame_info *frame = &result->frames[s->frame];
		const char *text = frame->name;

		ranges[i] = ranges[s->outer];
		if (ranges[i] != OUTSIDE || frame->class != CLASS_NVTX ||
		    !starts_with(text, PSEUDO_RANGE)) /* a capture may have any text */
			continue;
		text += strlen(PSEUDO_RANGE);
		if (regexec(&name->pattern, text, 0, NULL, 0) == 0)
			ranges[i] = s->frame;
	}
	return ranges;
}

static uint32_t range_at(const struct range_reading *r, const struct step_launch *launch)
{
	return r->launches->tokens.list[launch->token].range;
}

/* Chooses the thread with most launches in ranges. Returns 0, -ENOMEM, or -ENOENT: no launch is. */
static int choose_thread(struct range_reading *r)
{
	const struct launch_schedule *l = r->launches;
	uint64_t *counts = calloc(l->threads.count + (size_t)1, sizeof(*counts));

	if (!counts)
		return -ENOMEM;
	for (uint64_t i = 0; i < l->count; i++) {
		uint32_t thread = l->list[i].thread;

		if (range_at(r, &l->list[i]) != OUTSIDE && ++counts[thread] > r->inside_count) {
			r->inside_count = counts[thread];
			r->thread = thread;
		}
	}
	free(counts);
	return r->inside_count ? 0 : -ENOENT;
}

static int add_start(struct range_reading *r, uint64_t ns)
{
	if (!array_make_room(&r->starts_ns, r->count, &r->capacity, sizeof(*r->starts_ns)))
		return -ENOMEM;
	r->starts_ns[r->count++] = ns;
	return 0;
}

/* Lists the thread's launches in ranges, and the begins of ranges. Returns 0 or -ENOMEM. */
static int list_inside(struct range_reading *r, uint32_t frame_count)
{
	bool *is_known = calloc(frame_count + (size_t)1, sizeof(*is_known));
	uint32_t open = OUTSIDE;
	uint64_t count = 0;
	int err = 0;

	r->inside = malloc(r->inside_count * sizeof(*r->inside));
	for (uint64_t i = 0; r->inside && is_known && !err && i < r->launches->count; i++) {
		const struct step_launch *launch = &r->launches->list[i];
		uint32_t range = range_at(r, launch);

		if (launch->thread != r->thread)
			continue;
		if (range != OUTSIDE) {
			if (range != open)
				err = add_start(r, launch->start_ns);
			r->names += !is_known[range];
			is_known[range] = true;
			r->inside[count++] = *launch;
		}
		open = range;
	}
	if (!r->inside || !is_known)
		err = -ENOMEM;
	free(is_known);
	return err;
}

/*
 * Finds steps that repeat in ranges, by the order of launches alone: the user says that there are
 * steps, so their times may differ. Times of `found` are indexes of `inside`. Returns 0 or -ENOMEM.
 */
static int find_inside(const struct range_reading *r, struct step_list *found)
{
	struct step_launch *list = malloc(r->inside_count * sizeof(*list));
	enum token_detail single = TOKEN_DETAILS;
	int err;

	if (!list)
		return -ENOMEM;
	for (uint64_t i = 0; i < r->inside_count; i++) {
		list[i] = r->inside[i];
		list[i].start_ns = i;
	}
	err = find_repeated(r->launches, list, r->inside_count, BY_STACK, BY_WAIT, &single, found);
	free(list);
	return err;
}

/*
 * Returns whether a launch in ranges is from the stack that the first range begins with. Kernels
 * are not compared: that of the first launch may be unknown.
 */
static bool is_first_work(const struct range_reading *r, uint64_t at)
{
	const struct schedule_token *tokens = r->launches->tokens.list;

	return tokens[r->inside[at].token].stack == tokens[r->inside[0].token].stack;
}

static uint64_t count_first_work(const struct range_reading *r, uint64_t from, uint64_t to)
{
	uint64_t count = 0;

	for (uint64_t i = from; i < to; i++)
		count += is_first_work(r, i);
	return count;
}

/*
 * Adds the begins of steps that repeat in ranges. `found` has indexes of `inside`. Repetition does
 * not tell where a cycle begins, but the first range does: each begin is moved back to the work
 * that this range begins with. Then the last cycles may lack begins. Returns 0 or -ENOMEM.
 */
static int add_repeated(struct range_reading *r, const struct step_series *found)
{
	const uint64_t *starts = found->starts_ns;
	uint64_t all = count_first_work(r, starts[0], starts[found->count]);
	uint64_t in_step = (all + found->count / 2) / found->count;
	uint64_t back = in_step ? count_first_work(r, 0, starts[0]) % in_step : 0, at = 0;
	uint64_t passed = 0;
	int err = 0;

	if (in_step && !back && !is_first_work(r, starts[0]))
		back = in_step;
	for (uint32_t i = 0; i < found->count && !err; i++) {
		at = starts[i];
		for (passed = 0; at > 0 && passed < back;)
			passed += is_first_work(r, --at);
		err = add_start(r, r->inside[at].start_ns);
	}
	passed = 0;
	for (; in_step && at < r->inside_count && !err; at++) {
		if (!is_first_work(r, at) || passed++ < in_step)
			continue;
		err = add_start(r, r->inside[at].start_ns);
		passed = 1;
	}
	return err;
}

/* Splits ranges at steps that repeat inside, if ranges hold several. Returns 0 or -ENOMEM. */
static int split_ranges(struct range_reading *r)
{
	struct step_list found = {.count = 0};
	uint32_t ranges = r->count, kept = 0;
	int err = 0;

	if (ranges > 1 && r->names == ranges)
		return 0; /* each range has a name of its own: "step 12" */
	err = find_inside(r, &found);
	if (err)
		return err;
	if (found.count && found.list[0].count / STEPS_OF_RANGE >= ranges)
		err = add_repeated(r, &found.list[0]);
	step_list_release(&found);
	time_sort(r->starts_ns, r->count, sizeof(*r->starts_ns));
	for (uint32_t i = 0; i < r->count; i++)
		if (!kept || r->starts_ns[i] != r->starts_ns[kept - 1])
			r->starts_ns[kept++] = r->starts_ns[i];
	r->count = kept;
	return err;
}

/* Makes a series of the begins of steps. Returns 0 or -ENOMEM. */
static int make_series(struct range_reading *r, struct step_list *steps)
{
	const struct launch_schedule *l = r->launches;
	uint32_t process = l->threads.list[r->thread].process;
	struct step_series *s = calloc(1, sizeof(*s));
	int err = s ? add_start(r, r->inside[r->inside_count - 1].start_ns + 1) : -ENOMEM;

	if (err) {
		free(s);
		return err;
	}
	*s = (struct step_series){.thread = r->thread,
				  .count = r->count - 1,
				  .starts_ns = r->starts_ns,
				  .warm_up = step_times_warm_up(r->starts_ns, r->count - 1)};
	for (uint64_t i = 0; i < l->count; i++) {
		bool is_of = l->threads.list[l->list[i].thread].process == process;

		s->of += is_of;
		s->launches += is_of && l->list[i].start_ns >= s->starts_ns[0] &&
			       l->list[i].start_ns < s->starts_ns[s->count];
	}
	r->starts_ns = NULL;
	*steps = (struct step_list){.list = s, .count = 1};
	return 0;
}

/* Finds the steps by ranges. Returns 0 or -ENOMEM. */
static int find_in_ranges(const struct launch_schedule *launches, uint32_t frame_count,
			  struct run_steps *steps)
{
	struct range_reading r = {.launches = launches};
	int err = choose_thread(&r);

	if (err == -ENOENT) {
		steps->none = "no launch is in an NVTX range whose name matches";
		return 0;
	}
	if (!err)
		err = list_inside(&r, frame_count);
	if (!err)
		err = split_ranges(&r);
	if (!err)
		err = make_series(&r, &steps->steps);
	free(r.inside);
	free(r.starts_ns);
	return err;
}

/* ---- for callers ---- */

int run_steps_find(struct run_steps *steps, const struct result *result,
		   const struct slice_match *name)
{
	struct launch_schedule launches;
	uint32_t *ranges;
	int err;

	*steps = (struct run_steps){.none = NULL};
	if (!name->text) {
		err = find_by_launches(steps, result);
		if (err)
			run_steps_release(steps);
		return err;
	}
	ranges = find_ranges(result, name);
	if (!ranges)
		return -ENOMEM;
	err = launch_schedule_read(&launches, result, ranges, true);
	free(ranges);
	if (err)
		return err;
	err = find_in_ranges(&launches, result->frame_count, steps);
	if (!err && steps->steps.count)
		steps->thread = launches.threads.list[steps->steps.list[0].thread];
	launch_schedule_release(&launches);
	return err;
}

void run_steps_release(struct run_steps *steps)
{
	step_list_release(&steps->steps);
	*steps = (struct run_steps){.none = NULL};
}
