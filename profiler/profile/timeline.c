// SPDX-License-Identifier: MIT
#include "profiler/profile/timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "symbolize/array.h"
#include "symbolize/hash_index.h"

enum {
	BUFFER_RECORDS = (1 << 20) / sizeof(struct timeline_record),
	CHUNK_RECORDS = (1 << 18) / sizeof(struct timeline_record),
};

_Static_assert(sizeof(struct timeline_place) == 5 * sizeof(uint32_t), "words alone");
_Static_assert(sizeof(struct timeline_shape) == 9 * sizeof(uint32_t), "words alone");

/* Distinct values of a few words each, by number. */
struct distinct {
	uint32_t *words;
	uint32_t words_each;
	uint32_t count, capacity, limit;
	uint32_t latest; /* the one that was looked up last */
	struct hash_index index;
};

struct timeline {
	int fd;
	int stopped; /* 0, or why nothing is added any more: -errno */
	struct timeline_record *buffer;
	uint32_t buffered;
	uint64_t written; /* records in the file */
	uint64_t limit;
	struct distinct places, shapes;
	uint64_t seed; /* so that programs cannot choose values that collide */
	struct timeline_stats stats;
};

struct timeline_reader {
	const struct timeline *timeline;
	uint64_t next, first; /* `first` is the number of the first record in `records` */
	uint32_t count;
	struct timeline_record records[CHUNK_RECORDS];
};

/* ---- distinct values ---- */

static bool has_words(const struct distinct *d, uint32_t number, const uint32_t *words)
{
	return memcmp(d->words + (size_t)number * d->words_each, words,
		      d->words_each * sizeof(*words)) == 0;
}

static bool is_sought(const void *records, uint32_t number, const void *words)
{
	return has_words(records, number, words);
}

static uint32_t hash_words(uint64_t seed, const uint32_t *words, uint32_t count)
{
	uint64_t hash = seed;

	for (uint32_t i = 0; i < count; i++) {
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 32;
	}
	return (uint32_t)hash;
}

/* The number of `value`, which may be new. 0, -E2BIG or -ENOMEM. */
static int get_number(struct distinct *d, uint64_t seed, const void *value, uint32_t *number)
{
	const uint32_t *words = value;
	uint32_t hash;

	*number = d->latest;
	if (d->latest < d->count && has_words(d, d->latest, words))
		return 0;
	hash = hash_words(seed, words, d->words_each);
	*number = hash_index_find(&d->index, hash, is_sought, d, words);
	if (*number != HASH_INDEX_NONE) {
		d->latest = *number;
		return 0;
	}
	if (d->count >= d->limit)
		return -E2BIG;
	if (!array_make_room(&d->words, d->count, &d->capacity,
			     d->words_each * sizeof(*d->words)) ||
	    hash_index_add(&d->index, hash, d->count) != 0)
		return -ENOMEM;
	memcpy(d->words + (size_t)d->count * d->words_each, words, d->words_each * sizeof(*words));
	d->latest = *number = d->count++;
	return 0;
}

/* ---- start and end ---- */

/* A descriptor or -errno. */
static int open_unnamed(const char *folder)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
	char *path;

	if (fd >= 0)
		return fd;
	/* not every file system makes files without names */
	if (asprintf(&path, "%s/.profile-timeline-XXXXXX", folder) < 0)
		return -ENOMEM;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0) {
		fd = -errno;
	} else if (unlink(path) != 0) {
		int err = -errno;

		close(fd);
		fd = err;
	}
	free(path);
	return fd;
}

struct timeline *timeline_new(const char *folder, const struct timeline_limits *limits)
{
	static const struct timeline_limits usual = {TIMELINE_RECORDS, TIMELINE_PLACES,
						     TIMELINE_SHAPES};
	struct timeline *t = calloc(1, sizeof(*t));
	int err = ENOMEM;

	if (!t)
		return NULL;
	if (!limits)
		limits = &usual;
	t->fd = -1;
	t->limit = limits->records;
	t->places.limit = limits->places;
	t->places.words_each = sizeof(struct timeline_place) / sizeof(uint32_t);
	t->shapes.limit = limits->shapes;
	t->shapes.words_each = sizeof(struct timeline_shape) / sizeof(uint32_t);
	t->buffer = malloc(BUFFER_RECORDS * sizeof(*t->buffer));
	if (!t->buffer)
		goto fail;
	if (getrandom(&t->seed, sizeof(t->seed), GRND_NONBLOCK) != sizeof(t->seed))
		t->seed = (uintptr_t)t; /* early after boot: better than nothing */
	t->fd = open_unnamed(folder);
	if (t->fd >= 0)
		return t;
	err = -t->fd;
fail:
	timeline_free(t);
	errno = err;
	return NULL;
}

void timeline_free(struct timeline *t)
{
	if (!t)
		return;
	if (t->fd >= 0)
		close(t->fd);
	free(t->buffer);
	free(t->places.words);
	free(t->shapes.words);
	hash_index_release(&t->places.index);
	hash_index_release(&t->shapes.index);
	free(t);
}

struct timeline_stats timeline_stats(const struct timeline *t)
{
	struct timeline_stats stats = t->stats;

	stats.records = t->written + t->buffered;
	return stats;
}

/* ---- adding ---- */

static void count_loss(struct timeline *t, uint64_t *counter, uint64_t count, int err)
{
	if (!t->stats.error)
		t->stats.error = err;
	*counter += count;
}

/* 0, or -errno: then there will be no more. */
static int write_buffer(struct timeline *t)
{
	const char *bytes = (const char *)t->buffer;
	size_t size = t->buffered * sizeof(*t->buffer), done = 0;
	uint32_t kept;

	while (done < size) {
		ssize_t n = write(t->fd, bytes + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			t->stopped = n < 0 ? -errno : -EIO;
			break;
		}
		done += (size_t)n;
	}
	kept = (uint32_t)(done / sizeof(*t->buffer)); /* what is cut is never read */
	t->written += kept;
	if (kept < t->buffered)
		count_loss(t, &t->stats.lost, t->buffered - kept, t->stopped);
	t->buffered = 0;
	return t->stopped;
}

/* The number of the event's shape, 0 where it has none. */
static uint32_t get_shape(struct timeline *t, const struct timeline_shape *shape)
{
	static const struct timeline_shape none;
	uint32_t number;
	int err;

	if (memcmp(shape, &none, sizeof(none)) == 0)
		return 0;
	err = get_number(&t->shapes, t->seed, shape, &number);
	if (!err)
		return number + 1;
	count_loss(t, &t->stats.lost_shapes, 1, err);
	return 0;
}

int timeline_add(struct timeline *t, const struct timeline_event *event)
{
	uint32_t place = 0;
	int err = t->stopped;

	if (!err && t->written + t->buffered >= t->limit)
		err = -E2BIG;
	if (!err)
		err = get_number(&t->places, t->seed, &event->place, &place);
	if (err) {
		count_loss(t, &t->stats.lost, 1, err);
		return err;
	}
	t->buffer[t->buffered++] = (struct timeline_record){.start_ns = event->start_ns,
							    .duration_ns = event->duration_ns,
							    .graph_node = event->graph_node,
							    .bytes = event->bytes,
							    .place = place,
							    .shape = get_shape(t, &event->shape),
							    .stack = event->stack,
							    .correlation = event->correlation,
							    .name = event->name,
							    .kind = (uint8_t)event->kind};
	return t->buffered < BUFFER_RECORDS ? 0 : write_buffer(t);
}

int timeline_finish(struct timeline *t)
{
	int err = 0;

	if (t->buffered > 0)
		err = write_buffer(t);
	if (!t->stopped)
		t->stopped = -ESHUTDOWN;
	free(t->buffer);
	t->buffer = NULL;
	hash_index_release(&t->places.index);
	hash_index_release(&t->shapes.index);
	return err;
}

/* ---- reading ---- */

static bool is_ours(const struct timeline *t, const struct timeline_record *r)
{
	return r->place < t->places.count && r->shape <= t->shapes.count &&
	       r->kind < TIMELINE_KINDS;
}

/* All of `count` records, or -errno. */
static int read_records(const struct timeline *t, uint64_t first, uint32_t count,
			struct timeline_record *records)
{
	size_t size = count * sizeof(*records), done = 0;

	while (done < size) {
		ssize_t n = pread(t->fd, (char *)records + done, size - done,
				  (off_t)(first * sizeof(*records) + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	for (uint32_t i = 0; i < count; i++)
		if (!is_ours(t, &records[i]))
			return -EIO;
	return 0;
}

int timeline_read(const struct timeline *t, uint64_t number, struct timeline_record *record)
{
	if (number >= t->written)
		return -EINVAL;
	return read_records(t, number, 1, record);
}

struct timeline_reader *timeline_reader_new(const struct timeline *t)
{
	struct timeline_reader *r = malloc(sizeof(*r));

	if (!r)
		return NULL;
	r->timeline = t;
	r->next = 0;
	r->first = 0;
	r->count = 0;
	return r;
}

void timeline_reader_free(struct timeline_reader *r)
{
	free(r);
}

void timeline_reader_seek(struct timeline_reader *r, uint64_t number)
{
	r->next = number;
}

int timeline_reader_next(struct timeline_reader *r, const struct timeline_record **record)
{
	uint64_t all = r->timeline->written;

	if (r->next >= all)
		return 0;
	if (r->next < r->first || r->next - r->first >= r->count) {
		uint32_t count =
			all - r->next < CHUNK_RECORDS ? (uint32_t)(all - r->next) : CHUNK_RECORDS;
		int err = read_records(r->timeline, r->next, count, r->records);

		r->first = r->next;
		r->count = err ? 0 : count;
		if (err)
			return err;
	}
	*record = &r->records[r->next++ - r->first];
	return 1;
}

const struct timeline_place *timeline_place(const struct timeline *t, uint32_t place)
{
	if (place >= t->places.count)
		return NULL;
	return (const struct timeline_place *)t->places.words + place;
}

uint32_t timeline_places(const struct timeline *t)
{
	return t->places.count;
}

const struct timeline_shape *timeline_shape(const struct timeline *t, uint32_t shape)
{
	if (shape == 0 || shape > t->shapes.count)
		return NULL;
	return (const struct timeline_shape *)t->shapes.words + (shape - 1);
}
