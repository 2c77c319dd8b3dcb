/* SPDX-License-Identifier: MIT */
/*
 * Keeps the known executable mappings of one process.
 *
 * Whoever follows processes owns one address space for each, from its start (or exec) to its end.
 * Mappings are reported as they happen. A space that lacks an address, or was created after its
 * process, is completed from /proc/PID/maps.
 *
 * Units: addresses and sizes in bytes. Errors: 0 or -errno. Not thread-safe.
 */
#ifndef SYMBOLIZE_ADDRESS_SPACE_H
#define SYMBOLIZE_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbolize/code_ref.h"
#include "symbolize/maps.h"
#include "symbolize/python_trampoline.h"

struct address_space {
	uint32_t id; /* the owner's id of the process, not 0: separates JIT code of processes */
	pid_t pid;
	bool is_complete;          /* all mappings so far were reported */
	struct map_table *maps;    /* one reference; never NULL */
	uint64_t next_snapshot_ns; /* CLOCK_MONOTONIC; earliest, for a missed address */
	uint64_t snapshot_wait_ns;
	struct python_trampolines trampolines;
};

/*
 * Returns whether a missed address justifies reading /proc/PID/maps now. The interval starts at 10
 * ms and doubles up to 4 s while the reads find nothing. So garbage addresses cost little, and a
 * newly loaded library is found soon.
 */
bool address_space_may_snapshot(const struct address_space *space);

/* Notes the result of a snapshot; `found` resets the interval. */
void address_space_snapshot_done(struct address_space *space, bool found);

#endif
