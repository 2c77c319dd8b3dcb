/* SPDX-License-Identifier: MIT */
/*
 * Writes metrics in Prometheus's text format, as node_exporter's textfile collector reads it.
 *
 * Each metric has HELP and TYPE, and its samples are together. Histograms have cumulative
 * buckets. Units are seconds and bytes. docs/metrics.md lists the metrics.
 *
 * Source: "Exposition formats", text format 0.0.4, prometheus.io.
 */
#ifndef PROFILER_FORMATS_PROMETHEUS_H
#define PROFILER_FORMATS_PROMETHEUS_H

#include <stdio.h>
#include "profiler/model/devices.h"
#include "profiler/model/gpu_state.h"
#include "profiler/model/ledger.h"
#include "profiler/model/metrics.h"

/*
 * Writes all metrics. `devices` are those of the processes. `gpus` may be NULL: their state is
 * unknown. Errors show in ferror(3) of `out`.
 */
void prometheus_write(FILE *out, const struct metrics *metrics, const struct ledger *ledger,
		      const struct devices *devices, const struct gpus_now *gpus);

#endif
