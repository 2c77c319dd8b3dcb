// SPDX-License-Identifier: MIT
#include "profiler/model/live_message.h"

#include <stdlib.h>
#include <string.h>
#include "symbolize/util/array.h"

static bool is_code(uint32_t kind)
{
	return kind == FRAME_CODE || kind == FRAME_RETURN || kind == FRAME_CALL;
}

/* ---- writing ---- */

void live_writer_release(struct live_writer *w)
{
	free(w->sent);
	w->sent = NULL;
	w->sent_count = w->sent_capacity = 0;
}

static void put(struct live_writer *w, const void *bytes, size_t size)
{
	if (w->is_full || size > sizeof(w->bytes) - w->used) {
		w->is_full = true;
		return;
	}
	memcpy(w->bytes + w->used, bytes, size);
	w->used += size;
}

static void put_u32(struct live_writer *w, uint32_t value)
{
	put(w, &value, sizeof(value));
}

static void put_text(struct live_writer *w, const char *text)
{
	size_t length = text ? strnlen(text, LIVE_TEXT_MAX) : 0;

	if (length)
		put(w, text, length);
	put(w, "", 1);
}

/* Writes the file of a module, once per message. */
static void put_file(struct live_writer *w, const struct collected *in, uint32_t module)
{
	struct code_mapping mapping;
	uint32_t is_new = 1;

	for (uint32_t i = 0; i < w->sent_count && is_new; i++)
		is_new = w->sent[i] != module;
	put_u32(w, is_new);
	if (!is_new)
		return;
	if (array_make_room(&w->sent, w->sent_count, &w->sent_capacity, sizeof(*w->sent)))
		w->sent[w->sent_count++] = module;
	symbolizer_describe(in->symbolizer, module, &mapping);
	put(w, &mapping, sizeof(mapping));
	put_text(w, mapping.path);
}

static void put_frame(struct live_writer *w, const struct collected *in, struct stack_id stack)
{
	const struct frame *frame = stack_table_frame(in->stacks, stack);

	put_u32(w, frame->kind);
	put_u32(w, frame->line);
	if (!is_code(frame->kind)) {
		put_text(w, frame->text);
		put_text(w, frame->file);
		return;
	}
	put(w, &frame->code, sizeof(frame->code));
	if (frame->code.module > MODULE_JIT)
		put_file(w, in, frame->code.module);
}

void live_writer_begin(struct live_writer *w, const struct live_numbers *numbers)
{
	w->used = 0;
	w->sent_count = 0;
	w->is_full = false;
	put(w, numbers, sizeof(*numbers));
}

void live_writer_add(struct live_writer *w, const struct collected *in,
		     const struct live_sum *whole, const struct live_pick *picks, uint32_t count)
{
	size_t count_at;
	uint32_t written = 0;

	put(w, whole, sizeof(*whole));
	count_at = w->used;
	put_u32(w, 0);
	if (w->is_full)
		return;
	for (; written < count; written++) {
		const struct live_pick *pick = &picks[written];
		size_t before = w->used;
		uint32_t sent = w->sent_count, frames = 0;

		while (frames < LIVE_SITE_FRAMES && !same_id(pick->stacks[frames], STACK_EMPTY))
			frames++;
		put(w, &pick->sum, sizeof(pick->sum));
		put_u32(w, frames);
		for (uint32_t i = 0; i < frames; i++)
			put_frame(w, in, pick->stacks[i]);
		/* leaves room for the heads of the following tables */
		if (w->is_full || sizeof(w->bytes) - w->used < 256) {
			w->used = before;
			w->sent_count = sent;
			w->is_full = false;
			break;
		}
	}
	memcpy(w->bytes + count_at, &written, sizeof(written));
}

/* ---- reading ---- */

void live_reader_release(struct live_reader *r)
{
	free(r->files);
	memset(r, 0, sizeof(*r));
}

static bool get(struct live_reader *r, void *bytes, size_t size)
{
	if ((size_t)(r->end - r->at) < size)
		return false;
	memcpy(bytes, r->at, size);
	r->at += size;
	return true;
}

static bool get_text(struct live_reader *r, const char **text)
{
	const char *end = memchr(r->at, '\0', (size_t)(r->end - r->at));

	*text = r->at;
	if (!end)
		return false;
	r->at = end + 1;
	return true;
}

static bool get_file(struct live_reader *r, struct live_frame *frame)
{
	struct live_file file = {.module = frame->code.module};
	uint32_t is_new;

	if (!get(r, &is_new, sizeof(is_new)))
		return false;
	for (uint32_t i = 0; !is_new && i < r->file_count; i++) {
		if (r->files[i].module != file.module)
			continue;
		frame->file_of_code = r->files[i].mapping;
		return true;
	}
	if (!is_new || !get(r, &file.mapping, sizeof(file.mapping)) ||
	    !get_text(r, &file.mapping.path))
		return false;
	frame->file_of_code = file.mapping;
	if (array_make_room(&r->files, r->file_count, &r->file_capacity, sizeof(*r->files)))
		r->files[r->file_count++] = file;
	return true;
}

static bool get_frame(struct live_reader *r, struct live_frame *frame)
{
	*frame = (struct live_frame){.text = "", .file = "", .file_of_code.path = ""};
	if (!get(r, &frame->kind, sizeof(frame->kind)) ||
	    !get(r, &frame->line, sizeof(frame->line)))
		return false;
	if (!is_code(frame->kind))
		return get_text(r, &frame->text) && get_text(r, &frame->file);
	if (!get(r, &frame->code, sizeof(frame->code)))
		return false;
	return frame->code.module <= MODULE_JIT || get_file(r, frame);
}

bool live_reader_begin(struct live_reader *r, const char *bytes, size_t size,
		       struct live_numbers *numbers)
{
	r->at = bytes;
	r->end = bytes + size;
	r->file_count = 0;
	if (!get(r, numbers, sizeof(*numbers)) || numbers->device_count > GPU_LOAD_DEVICES)
		return false;
	for (uint32_t i = 0; i < numbers->device_count; i++)
		numbers->devices[i].label[DEVICE_LABEL_BYTES - 1] = '\0';
	return true;
}

bool live_reader_table(struct live_reader *r, struct live_sum *whole, uint32_t *count)
{
	return get(r, whole, sizeof(*whole)) && get(r, count, sizeof(*count));
}

bool live_reader_entry(struct live_reader *r, struct live_sum *sum,
		       struct live_frame frames[LIVE_SITE_FRAMES], uint32_t *count)
{
	if (!get(r, sum, sizeof(*sum)) || !get(r, count, sizeof(*count)) ||
	    *count > LIVE_SITE_FRAMES)
		return false;
	for (uint32_t i = 0; i < *count; i++)
		if (!get_frame(r, &frames[i]))
			return false;
	return true;
}
