/* SPDX-License-Identifier: MIT */
/* Random operations and waits: nothing is lost or counted twice. */
#include "attribution_bench.h"

struct totals_seen {
	uint64_t spans, span_ns, operations, ns, bytes, waits, wait_ns, stall_ns, matched;
	uint64_t own, own_ns; /* the one process with tallies */
};

static void random_operation(struct prng *r, struct bench *b, struct totals_seen *seen)
{
	struct gpu_operation o = {.work = (uint32_t)prng_below(r, GPU_WORKS),
				  .start_ns = prng_bits(r, 20),
				  .duration_ns = prng_bits(r, 16),
				  .bytes = prng_bits(r, 30),
				  .process = (uint32_t)prng_below(r, 4),
				  .device = (uint32_t)prng_below(r, 3),
				  .stream = (uint32_t)prng_bits(r, 6),
				  .graph_node = prng_chance(r, 20) ? prng_bits(r, 34) : 0,
				  .bad_time = prng_chance(r, 3),
				  .outside = (uint8_t)prng_below(r, GPU_OUTSIDES)};
	const uint32_t stacks[] = {b->launch.number, b->capture.number, STACK_EMPTY.number,
				   LAUNCH_UNKNOWN.number};
	uint32_t stack = stacks[prng_below(r, 4)];
	uint32_t origin =
		attribution_origin(&b->attribution, LAUNCH_STACK(stack), (uint32_t)prng_bits(r, 8))
			.number;
	bool is_instant = gpu_work_is_instant(o.work);

	if (o.work == GPU_WORK_KERNEL)
		o.name = "k";
	if (is_instant || o.bad_time)
		o.duration_ns = 0;
	if (gpu_work_has_no_launch(o.work))
		origin = LAUNCH_NONE_NEEDED.number;
	else if (!is_instant)
		seen->matched += origin != LAUNCH_UNKNOWN.number;
	attribution_add(&b->attribution, ORIGIN_ID(origin), prng_bits(r, 20), &o);
	seen->operations++;
	seen->ns += o.duration_ns;
	seen->bytes += o.bytes;
	seen->spans += !is_instant && !gpu_work_is_stall(o.work);
	seen->stall_ns += gpu_work_is_stall(o.work) ? o.duration_ns : 0;
	if (o.process == b->process->id) {
		seen->own++;
		seen->own_ns += o.duration_ns;
	}
}

static void random_wait(struct prng *r, struct bench *b, struct totals_seen *seen)
{
	uint64_t ns = prng_bits(r, 16);

	wait_for(b, b->waiter, prng_bits(r, 20), ns, prng_chance(r, 50), (uint32_t)prng_bits(r, 6));
	seen->waits++;
	seen->wait_ns += ns;
}

static void check(struct prng *r, struct bench *b, const struct totals_seen *seen)
{
	const struct ledger_gpu *gpu = &b->ledger.gpu;
	struct totals_seen got = {0};
	uint32_t count, at = 0;
	const struct profile_row *rows = profile_rows(b->profile, &count);
	const struct work_sum *sum;

	for (uint32_t i = 0; i < count; i++) {
		if (rows[i].kind == ROW_GPU) {
			got.spans += rows[i].count;
			got.span_ns += rows[i].ns;
		} else {
			got.wait_ns += rows[i].ns;
		}
	}
	for (uint32_t i = 0; i < gpu->row_count; i++) {
		got.operations += gpu->rows[i].count;
		got.ns += gpu->rows[i].ns;
		got.bytes += gpu->rows[i].bytes;
	}
	EXPECT(r, got.spans == seen->spans && got.span_ns == seen->ns - seen->stall_ns);
	EXPECT(r, got.operations == seen->operations && got.ns == seen->ns);
	EXPECT(r, got.bytes == seen->bytes);
	EXPECT(r, got.wait_ns == seen->wait_ns + seen->stall_ns);
	EXPECT(r, b->ledger.calls.wait_ns == seen->wait_ns);
	EXPECT(r, b->ledger.calls.waits == seen->waits);
	EXPECT(r, gpu->matched == seen->matched);
	got.operations = got.ns = 0;
	while ((sum = work_tally_next(&b->process->counted, &at))) {
		got.operations += sum->count;
		got.ns += sum->ns;
	}
	/* the process's tallies have all of its work, except past a limit */
	EXPECT(r, b->process->counted.overflowed ||
			  (got.operations == seen->own && got.ns == seen->own_ns));
	EXPECT(r, got.operations <= seen->own && got.ns <= seen->own_ns);
}

/* Adds work in any order, with any bound and failing memory. All time is in the profile and in
 * the totals. */
static void random_work(struct prng *r)
{
	struct totals_seen seen = {0};
	uint64_t events = prng_bits(r, 11), now = 0;
	struct bench *b;

	bound = prng_chance(r, 50) ? (uint32_t)prng_bits(r, 7) : real_bound;
	b = new_bench((uint32_t)prng_below(r, ALL + 1), true);
	if (prng_chance(r, 50))
		b->quota.limit = prng_bits(r, 14);
	for (uint64_t i = 0; i < events; i++) {
		if (prng_chance(r, 2))
			failing_allocation = 1 + (uint32_t)prng_bits(r, 2);
		if (prng_chance(r, 80))
			random_operation(r, b, &seen);
		else
			random_wait(r, b, &seen);
		if (prng_chance(r, 2))
			addons_advance(&b->addons, now += prng_bits(r, 31));
	}
	failing_allocation = 0;
	finish(b);
	check(r, b, &seen);
	free_bench(b);
}

static void nothing_is_lost_or_counted_twice(void **state)
{
	uint64_t rounds = unit_number("UNIT_ROUNDS", getenv("UNDER_VALGRIND") ? 10 : 300);

	(void)state;
	for (uint64_t round = 0; round < rounds; round++) {
		struct prng r = prng_round(round);

		random_work(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_lost_or_counted_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
