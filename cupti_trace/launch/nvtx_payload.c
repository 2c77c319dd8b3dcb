// SPDX-License-Identifier: MIT
#include "cupti_trace/launch/nvtx_payload.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include "cupti_trace/core/guest.h"
#include "cupti_trace/launch/nvtx_names.h"

#define LONGEST UINT32_MAX /* payload */

/* Place of the message in payloads of a schema. */
struct place {
	uint64_t schema;
	uint64_t type; /* type of the entry */
	size_t offset;
	size_t length; /* length of an array; 0: up to its end */
	uint32_t domain;
	bool is_pointer; /* the payload points to the text */
};

static struct {
	pthread_mutex_t lock; /* held to add places */
	struct place places[NVTX_SCHEMAS_MAX];
	_Atomic uint32_t count; /* number of complete places */
	_Atomic uint64_t ids;   /* last id given */
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- schemas ---- */

size_t nvtx_payload_size_of(uint64_t type)
{
	/* from char to char32_t; from a category to text */
	static const uint8_t of_c[NVTX_ABI_ENTRY_CHAR32 + 1] = {0, 1,  1, 2, 2, 4, 4, 8, 8, 8,
								8, 1,  1, 2, 2, 4, 4, 8, 8, 4,
								8, 16, 8, 8, 4, 1, 2, 4};
	static const uint8_t of_nvtx[] = {4, 4, 8, 4, 8, 4, 8, 8, 8, 8, 8};

	if (type <= NVTX_ABI_ENTRY_CHAR32)
		return of_c[type];
	if (type == NVTX_ABI_ENTRY_REGISTERED)
		return sizeof(void *);
	type -= NVTX_ABI_ENTRY_CATEGORY;
	return type < sizeof(of_nvtx) ? of_nvtx[type] : 0;
}

size_t nvtx_payload_place(const struct nvtx_abi_schema *s, const struct nvtx_abi_entry *e,
			  size_t *end)
{
	bool is_pointer = e->flags & NVTX_ABI_ENTRY_IS_POINTER;
	size_t size = is_pointer ? sizeof(void *) : nvtx_payload_size_of(e->type), align = size;
	uint64_t array = is_pointer ? 0 : e->flags & NVTX_ABI_ENTRY_ARRAY;
	size_t count = array ? e->detail : 1, at = e->offset;

	if (s->fields & NVTX_ABI_SCHEMA_HAS_ALIGNMENT && s->alignment && s->alignment < align)
		align = s->alignment;
	if (at == 0 && *end > 0)
		at = *end == SIZE_MAX || align == 0 ? SIZE_MAX : (*end + align - 1) / align * align;
	if (size == 0 || at > LONGEST || count > LONGEST ||
	    (array && array != NVTX_ABI_ENTRY_ARRAY_FIXED))
		*end = SIZE_MAX;
	else
		*end = at + size * count;
	return at;
}

static bool is_text(const struct nvtx_abi_entry *e)
{
	return e->type == NVTX_ABI_ENTRY_TEXT || e->type == NVTX_ABI_ENTRY_TEXT_UTF8 ||
	       e->type == NVTX_ABI_ENTRY_TEXT_UTF32;
}

static bool is_array_of_characters(const struct nvtx_abi_entry *e)
{
	uint64_t array = e->flags & NVTX_ABI_ENTRY_ARRAY;

	return (e->type == NVTX_ABI_ENTRY_CHAR || e->type == NVTX_ABI_ENTRY_CHAR8) &&
	       (array == NVTX_ABI_ENTRY_ARRAY_FIXED || array == NVTX_ABI_ENTRY_ARRAY_ZERO);
}

/* Returns whether an entry at this offset is a message that can be read. */
static bool describe(const struct nvtx_abi_entry *e, size_t offset, struct place *out)
{
	out->type = e->type;
	out->offset = offset;
	out->length = 0;
	out->is_pointer = true;
	if (is_array_of_characters(e)) {
		out->is_pointer = e->flags & NVTX_ABI_ENTRY_IS_POINTER;
		if ((e->flags & NVTX_ABI_ENTRY_ARRAY) == NVTX_ABI_ENTRY_ARRAY_FIXED)
			out->length = e->detail;
		return out->length > 0 ||
		       (e->flags & NVTX_ABI_ENTRY_ARRAY) == NVTX_ABI_ENTRY_ARRAY_ZERO;
	}
	return is_text(e) || e->type == NVTX_ABI_ENTRY_REGISTERED;
}

static bool find_message(const struct nvtx_abi_schema *s, struct place *out)
{
	size_t end = 0;

	for (size_t i = 0; i < s->entry_count && s->entries; i++) {
		const struct nvtx_abi_entry *e = &s->entries[i];
		size_t at = nvtx_payload_place(s, e, &end);

		if ((e->flags & NVTX_ABI_ENTRY_MEANING) == NVTX_ABI_ENTRY_IS_MESSAGE)
			return at <= LONGEST && describe(e, at, out);
	}
	return false;
}

static uint64_t new_id(void)
{
	return NVTX_ABI_SCHEMA_FIRST_OF_TOOL + atomic_fetch_add(&table.ids, 1);
}

uint64_t nvtx_schema(uint32_t domain, const struct nvtx_abi_schema *schema)
{
	struct place place = {.domain = domain};
	struct guest guest;
	uint32_t count;

	if (!schema)
		return 0;
	place.schema = schema->fields & NVTX_ABI_SCHEMA_HAS_ID ? schema->id : new_id();
	if (!find_message(schema, &place))
		return place.schema;
	guest_enter_briefly(&guest);
	pthread_mutex_lock(&table.lock);
	count = atomic_load(&table.count);
	if (count < NVTX_SCHEMAS_MAX) {
		table.places[count] = place;
		atomic_store_explicit(&table.count, count + 1, memory_order_release);
	}
	pthread_mutex_unlock(&table.lock);
	guest_leave(&guest);
	return place.schema;
}

void nvtx_payload_in_child(void)
{
	pthread_mutex_init(&table.lock, NULL);
}

uint64_t nvtx_enumeration(const struct nvtx_abi_enumeration *e)
{
	if (!e)
		return 0;
	return e->fields & NVTX_ABI_ENUMERATION_HAS_ID ? e->id : new_id();
}

/* ---- payloads ---- */

static const struct place *find_place(uint32_t domain, uint64_t schema)
{
	/* the latest registration counts */
	for (uint32_t i = atomic_load_explicit(&table.count, memory_order_acquire); i-- > 0;)
		if (table.places[i].schema == schema && table.places[i].domain == domain)
			return &table.places[i];
	return NULL;
}

static uint32_t name_characters(uint32_t domain, const char *text, size_t length)
{
	char copy[NVTX_TEXT_MAX + 2];

	length = length < NVTX_TEXT_MAX + 1 ? length : NVTX_TEXT_MAX + 1;
	length = strnlen(text, length);
	memcpy(copy, text, length);
	copy[length] = '\0';
	return nvtx_name(domain, copy, 0);
}

/* Returns the name at a place of a payload; 0: it has none there. */
static uint32_t name_at(uint32_t domain, const struct place *place,
			const struct nvtx_abi_payload *payload)
{
	size_t size = place->is_pointer ? sizeof(void *) : place->length;
	const char *at = (const char *)payload->data + place->offset;
	const void *pointer;

	/* an array without length ends with the payload */
	if (payload->size < place->offset || payload->size - place->offset < size)
		return 0;
	if (!place->is_pointer)
		return name_characters(
			domain, at, place->length ? place->length : payload->size - place->offset);
	memcpy(&pointer, at, sizeof(pointer));
	if (!pointer)
		return 0;
	if (place->type == NVTX_ABI_ENTRY_REGISTERED)
		return nvtx_name_registered(domain, (uint64_t)(uintptr_t)pointer, 0);
	if (place->type == NVTX_ABI_ENTRY_TEXT_UTF32)
		return nvtx_name_wide(domain, pointer, 0);
	return name_characters(domain, pointer, place->length ? place->length : SIZE_MAX);
}

uint32_t nvtx_payload_name(uint32_t domain, const struct nvtx_abi_payload *payloads, size_t count)
{
	for (size_t i = 0; i < count && payloads; i++) {
		const struct nvtx_abi_payload *payload = &payloads[i];
		const struct place *place = find_place(domain, payload->schema);
		uint32_t name = 0;

		if (!payload->data)
			continue;
		if (place)
			name = name_at(domain, place, payload);
		else if (payload->schema == NVTX_ABI_ENTRY_TEXT ||
			 payload->schema == NVTX_ABI_ENTRY_TEXT_UTF8)
			name = name_characters(domain, payload->data, payload->size);
		if (name)
			return name;
	}
	return nvtx_name(domain, NULL, 0);
}
