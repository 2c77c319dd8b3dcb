// SPDX-License-Identifier: MIT
/* profile: run a command, and write where its time went on CPU and GPU. */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "profiler/session/identity.h"
#include "profiler/base/log.h"
#include "profiler/commands/options.h"
#include "profiler/output/output_file.h"
#include "profiler/report/summary.h"
#include "profiler/output/resolve.h"
#include "profiler/session/session.h"
#include "profiler/output/writer.h"

static double unit_ns(const struct options *o)
{
	switch (o->unit) {
	case UNIT_MICROSECONDS:
		return 1e3;
	case UNIT_NANOSECONDS:
		return 1;
	default:
		return 1e9 / o->frequency_hz;
	}
}

static int write_profile(const struct options *o, struct collect *c, struct output *output,
			 struct writer_result *result)
{
	struct resolve_input input = {
		.profile = c->profile,
		.stacks = c->stacks,
		.symbolizer = c->symbolizer,
		.strings = &c->strings,
		.sample_period_ns = 1e9 / o->frequency_hz,
		.raw_names = o->raw_names,
		.inlines = o->inlines,
	};
	struct writer_options writer_options;
	struct call_tree *tree = resolve(&input);
	FILE *stream;
	int err, end_err;

	if (!tree)
		return -ENOMEM;
	for (int k = 0; k < WEIGHT_KINDS; k++)
		writer_options.unit_ns[k] = unit_ns(o);
	stream = output_begin(output);
	if (!stream) {
		err = -errno;
	} else {
		err = folded_writer.write(tree, &writer_options, stream, result);
		end_err = output_end(output, stream);
		if (!err)
			err = end_err;
	}
	call_tree_free(tree);
	return err;
}

/* What naming and writing cost, for those who ask (-v). */
static void tell_cost(struct log *log, const struct timespec *start)
{
	struct rusage usage = {0};
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	getrusage(RUSAGE_SELF, &usage);
	log_verbose(log, "naming and writing took %.3f s; at most %ld MiB of memory were in use",
		    (double)(end.tv_sec - start->tv_sec) +
			    (double)(end.tv_nsec - start->tv_nsec) / 1e9,
		    usage.ru_maxrss / 1024);
}

static int run(const struct options *o, struct log *log, const struct identity *identity,
	       struct output *output)
{
	struct session *session = session_new(o, identity, log);
	struct session_stats stats;
	struct accounts accounts;
	struct writer_result result;
	struct timespec start;
	int status, exit_status = 0, err;

	if (!session) {
		log_error(log, "out of memory");
		return EXIT_PROFILER_FAILED;
	}
	status = session_run(session, &exit_status);
	if (status == 0) {
		stats = session_stats(session);
		accounts = accounts_of(stats.counted, stats.told);
		report_summary(log, o, &stats, &accounts, session_first_malformed(session));
		clock_gettime(CLOCK_MONOTONIC, &start);
		err = write_profile(o, session_collect(session), output, &result);
		tell_cost(log, &start);
		if (err) {
			log_error(log, "writing %s: %s", o->output, strerror(-err));
			status = EXIT_PROFILER_FAILED;
		} else {
			report_written(log, o, &result);
			status = exit_status;
			if (o->strict && !accounts_are_exact(log, &accounts, &stats))
				status = EXIT_NOT_EXACT;
		}
	} else {
		output_cancel(output);
	}
	session_free(session);
	identity_leave_files(identity);
	return status;
}

int main(int argc, char **argv)
{
	struct log log = {.level = LOG_NORMAL, .terminal = isatty(STDERR_FILENO)};
	struct options options;
	struct identity identity;
	struct output output;
	int err;

	switch (options_parse(argc, argv, &options)) {
	case OPTIONS_RUN:
		break;
	case OPTIONS_DONE:
		return 0;
	case OPTIONS_WRONG:
		return EXIT_PROFILER_FAILED;
	}
	log.level = options.level;
	if (identity_find(&identity, options.as_root) != 0) {
		log_error(&log,
			  "SUDO_UID or SUDO_GID is not a number; unset them, or use --as-root");
		return EXIT_PROFILER_FAILED;
	}
	err = output_open(&output, options.output, &identity);
	if (err) {
		log_error(&log, "cannot write %s: %s; give another file with -o", options.output,
			  strerror(-err));
		return EXIT_PROFILER_FAILED;
	}
	return run(&options, &log, &identity, &output);
}
