/* contract.c -- see contract.h. scripts/contract reads the rows below. */
#include "gateway/http/contract.h"

#include "base/chars.h"
#include "base/error.h"
#include "base/limits.h"
#include "json/writer.h"

#define REPEATED "accepted, so that an item of an answer can be posted back; without effect"
#define CACHE "the agent places its own marks for the cache"
#define RUN_HERE "calls run at the vendor, which has its own tools"

/* Tools of Chat Completions and of Responses may have either form. */
#define FUNCTION(at)                                                                         \
    {at ".name", CH_HONOURED, "name", NULL},                                                 \
        {at ".description", CH_HONOURED, "description", NULL},                               \
        {at ".parameters", CH_HONOURED, "schema of the arguments; a call always matches it", \
         NULL},                                                                              \
    {                                                                                        \
        at ".strict", CH_HONOURED, "a call always matches the schema", NULL                  \
    }

#define TOOLS(at)                                                                               \
    {at, CH_HONOURED, "tools of the client, in their order", NULL},                             \
        {at "[]", CH_HONOURED, "other types are the vendor's own: dropped, as `tools[].TYPE`",  \
         "function custom"},                                                                    \
        {at "[].type", CH_HONOURED, "`function`, `custom` or absent", NULL}, FUNCTION(at "[]"), \
        {at "[].format", CH_HONOURED, "of a tool with a text: the grammar, as a description",   \
         NULL},                                                                                 \
        {at "[].async", CH_DROPPED, "a call is waited for", NULL},                              \
        {at "[].allowed_callers", CH_DROPPED, "the model calls", NULL},                         \
        {at "[].defer_loading", CH_DROPPED, "all tools of a client are listed", NULL},          \
        {at "[].output_schema", CH_DROPPED, "", NULL},                                          \
        {at "[].function", CH_HONOURED, "the definition", NULL}, FUNCTION(at "[].function"),    \
        {at "[].custom", CH_HONOURED, "the definition", NULL},                                  \
        {at "[].custom.name", CH_HONOURED, "name", NULL},                                       \
        {at "[].custom.description", CH_HONOURED, "description", NULL}, {                       \
        at "[].custom.format", CH_HONOURED, "the grammar, as a description", NULL               \
    }

#define LIMITS                                                  \
    {"max_tokens", CH_HONOURED, "limit of the answer", NULL},   \
        {"max_output_tokens", CH_HONOURED, "likewise", NULL}, { \
        "max_completion_tokens", CH_HONOURED, "likewise", NULL  \
    }

#define EFFORT                                                                                   \
    {"reasoning", CH_HONOURED, "effort of reasoning", NULL},                                     \
        {"reasoning.effort", CH_HONOURED, "`none` or `off`, `minimal` to `max`, or `default`",   \
         NULL},                                                                                  \
        {"reasoning.enabled", CH_HONOURED, "true: `medium`; false: `off`", NULL},                \
        {"reasoning.max_tokens", CH_HONOURED, "the nearest effort", NULL},                       \
        {"reasoning.summary", CH_HONOURED, "a summary is always sent, if the model gives one",   \
         NULL},                                                                                  \
        {"reasoning.generate_summary", CH_HONOURED, "likewise", NULL},                           \
        {"reasoning.context", CH_DROPPED, "", "auto"}, {"reasoning.mode", CH_DROPPED, "", NULL}, \
        {"reasoning_effort", CH_HONOURED, "as `reasoning.effort`", NULL},                        \
        {"thinking", CH_HONOURED, "as in Messages", NULL},                                       \
        {"thinking.type", CH_HONOURED, "`enabled`, `disabled`, `adaptive`, `between_tools`",     \
         NULL},                                                                                  \
        {"thinking.budget_tokens", CH_HONOURED, "the nearest effort", NULL},                     \
        {"enable_thinking", CH_HONOURED, "as `reasoning.enabled`", NULL}, {                      \
        "thinking_budget", CH_HONOURED, "the nearest effort", NULL                               \
    }

const struct ch_contract_row ch_contract_chat[] = {
    {"model", CH_HONOURED, "id of an agent", NULL},
    {"messages", CH_HONOURED, "the history", NULL},
    {"messages[].role", CH_HONOURED,
     "`system`, `developer`, `user`, `assistant`, `tool`, `function`", NULL},
    {"messages[].content", CH_HONOURED, "a text, or a list of parts", NULL},
    {"messages[].content[].type", CH_HONOURED,
     "`text`, `refusal`, `image_url`, `input_audio`, `file`, `file_url`, `document_url`; a video "
     "is "
     "replaced by a note",
     NULL},
    {"messages[].content[].text", CH_HONOURED, "a text", NULL},
    {"messages[].content[].refusal", CH_HONOURED, "a text", NULL},
    {"messages[].content[].thinking", CH_DROPPED, "reasoning whose author is not known", NULL},
    {"messages[].content[].prompt_cache_breakpoint", CH_DROPPED, CACHE, NULL},
    {"messages[].content[].image_url", CH_HONOURED, "a URL or a data URL, or an object with it",
     NULL},
    {"messages[].content[].image_url.url", CH_HONOURED, "likewise", NULL},
    {"messages[].content[].image_url.detail", CH_DROPPED, "the vendor's resolution", "auto"},
    {"messages[].content[].input_audio", CH_HONOURED, "sound: base64 or a URL, or an object", NULL},
    {"messages[].content[].input_audio.data", CH_HONOURED, "likewise", NULL},
    {"messages[].content[].input_audio.format", CH_HONOURED, "such as `wav`", NULL},
    {"messages[].content[].file", CH_HONOURED, "a file", NULL},
    {"messages[].content[].file.file_data", CH_HONOURED, "base64, a data URL or a URL", NULL},
    {"messages[].content[].file.filename", CH_HONOURED, "its name", NULL},
    {"messages[].content[].file.file_id", CH_HONOURED,
     "an uploaded file is replaced by a note, and named `content[].file`", NULL},
    {"messages[].content[].document_url", CH_HONOURED, "a URL", NULL},
    {"messages[].content[].document_name", CH_HONOURED, "its name", NULL},
    {"messages[].content[].file_url", CH_HONOURED, "a URL", NULL},
    {"messages[].content[].video_url", CH_HONOURED,
     "a video is replaced by a note, and named `content[].file`", NULL},
    {"messages[].tool_calls", CH_HONOURED, "calls of the client's tools", NULL},
    {"messages[].function_call", CH_HONOURED, "the older form of a call", NULL},
    {"messages[].tool_call_id", CH_HONOURED, "the call of a result", NULL},
    {"messages[].reasoning_content", CH_HONOURED, "reasoning, for its author", NULL},
    {"messages[].reasoning_details", CH_HONOURED, "reasoning with its signature", NULL},
    {"messages[].refusal", CH_DROPPED, "a text that the model wrote in place of an answer", NULL},
    {"messages[].annotations", CH_HONOURED, REPEATED, NULL},
    {"messages[].images", CH_DROPPED, "pictures that the model made", NULL},
    {"messages[].audio", CH_DROPPED, "an earlier answer as sound; its text is in `content`", NULL},
    {"messages[].name", CH_DROPPED, "name of a person; the name of a function is in its call",
     NULL},
    {"stream", CH_HONOURED, "the answer as a stream of events", NULL},
    {"stream_options", CH_HONOURED, "", NULL},
    {"stream_options.include_usage", CH_HONOURED, "the usage in a last event", NULL},
    {"stream_options.include_obfuscation", CH_DROPPED, "", NULL},
    TOOLS("tools"),
    {"tool_choice", CH_HONOURED, "`auto`, `none`, `required`, `any`, a tool, or `allowed_tools`",
     NULL},
    {"parallel_tool_calls", CH_HONOURED, "false: one call at a time", NULL},
    {"functions", CH_HONOURED, "the older form of `tools`", NULL},
    FUNCTION("functions[]"),
    {"function_call", CH_HONOURED, "the older form of `tool_choice`", NULL},
    {"response_format", CH_HONOURED, "`text`, `json_object`, or `json_schema`", NULL},
    {"response_format.type", CH_HONOURED, "likewise", NULL},
    {"response_format.json_schema", CH_HONOURED, "the answer matches the schema", NULL},
    {"response_format.json_schema.schema", CH_HONOURED, "the schema", NULL},
    {"response_format.json_schema.name", CH_HONOURED, "a label", NULL},
    {"response_format.json_schema.strict", CH_HONOURED, "the answer always matches", NULL},
    {"response_format.json_schema.description", CH_DROPPED, "", NULL},
    {"n", CH_HONOURED, "1; more answers are refused", NULL},
    {"modalities", CH_HONOURED, "must include `text`; other kinds of answers are dropped", NULL},
    {"temperature", CH_HONOURED, "0 to 2", NULL},
    {"top_p", CH_HONOURED, "0 to 1", NULL},
    {"seed", CH_HONOURED, "", NULL},
    {"stop", CH_HONOURED, "at most 16 texts", NULL},
    LIMITS,
    EFFORT,
    {"web_search_options", CH_HONOURED, "named: " RUN_HERE, NULL},
    {"prediction", CH_DROPPED, "", NULL},
    {"audio", CH_DROPPED, "the answer is text", NULL},
    {"logprobs", CH_DROPPED, "", NULL},
    {"top_logprobs", CH_DROPPED, "", NULL},
    {"logit_bias", CH_SAMPLING, "", NULL},
    {"frequency_penalty", CH_SAMPLING, "", NULL},
    {"presence_penalty", CH_SAMPLING, "", NULL},
    {"store", CH_DROPPED, "the gateway stores no completions", NULL},
    {"service_tier", CH_DROPPED, "the provider's option `serviceTier` sets it", "auto default"},
    {"moderation", CH_DROPPED, "", NULL},
    {"verbosity", CH_PASSED, "", "medium"},
    {"metadata", CH_DROPPED, "", NULL},
    {"user", CH_DROPPED, "", NULL},
    {"safety_identifier", CH_DROPPED, "", NULL},
    {"prompt_cache_key", CH_DROPPED, "the agent has its own", NULL},
    {"prompt_cache_retention", CH_DROPPED, "the agent has its own", NULL},
    {"prompt_cache_options", CH_DROPPED, CACHE, NULL},
    {NULL, 0, NULL, NULL}};

const struct ch_contract_row ch_contract_responses[] = {
    {"model", CH_HONOURED, "id of an agent", NULL},
    {"input", CH_HONOURED, "a text, or a list of items", NULL},
    {"input[]", CH_HONOURED,
     "items of other types are the vendor's own: sent to a model of the Responses API, otherwise "
     "dropped, as `input[].TYPE`",
     "message function_call custom_tool_call function_call_output custom_tool_call_output "
     "reasoning "
     "item_reference additional_tools"},
    {"input[].type", CH_HONOURED, "", NULL},
    {"input[].role", CH_HONOURED, "`system`, `developer`, `user`, `assistant`", NULL},
    {"input[].content", CH_HONOURED, "a text, or a list of parts", NULL},
    {"input[].content[].type", CH_HONOURED,
     "`input_text`, `output_text`, `refusal`, `input_image`, `input_file`, `input_audio`", NULL},
    {"input[].content[].text", CH_HONOURED, "a text", NULL},
    {"input[].content[].refusal", CH_HONOURED, "a text", NULL},
    {"input[].content[].image_url", CH_HONOURED, "a URL or a data URL", NULL},
    {"input[].content[].image_url.url", CH_HONOURED, "likewise", NULL},
    {"input[].content[].image_url.detail", CH_DROPPED, "the vendor's resolution", "auto"},
    {"input[].content[].detail", CH_DROPPED, "the vendor's resolution", "auto"},
    {"input[].content[].file_data", CH_HONOURED, "base64 or a data URL", NULL},
    {"input[].content[].file_url", CH_HONOURED, "a URL", NULL},
    {"input[].content[].filename", CH_HONOURED, "its name", NULL},
    {"input[].content[].file_id", CH_HONOURED,
     "an uploaded file is replaced by a note, and named `content[].file`", NULL},
    {"input[].content[].input_audio", CH_HONOURED, "sound: base64 or a URL, or an object", NULL},
    {"input[].content[].data", CH_HONOURED, "sound, without `input_audio`", NULL},
    {"input[].content[].format", CH_HONOURED, "likewise", NULL},
    {"input[].content[].annotations", CH_HONOURED, REPEATED, NULL},
    {"input[].content[].logprobs", CH_HONOURED, REPEATED, NULL},
    {"input[].content[].prompt_cache_breakpoint", CH_DROPPED, CACHE, NULL},
    {"input[].id", CH_HONOURED, "of a reference: the item; otherwise a label", NULL},
    {"input[].status", CH_HONOURED, REPEATED, NULL},
    {"input[].phase", CH_HONOURED, "`commentary`, `final_answer`: for a model of the Responses API",
     NULL},
    {"input[].call_id", CH_HONOURED, "of a call and its output", NULL},
    {"input[].name", CH_HONOURED, "of a call", NULL},
    {"input[].namespace", CH_HONOURED, "of a call", NULL},
    {"input[].async", CH_DROPPED, "a call is waited for", NULL},
    {"input[].arguments", CH_HONOURED, "of a call", NULL},
    {"input[].input", CH_HONOURED, "of a call with a text", NULL},
    {"input[].output", CH_HONOURED, "a text, or a list of parts", NULL},
    {"input[].output[].type", CH_HONOURED, "as in `content`", NULL},
    {"input[].output[].text", CH_HONOURED, "a text", NULL},
    {"input[].output[].image_url", CH_HONOURED, "a URL or a data URL", NULL},
    {"input[].output[].detail", CH_DROPPED, "the vendor's resolution", "auto"},
    {"input[].output[].file_data", CH_HONOURED, "base64 or a data URL", NULL},
    {"input[].output[].file_url", CH_HONOURED, "a URL", NULL},
    {"input[].output[].filename", CH_HONOURED, "its name", NULL},
    {"input[].output[].prompt_cache_breakpoint", CH_DROPPED, CACHE, NULL},
    {"input[].output[].file_id", CH_HONOURED, "as in `content`", NULL},
    {"input[].caller", CH_DROPPED, "programs of a vendor's sandbox make no calls here", NULL},
    {"input[].summary", CH_HONOURED, "of reasoning", NULL},
    {"input[].encrypted_content", CH_HONOURED,
     "of reasoning, for its author; that of a stored response is known by its `id`", NULL},
    TOOLS("input[].tools"),
    {"instructions", CH_HONOURED, "added to the instructions of the agent", NULL},
    {"stream", CH_HONOURED, "the answer as a stream of events", NULL},
    {"stream_options", CH_HONOURED, "", NULL},
    {"stream_options.include_obfuscation", CH_DROPPED, "", NULL},
    TOOLS("tools"),
    {"tool_choice", CH_HONOURED, "`auto`, `none`, `required`, `any`, a tool, or `allowed_tools`",
     NULL},
    {"parallel_tool_calls", CH_HONOURED, "false: one call at a time", NULL},
    {"text", CH_HONOURED, "the form of the answer", NULL},
    {"text.format", CH_HONOURED, "`text`, `json_object`, or `json_schema`", NULL},
    {"text.format.type", CH_HONOURED, "likewise", NULL},
    {"text.format.schema", CH_HONOURED, "the answer matches the schema", NULL},
    {"text.format.name", CH_HONOURED, "a label", NULL},
    {"text.format.strict", CH_HONOURED, "the answer always matches", NULL},
    {"text.format.description", CH_DROPPED, "", NULL},
    {"text.verbosity", CH_PASSED, "", "medium"},
    {"include", CH_HONOURED, "more in the answer", NULL},
    {"include[]", CH_HONOURED, "others are dropped", "reasoning.encrypted_content"},
    {"store", CH_HONOURED, "false: the response is not stored", NULL},
    {"background", CH_HONOURED, "the response is sent at once, and fetched later", NULL},
    {"previous_response_id", CH_HONOURED, "a stored response", NULL},
    {"conversation", CH_HONOURED, "key of a session", NULL},
    {"metadata", CH_HONOURED, "repeated in the response", NULL},
    {"prompt", CH_REFUSED, "only the vendor has the stored prompt", NULL},
    {"temperature", CH_HONOURED, "0 to 2", NULL},
    {"top_p", CH_HONOURED, "0 to 1", NULL},
    {"seed", CH_HONOURED, "", NULL},
    {"stop", CH_HONOURED, "at most 16 texts", NULL},
    LIMITS,
    EFFORT,
    {"max_tool_calls", CH_DROPPED, "the limits of the agent hold", NULL},
    {"truncation", CH_DROPPED, "the agent's own compaction makes room", "disabled"},
    {"context_management", CH_DROPPED, "likewise", NULL},
    {"top_logprobs", CH_DROPPED, "", NULL},
    {"service_tier", CH_DROPPED, "the provider's option `serviceTier` sets it", "auto default"},
    {"moderation", CH_DROPPED, "", NULL},
    {"access_programs", CH_DROPPED, "", NULL},
    {"image", CH_DROPPED, "the vendor's treatment of pictures", NULL},
    {"user", CH_PASSED, "", NULL},
    {"safety_identifier", CH_PASSED, "", NULL},
    {"prompt_cache_key", CH_DROPPED, "the agent has its own", NULL},
    {"prompt_cache_retention", CH_DROPPED, "the agent has its own", NULL},
    {"prompt_cache_options", CH_DROPPED, CACHE, NULL},
    {NULL, 0, NULL, NULL}};

const struct ch_contract_row ch_contract_messages[] = {
    {"model", CH_HONOURED, "id of an agent", NULL},
    {"messages", CH_HONOURED, "the history", NULL},
    {"messages[].role", CH_HONOURED, "`user`, `assistant`, `system`", NULL},
    {"messages[].clear_at", CH_DROPPED, "the text holds for the whole conversation", NULL},
    {"messages[].output_config", CH_HONOURED, "", NULL},
    {"messages[].output_config.effort", CH_HONOURED, "the effort from here on", NULL},
    {"messages[].content", CH_HONOURED, "a text, or a list of blocks", NULL},
    {"messages[].content[]", CH_HONOURED,
     "blocks of other types are the vendor's own: sent to a Claude model, otherwise dropped, as "
     "`content[].TYPE`",
     "text image document search_result tool_use tool_result thinking redacted_thinking "
     "container_upload"},
    {"messages[].content[].type", CH_HONOURED, "", NULL},
    {"messages[].content[].text", CH_HONOURED, "a text", NULL},
    {"messages[].content[].source", CH_HONOURED, "`base64`, `url`, `text`, `content`, `file`",
     NULL},
    {"messages[].content[].title", CH_HONOURED, "of a document or a search result", NULL},
    {"messages[].content[].context", CH_DROPPED, "", NULL},
    {"messages[].content[].citations", CH_DROPPED, "", NULL},
    {"messages[].content[].transformations", CH_DROPPED, "", NULL},
    {"messages[].content[].content", CH_HONOURED,
     "of a result: a text, or `text`, `image`, `document`, `search_result` and `tool_reference`, "
     "which the model reads as words; others are refused", NULL},
    {"messages[].content[].file_id", CH_HONOURED,
     "an uploaded file is replaced by a note, and named `content[].file`", NULL},
    {"messages[].content[].id", CH_HONOURED, "of a call", NULL},
    {"messages[].content[].name", CH_HONOURED, "of a call", NULL},
    {"messages[].content[].toolset_name", CH_DROPPED, "", NULL},
    {"messages[].content[].input", CH_HONOURED, "of a call", NULL},
    {"messages[].content[].caller", CH_HONOURED, REPEATED, NULL},
    {"messages[].content[].tool_use_id", CH_HONOURED, "of a result", NULL},
    {"messages[].content[].is_error", CH_HONOURED, "of a result", NULL},
    {"messages[].content[].thinking", CH_HONOURED, "reasoning, for its author", NULL},
    {"messages[].content[].signature", CH_HONOURED, "likewise", NULL},
    {"messages[].content[].data", CH_HONOURED, "likewise", NULL},
    {"messages[].content[].cache_control", CH_DROPPED, CACHE, NULL},
    {"system", CH_HONOURED, "added to the instructions of the agent", NULL},
    {"system[].type", CH_HONOURED, "`text`", NULL},
    {"system[].text", CH_HONOURED, "a text", NULL},
    {"system[].cache_control", CH_DROPPED, CACHE, NULL},
    {"system[].citations", CH_DROPPED, "", NULL},
    {"stream", CH_HONOURED, "the answer as a stream of events", NULL},
    {"tools", CH_HONOURED, "tools of the client, in their order", NULL},
    {"tools[]", CH_HONOURED, "other types are the vendor's own: dropped, as `tools[].TYPE`",
     "custom"},
    {"tools[].type", CH_HONOURED, "`custom` or absent", NULL},
    {"tools[].name", CH_HONOURED, "name", NULL},
    {"tools[].description", CH_HONOURED, "description", NULL},
    {"tools[].input_schema", CH_HONOURED, "schema of the arguments; a call always matches it",
     NULL},
    {"tools[].strict", CH_HONOURED, "a call always matches the schema", NULL},
    {"tools[].cache_control", CH_DROPPED, CACHE, NULL},
    {"tools[].defer_loading", CH_DROPPED, "all tools of a client are listed", NULL},
    {"tools[].allowed_callers", CH_DROPPED, "the model calls", NULL},
    {"tools[].input_examples", CH_DROPPED, "", NULL},
    {"tools[].eager_input_streaming", CH_DROPPED, "", NULL},
    {"tool_choice", CH_HONOURED, "`auto`, `any`, `none`, a tool; `disable_parallel_tool_use`",
     NULL},
    {"mcp_servers", CH_HONOURED, "named: " RUN_HERE, NULL},
    {"temperature", CH_HONOURED, "0 to 1", NULL},
    {"top_p", CH_HONOURED, "0 to 1", NULL},
    {"top_k", CH_HONOURED, "a positive integer", NULL},
    {"stop_sequences", CH_HONOURED, "at most 16 texts", NULL},
    {"max_tokens", CH_HONOURED, "limit of the answer", NULL},
    {"thinking", CH_HONOURED, "effort of reasoning; `disabled` hides it", NULL},
    {"thinking.type", CH_HONOURED, "`enabled`, `disabled`, `adaptive`, `between_tools`", NULL},
    {"thinking.budget_tokens", CH_HONOURED, "the nearest effort", NULL},
    {"thinking.display", CH_DROPPED, "reasoning is shown if the model gives it", "summarized"},
    {"thinking.block_binding", CH_DROPPED, "the agent has its own rule", NULL},
    {"output_config", CH_HONOURED, "", NULL},
    {"output_config.effort", CH_HONOURED, "`off`, `minimal` to `max`", NULL},
    {"output_config.format", CH_HONOURED, "the answer matches the schema", NULL},
    {"output_config.task_budget", CH_DROPPED, "the limits of the agent hold", NULL},
    {"output_format", CH_HONOURED, "the older form of `output_config.format`", NULL},
    {"thread", CH_REFUSED, "send the whole conversation", NULL},
    {"cache_control", CH_DROPPED, CACHE, NULL},
    {"container", CH_DROPPED, "the vendor's", NULL},
    {"context_management", CH_DROPPED, "the agent's own compaction makes room", NULL},
    {"compaction", CH_REFUSED, "the agent's own compaction makes room", NULL},
    {"fallbacks", CH_DROPPED, "the agent has its own", NULL},
    {"fallback_credit_token", CH_DROPPED, "", NULL},
    {"diagnostics", CH_DROPPED, "", NULL},
    {"user_profile_id", CH_DROPPED, "", NULL},
    {"billing_policy", CH_REFUSED, "the key of the provider pays", NULL},
    {"workspace_id", CH_DROPPED, "the key of the provider decides", NULL},
    {"inference_geo", CH_REFUSED, "the place of the model is the provider's", NULL},
    {"metadata", CH_PASSED, "", NULL},
    {"service_tier", CH_DROPPED, "the provider's option `serviceTier` sets it", "auto"},
    {"speed", CH_DROPPED, "", "standard"},
    {NULL, 0, NULL, NULL}};

const struct ch_contract_row ch_contract_embeddings[] = {
    {"model", CH_HONOURED, "id of an agent with an `embedding` model; otherwise the first one",
     NULL},
    {"input", CH_HONOURED, "a text, or a list of texts", NULL},
    {"encoding_format", CH_HONOURED, "`float` or `base64`", NULL},
    {"dimensions", CH_HONOURED, "passed on", NULL},
    {"user", CH_DROPPED, "", NULL},
    {NULL, 0, NULL, NULL}};

/* --- a request */

struct contract {
    struct ch_contract_passed *passed; /* NULL: nothing is passed on */
    struct ch_buf *dropped;
    struct chela_error *err;
};

void ch_contract_drop(struct ch_buf *dropped, const char *prefix, struct ch_sv name) {
    CH_BUF_AUTO shown = {0};
    if (dropped->n > CH_LIMIT_DROPPED)
        return;
    name.n = CH_MIN(name.n, (size_t)CH_LIMIT_DROPPED_NAME);
    ch_buf_add_str(&shown, prefix);
    for (size_t i = 0; i < name.n; i++) {
        bool plain = ch_char_is(name.p[i], CH_CHAR_WORD | CH_CHAR_DASH | CH_CHAR_DOT);
        ch_buf_addc(&shown, plain ? name.p[i] : '?');
    }
    struct ch_sv all = ch_buf_sv(dropped);
    while (all.n)
        if (ch_sv_eq(ch_sv_trim(ch_sv_split(&all, ',')), ch_buf_sv(&shown)))
            return;
    if (dropped->n + shown.n < CH_LIMIT_DROPPED)
        ch_buf_addf(dropped, "%s%s", dropped->n ? ", " : "", ch_buf_str(&shown));
}

static bool contract_has_word(const char *words, struct ch_sv word) {
    struct ch_sv all = ch_sv_str(words);
    while (all.n)
        if (ch_sv_eq(ch_sv_split(&all, ' '), word))
            return true;
    return false;
}

/* False: a value that asks for nothing. */
static bool contract_asks(const struct ch_json *v, const char *words) {
    switch (v->type) {
    case CH_JSON_NULL:
    case CH_JSON_FALSE:
        return false;
    case CH_JSON_TRUE:
        return true;
    case CH_JSON_NUMBER:
        return ch_json_double(v, 1) != 0;
    case CH_JSON_STRING:
        return ch_json_str(v).n > 0 && !(words && contract_has_word(words, ch_json_str(v)));
    default:
        return v->n > 0;
    }
}

/* The row of a member among those after `from` whose paths begin with prefix. */
static const struct ch_contract_row *contract_find(const struct ch_contract_row *from,
                                                   const char *prefix, struct ch_sv name) {
    size_t n = strlen(prefix);
    if (memchr(name.p, '.', name.n) || memchr(name.p, '[', name.n))
        return NULL; /* it would be taken for a path */
    for (const struct ch_contract_row *m = from; m->path && strncmp(m->path, prefix, n) == 0; m++)
        if (ch_sv_is(name, m->path + n))
            return m;
    return NULL;
}

static int contract_object(struct contract *c, const struct ch_contract_row *rows,
                           const char *prefix, const struct ch_json *object);

/* Names the words of a list that are not among the known ones. */
static void contract_words(struct contract *c, const struct ch_contract_row *m,
                           const struct ch_json *list) {
    CH_BUF_AUTO prefix = {0};
    ch_buf_addf(&prefix, "%s.", m->path);
    for (CH_JSON_EACH(e, list))
        if (ch_json_is(e, CH_JSON_STRING) && !contract_has_word(m->words, ch_json_str(e)))
            ch_contract_drop(c->dropped, ch_buf_str(&prefix), ch_json_str(e));
}

/* The values of a list, or one value. rows: those of the member's own members. */
static int contract_value(struct contract *c, const struct ch_contract_row *m,
                          const struct ch_json *v) {
    CH_BUF_AUTO prefix = {0};
    const struct ch_contract_row *rows = m + 1;
    const char *types = NULL;
    bool list = v->type == CH_JSON_ARRAY;
    int rc = 0;
    ch_buf_addf(&prefix, "%s%s", m->path, list ? "[]" : "");
    if (list && rows->path && strcmp(rows->path, ch_buf_str(&prefix)) == 0) {
        contract_words(c, rows, v);
        types = rows++->words;
    }
    ch_buf_addc(&prefix, '.');
    if (!rows->path || strncmp(rows->path, ch_buf_str(&prefix), prefix.n) != 0)
        return 0; /* honoured whole */
    if (!list)
        return contract_object(c, rows, ch_buf_str(&prefix), v);
    for (CH_JSON_EACH(e, v)) {
        struct ch_sv type = ch_json_get_str(e, "type");
        if (rc == 0 && (!types || !type.n || contract_has_word(types, type)))
            rc = contract_object(c, rows, ch_buf_str(&prefix), e);
    }
    return rc;
}

/* Members of members: "text.verbosity" is {"text":{"verbosity":...}}. */
static bool contract_pass(struct contract *c, const struct ch_contract_row *m,
                          const struct ch_json *v) {
    CH_BUF_AUTO value = {0};
    struct ch_jw w = ch_jw(&value);
    struct ch_sv path = ch_sv_str(m->path);
    struct ch_contract_passed *p = c->passed;
    size_t depth = 0;
    if (!p || !(m->fate == CH_SAMPLING ? p->samples : p->passes))
        return false;
    while (path.n) {
        struct ch_sv name = ch_sv_split(&path, '.');
        ch_buf_addf(&value, "%s\"%.*s\":", depth++ ? "{" : "", CH_SV_FMT(name));
    }
    ch_jw_value(&w, v);
    while (--depth)
        ch_buf_addc(&value, '}');
    if (p->members.n + value.n > CH_LIMIT_PASSED)
        return false;
    ch_buf_addf(&p->members, "%s%s", p->members.n ? "," : "", ch_buf_str(&value));
    return true;
}

static int contract_object(struct contract *c, const struct ch_contract_row *rows,
                           const char *prefix, const struct ch_json *object) {
    for (CH_JSON_MEMBERS(key, v, object)) {
        const struct ch_contract_row *m = contract_find(rows, prefix, ch_json_str(key));
        int rc = 0;
        if (m && m->fate == CH_HONOURED)
            rc = contract_value(c, m, v);
        else if (!contract_asks(v, m ? m->words : NULL))
            continue;
        else if (m && m->fate == CH_REFUSED)
            rc = ch_fail(c->err, CHELA_EINVAL, "`%s` is not supported: %s", m->path, m->about);
        else if (!m || m->fate < CH_PASSED || !contract_pass(c, m, v))
            ch_contract_drop(c->dropped, prefix, ch_json_str(key));
        if (rc < 0)
            return rc;
    }
    return 0;
}

int ch_contract_apply(const struct ch_contract_row *table, const struct ch_json *request,
                      struct ch_contract_passed *passed, struct ch_buf *dropped,
                      struct chela_error *err) {
    struct contract c = {.passed = passed, .dropped = dropped, .err = err};
    return ch_json_is(request, CH_JSON_OBJECT) ? contract_object(&c, table, "", request) : 0;
}
