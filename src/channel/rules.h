/* rules.h -- who may use the agent, and in which session; shared by all channels. Only ids
 * of the service count, never names. Messages of programs are not answered, because two
 * programs would answer each other endlessly. Pure. */
#ifndef CH_CHANNEL_RULES_H
#define CH_CHANNEL_RULES_H
#include "base/arena.h"
#include "base/buf.h"
#include "chela/sys/channel.h"

enum ch_welcome { CH_WELCOME_LISTED, CH_WELCOME_OPEN, CH_WELCOME_OFF, CH_WELCOME_PAIRING };
enum ch_sharing { CH_BY_TOPIC, CH_BY_CHAT, CH_BY_SENDER };

struct ch_rules {
    enum ch_welcome direct, group;
    char **people, **groups, **owners; /* owned, NULL-terminated: ids */
    bool unasked; /* in groups: also answer messages that do not mention the bot */
    enum ch_sharing scope;
};

/* Author and place of a message. */
struct ch_author {
    const char *id;        /* NULL: unknown */
    const char *others[2]; /* other ids of the author that lists may contain; NULL: none */
    const char *chat, *thread; /* thread may be NULL */
    bool direct;               /* a chat of two */
    bool person;               /* a person, neither a program nor this bot */
    enum { CH_NOT_MEANT, CH_MEANT, CH_PERHAPS_MEANT } meant; /* the last: not known yet */
};

void ch_rules_init(struct ch_rules *r, const struct chela_channel_opts *o);
void ch_rules_release(struct ch_rules *r);
/* id NULL: whether there is any owner. */
bool ch_rules_is_owner(const struct ch_rules *r, const char *id);
enum chela_channel_judgement ch_rules_judge(const struct ch_rules *r, const struct ch_author *who);
/* True for a message of a person to the others of a group that is answered. */
bool ch_rules_overhears(const struct ch_rules *r, const struct ch_author *who);
/* Why a message is not answered, with the ids that the configuration may list. program: a program
 * wrote the message. */
void ch_rules_explain(const struct ch_rules *r, const struct chela_inbound *about, bool program,
                      struct ch_buf *out);
/* The session that a message belongs to. */
char *ch_rules_session(const struct ch_rules *r, const char *channel, const struct ch_author *who,
                       struct ch_arena *a);

#endif
