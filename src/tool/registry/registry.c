/* registry.c -- see registry.h.
 *
 * A tool's texts are copied and its schema is stored compact, so later changes by the host
 * do not affect requests. */
#include "tool/registry/registry.h"

#include <stdatomic.h>

#include "base/arena.h"
#include "base/choice.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/utf8.h"
#include "base/wild.h"
#include "base/opts.h"
#include "tool/registry/argument_validation.h"
#include "tool/registry/policy.h"
#include "tool/result/similar.h"
#include "json/json.h"
#include "json/writer.h"
#include "model/message/ids.h"

#define NAME_MAX_CHARS 64 /* limit that every vendor accepts */
#define SUMMARY_MAX 200

/* --- one tool ------------------------------------------------------------ */

static bool owns_description(unsigned flags) {
    return !(flags & CH_TOOL_CONSTANT) || flags & CH_TOOL_DESCRIBED;
}

void ch_tool_ref(struct ch_tool *t) {
    atomic_fetch_add(&t->refs, 1);
}

void ch_tool_unref(struct ch_tool *t) {
    if (!t || atomic_fetch_sub(&t->refs, 1) != 1)
        return;
    if (t->ops && t->ops->free)
        t->ops->free(t->impl);
    if (t->release)
        t->release(t->user);
    if (!(t->flags & CH_TOOL_CONSTANT)) {
        ch_free((char *)t->name);
        ch_free((char *)t->schema);
        ch_free((char *)t->origin);
    }
    if (owns_description(t->flags))
        ch_free((char *)t->description);
    ch_contract_free(t->contract);
    ch_free(t);
}

static bool needs_contract(unsigned flags, chela_tool_fn *check) {
    return check || flags & CH_TOOL_CLOSED || !(flags & CHELA_TOOL_FORGIVING);
}

static const char *registry_synonyms(unsigned flags, const char *given) {
    return !(flags & CH_TOOL_CLOSED) ? NULL : given ? given : "";
}

struct ch_contract *ch_tool_contract(struct ch_tool *t) {
    if (!t->contract && t->flags & CH_TOOL_CONSTANT && needs_contract(t->flags, t->check) &&
        ch_contract_new(ch_sv_str(t->schema), registry_synonyms(t->flags, t->synonyms),
                        &t->contract, NULL) < 0)
        ch_log(CH_LOG_ERROR, "tool", "%s: the schema is wrong", t->name);
    return t->contract;
}

static bool registry_name_ok(const char *name) {
    size_t n = 0;

    if (!name)
        return false;
    for (; name[n]; n++) {
        char c = name[n];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (n == NAME_MAX_CHARS || !(letter || (c >= '0' && c <= '9') || c == '_' || c == '-'))
            return false;
    }
    return n > 0;
}

struct ch_sv ch_first_sentence(struct ch_sv text) {
    static const char stop[] = "\xe3\x80\x82"; /* the ideographic full stop */
    size_t n = 0;

    for (; n < text.n && text.p[n] != '\n' && n < SUMMARY_MAX; n++) {
        struct ch_sv rest = ch_sv(text.p + n, text.n - n);
        if (rest.p[0] == '.' && (rest.n == 1 || rest.p[1] == ' ' || rest.p[1] == '\n'))
            return ch_sv(text.p, n + 1);
        if (rest.n >= 3 && memcmp(rest.p, stop, 3) == 0)
            return ch_sv(text.p, n + 3);
    }
    return ch_utf8_cut(text, n);
}

/* Compact the schema and add the "type" that vendors require. */
static int registry_read_schema(const char *text, const char *name, char **out,
                                struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    struct chela_error why = {0};
    const struct ch_json *schema;
    CH_BUF_AUTO buf = {0};
    struct ch_jw w = ch_jw(&buf);

    if (!text)
        text = "{\"type\":\"object\",\"properties\":{}}";
    int rc = ch_json_parse(&arena, ch_sv_str(text), CH_JSON_STRICT, &schema, NULL, &why);
    if (rc < 0)
        return ch_fail(err, CHELA_EINVAL, "tool %s: schema: %s", name, why.message);
    if (schema->type != CH_JSON_OBJECT)
        return ch_fail(err, CHELA_EINVAL, "tool %s: the schema must be a JSON object", name);
    const struct ch_json *type = ch_json_get(schema, "type");
    if (type && !ch_sv_is(ch_json_str(type), "object"))
        return ch_fail(err, CHELA_EINVAL, "tool %s: the schema's type must be \"object\"", name);

    ch_jw_begin(&w, '{');
    if (!type)
        ch_jw_kcstr(&w, "type", "object");
    for (CH_JSON_MEMBERS(key, value, schema)) {
        ch_jw_key_sv(&w, ch_json_str(key));
        ch_jw_value(&w, value);
    }
    ch_jw_end(&w, '}');
    *out = ch_buf_take(&buf);
    return 0;
}

static int64_t resolve_timeout(int64_t ms) {
    return ms == 0 ? CH_DEFAULT_TOOL_MS : ms < 0 ? 0 : CH_MIN(ms, CH_LIMIT_WAIT_MS);
}

static int registry_read_opts(const struct chela_tool_opts *opts, struct chela_tool_opts *out,
                              struct chela_error *err) {
    int rc = CH_OPTS_NEED(chela_tool_opts, out, opts, err);
    if (rc < 0)
        return rc;
    if (!registry_name_ok(out->name))
        return ch_fail(err, CHELA_EINVAL, "bad tool name \"%.80s\": use 1 to %d of a-z A-Z 0-9 _ -",
                       out->name ? out->name : "", NAME_MAX_CHARS);
    rc = ch_choice_check(CHELA_CHOICE_EFFECT, out->effect, err);
    return rc < 0 ? rc : ch_choice_check(CHELA_CHOICE_PERMISSION, out->permission, err);
}

static int check_runner(const struct chela_tool_opts *o, const struct ch_tool_ops *ops,
                        struct chela_error *err) {
    bool client = o->flags & CHELA_TOOL_CLIENT;

    if (!ops && !client && !o->fn)
        return ch_fail(err, CHELA_EINVAL, "tool %s: there is no function to run", o->name);
    if (client && (ops || o->fn))
        return ch_fail(err, CHELA_EINVAL, "tool %s: the host runs it, so fn must be NULL", o->name);
    return 0;
}

/* --- the set ------------------------------------------------------------- */

void ch_registry_release(struct ch_registry *r) {
    for (size_t i = 0; i < r->n; i++)
        ch_tool_unref(r->tools[i]);
    ch_free(r->tools);
    ch_free(r->slots);
    *r = (struct ch_registry){.revision = r->revision + 1};
}

void ch_registry_share(struct ch_registry *r, const struct ch_registry *from) {
    *r = (struct ch_registry){
        .n = from->n, .cap = from->n, .nslots = from->nslots, .revision = from->revision};
    if (from->n)
        r->tools = ch_memdup(from->tools, from->n * sizeof(*r->tools));
    if (from->nslots)
        r->slots = ch_memdup(from->slots, from->nslots * sizeof(*r->slots));
    for (size_t i = 0; i < r->n; i++)
        ch_tool_ref(r->tools[i]);
}

/* The slot of a name, or the free slot where the name belongs. */
static uint32_t *registry_slot(const struct ch_registry *r, struct ch_sv name) {
    size_t at = ch_hash(0, name) & (r->nslots - 1);

    while (r->slots[at] && !ch_sv_is(name, r->tools[r->slots[at] - 1]->name))
        at = (at + 1) & (r->nslots - 1);
    return &r->slots[at];
}

/* Build the table anew; at most half of the slots are used. */
static void registry_index(struct ch_registry *r) {
    r->nslots = r->nslots ? r->nslots : 16;
    while (r->nslots < 2 * r->cap)
        r->nslots *= 2;
    ch_free(r->slots);
    r->slots = ch_alloc(r->nslots * sizeof(*r->slots));
    for (size_t i = 0; i < r->n; i++)
        *registry_slot(r, ch_sv_str(r->tools[i]->name)) = (uint32_t)i + 1;
}

static void registry_append(struct ch_registry *r, struct ch_tool *t) {
    if (r->n == r->cap) {
        r->cap = r->cap ? 2 * r->cap : 8;
        r->tools = ch_realloc(r->tools, r->cap * sizeof(*r->tools));
        registry_index(r);
    }
    *registry_slot(r, ch_sv_str(t->name)) = (uint32_t)r->n + 1;
    r->tools[r->n++] = t;
    r->revision++;
}

/* Set both the compact schema and the compiled one, or neither. */
static int read_contract(const struct chela_tool_opts *o, const char **schema,
                         struct ch_contract **contract, struct chela_error *err) {
    struct chela_error why = {0};
    CH_AUTOFREE char *text = NULL;

    *schema = o->schema;
    if (o->flags & CH_TOOL_CONSTANT)
        return 0;
    int rc = registry_read_schema(o->schema, o->name, &text, err);
    if (rc < 0)
        return rc;
    if (needs_contract(o->flags, o->check))
        rc = ch_contract_new(ch_sv_str(text), registry_synonyms(o->flags, NULL), contract, &why);
    if (rc < 0)
        return ch_fail(err, CHELA_EINVAL, "tool %s: schema: %s", o->name, why.message);
    *schema = CH_TAKE(text);
    return 0;
}

static bool is_wait(int64_t ms) {
    return ms >= 0 && ms <= CH_LIMIT_WAIT_MS;
}

static int registry_check(const struct ch_registry *r, const struct chela_tool_opts *o,
                          const struct ch_tool_ops *ops, struct chela_error *err) {
    int rc = check_runner(o, ops, err);
    if (rc < 0)
        return rc;
    if (o->max_retries >= CH_LIMIT_RETRY_ATTEMPTS || !is_wait(o->retry_backoff_ms) ||
        !is_wait(o->retry_max_backoff_ms) || !is_wait(o->retry_deadline_ms))
        return ch_fail(err, CHELA_EINVAL, "tool %s: a retry option is out of range", o->name);
    const struct ch_tool *other = ch_registry_find(r, ch_sv_str(o->name));
    if (other && other->flags & CH_TOOL_CONSTANT)
        return ch_fail(err, CHELA_EEXIST,
                       "there is a tool named %s already: a built-in tool, whose place is free if "
                       "tools.deny names it",
                       o->name);
    if (other)
        return ch_fail(err, CHELA_EEXIST, "there is a tool named %s already", o->name);
    if (r->n >= CH_LIMIT_TOOLS)
        return ch_fail(err, CHELA_ELIMIT, "more than %d tools", CH_LIMIT_TOOLS);
    return 0;
}

static struct ch_tool *make_tool(const struct chela_tool_opts *o) {
    struct ch_tool *t = ch_alloc(sizeof(*t));
    atomic_init(&t->refs, 1);
    t->name = o->flags & CH_TOOL_CONSTANT ? o->name : ch_strdup(o->name);
    t->description = !owns_description(o->flags) ? o->description
                                                 : ch_strdup(o->description ? o->description : "");
    t->effect = o->effect;
    t->permission = o->permission;
    t->flags = o->flags;
    t->timeout_ms = resolve_timeout(o->timeout_ms);
    t->check = o->check;
    t->user = o->user;
    t->release = o->release;
    t->resources = o->resources;
    t->max_retries = o->max_retries < 0 ? 0 : o->max_retries ? o->max_retries : CH_DEFAULT_RETRIES;
    t->retry.backoff_ms = o->retry_backoff_ms;
    t->retry.max_backoff_ms =
        o->retry_max_backoff_ms ? o->retry_max_backoff_ms : CH_DEFAULT_MAX_BACKOFF_MS;
    t->retry.deadline_ms = o->retry_deadline_ms;
    return t;
}

int ch_registry_add(struct ch_registry *r, const struct chela_tool_opts *opts,
                    const struct ch_tool_ops *ops, void *impl, struct chela_error *err) {
    struct chela_tool_opts o;
    struct ch_contract *contract = NULL;
    const char *schema;

    int rc = registry_read_opts(opts, &o, err);
    if (rc == 0)
        rc = registry_check(r, &o, ops, err);
    if (rc < 0)
        return rc;
    rc = read_contract(&o, &schema, &contract, err);
    if (rc < 0)
        return rc;
    struct ch_tool *t = make_tool(&o);
    t->schema = schema;
    t->contract = contract;
    t->ops = ops;
    t->impl = impl;
    registry_append(r, t);
    return 0;
}

int ch_registry_remove(struct ch_registry *r, const char *name) {
    size_t i = r->nslots ? *registry_slot(r, ch_sv_str(name)) : 0;

    if (i-- == 0)
        return CHELA_ENOENT;
    ch_tool_unref(r->tools[i]);
    memmove(&r->tools[i], &r->tools[i + 1], (r->n - i - 1) * sizeof(*r->tools));
    r->n--;
    r->revision++;
    registry_index(r); /* later tools have moved */
    return 0;
}

struct ch_tool *ch_registry_find(const struct ch_registry *r, struct ch_sv name) {
    size_t i = r->nslots ? *registry_slot(r, name) : 0;

    return i ? r->tools[i - 1] : NULL;
}

void ch_registry_similar(const struct ch_registry *r, const struct ch_policy *policy,
                         struct ch_sv name, struct ch_buf *out) {
    CH_ARENA_AUTO arena = {0};
    struct ch_similar similar = {.wanted = name, .arena = &arena};

    for (size_t i = 0; i < r->n; i++)
        if (ch_policy_permits(policy, r->tools[i]))
            ch_similar_offer(&similar, ch_sv_str(r->tools[i]->name));
    ch_similar_list(&similar, out);
}

struct ch_tool_def ch_tool_def(const struct ch_tool *t) {
    return (struct ch_tool_def){
        .name = ch_sv_str(t->name),
        .description = ch_sv_str(t->description),
        .schema = ch_sv_str(t->schema),
    };
}

void ch_registry_defs(const struct ch_registry *r, struct ch_tool_def *out) {
    for (size_t i = 0; i < r->n; i++)
        out[i] = ch_tool_def(r->tools[i]);
}

/* --- patterns ------------------------------------------------------------ */

bool ch_tool_matches(struct ch_sv patterns, struct ch_sv name) {
    while (patterns.n) {
        struct ch_sv pattern = ch_sv_trim(ch_sv_split(&patterns, ','));
        if (pattern.n && ch_wild(pattern, name))
            return true;
    }
    return false;
}
