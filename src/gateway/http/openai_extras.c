/* openai_extras.c -- see openai_extras.h. */
#include "gateway/http/openai_extras.h"

#include "base/arena.h"
#include "json/json.h"
#include "json/writer.h"

static void write_annotation(struct ch_jw *w, const struct ch_json *v, const char *type,
                             bool nested) {
    struct ch_sv url = ch_json_get_str(v, "url"), title = ch_json_get_str(v, "title");
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", type);
    if (nested) {
        ch_jw_kbegin(w, type, '{');
    }
    if (url.n) {
        ch_jw_kstr(w, "url", url);
        ch_jw_kstr(w, "title", title);
        ch_jw_kint(w, "start_index", ch_json_int(ch_json_get(v, "start"), 0));
        ch_jw_kint(w, "end_index", ch_json_int(ch_json_get(v, "end"), 0));
    } else {
        ch_jw_kstr(w, "file_id", ch_json_get_str(v, "file"));
        ch_jw_kstr(w, "filename", title);
        ch_jw_kint(w, "index", ch_json_int(ch_json_get(v, "start"), 0));
    }
    if (nested)
        ch_jw_end(w, '}');
    ch_jw_end(w, '}');
}

void ch_openai_annotations(struct chela_str citations, bool nested, struct ch_buf *out) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *list;
    struct ch_jw w = ch_jw(out);
    bool any = false;
    if (!citations.n || ch_json_parse(&arena, ch_sv(citations.p, citations.n), CH_JSON_STRICT,
                                      &list, NULL, NULL) < 0)
        return;
    for (CH_JSON_EACH(v, list)) {
        bool url = ch_json_get_str(v, "url").n > 0;
        if (!url && !ch_json_get_str(v, "file").n)
            continue;
        if (!any)
            ch_jw_begin(&w, '[');
        any = true;
        write_annotation(&w, v, url ? "url_citation" : "file_citation", nested);
    }
    if (any)
        ch_jw_end(&w, ']');
}

void ch_openai_image_url(const struct chela_event *made, struct ch_buf *out) {
    struct ch_sv type = ch_sv(made->made.media_type.p, made->made.media_type.n),
                 url = ch_sv(made->made.url.p, made->made.url.n),
                 data = ch_sv(made->made.data.p, made->made.data.n);
    if (url.n)
        ch_buf_add_sv(out, url);
    else if (data.n && ch_sv_starts(type, "image/"))
        ch_buf_addf(out, "data:%.*s;base64,%.*s", CH_SV_FMT(type), CH_SV_FMT(data));
}
