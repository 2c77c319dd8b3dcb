/* SPDX-License-Identifier: MIT */
/* The version, as `profile --version` prints it; see CHANGELOG.md. */
#ifndef PROFILER_COMMANDS_VERSION_H
#define PROFILER_COMMANDS_VERSION_H

#define PROFILE_VERSION "0.1.0"

#endif
