/* screen.h -- a terminal with a foot: text scrolls above, the foot stays below.
 *
 * The foot is a few lines that are drawn again and again (what is under way, the
 * status, the prompt). Text that is final goes above it and is never touched
 * again: it belongs to the terminal's own scrollback. Each change is one write,
 * so that nothing flickers, and lines that are as they were are not sent.
 *
 * Lines of the foot must be narrower than the terminal and safe; escape
 * sequences for style are the caller's own. */
#ifndef CH_CLI_SCREEN_H
#define CH_CLI_SCREEN_H
#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

#include "cli/support/draft.h"

struct ch_screen {
    int fd; /* borrowed */
    unsigned columns, rows;
    struct termios before; /* to be restored */
    bool raw;
    char **foot; /* owned: the lines that are on the screen */
    size_t n, row;   /* row, column: where the cursor is */
    unsigned column;
    struct ch_draft above; /* text that waits for the next drawing */
};

/* False: fd is no terminal that can do this. */
bool ch_screen_open(struct ch_screen *s, int fd);
/* The foot is taken away, the terminal is as it was. */
void ch_screen_close(struct ch_screen *s);
/* As close and open: while the program is stopped, for example. */
void ch_screen_leave(struct ch_screen *s);
void ch_screen_enter(struct ch_screen *s);

/* The terminal may have another size. */
void ch_screen_resize(struct ch_screen *s);
/* Begin anew on an empty screen (Ctrl-L). */
void ch_screen_wipe(struct ch_screen *s);

/* Text for above the foot, whole lines, safe; shown by the next ch_screen_draw. */
FILE *ch_screen_above(struct ch_screen *s);
/* Show what waits, and this foot; the cursor is left in one of its lines. */
void ch_screen_draw(struct ch_screen *s, char *const *lines, size_t n, size_t row,
                    unsigned column);

/* Columns of text that may hold sequences of style (ESC [ ... m). */
unsigned ch_screen_columns(const char *line);

#endif
