/* SPDX-License-Identifier: MIT */
/*
 * Watching GPUs through the helper: when it is asked, what is taken of what it sends, and that
 * nothing waits for it. The service runs with the stand-in of NVML, in a process of its own.
 */
#include "collect_text.h"
#include <dlfcn.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include "profiler/run/gpu_watch.h"
#include "symbolize/util/monotonic.h"

#define GPU_0 "GPU-10111213-1415-1617-1819-1a1b1c1d1e00"

struct bench {
	struct collect *collect;
	struct process *process;
	struct log log;
	struct gpu_watch watch;
	int peer;        /* the helper's end */
	uint32_t opened; /* connections */
	uint64_t now_ns;
};

static int connect_pair(const void *context)
{
	struct bench *b = (struct bench *)(uintptr_t)context;
	int sockets[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
	b->peer = sockets[0];
	b->opened++;
	return sockets[1];
}

static int connect_nobody(const void *context)
{
	(void)context;
	return -EPIPE;
}

static struct bench *begin(void)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	b->collect = collect_new(&(struct collect_options){
		.sample_ns = SAMPLE_NS, .measure = {.traces_gpu = true, .devices = true}});
	assert_non_null(b->collect);
	b->process = say_hello(b->collect, 70);
	assert_non_null(b->process);
	b->peer = -1;
	b->log.level = LOG_VERBOSE;
	b->watch.connector = (struct gpu_watch_connector){connect_pair, b};
	return b;
}

static void end(struct bench *b)
{
	if (b->peer >= 0)
		close(b->peer);
	collect_free(b->collect);
	free(b);
}

static void describe(struct bench *b, uint32_t device)
{
	struct gpu_event event = {.type = GPU_EVENT_DEVICE,
				  .device = {.id = device, .name = "Fake GPU"}};

	for (uint32_t i = 0; i < GPU_UUID_BYTES; i++)
		event.device.uuid[i] = (uint8_t)(0x10 + i);
	event.device.uuid[15] = (uint8_t)device;
	send_event(b->collect, b->process, &event);
}

/* Notes work on a device, as attribution does for each operation. */
static void work(struct bench *b, uint32_t device)
{
	struct devices *devices = (struct devices *)(uintptr_t)collect_results(b->collect).devices;

	assert_int_not_equal(devices_key(devices, b->process->id, device), DEVICES_NO_KEY);
}

static void look(struct bench *b)
{
	b->now_ns += 1000000000;
	gpu_watch_look(&b->watch, b->collect, &b->log, b->now_ns);
}

/* Looks, and returns what was logged. */
static const char *look_logged(struct bench *b)
{
	static struct capture capture;

	capture_begin(&capture);
	look(b);
	return capture_end(&capture);
}

static struct gpu_reading good_reading(void)
{
	return (struct gpu_reading){.start_ns = 1, .end_ns = 2, .sm_mhz = 1000};
}

struct sent {
	uint32_t is_reading, gpu;
	union {
		struct gpu_reading reading;
		char why[120];
	};
};

static void send_reading(struct bench *b, uint32_t gpu, const struct gpu_reading *reading)
{
	const struct sent sent = {.is_reading = 1, .gpu = gpu, .reading = *reading};

	assert_int_equal(send(b->peer, &sent, sizeof(sent), MSG_NOSIGNAL), sizeof(sent));
}

/* Ends the run, and returns the number of rows. */
static uint32_t rows(struct bench *b)
{
	const struct result_table *table;

	gpu_watch_end(&b->watch, b->collect, &b->log, b->now_ns + 2000000000);
	collect_finish(b->collect, UINT64_MAX / 2);
	table = result_tables_find(collect_results(b->collect).tables, &gpu_states_table);
	assert_non_null(table);
	return table->count;
}

static void a_used_gpu_is_asked_for_once(void **state)
{
	struct bench *b = begin();
	char uuid[2 * DEVICE_UUID_BYTES];

	(void)state;
	look(b);
	describe(b, 0);
	describe(b, 1);
	look(b);
	assert_int_equal(b->opened, 0); /* no work yet */
	work(b, 0);
	look(b);
	look(b);
	assert_int_equal(b->opened, 1);
	assert_int_equal(recv(b->peer, uuid, sizeof(uuid), MSG_DONTWAIT), DEVICE_UUID_BYTES);
	assert_string_equal(uuid, GPU_0);
	work(b, 1);
	look(b);
	assert_int_equal(b->opened, 1);
	assert_int_equal(recv(b->peer, uuid, sizeof(uuid), MSG_DONTWAIT), DEVICE_UUID_BYTES);
	assert_int_equal(rows(b), 0);
	end(b);
}

static void readings_become_rows(void **state)
{
	struct bench *b = begin();
	struct gpu_reading reading = good_reading();

	(void)state;
	describe(b, 0);
	work(b, 0);
	look(b);
	send_reading(b, 0, &reading);
	reading.start_ns = 2;
	reading.end_ns = 3;
	send_reading(b, 0, &reading);
	look(b);
	assert_int_equal(rows(b), 2);
	end(b);
}

static void pieces_are_put_together(void **state)
{
	const struct sent sent = {.is_reading = 1, .reading = good_reading()};
	struct bench *b = begin();

	(void)state;
	describe(b, 0);
	work(b, 0);
	look(b);
	for (size_t at = 0; at < sizeof(sent); at += 8) {
		assert_int_equal(send(b->peer, (const char *)&sent + at, 8, MSG_NOSIGNAL), 8);
		look(b);
	}
	assert_int_equal(rows(b), 1);
	end(b);
}

static void impossible_messages_end_it(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct bench *b = begin();
		struct gpu_reading reading = good_reading();

		describe(b, 0);
		work(b, 0);
		look(b);
		if (i == 0)
			reading.sm_mhz = UINT32_MAX;
		if (i == 1)
			reading.end_ns = monotonic_ns() + UINT64_C(100000000000);
		if (i == 2)
			reading.start_ns = 3;
		send_reading(b, i == 3 ? 1 : 0, &reading);
		look(b);
		assert_true(b->watch.is_over);
		reading = good_reading();
		assert_true(send(b->peer, &reading, 1, MSG_NOSIGNAL) < 0);
		look(b);
		assert_int_equal(b->opened, 1);
		assert_int_equal(rows(b), 0);
		end(b);
	}
}

static void a_reason_is_logged_once(void **state)
{
	struct bench *b = begin();
	struct sent sent = {.gpu = 0};
	const char *text;

	(void)state;
	describe(b, 0);
	work(b, 0);
	look(b);
	memset(sent.why, 'x', sizeof(sent.why)); /* without an end */
	memcpy(sent.why, "no\033[1m", 6);
	assert_int_equal(send(b->peer, &sent, sizeof(sent), MSG_NOSIGNAL), sizeof(sent));
	close(b->peer);
	b->peer = -1;
	text = look_logged(b);
	assert_non_null(strstr(text, "profile: the state of GPUs is not recorded: no?[1mxxx"));
	assert_string_equal(look_logged(b), "");
	assert_true(b->watch.is_over);
	assert_int_equal(rows(b), 0);
	end(b);
}

static void endless_reasons_end_it(void **state)
{
	struct bench *b = begin();
	struct sent sent = {.gpu = 0, .why = "no"};

	(void)state;
	describe(b, 0);
	work(b, 0);
	look(b);
	for (int i = 0; i < 50; i++)
		assert_int_equal(send(b->peer, &sent, sizeof(sent), MSG_NOSIGNAL), sizeof(sent));
	look_logged(b);
	assert_true(b->watch.is_over);
	end(b);
}

static void a_helper_that_is_gone(void **state)
{
	struct bench *b = begin();

	(void)state;
	b->watch.connector.connect = connect_nobody;
	describe(b, 0);
	work(b, 0);
	assert_string_equal(look_logged(b),
			    "profile: the state of GPUs is not recorded: profile-helper has "
			    "ended\n");
	assert_string_equal(look_logged(b), "");
	assert_int_equal(rows(b), 0);
	end(b);
}

static void a_helper_that_hangs(void **state)
{
	struct bench *b = begin();
	static struct capture capture;

	(void)state;
	describe(b, 0);
	work(b, 0);
	look(b);
	capture_begin(&capture);
	assert_int_equal(rows(b), 0);
	assert_string_equal(capture_end(&capture),
			    "profile: the state of GPUs is not recorded: NVML has not "
			    "answered\n");
	end(b);
}

static void too_many_gpus_are_not_asked_for(void **state)
{
	struct bench *b = begin();
	char uuids[64 * DEVICE_UUID_BYTES];

	(void)state;
	for (uint32_t i = 0; i < GPU_WATCH_GPUS + 5; i++) {
		describe(b, i);
		work(b, i);
	}
	look(b);
	look(b);
	assert_int_equal(recv(b->peer, uuids, sizeof(uuids), MSG_DONTWAIT),
			 GPU_WATCH_GPUS * DEVICE_UUID_BYTES);
	end(b);
}

/* Serves a connection with the stand-in, in a process of its own. */
static pid_t serve(int socket, int other)
{
	pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
	char path[PATH_MAX];
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	close(other);
	snprintf(path, sizeof(path), "%s/nvml/libnvidia-ml.so.1", getenv("FAKE_CUDA_DIR"));
	if (dlopen(path, RTLD_NOW))
		gpu_watch_serve(socket, &loading);
	_exit(0);
}

static void the_service_reads(void **state)
{
	char uuids[2][DEVICE_UUID_BYTES] = {GPU_0, "GPU-unknown"};
	uint64_t end_ns = 0;
	uint32_t readings = 0, reasons = 0;
	struct sent sent;
	int sockets[2], status;
	pid_t pid;

	(void)state;
	if (!getenv("FAKE_CUDA_DIR"))
		skip();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	pid = serve(sockets[1], sockets[0]);
	close(sockets[1]);
	assert_int_equal(send(sockets[0], uuids, sizeof(uuids), MSG_NOSIGNAL), sizeof(uuids));
	while (readings < 5 || reasons < 1) {
		assert_int_equal(recv(sockets[0], &sent, sizeof(sent), MSG_WAITALL), sizeof(sent));
		if (!sent.is_reading) {
			assert_string_equal(sent.why, "nvmlDeviceGetHandleByUUID: Not Found");
			reasons++;
			continue;
		}
		assert_int_equal(sent.gpu, 0);
		assert_true(gpu_reading_is_sane(&sent.reading));
		assert_true(!end_ns || sent.reading.start_ns == end_ns); /* without gaps */
		end_ns = sent.reading.end_ns;
		readings++;
	}
	close(sockets[0]); /* ends the service */
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void what_is_not_taken_is_not_lost(void **state)
{
	char uuid[DEVICE_UUID_BYTES] = GPU_0;
	uint64_t energy = 0, from_ns = 0, end_ns = 0;
	struct sent sent;
	int sockets[2], size = 2304, status;
	pid_t pid;

	(void)state;
	if (!getenv("FAKE_CUDA_DIR"))
		skip();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	setsockopt(sockets[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)); /* room for few */
	pid = serve(sockets[1], sockets[0]);
	close(sockets[1]);
	assert_int_equal(send(sockets[0], uuid, sizeof(uuid), MSG_NOSIGNAL), sizeof(uuid));
	usleep(1500000);
	while (!from_ns || end_ns - from_ns < 1500000000u) {
		assert_int_equal(recv(sockets[0], &sent, sizeof(sent), MSG_WAITALL), sizeof(sent));
		assert_true(!end_ns || sent.reading.start_ns == end_ns);
		from_ns = from_ns ? from_ns : sent.reading.start_ns;
		end_ns = sent.reading.end_ns;
		energy += sent.reading.energy_mj;
	}
	/* 400 W; readings take time, on a machine that has other work */
	assert_in_range(energy, 400000, UINT32_MAX);
	close(sockets[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

struct hanging {
	int socket;
	pthread_mutex_t loading;
};

static void *serve_hanging(void *arg)
{
	struct hanging *h = arg;

	gpu_watch_serve(h->socket, &h->loading);
	return NULL;
}

static void nvml_that_hangs_holds_up_no_other_service(void **state)
{
	struct hanging h = {.loading = PTHREAD_MUTEX_INITIALIZER};
	char path[PATH_MAX];
	int sockets[2], status;
	pthread_t thread;
	pid_t pid;

	(void)state;
	if (!getenv("FAKE_CUDA_DIR"))
		skip();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	h.socket = sockets[1];
	snprintf(path, sizeof(path), "%s/nvml/libnvidia-ml.so.1", getenv("FAKE_CUDA_DIR"));
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		setenv("FAKE_NVML", "hang", 1);
		if (!dlopen(path, RTLD_NOW) ||
		    pthread_create(&thread, NULL, serve_hanging, &h) != 0)
			_exit(1);
		usleep(300000);
		alarm(60);
		pthread_mutex_lock(&h.loading); /* as another service does */
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(sockets[0]);
	close(sockets[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_used_gpu_is_asked_for_once),
		cmocka_unit_test(readings_become_rows),
		cmocka_unit_test(pieces_are_put_together),
		cmocka_unit_test(impossible_messages_end_it),
		cmocka_unit_test(a_reason_is_logged_once),
		cmocka_unit_test(endless_reasons_end_it),
		cmocka_unit_test(a_helper_that_is_gone),
		cmocka_unit_test(a_helper_that_hangs),
		cmocka_unit_test(too_many_gpus_are_not_asked_for),
		cmocka_unit_test(the_service_reads),
		cmocka_unit_test(nvml_that_hangs_holds_up_no_other_service),
		cmocka_unit_test(what_is_not_taken_is_not_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
