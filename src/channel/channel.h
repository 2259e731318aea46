/* channel.h -- a channel that is open: the table of its service (chela/sys/channel.h), and
 * what the gateway adds for services that fill only the small part of the table.
 *
 *       channel.c        opens a channel; passes calls to the service or to the files below
 *       channel_host.c   the services that the table's author gets
 *       arrival.c        messages as arrivals: what is stored, ids, sessions, files
 *       posting.c        answers as posts: parts, files, growing text, repetitions
 *
 * Loop thread only. */
#ifndef CH_CHANNEL_CHANNEL_H
#define CH_CHANNEL_CHANNEL_H
#include "agent/handle/agent.h"
#include "channel/rules.h"
#include "channel/web.h"
#include "chela/sys/channel.h"
#include "json/json.h"
#include "json/writer.h"

struct ch_channel;

static inline struct ch_sv ch_sv_of(struct chela_text t) {
    return ch_sv(t.p, t.n);
}
static inline struct chela_text ch_text(struct ch_sv s) {
    return (struct chela_text){s.p, s.n};
}

/* The gateway's side; functions as in struct chela_channel_host. */
struct ch_channel_gateway {
    chela_runtime *rt;
    void (*arrived)(const struct chela_channel_arrival *in, struct ch_arena *a,
                    chela_accepted_fn *done, void *tag, void *user);
    void (*overheard)(const struct chela_channel_arrival *in, void *user);
    void (*respond)(void *respond_to, int status, const char *type, struct ch_sv body);
    void (*decide)(const struct chela_channel_decision *d, chela_channel_decided_fn *done,
                   void *tag, void *user);
    void (*note)(const char *id, struct ch_sv data, chela_accepted_fn *done, void *tag, void *user);
    const char *(*workspace)(void *user);
    void (*ready)(struct ch_channel *c, void *user);
    void *user;
    bool listens;
    bool others_fetch;
};

/* Waits for a message of the bot itself, which some services deliver like any other. */
struct ch_echo {
    struct ch_channel *channel; /* NULL: closed meanwhile */
    const char *mark;           /* a part of the text */
    void (*heard)(struct ch_echo *e);
};

/* How far a growing answer was searched for secrets. */
struct ch_channel_searched {
    uint64_t of; /* hash of the message that it answers */
    size_t n;
};

struct ch_channel {
    const struct chela_channel_ops *ops;
    void *self; /* the service's data of this channel */
    struct ch_channel_gateway gateway;
    struct chela_channel_host host; /* what the service sees; its user is the channel */
    struct ch_rules rules;
    struct ch_channel_searched searched[8]; /* the last answers */
    size_t nsearched;
    char *account; /* owned; NULL: none */
    bool streaming;
    enum chela_language language; /* of sentences for people; AUTO: that of the runtime */
    enum chela_language asked_in; /* of the last question about a call */
    size_t said_lines;            /* lines kept of what a group said; 0: none */
    int64_t said_ms;              /* their age */
    struct ch_web web;
    const struct chela_tls_ops *cipher;             /* NULL: not loaded yet */
    struct ch_list timers, sockets, streams, calls; /* channel_host.c */
    struct ch_list fetchings;                       /* arrival.c */
    struct ch_list sendings, growths, marks;        /* posting.c */
    size_t ngrowths;
    char *trouble;     /* owned: reported by the service; NULL: none */
    char *last_error;  /* owned: the last trouble, kept after it has ended */
    int64_t last_seen; /* ms since 1970: of the last event of the service; 0: none */
    struct ch_echo *echo; /* NULL: none */
};

/* Opens a channel of a service. The options are borrowed until it returns. */
int ch_channel_open(const struct chela_channel_ops *ops, const struct ch_channel_gateway *gateway,
                    const struct chela_channel_opts *o, struct ch_channel **out,
                    struct chela_error *err);
void ch_channel_close(struct ch_channel *c);
bool ch_channel_leave(struct ch_channel *c);

int ch_channel_recall(struct ch_channel *c, struct ch_sv data, struct ch_arena *a,
                      struct chela_channel_arrival *out, struct chela_error *err);
enum chela_channel_judgement ch_channel_judge(struct ch_channel *c,
                                              const struct chela_channel_arrival *in);
/* False: there is nothing to prepare, and done is not called. */
bool ch_channel_prepare(struct ch_channel *c, struct chela_channel_arrival *in, struct ch_arena *a,
                        const char *workspace, void (*done)(void *tag), void *tag);
void ch_channel_deliver(struct ch_channel *c, const struct chela_outbound *m);
void ch_channel_stream(struct ch_channel *c, const struct chela_channel_arrival *in,
                       struct ch_sv text);
void ch_channel_working(struct ch_channel *c, const struct chela_channel_arrival *in, bool at_work);
/* sender NULL: whether anybody may decide. */
bool ch_channel_is_owner(const struct ch_channel *c, const char *sender);
size_t ch_channel_most_question(const struct ch_channel *c);
/* Append a question with place-holders for secrets. False: it holds a secret in another form, whose
 * name is appended to `name`. */
bool ch_channel_mask(const struct ch_channel *c, struct ch_sv text, struct ch_buf *out,
                     struct ch_buf *name);
void ch_channel_decided(struct ch_channel *c, const struct chela_channel_decision *d,
                        const char *what, const struct chela_error *err, struct ch_buf *answer);
void ch_channel_remind(struct ch_channel *c, const char *id, struct ch_sv data);
void ch_channel_reminded(struct ch_channel *c);
const char *ch_channel_trouble(const struct ch_channel *c);
/* The service was heard, and no trouble has followed. */
bool ch_channel_is_connected(const struct ch_channel *c);

/* `write` of the table, for a buffer. */
void ch_channel_write(const char *p, size_t n, void *buf);

extern const struct chela_channel_ops ch_feishu_channel, ch_telegram_channel;

#endif
