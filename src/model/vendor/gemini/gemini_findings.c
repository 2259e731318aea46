/* gemini_findings.c -- see gemini_findings.h.
 *
 * The metadata of a grounded reply lists sources and the passages that rest on them; the
 * positions are bytes of the reply's text. */
#include "model/vendor/gemini/gemini_findings.h"

#include "base/limits.h"
#include "json/json.h"
#include "json/writer.h"
#include "model/vendor/gemini/gemini.h"

/* A source: {"web":{..}}, {"retrievedContext":{..}} or {"maps":{..}}. */
static struct ch_citation gemini_source(const struct ch_json *chunk) {
    static const char *const kinds[] = {"web", "retrievedContext", "maps", NULL};
    const struct ch_json *v = NULL;
    for (const char *const *kind = kinds; *kind && !v; kind++)
        v = ch_json_get(chunk, *kind);
    return (struct ch_citation){.url = ch_json_get_str(v, "uri"),
                                .title = ch_json_get_str(v, "title"),
                                .text = ch_json_get_str(v, "text"),
                                .file = ch_json_get_str(v, "fileSearchStore")};
}

/* The sources of a reply, up to CH_LIMIT_CITATIONS of each kind: a service may send any number. */
struct grounding {
    const struct ch_json *chunks[CH_LIMIT_CITATIONS];
    bool supported[CH_LIMIT_CITATIONS];
    size_t n, passages;
};

static void gemini_support(struct ch_findings *f, struct grounding *g,
                           const struct ch_json *support) {
    const struct ch_json *segment = ch_json_get(support, "segment");
    int64_t start = ch_json_int(ch_json_get(segment, "startIndex"), 0),
            end = ch_json_int(ch_json_get(segment, "endIndex"), 0);
    for (CH_JSON_EACH(index, ch_json_get(support, "groundingChunkIndices"))) {
        int64_t i = ch_json_int(index, -1);
        if (i < 0 || (size_t)i >= g->n)
            continue;
        g->supported[i] = true;
        if (g->passages++ >= CH_LIMIT_CITATIONS)
            continue;
        struct ch_citation c = gemini_source(g->chunks[i]);
        c.start = ch_findings_position(f, start);
        c.end = ch_findings_position(f, end);
        ch_findings_cite(f, &c);
    }
}

static void gemini_grounding(struct ch_findings *f, const struct ch_json *v) {
    struct grounding g = {0};
    for (CH_JSON_EACH(chunk, ch_json_get(v, "groundingChunks")))
        if (g.n < CH_LIMIT_CITATIONS)
            g.chunks[g.n++] = chunk;
    for (CH_JSON_EACH(support, ch_json_get(v, "groundingSupports")))
        gemini_support(f, &g, support);
    for (size_t i = 0; i < g.n; i++) {
        struct ch_citation c = gemini_source(g.chunks[i]);
        if (!g.supported[i])
            ch_findings_cite(f, &c);
    }
    const struct ch_json *queries = ch_json_get(v, "webSearchQueries");
    if (ch_json_is(queries, CH_JSON_ARRAY) && queries->n) {
        CH_BUF_AUTO arguments = {0};
        struct ch_jw w = ch_jw(&arguments);
        ch_jw_begin(&w, '{');
        ch_jw_kvalue(&w, "queries", queries);
        ch_jw_end(&w, '}');
        ch_findings_call_json(f, CH_SV(""), CH_SV("google_search"), ch_buf_sv(&arguments));
    }
}

void ch_gemini_findings(struct ch_findings *f, const struct ch_block *b, const struct ch_json *v) {
    const struct ch_json *inner = ch_json_get_sv(v, b->name);
    if (b->type != CH_BLOCK_OPAQUE)
        return;
    if (ch_sv_is(b->name, CH_GEMINI_GROUNDING))
        gemini_grounding(f, v);
    else if (ch_sv_is(b->name, "executableCode"))
        ch_findings_call(f, ch_json_get_str(inner, "id"), CH_SV("code_execution"), inner);
    else if (ch_sv_is(b->name, "codeExecutionResult"))
        ch_findings_result(f, ch_json_get_str(inner, "id"), ch_json_get(inner, "output"));
    else if (ch_sv_is(b->name, "toolCall"))
        ch_findings_call(f, ch_json_get_str(inner, "id"), ch_json_get_str(inner, "toolType"),
                         ch_json_get(inner, "args"));
    else if (ch_sv_is(b->name, "toolResponse"))
        ch_findings_result(f, ch_json_get_str(inner, "id"), ch_json_get(inner, "response"));
}
