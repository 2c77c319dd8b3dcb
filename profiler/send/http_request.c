// SPDX-License-Identifier: MIT
#include "profiler/send/http_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/version.h"
#include "profiler/send/curl_api.h"
#include "symbolize/util/monotonic.h"
#include "symbolize/util/text.h"

#define QUOTED_BYTES 160 /* bytes of an answer quoted to the user */
#define LONGEST_WAIT_S 3600

struct http_request {
	struct curl_api api;
	void *curl;
	void *fields; /* header fields, a curl_slist */
	char *url;
	uint32_t request_ms;
	struct http_shown shown;
	char curl_error[CURL_API_ERROR_SIZE];
	/* state of the attempt */
	bool (*ends)(void *context);
	void *context;
	struct http_outcome *outcome;
	size_t answered;
	int64_t header_ms; /* time when the last header so far was complete; 0: incomplete */
};

/* ---- setting up ---- */

static bool add_field(struct http_request *r, const char *line)
{
	void *longer = r->api.slist_append(r->fields, line);

	if (longer)
		r->fields = longer;
	return longer != NULL;
}

static bool add_fields(struct http_request *r, const struct http_target *target)
{
	char type[128];

	snprintf(type, sizeof(type), "Content-Type: %s", target->content_type);
	if (!add_field(r, type))
		return false;
	if (target->is_compressed && !add_field(r, "Content-Encoding: gzip"))
		return false;
	for (uint32_t i = 0; i < r->shown.headers.count; i++)
		if (!add_field(r, r->shown.headers.lines[i]))
			return false;
	return add_field(r, "Expect:"); /* send the body without waiting for "100 Continue" */
}

static void keep_answer(struct http_outcome *o, const char *data, size_t size)
{
	size_t room = HTTP_ANSWER_BYTES - o->answer_size, kept = size < room ? size : room;

	memcpy(o->answer + o->answer_size, data, kept);
	o->answer_size += (uint32_t)kept;
	o->answer[o->answer_size] = '\0';
}

/* Counts bytes of an answer. Returns 0 beyond the limit, which ends the transfer. */
static size_t count_answer(struct http_request *r, size_t size)
{
	r->answered += size;
	return r->answered > HTTP_ANSWER_LIMIT ? 0 : size;
}

static size_t take_field(char *data, size_t one, size_t size, void *context)
{
	struct http_request *r = context;

	(void)one;
	if (size >= 5 && memcmp(data, "HTTP/", 5) == 0)
		r->header_ms = 0;
	else if (size > 0 && (data[0] == '\r' || data[0] == '\n'))
		r->header_ms = monotonic_ms(); /* the empty line ends the header */
	if (size > 5 && strncasecmp(data, "grpc-", 5) == 0)
		keep_answer(r->outcome, data, size);
	return count_answer(r, size);
}

/* Keeps the first bytes of an answer's body. */
static size_t take_answer(char *data, size_t one, size_t size, void *context)
{
	struct http_request *r = context;

	(void)one;
	keep_answer(r->outcome, data, size);
	return count_answer(r, size);
}

/* Returns whether the answer's body has stalled: the header arrived HTTP_ANSWER_MS ago. */
static bool is_stalled(const struct http_request *r)
{
	long status = 0;

	if (!r->header_ms || monotonic_ms() < r->header_ms + HTTP_ANSWER_MS)
		return false;
	r->api.easy_getinfo(r->curl, CURL_API_INFO_RESPONSE_CODE, &status);
	return status >= 200; /* neither an interim answer nor a proxy's */
}

/* Progress callback of curl, called at least once a second. Returns nonzero to give up. */
static int is_too_late(void *context, int64_t to_receive, int64_t received, int64_t to_send,
		       int64_t sent)
{
	struct http_request *r = context;

	(void)to_receive;
	(void)received;
	return (sent >= to_send && is_stalled(r)) || r->ends(r->context);
}

/*
 * Sets the CA file as the curl command does. libcurl itself only uses the system's certificates.
 */
static bool set_ca_file(struct http_request *r, const char *ca_file)
{
	if (!ca_file)
		ca_file = secure_getenv("SSL_CERT_FILE");
	return !ca_file || !*ca_file || !r->api.easy_setopt(r->curl, CURL_API_OPT_CAINFO, ca_file);
}

static char *whole_url(const struct http_url *url, const struct http_target *target)
{
	const char *end = target->url + strcspn(target->url, "#");
	char *whole;

	if (asprintf(&whole, "%.*s%s%s", (int)(end - target->url), target->url,
		     !target->query ? ""
		     : url->query   ? "&"
				    : "?",
		     target->query ? target->query : "") < 0)
		return NULL;
	return whole;
}

static bool set_up(struct http_request *r)
{
	int (*set)(void *, int, ...) = r->api.easy_setopt;
	long protocols = CURL_API_PROTO_HTTP | CURL_API_PROTO_HTTPS;

	set(r->curl, CURL_API_OPT_QUICK_EXIT, 1L); /* may fail: unknown to old releases */
	return !set(r->curl, CURL_API_OPT_URL, r->url) &&
	       !set(r->curl, CURL_API_OPT_PROTOCOLS, protocols) &&
	       !set(r->curl, CURL_API_OPT_FOLLOWLOCATION, 0L) &&
	       !set(r->curl, CURL_API_OPT_NOSIGNAL, 1L) &&
	       !set(r->curl, CURL_API_OPT_USERAGENT, "profile/" PROFILE_VERSION) &&
	       !set(r->curl, CURL_API_OPT_HTTPHEADER, r->fields) &&
	       !set(r->curl, CURL_API_OPT_ACCEPT_ENCODING,
		    "") && /* all encodings that libcurl supports */
	       !set(r->curl, CURL_API_OPT_POST, 1L) &&
	       !set(r->curl, CURL_API_OPT_ERRORBUFFER, r->curl_error) &&
	       !set(r->curl, CURL_API_OPT_WRITEFUNCTION, take_answer) &&
	       !set(r->curl, CURL_API_OPT_WRITEDATA, r) &&
	       !set(r->curl, CURL_API_OPT_HEADERFUNCTION, take_field) &&
	       !set(r->curl, CURL_API_OPT_HEADERDATA, r) &&
	       !set(r->curl, CURL_API_OPT_XFERINFOFUNCTION, is_too_late) &&
	       !set(r->curl, CURL_API_OPT_XFERINFODATA, r) &&
	       !set(r->curl, CURL_API_OPT_NOPROGRESS, 0L);
}

struct http_request *http_request_new(const struct http_target *target, char why[HTTP_WHY_BYTES])
{
	struct http_request *r = calloc(1, sizeof(*r));
	struct http_url url;

	snprintf(why, HTTP_WHY_BYTES, "out of memory");
	if (!r || !http_shown_read(&r->shown, target->url, target->headers, why))
		goto fail;
	if (!curl_api_load(&r->api)) {
		snprintf(why, HTTP_WHY_BYTES, "%s", CURL_API_MISSING);
		goto fail;
	}
	http_url_parse(&url, target->url);
	r->url = whole_url(&url, target);
	r->request_ms = target->request_ms ? target->request_ms : HTTP_REQUEST_MS;
	r->curl = r->api.easy_init();
	if (r->url && r->curl && add_fields(r, target) && set_ca_file(r, target->ca_file) &&
	    set_up(r))
		return r;
fail:
	http_request_free(r);
	return NULL;
}

void http_request_free(struct http_request *r)
{
	if (!r)
		return;
	if (r->curl)
		r->api.easy_cleanup(r->curl);
	if (r->fields)
		r->api.slist_free_all(r->fields);
	http_shown_release(&r->shown);
	free(r->url);
	free(r);
}

/* ---- what became of it ---- */

static const char *hint(long status)
{
	static const struct {
		long status;
		const char *text;
	} hints[] = {{401, ": credentials are missing or wrong"},
		     {403, ": credentials are missing or wrong"},
		     {404, ": it takes nothing at this path"},
		     {405, ": it takes nothing at this path"},
		     {413, ": it takes no body of this size"},
		     {429, ": it is busy"},
		     {503, ": it is busy"}};

	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
		if (hints[i].status == status)
			return hints[i].text;
	return status / 100 == 3
		       ? ": a redirect, which is not followed; give the URL that it leads to"
		       : "";
}

/*
 * Returns whether the answer is a page for browsers. Some servers answer every request with such a
 * page, without taking it.
 */
static bool is_page(const struct http_outcome *o)
{
	static const char mark[] = "\xef\xbb\xbf"; /* byte order mark in UTF-8 */
	const char *text = o->answer + (starts_with(o->answer, mark) ? strlen(mark) : 0);

	return text[strspn(text, " \t\r\n")] == '<';
}

/* Explains a status, and quotes the first line of the answer if the line may be shown. */
static void explain_status(const struct http_request *r, struct http_outcome *o)
{
	char first[QUOTED_BYTES];
	size_t size = strcspn(o->answer, "\r\n");
	bool quotes;

	if (o->status < 300) {
		snprintf(o->why, sizeof(o->why),
			 "%.200s answered with a page for browsers: it takes nothing at this path",
			 r->shown.server);
		return;
	}
	snprintf(first, sizeof(first), "%.*s", (int)(size < INT32_MAX ? size : 0), o->answer);
	clean_text(first);
	quotes = *first && *first != '<' && !http_shown_is_secret(&r->shown, o->answer);
	snprintf(o->why, sizeof(o->why), "%.200s answered %ld%s%s%s%s", r->shown.server, o->status,
		 hint(o->status), quotes ? " (" : "", quotes ? first : "", quotes ? ")" : "");
}

/* Returns whether an error of libcurl may quote the URL of a proxy, whole or truncated. */
static bool may_quote_url(const char *error)
{
	return strstr(error, "://") || strchr(error, '@') ||
	       strlen(error) >= CURL_API_ERROR_SIZE - 1;
}

static void explain_failure(const struct http_request *r, int code, struct http_outcome *o)
{
	const char *text = *r->curl_error && !may_quote_url(r->curl_error)
				   ? r->curl_error
				   : r->api.easy_strerror(code);

	if (code == CURL_API_ABORTED_BY_CALLBACK || code == CURL_API_OPERATION_TIMEDOUT)
		text = "no answer in time";
	snprintf(o->why, sizeof(o->why), "%.200s: %s", r->shown.server, text);
	clean_text(o->why);
}

static bool is_passing(int code)
{
	static const int passing[] = {CURL_API_COULDNT_RESOLVE_PROXY,
				      CURL_API_COULDNT_RESOLVE_HOST,
				      CURL_API_COULDNT_CONNECT,
				      CURL_API_PARTIAL_FILE,
				      CURL_API_OPERATION_TIMEDOUT,
				      CURL_API_GOT_NOTHING,
				      CURL_API_SEND_ERROR,
				      CURL_API_RECV_ERROR};

	for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++)
		if (passing[i] == code)
			return true;
	return false;
}

static void classify_outcome(struct http_request *r, int code, struct http_outcome *o)
{
	int64_t wait_s = 0;

	r->api.easy_getinfo(r->curl, CURL_API_INFO_RESPONSE_CODE, &o->status);
	/* An answer counts even if the rest of its body is missing, since the server must not get
	 * the body twice. An interim answer (1xx) does not count. */
	if (o->status >= 200 && (code == CURL_API_OK || r->header_ms)) {
		o->is_accepted = o->status < 300 && !is_page(o);
		o->is_cut = code != CURL_API_OK;
		o->is_worth_a_retry = o->status == 429 || (o->status >= 502 && o->status <= 504);
		r->api.easy_getinfo(r->curl, CURL_API_INFO_RETRY_AFTER, &wait_s);
		if (wait_s > 0)
			o->wait_s = (uint32_t)(wait_s < LONGEST_WAIT_S ? wait_s : LONGEST_WAIT_S);
		if (!o->is_accepted)
			explain_status(r, o);
		return;
	}
	o->status = 0;
	o->is_worth_a_retry = is_passing(code);
	explain_failure(r, code, o);
}

void http_request_post(struct http_request *r, const void *body, size_t size, int64_t limit_ms,
		       bool (*ends)(void *context), void *context, struct http_outcome *outcome)
{
	long limit = (long)(limit_ms < 1 ? 1 : limit_ms < r->request_ms ? limit_ms : r->request_ms);
	long connect = limit < HTTP_CONNECT_MS ? limit : HTTP_CONNECT_MS;

	*outcome = (struct http_outcome){0};
	r->outcome = outcome;
	r->ends = ends;
	r->context = context;
	r->answered = 0;
	r->header_ms = 0;
	r->curl_error[0] = '\0';
	r->api.easy_setopt(r->curl, CURL_API_OPT_TIMEOUT_MS, limit);
	r->api.easy_setopt(r->curl, CURL_API_OPT_CONNECTTIMEOUT_MS, connect);
	r->api.easy_setopt(r->curl, CURL_API_OPT_POSTFIELDSIZE_LARGE, (int64_t)size);
	r->api.easy_setopt(r->curl, CURL_API_OPT_POSTFIELDS, body);
	classify_outcome(r, r->api.easy_perform(r->curl), outcome);
	r->outcome = NULL;
}
