// SPDX-License-Identifier: MIT
#include "profiler/shape/view_private.h"

#include <errno.h>
#include <stdlib.h>
#include "profiler/shape/code_role.h"

static bool begins_stacks(const struct view *v, const struct frame_info *frame)
{
	switch (frame->class) {
	case CLASS_NATIVE:
	case CLASS_PYTHON:
	case CLASS_JIT:
	case CLASS_KERNEL_MODE:
	case CLASS_API:
	case CLASS_NVTX:
	case CLASS_OPERATOR:
	case CLASS_LAYER:
		return v->options->trim_to.text &&
		       regexec(&v->options->trim_to.pattern, frame->name, 0, NULL, 0) == 0;
	default:
		return false;
	}
}

static struct view_change change_of(struct view *v, const struct code_roles *roles,
				    const struct frame_info *frame)
{
	struct view_change change = {ROLE_OWN, begins_stacks(v, frame), VIEW_NONE};
	char label[CODE_ROLE_LABEL_BYTES];

	if (!roles)
		return change;
	change.role = (uint8_t)code_role_of(roles, frame, label);
	if (change.role == ROLE_PACKAGE || change.role == ROLE_PLUMBING ||
	    change.role == ROLE_CALLERS) {
		change.package = view_add_label(
			v, code_role_is_python(frame, label) ? CLASS_FOLDED_PYTHON : CLASS_FOLDED,
			label);
		if (change.package == VIEW_NONE)
			change.role = ROLE_KEPT;
	}
	return change;
}

void view_fold_begin(struct view *v)
{
	const struct view_options *o = v->options;
	struct code_roles *roles = NULL;

	v->changes = malloc((v->base->frame_count + 1) * sizeof(*v->changes));
	v->progress = malloc((v->base->stack_count + 1) * sizeof(*v->progress));
	if (o->my_code)
		roles = o->my_path_count
				? code_roles_new(o->my_paths, o->my_path_count,
						 v->base->totals.folder, v->base->totals.links)
				: code_roles_of_result(v->base);
	if (!v->changes || !v->progress || (o->my_code && !roles))
		view_fail(v, -ENOMEM);
	for (uint32_t i = 0; i < v->base->frame_count && !v->error; i++)
		v->changes[i] = change_of(v, roles, &v->base->frames[i]);
	if (v->progress)
		v->progress[RESULT_ROOT] = (struct view_progress){.plumbing = VIEW_NONE};
	code_roles_free(roles);
}

/* Returns the stack if it ends here. */
static uint32_t ended(struct view *v, const struct view_progress *p)
{
	return p->plumbing == VIEW_NONE ? p->packages : view_push(v, p->packages, p->plumbing);
}

/* Adds a package, or returns to the frame that the run has of it. */
static void fold_package(struct view *v, struct view_progress *p, uint32_t frame)
{
	uint32_t stack = p->packages, length = p->length;

	p->plumbing = VIEW_NONE;
	for (; stack != p->kept && stack != RESULT_ROOT;
	     stack = v->stacks.list[stack].outer, length--) {
		if (v->stacks.list[stack].frame != frame)
			continue;
		p->packages = stack;
		p->length = length;
		return;
	}
	if (p->length < VIEW_RUN_MAX)
		p->length++;
	else if (p->packages != v->stacks.rest)
		p->packages = v->stacks.list[p->packages].outer;
	p->packages = view_push(v, p->packages, frame);
}

/* Returns the progress one frame further inwards. */
static struct view_progress follow(struct view *v, struct view_progress p, uint32_t frame)
{
	const struct view_change *change = &v->changes[frame];
	enum frame_class class = v->base->frames[frame].class;
	enum code_role role = (enum code_role)change->role;

	if (role == ROLE_CALLERS)
		role = p.packages == p.kept ? ROLE_OWN : ROLE_PLUMBING;
	if (change->is_root && !p.is_trimmed) {
		p.kept = view_push(v, RESULT_ROOT, frame);
		p.is_trimmed = true;
		v->has_root = true;
	} else if (role == ROLE_PACKAGE) {
		fold_package(v, &p, change->package);
		return p;
	} else if (role == ROLE_PLUMBING) {
		p.plumbing = change->package;
		return p;
	} else if (role == ROLE_OWN) {
		p.kept = view_push(v, p.kept, frame);
		v->has_own |= class == CLASS_NATIVE || class == CLASS_PYTHON;
	} else if (role == ROLE_KERNEL_MODE) {
		p.kept = view_push(v, ended(v, &p), frame);
	} else {
		p.kept = view_push(v, p.packages, frame);
	}
	p.packages = p.kept;
	p.length = 0;
	p.plumbing = VIEW_NONE;
	return p;
}

uint32_t view_fold_stack(struct view *v, uint32_t stack, bool is_end)
{
	const struct stack_info *s = &v->base->stacks[stack];

	v->progress[stack] = follow(v, v->progress[s->outer], s->frame);
	return is_end ? ended(v, &v->progress[stack]) : RESULT_ROOT;
}
