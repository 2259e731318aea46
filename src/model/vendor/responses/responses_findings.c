/* responses_findings.c -- see responses_findings.h.
 *
 * Annotations are positions in the text of their own block. Items of unknown types are calls
 * of the service's tools: "web_search_call", "code_interpreter_call" and so on. The arguments of
 * some are a text, "arguments" or "input". */
#include "model/vendor/responses/responses_findings.h"

#include "json/json.h"
#include "json/writer.h"
#include "model/codec/encode.h"
#include "model/vendor/responses/responses_encode.h"

static void responses_annotation(struct ch_findings *f, const struct ch_json *v) {
    int64_t start = ch_json_int(ch_json_get(v, "start_index"), 0),
            end = ch_json_int(ch_json_get(v, "end_index"), 0);
    struct ch_sv title = ch_json_get_str(v, "title");
    if (end > f->end - f->begin || end <= start)
        start = end = 0;
    ch_findings_cite(f, &(struct ch_citation){.url = ch_json_get_str(v, "url"),
                                              .title = title.n ? title
                                                               : ch_json_get_str(v, "filename"),
                                              .file = ch_json_get_str(v, "file_id"),
                                              .start = end ? f->begin + start : 0,
                                              .end = end ? f->begin + end : 0});
}

static bool ends_with_call(struct ch_sv type, struct ch_sv *name) {
    static const struct ch_sv ending = CH_SV("_call");
    if (type.n <= ending.n || memcmp(type.p + type.n - ending.n, ending.p, ending.n) != 0)
        return false;
    *name = ch_sv(type.p, type.n - ending.n);
    return true;
}

/* The result of a call, by the names that the item types use. */
static const struct ch_json *first_member(const struct ch_json *v, const char *const *names) {
    for (; *names; names++) {
        const struct ch_json *m = ch_json_get(v, *names);
        if (m && m->type != CH_JSON_NULL)
            return m;
    }
    return NULL;
}

/* {"code":..} or {"queries":[..]}: the members of the item that are its input. */
static void write_inputs(const struct ch_json *v, struct ch_buf *out) {
    static const char *const inputs[] = {"code", "queries", "query", NULL};
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    for (const char *const *key = inputs; *key; key++)
        if (ch_json_get(v, *key)) {
            ch_jw_kvalue(&w, *key, ch_json_get(v, *key));
        }
    ch_jw_end(&w, '}');
}

static void responses_call(struct ch_findings *f, const struct ch_block *b,
                           const struct ch_json *v) {
    static const char *const results[] = {"output", "outputs", "results", "error", NULL};
    struct ch_sv name, id = ch_json_get_str(v, "id"), own = ch_json_get_str(v, "name"),
                       arguments = ch_json_get_str(v, "arguments");
    if (!arguments.n)
        arguments = ch_json_get_str(v, "input");
    const struct ch_json *action = ch_json_get(v, "action");
    CH_BUF_AUTO inputs = {0};
    if (ch_sv_is(b->name, "computer_call") || !ends_with_call(b->name, &name))
        return;
    if (own.n)
        name = own;
    write_inputs(v, &inputs);
    if (ch_json_is(action, CH_JSON_OBJECT))
        ch_findings_call(f, id, name, action);
    else
        ch_findings_call_json(f, id, name, ch_is_json(arguments, CH_JSON_OBJECT)
                                               ? arguments
                                               : ch_buf_sv(&inputs));
    ch_findings_result(f, id, first_member(v, results));
}

void ch_responses_findings(struct ch_findings *f, const struct ch_block *b,
                           const struct ch_json *v) {
    if (b->type == CH_BLOCK_OPAQUE) {
        responses_call(f, b, v);
        return;
    }
    for (CH_JSON_EACH(annotation, ch_json_get(v, "annotations")))
        responses_annotation(f, annotation);
}
