/* SPDX-License-Identifier: MIT */
/*
 * Shortens names of functions to what a reader needs to recognize them, on one line.
 *
 *   c10::impl::wrap_kernel_functor_unboxed_<c10::impl::detail::...>::call(c10::Dispatch...)
 *   c10::impl::wrap_kernel_functor_unboxed_<…>::call
 *
 * Elided from demangled C++ and Rust names:
 *  - return types, template arguments, parameter lists and what follows them;
 *  - ABI tags, anonymous and inline namespaces, hashes of Rust symbols, versions of symbols;
 *  - tails of copies that a compiler made, such as ".constprop.0"
 *
 * A lambda is named by its place: `f::{lambda#2}`, which stands for its call operator, too. A GPU
 * kernel keeps the plain names of its template arguments, which tell instances of the kernel apart.
 * A lambda among them keeps its place:
 *
 *   vectorized_elementwise_kernel<4, FillFunctor, Array>
 *   elementwise_kernel<128, 2, gpu_kernel_impl<AddFunctor>::{lambda#1}>
 *
 * A script's function that an engine compiled loses its file: "JS:*main /app/index.js:10:5".
 *
 * Names come from the target and may be any text. A name that does not parse stays as it is.
 */
#ifndef PROFILER_SHAPE_SHORT_NAME_H
#define PROFILER_SHAPE_SHORT_NAME_H

#include <stdbool.h>

/*
 * Returns the short name, which the caller frees. Returns NULL if equal to `name`, or out of
 * memory.
 */
char *short_name(const char *name, bool is_kernel);

#endif
