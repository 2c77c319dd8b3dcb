/* SPDX-License-Identifier: MIT */
/*
 * The injection library in programs that already use CUDA: what it records from then on,
 * and how it leaves, again and again.
 */
#include "unit.h"
#include <signal.h>
#include "cupti_trace/wire/gpu_wire.h"
#include "cupti_trace/wire/trace_config.h"
#include "profiler/attach/inject_process.h"
#include "profiler/attach/payload.h"
#include "symbolize/util/monotonic.h"
#include "tests/unit/fifo.h"

#define KERNELS 40u /* heard before the library is asked to leave */

struct program {
	pid_t pid;
	int input, output;
};

static struct program start(const char *threads)
{
	struct program p;
	const char *fake = getenv("FAKE_CUDA_DIR");
	int input[2], output[2];
	char ready[16] = "", path[512];

	assert_non_null(fake);
	snprintf(path, sizeof(path), "%s/../workloads/restless", fake);
	assert_int_equal(pipe2(input, O_CLOEXEC), 0);
	assert_int_equal(pipe2(output, O_CLOEXEC), 0);
	fflush(NULL);
	p.pid = fork();
	if (p.pid == 0) {
		dup2(input[0], STDIN_FILENO);
		dup2(output[1], STDOUT_FILENO);
		setenv("LD_LIBRARY_PATH", fake, 1);
		setenv("FAKE_CUDA_STRICT", "1", 1);
		execl(path, "restless", threads, (char *)NULL);
		_exit(127);
	}
	close(input[0]);
	close(output[1]);
	p.input = input[1];
	p.output = output[0];
	assert_true(read(p.output, ready, sizeof(ready) - 1) > 0);
	assert_string_equal(ready, "ready\n");
	return p;
}

/* Checks the program's own report: no system call failed, nothing crashed. */
static void end(struct program *p)
{
	int status;

	close(p->input);
	assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
	close(p->output);
	assert_int_equal(status, 0);
}

/* ---- what the library sends ---- */

struct heard {
	struct fifo fifo;
	_Atomic uint32_t hellos, kernels;
	uint32_t goodbyes, notices, launches, named;
	bool is_off;
	struct gpu_event_goodbye goodbye;
	uint64_t from_ns, early; /* kernels that began before the library came */
	uint64_t late;           /* operations that began after the end, which are only counted */
};

static void answer(const struct heard *h, uint64_t instance)
{
	char path[160];
	int fd;

	snprintf(path, sizeof(path), "%s/" GPU_WIRE_ACK_FORMAT, h->fifo.folder, instance);
	fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || write(fd, "a", 1) != 1)
		h = NULL; /* the listener waits for a while then */
	if (fd >= 0)
		close(fd);
}

static void on_event(void *context, const struct gpu_event *event, const char *kernel)
{
	struct heard *h = context;

	switch (event->type) {
	case GPU_EVENT_HELLO:
		answer(h, event->hello.instance);
		h->is_off = event->hello.is_off;
		h->hellos++;
		break;
	case GPU_EVENT_LAUNCH:
		h->launches++;
		break;
	case GPU_EVENT_KERNEL:
		h->kernels++;
		h->named += kernel && strstr(kernel, "restless_work");
		h->early += event->kernel.start_ns < h->from_ns;
		break;
	case GPU_EVENT_DROPS:
		h->late += event->drops.late;
		break;
	case GPU_EVENT_GOODBYE:
		h->goodbyes++;
		h->goodbye = event->goodbye;
		break;
	case GPU_EVENT_NOTICE:
		h->notices++;
		break;
	default:
		break;
	}
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static struct heard *listen_to(const struct program *p)
{
	struct heard *h = calloc(1, sizeof(*h));
	char text[256], message[400];
	enum inject_result result;
	struct inject_request request = {.pid = p->pid,
					 .entry = GPU_WIRE_BEGIN,
					 .text = text,
					 .mark = GPU_WIRE_ACTIVE_MARKER,
					 .begins_again = true,
					 .file_name = "libprofile_cupti.so"};

	assert_non_null(h);
	request.library = payload_library(&request.library_size);
	fifo_make(&h->fifo, on_event, h);
	snprintf(text, sizeof(text), "%s=%s\n%s=stacks devices\n", GPU_WIRE_PIPE_ENV, h->fifo.path,
		 TRACE_CONFIG_ENV);
	fifo_start_reader(&h->fifo);
	h->from_ns = now_ns();
	do /* retried as in inject_queue.c: on a busy machine, threads hardly sleep */
		result = inject_process(&request, message);
	while (result == INJECT_NO_THREAD);
	if (result != INJECT_DONE)
		fail_msg("%s", message);
	/* no second visit comes while the first is at work */
	if (inject_process(&request, message) != INJECT_ALREADY)
		fail_msg("twice: %s", message);
	symbolizer_free(request.symbolizer);
	return h;
}

static void wait_kernels(const struct heard *h)
{
	while (h->kernels < KERNELS)
		usleep(1000);
}

static bool is_active(const struct program *p)
{
	char command[200];

	snprintf(command, sizeof(command), "grep -q 'memfd:%s' /proc/%d/maps",
		 GPU_WIRE_ACTIVE_MARKER, p->pid);
	return system(command) == 0;
}

/* Counts the mappings of the library. */
static int count_copies(const struct program *p)
{
	char command[200], text[32] = "";
	FILE *output;

	snprintf(command, sizeof(command),
		 "grep -c ' 00000000 .*memfd:profile-library' /proc/%d/maps", p->pid);
	output = popen(command, "r");
	assert_non_null(output);
	assert_non_null(fgets(text, sizeof(text), output));
	pclose(output);
	return (int)strtol(text, NULL, 10);
}

static int count_files(const struct program *p)
{
	char command[200], text[32] = "";
	FILE *output;

	snprintf(command, sizeof(command), "ls /proc/%d/fd | wc -l", p->pid);
	output = popen(command, "r");
	assert_non_null(output);
	assert_non_null(fgets(text, sizeof(text), output));
	pclose(output);
	return (int)strtol(text, NULL, 10);
}

static void wait_gone(const struct program *p)
{
	while (is_active(p))
		usleep(5000);
}

static void make_leave(const struct heard *h, char *path, size_t size)
{
	char time_range[GPU_WIRE_TIME_RANGE_BYTES];

	snprintf(time_range, sizeof(time_range), GPU_WIRE_TIME_RANGE_FORMAT, UINT64_C(0),
		 monotonic_ns());
	snprintf(path, size, "%s/" GPU_WIRE_TIME_RANGE_LINK, h->fifo.folder);
	assert_int_equal(symlink(time_range, path), 0);
}

static void forget(struct heard *h)
{
	fifo_remove(&h->fifo);
	free(h);
}

static void listen_and_leave(const struct program *p)
{
	struct heard *h = listen_to(p);
	char leave[160];

	wait_kernels(h);
	make_leave(h, leave, sizeof(leave));
	fifo_end_reader(&h->fifo); /* the library closes the pipe */
	assert_int_equal(unlink(leave), 0);
	if (h->fifo.ledger->pipe.malformed)
		fail_msg("not an event: %s", h->fifo.ledger->pipe.first_malformed);
	assert_int_equal(h->fifo.ledger->pipe.lost_batches, 0);
	assert_int_equal(h->hellos, 1);
	assert_false(h->is_off);
	assert_int_equal(h->goodbyes, 1);
	assert_int_equal(h->early, 0);
	assert_int_equal(h->named, h->kernels);
	assert_int_equal(h->goodbye.kernels, h->kernels + h->late);
	assert_int_equal(h->goodbye.launches, h->launches);
	assert_int_equal(h->fifo.ledger->pipe.wrong_totals, 0);
	wait_gone(p);
	forget(h);
}

static void test_again_and_again(void **state)
{
	struct program p = start("32");
	uint64_t rounds = unit_rounds(8);

	(void)state;
	for (uint64_t i = 0; i < rounds; i++)
		listen_and_leave(&p);
	assert_int_equal(count_copies(&p), 1);
	end(&p);
}

/* A second visit costs a running program nothing: no library is loaded again, and no file stays
 * open. */
static void test_leaves_nothing(void **state)
{
	struct program p = start("1");
	int files;

	(void)state;
	listen_and_leave(&p);
	files = count_files(&p);
	for (int i = 0; i < 5; i++)
		listen_and_leave(&p);
	assert_int_equal(count_copies(&p), 1);
	assert_int_equal(count_files(&p), files);
	end(&p);
}

/* The profiler dies: the pipe has no reader any more, and the folder goes. */
static void test_lost_profiler(void **state)
{
	struct program p = start("4");

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct heard *h = listen_to(&p);
		void *result;

		wait_kernels(h);
		pthread_cancel(h->fifo.thread);
		pthread_join(h->fifo.thread, &result);
		close(h->fifo.reader);
		h->fifo.reader = -1;
		wait_gone(&p);
		forget(h);
	}
	listen_and_leave(&p);
	end(&p);
}

/* The program ends as usual while the library is at work. */
static void test_program_ends(void **state)
{
	struct program p = start("8");
	struct heard *h = listen_to(&p);

	(void)state;
	wait_kernels(h);
	end(&p);
	fifo_end_reader(&h->fifo);
	assert_int_equal(h->goodbyes, 1);
	assert_int_equal(h->goodbye.kernels, h->kernels + h->late);
	forget(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_again_and_again),
		cmocka_unit_test(test_leaves_nothing),
		cmocka_unit_test(test_lost_profiler),
		cmocka_unit_test(test_program_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
