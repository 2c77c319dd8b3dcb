/* SPDX-License-Identifier: MIT */
/*
 * Linker symbols -> the names people wrote (C++ Itanium ABI, Rust legacy and v0), by libiberty.
 *
 * Symbols come from untrusted files, so length, output and CPU time are limited (budget.h); past a
 * limit the name stays mangled. CPU time is watched by a timer of the thread's own CPU time, whose
 * signal (DEMANGLE_SIGNAL) ends a name in the middle. The signal is let in only while a name is
 * worked on, and all others are kept out meanwhile, so that no system call and no handler of the
 * caller's is ever disturbed by it. With the last demangler of the process its handler goes.
 *
 * A demangler belongs to the thread that first uses it; not across fork(2).
 */
#ifndef SYMBOLIZE_DEMANGLE_H
#define SYMBOLIZE_DEMANGLE_H

#include <stdint.h>
#include "symbolize/budget.h"

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
 * Gives a malloc'd copy of the name as people wrote it; of the symbol itself where it is not
 * mangled or past a limit. NULL only when out of memory.
 */
char *demangle(struct demangler *d, const char *name, enum demangle_style style);

/* Counts the names that stayed mangled for lack of time. */
uint64_t demangler_count_slow(const struct demangler *d);

#endif
