// SPDX-License-Identifier: MIT
#include "profiler/commands/list_metrics.h"

#include <dlfcn.h>
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "cupti_trace/hw/metric_list.h"
#include "profiler/attach/payload.h"
#include "profiler/base/log.h"
#include "profiler/run/capabilities.h"
#include "profiler/run/identity.h"
#include "profiler/run/target_environment.h"
#include "symbolize/util/file_io.h"

#define CHIP_BYTES 64

/* Metrics found so far. Heads are printed before the first metric of their kind. */
struct listing {
	regex_t pattern;
	bool is_filtered, has_type[METRIC_TYPES];
	char chip[CHIP_BYTES];
	struct {
		char *text;
		size_t size;
		FILE *stream; /* NULL if out of memory */
	} rollups[METRIC_TYPES];
	uint64_t shown;
};

static const char *const type_words[METRIC_TYPES] = {"counter", "ratio", "throughput"};

static void keep_chip(void *context, const char *name)
{
	struct listing *l = context;

	snprintf(l->chip, sizeof(l->chip), "%s", name);
}

static void keep_rollup(void *context, enum metric_type type, const char *suffix)
{
	struct listing *l = context;

	if (!l->rollups[type].stream)
		l->rollups[type].stream =
			open_memstream(&l->rollups[type].text, &l->rollups[type].size);
	if (l->rollups[type].stream)
		fprintf(l->rollups[type].stream, "#     %s\n", suffix);
}

static void show_heads(struct listing *l, enum metric_type type)
{
	if (!l->shown)
		printf("# metrics of %s: name, type, unit, description\n", l->chip);
	if (l->has_type[type])
		return;
	l->has_type[type] = true;
	if (!l->rollups[type].stream || fflush(l->rollups[type].stream) != 0)
		return;
	printf("# names of type %s are followed by one of:\n%s", type_words[type],
	       l->rollups[type].text);
}

static void show_metric(void *context, enum metric_type type, const char *name, const char *unit,
			const char *description)
{
	struct listing *l = context;

	if (l->is_filtered && regexec(&l->pattern, name, 0, NULL, 0) != 0 &&
	    regexec(&l->pattern, description, 0, NULL, 0) != 0)
		return;
	show_heads(l, type);
	l->shown++;
	printf("%-60s %-10s %-12s %s\n", name, type_words[type], unit[0] ? unit : "-", description);
}

static void release(struct listing *l)
{
	for (int type = 0; type < METRIC_TYPES; type++) {
		if (l->rollups[type].stream)
			fclose(l->rollups[type].stream);
		free(l->rollups[type].text);
	}
	regfree(&l->pattern);
}

static int finish(struct log *log, const struct listing *l, const struct options *o)
{
	if (fflush(stdout) != 0 || ferror(stdout))
		return log_failure(log, "writing to standard output: %s", strerror(errno));
	if (l->shown)
		return 0;
	return log_failure(log, "no metric's name or description matches '%s'",
			   o->list_metrics.pattern);
}

/* Creates a file in memory that holds the library. Returns its descriptor or -errno. */
static int make_file(void)
{
	size_t size;
	const unsigned char *library = payload_library(&size);
	int fd = memfd_create("libprofile_cupti.so", MFD_CLOEXEC);
	int err = fd < 0 ? -errno : write_exactly(fd, library, size);

	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

/*
 * Loads the injection library into this process, from memory: no file is written. Returns its list
 * function. Returns NULL after writing the reason to `error`.
 */
static metric_list_function *load_library(char error[METRIC_LIST_ERROR_BYTES])
{
	metric_list_function *function = NULL;
	int fd = make_file();
	char path[64];
	void *handle;

	if (fd < 0) {
		snprintf(error, METRIC_LIST_ERROR_BYTES, "making a file in memory: %s",
			 strerror(-fd));
		return NULL;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	close(fd);
	if (handle)
		*(void **)&function = dlsym(handle, METRIC_LIST_SYMBOL);
	if (!function)
		snprintf(error, METRIC_LIST_ERROR_BYTES, "loading the injection library: %s",
			 dlerror());
	return function;
}

int list_metrics(const struct options *o)
{
	struct log log = {.level = LOG_NORMAL};
	char error[METRIC_LIST_ERROR_BYTES] = "";
	struct listing l = {.is_filtered = o->list_metrics.pattern[0] != '\0'};
	const struct metric_visitor visitor = {&l, keep_chip, keep_rollup, show_metric};
	metric_list_function *visit;
	struct identity identity;
	int err = identity_find(&identity, o->as_root);

	if (!err)
		err = identity_become(&identity);
	/* libraries are loaded from the caller's environment: drop capabilities, also as root */
	if (!err)
		err = capabilities_keep(0);
	if (err)
		return log_failure(&log, "cannot become the user who called sudo: %s",
				   strerror(-err));
	/* otherwise the driver loads the injection library into this process */
	unsetenv(TARGET_ENVIRONMENT_CUDA);
	visit = load_library(error);
	if (!visit || regcomp(&l.pattern, o->list_metrics.pattern, REG_EXTENDED | REG_NOSUB) != 0)
		return log_failure(&log, "--list-counters: %s", error);
	err = visit(o->list_metrics.chip, &visitor, error);
	release(&l);
	if (!err)
		return finish(&log, &l, o);
	return log_failure(&log, "--list-counters: %s", error);
}
