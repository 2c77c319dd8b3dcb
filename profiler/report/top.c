// SPDX-License-Identifier: MIT
#include "profiler/report/top.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "profiler/base/columns.h"
#include "profiler/model/quantity.h"
#include "profiler/report/strict.h"
#include "profiler/tables/busy.h"
#include "profiler/tables/hot_spots.h"
#include "symbolize/util/text.h"

#define LINES 10
#define GAPS 3
#define DEVICES 8
#define NAME_WIDTH_MIN 24
#define ELLIPSIS "\xe2\x80\xa6"
#define COLUMNS_WIDTH 52 /* columns before the names, at most */

/* ---- lines ---- */

static const char *rate_text(char text[24], const struct hot_spot *e)
{
	if (e->bytes == 0 || e->ns == 0)
		text[0] = '\0';
	else
		snprintf(text, 24, "%.2f GB/s", (double)e->bytes / (double)e->ns);
	return text;
}

int top_fitting(const char *name, unsigned int width)
{
	unsigned int taken;
	size_t all = strlen(name);

	if (columns_fit(name, width, &taken) == all)
		return (int)all;
	return (int)columns_fit(name, width > 0 ? width - 1 : 0, &taken);
}

/*
 * Returns the end of a name that fits behind an ellipsis, without outer scopes. Returns NULL if
 * none fits. A function's own name says more than its scopes.
 */
static const char *behind_scopes(const char *name, unsigned int width)
{
	unsigned int depth = 0; /* nesting of brackets */

	for (const char *at = name; *at; at++) {
		if (strchr("<([{", *at))
			depth++;
		else if (strchr(">)]}", *at) && depth > 0)
			depth--;
		else if (depth == 0 && at[0] == ':' && at[1] == ':' && at[2] &&
			 columns_of(at + 2) < width)
			return at + 2;
	}
	return NULL;
}

struct top_name top_name(const char *name, unsigned int width)
{
	int bytes = top_fitting(name, width);
	const char *tail = name[bytes] ? behind_scopes(name, width) : NULL;

	if (tail)
		return (struct top_name){ELLIPSIS, tail, (int)strlen(tail), ""};
	return (struct top_name){"", name, bytes, name[bytes] ? ELLIPSIS : ""};
}

enum columns {
	COLUMNS_WORK,    /* count, time, mean */
	COLUMNS_COPIES,  /* count, time, bytes per second */
	COLUMNS_SAMPLES, /* count, own time, total time with its share */
	COLUMNS_TIME     /* time */
};

/*
 * Prints a row of the CPU functions. The row of the rest has no total time, since total times
 * overlap.
 */
static void print_function(struct log *log, const struct hot_spot_table *t,
			   const struct hot_spot *e, const char *name, unsigned int width)
{
	char own[24], total[24] = "", percent[24] = "";
	struct top_name shown = top_name(name, width);

	time_text(own, (double)e->ns);
	if (e->frame) {
		time_text(total, (double)e->total_ns);
		snprintf(percent, sizeof(percent), "%.1f %%", percent_of(e->total_ns, t->whole.ns));
	}
	log_row(log, "  %8" PRIu64 " %11s %5.1f %% %11s %7s  %s%.*s%s", e->count, own,
		percent_of(e->ns, t->whole.ns), total, percent, shown.before, shown.bytes,
		shown.text, shown.after);
}

static void print_entry(struct log *log, const struct hot_spot_table *t, enum columns columns,
			const struct hot_spot *e, const char *name, unsigned int width)
{
	char number[24] = "", total[24], third[24] = "";
	struct top_name shown = top_name(name, width);

	if (columns == COLUMNS_SAMPLES) {
		print_function(log, t, e, name, width);
		return;
	}
	time_text(total, (double)e->ns);
	if (columns != COLUMNS_TIME)
		snprintf(number, sizeof(number), "%" PRIu64, e->count);
	if (columns == COLUMNS_COPIES)
		rate_text(third, e);
	else if (columns == COLUMNS_WORK)
		time_text(third, e->count ? (double)e->ns / (double)e->count : 0);
	log_row(log, "  %10s %12s %13s %5.1f %%   %s%.*s%s", number, total, third,
		percent_of(e->ns, t->whole.ns), shown.before, shown.bytes, shown.text, shown.after);
}

static void print_table(struct log *log, const struct hot_spot_table *t, const char *title,
			const char *note, enum columns columns, unsigned int width)
{
	struct hot_spot rest = t->whole; /* has no frame */
	uint32_t shown =
		t->count <= LINES + 1 ? t->count : LINES; /* a rest of one row is shown itself */
	char text[40];

	if (t->whole.count == 0 && t->whole.ns == 0)
		return;
	log_row(log, "%s%s", title, note);
	for (uint32_t i = 0; i < shown; i++) {
		const struct hot_spot *e = &t->list[i];

		print_entry(log, t, columns, e, frame_report_name(e->frame), width);
		rest.count -= e->count;
		rest.ns -= e->ns;
		rest.bytes -= e->bytes;
	}
	if (shown == t->count)
		return;
	snprintf(text, sizeof(text), "(%" PRIu32 " more)", t->count - shown);
	print_entry(log, t, columns, &rest, text, width);
}

unsigned int top_width(unsigned int otherwise)
{
	unsigned int columns = columns_of_terminal(STDERR_FILENO);

	return columns ? columns : otherwise;
}

bool top_is_on_terminal(void)
{
	return isatty(STDERR_FILENO);
}

/* ---- the run's times ---- */

#define LINE_BYTES 2048

/* Appends "3.214 s (37.3 %)". */
static void add_time(char line[LINE_BYTES], const char *before, uint64_t ns, uint64_t whole_ns)
{
	char time[24];

	append_text(line, LINE_BYTES, "%s%s (%.1f %%)", before, time_text(time, (double)ns),
		    percent_of(ns, whole_ns));
}

/* Returns whether the timeline lacks events, so that more may have happened. */
static bool lacks_events(const struct result *r)
{
	return r->totals.ledger->timeline.lost > 0;
}

static void add_busy(char line[LINE_BYTES], const struct busy *busy, uint64_t whole_ns, bool lacks)
{
	const char *least = lacks ? "at least " : "";

	if (busy->device_count == 1)
		add_time(line, lacks ? ", GPU busy at least " : ", GPU busy ", busy->ns, whole_ns);
	for (uint32_t i = 0; busy->device_count > 1 && i < busy->device_count && i < DEVICES; i++) {
		char label[DEVICE_LABEL_BYTES], before[DEVICE_LABEL_BYTES + 24];

		device_label(busy->devices[i].device, label);
		snprintf(before, sizeof(before), ", %s busy %s", label, least);
		add_time(line, before, busy->devices[i].ns, whole_ns);
	}
	if (busy->device_count > DEVICES)
		append_text(line, LINE_BYTES, ", %u more GPUs", busy->device_count - DEVICES);
}

bool top_goes_on(const struct totals *t)
{
	return t->measure.duration_ns &&
	       t->measure.delay_ns + t->measure.duration_ns < t->elapsed_ns;
}

/* Prints the times of the run. Shares refer to the shown time. */
static void print_times(struct log *log, const struct result *r, const struct hot_spots *d,
			const struct busy *busy)
{
	const struct totals *t = &r->totals;
	uint64_t gpu_ns = d->kernels.whole.ns + d->copies.whole.ns, from, to;
	char line[LINE_BYTES] = "";
	char time[24];

	result_time_range(r, &from, &to);
	append_text(line, LINE_BYTES, "The run took %s", time_text(time, (double)t->elapsed_ns));
	if (t->measure.samples_cpu ||
	    !(t->measure.attached || t->measure.alone)) /* the CPU time is known */
		add_time(line, "; CPU ", t->command_cpu_ns, t->elapsed_ns);
	if (t->shown) {
		if (!top_goes_on(t))
			log_line(log, "%s", line);
		line[0] = '\0';
		append_text(line, LINE_BYTES, "Shown with %.400s: %s", t->shown,
			    to - from == t->elapsed_ns && !top_goes_on(t)
				    ? "the whole run"
				    : time_text(time, (double)(to - from)));
	}
	if (busy)
		add_busy(line, busy, to - from, lacks_events(r));
	if (gpu_ns > 0 || d->kernels.whole.count + d->copies.whole.count > 0)
		append_text(line, LINE_BYTES, ", GPU work %s (sum)",
			    time_text(time, (double)gpu_ns));
	log_line(log, "%s", line);
}

static void print_gaps(struct log *log, const struct result *r, const struct busy *busy)
{
	struct busy_span gaps[GAPS];
	uint32_t count = busy_gaps(busy, r, gaps, GAPS);
	char line[LINE_BYTES] = "";
	uint64_t from, to;

	if (busy->span_count == 0 || count == 0)
		return;
	result_time_range(r, &from, &to);
	add_time(line, lacks_events(r) ? "No GPU worked for at most " : "No GPU worked for ",
		 to - from - busy->ns, to - from);
	if (lacks_events(r)) {
		append_text(line, LINE_BYTES, ": %" PRIu64 " events are missing from the timeline",
			    r->totals.ledger->timeline.lost);
		count = 0; /* a seeming gap may have lost events */
	}
	for (uint32_t i = 0; i < count; i++) {
		uint64_t start_ns = gaps[i].start - r->totals.start_ns;
		char length[24], start[24];

		time_text(length, (double)(gaps[i].end - gaps[i].start));
		time_text(start, (double)start_ns);
		append_text(line, LINE_BYTES, "%s%s %s%s", i ? ", " : "; longest: ", length,
			    start_ns ? "at " : "from the start", start_ns ? start : "");
	}
	log_line(log, "%s", line);
}

void top_report_cost(struct log *log, const struct totals *t)
{
	char line[LINE_BYTES] = "";

	if (t->measure.alone) {
		add_time(line, "The library used ", t->ledger->cost.program_ns, t->elapsed_ns);
		log_line(log, "%s of CPU in the program", line);
		return;
	}
	add_time(line, "While it ran, profile itself used ", t->own_cpu_ns, t->elapsed_ns);
	log_line(log, "%s of CPU and %.0f MiB of memory", line,
		 (double)t->own_memory_bytes / (1 << 20));
}

/* ---- all of it ---- */

static const struct {
	size_t table;
	enum columns columns;
	bool is_of_timeline;
	const char *title;
} tables[] = {
	{offsetof(struct hot_spots, kernels), COLUMNS_WORK, false,
	 "       calls         time          mean   share   GPU kernel"},
	{offsetof(struct hot_spots, copies), COLUMNS_COPIES, false,
	 "  operations         time          rate   share   other GPU work"},
	{offsetof(struct hot_spots, sites), COLUMNS_WORK, false,
	 "  operations         time          mean   share   launched by"},
	{offsetof(struct hot_spots, functions), COLUMNS_SAMPLES, false,
	 "   samples    own time   share  total time   share  function, on the CPU"},
	{offsetof(struct hot_spots, idle), COLUMNS_SAMPLES, true,
	 "   samples    own time   share  total time   share  function, while no GPU worked"},
	{offsetof(struct hot_spots, waits), COLUMNS_TIME, false,
	 "                     time                 share   waiting, or timed calls, in"},
	{offsetof(struct hot_spots, calls), COLUMNS_WORK, true,
	 "       calls         time          mean   share   CUDA call"},
};

void top_report(struct log *log, const struct result *result, unsigned int width)
{
	struct hot_spots *d = hot_spots_new(result);
	struct busy *busy = d ? busy_new(result, BUSY_SPANS_MAX) : NULL;

	if (!d)
		return; /* out of memory: the profile is still written */
	if (result->timeline)
		hot_spots_add_timeline(d, result, busy && busy->span_count ? busy : NULL);
	width = width > COLUMNS_WIDTH + NAME_WIDTH_MIN ? width - COLUMNS_WIDTH : NAME_WIDTH_MIN;
	print_times(log, result, d, busy);
	if (busy)
		print_gaps(log, result, busy);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		const struct hot_spot_table *t = (const void *)((const char *)d + tables[i].table);

		print_table(log, t, tables[i].title,
			    tables[i].is_of_timeline && lacks_events(result)
				    ? ", as far as the timeline goes"
				    : "",
			    tables[i].columns, width);
	}
	strict_report(log, &result->totals, result->unnamed.not_kept);
	busy_free(busy);
	hot_spots_free(d);
}
