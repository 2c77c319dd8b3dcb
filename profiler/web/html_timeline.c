// SPDX-License-Identifier: MIT
#include "profiler/web/html_timeline.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/formats/deflated.h"
#include "symbolize/util/record_set.h"
#include "symbolize/util/saturate.h"
#include "symbolize/util/sorted.h"

#define NONE UINT32_MAX

enum {
	PART_RECORDS = 1 << 16,
	/* classes of durations: eight for each power of two */
	CLASSES = 64 * 8,
	FIRST_BINS_SHIFT = 20,
};

enum part_kind { PART_OF_RECORDS, PART_OF_SUMS, PART_END };

static const struct html_timeline_limits usual_limits = {6000000, 2000000};

/* A sum of records that are too short to show one by one. */
struct sum {
	uint32_t place, stack, bin, kind;
	uint64_t first_ns, ns, bytes, count;
};

struct html_timeline {
	const struct result *result;
	struct html_timeline_limits limits;
	uint8_t *stacks, *places; /* by number in the result: 1 if a record has it */
	uint64_t readable;        /* records read by the first pass */
	uint64_t lost;            /* records that either pass could not read */
	uint64_t first_ns, last_ns;
	uint32_t shortest; /* class of the shortest durations that are not in sums */
	uint64_t of_class[CLASSES];

	struct timeline_record *part; /* with stacks and places of the page */
	uint32_t part_count;
	RECORD_SET(struct sum) sums;
	uint32_t bin_shift;
	uint64_t written, summed;
};

/* ---- first pass ---- */

/* Returns the class of a duration. Longer durations have larger classes. */
static uint32_t class_of(uint64_t ns)
{
	uint32_t power;

	if (ns < 8)
		return (uint32_t)ns;
	power = 63u - (uint32_t)__builtin_clzll(ns);
	return (power - 2) * 8 + (uint32_t)(ns >> (power - 3) & 7);
}

static void survey(struct html_timeline *h, const struct timeline_record *record)
{
	uint32_t stack = result_record_stack(h->result, record);

	if (h->readable == 0 || record->start_ns < h->first_ns)
		h->first_ns = record->start_ns;
	if (record->start_ns > h->last_ns)
		h->last_ns = record->start_ns;
	h->of_class[class_of(record->duration_ns)]++;
	h->stacks[stack < h->result->stack_count ? stack : RESULT_ROOT] = 1;
	if (record->place.number < h->result->place_count)
		h->places[record->place.number] = 1;
	h->readable++;
}

/* Surveys the records, and chooses the shortest to show. Returns 0, or -ENOMEM. */
static int read_once(struct html_timeline *h)
{
	const struct timeline *timeline = h->result->timeline;
	struct timeline_reader *reader = timeline_reader_new(timeline);
	const struct timeline_record *record;
	uint64_t kept = 0;

	if (!reader)
		return -ENOMEM;
	while (timeline_reader_next(reader, &record) == 1)
		survey(h, record);
	timeline_reader_free(reader);
	h->lost = timeline_stats(timeline).records - h->readable;
	for (h->shortest = CLASSES; h->shortest > 0; h->shortest--) {
		kept += h->of_class[h->shortest - 1];
		if (kept > h->limits.records)
			break;
	}
	/* begin with at most 2^20 bins */
	while ((h->last_ns - h->first_ns) >> h->bin_shift >> FIRST_BINS_SHIFT)
		h->bin_shift++;
	return 0;
}

struct html_timeline *html_timeline_new(const struct result *result,
					const struct html_timeline_limits *limits)
{
	struct html_timeline *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->result = result;
	h->limits = limits ? *limits : usual_limits;
	if (!result->timeline)
		return h;
	h->stacks = calloc(result->stack_count + 1u, 1);
	h->places = calloc(result->place_count + 1u, 1);
	h->part = malloc(PART_RECORDS * sizeof(*h->part));
	if (!h->stacks || !h->places || !h->part || read_once(h) != 0) {
		html_timeline_free(h);
		errno = ENOMEM;
		return NULL;
	}
	return h;
}

void html_timeline_free(struct html_timeline *h)
{
	if (!h)
		return;
	free(h->stacks);
	free(h->places);
	free(h->part);
	record_set_release(&h->sums.set);
	free(h);
}

void html_timeline_mark(const struct html_timeline *h, uint32_t *stacks, uint32_t *places,
			uint32_t value)
{
	if (!h->result->timeline)
		return;
	for (uint32_t i = 0; i < h->result->stack_count; i++)
		if (h->stacks[i])
			stacks[i] = value;
	for (uint32_t i = 0; i < h->result->place_count; i++)
		if (h->places[i])
			places[i] = value;
}

/* ---- sums of short records ---- */

/* Adds to a sum, or makes one. Returns 0, or -ENOMEM. */
static int add_sum(struct html_timeline *h, const struct sum *sum)
{
	const uint32_t key[] = {sum->place, sum->stack, sum->bin, sum->kind};
	uint32_t at = record_find(&h->sums, &key);
	struct sum *all = at != RECORD_NONE ? &h->sums.list[at] : NULL;

	if (!all)
		return record_add(&h->sums, &key, sum) != RECORD_NONE ? 0 : -ENOMEM;
	if (sum->first_ns < all->first_ns)
		all->first_ns = sum->first_ns;
	all->ns = saturated_sum(all->ns, sum->ns);
	all->bytes = saturated_sum(all->bytes, sum->bytes);
	all->count += sum->count;
	return 0;
}

/* Halves the number of bins. Returns 0, or -ENOMEM. */
static int coarsen(struct html_timeline *h)
{
	struct sum *old = h->sums.list;
	uint32_t count = h->sums.count;
	int err = 0;

	h->sums.list = NULL;
	record_set_release(&h->sums.set);
	h->bin_shift++;
	for (uint32_t i = 0; i < count && !err; i++) {
		old[i].bin >>= 1;
		err = add_sum(h, &old[i]);
	}
	free(old);
	return err;
}

static int add_short(struct html_timeline *h, const struct timeline_record *r)
{
	int err = add_sum(
		h, &(struct sum){.first_ns = r->start_ns,
				 .ns = r->duration_ns,
				 .bytes = r->bytes,
				 .count = 1,
				 .place = r->place.number,
				 .stack = r->stack.number,
				 .bin = (uint32_t)((r->start_ns - h->first_ns) >> h->bin_shift),
				 .kind = r->kind});

	h->summed++;
	while (!err && h->sums.count > h->limits.sums &&
	       (h->last_ns - h->first_ns) >> h->bin_shift > 0)
		err = coarsen(h);
	return err;
}

/* ---- writing ---- */

static const char part_begin[] =
	"</script>\n<script type=\"application/octet-stream\" class=\"timeline\">";

static uint64_t signed_number(uint64_t a, uint64_t b)
{
	return a >= b ? (a - b) << 1 : ((b - a) << 1) - 1;
}

static bool same_group(const struct timeline_record *a, const struct timeline_record *b)
{
	return a->kind == b->kind && same_id(a->place, b->place);
}

static int compare_records(const void *a, const void *b)
{
	const struct timeline_record *x = a, *y = b;
	int order = compare_numbers(x->kind, y->kind);

	order = order ? order : compare_numbers(x->place.number, y->place.number);
	order = order ? order : compare_numbers(x->start_ns, y->start_ns);
	order = order ? order : compare_numbers(y->duration_ns, x->duration_ns);
	return order ? order : compare_numbers(x->correlation, y->correlation);
}

/* Writes a column. `value` is an expression in the record `i`; `is_first` is that of its group. */
#define COLUMN(value)                                                                        \
	do {                                                                                 \
		for (uint32_t i = 0; i < count; i++) {                                       \
			const bool is_first = i == 0 || !same_group(&part[i - 1], &part[i]); \
                                                                                             \
			(void)is_first;                                                      \
			deflated_number(data, value);                                        \
		}                                                                            \
	} while (0)

static void write_groups(const struct html_timeline *h, struct deflated *data)
{
	const struct timeline_record *part = h->part;
	uint32_t count = h->part_count, groups = 0;

	for (uint32_t i = 0; i < count; i++)
		groups += i == 0 || !same_group(&part[i - 1], &part[i]);
	deflated_number(data, groups);
	for (int column = 0; column < 4; column++) {
		for (uint32_t i = 0, end; i < count; i = end) {
			for (end = i + 1; end < count && same_group(&part[i], &part[end]);)
				end++;
			deflated_number(data, column == 0   ? part[i].kind
					      : column == 1 ? part[i].place.number + 1
					      : column == 2
						      ? end - i
						      : signed_number(part[i].start_ns,
								      h->result->totals.start_ns));
		}
	}
}

/* Writes the records in h->part. In sums, `graph_node` is their number of records. */
static int write_part(struct html_timeline *h, enum part_kind kind, FILE *out)
{
	const struct timeline_record *part = h->part;
	uint32_t count = h->part_count;
	struct deflated *data;

	if (count == 0)
		return 0;
	fputs(part_begin, out);
	data = deflated_new(out);
	if (!data)
		return -ENOMEM;
	qsort(h->part, count, sizeof(*h->part), compare_records);
	deflated_number(data, kind);
	write_groups(h, data);
	deflated_number(data, count);
	COLUMN(is_first ? 0 : part[i].start_ns - part[i - 1].start_ns);
	COLUMN(part[i].duration_ns);
	COLUMN(part[i].stack.number);
	COLUMN(signed_number(part[i].correlation, is_first ? 0 : part[i - 1].correlation));
	COLUMN(part[i].graph_node);
	COLUMN(part[i].bytes);
	COLUMN(part[i].shape);
	h->written += count;
	h->part_count = 0;
	return deflated_finish(data);
}

static int add_record(struct html_timeline *h, const struct timeline_record *record,
		      const uint32_t *stacks, const uint32_t *places, FILE *out)
{
	struct timeline_record r = *record;
	uint32_t stack = result_record_stack(h->result, record);

	r.stack.number = stack < h->result->stack_count ? stacks[stack] : NONE;
	r.place.number = r.place.number < h->result->place_count ? places[r.place.number] : NONE;
	if (r.stack.number == NONE || r.start_ns < h->first_ns || r.start_ns > h->last_ns) {
		h->lost++; /* not the record that the first pass read */
		return 0;
	}
	if (class_of(r.duration_ns) < h->shortest)
		return add_short(h, &r);
	h->part[h->part_count++] = r;
	return h->part_count < PART_RECORDS ? 0 : write_part(h, PART_OF_RECORDS, out);
}

static int write_records(struct html_timeline *h, const uint32_t *stacks, const uint32_t *places,
			 FILE *out)
{
	struct timeline_reader *reader = timeline_reader_new(h->result->timeline);
	const struct timeline_record *record;
	uint64_t seen = 0;
	int err = 0;

	if (!reader)
		return -ENOMEM;
	while (!err && seen < h->readable && timeline_reader_next(reader, &record) == 1) {
		seen++;
		err = add_record(h, record, stacks, places, out);
	}
	timeline_reader_free(reader);
	h->lost += h->readable - seen;
	return err ? err : write_part(h, PART_OF_RECORDS, out);
}

static int compare_sums(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;
	int order = compare_numbers(x->kind, y->kind);

	order = order ? order : compare_numbers(x->place, y->place);
	order = order ? order : compare_numbers(x->bin, y->bin);
	order = order ? order : compare_numbers(x->first_ns, y->first_ns);
	return order ? order : compare_numbers(x->stack, y->stack);
}

/* Writes the sums, shifted so that those at one place do not overlap. */
static int write_sums(struct html_timeline *h, FILE *out)
{
	int err = 0;

	if (h->sums.count > 0)
		qsort(h->sums.list, h->sums.count, sizeof(*h->sums.list), compare_sums);
	for (uint32_t i = 0; i < h->sums.count && !err; i++) {
		struct sum *sum = &h->sums.list[i];
		const struct sum *last = i > 0 ? sum - 1 : NULL;

		if (last && last->kind == sum->kind && last->place == sum->place &&
		    saturated_sum(last->first_ns, last->ns) > sum->first_ns)
			sum->first_ns = saturated_sum(last->first_ns, last->ns);
		h->part[h->part_count++] = (struct timeline_record){.start_ns = sum->first_ns,
								    .duration_ns = sum->ns,
								    .bytes = sum->bytes,
								    .graph_node = sum->count,
								    .place = {sum->place},
								    .stack = {sum->stack},
								    .kind = sum->kind};
		if (h->part_count == PART_RECORDS)
			err = write_part(h, PART_OF_SUMS, out);
	}
	return err ? err : write_part(h, PART_OF_SUMS, out);
}

static void write_shapes(const struct timeline *timeline, struct deflated *data)
{
	uint32_t count = 0;

	while (timeline_shape(timeline, count + 1))
		count++;
	deflated_number(data, count);
	for (uint32_t column = 0; column < 9; column++) {
		for (uint32_t i = 1; i <= count; i++) {
			const struct timeline_shape *s = timeline_shape(timeline, i);
			const uint32_t values[9] = {
				s->grid[0],       s->grid[1],        s->grid[2],
				s->block[0],      s->block[1],       s->block[2],
				s->static_shared, s->dynamic_shared, s->registers};

			deflated_number(data, values[column]);
		}
	}
}

static int write_end(const struct html_timeline *h, FILE *out)
{
	struct timeline_stats stats = timeline_stats(h->result->timeline);
	const char *reason = stats.error == -E2BIG ? "there are too many"
			     : stats.error         ? strerror(-stats.error)
			     : h->lost > 0         ? "its file could not be read"
						   : "";
	struct deflated *data;

	fputs(part_begin, out);
	data = deflated_new(out);
	if (!data)
		return -ENOMEM;
	deflated_number(data, PART_END);
	deflated_number(data, h->written);
	deflated_number(data, h->summed);
	deflated_number(data, saturated_sum(stats.lost, h->lost));
	deflated_number(data, stats.lost_shapes);
	deflated_number(data, strlen(reason));
	deflated_bytes(data, reason, strlen(reason));
	write_shapes(h->result->timeline, data);
	return deflated_finish(data);
}

int html_timeline_write(struct html_timeline *h, const uint32_t *stacks, const uint32_t *places,
			FILE *out)
{
	int err;

	if (!h->result->timeline)
		return 0;
	err = write_records(h, stacks, places, out);
	if (!err)
		err = write_sums(h, out);
	return err ? err : write_end(h, out);
}
