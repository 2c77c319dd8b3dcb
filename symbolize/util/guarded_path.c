// SPDX-License-Identifier: MIT
#include "symbolize/util/guarded_path.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#define UNMAPPED 65534       /* number of users that a user namespace does not map */
#define MAP_BYTES (64 << 10) /* buffer for /proc/self/uid_map: 340 lines at most */
#define MAX_LINKS 40         /* links in one path: the limit of the kernel */
#define MAX_TRIES 10         /* attempts while others create and remove the file */

struct walk {
	struct guarded_path *end;
	char rest[PATH_MAX]; /* rest of the path */
	size_t at;
	int links;
	bool is_public;        /* guarded_find_public */
	bool has_foreign_link; /* a link of the user `foreign` was followed */
	uid_t foreign;
};

/* ---- checks ---- */

static bool is_other(uid_t uid)
{
	return uid != geteuid() && uid != 0;
}

bool guarded_is_unmapped(uid_t uid)
{
	char *text = uid == UNMAPPED ? malloc(MAP_BYTES) : NULL, *line;
	int fd = text ? open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC) : -1;
	ssize_t n = fd >= 0 ? read(fd, text, MAP_BYTES - 1) : 0;
	unsigned int inside, outside, count;
	bool is_known = n <= 0;

	if (fd >= 0)
		close(fd);
	if (n > 0)
		text[n] = '\0';
	for (line = n > 0 ? text : NULL; line && *line; line = strchr(line, '\n'), line += !!line)
		is_known |= sscanf(line, "%u %u %u", &inside, &outside, &count) == 3 &&
			    uid >= inside && uid - inside < count;
	free(text);
	return !is_known;
}

static bool is_shared(const struct stat *folder)
{
	return folder->st_mode & S_ISVTX && folder->st_mode & (S_IWGRP | S_IWOTH);
}

/* Returns whether everybody may read the file, or search the folder. */
static bool is_public(int fd, const struct stat *st)
{
	const mode_t read = S_IRUSR | S_IRGRP | S_IROTH, search = S_IXUSR | S_IXGRP | S_IXOTH;
	const mode_t all = S_ISDIR(st->st_mode) ? search : read;
	char self[64];

	if ((st->st_mode & all) != all)
		return false;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return getxattr(self, "system.posix_acl_access", NULL, 0) < 0 &&
	       (errno == ENODATA || errno == EOPNOTSUPP);
}

/* Checks a name before it is used. Returns 0 or -errno. */
static int check_name(struct walk *w, const struct stat *folder, const struct stat *st,
		      bool is_last)
{
	bool is_link = S_ISLNK(st->st_mode);

	if (w->is_public)
		return is_public(w->end->folder, folder) ? 0 : -EACCES;
	if (!is_link && !is_last)
		return 0;
	if (is_shared(folder) && !S_ISDIR(st->st_mode)) {
		if (is_other(st->st_uid))
			return -GUARDED_OTHERS;
		if (!is_link && st->st_nlink > 1)
			return -GUARDED_LINKED;
	}
	/* a second name of a file that the folder's owner does not own but may have linked */
	if (!is_link && !S_ISDIR(st->st_mode) && st->st_nlink > 1 && is_other(folder->st_uid) &&
	    st->st_uid != folder->st_uid)
		return -GUARDED_LINKED;
	if (is_link && is_other(st->st_uid) && !guarded_is_unmapped(st->st_uid)) {
		w->has_foreign_link = true;
		w->foreign = st->st_uid;
	}
	return 0;
}

/* Checks whether a link of another user may lead to this end. Returns 0 or -errno. */
static int check_end(const struct walk *w, const struct stat *end)
{
	uid_t we = geteuid();

	if (w->has_foreign_link && (end->st_uid == we || (we == 0 && end->st_uid != w->foreign)))
		return -GUARDED_OTHERS;
	return 0;
}

/* ---- the walk ---- */

/* Takes the next name. Returns false if there is none. */
static bool next_name(struct walk *w, char name[NAME_MAX + 1], bool *is_last, int *err)
{
	const char *at = w->rest + w->at + strspn(w->rest + w->at, "/");
	size_t n = strcspn(at, "/");

	if (n == 0)
		return false;
	*err = n > NAME_MAX ? -ENAMETOOLONG : 0;
	snprintf(name, NAME_MAX + 1, "%.*s", (int)n, at);
	w->at = (size_t)(at - w->rest) + n;
	*is_last = w->rest[w->at + strspn(w->rest + w->at, "/")] == '\0';
	return true;
}

static int open_start(const char *path)
{
	int fd = open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static void enter(struct walk *w, int folder)
{
	close(w->end->folder);
	w->end->folder = folder;
}

/* Replaces a link by its text in the rest of the path. Returns 0 or -errno. */
static int follow(struct walk *w, int link)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(link, "", text, sizeof(text));
	size_t left = strlen(w->rest + w->at);
	int folder;

	if (n <= 0)
		return n < 0 ? -errno : -ENOENT;
	if (++w->links > MAX_LINKS)
		return -ELOOP;
	if ((size_t)n + left >= sizeof(w->rest))
		return -ENAMETOOLONG;
	memmove(w->rest + n, w->rest + w->at, left + 1);
	memcpy(w->rest, text, (size_t)n);
	w->at = 0;
	if (text[0] != '/')
		return 0;
	folder = open_start("/");
	if (folder < 0)
		return folder;
	enter(w, folder);
	return 0;
}

static bool is_proc(int folder)
{
	struct statfs system;

	return fstatfs(folder, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

/* Opens a name as O_PATH, without following a link. Returns a descriptor or -errno. */
static int open_name(int folder, const char *name, bool is_last)
{
	int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC, fd = -1;

	if (!is_last) { /* an automount may have to mount the folder first */
		fd = openat(folder, name, flags | O_DIRECTORY);
		if (fd < 0 && errno != ENOTDIR && errno != ELOOP)
			return -errno;
	}
	if (fd < 0)
		fd = openat(folder, name, flags);
	return fd < 0 ? -errno : fd;
}

/* Ends the walk where nothing has the last name. Returns 0 or -errno. */
static int end_with_nothing(struct walk *w)
{
	struct stat folder;

	if (w->rest[w->at] == '/')
		return -EISDIR;
	return fstat(w->end->folder, &folder) == 0 ? check_end(w, &folder) : -errno;
}

/* Continues the walk at `fd`, which `end` keeps if it is the last name. Returns 0 or -errno. */
static int arrive(struct walk *w, int fd, bool is_last)
{
	if (!is_last) {
		enter(w, fd);
		return 0;
	}
	w->end->found = fd;
	if (w->rest[w->at] == '/' && !S_ISDIR(w->end->st.st_mode))
		return -ENOTDIR;
	if (w->is_public)
		return is_public(fd, &w->end->st) ? 0 : -EACCES;
	return w->end->is_handed ? 0 : check_end(w, &w->end->st);
}

/* Walks one name. Returns 1 if it was the last, 0 if others follow, or -errno. */
static int walk_name(struct walk *w, bool is_last, int flags)
{
	struct guarded_path *g = w->end;
	int fd = open_name(g->folder, g->name, is_last), err = 0;
	bool is_link, is_special;
	struct stat folder;

	if (fd == -ENOENT && is_last) {
		err = end_with_nothing(w);
		return err ? err : 1;
	}
	if (fd < 0)
		return fd;
	if (fstat(fd, &g->st) != 0 || fstat(g->folder, &folder) != 0)
		err = -errno;
	is_link = !err && S_ISLNK(g->st.st_mode);
	is_special = is_link && is_proc(g->folder);
	if (is_link && is_last && flags & O_NOFOLLOW && w->rest[w->at] != '/')
		err = -ELOOP;
	if (!err && is_special && (w->is_public || w->has_foreign_link))
		err = w->is_public ? -EACCES : -GUARDED_OTHERS;
	if (!err && !is_special && (w->is_public || strcmp(g->name, "..") != 0))
		err = check_name(w, &folder, &g->st, is_last);
	if (!err && is_link && !is_special)
		err = follow(w, fd);
	if (err || (is_link && !is_special)) {
		close(fd);
		return err;
	}
	if (is_special) {
		close(fd);
		fd = openat(g->folder, g->name, O_PATH | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &g->st) != 0) {
			err = -errno;
			if (fd >= 0)
				close(fd);
			return err;
		}
		g->is_handed = is_last;
	}
	err = arrive(w, fd, is_last);
	return err ? err : is_last;
}

static int walk(struct walk *w, const char *path, int flags)
{
	struct guarded_path *g = w->end;
	bool is_last = false;
	int err;

	*g = (struct guarded_path){.folder = -1, .found = -1};
	if (!path[0])
		return -ENOENT;
	if ((size_t)snprintf(w->rest, sizeof(w->rest), "%s", path) >= sizeof(w->rest))
		return -ENAMETOOLONG;
	g->folder = open_start(path);
	err = g->folder < 0 ? g->folder : 0;
	while (!err && next_name(w, g->name, &is_last, &err))
		err = err ? err : walk_name(w, is_last, flags);
	if (err == 0) /* the path is "/", or a link to it */
		return -EISDIR;
	return err < 0 ? err : 0;
}

int guarded_find(struct guarded_path *g, const char *path, int flags)
{
	struct walk w = {.end = g};

	return walk(&w, path, flags);
}

int guarded_find_public(struct guarded_path *g, const char *path)
{
	struct walk w = {.end = g, .is_public = true};
	int err = walk(&w, path, 0);

	return err ? err : g->found < 0 ? -ENOENT : 0;
}

void guarded_release(struct guarded_path *g)
{
	if (g->folder >= 0)
		close(g->folder);
	if (g->found >= 0)
		close(g->found);
	g->folder = g->found = -1;
}

/* ---- opening ---- */

int guarded_open_found(const struct guarded_path *g, int flags)
{
	int fd = openat(g->folder, g->name, flags | O_CLOEXEC | (g->is_handed ? 0 : O_NOFOLLOW));
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && st.st_dev == g->st.st_dev && st.st_ino == g->st.st_ino)
		return fd;
	close(fd);
	return -ESTALE;
}

static int try_to_open(const char *path, int flags, mode_t mode)
{
	const int given = flags & ~(O_CREAT | O_EXCL | O_TRUNC | O_NOFOLLOW);
	struct guarded_path g;
	int fd = guarded_find(&g, path, flags & O_NOFOLLOW);

	if (fd == 0 && g.found < 0) {
		fd = flags & O_CREAT
			     ? openat(g.folder, g.name,
				      given | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
			     : -1;
		if (fd < 0)
			fd = !(flags & O_CREAT) ? -ENOENT : errno == EEXIST ? -ESTALE : -errno;
	} else if (fd == 0) {
		fd = flags & O_EXCL ? -EEXIST : guarded_open_found(&g, given);
		if (fd >= 0 && flags & O_TRUNC && S_ISREG(g.st.st_mode) && ftruncate(fd, 0) != 0) {
			int err = -errno;

			close(fd);
			fd = err;
		}
	}
	guarded_release(&g);
	return fd;
}

int guarded_open(const char *path, int flags, mode_t mode)
{
	int fd = -ESTALE;

	for (int i = 0; fd == -ESTALE && i < MAX_TRIES; i++)
		fd = try_to_open(path, flags, mode);
	return fd;
}

const char *guarded_error(int error)
{
	switch (error) {
	case GUARDED_OTHERS:
		return "Permission denied: the file, or a link on the way to it, belongs to "
		       "another user";
	case GUARDED_LINKED:
		return "Permission denied: the file has several hard links, perhaps made by "
		       "another user";
	default:
		return strerror(error);
	}
}
