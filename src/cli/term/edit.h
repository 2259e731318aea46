/* edit.h -- a line editor as a pure state machine: bytes in, actions and a view out.
 *
 * The text may have several lines. Alt-Enter, Ctrl-J and a backslash before Enter insert a
 * line break; pasted text never submits. The editor uses no terminal, no files and no
 * clock: its owner feeds bytes, performs the returned actions and draws the view of
 * ch_edit_view. The text is always valid UTF-8. */
#ifndef CH_CLI_EDIT_H
#define CH_CLI_EDIT_H
#include <stdbool.h>
#include <stddef.h>

#include "cli/term/history.h"
#include "cli/term/keys.h"

enum { CH_EDIT_MAX = 1 << 20 }; /* bytes of text beyond which keys insert nothing */

enum ch_edit_action {
    CH_EDIT_NONE,
    CH_EDIT_SUBMIT,    /* take the text with ch_edit_take */
    CH_EDIT_COMPLETE,  /* Tab: call ch_edit_complete */
    CH_EDIT_INTERRUPT, /* Ctrl-C */
    CH_EDIT_EOF,       /* Ctrl-D at an empty prompt */
    CH_EDIT_ESCAPE,
    CH_EDIT_UNFOLD,
    CH_EDIT_REDRAW,
    CH_EDIT_SUSPEND,
    CH_EDIT_EDITOR,    /* Ctrl-G */
    CH_EDIT_CLIPBOARD, /* Ctrl-V */
    CH_EDIT_PASTED,    /* the text from byte pasted_from to the cursor was pasted */
};

struct ch_edit {
    struct ch_keys keys;
    char *text; /* owned, NUL-terminated */
    size_t n, cap, at;
    char *killed;              /* owned: text for Ctrl-Y; NULL: none */
    bool killing;              /* the last key killed text: the next kill appends */
    struct ch_history *history; /* borrowed; may be NULL */
    size_t history_at;          /* position in the history; 0: the new text */
    char *draft;                /* owned: the new text while an old one is shown */
    bool searching;
    char query[128];
    bool missing; /* the query has no match */
    size_t pasted_from;
    size_t lost_bytes; /* bytes that did not fit, since the last paste began */
    char *hint;   /* owned: possible completions, one line; NULL: none */
};

void ch_edit_init(struct ch_edit *e, struct ch_history *history);
void ch_edit_release(struct ch_edit *e);

/* Consume bytes until an action is due; returns the number consumed. */
size_t ch_edit_feed(struct ch_edit *e, const char *p, size_t n, enum ch_edit_action *action);
/* No byte followed an ESC. */
enum ch_edit_action ch_edit_flush(struct ch_edit *e);

/* Take ownership of the text; the editor is then empty. */
char *ch_edit_take(struct ch_edit *e);
/* Replace the whole text. CH_EDIT_MAX does not hold for texts that are not typed. */
void ch_edit_set(struct ch_edit *e, const char *text);
/* Replace the bytes from `from` to `to` by a text; the cursor is placed after the text. */
void ch_edit_replace(struct ch_edit *e, size_t from, size_t to, const char *text);

/* Complete the text from byte `from` to the cursor: a single word is inserted; of several
 * words the common prefix is inserted and the words are shown. */
void ch_edit_complete(struct ch_edit *e, size_t from, char *const *words, size_t n);

/* The view: lines that are safe for a terminal and not wider than requested, at most `rows`
 * around the cursor. */
struct ch_edit_view {
    char **lines; /* owned, and each of them */
    size_t n;
    size_t row;      /* row of the cursor, from 0 */
    unsigned column; /* column of the cursor, from 0 */
};
void ch_edit_view(const struct ch_edit *e, const char *prompt, unsigned columns, size_t rows,
                  struct ch_edit_view *out);

#endif
