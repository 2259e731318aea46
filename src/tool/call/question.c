/* question.c -- see question.h. */
#include "tool/call/question.h"

#include "tool/registry/policy.h"

bool ch_call_can_ask(const chela_call *call) {
    const struct ch_policy *p = call->env ? call->env->policy : NULL;

    if (!call->env || !call->env->puts_questions || call->env->channel)
        return false; /* people of a chat service cannot answer questions of calls */
    if (call->env->ask_means == CH_CONSENT_ASK || call->env->ask_means == CH_CONSENT_SANDBOX)
        return true; /* somebody can decide about calls */
    for (; p; p = p->within)
        if (p->deny && ch_policy_listed(ch_sv_str(p->deny), CH_SV(CH_QUESTION_TOOL)))
            return false;
    return true;
}

void ch_call_question(chela_call *call, const char *arguments, const char *state,
                      void (*dropped)(void *user), void *user) {
    struct ch_question *q = CH_ARENA_NEW(&call->arena, struct ch_question);

    *q = (struct ch_question){
        .id = ch_arena_printf(&call->arena, "%s-q%u", call->id, ++call->questions),
        .arguments = ch_arena_str(&call->arena, ch_sv_str(arguments)),
        .state = state ? ch_arena_str(&call->arena, ch_sv_str(state)) : NULL,
        .dropped = dropped,
        .user = user,
    };
    call->question = q;
    ch_call_rest(call);
}

struct ch_question *ch_call_answered(const chela_call *call) {
    return call->question && call->question->answer ? call->question : NULL;
}

bool ch_question_is_open(const chela_call *call) {
    return call->question && !call->question->answer;
}

/* The call continues, and its effect may differ from the approved one: the call is checked
 * again. */
void ch_question_answer(chela_call *call, struct ch_sv text, bool is_error) {
    call->question->answer = ch_arena_str(&call->arena, text);
    call->question->is_error = is_error;
    call->passed = false;
    call->state = CH_CALL_READY;
}
