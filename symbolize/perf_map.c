/* SPDX-License-Identifier: MIT */
#include "symbolize/perf_map.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolize/util/file_io.h"
#include "symbolize/util/proc_file.h"
#include "symbolize/util/range_table.h"
#include "symbolize/util/text.h"

struct perf_map {
	char *text;   /* storage of the names */
	char **names; /* names by range id */
	struct range_table table;
};

/*
 * Takes a hexadecimal number and the blanks after it. Returns false if there is none, or on
 * overflow.
 */
static bool take_hex(char **at, uint64_t *value)
{
	const char *begin;
	int digit;

	if ((*at)[0] == '0' && ((*at)[1] == 'x' || (*at)[1] == 'X'))
		*at += 2;
	*value = 0;
	for (begin = *at; (digit = hex_digit((char)tolower((unsigned char)**at))) >= 0; (*at)++) {
		if (*value >> 60)
			return false;
		*value = *value << 4 | (uint64_t)digit;
	}
	if (*at == begin || (**at != ' ' && **at != '\t'))
		return false;
	*at += strspn(*at, " \t");
	return true;
}

/* Parses a line in place: the name becomes a string. */
static bool parse_line(char *line, struct range *range, char **name)
{
	uint64_t start, size;
	size_t length;

	if (!take_hex(&line, &start) || !take_hex(&line, &size) || *line == '\0')
		return false;
	length = strnlen(line, PERF_MAP_MAX_NAME);
	line[length] = '\0';
	if (length > 0 && line[length - 1] == '\r')
		line[--length] = '\0';
	if (length == 0)
		return false;
	clean_text(line);
	range->start = start;
	range->end = size > UINT64_MAX - start ? UINT64_MAX : start + size;
	*name = line;
	return true;
}

static size_t count_lines(const char *text, size_t size)
{
	size_t count = 1;

	for (const char *end = text + size; (text = memchr(text, '\n', (size_t)(end - text)));)
		if (++text == end || ++count >= PERF_MAP_MAX_LINES)
			break;
	return count;
}

/*
 * Cost of a line while the table is built: a range, its place in a heap and two pieces
 * (range_table.h); a name.
 */
#define LINE_COST (3 * sizeof(struct range) + 2 * sizeof(void *))

/* Takes the cost of as many lines as fit, halving their number until it does. */
static size_t take_lines(struct quota_share *share, size_t lines)
{
	while (lines > 0 && !quota_share_take(share, lines * LINE_COST))
		lines /= 2;
	return lines;
}

static int parse(struct perf_map *map, size_t size, struct quota_share *share)
{
	size_t lines = take_lines(share, count_lines(map->text, size)), count = 0;
	struct range *ranges = calloc(lines + 1, sizeof(*ranges));
	char *line = map->text, *end = map->text + size;
	int err = -ENOMEM;

	map->names = calloc(lines + 1, sizeof(*map->names));
	if (!ranges || !map->names)
		goto out;
	while (line < end && count < lines) {
		char *newline = memchr(line, '\n', (size_t)(end - line));

		if (newline)
			*newline = '\0';
		if (parse_line(line, &ranges[count], &map->names[count])) {
			ranges[count].id = (uint32_t)count;
			ranges[count].priority = (uint32_t)count;
			count++;
		}
		line = newline ? newline + 1 : end;
	}
	err = range_table_build(&map->table, ranges, count);
	if (!err)
		quota_share_return(share, lines * (LINE_COST - sizeof(*map->names)) -
						  map->table.count * sizeof(*ranges));
out:
	free(ranges);
	return err;
}

/* Reads the first `size` bytes of the file, or fewer, followed by a NUL. Returns 0 or -errno. */
static int read_text(int fd, struct perf_map *map, size_t *size)
{
	size_t used = 0;
	ssize_t got;

	map->text = malloc(*size + 1);
	if (!map->text)
		return -ENOMEM;
	while (used < *size) {
		got = pread(fd, map->text + used, *size - used, (off_t)used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		used += (size_t)got;
	}
	map->text[used] = '\0';
	*size = used;
	return 0;
}

int perf_map_read(int fd, struct quota_share *share, struct perf_map **result)
{
	struct perf_map *map;
	struct stat st;
	size_t size;
	int err;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (st.st_size > (off_t)PERF_MAP_MAX_BYTES ||
	    !quota_share_take(share, (uint64_t)st.st_size))
		return -EFBIG;
	map = calloc(1, sizeof(*map));
	if (!map)
		return -ENOMEM;
	size = (size_t)st.st_size;
	err = read_text(fd, map, &size);
	if (!err)
		err = parse(map, size, share);
	if (err) {
		perf_map_free(map);
		return err;
	}
	*result = map;
	return 0;
}

/* Loads a file that belongs to `owner` or root. Returns 0 or -errno. */
static int load_path(const char *path, uid_t owner, struct quota_share *share,
		     struct perf_map **map)
{
	struct stat st;
	int err, fd;

	fd = open_regular(path, SYMLINK_REFUSE, &st);
	if (fd < 0)
		return fd;
	err = st.st_uid != owner && st.st_uid != 0 ? -EPERM : perf_map_read(fd, share, map);
	close(fd);
	return err;
}

void perf_map_locate(pid_t pid, struct perf_map_place *place)
{
	struct stat process = {.st_uid = geteuid()};
	char path[64];

	*place = (struct perf_map_place){.pid = pid, .folder = -1};
	place->inside = proc_pid_inside(pid);
	snprintf(path, sizeof(path), "/proc/%d/root/tmp", (int)pid);
	place->folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	stat(path, &process);
	place->owner = process.st_uid;
}

int perf_map_load(const struct perf_map_place *place, struct quota_share *share,
		  struct perf_map **map)
{
	pid_t inside = place->inside ? place->inside : place->pid;
	char path[96];

	snprintf(path, sizeof(path), "/proc/self/fd/%d/perf-%d.map", place->folder, (int)inside);
	if (place->folder >= 0 && load_path(path, place->owner, share, map) == 0)
		return 0;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)place->pid);
	return load_path(path, place->owner, share, map);
}

const char *perf_map_find(const struct perf_map *map, uint64_t address)
{
	uint32_t id = range_table_find(&map->table, address);

	return id == RANGE_NONE ? NULL : map->names[id];
}

void perf_map_free(struct perf_map *map)
{
	if (!map)
		return;
	range_table_release(&map->table);
	free(map->names);
	free(map->text);
	free(map);
}
