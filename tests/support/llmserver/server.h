/* server.h -- the parts of the test server: a request, the problems found in it, the output
 * with faults, and the protocols. */
#ifndef LLMSERVER_SERVER_H
#define LLMSERVER_SERVER_H
#include <stdbool.h>
#include <stddef.h>

#include "json.h"

enum api { API_NONE, API_ANTHROPIC, API_OPENAI, API_RESPONSES, API_GEMINI, API_INTERACTIONS,
           API_BEDROCK };

struct header {
    char *name, *value; /* name in lower case */
};

struct request {
    char *method, *path;
    struct header headers[64];
    size_t nheaders;
    struct text body;
    struct json *json; /* NULL when the body is not JSON */
    const char *json_why;
    enum api api;
    char model[128]; /* model in the path, where the protocol has it there */
    bool stream;
    char scenario[64], instance[64];
    unsigned number; /* number of this request within scenario and instance, from 0 */
    unsigned conn;
};
const char *request_header(const struct request *rq, const char *name); /* NULL: absent */

/* Problems that a vendor would refuse, and mistakes that it would accept. A fatal problem is
 * answered with HTTP 400. */
struct problems {
    struct text list; /* JSON strings, comma separated */
    char fatal[300];  /* the first fatal one, or "" */
};
void check_request(const struct request *rq, struct problems *out);
/* The signature that this server adds to a thinking text and expects back. */
void thinking_signature(const char *text, size_t n, char out[32]);

/* The output of an answer's body, with the faults that a reply's description requests: cut,
 * drip, crlf, garbage. */
struct out {
    int fd;
    bool chunked, dead;
    const char *eol;
    long cut; /* bytes of the body after which the connection goes silent; -1: never */
    bool reset;
    long linger_ms; /* silence before the end of the body */
    long drip_ms;
    size_t piece;
    size_t sent;
};
void out_init(struct out *o, int fd, const struct json *reply);
void out_head(struct out *o, int status, const char *type, const struct text *extra, long length);
void out_body(struct out *o, const void *p, size_t n);
void out_event(struct out *o, const char *name, const struct text *data); /* name may be NULL */
void out_end(struct out *o);
/* Waits for ms, or until the client has gone. */
void out_wait(struct out *o, long ms);
void out_raw(struct out *o, const void *p, size_t n);

/* The bytes of "text", {"hex": "ff"}, {"repeat": "x", "times": 9}, {"deep": 9}. */
void add_piece(struct text *t, const struct json *piece);
/* Writes one reply of a conversation in the format of a protocol. */
void render_stream(struct out *o, const struct request *rq, const struct json *reply);
void render_whole(struct text *body, const struct request *rq, const struct json *reply);
/* Fills the body and returns the HTTP status. */
int render_error(struct text *body, const struct request *rq, const struct json *error);

/* bedrock.c, bedrock_check.c, sigv4.c: Amazon's Converse. */
void bedrock_stream(struct out *o, const struct request *rq, const struct json *reply);
void bedrock_whole(struct text *body, const struct request *rq, const struct json *reply);
int bedrock_error(struct text *body, const struct json *error);
const char *bedrock_error_type(const struct json *error);
void bedrock_check(const struct request *rq, struct problems *out);
/* False: why describes the problem with the request's signature. */
bool sigv4_verify(const struct request *rq, char *why, size_t room);

#endif
