/* SPDX-License-Identifier: MIT */
#include "symbolize/moved_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "symbolize/elf_file.h"
#include "symbolize/text_pages.h"
#include "symbolize/util/array.h"
#include "symbolize/util/bounded_call.h"
#include "symbolize/util/file_io.h"
#include "symbolize/util/sorted.h"
#include "symbolize/util/table_quota.h"

#define PAGE TEXT_PAGE
#define ADDRESS_END (UINT64_C(1) << 56) /* end of user addresses */
#define COMPARED_MAX 16u                /* segments of one file that may contain an address */
#define SHOWN_MAX 16u                   /* segments that one mapping may show */

/* ---- candidates: near mappings ---- */

struct maps_line *moved_text_read_lines(char *text, uint32_t *count)
{
	struct maps_line *lines = NULL, line;
	const char *permissions;
	uint32_t capacity = 0;

	*count = 0;
	if (!array_make_room(&lines, 0, &capacity, sizeof(*lines)))
		return NULL;
	while (maps_next_any(&text, &line.mapping, &permissions)) {
		line.is_executable = permissions[2] == 'x';
		line.is_of_file = !modules_is_memory(line.mapping.path, line.mapping.inode) &&
				  strncmp(permissions, "---", 3) != 0;
		if (!array_make_room(&lines, *count, &capacity, sizeof(*lines))) {
			free(lines);
			return NULL;
		}
		lines[(*count)++] = line;
	}
	return lines;
}

static bool is_same_file(const struct maps_line *a, const struct maps_line *b)
{
	return a->mapping.inode == b->mapping.inode &&
	       a->mapping.dev_major == b->mapping.dev_major &&
	       a->mapping.dev_minor == b->mapping.dev_minor &&
	       strcmp(a->mapping.path, b->mapping.path) == 0;
}

/*
 * Returns the next line of another file than that of lines[at], in steps of `step`; NULL: there is
 * none.
 */
static const struct maps_line *next_file(const struct maps_line *lines, uint32_t count, uint32_t at,
					 int step)
{
	int64_t i = (int64_t)at + step;

	for (uint32_t n = 0; n < MOVED_TEXT_LINES && i >= 0 && i < (int64_t)count; n++, i += step)
		if (lines[i].is_of_file && !is_same_file(&lines[i], &lines[at]))
			return &lines[i];
	return NULL;
}

/*
 * Chooses by position. A later part of a file has its earlier parts before it. So text before a
 * later part is of that file. Text before the beginning of a file is of the file before.
 */
const struct maps_line *moved_text_near_line(const struct maps_line *lines, uint32_t count,
					     uint32_t at)
{
	const struct maps_line *before = next_file(lines, count, at, -1);
	const struct maps_line *behind = next_file(lines, count, at, 1);

	if (lines[at].is_of_file)
		return before && behind && is_same_file(before, behind) ? before : NULL;
	return behind && behind->mapping.file_offset > 0 ? behind : before;
}

void moved_text_set_near(struct map_entry *entry, const struct map_entry *near)
{
	entry->near_module = near->module & 0xffffff;
	entry->near_start = near->start;
	entry->near_end = near->end;
	entry->near_offset = near->file_offset;
}

static struct map_entry near_of(const struct map_entry *entry)
{
	return (struct map_entry){.start = entry->near_start,
				  .end = entry->near_end,
				  .file_offset = entry->near_offset,
				  .module = entry->near_module};
}

void moved_text_expect(const struct map_table *maps, struct map_entry *entry)
{
	const struct map_entry *before = NULL, *behind = NULL;
	struct map_entry near;
	uint32_t at = map_table_position(maps, entry->start);

	if (entry->near_module)
		return;
	if (at > 0)
		before = &maps->entries[at - 1];
	for (; at < maps->count && maps->entries[at].start < entry->end; at++) {
		const struct map_entry *old = &maps->entries[at];

		if (old->module >= MODULES_FIRST && old->module != entry->module) {
			moved_text_set_near(entry, old);
			return;
		}
		if (old->near_module && !entry->near_module) {
			near = near_of(old);
			moved_text_set_near(entry, &near);
		}
	}
	if (at < maps->count)
		behind = &maps->entries[at];
	if (!entry->near_module && before && behind && before->module == behind->module &&
	    before->module >= MODULES_FIRST && before->module != entry->module)
		moved_text_set_near(entry, before);
}

/* ---- comparison with the file ---- */

struct comparison {
	pid_t pid;
	uint64_t address;
	struct map_entry entry;
};

struct compare_job {
	struct bounded_job job;
	struct comparison what;
	int memory_fd;          /* open memory; -1: read by pid */
	uint32_t compares_left; /* segments of the file that may still be compared */
	/* results */
	bool is_elsewhere, is_equal, is_unread, is_denied;
	struct map_entry found;
	uint8_t ours[PAGE], theirs[PAGE];
};

static uint64_t page_floor(uint64_t address)
{
	return address & ~(PAGE - 1);
}

static uint64_t page_ceiling(uint64_t address)
{
	return page_floor(address + PAGE - 1);
}

static bool read_memory(struct compare_job *job, uint64_t address, size_t size)
{
	struct iovec ours = {job->theirs, size}, theirs = {(void *)(uintptr_t)address, size};
	uint64_t device = job->job.place;
	ssize_t got;

	job->job.place = BOUNDED_PLACE_PROCESS | (uint32_t)job->what.pid;
	if (job->memory_fd >= 0)
		got = pread(job->memory_fd, job->theirs, size, (off_t)address);
	else
		got = process_vm_readv(job->what.pid, &ours, 1, &theirs, 1, 0);
	job->is_denied |= got < 0 && errno == EPERM;
	job->job.place = device;
	return got == (ssize_t)size;
}

static bool is_filler(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i] != 0 && bytes[i] != 0xcc && bytes[i] != 0x90)
			return false;
	return true;
}

/* Bytes of a segment: [from, to) of the process, from `offset` of the file. */
struct text {
	uint64_t from, to, offset;
};

/* Compares the page of an address in `text`. Sets `*proves` if equality proves anything. */
static bool is_page_equal(struct compare_job *job, const struct text *text, uint64_t address,
			  bool *proves)
{
	uint64_t from = page_floor(address), to = from + PAGE;

	if (job->job.is_late)
		return false;
	from = larger_of(from, text->from);
	to = smaller_of(to, text->to);
	if (!read_memory(job, from, to - from) ||
	    read_exactly(job->job.fd, job->ours, to - from, text->offset + (from - text->from)) !=
		    0) {
		job->is_unread = true;
		return false;
	}
	*proves |= !is_filler(job->ours, to - from);
	return memcmp(job->ours, job->theirs, to - from) == 0;
}

static bool is_text_equal(struct compare_job *job, const struct text *text)
{
	uint32_t count = text_pages_count(text->from, text->to);
	bool proves = false;

	if (!is_page_equal(job, text, job->what.address, &proves))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t first, end;

		text_pages_get(text->from, text->to, i, &first, &end);
		if (!is_page_equal(job, text, first, &proves))
			return false;
	}
	return proves;
}

/* Compares the part of the mapping in a segment. The file's addresses are `bias` less. */
static bool try_segment(struct compare_job *job, const struct elf_segment *s, uint64_t bias)
{
	struct text text = {s->address + bias, s->address + bias + s->size, s->offset};
	uint64_t from = page_floor(text.from), to = page_ceiling(text.to);

	if (text.from < job->what.entry.end && text.to > job->what.entry.start)
		job->is_elsewhere = false;
	if (job->what.address < text.from || job->what.address >= text.to ||
	    job->compares_left == 0)
		return false;
	job->compares_left--;
	from = larger_of(from, job->what.entry.start);
	if (text.to > job->what.entry.end || to > job->what.entry.end)
		to = job->what.entry.end;
	job->found = (struct map_entry){
		.start = from,
		.end = to,
		.file_offset = s->offset + (from - text.from),
		.module = job->what.entry.near_module,
	};
	if (text.from < from) {
		text.offset += from - text.from;
		text.from = from;
	}
	text.to = smaller_of(text.to, to);
	return is_text_equal(job, &text);
}

/*
 * Compares all executable segments, at the bias at which the near mapping shows the segment `by`.
 */
static bool try_bias(struct compare_job *job, const struct elf_segments *segments,
		     const struct elf_segment *by)
{
	uint64_t bias =
		job->what.entry.near_start - job->what.entry.near_offset + by->offset - by->address;

	for (uint32_t i = 0; i < segments->count; i++)
		if (segments->list[i].is_executable && try_segment(job, &segments->list[i], bias))
			return true;
	return false;
}

static void run_compare(struct bounded_job *opaque)
{
	struct compare_job *job = (struct compare_job *)opaque;
	uint64_t offset = job->what.entry.near_offset;
	uint64_t end = offset + (job->what.entry.near_end - job->what.entry.near_start);
	struct elf_segments segments;
	struct elf_file file;
	uint32_t shown = 0;

	if (elf_file_open(&file, job->job.fd) != 0)
		return;
	if (elf_file_read_segments(&file, &segments) == 0) {
		job->is_elsewhere = segments.count > 0;
		for (uint32_t i = 0; i < segments.count && !job->is_equal; i++) {
			const struct elf_segment *s = &segments.list[i];

			if (page_floor(s->offset) >= end || s->offset + s->size <= offset)
				continue;
			if (shown++ == SHOWN_MAX || job->job.is_late) {
				job->is_elsewhere = false;
				break;
			}
			job->is_equal = try_bias(job, &segments, s);
		}
		free(segments.list);
	}
	elf_file_close(&file);
}

static void discard_compare(struct bounded_job *opaque)
{
	struct compare_job *job = (struct compare_job *)opaque;

	if (job->memory_fd >= 0)
		close(job->memory_fd);
}

/* Compares in a job. Reads memory through a descriptor, which is closed, or by pid (-1). */
static enum moved_text_answer compare(struct modules *modules, const struct comparison *what,
				      int memory_fd, bool *is_denied, struct map_entry *found)
{
	struct compare_job *job = bounded_job_new(sizeof(*job), run_compare, discard_compare);
	enum moved_text_answer answer = MOVED_TEXT_IS_UNKNOWN;
	int err = -ENOMEM;

	if (job) {
		job->what = *what;
		job->compares_left = COMPARED_MAX;
		job->memory_fd = memory_fd;
		err = modules_call(modules, what->entry.near_module, &job->job);
	}
	if (memory_fd >= 0 && err != -ETIMEDOUT) /* a late job closes the descriptor */
		close(memory_fd);
	if (err)
		return answer;
	*found = job->found;
	*is_denied = job->is_denied;
	if (job->is_equal)
		answer = MOVED_TEXT_IS_OF_FILE;
	else if (job->is_elsewhere)
		answer = MOVED_TEXT_IS_ELSEWHERE;
	else if (!job->is_unread)
		answer = MOVED_TEXT_IS_OTHER;
	free(job);
	return answer;
}

enum moved_text_answer moved_text_find(struct moved_text *m, struct modules *modules, pid_t pid,
				       const struct map_entry *entry, uint64_t address,
				       struct map_entry *found)
{
	const struct map_entry near = near_of(entry);
	struct comparison what = {.pid = pid, .entry = *entry};
	enum moved_text_answer answer;
	bool is_denied = false;
	int memory_fd;

	if (m->misses >= MOVED_TEXT_MAX_MISSES || pid <= 0 || !entry->near_module ||
	    address < entry->start || entry->start >= entry->end || entry->end > ADDRESS_END ||
	    modules_pin(modules, pid, &near) != near.module)
		return MOVED_TEXT_IS_UNKNOWN;
	what.address = address < entry->end ? address : entry->end - 1;
	answer = compare(modules, &what, -1, &is_denied, found);
	if (is_denied && m->open_memory) {
		memory_fd = m->open_memory(m->memory_context, pid);
		if (memory_fd >= 0)
			answer = compare(modules, &what, memory_fd, &is_denied, found);
	}
	m->misses += answer == MOVED_TEXT_IS_OTHER || answer == MOVED_TEXT_IS_UNKNOWN;
	return answer;
}

/* ---- text that the process itself has described ---- */

struct hash_job {
	struct bounded_job job;
	uint64_t from, to, hash; /* range in the file, and its expected hash */
	enum moved_text_answer answer;
	uint8_t bytes[PAGE];
};

/* Returns the hash of the pages; 0: unreadable, or they prove nothing. */
static uint64_t hash_pages(struct hash_job *job, uint64_t from, uint64_t to)
{
	bool proves = false;
	uint64_t hash = 0;

	for (uint32_t i = 0; i < text_pages_count(from, to) && !job->job.is_late; i++) {
		uint64_t first, end;

		text_pages_get(from, to, i, &first, &end);
		if (read_exactly(job->job.fd, job->bytes, end - first, first) != 0)
			return 0;
		proves |= !is_filler(job->bytes, end - first);
		hash = text_pages_hash(hash, job->bytes, end - first);
	}
	return proves ? hash : 0;
}

static void run_hash(struct bounded_job *opaque)
{
	struct hash_job *job = (struct hash_job *)opaque;
	uint32_t compares_left = COMPARED_MAX;
	struct elf_segments segments;
	struct elf_file file;

	job->answer = MOVED_TEXT_IS_OTHER;
	if (elf_file_open(&file, job->job.fd) != 0)
		return;
	if (elf_file_read_segments(&file, &segments) == 0) {
		for (uint32_t i = 0; i < segments.count && compares_left > 0; i++) {
			const struct elf_segment *s = &segments.list[i];
			uint64_t from = larger_of(s->offset, job->from);
			uint64_t to = smaller_of(s->offset + s->size, job->to);

			if (!s->is_executable || from >= to)
				continue;
			compares_left--;
			if (hash_pages(job, from, to) == job->hash)
				job->answer = MOVED_TEXT_IS_OF_FILE;
		}
		free(segments.list);
	}
	elf_file_close(&file);
}

enum moved_text_answer moved_text_check(struct moved_text *m, struct modules *modules, pid_t pid,
					const struct map_entry *entry, uint64_t hash)
{
	enum moved_text_answer answer = MOVED_TEXT_IS_UNKNOWN;
	uint64_t size = entry->end - entry->start;
	struct hash_job *job;

	if (m->checks >= MOVED_TEXT_MAX_CHECKS || entry->start >= entry->end ||
	    entry->end > ADDRESS_END || entry->file_offset > ADDRESS_END || hash == 0 ||
	    modules_pin(modules, pid, entry) != entry->module)
		return answer;
	m->checks++;
	job = bounded_job_new(sizeof(*job), run_hash, NULL);
	if (!job)
		return answer;
	job->from = entry->file_offset;
	job->to = entry->file_offset + size;
	job->hash = hash;
	if (modules_call(modules, entry->module, &job->job) == 0) {
		answer = job->answer;
		free(job);
	}
	return answer;
}
