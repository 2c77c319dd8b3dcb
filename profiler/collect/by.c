// SPDX-License-Identifier: MIT
#include "profiler/collect/by.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "profiler/collect/join.h"
#include "profiler/profile/profile.h"

struct by_launch {
	uint32_t stack, tid;
};

struct by_cached_group {
	struct by_place place; /* with 0 for what is not wanted */
	uint32_t group;
};

struct by_name {
	uint32_t id; /* pid or tid */
	uint32_t pid;
	const char *text; /* interned */
};

static const char *const words[BY_PARTS] = {"process", "thread", "device", "context", "stream"};

bool by_parse(const char *text, struct by_order *order)
{
	memset(order, 0, sizeof(*order));
	while (*text) {
		size_t n = strcspn(text, ",");
		uint8_t part = 0;

		while (part < BY_PARTS &&
		       (strlen(words[part]) != n || memcmp(words[part], text, n)))
			part++;
		if (part == BY_PARTS || order->count == BY_PARTS ||
		    memchr(order->parts, part, order->count))
			return false;
		order->parts[order->count++] = part;
		text += n;
		if (*text == ',' && !*++text)
			return false;
	}
	return order->count > 0;
}

bool by_has(const struct by_order *order, enum by_part part)
{
	return memchr(order->parts, part, order->count) != NULL;
}

static bool wants(const struct by *by, enum by_part part)
{
	return by_has(&by->order, part);
}

void by_init(struct by *by, struct stack_table *stacks, struct intern *strings)
{
	memset(by, 0, sizeof(*by));
	by->stacks = stacks;
	by->strings = strings;
}

void by_release(struct by *by)
{
	free(by->launches);
	free(by->groups);
	free(by->names);
	hash_index_release(&by->launch_index);
	hash_index_release(&by->group_index);
	hash_index_release(&by->name_index);
	memset(by, 0, sizeof(*by));
}

/* Room for one more record. */
static bool grow(void **records, uint32_t count, uint32_t *capacity, size_t size)
{
	uint32_t bigger = *capacity ? *capacity * 2 : 64;
	void *grown;

	if (count < *capacity)
		return true;
	grown = realloc(*records, bigger * size);
	if (!grown)
		return false;
	*records = grown;
	*capacity = bigger;
	return true;
}

/* ---- names ---- */

/* The beginning of a small file of /proc; NULs stay. Returns the length. */
static size_t read_small(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Of Python's options, those whose value is an argument of its own. */
static bool takes_value(const char *option)
{
	return strcmp(option, "-W") == 0 || strcmp(option, "-X") == 0 ||
	       strcmp(option, "--check-hash-based-pycs") == 0;
}

/* An interpreter is known by its script: the first argument that is no option. */
static const char *script_of(const char *cmdline, size_t length)
{
	const char *name = base_of(cmdline), *at = cmdline + strlen(cmdline) + 1;

	if (strncmp(name, "python", 6) != 0)
		return NULL;
	while (at < cmdline + length && *at == '-') {
		bool skips_next = takes_value(at);

		if (strcmp(at, "-c") == 0 || strcmp(at, "-m") == 0)
			return NULL;
		at += strlen(at) + 1;
		if (skips_next && at < cmdline + length)
			at += strlen(at) + 1;
	}
	return at < cmdline + length && *at ? base_of(at) : NULL;
}

/* Names come from the target: what would break a line or a frame becomes '_'. */
static void clean(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == ';' || *text == 0x7f)
			*text = '_';
}

static void read_name(uint32_t pid, uint32_t tid, char *out, size_t size)
{
	char path[64], text[4096];
	const char *name = NULL;
	size_t n = 0;

	if (!tid) {
		snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
		n = read_small(path, text, sizeof(text));
		name = n ? script_of(text, n) : NULL;
	}
	if (!name) {
		snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", pid, tid ? tid : pid);
		n = read_small(path, text, sizeof(text));
		text[strcspn(text, "\n")] = '\0';
		name = text;
	}
	if (name[0])
		snprintf(out, size, "%.200s %u", name, tid ? tid : pid);
	else
		snprintf(out, size, "[%s %u]", tid ? "thread" : "process", tid ? tid : pid);
	clean(out);
}

static bool name_equal(const void *records, uint32_t position, const void *key)
{
	const struct by_name *a = (const struct by_name *)records + position, *b = key;

	return a->id == b->id && a->pid == b->pid;
}

/* Of a process, or with `tid` of a thread. */
static const char *name_of(struct by *by, uint32_t pid, uint32_t tid)
{
	struct by_name key = {.id = tid, .pid = pid};
	uint32_t hash = hash_bytes((uint32_t[]){pid, tid}, 8);
	uint32_t at = hash_index_find(&by->name_index, hash, name_equal, by->names, &key);
	char text[256];

	if (at != HASH_INDEX_NONE)
		return by->names[at].text;
	read_name(pid, tid, text, sizeof(text));
	key.text = intern_string(by->strings, text);
	if (!key.text ||
	    !grow((void **)&by->names, by->name_count, &by->name_capacity, sizeof(key)) ||
	    hash_index_add(&by->name_index, hash, by->name_count) != 0)
		return key.text;
	by->names[by->name_count++] = key;
	return key.text;
}

void by_process(struct by *by, uint32_t pid)
{
	if (wants(by, BY_PROCESS) && pid)
		name_of(by, pid, 0);
}

/* ---- launches ---- */

static bool launch_equal(const void *records, uint32_t position, const void *key)
{
	return memcmp((const struct by_launch *)records + position, key,
		      sizeof(struct by_launch)) == 0;
}

uint32_t by_launch(struct by *by, uint32_t stack, uint32_t pid, uint32_t tid)
{
	struct by_launch key = {stack, tid};
	uint32_t hash = hash_bytes(&key, sizeof(key)), at;

	if (!wants(by, BY_THREAD) || stack == STACK_NONE)
		return stack;
	at = hash_index_find(&by->launch_index, hash, launch_equal, by->launches, &key);
	if (at != HASH_INDEX_NONE)
		return at;
	if (!grow((void **)&by->launches, by->launch_count, &by->launch_capacity, sizeof(key)) ||
	    hash_index_add(&by->launch_index, hash, by->launch_count) != 0)
		return STACK_NONE;
	name_of(by, pid, tid); /* while it is there */
	by->launches[by->launch_count] = key;
	return by->launch_count++;
}

uint32_t by_launch_stack(const struct by *by, uint32_t carried, uint32_t *tid)
{
	*tid = 0;
	if (!wants(by, BY_THREAD) || carried >= by->launch_count)
		return carried;
	*tid = by->launches[carried].tid;
	return by->launches[carried].stack;
}

/* ---- groups ---- */

static const char *number_text(struct by *by, const char *word, uint32_t number)
{
	char text[64];

	snprintf(text, sizeof(text), "%s %u", word, number);
	return intern_string(by->strings, text);
}

/* NULL: not known of this place. */
static const char *part_text(struct by *by, enum by_part part, const struct by_place *p)
{
	switch (part) {
	case BY_PROCESS:
		return p->pid ? name_of(by, p->pid, 0) : NULL;
	case BY_THREAD:
		return p->tid ? name_of(by, p->pid, p->tid) : NULL;
	case BY_DEVICE:
		if (!p->is_gpu)
			return NULL;
		return p->device_label ? p->device_label : number_text(by, "GPU", p->device);
	case BY_CONTEXT:
		return p->is_gpu ? number_text(by, "context", p->context) : NULL;
	case BY_STREAM:
		return p->is_gpu ? number_text(by, "stream", p->stream) : NULL;
	case BY_PARTS:
		break;
	}
	return NULL;
}

static uint32_t make_group(struct by *by, const struct by_place *place)
{
	struct frame frames[BY_PARTS];
	uint32_t count = 0, id;

	memset(frames, 0, sizeof(frames));
	/* the stack table has the innermost first */
	for (uint32_t i = by->order.count; i-- > 0;) {
		const char *text = part_text(by, (enum by_part)by->order.parts[i], place);

		if (!text)
			continue;
		frames[count].kind = FRAME_TEXT;
		frames[count++].text = text;
	}
	if (count == 0 || stack_table_add(by->stacks, frames, count, &id) != 0)
		return PROFILE_NO_GROUP;
	return id;
}

static bool group_equal(const void *records, uint32_t position, const void *key)
{
	const struct by_place *a = &((const struct by_cached_group *)records + position)->place;
	const struct by_place *b = key;

	return a->pid == b->pid && a->tid == b->tid && a->is_gpu == b->is_gpu &&
	       a->device == b->device && a->device_label == b->device_label &&
	       a->context == b->context && a->stream == b->stream;
}

static uint32_t hash_place(const struct by_place *p)
{
	uintptr_t label = (uintptr_t)p->device_label;
	const uint32_t parts[] = {p->pid,     p->tid,    p->is_gpu,       p->device,
				  p->context, p->stream, (uint32_t)label, (uint32_t)(label >> 32)};

	return hash_bytes(parts, sizeof(parts));
}

uint32_t by_group(struct by *by, const struct by_place *place)
{
	struct by_place key = {.is_gpu = place->is_gpu};
	uint32_t hash, at;

	if (by->order.count == 0)
		return PROFILE_NO_GROUP;
	/* a thread's name needs its process */
	if (wants(by, BY_PROCESS) || wants(by, BY_THREAD))
		key.pid = place->pid;
	if (wants(by, BY_THREAD))
		key.tid = place->tid;
	if (wants(by, BY_DEVICE)) {
		key.device = place->device;
		key.device_label = place->device_label;
	}
	if (wants(by, BY_CONTEXT))
		key.context = place->context;
	if (wants(by, BY_STREAM))
		key.stream = place->stream;
	hash = hash_place(&key);
	at = hash_index_find(&by->group_index, hash, group_equal, by->groups, &key);
	if (at != HASH_INDEX_NONE)
		return by->groups[at].group;
	if (!grow((void **)&by->groups, by->group_count, &by->group_capacity,
		  sizeof(*by->groups)) ||
	    hash_index_add(&by->group_index, hash, by->group_count) != 0)
		return PROFILE_NO_GROUP;
	by->groups[by->group_count] = (struct by_cached_group){key, make_group(by, &key)};
	return by->groups[by->group_count++].group;
}
