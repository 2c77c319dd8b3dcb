/* SPDX-License-Identifier: MIT */
/* Checks what frames of NCCL's ranges say, and bandwidths' sizes and factors. */
#include "unit.h"
#include "profiler/tables/nccl_text.h"

static struct nccl_text read_text(const char *name)
{
	struct nccl_text text;
	char frame[NCCL_TEXT_BYTES + 64];

	snprintf(frame, sizeof(frame), "nvtx:NCCL:nccl%s", name);
	assert_true(nccl_text_read(frame, &text));
	return text;
}

static void expect_text(const char *name, const char *operation, const char *reduction,
			uint64_t bytes, uint64_t ranks, uint64_t moved, double factor)
{
	struct nccl_text text = read_text(name);

	assert_string_equal(text.operation, operation);
	assert_string_equal(text.reduction, reduction);
	assert_true(text.has_bytes);
	assert_int_equal(text.bytes, bytes);
	assert_int_equal(text.ranks, ranks);
	assert_int_equal(text.moved, moved);
	assert_float_equal(text.factor, factor, 1e-9);
}

static void expect_unknown(const char *name, const char *operation)
{
	struct nccl_text text = read_text(name);

	assert_string_equal(text.operation, operation);
	assert_false(text.has_bytes);
	assert_int_equal(text.bytes, 0);
	assert_int_equal(text.moved, 0);
	assert_true(text.factor < 0);
}

static void calls(void **state)
{
	(void)state;
	expect_text("AllReduce 64 MiB sum, 8 ranks, comm 3f2a91c0", "AllReduce", "sum", 64 << 20, 8,
		    64 << 20, 1.75);
	expect_text("AllReduce 64 MiB sum, 1 rank, comm 3f2a91c0", "AllReduce", "sum", 64 << 20, 1,
		    64 << 20, 0);
	expect_text("AllReduce 3 KiB, comm 3f2a91c0", "AllReduce", "", 3072, 0, 3072, -1);
	expect_text("AllGather 1 KiB, 4 ranks, several here, comm 3f2a91c0", "AllGather", "", 1024,
		    4, 4096, 0.75);
	expect_text("AllGather 1 KiB", "AllGather", "", 1024, 0, 0, -1);
	expect_text("ReduceScatter 5 B avg, 2 ranks", "ReduceScatter", "avg", 5, 2, 10, 0.5);
	expect_text("AlltoAll 5 B, 2 ranks", "AlltoAll", "", 5, 2, 10, 0.5);
	expect_text("Broadcast 12345 B root 7, 8 ranks", "Broadcast", "", 12345, 8, 12345, 1);
	expect_text("Reduce 12345 B max root 7", "Reduce", "max", 12345, 0, 12345, 1);
	expect_text("Send 1 GiB to 7, 8 ranks", "Send", "", 1 << 30, 8, 1 << 30, 1);
	expect_text("Recv 0 B from 0", "Recv", "", 0, 0, 0, 1);
	/* a function that NCCL does not have yet has a size, but no known factor */
	expect_text("AllToFew 1 KiB, 8 ranks", "AllToFew", "", 1024, 8, 1024, -1);
	expect_text("AllReduce 99999999999999999999 GiB, 99999999999999999999 ranks", "AllReduce",
		    "", UINT64_MAX, UINT64_MAX, UINT64_MAX, 2);
}

static void groups(void **state)
{
	(void)state;
	expect_text("GroupEnd: AllReduce 64 MiB sum, 8 ranks, comm 3f2a91c0", "AllReduce", "sum",
		    64 << 20, 8, 64 << 20, 1.75);
	expect_text("GroupEnd: 3 x AllGather 1 KiB, 8 ranks", "3 x AllGather 1 KiB", "", 3072, 8,
		    24576, 0.875);
	expect_text("GroupEnd: 3 x AllReduce 1000 B sum in all + AllReduce 1 KiB max, 2 ranks",
		    "3 x AllReduce 1000 B sum in all + AllReduce 1 KiB max", "", 2024, 2, 2024, 1);
	expect_text("GroupEnd: 7 x Send 4 MiB + 7 x Recv 21000 B in all, 8 ranks",
		    "7 x Send 4 MiB + 7 x Recv 21000 B in all", "", 28 << 20, 8, 28 << 20, 1);
	expect_text("GroupEnd: Send 1 KiB + 8 x Recv 1 KiB", "Send 1 KiB + 8 x Recv 1 KiB", "",
		    8192, 0, 8192, 1);
	expect_unknown("GroupEnd: AllReduce 1 MiB sum + AllGather 1 KiB, 8 ranks",
		       "AllReduce 1 MiB sum + AllGather 1 KiB");
	expect_unknown("GroupEnd: 2 x AllReduce 1 MiB sum, several comms",
		       "2 x AllReduce 1 MiB sum");
	expect_unknown("GroupEnd: 8 x AllReduce 1 MiB sum, 8 ranks, several here, comm 0",
		       "8 x AllReduce 1 MiB sum");
	expect_unknown("GroupEnd: 17 x AllReduce 1 MiB sum, 8 ranks", "17 x AllReduce 1 MiB sum");
	expect_unknown("GroupEnd: Send 1 B + 2 more", "Send 1 B + 2 more");
	expect_unknown("GroupEnd", "GroupEnd");
}

static void folded_and_odd_names(void **state)
{
	char name[3 * NCCL_TEXT_BYTES];
	struct nccl_text text;

	(void)state;
	expect_unknown("AllReduce N MiB sum, N ranks, comm N", "AllReduce");
	expect_unknown("AllGatherV", "AllGatherV");
	expect_unknown("AllReduce 5", "AllReduce");
	expect_unknown("AllReduce 5 TiB", "AllReduce");
	expect_unknown("AllReduce -5 B", "AllReduce");
	expect_unknown("GroupEnd: N x Send N MiB + Recv N B", "N x Send N MiB + Recv N B");
	expect_unknown("GroupEnd:  +  + ", " +  + ");
	assert_int_equal(read_text("AllReduce 1 B, 8 of them").ranks, 0);
	for (size_t i = 0; i < sizeof(name); i++)
		name[i] = (char)("nvtx:NCCL:ncclGroupEnd: Send 1 B + "[i < 35 ? i : 23 + i % 12]);
	name[sizeof(name) - 1] = '\0';
	assert_true(nccl_text_read(name, &text)); /* cut */
	assert_false(nccl_text_read("nvtx:NCCL:ncclCommInitRank", &text));
	assert_false(nccl_text_read("nvtx:NCCL:ncclMemAlloc", &text));
	assert_false(nccl_text_read("nvtx:NCCL:other", &text));
	assert_false(nccl_text_read("nvtx:ncclAllReduce 1 B", &text));
	assert_false(nccl_text_read("", &text));
}

static void communicators(void **state)
{
	(void)state;
	assert_int_equal(nccl_text_comm("nvtx:NCCL:ncclSend 1 B, 8 ranks, comm 3f2a91c0"),
			 0x3f2a91c0);
	assert_int_equal(nccl_text_comm("nvtx:NCCL:ncclSend 1 B, comm f0000001"), 0xf0000001);
	assert_int_equal(nccl_text_comm("nvtx:NCCL:ncclSend N B, N ranks, comm N"), 0);
	assert_int_equal(nccl_text_comm("nvtx:NCCL:ncclSend 1 B, comm 3f2a91c"), 0);
	assert_int_equal(nccl_text_comm("nvtx:NCCL:ncclSend 1 B, comm 3f2a91c01"), 0);
	assert_int_equal(nccl_text_comm("nvtx:NCCL:ncclGroupEnd: Send 1 B, several comms"), 0);
	assert_int_equal(nccl_text_comm("nvtx:ncclSend 1 B, comm 3f2a91c0"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls),
		cmocka_unit_test(groups),
		cmocka_unit_test(folded_and_odd_names),
		cmocka_unit_test(communicators),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
