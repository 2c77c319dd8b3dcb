/* SPDX-License-Identifier: MIT */
/*
 * Metrics in Prometheus's text format, as node_exporter's textfile collector reads it: each metric
 * with HELP and TYPE, all samples of a metric together, histograms with cumulative buckets, base
 * units (seconds, bytes). docs/metrics.md lists them.
 *
 * Source: "Exposition formats", text format 0.0.4, prometheus.io.
 */
#ifndef PROFILER_FORMATS_PROMETHEUS_H
#define PROFILER_FORMATS_PROMETHEUS_H

#include <stdio.h>
#include "profiler/model/devices.h"
#include "profiler/model/ledger.h"
#include "profiler/model/metrics.h"

/* Writes all metrics. `devices`: of the processes. Errors show in the stream. */
void prometheus_write(FILE *out, const struct metrics *metrics, const struct ledger *ledger,
		      const struct devices *devices);

#endif
