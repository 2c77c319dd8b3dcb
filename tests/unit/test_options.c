/* SPDX-License-Identifier: MIT */
/* The command line. stderr is captured, so that it does not clutter the test's output. */
#include "unit.h"
#include "profiler/commands/options.h"
#include "profiler/formats/spans.h"

static struct options options;
static struct capture captured;

/* Parses the words behind the program's name; the result's text is in captured.text. */
static enum command parse_words(const char *const *words)
{
	static char *argv[64];
	static char copy[4096];
	size_t used = 0;
	int argc = 0;
	enum command result;

	argv[argc++] = (char *)"profile";
	for (; *words; words++) { /* the parser may write to argv, so it gets copies */
		size_t n = strlen(*words) + 1;

		assert_true(used + n <= sizeof(copy) && argc < 63);
		memcpy(copy + used, *words, n);
		argv[argc++] = copy + used;
		used += n;
	}
	argv[argc] = NULL;
	options_release(&options);
	capture_begin(&captured);
	result = options_parse(argc, argv, &options);
	capture_end(&captured);
	return result;
}

#define PARSE(...) parse_words((const char *const[]){__VA_ARGS__, NULL})
#define assert_run(...) assert_int_equal(PARSE(__VA_ARGS__), COMMAND_RUN)
#define assert_attach(...) assert_int_equal(PARSE(__VA_ARGS__), COMMAND_ATTACH)
#define assert_command(word) assert_string_equal(options.run.command[0], word)

/* Refused, with a sentence and a hint. */
#define assert_wrong(...)                                                        \
	do {                                                                     \
		assert_int_equal(PARSE(__VA_ARGS__), COMMAND_WRONG);             \
		assert_non_null(strstr(captured.text, "Try 'profile --help'.")); \
		assert_true(captured.text[0] != 'T');                            \
	} while (0)

static void defaults(void **state)
{
	(void)state;
	assert_run("app");
	assert_string_equal(options.outputs[0].path, "merged_trace.folded");
	assert_true(options.run.measure.samples_cpu && options.run.measure.traces_gpu);
	assert_int_equal(options.unit, UNIT_SAMPLES);
	assert_int_equal(options.run.measure.frequency_hz, 50);
	assert_null(options.run.injection_lib);
	assert_null(options.run.record);
	assert_int_equal(options.run.cuda_lib_count, 0);
	assert_false(options.naming.raw_names);
	assert_false(options.run.measure.python_lines || options.run.measure.native_python);
	assert_false(options.naming.inlines);
	assert_false(options.run.live);
	assert_false(options.as_root);
	assert_int_equal(options.level, LOG_NORMAL);
	assert_command("app");
	assert_null(options.run.command[1]);
	assert_string_equal(captured.text, "");
}

static void long_options_take_one_dash_or_two(void **state)
{
	(void)state;
	for (int dashes = 1; dashes <= 2; dashes++) {
		const char *d = dashes == 1 ? "-" : "--";
		char gpu[32], cpu[32], cupti[32], cuda[32], freq[32], unit[32], raw[32], root[32];

		snprintf(gpu, sizeof(gpu), "%sgpu-only", d);
		snprintf(cpu, sizeof(cpu), "%scpu-only", d);
		snprintf(cupti, sizeof(cupti), "%scupti-lib", d);
		snprintf(cuda, sizeof(cuda), "%scuda-lib", d);
		snprintf(freq, sizeof(freq), "%sfreq", d);
		snprintf(unit, sizeof(unit), "%sunit", d);
		snprintf(raw, sizeof(raw), "%sraw-names", d);
		snprintf(root, sizeof(root), "%sas-root", d);
		assert_run(gpu, "app");
		assert_true(options.run.measure.traces_gpu && !options.run.measure.samples_cpu);
		assert_run(cpu, "app");
		assert_true(options.run.measure.samples_cpu && !options.run.measure.traces_gpu);
		assert_run(cupti, "/lib/inject.so", "app");
		assert_string_equal(options.run.injection_lib, "/lib/inject.so");
		assert_command("app");
		assert_run(cuda, "/lib/a.so", cuda, "/lib/b.so", "app");
		assert_int_equal(options.run.cuda_lib_count, 2);
		assert_string_equal(options.run.cuda_libs[0], "/lib/a.so");
		assert_string_equal(options.run.cuda_libs[1], "/lib/b.so");
		assert_run(freq, "99", "app");
		assert_int_equal(options.run.measure.frequency_hz, 99);
		assert_run(unit, "us", "app");
		assert_int_equal(options.unit, UNIT_MICROSECONDS);
		assert_run(raw, root, "app");
		assert_true(options.naming.raw_names);
		assert_true(options.as_root);
	}
	assert_run("-python-lines", "app");
	assert_true(options.run.measure.python_lines && !options.run.measure.native_python);
	assert_run("--native-python", "--python-lines", "app");
	assert_true(options.run.measure.python_lines && options.run.measure.native_python);
	assert_run("--nvtx", "app");
	assert_true(options.run.measure.nvtx);
	assert_run("--waits", "app");
	assert_true(options.run.measure.waits);
	assert_run("app");
	assert_false(options.naming.debuginfod);
	assert_run("--debuginfod", "app");
	assert_true(options.naming.debuginfod);
	assert_run("--inlines", "app");
	assert_true(options.naming.inlines);
	assert_run("-inlines", "app");
	assert_true(options.naming.inlines);
	assert_run("--unit=ns", "-freq=7", "--cuda-lib=/x", "app");
	assert_int_equal(options.unit, UNIT_NANOSECONDS);
	assert_int_equal(options.run.measure.frequency_hz, 7);
	assert_string_equal(options.run.cuda_libs[0], "/x");
	assert_run("--save-input", "run", "app");
	assert_string_equal(options.run.record, "run");
	assert_run("--unit", "samples", "app");
	assert_int_equal(options.unit, UNIT_SAMPLES);
}

static void short_options(void **state)
{
	(void)state;
	assert_run("-o", "file", "-F", "100", "-v", "app");
	assert_string_equal(options.outputs[0].path, "file");
	assert_int_equal(options.run.measure.frequency_hz, 100);
	assert_int_equal(options.level, LOG_VERBOSE);
	assert_run("-q", "-F20", "app");
	assert_int_equal(options.run.measure.frequency_hz, 20);
	assert_int_equal(options.level, LOG_ERRORS);
	assert_run("-o", "-", "app");
	assert_string_equal(options.outputs[0].path, "-");
	assert_int_equal(options.output_count, 1);
}

static void outputs_have_the_format_of_their_ending(void **state)
{
	static const char *const unknown[] = {"a.png",  "a.pb",         "a.html.gz",
					      "d/.x.y", "a.speedscope", "a.%p"};

	(void)state;
	assert_run("app");
	assert_int_equal(options.output_count, 1);
	assert_ptr_equal(options.outputs[0].writer, &folded_writer);
	assert_run("-o", "a.folded", "-o", "b.txt", "-o", ".folded", "app");
	assert_int_equal(options.output_count, 3);
	assert_string_equal(options.outputs[1].path, "b.txt");
	for (int i = 0; i < 3; i++)
		assert_ptr_equal(options.outputs[i].writer, &folded_writer);
	assert_run("-o", "a.svg", "--format", "folded", "app");
	assert_ptr_equal(options.outputs[0].writer, &folded_writer);
	assert_run("-o", "a.pb.gz", "-o", "a.speedscope.json", "-o", "a.json", "app");
	assert_ptr_equal(options.outputs[0].writer, &pprof_writer);
	assert_ptr_equal(options.outputs[1].writer, &speedscope_writer);
	assert_ptr_equal(options.outputs[2].writer, &json_summary_writer);
	assert_run("-o", "a.pb.gz", "-o", "-", "--format", "speedscope", "app");
	assert_ptr_equal(options.outputs[0].writer, &speedscope_writer);
	assert_ptr_equal(options.outputs[1].writer, &speedscope_writer);
	assert_wrong("--format", "Folded", "app");
	assert_non_null(strstr(captured.text, "--format is one of folded"));
	assert_run("-o", "a.png", "-o", "b.folded.gz", "--format", "svg", "app");
	assert_ptr_equal(options.outputs[1].writer, &svg_writer);
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		assert_wrong("-o", "a.html", "-o", unknown[i], "app");
		assert_non_null(strstr(captured.text, ": no format has the extension ."));
		assert_non_null(strstr(captured.text, "; use .folded, .svg, .html, .pb.gz, "));
		assert_non_null(
			strstr(captured.text, ".profile, or choose a format with --format"));
	}
	assert_wrong("-o", "", "app");
	assert_non_null(strstr(captured.text, "-o needs a file name, or - for stdout"));
}

/* Outputs of spans come after the others, whose formats do not concern spans. */
static void spans_are_outputs(void **state)
{
	(void)state;
	assert_run("--otlp", "a.jsonl", "--format", "svg", "--otlp=b.PB", "app");
	assert_int_equal(options.output_count, 3);
	assert_string_equal(options.outputs[0].path, "merged_trace.folded");
	assert_ptr_equal(options.outputs[0].writer, &svg_writer);
	assert_string_equal(options.outputs[1].path, "a.jsonl");
	assert_ptr_equal(options.outputs[1].writer, &otlp_json_writer);
	assert_string_equal(options.outputs[2].path, "b.PB");
	assert_ptr_equal(options.outputs[2].writer, &otlp_protobuf_writer);
	assert_null(options.span_server);
	assert_false(options.span_stacks);
	assert_run("--otlp", "-", "--otlp-stacks", "-o", "x", "app");
	assert_string_equal(options.outputs[1].path, "-");
	assert_true(options.span_stacks);
	assert_int_equal(PARSE("--from", "x.profile", "--otlp", "a"), COMMAND_FROM);
	assert_int_equal(options.output_count, 1);
	assert_ptr_equal(options.outputs[0].writer, &otlp_json_writer);
	assert_wrong("--otlp", "", "app");
	assert_wrong("--otlp", "a", "-cpu-only", "app");
	assert_wrong("--otlp-stacks", "app");
	assert_wrong("--otlp", "a", "--weight", "peak", "app");
	assert_wrong("--otlp", "a", "--diff", "x", "y");
}

static void spans_for_a_collector(void **state)
{
	(void)state;
	assert_run("--otlp", "http://localhost:4318", "app");
	assert_int_equal(options.output_count, 1);
	assert_string_equal(options.span_server, "http://localhost:4318");
	assert_run("--otlp", "HTTPS://h/v1/traces", "--otlp", "file", "app");
	assert_string_equal(options.span_server, "HTTPS://h/v1/traces");
	assert_int_equal(options.output_count, 2);
	assert_run("--otlp", "env", "app");
	assert_string_equal(options.span_server, "env");
	assert_run("--otlp", "./env", "app");
	assert_null(options.span_server);
	assert_int_equal(PARSE("--from", "x.profile", "--otlp", "env"), COMMAND_FROM);
	assert_int_equal(options.output_count, 0);
	assert_wrong("--otlp", "grpc://h:4317", "app");
	assert_wrong("--otlp", "http://", "app");
	assert_wrong("--otlp", "http://h:x", "app");
	assert_wrong("--otlp", "env", "--otlp", "http://h", "app");
	assert_wrong("--otlp", "env", "-cpu-only", "app");
	assert_wrong("--otlp", "env", "--diff", "x", "y");
	assert_wrong("--otlp", "env", "--weight", "left", "app");
}

static void outputs_are_not_endless(void **state)
{
	char *arguments[2 * OUTPUTS_MAX + 6] = {(char *)"profile"};
	int n = 1;

	(void)state;
	for (int i = 0; i <= OUTPUTS_MAX; i++) {
		arguments[n++] = (char *)"-o";
		arguments[n++] = (char *)"x";
	}
	arguments[n++] = (char *)"app";
	assert_int_equal(options_parse(n - 2, arguments + 2, &options), COMMAND_RUN);
	assert_int_equal(options.output_count, OUTPUTS_MAX);
	assert_int_equal(options_parse(n, arguments, &options), COMMAND_WRONG);
}

static void abbreviations_that_are_clear(void **state)
{
	(void)state;
	assert_run("--gpu-o", "app");
	assert_true(options.run.measure.traces_gpu && !options.run.measure.samples_cpu);
	assert_run("--raw", "--as", "app");
	assert_true(options.naming.raw_names && options.as_root);
	assert_wrong("--live=x", "app");
	assert_non_null(strstr(captured.text, "option '--live' doesn't allow an argument"));
	assert_wrong("--cu", "x", "app"); /* cupti-lib or cuda-lib */
	assert_non_null(strstr(captured.text, "ambiguous: -cuda-lib or -cupti-lib\n"));
	/* options that measure less than their words say */
	assert_wrong("--gpu", "app");
	assert_wrong("--gp", "app");
	assert_wrong("--cpu=0", "app");
	assert_wrong("--kernels", "gemm", "app");
	assert_wrong("--native", "app");
	assert_wrong("--python", "app");
}

static void options_of_other_profilers(void **state)
{
	static const char *const outputs[] = {"-o",        "--output",      "--out",
					      "--outfile", "--output-file", "-output"};
	static const char *const rates[] = {"-F", "--freq", "--frequency", "--rate",
					    "--sampling-frequency"};

	(void)state;
	for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++) {
		assert_run(outputs[i], "x.svg", "app");
		assert_string_equal(options.outputs[0].path, "x.svg");
		assert_command("app");
	}
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		assert_run(rates[i], "99", "app");
		assert_int_equal(options.run.measure.frequency_hz, 99);
	}
	assert_run("--verbose", "app");
	assert_int_equal(options.level, LOG_VERBOSE);
	assert_run("--quiet", "app");
	assert_int_equal(options.level, LOG_ERRORS);
	assert_run("--duration", "2", "app");
	assert_attach("--pid", "1234");
}

static void an_option_is_no_argument(void **state)
{
	static const char *const options_behind[] = {"--wall", "--wall=user", "-gpu-only", "-q"};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		assert_wrong("-o", options_behind[i], "app");
		assert_non_null(strstr(captured.text, "option '-o' requires an argument, FILE: "));
	}
	assert_run("-o", "--wal", "app"); /* no option in full */
	assert_run("-o", "-", "app");
	assert_run("--output=--wall", "app");
	assert_string_equal(options.outputs[0].path, "--wall");
	assert_run("--trim-to=-q", "app");
}

static void a_hyphen_of_printed_text_begins_no_command(void **state)
{
	(void)state;
	assert_wrong("\u2013o", "x.svg", "app");
	assert_wrong("\u2014gpu-only", "app");
	assert_wrong("-q", "\u2212F", "9", "app");
	assert_run("--", "\u2014app");
	assert_run("app", "\u2014x");
}

/* An output option after the command may be a word of the command's own. */
static void outputs_behind_the_command(void **state)
{
	(void)state;
	assert_run("app", "-o", "a.html");
	assert_ptr_equal(options_misplaced_output(&options), options.run.command + 1);
	assert_run("app", "x", "--output=a.folded", "y");
	assert_ptr_equal(options_misplaced_output(&options), options.run.command + 2);
	assert_run("app", "-oa.perfetto-trace");
	assert_non_null(options_misplaced_output(&options));
	assert_run("-o", "x", "app", "-o", "a.html");
	assert_null(options_misplaced_output(&options));
	assert_run("app", "-o", "a.json");
	assert_null(options_misplaced_output(&options));
	assert_run("app", "-o", "a.png");
	assert_null(options_misplaced_output(&options));
	assert_run("app", "--", "-o", "a.html");
	assert_null(options_misplaced_output(&options));
	assert_run("app", "-o");
	assert_null(options_misplaced_output(&options));
	assert_attach("-p", "1234");
	assert_null(options_misplaced_output(&options));
}

/* Words of the command line may come from others. */
static void words_do_not_control_the_terminal(void **state)
{
	static const char *const words[][2] = {
		{"--\033[2J", "app"},   {"-\033", "app"},       {"-q\001", "app"},
		{"--live=\033", "app"}, {"--uni\033=x", "app"}, {"-x\033", "app"},
		{"--unit", "\033]0;x"}, {"--help", "\033"},     {"--completion", "\033"},
		{"-F", "\2335"},        {"--by", "\033"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		assert_int_equal(PARSE(words[i][0], words[i][1]), COMMAND_WRONG);
		assert_true(captured.text[0] != '\0');
		for (const char *c = captured.text; *c; c++)
			assert_true(*c == '\n' || (*c >= ' ' && *c <= '~'));
	}
}

/* With one dash, a typing error must not enable an option. */
static void one_dash_takes_whole_names_only(void **state)
{
	static const char *const slips[] = {
		"-a",  "-as", "-as-roo", "-P", "-gpu", "-r",         "-raw", "-w",
		"-cu", "-n",  "-x",      "-:", "-+",   "-gpu-onlyy", "-s",   "-u"};

	(void)state;
	for (size_t i = 0; i < sizeof(slips) / sizeof(slips[0]); i++) {
		char message[64];

		assert_wrong(slips[i], "1234", "app");
		snprintf(message, sizeof(message), "profile: unrecognized option '%s'", slips[i]);
		assert_memory_equal(captured.text, message, strlen(message));
	}
	assert_wrong("-va", "app"); /* short options together: -v, and none that is called -a */
	assert_non_null(strstr(captured.text, "invalid option -- 'a'"));
	assert_run("-vq", "-F7", "-ofile", "app");
	assert_int_equal(options.level, LOG_ERRORS);
	assert_int_equal(options.run.measure.frequency_hz, 7);
	assert_string_equal(options.outputs[0].path, "file");
	assert_run("gpu-only", "app"); /* a word without dash is the command */
	assert_command("gpu-only");
	assert_run("-vF", "9", "-as-root", "-live", "-unit=us", "-by", "thread", "app");
	assert_true(options.as_root && options.run.live);
	assert_int_equal(options.run.measure.frequency_hz, 9);
	assert_int_equal(options.unit, UNIT_MICROSECONDS);
}

static void the_injection_library_has_an_older_name(void **state)
{
	static const char *const names[] = {"-injection-lib", "--injection-lib", "-cupti-lib",
					    "--cupti-lib", "--inj"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_run(names[i], "/lib/x.so", "app");
		assert_string_equal(options.run.injection_lib, "/lib/x.so");
		assert_int_equal(options.run.launch_stacks, LAUNCH_STACKS_UPROBE);
	}
}

/* The command's own options are the command's. */
static void the_first_operand_ends_our_options(void **state)
{
	(void)state;
	assert_run("-q", "app", "-o", "x", "--gpu-only", "--help");
	assert_true(options.run.measure.samples_cpu && options.run.measure.traces_gpu);
	assert_string_equal(options.outputs[0].path, "merged_trace.folded");
	assert_command("app");
	assert_string_equal(options.run.command[1], "-o");
	assert_string_equal(options.run.command[4], "--help");
	assert_null(options.run.command[5]);
}

static void two_dashes_end_our_options(void **state)
{
	(void)state;
	assert_run("-q", "--", "-o", "x");
	assert_command("-o");
	assert_string_equal(options.run.command[1], "x");
	assert_run("--", "--");
	assert_command("--");
	assert_null(options.run.command[1]);
	assert_run("app", "--", "x");
	assert_string_equal(options.run.command[1], "--");
	assert_run("-", "x"); /* no option: a command of that name */
	assert_command("-");
}

static void a_command_is_needed(void **state)
{
	static const char *const nothing[] = {NULL};

	(void)state;
	assert_int_equal(parse_words(nothing), COMMAND_WRONG);
	assert_non_null(strstr(captured.text, "profile -o app.html ./app")); /* the first page */
	assert_wrong("-q");
	assert_non_null(strstr(captured.text, "no command"));
	assert_wrong("--");
	assert_wrong("-o", "file");
}

static void bad_numbers(void **state)
{
	static const char *const bad[] = {
		"",
		"0",
		"-1",
		"+5",
		" 5",
		"5 ",
		"5Hz",
		"0x10",
		"1e3",
		"1.5",
		"x",
		"10001",
		"4294967297",
		"18446744073709551617",
		"99999999999999999999999999",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_wrong("-F", bad[i], "app");
		assert_non_null(strstr(captured.text, "10000"));
	}
	assert_run("-F", "1", "app");
	assert_run("-F", "10000", "app");
	assert_run("-F", "0050", "app");
	assert_int_equal(options.run.measure.frequency_hz, 50);
}

static void bad_words(void **state)
{
	static const char *const units[] = {"", "ms", "US", "u", "nss", "sample"};

	(void)state;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		assert_wrong("--unit", units[i], "app");
	assert_wrong("--nonsense", "app");
	assert_wrong("-x", "app");
	assert_wrong("-gpu-onlyy", "app");
	assert_wrong("--gpu-only=1", "app");
	assert_wrong("-o");
	assert_wrong("-F");
	assert_wrong("--unit");
	assert_wrong("-cupti-lib");
	assert_wrong("-o", "", "app");
}

/* An unknown topic gets one line: those that there are. */
static void help_knows_its_topics(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--help", "nonsense"), COMMAND_WRONG);
	assert_non_null(
		strstr(captured.text,
		       "no help on 'nonsense'; name an option, or a topic: output, captures"));
	assert_ptr_equal(strchr(captured.text, '\n') + 1, strchr(captured.text, '\0'));
	assert_int_equal(PARSE("-help", "app"), COMMAND_WRONG);
	assert_int_equal(PARSE("-h", "app"), COMMAND_WRONG);
	assert_int_equal(PARSE("--help=nonsense"), COMMAND_WRONG);
	assert_int_equal(PARSE("--help="), COMMAND_WRONG);
}

static void modes_exclude_each_other(void **state)
{
	(void)state;
	assert_wrong("-gpu-only", "-cpu-only", "app");
	assert_wrong("-cpu-only", "--gpu-only", "app");
	assert_run("-gpu-only", "-gpu-only", "app");
	assert_true(options.run.measure.traces_gpu && !options.run.measure.samples_cpu);
}

static void nvtx_needs_stacks_from_the_process(void **state)
{
	(void)state;
	assert_run("--nvtx", "-gpu-only", "app");
	assert_run("--nvtx", "-cupti-lib", "/x", "-launch-stacks", "inprocess", "app");
	assert_wrong("--nvtx", "-cpu-only", "app");
	assert_wrong("--nvtx", "-launch-stacks", "uprobe", "app");
	assert_wrong("-cuda-lib", "/x", "--nvtx", "app");
}

static void the_limit_of_stacks_is_a_percentage(void **state)
{
	static const struct {
		const char *text;
		uint32_t thousandths;
	} good[] = {{"0.1", 100},     {"1", 1000},     {"2.5", 2500},    {"0.125", 125},
		    {"12.05", 12050}, {"100", 100000}, {"100.0", 100000}};
	static const char *const bad[] = {
		"",   "0",      "0.099", "100.001", "101",  "-1",    "1%", "1.",
		".5", "1.2345", "1e1",   "0x1",     "1000", "1.2.3", " 1", "99999999999999999999"};

	(void)state;
	assert_run("app");
	assert_int_equal(options.run.measure.max_overhead, 0);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_run("--max-overhead", good[i].text, "app");
		assert_int_equal(options.run.measure.max_overhead, good[i].thousandths);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_wrong("--max-overhead", bad[i], "app");
	assert_run("--max-overhead=1", "-cupti-lib", "/x", "-launch-stacks", "inprocess", "app");
	assert_wrong("--max-overhead=1", "-cpu-only", "app");
	assert_wrong("--max-overhead=1", "-launch-stacks", "uprobe", "app");
	assert_wrong("--max-overhead=1", "-injection-lib", "/x", "app");
	assert_wrong("--max-overhead=1", "--from", "x.profile");
}

static void waits_need_gpu_tracing(void **state)
{
	(void)state;
	assert_run("--waits", "-gpu-only", "app");
	assert_run("--waits", "-launch-stacks", "uprobe", "app");
	assert_wrong("--waits", "-cpu-only", "app");
}

static void libraries_to_probe_are_bounded(void **state)
{
	const char *words[2 * OPTIONS_MAX_CUDA_LIBS + 4];
	int n = 0;

	(void)state;
	for (int i = 0; i < OPTIONS_MAX_CUDA_LIBS; i++) {
		words[n++] = "-cuda-lib";
		words[n++] = "/x.so";
	}
	words[n] = "app";
	words[n + 1] = NULL;
	assert_int_equal(parse_words(words), COMMAND_RUN);
	assert_int_equal(options.run.cuda_lib_count, OPTIONS_MAX_CUDA_LIBS);
	words[n++] = "-cuda-lib";
	words[n++] = "/x.so";
	words[n++] = "app";
	words[n] = NULL;
	assert_int_equal(parse_words(words), COMMAND_WRONG);
}

/* Parses in a child whose stdout is read here. */
static void output_of(const char *option, char *text, size_t size)
{
	size_t used = 0;
	ssize_t n;
	int ends[2], status;
	pid_t child;

	fflush(stdout);
	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		char *argv[] = {(char *)"profile", (char *)(uintptr_t)option, NULL};

		dup2(ends[1], STDOUT_FILENO);
		status = options_parse(2, argv, &options);
		fflush(stdout);
		_exit(status);
	}
	close(ends[1]);
	while ((n = read(ends[0], text + used, size - 1 - used)) > 0)
		used += (size_t)n;
	text[used] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), COMMAND_DONE);
}

static void help_and_version_go_to_stdout(void **state)
{
	static const char *const asks[] = {"-h", "--help", "-help", "--version", "-version"};
	static const char *const mentioned[] = {
		"-o, --output FILE", "-gpu-only", "-F, --freq HZ", "-v, ",
		"--version",         "125",       "126",           "127"};
	char text[8192];

	(void)state;
	for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
		output_of(asks[i], text, sizeof(text));
		assert_memory_equal(text, i < 3 ? "Usage: profile" : "profile ", 8);
	}
	output_of("--help", text, sizeof(text));
	for (size_t i = 0; i < sizeof(mentioned) / sizeof(mentioned[0]); i++)
		if (!strstr(text, mentioned[i]))
			fail_msg("--help does not mention %s", mentioned[i]);
}

static void a_capture_replaces_the_command(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--from", "a.profile", "-o", "a.svg"), COMMAND_FROM);
	assert_int_equal(options.from.count, 1);
	assert_string_equal(options.from.paths[0], "a.profile");
	assert_false(view_changes(&options.view));
	assert_int_equal(PARSE("--from", "a.profile", "-gpu-only", "--by", "stream"), COMMAND_FROM);
	assert_true(view_changes(&options.view));
	assert_int_equal(options.view.slice.kinds & 1u << ROW_CPU, 0);
	assert_int_equal(PARSE("--from", "a.profile", "-cpu-only"), COMMAND_FROM);
	assert_int_equal(options.view.slice.kinds, 1u << ROW_CPU);
	assert_int_equal(PARSE("--from", "a.profile", "b", "-q", "c", "--from=d", "--", "-e"),
			 COMMAND_FROM);
	assert_int_equal(options.from.count, 5);
	assert_string_equal(options.from.paths[1], "b");
	assert_string_equal(options.from.paths[2], "c");
	assert_string_equal(options.from.paths[3], "d");
	assert_string_equal(options.from.paths[4], "-e");
	assert_int_equal(PARSE("app", "--from", "a.profile"), COMMAND_RUN);
	assert_wrong("--from", "a.profile", "-F", "99");
	assert_non_null(
		strstr(captured.text, "-F cannot be used with --from: it applies only to a run"));
	assert_wrong("--from", "a.profile", "--save-input", "x");
	assert_wrong("--from", "a.profile", "-cpu-only", "-gpu-only");
}

static void parts_of_a_run(void **state)
{
	(void)state;
	assert_run("--time", "1..2", "--process", "7", "--kernel", "a|b", "app");
	assert_true(slice_is_part(&options.view.slice));
	assert_int_equal(options.view.slice.to_ns, 2000000000);
	assert_true(options.view.slice.parts[PLACE_PROCESS].is_number);
	options_release(&options);
	assert_wrong("--time", "2..1", "app");
	assert_wrong("--kernel", "(", "app");
	options_release(&options);
	assert_wrong("--stream", "1", "--stream", "2", "app");
	options_release(&options);
}

static void when_to_record(void **state)
{
	static const char *const wrong[] = {"0",    "0s", "-1",  "",         "x",
					    "1..2", "1h", "1e3", "99999999m"};

	(void)state;
	assert_run("app");
	assert_int_equal(options.run.measure.delay_ns | options.run.measure.duration_ns, 0);
	assert_run("--delay", "1.5", "-d", "250ms", "app");
	assert_int_equal(options.run.measure.delay_ns, 1500000000);
	assert_int_equal(options.run.measure.duration_ns, 250000000);
	assert_run("--duration=1m", "app");
	assert_int_equal(options.run.measure.duration_ns, 60000000000);
	assert_run("--control", "fifo", "--delay", "start", "-d", "1", "app");
	assert_true(options.run.measure.delay_ns == MEASURE_UNTIL_TOLD);
	assert_wrong("--delay", "start", "app");
	assert_wrong("--delay", "start", "-p", "1");
	assert_wrong("--control", "fifo", "--wall", "--delay", "start", "app");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_wrong("-d", wrong[i], "app");
		assert_wrong("--delay", wrong[i], "app");
	}
	assert_wrong("--from", "a.profile", "-d", "1");
	assert_wrong("--wall", "--delay", "1", "app");
	assert_run("--last", "500ms", "-d", "1", "--waits", "app");
	assert_int_equal(options.run.measure.last_ns, 500000000);
	assert_wrong("--last", "0", "app");
	assert_wrong("--last", "1", "--wall", "app");
	assert_run("--last", "1", "--max-overhead", "2", "app");
	assert_wrong("--wall", "-d", "1", "app");
	assert_wrong("--wall=all", "app");
	assert_run("--wall", "app");
	assert_true(options.run.measure.waits);
	assert_run("--wall", "-cpu-only", "app");
	assert_false(options.run.measure.waits);
	assert_run("--wall", "--waits", "app");
	assert_wrong("--wall", "--waits", "-cpu-only", "app");
	assert_attach("-p", "1", "--wall", "--no-inject");
	assert_false(options.run.measure.waits);
}

static void what_is_opened_is_a_file_for_browsers(void **state)
{
	(void)state;
	assert_run("app");
	assert_false(options.open);
	assert_null(options_shown(&options));
	assert_run("--open", "-o", "a.folded", "-o", "b.svg", "-o", "c.html", "app");
	assert_true(options.open);
	assert_ptr_equal(options_shown(&options), &options.outputs[1]);
	assert_run("-o", "a", "--format", "html", "-open", "app");
	assert_ptr_equal(options_shown(&options), &options.outputs[0]);
	assert_wrong("--open", "app");
	assert_wrong("--open", "-o", "a.pb.gz", "app");
	assert_wrong("--open", "-o", "-", "--format", "html", "app");
}

static void whose_code_and_which_names(void **state)
{
	(void)state;
	assert_run("app");
	assert_false(view_changes(&options.view));
	assert_run("--my-code", "app");
	assert_true(options.view.my_code && view_changes(&options.view));
	assert_int_equal(options.view.my_path_count, 0);
	assert_run("--my-path", "a", "--my-path=/b", "app");
	assert_true(options.view.my_code);
	assert_int_equal(options.view.my_path_count, 2);
	assert_string_equal(options.view.my_paths[1], "/b");
	assert_wrong("--my-path", "", "app");
	assert_run("--names", "short", "app");
	assert_int_equal(options.view.names, VIEW_NAMES_SHORT);
	assert_true(view_changes(&options.view));
	assert_run("--names", "full", "app");
	assert_int_equal(options.view.names, VIEW_NAMES_FULL);
	assert_wrong("--names", "long", "app");
	assert_run("--trim-to", "^step$", "app");
	assert_true(view_changes(&options.view));
	options_release(&options);
	assert_wrong("--trim-to", "(", "app");
	options_release(&options);
	assert_int_equal(
		PARSE("--from", "a.profile", "--my-code", "--names", "short", "--trim-to", "7"),
		COMMAND_FROM);
	assert_false(options.view.trim_to.is_number);
	options_release(&options);
}

static void own_folders_are_not_endless(void **state)
{
	const char *words[2 * VIEW_PATHS_MAX + 4];
	int count = 0;

	(void)state;
	for (int i = 0; i <= VIEW_PATHS_MAX; i++) {
		words[count++] = "--my-path";
		words[count++] = "x";
	}
	words[count++] = "app";
	words[count] = NULL;
	assert_int_equal(parse_words(words), COMMAND_WRONG);
	assert_int_equal(parse_words(words + 2), COMMAND_RUN);
	assert_int_equal(options.view.my_path_count, VIEW_PATHS_MAX);
}

/* Older names and words mean what newer ones do. */
static void older_words_are_understood(void **state)
{
	(void)state;
	assert_run("--graph", "whole", "app");
	assert_true(options.run.measure.whole_graphs && !options.run.measure.device_graphs);
	assert_run("--graph", "graph", "--report", "--metrics", "default", "--record", "x", "app");
	assert_true(options.run.measure.whole_graphs && options.report);
	assert_string_equal(options.run.record, "x");
	assert_wrong("--graph", "graphs", "app");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(older_words_are_understood),
		cmocka_unit_test(whose_code_and_which_names),
		cmocka_unit_test(own_folders_are_not_endless),
		cmocka_unit_test(a_capture_replaces_the_command),
		cmocka_unit_test(parts_of_a_run),
		cmocka_unit_test(when_to_record),
		cmocka_unit_test(defaults),
		cmocka_unit_test(long_options_take_one_dash_or_two),
		cmocka_unit_test(short_options),
		cmocka_unit_test(outputs_have_the_format_of_their_ending),
		cmocka_unit_test(spans_are_outputs),
		cmocka_unit_test(spans_for_a_collector),
		cmocka_unit_test(outputs_are_not_endless),
		cmocka_unit_test(abbreviations_that_are_clear),
		cmocka_unit_test(options_of_other_profilers),
		cmocka_unit_test(an_option_is_no_argument),
		cmocka_unit_test(a_hyphen_of_printed_text_begins_no_command),
		cmocka_unit_test(outputs_behind_the_command),
		cmocka_unit_test(one_dash_takes_whole_names_only),
		cmocka_unit_test(words_do_not_control_the_terminal),
		cmocka_unit_test(the_injection_library_has_an_older_name),
		cmocka_unit_test(the_first_operand_ends_our_options),
		cmocka_unit_test(two_dashes_end_our_options),
		cmocka_unit_test(a_command_is_needed),
		cmocka_unit_test(bad_numbers),
		cmocka_unit_test(bad_words),
		cmocka_unit_test(help_knows_its_topics),
		cmocka_unit_test(modes_exclude_each_other),
		cmocka_unit_test(nvtx_needs_stacks_from_the_process),
		cmocka_unit_test(the_limit_of_stacks_is_a_percentage),
		cmocka_unit_test(waits_need_gpu_tracing),
		cmocka_unit_test(what_is_opened_is_a_file_for_browsers),
		cmocka_unit_test(libraries_to_probe_are_bounded),
		cmocka_unit_test(help_and_version_go_to_stdout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
