// SPDX-License-Identifier: MIT
#include "profiler/output/outputs.h"

#include <errno.h>
#include <string.h>

unsigned int outputs_need(const struct output_choice *choices, uint32_t count)
{
	unsigned int needs = 0;

	for (uint32_t i = 0; i < count; i++)
		needs |= choices[i].writer->needs;
	return needs;
}

/* Returns whether two outputs are one file, as far as is known before they are written. */
static bool is_same(const struct output *a, const struct output *b)
{
	struct stat x, y;

	if (a->is_stdout || b->is_stdout)
		return a->is_stdout && b->is_stdout;
	if (!a->is_new && !b->is_new)
		return a->old.st_dev == b->old.st_dev && a->old.st_ino == b->old.st_ino &&
		       S_ISREG(a->old.st_mode);
	return a->is_new && b->is_new && strcmp(a->name, b->name) == 0 &&
	       fstat(a->folder, &x) == 0 && fstat(b->folder, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* Returns whether an earlier choice is the FIFO of choice `at`. Called before opening it. */
static bool is_fifo_twice(const struct output_choice *choices, uint32_t at)
{
	struct stat st, other;

	if (stat(choices[at].path, &st) != 0 || !S_ISFIFO(st.st_mode))
		return false;
	for (uint32_t i = 0; i < at; i++)
		if (stat(choices[i].path, &other) == 0 && other.st_dev == st.st_dev &&
		    other.st_ino == st.st_ino)
			return true;
	return false;
}

int outputs_open(struct outputs *o, const struct output_choice *choices, uint32_t count,
		 uint32_t *failed)
{
	*o = (struct outputs){.choices = choices};
	for (*failed = 0; *failed < count; (*failed)++)
		if (is_fifo_twice(choices, *failed))
			return -EBUSY;
	return outputs_go_on(o, count, failed);
}

int outputs_go_on(struct outputs *o, uint32_t count, uint32_t *failed)
{
	const struct output_choice *choices = o->choices;

	while (o->count < count) {
		uint32_t at = o->count;
		int err = output_open(&o->files[at], choices[at].path);

		*failed = at;
		o->count += !err;
		for (uint32_t i = 0; i < at && !err; i++)
			if (is_same(&o->files[i], &o->files[at]))
				err = -EBUSY;
		if (err == -EAGAIN)
			return err;
		if (err) {
			outputs_cancel(o);
			return err;
		}
	}
	return 0;
}

bool outputs_take_stdout(const struct outputs *o)
{
	for (uint32_t i = 0; i < o->count; i++)
		if (o->files[i].is_stdout)
			return true;
	return false;
}

int outputs_folder(const struct outputs *o)
{
	for (uint32_t i = 0; i < o->count; i++)
		if (o->files[i].folder >= 0)
			return o->files[i].folder;
	return -1;
}

int outputs_write(struct outputs *o, uint32_t at, const struct result *result,
		  const struct writer_options *options, struct written *written)
{
	FILE *stream = output_begin(&o->files[at]);

	if (!stream)
		return -errno;
	return output_end(&o->files[at], stream,
			  o->choices[at].writer->write(result, options, stream, written));
}

int outputs_place(const struct outputs *o, uint32_t at)
{
	const struct output *file = &o->files[at];

	return file->folder >= 0 ? file->folder : file->fd;
}

void outputs_cancel(struct outputs *o)
{
	for (uint32_t i = 0; i < o->count; i++)
		output_cancel(&o->files[i]);
	o->count = 0;
}
