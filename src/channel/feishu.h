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

/* Bytes: quoted twice they grow to four times as many, and a card takes 30 KB. */
#define CH_FEISHU_QUESTION 6000

struct ch_feishu_press {
    const char *open_id, *chat; /* whose, and where */
    struct ch_decision decision;
};

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

#define CH_FEISHU_TOKEN_PATH "/open-apis/auth/v3/tenant_access_token/internal"
/* feishu.c: where the platform is; domain as in the options. */
const char *ch_feishu_base(const char *domain);

struct ch_feishu_line;
struct ch_feishu_ack;

/* An event as JSON; borrowed. ch_feishu_line_ack follows once, now or later. */
typedef void ch_feishu_event_fn(struct ch_sv event, struct ch_feishu_ack *ack, void *user);

struct ch_feishu_fetch;

struct ch_feishu_upload;
/* key NULL: it did not work, `why` not; again: it may, later. */
typedef void ch_feishu_key_fn(const char *key, bool picture, bool again, const char *why,
                              void *user);
/* fn is called once, later, and the upload is gone then. */
struct ch_feishu_upload *ch_feishu_upload(chela_runtime *rt, struct ch_feishu_api *api,
                                          const char *workspace, const char *path,
                                          ch_feishu_key_fn *fn, void *user);

struct ch_feishu_stream;

enum ch_feishu_ended {
    CH_ENDED_SHOWN, /* the card shows it; note: id of its message */
    CH_ENDED_LATER, /* it did not work, and may, later; note: why */
    CH_ENDED_NONE,  /* there is no card any more: send it as any other */
};
typedef void ch_feishu_ended_fn(enum ch_feishu_ended what, const char *note, int64_t wait_ms,
                                void *user);

struct ch_feishu_out;

/* Where a message goes, of "CHAT MESSAGE thread"; all but the first may be missing. */
struct ch_feishu_place {
    struct ch_sv chat, message;
    bool thread;
};
struct ch_feishu_place ch_feishu_place(const char *to);

struct ch_feishu_acts;

#endif
