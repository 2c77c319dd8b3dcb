// SPDX-License-Identifier: MIT
#include "profiler/shape/source_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>
#include "symbolize/util/file_io.h"
#include "symbolize/util/guarded_path.h"
#include "symbolize/util/text.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Missing in <linux/magic.h>, at least on older systems. */
#define MAGIC_CONFIGFS 0x62656570
#define MAGIC_FUSECTL 0x65735543

/* ---- files that may be read ---- */

/* Returns true for names of languages for GPUs. ".inc", ".txt" and no ending do not count. */
static bool is_name_of_source(const char *path)
{
	static const char *const ends[] = {
		"cu",  "cuh", "c",   "cc",  "cpp", "cxx", "c++", "h",   "hh",  "hpp",  "hxx", "h++",
		"inl", "ipp", "tpp", "tcc", "cl",  "hip", "ptx", "py",  "pyx", "pxd",  "pxi", "jl",
		"rs",  "f",   "for", "f90", "f95", "f03", "f08", "cuf", "zig", "mojo", "chpl"};
	const char *name = base_name(path), *end = strrchr(name, '.');

	for (size_t i = 0; end && end > name && name[0] != '.' && i < COUNT(ends); i++)
		if (strcasecmp(end + 1, ends[i]) == 0)
			return true;
	return false;
}

static bool is_special_place(const char *path)
{
	static const char *const folders[] = {"/proc/", "/sys/", "/dev/"};

	return starts_with_any(path, folders, COUNT(folders));
}

bool source_file_is_special(int fd)
{
	static const uint32_t systems[] = {
		PROC_SUPER_MAGIC,     SYSFS_MAGIC,    DEBUGFS_MAGIC,       TRACEFS_MAGIC,
		SECURITYFS_MAGIC,     SELINUX_MAGIC,  SMACK_MAGIC,         BPF_FS_MAGIC,
		CGROUP_SUPER_MAGIC,   EFIVARFS_MAGIC, CGROUP2_SUPER_MAGIC, PSTOREFS_MAGIC,
		DEVPTS_SUPER_MAGIC,   NSFS_MAGIC,     BINFMTFS_MAGIC,      MAGIC_CONFIGFS,
		RDTGROUP_SUPER_MAGIC, MAGIC_FUSECTL};
	struct statfs system;

	if (fstatfs(fd, &system) != 0)
		return true;
	for (size_t i = 0; i < COUNT(systems); i++)
		if ((uint32_t)system.f_type == systems[i])
			return true;
	return false;
}

static bool is_text(const char *text, size_t size)
{
	size_t at = 0;

	while (at < size) {
		size_t bytes = count_utf8_bytes((const unsigned char *)text + at);

		if (bytes == 0 || text[at] == '\0')
			return false;
		at += bytes;
	}
	return at == size;
}

/* ---- reading, on the thread of bounded calls ---- */

struct read_job {
	struct bounded_job job;
	char path[PATH_MAX];
	uint64_t max; /* bytes */
	/* results */
	enum source_state state;
	int64_t written_ns; /* time of the last change, since 1970 */
	char *text;
	size_t size;
};

static void discard_read(struct bounded_job *opaque)
{
	free(((struct read_job *)opaque)->text);
}

/* Finds the path of an open file, with links followed. */
static bool real_path(int fd, char path[PATH_MAX])
{
	char self[64];
	ssize_t length;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	length = readlink(self, path, PATH_MAX - 1);
	if (length <= 0)
		return false;
	path[length] = '\0';
	return path[0] == '/' && length < PATH_MAX - 1;
}

static enum source_state read_text(struct read_job *job, int fd, const struct stat *st)
{
	job->written_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
	if ((uint64_t)st->st_size > job->max)
		return SOURCE_TOO_LARGE;
	/* the file may grow meanwhile */
	if (read_to_end(fd, job->max + 1, &job->text, &job->size) != 0)
		return SOURCE_NOT_FOUND;
	if (job->size > job->max)
		return SOURCE_TOO_LARGE;
	return is_text(job->text, job->size) ? SOURCE_READ : SOURCE_NOT_TEXT;
}

/* Reads a file that is open as a path (O_PATH). Opens it again by its descriptor, not its name. */
static enum source_state read_found(struct read_job *job, int found)
{
	enum source_state state;
	char path[PATH_MAX];
	struct stat st;
	int fd;

	if (!real_path(found, path))
		return SOURCE_NOT_FOUND;
	if (!is_name_of_source(path) || is_special_place(path) || source_file_is_special(found))
		return SOURCE_REFUSED;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	fd = open_regular(path, SYMLINK_FOLLOW, &st);
	if (fd < 0)
		return fd == -EINVAL ? SOURCE_REFUSED : SOURCE_NOT_FOUND;
	state = read_text(job, fd, &st);
	close(fd);
	return state;
}

/*
 * Opens a file as a path (O_PATH). Returns a descriptor, or -errno. For root the file must be
 * public: a hostile name must not put what only root can read into root's report.
 */
static int find(const struct read_job *job)
{
	struct guarded_path g;
	int fd, err;

	if (geteuid() != 0)
		return open(job->path, O_PATH | O_CLOEXEC);
	err = guarded_find_public(&g, job->path);
	fd = err ? err : g.found;
	if (!err)
		g.found = -1;
	guarded_release(&g);
	return fd;
}

static void run_read(struct bounded_job *opaque)
{
	struct read_job *job = (struct read_job *)opaque;
	int found;

	job->state = SOURCE_NOT_FOUND;
	if (!bounded_drop_capabilities())
		return;
	found = find(job);
	if (found < 0)
		return;
	job->state = read_found(job, found);
	close(found);
}

static bool find_path(const char *folder, const char *name, char path[PATH_MAX])
{
	int length;

	if (name[0] == '/')
		length = snprintf(path, PATH_MAX, "%s", name);
	else if (folder && folder[0] == '/')
		length = snprintf(path, PATH_MAX, "%s/%s", folder, name);
	else
		return false;
	return length < PATH_MAX;
}

int source_file_read(struct bounded_caller *calls, const char *folder, const char *name,
		     uint64_t max, struct source_content *content)
{
	struct read_job *job = bounded_job_new(sizeof(*job), run_read, discard_read);
	bool has_path;

	*content = (struct source_content){.state = SOURCE_NOT_FOUND};
	if (!job)
		return -ENOMEM;
	job->max = max;
	has_path = find_path(folder, name, job->path);
	if (!has_path || !is_name_of_source(job->path) || is_special_place(job->path)) {
		content->state = has_path ? SOURCE_REFUSED : SOURCE_NOT_FOUND;
		free(job);
		return 0;
	}
	if (bounded_call(calls, &job->job, BOUNDED_CALL_OPEN_MS) != 0)
		return 0; /* the job belongs to the caller's thread */
	table_quota_settle(bounded_caller_budget(calls), &job->job.share, false);
	*content = (struct source_content){job->state, job->written_ns, job->text, job->size};
	free(job);
	if (content->state == SOURCE_READ)
		return 0;
	free(content->text);
	content->text = NULL;
	return 0;
}
