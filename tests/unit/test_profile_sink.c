/* SPDX-License-Identifier: MIT */
/* Items that go into a profile at once, or later, when only the last part of a run is wanted. */
#include "unit.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cupti_trace/wire/gpu_work.h"
#include "profiler/model/places.h"
#include "profiler/model/profile_sink.h"
#include "profiler/model/stack_table.h"

struct bench {
	struct ledger ledger;
	struct profile_sink sink;
	uint32_t rows;
	const struct profile_row *row; /* the first one with a count; NULL: none */
};

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	*state = b;
	if (!b)
		return -1;
	b->sink = (struct profile_sink){.profile = profile_new(), .ledger = &b->ledger};
	return b->sink.profile ? 0 : -1;
}

static int end(void **state)
{
	struct bench *b = *state;

	profile_sink_release(&b->sink);
	profile_free(b->sink.profile);
	ledger_release(&b->ledger);
	free(b);
	return 0;
}

static void find_row(struct bench *b)
{
	uint32_t count;
	const struct profile_row *rows = profile_rows(b->sink.profile, &count);

	b->rows = 0;
	b->row = NULL;
	for (uint32_t i = count; i-- > 0;)
		if (rows[i].count > 0) {
			b->row = &rows[i];
			b->rows++;
		}
}

static void add(struct bench *b, enum timeline_kind kind, uint64_t start_ns, uint64_t ns,
		uint32_t work, uint32_t flags)
{
	profile_sink_add(&b->sink, &(struct profile_item){.record = {.kind = (uint8_t)kind,
								     .start_ns = start_ns,
								     .duration_ns = ns,
								     .work = work,
								     .bytes = 3,
								     .stack = {5}},
							  .flags = flags,
							  .device = 2});
}

static void kernel(struct bench *b, uint64_t start_ns, uint64_t ns)
{
	add(b, TIMELINE_GPU_OPERATION, start_ns, ns, GPU_WORK_KERNEL,
	    ITEM_COUNTS | ITEM_ROW | ITEM_MATCHED);
}

static void items_are_taken_in_at_once(void **state)
{
	struct bench *b = *state;
	struct time_range all = {0};

	kernel(b, 100, 7);
	kernel(b, 100, 8);
	add(b, TIMELINE_CPU_SAMPLE, 100, 20, 0, ITEM_COUNTS | ITEM_WHOLE | ITEM_NO_PARENT);
	add(b, TIMELINE_WAIT, 100, 30, 0, ITEM_COUNTS);
	add(b, TIMELINE_CALL, 100, 40, 0, ITEM_UNFINISHED);
	add(b, TIMELINE_LAUNCH, 100, 0, 0, ITEM_COUNTS | ITEM_KERNEL | ITEM_STACK);
	add(b, TIMELINE_GPU_OPERATION, 100, 0, GPU_WORK_ALLOC, ITEM_COUNTS);
	find_row(b);
	assert_int_equal(b->rows, 1);
	assert_int_equal(b->row->kind, ROW_GPU);
	assert_int_equal(b->row->count, 2);
	assert_int_equal(b->row->ns, 15);
	assert_int_equal(b->row->bytes, 6);
	assert_int_equal(b->ledger.gpu.row_count, 2);
	assert_int_equal(b->ledger.gpu.rows[0].device, 2);
	assert_int_equal(b->ledger.gpu.rows[0].ns, 15);
	assert_int_equal(b->ledger.gpu.matched, 2);
	assert_int_equal(b->ledger.cpu.samples, 1);
	assert_int_equal(b->ledger.cpu.whole, 1);
	assert_int_equal(b->ledger.cpu.without_parent, 1);
	assert_int_equal(b->ledger.calls.waits, 1);
	/* a wait's bytes are the time that its thread computed */
	assert_int_equal(b->ledger.calls.wait_ns, 30 - 3);
	assert_int_equal(b->ledger.calls.wait_computed_ns, 3);
	assert_int_equal(b->ledger.calls.timed, 0);
	assert_int_equal(b->ledger.calls.timed_ns, 40);
	assert_int_equal(b->ledger.calls.unfinished, 1);
	assert_int_equal(b->ledger.launches.kernels, 1);
	assert_int_equal(b->ledger.launches.with_stack, 1);
	assert_int_equal(b->ledger.launches.whole, 0);
	profile_sink_finish(&b->sink, &all); /* has no effect */
	find_row(b);
	assert_int_equal(b->row->count, 2);
}

/* Operations and launches count as often as they represent others, and sums can be scaled. */
static void items_represent_others(void **state)
{
	struct bench *b = *state;
	struct profile_item item = {.record = {.kind = TIMELINE_GPU_OPERATION,
					       .duration_ns = 11,
					       .work = GPU_WORK_KERNEL,
					       .bytes = 3,
					       .stack = {5},
					       .represents = 7},
				    .flags = ITEM_COUNTS | ITEM_ROW | ITEM_MATCHED |
					     ITEM_REPRESENTS};

	profile_sink_add(&b->sink, &item);
	item.record.kind = TIMELINE_LAUNCH;
	item.flags = ITEM_COUNTS | ITEM_KERNEL | ITEM_STACK | ITEM_REPRESENTS;
	profile_sink_add(&b->sink, &item);
	/* in other runs the member is another one: an error */
	item.flags = ITEM_COUNTS | ITEM_KERNEL;
	profile_sink_add(&b->sink, &item);
	find_row(b);
	assert_int_equal(b->row->count, 7);
	assert_int_equal(b->row->ns, 77);
	assert_int_equal(b->row->bytes, 21);
	assert_int_equal(b->ledger.gpu.matched, 7);
	assert_int_equal(b->ledger.gpu.rows[0].ns, 77);
	assert_int_equal(b->ledger.launches.kernels, 8);
	assert_int_equal(b->ledger.launches.with_stack, 7);
	profile_scale(b->sink.profile, ROW_CPU, 2);
	profile_scale(b->sink.profile, ROW_GPU, 1.1);
	ledger_scale_estimates(&b->ledger, 1.1);
	find_row(b);
	assert_int_equal(b->row->count, 8);
	assert_int_equal(b->row->ns, 85);
	assert_int_equal(b->row->bytes, 23);
	assert_int_equal(b->ledger.gpu.rows[0].ns, 85);
	assert_int_equal(b->ledger.launches.kernels, 9);
}

/* Work that begins at the end of the time range, or before the range, is left out, however long. */
static void only_what_begins_in_the_time_range_is_taken_in(void **state)
{
	struct bench *b = *state;
	struct time_range time_range = {.from_ns = 100, .to_ns = 200};

	assert_true(profile_sink_keep(&b->sink));
	kernel(b, 99, 1000);
	kernel(b, 200, 2);
	kernel(b, 199, 1000);
	kernel(b, 100, 3);
	add(b, TIMELINE_GPU_OPERATION, 99, 0, GPU_WORK_ALLOC, ITEM_COUNTS);
	add(b, TIMELINE_CPU_SAMPLE, 99, 20, 0, ITEM_COUNTS | ITEM_ROW);
	find_row(b);
	assert_null(b->row);
	profile_sink_finish(&b->sink, &time_range);
	find_row(b);
	assert_int_equal(b->rows, 1);
	assert_int_equal(b->row->count, 2);
	assert_int_equal(b->row->ns, 1003);
	assert_int_equal(b->ledger.gpu.kernels, 2);
	assert_int_equal(b->ledger.gpu.kernel_ns, 1003);
	assert_int_equal(b->ledger.outside.before, 1);
	assert_int_equal(b->ledger.outside.before_ns, 1000);
	assert_int_equal(b->ledger.outside.after, 1);
	assert_int_equal(b->ledger.outside.after_ns, 2);
	assert_int_equal(b->ledger.cpu.samples, 0);
	assert_int_equal(time_range.from_ns, 100);
	assert_null(b->sink.recorder);
}

/* Forgotten items are left out, and the time range starts later by the missing part. */
static void what_was_forgotten_is_counted(void **state)
{
	struct bench *b = *state;
	struct time_range time_range = {.from_ns = 100};
	uint64_t count = FLIGHT_RECORDER_PIECE + 10, before;

	assert_true(profile_sink_keep(&b->sink));
	for (uint64_t i = 0; i < count; i++)
		kernel(b, 1000 + i, 2);
	profile_sink_advance(&b->sink, 1000 + count, 1000 + FLIGHT_RECORDER_PIECE + 5);
	profile_sink_finish(&b->sink, &time_range);
	before = time_range.from_ns - 1000;
	assert_int_equal(before, FLIGHT_RECORDER_PIECE);
	find_row(b);
	assert_int_equal(b->row->count, count - before);
	assert_int_equal(b->ledger.outside.before, before);
	assert_int_equal(b->ledger.outside.before_ns, 2 * before);
}

static void take_note(void *context, const struct profile_item *note)
{
	uint64_t *bytes = context;

	*bytes += note->record.bytes;
}

static void add_note(struct bench *b, uint64_t start_ns, uint64_t ns, uint64_t bytes,
		     uint32_t flags)
{
	profile_sink_add(&b->sink, &(struct profile_item){.record = {.kind = NOTE_IDLE,
								     .start_ns = start_ns,
								     .duration_ns = ns,
								     .bytes = bytes},
							  .flags = flags});
}

/* Notes are no rows. A lasting note is wanted if its end is in the range; a note without a time,
 * at its arrival. */
static void notes_go_to_who_takes_them(void **state)
{
	struct bench *b = *state;
	struct time_range time_range = {.from_ns = 100, .to_ns = 200};
	uint64_t bytes = 0;

	b->sink.take_note = take_note;
	b->sink.context = &bytes;
	add_note(b, 5, 0, 1, 0);
	assert_int_equal(bytes, 1);
	assert_true(profile_sink_keep(&b->sink));
	add_note(b, 100, 0, 1 << 1, 0);
	add_note(b, 99, 1000, 1 << 2, 0);
	add_note(b, 200, 0, 1 << 3, 0);
	add_note(b, 99, 1, 1 << 4, ITEM_LASTS);
	add_note(b, 99, 2, 1 << 5, ITEM_LASTS);
	add_note(b, 0, UINT64_MAX, 1 << 6, ITEM_LASTS);
	add_note(b, 199, 0, 1 << 7, ITEM_LASTS);
	add_note(b, 200, 9, 1 << 8, ITEM_LASTS);
	profile_sink_advance(&b->sink, 99, 0);
	add_note(b, 150, 0, 1 << 9, ITEM_BAD_TIME);
	profile_sink_advance(&b->sink, 100, 0);
	add_note(b, 0, 0, 1 << 10, ITEM_BAD_TIME);
	profile_sink_advance(&b->sink, 300, 0);
	add_note(b, 0, 0, 1 << 11, ITEM_BAD_TIME);
	assert_int_equal(bytes, 1);
	profile_sink_finish(&b->sink, &time_range);
	assert_int_equal(bytes, 1 << 0 | 1 << 1 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 10 | 1 << 11);
	find_row(b);
	assert_null(b->row);
}

/* Shown while it goes on; at the end only what is taken in counts. */
static void counts_so_far_are_of_all(void **state)
{
	struct bench *b = *state;
	struct time_range time_range = {.from_ns = 100};

	assert_true(profile_sink_keep(&b->sink));
	for (uint64_t start_ns = 99; start_ns <= 100; start_ns++) {
		add(b, TIMELINE_CPU_SAMPLE, start_ns, 20, 0, ITEM_COUNTS | ITEM_ROW);
		add(b, TIMELINE_WAIT, start_ns, 30, 0, ITEM_COUNTS);
		add(b, TIMELINE_CALL, start_ns, 40, 0, ITEM_COUNTS | ITEM_ROW);
	}
	assert_int_equal(b->ledger.cpu.samples, 2);
	assert_int_equal(b->ledger.calls.wait_ns, 2 * 27);
	assert_int_equal(b->ledger.calls.timed, 2);
	assert_int_equal(b->ledger.calls.timed_ns, 80);
	profile_sink_finish(&b->sink, &time_range);
	assert_int_equal(b->ledger.cpu.samples, 1);
	assert_int_equal(b->ledger.calls.wait_ns, 27);
	assert_int_equal(b->ledger.calls.timed, 1);
	assert_int_equal(b->ledger.calls.timed_ns, 40);
	assert_int_equal(b->ledger.outside.calls, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

/*
 * Takes turns at random times, and lets a copy of the sink, in another process, have each result:
 * items that came late, long before the turn's start, too.
 */
static void results_in_turns_have_each_item_once(void **state)
{
	enum { TURNS = 20, ITEMS = 700, TURN_NS = 1000 };
	struct bench *b = *state;
	struct time_range all = {0};
	uint64_t *kernels = mmap(NULL, sizeof(*kernels), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t added = 0, end, before;

	assert_ptr_not_equal(kernels, MAP_FAILED);
	b->sink.takes_turns = true;
	assert_true(profile_sink_keep(&b->sink));
	for (uint64_t turn = 1; turn <= TURNS; turn++) {
		uint64_t now_ns = turn * TURN_NS;
		struct time_range part = {.from_ns = now_ns - TURN_NS, .to_ns = now_ns};
		pid_t child;
		int status;

		profile_sink_advance(&b->sink, now_ns + TURN_NS / 2, 0);
		for (uint32_t i = 0; i < ITEMS; i++, added++)
			kernel(b, i ? (uint64_t)rand() % (now_ns + TURN_NS / 2) : UINT64_MAX - 1,
			       1);
		end = profile_sink_end(&b->sink);
		before = *kernels;
		child = fork();
		assert_true(child >= 0);
		if (child == 0) {
			profile_sink_close(&b->sink);
			kernel(b, 1, 1); /* decided in the copy, so not part of it */
			profile_sink_finish(&b->sink, &part);
			*kernels += b->ledger.gpu.kernels;
			_exit(b->ledger.outside.before != 0);
		}
		kernel(b, 1, 1); /* came meanwhile, so it is not in the copy */
		added++;
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		if (turn % 4) /* else it could not be written */
			profile_sink_take(&b->sink, now_ns, end);
		else
			*kernels = before;
	}
	assert_true(flight_recorder_count(b->sink.recorder) < 3 * ITEMS + 4096);
	profile_sink_finish(&b->sink, &all);
	assert_int_equal(b->ledger.outside.before, 0);
	assert_int_equal(*kernels + b->ledger.gpu.kernels, added);
	munmap(kernels, sizeof(*kernels));
}

/* A full recorder drops items of one turn: no later result counts them, or calls of another. */
static void results_in_turns_count_what_was_dropped_once(void **state)
{
	struct bench *b = *state;
	struct time_range last = {.from_ns = 200};

	b->sink.takes_turns = true;
	assert_true(profile_sink_keep(&b->sink));
	profile_sink_advance(&b->sink, 100, 0);
	for (uint32_t i = 0; i < FLIGHT_RECORDER_PIECE; i++)
		kernel(b, 10, 1);
	add(b, TIMELINE_CALL, 150, 7, 0, ITEM_COUNTS | ITEM_ROW);
	flight_recorder_forget(b->sink.recorder, 50);
	profile_sink_take(&b->sink, 200, profile_sink_end(&b->sink));
	profile_sink_advance(&b->sink, 300, 0);
	kernel(b, 250, 1);
	add(b, TIMELINE_CALL, 250, 7, 0, ITEM_COUNTS | ITEM_ROW);
	profile_sink_finish(&b->sink, &last);
	assert_int_equal(b->ledger.gpu.kernels, 1);
	assert_int_equal(b->ledger.outside.before, 0);
	assert_int_equal(b->ledger.outside.before_ns, 0);
	assert_int_equal(b->ledger.calls.timed, 1);
	assert_int_equal(b->ledger.outside.calls, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(items_are_taken_in_at_once),
		TEST(items_represent_others),
		TEST(only_what_begins_in_the_time_range_is_taken_in),
		TEST(what_was_forgotten_is_counted),
		TEST(notes_go_to_who_takes_them),
		TEST(counts_so_far_are_of_all),
		TEST(results_in_turns_have_each_item_once),
		TEST(results_in_turns_count_what_was_dropped_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
