/* SPDX-License-Identifier: MIT */
/*
 * Tells which Python functions compile code, or try variants of it: of PyTorch and Triton.
 *
 * Such a function has the mark PSEUDO_COMPILING or PSEUDO_AUTOTUNING around it. All that it calls
 * is inside, also GPU work that it launches. The functions are those of PyTorch 2.0 to 2.11 and
 * Triton 2.1 to 3.6.
 */
#ifndef PROFILER_SHAPE_COMPILE_MARKS_H
#define PROFILER_SHAPE_COMPILE_MARKS_H

/*
 * Returns the mark of a function of a file, or NULL. The name is qualified from Python 3.11 on,
 * "Autotuner._bench". Before, its last part alone is known and counts.
 */
const char *compile_mark_of(const char *function, const char *file);

#endif
