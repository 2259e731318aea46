/* errors.c -- classifies failures by status, vendor code and text.
 *
 * The tables contain the knowledge; the code only searches them. Order of precedence: the
 * vendor's code, then the English message, then the status (xAI answers a bad key with 400,
 * OpenRouter puts a 502 into a 200). Text patterns ignore case; '*' matches any text, '#' a
 * number. */
#include "model/codec/errors.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "json/writer.h"
#include "model/codec/retry_after.h"

#define LOOKED_AT (4 * CH_KB) /* bytes of a message that are searched */

static const struct {
    const char *word; /* a type or code, case-insensitive */
    enum ch_error_class cls;
} words[] = {
    /* Anthropic */
    {"authentication_error", CH_ERR_AUTH},
    {"permission_error", CH_ERR_AUTH},
    {"billing_error", CH_ERR_BILLING},
    {"request_too_large", CH_ERR_OVERFLOW},
    {"rate_limit_error", CH_ERR_RATE_LIMIT},
    {"overloaded_error", CH_ERR_OVERLOADED},
    {"timeout_error", CH_ERR_TIMEOUT},
    {"api_error", CH_ERR_SERVER},
    {"conflict_error", CH_ERR_SERVER},
    /* OpenAI and compatible servers */
    {"invalid_api_key", CH_ERR_AUTH},
    {"insufficient_quota", CH_ERR_BILLING},
    {"billing_hard_limit_reached", CH_ERR_BILLING},
    {"billing_not_active", CH_ERR_BILLING},
    {"usage_limit_reached", CH_ERR_BILLING},
    {"usage_not_included", CH_ERR_BILLING},
    {"insufficient_user_quota", CH_ERR_BILLING},
    {"exceeded_current_quota_error", CH_ERR_BILLING}, /* Moonshot */
    {"engine_overloaded_error", CH_ERR_OVERLOADED},
    {"rate_limit_exceeded", CH_ERR_RATE_LIMIT},
    {"model_not_found", CH_ERR_MODEL_NOT_FOUND},
    {"invalid_model", CH_ERR_MODEL_NOT_FOUND}, /* Mistral */
    {"context_length_exceeded", CH_ERR_OVERFLOW},
    {"exceed_context_size_error", CH_ERR_OVERFLOW},
    {"model_max_prompt_tokens_exceeded", CH_ERR_OVERFLOW},
    {"too_many_prompt_tokens", CH_ERR_OVERFLOW},
    {"server_is_overloaded", CH_ERR_OVERLOADED},
    {"slow_down", CH_ERR_OVERLOADED},
    {"unavailable_error", CH_ERR_OVERLOADED},
    {"content_filter", CH_ERR_REFUSED},
    {"content_policy_violation", CH_ERR_REFUSED},
    {"invalid_prompt", CH_ERR_REFUSED},
    {"bio_policy", CH_ERR_REFUSED},
    {"misalignment_policy_violation", CH_ERR_REFUSED},
    {"image_content_policy_violation", CH_ERR_REFUSED},
    {"vector_store_timeout", CH_ERR_TIMEOUT},
    {"data_residency_mismatch", CH_ERR_FORMAT},
    {"invalid_encrypted_content", CH_ERR_FORMAT},
    {"invalid_image", CH_ERR_FORMAT},
    {"invalid_image_format", CH_ERR_FORMAT},
    {"invalid_image_mode", CH_ERR_FORMAT},
    {"invalid_image_url", CH_ERR_FORMAT},
    {"invalid_base64_image", CH_ERR_FORMAT},
    {"image_too_large", CH_ERR_FORMAT},
    {"image_too_small", CH_ERR_FORMAT},
    {"image_parse_error", CH_ERR_FORMAT},
    {"image_file_too_large", CH_ERR_FORMAT},
    {"image_file_not_found", CH_ERR_FORMAT},
    {"unsupported_image_media_type", CH_ERR_FORMAT},
    {"empty_image_file", CH_ERR_FORMAT},
    {"failed_to_download_image", CH_ERR_FORMAT},
    /* Hugging Face's inference server */
    {"overloaded", CH_ERR_OVERLOADED},
    {"validation", CH_ERR_FORMAT},
    /* OpenRouter, in the metadata */
    {"payment_required", CH_ERR_BILLING},
    {"provider_overloaded", CH_ERR_OVERLOADED},
    {"refusal", CH_ERR_REFUSED},
    {"timeout", CH_ERR_TIMEOUT},
    /* Alibaba, Volcengine */
    {"Arrearage", CH_ERR_BILLING},
    {"AllocationQuota.FreeTierOnly", CH_ERR_BILLING},
    {"AccountOverdueError", CH_ERR_BILLING},
    {"data_inspection_failed", CH_ERR_REFUSED},
    {"DataInspectionFailed", CH_ERR_REFUSED},
    {"SensitiveContentDetected", CH_ERR_REFUSED},
    {"InputTextSensitiveContentDetected", CH_ERR_REFUSED},
    {"OutputTextSensitiveContentDetected", CH_ERR_REFUSED},
    /* Google */
    {"UNAUTHENTICATED", CH_ERR_AUTH},
    {"PERMISSION_DENIED", CH_ERR_AUTH},
    {"API_KEY_INVALID", CH_ERR_AUTH},
    {"NOT_FOUND", CH_ERR_MODEL_NOT_FOUND},
    {"RESOURCE_EXHAUSTED", CH_ERR_RATE_LIMIT},
    {"UNAVAILABLE", CH_ERR_OVERLOADED},
    {"DEADLINE_EXCEEDED", CH_ERR_TIMEOUT},
    {"INVALID_ARGUMENT", CH_ERR_FORMAT},
    {"FAILED_PRECONDITION", CH_ERR_FORMAT},
    {"INTERNAL", CH_ERR_SERVER},
    {"authentication", CH_ERR_AUTH},
    {"too_many_requests", CH_ERR_RATE_LIMIT},
    {"quota_exceeded", CH_ERR_RATE_LIMIT},
    {"service_unavailable", CH_ERR_OVERLOADED},
    {"aborted", CH_ERR_SERVER},
    {"invalid_request", CH_ERR_FORMAT},
    {"parameter_unknown", CH_ERR_FORMAT},
    {"out_of_range", CH_ERR_FORMAT},
    {"unimplemented", CH_ERR_FORMAT},
    {"safety", CH_ERR_REFUSED},
    {"recitation", CH_ERR_REFUSED},
    {"language", CH_ERR_REFUSED},
    {"prohibited_content", CH_ERR_REFUSED},
    {"spii", CH_ERR_REFUSED},
    {"blocklist", CH_ERR_REFUSED},
    {"image_safety", CH_ERR_REFUSED},
    {"image_prohibited_content", CH_ERR_REFUSED},
    {"image_recitation", CH_ERR_REFUSED},
    {"image_other", CH_ERR_REFUSED},
    {"content_blocked", CH_ERR_REFUSED},
    {"malformed_function_call", CH_ERR_FORMAT},
    {"malformed_tool_call", CH_ERR_FORMAT},
    {"unexpected_tool_call", CH_ERR_FORMAT},
    /* Amazon; lower-case first letter inside streams */
    {"AccessDeniedException", CH_ERR_AUTH},
    {"UnrecognizedClientException", CH_ERR_AUTH},
    {"InvalidSignatureException", CH_ERR_AUTH},
    {"IncompleteSignatureException", CH_ERR_AUTH},
    {"MissingAuthenticationTokenException", CH_ERR_AUTH},
    {"ExpiredTokenException", CH_ERR_AUTH},
    {"ExpiredToken", CH_ERR_AUTH},
    {"ThrottlingException", CH_ERR_RATE_LIMIT},
    {"TooManyRequestsException", CH_ERR_RATE_LIMIT},
    {"ServiceQuotaExceededException", CH_ERR_BILLING},
    {"ModelNotReadyException", CH_ERR_OVERLOADED},
    {"ServiceUnavailableException", CH_ERR_OVERLOADED},
    {"ModelTimeoutException", CH_ERR_TIMEOUT},
    {"ResourceNotFoundException", CH_ERR_MODEL_NOT_FOUND},
    {"ValidationException", CH_ERR_FORMAT},
    {"ModelErrorException", CH_ERR_SERVER},
    {"ModelStreamErrorException", CH_ERR_SERVER},
    {"InternalServerException", CH_ERR_SERVER},
    /* Z.ai */
    {"1113", CH_ERR_BILLING},
    {"1304", CH_ERR_BILLING}, /* the calls of a day */
    {"1308", CH_ERR_BILLING},
    {"1309", CH_ERR_BILLING},
    {"1310", CH_ERR_BILLING},
    {"1211", CH_ERR_MODEL_NOT_FOUND},
    {"1261", CH_ERR_OVERFLOW},
    {"1301", CH_ERR_REFUSED},
    {"1302", CH_ERR_RATE_LIMIT},
    {"1305", CH_ERR_OVERLOADED},
    /* MiniMax, with status 200; 1004 is about the key at Z.ai, too */
    {"1004", CH_ERR_AUTH},
    {"2056", CH_ERR_BILLING},
    {"1026", CH_ERR_REFUSED},
    {"1027", CH_ERR_REFUSED},
    {"2013", CH_ERR_FORMAT},
};

/* The bare word is in the names of tools and models, and in addresses of pages. */
static const char *const billing_texts[] = {
    "billing details",
    "billing account",
    "billing hard limit",
    "billing to be enabled",
    "enable billing",
    "plans & billing",
    "insufficient_quota",
    "insufficient balance",
    "credit balance is too low",
    "monthly usage limit",
    "monthly spending limit",
    "api usage limits",
    "not enough balance",
    "used all available credits",
    "doesn't have any credits",
};

static const char *const rate_texts[] = {
    "rate limit",
    "too many requests",
    "throttling",
    "too many tokens, please wait",
    "string_above_max_length",
};

static const char *const schema_texts[] = {
    "invalid schema for",          /* OpenAI: function 'f', response_format 'answer' */
    "schema is too complex",       /* Anthropic, Mistral */
    "schema*too many",             /* ..optional parameters; Gemini: states for serving */
    "too many strict tools",
    "grammar is too large",
    "grammar compilation timed out",
    "response_schema",             /* Gemini names the field */
    "response_json_schema",
};

static const char *const reasoning_texts[] = {
    "invalid `signature` in `thinking` block", /* Anthropic: another conversation or account */
    "invalid signature in thinking block",
    "block is bound to a different conversation",
    "blocks in the latest assistant message cannot be modified", /* `redacted_thinking` .. */
    "encrypted content*could not be", /* OpenAI: ..verified, ..decrypted or parsed */
    "encrypted content*did not match",
    "invalid_encrypted_content",
    "of type 'reasoning' was provided without its required following item",
    "was provided without its required 'reasoning' item",
    "corrupted thought signature", /* Gemini */
    "thought signature is not valid",
    "thought_signature is not valid",
    "invalid thought signature",
};

static const char *const overflow_texts[] = {
    "prompt is too long",
    "prompt too long",
    "prompt exceeds max length",
    "request_too_large",
    "input is too long for requested model",
    "exceeds the context window",
    "exceed context limit",
    "context_length_exceeded",
    "maximum context length is #",
    "maximum context length of #",
    "input token count*exceeds the maximum",
    "input tokens exceeded",
    "maximum prompt length is #",
    "reduce the length of the messages",
    "too large for model with # maximum context length",
    "exceeds the available context size",
    "greater than the context length",
    "exceeded max context length",
    "exceeded model token limit",
    "context window exceeds limit",
    "range of input length should be",
    "too_many_prompt_tokens",
    "current length is # while limit is #",
    "token count*exceeds the limit of #",
    "is longer than the model's context length",
    "input tokens exceed the configured limit",
    "`max_new_tokens` must be <= #",
    "`inputs` must have less than #",
    "context size has been exceeded",               /* llama.cpp, while it generates */
    "exceed context window of #",                   /* llama-cpp-python */
    "tokens in the prompt exceeds the limit of #",  /* Cohere */
    "input tokens # cannot exceed",                 /* watsonx */
    "input length # exceeds maximum",
    "longer than the maximum model length",
    "context length is only #",
    "exceeds the context length",
    "too many input tokens. max input tokens: #",
    "exceeded this model context window",
    "size limit exceeded by # tokens",
};

static const char *const refused_texts[] = {
    "content violates usage guidelines", /* xAI, with 403 */
    "your input was flagged",            /* OpenRouter, with 403 */
    "blocked by content filtering",      /* Anthropic, with 400 */
};

static const char *const auth_texts[] = {
    "incorrect api key", "invalid api key",     "api key not valid",
    "invalid x-api-key", "no auth credentials",
};

static const char *const model_texts[] = {
    "model*not found", "model*does not exist", "not a valid model",
    "no such model",   "unknown model",        "model identifier is invalid",
    "on-demand throughput isn*supported",
    "model not exist", "supported api model names are", /* DeepSeek */
};

static const struct {
    int status;
    enum ch_error_class cls;
} statuses[] = {
    {400, CH_ERR_FORMAT},          {401, CH_ERR_AUTH},
    {402, CH_ERR_BILLING},         {403, CH_ERR_AUTH},
    {404, CH_ERR_MODEL_NOT_FOUND}, {408, CH_ERR_TIMEOUT},
    {409, CH_ERR_SERVER},          {413, CH_ERR_OVERFLOW},
    {422, CH_ERR_FORMAT},          {429, CH_ERR_RATE_LIMIT},
    {503, CH_ERR_OVERLOADED},      {504, CH_ERR_TIMEOUT},
    {424, CH_ERR_SERVER},          {529, CH_ERR_OVERLOADED},
    {498, CH_ERR_OVERLOADED}, /* Groq's flex tier */
};

const char *ch_error_class_name(enum ch_error_class c) {
    static const char *const names[] = {
        [CH_ERR_NONE] = "none",
        [CH_ERR_AUTH] = "auth",
        [CH_ERR_BILLING] = "billing",
        [CH_ERR_RATE_LIMIT] = "rate_limit",
        [CH_ERR_OVERLOADED] = "overloaded",
        [CH_ERR_SERVER] = "server",
        [CH_ERR_TIMEOUT] = "timeout",
        [CH_ERR_NETWORK] = "network",
        [CH_ERR_OVERFLOW] = "context_overflow",
        [CH_ERR_MODEL_NOT_FOUND] = "model_not_found",
        [CH_ERR_REFUSED] = "refused",
        [CH_ERR_FORMAT] = "format",
    };
    return names[c];
}

/* --- text patterns */

static bool errors_is_digit(char c) {
    return c >= '0' && c <= '9';
}

static char errors_lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* Length of the match of pattern[0..n) at the start of s, or -1. */
static long match_here(struct ch_sv s, const char *pattern, size_t n) {
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (pattern[i] == '#') {
            size_t start = at;
            while (at < s.n && (errors_is_digit(s.p[at]) || (at > start && s.p[at] == ',')))
                at++;
            if (at == start)
                return -1;
        } else if (at == s.n || errors_lower(s.p[at++]) != pattern[i]) {
            return -1;
        }
    }
    return (long)at;
}

bool ch_error_has(struct ch_sv s, const char *pattern) {
    for (;;) {
        size_t n = strcspn(pattern, "*");
        long len = -1;
        size_t at = 0;
        while (at < s.n && (len = match_here(ch_sv(s.p + at, s.n - at), pattern, n)) < 0)
            at++;
        if (len < 0)
            return false;
        if (!pattern[n])
            return true;
        s = ch_sv(s.p + at + len, s.n - at - (size_t)len);
        pattern += n + 1;
    }
}

static bool matches_any(struct ch_sv s, const char *const *patterns, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (ch_error_has(s, patterns[i]))
            return true;
    return false;
}
#define MATCHES(s, table) matches_any(s, table, CH_LEN(table))

/* --- classification */

static enum ch_error_class class_of_word(struct ch_sv word) {
    for (size_t i = 0; word.n && i < CH_LEN(words); i++)
        if (ch_sv_eq_nocase(word, ch_sv_str(words[i].word)))
            return words[i].cls;
    return CH_ERR_NONE;
}

static enum ch_error_class class_of_status(int status) {
    for (size_t i = 0; i < CH_LEN(statuses); i++)
        if (statuses[i].status == status)
            return statuses[i].cls;
    if (status >= 400 && status < 500)
        return CH_ERR_FORMAT;
    return status >= 300 && status < 400 ? CH_ERR_FORMAT : CH_ERR_SERVER;
}

/* True if the server limits the rate of requests: a wait helps, although the message advises to
 * look at the page about billing for a higher limit (OpenAI, Google). */
static bool is_pacing(const struct ch_vendor_error *e, enum ch_error_class cls) {
    bool waits = e->retry_after_ms > 0 || ch_retry_hint(e->message) > 0;
    return (cls == CH_ERR_RATE_LIMIT && waits) || ch_error_has(e->message, "rate limit reached");
}

/* True if one request needs more tokens than the limit of a minute (Groq, OpenAI): no wait
 * helps, a shorter conversation does. */
static bool exceeds_rate(const struct ch_vendor_error *e) {
    return ch_error_has(e->message, "request too large for*limit #*requested #");
}

static enum ch_error_class errors_class_of(const struct ch_vendor_error *e) {
    enum ch_error_class cls = class_of_word(e->code);
    if (cls == CH_ERR_NONE)
        cls = class_of_word(e->type);
    if (cls == CH_ERR_BILLING || (MATCHES(e->message, billing_texts) && !is_pacing(e, cls)))
        return CH_ERR_BILLING;
    if (exceeds_rate(e))
        return CH_ERR_OVERFLOW;
    if (cls != CH_ERR_RATE_LIMIT && !MATCHES(e->message, rate_texts) &&
        MATCHES(e->message, overflow_texts))
        return CH_ERR_OVERFLOW;
    bool vague = cls == CH_ERR_NONE || cls == CH_ERR_SERVER || cls == CH_ERR_FORMAT;
    if (!vague)
        return cls;
    /* Cerebras reports a too long prompt with nothing but the status. */
    if ((e->status == 400 || e->status == 413) && !e->message.n && !e->type.n && !e->code.n)
        return CH_ERR_OVERFLOW;
    if (MATCHES(e->message, refused_texts))
        return CH_ERR_REFUSED;
    if (e->status < 429 && MATCHES(e->message, auth_texts))
        return CH_ERR_AUTH;
    if (e->status < 429 && MATCHES(e->message, model_texts))
        return CH_ERR_MODEL_NOT_FOUND;
    if (cls == CH_ERR_FORMAT)
        return cls;
    if (e->status >= 300)
        return class_of_status(e->status);
    if (ch_sv_is(e->type, "invalid_request_error"))
        return CH_ERR_FORMAT;
    if (MATCHES(e->message, rate_texts))
        return CH_ERR_RATE_LIMIT;
    return CH_ERR_SERVER;
}

/* The server rejected a call that the model wrote; a retry will probably give another one. */
static bool is_bad_generation(const struct ch_vendor_error *e) {
    return ch_sv_is(e->code, "tool_use_failed") || /* Groq; the others are Google's */
           ch_sv_is(e->code, "malformed_function_call") ||
           ch_sv_is(e->code, "malformed_tool_call") || ch_sv_is(e->code, "unexpected_tool_call");
}

struct ch_error_verdict ch_classify(const struct ch_vendor_error *error) {
    struct ch_vendor_error e = *error;
    e.message = ch_utf8_cut(e.message, LOOKED_AT);
    struct ch_error_verdict v = {.cls = errors_class_of(&e)};
    switch (v.cls) {
    case CH_ERR_RATE_LIMIT:
    case CH_ERR_OVERLOADED:
    case CH_ERR_SERVER:
    case CH_ERR_TIMEOUT:
    case CH_ERR_NETWORK:
        v.retryable = true;
        break;
    default:
        v.retryable = is_bad_generation(&e);
    }
    v.retryable &= !e.no_retry && !ch_error_has(e.message, "too many tokens per day"); /* AWS */
    return v;
}

bool ch_error_names_schema(struct ch_sv message) {
    return MATCHES(ch_utf8_cut(message, LOOKED_AT), schema_texts);
}

bool ch_error_names_reasoning(struct ch_sv message) {
    return MATCHES(ch_utf8_cut(message, LOOKED_AT), reasoning_texts);
}

/* --- error bodies */

/* The text of a string or a number; codes occur as both. */
static struct ch_sv errors_word_of(const struct ch_json *v) {
    if (ch_json_is(v, CH_JSON_NUMBER))
        return ch_sv(v->s, v->n);
    return ch_json_str(v);
}

static struct ch_sv errors_compact(const struct ch_json *v, struct ch_arena *a) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_value(&w, v);
    return ch_arena_sv(a, ch_utf8_cut(ch_buf_sv(&out), CHELA_ERROR_MAX));
}

/* A code that is an HTTP status is used as the status; LiteLLM writes it as a string. */
static int status_in(const struct ch_json *error) {
    static const char *const keys[] = {"status_code", "http_status_code", "code", "status"};
    for (size_t i = 0; i < CH_LEN(keys); i++) {
        struct ch_sv w = errors_word_of(ch_json_get(error, keys[i]));
        if (w.n == 3 && (*w.p == '4' || *w.p == '5') && errors_is_digit(w.p[1]) &&
            errors_is_digit(w.p[2]))
            return 100 * (w.p[0] - '0') + 10 * (w.p[1] - '0') + (w.p[2] - '0');
    }
    return 0;
}

/* Google's details: the reason of a refusal and the retry delay. A daily quota is not worth
 * waiting for. */
static void errors_read_details(const struct ch_json *details, struct ch_vendor_error *out) {
    if (!ch_json_is(details, CH_JSON_ARRAY))
        return;
    for (CH_JSON_EACH(d, details)) {
        struct ch_sv delay = ch_json_get_str(d, "retryDelay");
        struct ch_sv reason = ch_json_get_str(d, "reason");
        if (delay.n)
            out->retry_after_ms = ch_retry_duration(delay);
        if (reason.n)
            out->reason = reason;
        if (ch_sv_is(reason, "API_KEY_INVALID"))
            out->type = reason;
        const struct ch_json *violations = ch_json_get(d, "violations");
        for (size_t i = 0; ch_json_is(violations, CH_JSON_ARRAY) && i < violations->n; i++)
            out->no_retry |= ch_sv_contains_nocase(
                ch_json_get_str(ch_json_at(violations, i), "quotaId"), "PerDay");
    }
}

/* "SomeException" of "com.amazon.service#SomeException". */
static struct ch_sv name_after_mark(struct ch_sv name) {
    const char *mark = name.n ? memchr(name.p, '#', name.n) : NULL;
    return mark ? ch_sv(mark + 1, (size_t)(name.p + name.n - mark - 1)) : name;
}

static bool read_object(const struct ch_json *error, struct ch_arena *a,
                        struct ch_vendor_error *out) {
    out->message = ch_json_get_str(error, "message");
    if (!out->message.n)
        out->message = ch_json_get_str(error, "Message"); /* Amazon's gateways */
    out->type = errors_word_of(ch_json_get(error, "type"));
    out->code = errors_word_of(ch_json_get(error, "code"));
    if (!out->code.n)
        out->code = ch_json_str(ch_json_path(error, "details", "error_code", NULL));
    if (!out->type.n)
        out->type = ch_json_get_str(error, "status"); /* Google's error name */
    if (!out->type.n)
        out->type = name_after_mark(ch_json_get_str(error, "__type")); /* Amazon's */
    if (!out->type.n) /* OpenRouter's own name for an error of any vendor */
        out->type = ch_json_str(ch_json_path(error, "metadata", "error_type", NULL));
    out->status = status_in(error);
    errors_read_details(ch_json_get(error, "details"), out);
    /* OpenRouter: the upstream's own message is more useful than "Provider returned error". */
    struct ch_sv raw = ch_json_str(ch_json_path(error, "metadata", "raw", NULL));
    if (raw.n)
        out->message =
            ch_sv_str(ch_arena_printf(a, "%.*s: %.*s", CH_SV_FMT(out->message), CH_SV_FMT(raw)));
    if (!out->message.n)
        out->message = errors_compact(error, a);
    return true;
}

static bool is_flat_error(const struct ch_json *v) {
    return ch_sv_is(ch_json_get_str(v, "object"), "error") ||
           (ch_json_get_str(v, "message").n && !ch_json_get(v, "choices")) ||
           ch_json_get_str(v, "Message").n;
}

/* MiniMax reports failures beside an empty reply. */
static bool read_base_resp(const struct ch_json *v, struct ch_vendor_error *out) {
    const struct ch_json *base = ch_json_get(v, "base_resp");
    if (ch_json_int(ch_json_get(base, "status_code"), 0) == 0)
        return false;
    out->code = errors_word_of(ch_json_get(base, "status_code"));
    out->message = ch_json_get_str(base, "status_msg");
    return true;
}

/* The member that describes the error: "error" or "errors" (Cloudflare), or its first element. */
static const struct ch_json *error_of(const struct ch_json *v) {
    const struct ch_json *error = ch_json_get(v, "error");
    if (!error || error->type == CH_JSON_NULL)
        error = ch_json_get(v, "errors");
    return ch_json_is(error, CH_JSON_ARRAY) ? ch_json_at(error, 0) : error;
}

bool ch_vendor_error_read(const struct ch_json *v, struct ch_arena *a,
                          struct ch_vendor_error *out) {
    *out = (struct ch_vendor_error){0};
    if (ch_json_is(v, CH_JSON_ARRAY))
        v = ch_json_at(v, 0);
    const struct ch_json *error = error_of(v);
    if (ch_json_is(error, CH_JSON_OBJECT)) {
        struct ch_sv kind = ch_json_get_str(v, "error_type"); /* OpenRouter, in any protocol */
        read_object(error, a, out);
        out->type = kind.n ? kind : out->type;
        return true;
    }
    if (ch_json_is(error, CH_JSON_STRING)) {
        out->message = ch_json_str(error);
        out->code = errors_word_of(ch_json_get(v, "code"));
        out->type = ch_json_get_str(v, "error_type");
        return true;
    }
    const struct ch_json *detail = ch_json_get(v, "detail");
    if (detail && detail->type != CH_JSON_NULL) {
        out->message =
            detail->type == CH_JSON_STRING ? ch_json_str(detail) : errors_compact(detail, a);
        return true;
    }
    if (is_flat_error(v))
        return read_object(v, a, out);
    return read_base_resp(v, out);
}

/* --- the reply's error */

void ch_decoder_fail_as(struct ch_decoder *d, enum ch_error_class cls, bool retryable,
                        struct ch_sv message) {
    struct ch_reply *r = &d->reply;
    if (r->error.cls != CH_ERR_NONE)
        return;
    struct chela_error line = {0}; /* chela_error makes it one line and redacts secrets */
    struct ch_sv cut = ch_utf8_cut(message, CHELA_ERROR_MAX - 1);
    ch_fail(&line, CHELA_EMODEL, "%.*s", CH_SV_FMT(cut));
    r->error.cls = cls;
    r->error.retryable = d->should_retry ? d->should_retry > 0 : retryable;
    r->error.status = d->status;
    r->error.retry_after_ms = d->retry_after_ms;
    r->error.message = ch_arena_sv(&d->arena, ch_sv_str(line.message));
}

void ch_decoder_fail(struct ch_decoder *d, const struct ch_vendor_error *e) {
    if (d->reply.error.cls != CH_ERR_NONE)
        return;
    struct ch_vendor_error full = *e;
    full.message = ch_utf8_cut(full.message, LOOKED_AT);
    if (!full.status)
        full.status = d->status;
    if (!full.type.n)
        full.type = d->error_type;
    struct ch_error_verdict v = ch_classify(&full);
    CH_BUF_AUTO text = {0};
    if (full.status >= 300)
        ch_buf_addf(&text, "HTTP %d", full.status);
    if (full.message.n)
        ch_buf_addf(&text, "%s%.*s", text.n ? ": " : "", CH_SV_FMT(full.message));
    struct ch_sv word = full.code.n && !errors_is_digit(full.code.p[0]) ? full.code : full.type;
    if (word.n)
        ch_buf_addf(&text, text.n ? " (%.*s)" : "%.*s", CH_SV_FMT(word));
    ch_decoder_fail_as(d, v.cls, v.retryable, ch_buf_sv(&text));
    d->reply.error.status = full.status;
    if (!d->reply.error.retry_after_ms && v.retryable)
        d->reply.error.retry_after_ms =
            full.retry_after_ms ? full.retry_after_ms : ch_retry_hint(full.message);
}
