/* mcp_api.c -- the public functions of chela/mcp.h. */
#include <ctype.h>
#include <sys/stat.h>

#include "agent/handle/agent.h"
#include "base/choice.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/opts.h"
#include "egress/egress.h"
#include "io/loop_entry.h"
#include "mcp/mcp_auth.h"
#include "mcp/mcp_client.h"
#include "mcp/mcp_sampling.h"
#include "mcp/mcp_server_connection.h"
#include "mcp/mcp_tools.h"
#include "net/url.h"
#include "tool/process/sandbox_options.h"

#define NAME_MAX_BYTES 32

static const char mcp_kind; /* its address identifies extensions that are clients */

static chela_mcp *mcp_of(struct ch_extension *a) {
    return CH_CONTAINER(a, chela_mcp, extension);
}

/* --- making a client */

static bool is_server_name(const char *name) {
    size_t n = name ? strlen(name) : 0;

    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)name[i]) && name[i] != '_' && name[i] != '-')
            return false;
    return n > 0 && n <= NAME_MAX_BYTES && !strstr(name, "__");
}

static int check_opts(const struct chela_mcp_opts *o, struct chela_error *err) {
    struct ch_url url;

    if (!is_server_name(o->name))
        return ch_fail(err, CHELA_EINVAL, "the name of an MCP server has 1 to %d characters of "
                       "a-z A-Z 0-9 _ - and no \"__\"", NAME_MAX_BYTES);
    bool program = o->command && o->command[0];
    if (program == !!o->url)
        return ch_fail(err, CHELA_EINVAL, "MCP server %s: either a command or a URL is needed",
                       o->name);
    if (o->url && ch_url_parse(ch_sv_str(o->url), &url, err) < 0)
        return CHELA_EINVAL;
    if (o->url && url.userinfo.p)
        return ch_fail(err, CHELA_EINVAL, "MCP server %s: the URL holds a password; use headers",
                       o->name);
    if (o->log_level && ch_mcp_level_read(ch_sv_str(o->log_level)) < 0)
        return ch_fail(err, CHELA_EINVAL, "MCP server %s: log_level is not a level", o->name);
    for (size_t i = 0; o->roots && o->roots[i]; i++)
        if (o->roots[i][0] != '/')
            return ch_fail(err, CHELA_EINVAL, "MCP server %s: a root is not an absolute path",
                           o->name);
    if ((program && !o->state_dir) || (o->state_dir && o->state_dir[0] != '/'))
        return ch_fail(err, CHELA_EINVAL, "MCP server %s: state_dir is not an absolute path",
                       o->name);
    int rc = ch_choice_check(CHELA_CHOICE_MCP_ERA, o->era, err);
    if (rc == 0)
        rc = ch_choice_check(CHELA_CHOICE_EFFECT, o->effect, err);
    return rc < 0 ? rc : ch_choice_check(CHELA_CHOICE_PERMISSION, o->permission, err);
}

static const char *copy_text(struct ch_arena *a, const char *text) {
    return text ? ch_arena_str(a, ch_sv_str(text)) : NULL;
}

static void copy_opts(chela_mcp *m, const struct chela_mcp_opts *o) {
    struct ch_arena *a = &m->arena;

    m->opts = *o;
    m->opts.name = copy_text(a, o->name);
    m->opts.command = o->url ? NULL : ch_sandbox_copy_list(a, o->command);
    m->opts.env = ch_sandbox_copy_list(a, o->env);
    m->opts.url = copy_text(a, o->url);
    m->opts.headers = ch_sandbox_copy_list(a, o->headers);
    m->opts.roots = o->roots ? ch_sandbox_copy_list(a, o->roots) : NULL;
    m->opts.log_level = copy_text(a, o->log_level);
    m->opts.state_dir = copy_text(a, o->state_dir);
    m->opts.allow = copy_text(a, o->allow);
    m->opts.deny = copy_text(a, o->deny);
    m->opts.client_id = copy_text(a, o->client_id);
    m->opts.client_secret = copy_text(a, o->client_secret);
    m->opts.client_metadata_url = copy_text(a, o->client_metadata_url);
    m->opts.issuer = copy_text(a, o->issuer);
    m->opts.sandbox = NULL;
    m->opts.egress_allow = m->opts.egress_deny = NULL; /* m->egress */
    m->opts.timeout_ms = o->timeout_ms ? o->timeout_ms : CH_DEFAULT_MCP_CALL_MS;
    if (!o->url)
        m->dir = ch_arena_printf(a, "%s/%s", o->state_dir, o->name);
}

static void open_auth(chela_mcp *m) {
    const struct chela_mcp_opts *o = &m->opts;

    if (!o->url)
        return;
    m->auth = ch_mcp_auth_new(&(struct ch_mcp_auth_opts){
        .loop = m->rt->loop,
        .transport = ch_http_transport(m->rt->http),
        .name = o->name,
        .url = o->url,
        .client_id = o->client_id,
        .client_secret = o->client_secret,
        .client_metadata_url = o->client_metadata_url,
        .issuer = o->issuer,
        .egress = m->egress,
        .path = o->state_dir ? ch_arena_printf(&m->arena, "%s/%s.token", o->state_dir, o->name)
                             : NULL,
        .open_url = o->open_url,
        .user = o->user,
    });
}

static void mcp_free(chela_mcp *m) {
    if (m->freed)
        *m->freed = true;
    ch_mcp_cache_clear(&m->cache);
    ch_mcp_auth_free(m->auth);
    ch_egress_free(m->egress);
    ch_free(m->server);
    ch_free(m->server_version);
    ch_arena_release(&m->arena);
    ch_free(m);
}

static void mcp_close(struct ch_extension *a);

static int count_clients(const chela_runtime *rt) {
    int n = 0;

    for (CH_LIST_EACH(k, &rt->extensions))
        n += CH_CONTAINER(k, struct ch_extension, link)->kind == &mcp_kind;
    return n;
}

int chela_mcp_new(chela_runtime *rt, const struct chela_mcp_opts *given, chela_mcp **out,
                  struct chela_error *err) {
    CH_NEEDS_ARG(out, err);
    *out = NULL;
    CH_ENTER(rt, rt->loop, err);
    struct chela_mcp_opts o;
    CH_LOG_SCOPE(rt->sink);

    int rc = CH_OPTS_NEED(chela_mcp_opts, &o, given, err);
    if (rc == 0)
        rc = check_opts(&o, err);
    if (rc == 0 && chela_mcp_find(rt, o.name))
        rc = ch_fail(err, CHELA_EEXIST, "there is an MCP server named %s already", o.name);
    if (rc == 0 && count_clients(rt) >= CH_LIMIT_MCP_SERVERS)
        rc = ch_fail(err, CHELA_ELIMIT, "more than %d MCP servers", CH_LIMIT_MCP_SERVERS);
    if (rc < 0)
        return rc;
    chela_mcp *m = ch_alloc(sizeof(*m));
    m->rt = rt;
    struct ch_egress_lists lists = {o.egress_allow, o.egress_deny, NULL};
    rc = ch_sandbox_read(&m->arena, o.sandbox, &m->policy, err);
    if (rc == 0)
        rc = ch_egress_new(&lists, &m->egress, err);
    if (rc < 0) {
        mcp_free(m);
        return rc;
    }
    if (!o.sandbox)
        m->policy->network = CH_SANDBOX_NET_HOST;
    copy_opts(m, &o);
    open_auth(m);
    ch_list_init(&m->ops);
    ch_list_init(&m->sampled);
    ch_list_init(&m->samples);
    m->extension.kind = &mcp_kind;
    m->extension.close = mcp_close;
    ch_list_add(&rt->extensions, &m->extension.link);
    ch_mcp_tools_open(m);
    *out = m;
    return 0;
}

struct ch_mcp_farewell {
    bool over;
    struct ch_timer timer;
};

static void farewell_on_timer(struct ch_timer *t) {
    CH_CONTAINER(t, struct ch_mcp_farewell, timer)->over = true;
}

static bool somebody_leaves(const chela_runtime *rt) {
    for (CH_LIST_EACH(k, &rt->extensions)) {
        struct ch_extension *a = CH_CONTAINER(k, struct ch_extension, link);
        if (a->kind == &mcp_kind && mcp_of(a)->leaving)
            return true;
    }
    return false;
}

/* Let servers end by themselves. Where the loop cannot run, they are killed. */
static void wait_for_leaving(chela_runtime *rt) {
    int64_t until = ch_mono_ms(ch_loop_clock(rt->loop)) + CH_LIMIT_MCP_LEAVE_MS;

    while (somebody_leaves(rt) && ch_mono_ms(ch_loop_clock(rt->loop)) < until) {
        struct ch_mcp_farewell f = {0};
        ch_timer_start(rt->loop, &f.timer, 5, farewell_on_timer);
        ch_loop_hold(rt->loop);
        int rc = ch_loop_run(rt->loop, &f.over);
        ch_loop_release(rt->loop);
        ch_timer_stop(rt->loop, &f.timer);
        if (rc < 0)
            return;
    }
}

static void leave(chela_mcp *m, bool with_others) {
    if (ch_loop_may_run(m->rt->loop, NULL) < 0)
        return;
    ch_mcp_leave(m);
    for (CH_LIST_EACH(k, &m->rt->extensions)) {
        struct ch_extension *a = CH_CONTAINER(k, struct ch_extension, link);
        if (with_others && a->kind == &mcp_kind)
            ch_mcp_leave(mcp_of(a));
    }
    wait_for_leaving(m->rt);
}

static void close_client(chela_mcp *m, bool with_others) {
    struct chela_error why = {0};

    CH_LOG_SCOPE(m->rt->sink);
    leave(m, with_others);
    m->closed = true;
    ch_mcp_auth_free(CH_TAKE(m->auth)); /* a log-in in progress ends without a word */
    ch_fail(&why, CHELA_ESTATE, "MCP server %s: the client is closed", m->opts.name);
    ch_mcp_close_now(m, &why);
    ch_mcp_sampling_close(m);
    ch_mcp_tools_close(m);
    ch_list_del(&m->extension.link);
    mcp_free(m);
}

void chela_mcp_close(chela_mcp *m) {
    CH_ENTER_OR(m, m->rt->loop, NULL, );
    if (m)
        close_client(m, false);
}

/* The runtime closes: all its servers end at the same time. */
static void mcp_close(struct ch_extension *a) {
    close_client(mcp_of(a), true);
}

chela_mcp *chela_mcp_find(chela_runtime *rt, const char *name) {
    CH_ENTER_OR(rt, rt->loop, NULL, NULL);
    for (CH_LIST_EACH(k, &rt->extensions)) {
        struct ch_extension *a = CH_CONTAINER(k, struct ch_extension, link);
        if (name && a->kind == &mcp_kind && strcmp(mcp_of(a)->opts.name, name) == 0)
            return mcp_of(a);
    }
    return NULL;
}

chela_mcp *ch_mcp_next(chela_runtime *rt, const chela_mcp *m) {
    bool past = !m;
    for (CH_LIST_EACH(k, &rt->extensions)) {
        struct ch_extension *a = CH_CONTAINER(k, struct ch_extension, link);
        if (past && a->kind == &mcp_kind)
            return mcp_of(a);
        past = past || a == &m->extension;
    }
    return NULL;
}

int chela_agent_mcp(chela_agent *agent, chela_mcp *m, struct chela_error *err) {
    CH_ENTER(agent, agent->rt->loop, err);
    CH_NEEDS(m, err);
    CH_LOG_SCOPE(m->rt->sink);

    if (agent->rt != m->rt)
        return ch_fail(err, CHELA_EINVAL, "the agent and the MCP client have different runtimes");
    ch_mcp_tools_attach(m, agent);
    return 0;
}

/* --- functions that wait */

struct ch_mcp_wait {
    chela_mcp *client; /* NULL: chela_mcp_wait, which waits for all clients */
    bool logs_in;
    bool over;
    struct ch_timer timer;
    struct ch_buf result;
    struct chela_error err;
};

/* A callback may close the client or its runtime meanwhile. */
static void wait_until(struct ch_loop *loop, const bool *over) {
    ch_loop_hold(loop);
    if (ch_loop_run(loop, over) != CHELA_ECANCELED)
        ch_loop_release(loop);
}

static void wait_on_reply(const struct ch_mcp_reply *r, void *user) {
    struct ch_mcp_wait *w = user;
    struct ch_jw jw = ch_jw(&w->result);

    if (r->result)
        ch_jw_value(&jw, r->result);
    w->err = r->err;
    w->client->awaited = false;
    w->over = true;
}

/* The members of a JSON object as text, without the member _meta; its name for the header. */
static int split_params(const char *params, struct ch_buf *members, struct ch_buf *name,
                        struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *root;
    struct ch_jw w = ch_jw(members);

    if (!params)
        return 0;
    if (ch_json_parse(&arena, ch_sv_str(params), CH_JSON_STRICT, &root, NULL, err) < 0 ||
        root->type != CH_JSON_OBJECT)
        return ch_fail(err, CHELA_EINVAL, "the parameters are not a JSON object");
    for (CH_JSON_MEMBERS(key, value, root)) {
        if (ch_sv_is(ch_json_str(key), "_meta"))
            continue;
        ch_jw_key_sv(&w, ch_json_str(key));
        ch_jw_value(&w, value);
    }
    const char *const keys[] = {"name", "uri", "taskId"};
    for (size_t i = 0; i < CH_LEN(keys) && name->n == 0; i++)
        ch_buf_add_sv(name, ch_json_get_str(root, keys[i]));
    return 0;
}

static bool has_name_header(const char *method) {
    return strcmp(method, "tools/call") == 0 || strcmp(method, "prompts/get") == 0 ||
           strcmp(method, "resources/read") == 0 || strncmp(method, "tasks/", 6) == 0;
}

static int start_request(chela_mcp *m, const char *method, const char *params,
                         ch_mcp_done_fn *done, void *user, struct chela_error *err) {
    CH_BUF_AUTO members = {0};
    CH_BUF_AUTO name = {0};
    CH_BUF_AUTO headers = {0};
    int rc = split_params(params, &members, &name, err);

    if (rc < 0)
        return rc;
    if (strcmp(method, "tools/call") == 0)
        ch_mcp_tools_headers(m, ch_buf_str(&name), params, &headers);
    ch_mcp_start(m, &(struct ch_mcp_request){
                        .method = method,
                        .members = ch_buf_sv(&members),
                        .name = has_name_header(method) ? ch_buf_sv(&name) : ch_sv(NULL, 0),
                        .headers = ch_buf_sv(&headers),
                        .timeout_ms = CH_MAX(m->opts.timeout_ms, 0),
                        .done = done,
                        .user = user,
                    });
    return 0;
}

/* A request of a caller that does not wait. */
struct ch_mcp_sent {
    chela_mcp_done_fn *done;
    void *user;
};

static void sent_on_reply(const struct ch_mcp_reply *r, void *user) {
    struct ch_mcp_sent s = *(struct ch_mcp_sent *)user;
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);

    ch_free(user);
    if (r->result)
        ch_jw_value(&w, r->result);
    s.done(r->result ? ch_buf_str(&text) : NULL, r->result ? NULL : &r->err, s.user);
}

int chela_mcp_send(chela_mcp *m, const char *method, const char *params, chela_mcp_done_fn *done,
                   void *user, struct chela_error *err) {
    CH_ENTER(m, m->rt->loop, err);
    struct ch_mcp_sent *s = ch_alloc(sizeof(*s));
    CH_LOG_SCOPE(m->rt->sink);

    *s = (struct ch_mcp_sent){done, user};
    int rc = start_request(m, method, params, sent_on_reply, s, err);
    if (rc < 0)
        ch_free(s);
    return rc;
}

char *chela_mcp_request(chela_mcp *m, const char *method, const char *params,
                        struct chela_error *err) {
    CH_ENTER_OR(m, m->rt->loop, err, NULL);
    struct ch_mcp_wait w = {.client = m};
    struct ch_loop *loop = m->rt->loop;
    CH_LOG_SCOPE(m->rt->sink);

    if (ch_loop_may_run(loop, err) < 0 ||
        start_request(m, method, params, wait_on_reply, &w, err) < 0)
        return NULL;
    m->awaited = true;
    wait_until(loop, &w.over);
    if (w.err.code && err)
        *err = w.err;
    if (w.err.code) {
        ch_buf_release(&w.result);
        return NULL;
    }
    return ch_buf_take(&w.result);
}

static void wait_on_listed(const struct chela_error *err, void *user) {
    struct ch_mcp_wait *w = user;

    if (w->logs_in && w->client->auth) /* not closed */
        ch_mcp_auth_open_by(w->client->auth, w->client->opts.open_url, w->client->opts.user);
    if (err)
        w->err = *err;
    w->client->awaited = false;
    w->over = true;
}

static int wait_for_list(chela_mcp *m, bool accept, struct ch_mcp_wait *w,
                         struct chela_error *err) {
    struct ch_loop *loop = m->rt->loop;
    CH_LOG_SCOPE(m->rt->sink);

    m->awaited = true;
    ch_mcp_tools_list(m, accept, wait_on_listed, w);
    wait_until(loop, &w->over);
    if (w->err.code && err)
        *err = w->err;
    return w->err.code;
}

int chela_mcp_refresh(chela_mcp *m, int accept, struct chela_error *err) {
    CH_ENTER(m, m->rt->loop, err);
    struct ch_mcp_wait w = {.client = m};
    int rc = ch_loop_may_run(m->rt->loop, err);

    return rc < 0 ? rc : wait_for_list(m, accept, &w, err);
}

int chela_mcp_login(chela_mcp *m, void (*open_url)(const char *url, void *user), void *user,
                    struct chela_error *err) {
    CH_ENTER(m, m->rt->loop, err);
    if (!m->auth || !open_url)
        return ch_fail(err, CHELA_EINVAL, "MCP server %s: only a server with a URL has a log-in",
                       m->opts.name);
    struct ch_mcp_wait w = {.client = m, .logs_in = true};
    int rc = ch_loop_may_run(m->rt->loop, err);
    if (rc < 0)
        return rc;
    ch_mcp_auth_open_by(m->auth, open_url, user);
    return wait_for_list(m, false, &w, err);
}

static bool somebody_awaited(const chela_runtime *rt) {
    for (CH_LIST_EACH(k, &rt->extensions)) {
        struct ch_extension *a = CH_CONTAINER(k, struct ch_extension, link);
        if (a->kind == &mcp_kind && ch_mcp_tools_awaited(mcp_of(a)))
            return true;
    }
    return false;
}

static void wait_on_timer(struct ch_timer *t) {
    CH_CONTAINER(t, struct ch_mcp_wait, timer)->over = true;
}

int chela_mcp_wait(chela_runtime *rt, int64_t timeout_ms, struct chela_error *err) {
    CH_ENTER(rt, rt->loop, err);
    int64_t begun = ch_mono_ms(ch_loop_clock(rt->loop));
    int64_t most = timeout_ms ? timeout_ms : CH_DEFAULT_MCP_START_MS;
    CH_LOG_SCOPE(rt->sink);
    int rc = ch_loop_may_run(rt->loop, err);

    while (rc == 0 && somebody_awaited(rt)) {
        struct ch_mcp_wait w = {0};
        if (ch_mono_ms(ch_loop_clock(rt->loop)) - begun >= most)
            return ch_fail(err, CHELA_ETIMEOUT, "an MCP server has not listed its tools in time");
        ch_timer_start(rt->loop, &w.timer, 10, wait_on_timer);
        ch_loop_hold(rt->loop);
        rc = ch_loop_run(rt->loop, &w.over);
        if (rc == CHELA_ECANCELED)
            return rc; /* a callback closed the runtime */
        ch_loop_release(rt->loop);
        ch_timer_stop(rt->loop, &w.timer);
    }
    return rc;
}

/* --- state */

static void write_definition(struct ch_jw *w, const struct ch_mcp_definition *d) {
    ch_jw_kcstr(w, "description", d->description);
    ch_jw_kraw(w, "schema", ch_sv_str(d->schema));
    if (d->output)
        ch_jw_kraw(w, "outputSchema", ch_sv_str(d->output));
}

static void write_tool(struct ch_jw *w, const struct ch_mcp_tool *t) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "name", t->name);
    ch_jw_kcstr(w, "alias", t->alias);
    write_definition(w, &t->listed);
    ch_jw_kbool(w, "accepted", ch_mcp_tool_offered(t));
    if (ch_mcp_tool_changed(t) && t->accepted.schema) {
        ch_jw_kbegin(w, "was", '{');
        write_definition(w, &t->accepted);
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, '}');
}

char *chela_mcp_state_json(chela_mcp *m) {
    CH_ENTER_OR(m, m->rt->loop, NULL, NULL);
    const struct ch_mcp_manifest *list = ch_mcp_tools_manifest(m);
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    bool ready = m->state == CH_MCP_READY;

    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "name", m->opts.name);
    ch_jw_kcstr(&w, "transport", m->opts.url ? "http" : "stdio");
    ch_jw_kcstr(&w, "state", ch_mcp_state_name(m));
    ch_jw_kcstr(&w, "era", ready ? (m->modern ? "modern" : "legacy") : NULL);
    ch_jw_kcstr(&w, "version", ready ? m->version : NULL);
    ch_jw_kcstr(&w, "server", m->server);
    ch_jw_kcstr(&w, "serverVersion", m->server_version);
    ch_jw_kcstr(&w, "error", m->last.code ? m->last.message : NULL);
    ch_jw_kbool(&w, "login", m->last.code == CHELA_EAUTH);
    ch_jw_kbool(&w, "known", list->known);
    ch_jw_kbegin(&w, "tools", '[');
    for (size_t i = 0; i < list->n; i++)
        if (list->tools[i].listed.schema)
            write_tool(&w, &list->tools[i]);
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    return ch_buf_take(&out);
}
