/* SPDX-License-Identifier: MIT */
/*
 * Output formats: each a file of its own that turns a result into bytes, and one constant here;
 * output/writers.h lists them.
 */
#ifndef PROFILER_FORMATS_WRITER_H
#define PROFILER_FORMATS_WRITER_H

#include <stdbool.h>
#include <stdio.h>
#include "profiler/model/result.h"

struct comparison;
struct span_options;
struct writer_options {
	double unit_ns;      /* the unit, in formats that count */
	bool root_at_bottom; /* in pictures; otherwise at the top */
	const char *service; /* whose profile it is, in formats that say it; NULL: unknown */
	bool has_few_labels; /* in pprof: kind and device alone, which have few values */
	/* the result is that of a comparison: folded stacks and pictures show the differences;
	 * NULL: of one run */
	const struct comparison *comparison;
	const struct span_options *spans; /* spans.h; of formats that are spans */
};

struct writer {
	const char *name, *suffix; /* the suffix selects the format: ".folded" */
	const char *other_suffix;  /* which does, too: others use it for the format; NULL: none */
	const char *item;          /* what is counted: "stack" */
	bool has_units;            /* it counts in options.unit_ns; otherwise in ns */
	bool keeps_all;            /* it gets the result, however the user views it */
	bool has_both_names;       /* it shows short names as well */
	bool shows_weights;        /* it can show others than times (result.h) */
	unsigned int needs;        /* enum writer_needs */
	/* which format has the same in less room, where what reads this one has a limit */
	const struct writer *smaller;
	uint64_t readable_bytes; /* this limit; the writer then counts its bytes */
	/* 0 or -errno; the caller also flushes `out` and checks its errors. */
	int (*write)(const struct result *result, const struct writer_options *options, FILE *out,
		     struct written *written);
};

/* From the last dot of the path's name on; "": it has no extension. */
const char *path_extension(const char *path);

/* Returns whether a path has this suffix, in whatever case; NULL is no suffix. */
bool has_suffix(const char *path, const char *suffix);

/* The capture of a run, from which --from writes all others: capture.h. */
extern const struct writer capture_writer;

/*
 * Brendan Gregg's folded stacks: "root;caller;callee weight", sorted. The input of flamegraph.pl.
 * Of a comparison, with two weights, in ns or as given: before and after, as difffolded.pl writes.
 */
extern const struct writer folded_writer;

/*
 * The flame graph as a picture for browsers, in one file: callers above callees, all kinds of time
 * together. It is complete without its script, which adds zoom, search and details. Of a
 * comparison, colours show how each frame changed.
 */
extern const struct writer svg_writer;

/* The profile.proto of pprof, compressed: the input of `go tool pprof` and of many servers. */
extern const struct writer pprof_writer;

/* The profiles of OpenTelemetry: otlp_profiles.h. */
extern const struct writer otlp_profiles_writer;

/* The JSON of speedscope: all, then each thread and each stream of a device alone, in order of time
 * where that is known. */
extern const struct writer speedscope_writer;

/* When everything happened, for the timeline of ui.perfetto.dev: docs/timelines.md. */
extern const struct writer perfetto_writer;

/* The same, as far as it goes, in the JSON of chrome://tracing, which many programs read. */
extern const struct writer chrome_writer;

/* Sums and losses as data for other programs: docs/summary-format.md. */
extern const struct writer json_summary_writer;

/* What changed, as data for other programs: docs/diff-format.md. Of a comparison only. */
extern const struct writer json_difference_writer;

/* The same for browsers, with the differential picture. For comparisons alone. */
extern const struct writer html_difference_writer;

/*
 * A report for browsers, in one file that needs no network: flame graphs, tables and the run's
 * totals, by process, thread, device and stream.
 */
extern const struct writer html_writer;

#endif
