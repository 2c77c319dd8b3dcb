/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
/*
 * Reads the Python frames of the current thread, and the names of their code objects. The limits
 * below bound all walks, and nothing faults a page in. Unreadable values are 0. A code object whose
 * name is unreadable is tried again when seen again.
 *
 * Functions that are not inlined are verified once per program, apart from their callers. A loop is
 * verified iteration by iteration, so long loops call a function with an inner loop.
 */
#ifndef BPF_PYTHON_BPF_H
#define BPF_PYTHON_BPF_H

#include "ring.bpf.h"

#define MAX_THREADS 512    /* searched for the current one */
#define THREADS_AT_ONCE 64 /* per loop */
#define LINKS_AT_ONCE 32
#define MAX_SENT_CODES 16384 /* remembered; older ones are sent again */
#define MAX_TRIES 8          /* to read a code object's name */

/* Names are sent with lines. */
const volatile unsigned int sends_python_lines;

/* Processes that run CPython, added by the reader; children inherit the entry. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PROCESSES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* process id */
	__type(value, struct stack_python);
} pythons SEC(".maps");

/* Followed processes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PROCESSES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* process id */
	__type(value, struct stack_process);
} tracked SEC(".maps");

static __always_inline struct stack_program *program_of(__u32 pid)
{
	struct stack_process *process = bpf_map_lookup_elem(&tracked, &pid);

	return process ? &process->program : 0;
}

/* Returns true if the layout is this program's, not an earlier one's in that process. */
static __always_inline bool is_layout_of(const struct stack_python *p,
					 const struct stack_program *now)
{
	return now->before_ns < p->began_ns && p->began_ns < now->began_ns;
}

/* Last known address of each thread's state. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32); /* thread id */
	__type(value, __u64);
} python_threads SEC(".maps");

struct python_code_key {
	__u64 program;
	__u64 code;
	__u64 mark; /* distinguishes code objects at one address */
};

/* Number of tries to send each code object; MAX_TRIES when sent. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_SENT_CODES);
	__type(key, struct python_code_key);
	__type(value, __u8);
} python_codes SEC(".maps");

static __always_inline __u64 user_word(__u64 address)
{
	__u64 value = 0;

	bpf_probe_read_user(&value, sizeof(value), (void *)address);
	return value;
}

static __always_inline __u32 user_half(__u64 address)
{
	__u32 value = 0;

	bpf_probe_read_user(&value, sizeof(value), (void *)address);
	return value;
}

/* ---- code objects ---- */

/* Copies a piece, at most `room` bytes. Returns 0 if it cannot be read. */
static __always_inline bool put_piece(struct stack_python_code *r, const unsigned int kind,
				      void *to, const __u32 room, __u64 address, __u64 bytes)
{
	struct stack_python_piece *piece = &r->pieces[kind];

	if (bytes > room)
		bytes = room;
	piece->address = address;
	piece->at = to - (void *)r;
	piece->bytes = bytes;
	return bpf_probe_read_user(to, bytes, (void *)address) == 0;
}

/* Copies a str: its head, and at most `characters` from its start or end. */
static __always_inline bool put_text(struct stack_python_code *r, const struct stack_python *p,
				     const unsigned int kind, void *head, void *to,
				     const __u32 characters, const bool is_tail, __u64 text)
{
	__u64 length = user_word(text + p->text_length), data = text;
	__u32 state = user_half(text + p->text_state);
	__u32 width = state >> (p->text_kind_bit & 15) & 7;

	data += state >> ((p->text_kind_bit & 15) + 4) & 1 ? p->text_ascii_data : p->text_wide_data;
	if (length > characters) {
		if (is_tail)
			data += (length - characters) * width;
		length = characters;
	}
	return put_piece(r, kind, head, STACK_PYTHON_HEAD_BYTES, text, p->text_head) &&
	       put_piece(r, kind + 1, to, 4 * characters, data, length * width);
}

static __always_inline bool put_lines(struct stack_python_code *r, const struct stack_python *p)
{
	__u64 table = user_word(r->link.code + p->code_lines);
	__u64 length = user_word(table + p->bytes_length);

	if (length > STACK_PYTHON_LINES_BYTES)
		length = STACK_PYTHON_LINES_BYTES;
	return put_piece(r, STACK_PYTHON_LINES, r->lines, sizeof(r->lines), table,
			 p->bytes_data + length);
}

static __always_inline bool put_code(struct stack_python_code *r, const struct stack_python *p)
{
	__u64 code = r->link.code;

	for (int i = 0; i < STACK_PYTHON_PIECES; i++)
		r->pieces[i].bytes = 0;
	if (!put_piece(r, STACK_PYTHON_CODE, r->code, sizeof(r->code), code, p->code_bytes) ||
	    !put_text(r, p, STACK_PYTHON_NAME_HEAD, r->heads[0], r->name,
		      STACK_PYTHON_NAME_CHARACTERS, 0, user_word(code + p->code_name)) ||
	    !put_text(r, p, STACK_PYTHON_PATH_HEAD, r->heads[2], r->path,
		      STACK_PYTHON_PATH_CHARACTERS, 1, user_word(code + p->code_filename)))
		return 0;
	if (p->code_qualname != STACK_PYTHON_NO_OFFSET &&
	    !put_text(r, p, STACK_PYTHON_QUALNAME_HEAD, r->heads[1], r->qualname,
		      STACK_PYTHON_NAME_CHARACTERS, 0, user_word(code + p->code_qualname)))
		return 0;
	return 1;
}

/* The thread whose frames are read, and the time. */
struct python_sight {
	__u64 time_ns;
	__u64 self; /* the thread pointer */
	__u32 pid, tid;
};

/* Sends the name of the link's code object. Returns 1 if it is in the ring. */
__noinline int send_python_code(const struct stack_python *p, const struct stack_python_link *link,
				const struct python_sight *sight)
{
	__u32 size = sends_python_lines ? sizeof(struct stack_python_code) : STACK_PYTHON_CODE_SIZE;
	struct stack_python_code *r;

	if (!p || !link || !sight)
		return 0;
	if (sends_python_lines)
		r = bpf_ringbuf_reserve(&events, sizeof(*r), 0);
	else
		r = bpf_ringbuf_reserve(&events, STACK_PYTHON_CODE_SIZE, 0);
	if (!r)
		return 0;
	describe(&r->event, sight->time_ns, sight->pid, sight->tid, STACK_EVENT_PYTHON_CODE, 0,
		 size);
	r->program = p->program;
	r->link = *link;
	r->link.code &= ~7ull; /* references may be tagged */
	if (!put_code(r, p) || (sends_python_lines && !put_lines(r, p))) {
		bpf_ringbuf_discard(r, BPF_RB_NO_WAKEUP);
		return 0;
	}
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return 1;
}

/* Sends a code object if it was not sent before. Returns the number of records sent. */
static __always_inline int send_if_new(const struct stack_python *p,
				       const struct stack_python_link *link,
				       const struct python_sight *sight)
{
	struct python_code_key key = {
		.program = p->program,
		.code = link->code,
		.mark = link->mark,
	};
	__u8 *tries = bpf_map_lookup_elem(&python_codes, &key), count = tries ? *tries : 0;
	int sent;

	if (count >= MAX_TRIES)
		return 0;
	sent = send_python_code(p, link, sight);
	count = sent ? MAX_TRIES : count + 1;
	bpf_map_update_elem(&python_codes, &key, &count, BPF_ANY);
	return sent;
}

/* ---- frames ---- */

/* A walk over all threads of all interpreters of the process. */
struct python_walk {
	__u64 interpreter; /* 0: end of the walk */
	__u64 thread;      /* 0: before the interpreter's first */
	__u64 is_torn;     /* ended at an unreadable link */
};

/* Size that covers the members read from a thread's state; no C stack begins that near behind. */
#define THREAD_STATE_BYTES 1024

/*
 * In 3.11 and 3.12 an evaluation has a structure in its C frame. It names the innermost frame and
 * the structure of the outer evaluation. The outermost structure is in the thread's state and names
 * neither.
 */
struct python_evaluation {
	__u64 frame, around;
};

static __always_inline struct python_evaluation read_evaluation(const struct stack_python *p,
								__u64 structure)
{
	struct python_evaluation evaluation = {0};

	bpf_probe_read_user(&evaluation, sizeof(evaluation), (void *)(structure + p->cframe_frame));
	return evaluation;
}

static __always_inline bool is_outermost(__u64 structure, __u64 thread)
{
	return structure - thread < THREAD_STATE_BYTES;
}

static __always_inline bool has_frames(const struct stack_python *p, __u64 thread)
{
	__u64 at = user_word(thread + p->thread_frame);

	return p->cframe_frame == STACK_PYTHON_NO_OFFSET ? at != 0 : !is_outermost(at, thread);
}

/* Returns true for the current thread's state with frames. A released state has none. */
static __always_inline bool is_current(const struct stack_python *p, __u64 thread,
				       const struct python_sight *sight)
{
	return user_word(thread + p->thread_id) == sight->self && has_frames(p, thread);
}

/* Follows a link of the walk. Returns 0 if it cannot be read. */
static __always_inline bool follow_link(struct python_walk *walk, __u64 from, __u64 *to)
{
	walk->is_torn = bpf_probe_read_user(to, sizeof(*to), (void *)from) != 0;
	if (walk->is_torn)
		walk->interpreter = 0;
	return !walk->is_torn;
}

/*
 * Goes to the next thread state. Returns 1 at the current thread. Up to 3.11 the state of a thread
 * that has not begun names its creator, but has no frame.
 */
__noinline int step_python_walk(const struct stack_python *p, struct python_walk *walk,
				const struct python_sight *sight)
{
	__u64 from;

	if (!p || !walk || !sight)
		return 0;
	from = walk->thread ? walk->thread + p->thread_next
			    : walk->interpreter + p->interpreter_threads;
	if (!follow_link(walk, from, &walk->thread))
		return 0;
	if (walk->thread)
		return is_current(p, walk->thread, sight);
	follow_link(walk, walk->interpreter + p->interpreter_next, &walk->interpreter);
	return 0;
}

/* Does some steps. Returns 1 if the walk is at the current thread. */
__noinline int search_python_threads(const struct stack_python *p, struct python_walk *walk,
				     const struct python_sight *sight)
{
	if (!p || !walk || !sight)
		return 0;
	for (int i = 0; i < THREADS_AT_ONCE && walk->interpreter; i++)
		if (step_python_walk(p, walk, sight))
			return 1;
	return 0;
}

/*
 * Returns the current thread's state that has frames: the last known one, or from the list of all.
 * Returns 0 if there is none, or, if the chain is not whole, if that is unknown.
 */
static __always_inline __u64 find_python_thread(const struct stack_python *p,
						struct stack_python_chain *chain,
						const struct python_sight *sight)
{
	__u32 tid = sight->tid; /* before Linux 6.2 keys must be on the stack */
	__u64 *known = bpf_map_lookup_elem(&python_threads, &tid);
	struct python_walk walk = {0};

	chain->is_whole = 1;
	if (known && is_current(p, *known, sight))
		return *known;
	follow_link(&walk, p->interpreters, &walk.interpreter);
	for (int i = 0; i < MAX_THREADS / THREADS_AT_ONCE && walk.interpreter; i++) {
		if (!search_python_threads(p, &walk, sight))
			continue;
		chain->is_first = !known;
		bpf_map_update_elem(&python_threads, &tid, &walk.thread, BPF_ANY);
		return walk.thread;
	}
	chain->is_whole = !walk.interpreter && !walk.is_torn;
	return 0;
}

#define SEEN_CODES 32 /* a power of two */
#define KEY_WORDS 4   /* PYTHON_KEY_WORDS */
#define GOLDEN_RATIO 0x9e3779b97f4a7c15ull

/*
 * Scratch memory while a chain is read. Copying a few bytes from the process takes as long as
 * copying a thousand. So members and frames close to each other are copied together. The needed
 * part of a code object is copied once.
 */
struct python_scratch {
	__u64 frame;  /* next one to read; 0: none */
	__u64 anchor; /* the current evaluation's, if shims have none */
	__u32 state;
	__u8 is_torn;   /* unreadable, or read before */
	__u8 is_hidden; /* unreadable, but plausible as a frame's address */
	__u8 has_exit;  /* the chain has left the innermost evaluation, */
	__u8 padding;
	__u64 exit;       /* for this frame */
	__u64 around;     /* structure of the evaluation around the innermost */
	__u64 waymark;    /* a frame read earlier, to detect a cycle */
	__u64 start, end; /* address range of the copy in `frames` */
	__u8 frames[STACK_PYTHON_WINDOW_BYTES];
	__u8 mark[STACK_PYTHON_MARK_BYTES];
	__u64 words[KEY_WORDS]; /* the last bytes of a str or bytes */
	__u64 key;              /* result of read_key */
	__u64 file, file_key;   /* file name looked up last */
	__u16 seen[SEEN_CODES]; /* by code object: number of a link to it, counted from 1 */
};

/* Returns the word at offset `at` of a copy of `size` bytes; 0 if outside. */
static __always_inline __u64 copied_word(const __u8 *copy, const __u32 size, __u64 at)
{
	/* makes the verifier see that the compared value is the one used */
	__asm__ volatile("" : "+r"(at));
	return at <= size - sizeof(__u64) ? *(const __u64 *)(copy + at) : 0;
}

static __always_inline __u8 copied_byte(const __u8 *copy, const __u32 size, __u64 at)
{
	__asm__ volatile("" : "+r"(at));
	return at < size ? copy[at] : 0;
}

/* Copies the next frame with preceding bytes of its page, unless the last copy contains it. */
static __always_inline bool copy_frame(const struct stack_python *p, struct python_scratch *s)
{
	__u64 page = s->frame & ~(STACK_SNAPSHOT_PAGE - 1ull), end = s->frame + p->frame_bytes;
	__u64 start = end - p->frame_window, bytes;

	if (s->frame >= s->start && end <= s->end)
		return 1;
	if (start < page)
		start = page;
	bytes = end - start;
	if (bytes > sizeof(s->frames) || bpf_probe_read_user(s->frames, bytes, (void *)start))
		return 0;
	s->start = start;
	s->end = end;
	return 1;
}

/*
 * Computes python_key() of a str or bytes; length and hash are `at` bytes behind its start. Sets
 * s->key.
 */
__noinline int read_key(const struct stack_python *p, struct python_scratch *s, __u64 text,
			const unsigned int at, const int is_text)
{
	__u64 head[2], data, bytes, others;
	__u32 state, kind = 1;

	if (!p || !s)
		return 0;
	s->key = text;
	if (bpf_probe_read_user(head, sizeof(head), (void *)(text + at)))
		return 0;
	if (head[1] != ~0ull) {
		s->key = head[1];
		return 0;
	}
	if (head[0] > 0x7fffffff)
		return 0;
	data = text + p->bytes_data;
	if (is_text) {
		state = user_half(text + p->text_state) >> (p->text_kind_bit & 15);
		if (!(state >> 3 & 1)) /* bit 3: compact; bit 4: ascii */
			return 0;
		kind = state & 7;
		data = text + (state >> 4 & 1 ? p->text_ascii_data : p->text_wide_data);
	}
	bytes = head[0] * kind;
	if (bpf_probe_read_user(s->words, sizeof(s->words),
				(void *)(data + bytes - sizeof(s->words))))
		return 0;
	others = bytes < sizeof(s->words) ? sizeof(s->words) - bytes : 0;
	s->key = head[0];
	for (unsigned int i = 0; i < KEY_WORDS; i++) {
		if (others > 8 * i)
			s->words[i] = others - 8 * i < 8 ? s->words[i] >> 8 * (others - 8 * i) : 0;
		s->key += s->words[i] * (GOLDEN_RATIO - 2 * i);
	}
	s->key ^= s->key >> 32;
	return 0;
}

/* Computes python_mark(), from a copy of the part that distinguishes code objects. */
static __always_inline void read_mark(const struct stack_python *p, struct stack_python_link *link,
				      struct python_scratch *s)
{
	const __u32 size = sizeof(s->mark);
	__u64 code = link->code & ~7ull, bytes = p->mark_bytes, file;
	__u32 first_line;

	if (bytes > size || bpf_probe_read_user(s->mark, bytes, (void *)(code + p->mark_from)))
		__builtin_memset(s->mark, 0, size);
	file = copied_word(s->mark, size, p->code_filename - p->mark_from);
	if (file != s->file) { /* usually the previous frame's */
		read_key(p, s, file, p->text_length, 1);
		s->file = file;
		s->file_key = s->key;
	}
	read_key(p, s, copied_word(s->mark, size, p->code_text - p->mark_from), p->text_length, 1);
	first_line = copied_word(s->mark, size, p->code_first_line - p->mark_from);
	link->mark = ((s->key ^ first_line) * GOLDEN_RATIO ^ s->file_key) * GOLDEN_RATIO;
	if (sends_python_lines) {
		read_key(p, s, user_word(code + p->code_lines), p->bytes_length, 0);
		link->mark = (link->mark ^ s->key) * GOLDEN_RATIO;
	}
}

/* Copies the mark of an earlier link to this code object. */
static __always_inline bool copy_mark(struct stack_python_link *link,
				      const struct stack_python_chain *chain, __u32 seen)
{
	const struct stack_python_link *before;

	if (seen == 0 || seen > STACK_PYTHON_MAX_LINKS)
		return 0;
	before = &chain->links[seen - 1];
	if (before->code != link->code)
		return 0;
	link->mark = before->mark;
	return 1;
}

/*
 * Notes the anchor of a link whose frame is at `frame`. A thread's last anchor is in the thread's
 * state and belongs to no evaluation.
 */
static __always_inline void note_anchor(const struct stack_python *p,
					struct stack_python_link *link, __u64 frame,
					struct python_scratch *s)
{
	__u64 next;

	link->anchor = 0;
	if (link->owner >= p->owner_of_shim) {
		link->anchor = frame;
	} else if (s->anchor && link->owner >= p->owner_of_entry) {
		next = user_word(s->anchor + p->anchor_previous);
		link->anchor = next ? s->anchor : 0;
		s->anchor = next;
	}
}

/* Converts a place in a copy of the instructions to the place in the code object. */
static __always_inline void leave_copy(const struct stack_python *p, struct stack_python_link *link,
				       __u64 frame)
{
	__u64 code = link->code & ~7ull;
	__u32 number = user_half(frame + p->frame_copy);

	if (number)
		link->place += code + p->code_instructions -
			       user_word(user_word(code + p->code_copies) + 8 + 8 * (__u64)number);
}

/* Notes the frame at which the chain leaves the innermost evaluation, if those have structures. */
static __always_inline void note_exit(const struct stack_python *p,
				      const struct stack_python_link *link,
				      struct python_scratch *s)
{
	bool has_shims = p->owner_of_shim != STACK_PYTHON_NO_OFFSET;

	if (s->has_exit || link->owner < (has_shims ? p->owner_of_shim : p->owner_of_entry))
		return;
	s->has_exit = 1;
	s->exit = s->frame;
}

/* Returns 0 if the next frame was read before. Sets a waymark at each power of two. */
static __always_inline bool goes_on(struct python_scratch *s, __u32 number)
{
	if (s->frame == s->waymark)
		return 0;
	if (!(number & (number - 1)))
		s->waymark = s->frame;
	return 1;
}

/*
 * Reads the next link, after sending its code object's name. Returns the number of records sent, or
 * -1 if the frame cannot be read.
 */
__noinline int read_link(const struct stack_python *p, struct stack_python_chain *chain,
			 const struct python_sight *sight, struct python_scratch *s)
{
	const __u32 size = sizeof(s->frames);
	struct stack_python_link *link;
	__u32 number;
	__u16 *seen;
	__u64 at;

	if (!p || !chain || !sight || !s)
		return -1;
	number = chain->count;
	if (number >= STACK_PYTHON_MAX_LINKS || !goes_on(s, number))
		return -1;
	if (!copy_frame(p, s)) {
		s->is_hidden = !(s->frame & 7) && s->frame >> 12 && !(s->frame >> 47);
		return -1;
	}
	link = &chain->links[number++];
	chain->count = number;
	at = s->frame - s->start;
	link->code = copied_word(s->frames, size, at + p->frame_code);
	link->place = copied_word(s->frames, size, at + p->frame_place);
	link->mark = 0;
	link->owner = 0;
	link->state = s->state;
	if (p->frame_owner != STACK_PYTHON_NO_OFFSET)
		link->owner = copied_byte(s->frames, size, at + p->frame_owner);
	note_anchor(p, link, s->frame, s);
	if (p->frame_copy != STACK_PYTHON_NO_OFFSET && sends_python_lines)
		leave_copy(p, link, s->frame);
	s->frame = copied_word(s->frames, size, at + p->frame_previous);
	note_exit(p, link, s);
	if (!link->code || link->owner >= p->owner_of_shim)
		return 0;
	seen = &s->seen[link->code * GOLDEN_RATIO >> 32 & (SEEN_CODES - 1)];
	if (copy_mark(link, chain, *seen))
		return 0;
	*seen = number;
	read_mark(p, link, s);
	return send_if_new(p, link, sight);
}

/* Reads some links, until the last or an unreadable one. Returns the number of records sent. */
__noinline int read_links(const struct stack_python *p, struct stack_python_chain *chain,
			  const struct python_sight *sight, struct python_scratch *s)
{
	int sent = 0, more;

	if (!p || !chain || !sight || !s)
		return 0;
	for (int i = 0; i < LINKS_AT_ONCE && s->frame && !s->is_torn; i++) {
		more = read_link(p, chain, sight, s);
		s->is_torn = more < 0;
		sent += more > 0 ? more : 0;
	}
	return sent;
}

/* Appends the links from a frame on. Returns the number of records sent. */
__noinline int read_chain(const struct stack_python *p, struct stack_python_chain *chain,
			  const struct python_sight *sight, struct python_scratch *s)
{
	int sent = 0;

	if (!p || !chain || !sight || !s)
		return 0;
	s->start = s->end = s->exit = s->waymark = s->file = s->file_key = 0;
	s->is_torn = s->is_hidden = s->has_exit = 0;
	__builtin_memset(s->seen, 0, sizeof(s->seen));
	_Static_assert(STACK_PYTHON_MAX_LINKS % LINKS_AT_ONCE == 0, "all of them");
	for (int i = 0; i < STACK_PYTHON_MAX_LINKS / LINKS_AT_ONCE && s->frame && !s->is_torn; i++)
		sent += read_links(p, chain, sight, s);
	return sent;
}

/*
 * Returns true if the chain just read is an evaluation's: it continues in the outer one. A chain
 * too long to see that is accepted.
 */
static __always_inline bool is_evaluations(const struct stack_python *p,
					   const struct stack_python_chain *chain,
					   const struct python_scratch *s, __u64 thread)
{
	struct python_evaluation around;

	if (!s->has_exit)
		return s->frame && chain->count == STACK_PYTHON_MAX_LINKS;
	around = read_evaluation(p, s->around);
	return s->exit == around.frame &&
	       (s->exit || is_outermost(s->around, thread) || is_outermost(around.around, thread));
}

/*
 * Reads a chain from the innermost evaluation on. An evaluation that is just being entered has a
 * structure with stale content. Usually its link to the outer one is right, so that is tried next.
 * If that fails, only the existence of frames is known.
 */
static __always_inline int read_innermost(const struct stack_python *p,
					  struct stack_python_chain *chain,
					  const struct python_sight *sight,
					  struct python_scratch *s, __u64 thread)
{
	__u64 structure = user_word(thread + p->thread_frame);
	const __u32 first = chain->count;
	int sent;

	for (int i = 0; i < 2 && !is_outermost(structure, thread); i++) {
		struct python_evaluation evaluation = read_evaluation(p, structure);

		s->frame = evaluation.frame;
		s->around = evaluation.around;
		s->anchor = p->thread_anchor != STACK_PYTHON_NO_OFFSET ? structure : 0;
		sent = read_chain(p, chain, sight, s);
		if (is_evaluations(p, chain, s, thread))
			return sent;
		chain->count = first;
		structure = evaluation.around;
		/* the frames may exist, and their page is being moved */
		if (s->is_hidden)
			chain->is_whole = 0;
	}
	s->frame = 0;
	if (!is_outermost(structure, thread))
		chain->is_whole = 0;
	return 0;
}

/* Appends the frames of one thread state. Returns the number of records sent. */
__noinline int read_python_state(const struct stack_python *p, struct stack_python_chain *chain,
				 const struct python_sight *sight, struct python_scratch *s,
				 __u64 thread)
{
	int sent;

	if (!p || !chain || !sight || !s)
		return 0;
	if (p->cframe_frame != STACK_PYTHON_NO_OFFSET) {
		sent = read_innermost(p, chain, sight, s, thread);
	} else {
		s->frame = user_word(thread + p->thread_frame);
		s->anchor = p->thread_anchor != STACK_PYTHON_NO_OFFSET
				    ? user_word(thread + p->thread_anchor)
				    : 0;
		sent = read_chain(p, chain, sight, s);
	}
	if (s->frame)
		chain->is_whole = 0;
	s->state++;
	return sent;
}

/*
 * Appends the frames of the thread's other states, one per interpreter that it runs. Requires
 * frames that tell their evaluation.
 */
static __always_inline int read_other_states(const struct stack_python *p,
					     struct stack_python_chain *chain,
					     const struct python_sight *sight,
					     struct python_scratch *s, __u64 thread)
{
	struct python_walk walk = {.interpreter = user_word(p->interpreters)};
	int sent = 0;

	if (!user_word(walk.interpreter + p->interpreter_next) ||
	    (p->thread_anchor == STACK_PYTHON_NO_OFFSET &&
	     p->owner_of_shim == STACK_PYTHON_NO_OFFSET))
		return 0;
	for (int i = 0; i < MAX_THREADS / THREADS_AT_ONCE && walk.interpreter; i++)
		if (search_python_threads(p, &walk, sight) && walk.thread != thread)
			sent += read_python_state(p, chain, sight, s, walk.thread);
	return sent;
}

/*
 * Reads the frames of the current thread, and sends new code objects first. Returns the number of
 * records sent. The scratch may hold anything.
 */
__noinline int read_python(const struct stack_python *p, struct stack_python_chain *chain,
			   const struct python_sight *sight, struct python_scratch *s)
{
	__u64 thread;
	int sent;

	if (!p || !chain || !sight || !s)
		return 0;
	chain->program = p->program;
	chain->count = 0;
	chain->is_first = 0;
	thread = find_python_thread(p, chain, sight);
	if (!thread)
		return 0;
	s->state = 0;
	sent = read_python_state(p, chain, sight, s, thread);
	return sent + read_other_states(p, chain, sight, s, thread);
}

#endif
