/* setup.c -- see setup.h. */
#include "cli/setup/setup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "cli/support/draft.h"
#include "cli/support/login_keys.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"
#include "cli/support/rule_conflict.h"
#include "cli/support/state_path.h"
#include "cli/support/suggest.h"
#include "cli/setup/trust.h"

enum ch_verbosity ch_setup_verbosity(const struct ch_setup_flags *f) {
    return f->quiet ? CH_QUIET : f->verbose ? CH_VERBOSE : CH_NORMAL;
}

/* --- configuration file ----------------------------------------------------- */

static char *user_config(const struct ch_env *env) {
    if (env->config_home)
        return ch_format("%s/chela/chela.yaml", env->config_home);
    return env->home ? ch_format("%s/.config/chela/chela.yaml", env->home) : NULL;
}

/* True for a regular file or a link to one. A sandbox temporarily creates a directory of
 * that name, so that no file can be created inside; a pipe would block. */
static bool is_file(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* True if `path` is in the directory `cwd`. */
static bool is_in(const char *path, const char *cwd) {
    struct stat here, there;
    char *dir = ch_dup(path);
    *strrchr(dir, '/') = '\0';
    bool same = stat(cwd, &here) == 0 && stat(dir, &there) == 0 && here.st_dev == there.st_dev &&
                here.st_ino == there.st_ino;
    free(dir);
    return same;
}

void ch_setup_found(struct ch_setup *s, const char *level, const char *message) {
    if (!s->found)
        return;
    fprintf(s->found, "%s{\"level\":\"%s\",\"message\":", ftell(s->found) > 0 ? ",\n" : "", level);
    ch_draft_quote(s->found, message);
    fputc('}', s->found);
}

void ch_setup_warn(struct ch_setup *s, const char *message) {
    char *line = ch_format("%s\n%s", s->warned ? s->warned : "", message);
    bool again = s->warned && strstr(s->warned, message);
    free(again ? line : s->warned);
    if (again)
        return;
    s->warned = line;
    s->warnings++;
    ch_console_note(s->console, "warning: %s", message);
    ch_setup_found(s, "warning", message);
}

static void on_warning(const char *line, void *user) {
    ch_setup_warn(user, line);
}

/* The first complaint becomes the error of the command. If there are several, all of them
 * are listed above the error. */
static void on_complaint(const char *line, void *user) {
    struct ch_setup *s = user;
    ch_setup_found(s, "error", line);
    if (s->complaints++ == 1)
        ch_console_error(s->console, "%s", s->complaint);
    if (s->complaints > 1)
        ch_console_error(s->console, "%s", line);
    free(s->complaint);
    s->complaint = ch_dup(line);
}

int ch_setup_load(struct ch_setup *s, const char *path, chela_config **out,
                  struct chela_error *err) {
    struct chela_config_opts opts =
        CHELA_CONFIG_OPTS(.warn = on_warning, .complain = on_complaint, .user = s,
                          .strict = s->strict, .module_path = getenv("CHELA_MODULE_PATH"),
                          .complete = s->complete, .home = s->env->home);
    s->complaints = 0;
    int rc = chela_config_open(path, &opts, out, err);
    free(s->complaint);
    s->complaint = NULL;
    if (rc < 0)
        return err->code = CHELA_ECONFIG; /* any error of the file: exit 2 */
    ch_console_verbose(s->console, "[config] %s", path);
    return CHELA_OK;
}

int ch_setup_config(struct ch_setup *s, struct chela_error *err) {
    char *own = user_config(s->env);
    if (own && !is_file(own)) {
        free(own);
        own = NULL;
    }
    char *near = s->directory ? ch_format("%s/chela.yaml", s->directory) : ch_dup("chela.yaml");
    bool found = !s->flags->config && is_file(near);
    s->config_path = s->flags->config ? ch_dup(s->flags->config)
                     : found          ? ch_dup(near)
                     : own            ? ch_dup(own)
                                      : NULL;
    free(near);
    int rc = s->config_path ? ch_setup_load(s, s->config_path, &s->config, err) : CHELA_OK;
    if (rc == 0 && found && !(own && is_in(own, s->directory ? s->directory : ".")))
        rc = ch_trust_gate(s, own, err);
    free(own);
    return rc;
}

/* --- runtime ----------------------------------------------------------------- */

static void on_log(enum chela_log_level level, const char *area, const char *line, void *user) {
    struct ch_console *c = user;
    switch (level) {
    case CHELA_LOG_TRACE: /* only sent if CHELA_TRACE names the area */
        ch_console_trace(c, area, line);
        break;
    case CHELA_LOG_INFO:
        ch_console_verbose(c, "[%s] %s", area, line);
        break;
    case CHELA_LOG_WARN:
    case CHELA_LOG_ERROR:
        ch_console_note(c, "[%s] %s", area, line);
        break;
    }
}

/* --- MCP servers ------------------------------------------------------------- */

char *ch_setup_mcp_file(const struct ch_env *env) {
    return env->config_home ? ch_format("%s/chela/mcp.json", env->config_home)
           : env->home      ? ch_format("%s/.config/chela/mcp.json", env->home)
                            : NULL;
}

char *ch_setup_mcp_state(const struct ch_env *env) {
    return ch_state_path(env, "mcp");
}

/* Loads the MCP servers of the directory if the user trusts the file. The author of the file
 * may be a stranger, so an error in it is only reported. */
static void load_directory_servers(struct ch_setup *s) {
    char *file = s->directory ? ch_format("%s/.mcp.json", s->directory) : ch_dup(".mcp.json");
    char *record = ch_trust_directory(s->env, false);
    struct chela_error why = {0};
    int rc = is_file(file) ? ch_setup_load(s, file, &s->mcp[1], &why) : CHELA_OK;
    if (rc < 0)
        ch_console_note(s->console, "the MCP servers of .mcp.json are not used: %s", why.message);
    if (rc == 0 && s->mcp[1] && (!record || chela_trust_check(record, s->mcp[1], &why) < 0)) {
        chela_config_free(s->mcp[1]);
        s->mcp[1] = NULL;
        ch_console_note(s->console,
                        "the MCP servers of .mcp.json are not used: 'chela trust .mcp.json' shows "
                        "them and trusts the file");
    }
    free(file);
    free(record);
}

static int make_clients(struct ch_setup *s, const chela_config *cfg, struct chela_error *err) {
    char *state = ch_setup_mcp_state(s->env);
    int rc = CHELA_OK;
    if (cfg && chela_config_mcp_name(cfg, 0) && !state)
        rc = ch_problem(err, CHELA_ECONFIG, "MCP servers need a directory: HOME is not set");
    else if (cfg && chela_config_mcp(cfg, s->rt, state,
                                     ch_args_choice(CHELA_CHOICE_SANDBOX_MODE, s->flags->sandbox),
                                     err) < 0)
        rc = err->code = CHELA_ECONFIG;
    free(state);
    return rc;
}

static int setup_mcp(struct ch_setup *s, struct chela_error *err) {
    char *own = ch_setup_mcp_file(s->env);
    int rc = own && is_file(own) ? ch_setup_load(s, own, &s->mcp[0], err) : CHELA_OK;
    free(own);
    if (rc == 0)
        load_directory_servers(s);
    if (rc == 0)
        rc = make_clients(s, s->config, err);
    for (size_t i = 0; rc == 0 && i < 2; i++)
        rc = make_clients(s, s->mcp[i], err);
    return rc;
}

/* Offer the servers' tools. A server that was never used is waited for. */
static int add_mcp_tools(struct ch_setup *s, chela_agent *agent, struct chela_error *err) {
    int rc = CHELA_OK;
    for (size_t i = 0; rc == 0 && i < 2; i++)
        if (s->mcp[i])
            rc = chela_config_tools(s->mcp[i], NULL, agent, err);
    if (rc == 0 && !s->uv_loop && !s->reloading && !s->inspect)
        chela_mcp_wait(s->rt, 0, NULL); /* a server that is too slow is left out */
    return rc;
}

char **ch_setup_skill_folders(const struct ch_env *env) {
    const char *home = env->home;
    char **list = ch_must(calloc(4, sizeof(*list)));
    size_t n = 0;
    if (env->config_home || home)
        list[n++] = env->config_home ? ch_format("%s/chela/skills", env->config_home)
                                     : ch_format("%s/.config/chela/skills", home);
    if (home) {
        list[n++] = ch_format("%s/.agents/skills", home);
        list[n++] = ch_format("%s/.claude/skills", home);
    }
    return list;
}

static int setup_skills(struct ch_setup *s, struct chela_error *err) {
    char **folders = ch_setup_skill_folders(s->env);
    int rc = CHELA_OK;
    for (char **at = folders; *at; at++) {
        if (rc == 0)
            rc = chela_runtime_skills(s->rt, *at, err);
        free(*at);
    }
    free(folders);
    return rc;
}

#define FLUSH_MS 3000 /* longest wait for a collector at the end */

static int setup_telemetry(const struct ch_setup *s, struct chela_error *err) {
    struct chela_telemetry_opts opts = CHELA_TELEMETRY_OPTS(.endpoint = NULL);
    int rc = s->config ? chela_config_telemetry(s->config, &opts, err) : CHELA_OK;
    return rc < 0 ? rc : chela_telemetry_start(s->rt, &opts, err);
}

/* A loop of the command's own is run here, because the library cannot. */
static void flush_telemetry(const struct ch_setup *s) {
    size_t left = chela_telemetry_flush(s->rt, FLUSH_MS);
    for (int ms = 0; s->uv_loop && left && ms < FLUSH_MS; ms++) {
        uv_run(s->uv_loop, UV_RUN_NOWAIT);
        uv_sleep(1);
        left = chela_telemetry_flush(s->rt, 0);
    }
}

static enum chela_language setup_language(const struct ch_setup *s) {
    enum chela_language set = s->config ? chela_config_language(s->config) : CHELA_LANGUAGE_AUTO;
    return set == CHELA_LANGUAGE_AUTO && s->local ? s->env->language : set;
}

static void setup_log(enum chela_log_level level, const char *area, const char *line, void *user) {
    const struct ch_setup_host *host = user;
    host->log(level, area, line, host->console);
}

/* The environment, and the keys that `chela login` keeps. */
static const char *setup_env(const char *name, void *user) {
    struct ch_setup_host *host = user;
    if (host->variable && strcmp(host->variable, name) == 0)
        return host->value;
    const char *value = getenv(name);
    return value ? value : ch_login_keys_find(host->keys, name);
}

int ch_setup_runtime(struct ch_setup *s, struct chela_error *err) {
    s->console->language = setup_language(s);
    s->host = ch_must(calloc(1, sizeof(*s->host)));
    *s->host = (struct ch_setup_host){.console = s->console,
                                      .log = s->log ? s->log : on_log,
                                      .keys = ch_login_keys_new(s->env)};
    struct chela_runtime_opts opts =
        CHELA_RUNTIME_OPTS(.env = setup_env, .log = setup_log, .trace = s->env->trace,
                           .ca_file = s->ca_file, .user = s->host, .record = s->record,
                           .replay = s->replay, .uv_loop = s->uv_loop,
                           .module_path = getenv("CHELA_MODULE_PATH"),
                           .language = s->console->language);
    if (s->ca_file && access(s->ca_file, R_OK) < 0)
        return ch_problem(err, CHELA_EINVAL, "--ca-file %s: %s", s->ca_file, strerror(errno));
    int rc = chela_runtime_new(&opts, &s->rt, err);
    if (rc < 0 && (s->record || s->replay))
        err->code = rc = CHELA_ECONFIG; /* any error of the cassette: exit 2 */
    if (rc < 0)
        return rc;
    if (s->config && chela_config_apply(s->config, s->rt, err) < 0)
        return err->code = CHELA_ECONFIG;
    rc = setup_telemetry(s, err);
    if (rc == 0)
        rc = setup_skills(s, err);
    return rc < 0 ? rc : setup_mcp(s, err);
}

/* --- store ------------------------------------------------------------------- */

/* err: create the directory of the store; NULL: do not. */
static char *user_store(const struct ch_env *env, struct chela_error *err) {
    char *path = ch_state_path(env, "chela.db"), *url = NULL;
    if (path && (!err || ch_state_make_parents(path, err) == 0))
        url = ch_format("sqlite:%s", path);
    free(path);
    return url;
}

static char *choose_store(const struct ch_setup *s, enum ch_setup_store how,
                          struct chela_error *err) {
    const char *configured = s->config ? chela_config_store(s->config) : NULL;
    if (s->flags->store)
        return ch_dup(s->flags->store);
    if (configured)
        return ch_dup(configured);
    return how == CH_STORE_IF_CHOSEN ? NULL : user_store(s->env, err);
}

char *ch_setup_store_url(const struct ch_setup *s) {
    return choose_store(s, CH_STORE_READ, NULL);
}

char *ch_setup_store_kind(const struct ch_setup *s) {
    char *url = choose_store(s, CH_STORE_READ, NULL);
    if (url)
        url[strcspn(url, ":")] = '\0';
    return url ? url : ch_dup("none");
}

int ch_setup_store_lasts(const struct ch_setup *s, struct chela_error *err) {
    char *kind = ch_setup_store_kind(s);
    bool lasts = strcmp(kind, "memory") != 0;
    free(kind);
    return lasts ? CHELA_OK
                 : ch_problem(err, CHELA_EINVAL,
                              "--background needs a store that other processes can read, such as "
                              "sqlite:PATH; 'memory:' is none");
}

int ch_setup_store(struct ch_setup *s, enum ch_setup_store how, struct chela_error *err) {
    if (how == CH_STORE_READ_OR_NEW) {
        int read = ch_setup_store(s, CH_STORE_READ, err);
        if (read != CHELA_ENOENT || s->flags->store)
            return read;
        *err = (struct chela_error){0};
        how = CH_STORE_WANTED;
    }
    struct chela_store_opts opts = CHELA_STORE_OPTS(.read_only = how == CH_STORE_READ);
    char *url = choose_store(s, how, how == CH_STORE_WANTED ? err : NULL);
    if (!url && err->code)
        return err->code;
    if (!url)
        return how == CH_STORE_IF_CHOSEN
                   ? CHELA_OK
                   : ch_problem(err, CHELA_EINVAL,
                                "there is no place for sessions: HOME is not set; use --store");
    int rc = chela_store_open(url, &opts, &s->store, err);
    const char *place = s->flags->store || !s->config ? NULL : chela_config_place(s->config, url);
    free(url);
    if (rc < 0 && place)
        ch_problem_in(err, place);
    if (rc < 0 && rc != CHELA_EINVAL && rc != CHELA_ENOENT)
        err->code = rc = CHELA_EINTERNAL; /* any error: exit 1 */
    if (rc < 0)
        return rc;
    if (how != CH_STORE_READ && chela_store_note(s->store))
        ch_console_note(s->console, "warning: %s", chela_store_note(s->store));
    if (!s->rt)
        return CHELA_OK;
    return chela_runtime_store(s->rt, s->store,
                               s->config ? chela_config_durability(s->config)
                                         : CHELA_DURABILITY_DEFAULT,
                               err);
}

/* --- tools -------------------------------------------------------------------- */

struct names {
    char **list; /* ends with NULL */
    size_t n;
};

static int setup_add_name(const char *tool, size_t n, void *user) {
    struct names *names = user;
    names->list = ch_must(realloc(names->list, (names->n + 2) * sizeof(*names->list)));
    names->list[names->n++] = chela_json_get(tool, n, "/name", NULL);
    names->list[names->n] = NULL;
    return 0;
}

char **ch_setup_tool_names(const chela_agent *agent) {
    char *json = chela_agent_tools_json(agent);
    struct names names = {.list = ch_must(calloc(1, sizeof(*names.list)))};
    chela_json_each(json, strlen(json), setup_add_name, &names);
    chela_free(json);
    return names.list;
}

void ch_setup_free_names(char **names) {
    for (char **at = names; *at; at++)
        chela_free(*at);
    free(names);
}

/* flag: the flag of the word, for the message. */
static int setup_check_name(const char *flag, const char *word, char *const *names,
                            struct chela_error *err) {
    struct ch_suggest near;
    ch_suggest_init(&near, word, strlen(word));
    for (; *names; names++) {
        if (strcmp(*names, word) == 0)
            return CHELA_OK;
        ch_suggest_try(&near, *names, strlen(*names));
    }
    if (near.best)
        return ch_problem(err, CHELA_EINVAL, "%s: there is no tool '%s' (did you mean '%s'?)", flag,
                          word, near.best);
    return ch_problem(err, CHELA_EINVAL,
                      "%s: there is no tool '%s' ('chela tools list' shows them)", flag, word);
}

/* The next word of a comma-separated list that is a tool name, not a glob or a group; NULL:
 * none. */
static const char *next_name(char **rest) {
    for (char *word; (word = strsep(rest, ","));) {
        word += strspn(word, " ");
        word[strcspn(word, " ")] = '\0';
        if (*word && !strpbrk(word, "*?:"))
            return word;
    }
    return NULL;
}

/* A glob may match nothing; a plain name must be a tool. */
static int setup_check_names(const char *flag, const char *list, char *const *names,
                             struct chela_error *err) {
    int rc = CHELA_OK;
    char *copy = ch_dup(list ? list : ""), *rest = copy;
    for (const char *word; rc == CHELA_OK && (word = next_name(&rest));)
        rc = setup_check_name(flag, word, names, err);
    free(copy);
    return rc;
}

/* Report tools that were requested and exist, but are not offered. */
static void note_hidden(const struct ch_setup *s, char *const *visible) {
    char *copy = ch_dup(s->flags->tools), *rest = copy;
    for (const char *word; (word = next_name(&rest));) {
        char *const *at = visible;
        while (*at && strcmp(*at, word) != 0)
            at++;
        if (!*at)
            ch_console_note(s->console,
                            "warning: --tools asks for %s, but it is denied or needs more "
                            "permission than the agent has",
                            word);
    }
    free(copy);
}

/* True for SERVER__TOOL where no MCP server is started, so that its tools are not known. */
static bool is_unseen(const struct ch_setup *s, const char *choice) {
    const char *mark = s->inspect ? strstr(choice, "__") : NULL;
    char *server = mark ? ch_format("%.*s", (int)(mark - choice), choice) : NULL;
    bool is = server && chela_mcp_find(s->rt, server);
    free(server);
    return is;
}

static int check_choice(const char *choice, char *const *names, struct chela_error *err) {
    static const char *const words[] = {"auto", "any", "none"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i], choice) == 0)
            return CHELA_OK;
    return setup_check_name("--tool-choice", choice, names, err);
}

/* The policy is set last: before it, every tool is visible. */
struct policy {
    const char *allow, *deny;
    enum chela_permission permission;
};

/* Under `plan`, only tools that read are offered. */
static struct policy take_policy(const struct ch_setup *s, struct chela_agent_opts *opts) {
    bool plans = s->approve && strcmp(s->approve, "plan") == 0;
    struct policy p = {opts->allow, opts->deny, plans ? CHELA_PERM_READ : opts->permission};
    opts->allow = opts->deny = NULL;
    opts->permission = CHELA_PERM_ADMIN;
    return p;
}

static char *deny_questions(const char *list) {
    return list && *list ? ch_format("%s,ask_user", list) : ch_dup("ask_user");
}

static int bound_tools(const struct ch_setup *s, const struct policy *p, const char *choice,
                       chela_agent *agent, struct chela_error *err) {
    int rc = chela_agent_policy(agent, p->allow, p->deny, p->permission, err);
    if (rc < 0 || (!s->flags->tools && !choice))
        return rc;
    char **names = ch_setup_tool_names(agent);
    if (s->flags->tools)
        note_hidden(s, names);
    if (choice && !is_unseen(s, choice))
        rc = check_choice(choice, names, err);
    ch_setup_free_names(names);
    return rc;
}

/* --- agents that an agent may call ------------------------------------------------ */

static unsigned hash_id(const char *id) {
    unsigned h = 0;
    while (*id)
        h = h * 31 + (unsigned char)*id++;
    return h;
}

static chela_agent *setup_member(const struct ch_setup *s, const char *id) {
    unsigned hash = hash_id(id);
    for (size_t i = 0; i < s->team.n; i++)
        if (s->team.members[i].hash == hash && strcmp(s->team.members[i].id, id) == 0)
            return s->team.members[i].agent;
    return NULL;
}

static void enrol(struct ch_setup *s, const char *id, chela_agent *agent) {
    struct ch_setup_team *t = &s->team;
    t->members = ch_must(realloc(t->members, (t->n + 1) * sizeof(*t->members)));
    t->members[t->n++] = (struct ch_setup_member){ch_dup(id), agent, hash_id(id)};
}

struct ch_setup_team ch_setup_take_team(struct ch_setup *s) {
    struct ch_setup_team team = s->team;
    s->team = (struct ch_setup_team){0};
    return team;
}

void ch_setup_team_close(struct ch_setup_team *team) {
    for (size_t i = 0; i < team->n; i++) {
        chela_agent_close(team->members[i].agent);
        free(team->members[i].id);
    }
    free(team->members);
    *team = (struct ch_setup_team){0};
}

static int setup_gather(struct ch_setup *s, const char *id, const struct chela_agent_opts *caller,
                        chela_agent *agent, struct chela_error *err);

/* dir: from the command line or the configuration file; NULL: none. */
static int check_workspace(const struct ch_setup *s, const char *dir, struct chela_error *err) {
    bool flag = dir == s->flags->workspace;
    struct stat st;
    errno = ENOTDIR; /* of a path that exists */
    if (!dir || (stat(dir, &st) == 0 && S_ISDIR(st.st_mode)))
        return CHELA_OK;
    const char *place = flag ? "--workspace" : chela_config_place(s->config, dir);
    return ch_problem(err, CHELA_ECONFIG, "%s%s %s: %s", place, flag ? "" : ":", dir,
                      strerror(errno));
}

const char *ch_setup_model_place(const struct ch_setup *s, const struct chela_agent_opts *opts,
                                 const struct chela_error *err) {
    if (!s->config || err->code != CHELA_ECONFIG)
        return NULL;
    /* in the order in which chela_agent_new looks at them */
    const struct chela_planning_opts *p = opts->planning;
    const char *const others[] = {opts->toolset ? opts->toolset->embedding : NULL,
                                  opts->compaction ? opts->compaction->model : NULL,
                                  p ? p->router : NULL,
                                  p ? p->planner : NULL,
                                  p ? p->executor : NULL,
                                  p ? p->reflector : NULL,
                                  opts->heartbeat ? opts->heartbeat->opinion : NULL};
    const char *place = chela_config_place(s->config, opts->model);
    for (size_t i = 0; !place && opts->fallbacks && opts->fallbacks[i]; i++)
        place = chela_config_place(s->config, opts->fallbacks[i]);
    for (size_t i = 0; !place && i < sizeof(others) / sizeof(*others); i++)
        place = chela_config_place(s->config, others[i]);
    return place;
}

enum chela_approve ch_setup_approve(const char *word) {
    bool asks = strcmp(word, "edits") == 0 || strcmp(word, "plan") == 0;
    int same = asks ? CHELA_APPROVE_ASK : ch_args_choice(CHELA_CHOICE_APPROVE, word);
    return (enum chela_approve)same;
}

static bool setup_approves(const struct ch_setup *s, const char *word) {
    return s->approve && strcmp(s->approve, word) == 0;
}

/* Under `ask`, changes of files need consent, too, unless the file says otherwise for the tool. The
 * caller frees the result. */
static char *levels_that_ask(const char *levels) {
    static const char *const tools[] = {"write", "edit", "apply_patch"};
    char *all = ch_dup(levels ? levels : "");
    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
        char *name = ch_format("%s=", tools[i]), *more;
        if (!strstr(all, name)) {
            more = ch_format("%s%s%sask", all, *all ? "," : "", name);
            free(all);
            all = more;
        }
        free(name);
    }
    return all;
}

static const char plan_text[] =
    "You are asked for a plan. Only tools that read are there: look at what is needed, then answer "
    "with the steps that you would take, the files that they change, and how to check the result. "
    "Change nothing, and do not say that anything was changed.";

/* The options are borrowed by the agent only while it is made. */
static int setup_new_agent(struct ch_setup *s, const struct chela_agent_opts *given,
                           chela_agent **out, struct chela_error *err) {
    struct chela_agent_opts opts = *given;
    if (s->flags->apply)
        opts.apply = (enum chela_apply)ch_args_choice(CHELA_CHOICE_APPLY, s->flags->apply);
    struct chela_approval_opts approvals = CHELA_APPROVAL_OPTS(.tools = NULL);
    char *levels = NULL, *system = NULL;
    if (opts.approvals)
        approvals = *opts.approvals;
    if (setup_approves(s, "ask")) {
        approvals.tools = levels = levels_that_ask(approvals.tools);
        opts.approvals = &approvals;
    }
    if (setup_approves(s, "plan"))
        opts.system = system =
            ch_format("%s%s%s", opts.system ? opts.system : "", opts.system ? "\n\n" : "",
                      plan_text);
    int rc = chela_agent_new(s->rt, &opts, out, err);
    free(levels);
    free(system);
    return rc < 0 ? ch_problem_in(err, ch_setup_model_place(s, given, err)) : rc;
}

/* Create an agent that is called or takes over. Models and tools of the command line apply
 * to the first agent only; denied tools, approval mode and limits apply to all. */
static int make_member(struct ch_setup *s, const char *id, const struct chela_agent_opts *caller,
                       chela_agent **out, struct chela_error *err) {
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(.deny = s->flags->deny, .approve = caller->approve, .limits = &s->limits);
    if (chela_config_agent(s->config, id, &opts, err) < 0)
        return err->code = CHELA_ECONFIG;
    struct chela_sandbox_opts sandbox = CHELA_SANDBOX_OPTS(.helper = NULL);
    ch_setup_sandbox(s, &opts, &sandbox);
    if (!opts.model) {
        opts.model = caller->model;
        opts.base_url = caller->base_url;
        opts.api_key_env = caller->api_key_env;
    }
    opts.workspace = opts.workspace ? opts.workspace : s->flags->workspace;
    if (check_workspace(s, opts.workspace, err) < 0)
        return err->code;
    struct policy policy = take_policy(s, &opts);
    char *deny = s->silent && !policy.allow ? deny_questions(policy.deny) : NULL;
    ch_trust_skills(s, opts.workspace);
    int rc = setup_new_agent(s, &opts, out, err);
    if (rc == 0)
        enrol(s, id, *out);
    if (rc == 0 && (chela_config_tools(s->config, id, *out, err) < 0 ||
                    add_mcp_tools(s, *out, err) < 0))
        rc = err->code = CHELA_ECONFIG;
    if (rc == 0)
        rc = setup_gather(s, id, &opts, *out, err);
    if (rc == 0)
        rc = chela_agent_policy(*out, policy.allow, deny ? deny : policy.deny, policy.permission,
                                err);
    free(deny);
    return rc;
}

static int setup_meet(struct ch_setup *s, const char *id, const struct chela_agent_opts *caller,
                      chela_agent **out, struct chela_error *err) {
    *out = setup_member(s, id);
    return *out ? CHELA_OK : make_member(s, id, caller, out, err);
}

/* Add the agents that the file lists for an agent; each is created once. */
static int setup_gather(struct ch_setup *s, const char *id, const struct chela_agent_opts *caller,
                        chela_agent *agent, struct chela_error *err) {
    struct chela_delegate_opts how = CHELA_DELEGATE_OPTS(.background = s->background);
    const char *name;
    chela_agent *other;
    int rc = 0;
    for (size_t i = 0; rc == 0 && (name = chela_config_calls(s->config, id, i)); i++) {
        rc = setup_meet(s, name, caller, &other, err);
        if (rc == 0)
            rc = chela_agent_delegate(agent, other, &how, err);
    }
    for (size_t i = 0; rc == 0 && (name = chela_config_takers(s->config, id, i)); i++) {
        rc = setup_meet(s, name, caller, &other, err);
        if (rc == 0)
            rc = chela_agent_handoff(agent, other, err);
    }
    return rc;
}

static int setup_add_tools(struct ch_setup *s, const struct chela_agent_opts *opts,
                           chela_agent *agent, struct chela_error *err) {
    if (s->config && chela_config_tools(s->config, s->flags->agent, agent, err) < 0)
        return err->code = CHELA_ECONFIG;
    if (add_mcp_tools(s, agent, err) < 0)
        return err->code = CHELA_ECONFIG;
    if (s->config && setup_gather(s, s->flags->agent, opts, agent, err) < 0)
        return err->code;
    if (!s->flags->tools && !s->flags->deny)
        return CHELA_OK;
    struct chela_error why = {0};
    char **names = ch_setup_tool_names(agent);
    int rc = setup_check_names("--tools", s->flags->tools, names, err);
    if (setup_check_names("--deny", s->flags->deny, names, &why) < 0)
        ch_console_note(s->console, "warning: %s", why.message);
    ch_setup_free_names(names);
    return rc;
}

/* --- schedules ----------------------------------------------------------------- */

int ch_setup_check_agent(const struct ch_setup *s, const char *id, struct chela_error *err) {
    const char *place = chela_config_place(s->config, id);
    return place ? ch_problem(err, CHELA_ECONFIG, "%s: there is no agent '%s'", place, id)
                 : CHELA_OK;
}

int ch_setup_schedules(const struct ch_setup *s, struct ch_setup_schedules *out,
                       struct chela_error *err) {
    int rc = CHELA_OK;
    ch_setup_schedules_release(out);
    while (s->config && rc == CHELA_OK) {
        struct chela_schedule one = CHELA_SCHEDULE(.name = NULL);
        rc = chela_config_schedule(s->config, out->n, &one, err);
        if (rc == 0)
            rc = ch_setup_check_agent(s, one.agent, err);
        if (rc < 0)
            break;
        out->items = ch_must(realloc(out->items, (out->n + 1) * sizeof(one)));
        out->items[out->n++] = one;
    }
    out->list = ch_must(calloc(out->n + 1, sizeof(*out->list)));
    for (size_t i = 0; i < out->n; i++)
        out->list[i] = &out->items[i];
    return rc == CHELA_ENOENT ? CHELA_OK : rc;
}

void ch_setup_schedules_release(struct ch_setup_schedules *l) {
    free(l->items);
    free(l->list);
    *l = (struct ch_setup_schedules){0};
}

/* --- agent -------------------------------------------------------------------- */

static int check_url(const char *url, struct chela_error *err) {
    if (!url || strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0)
        return CHELA_OK;
    return ch_problem(err, CHELA_EINVAL, "--base-url must start with http:// or https://, not '%s'",
                      url);
}

static int setup_choose_model(const struct ch_setup *s, struct chela_agent_opts *opts,
                              struct chela_error *err) {
    const char *why = NULL;
    if (opts->model)
        return CHELA_OK;
    opts->model = chela_default_model(s->rt, &why);
    bool demo = strncmp(opts->model, "scripted/", 9) == 0;
    if (demo && s->no_demo)
        return ch_problem(err, CHELA_ECONFIG,
                          "no model is configured, and no key was found: set "
                          "agents.defaults.model, a key such as ANTHROPIC_API_KEY, or pass "
                          "--model (--model %s serves the offline demo)",
                          opts->model);
    if (demo)
        ch_console_note(s->console,
                        "no model chosen: playing the offline %s (set ANTHROPIC_API_KEY or pass "
                        "--model)",
                        opts->model);
    else
        ch_console_verbose(s->console, "[model] %s: %s", opts->model, why ? why : "default");
    return CHELA_OK;
}

void ch_setup_sandbox(const struct ch_setup *s, struct chela_agent_opts *opts,
                      struct chela_sandbox_opts *own) {
    if (!s->flags->sandbox)
        return;
    if (opts->sandbox)
        *own = *opts->sandbox;
    own->mode = ch_args_choice(CHELA_CHOICE_SANDBOX_MODE, s->flags->sandbox);
    opts->sandbox = own;
}

static void setup_open_end(struct ch_setup *s, struct chela_agent_opts *opts) {
    s->own = opts->limits ? *opts->limits : s->limits;
    s->own.max_turns = s->own.max_turns ? s->own.max_turns : -1;
    s->own.timeout_ms = s->own.timeout_ms ? s->own.timeout_ms : -1;
    opts->limits = &s->own;
}

/* Fills the options of the agent from the flags and the configuration. */
static int setup_fill_opts(struct ch_setup *s, struct chela_agent_opts *opts,
                           struct chela_error *err) {
    s->limits = opts->limits ? *opts->limits : (struct chela_limits)CHELA_LIMITS(.sum_up = 0);
    s->limits.sum_up = 0; /* for the first agent alone */
    opts->workspace = s->flags->workspace;
    opts->tools = "*";
    opts->allow = s->flags->tools;
    opts->deny = s->flags->deny;
    if (s->config && chela_config_agent(s->config, s->flags->agent, opts, err) < 0)
        return err->code = CHELA_ECONFIG;
    if (s->open_ended)
        setup_open_end(s, opts);
    return check_workspace(s, opts->workspace, err);
}

/* Makes the agent and gives it its tools. */
static int setup_make_agent(struct ch_setup *s, struct chela_agent_opts *opts,
                            const struct policy *policy, chela_agent **out,
                            struct chela_error *err) {
    int rc = setup_new_agent(s, opts, out, err);
    if (rc == 0)
        enrol(s, s->flags->agent ? s->flags->agent : opts->id ? opts->id : "main", *out);
    if (rc == 0 && s->store && s->config && chela_config_schedule_tool(s->config, s->flags->agent))
        rc = chela_schedule_tool(*out, s->store, err);
    if (rc == 0)
        rc = setup_add_tools(s, opts, *out, err);
    return rc == 0 ? bound_tools(s, policy, opts->tool_choice, *out, err) : rc;
}

static void setup_on_fault(const char *fault, void *user) {
    ch_setup_warn(user, fault);
}

/* Rules that contradict each other or name a tool that is not there: a line for each. */
static void setup_look_at_rules(struct ch_setup *s, const struct chela_agent_opts *opts,
                                const chela_agent *agent) {
    if (!opts->prompt || !opts->prompt->rules || !opts->prompt->rules[0])
        return;
    char *tools = chela_agent_tools_json(agent);
    ch_rule_faults(opts->prompt->rules, tools, setup_on_fault, s);
    chela_free(tools);
}

int ch_setup_agent(struct ch_setup *s, struct chela_agent_opts *opts, chela_agent **out,
                   struct chela_error *err) {
    if (check_url(opts->base_url, err) < 0)
        return err->code;
    if (s->flags->agent && !s->config)
        return ch_problem(err, CHELA_ECONFIG,
                          "--agent %s: there is no configuration file that could define it",
                          s->flags->agent);
    if (s->flags->agent && (*out = setup_member(s, s->flags->agent)))
        return CHELA_OK; /* made already, because another agent calls it */
    if (setup_fill_opts(s, opts, err) < 0)
        return err->code;
    struct chela_sandbox_opts sandbox = CHELA_SANDBOX_OPTS(.helper = NULL);
    ch_setup_sandbox(s, opts, &sandbox);
    if (setup_choose_model(s, opts, err) < 0)
        return err->code;
    struct policy policy = take_policy(s, opts);
    char *deny = s->silent && !policy.allow ? deny_questions(policy.deny) : NULL;
    if (deny)
        policy.deny = deny;
    ch_trust_skills(s, opts->workspace);
    int rc = setup_make_agent(s, opts, &policy, out, err);
    if (rc == 0)
        setup_look_at_rules(s, opts, *out);
    free(deny);
    return rc;
}

int ch_setup_hooks(const struct ch_setup *s, chela_agent *agent, const struct chela_hooks *hooks,
                   struct chela_error *err) {
    int rc = chela_agent_hooks(agent, hooks, err);
    for (size_t i = 0; rc == 0 && i < s->team.n; i++)
        if (s->team.members[i].agent != agent)
            rc = chela_agent_hooks(s->team.members[i].agent, hooks, err);
    return rc;
}

static int add_agent(struct ch_setup *s, struct ch_setup_flags *flags, const char *id,
                     const struct chela_agent_opts *opts, chela_agent **out,
                     struct chela_error *err) {
    struct chela_agent_opts own = *opts;
    const char *chosen = flags->agent;
    flags->agent = id;
    int rc = ch_setup_agent(s, &own, out, err);
    flags->agent = chosen;
    return rc;
}

int ch_setup_agents(struct ch_setup *s, struct ch_setup_flags *flags,
                    const struct chela_agent_opts *opts, chela_agent ***out,
                    struct chela_error *err) {
    size_t max = 0, n = 0;
    int rc = CHELA_OK;
    while (s->config && chela_config_agent_id(s->config, max))
        max++;
    chela_agent **list = ch_must(calloc(max + 2, sizeof(chela_agent *)));
    if (flags->agent || max == 0)
        rc = add_agent(s, flags, flags->agent, opts, &list[n++], err);
    for (; rc == 0 && !flags->agent && n < max; n++)
        rc = add_agent(s, flags, chela_config_agent_id(s->config, n), opts, &list[n], err);
    if (rc < 0)
        free(list);
    else
        *out = list;
    return rc;
}

void ch_setup_release(struct ch_setup *s) {
    ch_setup_team_close(&s->team);
    if (s->rt)
        flush_telemetry(s);
    chela_runtime_close(s->rt);
    if (s->host)
        ch_login_keys_free(s->host->keys);
    free(s->host);
    s->host = NULL;
    chela_store_close(s->store);
    s->store = NULL;
    chela_config_free(s->config);
    free(s->config_path);
    for (size_t i = 0; i < 2; i++) {
        chela_config_free(s->mcp[i]);
        s->mcp[i] = NULL;
    }
    free(s->untrusted);
    free(s->warned);
    s->untrusted = s->warned = NULL;
    s->rt = NULL;
    s->config = NULL;
    s->config_path = NULL;
}

void ch_setup_begin(struct ch_setup *s, const struct ch_env *env,
                    const struct ch_setup_flags *flags, struct ch_console *console) {
    ch_console_init(console, env, ch_setup_verbosity(flags), flags->no_color);
    *s = (struct ch_setup){.env = env, .flags = flags, .console = console};
}

int ch_setup_finish(struct ch_setup *s, int rc, const struct chela_error *err) {
    struct ch_console *console = s->console;
    if (rc < 0)
        ch_console_error(console, "%s", err->message);
    ch_setup_release(s);
    int code = ch_console_exit(console, rc < 0 ? ch_problem_exit(err) : CH_EXIT_DONE);
    ch_console_release(console);
    return code;
}
