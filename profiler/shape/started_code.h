/* SPDX-License-Identifier: MIT */
/*
 * Finds the folders of what the command started: scripts, folders that an interpreter runs, modules
 * (-m) and programs.
 *
 * Launchers may stand before them: torchrun, accelerate, mpirun, env, `sh -c`.
 *
 *   torchrun --nproc-per-node 8 /home/me/proj/train.py      /home/me/proj
 *   python3 -m exp.train                                    .../exp, the folder of its files
 *   sh -c 'numactl -N 0 /home/me/proj/build/app'            /home/me/proj/build
 *
 * A word that is a path counts if code of this file ran, or if it is an interpreter's script.
 * Programs and modules that were found by a search get their folder from the code that ran. Links
 * are followed as they were at the run's end (path_links.h). No file is opened, so captures of
 * other machines give equal results.
 */
#ifndef PROFILER_SHAPE_STARTED_CODE_H
#define PROFILER_SHAPE_STARTED_CODE_H

#include <stdbool.h>
#include "profiler/model/result.h"

#define STARTED_WORDS_MAX 256u    /* words of a command; further words are ignored */
#define STARTED_PROGRAMS_MAX 256u /* programs that are own */

/*
 * Calls `add` for each folder, as an absolute path, some more than once. Relative paths need
 * result->totals.folder. With debug information, folders of a native program's sources are added,
 * too: the folder of compilation if the source is below it, else the source's own. Sources of
 * others (foreign_folder.h) are not. Calls `add_program`, unless NULL, for the path of each
 * program. Returns false if out of memory, or if a callback returned false.
 */
bool started_code_visit(const struct result *result, bool (*add)(void *context, const char *folder),
			bool (*add_program)(void *context, const char *module), void *context);

#endif
