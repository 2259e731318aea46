/* channel.h -- the table of a chat service: Feishu, Slack, or one of your own.
 *
 * A channel speaks the protocol of one service. The gateway does the rest: it stores what
 * arrives before the service forgets it, decides who may use the agent and in which session,
 * runs the agent, splits answers, sends them once and in order, asks for consent, and
 * repeats after failures and restarts. docs/channels.md shows how to write a channel.
 *
 *       service --> message() or receive --> inbox --> agent --> outbox --> post --> service
 *
 * A channel is a module of kind "channel" (module.h) with the name "channel-NAME", whose ops
 * are a struct chela_channel_ops. Feishu and Telegram fill the same table in the library.
 *
 * All functions are called on the loop thread and must not block, except `survey`. A
 * function that takes a callback calls it once, later, and not after `close`. Texts end with
 * NUL and are borrowed for the call, unless a comment says otherwise. */
#ifndef CHELA_SYS_CHANNEL_H
#define CHELA_SYS_CHANNEL_H
#include <stddef.h>
#include <stdint.h>

#include "chela/channel.h"
#include "chela/gateway.h"
#include "chela/mailbox.h"
#include "chela/sys/module.h"
CHELA_BEGIN_DECLS

/* A text that does not end with NUL. p NULL: none. */
struct chela_text {
    const char *p;
    size_t n;
};

/* Memory that is freed with an arrival: `alloc` of the host. */
typedef struct ch_arena chela_channel_arena;

/* --- options ------------------------------------------------------------------- */

/* The kinds of options. */
enum chela_channel_kind {
    CHELA_CHANNEL_TEXT = 0,
    /* The file contains nameEnv, the name of an environment variable, or nameFile, a path;
     * never the secret itself. */
    CHELA_CHANNEL_SECRET = 1,
    CHELA_CHANNEL_CHOICE = 2, /* one of `words` */
    CHELA_CHANNEL_BOOL = 3,   /* "true" or "" */
    CHELA_CHANNEL_URL = 4     /* https, or http to a loopback address */
};

/* The member of struct chela_channel_opts that holds the value of an option. */
enum chela_channel_member {
    CHELA_CHANNEL_SETTING = 0, /* none: the option is in `settings` */
    CHELA_CHANNEL_ACCOUNT = 1,
    CHELA_CHANNEL_KEY = 2, /* secret */
    CHELA_CHANNEL_TOKEN = 3,
    CHELA_CHANNEL_ENCRYPT_KEY = 4,
    CHELA_CHANNEL_DOMAIN = 5,
    CHELA_CHANNEL_MODE = 6,
    CHELA_CHANNEL_STREAMING = 7
};

/* An option `channels.CHANNEL.NAME` of chela.yaml. The gateway's own options (agent,
 * dmPolicy, allowFrom, owners, groupPolicy, groups, requireMention, groupSession) are not
 * among them. */
struct chela_channel_option {
    const char *name; /* "appId"; NULL: the end of the list */
    enum chela_channel_kind kind;
    enum chela_channel_member member;
    int enables;           /* nonzero: the channel is configured if this option is set */
    const char *words;     /* values of a choice: "socket|webhook" */
    const char *otherwise; /* the default; of a secret: the environment variable that is used if
                              the file names none; NULL: none */
    const char *mode;      /* the option is needed only if the option `mode` has this value */
    int may_lack;          /* for a secret: nonzero: the channel works without it */
    const char *help;      /* for the reference and for `chela init` */
};

/* --- incoming messages ----------------------------------------------------------- */

/* A file of a message. */
struct chela_channel_file {
    const char *handle; /* for `fetch` */
    const char *name;   /* the sender's name of the file; may be NULL */
    int64_t size;       /* 0: unknown */
};

/* A message that somebody wrote. Ids may hold any characters. Members that do not apply are
 * NULL or 0. */
struct chela_channel_message {
    const char *id;                  /* the same when the service delivers the message again */
    const char *chat, *thread;       /* chat of a direct chat: the chat or the person */
    const char *sender;              /* id */
    const char *also[2];             /* other ids of the sender that lists may contain */
    const char *sender_name, *chat_name;
    int direct;    /* a chat of two */
    int program;   /* written by a program, or by this bot: not answered */
    int mentioned; /* mentions this bot, or replies to it */
    const char *text;
    int64_t ts; /* milliseconds since 1970 */
    const struct chela_beside *quoted;
    int answers_us;     /* `quoted` is a message of this bot */
    const char *handle; /* given back to `post` with the answer, for replies that need more
                           than ids */
    const struct chela_channel_file *files;
    size_t nfiles;
    const char *chat_topic; /* what the group is for, by its own description */
};

/* A request that claims to come from the service. Members are borrowed for the call. */
struct chela_channel_callback {
    const char *method; /* "GET", "POST" */
    struct chela_text query; /* not decoded */
    /* The value of a header that occurs once; name in lower case. p NULL: none. */
    struct chela_text (*header)(const void *request, const char *name);
    const void *request;
    struct chela_text body; /* the raw bytes */
    int64_t now;            /* ms since the epoch */
    void *respond_to;       /* for `respond` of the host */
};

struct chela_channel_decision;

/* An arrival: a message as the gateway stores and processes it. Channels that call `message`
 * of the host do not see it. Texts live in the arena it was made in. */
struct chela_channel_arrival {
    const char *id;      /* stable across redelivery: "feishu:om_1" */
    const char *session; /* key of its session; begins with the channel's name and the chat */
    const char *to;      /* address of the answer, for deliver: "CHAT MESSAGE ..." */
    const char *text;    /* "": no text */
    struct chela_text data; /* for recall */
    const void *message;    /* the channel's parsed form of data; used by judge and prepare */
    struct chela_inbound about;
    int fresh; /* for prepare: the topic has no session yet, so its earlier messages are fetched */
    int overheard; /* for prepare: a message that is only recorded; the model gets its text alone */
    struct chela_media *media; /* images for the model */
    size_t nmedia;
};

/* The result of `receive`. */
struct chela_channel_verdict {
    int status;      /* HTTP status; 200: genuine */
    const char *why; /* if not 200: reason for log and response, without secrets */
    struct chela_text answer; /* body of the response */
    const char *type;         /* its content type; NULL: application/json */
    int later;                /* `respond` of the host follows */
    int arrived;              /* an arrival must be stored before the response */
    struct chela_channel_arrival arrival;
    const struct chela_channel_decision *decision; /* NULL: none; `decided` writes the response */
};

/* Whether a message is processed. */
enum chela_channel_judgement {
    CHELA_CHANNEL_TAKE = 0,
    CHELA_CHANNEL_IGNORE = 1,
    CHELA_CHANNEL_LATER = 2, /* not known yet: `ready` follows */
    CHELA_CHANNEL_MEET = 3   /* an unknown sender who may be paired (chela/pairing.h) */
};

/* A person decided about a call that waits for approval. The host checks whether the person
 * may decide, unless the channel has `is_owner`. */
struct chela_channel_decision {
    const char *approval; /* id of the call */
    const char *session;  /* session of the call; NULL: any */
    /* chat of the decision, which must be the chat of the request. NULL: decided by text in
     * the session itself */
    const char *chat;
    const char *word; /* "allow-once", "allow-always", "deny" */
    const char *by;   /* the channel's id of the person */
};

/* Receives the outcome of a decision; see `decide`. */
typedef void chela_channel_decided_fn(struct chela_text answer, void *tag);
/* err NULL: success. */
typedef void chela_channel_acted_fn(const struct chela_error *err, void *tag);
/* why: bytes is empty, for this reason; NULL: success. */
typedef void chela_channel_bytes_fn(struct chela_text bytes, const char *why, void *tag);
/* Appends to a text. */
typedef void chela_channel_write_fn(const char *p, size_t n, void *out);

/* --- outgoing messages ------------------------------------------------------------- */

/* One message to be sent: a part of an answer, a question, or a file. */
struct chela_channel_post {
    const char *key;  /* the same when the message is sent again: 24 letters and digits */
    const char *chat, *thread; /* thread may be NULL */
    const char *reply;  /* id of the message that is answered; NULL: none */
    const char *handle; /* handle of the message that is answered; may be NULL */
    const char *edit;   /* id of the message that this one replaces; NULL: a new message */
    /* In the dialect of the service, after `format`; of a question: the exact text. NULL: a
     * file. */
    const char *text;
    int growing;        /* nonzero: the text grows by edits */
    const char *approval; /* id of a call that people allow or deny; NULL: none */
    const char *name;     /* name of a file; NULL: a text */
    const void *bytes;
    size_t n;
    const char *picture; /* "image/png": the file is an image; NULL: not an image */
    int repeated;        /* nonzero: an earlier attempt may have succeeded */
};

/* The outcome of a post. */
struct chela_channel_posted {
    enum chela_receipt what;
    const char *id;  /* id of the message; NULL: unknown */
    const char *why; /* if not sent */
    int64_t wait_ms; /* UNCERTAIN: least delay before the next attempt; 0: the host's choice */
};
/* Receives the outcome of a post, which is borrowed for the call. */
typedef void chela_channel_posted_fn(const struct chela_channel_posted *p, void *tag);

/* --- services of the host ------------------------------------------------------------ */

/* An HTTP request. Everything is copied. */
struct chela_channel_request {
    const char *method, *url;
    const char *const *headers; /* name, value, ..., NULL; may be NULL */
    const char *body;
    size_t n;
    size_t most;     /* bytes of the response; 0: 1 MB */
    int64_t wait_ms; /* total timeout; 0: 30 s */
    /* Nonzero: the request must not be processed twice. If a reused connection ends, the
     * request fails instead of being sent again on a new connection. */
    int once;
};

/* The response. Borrowed for the call. */
struct chela_channel_response {
    int status;      /* 0: none */
    const char *why; /* transport error, or the response is too large; NULL: none */
    struct chela_text body;
    /* The value of a header; name in lower case. p NULL: none. */
    struct chela_text (*header)(const struct chela_channel_response *r, const char *name);
    const void *headers;
};
/* Receives a response, which is borrowed for the call. */
typedef void chela_channel_response_fn(const struct chela_channel_response *r, void *tag);

struct chela_channel_socket; /* a WebSocket */
struct chela_channel_stream; /* a TCP connection */
struct chela_channel_timer;

/* The events of a WebSocket. */
struct chela_channel_socket_events {
    void (*open)(void *tag);
    void (*message)(struct chela_text text, int binary, void *tag);
    /* Bytes, a ping or a pong arrived; may be NULL. */
    void (*alive)(void *tag);
    /* The socket has ended; the owner closes it. code: of the close frame; 1005: none was
     * given, 1006: the connection was lost, 0: it never opened. */
    void (*gone)(int code, const char *why, void *tag);
};

/* The events of a TCP connection. */
struct chela_channel_stream_events {
    void (*open)(void *tag);
    void (*bytes)(struct chela_text bytes, void *tag);
    void (*gone)(const char *why, void *tag); /* the owner closes the stream */
};

/* How the last block of AES-256-CBC is filled. */
enum chela_channel_padding {
    CHELA_CHANNEL_PKCS7 = 16,   /* to a multiple of 16 bytes */
    CHELA_CHANNEL_PKCS7_32 = 32 /* to a multiple of 32 bytes */
};

/* Services that the host provides to a channel, valid until `close` returns. `user` is the
 * last argument of each function. */
struct chela_channel_host {
    chela_runtime *rt;
    void *user;
    int listens; /* the decision to answer depends on mentions, in every chat */

    /* A message arrived. Returns 0 if the message is ignored: the agent is not addressed, or
     * the sender is not allowed. Returns 1 if the message is stored: done reports the result
     * as in chela_inbox_accept. The service must not forget the message before done. */
    int (*message)(const struct chela_channel_message *m, chela_accepted_fn *done, void *tag,
                   void *user);
    /* The same for a channel with `recall`. `in` lives in a, whose ownership passes. */
    void (*arrived)(const struct chela_channel_arrival *in, chela_channel_arena *a,
                    chela_accepted_fn *done, void *tag, void *user);
    /* Memory of an arena, zeroed. */
    void *(*alloc)(chela_channel_arena *a, size_t n, void *user);
    /* Respond to a callback whose verdict had `later`. type NULL: application/json. */
    void (*respond)(void *respond_to, int status, const char *type, struct chela_text body,
                    void *user);
    /* Carry out a decision, which is copied, then call done, at once or later. The answer is a
     * line for the person, followed, if the question is settled, by a line break and the text
     * that replaces the question. */
    void (*decide)(const struct chela_channel_decision *d, chela_channel_decided_fn *done,
                   void *tag, void *user);
    /* Store a note until it is replaced, or deleted (p NULL); id is chosen by the channel and
     * does not begin with "~". `remind` returns the notes of earlier processes. done may be
     * NULL. */
    void (*note)(const char *id, struct chela_text data, chela_accepted_fn *done, void *tag,
                 void *user);
    /* Folder of the files that an answer may attach. */
    const char *(*workspace)(void *user);
    /* Information that was missing for a CHELA_CHANNEL_LATER is now available. */
    void (*ready)(void *user);
    /* Whether a person is an owner of the channel. id NULL: whether the channel has an
     * owner. */
    int (*is_owner)(const char *id, void *user);

    void (*log)(enum chela_log_level level, const char *line, void *user);
    /* The last problem of the connection, for health checks; NULL: no problem. */
    void (*trouble)(const char *why, void *user);
    /* Something arrived from the service, for health checks. */
    void (*seen)(void *user);

    /* done may be NULL. All calls end with `close`. */
    void (*http)(const struct chela_channel_request *r, chela_channel_response_fn *done, void *tag,
                 void *user);
    /* A WebSocket. url: wss://, or ws:// to a loopback address. *out is set before an event. */
    int (*socket_open)(const char *url, const struct chela_channel_socket_events *events, void *tag,
                       struct chela_channel_socket **out, struct chela_error *err, void *user);
    int (*socket_send)(struct chela_channel_socket *s, struct chela_text text, void *user);
    int (*socket_ping)(struct chela_channel_socket *s, void *user);
    /* code 0: no close frame. NULL is allowed. No event follows. */
    void (*socket_close)(struct chela_channel_socket *s, int code, void *user);
    /* A TCP connection, with TLS if tls is nonzero. */
    int (*stream_open)(const char *name, int port, int tls,
                       const struct chela_channel_stream_events *events, void *tag,
                       struct chela_channel_stream **out, struct chela_error *err, void *user);
    int (*stream_send)(struct chela_channel_stream *s, struct chela_text bytes, void *user);
    void (*stream_close)(struct chela_channel_stream *s, void *user);
    /* Start a timer, which fires once; *timer NULL: the timer is created. Starting a running
     * timer changes its time. */
    void (*timer_start)(struct chela_channel_timer **timer, int64_t ms, void (*fn)(void *tag),
                        void *tag, void *user);
    void (*timer_stop)(struct chela_channel_timer *timer, void *user);
    /* The delay before attempt n of a connection, from 0: random, and doubled up to a minute. */
    int64_t (*back_off)(unsigned n, void *user);
    int64_t (*now)(void *user); /* ms since the epoch */

    /* Digests and ciphers. */
    void (*sha1)(struct chela_text text, unsigned char out[20], void *user);
    void (*sha256)(struct chela_text text, unsigned char out[32], void *user);
    void (*hmac_sha256)(struct chela_text key, struct chela_text text, unsigned char out[32],
                        void *user);
    /* Nonzero: equal; the time does not depend on the content. */
    int (*same)(struct chela_text a, struct chela_text b, void *user);
    /* AES-256-CBC. out has room for n bytes, or n and padding. Return the length of the result;
     * negative: key, data or padding is wrong, or the module "tls" is missing. */
    long (*aes_decrypt)(const unsigned char key[32], const unsigned char iv[16],
                        struct chela_text text, enum chela_channel_padding padding, void *out,
                        void *user);
    long (*aes_encrypt)(const unsigned char key[32], const unsigned char iv[16],
                        struct chela_text text, enum chela_channel_padding padding, void *out,
                        void *user);
    /* Nonzero: the signature is genuine. */
    int (*ed25519_verify)(const unsigned char key[32], const unsigned char signature[64],
                          struct chela_text text, void *user);
    void (*random)(void *out, size_t n, void *user);
    /* Nonzero: another worker process of the gateway fetches the messages. A service that allows
     * one connection only does not connect. */
    int others_fetch;
    /* A message of a group that is answered, but this message is not addressed to the agent. Its
     * text may be told to the model with the next one that is. Only for channels with `recall`;
     * `message` does this itself. Borrowed for the call. */
    void (*overheard)(const struct chela_channel_arrival *in, void *user);
};

/* Checks of an account, for `chela doctor`. */
struct chela_channel_survey {
    /* status: "ok", "warn", "fail". mend: the remedy; NULL: none needed. */
    void (*tell)(const char *status, const char *detail, const char *mend, void *user);
    /* Send a request and wait; r->wait_ms is ignored. */
    void (*http)(const struct chela_channel_request *r, chela_channel_response_fn *done, void *tag,
                 void *user);
    void *user;
};

/* --- the table ------------------------------------------------------------------------ */

/* How `most_text` counts. */
enum chela_channel_unit {
    CHELA_CHANNEL_BYTES = 0,
    CHELA_CHANNEL_CHARACTERS = 1, /* Unicode code points */
    CHELA_CHANNEL_UTF16 = 2       /* UTF-16 code units */
};

/* Properties of a service. */
enum chela_channel_feature {
    CHELA_CHANNEL_MENTIONS_ONLY = 1, /* in groups, only messages that mention the bot arrive */
    CHELA_CHANNEL_KEYED = 2,         /* the service recognises the key of a post */
    /* An approval is shown with buttons. Without this feature the host adds to the text how an
     * owner decides in words: /approve ID, /deny ID REASON. */
    CHELA_CHANNEL_BUTTONS = 4,
    /* The service delivers the messages of the bot itself, too, and the channel passes them to
     * `message` as messages of a program: `chela channels test` waits for its message. */
    CHELA_CHANNEL_ECHO = 8
};

/* The functions of a channel. Only `name`, `open`, `close` and one of `post` and `deliver` are
 * required. */
struct chela_channel_ops {
    const char *name;  /* as in the configuration and in POST /channels/NAME/events */
    const char *title; /* "Slack" */
    const char *docs;  /* page that describes the set-up: "slack.md"; may be NULL */
    const struct chela_channel_option *options;
    unsigned features;             /* bits of enum chela_channel_feature */
    size_t most_text;              /* size of a message, for `post` */
    enum chela_channel_unit unit;
    int64_t edit_ms; /* least time between two edits of a growing answer; 0: it does not grow */

    /* Open the channel and connect. opts is borrowed until the function returns, host until
     * `close`. CHELA_ECONFIG: an option is missing or wrong. */
    int (*open)(const struct chela_channel_host *host, const struct chela_channel_opts *opts,
                void **out, struct chela_error *err);
    void (*close)(void *self);
    /* Another process has taken over: stop fetching and finish outgoing messages. Returns
     * nonzero when nothing is in progress; called again until then, followed by close. */
    int (*leave)(void *self);

    /* Verify a callback; if genuine, set the response. NULL: the service makes no callbacks. */
    void (*receive)(void *self, const struct chela_channel_callback *in, chela_channel_arena *a,
                    struct chela_channel_verdict *out);
    /* Fetch a file of a message. */
    void (*fetch)(void *self, const char *handle, chela_channel_bytes_fn *done, void *tag);

    /* Send one message; data that the message points to is borrowed until the function
     * returns. */
    void (*post)(void *self, const struct chela_channel_post *p, chela_channel_posted_fn *done,
                 void *tag);
    /* Write Markdown in the dialect of the service. NULL: unchanged. */
    void (*format)(const char *text, size_t n, chela_channel_write_fn *write, void *out);
    /* Show or hide that the agent is working on a message. */
    void (*working)(void *self, const struct chela_channel_arrival *in, int at_work);
    /* Add an emoji to a message; delete a message, own or another's; mute a group member for
     * some time; remove a member. The ids were seen in that chat. */
    void (*react)(void *self, const char *chat, const char *message, const char *emoji,
                  chela_channel_acted_fn *done, void *tag);
    void (*unsend)(void *self, const char *chat, const char *message, chela_channel_acted_fn *done,
                   void *tag);
    void (*mute)(void *self, const char *chat, const char *member, int64_t seconds,
                 chela_channel_acted_fn *done, void *tag);
    void (*remove)(void *self, const char *chat, const char *member, chela_channel_acted_fn *done,
                   void *tag);

    /* A note of an earlier or another process. May be repeated. reminded: all were passed on;
     * a note that was not among them is deleted, unless it was made after the previous
     * call. */
    void (*remind)(void *self, const char *id, struct chela_text data);
    void (*reminded)(void *self);
    /* Check the account against o; blocks. */
    void (*survey)(chela_runtime *rt, const struct chela_channel_opts *o,
                   const struct chela_channel_survey *s);
    /* Why no messages arrive; NULL: no problem. Instead of `trouble` of the host. */
    const char *(*trouble)(void *self);

    /* --- for a channel that stores the events of its service as they are, or sends answers in
     * its own way; NULL otherwise */

    /* Parse an arrival from `data`. CHELA_EPARSE: not an arrival. */
    int (*recall)(void *self, struct chela_text data, chela_channel_arena *a,
                  struct chela_channel_arrival *out, struct chela_error *err);
    /* Whether the sender may use the agent. Called before anything else, and again after
     * CHELA_CHANNEL_LATER. */
    enum chela_channel_judgement (*judge)(void *self, const struct chela_channel_arrival *in);
    /* Complete an arrival, which is stored, before it is processed: names, quoted messages,
     * files. `in` and its texts live in a. A channel without `recall` may have this function,
     * too; the host has fetched the files then. done may be called before the function
     * returns. */
    void (*prepare)(void *self, struct chela_channel_arrival *in, chela_channel_arena *a,
                    const char *workspace, void (*done)(void *tag), void *tag);
    /* Send a message; ends with one chela_outbox_receipt. */
    void (*deliver)(void *self, const struct chela_outbound *m);
    /* Show the answer so far. `deliver` follows, unless there is no answer. */
    void (*stream)(void *self, const struct chela_channel_arrival *in, struct chela_text text);
    /* Whether sender may decide about calls and change the agent's settings. sender NULL:
     * whether anybody may. */
    int (*is_owner)(void *self, const char *sender);
    /* Largest request for consent, in bytes; 0: most_text. */
    size_t most_question;
    /* Write the service's response to a decision. what: the text that was decided about; "":
     * unknown. err: why the decision failed; NULL: success. */
    void (*decided)(void *self, const struct chela_channel_decision *d, const char *what,
                    const struct chela_error *err, chela_channel_write_fn *write, void *out);

    /* How to create the account in the console of the service, for `chela init`: one step
     * per line, up to the values of the options. May be NULL. */
    const char *setup;
};

CHELA_END_DECLS
#endif
