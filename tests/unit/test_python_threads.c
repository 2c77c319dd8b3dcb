// SPDX-License-Identifier: MIT
/*
 * Names of threads in the memory of a real interpreter: every installed libpython, each in a
 * process of its own; also where memory changes, or cannot be read, at any moment.
 */
#include "libpython.h"
#include <sys/uio.h>
#include "symbolize/python_threads.h"

static const char program[] =
	"import threading, _thread\n"
	"stop = threading.Event()\n"
	"class Many(threading.Thread):\n"
	"    def __init__(self, name):\n"
	"        for i in range(60): setattr(self, f'attribute_{i}', i)\n"
	"        super().__init__(target=stop.wait, name=name)\n"
	"class Own(threading.Thread):\n"
	"    def __init__(self, name):\n"
	"        super().__init__(target=stop.wait, name=name)\n"
	"        self.__dict__ = dict(self.__dict__)\n"
	"class Container(dict, threading.Thread):\n"
	"    __hash__ = object.__hash__\n"
	"    def __init__(self, name):\n"
	"        threading.Thread.__init__(self, target=stop.wait, name=name)\n"
	"threads = [Many('many'), Own('own'), Container('container')]\n"
	"threads += [threading.Thread(target=stop.wait, name=name) for name in\n"
	"            ('plain', 'gr\\xf6\\xdfe-\\u540d', 'l' * 300, '')]\n"
	"threads[-1].name = ''\n" /* the constructor makes one */
	"for thread in threads: thread.start()\n"
	"started = threading.Event()\n"
	"def foreign():\n"
	"    threading.current_thread(); started.set(); stop.wait()\n"
	"_thread.start_new_thread(foreign, ())\n"
	"started.wait()\n";
#define NAMED 6 /* number of these threads with a name */

static struct python_offsets offsets;
static struct python_types types;
static uint64_t runtime;
static struct python_threads_places places;
static struct python_threads threads;

/* Memory that does something at the next reading but so many. */
static struct {
	uint32_t reads, at;
	const char *code; /* runs; NULL: nothing can be read from then on */
} event;

static bool read_own(void *context, uint64_t address, void *buffer, size_t size)
{
	struct iovec ours = {buffer, size}, theirs = {(void *)(uintptr_t)address, size};

	(void)context;
	event.reads++;
	if (event.reads == event.at && event.code)
		MUST(py.PyRun_SimpleString(event.code) == 0);
	if (event.at && event.reads >= event.at && !event.code)
		return false;
	return process_vm_readv(getpid(), &ours, 1, &theirs, 1, 0) == (ssize_t)size;
}

/* Returns the number of reads. */
static uint32_t read_names(uint32_t at, const char *code)
{
	const struct python_memory memory = {.read = read_own};

	event.reads = 0;
	event.at = at;
	event.code = code;
	python_threads_read(&memory, &offsets, &types, runtime, &places, &threads);
	return event.reads;
}

static const struct python_thread_name *find(const char *name)
{
	for (uint32_t i = 0; i < threads.count; i++)
		if (strcmp(threads.names[i].text, name) == 0)
			return &threads.names[i];
	return NULL;
}

static void open_runtime(void *library)
{
	const uint32_t *version = dlsym(library, "Py_Version");
	const char *(*get_version)(void) = (const char *(*)(void))dlsym(library, "Py_GetVersion");
	unsigned int major = 0, minor = 0;
	uint32_t hex;

	runtime = (uint64_t)(uintptr_t)dlsym(library, "_PyRuntime");
	MUST(runtime && get_version);
	MUST(sscanf(get_version(), "%u.%u", &major, &minor) == 2 && major == 3);
	hex = version ? *version : 0x030000f0 | minor << 16;
	MUST(python_offsets_read(hex, (const void *)(uintptr_t)runtime, PYTHON_RUNTIME_BYTES,
				 &offsets) == 0);
	types.code = (uint64_t)(uintptr_t)dlsym(library, "PyCode_Type");
	types.text = (uint64_t)(uintptr_t)dlsym(library, "PyUnicode_Type");
}

static void check_names(void)
{
	char cut[PYTHON_THREAD_NAME_BYTES] = "";

	memset(cut, 'l', sizeof(cut) - 1);
	MUST(threads.count == NAMED);
	MUST(find("plain") && find("many") && find("own") && find("container"));
	MUST(find("gr\u00f6\u00dfe-\u540d") && find(cut));
	for (uint32_t i = 0; i < threads.count; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/self/task/%u", threads.names[i].tid);
		MUST(access(path, F_OK) == 0 && threads.names[i].tid != (uint32_t)getpid());
		for (uint32_t k = 0; k < i; k++)
			MUST(threads.names[i].tid != threads.names[k].tid);
	}
}

/* Checks that each name is one that the threads have had, whatever happens. */
static void check_changes(uint32_t first, uint32_t reads)
{
	for (uint32_t at = 1; at <= first; at += first / 200 + 1) {
		memset(&places, 0, sizeof(places));
		read_names(at, NULL);
		MUST(threads.count <= NAMED);
		for (uint32_t i = 0; i < threads.count; i++)
			MUST(threads.names[i].text[0] && threads.names[i].tid);
	}
	read_names(0, NULL);
	for (uint32_t at = 1; at <= reads; at += reads / 200 + 1) {
		read_names(at, "threads[3].name, others = 'other-' + 'x' * 40, "
			       "['y' * 46 for i in range(100)]");
		MUST(find("plain") || find("other-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx") ||
		     threads.count == NAMED - 1);
		MUST(threads.count >= NAMED - 1);
		read_names(1, "threads[3].name = 'plain'");
	}
	for (uint32_t at = 1; at <= reads; at += reads / 200 + 1) {
		read_names(at, "saved = threading._active.pop(threads[3].ident)");
		MUST(threads.count == NAMED - 1 || find("plain"));
		read_names(0, NULL);
		MUST(threads.count == NAMED - 1 && !find("plain"));
		read_names(1, "threading._active[threads[3].ident] = saved");
	}
	read_names(0, NULL);
	check_names();
}

static void check_library(const char *path)
{
	void *library = load_libpython(path);
	uint32_t first, again;

	open_runtime(library);
	py.Py_InitializeEx(0);
	read_names(0, NULL);
	MUST(threads.count == 0); /* the module is not imported */
	MUST(py.PyRun_SimpleString(program) == 0);
	first = read_names(0, NULL);
	check_names();
	again = read_names(0, NULL);
	check_names();
	MUST(again < first);
	check_changes(first, again);
	MUST(py.PyRun_SimpleString("threading.current_thread().name = 'first'") == 0);
	read_names(0, NULL);
	MUST(threads.count == NAMED + 1 && find("first") &&
	     find("first")->tid == (uint32_t)getpid());
	MUST(py.PyRun_SimpleString("stop.set()\nfor thread in threads: thread.join()") == 0);
	read_names(0, NULL);
	MUST(threads.count == 1);
	_exit(GOOD);
}

static void every_installed_library(void **state)
{
	(void)state;
	check_each_libpython(check_library);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_installed_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
