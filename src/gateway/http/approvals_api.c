/* approvals_api.c -- /api/approvals: calls that wait for a person.
 *
 * A run is paused in the store before anybody hears of it, so the store knows
 * all calls that wait, of this process and of others. A decision finds its
 * session there, and the run goes on once nothing else waits. Calls that wait
 * for their result are listed beside those that wait for consent: the result
 * goes to the session (sessions_api.c). */
#include "base/error.h"
#include "base/limits.h"
#include "gateway/lane/lane.h"
#include "gateway/request/lookup.h"
#include "gateway/http/routes.h"

/* --- all that wait */

struct search {
    char **keys; /* owned: of paused sessions */
    size_t n;
};

static int keep_paused(const struct chela_store_session *s, void *user) {
    struct search *f = user;
    if (f->n == CH_LIMIT_LISTED || s->key[chela_session_root(s->key)])
        return 0; /* what it waits for is asked by who called it */
    f->keys = ch_realloc(f->keys, (f->n + 1) * sizeof(*f->keys));
    f->keys[f->n++] = ch_strdup(s->key);
    return 0;
}

static void write_waiting(struct ch_buf *out, const struct ch_json *w, const char *key,
                          const struct ch_json *agent) {
    struct ch_jw j = ch_jw(out);
    if (out->n)
        ch_buf_addc(out, ',');
    ch_jw_begin(&j, '{');
    ch_jw_kcstr(&j, "session", key);
    ch_jw_kstr(&j, "agent", ch_json_str(agent));
    for (CH_JSON_MEMBERS(k, v, w)) {
        ch_jw_key_sv(&j, ch_json_str(k));
        ch_jw_value(&j, v);
    }
    ch_jw_end(&j, '}');
}

/* The calls of one session that wait for somebody; with l->key only the one that
 * is to be decided about under it, whose session is then l->found. */
static void look_into(struct ch_lookup *l, const char *key) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    char *text = NULL;
    if (chela_store_show(l->store, key, &text, NULL) < 0)
        return; /* gone meanwhile */
    if (ch_json_parse(&arena, ch_sv_str(text), CH_JSON_REPLACE, &v, NULL, NULL) == 0) {
        for (CH_JSON_EACH(w, ch_json_get(v, "waiting"))) {
            struct ch_sv id = ch_json_get_str(w, "approval_id");
            if (l->key && !ch_sv_is(id, l->key))
                continue;
            write_waiting(id.n ? &l->out : &l->more, w, key, ch_json_get(v, "agent"));
            if (l->key && !l->found)
                l->found = ch_strdup(key);
        }
    }
    chela_free(text);
}

static int ask_waiting(struct ch_lookup *l, struct chela_error *err) {
    struct search f = {0};
    struct chela_store_filter paused = CHELA_STORE_FILTER(.status = "paused");
    int rc = chela_store_list(l->store, &paused, keep_paused, &f, err);
    for (size_t i = 0; i < f.n; i++) {
        if (rc == 0 && !(l->key && l->found))
            look_into(l, f.keys[i]);
        ch_free(f.keys[i]);
    }
    ch_free(f.keys);
    if (rc == 0 && l->key && !l->found)
        return ch_fail(err, CHELA_ENOENT, "no call waits under the id '%s'", l->key);
    return rc;
}

static void told_waiting(struct ch_visit *v, struct ch_lookup *l) {
    CH_BUF_AUTO out = {0};
    ch_buf_addf(&out, "{\"approvals\":[%s],\"unanswered\":[%s]}", ch_buf_str(&l->out),
                ch_buf_str(&l->more));
    ch_visit_json(v, 200, &out);
}

void ch_approvals_list(struct ch_visit *v) {
    ch_lookup(v, ch_sv(NULL, 0), 0, ask_waiting, told_waiting);
}

/* --- deciding about one */

struct decision {
    struct ch_lane_wait wait;
    struct ch_visit *visit;
};

static bool read_decision(struct ch_sv word, enum chela_decision *out) {
    static const struct {
        const char *word;
        enum chela_decision decision;
    } known[] = {{"allow-once", CHELA_ALLOW_ONCE},
                 {"allow-always", CHELA_ALLOW_ALWAYS},
                 {"deny", CHELA_DENY},
                 {"edit", CHELA_EDIT},
                 {"answer", CHELA_ANSWER},
                 {"take-over", CHELA_TAKE_OVER}};
    for (size_t i = 0; i < CH_LEN(known); i++)
        if (ch_sv_is(word, known[i].word)) {
            *out = known[i].decision;
            return true;
        }
    return false;
}

/* What goes with the decision, under the name that suits it. NULL: nothing. */
static const char *words_of(struct ch_visit *v, enum chela_decision d) {
    const struct ch_json *arguments = ch_json_get(v->json, "arguments");
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    if (d == CHELA_EDIT && arguments && arguments->type == CH_JSON_OBJECT)
        ch_jw_value(&w, arguments);
    else
        ch_buf_add_sv(&text, ch_json_get_str(v->json, d == CHELA_EDIT        ? "arguments"
                                                      : d == CHELA_ANSWER    ? "content"
                                                      : d == CHELA_TAKE_OVER ? "text"
                                                                             : "reason"));
    return text.n ? ch_arena_str(&v->arena, ch_buf_sv(&text)) : NULL;
}

static void decide(struct ch_visit *v, struct ch_lane *l) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    struct chela_error err = {0};
    enum chela_decision decision = CHELA_UNDECIDED;
    read_decision(ch_json_get_str(v->json, "decision"), &decision);
    int rc = chela_session_approve(l->session, ch_arena_str(&v->arena, v->param), decision,
                                   words_of(v, decision), &err);
    if (rc < 0) {
        ch_visit_error(v, &err);
        return;
    }
    rc = ch_lane_resume(l, "ask", &err); /* CHELA_ESTATE: others still wait */
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "session", l->session->key);
    ch_jw_kbool(&w, "resumed", rc == 0);
    ch_jw_end(&w, '}');
    ch_visit_json(v, 200, &out);
}

static void on_ready(struct ch_lane_wait *w, struct ch_lane *l, const struct chela_error *err) {
    struct decision *d = CH_CONTAINER(w, struct decision, wait);
    struct ch_visit *v = d->visit;
    v->left = NULL;
    ch_free(d);
    if (err)
        ch_visit_error(v, err);
    else
        decide(v, l);
}

static void on_left(struct ch_visit *v) {
    struct decision *d = v->user;
    ch_list_del(&d->wait.link);
    ch_free(d);
}

static chela_agent *agent_of(struct ch_visit *v, const struct ch_lookup *l) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *one = NULL;
    ch_json_parse(&arena, ch_buf_sv(&l->out), CH_JSON_REPLACE, &one, NULL, NULL);
    chela_agent *a = ch_gateway_agent(v->gw, ch_json_get_str(one, "agent"));
    return a ? a : v->gw->agents[0];
}

static void told_one(struct ch_visit *v, struct ch_lookup *l) {
    struct chela_error err = {0};
    struct ch_lane *lane = ch_lane_find(v->gw, ch_sv_str(l->found));
    struct ch_lane_opts o = {.agent = agent_of(v, l), .key = l->found};
    if (!lane && ch_lane_use(v->gw, &o, &lane, &err) < 0) {
        ch_visit_error(v, &err);
        return;
    }
    struct decision *d = ch_alloc(sizeof(*d));
    d->visit = v;
    d->wait.ready = on_ready;
    v->user = d;
    v->left = on_left;
    ch_lane_when_ready(lane, &d->wait);
}

void ch_approvals_decide(struct ch_visit *v) {
    enum chela_decision decision;
    if (!read_decision(ch_json_get_str(v->json, "decision"), &decision)) {
        ch_visit_fail(v, 400, NULL,
                      "`decision` is allow-once, allow-always, deny, edit, answer or take-over");
        return;
    }
    ch_lookup(v, v->param, 0, ask_waiting, told_one);
}
