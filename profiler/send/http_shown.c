// SPDX-License-Identifier: MIT
#include "profiler/send/http_shown.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECRET_BYTES 4 /* minimum length of a credential */

/* Returns whether a proxy variable of libcurl has credentials. */
static bool has_proxy_secrets(void)
{
	static const char *const names[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
					    "ALL_PROXY"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *proxy = getenv(names[i]);

		if (proxy && strchr(proxy, '@'))
			return true;
	}
	return false;
}

bool http_shown_read(struct http_shown *s, const char *text, const char *headers,
		     char why[HTTP_WHY_BYTES])
{
	const char *wrong;
	struct http_url url;

	if ((wrong = http_url_parse(&url, text))) {
		snprintf(why, HTTP_WHY_BYTES, "the URL: %s", wrong);
		return false;
	}
	if ((wrong = http_headers_add(&s->headers, headers))) {
		snprintf(why, HTTP_WHY_BYTES, "the headers: %s", wrong);
		return false;
	}
	http_url_show(&url, s->server, sizeof(s->server));
	s->has_secrets = url.user_size || url.query_size || has_proxy_secrets();
	return true;
}

void http_shown_release(struct http_shown *s)
{
	http_headers_release(&s->headers);
}

static bool contains(const char *text, const char *secret, size_t size)
{
	return size >= SECRET_BYTES && memmem(text, strlen(text), secret, size);
}

bool http_shown_is_secret(const struct http_shown *s, const char *text)
{
	for (uint32_t i = 0; i < s->headers.count; i++) {
		const char *word = s->headers.lines[i] + strcspn(s->headers.lines[i], ":;");

		while (*(word += strspn(word, ":; \t"))) {
			size_t size = strcspn(word, ":; \t");

			if (contains(text, word, size))
				return true;
			word += size;
		}
	}
	return s->has_secrets; /* the server may spell these secrets in another way */
}
