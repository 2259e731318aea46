/* function.c -- tools that are C functions of the host.
 *
 * A function may block, so it runs on a worker thread, unless the host declares it quick
 * (CHELA_TOOL_ON_LOOP). A thread cannot be killed: after a timeout or a cancellation,
 * chela_call_cancelled returns true, and the function holds the call until it returns; its
 * result is dropped. Results are shaped on the thread that made them. */
#include "tool/call/function.h"
#include "base/opts.h"

#include "io/loop_entry.h"
#include "tool/call/call.h"

struct function {
    chela_tool_fn *fn;
    void *user; /* the host's value */
};

/* Set `begun` before reading `cancelled`. The cancelling thread does the opposite, so
 * either the function is not entered or the canceller knows that it was. */
static void function_enter(chela_call *call) {
    const struct function *f = call->tool->impl;
    int rc = CHELA_ECANCELED;

    atomic_store(&call->begun, true);
    if (!chela_call_cancelled(call))
        rc = f->fn(call, f->user);
    if (rc < 0 && call->deferred && !atomic_exchange(&call->finished, true))
        call->deferred = false; /* fn failed: the host will not finish the call */
    if (!call->deferred)
        ch_answer_conclude(&call->answer, rc, &call->made);
}

static void function_on_thread(struct ch_work *w) {
    chela_call *call = CH_CONTAINER(w, chela_call, work);

    call->answer.later = false; /* shape on this thread */
    function_enter(call);
}

static void function_on_done(struct ch_work *w) {
    ch_call_worked(CH_CONTAINER(w, chela_call, work));
}

static void function_start(chela_call *call) {
    call->on_cancel = NULL; /* left over from an earlier attempt */
    call->deferred = false;
    if (call->tool->flags & CHELA_TOOL_ON_LOOP) {
        ch_call_ref(call); /* a deferred call may be finished before fn returns */
        function_enter(call);
        if (!call->deferred)
            ch_call_worked(call);
        ch_call_unref(call);
        return;
    }
    call->work = (struct ch_work){
        .run = function_on_thread, .done = function_on_done, .dropped = function_on_done};
    ch_work_submit(call->env->workers, &call->work);
}

void chela_call_defer(chela_call *call) {
    CH_ENTER_OR(call, call->env ? call->env->loop : NULL, NULL, );
    if (call->tool->flags & CHELA_TOOL_ON_LOOP)
        call->deferred = true;
}

void chela_call_on_cancel(chela_call *call, void (*fn)(chela_call *call, void *user), void *user) {
    CH_ENTER_OR(call, call->env ? call->env->loop : NULL, NULL, );
    call->on_cancel = fn;
    call->on_cancel_user = user;
}

/* Only a deferred call has a cancel callback; a thread polls chela_call_cancelled. */
static void function_cancel(chela_call *call) {
    void (*fn)(chela_call *, void *) = call->on_cancel;

    call->on_cancel = NULL;
    if (fn && call->deferred && !atomic_load(&call->finished))
        fn(call, call->on_cancel_user);
}

void chela_call_finish(chela_call *call) {
    CH_NEEDS_OR(call, NULL, );
    if (!call->deferred || atomic_exchange(&call->finished, true))
        return;
    ch_answer_conclude(&call->answer, 0, &call->made);
    if (!ch_gate_post(&call->gate, &call->finish_post))
        ch_call_unref(call); /* no waiter: drop the work's reference */
}

static const struct ch_tool_ops ops = {
    .name = "function",
    .start = function_start,
    .cancel = function_cancel,
    .free = ch_free,
};

int ch_function_add(struct ch_registry *r, const struct chela_tool_opts *opts,
                    struct chela_error *err) {
    struct chela_tool_opts own;
    int rc = CH_OPTS_NEED(chela_tool_opts, &own, opts, err);
    if (rc < 0)
        return rc;
    if (!own.fn)
        return ch_registry_add(r, &own, NULL, NULL, err); /* the host runs it, or it is refused */
    struct function *f = ch_alloc(sizeof(*f));
    f->fn = own.fn;
    f->user = own.user;
    rc = ch_registry_add(r, &own, &ops, f, err);
    if (rc < 0)
        ch_free(f);
    return rc;
}
