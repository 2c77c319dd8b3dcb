/* SPDX-License-Identifier: MIT */
/* --live as text: exact lines for several widths, hostile names, keys. */
#include "unit.h"
#include "profiler/base/columns.h"
#include "profiler/report/live_screen.h"
#include "symbolize/util/text.h"

static struct terminal_line lines[TERMINAL_LINES_MAX];
static struct live_line kernels[3], sites[2], functions[2];

static struct live_view made_view(void)
{
	struct live_view v = {
		.numbers = {.elapsed_ns = 3723000000000,
			    .kernels = 5210,
			    .kernels_per_s = 1234,
			    .waiting = 17,
			    .cpu = 198,
			    .calls = 40,
			    .lost = 3,
			    .device_count = 1,
			    .devices = {{.label = "GPU 0",
					 .busy = 632,
					 .busy_so_far = 41,
					 .memory = UINT64_C(3) << 29}}},
	};

	kernels[0] = (struct live_line){"model::gemm<float, 128, 256>", {3000000000, 1000}};
	kernels[1] = (struct live_line){"softmax<float>", {900000, 3000}};
	kernels[2] = (struct live_line){"[GPU_Memcpy HtoD]", {100000, 1}};
	sites[0] = (struct live_line){"server::Mlp::forward", {3000000000, 1000}};
	sites[1] = (struct live_line){"step (train.py)", {1000000, 3001}};
	functions[0] = (struct live_line){"tokenize", {160000000, 8}};
	functions[1] = (struct live_line){"[libcuda.so.1]", {40000000, 2}};
	v.lists[LIVE_KERNELS] =
		(struct live_list){.lines = kernels, .count = 3, .whole = {3001000000, 4001}};
	v.lists[LIVE_SITES] =
		(struct live_list){.lines = sites, .count = 2, .whole = {3001000000, 4001}};
	v.lists[LIVE_FUNCTIONS] =
		(struct live_list){.lines = functions, .count = 2, .whole = {200000000, 10}};
	return v;
}

static struct live_settings made_settings(void)
{
	return (struct live_settings){
		.command = "./train.py --name 'a b'", .has_keys = true, .table = LIVE_TABLES};
}

static const char *const styles[] = {"", "*", "#"};

/* Returns the block as one text. Bold lines begin with "*", reverse ones with "#". */
static const char *draw(const struct live_view *v, const struct live_settings *s,
			unsigned int width, unsigned int height)
{
	static char text[TERMINAL_LINES_MAX * (TERMINAL_LINE_BYTES + 2) + 1];
	unsigned int count = live_screen_draw(v, s, width, height, lines);
	size_t used = 0;

	assert_true(count <= height);
	text[0] = '\0';
	for (unsigned int i = 0; i < count; i++) {
		assert_true(columns_of(lines[i].text) <= width);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s\n",
					 styles[lines[i].style], lines[i].text);
	}
	return text;
}

static void eighty_columns(void **state)
{
	struct live_view v = made_view();
	struct live_settings s = made_settings();

	(void)state;
	assert_string_equal(
		draw(&v, &s, 80, 14),
		"#profile 1:02:03  ./train.py --name 'a b'                                        "
		"\n"
		"GPU 0  63.2 % busy  4.1 % so far  1.5 GiB allocated\n"
		"1234 kernels/s  17 launched but not finished  3 lost  1.98 CPUs\n"
		"*       time   share     calls        mean  GPU work\n"
		"    3.000 s 100.0 %      1000    3.000 ms  model::gemm<float, 128, 256>\n"
		" 900.000 us   0.0 %      3000      300 ns  softmax<float>\n"
		" 100.000 us   0.0 %         1  100.000 us  [GPU_Memcpy HtoD]\n"
		"*       time   share     calls        mean  launched by\n"
		"    3.000 s 100.0 %      1000    3.000 ms  server::Mlp::forward\n"
		"   1.000 ms   0.0 %      3001      333 ns  step (train.py)\n"
		"*       time   share   samples              CPU function (own time)\n"
		" 160.000 ms  80.0 %         8              tokenize\n"
		"  40.000 ms  20.0 %         2              [libcuda.so.1]\n"
		"*q quit  space pause  s sort: time  1 GPU work  2 sites  3 CPU  0 all\n");
}

static void narrow_and_wide_terminals(void **state)
{
	struct live_view v = made_view();
	struct live_settings s = made_settings();
	const char *text;

	(void)state;
	s.is_paused = true;
	assert_string_equal(draw(&v, &s, 40, 9),
			    "#profile 1:02:03  paused  ./train.py --n\xe2\x80\xa6\n"
			    "GPU 0  63.2 % busy  4.1 % so far\n"
			    "1234 kernels/s\n"
			    "*       time   share  GPU work\n"
			    "    3.000 s 100.0 %  model::gemm<float,\xe2\x80\xa6\n"
			    " 900.000 us   0.0 %  softmax<float>\n"
			    "*       time   share  launched by\n"
			    "    3.000 s 100.0 %  server::Mlp::forwa\xe2\x80\xa6\n"
			    "*q quit  space go on  s sort: time\n");
	text = draw(&v, &s, 200, 14);
	assert_non_null(strstr(text, "3 lost  1.98 CPUs  0.40 threads in CUDA calls\n"));
	assert_non_null(strstr(text, "2 sites  3 CPU  0 all\n"));
	assert_string_equal(draw(&v, &s, 19, 9), "");
	for (unsigned int width = 0; width < 300; width += 7)
		for (unsigned int height = 0; height < 20; height++)
			draw(&v, &s, width, height);
	draw(&v, &s, 100000, 100000);
}

static void tables_share_the_lines(void **state)
{
	struct live_view v = made_view();
	struct live_settings s = made_settings();

	(void)state;
	/* numbers first, then as many tables as there is room for, with a line each at least */
	assert_null(strstr(draw(&v, &s, 80, 5), "GPU work\n"));
	assert_non_null(strstr(draw(&v, &s, 80, 6), "model::gemm"));
	assert_null(strstr(draw(&v, &s, 80, 7), "launched by"));
	assert_non_null(strstr(draw(&v, &s, 80, 8), "Mlp::forward"));
	assert_null(strstr(draw(&v, &s, 80, 8), "softmax"));
	v.lists[LIVE_KERNELS].count = 0;
	assert_null(strstr(draw(&v, &s, 80, 8), "GPU work\n"));
	v = made_view();
	s.table = LIVE_FUNCTIONS;
	assert_null(strstr(draw(&v, &s, 80, 14), "Mlp::forward"));
	assert_non_null(strstr(draw(&v, &s, 80, 14), "[libcuda.so.1]"));
	/* the hints are in the last line */
	assert_int_equal(live_screen_draw(&v, &s, 80, 14, lines), 14);
	assert_true(strncmp(lines[13].text, "q quit ", 7) == 0);
	s.has_keys = false;
	live_screen_draw(&v, &s, 80, 14, lines);
	assert_string_equal(
		lines[13].text,
		"keys are off: the command may read this terminal (add </dev/null to use them)");
}

static void unknown_numbers_are_left_out(void **state)
{
	struct live_view v = made_view();
	struct live_settings s = made_settings();
	char line[200];

	(void)state;
	v.numbers.device_count = 0;
	v.numbers.kernels = v.numbers.calls = LIVE_NO_VALUE;
	assert_non_null(strstr(draw(&v, &s, 80, 14), "\n3 lost  1.98 CPUs\n"));
	live_screen_plain(&v.numbers, line, sizeof(line));
	assert_string_equal(line, "3723 s: 1.98 CPUs, 3 lost");
	v = made_view();
	v.numbers.cpu = LIVE_NO_VALUE;
	live_screen_plain(&v.numbers, line, sizeof(line));
	assert_string_equal(line,
			    "3723 s: GPU 0 63.2 % busy (4.1 % so far), 1.5 GiB allocated, "
			    "1234 kernels/s, 17 launched but not finished, 0.40 threads in CUDA "
			    "calls, 3 lost");
	live_screen_plain(&v.numbers, line, 20);
	assert_string_equal(line, "3723 s: GPU 0 63.2 ");
}

static void many_devices_are_put_together(void **state)
{
	struct live_view v = made_view();
	struct live_settings s = made_settings();

	(void)state;
	v.numbers.device_count = 8;
	for (uint32_t i = 0; i < 8; i++) {
		v.numbers.devices[i] =
			(struct live_device){.label = "", .busy = 100 * i, .busy_so_far = 500};
		snprintf(v.numbers.devices[i].label, DEVICE_LABEL_BYTES, "GPU %u", i);
	}
	assert_non_null(strstr(draw(&v, &s, 80, 14),
			       "GPU 2  20.0 % busy  50.0 % so far\n"
			       "5 more GPUs  50.0 % busy on average  50.0 % so far\n"));
}

static void no_name_controls_the_terminal(void **state)
{
	static const char *const evil[] = {"\033]0;title\007name",
					   "\033[2J\033[H",
					   "a\nb\rc\bd",
					   "\xc2\x9b"
					   "31m",
					   "\x9b"
					   "31m",
					   "\xe2\x80\xae"
					   "txt.exe",
					   "\xff\xfe\xfd",
					   "\xe6\xbc",
					   "tab\there"};
	struct live_view v = made_view();
	struct live_settings s = made_settings();
	const unsigned int step = getenv("UNDER_VALGRIND") ? 9 : 1;
	char *huge = malloc(1 << 20);

	(void)state;
	memset(huge, '\033', (1 << 20) - 1);
	huge[(1 << 20) - 1] = '\0';
	for (size_t i = 0; i <= sizeof(evil) / sizeof(*evil); i++) {
		const char *name = i < sizeof(evil) / sizeof(*evil) ? evil[i] : huge;

		kernels[0].name = sites[0].name = functions[0].name = s.command = name;
		for (unsigned int width = 20; width < 120; width += step) {
			unsigned int count = live_screen_draw(&v, &s, width, 14, lines);

			for (unsigned int j = 0; j < count; j++) {
				char clean[TERMINAL_LINE_BYTES];

				memcpy(clean, lines[j].text, sizeof(clean));
				clean_text(clean);
				assert_string_equal(clean, lines[j].text);
				assert_true(columns_of(clean) <= width);
			}
		}
	}
	free(huge);
}

static void names_are_cut_by_columns(void **state)
{
	char name[4000];
	struct live_view v = made_view();
	struct live_settings s = made_settings();

	(void)state;
	for (size_t i = 0; i + 3 < sizeof(name); i += 3)
		memcpy(name + i, "\xe6\xbc\xa2", 4); /* two columns */
	kernels[0].name = name;
	for (unsigned int width = 64; width < 400; width++) {
		live_screen_draw(&v, &s, width, 14, lines);
		/* at most half a wide character is missing */
		assert_true(columns_of(lines[4].text) >= width - 1);
		assert_non_null(strstr(lines[4].text, "\xe2\x80\xa6"));
	}
}

static void keys_change_settings(void **state)
{
	struct live_view v = made_view();
	struct live_settings s = made_settings();

	(void)state;
	assert_true(live_screen_key(&s, '2'));
	assert_int_equal(s.table, LIVE_SITES);
	assert_true(live_screen_key(&s, '0'));
	assert_int_equal(s.table, LIVE_TABLES);
	assert_true(live_screen_key(&s, 's'));
	assert_true(strstr(draw(&v, &s, 80, 14), "softmax") <
		    strstr(draw(&v, &s, 80, 14), "model::gemm"));
	assert_true(live_screen_key(&s, 's'));
	assert_true(strstr(draw(&v, &s, 80, 14), "[GPU_Memcpy") <
		    strstr(draw(&v, &s, 80, 14), "softmax"));
	assert_non_null(strstr(draw(&v, &s, 80, 14), "s sort: mean"));
	assert_true(live_screen_key(&s, 's'));
	assert_int_equal(s.order, LIVE_BY_TIME);
	assert_true(live_screen_key(&s, ' '));
	assert_true(s.is_paused);
	assert_true(live_screen_key(&s, 'p'));
	assert_false(s.is_paused);
	assert_false(live_screen_key(&s, 'x'));
	assert_false(live_screen_key(&s, '\033'));
	assert_true(live_screen_key(&s, 'q'));
	assert_true(s.has_quit);
	s = made_settings();
	s.has_keys = false;
	assert_false(live_screen_key(&s, 'q'));
	assert_false(s.has_quit);
}

static void the_program_keeps_a_part_of_the_terminal(void **state)
{
	(void)state;
	for (unsigned int rows = 0; rows < 8; rows++)
		assert_int_equal(live_screen_height(rows), 0);
	for (unsigned int rows = 8; rows < 1000; rows++) {
		assert_true(live_screen_height(rows) + 5 <= rows);
		assert_true(live_screen_height(rows) >= 3);
		assert_true(live_screen_height(rows) <= TERMINAL_LINES_MAX);
	}
	assert_int_equal(live_screen_height(24), 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(eighty_columns),
		cmocka_unit_test(narrow_and_wide_terminals),
		cmocka_unit_test(tables_share_the_lines),
		cmocka_unit_test(unknown_numbers_are_left_out),
		cmocka_unit_test(many_devices_are_put_together),
		cmocka_unit_test(no_name_controls_the_terminal),
		cmocka_unit_test(names_are_cut_by_columns),
		cmocka_unit_test(keys_change_settings),
		cmocka_unit_test(the_program_keeps_a_part_of_the_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
