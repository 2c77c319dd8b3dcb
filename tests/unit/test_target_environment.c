/* SPDX-License-Identifier: MIT */
/* The variables that the target gets: which, and that long paths are whole. */
#include "unit.h"
#include "cupti_trace/wire/gpu_wire.h"
#include "profiler/run/target_environment.h"

static const char library[] = "/a folder/libprofile_cupti.so", pipe_path[] = "/a folder/gpu.pipe";

static uint32_t count_variables(const struct target_environment *e)
{
	uint32_t n = 0;

	while (e->variables[n])
		assert_true(++n < sizeof(e->variables) / sizeof(e->variables[0]));
	return n;
}

static uint32_t count_equal(const struct target_environment *e, const char *variable)
{
	uint32_t n = 0;

	for (uint32_t i = 0; e->variables[i]; i++)
		n += strcmp(e->variables[i], variable) == 0;
	return n;
}

/* Expects the variables for these options: the two paths, this configuration, and `more`. */
static void expect(const struct target_environment_options *options, const char *config,
		   const char *more)
{
	struct target_environment e;

	memset(&e, 0xff, sizeof(e));
	target_environment_make(&e, options);
	assert_int_equal(count_equal(&e, "CUDA_INJECTION64_PATH=/a folder/libprofile_cupti.so"), 1);
	assert_int_equal(count_equal(&e, "PROFILE_PIPE=/a folder/gpu.pipe"), 1);
	assert_string_equal(e.config, config);
	assert_int_equal(count_equal(&e, config), 1);
	assert_int_equal(count_variables(&e), 3 + !!more);
	if (more)
		assert_int_equal(count_equal(&e, more), 1);
}

#define EXPECT_SET(option, config, more)                                             \
	expect(&(struct target_environment_options){.library = library,              \
						    .pipe = pipe_path,               \
						    .measure.probes_launches = true, \
						    .option},                        \
	       "PROFILE_TRACE_CONFIG=" config, more)

static void each_option_has_its_word(void **state)
{
	(void)state;
	expect(&(struct target_environment_options){.library = library, .pipe = pipe_path},
	       "PROFILE_TRACE_CONFIG=stacks", NULL);
	EXPECT_SET(measure.samples_cpu = true, "", NULL);
	EXPECT_SET(measure.python_lines = true, "python-lines", NULL);
	EXPECT_SET(measure.native_python = true, "native-python", NULL);
	EXPECT_SET(measure.kernels_only = true, "kernels-only", NULL);
	EXPECT_SET(measure.unified_memory = true, "unified-memory", NULL);
	EXPECT_SET(measure.whole_graphs = true, "whole-graphs", NULL);
	EXPECT_SET(measure.devices = true, "devices", NULL);
	EXPECT_SET(measure.waits = true, "waits", NULL);
	EXPECT_SET(timeline = true, "timeline", NULL);
	EXPECT_SET(waited = true, "waited", NULL);
	EXPECT_SET(verbose = true, "verbose", NULL);
	EXPECT_SET(measure.nvtx = true, "nvtx",
		   "NVTX_INJECTION64_PATH=/a folder/libprofile_cupti.so");
	EXPECT_SET(measure.max_overhead = 2500, "max-overhead=2500", NULL);
}

static struct target_environment_options all_options(const char *library_path, const char *pipe)
{
	return (struct target_environment_options){.library = library_path,
						   .pipe = pipe,
						   .measure = {.python_lines = true,
							       .native_python = true,
							       .kernels_only = true,
							       .whole_graphs = true,
							       .devices = true,
							       .waits = true,
							       .nvtx = true,
							       .max_overhead = UINT32_MAX},
						   .timeline = true,
						   .verbose = true};
}

/* Each variable has a name of its own. */
static void all_variables_fit(void **state)
{
	struct target_environment_options all = all_options(library, pipe_path);
	struct target_environment e;

	(void)state;
	target_environment_make(&e, &all);
	assert_int_equal(count_variables(&e), 4);
	for (uint32_t i = 0; e.variables[i]; i++) {
		const char *equals = strchr(e.variables[i], '=');

		assert_true(equals && equals > e.variables[i] && equals[1] != '\0');
		for (uint32_t k = 0; k < i; k++)
			assert_true(strncmp(e.variables[i], e.variables[k],
					    (size_t)(equals - e.variables[i]) + 1) != 0);
	}
}

static void the_longest_paths_are_whole(void **state)
{
	char path[PATH_MAX], expected[3][PATH_MAX + 64];
	struct target_environment_options all;
	struct target_environment e;

	(void)state;
	memset(path, 'x', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	all = all_options(path, path);
	target_environment_make(&e, &all);
	snprintf(expected[0], sizeof(expected[0]), "CUDA_INJECTION64_PATH=%s", path);
	snprintf(expected[1], sizeof(expected[1]), "PROFILE_PIPE=%s", path);
	snprintf(expected[2], sizeof(expected[2]), "NVTX_INJECTION64_PATH=%s", path);
	for (int i = 0; i < 3; i++)
		assert_int_equal(count_equal(&e, expected[i]), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_option_has_its_word),
		cmocka_unit_test(all_variables_fit),
		cmocka_unit_test(the_longest_paths_are_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
