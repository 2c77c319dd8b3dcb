/* SPDX-License-Identifier: MIT */
/* Time of idle devices: exact sums, charged to what the launching threads did. */
#include "unit.h"
#include "profiler/addons/idle_gaps.h"

#define MOST 64
#define MS UINT64_C(1000000)
#define LAUNCH 50 /* launches of device d have this stack and d */

struct bench {
	struct idle_operation operations[MOST];
	struct idle_activity off[MOST], samples[MOST];
	struct idle_thread threads[4];
	struct idle_device devices[2];
	struct idle_segment segment;
	/* sums by reason and stack; by device; by part */
	uint64_t ns[IDLE_REASONS][2 * MOST], of_device[2], of_part[3];
};

static void note(void *context, const struct idle_charge *charge)
{
	struct bench *b = context;

	assert_true(charge->ns > 0 && charge->stack.number < 2 * MOST && charge->device < 2);
	b->ns[charge->reason][charge->stack.number] += charge->ns;
	b->of_device[charge->device] += charge->ns;
	b->of_part[charge->part] += charge->ns;
}

static struct bench *begin(uint64_t from, uint64_t to)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	for (int i = 0; i < 4; i++)
		b->threads[i].to_ns = IDLE_NEVER;
	b->devices[0].first_ns = b->devices[1].first_ns = UINT64_MAX;
	b->segment = (struct idle_segment){.from_ns = from,
					   .to_ns = to,
					   .operations = b->operations,
					   .off_cpu = b->off,
					   .samples = b->samples,
					   .sample_ns = 20 * MS,
					   .threads = b->threads,
					   .thread_count = 4,
					   .devices = b->devices,
					   .device_count = 2};
	return b;
}

static void ran(struct bench *b, uint32_t device, uint32_t thread, uint64_t launched, uint64_t from,
		uint64_t to)
{
	struct idle_device *d = &b->devices[device];

	b->operations[b->segment.operation_count++] =
		(struct idle_operation){from, to, launched, device, thread, {LAUNCH + device}};
	d->is_used = true;
	d->launched_ns = IDLE_NEVER;
	if (from < d->first_ns)
		d->first_ns = from;
	if (to >= d->last_ns) {
		d->last_ns = to;
		d->thread = thread;
		d->launch = STACK_ID(LAUNCH + device);
	}
}

static void off(struct bench *b, uint32_t thread, uint32_t stack, uint64_t from, uint64_t to)
{
	b->off[b->segment.off_cpu_count++] = (struct idle_activity){from, to, thread, {stack}};
}

static void sampled(struct bench *b, uint32_t thread, uint32_t stack, uint64_t at)
{
	b->samples[b->segment.sample_count++] = (struct idle_activity){at, 0, thread, {stack}};
}

static void charge(struct bench *b)
{
	assert_int_equal(idle_gaps_charge(&b->segment, note, b), 0);
}

static void divides_a_gap(void **state)
{
	struct bench *b = begin(0, 100 * MS);

	(void)state;
	ran(b, 0, 1, 0, 0, 10 * MS);
	ran(b, 0, 1, 88 * MS, 90 * MS, 100 * MS);
	off(b, 1, 1, 5 * MS, 30 * MS); /* the wait began while the device worked */
	off(b, 1, 2, 40 * MS, 60 * MS);
	off(b, 2, 3, 10 * MS, 90 * MS); /* another thread */
	sampled(b, 1, 4, 35 * MS);
	sampled(b, 1, 4, 65 * MS);
	sampled(b, 1, 5, 70 * MS);
	sampled(b, 1, 6, 95 * MS); /* no sample while it is idle */
	sampled(b, 2, 7, 70 * MS);
	charge(b);
	assert_int_equal(b->of_device[0], 80 * MS);
	assert_int_equal(b->of_part[IDLE_BETWEEN], 80 * MS);
	assert_int_equal(b->ns[IDLE_OFF_CPU][1], 20 * MS);
	assert_int_equal(b->ns[IDLE_OFF_CPU][2], 20 * MS);
	assert_int_equal(b->ns[IDLE_LAUNCHED][LAUNCH], 2 * MS);
	/* 38 ms are left for three samples */
	assert_int_equal(b->ns[IDLE_COMPUTING][4], 38 * MS * 2 / 3);
	assert_int_equal(b->ns[IDLE_COMPUTING][4] + b->ns[IDLE_COMPUTING][5], 38 * MS);
	assert_int_equal(b->ns[IDLE_COMPUTING][6] + b->ns[IDLE_COMPUTING][7], 0);
	free(b);
}

static void launched_before_the_gap(void **state)
{
	struct bench *b = begin(0, 50);

	(void)state;
	ran(b, 0, 1, 1, 5, 10);
	ran(b, 0, 1, 2, 20, 30);
	ran(b, 0, 1, 0, 40, 50);
	off(b, 1, 1, 1, 50);
	charge(b);
	assert_int_equal(b->ns[IDLE_LAUNCHED][LAUNCH], 4 + 10);
	assert_int_equal(b->ns[IDLE_NO_LAUNCH][LAUNCH], 10);
	assert_int_equal(b->ns[IDLE_UNSAMPLED][LAUNCH], 1);
	assert_int_equal(b->of_part[IDLE_BEFORE], 5);
	assert_int_equal(b->of_device[0], 25);
	free(b);
}

/* Overlapping operations, of which the one that is in front of a gap began first. */
static void overlapping_operations(void **state)
{
	struct bench *b = begin(0, 100);

	(void)state;
	ran(b, 0, 1, 1, 30, 40);
	ran(b, 0, 1, 1, 0, 60);
	ran(b, 0, 1, 1, 50, 55);
	ran(b, 0, 2, 75, 80, 100);
	ran(b, 0, 1, 90, 90, 95);
	off(b, 2, 2, 0, 100);
	charge(b);
	assert_int_equal(b->of_device[0], 20);
	assert_int_equal(b->ns[IDLE_OFF_CPU][2], 15);
	assert_int_equal(b->ns[IDLE_LAUNCHED][LAUNCH], 5);
	free(b);
}

static void before_and_after(void **state)
{
	struct bench *b = begin(0, 100);

	(void)state;
	b->threads[1] = (struct idle_thread){10, 90};
	ran(b, 0, 1, 30, 30, 50);
	off(b, 1, 1, 10, 20);
	off(b, 1, 2, 60, 80);
	charge(b);
	assert_int_equal(b->of_part[IDLE_BEFORE], 30);
	assert_int_equal(b->of_part[IDLE_AFTER], 50);
	assert_int_equal(b->ns[IDLE_NO_THREAD][LAUNCH], 10 + 10);
	assert_int_equal(b->ns[IDLE_OFF_CPU][1], 10);
	assert_int_equal(b->ns[IDLE_OFF_CPU][2], 20);
	assert_int_equal(b->ns[IDLE_UNSAMPLED][LAUNCH], 10 + 20);
	free(b);
}

/* Two devices whose gaps one thread ends: both are charged with what it did. */
static void devices_by_themselves(void **state)
{
	struct bench *b = begin(0, 100);

	(void)state;
	ran(b, 0, 1, 0, 0, 40);
	ran(b, 0, 1, 80, 80, 100);
	ran(b, 1, 1, 0, 0, 60);
	ran(b, 1, 1, 90, 90, 100);
	off(b, 1, 1, 20, 80);
	charge(b);
	assert_int_equal(b->of_device[0], 40);
	assert_int_equal(b->of_device[1], 30);
	assert_int_equal(b->ns[IDLE_OFF_CPU][1], 40 + 20);
	assert_int_equal(b->ns[IDLE_UNSAMPLED][LAUNCH + 1], 10);
	free(b);
}

/* Without samples of their own, similar gaps share those of the others; others do not. */
static void similar_gaps(void **state)
{
	struct bench *b = begin(0, 1000 * MS);

	(void)state;
	for (uint64_t i = 0; i < 10; i++) /* gaps of 6 ms */
		ran(b, 0, 1, (i + 1) * 10 * MS, i * 10 * MS + 6 * MS, (i + 1) * 10 * MS);
	for (uint64_t i = 0; i < 10; i++)
		b->operations[i].launched_ns = b->operations[i].start_ns;
	sampled(b, 1, 1, 12 * MS);
	sampled(b, 1, 1, 32 * MS);
	sampled(b, 1, 2, 52 * MS);
	ran(b, 0, 1, 600 * MS, 600 * MS, 1000 * MS); /* one of 500 ms */
	for (uint64_t i = 0; i < 25; i++)
		sampled(b, 1, 3, (110 + 19 * i) * MS);
	charge(b);
	assert_int_equal(b->of_part[IDLE_BEFORE], 6 * MS);
	assert_int_equal(b->ns[IDLE_COMPUTING][1], 36 * MS);
	assert_int_equal(b->ns[IDLE_COMPUTING][2], 18 * MS);
	assert_int_equal(b->ns[IDLE_COMPUTING][3], 500 * MS);
	assert_int_equal(b->ns[IDLE_UNSAMPLED][LAUNCH], 6 * MS);
	free(b);
}

/* One sample in a second is not what the thread computed in that second. */
static void improbable_samples(void **state)
{
	struct bench *b = begin(0, 1000 * MS);

	(void)state;
	ran(b, 0, 1, 0, 0, 1);
	ran(b, 0, 1, 999 * MS, 999 * MS, 1000 * MS);
	sampled(b, 1, 1, 500 * MS);
	charge(b);
	assert_int_equal(b->ns[IDLE_COMPUTING][1], 80 * MS);
	assert_int_equal(b->ns[IDLE_UNSAMPLED][LAUNCH], 919 * MS - 1);
	free(b);
}

/* A program's claims about its threads may overlap. */
static void overlapping_times_off_the_cpu(void **state)
{
	struct bench *b = begin(0, 100);

	(void)state;
	ran(b, 0, 1, 0, 0, 10);
	ran(b, 0, 1, 100, 90, 100);
	off(b, 1, 1, 0, 60);
	off(b, 1, 2, 10, 50);
	off(b, 1, 3, 40, 70);
	charge(b);
	assert_int_equal(b->ns[IDLE_OFF_CPU][1], 50);
	assert_int_equal(b->ns[IDLE_OFF_CPU][2], 0);
	assert_int_equal(b->ns[IDLE_OFF_CPU][3], 10);
	assert_int_equal(b->of_device[0], 80);
	free(b);
}

static void add_random(struct bench *b, struct prng *p)
{
	for (int i = 0; i < 30; i++) {
		uint64_t at = prng_below(p, 900), length = 1 + prng_below(p, 40);

		ran(b, (uint32_t)prng_below(p, 2), (uint32_t)prng_below(p, 4),
		    prng_below(p, 4) ? at - prng_below(p, at + 1) : 0, at, at + length);
	}
	for (uint32_t thread = 0; thread < 4; thread++)
		for (uint64_t at = prng_below(p, 50); at < 900;) {
			uint64_t end = at + 1 + prng_below(p, 150);

			if (b->segment.off_cpu_count == MOST)
				break;
			off(b, thread, thread, at, end);
			at = end + prng_below(p, 50);
			sampled(b, thread, 10 + thread, at);
		}
}

static uint64_t count_idle(const struct bench *b, uint32_t device)
{
	uint64_t idle = 0;

	for (uint64_t ns = b->segment.from_ns; ns < b->segment.to_ns; ns++) {
		bool is_busy = false;

		for (uint32_t i = 0; i < b->segment.operation_count; i++)
			is_busy |= b->operations[i].device == device &&
				   b->operations[i].start_ns <= ns && ns < b->operations[i].end_ns;
		idle += !is_busy;
	}
	return idle;
}

static void sums_are_exact(void **state)
{
	struct prng p = prng_round(7);

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct bench *b = begin(0, 1000), *parts = begin(0, 1000);
		uint64_t idle[2];

		add_random(b, &p);
		for (uint32_t d = 0; d < 2; d++)
			idle[d] = b->devices[d].is_used ? count_idle(b, d) : 0;
		memcpy(parts->devices, b->devices, sizeof(b->devices));
		for (uint64_t to = 1000; to > 0;) {
			struct idle_segment *s = &parts->segment;
			uint64_t from = to - 1 - prng_below(&p, to);

			memcpy(parts->operations, b->operations, sizeof(b->operations));
			memcpy(parts->off, b->off, sizeof(b->off));
			memcpy(parts->samples, b->samples, sizeof(b->samples));
			s->operation_count = b->segment.operation_count;
			s->off_cpu_count = b->segment.off_cpu_count;
			s->sample_count = b->segment.sample_count;
			s->from_ns = from;
			s->to_ns = to;
			charge(parts);
			to = from;
		}
		charge(b);
		for (uint32_t d = 0; d < 2; d++) {
			assert_int_equal(b->of_device[d], idle[d]);
			assert_int_equal(parts->of_device[d], idle[d]);
		}
		/* parts that need no samples do not depend on the division of the run */
		for (uint32_t stack = 0; stack < 2 * MOST; stack++)
			for (int reason = 0; reason < IDLE_REASONS; reason++)
				if (reason != IDLE_COMPUTING && reason != IDLE_UNSAMPLED)
					assert_int_equal(parts->ns[reason][stack],
							 b->ns[reason][stack]);
		for (int part = 0; part < 3; part++)
			assert_int_equal(parts->of_part[part], b->of_part[part]);
		free(b);
		free(parts);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(divides_a_gap),
		cmocka_unit_test(launched_before_the_gap),
		cmocka_unit_test(overlapping_operations),
		cmocka_unit_test(before_and_after),
		cmocka_unit_test(devices_by_themselves),
		cmocka_unit_test(similar_gaps),
		cmocka_unit_test(improbable_samples),
		cmocka_unit_test(overlapping_times_off_the_cpu),
		cmocka_unit_test(sums_are_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
