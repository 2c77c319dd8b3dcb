// SPDX-License-Identifier: MIT
#include "profiler/commands/help.h"

#include <string.h>
#include "profiler/commands/option_table.h"

#define WIDTH 80
#define TEXT_COLUMN 24

/*
 * A topic of --help. Paragraphs are wrapped, and separated by line feeds. A paragraph that begins
 * with a space is printed as given.
 */
struct topic {
	const char *group; /* group in the overview; NULL: the group of the previous topic */
	const char *title;
	const char *before, *after; /* text before and after the options; NULL for none */
};

/* Topics by enum help_topic. Their names are the words of --help in option_table.c. */
static const struct topic topics[HELP_TOPICS] = {
	[TOPIC_OUTPUT] =
		{"What is written", "What is written",
		 "A file's extension selects its format, and one run can write several files:\n"
		 "  .html              a report for the browser: flame graphs and tables\n"
		 "  .svg               a flame graph as a picture for the browser\n"
		 "  .folded, or none   folded stacks, for flamegraph.pl and speedscope\n"
		 "  .pb.gz             for pprof\n"
		 "  .speedscope.json   for speedscope (www.speedscope.app)\n"
		 "  .perfetto-trace    when everything happened, for ui.perfetto.dev\n"
		 "  .trace.json        the same as JSON, for chrome://tracing and scripts\n"
		 "  .json              sums and losses as data, for scripts\n"
		 "  .md                one or two pages, for a pull request or a language model\n"
		 "  .profile           the run itself, for --from: see --help captures\n"
		 "All of them have the same nanoseconds. A report and a picture are one file each "
		 "that needs no network.",
		 "With -o -, stdout carries only the output, and the command's own stdout goes to "
		 "stderr. In folded stacks, a stack whose weight rounds to 0 is not written; "
		 "--unit ns keeps all."},
	[TOPIC_CAPTURES] = {"Which part of the run", "Captures, and parts of a run",
			    "-o FILE.profile keeps the whole run, with names, lines and times. Any "
			    "other output can be written from it later, on any machine:\n"
			    "  profile --from run.profile -o run.html\n"
			    "  profile --from run.profile --time 1.5..2 --device 0 -o part.svg",
			    "All that is given must hold. The options work on a run as well: then "
			    "a .profile still has all of it. CPU samples and waits belong to no "
			    "device and no stream; --kernel keeps the waits for its kernels."},
	[TOPIC_ATTACH] =
		{"Which processes that already run", "Processes that already run",
		 "With -p, --name or --cgroup in place of a command, processes that run already "
		 "are profiled, without restarting them, and all that they start:\n"
		 "  sudo profile -p 1234 -d 30 -o out.html\n"
		 "  sudo profile --name 'python3?' -o out.html     until Ctrl-C\n"
		 "They go on undisturbed, and profile exits with 0.",
		 "--delay waits before it looks at them, -d says for how long. Under sudo these "
		 "are processes of the invoking user; with --as-root, all. What measures GPU time "
		 "is refused."},
	[TOPIC_GPU] =
		{"Where the time goes", "GPU time",
		 "The time of kernels, copies, sets and migrations of unified memory, as CUPTI "
		 "reports it, each under the stack of the thread that launched it. It needs CUPTI "
		 "of CUDA 11.8 or later, which is found at run time, and no privilege.",
		 "CPU and GPU time add up in one graph even where they overlap: its width is CPU "
		 "time plus GPU time, not wall time. Time that no launch explains is under [launch "
		 "not captured]. The summary compares all sums with CUPTI's own."},
	[TOPIC_GRAPHS] =
		{NULL, "CUDA graphs",
		 "Work of a graph's node is under two stacks: where the graph was launched and, "
		 "below [graph node captured at], where the node was captured or added.",
		 "Recording each node costs the GPU 0.23 us per kernel (H100). With --graph whole "
		 "each launch of a graph is one [GPU_Graph], for 0.02 us per kernel."},
	[TOPIC_CPU] = {NULL, "CPU time",
		       "A clock on each CPU takes the stack of the command's thread that runs "
		       "there, and of all its descendants. Each sample is one period of that "
		       "clock: 20 ms at 50 Hz. No frame pointers are needed.",
		       "Threads that sleep have no samples; --wall shows where, and what they wait "
		       "for. Samples end with the command."},
	[TOPIC_WAITS] =
		{"Why threads and GPUs wait", "Waiting",
		 "--waits adds the time that threads spend in calls that wait for the GPU, as "
		 "[waiting for GPU] under the call, and below it what ran at that time and where "
		 "that was launched.",
		 "It counts synchronization, copies that block, and allocations, from the moment "
		 "at which there is a CUDA context. What a thread computes there, or spins, is CPU "
		 "time and no wait: its samples are below [spinning for GPU] where work ran. With "
		 "-gpu-only, which has no CPU time, it is all a wait. Waiting is a third kind of "
		 "time in the graph, and the summary lists it separately."},
	[TOPIC_KERNELS] = {"Why kernels take long", "Kernels",
			   "Three looks at a kernel, from cheap to costly: how much of the GPU its "
			   "launch can use, why its warps stall and at which lines, and hardware "
			   "counters of some of its launches.",
			   "docs/stalls.md and docs/counters.md explain the numbers, what they "
			   "cost, and which permission they need."},
	[TOPIC_CALLS] =
		{"What calls and memory do", "Calls and memory",
		 "Sums of all calls of CUDA's runtime and driver, also of those that launch "
		 "nothing; and the memory that they allocate.",
		 "--weight peak and --weight left draw memory by the stacks that allocated it."},
	[TOPIC_LIVE] = {"Watching a run, and sending results", "While it runs, and afterwards",
			"The terminal, metrics for Prometheus, spans for OpenTelemetry, and "
			"engines that keep profiles.",
			"The helper that sends is a process of its own without capabilities. A "
			"slow receiver never holds up the program."},
	[TOPIC_COMPARE] =
		{"What changed", "Comparing runs",
		 "What changed from one run to another, and what of it is noise:\n"
		 "  profile --diff before.profile after.profile -o diff.svg\n"
		 "  profile --diff old-*.profile -- new-*.profile\n"
		 "A check for continuous integration:\n"
		 "  profile --baseline main.profile --fail-above 5% ./app\n"
		 "  profile --from new.profile --baseline main.profile --fail-above 5%",
		 "Red is slower, blue is faster, grey is the same or noise. Kernels are matched by "
		 "name, then without template arguments, then without numbers."},
	[TOPIC_NAMES] =
		{"Stacks and names", "Stacks and names",
		 "Names come from symbols of files, separate debug files, debuginfod servers (with "
		 "--debuginfod), jit-PID.dump and /tmp/perf-PID.map of JIT compilers, and the "
		 "kernel. C++ and Rust are demangled. [libfoo.so+0x1a2b0] is a function of that "
		 "file without a name, by its address; [libfoo.so] is other code without one.",
		 "A stack that begins at [truncated] was too deep."},
	[TOPIC_PYTHON] =
		{NULL, "Python",
		 "Python functions are shown for CPython 3.8 to 3.15, in CPU samples and launches, "
		 "with the C++ functions between them. The program needs no flags.\n"
		 "  sudo profile -o train.html \"$(command -v python3)\" train.py\n"
		 "sudo resets PATH, so let your shell resolve the interpreter.",
		 "NVTX ranges of torch.cuda.nvtx are shown with --nvtx, PyTorch's operators with "
		 "--ops, the layers of its models with --modules."},
	[TOPIC_PRIVILEGE] = {"Privilege", "Privilege",
			     "GPU time needs none. CPU samples with kernel frames and Python "
			     "functions need sudo, or CAP_BPF and CAP_PERFMON; without, samples of "
			     "user code are taken where kernel.perf_event_paranoid is 2 or less.",
			     "Under sudo, the command runs as you, and so does profile once it has "
			     "opened what needs root: the output is yours. sudo drops "
			     "LD_LIBRARY_PATH; set it after profile:\n"
			     "  sudo profile env LD_LIBRARY_PATH=\"$LD_LIBRARY_PATH\" ./app"},
	[TOPIC_DIAGNOSTICS] = {"Diagnostics", "Diagnostics",
			       "The summary on stderr says what was sampled, matched and lost. "
			       "docs/troubleshooting.md explains each message.",
			       NULL},
	[TOPIC_EXIT] =
		{NULL, "Exit status",
		 "The command's own, if it exited; otherwise:\n"
		 "  128+N   signal N killed the command\n"
		 "  123     --fail-above, and a time rose by more\n"
		 "  124     --strict, and something was lost or is not matched\n"
		 "  125     profile failed, or its options are wrong, or there is no command\n"
		 "  126     the command was found but cannot be run\n"
		 "  127     the command was not found\n"
		 "--help, --version and --completion give 0.",
		 NULL},
	[TOPIC_HELP] = {"Help", "Help", "The manual page has everything: man profile.", NULL},
};

/* ---- wrapped text ---- */

/* A line printed word by word, continued at `column`. */
struct line {
	FILE *out;
	size_t at, column;
};

static void print_word(struct line *line, const char *word, size_t length, const char *behind)
{
	bool has_room = line->at + 1 + length + strlen(behind) <= WIDTH;

	if (line->at > line->column && !has_room) {
		fprintf(line->out, "\n%*s", (int)line->column, "");
		line->at = line->column;
	}
	line->at += (size_t)fprintf(line->out, "%s%.*s%s", line->at > line->column ? " " : "",
				    (int)length, word, behind);
}

/* Prints a paragraph. The output is already at `column`. */
static void print_words(FILE *out, const char *text, size_t column)
{
	struct line line = {out, column, column};

	while (*text && *text != '\n') {
		size_t length = strcspn(text, " \n");

		print_word(&line, text, length, "");
		text += length;
		text += *text == ' ';
	}
	fputc('\n', out);
}

/* Prints "NAME is one of a, b, c". */
static void print_names(FILE *out, const char *what, const char *const *names, size_t column)
{
	struct line line = {out, column, column};

	print_word(&line, what, strlen(what), " is one of");
	for (; *names; names++)
		print_word(&line, *names, strlen(*names), names[1] ? "," : "");
	fputc('\n', out);
}

static void print_paragraphs(FILE *out, const char *text)
{
	while (text && *text) {
		size_t length = strcspn(text, "\n");

		if (text[0] == ' ')
			fprintf(out, "%.*s\n", (int)length, text);
		else
			print_words(out, text, 0);
		text += length;
		text += *text == '\n';
	}
}

/* ---- options ---- */

/* Prints "  -F, --freq HZ" and the text, on the next line if there is no room. */
static void print_option(FILE *out, const struct option_entry *e)
{
	char shown[OPTION_SHOWN_BYTES];
	int n = fprintf(out, "  %s", option_shown(e, shown));

	if (e->id < OPT_GPU_ONLY && e->name)
		n += fprintf(out, ", --%s", e->name);
	if (e->argument)
		n += fprintf(out,
			     option_is_joined(e) ? "[=%s]"
			     : e->is_optional    ? " [%s]"
						 : " %s",
			     e->argument);
	if (n > TEXT_COLUMN - 2)
		fprintf(out, "\n%*s", TEXT_COLUMN, "");
	else
		fprintf(out, "%*s", TEXT_COLUMN - n, "");
	print_words(out, e->text, TEXT_COLUMN);
}

/* Prints an option with all its help. */
static void print_option_in_depth(FILE *out, const struct option_entry *e)
{
	print_option(out, e);
	if (e->kind == ARGUMENT_WORD) {
		fprintf(out, "%*s", TEXT_COLUMN, "");
		print_names(out, e->argument, e->words, TEXT_COLUMN);
	}
	if (e->more) {
		fprintf(out, "%*s", TEXT_COLUMN, "");
		print_words(out, e->more, TEXT_COLUMN);
	}
}

static void print_options(FILE *out, enum help_topic topic, bool in_depth)
{
	for (const struct option_entry *e = option_table; e->id; e++) {
		if (e->topic != topic || !e->text)
			continue;
		if (in_depth)
			print_option_in_depth(out, e);
		else
			print_option(out, e);
	}
}

static bool has_options(enum help_topic topic)
{
	for (const struct option_entry *e = option_table; e->id; e++)
		if (e->topic == topic && e->text)
			return true;
	return false;
}

/* ---- pages ---- */

void help_first_page(FILE *out)
{
	fputs("profile runs a program and shows where its time went, on the CPU and on the GPU.\n"
	      "GPU work is under the functions that launched it; the program needs no change.\n"
	      "\n"
	      "A CUDA program, as a report for the browser:\n"
	      "  sudo profile -o app.html ./app\n"
	      "PyTorch:\n"
	      "  sudo profile -o train.html \"$(command -v python3)\" train.py\n"
	      "CPU only, as a picture:\n"
	      "  sudo profile -cpu-only -o build.svg make -j8\n"
	      "\n"
	      "Without sudo you still get GPU time, but possibly no CPU samples.\n"
	      "Read on: profile --help, profile --help TOPIC, man profile.\n",
	      out);
}

void help_overview(FILE *out)
{
	fputs("Usage: profile [options] [--] command [argument...]\n"
	      "\n"
	      "Runs the command and writes where its time went, on the CPU and on the GPU: GPU\n"
	      "work is under the CPU stacks that launched it. The file's extension selects its\n"
	      "format: .html and .svg open in a browser, .folded is for flamegraph.pl, .pb.gz\n"
	      "for pprof, .speedscope.json for speedscope, .perfetto-trace for\n"
	      "ui.perfetto.dev, .json for scripts.\n",
	      out);
	for (int i = 0; i < HELP_TOPICS; i++) {
		if (topics[i].group)
			fprintf(out, "\n%s:\n", topics[i].group);
		print_options(out, (enum help_topic)i, false);
	}
	fputc('\n', out);
	print_names(out, "TOPIC", option_entry('h')->words, 0);
	fputs("\nOne option: profile --help --wall\n", out);
	fputs("\n"
	      "Long options take one dash or two; with two they may be shortened.\n"
	      "Exit status: the command's own; 128+N if signal N killed it; 123 by\n"
	      "--fail-above; 124 by --strict; 125 if profile failed; 126 if the command cannot\n"
	      "be run; 127 if not found.\n",
	      out);
}

static void print_topic(FILE *out, enum help_topic topic)
{
	fprintf(out, "%s\n\n", topics[topic].title);
	print_paragraphs(out, topics[topic].before);
	if (has_options(topic)) {
		fputc('\n', out);
		print_options(out, topic, true);
	}
	if (topics[topic].after) {
		fputc('\n', out);
		print_paragraphs(out, topics[topic].after);
	}
}

bool help_topic(const char *name, FILE *out)
{
	const char *const *names = option_entry('h')->words;
	bool is_all = strcmp(name, "all") == 0, is_known = is_all;

	for (int i = 0; i < HELP_TOPICS; i++) {
		if (!is_all && strcmp(name, names[i]) != 0)
			continue;
		if (is_all && i > 0)
			fputc('\n', out);
		print_topic(out, (enum help_topic)i);
		is_known = true;
	}
	return is_known;
}

/*
 * Finds an option by letter, name, or beginning of a name. Returns NULL if none or several match.
 */
static const struct option_entry *find_option(const char *word)
{
	size_t dashes = strspn(word, "-"), length;
	const struct option_entry *found = NULL;

	word += dashes;
	length = strlen(word);
	if (length == 0 || dashes > 2)
		return NULL;
	if (length == 1 && dashes < 2 && option_entry(word[0])->id)
		return option_entry(word[0]);
	for (const struct option_entry *e = option_table; e->id; e++) {
		if (!e->name || strncmp(e->name, word, length) != 0)
			continue;
		if (!e->name[length])
			return option_entry(e->id);
		if (found && found->id != e->id)
			return NULL;
		found = option_entry(e->id);
	}
	return dashes == 1 ? NULL : found;
}

bool help_option(const char *name, FILE *out)
{
	const struct option_entry *option = find_option(name);
	const char *before = "Also";

	if (!option)
		return false;
	print_option_in_depth(out, option);
	for (const struct option_entry *e = option_table; e->id; e++) {
		if (e->id != option->id || e == option)
			continue;
		fprintf(out, "%*s%s --%s", before[0] == 'A' ? TEXT_COLUMN : 0, "", before, e->name);
		before = ",";
	}
	if (before[0] == ',')
		fputs(".\n", out);
	fprintf(out, "\nMore: profile --help %s, man profile\n",
		option_entry('h')->words[option->topic]);
	return true;
}
