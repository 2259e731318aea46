/* eval_history.c -- see eval_history.h. */
#include "eval/eval_history.h"

#include "agent/session/session.h"
#include "base/error.h"
#include "model/message/message_json.h"

static int history_add(chela_session *s, const struct ch_json *v, struct chela_error *err) {
    struct ch_msg *m = NULL;
    int rc = ch_msg_read(v, &m, err);
    if (rc == 0)
        rc = ch_transcript_add(&s->transcript, m);
    return rc < 0 && !(err && err->code) ? ch_fail(err, rc, "the history is too long") : rc;
}

int ch_eval_history_open(chela_agent *agent, const struct ch_eval_case *c, chela_session **out,
                         struct chela_error *err) {
    if (!c->history)
        return chela_session_new(agent, NULL, out, err);
    chela_session *s = NULL;
    int rc = ch_session_open(agent, NULL, false, &s, err);
    for (CH_JSON_EACH(e, c->history)) {
        struct chela_error why = {0};
        if (rc == 0 && history_add(s, e, &why) < 0)
            rc = ch_fail(err, CHELA_EINVAL, "%s: case '%s': history: %s", c->where, c->name,
                         why.message);
    }
    if (rc == 0)
        *out = s;
    else
        chela_session_close(s);
    return rc;
}
