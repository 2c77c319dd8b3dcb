// SPDX-License-Identifier: MIT
#include "profiler/findings/loader_names.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

/* Parts of paths and modules. */
static const char *const libraries[] = {
	"torch/utils/data/", "tensorflow/python/data/", "nvidia/dali/", "libdali", "grain/",
	"webdataset/",       "datasets/iterable",       "ffcv/",
};

/* Words of functions that load data, and of what else is loaded. */
static const char *const loading[] = {
	"load",     "loads", "loader",  "loading", "dataloader", "dataset",
	"prefetch", "fetch", "collate", "batches", "minibatch",
};
/* Words that begin the name of a function which returns a "batch". */
static const char *const getting[] = {"get", "next", "read", "make", "sample"};
static const char *const others[] = {
	"model",      "weight",  "weights", "module", "state",
	"checkpoint", "library", "kernel",  "config",
};

/* Returns the next word of a name, and moves `*at` behind it. Returns its length; 0 at the end. */
static size_t next_word(const char **at, const char **word)
{
	const char *c = *at;

	while (*c && !isalpha((unsigned char)*c))
		c++;
	*word = c;
	while (isupper((unsigned char)*c))
		c++;
	if (c - *word > 1 && islower((unsigned char)*c))
		c--; /* "HTTPLoader": its last capital begins the next word */
	while (islower((unsigned char)*c))
		c++;
	*at = c;
	return (size_t)(c - *word);
}

static bool is_listed(const char *const *list, size_t count, const char *word, size_t length)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(list[i]) == length && strncasecmp(list[i], word, length) == 0)
			return true;
	return false;
}

static bool has_library(const char *path)
{
	for (size_t i = 0; path && i < sizeof(libraries) / sizeof(libraries[0]); i++)
		if (strstr(path, libraries[i]))
			return true;
	return false;
}

bool loader_names_library(const struct frame_info *frame)
{
	if (strncmp(frame->name, "<module>", strlen("<module>")) == 0)
		return false; /* is being imported */
	return has_library(frame->file) || has_library(frame->module);
}

bool loader_names_function(const struct frame_info *frame)
{
	const char *at = frame->short_name ? frame->short_name : frame->name, *word;
	bool has_loading = false, is_getter = false;
	size_t length, words = 0;

	while ((length = next_word(&at, &word)) > 0) {
		if (is_listed(others, sizeof(others) / sizeof(others[0]), word, length))
			return false;
		if (words++ == 0)
			is_getter = is_listed(getting, sizeof(getting) / sizeof(getting[0]), word,
					      length);
		has_loading |=
			is_listed(loading, sizeof(loading) / sizeof(loading[0]), word, length) ||
			(is_getter && length == 5 && strncasecmp(word, "batch", 5) == 0);
	}
	return has_loading;
}
