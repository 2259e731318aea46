/* feishu.h -- shared declarations of the Feishu channel (Lark is the same service under
 * another name).
 *
 *       feishu_seal.c     verifies callbacks                  pure
 *       feishu_message.c  parses messages                     pure
 *       feishu_post.c     splits Markdown into posts          pure
 *       feishu_card.c     cards for approvals                 pure
 *       feishu_frame.c    frames of the long connection       pure
 *       feishu_api.c      calls of the open platform: tokens, retries, codes
 *       feishu_line.c     the long connection for events
 *       feishu_fetch.c    names, quoted messages, files
 *       feishu_upload.c   uploads files
 *       feishu_out.c      answers and typing marks
 *       feishu_act.c      deletes messages, removes members
 *       feishu_stream.c   streamed answers
 *       feishu_survey.c   checks the app's setup
 *       feishu.c          the channel */
#ifndef CH_CHANNEL_FEISHU_H
#define CH_CHANNEL_FEISHU_H
#include "base/limits.h"
#include "channel/channel.h"
#include "channel/parts.h"
#include "channel/rules.h"
#include "chela/sys/tls.h"
#include "json/writer.h"

struct ch_feishu_keys { /* borrowed */
    const char *app_id, *token;
    const char *encrypt_key; /* NULL: callbacks are neither encrypted nor signed */
    const struct chela_tls_ops *cipher; /* required with encrypt_key */
};

struct ch_feishu_letter {
    struct ch_sv challenge; /* p set: only return this challenge */
    struct ch_sv type;      /* "im.message.receive_v1" */
    const struct ch_json *event;
};

struct ch_feishu_file {
    const char *key;
    struct ch_sv name; /* the sender's file name; may be empty */
    bool picture;
};

struct ch_feishu_mention {
    struct ch_sv open_id;
    const struct ch_feishu_mention *next; /* NULL: the last */
};

struct ch_feishu_message { /* all texts are in the arena it was read into */
    const char *id, *chat, *thread, *parent; /* the last two may be NULL */
    const char *open_id, *union_id, *user_id; /* ids of the sender; may be NULL */
    bool direct;      /* a chat of two */
    bool from_person; /* sent by a person, not by a program */
    int64_t ts;
    struct ch_sv text; /* readable text, without the mention of the bot */
    const struct ch_feishu_mention *mentions; /* NULL: no mentions */
    struct ch_feishu_file files[CH_LIMIT_MESSAGE_FILES];
    size_t nfiles; /* files beyond the limit are dropped */
};

/* Maximum bytes: quoting twice may quadruple the size, and a card takes 30 KB. */
#define CH_FEISHU_QUESTION 6000

struct ch_feishu_press {
    const char *open_id, *chat; /* sender and chat */
    enum chela_language language; /* of the card */
    struct chela_channel_decision decision;
};

struct ch_feishu_api;

struct ch_feishu_answer {
    int64_t code;            /* the service's code; 0: success, -1: none */
    int status;              /* HTTP status; 0: no response */
    const char *why;         /* on failure: code and text, or the transport error */
    int64_t wait_ms;         /* requested delay; 0: none */
    const struct ch_json *json; /* the whole response; NULL: none */
    struct ch_sv body;          /* body of a download */
};
typedef void ch_feishu_fn(const struct ch_feishu_answer *a, void *user);

#define CH_FEISHU_TOKEN_PATH "/open-apis/auth/v3/tenant_access_token/internal"
/* feishu.c: URL of the platform; domain as in the options. */
const char *ch_feishu_base(const char *domain);

struct ch_feishu_line;
struct ch_feishu_ack;

/* An event as JSON; borrowed. The receiver calls ch_feishu_line_ack once, now or later. */
typedef void ch_feishu_event_fn(struct ch_sv event, struct ch_feishu_ack *ack, void *user);

struct ch_feishu_fetch;

struct ch_feishu_upload;
/* key NULL: failed, `why` gives the reason; again: a retry may succeed. */
typedef void ch_feishu_key_fn(const char *key, bool picture, bool again, const char *why,
                              void *user);
/* fn is called once, later; the upload is then freed. */
struct ch_feishu_upload *ch_feishu_upload(chela_runtime *rt, struct ch_feishu_api *api,
                                          const char *workspace, const char *path,
                                          ch_feishu_key_fn *fn, void *user);

struct ch_feishu_stream;

enum ch_feishu_ended {
    CH_ENDED_SHOWN, /* the card shows the text; note: id of its message */
    CH_ENDED_LATER, /* failed, a retry may succeed; note: the reason */
    CH_ENDED_NONE,  /* the card is gone: send the text as a normal message */
};
typedef void ch_feishu_ended_fn(enum ch_feishu_ended what, const char *note, int64_t wait_ms,
                                void *user);

struct ch_feishu_out;

/* The parsed address "CHAT MESSAGE thread"; all but the first may be missing. */
struct ch_feishu_place {
    struct ch_sv chat, message;
    bool thread;
};
struct ch_feishu_place ch_feishu_place(const char *to);

struct ch_feishu_acts;

#endif
