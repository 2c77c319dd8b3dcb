// SPDX-License-Identifier: MIT
#include "profiler/output/writer.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

/* ".speedscope.json" and ".trace.json" before ".json" */
const struct writer *const writers[] = {&folded_writer,
					&svg_writer,
					&html_writer,
					&pprof_writer,
					&speedscope_writer,
					&otlp_profiles_writer,
					&perfetto_writer,
					&chrome_writer,
					&json_summary_writer,
					&capture_writer,
					NULL};

const struct writer *writer_with_name(const char *name)
{
	for (const struct writer *const *w = writers; *w; w++)
		if (strcmp((*w)->name, name) == 0)
			return *w;
	return NULL;
}

bool has_suffix(const char *path, const char *suffix)
{
	size_t length = strlen(path), n = suffix ? strlen(suffix) : 0;

	return suffix && length >= n && strcasecmp(path + length - n, suffix) == 0;
}

const char *path_extension(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');

	return dot && dot > name && dot[1] ? dot : "";
}

const struct writer *writer_for_path(const char *path)
{
	for (const struct writer *const *w = writers; *w; w++)
		if (has_suffix(path, (*w)->suffix) || has_suffix(path, (*w)->other_suffix))
			return *w;
	return *path_extension(path) ? NULL : writers[0];
}
