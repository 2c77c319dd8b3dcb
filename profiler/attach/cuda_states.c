// SPDX-License-Identifier: MIT
#include "profiler/attach/cuda_states.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cupti_trace/wire/gpu_wire.h"
#include "symbolize/util/array.h"
#include "symbolize/util/monotonic.h"
#include "symbolize/util/proc_file.h"

void cuda_states_release(struct cuda_states *s)
{
	free(s->list);
	id_map_release(&s->by_id);
	*s = (struct cuda_states){0};
}

struct cuda_state *cuda_states_get(struct cuda_states *s, uint32_t id, pid_t pid)
{
	static struct cuda_state lost;
	uint64_t *at = id_map_find(&s->by_id, id);

	if (at)
		return &s->list[*at];
	lost = (struct cuda_state){.id = id, .pid = pid};
	if (!array_make_room(&s->list, s->count, &s->capacity, sizeof(*s->list)))
		return &lost;
	at = id_map_get(&s->by_id, id);
	if (!at)
		return &lost;
	*at = s->count;
	s->list[s->count] = lost;
	return &s->list[s->count++];
}

bool cuda_states_was_injected(const struct cuda_states *s, pid_t pid)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->list[i].was_injected && s->list[i].pid == pid)
			return true;
	return false;
}

void cuda_state_note_hello(struct cuda_state *state)
{
	state->stage = LIBRARY_HELLO;
	state->delays_recording = false;
}

void cuda_state_arrive(struct cuda_state *state)
{
	if (state->stage == LIBRARY_ABSENT)
		state->stage = LIBRARY_ARRIVED;
}

void cuda_state_give_up(struct cuda_state *state)
{
	if (state->stage == LIBRARY_ARRIVED)
		state->stage = LIBRARY_ABSENT;
	state->delays_recording = false;
}

uint32_t cuda_states_count_missed(const struct cuda_states *s)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < s->count; i++)
		count += s->list[i].may_miss && s->list[i].may_use_cuda &&
			 s->list[i].stage != LIBRARY_HELLO;
	return count;
}

/* ---- libraries that cannot begin ---- */

/* Reads the thread's name. Returns true if the library gives it to its starting thread. */
static bool is_beginner(pid_t pid, pid_t tid, char comm[64])
{
	if (!proc_thread_read(pid, tid, "comm", comm, 64))
		return false;
	comm[strcspn(comm, "\n")] = '\0';
	return strcmp(comm, GPU_WIRE_SEARCHING) == 0 || strcmp(comm, GPU_WIRE_IN_CUPTI) == 0;
}

static pid_t find_beginner(pid_t pid)
{
	const struct dirent *entry;
	char path[64], comm[64];
	pid_t found = 0;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	folder = opendir(path);
	while (folder && !found && (entry = readdir(folder))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0 && is_beginner(pid, tid, comm))
			found = tid;
	}
	if (folder)
		closedir(folder);
	return found;
}

/* Returns true if the thread does not run, and CUPTI is not the reason. */
static bool rests(struct library_thread *t, pid_t pid)
{
	char comm[64], ran[64] = "", state;
	bool has_run;

	if (!is_beginner(pid, t->tid, comm))
		return true;
	state = proc_thread_state(pid, t->tid);
	if (!state || state == 'T' || state == 't')
		return true;
	/* kernels without schedstat do not tell; assume that it ran */
	has_run = !proc_thread_read(pid, t->tid, "schedstat", ran, sizeof(ran)) ||
		  strcmp(ran, t->ran) != 0;
	snprintf(t->ran, sizeof(t->ran), "%s", ran);
	return !has_run && strcmp(comm, GPU_WIRE_SEARCHING) == 0 && state != 'R';
}

bool cuda_state_is_stuck(struct cuda_state *state)
{
	struct library_thread *t = &state->thread;
	uint64_t now = monotonic_ns(), passed_ns;

	if (!t->looked_ns)
		t->looked_ns = now;
	passed_ns = now - t->looked_ns;
	if (passed_ns < LIBRARY_LOOK_NS)
		return false;
	t->looked_ns = now;
	if (!t->tid)
		t->tid = find_beginner(state->pid);
	/* cap the step: if our own thread is late, the machine is busy */
	t->rested_ns += passed_ns < 2 * LIBRARY_LOOK_NS ? passed_ns : 2 * LIBRARY_LOOK_NS;
	if (t->tid && !rests(t, state->pid))
		t->rested_ns = 0;
	return t->rested_ns >= LIBRARY_STUCK_NS;
}
