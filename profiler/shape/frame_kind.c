// SPDX-License-Identifier: MIT
#include "profiler/shape/frame_kind.h"

#include <stddef.h>
#include <string.h>
#include "profiler/base/cuda_functions.h"
#include "symbolize/util/text.h"

/* A name begins with one of these, and ends there or goes on as a version or a clone. */
static const char *const starts[] = {
	"_start",
	"__libc_start_main",
	"__libc_start_main_impl",
	"__libc_start_call_main",
	"_dl_start",
	"_dl_start_user",
	"clone",
	"__clone",
	"clone3",
	"__clone3",
	"__clone_internal",
	"start_thread",
	"execute_native_thread_routine",
};

static bool is_start(const char *name)
{
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		size_t n = strlen(starts[i]);

		if (strncmp(name, starts[i], n) == 0 &&
		    (!name[n] || name[n] == '@' || name[n] == '.'))
			return true;
	}
	return false;
}

static bool is_in_cuda(const struct frame_info *frame)
{
	const char *file = frame->module ? strrchr(frame->module, '/') : NULL;

	if (cuda_function_of(frame->name) != CUDA_FUNCTION_NONE)
		return true;
	return file && (starts_with(file, "/libcudart.") || starts_with(file, "/libcuda."));
}

static enum frame_kind kind_of_native(const struct frame_info *frame)
{
	if (is_start(frame->name))
		return KIND_START;
	return is_in_cuda(frame) ? KIND_API : KIND_NATIVE;
}

enum frame_kind frame_kind_of(const struct frame_info *frame)
{
	switch (frame->class) {
	case CLASS_NATIVE:
		return kind_of_native(frame);
	case CLASS_FOLDED:
		return KIND_NATIVE;
	case CLASS_PYTHON:
	case CLASS_FOLDED_PYTHON:
		return KIND_PYTHON;
	case CLASS_JIT:
		return KIND_JIT;
	case CLASS_KERNEL_MODE:
		return KIND_KERNEL_MODE;
	case CLASS_API:
		return KIND_API;
	case CLASS_NVTX:
		return KIND_NVTX;
	case CLASS_GPU_KERNEL:
		return KIND_GPU_KERNEL;
	case CLASS_GPU_WORK:
		return KIND_GPU_WORK;
	case CLASS_GPU_CODE:
		return KIND_GPU_CODE;
	case CLASS_STALL:
		return KIND_STALL;
	case CLASS_WAIT:
		return KIND_WAIT;
	case CLASS_CALL:
		return KIND_CALL;
	case CLASS_IDLE:
		return KIND_IDLE;
	case CLASS_PLACE:
		return KIND_PLACE;
	default:
		return KIND_MARK;
	}
}

static const struct {
	const char *word, *label;
} kinds[] = {
	[KIND_PLACE] = {"place", "process, thread, device"},
	[KIND_START] = {"start", "start-up"},
	[KIND_NATIVE] = {"native", "C, C++, other native code"},
	[KIND_PYTHON] = {"python", "Python"},
	[KIND_JIT] = {"jit", "JIT-compiled"},
	[KIND_KERNEL_MODE] = {"os", "Linux kernel"},
	[KIND_NVTX] = {"nvtx", "NVTX range"},
	[KIND_API] = {"api", "CUDA call"},
	[KIND_GPU_KERNEL] = {"gpu", "GPU kernel"},
	[KIND_GPU_WORK] = {"copy", "GPU copy or other work"},
	[KIND_GPU_CODE] = {"device", "device code"},
	[KIND_STALL] = {"stall", "stall reason"},
	[KIND_WAIT] = {"wait", "waiting"},
	[KIND_CALL] = {"call", "CUDA call, wall time"},
	[KIND_IDLE] = {"idle", "idle GPU"},
	[KIND_MARK] = {"mark", "note (cut or unknown stack)"},
};

_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == FRAME_KINDS, "one a kind");

const char *frame_kind_word(enum frame_kind kind)
{
	return kinds[kind].word;
}

const char *frame_kind_label(enum frame_kind kind)
{
	return kinds[kind].label;
}
