// SPDX-License-Identifier: MIT
#include "profiler/base/host_name.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>
#include "symbolize/util/text.h"

char *host_name(void)
{
	char name[HOST_NAME_MAX + 1] = "";

	if (gethostname(name, sizeof(name) - 1) != 0 || !name[0])
		return NULL;
	clean_text(name);
	return strdup(name);
}
