// SPDX-License-Identifier: MIT
#include "profiler/send/curl_api.h"

#include <dlfcn.h>

/*
 * Opens libcurl under its usual name, or under Debian's names for builds with other TLS libraries.
 */
static void *open_library(void)
{
	static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4",
					    "libcurl-nss.so.4"};
	void *library = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	return library;
}

static bool find(void *library, const char *name, void *function)
{
	void *address = dlsym(library, name);

	*(void **)function = address;
	return address != NULL;
}

bool curl_api_load(struct curl_api *api)
{
	void *library = open_library();

	return library && find(library, "curl_global_init", &api->global_init) &&
	       find(library, "curl_easy_init", &api->easy_init) &&
	       find(library, "curl_easy_setopt", &api->easy_setopt) &&
	       find(library, "curl_easy_perform", &api->easy_perform) &&
	       find(library, "curl_easy_getinfo", &api->easy_getinfo) &&
	       find(library, "curl_easy_cleanup", &api->easy_cleanup) &&
	       find(library, "curl_easy_strerror", &api->easy_strerror) &&
	       find(library, "curl_slist_append", &api->slist_append) &&
	       find(library, "curl_slist_free_all", &api->slist_free_all) &&
	       api->global_init(CURL_API_GLOBAL_ALL) == CURL_API_OK;
}
