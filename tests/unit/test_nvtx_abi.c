/* SPDX-License-Identifier: MIT */
/*
 * Compares cupti_trace/nvtx_abi.h with NVTX's headers, if they are installed, and runs them
 * together: this program then uses NVTX, with our functions in its tables.
 */
#include "unit.h"

#include "cupti_trace/gpu_wire.h"
#include "cupti_trace/nvtx_abi.h"

#if defined(__has_include) && __has_include(<nvtx3/nvToolsExt.h>)
#define NVTX_SUPPORT_STATIC_INJECTION_LIBRARY 1
#include <nvtx3/nvToolsExt.h>
#define HAVE_NVTX 1
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
	setenv(GPU_WIRE_NVTX_ENV, "1", 1);
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

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(nvtx_calls_us)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
