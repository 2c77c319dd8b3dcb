/* SPDX-License-Identifier: MIT */
/*
 * Folders whose contents are others': what package managers, environments, systems, compilers and
 * CUDA's toolkit keep there. By their names alone, for they may be of another machine.
 */
#ifndef PROFILER_SHAPE_FOREIGN_FOLDER_H
#define PROFILER_SHAPE_FOREIGN_FOLDER_H

#include <stdbool.h>

/* Returns whether others fill the folder that this part of a path begins with: ".venv/...". */
bool folder_is_foreign(const char *component);

/* Returns whether it is one of the system, below "/", /usr or /usr/local: "lib64/...". */
bool folder_is_system(const char *component);

/* Returns whether an absolute path leads into a folder of the system. */
bool path_is_of_system(const char *path);

/*
 * Returns whether a file of source is others': headers of the system, of compilers and of CUDA's
 * toolkit, what languages and package managers keep of libraries, and what nvcc generates. One that
 * is relative is not, for the program was compiled in that folder.
 */
bool source_is_foreign(const char *path);

#endif
