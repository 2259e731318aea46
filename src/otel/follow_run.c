/* follow_run.c -- see follow_run.h. */
#include "otel/follow_run.h"

struct ch_otel_span ch_follow_run_span(const struct ch_follow_run *r, struct ch_span_id id,
                                       int64_t start, int64_t end) {
    struct ch_otel_span s; /* the attributes are not cleared */
    s.template = NULL;
    s.context = r->context;
    s.id = id;
    s.name = s.target = s.error = CH_SV("");
    s.kind = CH_OTEL_INTERNAL;
    s.start = start;
    s.end = end;
    s.failed = false;
    s.n = 0;
    s.dropped = 0;
    if (memcmp(id.bytes, r->span.bytes, CH_SPAN_ID) != 0) {
        s.context.has_parent = true;
        s.context.parent = r->span;
    }
    return s;
}

void ch_otel_add_usage(struct ch_otel_span *s, const struct chela_usage *u) {
    ch_otel_add_int(s, CH_OTEL_INPUT_TOKENS, u->input);
    ch_otel_add_int(s, CH_OTEL_OUTPUT_TOKENS, u->output);
    if (u->cache_read)
        ch_otel_add_int(s, CH_OTEL_CACHE_READ_TOKENS, u->cache_read);
    if (u->cache_write)
        ch_otel_add_int(s, CH_OTEL_CACHE_CREATION_TOKENS, u->cache_write);
    if (u->reasoning)
        ch_otel_add_int(s, CH_OTEL_REASONING_TOKENS, u->reasoning);
    if (u->cost_usd >= 0)
        ch_otel_add_double(s, CH_OTEL_COST, u->cost_usd);
}

void ch_follow_run_place(struct ch_otel_span *s, const struct ch_follow_run *r,
                         const chela_run *run) {
    ch_otel_add_text(s, CH_OTEL_AGENT_NAME, ch_sv_str(r->agent));
    ch_otel_add_text(s, CH_OTEL_CONVERSATION, ch_sv_str(run->session->key));
    ch_otel_add_text(s, CH_OTEL_RUN, ch_sv_str(r->id));
}
