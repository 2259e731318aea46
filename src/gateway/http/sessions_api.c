/* sessions_api.c -- /api/sessions: look at them, talk to them, stop them.
 *
 * A message for a session that rests begins a run. One that comes while a run
 * is in progress steers it, or waits for its end, as its sender asks. A session
 * that waits for its caller's tools gets their results the same way. */
#include <time.h>

#include "agent/journal/run_journal.h"
#include "base/error.h"
#include "base/limits.h"
#include "gateway/http/events.h"
#include "gateway/request/lookup.h"
#include "gateway/http/openai.h"
#include "store/store.h"

/* --- looking */

static int add_session(const struct chela_store_session *s, void *user) {
    struct ch_lookup *l = user;
    char *json = chela_store_session_json(s);
    ch_buf_addf(&l->out, "%s%s", l->out.n ? "," : "", json);
    chela_free(json);
    return 0;
}

static int ask_list(struct ch_lookup *l, struct chela_error *err) {
    struct chela_store_filter filter = CHELA_STORE_FILTER(.limit = (size_t)l->number);
    return chela_store_list(l->store, &filter, add_session, l, err);
}

static void told_list(struct ch_visit *v, struct ch_lookup *l) {
    CH_BUF_AUTO out = {0};
    ch_buf_addf(&out, "{\"sessions\":[%s]}", ch_buf_str(&l->out));
    ch_visit_json(v, 200, &out);
}

static int add_hit(const struct chela_store_hit *h, void *user) {
    struct ch_lookup *l = user;
    char *json = chela_store_hit_json(h);
    ch_buf_addf(&l->out, "%s%s", l->out.n ? "," : "", json);
    chela_free(json);
    return 0;
}

static int ask_search(struct ch_lookup *l, struct chela_error *err) {
    return chela_store_search(l->store, l->key, NULL, (size_t)l->number, add_hit, l, err);
}

static void told_search(struct ch_visit *v, struct ch_lookup *l) {
    CH_BUF_AUTO out = {0};
    ch_buf_addf(&out, "{\"hits\":[%s]}", ch_buf_str(&l->out));
    ch_visit_json(v, 200, &out);
}

void ch_sessions_list(struct ch_visit *v) {
    struct ch_sv words = ch_visit_query(v, "q");
    if (words.n) {
        ch_lookup(v, ch_query_decode(&v->arena, words),
                  ch_visit_number(v, "limit", 20, CH_LIMIT_LISTED), ask_search, told_search);
        return;
    }
    ch_lookup(v, ch_sv(NULL, 0), ch_visit_number(v, "limit", 100, CH_LIMIT_LISTED), ask_list,
              told_list);
}

static int ask_show(struct ch_lookup *l, struct chela_error *err) {
    return chela_store_show(l->store, l->key, &l->found, err);
}

static void told_show(struct ch_visit *v, struct ch_lookup *l) {
    CH_BUF_AUTO out = {0};
    ch_buf_add_str(&out, l->found);
    ch_visit_json(v, 200, &out);
}

void ch_sessions_show(struct ch_visit *v) {
    ch_lookup(v, v->param, 0, ask_show, told_show);
}

static int add_line(const char *p, size_t n, void *user) {
    struct ch_lookup *l = user;
    n -= n && p[n - 1] == '\n';
    if (l->number++) /* the first line is the session's, not a record's */
        ch_buf_addf(&l->out, "%s%.*s", l->number > 2 ? "," : "", (int)n, p);
    return 0;
}

/* Does another process hold it, as far as can be known? */
static int look_for_holder(const struct chela_store_session *s, void *user) {
    struct ch_lookup *l = user;
    bool lasts = s->until > l->now && !ch_owner_is_dead(s->owner);
    if (*s->owner && (lasts || ch_owner_lives(s->owner)))
        l->found = ch_strdup(s->owner);
    return 0;
}

static int ask_records(struct ch_lookup *l, struct chela_error *err) {
    int rc = chela_store_session(l->store, l->key, look_for_holder, l, err);
    return rc < 0 ? rc : chela_store_export(l->store, l->key, add_line, l, err);
}

/* live: somebody is at work on it. A journal whose run has no end, and nobody at
 * work, was cut off. */
static void told_records(struct ch_visit *v, struct ch_lookup *l) {
    CH_BUF_AUTO out = {0};
    const struct ch_lane *lane = ch_lane_find(v->gw, v->param);
    bool live = lane ? lane->running : l->found != NULL;
    ch_buf_addf(&out, "{\"live\":%s,\"records\":[", live ? "true" : "false");
    ch_buf_add_sv(&out, ch_buf_sv(&l->out));
    ch_buf_add_str(&out, "]}");
    ch_visit_json(v, 200, &out);
}

void ch_sessions_records(struct ch_visit *v) {
    ch_lookup(v, v->param, 0, ask_records, told_records);
}

/* --- deleting: our own hold on it may still be on its way to the store */

#define DELETE_TRIES 50

static int ask_delete(struct ch_lookup *l, struct chela_error *err) {
    const struct timespec moment = {.tv_nsec = 20 * 1000 * 1000};
    int rc = chela_store_delete(l->store, l->key, err);
    for (int i = 0; rc == CHELA_EBUSY && l->number && i < DELETE_TRIES; i++) {
        nanosleep(&moment, NULL);
        rc = chela_store_delete(l->store, l->key, err);
    }
    return rc;
}

static void told_delete(struct ch_visit *v, struct ch_lookup *l) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "deleted", l->key);
    ch_jw_end(&w, '}');
    ch_visit_json(v, 200, &out);
}

void ch_sessions_delete(struct ch_visit *v) {
    struct ch_lane *lane = ch_lane_find(v->gw, v->param);
    if (lane && lane->running) {
        ch_visit_fail(v, 409, "busy", "a run is in progress: cancel it first");
        return;
    }
    if (lane)
        ch_lane_close(lane);
    ch_lookup(v, v->param, lane != NULL, ask_delete, told_delete);
}

void ch_sessions_cancel(struct ch_visit *v) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    struct ch_lane *lane = ch_lane_find(v->gw, v->param);
    if (!lane || !lane->running) {
        ch_visit_fail(v, 409, "idle", "nothing runs in session '%.*s'", CH_SV_FMT(v->param));
        return;
    }
    chela_cancel(lane->run, "cancelled by a request");
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "session", lane->session->key);
    ch_jw_kcstr(&w, "run", lane->run->id);
    ch_jw_kbool(&w, "cancelled", true);
    ch_jw_end(&w, '}');
    ch_visit_json(v, 202, &out);
}

/* --- talking */

struct message {
    struct ch_lane_wait wait;
    struct ch_visit *visit;
};

static void accepted(struct ch_visit *v, struct ch_lane *l, const char *delivery) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    if (ch_json_bool(ch_json_get(v->json, "stream"), false)) {
        ch_events_follow(v, l, true);
        return;
    }
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "session", l->session->key);
    ch_jw_kcstr(&w, "run", l->run ? l->run->id : NULL);
    ch_jw_kcstr(&w, "delivery", delivery);
    if (strcmp(delivery, "results") == 0)
        ch_jw_kbool(&w, "resumed", l->running);
    ch_jw_end(&w, '}');
    ch_visit_json(v, 202, &out);
}

/* The run goes on with the last of them; until then each is kept. */
static int give_results(struct ch_visit *v, struct ch_lane *l, struct chela_error *err) {
    size_t given = 0;
    for (CH_JSON_EACH(r, ch_json_get(v->json, "results"))) {
        const char *id = ch_arena_str(&v->arena, ch_json_get_str(r, "id"));
        struct ch_sv content = ch_json_get_str(r, "content");
        int rc = chela_session_answer(l->session, id, content.p ? content.p : "", content.n,
                                      ch_json_bool(ch_json_get(r, "is_error"), false), err);
        if (rc < 0)
            return rc;
        given++;
    }
    int rc = ch_lane_resume(l, "ask", err);
    return rc == CHELA_ESTATE && given ? 0 : rc;
}

static int read_input(struct ch_visit *v, struct ch_msg **out, struct chela_error *err) {
    struct ch_history h;
    struct ch_sv text = ch_json_get_str(v->json, "text");
    int rc = 0;
    ch_history_init(&h, &v->arena, ch_now_ms(ch_loop_clock(v->gw->rt->loop)));
    ch_history_begin(&h, CH_MSG_USER);
    ch_history_text(&h, text);
    for (CH_JSON_EACH(url, ch_json_get(v->json, "images")))
        if (rc == 0)
            rc = ch_history_media(&h, CH_BLOCK_IMAGE, ch_json_str(url), CH_SV(""), err);
    if (rc == 0)
        rc = ch_history_end(&h, out, err);
    ch_history_release(&h);
    return rc;
}

static int say_while_running(struct ch_visit *v, struct ch_lane *l, const char **delivery,
                             struct chela_error *err) {
    struct ch_sv text = ch_json_get_str(v->json, "text"), mode = ch_json_get_str(v->json, "mode");
    bool later = ch_sv_is(mode, "follow_up");
    if (!text.n)
        return ch_fail(err, CHELA_EINVAL, "there is no `text`");
    if (ch_sv_is(mode, "run"))
        return ch_fail(err, CHELA_EBUSY, "session '%s' is busy with a run", l->session->key);
    int rc = later ? chela_run_follow_up(l->run, text.p, text.n)
                   : chela_run_steer(l->run, text.p, text.n);
    *delivery = later ? "follow_up" : "steer";
    return rc < 0 ? ch_fail(err, rc, "the message cannot be delivered: %s", chela_error_text(rc))
                  : 0;
}

/* A person answers in the run's place, whatever it is doing. */
static int take_over(struct ch_visit *v, struct ch_lane *l, struct chela_error *err) {
    struct ch_sv text = ch_json_get_str(v->json, "text");
    if (!text.n)
        return ch_fail(err, CHELA_EINVAL, "there is no `text`");
    bool stored = l->session->keep && l->session->keep->past;
    int rc = stored ? ch_lane_resume(l, "ask", err) : 0;
    if (rc < 0)
        return rc;
    rc = l->run ? chela_run_take_over(l->run, text.p, text.n) : CHELA_ESTATE;
    if (rc == 0)
        l->running = true;
    return rc < 0 ? ch_fail(err, rc, "nothing is under way in session '%s'", l->session->key) : 0;
}

static int say(struct ch_visit *v, struct ch_lane *l, const char **delivery,
               struct chela_error *err) {
    struct ch_msg *input;
    if (ch_json_is(ch_json_get(v->json, "results"), CH_JSON_ARRAY)) {
        *delivery = "results";
        return give_results(v, l, err);
    }
    if (ch_sv_is(ch_json_get_str(v->json, "mode"), "take_over")) {
        *delivery = "take_over";
        return take_over(v, l, err);
    }
    if (l->running)
        return say_while_running(v, l, delivery, err);
    if (ch_json_bool(ch_json_get(v->json, "resume"), false)) {
        *delivery = "resume";
        return ch_lane_resume(l, "ask", err);
    }
    *delivery = "run";
    int rc = read_input(v, &input, err);
    return rc < 0 ? rc : ch_lane_start(l, input, "ask", err);
}

static void on_ready(struct ch_lane_wait *w, struct ch_lane *l, const struct chela_error *failed) {
    struct message *m = CH_CONTAINER(w, struct message, wait);
    struct ch_visit *v = m->visit;
    struct chela_error err = {0};
    const char *delivery = NULL;
    v->left = NULL;
    ch_free(m);
    if (failed)
        ch_visit_error(v, failed);
    else if (say(v, l, &delivery, &err) < 0)
        ch_visit_error(v, &err);
    else
        accepted(v, l, delivery);
}

static void on_left(struct ch_visit *v) {
    struct message *m = v->user;
    ch_list_del(&m->wait.link);
    ch_free(m);
}

static int read_tools(struct ch_visit *v, struct ch_lane_opts *o, struct chela_error *err) {
    const struct ch_json *tools = ch_json_get(v->json, "tools");
    size_t max = ch_json_is(tools, CH_JSON_ARRAY) ? tools->n : 0;
    struct chela_tool_opts *list = ch_arena_alloc(&v->arena, (max + 1) * sizeof(*list));
    for (CH_JSON_EACH(t, tools)) {
        int rc = ch_openai_tool(v, t, list, &o->ntools, err);
        if (rc < 0)
            return rc;
    }
    o->tools = list;
    return 0;
}

static int use_lane(struct ch_visit *v, struct ch_lane **out, struct chela_error *err) {
    struct ch_sv id = ch_json_get_str(v->json, "agent");
    struct ch_lane_opts o = {.agent = ch_gateway_agent(v->gw, id),
                             .key = ch_arena_str(&v->arena, v->param)};
    struct ch_lane *live = ch_lane_find(v->gw, v->param);
    bool as_it_is = !id.n && !ch_json_get(v->json, "tools");
    if (live && (as_it_is || live->running)) {
        *out = live;
        return 0;
    }
    if (!o.agent)
        return ch_fail(err, CHELA_ENOENT, "there is no agent '%.*s'", CH_SV_FMT(id));
    int rc = ch_lane_key_check(v->param, err);
    if (rc == 0)
        rc = read_tools(v, &o, err);
    return rc < 0 ? rc : ch_lane_use(v->gw, &o, out, err);
}

void ch_sessions_message(struct ch_visit *v) {
    struct chela_error err = {0};
    struct ch_lane *lane;
    if (!v->gw->store) {
        ch_visit_fail(v, 501, NULL, "this gateway keeps no sessions");
        return;
    }
    if (use_lane(v, &lane, &err) < 0) {
        ch_visit_error(v, &err);
        return;
    }
    struct message *m = ch_alloc(sizeof(*m));
    m->visit = v;
    m->wait.ready = on_ready;
    v->user = m;
    v->left = on_left;
    ch_lane_when_ready(lane, &m->wait);
}
