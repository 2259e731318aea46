/* chat_overrides.c -- how the agent works in one chat: /model and /reasoning.
 *
 * A wish belongs to a session's key and outlives conversations: it is a note of
 * the store ("wish:KEY"), read at the start. It takes effect with the next
 * message that finds the agent at rest. */
#include "agent/journal/journal.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "gateway/chat/channels.h"

#define PREFIX "wish:"

struct ch_wish {
    struct ch_link link; /* in the chat's wishes */
    char *session, *model; /* owned; model NULL: the agent's own */
    enum chela_reasoning reasoning;
};

static const char *const levels[] = {[CHELA_REASONING_DEFAULT] = "default",
                                     [CHELA_REASONING_OFF] = "off",
                                     [CHELA_REASONING_LOW] = "low",
                                     [CHELA_REASONING_MEDIUM] = "medium",
                                     [CHELA_REASONING_HIGH] = "high"};

static bool read_level(struct ch_sv word, enum chela_reasoning *out) {
    for (size_t i = 0; i < CH_LEN(levels); i++)
        if (ch_sv_is(word, levels[i])) {
            *out = (enum chela_reasoning)i;
            return true;
        }
    return false;
}

static struct ch_wish *find(const struct ch_chat *chat, const char *session) {
    for (CH_LIST_EACH(k, &chat->wishes)) {
        struct ch_wish *w = CH_CONTAINER(k, struct ch_wish, link);
        if (strcmp(w->session, session) == 0)
            return w;
    }
    return NULL;
}

static void free_wish(struct ch_wish *w) {
    ch_list_del(&w->link);
    ch_free(w->session);
    ch_free(w->model);
    ch_free(w);
}

static struct ch_wish *need(struct ch_chat *chat, const char *session) {
    struct ch_wish *w = find(chat, session);
    if (w)
        return w;
    w = ch_alloc(sizeof(*w));
    w->session = ch_strdup(session);
    ch_list_add(&chat->wishes, &w->link);
    if (++chat->nwishes > CH_LIMIT_WISHES) {
        chat->nwishes--;
        free_wish(CH_LIST_FIRST(&chat->wishes, struct ch_wish, link));
    }
    return w;
}

void ch_wish_patch(const struct ch_chat *chat, const char *session, struct ch_agent_patch *out) {
    const struct ch_wish *w = find(chat, session);
    if (!w)
        return;
    out->model = w->model;
    out->reasoning = w->reasoning;
}

/* --- the store */

const char *ch_wish_session(const char *note) {
    return strncmp(note, PREFIX, strlen(PREFIX)) == 0 ? note + strlen(PREFIX) : NULL;
}

void ch_wish_recall(struct ch_chat *chat, const char *session, struct ch_sv data) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    struct ch_wish *w = need(chat, session);
    if (ch_json_parse(&arena, data, CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return;
    struct ch_sv model = ch_json_get_str(v, "model");
    read_level(ch_json_get_str(v, "reasoning"), &w->reasoning);
    ch_free(w->model);
    w->model = model.n ? ch_strndup(model.p, model.n) : NULL;
}

static void on_kept(int rc, const struct chela_error *err, void *user) {
    struct ch_parcel *p = user;
    p->accepting = false;
    if (!p->chat)
        ch_parcel_drop(p);
    else if (rc == 0 || rc == CHELA_ENOENT)
        ch_parcel_answer(p, "From the next message on.");
    else
        ch_parcel_answer(p, "It holds until the next restart: it cannot be stored.");
    if (rc < 0 && rc != CHELA_ENOENT)
        ch_log(CH_LOG_WARN, "gateway", "a wish cannot be stored: %s",
               err ? err->message : chela_error_text(rc));
}

static void keep(struct ch_parcel *p, const struct ch_wish *w) {
    struct ch_journal *j = p->chat->gw->rt->journal;
    CH_BUF_AUTO id = {0}, data = {0};
    struct ch_jw out = ch_jw(&data);
    bool nothing = !w->model && w->reasoning == CHELA_REASONING_DEFAULT;
    ch_buf_addf(&id, PREFIX "%s", w->session);
    ch_jw_begin(&out, '{');
    if (w->model)
        ch_jw_kcstr(&out, "model", w->model);
    ch_jw_kcstr(&out, "reasoning", levels[w->reasoning]);
    ch_jw_end(&out, '}');
    struct chela_store_change c = {.kind = nothing ? CHELA_STORE_FORGET : CHELA_STORE_NOTE,
                                   .id = ch_buf_str(&id),
                                   .key = "",
                                   .data = data.p,
                                   .n = data.n,
                                   .now = ch_now_ms(ch_loop_clock(p->chat->gw->rt->loop))};
    p->accepting = true;
    j->ops->change(j, &c, j->gate, on_kept, p);
}

/* --- the commands */

static chela_agent *base_of(const struct ch_parcel *p) {
    chela_agent *a = ch_gateway_agent(p->chat->gw, ch_sv_str(p->chat->agent));
    return a ? a : p->chat->gw->agents[0];
}

/* Can there be an agent like that? */
static int try_out(const struct ch_parcel *p, const struct ch_agent_patch *patch,
                   struct chela_error *err) {
    chela_agent *a;
    int rc = ch_agent_derive(base_of(p), patch, &a, err);
    if (rc == 0)
        ch_agent_free(a);
    return rc;
}

static const char *own_model(const struct ch_parcel *p) {
    const chela_agent *a = base_of(p);
    return a->ntargets ? a->targets[0]->spec : "-";
}

void ch_command_model(struct ch_parcel *p, struct ch_sv rest) {
    struct ch_agent_patch patch = {0};
    struct chela_error err = {0};
    ch_wish_patch(p->chat, p->in.session, &patch);
    if (!rest.n) {
        ch_parcel_answer(p, ch_arena_printf(&p->arena, "%s (/model PROVIDER/MODEL changes it)",
                                            patch.model ? patch.model : own_model(p)));
        return;
    }
    patch.model = ch_sv_is(rest, "default") ? NULL : ch_arena_str(&p->arena, rest);
    if (try_out(p, &patch, &err) < 0) {
        ch_parcel_answer(p, ch_arena_printf(&p->arena, "That cannot be: %s", err.message));
        return;
    }
    struct ch_wish *w = need(p->chat, p->in.session);
    ch_free(w->model);
    w->model = patch.model ? ch_strdup(patch.model) : NULL;
    keep(p, w);
}

void ch_command_reasoning(struct ch_parcel *p, struct ch_sv rest) {
    const struct ch_wish *now = find(p->chat, p->in.session);
    enum chela_reasoning level = CHELA_REASONING_DEFAULT;
    if (!read_level(rest, &level)) {
        ch_parcel_answer(p, ch_arena_printf(&p->arena, "%s (/reasoning off, low, medium, high or "
                                                       "default changes it)",
                                            levels[now ? now->reasoning : 0]));
        return;
    }
    struct ch_wish *w = need(p->chat, p->in.session);
    w->reasoning = level;
    keep(p, w);
}

void ch_wishes_release(struct ch_chat *chat) {
    for (struct ch_wish *w; (w = CH_LIST_FIRST(&chat->wishes, struct ch_wish, link));)
        free_wish(w);
}
