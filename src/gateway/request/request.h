/* request.h -- one HTTP request in the gateway.
 *
 * A request belongs to its handler from route->run on. The handler responds once, which
 * frees the request. If the client disconnects first, the gateway calls on_disconnect; the
 * request is freed after on_disconnect returns. A handler that responds later keeps its own
 * struct in `user`, sets on_disconnect, and clears it before it responds. Loop thread only. */
#ifndef CH_GATEWAY_REQUEST_H
#define CH_GATEWAY_REQUEST_H
#include "gateway/request/gateway_state.h"
#include "gateway/request/http_route.h"
#include "json/json.h"
#include "json/writer.h"

struct ch_idempotent;
struct ch_lane;
struct ch_ws_peer;

struct ch_request {
    struct ch_link link; /* in the gateway's requests */
    chela_gateway *gw;
    struct ch_exchange *x; /* NULL: the client has left, or the request is nested */
    const struct ch_http_route *route;
    struct ch_arena arena;      /* holds everything that is read from the request */
    struct ch_sv param;         /* the segment that {} matched, decoded */
    int64_t number;             /* the last segment of the path, if it is a number; else -1 */
    struct ch_sv query;         /* not decoded */
    struct ch_sv session;       /* X-Chela-Session */
    struct ch_sv last_id;       /* Last-Event-ID */
    struct ch_sv traceparent;   /* trace context of the client, or below it; n 0: none */
    const char *caller;         /* trace context of the client, if telemetry is on; else NULL */
    struct ch_sv body;
    const struct ch_json *json; /* the parsed body; NULL: none */
    const char *id;             /* for the log, in the arena; see request_add_id */
    int64_t started;            /* monotonic */
    int status;
    bool is_anthropic; /* the client speaks Anthropic's protocol: its form of errors */
    bool streams; /* the response is a stream of events, or a WebSocket */
    bool quiet;   /* the response will be a stream: it begins after a while without an event */
    bool repeats; /* an interrupted request with the same key may have stored `event` */
    bool unknown; /* the request failed; the store may have `event` nevertheless */
    void (*on_disconnect)(struct ch_request *req);
    void *user; /* the handler's own */
    struct ch_idempotent *idempotent; /* the request runs under a key; else NULL */
    const char *event; /* the id for the event of the request; NULL: any */
    void (*on_lane)(struct ch_request *req, struct ch_lane *l, bool elsewhere); /* session_open.c */
    struct ch_ws_peer *peer; /* session_socket.c: the request became a WebSocket; else NULL */
    /* A nested request arrived in a frame of a WebSocket: x is NULL, and the response goes
     * to on_response. response_user NULL: the WebSocket is gone. */
    void (*on_response)(struct ch_request *req, int status, struct ch_sv json);
    void *response_user;
    const struct ch_json *ref; /* the client's name for the frame; NULL: none */
};

/* The id of an agent in the body; "": the first agent. A value of another type is the id of no
 * agent: the request must not go to the first one. */
struct ch_sv ch_request_agent_id(const struct ch_request *req, const char *member);

/* Checks the members that an object of the body has; null counts as absent. A value of another
 * type would be ignored: the request would have another effect than the client asked for.
 * where: of the object, as in "messages[]"; NULL: the body itself. members: names with one or two
 * types, as in "n:integer stream_options.include_usage:boolean system:string|array". CHELA_EINVAL:
 * the error names the member and its types. */
int ch_request_check_types(const struct ch_json *object, const char *where, const char *members,
                           struct chela_error *err);
/* The same for each element of a list, which must be objects; a value that is no list has none. */
int ch_request_check_each(const struct ch_json *list, const char *where, const char *members,
                          struct chela_error *err);

/* Each of these responds and frees the request. The JSON gets a final newline. */
void ch_request_respond(struct ch_request *req, int status, const char *type, struct ch_sv text);
void ch_request_respond_json(struct ch_request *req, int status, struct ch_buf *json);
/* {"error":{"message","type","param":null,"code"}}, the form that OpenAI's clients parse. */
void ch_request_fail(struct ch_request *req, int status, const char *code, const char *fmt, ...)
    CHELA_PRINTF(4, 5);
void ch_request_fail_with(struct ch_request *req, const struct chela_error *err);

/* The type of an error with this status, in the client's protocol: "rate_limit_error". */
const char *ch_request_error_type(const struct ch_request *req, int status);

/* Refuses the request with 401, 403 or 429. A wrong token counts as an attempt of its
 * network. */
void ch_request_refuse_token(struct ch_request *req, int status, const char *challenge,
                             const char *why);

/* Adds a header to the response; before one of the functions that respond. */
void ch_request_add_header(struct ch_request *req, const char *name, const char *value);

/* A response as server-sent events. Event name and id may be NULL. CHELA_ELIMIT: the client
 * reads too slowly; on_disconnect follows. Ending the stream frees the request. */
void ch_request_begin_stream(struct ch_request *req);
int ch_request_send_event(struct ch_request *req, const char *name, const char *id,
                          struct ch_sv data);
int ch_request_write(struct ch_request *req, struct ch_sv bytes); /* whole events */
/* Releases the texts of the request, for a handler that needs none of them while its stream
 * lasts: thousands of clients may follow events for hours. */
void ch_request_forget_texts(struct ch_request *req);
void ch_request_end_stream(struct ch_request *req);

/* A value of the query, not decoded; p NULL: absent. */
struct ch_sv ch_request_query(struct ch_request *req, const char *name);
/* A number of the query such as "limit=20", clamped to 1..max (0..max if `otherwise` is 0);
 * `otherwise` if absent. False: it is malformed, and the request is answered with 400. */
bool ch_request_query_number(struct ch_request *req, const char *name, int64_t otherwise,
                             int64_t max, int64_t *out);

/* A request inside a WebSocket; see on_response. */
struct ch_request *ch_request_nested(const struct ch_request *outer,
                                     void (*on_response)(struct ch_request *req, int status,
                                                         struct ch_sv json),
                                     void *user);

/* Callbacks of the server; the gateway is their argument. */
void ch_request_on_head(struct ch_exchange *x, void *gateway);
void ch_request_on_complete(struct ch_exchange *x, void *gateway);
void ch_request_on_refuse(struct ch_exchange *x, int status, const char *why, void *gateway);

/* All requests of a gateway: a keep-alive comment on every stream; the end of every stream
 * that needed the token, after the token has changed. */
void ch_requests_keep_alive(chela_gateway *gw);
void ch_requests_expel(chela_gateway *gw);

#endif
