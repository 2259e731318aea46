/* programs.c -- see programs.h. */
#include "config/programs.h"

#include "agent/feature/hook/hook_list.h"
#include "base/limits.h"
#include "tool/process/sandbox_policy.h"

struct ch_conf_programs {
    bool taken, agreed, refused, doubted;
    struct ch_pins none; /* if refused or doubted */
    struct ch_pins *tools, *checks, *servers; /* by item */
    struct ch_pins *hooks[CH_CONF_HOOK_EVENTS];
};

/* --- where programs are looked for */

struct places { /* NULL-terminated, without repetitions */
    const char *list[CH_LIMIT_PINNED_PLACES + 2];
    size_t n;
};

static void add_place(struct places *p, struct ch_arena *a, const char *dir) {
    if (!dir || p->n > CH_LIMIT_PINNED_PLACES)
        return;
    const char *real = ch_sandbox_resolve(a, dir);
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->list[i], real) == 0)
            return;
    p->list[p->n++] = real;
}

static void find_workspaces(const chela_config *cfg, struct places *out) {
    const struct ch_conf_agent *agents = cfg->conf.agents.items;
    const char *common = cfg->conf.defaults.workspace;
    add_place(out, cfg->arena, common ? common : cfg->dir);
    for (size_t i = 0; i < cfg->conf.agents.n; i++)
        add_place(out, cfg->arena, agents[i].workspace);
}

/* The directory of the file and the workspaces; not "/", which contains the system. */
static const char *const *find_below(const chela_config *cfg, const struct places *workspaces) {
    struct places all = {.n = 0};
    size_t n = 0;
    add_place(&all, cfg->arena, cfg->dir);
    for (size_t i = 0; i < workspaces->n; i++)
        add_place(&all, cfg->arena, workspaces->list[i]);
    const char **list = ch_arena_zalloc(cfg->arena, (all.n + 1) * sizeof(*list));
    for (size_t i = 0; i < all.n; i++)
        if (strcmp(all.list[i], "/") != 0)
            list[n++] = all.list[i];
    return list;
}

/* --- reading them */

struct taking {
    const chela_config *cfg;
    const char *const *below;
    struct places workspaces;
};

/* A relative argument is a file of the agent's workspace, unless the program has a directory. */
static void take_program(const struct taking *t, const char *const *command, const char *cwd,
                         struct ch_pins *out) {
    if (cwd) {
        ch_pins_take(t->cfg->arena, command, cwd, t->below, t->cfg->file, out);
        return;
    }
    for (size_t i = 0; i < t->workspaces.n; i++) {
        struct ch_pins *next = i ? ch_arena_zalloc(t->cfg->arena, sizeof(*next)) : out;
        if (i) {
            out->more = next;
            out = next;
        }
        ch_pins_take(t->cfg->arena, command, t->workspaces.list[i], t->below, t->cfg->file, out);
    }
}

static void take_hooks(const struct taking *t, const struct ch_conf_list *list,
                       struct ch_pins **out) {
    const struct ch_conf_hook_program *hooks = list->items;
    *out = ch_arena_zalloc(t->cfg->arena, (list->n + 1) * sizeof(**out));
    for (size_t i = 0; i < list->n; i++)
        if (hooks[i].command)
            take_program(t, hooks[i].command, hooks[i].cwd, &(*out)[i]);
}

const char *const *ch_conf_check_argv(const chela_config *cfg, const struct ch_conf_tool *tool) {
    const struct ch_json *v = NULL;
    size_t n = 0;
    if (!tool->check || ch_json_parse(cfg->arena, ch_sv_str(tool->check), CH_JSON_STRICT, &v, NULL,
                                      NULL) < 0 ||
        !ch_json_is(v, CH_JSON_ARRAY))
        return NULL;
    const char **argv = ch_arena_zalloc(cfg->arena, (v->n + 1) * sizeof(*argv));
    for (CH_JSON_EACH(e, v))
        argv[n++] = ch_arena_str(cfg->arena, ch_json_str(e));
    return argv;
}

static const struct ch_conf_programs *programs_take(const chela_config *cfg) {
    struct ch_conf_programs *p = cfg->programs;
    const struct ch_conf_tool *tools = cfg->conf.tools.items;
    const struct ch_conf_mcp *servers = cfg->conf.mcp.items;
    if (p->taken)
        return p;
    struct taking t = {.cfg = cfg};
    find_workspaces(cfg, &t.workspaces);
    t.below = find_below(cfg, &t.workspaces);
    p->tools = ch_arena_zalloc(cfg->arena, (cfg->conf.tools.n + 1) * sizeof(*p->tools));
    p->servers = ch_arena_zalloc(cfg->arena, (cfg->conf.mcp.n + 1) * sizeof(*p->servers));
    p->checks = ch_arena_zalloc(cfg->arena, (cfg->conf.tools.n + 1) * sizeof(*p->checks));
    for (size_t i = 0; i < cfg->conf.tools.n; i++) {
        const char *const *check = ch_conf_check_argv(cfg, &tools[i]);
        take_program(&t, tools[i].command, tools[i].cwd, &p->tools[i]);
        if (check)
            take_program(&t, check, tools[i].cwd, &p->checks[i]);
    }
    for (size_t e = 0; e < CH_CONF_HOOK_EVENTS; e++)
        take_hooks(&t, &cfg->conf.hooks[e], &p->hooks[e]);
    for (size_t i = 0; i < cfg->conf.mcp.n; i++)
        if (servers[i].command)
            ch_pins_take(cfg->arena, ch_conf_mcp_command(cfg, servers[i].command), cfg->dir,
                         t.below, cfg->file, &p->servers[i]);
    p->taken = true;
    return p;
}

/* --- using them */

void ch_conf_programs_init(chela_config *cfg) {
    cfg->programs = ch_arena_zalloc(cfg->arena, sizeof(*cfg->programs));
}

struct telling {
    const chela_config *cfg;
    ch_conf_program_fn *fn;
    void *user;
};

static void tell(const struct telling *t, const char *list, const char *name, const char *option,
                 const struct ch_pins *pins) {
    CH_BUF_AUTO key = {0};
    size_t n = strlen(t->cfg->dir);
    ch_buf_addf(&key, "%s[%s].%s", list, name, option);
    for (; pins; pins = pins->more)
        for (size_t i = 0; i < pins->n; i++) {
            const char *file = pins->words[i].file;
            if (!file)
                continue;
            bool here = strncmp(file, t->cfg->dir, n) == 0 && file[n] == '/';
            t->fn(ch_buf_str(&key), here ? file + n + 1 : file, pins->words[i].digest, t->user);
        }
}

static void tell_hooks(const struct telling *t, enum ch_hook_event event,
                       const struct ch_pins *pins) {
    const struct ch_conf_list *list = &t->cfg->conf.hooks[event];
    const struct ch_conf_hook_program *hooks = list->items;
    CH_BUF_AUTO key = {0};
    ch_buf_addf(&key, "hooks.%s", ch_hook_event_key(event));
    for (size_t i = 0; i < list->n; i++)
        tell(t, ch_buf_str(&key), hooks[i].item.name, "command", &pins[i]);
}

void ch_conf_programs(const chela_config *cfg, ch_conf_program_fn *fn, void *user) {
    const struct ch_conf_tool *tools = cfg->conf.tools.items;
    const struct ch_conf_mcp *servers = cfg->conf.mcp.items;
    const struct ch_conf_programs *p = programs_take(cfg);
    const struct telling t = {cfg, fn, user};
    for (size_t i = 0; i < cfg->conf.tools.n; i++)
        tell(&t, "tools.custom", tools[i].item.name, "command", &p->tools[i]);
    for (size_t i = 0; i < cfg->conf.tools.n; i++)
        tell(&t, "tools.custom", tools[i].item.name, "check", &p->checks[i]);
    for (size_t i = 0; i < cfg->conf.mcp.n; i++)
        tell(&t, "mcp.servers", servers[i].item.name, "command", &p->servers[i]);
    for (size_t e = 0; e < CH_CONF_HOOK_EVENTS; e++)
        tell_hooks(&t, (enum ch_hook_event)e, p->hooks[e]);
}

void ch_conf_programs_agree(const chela_config *cfg) {
    programs_take(cfg);
    cfg->programs->agreed = true;
    cfg->programs->refused = cfg->programs->doubted = false;
}

void ch_conf_programs_refuse(const chela_config *cfg) {
    cfg->programs->none = (struct ch_pins){.config = cfg->file, .refused = true};
    cfg->programs->refused = true;
    cfg->programs->agreed = cfg->programs->doubted = false;
}

void ch_conf_programs_doubt(const chela_config *cfg) {
    ch_conf_programs_agree(cfg);
    cfg->programs->none = (struct ch_pins){.config = cfg->file, .refused = true};
    cfg->programs->doubted = true;
}

bool ch_conf_tools_are_doubted(const chela_config *cfg) {
    return cfg->programs->doubted;
}

void ch_conf_programs_forget(chela_config *cfg) {
    ch_conf_programs_init(cfg);
}

bool ch_conf_programs_agreed(const chela_config *cfg) {
    return cfg->programs->agreed;
}

const struct ch_pins *ch_conf_tool_pins(const chela_config *cfg, size_t i) {
    const struct ch_conf_programs *p = cfg->programs;
    return p->refused ? &p->none : p->agreed ? &p->tools[i] : NULL;
}

const struct ch_pins *ch_conf_check_pins(const chela_config *cfg, size_t i) {
    const struct ch_conf_programs *p = cfg->programs;
    return p->refused ? &p->none : p->agreed ? &p->checks[i] : NULL;
}

const struct ch_pins *ch_conf_hook_pins(const chela_config *cfg, size_t event, size_t i) {
    const struct ch_conf_programs *p = cfg->programs;
    if (p->refused || p->doubted)
        return &p->none;
    return p->agreed ? &p->hooks[event][i] : NULL;
}

const struct ch_pins *ch_conf_server_pins(const chela_config *cfg, size_t i) {
    const struct ch_conf_programs *p = cfg->programs;
    if (p->refused || p->doubted)
        return &p->none;
    return p->agreed && p->servers[i].n ? &p->servers[i] : NULL;
}
