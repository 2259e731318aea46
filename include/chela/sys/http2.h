/* http2.h -- the vtable of an HTTP/2 module, for servers.
 *
 * The module reads and writes frames in memory. The library moves the bytes, answers
 * requests and enforces limits. All functions are called on the loop thread. Events are
 * reported inside `feed` and `drain` only; an event may call every function except these
 * two and `close`. */
#ifndef CHELA_SYS_HTTP2_H
#define CHELA_SYS_HTTP2_H
#include <stddef.h>
#include <stdint.h>

#include "chela/error.h"
CHELA_BEGIN_DECLS

struct chela_http2; /* one connection */

/* The error codes of RFC 9113, section 7, that the library sends. */
enum chela_http2_code {
    CHELA_HTTP2_NO_ERROR = 0x0,
    CHELA_HTTP2_PROTOCOL_ERROR = 0x1,
    CHELA_HTTP2_REFUSED_STREAM = 0x7,
    CHELA_HTTP2_CANCEL = 0x8,
    CHELA_HTTP2_ENHANCE_YOUR_CALM = 0xb
};

/* A header field. */
struct chela_http2_field {
    const char *name; /* lower case; ":path" and other pseudo-headers are fields, too */
    size_t name_n;
    const char *value;
    size_t value_n;
};

/* The limits that are announced to the client. */
struct chela_http2_settings {
    uint32_t streams;           /* streams that are open at the same time */
    uint32_t header_list;       /* bytes of the headers of a request */
    uint32_t header_table;      /* bytes of the table for header compression */
    uint32_t window;            /* flow-control window of a stream, in bytes */
    uint32_t connection_window; /* flow-control window of the connection, in bytes */
};

/* The events of a connection. */
struct chela_http2_events {
    /* A request starts. The result is the `stream` of the other events, until `closed`, or
     * until `reset` is called. NULL: refuse the request; the client may repeat it. */
    void *(*begin)(uint32_t id, void *user);
    void (*field)(void *stream, const struct chela_http2_field *field);
    void (*head)(void *stream, int last); /* end of the headers; last: there is no body */
    void (*data)(void *stream, const void *data, size_t n);
    void (*whole)(void *stream); /* end of the body; the length is as announced */
    /* Write up to max bytes of the response's body to out. Returns the number; 0 without
     * *last: none yet, `resume` follows. */
    size_t (*pull)(void *stream, void *out, size_t max, int *last);
    void (*closed)(void *stream); /* closed by either side; the last event of the stream */
    /* A field was decoded, before `field` and also if its stream is unknown. A few bytes may
     * refer to a large field, so the decoded size is its cost. size: of the field, as counted
     * by RFC 9113, 6.5.2; block: of all fields of this block so far. Nonzero: `feed` decodes
     * nothing more and returns CHELA_ELIMIT. */
    int (*decoded)(size_t size, size_t block, void *user);
};

/* The functions of the module. */
struct chela_http2_ops {
    const char *name; /* "nghttp2" */

    /* Open a connection. events and user are borrowed until `close`. */
    int (*open)(const struct chela_http2_settings *settings,
                const struct chela_http2_events *events, void *user, struct chela_http2 **out,
                struct chela_error *err);
    void (*close)(struct chela_http2 *h); /* no event follows */

    /* Process bytes of the client, beginning with the connection preface. All bytes are
     * consumed. Negative: the connection failed, or `decoded` stopped it (CHELA_ELIMIT); do
     * not call `feed` again. */
    int (*feed)(struct chela_http2 *h, const void *data, size_t n, struct chela_error *err);
    /* Write bytes for the client to out. Returns their number; 0: none now; negative: the
     * connection failed. */
    long (*drain)(struct chela_http2 *h, void *out, size_t max);
    /* Nonzero: there is nothing more to send or to receive; close the connection. */
    int (*finished)(struct chela_http2 *h);

    /* Send the headers of a response, ":status" first; they are copied. */
    int (*respond)(struct chela_http2 *h, uint32_t id, const struct chela_http2_field *fields,
                   size_t n, int has_body);
    void (*proceed)(struct chela_http2 *h, uint32_t id); /* send status 100 */
    void (*resume)(struct chela_http2 *h, uint32_t id);  /* `pull` has bytes again */
    void (*reset)(struct chela_http2 *h, uint32_t id, uint32_t code); /* no event follows */
    /* Accept no new streams (GOAWAY). A code other than NO_ERROR ends all streams. */
    void (*leave)(struct chela_http2 *h, uint32_t code);
};

CHELA_END_DECLS
#endif
