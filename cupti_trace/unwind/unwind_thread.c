// SPDX-License-Identifier: MIT
#include "cupti_trace/unwind/unwind_thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include "cupti_trace/core/hot_path.h"
#include "cupti_trace/core/readable.h"
#include "cupti_trace/unwind/code_ranges.h"
#include "cupti_trace/unwind/unwind_cache.h"
#include "cupti_trace/unwind/hidden_return.h"
#include "cupti_trace/unwind/loaded_table.h"
#include "cupti_trace/unwind/row_cache.h"
#include "cupti_trace/unwind/stack_fingerprint.h"
#include "symbolize/call_site.h"
#include "symbolize/cfi.h"
#include "symbolize/python_trampoline.h"

#define PAGE 4096u
#define FOREIGN_BYTES (256u << 10) /* limit of a foreign stack */
#define RED_ZONE 128u              /* in use below the stack pointer (x86-64 ABI) */

/* ---- rows, packed into one word so that they can be stored at once ---- */

enum row_kind {
	ROW_NONE = 0,
	ROW_RSP,    /* CFA = rsp + offset */
	ROW_RBP,    /* CFA = rbp + offset */
	ROW_AT_RBP, /* CFA = the word at rbp + offset; rbp's place counts from rbp */
	ROW_OUTERMOST,
	ROW_BEGINNING,     /* no function, but one begins right after: nothing has called */
	ROW_FRAME_POINTER, /* no table: by the frame pointer, if it leads anywhere */
	ROW_FULL,          /* evaluates the full rules each time */
	ROW_NOWHERE,       /* no code is there: the walk went astray. Not cached */
};

static uint64_t pack(enum row_kind kind, int32_t cfa_offset, int16_t rbp_offset)
{
	return (uint64_t)kind << 56 | (uint64_t)(uint16_t)rbp_offset << 32 | (uint32_t)cfa_offset;
}

_Atomic uint32_t unwind_generation HOT_PATH_DATA;

void unwind_forget(void)
{
	row_cache_forget();
	atomic_fetch_add(&unwind_generation, 1);
}

/* ---- rows ---- */

static bool read_row(uint64_t pc, struct cfi_row *row)
{
	struct cfi_table table;

	return loaded_table_find(pc, &table) && cfi_find_row(&table, pc, row) == 0;
}

/* Reads up to 8 bytes of code before `pc`. Returns 0 if it is execute-only, or gone. */
static size_t read_code(uint64_t pc, uint8_t code[8])
{
	size_t in_page = pc & (PAGE - 1);

	if (copy_own_memory(pc - 8, code, 8))
		return 8;
	return in_page < 8 && copy_own_memory(pc - in_page, code, in_page) ? in_page : 0;
}

/* Marks addresses in the cache of rows that are known to follow a call. */
#define BEHIND_CALL (UINT64_C(1) << 63)

/* Returns whether a call precedes `pc`, which is in executable memory. */
static bool is_behind_call(uint64_t pc)
{
	struct call_site site;
	uint8_t code[8];
	size_t size;

	if (row_cache_get(pc | BEHIND_CALL))
		return true;
	size = read_code(pc, code);
	if (!call_site_read(code, size, &site))
		return false; /* generated code may change soon: not cached */
	row_cache_put(pc | BEHIND_CALL, BEHIND_CALL);
	return true;
}

/* A bit of a row that pack() leaves free. */
#define IS_TRAMPOLINE (UINT64_C(1) << 48)

/* Returns the form of the trampoline that `pc` returns to, in executable memory. */
static enum python_trampoline_form trampoline_at(uint64_t pc)
{
	uint8_t code[PYTHON_TRAMPOLINE_BEFORE + PYTHON_TRAMPOLINE_BEHIND];

	return copy_own_memory(pc - PYTHON_TRAMPOLINE_BEFORE, code, sizeof(code))
		       ? python_trampoline_around(code)
		       : PYTHON_TRAMPOLINE_NONE;
}

bool unwind_is_trampoline(uint64_t pc)
{
	return row_cache_get(pc - 1) & IS_TRAMPOLINE;
}

bool unwind_calls_trampoline(uint64_t pc, uint64_t loop)
{
	uint8_t code[PYTHON_TRAMPOLINE_CALL];

	return copy_own_memory(pc - sizeof(code), code, sizeof(code)) &&
	       python_trampoline_is_called(code, pc, loop);
}

/* Returns the row of code without a table, in executable memory. */
static uint64_t row_of_generated(uint64_t pc)
{
	enum python_trampoline_form form = trampoline_at(pc + 1);

	if (form == PYTHON_TRAMPOLINE_NONE)
		return pack(ROW_FRAME_POINTER, 0, 0);
	return pack(ROW_RSP, 16, form == PYTHON_TRAMPOLINE_BY_RBP ? -16 : CFI_RBP_SAME) |
	       IS_TRAMPOLINE;
}

static uint64_t look_up(uint64_t pc, struct cfi_row *full)
{
	static const enum row_kind kinds[] = {
		[CFI_CFA_RSP] = ROW_RSP,
		[CFI_CFA_RBP] = ROW_RBP,
		[CFI_CFA_AT_RBP] = ROW_AT_RBP,
	};
	struct cfi_simple_row simple;

	if (!read_row(pc, full)) {
		if (read_row(pc + 1, full) && !is_behind_call(pc + 1))
			return pack(ROW_BEGINNING, 0, 0);
		return code_ranges_hold(pc) ? row_of_generated(pc) : pack(ROW_NOWHERE, 0, 0);
	}
	if (!cfi_simplify(full, &simple))
		return pack(ROW_FULL, 0, 0);
	if (simple.is_outermost)
		return pack(ROW_OUTERMOST, 0, 0);
	return pack(kinds[simple.cfa_form], simple.cfa_offset, simple.rbp_offset);
}

/* Returns the row of the code at `at`, cached or looked up. */
static uint64_t find_row(uint64_t at)
{
	uint64_t row = row_cache_get(at);
	struct cfi_row full;

	if (!row) {
		row = look_up(at, &full);
		if (row >> 56 != ROW_NOWHERE)
			row_cache_put(at, row);
	}
	return row;
}

/* ---- the stack's memory ---- */

/* [start, end) can be read; the kernel knows about the rest, up to `limit`. */
struct memory {
	uint64_t start, end, limit;
};

static __attribute__((noinline)) bool extend(struct memory *m, uint64_t address)
{
	if (address > m->limit - 8)
		return false;
	for (; m->end - 8 < address; m->end += PAGE)
		if (!is_readable(m->end))
			return false;
	return true;
}

static inline bool read_word(struct memory *m, uint64_t address, uint64_t *value)
{
	if (address < m->start || (address & 7) || (address > m->end - 8 && !extend(m, address)))
		return false;
	memcpy(value, (const void *)(uintptr_t)address, sizeof(*value));
	return true;
}

static bool read_for_cfi(void *context, uint64_t address, uint64_t *value)
{
	return read_word(context, address, value);
}

/* Bounds of the thread's stack: looked up once a thread, which takes some 10 us. */
static __thread struct {
	uint64_t low, high;
	bool known;
} own_stack;

static void find_own_stack(void)
{
	pthread_attr_t attributes;
	void *address;
	size_t size;

	own_stack.known = true;
	if (pthread_getattr_np(pthread_self(), &attributes) != 0)
		return;
	if (pthread_attr_getstack(&attributes, &address, &size) == 0) {
		own_stack.low = (uint64_t)(uintptr_t)address;
		own_stack.high = own_stack.low + size;
	}
	pthread_attr_destroy(&attributes);
}

bool unwind_is_on_stack(uint64_t address)
{
	if (!own_stack.known)
		find_own_stack();
	return address >= own_stack.low && address < own_stack.high;
}

/*
 * Looks up the stack of the thread that starts CUDA. That is most often the main thread, whose
 * stack libc looks for in /proc. By the first launch the program may have forbidden itself to open
 * files.
 */
__attribute__((constructor)) static void prepare_own_stack(void)
{
	find_own_stack();
}

/*
 * Describes a stack that is not the thread's, from `sp` on. It is in use up to `rbp`, the frame of
 * a function of this library (which has frame pointers). Its end is unknown: it is read page by
 * page, as far as the walk leads and there is memory.
 */
static struct memory foreign_stack(uint64_t sp, uint64_t rbp)
{
	uint64_t used = rbp > sp && rbp - sp < FOREIGN_BYTES ? rbp : sp;
	uint64_t end = (used | (PAGE - 1)) + 1;

	return (struct memory){.start = sp, .end = end, .limit = end + FOREIGN_BYTES};
}

/* ---- walking ---- */

struct walk {
	struct memory memory;
	struct unwind_cache *cache;     /* NULL: none for this stack */
	bool has_returned;              /* has gone from a signal's stack to the thread's */
	bool was_hidden;                /* a return address was hidden: the result is not cached */
	bool interrupted;               /* the pc is where a signal arrived, not a return address */
	struct cfi_registers registers; /* registers of the frame being left; see `exact` */
	uint64_t rbp_at;                /* place from which rbp was read; 0: not from the stack */
	bool exact;                     /* registers other than rsp, rbp, pc are right too */
	uint32_t first;                 /* node of the innermost frame; 0: none */
	uint32_t max;                   /* limit of frames */
	uint64_t *sps;                  /* their stack pointers; NULL: not needed */
};

/* Return the offsets of a packed row. */
static int32_t cfa_offset_of(uint64_t row)
{
	return (int32_t)(uint32_t)row;
}

static int16_t rbp_offset_of(uint64_t row)
{
	return (int16_t)(uint16_t)(row >> 32);
}

/* Takes one step by a simple row. Returns false when the stack leads no further. */
static bool step_simple(struct walk *w, uint64_t row)
{
	enum row_kind kind = (enum row_kind)(row >> 56);
	uint64_t *value = w->registers.value;
	uint64_t rbp_base, base = value[kind == ROW_RSP ? CFI_RSP : CFI_RBP];
	uint64_t cfa = base + (uint64_t)(int64_t)cfa_offset_of(row);

	if (kind == ROW_AT_RBP && !read_word(&w->memory, cfa, &cfa))
		return false;
	if (cfa <= value[CFI_RSP] || !read_word(&w->memory, cfa - 8, &value[CFI_PC]))
		return false;
	if (rbp_offset_of(row) > CFI_RBP_UNDEFINED) {
		rbp_base = kind == ROW_AT_RBP ? base : cfa;
		w->rbp_at = rbp_base + (uint64_t)(int64_t)rbp_offset_of(row);
		if (!read_word(&w->memory, w->rbp_at, &value[CFI_RBP]))
			return false;
	}
	value[CFI_RSP] = cfa;
	w->exact = false; /* rbx, r12..r15 were not restored */
	return true;
}

/*
 * Steps by the frame pointer. Code may use rbp for data that look like addresses, so the return
 * address must follow a call.
 */
static bool step_frame_pointer(struct walk *w)
{
	uint64_t *value = w->registers.value, rbp = value[CFI_RBP], pc, saved;

	if (rbp < value[CFI_RSP] || !read_word(&w->memory, rbp, &saved) ||
	    !read_word(&w->memory, rbp + 8, &pc) || find_row(pc - 1) >> 56 == ROW_NOWHERE ||
	    !is_behind_call(pc))
		return false;
	value[CFI_RSP] = rbp + 16;
	value[CFI_RBP] = saved;
	value[CFI_PC] = pc;
	w->rbp_at = rbp;
	w->exact = false;
	return true;
}

/*
 * Continues on the thread's own stack, where a signal arrived. Its handler runs on another stack,
 * or on a part of this one. Once in a walk, which has to end.
 */
static bool return_to_own_stack(struct walk *w)
{
	uint64_t sp = w->registers.value[CFI_RSP];

	if (w->has_returned || sp < own_stack.low || sp >= own_stack.high)
		return false;
	w->has_returned = true;
	/* the signal may have come after a leave, when rbp's place is below the stack pointer */
	w->memory = (struct memory){sp - own_stack.low < RED_ZONE ? own_stack.low : sp - RED_ZONE,
				    own_stack.high, own_stack.high};
	return true;
}

/* Steps by a row of another form: signal frames, realigned stacks, PLT entries. */
static bool step_full(struct walk *w, uint64_t pc)
{
	uint64_t sp = w->registers.value[CFI_RSP];
	struct cfi_row row;

	if (!read_row(pc, &row))
		return false;
	if (!w->exact)
		w->registers.known = 1u << CFI_RSP | 1u << CFI_RBP | 1u << CFI_PC;
	w->interrupted = row.is_signal_frame;
	w->rbp_at = 0;
	if (cfi_apply(&row, &w->registers, read_for_cfi, &w->memory) != 0)
		return false;
	return (row.is_signal_frame && return_to_own_stack(w)) || w->registers.value[CFI_RSP] > sp;
}

/* Puts the walk at `node`, after following the cache. */
static void arrive(struct walk *w, const struct frame_state *state)
{
	uint64_t *value = w->registers.value;

	if (state->pc == value[CFI_PC] && state->rsp == value[CFI_RSP])
		return; /* already there */
	value[CFI_PC] = state->pc;
	value[CFI_RSP] = state->rsp;
	w->rbp_at = state->rbp_at;
	read_word(&w->memory, w->rbp_at, &value[CFI_RBP]);
	w->exact = false;
}

/*
 * Follows the cache from here as far as it leads. Returns the node of the frame that the walk has
 * reached, or 0; `from` is the node of the frame before.
 */
static uint32_t recall(struct walk *w, uint32_t from, struct unwind_stack *stack)
{
	struct frame_state state = {.pc = w->registers.value[CFI_PC],
				    .rsp = w->registers.value[CFI_RSP],
				    .rbp_at = w->rbp_at};
	uint32_t node, first, count;

	if (!w->cache || w->interrupted || state.rbp_at == 0)
		return 0;
	node = unwind_cache_node(w->cache, &state);
	if (from)
		unwind_cache_set_next(w->cache, from, node);
	if (stack->count == 1)
		w->first = node;
	if (!node)
		return 0;
	count = stack->count;
	first = node;
	node = unwind_cache_follow(w->cache, node, stack->pcs, &stack->count, w->max, &state);
	if (w->sps)
		unwind_cache_read_sps(w->cache, first, w->sps + count, stack->count - count);
	arrive(w, &state);
	return node;
}

static void note_rule(struct walk *w, uint32_t node, uint64_t row)
{
	static const enum frame_rule rules[] = {
		[ROW_RSP] = FRAME_BY_RSP,           [ROW_RBP] = FRAME_BY_RBP,
		[ROW_AT_RBP] = FRAME_AT_RBP,        [ROW_OUTERMOST] = FRAME_OUTERMOST,
		[ROW_FRAME_POINTER] = FRAME_BY_RBP, [ROW_FULL] = FRAME_UNKNOWN,
		[ROW_NOWHERE] = FRAME_UNKNOWN,      [ROW_BEGINNING] = FRAME_UNKNOWN,
	};
	enum row_kind kind = (enum row_kind)(row >> 56);

	if (node)
		unwind_cache_set_rule(w->cache, node, rules[kind],
				      kind == ROW_FRAME_POINTER ? 16 : cfa_offset_of(row),
				      rbp_offset_of(row));
}

static bool step(struct walk *w, uint64_t row, uint64_t at)
{
	switch ((enum row_kind)(row >> 56)) {
	case ROW_RSP:
	case ROW_RBP:
	case ROW_AT_RBP:
		return step_simple(w, row);
	case ROW_FULL:
		return step_full(w, at);
	default:
		return step_frame_pointer(w);
	}
}

/*
 * Returns whether the pc is the kernel's trampoline. Tests cheaply first: return addresses are
 * rarely at a page's beginning.
 */
static inline bool is_hidden(const struct walk *w)
{
	uint64_t pc = w->registers.value[CFI_PC];

	return (pc & (PAGE - 1)) == 0 && !w->interrupted && code_ranges_begin_uprobes(pc);
}

/*
 * Steps over a kernel trampoline: the walk goes on at the hidden caller, or at that one's caller,
 * by the frame pointer. Such a stack is walked each time, as all callers have one trampoline.
 * Returns false if the walk leads nowhere.
 */
static __attribute__((noinline)) bool step_hidden(struct walk *w, struct unwind_stack *stack)
{
	uint64_t *value = w->registers.value, found;
	uint32_t last = --stack->count;
	const struct hidden_return hidden = {
		.trampoline = value[CFI_PC],
		.callee = last > 0 ? stack->pcs[last - 1] - 1 : 0,
		.sp = value[CFI_RSP],
		.rbp = value[CFI_RBP],
	};

	w->was_hidden = true;
	found = hidden_return_find(&hidden, read_for_cfi, &w->memory);
	if (found) {
		value[CFI_PC] = found;
		return true;
	}
	if (!step_frame_pointer(w))
		return false;
	stack->pcs[last] = hidden.trampoline + 1;
	stack->count++;
	return true;
}

static void walk(struct walk *w, struct unwind_stack *stack)
{
	uint32_t node = 0;

	while (stack->count < w->max) {
		uint64_t pc = w->registers.value[CFI_PC], at, row;

		if (pc == 0) {
			stack->is_whole = true; /* clone's and makecontext's stacks end in a zero */
			return;
		}
		if (w->sps)
			w->sps[stack->count] = w->registers.value[CFI_RSP];
		stack->pcs[stack->count++] = pc + w->interrupted; /* named by the byte before */
		node = recall(w, node, stack);
		if (node && unwind_cache_is_outermost(w->cache, node)) {
			stack->is_whole = true;
			return;
		}
		if (is_hidden(w)) {
			node = 0;
			if (!step_hidden(w, stack))
				return;
			continue;
		}
		/* a return address may lie after the end of its function */
		at = w->registers.value[CFI_PC] - !w->interrupted;
		w->interrupted = false;
		row = find_row(at);
		note_rule(w, node, row);
		if (row >> 56 == ROW_NOWHERE || row >> 56 == ROW_BEGINNING) {
			/* makecontext's return address is not a caller */
			stack->is_whole = row >> 56 == ROW_BEGINNING;
			stack->count--;
			return;
		}
		if (row >> 56 == ROW_OUTERMOST) {
			stack->is_whole = true;
			return;
		}
		if (row >> 56 == ROW_FULL)
			node = 0;
		if (!step(w, row, at))
			return;
	}
}

/* Learns how to recognize a stack that was walked to its end. */
static uint64_t learn(const struct walk *w, struct unwind_cache_thread *me, uint64_t frame)
{
	struct stack_fingerprint *words = unwind_cache_words(me, atomic_load(&unwind_generation));
	uint16_t offsets[STACK_FINGERPRINT_MOST];
	uint32_t count = 0;

	if (words && w->first)
		count = unwind_cache_read_words(w->cache, w->first, frame, offsets,
						STACK_FINGERPRINT_MOST);
	return count ? stack_fingerprint_learn(words, frame, offsets, count) : 0;
}

void unwind_recognized_again(struct unwind_cache_thread *me, const void *frame)
{
	me->is_in_use = true;
	stack_fingerprint_guessed(&me->words, (uint64_t)(uintptr_t)frame);
	me->is_in_use = false;
}

/*
 * Walks from `rbp`, the frame of the function that is called from outside. `learns`: the stack is
 * to be recognized later.
 */
static void walk_own(uint64_t rbp, struct unwind_stack *stack, uint64_t *sps, uint32_t max,
		     bool learns)
{
	struct walk w = {.exact = false, .sps = sps, .max = max};
	uint64_t *value;
	struct unwind_cache_thread *me = unwind_cache_thread();
	bool nested = me->is_in_use;

	stack->count = 0;
	stack->is_whole = false;
	stack->words = 0;
	if (!own_stack.known)
		find_own_stack();
	/* this file is built with frame pointers: [rbp] is the caller's rbp, [rbp + 8] its pc */
	value = w.registers.value;
	memcpy(&value[CFI_RBP], (const void *)(uintptr_t)rbp, 8);
	memcpy(&value[CFI_PC], (const void *)(uintptr_t)(rbp + 8), 8);
	value[CFI_RSP] = rbp + 16;
	w.rbp_at = rbp;
	w.registers.known = 1u << CFI_RSP | 1u << CFI_RBP | 1u << CFI_PC;
	me->is_in_use = true;
	if (rbp >= own_stack.low && rbp < own_stack.high) {
		w.memory = (struct memory){rbp, own_stack.high, own_stack.high};
		if (!nested)
			w.cache = unwind_cache_begin(me, own_stack.high,
						     atomic_load(&unwind_generation));
	} else {
		w.memory = foreign_stack(rbp, value[CFI_RBP]);
	}
	walk(&w, stack);
	if (learns && stack->is_whole && w.cache && !w.was_hidden)
		stack->words = learn(&w, me, rbp);
	me->is_in_use = nested;
}

__attribute__((noinline)) void unwind_own_stack(struct unwind_stack *stack, uint64_t *sps,
						uint32_t max)
{
	walk_own((uint64_t)(uintptr_t)__builtin_frame_address(0), stack, sps, max, false);
}

void unwind_from(const void *frame, struct unwind_stack *stack, uint64_t *sps)
{
	walk_own((uint64_t)(uintptr_t)frame, stack, sps, UNWIND_MAX_FRAMES, true);
}
