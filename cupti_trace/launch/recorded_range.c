// SPDX-License-Identifier: MIT
#include "cupti_trace/launch/recorded_range.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cupti_trace/core/guest.h"
#include "cupti_trace/core/settings.h"
#include "cupti_trace/core/tracer.h"
#include "cupti_trace/launch/nvtx_names.h"

/* Limit. "a:b:c" is a message of the default domain, "b:c" of domain "a", and "c" of "a:b". */
#define IDS_MAX 128u

static struct {
	uint32_t ids[IDS_MAX], count;
	bool is_chosen, has_cuda;
	pid_t pid;            /* the process of these ranges */
	pthread_mutex_t lock; /* protects all below */
	uint32_t open;        /* number of open NVTX ranges */
	bool cuda_is_on;
	struct tracer *tracer; /* NULL: no hello yet */
} ranges = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---- names ---- */

static void add_id(uint32_t id)
{
	if (ranges.count < IDS_MAX && id != NVTX_TOO_MANY)
		ranges.ids[ranges.count++] = id;
}

/* Adds a name, modifying the text meanwhile. */
static void add_name(char *name)
{
	if (strcmp(name, GPU_WIRE_RANGE_CUDA) == 0) {
		ranges.has_cuda = true;
		return;
	}
	add_id(nvtx_name(0, name, 0));
	for (char *colon = strchr(name, ':'); colon; colon = strchr(colon + 1, ':')) {
		*colon = '\0';
		if (name[0] && colon[1])
			add_id(nvtx_name(nvtx_domain(name), colon + 1, 0));
		*colon = ':';
	}
}

static void read_names(void)
{
	const char *text = settings_config()->ranges;
	char *copy = text ? strdup(text) : NULL, *rest = copy, *name;

	ranges.is_chosen = text != NULL;
	ranges.pid = getpid();
	while ((name = strsep(&rest, GPU_WIRE_RANGES_SEPARATOR)))
		if (name[0])
			add_name(name);
	free(copy);
}

/* Reads the setting, once. */
static bool are_chosen(void)
{
	pthread_once(&once, read_names);
	return ranges.is_chosen;
}

bool recorded_range_has_nvtx(void)
{
	return are_chosen() && ranges.count > 0;
}

bool recorded_range_has_cuda(void)
{
	return are_chosen() && ranges.has_cuda;
}

bool recorded_range_match(uint32_t name)
{
	uint32_t plain = nvtx_name_plain(name);

	for (uint32_t i = 0; i < ranges.count; i++)
		if (ranges.ids[i] == name || ranges.ids[i] == plain)
			return true;
	return false;
}

/* ---- beginnings and ends ---- */

static bool is_open(void)
{
	return ranges.open > 0 || ranges.cuda_is_on;
}

/* Sets or clears TRACER_IDLE, if tracing is on. */
static void set_idle(struct tracer *tracer, bool is_idle)
{
	int phase = atomic_load(&tracer->phase), wanted;

	do {
		if ((phase & ~TRACER_FLAGS) != TRACER_ON &&
		    (phase & ~TRACER_FLAGS) != TRACER_LEAVING)
			return;
		wanted = is_idle ? phase | TRACER_IDLE : phase & ~TRACER_IDLE;
	} while (!atomic_compare_exchange_weak(&tracer->phase, &phase, wanted));
}

/* Applies a change, for launches from now on. */
static void apply(struct tracer *tracer)
{
	struct gpu_event event = {.type = GPU_EVENT_RANGE, .range = {.is_open = is_open()}};

	set_idle(tracer, !event.range.is_open);
	event.range.time_ns = clock_now_ns();
	sink_put(&tracer->sink, &event);
}

/* Adds to the counts. A child of fork may have the lock as another thread left it. */
static void change(int nvtx, int cuda)
{
	struct guest guest;
	bool was_open;

	if (ranges.pid != getpid())
		return;
	guest_enter(&guest);
	pthread_mutex_lock(&ranges.lock);
	was_open = is_open();
	ranges.open += (uint32_t)nvtx;
	ranges.cuda_is_on = cuda < 0 ? ranges.cuda_is_on : cuda;
	if (ranges.tracer && was_open != is_open())
		apply(ranges.tracer);
	pthread_mutex_unlock(&ranges.lock);
	guest_leave(&guest);
}

void recorded_range_enter(void)
{
	change(1, -1);
}

void recorded_range_leave(void)
{
	change(-1, -1);
}

void recorded_range_set_cuda(bool is_on)
{
	change(0, is_on);
}

void recorded_range_begin(struct tracer *tracer)
{
	if (!are_chosen())
		return;
	pthread_mutex_lock(&ranges.lock);
	ranges.tracer = tracer;
	apply(tracer);
	pthread_mutex_unlock(&ranges.lock);
}
