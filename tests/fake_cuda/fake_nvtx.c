// SPDX-License-Identifier: MIT
#include "fake_nvtx.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define MARK_A 2

static nvtx_abi_function core[NVTX_ABI_CORE_SIZE], core2[NVTX_ABI_CORE2_SIZE];
static nvtx_abi_function *core_places[NVTX_ABI_CORE_SIZE + 1];
static nvtx_abi_function *core2_places[NVTX_ABI_CORE2_SIZE + 1];

/* As in NVTX: index 0 is unused, and the size is one more than the highest index. */
static int get_table(uint32_t module, nvtx_abi_function ***table, unsigned int *size)
{
	nvtx_abi_function **places = module == NVTX_ABI_MODULE_CORE    ? core_places
				     : module == NVTX_ABI_MODULE_CORE2 ? core2_places
								       : NULL;

	if (!places)
		return 0;
	for (unsigned int i = 1; i < NVTX_ABI_CORE_SIZE; i++)
		places[i] = module == NVTX_ABI_MODULE_CORE ? &core[i] : &core2[i];
	if (table)
		*table = places;
	if (size)
		*size = NVTX_ABI_CORE_SIZE;
	return 1;
}

static const void *get_export_table(uint32_t id)
{
	static const struct nvtx_abi_callbacks callbacks = {sizeof(callbacks), get_table};

	return id == NVTX_ABI_TABLE_CALLBACKS ? &callbacks : NULL;
}

static void start(void)
{
	const char *path = getenv(NVTX_ABI_PATH_ENV), *version = getenv("FAKE_NVTX_VERSION");
	void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*init)(nvtx_abi_get_export_table);

	if (!library)
		return;
	init = (int (*)(nvtx_abi_get_export_table))dlsym(
		library, version && strcmp(version, "2") == 0 ? "InitializeInjectionNvtx"
							      : "InitializeInjectionNvtx2");
	if (!init || !init(get_export_table)) {
		memset(core, 0, sizeof(core));
		memset(core2, 0, sizeof(core2));
	}
}

static void start_once(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, start);
}

/* FUNCTION(result, name, table, place, parameters' types, parameters, arguments, otherwise) */
#define FUNCTION(result, name, table, place, types, parameters, arguments, otherwise)             \
	EXPORT result name parameters                                                             \
	{                                                                                         \
		start_once();                                                                     \
		return (table)[place] ? ((result(*) types)(table)[place])arguments : (otherwise); \
	}

#define NOT_TRACKED NVTX_ABI_NO_PUSH_POP_TRACKING

FUNCTION(int, nvtxRangePushA, core, NVTX_ABI_RANGE_PUSH_A, (const char *), (const char *message),
	 (message), NOT_TRACKED)
FUNCTION(int, nvtxRangePushW, core, NVTX_ABI_RANGE_PUSH_W, (const wchar_t *),
	 (const wchar_t *message), (message), NOT_TRACKED)
FUNCTION(int, nvtxRangePushEx, core, NVTX_ABI_RANGE_PUSH_EX, (const nvtxEventAttributes_t *),
	 (const nvtxEventAttributes_t *attributes), (attributes), NOT_TRACKED)
FUNCTION(int, nvtxRangePop, core, NVTX_ABI_RANGE_POP, (void), (void), (), NOT_TRACKED)
FUNCTION(uint64_t, nvtxRangeStartA, core, NVTX_ABI_RANGE_START_A, (const char *),
	 (const char *message), (message), 0)
FUNCTION(void *, nvtxDomainCreateA, core2, NVTX_ABI_DOMAIN_CREATE_A, (const char *),
	 (const char *name), (name), NULL)
FUNCTION(void *, nvtxDomainRegisterStringA, core2, NVTX_ABI_DOMAIN_REGISTER_STRING_A,
	 (void *, const char *), (void *domain, const char *text), (domain, text), NULL)
FUNCTION(int, nvtxDomainRangePushEx, core2, NVTX_ABI_DOMAIN_RANGE_PUSH_EX,
	 (void *, const nvtxEventAttributes_t *),
	 (void *domain, const nvtxEventAttributes_t *attributes), (domain, attributes), NOT_TRACKED)
FUNCTION(int, nvtxDomainRangePop, core2, NVTX_ABI_DOMAIN_RANGE_POP, (void *), (void *domain),
	 (domain), NOT_TRACKED)

/* ---- the payload extension ---- */

static intptr_t payload[NVTX_ABI_PAYLOAD_SIZE];

static void start_extension(void)
{
	const char *path = getenv(NVTX_ABI_PATH_ENV);
	void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
	struct nvtx_abi_segment segment = {0, NVTX_ABI_PAYLOAD_SIZE, payload};
	struct nvtx_abi_extension extension = {.version = 3,
					       .struct_size = sizeof(extension),
					       .module = NVTX_ABI_EXTENSION_PAYLOAD,
					       .segment_count = 1,
					       .segments = &segment};
	int (*init)(struct nvtx_abi_extension *);

	init = library ? (int (*)(struct nvtx_abi_extension *))dlsym(
				 library, "InitializeInjectionNvtxExtension")
		       : NULL;
	if (!init || !init(&extension))
		memset(payload, 0, sizeof(payload));
}

static void start_extension_once(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	start_once();
	pthread_once(&once, start_extension);
}

EXPORT uint64_t nvtxPayloadSchemaRegister(void *domain, const struct nvtx_abi_schema *schema)
{
	intptr_t f;

	start_extension_once();
	f = payload[NVTX_ABI_PAYLOAD_SCHEMA_REGISTER];
	return f ? ((uint64_t(*)(void *, const struct nvtx_abi_schema *))f)(domain, schema) : 0;
}

EXPORT int nvtxRangePopPayload(void *domain, const struct nvtx_abi_payload *payloads, size_t count)
{
	intptr_t f;

	start_extension_once();
	f = payload[NVTX_ABI_RANGE_POP_PAYLOAD];
	return f ? ((int (*)(void *, const struct nvtx_abi_payload *, size_t))f)(domain, payloads,
										 count)
		 : NOT_TRACKED;
}

EXPORT void nvtxRangeEnd(uint64_t range)
{
	start_once();
	if (core[NVTX_ABI_RANGE_END])
		((void (*)(uint64_t))core[NVTX_ABI_RANGE_END])(range);
}

EXPORT void nvtxMarkA(const char *message)
{
	start_once();
	if (core[MARK_A])
		((void (*)(const char *))core[MARK_A])(message);
}
