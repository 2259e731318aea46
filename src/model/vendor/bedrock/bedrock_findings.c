/* bedrock_findings.c -- see bedrock_findings.h.
 *
 * A text block with citations is cited as a whole, as by Anthropic. */
#include "model/vendor/bedrock/bedrock_findings.h"

#include "json/json.h"

static struct ch_sv source_text(const struct ch_json *citation) {
    return ch_json_get_str(ch_json_at(ch_json_get(citation, "sourceContent"), 0), "text");
}

static void bedrock_cite(struct ch_findings *f, const struct ch_json *citation) {
    const struct ch_json *web = ch_json_path(citation, "location", "web", NULL);
    struct ch_sv title = ch_json_get_str(citation, "title"), url = ch_json_get_str(web, "url");
    ch_findings_cite(f, &(struct ch_citation){.url = url.n ? url
                                                           : ch_json_get_str(citation, "source"),
                                              .title = title.n ? title
                                                               : ch_json_get_str(web, "domain"),
                                              .text = source_text(citation),
                                              .start = f->begin,
                                              .end = f->end});
}

void ch_bedrock_findings(struct ch_findings *f, const struct ch_block *b, const struct ch_json *v) {
    const struct ch_json *call = ch_json_get(v, "toolUse"), *result = ch_json_get(v, "toolResult");
    if (b->type == CH_BLOCK_TEXT)
        for (CH_JSON_EACH(citation, v))
            bedrock_cite(f, citation);
    else if (call)
        ch_findings_call(f, ch_json_get_str(call, "toolUseId"), ch_json_get_str(call, "name"),
                         ch_json_get(call, "input"));
    else if (result)
        ch_findings_result(f, ch_json_get_str(result, "toolUseId"), ch_json_get(result, "content"));
}
