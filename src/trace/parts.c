/* parts.c -- see parts.h. */
#include "trace/parts.h"

#include "base/grow.h"
#include "base/mem.h"
#include "base/redact.h"

static void add_part(struct ch_trace_parts *p, const struct ch_json *v) {
    const struct ch_json *req = ch_json_get(v, "request");
    struct ch_trace_part part = {
        .id = ch_json_get_str(v, "id"), .kind = ch_json_get_str(v, "kind"), .v = v};
    CH_GROW(p->list, p->n, p->cap, 16);
    if (req)
        part.model = ch_arena_printf(&p->arena, "%.*s/%.*s",
                                     CH_SV_FMT(ch_json_get_str(req, "provider")),
                                     CH_SV_FMT(ch_json_get_str(req, "model")));
    p->list[p->n++] = part;
}

void ch_trace_parts_add(struct ch_trace_parts *p, const struct chela_store_record *r) {
    const struct ch_json *v;
    struct ch_sv text = ch_arena_sv(&p->arena, ch_sv(r->data, r->n));
    if (ch_json_parse(&p->arena, text, CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return;
    const struct ch_json *parts = ch_json_get(v, "parts");
    if (!parts)
        add_part(p, v);
    for (CH_JSON_EACH(part, parts))
        add_part(p, part);
}

const struct ch_trace_part *ch_trace_parts_find(const struct ch_trace_parts *p, struct ch_sv id) {
    for (size_t i = p->n; id.n && i > 0; i--)
        if (ch_sv_eq(p->list[i - 1].id, id))
            return &p->list[i - 1];
    return NULL;
}

void ch_trace_parts_release(struct ch_trace_parts *p) {
    ch_arena_release(&p->arena);
    ch_free(p->list);
    *p = (struct ch_trace_parts){0};
}

/* --- writing ------------------------------------------------------------------------- */

static void write_text(struct ch_jw *w, struct ch_sv text) {
    CH_BUF_AUTO out = {0};
    ch_redact_copy(&out, text);
    ch_jw_str(w, ch_buf_sv(&out));
}

/* True if a value is secret because of the name that it has. */
static bool is_secret(struct ch_sv name, struct ch_sv value) {
    CH_BUF_AUTO pair = {0}, out = {0}, alone = {0};
    if (value.n > 1024)
        return false;
    ch_redact_copy(&alone, value);
    ch_buf_addf(&pair, "%.*s=%.*s", CH_SV_FMT(name), CH_SV_FMT(value));
    ch_redact_copy(&out, ch_buf_sv(&pair));
    return out.n != name.n + 1 + alone.n;
}

void ch_write_redacted(struct ch_jw *w, const struct ch_json *v) {
    if (ch_json_is(v, CH_JSON_STRING)) {
        write_text(w, ch_json_str(v));
    } else if (ch_json_is(v, CH_JSON_ARRAY)) {
        ch_jw_begin(w, '[');
        for (CH_JSON_EACH(e, v))
            ch_write_redacted(w, e);
        ch_jw_end(w, ']');
    } else if (ch_json_is(v, CH_JSON_OBJECT)) {
        ch_jw_begin(w, '{');
        for (CH_JSON_MEMBERS(k, m, v)) {
            ch_jw_key_sv(w, ch_json_str(k));
            if (ch_json_is(m, CH_JSON_STRING) && is_secret(ch_json_str(k), ch_json_str(m)))
                ch_jw_cstr(w, "***");
            else
                ch_write_redacted(w, m);
        }
        ch_jw_end(w, '}');
    } else {
        ch_jw_value(w, v);
    }
}

/* Copies the members of a section and adds its text. */
static void write_section(struct ch_jw *w, const struct ch_json *s, struct ch_sv system) {
    int64_t at = ch_json_int(ch_json_get(s, "at"), 0), n = ch_json_int(ch_json_get(s, "bytes"), 0);
    ch_jw_begin(w, '{');
    for (CH_JSON_MEMBERS(k, m, s)) {
        ch_jw_key_sv(w, ch_json_str(k));
        ch_jw_value(w, m);
    }
    if (at >= 0 && n >= 0 && (size_t)at <= system.n && (size_t)n <= system.n - (size_t)at) {
        ch_jw_key(w, "text");
        write_text(w, ch_sv(system.p + at, (size_t)n));
    }
    ch_jw_end(w, '}');
}

static void write_tool(struct ch_jw *w, const struct ch_json *tool) {
    ch_jw_begin(w, '{');
    for (CH_JSON_MEMBERS(k, m, tool)) {
        if (ch_sv_is(ch_json_str(k), "id") || ch_sv_is(ch_json_str(k), "kind"))
            continue;
        ch_jw_key_sv(w, ch_json_str(k));
        ch_jw_value(w, m);
    }
    ch_jw_end(w, '}');
}

void ch_trace_parts_write_tools(const struct ch_trace_parts *p, const struct ch_trace_part *setup,
                                struct ch_jw *w) {
    ch_jw_begin(w, '[');
    for (CH_JSON_EACH(id, ch_json_get(setup->v, "tools"))) {
        const struct ch_trace_part *tool = ch_trace_parts_find(p, ch_json_str(id));
        if (tool)
            write_tool(w, tool->v);
    }
    ch_jw_end(w, ']');
}

void ch_trace_parts_write_setup(const struct ch_trace_parts *p, const struct ch_trace_part *setup,
                                struct ch_jw *w) {
    const struct ch_trace_part *system =
        ch_trace_parts_find(p, ch_json_get_str(setup->v, "system"));
    ch_jw_kstr(w, "version", ch_json_get_str(setup->v, "version"));
    ch_jw_kstr(w, "api", ch_json_get_str(setup->v, "api"));
    ch_jw_key(w, "parameters");
    ch_write_redacted(w, ch_json_get(setup->v, "request"));
    ch_jw_kbegin(w, "sections", '[');
    for (CH_JSON_EACH(s, system ? ch_json_get(system->v, "sections") : NULL))
        write_section(w, s, ch_json_get_str(system->v, "text"));
    ch_jw_end(w, ']');
    ch_jw_key(w, "tools");
    ch_trace_parts_write_tools(p, setup, w);
}
