/* SPDX-License-Identifier: MIT */
/*
 * Names kinds of layers: layers of one place in repeated blocks.
 *
 * A layer's name is its path from the model (CLASS_LAYER): "[layers.18.mlp]". Its kind has a '*'
 * for each part of the path that is a number: "[layers.*.mlp]". Where a program has too many layers
 * to name each, "N" stands for the numbers.
 */
#ifndef PROFILER_TABLES_LAYER_NAME_H
#define PROFILER_TABLES_LAYER_NAME_H

/* GPU work outside of all operators, and of all layers. */
#define NO_OPERATOR "[no operator]"
#define NO_LAYER "[no layer]"

/* Returns the kind of a layer, which the caller frees. Returns NULL if out of memory. */
char *layer_kind(const char *name);

#endif
