// SPDX-License-Identifier: MIT
#include "profiler/report/ending.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "profiler/base/columns.h"
#include "profiler/findings/findings.h"
#include "profiler/model/losses.h"
#include "profiler/model/quantity.h"
#include "profiler/report/summary.h"
#include "profiler/report/top.h"
#include "profiler/tables/hot_spots.h"
#include "symbolize/util/saturate.h"
#include "symbolize/util/text.h"

#define ELLIPSIS "\xe2\x80\xa6"
#define COMMAND_WIDTH 60u /* columns of the command */
#define CLAIM_WIDTH 400u  /* columns of a text of a finding */
#define LINE_BYTES 4096

/* Appends a text, cut to `width` columns. */
static void append_cut(char line[LINE_BYTES], const char *text, unsigned int width)
{
	int bytes = top_fitting(text, width);

	append_text(line, LINE_BYTES, "%.*s%s", bytes, text, text[bytes] ? ELLIPSIS : "");
}

/* Appends a claim, without a full stop at its end. */
static void append_claim(char line[LINE_BYTES], const struct finding *f)
{
	size_t length;

	append_cut(line, f->claim, CLAIM_WIDTH);
	length = strlen(line);
	if (length > 0 && line[length - 1] == '.')
		line[length - 1] = '\0';
}

/* ---- what ran ---- */

/* Appends the sums of CPU and GPU time; of some stacks, also what all have. */
static void append_sums(char line[LINE_BYTES], const struct result *r)
{
	static const char *const words[ROW_KINDS] = {
		[ROW_CPU] = "CPU", [ROW_GPU] = "GPU", [ROW_WAIT] = "waiting"};
	uint64_t ns[ROW_KINDS] = {0};
	const char *between = ". ";
	char time[QUANTITY_BYTES];

	for (uint32_t i = 0; i < r->row_count; i++)
		saturated_add(&ns[r->rows[i].kind], r->rows[i].ns);
	for (int kind = 0; kind < ROW_KINDS; kind++) {
		const char *(*text)(char *, double) = kind == ROW_GPU ? time_text : brief_time_text;

		if (!words[kind] || (ns[kind] == 0 && r->all_ns[kind] == 0))
			continue;
		append_text(line, LINE_BYTES, "%s%s %s", between, words[kind],
			    text(time, (double)ns[kind]));
		if (r->all_ns[kind])
			append_text(line, LINE_BYTES, " of %s",
				    text(time, (double)r->all_ns[kind]));
		between = ", ";
	}
}

/* Appends "python3 train.py: ran 14.6 s, exit 0". */
static void append_run(char line[LINE_BYTES], const struct result *r)
{
	const struct totals *t = &r->totals;
	const char *command = t->command ? t->command : t->program;
	bool is_part = t->measure.attached || top_goes_on(t);
	char time[QUANTITY_BYTES];
	uint64_t from_ns, to_ns;

	result_time_range(r, &from_ns, &to_ns);
	append_cut(line, command && *command ? command : "The program", COMMAND_WIDTH);
	if (r->rank_count)
		append_text(line, LINE_BYTES, " (%u rank%s)", r->rank_count,
			    r->rank_count == 1 ? "" : "s");
	append_text(line, LINE_BYTES, ": %s %s", is_part ? "recorded" : "ran",
		    brief_time_text(time, (double)(is_part ? to_ns - from_ns : t->elapsed_ns)));
	if (!is_part && t->command_pid && !r->rank_count)
		append_text(line, LINE_BYTES, ", exit %u", t->exit_status);
	if (t->shown)
		append_text(line, LINE_BYTES, "; shown with %.200s", t->shown);
}

/* ---- findings ---- */

/* Returns the verdict on GPU work, NULL if there is none. */
static const struct finding *verdict_of(const struct findings *f)
{
	return f && f->verdict.kind != VERDICT_NO_WORK ? findings_find(f, FINDING_VERDICT) : NULL;
}

static void append_certainty(char line[LINE_BYTES], const struct log *log, const struct finding *f)
{
	if (log->level < LOG_VERBOSE || !f->certainty)
		return;
	append_text(line, LINE_BYTES, " (");
	append_cut(line, f->certainty, CLAIM_WIDTH);
	append_text(line, LINE_BYTES, ")");
}

static void report_finding(struct log *log, const struct finding *f)
{
	char line[LINE_BYTES] = "  ";

	append_claim(line, f);
	append_certainty(line, log, f);
	if (f->next) {
		append_text(line, LINE_BYTES, "; look closer: ");
		append_cut(line, f->next, CLAIM_WIDTH);
	}
	log_line(log, "%s", line);
}

/* Reports findings besides the verdict. The last lines have the losses. */
static void report_findings(struct log *log, const struct findings *f)
{
	int shown = 0;

	for (uint32_t i = 0; i < f->count; i++) {
		if (f->list[i].kind == FINDING_VERDICT || f->list[i].kind == FINDING_LOSSES)
			continue;
		if (shown++ >= ENDING_FINDINGS && log->level < LOG_VERBOSE)
			return;
		report_finding(log, &f->list[i]);
	}
}

static bool has_gpu_work(const struct result *r)
{
	for (uint32_t i = 0; i < r->row_count; i++)
		if (r->rows[i].kind == ROW_GPU)
			return true;
	return false;
}

void ending_report(struct log *log, const struct result *r)
{
	const struct findings *f = r->findings;
	const struct finding *verdict = verdict_of(f);
	char line[LINE_BYTES] = "";

	if (log->level < LOG_NORMAL)
		return;
	append_run(line, r);
	if (verdict) {
		append_text(line, LINE_BYTES, ". ");
		append_claim(line, verdict);
		append_certainty(line, log, verdict);
	} else {
		append_sums(line, r);
	}
	log_line(log, "%s", line);
	if (verdict && verdict->next)
		log_line(log, "  look closer: %.*s", top_fitting(verdict->next, CLAIM_WIDTH),
			 verdict->next);
	if (f && f->unknown && has_gpu_work(r))
		log_line(log, "  no verdict: %.*s", top_fitting(f->unknown, CLAIM_WIDTH),
			 f->unknown);
	if (f)
		report_findings(log, f);
}

/* ---- the table ---- */

#define NUMBERS_WIDTH 40u /* columns before the names */
#define NAME_WIDTH_MIN 24u
#define WIDTH_MAX 250u
#define NAME_BYTES (8 * WIDTH_MAX)
#define SAMPLED_BYTES (2 * QUANTITY_BYTES)

struct printer {
	struct log *log;
	const struct result *result;
	const struct hot_spots *spots;
	unsigned int width; /* columns for names */
	uint32_t rows;      /* rows of each part, without the rest */
};

/*
 * Returns the sampling period in ns. With --wall and --idle samples stand for the time that their
 * threads ran, so the period is their mean.
 */
static double period_ns(const struct printer *p)
{
	const struct measure *m = &p->result->totals.measure;
	const struct hot_spot *whole = &p->spots->functions.whole;

	if ((m->wall || m->idle) && whole->count)
		return (double)whole->ns / (double)whole->count;
	return (double)p->result->totals.sample_ns;
}

/*
 * Formats a sampled time with its standard error: "1.2 s +-13 %", or "" without time. A period of
 * 0 means that the time is exact.
 */
static const char *sampled_text(char text[SAMPLED_BYTES], uint64_t ns, double period)
{
	double error = ns ? 100 * sqrt(period / (double)ns) : 0;
	char time[QUANTITY_BYTES];

	text[0] = '\0';
	if (ns)
		snprintf(text, SAMPLED_BYTES, "%s", brief_time_text(time, (double)ns));
	if (ns && period > 0)
		append_text(text, SAMPLED_BYTES, " +-%.*f %%", error < 9.95 ? 1 : 0,
			    error < 100 ? error : 100);
	return text;
}

/* Returns the number of rows to print, out of `most`. A rest of one row is shown itself. */
static uint32_t row_limit(uint64_t count, uint32_t most)
{
	return (uint32_t)(count <= most + 1 ? count : most);
}

static void print_rest(const struct printer *p, const char *numbers, uint64_t count)
{
	log_row(p->log, "%s   (%" PRIu64 " more)", numbers, count);
}

/* Writes ", by Mlp::forward and 2 more": who launched most of the work. Cut to `width` columns. */
static void site_text(char text[NAME_BYTES], const struct hot_spot_table *sites, unsigned int width)
{
	struct top_name site;
	char more[40] = "";

	text[0] = '\0';
	if (sites->count == 0 || width < 8)
		return;
	if (sites->count > 1)
		snprintf(more, sizeof(more), " and %" PRIu32 " more", (uint32_t)sites->count - 1);
	width -= 5; /* ", by " */
	width = width > strlen(more) + NAME_WIDTH_MIN ? width - (unsigned int)strlen(more)
						      : NAME_WIDTH_MIN;
	site = top_name(frame_report_name(sites->list[0].frame), width);
	snprintf(text, NAME_BYTES, ", by %s%.*s%s%s", site.before, site.bytes, site.text,
		 site.after, more);
}

/* Prints GPU work, and the function that launched most of it. */
static void print_work(const struct printer *p, const struct hot_spot *e, uint64_t whole_ns)
{
	const char *work = frame_report_name(e->frame);
	unsigned int width = columns_of(work), half = p->width / 2;
	char time[QUANTITY_BYTES], by[NAME_BYTES];
	struct hot_spot_table sites;
	struct top_name name;

	hot_spots_sites_of(&sites, p->result, e->frame);
	site_text(by, &sites, width < half ? p->width - width : half);
	width = columns_of(by);
	name = top_name(work,
			p->width > width + NAME_WIDTH_MIN ? p->width - width : NAME_WIDTH_MIN);
	log_row(p->log, "%13s %6.1f %% %14" PRIu64 "   %s%.*s%s%s", time_text(time, (double)e->ns),
		percent_of(e->ns, whole_ns), e->count, name.before, name.bytes, name.text,
		name.after, by);
	hot_spot_table_release(&sites);
}

/* Prints the longest GPU work: kernels, copies and others together. */
static void print_gpu(const struct printer *p)
{
	const struct hot_spot_table *kernels = &p->spots->kernels, *copies = &p->spots->copies;
	uint64_t whole_ns = saturated_sum(kernels->whole.ns, copies->whole.ns), shown_ns = 0;
	uint64_t count = (uint64_t)kernels->count + copies->count;
	uint32_t lines = row_limit(count, p->rows), kernel = 0, copy = 0;
	char time[QUANTITY_BYTES], numbers[LINE_BYTES];

	if (count == 0)
		return;
	log_row(p->log, "%13s %8s %14s   GPU work, launched by", "time", "share", "count");
	for (uint32_t i = 0; i < lines; i++) {
		bool is_kernel = copy == copies->count ||
				 (kernel < kernels->count &&
				  kernels->list[kernel].ns >= copies->list[copy].ns);
		const struct hot_spot *e =
			is_kernel ? &kernels->list[kernel++] : &copies->list[copy++];

		print_work(p, e, whole_ns);
		shown_ns += e->ns;
	}
	snprintf(numbers, sizeof(numbers), "%13s %6.1f %% %14s",
		 time_text(time, (double)(whole_ns - shown_ns)),
		 percent_of(whole_ns - shown_ns, whole_ns), "");
	if (lines < count)
		print_rest(p, numbers, count - lines);
}

/* Returns the number of functions with time of their own, which come first. */
static uint32_t with_own_time(const struct hot_spot_table *t)
{
	uint32_t count = 0;

	while (count < t->count && t->list[count].ns)
		count++;
	return count;
}

/* Prints the functions with most time of their own on a CPU. */
static void print_cpu(const struct printer *p)
{
	const struct hot_spot_table *t = &p->spots->functions;
	uint32_t count = with_own_time(t), lines = row_limit(count, p->rows);
	char total[SAMPLED_BYTES], own[SAMPLED_BYTES], numbers[LINE_BYTES];
	uint64_t rest_ns = t->whole.ns;
	double period = period_ns(p);

	if (count == 0)
		return;
	log_row(p->log, "%18s %18s   on the CPU", "total", "own");
	for (uint32_t i = 0; i < lines; i++) {
		const struct hot_spot *e = &t->list[i];
		struct top_name name = top_name(frame_report_name(e->frame), p->width);
		/* "[not sampled]": charged time without samples */
		double error = e->ns && !e->count ? 0 : period;

		log_row(p->log, "%18s %18s   %s%.*s%s", sampled_text(total, e->total_ns, error),
			sampled_text(own, e->ns, error), name.before, name.bytes, name.text,
			name.after);
		rest_ns -= e->ns;
	}
	snprintf(numbers, sizeof(numbers), "%18s %18s", "", sampled_text(own, rest_ns, period));
	if (lines < count)
		print_rest(p, numbers, count - lines);
}

/* Prints the functions that waited longest, or whose calls were timed. */
static void print_waits(const struct printer *p)
{
	const struct hot_spot_table *t = &p->spots->waits;
	char time[QUANTITY_BYTES], numbers[LINE_BYTES];
	uint32_t lines = row_limit(t->count, 1);
	uint64_t rest_ns = t->whole.ns;

	if (t->count == 0)
		return;
	log_row(p->log, "%13s %8s %14s   waiting, or timed calls, in", "time", "share", "");
	for (uint32_t i = 0; i < lines; i++) {
		const struct hot_spot *e = &t->list[i];
		struct top_name name = top_name(frame_report_name(e->frame), p->width);

		log_row(p->log, "%13s %6.1f %% %14s   %s%.*s%s", time_text(time, (double)e->ns),
			percent_of(e->ns, t->whole.ns), "", name.before, name.bytes, name.text,
			name.after);
		rest_ns -= e->ns;
	}
	snprintf(numbers, sizeof(numbers), "%13s %6.1f %% %14s", time_text(time, (double)rest_ns),
		 percent_of(rest_ns, t->whole.ns), "");
	if (lines < t->count)
		print_rest(p, numbers, t->count - lines);
}

void ending_report_table(struct log *log, const struct result *result, unsigned int width)
{
	struct printer p = {.log = log, .result = result, .width = NAME_WIDTH_MIN};
	struct hot_spots *spots = log->level >= LOG_NORMAL ? hot_spots_new(result) : NULL;

	if (!spots)
		return; /* out of memory: the profile is still written */
	p.spots = spots;
	p.rows = spots->waits.count ? 3 : 4;
	if (width > WIDTH_MAX)
		width = WIDTH_MAX;
	if (width > NUMBERS_WIDTH + NAME_WIDTH_MIN)
		p.width = width - NUMBERS_WIDTH;
	print_gpu(&p);
	print_cpu(&p);
	print_waits(&p);
	hot_spots_free(spots);
}

/* ---- the last lines ---- */

#define LOSSES_SHOWN 3u

struct losses_text {
	char *text;
	size_t size;
	uint32_t count;
};

static void note_loss(void *context, const struct loss *loss)
{
	struct losses_text *t = context;

	if (!loss->is_incomplete && t->count++ < LOSSES_SHOWN)
		append_text(t->text, t->size, "%s%s: %" PRIu64,
			    t->count == 1 ? "Not complete: " : "; ", loss->what, loss->count);
}

/* Appends "all stacks whole" or "99.8 % of stacks whole". Never rounds up to all. */
static void note_stacks(struct losses_text *t, const struct ledger *l)
{
	uint64_t taken = saturated_sum(saturated_sum(l->launches.with_stack, l->launches.by_probe),
				       l->cpu.samples);
	uint64_t whole = saturated_sum(l->launches.whole, l->cpu.whole);
	double percent = percent_of(whole, taken);

	if (taken == 0)
		return;
	append_text(t->text, t->size, t->count ? "; " : ", ");
	if (whole >= taken)
		append_text(t->text, t->size, "all stacks whole");
	else
		append_text(t->text, t->size, "%.1f %% of stacks whole",
			    percent < 99.9 ? percent : 99.9);
}

void ending_note_losses(struct ending *ending, const struct totals *totals, uint64_t not_kept)
{
	struct losses_text t = {ending->complete, sizeof(ending->complete), 0};

	ending->complete[0] = '\0';
	losses_visit(totals->ledger, not_kept, note_loss, &t);
	if (t.count == 0)
		append_text(t.text, t.size, "Complete: nothing lost");
	if (t.count > LOSSES_SHOWN)
		append_text(t.text, t.size, "; and %" PRIu32 " more, which --top lists",
			    t.count - LOSSES_SHOWN);
	note_stacks(&t, totals->ledger);
}

void ending_note_file(struct ending *ending, const struct ending_file *file)
{
	if (ending->file_count < ENDING_FILES)
		ending->files[ending->file_count++] = *file;
}

/* Appends "31.0 ms in the program, 2.0 ms in the operating system, 0.9 s in profile". */
static void append_price(char line[LINE_BYTES], const struct totals *t)
{
	const struct ledger_pipe *traced = &t->ledger->pipe;
	const char *between = *line ? " Price: CPU " : "Price: CPU ";
	char time[QUANTITY_BYTES];

	if (traced->processes > traced->without_goodbye) {
		append_text(line, LINE_BYTES, "%s%s%s in the program", between,
			    traced->without_goodbye ? "at least " : "",
			    brief_time_text(time, (double)summary_program_ns(t)));
		between = ", ";
	}
	if (t->ledger->cost.kernel_ns) {
		append_text(line, LINE_BYTES, "%s%s in the operating system", between,
			    brief_time_text(time, (double)t->ledger->cost.kernel_ns));
		between = ", ";
	}
	if (!t->measure.alone)
		append_text(line, LINE_BYTES, "%s%s in profile", between,
			    brief_time_text(time, (double)t->own_cpu_ns));
}

/* Prints the reports, or the other files, in one line. */
static void print_files(struct log *log, const struct ending *ending, bool reports)
{
	char line[LINE_BYTES] = "";

	for (uint32_t i = 0; i < ending->file_count; i++) {
		const struct ending_file *f = &ending->files[i];

		if (f->is_report != reports)
			continue;
		append_text(line, sizeof(line), "%s%s%s",
			    *line     ? ", "
			    : reports ? "Report: "
				      : "Wrote: ",
			    f->path, f->has_whole_run ? " (the whole run)" : "");
		if (f->source_lines) /* whoever gets the file gets these */
			append_text(line, sizeof(line),
				    " (with %" PRIu64 " line%s of %" PRIu64 " source file%s)",
				    f->source_lines, f->source_lines == 1 ? "" : "s",
				    f->source_files, f->source_files == 1 ? "" : "s");
	}
	if (*line)
		log_line(log, "%s", line);
}

void ending_close(struct log *log, const struct ending *ending, const struct totals *totals)
{
	char line[LINE_BYTES] = "";

	if (*ending->complete)
		append_text(line, sizeof(line), "%s.", ending->complete);
	append_price(line, totals);
	if (*line)
		log_line(log, "%s", line);
	if (log->level < LOG_VERBOSE) /* with -v there are lines with sums */
		print_files(log, ending, false);
	print_files(log, ending, true);
}
