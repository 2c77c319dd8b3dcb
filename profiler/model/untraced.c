// SPDX-License-Identifier: MIT
#include "profiler/model/untraced.h"

#include <stdlib.h>
#include <string.h>
#include "symbolize/util/text.h"

#define GLIBC_FILE "libc-2." /* glibc before 2.34; later ones are libc.so.6 themselves */
#define GLIBC_VERSION "GLIBC_2."
#define GLIBC_MINOR_MAX 999

const char *untraced_cause_text(enum untraced_cause cause)
{
	static const char *const texts[UNTRACED_CAUSES] = {
		[UNTRACED_NOT_KNOWN] = "cause unknown: the process could not be inspected",
		[UNTRACED_NOT_FOUND] = "no cause was found",
		[UNTRACED_OTHER_LIBC] = "a C library other than glibc",
		[UNTRACED_OLD_LIBC] = "a glibc older than the one that profile was built with",
		[UNTRACED_NO_VARIABLE] = "no CUDA_INJECTION64_PATH in the environment",
		[UNTRACED_OTHER_LIBRARY] =
			"another tool's injection library in CUDA_INJECTION64_PATH",
		[UNTRACED_OTHER_FILES] = "other files than profile's under /tmp or /",
		[UNTRACED_OTHER_USER] = "another user, who may not read profile's files",
		[UNTRACED_NO_EXEC] = "profile's files on a file system mounted noexec",
		[UNTRACED_FILTERED] = "a filter of system calls (seccomp)",
		[UNTRACED_NO_PIPE_NAMED] = "another PROFILE_PIPE in the environment, or none",
		[UNTRACED_NO_PIPE] = "the file that PROFILE_PIPE names is gone",
		[UNTRACED_SECURE] =
			"a program with more privileges than its user (setuid or setcap)",
		[UNTRACED_PIPE_CLOSED] = "no right to write to the file that PROFILE_PIPE names",
	};

	return texts[cause];
}

static uint32_t minor_of(const char *digits)
{
	char *end;
	unsigned long minor = strtoul(digits, &end, 10);

	return end == digits || minor > GLIBC_MINOR_MAX ? 0 : (uint32_t)minor;
}

void untraced_note_file(struct untraced_libc *libc, const char *name)
{
	/* glibc's libc.so is a linker script, which is never mapped */
	libc->is_other |= starts_with(name, "ld-musl-") || starts_with(name, "libc.musl-") ||
			  strcmp(name, "libc.so") == 0;
	if (starts_with(name, GLIBC_FILE))
		libc->glibc_minor = minor_of(name + strlen(GLIBC_FILE));
}

/* Finds version names, which are texts in the library. */
uint32_t untraced_glibc_of(const void *library, uint64_t size)
{
	const char *at = library, *end = at + size;
	const size_t length = strlen(GLIBC_VERSION);
	char digits[8] = "";
	uint32_t newest = 0;

	for (; (at = memmem(at, (size_t)(end - at), GLIBC_VERSION, length)); at += length) {
		size_t left = (size_t)(end - at) - length;
		uint32_t minor;

		memset(digits, 0, sizeof(digits));
		memcpy(digits, at + length, left < sizeof(digits) - 1 ? left : sizeof(digits) - 1);
		minor = minor_of(digits);
		if (minor > newest)
			newest = minor;
	}
	return newest;
}

enum untraced_cause untraced_find_cause(const struct untraced_signs *s)
{
	if (s->libc.is_other)
		return UNTRACED_OTHER_LIBC;
	if (s->libc.glibc_minor && s->libc.glibc_minor < s->needed_glibc_minor)
		return UNTRACED_OLD_LIBC;
	if (s->environment.is_known && !s->environment.has_variable)
		return UNTRACED_NO_VARIABLE;
	if (s->environment.is_known && !s->environment.names_library)
		return UNTRACED_OTHER_LIBRARY;
	if (s->is_secure)
		return UNTRACED_SECURE;
	if (s->is_other_user)
		return UNTRACED_OTHER_USER;
	if (s->files.are_known && !s->files.have_library)
		return UNTRACED_OTHER_FILES;
	if (s->files.are_known && s->files.are_noexec)
		return UNTRACED_NO_EXEC;
	if (s->environment.is_known && !s->environment.names_pipe)
		return UNTRACED_NO_PIPE_NAMED;
	if (s->files.are_known && !s->files.have_pipe)
		return UNTRACED_NO_PIPE;
	if (s->files.are_known && !s->files.may_write_pipe)
		return UNTRACED_PIPE_CLOSED;
	if (s->is_filtered)
		return UNTRACED_FILTERED;
	return s->environment.is_known && s->files.are_known ? UNTRACED_NOT_FOUND
							     : UNTRACED_NOT_KNOWN;
}

/* Returns whether CUDA was used. NVML accounts for one open device. */
static bool has_used(const struct untraced_use *use)
{
	return use->has_called || use->opened > use->has_nvml;
}

enum untraced_verdict untraced_judge(const struct untraced_use *use, enum untraced_cause cause)
{
	if (has_used(use))
		return UNTRACED_LACKS;
	if (use->is_exact && !use->has_device)
		return UNTRACED_IS_IDLE;
	return cause == UNTRACED_NOT_KNOWN || untraced_is_obstacle(cause) ? UNTRACED_MAY_LACK
									  : UNTRACED_IS_IDLE;
}
