// SPDX-License-Identifier: MIT
#include "profiler/output/writers.h"

#include <string.h>

/* longer suffixes first: ".speedscope.json" and ".trace.json" before ".json" */
const struct writer *const writers[] = {&folded_writer,   &svg_writer,        &html_writer,
					&pprof_writer,    &speedscope_writer, &otlp_profiles_writer,
					&perfetto_writer, &chrome_writer,     &json_summary_writer,
					&markdown_writer, &capture_writer,    NULL};

const struct writer *writer_with_name(const char *name)
{
	for (const struct writer *const *w = writers; *w; w++)
		if (strcmp((*w)->name, name) == 0)
			return *w;
	return NULL;
}

const struct writer *writer_for_path(const char *path)
{
	for (const struct writer *const *w = writers; *w; w++)
		if (has_suffix(path, (*w)->suffix) || has_suffix(path, (*w)->other_suffix))
			return *w;
	return *path_extension(path) ? NULL : writers[0];
}

const struct writer *writer_of_difference(const struct writer *writer)
{
	if (writer == &json_summary_writer)
		return &json_difference_writer;
	return writer == &folded_writer || writer == &svg_writer || writer == &html_writer ? writer
											   : NULL;
}
