/* SPDX-License-Identifier: MIT */
/*
 * Names generated code by /tmp/perf-PID.map, which a just-in-time compiler writes.
 *
 * Each line is "START SIZE name", the numbers in hexadecimal (with or without 0x). The name may
 * contain spaces. A later line replaces overlapping parts of earlier ones, since memory is reused.
 * Source: tools/perf/Documentation/jit-interface.txt of Linux.
 *
 * The profiled program writes the file, which is untrusted: it must be a regular file, not a
 * symbolic link. Bytes, lines and name lengths are bounded (table_quota.h); names are cleaned
 * (text.h).
 */
#ifndef SYMBOLIZE_PERF_MAP_H
#define SYMBOLIZE_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "symbolize/util/table_quota.h"

struct perf_map;

/* Place where a process writes its map. */
struct perf_map_place {
	pid_t pid, inside; /* pid here, and in its own pid namespace; 0: unknown */
	uid_t owner;       /* user of the process */
	int folder;        /* /tmp of the process (O_PATH), which the caller closes; -1: unknown */
};

/*
 * Finds the place of a living process. Of an ended process only the pid is known, and our user is
 * assumed. May block.
 */
void perf_map_locate(pid_t pid, struct perf_map_place *place);

/*
 * Loads the map of a process, which may have ended: from its own /tmp, by its pid in its own
 * namespace (containers), then from our /tmp. The file must belong to root or the process's user:
 * anybody may create a file of that name in /tmp. Takes memory from `share` (may be NULL); omits
 * lines that do not fit. Returns 0; -ENOENT: none; -EFBIG, -EPERM, -ENOMEM or other -errno. The
 * caller frees the map. May block.
 */
int perf_map_load(const struct perf_map_place *place, struct quota_share *share,
		  struct perf_map **map);

/* Reads the map from an open file with its current contents. */
int perf_map_read(int fd, struct quota_share *share, struct perf_map **map);

/*
 * Returns the name of the code at `address`, which lives as long as the map; NULL: there is none.
 */
const char *perf_map_find(const struct perf_map *map, uint64_t address);

void perf_map_free(struct perf_map *map);

#endif
