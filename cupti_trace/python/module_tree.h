/* SPDX-License-Identifier: MIT */
/*
 * Finds the paths of PyTorch's modules: "layers.18.mlp", as model.named_modules() has them.
 *
 * A module (torch.nn.Module) has its children in the dictionary `_modules` of its attributes. The
 * tree is read by need. When a module is called inside another one, the outer one's descendants are
 * read until the inner one is found: modules that are never called lie between, as ModuleList. An
 * object is known by its address and its type. Its place is known by the reference in its parent's
 * dictionary. Where that has changed, the object is looked for again.
 *
 * Only memory is read, through the kernel, while other threads may change it. Nothing is trusted.
 * The worst result is a wrong or a missing path. Bounds: MODULE_TREE_MAX objects; searches together
 * take at most a fiftieth of the time that has passed, and MODULE_TREE_BURST_NS.
 *
 * One instance for the process. Not thread-safe: the caller locks.
 */
#ifndef CUPTI_TRACE_PYTHON_MODULE_TREE_H
#define CUPTI_TRACE_PYTHON_MODULE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "symbolize/python_dict.h"

#define MODULE_TREE_MAX (1u << 18)
#define MODULE_TREE_BURST_NS 200000000u
#define MODULE_TREE_NONE UINT32_MAX

/*
 * Returns the number of a called module, looking for it if needed. `parent` is the module that was
 * called around it, or MODULE_TREE_NONE. Returns MODULE_TREE_NONE if the object cannot be read, or
 * there are too many.
 */
uint32_t module_tree_get(const struct python_reader *r, uint64_t object, uint32_t parent);

/*
 * Writes the path of a module from the outermost one that holds it; that of the outermost is the
 * name of its class. A module that is not found in the one that called it begins a path with its
 * class. Returns false if nothing is known.
 */
bool module_tree_path(const struct python_reader *r, uint32_t module, char *out, size_t size);

/* Returns the caller's id for the module's path; 0: none, or the path may have changed. */
uint32_t module_tree_name(uint32_t module);
void module_tree_set_name(uint32_t module, uint32_t name);

/*
 * Returns a number that changes when a known path may have changed. A module that is held twice has
 * the path of its caller, in turns, without a change.
 */
uint32_t module_tree_version(void);

/* Checks the places of some modules, the next ones at each call. */
void module_tree_check(const struct python_reader *r);

/* Forgets all modules, and frees their memory. */
void module_tree_clear(void);

/* Forgets all in a child of fork, whatever another thread was doing. */
void module_tree_in_child(void);

#endif
