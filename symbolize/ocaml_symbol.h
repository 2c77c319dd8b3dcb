/* SPDX-License-Identifier: MIT */
/*
 * Names of OCaml's native code as programmers write them.
 *
 *   camlStdlib__List__map_487      Stdlib.List.map_487        OCaml 4, 5.0
 *   camlOc.burn_it_84              Oc.burn_it_84              since OCaml 5.1
 *   camlOc__$2b$2b_84              Oc.++_84                   operators are in hex
 *
 * Source: OCaml's asmcomp/cmm_helpers.ml and Compilenv, which make "caml", the unit, a separator
 * and the function with its stamp; "entry" is the unit's own code. The stamp stays, since functions
 * of one name differ by it alone. Symbols come from untrusted files: what is not exactly of this
 * form, such as a C function "camlCase__x", is no name of OCaml.
 */
#ifndef SYMBOLIZE_OCAML_SYMBOL_H
#define SYMBOLIZE_OCAML_SYMBOL_H

#include <stdbool.h>

/* Tells whether a symbol is of OCaml. */
bool ocaml_symbol_is(const char *symbol);

/* Returns a malloc'd readable name of such a symbol, never longer than it. NULL: out of memory. */
char *ocaml_symbol_name(const char *symbol);

#endif
