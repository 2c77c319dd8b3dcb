/* SPDX-License-Identifier: MIT */
/* A ring buffer as the kernel lays it out, made up in a file in memory. */
#include "unit.h"
#include <linux/bpf.h>
#include "profiler/sources/event_ring.h"

enum { SIZE = 1 << 20 };

/* The producer's side: positions, and both copies of the data. In a ring, one memory is mapped
 * twice. */
struct made {
	struct event_ring ring;
	int fd;
	size_t page;
	unsigned char *all;
	uint64_t produced;
};

static uint64_t *produced_of(struct made *m)
{
	return (uint64_t *)(m->all + m->page);
}

static uint64_t consumed_of(const struct made *m)
{
	return *(const uint64_t *)m->all;
}

static int begin(void **state)
{
	struct made *m = calloc(1, sizeof(*m));
	size_t bytes;

	if (!m)
		return -1;
	m->page = (size_t)sysconf(_SC_PAGESIZE);
	bytes = 2 * m->page + 2 * SIZE;
	m->fd = memfd_create("ring", MFD_CLOEXEC);
	if (m->fd < 0 || ftruncate(m->fd, (off_t)bytes) != 0)
		return -1;
	m->all = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	if (m->all == MAP_FAILED || event_ring_map(&m->ring, m->fd, SIZE) != 0)
		return -1;
	*state = m;
	return 0;
}

static int end(void **state)
{
	struct made *m = *state;

	event_ring_unmap(&m->ring);
	event_ring_unmap(&m->ring); /* no harm */
	munmap(m->all, 2 * m->page + 2 * SIZE);
	close(m->fd);
	free(m);
	return 0;
}

static void put_bytes(struct made *m, uint64_t position, const void *bytes, size_t size)
{
	unsigned char *data = m->all + 2 * m->page;

	for (size_t i = 0; i < size; i++)
		data[(position + i) % SIZE] = data[(position + i) % SIZE + SIZE] =
			((const unsigned char *)bytes)[i];
}

/* Returns its position. `state`: bits of the head. */
static uint64_t put(struct made *m, const void *record, uint32_t size, uint32_t state)
{
	uint32_t head[2] = {size | state, 0};
	uint64_t at = m->produced;

	put_bytes(m, at, head, sizeof(head));
	put_bytes(m, at + sizeof(head), record, size);
	m->produced += sizeof(head) + (size + 7) / 8 * 8;
	__atomic_store_n(produced_of(m), m->produced, __ATOMIC_RELEASE);
	return at;
}

static struct stack_value value_of(uint64_t value)
{
	return (struct stack_value){
		.event = {.kind = STACK_EVENT_CALL_END, .size = sizeof(struct stack_value)},
		.value = value};
}

static void put_value(struct made *m, uint64_t value)
{
	struct stack_value v = value_of(value);

	put(m, &v, sizeof(v), 0);
}

/* Expects the next event to be this value. */
static void expect_next(struct made *m, uint64_t value)
{
	const struct stack_event *event = event_ring_next(&m->ring);

	assert_non_null(event);
	assert_int_equal(event->kind, STACK_EVENT_CALL_END);
	assert_int_equal(((const struct stack_value *)event)->value, value);
}

static void expect_end(struct made *m, bool has_more)
{
	assert_null(event_ring_next(&m->ring));
	assert_int_equal(m->ring.has_more, has_more);
}

static void records_come_in_order_and_free_their_room(void **state)
{
	struct made *m = *state;

	event_ring_fill(&m->ring, SIZE);
	expect_end(m, false);
	put_value(m, 1);
	put_value(m, 2);
	expect_end(m, false); /* the batch is not full */
	event_ring_fill(&m->ring, SIZE);
	put_value(m, 3); /* after the end of the batch */
	expect_next(m, 1);
	assert_int_equal(consumed_of(m), sizeof(struct stack_value) + 8);
	expect_next(m, 2);
	assert_int_equal(consumed_of(m), 2 * (sizeof(struct stack_value) + 8));
	expect_end(m, false);
	event_ring_fill(&m->ring, SIZE);
	expect_next(m, 3);
	expect_end(m, false);
	assert_int_equal(consumed_of(m), m->produced);
}

static void a_batch_is_bounded(void **state)
{
	struct made *m = *state;
	const size_t one = sizeof(struct stack_value) + 8;

	for (uint64_t i = 0; i < 5; i++)
		put_value(m, i);
	event_ring_fill(&m->ring, 2 * one);
	expect_next(m, 0);
	expect_next(m, 1);
	expect_end(m, true);
	event_ring_fill(&m->ring, 3 * one);
	for (uint64_t i = 2; i < 5; i++)
		expect_next(m, i);
	expect_end(m, false);
}

static void what_is_kept_comes_in_the_next_batch(void **state)
{
	struct made *m = *state;
	const struct stack_event *event;

	put_value(m, 1);
	put_value(m, 2);
	event_ring_fill(&m->ring, SIZE);
	event = event_ring_next(&m->ring);
	put_value(m, 3);
	event_ring_keep(&m->ring);
	assert_int_equal(consumed_of(m), m->produced);
	assert_int_equal(((const struct stack_value *)event)->value, 1);
	put_value(m, 4);
	expect_next(m, 2);
	expect_end(m, true);
	event_ring_fill(&m->ring, SIZE);
	expect_next(m, 3);
	expect_next(m, 4);
	expect_end(m, false);
}

/* Beyond the bound records stay in the ring. */
static void a_ring_that_fills_is_emptied(void **state)
{
	struct made *m = *state;
	uint64_t put = 0, got = 0, taken;

	while (m->produced <= SIZE / 4)
		put_value(m, put++);
	event_ring_fill(&m->ring, SIZE);
	expect_next(m, got++);
	assert_int_equal(consumed_of(m), m->produced);
	/* with enough room, each event is copied at its turn */
	taken = m->produced;
	put_value(m, put++);
	expect_next(m, got++);
	assert_int_equal(consumed_of(m), taken);
	while (got < put - 1)
		expect_next(m, got++);
	event_ring_fill(&m->ring, SIZE);
	expect_next(m, got++);
	expect_end(m, false);
}

static void what_is_kept_is_bounded(void **state)
{
	struct made *m = *state;
	uint64_t put = 0, got = 0, kept = 0;

	while (m->produced - consumed_of(m) < SIZE / 2) {
		while (m->produced - consumed_of(m) < SIZE / 2)
			put_value(m, put++);
		event_ring_keep(&m->ring);
	}
	kept = m->ring.kept_bytes;
	assert_in_range(kept, EVENT_RING_KEPT * SIZE,
			EVENT_RING_KEPT * SIZE + sizeof(struct stack_value));
	event_ring_fill(&m->ring, 8 * SIZE);
	while (got < put)
		expect_next(m, got++);
	expect_end(m, false);
	assert_int_equal(m->ring.kept_bytes, 0);
}

/* Whatever is done in turn, each record comes once and in order. */
static void each_record_comes_once(void **state)
{
	struct made *m = *state;
	uint64_t put_count = 0, got = 0;

	for (uint64_t round = 0; round < 20000; round++) {
		struct prng random = prng_round(round);
		struct stack_value v = value_of(0);

		switch (prng_below(&random, 5)) {
		case 0:
			event_ring_fill(&m->ring, prng_below(&random, 2000));
			break;
		case 1:
			event_ring_keep(&m->ring);
			break;
		case 2:
			put(m, &v, sizeof(v), BPF_RINGBUF_DISCARD_BIT);
			break;
		case 3:
			for (uint64_t i = prng_below(&random, 20); i > 0; i--)
				put_value(m, put_count++);
			break;
		default:
			for (uint64_t i = prng_below(&random, 30); i > 0; i--) {
				const struct stack_event *event = event_ring_next(&m->ring);

				if (!event)
					break;
				EXPECT(&random, ((const struct stack_value *)event)->value == got);
				got++;
			}
		}
		while (m->produced - consumed_of(m) > SIZE / 2) {
			event_ring_fill(&m->ring, SIZE);
			while (event_ring_next(&m->ring))
				got++;
		}
	}
	event_ring_fill(&m->ring, 8 * SIZE);
	while (got < put_count)
		expect_next(m, got++);
	expect_end(m, false);
}

static void an_open_record_ends_a_batch(void **state)
{
	struct made *m = *state;
	struct stack_value v = value_of(2);
	uint32_t closed = sizeof(v);
	uint64_t at;

	put_value(m, 1);
	at = put(m, &v, sizeof(v), BPF_RINGBUF_BUSY_BIT);
	put_value(m, 3);
	event_ring_fill(&m->ring, SIZE);
	expect_next(m, 1);
	expect_end(m, true);
	assert_int_equal(consumed_of(m), at);
	put_bytes(m, at, &closed, sizeof(closed));
	event_ring_fill(&m->ring, SIZE);
	expect_next(m, 2);
	expect_next(m, 3);
	expect_end(m, false);
}

static void discarded_records_are_skipped(void **state)
{
	struct made *m = *state;
	struct stack_value v = value_of(9);

	put(m, &v, sizeof(v), BPF_RINGBUF_DISCARD_BIT);
	put_value(m, 1);
	put(m, &v, sizeof(v), BPF_RINGBUF_DISCARD_BIT);
	event_ring_fill(&m->ring, SIZE);
	expect_next(m, 1);
	expect_end(m, false);
	assert_int_equal(consumed_of(m), m->produced);
}

static void records_reach_over_the_end(void **state)
{
	struct made *m = *state;
	uint64_t value = 0, seen = 0;

	while (m->produced < 3 * SIZE) {
		for (int i = 0; i < 1000; i++)
			put_value(m, value++);
		event_ring_fill(&m->ring, SIZE);
		while (seen < value)
			expect_next(m, seen++);
		expect_end(m, false);
	}
}

/* A record of each kind with all its parts, as long as they are. */
struct whole {
	struct stack_snapshot snapshot;
	__u64 kernel[STACK_EVENT_MAX_FRAMES];
	struct stack_python_chain python;
	unsigned char stack[STACK_TINY_BYTES];
};

static void make_whole(struct whole *w)
{
	memset(w, 0, sizeof(*w));
	w->snapshot.event.kind = STACK_EVENT_CPU_SNAPSHOT;
	w->snapshot.event.size = sizeof(*w);
	w->snapshot.event.kernel_frames = STACK_EVENT_MAX_FRAMES;
	w->snapshot.kernel_at = offsetof(struct whole, kernel);
	w->snapshot.python_at = offsetof(struct whole, python);
	w->snapshot.stack_at = offsetof(struct whole, stack);
	w->snapshot.stack_bytes = sizeof(w->stack);
	w->python.count = STACK_PYTHON_MAX_LINKS;
}

/* Returns true if the record is handed out. The record after it always is. */
static bool is_taken(struct made *m, const void *record, uint32_t size)
{
	const struct stack_event *event;
	bool taken;

	put(m, record, size, 0);
	put_value(m, 77);
	event_ring_fill(&m->ring, SIZE);
	event = event_ring_next(&m->ring);
	assert_non_null(event);
	taken = event->kind != STACK_EVENT_CALL_END;
	if (taken) {
		assert_memory_equal(event, record, size);
		expect_next(m, 77);
	}
	expect_end(m, false);
	return taken;
}

static void snapshots_have_their_parts_within(void **state)
{
	struct made *m = *state;
	struct whole w;

#define EXPECT_REFUSED(change)                            \
	do {                                              \
		make_whole(&w);                           \
		change;                                   \
		assert_false(is_taken(m, &w, sizeof(w))); \
	} while (0)

	make_whole(&w);
	assert_true(is_taken(m, &w, sizeof(w)));
	w.snapshot.event.kind = STACK_EVENT_LAUNCH;
	assert_true(is_taken(m, &w, sizeof(w)));
	w.snapshot.event.kind = STACK_EVENT_CALL;
	assert_true(is_taken(m, &w, sizeof(w)));
	w.snapshot.event.kind = STACK_EVENT_OFF_CPU;
	assert_true(is_taken(m, &w, sizeof(w)));
	w.snapshot.python_at = 0;
	w.python.count = UINT32_MAX; /* no part of it */
	assert_true(is_taken(m, &w, sizeof(w)));
	EXPECT_REFUSED(w.snapshot.event.kind = 0);
	EXPECT_REFUSED(w.snapshot.event.kind = 99);
	EXPECT_REFUSED(w.snapshot.event.size -= 8);
	EXPECT_REFUSED(w.snapshot.event.size += 8);
	EXPECT_REFUSED(w.snapshot.stack_bytes++);
	EXPECT_REFUSED(w.snapshot.stack_bytes = UINT32_MAX);
	EXPECT_REFUSED(w.snapshot.stack_at += 8);
	EXPECT_REFUSED(w.snapshot.stack_at = UINT32_MAX - 7);
	EXPECT_REFUSED(w.snapshot.interrupted_at = sizeof(w) - 8;
		       w.snapshot.interrupted_bytes = 16);
	EXPECT_REFUSED(w.snapshot.interrupted_bytes = UINT32_MAX);
	EXPECT_REFUSED(w.snapshot.interrupted_at = 4; w.snapshot.interrupted_bytes = 16);
	EXPECT_REFUSED(w.snapshot.event.kernel_frames++);
	EXPECT_REFUSED(w.snapshot.kernel_at = sizeof(w) - 8);
	EXPECT_REFUSED(w.snapshot.kernel_at++);
	EXPECT_REFUSED(w.snapshot.python_at = sizeof(w) - 8);
	EXPECT_REFUSED(w.snapshot.python_at++);
	EXPECT_REFUSED(w.python.count++);
	make_whole(&w);
	w.snapshot.event.size = sizeof(w.snapshot) - 8;
	assert_false(is_taken(m, &w, sizeof(w.snapshot) - 8));
}

static void check_whole(const struct stack_event *event, uint64_t number)
{
	const struct whole *w = (const struct whole *)event;

	assert_int_equal(w->snapshot.registers[0], number);
	assert_int_equal(w->snapshot.stack_bytes, number * 8 % sizeof(w->stack));
	for (__u32 at = 0; at < w->snapshot.stack_bytes; at++)
		assert_int_equal(w->stack[at], (unsigned char)number);
}

/* Records of all sizes, kept in changing numbers: each is as it was, in order. */
static void what_is_kept_stays_as_it_was(void **state)
{
	struct made *m = *state;
	const struct stack_event *event;
	uint64_t number = 0, got = 0;
	struct whole w;

	make_whole(&w);
	for (unsigned int round = 0; round < 200; round++) {
		for (unsigned int i = 0; i < 1 + round * 7 % 30; i++, number++) {
			w.snapshot.registers[0] = number;
			w.snapshot.stack_bytes = (__u32)(number * 8 % sizeof(w.stack));
			memset(w.stack, (int)number, sizeof(w.stack));
			put(m, &w, sizeof(w), 0);
		}
		event_ring_keep(&m->ring);
		do {
			event_ring_fill(&m->ring, SIZE / 8);
			while ((event = event_ring_next(&m->ring)))
				check_whole(event, got++);
		} while (m->ring.kept_bytes > 2 * SIZE);
	}
	event_ring_fill(&m->ring, 8 * SIZE);
	while ((event = event_ring_next(&m->ring)))
		check_whole(event, got++);
	assert_int_equal(got, number);
	assert_int_equal(m->ring.kept_bytes, 0);
}

static void room_that_is_not_used_is_not_kept(void **state)
{
	const uint32_t used = offsetof(struct whole, stack) + 16;
	struct made *m = *state;
	const struct stack_event *event;
	struct whole w;

	make_whole(&w);
	w.snapshot.stack_bytes = 16;
	put(m, &w, sizeof(w), 0);
	event_ring_keep(&m->ring);
	assert_int_equal(m->ring.kept_bytes, used);
	event_ring_fill(&m->ring, SIZE);
	event = event_ring_next(&m->ring);
	assert_non_null(event);
	assert_int_equal(event->size, used);
	w.snapshot.event.size = used;
	assert_memory_equal(event, &w, used);
	expect_end(m, false);
}

/* Two copies of stacks: room behind the first one is kept for the second one's place. */
static void an_interrupted_stack_is_kept(void **state)
{
	const uint32_t half = STACK_TINY_BYTES / 2,
		       used = offsetof(struct whole, stack) + half + 24;
	struct made *m = *state;
	const struct stack_event *event;
	struct whole w;

	make_whole(&w);
	w.snapshot.stack_bytes = 16;
	w.snapshot.interrupted_at = w.snapshot.stack_at + half;
	w.snapshot.interrupted_bytes = 24;
	memset(w.stack + half, 7, 24);
	put(m, &w, sizeof(w), 0);
	event_ring_keep(&m->ring);
	event_ring_fill(&m->ring, SIZE);
	event = event_ring_next(&m->ring);
	assert_non_null(event);
	assert_int_equal(event->size, used);
	assert_memory_equal(stack_snapshot_interrupted((const struct stack_snapshot *)event),
			    w.stack + half, 24);
	expect_end(m, false);
}

static void other_kinds_have_their_size(void **state)
{
	struct made *m = *state;
	struct stack_python_code *code = calloc(1, sizeof(*code));
	struct stack_thread_times times = {.event = {.size = 0}};
	struct stack_on_cpu back = {.event = {.size = 0}};
	struct stack_value v = value_of(1);

	assert_non_null(code);
	v.event.kind = STACK_EVENT_REFUSED;
	assert_true(is_taken(m, &v, sizeof(v)));
	v.event.size = sizeof(v.event);
	assert_false(is_taken(m, &v, sizeof(v.event)));
	assert_false(is_taken(m, &v, 8));

	back.event.kind = STACK_EVENT_ON_CPU;
	back.event.size = sizeof(back);
	assert_true(is_taken(m, &back, sizeof(back)));
	back.event.kind = STACK_EVENT_THREAD_TIMES;
	assert_false(is_taken(m, &back, sizeof(back)));
	times.event.kind = STACK_EVENT_THREAD_TIMES;
	times.event.size = sizeof(times);
	assert_true(is_taken(m, &times, sizeof(times)));
	times.event.kind = STACK_EVENT_ON_CPU;
	assert_false(is_taken(m, &times, sizeof(times)));

	code->event.kind = STACK_EVENT_PYTHON_CODE;
	code->event.size = STACK_PYTHON_CODE_SIZE;
	code->pieces[STACK_PYTHON_PATH] = (struct stack_python_piece){
		.at = offsetof(struct stack_python_code, path), .bytes = sizeof(code->path)};
	assert_true(is_taken(m, code, STACK_PYTHON_CODE_SIZE));
	code->pieces[STACK_PYTHON_PATH].bytes++;
	assert_false(is_taken(m, code, STACK_PYTHON_CODE_SIZE));
	code->event.size = sizeof(*code);
	assert_true(is_taken(m, code, sizeof(*code)));
	code->pieces[STACK_PYTHON_LINES] =
		(struct stack_python_piece){.at = sizeof(*code) - 8, .bytes = 9};
	assert_false(is_taken(m, code, sizeof(*code)));
	code->event.size = 256;
	assert_false(is_taken(m, code, 256));
	free(code);
}

/* Whatever is handed out can be read to its end: sanitizers and valgrind look on. */
static void nonsense_is_skipped(void **state)
{
	struct made *m = *state;
	struct whole w;

	for (uint64_t round = 0; round < 3000; round++) {
		struct prng random = prng_round(round);
		const struct stack_event *event;

		make_whole(&w);
		for (uint64_t i = prng_below(&random, 4); i > 0; i--)
			((uint32_t *)&w)[prng_below(&random, sizeof(w.snapshot) / 4)] =
				(uint32_t)prng_bits(&random, 32);
		if (prng_chance(&random, 90))
			w.snapshot.event.size = sizeof(w);
		put(m, &w, sizeof(w), 0);
		put_value(m, round);
		event_ring_fill(&m->ring, SIZE);
		event = event_ring_next(&m->ring);
		EXPECT(&random, event);
		if (event->size != sizeof(struct stack_value)) {
			EXPECT(&random, event->kernel_frames <= STACK_EVENT_MAX_FRAMES);
			expect_next(m, round);
		} else {
			assert_int_equal(event->kind, STACK_EVENT_CALL_END);
		}
		expect_end(m, false);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(records_come_in_order_and_free_their_room, begin,
						end),
		cmocka_unit_test_setup_teardown(a_batch_is_bounded, begin, end),
		cmocka_unit_test_setup_teardown(what_is_kept_comes_in_the_next_batch, begin, end),
		cmocka_unit_test_setup_teardown(a_ring_that_fills_is_emptied, begin, end),
		cmocka_unit_test_setup_teardown(what_is_kept_stays_as_it_was, begin, end),
		cmocka_unit_test_setup_teardown(what_is_kept_is_bounded, begin, end),
		cmocka_unit_test_setup_teardown(each_record_comes_once, begin, end),
		cmocka_unit_test_setup_teardown(an_open_record_ends_a_batch, begin, end),
		cmocka_unit_test_setup_teardown(discarded_records_are_skipped, begin, end),
		cmocka_unit_test_setup_teardown(records_reach_over_the_end, begin, end),
		cmocka_unit_test_setup_teardown(snapshots_have_their_parts_within, begin, end),
		cmocka_unit_test_setup_teardown(room_that_is_not_used_is_not_kept, begin, end),
		cmocka_unit_test_setup_teardown(an_interrupted_stack_is_kept, begin, end),
		cmocka_unit_test_setup_teardown(other_kinds_have_their_size, begin, end),
		cmocka_unit_test_setup_teardown(nonsense_is_skipped, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
