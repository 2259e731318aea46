/* discord.h -- shared declarations of the Discord channel, a separate module.
 *
 *       discord_text.c   Markdown of Discord                       pure
 *       discord_rest.c   the REST API: rate limits, codes
 *       discord_line.c   the Gateway: identify, resume, heartbeats
 *       discord_event.c  messages, files and presses of buttons
 *       discord_post.c   messages and files out, typing, reactions, moderation
 *       discord.c        the channel: set-up, signed interactions */
#ifndef CH_CHANNEL_DISCORD_DISCORD_H
#define CH_CHANNEL_DISCORD_DISCORD_H
#include "base/list.h"
#include "channel/kit.h"
#include "json/writer.h"

#define CH_DISCORD_ID 21         /* bytes of an id with its NUL: 64 bits in decimal */
#define CH_DISCORD_ROLES 64      /* roles of the bot that are known */
#define CH_DISCORD_ROUTES 128    /* routes whose rate limit is known */
#define CH_DISCORD_QUESTION 1290 /* bytes of a request for consent; see discord_text.h */

/* The rate limit of a route. */
struct ch_discord_route {
    uint32_t key;               /* 0: unused */
    int64_t limit, left, reset; /* reset: ms, when all calls are available again */
};

/* The session with the Gateway. It outlives connections and processes. */
struct ch_discord_session {
    char *id, *url;  /* owned; id NULL: no session */
    int64_t seq;     /* number of the last event that arrived */
    unsigned number; /* number of the session; an event belongs to one session */
};

struct ch_discord {
    const struct chela_channel_host *host;
    char *api, *token, *bearer; /* owned */
    unsigned char key[32];      /* public key for signed interactions */
    bool signed_too;            /* key is set */
    unsigned intents;
    bool contents;         /* messages that do not mention the bot matter, too */
    bool by_reaction; /* a reaction shows that the agent is working, instead of typing */
    bool bans;        /* a member who is removed is banned */
    bool leaving;
    char *me, *app; /* owned: ids of the bot and of the application; NULL: not known yet */
    char roles[CH_DISCORD_ROLES][CH_DISCORD_ID];
    size_t nroles;
    /* discord_rest.c */
    struct ch_list calls, waiting;
    struct ch_discord_route routes[CH_DISCORD_ROUTES];
    size_t next_route;
    int64_t all_until, second; /* no call before; the second in which calls are counted */
    unsigned in_second;
    struct chela_channel_timer *release;
    /* discord_line.c */
    struct ch_discord_session session;
    struct chela_channel_socket *socket;
    struct chela_channel_timer *again, *beat, *save;
    char process[17];           /* identifies this process in the note */
    bool started, acked;        /* notes were read; the last heartbeat was answered */
    bool continued;             /* the connection continues a session */
    bool works;                 /* and a new message came over the connection */
    bool taken;                 /* another process continues the session */
    unsigned failures, resumes, unopened;
    int64_t since, interval, saved_at, saved_seq;
    bool waits_for_store; /* too many events are being stored */
    /* discord_event.c */
    struct ch_list events, places, presses, fetches;
    size_t nevents, nplaces;
    struct chela_channel_timer *place_timer;
    /* discord_post.c */
    struct ch_list posts, acts, typing;
    struct chela_channel_timer *typing_timer;
};

static inline int64_t ch_discord_now(const struct ch_discord *d) {
    return d->host->now(d->host->user);
}
static inline void ch_discord_log(const struct ch_discord *d, enum chela_log_level level,
                                  const char *line) {
    d->host->log(level, line, d->host->user);
}

#endif
