/* service_compaction.c -- see service_compaction.h. */
#include "agent/context/service_compaction.h"

#include "agent/handle/runtime.h"
#include "agent/journal/emit.h"
#include "model/catalog/learnt.h"
#include "model/catalog/model_facts.h"
#include "model/codec/codec.h"
#include "model/codec/compacted.h"
#include "model/codec/refusals.h"
#include "model/provider/target.h"

#define THRESHOLD_PERCENT 60 /* of the window; chela itself condenses at about 80 */

/* True if the service may be asked for what one of these flags stands for. */
static bool may_ask(const chela_run *run, unsigned flags) {
    const chela_agent *a = run->session->agent;
    const struct ch_target *t = run->target;
    return a->service_compacts && a->compact_mode != CH_COMPACTION_OFF && t &&
           run->session->no_compaction != t && t->ep.codec->reads_compaction &&
           t->facts.flags & flags && !(t->ep.learnt.omit & CH_PART_COMPACTION);
}

void ch_service_compaction_ask(const chela_run *run, struct ch_model_request *req) {
    const struct ch_transcript *t = &run->session->transcript;
    if (req->messages != (const struct ch_msg *const *)t->msgs)
        return; /* words of its own, such as those of a companion */
    if (t->compacted)
        ch_compacted_settle(req);
    if (may_ask(run, CH_M_COMPACTS | CH_M_CLEARS))
        req->compact_at = ch_target_window(run->target) * THRESHOLD_PERCENT / 100;
}

bool ch_service_compaction_able(const chela_run *run) {
    return may_ask(run, CH_M_COMPACTS);
}

struct ch_model_request ch_service_compaction_request(const struct ch_model_request *req,
                                                      size_t n) {
    struct ch_model_request ask = *req;
    ask.nmessages = n;
    ask.compact_now = true;
    /* What services refuse beside it. */
    ask.compact_at = 0;
    ask.nstop = 0;
    ask.choice = CH_CHOICE_AUTO;
    ask.output_schema = ask.note = CH_SV("");
    ask.max_output_tokens = 0;
    return ask;
}

void ch_service_compaction_failed(chela_run *run, const struct ch_reply *reply,
                                  const char *failed) {
    struct ch_providers *providers = &run->session->agent->rt->providers;
    struct ch_target *t = run->target;
    struct ch_refusal lesson;
    run->session->no_compaction = t;
    run->session->revision++; /* the next request does not ask */
    if (reply && reply->error.cls == CH_ERR_FORMAT &&
        ch_refusal_read(reply->error.message, &t->ep, ch_sv_str(t->model), CH_PART_COMPACTION,
                        &lesson) &&
        ch_learning_add(providers, t, &lesson, ch_run_now(run)))
        ch_learning_keep(providers, t, ch_run_now(run));
    ch_emit_warning(run, "%s did not condense the conversation, so chela does it: %s", t->spec,
                    *failed ? failed : "the reply holds no compaction with content");
}
