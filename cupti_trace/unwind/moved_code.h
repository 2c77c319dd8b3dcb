/* SPDX-License-Identifier: MIT */
/*
 * Text of a file that the program has moved to memory of no file (symbolize/moved_text.h): what the
 * profiler, which has the file, needs to recognize it. By then the process may have ended.
 *
 * Async-signal-safe. Reads the memory of the process where it can be read, and opens no file.
 */
#ifndef CUPTI_TRACE_UNWIND_MOVED_CODE_H
#define CUPTI_TRACE_UNWIND_MOVED_CODE_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/wire/gpu_event.h"

/* Returns whether a mapping with such a line of maps is memory of no file, or shared memory. */
bool moved_code_is_memory(const struct gpu_event_code *code);

/*
 * Finds the text that a file has at `pc`, in the memory `code`, by its program headers, which lie
 * in [head, head_end). `*text` is that part of the memory, as if the file were mapped there, with
 * the hash of its pages. `file` is any mapping of the file. False: it has none there, or a seccomp
 * filter might end the program for reading its memory (guest_is_shut_in).
 */
bool moved_code_find(const struct gpu_event_code *code, const struct gpu_event_code *file,
		     uint64_t head, uint64_t head_end, uint64_t pc, struct gpu_event_code *text);

#endif
