// SPDX-License-Identifier: MIT
#include "cupti_trace/unwind/code_map.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cupti_trace/core/clock.h"
#include "cupti_trace/core/guest.h"
#include "cupti_trace/unwind/moved_code.h"
#include "symbolize/util/text.h"

#define LINE_SIZE 8192
#define MAPS "/proc/self/maps"
#define THREAD_MAPS "/proc/thread-self/maps" /* works even after the first thread has ended */

/* Reads a hexadecimal or decimal number at *at, and skips the character after it. */
static uint64_t take_number(const char **at, int base)
{
	char *end;
	uint64_t value = strtoull(*at, &end, base);

	*at = end + (*end != '\0');
	return value;
}

static bool is_cuda_file(const char *name)
{
	static const char *const names[] = {"libcuda.so", "libcupti.so", "libprofile_cupti"};

	return starts_with_any(name, names, sizeof(names) / sizeof(names[0]));
}

static bool is_of_file(const struct gpu_event_code *code, const struct gpu_event_code *other)
{
	return code->inode && code->inode == other->inode && code->dev_major == other->dev_major &&
	       code->dev_minor == other->dev_minor;
}

/* Keeps a mapping of a file, with its path. Returns its position, counted from 1; 0: no room. */
static uint8_t keep_file(struct code_map *map, const struct gpu_event_code *file)
{
	size_t length = strlen(file->path) + 1;
	struct gpu_event_code *kept = &map->files[map->file_count];

	if (map->file_count == CODE_MAP_FILES || map->paths_used + length > CODE_MAP_PATH_BYTES)
		return 0;
	*kept = *file;
	kept->path = memcpy(map->paths + map->paths_used, file->path, length);
	map->paths_used += (uint32_t)length;
	return (uint8_t)++map->file_count;
}

/* State from earlier lines. */
struct reading {
	struct gpu_event_code head; /* last mapping of a file's first bytes; its code follows */
	struct gpu_event_code file; /* last mapping of a file; its path is below */
	char path[LINE_SIZE];
	uint8_t kept;  /* the file's position in the list of files; 0: not kept */
	uint32_t bare; /* entries from here on may be memory before a mapping of a file */
};

/*
 * Notes a mapping of a file. It ends memory without a file, and memory of another file begins after
 * it.
 */
static void note_file(struct code_map *map, struct reading *r, const struct gpu_event_code *file,
		      const char *permissions)
{
	if (moved_code_is_memory(file) || file->path[0] != '/' ||
	    memcmp(permissions, "---", 3) == 0)
		return;
	r->file = *file;
	r->file.path = memcpy(r->path, file->path, strlen(file->path) + 1);
	r->kept = 0;
	for (; r->bare < map->count; r->bare++) {
		struct code_map_entry *entry = &map->entries[r->bare];

		if (file->file_offset == 0 || !moved_code_is_memory(&entry->code))
			continue;
		if (!r->kept)
			r->kept = keep_file(map, &r->file);
		entry->behind = r->kept;
	}
}

static void note_memory(struct code_map *map, struct reading *r, struct code_map_entry *entry)
{
	if (!moved_code_is_memory(&entry->code) || !r->file.inode ||
	    !is_of_file(&r->file, &r->head))
		return;
	if (!r->kept)
		r->kept = keep_file(map, &r->file);
	entry->before = r->kept;
	entry->head = r->head.start;
	entry->head_end = r->head.end;
}

/* Parses "start-end perms offset major:minor inode path" (proc(5)). */
static void take_line(struct code_map *map, struct reading *r, const char *line)
{
	uint64_t own = (uint64_t)(uintptr_t)take_line;
	struct code_map_entry *entry = &map->entries[map->count];
	struct gpu_event_code *code = &entry->code;
	const char *at = line, *permissions, *name;
	size_t length;

	memset(entry, 0, sizeof(*entry));
	code->start = take_number(&at, 16);
	code->end = take_number(&at, 16);
	if (strlen(at) < 5)
		return;
	permissions = at;
	at += 5;
	code->file_offset = take_number(&at, 16);
	code->dev_major = (uint32_t)take_number(&at, 16);
	code->dev_minor = (uint32_t)take_number(&at, 16);
	code->inode = take_number(&at, 10);
	while (*at == ' ')
		at++;
	code->path = at;
	note_file(map, r, code, permissions);
	if (permissions[0] == 'r' && code->file_offset == 0 && !moved_code_is_memory(code))
		r->head = *code;
	if (permissions[2] != 'x')
		return;
	if (is_of_file(code, &r->head)) {
		entry->head = r->head.start;
		entry->head_end = r->head.end;
	}
	note_memory(map, r, entry);
	length = strlen(at) + 1;
	if (map->count + 1 >= CODE_MAP_MAX || map->paths_used + length > CODE_MAP_PATH_BYTES)
		return;
	code->path = memcpy(map->paths + map->paths_used, at, length);
	map->paths_used += (uint32_t)length;
	name = base_name(at);
	entry->is_runtime = starts_with(name, "libcudart.so");
	entry->is_cuda =
		entry->is_runtime || is_cuda_file(name) || (own >= code->start && own < code->end);
	map->count++;
}

/*
 * The file stays open. A program that has restricted itself (by seccomp, chroot or namespaces) may
 * fail to open it, or be killed. One for the process, as its maps are.
 */
static struct {
	pthread_mutex_t lock;
	int fd;       /* -1: not open */
	pid_t owner;  /* process of these maps; a child of fork has others */
	dev_t device; /* identity of the file: the program may close it, and open another under its
			 number */
	ino_t inode;
} file = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

static bool is_open(void)
{
	if (guest_still_has(file.fd, file.device, file.inode))
		return true;
	file.fd = -1;
	return false;
}

void code_map_close(void)
{
	pthread_mutex_lock(&file.lock);
	if (is_open())
		close(file.fd);
	file.fd = -1;
	pthread_mutex_unlock(&file.lock);
}

/* Returns false if the thread whose file it is has ended. */
static bool has_lines(int fd)
{
	char first;

	return pread(fd, &first, 1, 0) == 1;
}

/* Opens the maps by `open_one`, which returns a descriptor or a negative number. */
static int open_maps(int (*open_one)(const char *path, int flags))
{
	int fd = open_one(MAPS, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0 || has_lines(fd))
		return fd;
	guest_close(fd, &st);
	return open_one(THREAD_MAPS, O_RDONLY | O_CLOEXEC);
}

/* Opens the file, with the lock held. Returns a descriptor or -errno. */
static int open_file(void)
{
	struct stat st;

	if (is_open()) {
		if (file.owner == getpid() && has_lines(file.fd))
			return file.fd;
		close(file.fd);
	}
	file.owner = getpid();
	file.fd = open_maps(guest_open);
	if (file.fd >= 0 && fstat(file.fd, &st) == 0) {
		file.device = st.st_dev;
		file.inode = st.st_ino;
	}
	return file.fd;
}

void code_map_open(void)
{
	pthread_mutex_lock(&file.lock);
	open_file();
	pthread_mutex_unlock(&file.lock);
}

/* Reads all lines, with the lock held. */
static void read_lines(struct code_map *map, int fd)
{
	static char buffer[LINE_SIZE]; /* not on the program's stacks, which may be small */
	static struct reading reading;
	size_t used = 0;
	off_t at = 0;

	memset(&reading, 0, offsetof(struct reading, path));
	reading.kept = 0;
	reading.bare = 0;
	for (;;) {
		ssize_t n = pread(fd, buffer + used, sizeof(buffer) - 1 - used, at);
		char *line = buffer, *newline;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		at += n;
		used += (size_t)n;
		buffer[used] = '\0';
		while ((newline = memchr(line, '\n', used - (size_t)(line - buffer)))) {
			*newline = '\0';
			take_line(map, &reading, line);
			line = newline + 1;
		}
		used -= (size_t)(line - buffer);
		memmove(buffer, line, used);
		if (used == sizeof(buffer) - 1)
			used = 0; /* no valid line is that long */
	}
}

static void read_open_file(struct code_map *map)
{
	int fd = open_file();

	if (fd >= 0)
		read_lines(map, fd);
}

static int open_plainly(const char *path, int flags)
{
	return open(path, flags);
}

static void read_isolated(void *map)
{
	int fd = open_maps(open_plainly);

	if (fd >= 0)
		read_lines(map, fd);
}

static void read_all(struct code_map *map)
{
	if (!map->entries)
		map->entries = malloc(CODE_MAP_MAX * sizeof(*map->entries));
	if (!map->paths)
		map->paths = malloc(CODE_MAP_PATH_BYTES);
	map->count = 0;
	map->paths_used = 0;
	map->file_count = 0;
	if (!map->entries || !map->paths)
		return;
	pthread_mutex_lock(&file.lock);
	if (is_open() || !guest_is_isolated() || !guest_run_isolated(read_isolated, map))
		read_open_file(map);
	pthread_mutex_unlock(&file.lock);
}

static struct code_map_entry *find(struct code_map *map, uint64_t pc)
{
	uint32_t low = 0, high = map->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (map->entries[middle].code.end <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low < map->count && map->entries[low].code.start <= pc ? &map->entries[low] : NULL;
}

struct code_map_entry *code_map_look(struct code_map *map, uint64_t pc)
{
	struct code_map_entry *entry = find(map, pc);
	uint64_t began;

	if (entry)
		return entry;
	began = clock_now_ns();
	if (began < map->next_read_ns)
		return NULL;
	read_all(map);
	entry = find(map, pc);
	map->next_read_ns = clock_now_ns();
	if (!entry)
		map->next_read_ns += CODE_MAP_PAUSE * (map->next_read_ns - began);
	return entry;
}

/* Inserts the memory [start, end) at a position, as a part of the entry `whole`. */
static void insert_rest(struct code_map *map, uint32_t at, const struct code_map_entry *whole,
			uint64_t start, uint64_t end)
{
	if (start >= end || map->count + 1 >= CODE_MAP_MAX)
		return;
	memmove(&map->entries[at + 1], &map->entries[at],
		(map->count++ - at) * sizeof(*map->entries));
	map->entries[at] = *whole;
	map->entries[at].code.start = start;
	map->entries[at].code.end = end;
	map->entries[at].code.file_offset += start - whole->code.start;
}

struct code_map_entry *code_map_resolve(struct code_map *map, struct code_map_entry *entry,
					uint64_t pc)
{
	const struct code_map_entry whole = *entry;
	uint32_t at = (uint32_t)(entry - map->entries);
	struct gpu_event_code text;
	const char *name;

	if (!(whole.before && moved_code_find(&whole.code, &map->files[whole.before - 1],
					      whole.head, whole.head_end, pc, &text)) &&
	    !(whole.behind && moved_code_find(&whole.code, &map->files[whole.behind - 1],
					      whole.code.start, whole.code.end, pc, &text)))
		return entry;
	name = base_name(text.path);
	*entry = (struct code_map_entry){.code = text,
					 .head = whole.before ? whole.head : whole.code.start,
					 .head_end = whole.before ? whole.head_end : whole.code.end,
					 .is_runtime = starts_with(name, "libcudart.so")};
	entry->is_cuda = entry->is_runtime || is_cuda_file(name);
	insert_rest(map, at + 1, &whole, text.end, whole.code.end);
	insert_rest(map, at, &whole, whole.code.start, text.start);
	return find(map, pc);
}

void code_map_expire(struct code_map *map)
{
	map->count = 0;
	map->next_read_ns = 0;
}
