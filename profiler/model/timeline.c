// SPDX-License-Identifier: MIT
#include "profiler/model/timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "symbolize/util/array.h"
#include "symbolize/util/file_io.h"
#include "symbolize/util/record_set.h"

enum {
	BUFFER_RECORDS = (1 << 20) / sizeof(struct timeline_record),
	CHUNK_RECORDS = (1 << 18) / sizeof(struct timeline_record),
};

_Static_assert(sizeof(struct timeline_shape) == 9 * sizeof(uint32_t), "no gaps");
_Static_assert(TIMELINE_KINDS <= 8, "a bit each");

struct timeline {
	int fd; /* -1: records are not kept */
	timeline_listener listener;
	void *listener_context;
	dev_t folder_device;
	int stopped; /* -errno if adding has stopped, else 0 */
	struct timeline_record *buffer;
	uint32_t buffered;
	uint64_t written; /* records in the file */
	struct timeline_limits limits;
	RECORD_SET(struct timeline_shape) shapes; /* numbered from 1 */
	uint32_t latest_shape;                    /* result of the last lookup */
	uint8_t *stacks;                          /* by stack id: kinds of its records, as bits */
	uint32_t stack_count, stack_capacity;
	uint32_t most_place;
	struct timeline_stats stats;
};

struct timeline_reader {
	const struct timeline *timeline;
	uint64_t next, first; /* `first` is the index of records[0] */
	uint32_t count;
	struct timeline_record records[CHUNK_RECORDS];
};

/* ---- start and end ---- */

/* Returns a descriptor or -errno. */
static int open_unnamed(const char *folder)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
	char *path;

	if (fd >= 0)
		return fd;
	/* not every file system supports O_TMPFILE */
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
	static const struct timeline_limits usual = {TIMELINE_RECORDS, TIMELINE_SHAPES};
	struct timeline *t = calloc(1, sizeof(*t));
	int err = ENOMEM;
	struct stat st;

	if (!t)
		return NULL;
	t->fd = -1;
	t->limits = limits ? *limits : usual;
	if (!folder)
		return t;
	t->buffer = malloc(BUFFER_RECORDS * sizeof(*t->buffer));
	if (!t->buffer)
		goto fail;
	t->fd = open_unnamed(folder);
	if (t->fd >= 0) {
		t->folder_device = stat(folder, &st) == 0 ? st.st_dev : 0;
		return t;
	}
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
	record_set_release(&t->shapes.set);
	free(t->stacks);
	free(t);
}

bool timeline_keeps(const struct timeline *t)
{
	return t->fd >= 0;
}

void timeline_listen(struct timeline *t, timeline_listener listener, void *context)
{
	t->listener = listener;
	t->listener_context = context;
}

struct timeline_stats timeline_stats(const struct timeline *t)
{
	struct timeline_stats stats = t->stats;

	stats.records = t->written + t->buffered;
	return stats;
}

uint32_t timeline_kinds_with_stack(const struct timeline *t, struct stack_id stack)
{
	return stack.number < t->stack_count ? t->stacks[stack.number] : 0;
}

/* ---- adding ---- */

static void count_loss(struct timeline *t, uint64_t *counter, uint64_t count, int err)
{
	if (!t->stats.error)
		t->stats.error = err;
	*counter += count;
}

/* Returns how much of `size` may be written, so that the file leaves as much room as it takes. */
static size_t allowed(const struct timeline *t, size_t size)
{
	uint64_t kept = t->written * sizeof(*t->buffer), room;
	struct statvfs fs;

	if (fstatvfs(t->fd, &fs) != 0 || fs.f_blocks == 0)
		return size; /* no known bounds */
	room = (uint64_t)fs.f_bavail * fs.f_frsize;
	room = room > kept ? (room - kept) / 2 : 0;
	return room < size ? (size_t)room : size;
}

/* Appends the records of the file `from`, as far as there is room. */
static void copy_file(struct timeline *t, int from, uint64_t records)
{
	while (t->written < records && !t->stopped) {
		uint64_t left = records - t->written, at = t->written * sizeof(*t->buffer);
		size_t part = left < BUFFER_RECORDS ? (size_t)left : BUFFER_RECORDS, done = 0;
		size_t size = part * sizeof(*t->buffer);

		if (allowed(t, size) < size)
			t->stopped = -ENOSPC;
		while (done < size && !t->stopped) {
			off_t begin = (off_t)(at + done);
			ssize_t n = copy_file_range(from, &begin, t->fd, NULL, size - done, 0);

			if (n > 0)
				done += (size_t)n;
			else if (n == 0 || errno != EINTR)
				t->stopped = n < 0 ? -errno : -EIO;
		}
		t->written += done / sizeof(*t->buffer);
	}
	if (t->written < records)
		count_loss(t, &t->stats.lost, records - t->written, t->stopped);
}

int timeline_part(struct timeline *t, const char *folder)
{
	int from = t->fd, fd = from < 0 ? 0 : open_unnamed(folder);
	uint64_t records = t->written;

	if (from < 0 || fd < 0)
		return fd;
	t->fd = fd;
	t->written = 0;
	copy_file(t, from, records);
	close(from);
	return 0;
}

/* Returns 0, or -errno if adding has stopped. */
static int write_buffer(struct timeline *t)
{
	size_t whole = t->buffered * sizeof(*t->buffer), size = allowed(t, whole);
	int err = write_exactly(t->fd, t->buffer, size);
	/* a partial record is never read */
	uint64_t written = (uint64_t)lseek(t->fd, 0, SEEK_CUR) / sizeof(*t->buffer);

	if (err || size < whole) {
		t->stopped = err ? err : -ENOSPC;
		count_loss(t, &t->stats.lost, t->written + t->buffered - written, t->stopped);
	}
	t->written = written;
	t->buffered = 0;
	return t->stopped;
}

/* Marks the record's stack as used. Returns 0 or -ENOMEM. */
static int note_stack(struct timeline *t, const struct timeline_record *record)
{
	if (!array_extend(&t->stacks, &t->stack_count, record->stack.number + 1, &t->stack_capacity,
			  1))
		return -ENOMEM;
	t->stacks[record->stack.number] |= (uint8_t)(1u << record->kind);
	return 0;
}

int timeline_add(struct timeline *t, const struct timeline_record *record)
{
	return timeline_add_launched(t, record, 0);
}

int timeline_add_launched(struct timeline *t, const struct timeline_record *record,
			  uint64_t launched_ns)
{
	int err = t->stopped;

	if (t->listener)
		t->listener(t->listener_context, record, launched_ns);
	if (t->fd < 0)
		return 0;
	if (!err && t->written + t->buffered >= t->limits.records)
		err = -E2BIG;
	if (!err)
		err = note_stack(t, record);
	if (err) {
		count_loss(t, &t->stats.lost, 1, err);
		return err;
	}
	if (record->place.number > t->most_place)
		t->most_place = record->place.number;
	t->buffer[t->buffered++] = *record;
	return t->buffered < BUFFER_RECORDS ? 0 : write_buffer(t);
}

bool timeline_give_room(struct timeline *t, int beside)
{
	uint64_t kept = t->written / 4;
	struct stat ours, other;

	if (t->written == 0 || fstat(t->fd, &ours) != 0 || fstat(beside, &other) != 0 ||
	    /* in overlays, devices of files and folders may differ */
	    (other.st_dev != ours.st_dev && other.st_dev != t->folder_device) ||
	    ftruncate(t->fd, (off_t)(kept * sizeof(*t->buffer))) != 0)
		return false;
	count_loss(t, &t->stats.lost, t->written - kept, -ENOSPC);
	t->written = kept;
	return true;
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
	hash_index_release(&t->shapes.set.index);
	return err;
}

/* ---- shapes ---- */

uint32_t timeline_number_shape(struct timeline *t, const struct timeline_shape *shape)
{
	static const struct timeline_shape none;
	uint32_t at = t->latest_shape;
	bool is_full;

	if (at < t->shapes.count && memcmp(&t->shapes.list[at], shape, sizeof(*shape)) == 0)
		return at + 1;
	if (t->stopped || memcmp(shape, &none, sizeof(none)) == 0)
		return 0;
	at = record_find(&t->shapes, shape);
	is_full = t->shapes.count >= t->limits.shapes;
	if (at == RECORD_NONE && !is_full)
		at = record_add(&t->shapes, shape, shape);
	if (at == RECORD_NONE) {
		count_loss(t, &t->stats.lost_shapes, 1, is_full ? -E2BIG : -ENOMEM);
		return 0;
	}
	t->latest_shape = at;
	return at + 1;
}

const struct timeline_shape *timeline_shape(const struct timeline *t, uint32_t shape)
{
	return shape > 0 && shape <= t->shapes.count ? &t->shapes.list[shape - 1] : NULL;
}

/* ---- reading ---- */

static bool is_ours(const struct timeline *t, const struct timeline_record *r)
{
	return r->kind < TIMELINE_KINDS && timeline_kinds_with_stack(t, r->stack) & 1u << r->kind &&
	       r->place.number <= t->most_place && r->shape <= t->shapes.count;
}

static int read_records(const struct timeline *t, uint64_t first, uint32_t count,
			struct timeline_record *records)
{
	int err = read_exactly(t->fd, records, count * sizeof(*records), first * sizeof(*records));

	for (uint32_t i = 0; i < count && !err; i++)
		err = is_ours(t, &records[i]) ? 0 : -EIO;
	return err;
}

int timeline_read(const struct timeline *t, uint64_t first, uint32_t count,
		  struct timeline_record *records)
{
	if (first > t->written || count > t->written - first)
		return -EINVAL;
	return read_records(t, first, count, records);
}

static int rewrite(struct timeline *t, uint64_t first, uint32_t count,
		   const struct timeline_record *records)
{
	if (lseek(t->fd, (off_t)(first * sizeof(*records)), SEEK_SET) < 0)
		return -errno;
	return write_exactly(t->fd, records, count * sizeof(*records));
}

int timeline_move(struct timeline *t,
		  uint64_t (*move)(void *context, const struct timeline_record *record),
		  void *context)
{
	struct timeline_record *records = malloc(CHUNK_RECORDS * sizeof(*records));
	int err = records ? 0 : -ENOMEM;

	for (uint64_t first = 0; !err && first < t->written; first += CHUNK_RECORDS) {
		uint64_t rest = t->written - first;
		uint32_t count = rest < CHUNK_RECORDS ? (uint32_t)rest : CHUNK_RECORDS;

		err = read_records(t, first, count, records);
		for (uint32_t i = 0; !err && i < count; i++)
			records[i].start_ns = move(context, &records[i]);
		if (!err)
			err = rewrite(t, first, count, records);
	}
	free(records);
	return err;
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

int timeline_reader_next(struct timeline_reader *r, const struct timeline_record **record)
{
	uint64_t all = r->timeline->written;

	if (r->next >= all)
		return 0;
	if (r->next - r->first >= r->count) {
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
