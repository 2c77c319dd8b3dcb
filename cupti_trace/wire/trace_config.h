/* SPDX-License-Identifier: MIT */
/*
 * Encodes and decodes the library's configuration, which the profiler chooses: one text, in a
 * variable of the program's environment, or passed to a running process. docs/wire-format.md lists
 * its words.
 *
 * The text is words separated by a space: a switch ("stacks"), or NAME=VALUE ("stall-period=14").
 * In a value, "%" and two hexadecimal digits stand for a percent sign, a space or a control
 * character. Unknown words and values that are not numbers are ignored.
 */
#ifndef CUPTI_TRACE_WIRE_TRACE_CONFIG_H
#define CUPTI_TRACE_WIRE_TRACE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_CONFIG_ENV "PROFILE_TRACE_CONFIG"

/* X(member, word) for each switch. */
#define TRACE_CONFIG_SWITCHES(X)                                                             \
	X(stacks, "stacks")                 /* launch stacks are taken in the process */     \
	X(timeline, "timeline")             /* ends of launches are sent */                  \
	X(waits, "waits")                   /* calls that wait for the GPU are sent */       \
	X(waited, "waited")                 /* launches that are waited for are marked */    \
	X(api, "api")                       /* sums of all calls are sent */                 \
	X(memory, "memory")                 /* allocations have addresses: gpu_event.h */    \
	X(errors, "errors")                 /* failed calls are sent */                      \
	X(kernels_only, "kernels-only")     /* kernels only, no other work */                \
	X(unified_memory, "unified-memory") /* unified memory: migrations and page faults */ \
	X(whole_graphs, "whole-graphs")     /* a graph's launch is one record */             \
	X(device_graphs, "device-graphs")   /* graphs that kernels launch, too */            \
	X(devices, "devices")               /* devices and contexts are described */         \
	X(nvtx, "nvtx")                     /* NVTX ranges are frames of launch stacks */    \
	X(ops, "ops")                       /* PyTorch operators are frames, too */          \
	X(modules, "modules")               /* PyTorch modules are frames, too */            \
	X(python_lines, "python-lines")     /* Python frames have line numbers */            \
	X(native_python, "native-python")   /* the interpreter's own frames stay */          \
	X(exact_stalls, "exact-stalls")     /* PC samples have their launch's id */          \
	X(verbose, "verbose")               /* GPU_NOTICE_VERBOSE is sent */

/* All the time: shares of it are in thousandths of a percent. */
#define TRACE_CONFIG_WHOLE 100000u

/* X(member, word) for each number; 0: the word is absent. */
#define TRACE_CONFIG_NUMBERS(X)                                                             \
	X(max_overhead,                                                                     \
	  "max-overhead") /* limit for launch stacks, share of a thread's time; 1/1000 % */ \
	X(budget,                                                                           \
	  "budget") /* limit for recording, share of the time: duty_schedule.h; 1/1000 % */ \
	X(stall_period, "stall-period") /* n: PC samples every 2^n cycles are sent */

/* X(member, word) for each text; NULL: the word is absent. */
#define TRACE_CONFIG_TEXTS(X)                                                                    \
	X(ranges, "ranges")   /* --range: GPU_WIRE_RANGES_SEPARATOR between names */             \
	X(metrics, "metrics") /* names, separated by commas */                                   \
	X(metrics_kernels, "metrics-kernels")   /* pattern of kernels' names */                  \
	X(metrics_launches, "metrics-launches") /* launches of each kernel: a number, "0" is all \
						 */

struct trace_config {
#define TRACE_CONFIG_SWITCH(member, word) bool member;
#define TRACE_CONFIG_NUMBER(member, word) uint32_t member;
#define TRACE_CONFIG_TEXT(member, word) const char *member;
	TRACE_CONFIG_SWITCHES(TRACE_CONFIG_SWITCH)
	TRACE_CONFIG_NUMBERS(TRACE_CONFIG_NUMBER)
	TRACE_CONFIG_TEXTS(TRACE_CONFIG_TEXT)
};

/* Writes the text. Returns false if it does not fit into `size` bytes. */
bool trace_config_encode(const struct trace_config *config, char *text, size_t size);

/* Reads `text`, modifying it. The texts of `config` point into it. */
void trace_config_decode(struct trace_config *config, char *text);

#endif
