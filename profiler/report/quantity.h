/* SPDX-License-Identifier: MIT */
/* Times and sizes for people: "1.234 ms", "12.3 GiB". */
#ifndef PROFILER_REPORT_QUANTITY_H
#define PROFILER_REPORT_QUANTITY_H

#include <stdint.h>

#define QUANTITY_BYTES 24

/* Both return `text`. */
const char *time_text(char text[QUANTITY_BYTES], double ns);
const char *bytes_text(char text[QUANTITY_BYTES], uint64_t bytes);

#endif
