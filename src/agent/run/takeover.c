/* takeover.c -- a person takes over: the run ends here, with their words.
 *
 * Whatever is under way is dropped; calls that have no result get one that says
 * so, and the person's words join the conversation as the answer. So it may
 * happen at any step: while the model thinks, while tools work, while the run
 * waits, and for one that waits in the store as soon as it is taken up. */
#include "agent/journal/run_journal.h"
#include "base/limits.h"

void ch_taken_over(chela_run *run) {
    struct ch_sv text = ch_sv_str(run->taken_over);
    struct ch_msg *m = ch_msg_text(CH_MSG_ASSISTANT, text, ch_run_now(run));
    struct ch_reply r = {.stop = CH_STOP_STOP};
    struct chela_event ev = {.type = CHELA_EV_TEXT_DELTA, .delta = {ch_str(text), ch_str(text)}};
    run->stop_reason = ch_stop_name(CH_STOP_STOP);
    run->target = run->session->agent->targets[run->m.model];
    ch_buf_clear(&run->text);
    ch_buf_add_sv(&run->text, text);
    ch_warn(run, "a person took over");
    ch_keep_reply(run, m, &r);
    CH_AUTOFREE char *words = CH_TAKE(run->taken_over); /* text is in it */
    (void)words; /* freed at the end; clang 14 takes it for unused */
    if (!ch_emit(run, &ev) || ch_transcript_add(&run->session->transcript, m) < 0)
        return;
    ch_drive(run, &(struct ch_input){.kind = CH_IN_DECIDED, .reason = CH_REASON_COMPLETED});
}

static void on_task(struct ch_task *task) {
    ch_taken_over(CH_CONTAINER(task, chela_run, begin));
}

void ch_take_over(chela_run *run, const char *text) {
    if (run->taken_over)
        return;
    run->taken_over = ch_strdup(text);
    if (run->over || !run->begun) /* paused, or about to begin */
        return;
    if (run->batch) {
        ch_batch_cancel(run->batch, CH_TAKEN_OVER);
        return;
    }
    ch_think_abort(run);
    ch_timer_stop(run->loop, &run->retry);
    run->begin.fn = on_task;
    ch_task_defer(run->loop, &run->begin);
}

int chela_run_take_over(chela_run *run, const char *text, size_t len) {
    if (run->dead || ch_run_over(&run->m))
        return CHELA_ESTATE;
    if (len == 0)
        return CHELA_EINVAL;
    if (len > CH_LIMIT_INPUT)
        return CHELA_ELIMIT;
    CH_AUTOFREE char *words = ch_strndup(text, len);
    ch_take_over(run, words);
    if (run->over)
        ch_run_begin(run);
    return 0;
}
