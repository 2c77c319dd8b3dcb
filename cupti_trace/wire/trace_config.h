/* SPDX-License-Identifier: MIT */
/*
 * The configuration of the library in a program, which the profiler chooses: one text, in a
 * variable of the program's environment or in what is handed to a process that already runs.
 * docs/wire-format.md lists its words.
 *
 * The text is words with a space between: a switch ("stacks"), or NAME=VALUE ("stall-period=14").
 * In a value "%" and two digits of hexadecimal stand for a percent sign, a space or a control
 * character. Words that are not known, and values that are no numbers, are passed over.
 */
#ifndef CUPTI_TRACE_WIRE_TRACE_CONFIG_H
#define CUPTI_TRACE_WIRE_TRACE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_CONFIG_ENV "PROFILE_TRACE_CONFIG"

/* X(member, word) for each switch. */
#define TRACE_CONFIG_SWITCHES(X)                                                          \
	X(stacks, "stacks")                 /* launch stacks are taken in the process */  \
	X(timeline, "timeline")             /* ends of launches are sent */               \
	X(waits, "waits")                   /* calls that wait for the GPU are sent */    \
	X(waited, "waited")                 /* launches that are waited for are marked */ \
	X(api, "api")                       /* sums of all calls are sent */              \
	X(memory, "memory")                 /* allocations have addresses: gpu_event.h */ \
	X(errors, "errors")                 /* failed calls are sent */                   \
	X(kernels_only, "kernels-only")     /* no other work than kernels */              \
	X(unified_memory, "unified-memory") /* its migrations and page faults */          \
	X(whole_graphs, "whole-graphs")     /* a graph's launch is one record */          \
	X(device_graphs, "device-graphs")   /* graphs that kernels launch, too */         \
	X(devices, "devices")               /* devices and contexts are described */      \
	X(nvtx, "nvtx")                     /* NVTX ranges are frames of launch stacks */ \
	X(python_lines, "python-lines")     /* Python frames have line numbers */         \
	X(native_python, "native-python")   /* the interpreter's own frames stay */       \
	X(exact_stalls, "exact-stalls")     /* PC samples say which launch they are of */ \
	X(verbose, "verbose")               /* GPU_NOTICE_VERBOSE is sent */

/* X(member, word) for each number; 0: the word is not there. */
#define TRACE_CONFIG_NUMBERS(X)                                                              \
	X(max_overhead, "max-overhead") /* of a thread's time, by launch stacks; 1/1000 % */ \
	X(stall_period, "stall-period") /* n: PC samples every 2^n cycles are sent */

/* X(member, word) for each text; NULL: the word is not there. */
#define TRACE_CONFIG_TEXTS(X)                                                            \
	X(ranges, "ranges")                     /* --range: GPU_WIRE_RANGES_SEPARATOR */ \
	X(metrics, "metrics")                   /* names, separated by commas */         \
	X(metrics_kernels, "metrics-kernels")   /* a pattern of kernels' names */        \
	X(metrics_launches, "metrics-launches") /* of each kernel: a number, "0" is all */

struct trace_config {
#define TRACE_CONFIG_SWITCH(member, word) bool member;
#define TRACE_CONFIG_NUMBER(member, word) uint32_t member;
#define TRACE_CONFIG_TEXT(member, word) const char *member;
	TRACE_CONFIG_SWITCHES(TRACE_CONFIG_SWITCH)
	TRACE_CONFIG_NUMBERS(TRACE_CONFIG_NUMBER)
	TRACE_CONFIG_TEXTS(TRACE_CONFIG_TEXT)
};

/* Writes the text. False: it does not fit into `size` bytes. */
bool trace_config_encode(const struct trace_config *config, char *text, size_t size);

/* Reads a text, which is changed, and into which the texts of `config` point. */
void trace_config_decode(struct trace_config *config, char *text);

#endif
