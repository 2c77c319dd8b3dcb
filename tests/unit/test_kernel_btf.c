/* SPDX-License-Identifier: MIT */
/* The small BTF has what the kernel's has, by libbpf's reading of both. Broken BTF is refused. */
#include "profiler/sources/kernel_btf.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/unit/unit.h"

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

/* Compares two structures, with the types of their members. */
static bool has_layout(const struct btf *small, const struct btf *whole, uint32_t id,
		       const struct btf_type *as);

/* Compares the types of two members, as far as CO-RE looks at them. */
static bool has_type(const struct btf *small, uint32_t a, const struct btf *whole, uint32_t b)
{
	const struct btf_type *x = btf__type_by_id(small, (uint32_t)btf__resolve_type(small, a)),
			      *y = btf__type_by_id(whole, (uint32_t)btf__resolve_type(whole, b));

	if (btf_kind(x) != btf_kind(y))
		return false;
	switch (btf_kind(x)) {
	case BTF_KIND_PTR:
		return true; /* to void */
	case BTF_KIND_ARRAY:
		return btf_array(x)->nelems == btf_array(y)->nelems &&
		       has_type(small, btf_array(x)->type, whole, btf_array(y)->type);
	case BTF_KIND_INT:
		return x->size == y->size &&
		       *(const uint32_t *)(x + 1) == *(const uint32_t *)(y + 1);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return has_layout(small, whole, (uint32_t)btf__resolve_type(small, a), y);
	default:
		return x->size == y->size;
	}
}

static bool has_layout(const struct btf *small, const struct btf *whole, uint32_t id,
		       const struct btf_type *as)
{
	const struct btf_type *is = btf__type_by_id(small, id);
	const struct btf_member *x = btf_members(is), *y = btf_members(as);

	if (is->info != as->info || is->size != as->size ||
	    strcmp(btf__name_by_offset(small, is->name_off),
		   btf__name_by_offset(whole, as->name_off)) != 0)
		return false;
	for (uint32_t i = 0; i < btf_vlen(is); i++)
		if (x[i].offset != y[i].offset ||
		    strcmp(btf__name_by_offset(small, x[i].name_off),
			   btf__name_by_offset(whole, y[i].name_off)) != 0 ||
		    !has_type(small, x[i].type, whole, y[i].type))
			return false;
	return true;
}

static struct btf *reduce(struct kernel_btf *btf, struct kernel_type *types, uint32_t count)
{
	struct btf *small;
	void *data;
	size_t size;

	assert_int_equal(kernel_btf_find(btf, types, count), 0);
	assert_int_equal(kernel_btf_reduce(btf, &data, &size), 0);
	assert_true(size < 1 << 20);
	small = btf__new(data, (uint32_t)size);
	assert_non_null(small);
	free(data);
	return small;
}

static void structures_have_the_kernels_layout(void **state)
{
	struct kernel_type types[] = {{"task_struct", BTF_KIND_STRUCT, 0},
				      {"mm_struct", BTF_KIND_STRUCT, 0},
				      {"pt_regs", BTF_KIND_STRUCT, 0},
				      {"btf_trace_sched_switch", BTF_KIND_TYPEDEF, 0},
				      {"bpf_iter_task", BTF_KIND_FUNC, 0},
				      {"no_such_structure", BTF_KIND_STRUCT, 0}};
	const uint32_t count = sizeof(types) / sizeof(types[0]);
	struct btf *whole = btf__parse(KERNEL_BTF, NULL), *small;
	struct kernel_btf *kernel;

	(void)state;
	if (!whole)
		skip(); /* no BTF in this kernel */
	assert_int_equal(kernel_btf_open(KERNEL_BTF, &kernel), 0);
	small = reduce(kernel, types, count);
	for (uint32_t i = 0; i < count; i++) {
		int id = btf__find_by_name_kind(whole, types[i].name, types[i].kind);

		assert_int_equal(types[i].id, id > 0 ? id : 0);
	}
	for (int i = 0; i < 3; i++) {
		int id = btf__find_by_name_kind(small, types[i].name, types[i].kind);

		assert_true(id > 0);
		assert_true(has_layout(small, whole, (uint32_t)id,
				       btf__type_by_id(whole, types[i].id)));
	}
	btf__free(small);
	btf__free(whole);
	kernel_btf_close(kernel);
}

/* Makes a BTF with a structure of each kind of member, twice by one name. */
static struct btf *make(void)
{
	struct btf *btf = btf__new_empty();
	int number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	int node = btf__add_struct(btf, "node", 24);

	btf__add_field(btf, "value", number, 0, 0);
	btf__add_field(btf, "next", node + 1, 64, 0);
	btf__add_field(btf, "kind", node + 2, 128, 0);
	btf__add_ptr(btf, node);
	btf__add_enum(btf, "kinds", 4);
	btf__add_enum_value(btf, "ONE", 1);
	btf__add_func_proto(btf, number);
	btf__add_func_param(btf, "x", number);
	btf__add_func(btf, "node", BTF_FUNC_GLOBAL, node + 3);
	btf__add_struct(btf, "node", 8);
	btf__add_field(btf, "bits", number, 0, 3);
	btf__add_array(btf, number, number, 4);
	btf__add_datasec(btf, ".data", 8);
	return btf;
}

static void all_of_one_name_are_taken(void **state)
{
	struct kernel_type types[] = {{"node", BTF_KIND_STRUCT, 0}, {"node", BTF_KIND_FUNC, 0}};
	struct btf *whole = make(), *small;
	struct kernel_btf *kernel;
	uint32_t size, nodes = 0;
	const void *data = btf__raw_data(whole, &size);

	(void)state;
	assert_int_equal(kernel_btf_open_memory(data, size, &kernel), 0);
	small = reduce(kernel, types, 2);
	assert_int_equal(types[0].id, 2);
	assert_int_equal(types[1].id, 6);
	for (uint32_t id = 1; id < btf__type_cnt(small); id++) {
		const struct btf_type *t = btf__type_by_id(small, id);

		assert_true(btf_kind(t) != BTF_KIND_FUNC && btf_kind(t) != BTF_KIND_DATASEC);
		if (btf_kind(t) == BTF_KIND_PTR)
			assert_int_equal(t->type, 0);
		if (btf_is_struct(t))
			assert_true(has_layout(small, whole, id,
					       btf__type_by_id(whole, nodes++ ? 7 : 2)));
	}
	assert_int_equal(nodes, 2);
	assert_int_equal(kernel_btf_find(kernel, types + 1, 1), 0);
	assert_int_equal(kernel_btf_reduce(kernel, (void **)&data, &(size_t){0}), -ENOENT);
	btf__free(small);
	btf__free(whole);
	kernel_btf_close(kernel);
}

/* A file that cannot be mapped is read, as the kernel's before Linux 6.16. */
static void a_file_that_cannot_be_mapped_is_read(void **state)
{
	struct kernel_type types[] = {{"node", BTF_KIND_STRUCT, 0}};
	struct btf *whole = make();
	struct kernel_btf *kernel;
	uint32_t size;
	const void *data = btf__raw_data(whole, &size);
	char path[64];
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], data, size), size);
	close(ends[1]);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[0]);
	assert_int_equal(kernel_btf_open(path, &kernel), 0);
	btf__free(reduce(kernel, types, 1));
	assert_int_equal(types[0].id, 2);
	kernel_btf_close(kernel);
	close(ends[0]);
	btf__free(whole);
}

/* Opens and reduces a changed copy, in memory of its exact size. */
static void try(const unsigned char *data, size_t size)
{
	struct kernel_type types[] = {{"node", BTF_KIND_STRUCT, 0}, {"node", BTF_KIND_FUNC, 0}};
	unsigned char *copy = malloc(size + !size);
	struct kernel_btf *kernel;
	void *small;
	size_t bytes;

	memcpy(copy, data, size);
	if (kernel_btf_open_memory(copy, size, &kernel) == 0) {
		if (kernel_btf_find(kernel, types, 2) == 0 &&
		    kernel_btf_reduce(kernel, &small, &bytes) == 0)
			free(small);
		kernel_btf_close(kernel);
	}
	free(copy);
}

static void broken_btf_is_refused(void **state)
{
	struct btf *whole = make();
	struct kernel_btf *kernel;
	uint32_t size;
	const unsigned char *data = btf__raw_data(whole, &size);
	unsigned char *changed = malloc(size);

	(void)state;
	for (uint32_t i = 0; i < size; i++) {
		assert_int_equal(kernel_btf_open_memory(data, i, &kernel), -EINVAL);
		for (int bit = 0; bit < 8; bit++) {
			memcpy(changed, data, size);
			changed[i] ^= (unsigned char)(1 << bit);
			try(changed, size);
		}
		memcpy(changed, data, size);
		memset(changed + i, 0xff, size - i < 4 ? size - i : 4);
		try(changed, size);
	}
	assert_int_equal(kernel_btf_open("/does/not/exist", &kernel), -ENOENT);
	assert_int_equal(kernel_btf_open("/proc/self/cmdline", &kernel), -EINVAL);
	free(changed);
	btf__free(whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(structures_have_the_kernels_layout),
		cmocka_unit_test(all_of_one_name_are_taken),
		cmocka_unit_test(a_file_that_cannot_be_mapped_is_read),
		cmocka_unit_test(broken_btf_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
