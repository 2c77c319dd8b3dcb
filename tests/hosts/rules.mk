# SPDX-License-Identifier: MIT
# Awkward programs that the injection library must be a good guest in, under $(BUILD)/tests/hosts.
# The first lines of each say what it does and what it must give. Included from the top Makefile
# after tests/workloads/rules.mk.

HOSTS_SRC := tests/hosts
HOSTS_DIR := $(BUILD)/tests/hosts
HOSTS := $(patsubst $(HOSTS_SRC)/%.cpp,%,$(filter-out %_plugin.cpp,$(wildcard $(HOSTS_SRC)/*.cpp)))
HOSTS_PLUGINS := $(patsubst $(HOSTS_SRC)/%.cpp,%,$(wildcard $(HOSTS_SRC)/*_plugin.cpp))

.PHONY: hosts
hosts: $(HOSTS:%=$(HOSTS_DIR)/%) $(HOSTS_PLUGINS:%=$(HOSTS_DIR)/%.so)
workloads: hosts

$(HOSTS_DIR)/%_plugin.so: $(HOSTS_SRC)/%_plugin.cpp tests/workloads/gpu.h $(FAKE_CUDA_DIR)/libcudart.so \
		$(HOSTS_SRC)/rules.mk
	$(call msg,CXX,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(WORKLOADS_CXXFLAGS) -fPIC -shared -o $@ $< -L$(FAKE_CUDA_DIR) -lcudart

$(HOSTS_DIR)/%: $(HOSTS_SRC)/%.cpp tests/workloads/gpu.h $(FAKE_CUDA_DIR)/libcudart.so \
		$(HOSTS_SRC)/rules.mk
	$(call msg,CXX,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(WORKLOADS_CXXFLAGS) -o $@ $< -L$(FAKE_CUDA_DIR) -lcudart -ldl
