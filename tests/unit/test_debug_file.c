/* SPDX-License-Identifier: MIT */
/*
 * Search for debug files, and refused files. The C compiler ($CC or cc) builds programs; ELF files
 * with wrong links are made byte by byte.
 */
#include <zlib.h>
#include "unit.h"
#include "symbolize/debug_file.h"
#include "tests/unit/made_elf.h"
#include "tests/unit/own_folder.h"

static const char library[] = "int visible(int x) { return x + 1; }\n";

/* Returns the debug file found for `name`, relative to the folder, or "". */
static const char *found(const char *name)
{
	static char target[512];
	char path[256], root[256], link[64];
	struct debug_file_search search = {.path = path, .root = root};
	struct elf_file program;
	ssize_t length;
	int fd, debug;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	snprintf(root, sizeof(root), "%s/root", folder);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(elf_file_open(&program, fd), 0);
	debug = debug_file_open(&program, &search);
	elf_file_close(&program);
	close(fd);
	if (debug < 0) {
		assert_int_equal(debug, -ENOENT);
		return "";
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", debug);
	length = readlink(link, target, sizeof(target) - 1);
	assert_true(length > (ssize_t)strlen(folder));
	target[length] = '\0';
	close(debug);
	return target + strlen(folder) + 1;
}

/* Compiles `name` with this build id in hexadecimal digits; "none". */
static void make_library(const char *name, const char *build_id)
{
	write_text("library.c", library);
	shell("mkdir -p $(dirname %s) && ${CC:-cc} -shared -fPIC -Wl,--build-id=%s -o %s library.c",
	      name, build_id, name);
}

static uint32_t checksum(const char *name)
{
	char path[256];
	unsigned char bytes[65536];
	size_t size;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "r");
	assert_non_null(file);
	size = fread(bytes, 1, sizeof(bytes), file);
	assert_true(size > 0 && size < sizeof(bytes));
	fclose(file);
	return (uint32_t)crc32(0, bytes, (unsigned int)size);
}

/* Makes a library without a build id, with this link. The link's section ends `missing` bytes
 * early. */
static void make_linked(const char *name, const char *link, uint32_t crc, size_t missing)
{
	size_t size = (strlen(link) + 1 + 3) / 4 * 4;
	struct made_section section = {.name = ".gnu_debuglink", .type = SHT_PROGBITS};
	unsigned char data[512] = {0};
	char path[256];

	memcpy(data, link, strlen(link));
	memcpy(data + size, &crc, sizeof(crc));
	section.data = data;
	section.size = size + sizeof(crc) - missing;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	make_elf(path, &section, 1);
}

static void by_build_id(void **state)
{
	(void)state;
	make_library("app.so", "0x1122334455667788");
	make_library("root/.build-id/11/22334455667788.debug", "0x1122334455667788");
	assert_string_equal(found("app.so"), "root/.build-id/11/22334455667788.debug");
}

static void another_build_id_is_refused(void **state)
{
	(void)state;
	make_library("app.so", "0x2222334455667788");
	make_library("root/.build-id/22/22334455667788.debug", "0x2222334455667789");
	assert_string_equal(found("app.so"), "");
	/* one that goes on where the wanted one ends */
	make_library("root/.build-id/22/22334455667788.debug", "0x222233445566778899001122");
	assert_string_equal(found("app.so"), "");
	/* a file without one */
	make_library("root/.build-id/22/22334455667788.debug", "none");
	assert_string_equal(found("app.so"), "");
}

static void by_link(void **state)
{
	uint32_t crc;

	(void)state;
	make_library("there.debug", "none");
	crc = checksum("there.debug");
	make_linked("linked.so", "there.debug", crc, 0);
	assert_string_equal(found("linked.so"), "there.debug");
	shell("mkdir -p .debug && mv there.debug .debug");
	assert_string_equal(found("linked.so"), ".debug/there.debug");
	shell("mkdir -p root$PWD && mv .debug/there.debug root$PWD");
	assert_non_null(strstr(found("linked.so"), "/there.debug"));
	make_linked("linked.so", "there.debug", crc + 1, 0);
	assert_string_equal(found("linked.so"), "");
}

static void a_link_does_not_lead_out_of_the_folders(void **state)
{
	static const char *const links[] = {"sub/there.debug", "../there.debug", "./there.debug",
					    "/there.debug", ""};
	uint32_t crc;

	(void)state;
	make_library("inner/sub/there.debug", "none");
	crc = checksum("inner/sub/there.debug");
	shell("mkdir -p inner/.debug && cp inner/sub/there.debug inner &&"
	      " cp inner/sub/there.debug . && cp inner/sub/there.debug inner/.debug");
	make_linked("inner/linked.so", "there.debug", crc, 0);
	assert_string_equal(found("inner/linked.so"), "inner/there.debug");
	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
		make_linked("inner/linked.so", links[i], crc, 0);
		assert_string_equal(found("inner/linked.so"), "");
	}
}

static void a_link_without_a_checksum_is_none(void **state)
{
	uint32_t crc;

	(void)state;
	make_library("there.debug", "none");
	crc = checksum("there.debug");
	for (size_t missing = 1; missing <= 16; missing++) {
		make_linked("linked.so", "there.debug", crc, missing);
		assert_string_equal(found("linked.so"), "");
	}
}

static void a_program_is_not_its_own_debug_file(void **state)
{
	(void)state;
	make_library("self.so", "0x3322334455667788");
	shell("objcopy --add-gnu-debuglink=self.so self.so linked.so && mv linked.so self.so");
	assert_string_equal(found("self.so"), "");
	shell("mkdir -p .debug && cp self.so .debug");
	assert_string_equal(found("self.so"), ".debug/self.so");
}

static void only_files_are_opened(void **state)
{
	(void)state;
	make_linked("linked.so", "pipe.debug", 0, 0);
	shell("mkfifo pipe.debug && mkdir -p .debug/pipe.debug");
	assert_string_equal(found("linked.so"), ""); /* the search does not wait for a writer */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_build_id),
		cmocka_unit_test(another_build_id_is_refused),
		cmocka_unit_test(by_link),
		cmocka_unit_test(a_link_does_not_lead_out_of_the_folders),
		cmocka_unit_test(a_link_without_a_checksum_is_none),
		cmocka_unit_test(a_program_is_not_its_own_debug_file),
		cmocka_unit_test(only_files_are_opened),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
