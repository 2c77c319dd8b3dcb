// SPDX-License-Identifier: MIT
#include "profiler/collect/python_processes.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include "symbolize/safe_open.h"

#define FILES_MAX 4096
#define PROCESSES_MAX 65536
#define NAMES_MAX (1u << 20)
#define NATIVES_MAX 512
#define MERGED_MAX (NATIVES_MAX + PYTHON_FRAMES_MAX)

struct python_file {
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	bool is_python;
	struct python_image image;
};

struct python_process {
	pid_t pid;
	uint32_t program; /* names are kept by it; a fork shares its parent's. 0: forgotten */
	uint32_t file;
	uint64_t bias; /* what to add to the file's addresses */
};

/* What a code object is called, with a line if lines are wanted: compared as bytes. */
struct name_key {
	uint64_t code, mark, place; /* place: 0 without lines */
	uint64_t program;
};

struct python_name {
	struct name_key key;
	const char *text;
};

void python_processes_init(struct python_processes *p, struct intern *strings)
{
	memset(p, 0, sizeof(*p));
	p->strings = strings;
}

void python_processes_release(struct python_processes *p)
{
	free(p->files);
	free(p->processes);
	hash_index_release(&p->index);
	free(p->names);
	hash_index_release(&p->name_index);
	memset(p, 0, sizeof(*p));
}

/* Room for one more in a growing array: 0, -ENOSPC or -ENOMEM. */
static int make_room(void **list, size_t size, uint32_t count, uint32_t *capacity, uint32_t max)
{
	uint32_t bigger = *capacity ? *capacity * 2 : 16;
	void *grown;

	if (count < *capacity)
		return 0;
	if (count >= max)
		return -ENOSPC;
	grown = realloc(*list, bigger * size);
	if (!grown)
		return -ENOMEM;
	*list = grown;
	*capacity = bigger;
	return 0;
}

/* ---- files ---- */

static int open_mapped(pid_t pid, const struct code_mapping *mapping)
{
	char path[PATH_MAX + 64];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid,
		 mapping->start, mapping->end);
	fd = open_regular(path, SYMLINK_FOLLOW, &st);
	if (fd < 0) {
		snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, mapping->path);
		fd = open_regular(path, SYMLINK_FOLLOW, &st);
	}
	if (fd < 0)
		fd = open_regular(mapping->path, SYMLINK_FOLLOW, &st);
	if (fd >= 0 && st.st_ino != mapping->inode) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

/* The file's record, made if need be; NULL if it cannot be read now. */
static struct python_file *get_file(struct python_processes *p, pid_t pid,
				    const struct code_mapping *mapping)
{
	struct python_file *file;
	int fd;

	for (uint32_t i = 0; i < p->file_count; i++) {
		file = &p->files[i];
		if (file->inode == mapping->inode && file->dev_major == mapping->dev_major &&
		    file->dev_minor == mapping->dev_minor)
			return file;
	}
	if (make_room((void **)&p->files, sizeof(*file), p->file_count, &p->file_capacity,
		      FILES_MAX) != 0)
		return NULL;
	fd = open_mapped(pid, mapping);
	if (fd < 0)
		return NULL;
	file = &p->files[p->file_count++];
	file->dev_major = mapping->dev_major;
	file->dev_minor = mapping->dev_minor;
	file->inode = mapping->inode;
	file->is_python = python_image_read(fd, mapping->path, &file->image) == 0;
	close(fd);
	return file;
}

/* ---- processes ---- */

static bool pid_equal(const void *records, uint32_t position, const void *key)
{
	return ((const struct python_process *)records + position)->pid == *(const pid_t *)key;
}

static struct python_process *find(const struct python_processes *p, pid_t pid)
{
	uint32_t at = hash_index_find(&p->index, hash_bytes(&pid, sizeof(pid)), pid_equal,
				      p->processes, &pid);

	return at == HASH_INDEX_NONE ? NULL : &p->processes[at];
}

static struct python_process *find_or_add(struct python_processes *p, pid_t pid)
{
	struct python_process *process = find(p, pid);

	if (process)
		return process;
	if (make_room((void **)&p->processes, sizeof(*process), p->count, &p->capacity,
		      PROCESSES_MAX) != 0 ||
	    hash_index_add(&p->index, hash_bytes(&pid, sizeof(pid)), p->count) != 0)
		return NULL;
	process = &p->processes[p->count++];
	*process = (struct python_process){.pid = pid};
	return process;
}

static void make_layout(const struct python_image *image, uint64_t bias, struct stack_python *out)
{
	const struct python_offsets *o = &image->offsets;

	_Static_assert(STACK_PYTHON_NO_OFFSET == PYTHON_NO_OFFSET, "one value for none");
	memset(out, 0, sizeof(*out));
	out->interpreters = image->runtime + bias + o->runtime_interpreters;
	out->interpreter_next = o->interpreter_next;
	out->interpreter_threads = o->interpreter_threads;
	out->thread_next = o->thread_next;
	out->thread_id = o->thread_id;
	out->thread_frame = o->thread_frame;
	out->cframe_frame = o->cframe_frame;
	out->frame_previous = o->frame_previous;
	out->frame_code = o->frame_code;
	out->frame_place = o->frame_place;
	out->frame_owner = o->frame_owner;
	out->code_text = python_mark_text(o);
	out->code_first_line = o->code_first_line;
	out->text_hash = python_text_hash(o);
}

bool python_processes_map(struct python_processes *p, pid_t pid, const struct code_mapping *mapping,
			  struct stack_python *layout, uint32_t *unknown_hex)
{
	struct python_process *process = find(p, pid);
	struct python_file *file;

	*unknown_hex = 0;
	if (mapping->inode == 0 || !python_image_is_candidate(mapping->path) ||
	    (process && process->program))
		return false;
	file = get_file(p, pid, mapping);
	if (file && !file->is_python)
		*unknown_hex = file->image.hex;
	if (!file || !file->is_python)
		return false;
	process = find_or_add(p, pid);
	if (!process)
		return false;
	process->program = ++p->programs;
	process->file = (uint32_t)(file - p->files);
	process->bias = mapping->start - (mapping->file_offset - file->image.segment_offset +
					  file->image.segment_address);
	make_layout(&file->image, process->bias, layout);
	return true;
}

void python_processes_fork(struct python_processes *p, pid_t parent, pid_t child)
{
	struct python_process *from = find(p, parent), *to, copy;

	python_processes_forget(p, child);
	if (!from || !from->program || parent == child)
		return;
	copy = *from;
	to = find_or_add(p, child);
	if (!to)
		return;
	copy.pid = child;
	*to = copy;
}

void python_processes_forget(struct python_processes *p, pid_t pid)
{
	struct python_process *process = find(p, pid);

	if (process)
		process->program = 0;
}

/* ---- names ---- */

static bool read_process(void *context, uint64_t address, void *buffer, size_t size)
{
	const struct python_process *process = context;
	struct iovec local = {.iov_base = buffer, .iov_len = size};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = size};

	return process_vm_readv(process->pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* "Model.forward (model.py)", interned; NULL if the code object is not (any more) the one sampled.
 */
static const char *read_name(struct python_processes *p, struct python_process *process,
			     const struct python_frame *frame)
{
	const struct python_image *image = &p->files[process->file].image;
	struct python_memory memory = {.read = read_process, .context = process};
	struct python_types types = {
		.code = image->code_type ? image->code_type + process->bias : 0,
		.text = image->text_type ? image->text_type + process->bias : 0,
	};
	char text[PYTHON_TEXT_MAX + PYTHON_PATH_MAX + 32];
	struct python_code code;
	const char *slash, *file;
	uint32_t line = 0;
	uint64_t mark;

	if (python_code_read(&memory, &image->offsets, &types, frame->code, &code) != 0)
		return NULL;
	if (p->lines)
		line = python_line(&memory, &image->offsets, frame);
	if (!python_mark_read(&memory, &image->offsets, frame->code, &mark) || mark != frame->mark)
		return NULL;
	slash = strrchr(code.path, '/');
	file = slash ? slash + 1 : code.path;
	if (line)
		snprintf(text, sizeof(text), "%s (%s:%u)",
			 code.qualname[0] ? code.qualname : code.name, file, line);
	else
		snprintf(text, sizeof(text), "%s (%s)",
			 code.qualname[0] ? code.qualname : code.name, file);
	return intern_string(p->strings, text);
}

static bool name_equal(const void *records, uint32_t position, const void *key)
{
	return memcmp(&((const struct python_name *)records + position)->key, key,
		      sizeof(struct name_key)) == 0;
}

static const char *name_of(struct python_processes *p, struct python_process *process,
			   const struct python_frame *frame)
{
	struct name_key key = {.code = frame->code,
			       .mark = frame->mark,
			       .place = p->lines ? frame->place : 0,
			       .program = process->program};
	uint32_t hash = hash_bytes(&key, sizeof(key));
	uint32_t at = hash_index_find(&p->name_index, hash, name_equal, p->names, &key);
	const char *text;

	if (at != HASH_INDEX_NONE)
		return p->names[at].text;
	text = read_name(p, process, frame);
	if (!text)
		return PYTHON_UNKNOWN_FRAME; /* perhaps another sample has better luck */
	if (make_room((void **)&p->names, sizeof(*p->names), p->name_count, &p->name_capacity,
		      NAMES_MAX) == 0 &&
	    hash_index_add(&p->name_index, hash, p->name_count) == 0)
		p->names[p->name_count++] = (struct python_name){.key = key, .text = text};
	return text;
}

/* ---- samples ---- */

/* The links that the BPF side read, as python_frames_read would have it. */
static void take_links(const struct stack_snapshot *s, const struct python_offsets *o,
		       struct python_stack *stack)
{
	uint32_t count =
		s->python_links < STACK_PYTHON_MAX_LINKS ? s->python_links : STACK_PYTHON_MAX_LINKS;

	stack->count = 0;
	stack->is_whole = s->event.flags & STACK_EVENT_PYTHON_WHOLE;
	for (uint32_t i = 0; i < count; i++) {
		const struct stack_python_link *link = &s->python[i];
		struct python_frame *f = &stack->frames[stack->count];

		if (o->frame_form == PYTHON_FRAME_SHIM && link->owner >= o->owner_of_shim) {
			if (stack->count && link->owner == o->owner_of_shim)
				stack->frames[stack->count - 1].is_entry = true;
			continue;
		}
		f->code = link->code & ~UINT64_C(7);
		f->place =
			o->place_form == PYTHON_PLACE_POINTER ? link->place : (uint32_t)link->place;
		f->mark = python_mark(link->text, link->text_hash, link->first_line);
		f->is_entry = o->frame_form == PYTHON_FRAME_EACH ||
			      (o->frame_form == PYTHON_FRAME_FLAG && link->owner);
		stack->count++;
	}
}

static enum python_native kind_of(const struct python_image *image, uint32_t module,
				  const struct unwind_frame *frame)
{
	if (frame->code.module != module)
		return PYTHON_NATIVE_OTHER;
	/* the loop's parts hold return addresses: an exact address is one less far in */
	return python_image_in_loop(image, frame->code.offset + !frame->is_return_address)
		       ? PYTHON_NATIVE_LOOP
		       : PYTHON_NATIVE_INTERPRETER;
}

uint32_t python_processes_merge(struct python_processes *p, struct symbolizer *symbolizer,
				const struct stack_snapshot *snapshot,
				const struct unwind_frame *natives, uint32_t count, bool is_whole,
				struct python_sample_frame *out, uint32_t max)
{
	struct python_process *process = find(p, (pid_t)snapshot->event.pid);
	struct python_merged merged[MERGED_MAX];
	const struct python_image *image;
	struct python_stack stack;
	uint8_t kinds[NATIVES_MAX];
	struct python_merge_input in = {.natives = kinds,
					.native_is_whole = is_whole,
					.keeps_native = p->keeps_native,
					.python = &stack};
	uint32_t module, n;

	if (!process || !process->program || snapshot->python_links == 0)
		return 0;
	image = &p->files[process->file].image;
	take_links(snapshot, &image->offsets, &stack);
	if (stack.count == 0)
		return 0;
	module = symbolizer_locate(symbolizer, process->pid,
				   image->loop.parts[0].start + process->bias)
			 .module;
	in.native_count = count < NATIVES_MAX ? count : NATIVES_MAX;
	for (uint32_t i = 0; i < in.native_count; i++)
		kinds[i] = (uint8_t)kind_of(image, module, &natives[i]);
	n = python_merge(&in, merged, max < MERGED_MAX ? max : MERGED_MAX);
	for (uint32_t i = 0; i < n; i++) {
		out[i].index = merged[i].index;
		out[i].text = merged[i].is_python
				      ? name_of(p, process, &stack.frames[merged[i].index])
				      : NULL;
	}
	return n;
}
