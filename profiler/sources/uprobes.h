/* SPDX-License-Identifier: MIT */
/*
 * Finds CUDA functions in the files that a process has mapped, and sets probes on them.
 *
 * The functions are launch functions, functions whose calls can be timed (cuda_functions.h), and
 * CUPTI's cuptiSubscribe. For the driver they are the functions that are called first: cuInit, and
 * the lookups by name that the runtime calls.
 *
 * cudart may be linked statically (local symbols in .symtab), be a shared library anywhere, or be
 * absent. Programs may call the driver alone. So every file with executable mappings is searched
 * for the function names, once.
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

/*
 * Creates the search for one kind of probe. `calls` reads the files. All arguments are borrowed.
 * Returns NULL if memory is exhausted.
 */
struct uprobes *uprobes_new(enum bpf_source_probe kind, struct bpf_source *source,
			    struct bounded_caller *calls, struct log *log);
void uprobes_free(struct uprobes *probes);

/*
 * Searches the current mappings of `pid`. Returns the number of newly probed functions, or -errno.
 * Call probes are set in that process only, others in all processes that map the file.
 */
int uprobes_scan_process(struct uprobes *probes, pid_t pid);

/* Returns true if the functions of a mapped file are probed in all processes. */
bool uprobes_cover(const struct uprobes *probes, const struct code_mapping *mapping);

/* Removes the probes set in that process only. Its files may be searched again. */
void uprobes_forget_process(struct uprobes *probes, pid_t pid);

/*
 * Searches one file. Returns the number of newly probed functions, or -errno. -ENOENT: the file has
 * no such function.
 */
int uprobes_scan_file(struct uprobes *probes, const char *path);

/* Returns the number of probed functions. */
uint32_t uprobes_count(const struct uprobes *probes);

#endif
