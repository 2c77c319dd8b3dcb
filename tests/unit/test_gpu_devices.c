/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "profiler/base/gpu_devices.h"

static void devices_are_found_by_their_whole_name(void **state)
{
	static const struct {
		const char *text;
		uint32_t id;
	} cases[] = {
		{"", 0},
		{"229 fuse\n 59 dxg\n", GPU_DEVICE_ID(10, 59)},
		{"127 dxg", GPU_DEVICE_ID(10, 127)},
		{"59 dxg2\n60 adxg\n61 dx\n", 0},
		{"dxg\n59\ndxg\n", 0},
		{"59 dxg x\n", 0},
		{"1048576 dxg\n", 0},
		{"99999999999999999999999 dxg\n", 0},
		{"\n\n258 dxg\n\n", GPU_DEVICE_ID(10, 258)},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(gpu_devices_find_misc(cases[i].text, "dxg"), cases[i].id);
}

static void nvidias_device_always_counts(void **state)
{
	(void)state;
	assert_int_equal(gpu_devices_read().ids[0], GPU_DEVICE_ID(195, 255));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_are_found_by_their_whole_name),
		cmocka_unit_test(nvidias_device_always_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
