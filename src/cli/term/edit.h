/* edit.h -- a line editor as a pure machine: bytes in, actions and a picture out.
 *
 * The text may have several lines. Alt-Enter, Ctrl-J and a backslash before
 * Enter break it; what is pasted never ends it. It knows no terminal, no files
 * and no clock: who owns those feeds it, acts on what it returns and draws what
 * ch_edit_view says. The text is UTF-8 at any time. */
#ifndef CH_CLI_EDIT_H
#define CH_CLI_EDIT_H
#include <stdbool.h>
#include <stddef.h>

#include "cli/term/history.h"
#include "cli/term/keys.h"

enum { CH_EDIT_MAX = 1 << 20 }; /* bytes of text; more is not taken */

enum ch_edit_action {
    CH_EDIT_NONE,
    CH_EDIT_SUBMIT,    /* take the text */
    CH_EDIT_COMPLETE,  /* Tab: call ch_edit_complete */
    CH_EDIT_INTERRUPT, /* Ctrl-C */
    CH_EDIT_EOF,       /* Ctrl-D at an empty prompt */
    CH_EDIT_ESCAPE,
    CH_EDIT_UNFOLD,
    CH_EDIT_REDRAW,
    CH_EDIT_SUSPEND,
};

struct ch_edit {
    struct ch_keys keys;
    char *text; /* owned, NUL-terminated */
    size_t n, cap, at;
    char *killed;              /* owned: what Ctrl-Y brings back; NULL */
    bool killing;              /* the last key killed: the next adds to it */
    struct ch_history *history; /* borrowed; may be NULL */
    size_t past;                /* entries back from now; 0: the text is new */
    char *draft;                /* owned: the new text while an old one is shown */
    bool searching;
    char query[128];
    bool missing; /* the query is nowhere */
    char *hint;   /* owned: what could be completed, one line; NULL */
};

void ch_edit_init(struct ch_edit *e, struct ch_history *history);
void ch_edit_release(struct ch_edit *e);

/* Use up bytes until something is to be done; how many were used. */
size_t ch_edit_feed(struct ch_edit *e, const char *p, size_t n, enum ch_edit_action *action);
/* Nothing followed an ESC. */
enum ch_edit_action ch_edit_flush(struct ch_edit *e);

/* The text, handed over; the editor is empty then. */
char *ch_edit_take(struct ch_edit *e);
void ch_edit_set(struct ch_edit *e, const char *text);

/* The words that could stand from byte `from` of the text to the cursor: one
 * takes its place, of several what they have in common, and they are shown. */
void ch_edit_complete(struct ch_edit *e, size_t from, char *const *words, size_t n);

/* What to draw: lines that are safe for a terminal and no wider than asked,
 * at most `rows` of them, around the cursor. */
struct ch_edit_view {
    char **lines; /* owned, and each of them */
    size_t n;
    size_t row;      /* of the cursor, from 0 */
    unsigned column; /* likewise */
};
void ch_edit_view(const struct ch_edit *e, const char *prompt, unsigned columns, size_t rows,
                  struct ch_edit_view *out);

#endif
