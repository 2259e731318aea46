/* feishu_survey.c -- checks the app's setup at the service, for `chela doctor`:
 *
 *       secret --valid--> bot --enabled--> permissions, one by one
 *
 * Missing items are named as in the developer console, with the feature that needs them.
 * Blocks; changes nothing. */
#include "channel/feishu_survey.h"

#include "agent/handle/runtime.h"
#include "channel/feishu.h"
#include "model/provider/server_query.h"
#include "json/writer.h"

struct survey {
    chela_runtime *rt;
    const struct chela_channel_opts *o;
    const struct chela_channel_survey *told;
    struct ch_arena *arena;
    const char *token; /* NULL: none yet */
};

static void feishu_survey_row(const struct survey *s, const char *status, const char *detail,
                              const char *mend) {
    s->told->tell(status, detail, mend, s->told->user);
}

/* Code of the response; -1: no response, *why gives the reason. */
static int64_t feishu_survey_ask(const struct survey *s, const char *path, const struct ch_sv *body,
                                 const struct ch_json **out, const char **why) {
    CH_BUF_AUTO answer = {0};
    struct chela_error err = {0};
    struct ch_header headers[2];
    size_t n = 0;
    if (s->token)
        headers[n++] = (struct ch_header){
            CH_SV("Authorization"), ch_sv_str(ch_arena_printf(s->arena, "Bearer %s", s->token))};
    if (body)
        headers[n++] = (struct ch_header){CH_SV("Content-Type"),
                                          CH_SV("application/json; charset=utf-8")};
    struct ch_http_request req = {
        .method = body ? "POST" : "GET",
        .url = ch_arena_printf(s->arena, "%s%s", ch_feishu_base(s->o->domain), path),
        .headers = headers,
        .nheaders = n,
        .body = body,
        .nbody = body != NULL,
        .timeouts = {CH_SERVER_QUERY_MS, CH_SERVER_QUERY_MS, CH_SERVER_QUERY_MS,
                     CH_SERVER_QUERY_MS}};
    int rc = ch_server_query(&s->rt->providers, &req, &answer, &err);
    struct ch_sv text = ch_arena_sv(s->arena, ch_buf_sv(&answer));
    const struct ch_json *code = NULL;
    if (text.n && ch_json_parse(s->arena, text, CH_JSON_REPLACE, out, NULL, NULL) == 0)
        code = ch_json_get(*out, "code");
    if (!code) {
        *why = ch_arena_str(s->arena, rc < 0 ? ch_sv_str(err.message) : CH_SV("it is no JSON"));
        return -1;
    }
    *why = ch_arena_printf(s->arena, "code %lld: %.*s", (long long)ch_json_int(code, -1),
                           CH_SV_FMT(ch_json_get_str(*out, "msg")));
    return ch_json_int(code, -1);
}

static bool look_at_secret(struct survey *s) {
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    const struct ch_json *v = NULL;
    const char *why;
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "app_id", s->o->account);
    ch_jw_kcstr(&w, "app_secret", s->o->secret);
    ch_jw_end(&w, '}');
    struct ch_sv post = ch_buf_sv(&body);
    int64_t code = feishu_survey_ask(s, CH_FEISHU_TOKEN_PATH, &post, &v, &why);
    if (code == 0) {
        s->token = ch_arena_str(s->arena, ch_json_get_str(v, "tenant_access_token"));
        return true;
    }
    if (code < 0)
        feishu_survey_row(
            s, "warn",
            ch_arena_printf(s->arena, "%s cannot be asked: %s", ch_feishu_base(s->o->domain), why),
            "is there a network, or a proxy to be named?");
    else
        feishu_survey_row(
            s, "fail", ch_arena_printf(s->arena, "the App ID or the App Secret is wrong: %s", why),
            "compare both with Credentials in its console; an app of Lark needs domain: lark");
    return false;
}

static bool look_at_bot(const struct survey *s) {
    const struct ch_json *v = NULL;
    const char *why;
    int64_t code = feishu_survey_ask(s, "/open-apis/bot/v3/info", NULL, &v, &why);
    struct ch_sv name = ch_json_get_str(ch_json_get(v, "bot"), "app_name");
    if (code != 0) {
        feishu_survey_row(s, "fail", ch_arena_printf(s->arena, "the app is no bot: %s", why),
                          "add the bot ability in its console, and publish a version");
        return false;
    }
    feishu_survey_row(s, "ok",
                      ch_arena_printf(s->arena, "the service knows the app: %.*s", CH_SV_FMT(name)),
                      NULL);
    return true;
}

/* --- permissions */

static bool takes_direct(const struct chela_channel_opts *o) {
    return o->dm_policy != CHELA_ACCESS_OFF;
}

static bool takes_groups(const struct chela_channel_opts *o) {
    return o->group_policy != CHELA_ACCESS_OFF;
}

static bool takes_mentions(const struct chela_channel_opts *o) {
    return takes_groups(o) && !o->unasked;
}

static bool takes_all_lines(const struct chela_channel_opts *o) {
    return takes_groups(o) && o->unasked;
}

static bool streams(const struct chela_channel_opts *o) {
    return o->streaming;
}

/* Any of the names suffices; the first is recommended. */
static const struct need {
    const char *names[3], *without;
    bool vital;
    bool (*applies)(const struct chela_channel_opts *o); /* NULL: always */
} needs[] = {
    {{"im:message:send_as_bot", "im:message", "im:message:send"}, "no answer can be sent", true,
     NULL},
    {{"im:message.p2p_msg:readonly", "im:message.p2p_msg"},
     "direct messages are not received",
     true,
     takes_direct},
    {{"im:message.group_at_msg:readonly", "im:message.group_at_msg", "im:message.group_msg"},
     "messages of groups are not received", true, takes_mentions},
    {{"im:message.group_msg"}, "only messages that mention the app are received from groups", true,
     takes_all_lines},
    {{"im:resource"}, "pictures and files are neither fetched nor sent", false, NULL},
    {{"im:message.reactions:write_only", "im:message"},
     "the chat does not show that the agent is working", false, NULL},
    {{"contact:user.base:readonly"}, "people have no names", false, NULL},
    {{"cardkit:card:write"}, "answers are sent as posts, without streaming", false, streams},
};

static bool is_granted(const struct ch_json *scopes, const struct need *n) {
    for (CH_JSON_EACH(s, scopes))
        for (size_t i = 0; i < CH_LEN(n->names) && n->names[i]; i++)
            if (ch_sv_is(ch_json_get_str(s, "scope_name"), n->names[i]) &&
                ch_json_int(ch_json_get(s, "grant_status"), 0) == 1)
                return true;
    return false;
}

static void look_at_permissions(const struct survey *s) {
    const struct ch_json *v = NULL;
    const char *why;
    bool all = true;
    if (feishu_survey_ask(s, "/open-apis/application/v6/scopes", NULL, &v, &why) != 0) {
        feishu_survey_row(s, "warn",
                          ch_arena_printf(s->arena, "its permissions cannot be listed: %s", why),
                          "was a version of the app published?");
        return;
    }
    const struct ch_json *scopes = ch_json_path(v, "data", "scopes", NULL);
    for (size_t i = 0; i < CH_LEN(needs); i++) {
        const struct need *n = &needs[i];
        if ((n->applies && !n->applies(s->o)) || is_granted(scopes, n))
            continue;
        all = false;
        feishu_survey_row(s, n->vital ? "fail" : "warn",
                          ch_arena_printf(s->arena, "the app lacks %s: %s", n->names[0],
                                          n->without),
                          "add it under Permissions in its console, and publish a version");
    }
    if (all)
        feishu_survey_row(s, "ok", "the app has the permissions that it needs", NULL);
}

void ch_feishu_survey(chela_runtime *rt, const struct chela_channel_opts *o,
                      const struct chela_channel_survey *told) {
    CH_ARENA_AUTO arena = {0};
    struct survey s = {.rt = rt, .o = o, .told = told, .arena = &arena};
    if (o->mode != CHELA_TRANSPORT_WEBSOCKET && !(o->encrypt_key && *o->encrypt_key))
        feishu_survey_row(&s, "warn", "its callbacks are not signed",
                          "set an Encrypt Key in its console, and name it: encryptKeyEnv");
    if (look_at_secret(&s) && look_at_bot(&s))
        look_at_permissions(&s);
}
