/* agent.c -- makes agents from options: model, prompt, tools, limits. */
#include "agent/api/agent.h"

#include "agent/api/features.h"
#include "agent/api/runtime.h"
#include "agent/context/compaction.h"
#include "agent/context/context.h"
#include "agent/context/tool_embedding.h"
#include "agent/feature/heartbeat/beat.h"
#include "agent/feature/mode/mode.h"
#include "agent/feature/mode/mode_settings.h"
#include "agent/feature/mode/role.h"
#include "agent/feature/skill/active_skills.h"
#include "agent/handle/guarded_files.h"
#include "agent/handle/lookup.h"
#include "agent/machine/server_tools.h"
#include "model/provider/target.h"
#include "agent/run/feature.h"
#include "agent/session/agent_parts.h"
#include "agent/session/input_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/choice.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/opts.h"
#include "io/loop_entry.h"
#include "prompt/skill_command.h"
#include "prompt/skill_tools.h"
#include "tool/builtin/builtin.h"
#include "tool/builtin/chat/message.h"
#include "tool/process/layer_mount.h"
#include "tool/process/program.h"
#include "tool/process/sandbox_options.h"
#include "tool/process/sandbox_policy.h"
#include "tool/registry/settings.h"
#include "tool/call/function.h"
#include "tool/call/command.h"
#include "json/writer.h"

/* Applies the default to 0. Negative (no limit) stays negative. */
static int64_t limit_or(int64_t given, int64_t otherwise) {
    return given == 0 ? otherwise : given;
}

static int overload_retries(const struct chela_request_opts *o) {
    if (o->overload_retries)
        return CH_MAX(o->overload_retries, 0);
    return o->max_retries < 0 ? 0 : CH_DEFAULT_OVERLOAD_RETRIES;
}

static struct ch_run_limits resolve_limits(const struct ch_agent_opts *o) {
    return (struct ch_run_limits){
        .max_turns = limit_or(o->limits.max_turns, CH_DEFAULT_MAX_TURNS),
        .max_tool_calls = limit_or(o->limits.max_tool_calls, CH_DEFAULT_MAX_TOOL_CALLS),
        .max_errors = limit_or(o->limits.max_consecutive_errors, CH_DEFAULT_MAX_ERRORS),
        .token_budget = limit_or(o->limits.token_budget, -1),
        .cost_budget = o->limits.cost_budget_usd > 0 ? o->limits.cost_budget_usd : -1,
        .retries = o->request.max_retries < 0 ? 0
                   : o->request.max_retries   ? o->request.max_retries
                                      : CH_DEFAULT_RETRIES,
        .overload_retries = overload_retries(&o->request),
        .sums_up = o->limits.sum_up >= 0 && !o->output_schema,
    };
}

/* A cassette has a name in place of the workspace's path, which differs between machines. */
static void name_workspace(chela_agent *a) {
    CH_BUF_AUTO word = {0};
    if (a->rt->workspaces++ == 0)
        ch_buf_add_str(&word, "${workspace}");
    else
        ch_buf_addf(&word, "${workspace:%u}", a->rt->workspaces);
    ch_cassette_hide(a->rt->cassette, a->workspace, ch_buf_str(&word));
}

static int resolve_workspace(chela_agent *a, const char *dir, struct chela_error *err) {
    char *path = realpath(dir ? dir : ".", NULL);
    if (!path)
        return ch_fail(err, CHELA_ENOENT, "workspace '%s': %s", dir ? dir : ".", strerror(errno));
    a->workspace = ch_strdup(path);
    free(path);
    if (a->rt->cassette)
        name_workspace(a);
    if (access(a->workspace, X_OK) < 0)
        return ch_fail(err, CHELA_EPERM, "workspace '%s': %s", a->workspace, strerror(errno));
    return 0;
}

static int add_target(chela_agent *a, const char *spec, const struct ch_target_opts *opts,
                      struct chela_error *err) {
    struct ch_target *t;
    int rc = ch_target_new(&a->rt->providers, spec, opts, &t, err);
    if (rc < 0)
        return rc;
    a->targets = ch_realloc(a->targets, (a->ntargets + 1) * sizeof(struct ch_target *));
    a->targets[a->ntargets++] = t;
    return 0;
}

/* Address and key of the options apply to the first model only, not to fallbacks. */
static int add_fallbacks(chela_agent *a, const char *const *specs, struct chela_error *err) {
    for (; specs && *specs; specs++) {
        if (a->ntargets == CH_LIMIT_MODELS)
            return ch_fail(err, CHELA_ELIMIT, "agent %s: more than %d models", a->id,
                           CH_LIMIT_MODELS);
        int rc = add_target(a, *specs, NULL, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* A glob may match none. */
static bool names_builtin(struct ch_sv word) {
    const struct chela_tool_opts *t = ch_builtin_tools;
    while (t->name && !ch_policy_listed(word, ch_sv_str(t->name)))
        t++;
    return t->name || !word.n || memchr(word.p, '*', word.n) || memchr(word.p, '?', word.n);
}

static int agent_add_tools(chela_agent *a, const struct ch_agent_opts *o, struct chela_error *err) {
    struct ch_settings_opts settings = {.list = o->toolset.settings,
                                        .env = a->rt->providers.env,
                                        .user = a->rt->user,
                                        .transport = ch_http_transport(a->rt->http),
                                        .recall = &a->rt->recall,
                                        .embedder = a->embedding ? &a->embedding->embedder : NULL,
                                        .module_path = a->rt->module_path,
                                        .ca_file = a->rt->ca_file};
    int rc = ch_settings_new(&settings, &a->settings, err);
    if (rc < 0 || !o->tools)
        return rc;
    for (struct ch_sv rest = ch_sv_str(o->tools), word; rest.n;) {
        word = ch_sv_trim(ch_sv_split(&rest, ','));
        if (!names_builtin(word))
            return ch_fail(err, CHELA_EINVAL, "agent %s: there is no built-in tool '%.*s'", a->id,
                           CH_SV_FMT(word));
    }
    return ch_builtin_add_with(&a->registry, a->settings, o->tools, NULL, err);
}

/* Warns about a tool that is both allowed by name and denied. */
static void note_contradictions(const chela_agent *a, const char *allow) {
    struct ch_sv rest = ch_sv_str(allow);
    while (a->policy.deny && rest.n) {
        struct ch_sv word = ch_sv_trim(ch_sv_split(&rest, ','));
        if (word.n && ch_policy_contradicts(word, ch_sv_str(a->policy.deny)))
            ch_log(CH_LOG_WARN, "policy", "agent %s: %.*s is both allowed and denied: denied",
                   a->id, CH_SV_FMT(word));
    }
}

static void load_skills(chela_agent *a, const char *allow) {
    struct ch_skills_opts opts = {.workspace = a->workspace,
                                  .user_roots = (const char *const *)a->rt->skills,
                                  .allow = allow,
                                  .path = ch_providers_env(&a->rt->providers, "PATH"),
                                  .env = a->rt->providers.env,
                                  .user = a->rt->user};
    ch_skills_load(&a->skills, &opts);
    a->skills.trusted = ch_runtime_trusts_skills(a->rt, a->workspace, &a->skills);
    if (a->skills.untold)
        ch_log(CH_LOG_WARN, "prompt",
               "%zu skills are not described to the model: there is room for %zu KB of "
               "descriptions; 'chela skills list' shows which, skills.allow chooses others",
               a->skills.untold, (size_t)CH_LIMIT_SKILLS_PROMPT / CH_KB);
    if (a->skills.cut)
        ch_log(CH_LOG_WARN, "prompt",
               "there are more than %d skills, or more than %d folders in one: the others are "
               "not looked at",
               CH_LIMIT_SKILLS, CH_LIMIT_SKILL_ENTRIES);
}

/* The list without the words that mean built-in tools which tools of the user replace, once each:
 * a second word of the same name denies the user's tool. */
static void add_denied(const chela_agent *a, const char *deny, struct ch_buf *out) {
    struct ch_sv rest = ch_sv_str(deny);
    CH_BUF_AUTO dropped = {0};
    while (rest.n) {
        struct ch_sv word = ch_sv_trim(ch_sv_split(&rest, ','));
        const struct ch_tool *t = ch_registry_find(&a->registry, word);
        if (t && t->flags & CH_TOOL_REPLACES && !ch_policy_listed(ch_buf_sv(&dropped), word))
            ch_buf_addf(&dropped, "%.*s,", CH_SV_FMT(word));
        else if (word.n)
            ch_buf_addf(out, "%s%.*s", out->n ? "," : "", CH_SV_FMT(word));
    }
}

void ch_agent_free_names(chela_agent *a) {
    CH_BUF_AUTO deny = {0};
    add_denied(a, a->policy.deny ? a->policy.deny : "", &deny);
    ch_free(a->policy.deny);
    a->policy.deny = deny.n ? ch_buf_take(&deny) : NULL;
}

int chela_agent_policy(chela_agent *a, const char *allow, const char *deny,
                       enum chela_permission permission, struct chela_error *err) {
    CH_ENTER(a, a->rt->loop, err);
    CH_LOG_SCOPE(a->rt->sink);
    struct ch_policy policy;
    CH_BUF_AUTO denied = {0};
    add_denied(a, deny ? deny : "", &denied);
    int rc = ch_policy_init(&policy, allow, denied.n ? ch_buf_str(&denied) : NULL, permission, err);
    if (rc < 0)
        return rc;
    ch_policy_release(&a->policy);
    a->policy = policy;
    a->policy.absent = ch_channel_tool(&a->registry); /* only sessions with a channel offer it */
    a->registry.revision++; /* requests have to describe the tools again */
    note_contradictions(a, allow);
    return 0;
}

static int set_approvals(chela_agent *a, const struct ch_agent_opts *o,
                         struct chela_error *err) {
    int rc = ch_consent_read(o->approve, &a->ask_means, err);
    if (rc == 0)
        rc = ch_approvals_new(o->approvals.tools, o->approvals.calls, &a->approvals, err);
    return rc;
}

/* A machine that cannot keep changes for review is told now, not by the first run. */
static int set_apply(chela_agent *a, const struct ch_agent_opts *o, struct chela_error *err) {
    struct chela_error why = {0};
    const char *home = ch_layer_home(&a->arena);

    a->apply = o->apply;
    ch_layers_recover();
    if (home) /* no tool decides what becomes real */
        ch_sandbox_add_hide(&a->arena, a->sandbox, home);
    int rc = ch_choice_check(CHELA_CHOICE_APPLY, o->apply, err);
    if (rc < 0 || o->apply == CHELA_APPLY_EACH ||
        ch_layer_mount_trial(a->workspace, a->sandbox, &why) == 0)
        return rc;
    return ch_fail(err, CHELA_ECONFIG, "apply %s: %.400s",
                   chela_choice_name(CHELA_CHOICE_APPLY, o->apply), why.message);
}

static void set_sampling(chela_agent *a, const struct ch_agent_opts *o) {
    a->has_temperature = o->temperature != NULL;
    a->temperature = o->temperature ? *o->temperature : 0;
    a->has_top_p = o->request.top_p != NULL;
    a->top_p = o->request.top_p ? *o->request.top_p : 0;
    a->top_k = o->request.top_k;
    a->logprobs = o->request.logprobs;
    a->has_seed = o->request.seed != NULL;
    a->seed = o->request.seed ? *o->request.seed : 0;
    size_t n = 0;
    while (o->request.stop && o->request.stop[n])
        n++;
    a->stop = n ? ch_alloc(n * sizeof(*a->stop)) : NULL;
    for (; a->nstop < n; a->nstop++)
        a->stop[a->nstop] = ch_sv_str(ch_strdup(o->request.stop[a->nstop]));
}

static int set_compaction(chela_agent *a, const struct ch_agent_opts *o,
                          struct chela_error *err) {
    int rc = ch_compaction_mode_read(o->compaction.mode, &a->compact_mode, err);
    if (rc == 0)
        rc = ch_choice_check(CHELA_CHOICE_COMPACTION_BY, o->compaction.by, err);
    a->history_turns = CH_MAX(o->compaction.history_turns, 0);
    a->service_compacts = o->compaction.by == CHELA_COMPACTION_BY_SERVICE;
    if (ch_companion_of(a) && !o->compaction.mode) /* it never sees old messages */
        a->compact_mode = CH_COMPACTION_RETAIN;
    if (rc == 0 && o->compaction.model)
        rc = ch_target_new(&a->rt->providers, o->compaction.model, NULL, &a->summariser, err);
    a->limits.compacts = a->compact_mode != CH_COMPACTION_OFF;
    return rc;
}

static const char *keep_text(chela_agent *a, const char *text) {
    return text && *text ? ch_arena_str(&a->arena, ch_sv_str(text)) : NULL;
}

static bool reflects(const chela_agent *a) {
    const struct ch_reflecting *r = &ch_mode_settings(a)->reflection;
    return r->answers || r->errors || r->tools;
}

static int find_mode(enum chela_mode choice, const struct ch_feature **out,
                     struct chela_error *err) {
    int rc = ch_choice_check(CHELA_CHOICE_MODE, choice, err);
    *out = NULL;
    return rc < 0 || choice == CHELA_MODE_DEFAULT
               ? rc
               : ch_features_find_mode(chela_mode_name(choice), out, err);
}

/* The mode of the options. A fixed plan is carried out in mode plan. */
static int choose_mode(const chela_agent *a, const struct ch_agent_opts *o,
                       const struct ch_feature **out, struct chela_error *err) {
    bool fixed = o->planning.plan && *o->planning.plan;
    if (fixed && o->mode != CHELA_MODE_DEFAULT && o->mode != CHELA_MODE_PLAN)
        return ch_fail(err, CHELA_EINVAL, "agent %s: a fixed plan (plan) needs the mode plan",
                       a->id);
    return find_mode(fixed ? CHELA_MODE_PLAN : o->mode, out, err);
}

/* Copies the options that need no check. */
static void agent_copy_opts(chela_agent *a, const struct ch_agent_opts *o) {
    a->id = ch_strdup(o->id ? o->id : "main");
    a->tool_choice = ch_strdup(o->tool_choice);
    a->reasoning = o->reasoning;
    a->max_output_tokens = o->max_output_tokens;
    set_sampling(a, o);
    a->cache = (enum ch_cache)o->request.cache;
    a->strict = o->request.strict;
    a->parallel = o->toolset.parallel;
    a->no_stream = o->request.no_stream;
    a->timeouts = (struct ch_http_timeouts){.connect = o->request.connect_timeout_ms,
                                            .first_byte = o->request.first_byte_timeout_ms,
                                            .idle = o->request.idle_timeout_ms};
    a->limits = resolve_limits(o);
    a->loop_guard = o->loop_guard;
    a->queue = o->queue;
    a->description = keep_text(a, o->description);
    a->send_to = keep_text(a, o->gateway.send_to);
    a->chat_actions = o->gateway.chat_actions;
    a->gateway_tool = o->gateway.gateway_tool;
    a->max_depth = CH_MIN(o->team.max_depth ? o->team.max_depth : CH_DEFAULT_DELEGATE_DEPTH,
                          CH_LIMIT_DELEGATE_DEPTH);
    a->max_children =
        CH_MIN(o->team.max_children ? o->team.max_children : CH_DEFAULT_DELEGATE_CHILDREN,
               CH_LIMIT_DELEGATE_CHILDREN);
    a->timeout_ms = limit_or(o->limits.timeout_ms, CH_DEFAULT_RUN_MS);
    a->selection_size = o->toolset.selection_size;
}

static int agent_read_choices(chela_agent *a, const struct ch_agent_opts *o,
                              const struct ch_feature **mode, struct chela_error *err) {
    int rc = ch_choice_check(CHELA_CHOICE_REASONING, o->reasoning, err);
    if (rc == 0)
        rc = ch_choice_check(CHELA_CHOICE_CACHE, o->request.cache, err);
    if (rc == 0)
        rc = choose_mode(a, o, mode, err);
    if (rc == 0)
        rc = ch_mode_settings_read(a, o, err);
    if (rc == 0)
        rc = ch_select_mode_read(o->toolset.selection, &a->selection, err);
    return rc;
}

static int agent_add_models(chela_agent *a, const struct ch_agent_opts *o,
                            struct chela_error *err) {
    struct ch_target_opts first = {
        .base_url = o->base_url, .api_key = o->api_key, .api_key_env = o->api_key_env};
    const char *model = o->model ? o->model : chela_default_model(a->rt, NULL);
    int rc = add_target(a, model, &first, err);
    if (rc == 0)
        rc = add_fallbacks(a, o->fallbacks, err);
    a->limits.models = (unsigned)a->ntargets;
    if (rc == 0 && o->toolset.embedding)
        rc = ch_tool_embedding_new(a->rt, o->toolset.embedding, &a->embedding, err);
    return rc;
}

static int agent_add_features(chela_agent *a, const struct ch_agent_opts *o,
                              const struct ch_feature *mode, struct chela_error *err) {
    int rc = mode ? ch_feature_attach(a, mode, o, err) : 0;
    if (rc == 0 && reflects(a))
        rc = ch_feature_attach(a, &ch_reflect_feature, o, err);
    if (rc == 0)
        rc = ch_context_configure(a, o, err);
    if (rc < 0)
        return rc;
    load_skills(a, o->prompt.skills);
    return ch_skills_want_tools(&a->skills)
               ? ch_feature_attach(a, &ch_active_skills_feature, o, err)
               : 0;
}

/* Sets the policy, the approvals and the sandbox. */
static int set_permissions(chela_agent *a, const struct ch_agent_opts *o, struct chela_error *err) {
    int rc = chela_agent_policy(a, o->allow, o->deny, o->permission, err);
    if (rc == 0)
        rc = ch_policies_new(o->approvals.policies, &a->policies, err);
    if (rc == 0)
        rc = set_approvals(a, o, err);
    if (rc == 0)
        rc = ch_sandbox_read(&a->arena, o->sandbox, &a->sandbox, err);
    if (rc < 0)
        return rc;
    a->sandbox->egress = a->settings->egress;
    ch_agent_hide_files(a);
    for (char **dir = a->rt->skills; dir && *dir; dir++)
        ch_sandbox_add_shared(&a->arena, a->sandbox, *dir);
    return 0;
}

/* A model of a role that cannot be used is found now, not by the run that asks the role. Its key
 * may be missing, because the role may never be asked. */
static int check_roles(chela_agent *a, struct chela_error *err) {
    static const struct ch_target_opts quiet = {.taped = true};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < CH_ROLES; i++) {
        const char *model = ch_mode_settings(a)->models[i];
        struct chela_error why = {0};
        struct ch_target *t = NULL;
        if (!model || (rc = ch_target_new(&a->rt->providers, model, &quiet, &t, &why)) == 0)
            ch_target_free(t);
        else
            rc = rc == CHELA_EAUTH ? 0 : ch_fail(err, rc, "%s", why.message);
    }
    return rc;
}

static int agent_configure(chela_agent *a, const struct ch_agent_opts *o, struct chela_error *err) {
    const struct ch_feature *mode = NULL;
    agent_copy_opts(a, o);
    int rc = agent_read_choices(a, o, &mode, err);
    if (rc == 0)
        rc = resolve_workspace(a, o->workspace, err);
    if (rc == 0)
        rc = agent_add_models(a, o, err);
    if (rc == 0)
        rc = agent_add_tools(a, o, err);
    if (rc == 0)
        rc = agent_add_features(a, o, mode, err);
    if (rc == 0)
        rc = set_permissions(a, o, err);
    if (rc == 0)
        rc = set_apply(a, o, err);
    if (rc == 0)
        rc = ch_server_tools_read(&a->arena, o->request.server_tools, &a->server_tools, err);
    if (rc == 0)
        rc = ch_agent_output(a, o->output_schema, o->request.output_by, err);
    if (rc == 0)
        rc = ch_input_queue_opts(&a->queue, err);
    if (rc == 0)
        rc = set_compaction(a, o, err);
    return rc < 0 ? rc : check_roles(a, err);
}

int chela_agent_new(chela_runtime *rt, const struct chela_agent_opts *given, chela_agent **out,
                    struct chela_error *err) {
    CH_NEEDS_ARG(out, err);
    *out = NULL;
    if (!rt && err && err->code < 0) /* err states why the runtime could not be made */
        return err->code;
    CH_ENTER(rt, rt->loop, err);
    struct ch_agent_opts opts;
    int rc = ch_agent_opts_read(given, &opts, err);
    return rc < 0 ? rc : ch_agent_open(rt, &opts, out, err);
}

int ch_agent_open(chela_runtime *rt, const struct ch_agent_opts *opts, chela_agent **out,
                  struct chela_error *err) {
    CH_LOG_SCOPE(rt->sink);
    chela_agent *a = ch_alloc(sizeof(*a));
    a->rt = rt;
    ch_list_init(&a->sessions);
    ch_list_init(&a->extensions);
    ch_list_add(&rt->agents, &a->link);
    int rc = agent_configure(a, opts, err);
    if (rc < 0) {
        ch_agent_close(a);
        return rc;
    }
    *out = a;
    return 0;
}

/* --- the end of an agent */

/* True: the agent has an override that is not an agent of a role. */
static bool is_base(const chela_agent *a) {
    for (CH_LIST_EACH(i, &a->rt->agents)) {
        const chela_agent *other = CH_CONTAINER(i, chela_agent, link);
        if (other->base == a && !ch_role_is_agent(other))
            return true;
    }
    return false;
}

static chela_agent *find_unused(chela_runtime *rt) {
    for (CH_LIST_EACH(i, &rt->agents)) {
        chela_agent *a = CH_CONTAINER(i, chela_agent, link);
        if (a->closed && !a->holds && ch_list_empty(&a->sessions) && !is_base(a))
            return a;
    }
    return NULL;
}

void ch_agents_close_unused(chela_runtime *rt) {
    for (chela_agent *a; rt->closed_agents && (a = find_unused(rt));)
        ch_agent_close(a);
}

void ch_agent_hold(chela_agent *a) {
    a->holds++;
}

void ch_agent_release(chela_agent *a) {
    a->holds--;
    if (a->closed)
        ch_runtime_free_soon(a->rt);
}

void chela_agent_close(chela_agent *a) {
    CH_ENTER_OR(a, a->rt->loop, NULL, );
    if (!a || a->closed)
        return;
    a->closed = true;
    a->rt->closed_agents++;
    chela_session_close(a->own);
    ch_runtime_free_soon(a->rt);
}

int chela_agent_hooks(chela_agent *a, const struct chela_hooks *given, struct chela_error *err) {
    CH_ENTER(a, a->rt->loop, err);
    struct chela_hooks hooks;
    int rc = CH_OPTS_NEED(chela_hooks, &hooks, given, err);
    if (rc < 0)
        return rc;
    a->hooks = ch_realloc(a->hooks, (a->nhooks + 1) * sizeof(hooks));
    a->hooks[a->nhooks++] = hooks;
    return 0;
}

/* --- tools */

/* A tool of the program refuses parameters that its schema does not name, unless the schema permits
 * others. */
static int add_function(chela_agent *a, struct chela_tool_opts *opts, struct chela_error *err) {
    if (opts->fn && !(opts->flags & (CHELA_TOOL_FORGIVING | CHELA_TOOL_CLIENT)))
        opts->flags |= CH_TOOL_CLOSED;
    int rc = ch_function_add(&a->registry, opts, err);
    if (rc == 0) {
        struct ch_tool *t = ch_registry_find(&a->registry, ch_sv_str(opts->name));
        t->flow = ch_tool_flow_of(t->flags);
    }
    return rc;
}

int chela_agent_add_tool(chela_agent *a, const struct chela_tool_opts *given,
                         struct chela_error *err) {
    CH_ENTER(a, a->rt->loop, err);
    struct chela_tool_opts opts;
    int rc = CH_OPTS_NEED(chela_tool_opts, &opts, given, err);
    if (rc < 0)
        return rc;
    if (opts.flags & CHELA_TOOL_RISKY)
        return ch_fail(err, CHELA_EINVAL,
                       "tool %s: a risky tool must run in the sandbox, which a C function cannot: "
                       "make it a program (chela_agent_add_command), or require consent "
                       "(CHELA_TOOL_CONFIRM)",
                       opts.name ? opts.name : "?");
    return add_function(a, &opts, err);
}

int chela_agent_tool(chela_agent *a, const char *name, const char *description, const char *schema,
                     chela_tool_fn *fn, void *user) {
    CH_ENTER(a, a->rt->loop, NULL);
    struct chela_tool_opts opts = CHELA_TOOL_OPTS(.name = name, .description = description,
                                                  .schema = schema, .fn = fn, .user = user);
    if (!a)
        return CHELA_EINVAL;
    struct chela_error err = {0};
    int rc = add_function(a, &opts, &err);
    if (rc < 0) {
        a->failed = err;
        a->untold = true;
    }
    return rc;
}

const struct chela_error *chela_agent_last_error(const chela_agent *a) {
    CH_ENTER_OR(a, a->rt->loop, NULL, NULL);
    return &a->failed;
}

int chela_agent_remove_tool(chela_agent *a, const char *name, struct chela_error *err) {
    CH_ENTER(a, a->rt->loop, err);
    int rc = ch_registry_remove(&a->registry, name);
    a->policy.absent = ch_channel_tool(&a->registry);
    return rc < 0 ? ch_fail(err, rc, "agent %s has no tool '%s'", a->id, name) : 0;
}

int ch_agent_add_command(chela_agent *a, const struct chela_command_opts *given,
                         const struct ch_pins *pins, const struct ch_command_check *check,
                         struct chela_error *err) {
    struct chela_command_opts own;
    struct ch_command_opts opts = {0};
    int rc = CH_OPTS_NEED(chela_command_opts, &own, given, err);
    if (rc == 0)
        rc = CH_OPTS_NEED(chela_tool_opts, &opts.tool, own.tool, err);
    if (rc == 0 && (!own.argv || !own.argv[0] || !own.argv[0][0]))
        rc = ch_fail(err, CHELA_EINVAL, "tool %s: there is no program to run",
                     opts.tool.name ? opts.tool.name : "?");
    opts.argv = own.argv;
    opts.cwd = own.cwd;
    opts.pins = pins;
    if (check)
        opts.check = *check;
    if (rc == 0)
        rc = ch_command_add(&a->registry, &opts, err);
    if (rc == 0)
        ch_agent_guard_program(a, opts.argv, opts.cwd);
    if (rc == 0 && opts.check.argv)
        ch_agent_guard_program(a, opts.check.argv, opts.cwd);
    return rc;
}

int chela_agent_add_command(chela_agent *a, const struct chela_command_opts *given,
                            struct chela_error *err) {
    CH_ENTER(a, a->rt->loop, err);
    return ch_agent_add_command(a, given, NULL, NULL, err);
}

static char *agent_write_tools(const chela_agent *a, const struct ch_policy *policy) {
    static const char *const effects[] = {"once", "keyed", "read"};
    static const char *const permissions[] = {"admin", "write", "read"};
    struct ch_buf out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '[');
    for (size_t i = 0; i < a->registry.n; i++) {
        const struct ch_tool *t = a->registry.tools[i];
        if (!ch_policy_allows(policy, ch_sv_str(t->name), t->permission))
            continue;
        ch_jw_begin(&w, '{');
        ch_jw_kcstr(&w, "name", t->name);
        ch_jw_kstr(&w, "summary", ch_tool_summary(t));
        ch_jw_kcstr(&w, "description", t->description);
        ch_jw_kcstr(&w, "effect", effects[t->effect]);
        ch_jw_kcstr(&w, "permission", permissions[t->permission]);
        ch_jw_kraw(&w, "schema", ch_sv_str(t->schema));
        ch_jw_end(&w, '}');
    }
    ch_jw_end(&w, ']');
    return ch_buf_take(&out);
}

char *chela_agent_tools_json(const chela_agent *a) {
    CH_ENTER_OR(a, a->rt->loop, NULL, NULL);
    return agent_write_tools(a, &a->policy);
}

char *chela_agent_tools_for_json(const chela_agent *a, const char *channel, const char *sender) {
    CH_ENTER_OR(a, a->rt->loop, NULL, NULL);
    struct ch_policy p = {.permission = CHELA_PERM_ADMIN,
                          .absent = channel ? NULL : a->policy.absent};
    CH_AUTOFREE struct ch_policy *bounds CH_UNUSED =
        ch_policies_bound(a->policies, (struct ch_who){channel, sender}, &a->policy, &p.within);
    return agent_write_tools(a, &p);
}

char *chela_agent_policies_json(const chela_agent *a, const char *channel, const char *sender) {
    CH_ENTER_OR(a, a->rt->loop, NULL, NULL);
    struct ch_who who = {channel, sender};
    struct ch_buf out = {0};
    struct ch_jw w = ch_jw(&out);
    size_t at = 0;
    ch_jw_begin(&w, '{');
    ch_jw_kbegin(&w, "policies", '[');
    for (const char *id; (id = ch_policies_each(a->policies, who, &at));)
        ch_jw_cstr(&w, id);
    ch_jw_end(&w, ']');
    ch_jw_kcstr(&w, "approve",
                ch_consent_name(ch_policies_consent(a->policies, who, a->ask_means)));
    ch_jw_end(&w, '}');
    return ch_buf_take(&out);
}

char *chela_agent_rules_json(const chela_agent *a) {
    CH_ENTER_OR(a, a->rt->loop, NULL, NULL);
    CH_ARENA_AUTO arena = {0};
    struct ch_buf out = {0};
    struct ch_jw w = ch_jw(&out);
    char *env[CH_PROGRAM_ENV + 1];
    ch_program_env(env);
    ch_approvals_explain(a->approvals, env[0] + strlen("PATH="),
                         ch_sandbox_lacks(&arena, a->sandbox), &w);
    ch_program_env_free(env);
    return ch_buf_take(&out);
}

int64_t chela_agent_context_window(const chela_agent *a) {
    CH_ENTER_OR(a, a->rt->loop, NULL, 0);
    return ch_target_window(a->targets[0]);
}

static void write_skill_tools(struct ch_jw *w, const chela_agent *a, const struct ch_skill *s) {
    CH_BUF_AUTO unknown = {0};
    ch_jw_kbegin(w, "allowed_tools", '[');
    for (const char *const *tool = s->head.tools; *tool; tool++)
        ch_jw_cstr(w, *tool);
    ch_jw_end(w, ']');
    ch_skill_tools_grant(s, &a->registry, NULL, &unknown);
    ch_jw_kbool(w, "tools_trusted", s->head.tools[0] && a->skills.trusted);
    ch_jw_kcstr(w, "unknown_tools", unknown.n ? ch_buf_str(&unknown) : NULL);
}

char *chela_agent_skills_json(const chela_agent *a) {
    CH_ENTER_OR(a, a->rt->loop, NULL, NULL);
    struct ch_buf out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '[');
    for (size_t i = 0; i < a->skills.n; i++) {
        const struct ch_skill *s = &a->skills.list[i];
        ch_jw_begin(&w, '{');
        ch_jw_kcstr(&w, "name", s->head.name);
        ch_jw_kcstr(&w, "description", s->head.description);
        ch_jw_kcstr(&w, "version", s->head.version);
        ch_jw_kcstr(&w, "location", s->location);
        ch_jw_kcstr(&w, "file", s->file);
        ch_jw_kbool(&w, "used", s->allowed && !s->problem);
        ch_jw_kbool(&w, "told", s->told);
        ch_jw_kbool(&w, "command", ch_command_is_file(s->file));
        ch_jw_kbool(&w, "user_invocable", s->head.for_users);
        ch_jw_kcstr(&w, "problem",
                    s->problem || s->allowed ? s->problem : "not in the agent's list of skills");
        ch_jw_kcstr(&w, "warning", s->head.warning);
        write_skill_tools(&w, a, s);
        ch_jw_end(&w, '}');
    }
    ch_jw_end(&w, ']');
    return ch_buf_take(&out);
}

/* --- one call by hand: a batch of one, waited for */

struct single_call {
    struct ch_buf out;
    bool over;
};

static void write_single(const struct ch_block *call, const struct ch_result *r, void *user) {
    (void)call;
    struct single_call *one = user;
    struct ch_jw w = ch_jw(&one->out);
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "id", r->id);
    ch_result_write(r, &w);
    ch_jw_end(&w, '}');
}

static void single_over(size_t waiting, void *user) {
    (void)waiting;
    ((struct single_call *)user)->over = true;
}

static bool is_object(const char *json) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    return ch_json_parse(&arena, ch_sv_str(json), CH_JSON_STRICT, &v, NULL, NULL) == 0 &&
           v->type == CH_JSON_OBJECT;
}

int chela_agent_memo(chela_agent *a, const char *json, struct chela_error *err) {
    CH_ENTER(a, a->rt->loop, err);
    if (json && strlen(json) > CH_LIMIT_MEMO)
        return ch_fail(err, CHELA_ELIMIT, "the memo has more than %d bytes", (int)CH_LIMIT_MEMO);
    if (json && !is_object(json))
        return ch_fail(err, CHELA_EINVAL, "the memo is not a JSON object");
    ch_free(a->memo);
    a->memo = json ? ch_strdup(json) : NULL;
    return 0;
}

/* The host makes the call, and names the address. */
static bool single_said(struct ch_sv url, void *user) {
    (void)url, (void)user;
    return true;
}

char *chela_agent_call_tool(chela_agent *a, const char *name, const char *arguments,
                            struct chela_error *err) {
    CH_ENTER_OR(a, a->rt->loop, err, NULL);
    static const struct ch_batch_ops ops = {
        .finished = write_single, .said = single_said, .over = single_over};
    if (ch_loop_may_run(a->rt->loop, err) < 0)
        return NULL;
    const char *args = arguments && *arguments ? arguments : "{}";
    struct ch_block call = {.type = CH_BLOCK_TOOL_CALL,
                            .flags = is_object(args) ? 0 : CH_F_INVALID,
                            .id = CH_SV("call_1"),
                            .name = ch_sv_str(name),
                            .text = ch_sv_str(args)};
    struct ch_msg *reply = ch_msg_new(CH_MSG_ASSISTANT, &call, 1, 0);
    struct single_call one = {0};
    struct ch_batch_opts opts = {.loop = a->rt->loop,
                                 .workers = a->rt->workers,
                                 .registry = &a->registry,
                                 .workspace = a->workspace,
                                 .session = "cli",
                                 .run = "call",
                                 .max_calls = 1,
                                 .policy = &a->policy,
                                 .approvals = a->approvals, /* a host that calls the tool itself
                                                               has consented */
                                 .sandbox = a->sandbox,
                                 .egress = a->settings->egress,
                                 .ops = &ops,
                                 .user = &one};
    ch_agent_hold(a);
    struct ch_batch *b = ch_batch_start(reply, &opts);
    int rc = ch_loop_run(a->rt->loop, &one.over);
    ch_batch_close(b);
    ch_msg_free(reply);
    ch_agent_release(a);
    if (rc == 0 && one.out.n)
        return ch_buf_take(&one.out);
    ch_buf_release(&one.out);
    ch_fail(err, rc < 0 ? rc : CHELA_ESTATE, "tool %s is run by the host, not here", name);
    return NULL;
}
