/* SPDX-License-Identifier: MIT */
/*
 * Sorts GPU work into classes by name: GEMM, attention, normalization and so on.
 *
 * A table of rules (kernel_class_rules.c) has patterns of kernels' names; the first that matches
 * decides. A name that none matches is of class "other". CUDA's own copies and sets are no kernels
 * and have a class of their own.
 *
 * A file of the user's may have rules that go before these. Each line is a class, blanks and an
 * extended regular expression, which matches anywhere in the kernel's name:
 *
 *	# class     expression
 *	attention   ^my_window_kernel
 *	copy and cast	repack_[a-z]+
 *
 * A class ends at a tab or at two spaces; without these, at the first space. It may be a new one.
 * Empty lines and lines that begin with # are skipped.
 *
 * Names come from the target and may be any text. KERNEL_CLASS_NAME_BYTES of them are looked at.
 */
#ifndef PROFILER_TABLES_KERNEL_CLASS_H
#define PROFILER_TABLES_KERNEL_CLASS_H

#include <stdint.h>
#include "profiler/model/result.h"

#define KERNEL_CLASS_OTHER "other"
#define KERNEL_CLASS_MEMORY "memcpy and memset" /* by CUDA, with migrations of unified memory */

#define KERNEL_CLASS_NAME_BYTES 4096u
#define KERNEL_CLASS_WORD_BYTES 32u /* with the NUL */
#define KERNEL_CLASS_FILE_BYTES (256u << 10)
#define KERNEL_CLASS_RULE_BYTES 4096u /* limit for an expression */
#define KERNEL_CLASS_RULES_MAX 1000u
#define KERNEL_CLASS_ERROR_BYTES 512u

/* The user's rules, and the classes found with them. */
struct kernel_classes;

/*
 * Reads rules of the user's from a regular file. Borrows `path`. Returns NULL after writing what is
 * wrong, with file and line.
 */
struct kernel_classes *kernel_classes_read(const char *path, char error[KERNEL_CLASS_ERROR_BYTES]);
void kernel_classes_free(struct kernel_classes *classes);

/* Returns the path of the file, as given. */
const char *kernel_classes_path(const struct kernel_classes *classes);

/*
 * Returns the class of GPU work by its frame (CLASS_GPU_KERNEL, CLASS_GPU_WORK): a text that lives
 * as long as `classes`, which may be NULL. Expressions are matched once with each name.
 */
const char *kernel_class_of(struct kernel_classes *classes, const struct frame_info *frame);

/* Returns the class of a kernel's name by the built-in rules. */
const char *kernel_class_built_in(const char *name);

/*
 * A built-in rule. `patterns` are separated by '|'. A pattern matches anywhere, or with a leading
 * '^' at the start; '*' stands for any text; case does not count. A pattern with '<' is of the
 * whole name; others are of the name without template arguments and parameters.
 */
struct kernel_class_rule {
	const char *class, *patterns; /* lower-case patterns */
};

extern const struct kernel_class_rule kernel_class_rules[]; /* ends with a NULL class */

#endif
