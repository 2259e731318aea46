/* model_columns.c -- see model_columns.h. */
#include "model/catalog/model_columns.h"

#include <math.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"

struct word {
    const char *name;
    unsigned bits; /* that the word sets in the member; 0: the default, which is not written */
};

static const struct word api_words[] = {{"responses", CH_M_RESPONSES},
                                        {"chat", 0},
                                        {"messages", 0},
                                        {"gemini", 0},
                                        {"interactions", CH_M_INTERACTIONS},
                                        {"converse", 0},
                                        {NULL, 0}};
static const struct word effort_words[] = {
    {"off", 1u << CH_EFFORT_OFF},     {"none", 1u << CH_EFFORT_OFF},
    {"minimal", 1u << CH_EFFORT_MINIMAL}, {"low", 1u << CH_EFFORT_LOW},
    {"medium", 1u << CH_EFFORT_MEDIUM},   {"high", 1u << CH_EFFORT_HIGH},
    {"xhigh", 1u << CH_EFFORT_XHIGH},     {"max", 1u << CH_EFFORT_MAX},
    {NULL, 0}};
static const struct word thinking_words[] = {{"adaptive", CH_M_ADAPTIVE},
                                             {"between_tools", CH_M_BETWEEN_TOOLS},
                                             {"budget", CH_M_BUDGET},
                                             {"none", CH_M_NO_THINKING},
                                             {"enabled", 0},
                                             {"disabled", 0},
                                             {NULL, 0}};
static const struct word yes_words[][2] = {{{"true", CH_M_THINKS}, {NULL, 0}},
                                           {{"true", CH_M_OTHER_MAKER}, {NULL, 0}},
                                           {{"true", CH_M_SCHEMA}, {NULL, 0}},
                                           {{"true", CH_M_ONE_CALL}, {NULL, 0}},
                                           {{"true", CH_M_TOOL_SEARCH}, {NULL, 0}}};
static const struct word modality_words[] = {{"text", CH_M_TEXT}, {"image", CH_M_IMAGES},
                                             {"pdf", 0},          {"audio", 0},
                                             {"video", 0},        {"file", 0},
                                             {NULL, 0}};
static const struct word compaction_words[] = {
    {"conversation", CH_M_COMPACTS}, {"tool_results", CH_M_CLEARS}, {NULL, 0}};
static const struct word ttl_words[] = {
    {"5m", CH_M_CACHE_5M}, {"1h", CH_M_CACHE_1H}, {"24h", CH_M_CACHE_24H}, {NULL, 0}};
static const struct word call_words[] = {{"plain", CH_M_PLAIN_CALLS}, {"signed", 0}, {NULL, 0}};
static const struct word maker_words[] = {
    {"other", CH_MAKER_OTHER},   {"anthropic", CH_MAKER_ANTHROPIC},
    {"openai", CH_MAKER_OPENAI}, {"openai_open", CH_MAKER_OPENAI_OPEN},
    {"google", CH_MAKER_GOOGLE}, {"amazon", CH_MAKER_AMAZON},
    {"mistral", CH_MAKER_MISTRAL}, {NULL, 0}};
static const struct word counting_words[] = {
    {"usual", CH_COUNTING_USUAL},     {"meta", CH_COUNTING_META},
    {"google", CH_COUNTING_GOOGLE},   {"deepseek", CH_COUNTING_DEEPSEEK},
    {"alibaba", CH_COUNTING_ALIBABA}, {"mistral", CH_COUNTING_MISTRAL},
    {"cl100k", CH_COUNTING_OLDER},    {"anthropic", CH_COUNTING_FINE},
    {NULL, 0}};
static const struct word display_words[] = {
    {"omitted", CH_M_HIDES}, {"shown", 0}, {"summarized", 0}, {NULL, 0}};
/* A choice that is missing from the list is refused. */
static const struct word choice_words[] = {
    {"any", CH_M_NO_FORCED}, {"tool", CH_M_NO_FORCED}, {"auto", 0}, {"none", 0}, {NULL, 0}};
static const struct word sampling_words[] = {
    {"none", CH_M_NO_SAMPLING}, {"default_only", CH_M_NO_SAMPLING}, {"free", 0}, {NULL, 0}};
static const struct word binding_words[] = {
    {"new_accounts", CH_M_BINDS}, {"all", CH_M_BINDS}, {"none", 0}, {NULL, 0}};

enum kind {
    KIND_TOKENS,  /* int64_t, 0: unknown */
    KIND_DOLLARS, /* double, 0: unknown */
    KIND_EXTRA,   /* double, negative: as the input */
    KIND_TEXT,
    KIND_DAY,
    KIND_YES,   /* a flag */
    KIND_WORD,  /* one word, which stands for bits */
    KIND_WORDS, /* a list of them */
    KIND_LACKS, /* a list: a bit is set if no word of it is in the list */
    KIND_FIRST, /* a list in order of preference: the first word counts */
    KIND_TIERS,
};

#define AT(member) offsetof(struct ch_model_facts, member)
static const struct column {
    const char *name, *help;
    enum kind kind;
    size_t at;
    const struct word *words;
} columns[CH_COLUMNS] = {
#define HELP(name, help) [CH_COLUMN_##name] = {#name, help, ROW_##name},
#define ROW_window KIND_TOKENS, AT(window), NULL
#define ROW_input_max KIND_TOKENS, AT(input_max), NULL
#define ROW_output_max KIND_TOKENS, AT(output), NULL
#define ROW_apis KIND_FIRST, AT(flags), api_words
#define ROW_efforts KIND_WORDS, AT(efforts), effort_words
#define ROW_effort_default KIND_WORD, AT(effort_default), effort_words
#define ROW_thinking KIND_WORDS, AT(flags), thinking_words
#define ROW_thinks KIND_YES, AT(flags), yes_words[0]
#define ROW_display_default KIND_WORD, AT(flags), display_words
#define ROW_effort_beside_thinking KIND_YES, AT(flags), yes_words[1]
#define ROW_tool_choice KIND_LACKS, AT(flags), choice_words
#define ROW_sampling KIND_WORD, AT(flags), sampling_words
#define ROW_binding KIND_WORD, AT(flags), binding_words
#define ROW_modalities_in KIND_WORDS, AT(flags), modality_words
#define ROW_structured KIND_YES, AT(flags), yes_words[2]
#define ROW_tool_search KIND_YES, AT(flags), yes_words[4]
#define ROW_compaction KIND_WORDS, AT(flags), compaction_words
#define ROW_reads KIND_TEXT, AT(reads), NULL
#define ROW_maker KIND_WORD, AT(maker), maker_words
#define ROW_calls KIND_WORD, AT(flags), call_words
#define ROW_one_call KIND_YES, AT(flags), yes_words[3]
#define ROW_budget_max KIND_TOKENS, AT(budget_max), NULL
#define ROW_tokenizer KIND_WORD, AT(counting), counting_words
#define ROW_cache_ttls KIND_WORDS, AT(flags), ttl_words
#define ROW_cache_min KIND_TOKENS, AT(cache_min), NULL
#define ROW_price_in KIND_DOLLARS, AT(price.input), NULL
#define ROW_price_out KIND_DOLLARS, AT(price.output), NULL
#define ROW_price_cache_read KIND_EXTRA, AT(price.cache_read), NULL
#define ROW_price_cache_write KIND_EXTRA, AT(price.cache_write), NULL
#define ROW_tiers KIND_TIERS, AT(price), NULL
#define ROW_resolved KIND_TEXT, AT(resolved), NULL
#define ROW_released KIND_DAY, AT(released), NULL
#define ROW_shutdown KIND_DAY, AT(ends), NULL
#define ROW_successor KIND_TEXT, AT(successor), NULL
#define ROW_routed_to KIND_TEXT, AT(routed_to), NULL
    CH_MODEL_COLUMNS(HELP)
};

const char *ch_column_name(enum ch_column c) {
    return columns[c].name;
}

const char *ch_column_help(enum ch_column c) {
    return columns[c].help;
}

enum ch_column ch_column_find(struct ch_sv name) {
    unsigned c = 0;
    while (c < CH_COLUMNS && !ch_sv_is(name, columns[c].name))
        c++;
    return (enum ch_column)c;
}

static const void *member_of(const struct column *c, const struct ch_model_facts *f) {
    return (const char *)f + c->at;
}

static unsigned bits_of(const struct word *words) {
    unsigned bits = 0;
    for (; words->name; words++)
        bits |= words->bits;
    return bits;
}

/* --- reading */

static int wants(const struct ch_json *v, const char *what, struct chela_error *err) {
    if (v->type == CH_JSON_NUMBER) /* out of range */
        return ch_fail(err, CHELA_ECONFIG, "expected %s, not %g", what, ch_json_double(v, 0));
    return ch_fail(err, CHELA_ECONFIG, "expected %s, not %s", what, ch_json_type_name(v->type));
}

static int wants_word(const struct word *words, const struct ch_json *v, const char *what,
                      struct chela_error *err) {
    CH_BUF_AUTO known = {0};
    struct ch_sv given = ch_json_str(v);
    for (const struct word *w = words; w->name; w++)
        ch_buf_addf(&known, "%s%s", w == words ? "" : ", ", w->name);
    if (v->type == CH_JSON_STRING)
        return ch_fail(err, CHELA_ECONFIG, "expected %s of %s, not '%.*s'", what,
                       ch_buf_str(&known), (int)CH_MIN(given.n, 40), given.p);
    return ch_fail(err, CHELA_ECONFIG, "expected %s of %s, not %s", what, ch_buf_str(&known),
                   ch_json_type_name(v->type));
}

static const struct word *find_word(const struct word *words, const struct ch_json *v) {
    if (v->type == CH_JSON_STRING)
        for (; words->name; words++)
            if (ch_sv_is(ch_json_str(v), words->name))
                return words;
    return NULL;
}

static int read_words(const struct column *c, const struct ch_json *v, unsigned *bits,
                      struct chela_error *err) {
    unsigned found = 0;
    if (v->type != CH_JSON_ARRAY)
        return wants_word(c->words, v, "a list", err);
    for (CH_JSON_EACH(e, v)) {
        const struct word *w = find_word(c->words, e);
        if (!w)
            return wants_word(c->words, e, "one", err);
        found |= w->bits;
        if (c->kind == KIND_FIRST)
            break;
    }
    unsigned mask = bits_of(c->words);
    *bits = (*bits & ~mask) | (c->kind == KIND_LACKS ? mask & ~found : found);
    return 0;
}

static int read_word(const struct column *c, const struct ch_json *v, unsigned *bits,
                     struct chela_error *err) {
    const struct word *w = find_word(c->words, v);
    if (!w)
        return wants_word(c->words, v, "one", err);
    *bits = (*bits & ~bits_of(c->words)) | w->bits;
    return 0;
}

static int read_yes(const struct column *c, const struct ch_json *v, unsigned *bits,
                    struct chela_error *err) {
    if (v->type != CH_JSON_TRUE && v->type != CH_JSON_FALSE)
        return wants(v, "true or false", err);
    unsigned mask = bits_of(c->words);
    *bits = ch_json_bool(v, false) ? *bits | mask : *bits & ~mask;
    return 0;
}

static int read_tokens(const struct ch_json *v, int64_t *out, struct chela_error *err) {
    int64_t n;
    if (v->type != CH_JSON_NUMBER || !ch_json_as_int(v, &n) || n < 0 || n > CH_LIMIT_FACT_TOKENS)
        return wants(v, "a number of tokens", err);
    *out = n;
    return 0;
}

static int read_dollars(const struct ch_json *v, double *out, struct chela_error *err) {
    double n = ch_json_double(v, -1);
    if (v->type != CH_JSON_NUMBER || !(n >= 0 && n <= CH_LIMIT_FACT_DOLLARS))
        return wants(v, "US dollars", err);
    *out = n;
    return 0;
}

static bool is_day(struct ch_sv s) {
    if (s.n != 10)
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (i == 4 || i == 7 ? s.p[i] != '-' : s.p[i] < '0' || s.p[i] > '9')
            return false;
    int day = 10 * (s.p[8] - '0') + s.p[9] - '0', month = 10 * (s.p[5] - '0') + s.p[6] - '0';
    return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

static int read_text(const struct column *c, const struct ch_json *v, struct ch_arena *a,
                     const char **out, struct chela_error *err) {
    struct ch_sv s = ch_json_str(v);
    if (v->type != CH_JSON_STRING || !s.n || s.n > CH_LIMIT_FACT_TEXT || memchr(s.p, 0, s.n))
        return wants(v, c->kind == KIND_DAY ? "a day such as 2026-12-31" : "a name", err);
    if (c->kind == KIND_DAY && !is_day(s))
        return ch_fail(err, CHELA_ECONFIG, "expected a day such as 2026-12-31, not '%.*s'",
                       (int)CH_MIN(s.n, 40), s.p);
    *out = ch_arena_str(a, s);
    return 0;
}

/* One tier is kept beside the basic price. Dollars are negative, factors positive. */
static int read_tiers(const struct ch_json *v, struct ch_price *p, struct chela_error *err) {
    const struct ch_json *one = v->type == CH_JSON_ARRAY ? ch_json_at(v, 0) : NULL;
    int64_t above = 0;
    double in = 0, out = 0;
    if (v->type != CH_JSON_ARRAY || v->n > 1 || (one && one->type != CH_JSON_OBJECT))
        return wants(v, "a list of at most one {above, in, out}", err);
    if (!one) {
        p->long_input = p->long_output = 0;
        p->long_above = 0;
        return 0;
    }
    for (CH_JSON_MEMBERS(key, x, one)) {
        struct ch_sv k = ch_json_str(key);
        int rc = ch_sv_is(k, "above") ? read_tokens(x, &above, err)
                 : ch_sv_is(k, "in")  ? read_dollars(x, &in, err)
                 : ch_sv_is(k, "out") ? read_dollars(x, &out, err)
                                      : wants(one, "the members above, in and out", err);
        if (rc < 0)
            return rc;
    }
    if (!above || !(in > 0) || !(out > 0))
        return ch_fail(err, CHELA_ECONFIG, "expected {above, in, out}, each above 0");
    *p = (struct ch_price){.long_above = above, .long_input = -in, .long_output = -out};
    return 0;
}

int ch_column_read(enum ch_column which, const struct ch_json *v, struct ch_arena *a,
                   struct ch_some_facts *out, struct chela_error *err) {
    const struct column *c = &columns[which];
    void *to = (char *)&out->facts + c->at;
    int rc = CHELA_ECONFIG;
    switch (c->kind) {
    case KIND_TOKENS:
        rc = read_tokens(v, to, err);
        break;
    case KIND_DOLLARS:
    case KIND_EXTRA:
        rc = read_dollars(v, to, err);
        break;
    case KIND_TEXT:
    case KIND_DAY:
        rc = read_text(c, v, a, to, err);
        break;
    case KIND_YES:
        rc = read_yes(c, v, to, err);
        break;
    case KIND_WORD:
        rc = read_word(c, v, to, err);
        break;
    case KIND_WORDS:
    case KIND_LACKS:
    case KIND_FIRST:
        rc = read_words(c, v, to, err);
        break;
    case KIND_TIERS: {
        struct ch_price p = {0};
        rc = read_tiers(v, &p, err);
        out->facts.price.long_above = p.long_above;
        out->facts.price.long_input = p.long_input;
        out->facts.price.long_output = p.long_output;
        break;
    }
    }
    if (rc == 0)
        out->known |= UINT64_C(1) << which;
    return rc;
}

/* --- laying over, comparing */

/* Dollars of a tier as a factor of the basic price. */
static double factor_of(double tier, double basic) {
    return tier >= 0 ? tier : basic > 0 ? -tier / basic : 0;
}

static void apply_tier(struct ch_price *p, const struct ch_price *over) {
    p->long_above = over->long_above;
    p->long_input = factor_of(over->long_input, p->input);
    p->long_output = factor_of(over->long_output, p->output);
}

static void apply_column(const struct column *c, struct ch_model_facts *f,
                         const struct ch_model_facts *over) {
    void *to = (char *)f + c->at;
    const void *from = member_of(c, over);
    switch (c->kind) {
    case KIND_TOKENS:
        *(int64_t *)to = *(const int64_t *)from;
        break;
    case KIND_DOLLARS:
    case KIND_EXTRA:
        *(double *)to = *(const double *)from;
        break;
    case KIND_TEXT:
    case KIND_DAY:
        *(const char **)to = *(const char *const *)from;
        break;
    case KIND_YES:
    case KIND_WORD:
    case KIND_WORDS:
    case KIND_LACKS:
    case KIND_FIRST: {
        unsigned mask = bits_of(c->words);
        *(unsigned *)to = (*(unsigned *)to & ~mask) | (*(const unsigned *)from & mask);
        break;
    }
    case KIND_TIERS:
        apply_tier(&f->price, &over->price);
        break;
    }
}

void ch_columns_apply(struct ch_model_facts *f, const struct ch_some_facts *over,
                      ch_column_set which) {
    which &= over->known;
    if (which & CH_COLUMNS_OF_PRICE) {
        f->later_from = NULL;
        if (f->price.input <= 0)
            f->price.cache_read = f->price.cache_write = -1;
    }
    for (unsigned i = 0; i < CH_COLUMNS; i++)
        if (which & UINT64_C(1) << i)
            apply_column(&columns[i], f, &over->facts);
}

void ch_columns_copy(struct ch_some_facts *to, const struct ch_some_facts *from) {
    for (unsigned i = 0; i < CH_COLUMNS; i++)
        if (from->known & UINT64_C(1) << i && columns[i].kind != KIND_TIERS)
            apply_column(&columns[i], &to->facts, &from->facts);
    if (from->known & CH_COLUMN_BIT(tiers)) {
        to->facts.price.long_above = from->facts.price.long_above;
        to->facts.price.long_input = from->facts.price.long_input;
        to->facts.price.long_output = from->facts.price.long_output;
    }
    to->known |= from->known;
}

void ch_columns_own(struct ch_some_facts *some, struct ch_arena *a) {
    for (unsigned i = 0; i < CH_COLUMNS; i++) {
        const struct column *c = &columns[i];
        const char **text = (const char **)((char *)&some->facts + c->at);
        if ((c->kind == KIND_TEXT || c->kind == KIND_DAY) && *text)
            *text = ch_arena_str(a, ch_sv_str(*text));
    }
}

static bool is_unknown(const struct column *c, const struct ch_model_facts *f) {
    const void *m = member_of(c, f);
    switch (c->kind) {
    case KIND_TOKENS:
        return *(const int64_t *)m == 0;
    case KIND_DOLLARS:
        return f->price.input <= 0;
    case KIND_EXTRA:
        return f->price.input <= 0 || *(const double *)m < 0;
    case KIND_TIERS:
        return f->price.input <= 0 || f->price.long_input == 0;
    case KIND_TEXT:
    case KIND_DAY:
        return !*(const char *const *)m;
    default: /* a set of words that says nothing */
        return !(*(const unsigned *)m & bits_of(c->words));
    }
}

static bool same_text(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool near(double a, double b) {
    return fabs(a - b) <= 1e-9 * CH_MAX(fabs(a), fabs(b));
}

static bool same_column(const struct column *c, const struct ch_model_facts *a,
                        const struct ch_model_facts *b) {
    const void *x = member_of(c, a), *y = member_of(c, b);
    switch (c->kind) {
    case KIND_TOKENS:
        return *(const int64_t *)x == *(const int64_t *)y;
    case KIND_DOLLARS:
        return near(*(const double *)x, *(const double *)y);
    case KIND_EXTRA:
        if (is_unknown(c, a) || is_unknown(c, b))
            return is_unknown(c, a) == is_unknown(c, b);
        return near(*(const double *)x, *(const double *)y);
    case KIND_TEXT:
    case KIND_DAY:
        return same_text(*(const char *const *)x, *(const char *const *)y);
    case KIND_TIERS:
        return a->price.long_above == b->price.long_above &&
               near(a->price.long_input, b->price.long_input) &&
               near(a->price.long_output, b->price.long_output);
    default:
        return !((*(const unsigned *)x ^ *(const unsigned *)y) & bits_of(c->words));
    }
}

ch_column_set ch_columns_compare(const struct ch_model_facts *a, const struct ch_model_facts *b) {
    ch_column_set differ = 0;
    for (unsigned i = 0; i < CH_COLUMNS; i++)
        if (!same_column(&columns[i], a, b))
            differ |= UINT64_C(1) << i;
    return differ;
}

/* --- writing */

static void write_words(struct ch_jw *w, const struct column *c, unsigned bits) {
    unsigned written = 0;
    ch_jw_begin(w, '[');
    for (const struct word *word = c->words; word->name; word++) {
        bool in = c->kind == KIND_LACKS ? !word->bits || !(bits & word->bits)
                                        : (bits & word->bits & ~written) != 0;
        if (in)
            ch_jw_cstr(w, word->name);
        written |= word->bits;
    }
    ch_jw_end(w, ']');
}

/* The first word that stands for these bits, or the default. */
static void write_word(struct ch_jw *w, const struct column *c, unsigned bits) {
    bits &= bits_of(c->words);
    for (const struct word *word = c->words; word->name; word++)
        if (word->bits == bits) {
            ch_jw_cstr(w, word->name);
            return;
        }
    ch_jw_null(w);
}

static void write_tiers(struct ch_jw *w, const struct ch_price *p) {
    ch_jw_begin(w, '[');
    if (p->long_input != 0) {
        double in = p->long_input, out = p->long_output;
        ch_jw_begin(w, '{');
        ch_jw_kint(w, "above", p->long_above ? p->long_above : CH_PRICE_LONG);
        ch_jw_kdouble(w, "in", in < 0 ? -in : p->input * in);
        ch_jw_kdouble(w, "out", out < 0 ? -out : p->output * out);
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, ']');
}

static void write_value(struct ch_jw *w, const struct column *c, const struct ch_model_facts *f) {
    const void *m = member_of(c, f);
    switch (c->kind) {
    case KIND_TOKENS:
        ch_jw_int(w, *(const int64_t *)m);
        break;
    case KIND_DOLLARS:
    case KIND_EXTRA:
        ch_jw_double(w, *(const double *)m);
        break;
    case KIND_TEXT:
    case KIND_DAY:
        ch_jw_cstr(w, *(const char *const *)m);
        break;
    case KIND_YES:
        ch_jw_bool(w, *(const unsigned *)m & bits_of(c->words));
        break;
    case KIND_WORD:
        write_word(w, c, *(const unsigned *)m);
        break;
    case KIND_WORDS:
    case KIND_LACKS:
    case KIND_FIRST:
        write_words(w, c, *(const unsigned *)m);
        break;
    case KIND_TIERS:
        write_tiers(w, &f->price);
        break;
    }
}

void ch_column_write(struct ch_jw *w, enum ch_column which, const struct ch_model_facts *f) {
    const struct column *c = &columns[which];
    bool words = c->kind >= KIND_YES && c->kind <= KIND_FIRST;
    if (!words && is_unknown(c, f))
        ch_jw_null(w);
    else
        write_value(w, c, f);
}

void ch_columns_write(struct ch_jw *w, const struct ch_model_facts *f, ch_column_set which,
                      bool skip_unknown) {
    for (unsigned i = 0; i < CH_COLUMNS; i++) {
        if (!(which & UINT64_C(1) << i) || (skip_unknown && is_unknown(&columns[i], f)))
            continue;
        ch_jw_key(w, columns[i].name);
        ch_column_write(w, (enum ch_column)i, f);
    }
}

void ch_some_facts_write(struct ch_jw *w, const struct ch_some_facts *some) {
    for (unsigned i = 0; i < CH_COLUMNS; i++)
        if (some->known & UINT64_C(1) << i) {
            ch_jw_key(w, columns[i].name);
            write_value(w, &columns[i], &some->facts);
        }
}
