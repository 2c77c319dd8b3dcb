# SPDX-License-Identifier: MIT
# The workloads, under $(BUILD)/tests/workloads: NAME links with the shared stand-in for cudart,
# NAME_static with the static one, and `make workloads_gpu` builds the launching ones with nvcc as
# NAME_gpu. Included from the top Makefile after tests/fake_cuda/rules.mk.
#
# -O1 with frame pointers and no tail calls: the stacks are the ones the sources show.

WORKLOADS_SRC := tests/workloads
WORKLOADS_DIR := $(BUILD)/tests/workloads

WORKLOADS_CUDA := inference launches durations forks device_reset pyramid gpu_work graphs waits \
	cupti_client exit_race deep_launches shares launch_shapes steady idle_gpu restless in_range alternating looping torch_host
# not for a GPU: what conditions say is the stand-in's own
WORKLOADS_FAKE := conditionals conditionals_frameless memory_use
WORKLOADS_STATIC := inference launches durations gpu_work graphs waits
WORKLOADS_PLAIN := attach_target blocked cpu_mix exits handlers in_step jit_program jit_reuse many_threads pools renamed rubbish secretive driver_api newer_cuda decompress stuck_file \
	stuck_memory

WORKLOADS_FLAGS := -O1 -g -pthread -fno-omit-frame-pointer -fno-optimize-sibling-calls \
	-Wall -Wextra -Wshadow $(if $(DEVELOPER),-Werror)
WORKLOADS_CFLAGS := -std=gnu11 -Wstrict-prototypes -Wmissing-prototypes $(WORKLOADS_FLAGS)
WORKLOADS_CXXFLAGS := -std=gnu++17 $(WORKLOADS_FLAGS)
# for programs built with nvcc; another one where there is no GPU
GPU_ARCH ?= native
NVCC ?= $(CUDA_HOME)/bin/nvcc
WORKLOADS_NVCCFLAGS := -x cu -std=c++17 -O1 -g -arch=$(GPU_ARCH) \
	-Xcompiler -fno-omit-frame-pointer,-fno-optimize-sibling-calls

# with NVTX ranges, and the stand-in's truth (truth.h)
WORKLOADS_NVTX := nvtx_ranges nvtx_steps nccl_calls dosed_steps foreign_steps

.PHONY: workloads workloads_gpu
workloads: $(WORKLOADS_DIR)/no_frame_pointers
workloads: $(addprefix $(WORKLOADS_DIR)/,$(WORKLOADS_CUDA) $(WORKLOADS_FAKE) $(WORKLOADS_PLAIN) \
	$(WORKLOADS_STATIC:%=%_static))
workloads: $(WORKLOADS_NVTX:%=$(WORKLOADS_DIR)/%) $(WORKLOADS_DIR)/libautograd_engine.so \
	$(WORKLOADS_DIR)/libtorch_operators.so $(WORKLOADS_DIR)/libtorch_operators_old.so $(addprefix $(WORKLOADS_DIR)/lib,probe_tracer.so still_clocks.so)
workloads_gpu: $(WORKLOADS_CUDA:%=$(WORKLOADS_DIR)/%_gpu)

$(WORKLOADS_DIR)/%.o: $(WORKLOADS_SRC)/%.c $(WORKLOADS_SRC)/rules.mk
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(WORKLOADS_CFLAGS) -MMD -MP -c -o $@ $<

$(WORKLOADS_DIR)/%.o: $(WORKLOADS_SRC)/%.cpp $(WORKLOADS_SRC)/rules.mk
	$(call msg,CXX,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(WORKLOADS_CXXFLAGS) -MMD -MP -c -o $@ $<

# the same program, without frame pointers
$(WORKLOADS_DIR)/conditionals_frameless.o: $(WORKLOADS_SRC)/conditionals.cpp $(WORKLOADS_SRC)/rules.mk
	$(call msg,CXX,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(WORKLOADS_CXXFLAGS) -fomit-frame-pointer -MMD -MP -c -o $@ $<

$(addprefix $(WORKLOADS_DIR)/,$(WORKLOADS_CUDA) $(WORKLOADS_FAKE)): $(WORKLOADS_DIR)/%: $(WORKLOADS_DIR)/%.o \
		$(FAKE_CUDA_DIR)/libcudart.so
	$(call msg,LINK,$@)
	$(Q)$(CXX) -pthread -o $@ $< -L$(FAKE_CUDA_DIR) -lcudart -ldl

$(WORKLOADS_STATIC:%=$(WORKLOADS_DIR)/%_static): $(WORKLOADS_DIR)/%_static: \
		$(WORKLOADS_DIR)/%.o $(FAKE_CUDA_DIR)/libcudart_static.a
	$(call msg,LINK,$@)
	$(Q)$(CXX) -pthread -o $@ $^ -ldl

$(WORKLOADS_PLAIN:%=$(WORKLOADS_DIR)/%): $(WORKLOADS_DIR)/%: $(WORKLOADS_DIR)/%.o
	$(call msg,LINK,$@)
	$(Q)$(CXX) -pthread -o $@ $< -ldl

$(WORKLOADS_NVTX:%=$(WORKLOADS_DIR)/%): $(WORKLOADS_DIR)/%: $(WORKLOADS_DIR)/%.o $(FAKE_CUDA_DIR)/libcudart.so \
		$(FAKE_CUDA_DIR)/libnvToolsExt.so.1
	$(call msg,LINK,$@)
	$(Q)$(CXX) -pthread -o $@ $< -L$(FAKE_CUDA_DIR) -lcudart -l:libnvToolsExt.so.1 -ldl

# PyTorch's stand-in; where its version is known is up to a test
TORCH_LIBRARY := $(WORKLOADS_DIR)/torch/lib/libtorch_cpu.so
# with the strings before C++11, as PyTorch's packages had up to 2.6
TORCH_LIBRARY_OLD := $(WORKLOADS_DIR)/torch_old/lib/libtorch_cpu.so
$(TORCH_LIBRARY_OLD) $(WORKLOADS_DIR)/libtorch_operators_old.so: WORKLOADS_CXXFLAGS += -D_GLIBCXX_USE_CXX11_ABI=0

$(TORCH_LIBRARY) $(TORCH_LIBRARY_OLD): $(addprefix $(WORKLOADS_SRC)/,torch/record_function.cpp torch/record_function.h rules.mk)
	$(call msg,CXX,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(WORKLOADS_CXXFLAGS) -fPIC -shared -Wl,-soname,libtorch_cpu.so -o $@ $<

$(WORKLOADS_DIR)/libtorch_operators.so $(WORKLOADS_DIR)/libtorch_operators_old.so: $(WORKLOADS_SRC)/torch_operators.cpp \
		$(WORKLOADS_SRC)/gpu.h $(FAKE_CUDA_DIR)/libcudart.so
	$(call msg,LINK,$@)
	$(Q)$(CXX) $(WORKLOADS_CXXFLAGS) -fPIC -shared -o $@ $< -L$(FAKE_CUDA_DIR) -lcudart \
		-L$(dir $(filter %/libtorch_cpu.so,$^)) -ltorch_cpu -ldl
$(WORKLOADS_DIR)/libtorch_operators.so: $(TORCH_LIBRARY)
$(WORKLOADS_DIR)/libtorch_operators_old.so: $(TORCH_LIBRARY_OLD)

$(WORKLOADS_DIR)/libautograd_engine.so: $(WORKLOADS_SRC)/autograd_engine.cpp \
		$(addprefix $(WORKLOADS_SRC)/,driver.h burn.h rules.mk)
	$(call msg,CXX,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(WORKLOADS_CXXFLAGS) -fPIC -shared -o $@ $< -ldl

$(addprefix $(WORKLOADS_DIR)/lib,probe_tracer.so still_clocks.so): $(WORKLOADS_DIR)/lib%.so: \
		$(WORKLOADS_SRC)/%.c $(WORKLOADS_SRC)/rules.mk
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(WORKLOADS_CFLAGS) -fPIC -shared -o $@ $< -ldl

$(WORKLOADS_DIR)/no_frame_pointers: $(WORKLOADS_SRC)/no_frame_pointers.cpp $(WORKLOADS_SRC)/burn.h \
		$(WORKLOADS_SRC)/rules.mk
	$(call msg,CXX,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -std=gnu++17 -O2 -fomit-frame-pointer -Wall -Wextra -Wshadow -o $@ $<

$(WORKLOADS_DIR)/%_gpu: $(WORKLOADS_SRC)/%.cpp $(addprefix $(WORKLOADS_SRC)/,gpu.h \
		burn.h ptx.h driver.h)
	$(call msg,NVCC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(NVCC) $(WORKLOADS_NVCCFLAGS) -o $@ $< -ldl

# most programs are built so; some of its functions have frame pointers all the same
$(WORKLOADS_DIR)/deep_launches.o: WORKLOADS_CXXFLAGS += -O2 -fomit-frame-pointer

-include $(wildcard $(WORKLOADS_DIR)/*.d)
