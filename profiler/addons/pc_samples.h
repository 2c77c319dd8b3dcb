/* SPDX-License-Identifier: MIT */
/*
 * PC samples of kernels (--stalls): where their warps were, and why they issued no instruction. Not
 * to be confused with warp_stalls.h, kernels that wait for pages. No I/O.
 *
 * The input: samples summed up by function, place and reason, and the line tables of cubins, in
 * pieces. When all is known, the time of each row of a kernel is split by the shares of samples,
 * over all processes. By default CUPTI does not say which launch a sample is of, so these are the
 * shares of all samples of the kernel: one that does other things at one launch than at another
 * shows their mean at both. Time is neither added nor lost; the kernel's own frame keeps the number
 * of its launches, and what could not be split.
 *
 * With --stalls=exact samples have the correlation id of their launch. They are held until the join
 * has found it (join.h: JOIN_REMARK), and then are those of its stack and kernel. A row whose stack
 * has none of its own, as of kernels in graphs, is split by the mean.
 *
 *   launch stack; kernel; device functions inlined or called; file.cu:12; [stall: long scoreboard]
 *
 * Matched by name: the samples' functions that are kernels have their names. Those of device
 * functions in sections of their own (-rdc=true) are of no known kernel, and only counted.
 *
 * Samples go through the profile's sink, as notes of when they came: a program sends them once a
 * second, or with --stalls=exact every 50 ms. So with --last time is split by the samples that came
 * in the last seconds.
 *
 * Bounded: PC_SAMPLES_MAX sums (then those of a launch are added to their kernel's only), as many
 * lines of samples that wait, PC_SAMPLES_OFFSETS sums by instruction, PC_SAMPLES_CUBINS cubins, and
 * a row is split into fewer parts if there would be more than PC_SAMPLES_PARTS in all: then the
 * smallest are one, "[other stalls]".
 */
#ifndef PROFILER_ADDONS_PC_SAMPLES_H
#define PROFILER_ADDONS_PC_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/wire/gpu_event.h"
#include "profiler/addons/addon.h"
#include "profiler/base/quota.h"
#include "profiler/model/ledger.h"
#include "profiler/model/profile.h"
#include "profiler/model/profile_sink.h"
#include "profiler/model/stack_table.h"
#include "profiler/model/stall_places.h"
#include "symbolize/util/id_map.h"
#include "symbolize/util/record_set.h"

#define PC_SAMPLES_MAX (1u << 19)
#define PC_SAMPLES_OFFSETS (1u << 18)
#define PC_SAMPLES_PARTS (1u << 17)
#define PC_SAMPLES_NONE UINT32_MAX
#define PC_SAMPLES_CUBINS (1u << 14)
#define PC_SAMPLES_PARTS_OF_ROW 512u

/* The interned copy of a text; NULL: over a limit. */
typedef const char *(*pc_samples_keep)(void *context, const char *text);

struct pc_sample_sums {
	RECORD_SET(struct pc_sample);
};

/* Zero-initialise, then set what is borrowed. */
struct pc_samples {
	/* other bounds than PC_SAMPLES_MAX, PC_SAMPLES_OFFSETS and PC_SAMPLES_PARTS; 0: these */
	uint32_t max, offsets_max, parts_max;
	struct pc_sample_sums sums; /* what splits time: by launch and, if there are lines, place */
	struct pc_sample_sums offsets; /* by kernel, place and reason */
	struct held_samples *held;     /* that wait for their launch */
	uint32_t held_count, held_capacity;
	uint32_t held_free; /* a list of those that may be used again: number + 1 */
	RECORD_SET(struct cubin_pieces) cubins;
	struct id_map reasons;        /* by process and id: texts */
	struct quota *memory;         /* what is kept is taken from it; borrowed */
	struct ledger_stalls *ledger; /* borrowed */
	struct profile_sink *sink;    /* borrowed; its `take_note` calls pc_samples_note */
	pc_samples_keep keep;
	void *context;
	bool is_exact; /* rows without samples of their own are counted */
};

void pc_samples_release(struct pc_samples *s);

/* Events of a process, by its id. 0 or -ENOMEM; what is refused is counted in the ledger. */
int pc_samples_add_cubin(struct pc_samples *s, uint32_t process, const struct gpu_event_cubin *e);
int pc_samples_add_reason(struct pc_samples *s, uint32_t process, const struct gpu_event_stall *e);
/* `function`: its mangled name, interned. */
int pc_samples_add(struct pc_samples *s, uint32_t process, const struct gpu_event_pcs *e,
		   const char *function);
/*
 * Holds the samples of a launch, which is to be found first: then pc_samples_place is called with
 * the number that this returns, once. PC_SAMPLES_NONE: there is no room.
 */
uint32_t pc_samples_hold(struct pc_samples *s, uint32_t process, const struct gpu_event_pcs *e,
			 const char *function);
const char *pc_samples_function(const struct pc_samples *s, uint32_t number);
/* `stack`: that of the launch and its kernel; STACK_EMPTY: it was not found. */
void pc_samples_place(struct pc_samples *s, uint32_t number, struct stack_id stack);

void pc_samples_add_totals(struct pc_samples *s, const struct gpu_event_pc_totals *e);

/* Takes in what went through the sink: NOTE_PC_SAMPLES, NOTE_PC_TOTALS. */
void pc_samples_note(struct pc_samples *s, const struct profile_item *note);

/*
 * All is known: splits the rows of kernels that have samples, and lists at which instructions these
 * are in `tables`.
 */
void pc_samples_split(struct pc_samples *s, struct stack_table *stacks, struct profile *profile,
		      struct result_tables *tables);

/* Wanted with --stalls. */
extern const struct addon addon_pc_samples;

#endif
