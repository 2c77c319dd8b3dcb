// SPDX-License-Identifier: MIT
#include "profiler/cpu/ranges_seen.h"

#include <stdio.h>
#include <string.h>
#include "symbolize/util/text.h"

#define SEPARATOR ", "
#define REST "..."

/* Returns true if the list contains the whole name. */
static bool has(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = list; (at = strstr(at, name)); at++) {
		bool begins = at == list || (at - list >= 2 && strncmp(at - 2, SEPARATOR, 2) == 0);

		if (begins && (!at[length] || strncmp(at + length, SEPARATOR, 2) == 0))
			return true;
	}
	return false;
}

/* Returns the number of names in the list. */
static uint32_t count_names(const char *list)
{
	uint32_t count = list[0] != '\0';

	while ((list = strstr(list, SEPARATOR))) {
		list += strlen(SEPARATOR);
		count++;
	}
	return count;
}

static void add(char list[LEDGER_NAMES_BYTES], const char *name)
{
	size_t used = strlen(list), left = LEDGER_NAMES_BYTES - used;
	const char *separator = used ? SEPARATOR : "";
	bool fits = count_names(list) < RANGES_SEEN_NAMES &&
		    strlen(separator) + strlen(name) + strlen(SEPARATOR REST) < left;

	if (has(list, name) || ends_with(list, REST))
		return;
	snprintf(list + used, left, "%s%s", separator, fits ? name : REST);
}

bool ranges_seen_enter(struct ledger_outside *l, struct process *process)
{
	if (process->ranges.has_entered)
		return false;
	process->ranges.has_entered = true;
	l->entered++;
	l->only_outside -= process->ranges.works_outside;
	return true;
}

void ranges_seen_name(struct ledger_outside *l, const char *name)
{
	add(l->entered_by, name);
}

void ranges_seen_leave_out(struct ledger_outside *l, struct process *process)
{
	if (process->ranges.works_outside)
		return;
	process->ranges.works_outside = true;
	l->only_outside += !process->ranges.has_entered;
}

void ranges_seen_other(struct ledger_outside *l, const char *domain, const char *name)
{
	char text[LEDGER_NAMES_BYTES];

	snprintf(text, sizeof(text), "%s%s%.100s", domain, domain[0] ? ":" : "", name);
	clean_text(text);
	add(l->other_ranges, text);
}
