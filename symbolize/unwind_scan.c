// SPDX-License-Identifier: MIT
/*
 * Leaves code without call-frame information.
 *
 * Its return address lies somewhere above the stack pointer, and is the address behind a call. But
 * earlier calls have left such addresses, too, in memory that was not overwritten. So candidates
 * are tried: the walk must continue from each. The best one is, in this order,
 *
 *  - behind a direct call of the function that the pc is in;
 *  - one from which the walk reaches the start of a thread;
 *  - not behind a direct call of another function, which does not jump to this one;
 *  - one whose walk has no such call before it joins the walk of the other candidate;
 *  - where rbp points, unless rbp is the frame pointer of the other candidate's function;
 *  - the lowest, as higher ones may be its callers.
 *
 * If another candidate is as good, and the walk does not pass it, two answers fit. A candidate in
 * the chosen function with the chosen caller does not count.
 */
#include "symbolize/unwind_private.h"

#include "symbolize/call_site.h"

#define SCAN_BYTES 65536u /* kernels of matrix products have buffers of this size on the stack */
#define TRIAL_BYTES 8192u /* within a trial */
#define RIVAL_BYTES 4096u /* distance above a good candidate in which others are searched */
#define NEAR_BASE 512u    /* stack of the C library's first functions, and more */
#define CANDIDATES_MAX 16u
#define GAP_SURE 65536u     /* a gap that is one piece of assembler */
#define FUNCTION_NEAR 4096u /* reach of a function in a larger gap */
#define REST_MAX 64u        /* end of a function behind its description */
/* Range of addresses of code: most words are outside. */
#define FIRST_ADDRESS 4096u
#define ADDRESS_END (UINT64_C(1) << 56)
#define SAVED_RBP_BYTES 512u /* distance below the return address in which rbp may be saved */
#define RBP_TRIALS 8u
#define JUMPING_BYTES 2048u /* size of functions that are searched for jumps out of them */
#define PATH_MAX_STEPS 64u
#define BEFORE_ARGUMENTS 4u /* words */
#define POINTERS_ENOUGH 64u /* arguments or variables of the environment */

/* Code before an address that may be a return address. */
struct call {
	bool is_unreadable; /* code of no file: anything is possible */
	bool is_call;
	bool is_of_callee; /* a direct call of the function that is being left */
	bool is_by_symbol; /* a direct call of that function, whose start is known by its symbol */
	bool is_of_other;  /* a direct call of another function */
};

struct caller {
	struct frame_place place;
	struct call call;
	uint64_t at; /* address of the return address */
	bool has_row, is_by_rbp;
	bool reaches_start;
	bool is_rbp_guessed;
	bool needs_register; /* the trial ended for want of a register */
	bool is_by_rbp_only; /* the trial needed no search */
	bool is_passed;      /* another trial passed it */
	uint32_t steps;      /* steps of the trial */
	/* addresses of the return addresses of the trial, as far as there is room */
	uint64_t path[PATH_MAX_STEPS];
	uint64_t broken_at;  /* first of these whose call is of another function; 0: none */
	uint32_t unreadable; /* possible return addresses below */
};

static uint64_t stack_end(const struct walk *w)
{
	return w->memory.start + (w->memory.size & ~(size_t)7);
}

/* ---- calls ---- */

static struct code_ref byte_of(const struct frame_place *place)
{
	struct code_ref code = place->code;

	if (place->is_return && code.offset > 0)
		code.offset--;
	return code;
}

/*
 * Returns whether `target` is the beginning of the function with the pc, which has no information.
 * Decides by its symbol; otherwise accepts any place before the pc in one piece of assembler. The C
 * library's clone has information up to its system call only: behind, it would be wrong in the
 * child.
 */
static bool is_callee(struct walk *w, struct code_ref target, const struct frame_place *callee,
		      bool *is_by_symbol)
{
	struct code_ref pc = byte_of(callee);
	struct cfi_bounds bounds = symbolizer_cfi_bounds(w->s, pc), function;
	uint64_t most = bounds.end - bounds.start <= GAP_SURE ? GAP_SURE : FUNCTION_NEAR, start;

	*is_by_symbol = symbolizer_cfi_symbol(w->s, pc, &start);
	if (*is_by_symbol)
		return target.module == pc.module && target.offset == start;
	if (target.module == pc.module && bounds.end - bounds.start <= REST_MAX) {
		function = symbolizer_cfi_bounds(w->s, target);
		if (function.is_function && function.start == target.offset &&
		    function.end == bounds.start)
			return true;
	}
	return target.module == pc.module && target.offset >= bounds.start &&
	       target.offset <= pc.offset && pc.offset - target.offset < most;
}

/* Returns whether the function at `target` may go on in `callee` by a jump. */
static bool may_jump(struct walk *w, struct code_ref target, struct cfi_bounds function,
		     const struct frame_place *callee, struct cfi_bounds to)
{
	uint8_t code[JUMPING_BYTES];
	uint64_t size = function.end - function.start;

	if (size > sizeof(code))
		return true;
	target.offset = function.start;
	if (!symbolizer_read_code(w->s, target, code, (size_t)size))
		return true;
	return call_site_may_go_on(code, (size_t)size, function.start, to.start, to.end,
				   target.module != callee->code.module);
}

/*
 * Returns whether `target` is another function than that of `callee`, and does not jump there
 * either.
 */
static bool is_other(struct walk *w, struct code_ref target, const struct frame_place *callee)
{
	struct cfi_bounds function = symbolizer_cfi_bounds(w->s, target);
	struct cfi_bounds to = symbolizer_cfi_bounds(w->s, byte_of(callee));
	uint8_t code[CALL_STUB_BYTES];

	if (target.module == callee->code.module && target.offset >= to.start &&
	    target.offset < to.end)
		return !to.is_function && target.offset > callee->code.offset;
	if (!function.is_function || !symbolizer_read_code(w->s, target, code, sizeof(code)))
		return false;
	return !call_site_is_stub(code, sizeof(code)) && !may_jump(w, target, function, callee, to);
}

/* Reads the call before `place`. `callee`: the frame that the call would lead to. */
static struct call read_call(struct walk *w, const struct frame_place *place,
			     const struct frame_place *callee)
{
	struct call call = {0};
	struct code_ref at = place->code, target = place->code;
	uint8_t code[CALL_SITE_BYTES];
	struct call_site site;
	size_t size = at.offset < sizeof(code) ? (size_t)at.offset : sizeof(code);

	if (place->is_outside)
		return call;
	at.offset -= size;
	if (!symbolizer_read_code(w->s, at, code, size)) {
		call.is_unreadable = true;
		return call;
	}
	call_site_read(code, size, &site);
	target.offset += (uint64_t)(int64_t)site.displacement;
	if (site.is_direct && symbolizer_cfi_bounds(w->s, target).end == 0)
		site.is_direct = false; /* out of the file's code */
	call.is_call = site.is_direct || site.is_indirect;
	if (site.is_direct) {
		call.is_of_callee = is_callee(w, target, callee, &call.is_by_symbol);
		call.is_of_other =
			!call.is_of_callee && !site.is_indirect && is_other(w, target, callee);
	}
	return call;
}

bool unwind_is_beginning(struct walk *w, const struct frame_place *place)
{
	struct cfi_bounds bounds = {0};

	if (place->is_return && !place->is_outside)
		bounds = symbolizer_cfi_bounds(w->s, place->code);
	return bounds.is_function && bounds.start == place->code.offset &&
	       !read_call(w, place, place).is_call;
}

/*
 * Skips addresses of higher places, and the zero behind them. Ends early at the end of the copy, or
 * after POINTERS_ENOUGH. Returns the number of words; 0: a word is no such address.
 */
static uint32_t pass_pointers(struct walk *w, uint64_t at)
{
	uint32_t n = 0;
	uint64_t word;

	while (n < POINTERS_ENOUGH && unwind_read_stack(&w->memory, at + 8 * n, &word) &&
	       word != 0) {
		if (word <= at || word >= ADDRESS_END)
			return 0;
		n++;
	}
	return n + 1;
}

/*
 * Searches for the number of arguments before them, unless it was popped. Two words may have been
 * pushed.
 */
bool unwind_is_entry(struct walk *w, const struct frame_place *place)
{
	uint64_t at = (place->registers.value[CFI_RSP] + 7) & ~UINT64_C(7);
	bool ran_out = w->memory.ran_out, is_entry = false;

	if (place->is_outside || !symbolizer_cfi_is_entry(w->s, byte_of(place)))
		return false;
	for (uint32_t i = 0; i < BEFORE_ARGUMENTS && !is_entry; i++, at += 8) {
		uint32_t n = pass_pointers(w, at);

		is_entry = n > 1 && pass_pointers(w, at + 8 * n) > 0;
	}
	w->memory.ran_out = ran_out;
	return is_entry;
}

/* ---- steps without certainty ---- */

/* Returns the place that a word of the stack leads to, if the word is a return address. */
static struct frame_place place_at(struct walk *w, uint64_t at, uint64_t pc)
{
	struct frame_place place = {.is_return = true};

	place.registers.value[CFI_PC] = pc;
	place.registers.value[CFI_RSP] = at + 8;
	place.registers.known = 1u << CFI_PC | 1u << CFI_RSP;
	unwind_locate_quietly(w, &place);
	return place;
}

static void set_rbp(struct frame_place *place, uint64_t rbp)
{
	place->registers.value[CFI_RBP] = rbp;
	place->registers.known |= 1u << CFI_RBP;
}

/* Finds the caller by rbp as a frame pointer: it points at the saved rbp and the return address. */
static bool find_by_rbp(struct walk *w, const struct frame_place *place, struct caller *caller)
{
	const struct cfi_registers *r = &place->registers;
	uint64_t rbp = r->value[CFI_RBP], saved, pc;

	if (!(r->known & 1u << CFI_RBP) || rbp < r->value[CFI_RSP] || (rbp & 7) ||
	    !unwind_read_stack(&w->memory, rbp, &saved) ||
	    !unwind_read_stack(&w->memory, rbp + 8, &pc))
		return false;
	*caller = (struct caller){
		.place = place_at(w, rbp + 8, pc), .at = rbp + 8, .is_by_rbp = true};
	set_rbp(&caller->place, saved);
	if (pc == 0)
		return saved == 0; /* the ABI marks the deepest frame so */
	caller->call = read_call(w, &caller->place, place);
	return caller->call.is_call || caller->call.is_unreadable;
}

/*
 * Finds the next word that may be a return address. `at`: first address to examine, then that of
 * the word.
 */
static bool find_word(struct walk *w, const struct frame_place *callee, uint64_t *at,
		      uint64_t limit, uint32_t *words_left, struct caller *caller)
{
	for (; *at < limit; *at += 8) {
		struct frame_place place;
		uint64_t pc;

		if (*words_left == 0)
			return false;
		(*words_left)--;
		if (!unwind_read_stack(&w->memory, *at, &pc))
			return false;
		if (pc < FIRST_ADDRESS || pc >= ADDRESS_END)
			continue;
		place = place_at(w, *at, pc);
		if (place.is_outside)
			continue;
		*caller = (struct caller){.place = place, .at = *at};
		caller->call = read_call(w, &place, callee);
		if (caller->call.is_call || caller->call.is_unreadable)
			return true;
	}
	return false;
}

static bool is_near_base(const struct walk *w, const struct frame_place *place)
{
	uint64_t rsp = place->registers.value[CFI_RSP];

	return w->has_base && place->by_row && stack_end(w) - rsp <= NEAR_BASE;
}

/*
 * Steps within a trial: by the frame pointer if it leads to a call, otherwise by the next word
 * behind a call.
 */
static enum step try_without_row(struct walk *w, struct frame_place *place, struct caller *tried)
{
	uint64_t at = (place->registers.value[CFI_RSP] + 7) & ~UINT64_C(7), end = stack_end(w);
	uint64_t limit = at < end && end - at > TRIAL_BYTES ? at + TRIAL_BYTES : end;
	struct caller next;

	if (find_by_rbp(w, place, &next)) {
		*place = next.place;
		return STEP_ON;
	}
	tried->is_by_rbp_only = false;
	if (is_near_base(w, place))
		return STEP_START;
	if (place->code.module == MODULE_JIT)
		return STEP_CUT;
	while (find_word(w, place, &at, limit, &w->trial_words_left, &next)) {
		if (next.call.is_call) {
			*place = next.place;
			return STEP_ON;
		}
		at += 8;
	}
	return at >= end && w->has_base ? STEP_START : STEP_CUT;
}

static enum step try_step(struct walk *w, struct frame_place *place, struct caller *tried)
{
	const struct cfi_row *row;
	enum unwind_end why = UNWIND_NOT_CODE;
	enum step step;

	if (w->steps_left == 0 || !symbolizer_has_rows(w->s))
		return STEP_CUT;
	w->steps_left--;
	/* memory is full of zeros, which mean something only at the end of a stack */
	if (place->registers.value[CFI_PC] == 0)
		return is_near_base(w, place) ? STEP_START : STEP_CUT;
	unwind_locate_quietly(w, place);
	if (place->is_outside)
		return STEP_CUT;
	row = symbolizer_cfi_row(w->s, place->code, place->is_return);
	if (!row && (unwind_is_beginning(w, place) || unwind_is_entry(w, place)))
		return STEP_START;
	if (!row)
		return try_without_row(w, place, tried);
	step = unwind_by_row(w, row, place, &why);
	tried->needs_register = why == UNWIND_UNREADABLE;
	return step;
}

/* Returns whether signal handlers return to this place, which nothing has called. */
static bool is_restorer(struct walk *w, const struct frame_place *place)
{
	const struct cfi_row *row =
		place->is_outside ? NULL : symbolizer_cfi_row(w->s, place->code, place->is_return);

	return row && row->is_signal_frame;
}

/*
 * Checks the result of a step of a trial. The first step must lead behind a call, to the start of a
 * stack, or to a signal's restorer. In later steps, notes a call that cannot have led to the frame
 * left.
 */
static bool check_step(struct walk *w, struct caller *c, const struct frame_place *from,
		       struct frame_place *to)
{
	uint64_t at = to->registers.value[CFI_RSP] - 8;
	struct call call;

	if (c->steps >= PATH_MAX_STEPS)
		return true;
	c->path[c->steps] = at;
	if (!to->is_return || to->registers.value[CFI_PC] == 0)
		return true;
	unwind_locate_quietly(w, to);
	call = read_call(w, to, from);
	if (call.is_of_other && !c->broken_at)
		c->broken_at = at;
	return c->steps > 0 || call.is_call || call.is_unreadable || unwind_is_beginning(w, to) ||
	       is_restorer(w, to);
}

/* Continues the walk from a candidate. Notes which `others` the walk passes. */
static void walk_on(struct walk *w, struct caller *c, struct caller *others, uint32_t count)
{
	uint64_t stack = w->memory.start;
	struct frame_place place = c->place, from = c->place;
	enum step step;

	c->steps = 0;
	c->broken_at = 0;
	c->needs_register = false;
	c->is_by_rbp_only = true;
	c->reaches_start = c->is_by_rbp && c->place.registers.value[CFI_PC] == 0;
	if (c->reaches_start)
		return;
	while ((step = try_step(w, &place, c)) == STEP_ON) {
		if (!check_step(w, c, &from, &place))
			return;
		c->steps++;
		for (uint32_t i = 0; i < count; i++)
			others[i].is_passed |= others[i].at == place.registers.value[CFI_RSP] - 8;
		from = place;
	}
	c->reaches_start = step == STEP_START;
	/* candidates above belong to the start of the thread */
	for (uint32_t i = 0; i < count && c->reaches_start && w->memory.start == stack; i++)
		others[i].is_passed |= others[i].at >= place.registers.value[CFI_RSP];
}

/* Tries a candidate. The walk stays on its stack, wherever the trial goes. */
static void try_out(struct walk *w, struct caller *c, struct caller *others, uint32_t count)
{
	struct stack_memory memory = w->memory, interrupted = w->interrupted;
	bool has_base = w->has_base, ran_out;

	walk_on(w, c, others, count);
	ran_out = w->memory.ran_out;
	w->memory = memory;
	w->memory.ran_out = ran_out;
	w->interrupted = interrupted;
	w->has_base = has_base;
}

/* ---- choosing ---- */

/*
 * Adds a value that rbp may have had in the caller, whose frame is above `at`: sorted, without
 * duplicates.
 */
static void add_rbp(const struct walk *w, uint64_t at, uint64_t rbp, uint64_t *values,
		    uint32_t *count)
{
	uint32_t i = *count;

	if (rbp <= at || rbp >= stack_end(w) || (rbp & 7) || *count == RBP_TRIALS)
		return;
	for (uint32_t k = 0; k < *count; k++)
		if (values[k] == rbp)
			return;
	for (; i > 0 && values[i - 1] > rbp; i--)
		values[i] = values[i - 1];
	values[i] = rbp;
	(*count)++;
}

/*
 * Lists possible values of the caller's rbp: the register, and words near the return address in the
 * frame that is left.
 */
static uint32_t list_rbp(struct walk *w, const struct frame_place *callee, uint64_t at,
			 uint64_t *values)
{
	uint64_t rsp = callee->registers.value[CFI_RSP], rbp;
	uint32_t count = 0;

	if (callee->registers.known & 1u << CFI_RBP)
		add_rbp(w, at, callee->registers.value[CFI_RBP], values, &count);
	for (uint64_t k = 8; k <= at - rsp && k <= SAVED_RBP_BYTES; k += 8)
		if (unwind_read_stack(&w->memory, at - k, &rbp))
			add_rbp(w, at, rbp, values, &count);
	return count;
}

/*
 * Tries a candidate; if its rbp is needed, with each possible value. The lowest value that leads on
 * is the caller's, and others are its callers': otherwise there are two answers.
 */
static void try_with_rbp(struct walk *w, const struct frame_place *callee, struct caller *c)
{
	struct caller passed[RBP_TRIALS] = {0}, best;
	uint64_t values[RBP_TRIALS];
	uint32_t count;

	try_out(w, c, NULL, 0);
	if (c->reaches_start || !c->needs_register)
		return;
	best = *c;
	count = list_rbp(w, callee, c->at, values);
	for (uint32_t i = 0; i < count; i++)
		passed[i].at = values[i] + 8;
	for (uint32_t i = 0; i < count; i++) {
		bool is_first = !best.reaches_start;

		set_rbp(&c->place, values[i]);
		try_out(w, c, passed, is_first ? count : 0);
		if (c->reaches_start && !is_first)
			best.is_rbp_guessed |= !passed[i].is_passed;
		else if (c->reaches_start || c->steps > best.steps)
			best = *c;
	}
	*c = best;
}

static int rank(const struct caller *c)
{
	return 4 * c->call.is_of_callee + 2 * c->reaches_start + !c->call.is_of_other;
}

static bool fits(const struct caller *c)
{
	return c->reaches_start || c->steps > 0 || (c->call.is_of_callee && c->call.is_by_symbol);
}

struct search {
	struct caller callers[CANDIDATES_MAX];
	uint32_t count;
	uint32_t calls, calls_with_row, unreadable; /* words found */
	bool is_complete;                           /* the whole stack above was searched */
};

/* Keeps a candidate, if necessary instead of the last worse one. */
static void keep(struct search *search, const struct caller *c)
{
	if (search->count < CANDIDATES_MAX) {
		search->callers[search->count++] = *c;
		return;
	}
	for (uint32_t i = CANDIDATES_MAX; i-- > 0;) {
		const struct caller *other = &search->callers[i];

		if (rank(other) < rank(c) ||
		    (rank(other) == rank(c) && other->broken_at && !c->broken_at)) {
			search->callers[i] = *c;
			return;
		}
	}
}

static uint32_t path_length(const struct caller *c)
{
	return c->steps < PATH_MAX_STEPS ? c->steps : PATH_MAX_STEPS;
}

/* Returns whether the walk from `c` was broken before it joined the walk from `other`. */
static bool is_refuted(const struct caller *c, const struct caller *other)
{
	if (!c->broken_at)
		return false;
	for (uint32_t i = 0; i < path_length(c) && c->path[i] < c->broken_at; i++) {
		if (c->path[i] == other->at)
			return false;
		for (uint32_t k = 0; k < path_length(other); k++)
			if (c->path[i] == other->path[k])
				return false;
	}
	return true;
}

/* Returns whether a candidate is good enough to stop the search. */
static bool is_good(const struct caller *c)
{
	return c->call.is_of_callee || (c->reaches_start && !c->broken_at && !c->call.is_of_other);
}

static void search_stack(struct walk *w, const struct frame_place *callee, struct search *search)
{
	uint64_t at = (callee->registers.value[CFI_RSP] + 7) & ~UINT64_C(7), end = stack_end(w);
	uint64_t limit = at < end && end - at > SCAN_BYTES ? at + SCAN_BYTES : end;
	uint64_t by_rbp = search->count ? search->callers[0].at : 0;
	struct caller c;

	for (; find_word(w, callee, &at, limit, &w->words_left, &c); at += 8) {
		if (!c.call.is_call) {
			search->unreadable++;
			continue;
		}
		c.unreadable = search->unreadable;
		c.has_row = symbolizer_cfi_row(w->s, c.place.code, true) != NULL;
		search->calls++;
		search->calls_with_row += c.has_row;
		if (at == by_rbp)
			continue;
		try_with_rbp(w, callee, &c);
		if (fits(&c))
			keep(search, &c);
		if (fits(&c) && is_good(&c) && limit - at > RIVAL_BYTES)
			limit = at + RIVAL_BYTES;
	}
	search->is_complete = at >= end;
}

/* Returns whether no caller is on the stack, or only the C library's own start. */
static bool is_start(const struct walk *w, const struct frame_place *place,
		     const struct search *search)
{
	if (!w->has_base || !search->is_complete || search->unreadable > 0)
		return false;
	return search->calls == 0 || (search->calls_with_row == 0 && is_near_base(w, place));
}

/*
 * Returns whether rbp is the frame pointer of `c`'s function, by its call-frame information. If so,
 * rbp is not that of the function left.
 */
static bool owns_rbp(const struct caller *c, const struct caller *by_rbp)
{
	return c->has_row && c->steps > 0 && c->path[0] == by_rbp->at;
}

static bool is_better(const struct caller *c, const struct caller *than)
{
	if (rank(c) != rank(than))
		return rank(c) > rank(than);
	if (than->is_by_rbp)
		return owns_rbp(c, than);
	if (c->is_by_rbp)
		return !owns_rbp(than, c);
	if (is_refuted(c, than) != is_refuted(than, c))
		return is_refuted(than, c);
	return c->at < than->at;
}

static struct caller *choose(struct search *search)
{
	struct caller *best = NULL;

	for (uint32_t i = 0; i < search->count; i++)
		if (!best || is_better(&search->callers[i], best))
			best = &search->callers[i];
	return best;
}

/*
 * Returns whether two calls are in one function with one caller: one call is over, but the stack is
 * equal.
 */
static bool is_same_caller(struct walk *w, const struct caller *a, const struct caller *b)
{
	return a->place.code.module == b->place.code.module && a->steps > 0 && b->steps > 0 &&
	       a->path[0] == b->path[0] &&
	       symbolizer_cfi_bounds(w->s, byte_of(&a->place)).start ==
		       symbolizer_cfi_bounds(w->s, byte_of(&b->place)).start;
}

/* Returns whether other candidates are as good as the chosen one. */
static bool has_rival(struct walk *w, const struct frame_place *callee, struct search *search,
		      struct caller *chosen)
{
	bool is_top = !callee->is_return && chosen->at == callee->registers.value[CFI_RSP];
	struct caller again = *chosen;

	/* memory below a frame that code maintains is its own data */
	if (search->count < 2 || chosen->is_by_rbp)
		return false;
	try_out(w, &again, search->callers, search->count);
	for (uint32_t i = 0; i < search->count; i++) {
		const struct caller *c = &search->callers[i];

		if (c == chosen || is_same_caller(w, c, chosen) ||
		    (is_refuted(c, chosen) && !is_refuted(chosen, c)))
			continue;
		if (rank(c) == rank(chosen) && (!c->is_passed || (c->is_by_rbp && !is_top)))
			return true;
		/* trials from code without information end for many reasons */
		if (rank(c) == rank(chosen) - 2 && c->at < chosen->at && !c->has_row)
			return true;
	}
	return false;
}

/*
 * Returns whether the choice is a guess. Code of no file may have such callers, whose calls cannot
 * be recognized.
 */
static bool is_guess(struct walk *w, const struct frame_place *callee, struct search *search,
		     struct caller *chosen)
{
	bool is_only = w->has_base && search->is_complete && search->calls == 1;

	if (chosen->is_rbp_guessed || has_rival(w, callee, search, chosen))
		return true;
	if (chosen->is_by_rbp || chosen->call.is_of_callee)
		return false;
	return chosen->unreadable > 0 || callee->code.module == MODULE_JIT ||
	       (!chosen->has_row && !is_only);
}

static enum step take(struct walk *w, struct frame_place *place, const struct caller *c)
{
	w->trusts_rbp = c->is_by_rbp && c->reaches_start && c->is_by_rbp_only;
	*place = c->place;
	return STEP_ON;
}

/* ---- hints ---- */

/*
 * Finds the hint for a place. A piece of assembler has one frame size, but for its beginning and
 * end.
 */
static struct scan_hint *hint_for(struct walk *w, const struct frame_place *place,
				  struct code_ref *callee)
{
	struct cfi_bounds bounds;

	*callee = byte_of(place);
	bounds = symbolizer_cfi_bounds(w->s, *callee);
	if (bounds.end - bounds.start <= GAP_SURE)
		callee->offset = bounds.start;
	return symbolizer_scan_hint(w->s, *callee);
}

static bool is_same_code(struct code_ref a, struct code_ref b)
{
	return a.module == b.module && a.process == b.process && a.offset == b.offset;
}

static void remember(struct walk *w, const struct frame_place *place, const struct caller *c,
		     bool is_guess)
{
	struct code_ref callee;
	struct scan_hint *hint = hint_for(w, place, &callee);

	if (hint && (c->reaches_start || c->call.is_of_callee))
		*hint = (struct scan_hint){.callee = callee,
					   .caller = c->place.code,
					   .distance = c->at - place->registers.value[CFI_RSP],
					   .is_by_rbp = c->is_by_rbp,
					   .is_sure = c->call.is_of_callee,
					   .is_guess = is_guess};
}

/* Finds the caller by a hint, if the return address is in its place and leads to a start. */
static bool recall(struct walk *w, const struct frame_place *place, struct caller *c)
{
	struct code_ref callee;
	const struct scan_hint *hint = hint_for(w, place, &callee);
	uint64_t at, pc;

	if (!hint || hint->caller.module == MODULE_UNKNOWN || !is_same_code(hint->callee, callee))
		return false;
	at = place->registers.value[CFI_RSP] + hint->distance;
	if (hint->is_by_rbp) {
		if (!find_by_rbp(w, place, c) || !is_same_code(c->place.code, hint->caller))
			return false;
		try_out(w, c, NULL, 0);
	} else {
		if (!unwind_read_stack(&w->memory, at, &pc))
			return false;
		*c = (struct caller){.place = place_at(w, at, pc), .at = at};
		if (!is_same_code(c->place.code, hint->caller))
			return false;
		try_with_rbp(w, place, c);
	}
	if (!c->reaches_start && (!hint->is_sure || !fits(c)))
		return false;
	w->is_guessed |= hint->is_guess;
	return true;
}

enum step unwind_without_row(struct walk *w, struct frame_place *place, enum unwind_end *why)
{
	struct search search;
	struct caller *by_rbp = &search.callers[0], *chosen;
	bool is_unreadable = place->code.module == MODULE_JIT, is_guessed;

	search.count = 0;
	search.calls = search.calls_with_row = search.unreadable = 0;
	w->memory.ran_out = false;
	if (w->trusts_rbp && find_by_rbp(w, place, by_rbp)) {
		*place = by_rbp->place;
		return STEP_ON;
	}
	if (!is_unreadable && recall(w, place, by_rbp))
		return take(w, place, by_rbp);
	if (find_by_rbp(w, place, by_rbp)) {
		try_out(w, by_rbp, NULL, 0);
		if (fits(by_rbp) && (by_rbp->call.is_of_callee || is_unreadable))
			return take(w, place, by_rbp);
		search.count = fits(by_rbp);
	}
	*why = w->memory.ran_out ? UNWIND_SHORT_COPY : UNWIND_NO_INFORMATION;
	search_stack(w, place, &search);
	if (is_start(w, place, &search))
		return STEP_START;
	chosen = choose(&search);
	if (!chosen)
		return STEP_CUT;
	is_guessed = is_guess(w, place, &search, chosen);
	w->is_guessed |= is_guessed;
	if (!is_unreadable)
		remember(w, place, chosen, is_guessed);
	return take(w, place, chosen);
}
