// SPDX-License-Identifier: MIT
#include "profiler/report/top.h"

#include <inttypes.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "profiler/profile/digest.h"

#define LINES 10
#define DEFAULT_WIDTH 100
#define NAME_WIDTH_MIN 24
#define COLUMNS_WIDTH 54 /* of what stands before the names */

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

static const char *rate_text(char text[24], const struct digest_entry *e)
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

static void print_entry(struct log *log, const struct digest_table *t, enum columns columns,
			const struct digest_entry *e, const char *name, unsigned int width)
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

/* Python functions are often called alike: with their files. */
static const char *name_of(const struct frame_info *frame)
{
	return frame->class == CLASS_PYTHON ? frame->name : frame->short_name;
}

static void print_table(struct log *log, const struct digest_table *t, const char *title,
			enum columns columns, unsigned int width)
{
	struct digest_entry rest = t->whole;
	uint32_t shown = t->count < LINES ? t->count : LINES;
	char text[40];

	if (t->whole.count == 0)
		return;
	log_line(log, "%s", title);
	for (uint32_t i = 0; i < shown; i++) {
		const struct digest_entry *e = &t->entries[i];

		print_entry(log, t, columns, e, name_of(e->frame), width);
		rest.count -= e->count;
		rest.ns -= e->ns;
		rest.bytes -= e->bytes;
	}
	if (rest.count == 0)
		return;
	snprintf(text, sizeof(text), "(%" PRIu32 " more)", t->count - shown);
	print_entry(log, t, columns, &rest, text, width);
}

unsigned int top_width(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		return DEFAULT_WIDTH;
	return size.ws_col;
}

void top_report(struct log *log, const struct result *result, unsigned int width)
{
	struct digest *d = digest_new(result);

	if (!d)
		return; /* the profile itself is written all the same */
	width = width > COLUMNS_WIDTH + NAME_WIDTH_MIN ? width - COLUMNS_WIDTH : NAME_WIDTH_MIN;
	print_table(log, &d->kernels,
		    "       calls         time          mean   share   GPU kernel", COLUMNS_WORK,
		    width);
	print_table(log, &d->copies,
		    "  operations         time          rate   share   other GPU work",
		    COLUMNS_COPIES, width);
	print_table(log, &d->sites, "  operations         time          mean   share   launched by",
		    COLUMNS_WORK, width);
	print_table(log, &d->functions,
		    "     samples         time                 share   function, on the CPU",
		    COLUMNS_SAMPLES, width);
	print_table(log, &d->waits,
		    "                     time                 share   waits, or is timed, in",
		    COLUMNS_TIME, width);
	digest_free(d);
}
