/* chat_overrides.c -- see chat_overrides.h.
 *
 * An override belongs to a session's key and survives /new. It is stored as the note
 * "wish:KEY" and read at the start; if gateways share the store, also by each later read,
 * because another gateway may have changed it. It takes effect with the next message that finds
 * the session idle. */
#include "gateway/chat/chat_overrides.h"

#include "agent/journal/journal.h"
#include "model/provider/target.h"
#include "agent/session/agent_override.h"
#include "agent/session/agent_parts.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "gateway/chat/chat_event.h"
#include "gateway/chat/chat_language.h"
#include "gateway/chat/chat_service.h"
#include "gateway/request/gateway_state.h"

#define PREFIX "wish:"

struct ch_chat_override {
    struct ch_link link;   /* in the service's overrides */
    char *session, *model; /* owned; model NULL: the agent's own */
    enum chela_reasoning reasoning;
    int64_t changed;  /* monotonic: the last change by this process; 0: none */
    unsigned storing; /* changes that the store has not answered */
    bool read; /* the read of the store in progress has found the note */
};

static struct ch_chat_override *override_find(const struct ch_chat_service *chat,
                                              const char *session) {
    for (CH_LIST_EACH(k, &chat->overrides)) {
        struct ch_chat_override *w = CH_CONTAINER(k, struct ch_chat_override, link);
        if (strcmp(w->session, session) == 0)
            return w;
    }
    return NULL;
}

static void override_free(struct ch_chat_override *w) {
    ch_list_del(&w->link);
    ch_free(w->session);
    ch_free(w->model);
    ch_free(w);
}

static struct ch_chat_override *override_need(struct ch_chat_service *chat, const char *session) {
    struct ch_chat_override *w = override_find(chat, session);
    if (w)
        return w;
    w = ch_alloc(sizeof(*w));
    w->session = ch_strdup(session);
    ch_list_add(&chat->overrides, &w->link);
    if (++chat->noverrides > CH_LIMIT_CHAT_OVERRIDES) {
        chat->noverrides--;
        override_free(CH_LIST_FIRST(&chat->overrides, struct ch_chat_override, link));
    }
    return w;
}

void ch_chat_overrides_apply(const struct ch_chat_service *chat, const char *session,
                             struct ch_agent_override *out) {
    const struct ch_chat_override *w = override_find(chat, session);
    if (!w)
        return;
    out->model = w->model;
    out->reasoning = w->reasoning;
}

/* --- the store */

const char *ch_chat_overrides_session_of_note(const char *note) {
    return strncmp(note, PREFIX, strlen(PREFIX)) == 0 ? note + strlen(PREFIX) : NULL;
}

static int64_t overrides_now(const struct ch_chat_service *chat) {
    return ch_mono_ms(ch_loop_clock(chat->gw->rt->loop)) + 1; /* never 0 */
}

void ch_chat_overrides_begin_read(struct ch_chat_service *chat) {
    chat->overrides_since = overrides_now(chat);
    for (CH_LIST_EACH(k, &chat->overrides))
        CH_CONTAINER(k, struct ch_chat_override, link)->read = false;
}

/* The read may have been too early for a change by this process. */
static bool override_is_newer(const struct ch_chat_service *chat,
                              const struct ch_chat_override *w) {
    return w->storing || w->changed >= chat->overrides_since;
}

void ch_chat_overrides_end_read(struct ch_chat_service *chat) {
    struct ch_link *k = chat->overrides.head.next, *next;
    for (; k != &chat->overrides.head; k = next) {
        struct ch_chat_override *w = CH_CONTAINER(k, struct ch_chat_override, link);
        next = k->next;
        if (w->read || override_is_newer(chat, w))
            continue;
        chat->noverrides--;
        override_free(w);
    }
}

void ch_chat_overrides_restore(struct ch_chat_service *chat, const char *session,
                               struct ch_sv data) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    struct ch_chat_override *w = override_need(chat, session);
    w->read = true;
    if (override_is_newer(chat, w))
        return;
    if (ch_json_parse(&arena, data, CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return;
    struct ch_sv model = ch_json_get_str(v, "model");
    chela_reasoning_read(ch_arena_str(&arena, ch_json_get_str(v, "reasoning")), &w->reasoning,
                         NULL);
    ch_free(w->model);
    w->model = model.n ? ch_strndup(model.p, model.n) : NULL;
}

static void override_on_stored(int rc, const struct chela_error *err, void *user) {
    struct ch_chat_event *e = user;
    struct ch_chat_override *w = e->chat ? override_find(e->chat, e->in.session) : NULL;
    e->accepting = false;
    if (w) {
        w->changed = overrides_now(e->chat);
        w->storing -= w->storing > 0;
    }
    if (!e->chat)
        ch_chat_event_drop(e);
    else if (rc == 0 || rc == CHELA_ENOENT)
        ch_chat_language_tell(e, CH_SAY_CHANGE_STORED);
    else
        ch_chat_language_tell(e, CH_SAY_CHANGE_NOT_STORED);
    if (rc < 0 && rc != CHELA_ENOENT)
        ch_log(CH_LOG_WARN, "gateway", "a chat override cannot be stored: %s",
               err ? err->message : chela_error_text(rc));
}

static void override_store(struct ch_chat_event *e, struct ch_chat_override *w) {
    struct ch_journal *j = e->chat->gw->rt->journal;
    CH_BUF_AUTO id = {0}, data = {0};
    struct ch_jw out = ch_jw(&data);
    bool nothing = !w->model && w->reasoning == CHELA_REASONING_DEFAULT;
    ch_buf_addf(&id, PREFIX "%s", w->session);
    ch_jw_begin(&out, '{');
    if (w->model)
        ch_jw_kcstr(&out, "model", w->model);
    ch_jw_kcstr(&out, "reasoning", chela_reasoning_name(w->reasoning));
    ch_jw_end(&out, '}');
    struct chela_store_change c = {.kind = nothing ? CHELA_STORE_FORGET : CHELA_STORE_NOTE,
                                   .id = ch_buf_str(&id),
                                   .key = "",
                                   .data = data.p,
                                   .n = data.n,
                                   .now = ch_now_ms(ch_loop_clock(e->chat->gw->rt->loop))};
    e->accepting = true;
    w->storing++;
    j->ops->change(j, &c, j->gate, override_on_stored, e);
}

/* --- the commands */

static chela_agent *base_agent(const struct ch_chat_event *e) {
    chela_agent *a = ch_gateway_agent(e->chat->gw, ch_sv_str(e->chat->agent));
    return a ? a : e->chat->gw->agents[0];
}

/* Can the agent be derived with these overrides? */
static int check_override(const struct ch_chat_event *e, const struct ch_agent_override *patch,
                          struct chela_error *err) {
    chela_agent *a;
    int rc = ch_agent_override_new(base_agent(e), patch, &a, err);
    if (rc == 0)
        ch_agent_close(a);
    return rc;
}

static const char *own_model(const struct ch_chat_event *e) {
    const chela_agent *a = base_agent(e);
    return a->ntargets ? a->targets[0]->spec : "-";
}

void ch_chat_overrides_model_command(struct ch_chat_event *e, struct ch_sv rest) {
    struct ch_agent_override patch = {0};
    struct chela_error err = {0};
    ch_chat_overrides_apply(e->chat, e->in.session, &patch);
    if (!rest.n) {
        ch_chat_language_reply(
            e, CH_SAY_MODEL_NOW,
            CH_SAY_VALUES(ch_sv_str(patch.model ? patch.model : own_model(e))));
        return;
    }
    patch.model = ch_sv_is(rest, "default") ? NULL : ch_arena_str(&e->arena, rest);
    if (check_override(e, &patch, &err) < 0) {
        ch_log(CH_LOG_WARN, "gateway", "/model in %s: %s", e->in.session, err.message);
        ch_chat_language_reply(e, CH_SAY_NO_SUCH_MODEL, CH_SAY_VALUES(ch_sv_str(err.message)));
        return;
    }
    struct ch_chat_override *w = override_need(e->chat, e->in.session);
    ch_free(w->model);
    w->model = patch.model ? ch_strdup(patch.model) : NULL;
    override_store(e, w);
}

void ch_chat_overrides_reasoning_command(struct ch_chat_event *e, struct ch_sv rest) {
    const struct ch_chat_override *now = override_find(e->chat, e->in.session);
    enum chela_reasoning level = CHELA_REASONING_DEFAULT;
    if (chela_reasoning_read(ch_arena_str(&e->arena, rest), &level, NULL) < 0) {
        ch_chat_language_reply(
            e, CH_SAY_REASONING_NOW,
            CH_SAY_VALUES(ch_sv_str(chela_reasoning_name(now ? now->reasoning : level))));
        return;
    }
    struct ch_chat_override *w = override_need(e->chat, e->in.session);
    w->reasoning = level;
    override_store(e, w);
}

void ch_chat_overrides_release(struct ch_chat_service *chat) {
    for (struct ch_chat_override *w;
         (w = CH_LIST_FIRST(&chat->overrides, struct ch_chat_override, link));)
        override_free(w);
}
