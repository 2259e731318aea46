/* takeover.c -- a person takes over a run: the run ends with the person's text as its
 * answer.
 *
 * A take-over is an interruption like a cancel (CH_IN_TAKEN_OVER). Work in flight is
 * dropped, calls without a result get one that states the take-over, and the person's text
 * joins the conversation as the answer. A take-over is possible at every step: during a
 * model call, during tool calls, while the run waits, and for a stored run once it is
 * resumed. It may be requested inside any callback, so it takes effect on the loop's next
 * turn or when the current step ends. */
#include "agent/run/takeover.h"

#include "agent/handle/run_outcome.h"
#include "agent/journal/emit.h"
#include "agent/machine/run.h"
#include "agent/run/driver.h"
#include "agent/run/think.h"
#include "base/limits.h"
#include "io/loop_entry.h"

bool ch_takeover_apply(chela_run *run) {
    CH_AUTOFREE char *words = CH_TAKE(run->last_words);
    ch_run_outcome_clear_error(run);
    ch_emit_warning(run, "a person took over");
    return !run->dead && ch_think_say(run, ch_sv_str(words), true);
}

static void on_stop_soon(struct ch_task *task) {
    ch_driver_stop(CH_CONTAINER(task, chela_run, stop_soon));
}

void ch_takeover_request(chela_run *run, const char *text) {
    if (run->last_words || ch_run_interruption(run) != CH_IN_INPUT)
        return;
    run->last_words = ch_strdup(text);
    run->stop = CH_IN_TAKEN_OVER;
    if (run->over || !ch_run_begun(run)) /* paused or not begun yet: applied when the run
                                            continues */
        return;
    if (run->batch)
        ch_batch_skip(run->batch, CH_TAKEOVER_RESULT);
    run->stop_soon.fn = on_stop_soon;
    ch_task_defer(run->loop, &run->stop_soon);
}

int chela_run_take_over(chela_run *run, const char *text, size_t len) {
    CH_ENTER(run, run->loop, NULL);
    if (run->dead || run->retired || ch_run_over(&run->m) ||
        ch_run_interruption(run) != CH_IN_INPUT)
        return CHELA_ESTATE;
    if (len == 0)
        return CHELA_EINVAL;
    if (len > CH_LIMIT_INPUT)
        return CHELA_ELIMIT;
    CH_AUTOFREE char *words = ch_strndup(text, len);
    ch_takeover_request(run, words);
    if (run->over && !ch_run_parent_paused(run))
        ch_run_begin(run);
    return 0;
}
