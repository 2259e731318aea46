/* operate_api.c -- see operate_api.h. */
#include "gateway/http/operate_api.h"

#include "agent/journal/outbox.h"
#include "base/error.h"
#include "base/redact.h"
#include "chela/config.h"
#include "chela/pairing.h"
#include "gateway/chat/chat_service.h"
#include "gateway/lane/health_state.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"
#include "gateway/request/store_lookup.h"

/* --- channels */

static int operate_add_pairing(const struct chela_pairing *p, void *user) {
    struct ch_store_lookup *l = user;
    struct ch_jw w = ch_jw(&l->out);
    if (l->out.n)
        ch_buf_addc(&l->out, ',');
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "channel", p->channel);
    ch_jw_kcstr(&w, "sender", p->sender);
    ch_jw_kcstr(&w, "code", p->code);
    ch_jw_kint(&w, "ts", p->ts);
    ch_jw_kint(&w, "until", p->until);
    ch_jw_end(&w, '}');
    return 0;
}

static int query_pairings(struct ch_store_lookup *l, struct chela_error *err) {
    return chela_pairing_list(l->store, operate_add_pairing, l, err);
}

static void operate_write_channel(struct ch_jw *w, const struct ch_chat_service *chat) {
    struct ch_channel *c = chat->channel;
    const char *trouble = c->ops->trouble ? c->ops->trouble(c) : NULL;
    size_t unsent = ch_outbox_stuck(chat->gw->rt, c->ops->name);
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "name", c->ops->name);
    ch_jw_kcstr(w, "agent", *chat->agent ? chat->agent : chat->gw->agents[0]->id);
    ch_jw_kcstr(w, "status", trouble || unsent ? "failing" : "ok");
    ch_jw_kcstr(w, "error", trouble);
    ch_jw_kint(w, "unsent", (int64_t)unsent);
    ch_jw_kbool(w, "leaving", chat->leaving);
    ch_jw_end(w, '}');
}

static void respond_channels(struct ch_request *req, struct ch_store_lookup *l) {
    CH_BUF_AUTO out = {0}, pairings = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_key(&w, "channels");
    ch_jw_begin(&w, '[');
    for (CH_LIST_EACH(k, &req->gw->chats))
        operate_write_channel(&w, CH_CONTAINER(k, struct ch_chat_service, link));
    ch_jw_end(&w, ']');
    ch_buf_addf(&pairings, "[%s]", ch_buf_str(&l->out));
    ch_jw_kraw(&w, "pairings", ch_buf_sv(&pairings));
    ch_jw_end(&w, '}');
    ch_request_respond_json(req, 200, &out);
}

void ch_operate_channels(struct ch_request *req) {
    ch_store_lookup_start(req, ch_sv(NULL, 0), 0, query_pairings, respond_channels);
}

/* --- people: l->key is a code, or a channel, a line feed and a sender */

static int query_pair(struct ch_store_lookup *l, struct chela_error *err) {
    char *sender = strchr(l->key, '\n');
    if (!sender)
        return chela_pairing_approve(l->store, l->key, operate_add_pairing, l, err);
    *sender++ = 0;
    return chela_pairing_remove(l->store, l->key, sender, err);
}

static void respond_paired(struct ch_request *req, struct ch_store_lookup *l) {
    CH_BUF_AUTO out = {0};
    ch_buf_addf(&out, "{\"pairings\":[%s]}", ch_buf_str(&l->out));
    ch_request_respond_json(req, 200, &out);
}

void ch_operate_pairing(struct ch_request *req) {
    struct ch_sv code = ch_json_get_str(req->json, "approve");
    const struct ch_json *who = ch_json_get(req->json, "remove");
    struct ch_sv channel = ch_json_get_str(who, "channel"), sender = ch_json_get_str(who, "sender");
    CH_BUF_AUTO key = {0};
    if (code.n)
        ch_buf_add_sv(&key, code);
    else if (channel.n && sender.n)
        ch_buf_addf(&key, "%.*s\n%.*s", CH_SV_FMT(channel), CH_SV_FMT(sender));
    if (!key.n || (code.n && memchr(code.p, '\n', code.n)))
        ch_request_fail(req, 400, NULL,
                        "`approve` must be a code, or `remove` a channel and a sender");
    else
        ch_store_lookup_start(req, ch_buf_sv(&key), 0, query_pair, respond_paired);
}

/* --- the configuration: l->key is the file */

static void operate_add_option(const char *key, const char *value, int from_file, void *user) {
    struct ch_store_lookup *l = user;
    struct ch_jw w = ch_jw(&l->out);
    CH_BUF_AUTO safe = {0};
    ch_redact_copy(&safe, ch_sv_str(value));
    if (l->out.n)
        ch_buf_addc(&l->out, ',');
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "key", key);
    ch_jw_kstr(&w, "value", ch_buf_sv(&safe));
    ch_jw_kcstr(&w, "origin", from_file ? "file" : "default");
    ch_jw_end(&w, '}');
}

static void operate_add_complaint(const char *line, void *user) {
    struct ch_store_lookup *l = user;
    struct ch_jw w = ch_jw(&l->more);
    if (l->more.n)
        ch_buf_addc(&l->more, ',');
    ch_jw_cstr(&w, line);
}

/* A file with errors is shown with its errors and without its options. */
static int query_config(struct ch_store_lookup *l, struct chela_error *err) {
    struct chela_config_opts opts = CHELA_CONFIG_OPTS(
        .warn = operate_add_complaint, .complain = operate_add_complaint, .user = l);
    chela_config *cfg = NULL;
    int rc = *l->key ? chela_config_open(l->key, &opts, &cfg, err) : 0;
    if (rc == CHELA_ECONFIG)
        return 0;
    if (rc == 0)
        chela_config_show(cfg, operate_add_option, l);
    chela_config_free(cfg);
    return rc;
}

static void respond_config(struct ch_request *req, struct ch_store_lookup *l) {
    CH_BUF_AUTO out = {0}, list = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "file", *l->key ? l->key : NULL);
    ch_jw_kcstr(&w, "error", ch_health_state_config_error(req->gw->health_state));
    ch_buf_addf(&list, "[%s]", ch_buf_str(&l->more));
    ch_jw_kraw(&w, "complaints", ch_buf_sv(&list));
    ch_buf_clear(&list);
    ch_buf_addf(&list, "[%s]", ch_buf_str(&l->out));
    ch_jw_kraw(&w, "options", ch_buf_sv(&list));
    ch_jw_end(&w, '}');
    ch_request_respond_json(req, 200, &out);
}

void ch_operate_config(struct ch_request *req) {
    ch_store_lookup_start(req, ch_sv_str(req->gw->config_file ? req->gw->config_file : ""), 0,
                          query_config, respond_config);
}
