/* SPDX-License-Identifier: MIT */
/* Names of outputs with a rank, whatever the environment holds. */
#include "unit.h"
#include <stdlib.h>
#include <unistd.h>
#include "profiler/base/host_name.h"
#include "profiler/base/job_rank.h"
#include "profiler/commands/output_name.h"

static const char *const variables[] = {"RANK",
					"OMPI_COMM_WORLD_RANK",
					"PMI_RANK",
					"PMIX_RANK",
					"FLUX_TASK_RANK",
					"SLURM_PROCID",
					"JOB_COMPLETION_INDEX",
					"FLUX_JOB_SIZE",
					"FLUX_TASK_LOCAL_ID",
					"PMI_SIZE",
					"OMPI_COMM_WORLD_SIZE",
					"WORLD_SIZE",
					"LOCAL_RANK"};

static int clear(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		unsetenv(variables[i]);
	return 0;
}

static void set(const char *variable, const char *value)
{
	assert_int_equal(setenv(variable, value, 1), 0);
}

static void expect_name(const char *pattern, const char *want)
{
	char error[OUTPUT_NAME_ERROR_BYTES] = "";
	char *name = output_name(pattern, NULL, error);

	if (!name)
		fail_msg("%s: %s", pattern, error);
	assert_string_equal(name, want);
	free(name);
}

static void expect_refused(const char *pattern, const char *words)
{
	char error[OUTPUT_NAME_ERROR_BYTES] = "";

	assert_null(output_name(pattern, NULL, error));
	if (!strstr(error, words))
		fail_msg("%s: %s", pattern, error);
	assert_null(strchr(error, '\n'));
}

static void ranks_are_in_names(void **state)
{
	char want[600], *host = host_name();

	(void)state;
	set("SLURM_PROCID", "5");
	expect_name("cap.%r.profile", "cap.5.profile");
	expect_name("%r%r/%%r", "55/%r");
	expect_name("", "");
	snprintf(want, sizeof(want), "%ld", (long)getpid());
	expect_name("%p", want);
	if (host) {
		snprintf(want, sizeof(want), "a-%s.b", host);
		expect_name("a-%h.b", want);
	}
	free(host);
}

static void names_of_results_have_their_time(void **state)
{
	char error[OUTPUT_NAME_ERROR_BYTES] = "", *name, *timed;
	uint32_t time_at = 0;

	(void)state;
	name = output_name("%%t-%t.html", &time_at, error);
	assert_non_null(name);
	assert_int_equal(time_at, strlen("%t-") + 1);
	timed = output_name_at(name, time_at, 1796076036997423600);
	assert_string_equal(timed, "%t-20261130T220036Z.html");
	free(name);
	free(timed);
	expect_refused("%t", "-o may have once");
	time_at = 0;
	assert_null(output_name("%t%t", &time_at, error));
}

/* Each launcher's before those that may have started it. */
static void launchers_have_an_order(void **state)
{
	struct job_rank rank;

	(void)state;
	for (int i = 6; i >= 0; i--) {
		char number[4];

		snprintf(number, sizeof(number), "%d", i);
		set(variables[i], number);
		expect_name("%r", number);
	}
	set("RANK", "");
	expect_name("%r", "1");
	set("RANK", "3");
	set("WORLD_SIZE", "8");
	set("LOCAL_RANK", "0");
	assert_null(job_rank_find(&rank));
	assert_true(rank.is_known && rank.has_local);
	assert_int_equal(rank.rank, 3);
	assert_int_equal(rank.size, 8);
	assert_int_equal(rank.local, 0);
	set("WORLD_SIZE", "3"); /* the job has no rank 3 */
	set("LOCAL_RANK", "x");
	assert_null(job_rank_find(&rank));
	assert_true(rank.is_known);
	assert_false(rank.has_local);
	assert_int_equal(rank.size, 0);
}

/* The pods of an indexed job do not know how many they are. */
static void flux_and_kubernetes_have_ranks(void **state)
{
	struct job_rank rank;

	(void)state;
	set("JOB_COMPLETION_INDEX", "0");
	assert_null(job_rank_find(&rank));
	assert_true(rank.is_known && !rank.has_local);
	assert_int_equal(rank.rank, 0);
	assert_int_equal(rank.size, 0);
	set("FLUX_TASK_RANK", "5");
	set("FLUX_JOB_SIZE", "6");
	set("FLUX_TASK_LOCAL_ID", "1");
	assert_null(job_rank_find(&rank));
	assert_int_equal(rank.rank, 5);
	assert_int_equal(rank.size, 6);
	assert_true(rank.has_local);
	assert_int_equal(rank.local, 1);
}

static void what_is_no_rank_is_refused(void **state)
{
	static const char *const wrong[] = {
		"../../etc/passwd",     "-1",  "+1", " 1", "1 ", "0x1", "10000000",
		"99999999999999999999", "1\n", "a"};
	struct job_rank rank;

	(void)state;
	expect_refused("%r", "none of RANK");
	set("LOCAL_RANK", "1"); /* is none of the job */
	expect_refused("cap.%r.profile", "none of RANK");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		set("PMI_RANK", "2");
		set("RANK", wrong[i]);
		expect_refused("%r", "RANK is not a number");
		assert_string_equal(job_rank_find(&rank), "RANK");
		assert_false(rank.is_known);
	}
	set("RANK", "0009999999");
	expect_name("%r", "9999999");
}

static void other_letters_are_refused(void **state)
{
	(void)state;
	expect_refused("a%", "'%'");
	expect_refused("a%x", "'%x'");
	expect_refused("100%.svg", "'%.'");
	expect_refused("%\xff", "%r (rank)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(ranks_are_in_names, clear),
		cmocka_unit_test_setup(names_of_results_have_their_time, clear),
		cmocka_unit_test_setup(launchers_have_an_order, clear),
		cmocka_unit_test_setup(flux_and_kubernetes_have_ranks, clear),
		cmocka_unit_test_setup(what_is_no_rank_is_refused, clear),
		cmocka_unit_test_setup(other_letters_are_refused, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
