/* SPDX-License-Identifier: MIT */
/* Classification of addresses as code or data in this process, detection of new code, and the
 * interval of reading mappings. */
#include "unit.h"
#include "cupti_trace/unwind/code_map.h"
#include "cupti_trace/unwind/code_ranges.h"

static char data[4096];

static uint64_t at(const void *address)
{
	return (uint64_t)(uintptr_t)address;
}

static char *map_code(void)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(page != MAP_FAILED);
	return page;
}

static void code_and_data(void **state)
{
	char *heap = malloc(100);
	int local;

	(void)state;
	assert_true(code_ranges_hold(at((const void *)(uintptr_t)map_code)));
	assert_true(code_ranges_hold(at((const void *)(uintptr_t)getpid)));
	assert_false(code_ranges_hold(at(data)));
	if (!getenv("UNDER_VALGRIND")) /* valgrind's heap is executable */
		assert_false(code_ranges_hold(at(heap)));
	assert_false(code_ranges_hold(at(&local)));
	assert_false(code_ranges_hold(0));
	assert_false(code_ranges_hold(UINT64_MAX));
	free(heap);
}

static void new_code(void **state)
{
	char *page;

	(void)state;
	code_ranges_expire();
	page = map_code();
	assert_true(code_ranges_hold(at(page)));
	assert_true(code_ranges_hold(at(page) + 4095));
	/* after a search for data, new code is found only once the ranges expire */
	assert_false(code_ranges_hold(at(data)));
	munmap(page, 4096);
	page = map_code();
	code_ranges_expire();
	assert_true(code_ranges_hold(at(page)));
	munmap(page, 4096);
}

/* Known ranges are found without reading the mappings. No code counts as the kernel's [uprobes]. */
static void what_is_known(void **state)
{
	char *page;

	(void)state;
	code_ranges_expire();
	assert_true(code_ranges_hold(at((const void *)(uintptr_t)getpid)));
	assert_true(code_ranges_have(at((const void *)(uintptr_t)getpid)));
	page = map_code();
	code_ranges_expire();
	assert_false(code_ranges_begin_uprobes(at(page)));
	assert_true(code_ranges_have(at(page)));
	assert_false(code_ranges_have(at(data)));
	assert_false(code_ranges_begin_uprobes(0));
	munmap(page, 4096);
}

/* The file of mappings stays open: the program may close it, and a child has mappings of its own.
 */
static void mappings_of_whoever_asks(void **state)
{
	struct code_map map = {0};
	char *page;
	int status;
	pid_t pid;

	(void)state;
	assert_non_null(code_map_look(&map, at((const void *)(uintptr_t)getpid)));
	pid = fork();
	if (pid == 0) {
		page = map_code();
		code_map_expire(&map);
		_exit(code_map_look(&map, at(page)) ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	for (int fd = 100; fd < 4096; fd++)
		close(fd);
	page = map_code();
	code_map_expire(&map);
	assert_non_null(code_map_look(&map, at(page)));
	munmap(page, 4096);
	free(map.entries);
	free(map.paths);
}

/* A reading in vain is followed by a pause, one that finds something by none. */
static void how_often_mappings_are_read(void **state)
{
	struct code_map map = {0};
	struct code_map_entry *entry;
	uint64_t next;
	char *page;

	(void)state;
	entry = code_map_look(&map, at((const void *)(uintptr_t)getpid));
	assert_non_null(entry);
	entry->sent = true;
	assert_ptr_equal(code_map_look(&map, at((const void *)(uintptr_t)getpid)), entry);
	page = map_code();
	assert_non_null(code_map_look(&map, at(page)));
	assert_null(code_map_look(&map, at(data)));
	next = map.next_read_ns;
	entry = code_map_look(&map, at((const void *)(uintptr_t)getpid));
	assert_non_null(entry);
	entry->sent = true;
	map.next_read_ns = UINT64_MAX; /* the pause lasts, however slow the test is */
	assert_null(code_map_look(&map, at(data)));
	assert_true(entry->sent); /* the mappings are not read again */
	map.next_read_ns = next;
	munmap(page, 4096);
	code_map_expire(&map);
	assert_null(code_map_look(&map, at(page)));
	free(map.entries);
	free(map.paths);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_and_data),
		cmocka_unit_test(new_code),
		cmocka_unit_test(what_is_known),
		cmocka_unit_test(how_often_mappings_are_read),
		cmocka_unit_test(mappings_of_whoever_asks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
