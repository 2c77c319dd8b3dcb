/* SPDX-License-Identifier: MIT */
/*
 * Shares a view under way among its own files:
 *
 *	view.c       places, rows, names
 *	view_part.c  a part of the timeline, and its rows
 *	view_fold.c  folding and trimming
 */
#ifndef PROFILER_SHAPE_VIEW_PRIVATE_H
#define PROFILER_SHAPE_VIEW_PRIVATE_H

#include "profiler/shape/named_stacks.h"
#include "profiler/shape/view.h"
#include "symbolize/util/intern.h"

#define VIEW_NONE RECORD_NONE

/* Marks stacks by the names of their frames. */
enum view_frames {
	VIEW_UNDER = 1,    /* --under matches one */
	VIEW_LEFT_OUT = 2, /* --not-under matches one */
};

/* The fate of a frame of the result. */
struct view_change {
	uint8_t role;     /* enum code_role */
	bool is_root;     /* --trim-to matches the frame */
	uint32_t package; /* the frame of its package; VIEW_NONE: the frame stays */
};

/* The progress of folding in a stack, as stacks and frames of the view. */
struct view_progress {
	uint32_t kept;     /* stack up to the last frame that stays */
	uint32_t packages; /* `kept` and the packages that follow */
	uint32_t length;   /* number of these packages */
	uint32_t plumbing; /* frame to add if the stack ends here; VIEW_NONE: none */
	bool is_trimmed;
};

struct view {
	struct result result, text_result; /* shown to the caller */
	const struct result *base;
	const struct view_options *options;
	struct quota memory;
	struct intern strings;

	struct named_stacks stacks; /* frames of the result, then own ones, found by name */
	uint32_t *mapped;           /* the view's stack by that of the result; VIEW_NONE: unused */
	uint32_t *path;
	uint32_t path_capacity;
	struct view_change *changes;    /* by frame of the result */
	struct view_progress *progress; /* by stack of the result; NULL: all frames stay */
	struct frame_info *named;       /* frames with short names; NULL: those of `stacks` */
	bool has_root;                  /* --trim-to matches in a stack */
	bool has_own;

	/* by part of stacks, then by frame of the result: the label's frame; VIEW_NONE: unknown */
	uint32_t *labels[GROUPING_STACK_PARTS];

	RECORD_SET(struct row) rows;
	struct timeline *timeline;             /* NULL unless the view is of a part of the run */
	uint32_t *sample_stacks, *call_stacks; /* by a record's stack */
	char *shown;                  /* options that left something out, each after a space */
	bool *has_place;              /* places in the slice */
	uint8_t *frames_of;           /* by stack of the result: enum view_frames; NULL: all fit */
	bool has_under, has_left_out; /* --under, --not-under match a frame */
	bool *uses_place;             /* places of rows and records */
	struct process_info *processes; /* processes of the used places */
	struct thread_info *threads;
	int error; /* the first -errno */
};

/* Sets the error, a -errno, unless there is one. The view is not made. */
void view_fail(struct view *view, int err);

/* Returns a stack of the view with one more frame inside. */
uint32_t view_push(struct view *view, uint32_t outer, uint32_t frame);

/* Returns the number of an own frame with this text; VIEW_NONE if the quota is exceeded. */
uint32_t view_add_label(struct view *view, enum frame_class class, const char *label);

/* Returns the number of an own frame with this text, which is interned. */
uint32_t view_add_text(struct view *view, enum frame_class class, const char *text);

/* A row's kind, its stack of the result, and its place: what --by asks of it. */
struct view_origin {
	uint32_t kind, stack, place;
};

/* Returns a stack of the view inside the frames of its origin (--by). */
uint32_t view_stack_at(struct view *view, const struct view_origin *origin, uint32_t stack);

/* Adds to the row of this kind, stack and place of the view. */
void view_add_row(struct view *view, const struct row *row);

/*
 * Returns whether the slice has rows of a kind, with a stack of the result and a place, whatever
 * frames the stack has.
 */
bool view_has(const struct view *view, uint32_t kind, uint32_t stack, uint32_t place);

/* Returns whether the slice has stacks with these frames (--under, --not-under). */
bool view_has_frames(const struct view *view, uint32_t stack);

/* Adds a row to the sums of all stacks, if the slice is of some. */
void view_count(struct view *view, const struct row *row);

/* Makes the timeline of a part, and its rows if the part is of a time or of steps. */
void view_part_of_timeline(struct view *view, const char *folder);

/* Sets the shown time range: from the first to the last step, within --time; or a mean step. */
void view_show_time(struct view *view);

/* Decides the fate of each frame of the result, for --my-code and --trim-to. */
void view_fold_begin(struct view *view);

/*
 * Folds a stack of the result, whose outer stack is folded already. Returns the view's stack if a
 * row or record has the stack (`is_end`), else RESULT_ROOT.
 */
uint32_t view_fold_stack(struct view *view, uint32_t stack, bool is_end);

#endif
