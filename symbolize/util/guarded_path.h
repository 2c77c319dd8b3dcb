/* SPDX-License-Identifier: MIT */
/*
 * Files that are to be written, by names where other users may have put something else; and those
 * that everybody may read.
 *
 * In a shared folder, one with the sticky bit in which a group or everybody may make files (/tmp),
 * any user can take a name in advance: by a file or a FIFO of theirs, by a link, or by a second
 * name (hard link) of a file of ours. So a path is walked name after name, and each name is looked
 * at before it is used. The kernel may do so, too, or not (fs.protected_symlinks and the like).
 * Refused are
 *
 *	- in a shared folder, links, files and FIFOs of others (GUARDED_OTHERS), and a file or FIFO
 *	  that has a second name (GUARDED_LINKED);
 *	- in another user's folder, a second name of what is not that user's (GUARDED_LINKED);
 *	- anywhere, a link of another user that leads to what is ours, or to a descriptor of a
 *	  process; for root, to what is not that user's (GUARDED_OTHERS).
 *
 * Ours is what belongs to our effective user; what belongs to root is no other user's. Other users'
 * folders and what is in them may be used: who names them, means them. Links of /proc, to which
 * /dev/stdout and /dev/fd/N lead, are descriptors that were handed to us, and are followed.
 *
 * What was looked at is what is opened: a name that leads to something else meanwhile is an error
 * (-ESTALE). No memory stays
 * allocated.
 */
#ifndef SYMBOLIZE_UTIL_GUARDED_PATH_H
#define SYMBOLIZE_UTIL_GUARDED_PATH_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

/*
 * Returns whether this is the number that the kernel shows for users whom our user namespace does
 * not know, root outside of it above all. It may be a user of its own (nobody) elsewhere.
 */
bool guarded_is_unmapped(uid_t uid);

/* No call for files returns these. */
#define GUARDED_OTHERS EREMCHG
#define GUARDED_LINKED ENOTUNIQ

struct guarded_path {
	int folder;              /* open as a path alone; of the name */
	char name[NAME_MAX + 1]; /* where links lead to */
	int found;               /* open as a path alone; -1: there is nothing */
	struct stat st;          /* of what was found */
	bool is_handed;          /* it is a descriptor of a process, which /proc has led to */
};

/*
 * Finds where a path leads to. `flags`: O_NOFOLLOW (-ELOOP: the last name is a link) or 0. 0 or
 * -errno; call guarded_release in any case.
 */
int guarded_find(struct guarded_path *g, const char *path, int flags);

/* Opens what was found, close-on-exec: a descriptor or -errno. `flags`: not O_CREAT, not O_TRUNC.
 */
int guarded_open_found(const struct guarded_path *g, int flags);

/*
 * Finds where a path leads to that everybody may follow, to a file that everybody may read: every
 * user there is, by the modes of the file and of each folder on the way, none of which has an ACL.
 * 0 or -errno (-EACCES); call guarded_release in any case.
 */
int guarded_find_public(struct guarded_path *g, const char *path);

void guarded_release(struct guarded_path *g);

/*
 * As open(2), close-on-exec, for a file that is to be written; O_CREAT makes one that is not there.
 * A descriptor or -errno.
 */
int guarded_open(const char *path, int flags, mode_t mode);

/* Returns what an errno of ours means; strerror(3) of all others. */
const char *guarded_error(int error);

#endif
