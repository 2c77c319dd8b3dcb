// SPDX-License-Identifier: MIT
#include "profiler/findings/schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cupti_trace/wire/gpu_work.h"
#include "profiler/model/launch_finder.h"
#include "profiler/shape/rank_waits.h"
#include "profiler/tables/busy.h"
#include "profiler/tables/collectives.h"
#include "symbolize/util/array.h"
#include "symbolize/util/huge_memory.h"
#include "symbolize/util/time_sort.h"

#define NO_THREAD UINT32_MAX
#define NO_DEVICE SCHEDULE_DEVICES_MAX

typedef RECORD_SET(struct schedule_thread) thread_set;

/* Makes room in an array that may have more than 2^32 bytes. Returns 0, -E2BIG or -ENOMEM. */
static int make_room(void *array, uint64_t count, uint64_t *capacity, size_t size)
{
	uint64_t wanted = *capacity ? *capacity + *capacity / 2 : 1024;
	void **list = array, *grown;

	if (count < *capacity)
		return 0;
	if (count >= SCHEDULE_MAX)
		return -E2BIG;
	grown = realloc(*list, wanted * size);
	if (!grown)
		return -ENOMEM;
	*list = grown;
	*capacity = wanted;
	return 0;
}

/*
 * Reserves room for as many entries as a timeline has records. Only what is used becomes memory,
 * in huge pages, without copies. Without such room the array grows as it is filled.
 */
static void reserve(void *array, uint64_t *capacity, const struct result *result, size_t size)
{
	uint64_t records = timeline_stats(result->timeline).records;
	void **list = array;

	if (records > SCHEDULE_MAX)
		records = SCHEDULE_MAX;
	*list = records ? huge_memory(records * size) : NULL;
	*capacity = *list ? records : 0;
}

/* Returns `count` + 1 times RECORD_NONE. NULL if out of memory. */
static uint32_t *no_numbers(uint32_t count)
{
	size_t size = (count + (size_t)1) * sizeof(uint32_t);
	uint32_t *numbers = malloc(size);

	if (numbers)
		memset(numbers, 0xff, size);
	return numbers;
}

/* ---- places ---- */

/* The thread of each place, and the device. Both are looked up once for a place. */
struct place_maps {
	const struct result *result;
	uint32_t *threads; /* by place: number + 1; 0: not looked up yet */
	uint8_t *devices;  /* by place */
};

static const struct place *place_of(const struct result *r, struct place_id id)
{
	return id.number < r->place_count ? &r->places[id.number] : NULL;
}

static bool place_maps_begin(struct place_maps *maps, const struct result *result)
{
	*maps = (struct place_maps){.result = result,
				    .threads = calloc(result->place_count + 1u, sizeof(uint32_t))};
	return maps->threads;
}

static void place_maps_release(struct place_maps *maps)
{
	free(maps->threads);
	free(maps->devices);
}

/* Returns the number of a place's thread, NO_THREAD if out of memory. */
static uint32_t thread_of(struct place_maps *maps, thread_set *threads, struct place_id id)
{
	const struct place *place = place_of(maps->result, id);
	const struct schedule_thread thread = {place ? place->part[PLACE_PROCESS] : PLACE_UNKNOWN,
					       place ? place->part[PLACE_THREAD] : PLACE_UNKNOWN};
	uint32_t at;

	if (place && maps->threads[id.number])
		return maps->threads[id.number] - 1;
	at = record_get(threads, &thread, &thread);
	if (at == RECORD_NONE)
		return NO_THREAD;
	if (place)
		maps->threads[id.number] = at + 1;
	return at;
}

/* ---- launches ---- */

struct launch_reading {
	struct launch_schedule *schedule;
	uint32_t *plain;        /* by stack: the number of the stack without ranges of NVTX */
	uint32_t *tokens;       /* by stack: its token; RECORD_NONE: not looked up yet */
	const uint32_t *ranges; /* by stack; or NULL */
	uint32_t *refined;      /* by frame of the kernel: the token of its latest launch */
	const struct result *result;
	struct place_maps maps;
};

/*
 * Numbers stacks so that those which differ in NVTX ranges alone have one number: ranges are often
 * called after the step. Returns NULL if out of memory.
 */
static uint32_t *plain_stacks(const struct result *r)
{
	struct plain_stack {
		uint32_t outer, frame;
	};
	RECORD_SET(struct plain_stack) all = {.count = 0};
	uint32_t *plain = calloc(r->stack_count + (size_t)1, sizeof(*plain));

	for (uint32_t i = 1; plain && i < r->stack_count; i++) {
		const struct plain_stack stack = {plain[r->stacks[i].outer], r->stacks[i].frame};
		uint32_t at;

		plain[i] = stack.outer;
		if (is_range_class(r->frames[stack.frame].class))
			continue;
		at = record_get(&all, &stack, &stack);
		if (at == RECORD_NONE) {
			free(plain);
			plain = NULL;
			break;
		}
		plain[i] = at + 1;
	}
	record_set_release(&all.set);
	return plain;
}

static uint32_t token_of(struct launch_schedule *s, const struct schedule_token *token)
{
	return record_get(&s->tokens, token, token);
}

/* Takes a record, with the launch of an operation; NULL if that is unknown. */
typedef int (*record_taker)(void *context, const struct timeline_record *record,
			    const struct indexed_launch *launch);

/*
 * Calls `take` for each record, and before that `take_launch`, unless NULL, for each launch.
 * Returns 0, the error of one of them, or that of reading.
 */
static int read_records(const struct result *result, record_taker take, launch_taker take_launch,
			void *context)
{
	struct launch_finder *finder = launch_finder_new(result, take_launch, context);
	const struct timeline_record *record;
	const struct indexed_launch *launch;
	int err = finder ? 0 : -ENOMEM, more = 1;

	while (!err && (more = launch_finder_next(finder, &record, &launch)) == 1)
		err = take(context, record, launch);
	launch_finder_free(finder);
	return err ? err : more < 0 ? more : 0;
}

/* Returns true for a call that allocates or frees memory: "cudaHostAlloc", "cuMemFreeAsync". */
static bool allocates(const struct result *r, uint32_t stack)
{
	const char *name;

	if (stack == RESULT_ROOT) /* has no frame */
		return false;
	name = r->frames[r->stacks[stack].frame].name;
	return strncmp(name, "cu", 2) == 0 && (strstr(name, "lloc") || strstr(name, "Free"));
}

/* Returns the token of a launch whose kernel is not known yet. It is looked up once for a stack. */
static uint32_t launch_token(struct launch_reading *r, uint32_t stack)
{
	if (r->tokens[stack] == RECORD_NONE)
		r->tokens[stack] = token_of(
			r->schedule,
			&(struct schedule_token){.stack = r->plain[stack],
						 .frame = SCHEDULE_NO_FRAME,
						 .range = r->ranges ? r->ranges[stack] : 0,
						 .allocates = allocates(r->result, stack)});
	return r->tokens[stack];
}

/* Adds a launch. Its number is its place among all launches. */
static int add_launch(void *context, const struct timeline_record *record)
{
	struct launch_reading *r = context;
	struct launch_schedule *s = r->schedule;
	uint32_t thread = thread_of(&r->maps, (thread_set *)&s->threads, record->place);
	uint32_t stack = result_record_stack(r->result, record);
	uint32_t token = launch_token(r, stack);
	int err = make_room(&s->list, s->count, &s->capacity, sizeof(*s->list));

	if (!err && (token == RECORD_NONE || thread == NO_THREAD))
		err = -ENOMEM;
	if (!err)
		s->list[s->count++] = (struct step_launch){record->start_ns, token, thread};
	return err;
}

static int add_launches(struct launch_reading *r)
{
	struct timeline_reader *reader = timeline_reader_new(r->result->timeline);
	const struct timeline_record *record;
	int err = reader ? 0 : -errno, more = 1;

	while (!err && (more = timeline_reader_next(reader, &record)) == 1)
		if (record->kind == TIMELINE_LAUNCH)
			err = add_launch(r, record);
	timeline_reader_free(reader);
	return err ? err : more;
}

/* Returns the number of a refined token. That of a kernel's latest launch is likely the next. */
static uint32_t refined_token(struct launch_reading *r, const struct schedule_token *token)
{
	const struct launch_schedule *s = r->schedule;
	uint32_t *latest = &r->refined[token->frame == SCHEDULE_NO_FRAME ? r->result->frame_count
									 : token->frame];

	if (*latest == RECORD_NONE || memcmp(&s->tokens.list[*latest], token, sizeof(*token)) != 0)
		*latest = token_of(r->schedule, token);
	return *latest;
}

/*
 * Tells launches of different kernels from one stack apart, by the first kernel of each, and those
 * that their threads waited for.
 */
static int refine_launch(void *context, const struct timeline_record *record,
			 const struct indexed_launch *launch)
{
	struct launch_reading *r = context;
	struct launch_schedule *s = r->schedule;
	bool is_kernel = record->work == GPU_WORK_KERNEL && !record->graph_node;
	struct schedule_token token;
	uint32_t stack, number;

	if (!launch || launch->number >= s->count || (!record->is_waited && !is_kernel))
		return 0;
	token = s->tokens.list[s->list[launch->number].token];
	stack = result_work_stack(r->result, result_record_stack(r->result, record));
	if (token.frame == SCHEDULE_NO_FRAME && is_kernel && stack != RESULT_ROOT)
		token.frame = r->result->stacks[stack].frame;
	token.is_waited |= record->is_waited;
	number = s->list[launch->number].token;
	if (memcmp(&token, &s->tokens.list[number], sizeof(token)) == 0)
		return 0;
	number = refined_token(r, &token);
	if (number == RECORD_NONE)
		return -ENOMEM;
	s->list[launch->number].token = number;
	return 0;
}

int launch_schedule_read(struct launch_schedule *schedule, const struct result *result,
			 const uint32_t *ranges, bool by_work)
{
	struct launch_reading r = {.schedule = schedule,
				   .result = result,
				   .plain = plain_stacks(result),
				   .ranges = ranges};
	int err = -ENOMEM;

	memset(schedule, 0, sizeof(*schedule));
	r.tokens = no_numbers(result->stack_count);
	r.refined = no_numbers(result->frame_count);
	reserve(&schedule->list, &schedule->capacity, result, sizeof(*schedule->list));
	if (r.plain && r.tokens && r.refined && place_maps_begin(&r.maps, result))
		err = by_work ? read_records(result, refine_launch, add_launch, &r)
			      : add_launches(&r);
	free(r.plain);
	free(r.tokens);
	free(r.refined);
	place_maps_release(&r.maps);
	time_sort(schedule->list, schedule->count, sizeof(*schedule->list));
	if (err)
		launch_schedule_release(schedule);
	return err;
}

void launch_schedule_release(struct launch_schedule *s)
{
	free(s->list);
	record_set_release(&s->threads.set);
	record_set_release(&s->tokens.set);
	memset(s, 0, sizeof(*s));
}

/* ---- operations ---- */

struct operation_reading {
	struct operation_schedule *schedule;
	const struct result *result;
	struct place_maps maps;
	bool *is_nccl;            /* by frame */
	uint32_t *latest;         /* by stack: the site of its latest operation, or RECORD_NONE */
	struct rank_waits *waits; /* NULL unless ranks are merged */
	uint64_t to_ns;           /* the end of the result's time */
	uint64_t taken;           /* records so far, with this one */
};

/* Finds the devices. Equal devices of several processes are one. */
static bool find_devices(struct operation_reading *r)
{
	const struct result *result = r->result;
	struct operation_schedule *s = r->schedule;
	uint32_t *first = busy_devices_of_places(result);

	r->maps.devices = malloc((result->place_count + 1u) * sizeof(*r->maps.devices));
	s->devices = calloc(result->device_count + 1u, sizeof(*s->devices));
	for (uint32_t i = 0; first && r->maps.devices && s->devices && i < result->place_count;
	     i++) {
		uint32_t at = 0;

		r->maps.devices[i] = NO_DEVICE;
		if (first[i] == BUSY_NO_DEVICE)
			continue;
		while (at < s->device_count && s->devices[at] != &result->devices[first[i]])
			at++;
		if (at == s->device_count && at < NO_DEVICE)
			s->devices[s->device_count++] = &result->devices[first[i]];
		r->maps.devices[i] = at < NO_DEVICE ? (uint8_t)at : NO_DEVICE;
	}
	free(first);
	return first && r->maps.devices && s->devices;
}

/* Finds the use of an operation, and its kernel. Returns false if it uses no time of a GPU. */
static bool use_of(const struct operation_reading *r, const struct timeline_record *record,
		   enum work_use *use, uint32_t *frame)
{
	const struct result *result = r->result;
	uint32_t stack;

	*frame = SCHEDULE_NO_FRAME;
	if (gpu_work_is_copy(record->work) || record->work == GPU_WORK_MEMSET ||
	    (gpu_work_has_no_launch(record->work) && record->work != GPU_WORK_DEVICE_GRAPH &&
	     !gpu_work_is_stall(record->work)) ||
	    record->work == GPU_WORK_DECOMPRESS) {
		*use = WORK_COPIES;
		return !gpu_work_is_instant(record->work);
	}
	if (record->work == GPU_WORK_KERNEL) {
		stack = result_work_stack(result, result_record_stack(result, record));
		if (stack != RESULT_ROOT)
			*frame = result->stacks[stack].frame;
		*use = *frame != SCHEDULE_NO_FRAME && r->is_nccl[*frame] ? WORK_COMMUNICATES
									 : WORK_COMPUTES;
		return true;
	}
	*use = WORK_COMPUTES;
	return record->work == GPU_WORK_GRAPH || record->work == GPU_WORK_DEVICE_GRAPH;
}

/* Returns the number of a site. That of a stack's latest operation is likely the next. */
static uint32_t site_number(struct operation_reading *r, const struct schedule_site *site)
{
	struct operation_schedule *s = r->schedule;
	uint32_t *latest = &r->latest[site->stack];

	if (*latest == RECORD_NONE || memcmp(&s->sites.list[*latest], site, sizeof(*site)) != 0)
		*latest = record_get(&s->sites, site, site);
	return *latest;
}

static int set_launch(struct operation_reading *r, const struct indexed_launch *launch,
		      uint32_t frame, struct scheduled_operation *o)
{
	struct operation_schedule *s = r->schedule;
	uint64_t lag_ns, call;
	struct schedule_site site;

	o->site = SCHEDULE_NO_SITE;
	if (!launch) {
		s->without_launch++;
		return 0;
	}
	site = (struct schedule_site){
		thread_of(&r->maps, (thread_set *)&s->threads, (struct place_id){launch->thread}),
		launch->stack, frame};
	if (site.thread != NO_THREAD)
		o->site = site_number(r, &site);
	if (o->site == RECORD_NONE)
		return -ENOMEM;
	lag_ns = o->start_ns - launch->start_ns; /* the finder has checked the order */
	call = launch->call_ns / SCHEDULE_CALL_UNIT;
	o->lag_ns = lag_ns < UINT32_MAX ? (uint32_t)lag_ns : UINT32_MAX;
	o->call = call < UINT16_MAX ? (uint16_t)call : UINT16_MAX;
	return 0;
}

/* Adds `left` ns of an operation, in parts that fit. The last part's end becomes the start. */
static int add_parts(struct operation_schedule *s, struct scheduled_operation *o, uint64_t left)
{
	int err = 0;

	while (!err && left > 0) {
		o->duration_ns = left < UINT32_MAX ? (uint32_t)left : UINT32_MAX;
		left -= o->duration_ns;
		err = make_room(&s->list, s->count, &s->capacity, sizeof(*s->list));
		if (!err)
			s->list[s->count++] = *o;
		o->start_ns += o->duration_ns;
		o->lag_ns = UINT32_MAX; /* the rest follows at once */
	}
	return err;
}

static int add_operation(struct operation_reading *r, const struct timeline_record *record,
			 const struct indexed_launch *launch)
{
	struct operation_schedule *s = r->schedule;
	struct scheduled_operation o = {.start_ns = record->start_ns,
					.is_waited = record->is_waited != 0};
	uint64_t end_ns = timeline_end_ns(record), all_ns, waits_ns;
	enum work_use use;
	uint32_t rank, frame;
	int err;

	if (end_ns > r->to_ns)
		end_ns = r->to_ns;
	all_ns = end_ns > record->start_ns ? end_ns - record->start_ns : 0;
	if (record->place.number >= r->result->place_count || all_ns == 0 ||
	    r->maps.devices[record->place.number] == NO_DEVICE || !use_of(r, record, &use, &frame))
		return 0;
	waits_ns = r->waits ? rank_waits_next(r->waits, r->taken - 1, &rank) : 0;
	if (waits_ns > all_ns)
		waits_ns = all_ns;
	o.device = r->maps.devices[record->place.number];
	err = set_launch(r, gpu_work_has_no_launch(record->work) ? NULL : launch, frame, &o);
	o.use = WORK_WAITS;
	if (!err)
		err = add_parts(s, &o, waits_ns);
	o.use = use & 15u;
	return err ? err : add_parts(s, &o, all_ns - waits_ns);
}

/* Adds a sample or a wait of any thread. */
static int add_activity(struct operation_reading *r, const struct timeline_record *record,
			struct schedule_activity **list, uint64_t *count, uint64_t *capacity)
{
	uint32_t thread = thread_of(&r->maps, (thread_set *)&r->schedule->threads, record->place);
	int err = make_room(list, *count, capacity, sizeof(**list));

	if (err || thread == NO_THREAD)
		return err ? err : -ENOMEM;
	(*list)[(*count)++] =
		(struct schedule_activity){record->start_ns, timeline_end_ns(record), thread,
					   result_record_stack(r->result, record)};
	return 0;
}

static int add_to_operations(void *context, const struct timeline_record *record,
			     const struct indexed_launch *launch)
{
	struct operation_reading *r = context;
	struct operation_schedule *s = r->schedule;

	r->taken++;
	switch (record->kind) {
	case TIMELINE_GPU_OPERATION:
		return add_operation(r, record, launch);
	case TIMELINE_CPU_SAMPLE:
		return add_activity(r, record, &s->samples, &s->sample_count, &s->sample_capacity);
	case TIMELINE_WAIT:
		return add_activity(r, record, &s->waits, &s->wait_count, &s->wait_capacity);
	default:
		return 0;
	}
}

/* Leaves out devices without operations: a part of a run may have none of theirs. */
static void drop_unused_devices(struct operation_schedule *s)
{
	uint8_t numbers[NO_DEVICE + 1];
	uint32_t left = 0;

	memset(numbers, NO_DEVICE, sizeof(numbers));
	for (uint64_t i = 0; i < s->count; i++)
		numbers[s->list[i].device] = 0;
	for (uint32_t i = 0; i < s->device_count; i++)
		if (numbers[i] != NO_DEVICE) {
			numbers[i] = (uint8_t)left;
			s->devices[left++] = s->devices[i];
		}
	if (left == s->device_count)
		return;
	s->device_count = left;
	for (uint64_t i = 0; i < s->count; i++)
		s->list[i].device = numbers[s->list[i].device];
}

int operation_schedule_read(struct operation_schedule *schedule, const struct result *result)
{
	struct operation_reading r = {
		.schedule = schedule,
		.result = result,
		.is_nccl = collectives_nccl_frames(result),
		.latest = no_numbers(result->stack_count),
	};
	uint64_t from_ns;
	int err = -ENOMEM;

	memset(schedule, 0, sizeof(*schedule));
	reserve(&schedule->list, &schedule->capacity, result, sizeof(*schedule->list));
	result_time_range(result, &from_ns, &r.to_ns);
	if (result->rank_count && !(r.waits = rank_waits_new(result, NULL)))
		err = -errno;
	else if (r.is_nccl && r.latest && place_maps_begin(&r.maps, result) && find_devices(&r))
		err = read_records(result, add_to_operations, NULL, &r);
	place_maps_release(&r.maps);
	rank_waits_free(r.waits);
	free(r.is_nccl);
	free(r.latest);
	if (!err)
		drop_unused_devices(schedule);
	time_sort(schedule->list, schedule->count, sizeof(*schedule->list));
	time_sort(schedule->samples, schedule->sample_count, sizeof(*schedule->samples));
	time_sort(schedule->waits, schedule->wait_count, sizeof(*schedule->waits));
	if (err)
		operation_schedule_release(schedule);
	return err;
}

void operation_schedule_release(struct operation_schedule *s)
{
	free(s->list);
	free(s->devices);
	free(s->samples);
	free(s->waits);
	record_set_release(&s->threads.set);
	record_set_release(&s->sites.set);
	memset(s, 0, sizeof(*s));
}
