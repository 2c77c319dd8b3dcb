/* SPDX-License-Identifier: MIT */
/*
 * Checks --fail-above and --fail-on on a comparison with baselines.
 *
 * A value fails if it rose by more than the limit and by more than its noise (rise.h). Entries
 * that match a pattern are summed. Functions have own and total CPU time. The CPU time of whole
 * runs is the time charged by the kernel (comparison.h).
 *
 * If the noise exceeds the limit, a message suggests a higher sampling rate, longer runs, or more
 * baselines. If a time fails with one baseline, a message says that one baseline shows no noise
 * between runs.
 */
#ifndef PROFILER_COMMANDS_GATE_H
#define PROFILER_COMMANDS_GATE_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include "profiler/base/log.h"
#include "profiler/tables/comparison.h"

#define GATES_MAX 16

/* A value that may fail: a total, or the matching entries of a table. */
struct gate {
	const char *text; /* "gpu", "kernel=gemm"; borrowed */
	bool has_pattern;
	bool is_total; /* functions: total instead of own time */
	enum comparison_total total;
	enum comparison_tables table;
	regex_t pattern;
};

/* Zero-initialised: no limit. */
struct gates {
	const char *limit_text; /* "5%", "10ms"; borrowed; NULL: no limit */
	bool is_percent;
	enum change_unit unit; /* unit of an absolute limit */
	double limit;          /* in percent, ns, bytes or errors */
	struct gate list[GATES_MAX];
	uint32_t count; /* 0: the gate is GPU time */
};

/*
 * Parses a limit: "5%", "0.5%", "10ms" (ns, us, ms, s, KiB, MiB, GiB), "3 errors". Returns false
 * for any other text.
 */
bool gates_parse_limit(const char *text, struct gates *gates);

/* Parses and adds a gate. Returns false with the reason in `error`. */
#define GATE_ERROR_BYTES 200
bool gates_parse(const char *text, struct gates *gates, char error[GATE_ERROR_BYTES]);

/* Returns whether the unit of the limit fits all gates. Otherwise sets `error`. */
bool gates_fit(const struct gates *gates, char error[GATE_ERROR_BYTES]);

void gates_release(struct gates *gates);

/*
 * Checks all gates. Returns 0, EXIT_SLOWER, or EXIT_PROFILER_FAILED if a gate has no value. Logs
 * each reason, also with -q, and annotates it in GitHub workflows.
 */
int gates_check(struct log *log, const struct gates *gates, const struct comparison *comparison);

#endif
