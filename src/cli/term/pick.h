/* pick.h -- a list to choose from, as a pure state machine: bytes in, actions and a view
 * out.
 *
 * The list is filtered by the typed text (fuzzy.h). Like edit.h, the picker uses no terminal
 * and no clock: its owner feeds bytes and draws the view of ch_pick_view. */
#ifndef CH_CLI_PICK_H
#define CH_CLI_PICK_H
#include <stdbool.h>
#include <stddef.h>

#include "cli/term/edit.h"
#include "cli/term/keys.h"

enum ch_pick_action { CH_PICK_NONE, CH_PICK_CHOSEN, CH_PICK_CANCELLED };

struct ch_pick_item {
    char *id;    /* owned: the id by which the owner identifies the item */
    char *title; /* owned; not yet safe */
    char *facts; /* owned, may be NULL: a short text to the right of the title */
    char *about; /* owned, may be NULL: a preview, of several lines; set on demand */
};

struct ch_pick {
    struct ch_keys keys;
    const char *prompt;         /* borrowed: before the query, such as "resume" */
    struct ch_pick_item *items; /* owned */
    size_t n;
    size_t *shown; /* owned: indices of the items that match, best first */
    size_t nshown, at; /* at: the selected one */
    char query[128];
    /* Sets `about` of the item that is selected, if NULL; may be NULL. */
    void (*preview)(struct ch_pick_item *item, void *user);
    void *user;
};

void ch_pick_init(struct ch_pick *p, const char *prompt);
void ch_pick_release(struct ch_pick *p);
/* Add an item; the texts are copied, facts may be NULL. */
void ch_pick_add(struct ch_pick *p, const char *id, const char *title, const char *facts);
/* Filter by this query. Called once after the items were added. */
void ch_pick_filter(struct ch_pick *p, const char *query);

/* Consume bytes until an action is due; returns the number consumed. */
size_t ch_pick_feed(struct ch_pick *p, const char *bytes, size_t n, enum ch_pick_action *action);
/* No byte followed an ESC. */
enum ch_pick_action ch_pick_flush(struct ch_pick *p);
/* The selected item, borrowed; NULL: nothing matches. */
struct ch_pick_item *ch_pick_selected(const struct ch_pick *p);

/* The view: a window of the list, the preview, and the line of the query with the cursor;
 * at most `rows` lines. */
void ch_pick_view(struct ch_pick *p, bool color, unsigned columns, size_t rows,
                  struct ch_edit_view *out);

#endif
