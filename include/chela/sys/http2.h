/* http2.h -- the vtable of an HTTP/2 module: the side of a server.
 *
 * The module reads and writes frames in memory; net/ moves the bytes and decides
 * what is answered and what is too much. All calls happen on the loop thread.
 * Events fire inside `feed` and `drain` alone; in an event everything may be called
 * but these two and `close`. */
#ifndef CHELA_SYS_HTTP2_H
#define CHELA_SYS_HTTP2_H
#include <stddef.h>
#include <stdint.h>

#include "chela/error.h"
CHELA_BEGIN_DECLS

struct chela_http2; /* one connection */

/* Of RFC 9113, section 7: those that we say. */
enum chela_http2_code {
    CHELA_HTTP2_NO_ERROR = 0x0,
    CHELA_HTTP2_PROTOCOL_ERROR = 0x1,
    CHELA_HTTP2_REFUSED_STREAM = 0x7,
    CHELA_HTTP2_CANCEL = 0x8,
    CHELA_HTTP2_ENHANCE_YOUR_CALM = 0xb
};

struct chela_http2_field {
    const char *name; /* lower case; ":path" and its like are fields too */
    size_t name_n;
    const char *value;
    size_t value_n;
};

/* What the client is told that it may do. */
struct chela_http2_settings {
    uint32_t streams;           /* open at once */
    uint32_t header_list;       /* bytes of the headers of one request */
    uint32_t header_table;      /* bytes of the table that compresses them */
    uint32_t window;            /* bytes of a body on their way, of one stream */
    uint32_t connection_window; /* and of all of them */
};

struct chela_http2_events {
    /* A request begins. What is returned stands for its stream below, until
     * `closed`, or `reset` is called; NULL: it is refused, and may be tried again
     * elsewhere. */
    void *(*begin)(uint32_t id, void *user);
    void (*field)(void *stream, const struct chela_http2_field *field);
    void (*head)(void *stream, int last); /* these were all; last: no body follows */
    void (*data)(void *stream, const void *data, size_t n);
    void (*whole)(void *stream); /* the body was all of it, and as long as announced */
    /* The next bytes of an answer's body, up to max: how many; 0 with *last unset:
     * none now, `resume` will tell. */
    size_t (*pull)(void *stream, void *out, size_t max, int *last);
    void (*closed)(void *stream); /* by either side, whole or not; not seen again */
    /* A field was decoded, before `field` and also where no stream is known. A few bytes
     * may refer to a large field, so its decoded size is what it costs. size: of the field
     * as RFC 9113, 6.5.2 counts it; block: of all fields of this block so far. Non-zero:
     * `feed` decodes nothing more and returns CHELA_ELIMIT. */
    int (*decoded)(size_t size, size_t block, void *user);
};

struct chela_http2_ops {
    const char *name; /* "nghttp2" */

    int (*open)(const struct chela_http2_settings *settings,
                const struct chela_http2_events *events, void *user, struct chela_http2 **out,
                struct chela_error *err);
    void (*close)(struct chela_http2 *h); /* no event follows */

    /* Bytes of the client, its preface first; they are consumed whole. Negative:
     * there is nobody to talk to, or `decoded` has stopped it (CHELA_ELIMIT); nothing
     * may be fed after that. */
    int (*feed)(struct chela_http2 *h, const void *data, size_t n, struct chela_error *err);
    /* Bytes for the client: > 0 count, 0 none now, negative: failed. */
    long (*drain)(struct chela_http2 *h, void *out, size_t max);
    /* Nothing more is to be said or heard: the connection can be closed. */
    int (*finished)(struct chela_http2 *h);

    /* The head of an answer, copied; ":status" comes first. */
    int (*respond)(struct chela_http2 *h, uint32_t id, const struct chela_http2_field *fields,
                   size_t n, int has_body);
    void (*proceed)(struct chela_http2 *h, uint32_t id); /* 100: send the body */
    void (*resume)(struct chela_http2 *h, uint32_t id);  /* there is something to pull */
    void (*reset)(struct chela_http2 *h, uint32_t id, uint32_t code); /* no event of it follows */
    /* No new streams; with another code than NO_ERROR nothing else either. */
    void (*leave)(struct chela_http2 *h, uint32_t code);
};

CHELA_END_DECLS
#endif
