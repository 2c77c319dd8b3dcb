/* SPDX-License-Identifier: MIT */
/* Names the version that `profile --version` prints; see CHANGELOG.md. */
#ifndef PROFILER_BASE_VERSION_H
#define PROFILER_BASE_VERSION_H

#define PROFILE_VERSION "0.1.0"

#endif
