/* SPDX-License-Identifier: MIT */
/*
 * The target's end of the pipe, against a real pipe and readers that are fast, slow, asleep or
 * gone.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <signal.h>
#include <sys/resource.h>
#include "fifo.h"
#include "cupti_trace/core/sink.h"
#include "profiler/run/trace_reader.h"

enum { INSTANCE = 0x1234abcd };
#define ID "\"id\":\"000000001234abcd\","

static struct gpu_event kernel_event(uint32_t correlation_id)
{
	return (struct gpu_event){
		.type = GPU_EVENT_KERNEL,
		.kernel = {.name_id = 1, .correlation_id = correlation_id, .duration_ns = 3},
	};
}

static void put_hello(struct sink *sink, uint32_t pid, uint64_t instance)
{
	struct gpu_event e = {.type = GPU_EVENT_HELLO,
			      .hello = {.version = GPU_WIRE_VERSION,
					.pid = pid,
					.instance = instance,
					.wants_ack = 1}};

	sink_put(sink, &e);
}

static void put_kernels(struct sink *sink, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct gpu_event e = kernel_event(i);

		sink_put(sink, &e);
	}
}

static void opening_needs_a_reader(void **state)
{
	struct fifo f;
	struct sink sink;

	(void)state;
	fifo_make(&f, NULL, NULL);
	assert_int_equal(sink_open(&sink, "/nonexistent/pipe", 1, INSTANCE), -ENOENT);
	assert_true(sink_is_off(&sink));
	fifo_close_writer(&f);
	close(f.reader);
	f.reader = -1;
	assert_int_equal(sink_open(&sink, f.path, 1, INSTANCE), -ENXIO);
	put_kernels(&sink, 500); /* off: nothing happens */
	sink_flush(&sink);
	sink_goodbye(&sink);
	assert_true(sink_is_off(&sink));
	fifo_remove(&f);
}

static bool has_filter; /* seccomp is on: no helper thread with its own file table */

/* The program closes all descriptors, and opens files of its own. */
static void files_of_the_program_are_left_alone(void **state)
{
	struct sink sink;
	struct fifo f;
	struct stat st;
	int fd, theirs;

	(void)state;
	fifo_make(&f, NULL, NULL);
	f.keep_raw = true;
	assert_int_equal(sink_open(&sink, f.path, 77, INSTANCE), 0);
	fd = sink.fd;
	assert_true(fd >= 200); /* low numbers are the program's */
	put_kernels(&sink, 100);
	theirs = memfd_create("theirs", MFD_CLOEXEC);
	assert_int_equal(dup2(theirs, fd), fd);
	put_kernels(&sink, 100);
	sink_flush(&sink);
	/* opened apart, or under another number where that cannot be */
	assert_true(has_filter ? sink.fd >= 200 && sink.fd != fd : sink.fd == -1);
	assert_false(sink_is_off(&sink));
	/* without a pipe, the sink is off */
	if (sink.fd >= 0)
		assert_int_equal(dup2(theirs, sink.fd), sink.fd);
	unlink(f.path);
	put_kernels(&sink, 1);
	sink_goodbye(&sink);
	assert_true(sink_is_off(&sink));
	assert_int_equal(fstat(theirs, &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(fcntl(fd, F_GETFD), 0); /* still theirs, and open */
	close(fd);
	close(theirs);
	fifo_drain(&f);
	fifo_finish(&f);
	assert_true(f.raw_size > 200 * 40);
	assert_non_null(memmem(f.raw, f.raw_size, "\"c\":99,", 7));
	fifo_remove(&f);
}

static void a_batch_has_a_header(void **state)
{
	static const char expected[] = "\n{\"t\":\"batch\",\"pid\":77," ID "\"seq\":0,\"len\":72}\n"
				       "{\"t\":\"maps\",\"generation\":1,\"ack\":0}\n"
				       "{\"t\":\"maps\",\"generation\":2,\"ack\":0}\n"
				       "\n{\"t\":\"batch\",\"pid\":77," ID "\"seq\":1,\"len\":36}\n"
				       "{\"t\":\"maps\",\"generation\":3,\"ack\":0}\n";
	struct gpu_event e = {.type = GPU_EVENT_MAPS, .maps = {.generation = 1}};
	struct fifo f;
	struct sink sink;

	(void)state;
	fifo_make(&f, NULL, NULL);
	f.keep_raw = true;
	assert_int_equal(sink_open(&sink, f.path, 77, INSTANCE), 0);
	sink_flush(&sink); /* nothing to say: nothing is written */
	sink_put(&sink, &e);
	e.maps.generation = 2;
	sink_put(&sink, &e);
	sink_flush(&sink);
	sink_flush(&sink);
	e.maps.generation = 3;
	sink_put(&sink, &e);
	sink_flush(&sink);
	fifo_drain(&f);
	assert_int_equal(f.raw_size, sizeof(expected) - 1);
	assert_memory_equal(f.raw, expected, sizeof(expected) - 1);
	sink_abandon(&sink);
	fifo_remove(&f);
}

/* Walks the raw bytes: each batch is at most a pipe's atomic write, and they are numbered. */
static uint64_t check_batches(const struct fifo *f, uint32_t pid)
{
	static const char mark[] = "\n{\"t\":\"batch\",";
	const char *at = f->raw, *end = f->raw + f->raw_size;
	uint64_t count = 0;

	while (at < end) {
		const char *next = memmem(at + 1, (size_t)(end - at - 1), mark, sizeof(mark) - 1);
		char header[100];
		int n = snprintf(header, sizeof(header),
				 "%s\"pid\":%u," ID "\"seq\":%" PRIu64 ",\"len\":", mark, pid,
				 count);
		const char *line_end = memchr(at + 1, '\n', (size_t)(end - at - 1));

		assert_true(end - at > n);
		assert_memory_equal(at, header, n);
		assert_true((next ? next : end) - at <= GPU_WIRE_BATCH_MAX);
		assert_int_equal(strtol(at + n, NULL, 10), (next ? next : end) - line_end - 1);
		at = next ? next : end;
		assert_int_equal(at[-1], '\n');
		count++;
	}
	return count;
}

static void batches_are_whole_and_numbered(void **state)
{
	struct gpu_event notice = {.type = GPU_EVENT_NOTICE};
	const struct ledger *l;
	struct fifo f;
	struct sink sink;
	char text[5000];

	(void)state;
	memset(text, '"', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	fifo_make(&f, NULL, NULL);
	f.keep_raw = true;
	fifo_start_reader(&f);
	assert_int_equal(sink_open(&sink, f.path, 77, INSTANCE), 0);
	put_hello(&sink, 77, INSTANCE);
	for (uint32_t i = 0; i < 500; i++) {
		notice.notice.detail = text + (i * 37) % sizeof(text); /* all lengths of lines */
		sink_put(&sink, &notice);
		put_kernels(&sink, i % 50);
	}
	sink_goodbye(&sink);
	sink_abandon(&sink);
	fifo_end_reader(&f);
	assert_true(check_batches(&f, 77) > 300);
	l = f.ledger;
	assert_int_equal(l->pipe.malformed, 0);
	assert_int_equal(l->pipe.lost_batches, 0);
	assert_int_equal(l->gpu.kernels, 10 * (49 * 50 / 2));
	assert_int_equal(l->gpu.missing, 0);
	assert_int_equal(l->pipe.without_goodbye, 0);
	fifo_remove(&f);
}

/* ---- the reader is gone ---- */

static volatile sig_atomic_t pipe_signals;

static void count_signal(int signal)
{
	(void)signal;
	pipe_signals++;
}

static void break_pipe(struct fifo *f, struct sink *sink)
{
	fifo_make(f, NULL, NULL);
	assert_int_equal(sink_open(sink, f->path, 1, INSTANCE), 0);
	put_kernels(sink, 3);
	sink_flush(sink);
	assert_false(sink_is_off(sink));
	fifo_close_writer(f);
	close(f->reader);
	f->reader = -1;
	put_kernels(sink, 3);
	sink_flush(sink);
	assert_true(sink_is_off(sink));
	assert_true(sink->broken);
	put_kernels(sink, 1000);
	sink_goodbye(sink);
}

static void a_lost_reader_turns_it_off_without_a_signal(void **state)
{
	struct sigaction action = {.sa_handler = count_signal}, old;
	sigset_t before, after, pending;
	struct fifo f;
	struct sink sink;

	(void)state;
	pipe_signals = 0;
	sigaction(SIGPIPE, &action, &old);
	pthread_sigmask(SIG_BLOCK, NULL, &before);
	break_pipe(&f, &sink);
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	sigpending(&pending);
	assert_int_equal(pipe_signals, 0);
	assert_int_equal(sigismember(&before, SIGPIPE), sigismember(&after, SIGPIPE));
	assert_false(sigismember(&pending, SIGPIPE));
	sigaction(SIGPIPE, &old, NULL);
	fifo_remove(&f);
}

static void a_signal_that_was_pending_stays(void **state)
{
	struct sigaction action = {.sa_handler = count_signal}, old;
	sigset_t block, before, pending;
	struct fifo f;
	struct sink sink;

	(void)state;
	pipe_signals = 0;
	sigaction(SIGPIPE, &action, &old);
	sigemptyset(&block);
	sigaddset(&block, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &block, &before);
	raise(SIGPIPE);
	break_pipe(&f, &sink);
	sigpending(&pending);
	assert_true(sigismember(&pending, SIGPIPE));
	assert_int_equal(pipe_signals, 0);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	assert_int_equal(pipe_signals, 1);
	sigaction(SIGPIPE, &old, NULL);
	fifo_remove(&f);
}

static void a_blocked_signal_stays_blocked(void **state)
{
	sigset_t block, before, after, pending;
	struct fifo f;
	struct sink sink;

	(void)state;
	sigemptyset(&block);
	sigaddset(&block, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &block, &before);
	break_pipe(&f, &sink);
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	assert_true(sigismember(&after, SIGPIPE));
	sigpending(&pending);
	assert_false(sigismember(&pending, SIGPIPE));
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	fifo_remove(&f);
}

/* ---- the reader is slow ---- */

static void a_slow_reader_loses_nothing(void **state)
{
	const struct ledger *l;
	struct fifo f;
	struct sink sink;

	(void)state;
	fifo_make(&f, NULL, NULL);
	f.nap = 200;
	assert_true(fcntl(f.reader, F_SETPIPE_SZ, 4096) >= 4096);
	fifo_start_reader(&f);
	assert_int_equal(sink_open(&sink, f.path, 9, INSTANCE), 0);
	put_hello(&sink, 9, INSTANCE);
	put_kernels(&sink, 5000);
	sink_goodbye(&sink);
	assert_false(sink_is_stalled(&sink));
	sink_abandon(&sink);
	fifo_end_reader(&f);
	l = f.ledger;
	assert_int_equal(l->gpu.kernels, 5000);
	assert_int_equal(l->gpu.kernel_ns, 15000);
	assert_int_equal(l->pipe.lost_batches + l->gpu.missing + l->gpu.dropped + l->pipe.malformed,
			 0);
	fifo_remove(&f);
}

/*
 * The program waits SINK_TIMEOUT_MS once. Dropped records are counted. They are reported once the
 * reader is back, before the totals, so that nothing counts twice.
 */
static void a_sleeping_reader_loses_only_the_overflow(void **state)
{
	const struct gpu_event_drops by_cupti = {.kernels = 100, .unknown = 7};
	uint32_t more = 1900;
	const struct ledger *l;
	struct fifo f;
	struct sink sink;

	(void)state;
	fifo_make(&f, NULL, NULL);
	assert_true(fcntl(f.reader, F_SETPIPE_SZ, 4096) >= 4096);
	assert_int_equal(sink_open(&sink, f.path, 9, INSTANCE), 0);
	put_hello(&sink, 9, INSTANCE);
	put_kernels(&sink, 25);
	sink_flush(&sink);
	sink_count_drops(&sink, &by_cupti);
	put_kernels(&sink, 25);
	sink_flush(&sink); /* drops included: no room, given up after the wait */
	assert_true(sink_is_stalled(&sink));
	/* none of this waits; a few are left for a last batch that fits the pipe with the drops */
	put_kernels(&sink, more);
	while (sink.used > SINK_HEADER_MAX + 300) {
		put_kernels(&sink, 1);
		more++;
	}
	assert_true(sink_is_stalled(&sink));
	fifo_drain(&f);
	sink_goodbye(&sink);
	assert_false(sink_is_stalled(&sink));
	fifo_drain(&f);
	sink_abandon(&sink);
	fifo_finish(&f);
	l = f.ledger;
	assert_int_equal(l->pipe.malformed, 0);
	assert_true(l->pipe.lost_batches > 0);
	assert_true(l->gpu.kernels >= 25 && l->gpu.kernels < 50 + more);
	assert_int_equal(l->gpu.kernels + l->gpu.dropped, 50 + more + 100);
	assert_int_equal(l->gpu.unknown_kinds, 7);
	assert_int_equal(l->gpu.missing, 0);
	assert_int_equal(l->pipe.without_goodbye, 0);
	fifo_remove(&f);
}

static void put_name(struct sink *sink, uint32_t id)
{
	struct gpu_event e = {.type = GPU_EVENT_NAME, .name = {.id = id, .name = "name"}};

	sink_put(sink, &e);
}

/* Counts the occurrences of a text in the raw bytes. */
static uint32_t count_raw(const struct fifo *f, const char *text)
{
	const char *at = f->raw;
	uint32_t n = 0;

	for (; (at = memmem(at, (size_t)(f->raw + f->raw_size - at), text, strlen(text))); at++)
		n++;
	return n;
}

/* Each definition comes once, in its order and before what follows; nothing else is repeated. */
static void what_a_lost_batch_defined_is_sent_again(void **state)
{
	enum { NAMES = 5000 };
	const char *last = NULL;
	struct fifo f;
	struct sink sink;

	(void)state;
	fifo_make(&f, NULL, NULL);
	f.keep_raw = true;
	assert_true(fcntl(f.reader, F_SETPIPE_SZ, 4096) >= 4096);
	assert_int_equal(sink_open(&sink, f.path, 9, INSTANCE), 0);
	put_hello(&sink, 9, INSTANCE);
	for (uint32_t i = 1; i <= NAMES; i++) {
		put_name(&sink, i);
		put_kernels(&sink, 1);
	}
	sink_flush(&sink);
	assert_true(sink_is_stalled(&sink));
	/* the reader is back */
	fifo_drain(&f);
	fifo_start_reader(&f);
	put_name(&sink, NAMES + 1);
	sink_flush(&sink);
	sink_flush(&sink);
	assert_false(sink_is_stalled(&sink));
	sink_goodbye(&sink);
	sink_abandon(&sink);
	fifo_end_reader(&f);
	assert_int_equal(count_raw(&f, "{\"t\":\"hello\""), 1);
	for (uint32_t i = 1; i <= NAMES + 1; i++) {
		char line[64];
		const char *at;
		int n = snprintf(line, sizeof(line), "{\"t\":\"name\",\"i\":%u,", i);

		assert_int_equal(count_raw(&f, line), 1);
		at = memmem(f.raw, f.raw_size, line, (size_t)n);
		assert_true(at > last);
		last = at;
	}
	assert_true(f.ledger->gpu.dropped > 0);
	assert_int_equal(count_raw(&f, "{\"t\":\"k\"") + f.ledger->gpu.dropped, NAMES);
	assert_int_equal(f.ledger->pipe.malformed, 0);
	free(sink.kept);
	fifo_remove(&f);
}

/* Definitions past the limit are reported. */
static void too_many_definitions_are_counted(void **state)
{
	enum { NAMES = 2 * SINK_KEPT_MAX / 1000 };
	struct gpu_event e = {.type = GPU_EVENT_NAME};
	char text[1001];
	struct fifo f;
	struct sink sink;

	(void)state;
	SKIP_UNDER_VALGRIND();
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	e.name.name = text;
	fifo_make(&f, NULL, NULL);
	f.keep_raw = true;
	assert_true(fcntl(f.reader, F_SETPIPE_SZ, 4096) >= 4096);
	assert_int_equal(sink_open(&sink, f.path, 9, INSTANCE), 0);
	put_hello(&sink, 9, INSTANCE);
	for (e.name.id = 1; e.name.id <= NAMES; e.name.id++)
		sink_put(&sink, &e);
	assert_true(sink.lost_definitions > 0);
	assert_true(sink.kept_capacity <= SINK_KEPT_MAX);
	fifo_drain(&f);
	fifo_start_reader(&f);
	sink_flush(&sink);
	sink_goodbye(&sink);
	sink_abandon(&sink);
	fifo_end_reader(&f);
	assert_int_equal(count_raw(&f, "names and stacks were lost while"), 1);
	assert_int_equal(f.ledger->pipe.malformed, 0);
	assert_int_equal(f.ledger->pipe.without_goodbye, 0);
	free(sink.kept);
	fifo_remove(&f);
}

/* Expects the next flush to succeed after one that failed. */
static void expect_goes_on(struct sink *sink, struct fifo *f, uint64_t dropped)
{
	assert_false(sink_is_off(sink));
	fifo_start_reader(f);
	put_kernels(sink, 10);
	sink_goodbye(sink);
	sink_abandon(sink);
	fifo_end_reader(f);
	assert_int_equal(f->ledger->gpu.kernels, 10);
	assert_int_equal(f->ledger->gpu.dropped, dropped);
	assert_int_equal(f->ledger->pipe.without_goodbye, 0);
	fifo_remove(f);
}

/* The program has closed the pipe and left no descriptor free: later there is one again. */
static void a_pipe_that_cannot_be_opened_now_is_later(void **state)
{
	struct rlimit old, none;
	struct fifo f;
	struct sink sink;

	(void)state;
	fifo_make(&f, NULL, NULL);
	assert_int_equal(sink_open(&sink, f.path, 9, INSTANCE), 0);
	put_hello(&sink, 9, INSTANCE);
	sink_flush(&sink);
	close(sink.fd);
	getrlimit(RLIMIT_NOFILE, &old);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	put_kernels(&sink, 1000);
	sink_flush(&sink);
	setrlimit(RLIMIT_NOFILE, &old);
	expect_goes_on(&sink, &f, 1000);
}

/* ---- many at once ---- */

enum { WRITERS = 4, EACH = 4000 };

static void check_many(struct fifo *f, uint32_t processes)
{
	const struct ledger *l = f->ledger;

	assert_string_equal(l->pipe.first_malformed, "");
	assert_int_equal(l->pipe.malformed, 0);
	assert_int_equal(l->pipe.lost_batches, 0);
	assert_int_equal(l->gpu.kernels, WRITERS * EACH);
	assert_int_equal(l->gpu.kernel_ns, 3 * WRITERS * EACH);
	assert_int_equal(l->pipe.processes, processes);
	assert_int_equal(l->gpu.missing, 0);
	assert_int_equal(l->pipe.without_goodbye, 0);
}

static void processes_never_mix_their_lines(void **state)
{
	pid_t children[WRITERS];
	struct fifo f;

	(void)state;
	fifo_make(&f, NULL, NULL);
	for (uint32_t i = 0; i < WRITERS; i++) {
		children[i] = fork();
		assert_true(children[i] >= 0);
		if (children[i] == 0) {
			struct sink sink;

			if (sink_open(&sink, f.path, 100 + i, INSTANCE + i) != 0)
				_exit(1);
			put_hello(&sink, 100 + i, INSTANCE + i);
			put_kernels(&sink, EACH);
			sink_goodbye(&sink);
			_exit(sink_is_off(&sink));
		}
	}
	fifo_close_writer(&f);
	fifo_read_to_the_end(&f);
	fifo_finish(&f);
	for (uint32_t i = 0; i < WRITERS; i++) {
		int status;

		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
	check_many(&f, WRITERS);
	fifo_remove(&f);
}

static void *put_each(void *sink)
{
	put_kernels(sink, EACH);
	return NULL;
}

static void threads_share_a_sink(void **state)
{
	pthread_t threads[WRITERS];
	struct fifo f;
	struct sink sink;

	(void)state;
	fifo_make(&f, NULL, NULL);
	fifo_start_reader(&f);
	assert_int_equal(sink_open(&sink, f.path, 5, INSTANCE), 0);
	put_hello(&sink, 5, INSTANCE);
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, put_each, &sink), 0);
	for (int i = 0; i < 100; i++)
		sink_flush(&sink);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	sink_goodbye(&sink);
	sink_abandon(&sink);
	fifo_end_reader(&f);
	check_many(&f, 1);
	fifo_remove(&f);
}

/* Closes all descriptors of the program, or replaces them, while a thread waits for room. */
static void close_while_it_waits(bool is_replaced)
{
	pthread_t threads[WRITERS];
	struct stat st;
	struct fifo f;
	struct sink sink;
	int theirs = memfd_create("theirs", MFD_CLOEXEC), fd;

	fifo_make(&f, NULL, NULL);
	assert_int_equal(sink_open(&sink, f.path, 5, INSTANCE), 0);
	put_hello(&sink, 5, INSTANCE);
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, put_each, &sink), 0);
	while (!sink_waits(&sink))
		usleep(1000);
	fd = sink.fd;
	if (is_replaced)
		assert_int_equal(dup2(theirs, fd), fd);
	else
		close(fd);
	fifo_start_reader(&f);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	sink_goodbye(&sink);
	assert_false(sink_is_off(&sink));
	sink_abandon(&sink);
	fifo_end_reader(&f);
	check_many(&f, 1);
	assert_int_equal(fstat(theirs, &st), 0);
	assert_int_equal(st.st_size, 0);
	if (is_replaced)
		close(fd);
	close(theirs);
	fifo_remove(&f);
}

static void a_pipe_that_is_closed_while_it_is_full(void **state)
{
	(void)state;
	close_while_it_waits(false);
	close_while_it_waits(true);
}

/* Flushes in a thread with another root folder, where another file may have the pipe's name. */
static void *flush_in_root(void *data)
{
	struct sink *sink = data;

	assert_int_equal(unshare(CLONE_FS), 0);
	assert_int_equal(chroot("/sys"), 0);
	sink_flush(sink);
	sink_look_for_reader(sink);
	return NULL;
}

static void a_pipe_is_not_gone_for_who_has_another_root(void **state)
{
	struct fifo f;
	struct sink sink;
	pthread_t thread;

	(void)state;
	if (geteuid() != 0 || getenv("UNDER_VALGRIND"))
		skip(); /* chroot needs root, and valgrind has no unshare */
	fifo_make(&f, NULL, NULL);
	assert_int_equal(sink_open(&sink, f.path, 9, INSTANCE), 0);
	put_hello(&sink, 9, INSTANCE);
	sink_flush(&sink);
	close(sink.fd);
	put_kernels(&sink, 5); /* all in one batch */
	assert_int_equal(pthread_create(&thread, NULL, flush_in_root, &sink), 0);
	pthread_join(thread, NULL);
	expect_goes_on(&sink, &f, 5);
}

static void an_abandoned_sink_writes_nothing(void **state)
{
	struct fifo f;
	struct sink sink;

	(void)state;
	fifo_make(&f, NULL, NULL);
	f.keep_raw = true;
	assert_int_equal(sink_open(&sink, f.path, 5, INSTANCE), 0);
	put_kernels(&sink, 3);
	sink_abandon(&sink);
	sink_abandon(&sink);
	put_kernels(&sink, 1000);
	sink_goodbye(&sink);
	fifo_drain(&f);
	assert_int_equal(f.raw_size, 0);
	fifo_remove(&f);
}

/* The library's handlers of fork do not run for a child that _Fork or clone makes. */
static void a_child_writes_nothing(void **state)
{
	struct fifo f;
	struct sink sink;
	int status;
	pid_t pid;

	(void)state;
	fifo_make(&f, NULL, NULL);
	f.keep_raw = true;
	assert_int_equal(sink_open(&sink, f.path, 5, INSTANCE), 0);
	put_kernels(&sink, 3);
	pid = fork();
	if (pid == 0) {
		put_kernels(&sink, 1000);
		sink_goodbye(&sink);
		_exit(sink_is_off(&sink) ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	fifo_drain(&f);
	assert_int_equal(f.raw_size, 0);
	assert_false(sink_is_off(&sink));
	sink_goodbye(&sink);
	fifo_drain(&f);
	assert_non_null(memmem(f.raw, f.raw_size, "\"kernels\":3,", 12));
	fifo_remove(&f);
}

/* A seccomp filter that allows all system calls. */
static void a_filter_is_set(void **state)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {.len = 1, .filter = &allow};

	(void)state;
	has_filter = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
		     prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
	assert_true(has_filter);
	guest_begin(); /* as in a container; files still open */
}

/* ---- a file ---- */

static const char *new_file(void)
{
	static char path[64];
	int fd;

	snprintf(path, sizeof(path), "/tmp/profile_unit.XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	return path;
}

static struct trace_reader *read_trace(const char *path, int expected)
{
	static struct log log = {.level = LOG_ERRORS};
	struct trace_reader *reader = trace_reader_new(&log, NULL, 50);
	FILE *in = fopen(path, "re");

	assert_true(reader && in);
	assert_int_equal(trace_reader_read(reader, in, NULL), expected);
	fclose(in);
	return reader;
}

static void set_size_limit(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void put_some(struct sink *sink, struct prng *p)
{
	for (uint64_t n = prng_below(p, 200); n > 0; n--) {
		struct gpu_event launch = {.type = GPU_EVENT_LAUNCH,
					   .launch = {.time_ns = n, .tid = 1, .family = 1}};
		struct gpu_event name = {.type = GPU_EVENT_NAME, .name = {1, 0, "kernel"}};

		if (prng_chance(p, 5))
			sink_put(sink, &name);
		if (prng_chance(p, 30))
			sink_put(sink, &launch);
		put_kernels(sink, (uint32_t)prng_below(p, 4));
		if (prng_chance(p, 10))
			sink_flush(sink);
	}
}

/* Wherever the file is full, for a while: what is in it and what is said to be lost is all. */
static void a_full_file_loses_nothing_uncounted(void **state)
{
	struct sigaction action = {.sa_handler = count_signal}, old;
	uint64_t rounds = unit_rounds(100), lost = 0;

	(void)state;
	pipe_signals = 0;
	sigaction(SIGXFSZ, &action, &old);
	for (uint64_t round = 0; round < rounds; round++) {
		struct prng p = prng_round(round);
		const char *path = new_file();
		const struct ledger *l;
		struct trace_reader *reader;
		struct sink sink;

		assert_int_equal(sink_open_file(&sink, path, 77, INSTANCE), 0);
		put_hello(&sink, 77, INSTANCE);
		put_some(&sink, &p);
		set_size_limit(prng_below(&p, 30000));
		put_some(&sink, &p);
		sink_flush(&sink);
		put_some(&sink, &p);
		set_size_limit(RLIM_INFINITY);
		put_some(&sink, &p);
		sink_goodbye(&sink);
		sink_close(&sink);
		sink_start_over(&sink);
		reader = read_trace(path, 0);
		l = collect_ledger(trace_reader_collect(reader));
		assert_int_equal(l->gpu.kernels + l->gpu.dropped, sink.totals.kernels);
		assert_int_equal(l->gpu.missing, 0);
		assert_int_equal(l->launches.kernels + l->launches.dropped, sink.totals.launches);
		assert_int_equal(l->pipe.without_goodbye, 0);
		assert_int_equal(!l->pipe.lost_batches, !sink.error);
		lost += l->gpu.dropped;
		trace_reader_free(reader);
		unlink(path);
	}
	assert_true(lost > 0);
	assert_int_equal(pipe_signals, 0);
	sigaction(SIGXFSZ, &old, NULL);
}

static void only_a_trace_is_continued(void **state)
{
	const char *path = new_file();
	struct trace_reader *reader;
	const struct ledger *l;
	struct stat st;
	struct sink sink;
	FILE *out;

	(void)state;
	assert_int_equal(sink_open_file(&sink, "/dev/null", 1, INSTANCE), -EINVAL);
	assert_int_equal(sink_open_file(&sink, "/tmp", 1, INSTANCE), -EINVAL);
	assert_int_equal(sink_open_file(&sink, "/nonexistent/trace", 1, INSTANCE), -ENOENT);
	out = fopen(path, "we");
	assert_non_null(out);
	fputs("\n{\"t\":\"bat\r", out);
	fclose(out);
	assert_int_equal(sink_open_file(&sink, path, 1, INSTANCE), -EEXIST);
	assert_true(sink_is_off(&sink));
	put_kernels(&sink, 500);
	sink_goodbye(&sink);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 11);
	unlink(path);
	/* a definition is made, and other lines continue it */
	for (uint32_t i = 1; i <= 3; i++) {
		assert_int_equal(sink_open_file(&sink, path, i, i), 0);
		put_hello(&sink, i, i);
		put_kernels(&sink, 10);
		sink_goodbye(&sink);
		sink_close(&sink);
	}
	assert_int_equal(symlink(path, "/tmp/profile_unit.link"), 0);
	assert_int_equal(sink_open_file(&sink, "/tmp/profile_unit.link", 1, INSTANCE), -ELOOP);
	unlink("/tmp/profile_unit.link");
	reader = read_trace(path, 0);
	l = collect_ledger(trace_reader_collect(reader));
	assert_int_equal(l->gpu.kernels, 30);
	assert_int_equal(l->pipe.processes, 3);
	trace_reader_free(reader);
	unlink(path);
}

/* The next program goes on behind what a full disk has left of the first header. */
static void a_header_that_was_cut_short_is_a_beginning(void **state)
{
	(void)state;
	for (rlim_t room = 0; room < 40; room++) {
		const char *path = new_file();
		struct trace_reader *reader;
		struct stat st;
		struct sink sink;

		set_size_limit(room);
		for (uint32_t i = 1; i <= 2; i++) {
			assert_int_equal(sink_open_file(&sink, path, i, i), 0);
			put_hello(&sink, i, i);
			sink_flush(&sink);
			assert_int_equal(sink.error, i == 1 && room > 0 ? ENOSPC : EFBIG);
			sink_close(&sink);
			sink_start_over(&sink);
		}
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_size, room);
		set_size_limit(RLIM_INFINITY);
		for (uint32_t i = 3; i <= 4; i++) {
			assert_int_equal(sink_open_file(&sink, path, i, i), 0);
			put_hello(&sink, i, i);
			put_kernels(&sink, 10);
			sink_goodbye(&sink);
			sink_close(&sink);
		}
		reader = read_trace(path, 0);
		assert_int_equal(collect_ledger(trace_reader_collect(reader))->gpu.kernels, 20);
		trace_reader_free(reader);
		unlink(path);
	}
}

static void a_file_that_is_closed_is_opened_again(void **state)
{
	const char *path = new_file();
	struct trace_reader *reader;
	struct sink sink;
	struct stat st;
	FILE *out;

	(void)state;
	assert_int_equal(sink_open_file(&sink, path, 1, INSTANCE), 0);
	put_hello(&sink, 1, INSTANCE);
	put_kernels(&sink, 10);
	sink_flush(&sink);
	close(sink.fd);
	put_kernels(&sink, 10);
	sink_goodbye(&sink);
	assert_false(sink_is_off(&sink));
	reader = read_trace(path, 0);
	assert_int_equal(collect_ledger(trace_reader_collect(reader))->gpu.kernels, 20);
	trace_reader_free(reader);
	/* another file has taken its name: it is not ours */
	close(sink.fd);
	unlink(path);
	out = fopen(path, "we");
	assert_non_null(out);
	fputs("theirs", out);
	fclose(out);
	put_kernels(&sink, 10);
	assert_int_equal(sink_file_error(&sink), 0);
	sink_goodbye(&sink);
	assert_true(sink_is_off(&sink));
	assert_int_equal(sink_file_error(&sink), -ESTALE);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 6);
	unlink(path);
}

static void a_file_that_is_removed_is_an_error(void **state)
{
	(void)state;
	for (int is_closed = 0; is_closed <= 1; is_closed++) {
		const char *path = new_file();
		struct sink sink;

		assert_int_equal(sink_open_file(&sink, path, 1, INSTANCE), 0);
		put_hello(&sink, 1, INSTANCE);
		sink_flush(&sink);
		assert_int_equal(sink_file_error(&sink), 0);
		unlink(path);
		if (is_closed)
			close(sink.fd);
		put_kernels(&sink, 10);
		sink_goodbye(&sink);
		assert_int_equal(sink_is_off(&sink), is_closed);
		assert_int_equal(sink_file_error(&sink), -ENOENT);
		sink_close(&sink);
		sink_start_over(&sink);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opening_needs_a_reader),
		cmocka_unit_test(files_of_the_program_are_left_alone),
		cmocka_unit_test(a_batch_has_a_header),
		cmocka_unit_test(batches_are_whole_and_numbered),
		cmocka_unit_test(a_lost_reader_turns_it_off_without_a_signal),
		cmocka_unit_test(a_signal_that_was_pending_stays),
		cmocka_unit_test(a_blocked_signal_stays_blocked),
		cmocka_unit_test(a_slow_reader_loses_nothing),
		cmocka_unit_test(a_sleeping_reader_loses_only_the_overflow),
		cmocka_unit_test(what_a_lost_batch_defined_is_sent_again),
		cmocka_unit_test(too_many_definitions_are_counted),
		cmocka_unit_test(a_pipe_that_cannot_be_opened_now_is_later),
		cmocka_unit_test(processes_never_mix_their_lines),
		cmocka_unit_test(threads_share_a_sink),
		cmocka_unit_test(a_pipe_that_is_closed_while_it_is_full),
		cmocka_unit_test(a_pipe_is_not_gone_for_who_has_another_root),
		cmocka_unit_test(an_abandoned_sink_writes_nothing),
		cmocka_unit_test(a_child_writes_nothing),
		cmocka_unit_test(a_full_file_loses_nothing_uncounted),
		cmocka_unit_test(only_a_trace_is_continued),
		cmocka_unit_test(a_header_that_was_cut_short_is_a_beginning),
		cmocka_unit_test(a_file_that_is_closed_is_opened_again),
		cmocka_unit_test(a_file_that_is_removed_is_an_error),
		/* from here on, files are not opened in a thread */
		cmocka_unit_test(a_filter_is_set),
		cmocka_unit_test(files_of_the_program_are_left_alone),
		cmocka_unit_test(a_lost_reader_turns_it_off_without_a_signal),
		cmocka_unit_test(a_pipe_that_cannot_be_opened_now_is_later),
		cmocka_unit_test(threads_share_a_sink),
		cmocka_unit_test(a_pipe_that_is_closed_while_it_is_full),
		cmocka_unit_test(a_file_that_is_closed_is_opened_again),
		cmocka_unit_test(a_file_that_is_removed_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
