/* SPDX-License-Identifier: MIT */
/*
 * Finds text of a file that the program has moved to anonymous memory (symbolize/moved_text.h). The
 * profiler, which has the file, recognizes the text by a hash. By then the process may have ended.
 *
 * Async-signal-safe. Reads only readable memory of the process, and opens no file.
 */
#ifndef CUPTI_TRACE_UNWIND_MOVED_CODE_H
#define CUPTI_TRACE_UNWIND_MOVED_CODE_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/wire/gpu_event.h"

/* Returns whether a mapping is anonymous or shared memory, by its line of maps. */
bool moved_code_is_memory(const struct gpu_event_code *code);

/*
 * Finds the text of a file at `pc`, in the memory `code`, by the file's program headers in [head,
 * head_end). `*text` is that part of the memory, as if the file were mapped there, with the hash of
 * its pages. `file` is any mapping of the file. Returns false if the file has no text there, or if
 * reading is forbidden (guest_is_sandboxed).
 */
bool moved_code_find(const struct gpu_event_code *code, const struct gpu_event_code *file,
		     uint64_t head, uint64_t head_end, uint64_t pc, struct gpu_event_code *text);

#endif
