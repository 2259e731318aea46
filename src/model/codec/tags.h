/* tags.h -- reading calls and thoughts out of a model's plain text.
 *
 *   Let me look. <tool_call>{"name":"ls","arguments":{}}</tool_call>
 *   <scratchpad>no need to say more</scratchpad>
 *
 * Text goes in, in any pieces; text, thoughts and calls come out, the same ones
 * whatever the pieces were: what may yet become a tag is held back. A call is a
 * call when its closing tag was read. In a code block, in `code`, in prose that
 * speaks of a tag, a tag is text. */
#ifndef CH_MODEL_TAGS_H
#define CH_MODEL_TAGS_H
#include "base/buf.h"

/* The name of reasoning that was read from tags: it came in the text, and no
 * server wants it back in another place. */
#define CH_TAGS_REASONING "tags"

enum ch_tags_mode {
    CH_TAGS_THINK, /* thoughts at the very beginning; what follows is text, as it is */
    CH_TAGS_CALLS, /* thoughts and calls, anywhere */
};

/* flags are those of a TOOL_CALL block: CUT, INVALID, REPAIRED. Arguments are
 * one JSON object unless a flag says otherwise. */
struct ch_tagged_call {
    struct ch_sv name, arguments;
    unsigned flags;
};

/* Where it comes out; no piece is empty. */
struct ch_tags_sink {
    void (*text)(struct ch_sv piece, void *user);
    void (*reasoning)(struct ch_sv piece, void *user);
    void (*call)(const struct ch_tagged_call *call, void *user);
};

struct ch_tags {
    const struct ch_tags_sink *sink;
    void *user;
    enum ch_tags_mode mode;
    int state;          /* tags.c */
    const char *closer; /* of the thought or call that is open */
    struct ch_buf hold; /* read, and not yet decided about */
    struct ch_buf space; /* white space that only counts if text follows */
    struct ch_sv said;   /* of the piece being read: text that is yet to be put out */
    size_t after;        /* bytes of white space that follow it there */
    struct ch_buf body; /* of the call that is open */
    unsigned ncalls;
    bool skip_space;     /* after a tag */
    bool line_start;     /* nothing but white space on this line */
    unsigned ticks;      /* inside `code`: how many backticks began it */
    char fence;          /* of the code block: ` or ~ */
    unsigned fence_n;
    bool itself;         /* the call includes its tags */
    bool json, in_string, escaped, after_fence, fenced; /* where in its body */
    unsigned depth;                                     /* of a call that ends with its JSON */
};

void ch_tags_init(struct ch_tags *t, enum ch_tags_mode mode, const struct ch_tags_sink *sink,
                  void *user);
void ch_tags_release(struct ch_tags *t);
void ch_tags_feed(struct ch_tags *t, struct ch_sv piece);
/* There is no more: what was held back is text, an open call is cut. */
void ch_tags_end(struct ch_tags *t);

#endif
