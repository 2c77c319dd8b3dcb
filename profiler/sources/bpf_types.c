// SPDX-License-Identifier: MIT
#include "profiler/sources/bpf_types.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "bpf/stack_event.h"
#include "symbolize/util/array.h"
#include "symbolize/util/file_io.h"

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"
#define PSEUDO_KFUNC_CALL 2 /* BPF_PSEUDO_KFUNC_CALL of linux/bpf.h */

static const struct {
	int32_t number;
	const char *name;
	uint32_t kind;
} placeholders[] = {{STACK_CALL_RDONLY_CAST, "bpf_rdonly_cast", BTF_KIND_FUNC},
		    {STACK_TYPE_TASK_STRUCT, "task_struct", BTF_KIND_STRUCT},
		    {STACK_TYPE_TIMESPEC64, "timespec64", BTF_KIND_STRUCT},
		    {STACK_TYPE_PT_REGS, "pt_regs", BTF_KIND_STRUCT}};

#define PLACEHOLDERS (sizeof(placeholders) / sizeof(placeholders[0]))

/* The types of the object being loaded, for libbpf's callback. */
static struct bpf_types *current;

/* ---- names ---- */

/* Adds a name once. Takes `name`. Returns 0 or -ENOMEM. */
static int add_name(struct bpf_types *types, char *name, uint32_t kind)
{
	if (!name)
		return -ENOMEM;
	for (uint32_t i = 0; i < types->count; i++)
		if (types->list[i].kind == kind && strcmp(types->list[i].name, name) == 0) {
			free(name);
			return 0;
		}
	if (!array_make_room(&types->list, types->count, &types->capacity, sizeof(*types->list))) {
		free(name);
		return -ENOMEM;
	}
	types->list[types->count++] = (struct kernel_type){.name = name, .kind = kind};
	return 0;
}

static uint32_t find(const struct bpf_types *types, const char *name, uint32_t kind)
{
	for (uint32_t i = 0; i < types->count; i++)
		if (types->list[i].kind == kind && strcmp(types->list[i].name, name) == 0)
			return types->list[i].id;
	return 0;
}

/* Returns the kernel's name for the target of a program's section; NULL: it has none. */
static char *target_name(const struct bpf_program *program, uint32_t *kind)
{
	const char *section = bpf_program__section_name(program);
	const char *target = section ? strchr(section, '/') : NULL;
	bool is_iterator = section && strncmp(section, "iter", 4) == 0;
	char *name;

	if (!target || (!is_iterator && strncmp(section, "tp_btf/", 7) != 0))
		return NULL;
	*kind = is_iterator ? BTF_KIND_FUNC : BTF_KIND_TYPEDEF;
	return asprintf(&name, "%s%s", is_iterator ? "bpf_iter_" : "btf_trace_", target + 1) < 0
		       ? NULL
		       : name;
}

static int add_targets(struct bpf_types *types, struct bpf_object *object)
{
	struct bpf_program *program;
	uint32_t kind;
	int err = 0;

	bpf_object__for_each_program(program, object)
	{
		char *name = bpf_program__autoload(program) ? target_name(program, &kind) : NULL;

		if (name && !err)
			err = add_name(types, name, kind);
	}
	return err;
}

/* Adds structures and unions of the object. The part of a name behind "___" is the object's own. */
static int add_structures(struct bpf_types *types, const struct btf *own)
{
	int err = 0;

	for (uint32_t id = 1; !err && id < btf__type_cnt(own); id++) {
		const struct btf_type *t = btf__type_by_id(own, id);
		const char *name = btf__name_by_offset(own, t->name_off), *flavour;

		if ((!btf_is_struct(t) && !btf_is_union(t)) || !name || !*name)
			continue;
		flavour = strstr(name, "___");
		err = add_name(types,
			       strndup(name, flavour ? (size_t)(flavour - name) : strlen(name)),
			       btf_kind(t));
	}
	return err;
}

/* ---- programs ---- */

/* Replaces a placeholder in an instruction: the number of a call, or a constant. */
static void fill_in(struct bpf_insn *i)
{
	bool is_call = i->code == (BPF_JMP | BPF_CALL) && i->src_reg == 0;

	if (!is_call && i->code != (BPF_ALU64 | BPF_MOV | BPF_K) &&
	    i->code != (BPF_ALU | BPF_MOV | BPF_K))
		return;
	for (size_t p = 0; p < PLACEHOLDERS; p++) {
		if (i->imm != placeholders[p].number)
			continue;
		i->imm = (int32_t)find(current, placeholders[p].name, placeholders[p].kind);
		if (is_call)
			i->src_reg = PSEUDO_KFUNC_CALL;
		return;
	}
}

/* Replaces placeholders in a program. Returns 0 or -errno. */
static int fill_in_all(struct bpf_program *program)
{
	const size_t count = bpf_program__insn_cnt(program);
	struct bpf_insn *list = malloc(count * sizeof(*list));
	int err;

	if (!list)
		return -ENOMEM;
	memcpy(list, bpf_program__insns(program), count * sizeof(*list));
	for (size_t i = 0; i < count; i++)
		fill_in(&list[i]);
	err = bpf_program__set_insns(program, list, count);
	free(list);
	return err;
}

/*
 * Completes a program just before it is loaded. Until then it has another type: for programs of its
 * own type libbpf would read the kernel's types.
 */
static int complete(struct bpf_program *program, struct bpf_prog_load_opts *options, long flags)
{
	uint32_t kind;
	char *name = target_name(program, &kind);
	int err = name ? fill_in_all(program) : -ENOMEM;

	if (!err) {
		options->attach_btf_id = find(current, name, kind);
		options->prog_flags |= (uint32_t)flags;
		err = options->attach_btf_id ? bpf_program__set_type(program, BPF_PROG_TYPE_TRACING)
					     : -ESRCH;
	}
	free(name);
	return err;
}

/*
 * Makes libbpf call `complete`, once for all. Handlers are never removed: libbpf 1.1 frees their
 * list twice when it removes the last one and adds another.
 */
static int handle_sections(void)
{
	static const struct {
		const char *section;
		enum bpf_attach_type attach_type;
		long flags;
	} handled[] = {{"tp_btf+", BPF_TRACE_RAW_TP, 0},
		       {"iter+", BPF_TRACE_ITER, 0},
		       {"iter.s+", BPF_TRACE_ITER, BPF_F_SLEEPABLE}};
	static size_t count;

	for (; count < sizeof(handled) / sizeof(handled[0]); count++) {
		LIBBPF_OPTS(libbpf_prog_handler_opts, options, .cookie = handled[count].flags,
			    .prog_prepare_load_fn = complete);
		int id = libbpf_register_prog_handler(handled[count].section,
						      BPF_PROG_TYPE_RAW_TRACEPOINT,
						      handled[count].attach_type, &options);

		if (id < 0)
			return id;
	}
	return 0;
}

/* ---- the whole ---- */

int bpf_types_begin(struct bpf_types *types)
{
	*types = (struct bpf_types){.file = memfd_create("btf", MFD_CLOEXEC)};
	if (types->file < 0)
		return -errno;
	snprintf(types->path, sizeof(types->path), "/proc/self/fd/%d", types->file);
	current = types;
	return handle_sections();
}

/* Finds all names in the kernel's BTF, and writes the small one. */
static int reduce(struct bpf_types *types)
{
	struct kernel_btf *kernel;
	void *data = NULL;
	size_t size;
	int err = kernel_btf_open(KERNEL_BTF, &kernel);

	if (err)
		return err;
	err = kernel_btf_find(kernel, types->list, types->count);
	if (!err)
		err = kernel_btf_reduce(kernel, &data, &size);
	if (!err)
		err = write_exactly(types->file, data, size);
	free(data);
	kernel_btf_close(kernel);
	return err;
}

int bpf_types_provide(struct bpf_types *types, struct bpf_object *object)
{
	const struct btf *own = bpf_object__btf(object);
	int err = own ? add_structures(types, own) : -EINVAL;

	if (!err)
		err = add_targets(types, object);
	for (size_t p = 0; p < PLACEHOLDERS && !err; p++)
		err = add_name(types, strdup(placeholders[p].name), placeholders[p].kind);
	return err ? err : reduce(types);
}

void bpf_types_end(struct bpf_types *types)
{
	for (uint32_t i = 0; i < types->count; i++)
		free((char *)types->list[i].name);
	free(types->list);
	if (types->file >= 0)
		close(types->file);
	*types = (struct bpf_types){.file = -1};
	current = NULL;
}
