/* SPDX-License-Identifier: MIT */
/* Finding and asking the driver. The search runs once, so each case has a process of its own. */
#include "unit.h"
#include <dlfcn.h>
#include "cupti_trace/memory/graph_memory_driver.h"

static bool is_loaded, has_function;
static int error;

/* The linker has the library's calls come here: --wrap. */
void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlsym(void *handle, const char *name);
int __wrap_dlclose(void *handle);

void *__wrap_dlopen(const char *name, int flags)
{
	assert_string_equal(name, "libcuda.so.1");
	assert_true(flags & RTLD_NOLOAD);
	return is_loaded ? &is_loaded : NULL;
}

/* Answers as the driver does: 2 is CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT. */
static int answer(int device, uint32_t attribute, void *value)
{
	assert_int_equal(attribute, 2);
	*(uint64_t *)value = 100 + (uint64_t)device;
	return error;
}

void *__wrap_dlsym(void *handle, const char *name)
{
	assert_ptr_equal(handle, &is_loaded);
	assert_string_equal(name, "cuDeviceGetGraphMemAttribute");
	return has_function ? *(void **)&(int (*)(int, uint32_t, void *)){answer} : NULL;
}

int __wrap_dlclose(void *handle)
{
	assert_ptr_equal(handle, &is_loaded);
	is_loaded = false;
	return 0;
}

/* Asks in a process that begins like this. Returns 0 if it learns nothing. */
static int ask_in_child(void)
{
	uint64_t bytes = 1;
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		_exit(graph_memory_driver_can_tell() || graph_memory_driver_tell(0, &bytes) ||
		      bytes || is_loaded);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void without_it_nothing_is_known(void **state)
{
	(void)state;
	assert_int_equal(ask_in_child(), 0);
	is_loaded = true; /* an old one */
	assert_int_equal(ask_in_child(), 0);
}

static void it_tells_what_it_holds(void **state)
{
	uint64_t bytes;

	(void)state;
	is_loaded = has_function = true;
	assert_true(graph_memory_driver_can_tell());
	assert_true(graph_memory_driver_tell(3, &bytes));
	assert_int_equal(bytes, 103);
	error = 801;
	assert_false(graph_memory_driver_tell(3, &bytes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_it_nothing_is_known),
		cmocka_unit_test(it_tells_what_it_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
