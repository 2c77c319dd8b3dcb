/* SPDX-License-Identifier: MIT */
/*
 * Demangles names of functions that Cython (0.29 and 3) has compiled.
 *
 *   __pyx_pw_3cyx_1K_1meth         K.meth (cyx.pyx)       wrapper for Python, without its counter
 *   __pyx_pf_3cyx_1K_meth          K.meth (cyx.pyx)       body of the wrapped function
 *   __pyx_f_7sklearn_4tree_fit     fit (tree.pyx)         cdef, cpdef
 *   __pyx_tp_dealloc_3cyx_K        K.tp_dealloc (cyx.pyx) slot of a type
 *   __pyx_fuse_1__pyx_f_3cyx_add   add (cyx.pyx)          one of several fused types
 *
 * A symbol has its packages, module, classes and outer functions, each with its length and '_',
 * then the name. The file's name tells which part is the module. Otherwise the module is the last
 * part before the first that begins with an upper-case letter, as names of classes do.
 *
 * Source: Cython/Compiler/Naming.py, Symtab.py (scope_prefix, next_id), TypeSlots.py. Symbols come
 * from untrusted files: a symbol of another form is no name of Cython.
 */
#ifndef SYMBOLIZE_CYTHON_SYMBOL_H
#define SYMBOLIZE_CYTHON_SYMBOL_H

/*
 * Returns the malloc'd readable name of a symbol; NULL if the symbol is not of Cython, or out of
 * memory. `file`: path of the symbol's file, or NULL.
 */
char *cython_symbol_name(const char *symbol, const char *file);

#endif
