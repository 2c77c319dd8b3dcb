/* SPDX-License-Identifier: MIT */
/*
 * Sums up GPU work by device and kind, for the summary and JSON.
 *
 * The ledger has rows by key of a device (devices.h). A device that was described late has several
 * keys. Keys with one label become one row.
 */
#ifndef PROFILER_TABLES_GPU_ROWS_H
#define PROFILER_TABLES_GPU_ROWS_H

#include "profiler/model/devices.h"
#include "profiler/model/ledger.h"

struct gpu_work_row {
	char label[DEVICE_LABEL_BYTES];
	const struct device *device; /* NULL: unknown */
	struct gpu_row sum;
};

struct gpu_work_rows {
	struct gpu_work_row *list; /* by label, then by kind */
	uint32_t count;
};

/* Borrows the devices. Returns false if out of memory. Release the rows in both cases. */
bool gpu_work_rows_init(struct gpu_work_rows *rows, const struct ledger_gpu *gpu,
			const struct devices *devices);
void gpu_work_rows_release(struct gpu_work_rows *rows);

#endif
