/* SPDX-License-Identifier: MIT */
/*
 * Names of functions that Cython (0.29 and 3) has compiled, as programmers write them.
 *
 *   __pyx_pw_3cyx_1K_1meth         K.meth (cyx.pyx)       called by Python; its counter is left out
 *   __pyx_pf_3cyx_1K_meth          K.meth (cyx.pyx)       what that does
 *   __pyx_f_7sklearn_4tree_fit     fit (tree.pyx)         cdef, cpdef
 *   __pyx_tp_dealloc_3cyx_K        K.tp_dealloc (cyx.pyx) of a type
 *   __pyx_fuse_1__pyx_f_3cyx_add   add (cyx.pyx)          for one of several types
 *
 * A symbol has its packages, module, classes and outer functions, each with its length and '_',
 * and the name. Which of them is the module is told by the file's name; else it is the last one
 * before the first that begins with an upper-case letter, as names of classes do.
 *
 * Source: Cython/Compiler/Naming.py, Symtab.py (scope_prefix, next_id), TypeSlots.py. Symbols come
 * from untrusted files: what is not of this form is no name of Cython.
 */
#ifndef SYMBOLIZE_CYTHON_SYMBOL_H
#define SYMBOLIZE_CYTHON_SYMBOL_H

/*
 * Returns a malloc'd readable name of a symbol. `file`: the path of the file that it is in, or
 * NULL. NULL: it is not of Cython, or out of memory.
 */
char *cython_symbol_name(const char *symbol, const char *file);

#endif
