// SPDX-License-Identifier: MIT
#include "profiler/sources/kernel_btf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "symbolize/util/array.h"
#include "symbolize/util/file_io.h"

#define MOST_BYTES (256u << 20)
#define BUCKETS 256u

/* A type found by name. */
struct match {
	uint32_t id, type; /* its number in the BTF, and in the list of those to be found */
};

struct kernel_btf {
	void *mapping, *copy; /* owned: one of them, or neither */
	size_t mapped_bytes;
	const unsigned char *types;
	const char *strings; /* end with a NUL */
	uint32_t type_bytes, string_bytes;
	uint32_t *at; /* offsets of types by id, which begins at 1 */
	uint32_t count, capacity;
	struct match *matches;
	uint32_t match_count, match_capacity;
	const struct kernel_type *wanted; /* types of the last search; not owned */
};

/* ---- reading ---- */

static uint32_t kind_of(const struct btf_type *t)
{
	return BTF_INFO_KIND(t->info);
}

static uint32_t members_of(const struct btf_type *t)
{
	return BTF_INFO_VLEN(t->info);
}

/* Returns the bytes that follow the head of a type, or -1 for a kind that is not known. */
static int64_t bytes_behind(const struct btf_type *t)
{
	const uint32_t count = members_of(t);

	switch (kind_of(t)) {
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return 0;
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return sizeof(uint32_t);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return count * (int64_t)sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return count * (int64_t)sizeof(struct btf_enum);
	case BTF_KIND_FUNC_PROTO:
		return count * (int64_t)sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return count * (int64_t)sizeof(struct btf_var_secinfo);
	case BTF_KIND_ENUM64:
		return count * (int64_t)sizeof(struct btf_enum64);
	default:
		return -1;
	}
}

static const struct btf_type *type_at(const struct kernel_btf *btf, uint32_t id)
{
	return (const struct btf_type *)(btf->types + btf->at[id]);
}

/* Notes where each type begins. Returns 0, or -errno. */
static int index_types(struct kernel_btf *btf)
{
	uint32_t at = 0;

	btf->count = 1; /* void */
	while (at < btf->type_bytes) {
		const struct btf_type *t = (const struct btf_type *)(btf->types + at);
		int64_t behind;

		if (btf->type_bytes - at < sizeof(*t) || t->name_off >= btf->string_bytes)
			return -EINVAL;
		behind = bytes_behind(t);
		if (behind < 0 || behind > btf->type_bytes - at - (int64_t)sizeof(*t))
			return -EINVAL;
		if (!array_make_room(&btf->at, btf->count, &btf->capacity, sizeof(*btf->at)))
			return -ENOMEM;
		btf->at[btf->count++] = at;
		at += (uint32_t)(sizeof(*t) + (size_t)behind);
	}
	return 0;
}

/* Checks the head, and finds the sections. */
static int find_sections(struct kernel_btf *btf, const void *data, size_t size)
{
	const struct btf_header *head = data;
	const unsigned char *body;
	size_t left;

	if (size < sizeof(*head) || head->magic != BTF_MAGIC || head->version != BTF_VERSION ||
	    head->hdr_len < sizeof(*head) || head->hdr_len > size ||
	    head->hdr_len % sizeof(uint32_t) != 0)
		return -EINVAL;
	body = (const unsigned char *)data + head->hdr_len;
	left = size - head->hdr_len;
	if (head->type_off > left || head->type_len > left - head->type_off ||
	    head->str_off > left || head->str_len > left - head->str_off || head->str_len == 0 ||
	    head->type_off % sizeof(uint32_t) != 0)
		return -EINVAL;
	btf->types = body + head->type_off;
	btf->type_bytes = head->type_len;
	btf->strings = (const char *)body + head->str_off;
	btf->string_bytes = head->str_len;
	return btf->strings[head->str_len - 1] == '\0' ? 0 : -EINVAL;
}

static int open_data(struct kernel_btf *btf, const void *data, size_t size)
{
	int err = size > MOST_BYTES ? -EFBIG : find_sections(btf, data, size);

	return err ? err : index_types(btf);
}

int kernel_btf_open_memory(const void *data, size_t size, struct kernel_btf **result)
{
	struct kernel_btf *btf = calloc(1, sizeof(*btf));
	int err = btf ? open_data(btf, data, size) : -ENOMEM;

	if (err)
		kernel_btf_close(btf);
	else
		*result = btf;
	return err;
}

/* Maps an open file, or reads it. Returns 0, or -errno. */
static int load_file(struct kernel_btf *btf, int fd, const void **data, size_t *size)
{
	struct stat status;
	char *text;
	int err;

	if (fstat(fd, &status) == 0 && status.st_size > 0 && status.st_size <= MOST_BYTES) {
		btf->mapping = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		btf->mapped_bytes = (size_t)status.st_size;
		if (btf->mapping != MAP_FAILED) {
			*data = btf->mapping;
			*size = btf->mapped_bytes;
			return 0;
		}
		btf->mapping = NULL;
	}
	err = read_to_end(fd, MOST_BYTES, &text, size);
	if (!err)
		*data = btf->copy = text;
	return err;
}

int kernel_btf_open(const char *path, struct kernel_btf **result)
{
	struct kernel_btf *btf = calloc(1, sizeof(*btf));
	int fd = btf ? open(path, O_RDONLY | O_CLOEXEC) : -1, err = btf ? 0 : -ENOMEM;
	const void *data;
	size_t size;

	if (btf && fd < 0)
		err = -errno;
	if (!err)
		err = load_file(btf, fd, &data, &size);
	if (fd >= 0)
		close(fd);
	if (!err)
		err = open_data(btf, data, size);
	if (err)
		kernel_btf_close(btf);
	else
		*result = btf;
	return err;
}

void kernel_btf_close(struct kernel_btf *btf)
{
	if (!btf)
		return;
	if (btf->mapping)
		munmap(btf->mapping, btf->mapped_bytes);
	free(btf->copy);
	free(btf->at);
	free(btf->matches);
	free(btf);
}

/* ---- finding ---- */

/* Types to be found, in chains by the beginning of the name. */
struct wanted {
	uint64_t *beginnings;    /* first bytes of each name */
	uint32_t *next;          /* number of the next one in the chain, plus 1; 0: the last */
	uint32_t first[BUCKETS]; /* plus 1; 0: none */
	uint32_t kinds;          /* bit for each kind that is looked for */
};

/* Returns the first 8 bytes of a text that ends before `end`, with zeros from its NUL on. */
static uint64_t beginning_of(const char *text, size_t most)
{
	uint64_t value = 0;

	memcpy(&value, text, strnlen(text, most < sizeof(value) ? most : sizeof(value)));
	return value;
}

static uint32_t bucket_of(uint64_t beginning)
{
	return (uint32_t)(beginning * 0x9e3779b97f4a7c15u >> 56) % BUCKETS;
}

static bool want_all(struct wanted *w, const struct kernel_type *types, uint32_t count)
{
	*w = (struct wanted){.beginnings = calloc(count + 1, sizeof(*w->beginnings)),
			     .next = calloc(count + 1, sizeof(*w->next))};
	if (!w->beginnings || !w->next)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t bucket;

		w->beginnings[i] = beginning_of(types[i].name, SIZE_MAX);
		bucket = bucket_of(w->beginnings[i]);
		w->next[i] = w->first[bucket];
		w->first[bucket] = i + 1;
		w->kinds |= 1u << (types[i].kind & 31);
	}
	return true;
}

/* Notes a type if it is looked for. Returns false without memory. */
static bool match(struct kernel_btf *btf, const struct wanted *w, struct kernel_type *types,
		  uint32_t id)
{
	const struct btf_type *t = type_at(btf, id);
	const char *name = btf->strings + t->name_off;
	uint64_t beginning = beginning_of(name, btf->string_bytes - t->name_off);

	for (uint32_t i = w->first[bucket_of(beginning)]; i; i = w->next[i - 1]) {
		struct kernel_type *type = &types[i - 1];

		if (w->beginnings[i - 1] != beginning || type->kind != kind_of(t) ||
		    strcmp(type->name, name) != 0)
			continue;
		if (!array_make_room(&btf->matches, btf->match_count, &btf->match_capacity,
				     sizeof(*btf->matches)))
			return false;
		btf->matches[btf->match_count++] = (struct match){id, i - 1};
		if (!type->id)
			type->id = id;
	}
	return true;
}

int kernel_btf_find(struct kernel_btf *btf, struct kernel_type *types, uint32_t count)
{
	struct wanted w;
	bool is_done = want_all(&w, types, count);

	btf->match_count = 0;
	btf->wanted = types;
	for (uint32_t i = 0; i < count; i++)
		types[i].id = 0;
	for (uint32_t id = 1; is_done && id < btf->count; id++)
		if (w.kinds & 1u << kind_of(type_at(btf, id)))
			is_done = match(btf, &w, types, id);
	free(w.beginnings);
	free(w.next);
	return is_done ? 0 : -ENOMEM;
}

/* ---- a small BTF ---- */

struct reduced {
	const struct kernel_btf *btf;
	uint32_t *number; /* new id of each type; 0: not part of the result */
	uint32_t *ids;    /* types of the result by new id, less 1 */
	uint32_t count, capacity;
	char *types;
	uint32_t type_bytes, type_capacity;
	char *strings;
	uint32_t string_bytes, string_capacity;
	int err;
};

/* Makes a type part of the result. Returns its new id; 0: void, or an error. */
static uint32_t take(struct reduced *r, uint32_t id)
{
	if (id == 0 || r->err)
		return 0;
	if (id >= r->btf->count) {
		r->err = -EINVAL;
		return 0;
	}
	if (r->number[id])
		return r->number[id];
	if (!array_make_room(&r->ids, r->count, &r->capacity, sizeof(*r->ids))) {
		r->err = -ENOMEM;
		return 0;
	}
	r->ids[r->count++] = id;
	return r->number[id] = r->count;
}

/* Appends bytes to a section. `list` is the address of its pointer. */
static void append(struct reduced *r, void *list, uint32_t *used, uint32_t *capacity,
		   const void *data, uint32_t bytes)
{
	if (!r->err && !array_reserve(list, *used, bytes, capacity, 1))
		r->err = -ENOMEM;
	if (r->err)
		return;
	memcpy(*(char **)list + *used, data, bytes);
	*used += bytes;
}

static void append_type(struct reduced *r, const void *data, uint32_t bytes)
{
	append(r, &r->types, &r->type_bytes, &r->type_capacity, data, bytes);
}

/* Appends a name of the kernel's. Returns its offset. */
static uint32_t append_name(struct reduced *r, uint32_t offset)
{
	uint32_t at = r->string_bytes;
	const char *name;

	if (offset >= r->btf->string_bytes) {
		r->err = -EINVAL;
		return 0;
	}
	name = r->btf->strings + offset;
	if (!*name)
		return 0;
	append(r, &r->strings, &r->string_bytes, &r->string_capacity, name,
	       (uint32_t)strlen(name) + 1);
	return at;
}

static void append_members(struct reduced *r, const struct btf_member *members, uint32_t count)
{
	for (uint32_t i = 0; i < count && !r->err; i++) {
		struct btf_member member = members[i];

		member.type = take(r, member.type);
		member.name_off = append_name(r, member.name_off);
		append_type(r, &member, sizeof(member));
	}
}

/* Returns a type's head as it is in the result, without its name. */
static struct btf_type head_of(struct reduced *r, const struct btf_type *from)
{
	struct btf_type t = *from;

	switch (kind_of(from)) {
	case BTF_KIND_PTR:
		t.type = 0;
		break;
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		t.type = take(r, t.type);
		break;
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		t.info &= ~0xffffu; /* no values */
		break;
	default:
		break;
	}
	return t;
}

static void append_array(struct reduced *r, const struct btf_array *from)
{
	struct btf_array array = *from;

	array.type = take(r, array.type);
	array.index_type = take(r, array.index_type);
	append_type(r, &array, sizeof(array));
}

/* Appends one type. Types of its members join the result, behind all that are part of it. */
static void append_one(struct reduced *r, uint32_t id)
{
	const struct btf_type *from = type_at(r->btf, id);
	const void *behind = from + 1;
	struct btf_type t = head_of(r, from);

	t.name_off = append_name(r, t.name_off);
	append_type(r, &t, sizeof(t));
	switch (kind_of(from)) {
	case BTF_KIND_INT:
		append_type(r, behind, sizeof(uint32_t));
		break;
	case BTF_KIND_ARRAY:
		append_array(r, behind);
		break;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		append_members(r, behind, members_of(from));
		break;
	case BTF_KIND_FUNC:
	case BTF_KIND_FUNC_PROTO:
	case BTF_KIND_VAR:
	case BTF_KIND_DATASEC:
	case BTF_KIND_DECL_TAG:
		r->err = -EINVAL; /* no type of a member */
		break;
	default:
		break;
	}
}

/* Joins head, types and strings. */
static void join(struct reduced *r, void **data, size_t *size)
{
	struct btf_header head = {.magic = BTF_MAGIC,
				  .version = BTF_VERSION,
				  .hdr_len = sizeof(head),
				  .type_len = r->type_bytes,
				  .str_off = r->type_bytes,
				  .str_len = r->string_bytes};
	char *all = malloc(sizeof(head) + r->type_bytes + r->string_bytes);

	if (!all) {
		r->err = -ENOMEM;
		return;
	}
	memcpy(all, &head, sizeof(head));
	memcpy(all + sizeof(head), r->types, r->type_bytes);
	memcpy(all + sizeof(head) + r->type_bytes, r->strings, r->string_bytes);
	*data = all;
	*size = sizeof(head) + r->type_bytes + r->string_bytes;
}

int kernel_btf_reduce(const struct kernel_btf *btf, void **data, size_t *size)
{
	struct reduced r = {.btf = btf, .number = calloc(btf->count, sizeof(*r.number))};

	if (!r.number)
		return -ENOMEM;
	append(&r, &r.strings, &r.string_bytes, &r.string_capacity, "", 1);
	for (uint32_t i = 0; i < btf->match_count; i++) {
		uint32_t kind = btf->wanted[btf->matches[i].type].kind;

		if (kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION)
			take(&r, btf->matches[i].id);
	}
	for (uint32_t i = 0; i < r.count && !r.err; i++)
		append_one(&r, r.ids[i]);
	if (!r.err && r.count == 0)
		r.err = -ENOENT;
	if (!r.err)
		join(&r, data, size);
	free(r.number);
	free(r.ids);
	free(r.types);
	free(r.strings);
	return r.err;
}
