// SPDX-License-Identifier: MIT
#include "cupti_trace/core/api_function.h"

#include <string.h>
#include "cupti_trace/core/cupti_abi.h"
#include "symbolize/util/text.h"

/* Highest callback ids of CUDA 13.0 (cupti_runtime_cbid.h, cupti_driver_cbid.h). */
#define NEWEST_RUNTIME_CBID 522
#define NEWEST_DRIVER_CBID 806

#define VERSION_DIGITS 4 /* "_v7000" is a CUDA version, "_v2" a version of the function */

/* Returns the length without a suffix of "_v" and at least `digits` digits. */
static size_t without_version(const char *name, size_t length, size_t digits)
{
	size_t n = length;

	while (n > 0 && name[n - 1] >= '0' && name[n - 1] <= '9')
		n--;
	if (length - n < digits || n < 2 || name[n - 1] != 'v' || name[n - 2] != '_')
		return length;
	return n - 2;
}

static size_t without_stream(const char *name, size_t length)
{
	if (length > 5 && (memcmp(name + length - 5, "_ptsz", 5) == 0 ||
			   memcmp(name + length - 5, "_ptds", 5) == 0))
		return length - 5;
	return length;
}

void api_function_name(const char *name, char *out, size_t size)
{
	size_t n = without_version(name, strlen(name), VERSION_DIGITS);

	if (n >= size)
		n = size - 1;
	memcpy(out, name, n);
	out[n] = '\0';
}

size_t api_function_length(const char *name)
{
	return without_stream(name, without_version(name, strlen(name), VERSION_DIGITS));
}

/* Returns the length without all suffixes, which come in any order. */
static size_t base_length(const char *name)
{
	size_t n = strlen(name), before;

	do {
		before = n;
		n = without_version(name, n, 1);
		n = without_stream(name, n);
	} while (n != before);
	return n;
}

/*
 * Returns "LaunchKernel" for "cudaLaunchKernel" and "cuLaunchKernel"; NULL if the function belongs
 * to neither interface.
 */
static const char *without_prefix(const char *name)
{
	if (starts_with(name, "cuda"))
		return name + 4;
	if (starts_with(name, "cu64"))
		return name + 4;
	return starts_with(name, "cu") ? name + 2 : NULL;
}

bool api_function_is_in(const char *list, const char *name, size_t length)
{
	size_t n;

	for (; *list; list += n + (list[n] == ' ')) {
		n = strcspn(list, " ");
		if (n == length && memcmp(list, name, n) == 0)
			return true;
	}
	return false;
}

static enum api_meaning meaning_of_launch(const char *base, size_t length)
{
	if (starts_with(base, "LaunchHost"))
		return API_NOTHING; /* a function of the program */
	return api_function_is_in("Launch LaunchGrid LaunchGridAsync LaunchKernel LaunchKernelEx "
				  "LaunchKernelExC LaunchCooperativeKernel",
				  base, length)
		       ? API_KERNEL
		       : API_GRAPH;
}

static bool allocates(const char *name, const char *base)
{
	return starts_with(base, "MemAlloc") || starts_with(base, "MemFree") ||
	       starts_with(base, "MemHostAlloc") || starts_with(name, "cudaMalloc") ||
	       starts_with(name, "cudaFree") || starts_with(name, "cudaHostAlloc");
}

static enum api_meaning meaning_of(const char *name, const char *base, size_t length)
{
	if (starts_with(base, "Launch"))
		return meaning_of_launch(base, length);
	if (starts_with(base, "GraphLaunch"))
		return API_GRAPH;
	if ((starts_with(base, "GraphAdd") && strstr(base, "Node")) ||
	    starts_with(base, "GraphInstantiate") || starts_with(base, "GraphClone"))
		return API_NODE;
	if (starts_with(base, "Memcpy") || starts_with(base, "Memset") ||
	    strstr(base, "Decompress") || allocates(name, base))
		return API_OTHER;
	return API_NOTHING;
}

/* Functions whose bytes are summed. `has_record`: see api_function_has_record. */
static const struct sized {
	struct api_amount amount;
	bool has_record;
	const char *names;
} sized[] = {
	{{16, 0, 1, 24}, true, "cudaMemcpy cudaMemcpyAsync"},
	{{32, 0, 1, 0}, true, "cudaMemcpyPeer cudaMemcpyPeerAsync cuMemcpyPeer cuMemcpyPeerAsync"},
	{{16, 0, 1, 0},
	 true,
	 "cudaMemset cudaMemsetAsync cuMemcpyHtoD_v2 cuMemcpyHtoDAsync_v2 cuMemcpyDtoH_v2 "
	 "cuMemcpyDtoHAsync_v2 cuMemcpyDtoD_v2 cuMemcpyDtoDAsync_v2 cuMemsetD8_v2 "
	 "cuMemsetD8Async"},
	{{16, 0, 2, 0}, true, "cuMemsetD16_v2 cuMemsetD16Async"},
	{{16, 0, 4, 0}, true, "cuMemsetD32_v2 cuMemsetD32Async"},
	{{16, 0, 1, 0}, false, "cuMemcpy cuMemcpyAsync"},
	{{16, 0, 1, 32},
	 false,
	 "cudaMemcpyToSymbol cudaMemcpyToSymbolAsync cudaMemcpyFromSymbol "
	 "cudaMemcpyFromSymbolAsync"},
	{{32, 40, 1, 48}, false, "cudaMemcpy2D cudaMemcpy2DAsync"},
	{{24, 32, 1, 0}, false, "cudaMemset2D cudaMemset2DAsync"},
	{{8, 0, 1, 0},
	 false,
	 "cudaMalloc cudaMallocHost cudaHostAlloc cudaHostRegister cudaMallocManaged "
	 "cudaMallocAsync cudaMallocFromPoolAsync cudaMemPrefetchAsync cuMemAlloc_v2 "
	 "cuMemAllocManaged cuMemAllocHost_v2 cuMemHostAlloc cuMemHostRegister_v2 "
	 "cuMemAllocAsync cuMemAllocFromPoolAsync cuMemCreate cuMemMap cuMemUnmap "
	 "cuMemAddressReserve cuMemPrefetchAsync"},
	{{16, 24, 1, 0}, false, "cudaMallocPitch cuMemAllocPitch_v2"},
};

static struct sized find_sized(const char *name)
{
	for (size_t i = 0; i < sizeof(sized) / sizeof(sized[0]); i++)
		if (api_function_is_in(sized[i].names, name, api_function_length(name)))
			return sized[i];
	return (struct sized){.has_record = false};
}

struct api_amount api_function_amount(const char *name)
{
	return find_sized(name).amount;
}

uint64_t api_amount_bytes(const struct api_amount *amount, const void *params)
{
	uint64_t size, rows = 1, bytes;

	if (!amount->at)
		return 0;
	memcpy(&size, (const uint8_t *)params + amount->at, sizeof(size));
	if (amount->rows_at)
		memcpy(&rows, (const uint8_t *)params + amount->rows_at, sizeof(rows));
	if (__builtin_mul_overflow(size, rows, &bytes) ||
	    __builtin_mul_overflow(bytes, amount->unit, &bytes))
		return UINT64_MAX;
	return bytes;
}

uint32_t api_amount_kind(const struct api_amount *amount, const void *params)
{
	uint32_t kind;

	memcpy(&kind, (const uint8_t *)params + amount->kind_at, sizeof(kind));
	return kind;
}

bool api_function_has_record(uint8_t size_at, uint8_t kind_at, const void *params)
{
	const uint8_t *bytes = params;
	size_t size = 0;
	int32_t kind = CUPTI_ABI_MEMCPY_HTOD;

	if (!params || !size_at)
		return false;
	memcpy(&size, bytes + size_at, sizeof(size));
	if (kind_at)
		memcpy(&kind, bytes + kind_at, sizeof(kind));
	/*
	 * cudaMemcpyHostToDevice, DeviceToHost, DeviceToDevice; other kinds may stay within the
	 * host
	 */
	return size > 0 && kind >= 1 && kind <= 3;
}

struct api_function api_function_of(const char *name)
{
	const char *base = without_prefix(name);
	struct api_function f = {.meaning = API_NOTHING};
	size_t length;

	if (!base)
		return f;
	length = base_length(name) - (size_t)(base - name);
	f.meaning = meaning_of(name, base, length);
	f.allocates = allocates(name, base);
	if (f.meaning == API_OTHER && find_sized(name).has_record) {
		f.size_at = find_sized(name).amount.at;
		f.kind_at = find_sized(name).amount.kind_at;
	}
	/* the kernel follows the launch configuration */
	if (f.meaning == API_KERNEL && starts_with(base, "LaunchKernelEx"))
		f.kernel_at = sizeof(void *);
	f.runs_graph = f.meaning == API_GRAPH && starts_with(base, "GraphLaunch");
	f.returns_earlier_error =
		starts_with(base, "GetLastError") || starts_with(base, "PeekAtLastError");
	f.is_stream =
		length == strlen("StreamSynchronize") && starts_with(base, "StreamSynchronize");
	if (f.meaning == API_OTHER)
		f.waits = !strstr(base, "Async");
	else
		f.waits = strstr(base, "Synchronize") != NULL;
	f.is_enqueued = (length > 5 && memcmp(base + length - 5, "Async", 5) == 0) ||
			strstr(base, "Launch") || strstr(base, "Enqueue") || strstr(base, "Submit");
	return f;
}

bool api_function_is_new(uint32_t domain, uint32_t cbid)
{
	return cbid >
	       (domain == CUPTI_ABI_DOMAIN_DRIVER_API ? NEWEST_DRIVER_CBID : NEWEST_RUNTIME_CBID);
}
