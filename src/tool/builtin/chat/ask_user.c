/* ask_user.c -- the tool `ask_user`: a question that only a person can answer.
 *
 * The tool runs nothing: the host shows the question and supplies the answer
 * (chela/session.h), and the run waits until then. This file only validates the question. */
#include "tool/builtin/chat/ask_user.h"

#include "base/limits.h"
#include "tool/call/call.h"
#include "json/json.h"
#include "tool/call/call_view.h"

static const char *const question_names[] = {"question", "prompt", "message", NULL};
static const char *const choice_names[] = {"choices", "options", NULL};

static int check_choices(chela_call *call, const struct ch_json *choices) {
    if (!choices || choices->type == CH_JSON_NULL)
        return 0;
    if (choices->type != CH_JSON_ARRAY)
        return chela_result_error(call, "invalid_arguments",
                                  "The argument \"choices\" must be an array of strings.");
    if (choices->n > CH_LIMIT_CHOICES)
        return chela_result_error(call, "invalid_arguments", "At most %d choices can be offered.",
                                  CH_LIMIT_CHOICES);
    for (CH_JSON_EACH(v, choices))
        if (ch_sv_trim(ch_json_str(v)).n == 0 || v->n > CH_LIMIT_QUESTION)
            return chela_result_error(call, "invalid_arguments",
                                      "Each choice must be a string of 1 to %d bytes.",
                                      CH_LIMIT_QUESTION);
    return 0;
}

int ch_ask_user_check(chela_call *call, void *user) {
    const char *question;

    (void)user;
    int rc = chela_arg_string(call, ch_arg_name(call, question_names), &question);
    if (rc < 0)
        return rc;
    struct ch_sv text = ch_sv_trim(ch_sv_str(question));
    if (text.n == 0 || text.n > CH_LIMIT_QUESTION)
        return chela_result_error(call, "invalid_arguments",
                                  "The question must have between 1 and %d bytes.",
                                  CH_LIMIT_QUESTION);
    return check_choices(call, ch_json_get(call->args, ch_arg_name(call, choice_names)));
}
