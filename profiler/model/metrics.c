// SPDX-License-Identifier: MIT
#include "profiler/model/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/saturate.h"
#include "symbolize/util/stable_hash.h"
#include "symbolize/util/text.h"

#define LABELS_BYTES (1u << 20)

const struct metrics_bounds metrics_durations = {13,
						 {1000, 5000, 10000, 50000, 100000, 500000, 1000000,
						  5000000, 10000000, 50000000, 100000000,
						  1000000000, 10000000000}};
const struct metrics_bounds metrics_blocks = {7, {1, 8, 64, 512, 4096, 32768, 262144}};
const struct metrics_bounds metrics_threads = {6, {32, 64, 128, 256, 512, 1024}};
const struct metrics_bounds metrics_sizes = {
	7, {256, 4096, 65536, 1048576, 16777216, 268435456, 4294967296}};

struct metrics *metrics_new(void)
{
	struct metrics *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->labels.max_bytes = LABELS_BYTES;
	m->demangler = demangler_new();
	m->processes[0].name = METRICS_OTHER;
	m->process_count = 1;
	if (m->demangler)
		return m;
	metrics_free(m);
	return NULL;
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	intern_release(&m->labels);
	demangler_free(m->demangler);
	hash_index_release(&m->index);
	free(m);
}

static void note(struct metrics_histogram *h, const struct metrics_bounds *bounds, uint64_t value)
{
	uint32_t i = 0;

	while (i < bounds->count && value > bounds->at[i])
		i++;
	if (i < bounds->count)
		h->in[i]++;
	h->count++;
	saturated_add(&h->sum, value);
}

/* ---- labels ---- */

/* Returns the label; never NULL. */
static const char *label_of(struct metrics *m, const char *text)
{
	char cut[METRICS_LABEL_BYTES + 1];
	const char *label;

	if (strlen(text) > METRICS_LABEL_BYTES) {
		snprintf(cut, sizeof(cut), "%.*s...#%016" PRIx64,
			 (int)cut_text(text, METRICS_LABEL_BYTES - 20), text,
			 stable_hash(text, strlen(text)));
		text = cut;
	}
	label = intern_string(&m->labels, text);
	return label ? label : METRICS_OTHER;
}

static const char *kernel_label(struct metrics *m, const char *mangled)
{
	char *name = mangled ? demangle(m->demangler, mangled, DEMANGLE_SIGNATURE) : NULL;
	const char *label = label_of(m, name ? name : mangled ? mangled : "[unknown]");

	free(name);
	return label;
}

/* ---- places ---- */

static uint32_t find_process(struct metrics *m, uint32_t id)
{
	if (m->id_count > 0 && m->ids[m->last_id].id == id)
		return m->ids[m->last_id].at;
	for (uint32_t i = 0; i < m->id_count; i++) {
		if (m->ids[i].id == id) {
			m->last_id = i;
			return m->ids[i].at;
		}
	}
	return 0;
}

void metrics_process(struct metrics *m, uint32_t id, pid_t pid, const char *path)
{
	const char *name = label_of(m, base_name(path));
	uint32_t at = 1;

	if (m->id_count == METRICS_IDS)
		return;
	while (at < m->process_count &&
	       (m->processes[at].pid != pid || m->processes[at].name != name))
		at++;
	if (at > METRICS_PROCESSES)
		return;
	if (at == m->process_count)
		m->processes[m->process_count++] =
			(struct metrics_process){.pid = pid, .name = name};
	m->ids[m->id_count].id = id;
	m->ids[m->id_count++].at = at;
}

static bool is_known(const void *records, uint32_t position, const void *key)
{
	const struct metrics_known *a = (const struct metrics_known *)records + position, *b = key;

	return a->kernel == b->kernel && a->process == b->process && a->device == b->device;
}

/* Finds or adds the entry with this label. Returns UINT32_MAX if there are `most`. */
static uint32_t place_of(struct metrics *m, uint32_t process, uint32_t device, const char *label,
			 uint32_t most)
{
	for (uint32_t i = 0; i < m->kernel_count; i++)
		if (m->kernels[i].name == label && m->kernels[i].process == process &&
		    m->kernels[i].device == device)
			return i;
	if (m->kernel_count >= most)
		return UINT32_MAX;
	m->kernels[m->kernel_count] =
		(struct metrics_kernel){.process = process, .device = device, .name = label};
	return m->kernel_count++;
}

static struct metrics_kernel *find_kernel(struct metrics *m, uint32_t process, uint32_t device,
					  const char *kernel)
{
	struct metrics_known key = {process, device, kernel, 0};
	uint32_t hash = hash_number((uint64_t)(uintptr_t)kernel ^ (uint64_t)process << 48 ^
				    (uint64_t)device << 56);
	uint32_t at = hash_index_find(&m->index, hash, is_known, m->known, &key);
	const char *other;

	if (at != HASH_INDEX_NONE)
		return &m->kernels[m->known[at].at];
	/* processes in METRICS_OTHER have no kernel entries of their own */
	if (process > 0 && m->known_count < METRICS_KERNELS) {
		key.at = place_of(m, process, device, kernel_label(m, kernel), METRICS_KERNELS);
		if (key.at != UINT32_MAX && hash_index_add(&m->index, hash, m->known_count) == 0) {
			m->known[m->known_count++] = key;
			return &m->kernels[key.at];
		}
	}
	m->other_kernels++;
	other = label_of(m, METRICS_OTHER);
	at = place_of(m, process, device, other, METRICS_KERNELS + METRICS_PROCESSES + 1);
	if (at == UINT32_MAX)
		at = place_of(m, 0, METRICS_NO_DEVICE, other,
			      METRICS_KERNELS + METRICS_PROCESSES + 2);
	return &m->kernels[at];
}

static struct metrics_work *find_work(struct metrics *m, uint32_t process, uint32_t device,
				      uint32_t work)
{
	for (uint32_t i = 0; i < m->work_count; i++)
		if (m->works[i].work == work && m->works[i].process == process &&
		    m->works[i].device == device)
			return &m->works[i];
	/* one further entry per kind counts the rest */
	if (m->work_count >= METRICS_WORKS && (process != 0 || device != METRICS_NO_DEVICE))
		return find_work(m, 0, METRICS_NO_DEVICE, work);
	m->works[m->work_count] =
		(struct metrics_work){.process = process, .device = device, .work = work};
	return &m->works[m->work_count++];
}

/* ---- counting ---- */

void metrics_launch(struct metrics *m, uint32_t process)
{
	m->processes[find_process(m, process)].launches++;
}

void metrics_kernel(struct metrics *m, uint32_t process, const struct gpu_event_kernel *kernel,
		    const char *name)
{
	struct metrics_kernel *k =
		find_kernel(m, find_process(m, process), kernel->device_id, name);

	note(&k->blocks, &metrics_blocks, saturated_volume(kernel->grid));
	note(&k->threads, &metrics_threads, saturated_volume(kernel->block));
	if (kernel->bad_time)
		k->untimed++;
	else
		note(&k->durations, &metrics_durations, kernel->duration_ns);
}

void metrics_work(struct metrics *m, uint32_t process, const struct gpu_event_work *work)
{
	struct metrics_work *w =
		find_work(m, find_process(m, process), work->device_id, work->work);

	note(&w->sizes, &metrics_sizes, work->bytes);
	if (!work->bad_time)
		saturated_add(&w->ns, work->duration_ns);
}

void metrics_error(struct metrics *m, uint32_t process, const struct gpu_event_error *error)
{
	uint32_t at = find_process(m, process);
	const char *function = label_of(m, error->function);
	struct metrics_error *e = m->errors;

	while (e < m->errors + m->error_count &&
	       (e->process != at || e->code != error->code || e->function != function))
		e++;
	if (e == m->errors + METRICS_ERRORS + 1) {
		e--; /* counts the rest */
	} else if (e == m->errors + m->error_count) {
		*e = (struct metrics_error){at, error->code, function, 0};
		if (m->error_count == METRICS_ERRORS)
			*e = (struct metrics_error){0, 0, METRICS_OTHER, 0};
		m->error_count++;
	}
	e->count++;
}
