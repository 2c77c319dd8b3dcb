/* SPDX-License-Identifier: MIT */
/* Finds the file offset of the test's own code, for probes on the test. */
#ifndef TESTS_UNIT_OWN_CODE_H
#define TESTS_UNIT_OWN_CODE_H

#include <inttypes.h>
#include "unit.h"

/* Returns the file offset of code at an address of this program. */
static inline uint64_t file_offset(uintptr_t address)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t start, end, offset, found = 0;
	char line[4096];

	assert_non_null(maps);
	while (!found && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &offset) ==
			    3 &&
		    address >= start && address < end)
			found = address - start + offset;
	fclose(maps);
	assert_true(found > 0);
	return found;
}

#endif
