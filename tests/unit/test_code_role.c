/* SPDX-License-Identifier: MIT */
/* Whose code a frame is, by paths and names as they are in real profiles. */
#include "unit.h"
#include "profiler/shape/code_role.h"

static struct code_roles *roles;

static void open_roles(const char *folder, const char *path)
{
	code_roles_free(roles);
	roles = code_roles_new(&path, path ? 1 : 0, folder, NULL);
	assert_non_null(roles);
}

static void expect(enum frame_class class, const char *name, const char *path, enum code_role role,
		   const char *label)
{
	struct frame_info frame = {.class = class, .name = name, .short_name = name};
	char got[CODE_ROLE_LABEL_BYTES];

	if (class == CLASS_PYTHON)
		frame.file = path;
	else
		frame.module = path;
	assert_int_equal(code_role_of(roles, &frame, got), role);
	if (label)
		assert_string_equal(got, label);
}

static void python(const char *file, enum code_role role, const char *label)
{
	expect(CLASS_PYTHON, "f (x.py)", file, role, label);
}

static void native(const char *module, enum code_role role, const char *label)
{
	expect(CLASS_NATIVE, "f", module, role, label);
}

#define PACKAGES "/usr/local/lib/python3.12/site-packages/"

static void own_is_what_lies_below_the_folder(void **state)
{
	(void)state;
	open_roles("/home/me/work", NULL);
	python("/home/me/work/train.py", ROLE_OWN, NULL);
	python("/home/me/work/models/gpt.py", ROLE_OWN, NULL);
	python("train.py", ROLE_OWN, NULL);
	python("./models/../train.py", ROLE_OWN, NULL);
	native("/home/me/work/build/app", ROLE_OWN, NULL);
	native("/home/me/work/ext.cpython-312-x86_64-linux-gnu.so", ROLE_OWN, NULL);
	native("/home/me/work/app (deleted)", ROLE_OWN, NULL);
	python("../other/x.py", ROLE_PACKAGE, "[other]");
	python("/home/me/work/../other/x.py", ROLE_PACKAGE, "[other]");
	python("/home/me/workshop/x.py", ROLE_PACKAGE, "[workshop]");
	native("/home/me/workshop/lib.so", ROLE_PACKAGE, "[lib.so]");
	python("/x.py", ROLE_PACKAGE, "[x.py]");
}

static void environments_in_the_folder_are_not_own(void **state)
{
	(void)state;
	open_roles("/home/me/work", NULL);
	python("/home/me/work/.venv/lib/python3.12/site-packages/torch/nn/functional.py",
	       ROLE_PACKAGE, "[torch]");
	native("/home/me/work/env/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so",
	       ROLE_PACKAGE, "[torch]");
	python("/home/me/work/env/lib/python3.12/json/decoder.py", ROLE_PACKAGE, "[json]");
	native("/home/me/work/miniconda3/lib/libmkl_core.so.2", ROLE_PACKAGE, "[libmkl_core.so.2]");
	native("/home/me/work/.triton/cache/XY/launcher.so", ROLE_PACKAGE, "[launcher.so]");
	python("/home/me/work/.hidden.py", ROLE_OWN, NULL);
	python("/home/me/work/conda/x.py", ROLE_PACKAGE, "[conda]");
	python("/home/me/work/condance/x.py", ROLE_OWN, NULL);
}

/* A container's "/", and what is in it. */
static void the_system_is_not_own(void **state)
{
	(void)state;
	open_roles("/", NULL);
	python("/app/train.py", ROLE_OWN, NULL);
	python("/train.py", ROLE_OWN, NULL);
	native("/opt/app/bin/server", ROLE_OWN, NULL);
	native("/usr/lib/x86_64-linux-gnu/libcublas.so.13", ROLE_PACKAGE, "[libcublas.so.13]");
	native("/lib64/libx.so", ROLE_PACKAGE, "[libx.so]");
	native("/opt/nvidia/nsight/libx.so", ROLE_PACKAGE, "[libx.so]");
	open_roles("/usr/local", NULL);
	native("/usr/local/cuda/lib64/libcublas.so.13", ROLE_OWN, NULL);
	native("/usr/local/lib/libx.so", ROLE_PACKAGE, "[libx.so]");
}

static void given_folders_take_the_place_of_the_working_directory(void **state)
{
	(void)state;
	open_roles("/home/me", "/srv/code/");
	python("/srv/code/train.py", ROLE_OWN, NULL);
	python("/home/me/train.py", ROLE_PACKAGE, "[me]");
	open_roles("/home/me/work", "../lib");
	python("/home/me/lib/x.py", ROLE_OWN, NULL);
	/* a folder from the option is own code wherever it is */
	open_roles("/home/me", PACKAGES "mine");
	python(PACKAGES "mine/x.py", ROLE_OWN, NULL);
	python(PACKAGES "theirs/x.py", ROLE_PACKAGE, "[theirs]");
	native(PACKAGES "mine/_ext.so", ROLE_OWN, NULL);
}

static void an_unknown_folder_has_relative_files_only(void **state)
{
	(void)state;
	open_roles(NULL, NULL);
	python("train.py", ROLE_OWN, NULL);
	python("/home/me/train.py", ROLE_PACKAGE, "[me]");
	native("/home/me/app", ROLE_PACKAGE, "[app]");
	open_roles(NULL, "work");
	python("/work/x.py", ROLE_PACKAGE, "[work]");
}

static void packages_have_names(void **state)
{
	(void)state;
	open_roles("/home/me", NULL);
	python(PACKAGES "torch/nn/modules/linear.py", ROLE_PACKAGE, "[torch]");
	native(PACKAGES "torch/lib/libtorch_cuda.so", ROLE_PACKAGE, "[torch]");
	python("/usr/lib/python3/dist-packages/numpy/core/x.py", ROLE_PACKAGE, "[numpy]");
	native(PACKAGES "numpy.libs/libopenblas64.so", ROLE_PACKAGE, "[numpy]");
	native(PACKAGES "nvidia/cublas/lib/libcublas.so.12", ROLE_PACKAGE, "[libcublas.so.12]");
	native(PACKAGES "nvidia/cu13/lib/libcublas.so.13", ROLE_PACKAGE, "[libcublas.so.13]");
	python(PACKAGES "six.py", ROLE_PACKAGE, "[six]");
	native(PACKAGES "_cffi_backend.cpython-312-x86_64-linux-gnu.so", ROLE_PACKAGE,
	       "[_cffi_backend]");
	python(PACKAGES "apex-0.1-py3.12.egg/apex/x.py", ROLE_PACKAGE, "[apex]");
	python("/a/site-packages/b/site-packages/c/x.py", ROLE_PACKAGE, "[c]");
	python("/tmp/torchinductor_me/ab/cd.py", ROLE_PACKAGE, "[torch]");
}

static void python_itself_is_known(void **state)
{
	(void)state;
	open_roles("/home/me", NULL);
	python("/usr/lib/python3.11/json/encoder.py", ROLE_PACKAGE, "[json]");
	python("/usr/lib/python3.11/dataclasses.py", ROLE_PACKAGE, "[dataclasses]");
	python("/opt/conda/lib/python3.13t/threading.py", ROLE_PLUMBING, "[threading]");
	native("/usr/lib/python3.11/lib-dynload/_json.cpython-311-x86_64-linux-gnu.so",
	       ROLE_PACKAGE, "[json]");
	python("<frozen importlib._bootstrap_external>", ROLE_PLUMBING, "[importlib]");
	python("<frozen posixpath>", ROLE_PACKAGE, "[posixpath]");
	python("<frozen _collections_abc>", ROLE_PACKAGE, "[collections_abc]");
	python("<string>", ROLE_CALLERS, "[python]");
	python("<stdin>", ROLE_CALLERS, "[python]");
	python("/tmp/ipykernel_12/34.py", ROLE_OWN, NULL);
	python("<eval_with_key>.5", ROLE_CALLERS, "[python]");
	python(NULL, ROLE_PLUMBING, "[python]");
	native("/usr/bin/python3.11", ROLE_PLUMBING, "[python]");
	native("/home/me/env/bin/python", ROLE_PLUMBING, "[python]");
	native("/opt/conda/lib/libpython3.12.so.1.0", ROLE_PLUMBING, "[python]");
	native("/home/me/python_server", ROLE_OWN, NULL);
	native("/home/me/pythonic", ROLE_OWN, NULL);
}

static void plumbing_is_known(void **state)
{
	(void)state;
	open_roles("/home/me", NULL);
	native("/usr/lib/x86_64-linux-gnu/libc.so.6", ROLE_PLUMBING, "[libc.so.6]");
	native("/lib64/ld-linux-x86-64.so.2", ROLE_PLUMBING, "[ld-linux-x86-64.so.2]");
	native("/usr/lib/libstdc++.so.6.0.33", ROLE_PLUMBING, "[libstdc++.so.6.0.33]");
	native("/home/me/lib/libstdc++.so.6", ROLE_PLUMBING, "[libstdc++.so.6]");
	native("[vdso]", ROLE_PLUMBING, "[vdso]");
	expect(CLASS_NATIVE, "_start", "/home/me/app", ROLE_PLUMBING, "[app]");
	expect(CLASS_NATIVE, "[unknown]", NULL, ROLE_PLUMBING, "[unknown]");
	expect(CLASS_NATIVE, "f", NULL, ROLE_PLUMBING, "[unknown]");
}

static void glue_is_not_own_wherever_it_is(void **state)
{
	static const struct {
		const char *name, *label;
	} glue[] = {
		{"std::__invoke_impl<void, main::{lambda()#1}>", "[std]"},
		{"std::_Function_handler<void (), f::{lambda()#1}>::_M_invoke", "[std]"},
		{"operator new", "[std]"},
		{"c10::impl::wrap_kernel_functor_unboxed_<F, at::Tensor>::call", "[c10]"},
		{"at::_ops::add__Tensor::redispatch", "[at]"},
		{"pybind11::cpp_function::dispatcher", "[pybind11]"},
		{"thrust::detail::sort", "[thrust]"},
		{"__device_stub__ZN5model6matmulIfEEvPT_", "[nvcc]"},
	};

	(void)state;
	open_roles("/home/me/pytorch", NULL);
	for (size_t i = 0; i < sizeof(glue) / sizeof(glue[0]); i++)
		expect(CLASS_NATIVE, glue[i].name, "/home/me/pytorch/lib.so", ROLE_PLUMBING,
		       glue[i].label);
	expect(CLASS_NATIVE, "stdx::f", "/home/me/pytorch/lib.so", ROLE_OWN, NULL);
	expect(CLASS_NATIVE, "at::native::add", "/home/me/pytorch/lib.so", ROLE_OWN, NULL);
	expect(CLASS_PYTHON, "Module._call_impl (module.py)",
	       "/home/me/pytorch/torch/nn/modules/module.py", ROLE_PLUMBING, "[torch]");
	expect(CLASS_PYTHON, "Module._wrapped_call_impl (module.py:7)",
	       "/home/me/pytorch/torch/nn/modules/module.py", ROLE_PLUMBING, "[torch]");
	expect(CLASS_PYTHON, "Module._call_impl (module.py)", "/home/me/pytorch/module.py",
	       ROLE_OWN, NULL);
}

static void calls_and_work_are_kept(void **state)
{
	static const enum frame_class kept[] = {CLASS_API,  CLASS_GPU_KERNEL, CLASS_GPU_WORK,
						CLASS_WAIT, CLASS_CALL,       CLASS_MARK};

	(void)state;
	open_roles("/home/me", NULL);
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		expect(kept[i], "x", NULL, ROLE_KEPT, NULL);
	expect(CLASS_KERNEL_MODE, "vfs_read", NULL, ROLE_KERNEL_MODE, NULL);
	expect(CLASS_NVTX, "nvtx:step", NULL, ROLE_OWN, NULL);
	expect(CLASS_OPERATOR, "op:aten::mm", NULL, ROLE_OWN, NULL);
	expect(CLASS_LAYER, "[layers.0]", NULL, ROLE_OWN, NULL);
	expect(CLASS_JIT, "numba::f", NULL, ROLE_OWN, NULL);
	expect(CLASS_NATIVE, "cudaLaunchKernel", "/home/me/app", ROLE_KEPT, NULL);
	expect(CLASS_NATIVE, "cudaGetDevice", "/usr/lib/libcudart.so.13", ROLE_KEPT, NULL);
	expect(CLASS_NATIVE, "[libcuda.so.580.1]", "/usr/lib/libcuda.so.580.1", ROLE_PLUMBING,
	       "[libcuda.so.580.1]");
	expect(CLASS_NATIVE, "cublasSgemm_v2", "/usr/lib/libcublas.so.13", ROLE_PACKAGE,
	       "[libcublas.so.13]");
}

static void expect_python(enum frame_class class, const char *name, const char *path,
			  bool is_python)
{
	struct frame_info frame = {.class = class, .name = name, .short_name = name};
	char label[CODE_ROLE_LABEL_BYTES];

	frame.file = class == CLASS_PYTHON ? path : NULL;
	frame.module = class == CLASS_NATIVE ? path : NULL;
	code_role_of(roles, &frame, label);
	if (code_role_is_python(&frame, label) != is_python)
		fail_msg("%s of %s: %s", name, path, label);
}

static void packages_have_a_language(void **state)
{
	(void)state;
	open_roles("/home/me", NULL);
	expect_python(CLASS_PYTHON, "f (x.py)", "/usr/lib/python3.11/json/encoder.py", true);
	expect_python(CLASS_PYTHON, "f (x.py)", "<frozen posixpath>", true);
	expect_python(CLASS_NATIVE, "f", PACKAGES "torch/lib/libtorch_cuda.so", true);
	expect_python(CLASS_NATIVE, "f", "/usr/lib/python3.11/lib-dynload/_json.so", true);
	expect_python(CLASS_NATIVE, "f", "/opt/conda/lib/libpython3.12.so.1.0", true);
	expect_python(CLASS_NATIVE, "f", PACKAGES "nvidia/cublas/lib/libcublas.so.12", false);
	expect_python(CLASS_NATIVE, "f", "/usr/lib/x86_64-linux-gnu/libc.so.6", false);
	expect_python(CLASS_NATIVE, "std::sort", "/home/me/ext.so", false);
	expect_python(CLASS_NATIVE, "f", "/opt/app/server", false);
	expect_python(CLASS_NATIVE, "f", NULL, false);
}

static void of_source(const char *name, const char *module, const char *source, enum code_role role,
		      const char *label)
{
	struct frame_info frame = {.class = CLASS_NATIVE,
				   .name = name,
				   .short_name = name,
				   .module = module,
				   .source = source};
	char got[CODE_ROLE_LABEL_BYTES];
	enum code_role is = code_role_of(roles, &frame, got);

	if (is != role || (label && strcmp(got, label) != 0))
		fail_msg("%s of %s: %d %s", name, source, (int)is, got);
}

static void headers_in_an_own_program_are_not_own(void **state)
{
	static const char app[] = "/home/me/work/app";

	(void)state;
	open_roles("/home/me/work", NULL);
	of_source("f", app, "/home/me/work/src/f.cpp", ROLE_OWN, NULL);
	of_source("f", app, "/elsewhere/f.cpp", ROLE_OWN, NULL);
	of_source("f", app, "../src/f.cpp", ROLE_OWN, NULL);
	of_source("f", app, NULL, ROLE_OWN, NULL);
	of_source("Eigen::internal::gemm", app, "/usr/include/eigen3/Eigen/src/x.h", ROLE_PLUMBING,
		  "[Eigen]");
	of_source("bswap_32", app, "/usr/include/x86_64-linux-gnu/bits/byteswap.h", ROLE_PLUMBING,
		  "[bits]");
	of_source("__half2float", app, "/usr/local/cuda-13.0/include/cuda_fp16.hpp", ROLE_PLUMBING,
		  "[include]");
	of_source("std::sort", app, "/usr/include/c++/12/bits/stl_algo.h", ROLE_PLUMBING, "[std]");
	of_source("runtime.mallocgc", app, "/usr/local/go/src/runtime/malloc.go", ROLE_PLUMBING,
		  "[runtime]");
	of_source("core::iter::next", app, "/rustc/abc/library/core/src/iter.rs", ROLE_PLUMBING,
		  "[core]");
	of_source("serde::de", app, "/home/me/.cargo/registry/src/i/serde-1/src/de.rs",
		  ROLE_PLUMBING, "[serde]");
	of_source("cudaLaunchKernel", app, "/usr/local/cuda/include/cuda_runtime.h", ROLE_KEPT,
		  NULL);
}

/* Code compiled from own files is own code wherever it is installed. */
static void own_sources_in_other_folders(void **state)
{
	(void)state;
	open_roles("/home/me/work", NULL);
	of_source("f", "/usr/local/lib/libmine.so", "/home/me/work/src/f.cpp", ROLE_OWN, NULL);
	of_source("f", PACKAGES "mine/_ext.so", "/home/me/work/../work/f.cpp", ROLE_OWN, NULL);
	of_source("std::sort", "/usr/local/lib/libmine.so", "/usr/include/c++/12/bits/x.h",
		  ROLE_PACKAGE, "[libmine.so]");
	of_source("f", "/usr/local/lib/libtheirs.so", "/build/theirs/f.cpp", ROLE_PACKAGE,
		  "[libtheirs.so]");
	of_source("f", PACKAGES "torch/lib/libtorch.so", "/pytorch/aten/f.cpp", ROLE_PACKAGE,
		  "[torch]");
	of_source("f", "/usr/local/lib/libx.so", "/home/me/work/.venv/include/x.h", ROLE_PACKAGE,
		  "[libx.so]");
	/* a container's "/" would make all sources own */
	open_roles("/", NULL);
	of_source("f", "/usr/lib/libtheirs.so", "/build/theirs/f.cpp", ROLE_PACKAGE,
		  "[libtheirs.so]");
}

/* Paths and names of any length and bytes: labels fit, and are as long as they need. */
static void random_paths(void **state)
{
	static const char *const parts[] = {
		"/",      "..",    ".",         "site-packages", "a",  "lib",    "python3.12",
		"nvidia", ".egg",  ".libs",     "\xff\n",        "<",  "frozen", "[",
		"conda",  ".venv", "libc.so.6", "home",          "me", "std::",  " (",
	};

	(void)state;
	for (uint64_t round = 0; round < unit_rounds(20000); round++) {
		struct prng p = prng_round(round);
		char path[1000] = "", label[CODE_ROLE_LABEL_BYTES];
		struct frame_info frame = {.class = prng_chance(&p, 50) ? CLASS_PYTHON
									: CLASS_NATIVE};
		size_t length = 0;
		enum code_role role;

		if (round % 100 == 0)
			open_roles(round % 200 ? "/home/me" : NULL, round % 300 ? NULL : "../x");
		for (uint64_t i = prng_below(&p, 40); i > 0; i--) {
			const char *part = parts[prng_below(&p, sizeof(parts) / sizeof(parts[0]))];

			length += (size_t)snprintf(path + length, sizeof(path) - length, "%s%s",
						   part, prng_chance(&p, 60) ? "/" : "");
		}
		frame.name = prng_chance(&p, 20) ? path : "f";
		frame.file = frame.module = path;
		frame.source = prng_chance(&p, 50) ? path + prng_below(&p, length + 1) : NULL;
		role = code_role_of(roles, &frame, label);
		EXPECT(&p, memchr(label, '\0', sizeof(label)));
		if (role == ROLE_PACKAGE || role == ROLE_PLUMBING || role == ROLE_CALLERS) {
			EXPECT(&p, label[0] == '[' && label[strlen(label) - 1] == ']');
		}
	}
}

static void names_may_be_huge(void **state)
{
	size_t size = 1 << 20;
	char *path = malloc(size), label[CODE_ROLE_LABEL_BYTES];
	struct frame_info frame = {.class = CLASS_PYTHON, .name = "f", .file = path};

	(void)state;
	assert_non_null(path);
	memset(path, 'x', size);
	memcpy(path, "/site-packages/", 15);
	path[size - 1] = '\0';
	open_roles("/home", NULL);
	assert_int_equal(code_role_of(roles, &frame, label), ROLE_PACKAGE);
	assert_int_equal(strlen(label), CODE_ROLE_LABEL_BYTES - 1);
	free(path);
}

static int close_roles(void **state)
{
	(void)state;
	code_roles_free(roles);
	roles = NULL;
	return 0;
}

#define ROLES_TEST(test) cmocka_unit_test_teardown(test, close_roles)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROLES_TEST(own_is_what_lies_below_the_folder),
		ROLES_TEST(environments_in_the_folder_are_not_own),
		ROLES_TEST(the_system_is_not_own),
		ROLES_TEST(given_folders_take_the_place_of_the_working_directory),
		ROLES_TEST(an_unknown_folder_has_relative_files_only),
		ROLES_TEST(packages_have_names),
		ROLES_TEST(python_itself_is_known),
		ROLES_TEST(plumbing_is_known),
		ROLES_TEST(glue_is_not_own_wherever_it_is),
		ROLES_TEST(calls_and_work_are_kept),
		ROLES_TEST(packages_have_a_language),
		ROLES_TEST(headers_in_an_own_program_are_not_own),
		ROLES_TEST(own_sources_in_other_folders),
		ROLES_TEST(random_paths),
		ROLES_TEST(names_may_be_huge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
