// SPDX-License-Identifier: MIT
#include "profiler/send/http_url.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/text.h"

static bool is_port(unsigned long number)
{
	return number >= 1 && number <= UINT16_MAX;
}

/* Returns whether the text is an IPv6 address, maybe with a zone (IFNAMSIZ) behind % or %25. */
static bool is_address(const char *text, size_t size)
{
	const char *percent = memchr(text, '%', size);
	size_t length = percent ? (size_t)(percent - text) : size, zone = size - length;
	char address[INET6_ADDRSTRLEN];
	struct in6_addr parsed;

	if (length >= sizeof(address))
		return false;
	memcpy(address, text, length);
	address[length] = '\0';
	if (zone > 2 && memcmp(percent, "%25", 3) == 0)
		zone -= 2;
	return inet_pton(AF_INET6, address, &parsed) == 1 && (!percent || zone > 1) &&
	       zone <= IFNAMSIZ;
}

/*
 * Returns whether the text is a host of RFC 3986 with an optional port: a name, an address, or an
 * [address] with a zone.
 */
static bool is_host(const char *host, size_t size)
{
	const char *end = host + size, *colon;
	size_t digits;

	if (*host == '[') {
		const char *close = memchr(host, ']', size);

		if (!close || !is_address(host + 1, (size_t)(close - host) - 1))
			return false;
		for (const char *c = host + 1; c < close; c++)
			if (!isalnum((unsigned char)*c) && !strchr(":.%-_", *c))
				return false;
		colon = close + 1;
	} else {
		for (colon = host; colon < end && *colon != ':'; colon++)
			if (!isalnum((unsigned char)*colon) && !strchr(".-_", *colon))
				return false;
		if (colon == host)
			return false;
	}
	if (colon == end)
		return true;
	digits = (size_t)(end - colon) - 1;
	return *colon == ':' && digits >= 1 && digits <= 5 &&
	       strspn(colon + 1, "0123456789") >= digits && is_port(strtoul(colon + 1, NULL, 10));
}

/* Returns whether the user part has neither another @ nor encoded control characters. */
static bool is_user(const char *user, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (user[i] == '@' ||
		    (user[i] == '%' && i + 2 < size && (user[i + 1] == '0' || user[i + 1] == '1') &&
		     isxdigit((unsigned char)user[i + 2])))
			return false;
	return true;
}

const char *http_url_parse(struct http_url *url, const char *text)
{
	const char *at, *end;

	memset(url, 0, sizeof(*url));
	if (strncasecmp(text, "https://", 8) == 0)
		url->is_secure = true;
	else if (strncasecmp(text, "http://", 7) != 0)
		return "it must begin with http:// or https://";
	if (strlen(text) >= HTTP_URL_BYTES)
		return "it is too long";
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == 0x7f || *c == '\\')
			return "it has a space or a character that must be encoded (%20)";
	url->host = text + (url->is_secure ? 8 : 7);
	end = url->host + strcspn(url->host, "/?#");
	at = memrchr(url->host, '@', (size_t)(end - url->host));
	if (at) {
		url->user = url->host;
		url->user_size = (size_t)(at - url->host);
		url->host = at + 1;
	}
	if (!is_user(url->user, url->user_size))
		return "its user or password has a character that must be encoded (an @ is %40)";
	url->host_size = (size_t)(end - url->host);
	if (url->host_size == 0 || !is_host(url->host, url->host_size))
		return "its host or port is missing or wrong";
	url->path = end;
	url->path_size = strcspn(end, "?#");
	end += url->path_size;
	if (*end == '?') {
		url->query = end + 1;
		url->query_size = strcspn(url->query, "#");
	}
	return NULL;
}

void http_url_show(const struct http_url *url, char *out, size_t size)
{
	snprintf(out, size, "http%s://%.*s%.*s", url->is_secure ? "s" : "", (int)url->host_size,
		 url->host, (int)url->path_size, url->path);
}

static int digit(char c)
{
	return hex_digit((char)tolower((unsigned char)c));
}

size_t http_url_decode(char *text, size_t size)
{
	size_t to = 0;

	for (size_t from = 0; from < size; from++) {
		if (text[from] == '%' && from + 2 < size && digit(text[from + 1]) >= 0 &&
		    digit(text[from + 2]) >= 0) {
			text[to++] = (char)(digit(text[from + 1]) << 4 | digit(text[from + 2]));
			from += 2;
		} else {
			text[to++] = text[from];
		}
	}
	return to;
}

void http_url_encode(FILE *out, const char *text)
{
	for (; *text; text++) {
		bool plain = isalnum((unsigned char)*text) || strchr("-._~", *text);

		fprintf(out, plain ? "%c" : "%%%02X", (unsigned char)*text);
	}
}
