// SPDX-License-Identifier: MIT
/* Code that loads data, by its names. */
#include "profiler/findings/loader_names.h"

#include "unit.h"

static bool is_function(const char *name)
{
	return loader_names_function(
		&(struct frame_info){.class = CLASS_NATIVE, .name = name, .short_name = name});
}

static void functions(void **state)
{
	static const char *const loaders[] = {"load_batch",
					      "loadBatch",
					      "LoadBatch",
					      "DataLoader::next",
					      "data_loader",
					      "prefetch",
					      "Dataset.__getitem__ (data.py)",
					      "HTTPLoader"};
	static const char *const others[] = {"",
					     "main",
					     "load_model",
					     "download",
					     "reloading",
					     "payload",
					     "cuModuleLoad",
					     "upload_all",
					     "loadWeights",
					     "load_kernel",
					     "_find_and_loadable"};

	(void)state;
	for (size_t i = 0; i < sizeof(loaders) / sizeof(loaders[0]); i++)
		if (!is_function(loaders[i]))
			fail_msg("%s", loaders[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (is_function(others[i]))
			fail_msg("%s", others[i]);
}

static void libraries(void **state)
{
	struct frame_info frame = {.class = CLASS_PYTHON,
				   .name = "__next__ (dataloader.py)",
				   .short_name = "__next__"};

	(void)state;
	frame.file = "/env/site-packages/torch/utils/data/dataloader.py";
	assert_true(loader_names_library(&frame));
	frame.file = "/env/site-packages/torch/optim/adam.py";
	assert_false(loader_names_library(&frame));
	frame.file = NULL;
	assert_false(loader_names_library(&frame));
	frame.module = "/env/nvidia/dali/libdali.so";
	assert_true(loader_names_library(&frame));
	frame.name = "<module> (__init__.py)"; /* is being imported */
	assert_false(loader_names_library(&frame));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions),
		cmocka_unit_test(libraries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
