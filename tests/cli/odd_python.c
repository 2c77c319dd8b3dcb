/* SPDX-License-Identifier: MIT */
/*
 * Has the symbols of a libpython of VERSION, which are nothing of the kind: of _PyRuntime there are
 * eight bytes, then memory that cannot be read.
 */
#include <sys/mman.h>

#define PAGE 4096

char odd_pages[2 * PAGE] __attribute__((aligned(PAGE)));
__asm__(".globl _PyRuntime\n.set _PyRuntime, odd_pages + 4096 - 8");
char PyCode_Type[8], PyUnicode_Type[8];

const char *Py_GetVersion(void)
{
	return VERSION;
}

void *PyGILState_GetThisThreadState(void)
{
	return odd_pages;
}

int _Py_IsFinalizing(void)
{
	return 0;
}

void *_PyEval_EvalFrameDefault(void)
{
	return 0;
}

__attribute__((constructor)) static void end_mapping(void)
{
	mprotect(odd_pages + PAGE, PAGE, PROT_NONE);
}
