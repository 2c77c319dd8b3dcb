// SPDX-License-Identifier: MIT
#include "profiler/report/ranks_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "profiler/base/saturate.h"
#include "profiler/report/quantity.h"

#define GAPS_SHOWN 4

/* "4 to 7, 9", of a job of so many ranks; false: none is missing, or it is not known. */
static bool missing_text(const struct result *r, char *text, size_t size)
{
	uint32_t next = 0, gaps = 0;
	size_t used = 0;

	for (uint32_t i = 0; i <= r->rank_count; i++) {
		uint32_t rank = i < r->rank_count ? r->ranks[i].rank : r->totals.job.size;

		if (rank > next && gaps++ < GAPS_SHOWN && used < size) {
			used += (size_t)snprintf(text + used, size - used, "%s%u", used ? ", " : "",
						 next);
			if (rank - 1 > next && used < size)
				used += (size_t)snprintf(text + used, size - used, " to %u",
							 rank - 1);
		}
		next = rank + 1;
	}
	if (gaps > GAPS_SHOWN && used < size)
		snprintf(text + used, size - used, " and others");
	return gaps > 0;
}

/*
 * How many clocks there are, 0 without memory; `error_ns`: how far two of them may be apart, 0:
 * unknown.
 */
static uint32_t count_clocks(const struct result *r, uint64_t *error_ns)
{
	bool *is_seen = calloc(r->rank_count, sizeof(*is_seen));
	uint64_t most = 0, second = 0;
	uint32_t clocks = 0;
	bool is_known = true;

	for (uint32_t i = 0; is_seen && i < r->rank_count; i++) {
		uint64_t error = r->ranks[i].wall_error_ns;

		if (is_seen[r->ranks[i].clock])
			continue;
		is_seen[r->ranks[i].clock] = true;
		clocks++;
		is_known &= error > 0 && error < UINT64_MAX / 2;
		if (error > most) {
			second = most;
			most = error;
		} else if (error > second) {
			second = error;
		}
	}
	free(is_seen);
	*error_ns = is_known ? most + second : 0;
	return clocks;
}

/* How many there are. */
static uint32_t report_clocks(struct log *log, const struct result *r)
{
	char time[QUANTITY_BYTES];
	uint64_t error_ns;
	uint32_t clocks = count_clocks(r, &error_ns);

	if (clocks == 1)
		log_line(log, "  one machine, one clock: times of all ranks compare exactly");
	else if (clocks && error_ns)
		log_line(
			log,
			"  %u machines, by their wall clocks: these are at most %s apart, as their "
			"kernels estimate",
			clocks, time_text(time, (double)error_ns));
	else if (clocks)
		log_line(log,
			 "  %u machines, by their wall clocks: how far these are apart is not "
			 "known, for not all were synchronized",
			 clocks);
	for (uint32_t i = 0; i < r->rank_count; i++)
		if (!r->ranks[i].has_wall_clock) {
			log_warn(log,
				 "the wall clock is not known of rank %u, or of the first one: "
				 "they are shown as if they had started together",
				 r->ranks[i].rank);
			break;
		}
	return clocks;
}

/* In a job with collectives a slow rank is the one that computes while the others wait in them. */
static void report_slowest(struct log *log, const struct result *r)
{
	struct rank_time *times = rank_times(r);
	char most_text[QUANTITY_BYTES], least_text[QUANTITY_BYTES];
	uint64_t most_ns = 0, least_ns = UINT64_MAX;
	uint32_t most = 0, least = 0;

	for (uint32_t i = 0; times && i < r->rank_count; i++) {
		uint64_t ns = times[i].gpu_ns - times[i].collective_ns;

		if (ns > most_ns) {
			most_ns = ns;
			most = r->ranks[i].rank;
		}
		if (ns < least_ns) {
			least_ns = ns;
			least = r->ranks[i].rank;
		}
	}
	free(times);
	if (r->rank_count > 1 && most_ns > 0)
		log_line(
			log,
			"  GPU time outside collectives: most in rank %u, %s; least in rank %u, %s",
			most, time_text(most_text, (double)most_ns), least,
			time_text(least_text, (double)least_ns));
}

/* The rank that others waited for longest in collectives. */
static void report_late(struct log *log, const struct result *r, uint32_t clocks)
{
	struct rank_time *times = rank_times(r);
	uint64_t collectives = 0, alone = 0;
	char time[QUANTITY_BYTES];
	uint32_t late = 0;

	for (uint32_t i = 0; times && i < r->rank_count; i++) {
		saturated_add(&collectives, r->ranks[i].came_last);
		saturated_add(&alone, r->ranks[i].alone);
		if (times[i].kept_ns > times[late].kept_ns)
			late = i;
	}
	if (times && collectives)
		log_line(log,
			 "  rank %u came last in %" PRIu64 " of %" PRIu64
			 " collectives; others waited %s for it in all",
			 r->ranks[late].rank, r->ranks[late].came_last, collectives,
			 time_text(time, (double)times[late].kept_ns));
	if (times && alone)
		log_line(log,
			 "  %" PRIu64
			 " kernels of collectives without peers: what they waited is not known",
			 alone);
	if (times && clocks > 1 && (collectives || alone))
		log_line(log,
			 "  ranks of different machines are not compared in collectives: their "
			 "clocks differ");
	free(times);
}

void ranks_report(struct log *log, const struct result *r)
{
	char missing[128], size[32] = "";
	uint32_t clocks;

	if (r->rank_count == 0)
		return;
	if (r->totals.job.size)
		snprintf(size, sizeof(size), " of %u", r->totals.job.size);
	log_line(log, "Ranks: %u%s", r->rank_count, size);
	clocks = report_clocks(log, r);
	report_slowest(log, r);
	report_late(log, r, clocks);
	if (missing_text(r, missing, sizeof(missing)))
		log_warn(log, "no capture of rank %s", missing);
}
