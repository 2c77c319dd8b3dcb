/* SPDX-License-Identifier: MIT */
/* Finds the evaluation loop of the interpreter in this process. See symbolize/python_loop.h. */
#ifndef CUPTI_TRACE_PYTHON_LOADED_PYTHON_H
#define CUPTI_TRACE_PYTHON_LOADED_PYTHON_H

#include "symbolize/python_loop.h"

/*
 * Finds the loop. `inside` is an address in the interpreter's module, of code or data. `function`
 * is the address of _PyEval_EvalFrameDefault; if it is no function of the module, the loop has no
 * parts. Returns false if there is no such module.
 */
bool loaded_python_find_loop(uint64_t inside, uint64_t function, struct python_loop *loop);

#endif
