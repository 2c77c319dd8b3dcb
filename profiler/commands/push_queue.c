// SPDX-License-Identifier: MIT
#include "profiler/commands/push_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include "profiler/commands/push.h"
#include "symbolize/util/monotonic.h"

struct kept {
	struct push_body body;
	uint32_t engine;
};

/* Tells the parent about an engine. */
struct told {
	uint32_t taken;             /* so many of the kept results, the oldest ones, or refused */
	uint32_t refused;           /* results, kept or new */
	bool has_tried, has_failed; /* an attempt was made; the last one failed */
	uint64_t query_size, size;  /* a new result that is to be kept, in `left`; 0: none */
	char why[HTTP_WHY_BYTES];   /* reason of the failure */
};

static struct {
	struct kept *list; /* in order of time */
	uint32_t count;
	size_t bytes;
	uint64_t
		retry_ns[OPTIONS_MAX_PUSHES]; /* not before that; 0: the engine took the last one */
	struct told *told;                    /* one for each engine, shared with the child */
	int left[OPTIONS_MAX_PUSHES];         /* files in memory, shared with the child */
	uint32_t dropped, refused;
} queue;

/* ---- the queue ---- */

static size_t body_bytes(const struct push_body *body)
{
	return body->size + (body->query ? strlen(body->query) : 0);
}

static void remove_at(uint32_t at)
{
	queue.bytes -= body_bytes(&queue.list[at].body);
	push_body_release(&queue.list[at].body);
	queue.count--;
	memmove(&queue.list[at], &queue.list[at + 1], (queue.count - at) * sizeof(*queue.list));
}

/* Returns the number of the oldest result kept for an engine, or `count` without one. */
static uint32_t oldest_of(uint32_t engine)
{
	uint32_t at = 0;

	while (at < queue.count && queue.list[at].engine != engine)
		at++;
	return at;
}

/* Takes over a body. Drops the oldest results if there is no room. */
static void keep(uint32_t engine, struct push_body *body)
{
	struct kept *list = realloc(queue.list, (queue.count + 1) * sizeof(*list));

	if (!list) {
		queue.dropped++;
		push_body_release(body);
		return;
	}
	queue.list = list;
	list[queue.count++] = (struct kept){*body, engine};
	queue.bytes += body_bytes(body);
	for (; queue.bytes > PUSH_QUEUE_BYTES; queue.dropped++)
		remove_at(0);
}

/* ---- the child ---- */

/* Leaves a result to the parent. */
static void leave(uint32_t engine, const struct push_body *body)
{
	struct told *told = &queue.told[engine];
	size_t query_size = body->query ? strlen(body->query) + 1 : 0;

	const struct iovec parts[] = {{body->query, query_size}, {body->bytes, body->size}};

	told->query_size = query_size;
	told->size = body->size;
	if (ftruncate(queue.left[engine], 0) != 0 || pwritev(queue.left[engine], parts, 2, 0) < 0)
		told->size = UINT64_MAX; /* the parent counts it as lost */
}

/* Parameters of sending one result. */
struct sending {
	struct log *log;
	const struct options *options;
	const struct helper *helper;
	struct session *session; /* NULL in the child */
	int64_t left_ms;         /* at the end of the run, for all engines that take nothing */
};

/* Returns whether the engine is done with a body: it took it, or refused it for what it is. */
static bool attempt(struct sending *s, uint32_t engine, const struct push_body *body)
{
	struct told *told = &queue.told[engine];
	bool was_away = queue.retry_ns[engine] != 0;
	int64_t limit_ms = was_away && !s->session ? PUSH_QUEUE_TRY_MS : s->left_ms;
	uint64_t start_ns = monotonic_ns();
	char why[HTTP_WHY_BYTES] = "interrupted";
	enum push_answer answer = PUSH_NOT_TAKEN;

	told->has_tried = true;
	if (!s->session || (s->left_ms > 0 && !session_ends_sending(s->session)))
		answer = push_send(s->log, s->helper, s->options->pushes[engine], body, limit_ms,
				   s->session, why);
	told->has_failed = answer == PUSH_NOT_TAKEN;
	told->refused += answer == PUSH_REFUSED;
	if (answer != PUSH_TAKEN)
		memcpy(told->why, why, sizeof(told->why));
	if (told->has_failed && s->session)
		s->left_ms -= (int64_t)((monotonic_ns() - start_ns) / 1000000u);
	return !told->has_failed;
}

/* Sends to one engine what was kept for it, then the result, as far as it takes them. */
static void send_to(struct sending *s, uint32_t engine, const struct engine_profile *profile)
{
	struct told *told = &queue.told[engine];
	bool is_away = queue.retry_ns[engine] != 0;
	struct push_body body = {NULL};
	uint32_t at = 0;

	*told = (struct told){0};
	if (profile->result->row_count &&
	    !push_encode(s->log, s->options->pushes[engine], profile, &body))
		return;
	if (!is_away || s->session || monotonic_ns() >= queue.retry_ns[engine])
		for (at = oldest_of(engine); at < queue.count && !told->has_failed; at++)
			if (queue.list[at].engine == engine)
				told->taken += attempt(s, engine, &queue.list[at].body);
	if (!body.bytes)
		return;
	if (told->has_failed || (is_away && !told->has_tried) || !attempt(s, engine, &body))
		leave(engine, &body);
	push_body_release(&body);
}

uint32_t push_queue_send(struct log *log, const struct options *o, const struct helper *helper,
			 struct session *session, const struct result *result)
{
	char service[ENGINE_SERVICE_BYTES];
	const struct engine_profile profile = {.result = result,
					       .service = service,
					       .labels = o->push_labels,
					       .label_count = o->push_label_count};
	struct sending sending = {log, o, helper, session, PUSH_TIMEOUT_MS};
	uint32_t lost;

	if (!o->push_count || !queue.told)
		return 0;
	if (session)
		session_begin_sending(session);
	engine_service(result, getenv("OTEL_SERVICE_NAME"), service);
	for (uint32_t i = 0; i < o->push_count; i++)
		send_to(&sending, i, &profile);
	if (!session)
		return 0;
	push_queue_settle(log, o);
	lost = queue.count + queue.dropped + queue.refused;
	log_warn_if(log, lost, "--push: # result{ was|s were} never taken by an engine");
	return lost;
}

/* ---- the parent ---- */

void push_queue_prepare(const struct options *o)
{
	if (!o->run.every || !o->push_count || queue.told)
		return;
	queue.told = mmap(NULL, sizeof(*queue.told) * OPTIONS_MAX_PUSHES, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (queue.told == MAP_FAILED)
		queue.told = NULL;
	for (uint32_t i = 0; i < o->push_count; i++)
		queue.left[i] = memfd_create("profile-push", MFD_CLOEXEC);
}

/* Reads a result that the child left. Returns false if there is none, or no memory for it. */
static bool read_left(uint32_t engine, struct push_body *body)
{
	const struct told *told = &queue.told[engine];

	if (!told->size || told->size > PUSH_QUEUE_BYTES || told->query_size > PUSH_QUEUE_BYTES)
		return false;
	*body = (struct push_body){.query = told->query_size ? malloc(told->query_size) : NULL,
				   .bytes = malloc(told->size),
				   .size = told->size};
	if (body->bytes && (body->query || !told->query_size) &&
	    (!told->query_size || pread(queue.left[engine], body->query, told->query_size, 0) ==
					  (ssize_t)told->query_size) &&
	    pread(queue.left[engine], body->bytes, told->size, (off_t)told->query_size) ==
		    (ssize_t)told->size)
		return true;
	push_body_release(body);
	return false;
}

/* Takes what the child tells about an engine. */
static void settle(struct log *log, uint32_t engine)
{
	struct told *told = &queue.told[engine];
	bool was_away = queue.retry_ns[engine] != 0;
	struct push_body body;

	for (uint32_t i = 0; i < told->taken && oldest_of(engine) < queue.count; i++)
		remove_at(oldest_of(engine));
	if (read_left(engine, &body))
		keep(engine, &body);
	else if (told->size)
		queue.dropped++;
	if (told->refused && !queue.refused)
		log_warn(log, "--push: a result was refused, and is lost, as later ones may be: %s",
			 told->why);
	queue.refused += told->refused;
	if (told->has_failed) {
		queue.retry_ns[engine] = monotonic_ns() + PUSH_QUEUE_PAUSE_NS;
		if (!was_away)
			log_warn(log,
				 "--push: a result was not taken: %s; it is kept, and later "
				 "ones, until the engine takes them",
				 told->why);
	} else if (told->has_tried) {
		queue.retry_ns[engine] = 0;
		if (was_away)
			log_line(log,
				 "--push: the engine takes results again; kept ones were sent");
	}
	*told = (struct told){0};
}

void push_queue_settle(struct log *log, const struct options *o)
{
	uint32_t dropped = queue.dropped;

	for (uint32_t i = 0; i < o->push_count && queue.told; i++)
		settle(log, i);
	if (queue.dropped && !dropped)
		log_warn(log,
			 "--push: more results are kept than fit into %u MiB: the oldest are "
			 "dropped",
			 PUSH_QUEUE_BYTES >> 20);
}
