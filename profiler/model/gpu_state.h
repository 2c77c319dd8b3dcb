/* SPDX-License-Identifier: MIT */
/*
 * Describes the state of GPUs over a run: clocks, power, temperature, memory, traffic, and why
 * clocks are low.
 *
 * A reading tells the state at its end, and energy and bytes since the reading before. A row of the
 * table has one reading, or several in a row: sums of what has a mean, and extremes. Numbers that a
 * GPU does not tell are 0.
 *
 * Clocks are low for power, for heat, or because the GPU slows itself for another reason. Power is
 * the cap of software, or the brake of the power supply. A GPU without work has low clocks, too: it
 * is idle, and counts for none of these.
 *
 * Times are in ns, CLOCK_MONOTONIC; power in mW, energy in mJ, clocks in MHz.
 */
#ifndef PROFILER_MODEL_GPU_STATE_H
#define PROFILER_MODEL_GPU_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/model/result_table.h"

struct gpu_reading {
	uint64_t start_ns, end_ns; /* from the reading before to this one */
	uint64_t memory_bytes;     /* in use, by all programs */
	uint64_t energy_mj;
	uint64_t pcie_sent, pcie_received, nvlink_sent, nvlink_received; /* bytes */
	uint32_t sm_mhz, most_sm_mhz, memory_mhz, power_mw, celsius;
	uint8_t is_idle, is_power_capped, is_hot, is_slowed;
};

/* Returns whether the numbers are possible. Sums of such readings cannot overflow. */
bool gpu_reading_is_sane(const struct gpu_reading *reading);

struct gpu_state {
	const char *gpu; /* as device_uuid() */
	uint64_t start_ns, ns;
	uint64_t power_sum, energy_mj;
	uint64_t pcie_sent, pcie_received, nvlink_sent, nvlink_received;
	uint64_t memory_most;
	uint32_t readings;                  /* at least 1 */
	uint32_t busy;                      /* readings that are not idle */
	uint32_t power_capped, hot, slowed; /* busy readings with this reason */
	uint32_t sm_sum, sm_busy_sum;       /* clocks of all readings, of busy ones */
	uint32_t sm_limited_sum;            /* clocks of limited readings */
	uint32_t memory_clock_sum;
	uint16_t limited; /* readings with one of the three reasons */
	uint16_t sm_least, sm_most;
	uint16_t sm_possible; /* the most that the GPU can */
	uint16_t celsius_most, watts_most;
};

/* Sets a row with one reading of a GPU. */
void gpu_state_of(struct gpu_state *row, const char *gpu, const struct gpu_reading *reading);

/* Adds a row that begins where `row` ends. */
void gpu_state_append(struct gpu_state *row, const struct gpu_state *next);

/* A GPU during the run: its last reading, and sums since the first. */
struct gpu_now {
	const char *gpu; /* as device_uuid() */
	struct gpu_reading last;
	uint64_t energy_mj;
	uint64_t pcie_sent, pcie_received, nvlink_sent, nvlink_received;
	uint64_t power_capped_ns, hot_ns, slowed_ns; /* with work */
};

/* GPUs during the run, for --prometheus. */
#define GPU_NOW_MAX 64u
struct gpus_now {
	struct gpu_now list[GPU_NOW_MAX];
	uint32_t count;
};

/* Takes a reading of a GPU. */
void gpu_now_take(struct gpu_now *now, const struct gpu_reading *reading);

extern const struct table_kind gpu_states_table;

#endif
