/* SPDX-License-Identifier: MIT */
/* The installed libpythons: for tests that load them, or run each in a process of its own. */
#ifndef TESTS_UNIT_LIBPYTHON_H
#define TESTS_UNIT_LIBPYTHON_H

#include "unit.h"
#include <dlfcn.h>
#include <glob.h>

/* Exit status of a process that checks one library. */
enum { GOOD, BAD, NOT_USABLE };

/* cmocka's assertions are its process's; this is for those that check a library. */
#define MUST(condition)                                                                         \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			_exit(BAD);                                                             \
		}                                                                               \
	} while (0)

#define PYTHON_FUNCTIONS(X)                                            \
	X(void, Py_InitializeEx, (int))                                \
	X(int, Py_FinalizeEx, (void))                                  \
	X(int, PyRun_SimpleString, (const char *))                     \
	X(void *, PyImport_AddModule, (const char *))                  \
	X(void *, PyCFunction_NewEx, (void *, void *, void *))         \
	X(int, PyObject_SetAttrString, (void *, const char *, void *)) \
	X(void *, PyLong_FromLong, (long))                             \
	X(void *, PyEval_SaveThread, (void))                           \
	X(void, PyEval_RestoreThread, (void *))                        \
	X(int, PyGILState_Ensure, (void))                              \
	X(void, PyGILState_Release, (int))                             \
	X(void *, PyGILState_GetThisThreadState, (void))               \
	X(void, PyOS_BeforeFork, (void))                               \
	X(void, PyOS_AfterFork_Parent, (void))                         \
	X(void, PyOS_AfterFork_Child, (void))

static struct {
#define X(result, name, arguments) result(*name) arguments;
	PYTHON_FUNCTIONS(X)
#undef X
} py;

/* Loads it, locally, into this process, which ends if that fails; its functions are in `py`. */
static inline void *load_libpython(const char *path)
{
	void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);

	if (!library)
		_exit(NOT_USABLE);
#define X(result, name, arguments)                            \
	py.name = (result(*) arguments)dlsym(library, #name); \
	if (!py.name)                                         \
		_exit(NOT_USABLE);
	PYTHON_FUNCTIONS(X)
#undef X
	return library;
}

/* Defines `called()` in Python's module __main__. `function` gets unused arguments. */
static inline void define_called(void *(*function)(void *self, void *arguments))
{
	static struct {
		const char *name;
		void *(*function)(void *self, void *arguments);
		int flags;
		const char *doc;
	} method = {.name = "called", .flags = 4 /* METH_NOARGS */}; /* PyMethodDef */
	void *module = py.PyImport_AddModule("__main__");

	MUST(module);
	method.function = function;
	py.PyObject_SetAttrString(module, method.name, py.PyCFunction_NewEx(&method, NULL, NULL));
}

/* Finds the installed libpythons. The caller frees the result by globfree. */
static inline glob_t find_libpythons(void)
{
	glob_t found = {0};

	glob("/usr/lib/x86_64-linux-gnu/libpython3.*.so.1.0", 0, NULL, &found);
	glob("~/.pyenv/versions/3.*/lib/libpython3.*.so.1.0", GLOB_APPEND | GLOB_TILDE, NULL,
	     &found);
	return found;
}

/* Returns false for Python 3.7 and older, whose processes end without Python frames. */
static inline bool is_known_libpython(const char *path)
{
	const char *version = strstr(path, "libpython3.");

	return version && strtoul(version + strlen("libpython3."), NULL, 10) >= 8;
}

/* Runs check(path), which exits, in a process for each library that is installed and known. */
static inline void check_each_libpython(void (*check)(const char *path))
{
	glob_t found = find_libpythons();
	int checked = 0;

	for (size_t i = 0; i < found.gl_pathc; i++) {
		int status;
		pid_t pid;

		if (!is_known_libpython(found.gl_pathv[i]))
			continue;
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			signal(SIGSEGV, SIG_DFL); /* cmocka's handler exits */
			check(found.gl_pathv[i]);
			_exit(BAD);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		print_message("%s: status %d\n", found.gl_pathv[i], status);
		assert_true(WIFEXITED(status));
		assert_int_not_equal(WEXITSTATUS(status), BAD);
		checked += WEXITSTATUS(status) == GOOD;
	}
	globfree(&found);
	if (checked == 0)
		SKIP("no libpython that is known is installed");
}

#endif
