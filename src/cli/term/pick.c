/* pick.c -- see pick.h. */
#include "cli/term/pick.h"

#include <stdio.h>
#include <string.h>

#include "cli/support/draft.h"
#include "cli/support/fuzzy.h"
#include "cli/support/mem.h"
#include "cli/term/term.h"

enum {
    LISTED = 12, /* items in the view */
    PREVIEW = 4, /* lines of the preview */
};

void ch_pick_init(struct ch_pick *p, const char *prompt) {
    *p = (struct ch_pick){.prompt = prompt};
}

void ch_pick_release(struct ch_pick *p) {
    for (size_t i = 0; i < p->n; i++) {
        free(p->items[i].id);
        free(p->items[i].title);
        free(p->items[i].facts);
        free(p->items[i].about);
    }
    free(p->items);
    free(p->shown);
    *p = (struct ch_pick){0};
}

void ch_pick_add(struct ch_pick *p, const char *id, const char *title, const char *facts) {
    p->items = ch_must(realloc(p->items, (p->n + 1) * sizeof(*p->items)));
    p->shown = ch_must(realloc(p->shown, (p->n + 1) * sizeof(*p->shown)));
    p->items[p->n++] = (struct ch_pick_item){
        .id = ch_dup(id), .title = ch_dup(title), .facts = facts ? ch_dup(facts) : NULL};
}

/* --- the filter ----------------------------------------------------------------------- */

/* A match in the title scores higher than one that needs the id and the facts. */
static int pick_score(const struct ch_pick *p, const struct ch_pick_item *item) {
    enum { TITLE = 100000 };
    int title = ch_fuzzy_score(p->query, item->title);
    if (title >= 0)
        return title + TITLE;
    char *all = ch_format("%s %s %s", item->title, item->id, item->facts ? item->facts : "");
    int score = ch_fuzzy_score(p->query, all);
    free(all);
    return score;
}

struct scored {
    size_t item;
    int score;
};

static int pick_by_score(const void *a, const void *b) {
    const struct scored *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return x->item < y->item ? -1 : x->item > y->item;
}

static void pick_match(struct ch_pick *p) {
    struct scored *list = ch_must(calloc(p->n + 1, sizeof(*list)));
    p->nshown = 0;
    for (size_t i = 0; i < p->n; i++) {
        int score = *p->query ? pick_score(p, &p->items[i]) : 0;
        if (score >= 0)
            list[p->nshown++] = (struct scored){i, score};
    }
    qsort(list, p->nshown, sizeof(*list), pick_by_score);
    for (size_t i = 0; i < p->nshown; i++)
        p->shown[i] = list[i].item;
    p->at = 0;
    free(list);
}

void ch_pick_filter(struct ch_pick *p, const char *query) {
    size_t n = strlen(query);
    if (n < sizeof(p->query))
        memcpy(p->query, query, n + 1);
    pick_match(p);
}

struct ch_pick_item *ch_pick_selected(const struct ch_pick *p) {
    return p->nshown > 0 ? &p->items[p->shown[p->at]] : NULL;
}

/* --- keys ------------------------------------------------------------------------------- */

static void pick_type(struct ch_pick *p, const char *text) {
    size_t n = strlen(p->query), more = strlen(text);
    if (*text == '\n' || *text == '\t' || n + more >= sizeof(p->query))
        return;
    memcpy(p->query + n, text, more + 1);
    pick_match(p);
}

static void pick_erase(struct ch_pick *p, bool all) {
    size_t n = strlen(p->query);
    while (n > 0 && ((unsigned char)p->query[n - 1] & 0xC0) == 0x80)
        n--;
    p->query[all || n == 0 ? 0 : n - 1] = '\0';
    pick_match(p);
}

static enum ch_pick_action pick_press(struct ch_pick *p, const struct ch_key *k) {
    switch (k->code) {
    case CH_KEY_TEXT:
        pick_type(p, k->text);
        break;
    case CH_KEY_BACKSPACE:
        pick_erase(p, false);
        break;
    case CH_KEY_KILL_BACK:
    case CH_KEY_KILL_WORD_BACK:
        pick_erase(p, true);
        break;
    case CH_KEY_UP:
    case CH_KEY_PREVIOUS:
        p->at -= p->at > 0;
        break;
    case CH_KEY_DOWN:
    case CH_KEY_NEXT:
        p->at += p->at + 1 < p->nshown;
        break;
    case CH_KEY_HOME:
        p->at = 0;
        break;
    case CH_KEY_END:
        p->at = p->nshown > 0 ? p->nshown - 1 : 0;
        break;
    case CH_KEY_ENTER:
        return p->nshown > 0 ? CH_PICK_CHOSEN : CH_PICK_NONE;
    case CH_KEY_ESCAPE:
    case CH_KEY_INTERRUPT:
    case CH_KEY_EOF:
        return CH_PICK_CANCELLED;
    default:
        break;
    }
    return CH_PICK_NONE;
}

size_t ch_pick_feed(struct ch_pick *p, const char *bytes, size_t n, enum ch_pick_action *action) {
    size_t i = 0;
    *action = CH_PICK_NONE;
    while (i < n && *action == CH_PICK_NONE) {
        struct ch_key k = ch_keys_feed(&p->keys, bytes[i++]);
        if (k.code != CH_KEY_NONE)
            *action = pick_press(p, &k);
    }
    return i;
}

enum ch_pick_action ch_pick_flush(struct ch_pick *p) {
    struct ch_key k = ch_keys_flush(&p->keys);
    return k.code == CH_KEY_NONE ? CH_PICK_NONE : pick_press(p, &k);
}

/* --- the view ----------------------------------------------------------------------------- */

static void pick_add_line(struct ch_edit_view *v, char *line) {
    v->lines = ch_must(realloc(v->lines, (v->n + 1) * sizeof(*v->lines)));
    v->lines[v->n++] = line;
}

/* One safe line that fits; the caller frees it. */
static char *pick_fit(const char *p, size_t n, unsigned columns) {
    char *line = ch_escape_whole(CH_ESCAPE_LINE, p, n, &n);
    line[ch_term_fit(line, n, columns)] = '\0';
    return line;
}

/* The facts are to the right; on a narrow screen the title is truncated, not the facts. */
static void pick_show_item(const struct ch_pick_item *item, bool selected, bool color,
                           unsigned columns, struct ch_edit_view *v) {
    const char *facts = item->facts ? item->facts : "";
    char *right = pick_fit(facts, strlen(facts), columns / 2);
    unsigned taken = ch_term_text_columns(right, strlen(right));
    unsigned room = columns > taken + 4 ? columns - taken - 4 : 1;
    char *left = pick_fit(item->title, strlen(item->title), room);
    unsigned pad = room - ch_term_text_columns(left, strlen(left));

    pick_add_line(v, ch_format("%s%s%s%s%*s  %s%s%s", selected ? "› " : "  ",
                               selected && color ? "\033[1m" : "", left,
                               selected && color ? "\033[0m" : "", taken ? (int)pad : 0, "",
                               color ? "\033[2m" : "", right, color ? "\033[0m" : ""));
    free(left);
    free(right);
}

static void pick_show_preview(struct ch_pick *p, bool color, unsigned columns,
                              struct ch_edit_view *v) {
    struct ch_pick_item *item = ch_pick_selected(p);
    if (item && !item->about && p->preview)
        p->preview(item, p->user);
    const char *text = item && item->about ? item->about : "";
    if (*text)
        pick_add_line(v, ch_dup(""));
    for (size_t i = 0; *text && i < PREVIEW; i++) {
        size_t n = strcspn(text, "\n");
        char *line = pick_fit(text, n, columns > 4 ? columns - 4 : 1);
        pick_add_line(v, ch_format("    %s%s%s", color ? "\033[2m" : "", line,
                                   color ? "\033[0m" : ""));
        free(line);
        text += n + (text[n] != '\0');
    }
}

void ch_pick_view(struct ch_pick *p, bool color, unsigned columns, size_t rows,
                  struct ch_edit_view *out) {
    *out = (struct ch_edit_view){0};
    size_t room = rows > PREVIEW + 4 ? rows - PREVIEW - 4 : 1;
    size_t most = room < LISTED ? room : LISTED;
    size_t first = p->at >= most ? p->at - most + 1 : 0;

    for (size_t i = first; i < p->nshown && i < first + most; i++)
        pick_show_item(&p->items[p->shown[i]], i == p->at, color, columns, out);
    if (p->nshown > most || p->nshown == 0)
        pick_add_line(out, ch_format("  %s%zu of %zu%s", color ? "\033[2m" : "", p->nshown, p->n,
                                     color ? "\033[0m" : ""));
    if (rows > PREVIEW + 4)
        pick_show_preview(p, color, columns, out);
    unsigned lead = (unsigned)strlen(p->prompt) + 3;
    char *query = pick_fit(p->query, strlen(p->query), columns > lead ? columns - lead - 1 : 1);
    pick_add_line(out, ch_format("%s > %s", p->prompt, query));
    out->row = out->n - 1;
    out->column = lead + ch_term_text_columns(query, strlen(query));
    free(query);
}
