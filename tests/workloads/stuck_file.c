/* SPDX-License-Identifier: MIT */
/*
 * stuck_file FOLDER FILE MODE [OFFSET]: a file system whose only file never comes.
 *
 * Mounts itself on FOLDER, where FILE then lies under its base name, and prints "ready". MODE:
 *
 *   none	answers all requests
 *   lookup	never answers who looks for the file, so that stat(2) and open(2) block
 *   open	never answers open(2)
 *   read	never answers read(2)
 *   read-from	answers read(2) of what ends at OFFSET or before, and no other
 *   flush	never answers close(2)
 *
 * After SIGUSR1 it answers nothing, after SIGUSR2 again as MODE says. Who waits for an answer
 * cannot be killed. SIGTERM, SIGINT and the end of the parent unmount FOLDER; then all who wait get
 * an error. Exit status 77 and "SKIP: reason" where mounting is not permitted.
 *
 * It speaks to /dev/fuse itself (linux/fuse.h), since no library lets requests go unanswered.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILE_INODE 2
#define BUFFER_SIZE (1 << 20)
#define SKIPPED 77

enum mode { NONE, LOOKUP, OPEN, READ, READ_FROM, FLUSH, MODES };
static const char *const mode_names[MODES] = {"none", "lookup",    "open",
					      "read", "read-from", "flush"};

struct server {
	int fuse, signals;
	int file; /* the file served */
	struct stat st;
	const char *name, *folder;
	enum mode mode;
	uint64_t offset;
	bool is_mute;
	char *buffer; /* BUFFER_SIZE bytes: a request, or data read */
};

static void reply(struct server *s, uint64_t unique, int error, const void *data, size_t size)
{
	struct fuse_out_header header = {
		.len = (uint32_t)(sizeof(header) + size), .error = -error, .unique = unique};
	struct iovec parts[] = {{&header, sizeof(header)}, {(void *)(uintptr_t)data, size}};

	/* ENOENT: the caller has given up */
	if (writev(s->fuse, parts, size ? 2 : 1) < 0 && errno != ENOENT)
		perror("stuck_file: reply");
}

static struct fuse_attr describe(const struct server *s, uint64_t inode)
{
	struct fuse_attr attr = {
		.ino = inode,
		.mode = S_IFDIR | 0755,
		.nlink = 1,
		.uid = getuid(),
		.gid = getgid(),
		.blksize = 4096,
	};

	if (inode == FILE_INODE) {
		attr.mode = S_IFREG | 0755;
		attr.size = (uint64_t)s->st.st_size;
		attr.blocks = (attr.size + 511) / 512;
		attr.mtime = (uint64_t)s->st.st_mtime;
	}
	return attr;
}

static void answer_init(struct server *s, const struct fuse_in_header *in)
{
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = 31,
		.max_readahead = 65536,
		.max_write = 65536,
	};

	reply(s, in->unique, 0, &out, sizeof(out));
}

static void answer_lookup(struct server *s, const struct fuse_in_header *in, const char *name)
{
	struct fuse_entry_out out = {.nodeid = FILE_INODE, .attr = describe(s, FILE_INODE)};

	if (strcmp(name, s->name) != 0)
		reply(s, in->unique, ENOENT, NULL, 0);
	else if (s->mode != LOOKUP)
		reply(s, in->unique, 0, &out, sizeof(out));
}

static void answer_getattr(struct server *s, const struct fuse_in_header *in)
{
	struct fuse_attr_out out = {.attr = describe(s, in->nodeid)};

	reply(s, in->unique, 0, &out, sizeof(out));
}

static void answer_open(struct server *s, const struct fuse_in_header *in)
{
	/* makes each read(2) a separate request */
	struct fuse_open_out out = {.open_flags = FOPEN_DIRECT_IO};

	if (s->mode != OPEN || in->opcode == FUSE_OPENDIR)
		reply(s, in->unique, 0, &out, sizeof(out));
}

static void answer_read(struct server *s, const struct fuse_in_header *in,
			const struct fuse_read_in *read)
{
	size_t size = read->size < BUFFER_SIZE ? read->size : BUFFER_SIZE;
	uint64_t unique = in->unique;
	ssize_t got;

	if (s->mode == READ || (s->mode == READ_FROM && read->offset + size > s->offset))
		return;
	got = pread(s->file, s->buffer, size, (off_t)read->offset);
	reply(s, unique, got < 0 ? errno : 0, s->buffer, got < 0 ? 0 : (size_t)got);
}

static void answer(struct server *s, const struct fuse_in_header *in)
{
	if (s->is_mute)
		return;
	switch (in->opcode) {
	case FUSE_INIT:
		answer_init(s, in);
		break;
	case FUSE_LOOKUP:
		answer_lookup(s, in, (const char *)(in + 1));
		break;
	case FUSE_GETATTR:
		answer_getattr(s, in);
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		answer_open(s, in);
		break;
	case FUSE_READ:
		answer_read(s, in, (const void *)(in + 1));
		break;
	case FUSE_FLUSH:
		if (s->mode != FLUSH)
			reply(s, in->unique, 0, NULL, 0);
		break;
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		reply(s, in->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break; /* have no answer */
	default:
		reply(s, in->unique, ENOSYS, NULL, 0);
	}
}

/* False at the end. */
static bool obey_signal(struct server *s)
{
	struct signalfd_siginfo info;

	if (read(s->signals, &info, sizeof(info)) != sizeof(info))
		return true;
	s->is_mute = info.ssi_signo == SIGUSR1;
	return info.ssi_signo == SIGUSR1 || info.ssi_signo == SIGUSR2;
}

static void serve(struct server *s)
{
	struct pollfd both[] = {{.fd = s->signals, .events = POLLIN},
				{.fd = s->fuse, .events = POLLIN}};

	for (;;) {
		ssize_t got;

		if (poll(both, 2, -1) < 0)
			continue;
		if (both[0].revents && !obey_signal(s))
			return;
		if (!both[1].revents)
			continue;
		got = read(s->fuse, s->buffer, BUFFER_SIZE);
		if (got < 0 && errno == ENODEV)
			return; /* somebody else has unmounted it */
		if (got >= (ssize_t)sizeof(struct fuse_in_header))
			answer(s, (const void *)s->buffer);
	}
}

static int skip(const char *reason)
{
	printf("SKIP: %s: %s\n", reason, strerror(errno));
	return SKIPPED;
}

static int open_all(struct server *s, const char *path)
{
	sigset_t signals;

	s->file = open(path, O_RDONLY | O_CLOEXEC);
	s->buffer = malloc(BUFFER_SIZE);
	if (s->file < 0 || !s->buffer || fstat(s->file, &s->st) != 0) {
		perror(path);
		return 1;
	}
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGUSR1);
	sigaddset(&signals, SIGUSR2);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	s->signals = signalfd(-1, &signals, SFD_CLOEXEC);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	s->fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	return s->fuse < 0 ? skip("/dev/fuse cannot be opened") : 0;
}

int main(int argc, char **argv)
{
	struct server s = {.mode = MODES};
	char options[128];
	int status;

	for (int i = 0; argc > 3 && i < MODES; i++)
		if (strcmp(argv[3], mode_names[i]) == 0)
			s.mode = (enum mode)i;
	if (s.mode == MODES) {
		fprintf(stderr, "usage: stuck_file FOLDER FILE MODE [OFFSET]\n");
		return 2;
	}
	s.folder = argv[1];
	s.name = strrchr(argv[2], '/') ? strrchr(argv[2], '/') + 1 : argv[2];
	s.offset = argc > 4 ? strtoull(argv[4], NULL, 0) : 0;
	status = open_all(&s, argv[2]);
	if (status)
		return status;
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=%u,group_id=%u,allow_other", s.fuse, getuid(),
		 getgid());
	if (mount("stuck_file", s.folder, "fuse", MS_NOSUID | MS_NODEV, options) != 0)
		return skip("a file system cannot be mounted");
	printf("ready\n");
	fflush(stdout);
	serve(&s);
	umount2(s.folder, MNT_DETACH);
	return 0;
}
