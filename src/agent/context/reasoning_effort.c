/* reasoning_effort.c -- see reasoning_effort.h. */
#include "agent/context/reasoning_effort.h"

#include "agent/context/model_end.h"
#include "agent/journal/emit.h"
#include "model/catalog/model_facts.h"
#include "model/codec/encode.h"
#include "model/provider/target.h"

enum ch_effort ch_reasoning_effort(enum chela_reasoning reasoning) {
    static const enum ch_effort efforts[] = {
        [CHELA_REASONING_DEFAULT] = CH_EFFORT_DEFAULT, [CHELA_REASONING_OFF] = CH_EFFORT_OFF,
        [CHELA_REASONING_MINIMAL] = CH_EFFORT_MINIMAL, [CHELA_REASONING_LOW] = CH_EFFORT_LOW,
        [CHELA_REASONING_MEDIUM] = CH_EFFORT_MEDIUM,   [CHELA_REASONING_HIGH] = CH_EFFORT_HIGH,
        [CHELA_REASONING_XHIGH] = CH_EFFORT_XHIGH,     [CHELA_REASONING_MAX] = CH_EFFORT_MAX};
    return efforts[reasoning];
}

void ch_reasoning_effort_tell(chela_run *run, const struct ch_model_request *req) {
    struct ch_target *t = run->target;
    const struct ch_codec *codec = req->endpoint->codec;
    ch_model_end_tell(run);
    if (req->effort == CH_EFFORT_DEFAULT || t->told == req->effort)
        return;
    enum ch_effort sent = codec->effort ? codec->effort(req) : ch_encode_effort(req);
    if (sent == req->effort)
        return;
    t->told = req->effort;
    if (sent == CH_EFFORT_DEFAULT)
        ch_emit_warning(run, "%s does not accept the reasoning \"%s\" here: it has its own measure",
                        t->spec, ch_effort_name(req->effort));
    else
        ch_emit_warning(run, "%s does not accept the reasoning \"%s\" here: \"%s\" is sent",
                        t->spec, ch_effort_name(req->effort), ch_effort_name(sent));
}
