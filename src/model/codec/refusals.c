/* refusals.c -- see refusals.h.
 *
 * The rules are tried in order; the first one that fits and changes something is the lesson. A rule
 * fits by one of its texts, or because the message names one of its parameters and refuses it.
 * Texts are patterns of ch_error_has. */
#include "model/codec/refusals.h"

#include "base/limits.h"
#include "json/json.h"
#include "model/codec/encode.h"
#include "model/codec/errors.h"

#define LOOKED_AT (4 * CH_KB) /* bytes of a message that are searched */
#define TEXTS 10

enum protocol {
    CHAT = 1 << 0,
    RESPONSES = 1 << 1,
    ANTHROPIC = 1 << 2,
    GEMINI = 1 << 3,
    BEDROCK = 1 << 4,
    CLAUDE = ANTHROPIC | BEDROCK,
    OPENAI = CHAT | RESPONSES,
    ANY = OPENAI | CLAUDE | GEMINI,
};

enum special {
    WORDS, /* its texts and parameters say all */
    ACCEPTED_EFFORTS, /* the message lists efforts, or refuses one */
    NOT_OFF,          /* the model always reasons */
};

/* clang-format off */
static const struct rule {
    const char *name;
    const char *change;
    unsigned protocols;
    unsigned parts; /* the request has one of these; 0: does not matter */
    struct ch_learnt learns;
    enum special special;
    const char *texts[TEXTS];
    const char *params[TEXTS]; /* names of a parameter that the message refuses */
} rules[] = {
    /* Endpoints */
    {"responses_endpoint", "the endpoint is /v1/responses", CHAT, 0,
     {.api = CH_LEARNT_API_RESPONSES}, WORDS,
     {"use /v1/responses", "only supported in v1/responses", "use the responses api",
      "not accessible via the /chat/completions endpoint", "not supported*use*v1/responses"}, {0}},
    {"chat_endpoint", "the endpoint is /v1/chat/completions", RESPONSES, 0,
     {.api = CH_LEARNT_API_CHAT}, WORDS,
     {"use /v1/chat/completions", "only supported in v1/chat/completions",
      "use the chat completions api", "does not support the responses api",
      "not supported*responses*use*chat/completions"}, {0}},

    /* The limit of the reply */
    {"max_completion_tokens", "the limit is max_completion_tokens", CHAT, CH_PART_MAX_OUTPUT,
     {.quirks_off = CH_Q_MAX_TOKENS}, WORDS,
     {"'max_tokens'*use 'max_completion_tokens'", "max_tokens*use max_completion_tokens"},
     {"max_tokens"}},
    {"max_tokens", "the limit is max_tokens", CHAT, CH_PART_MAX_OUTPUT,
     {.quirks_on = CH_Q_MAX_TOKENS}, WORDS, {0}, {"max_completion_tokens"}},
    {"no_limit", "without a limit of the reply", OPENAI, CH_PART_MAX_OUTPUT,
     {.omit = CH_PART_MAX_OUTPUT}, WORDS, {0}, {"max_output_tokens", "max_tokens"}},

    /* Claude's thinking */
    {"between_tools", "thinking is only reduced, by between_tools", CLAUDE, CH_PART_OFF,
     {.flags_on = CH_M_BETWEEN_TOOLS}, WORDS, {"\"thinking\": {\"type\": \"between_tools\"}"}, {0}},
    {"always_thinks", "reasoning stays on, at its lowest effort", ANY, CH_PART_OFF, {0}, NOT_OFF,
     {"\"thinking.type.disabled\" is not supported", "reasoning is mandatory",
     "only works in thinking mode",
      "setting thinking_budget to 0", "thinking can't be disabled", "thinking cannot be disabled",
      "reasoning cannot be disabled", "does not support disabling"}, {0}},
    {"adaptive_thinking", "thinking is adaptive", CLAUDE, 0,
     {.flags_on = CH_M_ADAPTIVE, .flags_off = CH_M_NO_THINKING}, WORDS,
     {"\"thinking.type.enabled\" is not supported", "use \"thinking.type.adaptive\""}, {0}},
    {"thinking_budget", "thinking has a budget", CLAUDE, 0,
     {.flags_off = CH_M_ADAPTIVE | CH_M_BETWEEN_TOOLS}, WORDS,
     {"adaptive thinking is not supported", "'adaptive' is not supported",
      "thinking*input should be 'enabled' or 'disabled'",
      "thinking.type*must be*enabled*or*disabled"}, {0}},
    {"no_thinking_text", "the text of thinking is not asked for", CLAUDE, 0,
     {.flags_off = CH_M_HIDES}, WORDS, {0}, {"thinking.display", "thinking.adaptive.display",
     "display"}},
    {"thinking_level_none", "thinking has a budget, not a level", GEMINI, CH_PART_EFFORT,
     {.flags_on = CH_M_BUDGET}, WORDS, {"thinking level is not supported"}, {"thinkinglevel",
     "thinking_level"}},
    {"thinking_level", "thinking has a level, not a budget", GEMINI, CH_PART_EFFORT,
     {.flags_off = CH_M_BUDGET}, WORDS, {"thinking budget is not supported"}, {"thinkingbudget",
     "thinking_budget"}},

    /* Tool choices. "Thinking may not be enabled when tool_choice forces tool use." */
    {"no_forced_choice", "no tool is forced", ANY, CH_PART_FORCED,
     {.flags_on = CH_M_NO_FORCED}, WORDS,
     {"tool_choice*\"any\"*not supported", "tool_choice*does not support*required",
     "when tool_choice forces tool use",
      "does not support this tool_choice", "tool_choice*incompatible with thinking",
      "tool_choice*must be*auto",
      "provided 'tool_choice' value", "tool_choice*only*auto", "mode any*not supported"}, {0}},
    {"no_tool_choice", "without a tool choice", OPENAI, CH_PART_CHOICE,
     {.quirks_on = CH_Q_NO_TOOL_CHOICE, .flags_on = CH_M_NO_FORCED}, WORDS, {0}, {"tool_choice"}},
    {"parallel_calls", "parallel calls are allowed", ANY, CH_PART_PARALLEL,
     {.omit = CH_PART_PARALLEL}, WORDS, {0}, {"parallel_tool_calls", "disable_parallel_tool_use"}},

    /* Efforts. "Unsupported value: 'minimal' is not supported with the 'gpt-5.1' model. Supported
     * values are: 'none', 'low', 'medium', and 'high'." */
    {"efforts", "the nearest effort that the service takes is sent", ANY, CH_PART_EFFORT, {0},
     ACCEPTED_EFFORTS, {0}, {0}},
    {"no_summary", "the text of reasoning is not asked for", RESPONSES, CH_PART_SUMMARY,
     {.omit = CH_PART_SUMMARY}, WORDS, {"verified to generate reasoning summaries"},
     {"reasoning.summary", "summary"}},
    {"no_reasoning", "without reasoning parameters", RESPONSES, 0,
     {.quirks_on = CH_Q_NO_REASONING, .quirks_off = CH_Q_REASONS}, WORDS,
     {"encrypted content is not supported"}, {"reasoning.effort", "reasoning.encrypted_content",
     "reasoning"}},
    {"no_effort", "without an effort", ANY, CH_PART_EFFORT,
     {.quirks_on = CH_Q_NO_EFFORT, .omit = CH_PART_EFFORT}, WORDS,
     {"does not support the effort parameter", "thinking is not supported by this model",
      "does not support reasoning", "does not support thinking"},
     {"reasoning_effort", "effort", "output_config", "thinkingconfig", "thinking_config"}},
    {"no_thoughts", "the text of thoughts is not asked for", GEMINI, CH_PART_SUMMARY,
     {.omit = CH_PART_SUMMARY}, WORDS, {"thinking is not enabled"},
     {"includethoughts", "include_thoughts", "thinkingconfig", "thinking_config",
      "thinking_summaries"}},
    {"no_thinking", "without thinking parameters", CLAUDE, 0,
     {.flags_on = CH_M_NO_THINKING, .flags_off = CH_M_ADAPTIVE}, WORDS, {0}, {"thinking"}},
    {"replay_reasoning", "reasoning_content goes back", CHAT, 0,
     {.quirks_on = CH_Q_REPLAY_REASONING}, WORDS,
     {"reasoning_content*must be passed back", "missing reasoning_content",
     "reasoning_content is missing"}, {0}},

    /* Sampling */
    {"one_of_temperature", "without top_p", ANY, CH_PART_TOP_P, {.omit = CH_PART_TOP_P}, WORDS,
     {"temperature*and*top_p*cannot both be specified"}, {0}},
    {"no_temperature", "without temperature", ANY, CH_PART_TEMPERATURE,
     {.omit = CH_PART_TEMPERATURE}, WORDS,
     {"invalid temperature: only # is allowed", "temperature*may only be set to 1"},
     {"temperature"}},
    {"no_top_p", "without top_p", ANY, CH_PART_TOP_P, {.omit = CH_PART_TOP_P}, WORDS,
     {"invalid top_p: only"}, {"top_p", "topp"}},
    {"no_top_k", "without top_k", ANY, CH_PART_TOP_K, {.omit = CH_PART_TOP_K}, WORDS, {0}, {"top_k",
     "topk"}},
    {"no_stop", "without stop sequences", ANY, CH_PART_STOP, {.omit = CH_PART_STOP}, WORDS,
     {0}, {"stop", "stop_sequences", "stopsequences"}},
    {"no_seed", "without a seed", ANY, CH_PART_SEED, {.omit = CH_PART_SEED}, WORDS, {0}, {"seed",
     "random_seed"}},
    {"no_logprobs", "without log probabilities", ANY, CH_PART_LOGPROBS, {.omit = CH_PART_LOGPROBS},
     WORDS,
     {0}, {"logprobs", "top_logprobs", "message.output_text.logprobs", "responselogprobs"}},

    /* Roles and contents. OpenAI: "Unsupported value: 'messages[0].role' does not support 'system'
     * with this model." Others: "developer is not one of ['system', 'assistant', ...". */
    {"developer_role", "the system prompt has the role developer", CHAT, 0,
     {.quirks_off = CH_Q_NO_DEVELOPER}, WORDS, {"].role' does not support 'system'"}, {0}},
    {"system_role", "the system prompt has the role system", CHAT, 0,
     {.quirks_on = CH_Q_NO_DEVELOPER}, WORDS,
     {"developer is not one of", "'developer' is not one of", "invalid role*developer",
     "unknown variant `developer`",
      "role*developer*not supported", "unexpected role*developer", "unsupported role*developer",
      "].role' does not support 'developer'"}, {0}},
    {"alternate_roles", "messages of one role are joined", CHAT, 0,
     {.quirks_on = CH_Q_ALTERNATE}, WORDS,
     {"roles must alternate", "unexpected role 'user' after role 'tool'",
     "requires alternating user/assistant roles"}, {0}},
    {"short_ids", "ids of calls have nine characters", CHAT, 0, {.quirks_on = CH_Q_ID9}, WORDS,
     {"must be a-z, a-z, 0-9, with a length of 9"}, {0}},
    {"string_content", "contents are strings", CHAT, 0, {.quirks_on = CH_Q_STRING_CONTENT}, WORDS,
     {"content must be a string", "content*should be a valid string", "content*expected a string"},
     {0}},

    /* Schemas, streams, caches */
    {"no_strict", "tools are not strict", ANY, CH_PART_STRICT, {.quirks_on = CH_Q_NO_STRICT}, WORDS,
     {"strict tools*not supported"}, {"strict"}},
    {"no_tool_search", "no tool is deferred", CLAUDE | RESPONSES, 0,
     {.flags_off = CH_M_TOOL_SEARCH}, WORDS, {"does not support tool types: tool_search"},
     {"defer_loading", "tool_search"}},
    {"no_output_schema", "the schema of the answer is not native", ANY, CH_PART_SCHEMA,
     {.quirks_on = CH_Q_NO_OUTPUT_SCHEMA}, WORDS,
     {"'response_format' of type 'json_schema' is not supported",
     "response_format type is unavailable",
      "does not support output format", "structured output*not supported"},
     {"response_format", "json_schema", "output_config.format", "output_format", "text.format",
     "response_json_schema", "responsejsonschema"}},
    {"no_stream_usage", "the stream has no usage", CHAT, 0, {.quirks_on = CH_Q_NO_STREAM_USAGE},
     WORDS,
     {0}, {"stream_options"}},
    {"no_stream", "replies are not streamed", ANY, CH_PART_STREAM, {.omit = CH_PART_STREAM}, WORDS,
     {"must be verified to stream this model", "streaming is not supported"}, {"stream"}},
    {"no_cache_marks", "without cache marks", ANTHROPIC, 0, {.quirks_on = CH_Q_NO_CACHE_MARKS},
     WORDS,
     {0}, {"cache_control"}},
    {"no_cache_key", "without a cache key", OPENAI, CH_PART_CACHE_KEY, {.omit = CH_PART_CACHE_KEY},
     WORDS,
     {0}, {"prompt_cache_key"}},
    {"no_compaction", "chela itself condenses the conversation", ANTHROPIC | RESPONSES,
     CH_PART_COMPACTION, {.omit = CH_PART_COMPACTION}, WORDS,
     {"does not support compaction", "compaction*not supported", "compaction*not available"},
     {"context_management", "compact_threshold", "compaction", "clear_tool_uses_20250919",
      "compact_20260112", "compact-2026-01-12", "compact-2026-09-04",
      "context-management-2025-06-27"}},
    {"short_cache", "the cache lives as long as usual", OPENAI, CH_PART_CACHE_LONG,
     {.omit = CH_PART_CACHE_LONG}, WORDS,
     {0}, {"prompt_cache_retention"}},
};
/* clang-format on */

/* Words with which a service refuses a parameter that the message names. */
static const char *const refused[] = {
    "not supported",       "unsupported parameter",  "not permitted",       "extra_forbidden",
    "does not support",    "doesn't support",        "unknown parameter",   "unrecognized",
    "unknown name",        "unknown field",          "is deprecated for",   "extraneous key",
    "unexpected keyword",  "unexpected field",       "is not allowed",
          "property*is unsupported", "unexpected value",
};

_Static_assert(CH_LEN(rules) <= 64, "a rule is a bit of ch_learnt.rules");

const char *ch_refusal_name(unsigned rule) {
    return rule < CH_LEN(rules) ? rules[rule].name : NULL;
}

const char *ch_refusal_change(unsigned rule) {
    return rule < CH_LEN(rules) ? rules[rule].change : NULL;
}

int ch_refusal_find(struct ch_sv name) {
    for (size_t i = 0; i < CH_LEN(rules); i++)
        if (ch_sv_is(name, rules[i].name))
            return (int)i;
    return -1;
}

/* --- the request */

static unsigned protocol_of(const struct ch_endpoint *ep) {
    static const struct {
        const char *codec;
        unsigned protocol;
    } all[] = {{"openai", CHAT},
               {"openai-responses", RESPONSES},
               {"anthropic", ANTHROPIC},
               {"gemini", GEMINI},
               {"interactions", GEMINI},
               {"bedrock", BEDROCK}};
    const struct ch_codec *codec = ep->codec->inner ? ep->codec->inner : ep->codec;
    for (size_t i = 0; i < CH_LEN(all); i++)
        if (strcmp(all[i].codec, codec->name) == 0)
            return all[i].protocol;
    return 0;
}

static unsigned parts_of_tools(const struct ch_model_request *req) {
    unsigned parts = 0;
    for (size_t i = 0; i < req->ntools; i++)
        parts |= req->tools[i].strict ? CH_PART_STRICT : 0;
    if (!req->ntools)
        return 0;
    parts |= req->no_parallel ? CH_PART_PARALLEL : 0;
    if (req->choice == CH_CHOICE_ANY || req->choice == CH_CHOICE_ONE)
        parts |= CH_PART_FORCED;
    return parts | (req->choice != CH_CHOICE_AUTO ? CH_PART_CHOICE : 0);
}

unsigned ch_refusal_parts(const struct ch_model_request *req) {
    enum ch_effort effort = ch_encode_effort(req);
    unsigned parts = parts_of_tools(req);
    parts |= req->has_temperature ? CH_PART_TEMPERATURE : 0;
    parts |= req->has_top_p ? CH_PART_TOP_P : 0;
    parts |= req->top_k > 0 ? CH_PART_TOP_K : 0;
    parts |= req->nstop ? CH_PART_STOP : 0;
    parts |= req->has_seed ? CH_PART_SEED : 0;
    parts |= req->logprobs > 0 ? CH_PART_LOGPROBS : 0;
    parts |= req->max_output_tokens > 0 ? CH_PART_MAX_OUTPUT : 0;
    parts |= effort != CH_EFFORT_DEFAULT ? CH_PART_EFFORT : 0;
    parts |= effort != CH_EFFORT_OFF ? CH_PART_SUMMARY : 0;
    parts |= effort == CH_EFFORT_OFF ? CH_PART_OFF : 0;
    parts |= req->cache_key.n ? CH_PART_CACHE_KEY : 0;
    parts |= req->cache == CH_CACHE_LONG ? CH_PART_CACHE_LONG : 0;
    parts |= req->compact_at || req->compact_now ? CH_PART_COMPACTION : 0;
    parts |= req->no_stream ? 0 : CH_PART_STREAM;
    return parts | (req->output_schema.n ? CH_PART_SCHEMA : 0);
}

/* --- the message */

static bool refusals_is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The position after the name of a parameter as a whole word; NULL: it does not occur. */
static const char *after_word(struct ch_sv s, const char *name) {
    size_t n = strlen(name);
    for (size_t at = 0; at + n <= s.n; at++) {
        bool begins = at == 0 || !refusals_is_letter(s.p[at - 1]);
        bool ends = at + n == s.n || !refusals_is_letter(s.p[at + n]);
        if (begins && ends && ch_sv_eq_nocase(ch_sv(s.p + at, n), ch_sv(name, n)))
            return s.p + at + n;
    }
    return NULL;
}

static bool refuses(struct ch_sv message) {
    for (size_t i = 0; i < CH_LEN(refused); i++)
        if (ch_error_has(message, refused[i]))
            return true;
    return false;
}

static bool rule_fits(const struct rule *r, struct ch_sv message) {
    for (size_t i = 0; i < TEXTS && r->texts[i]; i++)
        if (ch_error_has(message, r->texts[i]))
            return true;
    for (size_t i = 0; i < TEXTS && r->params[i]; i++)
        if (after_word(message, r->params[i]))
            return refuses(message);
    return false;
}

/* --- efforts */

/* The effort that a word names; DEFAULT: none. */
static enum ch_effort effort_of(struct ch_sv word) {
    for (enum ch_effort e = CH_EFFORT_OFF; e <= CH_EFFORT_MAX; e++)
        if (ch_sv_eq_nocase(word, ch_sv_str(ch_effort_word(e))))
            return e;
    return CH_EFFORT_DEFAULT;
}

/* The efforts that a text names, as bits, up to the end of a sentence that names some. */
static unsigned efforts_in(struct ch_sv s) {
    unsigned found = 0;
    for (size_t i = 0; i < s.n;) {
        size_t n = 0;
        while (i + n < s.n && refusals_is_letter(s.p[i + n]))
            n++;
        enum ch_effort e = effort_of(ch_sv(s.p + i, n));
        found |= e != CH_EFFORT_DEFAULT ? 1u << e : 0;
        i += n ? n : 1;
        if (found && i + 1 < s.n && s.p[i] == '.' && s.p[i + 1] == ' ')
            break;
    }
    return found;
}

/* The rest of a message after the words that begin a list of values; empty: there is no list. */
static struct ch_sv list_in(struct ch_sv message) {
    static const char *const begins[] = {"supported values", "valid values",   "allowed values",
                                         "accepted values",  "available values", "must be one of",
                                         "should be",        "expected one of", "only supports",
                                         "supports only",    "supported efforts",
      "permitted values",
                                         "supported levels", "must be"};
    for (size_t i = 0; i < CH_LEN(begins); i++) {
        const char *at = after_word(message, begins[i]);
        struct ch_sv rest = at ? ch_sv(at, (size_t)(message.p + message.n - at)) : CH_SV("");
        if (efforts_in(rest))
            return rest;
    }
    return CH_SV("");
}

static bool is_about_effort(struct ch_sv message) {
    return ch_error_has(message, "effort") || ch_error_has(message, "thinking level") ||
           ch_error_has(message, "thinking_level") || ch_error_has(message, "unsupported value");
}

/* The efforts that a service takes, by its list, or without the one that it refuses. */
static unsigned accepted_efforts(struct ch_sv message, unsigned known) {
    struct ch_sv list = list_in(message);
    if (!is_about_effort(message))
        return 0;
    if (list.n)
        return efforts_in(list);
    unsigned named = efforts_in(message);
    bool one = named && !(named & (named - 1));
    return one && refuses(message) ? known & ~named : 0;
}

/* --- the lesson */

static bool changes(const struct rule *r, const struct ch_endpoint *ep, unsigned flags) {
    const struct ch_learnt *l = &r->learns;
    return ((ep->quirks | l->quirks_on) & ~l->quirks_off) != ep->quirks ||
           ((flags | l->flags_on) & ~l->flags_off) != flags || l->omit & ~ep->learnt.omit || l->api;
}

static bool teaches(const struct rule *r, struct ch_sv message, const struct ch_endpoint *ep,
                    struct ch_sv model, struct ch_refusal *out) {
    const struct ch_model_facts *f = ep->facts ? ep->facts : ch_model_facts(model);
    unsigned known = f->efforts ? f->efforts : CH_EFFORTS_ASSUMED, off = 1u << CH_EFFORT_OFF;
    if (r->special == WORDS)
        return rule_fits(r, message) && changes(r, ep, f->flags);
    if (r->special == NOT_OFF)
        out->efforts = rule_fits(r, message) ? known & ~off : 0;
    else
        out->efforts = accepted_efforts(message, known);
    return out->efforts && out->efforts != f->efforts;
}

bool ch_refusal_read(struct ch_sv message, const struct ch_endpoint *ep, struct ch_sv model,
                     unsigned parts, struct ch_refusal *out) {
    unsigned protocol = protocol_of(ep);
    message = message.n > LOOKED_AT ? ch_sv(message.p, LOOKED_AT) : message;
    for (unsigned i = 0; i < CH_LEN(rules); i++) {
        const struct rule *r = &rules[i];
        bool done = r->special == WORDS && ep->learnt.rules >> i & 1;
        *out = (struct ch_refusal){.rule = i};
        if (!done && r->protocols & protocol && (!r->parts || r->parts & parts) &&
            teaches(r, message, ep, model, out))
            return true;
    }
    return false;
}

void ch_refusal_learn(struct ch_learnt *l, const struct ch_refusal *r) {
    const struct ch_learnt *n = &rules[r->rule].learns;
    l->rules |= UINT64_C(1) << r->rule;
    l->quirks_on = (l->quirks_on & ~n->quirks_off) | n->quirks_on;
    l->quirks_off = (l->quirks_off & ~n->quirks_on) | n->quirks_off;
    l->flags_on = (l->flags_on & ~n->flags_off) | n->flags_on;
    l->flags_off = (l->flags_off & ~n->flags_on) | n->flags_off;
    l->omit |= n->omit;
    l->api = n->api ? n->api : l->api;
    l->efforts = r->efforts ? r->efforts : l->efforts;
}

/* --- names */

static unsigned efforts_of(const struct ch_json *names) {
    unsigned efforts = 0;
    enum ch_effort e;
    for (CH_JSON_EACH(v, names))
        if (ch_effort_read(ch_json_str(v), &e))
            efforts |= 1u << e;
    return efforts;
}

void ch_refusal_read_all(const struct ch_json *v, struct ch_learnt *out) {
    unsigned efforts = efforts_of(ch_json_get(v, "efforts"));
    for (CH_JSON_EACH(name, ch_json_get(v, "rules"))) {
        int rule = ch_refusal_find(ch_json_str(name));
        if (rule >= 0)
            ch_refusal_learn(out, &(struct ch_refusal){(unsigned)rule, efforts});
    }
}

void ch_refusal_write_all(const struct ch_learnt *l, struct ch_jw *w) {
    ch_jw_kbegin(w, "rules", '[');
    for (unsigned i = 0; ch_refusal_name(i); i++)
        if (l->rules >> i & 1)
            ch_jw_cstr(w, ch_refusal_name(i));
    ch_jw_end(w, ']');
    if (!l->efforts)
        return;
    ch_jw_kbegin(w, "efforts", '[');
    for (enum ch_effort e = CH_EFFORT_OFF; e <= CH_EFFORT_MAX; e++)
        if (l->efforts & 1u << e)
            ch_jw_cstr(w, ch_effort_name(e));
    ch_jw_end(w, ']');
}
