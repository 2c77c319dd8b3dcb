// SPDX-License-Identifier: MIT
#include "cupti_trace/core/loader_count.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>

/*
 * Skips the first list of objects and its length, which equals the count until an object is
 * unloaded.
 */
#define SKIPPED_BYTES 16

static const volatile uint64_t not_found;
const volatile uint64_t *_Atomic loader_count_place HOT_PATH_DATA = &not_found;

/* glibc's own data: words[count]. Set when this library is loaded. */
static const volatile uint64_t *words;
static size_t word_count;

__attribute__((constructor)) static void find_words(void)
{
	void *data = dlsym(RTLD_DEFAULT, "_rtld_global");
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	if (!data || ((uintptr_t)data & 7) ||
	    !dladdr1(data, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
		return;
	words = data;
	word_count = symbol->st_size / sizeof(*words);
}

static int take(struct dl_phdr_info *info, size_t size, void *data)
{
	struct loader_count *count = data;

	(void)size;
	count->loaded = info->dlpi_adds;
	count->unloaded = info->dlpi_subs;
	return 1;
}

static const volatile uint64_t *find(uint64_t number)
{
	for (size_t i = SKIPPED_BYTES / sizeof(*words); i < word_count; i++)
		if (words[i] == number)
			return &words[i];
	return &not_found;
}

struct loader_count loader_count_read(void)
{
	struct loader_count count = {0}, after = {0};
	const volatile uint64_t *place;

	dl_iterate_phdr(take, &count);
	if (loader_count_peek() == count.loaded || !words)
		return count;
	place = find(count.loaded);
	dl_iterate_phdr(take, &after);
	if (after.loaded == count.loaded) /* otherwise more was loaded meanwhile */
		loader_count_place = place;
	return count;
}
