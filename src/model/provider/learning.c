/* learning.c -- see learning.h.
 *
 * The file is one JSON object: {"deployments":[{"id":HEX,"model":SPEC,"until":MS,
 * "rules":[NAME,..],"efforts":[NAME,..]}]}. The id is a hash of provider, URL and model, because a
 * URL may hold a secret. A process that writes reads the file first and keeps what others wrote. */
#include "model/provider/learning.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "json/json.h"
#include "json/writer.h"
#include "model/provider/target.h"

struct ch_lesson {
    struct ch_lesson *next;
    uint64_t id;
    int64_t until; /* wall clock, ms */
    char *model;   /* owned; for people */
    struct ch_learnt learnt, kept; /* kept: proved right, and in the file */
};

static void lesson_free(struct ch_lesson *e) {
    ch_free(e->model);
    ch_free(e);
}

void ch_learning_release(struct ch_learning *l) {
    while (l->list) {
        struct ch_lesson *e = l->list;
        l->list = e->next;
        lesson_free(e);
    }
    l->n = 0;
}

static uint64_t id_of_target(const struct ch_target *t) {
    uint64_t h = ch_hash(ch_hash(0, ch_sv_str(t->provider)), ch_sv_str(t->base_url));
    return ch_hash(h, ch_sv_str(t->model));
}

static struct ch_lesson *lesson_of(const struct ch_learning *l, uint64_t id, int64_t now) {
    for (struct ch_lesson *e = l->list; e; e = e->next)
        if (e->id == id && e->until > now)
            return e;
    return NULL;
}

static void drop_old(struct ch_learning *l, int64_t now) {
    for (struct ch_lesson **at = &l->list; *at;) {
        struct ch_lesson *e = *at;
        if (e->until > now) {
            at = &e->next;
            continue;
        }
        *at = e->next;
        l->n--;
        lesson_free(e);
    }
}

/* Finds or adds. NULL: the memory is full. */
static struct ch_lesson *need_lesson(struct ch_learning *l, uint64_t id, const char *model,
                                     int64_t now) {
    struct ch_lesson *e = lesson_of(l, id, now);
    if (e)
        return e;
    drop_old(l, now);
    if (l->n >= CH_LIMIT_LEARNT)
        return NULL;
    e = ch_alloc(sizeof(*e));
    e->id = id;
    e->model = ch_strdup(model);
    e->until = now + CH_LEARNT_MS;
    e->next = l->list;
    l->list = e;
    l->n++;
    return e;
}

/* --- the file */

/* NULL: there is no file. */
static char *file_of(const struct ch_providers *ps) {
    const char *cache = ch_providers_env(ps, "XDG_CACHE_HOME");
    const char *home = ch_providers_env(ps, "HOME");
    CH_BUF_AUTO path = {0};
    if (ps->cassette)
        return NULL;
    if (cache && *cache == '/')
        ch_buf_addf(&path, "%s/chela/refusals.json", cache);
    else if (home && *home == '/')
        ch_buf_addf(&path, "%s/.cache/chela/refusals.json", home);
    return path.n ? ch_buf_take(&path) : NULL;
}

static bool id_read(struct ch_sv hex, uint64_t *out) {
    static const char digits[] = "0123456789abcdef";
    *out = 0;
    for (size_t i = 0; i < hex.n; i++) {
        const char *d = hex.p[i] ? strchr(digits, hex.p[i]) : NULL;
        if (!d)
            return false;
        *out = *out << 4 | (uint64_t)(d - digits);
    }
    return hex.n == CH_HASH_HEX;
}

static void read_lesson(struct ch_learning *l, const struct ch_json *v, int64_t now) {
    struct ch_sv hex = ch_json_get_str(v, "id");
    struct ch_sv name = ch_json_get_str(v, "model");
    int64_t until = ch_json_int(ch_json_get(v, "until"), 0);
    uint64_t id = 0;
    struct ch_learnt learnt = {0};
    if (!id_read(hex, &id) || until <= now || until > now + CH_LEARNT_MS)
        return;
    ch_refusal_read_all(v, &learnt);
    if (!learnt.rules || lesson_of(l, id, now))
        return;
    CH_AUTOFREE char *model = ch_strndup(name.p, name.n);
    struct ch_lesson *e = need_lesson(l, id, model, now);
    if (!e)
        return;
    e->until = until;
    e->learnt = e->kept = learnt;
}

static void load(struct ch_learning *l, const char *path, int64_t now) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO text = {0};
    const struct ch_json *v = NULL;
    struct chela_error err = {0};
    int rc = ch_file_load(path, CH_LIMIT_LEARNT_FILE, &text, &err);
    if (rc == CHELA_ENOENT)
        return;
    if (rc == 0 && (ch_json_parse(&arena, ch_buf_sv(&text), CH_JSON_STRICT, &v, NULL, NULL) < 0 ||
                    !ch_json_is(ch_json_get(v, "deployments"), CH_JSON_ARRAY)))
        rc = ch_fail(&err, CHELA_EPARSE, "%s: not a list of refusals", path);
    if (rc < 0)
        ch_log(CH_LOG_WARN, "model", "%s; what it says about services is not used", err.message);
    else
        for (CH_JSON_EACH(e, ch_json_get(v, "deployments")))
            read_lesson(l, e, now);
}

static void write_lesson(const struct ch_lesson *e, struct ch_jw *w) {
    char hex[CH_HASH_HEX];
    ch_hash_hex(e->id, hex);
    ch_jw_begin(w, '{');
    ch_jw_kstr(w, "id", ch_sv(hex, sizeof(hex)));
    ch_jw_kcstr(w, "model", e->model);
    ch_jw_kint(w, "until", e->until);
    ch_refusal_write_all(&e->kept, w);
    ch_jw_end(w, '}');
}

/* A failure costs other processes one refused request each. */
static void save(struct ch_learning *l, char *path, int64_t now) {
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    struct chela_error err = {0};
    load(l, path, now);
    ch_jw_begin(&w, '{');
    ch_jw_kbegin(&w, "deployments", '[');
    for (const struct ch_lesson *e = l->list; e; e = e->next)
        if (e->kept.rules && e->until > now)
            write_lesson(e, &w);
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700); /* ch_file_save reports a failure */
        *slash = '/';
    }
    if (ch_file_save(path, ch_buf_sv(&text), &err) < 0)
        ch_log(CH_LOG_WARN, "model", "%s", err.message);
}

/* --- targets */

static void apply(struct ch_providers *ps, struct ch_target *t, const struct ch_lesson *e) {
    static const struct ch_learnt nothing;
    const struct ch_learnt *l = e ? &e->learnt : &nothing;
    if (memcmp(&t->ep.learnt, l, sizeof(*l)) != 0)
        ch_target_learnt(t, ps, l);
}

void ch_learning_apply(struct ch_providers *ps, struct ch_target *t, int64_t now) {
    struct ch_learning *l = &ps->learning;
    if (t->scripted)
        return;
    if (!l->loaded) {
        CH_AUTOFREE char *path = file_of(ps);
        l->loaded = true;
        if (path)
            load(l, path, now);
    }
    if (l->n || t->ep.learnt.rules)
        apply(ps, t, lesson_of(l, id_of_target(t), now));
}

bool ch_learning_add(struct ch_providers *ps, struct ch_target *t, const struct ch_refusal *r,
                     int64_t now) {
    struct ch_lesson *e = need_lesson(&ps->learning, id_of_target(t), t->spec, now);
    if (!e)
        return false;
    ch_refusal_learn(&e->learnt, r);
    apply(ps, t, e);
    return true;
}

void ch_learning_keep(struct ch_providers *ps, struct ch_target *t, int64_t now) {
    struct ch_lesson *e = lesson_of(&ps->learning, id_of_target(t), now);
    if (!e || memcmp(&e->kept, &e->learnt, sizeof(e->kept)) == 0)
        return;
    e->kept = e->learnt;
    CH_AUTOFREE char *path = file_of(ps);
    if (path)
        save(&ps->learning, path, now);
}

void ch_learning_forget(struct ch_providers *ps, struct ch_target *t,
                        const struct ch_learnt *before, int64_t now) {
    struct ch_lesson *e = lesson_of(&ps->learning, id_of_target(t), now);
    if (!e)
        return;
    e->learnt = *before;
    if (!e->learnt.rules)
        e->until = now; /* nothing is left */
    apply(ps, t, e->learnt.rules ? e : NULL);
}
