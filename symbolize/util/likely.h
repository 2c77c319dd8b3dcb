/* SPDX-License-Identifier: MIT */
/*
 * Which way a branch usually goes. What usually runs then comes in one piece, without jumps over
 * what seldom does. Where code runs thousands of times a second between other code, the processor
 * has forgotten by the next time where its jumps lead, and each costs some 10 cycles or more.
 */
#ifndef SYMBOLIZE_UTIL_LIKELY_H
#define SYMBOLIZE_UTIL_LIKELY_H

#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

#endif
