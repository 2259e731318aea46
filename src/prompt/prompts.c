/* prompts.c -- see prompts.h. */
#include "prompt/prompts.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/nearest.h"
#include "base/sha256.h"
#include "prompt/prompts_builtin.h"

/* --- versions ---------------------------------------------------------------------- */

static bool prompts_is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Numbers separated by dots, each of at most CH_LIMIT_VERSION_DIGITS digits. */
static bool prompts_is_version(const char *s) {
    size_t digits = 0;
    for (; *s; s++) {
        if (!prompts_is_digit(*s) && !(*s == '.' && digits && prompts_is_digit(s[1])))
            return false;
        digits = prompts_is_digit(*s) ? digits + 1 : 0;
        if (digits > CH_LIMIT_VERSION_DIGITS)
            return false;
    }
    return digits > 0;
}

int ch_version_compare(const char *a, const char *b) {
    while (*a || *b) {
        char *end_a, *end_b;
        unsigned long x = strtoul(a, &end_a, 10), y = strtoul(b, &end_b, 10);
        if (x != y)
            return x < y ? -1 : 1;
        a = *end_a == '.' ? end_a + 1 : "";
        b = *end_b == '.' ? end_b + 1 : "";
    }
    return 0;
}

/* --- entries ------------------------------------------------------------------------- */

void ch_prompts_release(struct ch_prompts *c) {
    ch_arena_release(&c->arena);
    *c = (struct ch_prompts){0};
}

static int prompts_compare(const struct ch_prompt_entry *e, const char *name, const char *version,
                           const char *variant) {
    int by = strcmp(e->prompt.name, name);
    if (!by)
        by = ch_version_compare(e->prompt.version, version);
    return by ? by : strcmp(e->variant, variant);
}

static struct ch_prompt_entry *place_for(struct ch_prompts *c, const char *name,
                                          const char *version, const char *variant) {
    size_t at = 0;
    int by = -1;
    while (at < c->n && (by = prompts_compare(&c->list[at], name, version, variant)) < 0)
        at++;
    if (at < c->n && by == 0)
        return &c->list[at];
    if (c->n == c->cap) {
        size_t cap = c->cap ? 2 * c->cap : 16;
        struct ch_prompt_entry *list = ch_arena_zalloc(&c->arena, cap * sizeof(*list));
        if (c->n)
            memcpy(list, c->list, c->n * sizeof(*list));
        c->list = list;
        c->cap = cap;
    }
    memmove(&c->list[at + 1], &c->list[at], (c->n - at) * sizeof(*c->list));
    c->n++;
    c->list[at] = (struct ch_prompt_entry){.variant = ch_arena_str(&c->arena, ch_sv_str(variant))};
    return &c->list[at];
}

int ch_prompts_add(struct ch_prompts *c, const char *name, const char *version,
                   const char *variant, const char *where, struct ch_sv text,
                   struct chela_error *err) {
    struct ch_prompt t;
    if (!prompts_is_version(version))
        return ch_fail(err, CHELA_EINVAL, "%s: %s is not a version: write numbers and dots", name,
                       version);
    if (c->n >= CH_LIMIT_PROMPTS)
        return ch_fail(err, CHELA_ELIMIT, "more than %d prompts", CH_LIMIT_PROMPTS);
    int rc = ch_prompt_read(&c->arena, name, version, where, text, &t, err);
    if (rc < 0)
        return rc;
    struct ch_prompt_entry *e = place_for(c, name, version, variant);
    e->prompt = t;
    e->linked = false;
    return 0;
}

/* --- from files ----------------------------------------------------------------------- */

/* "v1.10.claude.txt": version "1.10", variant "claude". False: not a prompt. */
static bool split_name(struct ch_arena *a, const char *file, const char **version,
                       const char **variant) {
    size_t n = strlen(file), end = 1;
    if (n < 6 || file[0] != 'v' || strcmp(file + n - 4, ".txt") != 0)
        return false;
    while (prompts_is_digit(file[end]) || (file[end] == '.' && prompts_is_digit(file[end + 1])))
        end++;
    *version = ch_arena_str(a, ch_sv(file + 1, end - 1));
    *variant = "";
    if (file[end] == '.' && end < n - 4)
        *variant = ch_arena_str(a, ch_sv(file + end + 1, n - 4 - end - 1));
    return end > 1 && file[end] == '.';
}

static int prompts_load_file(struct ch_prompts *c, const char *dir, const char *name,
                             const char *file, struct chela_error *err) {
    CH_BUF_AUTO path = {0};
    CH_BUF_AUTO text = {0};
    const char *version, *variant;
    if (!split_name(&c->arena, file, &version, &variant))
        return 0;
    ch_buf_addf(&path, "%s/%s/%s", dir, name, file);
    int rc = ch_file_load(path.p, CH_LIMIT_PROMPT_FILE, &text, err);
    struct ch_sv body = ch_buf_sv(&text);
    if (body.n && body.p[body.n - 1] == '\n') /* the line end of the file, not of the prompt */
        body.n--;
    return rc < 0 ? rc : ch_prompts_add(c, name, version, variant, path.p, body, err);
}

static int visible(const struct dirent *e) {
    return e->d_name[0] != '.';
}

/* Load the files of the folder dir/name, sorted by name; name NULL: the folders of dir.
 * CHELA_ENOENT: the directory cannot be read. */
static int load_entries(struct ch_prompts *c, const char *dir, const char *name,
                        struct chela_error *err) {
    struct dirent **entries = NULL;
    CH_BUF_AUTO path = {0};
    ch_buf_add_str(&path, dir);
    if (name)
        ch_buf_addf(&path, "/%s", name);
    int rc = 0, n = scandir(ch_buf_str(&path), &entries, visible, alphasort);
    if (n < 0 && name && errno == ENOTDIR)
        return 0; /* a README beside the folders */
    if (n < 0)
        return ch_fail(err, CHELA_ENOENT, "%s: %s", path.p, strerror(errno));
    for (int i = 0; i < n; i++) {
        const char *entry = entries[i]->d_name;
        if (rc == 0)
            rc = name ? prompts_load_file(c, dir, name, entry, err)
                      : load_entries(c, dir, entry, err);
        free(entries[i]);
    }
    free(entries);
    return rc;
}

int ch_prompts_load(struct ch_prompts *c, const char *dir, struct chela_error *err) {
    int rc = load_entries(c, dir, NULL, err);
    c->dir = ch_arena_str(&c->arena, ch_sv_str(dir));
    return rc;
}

int ch_prompts_cases(struct ch_prompts *c, const char *name, struct ch_buf *out,
                     const char **where, struct chela_error *err) {
    struct ch_sv own = ch_prompts_builtin_cases(name);
    *where = ch_arena_printf(&c->arena, "%s/%s/cases.yaml", c->dir ? c->dir : "prompts", name);
    int rc = c->dir ? ch_file_load(*where, CH_LIMIT_PROMPT_FILE, out, err) : CHELA_ENOENT;
    if (rc != CHELA_ENOENT)
        return rc;
    *where = ch_arena_printf(&c->arena, "prompts/%s/cases.yaml", name);
    if (own.p)
        return ch_buf_add_sv(out, own);
    return ch_fail(err, CHELA_ENOENT, "prompt %s has no cases: write %s/%s/cases.yaml, or name a "
                   "file", name, c->dir ? c->dir : "prompts", name);
}

bool ch_prompts_has_cases(const struct ch_prompts *c, const char *name) {
    CH_BUF_AUTO path = {0};
    if (ch_prompts_builtin_cases(name).p)
        return true;
    ch_buf_addf(&path, "%s/%s/cases.yaml", c->dir ? c->dir : "", name);
    return c->dir && access(path.p, R_OK) == 0;
}

/* --- modules ----------------------------------------------------------------------- */

static const struct ch_prompt *module_of(const struct ch_prompts *c, const struct ch_prompt *t,
                                         const char *spec, struct chela_error *err) {
    struct ch_sv version = ch_sv_str(spec), name = ch_sv_split(&version, '@');
    for (size_t i = 0; i < c->n; i++) {
        const struct ch_prompt *m = &c->list[i].prompt;
        if (c->list[i].variant[0] || !ch_sv_is(name, m->name) ||
            !ch_sv_is(version, m->version))
            continue;
        if (!m->user && !m->head.modules)
            return m;
        ch_fail(err, CHELA_EINVAL, "%s: %s cannot be a module: it has %s", t->where, spec,
                m->user ? "a user's message" : "modules itself");
        return NULL;
    }
    ch_fail(err, CHELA_ENOENT, "%s: there is no module %s (written NAME@VERSION)", t->where, spec);
    return NULL;
}

int ch_prompts_link(struct ch_prompts *c, struct chela_error *err) {
    for (size_t i = 0; i < c->n; i++) {
        struct ch_prompt_entry *e = &c->list[i];
        struct ch_prompt whole = e->prompt;
        if (e->linked || !whole.head.modules)
            continue;
        for (const char *const *spec = whole.head.modules; *spec; spec++) {
            const struct ch_prompt *m = module_of(c, &whole, *spec, err);
            if (!m)
                return CHELA_EINVAL;
            ch_prompt_append(&c->arena, &whole, m);
        }
        e->prompt = whole;
        e->linked = true;
    }
    return 0;
}

/* --- selection ------------------------------------------------------------------------ */

#define SHARES 10000

/* Below SHARES, stable for a session and a prompt, evenly distributed. */
static unsigned share_of(const char *session, const char *name, const char *version) {
    unsigned char d[CH_SHA256_SIZE];
    struct ch_sha256 h;
    ch_sha256_init(&h);
    ch_sha256_add(&h, name, strlen(name) + 1);
    ch_sha256_add(&h, version, strlen(version) + 1);
    ch_sha256_add(&h, session, strlen(session));
    ch_sha256_end(&h, d);
    uint32_t number =
        ((uint32_t)d[0] << 24) | ((uint32_t)d[1] << 16) | ((uint32_t)d[2] << 8) | d[3];
    return number % SHARES;
}

/* The version selected by rules; NULL: the newest that no rule holds back. With two rolled
 * out versions, the second takes its share from the sessions that the first left. */
static const char *ruled(const struct ch_prompts *c, const struct ch_prompt_query *q) {
    const char *pinned = NULL;
    unsigned left = 100;
    for (size_t i = 0; i < c->nrules; i++) {
        const struct ch_prompt_rule *r = &c->rules[i];
        if (strcmp(r->name, q->name) != 0)
            continue;
        if (r->pinned)
            pinned = r->version;
        else if (q->session && r->percent &&
                 share_of(q->session, r->name, r->version) * left < r->percent * SHARES)
            return r->version;
        left -= r->pinned ? 0 : r->percent;
    }
    return pinned;
}

static bool held_back(const struct ch_prompts *c, const char *name, const char *version) {
    for (size_t i = 0; i < c->nrules; i++)
        if (!c->rules[i].pinned && strcmp(c->rules[i].name, name) == 0 &&
            ch_version_compare(c->rules[i].version, version) == 0)
            return true;
    return false;
}

/* The newest version; if all are held back, the newest of those. */
static const char *prompts_newest(const struct ch_prompts *c, const char *name) {
    const char *version = NULL, *any = NULL;
    for (size_t i = 0; i < c->n; i++) {
        if (strcmp(c->list[i].prompt.name, name) != 0)
            continue;
        any = c->list[i].prompt.version; /* the list is sorted */
        if (!held_back(c, name, any))
            version = any;
    }
    return version ? version : any;
}

static bool suits(const struct ch_prompt_entry *e, const char *model) {
    return !e->variant[0] || (model && ch_sv_contains_nocase(ch_sv_str(model), e->variant));
}

static int unknown_name(const struct ch_prompts *c, const char *name, struct chela_error *err) {
    struct ch_nearest near = ch_nearest(ch_sv_str(name));
    for (size_t i = 0; i < c->n; i++)
        ch_nearest_try(&near, ch_sv_str(c->list[i].prompt.name));
    if (near.best.n)
        return ch_fail(err, CHELA_ENOENT, "there is no prompt %s (did you mean %.*s?)", name,
                       CH_SV_FMT(near.best));
    return ch_fail(err, CHELA_ENOENT, "there is no prompt %s", name);
}

static int no_version(const struct ch_prompts *c, const char *name, const char *version,
                      struct chela_error *err) {
    CH_BUF_AUTO known = {0};
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->list[i].prompt.name, name) == 0 && !c->list[i].variant[0])
            ch_buf_addf(&known, "%s%s", known.n ? ", " : "", c->list[i].prompt.version);
    if (!known.n)
        return unknown_name(c, name, err);
    return ch_fail(err, CHELA_ENOENT, "prompt %s has no version %s; it has %s", name,
                   version ? version : "for this model", ch_buf_str(&known));
}

static const struct ch_prompt *prompts_find(const struct ch_prompts *c, const char *name,
                                            const char *version, const char *model) {
    const struct ch_prompt_entry *best = NULL;
    for (size_t i = 0; i < c->n; i++) {
        const struct ch_prompt_entry *e = &c->list[i];
        bool same = strcmp(e->prompt.name, name) == 0 &&
                    ch_version_compare(e->prompt.version, version) == 0;
        /* The longest matching variant is the most specific. */
        if (same && suits(e, model) && (!best || strlen(e->variant) > strlen(best->variant)))
            best = e;
    }
    return best ? &best->prompt : NULL;
}

const struct ch_prompt *ch_prompts_pick(const struct ch_prompts *c,
                                        const struct ch_prompt_query *q,
                                        struct chela_error *err) {
    const char *version = q->version ? q->version : ruled(c, q);
    if (!version)
        version = prompts_newest(c, q->name);
    const struct ch_prompt *found = version ? prompts_find(c, q->name, version, q->model) : NULL;
    if (!found)
        no_version(c, q->name, version, err);
    return found;
}

static int prompts_add_rule(struct ch_prompts *c, struct ch_prompt_rule rule,
                            struct chela_error *err) {
    if (!prompts_is_version(rule.version) || !prompts_find(c, rule.name, rule.version, NULL))
        return no_version(c, rule.name, rule.version, err);
    if (c->nrules == c->rules_cap) {
        size_t cap = c->rules_cap ? 2 * c->rules_cap : 8;
        struct ch_prompt_rule *rules = ch_arena_zalloc(&c->arena, cap * sizeof(*rules));
        if (c->nrules)
            memcpy(rules, c->rules, c->nrules * sizeof(*rules));
        c->rules = rules;
        c->rules_cap = cap;
    }
    rule.name = ch_arena_str(&c->arena, ch_sv_str(rule.name));
    rule.version = ch_arena_str(&c->arena, ch_sv_str(rule.version));
    c->rules[c->nrules++] = rule;
    return 0;
}

int ch_prompts_pin(struct ch_prompts *c, const char *name, const char *version,
                   struct chela_error *err) {
    return prompts_add_rule(c, (struct ch_prompt_rule){name, version, true, 0}, err);
}

int ch_prompts_rollout(struct ch_prompts *c, const char *name, const char *version,
                       unsigned percent, struct chela_error *err) {
    if (percent > 100)
        return ch_fail(err, CHELA_EINVAL, "%s@%s: %u is no percentage", name, version, percent);
    unsigned all = percent;
    for (size_t i = 0; i < c->nrules; i++)
        all += !c->rules[i].pinned && strcmp(c->rules[i].name, name) == 0 ? c->rules[i].percent : 0;
    if (all > 100)
        return ch_fail(err, CHELA_EINVAL, "versions of %s are rolled out to %u %% of all sessions",
                       name, all);
    return prompts_add_rule(c, (struct ch_prompt_rule){name, version, false, percent}, err);
}

int ch_prompts_render(const struct ch_prompts *c, const struct ch_prompt_query *q,
                      const struct ch_prompt_value *values, size_t n, struct ch_prompt_text *out,
                      const struct ch_prompt **used, struct chela_error *err) {
    const struct ch_prompt *t = ch_prompts_pick(c, q, err);
    int rc = t ? ch_prompt_render(t, values, n, out, err) : CHELA_ENOENT;
    if (rc == 0 && used)
        *used = t;
    return rc;
}
