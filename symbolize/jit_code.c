// SPDX-License-Identifier: MIT
#include "symbolize/jit_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolize/jitdump.h"
#include "symbolize/mapped_file.h"
#include "symbolize/perf_map.h"
#include "symbolize/util/monotonic.h"
#include "symbolize/util/text.h"

/*
 * Bits of an address in an offset; a generation follows. With five page-table levels addresses have
 * up to 56: those have no generation.
 */
#define ADDRESS_BITS 48
#define ADDRESS_MASK ((UINT64_C(1) << ADDRESS_BITS) - 1)
#define DUMP_READ_MS 20 /* minimum interval of reads, ms */

struct jit_process {
	uint32_t id;
	bool is_located; /* `place` is set */
	bool was_tried;  /* the perf map was tried */
	bool is_read;    /* the whole jitdump was read */
	struct perf_map_place place;
	struct perf_map *map; /* NULL: none, or not loaded */
	uint64_t map_bytes;   /* bytes of the quota */
	bool has_dump;        /* offsets have generations */
	int dump_fd;          /* -1: none, or abandoned */
	uint64_t device;      /* device of that file, as mapped */
	struct jitdump *dump; /* NULL: none, or not loaded */
	int64_t dump_read_ms; /* time of the last read, ms */
	uint64_t dump_bytes;
	uint64_t refused_frames; /* refused records of `dump` */
};

void jit_code_init(struct jit_code *j, struct bounded_caller *calls)
{
	*j = (struct jit_code){.calls = calls, .quota = bounded_caller_budget(calls)};
}

void jit_code_release(struct jit_code *j)
{
	for (uint32_t i = 0; i < j->count; i++) {
		perf_map_free(j->list[i].map);
		jitdump_free(j->list[i].dump);
		if (j->list[i].dump_fd >= 0)
			bounded_close(j->calls, j->list[i].dump_fd);
	}
	record_set_release(&j->set);
	for (uint32_t i = 0; i < j->folder_count; i++)
		bounded_close(j->calls, j->folders[i].fd);
	*j = (struct jit_code){0};
}

/* ---- processes ---- */

static struct jit_process *find(struct jit_code *j, uint32_t id)
{
	uint32_t at = record_find(j, &id);

	return at == RECORD_NONE ? NULL : &j->list[at];
}

struct locate_job {
	struct bounded_job job;
	pid_t pid;
	struct perf_map_place place;
	struct stat folder;
};

static void run_locate(struct bounded_job *opaque)
{
	struct locate_job *job = (struct locate_job *)opaque;
	struct perf_map_place *place = &job->place;

	perf_map_locate(job->pid, place);
	if (place->folder >= 0 && fstat(place->folder, &job->folder) != 0) {
		close(place->folder);
		place->folder = -1;
	}
}

static void discard_locate(struct bounded_job *opaque)
{
	struct locate_job *job = (struct locate_job *)opaque;

	if (job->place.folder >= 0)
		close(job->place.folder);
}

/*
 * Shares descriptors of folders: most processes have one /tmp. Returns the descriptor to use, or
 * -1.
 */
static int share_folder(struct jit_code *j, int fd, const struct stat *st)
{
	struct jit_folder *folder = j->folders;

	for (uint32_t i = 0; i < j->folder_count; i++, folder++)
		if (folder->device == st->st_dev && folder->inode == st->st_ino) {
			bounded_close(j->calls, fd);
			return folder->fd;
		}
	if (j->folder_count == JIT_MAX_FOLDERS) {
		bounded_close(j->calls, fd);
		return -1;
	}
	*folder = (struct jit_folder){st->st_dev, st->st_ino, fd};
	j->folder_count++;
	return fd;
}

static void locate_place(struct jit_code *j, struct jit_process *p, pid_t pid)
{
	struct locate_job *job = bounded_job_new(sizeof(*job), run_locate, discard_locate);

	p->is_located = true;
	if (!job)
		return;
	job->job.place = BOUNDED_PLACE_PROCESS | (uint32_t)pid;
	job->pid = pid;
	job->place.folder = -1;
	if (bounded_call(j->calls, &job->job, BOUNDED_CALL_OPEN_MS) != 0)
		return;
	p->place = job->place;
	if (p->place.folder >= 0)
		p->place.folder = share_folder(j, p->place.folder, &job->folder);
	free(job);
}

/* Finds or adds a process, which may just have ended. Returns NULL when out of memory. */
static struct jit_process *add(struct jit_code *j, uint32_t id, pid_t pid)
{
	struct jit_process *p = find(j, id);

	if (!p) {
		const struct jit_process process = {
			.id = id,
			.place = {.pid = pid, .owner = geteuid(), .folder = -1},
			.dump_fd = -1};

		if (record_add(j, &id, &process) == RECORD_NONE)
			return NULL;
		p = &j->list[j->count - 1];
	}
	if (!p->is_located)
		locate_place(j, p, pid);
	return p;
}

/* ---- jitdumps ---- */

bool jit_code_is_dump(const char *path)
{
	const char *at = base_name(path);
	size_t digits;

	if (!starts_with(at, "jit-"))
		return false;
	digits = strspn(at + 4, "0123456789");
	return digits > 0 && strcmp(at + 4 + digits, ".dump") == 0;
}

void jit_code_note_dump(struct jit_code *j, uint32_t id, pid_t pid,
			const struct code_mapping *mapping)
{
	struct mapped_file mapped = mapped_file_of(pid, mapping);
	struct jit_process *p = add(j, id, pid);
	struct opened_file file;

	if (!p || p->has_dump || j->dump_count == JIT_MAX_DUMPS)
		return;
	mapped_file_open(j->calls, &mapped, &file);
	if (file.fd < 0)
		return;
	if (file.st.st_uid != p->place.owner && file.st.st_uid != 0) {
		bounded_close(j->calls, file.fd);
		return;
	}
	p->has_dump = true;
	p->dump_fd = file.fd;
	p->device = mapped.device;
	j->dump_count++;
}

struct dump_job {
	struct bounded_job job;
	struct jitdump *dump;
};

static void run_dump(struct bounded_job *opaque)
{
	struct dump_job *job = (struct dump_job *)opaque;

	jitdump_read(job->dump, job->job.fd, &job->job.share);
}

static void discard_dump(struct bounded_job *opaque)
{
	jitdump_free(((struct dump_job *)opaque)->dump);
}

/* Counts newly refused records. */
static void note_refused(struct jit_code *j, struct jit_process *p)
{
	uint64_t refused = jitdump_refused_frames(p->dump);

	if (refused <= p->refused_frames)
		return;
	j->refused_frames += refused - p->refused_frames;
	p->refused_frames = refused;
}

/* Reads new records. A file that does not respond is abandoned with its records. */
static void read_dump(struct jit_code *j, struct jit_process *p)
{
	struct dump_job *job = bounded_job_new(sizeof(*job), run_dump, discard_dump);
	int err;

	p->dump_read_ms = monotonic_ms();
	if (!p->dump)
		p->dump = jitdump_new();
	if (!job || !p->dump) {
		free(job);
		return;
	}
	job->job.place = p->device;
	job->job.fd = p->dump_fd;
	job->dump = p->dump;
	err = bounded_call(j->calls, &job->job, BOUNDED_CALL_LOAD_MS);
	if (err == -ETIMEDOUT) { /* the job owns them, and their bytes stay taken */
		p->dump = NULL;
		p->dump_fd = -1;
		p->dump_bytes = 0;
	}
	if (err)
		return;
	p->dump_bytes += table_quota_settle(j->quota, &job->job.share, true);
	note_refused(j, p);
	free(job);
}

uint64_t jit_code_locate(struct jit_code *j, uint32_t id, pid_t pid, uint64_t address,
			 uint64_t time_ns)
{
	struct jit_process *p = add(j, id, pid);

	if (!p || p->dump_fd < 0 || address > ADDRESS_MASK)
		return address;
	if ((!p->dump || jitdump_is_behind(p->dump, time_ns)) &&
	    monotonic_ms() - p->dump_read_ms >= DUMP_READ_MS)
		read_dump(j, p);
	if (!p->dump)
		return address;
	return address | (uint64_t)jitdump_generation(p->dump, address, time_ns) << ADDRESS_BITS;
}

int jit_code_find_row(struct jit_code *j, uint32_t id, uint64_t offset, uint64_t time_ns,
		      struct cfi_row *row)
{
	const struct jit_process *p = find(j, id);

	row->cost = 0;
	return p && p->dump ? jitdump_find_row(p->dump, offset & ADDRESS_MASK, time_ns, row)
			    : -ENOENT;
}

static const char *find_in_dump(struct jit_code *j, struct jit_process *p, uint64_t offset)
{
	if (p->dump_fd >= 0 && !p->is_read) {
		read_dump(j, p);
		p->is_read = true;
	}
	return p->dump ? jitdump_find(p->dump, offset & ADDRESS_MASK,
				      (uint32_t)(offset >> ADDRESS_BITS))
		       : NULL;
}

/* ---- perf maps ---- */

struct map_job {
	struct bounded_job job;
	struct perf_map_place place;
	struct perf_map *map;
};

static void run_map(struct bounded_job *opaque)
{
	struct map_job *job = (struct map_job *)opaque;

	perf_map_load(&job->place, &job->job.share, &job->map);
}

static void discard_map(struct bounded_job *opaque)
{
	perf_map_free(((struct map_job *)opaque)->map);
}

static void load_map(struct jit_code *j, struct jit_process *p)
{
	struct map_job *job = bounded_job_new(sizeof(*job), run_map, discard_map);

	p->was_tried = true;
	if (!job)
		return;
	job->place = p->place;
	if (bounded_call(j->calls, &job->job, BOUNDED_CALL_LOAD_MS) != 0)
		return;
	p->map = job->map;
	p->map_bytes = table_quota_settle(j->quota, &job->job.share, p->map != NULL);
	free(job);
}

const char *jit_code_find(struct jit_code *j, uint32_t id, uint64_t offset)
{
	struct jit_process *p = find(j, id);
	const char *name = p ? find_in_dump(j, p, offset) : NULL;

	if (!p || name)
		return name;
	if (!p->was_tried)
		load_map(j, p);
	return p->map ? perf_map_find(p->map, p->has_dump ? offset & ADDRESS_MASK : offset) : NULL;
}

void jit_code_free_tables(struct jit_code *j, uint32_t id)
{
	struct jit_process *p = find(j, id);

	if (!p)
		return;
	perf_map_free(p->map);
	jitdump_free(p->dump);
	table_quota_free(j->quota, p->map_bytes + p->dump_bytes);
	p->map = NULL;
	p->dump = NULL;
	p->map_bytes = p->dump_bytes = 0;
	p->was_tried = p->is_read = false;
}
