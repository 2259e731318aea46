/* test_errors.c -- what vendors' complaints are taken for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/codec/errors.h"
#include "model/codec/retry_after.h"

/* Every overflow text of the vendors we know, and what looks like one. */
static const struct {
    int status;
    const char *type, *code, *message;
    enum ch_error_class cls;
    bool retryable;
} verdicts[] = {
    /* by status alone */
    {400, "", "", "bad", CH_ERR_FORMAT, false},
    {401, "", "", "", CH_ERR_AUTH, false},
    {402, "", "", "Insufficient Balance", CH_ERR_BILLING, false},
    {403, "", "", "no", CH_ERR_AUTH, false},
    {404, "", "", "no", CH_ERR_MODEL_NOT_FOUND, false},
    {408, "", "", "", CH_ERR_TIMEOUT, true},
    {409, "", "", "", CH_ERR_SERVER, true},
    {413, "", "", "too big", CH_ERR_OVERFLOW, false},
    {418, "", "", "teapot", CH_ERR_FORMAT, false},
    {422, "", "", "no", CH_ERR_FORMAT, false},
    {429, "", "", "", CH_ERR_RATE_LIMIT, true},
    {301, "", "", "", CH_ERR_FORMAT, false},
    {500, "", "", "", CH_ERR_SERVER, true},
    {502, "", "", "", CH_ERR_SERVER, true},
    {503, "", "", "", CH_ERR_OVERLOADED, true},
    {504, "", "", "", CH_ERR_TIMEOUT, true},
    {529, "", "", "", CH_ERR_OVERLOADED, true},
    {400, "", "", "", CH_ERR_OVERFLOW, false}, /* Cerebras: no body at all */
    /* Anthropic, also inside a stream (200) */
    {200, "overloaded_error", "", "Overloaded", CH_ERR_OVERLOADED, true},
    {200, "UNAVAILABLE", "", "The model is overloaded.", CH_ERR_OVERLOADED, true},
    {400, "INVALID_ARGUMENT", "API_KEY_INVALID", "API key expired.", CH_ERR_AUTH, false},
    {400, "INVALID_ARGUMENT", "", "Please use a valid role: user, model.", CH_ERR_FORMAT, false},
    {403, "PERMISSION_DENIED", "", "no", CH_ERR_AUTH, false},
    {404, "NOT_FOUND", "", "models/x is not found", CH_ERR_MODEL_NOT_FOUND, false},
    {429, "RESOURCE_EXHAUSTED", "", "Resource has been exhausted", CH_ERR_RATE_LIMIT, true},
    {504, "DEADLINE_EXCEEDED", "", "Deadline expired", CH_ERR_TIMEOUT, true},
    {200, "api_error", "", "Internal server error", CH_ERR_SERVER, true},
    {200, "rate_limit_error", "", "slow", CH_ERR_RATE_LIMIT, true},
    {400, "invalid_request_error", "", "messages: required", CH_ERR_FORMAT, false},
    {200, "invalid_request_error", "", "messages: required", CH_ERR_FORMAT, false},
    {403, "permission_error", "", "no", CH_ERR_AUTH, false},
    {402, "billing_error", "", "pay", CH_ERR_BILLING, false},
    {429, "requests", "rate_limit_exceeded",
     "Rate limit reached for m on requests per min. Please try again in 20s. You can increase your "
     "rate limit by adding a payment method at https://host/account/billing.",
     CH_ERR_RATE_LIMIT, true},
    {429, "requests", "",
     "Rate limit reached for m on requests per min. Visit https://host/account/billing to add a "
     "payment method.",
     CH_ERR_RATE_LIMIT, true},
    {429, "RESOURCE_EXHAUSTED", "429",
     "You exceeded your current quota, please check your plan and billing details. Please retry in "
     "34.4s.",
     CH_ERR_RATE_LIMIT, true},
    {429, "RESOURCE_EXHAUSTED", "429",
     "You exceeded your current quota, please check your plan and billing details.",
     CH_ERR_BILLING, false},
    {429, "insufficient_quota", "insufficient_quota",
     "You exceeded your current quota, please check your plan and billing details.",
     CH_ERR_BILLING, false},
    {504, "timeout_error", "", "slow", CH_ERR_TIMEOUT, true},
    {400, "invalid_request_error", "", "Your credit balance is too low", CH_ERR_BILLING, false},
    {400, "invalid_request_error", "", "Invalid schema for function 'get_billing': bad",
     CH_ERR_FORMAT, false},
    {400, "invalid_request_error", "", "messages.2: tool get_billing has no result", CH_ERR_FORMAT,
     false},
    {404, "", "", "The model `billing-bot` does not exist", CH_ERR_MODEL_NOT_FOUND, false},
    {500, "server_error", "", "The billing service did not answer", CH_ERR_SERVER, true},
    {429, "", "", "Your account is not active, please check your billing details.", CH_ERR_BILLING,
     false},
    {400, "", "", "Billing hard limit has been reached", CH_ERR_BILLING, false},
    {403, "PERMISSION_DENIED", "403", "This API method requires billing to be enabled.",
     CH_ERR_BILLING, false},
    {400, "FAILED_PRECONDITION", "400", "Please enable billing on your project.", CH_ERR_BILLING,
     false},
    {404, "not_found_error", "", "model: nope", CH_ERR_MODEL_NOT_FOUND, false},
    /* Amazon: in a header or, in a stream, in another case */
    {403, "UnrecognizedClientException", "", "The security token is invalid", CH_ERR_AUTH, false},
    {403, "ExpiredTokenException", "", "expired", CH_ERR_AUTH, false},
    {429, "ThrottlingException", "", "Too many tokens, please wait", CH_ERR_RATE_LIMIT, true},
    {200, "throttlingException", "", "Too many tokens, please wait", CH_ERR_RATE_LIMIT, true},
    {400, "ServiceQuotaExceededException", "", "quota", CH_ERR_BILLING, false},
    {429, "ModelNotReadyException", "", "wait", CH_ERR_OVERLOADED, true},
    {200, "serviceUnavailableException", "", "wait", CH_ERR_OVERLOADED, true},
    {408, "ModelTimeoutException", "", "slow", CH_ERR_TIMEOUT, true},
    {424, "ModelErrorException", "", "broken", CH_ERR_SERVER, true},
    {200, "modelStreamErrorException", "", "broken", CH_ERR_SERVER, true},
    {200, "internalServerException", "", "broken", CH_ERR_SERVER, true},
    {400, "ValidationException", "", "messages: bad", CH_ERR_FORMAT, false},
    {200, "validationException", "", "messages: bad", CH_ERR_FORMAT, false},
    {200, "validationException", "", "Input is too long for requested model.", CH_ERR_OVERFLOW,
     false},
    {400, "ValidationException", "", "The provided model identifier is invalid.",
     CH_ERR_MODEL_NOT_FOUND, false},
    {404, "ResourceNotFoundException", "", "no", CH_ERR_MODEL_NOT_FOUND, false},
    /* OpenAI and others */
    {429, "insufficient_quota", "insufficient_quota", "quota", CH_ERR_BILLING, false},
    {429, "tokens", "rate_limit_exceeded", "Request too large for gpt-4o: Limit 30000",
     CH_ERR_RATE_LIMIT, true},
    {413, "tokens", "rate_limit_exceeded",
     "Request too large for model `m` in organization `o` on tokens per minute (TPM): Limit 6000, "
     "Requested 7891, please reduce your message size and try again.", CH_ERR_OVERFLOW, false},
    {429, "tokens", "rate_limit_exceeded",
     "Rate limit reached for model `m` on tokens per minute (TPM): Limit 6000, Used 5034, "
     "Requested 1443. Please try again in 4.77s.", CH_ERR_RATE_LIMIT, true},
    {429, "", "", "Monthly usage limit reached", CH_ERR_BILLING, false},
    {429, "", "1308", "5 hour limit", CH_ERR_BILLING, false},
    {429, "usage_limit_reached", "", "limit", CH_ERR_BILLING, false},
    {200, "", "1004", "login fail: Please carry the API secret key", CH_ERR_AUTH, false},
    {200, "", "2049", "invalid api key", CH_ERR_AUTH, false},
    {200, "", "1008", "insufficient balance", CH_ERR_BILLING, false},
    {200, "", "2056", "usage limit exceeded", CH_ERR_BILLING, false},
    {200, "", "1026", "input new_sensitive", CH_ERR_REFUSED, false},
    {200, "", "2013", "invalid params", CH_ERR_FORMAT, false},
    {200, "", "2013", "invalid params, context window exceeds limit", CH_ERR_OVERFLOW, false},
    {200, "", "1002", "rate limit", CH_ERR_RATE_LIMIT, true},
    {400, "", "", "Incorrect API key provided: x", CH_ERR_AUTH, false},
    {400, "", "", "a/b is not a valid model ID", CH_ERR_MODEL_NOT_FOUND, false},
    {400, "invalid_model", "1500", "Invalid model: nope", CH_ERR_MODEL_NOT_FOUND, false},
    {400, "invalid_request_error", "", "Model Not Exist", CH_ERR_MODEL_NOT_FOUND, false},
    {400, "invalid_request_error", "",
     "The supported API model names are a or b, but you passed c.", CH_ERR_MODEL_NOT_FOUND, false},
    {403, "", "", "Content violates usage guidelines. Team: t", CH_ERR_REFUSED, false},
    {404, "api_error", "", "model \"qwen\" not found, try pulling it first", CH_ERR_MODEL_NOT_FOUND,
     false},
    {400, "invalid_request_error", "tool_use_failed", "bad call", CH_ERR_FORMAT, true},
    {400, "", "content_filter", "filtered", CH_ERR_REFUSED, false},
    {503, "unavailable_error", "", "Loading model", CH_ERR_OVERLOADED, true},
    {500, "server_error", "", "image input is not supported", CH_ERR_SERVER, true},
    {200, "", "", "something", CH_ERR_SERVER, true},
    {200, "", "", "Rate limit reached", CH_ERR_RATE_LIMIT, true},
    /* money, in everybody's words */
    {429, "", "Some resource has been exhausted",
     "Your team t has either used all available credits or reached its monthly spending limit.",
     CH_ERR_BILLING, false},
    {403, "", "", "Your newly created team doesn't have any credits or licenses yet.",
     CH_ERR_BILLING, false},
    {412, "invalid_request_error", "", "Account a is suspended, possibly due to reaching the "
     "monthly spending limit", CH_ERR_BILLING, false},
    {400, "invalid_request_error", "", "You have reached your specified API usage limits.",
     CH_ERR_BILLING, false},
    {400, "Arrearage", "Arrearage", "Access denied, your account is not in good standing.",
     CH_ERR_BILLING, false},
    {403, "AllocationQuota.FreeTierOnly", "", "The free tier has been exhausted.", CH_ERR_BILLING,
     false},
    {403, "new_api_error", "insufficient_user_quota", "no quota", CH_ERR_BILLING, false},
    {429, "exceeded_current_quota_error", "", "Your account is suspended", CH_ERR_BILLING, false},
    {403, "", "", "not enough balance", CH_ERR_BILLING, false},
    {200, "payment_required", "", "Insufficient credits", CH_ERR_BILLING, false},
    {429, "", "1309", "Your plan has expired", CH_ERR_BILLING, false},
    {429, "", "1310", "Weekly/Monthly Limit Exhausted.", CH_ERR_BILLING, false},
    /* refusals before the model was asked */
    {403, "", "403", "m requires moderation. Your input was flagged for \"violence\".",
     CH_ERR_REFUSED, false},
    {400, "invalid_request_error", "", "Output blocked by content filtering policy", CH_ERR_REFUSED,
     false},
    {400, "data_inspection_failed", "data_inspection_failed", "Input data is bad.", CH_ERR_REFUSED,
     false},
    {400, "", "DataInspectionFailed", "Output data is bad.", CH_ERR_REFUSED, false},
    {400, "BadRequest", "InputTextSensitiveContentDetected", "bad", CH_ERR_REFUSED, false},
    {200, "refusal", "server_error", "The model refused.", CH_ERR_REFUSED, false},
    /* load */
    {498, "", "capacity_exceeded", "Flex tier capacity exceeded", CH_ERR_OVERLOADED, true},
    {429, "engine_overloaded_error", "", "try again later", CH_ERR_OVERLOADED, true},
    {200, "provider_overloaded", "server_error", "busy", CH_ERR_OVERLOADED, true},
    {200, "timeout", "server_error", "slow", CH_ERR_TIMEOUT, true},
    {400, "", "1211", "no", CH_ERR_MODEL_NOT_FOUND, false},
    /* Google */
    {429, "RESOURCE_EXHAUSTED", "429", "You exceeded your current quota", CH_ERR_RATE_LIMIT, true},
    {400, "INVALID_ARGUMENT", "400", "API key not valid. Please pass one.", CH_ERR_AUTH, false},
    {400, "API_KEY_INVALID", "400", "?", CH_ERR_AUTH, false},
    {400, "INVALID_ARGUMENT", "400", "bad field", CH_ERR_FORMAT, false},
    {503, "UNAVAILABLE", "503", "The model is overloaded", CH_ERR_OVERLOADED, true},
    /* AWS */
    {400, "ValidationException", "", "Input is too long for requested model.", CH_ERR_OVERFLOW,
     false},
    {400, "ValidationException", "", "Malformed input request", CH_ERR_FORMAT, false},
    {429, "ThrottlingException", "", "Too many tokens, please wait", CH_ERR_RATE_LIMIT, true},
    {200, "throttlingException", "", "slow", CH_ERR_RATE_LIMIT, true},
    {403, "ExpiredTokenException", "", "expired", CH_ERR_AUTH, false},
    {424, "ModelStreamErrorException", "", "broke", CH_ERR_SERVER, true},
    {200, "modelTimeoutException", "", "slow", CH_ERR_TIMEOUT, true},
    {429, "ThrottlingException", "", "Too many tokens per day, please wait before trying again.",
     CH_ERR_RATE_LIMIT, false},
    /* Hugging Face */
    {200, "overloaded", "", "Model is overloaded", CH_ERR_OVERLOADED, true},
    {200, "validation", "", "Input validation error: `temperature` must be strictly positive",
     CH_ERR_FORMAT, false},
    {200, "validation", "",
     "Input validation error: `inputs` must have less than 2048 tokens. Given: 2222",
     CH_ERR_OVERFLOW, false},
    /* overflow in everybody's words */
    {400, "", "", "prompt is too long: 2 tokens > 1 maximum", CH_ERR_OVERFLOW, false},
    {400, "", "", "Prompt too long", CH_ERR_OVERFLOW, false},
    {400, "", "", "Prompt exceeds max length", CH_ERR_OVERFLOW, false},
    {400, "", "1261", "?", CH_ERR_OVERFLOW, false},
    {413, "request_too_large", "", "Request exceeds", CH_ERR_OVERFLOW, false},
    {400, "", "", "Input is too long for requested model.", CH_ERR_OVERFLOW, false},
    {400, "", "", "Your input exceeds the context window of this model", CH_ERR_OVERFLOW, false},
    {400, "", "context_length_exceeded", "?", CH_ERR_OVERFLOW, false},
    {400, "", "", "This model's maximum context length is 8192 tokens", CH_ERR_OVERFLOW, false},
    {400, "", "", "exceeds the maximum context length of 1,000 tokens", CH_ERR_OVERFLOW, false},
    {400, "", "", "The input token count (1250074) exceeds the maximum number of tokens allowed",
     CH_ERR_OVERFLOW, false},
    {400, "", "", "Input Tokens Exceeded: Number", CH_ERR_OVERFLOW, false},
    {400, "", "", "This model's maximum prompt length is 131072 but", CH_ERR_OVERFLOW, false},
    {400, "", "", "Please reduce the length of the messages or completion.", CH_ERR_OVERFLOW,
     false},
    {400, "", "", "Prompt contains 9 tokens, too large for model with 8 maximum context length",
     CH_ERR_OVERFLOW, false},
    {400, "exceed_context_size_error", "", "the request exceeds the available context size",
     CH_ERR_OVERFLOW, false},
    {400, "", "", "is greater than the context length", CH_ERR_OVERFLOW, false},
    {400, "", "", "prompt too long; exceeded max context length by 9 tokens", CH_ERR_OVERFLOW,
     false},
    {400, "", "", "Invalid request: Your request exceeded model token limit: 8192", CH_ERR_OVERFLOW,
     false},
    {400, "", "", "invalid params, context window exceeds limit (2013)", CH_ERR_OVERFLOW, false},
    {400, "", "", "Range of input length should be [1, 30720]", CH_ERR_OVERFLOW, false},
    {400, "", "too_many_prompt_tokens", "?", CH_ERR_OVERFLOW, false},
    {400, "", "", "Current length is 9000 while limit is 8192", CH_ERR_OVERFLOW, false},
    {400, "", "", "prompt token count of 9 exceeds the limit of 8", CH_ERR_OVERFLOW, false},
    {400, "", "", "The input (9 tokens) is longer than the model's context length (8)",
     CH_ERR_OVERFLOW, false},
    {400, "", "", "input length and `max_tokens` exceed context limit: 9", CH_ERR_OVERFLOW, false},
    {400, "", "", "Input tokens exceed the configured limit of 272000 tokens.", CH_ERR_OVERFLOW,
     false},
    {422, "validation", "",
     "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096.",
     CH_ERR_OVERFLOW, false},
    {400, "", "", "Requested input length 9 exceeds maximum input length 8", CH_ERR_OVERFLOW,
     false},
    {400, "", "", "The decoder prompt (length 9) is longer than the maximum model length of 8.",
     CH_ERR_OVERFLOW, false},
    {400, "", "", "You passed 9 input tokens. However, the model's context length is only 8 tokens",
     CH_ERR_OVERFLOW, false},
    {400, "", "", "the input length exceeds the context length", CH_ERR_OVERFLOW, false},
    {400, "", "", "Too many input tokens. Max input tokens: 8, request input token count: 9",
     CH_ERR_OVERFLOW, false},
    {200, "", "5021", "The estimated number of input and maximum output tokens (9) exceeded this "
     "model context window limit (8).", CH_ERR_OVERFLOW, false},
    {400, "", "", "too many tokens: size limit exceeded by 9 tokens.", CH_ERR_OVERFLOW, false},
    {500, "server_error", "500", "Context size has been exceeded.", CH_ERR_OVERFLOW, false},
    {500, "internal_server_error", "", "Requested tokens (2285) exceed context window of 2048",
     CH_ERR_OVERFLOW, false},
    {400, "", "", "too many tokens: total number of tokens in the prompt exceeds the limit of 4081",
     CH_ERR_OVERFLOW, false},
    {400, "", "invalid_input_argument", "Invalid input argument for Model 'm': the number of input "
     "tokens 5000 cannot exceed the total tokens limit 4096 for this model", CH_ERR_OVERFLOW,
     false},
    {400, "context_length_exceeded", "400", "Provider returned error", CH_ERR_OVERFLOW, false},
    /* no overflow */
    {429, "", "", "Rate limit: prompt is too long for your tier", CH_ERR_RATE_LIMIT, true},
    {429, "", "", "Throttling: Too many requests, exceeds the limit of 5 tokens", CH_ERR_RATE_LIMIT,
     true},
    {400, "", "string_above_max_length", "string_above_max_length: maximum context length is 40",
     CH_ERR_FORMAT, false},
    {400, "", "", "image exceeds the limit of 5 MB", CH_ERR_FORMAT, false},
};

static void test_verdicts(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(verdicts); i++) {
        struct ch_vendor_error e = {.status = verdicts[i].status,
                                    .type = ch_sv_str(verdicts[i].type),
                                    .code = ch_sv_str(verdicts[i].code),
                                    .message = ch_sv_str(verdicts[i].message)};
        struct ch_error_verdict v = ch_classify(&e);
        if (v.cls != verdicts[i].cls || v.retryable != verdicts[i].retryable)
            fail_msg("%d %s %s %s: %s, %sretryable", e.status, verdicts[i].type, verdicts[i].code,
                     verdicts[i].message, ch_error_class_name(v.cls), v.retryable ? "" : "not ");
    }
}

static void test_shapes(void **state) {
    (void)state;
    static const struct {
        const char *json;
        const char *type, *code, *message;
        int status;
    } cases[] = {
        {"{\"error\":{\"message\":\"m\",\"type\":\"t\",\"code\":\"c\"}}", "t", "c", "m", 0},
        {"{\"error\":{\"message\":\"m\",\"code\":429}}", "", "429", "m", 429},
        {"{\"error\":{\"message\":\"m\",\"code\":\"x\",\"status_code\":400}}", "", "x", "m", 400},
        {"{\"error\":{\"message\":\"m\",\"code\":\"429\"}}", "", "429", "m", 429},
        {"{\"error\":{\"message\":\"m\",\"code\":\"4290\"}}", "", "4290", "m", 0},
        {"{\"error\":{\"message\":\"m\",\"code\":400,\"metadata\":{\"error_type\":\"t\"}}}", "t",
         "400", "m", 400},
        {"{\"error_type\":\"t\",\"error\":{\"message\":\"m\",\"code\":\"c\"}}", "t", "c", "m", 0},
        {"{\"type\":\"error\",\"error_type\":\"t\",\"error\":{\"type\":\"u\",\"message\":\"m\"}}",
         "t", "", "m", 0},
        {"{\"success\":false,\"errors\":[{\"message\":\"m\",\"code\":7003}]}", "", "7003", "m", 0},
        {"{\"error\":[\"m\"]}", "", "", "m", 0},
        {"{\"__type\":\"com.amazon.coral#T\",\"message\":\"m\"}", "T", "", "m", 0},
        {"{\"__type\":\"T\",\"message\":\"m\"}", "T", "", "m", 0},
        {"{\"errors\":[\"m\"]}", "", "", "m", 0},
        {"{\"errors\":{\"message\":\"m\"}}", "", "", "m", 0},
        {"{\"error\":{\"message\":\"m\",\"code\":1261}}", "", "1261", "m", 0},
        {"{\"error\":{\"type\":\"t\",\"message\":\"m\",\"details\":{\"error_code\":\"d\"}}}", "t",
         "d", "m", 0},
        {"{\"error\":{\"message\":\"m\",\"metadata\":{\"raw\":\"r\"}}}", "", "", "m: r", 0},
        {"{\"error\":{\"reason\":\"x\"}}", "", "", "{\"reason\":\"x\"}", 0},
        {"{\"code\":\"c\",\"error\":\"m\"}", "", "c", "m", 0},
        {"{\"message\":\"m\",\"type\":\"t\",\"code\":3}", "t", "3", "m", 0},
        {"{\"object\":\"error\",\"message\":\"m\"}", "", "", "m", 0},
        {"{\"detail\":\"m\"}", "", "", "m", 0},
        {"{\"detail\":[{\"msg\":\"m\"}]}", "", "", "[{\"msg\":\"m\"}]", 0},
        {"[{\"error\":{\"message\":\"m\",\"code\":400}}]", "", "400", "m", 400},
        {"{\"choices\":[],\"base_resp\":{\"status_code\":1008,\"status_msg\":\"m\"}}", "", "1008",
         "m", 0},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_ARENA_AUTO arena = {0};
        const struct ch_json *v;
        struct ch_vendor_error e;
        ch_json_parse(&arena, ch_sv_str(cases[i].json), CH_JSON_STRICT, &v, NULL, NULL);
        if (!ch_vendor_error_read(v, &arena, &e) || !ch_sv_is(e.type, cases[i].type) ||
            !ch_sv_is(e.code, cases[i].code) || !ch_sv_is(e.message, cases[i].message) ||
            e.status != cases[i].status)
            fail_msg("%s: %.*s|%.*s|%.*s|%d", cases[i].json, CH_SV_FMT(e.type), CH_SV_FMT(e.code),
                     CH_SV_FMT(e.message), e.status);
    }
}

static void test_no_errors(void **state) {
    (void)state;
    static const char *const cases[] = {
        "{}",
        "[]",
        "5",
        "null",
        "{\"error\":null}",
        "{\"choices\":[],\"message\":\"x\"}",
        "{\"base_resp\":{\"status_code\":0}}",
        "{\"detail\":null}",
        "{\"errors\":[],\"result\":{}}",
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_ARENA_AUTO arena = {0};
        const struct ch_json *v;
        struct ch_vendor_error e;
        ch_json_parse(&arena, ch_sv_str(cases[i]), CH_JSON_STRICT, &v, NULL, NULL);
        if (ch_vendor_error_read(v, &arena, &e))
            fail_msg("%s was taken for an error", cases[i]);
    }
}

static void test_waits(void **state) {
    (void)state;
    static const struct {
        const char *ms, *after, *date;
        long want;
    } cases[] = {
        {"", "", "", 0},
        {"1500", "9", "", 1500},
        {"0", "9", "", 9000},
        {"", "12", "", 12000},
        {"", "0.5", "", 500},
        {"", "-3", "", 0},
        {"", "soon", "", 0},
        {"", "99999999999", "", 24 * 3600 * 1000L},
        {"", "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:07 GMT", 30000},
        {"", "Wed, 01 Mar 2028 00:00:05 GMT", "Tue, 29 Feb 2028 23:59:55 GMT", 10000},
        {"", "Fri, 01 Jan 2027 00:00:00 GMT", "Thu, 31 Dec 2026 23:59:59 GMT", 1000},
        {"", "Sun, 06 Nov 1994 08:49:07 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", 0},
        {"", "Sun, 06 Nov 1994 08:49:37 GMT", "", 0},
        {"", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:07 GMT", 0},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_header h[] = {{CH_SV("retry-after-ms"), ch_sv_str(cases[i].ms)},
                                {CH_SV("retry-after"), ch_sv_str(cases[i].after)},
                                {CH_SV("date"), ch_sv_str(cases[i].date)}};
        struct ch_http_head head = {.status = 429, .headers = h, .nheaders = 3};
        if (ch_retry_after(&head) != cases[i].want)
            fail_msg("%s %s: %ld", cases[i].ms, cases[i].after, ch_retry_after(&head));
    }
}

/* What vendors say beside a 429 when they do not say Retry-After. */
static void test_resets(void **state) {
    (void)state;
    static const struct {
        struct ch_header h[4];
        int status;
        long want;
    } cases[] = {
        {{{CH_SV("x-ratelimit-reset-requests"), CH_SV("2m52.8s")}}, 429, 172800},
        {{{CH_SV("x-ratelimit-reset-requests"), CH_SV("2m52.8s")}}, 500, 0},
        {{{CH_SV("x-ratelimit-remaining-requests"), CH_SV("41")},
          {CH_SV("x-ratelimit-reset-requests"), CH_SV("2m52.8s")},
          {CH_SV("x-ratelimit-remaining-tokens"), CH_SV("0")},
          {CH_SV("x-ratelimit-reset-tokens"), CH_SV("6ms")}},
         429,
         6},
        {{{CH_SV("date"), CH_SV("Sun, 01 Mar 2026 12:00:00 GMT")},
          {CH_SV("anthropic-ratelimit-tokens-remaining"), CH_SV("0")},
          {CH_SV("anthropic-ratelimit-tokens-reset"), CH_SV("2026-03-01T12:00:30Z")},
          {CH_SV("anthropic-ratelimit-requests-reset"), CH_SV("2026-03-01T11:59:00Z")}},
         429,
         30000},
        {{{CH_SV("anthropic-ratelimit-tokens-reset"), CH_SV("2026-03-01T12:00:30Z")}}, 429, 0},
        {{{CH_SV("date"), CH_SV("Sun, 01 Mar 2026 12:00:00 GMT")},
          {CH_SV("x-ratelimit-reset"), CH_SV("1772366405000")}},
         429,
         5000},
        {{{CH_SV("x-ratelimit-reset-tokens-minute"), CH_SV("12.5")}}, 429, 12500},
        {{{CH_SV("x-ratelimit-reset"), CH_SV("soon")}}, 429, 0},
        {{{CH_SV("anthropic-ratelimit-tokens-reset"), CH_SV("2026-13-01T12:00:30Z")}}, 429, 0},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_http_head head = {
            .status = cases[i].status, .headers = cases[i].h, .nheaders = CH_LEN(cases[i].h)};
        if (ch_retry_after(&head) != cases[i].want)
            fail_msg("case %zu: %ld", i, ch_retry_after(&head));
    }
}

static void test_google_details(void **state) {
    (void)state;
    static const struct {
        const char *details;
        long wait;
        bool retryable;
    } cases[] = {
        {"[{\"@type\":\"x.RetryInfo\",\"retryDelay\":\"34.4s\"}]", 34400, true},
        {"[{\"violations\":[{\"quotaId\":\"GenerateRequestsPerDayPerProject\"}]}]", 0, false},
        {"[5,{\"retryDelay\":\"soon\"},{\"violations\":7}]", 0, true},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_ARENA_AUTO arena = {0};
        CH_BUF_AUTO json = {0};
        const struct ch_json *v;
        struct ch_vendor_error e;
        ch_buf_addf(&json,
                    "[{\"error\":{\"code\":429,\"message\":\"m\","
                    "\"status\":\"RESOURCE_EXHAUSTED\",\"details\":%s}}]",
                    cases[i].details);
        assert_int_equal(
            ch_json_parse(&arena, ch_buf_sv(&json), CH_JSON_STRICT, &v, NULL, NULL), 0);
        assert_true(ch_vendor_error_read(v, &arena, &e));
        assert_int_equal(e.retry_after_ms, cases[i].wait);
        assert_int_equal(ch_classify(&e).cls, CH_ERR_RATE_LIMIT);
        assert_int_equal(ch_classify(&e).retryable, cases[i].retryable);
    }
}

static void test_hints(void **state) {
    (void)state;
    static const struct {
        const char *text;
        long want;
    } cases[] = {
        {"", 0},
        {"try later", 0},
        {"Please try again in 11.054s. Visit", 11054},
        {"please try again in 20ms", 20},
        {"Please Try Again In 1m2.5s.", 62500},
        {"try again in 1h", 3600000},
        {"Please retry after 6 seconds.", 6000},
        {"Please retry in 34.4s", 34400},
        {"try again in a while", 0},
        {"try again in 7", 0},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++)
        if (ch_retry_hint(ch_sv_str(cases[i].text)) != cases[i].want)
            fail_msg("%s: %ld", cases[i].text, ch_retry_hint(ch_sv_str(cases[i].text)));
}

static void test_schemas(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool want;
    } cases[] = {
        {"", false},
        {"messages: text content blocks must be non-empty", false},
        {"Invalid schema for function 'f': 'oneOf' is not permitted.", true},
        {"Invalid schema for response_format 'answer'", true},
        {"The compiled grammar is too large. Reduce the number of strict tools.", true},
        {"Schema is too complex for compilation.", true},
        {"The specified schema produces a constraint that has too many states for serving.", true},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++)
        if (ch_error_names_schema(ch_sv_str(cases[i].text)) != cases[i].want)
            fail_msg("%s", cases[i].text);
}

/* Such a request is made again without the reasoning of earlier replies. */
static void test_reasoning(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool want;
    } cases[] = {
        {"", false},
        {"messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a "
         "different conversation. Remove the block, or set "
         "`thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".", true},
        {"messages.1.content.0: Invalid `signature` in `thinking` block.", true},
        {"messages.3.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant "
         "message cannot be modified. These blocks must remain as they were.", true},
        {"thinking or redacted_thinking blocks in the latest assistant message cannot be modified",
         true},
        {"The encrypted content gAAA could not be verified.", true},
        {"Item 'rs_1' of type 'reasoning' was provided without its required following item.", true},
        {"Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: "
         "'rs_1'.", true},
        {"Thought signature is not valid", true},
        {"\"thinking.type.disabled\" is not supported for this model.", false},
        {"adaptive thinking is not supported on this model", false},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++)
        if (ch_error_names_reasoning(ch_sv_str(cases[i].text)) != cases[i].want)
            fail_msg("%s", cases[i].text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reasoning),
        cmocka_unit_test(test_verdicts),  cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_no_errors), cmocka_unit_test(test_waits),
        cmocka_unit_test(test_resets),
        cmocka_unit_test(test_google_details),
        cmocka_unit_test(test_hints),
        cmocka_unit_test(test_schemas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
