// SPDX-License-Identifier: MIT
#include "cupti_trace/launch_path.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include "symbolize/hash.h"

struct frames {
	uint32_t count;
	uint64_t pcs[LAUNCH_PATH_FRAMES];
};

struct way {
	const char *function;
	struct frames frames; /* in the runtime's callback */
};

struct path {
	uint32_t way;
	struct frames frames; /* in the driver's callback */
};

struct user {
	uint64_t hash; /* 0: none */
	uint32_t way;
};

/* One for the process. All but the flag is under the lock. */
static struct {
	pthread_mutex_t lock;
	struct way ways[LAUNCH_PATHS_MAX];
	struct path paths[LAUNCH_PATHS_MAX];
	uint32_t way_count, path_count;
	struct user users[LAUNCH_PATH_USERS]; /* by hash; a new one takes an old one's place */
	uint64_t direct[LAUNCH_PATH_DIRECT];  /* call sites */
	uint32_t direct_count;
	uint64_t changed_ns; /* when last a way was learned, or the runtime's were turned on */
	uint64_t on_ns;      /* when they were; 0: from the beginning */
	uint32_t returns;
	bool is_on; /* the runtime's callbacks are */
	bool needs; /* they are needed again */
	_Atomic bool stays_on;
	_Atomic uint32_t launches; /* since `changed_ns` */
} known = {.lock = PTHREAD_MUTEX_INITIALIZER, .is_on = true};

static void stay_on(void)
{
	atomic_store(&known.stays_on, true);
}

static void note_change(uint64_t now_ns)
{
	known.changed_ns = now_ns;
	atomic_store(&known.launches, 0);
}

static void set_frames(struct frames *frames, const uint64_t *pcs, uint32_t count)
{
	frames->count = count;
	memcpy(frames->pcs, pcs, count * sizeof(*pcs));
}

static bool is_same(const struct frames *frames, const uint64_t *pcs, uint32_t count)
{
	return frames->count == count && memcmp(frames->pcs, pcs, count * sizeof(*pcs)) == 0;
}

/* ---- user stacks ---- */

/* From the outermost frame on, so that one pass gives the hashes of all outer parts of a stack. */
static uint64_t hash_outwards(uint64_t hash, uint64_t pc)
{
	hash = hash_step(hash, pc, 0);
	return hash ? hash : 1;
}

static struct user *user_slot(uint64_t hash)
{
	return &known.users[hash_finish(hash) % LAUNCH_PATH_USERS];
}

static void add_user(const uint64_t *pcs, uint32_t count, uint32_t way)
{
	uint64_t hash = hash_seed.first;

	for (uint32_t i = count; i > 0; i--)
		hash = hash_outwards(hash, pcs[i - 1]);
	*user_slot(hash) = (struct user){.hash = hash, .way = way};
}

/* The largest user stack that this one ends with, and how many frames are inside of it; NULL: none.
 */
static const struct user *find_user(const uint64_t *pcs, uint32_t count, uint32_t *inside)
{
	const struct user *found = NULL;
	uint64_t hash = hash_seed.first;

	for (uint32_t i = count; i > 1; i--) {
		const struct user *user;

		hash = hash_outwards(hash, pcs[i - 1]);
		user = user_slot(hash);
		if (user->hash != hash)
			continue;
		found = user;
		*inside = i - 1;
	}
	return found;
}

/* ---- calls of the driver ---- */

static bool has_direct(uint64_t call_site)
{
	for (uint32_t i = 0; i < known.direct_count; i++)
		if (known.direct[i] == call_site)
			return true;
	return false;
}

/* ---- ways and paths ---- */

/* LAUNCH_PATHS_MAX: there is no room. */
static uint32_t way_of(const char *function, const uint64_t *pcs, uint32_t count, uint64_t now_ns)
{
	uint32_t at = 0;

	while (at < known.way_count && !(known.ways[at].function == function &&
					 is_same(&known.ways[at].frames, pcs, count)))
		at++;
	if (at < known.way_count || at == LAUNCH_PATHS_MAX)
		return at;
	note_change(now_ns);
	known.ways[at].function = function;
	set_frames(&known.ways[at].frames, pcs, count);
	known.way_count++;
	return at;
}

void launch_path_learn(const char *function, const uint64_t *runtime, uint32_t runtime_count,
		       const uint64_t *driver, uint32_t driver_count, uint64_t now_ns)
{
	uint32_t inside = runtime_count, way;

	while (inside > 0 && driver_count > 0 && runtime[inside - 1] == driver[driver_count - 1])
		inside--, driver_count--;
	if (inside == runtime_count)
		return; /* nothing of the program */
	if (inside > LAUNCH_PATH_FRAMES) {
		stay_on();
		return;
	}
	pthread_mutex_lock(&known.lock);
	/* what calls either by an address that it is given shows nothing of either */
	if (has_direct(runtime[inside])) {
		pthread_mutex_unlock(&known.lock);
		return;
	}
	way = way_of(function, runtime, inside, now_ns);
	if (way < LAUNCH_PATHS_MAX)
		add_user(runtime + inside, runtime_count - inside, way);
	else
		stay_on();
	pthread_mutex_unlock(&known.lock);
}

/* The longest that the stack begins with, with something outside of it. */
static const struct path *find_path(const uint64_t *pcs, uint32_t count)
{
	const struct path *found = NULL;

	for (uint32_t i = 0; i < known.path_count; i++) {
		const struct path *path = &known.paths[i];

		if (count > path->frames.count && is_same(&path->frames, pcs, path->frames.count) &&
		    (!found || path->frames.count > found->frames.count))
			found = path;
	}
	return found;
}

/* The stack's user stack is known: so is its path, from now on. NULL: it cannot be kept. */
static const struct path *add_path(const uint64_t *pcs, uint32_t count, uint32_t way)
{
	struct path *path = &known.paths[known.path_count];

	if (known.path_count == LAUNCH_PATHS_MAX || count > LAUNCH_PATH_FRAMES) {
		stay_on();
		return NULL;
	}
	path->way = way;
	set_frames(&path->frames, pcs, count);
	known.path_count++;
	return path;
}

static const struct path *path_of(const uint64_t *pcs, uint32_t count)
{
	uint32_t inside = 0;
	const struct path *path = find_path(pcs, count);
	const struct user *user = find_user(pcs, count, &inside);

	if (!user)
		return path;
	if (!path || path->frames.count != inside)
		return add_path(pcs, inside, user->way);
	/* the same way through the driver, but not through the runtime: they cannot be told apart
	 */
	if (path->way != user->way)
		stay_on();
	return path;
}

static void replace(const struct path *path, uint64_t *pcs, uint64_t *sps, uint32_t *count,
		    uint32_t max)
{
	const struct frames *way = &known.ways[path->way].frames;
	uint32_t from = path->frames.count, to = way->count, left = *count - from;
	uint64_t outside = sps ? sps[from] : 0;

	if (to > max)
		to = max;
	if (left > max - to)
		left = max - to;
	memmove(pcs + to, pcs + from, left * sizeof(*pcs));
	memcpy(pcs, way->pcs, to * sizeof(*pcs));
	if (sps)
		memmove(sps + to, sps + from, left * sizeof(*sps));
	/* in their order, inside of the program's */
	for (uint32_t i = 0; sps && i < to; i++)
		sps[i] = outside - (to - i) * sizeof(uint64_t);
	*count = to + left;
}

bool launch_path_replace(uint64_t *pcs, uint64_t *sps, uint32_t *count, uint32_t max,
			 uint32_t before, const char **function)
{
	const struct path *path;
	uint32_t n = *count - before;

	pthread_mutex_lock(&known.lock);
	path = path_of(pcs + before, n);
	if (path) {
		replace(path, pcs + before, sps ? sps + before : NULL, &n, max - before);
		*function = known.ways[path->way].function;
		*count = before + n;
	}
	pthread_mutex_unlock(&known.lock);
	return path;
}

bool launch_path_is_direct(uint64_t call_site, uint64_t now_ns)
{
	bool is_direct;

	pthread_mutex_lock(&known.lock);
	is_direct = has_direct(call_site);
	/* one that was under way when they were turned on may be in a call of the runtime */
	if (!is_direct && known.is_on &&
	    (!known.on_ns || now_ns - known.on_ns >= LAUNCH_PATH_UNDER_WAY_NS)) {
		is_direct = true;
		note_change(now_ns);
		if (known.direct_count == LAUNCH_PATH_DIRECT)
			stay_on();
		else
			known.direct[known.direct_count++] = call_site;
	}
	if (!is_direct && !known.is_on)
		known.needs = true;
	pthread_mutex_unlock(&known.lock);
	return is_direct;
}

void launch_path_is_missing(void)
{
	stay_on();
}

void launch_path_launched(uint32_t count)
{
	atomic_fetch_add_explicit(&known.launches, count, memory_order_relaxed);
}

bool launch_path_wants_runtime(uint64_t now_ns)
{
	bool wants;

	if (atomic_load_explicit(&known.stays_on, memory_order_relaxed))
		return true;
	pthread_mutex_lock(&known.lock);
	wants = known.needs || known.way_count == 0 ||
		(known.is_on && (now_ns - known.changed_ns < LAUNCH_PATH_QUIET_NS ||
				 atomic_load(&known.launches) < LAUNCH_PATH_QUIET_LAUNCHES));
	pthread_mutex_unlock(&known.lock);
	return wants;
}

void launch_path_runtime_is(bool on, uint64_t now_ns)
{
	pthread_mutex_lock(&known.lock);
	if (on && !known.is_on) {
		known.on_ns = now_ns;
		note_change(now_ns);
		known.needs = false;
		if (++known.returns >= LAUNCH_PATH_RETURNS)
			stay_on();
	}
	known.is_on = on;
	pthread_mutex_unlock(&known.lock);
}

uint32_t launch_path_count(void)
{
	uint32_t count;

	pthread_mutex_lock(&known.lock);
	count = known.way_count;
	pthread_mutex_unlock(&known.lock);
	return count;
}

void launch_path_forget(void)
{
	pthread_mutex_lock(&known.lock);
	known.way_count = known.path_count = known.direct_count = 0;
	memset(known.users, 0, sizeof(known.users));
	pthread_mutex_unlock(&known.lock);
}
