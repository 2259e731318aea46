/* nghttp2.c -- libchela-h2.so: HTTP/2 frames in memory, with libnghttp2.
 *
 * A thin layer: the library implements frames, header compression, windows and
 * the rules for well-formed requests. This file turns its callbacks into the
 * events of chela/sys/http2.h. A stream that libchela has released has no user
 * data, so that late callbacks can be ignored. A request that the library finds
 * malformed is reset and never reported. */
#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "chela/sys/http2.h"
#include "chela/sys/module.h"

struct chela_http2 {
    nghttp2_session *session;
    const struct chela_http2_events *events;
    void *user;
    const uint8_t *rest; /* rest of a frame that did not fit into `drain`; owned by the library */
    size_t rest_n;
    size_t block;  /* decoded bytes of the current header block */
    bool stopped;  /* `decoded` wants no more */
};

#define FIELD_OVERHEAD 32 /* overhead of each field: RFC 9113, 6.5.2 */

static void *stream_of(nghttp2_session *session, int32_t id) {
    return nghttp2_session_get_stream_user_data(session, id);
}

/* --- receiving */

static bool begins_request(const nghttp2_frame *frame) {
    return frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST;
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    struct chela_http2 *h = user;
    h->block = 0;
    if (!begins_request(frame))
        return 0;
    void *stream = h->events->begin((uint32_t)frame->hd.stream_id, h->user);
    if (stream)
        return nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, stream);
    return nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                     NGHTTP2_REFUSED_STREAM);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags,
                     void *user) {
    struct chela_http2 *h = user;
    struct chela_http2_field field = {(const char *)name, name_n, (const char *)value, value_n};
    void *stream = stream_of(session, frame->hd.stream_id);
    (void)flags;
    size_t size = name_n + value_n + FIELD_OVERHEAD;
    h->block += size;
    h->stopped = h->events->decoded(size, h->block, h->user);
    if (h->stopped)
        return NGHTTP2_ERR_PAUSE;
    if (stream)
        h->events->field(stream, &field);
    return 0;
}

/* Rejects an invalid header field. By default the library would skip the field and accept
 * the request. */
static int on_invalid_header(nghttp2_session *session, const nghttp2_frame *frame,
                             const uint8_t *name, size_t name_n, const uint8_t *value,
                             size_t value_n, uint8_t flags, void *user) {
    (void)name, (void)name_n, (void)value, (void)value_n, (void)flags, (void)user;
    nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                              NGHTTP2_PROTOCOL_ERROR);
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static int nghttp2_on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    struct chela_http2 *h = user;
    bool last = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    void *stream = stream_of(session, frame->hd.stream_id);
    if (stream && begins_request(frame))
        h->events->head(stream, last);
    bool carries = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    /* The owner may have answered the head with a reset. */
    stream = carries && last ? stream_of(session, frame->hd.stream_id) : NULL;
    if (stream)
        h->events->whole(stream);
    return 0;
}

static int nghttp2_on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                           size_t n, void *user) {
    struct chela_http2 *h = user;
    void *stream = stream_of(session, id);
    (void)flags;
    if (stream)
        h->events->data(stream, data, n);
    return 0;
}

static int nghttp2_on_close(nghttp2_session *session, int32_t id, uint32_t code, void *user) {
    struct chela_http2 *h = user;
    void *stream = stream_of(session, id);
    (void)code;
    if (stream)
        h->events->closed(stream);
    return 0;
}

/* --- sending */

static ssize_t nghttp2_on_pull(nghttp2_session *session, int32_t id, uint8_t *out, size_t max,
                               uint32_t *flags, nghttp2_data_source *source, void *user) {
    struct chela_http2 *h = user;
    void *stream = stream_of(session, id);
    int last = 0;
    (void)source;
    size_t n = stream ? h->events->pull(stream, out, max, &last) : 0;
    if (last)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return n || last ? (ssize_t)n : NGHTTP2_ERR_DEFERRED;
}

static long h2_drain(struct chela_http2 *h, void *out, size_t max) {
    size_t n = 0;
    while (n < max) {
        if (!h->rest_n) {
            ssize_t got = nghttp2_session_mem_send(h->session, &h->rest);
            if (got < 0)
                return -1;
            if (got == 0)
                break;
            h->rest_n = (size_t)got;
        }
        size_t some = h->rest_n < max - n ? h->rest_n : max - n;
        memcpy((char *)out + n, h->rest, some);
        h->rest += some;
        h->rest_n -= some;
        n += some;
    }
    return (long)n;
}

static int h2_feed(struct chela_http2 *h, const void *data, size_t n, struct chela_error *err) {
    ssize_t taken = nghttp2_session_mem_recv(h->session, data, n);
    if (taken < 0)
        return ch_fail(err, CHELA_EPROTO, "HTTP/2: %s", nghttp2_strerror((int)taken));
    if (h->stopped)
        return ch_fail(err, CHELA_ELIMIT, "HTTP/2: too many header bytes");
    return CHELA_OK;
}

static int h2_finished(struct chela_http2 *h) {
    return !h->rest_n && !nghttp2_session_want_read(h->session) &&
           !nghttp2_session_want_write(h->session);
}

static int h2_respond(struct chela_http2 *h, uint32_t id, const struct chela_http2_field *fields,
                      size_t n, int has_body) {
    nghttp2_data_provider body = {.read_callback = nghttp2_on_pull};
    CH_AUTOFREE nghttp2_nv *list = ch_malloc((n + 1) * sizeof(*list));
    for (size_t i = 0; i < n; i++) {
        const struct chela_http2_field *f = &fields[i];
        list[i] = (nghttp2_nv){(uint8_t *)(uintptr_t)f->name, (uint8_t *)(uintptr_t)f->value,
                               f->name_n, f->value_n, NGHTTP2_NV_FLAG_NONE};
    }
    int rc = nghttp2_submit_response(h->session, (int32_t)id, list, n, has_body ? &body : NULL);
    return rc < 0 ? CHELA_ESTATE : CHELA_OK;
}

static void h2_proceed(struct chela_http2 *h, uint32_t id) {
    nghttp2_nv status = {(uint8_t *)(uintptr_t) ":status", (uint8_t *)(uintptr_t) "100", 7, 3,
                         NGHTTP2_NV_FLAG_NONE};
    nghttp2_submit_headers(h->session, NGHTTP2_FLAG_NONE, (int32_t)id, NULL, &status, 1, NULL);
}

static void h2_resume(struct chela_http2 *h, uint32_t id) {
    nghttp2_session_resume_data(h->session, (int32_t)id);
}

static void h2_reset(struct chela_http2 *h, uint32_t id, uint32_t code) {
    nghttp2_session_set_stream_user_data(h->session, (int32_t)id, NULL);
    nghttp2_submit_rst_stream(h->session, NGHTTP2_FLAG_NONE, (int32_t)id, code);
}

static void h2_leave(struct chela_http2 *h, uint32_t code) {
    if (code != NGHTTP2_NO_ERROR)
        nghttp2_session_terminate_session(h->session, code);
    else
        nghttp2_submit_goaway(h->session, NGHTTP2_FLAG_NONE,
                              nghttp2_session_get_last_proc_stream_id(h->session), code, NULL, 0);
}

/* --- creating and ending */

static void h2_close(struct chela_http2 *h) {
    if (!h)
        return;
    nghttp2_session_del(h->session);
    ch_free(h);
}

static void listen_to(nghttp2_session_callbacks *callbacks) {
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, on_invalid_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, nghttp2_on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, nghttp2_on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, nghttp2_on_close);
}

static int nghttp2_new_session(struct chela_http2 *h) {
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_option *option = NULL;
    int rc = nghttp2_session_callbacks_new(&callbacks);
    if (rc == 0)
        rc = nghttp2_option_new(&option);
    if (rc == 0) {
        listen_to(callbacks);
        nghttp2_option_set_no_closed_streams(option, 1);
        rc = nghttp2_session_server_new2(&h->session, callbacks, h, option);
    }
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    return rc;
}

static int greet(nghttp2_session *session, const struct chela_http2_settings *s) {
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, s->header_table},
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, s->streams},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, s->window},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, s->header_list},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };
    int rc = nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings,
                                     sizeof(settings) / sizeof(settings[0]));
    if (rc < 0)
        return rc;
    return nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0,
                                                 (int32_t)s->connection_window);
}

static int h2_open(const struct chela_http2_settings *settings,
                   const struct chela_http2_events *events, void *user, struct chela_http2 **out,
                   struct chela_error *err) {
    struct chela_http2 *h = ch_alloc(sizeof(*h));
    h->events = events;
    h->user = user;
    int rc = nghttp2_new_session(h);
    if (rc == 0)
        rc = greet(h->session, settings);
    if (rc < 0) {
        h2_close(h);
        return ch_fail(err, CHELA_EPROTO, "HTTP/2: %s", nghttp2_strerror(rc));
    }
    *out = h;
    return CHELA_OK;
}

static const struct chela_http2_ops ops = {
    .name = "nghttp2",
    .open = h2_open,
    .close = h2_close,
    .feed = h2_feed,
    .drain = h2_drain,
    .finished = h2_finished,
    .respond = h2_respond,
    .proceed = h2_proceed,
    .resume = h2_resume,
    .reset = h2_reset,
    .leave = h2_leave,
};

CHELA_API const struct chela_module chela_module;
const struct chela_module chela_module = {CHELA_MODULE_ABI, "h2", "http2", &ops};
