/* model_columns.h -- facts about models as JSON members: read, compared, laid over each other and
 * written. The user's file, a model in the configuration, the learned facts of a deployment and
 * `chela models list --json` have the same columns. A new column is one row of
 * CH_MODEL_COLUMNS, one row of the table in model_columns.c and a member or a flag. */
#ifndef CH_MODEL_COLUMNS_H
#define CH_MODEL_COLUMNS_H
#include "json/json.h"
#include "json/writer.h"
#include "model/catalog/model_facts.h"

/* X(name, explanation) */
#define CH_MODEL_COLUMNS(X)                                                                       \
    X(window, "tokens that fit into the context, with the reply")                                 \
    X(input_max, "tokens of input, if fewer than the window")                                     \
    X(output_max, "tokens of a reply")                                                            \
    X(apis, "protocols in order of preference: responses, chat, messages, gemini, interactions, " \
            "converse")                                                                           \
    X(efforts, "efforts of reasoning that are accepted: off, minimal, low, ..., max; none: []")   \
    X(effort_default, "the effort without a parameter")                                           \
    X(thinking, "how Claude and Gemini reason: adaptive, between_tools, budget, none")            \
    X(thinks, "the model reasons unless told otherwise")                                          \
    X(display_default, "whether the text of reasoning comes without being asked for: shown, "     \
                       "omitted")                                                                 \
    X(effort_beside_thinking, "takes an effort beside the switch `thinking`")                     \
    X(tool_choice, "choices of tools that are accepted: auto, none, any, tool")                   \
    X(sampling, "temperature and top_p: free, or none where they are refused")                    \
    X(binding, "whether reasoning is bound to what precedes it: none, new_accounts, all")         \
    X(modalities_in, "what it reads: text, image, pdf, audio, video")                             \
    X(structured, "takes a schema for the reply (Claude)")                                        \
    X(tool_search, "its service searches tools that a request defers")                            \
    X(compaction, "what its service shortens on request: conversation, tool_results")            \
    X(reads, "the group of models that take each other's reasoning, such as anthropic")           \
    X(maker, "whose form requests to a shared service have: anthropic, openai, openai_open, "     \
             "google, amazon, mistral, other")                                                    \
    X(calls, "of Google's models: signed, with ids, media and schemas, or plain")                 \
    X(one_call, "takes a limit to one call at a time (Bedrock)")                                  \
    X(budget_max, "tokens of thinking, if it takes a budget (Google)")                            \
    X(tokenizer, "how tokens are counted before a reply tells: usual, cl100k, anthropic, "        \
                 "google, meta, deepseek, alibaba, mistral")                                      \
    X(cache_ttls, "how long a prompt can be cached: 5m, 1h (Bedrock), 24h (OpenAI)")              \
    X(cache_min, "tokens that are cached at least")                                               \
    X(price_in, "US dollars for a million tokens of input")                                       \
    X(price_out, "US dollars for a million tokens of output")                                     \
    X(price_cache_read, "US dollars for a million tokens read from the cache")                    \
    X(price_cache_write, "US dollars for a million tokens written to the cache")                  \
    X(tiers, "another price of long requests: [{above, in, out}]")                                \
    X(resolved, "the dated name that this name is an alias of")                                   \
    X(released, "day of release")                                                                 \
    X(shutdown, "last day")                                                                       \
    X(successor, "the model that the vendor recommends instead")                                  \
    X(routed_to, "the model that answers after the last day")

enum ch_column {
#define CH_COLUMN_ENUM(name, help) CH_COLUMN_##name,
    CH_MODEL_COLUMNS(CH_COLUMN_ENUM)
#undef CH_COLUMN_ENUM
    CH_COLUMNS
};

typedef uint64_t ch_column_set; /* bits 1 << enum ch_column */
#define CH_COLUMN_BIT(name) (UINT64_C(1) << CH_COLUMN_##name)
#define CH_COLUMNS_OF_PRICE                                                                     \
    (CH_COLUMN_BIT(price_in) | CH_COLUMN_BIT(price_out) | CH_COLUMN_BIT(price_cache_read) |     \
     CH_COLUMN_BIT(price_cache_write) | CH_COLUMN_BIT(tiers))

/* Columns that the bytes of a request depend on. */
#define CH_COLUMNS_OF_REQUEST                                                                   \
    (CH_COLUMN_BIT(output_max) | CH_COLUMN_BIT(apis) | CH_COLUMN_BIT(efforts) |                 \
     CH_COLUMN_BIT(thinking) | CH_COLUMN_BIT(thinks) | CH_COLUMN_BIT(display_default) |         \
     CH_COLUMN_BIT(effort_beside_thinking) | CH_COLUMN_BIT(tool_choice) |                       \
     CH_COLUMN_BIT(sampling) | CH_COLUMN_BIT(structured) | CH_COLUMN_BIT(tool_search) |         \
     CH_COLUMN_BIT(modalities_in) | CH_COLUMN_BIT(cache_ttls) | CH_COLUMN_BIT(reads) |          \
     CH_COLUMN_BIT(maker) | CH_COLUMN_BIT(calls) | CH_COLUMN_BIT(one_call) |                    \
     CH_COLUMN_BIT(budget_max) | CH_COLUMN_BIT(compaction))

struct ch_some_facts { /* facts of which some columns are known */
    struct ch_model_facts facts;
    ch_column_set known;
};

const char *ch_column_name(enum ch_column c);
const char *ch_column_help(enum ch_column c);
/* CH_COLUMNS: no column has this name. */
enum ch_column ch_column_find(struct ch_sv name);

/* Read the value of a column into *out. Texts go to the arena. CHELA_ECONFIG: err says what is
 * expected ("expected a list of low, ..., not text"). */
int ch_column_read(enum ch_column c, const struct ch_json *v, struct ch_arena *a,
                   struct ch_some_facts *out, struct chela_error *err);

/* The columns in which a and b differ. */
ch_column_set ch_columns_compare(const struct ch_model_facts *a, const struct ch_model_facts *b);
/* Lay the known columns of `over`, if they are in `which`, over the facts. Texts are borrowed. */
void ch_columns_apply(struct ch_model_facts *f, const struct ch_some_facts *over,
                      ch_column_set which);
/* Add the known columns of `from` to those of `to`; a tier stays in dollars. */
void ch_columns_copy(struct ch_some_facts *to, const struct ch_some_facts *from);
/* Copy the texts into the arena. */
void ch_columns_own(struct ch_some_facts *some, struct ch_arena *a);
/* Write the value of a column; an unknown one is null. */
void ch_column_write(struct ch_jw *w, enum ch_column c, const struct ch_model_facts *f);
/* Write columns as members of the open object. skip_unknown: without those that are null. */
void ch_columns_write(struct ch_jw *w, const struct ch_model_facts *f, ch_column_set which,
                      bool skip_unknown);
/* Write the known columns as members of the open object. */
void ch_some_facts_write(struct ch_jw *w, const struct ch_some_facts *some);

#endif
