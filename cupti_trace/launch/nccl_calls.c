// SPDX-License-Identifier: MIT
#include "cupti_trace/launch/nccl_calls.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cupti_trace/core/guest.h"
#include "cupti_trace/launch/nvtx_names.h"
#include "cupti_trace/launch/nvtx_payload.h"
#include "symbolize/util/hash.h"

#define ENTRIES_MAX 16  /* looked at, of a schema */
#define PAYLOADS_MAX 4  /* looked at, of a range */
#define PROBES_MAX 16   /* places tried for a communicator */
#define SHOWN_NAME "64" /* bytes of a function's name */

/* Facts that are read from payloads. */
enum fact { COMM, PARENT, BYTES, OPERATION, ROOT, PEER, RANKS, RANK, DEVICES, COLOR, FACTS };

/* The names that NCCL gives to entries of its schemas, in all versions. */
static const struct {
	const char *name;
	enum fact fact;
} entry_names[] = {
	{"NCCL communicator ID", COMM},
	{"Parent NCCL communicator ID", PARENT},
	{"Message size [bytes]", BYTES},
	{"Bytes", BYTES}, /* before 2.25 */
	{"Reduction operation", OPERATION},
	{"Root", ROOT},
	{"Peer rank", PEER},
	{"No. of ranks", RANKS},
	{"Rank", RANK},
	{"No. of devices", DEVICES},
	{"Color", COLOR},
};

struct schema {
	uint64_t id;
	size_t size; /* bytes of a payload; 0: not given */
	struct {
		uint32_t offset, size; /* size 0: the schema lacks it */
	} places[FACTS];
};

/* The facts of a call. */
struct call {
	uint64_t value[FACTS];
	bool has[FACTS];
};

struct comm {
	_Atomic uint64_t hash; /* 0: free */
	_Atomic uint32_t ranks;
	_Atomic uint64_t rank; /* number of its first rank here, plus 1 */
	atomic_bool several;   /* it has several ranks in this process */
};

static struct {
	_Atomic uint32_t domain; /* 0: not known */
	pthread_mutex_t lock;    /* held to add schemas */
	struct schema schemas[NCCL_SCHEMAS_MAX];
	_Atomic uint32_t schema_count; /* complete ones */
	struct comm comms[NCCL_COMMS_MAX];
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Calls of one operation in a group-> */
struct part {
	uint32_t name;
	uint32_t count;
	uint64_t operation; /* reduction; UINT64_MAX: none */
	uint64_t comm;      /* 0: not known */
	uint64_t bytes;     /* size of the first call */
	uint64_t total;     /* bytes */
	bool is_equal;      /* all calls have these bytes */
};

/* The calling thread's open group; NULL: none is. Not in thread-local memory, which is scarce. */
struct group {
	uint32_t depth, count;
	uint32_t more; /* calls of further operations */
	struct part parts[NCCL_PARTS_MAX];
};
static __thread struct group *group;

void nccl_calls_domain(const char *name, uint32_t domain)
{
	if (name && strcmp(name, "NCCL") == 0 && domain > 0 && domain < NVTX_DOMAINS_MAX - 1)
		atomic_store(&table.domain, domain);
}

bool nccl_calls_are(uint32_t domain)
{
	return domain > 0 && domain == atomic_load_explicit(&table.domain, memory_order_relaxed);
}

void nccl_calls_in_child(void)
{
	pthread_mutex_init(&table.lock, NULL);
}

void nccl_calls_forget(void)
{
	atomic_store(&table.domain, 0);
	atomic_store(&table.schema_count, 0);
	memset(table.comms, 0, sizeof(table.comms));
	free(group);
	group = NULL;
}

/* ---- schemas ---- */

/* Notes the place of an entry that is a plain number of 4 or 8 bytes. */
static void note_entry(struct schema *schema, const struct nvtx_abi_entry *e, size_t offset)
{
	size_t size = nvtx_payload_size_of(e->type);

	/* enumerations are schemas; NCCL's has the size of an int */
	size = size ? size : sizeof(int);
	if (!e->name || e->flags & (NVTX_ABI_ENTRY_IS_POINTER | NVTX_ABI_ENTRY_ARRAY) ||
	    offset > UINT32_MAX || (size != 4 && size != 8))
		return;
	for (size_t i = 0; i < sizeof(entry_names) / sizeof(entry_names[0]); i++) {
		if (strcmp(e->name, entry_names[i].name) != 0)
			continue;
		schema->places[entry_names[i].fact].offset = (uint32_t)offset;
		schema->places[entry_names[i].fact].size = (uint32_t)size;
	}
}

/* Returns the latest schema with this id for payloads of this size, or NULL. */
static const struct schema *find_schema(uint64_t id, size_t size)
{
	uint32_t count = atomic_load_explicit(&table.schema_count, memory_order_acquire);

	for (uint32_t i = count; i-- > 0;) {
		const struct schema *s = &table.schemas[i];

		if (s->id == id && (s->size == 0 || s->size == size || size == SIZE_MAX))
			return s;
	}
	return NULL;
}

/* Adds a schema, unless the latest with its id is equal. */
static void add_schema(const struct schema *schema)
{
	const struct schema *last;
	struct guest guest;
	uint32_t count;

	guest_enter_briefly(&guest);
	pthread_mutex_lock(&table.lock);
	count = atomic_load(&table.schema_count);
	last = find_schema(schema->id, schema->size ? schema->size : SIZE_MAX);
	if (count < NCCL_SCHEMAS_MAX && (!last || memcmp(last, schema, sizeof(*schema)) != 0)) {
		table.schemas[count] = *schema;
		atomic_store_explicit(&table.schema_count, count + 1, memory_order_release);
	}
	pthread_mutex_unlock(&table.lock);
	guest_leave(&guest);
}

void nccl_calls_schema(uint32_t domain, uint64_t id, const struct nvtx_abi_schema *s)
{
	struct schema schema;
	size_t end = 0;

	if (!nccl_calls_are(domain) || !s || !s->entries)
		return;
	memset(&schema, 0, sizeof(schema)); /* compared as a whole */
	schema.id = id;
	schema.size = s->fields & NVTX_ABI_SCHEMA_HAS_SIZE ? s->size : 0;
	for (size_t i = 0; i < s->entry_count && i < ENTRIES_MAX; i++)
		note_entry(&schema, &s->entries[i], nvtx_payload_place(s, &s->entries[i], &end));
	add_schema(&schema);
}

/* ---- payloads ---- */

static void read_fact(const struct schema *schema, const struct nvtx_abi_payload *payload,
		      enum fact fact, struct call *call)
{
	uint32_t offset = schema->places[fact].offset, size = schema->places[fact].size;

	if (size == 0 || payload->size < offset || payload->size - offset < size)
		return;
	memcpy(&call->value[fact], (const char *)payload->data + offset, size);
	/* a negative number is none: no rank, or a wrong argument */
	call->has[fact] = size == 8 || call->value[fact] <= INT32_MAX;
}

/* Reads the facts of the first payload with a known schema. Returns false if there is none. */
static bool read_call(const struct nvtx_abi_payload *payloads, size_t count, struct call *call)
{
	memset(call, 0, sizeof(*call));
	for (size_t i = 0; i < count && i < PAYLOADS_MAX && payloads; i++) {
		const struct schema *schema =
			payloads[i].data ? find_schema(payloads[i].schema, payloads[i].size) : NULL;

		for (int fact = 0; schema && fact < FACTS; fact++)
			read_fact(schema, &payloads[i], (enum fact)fact, call);
		if (schema)
			return true;
	}
	return false;
}

/* ---- communicators ---- */

/* Returns a communicator, adding it if `adds`; NULL: it is not known, or there is no room. */
static struct comm *find_comm(uint64_t hash, bool adds)
{
	uint32_t first = hash_number(hash);

	for (uint32_t i = 0; hash && i < PROBES_MAX; i++) {
		struct comm *comm = &table.comms[(first + i) % NCCL_COMMS_MAX];
		uint64_t found = atomic_load_explicit(&comm->hash, memory_order_relaxed);

		if (found == 0 && adds && atomic_compare_exchange_strong(&comm->hash, &found, hash))
			return comm;
		if (found == hash)
			return comm;
		if (found == 0)
			return NULL;
	}
	return NULL;
}

static void note_rank(struct comm *comm, uint64_t rank)
{
	uint64_t first = 0;

	if (!atomic_compare_exchange_strong(&comm->rank, &first, rank + 1) && first != rank + 1)
		atomic_store(&comm->several, true);
}

/* Notes how many ranks a communicator has. That of ncclCommSplit has the ranks of its parent. */
static void note_comm(const struct call *call)
{
	bool is_split = call->has[COLOR] && call->has[PARENT];
	enum fact ranks = call->has[RANKS] ? RANKS : DEVICES;
	struct comm *comm = NULL;

	if (call->has[ranks] && (is_split || call->has[COMM]))
		comm = find_comm(call->value[is_split ? PARENT : COMM], true);
	if (!comm)
		return;
	atomic_store_explicit(&comm->ranks, (uint32_t)call->value[ranks], memory_order_relaxed);
	if (call->has[RANK])
		note_rank(comm, call->value[RANK]);
	if (ranks == DEVICES && call->value[DEVICES] > 1)
		atomic_store(&comm->several, true);
}

void nccl_calls_end(const struct nvtx_abi_payload *payloads, size_t count)
{
	struct call call;

	if (read_call(payloads, count, &call))
		note_comm(&call);
}

/* ---- text ---- */

struct text {
	char bytes[NVTX_TEXT_MAX + 1];
	size_t used;
};

static void put(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct text *text, const char *format, ...)
{
	size_t room = sizeof(text->bytes) - text->used;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text->bytes + text->used, room, format, arguments);
	va_end(arguments);
	if (length > 0)
		text->used += (size_t)length < room ? (size_t)length : room - 1;
}

static void put_size(struct text *text, uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
	int unit = 0;

	for (; unit < 3 && bytes > 0 && bytes % 1024 == 0; unit++)
		bytes /= 1024;
	put(text, " %" PRIu64 " %s", bytes, units[unit]);
}

/* Writes one of NCCL's own operations; those that a program makes have no name. */
static void put_operation(struct text *text, uint64_t operation)
{
	static const char *const names[] = {"sum", "prod", "max", "min", "avg"};

	if (operation < sizeof(names) / sizeof(names[0]))
		put(text, " %s", names[operation]);
}

static void put_comm(struct text *text, uint64_t hash)
{
	const struct comm *comm = find_comm(hash, false);
	uint32_t ranks = comm ? atomic_load_explicit(&comm->ranks, memory_order_relaxed) : 0;

	if (ranks > 0)
		put(text, ", %u rank%s", ranks, ranks == 1 ? "" : "s");
	if (comm && atomic_load_explicit(&comm->several, memory_order_relaxed))
		put(text, ", several here");
	if (hash)
		put(text, ", comm %08x", (unsigned int)(hash >> 32));
}

static uint32_t name_text(uint32_t domain, uint32_t name, const struct text *text)
{
	uint32_t id = nvtx_name(domain, text->bytes, 0);

	if (id == NVTX_TOO_MANY)
		return name;
	nvtx_name_set_plain(id, name);
	return id;
}

static uint32_t name_call(uint32_t domain, uint32_t name, const char *function,
			  const struct call *call)
{
	struct text text = {.used = 0};

	put(&text, "%." SHOWN_NAME "s", function);
	put_size(&text, call->value[BYTES]);
	if (call->has[OPERATION])
		put_operation(&text, call->value[OPERATION]);
	if (call->has[ROOT])
		put(&text, " root %" PRIu64, call->value[ROOT]);
	if (call->has[PEER])
		put(&text, " %s %" PRIu64, strcmp(function, "ncclRecv") == 0 ? "from" : "to",
		    call->value[PEER]);
	put_comm(&text, call->has[COMM] ? call->value[COMM] : 0);
	return name_text(domain, name, &text);
}

/* ---- groups ---- */

/* Adds a call to the calling thread's group-> */
static void add_to_group(uint32_t name, const struct call *call)
{
	struct part new = {.name = name,
			   .operation = call->has[OPERATION] ? call->value[OPERATION] : UINT64_MAX,
			   .comm = call->has[COMM] ? call->value[COMM] : 0,
			   .bytes = call->value[BYTES],
			   .is_equal = true};
	struct part *part = group->parts, *end = part + group->count;

	while (part < end && (part->name != new.name || part->operation != new.operation ||
			      part->comm != new.comm))
		part++;
	if (part == group->parts + NCCL_PARTS_MAX) {
		group->more++;
		return;
	}
	if (part == end) {
		*part = new;
		group->count++;
	}
	part->count++;
	part->is_equal &= part->bytes == new.bytes;
	if (__builtin_add_overflow(part->total, new.bytes, &part->total))
		part->total = UINT64_MAX;
}

static void put_part(struct text *text, const struct part *part)
{
	const char *function = nvtx_name_text(part->name);

	if (function && strncmp(function, "nccl", 4) == 0)
		function += 4;
	if (part->count > 1)
		put(text, " %u x", part->count);
	put(text, " %." SHOWN_NAME "s", function ? function : "?");
	put_size(text, part->is_equal ? part->bytes : part->total);
	if (part->operation != UINT64_MAX)
		put_operation(text, part->operation);
	put(text, part->is_equal ? "" : " in all");
}

/* Writes the communicator of all calls. */
static void put_comms(struct text *text)
{
	uint32_t others = 0;

	for (uint32_t i = 1; i < group->count; i++)
		others += group->parts[i].comm != group->parts[0].comm;
	if (others > 0)
		put(text, ", several comms");
	else if (group->more == 0)
		put_comm(text, group->parts[0].comm);
}

/* Returns the name of the end of a group with calls. */
static uint32_t name_group(uint32_t domain, uint32_t name, const char *function)
{
	struct text text = {.used = 0};

	put(&text, "%." SHOWN_NAME "s:", function);
	for (uint32_t i = 0; i < group->count; i++) {
		put(&text, i ? " +" : "");
		put_part(&text, &group->parts[i]);
	}
	if (group->more)
		put(&text, " + %u more", group->more);
	put_comms(&text);
	return name_text(domain, name, &text);
}

static void begin_group(void)
{
	if (!group)
		group = calloc(1, sizeof(*group));
	if (group)
		group->depth++;
}

/* Ends a group-> Returns the name of the function that ends it. */
static uint32_t end_group(uint32_t domain, uint32_t name, const char *function)
{
	if (!group || --group->depth > 0)
		return name;
	if (group->count > 0)
		name = name_group(domain, name, function);
	free(group);
	group = NULL;
	return name;
}

uint32_t nccl_calls_name(uint32_t domain, uint32_t name, const struct nvtx_abi_payload *payloads,
			 size_t count)
{
	const char *function = nvtx_name_text(name);
	struct call call;

	if (!function)
		return name;
	if (strcmp(function, "ncclGroupStart") == 0)
		begin_group();
	else if (strcmp(function, "ncclGroupEnd") == 0 ||
		 strcmp(function, "ncclGroupSimulateEnd") == 0)
		return end_group(domain, name, function);
	if (!read_call(payloads, count, &call))
		return name;
	note_comm(&call);
	if (!call.has[BYTES])
		return name;
	if (group)
		add_to_group(name, &call);
	return name_call(domain, name, function, &call);
}
