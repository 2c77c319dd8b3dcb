/* SPDX-License-Identifier: MIT */
/*
 * Contract: lists the metrics of hardware counters. The injection library gets the metrics of a GPU
 * from CUPTI. So the command (--list-counters) loads the library into itself and calls this
 * function.
 */
#ifndef CUPTI_TRACE_HW_METRIC_LIST_H
#define CUPTI_TRACE_HW_METRIC_LIST_H

enum metric_type { METRIC_COUNTER, METRIC_RATIO, METRIC_THROUGHPUT, METRIC_TYPES };

/* Expansion of "default". */
#define METRIC_LIST_DEFAULT                                                                      \
	"sm__throughput.avg.pct_of_peak_sustained_elapsed",                                      \
		"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",              \
		"sm__warps_active.avg.pct_of_peak_sustained_active",                             \
		"l1tex__t_sector_hit_rate.pct", "lts__t_sector_hit_rate.pct", "dram__bytes.sum", \
		"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",                \
		"sm__cycles_elapsed.max"

struct metric_visitor {
	void *context;
	/* once, before all others: "GH100" */
	void (*chip)(void *context, const char *name);
	/* suffix that may follow metrics of a type: ".sum", ".avg.per_second" */
	void (*rollup)(void *context, enum metric_type type, const char *suffix);
	/* a metric without suffix; texts are "" if CUPTI has none */
	void (*metric)(void *context, enum metric_type type, const char *name, const char *unit,
		       const char *description);
};

/*
 * Visits all metrics of a chip, or of this machine's first GPU if `chip` is NULL. Returns 0, or
 * -errno with a sentence in `error`.
 */
#define METRIC_LIST_ERROR_BYTES 4096
typedef int metric_list_function(const char *chip, const struct metric_visitor *visitor,
				 char error[METRIC_LIST_ERROR_BYTES]);
#define METRIC_LIST_SYMBOL "profile_list_metrics"

#endif
