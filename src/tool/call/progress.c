/* progress.c -- see progress.h.
 *
 * Lines wait in a lock-free list that any thread pushes to and the loop takes as a whole. A
 * thread that pushes to an empty list posts to the loop, so at most one post is pending and
 * the post needs no allocation. */
#include "tool/call/progress.h"

#include "base/entry.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "tool/result/sanitize.h"

struct ch_progress_line {
    struct ch_progress_line *next;
    size_t n;
    char text[];
};

/* Take all waiting lines, oldest first. */
static struct ch_progress_line *take_lines(chela_call *call) {
    struct ch_progress_line *newest = atomic_exchange(&call->lines, NULL), *oldest = NULL;

    while (newest) {
        struct ch_progress_line *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
        atomic_fetch_sub(&call->nlines, 1);
    }
    return oldest;
}

static void progress_deliver(struct ch_post *p) {
    chela_call *call = CH_CONTAINER(p, chela_call, progress_post);
    struct ch_progress_line *line = take_lines(call);

    ch_call_ref(call); /* the host may close the batch in its callback */
    while (line) {
        struct ch_progress_line *next = line->next;
        if (call->env && call->state == CH_CALL_RUNNING)
            call->env->progress(call, ch_sv(line->text, line->n));
        ch_free(line);
        line = next;
    }
    ch_call_unref(call);
}

void ch_progress_init(chela_call *call) {
    call->progress_post.fn = progress_deliver;
}

void ch_progress_drop(chela_call *call) {
    struct ch_progress_line *line = take_lines(call);

    while (line) {
        struct ch_progress_line *next = line->next;
        ch_free(line);
        line = next;
    }
}

static struct ch_progress_line *make_line(const char *text) {
    struct ch_sv cut = ch_utf8_cut(ch_sv_str(text), CH_LIMIT_PROGRESS_LINE);
    CH_BUF_AUTO clean = {0};

    ch_text_clean(&clean, cut);
    struct ch_progress_line *line = ch_malloc(sizeof(*line) + clean.n + 1);
    line->n = clean.n;
    for (size_t i = 0; i < clean.n; i++)
        line->text[i] = clean.p[i] == '\n' || clean.p[i] == '\r' ? ' ' : clean.p[i];
    line->text[clean.n] = '\0';
    return line;
}

void chela_call_progress(chela_call *call, const char *text) {
    CH_NEEDS_OR(call, NULL, );
    if (chela_call_cancelled(call))
        return;
    if (atomic_fetch_add(&call->nlines, 1) >= CH_LIMIT_PROGRESS_QUEUE) {
        atomic_fetch_sub(&call->nlines, 1);
        return;
    }
    struct ch_progress_line *line = make_line(text), *head = atomic_load(&call->lines);
    do
        line->next = head;
    while (!atomic_compare_exchange_weak(&call->lines, &head, line));
    if (!head) /* line may be freed by now */
        ch_gate_post(&call->gate, &call->progress_post);
}
