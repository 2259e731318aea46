/* loop_detector.h -- does the run go round in circles?
 *
 * Fed with each turn's calls and what came of them, it looks for patterns that
 * lead nowhere: a first verdict has a note put to the model, the next ends the
 * run. Pure: no clock, no memory of its own beyond the struct.
 *
 * Progress is a call or a result that was not there before. So a poll whose
 * result changes, a next page, a file written and read again are none of these
 * patterns; times, durations and made-up ids in a result are no change. */
#ifndef CH_AGENT_LOOP_DETECTOR_H
#define CH_AGENT_LOOP_DETECTOR_H
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/sv.h"
#include "chela/session.h"

#define CH_LOOP_DETECTOR_STEPS 32 /* looked back at */
#define CH_LOOP_DETECTOR_PERIOD 6 /* calls in the longest sequence that is recognised */

/* X(enum, "name", limit that is its own) */
#define CH_LOOPS(X)                   \
    X(NONE, "", repeats)              \
    X(REPEAT, "repeat", repeats)      \
    X(PING_PONG, "ping_pong", cycles) \
    X(SEQUENCE, "sequence", cycles)   \
    X(TEXT, "same_text", texts)       \
    X(POLL, "polling", polls)         \
    X(UNKNOWN, "unknown_tool", unknown_tools)

enum ch_loop_kind {
#define CH_LOOP_ENUM(name, text, limit) CH_LOOP_##name,
    CH_LOOPS(CH_LOOP_ENUM)
#undef CH_LOOP_ENUM
};

enum ch_loop_verdict { CH_LOOP_VERDICT_FINE, CH_LOOP_VERDICT_NOTE, CH_LOOP_VERDICT_END };

struct ch_loop_detector {
    struct chela_loop_guard limits; /* resolved: negative means never */
    uint64_t steps[CH_LOOP_DETECTOR_STEPS]; /* a ring: call and outcome, told from others by hash */
    unsigned n;                     /* steps so far */
    unsigned turn;                  /* of them in this turn, each once */
    unsigned same;                  /* the last one, times in a row */
    bool unknown;                   /* the last one was of no tool */
    bool news;                      /* this turn did something new */
    uint64_t text;                  /* of the last reply */
    unsigned texts;                 /* times in a row, without news */
    bool noted;                     /* the model was told of the pattern below */
    enum ch_loop_kind kind;         /* found last */
    unsigned count;                 /* times it was seen */
};

/* 0 in a limit is its default. */
void ch_loop_detector_init(struct ch_loop_detector *g, const struct chela_loop_guard *limits);
/* Somebody said something: what comes is not what was. */
void ch_loop_detector_reset(struct ch_loop_detector *g);

/* One call of the turn and its result, in the order of the calls. */
void ch_loop_detector_call(struct ch_loop_detector *g, struct ch_sv name, struct ch_sv arguments,
                           struct ch_sv result, bool unknown_tool);
/* The turn is over; `text` is what the model said in it. */
enum ch_loop_verdict ch_loop_detector_turn(struct ch_loop_detector *g, struct ch_sv text);

/* "polling", and a sentence on what was seen; `last` is the last call's tool. */
const char *ch_loop_kind_name(enum ch_loop_kind kind);
void ch_loop_detector_describe(const struct ch_loop_detector *g, struct ch_sv last,
                               struct ch_buf *out);

#endif
