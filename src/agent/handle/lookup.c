/* lookup.c -- see lookup.h. */
#include "agent/handle/lookup.h"

#include "agent/handle/run.h"

chela_agent *ch_agent_find(const chela_runtime *rt, const char *id) {
    chela_agent *found = NULL;
    for (CH_LIST_EACH(i, &rt->agents)) {
        chela_agent *a = CH_CONTAINER(i, chela_agent, link);
        if (!a->base && !a->closed && strcmp(a->id, id) == 0)
            found = a;
    }
    return found;
}

chela_agent *ch_agent_root(chela_agent *a) {
    while (a->base)
        a = a->base;
    return a;
}

chela_session *ch_session_find(const chela_runtime *rt, struct ch_sv key) {
    struct ch_keyed *e = ch_key_table_find(&rt->sessions, key);
    return e ? CH_CONTAINER(e, chela_session, by_key) : NULL;
}

chela_run *ch_run_find(const chela_runtime *rt, const char *session, const char *id) {
    const chela_session *s = ch_session_find(rt, ch_sv_str(session));
    return s && s->run && strcmp(s->run->id, id) == 0 ? s->run : NULL;
}

void ch_runtime_busy(chela_runtime *rt, bool busy) {
    rt->running += busy ? 1 : -1u;
    rt->idle = rt->running == 0;
    if (busy)
        ch_loop_hold(rt->loop);
    else
        ch_loop_release(rt->loop);
}

void ch_runtime_free_soon(chela_runtime *rt) {
    ch_task_defer(rt->loop, &rt->free_closed);
}
