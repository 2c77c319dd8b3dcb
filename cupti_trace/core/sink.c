// SPDX-License-Identifier: MIT
#include "cupti_trace/core/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "cupti_trace/core/clock.h"
#include "cupti_trace/core/guest.h"
#include "cupti_trace/core/hot_path.h"
#include "cupti_trace/core/overhead.h"
#include "cupti_trace/wire/gpu_wire_fields.h"
#include "symbolize/util/text.h"

#define KEPT_FIRST 16384u
#define START_BYTES 256u  /* start of a file that is read to see whether the file is a trace */
#define NOT_NOW (-EMFILE) /* stands for all errors of open that may pass */

static void begin_batch(struct sink *sink)
{
	sink->used = SINK_HEADER_MAX;
	sink->batch_drops = (struct gpu_event_drops){0};
}

/* Puts a header before the lines that end at `used`. Returns its start. */
static char *add_header(const struct sink *sink, char *batch, size_t used)
{
	struct gpu_event event = {
		.type = GPU_EVENT_BATCH,
		.batch = {.pid = sink->pid,
			  .instance = sink->instance,
			  .sequence = sink->sequence,
			  .bytes = (uint32_t)(used - SINK_HEADER_MAX)},
	};
	char header[SINK_HEADER_MAX];
	int length = gpu_wire_encode(&event, header + 1, sizeof(header) - 1);

	if (length < 0)
		return NULL;
	/* the newline ends a half line that another process may have left in the pipe */
	header[0] = '\n';
	length++;
	return memcpy(batch + SINK_HEADER_MAX - length, header, (size_t)length);
}

/*
 * Returns whether a trace begins like this: with a header, or with a part of one. The end of the
 * file or the next header may follow that part: the first write found no more room.
 */
static bool begins_trace(const char *start, size_t length)
{
	static const char header[] = "\n{\"t\":\"batch\",";
	size_t matched = 0;

	for (size_t i = 0; i < length && matched < sizeof(header) - 1; i++) {
		if (start[i] == header[matched])
			matched++;
		else if (start[i] == header[0])
			matched = 1;
		else
			return false;
	}
	return true;
}

/* Checks whether a trace may be appended to a file. Returns 0 or -errno. */
static int check_file(int fd, struct stat *st)
{
	char start[START_BYTES];
	ssize_t n;

	if (fstat(fd, st) != 0)
		return -errno;
	if (!S_ISREG(st->st_mode))
		return -EINVAL;
	n = pread(fd, start, sizeof(start), 0);
	if (n < 0)
		return -errno;
	return begins_trace(start, (size_t)n) ? 0 : -EEXIST;
}

/* A file takes O_NONBLOCK as a pipe does. */
static int open_flags(const struct sink *sink)
{
	return (sink->is_file ? O_RDWR | O_APPEND : O_WRONLY) | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW;
}

/* Opens the sink. Returns 0 or -errno. */
static int set_up(struct sink *sink, const char *path, uint32_t pid, uint64_t instance)
{
	memset(sink, 0, sizeof(*sink));
	sink->fd = -1;
	pthread_mutex_init(&sink->lock, NULL);
	sink->pid = pid;
	sink->owner = getpid();
	sink->instance = instance;
	sink->root = guest_root();
	begin_batch(sink);
	return snprintf(sink->path, sizeof(sink->path), "%s", path) >= (int)sizeof(sink->path)
		       ? -ENAMETOOLONG
		       : 0;
}

/* Takes an open descriptor over. */
static void adopt(struct sink *sink, int fd, const struct stat *st)
{
	sink->device = st->st_dev;
	sink->inode = st->st_ino;
	sink->fd = fd;
	sink->is_on = true;
}

int sink_open(struct sink *sink, const char *pipe_path, uint32_t pid, uint64_t instance)
{
	int fd = set_up(sink, pipe_path, pid, instance);
	struct stat st = {.st_dev = 0};

	if (fd == 0)
		fd = guest_open(sink->path, open_flags(sink));
	if (fd < 0)
		return fd;
	fstat(fd, &st);
	adopt(sink, fd, &st);
	return 0;
}

/* ---- a file ---- */

int sink_open_file(struct sink *sink, const char *path, uint32_t pid, uint64_t instance)
{
	int fd = set_up(sink, path, pid, instance), err;
	struct stat st;

	if (fd < 0)
		return fd;
	sink->is_file = true;
	/* opening a device may have effects, and opening a FIFO lets others go on */
	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return S_ISLNK(st.st_mode) ? -ELOOP : -EINVAL;
	fd = guest_open(path, O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	if (fd < 0)
		return fd;
	err = check_file(fd, &st);
	if (err) {
		close(fd);
		return err;
	}
	adopt(sink, fd, &st);
	return 0;
}

/* Returns true in a child made without fork's handlers, by _Fork or clone. */
static bool is_copy(const struct sink *sink)
{
	return getpid() != sink->owner;
}

static bool is_same(const struct sink *sink, const struct stat *st)
{
	return (sink->is_file ? S_ISREG(st->st_mode) : S_ISFIFO(st->st_mode)) &&
	       st->st_dev == sink->device && st->st_ino == sink->inode;
}

static bool is_pipe(const struct sink *sink, int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && is_same(sink, &st);
}

/* Returns whether the path still leads to the open file. */
static bool is_there(const struct sink *sink)
{
	struct stat st;

	return stat(sink->path, &st) == 0 && is_same(sink, &st);
}

/* Keeps the error of a file. Nobody would read that of a pipe. */
static void note_error(struct sink *sink, int error)
{
	if (sink->is_file)
		sink->error = error;
}

/* Converts an errno of open: -EPIPE if nobody reads the pipe any more, otherwise NOT_NOW. */
static int why_not(struct sink *sink, int error)
{
	note_error(sink, error);
	/* all others may pass: no free descriptor, no permission */
	return error == ENXIO || (error == ENOENT && guest_is_in_root(&sink->root)) ? -EPIPE
										    : NOT_NOW;
}

/* Handles another file under the sink's name. */
static int is_replaced(struct sink *sink)
{
	if (!guest_is_in_root(&sink->root))
		return NOT_NOW;
	note_error(sink, ESTALE);
	return -EPIPE;
}

/*
 * Returns whether the file that was opened under the sink's path is ours. A file may have been
 * removed, and another may have its inode.
 */
static bool is_ours(const struct sink *sink, int fd)
{
	struct stat st;

	return is_pipe(sink, fd) && (!sink->is_file || check_file(fd, &st) == 0);
}

/* Opens the file anew in the program's descriptor table. Returns 0, -EPIPE or NOT_NOW. */
static int reopen(struct sink *sink)
{
	int fd = guest_open(sink->path, open_flags(sink));

	if (fd < 0)
		return why_not(sink, -fd);
	if (is_ours(sink, fd)) {
		sink->fd = fd;
		return 0;
	}
	if (!is_pipe(sink, fd) && is_there(sink))
		return why_not(sink, EBADF); /* not closed: it is a file of the program */
	close(fd);
	return is_replaced(sink);
}

/* Returns whether the file is open in the program's descriptor table. */
static bool is_open(struct sink *sink)
{
	if (sink->fd < 0 || is_pipe(sink, sink->fd))
		return sink->fd >= 0;
	guest_note_closed();
	sink->fd = -1;
	return false;
}

static void close_pipe(struct sink *sink)
{
	if (is_open(sink))
		close(sink->fd);
	sink->fd = -1;
	sink->is_on = false;
}

struct attempt {
	struct sink *sink;
	const char *bytes;
	size_t length;
	ssize_t result;
};

static void write_once(struct attempt *attempt, int fd)
{
	attempt->result = attempt->length ? write(fd, attempt->bytes, attempt->length) : 0;
	if (attempt->result < 0)
		attempt->result = -errno;
}

static void write_isolated(void *data)
{
	struct attempt *attempt = data;
	int fd = open(attempt->sink->path, open_flags(attempt->sink) | O_CLOEXEC);

	if (fd < 0)
		attempt->result = why_not(attempt->sink, errno);
	else if (!is_ours(attempt->sink, fd))
		attempt->result = is_replaced(attempt->sink);
	else
		write_once(attempt, fd);
}

/*
 * Writes once, or not if `length` is 0. Returns the bytes written or -errno. -EPIPE: nobody reads
 * the pipe; NOT_NOW: it cannot be opened.
 */
static ssize_t try_write(struct sink *sink, const char *bytes, size_t length)
{
	struct attempt attempt = {.sink = sink, .bytes = bytes, .length = length};
	int err;

	if (is_copy(sink))
		return -EPIPE;
	if (!is_open(sink)) {
		if (guest_is_isolated() && guest_run_isolated(write_isolated, &attempt))
			return attempt.result;
		err = reopen(sink);
		if (err)
			return err;
	}
	write_once(&attempt, sink->fd);
	return attempt.result;
}

static int64_t now_ms(void)
{
	return (int64_t)(clock_now_ns() / 1000000);
}

static void wait_for_room(struct sink *sink, bool is_full, int64_t ms)
{
	struct pollfd p = {.fd = sink->fd, .events = POLLOUT};

	__atomic_store_n(&sink->waits, true, __ATOMIC_RELAXED);
	/* poll fails for a program with a descriptor limit of 0 */
	if (!is_full || sink->fd < 0 || poll(&p, 1, (int)ms) < 0)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	__atomic_store_n(&sink->waits, false, __ATOMIC_RELAXED);
}

/*
 * Writes all of it at once. Returns 0, -EPIPE, or -EAGAIN on timeout. The program may close the
 * pipe while we wait, so each write checks it. A file may take less: see `*written`.
 */
static int write_bytes(struct sink *sink, const char *bytes, size_t length, size_t *written)
{
	int64_t deadline = now_ms() + (sink->stalled || sink->is_file ? 0 : SINK_TIMEOUT_MS);

	for (;;) {
		ssize_t n = try_write(sink, bytes, length);
		int64_t left;

		if (n == (ssize_t)length)
			return 0;
		if (n == -EPIPE || n == NOT_NOW)
			return n == -EPIPE ? -EPIPE : -EAGAIN;
		if (n == -EINTR || n == -EBADF)
			continue;
		if (sink->is_file) {
			note_error(sink, n < 0 ? (int)-n : ENOSPC);
			*written = n > 0 ? (size_t)n : 0;
			return -EAGAIN;
		}
		left = deadline - now_ms();
		if (left <= 0)
			return -EAGAIN;
		wait_for_room(sink, n == -EAGAIN, left);
	}
}

/*
 * Writes without raising a signal in the program. EPIPE comes with SIGPIPE to the writing thread, a
 * file's limit with SIGXFSZ. Both are blocked here; if our write raised one that was not pending
 * before, it is removed.
 */
static int write_quietly(struct sink *sink, const char *bytes, size_t length, size_t *written)
{
	int signal = sink->is_file ? SIGXFSZ : SIGPIPE;
	struct guest guest;
	bool was_pending;
	int err;

	guest_enter(&guest);
	was_pending = guest_is_pending(signal);
	err = write_bytes(sink, bytes, length, written);
	if ((sink->is_file ? err != 0 : err == -EPIPE) && !was_pending)
		guest_take_back(signal);
	guest_leave(&guest);
	return err;
}

/* ---- what was in a batch that was given up ---- */

static void add_drops(struct gpu_event_drops *to, const struct gpu_event_drops *drops)
{
	uint64_t *sums = (uint64_t *)to;
	const uint64_t *more = (const uint64_t *)drops;

	/* all members are such numbers */
	for (size_t i = 0; i < sizeof(*to) / sizeof(*sums); i++)
		sums[i] += more[i];
}

static bool is_of_type(const char *line, enum gpu_event_type type)
{
	const struct gpu_wire_event *e = &gpu_wire_events[type];

	return strncmp(line, e->text, e->length) == 0;
}

/*
 * Returns whether later events may need this line. Work, launches and waits are not needed: they
 * are counted.
 */
static bool is_definition(const char *line, size_t size)
{
	static const enum gpu_event_type others[] = {
		GPU_EVENT_LAUNCH, GPU_EVENT_LAUNCH_END, GPU_EVENT_KERNEL,  GPU_EVENT_WORK,
		GPU_EVENT_WAIT,   GPU_EVENT_DROPS,      GPU_EVENT_VOID,    GPU_EVENT_ERROR,
		GPU_EVENT_POOL,   GPU_EVENT_COUNTERS,   GPU_EVENT_NODE_RUN};
	static const char graph_launch[] = "\"c\":";

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (is_of_type(line, others[i]))
			return false;
	/* launcher of a graph, or a launch by the program */
	return !is_of_type(line, GPU_EVENT_GRAPH) ||
	       !memmem(line, size, graph_launch, strlen(graph_launch));
}

static bool make_room(struct sink *sink, size_t length)
{
	size_t capacity = sink->kept_capacity ? sink->kept_capacity : KEPT_FIRST;
	char *bigger;

	if (sink->kept_end + length <= sink->kept_capacity)
		return true;
	if (sink->kept_from > 0) {
		sink->kept_end -= sink->kept_from;
		memmove(sink->kept, sink->kept + sink->kept_from, sink->kept_end);
		sink->kept_from = 0;
	}
	while (capacity < sink->kept_end + length)
		capacity *= 2;
	if (capacity == sink->kept_capacity)
		return true;
	bigger = capacity <= SINK_KEPT_MAX ? realloc(sink->kept, capacity) : NULL;
	if (!bigger)
		return false;
	sink->kept = bigger;
	sink->kept_capacity = capacity;
	return true;
}

/* Counts a line that was given up, or keeps it. */
static void give_up_line(struct sink *sink, const char *line, size_t length)
{
	if (is_of_type(line, GPU_EVENT_KERNEL) || is_of_type(line, GPU_EVENT_WORK)) {
		sink->drops.unsent_kernels++;
	} else if (is_of_type(line, GPU_EVENT_NODE_RUN)) {
		sink->drops.unsent_kernels += node_run_steps_of(line, length);
	} else if (is_of_type(line, GPU_EVENT_LAUNCH)) {
		sink->drops.unsent_launches++;
	} else if (is_of_type(line, GPU_EVENT_DROPS)) { /* the only line of the batch */
		add_drops(&sink->drops, &sink->batch_drops);
	} else if (is_definition(line, length) && !make_room(sink, length)) {
		sink->lost_definitions++;
	} else if (is_definition(line, length)) {
		memcpy(sink->kept + sink->kept_end, line, length);
		sink->kept_end += length;
	}
}

static void give_up_lines(struct sink *sink)
{
	const char *line = sink->batch + SINK_HEADER_MAX, *end = sink->batch + sink->used;

	while (line < end) {
		const char *next = memchr(line, '\n', (size_t)(end - line));
		size_t length = (size_t)(next ? next + 1 - line : end - line);

		give_up_line(sink, line, length);
		line += length;
	}
}

/* Adds as many of the kept lines as fit a batch. Returns the batch's end. */
static size_t fill_kept_batch(struct sink *sink)
{
	size_t used = SINK_HEADER_MAX, from = sink->kept_from;

	while (from < sink->kept_end) {
		const char *line = sink->kept + from;
		const char *next = memchr(line, '\n', sink->kept_end - from);
		size_t length = next ? (size_t)(next + 1 - line) : sink->kept_end - from;

		if (used + length > sizeof(sink->kept_batch))
			break;
		memcpy(sink->kept_batch + used, line, length);
		used += length;
		from += length;
	}
	return used;
}

/* Returns how many of the bytes belong to whole lines. */
static size_t whole_lines(const char *lines, size_t bytes)
{
	const char *last = memrchr(lines, '\n', bytes);

	return last ? (size_t)(last + 1 - lines) : 0;
}

/*
 * Writes lines. Returns 0, -EPIPE or -EAGAIN. Sets *sent to the bytes of whole lines written before
 * an error; always 0 for a pipe.
 */
static int write_lines(struct sink *sink, char *batch, size_t used, size_t *sent)
{
	char *start = add_header(sink, batch, used);
	size_t header, written = 0;
	int err;

	*sent = 0;
	if (!start)
		return -EPIPE;
	header = (size_t)(batch + SINK_HEADER_MAX - start);
	err = write_quietly(sink, start, (size_t)(batch + used - start), &written);
	if (!err) {
		__atomic_store_n(&sink->stalled, false, __ATOMIC_RELAXED);
		sink->written_ns = clock_now_ns();
	}
	if (err && written >= header)
		*sent = whole_lines(batch + SINK_HEADER_MAX, written - header);
	if (!err || written >= header)
		sink->sequence++;
	return err;
}

static int send_kept(struct sink *sink)
{
	while (sink->kept_from < sink->kept_end) {
		size_t used = fill_kept_batch(sink), sent;
		int err = write_lines(sink, sink->kept_batch, used, &sent);

		sink->kept_from += err ? sent : used - SINK_HEADER_MAX;
		if (err)
			return err;
	}
	sink->kept_from = 0;
	sink->kept_end = 0;
	return 0;
}

/* ---- batches ---- */

static void give_up(struct sink *sink)
{
	sink->drops.batches++;
	give_up_lines(sink);
	/* leaves a gap in the sequence, which the reader sees */
	sink->sequence++;
}

static void end_run(struct sink *sink)
{
	if (!sink->runs.steps)
		return;
	node_runs_end(&sink->runs, sink->batch + sink->used);
	sink->used += NODE_RUN_END_BYTES;
}

static void send_batch(struct sink *sink)
{
	bool is_empty = sink->used == SINK_HEADER_MAX;
	size_t sent = 0;
	int err;

	end_run(sink);
	if (!sink->is_on || (is_empty && sink->kept_from == sink->kept_end))
		return;
	err = send_kept(sink);
	if (!err && !is_empty)
		err = write_lines(sink, sink->batch, sink->used, &sent);
	if (err && sent) {
		sink->used -= sent;
		memmove(sink->batch + SINK_HEADER_MAX, sink->batch + SINK_HEADER_MAX + sent,
			sink->used - SINK_HEADER_MAX);
		is_empty = sink->used == SINK_HEADER_MAX;
	}
	if (err == -EPIPE) {
		close_pipe(sink);
		sink->broken = true;
		return;
	}
	if (err)
		__atomic_store_n(&sink->stalled, true, __ATOMIC_RELAXED);
	if (err && !is_empty)
		give_up(sink);
	begin_batch(sink);
}

/* Adds a line to the batch, sending the batch first if it is full. Returns false if it cannot. */
static HOT_PATH_INLINE bool put_line(struct sink *sink, const struct gpu_event *event)
{
	int n;

	end_run(sink);
	n = gpu_wire_encode(event, sink->batch + sink->used, sizeof(sink->batch) - sink->used);
	if (n == -ENOSPC) {
		send_batch(sink);
		if (!sink->is_on)
			return false;
		n = gpu_wire_encode(event, sink->batch + sink->used,
				    sizeof(sink->batch) - sink->used);
	}
	sink->used += n > 0 ? (size_t)n : 0;
	return n > 0;
}

/* Begins a line with the operation of a graph's node. Returns false if it cannot. */
static bool begin_run(struct sink *sink, const struct gpu_event *event, uint32_t work_id)
{
	end_run(sink);
	if (sizeof(sink->batch) - sink->used < NODE_RUN_LINE_BYTES)
		send_batch(sink);
	if (!sink->is_on)
		return false;
	sink->used += node_runs_begin(&sink->runs, event, work_id, sink->batch + sink->used,
				      sizeof(sink->batch) - sink->used);
	return true;
}

/*
 * Puts the operation of a graph's node into a line with others of its launch. Returns false if it
 * must have a line of its own, or the sink was turned off. Not inlined: its locals stay off the
 * stacks of launching threads, which may be small.
 */
static __attribute__((noinline)) bool put_node(struct sink *sink, const struct gpu_event *event)
{
	bool is_new;
	uint32_t id = node_runs_define(&sink->runs, event, &is_new);
	struct gpu_event definition = {.type = GPU_EVENT_NODE_WORK};

	if (!id)
		return false;
	if (is_new) {
		definition.node_work = (struct gpu_event_node_work){
			id, sink->runs.works.list[sink->runs.works.count - 1]};
		if (!put_line(sink, &definition))
			return false;
	}
	if (!node_runs_continues(&sink->runs, event) ||
	    sizeof(sink->batch) - sink->used < NODE_RUN_STEP_BYTES + NODE_RUN_END_BYTES)
		return begin_run(sink, event, id);
	sink->used += node_runs_add(&sink->runs, event, id, sink->batch + sink->used);
	return true;
}

static bool is_of_node(const struct gpu_event *event)
{
	return (event->type == GPU_EVENT_KERNEL && event->kernel.graph_node_id) ||
	       (event->type == GPU_EVENT_WORK && event->work.graph_node_id);
}

static void put_locked(struct sink *sink, const struct gpu_event *event)
{
	if (!sink->is_on)
		return;
	if (!(is_of_node(event) && put_node(sink, event)) && !put_line(sink, event))
		return;
	if (event->type == GPU_EVENT_KERNEL) {
		sink->totals.kernels++;
		sink->totals.kernel_ns += event->kernel.duration_ns;
	} else if (event->type == GPU_EVENT_WORK) {
		sink->totals.kernels++;
		if (!gpu_work_is_stall(event->work.work))
			sink->totals.kernel_ns += event->work.duration_ns;
	} else if (event->type == GPU_EVENT_LAUNCH) {
		sink->totals.launches++;
	} else if (event->type == GPU_EVENT_DROPS) {
		add_drops(&sink->batch_drops, &event->drops);
	}
}

void sink_put(struct sink *sink, const struct gpu_event *event)
{
	pthread_mutex_lock(&sink->lock);
	put_locked(sink, event);
	pthread_mutex_unlock(&sink->lock);
}

void sink_count_drops(struct sink *sink, const struct gpu_event_drops *drops)
{
	pthread_mutex_lock(&sink->lock);
	add_drops(&sink->drops, drops);
	/* CUPTI has reported them */
	sink->totals.kernels += drops->late;
	sink->totals.kernel_ns += drops->late_ns;
	pthread_mutex_unlock(&sink->lock);
}

static void report_lost_definitions(struct sink *sink)
{
	char detail[128];
	struct gpu_event event = {.type = GPU_EVENT_NOTICE, .notice = {GPU_NOTICE_OTHER, detail}};

	snprintf(detail, sizeof(detail), "%" PRIu64 " names and stacks were lost while %s",
		 sink->lost_definitions,
		 sink->is_file ? "there was no room for the trace" : "the profiler did not read");
	sink->lost_definitions = 0;
	put_locked(sink, &event);
}

static void flush_locked(struct sink *sink)
{
	const struct gpu_event_drops none = {0};
	struct gpu_event event = {.type = GPU_EVENT_DROPS, .drops = sink->drops};

	if (memcmp(&sink->drops, &none, sizeof(none)) != 0 && !sink->stalled) {
		sink->drops = none;
		put_locked(sink, &event);
	}
	if (sink->lost_definitions && !sink->stalled)
		report_lost_definitions(sink);
	send_batch(sink);
}

void sink_flush(struct sink *sink)
{
	pthread_mutex_lock(&sink->lock);
	flush_locked(sink);
	pthread_mutex_unlock(&sink->lock);
}

void sink_beat(struct sink *sink)
{
	size_t sent;

	pthread_mutex_lock(&sink->lock);
	if (sink->is_on && !sink->is_file && sink->fd >= 0 && !sink->stalled &&
	    sink->used == SINK_HEADER_MAX &&
	    clock_now_ns() - sink->written_ns > SINK_BEAT_MS * UINT64_C(1000000)) {
		write_lines(sink, sink->batch, sink->used, &sent);
		begin_batch(sink);
	}
	pthread_mutex_unlock(&sink->lock);
}

void sink_goodbye(struct sink *sink)
{
	struct gpu_event event = {.type = GPU_EVENT_GOODBYE};

	pthread_mutex_lock(&sink->lock);
	/* twice: the first flush may only have ended a stall, and drops come before the totals */
	flush_locked(sink);
	flush_locked(sink);
	event.goodbye = sink->totals;
	event.goodbye.own_ns = overhead_ns();
	put_locked(sink, &event);
	flush_locked(sink);
	pthread_mutex_unlock(&sink->lock);
}

bool sink_is_off(struct sink *sink)
{
	bool off;

	pthread_mutex_lock(&sink->lock);
	off = !sink->is_on;
	pthread_mutex_unlock(&sink->lock);
	return off;
}

bool sink_is_stalled(const struct sink *sink)
{
	return __atomic_load_n(&sink->stalled, __ATOMIC_RELAXED);
}

bool sink_waits(const struct sink *sink)
{
	return __atomic_load_n(&sink->waits, __ATOMIC_RELAXED);
}

void sink_look_for_reader(struct sink *sink)
{
	struct pollfd p;
	bool is_alone;

	pthread_mutex_lock(&sink->lock);
	is_alone = sink->is_on && try_write(sink, "", 0) == -EPIPE;
	p = (struct pollfd){.fd = sink->fd};
	if (is_alone || (sink->fd >= 0 && poll(&p, 1, 0) > 0 && (p.revents & POLLERR))) {
		close_pipe(sink);
		sink->broken = true;
	}
	pthread_mutex_unlock(&sink->lock);
}

int sink_file_error(struct sink *sink)
{
	struct stat st;
	int error;

	pthread_mutex_lock(&sink->lock);
	error = sink->error;
	if (!error && sink->is_file && sink->is_on && is_open(sink) && fstat(sink->fd, &st) == 0 &&
	    st.st_nlink == 0)
		error = ENOENT;
	pthread_mutex_unlock(&sink->lock);
	return -error;
}

void sink_close(struct sink *sink)
{
	pthread_mutex_lock(&sink->lock);
	close_pipe(sink);
	pthread_mutex_unlock(&sink->lock);
}

void sink_start_over(struct sink *sink)
{
	pthread_mutex_lock(&sink->lock);
	free(sink->kept);
	sink->kept = NULL;
	sink->kept_from = sink->kept_end = sink->kept_capacity = 0;
	node_runs_release(&sink->runs);
	pthread_mutex_unlock(&sink->lock);
}

void sink_abandon(struct sink *sink)
{
	/* no lock: the thread that held it may not exist in this process */
	close_pipe(sink);
}
