// SPDX-License-Identifier: MIT
#include "cupti_trace/hw/counter_choice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/array.h"

int counter_choice_init(struct counter_choice *c, const char *pattern, uint32_t limit)
{
	memset(c, 0, sizeof(*c));
	c->limit = limit;
	if (!pattern)
		return 0;
	if (regcomp(&c->pattern, pattern, REG_EXTENDED | REG_NOSUB) != 0)
		return -EINVAL;
	c->has_pattern = true;
	return 0;
}

void counter_choice_release(struct counter_choice *c)
{
	names_release(&c->names);
	free(c->kernels);
	if (c->has_pattern)
		regfree(&c->pattern);
	memset(c, 0, sizeof(*c));
}

static bool talks_to_others(const char *name)
{
	static const char *const marks[] = {"ncclDevKernel", "ncclKernel", "nvshmem"};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strstr(name, marks[i]))
			return true;
	return false;
}

/* Finds a kernel, or adds it; NULL: no room. Names are numbered one after the other. */
static struct counter_kernel *find(struct counter_choice *c, const char *name, uint32_t *kernel)
{
	bool is_new;
	uint32_t id = names_id(&c->names, name, &is_new);

	if (id == NAMES_OVERFLOW_ID)
		return NULL;
	*kernel = id - 1;
	while (c->count < id) {
		const char *text = names_text(&c->names, c->count + 1);
		struct counter_kernel k = {.due = 1};

		if (!array_make_room(&c->kernels, c->count, &c->capacity, sizeof(k)))
			return NULL;
		k.is_wanted = !c->has_pattern || regexec(&c->pattern, text, 0, NULL, 0) == 0;
		k.is_left_out = talks_to_others(text);
		c->kernels[c->count++] = k;
	}
	return &c->kernels[*kernel];
}

enum counter_verdict counter_choice_launch(struct counter_choice *c, const char *name,
					   uint32_t *kernel)
{
	struct counter_kernel *k = name ? find(c, name, kernel) : NULL;

	if (!k || !k->is_wanted)
		return COUNTER_PASS;
	if (k->is_left_out)
		return COUNTER_LEFT_OUT;
	k->launched++;
	return (c->limit == 0 || k->measured < c->limit) && k->launched >= k->due &&
			       k->failed < COUNTER_CHOICE_TRIES
		       ? COUNTER_MEASURE
		       : COUNTER_PASS;
}

void counter_choice_done(struct counter_choice *c, uint32_t kernel, bool is_measured)
{
	struct counter_kernel *k = &c->kernels[kernel];

	if (!is_measured) {
		k->failed++;
		return;
	}
	k->failed = 0;
	k->measured++;
	k->due = c->limit == 0 ? k->due + 1 : k->due * 2;
}
