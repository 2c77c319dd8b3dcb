// SPDX-License-Identifier: MIT
#include "cupti_trace/hw/pc_sampling.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "cupti_trace/core/timeout.h"
#include "cupti_trace/hw/cubin_lines.h"
#include "cupti_trace/hw/pc_sums.h"
#include "symbolize/util/array.h"

#define RECORDS 16384u              /* records that CUPTI returns at once */
#define HARDWARE_BYTES (128u << 20) /* part of the GPU's memory; CUPTI's default is 512 MiB */
/* Part of our memory; CUPTI's default has room for 5500 places. */
#define SCRATCH_BYTES (16u << 20)
#define FETCHES_MAX 64u               /* in a row */
#define SEND_NS UINT64_C(1000000000)  /* interval of sending sums */
#define UNLOAD_NS UINT64_C(100000000) /* pause of fetching after a module is unloaded */
#define REASONS_MAX 256u
#define KEPT_REASONS 64u /* limit of counted reasons */
#define CONTEXTS_MAX 1024u
#define CUBINS_MAX 65536u
#define CUBINS_MAX_BYTES (64u << 20) /* limit of their line tables together */
#define DESCRIBED_MAX 40u            /* fetches described with -v */

/* Buffer that CUPTI fills, with room for RECORDS. */
struct records {
	struct cupti_abi_pc_data data;
	struct cupti_abi_pc_record *list;
	struct cupti_abi_pc_stall *stalls;
};

struct sampled {
	void *context;
	struct records last; /* buffer for what is left when modules or the context go */
	uint32_t indexes[KEPT_REASONS],
		ids[KEPT_REASONS]; /* CUPTI's numbers and our ids of stall reasons */
	uint32_t reasons;
};

/* Protected by `lock`. */
static struct {
	pthread_mutex_t lock;
	struct sampled **list;
	uint32_t count, capacity;
	struct records fetched;
	struct pc_sums sums;
	struct gpu_event_pc_totals totals; /* not yet sent */
	uint64_t sent_ns, resume_ns;
	char *reasons[GPU_STALL_MAX_ID]; /* names by id */
	uint32_t reason_count;
	RECORD_SET(uint64_t) cubins; /* CRCs of those whose line tables were sent */
	size_t cubin_bytes;
	uint32_t described;
	bool has_failed;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool lock_patiently(void)
{
	return timeout_lock(&all.lock, PC_SAMPLING_TIMEOUT_MS);
}

/* ---- room ---- */

static void release_records(struct records *r)
{
	free(r->list);
	free(r->stalls);
	*r = (struct records){.list = NULL};
}

static bool make_records(struct records *r, uint32_t reasons)
{
	r->list = calloc(RECORDS, sizeof(*r->list));
	r->stalls = calloc((size_t)RECORDS * reasons, sizeof(*r->stalls));
	if (!r->list || !r->stalls) {
		release_records(r);
		return false;
	}
	for (uint32_t i = 0; i < RECORDS; i++) {
		r->list[i].size = sizeof(r->list[i]);
		r->list[i].stalls = r->stalls + (size_t)i * reasons;
	}
	r->data = (struct cupti_abi_pc_data){
		.size = sizeof(r->data), .capacity = RECORDS, .records = r->list};
	return true;
}

/* ---- what was sampled ---- */

static bool has_lines(uint64_t crc)
{
	return record_find(&all.cubins, &crc) != RECORD_NONE;
}

static uint32_t id_of(const struct sampled *s, uint32_t index)
{
	for (uint32_t i = 0; i < s->reasons; i++)
		if (s->indexes[i] == index)
			return s->ids[i];
	return 0;
}

static void add_sum(struct tracer *tracer, const struct pc_place *place, uint64_t samples)
{
	if (pc_sums_add(&all.sums, place, samples))
		return;
	pc_sums_send(&all.sums, &tracer->sink);
	if (!pc_sums_add(&all.sums, place, samples))
		all.totals.lost += samples;
}

static void add_record(struct tracer *tracer, const struct sampled *s,
		       const struct cupti_abi_pc_record *record)
{
	struct pc_place place = {.cubin_crc = record->cubin_crc,
				 .correlation_id =
					 tracer->config.exact_stalls ? record->correlation_id : 0};

	place.name_id = names_send(&tracer->names, &tracer->sink, record->function_name);
	place.pc = (uint32_t)record->pc_offset;
	for (size_t i = 0; i < record->stall_count && i < s->reasons; i++) {
		place.stall = id_of(s, record->stalls[i].reason);
		if (place.stall && record->stalls[i].samples)
			add_sum(tracer, &place, record->stalls[i].samples);
	}
}

static void add_records(struct tracer *tracer, const struct sampled *s, struct records *r)
{
	all.totals.taken += r->data.total_samples;
	all.totals.dropped += r->data.dropped_samples;
	all.totals.other += r->data.other_samples;
	pthread_mutex_lock(&tracer->record_lock);
	for (size_t i = 0; i < r->data.count && i < RECORDS; i++)
		add_record(tracer, s, &r->list[i]);
	pthread_mutex_unlock(&tracer->record_lock);
}

/* Describes the first fetches, for -v. */
static void describe(struct tracer *tracer, const struct records *r, const char *what, int result,
		     uint64_t ns)
{
	const struct cupti_abi_pc_record *first = r->data.count ? &r->list[0] : NULL;
	size_t names = 0;

	if (!tracer->config.verbose || all.described == DESCRIBED_MAX ||
	    (result == CUPTI_ABI_SUCCESS && !r->data.total_samples && all.described > 4))
		return;
	all.described++;
	for (size_t i = 0; i < r->data.count && i < RECORDS; i++)
		names += i == 0 || r->list[i].function_name != r->list[i - 1].function_name;
	tracer_notice(tracer, GPU_NOTICE_VERBOSE,
		      "PC samples: %s: %d (%s), %" PRIu64 " us: %zu places, %zu left, %" PRIu64
		      " samples, %" PRIu64 " dropped, %" PRIu64
		      " of other kernels, buffer full: %u; %zu changes of name; first: %s (%p) + "
		      "%#" PRIx64 ", index %u, cubin %016" PRIx64 ", line table: %d, %zu reasons",
		      what, result, cupti_api_error(&tracer->api, result), ns / 1000, r->data.count,
		      r->data.remaining, r->data.total_samples, r->data.dropped_samples,
		      r->data.other_samples, r->data.hardware_buffer_full, names,
		      first && first->function_name ? first->function_name : "none",
		      first ? (void *)first->function_name : NULL, first ? first->pc_offset : 0,
		      first ? first->function_index : 0, first ? first->cubin_crc : 0,
		      first && has_lines(first->cubin_crc), first ? first->stall_count : 0);
}

/* Takes the records that CUPTI wrote on its own. */
static void take_last(struct tracer *tracer, struct sampled *s, const char *why)
{
	if (!s->last.data.count && !s->last.data.total_samples)
		return;
	describe(tracer, &s->last, why, CUPTI_ABI_SUCCESS, 0);
	add_records(tracer, s, &s->last);
	s->last.data.count = 0;
	s->last.data.total_samples = s->last.data.dropped_samples = 0;
	s->last.data.other_samples = 0;
}

/* Fetches once. Returns true if there is more. */
static bool fetch_once(struct tracer *tracer, struct sampled *s)
{
	struct records *r = &all.fetched;
	struct cupti_abi_pc_fetch params = {.size = CUPTI_ABI_SIZE_TO(cupti_abi_pc_fetch, data),
					    .context = s->context,
					    .data = &r->data};
	uint64_t start = clock_now_ns();
	int result;

	r->data = (struct cupti_abi_pc_data){
		.size = sizeof(r->data), .capacity = RECORDS, .records = r->list};
	result = tracer->api.cuptiPCSamplingGetData(&params);
	describe(tracer, r, "fetched", result, clock_now_ns() - start);
	all.totals.overflows +=
		r->data.hardware_buffer_full || result == CUPTI_ABI_ERROR_OUT_OF_MEMORY;
	if (result != CUPTI_ABI_SUCCESS && result != CUPTI_ABI_ERROR_OUT_OF_MEMORY)
		return false;
	add_records(tracer, s, r);
	return r->data.count > 0 && r->data.remaining > 0;
}

static void fetch(struct tracer *tracer, struct sampled *s)
{
	take_last(tracer, s, "from CUPTI");
	for (uint32_t i = 0; i < FETCHES_MAX && fetch_once(tracer, s); i++)
		;
}

static void send_sums(struct tracer *tracer)
{
	struct gpu_event event = {.type = GPU_EVENT_PC_TOTALS, .pc_totals = all.totals};

	pc_sums_send(&all.sums, &tracer->sink);
	event.pc_totals.period = tracer->config.stall_period;
	if (memcmp(&all.totals, &(struct gpu_event_pc_totals){0}, sizeof(all.totals)) != 0)
		sink_put(&tracer->sink, &event);
	all.totals = (struct gpu_event_pc_totals){0};
	all.sent_ns = clock_now_ns();
}

/* ---- contexts ---- */

static void note_failure(struct tracer *tracer, const char *call, int result)
{
	if (!all.has_failed)
		tracer_notice(tracer, GPU_NOTICE_NO_STALLS, "%d %s: %s", result, call,
			      cupti_api_error(&tracer->api, result));
	all.has_failed = true;
}

/*
 * Returns whether a reason is a part of another one: CUPTI also counts samples in which no warp of
 * the scheduler issued.
 */
static bool is_subset(const char *name)
{
	static const char end[] = "_not_issued";
	size_t length = strlen(name), n = sizeof(end) - 1;

	return length > n && strcmp(name + length - n, end) == 0;
}

/* Returns the id of a reason, which is sent if it is new; 0: there are too many. */
static uint32_t number_reason(struct tracer *tracer, const char *name)
{
	struct gpu_event event = {.type = GPU_EVENT_STALL};

	for (uint32_t i = 1; i <= all.reason_count; i++)
		if (strcmp(all.reasons[i], name) == 0)
			return i;
	if (all.reason_count + 1 >= GPU_STALL_MAX_ID)
		return 0;
	all.reasons[all.reason_count + 1] = strdup(name);
	if (!all.reasons[all.reason_count + 1])
		return 0;
	event.stall.id = ++all.reason_count;
	event.stall.name = all.reasons[event.stall.id];
	sink_put(&tracer->sink, &event);
	return event.stall.id;
}

/* Keeps the reasons that are counted. */
static void keep_reasons(struct tracer *tracer, struct sampled *s, const uint32_t *indexes,
			 char **names, size_t count)
{
	for (size_t i = 0; i < count && s->reasons < KEPT_REASONS; i++) {
		names[i][CUPTI_ABI_PC_REASON_BYTES - 1] = '\0';
		tracer_notice(tracer, GPU_NOTICE_VERBOSE, "PC samples: reason %u: %s", indexes[i],
			      names[i]);
		if (is_subset(names[i]))
			continue;
		s->indexes[s->reasons] = indexes[i];
		s->ids[s->reasons] = number_reason(tracer, names[i]);
		s->reasons += s->ids[s->reasons] != 0;
	}
}

static bool find_reasons(struct tracer *tracer, struct sampled *s)
{
	const struct cupti_api *api = &tracer->api;
	size_t count = 0;
	struct cupti_abi_pc_reason_count number = {
		.size = CUPTI_ABI_SIZE_TO(cupti_abi_pc_reason_count, count),
		.context = s->context,
		.count = &count};
	struct cupti_abi_pc_reasons reasons = {
		.size = CUPTI_ABI_SIZE_TO(cupti_abi_pc_reasons, names), .context = s->context};
	uint32_t indexes[REASONS_MAX] = {0};
	char *names[REASONS_MAX], *text;
	int result = api->cuptiPCSamplingGetNumStallReasons(&number);

	if (result != CUPTI_ABI_SUCCESS) {
		note_failure(tracer, "cuptiPCSamplingGetNumStallReasons", result);
		return false;
	}
	if (count == 0 || count > REASONS_MAX)
		return false;
	text = calloc(count, CUPTI_ABI_PC_REASON_BYTES);
	if (!text)
		return false;
	for (size_t i = 0; i < count; i++)
		names[i] = text + i * CUPTI_ABI_PC_REASON_BYTES;
	reasons.count = count;
	reasons.indexes = indexes;
	reasons.names = names;
	result = api->cuptiPCSamplingGetStallReasons(&reasons);
	if (result == CUPTI_ABI_SUCCESS)
		keep_reasons(tracer, s, indexes, names, count);
	else
		note_failure(tracer, "cuptiPCSamplingGetStallReasons", result);
	free(text);
	return s->reasons > 0;
}

static bool configure(struct tracer *tracer, struct sampled *s)
{
	struct cupti_abi_pc_attribute attributes[] = {
		{.type = CUPTI_ABI_PC_ATTR_COLLECTION_MODE,
		 .number = tracer->config.exact_stalls ? CUPTI_ABI_PC_KERNEL_SERIALIZED
						       : CUPTI_ABI_PC_CONTINUOUS},
		{.type = CUPTI_ABI_PC_ATTR_PERIOD, .number = tracer->config.stall_period},
		{.type = CUPTI_ABI_PC_ATTR_STALL_REASONS, .reasons = {s->reasons, s->indexes}},
		{.type = CUPTI_ABI_PC_ATTR_SCRATCH_BYTES, .bytes = SCRATCH_BYTES},
		{.type = CUPTI_ABI_PC_ATTR_HARDWARE_BYTES, .bytes = HARDWARE_BYTES},
		{.type = CUPTI_ABI_PC_ATTR_OUTPUT_FORMAT, .number = CUPTI_ABI_PC_PARSED},
		{.type = CUPTI_ABI_PC_ATTR_SAMPLING_BUFFER, .buffer = &s->last.data},
	};
	struct cupti_abi_pc_configuration params = {
		.size = CUPTI_ABI_SIZE_TO(cupti_abi_pc_configuration, attributes),
		.context = s->context,
		.count = sizeof(attributes) / sizeof(attributes[0]),
		.attributes = attributes};
	int result = tracer->api.cuptiPCSamplingSetConfigurationAttribute(&params);

	for (size_t i = 0; i < params.count; i++)
		if (attributes[i].status != CUPTI_ABI_SUCCESS)
			tracer_notice(tracer, GPU_NOTICE_VERBOSE,
				      "PC samples: attribute %u: %u (%s)", attributes[i].type,
				      attributes[i].status,
				      cupti_api_error(&tracer->api, (int)attributes[i].status));
	if (result != CUPTI_ABI_SUCCESS)
		note_failure(tracer, "cuptiPCSamplingSetConfigurationAttribute", result);
	return result == CUPTI_ABI_SUCCESS;
}

static void disable(struct tracer *tracer, const struct sampled *s)
{
	struct cupti_abi_pc_context params = {
		.size = CUPTI_ABI_SIZE_TO(cupti_abi_pc_context, context), .context = s->context};
	uint64_t start = clock_now_ns();
	int result = tracer->api.cuptiPCSamplingDisable(&params);

	tracer_notice(tracer, GPU_NOTICE_VERBOSE, "PC samples: disabled: %d (%s), %" PRIu64 " us",
		      result, cupti_api_error(&tracer->api, result),
		      (clock_now_ns() - start) / 1000);
}

static void release(struct sampled *s)
{
	release_records(&s->last);
	free(s);
}

/* Configures sampling, which is enabled already. */
static bool begin(struct tracer *tracer, struct sampled *s)
{
	if (!find_reasons(tracer, s) || !make_records(&s->last, s->reasons))
		return false;
	if (!all.fetched.list && !make_records(&all.fetched, KEPT_REASONS))
		return false;
	if (!configure(tracer, s) ||
	    !array_make_room(&all.list, all.count, &all.capacity, sizeof(*all.list)))
		return false;
	all.list[all.count++] = s;
	return true;
}

static void enable(struct tracer *tracer, void *context)
{
	struct cupti_abi_pc_context params = {
		.size = CUPTI_ABI_SIZE_TO(cupti_abi_pc_context, context), .context = context};
	struct sampled *s;
	int result;

	if (tracer->api.version < CUPTI_ABI_SAMPLES_PCS) {
		note_failure(tracer, tracer->api.path, CUPTI_ABI_ERROR_NOT_COMPATIBLE);
		return;
	}
	if (!tracer->api.cuptiPCSamplingEnable || !tracer->api.cuptiPCSamplingDisable ||
	    !tracer->api.cuptiPCSamplingGetData || !tracer->api.cuptiGetCubinCrc ||
	    !tracer->api.cuptiPCSamplingGetNumStallReasons ||
	    !tracer->api.cuptiPCSamplingGetStallReasons ||
	    !tracer->api.cuptiPCSamplingSetConfigurationAttribute) {
		note_failure(tracer, "PC sampling", CUPTI_ABI_ERROR_NOT_SUPPORTED);
		return;
	}
	s = all.count < CONTEXTS_MAX ? calloc(1, sizeof(*s)) : NULL;
	if (!s)
		return;
	s->context = context;
	result = tracer->api.cuptiPCSamplingEnable(&params);
	tracer_notice(tracer, GPU_NOTICE_VERBOSE, "PC samples: enabled: %d (%s)", result,
		      cupti_api_error(&tracer->api, result));
	if (result != CUPTI_ABI_SUCCESS) {
		note_failure(tracer, "cuptiPCSamplingEnable", result);
		free(s);
	} else if (!begin(tracer, s)) {
		disable(tracer, s);
		release(s);
	}
}

void pc_sampling_context_created(struct tracer *tracer, void *context)
{
	if (!lock_patiently())
		return;
	enable(tracer, context);
	pthread_mutex_unlock(&all.lock);
}

/* Ends sampling in a context. CUPTI writes its last records to `last`. */
static void finish(struct tracer *tracer, struct sampled *s)
{
	fetch(tracer, s);
	disable(tracer, s);
	take_last(tracer, s, "left");
	release(s);
}

void pc_sampling_context_ends(struct tracer *tracer, void *context)
{
	if (!lock_patiently())
		return;
	for (uint32_t i = 0; i < all.count; i++) {
		struct sampled *s = all.list[i];

		if (s->context != context)
			continue;
		all.list[i] = all.list[--all.count];
		finish(tracer, s);
		send_sums(tracer);
		break;
	}
	pthread_mutex_unlock(&all.lock);
}

/* ---- modules ---- */

/* Sends the line table once. Returns false if it is too large, or if there are too many. */
static bool send_lines(struct tracer *tracer, const char *cubin, size_t size, size_t bytes)
{
	struct cupti_abi_cubin_crc params = {.size = CUPTI_ABI_SIZE_TO(cupti_abi_cubin_crc, crc),
					     .cubin_size = size,
					     .cubin = cubin};
	int result = tracer->api.cuptiGetCubinCrc(&params);

	tracer_notice(tracer, GPU_NOTICE_VERBOSE,
		      "PC samples: cubin of %zu bytes, %zu for lines: %016" PRIx64 ", %d (%s)",
		      size, bytes, params.crc, result, cupti_api_error(&tracer->api, result));
	if (result != CUPTI_ABI_SUCCESS)
		return false;
	if (has_lines(params.crc))
		return true;
	if (bytes > CUBIN_LINES_MAX || all.cubin_bytes + bytes > CUBINS_MAX_BYTES ||
	    all.cubins.count == CUBINS_MAX ||
	    record_add(&all.cubins, &params.crc, &params.crc) == RECORD_NONE)
		return false;
	cubin_lines_send(cubin, size, params.crc, &tracer->sink);
	all.cubin_bytes += bytes;
	return true;
}

/* Takes the last records of all contexts: CUPTI may have written places of an unloaded module. */
static void take_all_last(struct tracer *tracer)
{
	for (uint32_t i = 0; i < all.count; i++)
		take_last(tracer, all.list[i], "at a module");
}

void pc_sampling_module_loaded(struct tracer *tracer, const struct cupti_abi_module_data *module)
{
	size_t bytes = module ? cubin_lines_size(module->cubin, module->cubin_size) : 0;

	if (!lock_patiently())
		return;
	if (all.count > 0)
		take_all_last(tracer);
	if (bytes && tracer->api.cuptiGetCubinCrc && !all.has_failed &&
	    !send_lines(tracer, module->cubin, module->cubin_size, bytes))
		all.totals.cubins_left_out++;
	pthread_mutex_unlock(&all.lock);
}

void pc_sampling_module_goes(struct tracer *tracer)
{
	if (!lock_patiently())
		return;
	for (uint32_t i = 0; i < all.count; i++)
		fetch(tracer, all.list[i]);
	all.resume_ns = clock_now_ns() + UNLOAD_NS;
	pthread_mutex_unlock(&all.lock);
}

/* ---- now and then, and at the end ---- */

void pc_sampling_fetch(struct tracer *tracer)
{
	uint64_t now = clock_now_ns();

	if (!lock_patiently())
		return;
	if (now >= all.resume_ns)
		for (uint32_t i = 0; i < all.count; i++)
			fetch(tracer, all.list[i]);
	if (now - all.sent_ns >= SEND_NS)
		send_sums(tracer);
	pthread_mutex_unlock(&all.lock);
}

void pc_sampling_end(struct tracer *tracer)
{
	if (!lock_patiently())
		return;
	while (all.count > 0)
		finish(tracer, all.list[--all.count]);
	send_sums(tracer);
	pthread_mutex_unlock(&all.lock);
}
