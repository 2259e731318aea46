/* heartbeat.h -- whether to speak up in a chat, and how a companion is set up.
 *
 * A companion hears every line of a chat and says something now and then
 * (docs/heartbeat.md). Whether a line is worth thinking about is decided here,
 * without a model: hard rules first, then a willingness that lines raise, time
 * lowers and every reply costs. Time is what the caller says it is, chance comes
 * from a seed: the same lines give the same decisions. */
#ifndef CHELA_HEARTBEAT_H
#define CHELA_HEARTBEAT_H
#include <stdbool.h>
#include <stdint.h>

#include "chela/error.h"
#include "chela/event.h"
CHELA_BEGIN_DECLS

enum chela_chat_kind { CHELA_CHAT_GROUP = 0, CHELA_CHAT_DIRECT = 1 };

/* How willingness behaves in one kind of chat. chela_willing_defaults fills all
 * of it. */
struct chela_willing_opts {
    size_t size;     /* set by CHELA_WILLING_OPTS */
    bool answer_all; /* a hard rule: every line is answered; the default in direct chats */
    double text;     /* what a line adds: 12 */
    double mention, quote, direct; /* ...and more if it names, quotes or is addressed to us:
                                      100, 15, 40 */
    double keyword_factor; /* times this if it holds a keyword: 1.2 */
    double most;           /* of willingness: 100 */
    double half_life_s;    /* in which it halves, in a chat that is silent: 600 */
    double threshold;      /* up to here nothing is said: 55 */
    double slope;          /* above it, probability a point: 0.04 */
    double reply_cost;     /* 35 */
    double refractory_s;   /* after a reply, no other to lines that do not ask for one: 20 */
    /* The share of lines that are its own is kept between these: above the middle
     * replies become rare, at `share_high` only hard rules make one; below
     * `share_low` the threshold sinks. 0.05, 0.2; share_high 1: no bound. */
    double share_low, share_high;
};
#define CHELA_WILLING_OPTS(...) {.size = sizeof(struct chela_willing_opts), __VA_ARGS__}

/* What holds in all chats. NULL lists are empty; all are NULL-terminated and
 * copied. */
struct chela_willing_rules {
    size_t size;                   /* set by CHELA_WILLING_RULES */
    const char *const *names;      /* it is called: counts as a mention */
    const char *const *keywords;   /* what it is interested in */
    const char *const *stop_words; /* in a line that is meant for it: be quiet for hush_s */
    double hush_s;                 /* 600; 0: that */
    int quiet_from, quiet_to;      /* minutes of the day; equal: no quiet hours */
    int utc_offset;                /* minutes, for the two above */
    unsigned bot_turns;            /* answers to other bots in a row, at most; 0: 3 */
    uint64_t seed;
};
#define CHELA_WILLING_RULES(...) {.size = sizeof(struct chela_willing_rules), __VA_ARGS__}

/* Fill *out, whose size is set, with the defaults. */
CHELA_API int chela_willing_defaults(enum chela_chat_kind kind, struct chela_willing_opts *out,
                                     struct chela_error *err);
/* "23:00-07:30" into minutes; CHELA_EINVAL. */
CHELA_API int chela_quiet_hours_read(const char *text, int *from, int *to,
                                     struct chela_error *err);
/* "+08:00" into minutes; CHELA_EINVAL. */
CHELA_API int chela_utc_offset_read(const char *text, int *minutes, struct chela_error *err);

/* A line of the chat. */
struct chela_heard {
    int64_t at; /* ms; what lies before the last one counts as the same time */
    struct chela_str text;
    bool own;     /* it is ours */
    bool bot;     /* of another program */
    bool mention; /* it names us, as the chat marks it */
    bool quote;   /* it answers one of ours */
};

/* X(enum, value, "name", is it answered?) */
#define CHELA_URGES(X)                                                                     \
    X(DIRECT, 0, "direct", true)            /* all lines of this chat are */               \
    X(MENTION, 1, "mention", true)                                                         \
    X(NAMED, 2, "name", true)               /* it was called by name */                    \
    X(WILLING, 3, "willing", true)          /* the dice say so */                          \
    X(OWN, 4, "own", false)                                                                \
    X(BOT, 5, "bot", false)                 /* another program's, and not for us */        \
    X(HUSHED, 6, "hushed", false)           /* it was told to be quiet */                  \
    X(QUIET_HOURS, 7, "quiet_hours", false)                                                \
    X(REFRACTORY, 8, "refractory", false)   /* it has just spoken */                       \
    X(LOW, 9, "below_threshold", false)                                                    \
    X(ENOUGH, 10, "enough_said", false)      /* its share of the chat is used up */        \
    X(DICE, 11, "dice", false)               /* the dice say no */

enum chela_urge_reason {
#define CHELA_URGE_ENUM(name, value, text, answered) CHELA_URGE_##name = value,
    CHELA_URGES(CHELA_URGE_ENUM)
#undef CHELA_URGE_ENUM
};
/* "mention"; "?" for a reason that this library does not have. */
CHELA_API const char *chela_urge_name(enum chela_urge_reason r);

struct chela_urge {
    bool reply;
    enum chela_urge_reason reason;
    double willingness; /* after the line */
    double probability; /* of a reply; 1 and 0 where a hard rule decided */
    double roll;        /* what was thrown, below probability: yes */
    double share;       /* of the lines lately that are its own */
};

/* One chat. */
typedef struct chela_willing chela_willing;

/* opts and rules are copied; NULL: defaults. On success the caller owns *out. */
CHELA_API int chela_willing_new(enum chela_chat_kind kind, const struct chela_willing_opts *opts,
                                const struct chela_willing_rules *rules, chela_willing **out,
                                struct chela_error *err);
CHELA_API void chela_willing_free(chela_willing *w); /* NULL is a no-op */
/* A line was heard: is it to be answered? */
CHELA_API void chela_willing_hear(chela_willing *w, const struct chela_heard *line,
                                  struct chela_urge *out);
/* It begins to think about an answer: that costs, whatever comes of it, and the
 * refractory time begins. chela_willing_said follows. */
CHELA_API void chela_willing_turn(chela_willing *w, int64_t at);
/* It said something, in so many lines: without a turn before it that costs, and
 * the refractory time begins anew. */
CHELA_API void chela_willing_said(chela_willing *w, int64_t at, unsigned lines);
/* How willing it is at a time, not before the last one. */
CHELA_API double chela_willing_at(const chela_willing *w, int64_t at);
/* All that it remembers as one line of JSON, yours to chela_free; and the other
 * way round, in one whose settings may be different: it rests no longer than they
 * say. now: if it was saved later than that by a clock that was wrong, all its
 * times move back. CHELA_EPARSE: it is no such line, and nothing changed. */
CHELA_API char *chela_willing_save(const chela_willing *w);
CHELA_API int chela_willing_restore(chela_willing *w, const char *json, size_t len, int64_t now,
                                    struct chela_error *err);

/* --- a companion ----------------------------------------------------------- */

struct chela_heartbeat_opts { /* NULL, 0: the default */
    size_t size; /* set by CHELA_HEARTBEAT_OPTS */
    enum chela_protocol protocol;
    unsigned beats;   /* model calls of one turn: 5 */
    unsigned history; /* lines before the new ones that it is shown: 30 */
    /* Files of the workspace that it always knows, read anew in each beat; NULL-
     * terminated; NULL: SOUL.md and MEMORY.md. */
    const char *const *memory;
    double typing; /* characters a second between parts of a message; 0: no pause */
    int64_t debounce_ms; /* in the gateway: how long it must be quiet before a turn: 1000 */
    enum chela_busy busy;
    /* A model, "provider/model", a small one, that is asked before a turn which only
     * the dice want (CHELA_URGE_WILLING): it may say no. NULL: nobody is asked. */
    const char *opinion;
    const struct chela_willing_opts *group, *direct;
    const struct chela_willing_rules *rules;
};
#define CHELA_HEARTBEAT_OPTS(...) {.size = sizeof(struct chela_heartbeat_opts), __VA_ARGS__}

/* A line of a chat as input of a run in mode heartbeat: "[10:02 om_1] Ann: text",
 * with a line break; several of them make one input. id and name may be NULL.
 * What name and text say cannot pass for another line. Yours to chela_free. */
CHELA_API char *chela_heard_line(int64_t at, int utc_offset, const char *id, const char *name,
                                 struct chela_str text);

/* --- trying it out --------------------------------------------------------- */

/* What a companion would do with a line of a recorded chat. */
struct chela_simulated { /* borrowed for the call */
    size_t line; /* from 1 */
    struct chela_str chat, name, text;
    enum chela_chat_kind kind;
    int64_t at;
    double before; /* willingness when the line came */
    struct chela_urge urge;
    double after; /* ...and once it was answered, if it was */
};
typedef void chela_simulated_fn(const struct chela_simulated *s, void *user);

/* Play a chat: an object a line with `ts` (ms), `text`, and what of `chat`,
 * `type` (group, direct), `name`, `mention`, `quote`, `bot`, `own` there is. Each
 * chat has a willingness of its own; a reply is one line and takes no time.
 * CHELA_EPARSE names the line. */
CHELA_API int chela_heartbeat_simulate(const char *jsonl, size_t len,
                                       const struct chela_heartbeat_opts *opts,
                                       chela_simulated_fn *fn, void *user,
                                       struct chela_error *err);
/* {line, chat, type, ts, name, text, before, willingness, probability, roll,
 * share, reply, reason, after} as one line of JSON; yours to chela_free. */
CHELA_API char *chela_simulated_json(const struct chela_simulated *s);

CHELA_END_DECLS
#endif
