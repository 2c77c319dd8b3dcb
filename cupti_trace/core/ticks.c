// SPDX-License-Identifier: MIT
#include "cupti_trace/core/ticks.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "cupti_trace/core/hot_path.h"
#include "cupti_trace/core/guest.h"

#define TRIES 5
#define SHIFT 32
__extension__ typedef unsigned __int128 wide;

struct ticks_source ticks_source HOT_PATH_DATA;

/* Returns whether the kernel lists the counter. The list has words, each followed by a space. */
static bool is_trusted(void)
{
	static const char path[] =
		"/sys/devices/system/clocksource/clocksource0/available_clocksource";
	char text[256] = " ";
	int fd = guest_open(path, O_RDONLY);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text + 1, sizeof(text) - 2);
	close(fd);
	return n > 0 && strstr(text, " tsc ") != NULL;
}

void ticks_init(void)
{
	ticks_source.is_counter = is_trusted();
	ticks_source.base = ticks_source.is_counter ? __builtin_ia32_rdtsc() : 0;
}

/* Keeps the tightest of several windows: the thread may be switched out in the middle. */
struct ticks_point ticks_read_point(void)
{
	struct ticks_point point = {0};
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = ticks_now(), ns = clock_now_ns(),
			 time_range = ticks_now() - before;

		if (!ticks_source.is_counter)
			return (struct ticks_point){ns, ns};
		if (time_range >= least)
			continue;
		least = time_range;
		point = (struct ticks_point){before + time_range / 2, ns};
	}
	return point;
}

void ticks_line_add(struct ticks_line *line, const struct ticks_point *point)
{
	const struct ticks_point *end = point;

	if (line->newer.ns == 0 || point->ticks < line->newer.ticks) {
		line->older = line->newer = *point;
	} else if (point->ns - line->newer.ns >= TICKS_SPAN_NS) {
		line->older = line->newer;
		line->newer = *point;
	} else if (line->newer.ticks != line->older.ticks) {
		end = &line->newer;
	}
	if (end->ticks > line->older.ticks)
		line->ns_per_tick = (uint64_t)(((wide)(end->ns - line->older.ns) << SHIFT) /
					       (end->ticks - line->older.ticks));
}

uint64_t ticks_line_ns(const struct ticks_line *line, uint64_t ticks)
{
	bool is_before = ticks < line->older.ticks;
	uint64_t distance = is_before ? line->older.ticks - ticks : ticks - line->older.ticks;
	uint64_t ns = (uint64_t)((wide)distance * line->ns_per_tick >> SHIFT);
	uint64_t early = line->older.ns < TICKS_EARLY_NS ? line->older.ns : TICKS_EARLY_NS;
	uint64_t now;

	if (is_before)
		return line->older.ns - (ns < early ? ns : early);
	ns += line->older.ns;
	if (ns <= line->newer.ns)
		return ns;
	now = clock_now_ns();
	return ns < now ? ns : now;
}
