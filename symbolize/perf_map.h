/* SPDX-License-Identifier: MIT */
/*
 * Names of code that a just-in-time compiler made, from /tmp/perf-PID.map.
 *
 * Each line is "START SIZE name" with START and SIZE in hexadecimal (with or without 0x) and a name
 * that may contain spaces; a later line replaces what it overlaps of earlier ones, since memory is
 * used again. Source: tools/perf/Documentation/jit-interface.txt of Linux.
 *
 * The file is written by the profiled program and is untrusted: it must be a regular file, not a
 * symbolic link; bytes, lines and name lengths are bounded; control characters become '?'.
 */
#ifndef SYMBOLIZE_PERF_MAP_H
#define SYMBOLIZE_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PERF_MAP_MAX_BYTES (256u << 20)
#define PERF_MAP_MAX_LINES (4u << 20)
#define PERF_MAP_MAX_NAME 4096

struct perf_map;

/*
 * The map of `pid`: while the process is alive /tmp as it sees it, by the pid it sees itself as
 * (containers); then our own /tmp. While it is alive the file must belong to its user or to root.
 * -ENOENT when there is none, -EFBIG, -EPERM, -ENOMEM and other -errno. The caller frees it.
 */
int perf_map_load(pid_t pid, struct perf_map **map);

/* The same from an open file. */
int perf_map_read(int fd, struct perf_map **map);

/* The name of the code at `address`, which lives as long as the map; NULL when there is none. */
const char *perf_map_find(const struct perf_map *map, uint64_t address);

void perf_map_free(struct perf_map *map);

#endif
