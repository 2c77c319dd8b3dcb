# SPDX-License-Identifier: MIT
# The CUDA stand-ins, under $(BUILD)/tests/fake_cuda. Included from the top Makefile, which sets
# BUILD, CC, AR, Q and the macro `msg`. They are built with flags of their own: a sanitizer or
# -static meant for the profiler must not reach libraries that are loaded into other processes.

FAKE_CUDA_SRC := tests/fake_cuda
FAKE_CUDA_DIR := $(BUILD)/tests/fake_cuda

FAKE_CUDA_DRIVER_OBJS := fake_driver driver_launch driver_memory memory module graph fake_timeline \
	totals fake_virtual_memory
FAKE_CUDA_CUPTI_OBJS := cupti fake_activity attributes fake_pc_sampling range_profiler \
	records
FAKE_CUDA_RUNTIME_OBJS := runtime runtime_init runtime_graph runtime_launch \
	runtime_memory

# Entry points begin with `push %rbp`, as NVIDIA's do: a frame pointer, no endbr64 before it, no
# early return ahead of it.
FAKE_CUDA_CFLAGS := -std=gnu11 -O1 -g -fPIC -fvisibility=hidden -pthread \
	-fno-omit-frame-pointer -fcf-protection=none -fno-shrink-wrap \
	-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	$(if $(DEVELOPER),-Werror)
# Stripped like NVIDIA's: only exported symbols have names. nodelete: they own threads and hooks.
FAKE_CUDA_LDFLAGS := -shared -pthread -Wl,-z,nodelete -Wl,-z,defs -Wl,-s

# CUPTI of other versions: FOLDER=API VERSION=SONAME. A folder has links to everything else, so that
# a program that runs with it on LD_LIBRARY_PATH finds no other libcupti.
FAKE_CUPTI_OTHERS := 11.8=18=libcupti.so.11.8 12.2=20=libcupti.so.12 12.4=22=libcupti.so.12 \
	12.9=27=libcupti.so.12 future=139900=libcupti.so.13
fake_cupti_parts = $(word $(2),$(subst =, ,$(1)))
FAKE_CUPTI_LIBS := $(foreach v,$(FAKE_CUPTI_OTHERS),\
	$(FAKE_CUDA_DIR)/$(call fake_cupti_parts,$(v),1)/$(call fake_cupti_parts,$(v),3))

# NVML is in folders of its own: most tests want none
FAKE_NVML_LIBS := $(foreach v,nvml old_nvml,$(FAKE_CUDA_DIR)/$(v)/libnvidia-ml.so.1)

FAKE_CUDA_LIBS := $(FAKE_CUPTI_LIBS) $(FAKE_NVML_LIBS) $(addprefix $(FAKE_CUDA_DIR)/,libcuda.so.1 libcupti.so.13 libcudart.so.13 \
	libcudart.so libcudart_static.a libprinter.so libnvToolsExt.so.1)

.PHONY: fake_cuda
fake_cuda: $(FAKE_CUDA_LIBS)

$(FAKE_CUDA_DIR)/%.o: $(FAKE_CUDA_SRC)/%.c $(FAKE_CUDA_SRC)/rules.mk
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(FAKE_CUDA_CFLAGS) -MMD -MP -c -o $@ $<

$(FAKE_CUDA_DIR)/static/%.o: $(FAKE_CUDA_SRC)/%.c $(FAKE_CUDA_SRC)/rules.mk
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(FAKE_CUDA_CFLAGS) -DFAKE_CUDART_STATIC -MMD -MP -c -o $@ $<

$(FAKE_CUDA_DIR)/libcuda.so.1: $(FAKE_CUDA_DRIVER_OBJS:%=$(FAKE_CUDA_DIR)/%.o)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(FAKE_CUDA_LDFLAGS) -Wl,-soname,$(@F) -o $@ $^ -ldl

$(FAKE_CUDA_DIR)/libcupti.so.13: $(FAKE_CUDA_CUPTI_OBJS:%=$(FAKE_CUDA_DIR)/%.o)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(FAKE_CUDA_LDFLAGS) -Wl,-soname,$(@F) -o $@ $^ -ldl

# $(1): folder, $(2): API version, $(3): soname
define fake_cupti
$(FAKE_CUDA_DIR)/$(1)/%.o: $(FAKE_CUDA_SRC)/%.c $(FAKE_CUDA_SRC)/rules.mk
	$$(call msg,CC,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(FAKE_CUDA_CFLAGS) -DFAKE_CUPTI_VERSION=$(2) -MMD -MP -c -o $$@ $$<

$(FAKE_CUDA_DIR)/$(1)/$(3): $(FAKE_CUDA_CUPTI_OBJS:%=$(FAKE_CUDA_DIR)/$(1)/%.o)
	$$(call msg,LINK,$$@)
	$$(Q)$$(CC) $$(FAKE_CUDA_LDFLAGS) -Wl,-soname,$(3) -o $$@ $$^ -ldl
	$$(Q)for l in libcuda.so.1 libcudart.so.13 libnvToolsExt.so.1; do \
		ln -sf ../$$$$l $$(@D)/$$$$l; done

-include $(wildcard $(FAKE_CUDA_DIR)/$(1)/*.d)
endef
$(foreach v,$(FAKE_CUPTI_OTHERS),$(eval $(call fake_cupti,$(call fake_cupti_parts,$(v),1),$(call \
	fake_cupti_parts,$(v),2),$(call fake_cupti_parts,$(v),3))))

$(FAKE_CUDA_DIR)/old_nvml/libnvidia-ml.so.1: private FAKE_CUDA_CFLAGS += -DFAKE_NVML_OLD
$(FAKE_NVML_LIBS): $(FAKE_CUDA_SRC)/fake_nvml.c profiler/run/nvml_abi.h $(FAKE_CUDA_SRC)/rules.mk
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(FAKE_CUDA_CFLAGS) -Wno-missing-prototypes $(FAKE_CUDA_LDFLAGS) \
		-Wl,-soname,$(@F) -o $@ $<

$(FAKE_CUDA_DIR)/libprinter.so: $(FAKE_CUDA_DIR)/printer.o
	$(call msg,LINK,$@)
	$(Q)$(CC) $(FAKE_CUDA_LDFLAGS) -o $@ $^ -ldl

$(FAKE_CUDA_DIR)/libnvToolsExt.so.1: $(FAKE_CUDA_DIR)/fake_nvtx.o
	$(call msg,LINK,$@)
	$(Q)$(CC) $(FAKE_CUDA_LDFLAGS) -Wl,-soname,$(@F) -o $@ $^ -ldl

$(FAKE_CUDA_DIR)/libcudart.so.13: $(FAKE_CUDA_RUNTIME_OBJS:%=$(FAKE_CUDA_DIR)/%.o) \
		$(FAKE_CUDA_SRC)/cudart.map
	$(call msg,LINK,$@)
	$(Q)$(CC) $(FAKE_CUDA_LDFLAGS) -Wl,-soname,$(@F) \
		-Wl,--version-script,$(FAKE_CUDA_SRC)/cudart.map -o $@ $(filter %.o,$^) -ldl

$(FAKE_CUDA_DIR)/libcudart.so: $(FAKE_CUDA_DIR)/libcudart.so.13
	$(Q)ln -sf $(<F) $@

$(FAKE_CUDA_DIR)/libcudart_static.a: $(FAKE_CUDA_RUNTIME_OBJS:%=$(FAKE_CUDA_DIR)/static/%.o)
	$(call msg,AR,$@)
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $^

-include $(wildcard $(FAKE_CUDA_DIR)/*.d $(FAKE_CUDA_DIR)/static/*.d)
