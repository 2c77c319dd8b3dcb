/* SPDX-License-Identifier: MIT */
/*
 * Short names: what a reader needs to recognize a function, on one line.
 *
 *   c10::impl::wrap_kernel_functor_unboxed_<c10::impl::detail::...>::call(c10::Dispatch...)
 *   c10::impl::wrap_kernel_functor_unboxed_<…>::call
 *
 * Elided from demangled C++ and Rust names: return types, template arguments, parameter lists and
 * what follows them, ABI tags, anonymous and inline namespaces, the hashes of Rust symbols,
 * versions of symbols, and tails such as ".constprop.0" of copies that a compiler made. A lambda is
 * named by its place: `f::{lambda#2}` stands for its call operator too. A GPU kernel keeps the
 * plain names of its template arguments, which tell apart the instances of one kernel, and of a
 * lambda's place among them: `vectorized_elementwise_kernel<4, FillFunctor, Array>`,
 * `elementwise_kernel<128, 2, gpu_kernel_impl<AddFunctor>::{lambda#1}>`.
 *
 * A script's function that an engine compiled has its file elided: `JS:*main /app/index.js:10:5`.
 *
 * Names come from the target and may be any text: one that does not parse stays as it is.
 */
#ifndef PROFILER_SHAPE_SHORT_NAME_H
#define PROFILER_SHAPE_SHORT_NAME_H

#include <stdbool.h>

/* The short name, to be freed; NULL: it is the name itself, or out of memory. */
char *short_name(const char *name, bool is_kernel);

#endif
