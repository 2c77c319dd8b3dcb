// SPDX-License-Identifier: MIT
#include "profiler/report/changes.h"

#include <math.h>
#include <stdio.h>
#include "profiler/model/quantity.h"
#include "profiler/report/top.h"

#define NAME_WIDTH_MIN 19
#define COLUMNS_WIDTH 61 /* columns before the names */
#define NOTE_BYTES 96
#define LENGTH_NOTE_BYTES 256

const char *changes_amount(char text[CHANGES_TEXT_BYTES], const struct comparison *c,
			   const struct change *change, double amount)
{
	if (change->unit == CHANGE_OF_BYTES)
		return bytes_text(text, (uint64_t)amount);
	if (change->unit == CHANGE_OF_TIME && !c->is_weights)
		return time_text(text, amount);
	snprintf(text, CHANGES_TEXT_BYTES, "%.0f", amount);
	return text;
}

const char *changes_total_name(enum comparison_total total)
{
	static const char *const names[COMPARISON_TOTALS] = {
		[TOTAL_GPU] = "GPU time",
		[TOTAL_CPU] = "CPU time",
		[TOTAL_WAITING] = "waiting, and timed calls",
		[TOTAL_IDLE] = "time of idle GPUs",
		[TOTAL_API] = "time in CUDA calls",
		[TOTAL_WALL] = "time of the run",
		[TOTAL_PEAK] = "memory at the peak",
		[TOTAL_LEFT] = "memory never freed",
		[TOTAL_ERRORS] = "CUDA calls that failed"};

	return names[total];
}

/*
 * Explains differing lengths of the runs, or that times are scaled. Returns false if neither
 * applies.
 */
static bool length_note(char note[LENGTH_NOTE_BYTES], const struct comparison *c)
{
	enum comparison_total total;
	char before[CHANGES_TEXT_BYTES], after[CHANGES_TEXT_BYTES];

	if (c->is_normalized) {
		snprintf(note, LENGTH_NOTE_BYTES,
			 "Shares are compared (--normalize): times below the totals are scaled to "
			 "the same total of each kind (CPU, GPU), that after");
		return true;
	}
	if (!comparison_differs_in_length(c, &total))
		return false;
	snprintf(note, LENGTH_NOTE_BYTES,
		 "The runs differ in length (%s: %s before, %s after), and each row with them; if "
		 "one did more work, --normalize compares shares",
		 changes_total_name(total),
		 changes_amount(before, c, &c->totals[total], c->totals[total].before),
		 changes_amount(after, c, &c->totals[total], c->totals[total].after));
	return true;
}

#define CLOCK_MIN 1.0 /* percent: smaller differences are no news */

/*
 * Warns if the clocks of GPUs may explain half of the change of the GPU time, or more. Kernels take
 * as much longer as clocks are lower, at most.
 */
static void warn_of_clocks(struct log *log, const struct comparison *c)
{
	const struct change *gpu = &c->totals[TOTAL_GPU];
	double before = c->sm_mhz[SIDE_BEFORE], after = c->sm_mhz[SIDE_AFTER];
	double by = before > 0 ? (after / before - 1) * 100 : 0;
	char changed[32] = "is the same";

	if (before <= 0 || after <= 0 || gpu->before <= 0 || gpu->after <= 0 ||
	    fabs(by) < CLOCK_MIN ||
	    fabs(log2(after / before)) < fabs(log2(gpu->after / gpu->before)) / 2)
		return;
	if (gpu->after != gpu->before)
		snprintf(changed, sizeof(changed), "changed by %+.1f %%",
			 (gpu->after / gpu->before - 1) * 100);
	log_warn(log,
		 "the SM clock was %.0f MHz before and %.0f MHz after (%+.1f %%), while GPUs had "
		 "work: GPU time, which %s, depends on it; compare at one clock",
		 before, after, by, changed);
}

static void print_change(struct log *log, const struct comparison *c, const struct change *change,
			 const char *word, const char *name, unsigned int width, const char *note)
{
	char before[CHANGES_TEXT_BYTES], after[CHANGES_TEXT_BYTES], by[CHANGES_TEXT_BYTES + 1],
		percent[32] = "", bound[CHANGES_TEXT_BYTES] = "unknown";
	double difference = change_difference(change);
	struct top_name shown = top_name(name, width);

	changes_amount(before, c, change, change->before);
	changes_amount(after, c, change, change->after);
	by[0] = difference < 0 ? '-' : '+';
	changes_amount(by + 1, c, change, fabs(difference));
	if (change->before > 0 && fabs(difference) < 1000 * change->before)
		snprintf(percent, sizeof(percent), "%+.1f %%", difference / change->before * 100);
	if (change->has_bound)
		changes_amount(bound, c, change, change->bound);
	log_row(log, "%10s %10s %11s %8s %10s  %-5s %s%.*s%s%s", before, after, by, percent, bound,
		word, shown.before, shown.bytes, shown.text, shown.after, note);
}

/* Returns the word for the verdict, or "" if the numbers show the verdict already. */
static const char *word_of(const struct change *change)
{
	enum change_verdict verdict = change_verdict(change);

	return verdict == CHANGED_PERHAPS || verdict == CHANGED_TO_MORE ||
			       verdict == CHANGED_TO_LESS
		       ? ""
		       : change_verdict_word(verdict);
}

/* Explains how a kernel was matched, unless by its name. */
static const char *note_of(char note[NOTE_BYTES], const struct comparison_entry *e)
{
	note[0] = '\0';
	if (e->matched_by != MATCHED_BY_NAME)
		snprintf(note, NOTE_BYTES, "  (by %s: %llu variant%s before, %llu after)",
			 comparison_match_word(e->matched_by),
			 (unsigned long long)e->variants[SIDE_BEFORE],
			 e->variants[SIDE_BEFORE] == 1 ? "" : "s",
			 (unsigned long long)e->variants[SIDE_AFTER]);
	return note;
}

static void print_rest(struct log *log, const struct comparison_table *t, uint32_t shown)
{
	uint32_t beyond = 0;

	for (uint32_t i = shown; i < t->count; i++)
		beyond += t->entries[i].change.is_significant;
	if (t->count > shown)
		log_row(log, "%55s(%u more, %u significant)", "", t->count - shown, beyond);
}

static void print_table(struct log *log, const struct comparison *c,
			const struct comparison_table *t, const char *title, uint32_t lines,
			unsigned int width)
{
	uint32_t shown =
		t->count <= lines + 1 ? t->count : lines; /* a rest of one row is shown itself */

	if (t->count == 0)
		return;
	log_row(log, "%10s %10s %11s %8s %10s  %5s %s", "before", "after", "difference", "",
		"noise", "", title);
	for (uint32_t i = 0; i < shown; i++) {
		const struct comparison_entry *e = &t->entries[i];
		char note[NOTE_BYTES];

		print_change(log, c, &e->change, word_of(&e->change), frame_report_name(e->frame),
			     width, note_of(note, e));
	}
	print_rest(log, t, shown);
}

void changes_report(struct log *log, const struct comparison *c, uint32_t lines, unsigned int width)
{
	static const char *const titles[COMPARISON_TABLES] = {
		[COMPARED_KERNELS] = "GPU kernel",
		[COMPARED_COPIES] = "other GPU work",
		[COMPARED_SITES] = "launched by",
		[COMPARED_FUNCTIONS] = "function, own time",
		[COMPARED_WAITS] = "waiting, or timed calls, in",
		[COMPARED_CALLS] = "CUDA call",
		[COMPARED_SHAPES] = "launch shape",
		[COMPARED_PEAK] = "memory at the peak, allocated by",
		[COMPARED_LEFT] = "memory never freed, allocated by",
		[COMPARED_ERRORS] = "CUDA call that failed"};

	char note[LENGTH_NOTE_BYTES];

	width = width > COLUMNS_WIDTH + NAME_WIDTH_MIN ? width - COLUMNS_WIDTH : NAME_WIDTH_MIN;
	if (c->is_weights)
		log_line(log, "Folded stacks have no unit: these are weights as given, taken as "
			      "counts of samples");
	if (length_note(note, c))
		log_line(log, "%s", note);
	warn_of_clocks(log, c);
	log_row(log, "%10s %10s %11s %8s %10s  %5s total", "before", "after", "difference", "",
		"noise", "");
	for (int i = 0; i < COMPARISON_TOTALS; i++) {
		const struct change *change = &c->totals[i];

		if (change->before > 0 || change->after > 0)
			print_change(log, c, change, word_of(change),
				     changes_total_name((enum comparison_total)i), width, "");
	}
	for (int i = 0; i < COMPARISON_TABLES; i++)
		print_table(log, c, &c->tables[i], titles[i], lines, width);
}
