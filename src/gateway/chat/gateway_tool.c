/* gateway_tool.c -- see gateway_tool.h.
 *
 * Only an owner of the channel gets the tool, and only in a direct chat, because other
 * people write in a group. Ownership is checked again before each call. The tool shows no
 * secrets and changes no permissions: config/patch.h lists the options that may be changed.
 * A person approves each change and sees it as a diff of the file; if the file changes
 * before that, the call is not made.
 *
 * The file is read and written on a worker thread, except for the diff, which the approval
 * prompt needs at once. After a change (config/rewrite.h) the gateway reloads as on SIGHUP. */
#include "gateway/chat/gateway_tool.h"

#include "agent/feature/heartbeat/beat.h"
#include "agent/handle/run.h"
#include "agent/handle/run_origin.h"
#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/redact.h"
#include "config/patch.h"
#include "config/rewrite.h"
#include "gateway/chat/chat_service.h"
#include "gateway/lane/lane.h"
#include "gateway/request/gateway_state.h"
#include "io/worker.h"
#include "tool/call/call.h"
#include "tool/call/function.h"

#define NAME "gateway"

static const char description[] =
    "Look after the gateway that you run in, for its owner. lookup explains options by the "
    "beginning of their key; get shows those that are set, secrets left out; patch changes one in "
    "the configuration file and takes it up; reload reads the file again; restart ends the program "
    "once what is under way has ended, and begins it anew. Keys look like "
    "gateway.drainSec, agents.defaults.model, agents.list[coder].limits.maxTurns. Secrets, owners, "
    "policies, approvals, tools and the sandbox cannot be changed.";

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"action\":{\"type\":\"string\",\"enum\":[\"lookup\",\"get\",\"patch\",\"reload\","
    "\"restart\"]},"
    "\"key\":{\"type\":\"string\",\"maxLength\":300,\"description\":"
    "\"lookup, get: the beginning of keys; patch: a whole one\"},"
    "\"value\":{\"description\":\"patch: the new value; null takes the option away\"}},"
    "\"required\":[\"action\"],\"additionalProperties\":false}";

struct gateway_tool { /* the tool of one lane */
    chela_gateway *gw;
    char *session, *file; /* owned */
};

static int gateway_tool_refuse(chela_call *call, const char *type, const char *why) {
    return chela_result_error(call, type, "%s", why);
}

static struct ch_sv action_of(const chela_call *call) {
    return ch_json_get_str(call->args, "action");
}

static struct ch_sv gateway_tool_key(const chela_call *call) {
    struct ch_sv key = ch_json_get_str(call->args, "key");
    return key.p ? key : ch_sv("", 0);
}

/* --- permission */

bool ch_gateway_tool_is_allowed(struct ch_chat_service *chat, const struct chela_inbound *in) {
    struct ch_channel *c = chat->channel;
    bool direct = in->chat_type && strcmp(in->chat_type, "direct") == 0;
    return direct && in->sender_id && ch_channel_is_owner(c, in->sender_id);
}

static bool is_permitted(const struct gateway_tool *t) {
    const struct ch_lane *l = ch_lane_find(t->gw, ch_sv_str(t->session));
    const struct ch_chat_service *chat = ch_chat_service_of_session(t->gw, t->session);
    const chela_run *run = l ? l->session->run : NULL;
    const struct ch_principal *by = run ? ch_run_origin_principal(run) : NULL;
    if (!by || !chat || !by->sender || !by->channel ||
        strcmp(by->channel, chat->channel->ops->name) != 0)
        return false;
    return ch_channel_is_owner(chat->channel, by->sender);
}

/* --- the diff of a change */

static int patch_text(const struct ch_config_place *at, struct ch_sv key,
                      const struct ch_json *value, struct ch_buf *before, struct ch_buf *after,
                      struct chela_error *err) {
    int rc = ch_file_load(at->file, CH_LIMIT_YAML_FILE, before, err);
    return rc < 0 ? rc : ch_config_patch(ch_buf_sv(before), at, key, value, after, err);
}

static void gateway_tool_show(chela_call *call, struct ch_buf *out) {
    const struct gateway_tool *t = call->tool->user;
    const struct ch_json *value = ch_json_get(call->args, "value");
    CH_BUF_AUTO before = {0}, after = {0};
    struct chela_error err = {0};
    if (!is_permitted(t)) {
        ch_buf_add_str(out, "not an owner");
        return;
    }
    if (!ch_sv_is(action_of(call), "patch") || !value)
        return;
    if (patch_text(&(struct ch_config_place){t->file, t->gw->rt->module_path},
                   gateway_tool_key(call), value, &before, &after, &err) == 0)
        ch_config_diff(out, t->file, ch_buf_sv(&before), ch_buf_sv(&after));
    else
        ch_buf_add_str(out, err.message);
}

/* --- jobs on the file, on a worker thread */

struct ch_config_job {
    struct ch_link link; /* in the service's config_jobs */
    struct ch_work work;
    struct ch_chat_service *chat; /* NULL: the service was closed */
    chela_call *call;             /* NULL: cancelled */
    char *file, *key;     /* owned */
    const char *module_path; /* module path of the runtime */
    struct ch_arena arena;
    const struct ch_json *value; /* in the arena; NULL: the job only reads */
    struct ch_buf text;          /* the result */
    struct chela_error err;
};

struct option_listing {
    struct ch_buf *out;
    const char *key;
};

static void list_option(const char *key, const char *value, int from_file, void *user) {
    const struct option_listing *l = user;
    if (strncmp(key, l->key, strlen(l->key)) == 0 && (from_file || *l->key))
        ch_buf_addf(l->out, "%s = %s%s\n", key, value, from_file ? "" : " (default)");
}

static void config_job_get(struct ch_config_job *c) {
    CH_BUF_AUTO all = {0};
    chela_config *cfg;
    struct option_listing l = {&all, c->key};
    struct chela_config_opts opts = CHELA_CONFIG_OPTS(.module_path = c->module_path);
    if (chela_config_open(c->file, &opts, &cfg, &c->err) < 0)
        return;
    chela_config_show(cfg, list_option, &l);
    chela_config_free(cfg);
    ch_redact_copy(&c->text, all.n ? ch_buf_sv(&all) : CH_SV("There is no such option, or it is "
                                                             "not set."));
}

static void config_job_patch(struct ch_config_job *c) {
    CH_BUF_AUTO before = {0}, after = {0};
    if (patch_text(&(struct ch_config_place){c->file, c->module_path}, ch_sv_str(c->key), c->value,
                   &before, &after, &c->err) < 0)
        return;
    if (ch_config_rewrite(c->file, ch_buf_sv(&before), ch_buf_sv(&after), &c->err) == 0)
        ch_buf_add_str(&c->text, "Written. The gateway is reloading it.");
}

static void config_job_run(struct ch_work *w) {
    struct ch_config_job *c = CH_CONTAINER(w, struct ch_config_job, work);
    if (c->value)
        config_job_patch(c);
    else
        config_job_get(c);
}

static void config_job_free(struct ch_work *w) {
    struct ch_config_job *c = CH_CONTAINER(w, struct ch_config_job, work);
    ch_list_del(&c->link);
    ch_buf_release(&c->text);
    ch_arena_release(&c->arena);
    ch_free(c->file);
    ch_free(c->key);
    ch_free(c);
}

static void config_job_done(struct ch_work *w) {
    struct ch_config_job *c = CH_CONTAINER(w, struct ch_config_job, work);
    if (c->chat && c->value && !c->err.code) {
        ch_log(CH_LOG_INFO, "gateway", "%s was changed in %s", c->key, c->file);
        c->chat->gw->patched = true;
        chela_gateway_interrupt(c->chat->gw);
    }
    if (c->call && c->err.code)
        chela_result_error(c->call, c->err.code == CHELA_EIO ? "unavailable" : "invalid_arguments",
                           "%s", c->err.message);
    else if (c->call)
        chela_result_text(c->call, c->text.p, c->text.n);
    if (c->call)
        chela_call_finish(c->call);
    config_job_free(w);
}

static void config_job_on_cancelled(chela_call *call, void *user) {
    struct ch_config_job *c = user;
    c->call = NULL;
    chela_result_error(call, "cancelled", "Cancelled. The change may have been made.");
    chela_call_finish(call);
}

static void config_job_start(chela_call *call, const struct gateway_tool *t,
                             const struct ch_json *value) {
    struct ch_config_job *c = ch_alloc(sizeof(*c));
    struct ch_sv key = gateway_tool_key(call);
    CH_BUF_AUTO text = {0};
    c->work = (struct ch_work){
        .run = config_job_run, .done = config_job_done, .dropped = config_job_free};
    c->chat = ch_chat_service_of_session(t->gw, t->session);
    c->call = call;
    c->file = ch_strdup(t->file);
    c->module_path = t->gw->rt->module_path;
    c->key = ch_strndup(key.p, key.n);
    if (value) { /* copied: the call belongs to the loop thread */
        struct ch_jw w = ch_jw(&text);
        ch_jw_value(&w, value);
        ch_json_parse(&c->arena, ch_arena_sv(&c->arena, ch_buf_sv(&text)), CH_JSON_STRICT,
                      &c->value, NULL, NULL);
    }
    ch_list_add(&c->chat->config_jobs, &c->link);
    chela_call_defer(call);
    chela_call_on_cancel(call, config_job_on_cancelled, c);
    ch_work_submit(t->gw->rt->workers, &c->work);
}

void ch_gateway_tool_release(struct ch_chat_service *chat) {
    for (struct ch_config_job *c;
         (c = CH_LIST_FIRST(&chat->config_jobs, struct ch_config_job, link));) {
        chela_call *call = CH_TAKE(c->call);
        ch_list_del(&c->link);
        c->chat = NULL;
        if (!call)
            continue;
        chela_call_on_cancel(call, NULL, NULL);
        chela_result_error(call, "unavailable", "The channel is being closed.");
        chela_call_finish(call);
    }
}

/* Is a change being written? The next one must start from its result. */
static bool is_patching(const chela_gateway *gw) {
    for (CH_LIST_EACH(k, &gw->chats)) {
        const struct ch_chat_service *chat = CH_CONTAINER(k, struct ch_chat_service, link);
        for (CH_LIST_EACH(m, &chat->config_jobs))
            if (CH_CONTAINER(m, struct ch_config_job, link)->value)
                return true;
    }
    return false;
}

/* --- the tool */

/* Refuses a call that cannot succeed before a person is asked. */
static int gateway_tool_check(chela_call *call, void *user) {
    const struct gateway_tool *t = user;
    const struct ch_json *value = ch_json_get(call->args, "value");
    bool patches = ch_sv_is(action_of(call), "patch");
    CH_BUF_AUTO before = {0}, after = {0};
    struct chela_error err = {0};
    if (!is_permitted(t))
        return gateway_tool_refuse(call, "permission_denied",
                                   "Only an owner of the channel may use this tool.");
    if (patches && !value)
        return gateway_tool_refuse(call, "invalid_arguments", "patch needs a key and a value");
    if (patches && patch_text(&(struct ch_config_place){t->file, t->gw->rt->module_path},
                              gateway_tool_key(call), value, &before, &after, &err) < 0)
        return gateway_tool_refuse(
            call, err.code == CHELA_EPERM ? "permission_denied" : "invalid_arguments", err.message);
    return 0;
}

static void gateway_tool_look_up(chela_call *call) {
    CH_BUF_AUTO out = {0};
    size_t n = ch_config_explain(gateway_tool_key(call), &out);
    if (n > CH_LIMIT_EXPLAINED)
        ch_buf_addf(&out, "and %zu more: give a longer key\n", n - CH_LIMIT_EXPLAINED);
    if (!n)
        ch_buf_add_str(&out, "No option's key begins like this.");
    chela_result_text(call, out.p, out.n);
}

static int gateway_tool_run(chela_call *call, void *user) {
    const struct gateway_tool *t = user;
    struct ch_sv action = action_of(call);
    if (ch_sv_is(action, "patch") && is_patching(t->gw))
        return gateway_tool_refuse(call, "unavailable",
                                   "Another change is being written; try again.");
    if (ch_sv_is(action, "lookup")) {
        gateway_tool_look_up(call);
    } else if (ch_sv_is(action, "reload")) {
        chela_result_printf(call, "The configuration is read again; if something is wrong with it, "
                                  "the last good one holds, and the log and /readyz say why.");
        chela_gateway_interrupt(t->gw);
    } else if (ch_sv_is(action, "restart")) {
        chela_result_printf(call, "It begins anew as soon as what is under way has ended: finish "
                                  "your answer.");
        t->gw->wants_restart = true;
        chela_gateway_interrupt(t->gw);
    } else {
        config_job_start(call, t,
                         ch_sv_is(action, "patch") ? ch_json_get(call->args, "value") : NULL);
    }
    return 0;
}

static bool gateway_tool_only_reads(const chela_call *call) {
    return ch_sv_is(action_of(call), "lookup") || ch_sv_is(action_of(call), "get");
}

static void gateway_tool_free(void *user) {
    struct gateway_tool *t = user;
    ch_free(t->session);
    ch_free(t->file);
    ch_free(t);
}

int ch_gateway_tool_add(chela_gateway *gw, chela_agent *agent, const char *key,
                        struct chela_error *err) {
    if (!agent->gateway_tool || ch_companion_of(agent) || !gw->config_file)
        return 0;
    struct gateway_tool *t = ch_alloc(sizeof(*t));
    *t = (struct gateway_tool){gw, ch_strdup(key), ch_strdup(gw->config_file)};
    struct chela_tool_opts o =
        CHELA_TOOL_OPTS(.name = NAME, .description = description, .schema = schema,
                        .fn = gateway_tool_run, .check = gateway_tool_check, .user = t,
                        .release = gateway_tool_free, .effect = CHELA_EFFECT_ONCE,
                        .permission = CHELA_PERM_ADMIN,
                        .flags = CHELA_TOOL_ON_LOOP | CHELA_TOOL_CONFIRM);
    int rc = ch_function_add(&agent->registry, &o, err);
    if (rc < 0) {
        gateway_tool_free(t);
        return rc;
    }
    struct ch_tool *made = ch_registry_find(&agent->registry, CH_SV(NAME));
    made->show = gateway_tool_show;
    made->only_looks = gateway_tool_only_reads;
    return 0;
}
