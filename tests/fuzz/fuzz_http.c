/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as what servers answer to profiles, and, up to the first NUL, as URLs, header fields
 * and labels: reasons are texts, and what is accepted keeps what headers promise.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/send/engine.h"
#include "profiler/send/http_headers.h"
#include "profiler/send/http_url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_answer(const struct engine *engine, const void *answer, size_t size)
{
	char why[HTTP_WHY_BYTES] = "";

	if (engine->accepts && !engine->accepts(answer, size, why) && !*why)
		abort();
	if (!memchr(why, '\0', sizeof(why)))
		abort();
}

static void check_url(const char *text)
{
	char shown[HTTP_URL_BYTES], *address;
	struct http_url url, again;
	const char *why;

	if (!http_url_parse(&url, text)) {
		http_url_show(&url, shown, sizeof(shown));
		if (http_url_parse(&again, shown) || again.user || again.query ||
		    again.host_size != url.host_size || again.is_secure != url.is_secure)
			abort();
	}
	if (engine_find(text, &address, &why)) {
		if (http_url_parse(&url, address) && strlen(address) < HTTP_URL_BYTES)
			abort();
	} else if (!why || address) {
		abort();
	}
	free(address);
}

static void check_headers(const char *text)
{
	struct http_headers headers = {.count = 0};

	http_headers_add(&headers, text);
	for (uint32_t i = 0; i < headers.count; i++)
		if (strpbrk(headers.lines[i], "\r\n") || !strpbrk(headers.lines[i], ":;"))
			abort();
	http_headers_release(&headers);
}

static void check_label(const char *text)
{
	struct engine_label label;

	if (!engine_parse_label(text, &label) && (label.name_size == 0 || label.value[-1] != '=' ||
						  !*label.value || strpbrk(label.value, ",{}\n")))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* answers end with a NUL, as http_request.h has it, which is not part of them */
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	check_answer(&engine_pyroscope, text, size);
	check_answer(&engine_parca, text, size);
	check_answer(&engine_otlp, text, size);
	check_url(text);
	check_headers(text);
	check_label(text);
	free(text);
	return 0;
}
