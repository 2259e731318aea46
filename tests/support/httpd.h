/* httpd.h -- a scripted HTTP server that lives in the test's own loop.
 *
 * It collects one request at a time (head and counted body) and calls the test. The answer
 * is a list of steps, performed in order: bytes, pauses, an end of some kind. Bytes are sent
 * exactly as given, so a test can send any malformed answer. Everything happens on one
 * thread. */
#ifndef SUPPORT_HTTPD_H
#define SUPPORT_HTTPD_H
#include <uv.h>

#include "base/buf.h"
#include "base/sv.h"

struct httpd;
struct httpd_conn;

/* request: head and body as received; empty when called for a new connection
 * (see on_accept). Append steps with the functions below. */
typedef void httpd_fn(struct httpd_conn *c, struct ch_sv request, void *user);

/* A layer between the socket and HTTP, such as TLS. */
struct httpd_layer {
    void *(*open)(void *arg);
    void (*close)(void *layer);
    /* Feed bytes from the client; returns plain bytes and bytes for the client. */
    void (*feed)(void *layer, struct ch_sv bytes, struct ch_buf *plain, struct ch_buf *out);
    void (*seal)(void *layer, struct ch_sv plain, struct ch_buf *out);
    void (*end)(void *layer, struct ch_buf *out); /* proper end of the stream */
};

struct httpd_opts {
    httpd_fn *on_request;
    httpd_fn *on_accept; /* optional */
    void *user;
    const struct httpd_layer *layer; /* optional */
    void *layer_arg;
};

struct httpd *httpd_new(uv_loop_t *loop, const struct httpd_opts *opts);
void httpd_close(struct httpd *s); /* freed after the loop has closed all handles */
unsigned httpd_port(const struct httpd *s);
unsigned httpd_accepted(const struct httpd *s); /* number of connections so far */
unsigned httpd_requests(const struct httpd *s);
unsigned httpd_open(const struct httpd *s); /* number of open connections */

/* Steps. Text is copied. */
void httpd_send(struct httpd_conn *c, struct ch_sv bytes);
void httpd_sends(struct httpd_conn *c, const char *text);
void httpd_pause(struct httpd_conn *c, unsigned ms);
void httpd_end(struct httpd_conn *c);   /* end the stream properly and close */
void httpd_cut(struct httpd_conn *c);   /* close the socket without ending the stream */
void httpd_reset(struct httpd_conn *c); /* RST */
/* No more HTTP: forward bytes unchanged to 127.0.0.1:port and back. */
void httpd_tunnel(struct httpd_conn *c, unsigned port);
/* Number of the request on this connection, from 1; number of the connection. */
unsigned httpd_turn(const struct httpd_conn *c);
unsigned httpd_number(const struct httpd_conn *c);

#endif
