/* SPDX-License-Identifier: MIT */
/* A result as an output shows it: a part of the run, with places at the root. */
#include "random_result.h"
#include "profiler/shape/code_role.h"
#include "profiler/shape/view.h"

static struct view *open_view(const struct result *result, const struct view_options *options)
{
	struct view *view = view_new(result, options, folder, NULL);

	assert_non_null(view);
	return view;
}

/* Returns the path from the root on, as "main;work". */
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
	place_names_add_process(&m.place_names,
				&(struct process_info){.id = 1, .pid = 7, .name = "app 7"});
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
	for (uint32_t i = 0; i < r->frame_count; i++)
		assert_int_equal(r->frames[i].class,
				 strcmp(r->frames[i].name, "app 7") == 0 ||
						 strcmp(r->frames[i].name, "GPU 0") == 0
					 ? CLASS_PLACE
					 : CLASS_NATIVE);
	assert_null(r->totals.shown);
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

/* Names of what is left out are not in a part, whether it is made of rows or of records. */
static void a_part_has_nothing_else(void **state)
{
	(void)state;
	for (int has_time = 0; has_time < 2; has_time++) {
		struct view_options options = {.names = VIEW_NAMES_SHORT};
		struct place theirs = place_unknown(), ours = place_unknown();
		struct timeline *t = timeline_new(folder, NULL);
		struct made_result m;
		uint32_t secret, shown;
		char error[SLICE_ERROR_BYTES];
		const struct result *r;
		struct view *view;

		assert_non_null(t);
		made_begin(&m);
		m.frames[0].name = m.frames[0].short_name = "";
		theirs.part[PLACE_PROCESS] = 1;
		ours.part[PLACE_PROCESS] = 2;
		ours.part[PLACE_THREAD] = 3;
		place_names_add_process(
			&m.place_names,
			&(struct process_info){.id = 1, .pid = 7, .name = "secret 7"});
		place_names_add_process(
			&m.place_names,
			&(struct process_info){.id = 2, .pid = 8, .name = "ours 8"});
		m.result.processes = m.place_names.processes;
		m.result.process_count = m.place_names.process_count;
		m.result.threads = (struct thread_info[]){{1, 3, "secret"}, {2, 3, "ours"}};
		m.result.thread_count = 2;
		secret = MADE_STACK(&m, "secret", "inner");
		shown = MADE_STACK(&m, "main", "work");
		made_add_at(&m, &(struct row){.stack = secret, .count = 1, .ns = 10}, theirs);
		made_add_at(&m, &(struct row){.stack = shown, .count = 1, .ns = 10}, ours);
		for (uint32_t i = 0; i < 2; i++)
			assert_int_equal(timeline_add(t,
						      &(struct timeline_record){
							      .start_ns = 100 * i,
							      .duration_ns = 10,
							      .stack = {i ? shown : secret},
							      .place = {m.result.rows[i].place}}),
					 0);
		timeline_finish(t);
		m.result.timeline = t;
		m.result.record_stack_count = m.result.stack_count;
		if (has_time)
			assert_true(slice_parse_time("50ns..", &options.slice));
		else
			assert_true(slice_parse_match("ours", true,
						      &options.slice.parts[PLACE_PROCESS], error));
		view = open_view(&m.result, &options);
		r = view_result(view);
		assert_int_equal(r->row_count, 1);
		assert_string_equal(path_of(r, r->rows[0].stack), "main\1work");
		assert_int_equal(r->stack_count, 3);
		assert_int_equal(r->frame_count, 2);
		for (uint32_t i = 0; i < r->frame_count; i++)
			assert_null(strstr(view_text_result(view)->frames[i].name, "secret"));
		assert_int_equal(r->process_count, 1);
		assert_string_equal(r->processes[0].name, "ours 8");
		assert_int_equal(r->thread_count, 1);
		assert_string_equal(r->threads[0].name, "ours");
		view_free(view);
		timeline_free(t);
		slice_release(&options.slice);
		made_end(&m);
	}
}

static void without_memory_the_time_stays(void **state)
{
	struct made_result m;
	struct view_options options = {.by.count = 0};
	struct quota memory = {.limit = 3000};
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
	assert_true(sums_of(view_result(view), ROW_CPU, PSEUDO_TOO_MANY_STACKS).ns > 0);
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

/* Checks that each row is where the model puts it, and no more. */
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

/* Returns the part of a record between two times, in ns. */
static uint64_t part_of(const struct timeline_record *record, uint64_t from, uint64_t to)
{
	uint64_t start = record->start_ns, end = start + record->duration_ns;

	start = start < from ? from : start;
	end = end > to ? to : end;
	if (end <= start)
		return 0;
	if (record->kind == TIMELINE_WAIT)
		return timeline_off_cpu_until(record, end - record->start_ns) -
		       timeline_off_cpu_until(record, start - record->start_ns);
	return end - start;
}

static void check_times(struct prng *p, const struct random_result *r)
{
	static const enum row_kind kinds[] = {ROW_CPU,  ROW_KINDS, ROW_GPU,
					      ROW_WAIT, ROW_CALL,  ROW_KINDS};
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
	EXPECT(p, strcmp(view_result(view)->totals.shown, "--kernel ^soft") == 0);
	view_free(view);
	slice_release(&options.slice);
}

/* Checks that stacks with a frame and those without one add up to the run, of each kind. */
static void check_frames(struct prng *p, const struct random_result *r)
{
	struct view_options with = {.by.count = 0}, without = {.by.count = 0};
	const struct result *base = &r->made.result;
	char error[SLICE_ERROR_BYTES];
	struct view *views[2];

	assert_true(slice_parse_match("softmax|main", false, &with.slice.under, error));
	assert_true(slice_parse_match("softmax|main", false, &without.slice.not_under, error));
	views[0] = open_view(base, &with);
	views[1] = open_view(base, &without);
	for (int kind = 0; kind < ROW_KINDS; kind++) {
		uint64_t want = 0;

		for (uint32_t i = 0; i < base->row_count; i++) {
			const char *path = path_of(base, base->rows[i].stack);

			if ((int)base->rows[i].kind == kind &&
			    (strstr(path, "softmax") || strstr(path, "main")))
				want += base->rows[i].ns;
		}
		EXPECT(p, sums_of(view_result(views[0]), kind, NULL).ns == want);
		EXPECT(p, view_result(views[0])->all_ns[kind] == sums_of(base, kind, NULL).ns);
		EXPECT(p, sums_of(view_result(views[0]), kind, NULL).ns +
					  sums_of(view_result(views[1]), kind, NULL).ns ==
				  sums_of(base, kind, NULL).ns);
	}
	EXPECT(p, strcmp(view_result(views[1])->totals.shown, "--not-under softmax|main") == 0);
	for (int i = 0; i < 2; i++)
		view_free(views[i]);
	slice_release(&with.slice);
	slice_release(&without.slice);
}

/* Checks the records of a part, and their stacks. */
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

		if (r->made.places.list[r->records[i].place.number].part[PLACE_STREAM] != 1 ||
		    r->records[i].kind == TIMELINE_WAIT || r->records[i].kind == TIMELINE_OFF_CPU)
			continue;
		assert_int_equal(timeline_read(shown->timeline, number++, 1, &record), 0);
		EXPECT(p, record.start_ns == r->records[i].start_ns);
		EXPECT(p, strcmp(path_of(shown, result_record_stack(shown, &record)),
				 path_of(&r->made.result, r->records[i].stack.number)) == 0);
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
	for (uint64_t round = 0; round < unit_rounds(25); round++) {
		struct prng p = prng_round(round);
		struct random_result r;

		random_begin(&p, &r);
		check_groups(&p, &r);
		check_times(&p, &r);
		check_kernels(&p, &r);
		check_frames(&p, &r);
		check_records(&p, &r);
		random_end(&r);
	}
}

/* ---- folding, trimming, names ---- */

/* Pushes a frame; `file` is that of a Python function, or the module. */
static uint32_t push_frame(struct made_result *m, uint32_t outer, enum frame_class class,
			   const char *name, const char *file)
{
	uint32_t stack = made_push(m, outer, name);
	struct frame_info *frame = &m->frames[m->result.frame_count - 1];

	frame->class = class;
	if (class == CLASS_PYTHON)
		frame->file = file;
	else
		frame->module = file;
	return stack;
}

#define TORCH "/usr/lib/python3/dist-packages/torch/"

/* Kinds of frames: what they are called in tests, one letter each. */
static const struct {
	char letter;
	enum frame_class class;
	const char *name, *file;
} kinds[] = {
	{'s', CLASS_NATIVE, "_start", "/usr/bin/python3.12"},
	{'P', CLASS_NATIVE, "_PyEval_Vector", "/usr/bin/python3.12"},
	{'l', CLASS_NATIVE, "[libc.so.6]", "/lib/libc.so.6"},
	{'i', CLASS_PYTHON, "_find_and_load (<frozen importlib._bootstrap>)",
	 "<frozen importlib._bootstrap>"},
	{'m', CLASS_PYTHON, "main (train.py)", "/work/train.py"},
	{'f', CLASS_PYTHON, "Block.forward (gpt.py)", "/work/gpt.py"},
	{'c', CLASS_PYTHON, "Module._call_impl (module.py)", TORCH "nn/modules/module.py"},
	{'F', CLASS_PYTHON, "linear (functional.py)", TORCH "nn/functional.py"},
	{'w', CLASS_NATIVE, "c10::impl::wrap_kernel_functor_unboxed_<F>::call",
	 TORCH "lib/libtorch_cpu.so"},
	{'t', CLASS_NATIVE, "at::native::addmm", TORCH "lib/libtorch_cuda.so"},
	{'b', CLASS_NATIVE, "cublasSgemm_v2", "/usr/lib/libcublas.so.13"},
	{'n', CLASS_NATIVE, "array_add", "/usr/lib/python3/dist-packages/numpy/core.so"},
	{'x', CLASS_NATIVE, "own_ext", "/work/ext.so"},
	{'g', CLASS_NATIVE, "std::__invoke_impl<void>", "/work/ext.so"},
	{'r', CLASS_NVTX, "nvtx:step", NULL},
	{'A', CLASS_API, "cudaLaunchKernel", NULL},
	{'K', CLASS_GPU_KERNEL, "[GPU_Kernel]gemm<float>", NULL},
	{'k', CLASS_KERNEL_MODE, "do_syscall_64", NULL},
	{'M', CLASS_MARK, "[graph node captured at]", NULL},
	{'J', CLASS_JIT, "jitted", NULL},
	{'e', CLASS_PYTHON, "made (<string>)", "<string>"},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static uint32_t push_letters(struct made_result *m, const char *letters)
{
	uint32_t stack = RESULT_ROOT;

	for (; *letters; letters++)
		for (size_t i = 0; i < KINDS; i++)
			if (kinds[i].letter == *letters)
				stack = push_frame(m, stack, kinds[i].class, kinds[i].name,
						   kinds[i].file);
	return stack;
}

static void expect_path(const char *letters, const struct view_options *options,
			const char *expected)
{
	struct made_result m;
	struct view *view;
	const struct result *r;

	made_begin(&m);
	m.frames[0].name = m.frames[0].short_name = "";
	m.result.totals.folder = "/work";
	made_add_at(&m, &(struct row){.stack = push_letters(&m, letters), .ns = 5},
		    place_unknown());
	view = open_view(&m.result, options);
	r = view_result(view);
	assert_int_equal(r->row_count, 1);
	assert_int_equal(r->rows[0].ns, 5);
	assert_string_equal(path_of(r, r->rows[0].stack), expected);
	view_free(view);
	made_end(&m);
}

static void others_code_is_folded(void **state)
{
	static const struct {
		const char *letters, *expected;
	} stacks[] = {
		/* a layer of a model */
		{"slPPmcfccfFwtwtAK", "main (train.py)\1Block.forward (gpt.py)\1"
				      "Block.forward (gpt.py)\1[torch]\1cudaLaunchKernel\1"
				      "[GPU_Kernel]gemm<float>"},
		{"mFwtbAK", "main (train.py)\1[torch]\1[libcublas.so.13]\1cudaLaunchKernel\1"
			    "[GPU_Kernel]gemm<float>"},
		/* whose time it is */
		{"sPm", "main (train.py)"},
		{"sPmP", "main (train.py)\1[python]"},
		{"mFP", "main (train.py)\1[torch]\1[python]"},
		{"mFPtl", "main (train.py)\1[torch]\1[libc.so.6]"},
		{"xg", "own_ext\1[std]"},
		{"xgx", "own_ext\1own_ext"},
		{"mi", "main (train.py)\1[importlib]"},
		{"miFit", "main (train.py)\1[torch]"},
		{"sl", "[libc.so.6]"},
		{"s", "[python]"},
		{"slt", "[torch]"},
		/* kernel code says by way of what */
		{"mPlkk", "main (train.py)\1[libc.so.6]\1do_syscall_64\1do_syscall_64"},
		{"mtlk", "main (train.py)\1[torch]\1[libc.so.6]\1do_syscall_64"},
		/* a CUDA call does not need it */
		{"xgAK", "own_ext\1cudaLaunchKernel\1[GPU_Kernel]gemm<float>"},
		/* code without a file is its caller's */
		{"sPe", "made (<string>)"},
		{"mPeA", "main (train.py)\1made (<string>)\1cudaLaunchKernel"},
		{"mFe", "main (train.py)\1[torch]\1[python]"},
		{"mFeFmA", "main (train.py)\1main (train.py)\1cudaLaunchKernel"},
		/* packages in turn */
		{"mtntP", "main (train.py)\1[torch]\1[python]"},
		{"mntnb", "main (train.py)\1[numpy]\1[libcublas.so.13]"},
		{"mtrtAK", "main (train.py)\1nvtx:step\1[torch]\1cudaLaunchKernel\1"
			   "[GPU_Kernel]gemm<float>"},
		{"mtAMsPmFtA", "main (train.py)\1[torch]\1cudaLaunchKernel\1"
			       "[graph node captured at]\1main (train.py)\1[torch]\1"
			       "cudaLaunchKernel"},
		/* nothing is own */
		{"slttwtAK", "[torch]\1cudaLaunchKernel\1[GPU_Kernel]gemm<float>"},
		{"tJt", "jitted\1[torch]"},
		{"", ""},
	};
	struct view_options options = {.my_code = true};

	(void)state;
	for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++)
		expect_path(stacks[i].letters, &options, stacks[i].expected);
}

static void stacks_begin_where_they_are_trimmed(void **state)
{
	struct view_options options = {.my_code = false};
	char error[SLICE_ERROR_BYTES];

	(void)state;
	assert_true(slice_parse_match("forward|linear", false, &options.trim_to, error));
	assert_true(view_changes(&options));
	expect_path("smcfcfA", &options,
		    "Block.forward (gpt.py)\1Module._call_impl (module.py)\1"
		    "Block.forward (gpt.py)\1cudaLaunchKernel");
	expect_path("smcA", &options,
		    "_start\1main (train.py)\1Module._call_impl (module.py)\1cudaLaunchKernel");
	expect_path("sf", &options, "Block.forward (gpt.py)");
	options.my_code = true; /* the frame stays, whoever owns it */
	expect_path("smcFcfFtA", &options,
		    "linear (functional.py)\1Block.forward (gpt.py)\1[torch]\1cudaLaunchKernel");
	expect_path("smFcFtA", &options, "linear (functional.py)\1[torch]\1cudaLaunchKernel");
	view_options_release(&options);
	/* marks and GPU work begin none */
	assert_true(slice_parse_match("gemm|captured", false, &options.trim_to, error));
	options.my_code = false;
	expect_path("mAMxAK", &options,
		    "main (train.py)\1cudaLaunchKernel\1[graph node captured at]\1own_ext\1"
		    "cudaLaunchKernel\1[GPU_Kernel]gemm<float>");
	view_options_release(&options);
}

static void a_run_of_packages_is_bounded(void **state)
{
	struct view_options options = {.my_code = true};
	struct made_result m;
	struct view *view;
	const struct result *r;
	char names[64][16];
	uint32_t stack, depth = 0;

	(void)state;
	made_begin(&m);
	m.frames[0].name = m.frames[0].short_name = "";
	m.result.totals.folder = "/work";
	stack = push_frame(&m, RESULT_ROOT, CLASS_NATIVE, "own", "/work/app");
	for (int i = 0; i < 64; i++) {
		snprintf(names[i], sizeof(names[i]), "/lib/l%d.so", i);
		stack = push_frame(&m, stack, CLASS_NATIVE, "f", names[i]);
	}
	made_add_at(&m, &(struct row){.stack = stack, .ns = 5}, place_unknown());
	view = open_view(&m.result, &options);
	r = view_result(view);
	stack = r->rows[0].stack;
	assert_string_equal(r->frames[r->stacks[stack].frame].name, "[l63.so]");
	for (; stack != RESULT_ROOT; stack = r->stacks[stack].outer)
		depth++;
	assert_int_equal(depth, 1 + VIEW_RUN_MAX);
	assert_true(view_has_own_code(view));
	view_free(view);
	made_end(&m);
}

static void texts_may_have_short_names(void **state)
{
	struct view_options options = {.names = VIEW_NAMES_SHORT};
	struct made_result m;
	struct view *view;
	const struct result *r;
	uint32_t stack;

	(void)state;
	made_begin(&m);
	m.frames[0].name = m.frames[0].short_name = "";
	stack = made_push(&m, RESULT_ROOT, "f<int>");
	m.frames[1].short_name = "f<>";
	stack = push_frame(&m, stack, CLASS_GPU_KERNEL, "[GPU_Kernel]k<float>(int)", NULL);
	m.frames[2].short_name = "k<float>";
	made_add_at(&m, &(struct row){.stack = stack, .kind = ROW_GPU, .ns = 5}, place_unknown());
	view = open_view(&m.result, &options);
	r = view_text_result(view);
	assert_string_equal(path_of(r, r->rows[0].stack), "f<>\1[GPU_Kernel]k<float>");
	r = view_result(view);
	assert_string_equal(path_of(r, r->rows[0].stack), "f<int>\1[GPU_Kernel]k<float>(int)");
	assert_string_equal(r->frames[r->stacks[r->rows[0].stack].frame].short_name, "k<float>");
	view_free(view);
	options.names = VIEW_NAMES_FULL;
	assert_true(view_changes(&options));
	view = open_view(&m.result, &options);
	r = view_result(view);
	stack = r->stacks[r->rows[0].stack].outer;
	assert_string_equal(r->frames[r->stacks[stack].frame].short_name, "f<int>");
	assert_ptr_equal(view_text_result(view)->frames, r->frames);
	view_free(view);
	made_end(&m);
}

/*
 * Folds the whole stack by runs of frames between those that stay. The view follows the stack frame
 * by frame instead.
 */
static void fold_path(const struct result *base, const struct code_roles *roles, regex_t *trim_to,
		      uint32_t stack, char text[4096])
{
	const struct frame_info *frames[64];
	char run[64][CODE_ROLE_LABEL_BYTES], label[CODE_ROLE_LABEL_BYTES];
	uint32_t count = 0, first = 0, length = 0;
	bool is_trimmed = false;

	for (; stack != RESULT_ROOT; stack = base->stacks[stack].outer) {
		assert_true(count < 64);
		frames[count++] = &base->frames[base->stacks[stack].frame];
	}
	for (uint32_t i = 0; i < count / 2; i++) {
		const struct frame_info *f = frames[i];

		frames[i] = frames[count - 1 - i];
		frames[count - 1 - i] = f;
	}
	for (uint32_t i = 0; i < count && trim_to && !is_trimmed; i++)
		if (frames[i]->class != CLASS_MARK && frames[i]->class != CLASS_GPU_KERNEL &&
		    frames[i]->class != CLASS_WAIT &&
		    regexec(trim_to, frames[i]->name, 0, NULL, 0) == 0) {
			first = i;
			is_trimmed = true;
		}
	text[0] = '\0';
	label[0] = '\0';
	for (uint32_t i = first; i <= count; i++) {
		enum code_role role = ROLE_KEPT;
		char next[CODE_ROLE_LABEL_BYTES] = "";
		uint32_t at = 0;

		if (i < count)
			role = code_role_of(roles, frames[i], next);
		if (role == ROLE_CALLERS)
			role = length == 0 ? ROLE_OWN : ROLE_PLUMBING;
		if (is_trimmed && i == first)
			role = ROLE_OWN;
		if (role == ROLE_PLUMBING) {
			memcpy(label, next, sizeof(label));
			continue;
		}
		if (role == ROLE_PACKAGE) {
			label[0] = '\0';
			while (at < length && strcmp(run[at], next) != 0)
				at++;
			at -= at == VIEW_RUN_MAX;
			memcpy(run[at], next, sizeof(next));
			length = at + 1;
			continue;
		}
		if (i == count || role == ROLE_KERNEL_MODE) {
			if (label[0])
				memcpy(run[length++], label, sizeof(label));
		}
		for (uint32_t j = 0; j < length && role != ROLE_OWN; j++)
			snprintf(text + strlen(text), 4096 - strlen(text), "%s%s",
				 text[0] ? "\1" : "", run[j]);
		length = 0;
		label[0] = '\0';
		if (i < count)
			snprintf(text + strlen(text), 4096 - strlen(text), "%s%s",
				 text[0] ? "\1" : "", frames[i]->name);
	}
}

/* Adds random stacks, with all kinds of frames. */
static void add_random_stacks(struct prng *p, struct made_result *m)
{
	for (uint64_t rows = 1 + prng_below(p, 60); rows > 0; rows--) {
		uint64_t more = prng_below(p, 12);
		uint32_t stack = RESULT_ROOT;

		/* often the beginning of another stack */
		if (m->result.stack_count > 1 && prng_chance(p, 60))
			stack = (uint32_t)prng_below(p, m->result.stack_count);
		for (uint32_t at = stack, depth = 0; at != RESULT_ROOT; at = m->stacks[at].outer)
			if (++depth > 40)
				more = 0;
		for (; more > 0; more--) {
			size_t kind = prng_below(p, KINDS);

			stack = push_frame(m, stack, kinds[kind].class, kinds[kind].name,
					   kinds[kind].file);
		}
		made_add_at(m,
			    &(struct row){.stack = stack,
					  .kind = (uint32_t)prng_below(p, ROW_KINDS),
					  .count = prng_bits(p, 8),
					  .ns = prng_bits(p, 30),
					  .bytes = prng_bits(p, 20)},
			    place_unknown());
	}
}

/* Checks that each row is where the model puts it, with all rows that fold into it, and nothing
 * else. */
static void check_folding(struct prng *p, const struct result *base)
{
	static const char *const patterns[] = {"forward", "^(main|at::)", "_", "none at all"};
	struct view_options options = {.my_code = true};
	char error[SLICE_ERROR_BYTES];
	struct code_roles *roles = code_roles_of_result(base);
	struct view *view;
	const struct result *shown;
	bool trims = prng_chance(p, 50);

	assert_non_null(roles);
	if (trims)
		assert_true(slice_parse_match(patterns[prng_below(p, 4)], false, &options.trim_to,
					      error));
	view = open_view(base, &options);
	shown = view_result(view);
	for (uint32_t i = 0; i < base->row_count; i++) {
		struct sums want = {0, 0, 0}, got;
		char path[4096], other[4096];

		fold_path(base, roles, trims ? &options.trim_to.pattern : NULL, base->rows[i].stack,
			  path);
		for (uint32_t j = 0; j < base->row_count; j++) {
			const struct row *row = &base->rows[j];

			fold_path(base, roles, trims ? &options.trim_to.pattern : NULL, row->stack,
				  other);
			if (row->kind != base->rows[i].kind || strcmp(path, other) != 0)
				continue;
			want.count += row->count;
			want.ns += row->ns;
			want.bytes += row->bytes;
		}
		got = sums_of(shown, (enum row_kind)base->rows[i].kind, path);
		EXPECT(p, memcmp(&got, &want, sizeof(got)) == 0);
	}
	for (int kind = 0; kind < ROW_KINDS; kind++) {
		struct sums all = sums_of(base, (enum row_kind)kind, NULL);
		struct sums got = sums_of(shown, (enum row_kind)kind, NULL);

		EXPECT(p, memcmp(&all, &got, sizeof(all)) == 0);
	}
	view_free(view);
	view_options_release(&options);
	code_roles_free(roles);
}

/* Records have the stacks of the model as well. */
static void check_folded_records(struct prng *p, const struct random_result *r)
{
	struct view_options options = {.my_code = true};
	const struct result *base = &r->made.result, *shown;
	struct code_roles *roles = code_roles_of_result(base);
	struct view *view = open_view(base, &options);

	shown = view_result(view);
	for (uint32_t i = 0; i < r->record_count; i++) {
		char path[4096];

		fold_path(base, roles, NULL, result_record_stack(base, &r->records[i]), path);
		EXPECT(p, strcmp(path_of(shown, result_record_stack(shown, &r->records[i])),
				 path) == 0);
	}
	view_free(view);
	code_roles_free(roles);
}

static void random_stacks_fold_as_a_model(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(25); round++) {
		struct prng p = prng_round(round);
		struct random_result r;
		struct made_result m;

		made_begin(&m);
		m.frames[0].name = m.frames[0].short_name = "";
		m.result.totals.folder = "/work";
		add_random_stacks(&p, &m);
		check_folding(&p, &m.result);
		made_end(&m);
		random_begin(&p, &r);
		r.made.result.totals.folder = "/a";
		check_folding(&p, &r.made.result);
		check_folded_records(&p, &r);
		random_end(&r);
	}
}

static void folding_without_memory_keeps_the_time(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(25); round++) {
		struct prng p = prng_round(round);
		struct view_options options = {.my_code = true, .names = VIEW_NAMES_SHORT};
		struct quota memory = {.limit = prng_below(&p, 10000)};
		struct made_result m;
		struct view *view;

		made_begin(&m);
		m.frames[0].name = m.frames[0].short_name = "";
		m.result.totals.folder = "/work";
		add_random_stacks(&p, &m);
		assert_true(grouping_parse("stream", &options.by));
		view = view_new(&m.result, &options, folder, &memory);
		assert_non_null(view);
		for (int kind = 0; kind < ROW_KINDS; kind++)
			EXPECT(&p, sums_of(view_text_result(view), (enum row_kind)kind, NULL).ns ==
					   sums_of(&m.result, (enum row_kind)kind, NULL).ns);
		view_free(view);
		EXPECT(&p, memory.used == 0);
		made_end(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_code_is_folded),
		cmocka_unit_test(stacks_begin_where_they_are_trimmed),
		cmocka_unit_test(a_run_of_packages_is_bounded),
		cmocka_unit_test(texts_may_have_short_names),
		cmocka_unit_test(random_stacks_fold_as_a_model),
		cmocka_unit_test(folding_without_memory_keeps_the_time),
		cmocka_unit_test(groups_are_at_the_root),
		cmocka_unit_test(a_stack_may_be_very_deep),
		cmocka_unit_test(without_memory_the_time_stays),
		cmocka_unit_test(a_time_needs_a_timeline),
		cmocka_unit_test(a_part_has_nothing_else),
		cmocka_unit_test(random_results_match_a_model),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
