/* activity.c -- see activity.h.
 *
 * The runs of a session follow each other, so that one run is read at a time. A run waits for a
 * person from the record that says `paused` to the next record. */
#include "trace/activity.h"

#include "agent/journal/journal.h"
#include "base/arena.h"
#include "base/grow.h"
#include "base/mem.h"
#include "base/mix.h"
#include "json/json.h"
#include "store/store.h"
#include "trace/seen.h"

struct activity_reading {
    char *key;           /* owned: the session that is read; NULL: none yet */
    struct ch_seen seen; /* ids of runs */
    struct ch_arena arena; /* texts of the run */
    struct ch_arena record; /* the parsed record */
    struct ch_activity_run run; /* run NULL: none */
    struct ch_activity_call *asked; /* owned: the calls of the run */
    size_t nasked, asked_cap;
    int64_t paused;             /* time since which the run waits; 0: the run does not wait */
    int64_t since;
    ch_activity_fn *fn;
    void *user;
    int stop;
};

/* A run in progress has states of earlier turns, which lack its newest calls. */
static void activity_add_up(struct activity_reading *rd) {
    int64_t input = 0, output = 0, cache_read = 0;
    double cost = -1;

    for (size_t i = 0; i < rd->nasked; i++) {
        input += rd->asked[i].input;
        output += rd->asked[i].output;
        cache_read += rd->asked[i].cache_read;
        if (rd->asked[i].cost >= 0)
            cost = CH_MAX(cost, 0) + rd->asked[i].cost;
    }
    rd->run.input = CH_MAX(rd->run.input, input);
    rd->run.output = CH_MAX(rd->run.output, output);
    rd->run.cache_read = CH_MAX(rd->run.cache_read, cache_read);
    rd->run.cost = CH_MAX(rd->run.cost, cost);
    rd->run.asked = rd->asked;
    rd->run.nasked = rd->nasked;
}

/* Passes the run on, and forgets it. */
static void activity_end_run(struct activity_reading *rd) {
    if (rd->run.run && rd->run.end >= rd->since && !rd->stop &&
        ch_seen_add(&rd->seen, ch_mix_text(1, ch_sv_str(rd->run.run)))) {
        activity_add_up(rd);
        rd->stop = rd->fn(&rd->run, rd->user);
    }
    rd->run = (struct ch_activity_run){0};
    rd->nasked = 0;
    rd->paused = 0;
    ch_arena_clear(&rd->arena);
}

static const char *activity_text(struct activity_reading *rd, struct ch_sv text) {
    return text.n ? ch_arena_str(&rd->arena, text) : "";
}

/* "feishu:chat" is of the channel "feishu"; a key without a prefix is of a client of the API. */
static const char *activity_channel(struct activity_reading *rd, const char *key) {
    const char *colon = strchr(key, ':');
    return colon ? activity_text(rd, ch_sv(key, (size_t)(colon - key))) : "api";
}

/* Begins a run if the record belongs to another one. */
static void activity_enter(struct activity_reading *rd, const char *agent, struct ch_sv id,
                           int64_t ts) {
    if (rd->run.run && ch_sv_is(id, rd->run.run))
        return;
    activity_end_run(rd);
    rd->run = (struct ch_activity_run){.session = rd->key,
                                       .agent = activity_text(rd, ch_sv_str(agent)),
                                       .run = activity_text(rd, id),
                                       .channel = activity_channel(rd, rd->key),
                                       .user = "",
                                       .prompt = "",
                                       .model = "",
                                       .status = "",
                                       .reason = "",
                                       .error = "",
                                       .start = ts,
                                       .end = ts,
                                       .cost = -1};
}

static void activity_replace(struct activity_reading *rd, const char **text, struct ch_sv by) {
    if (by.n && !ch_sv_is(by, *text))
        *text = activity_text(rd, by);
}

/* Who asked: the first record of a run says so, and each state. */
static void activity_origin(struct activity_reading *rd, const struct ch_json *v) {
    const struct ch_json *who = ch_json_get(v, "for");
    activity_replace(rd, &rd->run.channel, ch_json_get_str(who, "channel"));
    activity_replace(rd, &rd->run.user, ch_json_get_str(who, "sender"));
    activity_replace(rd, &rd->run.prompt, ch_json_get_str(v, "prompt"));
}

static void activity_state(struct activity_reading *rd, const struct ch_json *v, int64_t ts) {
    struct ch_activity_run *run = &rd->run;
    const struct ch_json *used = ch_json_get(v, "usage");
    run->status = activity_text(rd, ch_json_get_str(v, "status"));
    run->reason = activity_text(rd, ch_json_get_str(v, "reason"));
    run->error = activity_text(rd, ch_json_get_str(v, "error"));
    activity_replace(rd, &run->agent, ch_json_get_str(v, "agent"));
    run->turns = ch_json_int(ch_json_get(v, "turns"), 0);
    run->calls = ch_json_int(ch_json_get(v, "tool_calls"), 0);
    run->input = ch_json_int(ch_json_get(used, "input"), 0);
    run->output = ch_json_int(ch_json_get(used, "output"), 0);
    run->cache_read = ch_json_int(ch_json_get(used, "cache_read"), 0);
    run->cost = ch_json_double(ch_json_get(v, "cost"), -1);
    if (strcmp(run->status, "paused") == 0) {
        rd->paused = ts;
        run->waits++;
    }
}

static void activity_asked(struct activity_reading *rd, const char *model, int64_t ts,
                           const struct ch_json *used, double cost) {
    CH_GROW(rd->asked, rd->nasked, rd->asked_cap, 16);
    rd->asked[rd->nasked++] =
        (struct ch_activity_call){.model = model,
                                  .ts = ts,
                                  .n = ch_json_int(ch_json_get(used, "calls"), 1),
                                  .input = ch_json_int(ch_json_get(used, "input"), 0),
                                  .output = ch_json_int(ch_json_get(used, "output"), 0),
                                  .cache_read = ch_json_int(ch_json_get(used, "cache_read"), 0),
                                  .cost = cost};
}

/* Steps of a plan are messages that no model wrote: they have no model. A failed request is
 * charged to the model that was asked before or after. */
static void activity_call(struct activity_reading *rd, const struct chela_store_record *r,
                          const struct ch_json *v) {
    const struct ch_json *m = ch_json_get(v, "message"), *e = ch_json_get(v, "embedding");
    const struct ch_json *used = ch_json_get(v, "usage");
    struct ch_sv model = ch_json_get_str(ch_json_get(v, "request"), "model");
    struct ch_sv embeds = ch_json_get_str(e, "model");
    double cost = ch_json_double(ch_json_get(v, "cost"), -1);
    if (!model.n)
        model = ch_json_get_str(m ? m : v, "model");
    if (r->type == CH_REC_MESSAGE)
        activity_replace(rd, &rd->run.model, model);
    if (used && (model.n || r->type == CH_REC_FAILURE))
        activity_asked(rd, model.n ? activity_text(rd, model) : rd->run.model, r->ts, used, cost);
    if (embeds.n)
        activity_asked(rd, activity_text(rd, embeds), r->ts, e, -1);
}

static void activity_on_parsed(struct activity_reading *rd, const char *agent,
                               const struct chela_store_record *r, const struct ch_json *v) {
    struct ch_sv id = ch_json_get_str(v, "run");
    if (rd->run.run && rd->paused) {
        rd->run.waited_ms += CH_MAX(r->ts - rd->paused, 0);
        rd->paused = 0;
    }
    if (id.n)
        activity_enter(rd, agent, id, r->ts);
    if (!rd->run.run)
        return;
    rd->run.end = r->ts;
    if (r->type == CH_REC_INBOUND || r->type == CH_REC_STATE)
        activity_origin(rd, v);
    if (r->type == CH_REC_STATE)
        activity_state(rd, v, r->ts);
    if (r->type == CH_REC_MESSAGE || r->type == CH_REC_ROLE || r->type == CH_REC_FAILURE)
        activity_call(rd, r, v);
    rd->run.failures += r->type == CH_REC_FAILURE;
}

static int activity_on_record(const char *key, const char *agent,
                              const struct chela_store_record *r, void *user) {
    struct activity_reading *rd = user;
    const struct ch_json *v;
    if (!rd->key || strcmp(rd->key, key) != 0) {
        activity_end_run(rd);
        ch_free(rd->key);
        rd->key = ch_strdup(key);
    }
    ch_arena_clear(&rd->record);
    if (!rd->stop &&
        ch_json_parse(&rd->record, ch_sv(r->data, r->n), CH_JSON_REPLACE, &v, NULL, NULL) == 0)
        activity_on_parsed(rd, agent, r, v);
    return rd->stop;
}

#define BIT(type) ((uint64_t)1 << CH_REC_##type)
/* All but the descriptions of requests, which are the largest records. */
#define ACTIVITY_TYPES (~(BIT(PART) | BIT(REQUEST)))

int ch_activity_list(chela_store *store, int64_t since, size_t sessions, ch_activity_fn *fn,
                     void *user, struct chela_error *err) {
    struct activity_reading rd = {.since = since, .fn = fn, .user = user};
    struct ch_store_scan scan = {.since = since, .types = ACTIVITY_TYPES, .limit = sessions};
    int rc = ch_store_scan(store, &scan, activity_on_record, &rd, err);
    activity_end_run(&rd);
    ch_arena_release(&rd.arena);
    ch_arena_release(&rd.record);
    ch_seen_release(&rd.seen);
    ch_free(rd.asked);
    ch_free(rd.key);
    return rc;
}
