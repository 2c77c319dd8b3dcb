// SPDX-License-Identifier: MIT
#include "profiler/collect/pythons.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/array.h"
#include "symbolize/mapped_file.h"

#define FILES_MAX 4096
#define OTHERS_MAX 1024 /* of these, executables that are none; further ones are read again */
#define PROGRAMS_MAX (1u << 20)
#define CODES_MAX (1u << 20)
#define LINES_MAX (1u << 20)
#define KEPT_BYTES_MAX (64u << 20) /* of code objects, for their lines */
#define NATIVES_MAX 512
#define MERGED_MAX (NATIVES_MAX + PYTHON_FRAMES_MAX)
_Static_assert(STACK_PYTHON_MAX_LINKS <= PYTHON_FRAMES_MAX, "a chain fits");

struct python_file {
	uint64_t device, inode; /* as mapped */
	const char *path;       /* interned; NULL: no memory */
	bool is_python;
	struct python_image image;
};

/* An interpreter at its load address; names are kept per program. A fork shares its parent's. */
struct python_program {
	uint32_t file;
	uint64_t bias; /* what to add to the file's addresses */
};

/* A code object; compared as bytes. */
struct code_key {
	uint64_t program, code, mark;
};

struct python_known_code {
	struct code_key key;
	const char *name, *file;       /* interned */
	struct stack_python_code *own; /* the parts needed for lines; or NULL */
};

/* A frame with its line. */
struct line_key {
	uint64_t code; /* index into `codes` */
	uint64_t place;
};

struct python_known_line {
	struct line_key key;
	uint32_t line;
};

void pythons_init(struct pythons *p, struct symbolizer *symbolizer, struct intern *strings,
		  struct allowance *allowance)
{
	memset(p, 0, sizeof(*p));
	p->symbolizer = symbolizer;
	p->strings = strings;
	p->allowance = allowance;
}

void pythons_release(struct pythons *p)
{
	free(p->files);
	free(p->programs);
	for (uint32_t i = 0; i < p->code_count; i++)
		free(p->codes[i].own);
	free(p->codes);
	hash_index_release(&p->code_index);
	free(p->lines_known);
	hash_index_release(&p->line_index);
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

/* Reads the image in an open file, and closes it. */
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
		budget_settle(bounded_caller_budget(calls), &job->job.share, false);
		file->is_python = job->is_python;
		file->image = job->image;
		free(job);
	}
	if (err != -ETIMEDOUT)
		bounded_close(calls, fd);
}

/* The file's record; NULL: it is no CPython, or cannot be read now. */
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
		file->path = allowance_intern(p->allowance, p->strings, mapping->path);
	if (file->image.hex)
		return file;
	if (python_image_is_candidate(mapping->path) || p->other_count++ < OTHERS_MAX)
		return NULL;
	p->file_count--;
	return NULL;
}

/* ---- processes ---- */

/* How many bytes of an object hold these 8-byte members; members that do not exist need none. */
static uint16_t span(const uint16_t *members, size_t count)
{
	uint16_t end = 0;

	for (size_t i = 0; i < count; i++)
		if (members[i] != PYTHON_NO_OFFSET && members[i] + 8 > end)
			end = members[i] + 8;
	return end;
}

static uint16_t at_most(uint16_t bytes, uint16_t max)
{
	return bytes < max ? bytes : max;
}

/* The parts of frames and code objects that are read at once. */
static void lay_out_chain(const struct python_offsets *o, struct stack_python *out)
{
	const uint16_t frame[] = {o->frame_previous, o->frame_code, o->frame_place, o->frame_owner};
	const uint16_t mark[] = {out->code_text, out->code_first_line, o->code_filename};
	const size_t marks = sizeof(mark) / sizeof(mark[0]);

	out->frame_bytes =
		at_most(span(frame, sizeof(frame) / sizeof(frame[0])), STACK_PYTHON_WINDOW_BYTES);
	/* up to 3.10 each frame is an object, later ones lie one behind the other */
	out->frame_window =
		o->frame_form == PYTHON_FRAME_EACH ? out->frame_bytes : STACK_PYTHON_WINDOW_BYTES;
	out->mark_from = mark[0];
	for (size_t i = 1; i < marks; i++)
		if (mark[i] < out->mark_from)
			out->mark_from = mark[i];
	out->mark_bytes =
		at_most((uint16_t)(span(mark, marks) - out->mark_from), STACK_PYTHON_MARK_BYTES);
}

/* The parts of code objects to send. */
static void lay_out_code(const struct python_offsets *o, struct stack_python *out)
{
	const uint16_t code[] = {o->object_type,   o->code_name,       o->code_filename,
				 o->code_qualname, o->code_first_line, o->code_lines};
	const uint16_t text[] = {o->object_type, o->text_length, python_text_hash(o)};

	_Static_assert(STACK_PYTHON_NAME_CHARACTERS >= PYTHON_TEXT_MAX &&
			       STACK_PYTHON_PATH_CHARACTERS >= PYTHON_PATH_MAX,
		       "all that is shown is sent");
	out->code_bytes = span(code, sizeof(code) / sizeof(code[0]));
	out->code_name = o->code_name;
	out->code_qualname = o->code_qualname;
	out->code_filename = o->code_filename;
	out->code_lines = o->code_lines;
	out->text_head = span(text, sizeof(text) / sizeof(text[0]));
	if (out->text_head < o->text_state + sizeof(uint32_t))
		out->text_head = (uint16_t)(o->text_state + sizeof(uint32_t));
	out->text_length = o->text_length;
	out->text_state = o->text_state;
	out->text_kind_bit = o->text_kind_bit;
	out->text_ascii_data = o->text_ascii_data;
	out->text_wide_data = o->text_wide_data;
	out->bytes_length = o->bytes_length;
	out->bytes_data = o->bytes_data;
}

static const struct python_program *find_program(const struct pythons *p, uint64_t number)
{
	return number >= 1 && number <= p->program_count ? &p->programs[number - 1] : NULL;
}

static const struct python_image *image_of(const struct pythons *p,
					   const struct python_program *program)
{
	return &p->files[program->file].image;
}

static void lay_out(const struct pythons *p, uint32_t number, struct stack_python *out)
{
	const struct python_program *program = find_program(p, number);
	const struct python_image *image = image_of(p, program);
	const struct python_offsets *o = &image->offsets;

	_Static_assert(STACK_PYTHON_NO_OFFSET == PYTHON_NO_OFFSET, "one value for none");
	memset(out, 0, sizeof(*out));
	out->interpreters = image->runtime + program->bias + o->runtime_interpreters;
	out->program = number;
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
	out->owner_of_shim =
		o->frame_form == PYTHON_FRAME_SHIM ? o->owner_of_shim : STACK_PYTHON_NO_OFFSET;
	out->code_text = python_mark_text(o);
	out->code_first_line = o->code_first_line;
	out->text_hash = python_text_hash(o);
	out->thread_anchor = o->thread_anchor;
	out->anchor_previous = o->anchor_previous;
	out->owner_of_entry = o->frame_form == PYTHON_FRAME_FLAG;
	out->frame_copy = o->frame_copy;
	out->code_copies = o->code_copies;
	out->code_instructions = o->code_instructions;
	lay_out_chain(o, out);
	lay_out_code(o, out);
}

/*
 * The file's own address of a mapping's start, which is the start of a segment's page. UINT64_MAX:
 * none of the code is mapped there.
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
	lay_out(p, *program, layout);
	return true;
}

/* ---- names ---- */

/* The record's pieces serve as memory. */
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

static bool code_equal(const void *records, uint32_t position, const void *key)
{
	return memcmp(&((const struct python_known_code *)records + position)->key, key,
		      sizeof(struct code_key)) == 0;
}

static struct python_known_code *find_code(const struct pythons *p, const struct code_key *key)
{
	uint32_t at = hash_index_find(&p->code_index, hash_bytes(key, sizeof(*key)), code_equal,
				      p->codes, key);

	return at == HASH_INDEX_NONE ? NULL : &p->codes[at];
}

/* The record without what only its name needs; NULL: no memory, or the limit is reached. */
static struct stack_python_code *keep_for_lines(struct pythons *p,
						const struct stack_python_code *r)
{
	static const int kinds[] = {STACK_PYTHON_CODE, STACK_PYTHON_LINES};
	size_t at = offsetof(struct stack_python_code, code), size = at;
	struct stack_python_code *own;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		size += r->pieces[kinds[i]].bytes;
	if (p->kept_bytes + size > KEPT_BYTES_MAX || !allowance_take(p->allowance, size))
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
	uint32_t hash = hash_bytes(&code->key, sizeof(code->key));

	if (!allowance_take(p->allowance, sizeof(*code) + HASH_INDEX_ENTRY_BYTES))
		return -ENOSPC;
	if (!array_make_room(&p->codes, p->code_count, &p->code_capacity, sizeof(*code)) ||
	    hash_index_add(&p->code_index, hash, p->code_count) != 0)
		return -ENOMEM;
	p->codes[p->code_count++] = *code;
	return 0;
}

int pythons_learn(struct pythons *p, const struct stack_python_code *r)
{
	const struct python_program *program = find_program(p, r->program);
	struct python_memory memory = {.read = read_pieces, .context = (void *)(uintptr_t)r};
	struct python_known_code known = {
		.key = {.program = r->program, .code = r->link.code, .mark = r->link.mark}};
	const struct python_image *image;
	struct python_types types;
	struct python_code code;
	int err;

	if (!program || p->code_count == CODES_MAX || find_code(p, &known.key))
		return 0;
	image = image_of(p, program);
	types.code = image->code_type ? image->code_type + program->bias : 0;
	types.text = image->text_type ? image->text_type + program->bias : 0;
	if (python_code_read(&memory, &image->offsets, &types, r->link.code, &code) != 0)
		return 0; /* its frames show PYTHON_UNKNOWN_FRAME */
	known.name = allowance_intern(p->allowance, p->strings,
				      code.qualname[0] ? code.qualname : code.name);
	known.file = allowance_intern(p->allowance, p->strings, code.path);
	if (!known.name || !known.file)
		return 0; /* out of memory, or counted */
	known.own = p->lines ? keep_for_lines(p, r) : NULL;
	err = add_code(p, &known);
	if (err)
		free(known.own);
	return err == -ENOSPC ? 0 : err;
}

static bool line_equal(const void *records, uint32_t position, const void *key)
{
	return memcmp(&((const struct python_known_line *)records + position)->key, key,
		      sizeof(struct line_key)) == 0;
}

/* The line of a frame; 0: its code object has none for it. */
static uint32_t line_of(struct pythons *p, const struct python_offsets *offsets,
			const struct python_known_code *code, const struct python_frame *frame)
{
	struct line_key key = {.code = (uint64_t)(code - p->codes), .place = frame->place};
	uint32_t hash = hash_bytes(&key, sizeof(key));
	uint32_t at = hash_index_find(&p->line_index, hash, line_equal, p->lines_known, &key);
	struct python_memory memory = {.read = read_pieces, .context = code->own};
	uint32_t line;

	if (at != HASH_INDEX_NONE)
		return p->lines_known[at].line;
	line = python_line(&memory, offsets, frame);
	if (p->line_count < LINES_MAX &&
	    allowance_take(p->allowance, sizeof(*p->lines_known) + HASH_INDEX_ENTRY_BYTES) &&
	    array_make_room(&p->lines_known, p->line_count, &p->line_capacity,
			    sizeof(*p->lines_known)) &&
	    hash_index_add(&p->line_index, hash, p->line_count) == 0)
		p->lines_known[p->line_count++] = (struct python_known_line){key, line};
	return line;
}

static struct python_title title_of(struct pythons *p, uint32_t program,
				    const struct python_frame *frame)
{
	struct code_key key = {.program = program, .code = frame->code, .mark = frame->mark};
	const struct python_known_code *code = find_code(p, &key);
	struct python_title title = {.name = PYTHON_UNKNOWN_FRAME};

	if (!code)
		return title;
	title.name = code->name;
	title.file = code->file;
	if (code->own)
		title.line =
			line_of(p, &image_of(p, find_program(p, program))->offsets, code, frame);
	return title;
}

/* ---- samples ---- */

/*
 * An evaluation of CPython 3.10 gives up its anchor before its frame. In between there is a frame
 * more than there are anchors, so each has its caller's: the innermost is left out.
 */
static void drop_leaving(struct python_stack *stack, uint32_t states[PYTHON_FRAMES_MAX])
{
	struct python_frame *frames = stack->frames;
	uint32_t to = 0, end;

	for (uint32_t i = 0; i < stack->count; i = end) {
		uint64_t anchor = frames[i].anchor;
		bool is_leaving;

		for (end = i + 1; end < stack->count && states[end] == states[i];)
			end++;
		is_leaving = frames[end - 1].anchor == 0;
		for (uint32_t k = i + is_leaving; k < end; k++) {
			uint64_t callers = frames[k].anchor;

			states[to] = states[k];
			frames[to] = frames[k];
			if (is_leaving)
				frames[to].anchor = anchor;
			anchor = callers;
			to++;
		}
	}
	stack->count = to;
}

/* Converts the links that the BPF side read for python_frames_read. */
static void take_links(const struct stack_python_chain *chain, const struct python_offsets *o,
		       struct python_stack *stack, uint32_t states[PYTHON_FRAMES_MAX])
{
	stack->count = 0;
	stack->is_whole = chain->is_whole;
	for (uint32_t i = 0; i < chain->count && i < STACK_PYTHON_MAX_LINKS; i++) {
		const struct stack_python_link *link = &chain->links[i];
		struct python_frame *f = &stack->frames[stack->count];

		if (o->frame_form == PYTHON_FRAME_SHIM && link->owner >= o->owner_of_shim) {
			if (stack->count && states[stack->count - 1] == link->state &&
			    link->owner == o->owner_of_shim && !f[-1].is_entry) {
				f[-1].is_entry = true;
				f[-1].anchor = link->anchor;
			}
			continue;
		}
		*f = (struct python_frame){
			.code = link->code & ~UINT64_C(7),
			.place = o->place_form == PYTHON_PLACE_POINTER ? link->place
								       : (uint32_t)link->place,
			.mark = link->mark,
			.anchor = link->anchor,
			.is_entry = o->frame_form == PYTHON_FRAME_EACH ||
				    (o->frame_form == PYTHON_FRAME_FLAG && link->owner)};
		states[stack->count++] = link->state;
	}
	if (o->frame_form == PYTHON_FRAME_EACH && o->thread_anchor != PYTHON_NO_OFFSET &&
	    chain->is_whole)
		drop_leaving(stack, states);
}

/* The frames of one evaluation, and where on the C stack that is. */
struct evaluation {
	uint32_t first, count;
	uint64_t anchor;
};

/*
 * The frames of several states of the thread are one chain: an evaluation is inside those that are
 * further up the stack.
 */
static void join_states(struct python_stack *stack, const uint32_t *states)
{
	struct evaluation list[PYTHON_FRAMES_MAX], next;
	struct python_frame frames[PYTHON_FRAMES_MAX];
	uint32_t count = 0, to = 0, at;

	if (stack->count == 0 || states[0] == states[stack->count - 1])
		return;
	for (uint32_t i = 0; i < stack->count; i += next.count) {
		next = (struct evaluation){.first = i};
		for (at = i; at < stack->count && states[at] == states[i] && !next.anchor; at++)
			next.anchor = stack->frames[at].anchor;
		next.count = at - i;
		/* what lacks its entry is further out than what it called */
		if (!next.anchor && i > 0 && states[i - 1] == states[i])
			next.anchor = list[count - 1].anchor;
		list[count++] = next;
	}
	memcpy(frames, stack->frames, stack->count * sizeof(*frames));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t least = 0;

		for (uint32_t k = 1; k < count; k++)
			if (list[k].count &&
			    (!list[least].count || list[k].anchor < list[least].anchor))
				least = k;
		memcpy(&stack->frames[to], &frames[list[least].first],
		       list[least].count * sizeof(*frames));
		to += list[least].count;
		list[least].count = 0;
	}
}

static enum python_native kind_of(const struct python_image *image, uint32_t module,
				  const struct unwind_frame *frame)
{
	if (frame->code.module != module)
		return PYTHON_NATIVE_OTHER;
	/* the loop's ranges are for return addresses: add one to an exact address */
	return python_image_in_loop(image, frame->code.offset + !frame->is_return_address)
		       ? PYTHON_NATIVE_LOOP
		       : PYTHON_NATIVE_INTERPRETER;
}

uint32_t pythons_merge(struct pythons *p, struct address_space *space, uint32_t number,
		       const struct stack_snapshot *snapshot, const struct unwind_frame *natives,
		       uint32_t count, bool is_whole, struct python_sample_frame *out, uint32_t max,
		       struct python_merge_result *result)
{
	const struct stack_python_chain *chain = stack_snapshot_python(snapshot);
	const struct python_program *program;
	struct python_merged merged[MERGED_MAX];
	const struct python_image *image;
	uint32_t states[PYTHON_FRAMES_MAX];
	struct python_stack stack;
	uint8_t kinds[NATIVES_MAX];
	uint64_t sps[NATIVES_MAX];
	struct python_merge_input in = {.natives = kinds,
					.sps = sps,
					.native_is_whole = is_whole,
					.keeps_native = p->keeps_native,
					.python = &stack};
	uint32_t module, n;

	*result = (struct python_merge_result){.is_whole = true, .is_ordered = true};
	/* it may run another program that the BPF side does not know yet */
	if (!number || !chain || chain->program != number)
		return 0;
	program = find_program(p, number);
	image = image_of(p, program);
	take_links(chain, &image->offsets, &stack, states);
	join_states(&stack, states);
	if (stack.count == 0)
		return 0;
	module = symbolizer_locate(p->symbolizer, space, image->segments[0].address + program->bias)
			 .module;
	in.has_handlers = python_loop_has_handlers(&image->loop);
	in.native_count = count < NATIVES_MAX ? count : NATIVES_MAX;
	for (uint32_t i = 0; i < in.native_count; i++) {
		kinds[i] = (uint8_t)kind_of(image, module, &natives[i]);
		sps[i] = natives[i].sp;
	}
	n = python_merge(&in, merged, max < MERGED_MAX ? max : MERGED_MAX, &result->is_ordered);
	result->is_whole = stack.is_whole;
	for (uint32_t i = 0; i < n; i++) {
		out[i] = (struct python_sample_frame){.index = merged[i].index};
		if (merged[i].is_python)
			out[i].title = title_of(p, number, &stack.frames[merged[i].index]);
	}
	return n;
}

const char *pythons_path(const struct pythons *p, uint32_t number)
{
	const struct python_program *program = find_program(p, number);

	return program ? p->files[program->file].path : NULL;
}
