/* loop_detector.h -- detects a run that repeats itself without progress.
 *
 * The caller reports the calls and results of each turn. The first verdict on a pattern is
 * NOTE: the model is told about it. If the pattern continues, the verdict is END. Pure: no
 * clock, and no memory beyond the struct. A zeroed struct is a detector without steps. Zero it
 * when a new message arrives: earlier steps no longer count.
 *
 * A call or a result that did not occur before is progress. A poll whose result changes,
 * the next page of a list, and a file that is written and read again are therefore no
 * patterns. Times, durations and generated ids in a result do not count as a change. */
#ifndef CH_AGENT_LOOP_DETECTOR_H
#define CH_AGENT_LOOP_DETECTOR_H
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/sv.h"
#include "chela/session.h"

#define CH_LOOP_DETECTOR_STEPS 32 /* number of remembered steps */
#define CH_LOOP_DETECTOR_PERIOD 6 /* length of the longest sequence that is detected */

/* X(enum, "name", member of chela_loop_guard with the limit) */
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
    uint32_t steps[CH_LOOP_DETECTOR_STEPS]; /* ring of hashes, each of a call with its result */
    unsigned n;                             /* steps so far */
    unsigned turn;                          /* different steps in this turn */
    unsigned same;                          /* repetitions of the last step */
    bool unknown;                           /* the last step called an unknown tool */
    bool news;                              /* this turn contained a new step */
    uint64_t text;                          /* hash of the last reply's text */
    unsigned texts;                         /* repetitions of that text, without a new step */
    bool noted;                             /* the model was told about the pattern `kind` */
    enum ch_loop_kind kind;                 /* pattern that was found last */
    unsigned count;                         /* repetitions of the pattern */
};

/* Reports one call of the turn and its result, in the order of the calls. */
void ch_loop_detector_call(struct ch_loop_detector *g, struct ch_sv name, struct ch_sv arguments,
                           struct ch_sv result, bool unknown_tool);
/* Ends the turn. limits: 0 means the default; negative: never. text: what the model wrote in
 * the turn. */
enum ch_loop_verdict ch_loop_detector_turn(struct ch_loop_detector *g,
                                           const struct chela_loop_guard *limits,
                                           struct ch_sv text);

/* The name of a pattern, such as "polling", and a sentence that describes the pattern found.
 * last: tool of the last call. */
const char *ch_loop_kind_name(enum ch_loop_kind kind);
void ch_loop_detector_describe(const struct ch_loop_detector *g, struct ch_sv last,
                               struct ch_buf *out);

#endif
