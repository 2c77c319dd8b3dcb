# SPDX-License-Identifier: MIT
# Awkward programs that the injection library must be a good guest in, under $(BUILD)/tests/hosts.
# The first lines of each say what it does and what it must give. Included from the top Makefile
# after tests/workloads/rules.mk.

HOSTS_SRC := tests/hosts
HOSTS_DIR := $(BUILD)/tests/hosts
HOSTS := $(patsubst $(HOSTS_SRC)/%.cpp,%,$(filter-out %_plugin.cpp,$(wildcard $(HOSTS_SRC)/*.cpp)))
HOSTS_HEADERS := tests/workloads/gpu.h $(wildcard $(HOSTS_SRC)/*.h)
HOSTS_PLUGINS := $(patsubst $(HOSTS_SRC)/%.cpp,%,$(wildcard $(HOSTS_SRC)/*_plugin.cpp))

# with a sanitizer, where the compiler has its runtime; and in Go, where that is
HOSTS_SANITIZED := $(addprefix short_threads_,address thread)
HOSTS_GO := $(if $(shell command -v go),cgo)

# for a real GPU, under the same names
HOSTS_GPU_DIR := $(HOSTS_DIR)/gpu
HOSTS_NVCCFLAGS := $(WORKLOADS_NVCCFLAGS) -cudart shared -Xcompiler -pthread

.PHONY: hosts hosts_gpu
hosts_gpu: $(addprefix $(HOSTS_GPU_DIR)/,$(HOSTS) $(HOSTS_PLUGINS:%=%.so))
hosts: $(addprefix $(HOSTS_DIR)/,$(HOSTS) $(HOSTS_PLUGINS:%=%.so) $(HOSTS_SANITIZED) $(HOSTS_GO))
workloads: hosts

# a library with a symbol that is to be unique in the process is never unloaded
$(HOSTS_DIR)/%_plugin.so: $(HOSTS_SRC)/%_plugin.cpp $(HOSTS_HEADERS) $(FAKE_CUDA_DIR)/libcudart.so \
		$(HOSTS_SRC)/rules.mk
	$(call msg,CXX,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(WORKLOADS_CXXFLAGS) -fPIC -fno-gnu-unique -shared -o $@ $< -L$(FAKE_CUDA_DIR) -lcudart

# with a copy of libcudart in it, whose symbols are its own
$(HOSTS_DIR)/many_ways_plugin.so: $(HOSTS_SRC)/many_ways_plugin.cpp $(HOSTS_HEADERS) \
		$(FAKE_CUDA_DIR)/libcudart_static.a $(HOSTS_SRC)/rules.mk
	$(call msg,CXX,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(WORKLOADS_CXXFLAGS) -fPIC -fno-gnu-unique -shared -o $@ $< $(FAKE_CUDA_DIR)/libcudart_static.a \
		-Wl,--exclude-libs,ALL -ldl

$(HOSTS_DIR)/%: $(HOSTS_SRC)/%.cpp $(HOSTS_HEADERS) $(FAKE_CUDA_DIR)/libcudart.so \
		$(HOSTS_SRC)/rules.mk
	$(call msg,CXX,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(WORKLOADS_CXXFLAGS) -o $@ $< -L$(FAKE_CUDA_DIR) -lcudart -ldl $(HOSTS_LDFLAGS)

# as programs are linked that want their text in huge pages: segments do not touch
$(HOSTS_DIR)/moves_text: HOSTS_LDFLAGS := -Wl,-z,max-page-size=0x200000

# is also run with a user's rights of its own, where LD_LIBRARY_PATH does not count
$(HOSTS_DIR)/executes: HOSTS_LDFLAGS := -Wl,--disable-new-dtags,-rpath,$(abspath $(FAKE_CUDA_DIR))

$(HOSTS_SANITIZED:%=$(HOSTS_DIR)/%): $(HOSTS_DIR)/short_threads_%: $(HOSTS_SRC)/short_threads.cpp \
		$(HOSTS_HEADERS) $(FAKE_CUDA_DIR)/libcudart.so $(HOSTS_SRC)/rules.mk
	$(call msg,CXX,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(WORKLOADS_CXXFLAGS) -fsanitize=$* -o $@ $< -L$(FAKE_CUDA_DIR) -lcudart 2>$@.log || \
		printf '  %-8s %s\n' SKIP '$@: see $@.log'

$(HOSTS_DIR)/cgo: $(HOSTS_SRC)/cgo.go $(HOSTS_DIR)/cgo_plugin.so
	$(call msg,GO,$@)
	$(Q)GO111MODULE=off CGO_ENABLED=1 GOFLAGS= GOCACHE=$(abspath $(BUILD))/go \
		CGO_LDFLAGS="-L$(abspath $(HOSTS_DIR)) -L$(abspath $(FAKE_CUDA_DIR))" \
		go build -o $@ $< 2>$@.log || printf '  %-8s %s\n' SKIP '$@: see $@.log'

$(HOSTS_GPU_DIR)/many_ways_plugin.so: HOSTS_NVCCFLAGS := $(subst -cudart shared,-cudart static,$(HOSTS_NVCCFLAGS))
$(HOSTS_GPU_DIR)/%_plugin.so: $(HOSTS_SRC)/%_plugin.cpp $(HOSTS_HEADERS) $(HOSTS_SRC)/rules.mk
	$(call msg,NVCC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(NVCC) $(HOSTS_NVCCFLAGS) -shared -Xcompiler -fPIC,-fno-gnu-unique -o $@ $<

$(HOSTS_GPU_DIR)/%: $(HOSTS_SRC)/%.cpp $(HOSTS_HEADERS) $(HOSTS_SRC)/rules.mk
	$(call msg,NVCC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(NVCC) $(HOSTS_NVCCFLAGS) -o $@ $< -ldl
