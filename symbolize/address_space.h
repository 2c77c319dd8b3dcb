/* SPDX-License-Identifier: MIT */
/*
 * The executable mappings of one process, as far as they are known.
 *
 * Whoever follows processes owns one address space for each, from its start (or its exec) to its
 * end. What a process maps is reported as it happens; a space that was begun in the middle of a
 * process's life, or that lacks an address, is completed from /proc/PID/maps.
 *
 * Units: addresses and sizes in bytes. Errors: 0 or -errno. Not thread-safe.
 */
#ifndef SYMBOLIZE_ADDRESS_SPACE_H
#define SYMBOLIZE_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbolize/maps.h"
#include "symbolize/symbolizer.h"

struct address_space {
	uint32_t id; /* the owner's number for the process, not 0: tells JIT code of one from
			others' */
	pid_t pid;
	bool is_complete;          /* all its mappings so far were reported */
	struct map_table *maps;    /* one reference; never NULL */
	uint64_t next_snapshot_ns; /* CLOCK_MONOTONIC; no snapshot for a missed address before */
	uint64_t snapshot_wait_ns;
};

/*
 * Whether a missed address justifies reading /proc/PID/maps now. The wait between such readings
 * starts at some milliseconds and doubles to seconds while they find nothing, so garbage addresses
 * cost little and a library that was just loaded is found soon.
 */
bool address_space_may_snapshot(const struct address_space *space);

/* Notes what came of it: `found` resets the wait. */
void address_space_snapshot_done(struct address_space *space, bool found);

#endif
