/* heartbeat.h -- whether to speak in a chat, and the options of mode heartbeat.
 *
 * In mode heartbeat an agent reads every line of a chat and speaks now and then
 * (docs/heartbeat.md). This header decides, without a model, whether a line is worth a
 * turn of the agent. Hard rules come first. Then a number decides, the willingness: lines
 * raise it, time lowers it, every reply costs some of it. The caller supplies the time,
 * and random numbers come from a seed: the same lines give the same decisions.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call.
 *   Threads: any, one at a time
 *   Callbacks: yes
 *   Errors: none */
#ifndef CHELA_HEARTBEAT_H
#define CHELA_HEARTBEAT_H
#include <stdbool.h>
#include <stdint.h>

#include "chela/error.h"
#include "chela/event.h"
CHELA_BEGIN_DECLS

/* The kinds of chats. */
enum chela_chat_kind {
    CHELA_CHAT_GROUP = 0,
    CHELA_CHAT_DIRECT = 1 /* a chat with one person */
};

/* How the willingness changes in one kind of chat. chela_willing_defaults fills in the
 * defaults, which the comments name. */
struct chela_willing_opts {
    size_t size;     /* set by CHELA_WILLING_OPTS */
    bool answer_all; /* hard rule: answer every line; true in direct chats */
    double text;     /* a line adds: 12 */
    double mention;  /* a line that mentions the agent adds: 100 */
    double quote;    /* a line that quotes the agent adds: 15 */
    double direct;   /* a line of a direct chat adds: 40 */
    double keyword_factor; /* factor for a line with a keyword: 1.2 */
    double most;           /* maximum of the willingness: 100 */
    double half_life_s;    /* seconds of silence that halve the willingness: 600 */
    double threshold;      /* no reply up to this willingness: 55 */
    double slope;          /* probability of a reply per point above the threshold: 0.04 */
    double reply_cost;     /* a reply makes the willingness the smaller of itself and the
                              threshold, less this number: 35 */
    double refractory_s;   /* seconds after a reply without another, except to lines that
                              ask for one: 20 */
    /* Limits of the agent's share of the lines: 0.05 and 0.2. Above the middle, replies
     * become rare; from share_high on, only hard rules cause a reply; below share_low the
     * threshold decreases. share_high 1: no limit. */
    double share_low, share_high;
};
#define CHELA_WILLING_OPTS(...) {.size = sizeof(struct chela_willing_opts), __VA_ARGS__}

/* Rules for all chats. Lists are NULL-terminated and copied; NULL: empty. */
struct chela_willing_rules {
    size_t size;                   /* set by CHELA_WILLING_RULES */
    const char *const *names;      /* names of the agent; a name counts as a mention */
    const char *const *keywords;   /* topics of the agent */
    const char *const *stop_words; /* in a line for the agent: be silent for hush_s */
    double hush_s;                 /* seconds; 0: 600 */
    int quiet_from, quiet_to;      /* quiet hours in minutes of the day; equal: none */
    int utc_offset;                /* minutes, for the quiet hours */
    unsigned bot_turns;            /* maximum of consecutive answers to other bots; 0: 3 */
    uint64_t seed;                 /* seed of the random numbers */
};
#define CHELA_WILLING_RULES(...) {.size = sizeof(struct chela_willing_rules), __VA_ARGS__}

/* Fill *out with the defaults. out->size must be set.
 * Threads: any
 * Errors: CHELA_EINVAL: the size is wrong. */
CHELA_API int chela_willing_defaults(enum chela_chat_kind kind, struct chela_willing_opts *out,
                                     struct chela_error *err);

/* Convert quiet hours, "23:00-07:30", to minutes of the day.
 * Threads: any
 * Errors: CHELA_EINVAL: the text has another form. */
CHELA_API int chela_quiet_hours_read(const char *text, int *from, int *to,
                                     struct chela_error *err);

/* Convert an offset from UTC, "+08:00", to minutes.
 * Threads: any
 * Errors: CHELA_EINVAL: the text has another form. */
CHELA_API int chela_utc_offset_read(const char *text, int *minutes, struct chela_error *err);

/* A line of a chat. */
struct chela_heard {
    int64_t at; /* milliseconds; an earlier time than that of the last line is replaced by that
                 * time */
    struct chela_str text;
    bool own;     /* the agent wrote the line */
    bool bot;     /* another program wrote the line */
    bool mention; /* the chat service marks the line as a mention of the agent */
    bool quote;   /* the line quotes a line of the agent */
};

/* The reasons for a decision: X(name, value, "name", whether the line is answered). */
#define CHELA_URGES(X)                                                                     \
    X(DIRECT, 0, "direct", true)            /* every line of the chat is answered */       \
    X(MENTION, 1, "mention", true)          /* the line mentions the agent */              \
    X(NAMED, 2, "name", true)               /* the line contains a name of the agent */    \
    X(WILLING, 3, "willing", true)          /* the random number is low enough */          \
    X(OWN, 4, "own", false)                 /* the agent wrote the line */                 \
    X(BOT, 5, "bot", false)                 /* of another program, not for the agent */    \
    X(HUSHED, 6, "hushed", false)           /* the agent was told to be silent */          \
    X(QUIET_HOURS, 7, "quiet_hours", false) /* during the quiet hours */                   \
    X(REFRACTORY, 8, "refractory", false)   /* the agent has just spoken */                \
    X(LOW, 9, "below_threshold", false)     /* the willingness is too low */               \
    X(ENOUGH, 10, "enough_said", false)     /* the agent's share is used up */             \
    X(DICE, 11, "dice", false)              /* the random number is too high */

/* The reasons as constants. */
enum chela_urge_reason {
#define CHELA_URGE_ENUM(name, value, text, answered) CHELA_URGE_##name = value,
    CHELA_URGES(CHELA_URGE_ENUM)
#undef CHELA_URGE_ENUM
};
/* The name of a reason: "mention"; "?" for a reason that this library does not have.
 * Ownership: the result is static text.
 * Threads: any */
CHELA_API const char *chela_urge_name(enum chela_urge_reason r);

/* The decision about a line. */
struct chela_urge {
    bool reply;         /* the line is worth a turn */
    enum chela_urge_reason reason;
    double willingness; /* after the line */
    double probability; /* probability of a reply; 1 or 0 if a hard rule decided */
    double roll;        /* the random number; below `probability`: reply */
    double share;       /* the agent's share of the recent lines */
};

/* The state of one chat. */
typedef struct chela_willing chela_willing;

/* Create the state of a chat. opts and rules may be NULL: the defaults.
 * Ownership: the caller owns *out and frees it with chela_willing_free; opts and rules are
 * copied.
 * Errors: CHELA_EINVAL: a size is wrong. */
CHELA_API int chela_willing_new(enum chela_chat_kind kind, const struct chela_willing_opts *opts,
                                const struct chela_willing_rules *rules, chela_willing **out,
                                struct chela_error *err);

/* Free the state of a chat. NULL is allowed.
 * Ownership: w becomes invalid. */
CHELA_API void chela_willing_free(chela_willing *w);

/* Add a line, and decide whether the agent answers it. */
CHELA_API void chela_willing_hear(chela_willing *w, const struct chela_heard *line,
                                  struct chela_urge *out);

/* The agent starts a turn: subtract the cost of a reply, and start the refractory time.
 * chela_willing_said follows. */
CHELA_API void chela_willing_turn(chela_willing *w, int64_t at);

/* The agent wrote a number of lines. Without chela_willing_turn before, subtract the cost of
 * a reply. The refractory time starts again. */
CHELA_API void chela_willing_said(chela_willing *w, int64_t at, unsigned lines);

/* The willingness at a time, which must not be before the time of the last line. */
CHELA_API double chela_willing_at(const chela_willing *w, int64_t at);

/* The state of a chat as one line of JSON.
 * Ownership: the caller frees the result with chela_free. */
CHELA_API char *chela_willing_save(const chela_willing *w);

/* Restore a state that chela_willing_save wrote. The options of w may differ from those of
 * the saved state: they limit the time of silence. now is the current time; if the saved
 * times are later, since a clock was wrong, they are moved back. On failure w is unchanged.
 * Errors: CHELA_EPARSE: the text is not a saved state. CHELA_ELIMIT: the text is too deeply
 * nested. */
CHELA_API int chela_willing_restore(chela_willing *w, const char *json, size_t len, int64_t now,
                                    struct chela_error *err);

/* --- mode heartbeat -------------------------------------------------------- */

/* The options of mode heartbeat. NULL and 0: the default. */
struct chela_heartbeat_opts {
    size_t size; /* set by CHELA_HEARTBEAT_OPTS */
    enum chela_protocol protocol;
    unsigned beats;   /* model calls of a turn: 5 */
    unsigned history; /* number of earlier lines that the model gets besides the new ones: 30 */
    /* Files of the workspace that every request contains; they are read for each model
     * call; NULL-terminated; NULL: SOUL.md and MEMORY.md. */
    const char *const *memory;
    double typing; /* characters per second between parts of a message; 0: no pause */
    int64_t debounce_ms; /* in a gateway: milliseconds of silence before a turn: 1000 */
    enum chela_busy busy;
    /* A small model, "provider/model", that can refuse a turn whose reason is WILLING.
     * NULL: no model is asked. */
    const char *opinion;
    const struct chela_willing_opts *group, *direct; /* for each kind of chat */
    const struct chela_willing_rules *rules;
};
#define CHELA_HEARTBEAT_OPTS(...) {.size = sizeof(struct chela_heartbeat_opts), __VA_ARGS__}

/* A line of a chat in the form of the input of a run in mode heartbeat, with a line break:
 * "[10:02 om_1] Ann: text". Several lines form one input. id and name may be NULL. Name and
 * text cannot imitate another line.
 * Ownership: the caller frees the result with chela_free.
 * Threads: any */
CHELA_API char *chela_heard_line(int64_t at, int utc_offset, const char *id, const char *name,
                                 struct chela_str text);

/* --- simulation ------------------------------------------------------------ */

/* The decision about a line of a recorded chat. */
struct chela_simulated {
    size_t line; /* number of the line, from 1 */
    struct chela_str chat, name, text;
    enum chela_chat_kind kind;
    int64_t at;
    double before; /* willingness before the line */
    struct chela_urge urge;
    double after; /* willingness after the reply, if there was one */
};
/* Receives the decisions; s is borrowed until the function returns. */
typedef void chela_simulated_fn(const struct chela_simulated *s, void *user);

/* Simulate a recorded chat: JSON objects, one per line, with `ts` (milliseconds) and `text`,
 * and optionally `chat`, `type` (group, direct), `name`, `mention`, `quote`, `bot` and
 * `own`. The first line of a chat decides its type, group by default. Each chat has its own
 * state. A reply is one line and takes no time. opts may be NULL.
 * Threads: any
 * Errors: CHELA_EPARSE: a line is wrong; the message names the line. CHELA_EINVAL: an option
 * is wrong. CHELA_ELIMIT: there are too many chats, or a line is too deeply nested. */
CHELA_API int chela_heartbeat_simulate(const char *jsonl, size_t len,
                                       const struct chela_heartbeat_opts *opts,
                                       chela_simulated_fn *fn, void *user,
                                       struct chela_error *err);

/* A decision as one line of JSON: {line, chat, type, ts, name, text, before, willingness,
 * probability, roll, share, reply, reason, after}.
 * Ownership: the caller frees the result with chela_free.
 * Threads: any */
CHELA_API char *chela_simulated_json(const struct chela_simulated *s);

CHELA_END_DECLS
#endif
