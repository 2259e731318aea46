/* feishu.h -- what the files of the Feishu channel share (Lark is the same
 * service under another name).
 *
 *   feishu_seal.c     is this callback genuine?          pure
 *   feishu_message.c  what does its message say?         pure
 *   feishu_post.c     Markdown in parts that fit         pure
 *   feishu_card.c     cards to decide by                 pure
 *   feishu_frame.c    frames of the long connection      pure
 *   feishu_api.c      calls of the open platform: tokens, retries, codes
 *   feishu_line.c     the long connection: events come to us
 *   feishu_fetch.c    names, what is quoted, files
 *   feishu_upload.c   files to the service
 *   feishu_out.c      answers, and that somebody is at work
 *   feishu_act.c      messages taken back, members removed
 *   feishu_stream.c   answers that people see grow
 *   feishu_survey.c   is the app set up as it should be?
 *   feishu.c          the channel made of these */
#ifndef CH_CHANNEL_FEISHU_H
#define CH_CHANNEL_FEISHU_H
#include "base/limits.h"
#include "channel/parts.h"
#include "channel/rules.h"
#include "chela/sys/tls.h"
#include "json/writer.h"

/* --- feishu_seal.c */

struct ch_feishu_keys { /* borrowed */
    const char *app_id, *token;
    const char *encrypt_key; /* NULL: callbacks are neither encrypted nor signed */
    const struct chela_tls_ops *cipher; /* needed with encrypt_key */
};

struct ch_feishu_letter {
    struct ch_sv challenge; /* p set: the service wants to see this again, no more */
    struct ch_sv type;      /* "im.message.receive_v1" */
    const struct ch_json *event;
};

/* Open a callback. 0, or the status to refuse it with and *why. */
int ch_feishu_unseal(const struct ch_feishu_keys *k, const struct ch_callback *in,
                     struct ch_arena *a, struct ch_feishu_letter *out, const char **why);
/* What came over a connection of our own: it needs no seal, and must be for us. */
int ch_feishu_unwrap(const struct ch_feishu_keys *k, const struct ch_json *v,
                     struct ch_feishu_letter *out, const char **why);

/* --- feishu_message.c */

struct ch_feishu_file {
    const char *key;
    struct ch_sv name; /* as its sender calls it; may be empty */
    bool picture;
};

struct ch_feishu_mention {
    struct ch_sv open_id;
    const struct ch_feishu_mention *next; /* NULL: the last */
};

struct ch_feishu_message { /* all of it lives in the arena it was read in */
    const char *id, *chat, *thread, *parent; /* the last two may be NULL */
    const char *open_id, *union_id, *user_id; /* of its sender; may be NULL */
    bool direct;      /* between two */
    bool from_person; /* and not from a program */
    int64_t ts;
    struct ch_sv text; /* as people read it, without being addressed */
    const struct ch_feishu_mention *mentions; /* NULL: nobody is mentioned */
    struct ch_feishu_file files[CH_LIMIT_MESSAGE_FILES];
    size_t nfiles; /* what is beyond the limit is left out */
};

/* What a content says. CHELA_EPARSE, CHELA_ELIMIT. */
int ch_feishu_words(struct ch_sv type, struct ch_sv content, const struct ch_json *mentions,
                    struct ch_arena *a, struct ch_sv *out);

/* event: of im.message.receive_v1; *out keeps no pointer into event. bot: our
 * open_id, which is left out of the text; NULL: unknown yet. CHELA_EPARSE: event has
 * no ids, or no content. */
int ch_feishu_read(const struct ch_json *event, const char *bot, struct ch_arena *a,
                   struct ch_feishu_message *out, struct chela_error *err);
/* Who wrote it, for the rules. */
struct ch_author ch_feishu_author(const struct ch_feishu_message *m, const char *bot);

/* --- feishu_post.c */

/* The next part of a text as the `content` of a post; false: there is none. */
bool ch_feishu_part(struct ch_parts *rest, struct ch_buf *content);
/* The same as Markdown. */
bool ch_feishu_cut(struct ch_parts *rest, struct ch_buf *part);

/* --- feishu_card.c */

/* Bytes: quoted twice they grow to four times as many, and a card takes 30 KB. */
#define CH_FEISHU_QUESTION 6000

void ch_feishu_card_ask(struct ch_buf *out, const char *text, const char *session,
                        const char *approval);
/* What the service is told about a decision: a note for who decided, and the
 * card as it is from now on. */
void ch_feishu_card_decided(struct ch_buf *out, const struct ch_decision *d, const char *what,
                            const struct chela_error *err);
void ch_feishu_card_toast(struct ch_buf *out, const char *type, const char *text);

struct ch_feishu_press {
    const char *open_id, *chat; /* whose, and where */
    struct ch_decision decision;
};
/* event: of card.action.trigger. false: it is no button of ours. */
bool ch_feishu_card_read(const struct ch_json *event, struct ch_arena *a,
                         struct ch_feishu_press *out);

/* --- feishu_api.c */

struct ch_feishu_api;

struct ch_feishu_answer {
    int64_t code;            /* the service's own; 0: done. -1: there is none */
    int status;              /* of HTTP; 0: no answer came */
    const char *why;         /* if it was not done: code and text, or what failed */
    int64_t wait_ms;         /* that it asked for; 0: nothing */
    const struct ch_json *json; /* all of it; NULL */
    struct ch_sv body;          /* of a download */
};
typedef void ch_feishu_fn(const struct ch_feishu_answer *a, void *user);

/* base: "https://open.feishu.cn". Texts are copied. */
struct ch_feishu_api *ch_feishu_api_new(chela_runtime *rt, const char *base, const char *app_id,
                                        const char *secret);
bool ch_feishu_api_is_idle(const struct ch_feishu_api *api); /* no call is under way */
void ch_feishu_api_close(struct ch_feishu_api *api); /* no callback after this */
/* path: "/open-apis/...". body: JSON, copied; NULL: none. fn, which may be NULL,
 * is called once, later. */
void ch_feishu_call(struct ch_feishu_api *api, const char *method, const char *path,
                    const char *body, ch_feishu_fn *fn, void *user);
/* GET of a file, of at most CH_LIMIT_CHANNEL_FILE bytes. */
void ch_feishu_download(struct ch_feishu_api *api, const char *path, ch_feishu_fn *fn, void *user);
/* POST of a form; body is taken, type borrowed until fn. */
void ch_feishu_send_form(struct ch_feishu_api *api, const char *path, const char *type,
                         struct ch_buf *body, ch_feishu_fn *fn, void *user);
/* What failed is not about this call: the network, the service, our token, or
 * that there were too many. */
bool ch_feishu_may_pass(const struct ch_feishu_answer *a);
/* POST without a token. */
void ch_feishu_ask(struct ch_feishu_api *api, const char *path, const char *body,
                   ch_feishu_fn *fn, void *user);

/* --- feishu_survey.c: struct ch_channel_ops' survey */
#define CH_FEISHU_TOKEN_PATH "/open-apis/auth/v3/tenant_access_token/internal"
void ch_feishu_survey(chela_runtime *rt, const struct chela_channel_opts *o, struct ch_jw *w);
/* feishu.c: where the platform is; domain as in the options. */
const char *ch_feishu_base(const char *domain);

/* --- feishu_line.c */

struct ch_feishu_line;
struct ch_feishu_ack;

/* An event as JSON; borrowed. ch_feishu_line_ack follows once, now or later. */
typedef void ch_feishu_event_fn(struct ch_sv event, struct ch_feishu_ack *ack, void *user);

/* Keeps a connection open from now on. api must outlive it; texts are copied. */
struct ch_feishu_line *ch_feishu_line_new(chela_runtime *rt, struct ch_feishu_api *api,
                                          const char *app_id, const char *secret,
                                          ch_feishu_event_fn *fn, void *user);
/* All acks that are due are gone with it. */
/* Hang up, for good. True: nobody acknowledges anything any more. */
bool ch_feishu_line_leave(struct ch_feishu_line *l);
const char *ch_feishu_line_trouble(const struct ch_feishu_line *l); /* NULL: none */
void ch_feishu_line_close(struct ch_feishu_line *l);
/* code: 200: it need not come again; 500: it should. answer: JSON for the
 * service; n 0: none. */
void ch_feishu_line_ack(struct ch_feishu_ack *a, int code, struct ch_sv answer);

/* --- feishu_fetch.c */

struct ch_feishu_fetch;

/* api, borrowed, is closed first. */
struct ch_feishu_fetch *ch_feishu_fetch_new(chela_runtime *rt, struct ch_feishu_api *api);
void ch_feishu_fetch_free(struct ch_feishu_fetch *d);
/* struct ch_channel_ops' prepare; in->message is a struct ch_feishu_message. */
void ch_feishu_prepare(struct ch_feishu_fetch *d, struct ch_arrival *in, struct ch_arena *a,
                       const char *workspace, void (*done)(void *), void *tag);

/* --- feishu_upload.c */

struct ch_feishu_upload;
/* key NULL: it did not work, `why` not; again: it may, later. */
typedef void ch_feishu_key_fn(const char *key, bool picture, bool again, const char *why,
                              void *user);
/* fn is called once, later, and the upload is gone then. */
struct ch_feishu_upload *ch_feishu_upload(chela_runtime *rt, struct ch_feishu_api *api,
                                          const char *workspace, const char *path,
                                          ch_feishu_key_fn *fn, void *user);
/* No callback after this; api was closed. */
void ch_feishu_upload_drop(struct ch_feishu_upload *u);

/* --- feishu_stream.c */

struct ch_feishu_stream;

/* api, borrowed, is closed first. */
struct ch_feishu_stream *ch_feishu_stream_new(const struct ch_channel_host *host,
                                              struct ch_feishu_api *api);
void ch_feishu_stream_free(struct ch_feishu_stream *st);
/* No call, nor a note, is under way. */
bool ch_feishu_stream_is_idle(const struct ch_feishu_stream *st);
/* struct ch_channel_ops' stream: all that the answer to `in` says so far; and that
 * there will be no more of it. */
void ch_feishu_stream_text(struct ch_feishu_stream *st, const struct ch_arrival *in,
                           struct ch_sv text);
void ch_feishu_stream_over(struct ch_feishu_stream *st, const char *to);
/* struct ch_channel_ops' remind, and reminded. */
void ch_feishu_stream_recall(struct ch_feishu_stream *st, const char *id, struct ch_sv data);
void ch_feishu_stream_recalled(struct ch_feishu_stream *st);

enum ch_feishu_ended {
    CH_ENDED_SHOWN, /* the card shows it; note: id of its message */
    CH_ENDED_LATER, /* it did not work, and may, later; note: why */
    CH_ENDED_NONE,  /* there is no card any more: send it as any other */
};
typedef void ch_feishu_ended_fn(enum ch_feishu_ended what, const char *note, int64_t wait_ms,
                                void *user);
/* The answer that goes to `to` begins with text: that becomes what its card shows,
 * and fn is called once, later. false: there is no card. */
bool ch_feishu_stream_end(struct ch_feishu_stream *st, const char *to, struct ch_sv text,
                          ch_feishu_ended_fn *fn, void *user);
/* It was sent, or never will be. */
void ch_feishu_stream_forget(struct ch_feishu_stream *st, const char *to);

/* --- feishu_out.c */

struct ch_feishu_out;

/* Where a message goes, of "CHAT MESSAGE thread"; all but the first may be missing. */
struct ch_feishu_place {
    struct ch_sv chat, message;
    bool thread;
};
struct ch_feishu_place ch_feishu_place(const char *to);
/* An id under which the service takes a message once: of part `part` of what has
 * this key. */
void ch_feishu_add_uuid(struct ch_jw *w, const char *key, unsigned part);

/* api and stream, which are borrowed, go first. */
struct ch_feishu_out *ch_feishu_out_new(const struct ch_channel_host *host,
                                        struct ch_feishu_api *api,
                                        struct ch_feishu_stream *stream);
void ch_feishu_out_free(struct ch_feishu_out *o);
void ch_feishu_deliver(struct ch_feishu_out *o, const struct chela_outbound *m);
/* struct ch_channel_ops' react. */
void ch_feishu_react(struct ch_feishu_out *o, const char *message, const char *emoji,
                     ch_acted_fn *done, void *tag);
/* Mark a message that was written at ts, or no longer. */
void ch_feishu_working(struct ch_feishu_out *o, const char *message, int64_t ts, bool at_work);

/* --- feishu_act.c: struct ch_channel_ops' unsend and remove */

struct ch_feishu_acts;

/* api, borrowed, is closed first. */
struct ch_feishu_acts *ch_feishu_acts_new(struct ch_feishu_api *api);
void ch_feishu_acts_free(struct ch_feishu_acts *s);
void ch_feishu_unsend(struct ch_feishu_acts *s, const char *message, ch_acted_fn *done, void *tag);
void ch_feishu_remove(struct ch_feishu_acts *s, const char *chat, const char *member,
                      ch_acted_fn *done, void *tag);

#endif
