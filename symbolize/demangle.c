/* SPDX-License-Identifier: MIT */
#include "symbolize/demangle.h"

#include <ctype.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

/*
 * libiberty's own limits refuse names longer than about 1 KiB, which template-heavy GPU kernels
 * exceed. Without the limits its recursion may take kilobytes of stack for each byte of the name,
 * so long names are demangled on a thread with a stack for the worst one.
 */
#define SHORT_NAME 1000
#define LONG_NAME_STACK (192u << 20)

struct job {
	const char *mangled;
	enum demangle_style style;
	int limits;   /* 0 or DMGL_NO_RECURSE_LIMIT */
	char *output; /* DEMANGLE_MAX_OUTPUT + 1 bytes */
	size_t length;
	bool done;
	jmp_buf overflow;
};

/*
 * libiberty offers no way to stop but this: its callback form allocates on the stack alone, so a
 * jump out of the callback leaks nothing.
 */
static void append(const char *text, size_t length, void *opaque)
{
	struct job *job = opaque;

	if (length > DEMANGLE_MAX_OUTPUT - job->length)
		longjmp(job->overflow, 1);
	memcpy(job->output + job->length, text, length);
	job->length += length;
}

static void run(struct job *job)
{
	int options = DMGL_ANSI;

	if (job->style == DEMANGLE_SIGNATURE)
		options |= DMGL_PARAMS | DMGL_RET_DROP;
	if (setjmp(job->overflow) != 0) {
		job->done = false;
		return;
	}
	/* Rust first: its legacy names are valid C++ names too, with the hash as one more part. */
	job->done = rust_demangle_callback(job->mangled, options, append, job) != 0;
	if (!job->done) {
		job->length = 0;
		job->done = cplus_demangle_v3_callback(job->mangled, options | job->limits, append,
						       job) != 0;
	}
}

static void *run_on_thread(void *opaque)
{
	run(opaque);
	return NULL;
}

static void run_on_large_stack(struct job *job)
{
	pthread_attr_t attributes;
	sigset_t all, previous;
	pthread_t thread;
	bool started;

	if (pthread_attr_init(&attributes) != 0)
		return;
	/* Signals stay with the thread that expects them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &previous);
	started = pthread_attr_setstacksize(&attributes, LONG_NAME_STACK) == 0 &&
		  pthread_create(&thread, &attributes, run_on_thread, job) == 0;
	pthread_sigmask(SIG_SETMASK, &previous, NULL);
	if (started)
		pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
}

/* Whether name[0..length) ends with `suffix`; if so `*length` becomes what is left. */
static bool cut_suffix(const char *name, size_t *length, const char *suffix)
{
	size_t size = strlen(suffix);

	if (*length <= size || memcmp(name + *length - size, suffix, size) != 0)
		return false;
	*length -= size;
	return true;
}

/*
 * What compilers append to the parts and variants of one function, singly or in a row:
 * ".cold", ".part.0", ".constprop.0", ".isra.0", ".lto_priv.0", ".llvm.123" and so on.
 */
static bool cut_clone_suffix(const char *name, size_t *length)
{
	static const char *const numbered[] = {".part",     ".constprop", ".isra",  ".llvm",
					       ".lto_priv", ".cold",      ".clone", ".localalias",
					       ".__uniq",   ".resolver"};
	static const char *const bare[] = {".cold", ".localalias", ".part", ".isra", ".constprop"};
	size_t digits = *length;

	while (digits > 0 && isdigit((unsigned char)name[digits - 1]))
		digits--;
	if (digits < *length && digits > 1 && name[digits - 1] == '.') {
		size_t stem = digits - 1;

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

/* The symbol without clone suffixes and version: "_Zfoo.cold@@LIB_1" -> "_Zfoo". */
static char *stem_of(const char *name, bool *is_plt)
{
	size_t length = strlen(name);
	const char *at;

	*is_plt = cut_suffix(name, &length, "@plt");
	at = memchr(name, '@', length);
	/* A name that begins with the sign (an assembler's whim) is not a version. */
	if (at && at != name)
		length = (size_t)(at - name);
	while (cut_clone_suffix(name, &length))
		;
	return strndup(name, length);
}

/* Cuts the " [clone .x]" that libiberty prints for suffixes unknown to cut_clone_suffix. */
static void cut_clone_notes(char *output)
{
	char *note = strstr(output, " [clone .");

	if (note)
		*note = '\0';
}

static char *finish(char *stem, const char *shown, bool is_plt)
{
	size_t length = strlen(shown);
	char *result = malloc(length + sizeof("@plt"));

	if (result) {
		memcpy(result, shown, length + 1);
		if (is_plt)
			memcpy(result + length, "@plt", sizeof("@plt"));
	}
	free(stem);
	return result;
}

char *demangle(const char *name, enum demangle_style style)
{
	struct job job = {.style = style};
	char *stem, *result;
	bool is_plt;

	if (strlen(name) > DEMANGLE_MAX_INPUT)
		return strdup(name);
	stem = stem_of(name, &is_plt);
	if (!stem)
		return NULL;
	if (strncmp(stem, "_Z", 2) != 0 && strncmp(stem, "_R", 2) != 0)
		return finish(stem, stem, is_plt);

	job.mangled = stem;
	job.output = malloc(DEMANGLE_MAX_OUTPUT + 1);
	if (!job.output) {
		free(stem);
		return NULL;
	}
	if (strlen(stem) <= SHORT_NAME) {
		run(&job);
	} else {
		job.limits = DMGL_NO_RECURSE_LIMIT;
		run_on_large_stack(&job);
	}
	if (job.done && job.length > 0) {
		job.output[job.length] = '\0';
		cut_clone_notes(job.output);
		result = finish(stem, job.output, is_plt);
	} else {
		result = finish(stem, stem, is_plt);
	}
	free(job.output);
	return result;
}
