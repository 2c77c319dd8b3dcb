/* SPDX-License-Identifier: MIT */
/*
 * Declares the output formats.
 *
 * A format is a file of its own, which turns a result into bytes, and one constant here.
 * output/writers.h lists the formats.
 */
#ifndef PROFILER_FORMATS_WRITER_H
#define PROFILER_FORMATS_WRITER_H

#include <stdbool.h>
#include <stdio.h>
#include "profiler/model/result.h"

struct comparison;
struct query;
struct span_options;
struct writer_options {
	double unit_ns;      /* ns per unit, for formats that count units */
	bool root_at_bottom; /* in pictures; else at the top */
	const char *service; /* name of the profiled service; NULL: unknown */
	bool has_few_labels; /* pprof: only labels with few values: kind and device */
	/* Makes folded stacks and pictures show differences; NULL: the result is one run. */
	const struct comparison *comparison;
	const struct span_options *spans; /* span_maker.h; for formats that are spans */
	const struct query *query;        /* query.h; for an answer */
};

struct writer {
	const char *name, *suffix; /* the suffix selects the format: ".folded" */
	const char *other_suffix;  /* a second one, which other programs use; NULL: none */
	const char *item;          /* noun for what is counted: "stack" */
	bool has_units;            /* counts in options.unit_ns; else in ns */
	bool keeps_all;            /* gets the whole result, whatever view the user chose */
	bool has_both_names;       /* shows full and short names */
	bool shows_weights;        /* can show weights other than time (result.h) */
	bool shows_findings;       /* shows result.findings */
	bool is_timeline;          /* shows single operations, and no sums */
	unsigned int needs;        /* enum writer_needs */
	/* A smaller format with equal contents, for files that readers of this one refuse. */
	const struct writer *smaller;
	uint64_t readable_bytes; /* largest file that readers accept; 0: any size */
	/* Returns 0, or -errno. The caller also flushes `out` and checks it for errors. */
	int (*write)(const struct result *result, const struct writer_options *options, FILE *out,
		     struct written *written);
};

/* Returns the extension of a path, from the last dot of the file name on, or "". */
const char *path_extension(const char *path);

/* Returns whether a path ends with the suffix, ignoring case. No path ends with NULL. */
bool has_suffix(const char *path, const char *suffix);

/* The capture of a run, from which --from writes all other formats: capture.h. */
extern const struct writer capture_writer;

/*
 * Brendan Gregg's folded stacks, sorted: "root;caller;callee weight", the input of flamegraph.pl.
 * A comparison has two weights, before and after, in ns or as given: the form of difffolded.pl.
 */
extern const struct writer folded_writer;

/*
 * The flame graph as an SVG picture for browsers: callers above callees, all kinds of time
 * together. It is complete without its script, which adds zoom, search and details. In a
 * comparison, colours show how each frame changed.
 */
extern const struct writer svg_writer;

/* The gzipped profile.proto of pprof: the input of `go tool pprof` and of many servers. */
extern const struct writer pprof_writer;

/* OpenTelemetry profiles: otlp_profiles.h. */
extern const struct writer otlp_profiles_writer;

/*
 * The JSON of speedscope: one profile of everything, then one for each thread and each stream of
 * a device. Samples are in order of time where that is known.
 */
extern const struct writer speedscope_writer;

/* The timeline of the run, for ui.perfetto.dev: docs/timelines.md. */
extern const struct writer perfetto_writer;

/* The timeline in the JSON of chrome://tracing, which has less, but which many programs read. */
extern const struct writer chrome_writer;

/* One or two pages of Markdown, for a pull request or a language model. */
extern const struct writer markdown_writer;

/* The answer to a question about a run that goes on: query.h. No name selects it. */
extern const struct writer answer_writer;

/* Sums and losses as JSON for other programs: docs/summary-format.md. */
extern const struct writer json_summary_writer;

/* A comparison as JSON for other programs: docs/diff-format.md. */
extern const struct writer json_difference_writer;

/*
 * A report for browsers, in one file that needs no network: flame graphs, tables and the run's
 * totals, by process, thread, device and stream. A comparison has amounts before and after.
 */
extern const struct writer html_writer;

#endif
