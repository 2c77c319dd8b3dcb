/* SPDX-License-Identifier: MIT */
#include "symbolize/demangle.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <libiberty/demangle.h>
#include <stdatomic.h>
#include "symbolize/cython_symbol.h"
#include "symbolize/ocaml_symbol.h"
#include "symbolize/stable_symbol.h"
#include "symbolize/util/text.h"
#include "symbolize/util/worker_thread.h"

/*
 * libiberty's own limits refuse names longer than about 1 KiB, which template-heavy GPU kernels
 * exceed. Without the limits its recursion may need kilobytes of stack per byte of the name. So
 * long names are demangled on a thread with a stack for the worst case.
 */
#define SHORT_NAME 1000
#define LONG_NAME_STACK (192u << 20)

/*
 * CPU time is measured in ticks. The timer fires periodically while the thread runs, and each tick
 * during a name counts for that name. Setting the timer for each name would cost twice as much as
 * most names do. The second tick proves that one whole tick has passed.
 */
#define TICK_MS (DEMANGLE_NAME_MS / 2)
#define NAME_TICKS 2
#define RUN_TICKS (DEMANGLE_RUN_MS / TICK_MS)

/*
 * Ticks that a Rust name may take while libiberty holds a block. It allocates the block to decode a
 * non-ASCII identifier, and frees it after printing. A jump in between would leak. Decoding
 * LONGEST_DECODED bytes takes far less than a millisecond, and every decoded identifier is printed.
 */
#define SILENT_TICKS 8
#define LONGEST_DECODED 1000

/* Prefix of the host function that launches a kernel, before the symbol of the kernel. */
#define DEVICE_STUB "__device_stub_"

#ifndef sigev_notify_thread_id /* missing in glibc's headers until 2.38 */
#define sigev_notify_thread_id _sigev_un._tid
#endif

struct demangler {
	bool has_clock;
	pid_t pid;        /* process that made the clock: a child of fork has no timer */
	bool was_blocked; /* the signal was blocked in the thread that owns the clock */
	timer_t clock;
	uint32_t ticks; /* ticks of all names */
	uint64_t slow;
};

struct job {
	const char *mangled;
	enum demangle_style style;
	int limits;   /* 0 or DMGL_NO_RECURSE_LIMIT */
	char *output; /* DEMANGLE_MAX_OUTPUT + 1 bytes */
	size_t length;
	bool decodes;     /* libiberty may hold a block */
	bool allocates;   /* libiberty allocates: stopped in xmalloc, not by a tick */
	size_t allocated; /* bytes, ever */
	bool done;
	bool is_late;
	volatile sig_atomic_t ticks;
	sigjmp_buf end;
};

/* ---- the signal ---- */

/* The thread's current job. Only its own signal handler reads it. */
static __thread struct job *volatile running;

/* The disposition of a signal belongs to the whole process. */
static struct {
	pthread_mutex_t lock;
	unsigned int users;
	struct sigaction previous;
} disposition = {.lock = PTHREAD_MUTEX_INITIALIZER};

/*
 * Counts a tick. Anybody may send the signal, so a tick only proves that time has passed. The jump
 * is safe. All other signals are blocked, so it skips no other handler's frame. libiberty's
 * callback functions allocate on the stack only and take no locks, except as SILENT_TICKS tells.
 */
static void on_tick(int number)
{
	struct job *job = running;

	(void)number;
	if (!job)
		return;
	job->ticks++;
	if (!job->allocates && job->ticks >= NAME_TICKS + (job->decodes ? SILENT_TICKS : 0))
		siglongjmp(job->end, 1);
}

static int hold_disposition(void)
{
	/* SA_NODEFER: otherwise the jump would leave the signal blocked. */
	struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_NODEFER | SA_RESTART};
	int err = 0;

	sigemptyset(&action.sa_mask);
	pthread_mutex_lock(&disposition.lock);
	if (disposition.users == 0 &&
	    sigaction(DEMANGLE_SIGNAL, &action, &disposition.previous) != 0)
		err = -errno;
	else
		disposition.users++;
	pthread_mutex_unlock(&disposition.lock);
	return err;
}

static void release_disposition(void)
{
	pthread_mutex_lock(&disposition.lock);
	if (--disposition.users == 0)
		sigaction(DEMANGLE_SIGNAL, &disposition.previous, NULL);
	pthread_mutex_unlock(&disposition.lock);
}

/* Blocks all signals of the calling thread except the tick. */
static void let_ticks_in(sigset_t *previous)
{
	sigset_t others;

	sigfillset(&others);
	sigdelset(&others, DEMANGLE_SIGNAL);
	pthread_sigmask(SIG_SETMASK, &others, previous);
}

/* ---- the clock ---- */

/* Starts a timer on the calling thread's CPU time. Returns 0 or -errno. */
static int start_clock(timer_t *clock)
{
	const struct timespec tick = {.tv_nsec = TICK_MS * 1000000l};
	const struct itimerspec each = {.it_value = tick, .it_interval = tick};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID};
	int err = 0;

	event.sigev_signo = DEMANGLE_SIGNAL;
	event.sigev_notify_thread_id = gettid();
	if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, clock) != 0)
		return -errno;
	if (timer_settime(*clock, 0, &each, NULL) != 0) {
		err = -errno;
		timer_delete(*clock);
	}
	return err;
}

/* Starts the demangler's own clock, for the thread that first uses it. */
static int start_own_clock(struct demangler *d)
{
	sigset_t now;
	int err;

	if (d->has_clock && d->pid == getpid())
		return 0;
	err = hold_disposition();
	if (err)
		return err;
	err = start_clock(&d->clock);
	if (err) {
		release_disposition();
		return err;
	}
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	d->was_blocked = sigismember(&now, DEMANGLE_SIGNAL);
	d->has_clock = true;
	d->pid = getpid();
	return 0;
}

struct demangler *demangler_new(void)
{
	return calloc(1, sizeof(struct demangler));
}

void demangler_free(struct demangler *d)
{
	sigset_t tick;

	if (d && d->has_clock) {
		timer_delete(d->clock);
		/* A last tick may be pending: the installed handler ignores it. */
		sigemptyset(&tick);
		sigaddset(&tick, DEMANGLE_SIGNAL);
		if (!d->was_blocked)
			pthread_sigmask(SIG_UNBLOCK, &tick, NULL);
		release_disposition();
	}
	free(d);
}

uint64_t demangler_count_slow(const struct demangler *d)
{
	return d->slow;
}

/* ---- names of D ---- */

/*
 * libiberty's functions for D keep their text in memory of xmalloc and xrealloc, whose own versions
 * end the process without memory. These replace them. No lock is held in them, so a name can be
 * aborted here, for its time or its size. Its memory then leaks, so this is done a few times only.
 */
#define D_MAX_ALLOCATED (16u * DEMANGLE_MAX_OUTPUT) /* bytes; a text grows by doubling */
#define D_MAX_ABORTED 16

static _Atomic unsigned int d_aborted;

static void allow_allocation(size_t size)
{
	struct job *job = running;

	if (!job || !job->allocates)
		return;
	if (job->ticks >= NAME_TICKS || size > D_MAX_ALLOCATED - job->allocated) {
		d_aborted++;
		siglongjmp(job->end, 1);
	}
	job->allocated += size;
}

void *xmalloc(size_t size)
{
	void *block;

	allow_allocation(size);
	block = malloc(size ? size : 1);
	if (!block)
		allow_allocation(SIZE_MAX);
	return block;
}

void *xrealloc(void *old, size_t size)
{
	void *block;

	allow_allocation(size);
	block = realloc(old, size ? size : 1);
	if (!block)
		allow_allocation(SIZE_MAX);
	return block;
}

/* Removes the parameters at the end: "a.f!("x)").f(int)" -> "a.f!("x)").f". */
static void cut_parameters(char *name)
{
	char *last = NULL;
	int depth = 0;

	if (!name[0] || name[strlen(name) - 1] != ')')
		return;
	for (char *at = name; *at; at++) {
		if (*at == '"') { /* string in a template argument */
			at = strchr(at + 1, '"');
			if (!at)
				return;
		} else if (*at == '(') {
			if (depth++ == 0)
				last = at;
		} else if (*at == ')') {
			depth--;
		}
	}
	if (last && last > name && last[-1] != '!')
		*last = '\0';
}

static bool run_dlang(struct job *job)
{
	char *name;
	size_t length;

	if (d_aborted >= D_MAX_ABORTED)
		return false;
	job->allocates = true;
	name = dlang_demangle(job->mangled, DMGL_ANSI | DMGL_PARAMS);
	job->allocates = false;
	length = name ? strlen(name) : 0;
	if (length > 0 && length <= DEMANGLE_MAX_OUTPUT) {
		if (job->style == DEMANGLE_FUNCTION)
			cut_parameters(name);
		job->length = strlen(name);
		memcpy(job->output, name, job->length);
	}
	free(name);
	return job->length > 0;
}

/* ---- libiberty ---- */

/* Returns whether the text is of a decoded identifier of Rust: only these have such bytes. */
static bool is_decoded(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] >= 0x80)
			return true;
	return false;
}

/* Appends printed text. Only a jump can stop libiberty. */
static void append(const char *text, size_t length, void *opaque)
{
	struct job *job = opaque;

	if (job->ticks >= NAME_TICKS || length > DEMANGLE_MAX_OUTPUT - job->length) {
		/* Decoded text is in a block of libiberty: stop at the next text. */
		if (!job->decodes || !is_decoded(text, length))
			siglongjmp(job->end, 1);
		return;
	}
	memcpy(job->output + job->length, text, length);
	job->length += length;
}

/*
 * Returns whether libiberty may decode an identifier: "u", its length, punycode. May return true in
 * error, as such digits also occur in ordinary identifiers ("read_u32").
 */
static bool may_decode(const char *mangled, bool *is_too_long)
{
	unsigned long length;
	bool found = false;

	*is_too_long = false;
	if (!starts_with(mangled, "_R"))
		return false;
	for (const char *at = mangled; (at = strchr(at, 'u')); at++) {
		if (!isdigit((unsigned char)at[1]))
			continue;
		found = true;
		length = strtoul(at + 1, NULL, 10);
		if (length > LONGEST_DECODED && length <= strlen(at))
			*is_too_long = true;
	}
	return found;
}

static bool run_libiberty(struct job *job)
{
	int options = DMGL_ANSI;
	bool is_too_long;

	if (job->style == DEMANGLE_SIGNATURE)
		options |= DMGL_PARAMS | DMGL_RET_DROP;
	if (starts_with(job->mangled, "_D"))
		return run_dlang(job);
	job->decodes = may_decode(job->mangled, &is_too_long);
	if (is_too_long)
		return false;
	/* Rust first: its legacy names are valid C++ names, too, with the hash as a component. */
	if (rust_demangle_callback(job->mangled, options, append, job) != 0)
		return true;
	job->length = 0;
	return cplus_demangle_v3_callback(job->mangled, options | job->limits, append, job) != 0;
}

/* Demangles a name. Requires a running clock of the calling thread, and unblocked ticks. */
static void run(struct job *job)
{
	if (sigsetjmp(job->end, 0) == 0) {
		running = job;
		job->done = run_libiberty(job);
	} else {
		job->done = false;
		job->is_late = job->ticks >= NAME_TICKS;
	}
	running = NULL;
}

static void *run_on_thread(void *opaque)
{
	struct job *job = opaque;
	sigset_t ignored;
	timer_t clock;

	if (start_clock(&clock) != 0) {
		job->is_late = true;
		return NULL;
	}
	let_ticks_in(&ignored);
	run(job);
	timer_delete(clock);
	return NULL;
}

static void run_on_large_stack(struct job *job)
{
	pthread_t thread;

	if (worker_thread_start(&thread, LONG_NAME_STACK, run_on_thread, job) == 0)
		pthread_join(thread, NULL);
}

static void run_here(struct job *job)
{
	sigset_t previous;

	let_ticks_in(&previous);
	run(job);
	sigaddset(&previous, DEMANGLE_SIGNAL);
	pthread_sigmask(SIG_SETMASK, &previous, NULL);
}

/*
 * Demangles a name within its time. Without time left, or without a clock, the name stays mangled.
 */
static void run_in_time(struct demangler *d, struct job *job)
{
	if (d->ticks >= RUN_TICKS || start_own_clock(d) != 0) {
		job->is_late = true;
	} else if (strlen(job->mangled) <= SHORT_NAME) {
		run_here(job);
	} else {
		job->limits = DMGL_NO_RECURSE_LIMIT;
		run_on_large_stack(job);
	}
	d->ticks += (uint32_t)job->ticks;
	d->slow += job->is_late;
}

/* ---- around the mangled name ---- */

/* Returns whether name[0..length) ends with `suffix`; if so, removes it from `*length`. */
static bool cut_suffix(const char *name, size_t *length, const char *suffix)
{
	size_t size = strlen(suffix);

	if (*length <= size || memcmp(name + *length - size, suffix, size) != 0)
		return false;
	*length -= size;
	return true;
}

/*
 * Removes a suffix that compilers append to parts and variants of a function: ".cold", ".part.0",
 * ".constprop.0", ".isra.0", ".lto_priv.0", ".llvm.123" and so on. A name may have several.
 */
static bool cut_clone_suffix(const char *name, size_t *length)
{
	static const char *const numbered[] = {".part",     ".constprop", ".isra",  ".llvm",
					       ".lto_priv", ".cold",      ".clone", ".localalias",
					       ".__uniq",   ".resolver"};
	static const char *const bare[] = {".cold", ".localalias", ".part", ".isra", ".constprop"};
	size_t before = *length - count_last_digits(name, *length);

	if (before < *length && before > 1 && name[before - 1] == '.') {
		size_t stem = before - 1;

		for (size_t i = 0; i < sizeof(numbered) / sizeof(*numbered); i++) {
			if (cut_suffix(name, &stem, numbered[i])) {
				*length = stem;
				return true;
			}
		}
	}
	for (size_t i = 0; i < sizeof(bare) / sizeof(*bare); i++)
		if (cut_suffix(name, length, bare[i]))
			return true;
	return false;
}

/* Returns the symbol without clone suffixes and version: "_Zfoo.cold@@LIB_1" -> "_Zfoo". */
static char *stem_of(const char *name, bool *is_plt)
{
	size_t length = strlen(name);
	const char *at;

	*is_plt = cut_suffix(name, &length, "@plt");
	at = memchr(name, '@', length);
	/* a name that begins with "@" (possible in assembly) has no version */
	if (at && at != name)
		length = (size_t)(at - name);
	while (cut_clone_suffix(name, &length))
		;
	return strndup(name, length);
}

/* Removes the " [clone .x]" that libiberty prints for suffixes unknown to cut_clone_suffix. */
static void cut_clone_notes(char *output)
{
	char *note = strstr(output, " [clone .");

	if (note)
		*note = '\0';
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Removes the part that names a translation unit (stable_symbol.h). */
static void cut_internal(char *output)
{
	static const char scope[] = STABLE_SYMBOL_INTERNAL "::";
	char *to = output;

	for (const char *from = output; *from;) {
		if (starts_with(from, scope) && (to == output || !is_word(to[-1])))
			from += strlen(scope);
		else
			*to++ = *from++;
	}
	*to = '\0';
}

/* Joins the first `prefix` bytes of the symbol, the demangled text, and what was cut off. */
static char *finish(const struct stable_symbol *symbol, size_t prefix, const char *shown,
		    bool is_plt)
{
	char region[48] = "", *result = NULL;

	if (symbol->line)
		snprintf(region, sizeof(region), "::{OpenMP line %lu}", symbol->line);
	if (asprintf(&result, "%.*s%s%s%s", (int)prefix, symbol->text, shown, region,
		     is_plt ? "@plt" : "") < 0)
		return NULL;
	return result;
}

static char *demangle_symbol(struct demangler *d, const struct stable_symbol *symbol,
			     enum demangle_style style, bool is_plt)
{
	size_t prefix = starts_with(symbol->text, DEVICE_STUB) ? strlen(DEVICE_STUB) : 0;
	struct job job = {.style = style, .mangled = symbol->text + prefix};
	char *result;

	if (!starts_with(job.mangled, "_Z") && !starts_with(job.mangled, "_R") &&
	    !starts_with(job.mangled, "_D"))
		return finish(symbol, 0, symbol->text, is_plt);
	job.output = malloc(DEMANGLE_MAX_OUTPUT + 1);
	if (!job.output)
		return NULL;
	run_in_time(d, &job);
	if (job.done && job.length > 0) {
		job.output[job.length] = '\0';
		cut_clone_notes(job.output);
		cut_internal(job.output);
		result = finish(symbol, prefix, job.output, is_plt);
	} else {
		result = finish(symbol, 0, symbol->text, is_plt);
	}
	free(job.output);
	return result;
}

char *demangle(struct demangler *d, const char *name, enum demangle_style style)
{
	return demangle_in(d, name, style, NULL);
}

char *demangle_in(struct demangler *d, const char *name, enum demangle_style style,
		  const char *file)
{
	struct stable_symbol symbol;
	char *stem, *result = NULL;
	bool is_plt;

	if (strlen(name) > DEMANGLE_MAX_INPUT)
		return strdup(name);
	stem = stem_of(name, &is_plt);
	if (!stem)
		return NULL;
	if (style == DEMANGLE_FUNCTION && !is_plt)
		result = ocaml_symbol_is(stem) ? ocaml_symbol_name(stem)
					       : cython_symbol_name(stem, file);
	if (!result) {
		symbol = stable_symbol(stem);
		result = symbol.text ? demangle_symbol(d, &symbol, style, is_plt) : NULL;
		free(symbol.text);
	}
	free(stem);
	return result;
}
