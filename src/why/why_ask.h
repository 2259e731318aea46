/* why_ask.h -- asks a model and waits for its decision. */
#ifndef CH_WHY_ASK_H
#define CH_WHY_ASK_H
#include "agent/handle/runtime.h"
#include "model/provider/target.h"

struct ch_why_outcome {
    struct ch_usage usage;
    bool refused; /* the model declined to answer */
};

/* Asks with a request in chela's own format. The decision is appended to out: the calls with
 * their arguments as JSON, or the text, each in one form, so that equal decisions have equal
 * bytes. *outcome is unchanged if the request was not sent. Runs the loop. */
int ch_why_ask(chela_runtime *rt, struct ch_target *t, struct ch_sv neutral, bool no_stream,
               struct ch_buf *out, struct ch_why_outcome *outcome, struct chela_error *err);

/* Appends the decision in the content of a message: {"calls":[{"name","arguments"}]} or
 * {"text"}. */
void ch_why_decision(const struct ch_json *content, struct ch_buf *out);

#endif
