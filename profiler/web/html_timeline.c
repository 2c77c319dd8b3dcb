// SPDX-License-Identifier: MIT
#include "profiler/web/html_timeline.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/formats/deflated.h"
#include "profiler/web/timeline_sums.h"
#include "symbolize/util/record_set.h"
#include "symbolize/util/saturate.h"
#include "symbolize/util/sorted.h"

#define NONE UINT32_MAX
#define LARGE UINT32_MAX /* word for a number that does not fit */

enum {
	PART_SPANS = 1 << 17,
	LANES = 4, /* most lanes of a track */
	/* classes of durations: eight for each power of two */
	CLASSES = 64 * 8,
};

/* A span may seem to begin so much before the end of another in its lane, by clock jitter. */
#define TREMBLING_NS 1000u

enum part_kind { PART_HEAD, PART_OF_SPANS, PART_OF_DETAILS };

enum run_flag {
	RUN_BEGINS_TRACK = 1,
	RUN_BEGINS_LANE = 2,
	RUN_IS_CROWDED = 4,
	RUN_OF_SUMS = 8,
	RUN_OF_PLACES = 16
};

static const struct html_timeline_limits usual_limits = {6000000, 2000000};

/* A row of the page: records of one type, of a thread or stream. */
struct track {
	uint32_t key[5]; /* type; process; thread, or device, context and stream */
	uint32_t most_lanes, place;
	bool is_crowded, has_places; /* more overlap than there are lanes; several places */
};

/* A record or sum, as the page has it. */
struct span {
	uint64_t start_ns, duration_ns, bytes;
	uint64_t node; /* number of records, in a sum */
	uint32_t track, place, stack, shape, correlation;
	uint8_t kind, lane;
	bool is_sum;
};

/* Spans of one lane and kind, in a part. */
struct run {
	uint32_t first;
	uint8_t flags;
};

struct html_timeline {
	const struct result *result;
	struct html_timeline_limits limits;
	uint8_t *stacks, *places; /* by number in the result: 1 if a record has it */
	uint64_t readable;        /* records read by the first pass */
	uint64_t lost;            /* records that either pass could not read */
	uint32_t shortest;        /* class of the shortest durations that are not in sums */
	uint64_t of_class[CLASSES];

	uint64_t room;      /* records to keep */
	struct span *spans; /* kept records and sums */
	uint32_t count, sum_count;
	uint32_t *order;  /* numbers of spans, in the order of the page */
	struct run *runs; /* belong to the part that is written */
	RECORD_SET(struct track) tracks;
	struct timeline_sums sums;
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

	if (h->readable == 0 || record->start_ns < h->sums.first_ns)
		h->sums.first_ns = record->start_ns;
	if (record->start_ns > h->sums.last_ns)
		h->sums.last_ns = record->start_ns;
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
		h->room = kept;
	}
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
	h->sums.most = h->limits.sums;
	if (!result->timeline)
		return h;
	h->stacks = calloc(result->stack_count + 1u, 1);
	h->places = calloc(result->place_count + 1u, 1);
	if (!h->stacks || !h->places || read_once(h) != 0) {
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
	free(h->spans);
	free(h->order);
	free(h->runs);
	record_set_release(&h->tracks.set);
	timeline_sums_release(&h->sums);
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

/* ---- spans ---- */

/* Returns the number of the track of records of a kind and place; RECORD_NONE if out of memory. */
static uint32_t find_track(struct html_timeline *h, uint32_t kind, uint32_t place)
{
	static const uint8_t types[TIMELINE_KINDS] = {
		[TIMELINE_CPU_SAMPLE] = 0,    [TIMELINE_LAUNCH] = 1, [TIMELINE_CALL] = 1,
		[TIMELINE_GPU_OPERATION] = 2, [TIMELINE_WAIT] = 3,   [TIMELINE_OFF_CPU] = 4};
	const struct place nowhere = place_unknown();
	const uint32_t *part =
		(place < h->result->place_count ? &h->result->places[place] : &nowhere)->part;
	struct track track = {.key = {types[kind], part[PLACE_PROCESS], part[PLACE_THREAD]},
			      .place = place,
			      .most_lanes = types[kind] == 1 ? LANES : 1};

	if (kind == TIMELINE_GPU_OPERATION) {
		track.most_lanes = LANES;
		track.key[2] = part[PLACE_DEVICE];
		track.key[3] = part[PLACE_CONTEXT];
		track.key[4] = part[PLACE_STREAM];
	}
	return record_get(&h->tracks, &track.key, &track);
}

/* Adds a span at a place of the result, for which there is room. Returns 0, or -ENOMEM. */
static int add_span(struct html_timeline *h, struct span span)
{
	span.track = find_track(h, span.kind, span.place);
	if (span.track == RECORD_NONE)
		return -ENOMEM;
	h->tracks.list[span.track].has_places |= span.place != h->tracks.list[span.track].place;
	h->spans[h->count++] = span;
	return 0;
}

static int add_record(struct html_timeline *h, const struct timeline_record *record,
		      const uint32_t *stacks)
{
	uint32_t stack = result_record_stack(h->result, record);
	struct span span = {.start_ns = record->start_ns,
			    .duration_ns = record->duration_ns,
			    .bytes = record->bytes,
			    .node = record->graph_node,
			    .place = record->place.number,
			    .stack = stack < h->result->stack_count ? stacks[stack] : NONE,
			    .shape = record->shape,
			    .correlation = record->correlation,
			    .kind = record->kind};

	if (span.stack != NONE && span.start_ns >= h->sums.first_ns &&
	    span.start_ns <= h->sums.last_ns) {
		if (class_of(span.duration_ns) < h->shortest)
			return timeline_sums_add(&h->sums,
						 (struct timeline_sum){.place = span.place,
								       .stack = span.stack,
								       .kind = span.kind,
								       .first_ns = span.start_ns,
								       .ns = span.duration_ns,
								       .bytes = span.bytes,
								       .count = 1});
		if (h->count < h->room)
			return add_span(h, span);
	}
	h->lost++; /* not the record that the first pass read */
	return 0;
}

static int read_records(struct html_timeline *h, const uint32_t *stacks)
{
	struct timeline_reader *reader = timeline_reader_new(h->result->timeline);
	const struct timeline_record *record;
	uint64_t seen = 0;
	int err = 0;

	h->spans = malloc((h->room + 1) * sizeof(*h->spans));
	if (!reader || !h->spans)
		err = -ENOMEM;
	while (!err && seen < h->readable && timeline_reader_next(reader, &record) == 1) {
		seen++;
		err = add_record(h, record, stacks);
	}
	timeline_reader_free(reader);
	h->lost += h->readable - seen;
	return err;
}

/* Adds the sums. Returns 0, or -ENOMEM. */
static int add_sums(struct html_timeline *h)
{
	struct timeline_sums *sums = &h->sums;
	struct span *grown =
		realloc(h->spans, ((size_t)h->count + sums->all.count + 1) * sizeof(*grown));
	int err = grown ? 0 : -ENOMEM;

	if (grown)
		h->spans = grown;
	timeline_sums_order(sums);
	h->sum_count = sums->all.count;
	for (uint32_t i = 0; i < h->sum_count && !err; i++) {
		const struct timeline_sum *sum = &sums->all.list[i];

		err = add_span(h, (struct span){.start_ns = sum->first_ns,
						.duration_ns = sum->ns,
						.bytes = sum->bytes,
						.node = sum->count,
						.place = sum->place,
						.stack = sum->stack,
						.kind = (uint8_t)sum->kind,
						.is_sum = true});
	}
	timeline_sums_release(sums);
	return err;
}

/* ---- order ---- */

static struct span *span_at(const struct html_timeline *h, uint32_t i)
{
	return &h->spans[h->order ? h->order[i] : i];
}

/* Gathers the spans of each track and lane, otherwise in their order. Returns 0, or -ENOMEM. */
static int gather_spans(struct html_timeline *h)
{
	size_t lanes = h->tracks.count * (size_t)LANES;
	uint32_t *order = malloc((h->count + (size_t)1) * sizeof(*order));
	uint32_t *next = calloc(lanes + 2, sizeof(*next));

	if (!order || !next) {
		free(order);
		free(next);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < h->count; i++)
		next[h->spans[i].track * LANES + h->spans[i].lane + 2]++;
	for (size_t i = 2; i < lanes + 2; i++)
		next[i] += next[i - 1];
	for (uint32_t i = 0; i < h->count; i++) {
		const struct span *span = span_at(h, i);

		order[next[span->track * LANES + span->lane + 1]++] = (uint32_t)(span - h->spans);
	}
	free(next);
	free(h->order);
	h->order = order;
	return 0;
}

/* Compares spans of one track by time. */
static int compare_spans(const void *a, const void *b, void *spans)
{
	const struct span *x = (const struct span *)spans + *(const uint32_t *)a;
	const struct span *y = (const struct span *)spans + *(const uint32_t *)b;
	int order = compare_numbers(x->start_ns, y->start_ns);

	order = order ? order : compare_numbers(y->duration_ns, x->duration_ns);
	return order ? order : compare_numbers(x->correlation, y->correlation);
}

/* Sorts each track by time. As a rule it is sorted. */
static void sort_tracks(struct html_timeline *h)
{
	bool is_sorted = true;

	for (uint32_t first = 0, i = 1; i <= h->count; i++) {
		if (i < h->count && span_at(h, i)->track == span_at(h, first)->track) {
			is_sorted &= compare_spans(&h->order[i - 1], &h->order[i], h->spans) <= 0;
			continue;
		}
		if (!is_sorted)
			qsort_r(&h->order[first], i - first, sizeof(*h->order), compare_spans,
				h->spans);
		is_sorted = true;
		first = i;
	}
}

/*
 * Gives spans in order of their start the first lane of their track that is free. What overlaps
 * more is in the last.
 */
static void choose_lanes(struct html_timeline *h)
{
	uint64_t free_ns[LANES];

	for (uint32_t i = 0; i < h->count; i++) {
		struct span *span = span_at(h, i);
		struct track *track = &h->tracks.list[span->track];
		uint64_t jitter_ns = smaller_of(span->duration_ns / 4, TREMBLING_NS);
		uint64_t end_ns = saturated_sum(span->start_ns, span->duration_ns);

		if (i == 0 || span_at(h, i - 1)->track != span->track)
			memset(free_ns, 0, sizeof(free_ns));
		while (free_ns[span->lane] > saturated_sum(span->start_ns, jitter_ns) &&
		       span->lane + 1u < track->most_lanes)
			span->lane++;
		track->is_crowded |= end_ns < free_ns[span->lane];
		free_ns[span->lane] = larger_of(free_ns[span->lane], end_ns);
	}
}

/* Puts spans in order of track, lane and start. Returns 0, or -ENOMEM. */
static int order_spans(struct html_timeline *h)
{
	int err = gather_spans(h);

	h->runs = malloc((PART_SPANS + 1) * sizeof(*h->runs));
	if (err || !h->runs)
		return -ENOMEM;
	sort_tracks(h);
	choose_lanes(h);
	return gather_spans(h);
}

/* ---- writing ---- */

static const char part_begin[] =
	"</script>\n<script type=\"application/octet-stream\" class=\"timeline\">";

/* Writes four bytes, the lowest first. Numbers that do not fit are LARGE. */
static void put_word(struct deflated *data, uint64_t number)
{
	uint32_t word = htole32(number < LARGE ? (uint32_t)number : LARGE);

	deflated_bytes(data, &word, sizeof(word));
}

static struct deflated *begin_part(enum part_kind kind, uint32_t spans, FILE *out)
{
	struct deflated *data;

	fputs(part_begin, out);
	data = deflated_new(out);
	if (!data)
		return NULL;
	put_word(data, kind);
	put_word(data, spans);
	return data;
}

static uint64_t signed_number(uint64_t a, uint64_t b)
{
	return a >= b ? (a - b) << 1 : ((b - a) << 1) - 1;
}

/* Returns the flags of the run that span `i` begins. */
static uint8_t flags_at(const struct html_timeline *h, uint32_t i)
{
	const struct span *span = span_at(h, i), *last = i > 0 ? span_at(h, i - 1) : NULL;
	const struct track *track = &h->tracks.list[span->track];
	bool begins_track = !last || span->track != last->track;

	return (begins_track ? RUN_BEGINS_TRACK : 0) |
	       (begins_track || span->lane != last->lane ? RUN_BEGINS_LANE : 0) |
	       (track->is_crowded && span->lane + 1u == track->most_lanes ? RUN_IS_CROWDED : 0) |
	       (span->is_sum ? RUN_OF_SUMS : 0) | (track->has_places ? RUN_OF_PLACES : 0);
}

/* Lists the runs of a part in h->runs, and its end behind them. Returns their number. */
static uint32_t list_runs(struct html_timeline *h, uint32_t from, uint32_t end)
{
	uint32_t count = 0;

	for (uint32_t i = from; i < end; i++) {
		const struct span *span = span_at(h, i),
				  *last = i > from ? span_at(h, i - 1) : NULL;
		uint8_t flags = flags_at(h, i);

		if (!last || flags & (RUN_BEGINS_TRACK | RUN_BEGINS_LANE) ||
		    span->kind != last->kind || span->is_sum != last->is_sum)
			h->runs[count++] = (struct run){i, flags};
	}
	h->runs[count] = (struct run){end, 0};
	return count;
}

static uint32_t place_number(const struct html_timeline *h, const struct span *span,
			     const uint32_t *places)
{
	return span->place < h->result->place_count ? places[span->place] + 1 : 0;
}

static void write_runs(const struct html_timeline *h, struct deflated *data, const uint32_t *places,
		       uint32_t count)
{
	deflated_number(data, count);
	for (int column = 0; column < 5; column++) {
		for (const struct run *run = h->runs; run < h->runs + count; run++) {
			const struct span *span = span_at(h, run->first);

			deflated_number(data, column == 0   ? run->flags
					      : column == 1 ? span->kind
					      : column == 2 ? place_number(h, span, places)
					      : column == 3
						      ? run[1].first - run->first
						      : signed_number(span->start_ns,
								      h->result->totals.start_ns));
		}
	}
}

/* Writes a column of spans [from, end). `value` is an expression in `span`, the span `i`. */
#define COLUMN(put, from, end, value)                            \
	do {                                                     \
		for (uint32_t i = (from); i < (end); i++) {      \
			const struct span *span = span_at(h, i); \
                                                                 \
			put(data, value);                        \
		}                                                \
	} while (0)

/* Returns how much later a span starts than the one before in its run. */
static uint64_t step_to(const struct html_timeline *h, const struct run *run, uint32_t i)
{
	return i > run->first ? span_at(h, i)->start_ns - span_at(h, i - 1)->start_ns : 0;
}

/* Writes the numbers that a run has besides its words. */
static void write_rest(const struct html_timeline *h, struct deflated *data, const struct run *run,
		       const uint32_t *places)
{
	for (uint32_t i = run->first; i < run[1].first; i++) {
		if (step_to(h, run, i) >= LARGE)
			deflated_number(data, step_to(h, run, i));
		if (span_at(h, i)->duration_ns >= LARGE)
			deflated_number(data, span_at(h, i)->duration_ns);
	}
	if (run->flags & RUN_OF_SUMS)
		COLUMN(deflated_number, run->first, run[1].first, span->node);
	if (run->flags & RUN_OF_PLACES)
		COLUMN(deflated_number, run->first, run[1].first, place_number(h, span, places));
}

static int write_spans(struct html_timeline *h, const uint32_t *places, uint32_t from, uint32_t end,
		       FILE *out)
{
	struct deflated *data = begin_part(PART_OF_SPANS, end - from, out);
	const struct run *last = h->runs + list_runs(h, from, end);

	if (!data)
		return -ENOMEM;
	for (const struct run *run = h->runs; run < last; run++)
		for (uint32_t i = run->first; i < run[1].first; i++)
			put_word(data, step_to(h, run, i));
	COLUMN(put_word, from, end, span->duration_ns);
	COLUMN(put_word, from, end, span->stack);
	write_runs(h, data, places, (uint32_t)(last - h->runs));
	for (const struct run *run = h->runs; run < last; run++)
		write_rest(h, data, run, places);
	return deflated_finish(data);
}

static int write_details(const struct html_timeline *h, uint32_t from, uint32_t end, FILE *out)
{
	struct deflated *data = begin_part(PART_OF_DETAILS, end - from, out);

	if (!data)
		return -ENOMEM;
	COLUMN(put_word, from, end,
	       span->correlation - (i > from ? span_at(h, i - 1)->correlation : 0));
	COLUMN(put_word, from, end, span->shape);
	COLUMN(deflated_number, from, end, span->is_sum ? 0 : span->node);
	COLUMN(deflated_number, from, end, span->bytes);
	return deflated_finish(data);
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

static int write_head(const struct html_timeline *h, FILE *out)
{
	struct timeline_stats stats = timeline_stats(h->result->timeline);
	const char *reason = stats.error == -E2BIG ? "there are too many"
			     : stats.error         ? strerror(-stats.error)
			     : h->lost > 0         ? "its file could not be read"
						   : "";
	struct deflated *data = begin_part(PART_HEAD, h->count, out);

	if (!data)
		return -ENOMEM;
	deflated_number(data, h->sum_count);
	deflated_number(data, h->sums.records);
	deflated_number(data, saturated_sum(stats.lost, h->lost));
	deflated_number(data, stats.lost_shapes);
	deflated_number(data, strlen(reason));
	deflated_bytes(data, reason, strlen(reason));
	write_shapes(h->result->timeline, data);
	return deflated_finish(data);
}

static uint32_t end_of_part(const struct html_timeline *h, uint32_t from)
{
	return h->count - from < PART_SPANS ? h->count : from + PART_SPANS;
}

int html_timeline_write(struct html_timeline *h, const uint32_t *stacks, const uint32_t *places,
			FILE *out)
{
	int err;

	if (!h->result->timeline)
		return 0;
	err = read_records(h, stacks);
	err = err ? err : add_sums(h);
	err = err ? err : order_spans(h);
	err = err ? err : write_head(h, out);
	for (uint32_t at = 0; at < h->count && !err; at += PART_SPANS)
		err = write_spans(h, places, at, end_of_part(h, at), out);
	for (uint32_t at = 0; at < h->count && !err; at += PART_SPANS)
		err = write_details(h, at, end_of_part(h, at), out);
	return err;
}
