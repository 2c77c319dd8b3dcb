// SPDX-License-Identifier: MIT
#include "profiler/findings/loader_names.h"

#include <ctype.h>
#include <string.h>

/* Parts of paths and modules. */
static const char *const libraries[] = {
	"torch/utils/data/", "tensorflow/python/data/", "nvidia/dali/", "libdali", "grain/",
	"webdataset/",       "datasets/iterable",       "ffcv/",
};

/* Words of function names: "load_batch", "DataLoader", "nextBatch". */
static const char *const words[] = {
	"load",    "loads", "loader",   "loading", "dataloader",
	"dataset", "fetch", "prefetch", "collate",
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

static bool is_listed(const char *word, size_t length)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == length && strncasecmp(words[i], word, length) == 0)
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

bool loader_names_has(const struct frame_info *frame)
{
	const char *at = frame->short_name ? frame->short_name : frame->name, *word;
	size_t length;

	if (frame->class != CLASS_NATIVE && frame->class != CLASS_PYTHON &&
	    frame->class != CLASS_JIT && frame->class != CLASS_NVTX && !frame_is_folded(frame))
		return false;
	if (has_library(frame->file) || has_library(frame->module))
		return true;
	while ((length = next_word(&at, &word)) > 0)
		if (is_listed(word, length))
			return true;
	return false;
}
