// SPDX-License-Identifier: MIT
#include "profiler/attach/attach.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "profiler/base/process_names.h"
#include "symbolize/util/proc_file.h"
#include "symbolize/util/text.h"

#define CMDLINE_BYTES 65536
#define CGROUP_DEPTH 32
#define CGROUP_PATH_BYTES 4096
#define CGROUP_MAGIC 0x27e0eb
#define CGROUP2_MAGIC 0x63677270
#define SHOWN_PIDS 8
#define UNLIKE_MAX 65536u /* then all command lines are read again */

/* State of a process in the scan. */
enum choice { CHOICE_NONE, CHOICE_OPEN, CHOICE_OUT, CHOICE_IN };

struct attachment {
	const struct attach_request *request;
	struct attach_steps steps;
	struct bounded_caller *calls;
	struct log *log;
	regex_t name;
	bool has_name;
	char cgroup[CGROUP_PATH_BYTES]; /* folder */
	struct process_scan scan;
	unsigned char *choices; /* by position in the scan */
	struct id_map roots;    /* requested pid -> start_ticks; 0: any */
	bool knows_roots;       /* names and groups are resolved, after the first reading */
	struct id_map refused;  /* pids that the user may not inspect */
	struct id_map added;    /* pid -> start_ticks */
	struct id_map unlike;   /* pids without a matching name -> fingerprint(), then */
	pid_t first;
	uint32_t count;
};

char *attach_text(const struct attach_request *r)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	const char *between = "";

	if (!out)
		return NULL;
	for (uint32_t i = 0; i < r->pid_count && i < SHOWN_PIDS; i++, between = ", ")
		fprintf(out, "%s%u",
			i > 0              ? between
			: r->pid_count > 1 ? "processes "
					   : "process ",
			r->pids[i]);
	if (r->pid_count > SHOWN_PIDS)
		fprintf(out, ", ...");
	if (r->name)
		fprintf(out, "%sprocesses named '%s'", between, r->name);
	if (r->cgroup)
		fprintf(out, "%scgroup %s", r->name ? ", " : between, r->cgroup);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

/* ---- the request ---- */

/* Reads the program's path. Reading this link does not access the file system. */
static void read_program(pid_t pid, char exe[PATH_MAX])
{
	char link[32];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	n = readlink(link, exe, PATH_MAX - 1);
	exe[n > 0 ? n : 0] = '\0';
}

static bool is_matched(const struct attachment *a, const char *name)
{
	return regexec(&a->name, name, 0, NULL, 0) == 0;
}

static bool has_line_like_name(const struct attachment *a, const struct scanned_process *p)
{
	struct process_names names;
	char *cmdline = NULL, exe[PATH_MAX];
	bool is_found = false;
	size_t size;

	if (proc_file_read(a->calls, p->pid, "cmdline", CMDLINE_BYTES, &cmdline, &size) != 0)
		return false;
	read_program(p->pid, exe);
	process_names_find(&names, p->comm, base_name(exe), cmdline, size,
			   strchr(a->request->name, '/'));
	for (uint32_t i = 0; i < names.count && !is_found; i++)
		is_found = is_matched(a, names.list[i]);
	free(cmdline);
	return is_found;
}

/* Identifies what a process was when its names were compared: execve changes the comm. */
static uint64_t fingerprint(const struct scanned_process *p)
{
	return p->start_ticks << 32 | hash_bytes(p->comm, strlen(p->comm));
}

static bool has_name(struct attachment *a, const struct scanned_process *p)
{
	const uint64_t *unlike;
	uint64_t *added;

	if (!a->has_name || p->is_kernel || p->has_ended)
		return false;
	if (is_matched(a, p->comm))
		return true;
	unlike = id_map_find(&a->unlike, (uint32_t)p->pid);
	if (unlike && *unlike == fingerprint(p))
		return false;
	if (has_line_like_name(a, p))
		return true;
	if (a->unlike.count >= UNLIKE_MAX)
		id_map_release(&a->unlike);
	added = id_map_get(&a->unlike, (uint32_t)p->pid);
	if (added) /* else it is compared again */
		*added = fingerprint(p);
	return false;
}

/* Adds a pid, or the process that has it now. `start_ticks` 0: whichever has it. */
static int add_root(struct attachment *a, uint32_t pid, uint64_t start_ticks)
{
	uint64_t *root = id_map_get(&a->roots, pid);

	if (!root)
		return -ENOMEM;
	*root = start_ticks;
	return 0;
}

static int read_members(struct attachment *a, const char *folder)
{
	char path[CGROUP_PATH_BYTES];
	unsigned int pid;
	int err = 0;
	FILE *file;

	if (snprintf(path, sizeof(path), "%s/cgroup.procs", folder) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (!err && fscanf(file, "%u", &pid) == 1)
		if (pid) /* 0: outside our pid namespace */
			err = add_root(a, pid, 0);
	fclose(file);
	return err;
}

/* Adds the processes of a group and of its subgroups. */
static int read_cgroup(struct attachment *a, const char *folder, int depth)
{
	int err = read_members(a, folder);
	const struct dirent *entry;
	DIR *list;

	if (err || depth == CGROUP_DEPTH)
		return err;
	list = opendir(folder);
	while (list && err != -ENOMEM && (entry = readdir(list))) {
		char path[CGROUP_PATH_BYTES];

		if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
		    snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) <
			    (int)sizeof(path))
			err = read_cgroup(a, path, depth + 1); /* errors: it may be gone */
	}
	if (list)
		closedir(list);
	return err == -ENOMEM ? err : 0;
}

static bool is_cgroup(const char *folder)
{
	struct statfs fs;

	return statfs(folder, &fs) == 0 &&
	       (fs.f_type == CGROUP2_MAGIC || fs.f_type == CGROUP_MAGIC);
}

/* Finds the cgroup's folder. Returns false after logging that there is none. */
static bool find_cgroup(struct attachment *a)
{
	static const char *const roots[] = {"", "/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	const char *path = a->request->cgroup;

	for (size_t i = 0; path && i < (path[0] == '/' ? 3 : 1); i++) {
		snprintf(a->cgroup, sizeof(a->cgroup), "%s%s", roots[i], path);
		if (is_cgroup(a->cgroup))
			return true;
	}
	return !path || log_error(a->log,
				  "--cgroup %s: there is no such cgroup; name its folder below "
				  "/sys/fs/cgroup, or its path as in /proc/PID/cgroup",
				  path);
}

/*
 * Names the owner of a process. Looks in /etc/passwd only: NSS would load libraries, and we have
 * capabilities.
 */
static void user_of(pid_t pid, char *name, size_t size)
{
	const struct passwd *user = NULL;
	struct stat st;
	char path[32];
	FILE *file;

	snprintf(name, size, "another user");
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &st) != 0)
		return;
	snprintf(name, size, "user %u", (unsigned int)st.st_uid);
	file = fopen("/etc/passwd", "re");
	while (file && (user = fgetpwent(file)) && user->pw_uid != st.st_uid)
		;
	if (user)
		snprintf(name, size, "%s", user->pw_name);
	if (file)
		fclose(file);
}

static void explain_refusal(const struct attachment *a, pid_t pid, int err)
{
	char owner[64];

	if (err == -ESRCH) {
		log_error(a->log, "process %d has ended", (int)pid);
	} else if (err != -EACCES && err != -EPERM) {
		log_error(a->log, "process %d: %s", (int)pid, strerror(-err));
	} else if (geteuid() == 0) {
		log_error(a->log,
			  "process %d cannot be inspected, even by root: it has capabilities "
			  "that profile lacks, or a security module protects it",
			  (int)pid);
	} else {
		user_of(pid, owner, sizeof(owner));
		log_error(a->log,
			  "process %d belongs to %s, or has more privileges than this user: "
			  "permission denied; under sudo, use --as-root",
			  (int)pid, owner);
	}
}

static bool is_own(const struct attachment *a, pid_t pid)
{
	return pid == a->steps.own[0] || pid == a->steps.own[1];
}

/* Checks a process requested by pid. Returns false after logging why it cannot be profiled. */
static bool check_pid(struct attachment *a, pid_t pid)
{
	struct scanned_process p;
	pid_t process;
	int err;

	if (is_own(a, pid)) {
		log_error(a->log, "process %d is profile itself", (int)pid);
	} else if (scanned_process_read(pid, &p) != 0) {
		log_error(a->log,
			  "there is no process %d here; ps -e lists those there are, and --name "
			  "finds one by its name",
			  (int)pid);
	} else if (p.is_kernel) {
		log_error(a->log, "process %d (%s) is a kernel thread", (int)pid, p.comm);
	} else if (p.has_ended) {
		log_error(a->log, "process %d (%s) has ended", (int)pid, p.comm);
	} else if ((process = scanned_process_of(pid)) != pid && process) {
		log_error(a->log, "%d is a thread of process %d: use -p %d", (int)pid, (int)process,
			  (int)process);
	} else {
		err = a->steps.may_follow(a->steps.context, pid);
		if (!err)
			err = add_root(a, (uint32_t)pid, p.start_ticks);
		if (!err)
			return true;
		explain_refusal(a, pid, err);
	}
	return false;
}

/* ---- choosing ---- */

/* Returns the parent's position in the scan, or NULL. */
static const uint64_t *parent_of(const struct attachment *a, uint64_t position)
{
	return id_map_find(&a->scan.by_pid, (uint32_t)a->scan.list[position].parent);
}

static bool is_same(const uint64_t *start_ticks, const struct scanned_process *p)
{
	return start_ticks && (*start_ticks == 0 || *start_ticks == p->start_ticks);
}

/* Judges a process by itself. CHOICE_OPEN: its parent decides. */
static enum choice judge(struct attachment *a, const struct scanned_process *p)
{
	/* children of profile are excluded, whatever else they match */
	if (is_own(a, p->pid) || is_own(a, p->parent) || p->is_kernel)
		return CHOICE_OUT;
	if (is_same(id_map_find(&a->roots, (uint32_t)p->pid), p) ||
	    is_same(id_map_find(&a->added, (uint32_t)p->pid), p) ||
	    (!a->knows_roots && has_name(a, p)))
		return CHOICE_IN;
	return CHOICE_OPEN;
}

/*
 * Returns CHOICE_IN if the process at this position, or an ancestor, was requested; otherwise
 * CHOICE_OUT.
 */
static enum choice choose(struct attachment *a, uint32_t position)
{
	enum choice choice = CHOICE_OUT;
	const uint64_t *at;

	/* walk up to a decided ancestor; iterative, because a target may nest any number */
	for (at = &(uint64_t){position}; at; at = parent_of(a, *at)) {
		unsigned char *known = &a->choices[*at];

		if (*known == CHOICE_NONE)
			*known = (unsigned char)judge(a, &a->scan.list[*at]);
		else if (*known == CHOICE_OPEN)
			break;
		choice = *known == CHOICE_IN ? CHOICE_IN : CHOICE_OUT;
		if (*known != CHOICE_OPEN)
			break;
	}
	for (at = &(uint64_t){position}; at && a->choices[*at] == CHOICE_OPEN;
	     at = parent_of(a, *at))
		a->choices[*at] = (unsigned char)choice;
	return choice;
}

static int read_all(struct attachment *a)
{
	int err = process_scan_all(&a->scan);

	if (err)
		return err;
	free(a->choices);
	a->choices = calloc(a->scan.count + 1u, 1);
	if (!a->choices)
		return -ENOMEM;
	return a->cgroup[0] && !a->knows_roots ? read_cgroup(a, a->cgroup, 0) : 0;
}

/*
 * Fixes the set of requested processes and their descendants for all readings. Processes that get a
 * matching name or join the group later do not count. Returns their number or -errno.
 */
static int keep_roots(struct attachment *a)
{
	int err = 0, count = 0;

	for (uint32_t i = 0; i < a->scan.count && !err; i++) {
		const struct scanned_process *p = &a->scan.list[i];

		if (choose(a, i) != CHOICE_IN || p->has_ended)
			continue;
		err = add_root(a, (uint32_t)p->pid, p->start_ticks);
		count++;
	}
	a->knows_roots = true;
	return err ? err : count;
}

static bool check_request(struct attachment *a)
{
	const struct attach_request *r = a->request;
	int err;

	for (uint32_t i = 0; i < r->pid_count; i++)
		if (!check_pid(a, (pid_t)r->pids[i]))
			return false;
	if (!find_cgroup(a))
		return false;
	err = read_all(a);
	if (!err)
		err = keep_roots(a);
	if (err < 0)
		return log_error(a->log, "cannot read what processes there are: %s",
				 strerror(-err));
	if (err > 0)
		return true;
	if (r->pid_count)
		log_error(a->log, "process %u has ended", r->pids[0]);
	else if (r->name)
		log_error(a->log,
			  "no process is named like '%s'; its name (comm), what it "
			  "was started as or its title (argv[0]), and the script or module of an "
			  "interpreter were compared: ps -eo pid,comm,args shows them",
			  r->name);
	else
		log_error(a->log, "--cgroup %s: the cgroup has no processes", r->cgroup);
	return false;
}

struct attachment *attachment_new(const struct attach_request *request,
				  const struct attach_steps *steps, struct bounded_caller *calls,
				  struct log *log)
{
	struct attachment *a = calloc(1, sizeof(*a));

	if (!a) {
		log_error(log, "out of memory");
		return NULL;
	}
	a->request = request;
	a->steps = *steps;
	a->calls = calls;
	a->log = log;
	if (request->name)
		a->has_name = regcomp(&a->name, request->name, REG_EXTENDED | REG_NOSUB) == 0;
	if (check_request(a))
		return a;
	attachment_free(a);
	return NULL;
}

void attachment_free(struct attachment *a)
{
	if (!a)
		return;
	if (a->has_name)
		regfree(&a->name);
	process_scan_release(&a->scan);
	id_map_release(&a->roots);
	id_map_release(&a->refused);
	id_map_release(&a->added);
	id_map_release(&a->unlike);
	free(a->choices);
	free(a);
}

bool attachment_has_ended(const struct attachment *a)
{
	struct scanned_process now;
	uint32_t position = 0, pid;
	uint64_t ticks;

	while (id_map_next(&a->roots, &position, &pid, &ticks))
		if (scanned_process_read((pid_t)pid, &now) == 0 && !now.has_ended &&
		    is_same(&ticks, &now))
			return false;
	return true;
}

/* ---- following ---- */

/*
 * Follows a process of the scan. Returns 1, 0 if it has ended or may not be inspected, or -errno.
 */
static int follow(struct attachment *a, const struct scanned_process *p)
{
	const struct attach_steps *steps = &a->steps;
	struct scanned_process now;
	int err = steps->may_follow(steps->context, p->pid);

	if (err == -ENOMEM || err == -ESRCH)
		return err == -ESRCH ? 0 : err;
	if (err) {
		log_verbose(a->log, "process %d (%s) is left out: %s", (int)p->pid, p->comm,
			    strerror(-err));
		return id_map_get(&a->refused, (uint32_t)p->pid) ? 0 : -ENOMEM;
	}
	err = steps->follow(steps->context, p->pid);
	if (err)
		return err;
	/* check again: before `follow`, an end goes unreported and the pid may be reused */
	if (scanned_process_read(p->pid, &now) == 0 && now.start_ticks == p->start_ticks &&
	    !now.has_ended)
		return 1;
	steps->forget(steps->context, p->pid);
	return 0;
}

static int add(struct attachment *a, const struct scanned_process *p)
{
	uint64_t *ticks = id_map_get(&a->added, (uint32_t)p->pid);
	int err = 0;

	if (!ticks)
		return -ENOMEM;
	*ticks = p->start_ticks;
	if (!a->steps.knows(a->steps.context, p->pid))
		err = a->steps.add(a->steps.context, p);
	if (err)
		return err == -ESRCH ? 0 : err;
	a->count++;
	if (!a->first)
		a->first = p->pid;
	return 0;
}

static bool is_new(const struct attachment *a, uint32_t position)
{
	const struct scanned_process *p = &a->scan.list[position];
	const uint64_t *ticks = id_map_find(&a->added, (uint32_t)p->pid);

	return a->choices[position] == CHOICE_IN && !p->has_ended &&
	       !(ticks && *ticks == p->start_ticks) && !id_map_find(&a->refused, (uint32_t)p->pid);
}

/*
 * Reads /proc once and follows new processes. Returns the number of new processes that the kernel
 * had not reported, or -errno. Reported ones are followed with all their children.
 */
static int follow_new(struct attachment *a)
{
	int err = read_all(a), followed, count = 0, unreported = 0;

	for (uint32_t i = 0; i < a->scan.count && !err; i++)
		choose(a, i);
	/* from here on, CHOICE_IN marks processes to add */
	for (uint32_t i = 0; i < a->scan.count && !err; i++) {
		if (!is_new(a, i)) {
			a->choices[i] = CHOICE_OUT;
			continue;
		}
		followed = follow(a, &a->scan.list[i]);
		err = followed < 0 ? followed : 0;
		if (followed == 1)
			count++;
		else
			a->choices[i] = CHOICE_OUT;
	}
	if (err || count == 0)
		return err;
	a->steps.catch_up(a->steps.context);
	for (uint32_t i = 0; i < a->scan.count && !err; i++) {
		if (a->choices[i] != CHOICE_IN)
			continue;
		unreported += !a->steps.knows(a->steps.context, a->scan.list[i].pid);
		err = add(a, &a->scan.list[i]);
	}
	return err ? err : unreported;
}

int attachment_follow(struct attachment *a)
{
	int n;

	/* converges: processes that start in between are reported by the kernel */
	do
		n = follow_new(a);
	while (n > 0);
	if (n < 0)
		return n;
	log_warn_if(a->log, a->refused.count,
		    "# process{ is|es are} left out: %s cannot inspect {it|them}%s",
		    geteuid() == 0 ? "even root" : "this user",
		    geteuid() == 0 ? "" : "; under sudo, use --as-root");
	return a->count ? 0 : -ESRCH;
}

int attachment_look_again(struct attachment *a)
{
	bool any = false;
	int n;

	if (!a->has_name && !a->cgroup[0])
		return 0;
	a->knows_roots = false;
	n = read_all(a);
	for (uint32_t i = 0; i < a->scan.count && !n; i++)
		any |= choose(a, i) == CHOICE_IN && is_new(a, i);
	if (!n)
		n = keep_roots(a);
	while (any && n > 0)
		n = follow_new(a);
	return n < 0 ? n : 0;
}

bool attachment_was_refused(const struct attachment *a)
{
	return a->refused.count > 0;
}

uint32_t attachment_count(const struct attachment *a)
{
	return a->count;
}

pid_t attachment_first(const struct attachment *a)
{
	return a->first;
}
