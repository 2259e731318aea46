/* anthropic_findings.c -- see anthropic_findings.h.
 *
 * A text block with citations is cited as a whole. A result block names the call that it
 * belongs to; results of web searches are listed by title and URL, because the rest of them
 * is encrypted. */
#include "model/vendor/anthropic/anthropic_findings.h"

#include "json/json.h"

static struct ch_sv first_of(const struct ch_json *v, const char *a, const char *b) {
    struct ch_sv s = ch_json_get_str(v, a);
    return s.n ? s : ch_json_get_str(v, b);
}

static void anthropic_cite(struct ch_findings *f, const struct ch_json *citation) {
    ch_findings_cite(f, &(struct ch_citation){.url = first_of(citation, "url", "source"),
                                              .title = first_of(citation, "title",
                                                                "document_title"),
                                              .text = ch_json_get_str(citation, "cited_text"),
                                              .file = ch_json_get_str(citation, "file_id"),
                                              .start = f->begin,
                                              .end = f->end});
}

/* "title url" of each result; other content as it is. */
static void anthropic_result(struct ch_findings *f, struct ch_sv id,
                             const struct ch_json *content) {
    CH_BUF_AUTO lines = {0};
    for (CH_JSON_EACH(item, content))
        if (ch_sv_is(ch_json_get_str(item, "type"), "web_search_result"))
            ch_buf_addf(&lines, "%s%.*s %.*s", lines.n ? "\n" : "",
                        CH_SV_FMT(ch_json_get_str(item, "title")),
                        CH_SV_FMT(ch_json_get_str(item, "url")));
        else if (ch_sv_is(ch_json_get_str(item, "type"), "text"))
            ch_buf_addf(&lines, "%s%.*s", lines.n ? "\n" : "",
                        CH_SV_FMT(ch_json_get_str(item, "text")));
    if (lines.n)
        ch_findings_result_text(f, id, ch_buf_sv(&lines));
    else
        ch_findings_result(f, id, content);
}

void ch_anthropic_findings(struct ch_findings *f, const struct ch_block *b,
                           const struct ch_json *v) {
    if (b->type == CH_BLOCK_TEXT) {
        for (CH_JSON_EACH(citation, v))
            anthropic_cite(f, citation);
        return;
    }
    struct ch_sv of = ch_json_get_str(v, "tool_use_id");
    if (of.n)
        anthropic_result(f, of, ch_json_get(v, "content"));
    else if (ch_json_get(v, "input") && ch_json_get(v, "name"))
        ch_findings_call(f, ch_json_get_str(v, "id"), ch_json_get_str(v, "name"),
                         ch_json_get(v, "input"));
}
