/* SPDX-License-Identifier: MIT */
/* The functions that are probed, compared with NVIDIA's headers where those are installed. */
#include "unit.h"
#include <regex.h>
#include "profiler/base/cuda_functions.h"

static void variants_are_one_function(void **state)
{
	static const char *const same[][4] = {
		{"cudaMemcpyAsync", "cudaMemcpyAsync_ptsz", "cudaMemcpyAsync_ptds", NULL},
		{"cuMemcpyHtoD", "cuMemcpyHtoD_v2", "cuMemcpyHtoD_v2_ptds", NULL},
		{"cuMemFree", "cuMemFree_v2", NULL},
		{"cudaMemcpy3D", "cudaMemcpy3D_ptds", "cudaMemcpy3D_v2", NULL},
		{"cuMemsetD2D32", "cuMemsetD2D32_v12_ptsz", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		for (int j = 0; same[i][j]; j++) {
			uint16_t number = cuda_function_of(same[i][j]);

			assert_int_not_equal(number, CUDA_FUNCTION_NONE);
			assert_string_equal(cuda_function_name(number), same[i][0]);
		}
}

static void functions_of_the_runtime(void **state)
{
	static const char *const functions[] = {
		"cudaLaunchKernel",      "cudaLaunchKernelExC_ptsz", "cudaMemcpyAsync_ptsz",
		"cudaStreamSynchronize", "cudaGraphLaunch",          "cudaGraphAddKernelNode",
		"cudaGraphClone",
	};
	static const char *const others[] = {"cuLaunchKernel",
					     "cuMemcpyHtoD_v2",
					     "cudaMemcpyTraced",
					     "cudaGetDevice",
					     "cuda",
					     "",
					     "main"};

	(void)state;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		assert_true(cuda_function_is_runtime(functions[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(cuda_function_is_runtime(others[i]));
}

/* Every number from the kernel side has one name. */
static void every_number_has_one_name(void **state)
{
	uint16_t count = 0, launches = 0;

	(void)state;
	for (uint32_t n = 0; n <= UINT16_MAX; n++) {
		const char *name = cuda_function_name((uint16_t)n);

		if (name[0] == '[') {
			assert_string_equal(name, "[unknown CUDA function]");
			assert_int_equal(cuda_function_kernel_register((uint16_t)n), -1);
			continue;
		}
		/* a twin is found by its own name as a launch, and as the function's variant */
		if (n & CUDA_FUNCTION_PTSZ)
			assert_int_equal(cuda_launch_function_of(name), n);
		assert_int_equal(cuda_function_of(name), n & ~CUDA_FUNCTION_PTSZ);
		/* the runtime's names begin with "cuda" */
		assert_int_equal(cuda_function_is_driver((uint16_t)n),
				 strncmp(name, "cuda", 4) != 0);
		launches += cuda_launch_function_of(name) != CUDA_FUNCTION_NONE;
		count++;
	}
	assert_true(count > 100);
	assert_int_equal(launches, 16);
}

static void launches_have_variants(void **state)
{
	/* names in the order of their numbers, which recordings hold */
	static const char *const names[] = {
		"cudaLaunchKernel",          "cudaLaunchKernelExC", "cudaLaunchCooperativeKernel",
		"cudaGraphLaunch",           "cuLaunchKernel",      "cuLaunchKernelEx",
		"cuLaunchCooperativeKernel", "cuGraphLaunch",
	};

	(void)state;
	for (uint16_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint16_t n = i + 1;
		const char *twin = cuda_function_name(n | CUDA_FUNCTION_PTSZ);

		assert_string_equal(cuda_function_name(n), names[i]);
		assert_int_equal(cuda_launch_function_of(names[i]), n);
		assert_int_equal(cuda_launch_function_of(twin), n | CUDA_FUNCTION_PTSZ);
		assert_int_equal(strlen(twin), strlen(names[i]) + 5);
		assert_memory_equal(twin, names[i], strlen(names[i]));
		assert_string_equal(twin + strlen(names[i]), "_ptsz");
	}
	assert_string_equal(cuda_function_name(6 | CUDA_FUNCTION_PTSZ), "cuLaunchKernelEx_ptsz");
}

static void others_are_no_launches(void **state)
{
	static const char *const names[] = {"",
					    "c",
					    "cu",
					    "cudaLaunch",
					    "cudaLaunchKernel_",
					    "cudaLaunchKernel_pts",
					    "cudaLaunchKernel_ptszz",
					    "cudaLaunchKernel_v2",
					    "CudaLaunchKernel",
					    "xcudaLaunchKernel",
					    "main",
					    "cudaMalloc",
					    "cuLaunchGrid",
					    "_ptsz"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(cuda_launch_function_of(names[i]), CUDA_FUNCTION_NONE);
}

static void kernels_are_parameters_of_launches(void **state)
{
	(void)state;
	assert_int_equal(cuda_function_kernel_register(cuda_function_of("cudaLaunchKernel")), 5);
	assert_int_equal(cuda_function_kernel_register(cuda_function_of("cudaLaunchKernel_ptsz")),
			 5);
	assert_int_equal(cuda_function_kernel_register(cuda_function_of("cudaLaunchKernelExC")), 4);
	assert_int_equal(cuda_function_kernel_register(cuda_function_of("cuLaunchKernel")), -1);
	assert_int_equal(cuda_function_kernel_register(cuda_function_of("cudaFree")), -1);
	assert_int_equal(cuda_function_kernel_register(CUDA_FUNCTION_NONE), -1);
}

static void others_are_none(void **state)
{
	static const char *const others[] = {"",
					     "c",
					     "cu",
					     "_v2",
					     "_ptsz",
					     "cuda_v2",
					     "cudaMalloc_",
					     "cudaMalloc_v",
					     "cudaMallocWrapper",
					     "cudaGetDevice",
					     "cudaStreamQuery",
					     "cuInit",
					     "xcudaMalloc",
					     "cudaMemcpy_ptszz",
					     "cudaMemcpy_ptsz_ptsz",
					     "cudaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
					     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_equal(cuda_function_of(others[i]), CUDA_FUNCTION_NONE);
}

/* Functions of a header that give the GPU work, wait for it, allocate or free. */
#define VERBS                                                                                     \
	"(Launch[A-Za-z0-9]*|GraphLaunch|Memcpy[A-Za-z0-9]*|Memset[A-Za-z0-9]*|MemPrefetch[A-Za-" \
	"z]*|"                                                                                    \
	"Malloc[A-Za-z0-9]*|Free[A-Za-z]*|MemAlloc[A-Za-z]*|MemFree[A-Za-z]*|[A-Za-z]*"           \
	"Synchronize)"

/* Counts a header's functions that match. Each of them must be known. */
static int check_header(const char *path, const char *pattern)
{
	FILE *header = fopen(path, "re");
	char line[4096];
	regmatch_t at[2];
	regex_t regex;
	int found = 0;

	if (!header)
		return 0;
	assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED), 0);
	while (fgets(line, sizeof(line), header)) {
		if (regexec(&regex, line, 2, at, 0) != 0)
			continue;
		line[at[1].rm_eo] = '\0';
		if (cuda_function_of(line + at[1].rm_so) == CUDA_FUNCTION_NONE)
			fail_msg("%s: %s is not known", path, line + at[1].rm_so);
		found++;
	}
	regfree(&regex);
	fclose(header);
	return found;
}

static void all_of_the_headers_are_known(void **state)
{
	const char *home = getenv("CUDA_HOME");
	char runtime[4096], driver[4096];

	(void)state;
	if (!home)
		home = "/usr/local/cuda";
	snprintf(runtime, sizeof(runtime), "%s/include/cuda_runtime_api.h", home);
	snprintf(driver, sizeof(driver), "%s/include/cuda.h", home);
	if (access(runtime, R_OK) != 0 || access(driver, R_OK) != 0) {
		print_message("skipped: no CUDA headers at %s\n", home);
		skip();
	}
	assert_true(check_header(runtime, "^extern .* CUDARTAPI (cuda" VERBS ") *\\(") > 50);
	assert_true(check_header(driver, "^ *CUresult +CUDAAPI +(cu" VERBS ") *\\(") > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(variants_are_one_function),
		cmocka_unit_test(functions_of_the_runtime),
		cmocka_unit_test(every_number_has_one_name),
		cmocka_unit_test(launches_have_variants),
		cmocka_unit_test(others_are_no_launches),
		cmocka_unit_test(kernels_are_parameters_of_launches),
		cmocka_unit_test(others_are_none),
		cmocka_unit_test(all_of_the_headers_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
