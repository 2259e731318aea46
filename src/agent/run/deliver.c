/* deliver.c -- see deliver.h. Vendors accept nothing between tool results and the reply to
 * them, so a note after results becomes a part of the last result. */
#include "agent/run/deliver.h"

#include "agent/context/context_budget.h"
#include "agent/handle/run_origin.h"
#include "agent/journal/emit.h"
#include "agent/journal/run_journal.h"
#include "agent/machine/event.h"
#include "agent/machine/queue.h"
#include "agent/machine/run.h"
#include "model/provider/target.h"
#include "prompt/envelope.h"

static const char nudge_text[] =
    "Your last reply was empty. Answer the request, or say what you need to go on.";
static const char caution_text[] =
    "This leads nowhere. Do something else, or say what stands in the way.";
static const char closing_text[] =
    "No tool can be called any more. Say what was done and found so far, and what is left to do.";

/* Adds m (taken) to the transcript. seq: the INBOUND record of m; 0: none, so m is stored
 * as a MESSAGE. */
static bool deliver(chela_run *run, struct ch_msg *m, uint64_t seq) {
    if (seq)
        ch_run_journal_delivered(run, seq, false);
    else
        ch_run_journal_message(run, m);
    return ch_transcript_add(&run->session->transcript, m) == 0;
}

static bool ends_with_results(const chela_run *run) {
    const struct ch_transcript *t = &run->session->transcript;
    return t->n && t->msgs[t->n - 1]->kind == CH_MSG_RESULTS;
}

/* The message is rewritten only if a model has seen it, after a call that failed. */
bool ch_deliver_note_to_last(chela_run *run, struct ch_sv text) {
    chela_session *s = run->session;
    bool seen = s->encoder.nmessages >= s->transcript.n;
    ch_run_journal_note(run, text);
    if (ch_transcript_amend(&s->transcript, text) < 0)
        return false;
    if (seen)
        ch_context_budget_rewritten(s);
    return true;
}

bool ch_deliver_note(chela_run *run, struct ch_sv text) {
    CH_BUF_AUTO note = {0};
    if (!ends_with_results(run))
        return deliver(run, ch_msg_text(CH_MSG_EVENT, text, ch_run_now(run)), 0);
    ch_buf_addf(&note, CH_NOTE_OPEN "\n%.*s\n" CH_NOTE_CLOSE, CH_SV_FMT(text));
    return ch_deliver_note_to_last(run, ch_buf_sv(&note));
}

static bool deliver_next(chela_run *run, struct ch_queue *q, enum chela_event_type type) {
    uint64_t seq = ch_queue_seq(q);
    struct ch_message_origin origin = {0};
    ch_queue_take_origin(q, &origin);
    ch_run_origin_answers(run, &origin, ch_queue_take_to(q));
    struct ch_msg *m = ch_queue_pop(q);
    struct ch_sv text = ch_msg_words(m);
    if (!deliver(run, m, seq))
        return false;
    struct chela_event ev = {.type = type, .note.text = ch_str(text)};
    return ch_emit(run, &ev);
}

/* Delivers the oldest system event: as a message, or after results as a note. */
static bool deliver_event(chela_run *run) {
    struct ch_queue *q = &run->session->events;
    CH_BUF_AUTO text = {0};
    if (!ends_with_results(run))
        return deliver_next(run, q, CHELA_EV_SYSTEM_EVENT);
    struct ch_msg *m = ch_queue_pop(q);
    ch_buf_addf(&text, "%s%.*s", ch_msg_kind_prefix(CH_MSG_EVENT), CH_SV_FMT(ch_msg_words(m)));
    struct chela_event ev = {.type = CHELA_EV_SYSTEM_EVENT, .note.text = ch_str(ch_msg_words(m))};
    bool goes_on = ch_deliver_note(run, ch_buf_sv(&text)) && ch_emit(run, &ev);
    ch_msg_free(m);
    return goes_on;
}

/* Adds a note that states a fact, and what to do. */
static bool remark(chela_run *run, struct ch_sv fact, const char *advice) {
    CH_BUF_AUTO text = {0};
    ch_buf_addf(&text, "%.*s. %s", CH_SV_FMT(fact), advice);
    return ch_deliver_note(run, ch_buf_sv(&text));
}

/* True while the service that wrote the last reply accepts nothing beside its results. */
static bool must_wait(const chela_run *run) {
    const struct ch_transcript *t = &run->session->transcript;
    const struct ch_codec *codec = run->target ? run->target->ep.codec : NULL;
    const struct ch_msg *reply = t->n > 1 && ends_with_results(run) ? t->msgs[t->n - 2] : NULL;
    if (!reply || !codec || !codec->wants_only_results || reply->kind != CH_MSG_ASSISTANT)
        return false;
    const char *api = ch_msg_author(reply).api;
    return api && strcmp(api, codec->name) == 0 && codec->wants_only_results(reply);
}

bool ch_deliver_waiting(chela_run *run, bool had_ended, struct ch_sv complaint) {
    if (run->m.nudge && !ch_deliver_note(run, ch_sv_str(nudge_text)))
        return false;
    if (run->m.reask && !ch_deliver_note(run, complaint))
        return false;
    if (run->m.caution && !remark(run, complaint, caution_text))
        return false;
    if (run->m.sum_up && !remark(run, ch_sv_str(ch_reason_name(run->m.closing)), closing_text))
        return false;
    run->m.nudge = run->m.reask = run->m.caution = run->m.sum_up = false;
    bool steered = run->steering.n > 0;
    bool waits = steered || run->session->events.n > 0 || run->follow_ups.n > 0;
    if (!waits || must_wait(run))
        return true;
    while (run->steering.n > 0)
        if (!deliver_next(run, &run->steering, CHELA_EV_STEERING))
            return false;
    while (run->session->events.n > 0)
        if (!deliver_event(run))
            return false;
    if (had_ended && !steered && run->follow_ups.n > 0)
        return deliver_next(run, &run->follow_ups, CHELA_EV_FOLLOW_UP);
    return true;
}
