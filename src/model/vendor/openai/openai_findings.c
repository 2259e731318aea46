/* openai_findings.c -- see openai_findings.h.
 *
 * A text block keeps the reply's annotations, or the search results of services that number
 * their sources in the text (Perplexity, xAI). */
#include "model/vendor/openai/openai_findings.h"

#include "json/json.h"

/* {"type":"url_citation","url_citation":{..}}, the same members without the inner object, a
 * search result, or a bare URL. */
static void openai_cite(struct ch_findings *f, const struct ch_json *v) {
    const struct ch_json *inner = ch_json_get(v, "url_citation");
    if (!ch_json_is(inner, CH_JSON_OBJECT))
        inner = ch_json_is(ch_json_get(v, "file_citation"), CH_JSON_OBJECT)
                    ? ch_json_get(v, "file_citation")
                    : v;
    struct ch_sv text = ch_json_get_str(inner, "content");
    int64_t start = ch_json_int(ch_json_get(inner, "start_index"), 0),
            end = ch_json_int(ch_json_get(inner, "end_index"), 0);
    if (end > f->end - f->begin || end <= start)
        start = end = 0;
    ch_findings_cite(
        f, &(struct ch_citation){.url = ch_json_is(v, CH_JSON_STRING)
                                            ? ch_json_str(v)
                                            : ch_json_get_str(inner, "url"),
                                 .title = ch_json_get_str(inner, "title"),
                                 .text = text.n ? text : ch_json_get_str(inner, "snippet"),
                                 .file = ch_json_get_str(inner, "file_id"),
                                 .start = end ? f->begin + start : 0,
                                 .end = end ? f->begin + end : 0});
}

/* {"type","arguments":"JSON","output"}: Groq. */
static void executed_tool(struct ch_findings *f, const struct ch_json *v) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *arguments = NULL;
    ch_json_parse(&arena, ch_json_get_str(v, "arguments"), CH_JSON_REPLACE, &arguments, NULL, NULL);
    ch_findings_call(f, CH_SV(""), ch_json_get_str(v, "type"), arguments);
    ch_findings_result(f, CH_SV(""), ch_json_get(v, "output"));
}

void ch_openai_findings(struct ch_findings *f, const struct ch_block *b, const struct ch_json *v) {
    for (CH_JSON_EACH(item, v))
        if (b->type == CH_BLOCK_TEXT)
            openai_cite(f, item);
        else
            executed_tool(f, item);
}
