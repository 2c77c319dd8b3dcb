// SPDX-License-Identifier: MIT
#include "profiler/sources/gpu_pipe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cupti_trace/gpu_wire.h"
#include "symbolize/hash_index.h"

#define NAME_IDS_MAX 65536
#define NAME_BYTES_MAX 65536
#define PROCESSES_MAX 65536
#define READ_SIZE 65536

struct gpu_process {
	uint32_t pid;
	bool open;    /* said hello, not goodbye */
	bool ignored; /* speaks another version */
	uint64_t next_sequence;
	uint64_t kernels, kernel_ns; /* received since hello, other work included */
	uint64_t unsent;             /* given up by the sender since hello */
	/* since hello: launches of one kernel each, the kernels they started, records lost */
	uint64_t kernel_launches, launched_kernels, lost;
	const char **names;
	uint32_t name_count;
	char *piece; /* a name being put together */
	size_t piece_length;
	uint32_t piece_id;
};

struct gpu_pipe {
	struct intern *strings;
	gpu_pipe_handler handler;
	void *context;
	void (*tee)(void *context, const void *bytes, size_t size);
	void *tee_context;
	struct gpu_wire_decoder *decoder;
	struct gpu_pipe_stats stats;
	struct gpu_process *processes;
	uint32_t process_count, process_capacity;
	struct hash_index index;
	bool batch_is_bounded;
	uint64_t batch_left; /* bytes of the current batch still to come, if so */
	uint32_t current;    /* index of the process whose batch this is; HASH_INDEX_NONE: none */
	char line[GPU_WIRE_LINE_MAX + 1]; /* a line begun in an earlier read */
	size_t line_length;
	bool skipping; /* the line is too long: wait for its end */
	char first_malformed[81];
	char buffer[READ_SIZE];
};

struct gpu_pipe *gpu_pipe_new(struct intern *strings, gpu_pipe_handler handler, void *context)
{
	struct gpu_pipe *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->strings = strings;
	s->handler = handler;
	s->context = context;
	s->current = HASH_INDEX_NONE;
	s->decoder = gpu_wire_decoder_new();
	if (s->decoder)
		return s;
	free(s);
	return NULL;
}

void gpu_pipe_free(struct gpu_pipe *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->process_count; i++) {
		free(s->processes[i].names);
		free(s->processes[i].piece);
	}
	free(s->processes);
	hash_index_release(&s->index);
	gpu_wire_decoder_free(s->decoder);
	free(s);
}

void gpu_pipe_tee(struct gpu_pipe *s, void (*tee)(void *context, const void *bytes, size_t size),
		  void *context)
{
	s->tee = tee;
	s->tee_context = context;
}

/* ---- processes ---- */

static bool process_equal(const void *records, uint32_t position, const void *key)
{
	return ((const struct gpu_process *)records + position)->pid == *(const uint32_t *)key;
}

/* Index of the process, made if need be; HASH_INDEX_NONE when there are too many. */
static uint32_t get_process(struct gpu_pipe *s, uint32_t pid)
{
	uint32_t hash = hash_bytes(&pid, sizeof(pid));
	uint32_t at = hash_index_find(&s->index, hash, process_equal, s->processes, &pid);

	if (at != HASH_INDEX_NONE || s->process_count == PROCESSES_MAX)
		return at;
	if (s->process_count == s->process_capacity) {
		uint32_t capacity = s->process_capacity ? s->process_capacity * 2 : 16;
		struct gpu_process *p = realloc(s->processes, capacity * sizeof(*p));

		if (!p)
			return HASH_INDEX_NONE;
		s->processes = p;
		s->process_capacity = capacity;
	}
	if (hash_index_add(&s->index, hash, s->process_count) != 0)
		return HASH_INDEX_NONE;
	s->processes[s->process_count] = (struct gpu_process){.pid = pid};
	return s->process_count++;
}

static void forget_names(struct gpu_process *p)
{
	free(p->names);
	p->names = NULL;
	p->name_count = 0;
	p->piece_length = 0;
}

static bool set_name(struct gpu_pipe *s, struct gpu_process *p, uint32_t id, const char *name)
{
	if (id >= p->name_count) {
		uint32_t count = id * 2 + 16;
		const char **names = realloc(p->names, count * sizeof(*names));

		if (!names)
			return false;
		memset(names + p->name_count, 0, (count - p->name_count) * sizeof(*names));
		p->names = names;
		p->name_count = count;
	}
	p->names[id] = intern_string(s->strings, name);
	return p->names[id] != NULL;
}

/* A name, or the next piece of one. False if it makes no sense. */
static bool take_name(struct gpu_pipe *s, struct gpu_process *p, const struct gpu_event_name *e)
{
	size_t n = strlen(e->name);
	char *piece;

	if (e->id == 0 || e->id > NAME_IDS_MAX)
		return false;
	if (p->piece_length > 0 && p->piece_id != e->id)
		p->piece_length = 0;
	if (!e->more && p->piece_length == 0)
		return set_name(s, p, e->id, e->name);
	if (p->piece_length + n >= NAME_BYTES_MAX)
		return false;
	piece = realloc(p->piece, p->piece_length + n + 1);
	if (!piece)
		return false;
	memcpy(piece + p->piece_length, e->name, n + 1);
	p->piece = piece;
	p->piece_length += n;
	p->piece_id = e->id;
	if (e->more)
		return true;
	p->piece_length = 0;
	return set_name(s, p, e->id, piece);
}

static const char *name_of(struct gpu_pipe *s, const struct gpu_process *p, uint32_t id)
{
	const char *name = id < p->name_count ? p->names[id] : NULL;

	if (!name)
		name = intern_string(s->strings, id ? GPU_PIPE_NAME_LOST : GPU_PIPE_NAMES_FULL);
	return name ? name : GPU_PIPE_NAME_LOST;
}

/* ---- events ---- */

static void begin_batch(struct gpu_pipe *s, const struct gpu_event_batch *e)
{
	struct gpu_process *p;

	s->current = get_process(s, e->pid);
	s->batch_is_bounded = e->bytes > 0;
	s->batch_left = e->bytes;
	if (s->current == HASH_INDEX_NONE)
		return;
	p = &s->processes[s->current];
	/* a smaller number is a new program in the same process: its hello follows */
	if (e->sequence > p->next_sequence)
		s->stats.lost_batches += e->sequence - p->next_sequence;
	p->next_sequence = e->sequence + 1;
}

bool gpu_pipe_has_graph_time_bug(uint32_t cupti_version)
{
	return cupti_version >= 130000 && cupti_version < 130100;
}

/*
 * The process's tracing has ended. Kernels of a launch on several devices count as launched, too,
 * so where those are used there may be more unended launches than this finds.
 */
static void count_unended(struct gpu_pipe *s, const struct gpu_process *p)
{
	uint64_t recorded = p->launched_kernels + p->lost;

	if (p->open && !p->ignored && p->kernel_launches > recorded)
		s->stats.unended_launches += p->kernel_launches - recorded;
}

static void take_hello(struct gpu_pipe *s, struct gpu_process *p, const struct gpu_event_hello *e)
{
	count_unended(s, p);
	if (p->open)
		s->stats.without_goodbye++; /* exec, or a killed process's number used again */
	else
		s->stats.processes++;
	s->stats.without_cupti += e->is_off != 0;
	p->open = e->wants_ack && !e->is_off; /* else it only explains why it does not trace */
	p->ignored = e->version != GPU_WIRE_VERSION;
	p->kernels = 0;
	p->kernel_ns = 0;
	p->unsent = 0;
	p->kernel_launches = p->launched_kernels = p->lost = 0;
	forget_names(p);
	if (p->ignored)
		s->stats.foreign_versions++;
	else if (gpu_pipe_has_graph_time_bug(e->cupti_version))
		s->stats.graph_time_bugs++;
}

static void take_drops(struct gpu_pipe *s, struct gpu_process *p, const struct gpu_event_drops *e)
{
	s->stats.dropped_kernels += e->kernels + e->unsent_kernels;
	s->stats.dropped_launches += e->launches + e->unsent_launches;
	s->stats.unknown_records += e->unknown;
	p->unsent += e->unsent_kernels;
	p->lost += e->kernels + e->unsent_kernels;
}

static void take_goodbye(struct gpu_pipe *s, struct gpu_process *p,
			 const struct gpu_event_goodbye *e)
{
	uint64_t accounted = p->kernels + p->unsent;

	if (p->open && e->kernels > accounted) {
		s->stats.missing_kernels += e->kernels - accounted;
		p->lost += e->kernels - accounted;
	}
	count_unended(s, p);
	if (p->open && e->kernels == p->kernels && e->kernel_ns != p->kernel_ns)
		s->stats.wrong_totals++;
	p->open = false;
}

static void take_kernel(struct gpu_pipe *s, struct gpu_process *p, const struct gpu_event_kernel *e)
{
	s->stats.kernels++;
	s->stats.kernel_ns += e->duration_ns;
	s->stats.bad_times += e->bad_time;
	p->kernels++;
	p->kernel_ns += e->duration_ns;
	p->launched_kernels += e->graph_node_id == 0;
}

/* A void launch has done what it could, just like one whose kernel has a record. */
static void take_voids(struct gpu_process *p, const struct gpu_event_void *e)
{
	p->launched_kernels += e->launches;
}

static void take_launch(struct gpu_pipe *s, struct gpu_process *p, const struct gpu_event_launch *e)
{
	s->stats.launches++;
	p->kernel_launches += !(e->flags & (GPU_LAUNCH_IS_GRAPH | GPU_LAUNCH_IS_OTHER));
}

static void take_work(struct gpu_pipe *s, struct gpu_process *p, const struct gpu_event_work *e)
{
	s->stats.works++;
	s->stats.bad_times += e->bad_time;
	p->kernels++;
	p->kernel_ns += e->duration_ns;
}

/* False if the event cannot be: nothing was done then. */
static bool take_event(struct gpu_pipe *s, const struct gpu_event *event)
{
	struct gpu_process *p;
	const char *kernel = NULL;

	if (event->type == GPU_EVENT_BATCH) {
		begin_batch(s, &event->batch);
		return s->current != HASH_INDEX_NONE;
	}
	if (s->current == HASH_INDEX_NONE)
		return false;
	p = &s->processes[s->current];
	if (event->type == GPU_EVENT_HELLO)
		take_hello(s, p, &event->hello);
	else if (p->ignored)
		return true;
	switch (event->type) {
	case GPU_EVENT_NAME:
		return take_name(s, p, &event->name);
	case GPU_EVENT_LAUNCH:
		take_launch(s, p, &event->launch);
		break;
	case GPU_EVENT_VOID:
		take_voids(p, &event->voids);
		break;
	case GPU_EVENT_KERNEL:
		take_kernel(s, p, &event->kernel);
		kernel = name_of(s, p, event->kernel.name_id);
		break;
	case GPU_EVENT_WORK:
		take_work(s, p, &event->work);
		break;
	case GPU_EVENT_DROPS:
		take_drops(s, p, &event->drops);
		break;
	case GPU_EVENT_GOODBYE:
		take_goodbye(s, p, &event->goodbye);
		break;
	default:
		break;
	}
	s->handler(s->context, p->pid, event, kernel);
	return true;
}

static void note_malformed(struct gpu_pipe *s, const char *line, size_t length)
{
	size_t n =
		length < sizeof(s->first_malformed) - 1 ? length : sizeof(s->first_malformed) - 1;

	s->stats.malformed++;
	if (s->first_malformed[0])
		return;
	for (size_t i = 0; i < n; i++)
		s->first_malformed[i] = line[i] >= 0x20 && line[i] < 0x7f ? line[i] : '?';
}

/* What is not within a batch's bytes was written by somebody else, however it looks. */
static void leave_batch(struct gpu_pipe *s, size_t length)
{
	if (!s->batch_is_bounded)
		return;
	if (length + 1 > s->batch_left)
		s->current = HASH_INDEX_NONE;
	else
		s->batch_left -= length + 1;
}

static void take_line(struct gpu_pipe *s, const char *line, size_t length)
{
	struct gpu_event event;

	if (length == 0)
		return; /* every batch begins with a newline */
	s->stats.lines++;
	leave_batch(s, length);
	if (gpu_wire_decode(s->decoder, line, length, &event) != 0 || !take_event(s, &event))
		note_malformed(s, line, length);
}

/* ---- bytes ---- */

/* Keeps the part of a line that is there; a line that grows too long is skipped to its end. */
static void keep_partial(struct gpu_pipe *s, const char *bytes, size_t n)
{
	if (s->skipping)
		return;
	if (s->line_length + n > GPU_WIRE_LINE_MAX) {
		memcpy(s->line + s->line_length, bytes, GPU_WIRE_LINE_MAX - s->line_length);
		s->stats.lines++;
		s->stats.too_long++;
		note_malformed(s, s->line, GPU_WIRE_LINE_MAX);
		s->skipping = true;
		s->line_length = 0;
		return;
	}
	memcpy(s->line + s->line_length, bytes, n);
	s->line_length += n;
}

void gpu_pipe_feed(struct gpu_pipe *s, const char *bytes, size_t size)
{
	const char *end = bytes + size;

	s->stats.bytes += size;
	while (bytes < end) {
		const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));

		if (!newline) {
			keep_partial(s, bytes, (size_t)(end - bytes));
			return;
		}
		if (s->skipping || s->line_length > 0 ||
		    (size_t)(newline - bytes) > GPU_WIRE_LINE_MAX) {
			keep_partial(s, bytes, (size_t)(newline - bytes));
			if (!s->skipping)
				take_line(s, s->line, s->line_length);
			s->line_length = 0;
			s->skipping = false;
		} else {
			take_line(s, bytes, (size_t)(newline - bytes));
		}
		bytes = newline + 1;
	}
}

int gpu_pipe_read(struct gpu_pipe *s, int pipe, uint64_t limit)
{
	uint64_t got = 0;

	while (got < limit) {
		ssize_t n = read(pipe, s->buffer, sizeof(s->buffer));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		if (n == 0)
			return -EPIPE;
		if (s->tee)
			s->tee(s->tee_context, s->buffer, (size_t)n);
		gpu_pipe_feed(s, s->buffer, (size_t)n);
		got += (uint64_t)n;
	}
	return 1;
}

void gpu_pipe_finish(struct gpu_pipe *s)
{
	if (s->line_length > 0) {
		s->stats.lines++;
		note_malformed(s, s->line, s->line_length);
	}
	s->line_length = 0;
	for (uint32_t i = 0; i < s->process_count; i++) {
		s->stats.without_goodbye += s->processes[i].open && !s->processes[i].ignored;
		count_unended(s, &s->processes[i]);
	}
}

struct gpu_pipe_stats gpu_pipe_stats(const struct gpu_pipe *s)
{
	return s->stats;
}

const char *gpu_pipe_first_malformed(const struct gpu_pipe *s)
{
	return s->first_malformed;
}

bool gpu_pipe_is_open(const struct gpu_pipe *s, uint32_t pid)
{
	uint32_t at = hash_index_find(&s->index, hash_bytes(&pid, sizeof(pid)), process_equal,
				      s->processes, &pid);

	return at != HASH_INDEX_NONE && s->processes[at].open;
}

void gpu_pipe_each_open(const struct gpu_pipe *s, void (*visit)(void *context, uint32_t pid),
			void *context)
{
	for (uint32_t i = 0; i < s->process_count; i++)
		if (s->processes[i].open)
			visit(context, s->processes[i].pid);
}
