/* SPDX-License-Identifier: MIT */
/*
 * Classification of functions by name: known names, names of a future CUDA, and all names of the
 * CUPTI headers found. Headers come from $CUDA_HOME and scripts/get_cupti.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cupti_trace/core/api_function.h"
#include "cupti_trace/core/cupti_abi.h"

struct known {
	const char *name;
	enum api_meaning meaning;
	bool waits;
};

static void check(const struct known *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct api_function f = api_function_of(list[i].name);

		if (f.meaning != list[i].meaning || f.waits != list[i].waits)
			fail_msg("%s: %d, waits %d", list[i].name, f.meaning, f.waits);
	}
}

static void functions_are_known_by_name(void **state)
{
	static const struct known list[] = {
		{"cudaLaunchKernel_v7000", API_KERNEL, false},
		{"cudaLaunchKernel_ptsz_v7000", API_KERNEL, false},
		{"cudaLaunchKernelExC_v11060", API_KERNEL, false},
		{"cudaLaunchCooperativeKernel_ptsz_v9000", API_KERNEL, false},
		{"cuLaunch", API_KERNEL, false},
		{"cuLaunchGridAsync", API_KERNEL, false},
		{"cuLaunchKernelEx_ptsz", API_KERNEL, false},
		{"cudaLaunchCooperativeKernelMultiDevice_v9000", API_GRAPH, false},
		{"cudaGraphLaunch_v10000", API_GRAPH, false},
		{"cuGraphLaunch_ptsz", API_GRAPH, false},
		{"cudaLaunchHostFunc_v10000", API_NOTHING, false},
		{"cuLaunchHostFunc_ptsz", API_NOTHING, false},
		{"cuLaunchHostFunc_v2", API_NOTHING, false},
		{"__cudaLaunchKernel_v13000", API_NOTHING, false},
		{"cudaMemcpy_v3020", API_OTHER, true},
		{"cudaMemcpyAsync_ptsz_v7000", API_OTHER, false},
		{"cudaMemcpy3DBatchAsync_v13000", API_OTHER, false},
		{"cuMemcpyDtoH_v2_ptds", API_OTHER, true},
		{"cu64Memcpy2DAsync", API_OTHER, false},
		{"cuMemsetD2D32Async_ptsz", API_OTHER, false},
		{"cuMemBatchDecompressAsync", API_OTHER, false},
		{"cudaMalloc_v3020", API_OTHER, true},
		{"cudaFreeAsync_ptsz_v11020", API_OTHER, false},
		{"cuMemAllocManaged", API_OTHER, true},
		{"cudaGraphAddNode_v12030", API_NODE, false},
		{"cuGraphAddKernelNode_v2", API_NODE, false},
		{"cuGraphInstantiateWithParams_ptsz", API_NODE, false},
		{"cudaGraphClone_v10000", API_NODE, false},
		{"cudaGraphAddDependencies_v10000", API_NOTHING, false},
		{"cudaGraphMemcpyNodeSetParams_v10000", API_NOTHING, false},
		{"cudaDeviceSynchronize_v3020", API_NOTHING, true},
		{"cuCtxSynchronize_v2", API_NOTHING, true},
		{"cudaStreamSynchronize_ptsz_v7000", API_NOTHING, true},
		{"cudaGetDevice_v3020", API_NOTHING, false},
		{"cuMemPrefetchAsync_v2", API_NOTHING, false},
		{"cuda465_v12040", API_NOTHING, false},
		{"INVALID", API_NOTHING, false},
		{"", API_NOTHING, false},
		{"cu", API_NOTHING, false},
		{"cuda", API_NOTHING, false},
		{"_v2", API_NOTHING, false},
	};

	(void)state;
	check(list, sizeof(list) / sizeof(list[0]));
}

static void newer_functions_follow_the_same_rules(void **state)
{
	static const struct known list[] = {
		{"cudaLaunchKernel_v2_v15000", API_KERNEL, false},
		{"cudaLaunchKernelExC_v3_ptsz_v15000", API_KERNEL, false},
		{"cuLaunchKernelEx_v2_ptsz", API_KERNEL, false},
		{"cudaLaunchKernelGroup_v15000", API_GRAPH, false},
		{"cuGraphLaunch_v2", API_GRAPH, false},
		{"cuMemcpyHtoDAsync_v4", API_OTHER, false},
		{"cudaMemcpy_v2_v15000", API_OTHER, true},
		{"cudaMallocTensor_v15000", API_OTHER, true},
		{"cudaGraphAddNode_v5_v15000", API_NODE, false},
		{"cudaStreamSynchronize_v2_v15000", API_NOTHING, true},
	};

	(void)state;
	check(list, sizeof(list) / sizeof(list[0]));
	assert_true(api_function_of("cudaStreamSynchronize_v2_ptsz_v15000").is_stream);
	assert_true(api_function_of("cuStreamSynchronize").is_stream);
	assert_false(api_function_of("cuEventSynchronize").is_stream);
	assert_true(api_function_of("cudaGraphLaunch_ptsz_v10000").runs_graph);
	assert_false(api_function_of("cudaLaunchKernel_v7000").runs_graph);
	assert_int_equal(api_function_of("cudaLaunchKernel_v7000").kernel_at, 0);
	assert_int_equal(api_function_of("cudaLaunchKernelExC_ptsz_v11060").kernel_at, 8);
	assert_int_equal(api_function_of("cuLaunchKernelEx").kernel_at, 8);
	assert_int_equal(api_function_of("cudaGraphLaunch_v10000").kernel_at, 0);
	assert_true(api_function_of("cuTransformAsync_v2_ptsz").is_enqueued);
	assert_true(api_function_of("cudaEnqueueThings_v15000").is_enqueued);
	assert_false(api_function_of("cudaGetThings_v15000").is_enqueued);
	assert_false(api_function_of("cudaAsyncThings_v15000").is_enqueued);
	assert_true(api_function_of("cudaGetLastError_v3020").returns_earlier_error);
	assert_true(api_function_of("cudaPeekAtLastError_v3020").returns_earlier_error);
	assert_false(api_function_of("cudaMalloc_v3020").returns_earlier_error);
	assert_false(api_function_is_new(CUPTI_ABI_DOMAIN_RUNTIME_API, 522));
	assert_true(api_function_is_new(CUPTI_ABI_DOMAIN_RUNTIME_API, 523));
	assert_false(api_function_is_new(CUPTI_ABI_DOMAIN_DRIVER_API, 806));
	assert_true(api_function_is_new(CUPTI_ABI_DOMAIN_DRIVER_API, 807));
}

static void copies_of_something_owe_a_record(void **state)
{
	struct {
		void *to;
		const void *from;
		size_t size;
		int kind;
		void *stream;
	} copy = {NULL, NULL, 8, 1, NULL};
	struct {
		void *to;
		int to_device;
		const void *from;
		int from_device;
		size_t size;
	} peer = {NULL, 0, NULL, 1, 8};
	struct api_function f = api_function_of("cudaMemcpyAsync_ptsz_v7000");

	(void)state;
	for (copy.kind = -1; copy.kind < 6; copy.kind++)
		assert_int_equal(api_function_has_record(f.size_at, f.kind_at, &copy),
				 copy.kind >= 1 && copy.kind <= 3);
	copy.kind = 1;
	copy.size = 0;
	assert_false(api_function_has_record(f.size_at, f.kind_at, &copy));
	assert_false(api_function_has_record(f.size_at, f.kind_at, NULL));
	f = api_function_of("cuMemsetD32Async_ptsz");
	assert_false(api_function_has_record(f.size_at, f.kind_at, &copy));
	copy.size = 1;
	assert_true(api_function_has_record(f.size_at, f.kind_at, &copy));
	f = api_function_of("cudaMemcpyPeerAsync_v4000");
	assert_true(api_function_has_record(f.size_at, f.kind_at, &peer));
	peer.size = 0;
	assert_false(api_function_has_record(f.size_at, f.kind_at, &peer));
	/* whose parameters are others, or not known */
	assert_int_equal(api_function_of("cuMemcpyHtoD").size_at, 0);
	assert_int_equal(api_function_of("cuMemcpyHtoDAsync_v4").size_at, 0);
	assert_int_equal(api_function_of("cudaMemcpy2D_v3020").size_at, 0);
	assert_int_equal(api_function_of("cudaMalloc_v3020").size_at, 0);
}

static void names_are_those_that_programs_write(void **state)
{
	static const char *const names[][2] = {
		{"cudaLaunchKernel_v7000", "cudaLaunchKernel"},
		{"cudaLaunchKernel_ptsz_v7000", "cudaLaunchKernel_ptsz"},
		{"cudaGraphAddNode_v2_v12030", "cudaGraphAddNode_v2"},
		{"cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync_v2"},
		{"cuLaunchKernel", "cuLaunchKernel"},
		{"_v7000", ""},
		{"v7000", "v7000"},
		{"7000", "7000"},
		{"", ""},
	};
	char name[64];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		api_function_name(names[i][0], name, sizeof(name));
		assert_string_equal(name, names[i][1]);
	}
	api_function_name("cudaLaunchKernel_v7000", name, 5);
	assert_string_equal(name, "cuda");
}

/* ---- names of real versions ---- */

static bool has(const char *name, const char *part)
{
	return strstr(name, part) != NULL;
}

/* Checks a name without the module's rules. Returns the meaning that such a name should have, or
 * NULL if its meaning is right. */
static const char *what_is_wrong(const char *name)
{
	struct api_function f = api_function_of(name);
	bool is_own = name[0] == '_', is_node = has(name, "Graph");

	if (has(name, "Launch") && f.meaning != API_KERNEL && f.meaning != API_GRAPH && !is_own &&
	    !has(name, "HostFunc") && !has(name, "LaunchConfig") && !has(name, "PreLaunch"))
		return "launches";
	if ((has(name, "Memcpy") || has(name, "Memset")) && f.meaning != API_OTHER && !is_node)
		return "copies or sets";
	if (is_node && has(name, "Add") && has(name, "Node") && f.meaning != API_NODE)
		return "makes a node";
	if (has(name, "Synchronize") && !f.waits)
		return "waits";
	if (has(name, "Async") && f.meaning == API_OTHER && f.waits)
		return "does not wait";
	if ((has(name, "Get") || has(name, "Create") || has(name, "Destroy") ||
	     has(name, "Query")) &&
	    f.meaning != API_NOTHING)
		return "neither launches nor copies";
	return NULL;
}

/* Returns how many names were looked at. */
static int check_header(const char *path, uint32_t domain, bool has_newer)
{
	char line[512], name[256];
	FILE *f = fopen(path, "r");
	unsigned long cbid;
	int seen = 0;

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		const char *wrong;

		if (sscanf(line, " CUPTI_%*[A-Z]_TRACE_CBID_%255[A-Za-z0-9_] = %lu", name, &cbid) !=
			    2 ||
		    (strncmp(name, "cu", 2) != 0 && strncmp(name, "__cu", 4) != 0))
			continue;
		seen++;
		wrong = what_is_wrong(name);
		if (wrong)
			fail_msg("%s of %s: %s", name, path, wrong);
		if (!has_newer && api_function_is_new(domain, (uint32_t)cbid))
			fail_msg("%s = %lu of %s is not newer than 13.0", name, cbid, path);
	}
	fclose(f);
	return seen;
}

static int check_headers(const char *pattern)
{
	char path[1024];
	glob_t found;
	int seen = 0;

	if (glob(pattern, 0, NULL, &found) != 0)
		return 0;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		/* a toolkit may be newer than all that is known */
		bool has_newer = strstr(found.gl_pathv[i], "build/cupti") == NULL;

		snprintf(path, sizeof(path), "%s/cupti_runtime_cbid.h", found.gl_pathv[i]);
		seen += check_header(path, CUPTI_ABI_DOMAIN_RUNTIME_API, has_newer);
		snprintf(path, sizeof(path), "%s/cupti_driver_cbid.h", found.gl_pathv[i]);
		seen += check_header(path, CUPTI_ABI_DOMAIN_DRIVER_API, has_newer);
	}
	globfree(&found);
	return seen;
}

static void names_of_the_headers_mean_what_they_say(void **state)
{
	const char *home = getenv("CUDA_HOME");
	char pattern[1024];
	int seen = check_headers("build/cupti/*/include");

	(void)state;
	snprintf(pattern, sizeof(pattern), "%s/include", home ? home : "/usr/local/cuda");
	seen += check_headers(pattern);
	if (seen == 0) {
		print_message("SKIP: no CUPTI headers here: set CUDA_HOME, or run "
			      "scripts/get_cupti\n");
		skip();
	}
	assert_true(seen > 1000);
	print_message("looked at %d names\n", seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_known_by_name),
		cmocka_unit_test(newer_functions_follow_the_same_rules),
		cmocka_unit_test(copies_of_something_owe_a_record),
		cmocka_unit_test(names_are_those_that_programs_write),
		cmocka_unit_test(names_of_the_headers_mean_what_they_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
