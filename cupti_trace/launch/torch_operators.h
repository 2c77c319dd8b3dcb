/* SPDX-License-Identifier: MIT */
/*
 * Follows PyTorch's operators (--ops): each is an open range of its thread (nvtx.h) while it runs.
 * Also notes the layers of forward operators (--modules), for the backward pass.
 *
 * PyTorch calls two functions of ours at the begin and the end of each operator, through
 * at::addGlobalCallback, which libtorch_cpu.so exports. It is called once, when the library is
 * found: at the start of CUDA, or when a launch sees that libraries were loaded. The functions are
 * never removed. PyTorch copies the list of functions under a lock, and each thread takes it over
 * at its next operator.
 *
 * PyTorch returns an operator's name by a call. Its kind, sequence number and threads are members
 * whose places are known by version. Of a version that is not known, nothing is followed, and a
 * notice says so. Each operator's thread number is compared with PyTorch's own; where they differ,
 * no more is followed.
 *
 *  - Operators of the dispatcher and functions of the backward pass are ranges "op:NAME".
 *  - A function of the backward pass is inside another range: that of the forward operator that
 *    made it. Both have one sequence number in the thread of the forward pass. The last TABLE
 *    operators are known.
 *  - With layers, it is also inside that of the module which called the forward operator
 *    (layers.h).
 *  - A scope that the program names (torch.profiler.record_function) is a range like one of NVTX's.
 *    With layers, those of optimizers are the layer "optimizer".
 *
 * Place: the operator's object is a local variable of the function that runs it, so its address
 * tells the frame. Scopes of Python are on the heap; theirs is noted as for NVTX.
 *
 * x86-64 only: elsewhere C cannot be called with what the functions return.
 */
#ifndef CUPTI_TRACE_LAUNCH_TORCH_OPERATORS_H
#define CUPTI_TRACE_LAUNCH_TORCH_OPERATORS_H

#include <stdbool.h>
#include "cupti_trace/core/sink.h"

struct torch_operators_options {
	bool operators; /* operators are ranges */
	bool layers;    /* functions of the backward pass and optimizers have layers */
};

/* Tells what is wanted, before the first look. */
void torch_operators_follow(const struct torch_operators_options *options);

/*
 * Looks for PyTorch, and follows its operators, if anything is wanted. Once it has followed them,
 * or cannot, it does nothing. Any thread may call; takes the loader's lock.
 */
void torch_operators_look(void);

/* Sends a notice if operators are not followed, once. */
void torch_operators_tell(struct sink *sink);

/* Follows no more operators: from now on each costs a call. */
void torch_operators_stop(void);

#endif
