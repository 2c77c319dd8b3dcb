// SPDX-License-Identifier: MIT
#include "cupti_trace/hw/metric_list.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "cupti_trace/core/cupti_api.h"
#include "cupti_trace/hw/counter_host.h"

/* Exported by the library; only the command calls it. */
metric_list_function profile_list_metrics;

struct listing {
	struct cupti_api cupti;
	struct profiler_api api;
	char *error;
};

static __attribute__((format(printf, 3, 4))) int fail(struct listing *l, int err,
						      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(l->error, METRIC_LIST_ERROR_BYTES, format, args);
	va_end(args);
	return err;
}

static int begin(void *context, struct cupti_api *cupti)
{
	struct listing *l = context;

	return profiler_api_resolve(&l->api, cupti->handle, false) ? 0 : -ENOSYS;
}

static bool is_final(void *context, int error)
{
	(void)context;
	(void)error;
	return false;
}

static int load(struct listing *l)
{
	int err = cupti_api_load(&l->cupti, &(struct cupti_api_use){begin, is_final, l});

	if (err == -ENOENT)
		return fail(l, err,
			    "no libcupti was found: install CUPTI (it comes with the CUDA Toolkit) "
			    "or set CUDA_HOME");
	if (err)
		return fail(l, -ENOSYS, "%s knows no metrics: that of CUDA 12.6 or later is needed",
			    l->cupti.path);
	return 0;
}

/* Returns the chip of the first GPU; NULL with an error set. */
static const char *find_chip(struct listing *l)
{
	struct profiler_abi_initialize initialize = {.size = PROFILER_ABI_INITIALIZE_SIZE};
	struct profiler_abi_chip chip = {.size = PROFILER_ABI_CHIP_SIZE};
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	int (*init)(unsigned int flags) = NULL;
	int result;

	if (driver)
		*(void **)&init = dlsym(driver, "cuInit");
	result = init ? init(0) : -1;
	if (result != 0) {
		fail(l, -ENODEV,
		     "this machine has no GPU that CUDA can use%s; name a chip: --chip GH100",
		     init ? "" : " (there is no libcuda.so.1)");
		return NULL;
	}
	result = l->api.cuptiProfilerInitialize ? l->api.cuptiProfilerInitialize(&initialize) : -1;
	if (result == CUPTI_ABI_SUCCESS && l->api.cuptiDeviceGetChipName)
		result = l->api.cuptiDeviceGetChipName(&chip);
	if (result == CUPTI_ABI_SUCCESS && chip.name)
		return chip.name;
	fail(l, -ENODEV, "CUPTI does not know the GPU: %d (%s); name its chip: --chip GH100",
	     result, cupti_api_error(&l->cupti, result));
	return NULL;
}

/* Fails with a list of known chips: "GA100, GH100 and so on". */
static int refuse_chip(struct listing *l, const char *chip)
{
	struct profiler_abi_chips chips = {.size = PROFILER_ABI_CHIPS_SIZE};
	size_t used;

	fail(l, -EINVAL, "%s knows no chip '%s'; it knows", l->cupti.path, chip);
	if (l->api.cuptiProfilerHostGetSupportedChips(&chips) != CUPTI_ABI_SUCCESS)
		chips.count = 0;
	for (size_t i = 0; i < chips.count; i++) {
		used = strlen(l->error);
		snprintf(l->error + used, METRIC_LIST_ERROR_BYTES - used, "%s %s", i ? "," : "",
			 chips.names[i]);
	}
	return -EINVAL;
}

/* Returns whether CUPTI hides a metric for its other interfaces: such names are duplicates. */
static bool is_hidden(const char *name)
{
	return strstr(name, ".Triage") != NULL;
}

static int visit_rollups(struct listing *l, const struct counter_host *host, enum metric_type type,
			 const char *metric, const struct metric_visitor *v)
{
	struct profiler_abi_sub_metrics sub = {.size = PROFILER_ABI_SUB_METRICS_SIZE,
					       .host = host->host,
					       .type = (int)type,
					       .metric = metric};

	if (l->api.cuptiProfilerHostGetSubMetrics(&sub) != CUPTI_ABI_SUCCESS)
		return 0;
	for (size_t i = 0; i < sub.count; i++)
		v->rollup(v->context, type, sub.names[i]);
	return 0;
}

/*
 * Visits the suffixes of a type's metrics, as the first of them has them; or with `lists` all
 * metrics.
 */
static int visit_type(struct listing *l, const struct counter_host *host, enum metric_type type,
		      const struct metric_visitor *v, bool lists)
{
	struct profiler_abi_base_metrics base = {
		.size = PROFILER_ABI_BASE_METRICS_SIZE, .host = host->host, .type = (int)type};
	int result = l->api.cuptiProfilerHostGetBaseMetrics(&base);

	if (result != CUPTI_ABI_SUCCESS)
		return fail(l, -EIO, "cuptiProfilerHostGetBaseMetrics: %d (%s)", result,
			    cupti_api_error(&l->cupti, result));
	for (size_t i = 0; i < base.count; i++) {
		struct counter_properties p;

		/* CUPTI 13.0 has some twice */
		if (is_hidden(base.names[i]) ||
		    (i > 0 && strcmp(base.names[i], base.names[i - 1]) == 0))
			continue;
		if (!lists)
			return visit_rollups(l, host, type, base.names[i], v);
		counter_host_describe(host, base.names[i], &p);
		v->metric(v->context, type, base.names[i], p.unit, p.description);
	}
	return 0;
}

__attribute__((visibility("default"))) int
profile_list_metrics(const char *chip, const struct metric_visitor *visitor,
		     char error[METRIC_LIST_ERROR_BYTES])
{
	/* static, because CUPTI stays loaded and may keep references to it */
	static struct listing l;
	struct counter_host host;
	int err;

	l.error = error;
	err = load(&l);
	if (err)
		return err;
	if (!chip)
		chip = find_chip(&l);
	if (!chip)
		return -ENODEV;
	if (counter_host_open(&host, &l.api, chip, NULL) != CUPTI_ABI_SUCCESS)
		return refuse_chip(&l, chip);
	visitor->chip(visitor->context, chip);
	for (int i = 0; !err && i < 2 * METRIC_TYPES; i++)
		err = visit_type(&l, &host, (enum metric_type)(i % METRIC_TYPES), visitor,
				 i >= METRIC_TYPES);
	counter_host_close(&host);
	return err;
}
