/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "fake_timeline.h"
#include "fake_driver.h"
#include "memory.h"
#include "cbid.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STREAM_MAGIC 0x5354524du
#define HANDLE_LEGACY ((struct fake_cuda_stream *)1)
#define HANDLE_PER_THREAD ((struct fake_cuda_stream *)2)

struct gpu_op {
	uint64_t start, end;
	enum fake_cuda_activity_type type;
	struct fake_cuda_function *function;
	uint64_t bytes;
	uint8_t copy_kind;
};

struct fake_cuda_stream {
	uint32_t magic; /* 0 once destroyed */
	uint32_t id;
	struct fake_cuda_context *context;
	bool blocking; /* ordered with the legacy default stream */
	struct fake_cuda_graph *capture;
	uint64_t tail; /* end of the last work */
	unsigned int head, count;
	struct gpu_op ops[GPU_QUEUE_DEPTH];
	struct gpu_sum sums[FAKE_CUDA_TIMELINE_TYPES];
	struct fake_cuda_stream *next;
};

struct fake_cuda_context {
	uint32_t id;
	int device;
	bool alive;
	struct fake_cuda_stream *legacy, *internal;
	struct fake_cuda_stream *streams; /* all, including the legacy one */
	uint64_t blocking_tail;           /* latest end on any blocking stream */
	uint64_t kernel_tail;             /* end of the last kernel while kernels are serialized */
	bool is_serialized;
	struct fake_cuda_context *next;
};

static pthread_mutex_t gpu_lock = PTHREAD_MUTEX_INITIALIZER;
static struct fake_cuda_context *primary[GPU_MAX_DEVICES];
static struct fake_cuda_context *contexts;
static struct fake_cuda_function *functions;
static uint32_t next_context_id = 1, next_stream_id = 7;
static int64_t next_grid_id = 1;
static uint64_t launches, kernels;
static struct gpu_sums sums;
static bool peers[GPU_MAX_DEVICES][GPU_MAX_DEVICES]; /* true: the first can access the second */
static __thread struct fake_cuda_context *current;
enum { CLOCK_SETTINGS = 16 };
static struct {
	uint64_t monotonic;
	int64_t ns;
} clock_settings[CLOCK_SETTINGS];
static uint32_t clock_set_count;
static void (*tell_work)(const struct fake_cuda_activity *work);

static __thread bool follows;
static __thread int current_device;
static __thread struct fake_cuda_stream *thread_stream;

uint64_t gpu_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Returns how far CUPTI's clock was set in all, until then. */
static int64_t set_by(uint64_t monotonic)
{
	uint32_t n = __atomic_load_n(&clock_set_count, __ATOMIC_ACQUIRE);
	int64_t ns = 0;

	for (uint32_t i = 0; i < n; i++)
		if (monotonic >= clock_settings[i].monotonic)
			ns += clock_settings[i].ns;
	return ns;
}

uint64_t gpu_cupti_time(uint64_t monotonic)
{
	const struct gpu_config *c = gpu_config();
	int64_t drift = (int64_t)(monotonic / 1000000) * c->drift_ppm +
			(int64_t)(monotonic % 1000000) * c->drift_ppm / 1000000;

	return monotonic + c->clock_offset + (uint64_t)drift + (uint64_t)set_by(monotonic);
}

FAKE_CUDA_EXPORT void fake_cuda_set_clock(int64_t ns)
{
	uint32_t n = __atomic_load_n(&clock_set_count, __ATOMIC_ACQUIRE);

	if (n == CLOCK_SETTINGS)
		return;
	clock_settings[n].monotonic = gpu_now();
	clock_settings[n].ns = ns;
	__atomic_store_n(&clock_set_count, n + 1, __ATOMIC_RELEASE);
}

void gpu_sleep_until(uint64_t monotonic)
{
	struct timespec ts = {
		.tv_sec = (time_t)(monotonic / 1000000000u),
		.tv_nsec = (long)(monotonic % 1000000000u),
	};

	if (gpu_config()->spins)
		while (gpu_now() < monotonic)
			;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

/* With gpu_lock held. */
static struct fake_cuda_stream *stream_new(struct fake_cuda_context *context, bool blocking)
{
	struct fake_cuda_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->magic = STREAM_MAGIC;
	/* CUPTI's numbers: 7 is the first context's default stream, then 13, 14... */
	s->id = next_stream_id;
	next_stream_id = s->id == 7 ? 13 : s->id + 1;
	s->context = context;
	s->blocking = blocking;
	s->next = context->streams;
	context->streams = s;
	return s;
}

static struct fake_cuda_context *context_new(int device)
{
	struct fake_cuda_context *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->id = next_context_id++;
	c->device = device;
	c->legacy = stream_new(c, true);
	if (!c->legacy) {
		free(c);
		return NULL;
	}
	c->alive = true;
	c->next = contexts;
	contexts = c;
	return c;
}

/* Assumed: a device's record comes with its first context. */
static void describe(const struct fake_cuda_context *c, int device)
{
	struct fake_cuda_activity a = {
		.type = FAKE_CUDA_DEVICE, .device_id = (uint32_t)device, .context_id = c->id};

	driver_notify_activity(&a);
	a.type = FAKE_CUDA_CONTEXT;
	driver_notify_activity(&a);
}

/* The thread computes, then it sleeps. */
static void take_time(uint64_t ns)
{
	uint64_t begun = gpu_now();

	while (gpu_now() < begun + ns / 2)
		;
	if (ns)
		gpu_sleep_until(begun + ns);
}

struct fake_cuda_context *gpu_context(int device)
{
	struct fake_cuda_context *c;
	bool created = false;

	if (device < 0 || device >= gpu_config()->devices)
		return NULL;
	pthread_mutex_lock(&gpu_lock);
	if (!primary[device]) {
		primary[device] = context_new(device);
		created = true;
	}
	c = primary[device];
	pthread_mutex_unlock(&gpu_lock);
	if (created && c) {
		take_time(gpu_config()->context);
		describe(c, device);
		driver_notify_resource(CUPTI_ABI_RESOURCE_CONTEXT_CREATED, c, NULL, NULL);
	}
	return c;
}

struct fake_cuda_context *gpu_current(void)
{
	return current && current->alive ? current : NULL;
}

void gpu_set_current(struct fake_cuda_context *context)
{
	current = context;
	if (context)
		current_device = context->device;
}

uint32_t gpu_context_id(const struct fake_cuda_context *context)
{
	return context ? context->id : 0;
}

struct fake_cuda_place gpu_place(const struct fake_cuda_context *context)
{
	return (struct fake_cuda_place){(uint32_t)context->device, context->id};
}

int gpu_set_device(int device)
{
	struct fake_cuda_context *c;

	if (device < 0 || device >= gpu_config()->devices)
		return FAKE_CUDA_ERROR_INVALID_DEVICE;
	c = gpu_context(device);
	if (!c)
		return FAKE_CUDA_ERROR_OUT_OF_MEMORY;
	gpu_set_current(c);
	return 0;
}

int gpu_get_device(void)
{
	return current_device;
}

int gpu_enable_peer(int device)
{
	struct fake_cuda_context *c = gpu_current();
	int err = 0;

	if (!c)
		return FAKE_CUDA_ERROR_INVALID_CONTEXT;
	if (device < 0 || device >= gpu_config()->devices || device == c->device)
		return FAKE_CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&gpu_lock);
	if (peers[c->device][device])
		err = FAKE_CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	peers[c->device][device] = true;
	pthread_mutex_unlock(&gpu_lock);
	return err;
}

bool gpu_peer_enabled(int device, int of_device)
{
	bool enabled;

	pthread_mutex_lock(&gpu_lock);
	enabled = peers[device][of_device];
	pthread_mutex_unlock(&gpu_lock);
	return enabled;
}

struct fake_cuda_stream *gpu_stream(struct fake_cuda_stream *handle, bool per_thread)
{
	struct fake_cuda_context *c = gpu_current();

	if (handle == HANDLE_LEGACY || (!handle && !per_thread))
		return c ? c->legacy : NULL;
	if (handle == HANDLE_PER_THREAD || !handle) {
		if (!c)
			return NULL;
		if (!thread_stream || thread_stream->context != c || !thread_stream->magic) {
			pthread_mutex_lock(&gpu_lock);
			thread_stream = stream_new(c, true);
			pthread_mutex_unlock(&gpu_lock);
		}
		return thread_stream;
	}
	return handle->magic == STREAM_MAGIC ? handle : NULL;
}

int gpu_stream_create(struct fake_cuda_stream **stream, unsigned int flags)
{
	struct fake_cuda_context *c = gpu_current();
	struct fake_cuda_stream *s;

	if (!stream || flags > 1)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	if (!c)
		return FAKE_CUDA_ERROR_INVALID_CONTEXT;
	pthread_mutex_lock(&gpu_lock);
	s = stream_new(c, !(flags & 1));
	pthread_mutex_unlock(&gpu_lock);
	if (!s)
		return FAKE_CUDA_ERROR_OUT_OF_MEMORY;
	*stream = s;
	driver_notify_resource(FAKE_RESOURCE_STREAM_CREATED, c, s, NULL);
	return 0;
}

int gpu_stream_destroy(struct fake_cuda_stream *stream)
{
	struct fake_cuda_stream *s = stream;

	if (stream == NULL || stream == HANDLE_LEGACY || stream == HANDLE_PER_THREAD)
		return FAKE_CUDA_ERROR_INVALID_HANDLE;
	if (s->magic != STREAM_MAGIC)
		return FAKE_CUDA_ERROR_INVALID_HANDLE;
	driver_notify_resource(FAKE_RESOURCE_STREAM_DESTROY_STARTING, s->context, s, NULL);
	s->magic = 0;
	return 0;
}

struct fake_cuda_context *gpu_stream_context(const struct fake_cuda_stream *stream)
{
	return stream->context;
}

uint32_t gpu_stream_id(const struct fake_cuda_stream *stream)
{
	return stream->id;
}

struct fake_cuda_graph **gpu_stream_capture(struct fake_cuda_stream *stream)
{
	return &stream->capture;
}

bool gpu_stream_is_legacy(const struct fake_cuda_stream *stream)
{
	return stream == stream->context->legacy;
}

/* With gpu_lock held: the end of all work that a wait on the stream waits for. */
static uint64_t stream_tail(const struct fake_cuda_stream *s)
{
	return s == s->context->legacy ? s->context->blocking_tail : s->tail;
}

struct fake_cuda_stream *gpu_internal_stream(int device)
{
	struct fake_cuda_context *c = gpu_context(device);
	struct fake_cuda_stream *s = NULL;

	if (!c)
		return NULL;
	pthread_mutex_lock(&gpu_lock);
	if (!c->internal)
		c->internal = stream_new(c, false);
	s = c->internal;
	pthread_mutex_unlock(&gpu_lock);
	return s;
}

void gpu_stream_wait(struct fake_cuda_stream *stream, struct fake_cuda_stream *other)
{
	uint64_t until;

	pthread_mutex_lock(&gpu_lock);
	until = stream_tail(other);
	if (stream->tail < until)
		stream->tail = until;
	if (stream->blocking && stream->context->blocking_tail < until)
		stream->context->blocking_tail = until;
	pthread_mutex_unlock(&gpu_lock);
}

int gpu_stream_wait_until(struct fake_cuda_stream *handle, uint64_t until)
{
	struct fake_cuda_stream *s = gpu_stream(handle, false);

	if (!s)
		return FAKE_CUDA_ERROR_INVALID_HANDLE;
	if (s->capture)
		return FAKE_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	pthread_mutex_lock(&gpu_lock);
	if (s->tail < until)
		s->tail = until;
	if (s->blocking && s->context->blocking_tail < until)
		s->context->blocking_tail = until;
	pthread_mutex_unlock(&gpu_lock);
	return 0;
}

int gpu_stream_number(struct fake_cuda_context *context, struct fake_cuda_stream *handle,
		      uint32_t *number)
{
	struct fake_cuda_stream *s = gpu_stream(handle, false);

	if (!s || (context && s->context != context))
		return FAKE_CUDA_ERROR_INVALID_HANDLE;
	*number = s->id;
	return 0;
}

void gpu_serialize(struct fake_cuda_context *context, bool on)
{
	pthread_mutex_lock(&gpu_lock);
	context->is_serialized = on;
	pthread_mutex_unlock(&gpu_lock);
}

int gpu_stream_end(struct fake_cuda_stream *handle, uint64_t *end)
{
	struct fake_cuda_stream *s = gpu_stream(handle, false);
	uint64_t now = gpu_now();

	if (!s)
		return FAKE_CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&gpu_lock);
	*end = stream_tail(s) > now ? stream_tail(s) : now;
	pthread_mutex_unlock(&gpu_lock);
	return 0;
}

int gpu_stream_synchronize(struct fake_cuda_stream *handle)
{
	struct fake_cuda_stream *s = gpu_stream(handle, false);
	uint64_t end = 0;
	int err;

	if (s && s->capture)
		return FAKE_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	err = gpu_stream_end(handle, &end);
	if (!err && end > gpu_now())
		gpu_sleep_until(end);
	return err;
}

int gpu_device_idle(void)
{
	struct fake_cuda_context *c = gpu_current();
	uint64_t end = 0;

	if (!c)
		return FAKE_CUDA_ERROR_INVALID_CONTEXT;
	pthread_mutex_lock(&gpu_lock);
	for (struct fake_cuda_stream *s = c->streams; s; s = s->next) {
		if (s->tail > end)
			end = s->tail;
	}
	pthread_mutex_unlock(&gpu_lock);
	if (end > gpu_now())
		gpu_sleep_until(end);
	return 0;
}

/* Any thread's capture of a stream of the context. */
static bool captures_any(const struct fake_cuda_context *c)
{
	bool captures = false;

	pthread_mutex_lock(&gpu_lock);
	for (struct fake_cuda_stream *s = c ? c->streams : NULL; s; s = s->next)
		captures |= s->capture != NULL;
	pthread_mutex_unlock(&gpu_lock);
	return captures;
}

int gpu_device_synchronize(void)
{
	return captures_any(gpu_current()) ? FAKE_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
					   : gpu_device_idle();
}

int gpu_device_reset(void)
{
	struct fake_cuda_context *c = gpu_current();
	int err;

	if (!c)
		return 0;
	err = gpu_device_idle();
	if (err)
		return err;
	driver_notify_resource(CUPTI_ABI_RESOURCE_CONTEXT_DESTROY_STARTING, c, NULL, NULL);
	pthread_mutex_lock(&gpu_lock);
	for (struct fake_cuda_stream *s = c->streams; s; s = s->next)
		s->magic = 0;
	c->alive = false;
	primary[c->device] = NULL;
	memset(peers[c->device], 0, sizeof(peers[c->device]));
	pthread_mutex_unlock(&gpu_lock);
	memory_forget(c);
	current = NULL;
	return 0;
}

static void sum_add(struct gpu_sum *s, uint64_t ns, uint64_t bytes)
{
	s->count++;
	s->ns += ns;
	s->bytes += bytes;
}

/* With gpu_lock held: move work that has ended by `now` from the queue to the totals. */
static void retire(struct fake_cuda_stream *s, uint64_t now)
{
	while (s->count && s->ops[s->head].end <= now) {
		const struct gpu_op *op = &s->ops[s->head];
		uint64_t ns = gpu_cupti_time(op->end) - gpu_cupti_time(op->start);

		sum_add(&s->sums[op->type], ns, op->bytes);
		if (op->type == FAKE_CUDA_COPY)
			sum_add(&sums.copies[op->copy_kind], ns, op->bytes);
		else if (op->type == FAKE_CUDA_SET)
			sum_add(&sums.sets, ns, op->bytes);
		if (op->function) {
			op->function->kernels++;
			op->function->ns += ns;
		}
		s->head = (s->head + 1) % GPU_QUEUE_DEPTH;
		s->count--;
	}
}

/* With gpu_lock held, which it may release: wait until the stream's queue has room. */
static uint64_t wait_for_room(struct fake_cuda_stream *stream)
{
	for (;;) {
		uint64_t now = gpu_now(), room;

		retire(stream, now);
		if (stream->count < GPU_QUEUE_DEPTH)
			return now;
		room = stream->ops[stream->head].end;
		pthread_mutex_unlock(&gpu_lock);
		gpu_sleep_until(room);
		pthread_mutex_lock(&gpu_lock);
	}
}

void gpu_follow(bool on)
{
	follows = on;
}

FAKE_CUDA_EXPORT void fake_cuda_follow_work(void (*tell)(const struct fake_cuda_activity *work))
{
	__atomic_store_n(&tell_work, tell, __ATOMIC_RELEASE);
}

void gpu_enqueue(struct fake_cuda_stream *stream, const struct gpu_work *work,
		 struct fake_cuda_activity *activity)
{
	void (*tell)(const struct fake_cuda_activity *);
	struct fake_cuda_context *c = stream->context;
	uint64_t start, after;

	pthread_mutex_lock(&gpu_lock);
	start = wait_for_room(stream) + gpu_config()->latency;
	after = stream->tail;
	if (stream == c->legacy)
		after = c->blocking_tail;
	else if (stream->blocking && c->legacy->tail > after)
		after = c->legacy->tail;
	if (after > start || follows)
		start = after;
	if (c->is_serialized && work->activity.type == FAKE_CUDA_KERNEL) {
		if (c->kernel_tail > start)
			start = c->kernel_tail;
		c->kernel_tail = start + work->duration;
	}
	stream->tail = start + work->duration;
	if (stream->blocking && stream->tail > c->blocking_tail)
		c->blocking_tail = stream->tail;
	stream->ops[(stream->head + stream->count++) % GPU_QUEUE_DEPTH] = (struct gpu_op){
		.start = start,
		.end = stream->tail,
		.type = work->activity.type,
		.function = work->function,
		.bytes = work->activity.bytes,
		.copy_kind = work->activity.copy_kind,
	};
	*activity = work->activity;
	activity->device_id = (uint32_t)c->device;
	activity->context_id = c->id;
	activity->stream_id = stream->id;
	activity->start = start;
	activity->end = stream->tail;
	if (activity->type == FAKE_CUDA_KERNEL) {
		activity->grid_id = next_grid_id++;
		kernels++;
	}
	pthread_mutex_unlock(&gpu_lock);
	tell = __atomic_load_n(&tell_work, __ATOMIC_ACQUIRE);
	if (tell)
		tell(activity);
}

void gpu_count_launch(void)
{
	const struct gpu_config *c = gpu_config();
	uint64_t n = __atomic_add_fetch(&launches, 1, __ATOMIC_RELAXED);

	if (n == c->kill_after) {
		gpu_write_totals();
		raise(SIGKILL);
	}
	if (n == c->crash_after) {
		gpu_write_totals();
		signal(SIGSEGV, SIG_DFL);
		raise(SIGSEGV);
	}
	if (c->launch)
		gpu_sleep_until(gpu_now() + c->launch); /* no lock is held: may be cancelled */
}

void gpu_counts(uint64_t *launches_out, uint64_t *kernels_out)
{
	*launches_out = __atomic_load_n(&launches, __ATOMIC_RELAXED);
	pthread_mutex_lock(&gpu_lock);
	*kernels_out = kernels;
	pthread_mutex_unlock(&gpu_lock);
}

void gpu_register_function(struct fake_cuda_function *function)
{
	pthread_mutex_lock(&gpu_lock);
	function->next = functions;
	functions = function;
	pthread_mutex_unlock(&gpu_lock);
}

void gpu_count_memory(uint32_t operation, uint64_t bytes)
{
	pthread_mutex_lock(&gpu_lock);
	sum_add(&sums.memory[operation], 0, bytes);
	pthread_mutex_unlock(&gpu_lock);
}

static uint64_t waiting_kernels(const struct fake_cuda_stream *s)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < s->count; i++)
		n += s->ops[(s->head + i) % GPU_QUEUE_DEPTH].type == FAKE_CUDA_KERNEL;
	return n;
}

const struct fake_cuda_function *gpu_totals_begin(uint64_t *pending)
{
	uint64_t now = gpu_now();

	pthread_mutex_lock(&gpu_lock);
	*pending = 0;
	for (struct fake_cuda_context *c = contexts; c; c = c->next) {
		for (struct fake_cuda_stream *s = c->streams; s; s = s->next) {
			retire(s, now);
			*pending += waiting_kernels(s);
		}
	}
	return functions;
}

const struct gpu_sums *gpu_totals_sums(void)
{
	return &sums;
}

bool gpu_totals_stream(struct fake_cuda_stream **at, struct gpu_stream_sums *out)
{
	struct fake_cuda_stream *s = *at ? (*at)->next : contexts ? contexts->streams : NULL;
	struct fake_cuda_context *c = *at ? (*at)->context->next : contexts ? contexts->next : NULL;

	for (; !s && c; c = c->next)
		s = c->streams;
	if (!s)
		return false;
	*at = s;
	out->device_id = (uint32_t)s->context->device;
	out->context_id = s->context->id;
	out->stream_id = s->id;
	memcpy(out->sums, s->sums, sizeof(out->sums));
	return true;
}

void gpu_totals_end(void)
{
	pthread_mutex_unlock(&gpu_lock);
}
