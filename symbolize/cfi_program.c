// SPDX-License-Identifier: MIT
/* Runs call frame programs. */
#include "symbolize/cfi_private.h"

#include <errno.h>
#include <string.h>

#define STATES_MAX 8  /* nesting of remember_state */
#define STATE_COST 16 /* of a copy, in bytes of a program */

/* DW_CFA_* */
enum {
	OP_ADVANCE = 0x40, /* with the delta in the low six bits */
	OP_OFFSET = 0x80,  /* with the register there */
	OP_RESTORE = 0xc0,
	OP_NOP = 0x00,
	OP_SET_LOC = 0x01,
	OP_ADVANCE1 = 0x02,
	OP_ADVANCE2 = 0x03,
	OP_ADVANCE4 = 0x04,
	OP_OFFSET_EXTENDED = 0x05,
	OP_RESTORE_EXTENDED = 0x06,
	OP_UNDEFINED = 0x07,
	OP_SAME_VALUE = 0x08,
	OP_REGISTER = 0x09,
	OP_REMEMBER = 0x0a,
	OP_RESTORE_STATE = 0x0b,
	OP_DEF_CFA = 0x0c,
	OP_DEF_CFA_REGISTER = 0x0d,
	OP_DEF_CFA_OFFSET = 0x0e,
	OP_DEF_CFA_EXPRESSION = 0x0f,
	OP_EXPRESSION = 0x10,
	OP_OFFSET_EXTENDED_SF = 0x11,
	OP_DEF_CFA_SF = 0x12,
	OP_DEF_CFA_OFFSET_SF = 0x13,
	OP_VAL_OFFSET = 0x14,
	OP_VAL_OFFSET_SF = 0x15,
	OP_VAL_EXPRESSION = 0x16,
	OP_GNU_ARGS_SIZE = 0x2e,
	OP_GNU_NEGATIVE_OFFSET = 0x2f,
};

struct machine {
	const struct cfi_table *table;
	const struct cfi_function *function;
	struct cfi_row row;
	struct cfi_row initial; /* after the CIE's program: the state that "restore" returns to */
	struct cfi_row states[STATES_MAX];
	int state_count;
	uint32_t cost;
	uint64_t location;
	uint64_t pc;
	bool broken;
};

static void set_rule(struct machine *m, uint64_t reg, enum cfi_rule_kind kind, int64_t offset)
{
	/* unwinding does not need other registers */
	if (reg >= CFI_REGISTERS)
		return;
	if (offset < INT32_MIN || offset > INT32_MAX) {
		m->broken = true;
		return;
	}
	m->row.rules[reg] = (struct cfi_rule){.kind = (uint8_t)kind, .offset = (int32_t)offset};
}

static void set_expression(struct machine *m, uint64_t reg, enum cfi_rule_kind kind,
			   struct bytes *b)
{
	struct bytes code = bytes_take(b, bytes_uleb(b));
	size_t size = (size_t)(code.end - code.at);

	if (size > UINT16_MAX)
		m->broken = true;
	else if (reg < CFI_REGISTERS)
		m->row.rules[reg] = (struct cfi_rule){.kind = (uint8_t)kind,
						      .expression_size = (uint16_t)size,
						      .expression = code.at};
}

static void set_cfa(struct machine *m, uint64_t reg, int64_t offset)
{
	if (reg >= CFI_REGISTERS || offset < INT32_MIN || offset > INT32_MAX) {
		m->broken = true;
		return;
	}
	m->row.cfa_is_expression = false;
	m->row.cfa_register = (uint8_t)reg;
	m->row.cfa_offset = (int32_t)offset;
}

static void set_cfa_expression(struct machine *m, struct bytes *b)
{
	struct bytes code = bytes_take(b, bytes_uleb(b));
	size_t size = (size_t)(code.end - code.at);

	if (size > UINT16_MAX) {
		m->broken = true;
		return;
	}
	m->row.cfa_is_expression = true;
	m->row.cfa_expression = code.at;
	m->row.cfa_expression_size = (uint16_t)size;
}

static void restore_rule(struct machine *m, uint64_t reg)
{
	if (reg < CFI_REGISTERS)
		m->row.rules[reg] = m->initial.rules[reg];
}

static void remember(struct machine *m)
{
	if (m->state_count == STATES_MAX)
		m->broken = true;
	else
		m->states[m->state_count++] = m->row;
	m->cost += STATE_COST;
}

static void restore_state(struct machine *m)
{
	if (m->state_count == 0)
		m->broken = true;
	else
		m->row = m->states[--m->state_count];
	m->cost += STATE_COST;
}

static void advance(struct machine *m, uint64_t delta)
{
	m->location += delta * m->function->common.code_alignment;
}

/* Operations that set a register's rule. False: none of them. */
static bool run_register_operation(struct machine *m, uint8_t op, struct bytes *b)
{
	int64_t align = m->function->common.data_alignment;
	uint64_t reg;

	switch (op) {
	case OP_OFFSET_EXTENDED:
		reg = bytes_uleb(b);
		set_rule(m, reg, CFI_OFFSET, (int64_t)(bytes_uleb(b) * (uint64_t)align));
		return true;
	case OP_OFFSET_EXTENDED_SF:
		reg = bytes_uleb(b);
		set_rule(m, reg, CFI_OFFSET, (int64_t)((uint64_t)bytes_sleb(b) * (uint64_t)align));
		return true;
	case OP_GNU_NEGATIVE_OFFSET:
		reg = bytes_uleb(b);
		set_rule(m, reg, CFI_OFFSET, (int64_t)(0 - bytes_uleb(b) * (uint64_t)align));
		return true;
	case OP_VAL_OFFSET:
		reg = bytes_uleb(b);
		set_rule(m, reg, CFI_VAL_OFFSET, (int64_t)(bytes_uleb(b) * (uint64_t)align));
		return true;
	case OP_VAL_OFFSET_SF:
		reg = bytes_uleb(b);
		set_rule(m, reg, CFI_VAL_OFFSET,
			 (int64_t)((uint64_t)bytes_sleb(b) * (uint64_t)align));
		return true;
	case OP_RESTORE_EXTENDED:
		restore_rule(m, bytes_uleb(b));
		return true;
	case OP_UNDEFINED:
		set_rule(m, bytes_uleb(b), CFI_UNDEFINED, 0);
		return true;
	case OP_SAME_VALUE:
		set_rule(m, bytes_uleb(b), CFI_SAME, 0);
		return true;
	case OP_REGISTER:
		reg = bytes_uleb(b);
		set_rule(m, reg, CFI_REGISTER_RULE, 0);
		if (reg < CFI_REGISTERS)
			m->row.rules[reg].reg = (uint8_t)bytes_uleb(b);
		else
			bytes_uleb(b);
		return true;
	case OP_EXPRESSION:
		set_expression(m, bytes_uleb(b), CFI_EXPRESSION, b);
		return true;
	case OP_VAL_EXPRESSION:
		set_expression(m, bytes_uleb(b), CFI_VAL_EXPRESSION, b);
		return true;
	default:
		return false;
	}
}

/* Operations that set the CFA. False: none of them. */
static bool run_cfa_operation(struct machine *m, uint8_t op, struct bytes *b)
{
	int64_t align = m->function->common.data_alignment;
	uint64_t reg;

	switch (op) {
	case OP_DEF_CFA:
		reg = bytes_uleb(b);
		set_cfa(m, reg, (int64_t)bytes_uleb(b));
		return true;
	case OP_DEF_CFA_SF:
		reg = bytes_uleb(b);
		set_cfa(m, reg, (int64_t)((uint64_t)bytes_sleb(b) * (uint64_t)align));
		return true;
	case OP_DEF_CFA_REGISTER:
		set_cfa(m, bytes_uleb(b), m->row.cfa_offset);
		return true;
	case OP_DEF_CFA_OFFSET:
		set_cfa(m, m->row.cfa_register, (int64_t)bytes_uleb(b));
		return true;
	case OP_DEF_CFA_OFFSET_SF:
		set_cfa(m, m->row.cfa_register,
			(int64_t)((uint64_t)bytes_sleb(b) * (uint64_t)align));
		return true;
	case OP_DEF_CFA_EXPRESSION:
		set_cfa_expression(m, b);
		return true;
	default:
		return false;
	}
}

/* Operations that advance the location, or that we ignore. False: none of them. */
static bool run_other_operation(struct machine *m, uint8_t op, struct bytes *b)
{
	switch (op) {
	case OP_NOP:
		return true;
	case OP_SET_LOC:
		m->location = cfi_read_pointer(
			b, m->function->common.pointer_encoding,
			m->table->frames_address + (uint64_t)(b->at - m->table->frames), 0);
		return true;
	case OP_ADVANCE1:
		advance(m, bytes_u8(b));
		return true;
	case OP_ADVANCE2:
		advance(m, bytes_u16(b));
		return true;
	case OP_ADVANCE4:
		advance(m, bytes_u32(b));
		return true;
	case OP_REMEMBER:
		remember(m);
		return true;
	case OP_RESTORE_STATE:
		restore_state(m);
		return true;
	case OP_GNU_ARGS_SIZE:
		bytes_uleb(b);
		return true;
	default:
		return false;
	}
}

/* Runs until the program ends or passes the pc. */
static bool run(struct machine *m, struct bytes b)
{
	const uint8_t *start = b.at;

	while (b.at < b.end && !b.bad && !m->broken) {
		uint8_t op = bytes_u8(&b);

		if ((op & 0xc0) == OP_ADVANCE)
			advance(m, op & 0x3f);
		else if ((op & 0xc0) == OP_OFFSET)
			set_rule(m, op & 0x3f, CFI_OFFSET,
				 (int64_t)(bytes_uleb(&b) *
					   (uint64_t)m->function->common.data_alignment));
		else if ((op & 0xc0) == OP_RESTORE)
			restore_rule(m, op & 0x3f);
		else if (!run_cfa_operation(m, op, &b) && !run_register_operation(m, op, &b) &&
			 !run_other_operation(m, op, &b))
			m->broken = true;
		if (m->location > m->pc)
			break;
	}
	m->cost += (uint32_t)(b.at - start);
	return !b.bad && !m->broken;
}

int cfi_run_program(const struct cfi_table *table, const struct cfi_function *function, uint64_t pc,
		    struct cfi_row *row)
{
	struct machine m = {.table = table, .function = function, .pc = UINT64_MAX};
	bool is_sound;

	m.row.is_signal_frame = function->common.is_signal_frame;
	m.row.cfa_register = CFI_RSP;
	is_sound = run(&m, function->common.program);
	if (is_sound) {
		m.initial = m.row;
		m.location = function->start;
		m.pc = pc;
		is_sound = run(&m, function->program);
	}
	if (is_sound)
		*row = m.row;
	row->cost = m.cost;
	return is_sound ? 0 : -EBADMSG;
}
