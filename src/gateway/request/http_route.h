/* http_route.h -- from a request's target to a row of the table of routes.
 *
 * The table itself is server/http_routes.c; it reaches the other rooms as gw->routes. */
#ifndef CH_GATEWAY_HTTP_ROUTE_H
#define CH_GATEWAY_HTTP_ROUTE_H
#include "base/arena.h"
#include "base/buf.h"

struct ch_request;

/* Handles a request: responds exactly once, at once or later. */
typedef void ch_http_route_fn(struct ch_request *req);

enum ch_http_route_flags {
    CH_ROUTE_OPEN = 1,   /* needs no token: returns no secrets, or authenticates by itself */
    CH_ROUTE_SMALL = 2,  /* the body has a Content-Length of at most CH_LIMIT_CALLBACK */
    CH_ROUTE_SOCKET = 4, /* a WebSocket: the token may be among the subprotocols */
    CH_ROUTE_KEYED = 16, /* honours Idempotency-Key (idempotency.h) */
    CH_ROUTE_KEYED_SESSION = 32, /* the same for requests with X-Chela-Session */
    CH_ROUTE_RAW = 128,          /* the body is of any type; the handler parses it */
    CH_ROUTE_ONCE = 64,          /* an interrupted request is not run again under its key */
    /* Anthropic's protocol: the token may be in x-api-key. A GET route needs the header
     * anthropic-version, too. */
    CH_ROUTE_ANTHROPIC = 8,
    /* If gw->challenge is set, the handler checks bearer tokens that are not the gateway's. */
    CH_ROUTE_BEARER = 256,
};

struct ch_http_route {
    char method[8];   /* an array needs no relocation at start-up */
    const char *path; /* "/api/sessions/{}/events": {} matches one segment; NULL: the end */
    unsigned flags;
    ch_http_route_fn *run;
};

/* The decoded path of a target, in the arena, and its query, which is not decoded. p NULL:
 * the path is not canonical. Encoded slashes, backslashes and percent signs have stand-ins. */
struct ch_sv ch_http_route_decode_path(struct ch_arena *a, struct ch_sv target,
                                       struct ch_sv *query);
/* The text of a segment of a decoded path, in the arena. */
struct ch_sv ch_http_route_param(struct ch_arena *a, struct ch_sv word);
/* A decoded value of a query; control characters become spaces. */
struct ch_sv ch_http_route_decode_query(struct ch_arena *a, struct ch_sv text);
/* The number in a path segment; -1: not a number, or more than nine digits. A segment {n} of
 * a pattern matches a number. */
int64_t ch_http_route_number(struct ch_sv word);
/* NULL: no row matches; *other: a row with another method does. *param: the segment that
 * {} matched, borrowed from path; see ch_http_route_param. */
const struct ch_http_route *ch_http_route_find(const struct ch_http_route *table,
                                               const char *method, struct ch_sv path,
                                               struct ch_sv *param, bool *other);
/* Adds the methods of the rows that match the path: "GET, HEAD, POST". */
void ch_http_route_methods(const struct ch_http_route *table, struct ch_sv path,
                           struct ch_buf *out);

#endif
