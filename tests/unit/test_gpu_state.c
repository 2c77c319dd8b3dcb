/* SPDX-License-Identifier: MIT */
/* Readings of GPUs: which are possible, and rows of one and of several. */
#include "unit.h"
#include "profiler/model/gpu_state.h"

static const struct gpu_reading good = {.start_ns = 100,
					.end_ns = 300,
					.memory_bytes = 5000,
					.energy_mj = 7,
					.pcie_sent = 1,
					.pcie_received = 2,
					.nvlink_sent = 3,
					.nvlink_received = 4,
					.sm_mhz = 1980,
					.most_sm_mhz = 2000,
					.memory_mhz = 3201,
					.power_mw = 400600,
					.celsius = 47};

static void impossible_readings_are_known(void **state)
{
	struct gpu_reading r;

	(void)state;
	assert_true(gpu_reading_is_sane(&good));
	assert_true(gpu_reading_is_sane(&(struct gpu_reading){.end_ns = 0}));
#define BAD(member, value)  \
	r = good;           \
	r.member = (value); \
	assert_false(gpu_reading_is_sane(&r))
	BAD(start_ns, 301);
	BAD(end_ns, UINT64_MAX);
	BAD(memory_bytes, UINT64_MAX);
	BAD(energy_mj, UINT64_MAX);
	BAD(pcie_sent, UINT64_MAX);
	BAD(pcie_received, UINT64_MAX);
	BAD(nvlink_sent, UINT64_MAX);
	BAD(nvlink_received, UINT64_MAX);
	BAD(sm_mhz, UINT32_MAX);
	BAD(most_sm_mhz, 65536);
	BAD(memory_mhz, UINT32_MAX);
	BAD(power_mw, UINT32_MAX);
	BAD(celsius, UINT32_MAX);
	BAD(is_idle, 2);
	BAD(is_power_capped, 2);
	BAD(is_hot, 255);
	BAD(is_slowed, 2);
}

static void a_row_has_a_reading(void **state)
{
	struct gpu_reading r = good;
	struct gpu_state row;

	(void)state;
	gpu_state_of(&row, "GPU-1", &r);
	assert_string_equal(row.gpu, "GPU-1");
	assert_int_equal(row.start_ns, 100);
	assert_int_equal(row.ns, 200);
	assert_int_equal(row.power_sum, 400600);
	assert_int_equal(row.watts_most, 401);
	assert_int_equal(row.readings, 1);
	assert_int_equal(row.busy, 1);
	assert_int_equal(row.limited, 0);
	assert_int_equal(row.sm_busy_sum, 1980);
	assert_int_equal(row.sm_limited_sum, 0);
	assert_int_equal(row.sm_possible, 2000);
	r.is_power_capped = r.is_hot = 1;
	gpu_state_of(&row, "GPU-1", &r);
	assert_int_equal(row.power_capped, 1);
	assert_int_equal(row.hot, 1);
	assert_int_equal(row.slowed, 0);
	assert_int_equal(row.limited, 1);
	assert_int_equal(row.sm_limited_sum, 1980);
	r.is_idle = 1; /* an idle GPU is not limited */
	gpu_state_of(&row, "GPU-1", &r);
	assert_int_equal(row.busy, 0);
	assert_int_equal(row.power_capped, 0);
	assert_int_equal(row.limited, 0);
	assert_int_equal(row.sm_busy_sum, 0);
	assert_int_equal(row.sm_sum, 1980);
}

static void rows_are_joined_exactly(void **state)
{
	struct gpu_reading r = good;
	struct gpu_state row, next;

	(void)state;
	gpu_state_of(&row, "GPU-1", &r);
	r.start_ns = 300;
	r.end_ns = 800;
	r.sm_mhz = 1410;
	r.is_slowed = 1;
	r.memory_bytes = 4000;
	r.power_mw = 700000;
	gpu_state_of(&next, "GPU-1", &r);
	gpu_state_append(&row, &next);
	assert_int_equal(row.start_ns, 100);
	assert_int_equal(row.ns, 700);
	assert_int_equal(row.readings, 2);
	assert_int_equal(row.sm_sum, 3390);
	assert_int_equal(row.sm_least, 1410);
	assert_int_equal(row.sm_most, 1980);
	assert_int_equal(row.sm_limited_sum, 1410);
	assert_int_equal(row.slowed, 1);
	assert_int_equal(row.limited, 1);
	assert_int_equal(row.memory_most, 5000);
	assert_int_equal(row.watts_most, 700);
	assert_int_equal(row.power_sum, 1100600);
	assert_int_equal(row.energy_mj, 14);
	assert_int_equal(row.nvlink_received, 8);
}

static void sums_never_wrap(void **state)
{
	struct gpu_state row, next;

	(void)state;
	gpu_state_of(&row, "GPU-1", &good);
	next = row;
	next.start_ns = next.ns = next.power_sum = next.energy_mj = next.pcie_sent = UINT64_MAX;
	next.readings = next.sm_sum = next.busy = UINT32_MAX;
	next.limited = UINT16_MAX;
	gpu_state_append(&row, &next);
	gpu_state_append(&row, &next);
	assert_true(row.ns == UINT64_MAX - row.start_ns);
	assert_true(row.power_sum == UINT64_MAX && row.pcie_sent == UINT64_MAX);
	assert_true(row.readings == UINT32_MAX && row.sm_sum == UINT32_MAX);
	assert_true(row.limited == UINT16_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(impossible_readings_are_known),
		cmocka_unit_test(a_row_has_a_reading),
		cmocka_unit_test(rows_are_joined_exactly),
		cmocka_unit_test(sums_never_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
