// SPDX-License-Identifier: MIT
#include "profiler/formats/prometheus.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include "profiler/base/version.h"
#include "profiler/model/losses.h"
#include "profiler/model/work_names.h"
#include "symbolize/util/number.h"

/* ---- the format ---- */

static void describe(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP profile_%s %s\n# TYPE profile_%s %s\n", name, help, name, type);
}

/* Writes the value of a label. Its text is clean, but backslashes and quotes need an escape. */
static void put_value(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\\' || *text == '"')
			fputc('\\', out);
		fputc(*text, out);
	}
}

/* Returns the device of process number `process`, or NULL if it is unknown. */
static const struct device *find_device(const struct metrics *m, const struct devices *devices,
					uint32_t process, uint32_t device)
{
	const struct device *found = NULL;

	for (uint32_t i = 0; i < m->id_count && !found; i++)
		if (m->ids[i].at == process)
			found = devices_find(devices, m->ids[i].id, device);
	return found;
}

/* Labels of a sample. Members that are NULL are left out. */
struct labels {
	const struct metrics_process *process;
	uint32_t device;
	bool has_device;
	const struct device *found; /* NULL: unknown */
	const char *limit;          /* upper bound of a bucket */
	const char *name, *value;   /* one more label */
};

/* Returns the labels of work on a device of process number `process`. */
static struct labels labels_of(const struct metrics *m, const struct devices *devices,
			       uint32_t process, uint32_t device, const char *name,
			       const char *value)
{
	return (struct labels){.process = &m->processes[process],
			       .device = device,
			       .has_device = true,
			       .found = find_device(m, devices, process, device),
			       .name = name,
			       .value = value};
}

static void put_labels(FILE *out, struct labels l)
{
	char uuid[DEVICE_UUID_BYTES];

	fprintf(out, "pid=\"%d\",process=\"", (int)l.process->pid);
	put_value(out, l.process->name);
	fputc('"', out);
	if (l.has_device && l.device == METRICS_NO_DEVICE)
		fprintf(out, ",device=\"other\"");
	else if (l.has_device)
		fprintf(out, ",device=\"%" PRIu32 "\"", l.device);
	if (l.found && device_has_uuid(l.found))
		fprintf(out, ",uuid=\"%s\"", device_uuid(l.found, uuid));
	if (l.name) {
		fprintf(out, ",%s=\"", l.name);
		put_value(out, l.value);
		fputc('"', out);
	}
	if (l.limit)
		fprintf(out, ",le=\"%s\"", l.limit);
}

/* Writes a sample. `part` is the suffix of a sample of a histogram: "_sum"; else "". */
static void put_series(FILE *out, const char *name, const char *part, struct labels l,
		       uint64_t value, bool in_seconds)
{
	fprintf(out, "profile_%s%s{", name, part);
	put_labels(out, l);
	if (in_seconds)
		fprintf(out, "} %" PRIu64 ".%09" PRIu64 "\n", value / 1000000000,
			value % 1000000000);
	else
		fprintf(out, "} %" PRIu64 "\n", value);
}

static void put_histogram(FILE *out, const char *name, struct labels l,
			  const struct metrics_histogram *h, const struct metrics_bounds *bounds,
			  bool in_seconds)
{
	char limit[32];
	uint64_t count = 0;

	l.limit = limit;
	for (uint32_t i = 0; i < bounds->count; i++) {
		count += h->in[i];
		if (in_seconds)
			snprintf(limit, sizeof(limit), "%.9g", (double)bounds->at[i] / 1e9);
		else
			snprintf(limit, sizeof(limit), "%" PRIu64, bounds->at[i]);
		put_series(out, name, "_bucket", l, count, false);
	}
	l.limit = "+Inf";
	put_series(out, name, "_bucket", l, h->count, false);
	l.limit = NULL;
	put_series(out, name, "_sum", l, h->sum, in_seconds);
	put_series(out, name, "_count", l, h->count, false);
}

/* ---- kernels ---- */

static struct labels labels_of_kernel(const struct metrics *m, const struct devices *devices,
				      uint32_t kernel)
{
	const struct metrics_kernel *k = &m->kernels[kernel];

	return labels_of(m, devices, k->process, k->device, "kernel", k->name);
}

static void put_kernels(FILE *out, const struct metrics *m, const struct devices *devices)
{
	describe(out, "kernel_duration_seconds", "histogram",
		 "How long kernels ran on the GPU, by kernel.");
	for (uint32_t i = 0; i < m->kernel_count; i++)
		put_histogram(out, "kernel_duration_seconds", labels_of_kernel(m, devices, i),
			      &m->kernels[i].durations, &metrics_durations, true);
	describe(out, "kernel_grid_blocks", "histogram", "Blocks of the grids of kernels.");
	for (uint32_t i = 0; i < m->kernel_count; i++)
		put_histogram(out, "kernel_grid_blocks", labels_of_kernel(m, devices, i),
			      &m->kernels[i].blocks, &metrics_blocks, false);
	describe(out, "kernel_block_threads", "histogram", "Threads of the blocks of kernels.");
	for (uint32_t i = 0; i < m->kernel_count; i++)
		put_histogram(out, "kernel_block_threads", labels_of_kernel(m, devices, i),
			      &m->kernels[i].threads, &metrics_threads, false);
	describe(out, "kernels_untimed_total", "counter",
		 "Kernels of which CUPTI gave no usable times: not in their durations.");
	for (uint32_t i = 0; i < m->kernel_count; i++)
		if (m->kernels[i].untimed)
			put_series(out, "kernels_untimed_total", "",
				   labels_of_kernel(m, devices, i), m->kernels[i].untimed, false);
}

/* ---- other work ---- */

/* Returns whether the work has bytes. The member `bytes` of other work counts faults, or nothing.
 */
static bool has_bytes(const struct metrics_work *w)
{
	return gpu_work_is_copy(w->work) || w->work == GPU_WORK_MEMSET ||
	       w->work == GPU_WORK_DECOMPRESS ||
	       (w->work >= GPU_WORK_UVM_HTOD && w->work <= GPU_WORK_UVM_DTOD) ||
	       gpu_work_is_memory_call(w->work);
}

static struct labels labels_of_work(const struct metrics *m, const struct devices *devices,
				    uint32_t work)
{
	const struct metrics_work *w = &m->works[work];

	return labels_of(m, devices, w->process, w->device, "operation", work_word(w->work));
}

static void put_works(FILE *out, const struct metrics *m, const struct devices *devices)
{
	describe(out, "operations_total", "counter",
		 "Work of the GPU other than kernels, and memory calls.");
	for (uint32_t i = 0; i < m->work_count; i++)
		put_series(out, "operations_total", "", labels_of_work(m, devices, i),
			   m->works[i].sizes.count, false);
	describe(out, "operation_seconds_total", "counter",
		 "Time of the GPU in that work; page faults hold up kernels, in whose time it is.");
	for (uint32_t i = 0; i < m->work_count; i++)
		if (!gpu_work_is_instant(m->works[i].work))
			put_series(out, "operation_seconds_total", "",
				   labels_of_work(m, devices, i), m->works[i].ns, true);
	describe(out, "operation_bytes_total", "counter",
		 "Bytes copied, set, migrated, allocated, released.");
	for (uint32_t i = 0; i < m->work_count; i++)
		if (has_bytes(&m->works[i]))
			put_series(out, "operation_bytes_total", "", labels_of_work(m, devices, i),
				   m->works[i].sizes.sum, false);
	describe(out, "copy_bytes", "histogram", "Sizes of copies.");
	for (uint32_t i = 0; i < m->work_count; i++)
		if (gpu_work_is_copy(m->works[i].work))
			put_histogram(out, "copy_bytes", labels_of_work(m, devices, i),
				      &m->works[i].sizes, &metrics_sizes, false);
}

/* ---- calls ---- */

static void put_launches(FILE *out, const struct metrics *m)
{
	describe(out, "launches_total", "counter",
		 "Calls that launch kernels, graphs, copies and the like.");
	for (uint32_t i = 0; i < m->process_count; i++) {
		struct labels l = {.process = &m->processes[i]};

		if (i > 0 || m->processes[i].launches)
			put_series(out, "launches_total", "", l, m->processes[i].launches, false);
	}
}

static void put_errors(FILE *out, const struct metrics *m)
{
	describe(out, "cuda_errors_total", "counter",
		 "Launches, copies, memory calls and waits that returned an error.");
	for (uint32_t i = 0; i < m->error_count; i++) {
		const struct metrics_error *e = &m->errors[i];
		struct labels l = {.process = &m->processes[e->process],
				   .name = "function",
				   .value = e->function};

		fputs("profile_cuda_errors_total{", out);
		put_labels(out, l);
		fprintf(out, ",code=\"%" PRIu32 "\"} %" PRIu64 "\n", e->code, e->count);
	}
}

/* ---- the run ---- */

struct losses {
	FILE *out;
	uint64_t sums, equal_sums; /* CUPTI's own sums, and how many the profile agrees with */
};

static void put_loss(void *context, const char *name, const char *text, uint64_t number)
{
	struct losses *losses = context;

	if (text)
		return;
	if (strcmp(name, "gpu_sums") == 0)
		losses->sums = number;
	else if (strcmp(name, "gpu_sums_equal") == 0)
		losses->equal_sums = number;
	else
		fprintf(losses->out, "profile_losses{what=\"%s\"} %" PRIu64 "\n", name, number);
}

static void put_run(FILE *out, const struct metrics *m, const struct ledger *ledger)
{
	struct losses losses = {.out = out};

	describe(out, "info", "gauge", "The version of profile.");
	fprintf(out, "profile_info{version=\"" PROFILE_VERSION "\"} 1\n");
	describe(out, "losses", "gauge",
		 "What the run has lost so far, as its summary counts it: 0 where all is exact.");
	losses_visit_keys(ledger, 0, put_loss, &losses);
	fprintf(out, "profile_losses{what=\"gpu_sums_differing\"} %" PRIu64 "\n",
		losses.sums - losses.equal_sums);
	describe(
		out, "kernel_series", "gauge",
		"Kernels with labels of their own, by process and device; the others are [other].");
	fprintf(out, "profile_kernel_series %" PRIu32 "\n", m->known_count);
	describe(out, "kernel_series_limit", "gauge", "The most there may be.");
	fprintf(out, "profile_kernel_series_limit %u\n", METRICS_KERNELS);
	describe(out, "kernels_other_total", "counter", "Kernels that ran and are [other].");
	fprintf(out, "profile_kernels_other_total %" PRIu64 "\n", m->other_kernels);
}

/* ---- the state of GPUs ---- */

/* A number of a GPU, in parts of the unit. */
struct state_series {
	const char *name, *type, *help;
	const char *label, *value; /* one more label; NULL: there is none */
	size_t offset;             /* in struct gpu_now */
	size_t size;
	double unit; /* the number is multiplied by it */
};

#define SERIES(name, type, help, label, value, member, unit)                                \
	{                                                                                   \
		(name), (type), (help), (label), (value), offsetof(struct gpu_now, member), \
			sizeof(((struct gpu_now *)0)->member), (unit),                      \
	}

static const struct state_series state_series[] = {
	SERIES("gpu_sm_clock_hertz", "gauge", "Clock of the GPU's multiprocessors.", NULL, NULL,
	       last.sm_mhz, 1e6),
	SERIES("gpu_memory_clock_hertz", "gauge", "Clock of the GPU's memory.", NULL, NULL,
	       last.memory_mhz, 1e6),
	SERIES("gpu_power_watts", "gauge", "Power that the GPU draws.", NULL, NULL, last.power_mw,
	       1e-3),
	SERIES("gpu_temperature_celsius", "gauge", "Temperature of the GPU.", NULL, NULL,
	       last.celsius, 1),
	SERIES("gpu_memory_used_bytes", "gauge", "Memory of the GPU in use by all programs.", NULL,
	       NULL, last.memory_bytes, 1),
	SERIES("gpu_energy_joules_total", "counter", "Energy that the GPU has taken.", NULL, NULL,
	       energy_mj, 1e-3),
	SERIES("gpu_clocks_limited_seconds_total", "counter",
	       "Time in which the GPU had work and its clocks were low, by the reason.", "reason",
	       "power", power_capped_ns, 1e-9),
	SERIES(NULL, NULL, NULL, "reason", "heat", hot_ns, 1e-9),
	SERIES(NULL, NULL, NULL, "reason", "slowdown", slowed_ns, 1e-9),
	SERIES("gpu_pcie_bytes_total", "counter", "Bytes over PCIe.", "direction", "sent",
	       pcie_sent, 1),
	SERIES(NULL, NULL, NULL, "direction", "received", pcie_received, 1),
	SERIES("gpu_nvlink_bytes_total", "counter", "Bytes over NVLink.", "direction", "sent",
	       nvlink_sent, 1),
	SERIES(NULL, NULL, NULL, "direction", "received", nvlink_received, 1),
};

/* Writes the state of GPUs, by UUID: they belong to no process. */
static void put_state(FILE *out, const struct gpus_now *gpus)
{
	const char *name = "";

	for (size_t i = 0; i < sizeof(state_series) / sizeof(state_series[0]); i++) {
		const struct state_series *s = &state_series[i];

		if (s->name) {
			name = s->name;
			describe(out, name, s->type, s->help);
		}
		for (uint32_t gpu = 0; gpu < gpus->count; gpu++) {
			uint64_t number = number_load(&gpus->list[gpu], s->offset, s->size);

			fprintf(out, "profile_%s{uuid=\"%s\"", name, gpus->list[gpu].gpu);
			if (s->label)
				fprintf(out, ",%s=\"%s\"", s->label, s->value);
			fprintf(out, "} %.16g\n", (double)number * s->unit);
		}
	}
}

void prometheus_write(FILE *out, const struct metrics *metrics, const struct ledger *ledger,
		      const struct devices *devices, const struct gpus_now *gpus)
{
	put_run(out, metrics, ledger);
	put_launches(out, metrics);
	put_errors(out, metrics);
	put_kernels(out, metrics, devices);
	put_works(out, metrics, devices);
	if (gpus && gpus->count)
		put_state(out, gpus);
}
