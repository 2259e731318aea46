/* parse.c -- parse a configuration file with the table of options.
 *
 * The walk follows the table: a mapping is entered only if a row is below it, so the depth
 * is that of the table, whatever the file nests. An unknown key is an error in sections that
 * decide who may do what or which agent answers, and a warning elsewhere; both suggest the
 * nearest known key. A null value counts as absent. The walk goes on after an error, so that
 * all of them are listed. */
#include "config/option_keys.h"
#include "config/parse.h"

#include <stdarg.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/redact.h"
#include "base/utf8.h"
#include "channel/channels.h"
#include "config/programs.h"
#include "model/catalog/provider.h"
#include "model/catalog/service.h"
#include "model/message/ids.h"
#include "tool/builtin/builtin.h"
#include "tool/registry/policy.h"

/* --- messages --------------------------------------------------------------- */

static void parse_add_place(struct ch_buf *out, const struct ch_cfg_parser *p,
                            const struct ch_json *v) {
    struct ch_json_where w = ch_yaml_where(&p->yaml, v);
    ch_buf_addf(out, "%s:%u:%u: ", p->cfg->file, w.line, w.column);
    if (p->path.n)
        ch_buf_addf(out, "%s: ", ch_buf_str(&p->path));
}

void ch_cfg_place(struct ch_cfg_parser *p, const struct ch_json *v, const char *value) {
    CH_BUF_AUTO text = {0};
    struct ch_conf_place *place = ch_arena_alloc(p->cfg->arena, sizeof(*place));
    parse_add_place(&text, p, v);
    *place = (struct ch_conf_place){
        value, ch_arena_str(p->cfg->arena, ch_sv(text.p, text.n - strlen(": "))), p->cfg->places};
    p->cfg->places = place;
}

int ch_cfg_bad(struct ch_cfg_parser *p, const struct ch_json *v, const char *fmt, ...) {
    CH_BUF_AUTO text = {0};
    va_list ap;
    parse_add_place(&text, p, v);
    va_start(ap, fmt);
    ch_buf_vaddf(&text, fmt, ap);
    va_end(ap);
    if (p->complaints++ == 0)
        ch_fail(&p->first, CHELA_ECONFIG, "%s", ch_buf_str(&text));
    ch_redact_line(text.p);
    if (p->opts.complain && p->complaints <= CH_LIMIT_CONFIG_WARNINGS)
        p->opts.complain(text.p, p->opts.user);
    return CHELA_ECONFIG;
}

int ch_cfg_wrong_type(struct ch_cfg_parser *p, const struct ch_json *v, const char *expected) {
    bool empty = v->type >= CH_JSON_ARRAY && v->n == 0;
    return ch_cfg_bad(p, v, "expected %s, not %s%s", expected, empty ? "an empty " : "",
                      ch_json_type_name(v->type));
}

void ch_cfg_warn(struct ch_cfg_parser *p, const struct ch_json *v, const char *fmt, ...) {
    if (!p->opts.warn || p->warnings++ > CH_LIMIT_CONFIG_WARNINGS)
        return;
    CH_BUF_AUTO text = {0};
    va_list ap;
    parse_add_place(&text, p, v);
    va_start(ap, fmt);
    if (p->warnings > CH_LIMIT_CONFIG_WARNINGS)
        ch_buf_add_str(&text, "more warnings follow");
    else
        ch_buf_vaddf(&text, fmt, ap);
    va_end(ap);
    ch_redact_line(text.p);
    p->opts.warn(text.p, p->opts.user);
}

/* --- position of the walk --------------------------------------------------------- */

static size_t enter_key(struct ch_cfg_parser *p, struct ch_sv key) {
    size_t mark = p->path.n;
    struct ch_sv cut = ch_utf8_cut(key, 64);
    ch_buf_addf(&p->path, "%s%.*s%s", mark ? "." : "", CH_SV_FMT(cut), cut.n < key.n ? "..." : "");
    return mark;
}

static size_t enter_index(struct ch_cfg_parser *p, size_t i) {
    size_t mark = p->path.n;
    ch_buf_addf(&p->path, "[%zu]", i);
    return mark;
}

static void parse_leave(struct ch_cfg_parser *p, size_t mark) {
    p->path.n = mark;
    p->path.p[mark] = '\0';
}

/* --- the walk ------------------------------------------------------------------ */

/* A mapping of a scope, or a mapping below its keys. */
struct place {
    enum ch_scope scope;
    bool item;          /* an entry of a list or map, not the defaults */
    struct ch_sv above; /* dotted key so far, "" at the top of the scope */
    char *out;          /* the scope's struct */
};

static int walk_mapping(struct ch_cfg_parser *p, const struct ch_json *v, const struct place *at);

/* Sections that decide who may do what or which agent answers: an ignored key
 * would make them more permissive than they read. */
static bool is_deciding(struct ch_sv key) {
    static const char *const sections[] = {"agents",    "policies", "approvals", "sandbox",
                                           "egress",    "tools",    "channels",  "gateway",
                                           "providers", "store",    "budgets",   "hooks",
                                           "flow",      "secrets"};
    for (size_t i = 0; i < CH_LEN(sections); i++)
        if (ch_sv_is(key, sections[i]))
            return true;
    return false;
}

/* The section of the current position; at the top level, the section that the author
 * probably meant. */
static struct ch_sv section_of(const struct ch_cfg_parser *p, const struct place *at,
                               struct ch_sv nearest) {
    if (at->scope == CH_SCOPE_FILE && !at->above.n)
        return nearest;
    return ch_sv(p->path.p, strcspn(p->path.p, ".["));
}

static int note_unknown(struct ch_cfg_parser *p, const struct ch_json *key,
                        const struct place *at) {
    struct ch_nearest near = ch_nearest(ch_json_str(key));
    const struct ch_option *o = NULL;
    struct ch_sv name;
    CH_BUF_AUTO what = {0};
    while (ch_option_each_key(at->scope, at->above, &o, &name))
        if (at->item || !(o->flags & CH_CFG_ITEM))
            ch_nearest_try(&near, name);
    ch_buf_add_str(&what, "unknown key");
    if (near.best.n)
        ch_buf_addf(&what, ", did you mean %.*s?", CH_SV_FMT(near.best));
    if (p->opts.strict || is_deciding(section_of(p, at, near.best)))
        return ch_cfg_bad(p, key, "%s", ch_buf_str(&what));
    ch_cfg_warn(p, key, "%s", ch_buf_str(&what));
    return 0;
}

static void check_required(struct ch_cfg_parser *p, const struct ch_json *v,
                           const struct place *at) {
    for (const struct ch_option *o = ch_options; at->item && o->key; o++) {
        bool needed = o->scope == at->scope && (o->flags & CH_CFG_REQUIRED);
        if (needed && !*(const char **)(at->out + o->offset)) {
            size_t mark = enter_key(p, ch_sv_str(o->key));
            ch_cfg_bad(p, v, "missing");
            parse_leave(p, mark);
        }
    }
}

static int read_scope(struct ch_cfg_parser *p, const struct ch_json *v, enum ch_scope scope,
                      bool item, void *out) {
    struct place at = {.scope = scope, .item = item, .above = CH_SV(""), .out = out};
    unsigned before = p->complaints;
    int rc = walk_mapping(p, v, &at);
    if (rc == 0 && p->complaints == before) /* a value that was refused is not missing */
        check_required(p, v, &at);
    return rc;
}

/* hashes: of the names of the items before i; the hash of item i is added. */
static int check_unique(struct ch_cfg_parser *p, const struct ch_json *v, const char *items,
                        size_t i, size_t size, uint64_t *hashes) {
    const char *name = ((const struct ch_conf_item *)(items + i * size))->name;
    hashes[i] = ch_hash(0, ch_sv_str(name));
    for (size_t k = 0; name && k < i; k++) {
        const struct ch_conf_item *other = (const struct ch_conf_item *)(items + k * size);
        if (hashes[k] == hashes[i] && other->name && strcmp(other->name, name) == 0)
            return ch_cfg_bad(p, v, "%s is there already, in line %u", name, other->where.line);
    }
    return 0;
}

static int parse_read_list(struct ch_cfg_parser *p, const struct ch_json *v,
                           const struct ch_option *o, struct ch_conf_list *list) {
    if (v->type != CH_JSON_ARRAY)
        return ch_cfg_wrong_type(p, v, "a list of mappings");
    if (v->n > CH_LIMIT_CONFIG_ITEMS)
        return ch_cfg_bad(p, v, "more than %d entries", CH_LIMIT_CONFIG_ITEMS);
    size_t size = ch_scope_size(o->of);
    char *items = list->items = ch_arena_zalloc(p->cfg->arena, v->n * size + 1);
    CH_AUTOFREE uint64_t *hashes = ch_malloc((v->n + 1) * sizeof(*hashes));
    for (CH_JSON_EACH(e, v)) {
        size_t i = list->n, mark = enter_index(p, i);
        struct ch_conf_item *item = (struct ch_conf_item *)(items + i * size);
        item->where = ch_yaml_where(&p->yaml, e);
        read_scope(p, e, o->of, true, item);
        if (!item->name && o->of == CH_SCOPE_HOOK_PROGRAM)
            item->name = ch_arena_printf(p->cfg->arena, "%zu", i + 1);
        check_unique(p, e, items, i, size, hashes);
        list->n++;
        parse_leave(p, mark);
    }
    return 0;
}

static int read_map(struct ch_cfg_parser *p, const struct ch_json *v, const struct ch_option *o,
                    struct ch_conf_list *list) {
    if (v->type != CH_JSON_OBJECT)
        return ch_cfg_wrong_type(p, v, "a mapping by name");
    if (v->n > CH_LIMIT_CONFIG_ITEMS)
        return ch_cfg_bad(p, v, "more than %d entries", CH_LIMIT_CONFIG_ITEMS);
    size_t size = ch_scope_size(o->of);
    char *items = list->items = ch_arena_zalloc(p->cfg->arena, v->n * size + 1);
    for (CH_JSON_MEMBERS(key, value, v)) {
        static const struct ch_option as_name = {.type = CH_CFG_NAME};
        struct ch_conf_item *item = (struct ch_conf_item *)(items + list->n * size);
        size_t mark = enter_key(p, ch_json_str(key));
        item->where = ch_yaml_where(&p->yaml, key);
        ch_cfg_value(p, key, &as_name, &item->name);
        if (value->type != CH_JSON_NULL)
            read_scope(p, value, o->of, true, item);
        list->n++;
        parse_leave(p, mark);
    }
    return 0;
}

static int note_unknown_channel(struct ch_cfg_parser *p, const struct ch_json *key) {
    struct ch_nearest near = ch_nearest(ch_json_str(key));
    for (size_t i = 0; ch_channel_name(i); i++)
        ch_nearest_try(&near, ch_sv_str(ch_channel_name(i)));
    if (near.best.n && !ch_sv_eq(near.best, near.word))
        return ch_cfg_bad(p, key, "unknown key, did you mean %.*s?", CH_SV_FMT(near.best));
    return ch_cfg_bad(p, key, "unknown key: there is no module libchela-channel-%.*s.so",
                      CH_SV_FMT(ch_utf8_cut(near.word, 64)));
}

static int note_unknown_option(struct ch_cfg_parser *p, const struct ch_json *key,
                               const struct ch_conf_channel *c) {
    struct ch_nearest near = ch_nearest(ch_json_str(key));
    for (const struct ch_option *o = c->rows; o->key; o++)
        ch_nearest_try(&near, ch_sv_str(o->key));
    for (const struct ch_option *o = ch_options; o->key; o++)
        if (o->scope == CH_SCOPE_CHANNEL)
            ch_nearest_try(&near, ch_sv_str(o->key));
    if (near.best.n)
        return ch_cfg_bad(p, key, "unknown key, did you mean %.*s?", CH_SV_FMT(near.best));
    return ch_cfg_bad(p, key, "unknown key");
}

static bool is_left_open(const struct ch_json *v) {
    if (ch_sv_is(ch_json_str(v), CHELA_CONFIG_OPEN))
        return true;
    for (CH_JSON_EACH(one, v->type == CH_JSON_ARRAY ? v : NULL))
        if (is_left_open(one))
            return true;
    return false;
}

static void note_left_open(struct ch_cfg_parser *p, const struct ch_json *v) {
    static const char text[] = "not filled in: replace " CHELA_CONFIG_OPEN
                               " by the value from the console of the service";
    if (p->opts.complete)
        ch_cfg_bad(p, v, "%s", text);
    else
        ch_cfg_warn(p, v, "%s", text);
}

static void note_unused(struct ch_cfg_parser *p, const struct ch_json *v,
                        const struct ch_conf_channel *c) {
    const struct chela_channel_option *o = ch_conf_channel_lacks(c);
    bool secret = o && o->kind == CHELA_CHANNEL_SECRET;
    if (secret)
        ch_cfg_warn(p, v, "the channel is not used: it needs %sEnv or %sFile", o->name, o->name);
    else if (o)
        ch_cfg_warn(p, v, "the channel is not used: it needs %s", o->name);
}

static bool is_exposed(struct ch_cfg_parser *p, const struct ch_conf_channel *c,
                       const struct ch_json *key, const struct ch_json *v) {
    struct ch_sv s = ch_json_str(v);
    return s.n && ch_conf_channel_is_exposed(c, ch_json_str(key), ch_arena_str(p->cfg->arena, s));
}

static void read_channel(struct ch_cfg_parser *p, const struct ch_json *v,
                         struct ch_conf_channel *c) {
    if (v->type == CH_JSON_NULL)
        return;
    if (v->type != CH_JSON_OBJECT) {
        ch_cfg_wrong_type(p, v, "a mapping");
        return;
    }
    for (const struct chela_channel_option *o = c->ops->options; o && o->name; o++)
        if (o->kind == CHELA_CHANNEL_SECRET && o->otherwise)
            ch_cfg_place(p, v, o->otherwise);
    for (CH_JSON_MEMBERS(key, value, v)) {
        size_t mark = enter_key(p, ch_json_str(key));
        const struct ch_option *o = ch_conf_channel_row(c, ch_json_str(key));
        if (!o)
            note_unknown_option(p, key, c);
        else if (is_left_open(value))
            note_left_open(p, value);
        else if (is_exposed(p, c, key, value))
            ch_cfg_bad(p, value,
                       "secrets would cross the network unencrypted: use https or wss (http and ws "
                       "only to 127.0.0.1 or [::1], with a port)");
        if (o && value->type != CH_JSON_NULL)
            ch_cfg_value(p, value, o, (char *)c + o->offset);
        parse_leave(p, mark);
    }
}

/* For a service that the library does not know, its module supplies the options. */
static int read_channels(struct ch_cfg_parser *p, const struct ch_json *v,
                         struct ch_conf_list *list) {
    if (v->type != CH_JSON_OBJECT)
        return ch_cfg_wrong_type(p, v, "a mapping by name");
    if (v->n > CH_LIMIT_CHANNELS)
        return ch_cfg_bad(p, v, "more than %d entries", CH_LIMIT_CHANNELS);
    struct ch_conf_channel *items = list->items =
        ch_arena_zalloc(p->cfg->arena, v->n * sizeof(*items) + 1);
    for (CH_JSON_MEMBERS(key, value, v)) {
        size_t mark = enter_key(p, ch_json_str(key));
        struct chela_error why = {0};
        struct ch_conf_channel *c = &items[list->n];
        const char *name = ch_arena_str(p->cfg->arena, ch_json_str(key));
        int rc = ch_channel_find(name, p->opts.module_path, &c->ops, &why);
        if (rc == CHELA_ENOENT)
            note_unknown_channel(p, key);
        else if (rc < 0)
            ch_cfg_bad(p, key, "%s", why.message);
        if (rc == 0) {
            c->item = (struct ch_conf_item){name, ch_yaml_where(&p->yaml, key)};
            c->rows = ch_conf_channel_rows(c->ops, p->cfg->arena);
            read_channel(p, value, c);
            note_unused(p, key, c);
            list->n++;
        }
        parse_leave(p, mark);
    }
    return 0;
}

static int read_option(struct ch_cfg_parser *p, const struct ch_json *v, const struct ch_option *o,
                       char *out) {
    switch (o->type) {
    case CH_CFG_ONE:
        return read_scope(p, v, o->of, false, out + o->offset);
    case CH_CFG_LIST:
        return parse_read_list(p, v, o, (struct ch_conf_list *)(out + o->offset));
    case CH_CFG_MAP:
        return read_map(p, v, o, (struct ch_conf_list *)(out + o->offset));
    case CH_CFG_CHANNELS:
        return read_channels(p, v, (struct ch_conf_list *)(out + o->offset));
    default:
        return ch_cfg_value(p, v, o, out + o->offset);
    }
}

static int walk_member(struct ch_cfg_parser *p, const struct ch_json *key, const struct ch_json *v,
                       const struct place *at) {
    struct ch_sv name = ch_json_str(key);
    CH_BUF_AUTO full = {0};
    if (at->above.n)
        ch_buf_addf(&full, "%.*s.", CH_SV_FMT(at->above));
    ch_buf_add_sv(&full, name);
    /* A dot in a key is not a path: `limits.maxTurns:` is not `limits:
     * {maxTurns:`. */
    bool plain = !memchr(name.p, '.', name.n);
    const struct ch_option *o = plain ? ch_option_find(at->scope, ch_buf_sv(&full)) : NULL;
    if (o && (at->item || !(o->flags & CH_CFG_ITEM)))
        return v->type == CH_JSON_NULL ? 0 : read_option(p, v, o, at->out);
    if (plain && !o && ch_option_is_group(at->scope, ch_buf_sv(&full))) {
        struct place inner = *at;
        inner.above = ch_buf_sv(&full);
        return v->type == CH_JSON_NULL ? 0 : walk_mapping(p, v, &inner);
    }
    return note_unknown(p, key, at);
}

static int walk_mapping(struct ch_cfg_parser *p, const struct ch_json *v, const struct place *at) {
    if (v->type != CH_JSON_OBJECT)
        return ch_cfg_wrong_type(p, v, "a mapping");
    for (CH_JSON_MEMBERS(key, value, v)) {
        size_t mark = enter_key(p, ch_json_str(key));
        walk_member(p, key, value, at);
        parse_leave(p, mark);
    }
    return 0;
}

/* --- checks of the whole file ---------------------------------------------------------- */

/* A misspelt name. `decides`: it withholds a tool or a call, which would then be
 * allowed: an error if a tool of a similar name exists. */
static void note_unknown_tool(struct ch_cfg_parser *p, const struct ch_json *v, bool decides) {
    static const char *const others[] = {"schedule",  "sessions_send", "handoff",     "chat_react",
                                         "chat_recall", "chat_mute",   "chat_remove", "gateway",
                                         "send_message"};
    const struct ch_conf_list *custom = &p->cfg->conf.tools;
    const struct ch_conf_tool *tools = custom->items;
    struct ch_nearest near = ch_nearest(ch_json_str(v));
    for (const struct chela_tool_opts *t = ch_builtin_tools; t->name; t++)
        ch_nearest_try(&near, ch_sv_str(t->name));
    for (size_t i = 0; i < CH_LEN(others); i++)
        ch_nearest_try(&near, ch_sv_str(others[i]));
    for (size_t i = 0; i < custom->n; i++)
        if (tools[i].item.name)
            ch_nearest_try(&near, ch_sv_str(tools[i].item.name));
    if (near.best.n && ch_sv_eq(near.best, near.word))
        return;
    if (near.best.n && decides)
        ch_cfg_bad(p, v, "there is no tool %.*s, did you mean %.*s?", CH_SV_FMT(near.word),
                   CH_SV_FMT(near.best));
    else if (near.best.n)
        ch_cfg_warn(p, v, "there is no tool %.*s, did you mean %.*s?", CH_SV_FMT(near.word),
                    CH_SV_FMT(near.best));
    else
        ch_cfg_warn(p, v, "there is no tool %.*s", CH_SV_FMT(near.word));
}

static bool parse_is_name(struct ch_sv s) {
    return s.n && !memchr(s.p, '*', s.n) && !memchr(s.p, '?', s.n) && !memchr(s.p, ':', s.n);
}

/* Names that match no tool; a glob may match nothing. */
static void check_tool_names(struct ch_cfg_parser *p, const struct ch_json *tools) {
    static const char *const lists[] = {"allow", "deny"};
    for (size_t i = 0; i < CH_LEN(lists); i++) {
        size_t mark = p->path.n;
        ch_buf_addf(&p->path, ".%s", lists[i]);
        for (CH_JSON_EACH(e, ch_json_get(tools, lists[i])))
            if (parse_is_name(ch_json_str(e)))
                note_unknown_tool(p, e, strcmp(lists[i], "deny") == 0);
        parse_leave(p, mark);
    }
}

/* Warn about tools that are both requested and denied; they are denied. tools:
 * the lists in the file at this place, for the position of the warning; an
 * agent's deny list may come from the defaults. */
static void check_contradictions(struct ch_cfg_parser *p, const struct ch_json *tools,
                                 const char *deny, const char *name) {
    size_t mark = p->path.n;
    ch_buf_add_str(&p->path, ".allow");
    for (CH_JSON_EACH(e, ch_json_get(tools, "allow")))
        if (deny && ch_policy_contradicts(ch_json_str(e), ch_sv_str(deny)))
            ch_cfg_warn(p, e, "%.*s is in %s as well, which wins",
                        CH_SV_FMT(ch_json_str(e)), name);
    parse_leave(p, mark);
}

/* name: name of the deny list for users. */
static void check_lists(struct ch_cfg_parser *p, const struct ch_json *tools, const char *deny,
                        const char *name) {
    check_tool_names(p, tools);
    check_contradictions(p, tools, deny, name);
}

static void check_all_tool_names(struct ch_cfg_parser *p) {
    const struct ch_json *agents = ch_json_get(p->yaml.root, "agents");
    const struct ch_json *defaults = ch_json_get(agents, "defaults");
    const struct ch_conf_agent *list = p->cfg->conf.agents.items;
    const char *deny = p->cfg->conf.defaults.deny;
    ch_buf_add_str(&p->path, "agents.defaults.tools");
    check_lists(p, ch_json_get(defaults, "tools"), deny, "tools.deny");
    size_t i = 0;
    for (CH_JSON_EACH(e, ch_json_get(agents, "list"))) {
        if (i == p->cfg->conf.agents.n)
            break;
        parse_leave(p, 0);
        ch_buf_addf(&p->path, "agents.list[%zu].tools", i);
        check_lists(p, ch_json_get(e, "tools"), list[i].deny ? list[i].deny : deny,
                    "tools.deny");
        i++;
    }
    parse_leave(p, 0);
}

static void check_policies(struct ch_cfg_parser *p) {
    const struct ch_conf_policy *list = p->cfg->conf.policies.items;
    size_t i = 0;
    for (CH_JSON_EACH(e, ch_json_get(p->yaml.root, "policies"))) {
        if (i == p->cfg->conf.policies.n)
            break;
        const struct ch_conf_policy *c = &list[i];
        parse_leave(p, 0);
        ch_buf_addf(&p->path, "policies[%zu]", i++);
        if ((c->senders || c->except) && c->channel && strpbrk(c->channel, "*?"))
            ch_cfg_bad(p, e, "with senders, channel must be one name: an id means nothing in "
                             "another channel");
        check_lists(p, e, c->deny, "deny");
    }
    parse_leave(p, 0);
}

static bool is_word(const char *word, const char *is) {
    return word && strcmp(word, is) == 0;
}

/* Options that the service of a provider does not have. A provider without an address is one of a
 * host, or an error elsewhere. */
static void check_services(struct ch_cfg_parser *p) {
    const struct ch_conf_provider *list = p->cfg->conf.providers.items;
    size_t i = 0;
    for (CH_JSON_MEMBERS(key, value, ch_json_get(p->yaml.root, "providers"))) {
        CH_BUF_AUTO why = {0};
        if (i == p->cfg->conf.providers.n)
            break;
        const struct ch_conf_provider *c = &list[i++];
        const struct ch_provider *known = ch_provider_find(ch_json_str(key));
        const char *api = c->api ? c->api : known ? known->api : NULL;
        struct ch_service_place at = {ch_sv_str(api),
                                      c->base_url ? c->base_url : known ? known->base_url : NULL,
                                      known ? known->name : NULL};
        if (!c->api && !c->base_url && is_word(api, "openai") && is_word(known->name, "openai"))
            at = (struct ch_service_place){CH_SV("openai-responses"), known->base_url,
                                           "openai-responses"}; /* the model decides */
        const struct ch_service_opts o = {c->service_tier, c->cache_ttl, c->transport,
                                          c->background, c->store};
        const char *refused = api ? ch_service_refuses(&at, &o, &why) : NULL;
        if (!refused)
            continue;
        parse_leave(p, 0);
        ch_buf_addf(&p->path, "providers.%s.%s", c->item.name, refused);
        const struct ch_json *v = ch_json_get(value, refused);
        ch_cfg_bad(p, v ? v : key, "%s", ch_buf_str(&why));
    }
    parse_leave(p, 0);
}

/* A budget of an agent or a channel that the file does not have would limit nothing. always: a
 * name that needs no entry. */
static void check_budget_name(struct ch_cfg_parser *p, const struct ch_json *budget,
                              const char *member, const struct ch_conf_list *list, size_t size,
                              const char *always) {
    const struct ch_json *v = ch_json_get(budget, member);
    struct ch_sv name = ch_json_str(v);
    struct ch_nearest near = ch_nearest(name);
    if (!name.n || memchr(name.p, '*', name.n) || memchr(name.p, '?', name.n) ||
        ch_sv_is(name, always))
        return;
    for (size_t i = 0; i < list->n; i++) {
        const struct ch_conf_item *item =
            (const void *)((const char *)list->items + i * size);
        if (ch_sv_is(name, item->name))
            return;
        ch_nearest_try(&near, ch_sv_str(item->name));
    }
    ch_nearest_try(&near, ch_sv_str(always));
    if (near.best.n)
        ch_cfg_bad(p, v, "there is no %s '%.*s', did you mean %.*s?", member,
                   CH_SV_FMT(ch_utf8_cut(name, 64)), CH_SV_FMT(near.best));
    else
        ch_cfg_bad(p, v, "there is no %s '%.*s'", member, CH_SV_FMT(ch_utf8_cut(name, 64)));
}

/* A secret has one source. */
static void check_secrets(struct ch_cfg_parser *p) {
    const struct ch_conf_secret_source *list = p->cfg->conf.secrets.items;
    size_t i = 0;
    for (CH_JSON_MEMBERS(key, value, ch_json_get(p->yaml.root, "secrets"))) {
        if (i == p->cfg->conf.secrets.n)
            break;
        (void)value;
        const struct ch_conf_secret_source *c = &list[i++];
        parse_leave(p, 0);
        ch_buf_addf(&p->path, "secrets.%s", c->item.name);
        if (!!c->env + !!c->file + !!c->credential + !!c->command != 1)
            ch_cfg_bad(p, key, "expected one of `env`, `file`, `credential` and `command`");
    }
    parse_leave(p, 0);
}

/* A budget without a limit would look as if it limited something. */
static void check_budgets(struct ch_cfg_parser *p) {
    const struct ch_conf_budget *list = p->cfg->conf.budgets.items;
    size_t i = 0;
    for (CH_JSON_MEMBERS(key, value, ch_json_get(p->yaml.root, "budgets"))) {
        if (i == p->cfg->conf.budgets.n)
            break;
        const struct ch_conf_budget *c = &list[i++];
        parse_leave(p, 0);
        ch_buf_addf(&p->path, "budgets.%s", c->item.name);
        if (c->cost_usd <= 0 && c->tokens <= 0)
            ch_cfg_bad(p, key,
                       c->cost_usd < 0 || c->tokens < 0
                           ? "a budget of 0 limits nothing: `costUsd` or `tokens` must be above 0"
                           : "a budget needs `costUsd` or `tokens`");
        check_budget_name(p, value, "agent", &p->cfg->conf.agents, sizeof(struct ch_conf_agent),
                          p->cfg->conf.agents.n ? "" : "main");
        check_budget_name(p, value, "channel", &p->cfg->conf.channels,
                          sizeof(struct ch_conf_channel), "http");
    }
    parse_leave(p, 0);
}

/* Misspelt tools: the intended tool would have no rule.
 * Tools that a group contains are known, even if this build lacks them. */
static void check_approvals(struct ch_cfg_parser *p) {
    const struct ch_json *approvals = ch_json_get(p->yaml.root, "approvals");
    ch_buf_add_str(&p->path, "approvals");
    for (CH_JSON_MEMBERS(key, value, approvals))
        if (value->type == CH_JSON_STRING && parse_is_name(ch_json_str(key)) &&
            !ch_policy_grouped(ch_json_str(key)))
            note_unknown_tool(p, key, true);
    parse_leave(p, 0);
}

/* --- channels that answer nobody */

static bool lists_none(const char *const *list) {
    return !list || !*list;
}

/* Warn if the channel would answer neither direct messages nor groups. */
static void check_channel(struct ch_cfg_parser *p, const struct ch_conf_channel *c) {
    bool direct = !is_word(c->dm_policy, "off") &&
                  (is_word(c->dm_policy, "open") || is_word(c->dm_policy, "pairing") ||
                   !lists_none(c->allow_from) || !lists_none(c->owners));
    bool groups = !is_word(c->group_policy, "off") &&
                  (is_word(c->group_policy, "open") || !lists_none(c->groups));
    bool deaf = c->unasked && c->ops->features & CHELA_CHANNEL_MENTIONS_ONLY;
    const struct ch_json *v = ch_json_path(p->yaml.root, "channels", c->item.name, NULL);
    parse_leave(p, 0);
    ch_buf_addf(&p->path, "channels.%s", c->item.name);
    if (!direct && !groups)
        ch_cfg_warn(p, v, "this channel answers nobody: set allowFrom, groups or dmPolicy");
    if (deaf)
        ch_cfg_warn(p, v,
                    "in groups this service passes on mentions only: requireMention has no "
                    "effect");
    parse_leave(p, 0);
}

static void check_channels(struct ch_cfg_parser *p) {
    const struct ch_conf_channel *list = p->cfg->conf.channels.items;
    for (size_t i = 0; i < p->cfg->conf.channels.n; i++)
        if (ch_conf_channel_enabled(&list[i]))
            check_channel(p, &list[i]);
}

/* --- the whole file ------------------------------------------------------------- */

static int parse_text(struct ch_cfg_parser *p, struct ch_sv text) {
    chela_config *cfg = p->cfg;
    int rc = ch_yaml_parse(cfg->arena, text, cfg->file, &p->yaml, &p->first);
    if (rc < 0)
        return rc;
    if (ch_json_is(p->yaml.root, CH_JSON_NULL))
        return 0; /* an empty file, or comments only */
    rc = read_scope(p, p->yaml.root, CH_SCOPE_FILE, false, &cfg->conf);
    if (rc == 0) {
        check_all_tool_names(p);
        check_approvals(p);
        check_policies(p);
        check_services(p);
        check_budgets(p);
        check_secrets(p);
        check_channels(p);
    }
    return p->complaints ? CHELA_ECONFIG : rc;
}

/* The first complaint, and how many there are. */
static int parse_failed(const struct ch_cfg_parser *p, int rc, struct chela_error *err) {
    if (p->complaints < 2)
        return ch_fail(err, rc, "%s", p->first.message);
    unsigned more = p->complaints - 1;
    return ch_fail(err, rc, "%.400s (and %u more error%s)", p->first.message, more,
                   more == 1 ? "" : "s");
}

int ch_config_parse_with(struct ch_sv text, const char *name, const char *dir,
                         const struct chela_config_opts *opts, chela_config **out,
                         struct chela_error *err) {
    chela_config *cfg = ch_alloc(sizeof(*cfg));
    cfg->arena = ch_alloc(sizeof(*cfg->arena));
    cfg->file = ch_arena_str(cfg->arena, ch_sv_str(name));
    cfg->dir = ch_arena_str(cfg->arena, ch_sv_str(dir));
    cfg->home = opts->home ? ch_arena_str(cfg->arena, ch_sv_str(opts->home)) : NULL;
    const char *slash = strrchr(name, '/');
    cfg->path = ch_arena_printf(cfg->arena, "%s/%s", strcmp(dir, "/") == 0 ? "" : dir,
                                slash ? slash + 1 : name);
    ch_conf_programs_init(cfg);
    struct ch_cfg_parser p = {.cfg = cfg, .opts = *opts};
    int rc = parse_text(&p, text);
    ch_buf_release(&p.path);
    if (rc < 0) {
        chela_config_free(cfg);
        return parse_failed(&p, rc, err);
    }
    ch_conf_sort_agents(cfg);
    *out = cfg;
    return 0;
}

int ch_config_parse(struct ch_sv text, const char *name, const char *dir,
                    chela_config_warn_fn *warn, void *user, chela_config **out,
                    struct chela_error *err) {
    struct chela_config_opts opts = CHELA_CONFIG_OPTS(.warn = warn, .user = user);
    return ch_config_parse_with(text, name, dir, &opts, out, err);
}
