/* SPDX-License-Identifier: MIT */
/*
 * The stand-ins of CUPTI's versions step by records as the real libraries do.
 *
 * A library needs neither driver nor GPU to step through a buffer of records, and so reveals its
 * records' sizes. Libraries come from $CUDA_HOME, and from build/cupti, where scripts/get_cupti
 * puts them. Each library is loaded in a child process.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../../cupti_trace/core/cupti_abi.h"

#define KINDS 64
#define PATHS 32

struct library {
	char path[1024];
	uint32_t version;      /* 0: it does not load */
	int64_t stride[KINDS]; /* bytes from a record of the kind to the next; -1: no such kind */
};

static int64_t stride_of(int (*next)(uint8_t *, size_t, struct cupti_abi_activity **),
			 uint32_t kind)
{
	static uint32_t buffer[2048] __attribute__((aligned(64)));
	struct cupti_abi_activity *record = NULL, *first;

	for (size_t i = 0; i < sizeof(buffer) / sizeof(buffer[0]); i++)
		buffer[i] = kind; /* a record begins with its kind, wherever that is */
	if (next((uint8_t *)buffer, sizeof(buffer), &record) != 0)
		return -1;
	first = record;
	if (next((uint8_t *)buffer, sizeof(buffer), &record) != 0)
		return -1;
	return (uint8_t *)record - (uint8_t *)first;
}

static void look_at(struct library *library)
{
	int (*next)(uint8_t *, size_t, struct cupti_abi_activity **);
	void *handle = dlopen(library->path, RTLD_NOW | RTLD_LOCAL);
	int (*version)(uint32_t *);

	library->version = 0;
	if (!handle)
		return;
	*(void **)&version = dlsym(handle, "cuptiGetVersion");
	*(void **)&next = dlsym(handle, "cuptiActivityGetNextRecord");
	if (!version || !next || version(&library->version) != 0)
		return;
	for (uint32_t kind = 0; kind < KINDS; kind++)
		library->stride[kind] = stride_of(next, kind);
}

static void load(struct library *library, const char *path)
{
	int ends[2], status;
	pid_t child;

	snprintf(library->path, sizeof(library->path), "%s", path);
	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		look_at(library);
		_exit(write(ends[1], library, sizeof(*library)) == (ssize_t)sizeof(*library) ? 0
											     : 1);
	}
	close(ends[1]);
	if (read(ends[0], library, sizeof(*library)) != (ssize_t)sizeof(*library))
		library->version = 0;
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
}

static uint32_t load_all(struct library *libraries, uint32_t count, const char *pattern)
{
	glob_t found;

	if (glob(pattern, 0, NULL, &found) != 0)
		return count;
	for (size_t i = 0; i < found.gl_pathc && count < PATHS; i++) {
		load(&libraries[count], found.gl_pathv[i]);
		if (libraries[count].version != 0)
			count++;
	}
	globfree(&found);
	return count;
}

static void compare(const struct library *real, const struct library *fake)
{
	uint32_t compared = 0;

	for (uint32_t kind = 1; kind < KINDS; kind++) {
		if (fake->stride[kind] < 0)
			continue;
		compared++;
		if (fake->stride[kind] != real->stride[kind])
			fail_msg("records of kind %u: %lld bytes in %s, %lld in %s", kind,
				 (long long)real->stride[kind], real->path,
				 (long long)fake->stride[kind], fake->path);
	}
	assert_true(compared >= 9);
	print_message("%u kinds of records are as large as in %s, version %u\n", compared,
		      real->path, real->version);
}

static void records_are_as_large_as_in_real_libraries(void **state)
{
	static struct library reals[PATHS], fakes[PATHS];
	const char *home = getenv("CUDA_HOME"), *folder = getenv("FAKE_CUDA_DIR");
	uint32_t real_count = 0, fake_count = 0, compared = 0;
	char pattern[1024];

	(void)state;
	assert_non_null(folder);
	snprintf(pattern, sizeof(pattern), "%s/lib*/libcupti.so", home ? home : "/usr/local/cuda");
	real_count = load_all(reals, real_count, pattern);
	real_count = load_all(reals, real_count, "build/cupti/*/lib/libcupti.so");
	snprintf(pattern, sizeof(pattern), "%s/libcupti.so.*", folder);
	fake_count = load_all(fakes, fake_count, pattern);
	snprintf(pattern, sizeof(pattern), "%s/*/libcupti.so.*", folder);
	fake_count = load_all(fakes, fake_count, pattern);
	assert_true(fake_count >= 6);
	for (uint32_t i = 0; i < real_count; i++)
		for (uint32_t j = 0; j < fake_count; j++)
			if (reals[i].version == fakes[j].version) {
				compare(&reals[i], &fakes[j]);
				compared++;
			}
	if (compared == 0) {
		print_message(
			"SKIP: no real libcupti here: set CUDA_HOME, or run scripts/get_cupti\n");
		skip();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_as_large_as_in_real_libraries),
	};

	if (!getenv("FAKE_CUDA_DIR")) {
		printf("1..0 # SKIP FAKE_CUDA_DIR is not set: the stand-ins have not been built\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
