/* restore.c -- see restore.h. */
#include "agent/session/restore.h"

#include "agent/context/epoch.h"
#include "agent/handle/lookup.h"
#include "agent/journal/journal_replay.h"
#include "agent/journal/run_journal.h"
#include "agent/run/driver.h"
#include "agent/run/feature.h"
#include "model/codec/encoder.h"
#include "agent/run/parent.h"
#include "agent/session/input_queue.h"
#include "agent/session/session.h"

/* Queues messages again that waited outside of any run. */
static void recall_waiting(chela_session *s, const struct ch_journal_replay *past) {
    for (CH_LIST_EACH(k, &past->notes)) {
        struct ch_replay_note *n = CH_CONTAINER(k, struct ch_replay_note, link);
        if (n->alone && n->msg->nblocks)
            ch_input_queue_recall(s, n);
    }
}

static void take_over(chela_session *s, struct ch_journal_replay *past) {
    ch_transcript_release(&s->transcript);
    s->transcript = past->transcript;
    past->transcript = (struct ch_transcript){0};
    ch_memory_release(&s->memory);
    s->memory = past->memory;
    past->memory = (struct ch_memory){0};
    ch_labels_join(&s->labels, &past->labels);
    ch_labels_read(&s->labels, past->saved);
    ch_free(s->answers_to);
    s->answers_to = ch_strdup(past->answer_to);
    ch_encoder_release(&s->encoder);
    s->revision = 0;
    s->epoch = past->epoch;
    ch_epoch_restored(s);
    s->journal->past = past;
    s->journal->last = past->m;
    s->handed = ch_json_get_str(past->saved, "agent").n > 0;
    ch_features_load(s, past->saved);
    s->journal->titled = s->transcript.n > 0;
    recall_waiting(s, past);
    if (past->status != CH_REPLAY_IDLE)
        return;
    struct ch_msg *results =
        ch_journal_replay_close(past, ch_now_ms(ch_loop_clock(s->agent->rt->loop)));
    if (results) /* the run ended without results, or another program wrote the journal */
        ch_transcript_add_results(&s->transcript, results);
    ch_run_journal_forget(s);
}

static void restore_on_opened(chela_session *s, struct ch_journal_replay *past) {
    if (past)
        take_over(s, past);
    ch_session_opened(s);
}

static void restore_on_committed(chela_session *s, uint64_t seq) {
    if (s->run)
        ch_run_committed(s->run, seq);
    if (s->on_committed && !s->closed)
        s->on_committed(s, seq, s->committed_user);
}

static void restore_on_lost(chela_session *s, const struct chela_error *err) {
    s->owner->lost(s);
    if (s->run)
        ch_run_lost(s->run, err);
    if (s->on_lost && !s->closed)
        s->on_lost(s, err, s->lost_user);
}

static struct ch_spent on_save(const chela_run *run, struct ch_jw *w) {
    if (run->session->handed)
        ch_jw_kcstr(w, "agent", run->session->agent->id);
    ch_jw_kcstr(w, "mode", ch_run_mode(run));
    if (ch_agent_root(run->session->agent)->memo)
        ch_jw_kraw(w, "host", ch_sv_str(ch_agent_root(run->session->agent)->memo));
    ch_labels_write(&run->session->labels, w);
    ch_features_save(run, w);
    if (run->nchildren)
        ch_jw_kint(w, "called", run->nchildren);
    return ch_list_empty(&run->children) ? (struct ch_spent){0} : ch_parent_spent_below(run);
}

void ch_restore_open(chela_session *s) {
    static const struct ch_run_journal_ops ops = {restore_on_opened, restore_on_committed,
                                                  restore_on_lost, on_save, ch_input_queue_oldest};
    ch_run_journal_open(s, &ops);
}
