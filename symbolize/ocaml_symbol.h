/* SPDX-License-Identifier: MIT */
/*
 * Demangles names of OCaml's native code.
 *
 *   camlStdlib__List__map_487      Stdlib.List.map_487        OCaml 4, 5.0
 *   camlOc.burn_it_84              Oc.burn_it_84              since OCaml 5.1
 *   camlOc__$2b$2b_84              Oc.++_84                   operators are in hex
 *
 * A symbol has "caml", the unit, a separator, and the function with its stamp; "entry" is the
 * unit's own code. The stamp stays: functions of one name differ by it alone. Source: OCaml's
 * asmcomp/cmm_helpers.ml and Compilenv. Symbols come from untrusted files: a symbol of another
 * form, such as a C function "camlCase__x", is no name of OCaml.
 */
#ifndef SYMBOLIZE_OCAML_SYMBOL_H
#define SYMBOLIZE_OCAML_SYMBOL_H

#include <stdbool.h>

/* Returns whether a symbol is of OCaml. */
bool ocaml_symbol_is(const char *symbol);

/*
 * Returns the malloc'd readable name of such a symbol, never longer than the symbol; NULL when out
 * of memory.
 */
char *ocaml_symbol_name(const char *symbol);

#endif
