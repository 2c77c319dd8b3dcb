// SPDX-License-Identifier: MIT
#include "cupti_trace/core/settings.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/text.h"

static char *lines; /* each ended by a NUL, the last one by two; NULL: the environment is used */
static struct trace_config config;
static char *config_text;
static pthread_once_t once = PTHREAD_ONCE_INIT;

const char *setting(const char *name)
{
	return lines ? variable_in(lines, name) : getenv(name);
}

static void read_config(void)
{
	const char *text = setting(TRACE_CONFIG_ENV);

	free(config_text); /* from a profiler that has left */
	config_text = strdup(text ? text : "");
	if (config_text)
		trace_config_decode(&config, config_text);
}

int settings_use(const char *text)
{
	size_t size = strlen(text);
	char *copy = calloc(1, size + 2);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, size);
	for (char *at = copy; (at = strchr(at, '\n')); at++)
		*at = '\0';
	pthread_once(&once, read_config);
	free(lines);
	lines = copy;
	read_config();
	return config_text ? 0 : -ENOMEM;
}

void settings_configure(const struct trace_config *chosen)
{
	pthread_once(&once, read_config);
	config = *chosen;
}

const struct trace_config *settings_config(void)
{
	pthread_once(&once, read_config);
	return &config;
}
