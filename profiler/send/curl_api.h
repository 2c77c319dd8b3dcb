/* SPDX-License-Identifier: MIT */
/*
 * Loads libcurl at run time: profile starts without libcurl and builds without its headers.
 *
 * The functions, options and codes in use are declared here. tests/unit/test_curl_api.c compares
 * all values with curl/curl.h if the header is installed.
 *
 * Source: curl/curl.h of libcurl 7.88. The numbers never change (soname libcurl.so.4, since 2006).
 * A release that does not know an option returns an error code, which may be ignored.
 */
#ifndef PROFILER_SEND_CURL_API_H
#define PROFILER_SEND_CURL_API_H

#include <stdbool.h>

/* CURLoption */
enum {
	CURL_API_OPT_WRITEDATA = 10001,
	CURL_API_OPT_URL = 10002,
	CURL_API_OPT_ERRORBUFFER = 10010,
	CURL_API_OPT_POSTFIELDS = 10015,
	CURL_API_OPT_USERAGENT = 10018,
	CURL_API_OPT_HTTPHEADER = 10023,
	CURL_API_OPT_NOPROGRESS = 43,
	CURL_API_OPT_POST = 47,
	CURL_API_OPT_FOLLOWLOCATION = 52,
	CURL_API_OPT_XFERINFODATA = 10057,
	CURL_API_OPT_CAINFO = 10065,
	CURL_API_OPT_ACCEPT_ENCODING = 10102,
	CURL_API_OPT_NOSIGNAL = 99,
	CURL_API_OPT_POSTFIELDSIZE_LARGE = 30120,
	CURL_API_OPT_TIMEOUT_MS = 155,
	CURL_API_OPT_CONNECTTIMEOUT_MS = 156,
	CURL_API_OPT_PROTOCOLS = 181, /* bit mask; in releases before and after 7.85 */
	CURL_API_OPT_HEADERDATA = 10029,
	CURL_API_OPT_WRITEFUNCTION = 20011,
	CURL_API_OPT_HEADERFUNCTION = 20079,
	CURL_API_OPT_XFERINFOFUNCTION = 20219,
	CURL_API_OPT_QUICK_EXIT = 322, /* since 7.87 */
};

/* CURLcode */
enum {
	CURL_API_OK = 0,
	CURL_API_COULDNT_RESOLVE_PROXY = 5,
	CURL_API_COULDNT_RESOLVE_HOST = 6,
	CURL_API_COULDNT_CONNECT = 7,
	CURL_API_PARTIAL_FILE = 18,
	CURL_API_OPERATION_TIMEDOUT = 28,
	CURL_API_ABORTED_BY_CALLBACK = 42,
	CURL_API_GOT_NOTHING = 52,
	CURL_API_SEND_ERROR = 55,
	CURL_API_RECV_ERROR = 56,
};

enum { CURL_API_GLOBAL_ALL = 3 };
enum { CURL_API_PROTO_HTTP = 1, CURL_API_PROTO_HTTPS = 2 };
enum { CURL_API_INFO_RESPONSE_CODE = 0x200002, CURL_API_INFO_RETRY_AFTER = 0x600039 };
#define CURL_API_ERROR_SIZE 256

/* Functions of libcurl. Handles are CURL * and struct curl_slist *. */
struct curl_api {
	int (*global_init)(long flags);
	void *(*easy_init)(void);
	int (*easy_setopt)(void *curl, int option, ...);
	int (*easy_perform)(void *curl);
	int (*easy_getinfo)(void *curl, int info, ...);
	void (*easy_cleanup)(void *curl);
	const char *(*easy_strerror)(int code);
	void *(*slist_append)(void *list, const char *text);
	void (*slist_free_all)(void *list);
};

/*
 * Loads libcurl for the lifetime of the process. Returns false if libcurl is not installed or too
 * old.
 */
bool curl_api_load(struct curl_api *api);

/* Advice for a machine without libcurl. */
#define CURL_API_MISSING \
	"sending over HTTP needs libcurl: install libcurl4 (Debian, Ubuntu) or libcurl (Fedora)"

#endif
