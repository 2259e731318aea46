/* acp_session.c -- sessions of an editor: open, list, close; their options. */
#include "acp/acp_session.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "acp/acp_ask.h"
#include "acp/acp_content.h"
#include "acp/acp_files.h"
#include "acp/acp_follow.h"
#include "acp/acp_reply.h"
#include "acp/acp_servers.h"
#include "acp/acp_turn.h"
#include "base/error.h"
#include "base/random_id.h"
#include "base/limits.h"
#include "store/store.h"

/* --- places ---------------------------------------------------------------------------- */

static int check_directory(struct ch_sv cwd, struct chela_error *err) {
    struct stat st;
    if (cwd.n == 0 || cwd.p[0] != '/' || memchr(cwd.p, '\0', cwd.n))
        return ch_fail(err, CHELA_EINVAL, "cwd must be an absolute path");
    CH_AUTOFREE char *path = ch_strndup(cwd.p, cwd.n);
    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
        return ch_fail(err, CHELA_EINVAL, "cwd: %s is not a directory", path);
    return CHELA_OK;
}

/* The directory of this process, for requests that name none. */
static const char *current_directory(char buf[PATH_MAX]) {
    return getcwd(buf, PATH_MAX) ? buf : "/";
}

static struct ch_acp_place *find_place(chela_acp *acp, struct ch_sv cwd) {
    for (CH_LIST_EACH(k, &acp->places)) {
        struct ch_acp_place *p = CH_CONTAINER(k, struct ch_acp_place, link);
        if (ch_sv_is(cwd, p->cwd))
            return p;
    }
    return NULL;
}

static int place_enter(chela_acp *acp, struct ch_sv cwd, struct ch_acp_place **out,
                       struct chela_error *err) {
    int rc = check_directory(cwd, err);
    if (rc < 0)
        return rc;
    struct ch_acp_place *p = find_place(acp, cwd);
    if (!p) {
        p = ch_alloc(sizeof(*p));
        p->cwd = ch_strndup(cwd.p, cwd.n);
        acp->inside++;
        rc = acp->host.enter(p->cwd, &p->given, err, acp->host.user);
        acp->inside--;
        if (rc < 0) {
            ch_free(p->cwd);
            ch_free(p);
            return rc;
        }
        ch_list_add(&acp->places, &p->link);
    }
    p->sessions++;
    *out = p;
    return CHELA_OK;
}

static void place_leave(chela_acp *acp, struct ch_acp_place *p) {
    if (--p->sessions > 0)
        return;
    ch_list_del(&p->link);
    acp->inside++;
    acp->host.leave(p->given.handle, acp->host.user);
    acp->inside--;
    ch_free(p->cwd);
    ch_free(p);
}

/* --- the directory of a stored session ----------------------------------------------------
 * The store has a note for each session of an editor: its directory. */

#define NOTE_PREFIX "acp:"

/* cwd NULL: the note is removed. */
static void change_note(const struct ch_acp_place *place, const char *key, const char *cwd) {
    CH_BUF_AUTO id = {0};
    struct chela_error err = {0};
    ch_buf_addf(&id, NOTE_PREFIX "%s", key);
    struct chela_store_change note = {.kind = cwd ? CHELA_STORE_NOTE : CHELA_STORE_FORGET,
                                      .id = ch_buf_str(&id),
                                      .key = key,
                                      .data = cwd,
                                      .n = cwd ? strlen(cwd) : 0,
                                      .now = ch_store_now()};
    if (ch_store_commit(place->given.store, &note, 1, false, &err) < 0)
        ch_log(CH_LOG_WARN, "acp", "%s", err.message);
}

static void write_note(const struct ch_acp_session *s) {
    change_note(s->place, s->id, s->place->cwd);
}

struct notes { /* in one text: key NUL directory NUL ... */
    struct ch_buf all;
};

static int gather_note(const struct chela_store_item *i, void *user) {
    struct notes *n = user;
    if (strncmp(i->id, NOTE_PREFIX, sizeof(NOTE_PREFIX) - 1) != 0)
        return 0;
    ch_buf_add(&n->all, i->key, strlen(i->key) + 1);
    ch_buf_add(&n->all, i->data, i->n);
    ch_buf_addc(&n->all, '\0');
    return 0;
}

static const char *find_note(const struct notes *n, const char *key) {
    for (size_t at = 0; at < n->all.n;) {
        const char *k = n->all.p + at, *cwd = k + strlen(k) + 1;
        if (strcmp(k, key) == 0)
            return cwd;
        at = (size_t)(cwd + strlen(cwd) + 1 - n->all.p);
    }
    return NULL;
}

/* --- options ----------------------------------------------------------------------------- */

struct choice {
    const char *value, *name, *about;
    int code;
};

static const struct choice modes[] = {
    {"react", "Act", "Call tools until there is an answer", CHELA_MODE_REACT},
    {"plan", "Plan", "Make a plan first, then work through it", CHELA_MODE_PLAN},
    {"route", "Route", "Choose one tool or the planner first", CHELA_MODE_ROUTE},
};
static const struct choice approvals[] = {
    {"ask", "Ask", "Ask before commands and other calls that need consent", CHELA_APPROVE_ASK},
    {"sandbox", "Sandbox", "Run commands in the full sandbox, ask about other calls",
     CHELA_APPROVE_SANDBOX},
    {"auto", "Automatic", "Run every call that the policy allows", CHELA_APPROVE_AUTO},
    {"deny", "Deny", "Refuse calls that need consent", CHELA_APPROVE_DENY},
};
static const struct choice thoughts[] = {
    {"default", "Default", NULL, CHELA_REASONING_DEFAULT},
    {"off", "Off", NULL, CHELA_REASONING_OFF},
    {"minimal", "Minimal", NULL, CHELA_REASONING_MINIMAL},
    {"low", "Low", NULL, CHELA_REASONING_LOW},
    {"medium", "Medium", NULL, CHELA_REASONING_MEDIUM},
    {"high", "High", NULL, CHELA_REASONING_HIGH},
    {"xhigh", "Very high", NULL, CHELA_REASONING_XHIGH},
    {"max", "Maximum", NULL, CHELA_REASONING_MAX},
};

static const struct choice *choice_of(const struct choice *list, size_t n, int code) {
    for (size_t i = 0; i < n; i++)
        if (list[i].code == code)
            return &list[i];
    return &list[0];
}

static const struct choice *choice_named(const struct choice *list, size_t n, struct ch_sv value) {
    for (size_t i = 0; i < n; i++)
        if (ch_sv_is(value, list[i].value))
            return &list[i];
    return NULL;
}

static void begin_option(struct ch_jw *w, const char *id, const char *name, const char *category,
                         const char *current) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "id", id);
    ch_jw_kcstr(w, "name", name);
    if (category)
        ch_jw_kcstr(w, "category", category);
    ch_jw_kcstr(w, "type", "select");
    ch_jw_kcstr(w, "currentValue", current);
    ch_jw_kbegin(w, "options", '[');
}

static void end_option(struct ch_jw *w) {
    ch_jw_end(w, ']');
    ch_jw_end(w, '}');
}

static void write_value(struct ch_jw *w, const char *value, const char *name, const char *about) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "value", value);
    ch_jw_kcstr(w, "name", name);
    if (about)
        ch_jw_kcstr(w, "description", about);
    ch_jw_end(w, '}');
}

static void write_choices(struct ch_jw *w, const char *id, const char *name, const char *category,
                          const struct choice *list, size_t n, int code) {
    begin_option(w, id, name, category, choice_of(list, n, code)->value);
    for (size_t i = 0; i < n; i++)
        write_value(w, list[i].value, list[i].name, list[i].about);
    end_option(w);
}

static void write_options(struct ch_jw *w, const struct ch_acp_session *s) {
    const char *const *models = s->place->given.models;
    ch_jw_begin(w, '[');
    write_choices(w, "mode", "Mode", "mode", modes, CH_LEN(modes), (int)s->choice.mode);
    if (models && models[0]) {
        begin_option(w, "model", "Model", "model", s->model ? s->model : models[0]);
        for (size_t i = 0; models[i]; i++)
            write_value(w, models[i], models[i], NULL);
        end_option(w);
    }
    write_choices(w, "reasoning", "Reasoning", "thought_level", thoughts, CH_LEN(thoughts),
                  (int)s->choice.reasoning);
    write_choices(w, "approval", "Approval", NULL, approvals, CH_LEN(approvals),
                  (int)s->choice.approve);
    ch_jw_end(w, ']');
}

static void write_modes(struct ch_jw *w, const struct ch_acp_session *s) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "currentModeId", choice_of(modes, CH_LEN(modes), (int)s->choice.mode)->value);
    ch_jw_kbegin(w, "availableModes", '[');
    for (size_t i = 0; i < CH_LEN(modes); i++) {
        ch_jw_begin(w, '{');
        ch_jw_kcstr(w, "id", modes[i].value);
        ch_jw_kcstr(w, "name", modes[i].name);
        ch_jw_kcstr(w, "description", modes[i].about);
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, ']');
    ch_jw_end(w, '}');
}

/* The answer to new, load and resume. */
static void reply_opened(struct ch_rpc_request *r, const struct ch_acp_session *s, bool new) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    if (new)
        ch_jw_kcstr(&w, "sessionId", s->id);
    ch_jw_key(&w, "modes");
    write_modes(&w, s);
    ch_jw_key(&w, "configOptions");
    write_options(&w, s);
    ch_jw_end(&w, '}');
    ch_acp_reply(r, &out);
}

/* --- sessions ---------------------------------------------------------------------------- */

static struct ch_acp_session *find_session(chela_acp *acp, struct ch_sv id) {
    for (CH_LIST_EACH(k, &acp->sessions)) {
        struct ch_acp_session *s = CH_CONTAINER(k, struct ch_acp_session, link);
        if (ch_sv_is(id, s->id))
            return s;
    }
    return NULL;
}

/* The session that params name. Without one, r is refused, and the result is NULL. */
struct ch_acp_session *ch_acp_session_of(chela_acp *acp, struct ch_rpc_request *r,
                                         const struct ch_json *params) {
    struct ch_sv id = ch_json_get_str(params, "sessionId");
    struct ch_acp_session *s = find_session(acp, id);
    if (!s && r && !id.n)
        ch_acp_refuse(r, CH_RPC_INVALID_PARAMS, "sessionId is missing");
    else if (!s && r)
        ch_acp_refuse(r, CH_ACP_NOT_FOUND, "session '%.*s' is not open: load or resume it first",
                      (int)CH_MIN(id.n, (size_t)100), id.p);
    return s;
}

static struct ch_acp_session *add_session(chela_acp *acp, const char *id,
                                          struct ch_acp_place *place) {
    struct ch_acp_session *s = ch_alloc(sizeof(*s));
    s->acp = acp;
    s->id = ch_strdup(id);
    s->place = place;
    s->choice = (struct chela_acp_choice){.approve = CHELA_APPROVE_ASK};
    s->shown.cwd = place->cwd;
    s->shown.notices = acp->client.notices;
    s->shown.compactions = acp->client.compaction;
    ch_list_init(&s->asks);
    ch_list_init(&s->files);
    ch_list_add(&acp->sessions, &s->link);
    return s;
}

static void reply_empty(struct ch_rpc_request *r) {
    ch_rpc_reply(r, CH_SV("{}"));
}

static void drop_agent(struct ch_acp_session *s) {
    s->acp->inside++;
    if (s->agent)
        s->acp->host.drop(s->hold, s->acp->host.user);
    s->acp->inside--;
    s->agent = NULL;
    s->hold = NULL;
}

void ch_acp_session_free(struct ch_acp_session *s) {
    chela_acp *acp = s->acp;
    ch_acp_follow_stop(s);
    ch_acp_ask_drop_all(s);
    ch_rpc_forget(acp->peer, s->trusting, true);
    ch_acp_turn_leave(s);
    ch_acp_turn_end(s, "cancelled", NULL);
    if (s->close)
        reply_empty(s->close);
    drop_agent(s);
    ch_acp_files_end(s);
    ch_acp_shown_release(&s->shown);
    ch_acp_input_free(s->input);
    place_leave(acp, s->place);
    ch_list_del(&s->link);
    ch_free(s->forwarded);
    ch_free(s->servers);
    ch_free(s->model);
    ch_free(s->id);
    ch_free(s);
}

int ch_acp_session_agent(struct ch_acp_session *s, struct chela_error *err) {
    int rc = CHELA_OK;
    if (s->stale && !s->session)
        drop_agent(s);
    bool had = s->agent != NULL;
    s->choice.model = s->model;
    s->acp->inside++;
    if (!s->agent)
        rc = s->acp->host.agent(s->place->given.handle, &s->choice, &s->agent, &s->hold, err,
                                s->acp->host.user);
    s->acp->inside--;
    if (had || rc < 0)
        return rc;
    s->stale = s->delayed = false;
    ch_acp_servers_attach(s);
    ch_acp_files_attach(s);
    return rc;
}

int ch_acp_session_reenter(struct ch_acp_session *s, struct chela_error *err) {
    chela_acp *acp = s->acp;
    struct ch_acp_place *old = s->place, *now;
    char *cwd = ch_strdup(old->cwd);
    drop_agent(s);
    ch_list_del(&old->link); /* other sessions keep the place that they were opened with */
    int rc = place_enter(acp, ch_sv_str(cwd), &now, err);
    ch_free(cwd);
    if (rc < 0) {
        ch_list_add(&acp->places, &old->link);
        return rc;
    }
    s->place = now;
    s->shown.cwd = now->cwd;
    place_leave(acp, old);
    return CHELA_OK;
}

/* --- commands ----------------------------------------------------------------------------- */

static void write_command(struct ch_jw *w, struct ch_sv name, struct ch_sv about,
                          const char *hint) {
    ch_jw_begin(w, '{');
    ch_jw_kstr(w, "name", name);
    ch_jw_kstr(w, "description", about);
    if (hint) {
        ch_jw_kbegin(w, "input", '{');
        ch_jw_kcstr(w, "hint", hint);
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, '}');
}

void ch_acp_session_commands(struct ch_acp_session *s) {
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO update = {0};
    struct ch_jw w = ch_jw(&update);
    struct chela_error err = {0};
    const struct ch_json *skills = NULL;
    char *json = NULL;

    if (ch_acp_session_agent(s, &err) == CHELA_OK) {
        json = chela_agent_skills_json(s->agent);
        ch_json_parse(&a, ch_sv_str(json), CH_JSON_REPLACE, &skills, NULL, NULL);
    }
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "sessionUpdate", "available_commands_update");
    ch_jw_kbegin(&w, "availableCommands", '[');
    write_command(&w, CH_SV("compact"), CH_SV("Shorten the conversation"), "what to preserve");
    for (CH_JSON_EACH(k, skills)) {
        if (ch_json_bool(ch_json_get(k, "used"), false) &&
            ch_json_bool(ch_json_get(k, "user_invocable"), false))
            write_command(&w, ch_json_get_str(k, "name"), ch_json_get_str(k, "description"),
                          "task");
    }
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    ch_acp_send_update(ch_buf_sv(&update), s);
    chela_free(json);
}

/* --- new, load, resume ---------------------------------------------------------------------- */

/* Called after the answer: sends the commands, and the questions that wait for the user. */
static void session_opened(struct ch_acp_session *s) {
    ch_acp_session_commands(s);
    if (s->place->given.untrusted)
        ch_acp_ask_trust(s);
    else
        ch_acp_ask_next(s);
    ch_acp_follow(s);
}

void ch_acp_session_new(chela_acp *acp, struct ch_rpc_request *r, const struct ch_json *params) {
    struct chela_error err = {0};
    struct ch_acp_place *place;
    char id[24];
    if (place_enter(acp, ch_json_get_str(params, "cwd"), &place, &err) < 0) {
        ch_acp_refuse_error(r, &err);
        return;
    }
    ch_random_id("acp-", id);
    struct ch_acp_session *s = add_session(acp, id, place);
    ch_acp_servers_take(s, params);
    if (ch_acp_session_agent(s, &err) < 0) { /* a missing key is reported before the first prompt */
        ch_acp_session_free(s);
        ch_acp_refuse_error(r, &err);
        return;
    }
    write_note(s);
    reply_opened(r, s, true);
    session_opened(s);
}

/* The session must be of this directory, or of none. found: the result of looking it up; a
 * session that has a note and was never prompted is empty. */
static int check_note(struct ch_acp_session *s, int found, struct chela_error *err) {
    struct notes notes = {0};
    int rc = chela_store_items(s->place->given.store, CHELA_STORE_NOTES, gather_note, &notes, err);
    const char *cwd = rc == 0 ? find_note(&notes, s->id) : NULL;
    if (cwd && strcmp(cwd, s->place->cwd) != 0)
        rc = ch_fail(err, CHELA_EINVAL, "session %s belongs to the directory %s", s->id, cwd);
    else if (rc == 0 && !cwd && found < 0)
        rc = found;
    else if (rc == 0 && !cwd)
        write_note(s);
    ch_buf_release(&notes.all);
    return rc;
}

static void open_stored(chela_acp *acp, struct ch_rpc_request *r, const struct ch_json *params,
                        bool replay) {
    struct chela_error err = {0};
    struct ch_sv id = ch_json_get_str(params, "sessionId");
    struct ch_acp_place *place;
    struct ch_acp_session *s = find_session(acp, id);
    if (!id.n || id.n > CH_LIMIT_SESSION_KEY) {
        ch_acp_refuse(r, CH_RPC_INVALID_PARAMS, "sessionId is missing or too long");
        return;
    }
    if (s && ch_acp_turn_busy(s)) {
        ch_acp_refuse(r, CH_RPC_INVALID_REQUEST, "session %s works on a prompt", s->id);
        return;
    }
    struct ch_acp_session *before = s; /* opened again: replaced if that succeeds */
    if (place_enter(acp, ch_json_get_str(params, "cwd"), &place, &err) < 0) {
        ch_acp_refuse_error(r, &err);
        return;
    }
    CH_AUTOFREE char *key = ch_strndup(id.p, id.n);
    s = add_session(acp, key, place);
    ch_acp_servers_take(s, params);
    int rc = ch_acp_follow_replay(s, replay, &err);
    if (rc == 0 || rc == CHELA_ENOENT)
        rc = check_note(s, rc, &err);
    if (rc == 0)
        rc = ch_acp_session_agent(s, &err);
    if (rc < 0) {
        ch_acp_session_free(s);
        ch_acp_refuse_error(r, &err);
        return;
    }
    if (before)
        ch_acp_session_free(before);
    reply_opened(r, s, false);
    session_opened(s);
}

void ch_acp_session_load(chela_acp *acp, struct ch_rpc_request *r, const struct ch_json *params) {
    open_stored(acp, r, params, true);
}

void ch_acp_session_resume(chela_acp *acp, struct ch_rpc_request *r, const struct ch_json *params) {
    open_stored(acp, r, params, false);
}

/* --- list ---------------------------------------------------------------------------------- */

struct listing {
    struct ch_jw w;
    struct notes notes;
    struct ch_sv cwd; /* wanted; empty: any */
    const char *here; /* for sessions without a directory */
    size_t n;
    int64_t from;       /* time of the last session of the page before */
    const char *after;  /* its key, until it is seen; NULL: sessions of that time are listed */
    struct ch_buf next; /* cursor: time and key of the last session */
};

static int list_row(const struct chela_store_session *row, void *user) {
    struct listing *l = user;
    const char *cwd = find_note(&l->notes, row->key);
    if (l->after && row->updated == l->from) {
        if (strcmp(row->key, l->after) == 0)
            l->after = NULL;
        return 0;
    }
    if (row->key[chela_session_root(row->key)])
        return 0; /* the session of an agent that was called */
    if (l->cwd.n && cwd && !ch_sv_is(l->cwd, cwd))
        return 0;
    if (l->n == CH_LIMIT_ACP_LIST)
        return 1;
    l->n++;
    ch_buf_clear(&l->next);
    ch_buf_addf(&l->next, "%lld %s", (long long)row->updated, row->key);
    ch_jw_begin(&l->w, '{');
    ch_jw_kcstr(&l->w, "sessionId", row->key);
    if (cwd)
        ch_jw_kcstr(&l->w, "cwd", cwd);
    else if (l->cwd.n)
        ch_jw_kstr(&l->w, "cwd", l->cwd);
    else
        ch_jw_kcstr(&l->w, "cwd", l->here);
    if (*row->title)
        ch_jw_kcstr(&l->w, "title", row->title);
    ch_jw_ktime(&l->w, "updatedAt", row->updated);
    ch_jw_end(&l->w, '}');
    return 0;
}

/* A cursor is a time and a key: stores list sessions of one time in an order of their own. */
static bool list_read_cursor(struct listing *l, const char *cursor) {
    size_t n = strspn(cursor, "0123456789");

    if (!*cursor)
        return true;
    if (n == 0 || n > 15 || cursor[n] != ' ')
        return false;
    l->from = strtoll(cursor, NULL, 10);
    l->after = cursor + n + 1;
    return true;
}

/* If the session of the cursor has changed since, every session of its time is listed. */
static int list_check_place(const struct chela_store_session *row, void *user) {
    struct listing *l = user;

    if (row->updated != l->from)
        l->after = NULL;
    return 0;
}

void ch_acp_session_list(chela_acp *acp, struct ch_rpc_request *r, const struct ch_json *params) {
    CH_BUF_AUTO out = {0};
    struct chela_error err = {0};
    struct ch_acp_place *place;
    struct ch_sv cursor = ch_json_get_str(params, "cursor"), cwd = ch_json_get_str(params, "cwd");
    char here[PATH_MAX];
    struct listing l = {.w = ch_jw(&out), .cwd = cwd, .here = current_directory(here)};
    struct chela_store_filter filter = CHELA_STORE_FILTER(.prefix = NULL);

    CH_AUTOFREE char *after = ch_strndup(cursor.p ? cursor.p : "", cursor.n);
    if (!list_read_cursor(&l, after)) {
        ch_acp_refuse(r, CH_RPC_INVALID_PARAMS, "session/list: there is no such cursor");
        return;
    }
    filter.before = l.after ? l.from + 1 : 0;
    int rc = place_enter(acp, cwd.n ? cwd : ch_sv_str(l.here), &place, &err);
    if (rc < 0) {
        ch_acp_refuse_error(r, &err);
        return;
    }
    rc = chela_store_items(place->given.store, CHELA_STORE_NOTES, gather_note, &l.notes, &err);
    if (l.after && chela_store_session(place->given.store, l.after, list_check_place, &l, NULL) < 0)
        l.after = NULL;
    ch_jw_begin(&l.w, '{');
    ch_jw_kbegin(&l.w, "sessions", '[');
    if (rc == 0)
        rc = chela_store_list(place->given.store, &filter, list_row, &l, &err);
    ch_jw_end(&l.w, ']');
    if (l.n == CH_LIMIT_ACP_LIST)
        ch_jw_kstr(&l.w, "nextCursor", ch_buf_sv(&l.next));
    ch_jw_end(&l.w, '}');
    ch_buf_release(&l.next);
    ch_buf_release(&l.notes.all);
    place_leave(acp, place);
    if (rc < 0)
        ch_acp_refuse_error(r, &err);
    else
        ch_acp_reply(r, &out);
}

/* --- close, delete, options ------------------------------------------------------------------ */

void ch_acp_session_close(chela_acp *acp, struct ch_rpc_request *r, const struct ch_json *params) {
    struct ch_acp_session *s = ch_acp_session_of(acp, r, params);
    if (!s)
        return;
    if (s->close) {
        ch_acp_refuse(r, CH_RPC_INVALID_REQUEST, "session %s is being closed", s->id);
        return;
    }
    s->close = r;
    ch_acp_session_end(s);
}

void ch_acp_session_end(struct ch_acp_session *s) {
    struct ch_rpc_request *r = s->close;
    if (s->run) { /* closed when the run has ended */
        chela_cancel(s->run, "the editor closed the session");
        return;
    }
    s->close = NULL;
    ch_acp_session_free(s);
    reply_empty(r);
}

void ch_acp_session_delete(chela_acp *acp, struct ch_rpc_request *r, const struct ch_json *params) {
    struct ch_sv id = ch_json_get_str(params, "sessionId");
    struct ch_acp_session *s = find_session(acp, id);
    struct ch_acp_place *place;
    struct chela_error err = {0};
    char here[PATH_MAX];
    CH_AUTOFREE char *key = ch_strndup(id.p ? id.p : "", id.n);

    if (!id.n) {
        ch_acp_refuse(r, CH_RPC_INVALID_PARAMS, "sessionId is missing");
        return;
    }
    if (s && ch_acp_turn_busy(s)) {
        ch_acp_refuse(r, CH_RPC_INVALID_REQUEST, "session %s works on a prompt", s->id);
        return;
    }
    int rc = place_enter(acp, ch_sv_str(s ? s->place->cwd : current_directory(here)), &place, &err);
    if (rc == 0) {
        if (s)
            ch_acp_session_free(s);
        rc = chela_store_delete(place->given.store, key, &err);
        if (rc == CHELA_ENOENT) /* never prompted: only the note is stored */
            change_note(place, key, NULL);
        place_leave(acp, place);
    }
    if (rc < 0 && rc != CHELA_ENOENT)
        ch_acp_refuse_error(r, &err);
    else
        reply_empty(r);
}

static bool set_option(struct ch_acp_session *s, struct ch_sv id, struct ch_sv value) {
    const char *const *models = s->place->given.models;
    const struct choice *c = NULL;
    if (ch_sv_is(id, "mode") && (c = choice_named(modes, CH_LEN(modes), value)))
        s->choice.mode = (enum chela_mode)c->code;
    else if (ch_sv_is(id, "approval") && (c = choice_named(approvals, CH_LEN(approvals), value)))
        s->choice.approve = (enum chela_approve)c->code;
    else if (ch_sv_is(id, "reasoning") && (c = choice_named(thoughts, CH_LEN(thoughts), value)))
        s->choice.reasoning = (enum chela_reasoning)c->code;
    if (c || !ch_sv_is(id, "model"))
        return c;
    for (; models && *models; models++)
        if (ch_sv_is(value, *models)) {
            ch_free(s->model);
            s->model = ch_strdup(*models);
            return true;
        }
    return false;
}

/* The mode has changed: as an option, or as the mode of editors that know no options. */
static void send_mode(struct ch_acp_session *s, bool as_option) {
    CH_BUF_AUTO update = {0};
    struct ch_jw w = ch_jw(&update);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "sessionUpdate", as_option ? "config_option_update" : "current_mode_update");
    if (as_option) {
        ch_jw_key(&w, "configOptions");
        write_options(&w, s);
    } else {
        ch_jw_kcstr(&w, "currentModeId",
                    choice_of(modes, CH_LEN(modes), (int)s->choice.mode)->value);
    }
    ch_jw_end(&w, '}');
    ch_acp_send_update(ch_buf_sv(&update), s);
}

static void change_option(chela_acp *acp, struct ch_rpc_request *r, const struct ch_json *params,
                          struct ch_sv id, struct ch_sv value, bool old) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    struct ch_acp_session *s = ch_acp_session_of(acp, r, params);
    if (!s)
        return;
    if (!set_option(s, id, value)) {
        ch_acp_refuse(r, CH_RPC_INVALID_PARAMS, "there is no option '%.*s' with the value '%.*s'",
                      (int)CH_MIN(id.n, (size_t)60), id.p ? id.p : "",
                      (int)CH_MIN(value.n, (size_t)60), value.p ? value.p : "");
        return;
    }
    s->stale = true; /* the next session of the store is opened with the new options */
    s->delayed |= !ch_sv_is(id, "approval");
    ch_jw_begin(&w, '{');
    if (!old) {
        ch_jw_key(&w, "configOptions");
        write_options(&w, s);
    }
    ch_jw_end(&w, '}');
    ch_acp_reply(r, &out);
    if (ch_sv_is(id, "mode")) /* mode and option are two ways to choose: notify the editor about
                               * the other one */
        send_mode(s, old);
}

void ch_acp_session_mode(chela_acp *acp, struct ch_rpc_request *r, const struct ch_json *params) {
    change_option(acp, r, params, CH_SV("mode"), ch_json_get_str(params, "modeId"), true);
}

void ch_acp_session_option(chela_acp *acp, struct ch_rpc_request *r, const struct ch_json *params) {
    change_option(acp, r, params, ch_json_get_str(params, "configId"),
                  ch_json_get_str(params, "value"), false);
}
