// SPDX-License-Identifier: MIT
/*
 * Writes a comparison as a page for browsers: totals, tables of what changed most, and the
 * differential picture (svg.c), which brings its own script. The page loads nothing, and needs no
 * network. Its Content-Security-Policy allows only its own script and styles, by their hashes
 * (html/policy).
 */
#include "profiler/formats/writer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/shape/markup.h"
#include "profiler/tables/comparison.h"

#define NAME_CHARACTERS 300
#define COMMAND_CHARACTERS 2000
#define ROWS 30 /* most rows of a table */

/* The page's style and its policy, from html_difference_blob.S. */
extern const char difference_style[], difference_style_end[];
extern const char difference_policy[], difference_policy_end[];

struct page {
	const struct comparison *comparison;
	FILE *out;
};

/* Writes "12.345 ms", "1.500 GiB", or a plain number for weights and counts. */
static void put_amount(const struct page *p, const struct change *change, double amount,
		       bool has_sign)
{
	static const struct amount_unit {
		double size;
		const char *word;
	} bytes[] = {{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}, {0, " B"}},
	  times[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {0, " ns"}}, none[] = {{0, ""}};
	const struct amount_unit *unit =
		change->unit == CHANGE_OF_BYTES                                ? bytes
		: change->unit == CHANGE_OF_TIME && !p->comparison->is_weights ? times
									       : none;
	const char *sign = has_sign && amount >= 0 ? "+" : "";

	while (fabs(amount) < unit->size)
		unit++;
	if (unit->size > 0)
		fprintf(p->out, "%s%.3f %s", sign, amount / unit->size, unit->word);
	else
		fprintf(p->out, "%s%.0f%s", sign, amount, unit->word);
}

static void put_change(const struct page *p, const struct change *change)
{
	enum change_verdict verdict = change_verdict(change);
	const char *word = change_verdict_word(verdict);

	fprintf(p->out, "<tr class=\"%s\"><td>",
		verdict == CHANGED_TO_NEW       ? "more"
		: verdict == CHANGED_TO_NOTHING ? "less"
						: word);
	put_amount(p, change, change->before, false);
	fprintf(p->out, "<td>");
	put_amount(p, change, change->after, false);
	fprintf(p->out, "<td>");
	put_amount(p, change, change_difference(change), true);
	fprintf(p->out, "<td>");
	if (change->before > 0)
		fprintf(p->out, "%+.1f %%", 100 * change_difference(change) / change->before);
	fprintf(p->out, "<td>");
	if (change->has_bound)
		put_amount(p, change, change->bound, false);
	else
		fprintf(p->out, "unknown");
	fprintf(p->out, "<td>%s<td>", verdict == CHANGED_PERHAPS ? "" : word);
}

static void open_table(const struct page *p, const char *title, const char *what)
{
	fprintf(p->out,
		"<h2>%s</h2>\n<div "
		"class=\"wide\"><table>\n<thead><tr><th>before<th>after<th>difference<th><th>noise<"
		"th><th>%s</thead>\n<tbody>\n",
		title, what);
}

static void close_table(const struct page *p)
{
	fprintf(p->out, "</tbody></table></div>\n");
}

static const char *const total_names[COMPARISON_TOTALS] = {
	[TOTAL_GPU] = "GPU time",
	[TOTAL_CPU] = "CPU time",
	[TOTAL_WAITING] = "waiting, and timed calls",
	[TOTAL_IDLE] = "idle GPUs",
	[TOTAL_API] = "time in CUDA calls",
	[TOTAL_WALL] = "time of the run",
	[TOTAL_PEAK] = "memory at the peak",
	[TOTAL_LEFT] = "memory never freed",
	[TOTAL_ERRORS] = "CUDA calls that failed"};

/* Writes how the lengths of the runs affect the rows. */
static void put_length(const struct page *p)
{
	const struct comparison *c = p->comparison;
	enum comparison_total total;

	if (c->is_normalized) {
		fprintf(p->out,
			"<p>Shares are compared (<code>--normalize</code>): times below the totals "
			"are scaled to the same total of each kind (CPU, GPU), that after.</p>\n");
		return;
	}
	if (!comparison_differs_in_length(c, &total))
		return;
	fprintf(p->out, "<p>The runs differ in length (%s: ", total_names[total]);
	put_amount(p, &c->totals[total], c->totals[total].before, false);
	fprintf(p->out, " before, ");
	put_amount(p, &c->totals[total], c->totals[total].after, false);
	fprintf(p->out, " after), and each row with them; if one did more work, "
			"<code>--normalize</code> compares shares.</p>\n");
}

static void put_totals(const struct page *p)
{
	open_table(p, "Totals", "of");
	for (int i = 0; i < COMPARISON_TOTALS; i++) {
		const struct change *change = &p->comparison->totals[i];

		if (change->before <= 0 && change->after <= 0)
			continue;
		put_change(p, change);
		fprintf(p->out, "%s\n", total_names[i]);
	}
	close_table(p);
}

static void put_entry(const struct page *p, const struct comparison_entry *e)
{
	put_change(p, &e->change);
	fprintf(p->out, "<span title=\"");
	markup_xml(p->out, e->frame->name, NAME_CHARACTERS);
	fprintf(p->out, "\">");
	markup_xml(p->out, e->frame->short_name, NAME_CHARACTERS);
	fprintf(p->out, "</span>");
	if (e->matched_by != MATCHED_BY_NAME)
		fprintf(p->out, " (variants with another %s)",
			comparison_match_word(e->matched_by));
	fprintf(p->out, "\n");
}

static void put_table(const struct page *p, enum comparison_tables number)
{
	static const char *const titles[COMPARISON_TABLES] = {
		[COMPARED_KERNELS] = "GPU kernels",
		[COMPARED_COPIES] = "Other GPU work",
		[COMPARED_SITES] = "Launched by",
		[COMPARED_FUNCTIONS] = "Functions, by their own CPU time",
		[COMPARED_WAITS] = "Waits, and timed calls",
		[COMPARED_CALLS] = "CUDA calls",
		[COMPARED_SHAPES] = "Launch shapes",
		[COMPARED_PEAK] = "Memory at the peak, allocated by",
		[COMPARED_LEFT] = "Memory never freed, allocated by",
		[COMPARED_ERRORS] = "CUDA calls that failed"};
	const struct comparison_table *table = &p->comparison->tables[number];

	if (table->count == 0)
		return;
	open_table(p, titles[number], "name");
	for (uint32_t i = 0; i < table->count && i < ROWS; i++)
		put_entry(p, &table->entries[i]);
	close_table(p);
	if (table->count > ROWS)
		fprintf(p->out, "<p>%u more, which changed less.</p>\n", table->count - ROWS);
}

static void put_side(const struct page *p, const char *word, enum comparison_side side)
{
	const struct totals *first = p->comparison->first[side];

	fprintf(p->out, "<p>%s: <code>", word);
	markup_xml(p->out, first->command ? first->command : "", COMMAND_CHARACTERS);
	fprintf(p->out, "</code>");
	if (first->shown) {
		fprintf(p->out, " with <code>");
		markup_xml(p->out, first->shown, COMMAND_CHARACTERS);
		fprintf(p->out, "</code>");
	}
	fprintf(p->out, ", %u %s%s</p>\n", p->comparison->runs[side],
		p->comparison->is_of_steps ? "step" : "run",
		p->comparison->runs[side] == 1 ? "" : "s");
}

/* Writes the picture without its first line, the XML declaration. */
static int put_picture(const struct page *p, const struct result *result,
		       const struct writer_options *options, struct written *written)
{
	char *text = NULL;
	size_t size;
	FILE *picture = open_memstream(&text, &size);
	int err = picture ? svg_writer.write(result, options, picture, written) : -ENOMEM;
	const char *svg;

	if (picture && fclose(picture) != 0)
		err = -ENOMEM;
	svg = err ? NULL : strstr(text, "<svg");
	if (svg)
		fwrite(svg, 1, size - (size_t)(svg - text), p->out);
	free(text);
	return err;
}

static int write_page(const struct result *result, const struct writer_options *options, FILE *out,
		      struct written *written)
{
	const struct page p = {.comparison = options->comparison, .out = out};
	int err;

	fprintf(out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"%.*s\">\n"
		"<meta name=\"viewport\" content=\"width=device-width\">\n"
		"<title>What changed</title>\n<style>%.*s</style>\n<h1>What changed</h1>\n",
		(int)(difference_policy_end - difference_policy), difference_policy,
		(int)(difference_style_end - difference_style), difference_style);
	put_side(&p, "Before", SIDE_BEFORE);
	put_side(&p, "After", SIDE_AFTER);
	fprintf(out,
		"<p>Noise: chance alone makes a difference larger than this in 1 of 20 rows. So "
		"among many rows some exceed it by chance, and these are called <em>noise</em>, "
		"too: of the rows that are not, at most 1 in 20 is expected to be chance.</p>\n");
	put_length(&p);
	put_totals(&p);
	fprintf(out, "<h2>By stack</h2>\n");
	err = put_picture(&p, result, options, written);
	for (int i = 0; i < COMPARISON_TABLES; i++)
		put_table(&p, (enum comparison_tables)i);
	fprintf(out, "</html>\n");
	if (err)
		return err;
	return ferror(out) ? -EIO : 0;
}

const struct writer html_difference_writer = {
	.name = "html", .suffix = ".html", .item = "frame", .write = write_page};
