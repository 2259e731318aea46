/* http1.h -- the grammar of an HTTP/1.1 message, request or response (RFC 9112).
 *
 * Bytes in, parts out, without a socket or a clock. The verdict does not depend on how the
 * bytes are split. A message is accepted only if every reader finds the same end of it:
 * lines end with CR LF, versions are 1.0 and 1.1, names are tokens that a colon follows at
 * once, no line continues another, and no message has two lengths. Everything else is a
 * fault, because a proxy in front of this parser may read it differently.
 *
 * The head is kept as text until the owner releases it; limits.h bounds its size. Data of
 * the body is not copied: ch_http1_feed returns the part of its input that is data. */
#ifndef CH_NET_HTTP1_H
#define CH_NET_HTTP1_H
#include "base/buf.h"

enum ch_http1_state {
    CH_HTTP1_MORE,  /* needs more bytes */
    CH_HTTP1_HEAD,  /* the head is complete: inspect it, then continue feeding */
    CH_HTTP1_DATA,  /* a part of the body */
    CH_HTTP1_DONE,  /* the message is complete; bytes not taken do not belong to it */
    CH_HTTP1_FAULT, /* see `fault` */
};

struct ch_http1 {
    struct ch_buf text;  /* the lines of the head, without line ends; names in lower case */
    struct ch_buf spans; /* offsets of each header in text */
    size_t max_text;     /* most bytes of the head */
    size_t max_headers;
    size_t line;         /* where the current line begins in text */
    size_t spent;        /* bytes of chunk extensions and trailers */
    uint64_t length;     /* length of the body, if has_length */
    uint64_t left;       /* bytes left of the body or of the chunk */
    uint32_t target, target_n; /* target of a request, in text */
    int status;                /* status of a response; 0: not read yet */
    int fault;                 /* HTTP status that describes the fault; 0: none */
    const char *why;           /* static; describes the fault */
    char method[12];           /* of a request */
    unsigned char at;          /* place in the message; see http1.c */
    unsigned char digits, blank; /* digits of the chunk size; empty lines before the message */
    bool response;
    bool proxied; /* a request to a proxy: CONNECT, and a full URL as the target, are valid */
    bool no_body; /* the owner knows that no body follows, whatever the head says */
    bool old;     /* HTTP/1.0 */
    bool has_length, chunked;
    bool keeps_alive; /* the sender will keep the connection open */
    bool upgrade;     /* the sender wants another protocol */
};

void ch_http1_init(struct ch_http1 *m, bool response, size_t max_text, size_t max_headers);
void ch_http1_release(struct ch_http1 *m);
/* Release the text of the head, which is delivered. */
void ch_http1_drop_head(struct ch_http1 *m);
/* Read another message on the same connection: the final response after an interim one. */
void ch_http1_next(struct ch_http1 *m);

/* Consume some of the bytes, *taken of them. *data: a part of the body, inside bytes, if the
 * state is DATA. Call again, also with no bytes, after HEAD and DATA. The last byte of a
 * head is not taken before the call after HEAD. */
enum ch_http1_state ch_http1_feed(struct ch_http1 *m, struct ch_sv bytes, size_t *taken,
                                  struct ch_sv *data);
/* After DATA: move the data of the whole chunks that follow to `out`, which is at or before
 * bytes. Returns the number of bytes written. *taken as above; the rest is for
 * ch_http1_feed. */
size_t ch_http1_move_chunks(const struct ch_http1 *m, struct ch_sv bytes, size_t *taken,
                            char *out);
/* The peer has closed the connection. True if that is the end of the message. */
bool ch_http1_eof(const struct ch_http1 *m);

/* --- the head */

bool ch_http1_is_method(struct ch_sv text); /* a method of RFC 9110 or of WebDAV */
bool ch_http1_is_token(struct ch_sv text);
/* A value holds no control characters except tabs. */
bool ch_http1_is_value(struct ch_sv text);
/* Parse a content length: digits only. False: not a length, or too large for any body. */
bool ch_http1_read_length(struct ch_sv text, uint64_t *out);
/* Add a header that another parser has read; name in lower case. Negative: a bound. */
int ch_http1_add(struct ch_http1 *m, struct ch_sv name, struct ch_sv value);

size_t ch_http1_count(const struct ch_http1 *m); /* number of headers */
/* The header at i: name in lower case, value without white space around it. */
void ch_http1_header_at(const struct ch_http1 *m, size_t i, struct ch_sv *name,
                        struct ch_sv *value);

#endif
