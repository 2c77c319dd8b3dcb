// SPDX-License-Identifier: MIT
#include "profiler/commands/option_table.h"

#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "profiler/commands/option_values.h"

#define SET(function, member) .set = (function), .at = offsetof(struct parsed_options, member)
#define FLAG(member) SET(set_flag, member)

/* In the order of enum weight_unit, launch_stacks, comparison_side, completion_shell and
 * help_topic; the names' from VIEW_NAMES_FULL on. */
static const char *const units[] = {"samples", "us", "ns", NULL};
static const char *const launch_stacks[] = {"auto", "inprocess", "uprobe", NULL};
static const char *const graphs[] = {"node", "graph", "device", NULL};
static const char *const formats[] = {"folded",     "svg",           "html",     "pprof",
				      "speedscope", "otlp-profiles", "perfetto", "chrome",
				      "json",       "profile",       NULL};
static const char *const parts[] = {"rank",    "process", "thread", "device",
				    "context", "stream",  NULL};
static const char *const names[] = {"full", "short", NULL};
static const char *const weights[] = {"time", "peak", "left", NULL};
static const char *const walls[] = {"user", "kernel", NULL};
static const char *const stalls[] = {"kernels", "exact", NULL};
static const char *const sides[] = {"before", "after", NULL};
static const char *const shells[] = {"bash", "zsh", "fish", NULL};
static const char *const topics[] = {
	"output", "captures", "compare",   "attach",      "gpu",  "cpu",  "graphs", "waits",
	"names",  "python",   "privilege", "diagnostics", "exit", "help", "all",    NULL};

const struct option_entry option_table[] = {
	/* ---- output ---- */
	{.id = 'o',
	 .set = set_output,
	 .name = "output",
	 .kind = ARGUMENT_FILE,
	 .argument = "FILE",
	 .topic = TOPIC_OUTPUT,
	 .text = "output file, - for stdout; may be repeated",
	 .more = "The default is merged_trace.folded. The file is replaced when the new contents "
		 "are complete, or not at all. In its name %r stands for the rank in a job, %h for "
		 "the host, %p for the pid of profile, %% for a percent sign."},
	{.id = 'o', .name = "out", .kind = ARGUMENT_FILE},
	{.id = 'o', .name = "outfile", .kind = ARGUMENT_FILE},
	{.id = 'o', .name = "output-file", .kind = ARGUMENT_FILE},
	{.id = OPT_FORMAT,
	 .set = set_format,
	 .name = "format",
	 .kind = ARGUMENT_WORD,
	 .argument = "NAME",
	 .words = formats,
	 .topic = TOPIC_OUTPUT,
	 .text = "the format, whatever the file's extension",
	 .more = "For all files of the run."},
	{.id = OPT_UNIT,
	 SET(set_word, options.unit),
	 .name = "unit",
	 .kind = ARGUMENT_WORD,
	 .argument = "UNIT",
	 .words = units,
	 .topic = TOPIC_OUTPUT,
	 .text = "weights in samples (default), us or ns",
	 .more = "For folded stacks; all other formats have nanoseconds."},
	{.id = OPT_BY,
	 .take = take_by,
	 .name = "by",
	 .kind = ARGUMENT_WORDS,
	 .argument = "PARTS",
	 .words = parts,
	 .topic = TOPIC_OUTPUT,
	 .text = "root frames: rank,process,thread,device,context,stream",
	 .more = "Any of them, in the order given, separated by commas."},
	{.id = OPT_FLAME,
	 FLAG(options.root_at_bottom),
	 .name = "flame",
	 .topic = TOPIC_OUTPUT,
	 .text = "in pictures, draw callees above callers"},
	{.id = OPT_OPEN,
	 FLAG(options.open),
	 .name = "open",
	 .topic = TOPIC_OUTPUT,
	 .text = "show the report or picture in the browser",
	 .more = "The first .html or .svg, when it is written; with $BROWSER or xdg-open."},
	{.id = OPT_REPORT,
	 FLAG(options.report),
	 .name = "report",
	 .topic = TOPIC_OUTPUT,
	 .text = "print where most of the time went",
	 .more = "Ten lines each for kernels, copies, launch sites, functions and waits; losses, "
		 "and the cost of profiling. Also with -q."},
	{.id = OPT_LIVE,
	 FLAG(run.live),
	 .name = "live",
	 .topic = TOPIC_OUTPUT,
	 .is_of_run = true,
	 .text = "show once a second what the command does",
	 .more = "In a block at the bottom of the terminal, below the command's output: how busy "
		 "each GPU is, and what took most of the time so far. Where stderr is not a "
		 "terminal, "
		 "it prints one line per second. Also with -q."},
	{.id = OPT_PROMETHEUS,
	 .set = set_prometheus,
	 .name = "prometheus",
	 .kind = ARGUMENT_FILE,
	 .argument = "FILE",
	 .topic = TOPIC_OUTPUT,
	 .is_of_run = true,
	 .text = "also write metrics there, every five seconds",
	 .more = "In Prometheus's text format, for node_exporter's textfile collector: kernels, "
		 "copies, launches, errors by process, device and kernel, at most 200 kernels. "
		 "docs/metrics.md lists them."},
	{.id = OPT_OTLP,
	 .set = set_spans,
	 .name = "otlp",
	 .kind = ARGUMENT_FILE,
	 .argument = "WHERE",
	 .topic = TOPIC_OUTPUT,
	 .text = "also write OpenTelemetry spans of calls and GPU work",
	 .more = "To a file, as lines of OTLP JSON, or as protocol buffers if its name ends with "
		 ".pb; to a collector, http://HOST:4318, when the run is over; or with env to "
		 "the one in OTEL_EXPORTER_OTLP_ENDPOINT. In the trace that TRACEPARENT names, or "
		 "in one of its own. May be repeated. docs/otlp.md describes the spans."},
	{.id = OPT_OTLP_STACKS,
	 FLAG(options.span_stacks),
	 .name = "otlp-stacks",
	 .topic = TOPIC_OUTPUT,
	 .text = "give the spans of calls their stacks, too"},
	{.id = OPT_PUSH,
	 .take = take_push,
	 .name = "push",
	 .kind = ARGUMENT_TEXT,
	 .argument = "URL",
	 .topic = TOPIC_OUTPUT,
	 .text = "push the profile to an engine that keeps profiles",
	 .more = "Pyroscope: http://HOST:4040; Parca: parca+http://HOST:7070; OpenTelemetry: "
		 "otlp+http://HOST:4318. Or https. May be repeated. docs/push.md has the details, "
		 "and variables for the service's name and for credentials."},
	{.id = OPT_PUSH_LABEL,
	 .take = take_push_label,
	 .name = "push-label",
	 .kind = ARGUMENT_TEXT,
	 .argument = "K=V",
	 .topic = TOPIC_OUTPUT,
	 .text = "a label of the profile that is pushed; repeats"},
	/* ---- captures, and parts of a run ---- */
	{.id = OPT_FROM,
	 .take = take_capture,
	 .name = "from",
	 .kind = ARGUMENT_FILE,
	 .argument = "FILE",
	 .topic = TOPIC_CAPTURES,
	 .is_of_files = true,
	 .text = "read captures or a trace, and run no command",
	 .more = "A capture (-o FILE.profile) holds a whole run, and makes every other output, "
		 "here or on another machine; so does a trace, which the library writes without "
		 "profile (INJECTION_TRACE). - is stdin. -gpu-only and -cpu-only choose a part. "
		 "Several, as in --from cap.*.profile, are the ranks of a job, and are merged; "
		 "--by rank keeps them apart. Traces without a rank, as in --from app-*.trace, are "
		 "processes of one program; --by process keeps them apart."},
	{.id = OPT_TIME,
	 .take = take_time,
	 .name = "time",
	 .kind = ARGUMENT_TEXT,
	 .argument = "A..B",
	 .topic = TOPIC_CAPTURES,
	 .text = "only this time: 1.5..2, 500ms.., ..10s",
	 .more = "Since the command's start, in seconds or in ns, us, ms, s or m. Parts that "
		 "adjoin add up to the run."},
	{.id = OPT_PROCESS,
	 SET(set_part, options.view.slice.parts[PLACE_PROCESS]),
	 .name = "process",
	 .kind = ARGUMENT_TEXT,
	 .argument = "NAME",
	 .topic = TOPIC_CAPTURES,
	 .text = "only this process: a pid, or a pattern of its name",
	 .more = "Patterns are extended regular expressions, and match anywhere in the name."},
	{.id = OPT_THREAD,
	 SET(set_part, options.view.slice.parts[PLACE_THREAD]),
	 .name = "thread",
	 .kind = ARGUMENT_TEXT,
	 .argument = "NAME",
	 .topic = TOPIC_CAPTURES,
	 .text = "only this thread: a tid, or a pattern of its name"},
	{.id = OPT_DEVICE,
	 SET(set_part, options.view.slice.parts[PLACE_DEVICE]),
	 .name = "device",
	 .kind = ARGUMENT_TEXT,
	 .argument = "NAME",
	 .topic = TOPIC_CAPTURES,
	 .text = "only work on this GPU: a number, or a pattern",
	 .more = "The pattern is of its label, name or UUID, as -v lists them: 'GPU 0', H200."},
	{.id = OPT_STREAM,
	 SET(set_part, options.view.slice.parts[PLACE_STREAM]),
	 .name = "stream",
	 .kind = ARGUMENT_TEXT,
	 .argument = "NUMBER",
	 .topic = TOPIC_CAPTURES,
	 .text = "only work on streams with this number"},
	{.id = OPT_KERNEL,
	 SET(set_match, options.view.slice.kernel),
	 .name = "kernel",
	 .kind = ARGUMENT_TEXT,
	 .argument = "NAME",
	 .topic = TOPIC_CAPTURES,
	 .text = "only kernels with such a name, and waits for them"},
	/* ---- comparing runs ---- */
	{.id = OPT_DIFF,
	 FLAG(is_diff),
	 .name = "diff",
	 .is_of_files = true,
	 .topic = TOPIC_COMPARE,
	 .text = "compare the files that follow: BEFORE AFTER",
	 .more = "Captures, or folded stacks. Several runs of each side: BEFORE... -- AFTER... "
		 "Options may follow the files. -o writes .html, .svg, .folded or .json; without "
		 "it "
		 "there is the report alone."},
	{.id = OPT_NORMALIZE,
	 FLAG(diff.normalize),
	 .name = "normalize",
	 .topic = TOPIC_COMPARE,
	 .text = "compare shares of CPU and of GPU time, not times",
	 .more = "For runs of different lengths. Times of each run are scaled to the totals of "
		 "those after. With --diff."},
	{.id = OPT_WIDTHS,
	 SET(set_word, diff.widths),
	 .name = "widths",
	 .kind = ARGUMENT_WORD,
	 .argument = "SIDE",
	 .words = sides,
	 .topic = TOPIC_COMPARE,
	 .text = "whose times a picture of both has (default after)",
	 .more = "What the other side alone has is counted below the picture."},
	{.id = OPT_BASELINE,
	 .take = take_baseline,
	 .name = "baseline",
	 .kind = ARGUMENT_FILE,
	 .argument = "FILE",
	 .topic = TOPIC_COMPARE,
	 .text = "compare the run with this capture; may be repeated",
	 .more = "Several baselines show how runs differ, and so what is noise. It is read before "
		 "the command runs, so that a mistake shows at once. Also with --from."},
	{.id = OPT_FAIL_ABOVE,
	 .take = take_limit,
	 .name = "fail-above",
	 .kind = ARGUMENT_TEXT,
	 .argument = "LIMIT",
	 .topic = TOPIC_COMPARE,
	 .text = "exit with 123 if a time rose by more: 5%, 10ms",
	 .more = "A rise within the noise does not fail. For --baseline and --diff."},
	{.id = OPT_FAIL_ON,
	 .take = take_gate,
	 .name = "fail-on",
	 .kind = ARGUMENT_TEXT,
	 .argument = "WHAT",
	 .topic = TOPIC_COMPARE,
	 .text = "which time: gpu (default), cpu, kernel=REGEX, ...",
	 .more = "gpu, cpu, waiting, idle (GPUs, with --idle), api (CUDA calls), wall, peak and "
		 "left (memory of all kinds, with --alloc), errors (failed calls, with --api), "
		 "kernel=REGEX, function=REGEX (own CPU time), function-total=REGEX (with what it "
		 "calls), site=REGEX (launched by), call=REGEX, shape=REGEX (kernels with grid and "
		 "block, "
		 "with --launch-shapes), peak=REGEX and left=REGEX (memory by kind and "
		 "allocating function: pinned host: load), "
		 "errors=REGEX (by call and error). "
		 "All that match count together. May be "
		 "repeated: each is checked."},
	/* ---- what to measure ---- */
	{.id = 'p',
	 .take = take_pids,
	 .name = "pid",
	 .kind = ARGUMENT_TEXT,
	 .argument = "PIDS",
	 .is_of_run = true,
	 .topic = TOPIC_ATTACH,
	 .text = "profile these running processes, not a command",
	 .more = "And their descendants, until they have ended, Ctrl-C, or for the time of -d. "
		 "Numbers separated by commas; may be repeated. They go on as before. A "
		 "library is loaded into those that use CUDA, and is off again at the end. "
		 "Needs root, or CAP_BPF and CAP_PERFMON. docs/attach.md has the details."},
	{.id = OPT_NAME,
	 SET(set_pattern_once, attach.name),
	 .name = "name",
	 .kind = ARGUMENT_TEXT,
	 .argument = "REGEX",
	 .is_of_run = true,
	 .topic = TOPIC_ATTACH,
	 .text = "all running processes with such a name",
	 .more = "An extended regular expression, which matches anywhere in the kernel's name of "
		 "the process, as for pgrep, in what it was started as or its title, or in the "
		 "name of the script or module that an interpreter runs: train.py. Without "
		 "folders, unless the expression has a slash."},
	{.id = OPT_CGROUP,
	 SET(set_text_once, attach.cgroup),
	 .name = "cgroup",
	 .kind = ARGUMENT_FILE,
	 .argument = "PATH",
	 .is_of_run = true,
	 .topic = TOPIC_ATTACH,
	 .text = "all running processes of a cgroup, and of those in it",
	 .more = "A folder below /sys/fs/cgroup, or a path as in /proc/PID/cgroup."},
	{.id = OPT_NO_INJECT,
	 FLAG(no_inject),
	 .name = "no-inject",
	 .is_of_run = true,
	 .topic = TOPIC_ATTACH,
	 .text = "load nothing into running processes: no GPU time",
	 .more = "With -p, --name or --cgroup. Calls of CUDA are timed instead, by probes."},
	{.id = OPT_DELAY,
	 .take = take_delay,
	 .name = "delay",
	 .kind = ARGUMENT_TEXT,
	 .argument = "TIME",
	 .is_of_run = true,
	 .topic = TOPIC_CAPTURES,
	 .text = "begin to record this long after the command's start",
	 .more = "In seconds, or in ns, us, ms, s or m; or \"start\": until --control reads start. "
		 "What began before is left out."},
	{.id = 'd',
	 .take = take_duration,
	 .name = "duration",
	 .kind = ARGUMENT_TEXT,
	 .argument = "TIME",
	 .is_of_run = true,
	 .topic = TOPIC_CAPTURES,
	 .text = "record for this long, then write the result",
	 .more = "The command goes on undisturbed, and profile ends with it, with its exit "
		 "status. What began in this time is in the result as a whole."},
	{.id = OPT_RANGE,
	 .take = take_range,
	 .name = "range",
	 .kind = ARGUMENT_TEXT,
	 .argument = "NAME",
	 .is_of_run = true,
	 .topic = TOPIC_CAPTURES,
	 .text = "record only while the NVTX range NAME is open",
	 .more = "Or domain:message, as --nvtx shows it; cudaProfilerApi: between "
		 "cudaProfilerStart "
		 "and cudaProfilerStop. Of each process, what any thread does meanwhile: GPU work "
		 "launched then, CPU samples. Several add up."},
	{.id = OPT_LAST,
	 .take = take_last,
	 .name = "last",
	 .kind = ARGUMENT_TEXT,
	 .argument = "TIME",
	 .is_of_run = true,
	 .topic = TOPIC_CAPTURES,
	 .text = "keep only the last TIME of the run (flight recorder)",
	 .more = "At the end, and at each snapshot (kill -USR2, --control), the files have what "
		 "began "
		 "in the last TIME before that moment. The run may take days: 256 MiB are kept at "
		 "most; if they hold less than TIME, a message says how long."},
	{.id = OPT_CONTROL,
	 SET(set_text_once, run.control),
	 .name = "control",
	 .kind = ARGUMENT_FILE,
	 .argument = "FIFO",
	 .is_of_run = true,
	 .topic = TOPIC_CAPTURES,
	 .text = "read start, snapshot and stop from a FIFO as it runs",
	 .more = "A line each. start ends the time of --delay, which may be without end: --delay "
		 "start. snapshot writes the result so far to all files of -o, with a number "
		 "before the extension: out.1.html. stop ends the recording as -d does. The FIFO "
		 "is "
		 "made if it is not there."},
	{.id = OPT_GPU_ONLY,
	 .take = take_gpu_only,
	 .name = "gpu-only",
	 .topic = TOPIC_GPU,
	 .takes_one_dash = true,
	 .text = "GPU time only, under the stacks that launched it",
	 .more = "A run has no CPU samples then; --waits adds waiting all the same. With --from, "
		 "it leaves out waiting, timed calls and idle time, too."},
	{.id = OPT_KERNELS_ONLY,
	 FLAG(run.measure.kernels_only),
	 .name = "kernels-only",
	 .is_of_run = true,
	 .topic = TOPIC_GPU,
	 .text = "of GPU work, only kernels: no copies, sets, allocations"},
	{.id = OPT_UNIFIED_MEMORY,
	 FLAG(run.measure.unified_memory),
	 .name = "unified-memory",
	 .is_of_run = true,
	 .topic = TOPIC_GPU,
	 .text = "migrations and page faults of unified memory, too",
	 .more = "CUPTI slows down programs that migrate much: one that does nothing else took "
		 "1.6 times as long."},
	{.id = OPT_MAX_OVERHEAD,
	 .take = take_max_overhead,
	 .name = "max-overhead",
	 .kind = ARGUMENT_TEXT,
	 .argument = "PCT",
	 .is_of_run = true,
	 .topic = TOPIC_GPU,
	 .text = "launch stacks take at most this % of a thread's time",
	 .more = "From 0.1 to 100. Where they would take more, a random part of the launches has "
		 "a stack, and the GPU time of the others is spread over those of the same kernel "
		 "and thread: totals stay exact. The summary says how many, and the error."},
	{.id = OPT_NVTX,
	 FLAG(run.measure.nvtx),
	 .name = "nvtx",
	 .is_of_run = true,
	 .topic = TOPIC_GPU,
	 .text = "show NVTX ranges as frames of launch stacks",
	 .more = "A range is inside the function that opened it. CPU samples have none."},
	{.id = OPT_CPU_ONLY,
	 .take = take_cpu_only,
	 .name = "cpu-only",
	 .topic = TOPIC_CPU,
	 .takes_one_dash = true,
	 .text = "CPU samples only; nothing is loaded into the command"},
	{.id = 'F',
	 .take = take_frequency,
	 .name = "freq",
	 .kind = ARGUMENT_TEXT,
	 .argument = "HZ",
	 .is_of_run = true,
	 .topic = TOPIC_CPU,
	 .text = "CPU samples per second on each CPU (default 50)",
	 .more = "From 1 to 10000."},
	{.id = 'F', .name = "frequency", .kind = ARGUMENT_TEXT},
	{.id = 'F', .name = "rate", .kind = ARGUMENT_TEXT},
	{.id = 'F', .name = "sampling-frequency", .kind = ARGUMENT_TEXT},
	{.id = OPT_THREAD_ORIGIN,
	 FLAG(run.measure.thread_origin),
	 .name = "thread-origin",
	 .is_of_run = true,
	 .topic = TOPIC_CPU,
	 .text = "show threads below the stacks that created them",
	 .more = "Needs root or the capabilities that CPU samples of the whole tree need."},
	{.id = OPT_WALL,
	 .take = take_wall,
	 .name = "wall",
	 .kind = ARGUMENT_WORD,
	 .is_optional = true,
	 .argument = "STACKS",
	 .words = walls,
	 .is_of_run = true,
	 .topic = TOPIC_CPU,
	 .text = "time off the CPU, too: blocked in what, or runnable",
	 .more = "Each thread's time adds up to its life. Waits for the GPU are split as with "
		 "--waits. --wall=kernel: with the operating system's functions that it waits in. "
		 "Needs root, or CAP_BPF and CAP_PERFMON."},
	{.id = OPT_IDLE,
	 FLAG(run.measure.idle),
	 .name = "idle",
	 .is_of_run = true,
	 .topic = TOPIC_WAITS,
	 .text = "why GPUs are idle: what the launching threads did then",
	 .more = "Each GPU's idle time adds up. Needs root, or CAP_BPF and CAP_PERFMON."},
	{.id = OPT_GRAPH,
	 .set = set_graph,
	 .name = "graph",
	 .kind = ARGUMENT_WORD,
	 .argument = "HOW",
	 .words = graphs,
	 .is_of_run = true,
	 .topic = TOPIC_GRAPHS,
	 .text = "CUDA graphs by node (default) or as a whole (graph)",
	 .more = "device: by node, and also graphs that kernels launch, which take 16 MiB of GPU "
		 "memory for each context."},
	{.id = OPT_WAITS,
	 FLAG(run.measure.waits),
	 .name = "waits",
	 .is_of_run = true,
	 .topic = TOPIC_WAITS,
	 .text = "show time that threads wait for the GPU, and for what"},
	{.id = OPT_LAUNCH_SHAPES,
	 FLAG(options.launch_shapes),
	 .name = "launch-shapes",
	 .topic = TOPIC_GPU,
	 .text = "how much of the GPU each kernel's launch can use",
	 .more = "A table of grids, blocks, theoretical occupancy and waves, with what could be "
		 "better and who launched it: on stderr, in .json and in .html."},
	{.id = OPT_ALLOC,
	 FLAG(run.measure.memory),
	 .name = "alloc",
	 .is_of_run = true,
	 .topic = TOPIC_GPU,
	 .text = "follow memory: the peak, and what was never freed",
	 .more = "By device, kind and the stacks that allocated it: on stderr, in .json and in "
		 ".html; "
		 "--weight draws it."},
	{.id = OPT_METRICS,
	 .take = take_metrics,
	 .name = "metrics",
	 .kind = ARGUMENT_TEXT,
	 .argument = "LIST",
	 .is_of_run = true,
	 .topic = TOPIC_GPU,
	 .text = "hardware counters of some launches: default, or names",
	 .more = "Names of metrics as CUPTI and Nsight Compute have them, separated by commas; "
		 "\"default\" stands for throughput, occupancy, hit rates, DRAM bytes, tensor pipe "
		 "and cycles. A kernel that is measured runs once for each pass of counters. A "
		 "table on stderr, in .json and in .html."},
	{.id = OPT_METRICS_KERNELS,
	 .take = take_metrics_kernels,
	 .name = "metrics-kernels",
	 .kind = ARGUMENT_TEXT,
	 .argument = "REGEX",
	 .is_of_run = true,
	 .topic = TOPIC_GPU,
	 .text = "of kernels whose mangled names match",
	 .more = "An extended regular expression, which matches anywhere in the name; --raw-names "
		 "shows mangled names."},
	{.id = OPT_METRICS_LAUNCHES,
	 .take = take_metrics_launches,
	 .name = "metrics-launches",
	 .kind = ARGUMENT_TEXT,
	 .argument = "N",
	 .is_of_run = true,
	 .topic = TOPIC_GPU,
	 .text = "how many launches of each kernel: 5, or all",
	 .more = "The 1st, the 2nd, the 4th, the 8th and so on."},
	{.id = OPT_LIST_METRICS,
	 .take = take_list_metrics,
	 .name = "list-metrics",
	 .kind = ARGUMENT_TEXT,
	 .is_optional = true,
	 .argument = "REGEX",
	 .topic = TOPIC_GPU,
	 .text = "print which metrics the GPU has, and run no command",
	 .more = "Those whose name or description matches; with \"=\" before the pattern."},
	{.id = OPT_LIST_METRICS,
	 .name = "query-metrics",
	 .kind = ARGUMENT_TEXT,
	 .is_optional = true},
	{.id = OPT_CHIP,
	 SET(set_text, list_metrics.chip),
	 .name = "chip",
	 .kind = ARGUMENT_TEXT,
	 .argument = "NAME",
	 .topic = TOPIC_GPU,
	 .text = "those of another GPU for --list-metrics: GH100",
	 .more = "Needs no GPU, only CUPTI."},
	{.id = OPT_WEIGHT,
	 .take = take_weight,
	 .name = "weight",
	 .kind = ARGUMENT_WORD,
	 .argument = "WHAT",
	 .words = weights,
	 .topic = TOPIC_GPU,
	 .text = "draw stacks by time (default), bytes, or a counter",
	 .more = "peak: what was allocated when most was; left: what was never freed; each of "
		 "device, "
		 "managed and pinned memory. Both imply --alloc. Or the name of a metric that "
		 "--metrics reads and that ends "
		 "in "
		 ".sum: each stack has the mean of its measured launches times all of them. "
		 "Reports of whole runs offer all of these without it."},
	{.id = OPT_STALLS,
	 .take = take_stalls,
	 .name = "stalls",
	 .kind = ARGUMENT_WORD,
	 .is_optional = true,
	 .argument = "OF",
	 .words = stalls,
	 .is_of_run = true,
	 .topic = TOPIC_GPU,
	 .text = "why kernels' warps stall, below each kernel, by line",
	 .more = "Samples of the GPU's multiprocessors split each kernel's time by device "
		 "function, "
		 "source line (nvcc -lineinfo; Triton and numba have them) and reason. By "
		 "default they are of kernels: all launches of a kernel show its mean. "
		 "--stalls=exact: "
		 "of launches, each with its own stalls; then kernels run one after the other, "
		 "which "
		 "can take some 40 times as long."},
	{.id = OPT_STALL_PERIOD,
	 .take = take_stall_period,
	 .name = "stall-period",
	 .kind = ARGUMENT_TEXT,
	 .argument = "CYCLES",
	 .is_of_run = true,
	 .topic = TOPIC_GPU,
	 .text = "a sample every so many cycles (default 16384)",
	 .more = "A power of two from 32 to 2147483648. Implies --stalls."},
	{.id = OPT_API,
	 FLAG(run.measure.api),
	 .name = "api",
	 .is_of_run = true,
	 .topic = TOPIC_WAITS,
	 .text = "sums of all calls of CUDA's runtime and driver",
	 .more = "Calls, errors, times and bytes by function: on stderr, in .json and in .html."},
	/* ---- stacks and names ---- */
	{.id = OPT_NAMES,
	 .set = set_names,
	 .name = "names",
	 .kind = ARGUMENT_WORD,
	 .argument = "HOW",
	 .words = names,
	 .topic = TOPIC_NAMES,
	 .text = "names in all outputs: full, or short ones",
	 .more = "Otherwise texts have full names, and pictures short ones with the full ones "
		 "beside. Short are names without template arguments and parameters."},
	{.id = OPT_MY_CODE,
	 FLAG(options.view.my_code),
	 .name = "my-code",
	 .topic = TOPIC_NAMES,
	 .text = "fold what is not yours: libraries, Python, start-up",
	 .more = "Yours is what lies below the working directory of the run, without "
		 "environments in it. Others' code is left out around yours, and elsewhere a "
		 "frame like [torch]."},
	{.id = OPT_MY_PATH,
	 .take = take_my_path,
	 .name = "my-path",
	 .kind = ARGUMENT_FILE,
	 .argument = "FOLDER",
	 .topic = TOPIC_NAMES,
	 .text = "what is yours lies here; implies --my-code, repeats"},
	{.id = OPT_TRIM_TO,
	 SET(set_match, options.view.trim_to),
	 .name = "trim-to",
	 .kind = ARGUMENT_TEXT,
	 .argument = "NAME",
	 .topic = TOPIC_NAMES,
	 .text = "begin stacks at the outermost function of this name",
	 .more = "An extended regular expression, which matches anywhere in the full name. "
		 "Stacks without such a function stay whole."},
	{.id = OPT_INLINES,
	 FLAG(options.naming.inlines),
	 .name = "inlines",
	 .topic = TOPIC_NAMES,
	 .text = "show inlined functions (needs debug information)",
	 .more = "-g or -g1, in the file or under /usr/lib/debug. Captures have their names."},
	{.id = OPT_DEBUGINFOD,
	 FLAG(options.naming.debuginfod),
	 .name = "debuginfod",
	 .is_of_run = true,
	 .topic = TOPIC_NAMES,
	 .text = "get debug files from the servers in DEBUGINFOD_URLS",
	 .more = "After the command has ended, for 30 s at most. Not with --as-root."},
	{.id = OPT_RAW_NAMES,
	 FLAG(options.naming.raw_names),
	 .name = "raw-names",
	 .topic = TOPIC_NAMES,
	 .text = "keep kernel names mangled",
	 .more = "Captures have their names."},
	{.id = OPT_LAUNCH_STACKS,
	 SET(set_word, run.launch_stacks),
	 .name = "launch-stacks",
	 .kind = ARGUMENT_WORD,
	 .argument = "HOW",
	 .words = launch_stacks,
	 .is_of_run = true,
	 .topic = TOPIC_NAMES,
	 .takes_one_dash = true,
	 .text = "take launch stacks inprocess, by uprobe, or auto",
	 .more = "auto, the default, is uprobe with -injection-lib or -cuda-lib, else inprocess: "
		 "that is cheaper and needs no privilege."},
	{.id = OPT_CUDA_LIB,
	 .take = take_cuda_lib,
	 .name = "cuda-lib",
	 .kind = ARGUMENT_FILE,
	 .argument = "PATH",
	 .is_of_run = true,
	 .topic = TOPIC_NAMES,
	 .takes_one_dash = true,
	 .text = "also probe this CUDA runtime library; may be repeated"},
	{.id = OPT_PYTHON_LINES,
	 FLAG(run.measure.python_lines),
	 .name = "python-lines",
	 .is_of_run = true,
	 .topic = TOPIC_PYTHON,
	 .text = "show line numbers in Python frames"},
	{.id = OPT_NATIVE_PYTHON,
	 FLAG(run.measure.native_python),
	 .name = "native-python",
	 .is_of_run = true,
	 .topic = TOPIC_PYTHON,
	 .text = "keep the Python interpreter's own C frames"},
	/* ---- privilege ---- */
	{.id = OPT_AS_ROOT,
	 FLAG(options.as_root),
	 .name = "as-root",
	 .topic = TOPIC_PRIVILEGE,
	 .text = "under sudo: run all as root, not as the invoking user",
	 .more = "Both the command and profile."},
	/* ---- diagnostics ---- */
	{.id = 'v',
	 .take = take_verbose,
	 .name = "verbose",
	 .topic = TOPIC_DIAGNOSTICS,
	 .text = "be verbose"},
	{.id = 'q',
	 .take = take_quiet,
	 .name = "quiet",
	 .topic = TOPIC_DIAGNOSTICS,
	 .text = "print only errors"},
	{.id = OPT_RECORD,
	 .set = set_record,
	 .name = "record",
	 .kind = ARGUMENT_FILE,
	 .argument = "PREFIX",
	 .is_of_run = true,
	 .topic = TOPIC_DIAGNOSTICS,
	 .text = "save the raw input, for bug reports",
	 .more = "In PREFIX.pipe and PREFIX.events. They contain paths, process ids, addresses "
		 "and names of kernels."},
	{.id = OPT_INJECTION_LIB,
	 SET(set_text, run.injection_lib),
	 .name = "injection-lib",
	 .kind = ARGUMENT_FILE,
	 .argument = "PATH",
	 .is_of_run = true,
	 .topic = TOPIC_DIAGNOSTICS,
	 .takes_one_dash = true,
	 .text = "load this injection library, not the built-in one",
	 .more = "It must be from the same release; it is not libcupti, which is found by itself. "
		 "-cupti-lib is the older name of this option."},
	{.id = OPT_INJECTION_LIB,
	 .name = "cupti-lib",
	 .kind = ARGUMENT_FILE,
	 .takes_one_dash = true},
	{.id = OPT_STRICT,
	 FLAG(options.strict),
	 .name = "strict",
	 .topic = TOPIC_EXIT,
	 .text = "exit with 124 if anything was lost or is not matched"},
	/* ---- help ---- */
	{.id = 'h',
	 .name = "help",
	 .kind = ARGUMENT_WORD,
	 .is_optional = true,
	 .argument = "TOPIC",
	 .words = topics,
	 .topic = TOPIC_HELP,
	 .text = "print this overview, or more on a topic or an option"},
	{.id = OPT_COMPLETION,
	 .name = "completion",
	 .kind = ARGUMENT_WORD,
	 .argument = "SHELL",
	 .words = shells,
	 .topic = TOPIC_HELP,
	 .text = "print the completion for bash, zsh or fish",
	 .more = "`make install` and the package put it where shells look for it."},
	{.id = OPT_PRINT_INJECTION_PATH,
	 .name = "print-injection-path",
	 .topic = TOPIC_GPU,
	 .text = "print where the library with the USDT probes is",
	 .more = "With CUDA_INJECTION64_PATH set to it, a program has the probes for bpftrace and "
		 "other tracers without a profiler. docs/probes.md lists them."},
	{.id = OPT_VERSION, .name = "version", .topic = TOPIC_HELP, .text = "print the version"},
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
