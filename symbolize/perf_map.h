/* SPDX-License-Identifier: MIT */
/*
 * Names of code that a just-in-time compiler made, from /tmp/perf-PID.map.
 *
 * Each line is "START SIZE name" with START and SIZE in hexadecimal (with or without 0x) and a name
 * that may contain spaces; a later line replaces what it overlaps of earlier ones, since memory is
 * used again. Source: tools/perf/Documentation/jit-interface.txt of Linux.
 *
 * The file is written by the profiled program and is untrusted: it must be a regular file, not a
 * symbolic link; bytes, lines and name lengths are bounded (budget.h); names are cleaned (text.h).
 */
#ifndef SYMBOLIZE_PERF_MAP_H
#define SYMBOLIZE_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "symbolize/budget.h"

struct perf_map;

/*
 * The map of `pid`: while the process is alive /tmp as it sees it, by the pid it sees itself as
 * (containers); then our own /tmp. The file must belong to the process's user while it is alive, to
 * our effective user when it has ended, or to root: anybody may put a file of that name into /tmp.
 * Memory is taken from `share`, may be NULL; lines that do not fit are left out. -ENOENT when there
 * is none, -EFBIG, -EPERM, -ENOMEM and other -errno. The caller frees it. May block.
 */
int perf_map_load(pid_t pid, struct budget_share *share, struct perf_map **map);

/* The same from an open file, of which it reads what it holds now. */
int perf_map_read(int fd, struct budget_share *share, struct perf_map **map);

/* The name of the code at `address`, which lives as long as the map; NULL when there is none. */
const char *perf_map_find(const struct perf_map *map, uint64_t address);

void perf_map_free(struct perf_map *map);

#endif
