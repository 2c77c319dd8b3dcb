/* SPDX-License-Identifier: MIT */
/*
 * Recognizes folders of others: those of package managers, environments, systems, compilers and
 * CUDA.
 *
 * Decides by names alone, for paths may be of another machine.
 */
#ifndef PROFILER_SHAPE_FOREIGN_FOLDER_H
#define PROFILER_SHAPE_FOREIGN_FOLDER_H

#include <stdbool.h>

/* Returns true if a part of a path begins with a folder of others: ".venv/...". */
bool folder_is_foreign(const char *component);

/* Returns true for a folder of the system below "/", /usr or /usr/local: "lib64/...". */
bool folder_is_system(const char *component);

/* Returns true if an absolute path is in a folder of the system. */
bool path_is_of_system(const char *path);

/*
 * Returns true for a source file of others: headers of the system, compilers and CUDA's toolkit;
 * sources that languages and package managers keep; files that nvcc generates. A relative path is
 * not: the program was compiled in that folder.
 */
bool source_is_foreign(const char *path);

#endif
