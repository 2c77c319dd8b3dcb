/* SPDX-License-Identifier: MIT */
/*
 * The character devices that a process has open once it has used the GPU, in whatever /dev:
 * NVIDIA's control device (/dev/nvidiactl, number 195:255, which is assigned in the kernel's
 * admin-guide/devices.txt; its driver's NV_CONTROL_DEVICE_MINOR), and /dev/dxg of WSL 2, whose
 * minor number among the "misc" devices differs. Measured with driver 580: cuInit opens the first
 * one once, so does NVML; both keep it open, and close it in programs that they execute. Loading
 * libcuda opens nothing, and where cuInit finds no device nothing stays open.
 */
#ifndef PROFILER_BASE_GPU_DEVICES_H
#define PROFILER_BASE_GPU_DEVICES_H

#include <stdint.h>

/* As the kernel numbers them: MAJOR << 20 | MINOR; 0: none. */
#define GPU_DEVICES 2
struct gpu_devices {
	uint32_t ids[GPU_DEVICES];
};

#define GPU_DEVICE_ID(major, minor) ((uint32_t)(major) << 20 | (uint32_t)(minor))

/* Returns those of this machine, of which WSL's is only where it is listed in /proc/misc. */
struct gpu_devices gpu_devices_read(void);

/* Returns the id of the device of that name in the text of /proc/misc; 0: it is not there. */
uint32_t gpu_devices_find_misc(const char *text, const char *name);

#endif
