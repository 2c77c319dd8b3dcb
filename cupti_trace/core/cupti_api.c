// SPDX-License-Identifier: MIT
#include "cupti_trace/core/cupti_api.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "symbolize/util/text.h"

/*
 * Newest first: a libcupti may be newer than the program's CUDA, but not older than the driver's
 * API.
 */
static const char *const file_names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
					 "libcupti.so"};
#define FILE_NAMES (sizeof(file_names) / sizeof(file_names[0]))

static void note_looked(struct cupti_api *api, const char *place)
{
	size_t used = strlen(api->looked), length = strlen(place);
	int n;

	for (const char *at = api->looked; (at = strstr(at, place)); at++)
		if ((at == api->looked || at[-1] == '\n') && (at[length] == '\n' || !at[length]))
			return; /* already listed */
	n = snprintf(api->looked + used, sizeof(api->looked) - used, "%s%s", used ? "\n" : "",
		     place);

	if (n < 0 || (size_t)n >= sizeof(api->looked) - used)
		api->looked[used] = '\0';
}

static int resolve(struct cupti_api *api)
{
#define X(name, required, parameters)                     \
	*(void **)&api->name = dlsym(api->handle, #name); \
	if (required && !api->name)                       \
		return -ENOSYS;
	CUPTI_ABI_FUNCTIONS(X)
#undef X
	api->cuptiGetVersion(&api->version);
	return 0;
}

static bool was_tried(const struct cupti_api *api)
{
	for (uint32_t i = 0; i < api->tried_count; i++)
		if (api->tried[i] == api->handle)
			return true;
	return false;
}

/* Keeps the first library that failed, or the one that ends the search, for error messages. */
static bool pass_over(struct cupti_api *api, int err)
{
	bool is_final = err != -ENOSYS && api->use->is_final(api->use->context, err);

	if (api->tried_count == 0 || is_final) {
		api->first_error = err;
		api->first_version = api->version;
		memcpy(api->first_path, api->path, sizeof(api->path));
	}
	api->tried[api->tried_count++] = api->handle;
	return api->tried_count < CUPTI_API_TRIES_MAX && !is_final;
}

/* Tries a path. Returns true if the search is over. */
static bool try_open(struct cupti_api *api, const char *path)
{
	struct link_map *map = NULL;
	int err;

	api->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!api->handle) {
		if (access(path, F_OK) == 0) /* needs no descriptor, as loading does */
			note_looked(api, dlerror());
		return false;
	}
	if (was_tried(api)) {
		dlclose(api->handle);
		return false;
	}
	/* path that ld.so found, rather than the bare name */
	if (dlinfo(api->handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name[0])
		path = map->l_name;
	snprintf(api->path, sizeof(api->path), "%s", path);
	api->version = 0;
	err = resolve(api);
	if (!err)
		err = api->use->begin(api->use->context, api);
	if (!err)
		api->tried_count = 0;
	return !err || !pass_over(api, err);
}

typedef bool try_path(struct cupti_api *api, const char *path);

/* Tries FOLDER/BELOW, unless that is too long. */
static bool try_below(struct cupti_api *api, const char *folder, const char *below, try_path *try)
{
	char path[CUPTI_API_PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", folder, below);

	return n > 0 && (size_t)n < sizeof(path) && try(api, path);
}

static bool try_folder(struct cupti_api *api, const char *folder)
{
	note_looked(api, folder);
	for (size_t i = 0; i < FILE_NAMES; i++)
		if (try_below(api, folder, file_names[i], try_open))
			return true;
	return false;
}

/* Tries the sub-folders in which a toolkit keeps libcupti. */
static bool try_toolkit(struct cupti_api *api, const char *root)
{
	static const char *const below[] = {"extras/CUPTI/lib64", "lib64",
					    "targets/x86_64-linux/lib", "lib"};

	if (!root || !root[0])
		return false;
	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++)
		if (try_below(api, root, below[i], try_folder))
			return true;
	return false;
}

struct mapped {
	char cupti[CUPTI_API_PATH_MAX];
	char cudart_folder[CUPTI_API_PATH_MAX];
};

static int note_mapped(struct dl_phdr_info *info, size_t size, void *data)
{
	struct mapped *mapped = data;
	const char *slash = strrchr(info->dlpi_name, '/');

	(void)size;
	if (!slash)
		return 0;
	if (!mapped->cupti[0] && starts_with(slash + 1, "libcupti.so"))
		snprintf(mapped->cupti, sizeof(mapped->cupti), "%s", info->dlpi_name);
	if (!mapped->cudart_folder[0] && starts_with(slash + 1, "libcudart.so"))
		snprintf(mapped->cudart_folder, sizeof(mapped->cudart_folder), "%.*s",
			 (int)(slash - info->dlpi_name), info->dlpi_name);
	return 0;
}

static bool try_beside_cudart(struct cupti_api *api, const char *folder)
{
	if (!folder[0])
		return false;
	/* NVIDIA's CUDA 12 wheels: nvidia/cuda_runtime/lib and nvidia/cuda_cupti/lib */
	return try_folder(api, folder) ||
	       try_below(api, folder, "../../cuda_cupti/lib", try_folder) ||
	       try_below(api, folder, "..", try_toolkit);
}

static bool try_library_path(struct cupti_api *api)
{
	const char *list = getenv("LD_LIBRARY_PATH");
	char folder[CUPTI_API_PATH_MAX];

	for (const char *p = list; p && *p;) {
		size_t n = strcspn(p, ":;");

		if (n > 0 && n < sizeof(folder)) {
			memcpy(folder, p, n);
			folder[n] = '\0';
			if (try_folder(api, folder))
				return true;
		}
		p += n + (p[n] != '\0');
	}
	return false;
}

/* Tries /usr/local/cuda first, then /usr/local/cuda-13.0 and the like, highest first. */
static bool try_usual_folders(struct cupti_api *api)
{
	static const char *const parents[] = {"/usr/local", "/opt"};

	for (size_t i = 0; i < 2; i++) {
		struct dirent **entries = NULL;
		int n = scandir(parents[i], &entries, NULL, versionsort);
		bool found = n > 0 && try_below(api, parents[i], "cuda", try_toolkit);

		for (int j = n - 1; j >= 0; j--) {
			if (!found && starts_with(entries[j]->d_name, "cuda-"))
				found = try_below(api, parents[i], entries[j]->d_name, try_toolkit);
			free(entries[j]);
		}
		free(entries);
		if (found)
			return true;
	}
	return try_folder(api, "/usr/lib/x86_64-linux-gnu");
}

static bool find_library(struct cupti_api *api)
{
	struct mapped mapped = {0};

	dl_iterate_phdr(note_mapped, &mapped);
	if (mapped.cupti[0] && try_open(api, mapped.cupti))
		return true;
	if (try_beside_cudart(api, mapped.cudart_folder) || try_library_path(api) ||
	    try_toolkit(api, getenv("CUDA_HOME")) || try_toolkit(api, getenv("CUDA_PATH")) ||
	    try_usual_folders(api))
		return true;
	note_looked(api, "the loader's own folders (ldconfig -p)");
	for (size_t i = 0; i < FILE_NAMES; i++)
		if (try_open(api, file_names[i]))
			return true;
	return false;
}

int cupti_api_load(struct cupti_api *api, const struct cupti_api_use *use)
{
	bool over;

	memset(api, 0, sizeof(*api));
	api->use = use;
	over = find_library(api);
	api->use = NULL;
	if (over && api->tried_count == 0)
		return 0;
	if (api->tried_count == 0)
		return -ENOENT;
	memcpy(api->path, api->first_path, sizeof(api->path));
	api->version = api->first_version;
	return api->first_error;
}

const char *cupti_api_function(const struct cupti_api *api, uint32_t domain, uint32_t cbid)
{
	const char *name = NULL;

	return api->cuptiGetCallbackName(domain, cbid, &name) == CUPTI_ABI_SUCCESS ? name : NULL;
}

const char *cupti_api_error(const struct cupti_api *api, int result)
{
	const char *text = NULL;

	if (api->cuptiGetResultString)
		api->cuptiGetResultString((uint32_t)result, &text);
	return text ? text : "unknown error";
}
