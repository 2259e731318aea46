/* fuzz_html.c -- any bytes as a web page.
 *
 * Input: one byte of settings, then the page, whose encoding is found out as web_fetch does. The
 * text is UTF-8 and within its bound, and has
 * no NUL. */
#include <stdint.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "chela/sys/html.h"
#include "chela/sys/module.h"
#include "tool/builtin/web/charset.h"
#include "tool/builtin/web/html_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

/* The module is linked in, so that a fuzzer sees into it. */
extern const struct chela_module chela_module;

static void check(const struct ch_buf *text) {
    if (text->n > CH_LIMIT_HTML_TEXT || !ch_utf8_valid(ch_buf_sv(text)))
        abort();
    if (text->n && memchr(text->p, '\0', text->n))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    struct ch_html page = {0};
    struct chela_error err = {0};
    if (n < 1)
        return 0;
    struct ch_html_opts opts = {.url = CH_SV("https://example.com/a/b"), .markdown = p[0] & 1};
    CH_BUF_AUTO text = {0};
    ch_charset_decode(ch_sv((const char *)p + 1, n - 1), CH_SV("text/html"), &text);
    char *copy = ch_memdup(ch_buf_str(&text), text.n);
    if (ch_html_read(chela_module.ops, ch_sv(copy, text.n), &opts, &page, &err) < 0 &&
        !err.message[0])
        abort();
    check(&page.title);
    check(&page.text);
    ch_html_release(&page);
    ch_free(copy);
    return 0;
}
