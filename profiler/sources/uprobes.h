/* SPDX-License-Identifier: MIT */
/*
 * Finds CUDA functions in the files a process has mapped, and sets probes on them: launch
 * functions, functions whose calls can be timed (cuda_functions.h), CUPTI's cuptiSubscribe, or
 * those of the driver one of which everybody calls first: cuInit, or what finds functions by name,
 * which the runtime calls.
 *
 * cudart may be linked statically into the program (local symbols in its .symtab), come as a shared
 * library from anywhere, or be absent; programs may call the driver only. So every file with
 * executable mappings is searched for the function names, once per file.
 */
#ifndef PROFILER_SOURCES_UPROBES_H
#define PROFILER_SOURCES_UPROBES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "profiler/base/log.h"
#include "profiler/sources/bpf_source.h"
#include "symbolize/symbolizer.h"
#include "symbolize/util/bounded_call.h"

struct uprobes;

/* One for each kind of probe. `calls` reads the files; all borrowed. NULL: out of memory. */
struct uprobes *uprobes_new(enum bpf_source_probe kind, struct bpf_source *source,
			    struct bounded_caller *calls, struct log *log);
void uprobes_free(struct uprobes *probes);

/*
 * Searches the current mappings of `pid`. Returns the number of newly probed functions, or -errno.
 * Call probes are set in that process only, the others in all that map the file.
 */
int uprobes_scan_process(struct uprobes *probes, pid_t pid);

/* Returns whether the functions of a mapped file are probed in all that map it. */
bool uprobes_cover(const struct uprobes *probes, const struct code_mapping *mapping);

/* Removes the probes set in that process only; its files may be searched again. */
void uprobes_forget_process(struct uprobes *probes, pid_t pid);

/* Searches one file. Likewise; -ENOENT if it has no such function. */
int uprobes_scan_file(struct uprobes *probes, const char *path);

/* The number of probed functions. */
uint32_t uprobes_count(const struct uprobes *probes);

#endif
