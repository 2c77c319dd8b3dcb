// SPDX-License-Identifier: MIT
/*
 * Writes a run as one or two pages of Markdown, for a pull request or a language model.
 *
 * The text has at most LINES_MAX lines and BYTES_MAX bytes: tables become shorter until it fits. It
 * names the program, but neither its arguments, nor the machine, nor home folders.
 */
#include "profiler/formats/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/command_text.h"
#include "profiler/base/process_names.h"
#include "profiler/findings/findings.h"
#include "profiler/formats/markdown_parts.h"
#include "profiler/formats/markdown_text.h"
#include "profiler/model/losses.h"
#include "profiler/model/quantity.h"
#include "profiler/tables/collective_calls.h"
#include "profiler/tables/hot_spots.h"
#include "profiler/tables/kernel_class.h"
#include "profiler/tables/kernel_facts.h"
#include "profiler/tables/nccl_text.h"
#include "symbolize/util/text.h"

#define LINES_MAX 120u
#define BYTES_MAX 8192u
#define DEVICES_SHOWN 8u

/* Sizes of the text, the largest first. */
static const struct size {
	uint32_t rows; /* rows of a table */
	uint32_t findings;
	unsigned int columns;  /* columns of a name */
	unsigned int sentence; /* columns of a sentence with names */
} sizes[] = {{10, FINDINGS_MAX, 100, 400},
	     {10, FINDINGS_MAX, 72, 300},
	     {8, 16, 60, 240},
	     {5, 12, 48, 160},
	     {3, 8, 40, 100},
	     {1, 3, 24, 60}};

struct page {
	FILE *out;
	const struct result *result;
	const struct hot_spots *spots;
	const struct kernel_facts *facts;
	const struct collective_calls *collectives;
	const struct markdown_parts *parts;
	const struct size *size;
};

/* ---- the program ---- */

/* Returns a command's words, packed with a NUL behind each; the caller frees them. */
static char *pack_words(const char *command, size_t *size)
{
	char **words = command_words(command);
	char *packed = malloc(strlen(command) + 2); /* no shorter than the words and their NULs */

	*size = 0;
	for (char **word = words; packed && word && *word; word++) {
		size_t length = strlen(*word) + 1;

		memcpy(packed + *size, *word, length);
		*size += length;
	}
	if (packed)
		packed[*size] = '\0';
	free(words);
	return packed;
}

/* Writes the program's name, and that of the script that it runs: "python3 train.py". */
static void put_program(const struct page *p)
{
	const struct totals *t = &p->result->totals;
	const char *command = t->program ? t->program : t->command ? t->command : "";
	struct process_names names = {.program = NULL};
	size_t size = 0;
	char *words = pack_words(command, &size);
	const char *name = words && words[0] ? base_name(words) : "";

	if (words && words[0])
		process_names_find(&names, "", "", words, size, false);
	markdown_text(p->out, name[0] ? name : "a program", p->size->columns);
	if (names.program && names.program_bytes) {
		char *script = strndup(names.program, names.program_bytes);

		fputc(' ', p->out);
		markdown_text(p->out, script ? script : "", p->size->columns);
		free(script);
	}
	free(words);
}

static void put_end(FILE *out, const struct totals *t)
{
	if (!t->command_pid)
		fprintf(out, ".\n");
	else if (t->exit_status > 128 && t->exit_status < 128 + 65)
		fprintf(out, ", and ended with status %u (signal %u).\n", t->exit_status,
			t->exit_status - 128);
	else
		fprintf(out, ", and ended with status %u.\n", t->exit_status);
}

static void put_title(const struct page *p)
{
	const struct totals *t = &p->result->totals;
	char time[QUANTITY_BYTES];

	fputs("# ", p->out);
	put_program(p);
	fprintf(p->out, "\n\nIt %s for %s", t->measure.attached ? "was profiled" : "ran",
		time_text(time, (double)t->elapsed_ns));
	if (p->result->rank_count)
		fprintf(p->out, " as %u ranks", p->result->rank_count);
	put_end(p->out, t);
	if (t->shown) {
		fputs("Shown with ", p->out);
		markdown_text(p->out, t->shown, p->size->columns);
		fputs("; all but losses and memory is of this part.\n", p->out);
	}
}

/* ---- findings ---- */

static void put_sentence(const struct page *p, const char *text)
{
	markdown_text(p->out, text, p->size->sentence);
}

/* Writes what a finding claims, how sure that is, and what to do next. */
static void put_finding(const struct page *p, const struct finding *f)
{
	put_sentence(p, f->claim);
	fputs(" _(", p->out);
	put_sentence(p, f->certainty ? f->certainty : "measured");
	fputs(")_", p->out);
	if (f->next) {
		fputs(". Look closer: ", p->out);
		put_sentence(p, f->next);
	}
	fputc('\n', p->out);
}

static void put_verdict(const struct page *p)
{
	const struct findings *f = p->result->findings;
	const struct finding *verdict = f ? findings_find(f, FINDING_VERDICT) : NULL;
	const char *unknown = findings_unknown(p->result);

	if (verdict) {
		fputs("\n**Verdict:** ", p->out);
		put_finding(p, verdict);
		return;
	}
	fputs("\n**No verdict:** ", p->out);
	put_sentence(p, unknown ? unknown : "nothing is certain");
	fputs(".\n", p->out);
}

/* Returns true for a finding that has a place of its own: the verdict, or that there are no steps.
 */
static bool is_shown_above(const struct findings *f, const struct finding *finding)
{
	return finding->kind == FINDING_VERDICT ||
	       (finding->kind == FINDING_STEPS && f->steps.count == 0);
}

/* Writes all other findings. */
static void put_findings(const struct page *p)
{
	const struct findings *f = p->result->findings;
	uint32_t shown = 0, all = 0;

	for (uint32_t i = 0; f && i < f->count; i++) {
		if (is_shown_above(f, &f->list[i]))
			continue;
		if (all++ == 0)
			fputs("\n## Findings\n\n", p->out);
		if (shown == p->size->findings)
			continue;
		fputs("- ", p->out);
		put_finding(p, &f->list[i]);
		shown++;
	}
	if (all > shown)
		fprintf(p->out, "- %u more\n", all - shown);
}

/* ---- where the time of GPUs went ---- */

static void put_share(FILE *out, const struct device_times *times, enum device_use use)
{
	char time[QUANTITY_BYTES];
	uint64_t ns = device_times_sum(times, use);

	fprintf(out, " | %.1f %% | %s", percent_of(ns, device_times_whole(times)),
		time_text(time, (double)ns));
}

static void put_uses(const struct page *p, const struct findings *f)
{
	bool has_steady = f->steady.device_count > 0;
	char steady[QUANTITY_BYTES], whole[QUANTITY_BYTES];

	time_text(steady, (double)(f->steady.to_ns - f->steady.from_ns));
	time_text(whole, (double)(f->whole.to_ns - f->whole.from_ns));
	if (has_steady)
		fprintf(p->out, "| | steady part | %s | whole run | %s |\n|---|--:|--:|--:|--:|\n",
			steady, whole);
	else
		fprintf(p->out, "| | whole run | %s |\n|---|--:|--:|\n", whole);
	for (int i = 0; i < DEVICE_USES; i++) {
		enum device_use use = (enum device_use)i;

		if (!device_times_sum(&f->whole, use) && !device_times_sum(&f->steady, use))
			continue;
		fprintf(p->out, "| %s", device_use_text(use));
		if (has_steady)
			put_share(p->out, &f->steady, use);
		put_share(p->out, &f->whole, use);
		fputs(" |\n", p->out);
	}
}

/* Returns the largest loss of a device, or USE_COMPUTING if it has none. */
static enum device_use largest_loss(const struct device_time *d)
{
	enum device_use most = USE_COMPUTING;
	uint64_t most_ns = 0;

	for (int i = 0; i < DEVICE_USES; i++)
		if (device_use_is_loss((enum device_use)i) && d->ns[i] > most_ns) {
			most_ns = d->ns[i];
			most = (enum device_use)i;
		}
	return most;
}

/* Writes a line for each GPU: what it computed, and its largest loss. */
static void put_devices(const struct page *p, const struct device_times *times, const char *part)
{
	uint32_t shown = times->device_count < DEVICES_SHOWN ? times->device_count : DEVICES_SHOWN;
	uint64_t all_ns = times->to_ns - times->from_ns;

	if (shown > p->size->rows)
		shown = p->size->rows;
	fprintf(p->out, "\n| GPU, %s | computing | largest loss | |\n|---|--:|---|--:|\n", part);
	for (uint32_t i = 0; i < shown; i++) {
		const struct device_time *d = &times->devices[i];
		enum device_use loss = largest_loss(d);
		char label[DEVICE_LABEL_BYTES];

		device_label(d->device, label);
		fputs("| ", p->out);
		markdown_text(p->out, label, p->size->columns);
		fprintf(p->out, " | %.1f %%", percent_of(d->ns[USE_COMPUTING], all_ns));
		if (loss == USE_COMPUTING)
			fputs(" | none | |\n", p->out);
		else
			fprintf(p->out, " | %s | %.1f %% |\n", device_use_text(loss),
				percent_of(d->ns[loss], all_ns));
	}
	if (times->device_count > shown)
		fprintf(p->out, "| %u more | | | |\n", times->device_count - shown);
}

static void put_gpu_time(const struct page *p)
{
	const struct findings *f = p->result->findings;
	bool has_steady = f && f->steady.device_count > 0;

	if (findings_unknown(p->result) || f->whole.device_count == 0)
		return;
	fprintf(p->out, "\n## Where the time of %s went\n\n",
		f->whole.device_count == 1 ? "the GPU" : "all GPUs");
	put_uses(p, f);
	if (f->whole.device_count > 1)
		put_devices(p, has_steady ? &f->steady : &f->whole,
			    has_steady ? "steady part" : "whole run");
}

/* ---- steps ---- */

static void put_steps(const struct page *p)
{
	const struct findings *f = p->result->findings;
	const char *unknown = findings_unknown(p->result);
	const struct step_series *s = !unknown && f->steps.count ? &f->steps.list[0] : NULL;
	char median[QUANTITY_BYTES], p10[QUANTITY_BYTES], p90[QUANTITY_BYTES],
		slowest[QUANTITY_BYTES];

	if (unknown)
		return;
	fputs("\n## Steps\n\n", p->out);
	if (!s) {
		fputs("None: ", p->out);
		put_sentence(p, f->no_steps ? f->no_steps : "nothing repeats");
		fputs(".\n", p->out);
		return;
	}
	fprintf(p->out,
		"| steps | warm-up | median | p10..p90 | slowest | drift |\n"
		"|--:|--:|--:|--:|--:|--:|\n"
		"| %u | %u | %s | %s..%s | %s (number %u) | %+.1f %% |\n",
		s->count, s->warm_up, time_text(median, (double)f->step_times.median_ns),
		time_text(p10, (double)f->step_times.p10_ns),
		time_text(p90, (double)f->step_times.p90_ns),
		time_text(slowest, (double)f->step_times.slowest_ns), f->step_times.slowest,
		f->step_times.drift * 100);
}

/* ---- sums by name ---- */

static void put_name(const struct page *p, const struct frame_info *frame)
{
	markdown_text(p->out, frame_report_name(frame), p->size->columns);
}

static void put_facts(const struct page *p, const struct frame_info *frame)
{
	struct kernel_fact list[KERNEL_FACTS_MAX];
	uint32_t count = kernel_facts_of(p->facts, frame, list);

	for (uint32_t i = 0; i < count; i++) {
		if (list[i].is_detail)
			continue;
		fprintf(p->out, "; %s: ", list[i].label);
		markdown_text(p->out, list[i].text, p->size->columns);
	}
}

/* Writes the row of the entries that are not shown. */
static void put_rest(const struct page *p, const struct hot_spot_table *t, uint32_t shown,
		     uint64_t whole_ns, uint32_t columns)
{
	uint64_t ns = t->whole.ns;
	char time[QUANTITY_BYTES];

	if (shown == t->count)
		return;
	for (uint32_t i = 0; i < shown; i++)
		ns -= t->list[i].ns;
	fprintf(p->out, "| | %s | %.1f %% |", time_text(time, (double)ns),
		percent_of(ns, whole_ns));
	for (uint32_t i = 4; i < columns; i++)
		fputs(" |", p->out);
	fprintf(p->out, " %u more |\n", t->count - shown);
}

static uint32_t rows_shown(const struct page *p, const struct hot_spot_table *t)
{
	return t->count < p->size->rows ? t->count : p->size->rows;
}

/* Writes a table of GPU work: kernels, which have a class, or launch sites. */
static void put_work(const struct page *p, const struct hot_spot_table *t, const char *title,
		     const char *column, uint64_t gpu_ns)
{
	bool has_class = t == &p->spots->kernels;
	char time[QUANTITY_BYTES], mean[QUANTITY_BYTES];

	if (t->count == 0)
		return;
	fprintf(p->out, "\n## %s\n\n| %s | time | share | mean |%s |\n|--:|--:|--:|--:|%s---|\n",
		title, column, has_class ? " class |" : "", has_class ? "---|" : "");
	for (uint32_t i = 0; i < rows_shown(p, t); i++) {
		const struct hot_spot *e = &t->list[i];

		fprintf(p->out, "| %" PRIu64 " | %s | %.1f %% | %s | ", e->count,
			time_text(time, (double)e->ns), percent_of(e->ns, gpu_ns),
			time_text(mean, e->count ? (double)e->ns / (double)e->count : 0));
		if (has_class) {
			markdown_text(p->out, kernel_class_of(p->result->kernel_classes, e->frame),
				      KERNEL_CLASS_WORD_BYTES);
			fputs(" | ", p->out);
		}
		put_name(p, e->frame);
		put_facts(p, e->frame);
		fputs(" |\n", p->out);
	}
	put_rest(p, t, rows_shown(p, t), gpu_ns, has_class ? 6 : 5);
}

static void put_bandwidth(FILE *out, double gb_per_s)
{
	if (gb_per_s >= 0)
		fprintf(out, " %.1f |", gb_per_s);
	else
		fputs(" |", out);
}

static void put_collective(const struct page *p, const struct collective_call *e)
{
	char time[QUANTITY_BYTES], size[QUANTITY_BYTES], name[NCCL_TEXT_BYTES + 20];

	fprintf(p->out, "| %" PRIu64 " | %s | %s |", e->executions, time_text(time, (double)e->ns),
		e->has_bytes ? bytes_text(size, e->bytes) : "");
	put_bandwidth(p->out, e->algorithm);
	put_bandwidth(p->out, e->bus);
	snprintf(name, sizeof(name), "%s%s%s", e->operation, e->reduction[0] ? " " : "",
		 e->reduction);
	fputs(" ", p->out);
	markdown_text(p->out, name, p->size->columns);
	fputs(" |\n", p->out);
}

static void put_collectives(const struct page *p)
{
	const struct collective_calls *all = p->collectives;

	if (all->count == 0)
		return;
	fputs("\n## Collectives\n\n| executions | time | message | algorithm GB/s | bus GB/s | |\n"
	      "|--:|--:|--:|--:|--:|---|\n",
	      p->out);
	for (uint32_t i = 0; i < all->count && i < p->size->rows; i++)
		put_collective(p, &all->list[i]);
	if (all->count > p->size->rows)
		fprintf(p->out, "| | | | | | %u more |\n", all->count - p->size->rows);
}

static void put_functions(const struct page *p)
{
	const struct hot_spot_table *t = &p->spots->functions;
	double sample_ns = (double)p->result->totals.sample_ns;
	char own[QUANTITY_BYTES], total[QUANTITY_BYTES], error[QUANTITY_BYTES];

	if (t->count == 0)
		return;
	fprintf(p->out,
		"\n## Functions, on the CPU\n\nSampled: a sample stands for %s. 19 of 20 own times "
		"are within their error.\n\n"
		"| samples | own time | share | error | with callees | |\n"
		"|--:|--:|--:|--:|--:|---|\n",
		time_text(own, sample_ns));
	for (uint32_t i = 0; i < rows_shown(p, t); i++) {
		const struct hot_spot *e = &t->list[i];

		fprintf(p->out, "| %" PRIu64 " | %s | %.1f %% | %s | %s | ", e->count,
			time_text(own, (double)e->ns), percent_of(e->ns, t->whole.ns),
			time_text(error, 1.96 * sqrt((double)e->count) * sample_ns),
			time_text(total, (double)e->total_ns));
		put_name(p, e->frame);
		fputs(" |\n", p->out);
	}
	put_rest(p, t, rows_shown(p, t), t->whole.ns, 6);
}

/* ---- idle time ---- */

static void put_idle(const struct page *p)
{
	const struct findings *f = p->result->findings;
	uint32_t shown;
	char time[QUANTITY_BYTES], longest[QUANTITY_BYTES];

	if (findings_unknown(p->result) || f->causes.count == 0)
		return;
	shown = f->causes.count < p->size->rows ? f->causes.count : p->size->rows;
	fputs("\n## Idle GPUs in the steady part, by cause and site\n\n"
	      "| cause | time | share | longest gap | in, or around a launch or wait by |\n"
	      "|---|--:|--:|--:|---|\n",
	      p->out);
	for (uint32_t i = 0; i < shown; i++) {
		const struct idle_cause *e = &f->causes.list[i];

		fprintf(p->out, "| %s | %s | %.1f %% | %s | ", device_use_text(e->use),
			time_text(time, (double)e->ns),
			percent_of(e->ns, device_times_whole(&f->steady)),
			e->longest_ns ? time_text(longest, (double)e->longest_ns) : "");
		if (e->site)
			put_name(p, e->site);
		fputs(" |\n", p->out);
	}
	if (f->causes.count > shown)
		fprintf(p->out, "| | | | | %u more |\n", f->causes.count - shown);
}

/* ---- losses and the price ---- */

struct loss_list {
	const struct page *page;
	uint32_t shown, losses, incomplete;
};

static void count_loss(void *context, const struct loss *loss)
{
	struct loss_list *l = context;

	l->losses += !loss->is_incomplete;
	l->incomplete += loss->is_incomplete;
}

static void put_loss(void *context, const struct loss *loss)
{
	struct loss_list *l = context;

	if (l->shown++ >= l->page->size->rows)
		return;
	fprintf(l->page->out, "- %" PRIu64 " ", loss->count);
	put_sentence(l->page, loss->what);
	fputs(loss->is_incomplete ? " (their time is there)\n" : "\n", l->page->out);
}

/* Says by how much the sums of GPU work and CPU samples may be wrong. */
static void put_extent(const struct page *p, const struct ledger *l)
{
	uint64_t gpu = l->gpu.dropped + l->gpu.missing;
	uint64_t operations = p->spots->kernels.whole.count + p->spots->copies.whole.count;
	uint64_t gpu_ns = p->spots->kernels.whole.ns + p->spots->copies.whole.ns;

	if (gpu)
		fprintf(p->out,
			"\nGPU times lack %.1f %% of the operations, and are too small by about as "
			"much.\n",
			percent_of(gpu, gpu + operations));
	if (l->gpu.unmatched_ns)
		fprintf(p->out, "\n%.1f %% of the GPU time has no stack of its launch.\n",
			percent_of(l->gpu.unmatched_ns, gpu_ns));
	if (l->cpu.dropped)
		fprintf(p->out, "\nCPU times lack %.1f %% of the samples.\n",
			percent_of(l->cpu.dropped,
				   l->cpu.dropped + p->spots->functions.whole.count));
	if (l->timeline.lost)
		fprintf(p->out,
			"\nVerdict, steps and idle times lack %" PRIu64 " records; sums do not.\n",
			l->timeline.lost);
}

static void put_losses(const struct page *p)
{
	const struct ledger *l = p->result->totals.ledger;
	uint64_t not_kept = p->result->unnamed.not_kept;
	struct loss_list list = {.page = p};

	fputs("\n## Losses\n\n", p->out);
	losses_visit(l, not_kept, count_loss, &list);
	if (list.losses == 0)
		fprintf(p->out, "%s was lost, and everything was matched.\n",
			list.incomplete ? "No time" : "Nothing");
	if (list.losses + list.incomplete == 0)
		return;
	fputc('\n', p->out);
	losses_visit(l, not_kept, put_loss, &list);
	if (list.shown > p->size->rows)
		fprintf(p->out, "- %u more kinds\n", list.shown - p->size->rows);
	put_extent(p, l);
}

/* Writes the CPU time that profiling took, as far as it is known. */
static void put_price(const struct page *p)
{
	const struct totals *t = &p->result->totals;
	const struct ledger *l = t->ledger;
	char time[QUANTITY_BYTES], memory[QUANTITY_BYTES];
	/* programs tell their part in the goodbye */
	bool is_told = l->pipe.processes > l->pipe.without_goodbye && l->cost.program_ns;

	fputs("\n## Price of profiling\n\nCPU time: ", p->out);
	if (is_told)
		fprintf(p->out, "%s%s in the program", l->pipe.without_goodbye ? "at least " : "",
			time_text(time, (double)l->cost.program_ns));
	else
		fputs("not known in the program", p->out);
	if (l->cost.kernel_ns)
		fprintf(p->out, ", %s in the operating system",
			time_text(time, (double)l->cost.kernel_ns));
	if (!t->measure.alone)
		fprintf(p->out, ", %s in profile. Memory of profile: %s",
			time_text(time, (double)t->own_cpu_ns),
			bytes_text(memory, t->own_memory_bytes));
	fputs(".\n", p->out);
}

/* ---- the page ---- */

static void put_page(const struct page *p)
{
	uint64_t gpu_ns = p->spots->kernels.whole.ns + p->spots->copies.whole.ns;

	put_title(p);
	put_verdict(p);
	put_gpu_time(p);
	put_steps(p);
	put_findings(p);
	put_work(p, &p->spots->kernels, "GPU kernels", "calls", gpu_ns);
	markdown_parts_write(p->out, p->parts, (p->size->rows + 1) / 2, p->size->columns);
	put_collectives(p);
	put_work(p, &p->spots->sites, "Launched by", "operations", gpu_ns);
	put_idle(p);
	put_functions(p);
	put_losses(p);
	put_price(p);
}

static bool fits(const char *text, size_t size)
{
	uint32_t lines = 0;

	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	return size <= BYTES_MAX && lines <= LINES_MAX;
}

/* Makes the largest page that fits; the caller frees it. Returns NULL if out of memory. */
static char *make_page(struct page page, size_t *size)
{
	char *text = NULL;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		page.size = &sizes[i];

		free(text);
		text = NULL;
		page.out = open_memstream(&text, size);
		if (!page.out)
			return NULL;
		put_page(&page);
		if (fclose(page.out) != 0) {
			free(text);
			return NULL;
		}
		if (fits(text, *size))
			break;
	}
	return text;
}

static int write_markdown(const struct result *result, const struct writer_options *options,
			  FILE *out, struct written *written)
{
	struct hot_spots *spots = hot_spots_new(result);
	struct kernel_facts *facts = kernel_facts_new(result);
	size_t size = 0;
	struct collective_calls *collectives = collective_calls_new(result);
	struct markdown_parts parts;
	char *page = markdown_parts_make(&parts, result) && spots && facts && collectives
			     ? make_page((struct page){.result = result,
						       .spots = spots,
						       .facts = facts,
						       .collectives = collectives,
						       .parts = &parts},
					 &size)
			     : NULL;

	(void)options;
	*written = written_in_ns(result);
	if (page) {
		written->items = 1;
		fwrite(page, 1, size, out);
	}
	free(page);
	kernel_facts_free(facts);
	collective_calls_free(collectives);
	markdown_parts_release(&parts);
	hot_spots_free(spots);
	return !page ? -ENOMEM : ferror(out) ? -EIO : 0;
}

const struct writer markdown_writer = {.name = "markdown",
				       .suffix = ".md",
				       .has_both_names = true,
				       .item = "page",
				       .needs = USES_TIMELINE,
				       .shows_findings = true,
				       .write = write_markdown};
