/* SPDX-License-Identifier: MIT */
/*
 * Readings of the stand-in of NVML, and the declared interface beside NVIDIA's header where there
 * is one.
 */
#include "unit.h"
#include <dlfcn.h>
#include <limits.h>
#include "nvml_compared.h"
#include "profiler/run/nvml.h"
#include "symbolize/util/monotonic.h"

#define GPU_0 "GPU-10111213-1415-1617-1819-1a1b1c1d1e00"
#define GPU_1 "GPU-10111213-1415-1617-1819-1a1b1c1d1e01"
#define MIG_0 "MIG-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadae00"

/* Loads a stand-in, which then has the name that nvml_load looks for. Each test has a process. */
static void load(const char *folder, struct nvml *nvml)
{
	char path[PATH_MAX], why[NVML_WHY_BYTES] = "";

	snprintf(path, sizeof(path), "%s/%s/libnvidia-ml.so.1", getenv("FAKE_CUDA_DIR"), folder);
	assert_non_null(dlopen(path, RTLD_NOW));
	assert_true(nvml_load(nvml, why));
}

static void begin(const char *folder, struct nvml *nvml)
{
	char why[NVML_WHY_BYTES];

	load(folder, nvml);
	assert_true(nvml_begin(nvml, why));
}

static void wait_ms(int ms)
{
	usleep((useconds_t)ms * 1000);
}

/* Expects what a counter of so much a us adds within times, us. Counters have whole ms or us. */
static void expect_between(uint64_t amount, double per_us, const uint64_t at_ns[4])
{
	double least_us = (double)(at_ns[2] - at_ns[1]) / 1000 - 1000;
	double most_us = (double)(at_ns[3] - at_ns[0]) / 1000 + 1000;

	assert_true((double)amount >= least_us * per_us && (double)amount <= most_us * per_us);
}

static void readings(void)
{
	struct gpu_reading first, r;
	char why[NVML_WHY_BYTES];
	struct nvml_gpu gpu;
	struct nvml nvml;
	uint64_t at_ns[4];

	begin("nvml", &nvml);
	assert_true(nvml_find(&nvml, GPU_0, &gpu, why));
	at_ns[0] = monotonic_ns();
	assert_false(nvml_read(&nvml, &gpu, &first)); /* energy and bytes count from here */
	at_ns[1] = monotonic_ns();
	wait_ms(200);
	at_ns[2] = monotonic_ns();
	assert_true(nvml_read(&nvml, &gpu, &r));
	at_ns[3] = monotonic_ns();
	assert_true(gpu_reading_is_sane(&r));
	assert_true(r.start_ns == first.end_ns && r.end_ns - r.start_ns >= 200000000);
	assert_int_equal(r.sm_mhz, 1980);
	assert_int_equal(r.most_sm_mhz, 1980);
	assert_int_equal(r.memory_mhz, 3201);
	assert_int_equal(r.power_mw, 400000);
	assert_int_equal(r.celsius, 47);
	assert_true(r.memory_bytes == UINT64_C(5) << 30);
	expect_between(r.energy_mj, 0.4, at_ns);
	/* the counters of PCIe have wrapped */
	expect_between(r.pcie_sent, 1000, at_ns);
	expect_between(r.pcie_received, 1000, at_ns);
	expect_between(r.nvlink_sent, 10240, at_ns);
	expect_between(r.nvlink_received, 10240, at_ns);
	assert_false(r.is_idle || r.is_power_capped || r.is_hot || r.is_slowed);
}

static void reasons(void)
{
	static const struct {
		const char *bits;
		bool is_power_capped, is_hot, is_slowed;
	} all[] = {{"0x4", true, false, false},   {"0x80", true, false, false},
		   {"0x20", false, true, false},  {"0x40", false, true, false},
		   {"0x48", false, true, false},  {"0x8", false, false, true},
		   {"0x88", true, false, false},  {"0x24", true, true, false},
		   {"0x112", false, false, false}};
	struct gpu_reading r;
	char why[NVML_WHY_BYTES];
	struct nvml_gpu gpu;
	struct nvml nvml;

	setenv("FAKE_NVML_LIMITED_PERCENT", "100", 1);
	begin("nvml", &nvml);
	assert_true(nvml_find(&nvml, GPU_0, &gpu, why));
	nvml_read(&nvml, &gpu, &r);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		setenv("FAKE_NVML_REASONS", all[i].bits, 1);
		assert_true(nvml_read(&nvml, &gpu, &r));
		assert_int_equal(r.is_power_capped, all[i].is_power_capped);
		assert_int_equal(r.is_hot, all[i].is_hot);
		assert_int_equal(r.is_slowed, all[i].is_slowed);
		assert_int_equal(r.is_idle, 0);
		assert_int_equal(r.sm_mhz, 1410);
	}
	setenv("FAKE_NVML_IDLE", "1", 1);
	assert_true(nvml_read(&nvml, &gpu, &r));
	assert_int_equal(r.is_idle, 1);
	assert_int_equal(r.is_power_capped, 0);
}

static void mig_instances(void)
{
	struct gpu_reading r;
	char why[NVML_WHY_BYTES];
	struct nvml_gpu gpu;
	struct nvml nvml;

	setenv("FAKE_CUDA_MIG", "3/0", 1);
	begin("nvml", &nvml);
	assert_true(nvml_find(&nvml, MIG_0, &gpu, why));
	nvml_read(&nvml, &gpu, &r);
	assert_true(nvml_read(&nvml, &gpu, &r));
	assert_true(r.memory_bytes == UINT64_C(1) << 30); /* its own */
	assert_int_equal(r.sm_mhz, 1980);                 /* its GPU's */
}

static void other_gpus(void)
{
	char why[NVML_WHY_BYTES] = "";
	struct nvml_gpu gpu;
	struct gpu_reading r;
	struct nvml nvml;

	setenv("FAKE_CUDA_DEVICES", "2", 1);
	setenv("FAKE_NVML_NVLINK", "0", 1);
	begin("nvml", &nvml);
	assert_true(nvml_find(&nvml, GPU_1, &gpu, why));
	nvml_read(&nvml, &gpu, &r);
	wait_ms(10);
	assert_true(nvml_read(&nvml, &gpu, &r));
	assert_int_equal(r.power_mw, 401000);
	assert_true(r.nvlink_sent == 0 && r.nvlink_received == 0); /* it has none */
	assert_true(r.pcie_sent > 0);
	assert_false(nvml_find(&nvml, MIG_0, &gpu, why));
	assert_string_equal(why, "nvmlDeviceGetHandleByUUID: Not Found");
}

static void old_drivers(void)
{
	struct gpu_reading r;
	char why[NVML_WHY_BYTES];
	struct nvml_gpu gpu;
	struct nvml nvml;

	setenv("FAKE_NVML_LIMITED_PERCENT", "100", 1);
	begin("old_nvml", &nvml);
	assert_true(nvml_find(&nvml, GPU_0, &gpu, why));
	nvml_read(&nvml, &gpu, &r);
	assert_true(nvml_read(&nvml, &gpu, &r));
	assert_int_equal(r.is_power_capped, 1); /* by the old name */
	assert_true(r.energy_mj == 0 && r.pcie_sent == 0 && r.nvlink_sent == 0);
	assert_int_equal(r.sm_mhz, 1410);
}

static void a_lost_gpu(void)
{
	struct gpu_reading r;
	char why[NVML_WHY_BYTES];
	struct nvml_gpu gpu;
	struct nvml nvml;

	setenv("FAKE_NVML", "lost", 1);
	begin("nvml", &nvml);
	assert_true(nvml_find(&nvml, GPU_0, &gpu, why));
	nvml_read(&nvml, &gpu, &r);
	assert_true(nvml_read(&nvml, &gpu, &r));
	wait_ms(350);
	assert_false(nvml_read(&nvml, &gpu, &r));
}

static void a_library_that_refuses(void)
{
	char why[NVML_WHY_BYTES];
	struct nvml nvml;

	setenv("FAKE_NVML", "refuse", 1);
	load("nvml", &nvml);
	assert_false(nvml_begin(&nvml, why));
	assert_string_equal(why, "nvmlInit_v2: Driver Not Loaded");
}

static void no_library(void)
{
	char why[NVML_WHY_BYTES] = "";
	struct nvml nvml;

	if (!nvml_load(&nvml, why)) /* else this machine has one */
		assert_non_null(strstr(why, "libnvidia-ml.so.1"));
}

/* Runs a test in a process of its own: the stand-in's state is its process's. */
static void run(void (*test)(void))
{
	static bool is_child;
	int status;
	pid_t pid;

	if (is_child) /* its test failed */
		_exit(1);
	if (!getenv("FAKE_CUDA_DIR"))
		skip();
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		is_child = true;
		test();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define TEST(name)                            \
	static void test_##name(void **state) \
	{                                     \
		(void)state;                  \
		run(name);                    \
	}
TEST(readings)
TEST(reasons)
TEST(mig_instances)
TEST(other_gpus)
TEST(old_drivers)
TEST(a_lost_gpu)
TEST(a_library_that_refuses)
TEST(no_library)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_readings),
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_mig_instances),
		cmocka_unit_test(test_other_gpus),
		cmocka_unit_test(test_old_drivers),
		cmocka_unit_test(test_a_lost_gpu),
		cmocka_unit_test(test_a_library_that_refuses),
		cmocka_unit_test(test_no_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
