/* emit.c -- see emit.h. */
#include "agent/journal/emit.h"

#include <stdarg.h>
#include <stdio.h>

#include "agent/handle/listener.h"
#include "agent/journal/run_journal.h"
#include "agent/machine/event.h"
#include "agent/machine/run.h"

int64_t ch_run_now(const chela_run *run) {
    return run->stamp ? run->stamp : ch_now_ms(ch_loop_clock(run->loop));
}

bool ch_emit_to(chela_run *run, struct chela_event *ev, chela_event_fn *fn, void *user) {
    if (run->dead)
        return false;
    ch_run_journal_unstored(run);
    ev->run = run->id;
    ev->seq = ch_run_next_seq(&run->m);
    ev->ts = ch_run_now(run);
    if (ch_listeners_any(run))
        ch_listeners_tell(run, ev);
    if (fn)
        fn(ev, user);
    return !run->dead;
}

bool ch_emit(chela_run *run, struct chela_event *ev) {
    return ch_emit_to(run, ev, run->on_event, run->user);
}

void ch_emit_warning(chela_run *run, const char *fmt, ...) {
    char text[CHELA_ERROR_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    struct chela_event ev = {.type = CHELA_EV_WARNING, .note.text = ch_str(ch_sv_str(text))};
    ch_emit(run, &ev);
}

void ch_emit_call(chela_run *run, enum chela_event_type type, const struct ch_block *call) {
    struct chela_event ev = {.type = type,
                             .call = {.id = ch_str(call->id),
                                      .name = ch_str(call->name),
                                      .arguments = ch_str(call->text)}};
    ch_emit(run, &ev);
}

bool ch_emit_approval(chela_run *run, const struct chela_approval *a) {
    struct chela_event ev = {.type = CHELA_EV_APPROVAL_REQUIRED,
                             .approval = {.approval_id = a->approval_id,
                                          .id = a->id,
                                          .name = a->name,
                                          .arguments = a->arguments,
                                          .summary = a->summary,
                                          .can_remember = a->can_remember}};
    return ch_emit(run, &ev);
}
