// SPDX-License-Identifier: MIT
#include "profiler/commands/option_table.h"

#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include "profiler/commands/option_values.h"

#define SET(function, member) .set = (function), .at = offsetof(struct parsed_options, member)
#define FLAG(member) SET(set_flag, member)
#define OPTION(id_, name_, topic_) .id = id_, .name = name_, .topic = topic_
#define TAKES(kind_, argument_, words_) .kind = kind_, .argument = argument_, .words = words_
#define HELP(text_, more_) .text = text_, .more = more_

/*
 * Words in the order of enum weight_unit, launch_stacks, comparison_side, completion_shell and
 * help_topic. `names` begins with VIEW_NAMES_FULL.
 */
static const char *const units[] = {"samples", "us", "ns", NULL};
static const char *const launch_stacks[] = {"auto", "inprocess", "uprobe", NULL};
static const char *const graphs[] = {"node", "whole", "device", NULL};
static const char *const formats[] = {"folded",     "svg",           "html",     "pprof",
				      "speedscope", "otlp-profiles", "perfetto", "chrome",
				      "json",       "markdown",      "profile",  NULL};
static const char *const parts[] = {"rank",    "process",    "thread", "device",
				    "context", "stream",     "class",  "operator",
				    "layer",   "layer-kind", NULL};
static const char *const names[] = {"full", "short", NULL};
static const char *const weights[] = {"time", "peak", "left", NULL};
static const char *const walls[] = {"user", "kernel", NULL};
static const char *const stalls[] = {"kernels", "exact", NULL};
static const char *const sides[] = {"before", "after", NULL};
static const char *const shells[] = {"bash", "zsh", "fish", NULL};
static const char *const topics[] = {"output",  "captures", "attach",  "gpu",       "graphs",
				     "cpu",     "waits",    "kernels", "calls",     "live",
				     "compare", "names",    "python",  "privilege", "diagnostics",
				     "exit",    "help",     "all",     NULL};

const struct option_entry option_table[] = {
	/* ---- what is written ---- */
	{OPTION('o', "output", TOPIC_OUTPUT), .set = set_output, TAKES(ARGUMENT_FILE, "FILE", NULL),
	 HELP("output file, - for stdout; may be repeated",
	      "The default is merged_trace.folded. The file is replaced when the new contents are "
	      "complete, or not at all. In its name %r stands for the rank in a job, %h for the "
	      "host, %p for the pid of profile, %% for a percent sign.")},
	{.id = 'o', .name = "out", .kind = ARGUMENT_FILE},
	{.id = 'o', .name = "outfile", .kind = ARGUMENT_FILE},
	{.id = 'o', .name = "output-file", .kind = ARGUMENT_FILE},
	{OPTION(OPT_FORMAT, "format", TOPIC_OUTPUT), .set = set_format,
	 TAKES(ARGUMENT_WORD, "NAME", formats),
	 HELP("the format, whatever the file's extension", "For all files of the run.")},
	{OPTION(OPT_FROM, "from", TOPIC_OUTPUT), .take = options_add_capture,
	 TAKES(ARGUMENT_FILE, "FILE", NULL), .is_of_files = true,
	 HELP("read captures or a trace, and run no command",
	      "A capture (-o FILE.profile) holds a whole run, and makes every other output, here "
	      "or on another machine; so does a trace, which the library writes without profile "
	      "(INJECTION_TRACE). - is stdin. -gpu-only and -cpu-only choose a part. Several, as "
	      "in --from cap.*.profile, are the ranks of a job, and are merged; --by rank keeps "
	      "them apart. Traces without a rank, as in --from app-*.trace, are processes of one "
	      "program; --by process keeps them apart.")},
	{OPTION(OPT_QUERY, "query", TOPIC_OUTPUT), .take = take_query,
	 TAKES(ARGUMENT_TEXT, "QUESTION", NULL),
	 HELP("answer a question on stdout, as JSON: list, verdict, ...",
	      "With --from. The answer has 8 KB at most, the most important rows first, and names "
	      "the commands that look closer. --query list has all questions. Nothing else is "
	      "written; messages are errors alone, unless -v asks for all.")},
	{OPTION(OPT_UNIT, "unit", TOPIC_OUTPUT), SET(set_word, options.unit),
	 TAKES(ARGUMENT_WORD, "UNIT", units),
	 HELP("weights in samples (default), us or ns",
	      "For folded stacks; all other formats have nanoseconds.")},
	{OPTION(OPT_BY, "by", TOPIC_OUTPUT), .take = take_by, TAKES(ARGUMENT_WORDS, "PARTS", parts),
	 HELP("root frames: rank,process,thread,device,class,layer,...",
	      "Any of rank, process, thread, device, context, stream, class (of kernels: GEMM, "
	      "softmax, ...), operator (--ops), layer and layer-kind ([layers.*.mlp]; both "
	      "--modules), in the order given, separated by commas.")},
	{OPTION(OPT_WEIGHT, "weight", TOPIC_OUTPUT), .take = take_weight,
	 TAKES(ARGUMENT_WORD, "WHAT", weights),
	 HELP("draw stacks by time (default), bytes, or a counter",
	      "peak: what was allocated when most was; left: what was never freed; each of device, "
	      "managed and pinned memory. Both imply --alloc. Or the name of a metric that "
	      "--counters reads and that ends in .sum: each stack has the mean of its measured "
	      "launches times all of them. Reports of whole runs offer all of these without it.")},
	{OPTION(OPT_FLAME, "flame", TOPIC_OUTPUT), FLAG(options.root_at_bottom),
	 HELP("in pictures, draw callees above callers", NULL)},
	{OPTION(OPT_OPEN, "open", TOPIC_OUTPUT), FLAG(options.open),
	 HELP("show the report or picture in the browser",
	      "The first .html or .svg, when it is written; with $BROWSER or xdg-open.")},
	/* ---- which part of the run ---- */
	{OPTION(OPT_DELAY, "delay", TOPIC_CAPTURES), .take = take_delay,
	 TAKES(ARGUMENT_TEXT, "TIME", NULL), .is_of_run = true,
	 HELP("begin to record this long after the command's start",
	      "In seconds, or in ns, us, ms, s or m; or \"start\": until --control reads start. "
	      "What began before is left out.")},
	{OPTION('d', "duration", TOPIC_CAPTURES), .take = take_duration,
	 TAKES(ARGUMENT_TEXT, "TIME", NULL), .is_of_run = true,
	 HELP("record for this long, then write the result",
	      "The command goes on undisturbed, and profile ends with it, with its exit status. "
	      "What began in this time is in the result as a whole.")},
	{OPTION(OPT_RANGE, "range", TOPIC_CAPTURES), .take = take_range,
	 TAKES(ARGUMENT_TEXT, "NAME", NULL), .is_of_run = true,
	 HELP("record only while the NVTX range NAME is open",
	      "Or domain:message, as --nvtx shows it; cudaProfilerApi: between cudaProfilerStart "
	      "and cudaProfilerStop. Of each process, what any thread does meanwhile: GPU work "
	      "launched then, CPU samples. Several add up.")},
	{OPTION(OPT_LAST, "last", TOPIC_CAPTURES), .take = take_last,
	 TAKES(ARGUMENT_TEXT, "TIME", NULL), .is_of_run = true,
	 HELP("keep only the last TIME of the run (flight recorder)",
	      "At the end, and at each snapshot (kill -USR2, --control), the files have what began "
	      "in the last TIME before that moment. The run may take days: 256 MiB are kept at "
	      "most; if they hold less than TIME, a message says how long.")},
	{OPTION(OPT_EVERY, "every", TOPIC_CAPTURES), .take = take_every,
	 TAKES(ARGUMENT_TEXT, "TIME", NULL), .is_of_run = true,
	 HELP("write a result every TIME, for as long as the run lasts",
	      "Each has what began since the one before; together they have all of the run. With "
	      "%t in its name a file has its time: -o prof-%t.html; else a number: prof.1.html. "
	      "--push sends each, and keeps what an engine does not take. Memory does not grow: "
	      "256 MiB are kept at most, and a result is early if they are full.")},
	{OPTION(OPT_CONTROL, "control", TOPIC_CAPTURES), SET(set_text_once, run.control),
	 TAKES(ARGUMENT_FILE, "FIFO", NULL), .is_of_run = true,
	 HELP("read start, snapshot, query and stop from a FIFO",
	      "One command per line. start ends --delay, which may be unlimited: --delay "
	      "start. snapshot writes the result so far to all files of -o, with a number before "
	      "the extension: out.1.html. query QUESTION writes the answer to one of --query "
	      "beside the first of them: out.2.verdict.json. stop ends the recording as -d does. "
	      "The FIFO is made if it is not there.")},
	{OPTION(OPT_TIME, "time", TOPIC_CAPTURES), .take = take_time,
	 TAKES(ARGUMENT_TEXT, "A..B", NULL),
	 HELP("only this time: 1.5..2, 500ms.., ..10s",
	      "Since the command's start, in seconds or in ns, us, ms, s or m. Parts that adjoin "
	      "add up to the run.")},
	{OPTION(OPT_STEADY, "steady", TOPIC_CAPTURES), FLAG(options.view.slice.steps.is_steady),
	 HELP("only the steps after warm-up: no start-up, no end",
	      "Steps are what the program does again and again: training steps, tokens, requests. "
	      "They are found in the order of launches. GPU work belongs to the step that "
	      "launched it, wherever it ran.")},
	{OPTION(OPT_STEP, "step", TOPIC_CAPTURES), .take = take_step,
	 TAKES(ARGUMENT_TEXT, "A..B", NULL),
	 HELP("only these steps: 5, 10..20, 100.., ..10",
	      "Numbers from 0; B is excluded. Parts that adjoin add up.")},
	{OPTION(OPT_STEPS, "steps", TOPIC_CAPTURES), SET(set_match, options.view.slice.steps.name),
	 TAKES(ARGUMENT_TEXT, "NAME", NULL),
	 HELP("a step is an NVTX range of this name (needs --nvtx)",
	      "For --step, --steady and --per-step. An extended regular expression, which matches "
	      "anywhere in the name: 'step [0-9]+'.")},
	{OPTION(OPT_PER_STEP, "per-step", TOPIC_CAPTURES), FLAG(options.view.per_step),
	 HELP("a mean step: times divided by the number of steps",
	      "Of those that --step chooses, else of --steady. For formats of stacks, which have "
	      "no course of the run.")},
	{OPTION(OPT_PROCESS, "process", TOPIC_CAPTURES),
	 SET(set_part, options.view.slice.parts[PLACE_PROCESS]), TAKES(ARGUMENT_TEXT, "NAME", NULL),
	 HELP("only this process: a pid, or a pattern of its name",
	      "Patterns are extended regular expressions, and match anywhere in the name.")},
	{OPTION(OPT_THREAD, "thread", TOPIC_CAPTURES),
	 SET(set_part, options.view.slice.parts[PLACE_THREAD]), TAKES(ARGUMENT_TEXT, "NAME", NULL),
	 HELP("only this thread: a tid, or a pattern of its name", NULL)},
	{OPTION(OPT_DEVICE, "device", TOPIC_CAPTURES),
	 SET(set_part, options.view.slice.parts[PLACE_DEVICE]), TAKES(ARGUMENT_TEXT, "NAME", NULL),
	 HELP("only work on this GPU: a number, or a pattern",
	      "The pattern is of its label, name or UUID, as -v lists them: 'GPU 0', H200.")},
	{OPTION(OPT_STREAM, "stream", TOPIC_CAPTURES),
	 SET(set_part, options.view.slice.parts[PLACE_STREAM]),
	 TAKES(ARGUMENT_TEXT, "NUMBER", NULL), HELP("only work on streams with this number", NULL)},
	{OPTION(OPT_KERNEL, "kernel", TOPIC_CAPTURES), SET(set_match, options.view.slice.kernel),
	 TAKES(ARGUMENT_TEXT, "NAME", NULL),
	 HELP("only kernels with such a name, and waits for them", NULL)},
	{OPTION(OPT_UNDER, "under", TOPIC_CAPTURES), SET(set_match, options.view.slice.under),
	 TAKES(ARGUMENT_TEXT, "NAME", NULL),
	 HELP("only stacks with a frame of such a name",
	      "An extended regular expression, which matches anywhere in the full name of any "
	      "frame: a function, a range, an operator, a kernel. The last lines show the share "
	      "of the run.")},
	{OPTION(OPT_NOT_UNDER, "not-under", TOPIC_CAPTURES),
	 SET(set_match, options.view.slice.not_under), TAKES(ARGUMENT_TEXT, "NAME", NULL),
	 HELP("no stacks with a frame of such a name", NULL)},
	/* ---- which processes that already run ---- */
	{OPTION('p', "pid", TOPIC_ATTACH), .take = take_pids, TAKES(ARGUMENT_TEXT, "PIDS", NULL),
	 .is_of_run = true,
	 HELP("profile these running processes, not a command",
	      "And their descendants, until they have ended, Ctrl-C, or for the time of -d. "
	      "Numbers separated by commas; may be repeated. They go on as before. A library is "
	      "loaded into those that use CUDA, and is off again at the end. Needs root, or "
	      "CAP_BPF and CAP_PERFMON. docs/attach.md has the details.")},
	{OPTION(OPT_NAME, "name", TOPIC_ATTACH), SET(set_pattern_once, attach.name),
	 TAKES(ARGUMENT_TEXT, "REGEX", NULL), .is_of_run = true,
	 HELP("all running processes with such a name",
	      "An extended regular expression, which matches anywhere in the kernel's name of the "
	      "process, as for pgrep, in what it was started as or its title, or in the name of "
	      "the script or module that an interpreter runs: train.py. Without folders, unless "
	      "the expression has a slash.")},
	{OPTION(OPT_CGROUP, "cgroup", TOPIC_ATTACH), SET(set_text_once, attach.cgroup),
	 TAKES(ARGUMENT_FILE, "PATH", NULL), .is_of_run = true,
	 HELP("all running processes of a cgroup, and of those in it",
	      "A folder below /sys/fs/cgroup, or a path as in /proc/PID/cgroup.")},
	{OPTION(OPT_NO_INJECT, "no-inject", TOPIC_ATTACH), FLAG(no_inject), .is_of_run = true,
	 HELP("load nothing into running processes: no GPU time",
	      "With -p, --name or --cgroup. Calls of CUDA are timed instead, by probes.")},
	/* ---- where the time goes ---- */
	{OPTION(OPT_GPU_ONLY, "gpu-only", TOPIC_GPU), SET(set_off, run.measure.samples_cpu),
	 .takes_one_dash = true,
	 HELP("GPU time only, under the stacks that launched it",
	      "A run has no CPU samples then; --waits adds waiting all the same. With --from, it "
	      "leaves out waiting, timed calls and idle time, too.")},
	{OPTION(OPT_KERNELS_ONLY, "kernels-only", TOPIC_GPU), FLAG(run.measure.kernels_only),
	 .is_of_run = true, HELP("of GPU work, only kernels: no copies, sets, allocations", NULL)},
	{OPTION(OPT_UNIFIED_MEMORY, "unified-memory", TOPIC_GPU), FLAG(run.measure.unified_memory),
	 .is_of_run = true,
	 HELP("migrations and page faults of unified memory, too",
	      "CUPTI slows down programs that migrate much: one that does nothing else took 1.6 "
	      "times as long.")},
	{OPTION(OPT_NVTX, "nvtx", TOPIC_GPU), FLAG(run.measure.nvtx), .is_of_run = true,
	 HELP("show NVTX ranges as frames of launch stacks",
	      "A range is inside the function that opened it. CPU samples have none.")},
	{OPTION(OPT_OPS, "ops", TOPIC_GPU), FLAG(run.measure.ops), .is_of_run = true,
	 HELP("show PyTorch's operators as frames of launch stacks",
	      "As op:aten::addmm; those of the backward pass inside the forward operator that made "
	      "them, and record_function scopes as NVTX ranges.")},
	{OPTION(OPT_MODULES, "modules", TOPIC_GPU), FLAG(run.measure.modules), .is_of_run = true,
	 HELP("show PyTorch's modules as frames of launch stacks",
	      "By their paths, [layers.18.mlp]. Kernels of the backward pass have the module of "
	      "their forward operator, those of an optimizer [optimizer].")},
	{OPTION(OPT_MAX_OVERHEAD, "max-overhead", TOPIC_GPU), .take = take_max_overhead,
	 TAKES(ARGUMENT_TEXT, "PCT", NULL), .is_of_run = true,
	 HELP("launch stacks take at most this % of a thread's time",
	      "From 0.1 to 100. Where they would take more, a random part of the launches has a "
	      "stack, and the GPU time of the others is spread over those of the same kernel and "
	      "thread: totals stay exact. The summary says how many, and the error.")},
	{OPTION(OPT_BUDGET, "budget", TOPIC_GPU), .take = take_budget,
	 TAKES(ARGUMENT_TEXT, "PCT", NULL), .is_of_run = true,
	 HELP("recording takes at most this % of the program's time",
	      "From 0.1 to 100. GPU work is recorded in short windows at random moments, and what "
	      "was launched in them stands for the rest: GPU times are estimates, with their "
	      "errors. For servers that are profiled all day: --budget 1. See docs/budget.md.")},
	{OPTION(OPT_GRAPH, "graph", TOPIC_GRAPHS), .set = set_graph,
	 TAKES(ARGUMENT_WORD, "HOW", graphs), .is_of_run = true,
	 HELP("CUDA graphs by node (default) or as a whole",
	      "device: by node, and also graphs that kernels launch, which take 16 MiB of GPU "
	      "memory for each context.")},
	{OPTION(OPT_CPU_ONLY, "cpu-only", TOPIC_CPU), SET(set_off, run.measure.traces_gpu),
	 .takes_one_dash = true,
	 HELP("CPU samples only; nothing is loaded into the command", NULL)},
	{OPTION('F', "freq", TOPIC_CPU), .take = take_frequency, TAKES(ARGUMENT_TEXT, "HZ", NULL),
	 .is_of_run = true,
	 HELP("CPU samples per second on each CPU (default 50)", "From 1 to 10000.")},
	{.id = 'F', .name = "frequency", .kind = ARGUMENT_TEXT},
	{.id = 'F', .name = "rate", .kind = ARGUMENT_TEXT},
	{.id = 'F', .name = "sampling-frequency", .kind = ARGUMENT_TEXT},
	{OPTION(OPT_THREAD_ORIGIN, "thread-origin", TOPIC_CPU), FLAG(run.measure.thread_origin),
	 .is_of_run = true,
	 HELP("show threads below the stacks that created them",
	      "Needs root or the capabilities that CPU samples of the whole tree need.")},
	/* ---- why threads and GPUs wait ---- */
	{OPTION(OPT_WALL, "wall", TOPIC_WAITS), .set = set_wall,
	 TAKES(ARGUMENT_WORD, "STACKS", walls), .is_optional = true, .is_of_run = true,
	 HELP("time off the CPU, too: blocked in what, or runnable",
	      "Each thread's time adds up to its life. Waits for the GPU are split as with "
	      "--waits. --wall=kernel: with the operating system's functions that it waits in. "
	      "Needs root, or CAP_BPF and CAP_PERFMON.")},
	{OPTION(OPT_WAITS, "waits", TOPIC_WAITS), FLAG(run.measure.waits), .is_of_run = true,
	 HELP("show time that threads wait for the GPU, and for what", NULL)},
	{OPTION(OPT_IDLE, "idle", TOPIC_WAITS), FLAG(run.measure.idle), .is_of_run = true,
	 HELP("why GPUs are idle: what the launching threads did then",
	      "Each GPU's idle time adds up. Needs root, or CAP_BPF and CAP_PERFMON.")},
	/* ---- why kernels take long ---- */
	{OPTION(OPT_LAUNCH_SHAPES, "launch-shapes", TOPIC_KERNELS), FLAG(options.launch_shapes),
	 HELP("how much of the GPU each kernel's launch can use",
	      "A table of grids, blocks, theoretical occupancy and waves, with what could be "
	      "better and who launched it: on stderr, in .json and in .html.")},
	{OPTION(OPT_STALLS, "stalls", TOPIC_KERNELS), .set = set_stalls,
	 TAKES(ARGUMENT_WORD, "OF", stalls), .is_optional = true, .is_of_run = true,
	 HELP("why kernels' warps stall, below each kernel, by line",
	      "Samples of the GPU's multiprocessors split each kernel's time by device function, "
	      "source line (nvcc -lineinfo; Triton and numba have them) and reason. By default "
	      "they are of kernels: all launches of a kernel show its mean. --stalls=exact: of "
	      "launches, each with its own stalls; then kernels run one after the other, which can "
	      "take some 40 times as long.")},
	{OPTION(OPT_STALL_PERIOD, "stall-period", TOPIC_KERNELS), .take = take_stall_period,
	 TAKES(ARGUMENT_TEXT, "CYCLES", NULL), .is_of_run = true,
	 HELP("a sample every so many cycles (default 16384)",
	      "A power of two from 32 to 2147483648. Implies --stalls.")},
	{OPTION(OPT_METRICS, "counters", TOPIC_KERNELS), .take = take_metrics,
	 TAKES(ARGUMENT_TEXT, "LIST", NULL), .is_of_run = true,
	 HELP("hardware counters of some launches: default, or names",
	      "Names of metrics as CUPTI and Nsight Compute have them, separated by commas; "
	      "\"default\" stands for throughput, occupancy, hit rates, DRAM bytes, tensor pipe "
	      "and cycles. A kernel that is measured runs once for each pass of counters. A table "
	      "on stderr, in .json and in .html.")},
	{.id = OPT_METRICS, .name = "metrics", .kind = ARGUMENT_TEXT},
	{OPTION(OPT_METRICS_KERNELS, "counters-kernels", TOPIC_KERNELS),
	 .take = take_metrics_kernels, TAKES(ARGUMENT_TEXT, "REGEX", NULL), .is_of_run = true,
	 HELP("of kernels whose mangled names match",
	      "An extended regular expression, which matches anywhere in the name; --raw-names "
	      "shows mangled names.")},
	{.id = OPT_METRICS_KERNELS, .name = "metrics-kernels", .kind = ARGUMENT_TEXT},
	{OPTION(OPT_METRICS_LAUNCHES, "counters-launches", TOPIC_KERNELS),
	 .take = take_metrics_launches, TAKES(ARGUMENT_TEXT, "N", NULL), .is_of_run = true,
	 HELP("how many launches of each kernel: 5, or all",
	      "The 1st, the 2nd, the 4th, the 8th and so on.")},
	{.id = OPT_METRICS_LAUNCHES, .name = "metrics-launches", .kind = ARGUMENT_TEXT},
	{OPTION(OPT_LIST_METRICS, "list-counters", TOPIC_KERNELS), .take = take_list_metrics,
	 TAKES(ARGUMENT_TEXT, "REGEX", NULL), .is_optional = true,
	 HELP("print which counters the GPU has, and run no command",
	      "Those whose name or description matches; with \"=\" before the pattern.")},
	{.id = OPT_LIST_METRICS,
	 .name = "list-metrics",
	 .kind = ARGUMENT_TEXT,
	 .is_optional = true},
	{.id = OPT_LIST_METRICS,
	 .name = "query-metrics",
	 .kind = ARGUMENT_TEXT,
	 .is_optional = true},
	{OPTION(OPT_CHIP, "chip", TOPIC_KERNELS), SET(set_text, list_metrics.chip),
	 TAKES(ARGUMENT_TEXT, "NAME", NULL),
	 HELP("those of another GPU for --list-counters: GH100", "Needs no GPU, only CUPTI.")},
	/* ---- what calls and memory do ---- */
	{OPTION(OPT_API, "api", TOPIC_CALLS), FLAG(run.measure.api), .is_of_run = true,
	 HELP("sums of all calls of CUDA's runtime and driver",
	      "Calls, errors, times and bytes by function: on stderr, in .json and in .html.")},
	{OPTION(OPT_ALLOC, "alloc", TOPIC_CALLS), FLAG(run.measure.memory), .is_of_run = true,
	 HELP("follow memory: the peak, and what was never freed",
	      "By device, kind and the stacks that allocated it: on stderr, in .json and in .html; "
	      "--weight draws it.")},
	/* ---- watching a run, and sending results ---- */
	{OPTION(OPT_REPORT, "top", TOPIC_LIVE), FLAG(options.report),
	 HELP("print where most of the time went",
	      "Ten lines each for kernels, copies, launch sites, functions and waits; losses, and "
	      "the cost of profiling. Also with -q.")},
	{.id = OPT_REPORT, .name = "report"},
	{OPTION(OPT_LIVE, "live", TOPIC_LIVE), FLAG(run.live), .is_of_run = true,
	 HELP("show once a second what the command does",
	      "In a block at the bottom of the terminal, below the command's output: how busy each "
	      "GPU is, and what took most of the time so far. Where stderr is not a terminal, it "
	      "prints one line per second. Also with -q.")},
	{OPTION(OPT_PROMETHEUS, "prometheus", TOPIC_LIVE), .set = set_prometheus,
	 TAKES(ARGUMENT_FILE, "FILE", NULL), .is_of_run = true,
	 HELP("also write metrics there, every five seconds",
	      "In Prometheus's text format, for node_exporter's textfile collector: kernels, "
	      "copies, launches, errors by process, device and kernel, at most 200 kernels. "
	      "docs/metrics.md lists them.")},
	{OPTION(OPT_OTLP, "otlp", TOPIC_LIVE), .set = set_spans,
	 TAKES(ARGUMENT_FILE, "WHERE", NULL),
	 HELP("also write OpenTelemetry spans of calls and GPU work",
	      "To a file, as lines of OTLP JSON, or as protocol buffers if its name ends with .pb; "
	      "to a collector, http://HOST:4318, when the run is over; or with env to the one in "
	      "OTEL_EXPORTER_OTLP_ENDPOINT. In the trace that TRACEPARENT names, or in one of its "
	      "own. May be repeated. docs/otlp.md describes the spans.")},
	{OPTION(OPT_OTLP_STACKS, "otlp-stacks", TOPIC_LIVE), FLAG(options.span_stacks),
	 HELP("give the spans of calls their stacks, too", NULL)},
	{OPTION(OPT_PUSH, "push", TOPIC_LIVE), .take = take_push, TAKES(ARGUMENT_TEXT, "URL", NULL),
	 HELP("push the profile to an engine that keeps profiles",
	      "Pyroscope: http://HOST:4040; Parca: parca+http://HOST:7070; OpenTelemetry: "
	      "otlp+http://HOST:4318. Or https. May be repeated. docs/push.md has the details, and "
	      "variables for the service's name and for credentials.")},
	{OPTION(OPT_PUSH_LABEL, "push-label", TOPIC_LIVE), .take = take_push_label,
	 TAKES(ARGUMENT_TEXT, "K=V", NULL),
	 HELP("a label of the profile that is pushed; repeats", NULL)},
	/* ---- what changed ---- */
	{OPTION(OPT_DIFF, "diff", TOPIC_COMPARE), FLAG(is_diff), .is_of_files = true,
	 HELP("compare the files that follow: BEFORE AFTER",
	      "Captures, or folded stacks. Several runs of each side: BEFORE... -- AFTER... "
	      "Options may follow the files. -o writes .html, .svg, .folded or .json; without it "
	      "there is the report alone.")},
	{OPTION(OPT_SLOW_STEPS, "slow-steps", TOPIC_COMPARE), FLAG(options.slow_steps),
	 HELP("compare the slowest steps of a run with typical ones",
	      "The slowest tenth (after) with steps around the median (before), of those that "
	      "--step chooses, else of --steady. -o writes .html, .svg, .folded or .json, as with "
	      "--diff; a capture has the whole run.")},
	{OPTION(OPT_NORMALIZE, "normalize", TOPIC_COMPARE), FLAG(diff.normalize),
	 HELP("compare shares of CPU and of GPU time, not times",
	      "For runs of different lengths. Times of each run are scaled to the totals of those "
	      "after. With --diff.")},
	{OPTION(OPT_WIDTHS, "widths", TOPIC_COMPARE), SET(set_word, diff.widths),
	 TAKES(ARGUMENT_WORD, "SIDE", sides),
	 HELP("whose times a picture of both has (default after)",
	      "What the other side alone has is counted below the picture.")},
	{OPTION(OPT_BASELINE, "baseline", TOPIC_COMPARE), .take = take_baseline,
	 TAKES(ARGUMENT_FILE, "FILE", NULL),
	 HELP("compare the run with this capture; may be repeated",
	      "Several baselines show how runs differ, and so what is noise. It is read before the "
	      "command runs, so that a mistake shows at once. Also with --from.")},
	{OPTION(OPT_FAIL_ABOVE, "fail-above", TOPIC_COMPARE), .take = take_limit,
	 TAKES(ARGUMENT_TEXT, "LIMIT", NULL),
	 HELP("exit with 123 if a time rose by more: 5%, 10ms",
	      "A rise within the noise does not fail. For --baseline and --diff.")},
	{OPTION(OPT_FAIL_ON, "fail-on", TOPIC_COMPARE), .take = take_gate,
	 TAKES(ARGUMENT_TEXT, "WHAT", NULL),
	 HELP("which time: gpu (default), cpu, kernel=REGEX, ...",
	      "gpu, cpu, waiting, idle (GPUs, with --idle), api (CUDA calls), wall, peak and left "
	      "(memory of all kinds, with --alloc), errors (failed calls, with --api), "
	      "kernel=REGEX, function=REGEX (own CPU time), function-total=REGEX (with what it "
	      "calls), site=REGEX (launched by), call=REGEX, shape=REGEX (kernels with grid and "
	      "block, with --launch-shapes), peak=REGEX and left=REGEX (memory by kind and "
	      "allocating function: pinned host: load), errors=REGEX (by call and error). All that "
	      "match count together. May be repeated: each is checked.")},
	/* ---- stacks and names ---- */
	{OPTION(OPT_NAMES, "names", TOPIC_NAMES), .set = set_names,
	 TAKES(ARGUMENT_WORD, "HOW", names),
	 HELP("names in all outputs: full, or short ones",
	      "Otherwise texts have full names, and pictures short ones with the full ones beside. "
	      "Short are names without template arguments and parameters.")},
	{OPTION(OPT_MY_CODE, "my-code", TOPIC_NAMES), FLAG(options.view.my_code),
	 HELP("fold what is not yours: libraries, Python, start-up",
	      "Yours is what lies below the working directory of the run, without environments in "
	      "it. Library code around yours is left out; elsewhere one frame such as [torch] "
	      "stands for it.")},
	{OPTION(OPT_MY_PATH, "my-path", TOPIC_NAMES), .take = take_my_path,
	 TAKES(ARGUMENT_FILE, "FOLDER", NULL),
	 HELP("your code is in this folder; implies --my-code, repeats", NULL)},
	{OPTION(OPT_TRIM_TO, "trim-to", TOPIC_NAMES), SET(set_match, options.view.trim_to),
	 TAKES(ARGUMENT_TEXT, "NAME", NULL),
	 HELP("begin stacks at the outermost function of this name",
	      "An extended regular expression, which matches anywhere in the full name. Stacks "
	      "without such a function stay whole.")},
	{OPTION(OPT_KERNEL_CLASSES, "kernel-classes", TOPIC_NAMES), .take = take_kernel_classes,
	 TAKES(ARGUMENT_FILE, "FILE", NULL),
	 HELP("your own classes of kernels, before the built-in ones",
	      "For --by class and the tables of kernels. Each line of the file is a class, blanks "
	      "and an extended regular expression, which matches anywhere in a kernel's name. "
	      "docs/layers.md lists the classes.")},
	{OPTION(OPT_INLINES, "inlines", TOPIC_NAMES), FLAG(options.naming.inlines),
	 HELP("show inlined functions (needs debug information)",
	      "-g or -g1, in the file or under /usr/lib/debug. Captures have their names.")},
	{OPTION(OPT_DEBUGINFOD, "debuginfod", TOPIC_NAMES), FLAG(options.naming.debuginfod),
	 .is_of_run = true,
	 HELP("get debug files from the servers in DEBUGINFOD_URLS",
	      "After the command has ended, for 30 s at most. Not with --as-root.")},
	{OPTION(OPT_RAW_NAMES, "raw-names", TOPIC_NAMES), FLAG(options.naming.raw_names),
	 HELP("keep kernel names mangled", "Captures have their names.")},
	{OPTION(OPT_LAUNCH_STACKS, "launch-stacks", TOPIC_NAMES), SET(set_word, run.launch_stacks),
	 TAKES(ARGUMENT_WORD, "HOW", launch_stacks), .is_of_run = true, .takes_one_dash = true,
	 HELP("take launch stacks inprocess, by uprobe, or auto",
	      "auto, the default, is uprobe with -injection-lib or -cuda-lib, else inprocess: that "
	      "is cheaper and needs no privilege.")},
	{OPTION(OPT_CUDA_LIB, "cuda-lib", TOPIC_NAMES), .take = take_cuda_lib,
	 TAKES(ARGUMENT_FILE, "PATH", NULL), .is_of_run = true, .takes_one_dash = true,
	 HELP("also probe this CUDA runtime library; may be repeated", NULL)},
	{OPTION(OPT_PYTHON_LINES, "python-lines", TOPIC_PYTHON), FLAG(run.measure.python_lines),
	 .is_of_run = true, HELP("show line numbers in Python frames", NULL)},
	{OPTION(OPT_NATIVE_PYTHON, "native-python", TOPIC_PYTHON), FLAG(run.measure.native_python),
	 .is_of_run = true, HELP("keep the Python interpreter's own C frames", NULL)},
	/* ---- privilege ---- */
	{OPTION(OPT_AS_ROOT, "as-root", TOPIC_PRIVILEGE), FLAG(options.as_root),
	 HELP("under sudo: run all as root, not as the invoking user",
	      "Both the command and profile.")},
	/* ---- diagnostics ---- */
	{OPTION('v', "verbose", TOPIC_DIAGNOSTICS), .set = set_level, .level = LOG_VERBOSE,
	 HELP("be verbose", NULL)},
	{OPTION('q', "quiet", TOPIC_DIAGNOSTICS), .set = set_level, .level = LOG_ERRORS,
	 HELP("print only errors", NULL)},
	{OPTION(OPT_RECORD, "save-input", TOPIC_DIAGNOSTICS), .set = set_record,
	 TAKES(ARGUMENT_FILE, "PREFIX", NULL), .is_of_run = true,
	 HELP("save the raw input, for bug reports",
	      "In PREFIX.pipe and PREFIX.events. They contain paths, process ids, addresses and "
	      "names of kernels.")},
	{.id = OPT_RECORD, .name = "record", .kind = ARGUMENT_FILE},
	{OPTION(OPT_INJECTION_LIB, "injection-lib", TOPIC_DIAGNOSTICS),
	 SET(set_text, run.injection_lib), TAKES(ARGUMENT_FILE, "PATH", NULL), .is_of_run = true,
	 .takes_one_dash = true,
	 HELP("load this injection library, not the built-in one",
	      "It must be from the same release; it is not libcupti, which is found by itself. "
	      "-cupti-lib is the older name of this option.")},
	{.id = OPT_INJECTION_LIB,
	 .name = "cupti-lib",
	 .kind = ARGUMENT_FILE,
	 .takes_one_dash = true},
	{OPTION(OPT_PRINT_INJECTION_PATH, "print-injection-path", TOPIC_DIAGNOSTICS),
	 HELP("print where the library with the USDT probes is",
	      "With CUDA_INJECTION64_PATH set to it, a program has the probes for bpftrace and "
	      "other tracers without a profiler. docs/probes.md lists them.")},
	{OPTION(OPT_STRICT, "strict", TOPIC_EXIT), FLAG(options.strict),
	 HELP("exit with 124 if anything was lost or is not matched", NULL)},
	/* ---- help ---- */
	{OPTION('h', "help", TOPIC_HELP), TAKES(ARGUMENT_WORD, "TOPIC", topics),
	 .is_optional = true, HELP("print this overview, or more on a topic or an option", NULL)},
	{OPTION(OPT_COMPLETION, "completion", TOPIC_HELP), TAKES(ARGUMENT_WORD, "SHELL", shells),
	 HELP("print the completion for bash, zsh or fish",
	      "`make install` and the package put it where shells look for it.")},
	{OPTION(OPT_VERSION, "version", TOPIC_HELP), HELP("print the version", NULL)},
	{.id = 0},
};

#define ENTRIES (sizeof(option_table) / sizeof(option_table[0]))

const struct option_entry *option_entry(int id)
{
	const struct option_entry *entry = option_table;

	while (entry->id && entry->id != id)
		entry++;
	return entry;
}

const char *option_shown(const struct option_entry *entry, char text[OPTION_SHOWN_BYTES])
{
	if (entry->id < OPT_GPU_ONLY)
		snprintf(text, OPTION_SHOWN_BYTES, "-%c", entry->id);
	else
		snprintf(text, OPTION_SHOWN_BYTES, "%s%s", entry->takes_one_dash ? "-" : "--",
			 entry->name);
	return text;
}

const char *option_words(const struct option_entry *entry, char list[OPTION_WORDS_BYTES])
{
	size_t used = 0;

	list[0] = '\0';
	for (int i = 0; entry->words[i] && used < OPTION_WORDS_BYTES; i++)
		used += (size_t)snprintf(list + used, OPTION_WORDS_BYTES - used, "%s%s",
					 i ? ", " : "", entry->words[i]);
	return list;
}

const struct option *option_table_long(void)
{
	static struct option options[ENTRIES];
	size_t count = 0;

	for (const struct option_entry *e = option_table; e->id; e++) {
		int argument = e->is_optional             ? optional_argument
			       : e->kind != ARGUMENT_NONE ? required_argument
							  : no_argument;

		if (e->name)
			options[count++] = (struct option){e->name, argument, NULL, e->id};
	}
	options[count] = (struct option){0};
	return options;
}

const char *option_table_short(void)
{
	static char letters[2 * ENTRIES + 2];
	char *end = letters;

	*end++ = '+';
	for (const struct option_entry *e = option_table; e->id; e++) {
		if (e->id >= OPT_GPU_ONLY)
			continue;
		*end++ = (char)e->id;
		if (e->kind != ARGUMENT_NONE && !e->is_optional)
			*end++ = ':';
	}
	*end = '\0';
	return letters;
}
