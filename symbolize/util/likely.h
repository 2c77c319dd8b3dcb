/* SPDX-License-Identifier: MIT */
/*
 * Tells the compiler which way a branch usually goes, so that the usual path is laid out without
 * jumps.
 *
 * This matters for code that runs thousands of times a second between other code. By then the
 * processor has forgotten the targets of its jumps, and each costs 10 cycles or more.
 */
#ifndef SYMBOLIZE_UTIL_LIKELY_H
#define SYMBOLIZE_UTIL_LIKELY_H

#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

#endif
