/* SPDX-License-Identifier: MIT */
/*
 * Two kernels as PTX text, for programs that use the driver API only: driver_spin(ns) and
 * driver_wait(ns) last as long as their argument says. The stand-in reads the entries' names and
 * first parameter types; a real driver compiles it.
 */
#ifndef TESTS_WORKLOADS_PTX_H
#define TESTS_WORKLOADS_PTX_H

#define PTX_SPIN(name)                         \
	".visible .entry " name "(\n"          \
	".param .u64 duration\n"               \
	")\n"                                  \
	"{\n"                                  \
	"	.reg .u64 %ns, %until, %now;\n"      \
	"	.reg .pred %again;\n"                \
	"	ld.param.u64 %ns, [duration];\n"     \
	"	mov.u64 %until, %globaltimer;\n"     \
	"	add.u64 %until, %until, %ns;\n"      \
	"LOOP:\n"                              \
	"	mov.u64 %now, %globaltimer;\n"       \
	"	setp.lt.u64 %again, %now, %until;\n" \
	"	@%again bra LOOP;\n"                 \
	"	ret;\n"                              \
	"}\n"

#define PTX_MODULE        \
	".version 6.0\n"  \
	".target sm_50\n" \
	".address_size 64\n" PTX_SPIN("driver_spin") PTX_SPIN("driver_wait")

#endif
