// SPDX-License-Identifier: MIT
#include "cupti_trace/launch_path.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define OWN_FRAMES 16 /* of this library, at most, inside of CUPTI's */

struct side {
	uint32_t count;
	uint64_t pcs[LAUNCH_PATH_FRAMES];
};

struct path {
	const char *function;
	struct side runtime, driver;
};

/* One for the process. All but the flags is under the lock. */
static struct {
	pthread_mutex_t lock;
	struct path list[LAUNCH_PATHS_MAX];
	uint32_t count;
	uint64_t direct[LAUNCH_PATH_DIRECT]; /* call sites */
	uint32_t direct_count;
	uint64_t changed_ns; /* the last time that something was learned, or that they were turned
				on */
	uint32_t returns;
	bool is_on; /* the runtime's callbacks are */
	bool needs; /* they are needed again */
	_Atomic bool stays_on;
} paths = {.lock = PTHREAD_MUTEX_INITIALIZER, .is_on = true};

static bool begins_with(const uint64_t *pcs, uint32_t count, const struct side *side)
{
	return count > side->count && memcmp(pcs, side->pcs, side->count * sizeof(*pcs)) == 0;
}

static bool is_same(const struct side *a, const struct side *b)
{
	return a->count == b->count && memcmp(a->pcs, b->pcs, a->count * sizeof(*a->pcs)) == 0;
}

static void set_side(struct side *side, const uint64_t *pcs, uint32_t count)
{
	side->count = count;
	memcpy(side->pcs, pcs, count * sizeof(*pcs));
}

static void stay_on(void)
{
	atomic_store(&paths.stays_on, true);
}

/* The same way through the driver, but another through the runtime: they cannot be told apart. */
static bool is_known(const struct path *path)
{
	for (uint32_t i = 0; i < paths.count; i++) {
		const struct path *known = &paths.list[i];

		if (!is_same(&known->driver, &path->driver))
			continue;
		if (known->function != path->function || !is_same(&known->runtime, &path->runtime))
			stay_on();
		return true;
	}
	return false;
}

void launch_path_learn(const char *function, const uint64_t *runtime, uint32_t runtime_count,
		       const uint64_t *driver, uint32_t driver_count, uint64_t now_ns)
{
	struct path path = {.function = function};

	while (runtime_count > 0 && driver_count > 0 &&
	       runtime[runtime_count - 1] == driver[driver_count - 1])
		runtime_count--, driver_count--;
	if (runtime_count > LAUNCH_PATH_FRAMES || driver_count > LAUNCH_PATH_FRAMES ||
	    driver_count == 0) {
		stay_on();
		return;
	}
	set_side(&path.runtime, runtime, runtime_count);
	set_side(&path.driver, driver, driver_count);
	pthread_mutex_lock(&paths.lock);
	if (!is_known(&path)) {
		if (paths.count == LAUNCH_PATHS_MAX)
			stay_on();
		else
			memcpy(&paths.list[paths.count++], &path, sizeof(path));
		paths.changed_ns = now_ns;
	}
	pthread_mutex_unlock(&paths.lock);
}

/* The longest that the stack begins with, and how many of this library's frames are before it. */
static const struct path *find(const uint64_t *pcs, uint32_t count, uint32_t *before)
{
	const struct path *found = NULL;

	for (uint32_t skip = 0; !found && skip < OWN_FRAMES && skip < count; skip++)
		for (uint32_t i = 0; i < paths.count; i++) {
			const struct path *path = &paths.list[i];

			if (!begins_with(pcs + skip, count - skip, &path->driver) ||
			    (found && found->driver.count >= path->driver.count))
				continue;
			found = path;
			*before = skip;
		}
	return found;
}

static void replace(const struct path *path, uint32_t before, uint64_t *pcs, uint64_t *sps,
		    uint32_t *count, uint32_t max)
{
	uint32_t from = before + path->driver.count, to = before + path->runtime.count;
	uint32_t left = *count - from;
	uint64_t outside = sps ? sps[from] : 0;

	if (to + left > max)
		left = max - to;
	memmove(pcs + to, pcs + from, left * sizeof(*pcs));
	memcpy(pcs + before, path->runtime.pcs, path->runtime.count * sizeof(*pcs));
	if (sps)
		memmove(sps + to, sps + from, left * sizeof(*sps));
	/* in their order, inside of the program's */
	for (uint32_t i = before; sps && i < to; i++)
		sps[i] = outside - (to - i) * sizeof(uint64_t);
	*count = to + left;
}

bool launch_path_replace(uint64_t *pcs, uint64_t *sps, uint32_t *count, uint32_t max,
			 const char **function)
{
	const struct path *path;
	uint32_t before = 0;

	pthread_mutex_lock(&paths.lock);
	path = find(pcs, *count, &before);
	if (path) {
		replace(path, before, pcs, sps, count, max);
		*function = path->function;
	}
	pthread_mutex_unlock(&paths.lock);
	return path;
}

static bool has_direct(uint64_t call_site)
{
	for (uint32_t i = 0; i < paths.direct_count; i++)
		if (paths.direct[i] == call_site)
			return true;
	return false;
}

bool launch_path_is_direct(uint64_t call_site, uint64_t now_ns)
{
	bool is_direct;

	pthread_mutex_lock(&paths.lock);
	is_direct = has_direct(call_site);
	if (!is_direct && paths.is_on) {
		is_direct = true;
		paths.changed_ns = now_ns;
		if (paths.direct_count == LAUNCH_PATH_DIRECT)
			stay_on();
		else
			paths.direct[paths.direct_count++] = call_site;
	}
	if (!is_direct)
		paths.needs = true;
	pthread_mutex_unlock(&paths.lock);
	return is_direct;
}

void launch_path_is_missing(void)
{
	stay_on();
}

bool launch_path_wants_runtime(uint64_t now_ns)
{
	bool wants;

	if (atomic_load_explicit(&paths.stays_on, memory_order_relaxed))
		return true;
	pthread_mutex_lock(&paths.lock);
	wants = paths.needs || paths.count == 0 ||
		(paths.is_on && now_ns - paths.changed_ns < LAUNCH_PATH_QUIET_NS);
	pthread_mutex_unlock(&paths.lock);
	return wants;
}

void launch_path_runtime_is(bool on, uint64_t now_ns)
{
	pthread_mutex_lock(&paths.lock);
	if (on && !paths.is_on) {
		paths.changed_ns = now_ns;
		paths.needs = false;
		if (++paths.returns >= LAUNCH_PATH_RETURNS)
			stay_on();
	}
	paths.is_on = on;
	pthread_mutex_unlock(&paths.lock);
}

uint32_t launch_path_count(void)
{
	uint32_t count;

	pthread_mutex_lock(&paths.lock);
	count = paths.count;
	pthread_mutex_unlock(&paths.lock);
	return count;
}

void launch_path_forget(void)
{
	pthread_mutex_lock(&paths.lock);
	paths.count = paths.direct_count = 0;
	pthread_mutex_unlock(&paths.lock);
}
