/* SPDX-License-Identifier: MIT */
/*
 * Determines why the GPU work of a process was not traced, from signs that others collect.
 *
 * run/obstacles.h and the kernel's side at a process's end collect the signs.
 */
#ifndef PROFILER_MODEL_UNTRACED_H
#define PROFILER_MODEL_UNTRACED_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Reason why the CUDA driver did not load the injection library, or the library did not reach the
 * profiler.
 */
enum untraced_cause {
	UNTRACED_NOT_KNOWN, /* the process could not be inspected */
	UNTRACED_NOT_FOUND, /* it could, but showed no reason */
	UNTRACED_OTHER_LIBC,
	UNTRACED_OLD_LIBC,
	UNTRACED_NO_VARIABLE,   /* CUDA_INJECTION64_PATH is not set */
	UNTRACED_OTHER_LIBRARY, /* CUDA_INJECTION64_PATH is another library */
	UNTRACED_OTHER_FILES,   /* the library's path does not exist there */
	UNTRACED_OTHER_USER,    /* the user may not read the library */
	UNTRACED_NO_EXEC,       /* the library's file system is mounted noexec there */
	UNTRACED_FILTERED,      /* seccomp filters the process, but not the profiler */
	UNTRACED_NO_PIPE_NAMED, /* PROFILE_PIPE is not the profiler's */
	UNTRACED_NO_PIPE,       /* the pipe's path does not exist there */
	UNTRACED_PIPE_CLOSED,   /* the user may not write to the pipe */
	UNTRACED_SECURE,        /* the program has more privileges than its user */
	UNTRACED_CAUSES
};

/* Returns the cause in words, without a full stop. */
const char *untraced_cause_text(enum untraced_cause cause);

/* C library of a process, from the names of mapped files. */
struct untraced_libc {
	bool is_other;        /* musl or the like */
	uint32_t glibc_minor; /* 31 for glibc 2.31; 0: unknown, as for 2.34 and later */
};

/* Notes a mapped file, by its name without folders. */
void untraced_note_file(struct untraced_libc *libc, const char *name);

/* Returns the minor version of the newest glibc that this library requires; 0: none. */
uint32_t untraced_glibc_of(const void *library, uint64_t size);

/* Signs in a process that has mapped the driver. */
struct untraced_signs {
	struct {
		bool is_known, has_variable, names_library, names_pipe;
	} environment; /* at its exec */
	struct {
		bool are_known; /* its root folder is accessible */
		bool have_library, have_pipe, may_write_pipe, are_noexec;
	} files;
	bool is_root, is_other_user; /* its user: neither root nor the profiler's */
	bool is_filtered, is_secure;
	struct untraced_libc libc;
	uint32_t needed_glibc_minor; /* required by the library; 0: unknown */
};

/*
 * Returns the cause to remove first. Causes that no setting mends precede those in the environment.
 * A filter comes last, because it may be harmless.
 */
enum untraced_cause untraced_find_cause(const struct untraced_signs *signs);

/* Returns whether the cause certainly prevents tracing. */
static inline bool untraced_is_obstacle(enum untraced_cause cause)
{
	return cause > UNTRACED_NOT_FOUND && cause != UNTRACED_FILTERED;
}

/* Signs of a process's use of the GPU. */
struct untraced_use {
	bool has_called; /* called CUDA functions, which were timed */
	bool is_exact;   /* devices are those open when it ended */
	bool has_device; /* a GPU device was open (base/gpu_devices.h) */
	uint32_t opened; /* devices that it opened itself */
	bool has_nvml;   /* mapped NVIDIA's management library, which also opens a device */
};

enum untraced_verdict {
	UNTRACED_IS_IDLE,  /* did not use CUDA, or would have been traced: not reported */
	UNTRACED_MAY_LACK, /* may have used CUDA */
	UNTRACED_LACKS,    /* used CUDA, and its GPU work is missing */
};

/* Returns the verdict. Without an obstacle, unseen use did not happen. */
enum untraced_verdict untraced_judge(const struct untraced_use *use, enum untraced_cause cause);

#endif
