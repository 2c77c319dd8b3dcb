/* SPDX-License-Identifier: MIT */
/* The data in the page, read again as profiler/web/html.c describes it. */
#include "made_result.h"
#include "own_folder.h"
#include "unpack.h"
#include "profiler/model/gpu_state.h"
#include "profiler/model/memory_use.h"
#include "profiler/shape/code_role.h"
#include "profiler/shape/frame_kind.h"
#include "profiler/model/kernel_definitions.h"
#include "profiler/shape/source_text.h"
#include "profiler/findings/findings.h"
#include "profiler/tables/comparison.h"
#include "profiler/formats/writer.h"
#include "profiler/output/writers.h"
#include "symbolize/util/text.h"

#define BEGIN "<script type=\"application/octet-stream\" id=\"data\">"
#define TIMELINE "class=\"timeline\">"
#define END "</script>\n</body>\n</html>\n"

/* Columns, in the order of html.c. */
enum { COLUMNS_MAX = 20, WEIGHTS = 3 };

struct table {
	uint64_t count, *columns[COLUMNS_MAX];
};

struct page {
	char *text; /* the file */
	size_t size;
	struct unpacked data;
	char **texts;
	uint64_t text_count;
	struct table facts, losses, frames, stacks, processes, threads, devices, places, rows;
	uint64_t weight_count, weight_texts[WEIGHTS][3]; /* title, unit, note */
	struct table weights[WEIGHTS];
	struct table sources, parts; /* parts: first line, number of lines */
	uint64_t tables;             /* beside the profile */
	struct table kernels;        /* facts: frame, label, text */
	struct table steps;
	struct table state_counters, states; /* device, name; counter, ms, value */
	uint64_t warm_up;
	char *source_text; /* text of all files */
	struct written written;
	int timeline_parts;
};

static struct table read_table(struct page *p, int columns)
{
	struct table t = {.count = unpack_number(&p->data)};

	for (int i = 0; i < columns; i++) {
		t.columns[i] = calloc(t.count + 1, sizeof(*t.columns[i]));
		assert_non_null(t.columns[i]);
		for (uint64_t row = 0; row < t.count; row++)
			t.columns[i][row] = unpack_number(&p->data);
	}
	return t;
}

static void free_table(struct table *t)
{
	for (int i = 0; i < COLUMNS_MAX; i++)
		free(t->columns[i]);
}

static void read_texts(struct page *p)
{
	uint64_t *lengths;

	p->text_count = unpack_number(&p->data);
	lengths = calloc(p->text_count + 1, sizeof(*lengths));
	p->texts = calloc(p->text_count + 1, sizeof(*p->texts));
	assert_true(lengths && p->texts);
	for (uint64_t i = 0; i < p->text_count; i++)
		lengths[i] = unpack_number(&p->data);
	for (uint64_t i = 0; i < p->text_count; i++) {
		p->texts[i] = strndup((const char *)p->data.bytes + p->data.at, lengths[i]);
		p->data.at += lengths[i];
	}
	assert_true(p->data.at <= p->data.size);
	free(lengths);
}

static void read_sources(struct page *p)
{
	FILE *out;
	size_t size;

	p->sources = read_table(p, 4);
	for (uint64_t i = 0; i < p->sources.count; i++)
		p->parts.count += p->sources.columns[3][i];
	for (int column = 0; column < 2; column++) {
		p->parts.columns[column] = calloc(p->parts.count + 1, sizeof(uint64_t));
		assert_non_null(p->parts.columns[column]);
		for (uint64_t i = 0; i < p->parts.count; i++)
			p->parts.columns[column][i] = unpack_number(&p->data);
	}
	out = open_memstream(&p->source_text, &size);
	assert_non_null(out);
	for (uint64_t i = 0; i < p->sources.count; i++) {
		uint64_t bytes = unpack_number(&p->data);

		assert_true(bytes <= p->data.size - p->data.at);
		fwrite(p->data.bytes + p->data.at, 1, bytes, out);
		p->data.at += bytes;
	}
	fclose(out);
}

/* Reads a table beside the profile: key, title, rows left out, columns, and rows. */
static void skip_table(struct page *p)
{
	struct table columns, rows;

	for (int i = 0; i < 3; i++)
		unpack_number(&p->data);
	columns = read_table(p, 2);
	assert_true(columns.count <= COLUMNS_MAX);
	rows = read_table(p, (int)columns.count);
	free_table(&columns);
	free_table(&rows);
}

/* Writes a page, and reads all that pages of one run have. */
static struct page begin_page(const struct result *result, const struct comparison *comparison)
{
	const struct writer_options options = {.unit_ns = 1e6, .comparison = comparison};
	struct page p = {0};
	FILE *out = open_memstream(&p.text, &p.size);
	const char *begin, *end;

	assert_non_null(out);
	memset(&p.written, 0xff, sizeof(p.written)); /* says nothing yet */
	assert_int_equal(html_writer.write(result, &options, out, &p.written), 0);
	fclose(out);
	begin = strstr(p.text, BEGIN);
	assert_non_null(begin);
	begin += strlen(BEGIN);
	assert_string_equal(p.text + p.size - strlen(END), END);
	/* the timeline may follow */
	end = strstr(begin, "</script>");
	p.data = unpack(begin, (size_t)(end - begin));
	p.timeline_parts = 0;
	while ((end = strstr(end + 1, TIMELINE)))
		p.timeline_parts++;
	assert_int_equal(unpack_number(&p.data), 11); /* the format */
	read_texts(&p);
	p.facts = read_table(&p, 2);
	p.losses = read_table(&p, 2);
	p.frames = read_table(&p, 10);
	p.stacks = read_table(&p, 3);
	p.processes = read_table(&p, 3);
	p.threads = read_table(&p, 3);
	p.devices = read_table(&p, 4);
	p.places = read_table(&p, 5);
	p.rows = read_table(&p, 6);
	p.weight_count = unpack_number(&p.data);
	for (uint64_t i = 0; i < p.weight_count && i < WEIGHTS; i++) {
		for (int text = 0; text < 3; text++)
			p.weight_texts[i][text] = unpack_number(&p.data);
		p.weights[i] = read_table(&p, 4);
	}
	p.tables = unpack_number(&p.data);
	for (uint64_t i = 0; i < p.tables; i++)
		skip_table(&p);
	read_sources(&p);
	p.kernels = read_table(&p, 3);
	p.steps = read_table(&p, 1);
	p.warm_up = unpack_number(&p.data);
	p.state_counters = read_table(&p, 2);
	p.states = read_table(&p, 3);
	return p;
}

static struct page write_page(const struct made_result *m)
{
	struct page p = begin_page(&m->result, NULL);

	assert_int_equal(unpack_number(&p.data), 0); /* no comparison */
	assert_int_equal(p.data.at, p.data.size);
	return p;
}

static void free_page(struct page *p)
{
	struct table *tables[] = {&p->facts,     &p->losses,         &p->frames,  &p->stacks,
				  &p->processes, &p->threads,        &p->devices, &p->places,
				  &p->rows,      &p->sources,        &p->parts,   &p->kernels,
				  &p->steps,     &p->state_counters, &p->states};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		free_table(tables[i]);
	for (int i = 0; i < WEIGHTS; i++)
		free_table(&p->weights[i]);
	for (uint64_t i = 0; i < p->text_count; i++)
		free(p->texts[i]);
	free(p->texts);
	free(p->source_text);
	free(p->data.bytes);
	free(p->text);
}

static const char *text_of(const struct page *p, uint64_t number)
{
	assert_true(number <= p->text_count);
	return number ? p->texts[number - 1] : NULL;
}

static uint64_t number_of(const struct page *p, const struct table *facts, const char *what)
{
	for (uint64_t i = 0; i < facts->count; i++)
		if (strcmp(text_of(p, facts->columns[0][i]), what) == 0)
			return facts->columns[1][i];
	fail_msg("no fact %s", what);
	return 0;
}

/* Writes the path of a stack's number, as "main;f". */
static void path_of(const struct page *p, uint64_t stack, char *path, size_t size)
{
	char rest[128];

	for (path[0] = '\0'; stack > 0; stack -= p->stacks.columns[0][stack - 1]) {
		uint64_t frame = p->stacks.columns[1][stack - 1];

		snprintf(rest, sizeof(rest), "%.127s", path);
		snprintf(path, size, "%s%s%s", text_of(p, p->frames.columns[1][frame]),
			 rest[0] ? ";" : "", rest);
	}
}

/* Rows are "path kind count ns bytes place", each on a line. */
static void expect_rows(const struct page *p, const char *expected)
{
	char text[2048] = "", path[256];
	uint64_t stack = 0;

	for (uint64_t i = 0; i < p->rows.count; i++) {
		size_t n = strlen(text);

		stack += p->rows.columns[0][i];
		path_of(p, stack, path, sizeof(path));
		snprintf(text + n, sizeof(text) - n,
			 "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", path,
			 p->rows.columns[1][i], p->rows.columns[3][i], p->rows.columns[4][i],
			 p->rows.columns[5][i], p->rows.columns[2][i]);
	}
	assert_string_equal(text, expected);
}

static void the_format_is_known_by_its_name(void **state)
{
	(void)state;
	assert_ptr_equal(writer_for_path("a.html"), &html_writer);
	assert_ptr_equal(writer_with_name("html"), &html_writer);
	assert_int_equal(html_writer.needs, NEEDS_TIMELINE);
	assert_false(html_writer.has_units);
}

static void an_empty_result_is_a_page(void **state)
{
	struct made_result m;
	struct page p;

	(void)state;
	made_begin(&m);
	p = write_page(&m);
	assert_int_equal(p.rows.count + p.stacks.count + p.frames.count + p.places.count, 0);
	assert_int_equal(p.losses.count, 0);
	assert_int_equal(p.written.items, 0);
	assert_true(p.written.exact_ns == 0);
	free_page(&p);
	made_end(&m);
}

/* Equal stacks are one, and what no row has is left out. */
static void rows_are_by_stack(void **state)
{
	struct made_result m;
	struct page p;

	(void)state;
	made_begin(&m);
	MADE_STACK(&m, "main", "nobody was here");
	made_add(&m, MADE_STACK(&m, "main", "g"), ROW_GPU, 5);
	made_add(&m, MADE_STACK(&m, "main", "f"), ROW_CPU, 3);
	made_add(&m, MADE_STACK(&m, "main", "g"), ROW_CPU, 1);
	made_add(&m, MADE_STACK(&m, "main"), ROW_WAIT, UINT64_C(1) << 40);
	made_add(&m, RESULT_ROOT, ROW_CALL, 9);
	m.rows[0].bytes = 4096;
	m.rows[0].count = 3;
	p = write_page(&m);
	expect_rows(&p, " 3 1 9 0 1\n"
			"main 2 1 1099511627776 0 1\n"
			"main;g 1 3 5 4096 1\n"
			"main;g 0 1 1 0 1\n"
			"main;f 0 1 3 0 1\n");
	assert_int_equal(p.stacks.count, 3);
	assert_int_equal(p.frames.count, 3);
	assert_int_equal(p.written.items, 3);
	assert_int_equal(p.written.total[ROW_CPU], 4);
	assert_int_equal(p.written.total[ROW_GPU], 5);
	assert_true(p.written.total[ROW_WAIT] == UINT64_C(1) << 40);
	assert_int_equal(p.written.total[ROW_CALL], 9);
	assert_true(number_of(&p, &p.facts, "wait ns") == UINT64_C(1) << 40);
	free_page(&p);
	made_end(&m);
}

static void expect_column(struct page *p, uint64_t first, uint64_t second, uint64_t third)
{
	assert_int_equal(unpack_number(&p->data), first);
	assert_int_equal(unpack_number(&p->data), second);
	assert_int_equal(unpack_number(&p->data), third);
}

static void expect_change(struct page *p, const char *name, uint64_t before, uint64_t after,
			  uint64_t bound_plus_1, enum change_verdict verdict)
{
	assert_string_equal(text_of(p, unpack_number(&p->data)), name);
	assert_int_equal(unpack_number(&p->data), CHANGE_OF_TIME);
	assert_int_equal(unpack_number(&p->data), before);
	assert_int_equal(unpack_number(&p->data), after);
	assert_int_equal(unpack_number(&p->data), bound_plus_1);
	assert_int_equal(unpack_number(&p->data), verdict);
}

static void add_samples(struct made_result *m, const char *name, uint64_t count)
{
	struct row row = {.kind = ROW_CPU, .count = count, .ns = count * 1000};

	row.stack = made_push(m, made_push(m, RESULT_ROOT, "main"), name);
	made_add_at(m, &row, place_unknown());
}

/* A comparison has the rows of both sides, whichever is shown, and the totals. */
static void a_comparison_has_both_sides(void **state)
{
	struct made_result b, a;
	const struct result *before = &b.result, *after = &a.result;
	struct comparison *c;

	(void)state;
	made_begin(&b);
	made_begin(&a);
	b.result.totals.command = "old </script>";
	a.result.totals.command = "new";
	a.result.totals.shown = "--time 1..2";
	add_samples(&b, "f", 100);
	add_samples(&b, "gone", 49);
	add_samples(&a, "f", 400);
	add_samples(&a, "<new>", 64);
	for (enum comparison_side shown = SIDE_BEFORE; shown < SIDES; shown++) {
		struct page p;

		c = comparison_new(&before, 1, &after, 1,
				   &(struct comparison_options){.shown = shown});
		assert_non_null(c);
		p = begin_page(&c->result, c);
		assert_null(strstr(p.text, "old </script>"));
		assert_int_equal(p.tables + p.sources.count + p.weight_count + p.places.count, 0);
		assert_int_equal(number_of(&p, &p.facts, "cpu ns"),
				 shown == SIDE_BEFORE ? 149000 : 464000);
		assert_int_equal(p.rows.count, 3); /* f, gone, <new> */
		assert_int_equal(unpack_number(&p.data), 1);
		assert_string_equal(text_of(&p, unpack_number(&p.data)), "old </script>");
		assert_int_equal(unpack_number(&p.data), 0);
		assert_int_equal(unpack_number(&p.data), 1);
		assert_string_equal(text_of(&p, unpack_number(&p.data)), "new");
		assert_string_equal(text_of(&p, unpack_number(&p.data)), "--time 1..2");
		assert_int_equal(unpack_number(&p.data), shown == SIDE_BEFORE ? 4 : 0);
		assert_string_equal(text_of(&p, unpack_number(&p.data)), "CPU time");
		expect_column(&p, 100000, 49000, 0);
		expect_column(&p, 400000, 0, 64000);
		expect_column(&p, 100, 49, 0); /* before: counts, deviations */
		expect_column(&p, 10000, 7000, 0);
		expect_column(&p, 0, 0, 0);
		expect_column(&p, 400, 0, 64);
		expect_column(&p, 20000, 0, 8000);
		expect_column(&p, 0, 0, 0);
		assert_int_equal(unpack_number(&p.data), 0); /* variants */
		assert_int_equal(unpack_number(&p.data), 6); /* tables */
		assert_string_equal(text_of(&p, unpack_number(&p.data)), "totals");
		assert_int_equal(unpack_number(&p.data), COMPARISON_TOTALS);
		expect_change(&p, "GPU time", 0, 0, 1, CHANGED_NOT);
		expect_change(&p, "CPU time", 149000, 464000, 48529, CHANGED_TO_MORE);
		free_page(&p);
		comparison_free(c);
	}
	made_end(&b);
	made_end(&a);
}

/* Stacks of GPU work have a launch site, by the report's rule. */
static void stacks_have_their_launch_site(void **state)
{
	struct made_result m;
	uint32_t python, call, kernel, copy;
	struct page p;

	(void)state;
	made_begin(&m);
	python = made_push(&m, RESULT_ROOT, "f (m.py)");
	m.frames[m.result.frame_count - 1].class = CLASS_PYTHON;
	call = made_push(&m, made_push(&m, python, "at::add"), "cudaLaunchKernel");
	m.frames[m.result.frame_count - 1].class = CLASS_API;
	kernel = made_push(&m, call, "[GPU_Kernel]k");
	m.frames[m.result.frame_count - 1].class = CLASS_GPU_KERNEL;
	copy = made_push(&m, made_push(&m, RESULT_ROOT, "[launch not captured]"),
			 "[GPU_Memcpy HtoD]");
	m.frames[m.result.frame_count - 1].class = CLASS_GPU_WORK;
	made_add(&m, kernel, ROW_GPU, 5);
	made_add(&m, copy, ROW_GPU, 6);
	made_add(&m, call, ROW_CPU, 7);
	p = write_page(&m);
	assert_int_equal(p.stacks.count, 6);
	for (uint32_t i = 0; i < 6; i++) {
		const char *name = text_of(&p, p.frames.columns[1][p.stacks.columns[1][i]]);
		uint64_t site = p.stacks.columns[2][i];

		if (strcmp(name, "[GPU_Kernel]k") == 0)
			assert_string_equal(text_of(&p, p.frames.columns[1][site - 1]), "f (m.py)");
		else if (strcmp(name, "[GPU_Memcpy HtoD]") == 0)
			assert_string_equal(text_of(&p, p.frames.columns[1][site - 1]),
					    "[launch not captured]");
		else
			assert_int_equal(site, 0);
	}
	free_page(&p);
	made_end(&m);
}

static void frames_keep_what_is_known(void **state)
{
	struct made_result m;
	uint32_t stack;
	struct page p;

	(void)state;
	made_begin(&m);
	stack = MADE_STACK(&m, "f (m.py:4)", "g<int>(int)", "cudaLaunchKernel");
	m.frames[1] = (struct frame_info){.class = CLASS_PYTHON,
					  .name = "f (m.py:4)",
					  .short_name = "f (m.py:4)",
					  .file = "/app/m.py",
					  .line = 4};
	m.frames[2].short_name = "g<…>";
	m.frames[2].module = "/lib/libg.so";
	made_add(&m, stack, ROW_CPU, 1);
	made_add(&m, MADE_STACK(&m, "cudaMemcpyAsync"), ROW_CPU, 1);
	stack = MADE_STACK(&m, "[GPU_Kernel]softmax<1>");
	m.frames[m.stacks[stack].frame].class = CLASS_GPU_KERNEL;
	made_add(&m, stack, ROW_GPU, 1);
	p = write_page(&m);
	assert_int_equal(p.frames.count, 5);
	assert_string_equal(text_of(&p, p.frames.columns[9][4]), "softmax");
	assert_null(text_of(&p, p.frames.columns[9][0]));
	assert_int_equal(p.frames.columns[0][0], CLASS_PYTHON);
	assert_string_equal(text_of(&p, p.frames.columns[3][0]), "/app/m.py");
	assert_null(text_of(&p, p.frames.columns[4][0]));
	assert_int_equal(p.frames.columns[5][0], 4);
	assert_string_equal(text_of(&p, p.frames.columns[2][1]), "g<…>");
	assert_string_equal(text_of(&p, p.frames.columns[4][1]), "/lib/libg.so");
	/* the runtime's function, which has called the driver */
	assert_int_equal(p.frames.columns[0][2], CLASS_API);
	assert_int_equal(p.frames.columns[0][3], CLASS_API);
	assert_int_equal(p.frames.columns[8][0], KIND_PYTHON);
	assert_int_equal(p.frames.columns[8][2], KIND_API);
	free_page(&p);
	made_end(&m);
}

static void frames_say_what_folding_makes_of_them(void **state)
{
	struct made_result m;
	uint32_t stack;
	struct page p;

	(void)state;
	made_begin(&m);
	stack = MADE_STACK(&m, "main", "g", "_start", "gemm");
	m.frames[1].module = "/home/me/app";
	m.frames[2].module = "/usr/lib/libg.so";
	m.frames[3].module = "/home/me/app";
	m.frames[4].class = CLASS_GPU_KERNEL;
	made_add(&m, stack, ROW_GPU, 1);
	m.result.totals.folder = "/home/me";
	p = write_page(&m);
	assert_int_equal(p.frames.count, 4);
	assert_int_equal(p.frames.columns[6][0], ROLE_OWN);
	assert_int_equal(p.frames.columns[7][0], 0);
	assert_int_equal(p.frames.columns[6][1], ROLE_PACKAGE);
	assert_string_equal(text_of(&p, p.frames.columns[7][1]), "[libg.so]");
	assert_int_equal(p.frames.columns[6][2], ROLE_PLUMBING);
	assert_string_equal(text_of(&p, p.frames.columns[7][2]), "[app]");
	assert_int_equal(p.frames.columns[6][3], ROLE_KEPT);
	assert_int_equal(p.frames.columns[7][3], 0);
	free_page(&p);
	/* folded already */
	m.result.is_my_code = true;
	p = write_page(&m);
	assert_int_equal(number_of(&p, &p.facts, "folded"), 1);
	for (uint64_t i = 0; i < p.frames.count; i++)
		assert_true(p.frames.columns[6][i] == ROLE_KEPT && !p.frames.columns[7][i]);
	free_page(&p);
	made_end(&m);
}

static void places_have_their_names(void **state)
{
	const struct place places[] = {place_unknown(), {{9, 9, 9, 9, 9}}, {{3, 70, 1, 2, 0}}};
	const struct process_info processes[] = {{.id = 3, .pid = 69, .name = "train.py 69"}};
	const struct thread_info threads[] = {{.process = 3, .tid = 70, .name = "worker 70"}};
	const struct device devices[] = {{.process = 3, .id = 1, .name = "Made-up GPU"}};
	struct made_result m;
	uint32_t stack;
	struct page p;

	(void)state;
	made_begin(&m);
	stack = MADE_STACK(&m, "f");
	made_add(&m, stack, ROW_CPU, 1);
	made_add(&m, stack, ROW_GPU, 2);
	made_add(&m, stack, ROW_GPU, 4);
	m.rows[1].place = m.rows[2].place = 2;
	m.result.places = places;
	m.result.place_count = 3;
	m.result.processes = processes;
	m.result.threads = threads;
	m.result.devices = devices;
	m.result.process_count = m.result.thread_count = m.result.device_count = 1;
	p = write_page(&m);
	expect_rows(&p, "f 0 1 1 0 1\nf 1 1 2 0 2\nf 1 1 4 0 2\n");
	assert_int_equal(p.places.count, 2);
	for (int part = 0; part < PLACE_PARTS; part++) {
		assert_int_equal(p.places.columns[part][0], 0);
		assert_int_equal(p.places.columns[part][1], places[2].part[part] + 1);
	}
	assert_int_equal(p.processes.columns[1][0], 69);
	assert_string_equal(text_of(&p, p.processes.columns[2][0]), "train.py 69");
	assert_string_equal(text_of(&p, p.threads.columns[2][0]), "worker 70");
	assert_string_equal(text_of(&p, p.devices.columns[2][0]), "GPU 1");
	assert_string_equal(text_of(&p, p.devices.columns[3][0]), "Made-up GPU");
	free_page(&p);
	made_end(&m);
}

/* Processes that see one device each call it number 0. */
static void one_label_is_one_device(void **state)
{
	const struct device devices[] = {
		{.process = 1, .id = 0, .is_described = true, .uuid = {0xab, 0xcd, 1, 2, 3}},
		{.process = 2, .id = 0, .is_described = true, .uuid = {0xab, 0xcd, 1, 3}},
		{.process = 3, .id = 1, .is_described = true, .uuid = {0xab, 0xcd, 1, 2, 3}},
		{.process = 3, .id = 0, .is_described = true, .uuid = {7}},
		{.process = 4, .id = 3},
		{.process = 5, .id = 3},
	};
	const char *const labels[] = {
		"GPU 1", "GPU 0 (abcd0103)", "GPU 1", "GPU 0 (07000000)", "GPU 3", "GPU 3"};
	struct made_result m;
	struct page p;

	(void)state;
	made_begin(&m);
	for (int i = 0; i < 6; i++)
		assert_int_equal(devices_add(&m.devices, &devices[i]), 0);
	devices_make_labels(&m.devices);
	m.result.devices = m.devices.list;
	m.result.device_count = 6;
	p = write_page(&m);
	for (int i = 0; i < 6; i++)
		assert_string_equal(text_of(&p, p.devices.columns[2][i]), labels[i]);
	free_page(&p);
	made_end(&m);
}

/* Stacks that only records use are in the page, too. test_html_timeline reads the records. */
static void the_timeline_has_its_stacks(void **state)
{
	struct place places[] = {place_unknown(), {{3, 70, 1, 2, 0}}};
	struct made_result m;
	struct timeline *t;
	struct page p;

	(void)state;
	t = timeline_new("/tmp", NULL);
	assert_non_null(t);
	made_begin(&m);
	made_add(&m, MADE_STACK(&m, "f"), ROW_CPU, 1);
	timeline_add(t,
		     &(struct timeline_record){.kind = TIMELINE_LAUNCH,
					       .stack = {MADE_STACK(&m, "g", "cudaLaunchKernel")},
					       .place = {1}});
	timeline_finish(t);
	m.result.places = places;
	m.result.place_count = 2;
	m.result.timeline = t;
	p = write_page(&m);
	assert_int_equal(p.timeline_parts, 3); /* the head, spans, details */
	assert_int_equal(p.stacks.count, 3);
	assert_int_equal(p.frames.count, 3);
	assert_int_equal(p.places.count, 2);
	expect_rows(&p, "f 0 1 1 0 1\n");
	free_page(&p);
	timeline_free(t);
	made_end(&m);
}

static void losses_and_facts_are_there(void **state)
{
	const struct ledger ledger = {.cpu = {.samples = 41, .dropped = 7},
				      .gpu = {.sums = 5, .equal = 3}};
	struct made_result m;
	struct page p;

	(void)state;
	made_begin(&m);
	m.result.totals = (struct totals){
		.ledger = &ledger, .command = "./a --b </script>", .elapsed_ns = 12345678901};
	p = write_page(&m);
	assert_string_equal(text_of(&p, number_of(&p, &p.facts, "command")), "./a --b </script>");
	assert_true(number_of(&p, &p.facts, "elapsed ns") == 12345678901);
	assert_int_equal(number_of(&p, &p.facts, "cpu samples"), 41);
	assert_int_equal(p.losses.count, 2);
	assert_int_equal(number_of(&p, &p.losses, "CPU samples dropped"), 7);
	assert_int_equal(
		number_of(&p, &p.losses, "CUPTI's own sums that differ from the profile's"), 2);
	free_page(&p);
	made_end(&m);
}

static uint32_t push(struct made_result *m, uint32_t outer, enum frame_class class,
		     const char *name)
{
	uint32_t stack = made_push(m, outer, name);

	m->frames[m->stacks[stack].frame].class = class;
	return stack;
}

static void steps_are_told(void **state)
{
	uint64_t work_ns[] = {1500, 1700, 2600};
	struct step_series series = {.count = 2, .warm_up = 1};
	const struct findings findings = {.steps = {.list = &series, .count = 1},
					  .step_work_ns = work_ns};
	struct made_result m;
	struct page p;

	(void)state;
	made_begin(&m);
	made_add(&m, push(&m, RESULT_ROOT, CLASS_GPU_KERNEL, "[GPU_Kernel]k"), ROW_GPU, 7);
	m.result.totals.start_ns = 1000;
	m.result.findings = &findings;
	p = write_page(&m);
	assert_int_equal(p.steps.count, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(p.steps.columns[0][i], work_ns[i] - (i ? work_ns[i - 1] : 1000));
	assert_int_equal(p.warm_up, 1);
	free_page(&p);
	made_end(&m);
}

static void the_state_of_gpus_is_told(void **state)
{
	const struct gpu_reading readings[] = {
		{.start_ns = 2000001000, .end_ns = 2100001000, .sm_mhz = 1980, .celsius = 40},
		{.start_ns = 2100001000, .end_ns = 2200001000, .sm_mhz = 1980, .power_mw = 400000}};
	struct gpu_state rows[2];
	struct made_result m;
	struct page p;

	(void)state;
	made_begin(&m);
	m.result.totals.start_ns = 1000;
	m.result.totals.elapsed_ns = 5000000000;
	for (int i = 0; i < 2; i++)
		gpu_state_of(&rows[i], "GPU-</script>", &readings[i]);
	made_table(&m, &gpu_states_table, rows, 2);
	p = write_page(&m);
	assert_int_equal(p.state_counters.count, 3);
	assert_string_equal(text_of(&p, p.state_counters.columns[0][0]), "GPU-</script>");
	assert_string_equal(text_of(&p, p.state_counters.columns[1][0]), "SM clock (MHz)");
	assert_string_equal(text_of(&p, p.state_counters.columns[1][1]), "power (W)");
	/* what changes, of the clock and the power alone */
	assert_int_equal(p.states.count, 3);
	assert_int_equal(p.states.columns[1][1], 2000);
	assert_int_equal(p.states.columns[1][2], 2100);
	assert_int_equal(p.states.columns[2][0], 1980);
	assert_int_equal(p.states.columns[2][2], 400);
	free_page(&p);
	made_end(&m);
}

static void kernels_have_facts(void **state)
{
	static const struct kernel_definition rows[] = {
		{"[GPU_Kernel]</script>", "/x.py", "aten.add, aten.mul", "", "", 7, 2, 3},
		{"[GPU_Kernel]not shown", "/x.py", "aten.add", "", "", 7, 2, 3}};
	struct made_result m;
	struct page p;

	(void)state;
	made_begin(&m);
	made_add(&m, push(&m, RESULT_ROOT, CLASS_GPU_KERNEL, "[GPU_Kernel]</script>"), ROW_GPU, 7);
	made_table(&m, &kernel_definitions_table, rows, 2);
	p = write_page(&m);
	assert_int_equal(p.tables, 2); /* with that of classes */
	assert_int_equal(p.kernels.count, 2);
	for (int i = 0; i < 2; i++)
		assert_string_equal(text_of(&p, p.frames.columns[1][p.kernels.columns[0][i]]),
				    "[GPU_Kernel]</script>");
	assert_string_equal(text_of(&p, p.kernels.columns[1][0]), "fused");
	assert_string_equal(text_of(&p, p.kernels.columns[2][0]), "aten.add, aten.mul");
	assert_string_equal(text_of(&p, p.kernels.columns[1][1]), "defined");
	assert_string_equal(text_of(&p, p.kernels.columns[2][1]), "/x.py:3");
	free_page(&p);
	made_end(&m);
}

static void lines_with_stalls_have_their_source(void **state)
{
	char path[256];
	struct made_result m;
	struct frame_info *line;
	uint32_t kernel, stack;
	struct page p;

	(void)state;
	/* root quotes what everyone may read */
	shell("seq -f '</script>%%g' 30 > k.cu; chmod 644 k.cu; chmod 755 .");
	snprintf(path, sizeof(path), "%s/k.cu", folder);
	made_begin(&m);
	kernel = push(&m, RESULT_ROOT, CLASS_GPU_KERNEL, "[GPU_Kernel]k");
	for (int i = 0; i < 2; i++) {
		stack = push(&m, kernel, CLASS_GPU_CODE, i ? "gone.cu:5" : "k.cu:2");
		line = &m.frames[m.stacks[stack].frame];
		line->file = i ? "/nowhere/gone.cu" : path;
		line->line = i ? 5 : 2;
		made_add(&m, push(&m, stack, CLASS_STALL, "[selected]"), ROW_GPU, 9 - (uint64_t)i);
	}
	p = write_page(&m);
	assert_int_equal(p.sources.count, 2);
	assert_string_equal(text_of(&p, p.sources.columns[0][0]), path);
	assert_int_equal(p.sources.columns[1][0], SOURCE_READ);
	assert_int_equal(p.sources.columns[2][0], 0);
	assert_string_equal(text_of(&p, p.sources.columns[0][1]), "/nowhere/gone.cu");
	assert_int_equal(p.sources.columns[1][1], SOURCE_NOT_FOUND);
	assert_int_equal(p.parts.count, 1);
	assert_int_equal(p.parts.columns[0][0], 1);
	assert_int_equal(p.parts.columns[1][0], 22);
	assert_true(starts_with(p.source_text, "</script>1\n</script>2\n"));
	assert_null(strstr(p.source_text, "</script>23"));
	assert_null(strstr(p.text, "</script>1"));
	assert_int_equal(p.written.source_lines, 22);
	assert_int_equal(p.written.source_files, 1);
	free_page(&p);
	made_end(&m);
}

/* No byte of a name is in the file as it is. */
static void names_cannot_leave_the_data(void **state)
{
	enum { LONG = 1 << 20 };
	static const char *const names[] = {"</script><script>alert(1)</script>", "-->", "\"'`&<>",
					    "\xe2\x80\xa8\xe2\x80\xa9", "\xff\xc0\x80\xed\xa0\x80"};
	char *name = malloc(LONG + 1);
	struct made_result m;
	uint32_t stack = RESULT_ROOT;
	size_t page;
	struct page p;

	(void)state;
	assert_non_null(name);
	memset(name, '<', LONG);
	name[LONG] = '\0';
	made_begin(&m);
	for (int i = 0; i < 5; i++)
		stack = made_push(&m, stack, names[i]);
	made_add(&m, made_push(&m, stack, name), ROW_CPU, 1);
	p = write_page(&m);
	page = (size_t)(strstr(p.text, BEGIN) - p.text) + strlen(BEGIN);
	assert_int_equal(strspn(p.text + page,
				"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				"0123456789+/="),
			 p.size - page - strlen(END));
	for (int i = 0; i < 5; i++)
		assert_string_equal(text_of(&p, p.frames.columns[1][i]), names[i]);
	assert_string_equal(text_of(&p, p.frames.columns[1][5]), name);
	free_page(&p);
	made_end(&m);
	free(name);
}

static void a_path_may_be_very_deep(void **state)
{
	enum { DEPTH = 100000 };
	uint32_t stack = RESULT_ROOT;
	struct made_result m;
	struct page p;

	(void)state;
	made_begin(&m);
	for (int i = 0; i < DEPTH; i++)
		stack = made_push(&m, stack, "recursive");
	made_add(&m, stack, ROW_CPU, 1);
	p = write_page(&m);
	assert_int_equal(p.stacks.count, DEPTH);
	assert_int_equal(p.frames.count, 1);
	for (int i = 0; i < DEPTH; i++)
		assert_int_equal(p.stacks.columns[0][i], 1);
	free_page(&p);
	made_end(&m);
}

/* Rows are "path count value place", each on a line. */
static void expect_weight(const struct page *p, int weight, const char *title, const char *unit,
			  const char *note, const char *expected)
{
	const struct table *rows = &p->weights[weight];
	const uint64_t *texts = p->weight_texts[weight];
	char text[1024] = "", path[256];
	uint64_t stack = 0;

	assert_string_equal(text_of(p, texts[0]), title);
	assert_string_equal(text_of(p, texts[1]), unit);
	if (note)
		assert_string_equal(text_of(p, texts[2]), note);
	for (uint64_t i = 0; i < rows->count; i++) {
		size_t n = strlen(text);

		stack += rows->columns[0][i];
		path_of(p, stack, path, sizeof(path));
		snprintf(text + n, sizeof(text) - n, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			 path, rows->columns[2][i], rows->columns[3][i], rows->columns[1][i]);
	}
	assert_string_equal(text, expected);
}

/* Metrics that add up, and memory: of those stacks, too, that have no time. */
static void stacks_have_other_weights(void **state)
{
	struct memory_total total = {.process = 4, .device = 2, .kind = MEMORY_OF_HOST};
	struct memory_row row = {.total = 0, .peak_bytes = 4096, .at_peak = 2};
	struct memory_use memory = {
		.totals = &total, .rows = &row, .total_count = 1, .row_count = 1};
	struct counter_table counters = {.metric_count = 0};
	const struct weight weight = {"x__bytes.sum", "of all", WEIGHT_BYTES};
	struct made_result m;
	uint32_t kernel;
	struct page p;

	(void)state;
	made_begin(&m);
	kernel = MADE_STACK(&m, "main", "kernel");
	row.stack = MADE_STACK(&m, "main", "allocate");
	m.frames[m.stacks[kernel].frame].class = CLASS_GPU_KERNEL;
	made_add(&m, kernel, ROW_GPU, 5);
	m.rows[0].count = 10;
	assert_int_equal(counters_metric(&counters, "x__share.pct", "percent"), 0);
	assert_int_equal(counters_metric(&counters, "x__bytes.sum", "byte"), 1);
	assert_int_equal(counters_metric(&counters, "x__never.sum", "byte"), 2);
	counters_add(&counters, kernel, 0, 50);
	counters_add(&counters, kernel, 1, 7);
	m.result.counters = &counters;
	memory_use_show(&memory, &m.tables);
	p = write_page(&m);
	expect_rows(&p, "main;kernel 1 10 5 0 1\n");
	assert_int_equal(p.weight_count, 2);
	expect_weight(&p, 0, "memory at the peak", "byte", NULL, "main;allocate 2 4096 2\n");
	assert_int_equal(p.places.count, 2);
	assert_int_equal(p.places.columns[PLACE_PROCESS][1], 4 + 1);
	assert_int_equal(p.places.columns[PLACE_DEVICE][1], 2 + 1);
	assert_int_equal(p.places.columns[PLACE_THREAD][1], 0);
	expect_weight(&p, 1, "x__bytes.sum", "byte", "estimated from 1 of 10 launches",
		      "main;kernel 10 70 1\n");
	free_page(&p);

	/* --weight: that alone, and no sums of times that are none */
	m.result.weight = &weight;
	p = write_page(&m);
	assert_int_equal(p.weight_count, 0);
	assert_string_equal(text_of(&p, number_of(&p, &p.facts, "weight")), "x__bytes.sum");
	assert_string_equal(text_of(&p, number_of(&p, &p.facts, "weight unit")), "byte");
	assert_string_equal(text_of(&p, number_of(&p, &p.facts, "weight note")), "of all");
	for (uint64_t i = 0; i < p.facts.count; i++)
		assert_string_not_equal(text_of(&p, p.facts.columns[0][i]), "gpu ns");
	free_page(&p);
	counters_release(&counters);
	made_end(&m);
}

static void a_full_disk_is_an_error(void **state)
{
	const struct writer_options options = {.unit_ns = 1};
	FILE *out = fopen("/dev/full", "w");
	struct made_result m;
	struct written written;

	(void)state;
	assert_non_null(out);
	setvbuf(out, NULL, _IONBF, 0);
	made_begin(&m);
	assert_int_equal(html_writer.write(&m.result, &options, out, &written), -EIO);
	fclose(out);
	made_end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_format_is_known_by_its_name),
		cmocka_unit_test(stacks_have_their_launch_site),
		cmocka_unit_test(a_comparison_has_both_sides),
		cmocka_unit_test(an_empty_result_is_a_page),
		cmocka_unit_test(rows_are_by_stack),
		cmocka_unit_test(frames_keep_what_is_known),
		cmocka_unit_test(frames_say_what_folding_makes_of_them),
		cmocka_unit_test(places_have_their_names),
		cmocka_unit_test(one_label_is_one_device),
		cmocka_unit_test(the_timeline_has_its_stacks),
		cmocka_unit_test(losses_and_facts_are_there),
		cmocka_unit_test(lines_with_stalls_have_their_source),
		cmocka_unit_test(names_cannot_leave_the_data),
		cmocka_unit_test(a_path_may_be_very_deep),
		cmocka_unit_test(stacks_have_other_weights),
		cmocka_unit_test(kernels_have_facts),
		cmocka_unit_test(steps_are_told),
		cmocka_unit_test(the_state_of_gpus_is_told),
		cmocka_unit_test(a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
