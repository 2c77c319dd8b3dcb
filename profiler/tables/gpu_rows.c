// SPDX-License-Identifier: MIT
#include "profiler/tables/gpu_rows.h"

#include <stdlib.h>
#include <string.h>
#include "symbolize/util/sorted.h"

static int by_label_and_work(const void *a, const void *b)
{
	const struct gpu_work_row *x = a, *y = b;
	int order = device_label_compare(x->label, y->label);

	return order ? order : compare_numbers(x->sum.work, y->sum.work);
}

bool gpu_work_rows_init(struct gpu_work_rows *rows, const struct ledger_gpu *gpu,
			const struct devices *devices)
{
	uint32_t kept = 0;

	*rows = (struct gpu_work_rows){
		.list = calloc(gpu->row_count + (size_t)1, sizeof(*rows->list))};
	if (!rows->list)
		return false;
	for (uint32_t i = 0; i < gpu->row_count; i++) {
		struct gpu_work_row *row = &rows->list[i];

		row->sum = gpu->rows[i];
		row->device = devices_of_key(devices, row->sum.device);
		devices_label_of_key(devices, row->sum.device, row->label);
	}
	if (gpu->row_count)
		qsort(rows->list, gpu->row_count, sizeof(*rows->list), by_label_and_work);
	for (uint32_t i = 0; i < gpu->row_count; i++) {
		if (kept > 0 && by_label_and_work(&rows->list[kept - 1], &rows->list[i]) == 0)
			gpu_row_add(&rows->list[kept - 1].sum, &rows->list[i].sum);
		else
			rows->list[kept++] = rows->list[i];
	}
	rows->count = kept;
	return true;
}

void gpu_work_rows_release(struct gpu_work_rows *rows)
{
	free(rows->list);
	*rows = (struct gpu_work_rows){.list = NULL};
}
