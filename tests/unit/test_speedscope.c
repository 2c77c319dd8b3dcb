/* SPDX-License-Identifier: MIT */
/* cJSON parses the written profiles. */
#include "made_result.h"
#include "own_folder.h"
#include <cjson/cJSON.h>
#include "profiler/formats/writer.h"

static const struct writer_options no_options = {.unit_ns = 20e6};

static cJSON *write_and_parse(const struct made_result *m, struct written *written)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	cJSON *tree;

	assert_non_null(out);
	memset(written, 0xff, sizeof(*written)); /* says nothing yet */
	assert_int_equal(speedscope_writer.write(&m->result, &no_options, out, written), 0);
	fclose(out);
	assert_int_equal(strlen(text), size);
	assert_int_equal(text[size - 1], '\n');
	tree = cJSON_ParseWithOpts(text, NULL, true);
	assert_non_null(tree);
	free(text);
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(tree, "$schema")),
			    "https://www.speedscope.app/file-format-schema.json");
	return tree;
}

static const char *text_of(const cJSON *object, const char *key)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

static const cJSON *frame(const cJSON *tree, int number)
{
	const cJSON *shared = cJSON_GetObjectItem(tree, "shared");

	return cJSON_GetArrayItem(cJSON_GetObjectItem(shared, "frames"), number);
}

static int profile_count(const cJSON *tree)
{
	return cJSON_GetArraySize(cJSON_GetObjectItem(tree, "profiles"));
}

static const cJSON *profile(const cJSON *tree, int number)
{
	return cJSON_GetArrayItem(cJSON_GetObjectItem(tree, "profiles"), number);
}

static const cJSON *profile_named(const cJSON *tree, const char *name)
{
	const cJSON *found = NULL;

	for (int i = 0; i < profile_count(tree); i++) {
		if (strcmp(text_of(profile(tree, i), "name"), name) == 0) {
			assert_null(found);
			found = profile(tree, i);
		}
	}
	assert_non_null(found);
	return found;
}

/* Adds up the weights. Checks that each weight has a stack of existing frames. */
static uint64_t total_of(const cJSON *tree, const cJSON *profile)
{
	const cJSON *samples = cJSON_GetObjectItem(profile, "samples"), *sample, *number;
	const cJSON *weight = cJSON_GetObjectItem(profile, "weights")->child;
	int frames = cJSON_GetArraySize(
		cJSON_GetObjectItem(cJSON_GetObjectItem(tree, "shared"), "frames"));
	uint64_t total = 0;

	assert_string_equal(text_of(profile, "type"), "sampled");
	assert_string_equal(text_of(profile, "unit"), "nanoseconds");
	cJSON_ArrayForEach(sample, samples)
	{
		cJSON_ArrayForEach(number, sample) assert_in_range(number->valueint, 0, frames - 1);
		assert_non_null(weight);
		assert_true(weight->valuedouble > 0);
		total += (uint64_t)weight->valuedouble;
		weight = weight->next;
	}
	assert_null(weight);
	assert_true(cJSON_GetObjectItem(profile, "startValue")->valuedouble == 0);
	assert_true(cJSON_GetObjectItem(profile, "endValue")->valuedouble == (double)total);
	return total;
}

/* Returns the names of a profile's stack, as "outermost;...;innermost". */
static const char *path_of(const cJSON *tree, const cJSON *profile, int sample)
{
	static char text[1024];
	const cJSON *list = cJSON_GetArrayItem(cJSON_GetObjectItem(profile, "samples"), sample);
	const cJSON *number;
	size_t length = 0;

	text[0] = '\0';
	cJSON_ArrayForEach(number, list)
	{
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s",
					   length ? ";" : "",
					   text_of(frame(tree, number->valueint), "name"));
	}
	return text;
}

static double weight_of(const cJSON *profile, int sample)
{
	return cJSON_GetArrayItem(cJSON_GetObjectItem(profile, "weights"), sample)->valuedouble;
}

/* ---- tests ---- */

static void the_format_is_known_by_its_name(void **state)
{
	(void)state;
	assert_string_equal(speedscope_writer.name, "speedscope");
	assert_string_equal(speedscope_writer.suffix, ".speedscope.json");
	assert_int_equal(speedscope_writer.needs, NEEDS_TIMELINE);
	assert_false(speedscope_writer.has_units);
}

/* Equal stacks are one, and stacks are in the order of a walk through their tree. */
static void stacks_are_a_tree_in_order(void **state)
{
	uint32_t outer, inner, other, again;
	struct written written;
	struct made_result m;
	const cJSON *all;
	cJSON *tree;

	(void)state;
	made_begin(&m);
	m.result.totals.command = "./app \"x\"";
	outer = made_push(&m, RESULT_ROOT, "main");
	other = made_push(&m, RESULT_ROOT, "other");
	inner = made_push(&m, outer, "work");
	again = made_push(&m, other, "deep");
	made_add(&m, made_push(&m, inner, "[GPU_Kernel]k"), ROW_GPU, 1);
	made_add(&m, again, ROW_CPU, 2);
	made_add(&m, inner, ROW_CPU, 4);
	made_add(&m, outer, ROW_CPU, 8);
	made_add(&m, inner, ROW_WAIT, 16);
	made_add(&m, made_push(&m, outer, "nothing"), ROW_GPU, 0);
	made_add(&m, made_push(&m, outer, "last"), ROW_CALL, 32);
	made_add(&m, again, ROW_IDLE, 64);
	tree = write_and_parse(&m, &written);
	assert_string_equal(text_of(tree, "name"), "./app \"x\"");
	all = profile(tree, 0);
	assert_string_equal(text_of(all, "name"), "All, by stack");
	assert_int_equal(total_of(tree, all), 127);
	assert_int_equal(written.items, 5);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(all, "samples")), 5);
	assert_string_equal(path_of(tree, all, 0), "main");
	assert_string_equal(path_of(tree, all, 1), "main;work");
	assert_true(weight_of(all, 1) == 20);
	assert_string_equal(path_of(tree, all, 2), "main;work;[GPU_Kernel]k");
	assert_string_equal(path_of(tree, all, 3), "main;last");
	assert_string_equal(path_of(tree, all, 4), "other;deep");
	/* nothing is known of places: one for each kind */
	assert_int_equal(profile_count(tree), 1 + ROW_KINDS);
	assert_int_equal(total_of(tree, profile_named(tree, "CPU, by stack")), 14);
	assert_int_equal(total_of(tree, profile_named(tree, "GPU, by stack")), 1);
	assert_int_equal(total_of(tree, profile_named(tree, "Waiting, by stack")), 16);
	assert_int_equal(total_of(tree, profile_named(tree, "CUDA calls, by stack")), 32);
	assert_int_equal(total_of(tree, profile_named(tree, "Idle, by stack")), 64);
	assert_int_equal(written.total[ROW_CPU], 14);
	assert_int_equal(written.total[ROW_GPU], 1);
	assert_true(written.exact_ns == 127);
	cJSON_Delete(tree);
	made_end(&m);
}

static void threads_and_streams_have_their_own(void **state)
{
	const struct place places[] = {
		{{1, 12, PLACE_UNKNOWN, PLACE_UNKNOWN, PLACE_UNKNOWN}},
		{{1, 13, PLACE_UNKNOWN, PLACE_UNKNOWN, PLACE_UNKNOWN}},
		{{1, 12, 0, 1, 7}}, /* the launching thread does not matter */
		{{1, 13, 0, 1, 7}},
		{{1, 13, 0, 1, 8}},
		{{2, 13, 0, 1, 8}},
	};
	/* no timeline: nothing has an order of time, and nothing claims one */
	static const char *const names[] = {"CPU: app 4711, main 12, by stack",
					    "CPU: app 4711, [thread 13], by stack",
					    "GPU: app 4711, GPU 0, context 1, stream 7, by stack",
					    "GPU: app 4711, GPU 0, context 1, stream 8, by stack",
					    "GPU: GPU 0, context 1, stream 8, by stack"};
	static const uint64_t ns[] = {1, 2, 12, 16, 32};
	struct row row = {.count = 1};
	struct written written;
	struct made_result m;
	cJSON *tree;

	(void)state;
	made_begin(&m);
	place_names_add_process(&m.place_names,
				&(struct process_info){.id = 1, .pid = 4711, .name = "app 4711"});
	place_names_add_thread(&m.place_names,
			       &(struct thread_info){.process = 1, .tid = 12, .name = "main 12"});
	row.stack = MADE_STACK(&m, "main");
	for (uint32_t i = 0; i < 6; i++) {
		row.kind = i < 2 ? ROW_CPU : ROW_GPU;
		row.ns = 1u << i;
		made_add_at(&m, &row, places[i]);
	}
	tree = write_and_parse(&m, &written);
	assert_int_equal(profile_count(tree), 1 + 5);
	assert_int_equal(total_of(tree, profile(tree, 0)), 63);
	for (int i = 0; i < 5; i++)
		assert_int_equal(total_of(tree, profile_named(tree, names[i])), ns[i]);
	cJSON_Delete(tree);
	made_end(&m);
}

/* ---- with a timeline ---- */

static const struct place thread = {{1, 12, PLACE_UNKNOWN, PLACE_UNKNOWN, PLACE_UNKNOWN}};
static const struct place stream = {{1, 12, 0, 1, 7}};

static void timed_begin(struct made_result *m)
{
	made_begin(m);
	m->result.timeline = timeline_new(folder, NULL);
	assert_non_null(m->result.timeline);
}

static void timed_end(struct made_result *m)
{
	timeline_free(m->result.timeline);
	made_end(m);
}

static void add_row(struct made_result *m, enum row_kind kind, uint32_t stack, struct place place,
		    uint64_t ns)
{
	const struct row row = {.kind = kind, .stack = stack, .count = 1, .ns = ns};

	made_add_at(m, &row, place);
}

static void add_record(struct made_result *m, enum timeline_kind kind, uint32_t stack,
		       struct place place, uint64_t start_ns, uint64_t ns)
{
	const struct timeline_record record = {.kind = (uint8_t)kind,
					       .stack = {stack},
					       .place = places_add(&m->places, &place),
					       .start_ns = start_ns,
					       .duration_ns = ns};

	assert_int_equal(timeline_add(m->result.timeline, &record), 0);
}

static void expect_samples(const cJSON *tree, const cJSON *profile, const char *const *paths,
			   const double *weights, int count)
{
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(profile, "samples")), count);
	for (int i = 0; i < count; i++) {
		assert_string_equal(path_of(tree, profile, i), paths[i]);
		assert_true(weight_of(profile, i) == weights[i]);
	}
}

/* Adds records of a thread that is in f, in g, and in f again, in mixed order. */
static void add_run(struct made_result *m, uint32_t *f, uint32_t *g)
{
	uint32_t main_stack = made_push(m, RESULT_ROOT, "main"), k;

	*f = made_push(m, main_stack, "f");
	*g = made_push(m, main_stack, "g");
	k = made_push(m, *g, "[GPU_Kernel]k");
	add_row(m, ROW_CPU, *f, thread, 60);
	add_row(m, ROW_CPU, *g, thread, 20);
	add_row(m, ROW_GPU, k, stream, 7);
	add_record(m, TIMELINE_CPU_SAMPLE, *f, thread, 500, 20);
	add_record(m, TIMELINE_GPU_OPERATION, k, stream, 350, 7);
	add_record(m, TIMELINE_CPU_SAMPLE, *f, thread, 100, 20);
	add_record(m, TIMELINE_LAUNCH, *g, thread, 340, 5); /* weighs nothing */
	add_record(m, TIMELINE_CPU_SAMPLE, *g, thread, 300, 20);
	add_record(m, TIMELINE_CPU_SAMPLE, *f, thread, 200, 20);
}

static void samples_are_in_order_of_time(void **state)
{
	static const char *const paths[] = {"main;f", "main;g", "main;g;[GPU_Kernel]k", "main;f"};
	static const char *const own[] = {"main;f", "main;g", "main;f"};
	struct written written;
	struct made_result m;
	uint32_t f, g;
	cJSON *tree;

	(void)state;
	timed_begin(&m);
	add_run(&m, &f, &g);
	assert_int_equal(timeline_finish(m.result.timeline), 0);
	tree = write_and_parse(&m, &written);
	assert_int_equal(profile_count(tree), 3);
	assert_string_equal(text_of(profile(tree, 0), "name"), "All");
	expect_samples(tree, profile(tree, 0), paths, (const double[]){40, 20, 7, 20}, 4);
	expect_samples(tree, profile_named(tree, "CPU: [thread 12]"), own,
		       (const double[]){40, 20, 20}, 3);
	expect_samples(tree, profile_named(tree, "GPU: GPU 0, context 1, stream 7"), paths + 2,
		       (const double[]){7}, 1);
	assert_int_equal(written.items, 3); /* stacks */
	cJSON_Delete(tree);
	timed_end(&m);
}

/* Nor has a row an order of which a record was lost; and none claims one. */
static void what_has_no_time_is_apart(void **state)
{
	static const char *const timed[] = {"main;f", "main;g", "main;g;[GPU_Kernel]k", "main;f"};
	static const char *const untimed[] = {"app;[not sampled]", "lost"};
	struct written written;
	struct made_result m;
	uint32_t f, g, lost;
	cJSON *tree;

	(void)state;
	timed_begin(&m);
	add_run(&m, &f, &g);
	add_row(&m, ROW_CPU, MADE_STACK(&m, "app", "[not sampled]"), thread, 5);
	lost = made_push(&m, RESULT_ROOT, "lost");
	add_row(&m, ROW_CPU, lost, thread, 40);
	add_record(&m, TIMELINE_CPU_SAMPLE, lost, thread, 50, 20);
	add_row(&m, ROW_WAIT, made_push(&m, f, "[waiting for GPU]"), thread, 9);
	add_record(&m, TIMELINE_WAIT, f, thread, 600, 9);
	assert_int_equal(timeline_finish(m.result.timeline), 0);
	tree = write_and_parse(&m, &written);
	assert_string_equal(text_of(profile(tree, 0), "name"), "All, by stack");
	assert_int_equal(total_of(tree, profile(tree, 0)), 87 + 5 + 40 + 9);
	assert_string_equal(text_of(profile(tree, 1), "name"), "All with a time");
	expect_samples(tree, profile(tree, 1), timed, (const double[]){40, 20, 7, 20}, 4);
	expect_samples(tree, profile_named(tree, "CPU: [thread 12], by stack"), untimed,
		       (const double[]){5, 40}, 2);
	assert_int_equal(total_of(tree, profile_named(tree, "CPU: [thread 12]")), 80);
	assert_int_equal(total_of(tree, profile_named(tree, "Waiting: [thread 12], by stack")), 9);
	assert_int_equal(profile_count(tree), 6);
	cJSON_Delete(tree);
	timed_end(&m);
}

/* Records do not have the frames that --by puts at the root of rows. */
static void root_frames_of_places_hide_no_time(void **state)
{
	static const char *const paths[] = {"GPU 0;f", "GPU 0;g", "GPU 0;f"};
	struct written written;
	struct made_result m;
	uint32_t group, f[2], g[2];
	cJSON *tree;

	(void)state;
	timed_begin(&m);
	group = made_push(&m, RESULT_ROOT, "GPU 0");
	m.frames[m.result.frame_count - 1].class = CLASS_PLACE;
	f[0] = made_push(&m, group, "f");
	g[0] = made_push(&m, group, "g");
	f[1] = made_push(&m, RESULT_ROOT, "f");
	g[1] = made_push(&m, RESULT_ROOT, "g");
	/* equal frames */
	m.stacks[f[1]].frame = m.stacks[f[0]].frame;
	m.stacks[g[1]].frame = m.stacks[g[0]].frame;
	add_row(&m, ROW_GPU, f[0], stream, 3);
	add_row(&m, ROW_GPU, g[0], stream, 4);
	add_record(&m, TIMELINE_GPU_OPERATION, g[1], stream, 20, 4);
	add_record(&m, TIMELINE_GPU_OPERATION, f[1], stream, 30, 2);
	add_record(&m, TIMELINE_GPU_OPERATION, f[1], stream, 10, 1);
	assert_int_equal(timeline_finish(m.result.timeline), 0);
	tree = write_and_parse(&m, &written);
	assert_string_equal(text_of(profile(tree, 0), "name"), "All");
	expect_samples(tree, profile(tree, 0), paths, (const double[]){1, 4, 2}, 3);
	cJSON_Delete(tree);
	timed_end(&m);
}

/* A file of too many would not open: then there is no order. */
static void too_many_have_no_order(void **state)
{
	struct written written;
	struct made_result m;
	uint64_t count = (1u << 18) + 1;
	cJSON *tree;
	uint32_t f;

	(void)state;
	timed_begin(&m);
	f = made_push(&m, RESULT_ROOT, "f");
	add_row(&m, ROW_CPU, f, thread, count);
	for (uint64_t i = 0; i < count; i++)
		add_record(&m, TIMELINE_CPU_SAMPLE, f, thread, i, 1);
	assert_int_equal(timeline_finish(m.result.timeline), 0);
	tree = write_and_parse(&m, &written);
	assert_string_equal(text_of(profile(tree, 0), "name"), "All, by stack");
	assert_int_equal(profile_count(tree), 2);
	assert_int_equal(total_of(tree, profile(tree, 1)), count);
	cJSON_Delete(tree);
	timed_end(&m);
}

static void frames_have_files_and_lines(void **state)
{
	struct written written;
	struct made_result m;
	cJSON *tree;

	(void)state;
	made_begin(&m);
	made_add(&m, MADE_STACK(&m, "main", "forward (model.py:42)", "k"), ROW_CPU, 1);
	m.frames[1].module = "/bin/\xff\n";
	m.frames[2].file = "model.py";
	m.frames[2].line = 42;
	tree = write_and_parse(&m, &written);
	assert_string_equal(text_of(frame(tree, 1), "name"), "main");
	assert_string_equal(text_of(frame(tree, 1), "file"), "/bin/?\n");
	assert_null(cJSON_GetObjectItem(frame(tree, 1), "line"));
	assert_string_equal(text_of(frame(tree, 2), "file"), "model.py");
	assert_int_equal(cJSON_GetObjectItem(frame(tree, 2), "line")->valueint, 42);
	assert_null(cJSON_GetObjectItem(frame(tree, 3), "file"));
	cJSON_Delete(tree);
	made_end(&m);
}

static void an_empty_profile(void **state)
{
	struct written written;
	struct made_result m;
	cJSON *tree;

	(void)state;
	made_begin(&m);
	tree = write_and_parse(&m, &written);
	assert_int_equal(profile_count(tree), 1);
	assert_int_equal(total_of(tree, profile(tree, 0)), 0);
	assert_int_equal(written.items, 0);
	assert_true(written.exact_ns == 0);
	cJSON_Delete(tree);
	made_end(&m);
}

static void hostile_names(void **state)
{
	enum { SIZE = 1 << 20 };
	char *huge = malloc(SIZE + 1);
	struct written written;
	struct made_result m;
	cJSON *tree;

	(void)state;
	assert_non_null(huge);
	memset(huge, '\xe2', SIZE);
	huge[SIZE] = '\0';
	made_begin(&m);
	m.result.totals.command = "\"\\\x01\xff";
	made_add(&m, MADE_STACK(&m, "", "a\nb", "\xff\"\xc3", "\xe2\x80\xa8\\", huge), ROW_CPU, 1);
	tree = write_and_parse(&m, &written);
	memset(huge, '?', SIZE);
	assert_string_equal(text_of(tree, "name"), "\"\\\x01?");
	assert_string_equal(text_of(frame(tree, 1), "name"), "");
	assert_string_equal(text_of(frame(tree, 2), "name"), "a\nb");
	assert_string_equal(text_of(frame(tree, 3), "name"), "?\"?");
	assert_string_equal(text_of(frame(tree, 4), "name"), "\xe2\x80\xa8\\");
	assert_string_equal(text_of(frame(tree, 5), "name"), huge);
	cJSON_Delete(tree);
	made_end(&m);
	free(huge);
}

static void a_path_may_be_very_deep(void **state)
{
	enum { DEPTH = 100000 };
	uint32_t stack = RESULT_ROOT;
	const cJSON *sample;
	struct written written;
	struct made_result m;
	cJSON *tree;

	(void)state;
	made_begin(&m);
	for (int i = 0; i < DEPTH; i++)
		stack = made_push(&m, stack, "recursive");
	made_add(&m, stack, ROW_CPU, 1);
	tree = write_and_parse(&m, &written);
	sample = cJSON_GetObjectItem(profile(tree, 0), "samples")->child;
	assert_int_equal(cJSON_GetArraySize(sample), DEPTH);
	assert_int_equal(sample->child->valueint, 1); /* the outermost */
	assert_int_equal(sample->child->prev->valueint, DEPTH);
	cJSON_Delete(tree);
	made_end(&m);
}

/* Returns the weight of a path in a result's rows. */
static double weight_of_rows(const struct result *r, const char *path)
{
	double ns = 0;

	for (uint32_t i = 0; i < r->row_count; i++) {
		char text[1024] = "", before[1024];

		for (uint32_t s = r->rows[i].stack; s != RESULT_ROOT; s = r->stacks[s].outer) {
			memcpy(before, text, sizeof(text));
			snprintf(text, sizeof(text), "%s%s%.900s",
				 r->frames[r->stacks[s].frame].name, before[0] ? ";" : "", before);
		}
		ns += strcmp(text, path) == 0 ? (double)r->rows[i].ns : 0;
	}
	return ns;
}

static void check_random(struct prng *p, const struct made_result *m)
{
	uint64_t ns = 0, apart = 0;
	struct written written;
	cJSON *tree = write_and_parse(m, &written);
	const cJSON *all = profile(tree, 0);

	for (uint32_t i = 0; i < m->result.row_count; i++)
		ns += m->rows[i].ns;
	EXPECT(p, total_of(tree, all) == ns);
	for (int i = 1; i < profile_count(tree); i++)
		apart += total_of(tree, profile(tree, i));
	EXPECT(p, apart == ns);
	for (int i = 0; i < cJSON_GetArraySize(cJSON_GetObjectItem(all, "samples")); i++) {
		const char *path = path_of(tree, all, i);

		EXPECT(p, weight_of(all, i) == weight_of_rows(&m->result, path));
	}
	cJSON_Delete(tree);
}

static void random_rows_are_all_there(void **state)
{
	static char names[1000][8]; /* each frame has its own: a path is one stack */

	(void)state;
	for (uint64_t round = 0; round < unit_rounds(50); round++) {
		struct prng p = prng_round(round);
		struct made_result m;

		made_begin(&m);
		for (uint64_t n = prng_below(&p, 100); n > 0; n--) {
			struct row row = {.kind = (uint32_t)prng_below(&p, ROW_KINDS),
					  .stack = (uint32_t)prng_below(&p, m.result.stack_count),
					  .ns = prng_bits(&p, 40),
					  .count = 1};
			struct place place = place_unknown();
			char *name = names[m.result.frame_count];

			snprintf(name, sizeof(names[0]), "f%u", m.result.frame_count);
			row.stack = made_push(&m, row.stack, name);
			for (uint32_t i = 0; i < PLACE_PARTS; i++)
				if (prng_chance(&p, 50))
					place.part[i] = (uint32_t)prng_below(&p, 3);
			made_add_at(&m, &row, place);
			row.ns = prng_bits(&p, 10); /* again, another time and place */
			row.kind = (uint32_t)prng_below(&p, ROW_KINDS);
			if (prng_chance(&p, 30))
				made_add_at(&m, &row, place_unknown());
		}
		check_random(&p, &m);
		made_end(&m);
	}
}

static void a_full_disk_is_an_error(void **state)
{
	FILE *full = fopen("/dev/full", "w");
	struct written written;
	struct made_result m;

	(void)state;
	if (!full)
		SKIP("no /dev/full here");
	made_begin(&m);
	for (int i = 0; i < 10000; i++)
		made_add(&m, made_push(&m, RESULT_ROOT, "name"), ROW_CPU, 1);
	assert_true(speedscope_writer.write(&m.result, &no_options, full, &written) < 0);
	fclose(full);
	made_end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_format_is_known_by_its_name),
		cmocka_unit_test(stacks_are_a_tree_in_order),
		cmocka_unit_test(threads_and_streams_have_their_own),
		cmocka_unit_test(samples_are_in_order_of_time),
		cmocka_unit_test(what_has_no_time_is_apart),
		cmocka_unit_test(root_frames_of_places_hide_no_time),
		cmocka_unit_test(too_many_have_no_order),
		cmocka_unit_test(frames_have_files_and_lines),
		cmocka_unit_test(an_empty_profile),
		cmocka_unit_test(hostile_names),
		cmocka_unit_test(a_path_may_be_very_deep),
		cmocka_unit_test(random_rows_are_all_there),
		cmocka_unit_test(a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
