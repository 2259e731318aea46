/* facts_import.c -- see facts_import.h.
 *
 * Each format has a function that reads one model of it; a list that says less than the built-in
 * table about a column says nothing. */
#include "model/catalog/facts_import.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/redact.h"
#include "model/catalog/listing.h"
#include "model/catalog/provider.h"

struct import {
    struct ch_facts_file *out;
    size_t room;
    const char *provider; /* of the list; NULL: not known */
    ch_facts_complain *complain;
    void *user;
    unsigned complaints;
    const char *first; /* complaint */
    struct ch_facts_row *row; /* being read */
};

static void import_complain(struct import *m, const char *column, const char *why) {
    if (++m->complaints > CH_LIMIT_CONFIG_WARNINGS)
        return;
    char *text = ch_arena_printf(&m->out->arena, "%s: %s: %s", m->row->match, column, why);
    ch_redact_line(text);
    m->first = m->first ? m->first : text;
    if (m->complain)
        m->complain(text, m->user);
}

/* --- rows */

/* A name that can stand in the file: no pattern, no control characters. */
static bool is_name(struct ch_sv id) {
    for (size_t i = 0; i < id.n; i++)
        if ((unsigned char)id.p[i] <= ' ' || id.p[i] == '*' || id.p[i] == '#' || id.p[i] == 0x7f)
            return false;
    return id.n > 0 && id.n <= CH_LIMIT_FACT_TEXT / 2;
}

static int begin_row(struct import *m, const char *provider, struct ch_sv id,
                     struct chela_error *err) {
    struct ch_facts_file *f = m->out;
    if (f->n == CH_LIMIT_FACTS_ROWS)
        return ch_fail(err, CHELA_ELIMIT, "the list has more than %d models", CH_LIMIT_FACTS_ROWS);
    if (f->n == m->room) {
        size_t room = m->room ? 2 * m->room : 64;
        struct ch_facts_row *rows = ch_arena_alloc(&f->arena, room * sizeof(*rows));
        if (f->n)
            memcpy(rows, f->rows, f->n * sizeof(*rows));
        f->rows = rows;
        m->room = room;
    }
    m->row = &f->rows[f->n];
    *m->row = (struct ch_facts_row){
        .match = ch_arena_printf(&f->arena, "%s/%.*s", provider, CH_SV_FMT(id)),
        .provider = provider,
        .name = ch_arena_str(&f->arena, id)};
    return 0;
}

/* A row that says nothing is left out. */
static void end_row(struct import *m) {
    if (m->row->some.known)
        m->out->n++;
}

static struct ch_model_facts *facts_of(struct import *m) {
    return &m->row->some.facts;
}

static void mark(struct import *m, ch_column_set columns) {
    m->row->some.known |= columns;
}

/* --- values */

/* A column whose value is written as in the user's file. */
static void import_value(struct import *m, enum ch_column c, const struct ch_json *v) {
    struct chela_error err = {0};
    if (!v || v->type == CH_JSON_NULL)
        return;
    if (ch_column_read(c, v, &m->out->arena, &m->row->some, &err) < 0)
        import_complain(m, ch_column_name(c), err.message);
}

/* Sizes of 0 are written where the size is not known. */
static void import_size(struct import *m, enum ch_column c, const struct ch_json *v) {
    if (ch_json_is(v, CH_JSON_NUMBER) && ch_json_double(v, 1) == 0)
        return;
    import_value(m, c, v);
}

/* Numbers, and texts of numbers; false: there is none. */
static bool number_of(const struct ch_json *v, double *out) {
    char text[40], *end;
    struct ch_sv s = ch_json_str(v);
    if (ch_json_is(v, CH_JSON_NUMBER)) {
        *out = ch_json_double(v, -1);
        return isfinite(*out);
    }
    if (!ch_json_is(v, CH_JSON_STRING) || s.n >= sizeof(text))
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    *out = strtod(text, &end);
    return s.n && !*end && isfinite(*out);
}

/* factor: to dollars for a million tokens. Rounded, because 0.1 per million is no exact price per
 * token. */
static bool dollars_of(struct import *m, enum ch_column c, const struct ch_json *v, double factor,
                       double *out) {
    double n;
    if (!v || v->type == CH_JSON_NULL)
        return false;
    if (!number_of(v, &n) || n < 0 || n * factor > CH_LIMIT_FACT_DOLLARS) {
        if (number_of(v, &n) && n < 0)
            return false; /* OpenRouter: a price that varies */
        import_complain(m, ch_column_name(c), "this is no price");
        return false;
    }
    *out = round(n * factor * 1e6) / 1e6;
    return true;
}

struct prices {
    const struct ch_json *in, *out, *read, *write;
    double factor;
};

static void import_prices(struct import *m, const struct prices *p) {
    struct ch_price *to = &facts_of(m)->price;
    double in, out;
    if (!dollars_of(m, CH_COLUMN_price_in, p->in, p->factor, &in) ||
        !dollars_of(m, CH_COLUMN_price_out, p->out, p->factor, &out) || in <= 0)
        return;
    to->input = in;
    to->output = out;
    to->cache_read = to->cache_write = -1;
    mark(m, CH_COLUMN_BIT(price_in) | CH_COLUMN_BIT(price_out));
    if (dollars_of(m, CH_COLUMN_price_cache_read, p->read, p->factor, &to->cache_read))
        mark(m, CH_COLUMN_BIT(price_cache_read));
    double write; /* 0: the service has no price of its own for it */
    if (dollars_of(m, CH_COLUMN_price_cache_write, p->write, p->factor, &write) && write > 0) {
        to->cache_write = write;
        mark(m, CH_COLUMN_BIT(price_cache_write));
    }
}

static void import_tier(struct import *m, int64_t above, const struct ch_json *in,
                        const struct ch_json *out, double factor) {
    struct ch_price *to = &facts_of(m)->price;
    double a, b;
    if (!(m->row->some.known & CH_COLUMN_BIT(price_in)) || above <= 0 ||
        above > CH_LIMIT_FACT_TOKENS || !dollars_of(m, CH_COLUMN_tiers, in, factor, &a) ||
        !dollars_of(m, CH_COLUMN_tiers, out, factor, &b) || !(a > 0) || !(b > 0))
        return;
    to->long_above = above;
    to->long_input = -a;
    to->long_output = -b;
    mark(m, CH_COLUMN_BIT(tiers));
}

/* A list says which efforts there are; whether reasoning can be off, it says elsewhere. */
static void import_efforts(struct import *m, unsigned efforts, bool off) {
    if (!efforts)
        return;
    facts_of(m)->efforts = efforts | (off ? 1u << CH_EFFORT_OFF : 0);
    mark(m, CH_COLUMN_BIT(efforts));
}

static unsigned effort_bit(struct ch_sv word) {
    enum ch_effort e;
    if (ch_sv_is(word, "none"))
        return 1u << CH_EFFORT_OFF;
    return ch_effort_read(word, &e) ? 1u << e : 0;
}

/* --- a service's own list */

static bool is_supported(const struct ch_json *v) {
    return ch_json_bool(ch_json_get(v, "supported"), false);
}

/* Anthropic: {"effort": {"low": {"supported": true}, ...}, "thinking": {"types": {...}}} */
static void import_capabilities(struct import *m, const struct ch_json *v) {
    const struct ch_json *effort = ch_json_get(v, "effort");
    const struct ch_json *types = ch_json_path(v, "thinking", "types", NULL);
    bool adaptive = is_supported(ch_json_get(types, "adaptive"));
    unsigned bits = 0;
    for (CH_JSON_MEMBERS(key, x, effort))
        bits |= is_supported(x) ? effort_bit(ch_json_str(key)) : 0;
    unsigned kept = ch_model_facts(ch_sv_str(m->row->name))->flags & CH_M_BETWEEN_TOOLS;
    if (adaptive) { /* others take budgets, for which every effort stands */
        import_efforts(m, bits, kept || is_supported(ch_json_get(types, "disabled")));
        facts_of(m)->flags |= CH_M_ADAPTIVE | kept;
        mark(m, CH_COLUMN_BIT(thinking));
    }
    import_value(m, CH_COLUMN_structured, ch_json_path(v, "structured_outputs", "supported", NULL));
}

/* OpenRouter: prices for one token, as texts, and the efforts. */
static void import_openrouter(struct import *m, const struct ch_json *v) {
    const struct ch_json *price = ch_json_get(v, "pricing"), *r = ch_json_get(v, "reasoning");
    const struct ch_json *list = ch_json_get(r, "supported_efforts");
    unsigned bits = 0;
    import_prices(m, &(struct prices){
                         ch_json_get(price, "prompt"), ch_json_get(price, "completion"),
                         ch_json_get(price, "input_cache_read"),
                         ch_json_get(price, "input_cache_write"), 1e6});
    for (CH_JSON_EACH(e, list))
        bits |= effort_bit(ch_json_str(e));
    import_efforts(m, bits, !ch_json_bool(ch_json_get(r, "mandatory"), false));
}

static void import_listed_size(struct import *m, enum ch_column c, int64_t n, int64_t *to) {
    if (n <= 0)
        return;
    if (n > CH_LIMIT_FACT_TOKENS) {
        import_complain(m, ch_column_name(c), "this is no number of tokens");
        return;
    }
    *to = n;
    mark(m, UINT64_C(1) << c);
}

static void import_own(struct import *m, const struct ch_json *v, const struct ch_listed *l) {
    import_listed_size(m, CH_COLUMN_window, l->context_window, &facts_of(m)->window);
    import_listed_size(m, CH_COLUMN_output_max, l->max_output, &facts_of(m)->output);
    if (l->wrong)
        import_complain(m, l->wrong, "this is no number of tokens");
    import_value(m, CH_COLUMN_shutdown, ch_json_get(v, "shutdown_date"));
    import_capabilities(m, ch_json_get(v, "capabilities"));
    import_openrouter(m, v);
}

/* The provider whose models a list without a name has. */
static const char *owner_of(const struct ch_json *list) {
    for (CH_JSON_EACH(e, list)) {
        const struct ch_model_facts *f = ch_model_facts(ch_listing_one(e).id);
        if (f->provider)
            return f->provider;
    }
    return NULL;
}

static int import_service(struct import *m, const struct ch_json *list, struct chela_error *err) {
    if (!m->provider)
        m->provider = owner_of(list);
    if (!m->provider)
        return ch_fail(err, CHELA_EPARSE, "nothing in the list says whose models these are");
    for (CH_JSON_EACH(e, list)) {
        struct ch_listed l = ch_listing_one(e);
        if (!is_name(l.id))
            continue;
        int rc = begin_row(m, m->provider, l.id, err);
        if (rc < 0)
            return rc;
        import_own(m, e, &l);
        end_row(m);
    }
    return 0;
}

/* --- models.dev: {"PROVIDER": {"models": {"ID": {...}}}} */

static const char *known_provider(struct ch_sv theirs) {
    static const struct {
        const char *theirs, *ours;
    } names[] = {
        {"google", "gemini"},          {"vertex_ai", "vertex"},     {"google-vertex", "vertex"},
        {"togetherai", "together"},    {"together_ai", "together"}, {"fireworks-ai", "fireworks"},
        {"fireworks_ai", "fireworks"}, {"moonshotai", "moonshot"},
    };
    for (size_t i = 0; i < CH_LEN(names); i++)
        if (ch_sv_is(theirs, names[i].theirs))
            return names[i].ours;
    const struct ch_provider *p = ch_provider_find(theirs);
    return p && !p->local ? p->name : NULL;
}

static void import_dev_reasoning(struct import *m, const struct ch_json *options) {
    unsigned bits = 0;
    bool toggle = false;
    for (CH_JSON_EACH(o, options)) {
        struct ch_sv type = ch_json_get_str(o, "type");
        toggle = toggle || ch_sv_is(type, "toggle");
        for (CH_JSON_EACH(e, ch_json_get(o, "values")))
            bits |= effort_bit(ch_json_str(e));
    }
    import_efforts(m, bits, toggle);
}

static void import_dev_model(struct import *m, const struct ch_json *v) {
    const struct ch_json *cost = ch_json_get(v, "cost"), *limit = ch_json_get(v, "limit");
    const struct ch_json *tier = ch_json_at(ch_json_get(cost, "tiers"), 0);
    const struct ch_json *size = ch_json_path(tier, "tier", "size", NULL);
    import_size(m, CH_COLUMN_window, ch_json_get(limit, "context"));
    import_size(m, CH_COLUMN_input_max, ch_json_get(limit, "input"));
    import_size(m, CH_COLUMN_output_max, ch_json_get(limit, "output"));
    import_prices(m, &(struct prices){ch_json_get(cost, "input"), ch_json_get(cost, "output"),
                                      ch_json_get(cost, "cache_read"),
                                      ch_json_get(cost, "cache_write"), 1});
    const struct ch_json *above = ch_json_get(cost, "context_over_200k"); /* older lists */
    if (tier)
        import_tier(m, ch_json_int(size, 0), ch_json_get(tier, "input"),
                    ch_json_get(tier, "output"), 1);
    else if (above)
        import_tier(m, 200000, ch_json_get(above, "input"), ch_json_get(above, "output"), 1);
    import_dev_reasoning(m, ch_json_get(v, "reasoning_options"));
    import_value(m, CH_COLUMN_modalities_in, ch_json_path(v, "modalities", "input", NULL));
    if (ch_json_get_str(v, "release_date").n == 10)
        import_value(m, CH_COLUMN_released, ch_json_get(v, "release_date"));
}

static int import_models_dev(struct import *m, const struct ch_json *v, struct chela_error *err) {
    for (CH_JSON_MEMBERS(key, x, v)) {
        const char *provider = known_provider(ch_json_str(key));
        for (CH_JSON_MEMBERS(id, model, ch_json_get(x, "models"))) {
            if (!provider || !is_name(ch_json_str(id)) || !ch_json_is(model, CH_JSON_OBJECT))
                continue;
            int rc = begin_row(m, provider, ch_json_str(id), err);
            if (rc < 0)
                return rc;
            import_dev_model(m, model);
            end_row(m);
        }
    }
    return 0;
}

/* --- LiteLLM: {"ID": {"litellm_provider": ..., ...}}, prices for one token */

static void import_lite_window(struct import *m, const struct ch_json *v) {
    const struct ch_model_facts *known = ch_model_facts(ch_sv_str(m->row->name));
    const struct ch_json *in = ch_json_get(v, "max_input_tokens");
    int64_t n = ch_json_int(in, 0), out = ch_json_int(ch_json_get(v, "max_output_tokens"), 0);
    /* what the list calls input is the window of most services, the input of some */
    if (n > 0 && (n == known->window || n == known->input_max || n + out == known->window))
        return;
    import_size(m, CH_COLUMN_window, in);
}

static void import_lite_model(struct import *m, const struct ch_json *v) {
    static const struct {
        const char *in, *out;
        int64_t above;
    } tiers[] = {{"input_cost_per_token_above_200k_tokens",
                  "output_cost_per_token_above_200k_tokens", 200000},
                 {"input_cost_per_token_above_272k_tokens",
                  "output_cost_per_token_above_272k_tokens", 272000}};
    import_lite_window(m, v);
    import_size(m, CH_COLUMN_output_max, ch_json_get(v, "max_output_tokens"));
    import_size(m, CH_COLUMN_cache_min, ch_json_get(v, "prompt_cache_min_tokens"));
    import_prices(m, &(struct prices){ch_json_get(v, "input_cost_per_token"),
                                      ch_json_get(v, "output_cost_per_token"),
                                      ch_json_get(v, "cache_read_input_token_cost"),
                                      ch_json_get(v, "cache_creation_input_token_cost"), 1e6});
    for (size_t i = 0; i < CH_LEN(tiers); i++)
        import_tier(m, tiers[i].above, ch_json_get(v, tiers[i].in), ch_json_get(v, tiers[i].out),
                    1e6);
    import_value(m, CH_COLUMN_shutdown, ch_json_get(v, "deprecation_date"));
    if (ch_json_bool(ch_json_get(v, "supports_vision"), false)) {
        facts_of(m)->flags |= CH_M_TEXT | CH_M_IMAGES;
        mark(m, CH_COLUMN_BIT(modalities_in));
    }
    if (ch_json_is(ch_json_get(v, "supports_sampling_params"), CH_JSON_FALSE)) {
        facts_of(m)->flags |= CH_M_NO_SAMPLING;
        mark(m, CH_COLUMN_BIT(sampling));
    }
}

static int import_litellm(struct import *m, const struct ch_json *v, struct chela_error *err) {
    for (CH_JSON_MEMBERS(key, x, v)) {
        struct ch_sv id = ch_json_str(key), theirs = ch_json_get_str(x, "litellm_provider");
        struct ch_sv mode = ch_json_get_str(x, "mode");
        const char *provider = known_provider(theirs);
        if (!provider || !(ch_sv_is(mode, "chat") || ch_sv_is(mode, "responses")))
            continue;
        if (ch_sv_starts(id, "sample_spec"))
            continue;
        if (id.n > theirs.n && memcmp(id.p, theirs.p, theirs.n) == 0 && id.p[theirs.n] == '/')
            id = ch_sv(id.p + theirs.n + 1, id.n - theirs.n - 1);
        if (!is_name(id))
            continue;
        int rc = begin_row(m, provider, id, err);
        if (rc < 0)
            return rc;
        import_lite_model(m, x);
        end_row(m);
    }
    return 0;
}

/* --- all formats */

/* The first member's members tell which of the two public formats this is. */
static bool has_member(const struct ch_json *v, const char *name) {
    for (CH_JSON_MEMBERS(key, x, v)) {
        (void)key;
        if (ch_json_get(x, name))
            return true;
    }
    return false;
}

static int import_any(struct import *m, const struct ch_json *v, struct chela_error *err) {
    const struct ch_json *data = ch_json_is(v, CH_JSON_ARRAY) ? v : ch_json_get(v, "data");
    if (!ch_json_is(data, CH_JSON_ARRAY))
        data = ch_json_get(v, "models");
    if (ch_json_is(data, CH_JSON_ARRAY))
        return import_service(m, data, err);
    if (has_member(v, "litellm_provider"))
        return import_litellm(m, v, err);
    if (has_member(v, "models"))
        return import_models_dev(m, v, err);
    return ch_fail(err, CHELA_EPARSE, "this is no list of models (known: a service's /v1/models, "
                                      "models.dev's api.json, LiteLLM's "
                                      "model_prices_and_context_window.json)");
}

int ch_facts_import(struct ch_facts_file *out, struct ch_sv text, const char *provider,
                    ch_facts_complain *complain, void *user, struct chela_error *err) {
    struct import m = {.out = out, .provider = provider, .complain = complain, .user = user};
    const struct ch_json *v = NULL;
    struct chela_error why = {0};
    int rc = ch_json_parse(&out->arena, text, CH_JSON_STRICT, &v, NULL, &why);
    if (rc < 0)
        return ch_fail(err, rc, "%s", why.message);
    rc = import_any(&m, v, err);
    if (rc == 0 && !out->n)
        rc = ch_fail(err, CHELA_EPARSE,
                     "the list says nothing about models that chela could use%s%s",
                     m.first ? "; " : "", m.first ? m.first : "");
    return rc;
}

void ch_facts_import_reduce(struct ch_facts_row *row, const struct ch_model_facts *known) {
    struct ch_model_facts would = *known;
    ch_columns_apply(&would, &row->some, ~UINT64_C(0));
    row->some.known &= ch_columns_compare(&would, known);
}
