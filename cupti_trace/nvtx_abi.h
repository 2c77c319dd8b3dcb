/* SPDX-License-Identifier: MIT */
/*
 * The part of NVTX's binary interface to tools that is used, declared here so that building needs
 * no NVTX headers. Source: NVTX 3, nvtx3/nvToolsExt.h and nvtx3/nvtxDetail/nvtxTypes.h. Where those
 * are installed, tests/unit/test_nvtx_abi.c compares every value, offset and signature.
 *
 * NVTX lies in the program itself. At its first call there it loads the library that
 * NVTX_INJECTION64_PATH names and calls its InitializeInjectionNvtx2 with a function that hands out
 * tables. The table NVTX_ABI_TABLE_CALLBACKS has a function that gives, for each module, an array
 * of places of function pointers: what the tool puts there is called from then on, what it leaves
 * alone does nothing. A program may hold several copies of NVTX; each does this for itself.
 */
#ifndef CUPTI_TRACE_NVTX_ABI_H
#define CUPTI_TRACE_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#define NVTX_ABI_PATH_ENV "NVTX_INJECTION64_PATH"
#define NVTX_ABI_TABLE_CALLBACKS 1u

/* What push and pop return where ranges are not followed. */
#define NVTX_ABI_NO_PUSH_POP_TRACKING (-2)

/* Modules, of those tables that are filled. */
enum { NVTX_ABI_MODULE_CORE = 1, NVTX_ABI_MODULE_CORE2 = 5 };

/* Places in the table of NVTX_ABI_MODULE_CORE. */
enum {
	NVTX_ABI_RANGE_START_EX = 4,
	NVTX_ABI_RANGE_START_A = 5,
	NVTX_ABI_RANGE_START_W = 6,
	NVTX_ABI_RANGE_END = 7,
	NVTX_ABI_RANGE_PUSH_EX = 8,
	NVTX_ABI_RANGE_PUSH_A = 9,
	NVTX_ABI_RANGE_PUSH_W = 10,
	NVTX_ABI_RANGE_POP = 11,
	NVTX_ABI_CORE_SIZE = 16,
};

/* Places in the table of NVTX_ABI_MODULE_CORE2. */
enum {
	NVTX_ABI_DOMAIN_RANGE_START_EX = 2,
	NVTX_ABI_DOMAIN_RANGE_END = 3,
	NVTX_ABI_DOMAIN_RANGE_PUSH_EX = 4,
	NVTX_ABI_DOMAIN_RANGE_POP = 5,
	NVTX_ABI_DOMAIN_REGISTER_STRING_A = 10,
	NVTX_ABI_DOMAIN_REGISTER_STRING_W = 11,
	NVTX_ABI_DOMAIN_CREATE_A = 12,
	NVTX_ABI_DOMAIN_CREATE_W = 13,
	NVTX_ABI_CORE2_SIZE = 16,
};

typedef void (*nvtx_abi_function)(void);

/* nvtxEventAttributes_t. A later version may be longer: `size` is what the caller has. */
struct nvtx_abi_attributes {
	uint16_t version;
	uint16_t size;
	uint32_t category;
	int32_t color_type; /* NVTX_ABI_COLOR_ARGB: `color` is given */
	uint32_t color;
	int32_t payload_type;
	int32_t reserved;
	uint64_t payload;
	int32_t message_type; /* what `message` is */
	union {
		const char *ascii;
		const wchar_t *wide;
		const void *registered; /* what DomainRegisterString returned */
	} message;
};

enum { NVTX_ABI_COLOR_ARGB = 1 };

enum {
	NVTX_ABI_MESSAGE_ASCII = 1, /* in practice UTF-8 */
	NVTX_ABI_MESSAGE_WIDE = 2,
	NVTX_ABI_MESSAGE_REGISTERED = 3,
};

/* NvtxExportTableCallbacks. Domains and registered strings are pointers that only we read. */
struct nvtx_abi_callbacks {
	size_t struct_size;
	/* returns 1, or 0 for a module it does not know; *size: places in the table */
	int (*get_table)(uint32_t module, nvtx_abi_function ***table, unsigned int *size);
};

typedef const void *(*nvtx_abi_get_export_table)(uint32_t table);

/* What this library exports to NVTX 3, and to libnvToolsExt.so of NVTX 2. 1: success. */
int InitializeInjectionNvtx2(nvtx_abi_get_export_table get_export_table);
int InitializeInjectionNvtx(nvtx_abi_get_export_table get_export_table);

#endif
