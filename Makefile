# profile: one flame graph of a CUDA program, CPU and GPU.
#
#   make demo      install what is missing, build, profile a sample program
#   make test      install what is missing, build, run every test
#   make           build ./profile; `make install`, `make uninstall`, `make deb`
#
# Variables: V=1 shows commands; DEVELOPER=1 makes warnings errors and checks assertions;
# SANITIZE=address,undefined builds into a folder of its own; CC, CXX, CLANG, BPFTOOL name tools.
# docs/testing.md lists all targets.

MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:
.SECONDARY:

CC := gcc
CXX := g++
AR := ar
CLANG ?= clang
BPFTOOL ?= $(firstword $(shell for b in bpftool /usr/sbin/bpftool \
	/usr/lib/linux-tools/*/bpftool /usr/lib/linux-tools-*/bpftool; do \
	$$b version >/dev/null 2>&1 && echo $$b; done; true))
prefix ?= /usr/local

SANITIZE ?=
BUILD := build$(if $(SANITIZE),/sanitized)

Q := $(if $(V),,@)
msg = $(if $(V),,@printf '  %-8s %s\n' '$(1)' '$(2)')

WARNINGS := -Wall -Wextra -Wshadow -Wformat=2 -Wundef $(if $(DEVELOPER),-Werror)
WARNINGS_C := $(WARNINGS) -Wstrict-prototypes -Wmissing-prototypes -Wvla
OPTIMIZE ?= $(if $(SANITIZE),-O1,-O2)
CPPFLAGS += -D_GNU_SOURCE -I. -I$(BUILD) -include scripts/banned.h $(if $(DEVELOPER),,-DNDEBUG)
CFLAGS += -std=gnu11 $(if $(SANITIZE),-g1,-g) $(OPTIMIZE) -fno-omit-frame-pointer $(WARNINGS_C) \
	$(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all)
LDFLAGS += $(if $(SANITIZE),-fsanitize=$(SANITIZE))
LIBS := -lbpf -ldw -lelf -lz -liberty -llzma -lcjson -lm

all: profile $(if $(SANITIZE),,$(BUILD)/libprofile_cupti.so)

# ---- what is made of what ----

symbolize_src := $(wildcard symbolize/*.c symbolize/util/*.c)
# the injection library shares with symbolize/ the readers of call frames, calls and Python, tables, paths and UTF-8
inject_src := $(filter-out cupti_trace/wire/gpu_wire_decode.c cupti_trace/wire/gpu_wire_scan.c,$(wildcard cupti_trace/*/*.c)) \
	$(addprefix symbolize/,call_site.c cfi.c cfi_program.c cfi_apply.c python_offsets.c python_frames.c \
	python_dict.c python_loop.c python_merge.c python_trampoline.c $(addprefix util/,array.c guarded_path.c hash.c hash_index.c record_set.c text.c))
profiler_src := $(wildcard profiler/*/*.c) \
	cupti_trace/wire/gpu_wire_decode.c cupti_trace/wire/gpu_wire_scan.c cupti_trace/wire/gpu_wire_encode.c \
	cupti_trace/wire/gpu_wire_fields.c cupti_trace/wire/node_run.c cupti_trace/wire/trace_config.c \
	cupti_trace/wire/work_tally.c

symbolize_obj := $(symbolize_src:%.c=$(BUILD)/%.o)
# these first: what callbacks look up at each launch is then on one page with what hot_path.h is about; last what launches
# seldom need, so that it does not lie between what they do
inject_first := cupti_trace/main/followed_functions.c cupti_trace/main/callback.c
inject_last := $(addprefix cupti_trace/,launch/call_probes.c launch/call_params.c launch/probes.c core/settings.c \
	wire/trace_config.c)
inject_obj := $(patsubst %.c,$(BUILD)/pic/%.o,$(inject_first) \
	$(filter-out $(inject_first) $(inject_last),$(inject_src)) $(inject_last))
# files that the command holds; the tests' programs link them without the injected library
blob_obj := $(addprefix $(BUILD)/profiler/,commands/completion_blob.o formats/svg_blob.o web/html_blob.o)
profiler_obj := $(profiler_src:%.c=$(BUILD)/%.o) $(BUILD)/profiler/attach/payload_blob.o $(blob_obj)

PROFILE := $(if $(SANITIZE),$(BUILD)/profile,profile)

$(PROFILE): $(BUILD)/profiler/main.o $(BUILD)/libprofiler.a $(BUILD)/libsymbolize.a
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

ifneq ($(SANITIZE),)
.PHONY: profile
profile: $(PROFILE)
endif

$(BUILD)/libsymbolize.a: $(symbolize_obj)
$(BUILD)/libprofiler.a: $(profiler_obj)
$(BUILD)/lib%.a:
	$(call msg,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/%.o: %.c Makefile
	$(call msg,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# The injection library: never sanitized, for it runs inside other people's programs. Its little
# thread-local storage is reached by descriptors, if the compiler knows them: a few instructions and
# no table where the loader has room for it in each thread's static block, which it usually has.
# Where it has not, glibc before 2.40 may lose vector registers, so the library uses none. Functions
# of others are called without a stub: it would be one cache line more at each launch.
DESCRIPTORS := -mtls-dialect=gnu2 -mgeneral-regs-only
DESCRIPTORS := $(shell echo 'int i;' | $(CC) $(DESCRIPTORS) -c -x c - -o /dev/null 2>/dev/null && \
	echo $(DESCRIPTORS))
INJECT_CFLAGS = $(filter-out -fsanitize%,$(filter-out -fno-sanitize%,$(CFLAGS))) -fPIC \
	-fvisibility=hidden -fno-plt -DPYTHON_FRAMES_MAX=256 $(DESCRIPTORS)
# have no such storage, but numbers with a fraction
$(addprefix $(BUILD)/pic/cupti_trace/,core/clock.o core/duty_schedule.o launch/stack_sampler.o hw/counter_output.o hw/counted_times.o): DESCRIPTORS :=
$(BUILD)/pic/%.o: %.c Makefile
	$(call msg,CC,$< (pic))
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(INJECT_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/libprofile_cupti.so: $(inject_obj) cupti_trace/exports.map
	$(call msg,LINK,$@)
	$(Q)$(CC) -shared -o $@ $(inject_obj) -Wl,--version-script=cupti_trace/exports.map \
		-Wl,-z,defs -Wl,-z,now -Wl,-z,nodelete -Wl,-z,noexecstack -pthread -ldl

# .incbin is not seen by -MMD: the embedded file is named here
$(BUILD)/profiler/attach/payload_blob.o: profiler/attach/payload_blob.S $(BUILD)/libprofile_cupti.so Makefile
	$(call msg,AS,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -DPAYLOAD_FILE='"$(BUILD)/libprofile_cupti.so"' -c -o $@ $<

$(BUILD)/profiler/commands/completion_blob.o: profiler/commands/completion_blob.S \
		$(wildcard profiler/commands/completion/*) Makefile
	$(call msg,AS,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -Wa,-Iprofiler/commands/completion -c -o $@ $<

$(BUILD)/profiler/formats/svg_blob.o: profiler/formats/svg_blob.S $(wildcard profiler/formats/svg/*) Makefile
	$(call msg,AS,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -DSVG_STYLE='"profiler/formats/svg/style.css"' \
		-DSVG_SCRIPT='"profiler/formats/svg/script.js"' -c -o $@ $<

# ---- the page of html reports ----

# in this order; what a script imports comes before it
page_scripts := $(addprefix profiler/web/html/,dom.js format.js data.js state.js spans.js kinds.js names.js tree.js own_code.js \
	callers.js tables.js group.js source.js timeline.js slices.js busy.js draw.js gestures.js export.js \
	details.js figures.js difference.js graph_pane.js flame_view.js \
	table_view.js \
	gaps.js timeline_rows.js timeline_panel.js timeline_view.js \
	source_view.js about_view.js overview_view.js main.js)
page_parts := profiler/web/html/index.html profiler/web/html/style.css $(page_scripts)

$(BUILD)/profiler/web/page.html: profiler/web/html/assemble $(page_parts) Makefile
	$(call msg,PAGE,$@)
	$(Q)mkdir -p $(@D)
	$(Q)profiler/web/html/assemble $(page_parts) > $@

$(BUILD)/profiler/web/html_blob.o: profiler/web/html_blob.S $(BUILD)/profiler/web/page.html Makefile
	$(call msg,AS,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -DPAGE_FILE='"$(BUILD)/profiler/web/page.html"' -c -o $@ $<

# ---- BPF ----

$(BUILD)/bpf/stacks.bpf.o: bpf/stacks.bpf.c $(wildcard bpf/*.h) Makefile
	$(call msg,BPF,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) -O2 -g -target bpf -D__TARGET_ARCH_x86 -Wall -I. -Ibpf -c -o $@ $<

$(BUILD)/bpf/stacks.skel.h: $(BUILD)/bpf/stacks.bpf.o
	$(call msg,SKEL,$@)
	$(Q)test -n "$(BPFTOOL)" || { echo "no working bpftool found; run scripts/setup" >&2; exit 1; }
	$(Q)$(BPFTOOL) gen skeleton $< name stacks > $@

$(BUILD)/profiler/sources/bpf_source.o: $(BUILD)/bpf/stacks.skel.h

# ---- tests, stand-ins, workloads ----

include tests/fake_cuda/rules.mk
include tests/workloads/rules.mk
include tests/hosts/rules.mk
include tests/rules.mk

# ---- for people ----

.PHONY: all demo setup check format docs-pictures clean install uninstall deb portable

setup:
	$(Q)scripts/setup

demo: setup
	$(Q)$(MAKE) --no-print-directory all workloads fake_cuda
	$(Q)scripts/demo

check:
	$(Q)scripts/check

# the pictures in docs/pictures, drawn of captures of real runs; that of the overview by Chromium
docs-pictures: profile
	$(Q)mkdir -p docs/pictures
	$(Q)for c in tests/captures/*.profile; do \
		./profile -q --from $$c --my-code -gpu-only -o docs/pictures/$$(basename $$c .profile).svg || exit 1; done
	$(Q)./profile -q --from tests/captures/h200_layers_graph.profile -o $(BUILD)/overview.html
	$(Q)node scripts/page_picture.mjs $(BUILD)/overview.html docs/pictures/overview.svg

format:
	$(Q)clang-format -i $$(git ls-files --cached --others --exclude-standard '*.c' '*.h' '*.cpp' '*.cu')

# A folder that runs on any x86-64 Linux with glibc 2.34: libraries static, libcjson beside it.
portable: $(BUILD)/portable/profile

# programs of tests/gpu/counters, to be brought along
.PHONY: counters_gpu
counters_gpu: $(BUILD)/portable/counters $(BUILD)/portable/counters_probe
$(BUILD)/portable/counters $(BUILD)/portable/counters_probe: $(BUILD)/portable/%: tests/gpu/%.cu
	$(call msg,NVCC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(NVCC) -std=c++17 -O2 -arch=$(GPU_ARCH) -o $@ $< $(if $(findstring probe,$@),-L$(CUDA_HOME)/lib64 \
		-L$(CUDA_HOME)/lib -L$(CUDA_HOME)/extras/CUPTI/lib64 -lcupti -lcuda)
$(BUILD)/portable/profile: $(BUILD)/profiler/main.o $(BUILD)/libprofiler.a $(BUILD)/libsymbolize.a
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -Wl,-rpath,'$$ORIGIN' \
		-Wl,-Bstatic -lbpf -ldw -lelf -lz -llzma -lbz2 -liberty -Wl,-Bdynamic -lcjson -lm
	$(Q)cp -L "$$($(CC) -print-file-name=libcjson.so.1)" $(@D)/

# ---- installing: make install [prefix=/usr/local] [DESTDIR=], and the same for uninstall ----

bindir ?= $(prefix)/bin
mandir ?= $(prefix)/share/man
docdir ?= $(prefix)/share/doc/profile
# profile looks for its library here, from its own folder: profiler/attach/injection.h
libdir ?= $(prefix)/lib/profile-injection
bashdir ?= $(prefix)/share/bash-completion/completions
zshdir ?= $(prefix)/share/zsh/site-functions
fishdir ?= $(prefix)/share/fish/vendor_completions.d

COMPLETIONS := $(addprefix $(BUILD)/completion/,bash zsh fish)
$(COMPLETIONS): $(BUILD)/completion/%: $(PROFILE)
	$(call msg,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)./$(PROFILE) --completion $* > $@

DOCS := $(wildcard docs/*.md docs/*.svg)
PICTURES := $(wildcard docs/pictures/*.svg)
SCRIPTS := $(wildcard docs/probes/*.bt)
RECIPES := $(wildcard docs/recipes/*)

install: $(PROFILE) $(COMPLETIONS)
	$(Q)install -D -m 755 $(PROFILE) $(DESTDIR)$(bindir)/profile
	$(Q)install -D -m 755 -t $(DESTDIR)$(libdir) build/libprofile_cupti.so
	$(Q)install -D -m 644 docs/profile.1 $(DESTDIR)$(mandir)/man1/profile.1
	$(Q)install -D -m 644 $(BUILD)/completion/bash $(DESTDIR)$(bashdir)/profile
	$(Q)install -D -m 644 $(BUILD)/completion/zsh $(DESTDIR)$(zshdir)/_profile
	$(Q)install -D -m 644 $(BUILD)/completion/fish $(DESTDIR)$(fishdir)/profile.fish
	$(Q)install -D -m 644 -t $(DESTDIR)$(docdir) README.md CHANGELOG.md CONTRIBUTING.md LICENSE
	$(Q)install -D -m 644 -t $(DESTDIR)$(docdir)/docs $(DOCS)
	$(Q)install -D -m 644 -t $(DESTDIR)$(docdir)/docs/pictures $(PICTURES)
	$(Q)install -D -m 644 -t $(DESTDIR)$(docdir)/docs/probes $(SCRIPTS)
	$(Q)install -D -m 644 -t $(DESTDIR)$(docdir)/docs/recipes $(RECIPES)

uninstall:
	$(Q)rm -f $(DESTDIR)$(bindir)/profile $(DESTDIR)$(mandir)/man1/profile.1 \
		$(DESTDIR)$(bashdir)/profile $(DESTDIR)$(zshdir)/_profile \
		$(DESTDIR)$(fishdir)/profile.fish $(DESTDIR)$(libdir)/libprofile_cupti.so \
		$(addprefix $(DESTDIR)$(docdir)/,README.md CHANGELOG.md CONTRIBUTING.md LICENSE $(DOCS) $(PICTURES) $(SCRIPTS) $(RECIPES))
	$(Q)rmdir --ignore-fail-on-non-empty $(DESTDIR)$(libdir) $(DESTDIR)$(docdir)/docs/pictures \
		$(DESTDIR)$(docdir)/docs/probes $(DESTDIR)$(docdir)/docs/recipes \
		$(DESTDIR)$(docdir)/docs $(DESTDIR)$(docdir) 2>/dev/null || true

# a Debian package: build/profile_VERSION_ARCHITECTURE.deb
deb: $(PROFILE) $(COMPLETIONS)
	$(Q)+scripts/deb

clean:
	rm -rf build profile

-include $(shell find build -name '*.d' -type f 2>/dev/null)
