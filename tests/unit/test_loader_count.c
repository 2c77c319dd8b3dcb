/* SPDX-License-Identifier: MIT */
/* The loader's count: seen without asking it, in this C library, while objects come and go. */
#include "unit.h"
#include <dlfcn.h>
#include "cupti_trace/core/loader_count.h"

/* Loads a library that is not there yet, and unloads it. */
static void load_and_unload(void)
{
	static const char *const names[] = {"libutil.so.1", "libanl.so.1", "libnsl.so.1",
					    "libresolv.so.2", "libBrokenLocale.so.1"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *library = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);

		if (library) {
			dlclose(library);
			continue;
		}
		library = dlopen(names[i], RTLD_LAZY);
		if (!library)
			continue;
		assert_int_equal(dlclose(library), 0);
		return;
	}
	SKIP("there is no library to load");
}

static void loading_is_seen(void **state)
{
	struct loader_count before = loader_count_read(), after;
	uint64_t peeked;

	(void)state;
	if (loader_count_peek() != before.loaded)
		SKIP("this C library does not tell");
	for (int i = 0; i < 5; i++) {
		peeked = loader_count_peek();
		load_and_unload();
		assert_true(loader_count_peek() > peeked);
		after = loader_count_read();
		assert_true(after.loaded > before.loaded && after.unloaded > before.unloaded);
		assert_int_equal(loader_count_peek(), after.loaded);
		before = after;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loading_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
