/* writer.h -- write JSON text.
 *
 * The writer appends to a buffer and inserts commas. It never reorders, so
 * equal calls give equal bytes (prompt caching depends on this). Bytes that are
 * not valid UTF-8 are written as U+FFFD, so the output is always valid JSON.
 * Overflow is recorded in the buffer: check out->overflow once at the end. */
#ifndef CH_JSON_WRITER_H
#define CH_JSON_WRITER_H
#include "base/buf.h"
#include "json/json.h"

struct ch_jw {
    struct ch_buf *out; /* borrowed */
    bool comma;         /* the next value or key needs a comma before it */
};

static inline struct ch_jw ch_jw(struct ch_buf *out) {
    return (struct ch_jw){.out = out};
}

void ch_jw_begin(struct ch_jw *w, char open); /* '{' or '[' */
void ch_jw_end(struct ch_jw *w, char close);  /* '}' or ']' */
void ch_jw_key(struct ch_jw *w, const char *key);
void ch_jw_key_sv(struct ch_jw *w, struct ch_sv key);
void ch_jw_str(struct ch_jw *w, struct ch_sv s);
void ch_jw_cstr(struct ch_jw *w, const char *s); /* NULL writes null */
void ch_jw_int(struct ch_jw *w, int64_t v);
/* Writes the shortest text that reads back equal; null if v is not finite. */
void ch_jw_double(struct ch_jw *w, double v);
void ch_jw_bool(struct ch_jw *w, bool v);
void ch_jw_null(struct ch_jw *w);
void ch_jw_raw(struct ch_jw *w, struct ch_sv json);         /* must be valid JSON */
void ch_jw_value(struct ch_jw *w, const struct ch_json *v); /* NULL writes null */

/* Key and value in one call. */
void ch_jw_kbegin(struct ch_jw *w, const char *key, char open);
void ch_jw_kstr(struct ch_jw *w, const char *key, struct ch_sv s);
void ch_jw_kcstr(struct ch_jw *w, const char *key, const char *s);
void ch_jw_kint(struct ch_jw *w, const char *key, int64_t v);
void ch_jw_kdouble(struct ch_jw *w, const char *key, double v);
void ch_jw_kbool(struct ch_jw *w, const char *key, bool v);
/* A time, in ms since the epoch, as "2026-07-28T12:00:00Z"; null: beyond all calendars. */
void ch_jw_ktime(struct ch_jw *w, const char *key, int64_t ms);
void ch_jw_kraw(struct ch_jw *w, const char *key, struct ch_sv json);
void ch_jw_kvalue(struct ch_jw *w, const char *key, const struct ch_json *v);

/* Append s as a JSON string, quotes included. */
void ch_json_quote(struct ch_buf *out, struct ch_sv s);
/* As ch_json_quote without the quotes: for text streamed in pieces. No piece
 * may end inside a character. */
void ch_json_escape(struct ch_buf *out, struct ch_sv s);
/* Append a value as a text for readers: the contents of a string, or the JSON of any other. */
void ch_json_add_text(struct ch_buf *out, const struct ch_json *v);

#endif
