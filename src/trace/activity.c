/* activity.c -- see activity.h.
 *
 * The runs of a session follow each other, so that one run is read at a time. A run waits for a
 * person from the record that says `paused` to the next record. */
#include "trace/activity.h"

#include "agent/journal/journal.h"
#include "base/arena.h"
#include "base/grow.h"
#include "base/mem.h"
#include "json/json.h"
#include "model/message/ids.h"

struct activity_session {
    char *key, *agent; /* owned */
};

struct activity_reading {
    struct activity_session *sessions; /* owned */
    size_t n, cap;
    uint64_t *seen; /* owned: hashes of the ids of runs */
    size_t nseen, seen_cap;
    struct ch_arena arena; /* texts of the run */
    struct ch_activity_run run; /* run NULL: none */
    int64_t paused;             /* time since which the run waits; 0: the run does not wait */
    int64_t since;
    ch_activity_fn *fn;
    void *user;
    int stop;
};

/* False: the run was passed on before. */
static bool activity_add_seen(struct activity_reading *rd, const char *run) {
    uint64_t hash = ch_hash(1, ch_sv_str(run));
    for (size_t i = rd->nseen; i > 0; i--)
        if (rd->seen[i - 1] == hash)
            return false;
    CH_GROW(rd->seen, rd->nseen, rd->seen_cap, 256);
    rd->seen[rd->nseen++] = hash;
    return true;
}

/* Passes the run on, and forgets it. */
static void activity_end_run(struct activity_reading *rd) {
    if (rd->run.run && rd->run.end >= rd->since && !rd->stop && activity_add_seen(rd, rd->run.run))
        rd->stop = rd->fn(&rd->run, rd->user);
    rd->run = (struct ch_activity_run){0};
    rd->paused = 0;
    ch_arena_release(&rd->arena);
    rd->arena = (struct ch_arena){0};
}

static const char *activity_text(struct activity_reading *rd, struct ch_sv text) {
    return text.n ? ch_arena_str(&rd->arena, text) : "";
}

/* Begins a run if the record belongs to another one. */
static void activity_enter(struct activity_reading *rd, const struct activity_session *s,
                           struct ch_sv id, int64_t ts) {
    if (rd->run.run && ch_sv_is(id, rd->run.run))
        return;
    activity_end_run(rd);
    rd->run = (struct ch_activity_run){.session = s->key,
                                       .agent = s->agent,
                                       .run = activity_text(rd, id),
                                       .status = "",
                                       .reason = "",
                                       .error = "",
                                       .start = ts,
                                       .end = ts,
                                       .cost = -1};
}

static void activity_state(struct activity_reading *rd, const struct ch_json *v, int64_t ts) {
    struct ch_activity_run *run = &rd->run;
    const struct ch_json *used = ch_json_get(v, "usage");
    struct ch_sv agent = ch_json_get_str(v, "agent");
    run->status = activity_text(rd, ch_json_get_str(v, "status"));
    run->reason = activity_text(rd, ch_json_get_str(v, "reason"));
    run->error = activity_text(rd, ch_json_get_str(v, "error"));
    if (agent.n)
        run->agent = activity_text(rd, agent);
    run->turns = ch_json_int(ch_json_get(v, "turns"), 0);
    run->calls = ch_json_int(ch_json_get(v, "tool_calls"), 0);
    run->input = ch_json_int(ch_json_get(used, "input"), 0);
    run->output = ch_json_int(ch_json_get(used, "output"), 0);
    run->cost = ch_json_double(ch_json_get(v, "cost"), -1);
    if (strcmp(run->status, "paused") == 0) {
        rd->paused = ts;
        run->waits++;
    }
}

struct activity_cursor {
    struct activity_reading *rd;
    const struct activity_session *session;
};

static int activity_on_record(const struct chela_store_record *r, void *user) {
    struct activity_cursor *at = user;
    struct activity_reading *rd = at->rd;
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    if (r->type == CH_REC_PART ||
        ch_json_parse(&arena, ch_sv(r->data, r->n), CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return rd->stop;
    struct ch_sv id = ch_json_get_str(v, "run");
    if (rd->run.run && rd->paused) {
        rd->run.waited_ms += CH_MAX(r->ts - rd->paused, 0);
        rd->paused = 0;
    }
    if (id.n)
        activity_enter(rd, at->session, id, r->ts);
    if (!rd->run.run)
        return rd->stop;
    rd->run.end = r->ts;
    if (r->type == CH_REC_STATE)
        activity_state(rd, v, r->ts);
    rd->run.failures += r->type == CH_REC_FAILURE;
    return rd->stop;
}

static int activity_on_session(const struct chela_store_session *s, void *user) {
    struct activity_reading *rd = user;
    if (s->updated < rd->since)
        return 0;
    CH_GROW(rd->sessions, rd->n, rd->cap, 64);
    rd->sessions[rd->n++] = (struct activity_session){ch_strdup(s->key), ch_strdup(s->agent)};
    return 0;
}

int ch_activity_list(chela_store *store, int64_t since, size_t sessions, ch_activity_fn *fn,
                     void *user, struct chela_error *err) {
    struct activity_reading rd = {.since = since, .fn = fn, .user = user};
    struct chela_store_filter filter = CHELA_STORE_FILTER(.limit = sessions);
    int rc = chela_store_list(store, &filter, activity_on_session, &rd, err);
    for (size_t i = 0; i < rd.n; i++) {
        struct activity_cursor at = {&rd, &rd.sessions[i]};
        if (rc == 0 && !rd.stop)
            rc = chela_store_records(store, at.session->key, 1, activity_on_record, &at, err);
        if (rc == CHELA_ENOENT)
            rc = 0; /* deleted meanwhile */
        activity_end_run(&rd);
        ch_free(rd.sessions[i].key);
        ch_free(rd.sessions[i].agent);
    }
    ch_free(rd.sessions);
    ch_free(rd.seen);
    return rc;
}
