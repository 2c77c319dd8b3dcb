// SPDX-License-Identifier: MIT
#include "profiler/shape/code_role.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/cuda_functions.h"
#include "profiler/shape/foreign_folder.h"
#include "profiler/shape/frame_kind.h"
#include "profiler/shape/path_links.h"
#include "profiler/shape/plain_path.h"
#include "profiler/shape/started_code.h"
#include "profiler/model/pseudo_frames.h"
#include "symbolize/util/text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct code_roles {
	char *folder; /* working directory; NULL: unknown */
	char **own;   /* plain paths (plain_path.h) */
	uint32_t own_count, own_max;
	const char *links;     /* path_links.h; or NULL */
	const char **programs; /* started programs; borrowed */
	uint32_t program_count;
};

/* ---- paths ---- */

/* Returns the rest of a path below `folder`: "lib/a.so". Returns NULL for other paths. */
static const char *below(const char *folder, const char *path)
{
	size_t n = strlen(folder);

	return strncmp(path, folder, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

/* "python3.11", a folder of lib */
static bool is_python_folder(const char *component)
{
	return starts_with(component, "python") && component[6] >= '2' && component[6] <= '9' &&
	       component[6 + strspn(component + 6, "0123456789.t")] == '/';
}

/* Returns the part of a path inside a folder of packages: "torch/nn/functional.py"; or NULL. */
static const char *in_packages(const char *path)
{
	static const char *const folders[] = {"/site-packages/", "/dist-packages/"};
	const char *found = NULL;

	for (size_t i = 0; i < COUNT(folders); i++)
		for (const char *at = path; (at = strstr(at, folders[i])); at++)
			found = at + strlen(folders[i]) > found ? at + strlen(folders[i]) : found;
	return found;
}

/* Returns the part of a path inside Python's standard library: "json/decoder.py"; or NULL. */
static const char *in_standard_library(const char *path)
{
	static const char *const folders[] = {"/lib/", "/lib64/"};

	for (size_t i = 0; i < COUNT(folders); i++)
		for (const char *at = path; (at = strstr(at, folders[i])); at++) {
			const char *python = at + strlen(folders[i]);

			if (!is_python_folder(python))
				continue;
			python += strcspn(python, "/") + 1;
			return starts_with(python, "lib-dynload/") ? python + 12 : python;
		}
	return NULL;
}

static bool is_below_own(const struct code_roles *roles, const char *path)
{
	for (uint32_t i = 0; i < roles->own_count; i++) {
		const char *own = roles->own[i], *rest = below(own, path), *at = rest;

		if (!rest || in_standard_library(rest - 1))
			continue;
		if ((!*own || strcmp(own, "/usr") == 0 || strcmp(own, "/usr/local") == 0) &&
		    folder_is_system(rest))
			continue;
		while (strchr(at, '/') && !folder_is_foreign(at))
			at = strchr(at, '/') + 1;
		if (!strchr(at, '/'))
			return true;
	}
	return false;
}

static bool is_program(const struct code_roles *roles, const char *module)
{
	for (uint32_t i = 0; i < roles->program_count; i++)
		if (strcmp(roles->programs[i], module) == 0)
			return true;
	return false;
}

/* Returns true if a path is own, or leads to an own path. */
static bool is_own_path(const struct code_roles *roles, const char *path)
{
	char *real;
	bool is_own = is_below_own(roles, path);

	if (is_own || !roles->links)
		return is_own;
	real = path_links_follow(roles->links, path);
	is_own = real && is_below_own(roles, real);
	free(real);
	return is_own;
}

/* Returns true if a source file is own. No source file is own if the working directory is "/". */
static bool is_own_source(const struct code_roles *roles, const char *source)
{
	for (uint32_t i = 0; i < roles->own_count; i++)
		if (!roles->own[i][0])
			return false;
	return is_own_path(roles, source);
}

/* ---- labels ---- */

static void put_label(char label[CODE_ROLE_LABEL_BYTES], const char *text, size_t length)
{
	size_t max = CODE_ROLE_LABEL_BYTES - 3;

	snprintf(label, CODE_ROLE_LABEL_BYTES, "[%.*s]", (int)(length < max ? length : max), text);
}

/* Puts brackets around a text, unless the text has them: "[vdso]". */
static void put_once(char label[CODE_ROLE_LABEL_BYTES], const char *text)
{
	size_t n = strlen(text);

	if (n > 2 && text[0] == '[' && text[n - 1] == ']')
		put_label(label, text + 1, n - 2);
	else
		put_label(label, text, n);
}

/* "torch" of "torch/nn/functional.py", "six" of "six.py" */
static void put_package(char label[CODE_ROLE_LABEL_BYTES], const char *path)
{
	size_t n = strcspn(path, "/");

	if (n > 4 && memcmp(path + n - 4, ".egg", 4) == 0 && path[n]) {
		path += n + 1;
		n = strcspn(path, "/");
	}
	if (starts_with(path, "nvidia/")) { /* a folder of many packages */
		path = base_name(path);
		n = strlen(path);
		if (!strstr(path, ".so"))
			n = strcspn(path, ".");
		put_label(label, path, n);
		return;
	}
	if (!path[n]) /* a file */
		n = strcspn(path, ".");
	else if (n > 5 && memcmp(path + n - 5, ".libs", 5) == 0)
		n -= 5;
	put_label(label, path, n);
}

/* Returns true for modules of the standard library that mostly call other code. */
static bool is_python_plumbing(const char *label)
{
	static const char *const labels[] = {"[importlib]",  "[threading]", "[runpy]",
					     "[contextlib]", "[functools]", "[zipimport]"};

	for (size_t i = 0; i < COUNT(labels); i++)
		if (strcmp(label, labels[i]) == 0)
			return true;
	return false;
}

/* Puts the package of a path. Returns false if the path tells no package. */
static bool put_known_package(char label[CODE_ROLE_LABEL_BYTES], const char *path,
			      enum code_role *role)
{
	const char *inside = in_packages(path);

	if (!inside) {
		inside = in_standard_library(path);
		/* "_json.cpython-312-x86_64-linux-gnu.so" is a part of json */
		if (inside && inside[0] == '_' && inside[1] != '_')
			inside++;
	}
	if (!inside)
		return false;
	put_package(label, inside);
	*role = is_python_plumbing(label) ? ROLE_PLUMBING : ROLE_PACKAGE;
	return true;
}

/* ---- Python ---- */

/* Returns the role of "<frozen importlib._bootstrap>", or of a text: "<string>", "<stdin>". */
static enum code_role role_of_unfiled(const char *file, char label[CODE_ROLE_LABEL_BYTES])
{
	if (starts_with(file, "<frozen ")) {
		file += strlen("<frozen ");
		file += file[0] == '_';
		put_label(label, file, strcspn(file, ".>"));
		return is_python_plumbing(label) ? ROLE_PLUMBING : ROLE_PACKAGE;
	}
	put_label(label, "python", 6);
	return *file ? ROLE_CALLERS : ROLE_PLUMBING;
}

/* Returns true for the methods through which PyTorch calls each layer. */
static bool is_python_glue(const struct frame_info *frame, const char *path)
{
	static const char *const names[] = {"Module._call_impl (", "Module._wrapped_call_impl ("};
	static const char file[] = "/torch/nn/modules/module.py";

	return starts_with_any(frame->name, names, COUNT(names)) && ends_with(path, file);
}

/* Puts the folder that a file is in. */
static void put_folder(char label[CODE_ROLE_LABEL_BYTES], const char *path)
{
	const char *end = base_name(path), *start;

	if (end - path < 2) {
		put_label(label, end, strlen(end));
		return;
	}
	for (start = --end; start > path && start[-1] != '/'; start--)
		;
	put_label(label, start, (size_t)(end - start));
}

static enum code_role role_of_python(const struct code_roles *roles, const struct frame_info *frame,
				     char label[CODE_ROLE_LABEL_BYTES])
{
	enum code_role role = ROLE_PACKAGE;
	char *path;

	if (!frame->file || frame->file[0] == '<')
		return role_of_unfiled(frame->file ? frame->file : "", label);
	path = plain_path(roles->folder, frame->file);
	if (!path) /* relative, and the working directory is unknown */
		return ROLE_OWN;
	if (is_python_glue(frame, path)) {
		put_label(label, "torch", 5);
		role = ROLE_PLUMBING;
	} else if (is_own_path(roles, path) || starts_with(path, "/tmp/ipykernel_")) {
		role = ROLE_OWN;
	} else if (strstr(path, "/torchinductor_")) { /* made by torch.compile */
		put_label(label, "torch", 5);
	} else if (!put_known_package(label, path, &role)) {
		put_folder(label, path);
	}
	free(path);
	return role;
}

/* ---- native code ---- */

/* "python3.11", "libpython3.12.so.1.0" */
static bool is_interpreter(const char *file)
{
	file += starts_with(file, "lib") ? 3 : 0;
	if (!starts_with(file, "python"))
		return false;
	file += 6 + strspn(file + 6, "0123456789.dmt");
	return !*file || starts_with(file, "so") || starts_with(file, " (");
}

static bool is_c_library(const char *file)
{
	static const char *const names[] = {
		"ld-linux",   "ld-musl",  "libc++.so", "libc++abi.so", "libc-2.",
		"libc.so",    "libdl",    "libffi",    "libgcc_s",     "libgomp",
		"libiomp5",   "libm-2.",  "libm.so",   "libmvec",      "libomp.",
		"libpthread", "librt.so", "libstdc++", "libc.musl",    "[vdso]",
	};

	return starts_with_any(file, names, COUNT(names));
}

static bool is_cuda_library(const char *file)
{
	return starts_with(file, "libcudart.") || starts_with(file, "libcuda.");
}

/* Beginnings of names of others' code in own files. */
static const struct {
	const char *name, *label;
} glue[] = {
	{"std::", "std"},
	{"__gnu_cxx::", "std"},
	{"operator new", "std"},
	{"operator delete", "std"},
	{"cuda::std::", "std"},
	{"c10::impl::wrap_kernel_functor_", "c10"},
	{"c10::impl::make_boxed_from_unboxed_functor", "c10"},
	{"c10::impl::call_functor_with_args_from_stack", "c10"},
	{"c10::impl::BoxedKernelWrapper", "c10"},
	{"c10::impl::detail::", "c10"},
	{"c10::Dispatcher::", "c10"},
	{"c10::KernelFunction::", "c10"},
	{"c10::BoxedKernel::", "c10"},
	{"at::_ops::", "at"},
	{"pybind11::", "pybind11"},
	{"__device_stub_", "nvcc"},
	{"__wrapper__device_stub_", "nvcc"},
	{"thrust::", "thrust"},
	{"cub::", "cub"},
	{"cudart::", "libcudart"}, /* linked statically */
	{"libcudart_static_", "libcudart"},
};

static bool put_glue(const char *name, char label[CODE_ROLE_LABEL_BYTES])
{
	for (size_t i = 0; i < COUNT(glue); i++)
		if (starts_with(name, glue[i].name)) {
			put_label(label, glue[i].label, strlen(glue[i].label));
			return true;
		}
	return false;
}

/* Puts "Eigen" for "Eigen::internal::f", or the folder of the source file. */
static void put_namespace(char label[CODE_ROLE_LABEL_BYTES], const char *name, const char *source)
{
	size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				"0123456789_");

	if (n > 0 && name[n] == ':' && name[n + 1] == ':')
		put_label(label, name, n);
	else
		put_folder(label, source);
}

/*
 * Decides by a function's source file and by the file with its code. In a program of the user, code
 * from others' headers is plumbing. Returns false if neither file is own.
 */
static bool find_own(const struct code_roles *roles, const struct frame_info *frame,
		     char label[CODE_ROLE_LABEL_BYTES], enum code_role *role)
{
	char *source = frame->source ? plain_path(NULL, frame->source) : NULL;
	bool has_source = frame->source, is_own = is_own_path(roles, frame->module);
	bool is_users = source && is_own_source(roles, source);
	bool is_foreign = source && !is_users && source_is_foreign(source);
	bool is_started = has_source && is_program(roles, frame->module);

	*role = ROLE_OWN;
	if ((is_own || is_users || is_started) && put_glue(frame->name, label)) {
		*role = ROLE_PLUMBING;
	} else if ((is_own || is_started) && is_foreign) {
		put_namespace(label, frame->name, source);
		*role = ROLE_PLUMBING;
	}
	free(source);
	return is_own || is_users || is_started;
}

static enum code_role role_of_native(const struct code_roles *roles, const struct frame_info *frame,
				     char label[CODE_ROLE_LABEL_BYTES])
{
	const char *module = frame->module, *file = module ? base_name(module) : "";
	bool is_cuda = is_cuda_library(file);
	enum code_role role;

	if (cuda_function_of(frame->name) != CUDA_FUNCTION_NONE ||
	    (is_cuda && frame->name[0] != '['))
		return ROLE_KEPT;
	put_once(label, module ? file : frame->name[0] == '[' ? frame->name : "unknown");
	if (!module)
		return ROLE_PLUMBING;
	if (is_interpreter(file)) {
		put_label(label, "python", 6);
		return ROLE_PLUMBING;
	}
	if (is_c_library(file) || is_cuda || frame_kind_of(frame) == KIND_START)
		return ROLE_PLUMBING;
	if (find_own(roles, frame, label, &role))
		return role;
	return put_known_package(label, module, &role) ? role : ROLE_PACKAGE;
}

/* ---- roles ---- */

enum code_role code_role_of(const struct code_roles *roles, const struct frame_info *frame,
			    char label[CODE_ROLE_LABEL_BYTES])
{
	label[0] = '\0';
	switch (frame->class) {
	case CLASS_NATIVE:
		return role_of_native(roles, frame, label);
	case CLASS_PYTHON:
		return role_of_python(roles, frame, label);
	case CLASS_JIT:
	case CLASS_NVTX:
	case CLASS_OPERATOR:
	case CLASS_LAYER:
		return ROLE_OWN;
	case CLASS_KERNEL_MODE:
		return ROLE_KERNEL_MODE;
	default:
		return ROLE_KEPT;
	}
}

bool code_role_is_python(const struct frame_info *frame, const char *label)
{
	char package[CODE_ROLE_LABEL_BYTES];
	enum code_role role;

	if (frame->class == CLASS_PYTHON || strcmp(label, "[python]") == 0)
		return true;
	/* "[libcublas.so.12]" lies among packages, but is none of Python */
	return frame->class == CLASS_NATIVE && frame->module && !strstr(label, ".so") &&
	       put_known_package(package, frame->module, &role) && strcmp(package, label) == 0;
}

/* Adds a path, and the path that it leads to now. Returns false if out of memory. */
static bool add_own(struct code_roles *r, const char *path)
{
	char *absolute = plain_path(r->folder, path), *real;

	if (!absolute) /* relative to an unknown folder: no file is below it */
		return path[0] != '/' && !r->folder;
	r->own[r->own_count++] = absolute;
	real = realpath(*absolute ? absolute : "/", NULL);
	if (real && strcmp(real, "/") != 0 && strcmp(real, absolute) != 0)
		r->own[r->own_count++] = real;
	else
		free(real);
	return true;
}

/*
 * Returns true if a folder is of others, although the command started something in it. Bin folders
 * of systems and environments have launchers.
 */
static bool is_others(const char *folder)
{
	char *path = NULL, *at;
	bool others, is_bin;

	if (asprintf(&path, "%s/.", folder) < 0)
		return true;
	others = in_packages(path) || in_standard_library(path) || path_is_of_system(path);
	is_bin = strcmp(base_name(folder), "bin") == 0;
	/* other hidden folders may be own: something was started there */
	for (at = path + 1; strchr(at, '/'); at = strchr(at, '/') + 1)
		others |= folder_is_foreign(at) &&
			  (at[0] != '.' || is_bin || starts_with(at, ".venv"));
	free(path);
	return others;
}

/* Notes the path of a program, which the result owns. */
static bool add_program(void *context, const char *module)
{
	struct code_roles *r = context;

	if (is_program(r, module) || r->program_count == STARTED_PROGRAMS_MAX)
		return true;
	if (!r->programs)
		r->programs = calloc(STARTED_PROGRAMS_MAX, sizeof(*r->programs));
	if (r->programs)
		r->programs[r->program_count++] = module;
	return r->programs;
}

static bool add_started(void *context, const char *folder)
{
	struct code_roles *r = context;
	char *path = plain_path(NULL, folder);
	bool is_known = false;

	if (!path)
		return false;
	for (uint32_t i = 0; i < r->own_count && !is_known; i++)
		is_known = strcmp(r->own[i], path) == 0;
	if (is_known || r->own_count == r->own_max || is_others(path))
		free(path);
	else
		r->own[r->own_count++] = path;
	return true;
}

struct code_roles *code_roles_new(const char *const *paths, uint32_t count, const char *folder,
				  const char *links)
{
	struct code_roles *r = calloc(1, sizeof(*r));
	bool is_made = r;

	if (!r)
		return NULL;
	r->links = links;
	r->own_max = 2 * count + 2 + STARTED_WORDS_MAX;
	r->own = calloc(r->own_max, sizeof(*r->own));
	r->folder = folder ? plain_path(NULL, folder) : NULL;
	is_made = r->own && (r->folder || !folder);
	for (uint32_t i = 0; i < count && is_made; i++)
		is_made = add_own(r, paths[i]);
	if (count == 0 && folder && is_made) {
		r->own[0] = strdup(r->folder);
		is_made = r->own[r->own_count++];
	}
	if (is_made)
		return r;
	code_roles_free(r);
	return NULL;
}

void code_roles_free(struct code_roles *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->own_count; i++)
		free(r->own[i]);
	free(r->own);
	free(r->programs);
	free(r->folder);
	free(r);
}

struct code_roles *code_roles_of_result(const struct result *result)
{
	struct code_roles *roles =
		code_roles_new(NULL, 0, result->totals.folder, result->totals.links);

	if (!roles || started_code_visit(result, add_started, add_program, roles))
		return roles;
	code_roles_free(roles);
	return NULL;
}
