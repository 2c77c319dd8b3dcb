/* SPDX-License-Identifier: MIT */
#include "symbolize/jitdump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "symbolize/jit_frames.h"
#include "symbolize/util/array.h"
#include "symbolize/util/file_io.h"
#include "symbolize/util/record_set.h"
#include "symbolize/util/text.h"

#define MAGIC 0x4a695444 /* "JiTD" in big endian, as written by a little endian machine */
#define VERSION 1
#define FLAG_PROCESSOR_CLOCK 1
#define MACHINE_X86_64 62 /* EM_X86_64 */

enum { RECORD_LOAD, RECORD_MOVE, RECORD_DEBUG_INFO, RECORD_CLOSE, RECORD_UNWINDING };

struct header {
	uint32_t magic, version, size, machine, pad, pid;
	uint64_t time, flags;
};

struct record {
	uint32_t type, size; /* `size`: of the whole record */
	uint64_t time;
};

/* Followed by the name with its NUL, then the code. */
struct load {
	struct record record;
	uint32_t pid, tid;
	uint64_t address, start, size, index; /* `address`: in an ELF file; `start`: in memory */
};

struct move {
	struct record record;
	uint32_t pid, tid;
	uint64_t address, from, to, size, index;
};

/* Followed by the data. */
struct unwinding {
	struct record record;
	uint64_t size, header_size, mapped_size;
};

_Static_assert(sizeof(struct header) == 40 && sizeof(struct record) == 16 &&
		       sizeof(struct load) == 56 && sizeof(struct move) == 64 &&
		       sizeof(struct unwinding) == 40,
	       "as in files");

#define WINDOW 65536 /* bytes read at once: fits the start of a record and a name */
#define NONE UINT32_MAX
#define STEPS_PER_COST 4 /* steps that cost as much as a byte of a program (cfi_row) */

struct code {
	uint64_t start, end;
	uint32_t name;       /* offset in `names` */
	uint32_t frames;     /* index in `frames`; NONE: not described */
	uint32_t generation; /* generation that the code began; 0: none, as no code was there;
				JITDUMP_LATEST: too many */
	uint64_t time;
};

/* Page of memory, with links to its code, newest first. */
struct page {
	uint64_t number;
	uint32_t newest; /* index in `links` */
};

struct link {
	uint32_t code, older;
};

struct jitdump {
	bool has_header, is_over, has_times, has_frames;
	uint64_t offset; /* offset of the next record */
	uint64_t time;
	struct code *codes;
	uint32_t code_count, code_capacity;
	uint32_t *began; /* code that began each generation, by generation - 1 */
	uint32_t began_count, began_capacity;
	RECORD_SET(struct page) pages;
	struct link *links;
	uint32_t link_count, link_capacity;
	char *names;
	uint32_t name_bytes, name_capacity;
	struct jit_frames **frames;
	uint32_t frames_count, frames_capacity;
	uint64_t frames_bytes;
	struct jit_frames *pending; /* information for the next code; NULL: none */
	uint32_t pending_at; /* index of `pending` in `frames`; NONE: it describes nothing yet */
	struct quota_share *pending_share; /* gave its memory; NULL: that of an earlier read */
	uint64_t refused_frames;
};

/* Cost of elements in arrays, which double. */
#define CODE_COST (2 * (sizeof(struct code) + sizeof(uint32_t)))
#define LINK_COST (2 * (sizeof(struct link) + sizeof(struct page)) + HASH_INDEX_ENTRY_BYTES)

struct jitdump *jitdump_new(void)
{
	return calloc(1, sizeof(struct jitdump));
}

/* Ends `pending`: frees it if it described nothing. */
static void drop_pending(struct jitdump *d)
{
	if (d->pending && d->pending_at == NONE) {
		d->refused_frames++;
		d->frames_bytes -= jit_frames_bytes(d->pending);
		quota_share_return(d->pending_share, jit_frames_bytes(d->pending));
		jit_frames_free(d->pending);
	}
	d->pending = NULL;
}

void jitdump_free(struct jitdump *d)
{
	if (!d)
		return;
	drop_pending(d);
	for (uint32_t i = 0; i < d->frames_count; i++)
		jit_frames_free(d->frames[i]);
	free(d->frames);
	free(d->codes);
	free(d->began);
	record_set_release(&d->pages.set);
	free(d->links);
	free(d->names);
	free(d);
}

/* ---- pages ---- */

#define PAGE_SHIFT 12

static uint32_t find_page(const struct jitdump *d, uint64_t number)
{
	return record_find(&d->pages, &number);
}

static uint32_t newest_on(const struct jitdump *d, uint64_t address)
{
	uint32_t page = find_page(d, address >> PAGE_SHIFT);

	return page == RECORD_NONE ? NONE : d->pages.list[page].newest;
}

/* Links the code to its pages. Returns 0, -ENOSPC or -ENOMEM. */
static int link_code(struct jitdump *d, uint32_t code, struct quota_share *share)
{
	uint64_t first = d->codes[code].start >> PAGE_SHIFT;
	uint64_t last = (d->codes[code].end - 1) >> PAGE_SHIFT;

	if (last - first >= JITDUMP_MAX_PAGES)
		last = first + JITDUMP_MAX_PAGES - 1;
	for (uint64_t number = first; number <= last; number++) {
		uint32_t page;

		if (!quota_share_take(share, LINK_COST))
			return -ENOSPC;
		page = record_get(&d->pages, &number, &((struct page){number, NONE}));
		if (page == RECORD_NONE || !array_make_room(&d->links, d->link_count,
							    &d->link_capacity, sizeof(*d->links)))
			return -ENOMEM;
		d->links[d->link_count] = (struct link){code, d->pages.list[page].newest};
		d->pages.list[page].newest = d->link_count++;
	}
	return 0;
}

/* Returns whether code was in the range before. */
static bool is_used(const struct jitdump *d, uint64_t start, uint64_t end)
{
	unsigned int steps = 0;

	for (uint64_t number = start >> PAGE_SHIFT; number <= (end - 1) >> PAGE_SHIFT; number++) {
		for (uint32_t at = newest_on(d, number << PAGE_SHIFT); at != NONE;
		     at = d->links[at].older) {
			const struct code *code = &d->codes[d->links[at].code];

			if (code->start < end && code->end > start)
				return true;
			if (++steps == JITDUMP_MAX_STEPS)
				return false;
		}
		if (++steps == JITDUMP_MAX_STEPS)
			return false;
	}
	return false;
}

/* ---- reading ---- */

struct input {
	int fd;
	struct quota_share *share;
};

static int add_name(struct jitdump *d, const char *text, size_t length, struct quota_share *share,
		    uint32_t *name)
{
	if (!quota_share_take(share, 2 * (length + 1)) ||
	    d->name_bytes > UINT32_MAX - PERF_MAP_MAX_NAME)
		return -ENOSPC;
	if (!array_reserve(&d->names, d->name_bytes, (uint32_t)length + 1, &d->name_capacity, 1))
		return -ENOMEM;
	*name = d->name_bytes;
	memcpy(d->names + *name, text, length);
	d->names[*name + length] = '\0';
	clean_text(d->names + *name);
	d->name_bytes += (uint32_t)length + 1;
	return 0;
}

static int add_code(struct jitdump *d, uint64_t start, uint64_t size, uint32_t name,
		    uint32_t frames, struct quota_share *share)
{
	struct code code = {.start = start,
			    .end = start + size,
			    .name = name,
			    .frames = frames,
			    .time = d->time};

	if (size == 0 || code.end < start)
		return 0;
	if (d->code_count == JITDUMP_MAX_CODES || !quota_share_take(share, CODE_COST))
		return -ENOSPC;
	if (!array_make_room(&d->codes, d->code_count, &d->code_capacity, sizeof(*d->codes)) ||
	    !array_make_room(&d->began, d->began_count, &d->began_capacity, sizeof(*d->began)))
		return -ENOMEM;
	if (is_used(d, code.start, code.end)) {
		code.generation = d->began_count + 1;
		if (code.generation < JITDUMP_LATEST)
			d->began[d->began_count++] = d->code_count;
	}
	d->codes[d->code_count] = code;
	return link_code(d, d->code_count++, share);
}

/* Returns the next older code at `address` from link `*at` on, or NULL; counts down `*left` steps.
 */
static const struct code *next_at(const struct jitdump *d, uint64_t address, uint32_t *at,
				  unsigned int *left)
{
	while (*at != NONE && *left > 0) {
		const struct code *code = &d->codes[d->links[*at].code];

		(*left)--;
		*at = d->links[*at].older;
		if (code->start <= address && address < code->end)
			return code;
	}
	return NULL;
}

/*
 * Finds the index in `frames` of a code's information; NONE: there is none. Information behind code
 * is for the first code that follows. Information with an absolute address is for all code that it
 * describes.
 */
static uint32_t frames_of(struct jitdump *d, uint64_t start, uint64_t size)
{
	const struct jit_range code = {start, size};
	uint32_t found = NONE;

	if (!d->pending)
		return NONE;
	if (jit_frames_describe(d->pending, &code)) {
		if (d->pending_at == NONE &&
		    array_make_room(&d->frames, d->frames_count, &d->frames_capacity,
				    sizeof(*d->frames))) {
			d->pending_at = d->frames_count;
			d->frames[d->frames_count++] = d->pending;
		}
		found = d->pending_at;
	}
	if (!jit_frames_are_placed(d->pending))
		drop_pending(d);
	return found;
}

static int on_load(struct jitdump *d, const char *bytes, size_t have, struct quota_share *share)
{
	struct load load;
	size_t length;
	uint32_t name, frames;
	int err;

	if (have < sizeof(load))
		return -ENOEXEC;
	memcpy(&load, bytes, sizeof(load));
	frames = frames_of(d, load.start, load.size);
	length = strnlen(bytes + sizeof(load), have - sizeof(load));
	if (length == have - sizeof(load) && length < PERF_MAP_MAX_NAME)
		return -ENOEXEC; /* the name has no NUL */
	if (length > PERF_MAP_MAX_NAME)
		length = PERF_MAP_MAX_NAME;
	err = add_name(d, bytes + sizeof(load), length, share, &name);
	return err ? err : add_code(d, load.start, load.size, name, frames, share);
}

/* Returns the call-frame information that code keeps when all of it moves; NONE: there is none. */
static uint32_t frames_moved(const struct jitdump *d, const struct code *code,
			     const struct move *move)
{
	if (code->frames == NONE || move->from != code->start ||
	    move->size != code->end - code->start || jit_frames_are_placed(d->frames[code->frames]))
		return NONE;
	return code->frames;
}

static int on_move(struct jitdump *d, const char *bytes, size_t have, struct quota_share *share)
{
	unsigned int left = JITDUMP_MAX_STEPS;
	const struct code *code;
	struct move move;
	uint32_t at;

	if (have < sizeof(move))
		return -ENOEXEC;
	memcpy(&move, bytes, sizeof(move));
	at = newest_on(d, move.from);
	code = next_at(d, move.from, &at, &left);
	return code ? add_code(d, move.to, move.size, code->name, frames_moved(d, code, &move),
			       share)
		    : 0;
}

/* Reads `size` bytes of data at `offset` of the file. */
static int read_data(struct jitdump *d, const struct input *in, uint64_t offset, size_t size,
		     uint64_t header_size)
{
	uint8_t *data = malloc(size + 1);
	int err = data ? read_exactly(in->fd, data, size, offset) : -ENOMEM;

	if (!err)
		err = jit_frames_read(data, size, header_size, in->share, &d->pending);
	free(data);
	return err;
}

/* Reads call-frame information for the next code. Counts unusable records. */
static void on_unwinding(struct jitdump *d, const struct record *record, const char *bytes,
			 size_t have, const struct input *in)
{
	struct unwinding unwinding = {0};
	int err;

	drop_pending(d);
	d->pending_at = NONE;
	if (!d->has_frames)
		return;
	if (have >= sizeof(unwinding))
		memcpy(&unwinding, bytes, sizeof(unwinding));
	if (have < sizeof(unwinding) || unwinding.size > record->size - sizeof(unwinding))
		err = -EBADMSG;
	else if (unwinding.size > JIT_FRAMES_MAX_RECORD ||
		 d->frames_bytes + unwinding.size > JIT_FRAMES_MAX_BYTES)
		err = -ENOSPC;
	else if (unwinding.size <= have - sizeof(unwinding))
		err = jit_frames_read((const uint8_t *)bytes + sizeof(unwinding),
				      (size_t)unwinding.size, unwinding.header_size, in->share,
				      &d->pending);
	else
		err = read_data(d, in, d->offset + sizeof(unwinding), (size_t)unwinding.size,
				unwinding.header_size);
	d->refused_frames += err != 0;
	d->pending_share = in->share;
	if (d->pending)
		d->frames_bytes += jit_frames_bytes(d->pending);
}

/* Handles a record, of which the first `have` bytes are in memory. */
static int on_record(struct jitdump *d, const struct record *record, const char *bytes, size_t have,
		     const struct input *in)
{
	if (record->time > d->time)
		d->time = record->time; /* several threads write; nearly in order */
	switch (record->type) {
	case RECORD_LOAD:
		return on_load(d, bytes, have, in->share);
	case RECORD_MOVE:
		return on_move(d, bytes, have, in->share);
	case RECORD_UNWINDING:
		on_unwinding(d, record, bytes, have, in);
		break;
	case RECORD_CLOSE:
		d->is_over = true;
	}
	return 0; /* records of other kinds are irrelevant here */
}

/*
 * Reads the records that begin in the window at d->offset. Returns 0, -errno, or 1 if the last one
 * is incomplete.
 */
static int read_time_range(struct jitdump *d, const char *window, size_t size, uint64_t file_size,
			   const struct input *in)
{
	size_t at = 0;

	while (!d->is_over && size - at >= sizeof(struct record)) {
		struct record record;
		size_t have = size - at;
		int err;

		memcpy(&record, window + at, sizeof(record));
		if (record.size < sizeof(record))
			return -ENOEXEC;
		if (record.size > file_size - d->offset)
			return 1;
		if (have > record.size)
			have = record.size;
		/* cut at its beginning: the next window begins with it */
		if (at > 0 && have < record.size && have < sizeof(struct load) + PERF_MAP_MAX_NAME)
			return 0;
		err = on_record(d, &record, window + at, have, in);
		if (err)
			return err;
		d->offset += record.size;
		if (record.size > size - at)
			return 0;
		at += record.size;
	}
	return at > 0 || d->is_over ? 0 : 1;
}

static int read_header(struct jitdump *d, int fd)
{
	struct header header;

	if (read_exactly(fd, &header, sizeof(header), 0) != 0 || header.magic != MAGIC ||
	    header.version != VERSION || header.size < sizeof(header))
		return -ENOEXEC;
	d->offset = header.size;
	d->has_times = !(header.flags & FLAG_PROCESSOR_CLOCK);
	d->has_frames = header.machine == MACHINE_X86_64;
	d->has_header = true;
	return 0;
}

static int read_records(struct jitdump *d, const struct input *in, uint64_t file_size)
{
	char *window = malloc(WINDOW);
	int err = window ? 0 : -ENOMEM;

	while (!err && !d->is_over && d->offset < file_size) {
		uint64_t left = file_size - d->offset;
		size_t size = left < WINDOW ? (size_t)left : WINDOW;

		err = d->offset + size > JITDUMP_MAX_BYTES
			      ? -ENOSPC
			      : read_exactly(in->fd, window, size, d->offset);
		if (!err)
			err = read_time_range(d, window, size, file_size, in);
	}
	free(window);
	return err == 1 ? 0 : err;
}

int jitdump_read(struct jitdump *d, int fd, struct quota_share *share)
{
	const struct input in = {fd, share};
	struct stat st;
	int err = 0;

	if (d->is_over)
		return 0;
	if (fstat(fd, &st) != 0)
		return -errno;
	if (!d->has_header && (uint64_t)st.st_size < sizeof(struct header))
		return 0; /* not written yet */
	if (!d->has_header)
		err = read_header(d, fd);
	if (!err)
		err = read_records(d, &in, (uint64_t)st.st_size);
	d->is_over |= err != 0;
	d->pending_share = NULL;
	return err;
}

/* ---- lookups ---- */

bool jitdump_is_behind(const struct jitdump *d, uint64_t time_ns)
{
	return !d->is_over && (d->time < time_ns || !d->has_times);
}

uint64_t jitdump_refused_frames(const struct jitdump *d)
{
	return d->refused_frames;
}

/* Returns the newest generation that code at the byte began by then. Counts its steps. */
static uint32_t generation_of_byte(const struct jitdump *d, uint64_t address, uint64_t time_ns,
				   unsigned int *steps)
{
	unsigned int left = JITDUMP_MAX_STEPS;
	uint32_t at = newest_on(d, address);
	const struct code *code;

	do
		code = next_at(d, address, &at, &left);
	while (code && (!code->generation || code->time > time_ns));
	*steps += JITDUMP_MAX_STEPS - left;
	return code ? code->generation : 0;
}

static bool has_latest_only(const struct jitdump *d)
{
	return d->has_header && !d->has_times;
}

uint32_t jitdump_generation(const struct jitdump *d, uint64_t address, uint64_t time_ns)
{
	uint32_t here, before;
	unsigned int steps = 0;

	if (has_latest_only(d))
		return JITDUMP_LATEST;
	here = generation_of_byte(d, address, time_ns, &steps);
	before = address > 0 ? generation_of_byte(d, address - 1, time_ns, &steps) : 0;
	return here > before ? here : before;
}

/* Finds the code at `address` in a generation; NULL: there is none. Counts its steps. */
static const struct code *find_code(const struct jitdump *d, uint64_t address, uint32_t generation,
				    unsigned int *steps)
{
	uint32_t last =
		generation == 0 || generation > d->began_count ? 0 : d->began[generation - 1];
	const struct code *oldest = NULL, *code;
	unsigned int left = JITDUMP_MAX_STEPS;
	uint32_t at = newest_on(d, address);

	while ((code = next_at(d, address, &at, &left))) {
		oldest = code;
		if (generation > d->began_count || (generation && code - d->codes <= last))
			break;
	}
	*steps += JITDUMP_MAX_STEPS - left;
	return oldest;
}

const char *jitdump_find(const struct jitdump *d, uint64_t address, uint32_t generation)
{
	unsigned int steps = 0;
	const struct code *code = find_code(d, address, generation, &steps);
	const char *name = code ? d->names + code->name : "";

	return name[0] ? name : NULL;
}

int jitdump_find_row(const struct jitdump *d, uint64_t address, uint64_t time_ns,
		     struct cfi_row *row)
{
	uint32_t generation = JITDUMP_LATEST;
	const struct code *code;
	struct jit_range range;
	unsigned int steps = 0;
	int err = -ENOENT;

	row->cost = 0;
	if (d->frames_count == 0)
		return -ENOENT;
	if (!has_latest_only(d))
		generation = generation_of_byte(d, address, time_ns, &steps);
	code = find_code(d, address, generation, &steps);
	if (code && code->frames != NONE) {
		range = (struct jit_range){code->start, code->end - code->start};
		err = jit_frames_find_row(d->frames[code->frames], &range, address, row);
	}
	row->cost += steps / STEPS_PER_COST;
	return err;
}
