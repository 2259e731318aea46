/* wecom.h -- shared declarations of the WeCom channel, a separate module.
 *
 *       wecom_message.c  messages of people                              pure
 *       wecom_seal.c     signatures and ciphers of callbacks and files
 *       wecom_line.c     the long connection: frames and their answers
 *       wecom_post.c     messages, streams, cards and files out
 *       wecom_hook.c     callback mode: requests, and answers that the service fetches
 *       wecom.c          the channel: set-up, files in, presses */
#ifndef CH_CHANNEL_WECOM_WECOM_H
#define CH_CHANNEL_WECOM_WECOM_H
#include "base/list.h"
#include "channel/kit.h"
#include "channel/kit/dial.h"
#include "channel/kit/job.h"
#include "json/writer.h"

struct ch_wecom {
    const struct chela_channel_host *host;
    char *bot;                    /* owned */
    char *url, *secret;           /* owned: of the long connection; NULL in callback mode */
    char *token;                  /* owned: of callbacks; NULL on the long connection */
    char *receiver;               /* owned: receiveid; "": a bot of one's own company */
    unsigned char key[32];        /* of callbacks */
    struct ch_list jobs, presses; /* in progress */
    struct ch_dial dial;          /* wecom_line.c */
    bool subscribed;
    struct ch_list frames; /* frames that are sent or wait to be sent */
    struct chela_channel_timer *sweep;
    struct ch_list streams; /* answers that grow, or that the service fetches */
    size_t nstreams;
    struct ch_list waiting; /* callback mode: posts that the service should fetch */
};

#define CH_WECOM_TEXT 20480
#define CH_WECOM_QUESTION 4000    /* bytes of a request for consent */
#define CH_WECOM_STREAM_MS 330000 /* a stream is used for this long; the service ends it after
                                   * six minutes */

/* --- wecom_message.c */

/* Parses the body of a message. The texts live in a. False: not a message that names its id and
 * sender. */
bool ch_wecom_read(const struct ch_json *v, struct ch_arena *a, struct chela_channel_message *out);
/* The chat of a message or an event; NULL: none. */
const char *ch_wecom_chat(const struct ch_json *v, struct ch_arena *a);
/* The handle of a file: its key ("-": none) and its URL. */
struct ch_wecom_file {
    struct ch_sv key, url;
};
struct ch_wecom_file ch_wecom_file(const char *handle);
/* Append a text as a block of code, so that it is shown exactly. */
void ch_wecom_exact(struct ch_buf *out, struct ch_sv text);

/* --- wecom_seal.c */

/* The key of 43 or 44 base64 characters; false: it is not one. */
bool ch_wecom_key(struct ch_sv text, unsigned char key[32]);
/* The signature of a callback, in hexadecimal digits. */
void ch_wecom_sign(const struct chela_channel_host *host, struct ch_sv token, struct ch_sv stamp,
                   struct ch_sv nonce, struct ch_sv sealed, char out[41]);
/* Decrypts the text of a callback; false: it is damaged, or for another receiver. */
bool ch_wecom_unseal(const struct chela_channel_host *host, const unsigned char key[32],
                     struct ch_sv sealed, struct ch_sv receiver, struct ch_buf *out);
/* random: 16 bytes */
bool ch_wecom_seal(const struct chela_channel_host *host, const unsigned char key[32],
                   const unsigned char random[16], struct ch_sv text, struct ch_sv receiver,
                   struct ch_buf *out);
/* Decrypts a file in place; the length, negative: it is damaged. */
long ch_wecom_unseal_file(const struct chela_channel_host *host, const unsigned char key[32],
                          struct ch_sv sealed, struct ch_buf *out);

/* --- wecom_line.c */

struct ch_wecom_answer {
    const struct ch_json *body; /* NULL: none */
    int64_t code;
    enum chela_receipt what;
    const char *why; /* if not SENT; borrowed */
    int64_t wait_ms;
};
typedef void ch_wecom_fn(const struct ch_wecom_answer *a, void *user);
/* Send a frame and wait for its answer. req NULL: an id of our own. The body is copied. fn may be
 * NULL; it is not called at once, nor after the channel has ended. */
void ch_wecom_send(struct ch_wecom *w, const char *cmd, const char *req, struct ch_sv body,
                   ch_wecom_fn *fn, void *user);
void ch_wecom_judge(int64_t code, struct ch_sv message, struct ch_arena *a,
                    struct ch_wecom_answer *out);
void ch_wecom_line_open(struct ch_wecom *w);
void ch_wecom_line_release(struct ch_wecom *w);

/* --- wecom_post.c */

/* An answer that grows, or that the service fetches. */
struct ch_wecom_stream {
    struct ch_link link; /* in the channel's streams */
    char *id, *req;      /* owned; req: of the message, or its response_url; may be NULL */
    char *message;       /* owned: id of the message that is answered; may be NULL */
    struct ch_buf text;
    bool finish;         /* text is complete */
    bool over;           /* the service knows that */
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
    struct ch_buf text;       /* or the bytes of a file */
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

/* --- wecom_hook.c */

void ch_wecom_receive(void *self, const struct chela_channel_callback *in, chela_channel_arena *a,
                      struct chela_channel_verdict *out);
void ch_wecom_hook_post(struct ch_wecom_post *p);
/* Once a second: answers that the service does not fetch are sent. */
void ch_wecom_hook_sweep(struct ch_wecom *w);

#endif
