// SPDX-License-Identifier: MIT
#include "profiler/report/ranks_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/model/quantity.h"
#include "profiler/report/rank_clocks.h"
#include "profiler/tables/ranks_table.h"
#include "symbolize/util/saturate.h"
#include "symbolize/util/text.h"

#define GAPS_SHOWN 4

/*
 * Lists the missing ranks: "4 to 7, 9". Returns false if no rank is missing, or the job's size is
 * unknown.
 */
static bool missing_text(const struct result *r, char *text, size_t size)
{
	uint32_t next = 0, gaps = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i <= r->rank_count; i++) {
		uint32_t rank = i < r->rank_count ? r->ranks[i].rank : r->totals.job.size;

		if (rank > next && gaps++ < GAPS_SHOWN) {
			append_text(text, size, "%s%u", *text ? ", " : "", next);
			if (rank - 1 > next)
				append_text(text, size, " to %u", rank - 1);
		}
		next = rank + 1;
	}
	if (gaps > GAPS_SHOWN)
		append_text(text, size, " and others");
	return gaps > 0;
}

/* Returns "rank 3 (node1)", or "rank 3" on one machine. */
#define RANK_BYTES 96
static const char *rank_text(char text[RANK_BYTES], const struct result *r,
			     const struct rank_info *rank)
{
	if (r->totals.host || !rank->host)
		snprintf(text, RANK_BYTES, "rank %u", rank->rank);
	else
		snprintf(text, RANK_BYTES, "rank %u (%s)", rank->rank, rank->host);
	return text;
}

/* Returns "node1", or "the machine of rank 3" without a host name. */
static const char *machine_text(char text[RANK_BYTES], const struct rank_info *rank)
{
	if (rank->host)
		snprintf(text, RANK_BYTES, "%s", rank->host);
	else
		snprintf(text, RANK_BYTES, "the machine of rank %u", rank->rank);
	return text;
}

/* ---- clocks ---- */

static void report_aligned(struct log *log, const struct rank_clocks *c)
{
	char machine[RANK_BYTES], reference[RANK_BYTES], error[QUANTITY_BYTES],
		most[QUANTITY_BYTES];
	const struct clock_alignment *a = &c->worst->alignment;
	const struct rank_info *with = c->list[a->reference];

	time_text(error, (double)a->error_ns);
	machine_text(machine, c->worst);
	if (c->aligned == 1)
		log_line(log, "  clock of %s aligned with that of %s by %u collectives, within %s",
			 machine, machine_text(reference, with ? with : c->worst), a->collectives,
			 error);
	else
		log_line(log,
			 "  clocks of %u of %u machines aligned by %u collectives or more, within "
			 "%s (%s the least exact)",
			 c->aligned, c->count, c->fewest, error, machine);
	if (a->bound_ns > a->error_ns)
		log_line(log,
			 "  this assumes that machines leave collectives together; certain is: "
			 "within %s",
			 time_text(most, (double)a->bound_ns));
}

static void report_unaligned(struct log *log, const struct rank_clocks *c, bool has_collectives)
{
	char time[QUANTITY_BYTES], machine[RANK_BYTES];
	uint32_t count = c->references;

	if (count > 1 && c->error_ns)
		log_line(log,
			 "  %u machines, by their wall clocks: these are at most %s apart, as "
			 "their kernels estimate",
			 count, time_text(time, (double)c->error_ns));
	else if (count > 1)
		log_line(log,
			 "  %u machines, by their wall clocks: how far these are apart is not "
			 "known, for not all were synchronized",
			 count);
	if (count > 1 && has_collectives)
		log_line(log,
			 "  clock of %s%s not aligned by collectives: too few in common, or they "
			 "contradict each other",
			 machine_text(machine, c->wall_clocked), count > 2 ? " and others" : "");
}

static void report_clocks(struct log *log, const struct result *r, const struct rank_clocks *c)
{
	bool has_collectives = false;

	for (uint32_t i = 0; i < r->rank_count; i++)
		has_collectives |= r->ranks[i].collectives || r->ranks[i].alone;
	if (c->count == 1)
		log_line(log, "  one machine, one clock: times of all ranks compare exactly");
	if (c->aligned)
		report_aligned(log, c);
	report_unaligned(log, c, has_collectives);
	for (uint32_t i = 0; i < r->rank_count; i++)
		if (!r->ranks[i].has_wall_clock && !r->ranks[i].alignment.collectives) {
			log_warn(log,
				 "the wall clock is not known of rank %u, or of the first one: "
				 "they are shown as if they had started together",
				 r->ranks[i].rank);
			break;
		}
}

/* ---- ranks ---- */

/*
 * Reports the ranks with most and least GPU time outside collectives. A slow rank computes while
 * the others wait in collectives.
 */
static void report_slowest(struct log *log, const struct result *r, const struct rank_time *times)
{
	char most_text[QUANTITY_BYTES], least_text[QUANTITY_BYTES];
	char most_rank[RANK_BYTES], least_rank[RANK_BYTES];
	uint64_t most_ns = 0, least_ns = UINT64_MAX;
	uint32_t most = 0, least = 0;

	for (uint32_t i = 0; i < r->rank_count; i++) {
		uint64_t ns = times[i].gpu_ns - times[i].collective_ns;

		if (ns > most_ns) {
			most_ns = ns;
			most = i;
		}
		if (ns < least_ns) {
			least_ns = ns;
			least = i;
		}
	}
	if (r->rank_count < 2 || most_ns == 0)
		return;
	time_text(most_text, (double)most_ns);
	time_text(least_text, (double)least_ns);
	if (strcmp(most_text, least_text) == 0)
		log_line(log, "  GPU time outside collectives: %s in each rank", most_text);
	else
		log_line(log, "  GPU time outside collectives: most in %s, %s; least in %s, %s",
			 rank_text(most_rank, r, &r->ranks[most]), most_text,
			 rank_text(least_rank, r, &r->ranks[least]), least_text);
}

/* Reports the machine whose ranks others waited for longest, if it has several such ranks. */
static void report_late_machine(struct log *log, const struct result *r,
				const struct rank_time *times, const struct rank_clocks *c)
{
	struct {
		uint64_t kept_ns, last;
		uint32_t ranks;
	} *sums = calloc(r->rank_count, sizeof(*sums)), *most = sums;
	char machine[RANK_BYTES], time[QUANTITY_BYTES];

	for (uint32_t i = 0; sums && i < r->rank_count; i++) {
		uint32_t clock = r->ranks[i].clock;

		saturated_add(&sums[clock].kept_ns, times[i].kept_ns);
		saturated_add(&sums[clock].last, r->ranks[i].came_last);
		sums[clock].ranks += times[i].kept_ns > 0;
	}
	for (uint32_t i = 1; sums && i < r->rank_count; i++)
		if (sums[i].kept_ns > most->kept_ns)
			most = &sums[i];
	if (sums && c->count > 1 && most->ranks > 1)
		log_line(log,
			 "  %u ranks of %s came last in %" PRIu64
			 " collectives; ranks waited %s for them in all",
			 most->ranks, machine_text(machine, c->list[most - sums]), most->last,
			 time_text(time, (double)most->kept_ns));
	free(sums);
}

static bool is_later(const struct result *r, const struct rank_time *times, uint32_t a, uint32_t b)
{
	if (times[a].kept_ns != times[b].kept_ns)
		return times[a].kept_ns > times[b].kept_ns;
	return r->ranks[a].came_last > r->ranks[b].came_last;
}

/* Reports the rank that others waited for longest in collectives. */
static void report_late(struct log *log, const struct result *r, const struct rank_time *times,
			const struct rank_clocks *c)
{
	uint64_t collectives = 0, alone = 0, undecided = 0, compared = 0, waited_ns = 0, gpu_ns = 0;
	char time[QUANTITY_BYTES], rank[RANK_BYTES];
	uint32_t late = 0;

	for (uint32_t i = 0; i < r->rank_count; i++) {
		saturated_add(&collectives, r->ranks[i].came_last);
		saturated_add(&undecided, r->ranks[i].undecided);
		saturated_add(&alone, r->ranks[i].alone);
		saturated_add(&compared, r->ranks[i].collectives);
		saturated_add(&waited_ns, times[i].waited_ns);
		saturated_add(&gpu_ns, times[i].gpu_ns);
		if (is_later(r, times, i, late))
			late = i;
	}
	saturated_add(&collectives, undecided);
	if (collectives && (times[late].kept_ns || r->ranks[late].came_last))
		log_line(log,
			 "  %s came last in %" PRIu64 " of %" PRIu64
			 " collectives; others waited %s for it in all",
			 rank_text(rank, r, &r->ranks[late]), r->ranks[late].came_last, collectives,
			 time_text(time, (double)times[late].kept_ns));
	report_late_machine(log, r, times, c);
	if (compared && waited_ns)
		log_line(log,
			 "  waiting for whoever comes last: %s for each rank and collective, %.1f "
			 "%% of GPU time",
			 time_text(time, (double)waited_ns / (double)compared),
			 percent_of(waited_ns, gpu_ns));
	if (undecided)
		log_line(log,
			 "  in %" PRIu64 " of these collectives several ranks came last, as far as "
			 "the clocks of their machines tell",
			 undecided);
	if (alone)
		log_line(log,
			 "  %" PRIu64
			 " kernels of collectives without peers: what they waited is not known",
			 alone);
	if (c->references > 1 && (collectives || alone))
		log_line(log, "  ranks of machines whose clocks are not aligned are not compared "
			      "in collectives");
}

static uint64_t rank_end_ns(const struct rank_info *rank)
{
	return saturated_sum(rank->start_ns, rank->elapsed_ns);
}

/* Reports the failed rank that ended first: usually it ended the job. */
static void report_failed(struct log *log, const struct result *r)
{
	const struct rank_info *first = NULL;
	char rank[RANK_BYTES];
	uint32_t failed = 0;

	for (uint32_t i = 0; i < r->rank_count; i++) {
		const struct rank_info *k = &r->ranks[i];

		if (!k->exit_status)
			continue;
		failed++;
		if (!first || rank_end_ns(k) < rank_end_ns(first))
			first = k;
	}
	if (failed)
		log_line(log, "  %u of %u ranks failed, %s first, with status %u", failed,
			 r->rank_count, rank_text(rank, r, first), first->exit_status);
}

/* Warns if the ranks disagree on the size of the job. */
static void report_sizes(struct log *log, const struct result *r)
{
	const struct rank_info *known = NULL;

	for (uint32_t i = 0; i < r->rank_count && !known; i++)
		known = r->ranks[i].size ? &r->ranks[i] : NULL;
	for (uint32_t i = 0; i < r->rank_count && known; i++) {
		const struct rank_info *rank = &r->ranks[i];
		char other[32] = "";

		if (rank->size && rank->size != known->size)
			snprintf(other, sizeof(other), " of %u", rank->size);
		else if (rank->rank < known->size)
			continue;
		log_warn(log,
			 "rank %u is one of %u, but there is a rank %u%s: are these captures of "
			 "one job?",
			 known->rank, known->size, rank->rank, other);
		return;
	}
}

/*
 * Warns if a rank ended before another one began. Captures of an earlier job may have remained in
 * the folder.
 */
static void report_times(struct log *log, const struct result *r)
{
	const struct rank_info *ended = NULL, *began = NULL;
	char time[QUANTITY_BYTES];

	for (uint32_t i = 0; i < r->rank_count; i++) {
		const struct rank_info *k = &r->ranks[i];

		if (!k->has_wall_clock)
			continue;
		if (!ended || rank_end_ns(k) < rank_end_ns(ended))
			ended = k;
		if (!began || k->start_ns > began->start_ns)
			began = k;
	}
	if (ended && rank_end_ns(ended) < began->start_ns)
		log_warn(
			log,
			"rank %u had ended %s before rank %u began: are these captures of one job?",
			ended->rank,
			time_text(time, (double)(began->start_ns - rank_end_ns(ended))),
			began->rank);
}

void ranks_report(struct log *log, const struct result *r)
{
	struct rank_time *times = r->rank_count ? rank_times(r) : NULL;
	char missing[128], size[32] = "";
	struct rank_clocks clocks;

	if (r->rank_count == 0)
		return;
	if (r->totals.job.size)
		snprintf(size, sizeof(size), " of %u", r->totals.job.size);
	log_line(log, "Ranks: %u%s", r->rank_count, size);
	if (rank_clocks_find(r, &clocks) && times) {
		report_clocks(log, r, &clocks);
		report_slowest(log, r, times);
		report_late(log, r, times, &clocks);
	}
	report_failed(log, r);
	rank_clocks_release(&clocks);
	free(times);
	report_sizes(log, r);
	report_times(log, r);
	if (missing_text(r, missing, sizeof(missing)))
		log_warn(log, "no capture of rank %s", missing);
}
