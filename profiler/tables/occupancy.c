// SPDX-License-Identifier: MIT
#include "profiler/tables/occupancy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "symbolize/util/saturate.h"

#define WARP 32u
#define REGISTERS_AT_ONCE 256u /* registers of a warp are allocated in this unit */
#define FAR UINT64_C(0xffffffff)

static uint64_t round_up(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

/* Returns the partitions of a multiprocessor, each with a part of the registers. */
static uint32_t parts(const struct gpu_limits *l)
{
	return l->major == 6 && l->minor == 0 ? 2 : 4;
}

static uint64_t by_registers(const struct gpu_limits *l, uint32_t registers, uint64_t warps)
{
	uint64_t each = round_up((uint64_t)registers * WARP, REGISTERS_AT_ONCE);

	if (each == 0)
		return FAR;
	if (each * round_up(warps, parts(l)) > l->registers)
		return 0;
	return l->registers / parts(l) / each * parts(l) / warps;
}

/* Returns the blocks that shared memory allows. From 8.0 on CUDA reserves 1 KiB per block. */
static uint64_t by_shared(const struct gpu_limits *l, const struct timeline_shape *shape)
{
	uint64_t bytes = (uint64_t)shape->static_shared + shape->dynamic_shared;

	bytes = round_up(bytes + (l->major >= 8 ? 1024 : 0), l->major >= 8 ? 128 : 256);
	return bytes ? l->shared_bytes / bytes : FAR;
}

struct occupancy occupancy_of(const struct gpu_limits *l, const struct timeline_shape *shape)
{
	struct occupancy o = {.blocks = saturated_volume(shape->grid),
			      .block_threads = saturated_volume(shape->block)};
	uint64_t warps, allowed[4], resident = FAR;

	o.threads = saturated_product(o.blocks, o.block_threads);
	/* bounds hostile numbers; no multiprocessor has more than 2048 threads */
	if (!l->multiprocessors || !l->warps || l->warps > 1024 || o.block_threads == 0 ||
	    o.block_threads > UINT64_C(1024) * WARP || shape->registers > 1024)
		return o;
	warps = round_up(o.block_threads, WARP) / WARP;
	allowed[0] = l->warps / warps;
	allowed[1] = l->blocks;
	allowed[2] = by_registers(l, shape->registers, warps);
	allowed[3] = by_shared(l, shape);
	for (uint32_t i = 0; i < 4; i++)
		resident = allowed[i] < resident ? allowed[i] : resident;
	if (resident == 0)
		return o;
	for (uint32_t i = 0; i < 4; i++)
		if (allowed[i] == resident)
			o.limits |= 1u << i;
	o.resident = (uint32_t)resident;
	o.warps = (uint32_t)(resident * warps);
	o.most_warps = l->warps;
	o.multiprocessors = l->multiprocessors;
	o.at_once = resident * l->multiprocessors;
	return o;
}

const char *occupancy_limits_text(unsigned int limits, char text[OCCUPANCY_LIMITS_BYTES])
{
	static const char *const words[] = {"warps", "blocks", "registers", "shared memory"};
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < 4; i++)
		if (limits & 1u << i)
			used += (size_t)snprintf(text + used, OCCUPANCY_LIMITS_BYTES - used, "%s%s",
						 used ? ", " : "", words[i]);
	return text;
}

/* Returns the share of room in all waves that the last wave leaves empty. */
static double idle_in_tail(const struct occupancy *o)
{
	double waves = occupancy_waves(o), all = (double)((o->blocks - 1) / o->at_once + 1);

	return 1 - waves / all;
}

/* Returns the share of lanes without a thread in a block's warps. */
static double idle_lanes(const struct occupancy *o)
{
	uint64_t lanes = round_up(o->block_threads, WARP);

	return (double)(lanes - o->block_threads) / (double)lanes;
}

/* Returns how to occupy more multiprocessors. A block of one warp cannot be divided. */
static const char *more_blocks(const struct occupancy *o)
{
	if (o->block_threads > WARP)
		return "more or smaller blocks";
	return o->block_threads == WARP ? "more blocks" : "more blocks, each of 32 threads or more";
}

const char *occupancy_advice(const struct occupancy *o, char text[OCCUPANCY_ADVICE_BYTES])
{
	char limits[OCCUPANCY_LIMITS_BYTES];
	uint64_t lanes = round_up(o->block_threads, WARP);

	text[0] = '\0';
	if (o->at_once == 0 || o->blocks == 0)
		return text;
	if (o->blocks < o->multiprocessors)
		snprintf(text, OCCUPANCY_ADVICE_BYTES,
			 "%" PRIu64 " of %" PRIu32 " multiprocessors have no block: launch %s",
			 o->multiprocessors - o->blocks, o->multiprocessors, more_blocks(o));
	else if (o->blocks > o->at_once && idle_in_tail(o) >= 0.2 &&
		 idle_in_tail(o) >= idle_lanes(o))
		snprintf(text, OCCUPANCY_ADVICE_BYTES,
			 "the last wave has %" PRIu64 " of %" PRIu64 " blocks, so %.0f %% of the "
			 "GPU idles: fit the grid to whole waves",
			 occupancy_tail(o), o->at_once, 100 * idle_in_tail(o));
	else if (idle_lanes(o) >= 0.25)
		snprintf(text, OCCUPANCY_ADVICE_BYTES,
			 "%" PRIu64 " of the %" PRIu64 " threads of a block's warps do nothing: "
			 "use a multiple of %u threads",
			 lanes - o->block_threads, lanes, WARP);
	else if (occupancy_share(o) < 0.5)
		snprintf(text, OCCUPANCY_ADVICE_BYTES,
			 "only %" PRIu32 " of %" PRIu32 " warps fit on a multiprocessor, limited "
			 "by %s",
			 o->warps, o->most_warps, occupancy_limits_text(o->limits, limits));
	return text;
}
