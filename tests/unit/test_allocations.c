/* SPDX-License-Identifier: MIT */
/* Memory at the peak and left, compared with a count that looks at everything after each event. */
#include "unit.h"
#include "profiler/addons/allocations.h"

#define ADDRESSES 24u
#define STACKS 5u
#define SCOPES 4u /* two processes with two kinds each */
#define EVENTS 600u

/* Live allocations, by process and address. */
static struct {
	bool is_there;
	uint64_t bytes;
	uint32_t stack, scope, context;
} live[2][ADDRESSES];

static struct {
	uint64_t peak, sum[STACKS], pieces[STACKS], unknown, left;
} expected[SCOPES];

static void look(uint32_t scope)
{
	uint64_t sum[STACKS] = {0}, pieces[STACKS] = {0}, all = 0;

	for (uint32_t p = 0; p < 2; p++)
		for (uint32_t i = 0; i < ADDRESSES; i++)
			if (live[p][i].is_there && live[p][i].scope == scope) {
				sum[live[p][i].stack] += live[p][i].bytes;
				pieces[live[p][i].stack]++;
				all += live[p][i].bytes;
			}
	expected[scope].left = all;
	if (all <= expected[scope].peak)
		return;
	expected[scope].peak = all;
	memcpy(expected[scope].sum, sum, sizeof(sum));
	memcpy(expected[scope].pieces, pieces, sizeof(pieces));
}

static void expect(const struct allocation_event *e)
{
	uint32_t p = e->process, at = (uint32_t)e->address;

	if (e->type == ALLOCATION_CONTEXT_ENDS) {
		for (uint32_t i = 0; i < ADDRESSES; i++)
			live[p][i].is_there &= live[p][i].context != e->context;
	} else if (e->type == ALLOCATION_MADE) {
		live[p][at].is_there = true;
		live[p][at].bytes = e->bytes;
		live[p][at].stack = e->stack.number;
		live[p][at].scope = 2 * p + e->kind;
		live[p][at].context = e->context;
	} else {
		expected[2 * p + e->kind].unknown += !live[p][at].is_there;
		live[p][at].is_there = false;
	}
	for (uint32_t s = 0; s < SCOPES; s++)
		look(s);
}

static struct allocation_event random_event(struct prng *p, uint64_t time_ns)
{
	struct allocation_event e = {.time_ns = time_ns,
				     .address = prng_below(p, ADDRESSES),
				     .bytes = prng_bits(p, 40),
				     .process = (uint32_t)prng_below(p, 2),
				     .context = (uint32_t)prng_below(p, 2),
				     .kind = (uint32_t)prng_below(p, 2),
				     .stack = {(uint32_t)prng_below(p, STACKS)}};

	e.type = prng_chance(p, 3)    ? ALLOCATION_CONTEXT_ENDS
		 : prng_chance(p, 55) ? ALLOCATION_MADE
				      : ALLOCATION_FREE;
	return e;
}

static void check(const struct allocations *a, uint64_t seed)
{
	uint64_t peak[SCOPES] = {0}, left[SCOPES] = {0};

	for (uint32_t i = 0; i < a->totals.count; i++) {
		const struct memory_total *t = &a->totals.list[i];
		uint32_t scope = 2 * t->process + t->kind;

		if (t->peak_bytes != expected[scope].peak ||
		    t->left_bytes != expected[scope].left || t->unknown != expected[scope].unknown)
			fail_msg("seed %" PRIu64 ": scope %u", seed, scope);
	}
	for (uint32_t i = 0; i < a->rows.count; i++) {
		const struct memory_row *r = &a->rows.list[i];
		const struct memory_total *t = &a->totals.list[r->total];
		uint32_t scope = 2 * t->process + t->kind;

		if (r->peak_bytes != expected[scope].sum[r->stack] ||
		    r->at_peak != expected[scope].pieces[r->stack])
			fail_msg("seed %" PRIu64 ": stack %u of scope %u", seed, r->stack, scope);
		peak[scope] += r->peak_bytes;
		left[scope] += r->left_bytes;
	}
	for (uint32_t s = 0; s < SCOPES; s++) {
		assert_int_equal(peak[s], expected[s].peak);
		assert_int_equal(left[s], expected[s].left);
	}
}

/* However late events come, as long as all are kept. */
static void peaks_are_exact_in_any_order(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(100); round++) {
		struct prng p = prng_round(round);
		struct allocation_event events[EVENTS];
		struct allocations a;

		memset(live, 0, sizeof(live));
		memset(expected, 0, sizeof(expected));
		allocations_init(&a);
		for (uint32_t i = 0; i < EVENTS; i++) {
			events[i] = random_event(&p, 10 * (i + 1));
			expect(&events[i]);
		}
		for (uint32_t i = EVENTS; i-- > 1;) {
			uint32_t other = (uint32_t)prng_below(&p, i + 1);
			struct allocation_event e = events[i];

			events[i] = events[other];
			events[other] = e;
		}
		for (uint32_t i = 0; i < EVENTS; i++)
			allocations_add(&a, &events[i]);
		allocations_finish(&a);
		assert_int_equal(a.late, 0);
		assert_int_equal(a.not_kept, 0);
		check(&a, p.seed);
		allocations_release(&a);
	}
}

/* More than are kept: the older half is taken, and what is older still is counted as late. */
static void memory_is_bounded(void **state)
{
	enum { PENDING = 4096 };
	struct allocation_event e = {.type = ALLOCATION_MADE, .bytes = 1};
	struct allocations a;

	(void)state;
	allocations_init(&a);
	a.pending_max = PENDING;
	for (uint32_t i = 0; i < 3 * PENDING; i++) {
		e.time_ns = 1000 + i;
		e.address = i;
		allocations_add(&a, &e);
	}
	assert_true(a.pending_capacity <= 2 * PENDING);
	e.time_ns = 5;
	e.address = 1000000;
	allocations_add(&a, &e);
	allocations_finish(&a);
	assert_int_equal(a.late, 1);
	assert_int_equal(a.totals.list[0].peak_bytes, 3 * PENDING + 1);
	allocations_release(&a);
}

static void what_has_no_room_is_counted(void **state)
{
	struct quota little = {.limit = 2000};
	struct allocation_event e = {.type = ALLOCATION_MADE, .bytes = 7};
	struct allocations a;

	(void)state;
	allocations_init(&a);
	a.memory = &little;
	a.passing = &little;
	for (uint32_t i = 0; i < 1000; i++) {
		e.time_ns = i;
		e.address = i;
		e.stack = STACK_ID(i);
		allocations_add(&a, &e);
	}
	allocations_finish(&a);
	assert_true(a.not_kept > 0 && a.rows.count > 0);
	assert_int_equal(a.totals.list[0].allocations + a.not_kept, 1000);
	assert_int_equal(a.totals.list[0].peak_bytes, 7 * a.totals.list[0].allocations);
	allocations_release(&a);
}

static void what_comes_after_the_recorded_part_is_left_out(void **state)
{
	const struct time_range time_range = {.from_ns = 20, .to_ns = 30};
	struct allocation_event e = {.type = ALLOCATION_MADE, .bytes = 7};
	struct allocations a;

	(void)state;
	allocations_init(&a);
	a.time_range = &time_range;
	for (e.time_ns = 10; e.time_ns < 50; e.time_ns++) {
		e.address = e.time_ns;
		allocations_add(&a, &e);
	}
	e = (struct allocation_event){.type = ALLOCATION_FREE, .time_ns = 30, .address = 10};
	allocations_add(&a, &e);
	e.type = ALLOCATION_CONTEXT_ENDS;
	allocations_add(&a, &e);
	e = (struct allocation_event){.type = ALLOCATION_POOL, .time_ns = 40, .bytes = 1};
	allocations_add(&a, &e);
	allocations_finish(&a);
	assert_int_equal(a.totals.list[0].allocations, 20);
	assert_int_equal(a.totals.list[0].left_bytes, 20 * 7);
	assert_int_equal(a.totals.list[0].peak_ns, 29);
	assert_int_equal(a.totals.list[0].unknown, 0);
	assert_int_equal(a.pools.count, 0);
	allocations_release(&a);
}

/* Forgets the peaks: what is allocated now is the first one. */
static void begin_again(void)
{
	memset(expected, 0, sizeof(expected));
	for (uint32_t s = 0; s < SCOPES; s++)
		look(s);
}

/* Whatever is forgotten meanwhile: what was allocated at the beginning counts, what had happened
 * does not. */
static void peaks_of_the_last_seconds_are_exact(void **state)
{
	uint32_t forgot_rows = 0;

	(void)state;
	for (uint64_t round = 0; round < unit_rounds(200); round++) {
		struct prng p = prng_round(round);
		uint64_t from_ns = 10 * prng_below(&p, EVENTS + 2), made = 0, got = 0;
		bool has_begun = false;
		struct allocations a;

		memset(live, 0, sizeof(live));
		memset(expected, 0, sizeof(expected));
		allocations_init(&a);
		for (uint32_t i = 0; i < EVENTS; i++) {
			struct allocation_event e = random_event(&p, 10 * (i + 1));

			if (!has_begun && e.time_ns >= from_ns)
				begin_again();
			has_begun |= e.time_ns >= from_ns;
			made += has_begun && e.type == ALLOCATION_MADE ? e.bytes : 0;
			expect(&e);
			allocations_add(&a, &e);
			if (!prng_chance(&p, 10))
				continue;
			a.forget_at = 0;
			allocations_forget(
				&a,
				prng_below(&p, (e.time_ns < from_ns ? e.time_ns : from_ns) + 1));
			forgot_rows += a.rows.count < STACKS;
		}
		if (!has_begun)
			begin_again();
		assert_true(allocations_whole_from(&a) <= from_ns);
		allocations_begin_part(&a, from_ns);
		allocations_finish(&a);
		assert_int_equal(a.late, 0);
		check(&a, p.seed);
		for (uint32_t i = 0; i < a.rows.count; i++)
			got += a.rows.list[i].allocated_bytes;
		assert_int_equal(got, made);
		allocations_release(&a);
	}
	assert_true(forgot_rows > 0);
}

/* A process that ended before has left nothing; one that ends later has. Days of such do not grow.
 */
static void processes_that_ended_before_are_forgotten(void **state)
{
	struct quota memory = {.limit = SIZE_MAX}, passing = {.limit = SIZE_MAX};
	struct allocation_event e = {.time_ns = 1};
	struct allocations a;
	size_t used = 0;

	(void)state;
	allocations_init(&a);
	a.memory = &memory;
	a.passing = &passing;
	for (e.process = 1; e.process <= 1000; e.process++) {
		e.type = ALLOCATION_MADE;
		e.address = 16 * e.process;
		e.bytes = 5;
		e.stack = STACK_ID(e.process);
		allocations_add(&a, &e);
		e.type = ALLOCATION_POOL;
		e.address++;
		allocations_add(&a, &e);
		e.time_ns++;
		e.type = ALLOCATION_PROCESS_ENDS;
		allocations_add(&a, &e);
		e.time_ns++;
		a.forget_at = 0;
		allocations_forget(&a, e.time_ns - 20);
		if (e.process == 100)
			used = memory.used;
	}
	assert_true(memory.used <= used);
	assert_true(a.rows.count <= 20 && a.totals.count <= 20 && a.pools.count <= 20);
	assert_true(a.owners.count <= 20);
	allocations_begin_part(&a, e.time_ns - 5);
	allocations_finish(&a);
	assert_int_equal(a.rows.count, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_true(a.rows.list[i].stack > 997 && a.rows.list[i].left_bytes == 5);
	assert_int_equal(a.pools.count, 3);
	allocations_release(&a);
}

static void add_ten(void *context, struct stack_id *stack)
{
	*(uint32_t *)context += 1;
	stack->number += 10;
}

/* When stacks get new numbers, waiting events and rows get them, too. Later events still add to
 * those rows. */
static void stacks_get_new_numbers(void **state)
{
	struct allocation_event e = {
		.type = ALLOCATION_MADE, .time_ns = 1, .bytes = 3, .stack = {7}};
	uint32_t shown = 0;
	const struct id_visitor visitor = {add_ten, NULL, &shown};
	struct allocations a;

	(void)state;
	allocations_init(&a);
	allocations_add(&a, &e);
	allocations_forget(&a, 2);
	e.address = 1;
	e.time_ns = 3;
	allocations_add(&a, &e);
	allocations_visit(&a, &visitor);
	assert_int_equal(shown, 2);
	e.address = 2;
	e.stack = STACK_ID(17);
	allocations_add(&a, &e);
	allocations_begin_part(&a, 3);
	allocations_finish(&a);
	assert_int_equal(a.rows.count, 1);
	assert_int_equal(a.rows.list[0].stack, 17);
	assert_int_equal(a.rows.list[0].left_bytes, 9);
	assert_int_equal(a.rows.list[0].allocated_bytes, 6);
	allocations_release(&a);
}

/* With more items than fit, unwanted ones go first. Then the part begins later, after the items
 * taken. */
static void what_is_not_wanted_makes_room(void **state)
{
	struct allocation_event e = {.type = ALLOCATION_MADE, .bytes = 1};
	struct allocations a;

	(void)state;
	allocations_init(&a);
	a.pending_max = 80;
	allocations_forget(&a, 0);
	for (e.time_ns = 1; e.time_ns <= 80; e.time_ns++)
		allocations_add(&a, &e);
	a.forget_at = UINT32_MAX;
	allocations_forget(&a, 31);
	allocations_add(&a, &e);
	assert_int_equal(allocations_whole_from(&a), 31);
	for (e.time_ns = 82; e.time_ns <= 110; e.time_ns++)
		allocations_add(&a, &e);
	assert_int_equal(allocations_whole_from(&a), 31);
	allocations_add(&a, &e);
	assert_int_equal(allocations_whole_from(&a), 31 + 40);
	allocations_release(&a);
}

/* A process can forge any number: those of another one are not touched. */
static void addresses_are_of_processes(void **state)
{
	struct allocation_event e = {
		.type = ALLOCATION_MADE, .time_ns = 1, .address = 9, .bytes = 5};
	struct allocations a;

	(void)state;
	allocations_init(&a);
	allocations_add(&a, &e);
	e.process = 1;
	e.type = ALLOCATION_FREE;
	e.time_ns = 2;
	allocations_add(&a, &e);
	e.type = ALLOCATION_CONTEXT_ENDS;
	allocations_add(&a, &e);
	e.process = 0;
	e.type = ALLOCATION_MADE; /* again: the first was given back */
	e.time_ns = 3;
	e.bytes = INT64_MAX;
	allocations_add(&a, &e);
	allocations_finish(&a);
	assert_int_equal(a.totals.list[0].left_bytes, INT64_MAX);
	assert_int_equal(a.totals.list[0].peak_bytes, INT64_MAX);
	assert_int_equal(a.totals.list[0].frees, 1);
	assert_int_equal(a.totals.list[1].unknown, 1);
	allocations_release(&a);
}

static void add(struct allocations *a, uint32_t type, uint64_t time_ns, uint64_t address,
		uint64_t bytes, uint64_t used)
{
	allocations_add(a, &(struct allocation_event){.type = type,
						      .time_ns = time_ns,
						      .address = address,
						      .bytes = bytes,
						      .used = used,
						      .keeps = time_ns});
}

/* A pool's state at the moment of the peak is the one after the call that led to it. */
static void pools_hold_more_than_is_used(void **state)
{
	const struct memory_pool *p;
	struct allocations a;

	(void)state;
	allocations_init(&a);
	add(&a, ALLOCATION_POOL, 1, 500, 0, 0); /* made */
	add(&a, ALLOCATION_MADE, 2, 1, 100, 0);
	add(&a, ALLOCATION_POOL, 2, 500, 256, 128);
	add(&a, ALLOCATION_MADE, 3, 2, 200, 0); /* the peak */
	add(&a, ALLOCATION_POOL, 3, 500, 512, 384);
	add(&a, ALLOCATION_FREE, 4, 1, 100, 0);
	add(&a, ALLOCATION_POOL, 4, 500, 600, 200);
	add(&a, ALLOCATION_POOL, 5, 500, 550, 210); /* trimmed */
	add(&a, ALLOCATION_POOL, 6, 700, 40, 10);
	add(&a, ALLOCATION_POOL, 7, 700, 0, 0); /* destroyed */
	allocations_finish(&a);
	assert_int_equal(a.totals.count, 1);
	assert_int_equal(a.totals.list[0].peak_bytes, 300);
	assert_int_equal(a.pools.count, 2);
	p = &a.pools.list[0];
	assert_int_equal(p->address, 500);
	assert_int_equal(p->most_held, 600);
	assert_int_equal(p->most_held_ns, 4);
	assert_int_equal(p->most_used, 384);
	assert_int_equal(p->peak_held, 512);
	assert_int_equal(p->peak_used, 384);
	assert_int_equal(p->left_held, 550);
	assert_int_equal(p->left_used, 210);
	assert_int_equal(p->keeps, 5);
	p = &a.pools.list[1];
	assert_int_equal(p->most_held, 40);
	assert_int_equal(p->peak_held, 0);
	assert_int_equal(p->left_held, 0);
	allocations_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(peaks_are_exact_in_any_order),
		cmocka_unit_test(what_comes_after_the_recorded_part_is_left_out),
		cmocka_unit_test(peaks_of_the_last_seconds_are_exact),
		cmocka_unit_test(processes_that_ended_before_are_forgotten),
		cmocka_unit_test(stacks_get_new_numbers),
		cmocka_unit_test(what_is_not_wanted_makes_room),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(what_has_no_room_is_counted),
		cmocka_unit_test(addresses_are_of_processes),
		cmocka_unit_test(pools_hold_more_than_is_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
