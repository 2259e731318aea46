/* wecom_post.h -- messages, streams, cards and files out. */
#ifndef CH_CHANNEL_WECOM_POST_H
#define CH_CHANNEL_WECOM_POST_H
#include "channel/wecom/wecom.h"

/* An answer that grows, or that the service fetches. */
struct ch_wecom_stream {
    struct ch_link link; /* in the channel's streams */
    char *id, *req;      /* owned; req: of the message, or its response_url; may be NULL */
    char *message;       /* owned: id of the message that is answered; may be NULL */
    struct ch_buf text;
    bool finish;         /* text is complete */
    bool over;           /* the service was told that the text is complete */
    int64_t since, left; /* ms: begin; left: end of a run without an answer, 0: none */
};
struct ch_wecom_stream *ch_wecom_stream(struct ch_wecom *w, const char *id, const char *req);
struct ch_wecom_stream *ch_wecom_stream_find(const struct ch_wecom *w, const char *id);
void ch_wecom_stream_free(struct ch_wecom *w, struct ch_wecom_stream *s);
/* Body of a stream message. */
void ch_wecom_write_stream(struct ch_jw *j, const char *id, struct ch_sv text, bool finish);

struct ch_wecom_post {
    struct ch_kit_job job; /* in the channel's jobs */
    struct ch_link waits;  /* in the channel's waiting */
    struct ch_wecom *w;
    char *message;            /* owned: the message that is answered; may be NULL */
    char *chat, *handle, *id; /* owned; handle may be NULL; id of the stream */
    char *name, *approval;    /* owned; may be NULL */
    struct ch_buf text;       /* the text, or the bytes of a file */
    size_t sent;              /* bytes of the file */
    char *upload;             /* owned: id of the upload */
    bool picture, growing, first, repeated;
    int64_t until; /* ms, callback mode: time by which the service should have fetched the answer */
    chela_channel_posted_fn *done;
    void *tag;
};
void ch_wecom_post(void *self, const struct chela_channel_post *p, chela_channel_posted_fn *done,
                   void *tag);
void ch_wecom_post_end(struct ch_wecom_post *p, enum chela_receipt what, const char *why,
                       int64_t wait_ms);
void ch_wecom_working(void *self, const struct chela_channel_arrival *in, int at_work);
/* A press of a button: body and request id of its event. */
void ch_wecom_press(struct ch_wecom *w, const struct ch_json *body, const char *req);
/* Once a second: ends streams without an answer. */
void ch_wecom_streams_sweep(struct ch_wecom *w);

#endif
