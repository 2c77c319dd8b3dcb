/* SPDX-License-Identifier: MIT */
/* A result as an output shows it: a part of the run, with places at the root. */
#include "random_result.h"
#include "profiler/output/view.h"

static struct view *open_view(const struct result *result, const struct view_options *options)
{
	struct view *view = view_new(result, options, folder, NULL);

	assert_non_null(view);
	return view;
}

/* "main;work", from the root on */
static const char *path_of(const struct result *r, uint32_t stack)
{
	static char text[4][4096];
	static int turn;
	char *at = text[turn = (turn + 1) % 4];
	uint32_t frames[64], count = 0;

	for (; stack != RESULT_ROOT; stack = r->stacks[stack].outer) {
		assert_true(count < 64);
		frames[count++] = r->stacks[stack].frame;
	}
	at[0] = '\0';
	while (count-- > 0)
		snprintf(at + strlen(at), 4096 - strlen(at), "%s%s", at[0] ? "\1" : "",
			 r->frames[frames[count]].name);
	return at;
}

struct sums {
	uint64_t count, ns, bytes;
};

static struct sums sums_of(const struct result *r, enum row_kind kind, const char *path)
{
	struct sums sums = {0, 0, 0};

	for (uint32_t i = 0; i < r->row_count; i++) {
		const struct row *row = &r->rows[i];

		if (row->kind != kind || (path && strcmp(path_of(r, row->stack), path) != 0))
			continue;
		sums.count += row->count;
		sums.ns += row->ns;
		sums.bytes += row->bytes;
	}
	return sums;
}

static void groups_are_at_the_root(void **state)
{
	struct made_result m;
	struct view_options options = {.by.count = 0};
	struct place app = place_unknown(), gpu;
	struct view *view;
	const struct result *r;

	(void)state;
	made_begin(&m);
	app.part[PLACE_PROCESS] = 1;
	gpu = app;
	gpu.part[PLACE_DEVICE] = 0;
	place_names_add_process(&m.place_names, &(struct process_info){1, 7, "app 7"});
	made_add_at(&m, &(struct row){.stack = MADE_STACK(&m, "main", "work"), .ns = 1000}, app);
	made_add_at(&m,
		    &(struct row){.kind = ROW_GPU, .stack = MADE_STACK(&m, "main", "k"), .ns = 3},
		    gpu);
	assert_false(view_changes(&options));
	assert_true(grouping_parse("process,device", &options.by));
	assert_true(view_changes(&options));
	view = open_view(&m.result, &options);
	r = view_result(view);
	assert_int_equal(r->row_count, 2);
	assert_string_equal(path_of(r, r->rows[0].stack), "app 7\1main\1work");
	assert_string_equal(path_of(r, r->rows[1].stack), "app 7\1GPU 0\1main\1k");
	assert_int_equal(r->frames[r->stacks[1].frame].class, CLASS_NATIVE);
	for (uint32_t i = m.result.frame_count; i < r->frame_count; i++)
		assert_int_equal(r->frames[i].class, CLASS_PLACE);
	assert_null(r->totals.slice);
	view_free(view);
	made_end(&m);
}

static void a_stack_may_be_very_deep(void **state)
{
	enum { DEPTH = 20000 };
	struct made_result m;
	struct view_options options = {.by.count = 0};
	uint32_t stack = RESULT_ROOT, depth = 0;
	struct view *view;

	(void)state;
	made_begin(&m);
	for (int i = 0; i < DEPTH; i++)
		stack = made_push(&m, stack, "deep");
	made_add_at(&m, &(struct row){.stack = stack, .ns = 5}, (struct place){{1, 1, 1, 1, 1}});
	assert_true(grouping_parse("stream", &options.by));
	view = open_view(&m.result, &options);
	for (stack = view_result(view)->rows[0].stack; stack; depth++)
		stack = view_result(view)->stacks[stack].outer;
	assert_int_equal(depth, DEPTH + 1);
	view_free(view);
	made_end(&m);
}

static void without_memory_the_time_stays(void **state)
{
	struct made_result m;
	struct view_options options = {.by.count = 0};
	struct allowance memory = {.limit = 3000};
	struct view *view;

	(void)state;
	made_begin(&m);
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t stack = made_push(&m, made_push(&m, RESULT_ROOT, "main"), "f");

		made_add_at(&m, &(struct row){.stack = stack, .count = 1, .ns = 5},
			    (struct place){{i, i, i, i, i}});
	}
	assert_true(grouping_parse("stream,context", &options.by));
	view = view_new(&m.result, &options, folder, &memory);
	assert_non_null(view);
	assert_int_equal(sums_of(view_result(view), ROW_CPU, NULL).ns, 500);
	assert_true(sums_of(view_result(view), ROW_CPU, MARK_TOO_MANY_STACKS).ns > 0);
	assert_true(view_result(view)->unnamed.not_kept > 0);
	view_free(view);
	assert_int_equal(memory.used, 0);
	made_end(&m);
}

static void a_time_needs_a_timeline(void **state)
{
	struct made_result m;
	struct view_options options = {.by.count = 0};

	(void)state;
	made_begin(&m);
	assert_true(slice_parse_time("1..2", &options.slice));
	errno = 0;
	assert_null(view_new(&m.result, &options, folder, NULL));
	assert_int_equal(errno, ENODATA);
	made_end(&m);
}

/* ---- random results ---- */

static const char *group_text(const struct random_result *r, const struct grouping *g,
			      uint32_t place, char text[2048])
{
	char part[GROUPING_TEXT_BYTES];

	text[0] = '\0';
	for (uint8_t i = 0; i < g->count; i++)
		if (grouping_text(&r->made.place_names, &r->made.devices,
				  &r->made.places.list[place], (enum place_part)g->parts[i], part))
			snprintf(text + strlen(text), 2048 - strlen(text), "%s%s",
				 text[0] ? "\1" : "", part);
	return text;
}

/* Each row is where the model says; and no more. */
static void check_groups(struct prng *p, const struct random_result *r)
{
	struct view_options options = {.by.count = 0};
	const struct result *base = &r->made.result, *shown;
	struct view *view;
	uint64_t ns = 0, ns_shown = 0;

	for (uint8_t part = 0; part < PLACE_PARTS; part++)
		if (prng_chance(p, 50))
			options.by.parts[options.by.count++] = part;
	view = open_view(base, &options);
	shown = view_result(view);
	for (uint32_t i = 0; i < base->row_count; i++) {
		const struct row *row = &base->rows[i];
		struct sums want = {0, 0, 0}, got;
		char path[8192], other[2048];
		uint32_t j;

		group_text(r, &options.by, row->place, path);
		snprintf(path + strlen(path), sizeof(path) - strlen(path), "%s%s",
			 path[0] && row->stack ? "\1" : "", path_of(base, row->stack));
		for (j = 0; j < base->row_count; j++) {
			char full[8192];

			group_text(r, &options.by, base->rows[j].place, other);
			snprintf(full, sizeof(full), "%s%s%s", other,
				 other[0] && base->rows[j].stack ? "\1" : "",
				 path_of(base, base->rows[j].stack));
			if (base->rows[j].kind == row->kind && strcmp(full, path) == 0) {
				want.ns += base->rows[j].ns;
				want.bytes += base->rows[j].bytes;
			}
		}
		got = sums_of(shown, (enum row_kind)row->kind, path);
		EXPECT(p, got.ns == want.ns && got.bytes == want.bytes);
		ns += row->ns;
	}
	for (uint32_t i = 0; i < shown->row_count; i++)
		ns_shown += shown->rows[i].ns;
	EXPECT(p, ns == ns_shown);
	view_free(view);
}

/* What lies between two moments of a record. */
static uint64_t part_of(const struct timeline_record *record, uint64_t from, uint64_t to)
{
	uint64_t start = record->start_ns, end = start + record->duration_ns;

	start = start < from ? from : start;
	end = end > to ? to : end;
	return end > start ? end - start : 0;
}

static void check_times(struct prng *p, const struct random_result *r)
{
	static const enum row_kind kinds[] = {ROW_CPU, ROW_KINDS, ROW_GPU, ROW_WAIT, ROW_CALL};
	struct view_options options = {.slice.has_time = true, .slice.time_text = "x"};
	struct sums whole[ROW_KINDS] = {{0, 0, 0}}, parts[ROW_KINDS] = {{0, 0, 0}};
	uint64_t at = 0;

	for (int kind = 0; kind < ROW_KINDS; kind++)
		whole[kind] = sums_of(&r->made.result, (enum row_kind)kind, NULL);
	while (at < UINT64_MAX) { /* parts that adjoin */
		struct view *view;
		uint64_t want[ROW_KINDS + 1] = {0}, records = 0;

		options.slice.from_ns = at;
		at = at > RANDOM_RUN_NS ? UINT64_MAX : at + 1 + prng_below(p, RANDOM_RUN_NS / 2);
		options.slice.to_ns = at;
		view = open_view(&r->made.result, &options);
		for (uint32_t i = 0; i < r->record_count; i++)
			want[kinds[r->records[i].kind]] +=
				part_of(&r->records[i], RANDOM_START_NS + options.slice.from_ns,
					at == UINT64_MAX ? at : RANDOM_START_NS + at);
		for (int kind = 0; kind < ROW_KINDS; kind++) {
			struct sums s = sums_of(view_result(view), (enum row_kind)kind, NULL);

			EXPECT(p, s.ns == want[kind]);
			parts[kind].ns += s.ns;
			parts[kind].count += s.count;
			parts[kind].bytes += s.bytes;
		}
		records = timeline_stats(view_result(view)->timeline).records;
		EXPECT(p, records <= r->record_count);
		view_free(view);
	}
	for (int kind = 0; kind < ROW_KINDS; kind++)
		EXPECT(p, memcmp(&whole[kind], &parts[kind], sizeof(whole[kind])) == 0);
}

static void check_kernels(struct prng *p, const struct random_result *r)
{
	struct view_options options = {.by.count = 0};
	char error[SLICE_ERROR_BYTES];
	struct view *view;
	uint64_t want = 0;

	assert_true(slice_parse_match("^soft", false, &options.slice.kernel, error));
	view = open_view(&r->made.result, &options);
	for (uint32_t i = 0; i < r->made.result.row_count; i++) {
		const struct row *row = &r->made.result.rows[i];

		if (row->kind == ROW_GPU &&
		    strstr(path_of(&r->made.result, row->stack), "]softmax"))
			want += row->ns;
	}
	EXPECT(p, sums_of(view_result(view), ROW_GPU, NULL).ns == want);
	EXPECT(p, sums_of(view_result(view), ROW_CPU, NULL).count == 0);
	EXPECT(p, strcmp(view_result(view)->totals.slice, "--kernel ^soft") == 0);
	view_free(view);
	slice_release(&options.slice);
}

/* The records of a part, and their stacks. */
static void check_records(struct prng *p, const struct random_result *r)
{
	struct view_options options = {.by.count = 0};
	char error[SLICE_ERROR_BYTES];
	struct view *view;
	const struct result *shown;
	uint64_t number = 0;

	assert_true(slice_parse_match("1", true, &options.slice.parts[PLACE_STREAM], error));
	assert_true(grouping_parse("stream", &options.by));
	view = open_view(&r->made.result, &options);
	shown = view_result(view);
	for (uint32_t i = 0; i < r->record_count; i++) {
		struct timeline_record record;

		if (r->made.places.list[r->records[i].place].part[PLACE_STREAM] != 1)
			continue;
		assert_int_equal(timeline_read(shown->timeline, number++, &record), 0);
		EXPECT(p, record.start_ns == r->records[i].start_ns);
		EXPECT(p, strcmp(path_of(shown, result_record_stack(shown, &record)),
				 path_of(&r->made.result, r->records[i].stack)) == 0);
		if (record.shape)
			EXPECT(p, memcmp(timeline_shape(shown->timeline, record.shape),
					 timeline_shape(r->timeline, r->records[i].shape),
					 sizeof(struct timeline_shape)) == 0);
		EXPECT(p, !record.shape == !r->records[i].shape);
	}
	EXPECT(p, timeline_stats(shown->timeline).records == number);
	view_free(view);
	slice_release(&options.slice);
}

static void random_results_match_a_model(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_number("UNIT_ROUNDS", 100); round++) {
		struct prng p = prng_round(round);
		struct random_result r;

		random_begin(&p, &r);
		check_groups(&p, &r);
		check_times(&p, &r);
		check_kernels(&p, &r);
		check_records(&p, &r);
		random_end(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_are_at_the_root),
		cmocka_unit_test(a_stack_may_be_very_deep),
		cmocka_unit_test(without_memory_the_time_stays),
		cmocka_unit_test(a_time_needs_a_timeline),
		cmocka_unit_test(random_results_match_a_model),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
