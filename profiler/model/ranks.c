// SPDX-License-Identifier: MIT
#include "profiler/model/ranks.h"

#include <stdlib.h>
#include <string.h>
#include "profiler/model/pseudo_frames.h"
#include "symbolize/util/sorted.h"
#include "symbolize/util/text.h"

const struct rank_info *ranks_find(const struct rank_info *ranks, uint32_t count, uint32_t rank)
{
	return count ? bsearch(&rank, ranks, count, sizeof(*ranks), sorted_compare_32) : NULL;
}

bool ranks_is_wait(const char *name, uint32_t *rank)
{
	size_t prefix = strlen(PSEUDO_WAITING_FOR_RANK), digits;

	if (!starts_with(name, PSEUDO_WAITING_FOR_RANK))
		return false;
	digits = strspn(name + prefix, "0123456789");
	if (digits == 0 || digits > 9 || strcmp(name + prefix + digits, "]") != 0)
		return false;
	*rank = (uint32_t)strtoul(name + prefix, NULL, 10);
	return true;
}
