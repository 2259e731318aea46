/* sessions_api.c -- /api/sessions: list, show, delete and cancel sessions, and send messages.
 *
 * A message for an idle session begins a run. A message during a run steers the run or is
 * queued until its end, as the client asks. Results of the client's tools are sent the same
 * way. */
#include "gateway/http/sessions_api.h"

#include <time.h>

#include "agent/handle/run.h"
#include "base/error.h"
#include "base/limits.h"
#include "gateway/http/admission.h"
#include "gateway/http/client_tools.h"
#include "gateway/http/session_events.h"
#include "gateway/http/session_open.h"
#include "gateway/lane/client_history.h"
#include "gateway/lane/delivery.h"
#include "gateway/lane/lane.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/http_route.h"
#include "gateway/request/request.h"
#include "gateway/request/store_lookup.h"
#include "store/owner.h"
#include "store/store.h"

/* --- reading */

/* Takes json. l->last counts up to the limit l->number; l->after: there are more. */
static int sessions_api_add(struct ch_store_lookup *l, char *json) {
    l->after = l->last++ == l->number;
    if (l->after) {
        chela_free(json);
        return 1;
    }
    ch_buf_addf(&l->out, "%s%s", l->out.n ? "," : "", json);
    chela_free(json);
    return 0;
}

static void sessions_api_respond(struct ch_request *req, const char *member,
                                 struct ch_store_lookup *l) {
    CH_BUF_AUTO out = {0};
    ch_buf_addf(&out, "{\"%s\":[%s],\"truncated\":%s}", member, ch_buf_str(&l->out),
                l->after ? "true" : "false");
    ch_request_respond_json(req, 200, &out);
}

static int sessions_api_add_session(const struct chela_store_session *s, void *user) {
    struct ch_store_lookup *l = user;
    if (!s->last && !*s->title) { /* its first message was refused, or is not stored yet */
        l->after = l->last++ == l->number;
        return 0;
    }
    return sessions_api_add(l, chela_store_session_json(s));
}

static int query_list(struct ch_store_lookup *l, struct chela_error *err) {
    struct chela_store_filter filter = CHELA_STORE_FILTER(.limit = (size_t)l->number + 1);
    return chela_store_list(l->store, &filter, sessions_api_add_session, l, err);
}

static void respond_list(struct ch_request *req, struct ch_store_lookup *l) {
    sessions_api_respond(req, "sessions", l);
}

static int add_hit(const struct chela_store_hit *h, void *user) {
    return sessions_api_add(user, chela_store_hit_json(h));
}

/* l->key: the words; after a line feed, the key of the only session to search. */
static int query_search(struct ch_store_lookup *l, struct chela_error *err) {
    char *only = strchr(l->key, '\n');
    if (only)
        *only++ = 0;
    return chela_store_search(l->store, l->key, only, (size_t)l->number + 1, add_hit, l, err);
}

static void respond_search(struct ch_request *req, struct ch_store_lookup *l) {
    sessions_api_respond(req, "hits", l);
}

void ch_sessions_list(struct ch_request *req) {
    struct ch_sv words = ch_request_query(req, "q"), only = ch_request_query(req, "session");
    int64_t limit;
    if (!ch_request_query_number(req, "limit", words.n ? 20 : 100, CH_LIMIT_LISTED, &limit))
        return;
    if (words.n) {
        CH_BUF_AUTO text = {0};
        ch_buf_add_sv(&text, ch_http_route_decode_query(&req->arena, words));
        if (only.n) {
            ch_buf_addc(&text, '\n');
            ch_buf_add_sv(&text, ch_http_route_decode_query(&req->arena, only));
        }
        ch_store_lookup_start(req, ch_buf_sv(&text), limit, query_search, respond_search);
        return;
    }
    ch_store_lookup_start(req, ch_sv(NULL, 0), limit, query_list, respond_list);
}

static int query_show(struct ch_store_lookup *l, struct chela_error *err) {
    return ch_store_show_page(l->store, l->key, (size_t)l->after, (size_t)l->number, &l->found,
                              err);
}

static void respond_show(struct ch_request *req, struct ch_store_lookup *l) {
    CH_BUF_AUTO out = {0};
    ch_buf_add_str(&out, l->found);
    ch_request_respond_json(req, 200, &out);
}

void ch_sessions_show(struct ch_request *req) {
    ch_store_lookup_start_page(req, req->param, query_show, respond_show);
}

/* Ends the page at its limit. If more records follow, `more` becomes the number of the last
 * one. */
static int sessions_api_add_record(const struct chela_store_record *r, void *user) {
    struct ch_store_lookup *l = user;
    if (l->before && (int64_t)r->seq >= l->before)
        return 1;
    if (l->number-- == 0 || l->out.n > CH_LIMIT_PAGE_BYTES) {
        ch_buf_addf(&l->more, ",\"next\":%llu", (unsigned long long)r->seq - 1);
        return 1;
    }
    if (l->out.n)
        ch_buf_addc(&l->out, ',');
    ch_store_record_write(r, &l->out);
    return 0;
}

/* Finds a process that probably holds the lease of the session and runs it. */
static int find_lease_holder(const struct chela_store_session *s, void *user) {
    struct ch_store_lookup *l = user;
    bool lasts = s->until > l->now && !ch_owner_is_dead(s->owner);
    if (*s->owner && strcmp(s->status, "running") == 0 && (lasts || ch_owner_lives(s->owner)))
        l->found = ch_strdup(s->owner);
    l->last = (int64_t)s->last;
    if (l->after && l->after < (int64_t)s->base)
        ch_buf_add_str(&l->more, ",\"gap\":true");
    l->after = CH_MAX(l->after, (int64_t)s->base);
    return 0;
}

/* The records after l->after; all, after a gap, if that is a number of a session that was deleted.
 * With l->before alone: the last l->number records with a number below l->before. */
static int query_records(struct ch_store_lookup *l, struct chela_error *err) {
    bool from_end = l->before && !l->after;
    int rc = chela_store_session(l->store, l->key, find_lease_holder, l, err);
    if (from_end)
        l->after = CH_MAX(CH_MIN(l->before, l->last + 1) - l->number - 1, l->after);
    return rc < 0 ? rc
                  : chela_store_records(l->store, l->key, (uint64_t)l->after + 1,
                                        sessions_api_add_record, l, err);
}

/* live: a process works on the session. A run without an end in a session that is not live
 * was interrupted. */
static void respond_records(struct ch_request *req, struct ch_store_lookup *l) {
    CH_BUF_AUTO out = {0};
    const struct ch_lane *lane = ch_lane_find(req->gw, req->param);
    bool live = lane ? lane->running : l->found != NULL;
    ch_buf_addf(&out, "{\"live\":%s,\"last\":%lld%s,\"records\":[", live ? "true" : "false",
                (long long)l->last, ch_buf_str(&l->more));
    ch_buf_add_sv(&out, ch_buf_sv(&l->out));
    ch_buf_add_str(&out, "]}");
    ch_request_respond_json(req, 200, &out);
}

void ch_sessions_records(struct ch_request *req) {
    ch_store_lookup_start_page(req, req->param, query_records, respond_records);
}

/* --- deleting: the release of our own lease may not have reached the store yet */

#define DELETE_TRIES 50
#define ERASE_WORKSPACES 64 /* in which files of the session are looked for */

static int find_idle_holder(const struct chela_store_session *s, void *user) {
    struct ch_store_lookup *l = user;
    l->last = ch_owner_serves(s->owner) && strcmp(s->status, "running") != 0;
    return 0;
}

/* Deletes the session with its files in the workspaces of agents. */
static int erase_session(struct ch_store_lookup *l, const char *const *workspaces,
                         struct chela_error *err) {
    struct chela_erase_opts opts =
        CHELA_ERASE_OPTS(.key = l->key, .workspaces = workspaces, .quick = 1);
    chela_free(l->found);
    return chela_store_erase(l->store, &opts, &l->found, err);
}

/* l->key has a line with the key of the session, and one with each workspace. l->number: the lease
 * was released. Else l->last becomes 1 if a gateway can release it. */
static int query_delete(struct ch_store_lookup *l, struct chela_error *err) {
    const struct timespec moment = {.tv_nsec = 20 * 1000 * 1000};
    struct chela_error ignored = {0};
    const char *workspaces[ERASE_WORKSPACES + 1] = {NULL};
    size_t n = 0;
    for (char *at = strchr(l->key, '\n'); at && n < ERASE_WORKSPACES; at = strchr(at, '\n')) {
        *at++ = '\0';
        workspaces[n++] = at;
    }
    int rc = erase_session(l, workspaces, err);
    for (int i = 0; rc == CHELA_EBUSY && l->number && i < DELETE_TRIES; i++) {
        nanosleep(&moment, NULL);
        *err = (struct chela_error){0};
        rc = erase_session(l, workspaces, err);
    }
    if (rc == CHELA_EBUSY && !l->number)
        chela_store_session(l->store, l->key, find_idle_holder, l, &ignored);
    return l->last ? 0 : rc;
}

static void sessions_api_delete_released(struct ch_request *req, struct ch_lane *l,
                                         const struct ch_delivery *d);

static void respond_delete(struct ch_request *req, struct ch_store_lookup *l) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    if (l->last) {
        ch_admission_begin(req, &ch_client_release, l->key, "", &out,
                           sessions_api_delete_released);
        return;
    }
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "deleted", l->key);
    ch_jw_kraw(&w, "receipt", ch_sv_str(l->found));
    ch_jw_end(&w, '}');
    ch_request_respond_json(req, 200, &out);
}

/* released: another gateway had the session. A delivery may have opened it here meanwhile. */
static void sessions_api_delete(struct ch_request *req, bool released) {
    struct ch_lane *lane = ch_lane_find(req->gw, req->param);
    if (lane && lane->running) {
        ch_request_fail(req, 409, "busy", "a run is in progress: cancel it first");
        return;
    }
    if (lane)
        ch_lane_close(lane);
    CH_BUF_AUTO key = {0};
    ch_buf_add_sv(&key, req->param);
    for (chela_agent **a = req->gw->agents; *a; a++)
        if ((*a)->workspace && !strchr((*a)->workspace, '\n'))
            ch_buf_addf(&key, "\n%s", (*a)->workspace);
    ch_store_lookup_start(req, ch_buf_sv(&key), lane || released, query_delete, respond_delete);
}

static void sessions_api_delete_released(struct ch_request *req, struct ch_lane *l,
                                         const struct ch_delivery *d) {
    (void)l;
    (void)d;
    sessions_api_delete(req, true);
}

void ch_sessions_delete(struct ch_request *req) {
    sessions_api_delete(req, false);
}

static void sessions_api_respond_cancelled(struct ch_request *req, struct ch_lane *l,
                                           const struct ch_delivery *d) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "session", d->key);
    ch_jw_kcstr(&w, "run", l && l->run ? l->run->id : d->run);
    ch_jw_kbool(&w, "cancelled", true);
    ch_jw_end(&w, '}');
    ch_request_respond_json(req, 202, &out);
}

/* The agent of a session that runs or is paused. */
static int find_running(const struct chela_store_session *s, void *user) {
    struct ch_store_lookup *l = user;
    if (strcmp(s->status, "running") == 0 || strcmp(s->status, "paused") == 0)
        l->found = ch_strdup(s->agent);
    return 0;
}

static int query_running(struct ch_store_lookup *l, struct chela_error *err) {
    int rc = chela_store_session(l->store, l->key, find_running, l, err);
    return rc == CHELA_ENOENT ? 0 : rc;
}

static void sessions_api_refuse_idle(struct ch_request *req) {
    ch_request_fail(req, 409, "idle", "no run in progress in session '%.*s'",
                    CH_SV_FMT(req->param));
}

/* Another process runs the session, or did so when it died. */
static void cancel_elsewhere(struct ch_request *req, struct ch_store_lookup *l) {
    CH_BUF_AUTO none = {0};
    if (l->found)
        ch_admission_begin(req, &ch_client_cancel, l->key, l->found, &none,
                           sessions_api_respond_cancelled);
    else
        sessions_api_refuse_idle(req);
}

void ch_sessions_cancel(struct ch_request *req) {
    CH_BUF_AUTO none = {0};
    struct ch_lane *lane = ch_lane_find(req->gw, req->param);
    bool paused = lane && lane->ready &&
                  chela_session_status(lane->session) == CHELA_SESSION_PAUSED;
    if ((lane && ch_lane_is_busy(lane)) || paused)
        ch_admission_begin(req, &ch_client_cancel, lane->session->key, lane->agent->id, &none,
                           sessions_api_respond_cancelled);
    else if ((lane && lane->ready) || !req->gw->store)
        sessions_api_refuse_idle(req);
    else
        ch_store_lookup_start(req, req->param, 0, query_running, cancel_elsewhere);
}

/* --- messages */

static void sessions_api_respond_accepted(struct ch_request *req, struct ch_lane *l,
                                          const struct ch_delivery *d) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    bool results = d->kind == &ch_client_results;
    if (!l && req->on_disconnect) {
        ch_session_events_await(req, d);
        return;
    }
    if (req->on_disconnect) /* the session came here meanwhile */
        CH_TAKE(req->on_disconnect)(req);
    if (l && ch_json_bool(ch_json_get(req->json, "stream"), false)) {
        ch_session_events_follow_run(req, l, d);
        return;
    }
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "session", d->key);
    bool known = l && l->run && !ch_client_input_begins_later(d);
    ch_jw_kcstr(&w, "run", known ? l->run->id : d->run);
    ch_jw_kcstr(&w, "delivery", l && d->action ? d->action : "queued");
    if (results)
        ch_jw_kbool(&w, "resumed", l ? l->running : d->action != NULL);
    ch_jw_end(&w, '}');
    ch_request_respond_json(req, 202, &out);
}

static void sessions_api_write_results(struct ch_request *req, struct ch_jw *w) {
    ch_jw_kbegin(w, "results", '[');
    for (CH_JSON_EACH(r, ch_json_get(req->json, "results")))
        ch_client_input_write_result(w, ch_json_get_str(r, "id"), ch_json_get_str(r, "content"),
                                     ch_json_bool(ch_json_get(r, "is_error"), false));
    ch_jw_end(w, ']');
}

/* A file is text, sound or a document, by its media type. */
static int sessions_api_add_file(struct ch_client_history *h, const struct ch_json *file,
                                 struct chela_error *err) {
    struct ch_sv url = ch_json_get_str(file, "url");
    bool sound = ch_sv_starts(url, "data:audio/");
    return ch_client_history_add_media(h, sound ? CH_BLOCK_AUDIO : CH_BLOCK_DOCUMENT, url,
                                       ch_json_get_str(file, "name"), err);
}

static int sessions_api_read_input(struct ch_request *req, struct ch_msg **out,
                                   struct chela_error *err) {
    struct ch_client_history h;
    struct ch_sv text = ch_json_get_str(req->json, "text");
    size_t media = 0;
    int rc = 0;
    ch_client_history_init(&h, &req->arena, ch_now_ms(ch_loop_clock(req->gw->rt->loop)));
    ch_client_history_begin(&h, CH_MSG_USER);
    ch_client_history_add_text(&h, text);
    for (CH_JSON_EACH(url, ch_json_get(req->json, "images")))
        if (rc == 0 && ++media <= CH_LIMIT_INPUT_MEDIA)
            rc = ch_client_history_add_media(&h, CH_BLOCK_IMAGE, ch_json_str(url), CH_SV(""), err);
    for (CH_JSON_EACH(file, ch_json_get(req->json, "files")))
        if (rc == 0 && ++media <= CH_LIMIT_INPUT_MEDIA)
            rc = sessions_api_add_file(&h, file, err);
    if (rc == 0 && media > CH_LIMIT_INPUT_MEDIA)
        rc = ch_fail(err, CHELA_ELIMIT, "more than %d images and files", CH_LIMIT_INPUT_MEDIA);
    if (rc == 0)
        rc = ch_client_history_finish(&h, out, err);
    ch_client_history_release(&h);
    return rc;
}

static int sessions_api_write_message(struct ch_request *req, struct ch_jw *w,
                                      struct chela_error *err) {
    struct ch_msg *input;
    int rc = sessions_api_read_input(req, &input, err);
    if (rc < 0)
        return rc;
    ch_client_input_write(w, input, ch_json_get_str(req->json, "mode"));
    ch_msg_free(input);
    return 0;
}

/* A word that is no mode must not steer a run. */
static int sessions_api_check_mode(struct ch_sv mode, struct chela_error *err) {
    static const char *const modes[] = {"", "run", "steer", "follow_up", "take_over"};
    for (size_t i = 0; i < CH_LEN(modes); i++)
        if (ch_sv_is(mode, modes[i]))
            return 0;
    return ch_fail(err, CHELA_EINVAL, "`mode` must be run, steer, follow_up or take_over");
}

static int sessions_api_check_types(const struct ch_request *req, struct chela_error *err) {
    int rc = ch_request_check_types(
        req->json, NULL,
        "text:string agent:string images:array files:array model:string mode:string tools:array "
        "reasoning:string resume:boolean results:array stream:boolean",
        err);
    if (rc == 0)
        rc = ch_request_check_each(ch_json_get(req->json, "results"), "results[]",
                                   "id:string is_error:boolean", err);
    for (CH_JSON_EACH(r, ch_json_get(req->json, "results")))
        if (rc == 0)
            rc = ch_request_check_types(r, NULL, "content:string", err);
    return rc < 0 ? rc
                  : ch_request_check_each(ch_json_get(req->json, "files"), "files[]",
                                          "url:string name:string", err);
}

/* Write the request of the body as an event. l NULL: another gateway has the session. */
static int sessions_api_write_event(struct ch_request *req, const struct ch_lane *l,
                                    const struct ch_delivery_kind **kind, struct ch_buf *data,
                                    struct chela_error *err) {
    struct ch_jw w = ch_jw(data);
    struct ch_sv text = ch_json_get_str(req->json, "text"),
                 mode = ch_json_get_str(req->json, "mode");
    bool runs = l && l->running, resume = ch_json_bool(ch_json_get(req->json, "resume"), false);
    *kind = &ch_client_message;
    if (sessions_api_check_mode(mode, err) < 0)
        return err->code;
    if (ch_json_is(ch_json_get(req->json, "results"), CH_JSON_ARRAY)) {
        *kind = &ch_client_results;
        sessions_api_write_results(req, &w);
    } else if (ch_sv_is(mode, "take_over")) {
        *kind = &ch_client_take_over;
        ch_jw_kstr(&w, "text", text);
        return text.n ? 0 : ch_fail(err, CHELA_EINVAL, "`text` is missing");
    } else if (resume && !(runs && text.n)) {
        *kind = &ch_client_resume;
    } else if (runs && ch_sv_is(mode, "run") && !req->repeats) {
        return ch_fail(err, CHELA_EBUSY, "session '%s' is busy with a run", l->session->key);
    } else if (runs && !text.n) {
        return ch_fail(err, CHELA_EINVAL, "`text` is missing");
    } else {
        return sessions_api_write_message(req, &w, err);
    }
    return 0;
}

static void sessions_api_admit(struct ch_request *req, const struct ch_lane *l) {
    struct chela_error err = {0};
    const struct ch_delivery_kind *kind = NULL;
    CH_BUF_AUTO data = {0};
    if (sessions_api_write_event(req, l, &kind, &data, &err) == 0) {
        ch_admission_begin(req, kind, ch_arena_str(&req->arena, req->param), l ? l->agent->id : "",
                           &data, sessions_api_respond_accepted);
        return;
    }
    if (req->on_disconnect)
        CH_TAKE(req->on_disconnect)(req);
    ch_request_fail_with(req, &err);
}

static void sessions_api_admit_elsewhere(struct ch_request *req) {
    sessions_api_admit(req, NULL);
}

static void sessions_api_on_lane(struct ch_request *req, struct ch_lane *l, bool elsewhere) {
    if (elsewhere && ch_json_bool(ch_json_get(req->json, "stream"), false))
        ch_session_events_prepare(req, ch_arena_str(&req->arena, req->param),
                                  sessions_api_admit_elsewhere);
    else
        sessions_api_admit(req, l);
}

static int sessions_api_read_tools(struct ch_request *req, struct ch_lane_opts *o,
                                   struct chela_error *err) {
    struct ch_client_tools list = {.arena = &req->arena};
    int rc = 0;
    for (CH_JSON_EACH(t, ch_json_get(req->json, "tools")))
        if (rc == 0)
            rc = ch_client_tools_add(&list, t, "parameters", CH_SV(""), err);
    o->tools = list.opts;
    o->ntools = list.n;
    return rc;
}

/* The model and the reasoning of this message. */
static int sessions_api_read_override(struct ch_request *req, struct ch_agent_override *out,
                                      struct chela_error *err) {
    struct ch_sv model = ch_json_get_str(req->json, "model"),
                 reasoning = ch_json_get_str(req->json, "reasoning");
    out->model = model.n ? ch_arena_str(&req->arena, model) : NULL;
    return reasoning.n ? chela_reasoning_read(ch_arena_str(&req->arena, reasoning),
                                              &out->reasoning, err)
                       : 0;
}

/* Does the message choose an agent, tools, a model or the reasoning? */
static bool sessions_api_has_opts(const struct ch_request *req) {
    return ch_json_get_str(req->json, "agent").n || ch_json_get(req->json, "tools") ||
           ch_json_get(req->json, "model") || ch_json_get(req->json, "reasoning");
}

static int sessions_api_read_opts(struct ch_request *req, struct ch_lane_opts *o,
                                  struct chela_error *err) {
    int rc = ch_lane_key_check(req->param, err);
    if (rc == 0)
        rc = sessions_api_read_override(req, &o->patch, err);
    return rc == 0 ? sessions_api_read_tools(req, o, err) : rc;
}

/* Opens the lane of the session for the message. If the gateway has several agents, the agent of a
 * session that is not in memory is unknown. The session is then opened without the options of the
 * message, and the result is 1: the caller calls again when the session is open. */
static int sessions_api_use_lane(struct ch_request *req, struct ch_lane **out,
                                 struct chela_error *err) {
    struct ch_sv id = ch_json_get_str(req->json, "agent");
    struct ch_lane *live = ch_lane_find(req->gw, req->param);
    bool has_opts = sessions_api_has_opts(req);
    if (live && (!has_opts || live->running || ch_delivery_joins(req->gw, req->param))) {
        *out = live;
        return 0;
    }
    struct ch_sv agent = live && !id.n ? ch_sv_str(live->agent->id) : id;
    struct ch_lane_opts o = {.agent = ch_gateway_agent(req->gw, agent),
                             .key = ch_arena_str(&req->arena, req->param),
                             .own_agent = !id.n && !live && (!has_opts || req->gw->agents[1])};
    if (!o.agent)
        return ch_fail(err, CHELA_ENOENT, "there is no agent '%.*s'", CH_SV_FMT(id));
    int rc = sessions_api_read_opts(req, &o, err);
    bool open_first = o.own_agent && has_opts, names_model = o.patch.model;
    if (rc == 0 && open_first) { /* a message that is refused must not create the session */
        rc = ch_lane_check_opts(req->gw, &o, err);
        o = (struct ch_lane_opts){.agent = o.agent, .key = o.key, .own_agent = true};
    }
    if (rc == 0)
        rc = ch_lane_use(req->gw, &o, out, err);
    if (rc == CHELA_ECONFIG && names_model) /* the client's mistake, not the configuration's */
        rc = err->code = CHELA_EINVAL;
    return rc == 0 ? open_first : rc;
}

static void sessions_api_begin(struct ch_request *req);

/* A session that was not in memory is open, with its own agent. */
static void sessions_api_on_open(struct ch_request *req, struct ch_lane *l, bool elsewhere) {
    if (elsewhere)
        sessions_api_on_lane(req, l, true);
    else
        sessions_api_begin(req);
}

static void sessions_api_begin(struct ch_request *req) {
    struct chela_error err = {0};
    struct ch_lane *lane;
    int rc = sessions_api_use_lane(req, &lane, &err);
    if (rc < 0)
        ch_request_fail_with(req, &err);
    else
        ch_session_open_wait(req, lane, rc ? sessions_api_on_open : sessions_api_on_lane);
}

/* Before the session is opened, because that creates it. */
static int sessions_api_check(struct ch_request *req, struct chela_error *err) {
    const struct ch_delivery_kind *kind;
    CH_BUF_AUTO ignored = {0};
    int rc = sessions_api_check_types(req, err);
    if (rc < 0 || ch_lane_find(req->gw, req->param))
        return rc;
    return sessions_api_write_event(req, NULL, &kind, &ignored, err);
}

void ch_sessions_message(struct ch_request *req) {
    struct chela_error err = {0};
    if (!req->gw->store)
        ch_request_fail(req, 501, NULL, "this gateway has no store");
    else if (sessions_api_check(req, &err) < 0)
        ch_request_fail_with(req, &err);
    else
        sessions_api_begin(req);
}
