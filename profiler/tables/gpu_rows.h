/* SPDX-License-Identifier: MIT */
/*
 * GPU work by device and kind, as the summary and JSON show it. The ledger has rows by key of a
 * device (devices.h). Keys with one label, as those of a device that was described late, are one.
 */
#ifndef PROFILER_TABLES_GPU_ROWS_H
#define PROFILER_TABLES_GPU_ROWS_H

#include "profiler/model/devices.h"
#include "profiler/model/ledger.h"

struct gpu_work_row {
	char label[DEVICE_LABEL_BYTES];
	const struct device *device; /* NULL: not known */
	struct gpu_row sum;
};

struct gpu_work_rows {
	struct gpu_work_row *list; /* in order of labels, then of kinds */
	uint32_t count;
};

/* Borrows the devices. False: out of memory. Release in any case. */
bool gpu_work_rows_init(struct gpu_work_rows *rows, const struct ledger_gpu *gpu,
			const struct devices *devices);
void gpu_work_rows_release(struct gpu_work_rows *rows);

#endif
