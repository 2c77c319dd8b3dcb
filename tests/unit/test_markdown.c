/* SPDX-License-Identifier: MIT */
/* The page in Markdown: what it says, what it leaves out, and that it is short whatever the run. */
#include "made_findings.h"
#include "random_names.h"
#include "random_result.h"
#include "symbolize/util/text.h"
#include "profiler/formats/writer.h"

#define BYTES_MAX 8192u
#define LINES_MAX 120u

static char *write_page(const struct result *r)
{
	struct written written;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	memset(&written, 0xff, sizeof(written)); /* says nothing yet */
	assert_int_equal(
		markdown_writer.write(r, &(struct writer_options){.unit_ns = 1}, out, &written), 0);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(written.items, 1);
	assert_int_equal(strlen(text), size);
	return text;
}

static void expect_line(const char *text, const char *line)
{
	size_t length = strlen(line);

	for (const char *at = text; (at = strstr(at, line)); at++)
		if ((at == text || at[-1] == '\n') && at[length] == '\n')
			return;
	fail_msg("no line \"%s\" in:\n%s", line, text);
}

static void expect_no(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("\"%s\" is in:\n%s", part, text);
}

static uint32_t count_lines(const char *text)
{
	uint32_t lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

static uint32_t push(struct made_result *m, uint32_t outer, enum frame_class class,
		     const char *name, const char *short_name)
{
	uint32_t stack = made_push(m, outer, name);

	m->frames[m->stacks[stack].frame].class = class;
	m->frames[m->stacks[stack].frame].short_name = short_name;
	return stack;
}

static void begin(struct made_result *m, struct ledger *ledger)
{
	made_begin(m);
	*ledger = (struct ledger){.cpu.samples = 0};
	m->result.totals = (struct totals){
		.ledger = ledger,
		.command =
			"/home/ada/bin/python3 -u /home/ada/secret/train.py --token 'very secret'",
		.host = "nodename",
		.command_pid = 7,
		.exit_status = 3,
		.start_ns = 5000,
		.elapsed_ns = 2500000000,
		.sample_ns = 20000000};
}

static void all_sections(void **state)
{
	struct device devices[2] = {{.number = 0, .label = "GPU 0"},
				    {.number = 1, .label = "GPU 1"}};
	struct ledger ledger;
	struct made_result m;
	struct made_findings f;
	uint32_t call, kernel;
	char *text;

	(void)state;
	begin(&m, &ledger);
	call = push(&m, push(&m, RESULT_ROOT, CLASS_PYTHON, "step (train.py)", "step"), CLASS_API,
		    "cudaLaunchKernel", "cudaLaunchKernel");
	kernel = push(&m, call, CLASS_GPU_KERNEL, "[GPU_Kernel]gemm<1>(int*)", "gemm<1>");
	made_add(&m, kernel, ROW_GPU, 3000);
	m.rows[0].count = 2;
	made_add(&m, push(&m, call, CLASS_GPU_WORK, "[GPU_Memset]", "[GPU_Memset]"), ROW_GPU, 1000);
	made_add(&m, push(&m, RESULT_ROOT, CLASS_NATIVE, "work", "work"), ROW_CPU, 80000000);
	m.rows[2].count = 4;
	ledger.gpu.dropped = 1;
	ledger.cost.program_ns = 4000;
	ledger.pipe.processes = 1;
	made_findings(&f, &m.result, devices, 2, &m.frames[m.stacks[call].frame - 1]);
	m.result.findings = &f.findings;
	text = write_page(&m.result);
	expect_line(text, "# python3 train.py");
	expect_line(text, "It ran for 2.500 s, and ended with status 3.");
	expect_line(text, "**Verdict:** GPU 0: idle around calls that wait, 30.0 % of the steps "
			  "_(measured)_. Look closer: --waits: which calls wait");
	/* of two devices: 6000 + 6000 of 20000 ns, and of 22000 */
	expect_line(text, "| computing | 60.0 % | 12.000 us | 54.5 % | 12.000 us |");
	expect_line(text, "| GPU 1 | 60.0 % | idle around calls that wait for the GPU | 30.0 % |");
	expect_line(text,
		    "| 10 | 1 | 1.000 us | 1.000 us..2.000 us | 2.000 us (number 8) | +25.0 % |");
	expect_line(text, "| 2 | 3.000 us | 75.0 % | 1.500 us | GEMM | gemm&lt;1&gt; |");
	expect_line(text, "## GPU work by class");
	expect_line(text, "| 3.000 us | 75.0 % | GEMM |");
	expect_line(text, "| 1.000 us | 25.0 % | memcpy and memset |");
	expect_line(text, "| 3 | 4.000 us | 100.0 % | 1.333 us | step (train.py) |");
	/* 1.96 * sqrt(4) * 20 ms */
	expect_line(text, "| 4 | 80.000 ms | 100.0 % | 78.400 ms | 80.000 ms | work |");
	expect_line(text, "| idle around calls that wait for the GPU | 3.000 us | 15.0 % | 900 ns "
			  "| step (train.py) |");
	expect_line(text, "- 10 steps _(measured)_. Look closer: --from x.profile --step 8 -o "
			  "step.html: the slowest one");
	expect_line(text,
		    "GPU times lack 25.0 % of the operations, and are too small by about as much.");
	expect_line(text,
		    "CPU time: 4.000 us in the program, 0 ns in profile. Memory of profile: 0 B.");
	expect_no(text, "secret");
	expect_no(text, "ada");
	expect_no(text, "nodename");
	free(text);
	made_end(&m);
}

static void without_findings(void **state)
{
	struct ledger ledger;
	struct made_result m;
	struct findings findings = {.unknown = "there was too much work"};
	char *text;

	(void)state;
	begin(&m, &ledger);
	made_add(&m, push(&m, RESULT_ROOT, CLASS_NATIVE, "work", "work"), ROW_CPU, 20000000);
	text = write_page(&m.result);
	expect_line(text, "**No verdict:** the course of the run was not kept, or cannot be read.");
	expect_line(text, "| 1 | 20.000 ms | 100.0 % | 39.200 ms | 20.000 ms | work |");
	expect_line(text, "Nothing was lost, and everything was matched.");
	expect_no(text, "## Steps");
	expect_no(text, "## Idle");
	free(text);
	m.result.findings = &findings;
	text = write_page(&m.result);
	expect_line(text, "**No verdict:** there was too much work.");
	free(text);
	made_end(&m);
}

static void title_of(const char *command, const char *program, const char *want)
{
	struct ledger ledger;
	struct made_result m;
	char *text;

	begin(&m, &ledger);
	m.result.totals.command = command;
	m.result.totals.program = program;
	text = write_page(&m.result);
	expect_line(text, want);
	free(text);
	made_end(&m);
}

static void the_program_alone_is_named(void **state)
{
	(void)state;
	title_of("./app --password x", NULL, "# app");
	title_of("'/opt/my app/run <b>' x", NULL, "# run &lt;b&gt;");
	title_of("python3 -m pkg.mod --x", NULL, "# python3 pkg.mod");
	title_of("", NULL, "# a program");
	title_of(NULL, NULL, "# a program");
	title_of("profile -p 12", "/usr/bin/server --key x", "# server");
}

/* The title names the signal that ended a command. An unknown end is left out. */
static void ends_of_runs(void **state)
{
	struct ledger ledger;
	struct made_result m;
	char *text;

	(void)state;
	begin(&m, &ledger);
	m.result.totals.exit_status = 137;
	text = write_page(&m.result);
	expect_line(text, "It ran for 2.500 s, and ended with status 137 (signal 9).");
	free(text);
	m.result.totals.command_pid = 0;
	m.result.totals.measure.attached = true;
	text = write_page(&m.result);
	expect_line(text, "It was profiled for 2.500 s.");
	free(text);
	made_end(&m);
}

static void any_run_fits(void **state)
{
	struct device devices[2] = {{.number = 0, .label = "GPU 0"},
				    {.number = 1, .label = "GPU 1"}};

	(void)state;
	for (uint64_t round = 0; round < 150; round++) {
		struct prng p = prng_round(round);
		struct random_result r;
		struct made_findings f;
		char **names, *text, *claim;

		random_begin(&p, &r);
		names = random_names_give(&p, &r.made);
		claim = random_name(&p);
		made_findings(&f, &r.made.result, devices, (uint32_t)prng_below(&p, 3),
			      &r.made.result.frames[prng_below(&p, r.made.result.frame_count)]);
		while (f.findings.count < FINDINGS_MAX)
			made_finding(&f, FINDING_GAP, claim, claim);
		r.made.result.findings = &f.findings;
		r.made.result.totals.command = claim;
		text = write_page(&r.made.result);
		EXPECT(&p, strlen(text) <= BYTES_MAX);
		EXPECT(&p, count_lines(text) <= LINES_MAX);
		EXPECT(&p, !strpbrk(text, "<>\r\t"));
		EXPECT(&p, strstr(text, "\n## Price of profiling\n"));
		for (const char *at = text; *at;) {
			size_t bytes = count_utf8_bytes((const unsigned char *)at);

			EXPECT(&p, bytes > 0);
			at += bytes;
		}
		free(text);
		random_names_free(names, r.made.result.frame_count);
		free(claim);
		random_end(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_sections),
		cmocka_unit_test(without_findings),
		cmocka_unit_test(the_program_alone_is_named),
		cmocka_unit_test(ends_of_runs),
		cmocka_unit_test(any_run_fits),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
