/* assemble.c -- see assemble.h. */
#include "prompt/assemble.h"

#include <assert.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "prompt/tokens.h"

static const char missing[] = "\n[the rest is left out: there is no room for it]";

struct ch_budget ch_budget_split(size_t window, unsigned system_percent, unsigned output_percent) {
    return (struct ch_budget){.system = window / 100 * system_percent,
                              .output = window / 100 * output_percent};
}

/* --- shortening ------------------------------------------------------------------------ */

/* The longest prefix of at most `tokens` tokens, by bisection. It ends at a line end, unless
 * that would drop half of it. */
static struct ch_sv beginning(struct ch_sv text, size_t tokens) {
    size_t low = 0, high = text.n;
    while (low < high) {
        size_t mid = low + (high - low + 1) / 2;
        if (ch_tokens(ch_sv(text.p, mid)) <= tokens)
            low = mid;
        else
            high = mid - 1;
    }
    struct ch_sv cut = ch_utf8_cut(text, low);
    const char *line = cut.n ? memrchr(cut.p, '\n', cut.n) : NULL;
    if (line && (size_t)(line - cut.p) > cut.n / 2)
        cut.n = (size_t)(line - cut.p);
    return cut;
}

static bool may_cut(const struct ch_layer *l) {
    return l->compressible && l->kind != CH_LAYER_CONSTRAINTS && l->kept > CH_LIMIT_LAYER_LEAST;
}

static void cut_to(struct ch_layer *l, size_t tokens) {
    if (may_cut(l) && tokens < l->kept)
        l->kept = CH_MAX(tokens, CH_LIMIT_LAYER_LEAST);
}

static struct ch_layer *lowest(struct ch_layer *layers, size_t n) {
    struct ch_layer *least = NULL;
    for (size_t i = 0; i < n; i++)
        if (may_cut(&layers[i]) && (!least || layers[i].priority < least->priority))
            least = &layers[i];
    return least;
}

static size_t assemble_sum(const struct ch_layer *layers, size_t n) {
    size_t tokens = 0;
    for (size_t i = 0; i < n; i++)
        tokens += layers[i].kept;
    return tokens;
}

static void add_text(const struct ch_layer *l, struct ch_buf *out) {
    if (l->kept == l->tokens) {
        ch_buf_add_sv(out, l->text);
        return;
    }
    size_t note = ch_tokens(ch_sv_str(missing)) + ch_tokens(l->end);
    ch_buf_add_sv(out, beginning(l->text, l->kept - CH_MIN(l->kept, note)));
    ch_buf_add_str(out, missing);
    ch_buf_add_sv(out, l->end);
}

static void add_layer(struct ch_layer *l, struct ch_buf *out) {
    if (out->n)
        ch_buf_add_str(out, out->p[out->n - 1] == '\n' ? "\n" : "\n\n");
    l->at = out->n;
    add_text(l, out);
    l->size = out->n - l->at;
}

/* --- all layers --------------------------------------------------------------------------- */

/* True if the layers fit whatever their text is. Most system prompts do, and counting their
 * tokens would take a third of the time of their assembly. */
static bool fit_by_size(struct ch_layer *layers, size_t n, size_t budget) {
    size_t most = 0;
    for (size_t i = 0; i < n; i++) {
        struct ch_layer *l = &layers[i];
        l->kept = l->tokens = l->text.n * CH_TOKENS_A_BYTE;
        if (l->cap && l->tokens > l->cap)
            return false;
        most += l->tokens;
    }
    return !budget || most <= budget;
}

static void assemble_count(struct ch_layer *layers, size_t n) {
    for (size_t i = 0; i < n; i++) {
        layers[i].kept = layers[i].tokens = ch_tokens(layers[i].text);
        if (layers[i].cap)
            cut_to(&layers[i], layers[i].cap);
    }
}

size_t ch_assemble(struct ch_layer *layers, size_t n, size_t budget, struct ch_buf *out) {
    assert(n <= CH_LIMIT_LAYERS);
    if (!fit_by_size(layers, n, budget))
        assemble_count(layers, n);
    size_t used = assemble_sum(layers, n);
    for (struct ch_layer *l; budget && used > budget && (l = lowest(layers, n));) {
        size_t over = used - budget;
        cut_to(l, l->kept > over ? l->kept - over : 0);
        used = assemble_sum(layers, n);
    }
    for (enum ch_layer_kind k = CH_LAYER_SYSTEM; k <= CH_LAYER_CONSTRAINTS; k++)
        for (size_t i = 0; i < n; i++)
            if (layers[i].kind == k && layers[i].text.n)
                add_layer(&layers[i], out);
    return budget && used > budget ? used - budget : 0;
}

void ch_assemble_report(const struct ch_layer *layers, size_t n, struct ch_buf *out) {
    for (size_t i = 0; i < n; i++)
        if (layers[i].kept < layers[i].tokens)
            ch_buf_addf(out, "%s%s (%zu of %zu tokens)", out->n ? ", " : "", layers[i].name,
                        layers[i].kept, layers[i].tokens);
}
