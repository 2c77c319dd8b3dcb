// SPDX-License-Identifier: MIT
/*
 * Any symbol: demangling ends, within its time and length, and nothing is lost or leaked. The bytes
 * choose among the letters of mangled names, so that many names mean something.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LONGEST 40 /* piece */

/* Pieces of names; the rest of the 256 bytes are themselves. */
static const char *const pieces[] = {
	"_Z",
	"_R",
	"S_",
	"S0_",
	"S1_",
	"T_",
	"T0_",
	"Dp",
	"sZ",
	"sp",
	"I",
	"E",
	"N",
	"J",
	"X",
	"L",
	"PFv",
	"cv",
	"1A",
	"1f",
	"v",
	"i",
	"Nv",
	"C1a",
	"B_",
	"B0_",
	"B1_",
	"TB",
	"u3_a",
	"u9",
	"M",
	"G_",
	"Gzzzz_",
	"DG",
	"_C1",
	"L_E",
	"K",
	"17h",
	"Y",
	"F",
	"R",
	"Lb1E",
	"sZT_",
	"DT",
	"dec",
	"cl",
	"fp_",
	"il",
	"_ZNK3",
	"Li0EE",
	"St",
	"6vector",
	"26_GLOBAL__N__ce6f4918_3_k_c",
	"24_INTERNAL_ce6f4918_3_k_c",
	"__nv_static_15__ce6f4918_3_k_c_",
	"__omp_offloading_1_a_",
	"_l12",
	"_ZL19__device_stub__Z1fv",
	"_D",
	"_D1aFZv",
	"__T",
	"Qb",
	"Qg",
	"QBa",
	"B2",
	"Va",
	"VAyaa2_6162",
	"MxFNb",
	"S_D",
	"4main",
	"__pyx_pw_",
	"__pyx_f_",
	"__pyx_fuse_0",
	"3cyx_",
	"1K_",
};

/* Memory of a name of D that is aborted is lost (symbolize/demangle.c); that is bounded. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:xmalloc\nleak:xrealloc\n";
}

static char *spell(const uint8_t *data, size_t size)
{
	char *name = malloc(size * LONGEST + 1), *end = name;

	if (!name)
		abort();
	for (size_t i = 0; i < size; i++) {
		if (data[i] < sizeof(pieces) / sizeof(*pieces))
			end = stpcpy(end, pieces[data[i]]);
		else
			*end++ = (char)data[i];
	}
	*end = '\0';
	return name;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct demangler *d = demangler_new();
	char *name = spell(data, size);

	for (int style = DEMANGLE_FUNCTION; style <= DEMANGLE_SIGNATURE; style++) {
		char *result = demangle(d, name, (enum demangle_style)style);

		if (!result || strlen(result) > DEMANGLE_MAX_OUTPUT + strlen(name))
			abort();
		free(result);
	}
	demangler_free(d);
	free(name);
	return 0;
}
