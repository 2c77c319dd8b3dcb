// SPDX-License-Identifier: MIT
#include "cupti_trace/launch/nvtx_names.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include "cupti_trace/core/guest.h"
#include "cupti_trace/launch/nvtx_fold.h"
#include "symbolize/util/hash.h"
#include "symbolize/util/text.h"

#define SLOTS (NVTX_NAMES_MAX * 2) /* a power of two */

#define FAMILIES NVTX_NAMES_MAX /* a power of two */

/* Share of a limit for messages with numbers; the rest is for folded and other ones. */
#define FOR_NUMBERED(number) ((number) - (number) / 4)
#define FOR_FOLDED(number) ((number) - (number) / 8)

#define FULL_BYTES 64u /* with less room no name is added */

#define FOLDED 0x8000u /* flag in a name's domain: it stands for a family */

struct name {
	const char *text;
	uint32_t hash;
	uint16_t length;
	uint16_t domain;
	uint32_t color;
	bool sent;
	_Atomic uint32_t plain; /* name without details; 0: this one */
};

/* Static and never freed: untouched pages cost nothing without NVTX. */
static struct {
	pthread_mutex_t lock;                  /* held to add names */
	_Atomic uint32_t slots[SLOTS];         /* ids; 0: free */
	struct name names[NVTX_NAMES_MAX + 2]; /* by id */
	/* number of unfolded names of each family, by hash. Several families may share a place. */
	uint16_t members[FAMILIES];
	uint32_t count;
	atomic_bool is_full; /* no name can be added */
	char bytes[NVTX_NAME_BYTES];
	size_t used;
	const char *_Atomic domains[NVTX_DOMAINS_MAX];
	_Atomic uint32_t domain_count; /* without the default one */
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint32_t hash_text(uint32_t domain, const char *text, size_t length)
{
	return hash_pair(domain, hash_bytes(text, length));
}

/* Returns the length of a text, cut between characters. */
static size_t length_of(const char *text)
{
	size_t length = strnlen(text, NVTX_TEXT_MAX + 1);

	return length <= NVTX_TEXT_MAX ? length : cut_text(text, NVTX_TEXT_MAX);
}

static const char *narrow(const wchar_t *text, char out[NVTX_TEXT_MAX + 5])
{
	size_t n = 0;

	if (!text)
		return NULL;
	for (; *text && n <= NVTX_TEXT_MAX; text++)
		n += put_utf8((uint32_t)*text, out + n);
	out[n] = '\0';
	return out;
}

/* Copies a text for the life of the process; NULL when the memory is used up. Call locked. */
static const char *keep(const char *text, size_t length)
{
	char *copy = table.bytes + table.used;

	if (length + 1 > sizeof(table.bytes) - table.used)
		return NULL;
	memcpy(copy, text, length);
	copy[length] = '\0';
	table.used += length + 1;
	return copy;
}

/* ---- domains ---- */

uint32_t nvtx_domain(const char *name)
{
	uint32_t number, count;
	struct guest guest;
	const char *copy;

	if (!name || !*name)
		return 0;
	guest_enter_briefly(&guest);
	pthread_mutex_lock(&table.lock);
	count = atomic_load(&table.domain_count);
	for (number = 1; number <= count; number++)
		if (strncmp(table.domains[number], name, NVTX_TEXT_MAX) == 0)
			break;
	if (number > count && number < NVTX_DOMAINS_MAX) {
		copy = number == NVTX_DOMAINS_MAX - 1 ? "[too many NVTX domains]"
						      : keep(name, length_of(name));
		table.domains[number] = copy ? copy : "[too many NVTX domains]";
		atomic_store(&table.domain_count, number);
	}
	pthread_mutex_unlock(&table.lock);
	guest_leave(&guest);
	return number < NVTX_DOMAINS_MAX ? number : NVTX_DOMAINS_MAX - 1;
}

uint32_t nvtx_domain_wide(const wchar_t *name)
{
	char text[NVTX_TEXT_MAX + 5];

	return nvtx_domain(narrow(name, text));
}

/* ---- messages ---- */

static bool is_same(const struct name *name, uint32_t hash, uint32_t domain, const char *text,
		    size_t length)
{
	return name->hash == hash && name->domain == domain && name->length == length &&
	       memcmp(name->text, text, length) == 0;
}

/* Returns the id, or 0 and the free slot where it belongs. */
static uint32_t find(uint32_t hash, uint32_t domain, const char *text, size_t length, uint32_t *at)
{
	uint32_t id;

	/* half of the slots stay free, so this ends */
	for (*at = hash & (SLOTS - 1);; *at = (*at + 1) & (SLOTS - 1)) {
		id = atomic_load_explicit(&table.slots[*at], memory_order_acquire);
		if (id == 0 || is_same(&table.names[id], hash, domain, text, length))
			return id;
	}
}

/* Adds a name. Returns 0 if there is no room. Call locked. */
static uint32_t add_name(uint32_t hash, uint32_t domain, const char *text, size_t length,
			 uint32_t color)
{
	uint32_t at, id = find(hash, domain, text, length, &at);
	const char *copy = id || table.count == NVTX_NAMES_MAX ? NULL : keep(text, length);

	if (!copy)
		return id;
	id = ++table.count;
	table.names[id] = (struct name){.hash = hash,
					.text = copy,
					.length = (uint16_t)length,
					.domain = (uint16_t)domain,
					.color = color};
	atomic_store_explicit(&table.slots[at], id, memory_order_release);
	return id;
}

/* ---- families ---- */

/* Returns whether a family has used its share of the remaining names and bytes. Call locked. */
static bool is_large(uint32_t members, size_t length)
{
	size_t names = FOR_NUMBERED(NVTX_NAMES_MAX), bytes = FOR_NUMBERED(NVTX_NAME_BYTES);

	names = table.count < names ? names - table.count : 0;
	bytes = table.used < bytes ? bytes - table.used : 0;
	return members >= names / 4 || members >= bytes / (length + 1) / 4;
}

/* Returns whether the remaining room is reserved for messages without numbers. Call locked. */
static bool is_reserved(void)
{
	return table.count >= FOR_FOLDED(NVTX_NAMES_MAX) ||
	       table.used >= FOR_FOLDED(NVTX_NAME_BYTES);
}

/* Adds a message, or its folded one instead. */
static uint32_t add(uint32_t hash, uint32_t domain, const char *text, size_t length, uint32_t color)
{
	char folded[NVTX_TEXT_MAX + 1];
	size_t size;
	bool has_number = nvtx_fold(text, length, folded, &size);
	uint32_t key = has_number ? hash_text(domain | FOLDED, folded, size) : 0;
	uint16_t *members = &table.members[key & (FAMILIES - 1)];
	uint32_t at, id = has_number ? find(key, domain | FOLDED, folded, size, &at) : 0;
	struct guest guest;

	if (id)
		return id;
	if (atomic_load_explicit(&table.is_full, memory_order_relaxed))
		return NVTX_TOO_MANY;
	guest_enter_briefly(&guest);
	pthread_mutex_lock(&table.lock);
	id = find(hash, domain, text, length, &at);
	if (!id && has_number && is_large(*members, length)) {
		id = is_reserved() ? find(key, domain | FOLDED, folded, size, &at)
				   : add_name(key, domain | FOLDED, folded, size, color);
	} else if (!id) {
		id = add_name(hash, domain, text, length, color);
		*members += has_number && id;
	}
	if (table.count == NVTX_NAMES_MAX || table.used + FULL_BYTES > sizeof(table.bytes))
		atomic_store(&table.is_full, true);
	pthread_mutex_unlock(&table.lock);
	guest_leave(&guest);
	return id ? id : NVTX_TOO_MANY;
}

/* ---- look-up ---- */

uint32_t nvtx_name(uint32_t domain, const char *message, uint32_t color)
{
	const char *text = message ? message : "[unnamed]";
	size_t length = length_of(text);
	uint32_t hash = hash_text(domain, text, length);
	uint32_t at, id = find(hash, domain, text, length, &at);

	return id ? id : add(hash, domain, text, length, color);
}

uint32_t nvtx_name_wide(uint32_t domain, const wchar_t *message, uint32_t color)
{
	char text[NVTX_TEXT_MAX + 5];

	return nvtx_name(domain, narrow(message, text), color);
}

uint32_t nvtx_name_registered(uint32_t domain, uint64_t id, uint32_t color)
{
	const struct name *name;

	if (id == NVTX_TOO_MANY)
		return NVTX_TOO_MANY;
	name = id > 0 && id <= NVTX_NAMES_MAX ? &table.names[id] : NULL;
	if (!name || !name->text)
		return nvtx_name(domain, NULL, color);
	return (name->domain & ~FOLDED) == domain ? (uint32_t)id
						  : nvtx_name(domain, name->text, color);
}

bool nvtx_name_is_folded(uint32_t id)
{
	return table.names[id].domain & FOLDED;
}

void nvtx_name_set_plain(uint32_t id, uint32_t plain)
{
	atomic_store_explicit(&table.names[id].plain, id == plain ? 0 : plain,
			      memory_order_relaxed);
}

uint32_t nvtx_name_plain(uint32_t id)
{
	uint32_t plain = atomic_load_explicit(&table.names[id].plain, memory_order_relaxed);

	return plain ? plain : id;
}

const char *nvtx_name_text(uint32_t id)
{
	return id <= NVTX_NAMES_MAX ? table.names[id].text : NULL;
}

void nvtx_names_forget(void)
{
	pthread_mutex_lock(&table.lock);
	memset(table.slots, 0, sizeof(table.slots));
	memset(table.names, 0, sizeof(table.names));
	memset(table.members, 0, sizeof(table.members));
	table.count = 0;
	atomic_store(&table.is_full, false);
	table.used = 0;
	atomic_store(&table.domain_count, 0);
	pthread_mutex_unlock(&table.lock);
}

void nvtx_names_start_over(void)
{
	for (uint32_t i = 0; i < sizeof(table.names) / sizeof(*table.names) && table.count; i++)
		table.names[i].sent = false;
}

void nvtx_names_in_child(void)
{
	pthread_mutex_init(&table.lock, NULL);
}

/* ---- sending ---- */

void nvtx_name_send(struct sink *sink, uint32_t id)
{
	struct name *name = &table.names[id];

	if (name->sent)
		return;
	name->sent = true;
	nvtx_name_resend(sink, id);
}

void nvtx_name_resend(struct sink *sink, uint32_t id)
{
	struct gpu_event event = {.type = GPU_EVENT_NVTX, .nvtx.id = id};
	const struct name *name = &table.names[id];
	uint32_t domain = name->domain & ~FOLDED;

	_Static_assert(NVTX_TOO_MANY < GPU_NVTX_MAX_ID, "each id fits the wire");
	event.nvtx.kind = domain == NVTX_OPERATORS ? GPU_NVTX_OPERATOR
			  : domain == NVTX_LAYERS  ? GPU_NVTX_LAYER
						   : GPU_NVTX_RANGE;
	event.nvtx.domain = domain && domain < NVTX_DOMAINS_MAX ? table.domains[domain] : "";
	event.nvtx.name = id == NVTX_TOO_MANY ? "[too many NVTX ranges]" : name->text;
	event.nvtx.color = name->color;
	sink_put(sink, &event);
}
