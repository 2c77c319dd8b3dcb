/* SPDX-License-Identifier: MIT */
/*
 * pictures FOLDER: writes the pictures that the browser's tests look at: small.svg and flame.svg of
 * one known tree, unsampled.svg, narrow.svg, layers.svg, hostile.svg, deep.svg, empty.svg, many.svg
 * of 50,000 frames, and difference.svg.
 */
#include "tests/unit/made_result.h"
#include "profiler/formats/writer.h"
#include "profiler/tables/comparison.h"

static const char *folder;

static void write_result(const struct result *result, const char *name,
			 const struct writer_options *options)
{
	struct written written;
	char path[4096];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s.svg", folder, name);
	out = fopen(path, "w");
	if (!out || svg_writer.write(result, options, out, &written) != 0 || fclose(out) != 0) {
		perror(path);
		exit(1);
	}
}

static void write_picture(struct made_result *m, const char *name, bool is_flame)
{
	const struct writer_options options = {.unit_ns = 1, .root_at_bottom = is_flame};

	write_result(&m->result, name, &options);
}

/* As made_push, of a class. */
static uint32_t push(struct made_result *m, uint32_t outer, enum frame_class class,
		     const char *name)
{
	uint32_t stack = made_push(m, outer, name);

	m->frames[m->result.frame_count - 1].class = class;
	return stack;
}

static void add(struct made_result *m, uint32_t stack, enum row_kind kind, uint64_t count,
		uint64_t ns, uint64_t bytes)
{
	made_add(m, stack, kind, ns);
	m->rows[m->result.row_count - 1].count = count;
	m->rows[m->result.row_count - 1].bytes = bytes;
}

/* 1 s in all; tests/browser/run knows these numbers. */
static void write_small(void)
{
	struct made_result m;
	uint32_t start, work, api, python, kernel;

	made_begin(&m);
	m.result.totals.command = "/opt/bin/small --fast";
	m.result.totals.elapsed_ns = 1500000000;
	start = push(&m, RESULT_ROOT, CLASS_NATIVE, "_start");
	start = push(&m, start, CLASS_NATIVE, "main");
	work = push(&m, start, CLASS_NATIVE, "server::Pipeline::work(int, std::vector<float>)");
	m.frames[m.result.frame_count - 1].module = "/opt/bin/small";
	add(&m, work, ROW_CPU, 10, 200000000, 0);
	api = push(&m, work, CLASS_API, "cudaLaunchKernel");
	kernel = push(&m, api, CLASS_GPU_KERNEL, "[GPU_Kernel]gemm(float*)");
	add(&m, kernel, ROW_GPU, 40, 400000000, 0);
	kernel = push(&m, api, CLASS_GPU_KERNEL, "[GPU_Kernel]softmax(float*)");
	add(&m, kernel, ROW_GPU, 5, 50000000, 0);
	python = push(&m, start, CLASS_PYTHON, "Model.forward (model.py:42)");
	m.frames[m.result.frame_count - 1].file = "model.py";
	m.frames[m.result.frame_count - 1].line = 42;
	add(&m, python, ROW_CPU, 5, 100000000, 0);
	/* gemm inside gemm: its time counts once in a search */
	kernel = push(&m, python, CLASS_PYTHON, "gemm (model.py:7)");
	add(&m, kernel, ROW_CPU, 5, 100000000, 0);
	kernel = push(&m, kernel, CLASS_GPU_KERNEL, "[GPU_Kernel]gemm(float*)");
	add(&m, kernel, ROW_GPU, 1, 50000000, 0);
	api = push(&m, start, CLASS_API, "cudaMemcpy");
	add(&m, push(&m, api, CLASS_GPU_WORK, "[GPU_Memcpy HtoD]"), ROW_GPU, 3, 50000000, 3 << 20);
	add(&m, push(&m, api, CLASS_WAIT, "[waiting for GPU]"), ROW_WAIT, 3, 49970000, 0);
	add(&m, push(&m, api, CLASS_NATIVE, "narrow"), ROW_CPU, 1, 30000, 0);
	write_picture(&m, "small", false);
	write_picture(&m, "flame", true);
	made_end(&m);
}

/* Two samples, CPU time that none stands for, GPU time, an idle GPU. */
static void write_unsampled(void)
{
	struct made_result m;
	uint32_t main_stack, none;

	made_begin(&m);
	main_stack = push(&m, RESULT_ROOT, CLASS_NATIVE, "main");
	add(&m, main_stack, ROW_CPU, 2, 40000000, 0);
	none = push(&m, RESULT_ROOT, CLASS_MARK, "app");
	add(&m, push(&m, none, CLASS_MARK, PSEUDO_NOT_SAMPLED), ROW_CPU, 0, 30000000, 0);
	add(&m, push(&m, main_stack, CLASS_GPU_KERNEL, "[GPU_Kernel]k"), ROW_GPU, 7, 20000000, 0);
	add(&m, push(&m, RESULT_ROOT, CLASS_IDLE, "[GPU 0 idle]"), ROW_IDLE, 4, 10000000, 0);
	write_picture(&m, "unsampled", false);
	made_end(&m);
}

/* Layers of 0.05 %, twenty on each side of a wide one. */
static void write_layers(void)
{
	static char text[41][16];
	struct made_result m;
	uint32_t main_stack;

	made_begin(&m);
	main_stack = push(&m, RESULT_ROOT, CLASS_NATIVE, "main");
	for (uint32_t i = 0; i < 41; i++) {
		snprintf(text[i], sizeof(text[i]), "[layer.%u]", i);
		add(&m, push(&m, main_stack, CLASS_LAYER, text[i]), ROW_GPU, 1,
		    i == 20 ? 980000000 : 500000, 0);
	}
	write_picture(&m, "layers", false);
	made_end(&m);
}

/* Forty frames of 0.05 %, each narrower than a pixel, the largest first. */
static void write_narrow(void)
{
	static char text[40][16];
	struct made_result m;
	uint32_t main_stack;

	made_begin(&m);
	main_stack = push(&m, RESULT_ROOT, CLASS_NATIVE, "main");
	add(&m, push(&m, main_stack, CLASS_NATIVE, "wide"), ROW_CPU, 1, 980000000, 0);
	for (uint32_t i = 0; i < 40; i++) {
		snprintf(text[i], sizeof(text[i]), "small_%u", i);
		add(&m, push(&m, main_stack, CLASS_NATIVE, text[i]), ROW_CPU, 1, 500000 - i, 0);
	}
	write_picture(&m, "narrow", false);
	made_end(&m);
}

/* Each name would set document.title, if it ran as a script. */
static void write_hostile(void)
{
	static const char *const names[] = {
		"</title></g></svg><script>document.title='hacked'</script>",
		"]]><script>document.title='hacked'</script><![CDATA[",
		"\"><image href='x' onerror=\"document.title='hacked'\"/>",
		"' onload='document.title=1' x='",
		"</script><script>document.title='hacked'</script><!--",
		"\",0,0,0]]};document.title='hacked';//",
		"\\u0022];document.title='hacked'//",
		"line\xe2\x80\xa8separator\xe2\x80\xa9 bytes \xff\xfe\x80 \xed\xa0\x80",
		"<img src=x onerror=document.title='hacked'>",
		"&lt;script&gt;document.title='hacked'&lt;/script&gt;",
		"(((((a+)+)+)+)+)$[",
		"\xe4\xb8\xad\xe6\x96\x87\xf0\x9f\x98\x80\xd8\xb9\xd8\xb1",
	};
	enum { COUNT = sizeof(names) / sizeof(names[0]), LENGTH = 1 << 20 };
	char *longest = malloc(LENGTH + 1);
	struct made_result m;

	assert_non_null(longest);
	memset(longest, 'a', LENGTH);
	longest[LENGTH] = '\0';
	made_begin(&m);
	m.result.totals.command = names[0];
	for (uint32_t i = 0; i < COUNT; i++) {
		uint32_t stack = push(&m, RESULT_ROOT, CLASS_PYTHON, names[i]);

		m.frames[m.result.frame_count - 1].file = names[i];
		stack = push(&m, stack, CLASS_NATIVE, longest);
		m.frames[m.result.frame_count - 1].module = names[i];
		add(&m, push(&m, stack, CLASS_GPU_KERNEL, names[i]), ROW_GPU, 1, 1000, 0);
	}
	write_picture(&m, "hostile", false);
	made_end(&m);
	free(longest);
}

static void write_deep(void)
{
	uint32_t stack = RESULT_ROOT;
	struct made_result m;

	made_begin(&m);
	for (int i = 0; i < 100000; i++)
		stack = push(&m, stack, CLASS_NATIVE, "recursive");
	add(&m, stack, ROW_CPU, 1, 1000, 0);
	write_picture(&m, "deep", false);
	made_end(&m);
}

static void write_empty(void)
{
	struct made_result m;

	made_begin(&m);
	write_picture(&m, "empty", false);
	made_end(&m);
}

static void add_samples(struct made_result *m, const char *name, uint64_t count)
{
	uint32_t main = push(m, RESULT_ROOT, CLASS_NATIVE, "main");

	add(m, push(m, main, CLASS_NATIVE, name), ROW_CPU, count, count * 1000000, 0);
}

/* tests/browser/run knows these numbers. */
static void write_difference(void)
{
	const struct comparison_options options = {.shown = SIDE_AFTER};
	struct writer_options with = {.unit_ns = 1};
	struct made_result before, after;
	const struct result *b = &before.result, *a = &after.result;
	struct comparison *c;

	made_begin(&before);
	made_begin(&after);
	add_samples(&before, "slower", 1000);
	add_samples(&after, "slower", 2000);
	add_samples(&before, "faster", 1000);
	add_samples(&after, "faster", 800);
	add_samples(&before, "same", 1000);
	add_samples(&after, "same", 1001);
	add_samples(&before, "gone", 100);
	add_samples(&after, "</text>new", 100);
	c = comparison_new(&b, 1, &a, 1, &options);
	assert_non_null(c);
	with.comparison = c;
	write_result(&c->result, "difference", &with);
	comparison_free(c);
	made_end(&before);
	made_end(&after);
}

#define NAMES 2000
static char names[NAMES][64];

/* A tree of `budget` frames, each of which has time of its own. */
static void grow(struct made_result *m, struct prng *p, uint32_t outer, uint32_t depth,
		 uint32_t quota)
{
	static const enum frame_class classes[] = {CLASS_NATIVE, CLASS_NATIVE, CLASS_NATIVE,
						   CLASS_PYTHON, CLASS_JIT,    CLASS_KERNEL_MODE};

	while (quota > 0) {
		uint32_t name = (uint32_t)prng_below(p, NAMES);
		uint32_t share = 1 + (uint32_t)prng_below(p, depth < 4 ? quota * 2 / 3 + 1 : quota);
		uint32_t stack = push(m, outer, classes[name % 6], names[name]);

		add(m, stack, ROW_CPU, 1, 900 + prng_below(p, 200), 0);
		grow(m, p, stack, depth + 1, depth < 60 ? share - 1 : 0);
		quota -= share;
	}
}

static void write_many(void)
{
	struct prng p = {.state = 1};
	struct made_result m;

	for (uint32_t i = 0; i < NAMES; i++)
		snprintf(names[i], sizeof(names[i]), "space%u::Class<%u>::function_%u(int)", i % 30,
			 i % 70, i);
	made_begin(&m);
	grow(&m, &p, RESULT_ROOT, 0, 50000);
	write_picture(&m, "many", false);
	made_end(&m);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: pictures FOLDER\n");
		return 2;
	}
	folder = argv[1];
	write_small();
	write_unsampled();
	write_narrow();
	write_layers();
	write_hostile();
	write_deep();
	write_empty();
	write_many();
	write_difference();
	return 0;
}
