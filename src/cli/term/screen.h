/* screen.h -- a terminal with a foot: text scrolls above, the foot stays at the bottom.
 *
 * The foot is a few lines that are redrawn (activity, status, prompt). Final text goes
 * above the foot and is never changed again: it belongs to the terminal's scrollback. Each
 * update is one write, which avoids flicker, and unchanged lines are not sent.
 *
 * Lines of the foot must be safe and narrower than the terminal; style sequences are the
 * caller's. */
#ifndef CH_CLI_SCREEN_H
#define CH_CLI_SCREEN_H
#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

#include "cli/support/draft.h"

struct ch_screen {
    int fd; /* borrowed */
    unsigned columns, rows;
    struct termios before; /* terminal settings to restore */
    bool raw;
    char **foot; /* owned: the lines on the screen */
    size_t n, row;   /* row, column: cursor position */
    unsigned column;
    struct ch_draft above; /* text to be written by the next draw */
};

/* False: fd is no suitable terminal. */
bool ch_screen_open(struct ch_screen *s, int fd);
/* Remove the foot and restore the terminal. */
void ch_screen_close(struct ch_screen *s);
/* Like close and open, for example while the program is stopped. */
void ch_screen_leave(struct ch_screen *s);
void ch_screen_enter(struct ch_screen *s);

/* The terminal size may have changed. */
void ch_screen_resize(struct ch_screen *s);
/* Clear the screen and redraw (Ctrl-L). */
void ch_screen_wipe(struct ch_screen *s);

/* Stream for text above the foot: whole lines, safe; shown by the next ch_screen_draw. */
FILE *ch_screen_above(struct ch_screen *s);
/* Write the pending text and draw this foot; the cursor is placed in one of its lines. */
void ch_screen_draw(struct ch_screen *s, char *const *lines, size_t n, size_t row,
                    unsigned column);

/* Width of text that may contain style sequences (ESC [ ... m). */
unsigned ch_screen_columns(const char *line);

#endif
