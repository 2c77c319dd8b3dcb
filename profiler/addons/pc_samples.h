/* SPDX-License-Identifier: MIT */
/*
 * Splits the time of kernels by PC samples (--stalls): where their warps were, and why they issued
 * no instruction. No I/O.
 *
 * Kernels that wait for pages are another matter: warp_stalls.h.
 *
 * The input is samples, summed by function, PC and reason, and line tables of cubins, in pieces. At
 * the end, each row of a kernel is split by the shares of samples, over all processes. By default
 * CUPTI does not report the launch of a sample. So the shares are those of all samples of the
 * kernel. A kernel that behaves differently at two launches shows the mean at both. Time is neither
 * added nor lost. The kernel's own frame keeps the number of launches, and time that could not be
 * split.
 *
 * With --stalls=exact, samples have the correlation id of their launch. They are held until the
 * join finds it (gpu_operation.h: JOIN_REMARK), and then count for its stack and kernel. A row
 * whose stack has no samples, for example of kernels in graphs, is split by the mean.
 *
 *   launch stack; kernel; device functions inlined or called; file.cu:12; [stall: long scoreboard]
 *
 * Samples match kernels by name: functions that are kernels have their names. Samples of device
 * functions in sections of their own (-rdc=true) belong to an unknown kernel, and are only counted.
 *
 * Samples go through the profile's sink, as notes with the time of their arrival. A program sends
 * them once a second, or every 50 ms with --stalls=exact. So with --last, time is split by the
 * samples that arrived in the last seconds.
 *
 * Limits:
 * - PC_SAMPLES_MAX sums: further ones of a launch are added to its kernel only
 * - PC_SAMPLES_MAX held lines
 * - PC_SAMPLES_OFFSETS sums by instruction
 * - PC_SAMPLES_CUBINS cubins
 * - PC_SAMPLES_PARTS parts of rows: beyond that, rows are split into fewer parts, the smallest of
 *   which become "[other stalls]".
 */
#ifndef PROFILER_ADDONS_PC_SAMPLES_H
#define PROFILER_ADDONS_PC_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/addons/addon.h"
#include "profiler/model/stall_places.h"
#include "symbolize/util/id_map.h"
#include "symbolize/util/record_set.h"

#define PC_SAMPLES_MAX (1u << 19)
#define PC_SAMPLES_OFFSETS (1u << 18)
#define PC_SAMPLES_PARTS (1u << 17)
#define PC_SAMPLES_NONE UINT32_MAX
#define PC_SAMPLES_CUBINS (1u << 14)
#define PC_SAMPLES_PARTS_OF_ROW 512u

/* Returns the interned copy of a text, or NULL beyond a limit. */
typedef const char *(*pc_samples_keep)(void *context, const char *text);

struct pc_sample_sums {
	RECORD_SET(struct pc_sample);
};

/* Zero-initialise, then set the borrowed members. */
struct pc_samples {
	/* replace PC_SAMPLES_MAX, PC_SAMPLES_OFFSETS and PC_SAMPLES_PARTS, unless 0 */
	uint32_t max, offsets_max, parts_max;
	struct pc_sample_sums sums;    /* for splitting time: by launch and, with line tables, PC */
	struct pc_sample_sums offsets; /* by kernel, PC and reason */
	struct held_samples *held;     /* waiting for their launch */
	uint32_t held_count, held_capacity;
	uint32_t held_free; /* free list: index + 1, or 0 */
	RECORD_SET(struct cubin_pieces) cubins;
	struct id_map reasons;        /* texts by process and id */
	struct quota *memory;         /* quota for all of this; borrowed */
	struct ledger_stalls *ledger; /* borrowed */
	struct profile_sink *sink;    /* borrowed; its `take_note` calls pc_samples_note() */
	pc_samples_keep keep;
	void *context;
	const struct addon_parts *parts; /* set in the add-on only */
	bool is_exact;                   /* count rows without samples of their own */
};

void pc_samples_release(struct pc_samples *s);

/* Add an event of a process. Return 0 or -ENOMEM; refused data is counted in the ledger. */
int pc_samples_add_cubin(struct pc_samples *s, uint32_t process, const struct gpu_event_cubin *e);
int pc_samples_add_reason(struct pc_samples *s, uint32_t process, const struct gpu_event_stall *e);

/* `function`: mangled name, interned */
int pc_samples_add(struct pc_samples *s, uint32_t process, const struct gpu_event_pcs *e,
		   const char *function);
/*
 * Holds the samples of a launch that is not found yet. Returns an index, for one later call of
 * pc_samples_place(), or PC_SAMPLES_NONE if there is no room.
 */
uint32_t pc_samples_hold(struct pc_samples *s, uint32_t process, const struct gpu_event_pcs *e,
			 const char *function);
const char *pc_samples_function(const struct pc_samples *s, uint32_t number);
/* Releases held samples. `stack`: of the launch and its kernel; STACK_EMPTY: not found. */
void pc_samples_place(struct pc_samples *s, uint32_t number, struct stack_id stack);

void pc_samples_add_totals(struct pc_samples *s, const struct gpu_event_pc_totals *e);

/* Adds a note from the sink: NOTE_PC_SAMPLES. */
void pc_samples_note(void *addon, const struct profile_item *note);

/*
 * Splits the rows of kernels with samples, and lists the sampled instructions in `tables`. Call
 * this at the end.
 */
void pc_samples_split(struct pc_samples *s, struct stack_table *stacks, struct profile *profile,
		      struct result_tables *tables);

/* Wanted with --stalls. */
extern const struct addon addon_pc_samples;

#endif
