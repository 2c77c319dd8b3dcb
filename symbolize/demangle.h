/* SPDX-License-Identifier: MIT */
/*
 * Demangles linker symbols (C++ Itanium ABI, Rust legacy and v0, D) with libiberty, also those in
 * the names of nvcc's host functions of kernels. What differs between builds of one program is left
 * out (stable_symbol.h). Names of OCaml and Cython are those of ocaml_symbol.h, cython_symbol.h. A
 * kernel of OpenMP is named by its function: "foo(int*)::{OpenMP line 12}".
 *
 * Symbols come from untrusted files, so length, output and CPU time are limited (table_quota.h);
 * beyond a limit the name stays mangled. A timer of the thread's CPU time watches CPU time; its
 * signal (DEMANGLE_SIGNAL) aborts a name. The signal is unblocked only during a name, with all
 * others blocked, so it never interrupts the caller's system calls or handlers. The last demangler
 * of the process removes the handler.
 *
 * A demangler belongs to the thread that first uses it; not across fork(2).
 */
#ifndef SYMBOLIZE_DEMANGLE_H
#define SYMBOLIZE_DEMANGLE_H

#include <stdint.h>
#include "symbolize/util/table_quota.h"

#define DEMANGLE_SIGNAL (SIGRTMAX - 3)

enum demangle_style {
	DEMANGLE_FUNCTION,  /* ns::Class::method<int>: no parameters, no return type (CPU frames) */
	DEMANGLE_SIGNATURE, /* softmax(float const*, int): parameters, no return type (GPU kernels)
			     */
};

struct demangler;

/* NULL when out of memory. */
struct demangler *demangler_new(void);

/* NULL is allowed. */
void demangler_free(struct demangler *d);

/*
 * A malloc'd copy of the demangled name, or of the symbol itself if it is not mangled or exceeds a
 * limit. NULL only when out of memory.
 */
char *demangle(struct demangler *d, const char *name, enum demangle_style style);

/*
 * Does the same for a symbol in the file of this path, which names of Cython depend on. NULL:
 * unknown.
 */
char *demangle_in(struct demangler *d, const char *name, enum demangle_style style,
		  const char *file);

/* The number of names that stayed mangled for lack of time. */
uint64_t demangler_count_slow(const struct demangler *d);

#endif
