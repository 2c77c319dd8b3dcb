/* SPDX-License-Identifier: MIT */
/* Names of NCCL's ranges by their payloads. */
#include "unit.h"
#include <pthread.h>
#include "cupti_trace/launch/nccl_calls.h"
#include "cupti_trace/launch/nvtx_names.h"

#define COMM 0x3f2a91c000000007u
#define OTHER 0x0000beef00000007u

enum { INT = 5, UINT64 = 18, SIZE = 22, REDOP = (1 << 24) + 24 };
enum { INIT = 100, INIT_ALL, SPLIT, ALL_REDUCE, SEND, RECV, SIGNAL };

struct init {
	uint64_t comm;
	int ranks, rank;
};
struct split {
	uint64_t comm, parent;
	int ranks, rank, color;
};
struct call {
	uint64_t comm, bytes;
	int other; /* operation or peer */
};

static uint32_t domain;

#define E(t, n, o)                                      \
	{                                               \
		.type = (t), .name = (n), .offset = (o) \
	}

static void register_as(uint64_t id, size_t size, const struct nvtx_abi_entry *entries,
			size_t count)
{
	const struct nvtx_abi_schema schema = {.fields = NVTX_ABI_SCHEMA_HAS_ID |
							 NVTX_ABI_SCHEMA_HAS_SIZE,
					       .entries = entries,
					       .entry_count = count,
					       .size = size,
					       .id = id};

	nccl_calls_schema(domain, id, &schema);
}

#define SCHEMA(id, size, ...)                                               \
	register_as(id, size, (const struct nvtx_abi_entry[]){__VA_ARGS__}, \
		    sizeof((const struct nvtx_abi_entry[]){__VA_ARGS__}) /  \
			    sizeof(struct nvtx_abi_entry))

static void register_all(void)
{
	SCHEMA(INIT, sizeof(struct init), E(UINT64, "NCCL communicator ID", 0),
	       E(INT, "No. of ranks", 8), E(INT, "Rank", 12));
	SCHEMA(INIT_ALL, sizeof(struct init), E(UINT64, "NCCL communicator ID", 0),
	       E(INT, "No. of devices", 8));
	SCHEMA(SPLIT, sizeof(struct split), E(UINT64, "NCCL communicator ID", 0),
	       E(UINT64, "Parent NCCL communicator ID", 8), E(INT, "No. of ranks", 16),
	       E(INT, "Rank", 20), E(INT, "Color", 24));
	SCHEMA(ALL_REDUCE, sizeof(struct call), E(UINT64, "NCCL communicator ID", 0),
	       E(SIZE, "Message size [bytes]", 8), E(REDOP, "Reduction operation", 16));
	SCHEMA(SEND, sizeof(struct call), E(UINT64, "NCCL communicator ID", 0), E(SIZE, "Bytes", 8),
	       E(INT, "Peer rank", 16));
	SCHEMA(SIGNAL, sizeof(struct call), E(UINT64, "NCCL communicator ID", 0),
	       E(INT, "Peer rank", 16));
}

static int set_up(void **state)
{
	(void)state;
	nvtx_names_forget();
	nccl_calls_forget();
	domain = nvtx_domain("NCCL");
	nccl_calls_domain("NCCL", domain);
	register_all();
	return 0;
}

static const char *named(const char *function, uint64_t schema, const void *data, size_t size)
{
	const struct nvtx_abi_payload payload = {.schema = schema, .size = size, .data = data};

	return nvtx_name_text(
		nccl_calls_name(domain, nvtx_name(domain, function, 0), &payload, schema ? 1 : 0));
}

#define expect_named(expected, function, schema, data) \
	assert_string_equal(named(function, schema, data, sizeof(*(data))), expected)

static void end(uint64_t schema, const void *data, size_t size)
{
	const struct nvtx_abi_payload payload = {.schema = schema, .size = size, .data = data};

	nccl_calls_end(&payload, 1);
}

static const char *plain(const char *function)
{
	return named(function, 0, NULL, 0);
}

static void call_in_group(const char *function, uint64_t schema, uint64_t comm, uint64_t bytes,
			  int other)
{
	const struct call call = {comm, bytes, other};

	named(function, schema, &call, sizeof(call));
}

static void sizes_operations_and_peers(void **state)
{
	const struct call whole = {COMM, 64 << 20, 0}, odd = {COMM, 12345, 3}, none = {0, 0, 1000};

	(void)state;
	expect_named("ncclAllReduce 64 MiB sum, comm 3f2a91c0", "ncclAllReduce", ALL_REDUCE,
		     &whole);
	expect_named("ncclAllReduce 12345 B min, comm 3f2a91c0", "ncclAllReduce", ALL_REDUCE, &odd);
	expect_named("ncclAllReduce 0 B", "ncclAllReduce", ALL_REDUCE, &none);
	expect_named("ncclSend 12345 B to 3, comm 3f2a91c0", "ncclSend", SEND, &odd);
	expect_named("ncclRecv 12345 B from 3, comm 3f2a91c0", "ncclRecv", SEND, &odd);
	expect_named("ncclSignal", "ncclSignal", SIGNAL, &odd);
	expect_named("ncclAllReduce", "ncclAllReduce", 999, &odd);
	expect_named("ncclSend 3 GiB", "ncclSend", SEND,
		     (&(const struct call){0, UINT64_C(3) << 30, -1}));
	expect_named("ncclSend 5120 GiB", "ncclSend", SEND,
		     (&(const struct call){0, UINT64_C(5) << 40, -1}));
	assert_string_equal(plain("ncclCommCount"), "ncclCommCount");
}

static void ranks_of_communicators(void **state)
{
	const struct init first = {COMM, 8, 3}, second = {COMM, 8, 4}, bad = {OTHER, -1, 0},
			  all = {OTHER, 2, 0};
	const struct split split = {OTHER, COMM, 16, 3, 1};
	const struct call here = {COMM, 1024, 0}, there = {OTHER, 1024, 0};

	(void)state;
	end(INIT, &first, sizeof(first));
	end(INIT, &first, sizeof(first));
	expect_named("ncclAllReduce 1 KiB sum, 8 ranks, comm 3f2a91c0", "ncclAllReduce", ALL_REDUCE,
		     &here);
	end(INIT, &second, sizeof(second));
	expect_named("ncclAllReduce 1 KiB sum, 8 ranks, several here, comm 3f2a91c0",
		     "ncclAllReduce", ALL_REDUCE, &here);
	/* a split communicator's payload has the ranks of its parent */
	end(SPLIT, &split, sizeof(split));
	end(INIT, &bad, sizeof(bad));
	expect_named("ncclAllReduce 1 KiB sum, comm 0000beef", "ncclAllReduce", ALL_REDUCE, &there);
	expect_named("ncclAllReduce 1 KiB sum, 16 ranks, several here, comm 3f2a91c0",
		     "ncclAllReduce", ALL_REDUCE, &here);
	/* a payload may also come when the range opens */
	expect_named("ncclCommInitAll", "ncclCommInitAll", INIT_ALL, &all);
	expect_named("ncclAllReduce 1 KiB sum, 2 ranks, several here, comm 0000beef",
		     "ncclAllReduce", ALL_REDUCE, &there);
}

static void groups_list_their_calls(void **state)
{
	const struct init init = {COMM, 2, 0};

	(void)state;
	end(INIT, &init, sizeof(init));
	assert_string_equal(plain("ncclGroupEnd"), "ncclGroupEnd"); /* none is open */
	plain("ncclGroupStart");
	assert_string_equal(plain("ncclGroupEnd"), "ncclGroupEnd"); /* an empty one */
	plain("ncclGroupStart");
	call_in_group("ncclSend", SEND, COMM, 4096, 1);
	plain("ncclGroupStart");
	call_in_group("ncclRecv", SEND, COMM, 4096, 1);
	assert_string_equal(plain("ncclGroupEnd"), "ncclGroupEnd");
	call_in_group("ncclRecv", SEND, COMM, 4097, 0);
	assert_string_equal(plain("ncclGroupEnd"), "ncclGroupEnd: Send 4 KiB + 2 x Recv 8193 B in "
						   "all, 2 ranks, comm 3f2a91c0");
	call_in_group("ncclSend", SEND, COMM, 1, 1); /* in none */
	plain("ncclGroupStart");
	call_in_group("ncclAllReduce", ALL_REDUCE, COMM, UINT64_MAX, 2);
	call_in_group("ncclAllReduce", ALL_REDUCE, COMM, 2, 2);
	call_in_group("ncclAllReduce", ALL_REDUCE, OTHER, 2, 99);
	assert_string_equal(plain("ncclGroupSimulateEnd"),
			    "ncclGroupSimulateEnd: 2 x AllReduce 18446744073709551615 B max in all "
			    "+ AllReduce 2 B, several comms");
}

static void groups_are_bounded(void **state)
{
	const char *text;

	(void)state;
	plain("ncclGroupStart");
	for (int i = 0; i < 100; i++)
		call_in_group("ncclSend", SEND, COMM + (unsigned int)i, 1024, 1);
	text = plain("ncclGroupEnd");
	assert_non_null(strstr(text, "Send 1 KiB + Send 1 KiB"));
	assert_non_null(strstr(text, " + 92 more, several comms"));
	plain("ncclGroupStart");
	call_in_group("ncclSend", SEND, COMM, 1024, 1);
	assert_string_equal(plain("ncclGroupEnd"), "ncclGroupEnd: Send 1 KiB, comm 3f2a91c0");
}

static void wrong_sizes_are_not_read(void **state)
{
	const struct call call = {COMM, 4096, 0};
	const struct nvtx_abi_payload several[] = {
		{.schema = 998, .size = 8, .data = &call},
		{.schema = ALL_REDUCE, .size = sizeof(call), .data = NULL},
		{.schema = ALL_REDUCE, .size = sizeof(call), .data = &call}};
	uint32_t name = nvtx_name(domain, "ncclAllReduce", 0);

	(void)state;
	assert_string_equal(named("ncclAllReduce", ALL_REDUCE, &call, 16), "ncclAllReduce");
	assert_string_equal(named("ncclAllReduce", ALL_REDUCE, &call, sizeof(call) + 8),
			    "ncclAllReduce");
	assert_string_equal(named("ncclAllReduce", ALL_REDUCE, NULL, sizeof(call)),
			    "ncclAllReduce");
	assert_int_equal(nccl_calls_name(domain, name, NULL, SIZE_MAX), name);
	assert_string_equal(nvtx_name_text(nccl_calls_name(domain, name, several, 3)),
			    "ncclAllReduce 4 KiB sum, comm 3f2a91c0");
	assert_int_equal(nccl_calls_name(domain, NVTX_TOO_MANY, several, 3), NVTX_TOO_MANY);
	/* without a size in the schema, only what the payload holds */
	SCHEMA(ALL_REDUCE, 0, E(SIZE, "Message size [bytes]", 0),
	       E(REDOP, "Reduction operation", 8));
	assert_string_equal(named("ncclAllReduce", ALL_REDUCE, &call.bytes, 8),
			    "ncclAllReduce 4 KiB");
	assert_string_equal(named("ncclAllReduce", ALL_REDUCE, &call.bytes, 7), "ncclAllReduce");
	assert_string_equal(named("ncclAllReduce", ALL_REDUCE, &call.bytes, 16),
			    "ncclAllReduce 4 KiB sum");
}

/* Two copies of NCCL in one process, with different layouts: the size tells which. */
static void layouts_of_two_versions(void **state)
{
	const struct call call = {COMM, 4096, 0};
	const struct {
		uint64_t bytes, more[4];
	} later = {8192, {0}};

	(void)state;
	SCHEMA(ALL_REDUCE, sizeof(later), E(SIZE, "Message size [bytes]", 0));
	expect_named("ncclAllReduce 8 KiB", "ncclAllReduce", ALL_REDUCE, &later);
	expect_named("ncclAllReduce 4 KiB sum, comm 3f2a91c0", "ncclAllReduce", ALL_REDUCE, &call);
}

static void odd_schemas(void **state)
{
	const struct call call = {COMM, 4096, 0};
	const struct nvtx_abi_schema none = {.entries = NULL, .entry_count = SIZE_MAX};

	(void)state;
	nccl_calls_schema(domain, 7, NULL);
	nccl_calls_schema(domain, 7, &none);
	SCHEMA(7, 0, E(SIZE, NULL, 0), E(SIZE, "Message size [bytes]", UINT64_MAX));
	expect_named("ncclAllReduce", "ncclAllReduce", 7, &call);
	SCHEMA(7, 0, {.flags = NVTX_ABI_ENTRY_IS_POINTER, .type = SIZE, .name = "Bytes"});
	expect_named("ncclAllReduce", "ncclAllReduce", 7, &call);
	SCHEMA(7, 0, E(1, "Bytes", 0)); /* a character */
	expect_named("ncclAllReduce", "ncclAllReduce", 7, &call);
	SCHEMA(7, 0, E(SIZE, "Bytes", 8)); /* the latest counts */
	expect_named("ncclAllReduce 4 KiB", "ncclAllReduce", 7, &call);
	/* equal ones take no room, others use it up */
	for (int i = 0; i < 1000; i++)
		register_all();
	SCHEMA(8, 0, E(SIZE, "Bytes", 8));
	expect_named("ncclAllReduce 4 KiB", "ncclAllReduce", 8, &call);
	for (uint64_t i = 1000; i < 1000 + NCCL_SCHEMAS_MAX; i++)
		SCHEMA(i, 0, E(SIZE, "Bytes", 8));
	SCHEMA(9, 0, E(SIZE, "Bytes", 8));
	expect_named("ncclAllReduce", "ncclAllReduce", 9, &call);
	expect_named("ncclAllReduce 4 KiB", "ncclAllReduce", 8, &call);
}

static void communicators_are_bounded(void **state)
{
	uint32_t known = 0;

	(void)state;
	for (uint64_t i = 1; i <= 4 * NCCL_COMMS_MAX; i++) {
		const struct init init = {i << 32, 4, 0};

		end(INIT, &init, sizeof(init));
	}
	for (uint64_t i = 1; i <= 4 * NCCL_COMMS_MAX; i++) {
		const struct call call = {i << 32, 1024, 0};

		known += strstr(named("ncclAllReduce", ALL_REDUCE, &call, sizeof(call)),
				"4 ranks") != NULL;
	}
	assert_in_range(known, NCCL_COMMS_MAX / 2, NCCL_COMMS_MAX);
}

static void other_domains_are_left_alone(void **state)
{
	uint32_t other = nvtx_domain("other");

	(void)state;
	nccl_calls_domain("other", other);
	nccl_calls_domain(NULL, 0);
	nccl_calls_domain("NCCL", NVTX_DOMAINS_MAX - 1); /* shared by all further domains */
	assert_true(nccl_calls_are(domain));
	assert_false(nccl_calls_are(other));
	assert_false(nccl_calls_are(0));
	nccl_calls_forget();
	assert_false(nccl_calls_are(0));
	assert_false(nccl_calls_are(domain));
}

static void the_plain_name_is_the_functions(void **state)
{
	const struct call call = {COMM, 4096, 0};
	const struct nvtx_abi_payload payload = {ALL_REDUCE, sizeof(call), &call};
	uint32_t name = nvtx_name(domain, "ncclAllReduce", 0);
	uint32_t full = nccl_calls_name(domain, name, &payload, 1);

	(void)state;
	assert_int_not_equal(full, name);
	assert_int_equal(nvtx_name_plain(full), name);
	assert_int_equal(nvtx_name_plain(name), name);
}

static void *register_and_call(void *data)
{
	uint64_t number = (uint64_t)(uintptr_t)data;

	for (uint64_t i = 0; i < 500; i++) {
		const struct init init = {(number * 500 + i) << 32, 4, (int)i};

		SCHEMA(2000 + number * 500 + i, i, E(SIZE, "Bytes", i % 24));
		end(INIT, &init, sizeof(init));
		plain("ncclGroupStart");
		call_in_group("ncclSend", SEND, i, i, 0);
		plain("ncclGroupEnd");
	}
	return NULL;
}

static void threads(void **state)
{
	const struct call call = {COMM, 4096, 0};
	pthread_t ids[4];

	(void)state;
	for (uintptr_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&ids[i], NULL, register_and_call, (void *)i), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(ids[i], NULL);
	expect_named("ncclAllReduce 4 KiB sum, comm 3f2a91c0", "ncclAllReduce", ALL_REDUCE, &call);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(sizes_operations_and_peers, set_up),
		cmocka_unit_test_setup(ranks_of_communicators, set_up),
		cmocka_unit_test_setup(groups_list_their_calls, set_up),
		cmocka_unit_test_setup(groups_are_bounded, set_up),
		cmocka_unit_test_setup(wrong_sizes_are_not_read, set_up),
		cmocka_unit_test_setup(layouts_of_two_versions, set_up),
		cmocka_unit_test_setup(odd_schemas, set_up),
		cmocka_unit_test_setup(communicators_are_bounded, set_up),
		cmocka_unit_test_setup(other_domains_are_left_alone, set_up),
		cmocka_unit_test_setup(the_plain_name_is_the_functions, set_up),
		cmocka_unit_test_setup(threads, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
