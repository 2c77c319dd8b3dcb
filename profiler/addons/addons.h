/* SPDX-License-Identifier: MIT */
/*
 * Passes events to the add-ons of a run (addon.h), in the order of their registration in addons.c.
 *
 * addons.c also registers the tables that add-ons fill (result_table.h).
 */
#ifndef PROFILER_ADDONS_ADDONS_H
#define PROFILER_ADDONS_ADDONS_H

#include "profiler/addons/addon.h"

#define ADDONS_MAX 9

/* Zero-initialise: none. */
struct addons {
	struct addon_parts parts; /* `parts.tables` points to `tables` */
	struct result_tables tables;
	struct addon_in_use {
		const struct addon *addon;
		void *state;
	} list[ADDONS_MAX];
	uint32_t count;
	/* true if any add-on does; set once, because each launch and operation asks */
	bool needs_threads, needs_devices, takes_off_cpu;
};

/* Begins the wanted add-ons. Returns 0 or -ENOMEM. */
int addons_begin(struct addons *addons, const struct addon_parts *parts);
void addons_release(struct addons *addons);

/* Each calls the add-ons' callback of its name. */
int addons_event(struct addons *addons, uint32_t process, const struct gpu_event *event,
		 const char *kernel);
void addons_remark(struct addons *addons, struct launch_stack launch, uint64_t remark);
void addons_operation(struct addons *addons, const struct addon_operation *operation);
bool addons_look_at(const struct addons *addons, const struct gpu_operation *operation);
void addons_stall(struct addons *addons, const struct gpu_operation *operation);
void addons_wait(struct addons *addons, uint32_t process, struct stack_id stack,
		 const struct gpu_event_wait *wait);
void addons_time(struct addons *addons, const struct thread_time *time);
void addons_off_cpu(struct addons *addons, const struct thread_time *time);
void addons_state(struct addons *addons, const char *gpu, const struct gpu_reading *reading);
void addons_begin_thread(struct addons *addons, uint32_t process, uint32_t tid, uint64_t time_ns);
void addons_end_thread(struct addons *addons, uint32_t process, uint32_t tid, uint64_t time_ns);
void addons_end_process(struct addons *addons, uint32_t process);
void addons_advance(struct addons *addons, uint64_t now_ns);
void addons_visit(struct addons *addons, const struct id_visitor *visitor);
void addons_forget(struct addons *addons, uint64_t before_ns);
/* Returns the latest time of all add-ons. */
uint64_t addons_whole_from(const struct addons *addons);
void addons_finish(struct addons *addons);
void addons_note(struct addons *addons, const struct profile_item *note);
void addons_complete(struct addons *addons, uint64_t from_ns, uint64_t to_ns);
void addons_show(const struct addons *addons, struct collected *collected);

#endif
