// SPDX-License-Identifier: MIT
#include "symbolize/frame_naming.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolize/ksyms.h"
#include "symbolize/place_name.h"
#include "symbolize/util/sorted.h"

struct named_ref {
	struct code_ref ref;
	const char *name; /* NULL: wanted, not named yet */
};

int naming_init(struct naming *n, struct modules *modules)
{
	*n = (struct naming){.modules = modules, .kallsyms = -1};
	n->names.max_bytes = NAMES_MAX_TEXT;
	jit_code_init(&n->jits, modules->files.calls);
	n->demangler = demangler_new();
	return n->demangler ? 0 : -ENOMEM;
}

void naming_release(struct naming *n)
{
	inline_names_release(&n->inlines);
	intern_release(&n->names);
	demangler_free(n->demangler);
	record_set_release(&n->refs.set);
	jit_code_release(&n->jits);
	ksyms_free(n->ksyms);
	elf_syms_free(n->vdso);
	naming_set_kallsyms(n, -1);
}

void naming_set_kallsyms(struct naming *n, int fd)
{
	if (n->kallsyms >= 0)
		close(n->kallsyms);
	n->kallsyms = fd;
}

/*
 * Demangles and interns a symbol of a file (NULL: no file). Returns NULL when out of memory, or
 * over the limit.
 */
static const char *readable(struct naming *n, const char *symbol, const char *file)
{
	const char *result;
	char *name;

	if (strnlen(symbol, DEMANGLE_MAX_INPUT + 1) > DEMANGLE_MAX_INPUT)
		name = strndup(symbol, NAME_MAX_BYTES);
	else
		name = demangle_in(n->demangler, symbol, DEMANGLE_FUNCTION, file);
	result = name ? intern_string(&n->names, name) : NULL;
	free(name);
	return result;
}

/* ---- the kernel, the vDSO ---- */

#define KERNEL_NAME_BYTES 640

struct ksyms_job {
	struct bounded_job job;
	int file; /* open /proc/kallsyms; -1: the job opens it */
	struct ksyms *ksyms;
};

static void run_ksyms(struct bounded_job *job)
{
	struct ksyms_job *j = (struct ksyms_job *)job;

	if (j->file >= 0)
		ksyms_read(j->file, &j->ksyms);
	else
		ksyms_load(&j->ksyms);
}

static void discard_ksyms(struct bounded_job *job)
{
	ksyms_free(((struct ksyms_job *)job)->ksyms);
}

/*
 * Reads the kernel's symbols on the worker, since the kernel takes some 100 ms. Stacks that arrive
 * meanwhile are read by the waiting thread (bounded_caller_do_meanwhile).
 */
static void load_ksyms(struct naming *n)
{
	struct bounded_caller *calls = n->modules->files.calls;
	struct ksyms_job *job = bounded_job_new(sizeof(*job), run_ksyms, discard_ksyms);

	n->tried_ksyms = true;
	if (!job)
		return;
	job->file = n->kallsyms;
	job->job.fd = n->kallsyms;
	n->kallsyms = -1;
	if (bounded_call(calls, &job->job, BOUNDED_CALL_LOAD_MS) != 0)
		return;
	table_quota_settle(bounded_caller_budget(calls), &job->job.share, false);
	n->ksyms = job->ksyms;
	if (job->file >= 0)
		close(job->file);
	free(job);
}

static const char *name_of_kernel(struct naming *n, uint64_t address)
{
	char name[KERNEL_NAME_BYTES];
	const char *symbol;
	int found;

	if (n->kernel_name) {
		found = n->kernel_name(n->kernel_context, address, name, sizeof(name));
		if (found >= 0)
			return found ? readable(n, name, NULL) : NULL;
		n->kernel_name = NULL;
	}
	if (!n->tried_ksyms)
		load_ksyms(n);
	symbol = n->ksyms ? ksyms_find(n->ksyms, address) : NULL;
	return symbol ? readable(n, symbol, NULL) : NULL;
}

static const char *name_of_vdso(struct naming *n, uint64_t offset)
{
	size_t size;
	const void *image = n->tried_vdso ? NULL : elf_vdso(&size);
	struct elf_symbol symbol;

	if (image)
		elf_syms_load_memory(image, size, &n->vdso);
	n->tried_vdso = true;
	if (!n->vdso || !elf_syms_find(n->vdso, offset, &symbol))
		return NULL;
	return readable(n, symbol.name, NULL);
}

/* ---- generated code ---- */

static const char *name_of_jit(struct naming *n, struct code_ref ref)
{
	const char *name = jit_code_find(&n->jits, ref.process, ref.offset);

	return name ? intern_string(&n->names, name) : NULL;
}

/* ---- files ---- */

static const char *name_of_plt(struct naming *n, const char *target)
{
	const char *result = NULL;
	char *name;

	/* added before demangling, which removes versions ("@@V") */
	if (strnlen(target, DEMANGLE_MAX_INPUT) == DEMANGLE_MAX_INPUT ||
	    asprintf(&name, "%s@plt", target) < 0)
		return readable(n, target, NULL);
	result = readable(n, name, NULL);
	free(name);
	return result;
}

static const char *name_of_file(struct naming *n, struct code_ref ref)
{
	struct module_file *file = modules_load(n->modules, ref.module, TABLE_SYMS);
	struct elf_symbol symbol;
	const char **name;

	if (!file || !file->syms || !elf_syms_find(file->syms, ref.offset, &symbol))
		return NULL;
	name = &file->names[symbol.index];
	if (!*name)
		*name = symbol.is_plt
				? name_of_plt(n, symbol.name)
				: readable(n, symbol.name, modules_path(n->modules, ref.module));
	return *name;
}

/* ---- all ---- */

static const char *find_name(struct naming *n, struct code_ref ref)
{
	switch (ref.module) {
	case MODULE_UNKNOWN:
		return NULL;
	case MODULE_KERNEL:
		return name_of_kernel(n, ref.offset);
	case MODULE_VDSO:
		return name_of_vdso(n, ref.offset);
	case MODULE_JIT:
		return name_of_jit(n, ref);
	default:
		return name_of_file(n, ref);
	}
}

/* Finds the start of the function that contains the byte. Returns false if unknown. */
static bool find_start(struct naming *n, struct code_ref ref, uint64_t *start)
{
	struct module_file *file = ref.module >= MODULES_FIRST
					   ? modules_load(n->modules, ref.module, TABLE_SYMS)
					   : NULL;

	return file && file->syms && elf_syms_function(file->syms, ref.offset, start);
}

/* Returns the name of a function without a symbol (place_name.h). */
static const char *bracketed(struct naming *n, struct code_ref ref)
{
	const char *path = modules_path(n->modules, ref.module), *name;
	uint64_t start;
	char *text;

	if (path[0] == '[')
		return modules_get(n->modules, ref.module) ? intern_string(&n->names, path) : path;
	text = place_name(path, find_start(n, ref, &start) ? &start : NULL);
	name = text ? intern_string(&n->names, text) : NULL;
	free(text);
	return name;
}

/* Finds or adds the place. Returns NULL when out of memory. */
static struct named_ref *find_ref(struct naming *n, struct code_ref ref)
{
	uint32_t at = record_get(&n->refs, &ref, &((struct named_ref){.ref = ref}));

	return at != RECORD_NONE ? &n->refs.list[at] : NULL;
}

/* Returns a name, never NULL. */
static const char *find_any_name(struct naming *n, struct code_ref ref)
{
	const char *name = find_name(n, ref);

	if (!name)
		name = bracketed(n, ref);
	return name ? name : "[unknown]";
}

const char *name_place(struct naming *n, struct code_ref ref)
{
	struct named_ref *place = find_ref(n, ref);

	/* out of memory: the next request repeats the work */
	if (!place)
		return find_any_name(n, ref);
	if (!place->name)
		place->name = find_any_name(n, ref);
	return place->name;
}

static struct inline_tools tools_of(struct naming *n)
{
	return (struct inline_tools){
		.modules = n->modules, .demangler = n->demangler, .strings = &n->names};
}

uint32_t name_place_inlined(struct naming *n, struct code_ref ref, const char *const **names)
{
	struct inline_tools tools = tools_of(n);
	const char *const *inlined = NULL, *const *sources = NULL;
	uint32_t count = 0;

	if (ref.module >= MODULES_FIRST)
		count = inline_names_find(&n->inlines, &tools, ref, &inlined, &sources);
	n->chain[0] = name_place(n, ref);
	for (uint32_t i = 0; i < count; i++)
		n->chain[i + 1] = inlined[i];
	for (uint32_t i = 0; i <= count; i++)
		n->sources[i] = sources ? sources[i] : NULL;
	*names = n->chain;
	return count + 1;
}

/* ---- many at a time ---- */

/* A wanted place. Places in one group share tables; other places do not. */
struct wanted {
	uint64_t group; /* file, or process with generated code */
	uint64_t offset;
	uint32_t module;
	uint32_t position; /* position in n->refs */
};

#define GROUP_OTHER UINT64_MAX
#define GROUP_JIT (UINT64_C(1) << 63) /* | process id */

void want_name(struct naming *n, struct code_ref ref)
{
	find_ref(n, ref);
}

static uint64_t group_of(struct naming *n, struct code_ref ref)
{
	int64_t file;

	if (ref.module == MODULE_JIT)
		return GROUP_JIT | ref.process;
	file = modules_find_file(n->modules, ref.module);
	return file < 0 ? GROUP_OTHER : (uint64_t)file;
}

static struct code_ref ref_of(const struct wanted *wanted)
{
	return (struct code_ref){
		.module = wanted->module,
		.process = wanted->module == MODULE_JIT ? (uint32_t)wanted->group : 0,
		.offset = wanted->offset,
	};
}

static int compare_wanted(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;
	int order = compare_numbers(x->group, y->group);

	order = order ? order : compare_numbers(x->module, y->module);
	return order ? order : compare_numbers(x->offset, y->offset);
}

/* Reads the inlined functions at places of one file, module by module. */
static void find_inlined(struct naming *n, const struct wanted *wanted, uint32_t count)
{
	struct inline_tools tools = tools_of(n);
	struct code_ref *refs = calloc(count, sizeof(*refs));
	uint32_t first = 0;

	if (!refs)
		return;
	for (uint32_t i = 0; i < count; i++)
		refs[i] = ref_of(&wanted[i]);
	for (uint32_t i = 1; i <= count; i++) {
		if (i < count && refs[i].module == refs[first].module)
			continue;
		inline_names_add(&n->inlines, &tools, refs + first, i - first);
		first = i;
	}
	free(refs);
}

static void free_group(struct naming *n, uint64_t group)
{
	struct module_files *files = &n->modules->files;

	if (group < files->count)
		module_file_free_names(files, &files->list[group]);
	if (group != GROUP_OTHER && group & GROUP_JIT)
		jit_code_free_tables(&n->jits, (uint32_t)group);
}

static void name_group(struct naming *n, const struct wanted *wanted, uint32_t count,
		       bool with_inlined)
{
	if (with_inlined && wanted->group < n->modules->files.count)
		find_inlined(n, wanted, count);
	for (uint32_t i = 0; i < count; i++)
		n->refs.list[wanted[i].position].name = find_any_name(n, ref_of(&wanted[i]));
	free_group(n, wanted->group);
}

void name_wanted(struct naming *n, bool with_inlined)
{
	struct wanted *wanted = calloc(n->refs.count + 1u, sizeof(*wanted));
	uint32_t count = 0, first = 0;

	if (!wanted)
		return; /* places are named one by one later */
	for (uint32_t i = 0; i < n->refs.count; i++) {
		const struct named_ref *place = &n->refs.list[i];

		if (!place->name)
			wanted[count++] = (struct wanted){
				.group = group_of(n, place->ref),
				.offset = place->ref.offset,
				.module = place->ref.module,
				.position = i,
			};
	}
	qsort(wanted, count, sizeof(*wanted), compare_wanted);
	for (uint32_t i = 1; i <= count; i++) {
		if (i < count && wanted[i].group == wanted[first].group)
			continue;
		name_group(n, wanted + first, i - first, with_inlined);
		first = i;
	}
	free(wanted);
}
