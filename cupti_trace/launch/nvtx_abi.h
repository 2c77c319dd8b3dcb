/* SPDX-License-Identifier: MIT */
/*
 * Declares the part of NVTX's binary interface to tools that is used, so that building needs no
 * NVTX headers.
 *
 * Source: NVTX 3, nvtx3/nvToolsExt.h, nvtx3/nvToolsExtPayload.h, and nvtxTypes.h and nvtxExtTypes.h
 * in nvtx3/nvtxDetail. If those are installed, tests/unit/test_nvtx_abi.c compares every value,
 * offset and signature.
 *
 * NVTX is compiled into the program. At its first call it loads the library that
 * NVTX_INJECTION64_PATH names and calls its InitializeInjectionNvtx2, with a function that returns
 * tables. The table NVTX_ABI_TABLE_CALLBACKS has a function that returns an array of function
 * pointers for each module. The tool overwrites pointers to be called; the others do nothing. A
 * program may hold several copies of NVTX, each of which does this.
 *
 * At its own first call, each extension of NVTX calls InitializeInjectionNvtxExtension with a
 * description of its tables. The payload extension has functions which push, pop, start and end
 * ranges of NVTX's own domains. A range that one interface opened may be closed by the other.
 */
#ifndef CUPTI_TRACE_LAUNCH_NVTX_ABI_H
#define CUPTI_TRACE_LAUNCH_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#define NVTX_ABI_PATH_ENV "NVTX_INJECTION64_PATH"
#define NVTX_ABI_TABLE_CALLBACKS 1u

/* Result of push and pop if ranges are not followed. */
#define NVTX_ABI_NO_PUSH_POP_TRACKING (-2)

/* Modules of the tables that are filled. */
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

/* nvtxEventAttributes_t. A later version may be longer: `size` is the caller's. */
struct nvtx_abi_attributes {
	uint16_t version;
	uint16_t size;
	uint32_t category;
	int32_t color_type; /* NVTX_ABI_COLOR_ARGB: `color` is given */
	uint32_t color;
	int32_t payload_type;
	int32_t reserved;
	uint64_t payload;
	int32_t message_type; /* type of `message` */
	union {
		const char *ascii;
		const wchar_t *wide;
		const void *registered; /* result of DomainRegisterString */
	} message;
};

enum { NVTX_ABI_COLOR_ARGB = 1 };

/* A payload type: `payload` is the address of `reserved` payloads (struct nvtx_abi_payload). */
#define NVTX_ABI_PAYLOAD_EXTENDED ((int32_t)0xdfbd0009)

enum {
	NVTX_ABI_MESSAGE_ASCII = 1, /* in practice UTF-8 */
	NVTX_ABI_MESSAGE_WIDE = 2,
	NVTX_ABI_MESSAGE_REGISTERED = 3,
};

/* NvtxExportTableCallbacks. Domains and registered strings are pointers that only we read. */
struct nvtx_abi_callbacks {
	size_t struct_size;
	/* returns 1, or 0 for an unknown module; *size: places in the table */
	int (*get_table)(uint32_t module, nvtx_abi_function ***table, unsigned int *size);
};

typedef const void *(*nvtx_abi_get_export_table)(uint32_t table);

/* ---- extensions ---- */

enum { NVTX_ABI_EXTENSION_PAYLOAD = 2 };

/* Places in the table of NVTX_ABI_EXTENSION_PAYLOAD. */
enum {
	NVTX_ABI_PAYLOAD_SCHEMA_REGISTER = 0,
	NVTX_ABI_PAYLOAD_ENUM_REGISTER = 1,
	NVTX_ABI_RANGE_PUSH_PAYLOAD = 3,
	NVTX_ABI_RANGE_POP_PAYLOAD = 4,
	NVTX_ABI_RANGE_START_PAYLOAD = 5,
	NVTX_ABI_RANGE_END_PAYLOAD = 6,
	NVTX_ABI_PAYLOAD_SIZE = 7,
};

/* nvtxExtModuleSegment_t. A slot with 0 is free: the tool stores a function there. */
struct nvtx_abi_segment {
	size_t id;
	size_t slot_count;
	intptr_t *slots;
};

/* nvtxExtModuleInfo_t. A later version may be longer: `struct_size` is the caller's. */
struct nvtx_abi_extension {
	uint16_t version;
	uint16_t struct_size;
	uint16_t module; /* NVTX_ABI_EXTENSION_PAYLOAD, or one that is not followed */
	uint16_t compatibility;
	size_t segment_count;
	struct nvtx_abi_segment *segments;
	intptr_t (*get_export)(uint32_t function);
	const void *info;
};

/* nvtxPayloadData_t */
struct nvtx_abi_payload {
	uint64_t schema;
	size_t size; /* SIZE_MAX: not given */
	const void *data;
};

/* nvtxPayloadSchemaEntry_t */
struct nvtx_abi_entry {
	uint64_t flags;
	uint64_t type; /* a type below, another one, or a schema */
	const char *name;
	const char *description;
	uint64_t detail; /* length of an array */
	uint64_t offset; /* 0: after the entry before, by its alignment */
	const void *semantics;
	const void *reserved;
};

/* Flags of an entry. */
#define NVTX_ABI_ENTRY_IS_POINTER (UINT64_C(1) << 1)
#define NVTX_ABI_ENTRY_ARRAY (UINT64_C(7) << 4)    /* mask: the kind of array */
#define NVTX_ABI_ENTRY_MEANING (UINT64_C(3) << 10) /* mask: meaning for the event */

enum {
	NVTX_ABI_ENTRY_ARRAY_FIXED = 1 << 4,
	NVTX_ABI_ENTRY_ARRAY_ZERO = 2 << 4, /* up to a zero */
	NVTX_ABI_ENTRY_IS_MESSAGE = 1 << 10,
};

/* Types of an entry. */
enum {
	NVTX_ABI_ENTRY_CHAR = 1,
	NVTX_ABI_ENTRY_CHAR8 = 25,
	NVTX_ABI_ENTRY_CHAR32 = 27, /* the last of C's own types */
	NVTX_ABI_ENTRY_CATEGORY = 68,
	NVTX_ABI_ENTRY_TEXT = 75, /* pointers */
	NVTX_ABI_ENTRY_TEXT_UTF8 = 76,
	NVTX_ABI_ENTRY_TEXT_UTF32 = 78,
	NVTX_ABI_ENTRY_REGISTERED = 80,
};

/* nvtxPayloadSchemaAttr_t and nvtxPayloadEnumAttr_t. Masks tell which fields are set. */
struct nvtx_abi_schema {
	uint64_t fields;
	const char *name;
	uint64_t type;
	uint64_t flags;
	const struct nvtx_abi_entry *entries;
	size_t entry_count;
	size_t size;
	size_t alignment; /* maximum for entries, if NVTX_ABI_SCHEMA_HAS_ALIGNMENT */
	uint64_t id;
	void *extension;
};

struct nvtx_abi_enumeration {
	uint64_t fields;
	const char *name;
	const void *entries;
	size_t entry_count;
	size_t size;
	uint64_t id;
	void *extension;
};

#define NVTX_ABI_SCHEMA_HAS_SIZE (UINT64_C(1) << 6)
#define NVTX_ABI_SCHEMA_HAS_ALIGNMENT (UINT64_C(1) << 7)
#define NVTX_ABI_SCHEMA_HAS_ID (UINT64_C(1) << 8)
#define NVTX_ABI_ENUMERATION_HAS_ID (UINT64_C(1) << 5)

/* Ids of schemas from here on are the tool's; lower ones are the program's. */
#define NVTX_ABI_SCHEMA_FIRST_OF_TOOL (UINT64_C(1) << 32)

/* ---- exports ---- */

/*
 * Starts the library; exported to NVTX 3, and to libnvToolsExt.so of NVTX 2. Returns 1 for success.
 */
int InitializeInjectionNvtx2(nvtx_abi_get_export_table get_export_table);
int InitializeInjectionNvtx(nvtx_abi_get_export_table get_export_table);

/* Starts an extension of NVTX 3; exported to it. Returns 1 for success. */
int InitializeInjectionNvtxExtension(struct nvtx_abi_extension *extension);

#endif
