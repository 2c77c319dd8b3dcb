/* SPDX-License-Identifier: MIT */
/* Samples of kernels: their time is split, and none is added or lost. */
#include "unit.h"
#include "profiler/addons/pc_samples.h"
#include "profiler/model/pseudo_frames.h"
#include "symbolize/util/text.h"

enum { SUMS = 4096, PARTS = 2000 };
#define CUBIN "build/tests/cubins/lines.cubin"

struct bench {
	struct pc_samples samples;
	struct profile_sink sink;
	struct ledger_stalls ledger;
	struct quota memory;
	struct intern strings;
	struct stack_table *stacks;
	struct profile *profile;
	struct result_tables tables;
};

static const char *keep(void *context, const char *text)
{
	return intern_string(context, text);
}

static void take_note(void *context, const struct profile_item *note)
{
	pc_samples_note(context, note);
}

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	b->memory.limit = 64 << 20;
	b->samples = (struct pc_samples){.max = SUMS,
					 .offsets_max = SUMS,
					 .parts_max = PARTS,
					 .memory = &b->memory,
					 .ledger = &b->ledger,
					 .sink = &b->sink,
					 .keep = keep,
					 .context = &b->strings};
	b->sink = (struct profile_sink){.take_note = take_note, .context = &b->samples};
	b->stacks = stack_table_new();
	b->profile = profile_new();
	*state = b;
	return b->stacks && b->profile ? 0 : -1;
}

static int end(void **state)
{
	struct bench *b = *state;

	pc_samples_release(&b->samples);
	stack_table_free(b->stacks);
	profile_free(b->profile);
	result_tables_release(&b->tables);
	intern_release(&b->strings);
	free(b);
	return 0;
}

/* Adds `count` events that take `ns` together. */
static void add_rows(struct bench *b, enum row_kind kind, struct stack_id stack,
		     struct place_id place, uint64_t count, uint64_t ns)
{
	profile_add(b->profile, kind, stack, place, ns, 0);
	while (--count > 0)
		profile_add(b->profile, kind, stack, place, 0, 0);
}

static void give_reason(struct bench *b, uint32_t process, uint32_t id, const char *name)
{
	assert_int_equal(
		pc_samples_add_reason(&b->samples, process, &(struct gpu_event_stall){id, name}),
		0);
}

/* Gives a sample below the stack of a launch and its kernel. */
static void give_sample_of(struct bench *b, struct stack_id stack, const char *function,
			   uint64_t crc, uint32_t pc, uint32_t reason, uint64_t samples)
{
	const struct gpu_pc_count count = {pc, reason, samples};
	uint32_t number = pc_samples_hold(
		&b->samples, 1,
		&(struct gpu_event_pcs){.cubin_crc = crc, .count = 1, .counts = &count},
		keep(&b->strings, function));

	assert_int_not_equal(number, PC_SAMPLES_NONE);
	pc_samples_place(&b->samples, number, stack);
}

static void give_sample(struct bench *b, uint32_t process, const char *function, uint64_t crc,
			uint32_t pc, uint32_t reason, uint64_t samples)
{
	const struct gpu_pc_count count = {pc, reason, samples};

	assert_int_equal(pc_samples_add(&b->samples, process,
					&(struct gpu_event_pcs){
						.cubin_crc = crc, .count = 1, .counts = &count},
					keep(&b->strings, function)),
			 0);
}

/* Returns the stack of a kernel below a launch. */
static struct stack_id kernel(struct bench *b, const char *launch, const char *name)
{
	struct stack_id stack =
		stack_table_push_text(b->stacks, STACK_EMPTY, FRAME_API, keep(&b->strings, launch));

	return stack_table_push_text(b->stacks, stack, FRAME_GPU_KERNEL, keep(&b->strings, name));
}

/* Returns the ns below a stack with the frames "launch;kernel;...", innermost last, or 0. */
static uint64_t ns_of(const struct bench *b, const char *path)
{
	uint32_t count;
	const struct profile_row *rows = profile_rows(b->profile, &count);
	uint64_t ns = 0;

	for (uint32_t i = 0; i < count; i++) {
		char text[512] = "";

		for (struct stack_id s = rows[i].stack; !same_id(s, STACK_EMPTY);
		     s = stack_table_outer(b->stacks, s)) {
			const struct frame *f = stack_table_frame(b->stacks, s);
			char longer[600];

			snprintf(longer, sizeof(longer), "%s%s%s",
				 f->kind == FRAME_GPU_LINE ? base_name(f->text) : f->text,
				 text[0] ? ";" : "", text);
			snprintf(text, sizeof(text), "%.511s", longer);
		}
		if (strcmp(text, path) == 0)
			ns += rows[i].ns;
	}
	return ns;
}

static void time_is_split_by_reasons(void **state)
{
	struct bench *b = *state;

	give_reason(b, 1, 1, "smsp__pcsamp_warps_issue_stalled_long_scoreboard");
	give_reason(b, 1, 2, "smsp__pcsamp_warps_issue_stalled_selected");
	give_reason(b, 1, 3, "of_another;kind");
	give_sample(b, 1, "k", 5, 16, 1, 70);
	give_sample(b, 1, "k", 5, 32, 1, 10);
	give_sample(b, 1, "k", 5, 32, 2, 10);
	give_sample(b, 1, "k", 5, 48, 3, 10);
	give_sample(b, 1, "no_kernel", 5, 48, 3, 7);
	add_rows(b, ROW_GPU, kernel(b, "one", "k"), PLACE_ID(3), 4, 1000);
	add_rows(b, ROW_GPU, kernel(b, "two", "k"), PLACE_ID(3), 4, 7);
	add_rows(b, ROW_GPU, kernel(b, "two", "other"), PLACE_ID(3), 4, 500);
	/* no time of the GPU */
	add_rows(b, ROW_WAIT, kernel(b, "one", "k"), PLACE_ID(3), 4, 900);
	pc_samples_split(&b->samples, b->stacks, b->profile, &b->tables);
	assert_int_equal(ns_of(b, "one;k;[stall: long scoreboard]"), 800);
	assert_int_equal(ns_of(b, "one;k;[selected]"), 100);
	assert_int_equal(ns_of(b, "one;k;[stall: of another kind]"), 100);
	assert_int_equal(ns_of(b, "one;k"), 900);
	assert_int_equal(ns_of(b, "two;k;[stall: long scoreboard]") + ns_of(b, "two;k;[selected]") +
				 ns_of(b, "two;k;[stall: of another kind]"),
			 7);
	assert_int_equal(ns_of(b, "two;other"), 500);
	assert_int_equal(b->ledger.samples, 100);
	assert_int_equal(b->ledger.unmatched, 7);
	assert_int_equal(b->ledger.split_ns, 1007);
}

static void expect_samples(const struct bench *b, const char *reason, uint32_t offset,
			   uint64_t samples)
{
	const struct result_table *table =
		&b->tables.list[stall_places_table.field - RESULT_TABLES_FIRST];
	uint64_t found = 0;

	for (uint32_t i = 0; i < table->count; i++) {
		const struct stall_place *place = result_table_row(table, &stall_places_table, i);

		assert_string_equal(place->kernel, "k");
		if (strcmp(place->reason, reason) == 0 && place->offset == offset) {
			assert_int_equal(found, 0);
			found = place->samples;
		}
	}
	assert_int_equal(found, samples);
}

/* The largest of each kernel and reason, with the sum of all; though there are no lines. */
static void instructions_are_listed(void **state)
{
	struct bench *b = *state;
	struct stack_id one = kernel(b, "one", "k");

	give_reason(b, 1, 1, "wait");
	give_reason(b, 1, 2, "barrier");
	for (uint32_t i = 0; i < 10; i++)
		give_sample(b, 1, "k", 5, i * 16, 1, 10 + i);
	give_sample_of(b, one, "k", 5, 9 * 16, 1, 100);
	give_sample_of(b, one, "k", 6, 9 * 16, 1, 100); /* another version */
	give_sample(b, 1, "k", 5, 0xa0, 2, 5);
	give_sample(b, 1, "k", 5, UINT32_MAX, 2, 50);
	give_sample(b, 1, "no_kernel", 5, 0xa0, 2, 5);
	add_rows(b, ROW_GPU, one, PLACE_ID(3), 4, 1000);
	pc_samples_split(&b->samples, b->stacks, b->profile, &b->tables);
	assert_int_equal(result_tables_at(&b->tables, &stall_places_table)->count, 4 + 2);
	expect_samples(b, "[stall: wait]", STALL_PLACE_ALL, 145 + 200);
	expect_samples(b, "[stall: wait]", 9 * 16, 219);
	expect_samples(b, "[stall: wait]", 8 * 16, 18);
	expect_samples(b, "[stall: wait]", 7 * 16, 17);
	expect_samples(b, "[stall: barrier]", STALL_PLACE_ALL, 55);
	expect_samples(b, "[stall: barrier]", 0xa0, 5);
	assert_int_equal(b->samples.sums.count, 3 + 1 + 1);
	assert_int_equal(b->ledger.unlocated, 0);
}

/* Ids are of processes; what they count is of all. */
static void processes_number_reasons_themselves(void **state)
{
	struct bench *b = *state;

	give_reason(b, 1, 1, "smsp__pcsamp_warps_issue_stalled_wait");
	give_reason(b, 2, 1, "smsp__pcsamp_warps_issue_stalled_barrier");
	give_sample(b, 1, "k", 5, 16, 1, 1);
	give_sample(b, 2, "k", 5, 16, 1, 3);
	give_sample(b, 3, "k", 5, 16, 1, 4); /* a process that did not define its reasons */
	add_rows(b, ROW_GPU, kernel(b, "one", "k"), PLACE_ID(3), 1, 80);
	pc_samples_split(&b->samples, b->stacks, b->profile, &b->tables);
	assert_int_equal(ns_of(b, "one;k;[stall: wait]"), 10);
	assert_int_equal(ns_of(b, "one;k;[stall: barrier]"), 30);
	assert_int_equal(ns_of(b, "one;k;[other stalls]"), 40);
}

/* Whatever the samples: the sums of each launch and kernel stay as they were, to the ns. */
static void no_time_is_added_or_lost(void **state)
{
	static const char *const launches[] = {"a", "b", "c", "d"};
	uint64_t rounds = unit_rounds(200);

	(void)state;
	for (uint64_t round = 0; round < rounds; round++) {
		struct prng p = prng_round(round);
		uint64_t before = 0, after = 0, counted = 0;
		uint32_t count;
		const struct profile_row *rows;
		struct bench *b;
		void *made;

		assert_int_equal(begin(&made), 0);
		b = made;
		for (uint32_t id = 1; id < 20; id++) {
			char name[40];

			snprintf(name, sizeof(name), "reason_%u", id);
			give_reason(b, 1, id, name);
		}
		for (uint64_t i = prng_below(&p, 2000); i > 0; i--) {
			uint64_t crc = prng_below(&p, 3);
			uint32_t pc = (uint32_t)prng_below(&p, 100);
			uint32_t reason = 1 + (uint32_t)prng_below(&p, 19);
			uint64_t samples =
				prng_chance(&p, 5) ? prng_bits(&p, 62) + 1 : prng_below(&p, 9) + 1;
			char name[16];

			snprintf(name, sizeof(name), "k%u", (unsigned)prng_below(&p, 5));
			if (prng_chance(&p, 50))
				give_sample(b, 1, name, crc, pc, reason, samples);
			else
				give_sample_of(b, kernel(b, launches[prng_below(&p, 4)], name),
					       name, crc, pc, reason, samples);
		}
		for (uint64_t i = prng_below(&p, 200); i > 0; i--) {
			uint64_t ns = prng_bits(&p, (unsigned)prng_below(&p, 50));
			char name[16];

			snprintf(name, sizeof(name), "k%u", (unsigned)prng_below(&p, 7));
			add_rows(b, ROW_GPU, kernel(b, launches[prng_below(&p, 4)], name),
				 PLACE_ID((uint32_t)prng_below(&p, 3)), 2, ns);
			before += ns;
			counted += 2;
		}
		pc_samples_split(&b->samples, b->stacks, b->profile, &b->tables);
		rows = profile_rows(b->profile, &count);
		assert_true(count <= ROW_KINDS + PARTS + 4 * 7 * 3);
		for (uint32_t i = 0; i < count; i++) {
			after += rows[i].ns;
			counted -= rows[i].count;
		}
		assert_int_equal(after, before);
		assert_int_equal(counted, 0);
		end(&made);
	}
}

/* Many places of many launches: the small ones are one. */
static void parts_are_bounded(void **state)
{
	struct bench *b = *state;
	uint32_t count;

	give_reason(b, 1, 1, "wait");
	for (uint32_t id = 2; id < 200; id++) {
		char name[40];

		snprintf(name, sizeof(name), "reason %u", id);
		give_reason(b, 1, id, name);
		give_sample(b, 1, "k", 5, 0, id, 1);
	}
	give_sample(b, 1, "k", 5, 0, 1, 1000000);
	for (uint32_t i = 0; i < 500; i++) {
		char name[16];

		snprintf(name, sizeof(name), "launch %u", i);
		add_rows(b, ROW_GPU, kernel(b, name, "k"), PLACE_ID(0), 1, 1000198);
	}
	pc_samples_split(&b->samples, b->stacks, b->profile, &b->tables);
	profile_rows(b->profile, &count);
	assert_in_range(count, 1000, ROW_KINDS + 500 + PARTS);
	assert_int_equal(ns_of(b, "launch 7;k;[stall: wait]"), 1000000);
	assert_true(ns_of(b, "launch 7;k;[other stalls]") > 100);
}

static uint32_t hold(struct bench *b, const char *function, uint32_t pc, uint64_t samples)
{
	const struct gpu_pc_count counts[2] = {{pc, 1, samples}, {pc + 16, 2, samples}};

	return pc_samples_hold(
		&b->samples, 1,
		&(struct gpu_event_pcs){.cubin_crc = 5, .count = 2, .counts = counts},
		keep(&b->strings, function));
}

/* Waiting samples free their memory. Samples past the limit are dropped, and nothing breaks. */
static void samples_wait_for_their_launch(void **state)
{
	struct bench *b = *state;
	struct stack_id one = kernel(b, "one", "k"), two = kernel(b, "two", "k");
	uint32_t numbers[100];

	give_reason(b, 1, 1, "wait");
	give_reason(b, 1, 2, "barrier");
	add_rows(b, ROW_GPU, one, PLACE_ID(0), 1, 100);
	add_rows(b, ROW_GPU, two, PLACE_ID(0), 1, 100);
	for (uint32_t i = 0; i < 100; i++)
		numbers[i] = hold(b, i & 1 ? "k" : "other", i, 1 + i);
	for (uint32_t i = 0; i < 100; i++) {
		assert_string_equal(pc_samples_function(&b->samples, numbers[i]),
				    i & 1 ? "k" : "other");
		pc_samples_place(&b->samples, numbers[i], STACK_EMPTY);
	}
	assert_true(hold(b, "k", 1, 1) < 100); /* a place that is free again */
	b->memory.limit = b->memory.used;
	assert_int_equal(hold(b, "k", 1, 1), PC_SAMPLES_NONE);
	assert_int_equal(hold(b, "k", 1, 1), PC_SAMPLES_NONE);
	pc_samples_split(&b->samples, b->stacks, b->profile, &b->tables);
	assert_int_equal(ns_of(b, "one;k;[stall: wait]"), 50);
	assert_int_equal(ns_of(b, "two;k;[stall: barrier]"), 50);
	assert_int_equal(b->ledger.lost, 0);
}

/* Without room for sums of launches, they are at least in their kernel's. */
static void launches_without_room_have_the_mean(void **state)
{
	struct bench *b = *state;
	struct stack_id one = kernel(b, "one", "k"), two = kernel(b, "two", "k");

	b->samples.is_exact = true;
	give_reason(b, 1, 1, "wait");
	give_reason(b, 1, 2, "barrier");
	add_rows(b, ROW_GPU, one, PLACE_ID(0), 1, 100);
	add_rows(b, ROW_GPU, two, PLACE_ID(0), 1, 100);
	pc_samples_place(&b->samples, hold(b, "k", 0, 1), STACK_EMPTY);
	pc_samples_place(&b->samples, hold(b, "k", 0, 1), one);
	b->memory.limit = b->memory.used + 2 * sizeof(struct gpu_pc_count);
	pc_samples_place(&b->samples, hold(b, "k", 0, 4), two);
	assert_int_equal(b->ledger.lost, 0);
	pc_samples_split(&b->samples, b->stacks, b->profile, &b->tables);
	assert_int_equal(b->ledger.samples, 12);
	assert_int_equal(b->ledger.placed, 2);
	assert_int_equal(b->ledger.mean_ns, 100);
	assert_int_equal(b->ledger.split_ns, 200);
}

static void what_has_no_room_is_counted(void **state)
{
	struct bench *b = *state;

	give_reason(b, 1, 1, "wait");
	for (uint32_t i = 0; i < SUMS + 10; i++) {
		char name[16];

		snprintf(name, sizeof(name), "k%u", i);
		give_sample(b, 1, name, 5, i, 1, 2);
	}
	assert_int_equal(b->ledger.lost, 20);
	assert_int_equal(b->ledger.unlocated, 20);
	give_sample(b, 1, "k0", 5, 0, 1, 2); /* a place that is there */
	assert_int_equal(b->ledger.lost, 20);
	assert_int_equal(b->ledger.unlocated, 20);
	pc_samples_add_totals(&b->samples, &(struct gpu_event_pc_totals){.period = 14,
									 .taken = UINT64_MAX,
									 .dropped = 3,
									 .other = 4,
									 .lost = 5,
									 .overflows = 6,
									 .cubins_left_out = 7});
	pc_samples_add_totals(&b->samples, &(struct gpu_event_pc_totals){.period = 14, .taken = 1});
	assert_int_equal(b->ledger.taken, UINT64_MAX);
	assert_int_equal(b->ledger.dropped, 3);
	assert_int_equal(b->ledger.lost, 25);
	assert_int_equal(b->ledger.overflows, 6);
	assert_int_equal(b->ledger.cubins_left_out, 7);
}

/* Bounds that nobody has chosen are those of the header, which are larger. */
static void the_usual_bounds(void **state)
{
	struct bench *b = *state;

	b->samples.max = b->samples.offsets_max = b->samples.parts_max = 0;
	give_reason(b, 1, 1, "wait");
	for (uint32_t i = 0; i < SUMS + 10; i++) {
		char name[16];

		snprintf(name, sizeof(name), "k%u", i);
		give_sample(b, 1, name, 5, i, 1, 2);
	}
	assert_int_equal(b->ledger.lost, 0);
	assert_int_equal(b->ledger.unlocated, 0);
}

/* Sends a file in pieces, as the library would, and some of them not. */
static void add_cubin(struct bench *b, uint32_t process, const uint8_t *bytes, size_t size,
		      size_t left_out)
{
	for (size_t at = 0, i = 0; at < size; at += GPU_CUBIN_PIECE, i++) {
		struct gpu_event_cubin e = {.crc = 5,
					    .size = (uint32_t)size,
					    .offset = (uint32_t)at,
					    .count = GPU_CUBIN_PIECE,
					    .bytes = bytes + at};

		if (e.count > size - at)
			e.count = (uint32_t)(size - at);
		if (i != left_out)
			assert_int_equal(pc_samples_add_cubin(&b->samples, process, &e), 0);
	}
}

static uint8_t *read_cubin(size_t *size)
{
	static uint8_t bytes[1 << 20];
	FILE *file = fopen(CUBIN, "re");

	if (!file) {
		print_message("SKIP: no nvcc made " CUBIN "\n");
		skip();
	}
	*size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	return bytes;
}

static void places_have_lines(void **state)
{
	struct bench *b = *state;
	size_t size;
	uint8_t *bytes = read_cubin(&size);
	uint64_t with_lines = 0;
	uint32_t count;

	add_cubin(b, 1, bytes, size, SIZE_MAX);
	add_cubin(b, 2, (const uint8_t *)"another's", 9, SIZE_MAX); /* another process's */
	give_reason(b, 1, 1, "wait");
	for (uint32_t pc = 0; pc < 0x200; pc += 16)
		give_sample(b, 1, "_Z4tinyy", 5, pc, 1, 1);
	give_sample(b, 1, "_Z4tinyy", 6, 0, 1, 1); /* a cubin that is not known */
	add_rows(b, ROW_GPU, kernel(b, "one", "_Z4tinyy"), PLACE_ID(3), 1, 33000);
	pc_samples_split(&b->samples, b->stacks, b->profile, &b->tables);
	assert_int_equal(b->ledger.cubins_left_out, 0);
	assert_int_equal(b->ledger.with_lines, 32);
	assert_int_equal(ns_of(b, "one;_Z4tinyy;[stall: wait]"), 1000);
	assert_true(ns_of(b, "one;_Z4tinyy;lines.cu;[stall: wait]") > 0);
	assert_true(
		ns_of(b, "one;_Z4tinyy;_Z7inlinedPKjj;_Z9innermostPKjj;lines.cu;[stall: wait]") >
		0);
	profile_rows(b->profile, &count);
	for (uint32_t i = 0; i < count; i++) {
		const struct profile_row *row = &profile_rows(b->profile, &count)[i];
		struct stack_id line = stack_table_outer(b->stacks, row->stack);

		if (!same_id(line, STACK_EMPTY) &&
		    stack_table_frame(b->stacks, line)->kind == FRAME_GPU_LINE) {
			assert_true(stack_table_frame(b->stacks, line)->line > 0);
			with_lines += row->ns;
		}
	}
	assert_int_equal(with_lines, 32000);
}

static void a_cubin_with_a_hole_has_no_lines(void **state)
{
	struct bench *b = *state;
	size_t size;
	uint8_t *bytes = read_cubin(&size);

	add_cubin(b, 1, bytes, size, 0);
	give_reason(b, 1, 1, "wait");
	give_sample(b, 1, "_Z4tinyy", 5, 0, 1, 1);
	add_rows(b, ROW_GPU, kernel(b, "one", "_Z4tinyy"), PLACE_ID(3), 1, 33000);
	pc_samples_split(&b->samples, b->stacks, b->profile, &b->tables);
	assert_int_equal(b->ledger.with_lines, 0);
	assert_int_equal(b->ledger.cubins_left_out, 1);
	assert_int_equal(ns_of(b, "one;_Z4tinyy;[stall: wait]"), 33000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(time_is_split_by_reasons),
		TEST(processes_number_reasons_themselves),
		cmocka_unit_test(no_time_is_added_or_lost),
		TEST(instructions_are_listed),
		TEST(parts_are_bounded),
		TEST(samples_wait_for_their_launch),
		TEST(launches_without_room_have_the_mean),
		TEST(what_has_no_room_is_counted),
		TEST(the_usual_bounds),
		TEST(places_have_lines),
		TEST(a_cubin_with_a_hole_has_no_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
