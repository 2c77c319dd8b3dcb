// SPDX-License-Identifier: MIT
#include "profiler/shape/foreign_folder.h"

#include <stddef.h>
#include <string.h>
#include "symbolize/util/text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

bool folder_is_foreign(const char *component)
{
	static const char *const begins[] = {
		".",          "anaconda",   "miniconda",     "miniforge",
		"mambaforge", "micromamba", "torchinductor_"};
	static const char *const names[] = {"conda/", "venv/", "node_modules/", "site-packages/",
					    "dist-packages/"};

	return starts_with_any(component, begins, COUNT(begins)) ||
	       starts_with_any(component, names, COUNT(names));
}

bool folder_is_system(const char *component)
{
	static const char *const names[] = {"bin/",  "boot/",  "dev/",   "etc/",       "gnu/",
					    "lib/",  "lib32/", "lib64/", "libexec/",   "libx32/",
					    "nix/",  "proc/",  "run/",   "sbin/",      "share/",
					    "snap/", "sys/",   "usr/",   "opt/nvidia/"};

	return starts_with_any(component, names, COUNT(names));
}

bool path_is_of_system(const char *path)
{
	static const char *const systems[] = {"/usr/local/", "/usr/", "/"};

	for (size_t i = 0; i < COUNT(systems); i++)
		if (starts_with(path, systems[i])) {
			const char *rest = path + strlen(systems[i]);

			return folder_is_system(rest) && !starts_with(rest, "dev/shm/") &&
			       !starts_with(rest, "run/user/");
		}
	return false;
}

/* Returns true if a part of a path is of CUDA's toolkit: "cuda-13.0/", "cuda/include/". */
static bool is_toolkit(const char *component)
{
	const char *rest = component + strlen("cuda");

	if (!starts_with(component, "cuda"))
		return false;
	if (*rest == '-' && rest[1] >= '0' && rest[1] <= '9')
		return true;
	return *rest == '/' && (starts_with(rest, "/include/") || starts_with(rest, "/targets/") ||
				(rest[1] >= '0' && rest[1] <= '9'));
}

bool source_is_foreign(const char *path)
{
	static const char *const begins[] = {"/usr/include/", "/usr/local/include/",
					     "/usr/local/go/", "/usr/src/debug/", "/rustc/"};
	static const char *const inside[] = {
		"/usr/include/", "/include/c++/", "/lib/gcc/",
		"/lib/clang/",   "/pkg/mod/",     "/tmpxft_", /* nvcc's intermediate files */
	};
	const char *at = path;

	if (path[0] != '/')
		return false;
	if (starts_with_any(path, begins, COUNT(begins)) || path_is_of_system(path))
		return true;
	for (size_t i = 0; i < COUNT(inside); i++)
		if (strstr(path, inside[i]))
			return true;
	for (at++; strchr(at, '/'); at = strchr(at, '/') + 1)
		if (folder_is_foreign(at) || is_toolkit(at))
			return true;
	return false;
}
