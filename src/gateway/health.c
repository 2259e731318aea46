/* health.c -- is it alive, and can it work.
 *
 * Both routes are open, so they say no more than that: nothing of addresses,
 * versions, names or counts. */
#include "gateway/routes.h"

static void say(struct ch_visit *v, int status, const char *text) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "status", text);
    ch_jw_end(&w, '}');
    ch_visit_json(v, status, &out);
}

void ch_health_live(struct ch_visit *v) {
    say(v, 200, "ok");
}

void ch_health_ready(struct ch_visit *v) {
    if (v->gw->draining)
        say(v, 503, "stopping");
    else
        say(v, 200, "ok");
}
