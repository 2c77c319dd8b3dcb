/* SPDX-License-Identifier: MIT */
/*
 * Opens files that are to be written, by paths in which other users may plant names; and files that
 * everybody may read.
 *
 * A shared folder has the sticky bit, and a group or everybody may create files in it (/tmp). There
 * any user can take a name in advance: by a file or a FIFO, by a link, or by a hard link to a file
 * of ours. So a path is walked name by name, and each name is checked before it is used. The kernel
 * may do so as well, or not (fs.protected_symlinks and others). Refused are
 *
 * - in a shared folder: links, files and FIFOs of others (GUARDED_OTHERS);
 * - in a shared folder: a file or FIFO with a second name (GUARDED_LINKED);
 * - in another user's folder: a second name of a file that is not that user's (GUARDED_LINKED);
 * - anywhere: a link of another user that leads to our files, or to a descriptor of a process; for
 *   root, to files that are not that user's (GUARDED_OTHERS).
 *
 * Our files are those of our effective user. Root is no other user. Other users' folders and the
 * files in them may be used: whoever names them means them. Links of /proc, to which /dev/stdout
 * and /dev/fd/N lead, are descriptors that were handed to us, and are followed.
 *
 * The file that was checked is the file that is opened: a name that changes meanwhile is an error
 * (-ESTALE). No memory stays allocated.
 */
#ifndef SYMBOLIZE_UTIL_GUARDED_PATH_H
#define SYMBOLIZE_UTIL_GUARDED_PATH_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

/*
 * Returns whether `uid` is the kernel's number for users that our user namespace does not map, such
 * as root outside. Elsewhere the number may be a user of its own (nobody).
 */
bool guarded_is_unmapped(uid_t uid);

/* Errors of ours; no system call on files returns them. */
#define GUARDED_OTHERS EREMCHG
#define GUARDED_LINKED ENOTUNIQ

struct guarded_path {
	int folder;              /* O_PATH descriptor of the folder that has the name */
	char name[NAME_MAX + 1]; /* last name of the path, behind all links */
	int found;               /* O_PATH descriptor of the file; -1: there is none */
	struct stat st;          /* status of the file found */
	bool is_handed;          /* the file is a descriptor of a process, by a link of /proc */
};

/*
 * Finds the file that a path leads to. `flags`: O_NOFOLLOW (-ELOOP if the last name is a link) or
 * 0. Returns 0 or -errno; call guarded_release in any case.
 */
int guarded_find(struct guarded_path *g, const char *path, int flags);

/*
 * Opens the file found, close-on-exec. `flags` has neither O_CREAT nor O_TRUNC. Returns a
 * descriptor or -errno.
 */
int guarded_open_found(const struct guarded_path *g, int flags);

/*
 * Finds a file that every user may reach and read. Decides by the modes of the file and of each
 * folder on the way; none may have an ACL. Returns 0 or -errno (-EACCES); call guarded_release in
 * any case.
 */
int guarded_find_public(struct guarded_path *g, const char *path);

void guarded_release(struct guarded_path *g);

/*
 * Opens a file for writing as open(2) does, close-on-exec; O_CREAT creates a missing file. Returns
 * a descriptor or -errno.
 */
int guarded_open(const char *path, int flags, mode_t mode);

/* Returns the text of an error: ours, or strerror(3) of all others. */
const char *guarded_error(int error);

#endif
