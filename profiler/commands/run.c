// SPDX-License-Identifier: MIT
#include "profiler/commands/run.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "profiler/base/command_text.h"
#include "profiler/base/exit_status.h"
#include "profiler/base/host_name.h"
#include "profiler/commands/compare.h"
#include "profiler/commands/control.h"
#include "profiler/commands/deliver.h"
#include "profiler/commands/open_outputs.h"
#include "profiler/commands/live.h"
#include "profiler/commands/metrics_file.h"
#include "profiler/commands/opener.h"
#include "profiler/commands/push_queue.h"
#include "profiler/commands/services.h"
#include "profiler/commands/snapshot.h"
#include "profiler/shape/result_naming.h"
#include "profiler/model/estimates.h"
#include "profiler/output/outputs.h"
#include "profiler/report/summary.h"
#include "profiler/run/exec_error.h"
#include "profiler/run/identity.h"
#include "profiler/run/privilege.h"
#include "profiler/run/session.h"
#include "profiler/run/supervisor.h"
#include "profiler/run/target.h"
#include "symbolize/util/text.h"

struct run {
	const struct options *options;
	const struct inherited *inherited;
	struct session_options session_options;
	struct identity identity;
	struct log log;
	struct outputs outputs;
	struct timeline *timeline;   /* NULL if no output needs records */
	struct timeline *idle_store; /* with --idle */
	struct live live;            /* with --live */
	struct metrics_file metrics; /* with --prometheus */
	struct opener opener;        /* with --open */
	struct span_export spans;    /* with --otlp */
	struct helper helper;        /* with GPU work, --otlp or --push */
	struct control control;      /* with --control */
	struct snapshots snapshots;
	struct options named;               /* --every: those of the last result */
	uint64_t turn_from_ns, turn_end_ns; /* --every: the current result; 0: not begun */
	uint64_t turn_copied_ns;            /* end of the result that a child writes */
	struct session *session;            /* NULL until the session runs */
	char *command, *folder,
		*host; /* strings of the totals; NULL until describe(), or if unknown */
};

/* ---- options of each part ---- */

static struct session_options session_options(const struct options *o)
{
	uint32_t mask = deliver_place_mask(o);
	struct measure measure = o->run.measure;

	measure.devices = measure.traces_gpu;
	measure.launch_shapes = o->launch_shapes;
	return (struct session_options){
		.command = measure.attached ? NULL : o->run.command,
		.attach = measure.attached ? &o->run.attach : NULL,
		.measure = measure,
		.counters = o->run.counters,
		.injection_lib = o->run.injection_lib,
		.cuda_libs = o->run.cuda_libs,
		.cuda_lib_count = o->run.cuda_lib_count,
		.record = o->run.record,
		.place_mask = mask,
		.is_controlled = o->run.control != NULL,
		.watches_load = o->run.live,
		.keeps_metrics = o->run.prometheus != NULL,
		.takes_turns = o->run.every != NULL,
		.draws_off_cpu = measure.wall && deliver_shows_timeline(o),
	};
}

/* Returns a description of the target for people. Returns NULL if out of memory. */
static char *shown_command(const struct options *o)
{
	return o->run.measure.attached ? attach_text(&o->run.attach) : command_text(o->run.command);
}

/* Returns the totals that are known from the start of the run. */
static struct totals describe(struct run *r)
{
	struct totals totals = session_totals(r->session);

	if (!r->command)
		r->command = shown_command(r->options);
	if (!r->folder)
		r->folder = getcwd(NULL, 0);
	if (!r->host)
		r->host = host_name();
	totals.command = r->command;
	totals.host = r->host;
	/* getcwd() returns no absolute path for a removed folder, or one of another root */
	totals.folder = r->folder && r->folder[0] == '/' ? r->folder : NULL;
	return totals;
}

/* ---- spans, while the run goes on ---- */

static void hand_over_spans(struct run *r, const struct collected *collected, uint64_t now_ns)
{
	const struct totals totals = describe(r);

	span_export_hand_over(&r->spans, collected, r->timeline, &totals, now_ns);
}

/* Listener of the timeline. Hands spans over when a batch is full. */
static void take_record(void *context, const struct timeline_record *record, uint64_t launched_ns)
{
	struct run *r = context;
	struct collected collected;

	if (!live_spans_take(r->spans.live, record, launched_ns))
		return;
	collected = collect_results(session_collect(r->session));
	hand_over_spans(r, &collected, 0);
}

/* ---- after the run ---- */

#define SHOWN_BYTES 128

/* Appends how exact GPU time is. */
static void append_estimate(char text[SHOWN_BYTES], const struct measure *m,
			    const struct result_tables *tables)
{
	const struct kernel_estimate *all = estimates_all(tables);

	if (!m->budget)
		return;
	append_text(text, SHOWN_BYTES, "%s--budget %g: ", *text ? ", " : "", m->budget / 1000.0);
	if (all && all->error_ns)
		append_text(text, SHOWN_BYTES, "GPU time estimated, +-%.2g %%",
			    100.0 * (double)all->error_ns / (double)all->ns);
	else
		append_text(text, SHOWN_BYTES, "too short for an estimate of GPU time");
}

/* Lists the options that limit the recorded part of the run. Returns NULL if there is none. */
static const char *part_of_run(const struct options *o, const struct result_tables *tables,
			       char text[SHOWN_BYTES])
{
	/* with attach, the session lasts as long as the recording, so nothing is left out */
	const char *delay = o->run.measure.attached ? NULL : o->run.delay;
	const char *duration = o->run.measure.attached ? NULL : o->run.duration;
	char ranges[MEASURE_RANGES_BYTES];
	const struct {
		const char *option, *argument;
	} parts[] = {{"--delay", delay},
		     {"-d", duration},
		     {"--last", o->run.last},
		     {"--every", o->run.every},
		     {"--range", o->run.ranges[0] ? ranges : NULL}};

	text[0] = '\0';
	measure_range_names(o->run.ranges, ranges, sizeof(ranges));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].argument)
			append_text(text, SHOWN_BYTES, "%s%s %.32s", *text ? " " : "",
				    parts[i].option, parts[i].argument);
	append_estimate(text, &o->run.measure, tables);
	return *text ? text : NULL;
}

/* Logs the last lines, and with -v the cost of the run's parts. */
static void report_cost(struct run *r, const struct totals *totals, const struct timespec *start,
			const struct ending *ending)
{
	struct log *log = &r->log;
	struct totals now = *totals;
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	session_note_cost(&now);
	if (r->helper.pid)
		now.own_cpu_ns += target_used_ns(r->helper.pid);
	summary_report_cost(log, &now);
	log_verbose(log, "%s used %.3f s of CPU in %.3f s; profile used %.3f s meanwhile",
		    totals->measure.attached ? "the processes" : "the command",
		    (double)totals->command_cpu_ns / 1e9, (double)totals->elapsed_ns / 1e9,
		    (double)totals->own_cpu_ns / 1e9);
	log_verbose(log,
		    "naming and writing took %.3f s; at most %" PRIu64 " MiB of memory were in use",
		    (double)(end.tv_sec - start->tv_sec) +
			    (double)(end.tv_nsec - start->tv_nsec) / 1e9,
		    now.own_memory_bytes >> 20);
	ending_close(log, ending, &now);
}

/*
 * Completes the timeline and copies its losses to the ledger. Returns false if the timeline is for
 * findings alone and incomplete: then nothing uses it.
 */
static bool finish_timeline(struct run *r, struct ledger *ledger)
{
	struct timeline_stats stats;

	if (!r->timeline)
		return true;
	timeline_finish(r->timeline);
	stats = timeline_stats(r->timeline);
	if (timeline_keeps(r->timeline) && stats.lost && !deliver_shows_timeline(r->options))
		return false;
	ledger->timeline = stats;
	return true;
}

/*
 * Writes the summary and the outputs of a run that ended with `status`. `is_copy`: the run goes on
 * in another process, which gets the signals. Returns the exit status.
 */
static int finish(struct run *r, struct session *session, int status, bool is_copy)
{
	const struct options *o = r->options;
	struct naming_options naming = {
		.raw_names = o->naming.raw_names,
		.inlines = o->naming.inlines,
		.debuginfod = o->naming.debuginfod,
		.sources = o->view.my_code,
		/* attached processes were not started here, and the end must be quick */
		.links = !o->run.measure.attached,
		.definitions = true};
	struct collected collected = collect_results(session_collect(session));
	struct place_names place_names = *collected.place_names;
	struct totals totals = describe(r);
	char part[SHOWN_BYTES];
	struct timespec start;
	struct ending ending = {.file_count = 0};
	struct result *result;
	bool wrote_metrics;
	int failed;

	if (!finish_timeline(r, collect_ledger(session_collect(session))))
		collected.timeline = NULL;
	if (r->spans.live)
		hand_over_spans(r, &collected, 0);
	wrote_metrics = metrics_file_end(&r->metrics, &collected);
	if (r->identity.keeps_root && !o->run.measure.attached)
		log_line(&r->log, "The command ran as root: --as-root");
	summary_report(&r->log, &totals.measure, &totals, collected.devices);
	summary_report_cut(&r->log, collected.cut, collected.symbolizer);
	if (o->naming.debuginfod)
		log_line(&r->log,
			 "Asking the servers in DEBUGINFOD_URLS for debug files, for 30 s at most");
	clock_gettime(CLOCK_MONOTONIC, &start);
	malloc_trim(0); /* memory of the run was freed in small pieces */
	totals.shown = part_of_run(o, collected.tables, part);
	totals.exit_status = (uint32_t)status;
	job_rank_find(&totals.job);
	totals.boot = boot_id();
	totals.wall_error_ns = wall_clock_error_ns();
	place_names.job = totals.job;
	collected.place_names = &place_names;
	result = result_new(&collected, &naming, &totals);
	if (!result)
		return log_failure(&r->log, "out of memory");
	failed = deliver(&r->log, o, &r->outputs, &r->opener, &r->spans, &r->helper,
			 is_copy ? NULL : session, result, collected.memory, &ending);
	result_free(result);
	if (o->run.record)
		log_line(
			&r->log,
			"Wrote the raw input of the run, for bug reports, to %s.pipe and %s.events",
			o->run.record, o->run.record);
	report_cost(r, &totals, &start, &ending);
	if (!failed && !wrote_metrics)
		failed = EXIT_PROFILER_FAILED;
	return failed ? failed : status;
}

/* ---- the run ---- */

static bool cannot_create_in(struct run *r, const char *folder)
{
	return log_error(
		&r->log, "cannot create a temporary file in %s: %s; choose another file with -o",
		folder[0] != '/' ? "the current folder" : "the folder of the output, or /tmp",
		strerror(errno));
}

/* Creates the store of idle times. Returns false after logging the reason. */
static bool open_idle_store(struct run *r)
{
	char folder[OUTPUTS_FOLDER_BYTES];

	if (!r->options->run.measure.idle)
		return true;
	open_outputs_folder(&r->outputs, folder);
	r->idle_store = timeline_new(folder, NULL);
	r->session_options.idle_store = r->idle_store;
	return r->idle_store || cannot_create_in(r, folder);
}

/*
 * Creates a timeline on disk. Returns false after logging the reason, if an output requires a
 * timeline.
 */
static bool open_kept_timeline(struct run *r)
{
	const struct timeline_limits few = {DELIVER_FINDINGS_RECORDS, TIMELINE_SHAPES};
	char folder[OUTPUTS_FOLDER_BYTES];

	open_outputs_folder(&r->outputs, folder);
	r->timeline = timeline_new(folder, deliver_shows_timeline(r->options) ? NULL : &few);
	if (r->timeline)
		return true;
	if (deliver_needs(r->options) & NEEDS_TIMELINE)
		return cannot_create_in(r, folder);
	log_verbose(&r->log, "the report has no times of single operations: %s", strerror(errno));
	return true;
}

/* Creates the timeline that keeps records for outputs, passes records on as spans, or both. */
static bool open_timeline(struct run *r)
{
	if (r->options->run.measure.budget)
		return true; /* it would be of windows only */
	if (deliver_wants(r->options) & NEEDS_TIMELINE && !open_kept_timeline(r))
		return false;
	if (r->spans.live && !r->timeline)
		r->timeline = timeline_new(NULL, NULL);
	if (r->spans.live && !r->timeline)
		return log_error(&r->log, "out of memory");
	if (r->spans.live)
		timeline_listen(r->timeline, take_record, r);
	r->session_options.timeline = r->timeline;
	r->session_options.is_for_findings =
		r->timeline && !deliver_shows_timeline(r->options) && !r->spans.live;
	return true;
}

/* ---- while it goes on ---- */

/*
 * Writes a snapshot, in a child process. Memory is the child's own; files and the terminal are
 * shared with the run.
 */
static int write_snapshot(struct run *r, uint64_t until_ns)
{
	char folder[OUTPUTS_FOLDER_BYTES];
	struct options options;
	int status = EXIT_PROFILER_FAILED;

	if (!snapshot_options(&options, r->options, &r->snapshots))
		return status;
	privilege_drop_all();
	r->options = &options;
	r->log.level = LOG_ERRORS;
	r->metrics.is_started = false; /* the thread exists in the parent only */
	r->spans.post = NULL;          /* the threads exist in the parent only */
	r->spans.live = NULL;
	if (r->timeline)
		timeline_listen(r->timeline, NULL, NULL);
	r->outputs = (struct outputs){0};
	if (open_outputs(&r->log, &options, &r->identity, NULL, &r->helper, &r->outputs) != 0)
		return status;
	open_outputs_folder(&r->outputs, folder);
	if ((!r->timeline || timeline_part(r->timeline, folder) == 0) &&
	    (!r->idle_store || timeline_part(r->idle_store, folder) == 0)) {
		session_complete_copy(r->session, until_ns);
		status = finish(r, r->session, 0, true);
	} else {
		cannot_create_in(r, folder);
	}
	outputs_cancel(&r->outputs);
	return status;
}

/*
 * Ends a result of --every, or, if it was not written, leaves its part of the run to the next one.
 */
static void end_turn(struct run *r, bool is_written)
{
	const uint64_t turn_ns = r->options->run.measure.last_ns;

	if (is_written) {
		session_take(r->session);
		r->turn_from_ns = r->turn_copied_ns;
	}
	if (r->turn_copied_ns >= r->turn_end_ns)
		r->turn_end_ns += ((r->turn_copied_ns - r->turn_end_ns) / turn_ns + 1) * turn_ns;
}

/* Returns the start of the current result of --every by the wall clock, for its name. */
static uint64_t turn_unix_ns(const struct run *r)
{
	const struct totals totals = session_totals(r->session);

	return totals.start_unix_ns + (r->turn_from_ns ? r->turn_from_ns - totals.start_ns : 0);
}

static void take_snapshot(struct run *r, uint64_t until_ns)
{
	int result;

	push_queue_prepare(r->options);
	r->snapshots.unix_ns = turn_unix_ns(r);
	result = snapshot_start(&r->snapshots);
	if (result == 0)
		_exit(write_snapshot(r, until_ns));
	if (result < 0) {
		log_warn(&r->log, "no snapshot: cannot start a process: %s", strerror(-result));
		r->turn_end_ns += r->options->run.measure.last_ns; /* with --every: a longer one */
	} else if (r->options->run.every && !r->snapshots.query.question) {
		session_note_copy(r->session, until_ns);
		r->turn_copied_ns = until_ns;
	}
}

/*
 * Schedules a snapshot. A result of --every has a second at least, since names tell times in
 * seconds.
 */
static void schedule(struct run *r, uint64_t moment_ns)
{
	struct snapshots *s = &r->snapshots;
	uint64_t least_ns = r->turn_from_ns + EVERY_LEAST_NS;

	if (r->options->run.every && !s->query.question && moment_ns < least_ns)
		moment_ns = least_ns;
	s->moment_ns = moment_ns;
}

/*
 * Takes a snapshot, or schedules it. It answers a question unless that is "". With --last a
 * snapshot waits until all its records have arrived.
 */
static void request_snapshot(struct run *r, const struct session_view *view, const char *question)
{
	struct snapshots *s = &r->snapshots;

	if (!snapshot_is_possible(r->options))
		log_warn(&r->log,
			 "no snapshot: there is no output but standard output; name files with -o");
	else if (s->child || s->moment_ns)
		log_warn(&r->log, "no snapshot: number %u is still being written",
			 s->count + (s->moment_ns != 0));
	else if (!snapshot_ask(s, &r->log, question))
		return;
	else if (r->options->run.measure.last_ns)
		schedule(r, view->now_ns);
	else
		take_snapshot(r, view->now_ns);
}

/* Returns whether the current result should end before its time: there is no memory for it. */
static bool is_full(const struct run *r, const struct session_view *view)
{
	return view->now_ns - r->turn_from_ns >= EVERY_LEAST_NS && view->collected.kept &&
	       flight_recorder_bytes(view->collected.kept) >= FLIGHT_RECORDER_BYTES / 4 * 3;
}

/*
 * Schedules results of --every. A due one waits until the one before is written. It then ends at
 * the latest end that has passed, so that results do not fall behind.
 */
static void schedule_turn(struct run *r, const struct session_view *view)
{
	const uint64_t turn_ns = r->options->run.measure.last_ns, now_ns = view->now_ns;
	struct snapshots *s = &r->snapshots;

	if (s->child || s->moment_ns || (now_ns < r->turn_end_ns && !is_full(r, view)))
		return;
	snapshot_ask(s, &r->log, "");
	schedule(r,
		 now_ns < r->turn_end_ns ? now_ns : now_ns - (now_ns - r->turn_end_ns) % turn_ns);
}

static void begin_turns(struct run *r, const struct session_view *view)
{
	r->turn_from_ns = view->start_ns;
	r->turn_end_ns = view->now_ns + r->options->run.measure.last_ns;
}

static void take_pending_snapshot(struct run *r, const struct session_view *view)
{
	uint64_t moment_ns = r->snapshots.moment_ns;
	uint64_t age_ns = view->now_ns > moment_ns ? view->now_ns - moment_ns : 0;

	if (!moment_ns || (!view->is_over && age_ns < SNAPSHOT_TIMEOUT_NS &&
			   (age_ns < SNAPSHOT_GRACE_NS || !view->has_read_all)))
		return;
	r->snapshots.moment_ns = 0;
	if (moment_ns > view->now_ns) /* the last result has it all */
		return;
	take_snapshot(r, moment_ns);
}

static void stop(struct run *r)
{
	if (r->options->run.measure.wall || r->options->run.measure.idle)
		log_warn(&r->log,
			 "stop: not with --wall or --idle; take a snapshot, or end the command");
	else
		session_stop(r->session);
}

static void start(struct run *r)
{
	switch (session_begin_time_range(r->session)) {
	case 0:
		log_line(&r->log, "Recording begins");
		break;
	case -EALREADY:
		log_warn(&r->log, "start: recording has already started");
		break;
	default:
		log_warn(&r->log, "start: recording has ended; a run can be recorded only once");
	}
}

/* Reports the last snapshot once it has ended; waits for the end if `waits`. */
static void end_snapshot(struct run *r, bool waits)
{
	bool was_writing = r->snapshots.child;

	session_discount_child(r->session, snapshot_end(&r->snapshots, &r->log, r->options, waits));
	if (!was_writing || r->snapshots.child || !r->options->run.every ||
	    r->snapshots.query.question)
		return;
	end_turn(r, !r->snapshots.has_failed);
	push_queue_settle(&r->log, r->options);
}

/* Handles commands from --control, and signals. `view` is NULL until the recording begins. */
static void handle_control(struct run *r, const struct session_view *view)
{
	enum control_command command;
	const char *argument;

	if (view)
		end_snapshot(r, false);
	if (view && r->options->run.every && !r->turn_end_ns)
		begin_turns(r, view);
	command = control_next(&r->control, &r->log, &argument);
	if (command == CONTROL_START)
		start(r);
	else if (command != CONTROL_NONE && !view)
		log_warn(&r->log, "nothing is recorded yet: write `start`, or press Ctrl-C");
	else if (command == CONTROL_SNAPSHOT || command == CONTROL_QUERY)
		request_snapshot(r, view, argument);
	else if (command == CONTROL_STOP)
		stop(r);
	if (!view)
		return;
	if (view->asks_snapshot)
		request_snapshot(r, view, "");
	if (r->options->run.every && !view->is_over)
		schedule_turn(r, view);
	take_pending_snapshot(r, view);
	if (r->options->run.every && view->is_over)
		end_snapshot(r, true); /* the last result has what is not written */
}

/*
 * Opens the files of the last result of --every, which are named like those before. Returns 0, or
 * an exit status after logging the reason.
 */
static int name_last_result(struct run *r)
{
	struct options *named = &r->named;

	push_queue_prepare(r->options);
	*named = *r->options;
	if (!snapshot_name_outputs(named, r->snapshots.count + 1, turn_unix_ns(r)))
		return log_failure(&r->log, "out of memory");
	outputs_cancel(&r->outputs);
	r->options = named;
	return open_outputs(&r->log, named, &r->identity, NULL, &r->helper, &r->outputs);
}

/*
 * Waits for the command after the duration of -d. `status` is 0, or the failure of the outputs.
 */
static int await_command(struct run *r, struct session *session,
			 const struct supervisor_link *supervisor, int status)
{
	int command_status;

	supervisor_report_written(supervisor);
	log_line(&r->log, "The command goes on; profile ends when it does");
	timeline_free(r->timeline);
	r->timeline = NULL;
	command_status = session_await(session);
	return status ? status : command_status;
}

/* Becomes the user and runs the session. privilege.h has the table of privileges. */
static int run_as_user(struct run *r, struct session *session,
		       const struct supervisor_link *supervisor)
{
	const struct outputs_timeout timeout = {supervisor,
						r->options->run.measure.attached
							? "recording begins when there is one"
							: "the command starts when there is one"};
	const char *other;
	int status, exit_status = 0,
		    err = privilege_become_user(&r->identity, r->options->run.measure.injects);

	if (err)
		return log_failure(&r->log, "cannot become %s: %s; use --as-root",
				   r->identity.shown, strerror(-err));
	supervisor_report_user(supervisor);
	other = r->options->run.every ? snapshot_no_file(r->options) : NULL;
	if (other)
		return log_failure(&r->log, "--every writes many files, and '%s' is none", other);
	status = open_outputs(&r->log, r->options, &r->identity, &timeout, &r->helper, &r->outputs);
	if (status)
		return status;
	if (r->options->run.prometheus &&
	    !metrics_file_start(&r->metrics, &r->log, r->options->run.prometheus)) {
		outputs_cancel(&r->outputs);
		return EXIT_PROFILER_FAILED;
	}
	r->session = session;
	status = span_export_open(&r->spans, &r->log, r->options, &r->identity, &r->helper,
				  session) &&
				 open_timeline(r) && open_idle_store(r) &&
				 (!r->options->run.control ||
				  control_open(&r->control, &r->log, r->options->run.control))
			 ? session_run(session, outputs_take_stdout(&r->outputs), &exit_status)
			 : EXIT_PROFILER_FAILED;
	control_close(&r->control);
	end_snapshot(r, true);
	if (r->options->run.live)
		live_end(&r->live);
	if (!status) {
		supervisor_report_writing(supervisor);
		privilege_drop_all();
		if (r->options->run.every)
			status = name_last_result(r);
		status = status ? status : finish(r, session, exit_status, false);
		if (!status && r->snapshots.inexact)
			status = EXIT_NOT_EXACT;
		if (session_goes_on(session))
			status = await_command(r, session, supervisor, status);
	}
	metrics_file_end(&r->metrics, NULL);
	span_export_close(&r->spans);
	outputs_cancel(&r->outputs);
	return status;
}

static int work(const struct supervisor_link *supervisor, void *context)
{
	struct run *r = context;
	struct session *session;
	int status, err;

	/* must start before anything that needs privilege is open */
	err = services_start(&r->helper, r->options, &r->identity);
	if (err)
		return log_failure(&r->log, "cannot start a process: %s", strerror(-err));
	if (r->options->run.measure.traces_gpu)
		r->session_options.gpu_states = services_gpu_states(&r->helper);
	session = session_new(&r->session_options, r->inherited, supervisor, &r->log);
	if (!session) {
		log_error(&r->log, "out of memory");
		helper_end(&r->helper);
		return EXIT_PROFILER_FAILED;
	}
	privilege_raise_limits();
	status = session_open(session);
	if (!status)
		status = run_as_user(r, session, supervisor);
	if (r->options->run.live)
		live_end(&r->live);
	helper_end(&r->helper);
	session_free(session);
	timeline_free(r->timeline);
	timeline_free(r->idle_store);
	free(r->command);
	free(r->folder);
	free(r->host);
	return status;
}

/* Returns whether snapshots, or the end of the recording, can be requested. */
static bool is_controllable(const struct options *o)
{
	return o->run.control || o->run.measure.last_ns || o->run.measure.attached;
}

static void watch_round(void *context, const struct session_view *view)
{
	struct run *r = context;

	if (!view) {
		handle_control(r, NULL);
		return;
	}
	if (r->options->run.live)
		live_update(&r->live, view);
	if (span_export_is_due(&r->spans, view->now_ns))
		hand_over_spans(r, &view->collected, view->now_ns);
	if (is_controllable(r->options))
		handle_control(r, view);
	metrics_file_update(&r->metrics, &view->collected, view->now_ns);
}

/*
 * Sets the session's watcher, and starts the display of --live. Returns NULL without a display to
 * supervise.
 */
static const struct supervisor_display *start_live(struct run *r)
{
	char *command;

	if (r->options->run.live || r->options->run.prometheus || is_controllable(r->options) ||
	    span_export_is_live(r->options))
		r->session_options.watcher = (struct session_watcher){watch_round, r};
	if (!r->options->run.live)
		return NULL;
	command = shown_command(r->options);
	live_start(&r->live, &r->options->run.measure,
		   deliver_needs(r->options) & NEEDS_TIMELINE || r->options->span_server,
		   &r->identity, command);
	free(command);
	return r->live.display.pid > 0 ? &r->live.display : NULL;
}

static bool check_debuginfod(struct run *r)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (!r->options->naming.debuginfod)
		return true;
	if (r->identity.keeps_root)
		log_error(&r->log, "--debuginfod is not for root on behalf of another user: not "
				   "with --as-root");
	else if (!urls || !*urls)
		log_error(&r->log,
			  "--debuginfod asks the servers in DEBUGINFOD_URLS, which is not set");
	else
		return true;
	return false;
}

static int supervise(struct run *r)
{
	int status,
		err = r->options->open ? opener_start(&r->opener, &r->identity, r->inherited) : 0;

	if (err)
		return log_failure(&r->log, "cannot start a process: %s", strerror(-err));
	status = supervisor_run(&r->log, &r->identity, start_live(r), work, r);
	opener_release(&r->opener);
	return status;
}

/*
 * Warns if an option for an output seems to stand behind the command. The words may also be meant
 * for the command.
 */
static void hint_at_misplaced_output(struct log *log, const struct options *o)
{
	char *const *output = options_misplaced_output(o);
	size_t count = 0, at, length;
	char **words, *line = NULL;

	/* exec_error explains a mistyped subcommand itself */
	if (!output || exec_error_is_subcommand(o->run.command[0]))
		return;
	while (o->run.command[count])
		count++;
	words = calloc(count + 1, sizeof(*words));
	if (!words)
		return;
	at = (size_t)(output - o->run.command);
	length = strchr(output[0], '.')
			 ? 1
			 : 2; /* the file is joined to the option, or is the next word */
	memcpy(words, output, length * sizeof(*words));
	memcpy(words + length, o->run.command, at * sizeof(*words));
	memcpy(words + length + at, output + length, (count - at - length) * sizeof(*words));
	line = command_text(words);
	if (line)
		log_warn(log,
			 "%s%s%s follows the command, so it is passed to the command; to set "
			 "profile's output write: profile [options] %s",
			 output[0], length == 2 ? " " : "", length == 2 ? output[1] : "", line);
	free(line);
	free(words);
}

static void report_dropped(struct log *log, const struct dropped_environment *dropped)
{
	char names[512];

	dropped_environment_names(dropped, names, sizeof(names));
	if (dropped->count)
		log_verbose(log,
			    "the dynamic loader dropped %s, for the file of profile has "
			    "capabilities; the command has them again",
			    names);
}

int run(const struct options *options, const struct inherited *inherited)
{
	struct run r = {.options = options,
			.inherited = inherited,
			.session_options = session_options(options),
			.log.level = options->level,
			.control = {.fd = -1, .place = {.folder = -1, .found = -1}},
			.opener = {-1}};

	switch (identity_find(&r.identity, options->as_root)) {
	case 0:
		report_dropped(&r.log, &inherited->dropped);
		if (r.identity.lookup_error)
			log_warn(&r.log,
				 "looking up %s failed: %s; the command runs with group %u alone",
				 r.identity.shown, strerror(-r.identity.lookup_error),
				 r.identity.gid);
		hint_at_misplaced_output(&r.log, options);
		if (!check_debuginfod(&r) || !compare_check_baselines(&r.log, options, &r.identity))
			return EXIT_PROFILER_FAILED;
		return supervise(&r);
	case -EPERM:
		return log_failure(&r.log,
				   "must not be installed setuid or setgid; use sudo or setcap");
	default:
		return log_failure(
			&r.log,
			"SUDO_UID or SUDO_GID is not a number; unset them, or use --as-root");
	}
}
