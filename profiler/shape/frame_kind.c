// SPDX-License-Identifier: MIT
#include "profiler/shape/frame_kind.h"

#include <stddef.h>
#include <string.h>
#include "profiler/base/cuda_functions.h"
#include "symbolize/util/text.h"

/* Names of start-up code. "@" and a version, or "." and a clone, may follow. */
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

enum frame_kind frame_kind_of(const struct frame_info *frame)
{
	static const enum frame_kind kinds[FRAME_CLASSES] = {
		[CLASS_NATIVE] = KIND_NATIVE,
		[CLASS_PYTHON] = KIND_PYTHON,
		[CLASS_JIT] = KIND_JIT,
		[CLASS_KERNEL_MODE] = KIND_KERNEL_MODE,
		[CLASS_API] = KIND_API,
		[CLASS_NVTX] = KIND_NVTX,
		[CLASS_OPERATOR] = KIND_OPERATOR,
		[CLASS_LAYER] = KIND_LAYER,
		[CLASS_GPU_KERNEL] = KIND_GPU_KERNEL,
		[CLASS_GPU_WORK] = KIND_GPU_WORK,
		[CLASS_WAIT] = KIND_WAIT,
		[CLASS_CALL] = KIND_CALL,
		[CLASS_PLACE] = KIND_PLACE,
		[CLASS_MARK] = KIND_MARK,
		[CLASS_FOLDED] = KIND_NATIVE,
		[CLASS_GPU_CODE] = KIND_GPU_CODE,
		[CLASS_STALL] = KIND_STALL,
		[CLASS_IDLE] = KIND_IDLE,
		[CLASS_FOLDED_PYTHON] = KIND_PYTHON,
		[CLASS_PHASE] = KIND_MARK,
	};

	if (frame->class == CLASS_NATIVE && is_start(frame->name))
		return KIND_START;
	if (frame->class == CLASS_NATIVE && is_in_cuda(frame))
		return KIND_API;
	return kinds[frame->class];
}

static const struct {
	const char *word, *label;
} texts[] = {
	[KIND_PLACE] = {"place", "root (--by)"},
	[KIND_START] = {"start", "start-up"},
	[KIND_NATIVE] = {"native", "C, C++, other native code"},
	[KIND_PYTHON] = {"python", "Python"},
	[KIND_JIT] = {"jit", "JIT-compiled"},
	[KIND_KERNEL_MODE] = {"os", "Linux kernel"},
	[KIND_NVTX] = {"nvtx", "NVTX range"},
	[KIND_OPERATOR] = {"operator", "operator"},
	[KIND_LAYER] = {"layer", "layer"},
	[KIND_API] = {"api", "CUDA call"},
	[KIND_GPU_KERNEL] = {"gpu", "GPU kernel"},
	[KIND_GPU_WORK] = {"copy", "GPU copy or other work"},
	[KIND_GPU_CODE] = {"device", "device code"},
	[KIND_STALL] = {"stall", "stall reason"},
	[KIND_WAIT] = {"wait", "waiting"},
	[KIND_CALL] = {"call", "CUDA call, wall time"},
	[KIND_IDLE] = {"idle", "idle GPU"},
	[KIND_MARK] = {"mark", "note (unknown or cut stack, compiling)"},
};

_Static_assert(sizeof(texts) / sizeof(texts[0]) == FRAME_KINDS, "one a kind");

const char *frame_kind_word(enum frame_kind kind)
{
	return texts[kind].word;
}

const char *frame_kind_label(enum frame_kind kind)
{
	return texts[kind].label;
}
