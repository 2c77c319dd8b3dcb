# SPDX-License-Identifier: MIT
# How tests are built and run; included from the top Makefile. docs/testing.md explains the kinds.

UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT_DIR := $(BUILD)/tests/unit
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(UNIT_DIR)/%)
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_DIR := $(BUILD)/tests/fuzz
FUZZ_BIN := $(FUZZ_SRC:tests/fuzz/%.c=$(FUZZ_DIR)/%)

CUDA_HOME ?= /usr/local/cuda
CUDA_INCLUDE := $(wildcard $(CUDA_HOME)/include)

# the injection library's modules, for the unit tests; only what a test refers to is linked in
$(BUILD)/libinject.a: $(inject_src:%.c=$(BUILD)/%.o)

.PHONY: test quick quick-build run-tests unit cli test-browser fuzz fuzz-build mutants programs bench bench-build bench-page test-gpu bench-gpu

# as many jobs as there are processors, unless told
test: setup
	$(Q)$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc)) DEVELOPER=1 run-tests

# while one works on it: some minutes from nothing, and as many jobs as there are processors
quick:
	$(Q)$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc)) DEVELOPER=1 quick-build
	$(Q)tests/run quick

quick-build: all unit-build fake_cuda workloads

run-tests: all unit-build fake_cuda workloads $(BUILD)/tests/browser/pictures
	$(Q)tests/run

.PHONY: unit-build
unit-build: $(UNIT_BIN)

unit: unit-build fake_cuda workloads
	$(Q)tests/run unit

cli: all fake_cuda workloads
	$(Q)tests/run cli

# the page of html reports, in headless Chromium

# tests took most of a build's time to optimize; the plain build warns, at the least level that sees
# what is used uninitialized
$(UNIT_DIR)/%: private CFLAGS += $(if $(SANITIZE),-g -O0 -w,-O1)
$(UNIT_DIR)/%: tests/unit/%.c $(BUILD)/libinject.a $(BUILD)/libprofiler.a \
		$(BUILD)/libsymbolize.a $(BUILD)/bpf/stacks.skel.h Makefile tests/rules.mk
	$(call msg,TEST,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(if $(CUDA_INCLUDE),-isystem $(CUDA_INCLUDE) -DCUDA_INCLUDE='"$(CUDA_INCLUDE)"') $(CFLAGS) $(LDFLAGS) \
		-MMD -MP -MF $@.d -o $@ $< $(BUILD)/libinject.a $(BUILD)/libprofiler.a \
		$(BUILD)/libsymbolize.a -lcmocka $(LIBS) -pthread -ldl

# the interface that is declared, compared with the headers of each CUPTI that is there
CUPTI_OTHERS := $(if $(CUDA_INCLUDE),$(patsubst build/cupti/%/include,%,$(wildcard build/cupti/*/include)))
$(UNIT_DIR)/test_cupti_abi: $(CUPTI_OTHERS:%=$(UNIT_DIR)/cupti_abi_%.compared)
$(UNIT_DIR)/cupti_abi_%.compared: tests/unit/test_cupti_abi.c cupti_trace/core/cupti_abi.h \
		tests/fake_cuda/layouts.h tests/rules.mk
	$(call msg,COMPARE,$< with CUPTI $*)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -isystem build/cupti/$*/include -isystem $(CUDA_INCLUDE) \
		-DCUDA_INCLUDE='"build/cupti/$*/include"' $(CFLAGS) -fsyntax-only $<
	$(Q)touch $@

# device code with a line table, where there is nvcc: tests that need it are skipped elsewhere
NVCC := $(wildcard $(CUDA_HOME)/bin/nvcc)
CUBIN := $(if $(NVCC),$(BUILD)/tests/cubins/lines.cubin)
$(BUILD)/tests/cubins/%.cubin: tests/cubins/%.cu tests/rules.mk
	$(call msg,NVCC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(NVCC) -O1 -lineinfo -arch=sm_90 -cubin -o $@ $<
unit-build: $(CUBIN)
cli run-tests: $(CUBIN)

# NVIDIA's header of the host functions asks for C++, but only for a header that it does not use
$(UNIT_DIR)/test_profiler_abi: $(UNIT_DIR)/no_cxx/string
$(UNIT_DIR)/test_profiler_abi: CPPFLAGS += -isystem $(UNIT_DIR)/no_cxx
$(UNIT_DIR)/no_cxx/string:
	$(Q)mkdir -p $(@D)
	$(Q)touch $@

# their memory runs out: tests/unit/failing_memory.h
UNSURE := array_make_room hash_index_add id_map_get
$(addprefix $(UNIT_DIR)/test_,cpu_time processes spread target_stacks work_tally): \
	LDFLAGS += $(UNSURE:%=-Wl,--wrap=%)
$(UNIT_DIR)/test_target_stacks: LDFLAGS += -Wl,--wrap=malloc
$(UNIT_DIR)/test_processes: LDFLAGS += -Wl,--wrap=calloc,--wrap=address_space_new,--wrap=address_space_fork

$(UNIT_DIR)/test_graph_memory_driver: LDFLAGS += -Wl,--wrap=dlopen,--wrap=dlsym,--wrap=dlclose
$(UNIT_DIR)/test_kernel_events: LDFLAGS += -Wl,--wrap=bpf_source_has_more

# the test looks up its own functions, like a loader
$(UNIT_DIR)/test_python_loop: LDFLAGS += -rdynamic

# ---- fuzzing: libFuzzer, `make fuzz SECONDS=60` each ----

SECONDS ?= 30
fuzz-build: $(FUZZ_BIN)
fuzz: fuzz-build
	$(Q)for f in $(FUZZ_BIN); do echo "== $$f"; mkdir -p $$f.corpus; \
		$$f -max_total_time=$(SECONDS) -timeout=10 -rss_limit_mb=2048 -print_final_stats=0 \
		-verbosity=0 $$f.corpus $$(ls -d {,$(BUILD)/}tests/fuzz/seeds/$${f##*/} 2>/dev/null) || exit 1; done

# seeds that are programs: small libraries with DWARF, and with both kinds of call-frame information
SEEDS := $(BUILD)/tests/fuzz/seeds
fuzz-build: $(SEEDS)/fuzz_dwarf/inlined $(SEEDS)/fuzz_elf_cfi/eh_frame $(SEEDS)/fuzz_elf_cfi/debug_frame
$(SEEDS)/fuzz_dwarf/inlined: SEED_FLAGS := -g
$(SEEDS)/fuzz_elf_cfi/eh_frame: SEED_FLAGS := -s
$(SEEDS)/fuzz_elf_cfi/debug_frame: SEED_FLAGS := -g -fno-asynchronous-unwind-tables -Wl,--no-eh-frame-hdr
$(SEEDS)/%: tests/fuzz/seed.c tests/rules.mk
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -O2 -shared -fPIC -nostdlib -Wl,-z,noseparate-code,--build-id=none $(SEED_FLAGS) -o $@ $<
ifneq ($(CUBIN),)
fuzz-build: $(SEEDS)/fuzz_cubin/lines
$(SEEDS)/fuzz_cubin/lines: $(CUBIN)
	$(Q)mkdir -p $(@D)
	$(Q)cp $< $@
endif
# and interpreters: with tables of offsets, with their own, and with nothing but these
PYTHON_SEEDS := $(addprefix $(SEEDS)/fuzz_python_image/,3.12 3.14 section)
fuzz-build: $(PYTHON_SEEDS)
$(SEEDS)/fuzz_python_image/3.12: SEED_FLAGS := -DVERSION=0x030c01f0
$(SEEDS)/fuzz_python_image/3.14: SEED_FLAGS := -DVERSION=0x030e0af0 -s
$(SEEDS)/fuzz_python_image/section: SEED_FLAGS := -DVERSION=0x030f02f0 -DHIDDEN -fvisibility=hidden -s
$(PYTHON_SEEDS): tests/fuzz/seed_python.c tests/rules.mk
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -O2 -shared -fPIC -nostdlib -Wl,-z,noseparate-code,--build-id=none $(SEED_FLAGS) -o $@ $<

# What they call, built once with clang and its sanitizers: the readers of foreign files, the pipe and the collecting
# side that it writes to, results and all that writes them, the command line. Only what a fuzzer refers to is linked in.
FUZZED_SRC := $(symbolize_src) profiler/sources/gpu_pipe.c profiler/sources/node_works.c profiler/run/trace_reader.c profiler/attach/notices.c \
	$(addprefix cupti_trace/wire/,gpu_wire_decode.c gpu_wire_encode.c gpu_wire_fields.c gpu_wire_scan.c node_run.c work_tally.c) cupti_trace/hw/cubin_lines.c cupti_trace/python/module_tree.c \
	$(wildcard $(addprefix profiler/,base/*.c join/*.c cpu/*.c addons/*.c model/*.c tables/*.c shape/*.c findings/*.c formats/*.c web/*.c send/*.c output/*.c report/*.c)) \
	$(addprefix profiler/commands/,options.c option_rules.c option_table.c option_values.c slips.c output_name.c help.c completion.c gate.c)
FUZZED_OBJ := $(FUZZED_SRC:%.c=$(FUZZ_DIR)/of/%.o)
# compiled in half the time of -O1, and two thirds as fast; FUZZ_OPTIMIZE=-O1 in a clean tree for long runs
FUZZ_OPTIMIZE ?= -O0
FUZZ_FLAGS := -std=gnu11 -Werror=implicit-function-declaration -gline-tables-only $(FUZZ_OPTIMIZE) -fno-sanitize-recover=all

$(FUZZ_DIR)/of/%.o: %.c Makefile tests/rules.mk
	$(call msg,FUZZED,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_FLAGS) $(CPPFLAGS) -fsanitize=fuzzer-no-link,address,undefined -MMD -MP -c -o $@ $<

$(FUZZ_DIR)/of/libfuzzed.a: $(FUZZED_OBJ)
	$(call msg,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(FUZZ_DIR)/%: tests/fuzz/%.c $(FUZZ_DIR)/of/libfuzzed.a $(blob_obj) Makefile tests/rules.mk
	$(call msg,FUZZ,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_FLAGS) $(CPPFLAGS) -fsanitize=fuzzer,address,undefined \
		-o $@ $(filter %.c %.a %.o,$^) -ldw -lelf -lz -liberty -llzma -lcjson -lm

# ---- faults that tests must notice: `make mutants ONLY=PATTERN` ----

mutants:
	$(Q)tests/mutants/run "$(ONLY)"

# ---- programs in many languages: `make programs ONLY=PATTERN` ----

programs: all
	$(Q)tests/programs/run "$(ONLY)"

# ---- on a machine with a GPU ----

test-gpu:
	$(Q)tests/gpu/run correctness

bench-gpu:
	$(Q)tests/gpu/run overhead

# ---- made captures ----

$(WORKLOADS_DIR)/rank_captures: tests/cli/rank_captures.c $(wildcard tests/unit/made_*.h) tests/unit/own_folder.h \
		tests/unit/unit.h $(BUILD)/libprofiler.a $(BUILD)/libsymbolize.a Makefile tests/rules.mk
	$(call msg,TEST,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/libprofiler.a \
		$(BUILD)/libsymbolize.a -lcmocka $(LIBS)

workloads: $(WORKLOADS_DIR)/rank_captures

# ---- another tracer ----

$(WORKLOADS_DIR)/return_probes: tests/cli/return_probes.c Makefile tests/rules.mk
	$(call msg,TEST,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $<

workloads: $(WORKLOADS_DIR)/return_probes

# ---- in a browser ----

BROWSER_DIR := $(BUILD)/tests/browser
$(BROWSER_DIR)/pictures: tests/browser/pictures.c tests/unit/made_result.h tests/unit/unit.h \
		$(BUILD)/libprofiler.a $(BUILD)/libsymbolize.a Makefile tests/rules.mk
	$(call msg,TEST,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/libprofiler.a \
		$(BUILD)/libsymbolize.a -lcmocka $(LIBS)

test-browser: all $(BUILD)/profiler/web/page.html $(BROWSER_DIR)/pictures
	$(Q)tests/run browser

# ---- measuring ----

BENCH_DIR := $(BUILD)/tests/bench
$(BENCH_DIR)/pipe $(BENCH_DIR)/waits $(BENCH_DIR)/timeline $(BENCH_DIR)/live $(BENCH_DIR)/trace \
		$(BENCH_DIR)/switches $(BENCH_DIR)/findings: $(BENCH_DIR)/%: tests/bench/bench_%.c $(BUILD)/libprofiler.a $(BUILD)/libsymbolize.a
	$(call msg,BENCH,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BENCH_DIR)/naming: tests/bench/bench_naming.c $(BUILD)/libprofiler.a $(BUILD)/libsymbolize.a
	$(call msg,BENCH,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS) -ldl

$(BENCH_DIR)/capture $(BENCH_DIR)/nvtx: $(BENCH_DIR)/%: tests/bench/bench_%.c $(BUILD)/libinject.a
	$(call msg,BENCH,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $^ -pthread -ldl

$(BENCH_DIR)/graph_nodes: tests/bench/bench_graph_nodes.c $(BUILD)/libinject.a $(BUILD)/libprofiler.a $(BUILD)/libsymbolize.a
	$(call msg,BENCH,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS) -pthread -ldl

$(BENCH_DIR)/deep: tests/bench/bench_deep.c
	$(call msg,BENCH,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -O2 -fomit-frame-pointer -o $@ $<

# embeds python3-config's interpreter, if there is one
PYTHON_CONFIG ?= $(shell command -v python3-config)
$(addprefix $(BENCH_DIR)/,python_stack async_parent): $(BENCH_DIR)/%: tests/bench/bench_%.c $(BUILD)/libinject.a
	$(call msg,BENCH,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) \
		$(patsubst -I%,-isystem %,$(shell $(PYTHON_CONFIG) --includes)) -o $@ $^ \
		$(shell $(PYTHON_CONFIG) --ldflags --embed) \
		-Wl,-rpath,$(shell $(PYTHON_CONFIG) --prefix)/lib -pthread -ldl

# built by the tests, too, which do not run them
bench-build: $(addprefix $(BENCH_DIR)/,pipe waits timeline findings live trace naming capture nvtx deep switches graph_nodes \
	$(if $(PYTHON_CONFIG),python_stack async_parent))
run-tests: bench-build
bench: all bench-build fake_cuda workloads
	$(Q)tests/bench/run

# make bench-page [BEFORE=FOLDER of another checkout]
bench-page: $(BUILD)/profiler/web/page.html
	$(Q)$(if $(BEFORE),$(MAKE) --no-print-directory -C $(BEFORE) build/profiler/web/page.html)
	$(Q)node tests/browser/measure.mjs $(if $(BEFORE),before=$(BEFORE)) after=.
