// SPDX-License-Identifier: MIT
#include "profiler/run/gpu_watch.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "profiler/run/nvml.h"
#include "symbolize/util/monotonic.h"
#include "symbolize/util/text.h"

#define LOOK_NS 100000000u
#define MESSAGES_A_LOOK 256
#define ANSWER_NS 1000000000u /* loading takes less, and two readings */
#define COST_FACTOR 50u       /* a reading is followed by so many times its time */

/* A request is a UUID of DEVICE_UUID_BYTES. GPUs have numbers in the order of requests. */
struct message {
	uint32_t is_reading; /* else `why` */
	uint32_t gpu;
	union {
		struct gpu_reading reading;
		char why[NVML_WHY_BYTES];
	};
};
_Static_assert(sizeof(struct message) == GPU_WATCH_MESSAGE_BYTES, "messages have one size");

/* ---- in the helper ---- */

struct service {
	int socket;
	struct nvml nvml;
	struct nvml_gpu gpus[GPU_WATCH_GPUS];
	struct gpu_reading unsent[GPU_WATCH_GPUS]; /* energy and bytes not sent yet */
	bool is_found[GPU_WATCH_GPUS];
	uint32_t count;
	uint64_t next_ns;
};

static int send_message(const struct service *s, const struct message *message)
{
	return send(s->socket, message, sizeof(*message), MSG_NOSIGNAL | MSG_DONTWAIT) ==
			       (ssize_t)sizeof(*message)
		       ? 0
		       : -errno;
}

static bool begin_service(struct service *s, pthread_mutex_t *loading, struct message *failure)
{
	bool is_loaded;

	pthread_mutex_lock(loading);
	is_loaded = nvml_load(&s->nvml, failure->why);
	pthread_mutex_unlock(loading);
	/* NVML may hang here: other services must not wait for it */
	return is_loaded && nvml_begin(&s->nvml, failure->why);
}

/* Takes a request. Returns false at the end of the connection. */
static bool take_request(struct service *s)
{
	struct message failure = {.gpu = s->count};
	char uuid[DEVICE_UUID_BYTES];

	if (recv(s->socket, uuid, sizeof(uuid), MSG_WAITALL) != (ssize_t)sizeof(uuid) ||
	    s->count == GPU_WATCH_GPUS)
		return false;
	uuid[sizeof(uuid) - 1] = '\0';
	s->is_found[s->count] = nvml_find(&s->nvml, uuid, &s->gpus[s->count], failure.why);
	if (!s->is_found[s->count])
		send_message(s, &failure);
	s->count++;
	return true;
}

/* Adds what a reading that was not sent has of energy and bytes. */
static void add_unsent(struct gpu_reading *r, const struct gpu_reading *unsent)
{
	if (!unsent->end_ns)
		return;
	r->start_ns = unsent->start_ns;
	r->energy_mj += unsent->energy_mj;
	r->pcie_sent += unsent->pcie_sent;
	r->pcie_received += unsent->pcie_received;
	r->nvlink_sent += unsent->nvlink_sent;
	r->nvlink_received += unsent->nvlink_received;
}

static void read_gpu(struct service *s, uint32_t gpu)
{
	struct message message = {.is_reading = true, .gpu = gpu};

	if (!s->is_found[gpu] || !nvml_read(&s->nvml, &s->gpus[gpu], &message.reading))
		return;
	add_unsent(&message.reading, &s->unsent[gpu]);
	s->unsent[gpu] = (struct gpu_reading){.end_ns = 0};
	if (send_message(s, &message) == -EAGAIN)
		s->unsent[gpu] = message.reading;
}

static void read_gpus(struct service *s)
{
	uint64_t from_ns = monotonic_ns(), now_ns, period_ns = GPU_WATCH_MS * UINT64_C(1000000);

	for (uint32_t i = 0; i < s->count; i++)
		read_gpu(s, i);
	now_ns = monotonic_ns();
	if ((now_ns - from_ns) * COST_FACTOR > period_ns)
		period_ns = (now_ns - from_ns) * COST_FACTOR;
	s->next_ns += period_ns;
	if (s->next_ns < now_ns) /* late */
		s->next_ns = now_ns + period_ns;
}

void gpu_watch_serve(int socket, pthread_mutex_t *loading)
{
	struct service s = {.socket = socket};
	struct message failure = {.gpu = 0};
	bool goes_on = true;

	if (!begin_service(&s, loading, &failure)) {
		send_message(&s, &failure);
		return;
	}
	s.next_ns = monotonic_ns();
	while (goes_on) {
		struct pollfd asked = {.fd = socket, .events = POLLIN};
		uint64_t now_ns = monotonic_ns();
		struct timespec left = {0, 0};

		if (s.next_ns > now_ns) {
			left.tv_sec = (time_t)((s.next_ns - now_ns) / 1000000000u);
			left.tv_nsec = (long)((s.next_ns - now_ns) % 1000000000u);
		}
		if (ppoll(&asked, 1, &left, NULL) > 0)
			goes_on = take_request(&s);
		else
			read_gpus(&s);
	}
}

/* ---- in profile: GPUs ---- */

static bool is_asked(const struct gpu_watch *w, const char *uuid)
{
	for (uint32_t i = 0; i < w->count; i++)
		if (strcmp(w->gpus[i].uuid, uuid) == 0)
			return true;
	return false;
}

static void end(struct gpu_watch *w)
{
	if (w->is_connected)
		close(w->socket);
	w->is_connected = false;
	w->is_over = true;
}

static void ask(struct gpu_watch *w, struct collect *c, struct log *log, const char *uuid)
{
	struct gpu_watched *asked = &w->gpus[w->count];

	if (!w->is_connected) {
		w->socket = w->connector.connect(w->connector.context);
		w->is_connected = w->socket >= 0;
	}
	snprintf(asked->uuid, sizeof(asked->uuid), "%s", uuid);
	asked->gpu = collect_text(c, uuid);
	if (!asked->gpu || !w->is_connected ||
	    send(w->socket, asked->uuid, sizeof(asked->uuid), MSG_NOSIGNAL | MSG_DONTWAIT) !=
		    (ssize_t)sizeof(asked->uuid)) {
		log_verbose(log, "the state of GPUs is not recorded: profile-helper has ended");
		end(w);
		return;
	}
	w->count++;
}

/* Asks for the GPUs that have a UUID and work. */
static void ask_for_used(struct gpu_watch *w, struct collect *c, struct log *log)
{
	const struct devices *devices = collect_results(c).devices;
	char uuid[DEVICE_UUID_BYTES];

	for (uint32_t i = 0; i < devices->count && !w->is_over && w->count < GPU_WATCH_GPUS; i++) {
		const struct device *device = &devices->list[i];

		if (device->first != i || !device->is_referred_to || !device_has_uuid(device))
			continue;
		device_uuid(device, uuid);
		if (!is_asked(w, uuid))
			ask(w, c, log, uuid);
	}
}

/* ---- in profile: readings ---- */

/* Takes a message of the helper, which is not trusted. Returns false if it is impossible. */
static bool take(struct gpu_watch *w, struct collect *c, struct log *log)
{
	struct message message;

	memcpy(&message, w->message, sizeof(message));
	if (!message.is_reading) {
		message.why[sizeof(message.why) - 1] = '\0';
		clean_text(message.why);
		log_verbose(log, "the state of GPUs is not recorded: %s", message.why);
		w->has_answer = true;
		return ++w->reasons <= GPU_WATCH_GPUS;
	}
	if (message.gpu >= w->count || !gpu_reading_is_sane(&message.reading) ||
	    message.reading.end_ns > monotonic_ns())
		return false;
	w->has_answer = true;
	collect_gpu_state(c, w->gpus[message.gpu].gpu, &message.reading);
	return true;
}

static void receive(struct gpu_watch *w, struct collect *c, struct log *log)
{
	for (int i = 0; i < MESSAGES_A_LOOK && w->is_connected; i++) {
		ssize_t n = recv(w->socket, w->message + w->used, sizeof(w->message) - w->used,
				 MSG_DONTWAIT);

		if (n < 0)
			return;
		w->used += (uint32_t)n;
		if (n == 0) {
			if (!w->reasons)
				log_verbose(log, "the state of GPUs is recorded no longer: "
						 "profile-helper has ended");
			end(w);
		} else if (w->used == sizeof(w->message)) {
			w->used = 0;
			if (!take(w, c, log))
				end(w);
		}
	}
}

void gpu_watch_look(struct gpu_watch *w, struct collect *c, struct log *log, uint64_t now_ns)
{
	if (!w->connector.connect || w->is_over || now_ns < w->look_ns)
		return;
	w->look_ns = now_ns + LOOK_NS;
	if (!w->count)
		w->asked_ns = now_ns;
	ask_for_used(w, c, log);
	receive(w, c, log);
}

void gpu_watch_end(struct gpu_watch *w, struct collect *c, struct log *log, uint64_t now_ns)
{
	if (!w->connector.connect || w->is_over)
		return;
	receive(w, c, log);
	if (w->count && !w->has_answer && now_ns - w->asked_ns > ANSWER_NS)
		log_verbose(log, "the state of GPUs is not recorded: NVML has not answered");
	end(w);
}
