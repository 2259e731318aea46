/* trust.c -- see trust.h. */
#include "config/trust.h"

#include <math.h>

#include "base/entry.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "config/patch.h"
#include "config/programs.h"
#include "config/show.h"
#include "tool/registry/registry.h"
#include "json/number.h"
#include "json/writer.h"

/* The kinds of deciding options, as shown to people. A question lists the kinds in this
 * order: the gravest last, next to the answer. */
static const char *const kinds[] = {"prompt",  "behavior",   "limit",  "model",
                                    "file",    "schedule",   "server", "endpoint",
                                    "sandbox", "permission", "key",    "command", "program"};

#define HARMLESS "harmless"

/* The first row that matches an option tells its kind. */
static const struct {
    enum ch_scope scope;
    const char *keys; /* globs */
    const char *kind;
} rows[] = {
    {CH_SCOPE_FILE, "prompts.pin,prompts.rollout,language", HARMLESS},
    {CH_SCOPE_FILE, "*Env,*File,gateway.tls.key", "key"},
    {CH_SCOPE_FILE, "databases,webFetch.*,webSearch.*,mail.*,telemetry.*", "endpoint"},
    {CH_SCOPE_FILE, "sandbox.*,apply", "sandbox"},
    {CH_SCOPE_FILE, "approvals,egress.*,flow.*", "permission"},
    {CH_SCOPE_FILE, "gateway.*", "server"},
    {CH_SCOPE_FILE, "store,durability,prompts.dir,memory.*", "file"},
    {CH_SCOPE_AGENT, "id,name,description", HARMLESS},
    {CH_SCOPE_AGENT, "systemPrompt,context.rules,context.softRules,context.reminder", "prompt"},
    {CH_SCOPE_AGENT, "apply", "sandbox"},
    {CH_SCOPE_AGENT, "limits.sumUp", "behavior"},
    {CH_SCOPE_AGENT, "limits.*", "limit"},
    {CH_SCOPE_AGENT, "model,embedding,roles.*,compaction.model,heartbeat.opinion", "model"},
    {CH_SCOPE_AGENT, "tools.*,egress.*,skills.*,agents,handoff,sendTo,delegation.*", "permission"},
    {CH_SCOPE_AGENT, "workspaceDir,context.files,context.docs,heartbeat.memory", "file"},
    {CH_SCOPE_AGENT, "wake.*", "schedule"},
    {CH_SCOPE_PROVIDER, "apiKeyEnv,apiKeyFile,headers", "key"},
    {CH_SCOPE_PROVIDER, "*", "endpoint"},
    {CH_SCOPE_MODEL, "*", "model"},
    {CH_SCOPE_TOOL, "*", "command"},
    {CH_SCOPE_MCP, "url", "endpoint"},
    {CH_SCOPE_MCP, "headers,auth.*", "key"},
    {CH_SCOPE_MCP, "sandbox*", "sandbox"},
    {CH_SCOPE_MCP, "*", "command"},
    {CH_SCOPE_CHANNEL, "*Env,*File", "key"},
    {CH_SCOPE_CHANNEL, "domain,*Url", "endpoint"},
    {CH_SCOPE_CHANNEL, "*", "server"},
    {CH_SCOPE_POLICY, "*", "permission"},
    {CH_SCOPE_HOOK_PROGRAM, "*", "command"},
    {CH_SCOPE_HOOK, "secretEnv", "key"},
    {CH_SCOPE_HOOK, "*", "server"},
    {CH_SCOPE_SCHEDULE, "*", "schedule"},
    {CH_SCOPE_BUDGET, "*", "server"},
    {CH_SCOPE_SECRET, "*", "key"},
};

static const char *kind_of(const struct ch_option *o) {
    for (size_t i = 0; i < CH_LEN(rows); i++)
        if (o->scope == rows[i].scope &&
            ch_tool_matches(ch_sv_str(rows[i].keys), ch_sv_str(o->key)))
            return rows[i].kind;
    return "behavior";
}

/* --- exact values */

static void add_exact_text(struct ch_buf *out, const char *text) {
    ch_buf_addf(out, "%zu:%s", strlen(text), text);
}

static void add_exact_list(struct ch_buf *out, const char *const *list) {
    ch_buf_add_str(out, list ? "[" : "");
    for (; list && *list; list++)
        add_exact_text(out, *list);
}

/* Append a text that differs for different values; nothing if the option is not
 * set. An empty list is a value. */
static void add_exact(struct ch_buf *out, const struct ch_option *o, const void *at) {
    const struct ch_conf_approvals *approvals = at;
    CH_BUF_AUTO text = {0};
    if (ch_cfg_member(o->type) == CH_MEMBER_TEXTS) {
        add_exact_list(out, *(const char *const *const *)at);
    } else if (o->type == CH_CFG_APPROVALS) {
        if (approvals->levels)
            add_exact_text(out, approvals->levels);
        add_exact_list(out, approvals->rules);
    } else if (o->type == CH_CFG_TEXT) { /* for an address, the whole text with its password */
        if (*(const char *const *)at)
            add_exact_text(out, *(const char *const *)at);
    } else {
        ch_conf_show_value(&text, o, at);
        if (text.n)
            add_exact_text(out, ch_buf_str(&text));
    }
}

/* --- the digest */

struct digesting {
    struct ch_sha256 sha;
    bool rights_only; /* without the options that a program may change (patch.h) */
};

static void digest_option(const struct ch_option *o, const void *at, const char *key, bool item,
                          void *user) {
    struct digesting *d = user;
    CH_BUF_AUTO value = {0}, line = {0};
    bool is_agent = item && o->scope == CH_SCOPE_AGENT && strcmp(o->key, "id") == 0;
    add_exact(&value, o, at);
    if (!value.n || (!is_agent && strcmp(kind_of(o), HARMLESS) == 0))
        return;
    if (d->rights_only && ch_config_may_patch(o))
        return;
    add_exact_text(&line, key);
    ch_sha256_add(&d->sha, line.p, line.n);
    ch_sha256_add(&d->sha, value.p, value.n);
    ch_sha256_add(&d->sha, "\n", 1);
}

static void conf_digest(const struct ch_conf *conf, bool rights_only,
                        unsigned char out[CH_SHA256_SIZE]) {
    struct digesting d = {.rights_only = rights_only};
    ch_sha256_init(&d.sha);
    ch_conf_each(conf, digest_option, &d);
    ch_sha256_end(&d.sha, out);
}

void ch_conf_digest(const struct ch_conf *conf, unsigned char out[CH_SHA256_SIZE]) {
    conf_digest(conf, false, out);
}

static void digest_program(const char *key, const char *file,
                           const unsigned char digest[CH_SHA256_SIZE], void *user) {
    struct digesting *d = user;
    CH_BUF_AUTO line = {0};
    add_exact_text(&line, key);
    add_exact_text(&line, file);
    ch_sha256_add(&d->sha, line.p, line.n);
    ch_sha256_add(&d->sha, digest, CH_SHA256_SIZE);
}

void ch_conf_programs_digest(const chela_config *cfg, unsigned char out[CH_SHA256_SIZE]) {
    struct digesting d = {.rights_only = false};
    ch_sha256_init(&d.sha);
    ch_conf_programs(cfg, digest_program, &d);
    ch_sha256_end(&d.sha, out);
}

static bool same_programs(const chela_config *a, const chela_config *b) {
    unsigned char one[CH_SHA256_SIZE], other[CH_SHA256_SIZE];
    ch_conf_programs_digest(a, one);
    ch_conf_programs_digest(b, other);
    return ch_sha256_equal(one, other);
}

int chela_config_same_rights(const chela_config *a, const chela_config *b) {
    CH_NEEDS_OR(a, NULL, 0);
    CH_NEEDS_OR(b, NULL, 0);
    unsigned char one[CH_SHA256_SIZE], other[CH_SHA256_SIZE];
    conf_digest(&a->conf, true, one);
    conf_digest(&b->conf, true, other);
    return ch_sha256_equal(one, other) && (!ch_conf_programs_agreed(a) || same_programs(a, b));
}

/* --- the deciding options */

struct claim {
    const char *kind, *key, *text;
    struct claim *next;
};

struct claims {
    struct ch_arena arena;
    struct claim *first, **last; /* in the order of the options */
};

/* The members of a list in quotes, so that one is not taken for two; or the value as
 * users would write it. */
static void show_value(struct ch_buf *out, const struct ch_option *o, const void *at) {
    if (o->type != CH_CFG_COMMAND && o->type != CH_CFG_TEXTS && o->type != CH_CFG_PATHS &&
        o->type != CH_CFG_PLACES && o->type != CH_CFG_INSIDE) {
        ch_conf_show_value(out, o, at);
        return;
    }
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '[');
    for (const char *const *e = *(const char *const *const *)at; e && *e; e++)
        ch_jw_cstr(&w, *e);
    ch_jw_end(&w, ']');
}

/* Secrets are replaced and long values cut; both keep the start of a digest, so
 * that a change can be seen. */
static void show_claim(struct ch_buf *out, const struct ch_option *o, const void *at,
                       struct ch_sv exact) {
    unsigned char digest[CH_SHA256_SIZE];
    char hex[2 * CH_SHA256_SIZE + 1];
    CH_BUF_AUTO value = {0};
    show_value(&value, o, at);
    ch_sha256_of(exact, digest);
    ch_sha256_hex(digest, hex);
    bool secret = o->flags & (CH_CFG_SECRET | CH_CFG_ADDRESS);
    if (o->flags & CH_CFG_SECRET)
        ch_buf_addf(out, "(not shown, sha256 %.8s)", hex);
    else if (value.n > CH_LIMIT_CLAIM)
        ch_buf_addf(out, "%.*s... (%zu bytes, sha256 %.8s)",
                    CH_SV_FMT(ch_utf8_cut(ch_buf_sv(&value), CH_LIMIT_CLAIM)), value.n, hex);
    else if (secret && strstr(ch_buf_str(&value), "***"))
        ch_buf_addf(out, "%s (sha256 %.8s)", value.p, hex);
    else
        ch_buf_add_str(out, value.n ? value.p : "(none)");
}

static void add_claim(struct claims *c, const char *kind, const char *key, struct ch_sv text) {
    struct claim *claim = ch_arena_alloc(&c->arena, sizeof(*claim));
    *claim = (struct claim){.kind = kind,
                            .key = ch_arena_str(&c->arena, ch_sv_str(key)),
                            .text = ch_arena_str(&c->arena, text)};
    *c->last = claim;
    c->last = &claim->next;
}

static void claim_option(const struct ch_option *o, const void *at, const char *key, bool item,
                         void *user) {
    struct claims *c = user;
    CH_BUF_AUTO exact = {0}, text = {0};
    (void)item;
    add_exact(&exact, o, at);
    if (!exact.n)
        return;
    show_claim(&text, o, at, ch_buf_sv(&exact));
    add_claim(c, kind_of(o), key, ch_buf_sv(&text));
}

static void claim_program(const char *key, const char *file,
                          const unsigned char digest[CH_SHA256_SIZE], void *user) {
    CH_BUF_AUTO text = {0};
    char hex[2 * CH_SHA256_SIZE + 1];
    ch_sha256_hex(digest, hex);
    ch_buf_addf(&text, "%s (sha256 %.16s)", file, hex);
    add_claim(user, "program", key, ch_buf_sv(&text));
}

void chela_config_claims(const chela_config *cfg, chela_config_claim_fn *fn, void *user) {
    CH_NEEDS_OR(cfg, NULL, );
    struct claims c = {.last = &c.first};
    ch_conf_each(&cfg->conf, claim_option, &c);
    ch_conf_programs(cfg, claim_program, &c);
    for (size_t i = 0; i < CH_LEN(kinds); i++)
        for (const struct claim *claim = c.first; claim; claim = claim->next)
            if (strcmp(claim->kind, kinds[i]) == 0)
                fn(claim->kind, claim->key, claim->text, user);
    ch_arena_release(&c.arena);
}

/* --- a file that is not trusted */

/* The limit of an option as a number, infinite if there is none. member NULL: the
 * option's default. */
static double limit_of(const struct ch_option *o, const void *member) {
    double n = !member                    ? ch_number_strtod(o->otherwise, NULL)
               : o->type == CH_CFG_BUDGET ? *(const double *)member
                                          : (double)*(const int64_t *)member;
    if (!member && o->type == CH_CFG_SECONDS)
        n *= 1000;
    return n > 0 ? n : INFINITY;
}

static bool limit_is_set(const struct ch_option *o, const void *member) {
    return o->type == CH_CFG_BUDGET ? *(const double *)member != 0 : *(const int64_t *)member != 0;
}

/* The member of the agent, or of the defaults if the agent does not set it. */
static const char *limit_member(const struct ch_option *o, const struct ch_conf_agent *a,
                                const struct ch_conf_agent *defaults) {
    const char *own = (const char *)a + o->offset;
    return limit_is_set(o, own) ? own : (const char *)defaults + o->offset;
}

struct layer {
    const struct ch_conf_agent *agent, *defaults;
};

/* kind_of compares many globs: it is asked about few options. */
static bool is_limit(const struct ch_option *o) {
    return o->scope == CH_SCOPE_AGENT && ch_sv_starts(ch_sv_str(o->key), "limits.") &&
           strcmp(kind_of(o), "limit") == 0;
}

/* Take the file's limits where they are lower. */
static void lower_limits(const struct layer *file, const struct layer *own,
                         struct ch_conf_agent *out) {
    for (const struct ch_option *o = ch_options; o->key; o++) {
        if (!is_limit(o))
            continue;
        const char *wanted = limit_member(o, file->agent, file->defaults);
        const char *held = limit_member(o, own->agent, own->defaults);
        if (limit_of(o, wanted) < limit_of(o, limit_is_set(o, held) ? held : NULL))
            memcpy((char *)out + o->offset, wanted,
                   o->type == CH_CFG_BUDGET ? sizeof(double) : sizeof(int64_t));
    }
}

#define LAYER(l, member) ((l)->agent->member ? (l)->agent->member : (l)->defaults->member)

/* Of the skills that a list allows, those of the user: the others came with the file. */
static const char *users_skills(struct ch_arena *a, const char *allow) {
    struct ch_sv rest = ch_sv_str(allow ? allow : "*");
    CH_BUF_AUTO out = {0};
    while (rest.n) {
        struct ch_sv one = ch_sv_split(&rest, ',');
        ch_buf_addf(&out, "%s%s%.*s", out.n ? "," : "", ch_sv_starts(one, "user:") ? "" : "user:",
                    CH_SV_FMT(one));
    }
    return ch_arena_str(a, ch_buf_sv(&out));
}

static void restrict_agent(const struct layer *file, const struct layer *own, struct ch_arena *a,
                           struct ch_conf_agent *out) {
    *out = *own->agent;
    lower_limits(file, own, out);
    out->skills = users_skills(a, LAYER(own, skills));
    if (LAYER(file, system))
        out->system = LAYER(file, system);
    if (LAYER(file, rules))
        out->rules = LAYER(file, rules);
    if (LAYER(file, reminder))
        out->reminder = LAYER(file, reminder);
}

static const struct ch_conf_agent *agent_named(const struct ch_conf_list *l, const char *name) {
    const struct ch_conf_agent *agents = l->items;
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(agents[i].item.name, name) == 0)
            return &agents[i];
    return NULL;
}

/* An agent of the file has the rights of the user's agent of that id, else of the
 * user's first agent, else the defaults. */
static const struct ch_conf_agent *model_agent(const struct ch_conf *own, const char *name) {
    static const struct ch_conf_agent nothing;
    const struct ch_conf_agent *same = agent_named(&own->agents, name);
    return same ? same : own->agents.n ? own->agents.items : &nothing;
}

/* Combine the harmless options of `file`, which is not trusted, with the options of `own`;
 * no skills of the workspace. The result borrows from both. */
static void restrict_conf(const struct ch_conf *file, const struct ch_conf *own,
                          struct ch_arena *a, struct ch_conf *out) {
    static const struct ch_conf_agent nothing;
    const struct ch_conf_agent *theirs = file->agents.items, *mine = own->agents.items;
    *out = *own;
    restrict_agent(&(struct layer){&file->defaults, &nothing},
                   &(struct layer){&own->defaults, &nothing}, a, &out->defaults);
    struct ch_conf_agent *list =
        ch_arena_zalloc(a, (file->agents.n + own->agents.n + 1) * sizeof(*list));
    size_t n = 0;
    for (size_t i = 0; i < file->agents.n; i++, n++) {
        restrict_agent(&(struct layer){&theirs[i], &file->defaults},
                       &(struct layer){model_agent(own, theirs[i].item.name), &own->defaults}, a,
                       &list[n]);
        list[n].item = theirs[i].item;
        list[n].title = theirs[i].title;
        list[n].description = theirs[i].description;
    }
    for (size_t i = 0; i < own->agents.n; i++)
        if (!agent_named(&file->agents, mine[i].item.name))
            restrict_agent(&(struct layer){&nothing, &file->defaults},
                           &(struct layer){&mine[i], &own->defaults}, a, &list[n++]);
    out->agents = (struct ch_conf_list){list, n};
    out->prompts.pins = file->prompts.pins.n ? file->prompts.pins : own->prompts.pins;
    out->prompts.rollout = file->prompts.rollout.n ? file->prompts.rollout : own->prompts.rollout;
}

void chela_config_restrict(chela_config *cfg, chela_config *own) {
    CH_NEEDS_OR(cfg, NULL, );
    static const struct ch_conf nothing;
    struct ch_conf merged;
    restrict_conf(&cfg->conf, own ? &own->conf : &nothing, cfg->arena, &merged);
    cfg->conf = merged;
    ch_conf_programs_forget(cfg);
    ch_conf_sort_agents(cfg);
    cfg->own = own;
    if (own) { /* positions and relative paths refer to the user's file */
        cfg->file = own->file;
        cfg->dir = own->dir;
    }
}
