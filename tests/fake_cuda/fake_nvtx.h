/* SPDX-License-Identifier: MIT */
/*
 * A stand-in for NVTX as a library: its first call loads the library named by
 * NVTX_INJECTION64_PATH, and from then on it calls the functions in its tables, as NVIDIA's headers
 * do inside a program. FAKE_NVTX_VERSION=2 in the environment: behaves like libnvToolsExt.so of
 * NVTX 2.
 */
#ifndef TESTS_FAKE_CUDA_FAKE_NVTX_H
#define TESTS_FAKE_CUDA_FAKE_NVTX_H

#include <stdint.h>
#include "../../cupti_trace/launch/nvtx_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nvtx_abi_attributes nvtxEventAttributes_t;

int nvtxRangePushA(const char *message);
int nvtxRangePushW(const wchar_t *message);
int nvtxRangePushEx(const nvtxEventAttributes_t *attributes);
int nvtxRangePop(void);
uint64_t nvtxRangeStartA(const char *message);
void nvtxRangeEnd(uint64_t range);
void nvtxMarkA(const char *message);
void *nvtxDomainCreateA(const char *name);
void *nvtxDomainRegisterStringA(void *domain, const char *text);
int nvtxDomainRangePushEx(void *domain, const nvtxEventAttributes_t *attributes);
int nvtxDomainRangePop(void *domain);

/* The payload extension, which loads the library's entry for it at its own first call. */
uint64_t nvtxPayloadSchemaRegister(void *domain, const struct nvtx_abi_schema *schema);
int nvtxRangePopPayload(void *domain, const struct nvtx_abi_payload *payloads, size_t count);

#ifdef __cplusplus
}
#endif

#endif
