/* SPDX-License-Identifier: MIT */
/*
 * The folders of what the command started: of the script or folder that an interpreter runs, of
 * modules (-m), and of programs, also where launchers such as torchrun, accelerate, mpirun, env or
 * `sh -c` stand before them:
 *
 *   torchrun --nproc-per-node 8 /home/me/proj/train.py      /home/me/proj
 *   python3 -m exp.train                                    .../exp, where its files are
 *   sh -c 'numactl -N 0 /home/me/proj/build/app'            /home/me/proj/build
 *
 * A word that is a path counts if code of this file ran, or if it is an interpreter's script.
 * Programs and modules that are found by a search have their folder from the code that ran. Links
 * are followed as they were at the run's end (path_links.h). So no file is opened, and captures of
 * another machine give the same.
 */
#ifndef PROFILER_SHAPE_STARTED_CODE_H
#define PROFILER_SHAPE_STARTED_CODE_H

#include <stdbool.h>
#include "profiler/model/result.h"

#define STARTED_WORDS_MAX 256u    /* of a command that are looked at */
#define STARTED_PROGRAMS_MAX 256u /* programs that are own by their sources */

/*
 * Calls `add` for each such folder, absolute, some more than once. A path that is relative counts
 * if result->totals.folder is known. Native programs have the folders of their sources as well, if
 * debug information tells them, without those of others (foreign_folder.h), or those in which they
 * were compiled, if they are below these. `add_program` is called
 * with the path of each program (NULL: is not called). False: out of memory, or one of these
 * returned false.
 */
bool started_code_visit(const struct result *result, bool (*add)(void *context, const char *folder),
			bool (*add_program)(void *context, const char *module), void *context);

#endif
