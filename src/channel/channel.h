/* channel.h -- the interface between the gateway and a chat service.
 *
 * A channel implements one service: how callbacks are verified and parsed, who may use the
 * agent, and how answers are sent. A channel does not know sessions:
 * gateway/chat/chat_dispatch.c stores arrivals, acknowledges them, passes them to an agent
 * and delivers the answers. A channel is a table of functions; a new one needs a file, a
 * row in channels.c and the rows of its options.
 *
 *       callback --receive--> arrival --judge--> agent runs --deliver--> answer
 *       fetched  --arrived------^
 *
 * An arrival is parsed from the service's own event (`data`), which is what is stored:
 * after a crash, recall parses the same arrival again. All functions run on the loop
 * thread. No function calls back before it returns. */
#ifndef CH_CHANNEL_CHANNEL_H
#define CH_CHANNEL_CHANNEL_H
#include "agent/handle/agent.h"
#include "chela/channel.h"
#include "chela/gateway.h"
#include "chela/mailbox.h"
#include "json/json.h"
#include "json/writer.h"

struct ch_channel {
    const struct ch_channel_ops *ops;
};

/* Services that the gateway provides to a channel. */
/* A person decided about a call that waits for approval. The channel has checked that the
 * person may decide. */
struct ch_decision {
    const char *approval; /* id of the call */
    const char *session;  /* session of the call; NULL: any */
    /* chat of the decision, which must be the chat of the request. NULL: decided by text in
     * the session itself */
    const char *chat;
    const char *word;     /* "allow-once", "allow-always", "deny" */
    const char *by;       /* the channel's id of the person */
};
/* answer: the output of ops->decided; borrowed. */
typedef void ch_decided_fn(struct ch_sv answer, void *tag);
typedef void ch_acted_fn(const struct chela_error *err, void *tag);

struct ch_arrival;
struct ch_channel_host {
    chela_runtime *rt;
    /* For a channel that polls: store `in`, which lives in a (ownership passes), then
     * continue as for a callback. done reports the result (mailbox.h), immediately only on
     * failure; not after close. The service must not forget the message before done. */
    void (*arrived)(const struct ch_arrival *in, struct ch_arena *a, chela_accepted_fn *done,
                    void *tag, void *user);
    /* Carry out a decision (copied), then call done, at once or later; not after close. */
    void (*decide)(const struct ch_decision *d, ch_decided_fn *done, void *tag, void *user);
    /* Store a note until it is replaced, or deleted (p NULL); id is chosen by the channel.
     * `remind` returns the notes of earlier processes. done, which may be NULL, is called
     * once, later; not after close. */
    void (*note)(const char *id, struct ch_sv data, chela_accepted_fn *done, void *tag,
                 void *user);
    /* Folder of the files that an answer may attach. */
    const char *(*workspace)(void *user);
    /* Information that was missing for a CH_LATER is now available. */
    void (*ready)(struct ch_channel *c, void *user);
    void *user;
    bool listens; /* the decision depends on mentions: CH_LATER until the bot's id is known */
};

/* A request that claims to come from the service. */
struct ch_callback {
    struct ch_sv (*header)(const void *request, const char *name); /* name in lower case */
    const void *request;
    struct ch_sv body;          /* the raw bytes */
    const struct ch_json *json; /* the parsed body: an object */
    int64_t now;                /* ms since the epoch */
};

/* An incoming message. Texts live in the arena it was made in. Its session key begins with
 * the channel's name and the chat: "feishu:oc_1". */
struct ch_arrival {
    const char *id;      /* stable across redelivery: "feishu:om_1" */
    const char *session; /* key of its session */
    const char *to;      /* address of the answer, for deliver: "CHAT MESSAGE ..." */
    const char *text;    /* "": no text */
    struct ch_sv data;   /* for recall */
    const void *message; /* the channel's parsed form of data; for judge and prepare */
    struct chela_inbound about;
    bool fresh; /* for prepare: the topic has no session yet, so its earlier messages are fetched */
    /* for prepare: a message that is only recorded; the model gets its text alone */
    bool overheard;
    struct chela_media *media; /* images for the model; added by ch_file_take of files.h */
    size_t nmedia;
};

struct ch_verdict {
    int status;           /* HTTP status; 200: genuine */
    const char *why;      /* if not 200: reason for log and response, without secrets */
    struct ch_sv answer;  /* JSON of the response */
    bool arrived;         /* an arrival must be stored before the response */
    struct ch_arrival arrival;
    const struct ch_decision *decision; /* NULL: none. ops->decided writes the response */
};

enum ch_judgement {
    CH_TAKE,
    CH_IGNORE,
    CH_LATER, /* not known yet: `ready` follows */
    CH_MEET   /* an unknown sender who may be paired (chela/pairing.h) */
};

struct ch_channel_ops {
    const char *name; /* as in the configuration and in POST /channels/NAME/events */

    /* Options are borrowed until it returns. CHELA_ECONFIG names the missing option. */
    int (*open)(const struct ch_channel_host *host, const struct chela_channel_opts *opts,
                struct ch_channel **out, struct chela_error *err);
    void (*close)(struct ch_channel *c);
    /* Another process has taken over: stop fetching and finish outgoing messages. Returns
     * true when nothing is in progress; called again until then, followed by close. */
    bool (*leave)(struct ch_channel *c);

    /* Verify a callback; if genuine, set the response and the arrival. NULL: the service
     * makes no callbacks. */
    void (*receive)(struct ch_channel *c, const struct ch_callback *in, struct ch_arena *a,
                    struct ch_verdict *out);
    /* Parse an arrival from `data`. CHELA_EPARSE: not an arrival. */
    int (*recall)(struct ch_channel *c, struct ch_sv data, struct ch_arena *a,
                  struct ch_arrival *out, struct chela_error *err);
    /* Whether the sender may use the agent. Called before anything else, and again after
     * CH_LATER. */
    enum ch_judgement (*judge)(struct ch_channel *c, const struct ch_arrival *in);

    /* Optional. Complete an arrival before it is processed: names, quoted messages, and
     * attached files, which ch_file_take (files.h) saves in the workspace (NULL: none) and,
     * if they are images, shows to the model. `in` and its texts live in a. done is called
     * once, later; not after close. */
    void (*prepare)(struct ch_channel *c, struct ch_arrival *in, struct ch_arena *a,
                    const char *workspace, void (*done)(void *tag), void *tag);

    /* Send m, which is borrowed; ends with one chela_outbox_receipt. */
    void (*deliver)(struct ch_channel *c, const struct chela_outbound *m);
    /* Optional. Add an emoji to a message whose id the session knows. done is called once,
     * later, with the error or NULL; not after close. */
    void (*react)(struct ch_channel *c, const char *chat, const char *message, const char *emoji,
                  ch_acted_fn *done, void *tag);
    /* Optional, same contract: delete a message, own or another's; mute a group member for
     * some time; remove a member. The ids were seen in that chat. */
    void (*unsend)(struct ch_channel *c, const char *chat, const char *message,
                   ch_acted_fn *done, void *tag);
    void (*mute)(struct ch_channel *c, const char *chat, const char *member, int64_t seconds,
                 ch_acted_fn *done, void *tag);
    void (*remove)(struct ch_channel *c, const char *chat, const char *member,
                   ch_acted_fn *done, void *tag);
    /* Whether sender may decide about calls and change the agent's settings. sender NULL:
     * whether anybody may. Without this hook, calls that need approval are denied. */
    bool (*is_owner)(struct ch_channel *c, const char *sender);
    /* With is_owner: maximum bytes of a request that `deliver` always shows in full. Longer
     * requests are not made in the chat. */
    size_t most_question;
    /* With is_owner: append the service's response to a decision. what: the text that was
     * decided about; "": unknown. err: why the decision failed; NULL: success. */
    void (*decided)(struct ch_channel *c, const struct ch_decision *d, const char *what,
                    const struct chela_error *err, struct ch_buf *answer);
    /* Optional. Show or hide that the agent is working on a message. */
    void (*working)(struct ch_channel *c, const struct ch_arrival *in, bool at_work);
    /* Optional. Show the answer so far, replacing the text shown before. This is only a
     * preview: `deliver` follows, before or after `working` with at_work false, unless
     * there is no answer. */
    void (*stream)(struct ch_channel *c, const struct ch_arrival *in, struct ch_sv text);
    /* Optional. Check the account's setup against o; blocks. Findings are reported with
     * ch_channel_finding. */
    void (*survey)(chela_runtime *rt, const struct chela_channel_opts *o, struct ch_jw *w);
    /* Optional. A note of an earlier or another process. May be repeated. */
    void (*remind)(struct ch_channel *c, const char *id, struct ch_sv data);
    /* Optional. All stored notes were passed to remind: a note that was not among them is
     * deleted, unless it was made after the previous call. */
    void (*reminded)(struct ch_channel *c);
    /* Optional. Why no messages arrive, for health checks; borrowed. NULL: no problem. */
    const char *(*trouble)(struct ch_channel *c);
};

extern const struct ch_channel_ops ch_feishu_channel, ch_telegram_channel;

#endif
