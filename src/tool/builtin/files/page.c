/* page.c -- see page.h. */
#include "tool/builtin/files/page.h"

#include "base/utf8.h"

void ch_page_init(struct ch_page *p, struct ch_shape_room room, uint64_t notes) {
    *p = (struct ch_page){.left = ch_room_less(room, notes)};
}

void ch_page_release(struct ch_page *p) {
    ch_buf_release(&p->text);
}

static bool page_is_control(char c) {
    return ((unsigned char)c < 0x20 && c != '\t') || c == 0x7f;
}

bool ch_page_add(struct ch_page *p, struct ch_sv line) {
    size_t from = p->text.n;

    ch_utf8_add_valid(&p->text, line);
    for (size_t i = from; i < p->text.n; i++)
        if (page_is_control(p->text.p[i]))
            p->text.p[i] = '?';
    ch_buf_addc(&p->text, '\n');
    struct ch_shape_room size = ch_room_needed(ch_sv(p->text.p + from, p->text.n - from));
    if (p->full || !ch_room_holds(p->left, size)) {
        p->full = true;
        p->text.n = from;
        p->text.p[from] = '\0';
        return false;
    }
    p->left.chars -= size.chars;
    if (p->left.cost != UINT64_MAX)
        p->left.cost -= size.cost;
    return true;
}
