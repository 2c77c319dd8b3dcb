// SPDX-License-Identifier: MIT
#include "profiler/attach/safe_stack.h"

#include <string.h>
#include <sys/syscall.h>
#include "symbolize/util/text.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

bool safe_stack_forbids(const char *path, const char *function)
{
	static const char *const libraries[] = {"ld-linux",    "ld-2.",      "libcuda.so",
						"libcupti",    "libnvidia",  "libjemalloc",
						"libtcmalloc", "libmimalloc"};
	static const char *const starts[] = {"operator new", "operator delete", "__libc_fork",
					     "pthread_create"};
	static const char *const names[] = {
		"malloc",         "calloc",          "realloc",      "free",
		"memalign",       "valloc",          "pvalloc",      "mallopt",
		"posix_memalign", "aligned_alloc",   "malloc_trim",  "malloc_info",
		"cfree",          "dl_iterate_phdr", "reallocarray", "dlopen",
		"dlclose",        "dlsym",           "dlmopen",      "exit",
		"fork",           "_Fork",           "vfork",        "quick_exit",
		"__cxa_finalize",
	};

	if (starts_with_any(base_name(path), libraries, COUNT(libraries)) ||
	    starts_with_any(function, starts, COUNT(starts)))
		return true;
	for (size_t i = 0; i < COUNT(names); i++)
		if (strcmp(function, names[i]) == 0)
			return true;
	return false;
}

/* Returns true for the wait of a mutex or C library lock. Condition variables wait differently. */
static bool waits_for_lock(const struct user_regs_struct *r, const char *path, const char *function)
{
	static const char *const libraries[] = {"libc.so.6", "libc-2.", "libpthread"};

	return r->orig_rax == SYS_futex && (r->rsi & 0x7f) == 0 /* FUTEX_WAIT */ &&
	       starts_with_any(base_name(path), libraries, COUNT(libraries)) &&
	       strcmp(function, "syscall") != 0;
}

static bool is_unsafe(const struct safe_stack *s, struct symbolizer *symbolizer, size_t i)
{
	const struct unwind_frame *f = &s->frames[i];
	const char *path = symbolizer_module_path(symbolizer, f->code.module);
	const char *function;

	if (i > 0 && !f->is_return_address)
		return true; /* interrupted by a signal */
	function = symbolizer_name(symbolizer, f->code, f->is_return_address);
	return safe_stack_forbids(path, function) ||
	       (i == 0 && waits_for_lock(&s->registers, path, function));
}

static struct cfi_registers unwind_registers(const struct user_regs_struct *r)
{
	return (struct cfi_registers){.value = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi,
						r->rbp, r->rsp, r->r8, r->r9, r->r10, r->r11,
						r->r12, r->r13, r->r14, r->r15, r->rip},
				      .known = (1u << CFI_REGISTERS) - 1};
}

void safe_stack_copy(struct safe_stack *s, const struct remote_memory *memory,
		     const struct user_regs_struct *registers)
{
	s->registers = *registers;
	s->size = remote_read_some(memory, registers->rsp, s->bytes, sizeof(s->bytes));
}

bool safe_stack_check(struct safe_stack *s, struct symbolizer *symbolizer,
		      struct address_space *space, bool is_whole)
{
	struct unwind_input input = {.registers = unwind_registers(&s->registers),
				     .stack = s->bytes,
				     .stack_size = s->size};
	enum unwind_end end;
	size_t count =
		symbolizer_unwind(symbolizer, space, &input, s->frames, SAFE_STACK_FRAMES, &end);

	if (is_whole && end != UNWIND_WHOLE && end != UNWIND_GUESSED)
		return false;
	for (size_t i = 0; i < count; i++)
		if (is_unsafe(s, symbolizer, i))
			return false;
	return true;
}
