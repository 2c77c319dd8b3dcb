/* SPDX-License-Identifier: MIT */
/*
 * Tells the user's own code from that of others (--my-code).
 *
 * Own are:
 *  - Python and native code below the given folders. Without any, these are the working directory
 *    and the folders of what the command started (started_code.h). In them, folders of package
 *    managers, environments and systems are not own: site-packages, lib/python3.11, .venv,
 *    miniconda3. Below "/" this includes /usr and the like.
 *  - native functions whose source file (frame_info's `source`) is known and in such a folder.
 *  - native functions of a started program, wherever the program lies, if their source is known.
 *  - code that a JIT compiler makes, and NVTX ranges. Nothing tells who wrote them.
 *  - Python code without a file, as from exec(), if own code calls it.
 *
 * In an own file, what a compiler made of others' headers (foreign_folder.h) is not own: the
 * standard library of C++, PyTorch's dispatcher, pybind11.
 *
 * All other code, except CUDA and GPU work, belongs to a package, which names it:
 *
 *   [torch]              below site-packages or dist-packages: the folder there, for Python and
 *                        native code
 *   [libcublas.so.13]    other native code: its file
 *   [json]               the standard library of Python: the module
 *   [python]             the interpreter
 *   [std], [c10]         code from others' headers: the namespace
 *
 * Some packages are in all stacks and matter only as the innermost frame: the plumbing.
 *
 * Paths and names come from the target and may have any bytes.
 */
#ifndef PROFILER_SHAPE_CODE_ROLE_H
#define PROFILER_SHAPE_CODE_ROLE_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/model/result.h"

enum code_role {
	ROLE_OWN,
	ROLE_CALLERS, /* compiled from a text, as by exec(): plumbing below a package, else own */
	ROLE_KEPT,    /* CUDA calls, GPU work, waits, marks */
	ROLE_KERNEL_MODE, /* kernel code: kept, with the package that called it */
	ROLE_PACKAGE,
	ROLE_PLUMBING, /* C and C++ libraries, Python's interpreter and imports, start-up, glue */
};

#define CODE_ROLE_LABEL_BYTES 96

struct code_roles;

/*
 * Makes the roles for own folders `paths`, or `folder` if there are none. `folder` is the command's
 * working directory, to which relative paths refer; NULL: unknown. Paths that lead to an own folder
 * by `links` (path_links.h) are own, too; `links` is borrowed; NULL: none. Returns NULL if out of
 * memory.
 */
struct code_roles *code_roles_new(const char *const *paths, uint32_t count, const char *folder,
				  const char *links);
void code_roles_free(struct code_roles *roles);

/*
 * Makes the roles for the working directory and the folders of what the command started. Folders of
 * packages, and bin folders of systems and environments, are not own. Returns NULL if out of
 * memory.
 */
struct code_roles *code_roles_of_result(const struct result *result);

/* Returns the role of a frame. `label` is the package of a frame that may be folded: "[torch]". */
enum code_role code_role_of(const struct code_roles *roles, const struct frame_info *frame,
			    char label[CODE_ROLE_LABEL_BYTES]);

/*
 * Returns true if a frame's package, named `label` by code_role_of, is one of Python. Native parts
 * of such a package have its colour.
 */
bool code_role_is_python(const struct frame_info *frame, const char *label);

#endif
