// SPDX-License-Identifier: MIT
#include "symbolize/call_site.h"

#include <string.h>

enum { OPCODE_CALL = 0xe8, OPCODE_JUMP = 0xe9, OPCODE_JUMP_SHORT = 0xeb, OPCODE_GROUP_5 = 0xff };
enum { GROUP_5_CALL = 2, GROUP_5_JUMP = 4 };
enum { MODRM_CALL_BY_WORD = 0x15, MODRM_JUMP_BY_WORD = 0x25 }; /* operand at rip + disp32 */

/*
 * Returns the length of an instruction with one opcode byte, this ModR/M byte and the SIB byte
 * behind.
 */
static size_t length_with(uint8_t modrm, uint8_t sib)
{
	const uint8_t mod = modrm >> 6, rm = modrm & 7;
	const bool has_sib = mod != 3 && rm == 4;
	size_t length = 2 + has_sib;

	if (mod == 1)
		length += 1;
	else if (mod == 2 || (mod == 0 && (rm == 5 || (has_sib && (sib & 7) == 5))))
		length += 4;
	return length;
}

static bool is_group_5(uint8_t modrm, uint8_t operation)
{
	return (modrm >> 3 & 7) == operation;
}

bool call_site_read(const uint8_t *code, size_t size, struct call_site *site)
{
	const uint8_t *end = code + size;

	*site = (struct call_site){0};
	if (size >= 5 && end[-5] == OPCODE_CALL) {
		site->is_direct = true;
		memcpy(&site->displacement, end - 4, sizeof(site->displacement));
	}
	for (size_t length = 2; length <= 7 && length <= size; length++)
		if (call_site_indirect(end - length, length) == length)
			site->is_indirect = true;
	if (size >= 6 && end[-6] == OPCODE_GROUP_5 && end[-5] == MODRM_CALL_BY_WORD) {
		site->is_by_word = true;
		memcpy(&site->word_displacement, end - 4, sizeof(site->word_displacement));
	}
	return site->is_direct || site->is_indirect;
}

size_t call_site_indirect(const uint8_t *code, size_t size)
{
	size_t length;

	if (size < 2 || code[0] != OPCODE_GROUP_5 || !is_group_5(code[1], GROUP_5_CALL))
		return 0;
	length = length_with(code[1], size > 2 ? code[2] : 0);
	return length <= size ? length : 0;
}

/* Returns the length of the code before a stub's jump. */
static size_t before_jump(const uint8_t *code, size_t size)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t at = 0;

	if (size >= sizeof(endbr64) && memcmp(code, endbr64, sizeof(endbr64)) == 0)
		at = sizeof(endbr64);
	if (at < size && (code[at] == 0xf2 || code[at] == 0x3e)) /* bnd, notrack */
		at++;
	return at;
}

bool call_site_read_stub(const uint8_t *code, size_t size, struct call_stub *stub)
{
	size_t at = before_jump(code, size);

	*stub = (struct call_stub){0};
	if (at + 2 <= size && code[at] == OPCODE_JUMP_SHORT) {
		stub->displacement = (int8_t)code[at + 1];
		stub->length = at + 2;
		return true;
	}
	if (at + 2 <= size && code[at] == OPCODE_GROUP_5 && code[at + 1] == MODRM_JUMP_BY_WORD) {
		stub->is_by_word = true;
		at++;
	} else if (at >= size || code[at] != OPCODE_JUMP) {
		return false;
	}
	if (at + 5 > size)
		return false;
	memcpy(&stub->displacement, code + at + 1, sizeof(stub->displacement));
	stub->length = at + 5;
	return true;
}

bool call_site_is_stub(const uint8_t *code, size_t size)
{
	size_t at = before_jump(code, size);

	if (at < size && (code[at] == OPCODE_JUMP || code[at] == OPCODE_JUMP_SHORT))
		return true;
	return at + 1 < size && code[at] == OPCODE_GROUP_5 &&
	       is_group_5(code[at + 1], GROUP_5_JUMP);
}

bool call_site_may_jump(const uint8_t *code, size_t size, uint64_t start, uint64_t to,
			uint64_t to_end, bool wants_outside)
{
	for (size_t i = 0; i + 1 < size; i++) {
		bool is_near = code[i] == OPCODE_JUMP ||
			       (i > 0 && code[i - 1] == 0x0f && (code[i] & 0xf0) == 0x80);
		int32_t distance = (int8_t)code[i + 1];
		uint64_t end = start + i + 2;

		if (code[i] == OPCODE_GROUP_5 && is_group_5(code[i + 1], GROUP_5_JUMP))
			return true;
		if (is_near && i + 5 <= size) {
			memcpy(&distance, code + i + 1, sizeof(distance));
			end += 3;
		} else if (code[i] != OPCODE_JUMP_SHORT) {
			continue;
		}
		end += (uint64_t)(int64_t)distance;
		if ((end >= to && end < to_end) != wants_outside)
			return true;
	}
	return false;
}
