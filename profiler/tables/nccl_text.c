// SPDX-License-Identifier: MIT
#include "profiler/tables/nccl_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/model/pseudo_frames.h"
#include "symbolize/util/saturate.h"
#include "symbolize/util/text.h"

#define FUNCTION PSEUDO_RANGE "NCCL:nccl"
#define GROUP "GroupEnd: "
#define BETWEEN " + "
#define IN_ALL " in all"
#define COMM ", comm "

static const struct operation {
	const char *name;
	bool times_ranks; /* the size is of all ranks' messages */
	int passes;       /* passes of (n - 1) / n; 0: the factor is 1 */
} operations[] = {
	{"AllReduce", false, 2}, {"AllGather", true, 1}, {"ReduceScatter", true, 1},
	{"AlltoAll", true, 1},   {"Gather", true, 1},    {"Scatter", true, 1},
	{"Broadcast", false, 0}, {"Reduce", false, 0},   {"Send", false, 0},
	{"Recv", false, 0},
};

/* Calls of one operation. */
struct part {
	char name[64];
	char reduction[16];
	uint64_t calls;
	bool has_bytes;
	uint64_t bytes; /* sum over the calls */
};

static const struct operation *find_operation(const char *name)
{
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		if (strcmp(operations[i].name, name) == 0)
			return &operations[i];
	return NULL;
}

/* Reads a decimal number; returns what follows, or NULL. */
static const char *read_number(const char *text, uint64_t *number)
{
	char *end;

	if (*text < '0' || *text > '9')
		return NULL;
	*number = strtoull(text, &end, 10);
	return end;
}

/* Reads "64 MiB"; returns what follows, or NULL. */
static const char *read_size(const char *text, uint64_t *bytes)
{
	static const char *const units[] = {" B", " KiB", " MiB", " GiB"};

	text = read_number(text, bytes);
	for (int i = 0; text && i < 4; i++) {
		if (!starts_with(text, units[i]))
			continue;
		*bytes = saturated_product(*bytes, UINT64_C(1) << (10 * i));
		return text + strlen(units[i]);
	}
	return NULL;
}

/* Reads a word into `out`; returns what follows. */
static const char *read_word(const char *text, char *out, size_t size)
{
	size_t length = strcspn(text, " ");

	snprintf(out, size, "%.*s", (int)length, text);
	return text + length;
}

/* Reads a call, or equal ones: "7 x Send 4 MiB". Returns false if its size is unknown. */
static bool read_part(const char *text, struct part *part)
{
	const char *rest = read_number(text, &part->calls), *word;

	part->reduction[0] = '\0';
	if (rest && starts_with(rest, " x "))
		text = rest + 3;
	else
		part->calls = 1;
	rest = read_word(text, part->name, sizeof(part->name));
	rest = *rest ? read_size(rest + 1, &part->bytes) : NULL;
	part->has_bytes = rest != NULL;
	if (!rest)
		return false;
	if (!ends_with(rest, IN_ALL))
		part->bytes = saturated_product(part->bytes, part->calls);
	word = *rest ? rest + 1 : rest;
	if (!starts_with(word, "in all") && !starts_with(word, "root ") &&
	    !starts_with(word, "to ") && !starts_with(word, "from "))
		read_word(word, part->reduction, sizeof(part->reduction));
	return true;
}

/* Sets sizes and factor of calls of one operation. */
static void set_size(struct nccl_text *text, const struct operation *o, uint64_t bytes)
{
	double n = (double)text->ranks;

	text->has_bytes = true;
	text->bytes = bytes;
	if (!o || !o->times_ranks)
		text->moved = bytes;
	else
		text->moved = saturated_product(bytes, text->ranks);
	if (o && o->passes == 0)
		text->factor = 1;
	else if (o && text->ranks > 0)
		text->factor = o->passes * (n - 1) / n;
}

static void read_call(const char *head, struct nccl_text *text)
{
	struct part part;

	read_part(head, &part);
	snprintf(text->operation, sizeof(text->operation), "%s", part.name);
	if (!part.has_bytes)
		return;
	snprintf(text->reduction, sizeof(text->reduction), "%s", part.reduction);
	set_size(text, find_operation(part.name), part.bytes);
}

/* The calls of a group. */
struct group {
	uint64_t parts, calls, sent, received, others;
	bool is_known, is_mixed;
	char first[64];
};

static void add_part(struct group *g, const struct part *part)
{
	uint64_t *sum = strcmp(part->name, "Send") == 0   ? &g->sent
			: strcmp(part->name, "Recv") == 0 ? &g->received
							  : &g->others;

	if (g->parts++ == 0)
		snprintf(g->first, sizeof(g->first), "%s", part->name);
	g->is_mixed |= strcmp(g->first, part->name) != 0;
	saturated_add(&g->calls, part->calls);
	saturated_add(sum, part->bytes);
}

/* Reads the calls of a group, which are cut apart. */
static struct group read_parts(char *list)
{
	struct group g = {.is_known = true};

	for (char *at = list, *next; at; at = next) {
		struct part part;

		next = strstr(at, BETWEEN);
		if (next) {
			*next = '\0';
			next += strlen(BETWEEN);
		}
		if (read_part(at, &part))
			add_part(&g, &part);
		else
			g.is_known = false; /* such as "2 more" */
	}
	return g;
}

static void read_group(const char *head, const char *tail, struct nccl_text *text)
{
	char list[NCCL_TEXT_BYTES];
	struct group g;

	snprintf(list, sizeof(list), "%s", head);
	g = read_parts(list);
	if (g.calls == 1 && g.is_known) {
		read_call(head, text);
		return;
	}
	snprintf(text->operation, sizeof(text->operation), "%s", head);
	if (!g.is_known || g.calls > NCCL_TEXT_CALLS_MAX || strstr(tail, "several"))
		return;
	if (!g.is_mixed)
		set_size(text, find_operation(g.first), g.sent + g.received + g.others);
	else if (g.others == 0)
		set_size(text, find_operation("Send"), g.sent > g.received ? g.sent : g.received);
}

bool nccl_text_read(const char *frame, struct nccl_text *text)
{
	char head[NCCL_TEXT_BYTES];
	const char *tail, *rest;

	if (!starts_with(frame, FUNCTION))
		return false;
	frame += strlen(FUNCTION);
	if (starts_with(frame, "Comm") || starts_with(frame, "Mem"))
		return false;
	tail = strstr(frame, ", ");
	tail = tail ? tail : frame + strlen(frame);
	snprintf(head, sizeof(head), "%.*s", (int)(tail - frame), frame);
	memset(text, 0, sizeof(*text));
	text->factor = -1;
	rest = *tail ? read_number(tail + 2, &text->ranks) : NULL;
	if (!rest || !starts_with(rest, " rank"))
		text->ranks = 0;
	if (starts_with(head, GROUP))
		read_group(head + strlen(GROUP), tail, text);
	else
		read_call(head, text);
	return true;
}

uint32_t nccl_text_comm(const char *frame)
{
	const char *tail = starts_with(frame, FUNCTION) ? strstr(frame, COMM) : NULL;

	if (!tail)
		return 0;
	tail += strlen(COMM);
	return strlen(tail) == 8 && strspn(tail, "0123456789abcdef") == 8
		       ? (uint32_t)strtoul(tail, NULL, 16)
		       : 0;
}
