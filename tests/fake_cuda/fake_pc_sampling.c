/* SPDX-License-Identifier: MIT */
/*
 * PC sampling of the fake libcupti. Each kernel that is launched gives the same samples, for it or
 * as FAKE_CUDA_PC_SAMPLES says. As strict as NVIDIA's library: sizes of structures, the order of
 * calls, one thread at a time; correlation ids only in serialized mode, in which a context's
 * kernels run one after the other.
 */
#define _GNU_SOURCE
#include "cupti.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As NVIDIA's GPUs have them: each reason, and of each the samples in which no warp issued. */
static const char *const reason_names[] = {
	"smsp__pcsamp_warps_issue_stalled_long_scoreboard",
	"smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued",
	"smsp__pcsamp_warps_issue_stalled_math_pipe_throttle",
	"smsp__pcsamp_warps_issue_stalled_math_pipe_throttle_not_issued",
	"smsp__pcsamp_warps_issue_stalled_selected",
	"smsp__pcsamp_warps_issue_stalled_selected_not_issued",
	"smsp__pcsamp_warps_issue_stalled_wait",
	"smsp__pcsamp_warps_issue_stalled_wait_not_issued",
};
enum { REASONS = sizeof(reason_names) / sizeof(reason_names[0]), FIRST_INDEX = 100 };

/* Samples at one place of a function; in serialized mode, of one launch. */
struct place {
	char *function; /* for the life of the process */
	uint64_t pc;
	uint32_t correlation_id;
	uint64_t samples[REASONS];
};

struct context {
	void *handle;
	uint32_t id;
	bool enabled, configured, serialized;
	uint32_t wanted[REASONS], wanted_count; /* positions of reasons */
	struct cupti_abi_pc_data *buffer;
	struct place *places;
	size_t count;
	uint64_t total, dropped, other;
	unsigned long kernels; /* kernels sampled */
	struct context *next;
};

static struct {
	pthread_mutex_t lock;
	struct context *contexts;
	uint64_t samples; /* ever, for FAKE_CUDA_PC_DROP_EVERY */
	uint32_t inside;  /* threads in these functions */
} sampling = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- what kernels give ---- */

static struct place *place_at(struct context *c, const char *function, uint64_t pc,
			      uint32_t correlation_id)
{
	struct place *grown;

	for (size_t i = c->count; i-- > 0;)
		if (c->places[i].pc == pc && c->places[i].correlation_id == correlation_id &&
		    strcmp(c->places[i].function, function) == 0)
			return &c->places[i];
	grown = realloc(c->places, (c->count + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	c->places = grown;
	grown[c->count] = (struct place){
		.function = strdup(function), .pc = pc, .correlation_id = correlation_id};
	return &grown[c->count++];
}

static void add(struct context *c, const struct fake_cuda_activity *kernel, uint64_t pc,
		const char *reason, uint64_t count)
{
	unsigned long drop_every = cupti_env("FAKE_CUDA_PC_DROP_EVERY");
	uint32_t correlation_id = c->serialized ? kernel->correlation_id : 0;
	struct place *place = place_at(c, kernel->name, pc, correlation_id);

	for (uint32_t i = 0; place && i < REASONS; i++) {
		if (!strstr(reason_names[i], reason) || strstr(reason_names[i], "_not_issued"))
			continue;
		for (uint64_t n = 0; n < count; n++) {
			c->total++;
			if (drop_every && ++sampling.samples % drop_every == 0) {
				c->dropped++;
				continue;
			}
			place->samples[i]++;
			place->samples[i + 1]++; /* these are not issued, either */
		}
		return;
	}
}

/* Returns whether "FUNCTION", or "FUNCTION@N/M", is this kernel; of which it is the `number`th. */
static bool is_of(char *function, const char *kernel, unsigned long number)
{
	char *turn = strrchr(function, '@');
	unsigned long n, of;

	if (turn && sscanf(turn, "@%lu/%lu", &n, &of) == 2 && of) {
		*turn = '\0';
		if (number % of != n)
			return false;
	}
	return strcmp(function, kernel) == 0;
}

/*
 * Lines "FUNCTION PC REASON COUNT"; those of other functions are of other kernels. FUNCTION@N/M:
 * only the context's Nth kernel (from 0 on) of each M.
 */
static void add_from_file(struct context *c, FILE *file, const struct fake_cuda_activity *kernel)
{
	unsigned long long pc, count;
	char function[512], reason[64];

	while (fscanf(file, "%511s %llx %63s %llu", function, &pc, reason, &count) == 4)
		if (is_of(function, kernel->name, c->kernels))
			add(c, kernel, pc, reason, count);
}

void cupti_pc_sample(const struct fake_cuda_activity *kernel)
{
	const char *path;
	struct context *c;
	FILE *file;

	/* as fast as without: the GPU would wait between kernels of a microsecond */
	if (!__atomic_load_n(&sampling.contexts, __ATOMIC_RELAXED))
		return;
	path = getenv("FAKE_CUDA_PC_SAMPLES");
	pthread_mutex_lock(&sampling.lock);
	for (c = sampling.contexts; c; c = c->next)
		if (c->id == kernel->context_id && c->configured)
			break;
	file = c && path ? fopen(path, "re") : NULL;
	if (file) {
		add_from_file(c, file, kernel);
		fclose(file);
	} else if (c && !path) {
		add(c, kernel, 0x10, "long_scoreboard", 3);
		add(c, kernel, 0x20, "selected", 1);
	}
	if (c)
		c->kernels++;
	pthread_mutex_unlock(&sampling.lock);
}

/* ---- the functions ---- */

/* "NAME=RESULT": what FAKE_CUDA_PC_ERROR says of a function. */
static int forced_error(const char *name)
{
	const char *text = getenv("FAKE_CUDA_PC_ERROR");
	size_t length = strlen(name);

	return text && strncmp(text, name, length) == 0 && text[length] == '='
		       ? atoi(text + length + 1)
		       : CUPTI_ABI_SUCCESS;
}

/* Enters one of the functions, with the lock. Not CUPTI_ABI_SUCCESS: it has left it again. */
static int enter(const char *name, bool is_valid)
{
	int err = cupti_attach();

	if (!err && !is_valid)
		err = CUPTI_ABI_ERROR_INVALID_PARAMETER;
	if (!err)
		err = forced_error(name);
	if (err)
		return err;
	if (__atomic_fetch_add(&sampling.inside, 1, __ATOMIC_ACQ_REL) > 0)
		cupti_misuse("two threads use PC sampling at once");
	pthread_mutex_lock(&sampling.lock);
	return CUPTI_ABI_SUCCESS;
}

static int leave(int result)
{
	pthread_mutex_unlock(&sampling.lock);
	__atomic_fetch_sub(&sampling.inside, 1, __ATOMIC_ACQ_REL);
	return result;
}

static struct context *find(void *handle)
{
	for (struct context *c = sampling.contexts; c; c = c->next)
		if (c->handle == handle && c->enabled)
			return c;
	return NULL;
}

FAKE_CUDA_EXPORT int cuptiPCSamplingEnable(struct cupti_abi_pc_context *params)
{
	struct context *c;
	int err =
		enter("Enable",
		      params && params->size == CUPTI_ABI_SIZE_TO(cupti_abi_pc_context, context) &&
			      !params->reserved && params->context);

	if (err)
		return err;
	if (find(params->context))
		return leave(FAKE_CUPTI_ERROR_INVALID_OPERATION);
	c = calloc(1, sizeof(*c));
	if (!c)
		return leave(CUPTI_ABI_ERROR_OUT_OF_MEMORY);
	c->handle = params->context;
	c->id = cupti_driver()->context_id(params->context);
	c->enabled = true;
	c->next = sampling.contexts;
	sampling.contexts = c;
	return leave(CUPTI_ABI_SUCCESS);
}

FAKE_CUDA_EXPORT int cuptiPCSamplingGetNumStallReasons(struct cupti_abi_pc_reason_count *params)
{
	int err = enter(
		"GetNumStallReasons",
		params && params->size == CUPTI_ABI_SIZE_TO(cupti_abi_pc_reason_count, count) &&
			!params->reserved && params->count);

	if (err)
		return err;
	if (!find(params->context))
		return leave(FAKE_CUPTI_ERROR_INVALID_OPERATION);
	*params->count = REASONS;
	return leave(CUPTI_ABI_SUCCESS);
}

FAKE_CUDA_EXPORT int cuptiPCSamplingGetStallReasons(struct cupti_abi_pc_reasons *params)
{
	int err = enter("GetStallReasons",
			params && params->size == CUPTI_ABI_SIZE_TO(cupti_abi_pc_reasons, names) &&
				!params->reserved && params->indexes && params->names &&
				params->count == REASONS);

	if (err)
		return err;
	if (!find(params->context))
		return leave(FAKE_CUPTI_ERROR_INVALID_OPERATION);
	for (uint32_t i = 0; i < REASONS; i++) {
		params->indexes[i] = FIRST_INDEX + i;
		/* all of the room may be written */
		memset(params->names[i], 0, CUPTI_ABI_PC_REASON_BYTES);
		strncpy(params->names[i], reason_names[i], CUPTI_ABI_PC_REASON_BYTES - 1);
	}
	return leave(CUPTI_ABI_SUCCESS);
}

/* The layout of a buffer that CUPTI is to fill. */
static bool is_usable(const struct cupti_abi_pc_data *data, uint32_t reasons)
{
	if (!data || data->size != sizeof(*data) || !data->capacity || !data->records)
		return false;
	for (size_t i = 0; i < data->capacity; i++) {
		if (data->records[i].size != sizeof(data->records[i]) || !data->records[i].stalls)
			return false;
		/* there is room for all of them */
		memset(data->records[i].stalls, 0xa5, reasons * sizeof(*data->records[i].stalls));
	}
	return true;
}

static int set_reasons(struct context *c, const struct cupti_abi_pc_attribute *a)
{
	if (!a->reasons.count || a->reasons.count > REASONS)
		return FAKE_CUPTI_ERROR_INVALID_OPERATION;
	for (size_t i = 0; i < a->reasons.count; i++) {
		if (a->reasons.indexes[i] < FIRST_INDEX ||
		    a->reasons.indexes[i] >= FIRST_INDEX + REASONS)
			return FAKE_CUPTI_ERROR_INVALID_OPERATION;
		c->wanted[i] = a->reasons.indexes[i] - FIRST_INDEX;
	}
	c->wanted_count = (uint32_t)a->reasons.count;
	return CUPTI_ABI_SUCCESS;
}

static int set_attribute(struct context *c, const struct cupti_abi_pc_attribute *a)
{
	switch (a->type) {
	case CUPTI_ABI_PC_ATTR_COLLECTION_MODE:
		c->serialized = a->number == CUPTI_ABI_PC_KERNEL_SERIALIZED;
		return c->serialized || a->number == CUPTI_ABI_PC_CONTINUOUS
			       ? CUPTI_ABI_SUCCESS
			       : FAKE_CUPTI_ERROR_INVALID_OPERATION;
	case CUPTI_ABI_PC_ATTR_PERIOD:
		return a->number >= 5 && a->number <= 31 ? CUPTI_ABI_SUCCESS
							 : FAKE_CUPTI_ERROR_INVALID_OPERATION;
	case CUPTI_ABI_PC_ATTR_STALL_REASONS:
		return set_reasons(c, a);
	case CUPTI_ABI_PC_ATTR_SCRATCH_BYTES:
	case CUPTI_ABI_PC_ATTR_HARDWARE_BYTES:
		return a->bytes ? CUPTI_ABI_SUCCESS : FAKE_CUPTI_ERROR_INVALID_OPERATION;
	case CUPTI_ABI_PC_ATTR_OUTPUT_FORMAT:
		return a->number == CUPTI_ABI_PC_PARSED ? CUPTI_ABI_SUCCESS
							: FAKE_CUPTI_ERROR_INVALID_OPERATION;
	case CUPTI_ABI_PC_ATTR_SAMPLING_BUFFER:
		c->buffer = a->buffer;
		return is_usable(c->buffer, 0) ? CUPTI_ABI_SUCCESS
					       : FAKE_CUPTI_ERROR_INVALID_OPERATION;
	default:
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	}
}

FAKE_CUDA_EXPORT int
cuptiPCSamplingSetConfigurationAttribute(struct cupti_abi_pc_configuration *params)
{
	int result = CUPTI_ABI_SUCCESS,
	    err = enter("SetConfigurationAttribute",
			params &&
				params->size ==
					CUPTI_ABI_SIZE_TO(cupti_abi_pc_configuration, attributes) &&
				!params->reserved && params->count && params->attributes);
	struct context *c;

	if (err)
		return err;
	c = find(params->context);
	if (!c || c->configured)
		return leave(FAKE_CUPTI_ERROR_INVALID_OPERATION);
	for (uint32_t i = 0; i < REASONS; i++)
		c->wanted[i] = i;
	c->wanted_count = REASONS;
	for (size_t i = 0; i < params->count; i++) {
		int status = set_attribute(c, &params->attributes[i]);

		params->attributes[i].status = (uint32_t)status;
		if (status)
			result = status;
	}
	if (!result && (!c->buffer || !is_usable(c->buffer, c->wanted_count)))
		result = FAKE_CUPTI_ERROR_INVALID_OPERATION;
	c->configured = !result;
	if (c->configured && c->serialized)
		cupti_driver()->serialize(c->handle, true);
	return leave(result);
}

/* Moves as many places as there is room for; the caller has the rest of the numbers. */
static void hand_over(struct context *c, struct cupti_abi_pc_data *data)
{
	const char *path = getenv("FAKE_CUDA_CUBIN");
	size_t n = c->count < data->capacity ? c->count : data->capacity;

	for (size_t i = 0; i < n; i++) {
		struct cupti_abi_pc_record *r = &data->records[i];

		r->cubin_crc = path ? cupti_crc_of_file(path) : 0;
		r->pc_offset = c->places[i].pc;
		r->function_index = 1;
		r->function_name = c->places[i].function;
		r->stall_count = 0;
		r->correlation_id = c->places[i].correlation_id;
		for (uint32_t j = 0; j < c->wanted_count; j++)
			if (c->places[i].samples[c->wanted[j]])
				r->stalls[r->stall_count++] = (struct cupti_abi_pc_stall){
					FIRST_INDEX + c->wanted[j],
					(uint32_t)c->places[i].samples[c->wanted[j]]};
	}
	c->count -= n;
	memmove(c->places, c->places + n, c->count * sizeof(*c->places));
	data->count = n;
	data->remaining = c->count;
	data->total_samples = c->total;
	data->dropped_samples = c->dropped;
	data->other_samples = 0;
	data->range_id = 0;
	data->hardware_buffer_full = 0;
	c->total = c->dropped = 0;
}

FAKE_CUDA_EXPORT int cuptiPCSamplingGetData(struct cupti_abi_pc_fetch *params)
{
	struct cupti_abi_pc_data *data;
	struct context *c;
	int err = enter("GetData",
			params && params->size == CUPTI_ABI_SIZE_TO(cupti_abi_pc_fetch, data) &&
				!params->reserved && params->data);

	if (err)
		return err;
	c = find(params->context);
	data = params->data;
	if (!c || !c->configured)
		return leave(FAKE_CUPTI_ERROR_INVALID_OPERATION);
	if (!is_usable(data, c->wanted_count))
		return leave(CUPTI_ABI_ERROR_INVALID_PARAMETER);
	if (cupti_env("FAKE_CUDA_PC_LATE")) { /* not decoded yet */
		data->count = data->remaining = 0;
		data->total_samples = data->dropped_samples = data->other_samples = 0;
		data->hardware_buffer_full = 0;
		return leave(CUPTI_ABI_SUCCESS);
	}
	hand_over(c, data);
	return leave(CUPTI_ABI_SUCCESS);
}

/* Copies the rest into the configured buffer; samples that do not fit are lost. */
FAKE_CUDA_EXPORT int cuptiPCSamplingDisable(struct cupti_abi_pc_context *params)
{
	struct context *c;
	int err =
		enter("Disable",
		      params && params->size == CUPTI_ABI_SIZE_TO(cupti_abi_pc_context, context) &&
			      !params->reserved);

	if (err)
		return err;
	c = find(params->context);
	if (!c)
		return leave(FAKE_CUPTI_ERROR_INVALID_OPERATION);
	if (c->configured)
		hand_over(c, c->buffer);
	if (c->configured && c->serialized)
		cupti_driver()->serialize(c->handle, false);
	c->enabled = c->configured = false;
	return leave(CUPTI_ABI_SUCCESS);
}

/* ---- cubins ---- */

static uint64_t crc_of(const unsigned char *bytes, size_t size)
{
	uint64_t crc = 0xcbf29ce484222325;

	for (size_t i = 0; i < size; i++)
		crc = (crc ^ bytes[i]) * 0x100000001b3;
	return crc;
}

uint64_t cupti_crc_of_file(const char *path)
{
	FILE *file = fopen(path, "re");
	static unsigned char bytes[1 << 22];
	size_t size = file ? fread(bytes, 1, sizeof(bytes), file) : 0;

	if (file)
		fclose(file);
	return crc_of(bytes, size);
}

FAKE_CUDA_EXPORT int cuptiGetCubinCrc(struct cupti_abi_cubin_crc *params)
{
	if (!params || params->size != CUPTI_ABI_SIZE_TO(cupti_abi_cubin_crc, crc) ||
	    !params->cubin || !params->cubin_size)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	params->crc = crc_of(params->cubin, params->cubin_size);
	return CUPTI_ABI_SUCCESS;
}
