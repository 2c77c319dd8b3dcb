/* SPDX-License-Identifier: MIT */
/*
 * Included ahead of every C file of ours: calls that write without a bound, or parse numbers
 * without telling errors, do not compile. Use snprintf, memcpy with a checked size, strtoul with
 * checks.
 */
#ifndef SCRIPTS_BANNED_H
#define SCRIPTS_BANNED_H

#ifndef __cplusplus
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf gets strtok
#pragma GCC poison atoi atol atoll atof
#endif

#endif
