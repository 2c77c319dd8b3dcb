// SPDX-License-Identifier: MIT
#include "profiler/report/top.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "symbolize/array.h"
#include "symbolize/hash_index.h"

#define LINES 10
#define DEFAULT_WIDTH 100
#define NAME_WIDTH_MIN 24
#define COLUMNS_WIDTH 54 /* of what stands before the names */

/* ---- sums by name ---- */

struct entry {
	const struct frame_info *frame;
	uint64_t count, ns, bytes;
};

struct table {
	struct entry *entries;
	uint32_t count, capacity;
	struct hash_index index;
	struct entry whole;
};

static bool entry_equal(const void *records, uint32_t position, const void *key)
{
	const struct frame_info *a = ((const struct entry *)records + position)->frame, *b = key;

	return a->class == b->class && strcmp(a->name, b->name) == 0;
}

static void add(struct entry *to, const struct row *row)
{
	to->count += row->count;
	to->ns += row->ns;
	to->bytes += row->bytes;
}

/* Without memory for an entry the row is only in the whole, and so in the last line. */
static void add_row(struct table *t, const struct frame_info *frame, const struct row *row)
{
	uint32_t hash = hash_bytes(frame->name, strlen(frame->name));
	uint32_t at = hash_index_find(&t->index, hash, entry_equal, t->entries, frame);

	add(&t->whole, row);
	if (at == HASH_INDEX_NONE &&
	    array_make_room(&t->entries, t->count, &t->capacity, sizeof(*t->entries)) &&
	    hash_index_add(&t->index, hash, t->count) == 0) {
		at = t->count++;
		t->entries[at] = (struct entry){.frame = frame};
	}
	if (at != HASH_INDEX_NONE)
		add(&t->entries[at], row);
}

static void release(struct table *t)
{
	free(t->entries);
	hash_index_release(&t->index);
}

/* The longest first; equal ones by name, so that the report is the same each time. */
static int by_time(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return strcmp(x->frame->name, y->frame->name);
}

/* ---- lines ---- */

static const char *time_text(char text[24], double ns)
{
	static const struct {
		double below, unit;
		const char *word;
	} units[] = {{1e3, 1, "ns"}, {1e6, 1e3, "us"}, {1e9, 1e6, "ms"}, {0, 1e9, "s"}};
	int i = 0;

	while (units[i].below > 0 && ns >= units[i].below)
		i++;
	snprintf(text, 24, i ? "%.3f %s" : "%.0f %s", ns / units[i].unit, units[i].word);
	return text;
}

static const char *rate_text(char text[24], const struct entry *e)
{
	if (e->bytes == 0 || e->ns == 0)
		text[0] = '\0';
	else
		snprintf(text, 24, "%.2f GB/s", (double)e->bytes / (double)e->ns);
	return text;
}

/* As many bytes of a name as fit, in whole characters, with room for the ellipsis. */
static int fitting(const char *name, unsigned int width)
{
	unsigned int columns = 0;
	size_t at = 0;

	for (; name[at]; at++) {
		if (((unsigned char)name[at] & 0xc0) == 0x80)
			continue;
		if (columns++ == width - 1)
			break;
	}
	if (!name[at] || strlen(name + at) == 1)
		return (int)strlen(name);
	return (int)at;
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

enum columns {
	COLUMNS_WORK,    /* number, time, mean */
	COLUMNS_COPIES,  /* number, time, bytes a second */
	COLUMNS_SAMPLES, /* number, time */
	COLUMNS_TIME     /* time */
};

static void print_entry(struct log *log, const struct table *t, enum columns columns,
			const struct entry *e, const char *name, unsigned int width)
{
	char number[24] = "", total[24], third[24] = "";
	int bytes = fitting(name, width);

	time_text(total, (double)e->ns);
	if (columns != COLUMNS_TIME)
		snprintf(number, sizeof(number), "%" PRIu64, e->count);
	if (columns == COLUMNS_COPIES)
		rate_text(third, e);
	else if (columns == COLUMNS_WORK)
		time_text(third, e->count ? (double)e->ns / (double)e->count : 0);
	log_line(log, "  %10s %12s %13s %5.1f %%   %.*s%s", number, total, third,
		 share(e->ns, t->whole.ns), bytes, name, name[bytes] ? "\xe2\x80\xa6" : "");
}

static void print_table(struct log *log, struct table *t, const char *title, enum columns columns,
			unsigned int width)
{
	struct entry rest = t->whole;
	uint32_t shown = t->count < LINES ? t->count : LINES;
	char text[40];

	if (t->whole.count == 0)
		return;
	qsort(t->entries, t->count, sizeof(*t->entries), by_time);
	log_line(log, "%s", title);
	for (uint32_t i = 0; i < shown; i++) {
		const struct entry *e = &t->entries[i];

		print_entry(log, t, columns, e, e->frame->short_name, width);
		rest.count -= e->count;
		rest.ns -= e->ns;
		rest.bytes -= e->bytes;
	}
	if (rest.count == 0)
		return;
	snprintf(text, sizeof(text), "(%" PRIu32 " more)", t->count - shown);
	print_entry(log, t, columns, &rest, text, width);
}

/* ---- what a row counts under ---- */

static const struct frame_info *frame_of(const struct result *r, uint32_t stack)
{
	return stack == RESULT_ROOT ? NULL : &r->frames[r->stacks[stack].frame];
}

static bool is_code(const struct frame_info *frame)
{
	return frame->class == CLASS_NATIVE || frame->class == CLASS_PYTHON ||
	       frame->class == CLASS_JIT;
}

/*
 * The function of the program that made this call of CUDA. `stack` is inside the call. NULL: not
 * known. A graph's nodes have two stacks, one below the other: the launch's is the outer one.
 */
static const struct frame_info *caller_of(const struct result *r, uint32_t stack)
{
	const struct frame_info *found = NULL, *frame;
	bool wants_code = false;

	for (; (frame = frame_of(r, stack)); stack = r->stacks[stack].outer) {
		if (frame->class == CLASS_API || frame->class == CLASS_MARK ||
		    frame->class == CLASS_CALL) {
			/* another stack begins: what was found belongs to the inner one */
			found = NULL;
			wants_code = true;
		} else if (frame->class == CLASS_PYTHON &&
			   (!found || found->class != CLASS_PYTHON)) {
			found = frame;
		} else if (wants_code && !found && is_code(frame)) {
			found = frame;
		}
	}
	return found;
}

struct tables {
	struct table kernels, copies, sites, functions, waits;
};

static void add_to_tables(struct tables *t, const struct result *r, const struct row *row)
{
	static const struct frame_info unknown = {
		.class = CLASS_MARK, .name = "[unknown]", .short_name = "[unknown]"};
	const struct frame_info *frame = frame_of(r, row->stack), *caller;

	if (!frame)
		frame = &unknown;
	if (row->kind == ROW_CPU) {
		add_row(&t->functions, frame, row);
		return;
	}
	caller = caller_of(r, row->stack);
	if (!caller)
		caller = &unknown;
	if (row->kind == ROW_GPU) {
		add_row(frame->class == CLASS_GPU_KERNEL ? &t->kernels : &t->copies, frame, row);
		add_row(&t->sites, caller, row);
	} else {
		add_row(&t->waits, caller, row);
	}
}

unsigned int top_width(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		return DEFAULT_WIDTH;
	return size.ws_col;
}

void top_report(struct log *log, const struct result *r, unsigned int width)
{
	struct tables t;

	memset(&t, 0, sizeof(t));
	width = width > COLUMNS_WIDTH + NAME_WIDTH_MIN ? width - COLUMNS_WIDTH : NAME_WIDTH_MIN;
	for (uint32_t i = 0; i < r->row_count; i++)
		add_to_tables(&t, r, &r->rows[i]);
	print_table(log, &t.kernels, "       calls         time          mean   share   GPU kernel",
		    COLUMNS_WORK, width);
	print_table(log, &t.copies,
		    "  operations         time          rate   share   other GPU work",
		    COLUMNS_COPIES, width);
	print_table(log, &t.sites, "  operations         time          mean   share   launched by",
		    COLUMNS_WORK, width);
	print_table(log, &t.functions,
		    "     samples         time                 share   function, on the CPU",
		    COLUMNS_SAMPLES, width);
	print_table(log, &t.waits,
		    "                     time                 share   waits, or is timed, in",
		    COLUMNS_TIME, width);
	release(&t.kernels);
	release(&t.copies);
	release(&t.sites);
	release(&t.functions);
	release(&t.waits);
}
