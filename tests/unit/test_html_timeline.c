/* SPDX-License-Identifier: MIT */
/* The timeline in a page, read again as profiler/web/html_timeline.h describes it. */
#include "made_result.h"
#include "own_folder.h"
#include "unpack.h"
#include "profiler/web/html_timeline.h"

#define BEGIN "</script>\n<script type=\"application/octet-stream\" class=\"timeline\">"
#define START UINT64_C(123456789000000)

enum { STACKS = 40, PLACES = 6, MOST = 140000 };

/* A record as the page has it. */
struct found {
	struct timeline_record record; /* start_ns: with the command's start */
	uint64_t count;                /* of a sum, else 0 */
	uint64_t flags;                /* of its run, without "begins" behind the first span */
};

struct parts {
	struct found *list;
	uint32_t count, detailed;
	uint64_t spans, sums, summed, lost, lost_shapes;
	char *reason;
	uint64_t shape_count, shapes[9][4];
	int heads;
};

enum { BEGINS_TRACK = 1, BEGINS_LANE = 2, IS_CROWDED = 4, OF_SUMS = 8, OF_PLACES = 16 };

static struct made_result made;
static uint32_t stack_numbers[STACKS + 1], place_numbers[PLACES];
static struct place places[PLACES];

/* Stacks and places get numbers in the page that differ from the result's. */
static struct timeline *begin(void)
{
	struct timeline *t = timeline_new(folder, NULL);

	assert_non_null(t);
	made_begin(&made);
	for (uint32_t i = 0; i < STACKS; i++)
		made_push(&made, RESULT_ROOT, "f");
	for (uint32_t i = 0; i <= STACKS; i++)
		stack_numbers[i] = STACKS - i;
	for (uint32_t i = 0; i < PLACES; i++) {
		places[i] = place_unknown();
		place_numbers[i] = 10 + i;
	}
	made.result.places = places;
	made.result.place_count = PLACES;
	made.result.totals.start_ns = START;
	made.result.timeline = t;
	return t;
}

static void end(struct timeline *t)
{
	timeline_free(t);
	made_end(&made);
}

static uint64_t *read_column(struct unpacked *u, uint64_t count)
{
	uint64_t *column = calloc(count + 1, sizeof(*column));

	assert_non_null(column);
	for (uint64_t i = 0; i < count; i++)
		column[i] = unpack_number(u);
	return column;
}

static uint64_t *read_words(struct unpacked *u, uint64_t count)
{
	uint64_t *column = calloc(count + 1, sizeof(*column));

	assert_non_null(column);
	for (uint64_t i = 0; i < count; i++)
		for (int shift = 0; shift < 32; shift += 8) {
			assert_true(u->at < u->size);
			column[i] |= (uint64_t)u->bytes[u->at++] << shift;
		}
	return column;
}

/* Returns a number that may not have fit into its word. */
static uint64_t word_or_number(struct unpacked *u, uint64_t word)
{
	return word < UINT32_MAX ? word : unpack_number(u);
}

/* Decodes a signed difference, modulo 2^64. */
static uint64_t from_signed(uint64_t number)
{
	return number & 1 ? -(number / 2) - 1 : number / 2;
}

static void read_spans(struct parts *p, struct unpacked *u, uint64_t count)
{
	uint64_t runs, *head[5], *columns[3];
	struct found *found;

	for (int i = 0; i < 3; i++)
		columns[i] = read_words(u, count);
	runs = unpack_number(u);
	for (int i = 0; i < 5; i++)
		head[i] = read_column(u, runs);
	p->list = realloc(p->list, (p->count + count) * sizeof(*p->list));
	assert_non_null(p->list);
	found = p->list + p->count;
	for (uint64_t g = 0, at = 0; g < runs; g++) {
		uint64_t start = START + from_signed(head[4][g]);

		assert_true(head[3][g] > 0);
		for (uint64_t i = 0; i < head[3][g]; i++, at++) {
			start += word_or_number(u, columns[0][at]);
			found[at] = (struct found){
				.record = {.kind = (uint8_t)head[1][g],
					   .place = {(uint32_t)head[2][g] - 1},
					   .start_ns = start,
					   .duration_ns = word_or_number(u, columns[1][at]),
					   .stack = {(uint32_t)columns[2][at]}},
				.flags = i ? head[0][g] & (IS_CROWDED | OF_SUMS | OF_PLACES)
					   : head[0][g]};
		}
		for (uint64_t i = at - head[3][g]; head[0][g] & OF_SUMS && i < at; i++)
			found[i].count = unpack_number(u);
		for (uint64_t i = at - head[3][g]; head[0][g] & OF_PLACES && i < at; i++)
			found[i].record.place.number = (uint32_t)unpack_number(u) - 1;
	}
	p->count += (uint32_t)count;
	for (int i = 0; i < 5; i++)
		free(head[i]);
	for (int i = 0; i < 3; i++)
		free(columns[i]);
}

static void read_details(struct parts *p, struct unpacked *u, uint64_t count)
{
	uint64_t correlation = 0, *columns[4];

	assert_true(p->detailed + count <= p->count && p->count == p->spans);
	for (int i = 0; i < 4; i++)
		columns[i] = i < 2 ? read_words(u, count) : read_column(u, count);
	for (uint64_t i = 0; i < count; i++) {
		struct timeline_record *record = &p->list[p->detailed++].record;

		correlation += columns[0][i];
		record->correlation = (uint32_t)correlation;
		record->shape = (uint32_t)columns[1][i];
		record->graph_node = columns[2][i];
		record->bytes = columns[3][i];
	}
	for (int i = 0; i < 4; i++)
		free(columns[i]);
}

static void read_head(struct parts *p, struct unpacked *u)
{
	uint64_t size;

	p->sums = unpack_number(u);
	p->summed = unpack_number(u);
	p->lost = unpack_number(u);
	p->lost_shapes = unpack_number(u);
	size = unpack_number(u);
	p->reason = strndup((const char *)u->bytes + u->at, size);
	u->at += size;
	p->shape_count = unpack_number(u);
	assert_true(p->shape_count <= 4);
	for (int column = 0; column < 9; column++)
		for (uint64_t i = 0; i < p->shape_count; i++)
			p->shapes[column][i] = unpack_number(u);
	p->heads++;
}

static struct parts read_parts(const char *all)
{
	struct parts p = {0};

	for (const char *text = all; *text;) {
		const char *begin = text + strlen(BEGIN), *next;
		struct unpacked u;
		uint64_t *words;

		assert_int_equal(strncmp(text, BEGIN, strlen(BEGIN)), 0);
		assert_int_equal(p.heads, text != all);
		next = strstr(begin, BEGIN);
		next = next ? next : begin + strlen(begin);
		u = unpack(begin, (size_t)(next - begin));
		words = read_words(&u, 2);
		assert_true(words[0] <= 2);
		if (words[0] == 0)
			p.spans = words[1];
		if (words[0] == 0)
			read_head(&p, &u);
		else if (words[0] == 1)
			read_spans(&p, &u, words[1]);
		else
			read_details(&p, &u, words[1]);
		free(words);
		assert_int_equal(u.at, u.size);
		free(u.bytes);
		text = next;
	}
	assert_true(p.count == p.spans && p.detailed == p.spans);
	return p;
}

static void free_parts(struct parts *p)
{
	free(p->list);
	free(p->reason);
}

/* Writes the parts, and reads them. Calls `spoil` between the first reading and the writing. */
static struct parts write_parts(const struct html_timeline_limits *limits, void (*spoil)(void))
{
	struct html_timeline *h = html_timeline_new(&made.result, limits);
	struct parts p;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_true(h && out);
	if (spoil)
		spoil();
	assert_int_equal(html_timeline_write(h, stack_numbers, place_numbers, out), 0);
	html_timeline_free(h);
	fclose(out);
	p = read_parts(text);
	free(text);
	return p;
}

static struct timeline_record record_of(struct prng *p, uint64_t i)
{
	bool is_gpu = prng_below(p, 2);

	return (struct timeline_record){
		.kind = is_gpu ? TIMELINE_GPU_OPERATION : (uint8_t)prng_below(p, TIMELINE_KINDS),
		/* some began before the command */
		.start_ns = START - 1000 + i * 700 + prng_below(p, 3000),
		.duration_ns = prng_below(p, 4)      ? prng_below(p, 1000)
			       : prng_below(p, 5000) ? prng_below(p, 1 << 20)
						     : UINT32_MAX - 1 + prng_below(p, 4),
		.bytes = is_gpu && prng_below(p, 3) == 0 ? prng_u64(p) >> 30 : 0,
		.graph_node = is_gpu && prng_below(p, 9) == 0 ? prng_u64(p) : 0,
		.place = {(uint32_t)prng_below(p, PLACES)},
		.stack = {(uint32_t)prng_below(p, STACKS + 1)},
		.correlation = is_gpu ? (uint32_t)prng_u64(p) : 0};
}

static struct timeline_record *fill(struct timeline *t, struct prng *p, uint32_t count)
{
	struct timeline_record *records = calloc(count + 1, sizeof(*records));

	assert_non_null(records);
	for (uint32_t i = 0; i < count; i++) {
		records[i] = record_of(p, i);
		assert_int_equal(timeline_add(t, &records[i]), 0);
		records[i].stack = STACK_ID(stack_numbers[records[i].stack.number]);
		records[i].place = PLACE_ID(place_numbers[records[i].place.number]);
	}
	assert_int_equal(timeline_finish(t), 0);
	return records;
}

static int compare_bytes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct timeline_record));
}

static void nothing_without_a_timeline(void **state)
{
	struct html_timeline *h;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	made_begin(&made);
	h = html_timeline_new(&made.result, NULL);
	assert_true(h && out);
	html_timeline_mark(h, stack_numbers, place_numbers, 0);
	assert_int_equal(html_timeline_write(h, stack_numbers, place_numbers, out), 0);
	fclose(out);
	assert_string_equal(text, "");
	free(text);
	html_timeline_free(h);
	made_end(&made);
}

static void an_empty_one_has_a_head(void **state)
{
	struct timeline *t = begin();
	struct parts p;

	(void)state;
	timeline_finish(t);
	p = write_parts(NULL, NULL);
	assert_int_equal(p.count + p.spans + p.sums + p.summed + p.lost + p.shape_count, 0);
	assert_int_equal(p.heads, 1);
	assert_string_equal(p.reason, "");
	free_parts(&p);
	end(t);
}

/* Records come back in several parts: each record once, complete. */
static void records_come_back(void **state)
{
	struct prng p = prng_round(0);
	struct timeline *t = begin();
	struct timeline_record *records = fill(t, &p, MOST), *found;
	struct parts parts = write_parts(NULL, NULL);

	(void)state;
	assert_int_equal(parts.count, MOST);
	assert_int_equal(parts.sums, 0);
	assert_int_equal(parts.summed + parts.lost, 0);
	found = calloc(MOST, sizeof(*found));
	assert_non_null(found);
	for (uint32_t i = 0; i < MOST; i++)
		found[i] = parts.list[i].record;
	qsort(records, MOST, sizeof(*records), compare_bytes);
	qsort(found, MOST, sizeof(*found), compare_bytes);
	assert_memory_equal(records, found, MOST * sizeof(*found));
	free(found);
	free(records);
	free_parts(&parts);
	end(t);
}

/* Tracks are threads with one type of records, or streams. Lanes are in order, without overlap. */
static void tracks_are_rows_of_lanes(void **state)
{
	static const uint8_t types[TIMELINE_KINDS] = {0, 1, 2, 3, 1, 4};
	const struct html_timeline_limits limits = {20000, 3000};
	bool seen[5][PLACES] = {{false}}, had_lanes = false, was_crowded = false;

	(void)state;
	for (int round = 0; round < 2; round++) {
		struct prng p = prng_round(0);
		struct timeline *t = begin();
		struct parts parts;
		uint64_t end_ns = 0;
		uint32_t row = 0;

		memset(seen, 0, sizeof(seen));
		for (uint32_t i = 0; i < PLACES; i++) {
			places[i].part[PLACE_THREAD] = i / 2;
			places[i].part[PLACE_STREAM] = i % 3;
		}
		free(fill(t, &p, MOST));
		parts = write_parts(round ? &limits : NULL, NULL);
		for (uint32_t i = 0; i < parts.count; i++) {
			const struct found *f = &parts.list[i], *last = i ? f - 1 : f;
			uint64_t jitter = f->record.duration_ns / 4;
			uint32_t place = f->record.place.number - 10, type = types[f->record.kind];

			if (f->flags & BEGINS_TRACK) {
				row = type == 2 ? place % 3 : place / 2;
				assert_false(seen[type][row]);
				seen[type][row] = true;
			}
			assert_int_equal(row, type == 2 ? place % 3 : place / 2);
			if (f->flags & (BEGINS_TRACK | BEGINS_LANE)) {
				had_lanes |= !(f->flags & BEGINS_TRACK);
				end_ns = 0;
			} else {
				assert_int_equal(types[last->record.kind], type);
				assert_true(f->record.start_ns >= last->record.start_ns);
			}
			was_crowded |= f->flags & IS_CROWDED;
			if (!(f->flags & IS_CROWDED))
				assert_true(f->record.start_ns + (jitter < 1000 ? jitter : 1000) >=
						    end_ns ||
					    type == 0 || type > 2);
			if (!(f->flags & IS_CROWDED))
				assert_true(timeline_end_ns(&f->record) >= end_ns);
			end_ns = timeline_end_ns(&f->record);
		}
		assert_true(had_lanes && was_crowded);
		free_parts(&parts);
		end(t);
	}
}

/* Adds count, ns and bytes, by kind, place and stack. */
static void add_up(uint64_t sums[][3], const struct timeline_record *r, uint64_t count)
{
	uint32_t at = (r->kind * PLACES + r->place.number - 10) * (STACKS + 1) + r->stack.number;

	sums[at][0] += count;
	sums[at][1] += r->duration_ns;
	sums[at][2] += r->bytes;
}

/* The longest records are kept, up to the limit. The others add up. */
static void short_records_add_up(void **state)
{
	enum { KEYS = TIMELINE_KINDS * PLACES * (STACKS + 1) };
	const struct html_timeline_limits limits[] = {{20000, 30000}, {0, 5000}, {10000, 1}};

	(void)state;
	for (uint32_t round = 0; round < 3; round++) {
		struct prng p = prng_round(round);
		struct timeline *t = begin();
		struct timeline_record *records = fill(t, &p, MOST);
		struct parts parts = write_parts(&limits[round], NULL);
		uint64_t(*expected)[3] = calloc(KEYS, sizeof(*expected));
		uint64_t(*sums)[3] = calloc(KEYS, sizeof(*sums));
		uint64_t shortest = UINT64_MAX, longest = 0;

		assert_true(expected && sums);
		for (uint32_t i = 0; i < MOST; i++)
			add_up(expected, &records[i], 1);
		for (uint32_t i = 0; i < parts.count; i++) {
			const struct found *f = &parts.list[i];

			add_up(sums, &f->record, f->count ? f->count : 1);
			if (!f->count && f->record.duration_ns < shortest)
				shortest = f->record.duration_ns;
			if (f->count == 1 && f->record.duration_ns > longest)
				longest = f->record.duration_ns;
		}
		assert_memory_equal(expected, sums, KEYS * sizeof(*sums));
		assert_true(parts.count - parts.sums <= limits[round].records);
		assert_true(parts.count - parts.sums >= limits[round].records / 2);
		assert_true(longest <= shortest);
		assert_int_equal(parts.count - parts.sums + parts.summed, MOST);
		/* fewer keys than that there cannot be */
		assert_true(parts.sums <= (limits[round].sums > KEYS ? limits[round].sums : KEYS));
		assert_true(parts.sums > 1000);
		free(expected);
		free(sums);
		free(records);
		free_parts(&parts);
		end(t);
	}
}

/* One behind the other, none before its first record. */
static void sums_do_not_overlap(void **state)
{
	const struct html_timeline_limits limits = {0, 100};
	struct timeline *t = begin();
	struct parts parts;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(
			timeline_add(t, &(struct timeline_record){.kind = TIMELINE_GPU_OPERATION,
								  .start_ns = START + i * 1000,
								  .duration_ns = 900,
								  .stack = {i % 3},
								  .place = {1}}),
			0);
	timeline_finish(t);
	parts = write_parts(&limits, NULL);
	assert_in_range(parts.count, 10, 100);
	for (uint32_t i = 1; i < parts.count; i++) {
		const struct timeline_record *last = &parts.list[i - 1].record;

		assert_true(last->start_ns + last->duration_ns <= parts.list[i].record.start_ns);
	}
	assert_true(parts.list[0].record.start_ns == START);
	free_parts(&parts);
	end(t);
}

/* Samples and calls have stacks by different tables; what records have is marked. */
static void stacks_are_the_named_ones(void **state)
{
	static const uint32_t of_samples[] = {0, 5, 6}, of_calls[] = {0, 7, 8};
	uint32_t stacks[STACKS + 1] = {0}, marked[PLACES] = {0};
	struct timeline *t = begin();
	struct html_timeline *h;
	struct parts parts;

	(void)state;
	made.result.sample_stacks = of_samples;
	made.result.call_stacks = of_calls;
	timeline_add(t, &(struct timeline_record){.kind = TIMELINE_CPU_SAMPLE, .stack = {1}});
	timeline_add(t,
		     &(struct timeline_record){
			     .kind = TIMELINE_LAUNCH, .start_ns = 1, .stack = {2}, .place = {3}});
	timeline_finish(t);
	parts = write_parts(NULL, NULL);
	assert_int_equal(parts.count, 2);
	assert_int_equal(parts.list[0].record.stack.number, stack_numbers[5]);
	assert_int_equal(parts.list[1].record.stack.number, stack_numbers[8]);
	free_parts(&parts);
	h = html_timeline_new(&made.result, NULL);
	assert_non_null(h);
	html_timeline_mark(h, stacks, marked, 1);
	for (uint32_t i = 0; i <= STACKS; i++)
		assert_int_equal(stacks[i], i == 5 || i == 8);
	for (uint32_t i = 0; i < PLACES; i++)
		assert_int_equal(marked[i], i == 0 || i == 3);
	html_timeline_free(h);
	end(t);
}

static void shapes_and_losses_are_in_the_head(void **state)
{
	const struct timeline_limits limits = {.records = 2, .shapes = 1};
	const struct timeline_shape shape = {{1, 2, 3}, {4, 5, 6}, 7, 8, 9},
				    other = {{9, 9, 9}, {1, 1, 1}, 0, 0, 0};
	struct timeline *t = begin();
	struct parts parts;

	(void)state;
	timeline_free(t);
	made.result.timeline = t = timeline_new(folder, &limits);
	for (int i = 0; i < 5; i++)
		timeline_add(t, &(struct timeline_record){
					.kind = TIMELINE_GPU_OPERATION,
					.shape = timeline_number_shape(t, i ? &other : &shape)});
	timeline_finish(t);
	parts = write_parts(NULL, NULL);
	assert_int_equal(parts.count, 2);
	assert_int_equal(parts.lost, 3);
	assert_int_equal(parts.lost_shapes, 4);
	assert_string_equal(parts.reason, "there are too many");
	assert_int_equal(parts.shape_count, 1);
	for (uint64_t i = 0; i < 9; i++)
		assert_int_equal(parts.shapes[i][0], i + 1);
	assert_int_equal(parts.list[0].record.shape, 1);
	free_parts(&parts);
	end(t);
}

static int timeline_file;

static void cut_file(void)
{
	assert_int_equal(ftruncate(timeline_file, 100 * sizeof(struct timeline_record)), 0);
}

static void change_file(void)
{
	static const struct timeline_record strange = {.kind = TIMELINE_WAIT, .stack = {1}};

	assert_int_equal(pwrite(timeline_file, &strange, sizeof(strange), 0), sizeof(strange));
}

/* The file can be changed by others. */
static void what_cannot_be_read_again_is_lost(void **state)
{
	void (*const ways[])(void) = {cut_file, change_file, NULL};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct timeline *t;
		struct parts parts;

		timeline_file = open("/dev/null", O_RDONLY | O_CLOEXEC);
		close(timeline_file); /* the next one's number */
		t = begin();
		for (uint64_t k = 0; k < 20000; k++)
			timeline_add(t, &(struct timeline_record){.kind = TIMELINE_GPU_OPERATION,
								  .start_ns = START + k,
								  .stack = {k % 5}});
		/* makes the foreign record look like one of ours */
		timeline_add(t, &(struct timeline_record){.kind = TIMELINE_WAIT,
							  .start_ns = START + 9,
							  .stack = {1}});
		timeline_finish(t);
		if (i == 2)
			cut_file();
		parts = write_parts(NULL, ways[i]);
		assert_int_equal(parts.count + parts.lost, 20001);
		assert_true(parts.lost > 0);
		assert_string_equal(parts.reason, "its file could not be read");
		free_parts(&parts);
		end(t);
	}
}

static void a_full_disk_is_an_error(void **state)
{
	struct timeline *t = begin();
	struct html_timeline *h;
	FILE *out = fopen("/dev/full", "w");

	(void)state;
	timeline_finish(t);
	h = html_timeline_new(&made.result, NULL);
	assert_true(h && out);
	setvbuf(out, NULL, _IONBF, 0);
	assert_int_equal(html_timeline_write(h, stack_numbers, place_numbers, out), -EIO);
	fclose(out);
	html_timeline_free(h);
	end(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_without_a_timeline),
		cmocka_unit_test(an_empty_one_has_a_head),
		cmocka_unit_test(records_come_back),
		cmocka_unit_test(tracks_are_rows_of_lanes),
		cmocka_unit_test(short_records_add_up),
		cmocka_unit_test(sums_do_not_overlap),
		cmocka_unit_test(stacks_are_the_named_ones),
		cmocka_unit_test(shapes_and_losses_are_in_the_head),
		cmocka_unit_test(what_cannot_be_read_again_is_lost),
		cmocka_unit_test(a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
