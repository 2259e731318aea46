/* parts.h -- the parts of requests that a journal holds (agent/journal/request_record.h). */
#ifndef CH_TRACE_PARTS_H
#define CH_TRACE_PARTS_H
#include "base/arena.h"
#include "chela/store.h"
#include "json/json.h"
#include "json/writer.h"

struct ch_trace_part {
    struct ch_sv id, kind;
    const struct ch_json *v;
    const char *model; /* model of a setup: "provider/model"; else NULL */
};

/* All parts that were read so far; texts are in the arena. Zeroed: none. */
struct ch_trace_parts {
    struct ch_arena arena;
    struct ch_trace_part *list; /* owned */
    size_t n, cap;
};

/* Adds the parts of a PART record; a record that cannot be read is ignored. */
void ch_trace_parts_add(struct ch_trace_parts *p, const struct chela_store_record *r);
const struct ch_trace_part *ch_trace_parts_find(const struct ch_trace_parts *p,
                                                struct ch_sv id); /* NULL: none */
void ch_trace_parts_release(struct ch_trace_parts *p);

/* Writes the tools of a setup as an array. */
void ch_trace_parts_write_tools(const struct ch_trace_parts *p, const struct ch_trace_part *setup,
                                struct ch_jw *w);

/* Writes the members "version", "api", "parameters", "sections" and "tools" of a setup. Keys
 * in the texts are redacted. */
void ch_trace_parts_write_setup(const struct ch_trace_parts *p, const struct ch_trace_part *setup,
                                struct ch_jw *w);

/* Writes a value; keys in its strings are redacted. */
void ch_write_redacted(struct ch_jw *w, const struct ch_json *v);

#endif
