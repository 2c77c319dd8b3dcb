/* SPDX-License-Identifier: MIT */
/*
 * Reading interpreters' files: the installed ones, files that are none, and files that break off or
 * are damaged.
 */
#include "unit.h"
#include <glob.h>
#include "symbolize/python_image.h"

static void names_of_candidates(void **state)
{
	(void)state;
	assert_true(python_image_is_candidate("/usr/bin/python3.11"));
	assert_true(python_image_is_candidate("/opt/lib/libpython3.12.so.1.0"));
	assert_true(python_image_is_candidate("python"));
	assert_false(python_image_is_candidate("/opt/python3/bin/gcc"));
	assert_false(python_image_is_candidate("/usr/lib/libtorch_python.so"));
	assert_false(python_image_is_candidate(""));
}

static void other_programs_are_none(void **state)
{
	static const char *const paths[] = {"/proc/self/exe", "/etc/passwd", "/dev/null"};
	struct python_image image;

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		int fd = open(paths[i], O_RDONLY | O_CLOEXEC);

		assert_true(fd >= 0);
		assert_true(python_image_read(fd, "python3.11", NULL, &image) < 0);
		close(fd);
	}
}

/* Returns the installed interpreters, by one pattern each. The first one found is for `damage`. */
static glob_t installed(void)
{
	glob_t found = {0};

	glob("/usr/bin/python3.[0-9]*[0-9]", 0, NULL, &found);
	glob("/usr/lib/x86_64-linux-gnu/libpython3.*.so.1.0", GLOB_APPEND, NULL, &found);
	glob("~/.pyenv/versions/3.*/lib/libpython3.*.so.1.0", GLOB_APPEND | GLOB_TILDE, NULL,
	     &found);
	glob("build/python/3.*/usr/bin/python3.[0-9]*[0-9]", GLOB_APPEND, NULL, &found);
	return found;
}

static void installed_interpreters_are_read(void **state)
{
	glob_t found = installed();

	(void)state;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *path = found.gl_pathv[i];
		unsigned long minor = strtoul(strstr(path, "python3.") + 8, NULL, 10);
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		struct python_image image;
		int err = python_image_read(fd, path, NULL, &image);
		const struct python_loop *loop = &image.loop;

		close(fd);
		print_message("%s: %d, %x, %u parts\n", path, err, image.hex, loop->count);
		if (err == -ENOENT)
			continue; /* a small executable that uses a libpython */
		if (minor < 8 || minor > 15) {
			assert_int_equal(err, -ENOTSUP);
			assert_int_equal(image.hex >> 16, 0x300 + minor);
			continue;
		}
		assert_int_equal(err, 0);
		assert_int_equal(image.offsets.version, 0x300 + minor);
		assert_true(image.runtime && image.code_type && image.text_type);
		assert_true(image.runtime_bytes > 500);
		assert_true(minor >= 12 || image.trampoline == PYTHON_TRAMPOLINE_NONE);
		print_message("trampolines of form %d\n", (int)image.trampoline);
		for (uint32_t k = 0; k < loop->count; k++) {
			const struct python_segment *segment = &image.segments[0];
			uint64_t start = loop->parts[k].start - segment->address + segment->offset;
			uint64_t size = loop->parts[k].end - loop->parts[k].start;

			assert_false(python_image_in_loop(&image, start));
			assert_true(python_image_in_loop(&image, start + 1));
			assert_true(python_image_in_loop(&image, start + size));
			assert_true(loop->parts[k].start >= loop->module_start);
			assert_true(loop->parts[k].end <= loop->module_end);
		}
		assert_false(python_loop_has_handlers(loop));
	}
	if (found.gl_pathc == 0)
		SKIP("no Python is installed");
	globfree(&found);
}

/* Replaces every name `from` in the copy with another name of equal length. */
static void rename_symbol(char *bytes, size_t size, const char *from)
{
	size_t length = strlen(from) + 1;

	for (char *at = bytes; (at = memmem(at, (size_t)(bytes + size - at), from, length)); at++)
		at[1] ^= 1;
}

/* An interpreter without symbols, stripped and linked statically: from 3.13 on the section
 * .PyRuntime suffices. */
static void interpreters_without_symbols_are_read(void **state)
{
	static const char *const names[] = {"_PyRuntime", "Py_Version", "_PyEval_EvalFrameDefault",
					    "PyCode_Type", "PyUnicode_Type"};
	glob_t found = installed();
	int checked = 0;

	(void)state;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct python_image image, without;
		int fd = open(found.gl_pathv[i], O_RDONLY | O_CLOEXEC), copy;
		struct stat st;
		char *bytes;

		if (python_image_read(fd, found.gl_pathv[i], NULL, &image) != 0 ||
		    image.offsets.version < 0x030d) {
			close(fd);
			continue;
		}
		assert_int_equal(fstat(fd, &st), 0);
		bytes = malloc((size_t)st.st_size);
		assert_non_null(bytes);
		assert_int_equal(pread(fd, bytes, (size_t)st.st_size, 0), st.st_size);
		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
			rename_symbol(bytes, (size_t)st.st_size, names[k]);
		copy = memfd_create("engine", MFD_CLOEXEC);
		assert_int_equal(write(copy, bytes, (size_t)st.st_size), st.st_size);
		assert_int_equal(python_image_read(copy, "/opt/engine", NULL, &without), 0);
		assert_int_equal(without.hex, image.hex);
		assert_true(without.runtime == image.runtime);
		assert_memory_equal(&without.offsets, &image.offsets, sizeof(image.offsets));
		assert_int_equal(without.loop.count, 0);
		assert_true(without.code_type == 0 && without.text_type == 0);
		checked++;
		free(bytes);
		close(copy);
		close(fd);
	}
	globfree(&found);
	if (checked == 0)
		SKIP("no Python from 3.13 on is installed");
}

/* Reads a copy of an interpreter that was spoilt in one way after the other. */
static void damaged_files_do_no_harm(void **state)
{
	uint64_t rounds = unit_rounds(3000) / 60;
	glob_t found = installed();
	struct stat st;
	char *bytes;
	int fd, copy;

	(void)state;
	if (found.gl_pathc == 0)
		SKIP("no Python is installed");
	fd = open(found.gl_pathv[found.gl_pathc - 1], O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	bytes = malloc((size_t)st.st_size);
	assert_non_null(bytes);
	assert_int_equal(pread(fd, bytes, (size_t)st.st_size, 0), st.st_size);
	copy = memfd_create("python", MFD_CLOEXEC);
	assert_true(copy >= 0);
	for (uint64_t round = 0; round < rounds; round++) {
		struct prng p = prng_round(round);
		uint64_t size = prng_chance(&p, 40) ? prng_below(&p, (uint64_t)st.st_size)
						    : (uint64_t)st.st_size;
		struct python_image image;

		assert_int_equal(pwrite(copy, bytes, size, 0), size);
		assert_int_equal(ftruncate(copy, (off_t)size), 0);
		for (int i = 0; i < 30 && size > 64; i++) {
			/* most of the relevant data is at the beginning */
			uint64_t at = prng_below(&p, prng_chance(&p, 50) ? 64 : size);
			char byte = (char)prng_u64(&p);

			assert_int_equal(pwrite(copy, &byte, 1, (off_t)(at < 16 ? at + 16 : at)),
					 1);
		}
		if (python_image_read(copy, "libpython3.10.so", NULL, &image) == 0)
			EXPECT(&p, image.loop.count >= 1 && image.loop.count <= PYTHON_LOOP_PARTS);
	}
	close(copy);
	close(fd);
	free(bytes);
	globfree(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_candidates),
		cmocka_unit_test(other_programs_are_none),
		cmocka_unit_test(installed_interpreters_are_read),
		cmocka_unit_test(interpreters_without_symbols_are_read),
		cmocka_unit_test(damaged_files_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
