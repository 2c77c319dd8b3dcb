// SPDX-License-Identifier: MIT
#include "profiler/model/gpu_state.h"

#include "symbolize/util/saturate.h"

#define MHZ_MAX 20000u
#define MILLIWATTS_MAX 60000000u
#define CELSIUS_MAX 1000u
#define AMOUNT_MAX (UINT64_C(1) << 50) /* bytes, mJ and ns of a reading */

bool gpu_reading_is_sane(const struct gpu_reading *r)
{
	return r->start_ns <= r->end_ns && r->end_ns - r->start_ns <= AMOUNT_MAX &&
	       r->memory_bytes <= AMOUNT_MAX && r->energy_mj <= AMOUNT_MAX &&
	       r->pcie_sent <= AMOUNT_MAX && r->pcie_received <= AMOUNT_MAX &&
	       r->nvlink_sent <= AMOUNT_MAX && r->nvlink_received <= AMOUNT_MAX &&
	       r->sm_mhz <= MHZ_MAX && r->most_sm_mhz <= MHZ_MAX && r->memory_mhz <= MHZ_MAX &&
	       r->power_mw <= MILLIWATTS_MAX && r->celsius <= CELSIUS_MAX && r->is_idle <= 1 &&
	       r->is_power_capped <= 1 && r->is_hot <= 1 && r->is_slowed <= 1;
}

void gpu_state_of(struct gpu_state *row, const char *gpu, const struct gpu_reading *r)
{
	bool is_busy = !r->is_idle;
	bool is_limited = is_busy && (r->is_power_capped || r->is_hot || r->is_slowed);

	*row = (struct gpu_state){.gpu = gpu,
				  .start_ns = r->start_ns,
				  .ns = r->end_ns - r->start_ns,
				  .power_sum = r->power_mw,
				  .energy_mj = r->energy_mj,
				  .pcie_sent = r->pcie_sent,
				  .pcie_received = r->pcie_received,
				  .nvlink_sent = r->nvlink_sent,
				  .nvlink_received = r->nvlink_received,
				  .memory_most = r->memory_bytes,
				  .readings = 1,
				  .busy = is_busy,
				  .power_capped = is_busy && r->is_power_capped,
				  .hot = is_busy && r->is_hot,
				  .slowed = is_busy && r->is_slowed,
				  .sm_sum = r->sm_mhz,
				  .sm_busy_sum = is_busy ? r->sm_mhz : 0,
				  .sm_limited_sum = is_limited ? r->sm_mhz : 0,
				  .memory_clock_sum = r->memory_mhz,
				  .limited = is_limited,
				  .sm_least = (uint16_t)r->sm_mhz,
				  .sm_most = (uint16_t)r->sm_mhz,
				  .sm_possible = (uint16_t)r->most_sm_mhz,
				  .celsius_most = (uint16_t)r->celsius,
				  .watts_most = (uint16_t)((r->power_mw + 500) / 1000)};
}

static uint16_t greater(uint16_t a, uint16_t b)
{
	return a > b ? a : b;
}

static void add(uint32_t *sum, uint32_t more)
{
	*sum = more > UINT32_MAX - *sum ? UINT32_MAX : *sum + more;
}

void gpu_state_append(struct gpu_state *row, const struct gpu_state *next)
{
	row->ns = saturated_sum(next->start_ns, next->ns) - row->start_ns;
	saturated_add(&row->power_sum, next->power_sum);
	saturated_add(&row->energy_mj, next->energy_mj);
	saturated_add(&row->pcie_sent, next->pcie_sent);
	saturated_add(&row->pcie_received, next->pcie_received);
	saturated_add(&row->nvlink_sent, next->nvlink_sent);
	saturated_add(&row->nvlink_received, next->nvlink_received);
	if (next->memory_most > row->memory_most)
		row->memory_most = next->memory_most;
	add(&row->readings, next->readings);
	add(&row->busy, next->busy);
	add(&row->power_capped, next->power_capped);
	add(&row->hot, next->hot);
	add(&row->slowed, next->slowed);
	add(&row->sm_sum, next->sm_sum);
	add(&row->sm_busy_sum, next->sm_busy_sum);
	add(&row->sm_limited_sum, next->sm_limited_sum);
	add(&row->memory_clock_sum, next->memory_clock_sum);
	row->limited = next->limited > UINT16_MAX - row->limited
			       ? UINT16_MAX
			       : (uint16_t)(row->limited + next->limited);
	if (next->sm_least < row->sm_least)
		row->sm_least = next->sm_least;
	row->sm_most = greater(row->sm_most, next->sm_most);
	row->sm_possible = greater(row->sm_possible, next->sm_possible);
	row->celsius_most = greater(row->celsius_most, next->celsius_most);
	row->watts_most = greater(row->watts_most, next->watts_most);
}

void gpu_now_take(struct gpu_now *now, const struct gpu_reading *r)
{
	uint64_t busy_ns = r->is_idle ? 0 : r->end_ns - r->start_ns;

	now->last = *r;
	saturated_add(&now->energy_mj, r->energy_mj);
	saturated_add(&now->pcie_sent, r->pcie_sent);
	saturated_add(&now->pcie_received, r->pcie_received);
	saturated_add(&now->nvlink_sent, r->nvlink_sent);
	saturated_add(&now->nvlink_received, r->nvlink_received);
	saturated_add(&now->power_capped_ns, r->is_power_capped ? busy_ns : 0);
	saturated_add(&now->hot_ns, r->is_hot ? busy_ns : 0);
	saturated_add(&now->slowed_ns, r->is_slowed ? busy_ns : 0);
}

/* ---- as a table ---- */

static bool is_measured(const struct measure *measure)
{
	return measure->traces_gpu;
}

static const struct table_column columns[] = {
	TABLE_COLUMN(gpu_state, start_ns, .cell = CELL_MOMENT, .is_delta = true),
	TABLE_COLUMN(gpu_state, ns),
	TABLE_COLUMN(gpu_state, readings, .is_positive = true),
	TABLE_COLUMN(gpu_state, busy),
	TABLE_COLUMN(gpu_state, power_capped),
	TABLE_COLUMN(gpu_state, hot),
	TABLE_COLUMN(gpu_state, slowed),
	TABLE_COLUMN(gpu_state, limited),
	TABLE_COLUMN(gpu_state, sm_sum),
	TABLE_COLUMN(gpu_state, sm_busy_sum),
	TABLE_COLUMN(gpu_state, sm_limited_sum),
	TABLE_COLUMN(gpu_state, sm_least),
	TABLE_COLUMN(gpu_state, sm_most),
	TABLE_COLUMN(gpu_state, sm_possible),
	TABLE_COLUMN(gpu_state, memory_clock_sum),
	TABLE_COLUMN(gpu_state, power_sum),
	TABLE_COLUMN(gpu_state, watts_most),
	TABLE_COLUMN(gpu_state, celsius_most),
	TABLE_COLUMN(gpu_state, memory_most),
	TABLE_COLUMN(gpu_state, energy_mj),
	TABLE_COLUMN(gpu_state, pcie_sent),
	TABLE_COLUMN(gpu_state, pcie_received),
	TABLE_COLUMN(gpu_state, nvlink_sent),
	TABLE_COLUMN(gpu_state, nvlink_received),
	TABLE_COLUMN(gpu_state, gpu, .cell = CELL_TEXT),
};
_Static_assert(sizeof(struct gpu_state) <= TABLE_ROW_MAX, "rows of tables");

const struct table_kind gpu_states_table = {TABLE_KIND(gpu_state, columns), .field = 31,
					    .most_rows = 1u << 18, .is_measured = is_measured};
