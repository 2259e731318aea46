/* export.c -- a stored session in the forms of other programs; see chela_trace_export.
 *
 * ATIF: the agent trajectory interchange format. The results of calls are in the step that made
 * the calls, so a step is written when the next one begins. */
#include "agent/journal/journal.h"
#include "base/entry.h"
#include "base/error.h"
#include "base/redact.h"
#include "chela/trace.h"
#include "chela/version.h"
#include "json/writer.h"
#include "store/store.h"

struct exporting {
    struct ch_buf steps;   /* JSON values, separated by commas */
    struct ch_buf step;    /* members of the step in progress, without its results; empty: none */
    struct ch_buf results; /* of the step in progress */
    size_t n;
    struct ch_buf model;
    int64_t input, output, cached;
    double cost;
    bool priced;
};

/* --- ATIF -------------------------------------------------------------------------------- */

static void step_end(struct exporting *x) {
    struct ch_jw w = ch_jw(&x->steps);
    if (!x->step.n)
        return;
    w.comma = x->steps.n > 0;
    if (w.comma)
        ch_buf_addc(&x->steps, ',');
    ch_buf_addc(&x->steps, '{');
    ch_buf_addf(&x->steps, "\"step_id\":%zu,", ++x->n);
    ch_buf_add_sv(&x->steps, ch_buf_sv(&x->step));
    if (x->results.n)
        ch_buf_addf(&x->steps, ",\"observation\":{\"results\":[%s]}", ch_buf_str(&x->results));
    ch_buf_addc(&x->steps, '}');
    ch_buf_clear(&x->step);
    ch_buf_clear(&x->results);
}

/* The texts of a message's blocks of one type. */
static void add_texts(struct ch_buf *out, const struct ch_json *content, const char *type) {
    if (ch_json_is(content, CH_JSON_STRING) && strcmp(type, "text") == 0)
        ch_buf_add_sv(out, ch_json_str(content));
    for (CH_JSON_EACH(b, content)) {
        if (!ch_sv_is(ch_json_get_str(b, "type"), type))
            continue;
        ch_buf_add_str(out, out->n ? "\n\n" : "");
        ch_buf_add_sv(out, ch_json_get_str(b, "text"));
    }
}

static void write_atif_calls(struct ch_jw *w, const struct ch_json *content) {
    bool any = false;
    for (CH_JSON_EACH(b, content)) {
        if (!ch_sv_is(ch_json_get_str(b, "type"), "tool_call"))
            continue;
        if (!any)
            ch_jw_kbegin(w, "tool_calls", '[');
        any = true;
        ch_jw_begin(w, '{');
        ch_jw_kstr(w, "tool_call_id", ch_json_get_str(b, "id"));
        ch_jw_kstr(w, "function_name", ch_json_get_str(b, "name"));
        ch_jw_key(w, "arguments");
        if (ch_json_is(ch_json_get(b, "arguments"), CH_JSON_OBJECT))
            ch_jw_value(w, ch_json_get(b, "arguments"));
        else
            ch_jw_raw(w, CH_SV("{}"));
        ch_jw_end(w, '}');
    }
    if (any)
        ch_jw_end(w, ']');
}

static void write_atif_metrics(struct exporting *x, struct ch_jw *w, const struct ch_json *record) {
    const struct ch_json *usage = ch_json_get(record, "usage"), *cost = ch_json_get(record, "cost");
    if (!usage)
        return;
    int64_t input = ch_json_int(ch_json_get(usage, "input"), 0);
    int64_t output = ch_json_int(ch_json_get(usage, "output"), 0);
    int64_t cached = ch_json_int(ch_json_get(usage, "cache_read"), 0);
    x->input += input;
    x->output += output;
    x->cached += cached;
    x->priced = x->priced || cost;
    x->cost += ch_json_double(cost, 0);
    ch_jw_kbegin(w, "metrics", '{');
    ch_jw_kint(w, "prompt_tokens", input);
    ch_jw_kint(w, "completion_tokens", output);
    ch_jw_kint(w, "cached_tokens", cached);
    if (cost)
        ch_jw_kdouble(w, "cost_usd", ch_json_double(cost, 0));
    ch_jw_end(w, '}');
}

static void atif_step(struct exporting *x, const struct ch_json *record, const struct ch_json *m,
                      int64_t ts, bool agent) {
    struct ch_jw w = ch_jw(&x->step);
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO reasoning = {0};
    const struct ch_json *content = ch_json_get(m, "content");
    struct ch_sv model = ch_json_get_str(m, "asked");
    step_end(x);
    add_texts(&text, content, "text");
    ch_jw_ktime(&w, "timestamp", ts);
    ch_jw_kcstr(&w, "source", agent ? "agent" : "user");
    ch_jw_kstr(&w, "message", ch_buf_sv(&text));
    if (!agent)
        return;
    add_texts(&reasoning, content, "reasoning");
    if (reasoning.n)
        ch_jw_kstr(&w, "reasoning_content", ch_buf_sv(&reasoning));
    model = model.n ? model : ch_json_get_str(m, "model");
    if (model.n) {
        ch_jw_kstr(&w, "model_name", model);
        ch_buf_clear(&x->model);
        ch_buf_add_sv(&x->model, model);
    }
    write_atif_calls(&w, content);
    write_atif_metrics(x, &w, record);
}

static void atif_results(struct exporting *x, const struct ch_json *m) {
    for (CH_JSON_EACH(b, ch_json_get(m, "content"))) {
        if (!ch_sv_is(ch_json_get_str(b, "type"), "tool_result"))
            continue;
        struct ch_jw w = ch_jw(&x->results);
        CH_BUF_AUTO text = {0};
        ch_json_add_text(&text, ch_json_get(b, "content"));
        w.comma = x->results.n > 0;
        ch_jw_begin(&w, '{');
        ch_jw_kstr(&w, "source_call_id", ch_json_get_str(b, "id"));
        ch_jw_kstr(&w, "content", ch_buf_sv(&text));
        ch_jw_end(&w, '}');
    }
}

static int atif_on_record(const struct chela_store_record *r, void *user) {
    struct exporting *x = user;
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;
    if (r->type != CH_REC_INBOUND && r->type != CH_REC_MESSAGE && r->type != CH_REC_DONE)
        return 0;
    ch_json_parse(&arena, ch_sv(r->data, r->n), CH_JSON_REPLACE, &v, NULL, NULL);
    const struct ch_json *m = ch_json_get(v, "message");
    struct ch_sv role = ch_json_get_str(m, "role");
    if (ch_sv_is(role, "assistant"))
        atif_step(x, v, m, r->ts, true);
    else if (ch_sv_is(role, "tool"))
        atif_results(x, m);
    else if (m)
        atif_step(x, v, m, r->ts, false);
    return 0;
}

static void write_atif(const struct exporting *x, const char *key, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "schema_version", "ATIF-v1.7");
    ch_jw_kcstr(&w, "session_id", key);
    ch_jw_kbegin(&w, "agent", '{');
    ch_jw_kcstr(&w, "name", "chela");
    ch_jw_kcstr(&w, "version", CHELA_VERSION);
    if (x->model.n)
        ch_jw_kstr(&w, "model_name", ch_buf_sv(&x->model));
    ch_jw_end(&w, '}');
    ch_jw_kbegin(&w, "steps", '[');
    if (x->steps.n)
        ch_jw_raw(&w, ch_buf_sv(&x->steps));
    ch_jw_end(&w, ']');
    ch_jw_kbegin(&w, "final_metrics", '{');
    ch_jw_kint(&w, "total_prompt_tokens", x->input);
    ch_jw_kint(&w, "total_completion_tokens", x->output);
    ch_jw_kint(&w, "total_cached_tokens", x->cached);
    if (x->priced)
        ch_jw_kdouble(&w, "total_cost_usd", x->cost);
    ch_jw_kint(&w, "total_steps", (int64_t)x->n);
    ch_jw_end(&w, '}');
    ch_jw_end(&w, '}');
}

static int export_atif(chela_store *store, const char *key, struct ch_buf *out,
                       struct chela_error *err) {
    struct exporting x = {0};
    int rc = chela_store_records(store, key, 0, atif_on_record, &x, err);
    step_end(&x);
    if (rc == 0)
        write_atif(&x, key, out);
    ch_buf_release(&x.steps);
    ch_buf_release(&x.step);
    ch_buf_release(&x.results);
    ch_buf_release(&x.model);
    return rc;
}

/* --- OpenAI: the messages of Chat Completions -------------------------------------------- */

static void write_openai_calls(struct ch_jw *w, const struct ch_json *content) {
    bool any = false;
    for (CH_JSON_EACH(b, content)) {
        CH_BUF_AUTO arguments = {0};
        struct ch_jw a = ch_jw(&arguments);
        if (!ch_sv_is(ch_json_get_str(b, "type"), "tool_call"))
            continue;
        if (!any)
            ch_jw_kbegin(w, "tool_calls", '[');
        any = true;
        ch_jw_value(&a, ch_json_get(b, "arguments"));
        ch_jw_begin(w, '{');
        ch_jw_kstr(w, "id", ch_json_get_str(b, "id"));
        ch_jw_kcstr(w, "type", "function");
        ch_jw_kbegin(w, "function", '{');
        ch_jw_kstr(w, "name", ch_json_get_str(b, "name"));
        ch_jw_kstr(w, "arguments", ch_buf_sv(&arguments));
        ch_jw_end(w, '}');
        ch_jw_end(w, '}');
    }
    if (any)
        ch_jw_end(w, ']');
}

/* Each result is a message of its own. */
static void write_openai_results(struct ch_jw *w, const struct ch_json *content) {
    for (CH_JSON_EACH(b, content)) {
        CH_BUF_AUTO text = {0};
        if (!ch_sv_is(ch_json_get_str(b, "type"), "tool_result"))
            continue;
        ch_json_add_text(&text, ch_json_get(b, "content"));
        ch_jw_begin(w, '{');
        ch_jw_kcstr(w, "role", "tool");
        ch_jw_kstr(w, "tool_call_id", ch_json_get_str(b, "id"));
        ch_jw_kstr(w, "content", ch_buf_sv(&text));
        ch_jw_end(w, '}');
    }
}

static void write_openai_message(struct ch_jw *w, const struct ch_json *m) {
    const struct ch_json *content = ch_json_get(m, "content");
    struct ch_sv role = ch_json_get_str(m, "role");
    CH_BUF_AUTO text = {0};
    if (ch_sv_is(role, "tool")) {
        write_openai_results(w, content);
        return;
    }
    add_texts(&text, content, "text");
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "role", ch_sv_is(role, "assistant") ? "assistant" : "user");
    ch_jw_key(w, "content");
    if (text.n || !ch_sv_is(role, "assistant"))
        ch_jw_str(w, ch_buf_sv(&text));
    else
        ch_jw_null(w);
    write_openai_calls(w, content);
    ch_jw_end(w, '}');
}

static int export_openai(chela_store *store, const char *key, struct ch_buf *out,
                         struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    char *shown = NULL;
    const struct ch_json *v = NULL;
    struct ch_jw w = ch_jw(out);
    int rc = chela_store_show(store, key, &shown, err);
    if (rc == 0)
        rc = ch_json_parse(&arena, ch_sv_str(shown), CH_JSON_REPLACE, &v, NULL, err);
    ch_jw_begin(&w, '{');
    ch_jw_kbegin(&w, "messages", '[');
    for (CH_JSON_EACH(m, ch_json_get(v, "transcript")))
        write_openai_message(&w, m);
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    chela_free(shown);
    return rc;
}

int chela_trace_export(chela_store *store, const char *key, enum chela_export_form form,
                       char **out, struct chela_error *err) {
    CH_NEEDS(store, err);
    CH_NEEDS_ARG(key, err);
    CH_BUF_AUTO text = {0};
    struct ch_buf safe = {0};
    if (form != CHELA_EXPORT_ATIF && form != CHELA_EXPORT_OPENAI)
        return ch_fail(err, CHELA_EINVAL, "there is no such form of an export");
    int rc = form == CHELA_EXPORT_ATIF ? export_atif(store, key, &text, err)
                                       : export_openai(store, key, &text, err);
    if (rc < 0)
        return rc;
    ch_redact_copy(&safe, ch_buf_sv(&text));
    *out = ch_buf_take(&safe);
    return 0;
}
