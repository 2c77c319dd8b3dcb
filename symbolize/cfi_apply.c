// SPDX-License-Identifier: MIT
/* Applies a row: from a frame's registers to its caller's. */
#include <dwarf.h>
#include <errno.h>
#include <string.h>
#include "symbolize/cfi.h"
#include "symbolize/cfi_bytes.h"

#define STACK_MAX 32        /* depth of the stack of an expression */
#define STEPS_MAX 512       /* operations of one expression, which may loop */
#define RED_ZONE_BYTES 128u /* memory below the stack pointer that signal handlers spare */

struct evaluation {
	const struct cfi_registers *registers;
	cfi_reader read;
	void *context;
	const uint8_t *start;
	struct bytes code;
	uint64_t stack[STACK_MAX];
	unsigned int depth;
	int err;
};

static void push(struct evaluation *e, uint64_t value)
{
	if (e->depth == STACK_MAX)
		e->err = -EBADMSG;
	else
		e->stack[e->depth++] = value;
}

static uint64_t pop(struct evaluation *e)
{
	if (e->depth == 0) {
		e->err = -EBADMSG;
		return 0;
	}
	return e->stack[--e->depth];
}

static void push_register(struct evaluation *e, unsigned int reg, int64_t offset)
{
	if (reg >= CFI_REGISTERS || !(e->registers->known & (1u << reg)))
		e->err = -EFAULT;
	else
		push(e, e->registers->value[reg] + (uint64_t)offset);
}

static void dereference(struct evaluation *e)
{
	uint64_t value = 0;

	if (!e->read(e->context, pop(e), &value))
		e->err = -EFAULT;
	push(e, value);
}

static void jump(struct evaluation *e, int16_t offset)
{
	int64_t at = e->code.at - e->start + offset;

	if (at < 0 || at > e->code.end - e->start)
		e->err = -EBADMSG;
	else
		e->code.at = e->start + at;
}

/* Runs an operation that pushes a constant. Returns false for others. */
static bool run_constant(struct evaluation *e, uint8_t op)
{
	struct bytes *b = &e->code;

	if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
		push(e, op - DW_OP_lit0);
	else if (op == DW_OP_const1u)
		push(e, bytes_u8(b));
	else if (op == DW_OP_const1s)
		push(e, (uint64_t)(int8_t)bytes_u8(b));
	else if (op == DW_OP_const2u)
		push(e, bytes_u16(b));
	else if (op == DW_OP_const2s)
		push(e, (uint64_t)(int16_t)bytes_u16(b));
	else if (op == DW_OP_const4u)
		push(e, bytes_u32(b));
	else if (op == DW_OP_const4s)
		push(e, (uint64_t)(int32_t)bytes_u32(b));
	else if (op == DW_OP_const8u || op == DW_OP_const8s || op == DW_OP_addr)
		push(e, bytes_u64(b));
	else if (op == DW_OP_constu)
		push(e, bytes_uleb(b));
	else if (op == DW_OP_consts)
		push(e, (uint64_t)bytes_sleb(b));
	else
		return false;
	return true;
}

static uint64_t shift_right_signed(uint64_t a, uint64_t n)
{
	uint64_t sign = a >> 63 ? UINT64_MAX : 0;

	if (n == 0)
		return a;
	return n > 63 ? sign : (a >> n) | (sign << (64 - n));
}

static bool is_binary(uint8_t op)
{
	return op == DW_OP_and || op == DW_OP_minus || op == DW_OP_mul || op == DW_OP_or ||
	       op == DW_OP_plus || (op >= DW_OP_shl && op <= DW_OP_xor) ||
	       (op >= DW_OP_eq && op <= DW_OP_ne);
}

/* Computes a binary operation; `b` is the topmost value. */
static uint64_t compute(uint8_t op, uint64_t a, uint64_t b)
{
	switch (op) {
	case DW_OP_and:
		return a & b;
	case DW_OP_minus:
		return a - b;
	case DW_OP_mul:
		return a * b;
	case DW_OP_or:
		return a | b;
	case DW_OP_plus:
		return a + b;
	case DW_OP_shl:
		return b > 63 ? 0 : a << b;
	case DW_OP_shr:
		return b > 63 ? 0 : a >> b;
	case DW_OP_shra:
		return shift_right_signed(a, b);
	case DW_OP_xor:
		return a ^ b;
	case DW_OP_eq:
		return a == b;
	case DW_OP_ge:
		return (int64_t)a >= (int64_t)b;
	case DW_OP_gt:
		return (int64_t)a > (int64_t)b;
	case DW_OP_le:
		return (int64_t)a <= (int64_t)b;
	case DW_OP_lt:
		return (int64_t)a < (int64_t)b;
	default:
		return a != b;
	}
}

static void run_operation(struct evaluation *e, uint8_t op)
{
	uint64_t a, b;

	if (run_constant(e, op))
		return;
	if (is_binary(op)) {
		b = pop(e);
		a = pop(e);
		push(e, compute(op, a, b));
		return;
	}
	if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
		push_register(e, op - DW_OP_breg0, bytes_sleb(&e->code));
		return;
	}
	switch (op) {
	case DW_OP_deref:
		dereference(e);
		break;
	case DW_OP_dup:
		a = pop(e);
		push(e, a);
		push(e, a);
		break;
	case DW_OP_drop:
		pop(e);
		break;
	case DW_OP_over:
		b = pop(e);
		a = pop(e);
		push(e, a);
		push(e, b);
		push(e, a);
		break;
	case DW_OP_swap:
		b = pop(e);
		a = pop(e);
		push(e, b);
		push(e, a);
		break;
	case DW_OP_neg:
		push(e, 0 - pop(e));
		break;
	case DW_OP_not:
		push(e, ~pop(e));
		break;
	case DW_OP_plus_uconst:
		push(e, pop(e) + bytes_uleb(&e->code));
		break;
	case DW_OP_skip:
		jump(e, (int16_t)bytes_u16(&e->code));
		break;
	case DW_OP_bra:
		a = bytes_u16(&e->code);
		if (pop(e))
			jump(e, (int16_t)a);
		break;
	case DW_OP_nop:
		break;
	default:
		e->err = -EBADMSG;
		break;
	}
}

/*
 * Evaluates an expression. `initial`: the first value on the stack (the CFA, for register rules);
 * may be NULL.
 */
static int evaluate(const uint8_t *code, size_t size, const struct cfi_registers *registers,
		    const uint64_t *initial, cfi_reader read, void *context, uint64_t *result)
{
	struct evaluation e = {.registers = registers,
			       .read = read,
			       .context = context,
			       .start = code,
			       .code = {.at = code, .end = code + size}};
	int steps = 0;

	if (initial)
		push(&e, *initial);
	while (e.code.at < e.code.end && !e.err && !e.code.bad) {
		if (++steps > STEPS_MAX)
			return -EBADMSG;
		run_operation(&e, bytes_u8(&e.code));
	}
	*result = e.err ? 0 : pop(&e);
	return e.code.bad ? -EBADMSG : e.err;
}

static int find_cfa(const struct cfi_row *row, const struct cfi_registers *r, cfi_reader read,
		    void *context, uint64_t *cfa)
{
	if (row->cfa_is_expression)
		return evaluate(row->cfa_expression, row->cfa_expression_size, r, NULL, read,
				context, cfa);
	if (!(r->known & (1u << row->cfa_register)))
		return -EFAULT;
	*cfa = r->value[row->cfa_register] + (uint64_t)(int64_t)row->cfa_offset;
	return 0;
}

/* Computes the caller's value of a register that has a rule. */
static int find_register(const struct cfi_rule *rule, const struct cfi_registers *r, uint64_t cfa,
			 cfi_reader read, void *context, uint64_t *value)
{
	int err;

	switch (rule->kind) {
	case CFI_OFFSET:
		return read(context, cfa + (uint64_t)(int64_t)rule->offset, value) ? 0 : -EFAULT;
	case CFI_VAL_OFFSET:
		*value = cfa + (uint64_t)(int64_t)rule->offset;
		return 0;
	case CFI_REGISTER_RULE:
		if (rule->reg >= CFI_REGISTERS || !(r->known & (1u << rule->reg)))
			return -EFAULT;
		*value = r->value[rule->reg];
		return 0;
	case CFI_EXPRESSION:
	case CFI_VAL_EXPRESSION:
		err = evaluate(rule->expression, rule->expression_size, r, &cfa, read, context,
			       value);
		if (!err && rule->kind == CFI_EXPRESSION && !read(context, *value, value))
			err = -EFAULT;
		return err;
	default:
		return -EFAULT;
	}
}

/*
 * Returns whether a register was popped: its word lies below the stack pointer, in the red zone.
 * Rows need not tell: neither the register nor the word has changed since.
 */
static bool is_popped(const struct cfi_rule *rule, const struct cfi_registers *r, uint64_t cfa)
{
	uint64_t below = r->value[CFI_RSP] - (cfa + (uint64_t)(int64_t)rule->offset);

	return rule->kind == CFI_OFFSET && (r->known & (1u << CFI_RSP)) && below > 0 &&
	       below <= RED_ZONE_BYTES;
}

int cfi_apply(const struct cfi_row *row, struct cfi_registers *registers, cfi_reader read,
	      void *context)
{
	struct cfi_registers caller = *registers;
	uint64_t cfa = 0;
	int err;

	if (row->rules[CFI_PC].kind == CFI_UNDEFINED)
		return -ENOENT;
	err = find_cfa(row, registers, read, context, &cfa);
	if (err)
		return err;
	for (unsigned int i = 0; i < CFI_REGISTERS; i++) {
		const struct cfi_rule *rule = &row->rules[i];

		if (rule->kind == CFI_SAME && i != CFI_PC)
			continue;
		err = find_register(rule, registers, cfa, read, context, &caller.value[i]);
		if (err && i == CFI_PC)
			return err;
		if (err && is_popped(rule, registers, cfa))
			continue;
		if (err)
			caller.known &= ~(1u << i);
		else
			caller.known |= 1u << i;
	}
	/* the CFA is the stack pointer before the call, unless a rule differs (signal frames) */
	if (row->rules[CFI_RSP].kind == CFI_SAME) {
		caller.value[CFI_RSP] = cfa;
		caller.known |= 1u << CFI_RSP;
	}
	*registers = caller;
	return 0;
}

/* Reads a signed LEB128 number that takes up all bytes but `tail` (DWARF 5, 7.6). */
static bool read_offset(const uint8_t *bytes, size_t size, size_t tail, int64_t *value)
{
	uint64_t result = 0;
	unsigned int shift = 0;

	for (size_t i = 0; i < size && shift < 63; i++) {
		result |= (uint64_t)(bytes[i] & 0x7f) << shift;
		shift += 7;
		if (bytes[i] & 0x80)
			continue;
		if (bytes[i] & 0x40)
			result |= ~UINT64_C(0) << shift;
		*value = (int64_t)result;
		return i + 1 + tail == size;
	}
	return false;
}

/* Simplifies a CFA by "DW_OP_breg6 k; DW_OP_deref" and an rbp by "DW_OP_breg6 m". */
static bool simplify_aligned(const struct cfi_row *row, struct cfi_simple_row *simple)
{
	const uint8_t breg_rbp = DW_OP_breg0 + CFI_RBP;
	const struct cfi_rule *rbp = &row->rules[CFI_RBP];
	size_t size = row->cfa_expression_size;
	int64_t cfa_offset, rbp_offset;

	if (size < 3 || row->cfa_expression[0] != breg_rbp ||
	    row->cfa_expression[size - 1] != DW_OP_deref || rbp->kind != CFI_EXPRESSION ||
	    rbp->expression_size < 2 || rbp->expression[0] != breg_rbp ||
	    !read_offset(row->cfa_expression + 1, size - 1, 1, &cfa_offset) ||
	    !read_offset(rbp->expression + 1, rbp->expression_size - 1u, 0, &rbp_offset) ||
	    cfa_offset != (int32_t)cfa_offset || rbp_offset <= CFI_RBP_UNDEFINED ||
	    rbp_offset > INT16_MAX)
		return false;
	simple->cfa_form = CFI_CFA_AT_RBP;
	simple->cfa_offset = (int32_t)cfa_offset;
	simple->rbp_offset = (int16_t)rbp_offset;
	return true;
}

bool cfi_simplify(const struct cfi_row *row, struct cfi_simple_row *simple)
{
	const struct cfi_rule *pc = &row->rules[CFI_PC], *rbp = &row->rules[CFI_RBP];

	memset(simple, 0, sizeof(*simple));
	if (pc->kind == CFI_UNDEFINED) {
		simple->is_outermost = 1;
		return true;
	}
	if (row->is_signal_frame || pc->kind != CFI_OFFSET || pc->offset != -8 ||
	    row->rules[CFI_RSP].kind != CFI_SAME)
		return false;
	if (row->cfa_is_expression)
		return simplify_aligned(row, simple);
	if (row->cfa_register != CFI_RSP && row->cfa_register != CFI_RBP)
		return false;
	if (rbp->kind == CFI_SAME)
		simple->rbp_offset = CFI_RBP_SAME;
	else if (rbp->kind == CFI_UNDEFINED)
		simple->rbp_offset = CFI_RBP_UNDEFINED;
	else if (rbp->kind == CFI_OFFSET && rbp->offset > CFI_RBP_UNDEFINED &&
		 rbp->offset <= INT16_MAX)
		simple->rbp_offset = (int16_t)rbp->offset;
	else
		return false;
	simple->cfa_form = row->cfa_register == CFI_RBP ? CFI_CFA_RBP : CFI_CFA_RSP;
	simple->cfa_offset = row->cfa_offset;
	return true;
}
