/* SPDX-License-Identifier: MIT */
/*
 * Calls that wait, as CUPTI reports them: the outermost counts, and unfinished ones are not sent.
 */
#include "fifo_sink.h"
#include "cupti_trace/launch/launch_log.h"
#include "cupti_trace/launch/wait_log.h"

enum {
	RT = CUPTI_ABI_DOMAIN_RUNTIME_API,
	DRV = CUPTI_ABI_DOMAIN_DRIVER_API,
	DEVICE_SYNC = 165,
	MEMCPY = 31,
	DRV_MEMCPY = 276,
	STREAM_SYNC = 131,
	STREAM_SYNC_PTSZ = 239,
};

struct bench {
	struct fifo fifo;
	struct tracer tracer;
	struct gpu_event_wait waits[16];
	uint32_t count;
};

static void hear(void *context, const struct gpu_event *event, const char *kernel)
{
	struct bench *b = context;

	(void)kernel;
	if (event->type == GPU_EVENT_WAIT && b->count < 16)
		b->waits[b->count++] = event->wait;
}

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	*state = b;
	fifo_open_sink(&b->fifo, &b->tracer.sink, hear, b);
	return 0;
}

static int end(void **state)
{
	struct bench *b = *state;

	fifo_remove(&b->fifo);
	free(b);
	return 0;
}

static void finish(struct bench *b)
{
	fifo_close_sink(&b->fifo, &b->tracer.sink);
}

static struct wait_log_call call_of(uint32_t domain, uint32_t cbid)
{
	static const struct cupti_abi_callback_data none;

	return (struct wait_log_call){domain, cbid, false, "function", &none};
}

static void enter(struct bench *b, uint32_t domain, uint32_t cbid)
{
	struct wait_log_call call = call_of(domain, cbid);

	wait_log_enter(&b->tracer, &call, 5);
}

static void leave(struct bench *b, uint32_t domain, uint32_t cbid)
{
	struct wait_log_call call = call_of(domain, cbid);

	wait_log_exit(&b->tracer, &call);
}

static void the_outermost_call_counts(void **state)
{
	struct bench *b = *state;
	uint64_t before = clock_now_ns(), middle;

	enter(b, RT, MEMCPY);
	enter(b, DRV, DRV_MEMCPY);
	middle = clock_now_ns();
	leave(b, DRV, DRV_MEMCPY);
	leave(b, RT, MEMCPY);
	enter(b, DRV, DRV_MEMCPY);
	leave(b, DRV, DRV_MEMCPY);
	leave(b, DRV, DRV_MEMCPY); /* an exit without its enter */
	finish(b);
	assert_int_equal(b->count, 2);
	assert_true(b->waits[0].start_ns >= before && b->waits[0].start_ns <= middle);
	assert_true(b->waits[0].start_ns + b->waits[0].duration_ns >= middle);
	assert_int_equal(b->waits[0].stack_id, 5);
	assert_int_equal(b->waits[0].tid, getpid());
	assert_int_equal(b->waits[0].has_stream, 0);
}

static void unfinished_waits_are_not_sent(void **state)
{
	struct bench *b = *state;

	enter(b, RT, DEVICE_SYNC);
	enter(b, RT, DEVICE_SYNC); /* the first was left some other way */
	leave(b, RT, DEVICE_SYNC);
	enter(b, RT, DEVICE_SYNC);
	finish(b);
	assert_int_equal(b->count, 1);
	leave(b, RT, DEVICE_SYNC);
}

/* Waits many times, in a thread that is to be cancelled. The thread must end outside of the
 * library's locks. */
static void *wait_forever(void *bench)
{
	for (;;) {
		enter(bench, RT, DEVICE_SYNC);
		leave(bench, RT, DEVICE_SYNC);
		pthread_testcancel();
	}
	return NULL;
}

static void a_cancelled_thread_leaves_no_lock(void **state)
{
	struct bench *b = *state;

#ifdef __SANITIZE_ADDRESS__
	finish(b);
	print_message(
		"SKIP: AddressSanitizer reports an overflow of its own in cancelled threads\n");
	skip();
#endif
	for (int i = 0; i < 20; i++) {
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, wait_forever, b), 0);
		usleep(2000);
		pthread_cancel(thread);
		pthread_join(thread, NULL);
		sink_flush(&b->tracer.sink);
	}
	finish(b);
}

static int number_of(void *context, void *stream, uint8_t per_thread, uint32_t *id)
{
	assert_null(context);
	assert_int_equal(per_thread, 0);
	if (stream == (void *)99)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	*id = (uint32_t)(uintptr_t)stream + 1;
	return CUPTI_ABI_SUCCESS;
}

static void wait_for(struct bench *b, uint32_t cbid, uintptr_t stream)
{
	const struct cupti_abi_callback_data data = {.function_params = &stream, .context_uid = 3};
	const struct wait_log_call call = {RT, cbid, cbid != DEVICE_SYNC, "function", &data};

	wait_log_enter(&b->tracer, &call, 5);
	wait_log_exit(&b->tracer, &call);
}

/* Parameters of other calls are not read. Default streams have no number, because each stands
 * for several streams. */
static void a_stream_is_reported_if_known(void **state)
{
	static const uintptr_t untold[] = {0, 1, 2, 99};
	struct bench *b = *state;

	wait_for(b, STREAM_SYNC, 50);
	b->tracer.api.cuptiGetStreamIdEx = number_of;
	wait_for(b, STREAM_SYNC, 50);
	wait_for(b, STREAM_SYNC_PTSZ, 60);
	wait_for(b, DEVICE_SYNC, 50);
	for (int i = 0; i < 4; i++)
		wait_for(b, STREAM_SYNC, untold[i]);
	finish(b);
	assert_int_equal(b->count, 8);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(b->waits[i].has_stream, i == 1 || i == 2);
	assert_int_equal(b->waits[1].stream_id, 51);
	assert_int_equal(b->waits[2].stream_id, 61);
	assert_int_equal(b->waits[2].context_id, 3);
}

/* A wait has the result of the outermost call, whatever calls inside return. */
static void a_wait_has_the_error_of_its_call(void **state)
{
	static int failed = 700, in_driver = 999;
	const struct cupti_abi_callback_data runtime = {.function_return_value = &failed};
	const struct cupti_abi_callback_data driver = {.function_return_value = &in_driver};
	struct wait_log_call call = call_of(RT, MEMCPY), inner = call_of(DRV, DRV_MEMCPY);
	struct bench *b = *state;

	call.data = &runtime;
	inner.data = &driver;
	wait_log_enter(&b->tracer, &call, 5);
	wait_log_enter(&b->tracer, &inner, 5);
	wait_log_exit(&b->tracer, &inner);
	wait_log_exit(&b->tracer, &call);
	enter(b, RT, MEMCPY);
	leave(b, RT, MEMCPY);
	finish(b);
	assert_int_equal(b->count, 2);
	assert_int_equal(b->waits[0].error, 700);
	assert_int_equal(b->waits[1].error, 0);
}

/* Computes until the thread has run for this time. */
static void compute(uint64_t ns)
{
	uint64_t until = clock_own_cpu_ns() + ns;

	while (clock_own_cpu_ns() < until)
		;
}

/* Computing is measured by the thread's own clock, however busy the machine is. */
static void what_the_thread_computes_is_known(void **state)
{
	struct bench *b = *state;

	if (!clock_own_cpu_ns()) {
		print_message("no CPU clock of threads\n");
		skip();
	}
	enter(b, RT, MEMCPY);
	compute(2000000);
	leave(b, RT, MEMCPY);
	enter(b, RT, DEVICE_SYNC);
	nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
	leave(b, RT, DEVICE_SYNC);
	finish(b);
	assert_int_equal(b->count, 2);
	assert_true(b->waits[0].computed_ns >= 2000000);
	assert_true(b->waits[0].computed_ns <= b->waits[0].duration_ns);
	assert_true(b->waits[1].computed_ns < b->waits[1].duration_ns);
}

/* The part of a call before a context exists is no wait for a GPU. */
static void a_wait_begins_when_there_is_a_context(void **state)
{
	struct bench *b = *state;
	uint64_t created;

	wait_log_context_created(); /* outside of the followed calls */
	enter(b, RT, MEMCPY);
	compute(2000000);
	created = clock_now_ns();
	wait_log_context_created();
	enter(b, DRV, DRV_MEMCPY);
	leave(b, DRV, DRV_MEMCPY);
	leave(b, RT, MEMCPY);
	wait_log_context_created();
	finish(b);
	assert_int_equal(b->count, 1);
	assert_true(b->waits[0].start_ns >= created);
	assert_true(b->waits[0].start_ns + b->waits[0].duration_ns <= clock_now_ns());
	assert_true(b->waits[0].computed_ns <= b->waits[0].duration_ns);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_outermost_call_counts),
		TEST(unfinished_waits_are_not_sent),
		TEST(a_cancelled_thread_leaves_no_lock),
		TEST(a_stream_is_reported_if_known),
		TEST(a_wait_has_the_error_of_its_call),
		TEST(what_the_thread_computes_is_known),
		TEST(a_wait_begins_when_there_is_a_context),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
