// SPDX-License-Identifier: MIT
#include "profiler/commands/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define BYTES_AT_ONCE 65536u

/* Creates and finds the FIFO. Returns 0 or -errno. */
static int make_fifo(struct control *c)
{
	struct guarded_path *g = &c->place;

	if (mkfifoat(g->folder, g->name, 0600) != 0)
		return -errno;
	c->is_ours = true;
	g->found = openat(g->folder, g->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (g->found < 0 || fstat(g->found, &g->st) != 0)
		return -errno;
	return g->st.st_uid == geteuid() ? 0 : -GUARDED_OTHERS;
}

bool control_open(struct control *c, struct log *log, const char *path)
{
	int err;

	*c = (struct control){.fd = -1};
	err = guarded_find(&c->place, path, 0);
	if (!err && c->place.found < 0) {
		err = make_fifo(c);
		if (err && !c->is_ours)
			return log_error(log, "--control: cannot make the FIFO %s: %s", path,
					 guarded_error(-err));
	}
	if (!err && !S_ISFIFO(c->place.st.st_mode))
		return log_error(
			log, "--control: %s is not a FIFO; name one, or a file that is not there",
			path);
	/* opened for writing, too: the FIFO stays open when a writer closes it */
	if (!err)
		c->fd = err = guarded_open_found(&c->place, O_RDWR | O_NONBLOCK);
	if (err < 0)
		log_error(log, "--control: cannot open %s: %s; name another FIFO", path,
			  guarded_error(-err));
	return c->fd >= 0;
}

void control_close(struct control *c)
{
	const struct guarded_path *g = &c->place;
	struct stat there;

	if (c->is_ours && fstatat(g->folder, g->name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	    g->st.st_dev == there.st_dev && g->st.st_ino == there.st_ino)
		unlinkat(g->folder, g->name, 0);
	guarded_release(&c->place);
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->is_ours = false;
}

/* Replaces control characters and others that are not ASCII. */
static void make_printable(char *text)
{
	for (char *at = text; *at; at++)
		if (*at < ' ' || *at > '~')
			*at = '?';
}

static void complain(struct control *c, struct log *log)
{
	if (c->complaints++ < CONTROL_COMPLAINTS_MAX)
		log_warn(log,
			 "--control: unknown command '%s': start, snapshot, query QUESTION or stop",
			 c->line);
}

/* Returns what is behind a command's word and a space, "" if that is the line's end, or NULL. */
static const char *behind(const char *line, const char *word)
{
	size_t length = strlen(word);

	if (strncmp(line, word, length) != 0)
		return NULL;
	return line[length] == ' ' ? line + length + 1 : line[length] ? NULL : line + length;
}

static enum control_command command_of(struct control *c, struct log *log, const char **argument)
{
	static const char *const words[] = {[CONTROL_START] = "start",
					    [CONTROL_SNAPSHOT] = "snapshot",
					    [CONTROL_QUERY] = "query",
					    [CONTROL_STOP] = "stop"};

	c->line[c->used] = '\0';
	c->used = 0;
	make_printable(c->line);
	for (enum control_command i = CONTROL_START; i <= CONTROL_STOP; i++) {
		*argument = behind(c->line, words[i]);
		if (*argument && (i == CONTROL_QUERY) == (**argument != '\0'))
			return i;
	}
	if (c->line[0])
		complain(c, log);
	*argument = "";
	return CONTROL_NONE;
}

/* Reads a byte. Returns false if there is none now. */
static bool next_byte(struct control *c, char *byte)
{
	if (c->next == c->count) {
		ssize_t n = read(c->fd, c->bytes, sizeof(c->bytes));

		c->next = 0;
		c->count = n > 0 ? (size_t)n : 0;
	}
	if (c->next == c->count)
		return false;
	*byte = c->bytes[c->next++];
	return true;
}

static void skip_line(struct control *c, struct log *log)
{
	if (!c->is_skipped && c->complaints++ < CONTROL_COMPLAINTS_MAX)
		log_warn(log, "--control: a line is too long");
	c->is_skipped = true;
	c->used = 0;
}

enum control_command control_next(struct control *c, struct log *log, const char **argument)
{
	enum control_command command = CONTROL_NONE;
	char byte;

	*argument = "";
	if (c->fd < 0)
		return CONTROL_NONE;
	/* limits the work in case a writer never stops */
	for (uint32_t i = 0; i < BYTES_AT_ONCE && command == CONTROL_NONE; i++) {
		if (!next_byte(c, &byte))
			break;
		if (byte != '\n' && (c->is_skipped || c->used + 1 == sizeof(c->line)))
			skip_line(c, log);
		else if (byte != '\n')
			c->line[c->used++] = byte;
		else if (c->is_skipped)
			c->is_skipped = false;
		else
			command = command_of(c, log, argument);
	}
	return command;
}
