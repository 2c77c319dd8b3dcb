/* SPDX-License-Identifier: MIT */
/*
 * Finds the character devices that a process has open after using the GPU.
 *
 * The first is NVIDIA's control device, /dev/nvidiactl. Its number is 195:255 (the kernel's
 * admin-guide/devices.txt; NV_CONTROL_DEVICE_MINOR of the driver). The second is /dev/dxg of WSL 2,
 * whose "misc" minor number varies.
 *
 * Measured with driver 580: cuInit and NVML each open the control device once. Both keep it open,
 * and close it on exec. Loading libcuda opens nothing. If cuInit finds no device, nothing stays
 * open.
 */
#ifndef PROFILER_BASE_GPU_DEVICES_H
#define PROFILER_BASE_GPU_DEVICES_H

#include <stdint.h>

/* Kernel device numbers: MAJOR << 20 | MINOR; 0 if there is none. */
#define GPU_DEVICES 2
struct gpu_devices {
	uint32_t ids[GPU_DEVICES];
};

#define GPU_DEVICE_ID(major, minor) ((uint32_t)(major) << 20 | (uint32_t)(minor))

/* Returns the devices of this machine. WSL's device is included if /proc/misc lists it. */
struct gpu_devices gpu_devices_read(void);

/* Returns the id of the named device in the text of /proc/misc, or 0 if it is not listed. */
uint32_t gpu_devices_find_misc(const char *text, const char *name);

#endif
