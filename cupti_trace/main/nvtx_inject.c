// SPDX-License-Identifier: MIT
/*
 * Implements NVTX's functions as the program calls them, and installs them: see nvtx_abi.h.
 *
 * Only ranges are followed. Marks, names of categories, threads and CUDA objects keep doing
 * nothing. Of attributes, message and colour are read. Domains and registered strings are small
 * numbers, returned as pointers. A pointer that we did not return does no harm.
 *
 * The payload extension's ranges are followed, too. A payload's message is read if the range has no
 * other (nvtx_payload.h). Ranges of NCCL are named by their payloads (nccl_calls.h).
 */
#include "cupti_trace/core/settings.h"
#include "cupti_trace/launch/nccl_calls.h"
#include "cupti_trace/launch/nvtx.h"
#include "cupti_trace/launch/nvtx_abi.h"
#include "cupti_trace/launch/nvtx_payload.h"
#include "cupti_trace/launch/recorded_range.h"
#include "cupti_trace/main/trace.h"

/* Stack pointer in the caller of the function that this stands in. */
#define CALLER_SP ((uint64_t)(uintptr_t)__builtin_frame_address(0) + 16)

static uint32_t domain_of(const void *handle)
{
	uintptr_t number = (uintptr_t)handle;

	return number < NVTX_DOMAINS_MAX ? (uint32_t)number : NVTX_DOMAINS_MAX - 1;
}

/* Returns the payloads of the extension in attributes, and sets their number; NULL: none. */
static const struct nvtx_abi_payload *payloads_of(const struct nvtx_abi_attributes *a,
						  size_t *count)
{
	bool has_payloads = a && a->size >= sizeof(*a) &&
			    a->payload_type == NVTX_ABI_PAYLOAD_EXTENDED && a->reserved > 0;

	*count = has_payloads ? (size_t)a->reserved : 0;
	return has_payloads ? (const struct nvtx_abi_payload *)(uintptr_t)a->payload : NULL;
}

static uint32_t message_of(uint32_t domain, const struct nvtx_abi_attributes *a)
{
	const struct nvtx_abi_payload *payloads;
	size_t count;
	uint32_t color;

	if (!a || a->size < sizeof(*a))
		return nvtx_name(domain, NULL, 0);
	color = a->color_type == NVTX_ABI_COLOR_ARGB ? a->color : 0;
	switch (a->message_type) {
	case NVTX_ABI_MESSAGE_ASCII:
		return nvtx_name(domain, a->message.ascii, color);
	case NVTX_ABI_MESSAGE_WIDE:
		return nvtx_name_wide(domain, a->message.wide, color);
	case NVTX_ABI_MESSAGE_REGISTERED:
		return nvtx_name_registered(domain, (uint64_t)(uintptr_t)a->message.registered,
					    color);
	default:
		payloads = payloads_of(a, &count);
		return count ? nvtx_payload_name(domain, payloads, count)
			     : nvtx_name(domain, NULL, color);
	}
}

static uint32_t name_of(uint32_t domain, const struct nvtx_abi_attributes *a)
{
	const struct nvtx_abi_payload *payloads;
	size_t count;

	if (!nccl_calls_are(domain))
		return message_of(domain, a);
	payloads = payloads_of(a, &count);
	return nccl_calls_name(domain, message_of(domain, a), payloads, count);
}

static int range_push_ex(const struct nvtx_abi_attributes *attributes)
{
	return nvtx_push(0, name_of(0, attributes), CALLER_SP);
}

static int range_push(const char *message)
{
	return nvtx_push(0, nvtx_name(0, message, 0), CALLER_SP);
}

static int range_push_wide(const wchar_t *message)
{
	return nvtx_push(0, nvtx_name_wide(0, message, 0), CALLER_SP);
}

static int range_pop(void)
{
	return nvtx_pop(0);
}

static uint64_t range_start_ex(const struct nvtx_abi_attributes *attributes)
{
	return nvtx_start(0, name_of(0, attributes), CALLER_SP);
}

static uint64_t range_start(const char *message)
{
	return nvtx_start(0, nvtx_name(0, message, 0), CALLER_SP);
}

static uint64_t range_start_wide(const wchar_t *message)
{
	return nvtx_start(0, nvtx_name_wide(0, message, 0), CALLER_SP);
}

static int domain_range_push_ex(const void *domain, const struct nvtx_abi_attributes *attributes)
{
	uint32_t number = domain_of(domain);

	return nvtx_push(number, name_of(number, attributes), CALLER_SP);
}

static int domain_range_pop(const void *domain)
{
	return nvtx_pop(domain_of(domain));
}

static uint64_t domain_range_start_ex(const void *domain,
				      const struct nvtx_abi_attributes *attributes)
{
	uint32_t number = domain_of(domain);

	return nvtx_start(number, name_of(number, attributes), CALLER_SP);
}

static void domain_range_end(const void *domain, uint64_t range)
{
	(void)domain;
	nvtx_end(range);
}

static void *domain_register_string(const void *domain, const char *text)
{
	return (void *)(uintptr_t)nvtx_name(domain_of(domain), text, 0);
}

static void *domain_register_string_wide(const void *domain, const wchar_t *text)
{
	return (void *)(uintptr_t)nvtx_name_wide(domain_of(domain), text, 0);
}

static void *domain_create(const char *name)
{
	uint32_t number = nvtx_domain(name);

	nccl_calls_domain(name, number);
	return (void *)(uintptr_t)number;
}

static void *domain_create_wide(const wchar_t *name)
{
	return (void *)(uintptr_t)nvtx_domain_wide(name);
}

/* ---- the payload extension ---- */

static int range_push_payload(const void *domain, const struct nvtx_abi_payload *payloads,
			      size_t count)
{
	uint32_t number = domain_of(domain);

	return nvtx_push(number, nvtx_payload_name(number, payloads, count), CALLER_SP);
}

static int range_pop_payload(const void *domain, const struct nvtx_abi_payload *payloads,
			     size_t count)
{
	uint32_t number = domain_of(domain);

	if (nccl_calls_are(number))
		nccl_calls_end(payloads, count);
	return nvtx_pop(number);
}

static uint64_t range_start_payload(const void *domain, const struct nvtx_abi_payload *payloads,
				    size_t count)
{
	uint32_t number = domain_of(domain);

	return nvtx_start(number, nvtx_payload_name(number, payloads, count), CALLER_SP);
}

static void range_end_payload(const void *domain, uint64_t range,
			      const struct nvtx_abi_payload *payloads, size_t count)
{
	(void)domain;
	(void)payloads;
	(void)count;
	nvtx_end(range);
}

static uint64_t schema_register(const void *domain, const struct nvtx_abi_schema *schema)
{
	uint32_t number = domain_of(domain);
	uint64_t id = nvtx_schema(number, schema);

	nccl_calls_schema(number, id, schema);
	return id;
}

static uint64_t enumeration_register(const void *domain,
				     const struct nvtx_abi_enumeration *enumeration)
{
	(void)domain;
	return nvtx_enumeration(enumeration);
}

/* ---- tables ---- */

#define AS_FUNCTION(f) ((nvtx_abi_function)(f))

static const nvtx_abi_function core[NVTX_ABI_CORE_SIZE] = {
	[NVTX_ABI_RANGE_START_EX] = AS_FUNCTION(range_start_ex),
	[NVTX_ABI_RANGE_START_A] = AS_FUNCTION(range_start),
	[NVTX_ABI_RANGE_START_W] = AS_FUNCTION(range_start_wide),
	[NVTX_ABI_RANGE_END] = AS_FUNCTION(nvtx_end),
	[NVTX_ABI_RANGE_PUSH_EX] = AS_FUNCTION(range_push_ex),
	[NVTX_ABI_RANGE_PUSH_A] = AS_FUNCTION(range_push),
	[NVTX_ABI_RANGE_PUSH_W] = AS_FUNCTION(range_push_wide),
	[NVTX_ABI_RANGE_POP] = AS_FUNCTION(range_pop),
};

static const nvtx_abi_function core2[NVTX_ABI_CORE2_SIZE] = {
	[NVTX_ABI_DOMAIN_RANGE_START_EX] = AS_FUNCTION(domain_range_start_ex),
	[NVTX_ABI_DOMAIN_RANGE_END] = AS_FUNCTION(domain_range_end),
	[NVTX_ABI_DOMAIN_RANGE_PUSH_EX] = AS_FUNCTION(domain_range_push_ex),
	[NVTX_ABI_DOMAIN_RANGE_POP] = AS_FUNCTION(domain_range_pop),
	[NVTX_ABI_DOMAIN_REGISTER_STRING_A] = AS_FUNCTION(domain_register_string),
	[NVTX_ABI_DOMAIN_REGISTER_STRING_W] = AS_FUNCTION(domain_register_string_wide),
	[NVTX_ABI_DOMAIN_CREATE_A] = AS_FUNCTION(domain_create),
	[NVTX_ABI_DOMAIN_CREATE_W] = AS_FUNCTION(domain_create_wide),
};

static const nvtx_abi_function payload[NVTX_ABI_PAYLOAD_SIZE] = {
	[NVTX_ABI_PAYLOAD_SCHEMA_REGISTER] = AS_FUNCTION(schema_register),
	[NVTX_ABI_PAYLOAD_ENUM_REGISTER] = AS_FUNCTION(enumeration_register),
	[NVTX_ABI_RANGE_PUSH_PAYLOAD] = AS_FUNCTION(range_push_payload),
	[NVTX_ABI_RANGE_POP_PAYLOAD] = AS_FUNCTION(range_pop_payload),
	[NVTX_ABI_RANGE_START_PAYLOAD] = AS_FUNCTION(range_start_payload),
	[NVTX_ABI_RANGE_END_PAYLOAD] = AS_FUNCTION(range_end_payload),
};

static void fill(const struct nvtx_abi_callbacks *callbacks, uint32_t module,
		 const nvtx_abi_function *functions, unsigned int count)
{
	nvtx_abi_function **places = NULL;
	unsigned int size = 0;

	if (!callbacks->get_table(module, &places, &size) || !places)
		return;
	for (unsigned int i = 0; i < count && i < size; i++)
		if (functions[i] && places[i])
			*places[i] = functions[i];
}

/*
 * Returns whether launch stacks have frames of ranges: if a profiler asks for them, and always in a
 * trace.
 */
static bool wants_frames(void)
{
	return settings_config()->nvtx || settings_config()->ops || trace_name();
}

/*
 * Follows NVTX's calls if something needs them; returns whether it does. Ranges may be open before
 * the program's first call of CUDA, so it looks for an interpreter now.
 */
static bool begin(void)
{
	if (!wants_frames() && !recorded_range_has_nvtx())
		return false;
	python_stack_look(NULL);
	nvtx_follow(wants_frames(), recorded_range_has_nvtx());
	return true;
}

/* Returns success even if nothing is done: NVTX then does nothing, silently. */
__attribute__((visibility("default"))) int
InitializeInjectionNvtx2(nvtx_abi_get_export_table get_export_table)
{
	const struct nvtx_abi_callbacks *callbacks;

	if (!get_export_table)
		return 1;
	callbacks = get_export_table(NVTX_ABI_TABLE_CALLBACKS);
	if (!callbacks || callbacks->struct_size < sizeof(*callbacks) || !callbacks->get_table)
		return 1;
	if (!begin())
		return 1;
	fill(callbacks, NVTX_ABI_MODULE_CORE, core, NVTX_ABI_CORE_SIZE);
	fill(callbacks, NVTX_ABI_MODULE_CORE2, core2, NVTX_ABI_CORE2_SIZE);
	return 1;
}

/*
 * NVTX 2, in libnvToolsExt.so, asks for this name and has equal tables, as other tools assume too.
 * Tried with a stand-in only.
 */
__attribute__((visibility("default"))) int
InitializeInjectionNvtx(nvtx_abi_get_export_table get_export_table)
{
	return InitializeInjectionNvtx2(get_export_table);
}

/*
 * Starts an extension, before any of its functions is called. Extensions that are not followed,
 * such as those of memory and of counters, keep doing nothing.
 */
__attribute__((visibility("default"))) int
InitializeInjectionNvtxExtension(struct nvtx_abi_extension *extension)
{
	const struct nvtx_abi_segment *segment;

	if (!extension ||
	    extension->struct_size < offsetof(struct nvtx_abi_extension, get_export) ||
	    extension->module != NVTX_ABI_EXTENSION_PAYLOAD || extension->segment_count == 0 ||
	    !extension->segments || !extension->segments->slots || !begin())
		return 1;
	segment = &extension->segments[0];
	for (size_t i = 0; i < NVTX_ABI_PAYLOAD_SIZE && i < segment->slot_count; i++)
		if (payload[i])
			segment->slots[i] = (intptr_t)payload[i];
	return 1;
}
