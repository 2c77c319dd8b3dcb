// SPDX-License-Identifier: MIT
/* Runs call frame programs. */
#include "symbolize/cfi_private.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#define STATES_MAX 8  /* maximum depth of remember_state */
#define STATE_COST 16 /* cost of a copied state, as bytes of a program */

struct machine {
	const struct cfi_table *table;
	const struct cfi_function *function;
	struct cfi_row row;
	struct cfi_row initial; /* state after the CIE's program, for "restore" */
	struct cfi_row states[STATES_MAX];
	int state_count;
	uint32_t cost;
	uint64_t location;
	uint64_t pc;
	bool broken;
};

static void set_rule(struct machine *m, uint64_t reg, enum cfi_rule_kind kind, int64_t offset)
{
	/* unwinding needs no other registers */
	if (reg >= CFI_REGISTERS)
		return;
	if (offset < INT32_MIN || offset > INT32_MAX) {
		m->broken = true;
		return;
	}
	m->row.rules[reg] = (struct cfi_rule){.kind = (uint8_t)kind, .offset = (int32_t)offset};
}

/* Takes an expression. Returns NULL if it is too long, which breaks the program. */
static const uint8_t *take_expression(struct machine *m, struct bytes *b, uint16_t *size)
{
	struct bytes code = bytes_take(b, bytes_uleb(b));

	m->broken |= code.end - code.at > UINT16_MAX;
	*size = (uint16_t)(code.end - code.at);
	return m->broken ? NULL : code.at;
}

static void set_expression(struct machine *m, uint64_t reg, enum cfi_rule_kind kind,
			   struct bytes *b)
{
	struct cfi_rule rule = {.kind = (uint8_t)kind};

	rule.expression = take_expression(m, b, &rule.expression_size);
	if (reg < CFI_REGISTERS)
		m->row.rules[reg] = rule;
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
	m->row.cfa_is_expression = true;
	m->row.cfa_expression = take_expression(m, b, &m->row.cfa_expression_size);
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

/* Reads an offset that is stored as a multiple of the data alignment. */
static int64_t read_offset(const struct machine *m, struct bytes *b, bool is_signed)
{
	uint64_t factor = is_signed ? (uint64_t)bytes_sleb(b) : bytes_uleb(b);

	return (int64_t)(factor * (uint64_t)m->function->common.data_alignment);
}

/* Runs an operation that sets the rule of a register, its first operand. */
static void run_register_operation(struct machine *m, uint8_t op, struct bytes *b)
{
	uint64_t reg = bytes_uleb(b), other;

	switch (op) {
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
		set_rule(m, reg, CFI_OFFSET, read_offset(m, b, op == DW_CFA_offset_extended_sf));
		break;
	case DW_CFA_GNU_negative_offset_extended:
		set_rule(m, reg, CFI_OFFSET, (int64_t)(0 - (uint64_t)read_offset(m, b, false)));
		break;
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		set_rule(m, reg, CFI_VAL_OFFSET, read_offset(m, b, op == DW_CFA_val_offset_sf));
		break;
	case DW_CFA_restore_extended:
		restore_rule(m, reg);
		break;
	case DW_CFA_undefined:
		set_rule(m, reg, CFI_UNDEFINED, 0);
		break;
	case DW_CFA_same_value:
		set_rule(m, reg, CFI_SAME, 0);
		break;
	case DW_CFA_register:
		set_rule(m, reg, CFI_REGISTER_RULE, 0);
		other = bytes_uleb(b);
		if (reg < CFI_REGISTERS)
			m->row.rules[reg].reg = (uint8_t)other;
		break;
	case DW_CFA_expression:
		set_expression(m, reg, CFI_EXPRESSION, b);
		break;
	case DW_CFA_val_expression:
		set_expression(m, reg, CFI_VAL_EXPRESSION, b);
		break;
	default:
		m->broken = true;
	}
}

/* Runs an operation without a register rule. Returns false for other operations. */
static bool run_operation(struct machine *m, uint8_t op, struct bytes *b)
{
	uint64_t reg;

	switch (op) {
	case DW_CFA_nop:
		break;
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
		reg = bytes_uleb(b);
		set_cfa(m, reg,
			op == DW_CFA_def_cfa ? (int64_t)bytes_uleb(b) : read_offset(m, b, true));
		break;
	case DW_CFA_def_cfa_register:
		set_cfa(m, bytes_uleb(b), m->row.cfa_offset);
		break;
	case DW_CFA_def_cfa_offset:
		set_cfa(m, m->row.cfa_register, (int64_t)bytes_uleb(b));
		break;
	case DW_CFA_def_cfa_offset_sf:
		set_cfa(m, m->row.cfa_register, read_offset(m, b, true));
		break;
	case DW_CFA_def_cfa_expression:
		set_cfa_expression(m, b);
		break;
	case DW_CFA_set_loc:
		m->location = cfi_read_pointer(
			b, m->function->common.pointer_encoding,
			m->table->frames_address + (uint64_t)(b->at - m->table->frames), 0);
		break;
	case DW_CFA_advance_loc1:
		advance(m, bytes_u8(b));
		break;
	case DW_CFA_advance_loc2:
		advance(m, bytes_u16(b));
		break;
	case DW_CFA_advance_loc4:
		advance(m, bytes_u32(b));
		break;
	case DW_CFA_remember_state:
		remember(m);
		break;
	case DW_CFA_restore_state:
		restore_state(m);
		break;
	case DW_CFA_GNU_args_size:
		bytes_uleb(b);
		break;
	default:
		return false;
	}
	return true;
}

/* Runs until the program ends or passes the pc. */
static bool run(struct machine *m, struct bytes b)
{
	const uint8_t *start = b.at;

	while (b.at < b.end && !b.bad && !m->broken) {
		uint8_t op = bytes_u8(&b);

		if ((op & 0xc0) == DW_CFA_advance_loc)
			advance(m, op & 0x3f);
		else if ((op & 0xc0) == DW_CFA_offset)
			set_rule(m, op & 0x3f, CFI_OFFSET, read_offset(m, &b, false));
		else if ((op & 0xc0) == DW_CFA_restore)
			restore_rule(m, op & 0x3f);
		else if (!run_operation(m, op, &b))
			run_register_operation(m, op, &b);
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
