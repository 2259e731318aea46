/* channel.h -- a chat service as the gateway sees it.
 *
 * A channel knows one service: how its callbacks are verified, what they mean,
 * who may talk to the agent, and how an answer gets there. It knows nothing of
 * sessions: gateway/chat/chat_dispatch.c stores what arrived, acknowledges it, leads it to
 * an agent and hands over the answers. So a channel is a table of functions, and
 * a new one is a file, a row in channels.c and the rows of its options.
 *
 *   callback --receive--> arrival --judge--> an agent at work --deliver--> answer
 *   fetched  --arrived------^
 *
 * An arrival is made from the service's own words (`data`), which is what is
 * stored: after a crash recall makes the same one. Everything happens on the
 * loop thread; no function calls back before it returned. */
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

/* What a channel is told about its surroundings. */
/* Somebody decided about a call that waits for consent. The channel has seen
 * that they may. */
struct ch_decision {
    const char *approval; /* id of the call */
    const char *session;  /* that asked; NULL: whichever did */
    const char *chat;     /* where it was decided: it counts where it was asked. NULL: in words,
                             in the session itself */
    const char *word;     /* "allow-once", "allow-always", "deny" */
    const char *by;       /* the id that the channel gives them */
};
/* answer: what ops->decided made of it; borrowed. */
typedef void ch_decided_fn(struct ch_sv answer, void *tag);
typedef void ch_acted_fn(const struct chela_error *err, void *tag);

struct ch_arrival;
struct ch_channel_host {
    chela_runtime *rt;
    /* For a channel that fetches what arrived instead of being called: store in,
     * which lives in a (taken), then go on as with a callback's. done is told
     * what became of it (mailbox.h), at once only if it is not safe; not after
     * close. Until then the service should not forget it. */
    void (*arrived)(const struct ch_arrival *in, struct ch_arena *a, chela_accepted_fn *done,
                    void *tag, void *user);
    /* The same for a decision, which is copied: it is carried out, then done is
     * called, at once or later; not after close. */
    void (*decide)(const struct ch_decision *d, ch_decided_fn *done, void *tag, void *user);
    /* Keep a note in the store until it is replaced, or forgotten (p NULL); id: one
     * of the service's own. `remind` gives back those that an earlier process left.
     * done, which may be NULL, is called once, later; not after close. */
    void (*note)(const char *id, struct ch_sv data, chela_accepted_fn *done, void *tag,
                 void *user);
    /* Where the files are that an answer may attach. */
    const char *(*workspace)(void *user);
    /* The channel now knows what it said CH_LATER for. */
    void (*ready)(struct ch_channel *c, void *user);
    void *user;
    bool listens; /* whether a line mentions the agent decides: CH_LATER until that is known */
};

/* A request that claims to come from the service. */
struct ch_callback {
    struct ch_sv (*header)(const void *request, const char *name); /* name in lower case */
    const void *request;
    struct ch_sv body;          /* the bytes as they came */
    const struct ch_json *json; /* the same, read: an object */
    int64_t now;                /* ms since the epoch */
};

/* A message that somebody wrote. Texts live in the arena it was made in. The key
 * of its session begins with the channel's name and the chat: "feishu:oc_1". */
struct ch_arrival {
    const char *id;      /* the same when it comes again: "feishu:om_1" */
    const char *session; /* key of the session that it belongs to */
    const char *to;      /* where its answer goes, for deliver: "CHAT MESSAGE ..." */
    const char *text;    /* "": nothing to read in it */
    struct ch_sv data;   /* for recall */
    const void *message; /* data as the channel has read it; for its judge and prepare */
    struct chela_inbound about;
    bool fresh; /* for prepare: its topic has no session yet, so what was said there is news */
    bool overheard; /* for prepare: a line of a chat, of which the model gets the words alone */
    struct chela_media *media; /* pictures for the model: ch_file_take of files.h adds them */
    size_t nmedia;
};

struct ch_verdict {
    int status;           /* of HTTP; 200: it is genuine */
    const char *why;      /* otherwise: for the log and the answer, without secrets */
    struct ch_sv answer;  /* JSON to answer with */
    bool arrived;         /* there is an arrival, to be stored before the answer */
    struct ch_arrival arrival;
    const struct ch_decision *decision; /* NULL: none. ops->decided answers it */
};

enum ch_judgement {
    CH_TAKE,
    CH_IGNORE,
    CH_LATER, /* not known yet: `ready` follows */
    CH_MEET   /* a stranger who may be paired (chela/pairing.h) */
};

struct ch_channel_ops {
    const char *name; /* as in the configuration and in POST /channels/NAME/events */

    /* Options are borrowed until it returns. CHELA_ECONFIG names what is missing. */
    int (*open)(const struct ch_channel_host *host, const struct chela_channel_opts *opts,
                struct ch_channel **out, struct chela_error *err);
    void (*close)(struct ch_channel *c);
    /* Another has taken over: fetch nothing more, and let what goes out end. True once
     * nothing is under way; asked again until then, close follows. */
    bool (*leave)(struct ch_channel *c);

    /* Verify a callback; if it is genuine, say what to answer, and what arrived.
     * NULL: the service does not call. */
    void (*receive)(struct ch_channel *c, const struct ch_callback *in, struct ch_arena *a,
                    struct ch_verdict *out);
    /* The arrival that `data` is. CHELA_EPARSE: none. */
    int (*recall)(struct ch_channel *c, struct ch_sv data, struct ch_arena *a,
                  struct ch_arrival *out, struct chela_error *err);
    /* May its sender have it done? Asked before anything is done, and again
     * after CH_LATER. */
    enum ch_judgement (*judge)(struct ch_channel *c, const struct ch_arrival *in);

    /* Optional. Complete what is known of an arrival that is about to be taken in:
     * names, what it quotes, files that came with it, which ch_file_take (files.h)
     * puts into the workspace (NULL: there is none) and, if they are pictures,
     * before the model. `in` and its texts live in a. done is called once,
     * later; not after close. */
    void (*prepare)(struct ch_channel *c, struct ch_arrival *in, struct ch_arena *a,
                    const char *workspace, void (*done)(void *tag), void *tag);

    /* Send m, which is borrowed; ends with one chela_outbox_receipt. */
    void (*deliver)(struct ch_channel *c, const struct chela_outbound *m);
    /* Optional. Put an emoji to a message, whose id a session was told. done is
     * called once, later, with why it did not work or NULL; not after close. */
    void (*react)(struct ch_channel *c, const char *chat, const char *message, const char *emoji,
                  ch_acted_fn *done, void *tag);
    /* Optional, likewise: take a message back, our own or somebody else's; let a member of
     * a group write nothing for so long; remove one. The ids were seen in that chat. */
    void (*unsend)(struct ch_channel *c, const char *chat, const char *message,
                   ch_acted_fn *done, void *tag);
    void (*mute)(struct ch_channel *c, const char *chat, const char *member, int64_t seconds,
                 ch_acted_fn *done, void *tag);
    void (*remove)(struct ch_channel *c, const char *chat, const char *member,
                   ch_acted_fn *done, void *tag);
    /* May sender decide about calls, and change how the agent works? sender NULL:
     * may anybody? Without, calls that need consent are refused. */
    bool (*is_owner)(struct ch_channel *c, const char *sender);
    /* With is_owner: bytes of a question that `deliver` shows all of, for sure. One
     * that is longer is not asked there. */
    size_t most_question;
    /* With is_owner: append what the service is told about a decision, in its
     * own form. what: the text that was decided about; "": unknown. err: why it
     * could not be done; NULL: it was. */
    void (*decided)(struct ch_channel *c, const struct ch_decision *d, const char *what,
                    const struct chela_error *err, struct ch_buf *answer);
    /* Optional. Show that somebody is at work on a message, or no longer is. */
    void (*working)(struct ch_channel *c, const struct ch_arrival *in, bool at_work);
    /* Optional. Show what the answer to a message says so far, or says instead of
     * what was shown before. It is no more than a preview: `deliver` follows, after
     * `working` with at_work false or before, unless there is no answer. */
    void (*stream)(struct ch_channel *c, const struct ch_arrival *in, struct ch_sv text);
    /* Optional. Ask the service whether the account is set up as o needs it; blocking.
     * What is found is told with ch_channel_finding. */
    void (*survey)(chela_runtime *rt, const struct chela_channel_opts *o, struct ch_jw *w);
    /* Optional. A note of an earlier process, or another one. May come again. */
    void (*remind)(struct ch_channel *c, const char *id, struct ch_sv data);
    /* Optional. Those were all that are in the store: what is not among them was
     * forgotten, unless it came after the last time. */
    void (*reminded)(struct ch_channel *c);
    /* Optional. Why nothing comes in, for health; borrowed. NULL: nothing is wrong. */
    const char *(*trouble)(struct ch_channel *c);
};

extern const struct ch_channel_ops ch_feishu_channel, ch_telegram_channel;

#endif
