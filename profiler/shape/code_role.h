/* SPDX-License-Identifier: MIT */
/*
 * What a frame is to users who look for their own code (--my-code).
 *
 * Own is code of files below given folders, or below the working directory and the folders of what
 * was started, whether Python or native: but not what package
 * managers, environments and systems keep there (site-packages, lib/python3.11, .venv, miniconda3,
 * below "/" also /usr and the like), and not the parts of an own file that a compiler made of the
 * headers of others: the standard library of C++, PyTorch's dispatcher, pybind11. Where it is known
 * which file defines a native function (frame_info's `source`), it is own as well if that file is
 * below such a folder, or if it is in a program that was started, wherever that lies; and others'
 * if the file is (foreign_folder.h). Code that a JIT compiler makes is own, for nothing says whose
 * it is, and so are NVTX ranges. Python code without a file, such as that of exec(), belongs to
 * what calls it.
 *
 * Everything else but CUDA and GPU work belongs to a package, by which it can be called:
 *
 *   [torch]              below site-packages or dist-packages: the folder there, for Python and
 *                        native code alike
 *   [libcublas.so.13]    other native code: its file
 *   [json]               the standard library of Python: the module
 *   [python]             the interpreter
 *   [std], [c10]         of others' headers: the namespace
 *
 * Some of it is in all stacks, and says nothing but where it runs itself: the plumbing.
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
	ROLE_CALLERS,     /* made of a text, as by exec(): plumbing below a package, else own */
	ROLE_KEPT,        /* what own code leads to: CUDA calls, GPU work, waits, marks */
	ROLE_KERNEL_MODE, /* the same, by way of some library */
	ROLE_PACKAGE,
	ROLE_PLUMBING, /* C and C++ libraries, Python's interpreter and imports, start-up, glue */
};

#define CODE_ROLE_LABEL_BYTES 96

struct code_roles;

/*
 * Own are these folders, or without any, `folder`, the command's working directory, to which
 * relative paths refer; NULL: it is not known. Own is also what leads there by `links`
 * (path_links.h), which are borrowed; NULL: none. NULL when out of memory.
 */
struct code_roles *code_roles_new(const char *const *paths, uint32_t count, const char *folder,
				  const char *links);
void code_roles_free(struct code_roles *roles);

/* Without any folders that the user gave: the working directory, and what was started. */
struct code_roles *code_roles_of_result(const struct result *result);

/* `label`: of what may be folded, "[torch]", cut if it is long. */
enum code_role code_role_of(const struct code_roles *roles, const struct frame_info *frame,
			    char label[CODE_ROLE_LABEL_BYTES]);

/*
 * Returns whether the package of a frame, with the label above, is one of Python: then its native
 * parts are, too. For colours.
 */
bool code_role_is_python(const struct frame_info *frame, const char *label);

#endif
