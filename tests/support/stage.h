/* stage.h -- a runtime with a clock that the test controls, an agent that talks to a fake
 * model, and a log of events. */
#ifndef TESTS_STAGE_H
#define TESTS_STAGE_H
#include "agent/handle/run.h"
#include "support/fake_model.h"

struct stage {
    int64_t now; /* both clocks, ms */
    struct ch_clock clock;
    chela_runtime *rt;
    chela_agent *agent;
    chela_session *session;
    chela_run *run; /* owned: the run of stage_start */
    struct fake_model model;
    struct ch_buf log; /* "type(detail) type(detail)", see stage_log */
    uint64_t next_seq; /* expected seq of the next event */
    unsigned ends;     /* RUN_END events seen */
    unsigned events;
    char approval[64]; /* id of the last approval request */
    void (*on_event)(struct stage *st, const struct chela_event *ev); /* optional */
    long arg;                                                         /* for on_event */
};

/* opts may be NULL; model and key are filled in, and so is the system prompt, unless opts
 * selects a generated one. */
void stage_open(struct stage *st, const struct chela_agent_opts *opts,
                const struct fake_reply *replies, size_t n);
#define STAGE_OPEN(st, opts, replies) stage_open(st, opts, replies, CH_LEN(replies))
void stage_close(struct stage *st);

void stage_start(struct stage *st, const char *text);
void stage_start_with(struct stage *st, const char *text, const struct chela_inbound *in);
/* Run until the run has ended; time jumps to the next timer when nothing else can happen.
 * Fails the test if nothing can happen any more. */
void stage_finish(struct stage *st);
/* stage_start and stage_finish */
void stage_play(struct stage *st, const char *text);

/* A tool on the loop that answers "NAME:ARGUMENTS". */
void stage_tool(struct stage *st, const char *name, unsigned flags);

/* Every call in the transcript has exactly one result, right after it, and
 * there is no result without a call. */
void stage_check_transcript(const struct stage *st);

/* The run's end, "status/reason". */
const char *stage_verdict(const struct stage *st);

#endif
