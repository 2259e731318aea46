/* rules.h -- who may have the agent do something, and in which session: the
 * same for all channels. Only ids that the service gives count, never names.
 * What programs write is not answered: two that answer each other would never
 * end. Pure. */
#ifndef CH_CHANNEL_RULES_H
#define CH_CHANNEL_RULES_H
#include "channel/channel.h"

enum ch_welcome { CH_WELCOME_LISTED, CH_WELCOME_OPEN, CH_WELCOME_OFF, CH_WELCOME_PAIRING };
enum ch_sharing { CH_BY_TOPIC, CH_BY_CHAT, CH_BY_SENDER };

struct ch_rules {
    enum ch_welcome direct, group;
    char **people, **groups, **owners; /* owned, NULL-terminated: ids */
    bool unasked; /* in groups: answer what does not mention us */
    enum ch_sharing scope;
};

/* Who wrote, and where. */
struct ch_author {
    const char *id;        /* NULL: unknown */
    const char *others[2]; /* ids under which lists may have them too; NULL */
    const char *chat, *thread; /* the latter may be NULL */
    bool direct;               /* between two */
    bool person;               /* and no program, and not we ourselves */
    enum { CH_NOT_MEANT, CH_MEANT, CH_PERHAPS_MEANT } meant; /* the last: not known yet */
};

void ch_rules_init(struct ch_rules *r, const struct chela_channel_opts *o);
void ch_rules_release(struct ch_rules *r);
/* id NULL: is there any? */
bool ch_rules_is_owner(const struct ch_rules *r, const char *id);
enum ch_judgement ch_rules_judge(const struct ch_rules *r, const struct ch_author *who);
/* The session that a message belongs to. */
char *ch_rules_session(const struct ch_rules *r, const char *channel, const struct ch_author *who,
                       struct ch_arena *a);

#endif
