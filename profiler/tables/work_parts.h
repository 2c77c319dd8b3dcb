/* SPDX-License-Identifier: MIT */
/*
 * Sums up GPU work by what it is part of: the class of the kernel (kernel_class.h), the operator
 * (--ops), the layer, the kind of layer (layer_name.h).
 *
 * A piece of work has one class. Its own operator and layer are the innermost ones; it also counts
 * once in the total of each one around. Work without any is "[no operator]", "[no layer]". So own
 * times add up to all GPU time. Without operators, or layers, the table is empty.
 */
#ifndef PROFILER_TABLES_WORK_PARTS_H
#define PROFILER_TABLES_WORK_PARTS_H

#include "profiler/model/result.h"
#include "profiler/tables/report_table.h"

/* Make tables, the longest own time first. Return NULL with errno set if out of memory. */
struct report_table *kernel_classes_report_table(const struct result *result);
struct report_table *operators_report_table(const struct result *result);
struct report_table *layers_report_table(const struct result *result);
struct report_table *layer_kinds_report_table(const struct result *result);

#endif
