// SPDX-License-Identifier: MIT
#include "profiler/cpu/pythons.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include "profiler/cpu/python_chain.h"
#include "symbolize/mapped_file.h"
#include "symbolize/util/array.h"

#define FILES_MAX 4096
#define OTHERS_MAX \
	1024 /* executables among these that are no interpreters; further ones are read again */
#define PROGRAMS_MAX (1u << 20)
#define CODES_MAX (1u << 20)
#define LINES_MAX (1u << 20)
#define RUNTIME_BYTES_MAX \
	(16u << 20)                /* bound for _PyRuntime: its size comes from an untrusted file */
#define KEPT_BYTES_MAX (64u << 20) /* code objects kept for their lines */
#define ASKED_MAX 4096             /* code objects read from process memory */
#define NATIVES_MAX 512
#define MERGED_MAX (NATIVES_MAX + PYTHON_FRAMES_MAX)

struct python_file {
	uint64_t device, inode; /* as in mappings */
	const char *path;       /* interned; NULL if memory is exhausted */
	bool is_python;
	struct python_image image;
};

/*
 * An interpreter at its load address. Names are kept per program. A fork shares its parent's
 * program.
 */
struct python_program {
	uint32_t file;
	uint64_t bias; /* added to addresses of the file */
};

/* Key of a code object; compared as bytes. */
struct code_key {
	uint64_t program, code, mark;
};

struct python_known_code {
	struct code_key key;
	const char *name, *file;       /* interned; NULL if the name could not be read */
	struct stack_python_code *own; /* parts needed for lines, or NULL */
	bool is_internal;              /* see struct python_code */
};

/* Key of a frame's line. */
struct line_key {
	uint64_t code; /* index into `codes` */
	uint64_t place;
};

struct python_known_line {
	struct line_key key;
	uint32_t line;
};

void pythons_init(struct pythons *p, struct symbolizer *symbolizer, struct intern *strings,
		  struct quota *quota)
{
	*p = (struct pythons){.symbolizer = symbolizer, .strings = strings, .quota = quota};
}

void pythons_release(struct pythons *p)
{
	free(p->files);
	free(p->programs);
	for (uint32_t i = 0; i < p->codes.count; i++)
		free(p->codes.list[i].own);
	record_set_release(&p->codes.set);
	record_set_release(&p->lines_known.set);
	memset(p, 0, sizeof(*p));
}

/* ---- files ---- */

struct image_job {
	struct bounded_job job;
	bool is_python;
	struct python_image image;
	char path[];
};

static void run_image(struct bounded_job *opaque)
{
	struct image_job *job = (struct image_job *)opaque;

	job->is_python =
		python_image_read(job->job.fd, job->path, &job->job.share, &job->image) == 0;
}

/* Reads the image in an open file, and closes the file. */
static void read_image(struct bounded_caller *calls, int fd, const char *path,
		       struct python_file *file)
{
	size_t length = strlen(path);
	struct image_job *job = bounded_job_new(sizeof(*job) + length + 1, run_image, NULL);
	int err = -ENOMEM;

	if (job) {
		job->job.fd = fd;
		job->job.place = file->device;
		memcpy(job->path, path, length);
		err = bounded_call(calls, &job->job, BOUNDED_CALL_LOAD_MS);
	}
	if (!err) {
		table_quota_settle(bounded_caller_budget(calls), &job->job.share, false);
		file->is_python = job->is_python;
		file->image = job->image;
		free(job);
	}
	if (err != -ETIMEDOUT)
		bounded_close(calls, fd);
}

/* Returns the file's record. Returns NULL if the file is no CPython, or cannot be read now. */
static const struct python_file *get_file(struct pythons *p, pid_t pid,
					  const struct code_mapping *mapping)
{
	struct mapped_file mapped = mapped_file_of(pid, mapping);
	struct bounded_caller *calls = symbolizer_calls(p->symbolizer);
	struct python_file *file;
	struct opened_file opened;

	for (uint32_t i = 0; i < p->file_count; i++) {
		file = &p->files[i];
		if (file->inode == mapping->inode && file->device == mapped.device)
			return file->image.hex ? file : NULL;
	}
	if (p->file_count == FILES_MAX ||
	    !array_make_room(&p->files, p->file_count, &p->file_capacity, sizeof(*file)))
		return NULL;
	mapped_file_open(calls, &mapped, &opened);
	if (opened.fd < 0)
		return NULL;
	file = &p->files[p->file_count++];
	*file = (struct python_file){.device = mapped.device, .inode = mapping->inode};
	read_image(calls, opened.fd, mapping->path, file);
	if (file->is_python)
		file->path = quota_intern(p->quota, p->strings, mapping->path);
	if (file->image.hex)
		return file;
	if (python_image_is_candidate(mapping->path) || p->other_count++ < OTHERS_MAX)
		return NULL;
	p->file_count--;
	return NULL;
}

/* ---- processes ---- */

static const struct python_program *find_program(const struct pythons *p, uint64_t number)
{
	return number >= 1 && number <= p->program_count ? &p->programs[number - 1] : NULL;
}

static const struct python_image *image_of(const struct pythons *p,
					   const struct python_program *program)
{
	return &p->files[program->file].image;
}

/*
 * Returns the file's own address of a mapping's start, which is the start of a segment's page.
 * Returns UINT64_MAX if no code is mapped there.
 */
static uint64_t address_of(const struct python_image *image, const struct code_mapping *mapping)
{
	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct python_segment *s = &image->segments[i];
		uint64_t size = mapping->end - mapping->start;

		if (s->offset + s->size > mapping->file_offset &&
		    s->offset < mapping->file_offset + size)
			return mapping->file_offset - s->offset + s->address;
	}
	return UINT64_MAX;
}

static uint32_t runtime_bytes_of(const struct python_image *image)
{
	return image->runtime_bytes < RUNTIME_BYTES_MAX ? (uint32_t)image->runtime_bytes : 0;
}

bool pythons_map(struct pythons *p, pid_t pid, uint32_t *program,
		 const struct code_mapping *mapping, bool is_executable,
		 struct stack_python *layout, uint32_t *unknown_hex)
{
	const struct python_file *file;
	uint64_t address;

	*unknown_hex = 0;
	if (mapping->inode == 0 || *program ||
	    !(is_executable || python_image_is_candidate(mapping->path)))
		return false;
	file = get_file(p, pid, mapping);
	if (file && !file->is_python)
		*unknown_hex = file->image.hex;
	if (!file || !file->is_python)
		return false;
	address = address_of(&file->image, mapping);
	if (address == UINT64_MAX)
		return false;
	if (p->program_count == PROGRAMS_MAX ||
	    !array_make_room(&p->programs, p->program_count, &p->program_capacity,
			     sizeof(*p->programs)))
		return false;
	p->programs[p->program_count++] = (struct python_program){
		.file = (uint32_t)(file - p->files), .bias = mapping->start - address};
	*program = p->program_count;
	python_chain_lay_out(&file->image.offsets, file->image.runtime + mapping->start - address,
			     *program, layout);
	layout->runtime_bytes = runtime_bytes_of(&file->image);
	return true;
}

void pythons_place_trampolines(const struct pythons *p, uint32_t number,
			       struct address_space *space)
{
	const struct python_program *program = find_program(p, number);
	struct python_trampolines trampolines = {0};
	struct python_loop *loop = &trampolines.loop;

	if (!program)
		return;
	trampolines.form = image_of(p, program)->trampoline;
	*loop = image_of(p, program)->loop;
	loop->module_start += program->bias;
	loop->module_end += program->bias;
	for (uint32_t i = 0; i < loop->count; i++) {
		loop->parts[i].start += program->bias;
		loop->parts[i].end += program->bias;
	}
	address_space_set_trampolines(space, &trampolines);
}

bool pythons_has_in_runtime(const struct pythons *p, uint32_t number, uint64_t address)
{
	const struct python_program *program = find_program(p, number);
	const struct python_image *image;

	if (!program)
		return false;
	image = image_of(p, program);
	return address - (image->runtime + program->bias) < runtime_bytes_of(image);
}

/* ---- names ---- */

/* Reads memory from the pieces of a record. */
static bool read_pieces(void *context, uint64_t address, void *buffer, size_t size)
{
	const struct stack_python_code *r = context;

	for (int i = 0; i < STACK_PYTHON_PIECES; i++) {
		const struct stack_python_piece *piece = &r->pieces[i];
		uint64_t at = address - piece->address;

		if (at > piece->bytes || size > piece->bytes - at)
			continue;
		memcpy(buffer, (const char *)r + piece->at + at, size);
		return true;
	}
	return false;
}

static struct python_known_code *find_code(const struct pythons *p, const struct code_key *key)
{
	uint32_t at = record_find(&p->codes, key);

	return at == RECORD_NONE ? NULL : &p->codes.list[at];
}

/*
 * Copies the parts of the record that lines need. Returns NULL if memory or the quota is exhausted.
 */
static struct stack_python_code *keep_for_lines(struct pythons *p,
						const struct stack_python_code *r)
{
	static const int kinds[] = {STACK_PYTHON_CODE, STACK_PYTHON_LINES};
	size_t at = offsetof(struct stack_python_code, code), size = at;
	struct stack_python_code *own;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		size += r->pieces[kinds[i]].bytes;
	if (p->kept_bytes + size > KEPT_BYTES_MAX || !quota_take(p->quota, size))
		return NULL;
	own = calloc(1, size);
	if (!own)
		return NULL;
	p->kept_bytes += size;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct stack_python_piece *from = &r->pieces[kinds[i]];

		own->pieces[kinds[i]] = (struct stack_python_piece){
			.address = from->address, .at = (uint32_t)at, .bytes = from->bytes};
		memcpy((char *)own + at, (const char *)r + from->at, from->bytes);
		at += from->bytes;
	}
	return own;
}

static int add_code(struct pythons *p, const struct python_known_code *code)
{
	if (!quota_take(p->quota, sizeof(*code) + HASH_INDEX_ENTRY_BYTES))
		return -ENOSPC;
	return record_add(&p->codes, &code->key, code) != RECORD_NONE ? 0 : -ENOMEM;
}

static void name_code(struct pythons *p, struct python_known_code *known,
		      const struct python_code *code)
{
	const char *name = code->qualname[0] ? code->qualname : code->name;

	known->is_internal = code->is_internal;
	known->name = quota_intern(p->quota, p->strings, name);
	known->file = quota_intern(p->quota, p->strings, code->path);
	if (!known->name || !known->file) /* out of memory, or over the quota, which counts */
		known->name = known->file = NULL;
}

static struct python_types types_of(const struct python_image *image,
				    const struct python_program *program)
{
	return (struct python_types){
		.code = image->code_type ? image->code_type + program->bias : 0,
		.text = image->text_type ? image->text_type + program->bias : 0};
}

int pythons_learn(struct pythons *p, const struct stack_python_code *r)
{
	const struct python_program *program = find_program(p, r->program);
	struct python_memory memory = {.read = read_pieces, .context = (void *)(uintptr_t)r};
	struct python_known_code known = {
		.key = {.program = r->program, .code = r->link.code, .mark = r->link.mark}};
	struct python_known_code *before;
	const struct python_image *image;
	struct python_types types;
	struct python_code code;
	int err;

	if (!program || p->codes.count == CODES_MAX)
		return 0;
	before = find_code(p, &known.key);
	if (before && (before->own || (before->name && !p->lines)))
		return 0;
	image = image_of(p, program);
	types = types_of(image, program);
	if (python_code_read(&memory, &image->offsets, &types, r->link.code, &code) != 0)
		return 0; /* frames of the code show PYTHON_UNKNOWN_FRAME */
	name_code(p, &known, &code);
	if (!known.name)
		return 0;
	known.own = p->lines ? keep_for_lines(p, r) : NULL;
	if (before) {
		*before = known;
		return 0;
	}
	err = add_code(p, &known);
	if (err)
		free(known.own);
	return err == -ENOSPC ? 0 : err;
}

/* ---- names that were not sent ---- */

struct code_job {
	struct bounded_job job;
	pid_t pid;
	struct code_key key;
	struct python_offsets offsets;
	struct python_types types;
	bool lines; /* marks include line tables */
	/* results */
	bool is_there;
	struct python_code code;
};

static bool read_process(void *context, uint64_t address, void *buffer, size_t size)
{
	struct iovec ours = {buffer, size}, theirs = {(void *)(uintptr_t)address, size};

	return process_vm_readv(*(const pid_t *)context, &ours, 1, &theirs, 1, 0) == (ssize_t)size;
}

static void run_code(struct bounded_job *opaque)
{
	struct code_job *job = (struct code_job *)opaque;
	struct python_memory memory = {.read = read_process, .context = &job->pid};
	uint64_t mark;

	job->is_there =
		python_mark_read(&memory, &job->offsets, job->key.code, job->lines, &mark) &&
		mark == job->key.mark &&
		python_code_read(&memory, &job->offsets, &job->types, job->key.code, &job->code) ==
			0;
}

/*
 * Reads a code object's name from the process, if its code is unchanged. The BPF side reads only
 * resident memory. A page that is being migrated is not, and a function may be seen only once.
 */
static void ask_process(struct pythons *p, pid_t pid, struct python_known_code *known)
{
	const struct python_program *program = find_program(p, known->key.program);
	const struct python_image *image = image_of(p, program);
	struct bounded_caller *calls = symbolizer_calls(p->symbolizer);
	struct code_job *job;

	if (pid == 0 || p->asked_count == ASKED_MAX)
		return;
	p->asked_count++;
	job = bounded_job_new(sizeof(*job), run_code, NULL);
	if (!job)
		return;
	job->job.place = BOUNDED_PLACE_PROCESS | (uint32_t)pid;
	job->pid = pid;
	job->key = known->key;
	job->offsets = image->offsets;
	job->types = types_of(image, program);
	job->lines = p->lines;
	if (bounded_call(calls, &job->job, BOUNDED_CALL_OPEN_MS) != 0)
		return;
	if (job->is_there)
		name_code(p, known, &job->code);
	free(job);
}

/*
 * Returns the code object's record, with a name if one is known. Returns NULL if memory is
 * exhausted.
 */
static const struct python_known_code *get_code(struct pythons *p, pid_t pid,
						const struct code_key *key)
{
	struct python_known_code known = {.key = *key}, *before = find_code(p, key);

	if (before)
		return before;
	if (p->codes.count == CODES_MAX)
		return NULL;
	ask_process(p, pid, &known);
	return add_code(p, &known) == 0 ? &p->codes.list[p->codes.count - 1] : NULL;
}

/* Returns the line of a frame, or 0 if its code object has none. */
static uint32_t line_of(struct pythons *p, const struct python_offsets *offsets,
			const struct python_known_code *code, const struct python_frame *frame)
{
	struct python_known_line known = {
		.key = {.code = (uint64_t)(code - p->codes.list), .place = frame->place}};
	uint32_t at = record_find(&p->lines_known, &known.key);
	struct python_memory memory = {.read = read_pieces, .context = code->own};

	if (at != RECORD_NONE)
		return p->lines_known.list[at].line;
	known.line = python_line(&memory, offsets, frame);
	if (p->lines_known.count < LINES_MAX &&
	    quota_take(p->quota, sizeof(known) + HASH_INDEX_ENTRY_BYTES))
		record_add(&p->lines_known, &known.key, &known);
	return known.line;
}

/* Returns the title of a frame. A title without a name hides the frame. */
static struct python_title title_of(struct pythons *p, pid_t pid, uint32_t program,
				    const struct python_frame *frame)
{
	struct code_key key = {.program = program, .code = frame->code, .mark = frame->mark};
	const struct python_known_code *code = get_code(p, pid, &key);
	struct python_title title = {.name = PYTHON_UNKNOWN_FRAME};

	if (code && code->is_internal)
		return (struct python_title){0};
	if (!code || !code->name)
		return title;
	title.name = code->name;
	title.file = code->file;
	if (code->own)
		title.line =
			line_of(p, &image_of(p, find_program(p, program))->offsets, code, frame);
	return title;
}

/* ---- samples ---- */

static enum python_native kind_of(const struct python_image *image, uint32_t module,
				  const struct unwind_frame *frame)
{
	if (frame->is_trampoline)
		return PYTHON_NATIVE_TRAMPOLINE;
	if (frame->code.module != module)
		return PYTHON_NATIVE_OTHER;
	/* the loop's ranges are for return addresses: add one to an exact address */
	return python_image_in_loop(image, frame->code.offset + !frame->is_return_address)
		       ? PYTHON_NATIVE_LOOP
		       : PYTHON_NATIVE_INTERPRETER;
}

/* Sets the kind of each native frame. Returns true if one is the interpreter's loop. */
static bool classify_natives(struct pythons *p, struct address_space *space,
			     const struct python_program *program,
			     const struct unwind_frame *natives, uint32_t count,
			     uint8_t kinds[NATIVES_MAX])
{
	const struct python_image *image = image_of(p, program);
	uint64_t address = image->segments[0].address + program->bias;
	uint32_t module = symbolizer_locate(p->symbolizer, space, address).module;
	bool has_loop = false;

	for (uint32_t i = 0; i < count; i++) {
		kinds[i] = (uint8_t)kind_of(image, module, &natives[i]);
		has_loop |= kinds[i] == PYTHON_NATIVE_LOOP;
	}
	return has_loop;
}

uint32_t pythons_merge(struct pythons *p, struct address_space *space, uint32_t number,
		       const struct stack_snapshot *snapshot, const struct unwind_frame *natives,
		       uint32_t count, bool is_whole, struct python_sample_frame *out, uint32_t max,
		       struct python_merge_result *result)
{
	const struct stack_python_chain *chain = stack_snapshot_python(snapshot);
	const struct python_program *program = find_program(p, number);
	struct python_merged merged[MERGED_MAX];
	const struct python_image *image;
	struct python_stack stack; /* large: only the used part is initialized */
	uint8_t kinds[NATIVES_MAX];
	uint64_t sps[NATIVES_MAX];
	struct python_merge_input in = {.natives = kinds,
					.sps = sps,
					.native_count = count < NATIVES_MAX ? count : NATIVES_MAX,
					.native_is_whole = is_whole,
					.keeps_native = p->keeps_native,
					.python = &stack};
	uint32_t n, to = 0;
	bool has_loop;

	*result = (struct python_merge_result){.is_whole = true, .is_ordered = true};
	if (!program)
		return 0;
	image = image_of(p, program);
	stack.count = 0;
	stack.is_whole = false;
	/* otherwise the BPF side did not know this program yet */
	if (chain && chain->program == number)
		python_chain_read(chain, &image->offsets, &stack);
	if (stack.count == 0 && stack.is_whole)
		return 0;
	has_loop = classify_natives(p, space, program, natives, in.native_count, kinds);
	result->is_missing = has_loop && stack.count == 0;
	if (stack.count == 0)
		return 0;
	in.has_handlers = python_loop_has_handlers(&image->loop);
	for (uint32_t i = 0; i < in.native_count; i++)
		sps[i] = natives[i].sp;
	n = python_merge(&in, merged, max < MERGED_MAX ? max : MERGED_MAX, &result->is_ordered);
	result->is_whole = stack.is_whole;
	for (uint32_t i = 0; i < n; i++) {
		out[to] = (struct python_sample_frame){.index = merged[i].index};
		if (merged[i].is_python)
			out[to].title = title_of(p, address_space_pid(space), number,
						 &stack.frames[merged[i].index]);
		to += !merged[i].is_python || out[to].title.name;
	}
	return to;
}

/* ---- names of threads ---- */

struct threads_job {
	struct bounded_job job;
	pid_t pid;
	uint64_t runtime;
	struct python_offsets offsets;
	struct python_types types;
	struct python_threads_places places;
	/* results */
	uint64_t used_ns;
	struct python_threads threads;
};

static uint64_t own_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool read_in_time(void *context, uint64_t address, void *buffer, size_t size)
{
	struct threads_job *job = context;

	return !job->job.is_late && read_process(&job->pid, address, buffer, size);
}

static void run_threads(struct bounded_job *opaque)
{
	struct threads_job *job = (struct threads_job *)opaque;
	struct python_memory memory = {.read = read_in_time, .context = job};
	const uint64_t begun_ns = own_cpu_ns();

	python_threads_read(&memory, &job->offsets, &job->types, job->runtime, &job->places,
			    &job->threads);
	job->used_ns = own_cpu_ns() - begun_ns;
}

int pythons_read_threads(struct pythons *p, pid_t pid, uint32_t number,
			 struct python_threads_places *places, uint64_t *used_ns,
			 pythons_thread_visitor visit, void *context)
{
	const struct python_program *program = find_program(p, number);
	const struct python_image *image;
	struct threads_job *job;
	int err;

	if (!program || pid == 0)
		return -ENOENT;
	job = bounded_job_new(sizeof(*job), run_threads, NULL);
	if (!job)
		return -ENOMEM;
	image = image_of(p, program);
	job->job.place = BOUNDED_PLACE_PROCESS | (uint32_t)pid;
	job->pid = pid;
	job->runtime = image->runtime + program->bias;
	job->offsets = image->offsets;
	job->types = types_of(image, program);
	job->places = *places;
	err = bounded_call(symbolizer_calls(p->symbolizer), &job->job, BOUNDED_CALL_OPEN_MS);
	if (err)
		return err;
	*places = job->places;
	*used_ns = job->used_ns;
	for (uint32_t i = 0; i < job->threads.count; i++)
		visit(context, &job->threads.names[i]);
	free(job);
	return 0;
}

const char *pythons_path(const struct pythons *p, uint32_t number)
{
	const struct python_program *program = find_program(p, number);

	return program ? p->files[program->file].path : NULL;
}
