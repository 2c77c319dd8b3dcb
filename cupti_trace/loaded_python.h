/* SPDX-License-Identifier: MIT */
/* The evaluation loop of the interpreter in this process. See symbolize/python_loop.h. */
#ifndef CUPTI_TRACE_LOADED_PYTHON_H
#define CUPTI_TRACE_LOADED_PYTHON_H

#include "symbolize/python_loop.h"

/* `function` is _PyEval_EvalFrameDefault's address. False if it is not a function in loaded code.
 */
bool loaded_python_find_loop(uint64_t function, struct python_loop *loop);

#endif
