// SPDX-License-Identifier: MIT
#include "cupti_trace/unwind/hidden_return.h"

#include <stdbool.h>
#include <string.h>
#include "cupti_trace/core/readable.h"
#include "cupti_trace/unwind/code_ranges.h"
#include "cupti_trace/unwind/loaded_table.h"
#include "symbolize/call_site.h"

#define PAGE 4096u
/* Lowest address of code: most words are less. */
#define FIRST_ADDRESS 4096u
#define ADDRESS_END (UINT64_C(1) << 47)
#define STUB_HOPS 4u        /* limit of stubs that lead to stubs */
#define NEAR_WORDS 32u      /* words above a return address that may be a function's start */
#define JUMPING_BYTES 2048u /* limit of functions that are searched for jumps out of them */
#define CHUNK 256u          /* bytes of code read at a time */

#define PAGES_KNOWN 8u

/* Limits of one search. */
#define CALLERS_MOST 24u
#define TRAMPOLINES_MOST 4u
#define CALLERS_ABOVE_MOST 6u /* part of CALLERS_MOST, for callers of a hidden caller */
#define WORDS_ABOVE 1024u
#define FRAMES_ABOVE 16u /* frames above a caller that fits */
#define FUNCTIONS_MOST 96u
#define ROWS_MOST 96u
#define BYTES_MOST (128u << 10) /* bytes of code read */
#define TARGETS_MOST 768u       /* resolved targets of calls */

struct function {
	struct cfi_table table;
	uint64_t start, end;
};

struct search {
	const struct hidden_return *hidden;
	cfi_reader read;
	void *memory;
	struct function callee; /* its start is 0: unknown */
	uint32_t functions_left, rows_left, bytes_left, targets_left;
	uint64_t second_best;        /* 0: none */
	uint64_t pages[PAGES_KNOWN]; /* readable pages, hashed by their last bits; 0: none */
};

/* Registers of a function after the function it called has returned. */
struct frame {
	uint64_t sp, rbp;
};

/* A function's own return address, and its place on the stack. */
struct caller {
	uint64_t pc, at;
	struct frame frame; /* the function's */
};

/* ---- code ---- */

/* Returns whether a page can be read. Asks the kernel once a page. */
static bool can_read(struct search *s, uint64_t page)
{
	uint64_t *known = &s->pages[page / PAGE % PAGES_KNOWN];

	if (*known == page)
		return page != 0;
	if (!is_readable(page))
		return false;
	*known = page;
	return true;
}

/* Reads as many bytes from `address` on as possible, up to `size`. */
static size_t read_code(struct search *s, uint64_t address, uint8_t *to, size_t size)
{
	size_t done = 0;

	while (done < size) {
		uint64_t at = address + done;
		size_t left = PAGE - (at & (PAGE - 1));

		if (left > size - done)
			left = size - done;
		if (!can_read(s, at & ~(uint64_t)(PAGE - 1)))
			break;
		memcpy(to + done, (const void *)(uintptr_t)at, left);
		done += left;
	}
	return done;
}

static bool read_pointer(struct search *s, uint64_t address, uint64_t *value)
{
	return read_code(s, address, (uint8_t *)value, sizeof(*value)) == sizeof(*value);
}

/* Returns the target of a call of `target`, after stubs. */
static uint64_t follow_stubs(struct search *s, uint64_t target)
{
	for (uint32_t i = 0; i < STUB_HOPS && s->targets_left > 0; i++) {
		uint8_t code[CALL_STUB_BYTES];
		struct call_stub stub;
		uint64_t next;

		s->targets_left--;
		if (!code_ranges_have(target) ||
		    !call_site_read_stub(code, read_code(s, target, code, sizeof(code)), &stub))
			break;
		next = target + stub.length + (uint64_t)(int64_t)stub.displacement;
		if (stub.is_by_word && !read_pointer(s, next, &next))
			break;
		target = next;
	}
	return target;
}

static bool find_function(struct search *s, uint64_t pc, struct function *f)
{
	struct cfi_bounds bounds;

	if (s->functions_left == 0 || !loaded_table_find(pc, &f->table))
		return false;
	s->functions_left--;
	bounds = cfi_find_bounds(&f->table, pc);
	f->start = bounds.start;
	f->end = bounds.end;
	return bounds.is_function;
}

static bool find_at(struct search *s, uint64_t start, struct function *f)
{
	return find_function(s, start, f) && f->start == start;
}

/* Returns whether `from` may end with a jump to `to`. */
static bool may_go_on(struct search *s, const struct function *from, const struct function *to)
{
	uint8_t code[JUMPING_BYTES];
	size_t size = (size_t)(from->end - from->start);

	if (size > sizeof(code) || size > s->bytes_left)
		return true;
	s->bytes_left -= (uint32_t)size;
	if (read_code(s, from->start, code, size) < size)
		return true;
	return call_site_may_go_on(code, size, from->start, to->start, to->end,
				   from->table.index != to->table.index);
}

/* The instruction before an address. */
struct call {
	bool is_call;
	bool is_unknown; /* it may be a call through a register or a word */
	uint64_t target; /* otherwise: the called function */
};

static struct call read_call(struct search *s, uint64_t pc)
{
	uint8_t code[CALL_SITE_BYTES];
	struct call_site site;
	struct call call = {0};
	uint64_t target;

	if (pc < FIRST_ADDRESS || pc >= ADDRESS_END || !code_ranges_have(pc - 1) ||
	    read_code(s, pc - sizeof(code), code, sizeof(code)) < sizeof(code) ||
	    !call_site_read(code, sizeof(code), &site))
		return call;
	call.is_call = true;
	target = pc + (uint64_t)(int64_t)site.displacement;
	if (site.is_direct && code_ranges_have(target))
		call.target = follow_stubs(s, target);
	else if (site.is_by_word &&
		 read_pointer(s, pc + (uint64_t)(int64_t)site.word_displacement, &target) &&
		 code_ranges_have(target))
		call.target = follow_stubs(s, target);
	else if (site.is_indirect)
		call.is_unknown = true;
	else
		call.is_call = false;
	return call;
}

/* ---- whether a caller fits ---- */

/* Steps from `pc` of `f` to its caller's registers. Returns whether that is `caller`. */
static bool leads_to(struct search *s, const struct function *f, uint64_t pc,
		     const struct caller *caller, struct cfi_registers *registers)
{
	struct cfi_row row;

	if (s->rows_left == 0)
		return false;
	s->rows_left--;
	if (cfi_find_row(&f->table, pc - 1, &row) != 0 || row.is_signal_frame)
		return false;
	memset(registers, 0, sizeof(*registers));
	registers->value[CFI_RSP] = caller->frame.sp;
	registers->value[CFI_RBP] = caller->frame.rbp;
	registers->value[CFI_PC] = pc;
	registers->known = 1u << CFI_RSP | 1u << CFI_RBP | 1u << CFI_PC;
	return cfi_apply(&row, registers, s->read, s->memory) == 0 &&
	       registers->value[CFI_RSP] == caller->at + 8 &&
	       registers->value[CFI_PC] == caller->pc;
}

/*
 * Returns whether the function that returns to `pc` may be `f`: a call before it leads there, or
 * may do so.
 */
static bool may_return_to(struct search *s, const struct function *f, uint64_t pc)
{
	struct call call = read_call(s, pc);
	struct function other;

	if (!call.is_call) /* makecontext, though, leaves the start of a function */
		return find_at(s, pc, &other);
	return call.is_unknown || call.target == f->start || !find_at(s, call.target, &other) ||
	       may_go_on(s, &other, f);
}

/*
 * Returns whether the walk makes sense beyond. From a word left over from a finished call, it most
 * likely does not: it finds no return address, or one after a call of another function. If all
 * calls that led there are finished, it fails where it reaches frames of later calls.
 */
static bool goes_on(struct search *s, struct cfi_registers *registers)
{
	for (uint32_t i = 0; i < FRAMES_ABOVE; i++) {
		struct function f;
		struct cfi_row row;
		uint64_t pc = registers->value[CFI_PC];

		if (!find_function(s, pc - 1, &f) || cfi_find_row(&f.table, pc - 1, &row) != 0)
			return true; /* nothing speaks against it */
		if (row.is_signal_frame || cfi_apply(&row, registers, s->read, s->memory) != 0)
			return true;
		pc = registers->value[CFI_PC];
		if (pc == 0 || pc == s->hidden->trampoline)
			return true;
		if (!may_return_to(s, &f, pc))
			return false;
	}
	return true;
}

static bool fits(struct search *s, const struct function *f, uint64_t pc,
		 const struct caller *caller)
{
	struct cfi_registers registers;

	return pc != s->hidden->trampoline && leads_to(s, f, pc, caller, &registers) &&
	       goes_on(s, &registers);
}

/* ---- the caller's calls ---- */

/*
 * Returns the target of the call instruction at `code`, of which 8 bytes can be read; 0: no call,
 * or unknown target. `*pc` is its address, then the address after it.
 */
static uint64_t read_target(struct search *s, const uint8_t *code, uint64_t *pc)
{
	enum { CALL = 0xe8, GROUP_5 = 0xff, CALL_BY_WORD = 0x15 };
	uint64_t target;
	int32_t displacement;

	if ((code[0] != CALL && (code[0] != GROUP_5 || code[1] != CALL_BY_WORD)) ||
	    s->targets_left == 0)
		return 0;
	memcpy(&displacement, code + (code[0] == CALL ? 1 : 2), sizeof(displacement));
	*pc += code[0] == CALL ? 5 : 6;
	target = *pc + (uint64_t)(int64_t)displacement;
	if (code[0] == CALL)
		return target;
	s->targets_left--;
	return read_pointer(s, target, &target) ? target : 0;
}

static bool calls_callee(struct search *s, const uint8_t *code, uint64_t *pc)
{
	uint64_t target = read_target(s, code, pc);

	return target && (target == s->callee.start || follow_stubs(s, target) == s->callee.start);
}

/*
 * Returns whether the instruction may call the callee in an unknown way: through a register, or
 * through another function that jumps to it.
 */
static bool may_call_callee(struct search *s, const uint8_t *code, uint64_t *pc)
{
	size_t length = code[0] == 0xe8 ? 5 : call_site_indirect(code, CALL_SITE_BYTES);
	struct function f;
	struct call call;

	if (length == 0 || s->rows_left == 0)
		return false;
	*pc += length;
	call = read_call(s, *pc);
	return call.is_unknown || (call.is_call && s->callee.start && find_at(s, call.target, &f) &&
				   may_go_on(s, &f, &s->callee));
}

/* Returns the address after the call at `pc` of `f`, whose bytes are `code`; 0: it does not fit. */
typedef uint64_t try_call(struct search *s, const struct function *f, const struct caller *caller,
			  const uint8_t *code, uint64_t pc);

static uint64_t try_sure(struct search *s, const struct function *f, const struct caller *caller,
			 const uint8_t *code, uint64_t pc)
{
	return calls_callee(s, code, &pc) && pc <= f->end && fits(s, f, pc, caller) ? pc : 0;
}

static uint64_t try_possible(struct search *s, const struct function *f,
			     const struct caller *caller, const uint8_t *code, uint64_t pc)
{
	return may_call_callee(s, code, &pc) && pc <= f->end && fits(s, f, pc, caller) ? pc : 0;
}

/* Returns the result of `try` for the first call of `f` for which it is not 0. 0: there is none. */
static uint64_t find_call(struct search *s, const struct function *f, const struct caller *caller,
			  try_call *try)
{
	uint8_t code[CHUNK + 8] = {0};

	for (uint64_t at = f->start; at < f->end; at += CHUNK) {
		size_t size = f->end - at < CHUNK ? (size_t)(f->end - at) : CHUNK;
		size_t more = f->end - at - size < 8 ? (size_t)(f->end - at - size) : 8;

		if (s->bytes_left < size)
			return 0;
		s->bytes_left -= (uint32_t)size;
		if (read_code(s, at, code, size + more) < size + more)
			return 0;
		memset(code + size + more, 0, sizeof(code) - size - more);
		for (size_t i = 0; i < size; i++) {
			uint64_t found = 0;

			if (code[i] == 0xe8 || code[i] == 0xff)
				found = try(s, f, caller, code + i, at + i);
			if (found)
				return found;
		}
	}
	return 0;
}

/*
 * Returns whether another frame lies between, whose function was called from `f`. Then that frame
 * is hidden, and `f` is its caller.
 */
static bool is_above_another(struct search *s, const struct function *f, uint64_t end)
{
	for (uint64_t at = s->hidden->sp; at < end; at += 8) {
		uint64_t pc;

		if (s->read(s->memory, at, &pc) && pc > f->start && pc <= f->end &&
		    read_call(s, pc).is_call)
			return true;
	}
	return false;
}

/* Returns the hidden address if `f` is the caller; otherwise `f` may become the second best. */
static uint64_t try_function(struct search *s, const struct function *f,
			     const struct caller *caller)
{
	uint64_t pc = s->callee.start ? find_call(s, f, caller, try_sure) : 0;

	if (!pc && !s->second_best && !is_above_another(s, f, caller->at))
		s->second_best = find_call(s, f, caller, try_possible);
	return pc;
}

/*
 * Tries words near by: if the function was called through a register, its caller may have kept its
 * address there. That is weak evidence, so only a call of the very function that was left counts.
 */
static uint64_t try_words(struct search *s, const struct caller *caller)
{
	for (uint32_t i = 1; i <= NEAR_WORDS; i++) {
		struct function f;
		uint64_t word, pc;

		if (!s->read(s->memory, caller->at + i * UINT64_C(8), &word))
			return 0;
		if (word < FIRST_ADDRESS || word >= ADDRESS_END || !code_ranges_have(word) ||
		    !find_at(s, word, &f))
			continue;
		pc = find_call(s, &f, caller, try_sure);
		if (pc)
			return pc;
	}
	return 0;
}

/* Tries the caller of the call before `pc`, which is at `at`. */
static uint64_t try_caller(struct search *s, uint64_t at, uint64_t pc, const struct call *call)
{
	struct caller caller = {.pc = pc, .at = at, .frame = {s->hidden->sp, s->hidden->rbp}};
	struct function f;

	if (call->is_unknown && s->callee.start)
		return try_words(s, &caller);
	return find_at(s, call->target, &f) ? try_function(s, &f, &caller) : 0;
}

/* ---- where the caller's own return address is hidden as well ---- */

/*
 * Tries a call of a watched function that is the hidden caller. It must lead to the function that
 * was left, and its own return address must be in the kernel's place. Then the call at `pc` of `f`
 * is its caller's.
 */
static uint64_t try_watched(struct search *s, const struct function *f, const struct caller *caller,
			    const uint8_t *code, uint64_t pc)
{
	const uint8_t breakpoint = 0xcc;
	const struct caller hidden = {.pc = s->hidden->trampoline,
				      .at = caller->frame.sp - 8,
				      .frame = {s->hidden->sp, s->hidden->rbp}};
	struct caller above = *caller;
	struct cfi_registers registers;
	struct function watched;
	uint64_t target = read_target(s, code, &pc), found;
	uint8_t first;

	if (!target || pc > f->end || !code_ranges_have(target))
		return 0;
	target = follow_stubs(s, target);
	if (read_code(s, target, &first, 1) < 1 || first != breakpoint ||
	    !find_at(s, target, &watched))
		return 0;
	found = find_call(s, &watched, &hidden, try_sure);
	if (!found)
		found = find_call(s, &watched, &hidden, try_possible);
	if (!found || !leads_to(s, &watched, found, &hidden, &registers))
		return 0;
	above.frame.rbp = registers.value[CFI_RBP];
	return fits(s, f, pc, &above) ? found : 0;
}

/*
 * Searches for the caller by the kernel's address at `at`: the function whose return address should
 * be there.
 */
static uint64_t try_trampoline(struct search *s, uint64_t at)
{
	uint32_t callers_left = CALLERS_ABOVE_MOST;

	for (uint32_t i = 1; i <= WORDS_ABOVE && callers_left > 0; i++) {
		struct caller caller = {.at = at + i * UINT64_C(8), .frame = {.sp = at + 8}};
		struct function f;
		struct call call;
		uint64_t found;

		if (!s->read(s->memory, caller.at, &caller.pc))
			return 0;
		call = read_call(s, caller.pc);
		if (!call.is_call || call.is_unknown)
			continue;
		callers_left--;
		found = find_at(s, call.target, &f) ? find_call(s, &f, &caller, try_watched) : 0;
		if (found)
			return found;
	}
	return 0;
}

uint64_t hidden_return_find(const struct hidden_return *hidden, cfi_reader read, void *memory)
{
	struct search s = {.hidden = hidden,
			   .read = read,
			   .memory = memory,
			   .functions_left = FUNCTIONS_MOST,
			   .rows_left = ROWS_MOST,
			   .bytes_left = BYTES_MOST,
			   .targets_left = TARGETS_MOST};
	uint64_t at = hidden->sp, pc, found;
	struct call call;
	uint32_t callers_left = CALLERS_MOST, trampolines_left = TRAMPOLINES_MOST;

	if (!hidden->callee || !find_function(&s, hidden->callee, &s.callee))
		s.callee.start = 0;
	for (uint32_t i = 0; i < HIDDEN_RETURN_WORDS && callers_left > 0; i++, at += 8) {
		if (!read(memory, at, &pc))
			break;
		if (pc == hidden->trampoline && trampolines_left > 0) {
			trampolines_left--;
			found = s.callee.start ? try_trampoline(&s, at) : 0;
			if (found)
				return found;
			continue;
		}
		call = read_call(&s, pc);
		if (!call.is_call)
			continue;
		callers_left--;
		found = try_caller(&s, at, pc, &call);
		if (found)
			return found;
	}
	if (hidden->rbp >= at && read(memory, hidden->rbp + 8, &pc)) {
		call = read_call(&s, pc);
		found = call.is_call ? try_caller(&s, hidden->rbp + 8, pc, &call) : 0;
		if (found)
			return found;
	}
	return s.second_best;
}
