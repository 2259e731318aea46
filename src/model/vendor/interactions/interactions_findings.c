/* interactions_findings.c -- see interactions_findings.h.
 *
 * Annotations are byte positions in the text of their own block. The calls of the service's tools
 * are steps of the types "google_search_call", "code_execution_call" and so on; each is followed by
 * a step "..._result". */
#include "model/vendor/interactions/interactions_findings.h"

#include "base/limits.h"
#include "json/json.h"

static int64_t position(const struct ch_findings *f, const struct ch_block *b, int64_t at) {
    bool counted = at >= 0 && (size_t)at <= b->text.n && f->end <= CH_LIMIT_CITED_REPLY;
    return counted ? f->begin + ch_findings_chars(ch_sv(b->text.p, (size_t)at)) : 0;
}

static void interactions_annotation(struct ch_findings *f, const struct ch_block *b,
                                    const struct ch_json *v) {
    int64_t start = ch_json_int(ch_json_get(v, "start_index"), 0),
            end = ch_json_int(ch_json_get(v, "end_index"), 0);
    struct ch_sv title = ch_json_get_str(v, "title"), url = ch_json_get_str(v, "url");
    bool marked = end > start && position(f, b, end) > 0;
    ch_findings_cite(f, &(struct ch_citation){.url = url.n ? url : ch_json_get_str(v, "source"),
                                              .title = title.n ? title
                                                               : ch_json_get_str(v, "name"),
                                              .file = ch_json_get_str(v, "file_name"),
                                              .start = marked ? position(f, b, start) : 0,
                                              .end = marked ? position(f, b, end) : 0});
}

void ch_interactions_findings(struct ch_findings *f, const struct ch_block *b,
                              const struct ch_json *v) {
    static const struct ch_sv call = CH_SV("_call");
    struct ch_sv own = ch_json_get_str(v, "name");
    if (b->type == CH_BLOCK_TEXT) {
        for (CH_JSON_EACH(annotation, ch_json_get(v, "annotations")))
            interactions_annotation(f, b, annotation);
    } else if (b->name.n > call.n && ch_sv_ends(b->name, "_call")) {
        ch_findings_call(f, ch_json_get_str(v, "id"),
                         own.n ? own : ch_sv(b->name.p, b->name.n - call.n),
                         ch_json_get(v, "arguments"));
    } else if (ch_sv_ends(b->name, "_result")) {
        ch_findings_result(f, ch_json_get_str(v, "call_id"), ch_json_get(v, "result"));
    }
}
