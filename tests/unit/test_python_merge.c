/* SPDX-License-Identifier: MIT */
/*
 * Merging native and Python frames. Stacks are written innermost first. Native frames are letters:
 * '.' other, 'i' the interpreter's, 'E' its loop, 't' a trampoline. Python frames are 'p', and 'P'
 * for a frame that entered a loop. A result names native frames by their letter and Python frames
 * by digits. A leading '?' marks an unknown order.
 *
 * A model is a thread that calls, enters loops, and switches between greenlets, interpreters and
 * stacks. For random stacks, the model knows each frame's place.
 */
#include "unit.h"
#include "symbolize/python_merge.h"

#define MOST 64

/* Default distance of frames in bytes; the first is at FIRST_SP. */
#define FRAME_BYTES 64
#define FIRST_SP 0x7ffc00000000u

struct merged_text {
	const char *natives, *pythons;
	bool whole, keeps, has_handlers;
	uint32_t max;
	/*
	 * For each native frame 'A' if a Python entry is anchored there, in order; 'x': in none.
	 * NULL: no anchors.
	 */
	const char *anchors;
	bool elsewhere; /* the anchors that `anchors` does not have are on another stack */
};

static void set_anchors(const struct merged_text *t, struct python_stack *python)
{
	const char *at = t->anchors;
	/* further in than the others: on the stack, but in no frame that is left */
	uint64_t other = t->elsewhere ? 0x1000 : FIRST_SP + 8;

	for (uint32_t i = 0; i < python->count; i++) {
		if (!python->frames[i].is_entry)
			continue;
		at = at ? strpbrk(at, "Ax") : NULL;
		python->frames[i].anchor =
			at && *at == 'A' ? FIRST_SP + FRAME_BYTES * (uint64_t)(at - t->anchors) + 24
					 : other;
		at = at ? at + 1 : NULL;
	}
}

static const char *merge_text(const struct merged_text *t)
{
	static char text[MOST + 2];
	static struct python_stack python;
	struct python_merged out[MOST];
	uint64_t sps[MOST];
	uint8_t kinds[MOST];
	struct python_merge_input in = {.natives = kinds,
					.sps = t->anchors ? sps : NULL,
					.native_count = (uint32_t)strlen(t->natives),
					.native_is_whole = t->whole,
					.keeps_native = t->keeps,
					.has_handlers = t->has_handlers,
					.python = &python};
	bool is_ordered;
	char *to = text;
	uint32_t n;

	python.count = (uint32_t)strlen(t->pythons);
	python.is_whole = t->whole;
	for (uint32_t i = 0; i < python.count; i++)
		python.frames[i] = (struct python_frame){.is_entry = t->pythons[i] == 'P'};
	if (t->anchors)
		set_anchors(t, &python);
	for (uint32_t i = 0; i < in.native_count; i++) {
		sps[i] = FIRST_SP + FRAME_BYTES * i;
		kinds[i] = t->natives[i] == 'E'   ? PYTHON_NATIVE_LOOP
			   : t->natives[i] == 'i' ? PYTHON_NATIVE_INTERPRETER
			   : t->natives[i] == 't' ? PYTHON_NATIVE_TRAMPOLINE
						  : PYTHON_NATIVE_OTHER;
	}
	n = python_merge(&in, out, t->max, &is_ordered);
	assert_true(n <= t->max);
	if (!is_ordered)
		*to++ = '?';
	for (uint32_t i = 0; i < n; i++)
		*to++ = out[i].is_python ? (char)('0' + out[i].index) : t->natives[out[i].index];
	*to = '\0';
	return text;
}

#define TEXT(...) merge_text(&(struct merged_text){.max = MOST, __VA_ARGS__})
#define MERGED(n, p) TEXT(.natives = (n), .pythons = (p), .whole = true)
#define CUT(n, p) TEXT(.natives = (n), .pythons = (p))
#define KEPT(n, p) TEXT(.natives = (n), .pythons = (p), .whole = true, .keeps = true)
/* with anchors */
#define AT(n, a, p) TEXT(.natives = (n), .anchors = (a), .pythons = (p), .whole = true)
#define CUT_AT(n, a, p) TEXT(.natives = (n), .anchors = (a), .pythons = (p))
#define ELSEWHERE(n, a, p) \
	TEXT(.natives = (n), .anchors = (a), .pythons = (p), .whole = true, .elsewhere = true)
#define HANDLED(n, a, p) \
	TEXT(.natives = (n), .anchors = (a), .pythons = (p), .whole = true, .has_handlers = true)

static void loops_become_frames(void **state)
{
	(void)state;
	assert_string_equal(MERGED("..Eiii.", "P"), "..0iii.");
	assert_string_equal(MERGED("..Eiii.", "pppP"), "..0123iii.");
	assert_string_equal(MERGED("E", "P"), "0");
	assert_string_equal(KEPT("..Eiii.", "ppP"), "..012Eiii.");
}

static void trampolines_are_dropped(void **state)
{
	(void)state;
	assert_string_equal(MERGED("..Etii.", "P"), "..0ii.");
	assert_string_equal(MERGED("tiEtiiEti.", "PP"), "i01i.");
	assert_string_equal(AT("EtiEti.", "A..A...", "PP"), "01i.");
	assert_string_equal(KEPT("..Eti.", "P"), "..0Eti.");
}

static void interpreter_frames_between_are_dropped(void **state)
{
	(void)state;
	assert_string_equal(MERGED(".iEiiEii.", "pPP"), ".i012ii.");
	assert_string_equal(MERGED("Ei..iEi", "PP"), "0..1i"); /* an extension calls back */
	assert_string_equal(KEPT("Ei..iEi", "PP"), "0Ei..i1Ei");
	assert_string_equal(KEPT(".iEiiEii.", "pPP"), ".i01Eii2Eii.");
}

static void no_python_leaves_all(void **state)
{
	(void)state;
	assert_string_equal(MERGED("..EiiE.", ""), "..EiiE.");
	assert_string_equal(MERGED("", ""), "");
}

static void too_many_loops_stay(void **state)
{
	(void)state;
	/* the innermost may just be being entered */
	assert_string_equal(MERGED("EiEi.", "pP"), "?Ei01i.");
	/* the order is unknown: the outermost frames are another greenlet's */
	assert_string_equal(MERGED(".EiEi.", "p"), "?.0iEi.");
	assert_string_equal(MERGED("EiEiE.", "pP"), "?01iEiE.");
	assert_string_equal(CUT(".EiEi.", "pP"), ".01iEi.");
}

static void too_many_frames_stay(void **state)
{
	(void)state;
	/* all in the innermost loop */
	assert_string_equal(MERGED("EiE..", "PPpPP"), "?01234..");
	assert_string_equal(KEPT("EiE..", "PPP"), "?01Ei2E..");
	/* the native stack breaks off: they would have been further out */
	assert_string_equal(CUT("EiE.i", "PPpPP"), "01.234");
	assert_string_equal(CUT("E.i", "PpP"), "0.12");
	assert_string_equal(CUT("i.", "pP"), "i.01");
}

static void frames_without_a_loop_are_inside_the_start(void **state)
{
	(void)state;
	/* main, called by libc; an executable's own _start is further out */
	assert_string_equal(MERGED(".ii.iiii..i", "pP"), "?.ii.iii01i..i");
	assert_string_equal(MERGED(".iii..", "pP"), "?.ii01i..");
	/* nothing of the interpreter, or nothing else */
	assert_string_equal(MERGED("...", "pP"), "?..01.");
	assert_string_equal(MERGED("iii", "pP"), "?ii01i");
	assert_string_equal(MERGED(".", "P"), "?0.");
	assert_string_equal(MERGED("", "P"), "?0");
	/* outside of those that have one */
	assert_string_equal(AT(".i.ii..", " A     ", "pPP"), "?.01.2i..");
	assert_string_equal(AT(".i.Ei..", "   A   ", "pPP"), "?.i.012i..");
	assert_string_equal(AT("i.E..", "  A  ", "PP"), "?i.01..");
	/* between two that have one */
	assert_string_equal(AT("E.E..", "AxA", "PPP"), "?0.12..");
	assert_string_equal(AT("EiEiE", "A", "P"), "0iEiE");
}

/* The code does not matter, the addresses do. */
static void loops_are_where_their_anchors_are(void **state)
{
	(void)state;
	assert_string_equal(AT("..iiii.", "  A    ", "pP"), "..01iii.");
	assert_string_equal(AT(".ii.iii.", " A  A   ", "PpP"), ".0.12ii.");
	assert_string_equal(AT("iiiiii", "A  A  ", "PP"), "01ii");
	/* spare ones stay native, inside and outside */
	assert_string_equal(AT("EiEi.Ei.", "  A     ", "pP"), "Ei01i.Ei.");
	assert_string_equal(AT(".EiE.EiE.", "   A     ", "ppP"), ".Ei012.EiE.");
	/* the walk missed them: another module's frame seems to reach that far */
	assert_string_equal(AT("E..E.", " A ", "P"), "E.0.E.");
	assert_string_equal(AT("i.EE.", " AA", "pPP"), "i.012E.");
	/* the rest of a chain that is cut */
	assert_string_equal(CUT_AT("EiEiE.", "A", "Ppp"), "012iE.");
	/* a native stack that is cut: its last frame has no end */
	assert_string_equal(CUT_AT(".EiE", " A A", "PP"), ".01");
	assert_string_equal(CUT_AT(".Eii", " A A", "PP"), ".01");
	assert_string_equal(CUT_AT(".Ei", " A", "PPP"), ".012");
	assert_string_equal(
		TEXT(.natives = ".EiE", .anchors = " A A", .pythons = "PP", .keeps = true),
		".0Ei1E");
	assert_string_equal(
		TEXT(.natives = ".Eii", .anchors = " A A", .pythons = "PP", .keeps = true),
		".0Eii1");
}

static void other_stacks_are_outside(void **state)
{
	(void)state;
	/* a coroutine on a stack of its own calls back: those that resumed it */
	assert_string_equal(ELSEWHERE(".iii..", " A    ", "pPpP"), "?.01..23");
}

static void functions_of_instructions_are_the_loop(void **state)
{
	(void)state;
	assert_string_equal(HANDLED("iEi.", " A  ", "pP"), "01i.");
	assert_string_equal(HANDLED(".iEi.", "  A  ", "pP"), ".01i.");
	assert_string_equal(HANDLED(".iEiiEi.", "  A  A  ", "PP"), ".01i.");
	assert_string_equal(HANDLED("E.Ei.", "A A  ", "PP"), "0.1i.");
	/* only those in the loop */
	assert_string_equal(HANDLED("ii.", " A ", "P"), "i0.");
	assert_string_equal(AT("iEi.", " A  ", "pP"), "i01i.");
}

static void nothing_beyond_the_room(void **state)
{
	char text[8];

	(void)state;
	for (uint32_t max = 0; max < 8; max++) {
		memcpy(text, ".012ii.", 8);
		text[max < 7 ? max : 7] = '\0';
		assert_string_equal(
			merge_text(&(struct merged_text){
				.natives = ".Eii.", .pythons = "ppP", .whole = true, .max = max}),
			text);
	}
}

static void nothing_is_lost_or_doubled(void **state)
{
	uint64_t rounds = unit_rounds(3000);

	(void)state;
	for (uint64_t round = 0; round < rounds; round++) {
		struct prng p = prng_round(round);
		char natives[24] = "", pythons[10] = "", anchors[24] = "";
		uint32_t next = 0, others = 0, kept = 0;
		const char *text;

		for (uint64_t i = 0, n = prng_below(&p, sizeof(natives)); i < n; i++) {
			natives[i] = ".iE"[prng_below(&p, 3)];
			anchors[i] = " A"[prng_below(&p, 2)];
			others += natives[i] == '.';
		}
		for (uint64_t i = 0, n = prng_below(&p, sizeof(pythons)); i < n; i++)
			pythons[i] = "pP"[prng_below(&p, 2)];
		text = merge_text(
			&(struct merged_text){.natives = natives,
					      .pythons = pythons,
					      .whole = prng_chance(&p, 50),
					      .keeps = prng_chance(&p, 50),
					      .has_handlers = prng_chance(&p, 50),
					      .anchors = prng_chance(&p, 50) ? anchors : NULL,
					      .elsewhere = prng_chance(&p, 50),
					      .max = MOST});
		for (; *text; text++) {
			if (*text >= '0' && *text <= '9')
				EXPECT(&p, (uint32_t)(*text - '0') == next++);
			kept += *text == '.';
		}
		EXPECT(&p, next == strlen(pythons));
		EXPECT(&p, kept == others);
	}
}

/* ---- a model of a thread ---- */

#define MODEL_MOST 200

/* All of it outermost first. */
struct model {
	struct prng *p;
	struct {
		uint8_t kind;
		uint64_t size;
		bool is_loop;
	} natives[MODEL_MOST];
	uint32_t native_count;
	struct {
		uint32_t loop; /* the native frame it belongs to; MODEL_MOST: on another stack */
		bool is_entry;
	} pythons[MODEL_MOST];
	uint32_t python_count;
	bool knows_loops;   /* recognizes loops by their code */
	bool has_anchors;   /* the interpreter's version has them */
	bool has_spare;     /* a loop whose Python frames are not in the chain */
	bool has_elsewhere; /* Python frames on another stack */
	bool misses_frames; /* callers of other modules' code are missing: the walk is not exact */
};

static void model_push(struct model *m, uint8_t kind, bool is_loop)
{
	if (m->native_count == MODEL_MOST)
		return;
	m->natives[m->native_count].kind = kind;
	m->natives[m->native_count].size = 16 + 8 * prng_below(m->p, 20);
	m->natives[m->native_count].is_loop = is_loop;
	m->native_count++;
}

static void model_call(struct model *m, uint8_t kind)
{
	for (uint64_t n = prng_below(m->p, 3); n > 0; n--)
		model_push(m, kind, false);
}

static void model_enter_loop(struct model *m)
{
	uint32_t frames = 1 + (uint32_t)prng_below(m->p, 4);

	if (m->native_count == MODEL_MOST || m->python_count + frames > MODEL_MOST)
		return;
	model_push(m, m->knows_loops ? PYTHON_NATIVE_LOOP : PYTHON_NATIVE_INTERPRETER, true);
	for (uint32_t i = 0; i < frames; i++) {
		m->pythons[m->python_count].loop = m->native_count - 1;
		m->pythons[m->python_count++].is_entry = i == 0;
	}
}

/* Switches to a greenlet or an interpreter, whose chain begins here, on the current stack. */
static void model_switch_chain(struct model *m)
{
	m->has_spare |= m->python_count > 0;
	m->has_elsewhere = false;
	m->python_count = 0;
	model_call(m, PYTHON_NATIVE_OTHER);
}

/* Switches to a stack of its own; the chain goes on. */
static void model_switch_stack(struct model *m)
{
	for (uint32_t i = 0; i < m->python_count; i++)
		m->pythons[i].loop = MODEL_MOST;
	m->has_elsewhere = m->python_count > 0;
	m->has_spare = false;
	m->native_count = 0;
	model_push(m, PYTHON_NATIVE_OTHER, false);
}

static void model_run(struct model *m)
{
	model_push(m, PYTHON_NATIVE_OTHER, false);
	model_call(m, PYTHON_NATIVE_OTHER);
	model_push(m, PYTHON_NATIVE_INTERPRETER, false);
	for (uint64_t steps = prng_below(m->p, 20); steps > 0; steps--) {
		uint64_t what = prng_below(m->p, 100);

		if (what < 40)
			model_enter_loop(m);
		else if (what < 60)
			model_call(m, PYTHON_NATIVE_INTERPRETER);
		else if (what < 85)
			model_call(m, PYTHON_NATIVE_OTHER);
		else if (what < 95)
			model_switch_chain(m);
		else
			model_switch_stack(m);
	}
	if (prng_chance(m->p, 20)) { /* one that is just being entered */
		model_push(m, m->knows_loops ? PYTHON_NATIVE_LOOP : PYTHON_NATIVE_INTERPRETER,
			   true);
		m->has_spare = true;
	}
}

/* A sampler's view of the model, innermost first. */
struct seen {
	uint8_t kinds[MODEL_MOST];
	uint64_t sps[MODEL_MOST];
	uint32_t depths[MODEL_MOST]; /* depths in the model */
	uint32_t native_count;
	struct python_stack python;
};

static void model_see(const struct model *m, struct seen *s)
{
	uint64_t sp = FIRST_SP;
	uint64_t bases[MODEL_MOST + 1] = {0};

	s->native_count = 0;
	for (uint32_t i = 0; i < m->native_count; i++) {
		uint32_t at = m->native_count - 1 - i, n = s->native_count;
		bool is_missed = n > 0 && s->kinds[n - 1] == PYTHON_NATIVE_OTHER &&
				 m->misses_frames && at > 0 && prng_chance(m->p, 30);

		bases[at] = sp;
		if (!is_missed) {
			s->kinds[n] = m->natives[at].kind;
			s->depths[n] = i;
			s->sps[s->native_count++] = sp;
		}
		sp += m->natives[at].size;
	}
	bases[MODEL_MOST] = 0x5000;
	s->python.count = m->python_count;
	s->python.is_whole = true;
	for (uint32_t i = 0; i < m->python_count; i++) {
		uint32_t at = m->python_count - 1 - i, loop = m->pythons[at].loop;
		struct python_frame *f = &s->python.frames[i];

		*f = (struct python_frame){.is_entry = m->pythons[at].is_entry};
		if (m->has_anchors && f->is_entry)
			f->anchor = bases[loop];
		if (f->anchor && loop != MODEL_MOST)
			f->anchor += 8 * prng_below(m->p, m->natives[loop].size / 8);
	}
}

/* Returns a frame's distance from the innermost frame. A Python frame counts as its loop. */
static uint32_t model_depth(const struct model *m, const struct seen *s,
			    const struct python_merged *frame)
{
	uint32_t loop;

	if (!frame->is_python)
		return s->depths[frame->index];
	loop = m->pythons[m->python_count - 1 - frame->index].loop;
	return loop == MODEL_MOST ? MODEL_MOST : m->native_count - 1 - loop;
}

static bool model_is_in_order(const struct model *m, const struct seen *s,
			      const struct python_merged *out, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (model_depth(m, s, &out[i]) < model_depth(m, s, &out[i - 1]))
			return false;
	return true;
}

/* Loops with Python frames are replaced by them, others stay. */
static bool model_is_replaced(const struct model *m, const struct seen *s,
			      const struct python_merged *out, uint32_t n)
{
	for (uint32_t i = 0; i + 1 < n; i++)
		if (out[i].is_python != out[i + 1].is_python &&
		    model_depth(m, s, &out[i]) == model_depth(m, s, &out[i + 1]))
			return false;
	return true;
}

static void order_is_right_or_said_to_be_unknown(void **state)
{
	static struct python_merged out[2 * MODEL_MOST];
	uint64_t rounds = unit_rounds(3000), ordered = 0, unordered = 0;
	static struct seen seen;
	static struct model m;

	(void)state;
	for (uint64_t round = 0; round < rounds; round++) {
		struct prng p = prng_round(round);
		struct python_merge_input in = {.natives = seen.kinds,
						.sps = seen.sps,
						.python = &seen.python,
						.native_is_whole = true};
		bool is_ordered, is_cut;
		uint32_t n;

		m = (struct model){.p = &p,
				   .knows_loops = prng_chance(&p, 60),
				   .has_anchors = prng_chance(&p, 60)};
		m.misses_frames = m.has_anchors && prng_chance(&p, 20);
		model_run(&m);
		model_see(&m, &seen);
		is_cut = prng_chance(&p, 20) && seen.native_count > 1;
		if (is_cut)
			seen.native_count = 1 + (uint32_t)prng_below(&p, seen.native_count - 1);
		in.native_count = seen.native_count;
		in.native_is_whole = !is_cut;
		n = python_merge(&in, out, 2 * MODEL_MOST, &is_ordered);
		/* without anchors, spare loops may be as many as those on another stack */
		if (!m.has_anchors && m.has_spare && m.has_elsewhere)
			continue;
		if (is_ordered && !(is_cut && !m.has_anchors))
			EXPECT(&p, model_is_in_order(&m, &seen, out, n));
		/* the facts suffice for an order */
		if (m.has_anchors && !m.has_elsewhere) {
			EXPECT(&p, is_ordered);
			EXPECT(&p, is_cut || model_is_replaced(&m, &seen, out, n));
		}
		if (!m.has_anchors && m.knows_loops && !m.has_spare && !m.has_elsewhere)
			EXPECT(&p, is_ordered && (is_cut || model_is_replaced(&m, &seen, out, n)));
		ordered += is_ordered;
		unordered += !is_ordered;
	}
	assert_true(ordered > rounds / 10 && unordered > rounds / 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loops_become_frames),
		cmocka_unit_test(trampolines_are_dropped),
		cmocka_unit_test(interpreter_frames_between_are_dropped),
		cmocka_unit_test(no_python_leaves_all),
		cmocka_unit_test(too_many_loops_stay),
		cmocka_unit_test(too_many_frames_stay),
		cmocka_unit_test(frames_without_a_loop_are_inside_the_start),
		cmocka_unit_test(loops_are_where_their_anchors_are),
		cmocka_unit_test(other_stacks_are_outside),
		cmocka_unit_test(functions_of_instructions_are_the_loop),
		cmocka_unit_test(nothing_beyond_the_room),
		cmocka_unit_test(nothing_is_lost_or_doubled),
		cmocka_unit_test(order_is_right_or_said_to_be_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
