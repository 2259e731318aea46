/* budget_use.c -- see budget_use.h, and chela_store_budgets in chela/store.h. */
#include "store/budget_use.h"

#include <stdlib.h>

#include "base/entry.h"
#include "base/sha256.h"
#include "json/json.h"
#include "json/writer.h"

uint64_t ch_budget_counter(const char *name, struct ch_sv of) {
    unsigned char sum[CH_SHA256_SIZE];
    uint64_t counter;
    CH_BUF_AUTO text = {0};
    ch_buf_add(&text, name, strlen(name) + 1);
    ch_buf_add_sv(&text, of);
    ch_sha256_of(ch_buf_sv(&text), sum);
    memcpy(&counter, sum, sizeof(counter));
    return counter;
}

void ch_budget_note_id(struct ch_buf *out, int64_t day, uint64_t counter, const char *process) {
    ch_buf_addf(out, CH_BUDGET_NOTE "%lld/%016llx/%s", (long long)day, (unsigned long long)counter,
                process);
}

void ch_budget_note_write(struct ch_buf *out, const struct chela_budget_use *use) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "budget", use->name);
    ch_jw_kcstr(&w, "of", use->of);
    ch_jw_kdouble(&w, "cost_usd", use->cost_usd);
    ch_jw_kint(&w, "tokens", use->tokens);
    ch_jw_kdouble(&w, "limit_usd", use->limit_usd);
    ch_jw_kint(&w, "limit_tokens", use->limit_tokens);
    ch_jw_end(&w, '}');
}

static const char *budget_text(struct ch_arena *a, const struct ch_json *v, const char *key) {
    struct ch_sv text = ch_json_get_str(v, key);
    return text.n ? ch_arena_str(a, text) : "";
}

bool ch_budget_note_read(const struct chela_store_item *i, struct ch_arena *a,
                         struct ch_budget_note *out) {
    const struct ch_json *v;
    char *end;
    if (strncmp(i->id, CH_BUDGET_NOTE, strlen(CH_BUDGET_NOTE)) != 0)
        return false;
    out->day = strtoll(i->id + strlen(CH_BUDGET_NOTE), &end, 10);
    if (*end != '/')
        return false;
    out->counter = strtoull(end + 1, &end, 16);
    if (*end != '/' || ch_json_parse(a, ch_arena_sv(a, ch_sv(i->data, i->n)), CH_JSON_REPLACE, &v,
                                     NULL, NULL) < 0)
        return false;
    out->process = end + 1;
    out->use = (struct chela_budget_use){
        .name = budget_text(a, v, "budget"),
        .of = budget_text(a, v, "of"),
        .cost_usd = CH_MAX(ch_json_double(ch_json_get(v, "cost_usd"), 0), 0.0),
        .tokens = CH_MAX(ch_json_int(ch_json_get(v, "tokens"), 0), 0),
        .limit_usd = ch_json_double(ch_json_get(v, "limit_usd"), 0),
        .limit_tokens = ch_json_int(ch_json_get(v, "limit_tokens"), 0),
        .resets = (out->day + 1) * CH_BUDGET_DAY_MS};
    return true;
}

/* --- the sums of a day */

struct budget_sum {
    uint64_t counter;
    int64_t ts; /* time of the newest note */
    struct chela_budget_use use;
};

struct budget_sums {
    struct ch_arena arena;
    struct budget_sum *list; /* owned */
    size_t n;
    int64_t day;
};

static int budget_on_note(const struct chela_store_item *i, void *user) {
    struct budget_sums *s = user;
    struct ch_budget_note note;
    if (!ch_budget_note_read(i, &s->arena, &note) || note.day != s->day)
        return 0;
    if (s->n % 64 == 0)
        s->list = ch_realloc(s->list, (s->n + 64) * sizeof(*s->list));
    s->list[s->n++] = (struct budget_sum){note.counter, i->ts, note.use};
    return 0;
}

static int budget_by_counter(const void *a, const void *b) {
    const struct budget_sum *x = a, *y = b;
    if (x->counter != y->counter)
        return x->counter < y->counter ? -1 : 1;
    return x->ts < y->ts ? -1 : x->ts > y->ts;
}

static int budget_by_name(const void *a, const void *b) {
    const struct budget_sum *x = a, *y = b;
    int order = strcmp(x->use.name, y->use.name);
    return order ? order : strcmp(x->use.of, y->use.of);
}

/* Adds up the notes of each counter. Limits are those of the newest note. */
static void budget_add_up(struct budget_sums *s) {
    size_t n = 0;
    qsort(s->list, s->n, sizeof(*s->list), budget_by_counter);
    for (size_t i = 0; i < s->n; i++) {
        struct budget_sum *before = n ? &s->list[n - 1] : NULL, *it = &s->list[i];
        if (!before || before->counter != it->counter) {
            s->list[n++] = *it;
            continue;
        }
        it->use.cost_usd += before->use.cost_usd;
        it->use.tokens += before->use.tokens;
        *before = *it;
    }
    s->n = n;
    qsort(s->list, s->n, sizeof(*s->list), budget_by_name);
}

int chela_store_budgets(chela_store *store, int64_t now, chela_budget_use_fn *fn, void *user,
                        struct chela_error *err) {
    CH_NEEDS(store, err);
    struct budget_sums s = {.day = now / CH_BUDGET_DAY_MS};
    int rc = chela_store_items(store, CHELA_STORE_NOTES, budget_on_note, &s, err);
    if (rc == 0 && s.n)
        budget_add_up(&s);
    for (size_t i = 0; rc == 0 && i < s.n; i++)
        if (fn(&s.list[i].use, user))
            break;
    ch_free(s.list);
    ch_arena_release(&s.arena);
    return rc;
}
