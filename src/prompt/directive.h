/* directive.h -- what a model says to its channel inside of its words.
 *
 *   MEDIA:chart.png            a file or URL to attach, on a line of its own
 *   [[reply_to_current]]       quote the message that is being answered
 *   [[reply_to:ID]]            quote that one
 *   [[audio_as_voice]]         what is attached is a voice message
 *   __SILENT__                 alone on its line, and nothing else: say nothing
 *
 * All of them stand at the beginning of a line, after three blanks at most; two
 * in brackets may share a line with each other and with text that follows. They
 * are taken out of the text; elsewhere, and inside a fenced block of code, they
 * are text. The text comes in pieces cut anywhere and goes out as soon as it
 * cannot be part of a directive; where it was cut makes no difference. */
#ifndef CH_PROMPT_DIRECTIVE_H
#define CH_PROMPT_DIRECTIVE_H
#include "base/buf.h"
#include "base/limits.h"

#define CH_SILENT "__SILENT__"

struct ch_directives { /* zeroed: before the first piece */
    struct ch_buf text;  /* what is left to be shown, so far */
    struct ch_buf line;  /* held back: it may be a directive yet */
    struct ch_buf reply_to; /* an id; empty: none was named */
    bool reply_current;  /* the message that is being answered */
    bool voice;
    bool hushed;         /* the silent word was seen */
    struct ch_buf media; /* each ends with a NUL */
    size_t nmedia, refused; /* refused: beyond CH_LIMIT_REPLY_MEDIA */
    bool in_text;        /* the rest of the line is shown as it comes */
    bool stripped;       /* of this line something was taken */
    char fence;          /* '`' or '~' inside of a fenced block, else 0 */
    size_t fence_len;
};

/* More of the reply. What can be shown was appended to d->text. */
void ch_directives_feed(struct ch_directives *d, struct ch_sv piece);
/* The reply is complete: what was held back is decided about. */
void ch_directives_end(struct ch_directives *d);
void ch_directives_clear(struct ch_directives *d); /* for the next reply */
void ch_directives_release(struct ch_directives *d);

/* After the end: nothing is to be said, and that was meant. */
bool ch_directives_silent(const struct ch_directives *d);

#endif
