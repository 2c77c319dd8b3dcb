/* SPDX-License-Identifier: MIT */
/*
 * Demangles linker symbols (C++ Itanium ABI, Rust legacy and v0, D) with libiberty.
 *
 * Also demangles the kernel in the name of nvcc's host function. Leaves out what differs between
 * builds of one program (stable_symbol.h). Names of OCaml and Cython come from ocaml_symbol.h and
 * cython_symbol.h. A kernel of OpenMP is named by its function: "foo(int*)::{OpenMP line 12}".
 *
 * Symbols come from untrusted files, so length, output and CPU time are limited (table_quota.h);
 * beyond a limit the name stays mangled. A timer on the thread's CPU time aborts a name by a signal
 * (DEMANGLE_SIGNAL). The signal is unblocked only during a name, with all others blocked. So it
 * never interrupts the caller's system calls or handlers. The last demangler of the process removes
 * the handler.
 *
 * A demangler belongs to the thread that first uses it. It is not usable across fork(2).
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

/* Creates a demangler. Returns NULL when out of memory. */
struct demangler *demangler_new(void);

/* Frees a demangler, which may be NULL. */
void demangler_free(struct demangler *d);

/*
 * Returns a malloc'd copy of the demangled name; of the symbol itself if it is not mangled or
 * exceeds a limit. Returns NULL only when out of memory.
 */
char *demangle(struct demangler *d, const char *name, enum demangle_style style);

/* Demangles a symbol of the file at this path, which matters for names of Cython; NULL: unknown. */
char *demangle_in(struct demangler *d, const char *name, enum demangle_style style,
		  const char *file);

/* Returns how many names stayed mangled for lack of time. */
uint64_t demangler_count_slow(const struct demangler *d);

#endif
