/* findings.h -- the sources that a reply cites and the calls that the vendor's own tools
 * made for it, in one form for all vendors.
 *
 * Both are read from the stored message, so a reply of an old session is read the same way
 * as a new one. Positions count Unicode characters in the text of the reply, the
 * concatenation of its TEXT blocks. */
#ifndef CH_MODEL_FINDINGS_H
#define CH_MODEL_FINDINGS_H
#include "base/arena.h"
#include "base/buf.h"
#include "model/message/message.h"

struct ch_json;

struct ch_citation {
    struct ch_sv url, title;
    struct ch_sv text; /* the passage of the source */
    struct ch_sv file; /* id of a file at the vendor */
    int64_t start, end; /* characters of the reply's text; end 0: no passage is marked */
};

/* A call that the vendor ran. Nothing here was run by chela. */
struct ch_server_call {
    struct ch_sv id, name;
    struct ch_sv arguments; /* JSON object */
    struct ch_sv result;    /* text for people; empty: none was reported */
};

/* A zeroed struct is empty; model/wire/reply_findings.h fills it. */
struct ch_findings {
    struct ch_arena arena;
    struct ch_buf citations; /* struct ch_citation[] */
    struct ch_buf calls;     /* struct ch_server_call[] */
    const struct ch_msg *msg;
    int64_t begin, end; /* position of the block being read */
};

void ch_findings_release(struct ch_findings *f);

size_t ch_findings_ncalls(const struct ch_findings *f);
const struct ch_server_call *ch_findings_call_at(const struct ch_findings *f, size_t i);
/* Append the citations as a JSON array of {"url","title","text","file","start","end"};
 * nothing if there are none. Absent members are left out. */
void ch_findings_write(const struct ch_findings *f, struct ch_buf *out);

/* --- for codecs */

/* Add a citation; texts are copied. A repeated citation and those past CH_LIMIT_CITATIONS
 * are dropped. */
void ch_findings_cite(struct ch_findings *f, const struct ch_citation *c);
/* Set the arguments (NULL: {}) of the call `id`, adding it if necessary. */
void ch_findings_call(struct ch_findings *f, struct ch_sv id, struct ch_sv name,
                      const struct ch_json *arguments);
void ch_findings_call_json(struct ch_findings *f, struct ch_sv id, struct ch_sv name,
                           struct ch_sv arguments);
/* Set the result of the call `id`, or of the last call if id is empty. A value that is no
 * string is written as JSON. */
void ch_findings_result(struct ch_findings *f, struct ch_sv id, const struct ch_json *result);
void ch_findings_result_text(struct ch_findings *f, struct ch_sv id, struct ch_sv text);
/* Number of characters of a text. */
int64_t ch_findings_chars(struct ch_sv s);
/* The position of the byte `at` in the reply's text; 0 past CH_LIMIT_CITED_REPLY, because the
 * text is counted for each position. */
int64_t ch_findings_position(const struct ch_findings *f, int64_t at);

#endif
