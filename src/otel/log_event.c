/* log_event.c -- see log_event.h. */
#include "otel/log_event.h"

#include <stdio.h>

#include "otel/content.h"

static bool has_failed(enum chela_status status) {
    return status == CHELA_STATUS_ERROR || status == CHELA_STATUS_STOPPED;
}

static void add_judgement(struct ch_otel_span *s, const struct chela_event *ev,
                          struct ch_buf *content) {
    s->name = CH_SV(CH_OTEL_EVENT_EVALUATION);
    ch_otel_add_text(s, CH_OTEL_EVALUATION_NAME, CH_SV("completeness"));
    ch_otel_add_double(s, CH_OTEL_EVALUATION_VALUE, ev->reflection.completeness);
    ch_otel_add_text(s, CH_OTEL_EVALUATION_LABEL,
                     ch_sv_str(chela_judgement_name(ev->reflection.action)));
    if (!content)
        return;
    ch_otel_write_text(content, ch_unstr(ev->reflection.note));
    ch_otel_add_text(s, CH_OTEL_EVALUATION_EXPLANATION, ch_buf_sv(content));
}

bool ch_otel_log_event(struct ch_otel_span *s, const chela_run *run, const struct chela_event *ev,
                       struct ch_buf *content, enum ch_otel_severity *severity,
                       char name[CH_OTEL_EVENT_NAME]) {
    *severity = CH_OTEL_INFO;
    switch (ev->type) {
    case CHELA_EV_RETRY:
        *severity = CH_OTEL_WARN;
        s->error = ch_unstr(ev->retry.reason);
        ch_otel_add_int(s, CH_OTEL_ATTEMPT, ev->retry.attempt);
        ch_otel_add_int(s, CH_OTEL_DELAY, ev->retry.delay_ms);
        break;
    case CHELA_EV_FALLBACK:
    case CHELA_EV_HANDOFF:
        *severity = ev->type == CHELA_EV_FALLBACK ? CH_OTEL_WARN : CH_OTEL_INFO;
        s->error = ch_unstr(ev->fallback.reason);
        ch_otel_add_text(s, CH_OTEL_FROM, ch_sv_str(ev->fallback.from));
        ch_otel_add_text(s, CH_OTEL_TO, ch_sv_str(ev->fallback.to));
        break;
    case CHELA_EV_COMPACTION:
        ch_otel_add_int(s, CH_OTEL_TOKENS_BEFORE, (int64_t)ev->compaction.tokens_before);
        ch_otel_add_int(s, CH_OTEL_TOKENS_AFTER, (int64_t)ev->compaction.tokens_after);
        break;
    case CHELA_EV_EPOCH:
        ch_otel_add_text(s, CH_OTEL_REASON, ch_sv_str(ev->epoch.reason));
        break;
    case CHELA_EV_WARNING:
        *severity = CH_OTEL_WARN;
        s->error = ch_unstr(ev->note.text);
        break;
    case CHELA_EV_APPROVAL_REQUIRED:
        ch_otel_add_text(s, CH_OTEL_TOOL_NAME, ch_unstr(ev->approval.name));
        ch_otel_add_text(s, CH_OTEL_TOOL_CALL_ID, ch_unstr(ev->approval.id));
        break;
    case CHELA_EV_REFLECTION:
        add_judgement(s, ev, content);
        return true;
    case CHELA_EV_BUDGET: /* the run's error names the budget */
        *severity = CH_OTEL_WARN;
        s->error = ch_sv_str(run->error);
        break;
    case CHELA_EV_RUN_END:
        *severity = has_failed(ev->end.status) ? CH_OTEL_ERROR : CH_OTEL_INFO;
        s->error = ch_unstr(ev->end.error);
        ch_otel_add_text(s, CH_OTEL_STATUS, ch_sv_str(chela_status_name(ev->end.status)));
        ch_otel_add_text(s, CH_OTEL_REASON, ch_sv_str(chela_reason_name(ev->end.reason)));
        break;
    default:
        return false;
    }
    int n = snprintf(name, CH_OTEL_EVENT_NAME, CH_OTEL_EVENT_PREFIX "%s",
                     chela_event_name(ev->type));
    s->name = ch_sv(name, (size_t)n);
    return true;
}
