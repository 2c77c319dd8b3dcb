/* SPDX-License-Identifier: MIT */
#include "made_result.h"
#include <ctype.h>
#include "profiler/formats/writer.h"
#include "profiler/output/writers.h"
#include "symbolize/util/text.h"

static const struct writer_options options = {.unit_ns = 1};

/* Writes the picture. The caller frees the text. */
static char *write_picture(const struct made_result *m, const struct writer_options *o,
			   struct written *written)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	memset(written, 0xff, sizeof(*written)); /* says nothing yet */
	assert_int_equal(svg_writer.write(&m->result, o, out, written), 0);
	fclose(out);
	assert_int_equal(strlen(text), size);
	return text;
}

/* ---- is it well-formed, and only what the writer itself puts there? ---- */

static bool is_known_element(const char *name, size_t length)
{
	static const char *const known[] = {"svg", "style", "defs", "pattern", "rect",
					    "g",   "title", "text", "script"};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i]) == length && memcmp(known[i], name, length) == 0)
			return true;
	return false;
}

/* Returns the position after an entity at `c`. The text has no other '&'. */
static const char *skip_entity(const char *c)
{
	static const char *const known[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strncmp(c, known[i], strlen(known[i])) == 0)
			return c + strlen(known[i]);
	fail_msg("not an entity: %.20s", c);
	return NULL;
}

static const char *skip_text(const char *c, const char *end)
{
	while (!strchr(end, *c)) {
		size_t n = count_utf8_bytes((const unsigned char *)c);

		assert_true(n > 0);
		assert_true((unsigned char)*c >= 0x20 || *c == '\n' || *c == '\t');
		c = *c == '&' ? skip_entity(c) : c + n;
	}
	return c;
}

/* Skips the attributes of a start tag, up to its '>' or '/'. */
static const char *skip_attributes(const char *c)
{
	while (*c == ' ') {
		const char *name = ++c;

		while (islower((unsigned char)*c) || isupper((unsigned char)*c) || *c == '-')
			c++;
		assert_true(c > name);
		/* no handlers */
		assert_true(strncmp(name, "on", 2) != 0 && strncmp(name, "href", 4) != 0);
		assert_memory_equal(c, "=\"", 2);
		c = skip_text(c + 2, "\"<>");
		assert_int_equal(*c++, '"');
	}
	return c;
}

struct open_elements {
	const char *name[16];
	size_t length[16];
	int count, scripts;
};

static const char *read_tag(const char *c, struct open_elements *open)
{
	bool is_end = *c == '/';
	const char *name = c + is_end;
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz");

	assert_true(is_known_element(name, length));
	c = skip_attributes(name + length);
	open->scripts += !is_end && strncmp(name, "script", length) == 0;
	if (is_end) {
		assert_true(open->count > 0);
		open->count--;
		assert_int_equal(open->length[open->count], length);
		assert_memory_equal(open->name[open->count], name, length);
	} else if (*c == '/') {
		c++;
	} else {
		assert_true(open->count < 16);
		open->name[open->count] = name;
		open->length[open->count++] = length;
	}
	assert_int_equal(*c, '>');
	return c + 1;
}

static void check_xml(const char *text)
{
	static const char head[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
	struct open_elements open = {.count = 0};
	const char *c = text + strlen(head);

	assert_memory_equal(text, head, strlen(head));
	while (*c) {
		if (*c != '<') {
			c = skip_text(c, "<");
			assert_true(*c || open.count == 0);
		} else if (strncmp(c, "<![CDATA[", 9) == 0) {
			c = strstr(c, "]]>"); /* the style and the script themselves */
			assert_non_null(c);
			c += 3;
		} else {
			c = read_tag(c + 1, &open);
		}
		if (open.count == 0 && strcmp(c, "\n") == 0)
			break;
	}
	assert_int_equal(open.count, 0);
	assert_int_equal(open.scripts, 2); /* data and script */
}

/* ---- what the picture says ---- */

static double number_after(const char *text, const char *before)
{
	const char *at = strstr(text, before);

	if (!at)
		fail_msg("not in the file: %s", before);
	return strtod(at + strlen(before), NULL);
}

/* Sums the boxes' own times and those left out, by kind, from the script's data. */
static uint32_t sum_boxes(const char *text, double ns[ROW_KINDS])
{
	char *c = strstr(text, "\"boxes\":[");
	uint32_t boxes = 0;

	assert_non_null(c);
	c += strlen("\"boxes\":[");
	for (; *c != ']'; boxes++) {
		unsigned long bits;

		strtoul(c, &c, 10);
		strtoul(c + 1, &c, 10);
		bits = strtoul(c + 1, &c, 10);
		for (int bit = 0; bit < 2 * ROW_KINDS; bit++) {
			if (!(bits >> bit & 1))
				continue;
			ns[bit % ROW_KINDS] += strtod(c + 1, &c);
			strtoull(c + 1, &c, 10);
		}
		for (int bit = 2 * ROW_KINDS; bit < 2 * ROW_KINDS + 3; bit++)
			if (bits >> bit & 1)
				strtoull(c + 1, &c, 10);
		c += strspn(c, ",\n");
	}
	return boxes;
}

static void the_format_is_known_by_its_extension(void **state)
{
	(void)state;
	assert_ptr_equal(writer_for_path("a/b.svg"), &svg_writer);
	assert_ptr_equal(writer_with_name("svg"), &svg_writer);
	assert_string_equal(svg_writer.item, "frame");
	assert_false(svg_writer.has_units);
	assert_int_equal(svg_writer.needs, 0);
}

static void totals_are_the_trees(void **state)
{
	struct written written;
	struct made_result m;
	double ns[ROW_KINDS] = {0};
	char *text;

	(void)state;
	made_begin(&m);
	m.result.totals.command = "/opt/bin/app --fast";
	m.result.totals.elapsed_ns = 1234000000;
	made_add(&m, MADE_STACK(&m, "main", "work"), ROW_CPU, 2000000001);
	made_add(&m, MADE_STACK(&m, "main", "cudaLaunchKernel", "k"), ROW_GPU, 1000000002);
	made_add(&m, MADE_STACK(&m, "main", "cudaStreamSynchronize"), ROW_WAIT, 200007);
	text = write_picture(&m, &options, &written);
	check_xml(text);
	assert_int_equal(written.total[ROW_CPU], 2000000001);
	assert_int_equal(written.total[ROW_GPU], 1000000002);
	assert_int_equal(written.total[ROW_WAIT], 200007);
	assert_int_equal(written.total[ROW_CALL], 0);
	assert_int_equal(written.items, 5);
	assert_true(written.exact_ns == 3000200010.0);
	assert_true(number_after(text, "y=\"76\" data-ns=\"") == 3000200010.0);
	assert_true(number_after(text, "data-total=\"CPU\" data-ns=\"") == 2000000001.0);
	assert_true(number_after(text, "data-total=\"GPU\" data-ns=\"") == 1000000002.0);
	assert_true(number_after(text, "data-total=\"waiting\" data-ns=\"") == 200007);
	assert_null(strstr(text, "data-total=\"CUDA calls\""));
	assert_int_equal(sum_boxes(text, ns), 6);
	assert_true(ns[ROW_CPU] == 2000000001.0 && ns[ROW_GPU] == 1000000002.0);
	assert_non_null(strstr(text, ">/opt/bin/app --fast</text>"));
	assert_non_null(strstr(text, "<title>/opt/bin/app --fast</title>"));
	assert_non_null(
		strstr(text, "CPU and GPU time, waiting by stack · ran 1.234 s · 5 frames"));
	assert_non_null(strstr(text, ">CPU 2.000 s  66.7 %</text>"));
	assert_non_null(strstr(text, ">waiting 200.0 µs  &lt; 0.01 %</text>"));
	assert_non_null(strstr(text, "<title>work\n2.000 s, 66.7 %; own 2.000 s</title>"));
	free(text);
	made_end(&m);
}

/* The legend has the kinds that occur, and no other. */
static void the_legend_is_of_what_occurs(void **state)
{
	struct written written;
	struct made_result m;
	char *text, *legend, *end;

	(void)state;
	made_begin(&m);
	made_add(&m, MADE_STACK(&m, "_start", "main"), ROW_CPU, 5);
	text = write_picture(&m, &options, &written);
	legend = strstr(text, "<g class=\"legend\">");
	assert_non_null(legend);
	end = strstr(legend, "\n</g>");
	assert_non_null(end);
	*end = '\0';
	assert_non_null(strstr(legend, "start-up"));
	assert_non_null(strstr(legend, "native code"));
	assert_null(strstr(legend, "Python"));
	assert_null(strstr(legend, "GPU"));
	free(text);
	made_end(&m);
}

/* Checks that the page's title begins with `title`, however long the command is. */
static void check_title(const char *command, const char *title)
{
	char *text, expected[256];
	struct written written;
	struct made_result m;

	made_begin(&m);
	m.result.totals.command = command;
	text = write_picture(&m, &options, &written);
	check_xml(text);
	snprintf(expected, sizeof(expected), "<title>%.100s", title);
	assert_non_null(strstr(text, expected));
	free(text);
	made_end(&m);
}

static void the_title_is_the_command(void **state)
{
	char command[4097];

	(void)state;
	check_title("app", "app");
	check_title("env A=b './my app' x=y", "env A=b &#39;./my app&#39; x=y");
	check_title("", "");
	for (size_t length = 100; length < sizeof(command); length += length / 5) {
		memset(command, 'A', length);
		command[length] = '\0';
		check_title(command, command);
	}
}

static void an_empty_profile_is_a_picture(void **state)
{
	struct written written;
	struct made_result m;
	double ns[ROW_KINDS] = {0};
	char *text;

	(void)state;
	made_begin(&m);
	text = write_picture(&m, &options, &written);
	check_xml(text);
	assert_int_equal(written.items, 0);
	assert_true(written.exact_ns == 0);
	assert_int_equal(sum_boxes(text, ns), 1);
	assert_null(strstr(text, "nan"));
	free(text);
	made_end(&m);
}

static void the_root_is_at_the_top_or_at_the_bottom(void **state)
{
	const struct writer_options flame = {.unit_ns = 1, .root_at_bottom = true};
	struct written written;
	struct made_result m;
	char *text;

	(void)state;
	made_begin(&m);
	made_add(&m, MADE_STACK(&m, "main"), ROW_CPU, 5);
	text = write_picture(&m, &options, &written);
	assert_non_null(strstr(text, ">all</text>"));
	assert_non_null(strstr(text, "<rect x=\"0.00\" y=\"0\" width=\"1175.40\""));
	assert_non_null(strstr(text, "{\"flame\":false,"));
	free(text);
	text = write_picture(&m, &flame, &written);
	check_xml(text);
	assert_non_null(strstr(text, "<title>all\n"));
	assert_true(number_after(strstr(text, "<g class=\"root\">"), "y=\"") >
		    number_after(strstr(text, "<title>main\n"), "y=\""));
	assert_non_null(strstr(text, "{\"flame\":true,"));
	free(text);
	made_end(&m);
}

/* Fails if two boxes of a row are over one another. */
static void check_rows(const char *text)
{
	double x[64], y[64], width[64];
	uint32_t count = 0;

	text = strstr(text, "<g class=\"boxes\"");
	assert_non_null(text);
	for (const char *end = strstr(text, "</g>\n</g>"), *c = text;
	     (c = strstr(c, "<rect x=\"")) && c < end; c++, count++) {
		assert_true(count < 64);
		x[count] = number_after(c, "x=\"");
		y[count] = number_after(c, " y=\"");
		width[count] = number_after(c, "width=\"");
		for (uint32_t i = 0; i < count; i++)
			assert_true(y[i] != y[count] || x[i] + width[i] <= x[count] + 0.02 ||
				    x[count] + width[count] <= x[i] + 0.02);
	}
	assert_true(count > 3);
}

/* Layers stand as they ran, so narrow ones are between wide ones. */
static void narrow_frames_are_grey_where_they_are(void **state)
{
	static const char *const names[] = {"[a.0]", "[a.1]", "[b]", "[c.0]", "[c.1]", "[d]"};
	struct written written;
	struct made_result m;
	char *text, *second;

	(void)state;
	made_begin(&m);
	for (uint32_t i = 0; i < 6; i++) {
		uint32_t stack = MADE_STACK(&m, "main", names[i]);

		m.frames[m.stacks[stack].frame].class = CLASS_LAYER;
		made_add(&m, stack, ROW_GPU, names[i][2] == ']' ? 1000000 : 1000);
	}
	text = write_picture(&m, &options, &written);
	check_xml(text);
	check_rows(text);
	second = strstr(text, "<g class=\"more\">");
	assert_non_null(second);
	assert_true(number_after(second, "x=\"") == 0);
	second = strstr(second + 1, "<g class=\"more\">");
	assert_non_null(second);
	assert_true(number_after(second, "x=\"") > 500);
	assert_null(strstr(second + 1, "<g class=\"more\">"));
	free(text);
	made_end(&m);
}

static void narrow_frames_are_counted(void **state)
{
	struct written written;
	struct made_result m;
	double ns[ROW_KINDS] = {0};
	char *text, name[4][16];

	(void)state;
	made_begin(&m);
	made_add(&m, MADE_STACK(&m, "main"), ROW_CPU, 1000000000000);
	for (int i = 0; i < 4; i++) {
		snprintf(name[i], sizeof(name[i]), "%s%d", i ? "narrow" : "thin", i);
		/* 100 ns are too little for any zoom; 100 ms are, for the whole width */
		made_add(&m, MADE_STACK(&m, "main", name[i]), ROW_CPU, i ? 100 : 100000000);
	}
	text = write_picture(&m, &options, &written);
	check_xml(text);
	assert_int_equal(written.items, 2);
	assert_true(number_after(text, "data-narrow=\"") == 3);
	assert_non_null(strstr(text, ">1 frame is too narrow to draw at this zoom<"));
	assert_non_null(strstr(text, ">3 frames shorter than 8.504 ms left out; their time is in "
				     "their callers<"));
	assert_null(strstr(text, "narrow1"));
	assert_int_equal(sum_boxes(text, ns), 3);
	assert_true(ns[ROW_CPU] == 1000100000300.0);
	assert_int_equal(written.total[ROW_CPU], 1000100000300);
	free(text);
	made_end(&m);
}

static void a_deep_path_makes_a_picture_of_sane_height(void **state)
{
	enum { DEPTH = 100000 };
	uint32_t stack = RESULT_ROOT;
	struct written written;
	struct made_result m;
	double ns[ROW_KINDS] = {0};
	char *text;

	(void)state;
	made_begin(&m);
	for (int i = 0; i < DEPTH; i++)
		stack = made_push(&m, stack, "recursive");
	made_add(&m, stack, ROW_CPU, 1000);
	text = write_picture(&m, &options, &written);
	check_xml(text);
	assert_int_equal(written.items, 400);
	assert_true(number_after(text, "data-deep=\"") == DEPTH - 400);
	assert_non_null(strstr(text,
			       ">99,600 frames below row 400 left out; their time is in their "
			       "callers<"));
	assert_true(number_after(text, "\" height=\"") < 8000);
	assert_true(strlen(text) < 300000);
	sum_boxes(text, ns);
	assert_true(ns[ROW_CPU] == 1000);
	free(text);
	made_end(&m);
}

static void hostile_names_are_text(void **state)
{
	static const char *const names[] = {
		"</title></g><script>alert(1)</script>",
		"]]><script>alert(1)</script>",
		"\"><image href=\"x\" onerror=\"alert(1)\"/>",
		"' onload='alert(1)",
		"</script><!-- ",
		"<![CDATA[",
		"&amp;&#0;&bogus;",
		"\\\"\\u0022,alert(1)];//",
		"line\xe2\x80\xa8separator\xe2\x80\xa9",
		"\xff\xfe\x80wrong\xc3",
		"\xed\xa0\x80surrogate",
		"tab\tnewline\nreturn\rbell\a",
		"javascript:alert(1)",
		"${alert(1)}`",
		"\xf0\x9f\x98\x80 wide \xe4\xb8\xad\xe6\x96\x87",
		"",
	};
	enum { LENGTH = 1 << 20, COUNT = sizeof(names) / sizeof(names[0]) };
	char *longest = malloc(LENGTH + 1), *text;
	struct written written;
	struct made_result m;
	double ns[ROW_KINDS] = {0};

	(void)state;
	assert_non_null(longest);
	memset(longest, '<', LENGTH);
	longest[LENGTH] = '\0';
	made_begin(&m);
	m.result.totals.command = names[0];
	for (uint32_t i = 0; i <= COUNT; i++) {
		uint32_t stack = MADE_STACK(&m, i < COUNT ? names[i] : longest, names[i % COUNT]);

		m.frames[m.result.frame_count - 1].class = (enum frame_class)(i % FRAME_CLASSES);
		m.frames[m.result.frame_count - 1].module = i < COUNT ? names[i] : longest;
		m.frames[m.result.frame_count - 2].class = CLASS_PYTHON;
		m.frames[m.result.frame_count - 2].file = i < COUNT ? names[i] : longest;
		made_add(&m, stack, ROW_CPU, 100 + i);
	}
	text = write_picture(&m, &options, &written);
	check_xml(text);
	assert_int_equal(sum_boxes(text, ns), 2 * (COUNT + 1) + 1);
	assert_true(ns[ROW_CPU] == (COUNT + 1) * 100 + COUNT * (COUNT + 1) / 2.0);
	assert_true(strlen(text) < 200000);
	free(text);
	free(longest);
	made_end(&m);
}

/* Many long names: each is kept in part. */
static void the_names_have_a_bound(void **state)
{
	enum { NAMES = 10000, LENGTH = 4000 };
	char *names, *text;
	struct written written;
	struct made_result m;

	(void)state;
	SKIP_UNDER_VALGRIND();
	names = malloc((size_t)NAMES * LENGTH);
	assert_non_null(names);
	made_begin(&m);
	for (uint32_t i = 0; i < NAMES; i++) {
		char *name = names + (size_t)i * LENGTH;

		memset(name, 'n', LENGTH - 1);
		name[LENGTH - 1] = '\0';
		name[snprintf(name, 16, "%u", i)] = '_';
		made_add(&m, MADE_STACK(&m, name), ROW_CPU, 1000);
	}
	text = write_picture(&m, &options, &written);
	assert_int_equal(written.items, NAMES);
	assert_true(strlen(text) < 20 << 20);
	free(text);
	free(names);
	made_end(&m);
}

/* Random trees of random names: a picture that is well-formed, with the tree's sums. */
static void random_trees_add_up(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(100); round++) {
		struct prng p = prng_round(round);
		const struct writer_options o = {.unit_ns = 1,
						 .root_at_bottom = prng_chance(&p, 50)};
		double sum[ROW_KINDS] = {0}, ns[ROW_KINDS] = {0};
		struct written written;
		struct made_result m;
		char names[8][12], *text;

		for (int i = 0; i < 8; i++)
			for (int j = 0; j < 12; j++)
				names[i][j] = (char)(j < 11 ? 1 + prng_below(&p, 255) : 0);
		made_begin(&m);
		for (uint64_t n = prng_below(&p, 200); n > 0; n--) {
			enum row_kind kind = (enum row_kind)prng_below(&p, ROW_KINDS);
			uint64_t weight = prng_bits(&p, 40);
			uint32_t stack = RESULT_ROOT;

			for (uint64_t depth = prng_below(&p, 9); depth > 0; depth--) {
				stack = made_push(&m, stack, names[prng_below(&p, 8)]);
				m.frames[m.result.frame_count - 1].class =
					(enum frame_class)prng_below(&p, FRAME_CLASSES);
			}
			made_add(&m, stack, kind, weight);
			sum[kind] += (double)weight;
		}
		text = write_picture(&m, &o, &written);
		check_xml(text);
		EXPECT(&p, sum_boxes(text, ns) == written.items + 1);
		for (int k = 0; k < ROW_KINDS; k++) {
			EXPECT(&p, ns[k] == sum[k]);
			EXPECT(&p, (double)written.total[k] == sum[k]);
		}
		free(text);
		made_end(&m);
	}
}

static void a_full_disk_is_an_error(void **state)
{
	FILE *full = fopen("/dev/full", "w");
	struct written written;
	struct made_result m;

	(void)state;
	if (!full)
		SKIP("no /dev/full here");
	made_begin(&m);
	made_add(&m, MADE_STACK(&m, "main"), ROW_CPU, 1);
	assert_true(svg_writer.write(&m.result, &options, full, &written) < 0);
	fclose(full);
	made_end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_format_is_known_by_its_extension),
		cmocka_unit_test(totals_are_the_trees),
		cmocka_unit_test(the_legend_is_of_what_occurs),
		cmocka_unit_test(the_title_is_the_command),
		cmocka_unit_test(an_empty_profile_is_a_picture),
		cmocka_unit_test(the_root_is_at_the_top_or_at_the_bottom),
		cmocka_unit_test(narrow_frames_are_counted),
		cmocka_unit_test(narrow_frames_are_grey_where_they_are),
		cmocka_unit_test(a_deep_path_makes_a_picture_of_sane_height),
		cmocka_unit_test(hostile_names_are_text),
		cmocka_unit_test(the_names_have_a_bound),
		cmocka_unit_test(random_trees_add_up),
		cmocka_unit_test(a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
