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

static bool is_one_of(const char *base, size_t length, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(list[i]) == length && memcmp(base, list[i], length) == 0)
			return true;
	return false;
}

static enum api_meaning meaning_of_launch(const char *base, size_t length)
{
	static const char *const kernels[] = {
		"Launch",         "LaunchGrid",      "LaunchGridAsync",        "LaunchKernel",
		"LaunchKernelEx", "LaunchKernelExC", "LaunchCooperativeKernel"};

	if (starts_with(base, "LaunchHost"))
		return API_NOTHING; /* a function of the program */
	return is_one_of(base, length, kernels, sizeof(kernels) / sizeof(kernels[0])) ? API_KERNEL
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

/* Positions of the number of bytes or elements, and of the cudaMemcpyKind, in the parameters. */
static const struct sized {
	const char *name;
	uint8_t size_at, kind_at;
} sized[] = {
	{"cudaMemcpy", 16, 24},     {"cudaMemcpyAsync", 16, 24},
	{"cudaMemcpyPeer", 32, 0},  {"cudaMemcpyPeerAsync", 32, 0},
	{"cudaMemset", 16, 0},      {"cudaMemsetAsync", 16, 0},
	{"cuMemcpyHtoD_v2", 16, 0}, {"cuMemcpyHtoDAsync_v2", 16, 0},
	{"cuMemcpyDtoH_v2", 16, 0}, {"cuMemcpyDtoHAsync_v2", 16, 0},
	{"cuMemcpyDtoD_v2", 16, 0}, {"cuMemcpyDtoDAsync_v2", 16, 0},
	{"cuMemcpyPeer", 32, 0},    {"cuMemcpyPeerAsync", 32, 0},
	{"cuMemsetD8_v2", 16, 0},   {"cuMemsetD8Async", 16, 0},
	{"cuMemsetD16_v2", 16, 0},  {"cuMemsetD16Async", 16, 0},
	{"cuMemsetD32_v2", 16, 0},  {"cuMemsetD32Async", 16, 0},
};

static const struct sized *find_sized(const char *name)
{
	size_t n = api_function_length(name);

	for (size_t i = 0; i < sizeof(sized) / sizeof(sized[0]); i++)
		if (strlen(sized[i].name) == n && memcmp(sized[i].name, name, n) == 0)
			return &sized[i];
	return NULL;
}

/* More functions whose bytes are summed, besides those above. */
static const struct {
	const char *name;
	struct api_amount amount;
} amounts[] = {
	{"cuMemsetD16_v2", {16, 0, 2, 0}},
	{"cuMemsetD16Async", {16, 0, 2, 0}},
	{"cuMemsetD32_v2", {16, 0, 4, 0}},
	{"cuMemsetD32Async", {16, 0, 4, 0}},
	{"cuMemcpy", {16, 0, 1, 0}},
	{"cuMemcpyAsync", {16, 0, 1, 0}},
	{"cudaMemcpy2D", {32, 40, 1, 48}},
	{"cudaMemcpy2DAsync", {32, 40, 1, 48}},
	{"cudaMemset2D", {24, 32, 1, 0}},
	{"cudaMemset2DAsync", {24, 32, 1, 0}},
	{"cudaMemcpyToSymbol", {16, 0, 1, 32}},
	{"cudaMemcpyToSymbolAsync", {16, 0, 1, 32}},
	{"cudaMemcpyFromSymbol", {16, 0, 1, 32}},
	{"cudaMemcpyFromSymbolAsync", {16, 0, 1, 32}},
	{"cudaMalloc", {8, 0, 1, 0}},
	{"cudaMallocHost", {8, 0, 1, 0}},
	{"cudaHostAlloc", {8, 0, 1, 0}},
	{"cudaHostRegister", {8, 0, 1, 0}},
	{"cudaMallocManaged", {8, 0, 1, 0}},
	{"cudaMallocAsync", {8, 0, 1, 0}},
	{"cudaMallocFromPoolAsync", {8, 0, 1, 0}},
	{"cudaMallocPitch", {16, 24, 1, 0}},
	{"cudaMemPrefetchAsync", {8, 0, 1, 0}},
	{"cuMemAlloc_v2", {8, 0, 1, 0}},
	{"cuMemAllocPitch_v2", {16, 24, 1, 0}},
	{"cuMemAllocManaged", {8, 0, 1, 0}},
	{"cuMemAllocHost_v2", {8, 0, 1, 0}},
	{"cuMemHostAlloc", {8, 0, 1, 0}},
	{"cuMemHostRegister_v2", {8, 0, 1, 0}},
	{"cuMemAllocAsync", {8, 0, 1, 0}},
	{"cuMemAllocFromPoolAsync", {8, 0, 1, 0}},
	{"cuMemCreate", {8, 0, 1, 0}},
	{"cuMemMap", {8, 0, 1, 0}},
	{"cuMemUnmap", {8, 0, 1, 0}},
	{"cuMemAddressReserve", {8, 0, 1, 0}},
	{"cuMemPrefetchAsync", {8, 0, 1, 0}},
};

struct api_amount api_function_amount(const char *name)
{
	size_t n = api_function_length(name);
	const struct sized *s = find_sized(name);

	for (size_t i = 0; i < sizeof(amounts) / sizeof(amounts[0]); i++)
		if (strlen(amounts[i].name) == n && memcmp(amounts[i].name, name, n) == 0)
			return amounts[i].amount;
	if (!s)
		return (struct api_amount){.at = 0};
	return (struct api_amount){.at = s->size_at, .unit = 1, .kind_at = s->kind_at};
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
	if (f.meaning == API_OTHER && find_sized(name)) {
		f.size_at = find_sized(name)->size_at;
		f.kind_at = find_sized(name)->kind_at;
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
