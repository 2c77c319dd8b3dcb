/* SPDX-License-Identifier: MIT */
/* A trace, beyond what a profiler receives: when it is written, and for which processes. */
#include "unit.h"
#include "cupti_trace/wire/gpu_wire.h"
#include "cupti_trace/core/settings.h"
#include "cupti_trace/main/trace.h"
#include "profiler/base/job_rank.h"

static void it_is_wanted_without_a_profiler_only(void **state)
{
	(void)state;
	unsetenv(GPU_WIRE_PIPE_ENV);
	unsetenv(TRACE_ENV);
	assert_null(trace_name());
	setenv(TRACE_ENV, "", 1);
	assert_null(trace_name());
	setenv(TRACE_ENV, "a.trace", 1);
	assert_string_equal(trace_name(), "a.trace");
	setenv(GPU_WIRE_PIPE_ENV, "/tmp/pipe", 1);
	assert_null(trace_name());
	unsetenv(GPU_WIRE_PIPE_ENV);
	unsetenv(TRACE_ENV);
}

static void settings_are_its_own(void **state)
{
	const struct trace_config *config = settings_config();

	(void)state;
	setenv("INJECTION_METRICS", "a waits", 1);
	setenv("INJECTION_METRICS_LAUNCHES", "7", 1);
	assert_true(config->waits); /* main has set it */
	trace_use_settings();
	assert_true(config->stacks && config->devices && config->timeline);
	assert_false(config->waits || config->verbose);
	assert_string_equal(config->metrics, "a waits");
	assert_string_equal(config->metrics_launches, "7");
	assert_null(config->metrics_kernels);
	assert_null(config->ranges);
}

static void it_describes_this_program(void **state)
{
	struct gpu_wire_decoder *decoder = gpu_wire_decoder_new();
	char path[] = "/tmp/profile_unit.XXXXXX", folder[4096], text[8192];
	struct gpu_event event;
	struct sink sink;
	char *line, *end;
	ssize_t n;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0 && decoder);
	setenv("PMI_RANK", "5", 1);
	setenv("SLURM_NTASKS", "0123456789012345678901234567890123456789", 1);
	assert_int_equal(sink_open_file(&sink, path, 1, 1), 0);
	trace_describe_run(&sink);
	trace_send_time(&sink);
	sink_flush(&sink);
	sink_close(&sink);
	n = read(fd, text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = '\0';
	line = strstr(text, "{\"t\":\"run\"");
	assert_non_null(line);
	end = strchr(line, '\n');
	assert_non_null(end);
	assert_int_equal(gpu_wire_decode(decoder, line, (size_t)(end - line), &event), 0);
	assert_true(event.run.unix_ns > 1000000000u * UINT64_C(1000000000));
	assert_non_null(getcwd(folder, sizeof(folder)));
	assert_string_equal(event.run.folder, folder);
	assert_int_equal(strlen(event.run.boot), 36);
	assert_non_null(strstr(event.run.arguments, "test_trace\x1f"));
	assert_non_null(strstr(event.run.job, "PMI_RANK=5\x1f"));
	assert_non_null(strstr(event.run.job, "SLURM_NTASKS=01234567890123456789\x1f"));
	line = end + 1;
	end = strchr(line, '\n');
	assert_non_null(end);
	assert_int_equal(gpu_wire_decode(decoder, line, (size_t)(end - line), &event), 0);
	assert_int_equal(event.type, GPU_EVENT_RUN);
	assert_int_equal(event.run.unix_ns, 0);
	gpu_wire_decoder_free(decoder);
	close(fd);
	unlink(path);
}

/* Each variable by which a rank may be known is sent. */
static void ranks_are_known_by_all_variables(void **state)
{
	char names[] = JOB_RANK_VARIABLES, *rest = names, *name, text[8192];

	(void)state;
	while ((name = strsep(&rest, ", "))) {
		char path[] = "/tmp/profile_unit.XXXXXX", expected[64];
		struct sink sink;
		ssize_t n;
		int fd;

		if (!*name)
			continue;
		fd = mkstemp(path);
		assert_true(fd >= 0);
		setenv(name, "41", 1);
		assert_int_equal(sink_open_file(&sink, path, 1, 1), 0);
		trace_describe_run(&sink);
		sink_flush(&sink);
		sink_close(&sink);
		n = read(fd, text, sizeof(text) - 1);
		assert_true(n > 0);
		text[n] = '\0';
		snprintf(expected, sizeof(expected), "%s=41\\u001f", name);
		assert_non_null(strstr(text, expected));
		unsetenv(name);
		close(fd);
		unlink(path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_wanted_without_a_profiler_only),
		cmocka_unit_test(settings_are_its_own),
		cmocka_unit_test(it_describes_this_program),
		cmocka_unit_test(ranks_are_known_by_all_variables),
	};

	setenv(TRACE_CONFIG_ENV, "waits", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
