// SPDX-License-Identifier: MIT
#include "profiler/model/unnamed_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/place_name.h"

struct unnamed_file {
	char *name; /* "[app]" */
	const char *build_id;
	bool differs; /* true if different or unknown */
	struct frame_info frame;
};

/* Start of a frame's name: "[app" */
struct key {
	const char *text;
	size_t length;
};

static bool has_key(const void *records, uint32_t position, const void *opaque)
{
	const char *name = ((const struct unnamed_file *)records)[position].name;
	const struct key *key = opaque;

	return strncmp(name, key->text, key->length) == 0 && strcmp(name + key->length, "]") == 0;
}

static uint32_t find(const struct unnamed_files *f, const struct key *key)
{
	return record_find_equal(f, hash_bytes(key->text, key->length), has_key, key);
}

static bool add(struct unnamed_files *f, const struct key *key, const struct frame_info *frame)
{
	struct unnamed_file file = {
		.build_id = frame->build_id, .differs = !frame->build_id, .frame = *frame};

	if (asprintf(&file.name, "%.*s]", (int)key->length, key->text) < 0)
		return false;
	file.frame.name = file.frame.short_name = file.name;
	file.frame.build_id = NULL;
	file.frame.offset = 0;
	if (record_add_hashed(f, hash_bytes(key->text, key->length), &file) != RECORD_NONE)
		return true;
	free(file.name);
	return false;
}

static struct key key_of(const struct frame_info *frame)
{
	size_t length = frame->class == CLASS_NATIVE ? place_name_file(frame->name) : 0;

	return (struct key){frame->name, length};
}

bool unnamed_files_note(struct unnamed_files *f, const struct frame_info *frame)
{
	struct key key = key_of(frame);
	struct unnamed_file *file;
	uint32_t at;

	if (key.length == 0)
		return true;
	at = find(f, &key);
	if (at == RECORD_NONE)
		return add(f, &key, frame);
	file = &f->list[at];
	if (!file->differs)
		file->differs = !frame->build_id || strcmp(frame->build_id, file->build_id) != 0;
	return true;
}

const struct frame_info *unnamed_files_frame(const struct unnamed_files *f,
					     const struct frame_info *frame)
{
	struct key key = key_of(frame);
	uint32_t at = key.length > 0 ? find(f, &key) : RECORD_NONE;

	return at != RECORD_NONE && f->list[at].differs ? &f->list[at].frame : frame;
}

void unnamed_files_release(struct unnamed_files *f)
{
	for (uint32_t i = 0; i < f->count; i++)
		free(f->list[i].name);
	record_set_release(&f->set);
	*f = (struct unnamed_files){0};
}
