/* hooks.c -- calls the host's hooks, one set after the other.
 *
 * A text that a hook stores in its argument is copied into the turn's arena when the hook
 * returns. The first hook that returns CHELA_HALT ends the round. Sets are looked up by
 * index on every step because a hook may add a set. */
#include "agent/handle/hooks.h"
#include "agent/handle/run.h"
#include "agent/machine/event.h"
#include "base/choice.h"

static size_t nhooks(const chela_run *run) {
    return run->session->agent->nhooks;
}

static const struct chela_hooks *hook(const chela_run *run, size_t i) {
    return &run->session->agent->hooks[i];
}

static bool hooks_go_on(chela_run *run, enum chela_flow f) {
    if (f != CHELA_GO && !ch_run_stops(run))
        run->stop = CH_IN_CANCEL;
    return !ch_run_stops(run) && !run->dead;
}

static void hooks_keep(chela_run *run, const char **text) {
    if (*text)
        *text = ch_arena_str(&run->arena, ch_sv_str(*text));
}

static void keep_patch(chela_run *run, struct chela_turn_patch *patch) {
    hooks_keep(run, &patch->system);
    hooks_keep(run, &patch->model);
    hooks_keep(run, &patch->tools);
    hooks_keep(run, &patch->tool_choice);
    if (patch->temperature) {
        double *copy = ch_arena_alloc(&run->arena, sizeof(*copy));
        *copy = *patch->temperature;
        patch->temperature = copy;
    }
}

bool ch_hooks_before_model(chela_run *run, struct chela_turn_patch *patch) {
    for (size_t i = 0; i < nhooks(run); i++) {
        const struct chela_hooks *h = hook(run, i);
        if (!h->before_model)
            continue;
        enum chela_flow f = h->before_model(run, patch, h->user);
        run->stamp = 0; /* the hook may have taken long */
        keep_patch(run, patch);
        if (!hooks_go_on(run, f))
            return false;
    }
    return true;
}

static enum chela_flow on_delta(const struct chela_hooks *h, chela_run *run,
                                const struct chela_event *ev) {
    switch (ev->type) {
    case CHELA_EV_TEXT_DELTA:
        return h->text ? h->text(run, ev->delta.text, ev->delta.so_far, h->user) : CHELA_GO;
    case CHELA_EV_REASONING_DELTA:
        return h->reasoning ? h->reasoning(run, ev->delta.text, ev->delta.so_far, h->user)
                            : CHELA_GO;
    default:
        return h->call_delta ? h->call_delta(run, ev, h->user) : CHELA_GO;
    }
}

bool ch_hooks_delta(chela_run *run, const struct chela_event *ev) {
    for (size_t i = 0; i < nhooks(run); i++)
        if (!hooks_go_on(run, on_delta(hook(run, i), run, ev)))
            return false;
    return true;
}

bool ch_hooks_after_model(chela_run *run, const struct chela_event *ev) {
    for (size_t i = 0; i < nhooks(run); i++) {
        const struct chela_hooks *h = hook(run, i);
        if (h->after_model && !hooks_go_on(run, h->after_model(run, ev, h->user)))
            return false;
    }
    return true;
}

bool ch_hook_invalid(chela_run *run, struct chela_invalid_call *call) {
    for (size_t i = 0; i < nhooks(run); i++) {
        const struct chela_hooks *h = hook(run, i);
        if (!h->invalid_call)
            continue;
        enum chela_flow f = h->invalid_call(run, call, h->user);
        hooks_keep(run, &call->new_name);
        hooks_keep(run, &call->new_arguments);
        hooks_keep(run, &call->feedback);
        if (!hooks_go_on(run, f))
            return false;
    }
    return true;
}

bool ch_hook_awaits_tools(const chela_run *run) {
    for (size_t i = 0; i < nhooks(run); i++)
        if (hook(run, i)->before_tool)
            return true;
    return false;
}

/* A later set sees the arguments as rewritten by an earlier one. A decision not to run the
 * call is final. */
bool ch_hook_before_tool(chela_run *run, struct chela_before_tool *call) {
    for (size_t i = 0; i < nhooks(run) && call->action == CHELA_TOOL_RUN; i++) {
        const struct chela_hooks *h = hook(run, i);
        if (!h->before_tool)
            continue;
        enum chela_flow f = h->before_tool(run, call, h->user);
        hooks_keep(run, &call->new_arguments);
        hooks_keep(run, &call->feedback);
        if (!hooks_go_on(run, f))
            return false;
        if (call->new_arguments)
            call->arguments = ch_str(ch_sv_str(call->new_arguments));
    }
    return true;
}

/* The first set that decides wins. */
bool ch_hook_approve(chela_run *run, struct chela_approval *approval) {
    for (size_t i = 0; i < nhooks(run) && approval->decision == CHELA_UNDECIDED; i++) {
        const struct chela_hooks *h = hook(run, i);
        if (!h->approve)
            continue;
        enum chela_flow f = h->approve(run, approval, h->user);
        hooks_keep(run, &approval->reason);
        if (ch_choice_check(CHELA_CHOICE_DECISION, approval->decision, NULL) < 0)
            approval->decision = CHELA_UNDECIDED;
        if (!hooks_go_on(run, f))
            return false;
    }
    return true;
}

bool ch_hook_after_tool(chela_run *run, struct chela_after_tool *call) {
    for (size_t i = 0; i < nhooks(run); i++) {
        const struct chela_hooks *h = hook(run, i);
        if (!h->after_tool)
            continue;
        enum chela_flow f = h->after_tool(run, call, h->user);
        hooks_keep(run, &call->content);
        if (!hooks_go_on(run, f))
            return false;
    }
    return true;
}

void ch_hooks_run_end(chela_run *run, const struct chela_event *ev) {
    for (size_t i = 0; i < nhooks(run); i++)
        if (hook(run, i)->run_end)
            hook(run, i)->run_end(run, ev, hook(run, i)->user);
}
