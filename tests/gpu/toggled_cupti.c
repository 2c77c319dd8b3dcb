/* SPDX-License-Identifier: MIT */
/*
 * Measures what being called at launches costs, within one process: rounds of two processes differ
 * by more than what a callback takes. To be built as a file "libcupti.so", linked with the real
 * libcupti, and preloaded: then it is the libcupti that profile finds
 * (cupti_trace/core/cupti_api.h), and what it does not define comes from the real one.
 *
 * It remembers for which functions of the runtime and the driver the subscriber wants to be called.
 * The program, which finds the functions below through dlsym, has these calls on or off while the
 * records of what the GPU does go on: launch_cost by bursts, train_toggled.py by blocks of a few
 * launches. Calls may also end here, as if the subscriber did nothing: what CUPTI takes to make
 * them.
 */
#define _GNU_SOURCE
#include <cupti.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CBIDS 1024u

enum { RUNTIME = 1, DRIVER = 2, EMPTY = 4 };

static CUpti_SubscriberHandle subscriber;
static CUpti_CallbackFunc subscribers_callback;
static uint8_t wanted[CBIDS]; /* RUNTIME, DRIVER, both */
static unsigned int on = RUNTIME | DRIVER;
static bool may_be_empty;

static void *real(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (!function)
		abort();
	return function;
}

static unsigned int bit_of(CUpti_CallbackDomain domain)
{
	return domain == CUPTI_CB_DOMAIN_RUNTIME_API  ? RUNTIME
	       : domain == CUPTI_CB_DOMAIN_DRIVER_API ? DRIVER
						      : 0;
}

static CUptiResult enable(uint32_t want, CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
	CUptiResult (*function)(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain,
				CUpti_CallbackId) = real("cuptiEnableCallback");

	return function(want, subscriber, domain, id);
}

/*
 * Only where EMPTY is wanted: it takes time itself. Its last act is the call, so it is not in the
 * stacks that the subscriber takes.
 */
static void CUPTIAPI pass_on(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			     const void *data)
{
	if (!(on & EMPTY) || !bit_of(domain))
		subscribers_callback(user, domain, id, data);
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback, void *user)
{
	CUptiResult (*function)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *) =
		real("cuptiSubscribe");
	CUptiResult result;

	subscribers_callback = callback;
	result = function(handle, may_be_empty ? pass_on : callback, user);
	if (result == CUPTI_SUCCESS)
		subscriber = *handle;
	return result;
}

CUptiResult cuptiEnableCallback(uint32_t want, CUpti_SubscriberHandle handle,
				CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
	unsigned int bit = bit_of(domain);

	(void)handle;
	if (bit && id < CBIDS)
		wanted[id] = (uint8_t)(want ? wanted[id] | bit : wanted[id] & ~bit);
	return bit && want && !(on & bit) ? CUPTI_SUCCESS : enable(want, domain, id);
}

/* Before CUDA begins: EMPTY is going to be wanted. */
void cupti_toggle_empty(void)
{
	may_be_empty = true;
}

/*
 * WANT: RUNTIME, DRIVER, both or none; with EMPTY nothing comes of the calls. Returns how many
 * functions the subscriber wants to be called for, in both domains.
 */
unsigned int cupti_toggle(unsigned int want)
{
	unsigned int count = 0;

	for (uint32_t id = 0; id < CBIDS; id++) {
		if (wanted[id] & RUNTIME)
			count++, enable(!!(want & RUNTIME), CUPTI_CB_DOMAIN_RUNTIME_API, id);
		if (wanted[id] & DRIVER)
			count++, enable(!!(want & DRIVER), CUPTI_CB_DOMAIN_DRIVER_API, id);
	}
	on = want;
	return count;
}

/* ---- blocks of launches ---- */

#define LAUNCHES 128u /* by nvcc's code, in a block */

/*
 * A block lies between two launches of one step of the program, with the calls of one mode. Over as
 * many steps as there are modes, the block at a place gets each mode once; which comes first is
 * drawn.
 */
struct block {
	uint32_t place; /* in its step */
	uint32_t mode;  /* its place among the modes */
	uint64_t ns;
};

static struct {
	const unsigned int *modes; /* for cupti_toggle; NULL: no blocks */
	uint32_t mode_count;
	struct block *list;
	size_t count, most;
	uint64_t step, seed;
	uint32_t place, launches; /* the open block's */
	uint64_t start;           /* the open block's start, ns; 0: none is open */
} blocks;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void end_block(uint64_t now)
{
	if (blocks.start && blocks.count < blocks.most) {
		blocks.list[blocks.count].ns = now - blocks.start;
		blocks.count++;
	}
	blocks.start = 0;
}

/* SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014). */
static uint64_t random_of(uint64_t number)
{
	number *= 0x9e3779b97f4a7c15u;
	number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
	number = (number ^ number >> 27) * 0x94d049bb133111ebu;
	return number ^ number >> 31;
}

/* Sets the mode; the time that this takes counts for no block. */
static void begin_block(uint32_t place)
{
	uint64_t first = random_of(blocks.seed + (blocks.step / blocks.mode_count << 32) + place);
	uint32_t mode = (uint32_t)((first + blocks.step) % blocks.mode_count);

	cupti_toggle(blocks.modes[mode]);
	if (blocks.count < blocks.most)
		blocks.list[blocks.count] = (struct block){.place = place, .mode = mode};
	blocks.place = place;
	blocks.launches = 0;
	blocks.start = now_ns();
}

/*
 * Each block from now on has one of these modes, and is noted in `list`, as long as there is room.
 * Both belong to the caller, until it gives no modes. The program's threads must take turns to
 * launch.
 */
void cupti_blocks(const unsigned int *modes, uint32_t mode_count, struct block *list, size_t most)
{
	blocks.modes = mode_count ? modes : NULL;
	blocks.mode_count = mode_count;
	blocks.list = list;
	blocks.most = most;
	blocks.count = 0;
	blocks.start = 0;
	blocks.step = UINT64_MAX; /* before the first */
	blocks.seed = now_ns();
}

/* A step of the program begins, or the last one has ended. Returns how many blocks are noted. */
size_t cupti_blocks_step(void)
{
	end_block(now_ns());
	blocks.step++;
	if (blocks.modes)
		begin_block(0);
	return blocks.count;
}

static int find_runtime(struct dl_phdr_info *info, size_t size, void *handle)
{
	(void)size;
	if (strstr(info->dlpi_name, "libcudart.so"))
		*(void **)handle = dlopen(info->dlpi_name, RTLD_NOW | RTLD_NOLOAD);
	return *(void **)handle != NULL;
}

/* The runtime may have been loaded for others alone, so RTLD_NEXT does not do. */
static void *runtimes(const char *name)
{
	void *handle = NULL, *function;

	dl_iterate_phdr(find_runtime, &handle);
	function = handle ? dlsym(handle, name) : NULL;
	if (!function)
		abort();
	return function;
}

typedef cudaError_t launch_function(const void *, dim3, dim3, void **, size_t, cudaStream_t);

static launch_function *next_launch(launch_function *launch, const char *name)
{
	if (blocks.start && ++blocks.launches > LAUNCHES) {
		end_block(now_ns());
		begin_block(blocks.place + 1);
		blocks.launches = 1;
	}
	return launch ? launch : (launch_function *)runtimes(name);
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments,
			     size_t shared_bytes, cudaStream_t stream)
{
	static launch_function *launch;

	launch = next_launch(launch, "cudaLaunchKernel");
	return launch(function, grid, block, arguments, shared_bytes, stream);
}

/* Called by nvcc's code instead, from CUDA 13 on. */
launch_function __cudaLaunchKernel;

cudaError_t __cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments,
			       size_t shared_bytes, cudaStream_t stream)
{
	static launch_function *launch;

	launch = next_launch(launch, "__cudaLaunchKernel");
	return launch(kernel, grid, block, arguments, shared_bytes, stream);
}
