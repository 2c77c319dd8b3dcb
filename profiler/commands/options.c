// SPDX-License-Identifier: MIT
#include "profiler/commands/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/version.h"

static const char help[] =
	"Usage: profile [options] [--] command [argument...]\n"
	"\n"
	"Runs the command and writes where its time went, on the CPU and on the GPU: GPU work is\n"
	"under the CPU stacks that launched it. Files ending in .html and .svg open in a browser;\n"
	".folded is for flamegraph.pl, .pb.gz for pprof, .speedscope.json for speedscope.\n"
	"\n"
	"  -o FILE             output file, - for stdout (default " OPTIONS_DEFAULT_OUTPUT ");\n"
	"                      its ending is the format; may be repeated\n"
	"  --format NAME       the format, whatever the ending: folded, svg, html, pprof,\n"
	"                      speedscope, json\n"
	"  --flame             in pictures, callees above callers: flames, not icicles\n"
	"  -gpu-only           GPU time only, under the stacks that launched it\n"
	"  -cpu-only           CPU samples only; nothing is loaded into the command\n"
	"  --by PARTS          add root frames: any of process,thread,device,context,stream\n"
	"  --kernels-only      record no GPU work but kernels: no copies, sets, allocations\n"
	"  --graph HOW         CUDA graphs by node (default) or as a whole (graph)\n"
	"  --report            print where most of the time went: kernels, launch sites, "
	"functions\n"
	"  --strict            exit with 124 if anything was lost or could not be matched\n"
	"  -F, --freq HZ       CPU samples per second and CPU (default 50)\n"
	"  --unit UNIT         weights in samples (default), us or ns\n"
	"  --raw-names         keep kernel names mangled\n"
	"  --inlines           show inlined functions as frames (needs debug information)\n"
	"  -injection-lib PATH load this library into the command instead of the built-in one\n"
	"                      (not libcupti; -cupti-lib is the older name of this option)\n"
	"  -cuda-lib PATH      also probe this CUDA runtime library; may be repeated\n"
	"  --as-root           under sudo: run the command and profile as root, not as the\n"
	"                      invoking user\n"
	"  -launch-stacks HOW  take launch stacks inprocess, by uprobe, or auto (default: by\n"
	"                      uprobe with -injection-lib or -cuda-lib, else inprocess)\n"
	"  --python-lines      show line numbers in Python frames\n"
	"  --native-python     keep the Python interpreter's own C frames\n"
	"  --nvtx              show NVTX ranges as frames of launch stacks\n"
	"  --waits             show the time that threads wait for the GPU, and for what\n"
	"  --record PREFIX     save the raw input in PREFIX.pipe and PREFIX.events, for bug "
	"reports\n"
	"  -v                  be verbose      -q  print only errors\n"
	"  --version           print the version and exit\n"
	"  -h, --help          print this and exit\n"
	"\n"
	"Long options take one dash or two; with two they may be shortened.\n"
	"\n"
	"Exit status: the command's own; 128+N if signal N killed it; 124 by --strict; 125 if\n"
	"profile failed; 126 if the command cannot be run; 127 if not found.\n";

#define SHORT_OPTIONS "+o:F:vqh" /* "+": stop at the first word that is not an option */

enum {
	OPT_GPU_ONLY = 256,
	OPT_CPU_ONLY,
	OPT_INJECTION_LIB,
	OPT_CUDA_LIB,
	OPT_UNIT,
	OPT_RAW_NAMES,
	OPT_INLINES,
	OPT_AS_ROOT,
	OPT_RECORD,
	OPT_LAUNCH_STACKS,
	OPT_PYTHON_LINES,
	OPT_NATIVE_PYTHON,
	OPT_KERNELS_ONLY,
	OPT_GRAPH,
	OPT_STRICT,
	OPT_BY,
	OPT_NVTX,
	OPT_WAITS,
	OPT_FORMAT,
	OPT_REPORT,
	OPT_FLAME,
	OPT_VERSION
};

static const struct option long_options[] = {
	{"gpu-only", no_argument, NULL, OPT_GPU_ONLY},
	{"cpu-only", no_argument, NULL, OPT_CPU_ONLY},
	{"injection-lib", required_argument, NULL, OPT_INJECTION_LIB},
	{"cupti-lib", required_argument, NULL, OPT_INJECTION_LIB},
	{"cuda-lib", required_argument, NULL, OPT_CUDA_LIB},
	{"freq", required_argument, NULL, 'F'},
	{"unit", required_argument, NULL, OPT_UNIT},
	{"raw-names", no_argument, NULL, OPT_RAW_NAMES},
	{"inlines", no_argument, NULL, OPT_INLINES},
	{"as-root", no_argument, NULL, OPT_AS_ROOT},
	{"record", required_argument, NULL, OPT_RECORD},
	{"launch-stacks", required_argument, NULL, OPT_LAUNCH_STACKS},
	{"python-lines", no_argument, NULL, OPT_PYTHON_LINES},
	{"native-python", no_argument, NULL, OPT_NATIVE_PYTHON},
	{"kernels-only", no_argument, NULL, OPT_KERNELS_ONLY},
	{"graph", required_argument, NULL, OPT_GRAPH},
	{"strict", no_argument, NULL, OPT_STRICT},
	{"by", required_argument, NULL, OPT_BY},
	{"nvtx", no_argument, NULL, OPT_NVTX},
	{"waits", no_argument, NULL, OPT_WAITS},
	{"format", required_argument, NULL, OPT_FORMAT},
	{"report", no_argument, NULL, OPT_REPORT},
	{"flame", no_argument, NULL, OPT_FLAME},
	{"version", no_argument, NULL, OPT_VERSION},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

/* A whole decimal number within [min, max], and nothing else. */
static bool parse_u32(const char *text, uint32_t min, uint32_t max, uint32_t *out)
{
	char *end;
	unsigned long value;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || value < min || value > max)
		return false;
	*out = (uint32_t)value;
	return true;
}

/* -gpu-only and -cpu-only each leave out the other. */
static bool check_mode(const struct options *o)
{
	if (o->measure.samples_cpu || o->measure.traces_gpu)
		return true;
	fprintf(stderr, "profile: -gpu-only and -cpu-only exclude each other; leave both out for "
			"the merged profile\n");
	return false;
}

static bool set_unit(struct options *o, const char *text)
{
	static const char *const names[] = UNIT_WORDS;

	for (int i = 0; i < 3; i++) {
		if (strcmp(text, names[i]) == 0) {
			o->unit = (enum weight_unit)i;
			return true;
		}
	}
	fprintf(stderr, "profile: --unit is one of samples, us, ns, not '%s'\n", text);
	return false;
}

static bool set_launch_stacks(struct options *o, const char *text)
{
	static const char *const names[] = {"auto", "inprocess", "uprobe"};

	for (int i = 0; i < 3; i++) {
		if (strcmp(text, names[i]) == 0) {
			o->launch_stacks = (enum launch_stacks)i;
			return true;
		}
	}
	fprintf(stderr, "profile: -launch-stacks is one of auto, inprocess, uprobe, not '%s'\n",
		text);
	return false;
}

static bool set_graph(struct options *o, const char *text)
{
	o->measure.whole_graphs = strcmp(text, "graph") == 0;
	if (o->measure.whole_graphs || strcmp(text, "node") == 0)
		return true;
	fprintf(stderr, "profile: --graph is node or graph, not '%s'\n", text);
	return false;
}

static bool set_by(struct options *o, const char *text)
{
	if (grouping_parse(text, &o->by))
		return true;
	fprintf(stderr,
		"profile: --by takes process, thread, device, context, stream, each at most once, "
		"separated by commas, not '%s'\n",
		text);
	return false;
}

/*
 * In the process it is cheaper and needs no privilege. Naming a library to probe means probes,
 * and another injection library may not take stacks.
 */
static void choose_launch_stacks(struct options *o)
{
	if (o->launch_stacks == LAUNCH_STACKS_AUTO)
		o->launch_stacks = o->injection_lib || o->cuda_lib_count ? LAUNCH_STACKS_UPROBE
									 : LAUNCH_STACKS_INPROCESS;
	o->measure.probes_launches =
		o->measure.traces_gpu && o->launch_stacks == LAUNCH_STACKS_UPROBE;
}

/* The injection library knows the ranges and puts them into the stacks that it takes. */
static bool check_nvtx(const struct options *o)
{
	if (!o->measure.nvtx ||
	    (o->measure.traces_gpu && o->launch_stacks == LAUNCH_STACKS_INPROCESS))
		return true;
	fprintf(stderr, "profile: --nvtx needs launch stacks taken in the process: not with "
			"-cpu-only, -launch-stacks uprobe, -injection-lib or -cuda-lib\n");
	return false;
}

/* CUPTI reports the calls, and what they wait for. */
static bool check_waits(const struct options *o)
{
	if (!o->measure.waits || o->measure.traces_gpu)
		return true;
	fprintf(stderr, "profile: --waits needs GPU time: not with -cpu-only\n");
	return false;
}

static bool set_frequency(struct options *o, const char *text)
{
	if (parse_u32(text, 1, OPTIONS_MAX_FREQUENCY, &o->measure.frequency_hz))
		return true;
	fprintf(stderr, "profile: -F takes a whole number of Hz from 1 to %d, not '%s'\n",
		OPTIONS_MAX_FREQUENCY, text);
	return false;
}

static bool add_cuda_lib(struct options *o, const char *path)
{
	if (o->cuda_lib_count == OPTIONS_MAX_CUDA_LIBS) {
		fprintf(stderr, "profile: at most %d -cuda-lib\n", OPTIONS_MAX_CUDA_LIBS);
		return false;
	}
	o->cuda_libs[o->cuda_lib_count++] = path;
	return true;
}

static bool add_output(struct options *o, const char *path)
{
	if (path[0] == '\0') {
		fprintf(stderr, "profile: -o needs a file name, or - for stdout\n");
		return false;
	}
	if (o->output_count == OUTPUTS_MAX) {
		fprintf(stderr, "profile: at most %d -o\n", OUTPUTS_MAX);
		return false;
	}
	o->outputs[o->output_count++].path = path;
	return true;
}

static bool set_format(struct options *o, const char *name)
{
	o->format = writer_with_name(name);
	if (o->format)
		return true;
	fprintf(stderr, "profile: --format is one of ");
	for (const struct writer *const *w = writers; *w; w++)
		fprintf(stderr, "%s%s", w == writers ? "" : ", ", (*w)->name);
	fprintf(stderr, ", not '%s'\n", name);
	return false;
}

static void choose_formats(struct options *o)
{
	if (o->output_count == 0)
		o->outputs[o->output_count++].path = OPTIONS_DEFAULT_OUTPUT;
	for (uint32_t i = 0; i < o->output_count; i++)
		o->outputs[i].writer = o->format ? o->format : writer_for_path(o->outputs[i].path);
}

static bool set_option(struct options *o, int option, const char *argument)
{
	switch (option) {
	case 'o':
		return add_output(o, argument);
	case 'F':
		return set_frequency(o, argument);
	case 'v':
		o->level = LOG_VERBOSE;
		return true;
	case 'q':
		o->level = LOG_ERRORS;
		return true;
	case OPT_GPU_ONLY:
		o->measure.samples_cpu = false;
		return check_mode(o);
	case OPT_CPU_ONLY:
		o->measure.traces_gpu = false;
		return check_mode(o);
	case OPT_INJECTION_LIB:
		o->injection_lib = argument;
		return true;
	case OPT_CUDA_LIB:
		return add_cuda_lib(o, argument);
	case OPT_UNIT:
		return set_unit(o, argument);
	case OPT_RAW_NAMES:
		o->raw_names = true;
		return true;
	case OPT_INLINES:
		o->inlines = true;
		return true;
	case OPT_PYTHON_LINES:
		o->measure.python_lines = true;
		return true;
	case OPT_NATIVE_PYTHON:
		o->measure.native_python = true;
		return true;
	case OPT_NVTX:
		o->measure.nvtx = true;
		return true;
	case OPT_WAITS:
		o->measure.waits = true;
		return true;
	case OPT_LAUNCH_STACKS:
		return set_launch_stacks(o, argument);
	case OPT_RECORD:
		o->record = argument;
		return true;
	case OPT_AS_ROOT:
		o->as_root = true;
		return true;
	case OPT_KERNELS_ONLY:
		o->measure.kernels_only = true;
		return true;
	case OPT_GRAPH:
		return set_graph(o, argument);
	case OPT_STRICT:
		o->strict = true;
		return true;
	case OPT_FORMAT:
		return set_format(o, argument);
	case OPT_REPORT:
		o->report = true;
		return true;
	case OPT_FLAME:
		o->root_at_bottom = true;
		return true;
	case OPT_BY:
		return set_by(o, argument);
	default: /* getopt has printed what is wrong */
		return false;
	}
}

/* A long option with one dash, in full, maybe with "=value". */
static bool is_long_option(const char *word)
{
	size_t length = strcspn(word + 1, "=");

	for (const struct option *o = long_options; o->name; o++)
		if (strlen(o->name) == length && strncmp(o->name, word + 1, length) == 0)
			return true;
	return false;
}

/*
 * Like getopt_long_only, but with one dash only full names are long options: getopt_long_only
 * takes "-a" for --as-root and "-p 1234" for --python-lines.
 */
static int next_option(int argc, char **argv)
{
	const char *word = argv[optind ? optind : 1];

	if (!word || word[0] != '-' || word[1] == '-' || !word[1])
		return getopt_long(argc, argv, SHORT_OPTIONS, long_options, NULL);
	if (is_long_option(word))
		return getopt_long_only(argc, argv, SHORT_OPTIONS, long_options, NULL);
	if (word[1] != ':' && strchr(SHORT_OPTIONS + 1, word[1]))
		return getopt_long(argc, argv, SHORT_OPTIONS, long_options, NULL);
	fprintf(stderr, "profile: unrecognized option '%s'\n", word);
	return '?';
}

enum options_result options_parse(int argc, char **argv, struct options *options)
{
	int option;

	memset(options, 0, sizeof(*options));
	options->measure = (struct measure){
		.samples_cpu = true, .traces_gpu = true, .frequency_hz = OPTIONS_DEFAULT_FREQUENCY};
	optind = 0;                  /* start afresh: tests parse more than once */
	argv[0] = (char *)"profile"; /* the prefix of getopt's messages, as of ours */
	while ((option = next_option(argc, argv)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			return OPTIONS_DONE;
		}
		if (option == OPT_VERSION) {
			puts("profile " PROFILE_VERSION);
			return OPTIONS_DONE;
		}
		if (!set_option(options, option, optarg))
			goto wrong;
	}
	if (optind >= argc) {
		fprintf(stderr, "profile: no command to run\n");
		goto wrong;
	}
	choose_formats(options);
	choose_launch_stacks(options);
	if (!check_nvtx(options) || !check_waits(options))
		goto wrong;
	options->command = argv + optind;
	return OPTIONS_RUN;
wrong:
	fprintf(stderr, "Try 'profile --help'.\n");
	return OPTIONS_WRONG;
}
