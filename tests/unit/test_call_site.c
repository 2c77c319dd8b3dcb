/* SPDX-License-Identifier: MIT */
/* Calls before return addresses: what GNU as makes of every form, and what is no call. */
#include "unit.h"
#include "symbolize/call_site.h"
#include "tests/unit/own_folder.h"

/* Assembles instructions; the offset at which each ends in *ends. Returns the code's size. */
static size_t assemble(const char *const *lines, size_t count, uint8_t *code, size_t room,
		       unsigned int *ends)
{
	char path[256], command[1024];
	size_t size;
	FILE *file;

	snprintf(path, sizeof(path), "%s/calls.S", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	for (size_t i = 0; i < count; i++)
		fprintf(file, "\t%s\nend_%zu:\n", lines[i], i);
	fputs("\t.section .ends,\"a\"\n", file);
	for (size_t i = 0; i < count; i++)
		fprintf(file, "\t.long end_%zu - .text\n", i);
	fclose(file);
	snprintf(command, sizeof(command),
		 "cd %s && ${CC:-cc} -c calls.S -o calls.o && objcopy -O binary -j .text calls.o "
		 "text && objcopy -O binary -j .ends calls.o ends",
		 folder);
	assert_int_equal(system(command), 0);
	snprintf(path, sizeof(path), "%s/ends", folder);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fread(ends, sizeof(*ends), count, file), count);
	fclose(file);
	snprintf(path, sizeof(path), "%s/text", folder);
	file = fopen(path, "r");
	assert_non_null(file);
	size = fread(code, 1, room, file);
	fclose(file);
	return size;
}

static struct call_site site_at(const uint8_t *code, size_t end)
{
	size_t size = end < CALL_SITE_BYTES ? end : CALL_SITE_BYTES;
	struct call_site site;
	bool is_call = call_site_read(code + end - size, size, &site);

	assert_int_equal(is_call, site.is_direct || site.is_indirect);
	return site;
}

static const char *const registers[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
					"r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

static void every_form_of_an_indirect_call(void **state)
{
	static const char *const forms[] = {
		"call *%%%s",
		"call *(%%%s)",
		"call *17(%%%s)",
		"call *0x12345(%%%s)",
		"call *(%%rax,%%%s,4)",
		"call *-3(%%rbp,%%%s,8)",
		"call *0x77777(%%r13,%%%s,1)",
		"call *0x55(,%%%s,2)",
		"notrack call *%%%s",
	};
	enum { FORMS = sizeof(forms) / sizeof(forms[0]), COUNT = FORMS * 16 + 3 };
	static char text[COUNT][64];
	const char *lines[COUNT];
	unsigned int ends[COUNT];
	uint8_t code[16 * COUNT];
	size_t count = 0;

	(void)state;
	for (size_t f = 0; f < FORMS; f++) {
		for (size_t r = 0; r < 16; r++) {
			if (r == 4 && f >= 4 && f <= 7)
				continue; /* rsp is no index */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
			snprintf(text[count], sizeof(text[0]), forms[f], registers[r]);
#pragma GCC diagnostic pop
			lines[count] = text[count];
			count++;
		}
	}
	lines[count++] = "call *0x1234(%rip)";
	lines[count++] = "call *0x1000";
	assemble(lines, count, code, sizeof(code), ends);
	for (size_t i = 0; i < count; i++) {
		if (!site_at(code, ends[i]).is_indirect)
			fail_msg("%s is no call", lines[i]);
	}
}

static void direct_calls_and_their_targets(void **state)
{
	static const char *const lines[] = {"nop", "call .text", "call .text + 0x40",
					    ".byte 0x66, 0x66, 0x48\n\tcall .text + 8"};
	static const int targets[] = {0, 0, 0x40, 8};
	unsigned int ends[4];
	uint8_t code[64];

	(void)state;
	assemble(lines, 4, code, sizeof(code), ends);
	for (int i = 1; i < 4; i++) {
		struct call_site site = site_at(code, ends[i]);

		assert_true(site.is_direct);
		assert_int_equal((int)ends[i] + site.displacement, targets[i]);
	}
}

static void what_is_no_call(void **state)
{
	static const char *const lines[] = {
		"nop",          "jmp *%rax",     "jmp .text",        "push (%rax)",
		"incl (%rax)",  "lcall *(%rax)", "mov %rsp,%rbp",    "ret",
		"jmp *8(%rip)", "push 8(%rbp)",  "mov $0x1234,%eax", "decl 0x33(%rbx,%rcx)",
	};
	unsigned int ends[sizeof(lines) / sizeof(lines[0])];
	uint8_t code[128];
	const size_t count = sizeof(lines) / sizeof(lines[0]);

	(void)state;
	assemble(lines, count, code, sizeof(code), ends);
	for (size_t i = 0; i < count; i++) {
		struct call_site site;
		size_t start = i ? ends[i - 1] : 0;

		if (call_site_read(code + start, ends[i] - start, &site))
			fail_msg("%s is a call", lines[i]);
	}
}

static void nothing_before_the_code_is_read(void **state)
{
	static const uint8_t call[] = {0xe8, 1, 2, 3, 4};
	struct call_site site;

	(void)state;
	assert_false(call_site_read(call, 0, &site));
	assert_false(call_site_read(call + 1, 4, &site));
	assert_true(call_site_read(call, 5, &site));
	assert_int_equal(site.displacement, 0x04030201);
	assert_false(site.is_indirect);
}

static void stubs_jump(void **state)
{
	static const struct {
		uint8_t code[CALL_STUB_BYTES];
		bool is_stub;
	} cases[] = {
		{{0xff, 0x25, 1, 2, 3, 4}, true},
		{{0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25}, true},
		{{0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25}, true},
		{{0xe9, 1, 2, 3, 4}, true},
		{{0xeb, 0x10}, true},
		{{0xff, 0xe0}, true},
		{{0xff, 0x15, 1, 2, 3, 4}, false},
		{{0xff, 0xd0}, false},
		{{0x55, 0x48, 0x89, 0xe5}, false},
		{{0xf3, 0x0f, 0x1e, 0xfa, 0x55}, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(call_site_is_stub(cases[i].code, CALL_STUB_BYTES),
				 cases[i].is_stub);
	assert_false(call_site_is_stub(cases[0].code, 1));
	assert_false(call_site_is_stub(cases[1].code, 4));
	assert_false(call_site_is_stub(cases[0].code, 0));
}

static void where_stubs_jump_to(void **state)
{
	static const struct {
		uint8_t code[CALL_STUB_BYTES];
		struct call_stub stub; /* length 0: none */
	} cases[] = {
		{{0xff, 0x25, 1, 2, 0, 0}, {6, true, 0x201}},
		{{0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 2, 0, 0, 0}, {10, true, 2}},
		{{0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 3, 0, 0, 0}, {11, true, 3}},
		{{0xe9, 0xff, 0xff, 0xff, 0xff}, {5, false, -1}},
		{{0xf3, 0x0f, 0x1e, 0xfa, 0xeb, 0xfe}, {6, false, -2}},
		{{0xff, 0xe0}, {0}},
		{{0xff, 0x15, 1, 2, 3, 4}, {0}},
		{{0x55, 0xe9}, {0}},
	};
	struct call_stub stub;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct call_stub *is = &cases[i].stub;

		assert_int_equal(call_site_read_stub(cases[i].code, CALL_STUB_BYTES, &stub),
				 is->length > 0);
		if (is->length == 0)
			continue;
		assert_int_equal(stub.length, is->length);
		assert_int_equal(stub.is_by_word, is->is_by_word);
		assert_int_equal(stub.displacement, is->displacement);
		for (size_t size = 0; size < is->length; size++)
			assert_false(call_site_read_stub(cases[i].code, size, &stub));
	}
}

static void calls_by_a_word(void **state)
{
	static const uint8_t code[] = {0x90, 0xff, 0x15, 4, 1, 0, 0};
	struct call_site site;

	(void)state;
	assert_true(call_site_read(code, sizeof(code), &site));
	assert_true(site.is_indirect && site.is_by_word && !site.is_direct);
	assert_int_equal(site.word_displacement, 0x104);
	assert_int_equal(call_site_indirect(code + 1, 6), 6);
	assert_int_equal(call_site_indirect(code + 1, 5), 0);
	assert_int_equal(call_site_indirect(code, 7), 0);
	assert_int_equal(call_site_indirect((const uint8_t *)"\xff\xd0", 2), 2);
	assert_int_equal(call_site_indirect((const uint8_t *)"\xff\xd0", 1), 0);
	assert_int_equal(call_site_indirect((const uint8_t *)"\xff\x54\x24\x08", 4), 4);
}

/* A function of 16 bytes at 0x1000 that jumps to 0x1040. */
static void functions_that_end_with_a_jump(void **state)
{
	static const uint8_t near[16] = {0x55, 0x5d, 0xe9, 0x39, 0, 0, 0};
	static const uint8_t conditional[16] = {0x0f, 0x84, 0x3a, 0, 0, 0};
	static const uint8_t brief[16] = {0x55, 0x5d, 0xeb, 0x3c};
	static const uint8_t indirect[16] = {0x55, 0xff, 0xe0};
	static const uint8_t call[16] = {0x55, 0xe8, 0x3a, 0, 0, 0, 0xff, 0xd0, 0xc3};
	const uint8_t *const jumping[] = {near, conditional, brief};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_true(call_site_may_jump(jumping[i], 16, 0x1000, 0x1040, 0x1041, false));
		assert_true(call_site_may_jump(jumping[i], 16, 0x1000, 0x1030, 0x1080, false));
		assert_false(call_site_may_jump(jumping[i], 16, 0x1000, 0x1041, 0x2000, false));
		assert_false(call_site_may_jump(jumping[i], 16, 0x1000, 0, 0x1040, false));
		assert_true(call_site_may_jump(jumping[i], 16, 0x1000, 0x1000, 0x1010, true));
		assert_false(call_site_may_jump(jumping[i], 16, 0x1000, 0x1000, 0x1041, true));
	}
	assert_true(call_site_may_jump(indirect, 16, 0x1000, 0, 0, false));
	assert_false(call_site_may_jump(call, 16, 0x1000, 0x1040, 0x1041, false));
	assert_false(call_site_may_jump(near, 6, 0x1000, 0x1040, 0x1041, false));
	assert_false(call_site_may_jump(near, 0, 0x1000, 0x1040, 0x1041, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_form_of_an_indirect_call),
		cmocka_unit_test(direct_calls_and_their_targets),
		cmocka_unit_test(what_is_no_call),
		cmocka_unit_test(nothing_before_the_code_is_read),
		cmocka_unit_test(stubs_jump),
		cmocka_unit_test(where_stubs_jump_to),
		cmocka_unit_test(calls_by_a_word),
		cmocka_unit_test(functions_that_end_with_a_jump),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
