/* SPDX-License-Identifier: MIT */
/*
 * NVTX ranges, through the functions that NVTX calls: which are open, their names, and the frames
 * between which they are.
 */
#include "unit.h"
#include <pthread.h>
#include <wchar.h>
#include "cupti_trace/core/settings.h"
#include "cupti_trace/launch/nvtx.h"
#include "cupti_trace/launch/nvtx_abi.h"
#include "cupti_trace/launch/nvtx_names.h"
#include "cupti_trace/launch/nvtx_place.h"

static nvtx_abi_function core[NVTX_ABI_CORE_SIZE], core2[NVTX_ABI_CORE2_SIZE];
static nvtx_abi_function *core_places[NVTX_ABI_CORE_SIZE], *core2_places[NVTX_ABI_CORE2_SIZE];
static struct sink sink = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1, .broken = true};

static int get_table(uint32_t module, nvtx_abi_function ***places, unsigned int *size)
{
	if (module != NVTX_ABI_MODULE_CORE && module != NVTX_ABI_MODULE_CORE2)
		return 0;
	for (int i = 1; i < NVTX_ABI_CORE_SIZE; i++) {
		core_places[i] = &core[i];
		core2_places[i] = &core2[i];
	}
	*places = module == NVTX_ABI_MODULE_CORE ? core_places : core2_places;
	*size = NVTX_ABI_CORE_SIZE;
	return 1;
}

static const void *get_export_table(uint32_t id)
{
	static const struct nvtx_abi_callbacks callbacks = {sizeof(callbacks), get_table};

	return id == NVTX_ABI_TABLE_CALLBACKS ? &callbacks : NULL;
}

#define CORE(result, place, ...) ((result(*)(__VA_ARGS__))core[NVTX_ABI_##place])
#define CORE2(result, place, ...) ((result(*)(void *, __VA_ARGS__))core2[NVTX_ABI_##place])
#define push(text) CORE(int, RANGE_PUSH_A, const char *)(text)
#define pop() CORE(int, RANGE_POP, void)()
#define start(text) CORE(uint64_t, RANGE_START_A, const char *)(text)
#define end(range) CORE(void, RANGE_END, uint64_t)(range)
#define domain_push(domain, a) \
	CORE2(int, DOMAIN_RANGE_PUSH_EX, const struct nvtx_abi_attributes *)(domain, a)
#define domain_pop(domain) ((int (*)(void *))core2[NVTX_ABI_DOMAIN_RANGE_POP])(domain)
#define create(name) ((void *(*)(const char *))core2[NVTX_ABI_DOMAIN_CREATE_A])(name)

static int set_up(void **state)
{
	(void)state;
	settings_configure(&(struct trace_config){.nvtx = true});
	nvtx_names_forget();
	return InitializeInjectionNvtx2(get_export_table) == 1 ? 0 : -1;
}

static struct nvtx_abi_attributes attributes(int32_t type, const void *message)
{
	return (struct nvtx_abi_attributes){.version = 3,
					    .size = sizeof(struct nvtx_abi_attributes),
					    .message_type = type,
					    .message.registered = message};
}

/* The calling thread's ranges as a launch would see them. */
struct seen {
	struct unwind_stack stack;
	struct nvtx_ranges ranges;
};

static __attribute__((noinline)) void look(struct seen *seen)
{
	static const struct python_stack no_python = {.is_whole = true};
	uint64_t sps[UNWIND_MAX_FRAMES];

	seen->ranges.count = 0;
	unwind_own_stack(&seen->stack, sps, UNWIND_MAX_FRAMES);
	if (nvtx_has_open() && nvtx_recognize(__builtin_frame_address(0)))
		nvtx_read(&seen->stack, sps, &no_python, &seen->ranges);
}

/* The open ranges are these, of the default domain. */
#define expect_open(...) \
	check_open((const char *[]){__VA_ARGS__, NULL}, (sizeof((const char *[]){__VA_ARGS__}) / 8))
static void check_open(const char *const *names, size_t count)
{
	struct seen seen;

	look(&seen);
	assert_int_equal(seen.ranges.count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(seen.ranges.open[i].name, nvtx_name(0, names[i], 0));
}

static void expect_none_open(void)
{
	struct seen seen;

	look(&seen);
	assert_int_equal(seen.ranges.count, 0);
}

static void pushes_nest(void **state)
{
	(void)state;
	expect_none_open();
	assert_int_equal(push("a"), 0);
	assert_int_equal(push("b"), 1);
	expect_open("a", "b");
	assert_int_equal(pop(), 1);
	expect_open("a");
	assert_int_equal(push("c"), 1);
	expect_open("a", "c");
	assert_int_equal(pop(), 1);
	assert_int_equal(pop(), 0);
	expect_none_open();
}

static void pops_without_pushes_are_reported(void **state)
{
	(void)state;
	assert_int_equal(pop(), NVTX_ABI_NO_PUSH_POP_TRACKING);
	assert_int_equal(push("a"), 0);
	assert_int_equal(domain_pop(create("other")), NVTX_ABI_NO_PUSH_POP_TRACKING);
	expect_open("a");
	assert_int_equal(pop(), 0);
	assert_int_equal(pop(), NVTX_ABI_NO_PUSH_POP_TRACKING);
}

static void domains_have_separate_stacks(void **state)
{
	struct nvtx_abi_attributes a = attributes(NVTX_ABI_MESSAGE_ASCII, "step");
	void *train = create("train"), *load = create("load");
	struct seen seen;

	(void)state;
	assert_ptr_equal(create("train"), train);
	assert_ptr_not_equal(train, load);
	assert_null(create("")); /* the default one */
	assert_int_equal(domain_push(train, &a), 0);
	assert_int_equal(domain_push(load, &a), 0);
	assert_int_equal(push("a"), 0);
	assert_int_equal(domain_push(train, &a), 1);
	look(&seen);
	assert_int_equal(seen.ranges.count, 4);
	assert_int_equal(seen.ranges.open[0].name,
			 nvtx_name((uint32_t)(uintptr_t)train, "step", 0));
	assert_int_equal(seen.ranges.open[1].name, nvtx_name((uint32_t)(uintptr_t)load, "step", 0));
	assert_int_not_equal(seen.ranges.open[0].name, seen.ranges.open[1].name);
	assert_int_equal(seen.ranges.open[3].name, seen.ranges.open[0].name);
	assert_int_equal(domain_pop(load), 0); /* from the middle of the stack */
	look(&seen);
	assert_int_equal(seen.ranges.count, 3);
	assert_int_equal(seen.ranges.open[1].name, nvtx_name(0, "a", 0));
	assert_int_equal(domain_pop(train), 1);
	assert_int_equal(domain_pop(train), 0);
	expect_open("a");
	assert_int_equal(pop(), 0);
	assert_int_equal(domain_push((void *)0x7fff12345678, &a), 0); /* none of ours */
	assert_int_equal(domain_pop((void *)0x7fff12345678), 0);
}

static void messages_of_all_kinds(void **state)
{
	struct nvtx_abi_attributes a =
		attributes(NVTX_ABI_MESSAGE_WIDE, L"h\u00f6\u20ac\U0001f600");
	void *registered = CORE2(void *, DOMAIN_REGISTER_STRING_A, const char *)(NULL, "kept");
	void *wide = CORE2(void *, DOMAIN_REGISTER_STRING_W, const wchar_t *)(NULL, L"kept");
	struct nvtx_abi_attributes b = attributes(NVTX_ABI_MESSAGE_REGISTERED, registered);
	struct nvtx_abi_attributes none = attributes(0, NULL), small = a;
	struct nvtx_abi_attributes bad =
		attributes(NVTX_ABI_MESSAGE_REGISTERED, (void *)0x7fff1234);

	(void)state;
	small.size = 16;
	assert_ptr_equal(registered, wide);
	domain_push(NULL, &a);
	domain_push(NULL, &b);
	domain_push(NULL, &none);
	domain_push(NULL, &small);
	domain_push(NULL, &bad);
	domain_push(NULL, NULL);
	push(NULL);
	expect_open("h\xc3\xb6\xe2\x82\xac\xf0\x9f\x98\x80", "kept", "[unnamed]", "[unnamed]",
		    "[unnamed]", "[unnamed]", "[unnamed]");
	for (int i = 0; i < 7; i++)
		pop();
	expect_none_open();
}

static void messages_are_copied_and_cut(void **state)
{
	char text[2000];
	wchar_t wide[] = {L'a', (wchar_t)0xd800, (wchar_t)0x110000, 0};

	(void)state;
	snprintf(text, sizeof(text), "first");
	push(text);
	snprintf(text, sizeof(text), "second");
	expect_open("first");
	pop();
	memset(text, 'x', sizeof(text));
	text[NVTX_TEXT_MAX - 1] = '\xc3';
	text[NVTX_TEXT_MAX] = '\xb6';
	text[1999] = '\0';
	push(text);
	text[NVTX_TEXT_MAX - 1] = '\0'; /* cut before the character that does not fit */
	expect_open(text);
	pop();
	CORE(int, RANGE_PUSH_W, const wchar_t *)(wide);
	expect_open("a\xef\xbf\xbd\xef\xbf\xbd");
	pop();
}

/* Returns a message without digits: the number as letters. */
static const char *word_of(uint32_t number, size_t length)
{
	static char text[NVTX_TEXT_MAX + 1];

	memset(text, 'x', length);
	text[length] = '\0';
	for (size_t i = 0; number > 0; number /= 20)
		text[i++] = (char)('a' + number % 20);
	return text;
}

/* Opens and closes a range; its id. */
static uint32_t use(uint32_t domain, uint32_t id)
{
	nvtx_push(domain, id, 0);
	nvtx_pop(domain);
	return id;
}

static void expect_missing(uint64_t ranges, uint64_t folded_ranges)
{
	struct gpu_event_drops drops;

	nvtx_count_missing(&sink);
	drops = sink.drops;
	sink.drops = (struct gpu_event_drops){0};
	assert_int_equal(drops.ranges, ranges);
	assert_int_equal(drops.folded_ranges, folded_ranges);
}

static void forget_missing(void)
{
	nvtx_count_missing(&sink);
	sink.drops = (struct gpu_event_drops){0};
}

static void too_many_names_share_one(void **state)
{
	uint32_t first, id = 0;
	char text[32];

	(void)state;
	nvtx_names_forget();
	forget_missing();
	first = nvtx_name(0, "first", 0);
	for (uint32_t i = 0; i < NVTX_NAMES_MAX + 9; i++)
		id = use(0, nvtx_name(0, word_of(i, 8), 0));
	assert_int_equal(id, NVTX_TOO_MANY);
	expect_missing(10, 0);
	assert_int_equal(nvtx_name(0, "first", 0), first);
	nvtx_name_send(&sink, id);
	nvtx_names_forget();
	/* memory ends before their number */
	for (uint32_t i = 0; i < 4000; i++)
		id = nvtx_name(0, word_of(i, NVTX_TEXT_MAX), 0);
	assert_int_equal(id, NVTX_TOO_MANY);
	assert_int_equal(nvtx_name_registered(3, NVTX_TOO_MANY, 0), NVTX_TOO_MANY);
	nvtx_names_forget();
	for (int i = 0; i < 300; i++) {
		snprintf(text, sizeof(text), "domain %d", i);
		assert_int_equal(nvtx_domain(text), i < 255 ? i + 1 : 255);
	}
	nvtx_names_forget();
}

#define EXPECT_NAME(id, expected) assert_string_equal(nvtx_name_text(id), expected)

static void numbered_names_leave_room_for_others(void **state)
{
	uint32_t first = 0, id = 0, own = 0;
	char text[64];

	(void)state;
	nvtx_names_forget();
	forget_missing();
	for (int i = 0; i < 30000; i++) {
		snprintf(text, sizeof(text), "request %d", i);
		id = use(0, nvtx_name(0, text, 0));
		first = i == 0 ? id : first;
		own += !nvtx_name_is_folded(id);
	}
	EXPECT_NAME(id, "request N");
	assert_in_range(own, NVTX_NAMES_MAX / 8, NVTX_NAMES_MAX / 4);
	expect_missing(0, 30000 - own);
	/* existing names stay; the family's "request N" is not the program's own */
	assert_int_equal(nvtx_name(0, "request 0", 0), first);
	EXPECT_NAME(first, "request 0");
	assert_int_not_equal(nvtx_name(0, "request N", 0), id);
	/* other domains and messages have room */
	EXPECT_NAME(nvtx_name(3, "request 77777", 0), "request 77777");
	EXPECT_NAME(nvtx_name(0, "decode", 0), "decode");
	assert_int_equal(nvtx_name_registered(0, id, 0), id);
	/* many families */
	for (int i = 0; i < 60000; i++) {
		snprintf(text, sizeof(text), "%c%c step %d", 'a' + i % 20, 'a' + i / 20 % 20,
			 i / 400);
		assert_int_not_equal(use(0, nvtx_name(0, text, 0)), NVTX_TOO_MANY);
	}
	assert_int_not_equal(nvtx_name(0, "another", 0), NVTX_TOO_MANY);
	nvtx_count_missing(&sink);
	assert_int_equal(sink.drops.ranges, 0);
	assert_true(sink.drops.folded_ranges > 0);
	sink.drops = (struct gpu_event_drops){0};
	nvtx_names_forget();
}

static void random_names_leave_room_for_others(void **state)
{
	struct prng r = prng_round(1);
	char text[NVTX_TEXT_MAX + 1];
	uint32_t id = 0;

	(void)state;
	for (int round = 0; round < 2; round++) {
		size_t length = round ? 500 : 20; /* memory ends, or their number */

		nvtx_names_forget();
		for (int i = 0; i < (round ? 4000 : 30000); i++) {
			for (size_t j = 0; j < length; j++)
				text[j] =
					"0123456789abcdefghijklmnopqrstuvwxyz-"[prng_below(&r, 37)];
			text[0] = '1';
			text[length] = '\0';
			id = nvtx_name(0, text, 0);
		}
		assert_int_equal(id, NVTX_TOO_MANY);
		EXPECT_NAME(nvtx_name(0, "decode", 0), "decode");
	}
	nvtx_names_forget();
}

static void what_goes_past_other_limits_is_counted(void **state)
{
	char text[32];
	uint32_t last = 0;

	(void)state;
	forget_missing();
	for (int i = 0; i < NVTX_DEPTH_MAX + 3; i++)
		push("deep");
	assert_int_equal(start("no room"), 0);
	while (pop() > 0)
		;
	expect_missing(4, 0);
	for (int i = 0; i < 300; i++) {
		snprintf(text, sizeof(text), "domain %d", i);
		last = nvtx_domain(text);
	}
	use(last, nvtx_name(last, "in the last one", 0));
	expect_missing(1, 0);
	/* nobody looks */
	nvtx_follow(false, true);
	use(0, NVTX_TOO_MANY);
	nvtx_follow(true, false);
	expect_missing(0, 0);
	nvtx_names_forget();
}

static void too_deep_ranges_keep_the_balance(void **state)
{
	struct nvtx_abi_attributes a = attributes(NVTX_ABI_MESSAGE_ASCII, "other");
	void *other = create("other");
	struct seen seen;

	(void)state;
	for (int i = 0; i < NVTX_DEPTH_MAX + 20; i++)
		assert_int_equal(push(i < 10 ? "low" : "high"), i);
	look(&seen);
	assert_int_equal(seen.ranges.count, NVTX_DEPTH_MAX);
	assert_int_equal(domain_push(other, &a), 0); /* ignored as well */
	assert_int_equal(start("no room"), 0);
	for (int i = NVTX_DEPTH_MAX + 20; i-- > 10;)
		assert_int_equal(pop(), i);
	/* room again, but this range is above an ignored one */
	assert_int_equal(domain_push(other, &a), 1);
	look(&seen);
	assert_int_equal(seen.ranges.count, 10);
	assert_int_equal(domain_pop(other), 1);
	assert_int_equal(domain_pop(other), 0);
	assert_int_equal(domain_push(other, &a), 0);
	look(&seen);
	assert_int_equal(seen.ranges.count, 11);
	assert_int_equal(domain_pop(other), 0);
	for (int i = 10; i-- > 0;)
		assert_int_equal(pop(), i);
	expect_none_open();
}

static void *in_a_thread(void *range)
{
	expect_none_open();
	push("of the thread");
	expect_open("of the thread");
	end(*(uint64_t *)range);
	start("left open");
	return NULL;
}

static void run_thread(uint64_t *range)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, in_a_thread, range), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void threads_have_their_own_ranges_and_may_end_others(void **state)
{
	uint64_t range = start("started"), again;

	(void)state;
	assert_int_not_equal(range, 0);
	push("pushed");
	expect_open("started", "pushed");
	run_thread(&range);
	expect_open("pushed");
	again = start("again");
	assert_int_not_equal(again, range);
	end(range); /* has ended: must not end the one that took its place */
	end(0);
	end(UINT64_MAX);
	expect_open("pushed", "again");
	assert_int_equal(pop(), 0); /* the started range stays */
	expect_open("again");
	run_thread(&again); /* a second thread takes over what the first left */
	expect_none_open();
}

static void many_started_ranges(void **state)
{
	uint64_t ranges[NVTX_DEPTH_MAX];

	(void)state;
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < NVTX_DEPTH_MAX; i++) {
			ranges[i] = start(i % 2 ? "odd" : "even");
			assert_int_not_equal(ranges[i], 0);
		}
		assert_int_equal(start("one more"), 0);
		for (int i = 0; i < NVTX_DEPTH_MAX; i += 2)
			end(ranges[i]);
		assert_int_equal(push("pushed"), 0);
		assert_int_equal(pop(), 0);
		for (int i = 1; i < NVTX_DEPTH_MAX; i += 2)
			end(ranges[i]);
		expect_none_open();
	}
}

/* ---- the payload extension ---- */

#define SLOTS_OF_PROGRAM 63

static int describe_extension(uint16_t size, uint16_t module, size_t slot_count, intptr_t *slots)
{
	struct nvtx_abi_segment segment = {.slot_count = slot_count, .slots = slots};
	struct nvtx_abi_extension extension = {.version = 3,
					       .struct_size = size,
					       .module = module,
					       .segment_count = 1,
					       .segments = &segment};

	memset(slots, 0, SLOTS_OF_PROGRAM * sizeof(*slots));
	return InitializeInjectionNvtxExtension(&extension);
}

static uint32_t count_filled(const intptr_t *slots)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < SLOTS_OF_PROGRAM; i++)
		n += slots[i] != 0;
	return n;
}

#define PAYLOAD(result, place, ...) ((result(*)(void *, __VA_ARGS__))slots[NVTX_ABI_##place])

static void ranges_closed_with_a_payload(void **state)
{
	struct nvtx_abi_attributes a = attributes(NVTX_ABI_MESSAGE_ASCII, "init");
	struct nvtx_abi_payload data = {.schema = 1, .size = 1, .data = "x"};
	intptr_t slots[SLOTS_OF_PROGRAM];
	void *domain = create("NCCL");
	uint64_t range;

	(void)state;
	assert_int_equal(describe_extension(sizeof(struct nvtx_abi_extension),
					    NVTX_ABI_EXTENSION_PAYLOAD, SLOTS_OF_PROGRAM, slots),
			 1);
	assert_int_equal(count_filled(slots), 6);
	/* ranges opened with attributes, as by NCCL, and with a payload */
	push("outer");
	assert_int_equal(domain_push(domain, &a), 0);
	assert_int_equal(PAYLOAD(int, RANGE_PUSH_PAYLOAD, void *, size_t)(domain, &data, 1), 1);
	assert_int_equal(PAYLOAD(int, RANGE_POP_PAYLOAD, void *, size_t)(domain, &data, 1), 1);
	assert_int_equal(PAYLOAD(int, RANGE_POP_PAYLOAD, void *, size_t)(domain, NULL, 0), 0);
	expect_open("outer");
	assert_int_equal(PAYLOAD(int, RANGE_POP_PAYLOAD, void *, size_t)(domain, &data, 1),
			 NVTX_ABI_NO_PUSH_POP_TRACKING);
	range = start("started");
	expect_open("outer", "started");
	PAYLOAD(void, RANGE_END_PAYLOAD, uint64_t, void *, size_t)(domain, range, &data, 1);
	range = PAYLOAD(uint64_t, RANGE_START_PAYLOAD, void *, size_t)(NULL, &data, 1);
	expect_open("outer", "[unnamed]");
	end(range);
	expect_open("outer");
	/* the default domain */
	assert_int_equal(PAYLOAD(int, RANGE_POP_PAYLOAD, void *, size_t)(NULL, &data, 1), 0);
	expect_none_open();
}

static void extensions_that_are_not_followed(void **state)
{
	const uint16_t size = sizeof(struct nvtx_abi_extension), payloads = 2;
	intptr_t slots[SLOTS_OF_PROGRAM];

	(void)state;
	assert_int_equal(InitializeInjectionNvtxExtension(NULL), 1);
	assert_int_equal(describe_extension(size, 1, SLOTS_OF_PROGRAM, slots), 1);
	assert_int_equal(count_filled(slots), 0);
	assert_int_equal(describe_extension(8, payloads, SLOTS_OF_PROGRAM, slots), 1);
	assert_int_equal(count_filled(slots), 0);
	/* a program with an older, shorter table */
	assert_int_equal(describe_extension(size, payloads, 5, slots), 1);
	assert_int_equal(count_filled(slots), 4);
	settings_configure(&(struct trace_config){.nvtx = false});
	assert_int_equal(describe_extension(size, payloads, SLOTS_OF_PROGRAM, slots), 1);
	assert_int_equal(count_filled(slots), 0);
	settings_configure(&(struct trace_config){.nvtx = true});
}

/* ---- places ---- */

static struct seen seen;

/* Checks that the stack's frame number `native` is in this function. */
static bool is_in(uint32_t native, void (*function)(void))
{
	uint64_t at = (uint64_t)(uintptr_t)function;

	return native < seen.stack.count && seen.stack.pcs[native] > at &&
	       seen.stack.pcs[native] < at + 400;
}

static __attribute__((noinline)) void launch(void)
{
	look(&seen);
	asm volatile("");
}

/* Pushes a range inside a wrapper that uses much of the stack, and returns. */
static __attribute__((noinline)) void push_from_afar(void)
{
	volatile char local[3000];

	local[0] = 1;
	push("afar");
	local[1] = local[0];
}

static __attribute__((noinline)) void launch_deeper(void)
{
	volatile char local[1000];

	local[0] = 1;
	push("deeper");
	launch();
	local[1] = local[0];
}

static __attribute__((noinline)) void open_and_call(void)
{
	push("direct");
	push_from_afar();
	launch_deeper();
	asm volatile("");
}

static void ranges_are_inside_the_function_that_opened_them(void **state)
{
	(void)state;
	open_and_call();
	assert_int_equal(seen.ranges.count, 3);
	assert_true(is_in(seen.ranges.open[0].native, open_and_call));
	assert_true(is_in(seen.ranges.open[1].native, open_and_call));
	assert_true(is_in(seen.ranges.open[2].native, launch_deeper));
	/* after the function has returned: the range is of its remaining callers */
	launch();
	assert_int_equal(seen.ranges.count, 3);
	for (int i = 0; i < 3; i++)
		assert_true(seen.ranges.open[i].native > 1);
	pop();
	pop();
	pop();
}

static uint64_t recognize(const void *frame)
{
	uint64_t number = nvtx_recognize(frame);

	assert_int_equal(number & NVTX_BY_INSTRUCTION, 0); /* there is no Python */
	return number;
}

static __attribute__((noinline)) uint64_t push_and_recognize(const char *name, const void *frame)
{
	uint64_t number;

	push(name);
	number = recognize(frame);
	pop();
	return number;
}

static void equal_ranges_are_recognized(void **state)
{
	const char *const names[] = {"one", "one", "two"};
	uint64_t numbers[3], elsewhere;
	char object;
	const void *frame = &object - 1024; /* a launch further inside */

	(void)state;
	for (int i = 0; i < 3; i++) /* from one place */
		numbers[i] = push_and_recognize(names[i], frame);
	assert_int_equal(numbers[0], numbers[1]);
	assert_int_not_equal(numbers[0], numbers[2]);
	assert_int_not_equal(numbers[0], 0);
	elsewhere = push_and_recognize("one", frame);
	assert_int_not_equal(elsewhere, numbers[0]);
	assert_int_equal(recognize(frame), 0);
	nvtx_open_at(NVTX_OPERATORS, nvtx_name(NVTX_OPERATORS, "one", 0),
		     (uint64_t)(uintptr_t)&object);
	numbers[0] = recognize(frame);
	assert_int_not_equal(numbers[0], numbers[1]);
	/* seen from a deeper launch */
	assert_int_not_equal(recognize((const char *)frame - 64), numbers[0]);
	nvtx_close_at((uint64_t)(uintptr_t)&object);
	assert_int_equal(recognize(frame), 0);
	/* an object where no function runs any more */
	nvtx_open_at(NVTX_OPERATORS, nvtx_name(NVTX_OPERATORS, "one", 0),
		     (uint64_t)(uintptr_t)&object - 2048);
	assert_int_equal(recognize(frame), 0);
}

static void another_place_is_another_stack(void **state)
{
	struct nvtx_ranges a = {.count = 1, .open = {{.name = 1, .native = 3, .python = 2}}}, b = a;

	(void)state;
	assert_int_equal(nvtx_hash(5, &a), nvtx_hash(5, &b));
	b.open[0].native = 4;
	assert_int_not_equal(nvtx_hash(5, &a), nvtx_hash(5, &b));
	b = a;
	b.open[0].python = 0;
	assert_int_not_equal(nvtx_hash(5, &a), nvtx_hash(5, &b));
	b = a;
	b.open[0].name = 2;
	assert_int_not_equal(nvtx_hash(5, &a), nvtx_hash(5, &b));
	b = a;
	b.count = 0;
	assert_int_not_equal(nvtx_hash(5, &a), nvtx_hash(5, &b));
}

#define NATIVE(i)    \
	{            \
		0, i \
	}
#define PYTHON(i)    \
	{            \
		1, i \
	}

/* Frames are letters, inserted ranges their ids. */
static void expect_both(const struct nvtx_ranges *ranges, const struct layers *layers,
			uint32_t first, const char *expected)
{
	/* innermost first: two natives, two Python functions, a native */
	static const struct python_merged origins[] = {NATIVE(0), NATIVE(1), PYTHON(0), PYTHON(1),
						       NATIVE(4)};
	struct gpu_event_frame frames[GPU_STACK_MAX_FRAMES];
	char text[32];
	bool is_cut = false;
	uint32_t n;

	for (uint32_t i = 0; i < 5; i++)
		frames[i] = (struct gpu_event_frame){.value = 'a' + i, .kind = GPU_FRAME_RETURN};
	n = nvtx_insert(&sink, ranges, layers, first, origins, frames, 5, &is_cut);
	for (uint32_t i = 0; i < n; i++)
		text[i] = (char)(frames[i].value +
				 (frames[i].kind == GPU_FRAME_NVTX ? (uint64_t)'0' : 0));
	text[n] = '\0';
	assert_string_equal(text, expected);
	assert_false(is_cut);
}

static void expect_inserted(const struct nvtx_ranges *ranges, uint32_t first, const char *expected)
{
	expect_both(ranges, NULL, first, expected);
}

static void layers_go_inside_calls(void **state)
{
	const struct layers layers = {.count = 2, .open = {{7, 1}, {8, 0}}};
	const struct nvtx_ranges none = {.count = 0};
	const struct nvtx_ranges within = {.count = 2,
					   .open = {{1, UINT32_MAX, 1}, {2, UINT32_MAX, 0}}};
	const struct nvtx_ranges around = {.count = 1, .open = {{1, UINT32_MAX, UINT32_MAX}}};
	const struct nvtx_ranges inner = {.count = 1, .open = {{1, 1, UINT32_MAX}}};

	(void)state;
	expect_both(&none, &layers, 0, "ab8c7de");
	expect_both(&within, &layers, 0, "ab28c17de");
	expect_both(&around, &layers, 0, "ab8c7de1");
	expect_both(&inner, &layers, 0, "a1b8c7de");
}

static void ranges_go_between_frames(void **state)
{
	struct nvtx_ranges r = {.count = 1};

	(void)state;
	nvtx_name(0, "one", 0);
	nvtx_name(0, "two", 0);
	r.open[0].name = 1;
	r.open[0].native = 1;
	r.open[0].python = 2; /* none */
	expect_inserted(&r, 0, "a1bcde");
	r.open[0].native = 4;
	expect_inserted(&r, 0, "abcd1e");
	r.open[0].native = 3; /* the interpreter's, which gave way */
	expect_inserted(&r, 0, "abcd1e");
	r.open[0].python = 1;
	expect_inserted(&r, 0, "abc1de");
	r.open[0].native = UINT32_MAX;
	r.open[0].python = 0;
	expect_inserted(&r, 0, "ab1cde");
	r.open[0].python = 2;
	expect_inserted(&r, 0, "abcde1");
	r.open[0].native = 3;
	expect_inserted(&r, 2, "a1bcde"); /* two frames of CUDA are left out */
	r.open[0].native = 1;
	expect_inserted(&r, 2, "1abcde");
	/* the later one is the inner one, even if their places disagree */
	r.count = 2;
	r.open[1] = r.open[0];
	r.open[1].name = 2;
	expect_inserted(&r, 0, "a21bcde");
	r.open[1].native = 4;
	expect_inserted(&r, 0, "a21bcde");
	r.open[0].native = 4;
	r.open[1].native = 0;
	expect_inserted(&r, 0, "2abcd1e");
}

static struct python_stack python_of(uint32_t count, const uint64_t *codes, const uint64_t *places)
{
	struct python_stack stack = {.count = count, .is_whole = true};

	for (uint32_t i = 0; i < count; i++)
		stack.frames[i] = (struct python_frame){.code = codes[i], .place = places[i]};
	return stack;
}

static uint32_t python_place(uint32_t count, const uint64_t *codes, const uint64_t *places,
			     bool *unchanged)
{
	/* opened by push(), called by guard(), called by main() */
	struct nvtx_place place = {.python_count = 3,
				   .python_depth = 3,
				   .python_is_whole = true,
				   .pythons = {{3, 0, 30}, {2, 0, 20}, {1, 0, 10}}};
	struct python_stack stack = python_of(count, codes, places);

	return nvtx_place_python(&place, &stack, unchanged);
}

#define PYTHONS(...)        \
	(const uint64_t[])  \
	{                   \
		__VA_ARGS__ \
	}

static void python_functions_that_still_run(void **state)
{
	bool unchanged;

	(void)state;
	/* main goes on */
	assert_int_equal(python_place(1, PYTHONS(1), PYTHONS(11), &unchanged), 0);
	assert_false(unchanged);
	assert_int_equal(python_place(2, PYTHONS(9, 1), PYTHONS(90, 11), &unchanged), 1);
	/* guard continues, and calls another function, or push again */
	assert_int_equal(python_place(3, PYTHONS(9, 2, 1), PYTHONS(90, 21, 10), &unchanged), 1);
	assert_int_equal(python_place(3, PYTHONS(3, 2, 1), PYTHONS(30, 21, 10), &unchanged), 1);
	assert_false(unchanged);
	/* main calls something else from that place */
	assert_int_equal(python_place(2, PYTHONS(9, 1), PYTHONS(20, 10), &unchanged), 1);
	assert_false(unchanged);
	/* all as it was: native frames decide */
	assert_int_equal(python_place(3, PYTHONS(3, 2, 1), PYTHONS(30, 20, 10), &unchanged), 0);
	assert_true(unchanged);
	assert_int_equal(python_place(4, PYTHONS(9, 3, 2, 1), PYTHONS(90, 30, 20, 10), &unchanged),
			 1);
	assert_true(unchanged);
	/* returned without a trace */
	assert_int_equal(python_place(2, PYTHONS(2, 1), PYTHONS(20, 10), &unchanged), 0);
	assert_false(unchanged);
	/* another program altogether */
	assert_int_equal(python_place(2, PYTHONS(8, 9), PYTHONS(1, 2), &unchanged), 2);
	assert_int_equal(python_place(0, NULL, NULL, &unchanged), 0);
	assert_true(unchanged);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pushes_nest),
		cmocka_unit_test(pops_without_pushes_are_reported),
		cmocka_unit_test(domains_have_separate_stacks),
		cmocka_unit_test(messages_of_all_kinds),
		cmocka_unit_test(messages_are_copied_and_cut),
		cmocka_unit_test(too_many_names_share_one),
		cmocka_unit_test(numbered_names_leave_room_for_others),
		cmocka_unit_test(random_names_leave_room_for_others),
		cmocka_unit_test(what_goes_past_other_limits_is_counted),
		cmocka_unit_test(too_deep_ranges_keep_the_balance),
		cmocka_unit_test(threads_have_their_own_ranges_and_may_end_others),
		cmocka_unit_test(many_started_ranges),
		cmocka_unit_test(ranges_closed_with_a_payload),
		cmocka_unit_test(extensions_that_are_not_followed),
		cmocka_unit_test(ranges_are_inside_the_function_that_opened_them),
		cmocka_unit_test(equal_ranges_are_recognized),
		cmocka_unit_test(another_place_is_another_stack),
		cmocka_unit_test(ranges_go_between_frames),
		cmocka_unit_test(layers_go_inside_calls),
		cmocka_unit_test(python_functions_that_still_run),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
