/* SPDX-License-Identifier: MIT */
/*
 * Reading CPython's structures, on made-up memory of each version's layout: whole, torn, cyclic,
 * too deep. That the layouts are the real ones is tests/cli/python.bats' business.
 */
#include "python_memory.h"

/* ---- each version's offsets ---- */

/* The fields of _Py_DebugOffsets in order, as far as they are read. */
static const char fields_3_13[] =
	"cookie version free_threaded runtime.size runtime.finalizing runtime.interpreters "
	"interpreter.size "
	".id interpreter.next interpreter.threads .gc interpreter.modules .sysdict .builtins "
	".ceval_gil "
	".gil_runtime_state .enabled .locked .holder thread.size .prev thread.next .interp "
	"thread.current_frame thread.id .native_thread_id .datastack_chunk .status frame.size "
	"frame.previous frame.executable frame.instr_ptr frame.locals frame.owner code.size "
	"code.filename code.name code.qualname code.linetable code.firstlineno .argcount "
	".localsplusnames .localspluskinds code.adaptive object.size object.type type.size "
	".tp_name "
	".tp_repr .tp_flags tuple.size .ob_item .ob_size list.size .ob_item .ob_size dict.size "
	".ma_keys .ma_values float.size .ob_fval long.size .lv_tag .ob_digit bytes.size "
	"bytes.ob_size bytes.ob_sval unicode.size unicode.state unicode.length unicode.ascii_size";
static const char fields_3_14[] =
	"cookie version free_threaded runtime.size runtime.finalizing runtime.interpreters "
	"interpreter.size "
	".id interpreter.next interpreter.threads .threads_main .gc interpreter.modules .sysdict "
	".builtins .ceval_gil "
	".gil_runtime_state .enabled .locked .holder .code_object_generation .tlbc_generation "
	"thread.size .prev thread.next .interp thread.current_frame thread.id .native_thread_id "
	".datastack_chunk .status frame.size frame.previous frame.executable frame.instr_ptr "
	"frame.locals frame.owner .stackpointer frame.copy code.size code.filename code.name "
	"code.qualname code.linetable code.firstlineno .argcount .localsplusnames "
	".localspluskinds code.adaptive code.copies object.size object.type type.size .tp_name "
	".tp_repr .tp_flags tuple.size .ob_item .ob_size list.size .ob_item .ob_size set.size "
	".used "
	".table .mask dict.size .ma_keys .ma_values float.size .ob_fval long.size .lv_tag "
	".ob_digit "
	"bytes.size bytes.ob_size bytes.ob_sval unicode.size unicode.state unicode.length "
	"unicode.ascii_size";
static const char fields_3_15[] =
	"cookie version free_threaded runtime.size runtime.finalizing runtime.interpreters "
	"interpreter.size "
	".id interpreter.next interpreter.threads .threads_main .gc interpreter.modules .sysdict "
	".builtins .ceval_gil "
	".gil_runtime_state .enabled .locked .holder .code_object_generation .tlbc_generation "
	"thread.size .prev thread.next .interp thread.current_frame .base_frame "
	".last_profiled_frame .last_profiled_frame_seq thread.id .native_thread_id "
	".datastack_chunk .status .holds_gil .gil_requested .current_exception .exc_state "
	".exc_value frame.size frame.previous frame.executable frame.instr_ptr "
	"frame.locals frame.owner .stackpointer frame.copy code.size code.filename code.name "
	"code.qualname code.linetable code.firstlineno .argcount .localsplusnames "
	".localspluskinds code.adaptive code.copies object.size object.type type.size .tp_name "
	".tp_repr .tp_flags .tp_basicsize .tp_dictoffset .heap_type_size .ht_cached_keys "
	"tuple.size .ob_item .ob_size list.size .ob_item .ob_size set.size .used "
	".table .mask dict.size .ma_keys .ma_values float.size .ob_fval long.size .lv_tag "
	".ob_digit "
	"bytes.size bytes.ob_size bytes.ob_sval unicode.size unicode.state unicode.length "
	"unicode.ascii_size";

static const struct {
	const char *field;
	uint64_t value;
} values[] = {
	{"runtime.finalizing", 616},  {"runtime.interpreters", 632},
	{"interpreter.next", 7264},   {"interpreter.threads", 7344},
	{"thread.next", 8},           {"thread.id", 152},
	{"thread.current_frame", 72}, {"frame.previous", 8},
	{"frame.executable", 0},      {"frame.instr_ptr", 56},
	{"frame.owner", 70},          {"code.filename", 112},
	{"code.name", 120},           {"code.qualname", 128},
	{"code.linetable", 136},      {"code.firstlineno", 68},
	{"code.adaptive", 200},       {"object.type", 8},
	{"bytes.ob_size", 16},        {"bytes.ob_sval", 32},
	{"unicode.state", 32},        {"unicode.length", 16},
	{"unicode.ascii_size", 40},   {"frame.copy", 72},
	{"code.copies", 192},         {"interpreter.modules", 7656},
	{"object.size", 16},          {"frame.locals", 72},
};

/* Makes the start of an interpreter's _PyRuntime with these offsets. */
static void make_runtime(uint64_t words[PYTHON_RUNTIME_BYTES / 8], const char *fields, uint32_t hex)
{
	const char *at = fields;
	uint32_t n = 0;

	memset(words, 0xee, PYTHON_RUNTIME_BYTES); /* a byte pattern that no valid offset has */
	for (; *at; n++) {
		size_t length = strcspn(at, " ");

		assert_true(n < PYTHON_RUNTIME_BYTES / 8);
		for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
			if (strlen(values[i].field) == length &&
			    memcmp(values[i].field, at, length) == 0)
				words[n] = values[i].value;
		at += length + (at[length] == ' ');
	}
	memcpy(&words[0], "xdebugpy", 8);
	words[1] = hex;
	words[2] = 0;
}

static const uint32_t versions[] = {0x030812f0, 0x030912f0, 0x030a0df0, 0x030b07f0,
				    0x030c01f0, 0x030d00f0, 0x030e00f0, 0x030f00f0};
#define VERSIONS (sizeof(versions) / sizeof(versions[0]))

static void get_offsets(uint32_t hex, struct python_offsets *o)
{
	uint64_t words[PYTHON_RUNTIME_BYTES / 8];

	make_runtime(words,
		     hex >> 16 == 0x030f   ? fields_3_15
		     : hex >> 16 == 0x030e ? fields_3_14
					   : fields_3_13,
		     hex);
	assert_int_equal(python_offsets_read(hex, words, sizeof(words), o), 0);
	assert_int_equal(o->version, hex >> 16);
	assert_int_equal(o->runtime_finalizing, o->runtime_interpreters - 16);
}

static void versions_not_known_are_refused(void **state)
{
	static const uint32_t unknown[] = {0,          0x020712f0, 0x030712f0,
					   0x031000f0, 0x040000f0, 0x030c00a3,
					   0x030c00b1, 0x030d00a1, 0x030e00b2};
	uint64_t words[PYTHON_RUNTIME_BYTES / 8];
	struct python_offsets o;

	(void)state;
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		make_runtime(words, fields_3_14, unknown[i]);
		assert_int_equal(python_offsets_read(unknown[i], words, sizeof(words), &o),
				 -ENOTSUP);
	}
	assert_int_equal(python_offsets_read(0x030d00c1, words, 0, &o), -EBADMSG);
}

static void nonsense_in_runtime_is_refused(void **state)
{
	uint64_t words[PYTHON_RUNTIME_BYTES / 8];
	struct python_offsets o;

	(void)state;
	make_runtime(words, fields_3_13, 0x030d00f0);
	assert_int_equal(python_offsets_read(0x030d01f0, words, sizeof(words), &o), -EBADMSG);
	assert_int_equal(python_offsets_read(0x030d00f0, words, 40, &o), -EBADMSG);
	words[0] ^= 1;
	assert_int_equal(python_offsets_read(0x030d00f0, words, sizeof(words), &o), -EBADMSG);
	make_runtime(words, fields_3_13, 0x030d00f0);
	words[23] = 1 << 20; /* thread.current_frame */
	assert_int_equal(python_offsets_read(0x030d00f0, words, sizeof(words), &o), -EBADMSG);
	/* one version's words read as the other's */
	make_runtime(words, fields_3_13, 0x030e00f0);
	assert_int_equal(python_offsets_read(0x030e00f0, words, sizeof(words), &o), -EBADMSG);
}

/* ---- frames ---- */

struct world {
	struct made_memory made;
	struct python_memory memory;
	struct python_offsets o;
	struct python_types types;
	struct python_stack stack;
};

static void open_world(struct world *w, uint32_t hex)
{
	memset(w, 0, sizeof(*w));
	made_init(&w->made);
	w->memory = (struct python_memory){.read = made_read, .context = &w->made};
	w->types = (struct python_types){.code = CODE_TYPE, .text = TEXT_TYPE};
	get_offsets(hex, &w->o);
}

static void close_world(struct world *w)
{
	free(w->made.bytes);
}

static void frames_of_every_version(void **state)
{
	(void)state;
	for (size_t v = 0; v < VERSIONS; v++) {
		struct world w;
		uint64_t a, b, frame;
		struct python_code code;
		bool each;

		open_world(&w, versions[v]);
		each = w.o.frame_form == PYTHON_FRAME_EACH;
		a = made_code(&w.made, &w.o, "outer", "/src/a.py", 10);
		b = made_code(&w.made, &w.o, "inner", "/src/b.py", 20);
		frame = made_frame(&w.made, &w.o, a, 0, true);
		frame = made_frame(&w.made, &w.o, b, frame, false);
		frame = made_frame(&w.made, &w.o, a, frame, true);
		frame = made_frame(&w.made, &w.o, b, frame, false);
		python_frames_read(&w.memory, &w.o, made_thread(&w.made, &w.o, frame), &w.stack);
		assert_true(w.stack.is_whole);
		assert_int_equal(w.stack.count, 4);
		for (uint32_t i = 0; i < 4; i++) {
			assert_int_equal(w.stack.frames[i].code, i % 2 ? a : b);
			assert_int_equal(w.stack.frames[i].is_entry, each || i % 2);
		}
		assert_true(w.stack.frames[0].mark != w.stack.frames[1].mark);
		assert_true(w.stack.frames[0].mark == w.stack.frames[2].mark);
		assert_int_equal(python_code_read(&w.memory, &w.o, &w.types, a, &code), 0);
		assert_string_equal(code.name, "outer");
		assert_string_equal(code.path, "/src/a.py");
		assert_string_equal(code.qualname, versions[v] >= 0x030b0000 ? "outer" : "");
		assert_int_equal(code.first_line, 10);
		close_world(&w);
	}
}

static uint64_t mark_of(struct world *w, uint64_t code, bool lines)
{
	uint64_t mark = 0;

	assert_true(python_mark_read(&w->memory, &w->o, code, lines, &mark));
	return mark;
}

/* Puts other characters where a str has its own; as when it is freed, and another made there. */
static void put_text(struct world *w, uint64_t member, const char *characters, bool is_ascii)
{
	uint64_t text = 0;

	assert_true(made_read(&w->made, member, &text, sizeof(text)));
	made_put(&w->made, text + (is_ascii ? w->o.text_ascii_data : w->o.text_wide_data),
		 characters, strlen(characters));
}

/*
 * One module's code is freed, and another's takes its place, with equal names: both are "<module>".
 */
static void texts_make_a_difference_and_addresses_do_not(void **state)
{
	static const char long_path[] = "/a/folder/whose/name/is/longer/than/what/is/read/of/it/"
					"and/another/one/in/it/module.py";

	(void)state;
	for (size_t v = 0; v < VERSIONS; v++) {
		uint64_t code, again, frame, thread, before, name = 0;
		struct world w;

		open_world(&w, versions[v]);
		code = made_code(&w.made, &w.o, "<module>", "a.py", 1);
		again = made_code(&w.made, &w.o, "<module>", "a.py", 1);
		frame = made_frame(&w.made, &w.o, code, 0, true);
		thread = made_thread(&w.made, &w.o, frame);
		python_frames_read(&w.memory, &w.o, thread, &w.stack);
		before = w.stack.frames[0].mark;
		assert_true(mark_of(&w, code, false) == before);
		assert_true(mark_of(&w, again, false) == before);
		put_text(&w, again + w.o.code_filename, "b.py", true);
		assert_true(mark_of(&w, again, false) != before);
		put_text(&w, again + w.o.code_filename, "a.py", true);
		put_text(&w, again + python_mark_text(&w.o), "<modula>", true);
		assert_true(mark_of(&w, again, false) != before);
		put_text(&w, again + python_mark_text(&w.o), "<module>", true);
		made_put_32(&w.made, again + w.o.code_first_line, 2);
		assert_true(mark_of(&w, again, false) != before);

		/* bytes before the characters do not count */
		made_put_32(&w.made, again + w.o.code_first_line, 1);
		assert_true(made_read(&w.made, again + w.o.code_filename, &name, 8));
		made_put_32(&w.made, name + w.o.object_type + 4, 12345);
		if (w.o.text_ascii_data > w.o.text_state + 8)
			made_put_64(&w.made, name + w.o.text_ascii_data - 8, 12345);
		assert_true(mark_of(&w, again, false) == before);

		/* a hash stands for the characters */
		assert_true(made_read(&w.made, again + python_mark_text(&w.o), &name, 8));
		made_put_64(&w.made, name + w.o.text_length + 8, 77);
		assert_true(mark_of(&w, again, false) != before);
		before = mark_of(&w, again, false);
		put_text(&w, again + python_mark_text(&w.o), "other", true);
		assert_true(mark_of(&w, again, false) == before);
		made_put_64(&w.made, name + w.o.text_length + 8, 78);
		assert_true(mark_of(&w, again, false) != before);

		/* for a long text, its length and its end count */
		again = made_code(&w.made, &w.o, "f", long_path, 1);
		before = mark_of(&w, again, false);
		assert_true(mark_of(&w, made_code(&w.made, &w.o, "f", long_path + 1, 1), false) !=
			    before);
		put_text(&w, again + w.o.code_filename, "/b/folder", true);
		assert_true(mark_of(&w, again, false) == before);
		made_put_64(&w.made, again + w.o.code_filename,
			    made_text(&w.made, &w.o, u"\u4e00\u4e01", 2, 2, false));
		before = mark_of(&w, again, false);
		put_text(&w, again + w.o.code_filename, "x", false);
		assert_true(mark_of(&w, again, false) != before);
		close_world(&w);
	}
}

static void tables_make_a_difference_to_lines(void **state)
{
	(void)state;
	for (size_t v = 0; v < VERSIONS; v++) {
		uint64_t code, again;
		struct world w;

		open_world(&w, versions[v]);
		code = made_code(&w.made, &w.o, "f", "a.py", 1);
		again = made_code(&w.made, &w.o, "f", "a.py", 1);
		made_put_64(&w.made, code + w.o.code_lines, made_bytes(&w.made, &w.o, "\1\2", 2));
		made_put_64(&w.made, again + w.o.code_lines, made_bytes(&w.made, &w.o, "\1\2", 2));
		assert_true(mark_of(&w, code, true) == mark_of(&w, again, true));
		made_put_64(&w.made, again + w.o.code_lines, made_bytes(&w.made, &w.o, "\1\3", 2));
		assert_true(mark_of(&w, code, false) == mark_of(&w, again, false));
		assert_true(mark_of(&w, code, true) != mark_of(&w, again, true));
		close_world(&w);
	}
}

/* From 3.13 on, the interpreter's own code calls __init__. */
static void the_interpreters_own_code_says_so(void **state)
{
	(void)state;
	for (size_t v = 0; v < VERSIONS; v++) {
		struct python_code code;
		uint64_t own, name = 0;
		struct world w;

		open_world(&w, versions[v]);
		own = made_code(&w.made, &w.o, "__init__", "__init__", 4);
		assert_int_equal(python_code_read(&w.memory, &w.o, &w.types, own, &code), 0);
		assert_false(code.is_internal);
		assert_true(made_read(&w.made, own + w.o.code_name, &name, 8));
		made_put_64(&w.made, own + w.o.code_filename, name);
		if (w.o.code_qualname != PYTHON_NO_OFFSET)
			made_put_64(&w.made, own + w.o.code_qualname, name);
		assert_int_equal(python_code_read(&w.memory, &w.o, &w.types, own, &code), 0);
		assert_int_equal(code.is_internal, w.o.version >= 0x030d);
		close_world(&w);
	}
}

static uint64_t hash_of_first(const struct world *w, bool by_number)
{
	return by_number ? python_frame_hash_number(1, &w->stack.frames[0], false)
			 : python_frame_hash(1, &w->stack.frames[0], false);
}

/* Code that is compiled again from one text keeps its names, and gets another number. */
static void numbers_make_a_difference_and_names_do_not(void **state)
{
	uint32_t numbered = 0;

	(void)state;
	for (size_t v = 0; v < VERSIONS; v++) {
		uint64_t code, thread, by_name, by_number;
		struct world w;

		open_world(&w, versions[v]);
		code = made_code(&w.made, &w.o, "f", "a.py", 1);
		thread = made_thread(&w.made, &w.o, made_frame(&w.made, &w.o, code, 0, true));
		if (w.o.code_version != PYTHON_NO_OFFSET)
			made_put_32(&w.made, code + w.o.code_version, 7);
		python_frames_read(&w.memory, &w.o, thread, &w.stack);
		by_name = hash_of_first(&w, false);
		by_number = hash_of_first(&w, true);
		if (w.o.code_version == PYTHON_NO_OFFSET) {
			assert_int_equal(w.stack.frames[0].number, 0);
			assert_true(by_name == by_number);
			close_world(&w);
			continue;
		}
		numbered++;
		made_put_32(&w.made, code + w.o.code_version, 8);
		python_frames_read(&w.memory, &w.o, thread, &w.stack);
		assert_true(hash_of_first(&w, false) == by_name);
		assert_true(hash_of_first(&w, true) != by_number);
		/* code with a number is compared without its names */
		made_put_64(&w.made, code + w.o.code_filename, 1);
		made_put_32(&w.made, code + w.o.code_version, 7);
		python_frames_read(&w.memory, &w.o, thread, &w.stack);
		assert_true(hash_of_first(&w, false) != by_name);
		assert_true(hash_of_first(&w, true) == by_number);
		close_world(&w);
	}
	assert_true(numbered >= 4);
}

/* Each evaluation has an anchor on the C stack. */
static void entries_have_anchors(void **state)
{
	(void)state;
	for (size_t v = 0; v < VERSIONS; v++) {
		uint64_t anchors[3], code, frame = 0, base;
		struct world w;

		open_world(&w, versions[v]);
		code = made_code(&w.made, &w.o, "f", "f.py", 1);
		base = made_frame(&w.made, &w.o, code, 0, true);
		if (w.o.frame_form == PYTHON_FRAME_SHIM) {
			/* from 3.15 on, the chain ends with a shim that is on no stack */
			made_put_8(&w.made, base + w.o.frame_owner, w.o.owner_of_shim);
			frame = base;
		} else {
			w.made.anchor = 0;
		}
		for (uint32_t i = 0; i < 3; i++) {
			frame = made_frame(&w.made, &w.o, code, frame, true);
			anchors[i] = w.made.anchor;
			if (w.o.frame_form != PYTHON_FRAME_EACH)
				frame = made_frame(&w.made, &w.o, code, frame, false);
		}
		memset(&w.stack, 0xee, sizeof(w.stack));
		python_frames_read(&w.memory, &w.o, made_thread(&w.made, &w.o, frame), &w.stack);
		assert_true(w.stack.is_whole);
		for (uint32_t i = 0, entry = 3; i < w.stack.count; i++) {
			if (w.stack.frames[i].is_entry)
				entry--;
			assert_true(w.stack.frames[i].anchor ==
				    (w.stack.frames[i].is_entry && python_offsets_have_anchors(&w.o)
					     ? anchors[entry]
					     : 0));
		}
		assert_int_equal(python_offsets_have_anchors(&w.o), w.o.version >= 0x030a);
		close_world(&w);
	}
}

/* Incomplete frames, such as 3.14 has on the C stack beside the shims, are no entries. */
static void incomplete_frames_are_no_entries(void **state)
{
	uint64_t code, frame;
	struct world w;

	(void)state;
	open_world(&w, 0x030e00f0);
	code = made_code(&w.made, &w.o, "f", "f.py", 1);
	frame = made_frame(&w.made, &w.o, code, 0, true);
	frame = made_frame(&w.made, &w.o, code, frame, false);
	made_put_8(&w.made, frame + w.o.frame_owner, w.o.owner_of_shim + 1);
	frame = made_frame(&w.made, &w.o, code, frame, false);
	python_frames_read(&w.memory, &w.o, made_thread(&w.made, &w.o, frame), &w.stack);
	assert_true(w.stack.is_whole);
	assert_int_equal(w.stack.count, 2);
	assert_false(w.stack.frames[0].is_entry);
	assert_true(w.stack.frames[1].is_entry);
	close_world(&w);
}

/* Without the GIL a frame may be in a copy of its code object's instructions. */
static void copies_of_instructions_have_the_lines(void **state)
{
	/* two instructions of one unit each: lines 7 and 9 (Objects/locations.md, without columns)
	 */
	static const unsigned char lines[] = {0x80 | 13 << 3, 0, 0x80 | 13 << 3, 4};
	static const uint32_t hexes[] = {0x030e00f0, 0x030f00f0};

	(void)state;
	for (size_t v = 0; v < 2; v++) {
		uint64_t words[PYTHON_RUNTIME_BYTES / 8], code, frame, copies, copy;
		struct python_frame *f;
		struct world w;

		open_world(&w, hexes[v]);
		make_runtime(words, v ? fields_3_15 : fields_3_14, hexes[v]);
		words[2] = 1;
		assert_int_equal(python_offsets_read(hexes[v], words, sizeof(words), &w.o), 0);
		code = made_code(&w.made, &w.o, "f", "f.py", 7);
		made_put_64(&w.made, code + w.o.code_lines,
			    made_bytes(&w.made, &w.o, lines, sizeof(lines)));
		copy = made_space(&w.made, 64);
		copies = made_space(&w.made, 64);
		made_put_64(&w.made, copies, 3);
		made_put_64(&w.made, copies + 8, code + w.o.code_instructions);
		made_put_64(&w.made, copies + 8 + 2 * 8, copy);
		made_put_64(&w.made, copies + 8 + 3 * 8, copy); /* past the list's end */
		made_put_64(&w.made, code + w.o.code_copies, copies);
		frame = made_frame(&w.made, &w.o, code, 0, true);
		made_put_64(&w.made, frame + w.o.frame_place, copy + 2);
		made_put_32(&w.made, frame + w.o.frame_copy, 2);
		python_frames_read(&w.memory, &w.o, made_thread(&w.made, &w.o, frame), &w.stack);
		assert_int_equal(w.stack.count, 1);
		f = &w.stack.frames[0];
		assert_int_equal(python_line(&w.memory, &w.o, f), 9);
		f->place = copy;
		assert_int_equal(python_line(&w.memory, &w.o, f), 7);
		f->copy = 0; /* the object's own */
		f->place = code + w.o.code_instructions + 2;
		assert_int_equal(python_line(&w.memory, &w.o, f), 9);
		f->place = copy;
		f->copy = 3;
		assert_int_equal(python_line(&w.memory, &w.o, f), 0);
		close_world(&w);
	}
}

/* From 3.14 on, the lowest bits of a reference are a tag. */
static void tagged_references_are_understood(void **state)
{
	struct world w;
	uint64_t code, frame;

	(void)state;
	open_world(&w, 0x030e00f0);
	code = made_code(&w.made, &w.o, "f", "f.py", 1);
	frame = made_frame(&w.made, &w.o, code | 1, 0, true);
	python_frames_read(&w.memory, &w.o, made_thread(&w.made, &w.o, frame), &w.stack);
	assert_int_equal(w.stack.count, 1);
	assert_int_equal(w.stack.frames[0].code, code);
	close_world(&w);
}

static void no_frames_are_no_frames(void **state)
{
	(void)state;
	for (size_t v = 0; v < VERSIONS; v++) {
		struct world w;

		open_world(&w, versions[v]);
		python_frames_read(&w.memory, &w.o, made_thread(&w.made, &w.o, 0), &w.stack);
		assert_int_equal(w.stack.count, 0);
		assert_true(w.stack.is_whole);
		python_frames_read(&w.memory, &w.o, 0, &w.stack);
		assert_int_equal(w.stack.count, 0);
		python_frames_read(&w.memory, &w.o, 0xdeadbeef00, &w.stack);
		assert_int_equal(w.stack.count, 0);
		assert_false(w.stack.is_whole);
		close_world(&w);
	}
}

static void a_cycle_ends(void **state)
{
	(void)state;
	for (size_t v = 0; v < VERSIONS; v++) {
		struct world w;
		uint64_t code, first, last, thread;

		open_world(&w, versions[v]);
		code = made_code(&w.made, &w.o, "f", "f.py", 1);
		first = made_frame(&w.made, &w.o, code, 0, false);
		last = made_frame(&w.made, &w.o, code, first, true);
		thread = made_thread(&w.made, &w.o, last);
		made_put_64(&w.made, first + w.o.frame_previous, last);
		python_frames_read(&w.memory, &w.o, thread, &w.stack);
		assert_int_equal(w.stack.count, PYTHON_FRAMES_MAX);
		assert_false(w.stack.is_whole);
		if (w.o.frame_form == PYTHON_FRAME_SHIM) {
			/* a chain of shims alone */
			made_put_8(&w.made, first + w.o.frame_owner, 3);
			made_put_8(&w.made, last + w.o.frame_owner, 3);
			python_frames_read(&w.memory, &w.o, thread, &w.stack);
			assert_int_equal(w.stack.count, 0);
			assert_false(w.stack.is_whole);
		}
		close_world(&w);
	}
}

static void too_deep_is_cut(void **state)
{
	(void)state;
	for (size_t v = 0; v < VERSIONS; v++) {
		for (uint32_t depth = PYTHON_FRAMES_MAX - 1; depth <= PYTHON_FRAMES_MAX + 1;
		     depth++) {
			struct world w;
			uint64_t code, frame = 0;
			uint32_t kept = depth < PYTHON_FRAMES_MAX ? depth : PYTHON_FRAMES_MAX;

			open_world(&w, versions[v]);
			code = made_code(&w.made, &w.o, "f", "f.py", 1);
			for (uint32_t i = 0; i < depth; i++)
				frame = made_frame(&w.made, &w.o, code, frame, i == 0);
			python_frames_read(&w.memory, &w.o, made_thread(&w.made, &w.o, frame),
					   &w.stack);
			assert_int_equal(w.stack.count, kept);
			assert_int_equal(w.stack.is_whole, depth <= PYTHON_FRAMES_MAX);
			close_world(&w);
		}
	}
}

/* Any bytes anywhere: it ends, and reads nothing but through the callback. */
static void torn_memory_does_no_harm(void **state)
{
	uint64_t rounds = unit_rounds(3000);

	(void)state;
	for (uint64_t round = 0; round < rounds; round++) {
		struct prng p = prng_round(round);
		struct python_code code;
		uint64_t last = 0, frame = 0, thread;
		struct world w;

		open_world(&w, versions[round % VERSIONS]);
		for (int i = 0; i < 6; i++) {
			last = made_code(&w.made, &w.o, "name", "/a/path.py", 3);
			made_put_64(&w.made, last + w.o.code_lines,
				    made_bytes(&w.made, &w.o, "\x80\1\xf0\2\3\4\5\6", 8));
			frame = made_frame(&w.made, &w.o, last, frame, prng_chance(&p, 50));
		}
		thread = made_thread(&w.made, &w.o, frame);
		for (int i = 0; i < 40; i++) {
			uint64_t at = prng_below(&p, w.made.used - 8);

			if (prng_chance(&p, 50))
				w.made.bytes[at] = (unsigned char)prng_u64(&p);
			else /* a pointer that leads somewhere else in there */
				made_put_64(&w.made, MEMORY_BASE + (at & ~UINT64_C(7)),
					    MEMORY_BASE + (prng_below(&p, w.made.used) & ~7u));
		}
		python_frames_read(&w.memory, &w.o, thread, &w.stack);
		EXPECT(&p, w.stack.count <= PYTHON_FRAMES_MAX);
		for (uint32_t i = 0; i < w.stack.count && i < 8; i++) {
			w.stack.frames[i].place = prng_bits(&p, 20);
			python_line(&w.memory, &w.o, &w.stack.frames[i]);
			if (python_code_read(&w.memory, &w.o, &w.types, w.stack.frames[i].code,
					     &code) == 0) {
				EXPECT(&p, memchr(code.name, 0, sizeof(code.name)) != NULL);
				EXPECT(&p, memchr(code.path, 0, sizeof(code.path)) != NULL);
			}
		}
		close_world(&w);
	}
}

/* ---- texts ---- */

static void texts_of_all_widths(void **state)
{
	static const uint8_t latin1[] = {'g', 'r', 0xf6, 0xdf, 'e'};
	static const uint16_t two[] = {0x416, 0x4e2d, 0xd800, 'x'};
	static const uint32_t four[] = {0x1f600, 'y', 0x7fffffff};

	(void)state;
	for (size_t v = 0; v < VERSIONS; v++) {
		struct python_code code;
		struct world w;
		uint64_t at;

		open_world(&w, versions[v]);
		at = made_code(&w.made, &w.o, "f", "f.py", 1);
		made_put_64(&w.made, at + w.o.code_name,
			    made_text(&w.made, &w.o, latin1, 5, 1, false));
		assert_int_equal(python_code_read(&w.memory, &w.o, &w.types, at, &code), 0);
		assert_string_equal(code.name, "gr\xc3\xb6\xc3\x9f"
					       "e");
		made_put_64(&w.made, at + w.o.code_name,
			    made_text(&w.made, &w.o, two, 4, 2, false));
		assert_int_equal(python_code_read(&w.memory, &w.o, &w.types, at, &code), 0);
		assert_string_equal(code.name, "\xd0\x96\xe4\xb8\xad\xef\xbf\xbdx");
		made_put_64(&w.made, at + w.o.code_name,
			    made_text(&w.made, &w.o, four, 3, 4, false));
		assert_int_equal(python_code_read(&w.memory, &w.o, &w.types, at, &code), 0);
		assert_string_equal(code.name, "\xf0\x9f\x98\x80y\xef\xbf\xbd");
		close_world(&w);
	}
}

static void long_texts_are_cut(void **state)
{
	struct python_code code;
	struct world w;
	char name[3000];
	uint16_t wide[3000];
	uint64_t at;

	(void)state;
	open_world(&w, 0x030b07f0);
	for (size_t i = 0; i < sizeof(name); i++) {
		name[i] = (char)('a' + i % 26);
		wide[i] = 0x4e2d;
	}
	name[sizeof(name) - 1] = '\0';
	at = made_code(&w.made, &w.o, name, name, 1);
	assert_int_equal(python_code_read(&w.memory, &w.o, &w.types, at, &code), 0);
	assert_int_equal(strlen(code.name), PYTHON_TEXT_MAX - 1);
	assert_memory_equal(code.name, name, PYTHON_TEXT_MAX - 1); /* the beginning of a name */
	assert_string_equal(code.path, name + sizeof(name) - PYTHON_PATH_MAX); /* a path's end */
	made_put_64(&w.made, at + w.o.code_name, made_text(&w.made, &w.o, wide, 3000, 2, false));
	assert_int_equal(python_code_read(&w.memory, &w.o, &w.types, at, &code), 0);
	assert_int_equal(strlen(code.name), (PYTHON_TEXT_MAX - 1) / 3 * 3);
	close_world(&w);
}

static void objects_of_other_types_are_refused(void **state)
{
	struct python_code code;
	struct world w;
	uint64_t at;

	(void)state;
	open_world(&w, 0x030b07f0);
	at = made_code(&w.made, &w.o, "f", "f.py", 1);
	w.types.code = TEXT_TYPE;
	assert_int_equal(python_code_read(&w.memory, &w.o, &w.types, at, &code), -EBADMSG);
	w.types = (struct python_types){.code = CODE_TYPE, .text = CODE_TYPE};
	assert_int_equal(python_code_read(&w.memory, &w.o, &w.types, at, &code), -EBADMSG);
	w.types = (struct python_types){0}; /* unknown types are not checked */
	assert_int_equal(python_code_read(&w.memory, &w.o, &w.types, at, &code), 0);
	assert_int_equal(python_code_read(&w.memory, &w.o, &w.types, at + 4, &code), -EBADMSG);
	assert_int_equal(python_code_read(&w.memory, &w.o, &w.types, 0x1000, &code), -EFAULT);
	close_world(&w);
}

/* ---- lines ---- */

static uint32_t line_at(struct world *w, uint64_t code, uint64_t bytes)
{
	struct python_frame frame = {.code = code, .place = bytes};

	if (w->o.place_form == PYTHON_PLACE_POINTER)
		frame.place = code + w->o.code_instructions + bytes;
	else if (w->o.place_form == PYTHON_PLACE_UNITS)
		frame.place = bytes / 2;
	return python_line(&w->memory, &w->o, &frame);
}

static uint64_t open_lines(struct world *w, uint32_t hex, const void *table, size_t size)
{
	uint64_t code;

	open_world(w, hex);
	code = made_code(&w->made, &w->o, "f", "f.py", 100);
	made_put_64(&w->made, code + w->o.code_lines, made_bytes(&w->made, &w->o, table, size));
	return code;
}

static void lines_by_pairs(void **state)
{
	/* 2 bytes on 100, 4 on 103, 300 on 102, the rest on 302 */
	static const uint8_t table[] = {2, 3, 4, 0xff, 255, 0, 45, 127, 0, 73};
	struct world w;
	uint64_t code = open_lines(&w, 0x030912f0, table, sizeof(table));

	(void)state;
	assert_int_equal(line_at(&w, code, 0), 100);
	assert_int_equal(line_at(&w, code, 2), 103);
	assert_int_equal(line_at(&w, code, 4), 103);
	assert_int_equal(line_at(&w, code, 6), 102);
	assert_int_equal(line_at(&w, code, 304), 102);
	assert_int_equal(line_at(&w, code, 306), 302);
	assert_int_equal(line_at(&w, code, 5000), 302);
	assert_int_equal(line_at(&w, code, UINT32_MAX), 100); /* -1: not begun */
	close_world(&w);
}

static void lines_by_ranges(void **state)
{
	/* 4 bytes on 101, 2 without a line, 2 on 99 */
	static const uint8_t table[] = {4, 1, 2, 0x80, 2, 0xfe};
	struct world w;
	uint64_t code = open_lines(&w, 0x030a0df0, table, sizeof(table));

	(void)state;
	assert_int_equal(line_at(&w, code, 0), 101);
	assert_int_equal(line_at(&w, code, 2), 101);
	assert_int_equal(line_at(&w, code, 4), 0);
	assert_int_equal(line_at(&w, code, 6), 99);
	assert_int_equal(line_at(&w, code, 8), 0);
	close_world(&w);
}

static void lines_by_locations(void **state)
{
	static const uint8_t table[] = {
		0x80 | 0 << 3 | 1,
		0x12, /* 2 units, same line: 100 */
		0x80 | 11 << 3 | 0,
		0,
		9, /* 1 unit, one line on: 101 */
		0x80 | 13 << 3 | 2,
		0x40 | (70 & 0x3f),
		70 >> 6, /* 3 units, + 35: 136 */
		0x80 | 14 << 3 | 0,
		3,
		0x41,
		0x02,
		5,
		6,                  /* 1 unit, - 1, long: 135 */
		0x80 | 15 << 3 | 0, /* 1 unit without a line */
		0x80 | 12 << 3 | 7,
		1,
		2, /* 8 units, two lines on: 137 */
	};

	(void)state;
	for (size_t v = 3; v < VERSIONS; v++) {
		struct world w;
		uint64_t code = open_lines(&w, versions[v], table, sizeof(table));
		struct python_frame before = {.code = code, .place = code};

		assert_int_equal(line_at(&w, code, 0), 100);
		assert_int_equal(line_at(&w, code, 2), 100);
		assert_int_equal(line_at(&w, code, 4), 101);
		assert_int_equal(line_at(&w, code, 6), 136);
		assert_int_equal(line_at(&w, code, 10), 136);
		assert_int_equal(line_at(&w, code, 12), 135);
		assert_int_equal(line_at(&w, code, 14), 0);
		assert_int_equal(line_at(&w, code, 16), 137);
		assert_int_equal(line_at(&w, code, 30), 137);
		assert_int_equal(line_at(&w, code, 32), 0); /* past the end */
		assert_int_equal(python_line(&w.memory, &w.o, &before), 100);
		close_world(&w);
	}
}

static void tables_longer_than_a_piece(void **state)
{
	uint8_t table[2000];
	struct world w;
	uint64_t code;

	(void)state;
	for (size_t i = 0; i < sizeof(table); i += 2) {
		table[i] = 2;
		table[i + 1] = 1;
	}
	code = open_lines(&w, 0x030a0df0, table, sizeof(table));
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(line_at(&w, code, 2 * i), 101 + i);
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_not_known_are_refused),
		cmocka_unit_test(nonsense_in_runtime_is_refused),
		cmocka_unit_test(frames_of_every_version),
		cmocka_unit_test(texts_make_a_difference_and_addresses_do_not),
		cmocka_unit_test(tables_make_a_difference_to_lines),
		cmocka_unit_test(the_interpreters_own_code_says_so),
		cmocka_unit_test(numbers_make_a_difference_and_names_do_not),
		cmocka_unit_test(entries_have_anchors),
		cmocka_unit_test(incomplete_frames_are_no_entries),
		cmocka_unit_test(copies_of_instructions_have_the_lines),
		cmocka_unit_test(tagged_references_are_understood),
		cmocka_unit_test(no_frames_are_no_frames),
		cmocka_unit_test(a_cycle_ends),
		cmocka_unit_test(too_deep_is_cut),
		cmocka_unit_test(torn_memory_does_no_harm),
		cmocka_unit_test(texts_of_all_widths),
		cmocka_unit_test(long_texts_are_cut),
		cmocka_unit_test(objects_of_other_types_are_refused),
		cmocka_unit_test(lines_by_pairs),
		cmocka_unit_test(lines_by_ranges),
		cmocka_unit_test(lines_by_locations),
		cmocka_unit_test(tables_longer_than_a_piece),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
