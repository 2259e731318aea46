/* h2client.h -- an HTTP/2 client that writes its frames by hand, so that it can write frames
 * that no library would. Received frames are kept in a list; headers are decoded by
 * libnghttp2's inflater. */
#ifndef TEST_SUPPORT_H2CLIENT_H
#define TEST_SUPPORT_H2CLIENT_H
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum h2_type {
    H2_DATA,
    H2_HEADERS,
    H2_PRIORITY,
    H2_RST_STREAM,
    H2_SETTINGS,
    H2_PUSH_PROMISE,
    H2_PING,
    H2_GOAWAY,
    H2_WINDOW_UPDATE,
    H2_CONTINUATION
};
enum { H2_END_STREAM = 1, H2_ACK = 1, H2_END_HEADERS = 4, H2_WHOLE = 5 };

#define H2_NEWEST ((char)(128 + 62)) /* a reference to the newest field of the table */

struct h2_frame {
    enum h2_type type;
    unsigned flags;
    uint32_t id;
    size_t at, n; /* its payload in `in` */
    int status;   /* of HEADERS */
    uint32_t code; /* error code of RST_STREAM and GOAWAY */
};

struct h2_client {
    int fd;
    bool ended;       /* the other side has closed */
    struct ch_buf in; /* all that came */
    size_t read;      /* number of bytes already split into frames */
    struct h2_frame frames[1024];
    size_t nframes;
    void *inflater;
};

/* Use a connected socket, which is closed in the end. Sends the preface and settings;
 * window: number of bytes that a stream may send to the client at first, 0 for 65535. */
void h2_begin(struct h2_client *c, int fd, uint32_t window);
void h2_end(struct h2_client *c);

void h2_add_frame(struct ch_buf *out, unsigned type, unsigned flags, uint32_t id,
                  struct ch_sv payload);
void h2_add_field(struct ch_buf *out, const char *name, struct ch_sv value);
/* The same, but the server keeps the field in its table: the newest such field is H2_NEWEST. */
void h2_add_kept(struct ch_buf *out, const char *name, struct ch_sv value);
/* The usual pseudo headers. */
void h2_add_head(struct ch_buf *out, const char *method, const char *path);

void h2_say(struct h2_client *c, struct ch_sv bytes);
void h2_say_frame(struct h2_client *c, unsigned type, unsigned flags, uint32_t id,
                  struct ch_sv payload);
/* A request; more: further fields, encoded, may be empty. */
void h2_ask(struct h2_client *c, uint32_t id, unsigned flags, const char *method, const char *path,
            struct ch_sv more);

/* Read the available data. Returns the first frame of this type on this stream, or NULL. */
void h2_hear(struct h2_client *c);
const struct h2_frame *h2_find(const struct h2_client *c, enum h2_type type, uint32_t id);
int h2_status(struct h2_client *c, uint32_t id); /* status of the answer; 0: none yet */
size_t h2_body(const struct h2_client *c, uint32_t id); /* bytes of the body received so far */

#endif
