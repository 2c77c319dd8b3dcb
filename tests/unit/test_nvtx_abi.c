/* SPDX-License-Identifier: MIT */
/*
 * Compares cupti_trace/launch/nvtx_abi.h with NVTX's headers, if they are installed, and runs them
 * together: this program then uses NVTX, with our functions in its tables.
 */
#include "unit.h"

#include "cupti_trace/wire/gpu_wire.h"
#include "cupti_trace/wire/trace_config.h"
#include "cupti_trace/launch/nvtx_abi.h"

#if defined(__has_include) && __has_include(<nvtx3/nvToolsExt.h>)
#define NVTX_SUPPORT_STATIC_INJECTION_LIBRARY 1
#include <nvtx3/nvToolsExt.h>
#define HAVE_NVTX 1
#if __has_include(<nvtx3/nvToolsExtPayload.h>)
#include <nvtx3/nvToolsExtPayload.h>
#define HAVE_PAYLOADS 1
#endif
#endif

#ifdef HAVE_NVTX

#define SAME(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #theirs)

SAME(NVTX_ABI_NO_PUSH_POP_TRACKING, NVTX_NO_PUSH_POP_TRACKING);
SAME(NVTX_ABI_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS);
SAME(NVTX_ABI_MODULE_CORE, NVTX_CB_MODULE_CORE);
SAME(NVTX_ABI_MODULE_CORE2, NVTX_CB_MODULE_CORE2);
SAME(NVTX_ABI_RANGE_START_EX, NVTX_CBID_CORE_RangeStartEx);
SAME(NVTX_ABI_RANGE_START_A, NVTX_CBID_CORE_RangeStartA);
SAME(NVTX_ABI_RANGE_START_W, NVTX_CBID_CORE_RangeStartW);
SAME(NVTX_ABI_RANGE_END, NVTX_CBID_CORE_RangeEnd);
SAME(NVTX_ABI_RANGE_PUSH_EX, NVTX_CBID_CORE_RangePushEx);
SAME(NVTX_ABI_RANGE_PUSH_A, NVTX_CBID_CORE_RangePushA);
SAME(NVTX_ABI_RANGE_PUSH_W, NVTX_CBID_CORE_RangePushW);
SAME(NVTX_ABI_RANGE_POP, NVTX_CBID_CORE_RangePop);
SAME(NVTX_ABI_CORE_SIZE, NVTX_CBID_CORE_SIZE);
SAME(NVTX_ABI_DOMAIN_RANGE_START_EX, NVTX_CBID_CORE2_DomainRangeStartEx);
SAME(NVTX_ABI_DOMAIN_RANGE_END, NVTX_CBID_CORE2_DomainRangeEnd);
SAME(NVTX_ABI_DOMAIN_RANGE_PUSH_EX, NVTX_CBID_CORE2_DomainRangePushEx);
SAME(NVTX_ABI_DOMAIN_RANGE_POP, NVTX_CBID_CORE2_DomainRangePop);
SAME(NVTX_ABI_DOMAIN_REGISTER_STRING_A, NVTX_CBID_CORE2_DomainRegisterStringA);
SAME(NVTX_ABI_DOMAIN_REGISTER_STRING_W, NVTX_CBID_CORE2_DomainRegisterStringW);
SAME(NVTX_ABI_DOMAIN_CREATE_A, NVTX_CBID_CORE2_DomainCreateA);
SAME(NVTX_ABI_DOMAIN_CREATE_W, NVTX_CBID_CORE2_DomainCreateW);
SAME(NVTX_ABI_CORE2_SIZE, NVTX_CBID_CORE2_SIZE);
SAME(NVTX_ABI_COLOR_ARGB, NVTX_COLOR_ARGB);
SAME(NVTX_ABI_MESSAGE_ASCII, NVTX_MESSAGE_TYPE_ASCII);
SAME(NVTX_ABI_MESSAGE_WIDE, NVTX_MESSAGE_TYPE_UNICODE);
SAME(NVTX_ABI_MESSAGE_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);

#define FIELD(ours, theirs)                                                                        \
	SAME(offsetof(struct nvtx_abi_attributes, ours), offsetof(nvtxEventAttributes_t, theirs)); \
	SAME(sizeof(((struct nvtx_abi_attributes *)0)->ours),                                      \
	     sizeof(((nvtxEventAttributes_t *)0)->theirs))
FIELD(version, version);
FIELD(size, size);
FIELD(category, category);
FIELD(color_type, colorType);
FIELD(color, color);
FIELD(payload_type, payloadType);
FIELD(reserved, reserved0);
FIELD(payload, payload);
FIELD(message_type, messageType);
FIELD(message, message);
SAME(sizeof(struct nvtx_abi_attributes), sizeof(nvtxEventAttributes_t));

SAME(sizeof(struct nvtx_abi_callbacks), sizeof(NvtxExportTableCallbacks));
SAME(offsetof(struct nvtx_abi_callbacks, get_table),
     offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
_Static_assert(__builtin_types_compatible_p(nvtx_abi_get_export_table, NvtxGetExportTableFunc_t),
	       "NvtxGetExportTableFunc_t");
_Static_assert(__builtin_types_compatible_p(nvtx_abi_function ***, NvtxFunctionTable *),
	       "NvtxFunctionTable");

static void nvtx_calls_us(void **state)
{
	nvtxDomainHandle_t domain;
	nvtxEventAttributes_t a = {.version = NVTX_VERSION,
				   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
				   .messageType = NVTX_MESSAGE_TYPE_REGISTERED};
	nvtxRangeId_t range;

	(void)state;
	setenv(TRACE_CONFIG_ENV, "nvtx", 1);
	unsetenv(NVTX_ABI_PATH_ENV);
	InitializeInjectionNvtx2_fnptr = InitializeInjectionNvtx2;
	assert_int_equal(nvtxRangePushA("outer"), 0);
	assert_int_equal(nvtxRangePushW(L"inner"), 1);
	assert_int_equal(nvtxRangePop(), 1);
	assert_int_equal(nvtxRangePop(), 0);
	assert_int_equal(nvtxRangePop(), NVTX_NO_PUSH_POP_TRACKING);
	domain = nvtxDomainCreateA("domain");
	assert_non_null(domain);
	a.message.registered = nvtxDomainRegisterStringA(domain, "registered");
	assert_non_null(a.message.registered);
	assert_int_equal(nvtxDomainRangePushEx(domain, &a), 0);
	assert_int_equal(nvtxDomainRangePop(domain), 0);
	range = nvtxDomainRangeStartEx(domain, &a);
	assert_int_not_equal(range, 0);
	nvtxDomainRangeEnd(domain, range);
	nvtxMarkA("nothing happens");
	nvtxDomainDestroy(domain);
}

#else

static void nvtx_calls_us(void **state)
{
	(void)state;
	print_message("SKIP: built without NVTX's headers: nothing to compare nvtx_abi.h with\n");
	skip();
}

#endif

/* ---- the payload extension ---- */

#ifdef HAVE_PAYLOADS

SAME(NVTX_ABI_EXTENSION_PAYLOAD, NVTX_EXT_PAYLOAD_MODULEID);
SAME(NVTX_ABI_PAYLOAD_SCHEMA_REGISTER, NVTX3EXT_CBID_nvtxPayloadSchemaRegister);
SAME(NVTX_ABI_PAYLOAD_ENUM_REGISTER, NVTX3EXT_CBID_nvtxPayloadEnumRegister);
SAME(NVTX_ABI_RANGE_PUSH_PAYLOAD, NVTX3EXT_CBID_nvtxRangePushPayload);
SAME(NVTX_ABI_RANGE_POP_PAYLOAD, NVTX3EXT_CBID_nvtxRangePopPayload);
SAME(NVTX_ABI_RANGE_START_PAYLOAD, NVTX3EXT_CBID_nvtxRangeStartPayload);
SAME(NVTX_ABI_RANGE_END_PAYLOAD, NVTX3EXT_CBID_nvtxRangeEndPayload);
SAME(NVTX_ABI_SCHEMA_HAS_ID, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID);
SAME(NVTX_ABI_ENUMERATION_HAS_ID, NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID);
SAME(NVTX_ABI_SCHEMA_FIRST_OF_TOOL, NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START);

#define FIELD_OF(our_type, ours, their_type, theirs)                         \
	SAME(offsetof(struct our_type, ours), offsetof(their_type, theirs)); \
	SAME(sizeof(((struct our_type *)0)->ours), sizeof(((their_type *)0)->theirs))
#define SEGMENT(ours, theirs) FIELD_OF(nvtx_abi_segment, ours, nvtxExtModuleSegment_t, theirs)
SEGMENT(id, segmentId);
SEGMENT(slot_count, slotCount);
SEGMENT(slots, functionSlots);
SAME(sizeof(struct nvtx_abi_segment), sizeof(nvtxExtModuleSegment_t));

#define EXTENSION(ours, theirs) FIELD_OF(nvtx_abi_extension, ours, nvtxExtModuleInfo_t, theirs)
EXTENSION(version, nvtxVer);
EXTENSION(struct_size, structSize);
EXTENSION(module, moduleId);
EXTENSION(compatibility, compatId);
EXTENSION(segment_count, segmentsCount);
EXTENSION(segments, segments);
EXTENSION(get_export, getExportFunction);
EXTENSION(info, extInfo);
SAME(sizeof(struct nvtx_abi_extension), sizeof(nvtxExtModuleInfo_t));

#define PAYLOAD(ours, theirs) FIELD_OF(nvtx_abi_payload, ours, nvtxPayloadData_t, theirs)
PAYLOAD(schema, schemaId);
PAYLOAD(size, size);
PAYLOAD(data, payload);
SAME(sizeof(struct nvtx_abi_payload), sizeof(nvtxPayloadData_t));

#define SCHEMA(ours, theirs) FIELD_OF(nvtx_abi_schema, ours, nvtxPayloadSchemaAttr_t, theirs)
SCHEMA(fields, fieldMask);
SCHEMA(name, name);
SCHEMA(type, type);
SCHEMA(flags, flags);
SCHEMA(entries, entries);
SCHEMA(entry_count, numEntries);
SCHEMA(size, payloadStaticSize);
SCHEMA(alignment, packAlign);
SCHEMA(id, schemaId);

#define ENTRY(ours, theirs) FIELD_OF(nvtx_abi_entry, ours, nvtxPayloadSchemaEntry_t, theirs)
ENTRY(flags, flags);
ENTRY(type, type);
ENTRY(name, name);
ENTRY(description, description);
ENTRY(detail, arrayOrUnionDetail);
ENTRY(offset, offset);
SAME(sizeof(struct nvtx_abi_entry), sizeof(nvtxPayloadSchemaEntry_t));
SAME(NVTX_ABI_PAYLOAD_EXTENDED, NVTX_PAYLOAD_TYPE_EXT);
SAME(NVTX_ABI_SCHEMA_HAS_ALIGNMENT, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ALIGNMENT);
SAME(NVTX_ABI_SCHEMA_HAS_SIZE, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE);
SAME(NVTX_ABI_ENTRY_IS_POINTER, NVTX_PAYLOAD_ENTRY_FLAG_POINTER);
SAME(NVTX_ABI_ENTRY_ARRAY_FIXED, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE);
SAME(NVTX_ABI_ENTRY_ARRAY_ZERO, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED);
SAME(NVTX_ABI_ENTRY_IS_MESSAGE, NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE);
SAME(NVTX_ABI_ENTRY_CHAR, NVTX_PAYLOAD_ENTRY_TYPE_CHAR);
SAME(NVTX_ABI_ENTRY_CHAR8, NVTX_PAYLOAD_ENTRY_TYPE_CHAR8);
SAME(NVTX_ABI_ENTRY_CHAR32, NVTX_PAYLOAD_ENTRY_TYPE_CHAR32);
SAME(NVTX_ABI_ENTRY_CATEGORY, NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY);
SAME(NVTX_ABI_ENTRY_TEXT, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING);
SAME(NVTX_ABI_ENTRY_TEXT_UTF8, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8);
SAME(NVTX_ABI_ENTRY_TEXT_UTF32, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF32);
SAME(NVTX_ABI_ENTRY_REGISTERED, NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE);

#define ENUMERATION(ours, theirs) \
	FIELD_OF(nvtx_abi_enumeration, ours, nvtxPayloadEnumAttr_t, theirs)
ENUMERATION(fields, fieldMask);
ENUMERATION(name, name);
ENUMERATION(entries, entries);
ENUMERATION(entry_count, numEntries);
ENUMERATION(size, sizeOfEnum);
ENUMERATION(id, schemaId);

static int give_to_us(nvtxExtModuleInfo_t *module)
{
	return InitializeInjectionNvtxExtension((struct nvtx_abi_extension *)module);
}

static void payload_extension_calls_us(void **state)
{
	static const nvtxPayloadSchemaEntry_t entries[] = {
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_INT, .name = "rank"}};
	static const nvtxPayloadEnum_t values[] = {{.name = "one", .value = 1}};
	nvtxPayloadSchemaAttr_t schema = {.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
						       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES,
					  .entries = entries,
					  .numEntries = 1};
	nvtxPayloadEnumAttr_t values_of = {.entries = values, .numEntries = 1};
	int rank = 3;
	nvtxPayloadData_t data = {.size = sizeof(rank), .payload = &rank};
	nvtxDomainHandle_t domain;
	nvtxRangeId_t range;
	uint64_t id;

	(void)state;
	InitializeInjectionNvtx2_fnptr = InitializeInjectionNvtx2;
	InitializeInjectionNvtxExtension_fnptr = give_to_us;
	domain = nvtxDomainCreateA("NCCL");
	/* the extension is asked for at its first call */
	data.schemaId = nvtxPayloadSchemaRegister(domain, &schema);
	assert_true(data.schemaId >= NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START);
	id = nvtxPayloadSchemaRegister(domain, &schema);
	assert_true(id > data.schemaId);
	assert_true(nvtxPayloadEnumRegister(domain, &values_of) > id);
	schema.fieldMask |= NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
	schema.schemaId = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 5;
	assert_int_equal(nvtxPayloadSchemaRegister(domain, &schema), schema.schemaId);
	values_of.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID;
	values_of.schemaId = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 6;
	assert_int_equal(nvtxPayloadEnumRegister(domain, &values_of), values_of.schemaId);

	assert_int_equal(nvtxRangePopPayload(domain, &data, 1), NVTX_NO_PUSH_POP_TRACKING);
	assert_int_equal(nvtxRangePushPayload(domain, &data, 1), 0);
	assert_int_equal(nvtxRangePushPayload(domain, &data, 1), 1);
	assert_int_equal(nvtxRangePopPayload(domain, &data, 1), 1);
	assert_int_equal(nvtxDomainRangePop(domain), 0);
	range = nvtxRangeStartPayload(domain, &data, 1);
	assert_int_not_equal(range, 0);
	nvtxRangeEndPayload(domain, range, &data, 1);
	nvtxMarkPayload(domain, &data, 1);
	assert_int_equal(nvtxDomainIsEnabled(domain), 1);
}

#else

static void payload_extension_calls_us(void **state)
{
	(void)state;
	print_message("SKIP: built without the headers of NVTX's payload extension\n");
	skip();
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(nvtx_calls_us),
					   cmocka_unit_test(payload_extension_calls_us)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
