/* tags.h -- parses calls and reasoning from a model's plain text.
 *
 *     Let me look.
 *     <tool_call>{"name":"ls","arguments":{}}</tool_call>
 *     <scratchpad>no need to say more</scratchpad>
 *
 * Input is text in pieces of any size; output is text, reasoning and calls, independent of
 * the pieces: text that may become a tag is held back. A call counts once its closing tag
 * was read. A call begins a line, without indentation, or follows another tag. Elsewhere, and
 * in a list, a table, a quotation, a comment or code (quotation.h), a tag is plain text. */
#ifndef CH_MODEL_TAGS_H
#define CH_MODEL_TAGS_H
#include "base/buf.h"
#include "model/codec/quotation.h"

/* The name of reasoning that was parsed from tags. It arrived in the text, so no server
 * expects it in a reasoning member. */
#define CH_TAGS_REASONING "tags"

enum ch_tags_mode {
    CH_TAGS_THINK, /* reasoning at the very beginning; the rest is plain text */
    CH_TAGS_CALLS, /* reasoning and calls anywhere */
};

/* flags are those of a TOOL_CALL block: CUT, INVALID, REPAIRED. arguments is one JSON
 * object unless a flag says otherwise. */
struct ch_tagged_call {
    struct ch_sv name, arguments;
    unsigned flags;
};

/* Receives the output; no piece is empty. */
struct ch_tags_sink {
    void (*text)(struct ch_sv piece, void *user);
    void (*reasoning)(struct ch_sv piece, void *user);
    void (*call)(const struct ch_tagged_call *call, void *user);
};

struct ch_tags {
    const struct ch_tags_sink *sink;
    void *user;
    enum ch_tags_mode mode;
    int state;          /* enum in tags.c */
    const char *closer; /* closing tag of the open reasoning or call */
    struct ch_buf hold; /* text not yet classified */
    struct ch_buf space; /* white space that counts only if text follows */
    struct ch_sv pending; /* text of the current piece still to be emitted */
    size_t pending_space; /* bytes of white space after `pending` */
    struct ch_buf body; /* text of the open call */
    unsigned ncalls;
    bool skip_space;     /* skip white space after a tag */
    bool line_start;     /* only white space so far on this line */
    bool lead;           /* only white space and marks of lists and quotations on this line */
    struct ch_quotation quotation; /* state of the text so far */
    unsigned ticks;      /* number of backticks that opened `code` */
    char fence;          /* character of the code block's fence: ` or ~ */
    unsigned fence_n;
    bool itself;         /* the call's text includes its tags */
    bool json, in_string, escaped, after_fence, fenced; /* parser state inside the body */
    /* nesting depth of a call that ends with its JSON */
    unsigned depth;
};

void ch_tags_init(struct ch_tags *t, enum ch_tags_mode mode, const struct ch_tags_sink *sink,
                  void *user);
void ch_tags_release(struct ch_tags *t);
void ch_tags_feed(struct ch_tags *t, struct ch_sv piece);
/* End of input: text held back is emitted as text, an open call is flagged CUT. */
void ch_tags_end(struct ch_tags *t);

#endif
