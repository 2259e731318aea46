/* response_echo.c -- see response_echo.h. */
#include "gateway/http/response_echo.h"

/* v, or null. */
static void echo_or_null(struct ch_jw *w, const char *key, const struct ch_json *v,
                         enum ch_json_type type) {
    ch_jw_kvalue(w, key, ch_json_is(v, type) ? v : NULL);
}

static void echo_number(struct ch_jw *w, const struct ch_json *request, const char *key) {
    ch_jw_key(w, key);
    ch_jw_double(w, ch_json_double(ch_json_get(request, key), 1));
}

/* --- tools */

/* Some clients send the form of Chat Completions, where the definition is a member. */
static void echo_function(struct ch_jw *w, const struct ch_json *tool) {
    const struct ch_json *inner = ch_json_get(tool, "function");
    const struct ch_json *f = ch_json_is(inner, CH_JSON_OBJECT) ? inner : tool;
    const struct ch_json *strict = ch_json_get(f, "strict");
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", "function");
    ch_jw_kstr(w, "name", ch_json_get_str(f, "name"));
    echo_or_null(w, "description", ch_json_get(f, "description"), CH_JSON_STRING);
    echo_or_null(w, "parameters", ch_json_get(f, "parameters"), CH_JSON_OBJECT);
    ch_jw_kvalue(w, "strict",
                 ch_json_is(strict, CH_JSON_TRUE) || ch_json_is(strict, CH_JSON_FALSE) ? strict
                                                                                      : NULL);
    ch_jw_end(w, '}');
}

static void echo_tools(struct ch_jw *w, const struct ch_json *request) {
    ch_jw_kbegin(w, "tools", '[');
    for (CH_JSON_EACH(tool, ch_json_get(request, "tools"))) {
        struct ch_sv type = ch_json_get_str(tool, "type");
        if (!type.n || ch_sv_is(type, "function"))
            echo_function(w, tool);
        else
            ch_jw_value(w, tool);
    }
    ch_jw_end(w, ']');
}

static void echo_choice(struct ch_jw *w, const struct ch_json *request) {
    const struct ch_json *choice = ch_json_get(request, "tool_choice");
    if (ch_json_is(choice, CH_JSON_OBJECT))
        ch_jw_kvalue(w, "tool_choice", choice);
    else if (ch_sv_is(ch_json_str(choice), "any"))
        ch_jw_kcstr(w, "tool_choice", "required");
    else
        ch_jw_kstr(w, "tool_choice", ch_json_str(choice).n ? ch_json_str(choice) : CH_SV("auto"));
}

/* --- the form of the answer, and reasoning */

static void echo_text(struct ch_jw *w, const struct ch_json *request) {
    const struct ch_json *f = ch_json_path(request, "text", "format", NULL);
    struct ch_sv type = ch_json_get_str(f, "type");
    ch_jw_kbegin(w, "text", '{');
    ch_jw_kbegin(w, "format", '{');
    ch_jw_kstr(w, "type", type.n ? type : CH_SV("text"));
    if (ch_sv_is(type, "json_schema")) {
        ch_jw_kstr(w, "name", ch_json_get_str(f, "name"));
        echo_or_null(w, "description", ch_json_get(f, "description"), CH_JSON_STRING);
        ch_jw_kvalue(w, "schema", ch_json_get(f, "schema"));
        ch_jw_kbool(w, "strict", ch_json_bool(ch_json_get(f, "strict"), false));
    }
    ch_jw_end(w, '}');
    ch_jw_end(w, '}');
}

static void echo_reasoning(struct ch_jw *w, const struct ch_json *request) {
    const struct ch_json *effort = ch_json_get(request, "reasoning_effort");
    if (!ch_json_is(effort, CH_JSON_STRING))
        effort = ch_json_path(request, "reasoning", "effort", NULL);
    ch_jw_kbegin(w, "reasoning", '{');
    echo_or_null(w, "effort", effort, CH_JSON_STRING);
    echo_or_null(w, "summary", ch_json_path(request, "reasoning", "summary", NULL),
                 CH_JSON_STRING);
    ch_jw_end(w, '}');
}

void ch_response_echo(struct ch_jw *w, const struct ch_json *request) {
    const struct ch_json *metadata = ch_json_get(request, "metadata");
    echo_or_null(w, "instructions", ch_json_get(request, "instructions"), CH_JSON_STRING);
    echo_or_null(w, "previous_response_id", ch_json_get(request, "previous_response_id"),
                 CH_JSON_STRING);
    echo_or_null(w, "max_output_tokens", ch_json_get(request, "max_output_tokens"),
                 CH_JSON_NUMBER);
    ch_jw_kcstr(w, "max_tool_calls", NULL);
    echo_number(w, request, "temperature");
    echo_number(w, request, "top_p");
    ch_jw_kint(w, "presence_penalty", 0);
    ch_jw_kint(w, "frequency_penalty", 0);
    ch_jw_kint(w, "top_logprobs", 0);
    ch_jw_kcstr(w, "truncation", "disabled");
    ch_jw_kcstr(w, "service_tier", "default");
    echo_text(w, request);
    echo_reasoning(w, request);
    echo_tools(w, request);
    echo_choice(w, request);
    if (ch_json_is(metadata, CH_JSON_OBJECT))
        ch_jw_kvalue(w, "metadata", metadata);
    else
        ch_jw_kraw(w, "metadata", CH_SV("{}"));
    ch_jw_kcstr(w, "safety_identifier", NULL);
    ch_jw_kcstr(w, "prompt_cache_key", NULL);
    ch_jw_kcstr(w, "access_programs", NULL);
    if (ch_json_get_str(request, "user").n)
        ch_jw_kstr(w, "user", ch_json_get_str(request, "user"));
}
