/* model_facts.h -- what is known about models: one table, a row for each (model_facts.def).
 *
 * The user's file and the configuration override columns of rows (model_columns.h): a target
 * has the facts that result (model/provider/target.h), and requests ask these.
 *
 * A request depends on the model by these facts and on nothing else that its name says. */
#ifndef CH_MODEL_FACTS_H
#define CH_MODEL_FACTS_H
#include <stdbool.h>

#include "model/catalog/model_request.h"
#include "model/catalog/price.h"

enum ch_model_flag {
    CH_M_NO_THINKING = 1 << 0,   /* Claude: takes no parameter `thinking` */
    CH_M_ADAPTIVE = 1 << 1,      /* Claude: thinking:{type:adaptive}, not a budget of tokens */
    CH_M_THINKS = 1 << 2,        /* Claude: thinks unless told otherwise */
    CH_M_HIDES = 1 << 3,         /* Claude: the text of thinking comes only on request */
    CH_M_BETWEEN_TOOLS = 1 << 4, /* Claude: the least thinking is {type:between_tools} */
    CH_M_BINDS = 1 << 5,         /* Claude: thinking blocks are bound to what precedes them */
    CH_M_NO_FORCED = 1 << 6,     /* refuses a forced tool choice */
    CH_M_NO_SAMPLING = 1 << 7,   /* refuses temperature, top_p, top_k */
    CH_M_SCHEMA = 1 << 8,        /* Claude: structured output */
    CH_M_RESPONSES = 1 << 9,     /* Chat Completions refuses tools unless the effort is none */
    CH_M_CACHE_24H = 1 << 10,    /* a prompt may be cached for a day, an hour, minutes */
    CH_M_BUDGET = 1 << 11,       /* Gemini: thinking takes a budget, not a level */
    CH_M_OTHER_MAKER = 1 << 12,  /* an effort beside `thinking` (DeepSeek, Moonshot, Z.AI) */
    CH_M_TOOL_SEARCH = 1 << 13,  /* its service searches tools that a request defers */
    CH_M_TEXT = 1 << 14,         /* reads text; without CH_M_IMAGES, nothing else */
    CH_M_IMAGES = 1 << 15,       /* reads images; neither of the two: not known */
    CH_M_COMPACTS = 1 << 16,     /* its service condenses a conversation on request */
    CH_M_CLEARS = 1 << 17,       /* its service leaves out old results of tools on request */
    CH_M_INTERACTIONS = 1 << 18, /* Gemini: spoken to over Interactions at Google's service */
    CH_M_CACHE_1H = 1 << 19,
    CH_M_CACHE_5M = 1 << 20,
    CH_M_PLAIN_CALLS = 1 << 21,  /* Gemini before 3: see the column `calls` */
    CH_M_ONE_CALL = 1 << 22,     /* Bedrock: takes a limit to one call at a time */
};

/* Who made a model; the parameters of a shared service depend on it. */
enum ch_maker {
    CH_MAKER_OTHER,
    CH_MAKER_ANTHROPIC,
    CH_MAKER_OPENAI,
    CH_MAKER_OPENAI_OPEN, /* models whose weights anybody may run */
    CH_MAKER_GOOGLE,
    CH_MAKER_AMAZON,
    CH_MAKER_MISTRAL,
};

/* Vocabularies, by which tokens are counted (prompt/tokens.h). */
enum ch_counting {
    CH_COUNTING_USUAL,    /* o200k_base, and every model that is not known better */
    CH_COUNTING_META,     /* more tokens for German, French and similar languages */
    CH_COUNTING_DEEPSEEK, /* as Meta's, with cheaper Chinese */
    CH_COUNTING_GOOGLE,   /* each digit is a token, cheap Japanese and Korean */
    CH_COUNTING_ALIBABA,  /* each digit is a token; otherwise as Meta's */
    CH_COUNTING_MISTRAL,  /* each digit is a token */
    CH_COUNTING_OLDER,    /* cl100k_base: expensive Chinese, Japanese, Korean */
    CH_COUNTING_FINE,     /* Anthropic's since 2026: 30 % more tokens than the usual */
};

struct ch_model_facts {
    /* The service that sells the model under this name; NULL: the row stands for models that
     * have no row, by the facts of the newest of their family. */
    const char *provider;
    const char *match; /* name without date; '*' is any text, '#' a digit */
    int64_t window, output;  /* tokens; 0: unknown */
    int64_t input_max;       /* of the window; 0: all of it */
    int64_t cache_min;       /* tokens that a service caches at least; 0: unknown */
    unsigned efforts;        /* bits 1 << enum ch_effort that are accepted; 0: no parameter */
    unsigned effort_default; /* one of them; 0: unknown */
    unsigned flags;          /* CH_M_* */
    unsigned maker;          /* enum ch_maker */
    unsigned counting;       /* enum ch_counting */
    int64_t budget_max;      /* tokens of thinking, if it takes a budget; 0: unknown */
    double price_regional;   /* factor of the price outside of the global region; 0: 1 */
    const char *reads; /* group of models that take each other's reasoning; NULL: its own alone */
    struct ch_price price;   /* until it changes: ch_model_price; input 0: unknown */
    struct ch_price later;   /* from the day later_from on; NULL: no change is known */
    const char *later_from;
    const char *resolved;    /* dated id that the name is an alias of; NULL: none */
    const char *released;    /* days, "2026-12-11"; NULL: unknown */
    const char *ends;        /* the last one; NULL: none is announced */
    const char *successor;   /* what its vendor recommends instead; NULL: unknown */
    const char *routed_to;   /* the model that answers after the end; NULL: none */
};

/* The row of a model, whoever serves it: "us.anthropic.claude-opus-4-8-v1:0" and
 * "anthropic/claude-opus-4.8" are the same. A row of all zeros for an unknown model. */
const struct ch_model_facts *ch_model_facts(struct ch_sv model);
/* The rows in order; NULL past the last. */
const struct ch_model_facts *ch_model_facts_at(size_t i);

/* Day on which the rows were compared with the vendors' pages. */
#define CH_MODEL_FACTS_AS_OF "2026-11-19"

/* True if a row's pattern stands for the name, whatever resellers and tuned models put before it,
 * and whatever its case. */
bool ch_model_fits(const char *match, struct ch_sv model);

/* True for the end of a model name that names a version: "-20250929", "-2025-04-14", "-2512",
 * "-001" or "-latest". */
bool ch_model_is_version(struct ch_sv end);
/* True if both names denote the same model: one may have a date, and a reseller's prefix. */
bool ch_model_same(struct ch_sv a, struct ch_sv b);

/* The price of a model on a day, such as 20261201. */
const struct ch_price *ch_model_price(const struct ch_model_facts *f, int day);
/* The day of a time of the wall clock, in UTC. */
int ch_model_day(int64_t now_ms);

/* 20261201 of "2026-12-01"; 0 of NULL. */
int ch_model_day_of(const char *date);

/* The facts that count for a request: its endpoint's, which include what the user and the
 * configuration say, else the built-in ones of its model. */
static inline const struct ch_model_facts *ch_request_facts(const struct ch_model_request *req) {
    const struct ch_endpoint *ep = req->endpoint;
    return ep && ep->facts ? ep->facts : ch_model_facts(req->model);
}
static inline bool ch_request_is(const struct ch_model_request *req, enum ch_model_flag flag) {
    return ch_request_facts(req)->flags & flag;
}

/* The effort that is sent for the wanted one: the nearest that the model accepts, the lower of
 * two. OFF becomes the lowest effort for a model that always reasons. Of a model whose efforts
 * are not known, OFF, LOW, MEDIUM and HIGH are sent. */
enum ch_effort ch_facts_effort(const struct ch_model_facts *f, enum ch_effort wanted);
/* The efforts that are sent while those of a model are not known. */
#define CH_EFFORTS_ASSUMED \
    (1u << CH_EFFORT_OFF | 1u << CH_EFFORT_LOW | 1u << CH_EFFORT_MEDIUM | 1u << CH_EFFORT_HIGH)
static inline enum ch_effort ch_effort_nearest(struct ch_sv model, enum ch_effort wanted) {
    return ch_facts_effort(ch_model_facts(model), wanted);
}
/* "off", "minimal", ...; NULL for DEFAULT. */
const char *ch_effort_name(enum ch_effort effort);
/* The word that services use: as above, but "none" for OFF. */
const char *ch_effort_word(enum ch_effort effort);
/* False: no such name. */
bool ch_effort_read(struct ch_sv name, enum ch_effort *out);

#endif
