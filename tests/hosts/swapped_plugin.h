/* SPDX-License-Identifier: MIT */
/* A library without kernels: it calls back, from the function CALLER. */
#ifndef TESTS_HOSTS_SWAPPED_PLUGIN_H
#define TESTS_HOSTS_SWAPPED_PLUGIN_H

#include "host.h"

NOINLINE static void CALLER(void (*launch)())
{
	launch();
	asm volatile("");
}

extern "C" void call_back(void (*launch)())
{
	CALLER(launch);
	asm volatile("");
}

#endif
