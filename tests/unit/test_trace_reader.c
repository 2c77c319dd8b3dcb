/* SPDX-License-Identifier: MIT */
/* Traces, as the library writes them and as nobody should. */
#include "unit.h"
#include "profiler/run/trace_reader.h"

static struct log quiet = {.level = LOG_ERRORS};

#define BATCH(id) "\n{\"t\":\"batch\",\"pid\":7,\"id\":\"00000000000000" id "\",\"seq\":0}\n"
#define HELLO(id)                                                                               \
	BATCH(id)                                                                               \
	"{\"t\":\"hello\",\"version\":2,\"pid\":7,\"id\":\"00000000000000" id                   \
	"\",\"exe\":\"/x/app\",\"cupti\":\"\",\"cupti_version\":130001,\"clock_offset\":\"0\"," \
	"\"clock_error\":1,\"libs\":\"\",\"ack\":0}\n"
#define RUN(time, unix, boot)                                                      \
	"{\"t\":\"run\",\"s\":\"" time "\",\"unix\":\"" unix "\",\"boot\":\"" boot \
	"-0000-0000-0000-000000000000\",\"host\":\"h\",\"cwd\":\"/w\","            \
	"\"args\":\"./app\\u001fa b\\u001f\\u001f\","                              \
	"\"job\":\"RANK=3\\u001fWORLD_SIZE=8\\u001f\"}\n"
#define KERNEL(start, ns)                                \
	"{\"t\":\"k\",\"n\":0,\"s\":" start ",\"d\":" ns \
	",\"c\":1,\"v\":[0,1,1],\"g\":[1,1,1],\"b\":[1,1,1],\"m\":[0,0],\"r\":1}\n"

static struct trace_reader *read_text(const char *text, int expected)
{
	struct trace_reader *reader = trace_reader_new(&quiet, NULL, 50);
	FILE *in = fmemopen((char *)(uintptr_t)text, strlen(text), "r");

	assert_true(reader && in);
	assert_int_equal(trace_reader_read(reader, in, NULL), expected);
	fclose(in);
	trace_reader_finish(reader);
	return reader;
}

/* Reads the text. Its first `bytes` bytes come in a piece of their own. */
static void read_more(struct trace_reader *reader, const char *text, size_t bytes, int expected)
{
	struct trace_head head = {(char *)(uintptr_t)text, bytes, {0}, {{0, 0}}};
	FILE *in = fmemopen((char *)(uintptr_t)text, strlen(text), "r");

	assert_non_null(in);
	assert_int_equal(fseek(in, (long)bytes, SEEK_SET), 0);
	assert_int_equal(trace_reader_read(reader, in, bytes ? &head : NULL), expected);
	fclose(in);
}

static void what_is_no_trace(void **state)
{
	(void)state;
	trace_reader_free(read_text("\n", -EBADMSG));
	trace_reader_free(read_text("\nrubbish\n", -EBADMSG));
	trace_reader_free(read_text(BATCH("01") KERNEL("1", "1"), -EBADMSG));
}

static void a_run_is_described(void **state)
{
	struct trace_reader *reader =
		read_text(HELLO("01") RUN("1000", "5000", "11111111") KERNEL("1200", "30")
				  KERNEL("1500", "40") "{\"t\":\"run\",\"s\":\"2000\"}\n",
			  0);
	struct totals totals = trace_reader_totals(reader);

	(void)state;
	assert_string_equal(totals.command, "./app 'a b' ''");
	assert_string_equal(totals.folder, "/w");
	assert_string_equal(totals.host, "h");
	assert_int_equal(totals.command_pid, 7);
	assert_true(totals.job.is_known);
	assert_int_equal(totals.job.rank, 3);
	assert_int_equal(totals.job.size, 8);
	assert_false(totals.job.has_local);
	assert_int_equal(totals.start_ns, 1000);
	assert_int_equal(totals.start_unix_ns, 5000);
	assert_int_equal(totals.elapsed_ns, 1000);
	assert_true(totals.measure.alone);
	assert_int_equal(totals.ledger->gpu.kernel_ns, 70);
	trace_reader_free(reader);
}

/* If the trace was cut, or its first part is missing, events give the time of the run. */
static void a_run_that_is_not_described(void **state)
{
	struct trace_reader *reader =
		read_text(HELLO("01") KERNEL("1500", "40") KERNEL("1200", "30"), 0);
	struct totals totals = trace_reader_totals(reader);

	(void)state;
	assert_string_equal(totals.command, "/x/app");
	assert_null(totals.folder);
	assert_int_equal(totals.start_ns, 1200);
	assert_int_equal(totals.start_unix_ns, 0);
	assert_int_equal(totals.elapsed_ns, 340);
	trace_reader_free(reader);
}

/* The earlier of two began first, whichever comes first in the file. */
static void several_runs_of_one_clock(void **state)
{
	struct trace_reader *reader =
		read_text(HELLO("01") RUN("1000", "5000", "11111111") KERNEL("1200", "30")
				  HELLO("02") RUN("400", "4400", "11111111") KERNEL("500", "7"),
			  0);
	struct totals totals = trace_reader_totals(reader);

	(void)state;
	assert_int_equal(totals.start_ns, 400);
	assert_int_equal(totals.start_unix_ns, 4400);
	assert_int_equal(totals.elapsed_ns, 830);
	assert_int_equal(totals.ledger->gpu.kernel_ns, 37);
	trace_reader_free(reader);
}

#define FIRST HELLO("01") RUN("1000", "5000", "11111111") KERNEL("1200", "30")
#define SECOND HELLO("02") RUN("400", "4400", "11111111") KERNEL("500", "7")

/* Files are read as one, whose last line may be a part of one. */
static void several_files(void **state)
{
	struct trace_reader *reader = trace_reader_new(&quiet, NULL, 50);
	struct totals totals;

	(void)state;
	read_more(reader, FIRST "{\"t\":\"k\",\"n", 100, 0);
	read_more(reader, SECOND, 0, 0);
	read_more(reader, BATCH("03"), 0, -EBADMSG);
	trace_reader_finish(reader);
	totals = trace_reader_totals(reader);
	assert_int_equal(totals.start_ns, 400);
	assert_int_equal(totals.start_unix_ns, 4400);
	assert_int_equal(totals.ledger->gpu.kernel_ns, 37);
	assert_int_equal(totals.ledger->pipe.processes, 2);
	assert_int_equal(totals.ledger->pipe.malformed, 1);
	trace_reader_free(reader);
}

/* Writes that two files have in common count once, and the rest of a longer one counts. */
static void a_file_twice(void **state)
{
	static const char next[] =
		"\n{\"t\":\"batch\",\"pid\":7,\"id\":\"0000000000000001\",\"seq\":1}\n";
	struct trace_reader *reader = trace_reader_new(&quiet, NULL, 50);
	struct totals totals;
	char longer[4096];

	(void)state;
	snprintf(longer, sizeof(longer), "%s%s%s", FIRST, next, KERNEL("1500", "200"));
	read_more(reader, FIRST, 0, 0);
	read_more(reader, FIRST, 0, 0);
	read_more(reader, longer, strlen(longer), 0);
	read_more(reader, longer, 0, 0);
	trace_reader_finish(reader);
	totals = trace_reader_totals(reader);
	assert_int_equal(totals.ledger->gpu.kernel_ns, 230);
	assert_int_equal(totals.ledger->pipe.processes, 1);
	assert_int_equal(totals.ledger->pipe.malformed, 0);
	assert_int_equal(totals.ledger->pipe.refused, 0);
	assert_int_equal(totals.ledger->pipe.lost_batches, 0);
	trace_reader_free(reader);
}

#define WRITE(number) \
	"\n{\"t\":\"batch\",\"pid\":7,\"id\":\"0000000000000001\",\"seq\":" number "}\n"
/* A file that claims to be of another's program does not keep that one's writes out. */
static void a_file_of_high_numbers(void **state)
{
	static const char *const numbers[] = {WRITE("9"), WRITE("4294967295"),
					      WRITE("9223372036854775807")};

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct trace_reader *reader = trace_reader_new(&quiet, NULL, 50);
		const struct ledger *ledger;
		char forged[4096], parts[4096];

		snprintf(forged, sizeof(forged), "%s%s", HELLO("01"), numbers[i]);
		snprintf(parts, sizeof(parts), "%s%s%s%s%s", HELLO("01"), WRITE("2"),
			 KERNEL("1500", "200"), WRITE("1"), KERNEL("1200", "30"));
		read_more(reader, forged, strlen(forged), 0);
		read_more(reader, parts, strlen(parts), 0);
		read_more(reader, parts, strlen(parts), 0);
		trace_reader_finish(reader);
		ledger = trace_reader_totals(reader).ledger;
		assert_int_equal(ledger->gpu.kernel_ns, 230);
		assert_int_equal(ledger->pipe.processes, 1);
		if (i == 0)
			assert_int_equal(ledger->pipe.lost_batches, 6); /* batches 3 to 8 */
		trace_reader_free(reader);
	}
}

/* A copy that was made while the program ran ends within a write. */
static void a_write_that_is_cut(void **state)
{
	char whole[4096];
	size_t begin = strlen(HELLO("01"));

	(void)state;
	snprintf(whole, sizeof(whole),
		 "%s\n{\"t\":\"batch\",\"pid\":7,\"id\":\"0000000000000001\",\"seq\":1,"
		 "\"len\":%zu}\n%s%s",
		 HELLO("01"), strlen(KERNEL("1200", "30") KERNEL("1500", "200")),
		 KERNEL("1200", "30"), KERNEL("1500", "200"));
	for (size_t bytes = begin; bytes <= strlen(whole); bytes++) {
		for (int is_first = 0; is_first < 2; is_first++) {
			struct trace_reader *reader = trace_reader_new(&quiet, NULL, 50);
			const struct ledger *ledger;
			char cut[4096];

			snprintf(cut, bytes + 1, "%s", whole);
			read_more(reader, is_first ? cut : whole, 0, 0);
			read_more(reader, is_first ? whole : cut, 0, 0);
			trace_reader_finish(reader);
			ledger = trace_reader_totals(reader).ledger;
			assert_int_equal(ledger->gpu.kernel_ns, 230);
			assert_int_equal(ledger->pipe.lost_batches, 0);
			trace_reader_free(reader);
		}
	}
}

/*
 * One of two writes with one number and different content is dropped, counted as a loss, and
 * reported.
 */
static void a_number_with_other_content(void **state)
{
	static const char *const others[] = {
		WRITE("1") KERNEL("1500", "30"),
		WRITE("1") KERNEL("1500", "30") KERNEL("1600", "9"),
		WRITE("1") WRITE("2") KERNEL("1500", "30"),
	};
	static const uint64_t counted[] = {30, 39, 30};
	struct log log = {.level = LOG_NORMAL};

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct trace_reader *reader = trace_reader_new(&log, NULL, 50);
		const struct ledger *ledger = collect_ledger(trace_reader_collect(reader));
		struct capture captured;
		char first[4096], second[4096];
		const char *text;

		snprintf(first, sizeof(first), "%s%s", HELLO("01"), others[i]);
		snprintf(second, sizeof(second), "%s%s%s", HELLO("01"), WRITE("1"),
			 KERNEL("1200", "200"));
		read_more(reader, first, 0, 0);
		read_more(reader, second, 0, 0);
		capture_begin(&captured);
		trace_reader_finish(reader);
		text = capture_end(&captured);
		if (i < 2) {
			assert_non_null(strstr(text, "1 write of the traces has the number of "
						     "another one"));
			assert_int_equal(ledger->gpu.kernel_ns, counted[i]);
			assert_int_equal(ledger->pipe.lost_batches, 1);
		} else { /* the write was empty */
			assert_null(strstr(text, "number of another one"));
			assert_int_equal(ledger->gpu.kernel_ns, counted[i] + 200);
			assert_int_equal(ledger->pipe.lost_batches, 0);
		}
		trace_reader_free(reader);
	}
}

static void a_beginning(void **state)
{
	struct trace_head head = {NULL};
	FILE *in = fmemopen((char *)(uintptr_t)FIRST, strlen(FIRST), "r");
	struct boot_id boot = boot_id_parse("11111111-0000-0000-0000-000000000000");

	(void)state;
	assert_int_equal(trace_head_read(&head, in), 0);
	fclose(in);
	assert_true(head.job.is_known);
	assert_int_equal(head.job.rank, 3);
	assert_true(boot_is_same(&head.boot, &boot));
	assert_int_equal(head.count, strlen(FIRST));
	assert_memory_equal(head.bytes, FIRST, head.count);
	trace_head_release(&head);
}

static void another_clock_is_left_out(void **state)
{
	struct trace_reader *reader =
		read_text(HELLO("01") RUN("1000", "5000", "11111111") KERNEL("1200", "30")
				  HELLO("02") RUN("400", "4400", "22222222") KERNEL("500", "7"),
			  0);
	struct totals totals = trace_reader_totals(reader);

	(void)state;
	assert_int_equal(totals.start_ns, 1000);
	assert_int_equal(totals.ledger->gpu.kernel_ns, 30);
	assert_int_equal(totals.ledger->launches.unended, 0);
	trace_reader_free(reader);
}

static void no_time_makes_sums_wrap(void **state)
{
	struct trace_reader *reader =
		read_text(HELLO("01") RUN("0", "9223372036854775807", "11111111")
				  KERNEL("9223372036854775000", "2305843009213693951")
					  KERNEL("9223372036854775000", "2305843009213693951"),
			  0);
	struct totals totals = trace_reader_totals(reader);

	(void)state;
	assert_true(totals.elapsed_ns < UINT64_C(1) << 61);
	trace_reader_free(reader);
	/* negative, too large, no number */
	trace_reader_free(read_text(HELLO("01") "{\"t\":\"run\",\"s\":\"-1\"}\n"
						"{\"t\":\"run\",\"s\":\"9223372036854775808\"}\n"
						"{\"t\":\"run\",\"s\":1}\n",
				    0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_trace),
		cmocka_unit_test(a_run_is_described),
		cmocka_unit_test(a_run_that_is_not_described),
		cmocka_unit_test(several_runs_of_one_clock),
		cmocka_unit_test(several_files),
		cmocka_unit_test(a_file_twice),
		cmocka_unit_test(a_file_of_high_numbers),
		cmocka_unit_test(a_write_that_is_cut),
		cmocka_unit_test(a_number_with_other_content),
		cmocka_unit_test(a_beginning),
		cmocka_unit_test(another_clock_is_left_out),
		cmocka_unit_test(no_time_makes_sums_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
