/* SPDX-License-Identifier: MIT */
/* Rows of idle devices, from records: with busy times they add up to the run. */
#include "made_timeline.h"
#include <stdlib.h>
#include "profiler/addons/idle.h"
#include "profiler/model/pseudo_frames.h"
#include "profiler/tables/busy.h"
#include "symbolize/util/intern.h"

#define SEGMENT_MAX 1000u /* records at once */
#define START 1000u
#define RUN 100000u

struct bench {
	struct made_timeline made; /* timeline that busy.h reads */
	struct idle idle;
	struct timeline *store;
	struct stack_table *stacks;
	struct profile *profile;
	struct places places;
	struct devices devices;
	struct ledger ledger;
	struct profile_sink sink;
	struct addon_parts parts;
	struct intern texts;
	struct quota memory;
};

static const char *keep(void *context, const char *text)
{
	struct bench *b = context;

	return intern_string(&b->texts, text);
}

static struct bench *begin(void)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	made_timeline_begin(&b->made);
	b->memory.limit = 1 << 20;
	b->store = timeline_new(folder, NULL);
	b->stacks = stack_table_new();
	b->profile = profile_new();
	assert_true(b->store && b->stacks && b->profile);
	assert_int_equal(places_init(&b->places, PLACES_ALL), 0);
	b->sink = (struct profile_sink){.profile = b->profile, .ledger = &b->ledger};
	b->parts = (struct addon_parts){.idle_store = b->store,
					.stacks = b->stacks,
					.places = &b->places,
					.devices = &b->devices,
					.sink = &b->sink,
					.from_target = &b->memory,
					.keep = keep,
					.context = b};
	b->idle = (struct idle){.segment_records = 16, .segment_max = SEGMENT_MAX};
	assert_int_equal(idle_init(&b->idle, &b->parts), 0);
	return b;
}

static void end(struct bench *b)
{
	idle_release(&b->idle);
	timeline_free(b->store);
	stack_table_free(b->stacks);
	profile_free(b->profile);
	places_release(&b->places);
	devices_release(&b->devices);
	intern_release(&b->texts);
	made_timeline_end(&b->made);
	free(b);
}

static struct stack_id push_text(struct bench *b, struct stack_id outer, const char *text)
{
	return stack_table_push_text(b->stacks, outer, FRAME_MARK, text);
}

static void ran(struct bench *b, uint32_t process, uint32_t tid, uint32_t device, uint64_t launched,
		uint64_t from, uint64_t to)
{
	made_record(&b->made, (struct timeline_record){
				      .kind = TIMELINE_GPU_OPERATION,
				      .start_ns = from,
				      .duration_ns = to - from,
				      .place = made_place(&b->made, process, tid, device, 7)});
	idle_add(&b->idle, (struct idle_where){process, tid},
		 &(struct timeline_record){.kind = IDLE_KIND_OPERATION,
					   .start_ns = from,
					   .duration_ns = to - from,
					   .bytes = launched,
					   .work = device,
					   .stack = push_text(b, STACK_EMPTY, "launch")});
}

static void add(struct bench *b, struct idle_where where, enum timeline_kind kind,
		uint64_t start_ns, uint64_t ns, struct stack_id stack)
{
	idle_add(&b->idle, where,
		 &(struct timeline_record){
			 .kind = kind, .start_ns = start_ns, .duration_ns = ns, .stack = stack});
}

/* Process 2's device 0 is process 1's device 1. */
static void describe(struct bench *b)
{
	for (uint32_t i = 0; i < 3; i++) {
		struct gpu_event_device event = {.id = i == 1, .name = "GPU"};

		memset(event.uuid, i == 0 ? 5 : 6, sizeof(event.uuid));
		assert_int_equal(devices_describe(&b->devices, i == 2 ? 2 : 1, &event), 0);
	}
	b->made.made.result.devices = b->devices.list;
	b->made.made.result.device_count = b->devices.count;
}

static const char *path_of(const struct bench *b, struct stack_id stack, char text[400])
{
	char inner[400];

	text[0] = '\0';
	for (; !same_id(stack, STACK_EMPTY); stack = stack_table_outer(b->stacks, stack)) {
		memcpy(inner, text, sizeof(inner));
		snprintf(text, 400, "%s%s%.200s", stack_table_frame(b->stacks, stack)->text,
			 inner[0] ? ";" : "", inner);
	}
	return text;
}

/* Adds up the rows whose stack begins with `start`. */
static uint64_t sum_below(const struct bench *b, const char *start)
{
	uint32_t count;
	const struct profile_row *rows = profile_rows(b->profile, &count);
	uint64_t ns = 0;
	char text[400];

	for (uint32_t i = 0; i < count; i++) {
		if (rows[i].count == 0)
			continue; /* a record that is not kept */
		assert_int_equal(rows[i].kind, ROW_IDLE);
		if (strncmp(path_of(b, rows[i].stack, text), start, strlen(start)) == 0)
			ns += rows[i].ns;
	}
	return ns;
}

static void rows_of_each_part(void **state)
{
	const struct idle_where where = {1, 12};
	struct bench *b = begin();
	uint32_t work = push_text(b, STACK_EMPTY, "work").number;

	(void)state;
	add(b, where, IDLE_KIND_BEGIN, START + 10, 0, STACK_EMPTY);
	ran(b, 1, 12, 0, START + 100, START + 120, START + 200);
	ran(b, 1, 12, 0, START + 290, START + 300, START + 400);
	add(b, where, IDLE_KIND_OFF_CPU, START + 50, 30,
	    push_text(b, STACK_ID(work), "[blocked: read]"));
	add(b, where, IDLE_KIND_OFF_CPU, START + 210, 40,
	    push_text(b, STACK_ID(work), "[blocked: read]"));
	add(b, where, IDLE_KIND_SAMPLE, START + 270, 0, STACK_ID(work));
	add(b, where, IDLE_KIND_END, START + 600, 0, STACK_EMPTY);
	idle_finish(&b->idle, START, START + 1000, 1000);
	assert_int_equal(sum_below(b, "[GPU 0 idle];"), 1000 - 180);
	assert_int_equal(
		sum_below(b, "[GPU 0 idle];[before the first operation];[before the thread"), 10);
	assert_int_equal(sum_below(b, "[GPU 0 idle];[before the first operation];work;[blocked"),
			 30);
	assert_int_equal(
		sum_below(b, "[GPU 0 idle];[before the first operation];launch;[not sampled]"), 60);
	assert_int_equal(sum_below(b, "[GPU 0 idle];[before the first operation];launch;[launched"),
			 20);
	assert_int_equal(sum_below(b, "[GPU 0 idle];work;[blocked: read]"), 40);
	assert_int_equal(sum_below(b, "[GPU 0 idle];work"), 40 + 50);
	assert_int_equal(sum_below(b, "[GPU 0 idle];launch;[launched, not begun]"), 10);
	assert_int_equal(sum_below(b, "[GPU 0 idle];[after the last operation];[thread has ended]"),
			 400);
	assert_int_equal(sum_below(b, "[GPU 0 idle];[after the last operation];[not sampled]"),
			 200);
	assert_int_equal(ledger_idle_ns(&b->ledger.idle), 820);
	assert_int_equal(b->ledger.idle.off_cpu_ns, 40);
	assert_int_equal(b->ledger.idle.computing_ns, 50);
	assert_int_equal(b->ledger.idle.before_ns, 120);
	assert_int_equal(b->ledger.idle.after_ns, 600);
	assert_int_equal(b->ledger.idle.whole_ns, 1000);
	assert_int_equal(b->ledger.idle.lost, 0);
	end(b);
}

/* Two devices of one number are apart, and one of two numbers is one. */
static void devices_are_known_by_their_uuids(void **state)
{
	struct bench *b = begin();

	(void)state;
	describe(b);
	ran(b, 1, 12, 0, START, START, START + 100);
	ran(b, 1, 12, 1, START, START, START + 100);
	ran(b, 2, 22, 0, START, START + 50, START + 300);
	idle_finish(&b->idle, START, START + 1000, 1000);
	assert_int_equal(b->ledger.idle.devices, 2);
	assert_int_equal(sum_below(b, "[GPU 0 idle];"), 900);
	assert_int_equal(sum_below(b, "[GPU 1 idle];"), 700);
	end(b);
}

static void devices_of_one_label(void **state)
{
	struct bench *b = begin();

	(void)state;
	for (uint32_t process = 1; process <= 2; process++) {
		struct gpu_event_device event = {.id = 0, .name = "GPU"};

		memset(event.uuid, (int)process, sizeof(event.uuid));
		assert_int_equal(devices_describe(&b->devices, process, &event), 0);
		ran(b, process, 12, 0, START, START, START + 100 * process);
	}
	devices_make_labels(&b->devices);
	idle_finish(&b->idle, START, START + 1000, 1000);
	assert_int_equal(sum_below(b, "[GPU 0 (01010101) idle];"), 900);
	assert_int_equal(sum_below(b, "[GPU 0 (02020202) idle];"), 800);
	end(b);
}

/* Idle and busy times add up, as busy.h sees them, and in many segments. */
static void idle_and_busy_add_up(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < 20; round++) {
		struct prng p = prng_round(round);
		struct bench *b = begin();
		struct busy *busy;
		uint64_t busy_ns = 0;

		describe(b);
		b->made.made.result.totals.start_ns = START;
		b->made.made.result.totals.elapsed_ns = RUN;
		for (int i = 0; i < 200; i++) {
			uint32_t process = 1 + (uint32_t)prng_below(&p, 2);
			uint64_t from = prng_below(&p, RUN + 5 * START);

			ran(b, process, (uint32_t)prng_below(&p, 3),
			    process == 1 ? (uint32_t)prng_below(&p, 2) : 0,
			    prng_chance(&p, 80) ? prng_below(&p, from + 1) : 0, from,
			    from + prng_below(&p, 600));
			add(b, (struct idle_where){process, (uint32_t)prng_below(&p, 3)},
			    IDLE_KIND_OFF_CPU, prng_below(&p, RUN), prng_below(&p, 900),
			    push_text(b, STACK_EMPTY, "off"));
			add(b, (struct idle_where){process, 1}, IDLE_KIND_SAMPLE,
			    prng_below(&p, RUN), 0, push_text(b, STACK_EMPTY, "on"));
		}
		assert_int_equal(timeline_finish(b->made.timeline), 0);
		b->made.made.result.timeline = b->made.timeline;
		idle_finish(&b->idle, START, START + RUN, 100);
		busy = busy_new(&b->made.made.result, BUSY_SPANS_MAX);
		assert_non_null(busy);
		assert_int_equal(busy->device_count, 2);
		for (uint32_t i = 0; i < 2; i++) {
			char label[DEVICE_LABEL_BYTES], root[DEVICE_LABEL_BYTES + 16];

			device_label(busy->devices[i].device, label);
			snprintf(root, sizeof(root), "[%s idle]", label);
			assert_int_equal(sum_below(b, root), RUN - busy->devices[i].ns);
			busy_ns += busy->devices[i].ns;
		}
		assert_int_equal(ledger_idle_ns(&b->ledger.idle),
				 b->ledger.idle.whole_ns - busy_ns);
		assert_int_equal(b->ledger.idle.whole_ns, 2 * RUN);
		assert_true(sum_below(b, "") > 0);
		busy_free(busy);
		end(b);
	}
}

static void nothing_ran(void **state)
{
	struct bench *b = begin();

	(void)state;
	add(b, (struct idle_where){1, 12}, IDLE_KIND_SAMPLE, START + 270, 0, STACK_EMPTY);
	idle_finish(&b->idle, START, START + 1000, 1000);
	assert_int_equal(b->ledger.idle.devices, 0);
	assert_int_equal(sum_below(b, ""), 0);
	assert_int_equal(b->ledger.idle.lost, 0);
	end(b);
}

/* More records at once than there is room for: counted. */
static void records_that_are_too_many(void **state)
{
	struct bench *b = begin();

	(void)state;
	for (uint64_t i = 0; i < SEGMENT_MAX + 7; i++)
		ran(b, 1, 12, 0, START + 500, START + 500, START + 501);
	idle_finish(&b->idle, START, START + 1000, 1000);
	assert_int_equal(b->ledger.idle.lost, 7);
	assert_int_equal(sum_below(b, ""), 999);
	end(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_each_part),
		cmocka_unit_test(devices_are_known_by_their_uuids),
		cmocka_unit_test(devices_of_one_label),
		cmocka_unit_test(idle_and_busy_add_up),
		cmocka_unit_test(nothing_ran),
		cmocka_unit_test(records_that_are_too_many),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
