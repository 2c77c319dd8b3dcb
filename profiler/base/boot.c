// SPDX-License-Identifier: MIT
#include "profiler/base/boot.h"
#include "symbolize/util/text.h"

#include <stdio.h>
#include <sys/timex.h>

#define BOOT_ID_PATH "/proc/sys/kernel/random/boot_id"

struct boot_id boot_id_parse(const char *text)
{
	struct boot_id id = {{0, 0}};
	int digits = 0;

	for (; *text && digits < BOOT_ID_DIGITS; text++) {
		int digit = hex_digit(*text);

		if (digit >= 0) {
			uint64_t *part = &id.part[digits++ / (BOOT_ID_DIGITS / 2)];

			*part = *part << 4 | (uint64_t)digit;
		}
	}
	return digits == BOOT_ID_DIGITS ? id : (struct boot_id){{0, 0}};
}

struct boot_id boot_id(void)
{
	FILE *file = fopen(BOOT_ID_PATH, "re");
	char text[64] = "";

	if (file && !fgets(text, sizeof(text), file))
		text[0] = '\0';
	if (file)
		fclose(file);
	return boot_id_parse(text);
}

uint64_t wall_clock_error_ns(void)
{
	struct timex t = {.modes = 0};

	if (adjtimex(&t) < 0 || t.status & STA_UNSYNC || t.maxerror <= 0)
		return 0;
	return (uint64_t)t.maxerror * 1000;
}
