/* SPDX-License-Identifier: MIT */
/*
 * Why the GPU work of a process was not traced: what was seen of the process, judged. Reads
 * nothing itself (run/obstacles.h does, and the kernel's side at a process's end).
 */
#ifndef PROFILER_MODEL_UNTRACED_H
#define PROFILER_MODEL_UNTRACED_H

#include <stdbool.h>
#include <stdint.h>

/* What kept the CUDA driver in a process from loading our library, or that from reaching us. */
enum untraced_cause {
	UNTRACED_NOT_KNOWN, /* the process could not be looked into */
	UNTRACED_NOT_FOUND, /* it could, and nothing was found */
	UNTRACED_OTHER_LIBC,
	UNTRACED_OLD_LIBC,
	UNTRACED_NO_VARIABLE,   /* the driver was not told of any library */
	UNTRACED_OTHER_LIBRARY, /* but of another one */
	UNTRACED_OTHER_FILES,   /* the library is not under its path there */
	UNTRACED_OTHER_USER,    /* who may not read it */
	UNTRACED_NO_EXEC,       /* its file system is mounted noexec there */
	UNTRACED_FILTERED,      /* system calls are filtered there, and not in the profiler */
	UNTRACED_NO_PIPE_NAMED, /* the library is not told of the profiler's pipe */
	UNTRACED_NO_PIPE,       /* which is not under its path there */
	UNTRACED_PIPE_CLOSED,   /* or may not be written to */
	UNTRACED_SECURE,        /* the program has more rights than who executed it */
	UNTRACED_CAUSES
};

/* Returns it in words, without a full stop. */
const char *untraced_cause_text(enum untraced_cause cause);

/* The C library of a process, by the names of files that it maps. */
struct untraced_libc {
	bool is_other;        /* musl, or another one of that kind */
	uint32_t glibc_minor; /* 31: of glibc 2.31; 0: unknown, which 2.34 and later are */
};

/* Notes a file that the process maps, by its name without folders. */
void untraced_note_file(struct untraced_libc *libc, const char *name);

/* The minor version of the newest glibc that this library asks for; 0: of none. */
uint32_t untraced_glibc_of(const void *library, uint64_t size);

/* What was seen of a process when it had mapped the driver. */
struct untraced_signs {
	struct {
		bool is_known, has_variable, names_library, names_pipe;
	} environment; /* at its exec */
	struct {
		bool are_known; /* its root folder could be looked into */
		bool have_library, have_pipe, may_write_pipe, are_noexec;
	} files;
	bool is_root, is_other_user; /* its user: neither root nor the profiler's */
	bool is_filtered, is_secure;
	struct untraced_libc libc;
	uint32_t needed_glibc_minor; /* by the library; 0: unknown */
};

/*
 * Returns the cause that is to be removed first: what no other setting mends comes before what the
 * environment says, and a filter, which may be harmless, comes last.
 */
enum untraced_cause untraced_find_cause(const struct untraced_signs *signs);

/* Returns whether the cause is sure to prevent tracing. */
static inline bool untraced_is_obstacle(enum untraced_cause cause)
{
	return cause > UNTRACED_NOT_FOUND && cause != UNTRACED_FILTERED;
}

/* What was seen of a process's use of the GPU. */
struct untraced_use {
	bool has_called; /* functions of CUDA, which were timed */
	bool is_exact;   /* devices are those that it had open when it ended */
	bool has_device; /* one of the GPU was open (base/gpu_devices.h) */
	uint32_t opened; /* how many it had opened itself */
	bool has_nvml;   /* it had mapped NVIDIA's management library, which opens one as well */
};

enum untraced_verdict {
	UNTRACED_IS_IDLE,  /* it did not use CUDA, or would have been traced: not worth a word */
	UNTRACED_MAY_LACK, /* it may have used CUDA */
	UNTRACED_LACKS,    /* it used CUDA, and that is missing */
};

/* Returns the verdict. Where nothing is in the way, use that was not seen did not happen. */
enum untraced_verdict untraced_judge(const struct untraced_use *use, enum untraced_cause cause);

#endif
