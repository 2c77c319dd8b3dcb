/* SPDX-License-Identifier: MIT */
/*
 * The interface between view.c (places, rows, a part of the timeline, names) and view_fold.c
 * (folding and trimming).
 */
#ifndef PROFILER_SHAPE_VIEW_PRIVATE_H
#define PROFILER_SHAPE_VIEW_PRIVATE_H

#include "profiler/shape/named_stacks.h"
#include "profiler/shape/view.h"
#include "symbolize/util/intern.h"

#define VIEW_NONE RECORD_NONE

/* What becomes of a frame. */
struct view_change {
	uint8_t role;     /* enum code_role */
	bool is_root;     /* --trim-to matches it */
	uint32_t package; /* the frame that it is folded to; VIEW_NONE: it stays */
};

/* Where folding has got to in a stack: all are the view's. */
struct view_progress {
	uint32_t kept;     /* up to the last frame that stays */
	uint32_t packages; /* and further, with the packages that follow */
	uint32_t length;   /* how many */
	uint32_t plumbing; /* the frame that follows if the stack ends here; VIEW_NONE: none */
	bool is_trimmed;
};

struct view {
	struct result result, text_result; /* what the caller sees */
	const struct result *base;
	const struct view_options *options;
	struct quota memory;
	struct intern strings;

	struct named_stacks stacks; /* the frames: the result's, then its own, found by name */
	uint32_t *mapped; /* by the result's stack: the view's; VIEW_NONE: no row has it */
	uint32_t *path;
	uint32_t path_capacity;
	struct view_change *changes;    /* by frame of the result */
	struct view_progress *progress; /* by stack of the result; NULL: all frames stay */
	struct frame_info *named;       /* frames with short names; NULL: as the others */
	bool has_root;                  /* a stack begins where --trim-to says */
	bool has_own;

	RECORD_SET(struct row) rows;
	struct timeline *timeline;             /* of a part */
	uint32_t *sample_stacks, *call_stacks; /* of the records */
	char *shown;                           /* options, each after a space */
	bool *has_place;                       /* by place: it is in the slice */
	bool *uses_place;                      /* by place: a row or a record has it */
	struct process_info *processes;        /* those of these places */
	struct thread_info *threads;
	int error; /* the first -errno */
};

/* Notes the first error, a -errno: the view is not made. */
void view_fail(struct view *view, int err);

/* A stack of the view with one more frame inside. */
uint32_t view_push(struct view *view, uint32_t outer, uint32_t frame);

/* The number of a frame of its own for this text; VIEW_NONE: there is no memory for it. */
uint32_t view_add_label(struct view *view, enum frame_class class, const char *label);

/* For --my-code and --trim-to: decides what becomes of each frame of the result. */
void view_fold_begin(struct view *view);

/*
 * Folds a stack of the result; the one that it is in was folded before. Returns the view's stack
 * if rows or records have it (`is_end`), else RESULT_ROOT.
 */
uint32_t view_fold_stack(struct view *view, uint32_t stack, bool is_end);

#endif
