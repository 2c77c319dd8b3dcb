/* SPDX-License-Identifier: MIT */
/*
 * The range profiler and the host functions of the fake libcupti, since CUDA 12.6.
 *
 * It knows the chip GH100 and the metrics below, whose values follow from a kernel's launch: so
 * tests can reckon them. A pass reads one metric. Only ranges by kernel with kernel replay are
 * there, as nothing else is used.
 */
#define _GNU_SOURCE
#include "cupti.h"
#include "range_profiler.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if FAKE_CUPTI_VERSION >= 24
#include "../../cupti_trace/hw/profiler_abi.h"

#define CHIP "GH100"
enum { METRICS = 11, PROFILERS = 64, PENDING = 16 };
enum { CONFIG_MAGIC = 0x66696e66, DATA_MAGIC = 0x61746164 };

static const struct metric {
	const char *name, *description, *unit;
	int type;
} metrics[METRICS] = {
	{"sm__ctas_launched.sum", "# of CTAs launched", "block", PROFILER_ABI_COUNTER},
	{"sm__warps_launched.sum", "# of warps launched", "warp", PROFILER_ABI_COUNTER},
	{"gpu__time_duration.sum", "time of the kernel", "nanosecond", PROFILER_ABI_COUNTER},
	{"dram__bytes.sum", "# of bytes accessed in DRAM", "byte", PROFILER_ABI_COUNTER},
	{"sm__cycles_elapsed.max", "# of cycles elapsed on SM", "gpc_cycle", PROFILER_ABI_COUNTER},
	{"sm__throughput.avg.pct_of_peak_sustained_elapsed", "SM throughput", "percent",
	 PROFILER_ABI_THROUGHPUT},
	{"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
	 "Compute Memory Pipeline Throughput", "percent", PROFILER_ABI_THROUGHPUT},
	{"sm__warps_active.avg.pct_of_peak_sustained_active", "cumulative # of warps in flight",
	 "percent", PROFILER_ABI_COUNTER},
	{"l1tex__t_sector_hit_rate.pct", "# of sector hits per sector", "percent",
	 PROFILER_ABI_RATIO},
	{"lts__t_sector_hit_rate.pct", "proportion of L2 sector lookups that hit", "percent",
	 PROFILER_ABI_RATIO},
	{"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
	 "# of cycles where tensor pipe was active", "percent", PROFILER_ABI_COUNTER},
};

struct range {
	uint64_t blocks, threads, ns;
};

/* A value of each metric, from what is known of the kernel. */
static double value_of(const struct metric *m, const struct range *r)
{
	switch (m - metrics) {
	case 0:
		return (double)r->blocks;
	case 1:
		return (double)(r->blocks * ((r->threads + 31) / 32));
	case 2:
		return (double)r->ns;
	case 3:
		return (double)r->ns * 100;
	case 4:
		return (double)r->ns * 2;
	case 10:
		return 0;
	default:
		return 12.5 * (double)(m - metrics - 4);
	}
}

static const struct metric *find_metric(const char *name)
{
	for (int i = 0; name && i < METRICS; i++)
		if (strcmp(metrics[i].name, name) == 0)
			return &metrics[i];
	return NULL;
}

/* By the part before the first dot, or by all of it. */
static const struct metric *find_base(const char *name)
{
	size_t length = name ? strcspn(name, ".") : 0;

	for (int i = 0; name && i < METRICS; i++)
		if (strncmp(metrics[i].name, name, length) == 0 && metrics[i].name[length] == '.' &&
		    (name[length] == '\0' || strcmp(metrics[i].name, name) == 0))
			return &metrics[i];
	return NULL;
}

/* ---- host ---- */

struct host {
	bool wanted[METRICS];
	size_t count;
	const char *names[METRICS];
	char texts[METRICS][64];
};

struct config {
	uint32_t magic, passes;
	bool wanted[METRICS];
};

struct data {
	uint32_t magic, capacity, count, is_initialized;
	struct range ranges[];
};

#define CHECK(params, type_size)                                          \
	if (!(params) || (params)->size != (type_size) || (params)->priv) \
	return CUPTI_ABI_ERROR_INVALID_PARAMETER

FAKE_CUDA_EXPORT int cuptiProfilerHostGetSupportedChips(struct profiler_abi_chips *p)
{
	static const char *const chips[] = {CHIP};

	CHECK(p, PROFILER_ABI_CHIPS_SIZE);
	p->count = 1;
	p->names = chips;
	return CUPTI_ABI_SUCCESS;
}

FAKE_CUDA_EXPORT int cuptiProfilerHostInitialize(struct profiler_abi_host *p)
{
	CHECK(p, PROFILER_ABI_HOST_SIZE);
	if (p->profiler_type != PROFILER_ABI_RANGE_PROFILER || !p->chip ||
	    strcmp(p->chip, CHIP) != 0)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	p->host = calloc(1, sizeof(struct host));
	return p->host ? CUPTI_ABI_SUCCESS : FAKE_CUPTI_ERROR_OUT_OF_MEMORY;
}

FAKE_CUDA_EXPORT int cuptiProfilerHostDeinitialize(struct profiler_abi_host_end *p)
{
	CHECK(p, PROFILER_ABI_HOST_END_SIZE);
	if (!p->host)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	free(p->host);
	return CUPTI_ABI_SUCCESS;
}

FAKE_CUDA_EXPORT int cuptiProfilerHostGetBaseMetrics(struct profiler_abi_base_metrics *p)
{
	struct host *host;

	CHECK(p, PROFILER_ABI_BASE_METRICS_SIZE);
	host = p->host;
	if (!host || p->type < 0 || p->type >= PROFILER_ABI_METRIC_TYPES)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	p->count = 0;
	for (int i = 0; i < METRICS; i++) {
		size_t length = strcspn(metrics[i].name, ".");

		if (metrics[i].type != p->type)
			continue;
		memcpy(host->texts[p->count], metrics[i].name, length);
		host->texts[p->count][length] = '\0';
		host->names[p->count] = host->texts[p->count];
		p->count++;
	}
	p->names = host->names;
	return CUPTI_ABI_SUCCESS;
}

FAKE_CUDA_EXPORT int cuptiProfilerHostGetSubMetrics(struct profiler_abi_sub_metrics *p)
{
	static const char *one[1];
	const struct metric *m;

	CHECK(p, PROFILER_ABI_SUB_METRICS_SIZE);
	m = find_base(p->metric);
	if (!p->host)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	if (!m)
		return PROFILER_ABI_ERROR_INVALID_METRIC_NAME;
	one[0] = strchr(m->name, '.');
	p->names = one;
	p->count = 1;
	return CUPTI_ABI_SUCCESS;
}

FAKE_CUDA_EXPORT int cuptiProfilerHostGetMetricProperties(struct profiler_abi_properties *p)
{
	const struct metric *m;

	CHECK(p, PROFILER_ABI_PROPERTIES_SIZE);
	m = find_base(p->metric);
	if (!p->host)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	if (!m)
		return PROFILER_ABI_ERROR_INVALID_METRIC_NAME;
	p->description = m->description;
	p->hardware_unit = "sm";
	p->unit = m->unit;
	p->type = m->type;
	return CUPTI_ABI_SUCCESS;
}

/* Seen with 13.0: 1 for a metric that does not exist, 999 for one without its rollup. */
FAKE_CUDA_EXPORT int cuptiProfilerHostConfigAddMetrics(struct profiler_abi_add_metrics *p)
{
	struct host *host;

	CHECK(p, PROFILER_ABI_ADD_METRICS_SIZE);
	host = p->host;
	if (!host || !p->names || p->count == 0)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	for (size_t i = 0; i < p->count; i++) {
		const struct metric *m = find_metric(p->names[i]);

		if (!m)
			return find_base(p->names[i]) ? CUPTI_ABI_ERROR_UNKNOWN
						      : CUPTI_ABI_ERROR_INVALID_PARAMETER;
		host->count += !host->wanted[m - metrics];
		host->wanted[m - metrics] = true;
	}
	return CUPTI_ABI_SUCCESS;
}

FAKE_CUDA_EXPORT int cuptiProfilerHostGetConfigImageSize(struct profiler_abi_config_size *p)
{
	CHECK(p, PROFILER_ABI_CONFIG_SIZE_SIZE);
	if (!p->host || ((struct host *)p->host)->count == 0)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	p->image_size = sizeof(struct config);
	return CUPTI_ABI_SUCCESS;
}

FAKE_CUDA_EXPORT int cuptiProfilerHostGetConfigImage(struct profiler_abi_config *p)
{
	struct config config = {.magic = CONFIG_MAGIC};
	const struct host *host;

	CHECK(p, PROFILER_ABI_CONFIG_SIZE);
	host = p->host;
	if (!host || !p->image || p->image_size != sizeof(config))
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	config.passes = (uint32_t)host->count;
	memcpy(config.wanted, host->wanted, sizeof(config.wanted));
	memcpy(p->image, &config, sizeof(config));
	return CUPTI_ABI_SUCCESS;
}

static bool read_config(const uint8_t *image, size_t size, struct config *config)
{
	if (!image || size != sizeof(*config))
		return false;
	memcpy(config, image, sizeof(*config));
	return config->magic == CONFIG_MAGIC;
}

FAKE_CUDA_EXPORT int cuptiProfilerHostGetNumOfPasses(struct profiler_abi_passes *p)
{
	struct config config;

	CHECK(p, PROFILER_ABI_PASSES_SIZE);
	if (!read_config(p->image, p->image_size, &config))
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	p->count = config.passes;
	return CUPTI_ABI_SUCCESS;
}

FAKE_CUDA_EXPORT int cuptiProfilerHostEvaluateToGpuValues(struct profiler_abi_evaluate *p)
{
	const struct data *data;

	CHECK(p, PROFILER_ABI_EVALUATE_SIZE);
	data = (const void *)p->image;
	if (!p->host || !data || data->magic != DATA_MAGIC || p->range >= data->count ||
	    !p->names || !p->values)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	for (size_t i = 0; i < p->count; i++) {
		const struct metric *m = find_metric(p->names[i]);

		if (!m)
			return PROFILER_ABI_ERROR_INVALID_METRIC_NAME;
		p->values[i] = value_of(m, &data->ranges[p->range]);
	}
	return CUPTI_ABI_SUCCESS;
}

/* ---- target ---- */

static struct {
	pthread_mutex_t lock;
	bool is_initialized;
	int captures;
	struct profiler {
		uint32_t context; /* its number; 0: free */
		struct config config;
		bool has_config, is_started, has_data;
		struct data *data; /* the client's */
		size_t pending, dropped;
		struct range ranges[PENDING]; /* since the start */
	} list[PROFILERS];
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

#define WITH_LOCK(expression)            \
	int result;                      \
	pthread_mutex_lock(&all.lock);   \
	result = (expression);           \
	pthread_mutex_unlock(&all.lock); \
	return result

FAKE_CUDA_EXPORT int cuptiProfilerInitialize(struct profiler_abi_initialize *p)
{
	int err = cupti_attach();

	CHECK(p, PROFILER_ABI_INITIALIZE_SIZE);
	all.is_initialized |= !err;
	return err;
}

FAKE_CUDA_EXPORT int cuptiDeviceGetChipName(struct profiler_abi_chip *p)
{
	CHECK(p, PROFILER_ABI_CHIP_SIZE);
	if (!all.is_initialized)
		return CUPTI_ABI_ERROR_NOT_INITIALIZED;
	p->name = CHIP;
	return CUPTI_ABI_SUCCESS;
}

static struct profiler *of_context(uint32_t context)
{
	for (int i = 0; context && i < PROFILERS; i++)
		if (all.list[i].context == context)
			return &all.list[i];
	return NULL;
}

FAKE_CUDA_EXPORT int cuptiProfilerGetCounterAvailability(struct profiler_abi_availability *p)
{
	CHECK(p, PROFILER_ABI_AVAILABILITY_SIZE);
	if (!all.is_initialized)
		return CUPTI_ABI_ERROR_NOT_INITIALIZED;
	if (!p->context)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	if (of_context(cupti_driver()->context_id(p->context))) {
		cupti_misuse("counter availability asked for while the profiler is enabled");
		return FAKE_CUPTI_ERROR_INVALID_OPERATION;
	}
	if (p->image)
		memset(p->image, 1, p->image_size);
	p->image_size = 64;
	return CUPTI_ABI_SUCCESS;
}

static int enable(struct profiler_abi_enable *p)
{
	uint32_t context = cupti_driver()->context_id(p->context);

	if (of_context(context)) {
		cupti_misuse("the range profiler is enabled twice");
		return FAKE_CUPTI_ERROR_INVALID_OPERATION;
	}
	for (int i = 0; i < PROFILERS; i++) {
		if (all.list[i].context)
			continue;
		memset(&all.list[i], 0, sizeof(all.list[i]));
		all.list[i].context = context;
		p->profiler = &all.list[i];
		return CUPTI_ABI_SUCCESS;
	}
	return FAKE_CUPTI_ERROR_OUT_OF_MEMORY;
}

FAKE_CUDA_EXPORT int cuptiRangeProfilerEnable(struct profiler_abi_enable *p)
{
	CHECK(p, PROFILER_ABI_ENABLE_SIZE);
	if (!all.is_initialized)
		return CUPTI_ABI_ERROR_NOT_INITIALIZED;
	if (!p->context)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	if (cupti_env("FAKE_CUDA_COUNTERS_ERROR"))
		return (int)cupti_env("FAKE_CUDA_COUNTERS_ERROR");
	WITH_LOCK(enable(p));
}

/* NULL: not one that is enabled. */
static struct profiler *check(void *profiler)
{
	struct profiler *p = profiler;

	if (p >= all.list && p < all.list + PROFILERS && p->context)
		return p;
	cupti_misuse("a range profiler that is not enabled");
	return NULL;
}

static int disable(struct profiler_abi_ranges *params)
{
	struct profiler *p = check(params->profiler);

	if (!p)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	if (p->is_started)
		cupti_misuse("a range profiler is disabled that was not stopped");
	p->context = 0;
	return CUPTI_ABI_SUCCESS;
}

FAKE_CUDA_EXPORT int cuptiRangeProfilerDisable(struct profiler_abi_ranges *p)
{
	CHECK(p, PROFILER_ABI_RANGES_SIZE);
	WITH_LOCK(disable(p));
}

FAKE_CUDA_EXPORT int cuptiRangeProfilerGetCounterDataSize(struct profiler_abi_data_size *p)
{
	CHECK(p, PROFILER_ABI_DATA_SIZE_SIZE);
	if (!check(p->profiler) || !p->names || p->count == 0 || p->ranges == 0 ||
	    p->range_nodes < p->ranges)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	for (size_t i = 0; i < p->count; i++)
		if (!find_metric(p->names[i]))
			return PROFILER_ABI_ERROR_INVALID_METRIC_NAME;
	p->data_size = sizeof(struct data) + p->ranges * sizeof(struct range);
	return CUPTI_ABI_SUCCESS;
}

static int initialize_data(struct profiler_abi_data *params)
{
	struct profiler *p = check(params->profiler);
	struct data *data = (void *)params->data;

	if (!p || !data || params->data_size < sizeof(*data))
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	if (p->is_started)
		return FAKE_CUPTI_ERROR_INVALID_OPERATION;
	*data = (struct data){
		.magic = DATA_MAGIC,
		.capacity = (uint32_t)((params->data_size - sizeof(*data)) / sizeof(struct range))};
	return CUPTI_ABI_SUCCESS;
}

FAKE_CUDA_EXPORT int cuptiRangeProfilerCounterDataImageInitialize(struct profiler_abi_data *p)
{
	CHECK(p, PROFILER_ABI_DATA_SIZE);
	WITH_LOCK(initialize_data(p));
}

static int set_config(struct profiler_abi_set_config *params)
{
	struct profiler *p = check(params->profiler);
	struct data *data = (void *)params->data;

	if (!p || !read_config(params->config, params->config_size, &p->config) || !data ||
	    data->magic != DATA_MAGIC || params->nesting_levels != 1 || params->first_level != 1 ||
	    params->ranges_per_pass == 0 || params->ranges_per_pass > data->capacity)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	if (params->range != PROFILER_ABI_AUTO_RANGE ||
	    params->replay != PROFILER_ABI_KERNEL_REPLAY || p->is_started)
		return FAKE_CUPTI_ERROR_INVALID_OPERATION;
	p->data = data;
	p->has_config = true;
	return CUPTI_ABI_SUCCESS;
}

FAKE_CUDA_EXPORT int cuptiRangeProfilerSetConfig(struct profiler_abi_set_config *p)
{
	CHECK(p, PROFILER_ABI_SET_CONFIG_SIZE);
	WITH_LOCK(set_config(p));
}

static int start(struct profiler_abi_ranges *params)
{
	struct profiler *p = check(params->profiler);

	if (!p)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	if (p->is_started || !p->has_config) {
		cupti_misuse("a range profiler is started twice, or without a configuration");
		return FAKE_CUPTI_ERROR_INVALID_OPERATION;
	}
	if (all.captures > 0) {
		cupti_misuse("a kernel would be measured while a stream is captured");
		return FAKE_CUPTI_ERROR_INVALID_OPERATION;
	}
	p->is_started = true;
	p->pending = p->dropped = 0;
	return CUPTI_ABI_SUCCESS;
}

FAKE_CUDA_EXPORT int cuptiRangeProfilerStart(struct profiler_abi_ranges *p)
{
	CHECK(p, PROFILER_ABI_RANGES_SIZE);
	WITH_LOCK(start(p));
}

static int stop(struct profiler_abi_stop *params)
{
	struct profiler *p = check(params->profiler);

	if (!p)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	if (!p->is_started) {
		cupti_misuse("a range profiler is stopped that was not started");
		return FAKE_CUPTI_ERROR_INVALID_OPERATION;
	}
	p->is_started = false;
	p->has_data = true;
	params->pass = params->target_level = 0;
	params->all_submitted = 1;
	return CUPTI_ABI_SUCCESS;
}

FAKE_CUDA_EXPORT int cuptiRangeProfilerStop(struct profiler_abi_stop *p)
{
	CHECK(p, PROFILER_ABI_STOP_SIZE);
	WITH_LOCK(stop(p));
}

static int decode(struct profiler_abi_decode *params)
{
	struct profiler *p = check(params->profiler);

	if (!p)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	if (p->is_started || !p->has_data)
		return FAKE_CUPTI_ERROR_INVALID_OPERATION;
	params->dropped = p->dropped;
	for (size_t i = 0; i < p->pending; i++) {
		if (p->data->count < p->data->capacity)
			p->data->ranges[p->data->count++] = p->ranges[i];
		else
			params->dropped++;
	}
	p->pending = 0;
	p->has_data = false;
	return CUPTI_ABI_SUCCESS;
}

FAKE_CUDA_EXPORT int cuptiRangeProfilerDecodeData(struct profiler_abi_decode *p)
{
	CHECK(p, PROFILER_ABI_DECODE_SIZE);
	WITH_LOCK(decode(p));
}

FAKE_CUDA_EXPORT int cuptiRangeProfilerGetCounterDataInfo(struct profiler_abi_data_info *p)
{
	const struct data *data;

	CHECK(p, PROFILER_ABI_DATA_INFO_SIZE);
	data = (const void *)p->data;
	if (!data || data->magic != DATA_MAGIC)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	p->ranges = data->count;
	return CUPTI_ABI_SUCCESS;
}

/* ---- what the virtual GPU does ---- */

void range_profiler_call(const struct fake_cuda_call *call, uint32_t site)
{
	bool begins = call->cbid == FAKE_RT_cudaStreamBeginCapture ||
		      call->cbid == FAKE_RT_cudaStreamBeginCaptureToGraph;

	if (call->domain != CUPTI_ABI_DOMAIN_RUNTIME_API)
		return;
	if (begins && site == CUPTI_ABI_API_EXIT && *call->result == 0)
		__atomic_add_fetch(&all.captures, 1, __ATOMIC_RELAXED);
	if (call->cbid == FAKE_RT_cudaStreamEndCapture && site == CUPTI_ABI_API_ENTER)
		__atomic_sub_fetch(&all.captures, 1, __ATOMIC_RELAXED);
}

/* With the lock held: the passes that the kernel is run for; 0: it is not measured. */
static uint32_t measure(const struct fake_cuda_activity *a)
{
	struct profiler *p = of_context(a->context_id);

	if (!p || !p->is_started)
		return 0;
	if (p->pending == PENDING) {
		p->dropped++;
	} else {
		uint64_t drift = a->end - a->start;

		p->ranges[p->pending++] =
			(struct range){(uint64_t)a->grid[0] * a->grid[1] * a->grid[2],
				       (uint64_t)a->block[0] * a->block[1] * a->block[2], drift};
	}
	return p->config.passes;
}

unsigned long range_profiler_run(struct fake_cuda_activity *a)
{
	uint32_t passes;

	if (a->type != FAKE_CUDA_KERNEL)
		return 1;
	pthread_mutex_lock(&all.lock);
	passes = measure(a);
	pthread_mutex_unlock(&all.lock);
	if (passes == 0)
		return 1;
	/* the launch waits until the kernel has run so often */
	cupti_driver()->sleep_until(a->end + (passes - 1) * (a->end - a->start));
	if (!cupti_setting_is("FAKE_CUDA_REPLAY_TIMES", "1"))
		a->start = a->end = 0;
	if (cupti_setting_is("FAKE_CUDA_REPLAY_RECORDS", "1"))
		return passes;
	return cupti_setting_is("FAKE_CUDA_REPLAY_RECORDS", "none") ? 0 : 1;
}

#else

void range_profiler_call(const struct fake_cuda_call *call, uint32_t site)
{
	(void)call;
	(void)site;
}

unsigned long range_profiler_run(struct fake_cuda_activity *a)
{
	(void)a;
	return 1;
}

#endif
