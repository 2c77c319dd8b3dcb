/* SPDX-License-Identifier: MIT */
/*
 * Programs are compiled here ($CC or cc, $CXX or c++) in a temporary folder; addr2line reads their
 * DWARF independently.
 */
#include "unit.h"
#include "symbolize/demangle.h"
#include "symbolize/debuginfod.h"
#include "symbolize/dwarf.h"
#include "symbolize/modules.h"
#include "symbolize/symbolizer.h"
#include "symbolize/util/text.h"
#include "tests/unit/own_folder.h"

static const char c_program[] =
	"volatile int sink;\n"
	"#define INLINE __attribute__((always_inline)) static inline\n"
	"INLINE int innermost(int x) { for (int i = 0; i < x; i++) sink += i * x; return sink; }\n"
	"INLINE int middle(int x) { if (x & 1) { int y = innermost(x + 1); sink = y; }\n"
	"	return innermost(x) + sink; }\n"
	"INLINE int outermost(int x) { sink = 3; x += middle(x); sink = 4; return x; }\n"
	"__attribute__((noinline)) int work(int x) { sink = 1; x = outermost(x);\n"
	"	return x + middle(2); }\n"
	"__attribute__((noinline)) int plain(int x) { sink = x; return sink + 2; }\n"
	"int main(int argc, char **argv) { (void)argv; return work(argc) + plain(argc); }\n";

static const char cxx_program[] =
	"volatile long sink;\n"
	"#define INLINE __attribute__((always_inline)) inline\n"
	"namespace outer {\n"
	"template <class T> struct Box { T value;\n"
	"	INLINE T twice(T by) { for (T i = 0; i < by; i++) sink += long(value * i);\n"
	"		return value + by; } };\n"
	"template <int N> struct Chain { INLINE static long call(long x) { sink += N;\n"
	"	return Chain<N - 1>::call(x + sink); } };\n"
	"template <> struct Chain<0> { INLINE static long call(long x)\n"
	"	{ sink = x; return sink; } };\n"
	"struct Functor { INLINE long operator()(long y) const { sink += y;\n"
	"	return Chain<2>::call(y); } };\n"
	"template <class F> INLINE long apply(F f, long x) { return f(x) + sink; }\n"
	"__attribute__((noinline)) long work(long x) {\n"
	"	Box<int> box{int(x)};\n"
	"	x += box.twice(7) + Chain<5>::call(x);\n"
	"	return apply(Functor(), x); }\n"
	"}\n"
	"int main(int argc, char **) { try { if (argc > 9) throw argc; } catch (int x) {\n"
	"	return int(outer::Chain<1>::call(x)); }\n"
	"	return int(outer::work(argc)); }\n";

static int load(const char *name, struct dwarf **dwarf)
{
	char path[256], root[256];
	struct debug_file_search search = {.path = path, .root = root};
	struct quota_share share;
	int fd, err;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	snprintf(root, sizeof(root), "%s/debug", folder);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	*dwarf = NULL;
	do {
		quota_share_open(&share, TABLE_QUOTA_FILE_BYTES);
		err = dwarf_load(fd, &search, &share, dwarf);
	} while (err == -ENOENT && debug_file_ask(&search));
	assert_true(quota_share_close(&share) <= TABLE_QUOTA_FILE_BYTES);
	close(fd); /* all that follows has to work without it */
	return err;
}

/* Joins names by ';', outermost first. */
static void join(const char *const *names, size_t count, char *text, size_t size)
{
	struct demangler *demangler = demangler_new();
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		char *name = demangle(demangler, names[i] ? names[i] : "??", DEMANGLE_FUNCTION);

		assert_non_null(name);
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ";" : "", name);
		assert_true(used < size);
		free(name);
	}
	demangler_free(demangler);
}

struct reading {
	uint64_t address;
	char *names[DWARF_MAX_DEPTH]; /* innermost first, as addr2line has them */
	size_t count;
};

/* Compares one address; returns how many functions there are. */
static size_t compare(struct dwarf *dwarf, struct reading *r)
{
	const char *names[DWARF_MAX_DEPTH], *expected[DWARF_MAX_DEPTH];
	char ours[8192], theirs[8192];
	size_t count = dwarf_find(dwarf, NULL, r->address, names);

	for (size_t i = 0; i < r->count; i++)
		expected[i] = r->names[r->count - 1 - i];
	join(names, count, ours, sizeof(ours));
	join(expected, r->count, theirs, sizeof(theirs));
	if (strcmp(ours, theirs) != 0)
		fail_msg("%#lx: %s instead of %s", (unsigned long)r->address, ours, theirs);
	for (size_t i = 0; i < r->count; i++)
		free(r->names[i]);
	r->count = 0;
	return count;
}

/*
 * Compares every byte of functions that match `functions`, as nm lists them, with addr2line on
 * `reference`. Returns the greatest depth found.
 */
static size_t check_all(const char *name, const char *reference, const char *functions)
{
	struct reading reading = {0};
	size_t depth = 0, addresses = 0;
	struct dwarf *dwarf;
	char line[8192];
	FILE *pipe;

	assert_int_equal(load(name, &dwarf), 0);
	snprintf(line, sizeof(line),
		 "cd %s && nm -S %s | awk '$4 ~ /%s/ && $3 ~ /[tT]/ {print $1, $2}' | "
		 "while read -r a s; do for ((i = 0x$a; i < 0x$a + 0x$s; i++)); do "
		 "printf '%%x\\n' $i; done; done >pcs; ${ADDR2LINE:-addr2line} -a -i -f -e %s <pcs",
		 folder, reference, functions, reference);
	setenv("COMMAND", line, 1);
	pipe = popen("exec bash -c \"$COMMAND\"", "r");
	assert_non_null(pipe);
	while (fgets(line, sizeof(line), pipe)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "0x", 2) == 0) {
			if (reading.count) {
				size_t count = compare(dwarf, &reading);

				depth = count > depth ? count : depth;
			}
			reading.address = strtoull(line, NULL, 16);
			addresses++;
			continue;
		}
		assert_true(reading.count < DWARF_MAX_DEPTH);
		reading.names[reading.count++] = strdup(line);
		assert_non_null(fgets(line, sizeof(line), pipe)); /* file:line */
	}
	if (reading.count)
		compare(dwarf, &reading);
	pclose(pipe);
	assert_true(addresses > 40);
	dwarf_free(dwarf);
	return depth;
}

#define FUNCTIONS "main|work|plain"

static void inlined_functions_are_as_addr2line_has_them(void **state)
{
	static const char *const flags[] = {"-g -gdwarf-5",
					    "-g -gdwarf-4",
					    "-g -gdwarf-3",
					    "-g1",
					    "-g -gdwarf-5 -ffunction-sections -no-pie",
					    "-g -gz=zlib"};

	(void)state;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		shell("${CC:-cc} -O2 %s -o c c.c && ${CXX:-c++} -O2 %s -o cxx cxx.cc", flags[i],
		      flags[i]);
		assert_int_equal(check_all("c", "c", FUNCTIONS), 4);
		assert_true(check_all("cxx", "cxx", FUNCTIONS) >= 7);
	}
}

/* binutils 2.40 does not read clang's ranges in DWARF 5. */
static void with_clang_as_well(void **state)
{
	(void)state;
	if (system("command -v clang >/dev/null") != 0)
		SKIP("there is no clang");
	shell("clang -O2 -g -gdwarf-4 -o c c.c && clang++ -O2 -g -gdwarf-4 -o cxx cxx.cc");
	assert_int_equal(check_all("c", "c", FUNCTIONS), 4);
	assert_true(check_all("cxx", "cxx", FUNCTIONS) >= 7);
	if (system("command -v llvm-addr2line >/dev/null") != 0)
		SKIP("there is no llvm-addr2line for DWARF 5");
	shell("clang -O2 -g -gdwarf-5 -o c c.c && clang++ -O2 -g -gdwarf-5 -o cxx cxx.cc");
	setenv("ADDR2LINE", "llvm-addr2line", 1);
	assert_int_equal(check_all("c", "c", FUNCTIONS), 4);
	assert_true(check_all("cxx", "cxx", FUNCTIONS) >= 7);
	unsetenv("ADDR2LINE");
}

static void link_time_optimisation(void **state)
{
	(void)state;
	shell("${CC:-cc} -O2 -g -flto -o c c.c");
	assert_int_equal(check_all("c", "c", FUNCTIONS), 4);
}

static void separate_debug_files(void **state)
{
	struct dwarf *dwarf;

	(void)state;
	shell("${CC:-cc} -O2 -g -Wl,--build-id=none -o whole c.c && "
	      "objcopy --only-keep-debug whole part.debug && cp whole part && strip part && "
	      "objcopy --add-gnu-debuglink=part.debug part");
	assert_int_equal(check_all("part", "whole", FUNCTIONS), 4);
	shell("rm part.debug");
	assert_int_equal(load("part", &dwarf), -ENOENT);
	shell("${CC:-cc} -O2 -g -Wl,--build-id -o whole c.c && "
	      "id=$(readelf -n whole | awk '/Build ID/ {print $3}') && rest=${id#??} && "
	      "mkdir -p debug/.build-id/${id%%%%$rest} && "
	      "objcopy --only-keep-debug whole debug/.build-id/${id%%%%$rest}/$rest.debug && "
	      "strip -o part whole");
	assert_int_equal(check_all("part", "whole", FUNCTIONS), 4);
}

/* Joins "work:c.c inner:inc/h.h" from the functions at an address, without the folder. */
static void join_sources(struct dwarf *dwarf, uint64_t address, char *text, size_t size)
{
	struct source_place sources[DWARF_MAX_DEPTH];
	const char *names[DWARF_MAX_DEPTH];
	size_t count = dwarf_find(dwarf, NULL, address, names), used = 0;

	text[0] = '\0';
	assert_int_equal(dwarf_find_sources(dwarf, address, sources), count);
	for (size_t i = 0; i < count; i++) {
		const struct source_place *s = &sources[i];
		char path[1024];
		const char *from = path;

		assert_non_null(s->name);
		snprintf(path, sizeof(path), "%s/%s/%s",
			 s->folder && s->folder[0] == '/' ? "" : s->compiled_in,
			 s->folder ? s->folder : ".", s->name);
		if (s->name[0] == '/')
			from = s->name;
		from += strspn(from, "/") ? strspn(from, "/") - 1 : 0;
		if (strncmp(from, folder, strlen(folder)) == 0)
			from += strlen(folder) + 1;
		while (strncmp(from, "./", 2) == 0)
			from += 2;
		used += (size_t)snprintf(text + used, size - used, "%s%s:%s", i ? " " : "",
					 names[i], from);
	}
}

/* Each function has the file that defines it, also one that its header declares. */
static void sources_of_functions(void **state)
{
	static const char *const flags[] = {
		"-gdwarf-2",          "-gdwarf-3",          "-gdwarf-4", "-gdwarf-5",
		"-gdwarf-5 -gz=zlib", "-gdwarf-4 -gz=zlib", "-g -flto",
	};
	static const char *const compilers[] = {"${CXX:-c++}", "clang++"};
	char line[256];

	(void)state;
	shell("mkdir -p inc sub/er");
	write_text("inc/h.h", "#pragma once\n"
			      "extern volatile int sink;\n"
			      "struct K { int in_header(int x) { sink = x; return sink * 3; }\n"
			      "	__attribute__((noinline)) int elsewhere(int x); };\n"
			      "__attribute__((always_inline)) static inline int inner(int x)\n"
			      "{ for (int i = 0; i < x; i++) sink += i; return sink; }\n");
	write_text("sub/er/m.cc",
		   "#include \"h.h\"\n"
		   "volatile int sink;\n"
		   "int K::elsewhere(int x) { return inner(x) + 1; }\n"
		   "int main(int argc, char **) { K k; return k.elsewhere(argc); }\n");
	for (size_t c = 0; c < 2; c++)
		for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
			struct dwarf *dwarf;
			uint64_t start = 0, size = 0;
			bool has_outer = false, has_inner = false;
			FILE *nm;

			if (c == 1 && (system("command -v clang++ >/dev/null") != 0 ||
				       strstr(flags[i], "lto")))
				continue;
			shell("%s -O2 %s -Iinc -o m sub/er/m.cc", compilers[c], flags[i]);
			snprintf(line, sizeof(line), "nm -S %.40s/m | grep elsewhere", folder);
			nm = popen(line, "r");
			assert_non_null(nm);
			assert_int_equal(fscanf(nm, "%lx %lx", &start, &size), 2);
			pclose(nm);
			assert_int_equal(load("m", &dwarf), 0);
			for (uint64_t at = start; at < start + size; at++) {
				char text[4096];

				join_sources(dwarf, at, text, sizeof(text));
				has_outer |= strcmp(text, "_ZN1K9elsewhereEi:sub/er/m.cc") == 0;
				has_inner |= !!strstr(text, "_ZN1K9elsewhereEi:sub/er/m.cc "
							    "_ZL5inneri:inc/h.h") ||
					     !!strstr(text, "_ZN1K9elsewhereEi:sub/er/m.cc "
							    "inner:inc/h.h");
				if (at == start &&
				    !starts_with(text, "_ZN1K9elsewhereEi:sub/er/m.cc"))
					fail_msg("%s %s: %s", compilers[c], flags[i], text);
			}
			if (!has_outer || !has_inner)
				fail_msg("%s %s: %d %d", compilers[c], flags[i], has_outer,
					 has_inner);
			dwarf_free(dwarf);
		}
}

/* Sections as old versions of objcopy compressed them, without a mark. addr2line cannot read
 * them. */
static void old_compressed_sections(void **state)
{
	static const char *const flags[] = {"-gdwarf-5", "-gdwarf-4"};
	char path[256];

	(void)state;
	snprintf(path, sizeof(path), "%s/marked", folder);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		shell("${CC:-cc} -O2 -g %s -Wl,--build-id=none -o whole c.c && "
		      "objcopy --compress-debug-sections=zlib-gnu whole z",
		      flags[i]);
		shell("readelf -SW z | grep -q zdebug_info || touch marked");
		if (access(path, F_OK) == 0)
			SKIP("objcopy makes no .zdebug_ sections any more");
		assert_int_equal(check_all("z", "whole", FUNCTIONS), 4);
		shell("objcopy --only-keep-debug z part.debug && strip -o part whole && "
		      "objcopy --add-gnu-debuglink=part.debug part");
		assert_int_equal(check_all("part", "whole", FUNCTIONS), 4);
	}
}

/* Loads this file; looks up all of its code; returns what was met that is not read. */
static enum dwarf_unread unread_in(const char *name)
{
	const char *names[DWARF_MAX_DEPTH];
	enum dwarf_unread unread;
	struct dwarf *dwarf;

	assert_int_equal(load(name, &dwarf), 0);
	for (uint64_t address = 0x1000; address < 0x2000; address++)
		dwarf_find(dwarf, NULL, address, names);
	unread = dwarf_unread(dwarf);
	dwarf_free(dwarf);
	return unread;
}

static void what_is_not_read_is_told(void **state)
{
	(void)state;
	shell("${CC:-cc} -O2 -g -o c c.c");
	assert_int_equal(unread_in("c"), DWARF_UNREAD_NOTHING);
	shell("${CC:-cc} -O2 -g -gsplit-dwarf -o split c.c");
	assert_int_equal(unread_in("split"), DWARF_UNREAD_SPLIT);
	shell("${CC:-cc} -O2 -g -gdwarf-4 -gsplit-dwarf -o split c.c");
	assert_int_equal(unread_in("split"), DWARF_UNREAD_SPLIT);
}

static void a_common_file_of_dwz_is_told(void **state)
{
	(void)state;
	if (system("command -v dwz >/dev/null") != 0)
		SKIP("there is no dwz");
	shell("${CC:-cc} -O2 -g -o one c.c && sed s/plain/other/ c.c >d.c && "
	      "${CC:-cc} -O2 -g -o two d.c && dwz -m common one two");
	assert_int_equal(unread_in("one"), DWARF_UNREAD_COMMON);
}

static void debug_files_of_servers(void **state)
{
	static const char *const callers[] = {"SUDO_UID", "DOAS_USER", "PKEXEC_UID"};
	char path[512];
	struct dwarf *dwarf;

	(void)state;
	shell("rm -rf debug && ${CC:-cc} -O2 -g -Wl,--build-id -o whole c.c && "
	      "objcopy --only-keep-debug whole served && strip -o part whole && mkdir -p bin && "
	      "printf '#!/bin/sh\\necho \"$@\" >>%s/asked\\n"
	      "test -f %s/served && echo %s/served\\n' >bin/debuginfod-find && "
	      "chmod +x bin/debuginfod-find",
	      folder, folder, folder);
	snprintf(path, sizeof(path), "%s/bin:%s", folder, getenv("PATH"));
	setenv("PATH", path, 1);
	setenv("DEBUGINFOD_URLS", "http://127.0.0.1:9", 1);
	assert_int_equal(load("part", &dwarf), -ENOENT); /* nobody allowed it */
	debuginfod_allow(10000);
	setenv("DEBUGINFOD_URLS", "", 1);
	assert_int_equal(load("part", &dwarf), -ENOENT);
	unsetenv("DEBUGINFOD_URLS");
	assert_int_equal(load("part", &dwarf), -ENOENT);
	setenv("DEBUGINFOD_URLS", "http://127.0.0.1:9", 1);
	for (size_t i = 0; geteuid() == 0 && i < sizeof(callers) / sizeof(*callers); i++) {
		setenv(callers[i], "1000", 1); /* root with the environment of somebody */
		assert_int_equal(load("part", &dwarf), -ENOENT);
		unsetenv(callers[i]);
	}
	shell("test ! -e asked");

	assert_int_equal(check_all("part", "whole", FUNCTIONS), 4);
	shell("test \"$(cat asked)\" = \"debuginfo $(readelf -n part | "
	      "awk '/Build ID/ {print $3}')\"");
	shell("mv served x && ${CXX:-c++} -O2 -g -Wl,--build-id -o served cxx.cc");
	assert_int_equal(load("part", &dwarf), -ENOENT); /* another program's */
	shell("rm served && mkfifo served");
	assert_int_equal(load("part", &dwarf), -ENOENT);
	assert_int_equal(debuginfod_not_asked(), 0);
	shell("printf '#!/bin/sh\\necho %s/x\\nsleep 60\\n' >bin/debuginfod-find", folder);
	debuginfod_allow(300);
	assert_int_equal(load("part", &dwarf), -ENOENT); /* killed */
	assert_int_equal(debuginfod_not_asked(), 1);
	shell("mv x served && printf '#!/bin/sh\\necho %s/served\\n' >bin/debuginfod-find", folder);
	assert_int_equal(load("part", &dwarf), -ENOENT); /* no second request */
	assert_int_equal(debuginfod_not_asked(), 2);
	/* one budget for all: short answers use it up, too */
	shell("rm asked && printf '#!/bin/sh\\necho >>%s/asked\\nsleep 0.15\\nexit 1\\n' "
	      ">bin/debuginfod-find",
	      folder);
	debuginfod_allow(400);
	for (int i = 0; i < 6; i++)
		assert_int_equal(load("part", &dwarf), -ENOENT);
	shell("test $(wc -l <asked) -le 3 && test $(wc -l <asked) -ge 1");
	assert_true(debuginfod_not_asked() >= 3);
	debuginfod_allow(0);
	unsetenv("DEBUGINFOD_URLS");
}

static void nothing_to_read(void **state)
{
	struct dwarf *dwarf;

	(void)state;
	shell("${CC:-cc} -O2 -g0 -Wl,--build-id=none -o none c.c");
	assert_int_equal(load("none", &dwarf), -ENOENT);
	assert_int_equal(load("c.c", &dwarf), -ENOEXEC);
	assert_null(dwarf);
}

static void depth_is_bounded(void **state)
{
	const char *names[DWARF_MAX_DEPTH];
	struct dwarf *dwarf;
	size_t deepest = 0;

	(void)state;
	write_text("deep.cc", "volatile long sink;\n"
			      "template <int N> struct C { __attribute__((always_inline)) static "
			      "long f(long x) { sink += N; return C<N - 1>::f(x + sink); } };\n"
			      "template <> struct C<0> { static long f(long x) { return x; } };\n"
			      "int main(int n, char **) { return int(C<90>::f(n)); }\n");
	shell("${CXX:-c++} -O2 -g -no-pie -o deep deep.cc");
	assert_int_equal(load("deep", &dwarf), 0);
	for (uint64_t at = 0x400000; at < 0x404000; at++) {
		size_t count = dwarf_find(dwarf, NULL, at, names);

		deepest = count > deepest ? count : deepest;
	}
	assert_int_equal(deepest, DWARF_MAX_DEPTH);
	dwarf_free(dwarf);
}

/* ---- broken files ---- */

struct section {
	unsigned long address, offset, size;
};

static struct section section_of(const char *file, const char *name)
{
	struct section section = {0};
	char command[512];
	FILE *pipe;

	snprintf(command, sizeof(command),
		 "cd %s && readelf -SW %s | sed 's/^ *\\[ *[0-9]*\\] *//' | "
		 "awk '$1 == \"%s\" {print $3, $4, $5}'",
		 folder, file, name);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_int_equal(
		fscanf(pipe, "%lx %lx %lx", &section.address, &section.offset, &section.size), 3);
	pclose(pipe);
	return section;
}

/* One function, whose name is the last thing in .debug_info. */
static const char unended_program[] =
	".globl _start\n"
	"_start: nop\n"
	"	.section .debug_abbrev, \"\", @progbits\n"
	"	.uleb128 1, 0x11\n	.byte 1\n" /* DW_TAG_compile_unit with children */
	"	.uleb128 0x11, 0x01, 0x12, 0x07, 0, 0\n"
	"	.uleb128 2, 0x2e\n	.byte 0\n"                   /* DW_TAG_subprogram */
	"	.uleb128 0x11, 0x01, 0x12, 0x07, 0x03, 0x08, 0, 0\n" /* name: DW_FORM_string */
	"	.uleb128 0\n"
	"	.section .debug_info, \"\", @progbits\n"
	"	.long end - start\n"
	"start:	.short 4\n	.long 0\n	.byte 8\n"
	"	.uleb128 1\n	.quad _start, 1\n"
	"	.uleb128 2\n	.quad _start, 1\n	.ascii NAME\n"
	"end:\n"
	"	.section .note.GNU-stack, \"\", @progbits\n";

static void a_name_ends_with_its_section(void **state)
{
	const char *names[DWARF_MAX_DEPTH];
	struct section text;
	struct dwarf *dwarf;

	(void)state;
	write_text("unended.S", unended_program);
	shell("${CC:-cc} -nostdlib -static -DNAME='\"ended\\0\"' -o ended unended.S");
	text = section_of("ended", ".text");
	assert_int_equal(load("ended", &dwarf), 0);
	assert_int_equal(dwarf_find(dwarf, NULL, text.address, names), 1);
	assert_string_equal(names[0], "ended");
	dwarf_free(dwarf);

	shell("${CC:-cc} -nostdlib -static -DNAME='\"unended\"' -o unended unended.S");
	assert_int_equal(load("unended", &dwarf), 0);
	assert_int_equal(dwarf_find(dwarf, NULL, text.address, names), 1);
	assert_null(names[0]);
	dwarf_free(dwarf);
}

static void ask_everywhere(const char *path)
{
	struct source_place sources[DWARF_MAX_DEPTH];
	const char *names[DWARF_MAX_DEPTH];
	struct dwarf *dwarf;
	size_t bytes = 0;

	if (load(path, &dwarf) != 0)
		return;
	for (uint64_t at = 0x401000; at < 0x401600; at += 3) {
		size_t count = dwarf_find(dwarf, NULL, at, names);

		assert_true(count <= DWARF_MAX_DEPTH);
		for (size_t i = 0; i < count; i++)
			bytes += names[i] ? strlen(names[i]) : 0;
		assert_int_equal(dwarf_find_sources(dwarf, at, sources), count);
		for (size_t i = 0; i < count; i++) {
			const struct source_place *of = &sources[i];

			bytes += of->name ? strlen(of->name) : 0;
			bytes += of->folder ? strlen(of->folder) : 0;
			bytes += of->compiled_in ? strlen(of->compiled_in) : 0;
		}
	}
	assert_true(bytes < SIZE_MAX);
	dwarf_free(dwarf);
}

static void mutate(const char *flags, uint64_t first_round, uint64_t rounds)
{
	static const char *const sections[] = {".debug_info", ".debug_abbrev",   ".debug_str",
					       ".debug_info", ".debug_rnglists", ".debug_line"};
	static unsigned char image[1 << 20], copy[1 << 20];
	char path[256];
	ssize_t size;
	int fd;

	shell("${CXX:-c++} -O2 %s -no-pie -o whole cxx.cc", flags);
	snprintf(path, sizeof(path), "%s/whole", folder);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = read(fd, image, sizeof(image));
	close(fd);
	assert_true(size > 0 && size < (ssize_t)sizeof(image));
	for (size_t s = 0; s < sizeof(sections) / sizeof(sections[0]); s++) {
		bool old = strstr(flags, "dwarf-4") != NULL && s == 4;
		struct section section = section_of("whole", old ? ".debug_ranges" : sections[s]);

		for (uint64_t round = 0; round < rounds; round++) {
			struct prng p = prng_round(first_round + s * rounds + round);
			uint64_t changes = 1 + prng_below(&p, 8);
			size_t length = (size_t)size;

			memcpy(copy, image, length);
			while (changes-- > 0) {
				uint64_t at = section.offset + prng_below(&p, section.size);

				copy[at] = prng_chance(&p, 30) ? 0xff : (unsigned char)prng_u64(&p);
			}
			if (prng_chance(&p, 5)) /* the rest of the section is missing */
				memset(copy + section.offset + section.size / 2, 0,
				       section.size - section.size / 2);
			snprintf(path, sizeof(path), "%s/mutant", folder);
			fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
			EXPECT(&p, write(fd, copy, length) == (ssize_t)length);
			if (prng_chance(&p, 3))
				EXPECT(&p, ftruncate(fd, (off_t)prng_below(&p, length)) == 0);
			close(fd);
			alarm(600); /* a mutant must not keep us */
			ask_everywhere("mutant");
			alarm(0);
		}
	}
}

static void broken_dwarf_costs_names_only(void **state)
{
	uint64_t rounds = unit_rounds(2000);

	(void)state;
	mutate("-g -gdwarf-5", 0, rounds / 5);
	mutate("-g -gdwarf-4", rounds, rounds / 5);
}

/* ---- through the symbolizer ---- */

__attribute__((always_inline)) static inline uint64_t pc_inside(void)
{
	uint64_t pc;

	__asm__ volatile("lea 0(%%rip), %0" : "=r"(pc));
	return pc;
}

__attribute__((always_inline)) static inline uint64_t pc_further_inside(void)
{
	return pc_inside() + 0;
}

__attribute__((noinline)) static uint64_t pc_of_this(void)
{
	return pc_further_inside();
}

static void check_chain(bool wants)
{
	struct symbolizer *s = symbolizer_new();
	struct address_space *self = address_space_new(1, getpid(), false);
	const char *const *names, *const *again;
	struct code_ref ref;

	assert_non_null(s);
	ref = symbolizer_locate(s, self, pc_of_this());
	if (wants) {
		symbolizer_want_name(s, ref, true);
		symbolizer_name_wanted(s, true);
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(symbolizer_names(s, ref, true, &names), 3);
		assert_string_equal(names[0], "pc_of_this");
		assert_string_equal(names[1], "pc_further_inside");
		assert_string_equal(names[2], "pc_inside");
		for (int k = 0; k < 3; k++)
			assert_true(ends_with(symbolizer_sources(s)[k], "tests/unit/test_dwarf.c"));
	}
	assert_int_equal(symbolizer_names(s, (struct code_ref){0}, true, &again), 1);
	assert_string_equal(again[0], "[unknown]");
	assert_null(symbolizer_sources(s)[0]);
	address_space_free(self);
	symbolizer_free(s);
}

static void symbolizer_returns_inline_chains(void **state)
{
	(void)state;
	check_chain(false);
	check_chain(true);
}

static int enter(void **state)
{
	if (make_folder(state) != 0)
		return -1;
	unsetenv("DEBUGINFOD_URLS"); /* the user's */
	write_text("c.c", c_program);
	write_text("cxx.cc", cxx_program);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inlined_functions_are_as_addr2line_has_them),
		cmocka_unit_test(with_clang_as_well),
		cmocka_unit_test(link_time_optimisation),
		cmocka_unit_test(sources_of_functions),
		cmocka_unit_test(separate_debug_files),
		cmocka_unit_test(old_compressed_sections),
		cmocka_unit_test(what_is_not_read_is_told),
		cmocka_unit_test(a_common_file_of_dwz_is_told),
		cmocka_unit_test(debug_files_of_servers),
		cmocka_unit_test(nothing_to_read),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(a_name_ends_with_its_section),
		cmocka_unit_test(broken_dwarf_costs_names_only),
		cmocka_unit_test(symbolizer_returns_inline_chains),
	};

	return cmocka_run_group_tests(tests, enter, remove_folder);
}
