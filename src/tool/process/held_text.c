/* held_text.c -- see held_text.h. */
#include "tool/process/held_text.h"

#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "tool/result/display.h"

#define PATH_SHOWN 200 /* bytes of the path of a directory that was not searched */

static void add_held(const struct ch_held *h, const char *workspace, struct ch_buf *out) {
    size_t n = strlen(workspace);
    bool at_top = strcmp(h->dir, workspace) == 0;
    bool inside = strncmp(h->dir, workspace, n) == 0 && h->dir[n] == '/';

    ch_buf_addc(out, '[');
    if (!at_top) {
        ch_display_add(out, ch_sv_str(inside ? h->dir + n + 1 : h->dir), CH_DISPLAY_LINE);
        ch_buf_addc(out, '/');
    }
    ch_display_add(out, ch_sv_str(h->name), CH_DISPLAY_LINE);
    if (h->now) {
        ch_buf_add_str(out, " was set aside as ");
        ch_display_add(out, ch_sv_str(h->now), CH_DISPLAY_LINE);
        ch_buf_add_str(out, ": ");
    } else {
        ch_buf_add_str(out, " could not be set aside and is still there: ");
    }
    ch_display_add(out, ch_sv_str(h->why), CH_DISPLAY_LINE);
    ch_buf_add_str(out, "]\n");
}

/* Files that are still there come first. */
void ch_held_text(const struct ch_held_list *list, const char *workspace, struct ch_buf *out) {
    size_t shown = 0;

    for (int aside = 0; aside < 2; aside++)
        for (size_t i = 0; list && i < list->n && shown < CH_LIMIT_HELD_SHOWN; i++)
            if ((list->v[i].now != NULL) == aside) {
                add_held(&list->v[i], workspace, out);
                shown++;
            }
    if (list && list->n > shown)
        ch_buf_addf(out, "[%zu more files were set aside in the same way, as NAME.held]\n",
                    list->n - shown);
    if (list && list->more)
        ch_buf_addf(out,
                    "[%zu further files were set aside as NAME.held, and stay there: only %d can "
                    "be put back]\n",
                    list->more, CH_LIMIT_HELD);
    if (list && list->unsearched) {
        ch_buf_addc(out, '[');
        ch_display_add(out, ch_sv(list->unsearched, strnlen(list->unsearched, PATH_SHOWN)),
                       CH_DISPLAY_LINE);
        ch_buf_addf(out,
                    " could not be searched for files that others execute: %s. No further command "
                    "runs here until a person removes the directory or makes it readable]\n",
                    list->unsearched_error == E2BIG ? "too many directories"
                                                    : strerror(list->unsearched_error));
    }
}
