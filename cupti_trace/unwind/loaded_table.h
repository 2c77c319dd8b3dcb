/* SPDX-License-Identifier: MIT */
/*
 * Finds the call-frame information of code that is loaded in this process: .eh_frame_hdr and
 * .eh_frame (symbolize/cfi.h), as the loader has them.
 *
 * Takes no lock with glibc 2.35 or later (_dl_find_object); before, it takes that of
 * dl_iterate_phdr.
 */
#ifndef CUPTI_TRACE_UNWIND_LOADED_TABLE_H
#define CUPTI_TRACE_UNWIND_LOADED_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct cfi_table;

/*
 * Finds the table for the code at `pc`, valid as long as that code is loaded. Returns false if
 * there is none.
 */
bool loaded_table_find(uint64_t pc, struct cfi_table *table);

#endif
