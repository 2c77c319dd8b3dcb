// SPDX-License-Identifier: MIT
#include "profiler/commands/compare.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "profiler/base/exit_status.h"
#include "profiler/commands/open_outputs.h"
#include "profiler/commands/input.h"
#include "profiler/commands/opener.h"
#include "profiler/output/outputs.h"
#include "profiler/output/writers.h"
#include "profiler/report/changes.h"
#include "profiler/report/top.h"
#include "profiler/run/privilege.h"
#include "profiler/tables/comparison.h"

#define LINES 10         /* lines per table, with --diff and --top */
#define BASELINE_LINES 5 /* lines per table at the end of a run */
#define WIDTH 100        /* columns, if stderr is no terminal */

struct comparing {
	const struct options *options;
	struct log log;
	struct opener opener; /* with --open */
	struct quota memory;
	struct input inputs[SIDES * COMPARISON_RUNS_MAX]; /* `before` inputs, then inputs after */
	uint32_t before, count;                           /* inputs before; all inputs */
};

/* ---- reading ---- */

static bool read_inputs(struct comparing *c, const struct run_files *files, const char *folder)
{
	for (uint32_t i = 0; i < files->count; i++)
		if (!input_read(&c->log, &c->inputs[c->count++], files->paths[i], c->options,
				folder, &c->memory))
			return false;
	return true;
}

/*
 * Finds a folder for the timelines. Returns NULL if no folder is writable; then bounds of noise
 * are coarser.
 */
static const char *timeline_folder(struct log *log, const char *beside_output)
{
	const char *const folders[] = {beside_output, "/tmp", "/dev/shm"};

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (access(folders[i], W_OK | X_OK) == 0)
			return folders[i];
	log_verbose(log, "no folder for temporary files: how durations vary is not known");
	return NULL;
}

static void release_inputs(struct comparing *c)
{
	for (uint32_t i = 0; i < c->count; i++)
		input_release(&c->inputs[i]);
}

/*
 * Checks that all inputs have one unit. Folded stacks have none, and cannot be compared with
 * times.
 */
static bool check_units(struct comparing *c)
{
	const struct input *first = &c->inputs[0];

	for (uint32_t i = 1; i < c->count; i++) {
		const struct input *other = &c->inputs[i];

		if (other->is_folded != first->is_folded)
			return log_error(&c->log,
					 "%s has folded stacks without a unit, and %s is a "
					 "capture: compare like with like",
					 first->is_folded ? first->path : other->path,
					 first->is_folded ? other->path : first->path);
	}
	return true;
}

/* ---- what makes a comparison doubtful ---- */

static void warn_of_losses(struct log *log, const char *path, const struct result *r)
{
	const struct ledger *l = r->totals.ledger;

	log_warn_if(log, l->gpu.dropped + l->gpu.missing,
		    "%s lost # GPU operation{|s}: its times are too small", path);
	log_warn_if(log, l->cpu.dropped, "%s lost # CPU sample{|s}: its times are too small", path);
}

static void warn_of_measures(struct log *log, const struct result *before,
			     const struct result *after, const char *path)
{
	const struct measure *a = &before->totals.measure, *b = &after->totals.measure;

	if (a->samples_cpu != b->samples_cpu || a->traces_gpu != b->traces_gpu ||
	    a->kernels_only != b->kernels_only || a->unified_memory != b->unified_memory ||
	    a->whole_graphs != b->whole_graphs || a->device_graphs != b->device_graphs ||
	    a->waits != b->waits || a->wall != b->wall || a->idle != b->idle || a->api != b->api ||
	    a->memory != b->memory || a->launch_shapes != b->launch_shapes ||
	    a->stall_period != b->stall_period || a->exact_stalls != b->exact_stalls ||
	    a->counters != b->counters || a->max_overhead != b->max_overhead)
		log_warn(log, "%s was measured with other options: differences may be theirs",
			 path);
}

/*
 * Compares the inputs. `after` is one more result after, or NULL. Returns NULL after logging the
 * reason.
 */
static struct comparison *make_comparison(struct comparing *c, const struct result *after,
					  struct comparison_options options)
{
	const struct result *results[SIDES * COMPARISON_RUNS_MAX + 1];
	struct comparison *comparison;

	for (uint32_t i = 0; i < c->count; i++)
		results[i] = c->inputs[i].result;
	results[c->count] = after;
	for (uint32_t i = 0; i < c->count; i++)
		if (results[i]->totals.measure.budget) {
			log_error(&c->log,
				  "%s has estimates (--budget), which are not compared: "
				  "record both runs without --budget",
				  c->inputs[i].path);
			return NULL;
		}
	options.memory = &c->memory;
	comparison = comparison_new(results, c->before, results + c->before,
				    c->count - c->before + (after != NULL), &options);
	if (comparison)
		return comparison;
	if (errno == E2BIG)
		log_error(&c->log, "comparing needs more memory than its limit of %zu MiB",
			  INPUT_MEMORY_MAX >> 20);
	else
		log_error(&c->log, "comparing: %s", strerror(errno));
	return NULL;
}

/* ---- --diff ---- */

/*
 * Frees disk space of the timelines, which are not needed after the comparison. Returns false if
 * none can be freed.
 */
static bool make_room(struct comparing *c, int beside)
{
	bool is_made = false;

	for (uint32_t i = 0; i < c->count; i++) {
		struct timeline *t = c->inputs[i].result->timeline;

		is_made |= t && timeline_give_room(t, beside);
	}
	return is_made;
}

/* Writes all outputs. Returns 0, or the exit status. */
static int write_all(struct comparing *c, struct outputs *outputs, struct comparison *comparison)
{
	struct writer_options options = {.unit_ns = 1,
					 .root_at_bottom = c->options->root_at_bottom,
					 .comparison = comparison};
	int errors[OUTPUTS_MAX], status = 0;

	for (uint32_t i = 0; i < c->options->output_count; i++) {
		const char *path = c->options->outputs[i].path;
		struct written written;

		do {
			errors[i] =
				outputs_write(outputs, i, &comparison->result, &options, &written);
		} while (output_lacks_room(errors[i]) && make_room(c, outputs_place(outputs, i)));
		if (!errors[i])
			log_line(&c->log, "Wrote %" PRIu64 " %s%s to %s", written.items,
				 outputs->choices[i].writer->item, written.items == 1 ? "" : "s",
				 strcmp(path, "-") == 0 ? "standard output" : path);
		status = open_outputs_status(&c->log, path, errors[i], status);
	}
	open_outputs_show(&c->log, c->options, &c->opener, errors);
	return status;
}

static int report_and_write(struct comparing *c, struct outputs *outputs,
			    struct comparison *comparison)
{
	const struct input *after = &c->inputs[c->before];
	int status, slower;

	for (uint32_t i = 0; i < c->count; i++)
		warn_of_losses(&c->log, c->inputs[i].path, c->inputs[i].result);
	warn_of_measures(&c->log, c->inputs[0].result, after->result, after->path);
	changes_report(&c->log, comparison, LINES, top_width(WIDTH));
	status = write_all(c, outputs, comparison);
	slower = gates_check(&c->log, &c->options->gates, comparison);
	return status ? status : slower;
}

static int compare_inputs(struct comparing *c, struct outputs *outputs)
{
	const struct comparison_options options = {.shown = c->options->diff.widths,
						   .is_normalized = c->options->diff.normalize,
						   .is_weights = c->inputs[0].is_folded};
	struct comparison *comparison;
	int status = EXIT_PROFILER_FAILED;

	if (!check_units(c))
		return status;
	comparison = make_comparison(c, NULL, options);
	if (comparison)
		status = report_and_write(c, outputs, comparison);
	comparison_free(comparison);
	return status;
}

static int read_and_compare(struct comparing *c, const struct identity *identity)
{
	struct options with_writers = *c->options;
	struct outputs outputs = {.count = 0};
	char folder[OUTPUTS_FOLDER_BYTES];
	const struct outputs_timeout timeout = {.awaits = "it is written when there is one"};
	const char *timelines;
	int status;

	for (uint32_t i = 0; i < with_writers.output_count; i++)
		with_writers.outputs[i].writer =
			writer_of_difference(with_writers.outputs[i].writer);
	status = open_outputs(&c->log, &with_writers, identity, &timeout, &(struct helper){0},
			      &outputs);
	if (status)
		return status;
	status = EXIT_PROFILER_FAILED;
	open_outputs_folder(&outputs, folder);
	timelines = timeline_folder(&c->log, folder);
	c->before = c->options->diff.before.count;
	if (read_inputs(c, &c->options->diff.before, timelines) &&
	    read_inputs(c, &c->options->diff.after, timelines))
		status = compare_inputs(c, &outputs);
	release_inputs(c);
	outputs_cancel(&outputs);
	return status;
}

static struct comparing *new_comparing(const struct log *log, const struct options *o)
{
	struct comparing *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->options = o;
	c->log = *log;
	c->opener = (struct opener){-1};
	c->memory.limit = INPUT_MEMORY_MAX;
	return c;
}

int compare(const struct options *options, const struct inherited *inherited)
{
	const struct log log = {.level = options->level};
	struct comparing *c = new_comparing(&log, options);
	struct identity identity;
	int status, err = identity_find(&identity, options->as_root);

	if (!c)
		return EXIT_PROFILER_FAILED;
	if (!err)
		err = opener_become_user(&c->opener, options->open, &identity, inherited);
	status = err ? log_failure(&c->log, "cannot become the user that called sudo: %s",
				   strerror(-err))
		     : read_and_compare(c, &identity);
	opener_release(&c->opener);
	free(c);
	return status;
}

/* ---- --baseline ---- */

/* Reads captures, which are called `what` in messages. */
static bool read_captures(struct comparing *c, const struct run_files *files, const char *folder,
			  const char *what)
{
	c->before = files->count;
	if (!read_inputs(c, files, folder))
		return false;
	for (uint32_t i = 0; i < c->count; i++)
		if (c->inputs[i].is_folded)
			return log_error(
				&c->log,
				"%s is not a capture (%s are written with -o FILE.profile)",
				c->inputs[i].path, what);
	return true;
}

static bool read_baselines(struct comparing *c, const char *folder)
{
	return read_captures(c, &c->options->baselines, folder, "baselines");
}

/*
 * Ends this process together with its parent: reading a FIFO may block. Returns false if the
 * parent has ended.
 */
static bool end_with_parent(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	return getppid() == parent;
}

bool compare_check_baselines(struct log *log, const struct options *o,
			     const struct identity *identity)
{
	const pid_t parent = getpid();
	struct comparing *c;
	pid_t pid;
	int status;

	if (o->baselines.count == 0)
		return true;
	pid = fork();
	if (pid == 0) {
		/* timelines are not needed: nothing is written */
		struct options whole = *o;

		whole.view = (struct view_options){.by = {.count = 0}};
		c = new_comparing(log, &whole);
		_exit(c && privilege_become_user(identity, false) == 0 &&
				      privilege_drop_all() == 0 && end_with_parent(parent) &&
				      read_baselines(c, NULL)
			      ? 0
			      : EXIT_PROFILER_FAILED);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			pid = -1;
	if (pid > 0 && WIFEXITED(status))
		return WEXITSTATUS(status) == 0;
	return log_error(log, "the baseline could not be read");
}

static int report_baselines(struct comparing *c, const struct result *after,
			    struct comparison *comparison)
{
	const struct input *first = &c->inputs[0];

	for (uint32_t i = 0; i < c->count; i++)
		warn_of_losses(&c->log, c->inputs[i].path, c->inputs[i].result);
	warn_of_losses(&c->log, "this run", after);
	warn_of_measures(&c->log, after, first->result, first->path);
	log_line(&c->log, "Compared with %s%s:", first->path, c->count > 1 ? " and others" : "");
	changes_report(&c->log, comparison, c->options->report ? LINES : BASELINE_LINES,
		       top_width(WIDTH));
	return gates_check(&c->log, &c->options->gates, comparison);
}

bool compare_with(struct log *log, const struct options *o, const char *path,
		  const struct result *result, const struct outputs *outputs,
		  int (*use)(void *context, const struct comparison *comparison), void *context,
		  int *used)
{
	const struct run_files other = {.paths = {path}, .count = 1};
	char folder[OUTPUTS_FOLDER_BYTES];
	struct comparing *c = new_comparing(log, o);
	struct comparison *comparison = NULL;
	bool is_made;

	if (!c)
		return log_error(log, "out of memory");
	open_outputs_folder(outputs, folder);
	if (read_captures(c, &other, timeline_folder(log, folder), "captures"))
		comparison = make_comparison(c, result,
					     (struct comparison_options){.shown = SIDE_AFTER});
	if (comparison)
		*used = use(context, comparison);
	is_made = comparison;
	comparison_free(comparison);
	release_inputs(c);
	free(c);
	return is_made;
}

int compare_with_baselines(struct log *log, const struct options *o, const struct result *result,
			   const struct outputs *outputs)
{
	char folder[OUTPUTS_FOLDER_BYTES];
	struct comparing *c;
	struct comparison *comparison = NULL;
	int status = EXIT_PROFILER_FAILED;

	if (o->baselines.count == 0)
		return 0;
	c = new_comparing(log, o);
	if (!c)
		return log_failure(log, "out of memory");
	open_outputs_folder(outputs, folder);
	if (read_baselines(c, timeline_folder(log, folder)))
		comparison = make_comparison(c, result,
					     (struct comparison_options){.shown = SIDE_AFTER});
	if (comparison)
		status = report_baselines(c, result, comparison);
	comparison_free(comparison);
	release_inputs(c);
	free(c);
	return status;
}
