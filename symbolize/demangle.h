/* SPDX-License-Identifier: MIT */
/*
 * Linker symbols -> the names people wrote (C++ Itanium ABI, Rust legacy and v0), by libiberty.
 *
 * Names come from untrusted files: input longer than DEMANGLE_MAX_INPUT and output longer than
 * DEMANGLE_MAX_OUTPUT bytes leave the name mangled (a short mangled name can stand for gigabytes).
 */
#ifndef SYMBOLIZE_DEMANGLE_H
#define SYMBOLIZE_DEMANGLE_H

#define DEMANGLE_MAX_INPUT 16384
#define DEMANGLE_MAX_OUTPUT 65536

enum demangle_style {
	DEMANGLE_FUNCTION,  /* ns::Class::method<int>: no parameters, no return type (CPU frames) */
	DEMANGLE_SIGNATURE, /* softmax(float const*, int): parameters, no return type (GPU kernels)
			     */
};

/* A malloc'd copy, the name itself where it is not mangled; NULL only when out of memory. */
char *demangle(const char *name, enum demangle_style style);

#endif
