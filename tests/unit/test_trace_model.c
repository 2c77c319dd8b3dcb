// SPDX-License-Identifier: MIT
/* Records of a timeline as events: in order, on tracks, connected. */
#include "profiler/formats/trace_model.h"

#include "made_result.h"
#include "own_folder.h"

/* Output of a model's run. */
struct seen {
	struct trace_event *events;
	struct timeline_record *records; /* copies of the events' records, which the model reuses */
	uint32_t count, capacity, record_capacity;
};

struct bench {
	struct made_result made;
	struct timeline *timeline;
	struct trace_model *model;
	struct seen seen;
};

static void begin(struct bench *b)
{
	memset(b, 0, sizeof(*b));
	made_begin(&b->made);
	b->timeline = timeline_new(folder, NULL);
	assert_non_null(b->timeline);
}

static uint32_t place_at(struct bench *b, uint32_t process, uint32_t thread, uint32_t device,
			 uint32_t stream)
{
	uint32_t place =
		places_add(&b->made.places, &(struct place){{process, thread, device, 1, stream}})
			.number;

	b->made.result.places = b->made.places.list;
	b->made.result.place_count = b->made.places.count;
	return place;
}

#define NOT PLACE_UNKNOWN

static void add(struct bench *b, struct timeline_record record)
{
	assert_int_equal(timeline_add(b->timeline, &record), 0);
}

static void keep_event(void *context, const struct trace_event *event)
{
	struct seen *s = context;

	assert_true(array_make_room(&s->events, s->count, &s->capacity, sizeof(*s->events)));
	assert_true(
		array_make_room(&s->records, s->count, &s->record_capacity, sizeof(*s->records)));
	s->events[s->count] = *event;
	if (event->record)
		s->records[s->count] = *event->record;
	s->count++;
}

static void run(struct bench *b)
{
	timeline_finish(b->timeline);
	b->made.result.timeline = b->timeline;
	b->model = trace_model_new(&b->made.result);
	assert_non_null(b->model);
	assert_int_equal(trace_model_run(b->model, keep_event, &b->seen), 0);
	for (uint32_t i = 0; i < b->seen.count; i++)
		if (b->seen.events[i].record)
			b->seen.events[i].record = &b->seen.records[i];
}

static void end(struct bench *b)
{
	free(b->seen.events);
	free(b->seen.records);
	trace_model_free(b->model);
	timeline_free(b->timeline);
	made_end(&b->made);
}

static const struct trace_track *track_of(const struct bench *b, const struct trace_event *event)
{
	assert_true(event->track < trace_model_tracks(b->model)->count);
	return &trace_model_tracks(b->model)->list[event->track];
}

/* Events as text, but for their records: "B100 E200 [name) ...". */
static const char *text_of(const struct bench *b)
{
	static char text[4096];
	size_t at = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < b->seen.count; i++) {
		const struct trace_event *e = &b->seen.events[i];
		const char *name = e->frame < b->made.result.frame_count && e->frame
					   ? b->made.result.frames[e->frame].name
					   : "";
		char word[64];

		switch (e->kind) {
		case TRACE_TRACK:
			snprintf(word, sizeof(word), "lane%u", track_of(b, e)->lane);
			break;
		case TRACE_BEGIN:
			snprintf(word, sizeof(word), "B%" PRIu64, e->time_ns);
			break;
		case TRACE_END:
			snprintf(word, sizeof(word), "E%" PRIu64, e->time_ns);
			break;
		case TRACE_INSTANT:
			snprintf(word, sizeof(word), "I%" PRIu64, e->time_ns);
			break;
		case TRACE_SAMPLE:
			snprintf(word, sizeof(word), "S%" PRIu64, e->time_ns);
			break;
		case TRACE_RANGE_BEGIN:
			snprintf(word, sizeof(word), "<%s%" PRIu64, name, e->time_ns);
			break;
		case TRACE_RANGE_END:
			snprintf(word, sizeof(word), "%s>%" PRIu64, name, e->time_ns);
			break;
		case TRACE_COUNTERS:
			snprintf(word, sizeof(word), "%" PRIu64 "/%" PRIu64, e->running, e->queued);
			break;
		}
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", at ? " " : "", word);
		assert_true(at < sizeof(text));
	}
	return text;
}

/* ---- tests ---- */

static void nothing_at_all(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	run(&b);
	assert_string_equal(text_of(&b), "");
	assert_int_equal(trace_model_tracks(b.model)->count, 0);
	end(&b);
	begin(&b);
	b.model = trace_model_new(&b.made.result); /* no timeline */
	assert_non_null(b.model);
	assert_int_equal(trace_model_run(b.model, keep_event, &b.seen), 0);
	assert_int_equal(b.seen.count, 0);
	end(&b);
}

static void a_launch_and_its_operation(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	/* in order of arrival: the launch when it returns, after its work */
	add(&b, (struct timeline_record){.kind = TIMELINE_GPU_OPERATION,
					 .start_ns = 150,
					 .duration_ns = 100,
					 .place = {place_at(&b, 1, 11, 0, 7)},
					 .correlation = 5});
	add(&b, (struct timeline_record){.kind = TIMELINE_LAUNCH,
					 .start_ns = 100,
					 .duration_ns = 200,
					 .place = {place_at(&b, 1, 11, NOT, NOT)},
					 .correlation = 5});
	run(&b);
	assert_string_equal(text_of(&b), "B100 0/1 B150 1/0 E250 0/0 E300");
	assert_int_equal(b.seen.events[0].first_flow, 1);
	assert_int_equal(b.seen.events[0].flow_count, 1);
	assert_int_equal(b.seen.events[2].first_flow, 1);
	assert_int_equal(b.seen.events[2].flow_count, 1);
	assert_int_equal(track_of(&b, &b.seen.events[0])->kind, TRACK_THREAD);
	assert_int_equal(track_of(&b, &b.seen.events[1])->kind, TRACK_DEVICE);
	assert_int_equal(track_of(&b, &b.seen.events[2])->kind, TRACK_STREAM);
	end(&b);
}

static void flows_need_both_ends(void **state)
{
	struct bench b;
	uint32_t thread, other, stream;

	(void)state;
	begin(&b);
	thread = place_at(&b, 1, 11, NOT, NOT);
	other = place_at(&b, 2, 11, NOT, NOT);
	stream = place_at(&b, 1, 11, 0, 7);
	/* another process, too late, without an id, without a launch; then a launch without work */
	add(&b,
	    (struct timeline_record){
		    .kind = TIMELINE_LAUNCH, .start_ns = 1, .place = {other}, .correlation = 1});
	add(&b,
	    (struct timeline_record){
		    .kind = TIMELINE_LAUNCH, .start_ns = 9, .place = {thread}, .correlation = 2});
	add(&b,
	    (struct timeline_record){.kind = TIMELINE_LAUNCH, .start_ns = 2, .place = {thread}});
	add(&b,
	    (struct timeline_record){
		    .kind = TIMELINE_LAUNCH, .start_ns = 3, .place = {thread}, .correlation = 3});
	for (uint32_t i = 0; i < 3; i++)
		add(&b, (struct timeline_record){.kind = TIMELINE_GPU_OPERATION,
						 .start_ns = 5 + i,
						 .place = {stream},
						 .correlation = i});
	run(&b);
	for (uint32_t i = 0; i < b.seen.count; i++)
		assert_int_equal(b.seen.events[i].flow_count, 0);
	assert_int_equal(trace_model_sums(b.model).without_launch, 2);
	assert_int_equal(trace_model_sums(b.model).flows, 0);
	end(&b);
}

/* A graph: kernels run at once, on two devices. An id comes again: the latest launch counts. */
static void a_launch_starts_many(void **state)
{
	struct bench b;
	uint32_t thread, stream, far;

	(void)state;
	begin(&b);
	thread = place_at(&b, 1, 11, NOT, NOT);
	stream = place_at(&b, 1, 11, 0, 7);
	far = place_at(&b, 1, 11, 1, 8);
	for (uint32_t i = 0; i < 2; i++)
		add(&b, (struct timeline_record){.kind = TIMELINE_LAUNCH,
						 .start_ns = 100 * i,
						 .place = {thread},
						 .correlation = 5});
	add(&b, (struct timeline_record){.kind = TIMELINE_GPU_OPERATION,
					 .start_ns = 110,
					 .duration_ns = 10,
					 .place = {stream},
					 .correlation = 5});
	add(&b, (struct timeline_record){.kind = TIMELINE_GPU_OPERATION,
					 .start_ns = 115,
					 .duration_ns = 10,
					 .place = {stream},
					 .correlation = 5});
	add(&b, (struct timeline_record){.kind = TIMELINE_GPU_OPERATION,
					 .start_ns = 118,
					 .duration_ns = 2,
					 .place = {far},
					 .correlation = 5});
	add(&b, (struct timeline_record){.kind = TIMELINE_GPU_OPERATION,
					 .start_ns = 120,
					 .duration_ns = 1,
					 .place = {stream},
					 .correlation = 5});
	run(&b);
	assert_string_equal(text_of(&b), "I0 I100 0/3 0/1 B110 1/2 lane1 B115 2/1 B118 1/0 E120 "
					 "E120 B120 0/0 2/0 E121 1/0 E125 0/0");
	assert_int_equal(b.seen.events[0].flow_count, 0);
	assert_int_equal(b.seen.events[1].flow_count, 4);
	assert_int_equal(trace_model_sums(b.model).flows, 4);
	/* the lane that was free again is used again */
	assert_int_equal(b.seen.events[13].kind, TRACE_BEGIN);
	assert_int_equal(track_of(&b, &b.seen.events[13])->lane, 0);
	end(&b);
}

static uint32_t range(struct bench *b, uint32_t outer, const char *name)
{
	uint32_t stack = made_push(&b->made, outer, name);

	b->made.frames[b->made.stacks[stack].frame].class = CLASS_NVTX;
	return stack;
}

static void launch(struct bench *b, uint64_t start, uint64_t duration, uint32_t stack)
{
	add(b, (struct timeline_record){.kind = TIMELINE_LAUNCH,
					.start_ns = start,
					.duration_ns = duration,
					.place = {place_at(b, 1, 11, NOT, NOT)},
					.stack = {stack}});
}

static void ranges_join_launches(void **state)
{
	struct bench b;
	uint32_t main, epoch, step, inner, bare;

	(void)state;
	begin(&b);
	main = made_push(&b.made, RESULT_ROOT, "main");
	epoch = range(&b, main, "e");
	step = range(&b, made_push(&b.made, epoch, "train"), "s");
	inner = made_push(&b.made, step, "cudaLaunchKernel");
	bare = made_push(&b.made, main, "cudaLaunchKernel");
	launch(&b, 10, 5, inner);
	launch(&b, 20, 5, inner);
	launch(&b, 30, 0, made_push(&b.made, epoch, "cudaMemcpyAsync"));
	launch(&b, 40, 5, inner);
	launch(&b, 50, 5, bare);
	launch(&b, 60, 5, epoch);
	run(&b);
	assert_string_equal(text_of(&b), "<e10 <s10 B10 E15 B20 E25 s>25 I30 <s40 B40 E45 s>45 "
					 "e>45 B50 E55 <e60 B60 E65 e>65");
	end(&b);
}

/* A launch from inside a launch: not how it should be, but the ranges nest. */
static void ranges_of_overlapping_launches(void **state)
{
	struct bench b;
	uint32_t a, c;

	(void)state;
	begin(&b);
	a = range(&b, RESULT_ROOT, "a");
	c = range(&b, RESULT_ROOT, "c");
	launch(&b, 10, 100, a);
	launch(&b, 20, 10, c);
	run(&b);
	assert_string_equal(text_of(&b), "<a10 B10 a>20 <c20 lane1 B20 E30 c>30 E110");
	end(&b);
}

/* The end of the first launch says nothing of the ranges of the third. */
static void a_launch_that_outlasts_two_others(void **state)
{
	struct bench b;
	uint32_t a, c, d;

	(void)state;
	begin(&b);
	a = range(&b, RESULT_ROOT, "a");
	c = range(&b, RESULT_ROOT, "c");
	d = range(&b, RESULT_ROOT, "d");
	launch(&b, 10, 100, a);
	launch(&b, 20, 10, c);
	launch(&b, 50, 100, d);
	run(&b);
	assert_string_equal(text_of(&b), "<a10 B10 a>20 <c20 lane1 B20 E30 c>30 <d50 B50 E110 "
					 "E150 d>150");
	end(&b);
}

/* One range, in functions called from it: no new one. */
static void a_range_in_several_stacks(void **state)
{
	struct bench b;
	uint32_t outer, inner;

	(void)state;
	begin(&b);
	outer = range(&b, RESULT_ROOT, "r");
	inner = range(&b, made_push(&b.made, RESULT_ROOT, "other"), "r");
	b.made.stacks[inner].frame = b.made.stacks[outer].frame;
	launch(&b, 10, 5, outer);
	launch(&b, 20, 5, inner);
	run(&b);
	assert_string_equal(text_of(&b), "<r10 B10 E15 B20 E25 r>25");
	end(&b);
}

static void tracks_have_names(void **state)
{
	static const char *const expected[] = {
		"train.py",
		"worker",
		"waiting for the GPU",
		"[thread 4000000000]",
		"GPU 0",
		"operations running",
		"operations launched, not started",
		"stream 7, context 1",
		"unknown device",
		"operations running",
		"operations launched, not started",
		"without a stream",
		"[process 2]",
		"unknown thread",
		"unknown process",
		"unknown thread",
	};
	const struct trace_tracks *tracks;
	char name[TRACE_NAME_BYTES];
	struct bench b;

	(void)state;
	begin(&b);
	place_names_add_process(
		&b.made.place_names,
		&(struct process_info){.id = 1, .pid = 4711, .name = "train.py 4711"});
	place_names_add_thread(&b.made.place_names,
			       &(struct thread_info){.process = 1, .tid = 12, .name = "worker 12"});
	add(&b, (struct timeline_record){.kind = TIMELINE_WAIT,
					 .place = {place_at(&b, 1, 12, NOT, 3)}});
	add(&b, (struct timeline_record){.kind = TIMELINE_CALL,
					 .place = {place_at(&b, 1, 12, NOT, NOT)}});
	add(&b, (struct timeline_record){.kind = TIMELINE_CPU_SAMPLE,
					 .place = {place_at(&b, 1, 4000000000, NOT, NOT)}});
	add(&b, (struct timeline_record){.kind = TIMELINE_GPU_OPERATION,
					 .place = {place_at(&b, 1, 12, 0, 7)}});
	add(&b,
	    (struct timeline_record){
		    .kind = TIMELINE_GPU_OPERATION,
		    .place = places_add(&b.made.places, &(struct place){{1, NOT, NOT, NOT, NOT}})});
	add(&b, (struct timeline_record){.kind = TIMELINE_LAUNCH,
					 .place = {place_at(&b, 2, NOT, NOT, NOT)}});
	add(&b, (struct timeline_record){.kind = TIMELINE_LAUNCH, .place = PLACE_NOWHERE});
	run(&b);
	tracks = trace_model_tracks(b.model);
	assert_int_equal(tracks->count, sizeof(expected) / sizeof(expected[0]));
	for (uint32_t i = 0; i < tracks->count; i++) {
		trace_track_name(&b.made.result, &tracks->list[i], name);
		assert_string_equal(name, expected[i]);
		assert_true(tracks->list[i].parent < i || tracks->list[i].kind == TRACK_PROCESS);
	}
	assert_int_equal(trace_track_pid(&b.made.result, &tracks->list[1]), 4711);
	assert_int_equal(trace_track_tid(&tracks->list[1]), 12);
	assert_int_equal(trace_track_tid(&tracks->list[3]), 0);
	assert_int_equal(trace_track_pid(&b.made.result, &tracks->list[13]), 0);
	end(&b);
}

/* ---- any records ---- */

enum { TRACKS = 1024 }; /* more than there can be */

struct random_run {
	struct bench b;
	uint32_t count;
	struct timeline_record *records;
};

static void make_random(struct random_run *r, struct prng *p)
{
	uint32_t stacks[8] = {RESULT_ROOT}, bits = (uint32_t)prng_below(p, 20);

	begin(&r->b);
	for (int i = 1; i < 8; i++) {
		uint32_t outer = stacks[prng_below(p, (uint64_t)i)];

		stacks[i] = prng_chance(p, 60) ? range(&r->b, outer, "r")
					       : made_push(&r->b.made, outer, "f");
	}
	r->count = (uint32_t)prng_below(p, 600);
	r->records = calloc(r->count + 1u, sizeof(*r->records));
	assert_non_null(r->records);
	for (uint32_t i = 0; i < r->count; i++) {
		struct timeline_record record = {.kind = (uint8_t)prng_below(p, TIMELINE_KINDS),
						 .start_ns = prng_bits(p, bits),
						 .duration_ns = prng_bits(p, 8),
						 .stack = {stacks[prng_below(p, 8)]},
						 .correlation = (uint32_t)prng_below(p, 20)};
		bool is_operation = record.kind == TIMELINE_GPU_OPERATION;

		record.place = PLACE_ID(place_at(&r->b, (uint32_t)prng_below(p, 2),
						 (uint32_t)prng_below(p, 3),
						 is_operation ? (uint32_t)prng_below(p, 2) : NOT,
						 is_operation ? (uint32_t)prng_below(p, 2) : NOT));
		r->records[i] = record;
		add(&r->b, record);
	}
	run(&r->b);
}

/* Returns the launch of an operation by a linear search, or NULL if there is none. */
static const struct timeline_record *launch_of(const struct random_run *r,
					       const struct timeline_record *operation)
{
	const struct place *places = r->b.made.result.places;
	const struct timeline_record *best = NULL;

	for (uint32_t i = 0; i < r->count && operation->correlation; i++) {
		const struct timeline_record *l = &r->records[i];

		if (l->kind == TIMELINE_LAUNCH && l->correlation == operation->correlation &&
		    places[l->place.number].part[0] == places[operation->place.number].part[0] &&
		    l->start_ns <= operation->start_ns && (!best || l->start_ns > best->start_ns))
			best = l;
	}
	return best;
}

/* Slices on a track do not overlap, all end, and all events are in order of time. */
static void check_order(struct prng *p, const struct random_run *r)
{
	const struct trace_tracks *tracks = trace_model_tracks(r->b.model);
	const struct trace_event *open[TRACKS] = {NULL};
	uint32_t depth[TRACKS] = {0}, known = tracks->first_count, records = 0;
	uint64_t now = 0;

	EXPECT(p, tracks->count <= TRACKS);
	for (uint32_t i = 0; i < r->b.seen.count; i++) {
		const struct trace_event *e = &r->b.seen.events[i];

		if (e->kind == TRACE_TRACK)
			EXPECT(p, e->track == known++);
		EXPECT(p, e->track < known && e->time_ns >= now);
		now = e->time_ns;
		records += e->record != NULL;
		switch (e->kind) {
		case TRACE_BEGIN:
			EXPECT(p, !open[e->track] && e->record->start_ns == now &&
					  e->record->duration_ns);
			open[e->track] = e;
			break;
		case TRACE_END:
			EXPECT(p, open[e->track]);
			EXPECT(p, open[e->track]->time_ns + open[e->track]->record->duration_ns ==
					  now);
			open[e->track] = NULL;
			break;
		case TRACE_INSTANT:
			EXPECT(p, e->record->start_ns == now && !e->record->duration_ns);
			break;
		case TRACE_RANGE_BEGIN:
			depth[e->track]++;
			break;
		case TRACE_RANGE_END:
			EXPECT(p, depth[e->track]-- > 0);
			break;
		default:
			break;
		}
	}
	EXPECT(p, records == r->count && known == tracks->count);
	for (uint32_t i = 0; i < tracks->count; i++)
		EXPECT(p, !open[i] && !depth[i]);
}

static void check_flows(struct prng *p, const struct random_run *r)
{
	uint32_t flows = 0, without = 0;
	uint64_t launched[1024]; /* time of the launch, by flow */

	for (uint32_t i = 0; i < r->b.seen.count; i++) {
		const struct trace_event *e = &r->b.seen.events[i];
		const struct timeline_record *expected;

		if (!e->record)
			continue;
		if (e->record->kind == TIMELINE_LAUNCH)
			for (uint32_t k = 0; k < e->flow_count; k++)
				launched[e->first_flow + k] = e->time_ns;
		if (e->record->kind != TIMELINE_GPU_OPERATION) {
			EXPECT(p, e->record->kind == TIMELINE_LAUNCH || !e->flow_count);
			continue;
		}
		expected = launch_of(r, e->record);
		/* at equal times, the first to arrive is first */
		if (expected && expected->start_ns == e->time_ns)
			expected = e->flow_count ? expected : NULL;
		else
			EXPECT(p, (expected != NULL) == (e->flow_count == 1));
		flows += e->flow_count;
		without += e->record->correlation && !e->flow_count;
		if (expected && e->flow_count && expected->start_ns != e->time_ns)
			EXPECT(p, launched[e->first_flow] == expected->start_ns);
	}
	EXPECT(p, trace_model_sums(r->b.model).flows == flows);
	EXPECT(p, trace_model_sums(r->b.model).without_launch == without);
}

/* Counters, at the end of each moment, are what a look at all records says. */
static void check_counters(struct prng *p, const struct random_run *r)
{
	const struct trace_tracks *tracks = trace_model_tracks(r->b.model);
	uint64_t shown[TRACKS] = {0};

	for (uint32_t i = 0; i < r->b.seen.count; i++) {
		const struct trace_event *e = &r->b.seen.events[i];
		uint64_t running = 0;

		if (e->kind != TRACE_COUNTERS)
			continue;
		for (uint32_t k = 0; k < r->count; k++) {
			const struct timeline_record *o = &r->records[k];

			if (o->kind == TIMELINE_GPU_OPERATION &&
			    tracks->list[tracks->stream_of[o->place.number]].parent == e->track)
				running += o->start_ns <= e->time_ns &&
					   e->time_ns < o->start_ns + o->duration_ns;
		}
		EXPECT(p, e->running == running);
		EXPECT(p, e->running_changed == (running != shown[e->track]));
		shown[e->track] = running;
	}
	for (uint32_t i = 0; i < TRACKS; i++)
		EXPECT(p, shown[i] == 0);
}

static void random_records(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(100); round++) {
		struct prng p = prng_round(round);
		struct random_run r;

		make_random(&r, &p);
		check_order(&p, &r);
		check_flows(&p, &r);
		check_counters(&p, &r);
		free(r.records);
		end(&r.b);
	}
}

/* Each overlaps all others: more lanes than any GPU has. */
static void many_lanes(void **state)
{
	enum { SLICES = 1000 };
	struct bench b;
	uint32_t place;

	(void)state;
	begin(&b);
	place = place_at(&b, 1, 11, 0, 7);
	for (uint32_t i = 0; i < 2 * SLICES; i++)
		add(&b, (struct timeline_record){.kind = TIMELINE_GPU_OPERATION,
						 .start_ns = i / SLICES * 10000 + i % SLICES,
						 .duration_ns = 5000,
						 .place = {place}});
	run(&b);
	/* the second time, all lanes are there */
	assert_int_equal(trace_model_tracks(b.model)->count,
			 trace_model_tracks(b.model)->first_count + SLICES - 1);
	end(&b);
}

static void times_at_the_end_of_all_time(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	add(&b, (struct timeline_record){.kind = TIMELINE_GPU_OPERATION,
					 .start_ns = UINT64_MAX - 1,
					 .duration_ns = 1000,
					 .place = {place_at(&b, 1, 11, 0, 7)}});
	run(&b);
	assert_int_equal(b.seen.count, 4);
	assert_int_equal(b.seen.events[2].kind, TRACE_END);
	assert_true(b.seen.events[2].time_ns == UINT64_MAX);
	assert_int_equal(b.seen.events[3].running, 0);
	end(&b);
}

static void a_file_that_has_changed(void **state)
{
	struct bench b;
	uint32_t place;

	(void)state;
	begin(&b);
	place = place_at(&b, 1, 11, 0, 7);
	add(&b, (struct timeline_record){.kind = TIMELINE_GPU_OPERATION, .place = {place}});
	timeline_finish(b.timeline);
	b.made.result.timeline = b.timeline;
	b.made.result.place_count = place; /* one less */
	assert_null(trace_model_new(&b.made.result));
	assert_int_equal(errno, EIO);
	end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_at_all),
		cmocka_unit_test(a_launch_and_its_operation),
		cmocka_unit_test(flows_need_both_ends),
		cmocka_unit_test(a_launch_starts_many),
		cmocka_unit_test(ranges_join_launches),
		cmocka_unit_test(ranges_of_overlapping_launches),
		cmocka_unit_test(a_launch_that_outlasts_two_others),
		cmocka_unit_test(a_range_in_several_stacks),
		cmocka_unit_test(tracks_have_names),
		cmocka_unit_test(random_records),
		cmocka_unit_test(many_lanes),
		cmocka_unit_test(times_at_the_end_of_all_time),
		cmocka_unit_test(a_file_that_has_changed),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
