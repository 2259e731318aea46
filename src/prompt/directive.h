/* directive.h -- parses directives to the channel in a model's reply.
 *
 *     MEDIA:chart.png            a file or URL to attach, on a line of its own
 *     [[reply_to_current]]       quote the message that is being answered
 *     [[reply_to:ID]]            quote that message
 *     [[audio_as_voice]]         the attachment is a voice message
 *     __SILENT__                 the whole reply: say nothing. In a reply
 *                                with other text the word is removed, except in code
 *     HEARTBEAT_OK               the same: the answer of an agent that was woken up and has
 *                                nothing to say
 *
 * A directive stands at the beginning of a line, after at most three blanks; directives in
 * brackets may share a line with each other and with following text. Directives are removed
 * from the text; elsewhere, and inside a fenced code block, they are plain text. Input may
 * be split anywhere; text is emitted as soon as it cannot be part of a directive. The
 * splits do not affect the result. */
#ifndef CH_PROMPT_DIRECTIVE_H
#define CH_PROMPT_DIRECTIVE_H
#include "base/buf.h"
#include "base/limits.h"

#define CH_SILENT "__SILENT__"
/* The reply of a wake that means: nothing needs attention. */
#define CH_WAKE_OK "HEARTBEAT_OK"

struct ch_directives { /* zeroed: before the first piece */
    struct ch_buf text;  /* text to show, so far */
    struct ch_buf line;  /* held back, because it may become a directive */
    struct ch_buf reply_to; /* an id; empty: none given */
    bool reply_current;  /* quote the message that is being answered */
    bool voice;
    struct ch_buf word;  /* end of the text that may become a word of silence, held back */
    bool hushed;         /* a word of silence was seen */
    struct ch_buf media; /* each ends with a NUL */
    size_t nmedia, refused; /* refused: number beyond CH_LIMIT_REPLY_MEDIA */
    bool in_text;        /* the rest of the line is emitted directly */
    bool stripped;       /* a directive was removed from this line */
    char fence;          /* '`' or '~' inside of a fenced block, else 0 */
    size_t fence_len;
};

/* Add a piece of the reply. Text that can be shown is appended to d->text. */
void ch_directives_feed(struct ch_directives *d, struct ch_sv piece);
/* The reply is complete: text held back is classified. */
void ch_directives_end(struct ch_directives *d);
void ch_directives_clear(struct ch_directives *d); /* reset for the next reply */
void ch_directives_release(struct ch_directives *d);

/* After the end: true if the reply is intentionally silent. */
bool ch_directives_silent(const struct ch_directives *d);

#endif
