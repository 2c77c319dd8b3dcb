/* SPDX-License-Identifier: MIT */
/* Modules of the fake driver: text images and their functions. */
#define _GNU_SOURCE
#include "fake_driver.h"
#include "cbid.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODULE_MAGIC 0x4d4f444cu
#define FUNCTION_MAGIC 0x46554e43u
#define CUBIN_MAX (1u << 22)
#define TABLE_HEADER "FAKE_CUDA_MODULE\n"

struct fake_cuda_module {
	uint32_t magic;
	uint32_t id;
	struct fake_cuda_function **functions;
	size_t count;
	char *image;
	struct fake_cuda_module *next; /* all modules ever loaded */
};

static pthread_mutex_t modules_lock = PTHREAD_MUTEX_INITIALIZER;
static struct fake_cuda_module *modules;
static uint32_t next_module_id = 1;

static int add_function(struct fake_cuda_module *m, const char *name, size_t len,
			enum gpu_duration source, uint64_t duration)
{
	struct fake_cuda_function **grown;
	struct fake_cuda_function *f;

	grown = realloc(m->functions, (m->count + 1) * sizeof(*grown));
	if (!grown)
		return FAKE_CUDA_ERROR_OUT_OF_MEMORY;
	m->functions = grown;
	f = calloc(1, sizeof(*f));
	if (!f)
		return FAKE_CUDA_ERROR_OUT_OF_MEMORY;
	f->name = strndup(name, len);
	if (!f->name) {
		free(f);
		return FAKE_CUDA_ERROR_OUT_OF_MEMORY;
	}
	f->magic = FUNCTION_MAGIC;
	f->source = source;
	f->duration = duration;
	m->functions[m->count++] = f;
	gpu_register_function(f);
	return 0;
}

static int parse_table(struct fake_cuda_module *m, const char *text)
{
	while (*text) {
		size_t line = strcspn(text, "\n");
		const char *equals = memchr(text, '=', line);
		char *end;
		int err;

		if (!equals || equals == text)
			return FAKE_CUDA_ERROR_INVALID_IMAGE;
		if (strncmp(equals + 1, "arg", 3) == 0) {
			err = add_function(m, text, (size_t)(equals - text),
					   GPU_DURATION_FIRST_ARGUMENT, 0);
		} else {
			uint64_t ns = strtoull(equals + 1, &end, 10);

			if (end == equals + 1)
				return FAKE_CUDA_ERROR_INVALID_IMAGE;
			err = add_function(m, text, (size_t)(equals - text), GPU_DURATION_FIXED,
					   ns);
		}
		if (err)
			return err;
		text += line;
		if (*text)
			text++;
	}
	return 0;
}

static int parse_ptx(struct fake_cuda_module *m, const char *text)
{
	static const char blanks[] = " \t\r\n";

	while ((text = strstr(text, ".entry"))) {
		const char *name, *param;
		size_t len;
		bool timed;
		int err;

		text += strlen(".entry");
		name = text + strspn(text, blanks);
		len = strcspn(name, " \t\r\n(");
		text = name + len;
		text += strspn(text, blanks);
		if (!len || *text != '(')
			return FAKE_CUDA_ERROR_INVALID_IMAGE;
		param = text + 1 + strspn(text + 1, blanks);
		timed = strncmp(param, ".param .u64", 11) == 0;
		err = add_function(m, name, len,
				   timed ? GPU_DURATION_FIRST_ARGUMENT : GPU_DURATION_FIXED,
				   gpu_config()->default_duration);
		if (err)
			return err;
	}
	return m->count ? 0 : FAKE_CUDA_ERROR_INVALID_IMAGE;
}

/* The file that all modules are said to be compiled to; NULL: none. */
static char *read_cubin(size_t *size)
{
	const char *path = getenv("FAKE_CUDA_CUBIN");
	FILE *file = path ? fopen(path, "re") : NULL;
	char *bytes = file ? malloc(CUBIN_MAX) : NULL;

	*size = bytes ? fread(bytes, 1, CUBIN_MAX, file) : 0;
	if (file)
		fclose(file);
	return bytes;
}

static void module_notify(uint32_t cbid, struct fake_cuda_module *m)
{
	size_t size;
	char *cubin = read_cubin(&size);
	struct fake_cuda_module_data data = {m->id, cubin ? size : strlen(m->image),
					     cubin ? cubin : m->image};

	driver_notify_resource(cbid, gpu_current(), NULL, &data);
	free(cubin); /* valid during the callback */
}

int module_load(struct fake_cuda_module **module, const char *image)
{
	struct fake_cuda_module *m;
	int err;

	if (!module || !image)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	if (!gpu_current())
		return FAKE_CUDA_ERROR_INVALID_CONTEXT;
	m = calloc(1, sizeof(*m));
	if (!m)
		return FAKE_CUDA_ERROR_OUT_OF_MEMORY;
	if (strncmp(image, TABLE_HEADER, strlen(TABLE_HEADER)) == 0)
		err = parse_table(m, image + strlen(TABLE_HEADER));
	else
		err = parse_ptx(m, image);
	m->image = strdup(image);
	if (!err && !m->image)
		err = FAKE_CUDA_ERROR_OUT_OF_MEMORY;
	if (err) {
		/* The functions stay in the process's list, as after an unload. */
		free(m->functions);
		free(m->image);
		free(m);
		return err;
	}
	m->magic = MODULE_MAGIC;
	pthread_mutex_lock(&modules_lock);
	m->id = next_module_id++;
	m->next = modules;
	modules = m;
	pthread_mutex_unlock(&modules_lock);
	*module = m;
	module_notify(CUPTI_ABI_RESOURCE_MODULE_LOADED, m);
	return 0;
}

int module_unload(struct fake_cuda_module *module)
{
	if (!module || module->magic != MODULE_MAGIC)
		return FAKE_CUDA_ERROR_INVALID_HANDLE;
	module_notify(CUPTI_ABI_RESOURCE_MODULE_UNLOAD_STARTING, module);
	module->magic = 0;
	for (size_t i = 0; i < module->count; i++)
		module->functions[i]->magic = 0;
	free(module->functions);
	free(module->image);
	module->functions = NULL;
	module->image = NULL;
	module->count = 0;
	return 0;
}

int module_function(struct fake_cuda_function **function, struct fake_cuda_module *module,
		    const char *name)
{
	if (!function || !name)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	if (!module || module->magic != MODULE_MAGIC)
		return FAKE_CUDA_ERROR_INVALID_HANDLE;
	for (size_t i = 0; i < module->count; i++) {
		if (strcmp(module->functions[i]->name, name) == 0) {
			*function = module->functions[i];
			return 0;
		}
	}
	return FAKE_CUDA_ERROR_NOT_FOUND;
}

const char *module_function_name(const struct fake_cuda_function *function)
{
	return function->name;
}

bool module_function_valid(const struct fake_cuda_function *function)
{
	return function && function->magic == FUNCTION_MAGIC;
}
