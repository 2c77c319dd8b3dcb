/* SPDX-License-Identifier: MIT */
/*
 * Whether a program became too slow: --fail-above and --fail-on, checked on a comparison with a
 * baseline.
 *
 * A time fails if it rose by more than the limit and by more than its noise (rise.h), which the
 * runs before tell. Entries that match a pattern count together. Of functions on the CPU, own or
 * total time can be chosen. CPU time of whole runs is that which the kernel charged
 * (comparison.h).
 *
 * Where the noise is above the limit, a line says what would show such a rise: a higher rate of
 * samples, longer runs, or more baselines. One baseline does not show how runs differ: a line says
 * so where a time fails.
 */
#ifndef PROFILER_COMMANDS_GATE_H
#define PROFILER_COMMANDS_GATE_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include "profiler/base/log.h"
#include "profiler/tables/comparison.h"

#define GATES_MAX 16

/* What may fail: a total, or the entries of a table that match. */
struct gate {
	const char *text; /* "gpu", "kernel=gemm"; borrowed */
	bool has_pattern;
	bool is_total; /* of functions: with what they call */
	enum comparison_total total;
	enum comparison_tables table;
	regex_t pattern;
};

/* Zero-initialised has no limit. */
struct gates {
	const char *limit_text; /* "5%", "10ms"; borrowed; NULL: nothing fails */
	bool is_percent;
	enum change_unit unit; /* unless it is a percentage */
	double limit;          /* in percent, ns, bytes or errors */
	struct gate list[GATES_MAX];
	uint32_t count; /* 0: GPU time */
};

/*
 * "5%", "0.5%", "10ms", in one of the units ns, us, ms, s, KiB, MiB, GiB; "3 errors". False:
 * anything else.
 */
bool gates_parse_limit(const char *text, struct gates *gates);

/* False: `error` says why. */
#define GATE_ERROR_BYTES 200
bool gates_parse(const char *text, struct gates *gates, char error[GATE_ERROR_BYTES]);

/* False: the limit is none of what one of them compares, and `error` says so. */
bool gates_fit(const struct gates *gates, char error[GATE_ERROR_BYTES]);

void gates_release(struct gates *gates);

/*
 * 0; EXIT_SLOWER; or EXIT_PROFILER_FAILED if there is nothing to check. Each reason is one line
 * that -q does not hide; in GitHub's workflows, also an annotation.
 */
int gates_check(struct log *log, const struct gates *gates, const struct comparison *comparison);

#endif
