/* console.c -- GET /: the web console, one page inside the library.
 *
 * The files of console/ lie one behind the other, so that the page is a single
 * stretch of memory and is sent as it is. It holds no data and asks for the
 * token, hence it is open to everybody; all it shows comes through the other
 * routes. Its style and script are named to the browser by their digests:
 * nothing else that finds its way into the page is run, and nothing is loaded
 * from or sent to anywhere but here. The paths are relative to where make runs. */
#include "base/base64.h"
#include "gateway/http/routes.h"

#define LABEL(symbol) ".global " symbol "\n.hidden " symbol "\n" symbol ":\n"
#define TAKE(name) ".incbin \"src/gateway/http/console/" name "\"\n"

__asm__(".pushsection .rodata\n"
        LABEL("ch_console_page") TAKE("head.html")
        ".ascii \"<style>\"\n"
        LABEL("ch_console_style") TAKE("style.css")
        LABEL("ch_console_style_end")
        ".ascii \"</style>\\n\"\n"
        TAKE("body.html")
        ".ascii \"<script>\"\n"
        LABEL("ch_console_script")
        TAKE("words.js") TAKE("dom.js") TAKE("jsontext.js") TAKE("markdown.js") TAKE("api.js")
        TAKE("human.js") TAKE("chat.js") TAKE("timeline.js") TAKE("log.js") TAKE("usage.js")
        TAKE("app.js")
        LABEL("ch_console_script_end")
        ".ascii \"</script>\\n\"\n"
        LABEL("ch_console_page_end")
        ".byte 0\n"
        ".popsection\n");

extern const char ch_console_page[], ch_console_page_end[];
extern const char ch_console_style[], ch_console_style_end[];
extern const char ch_console_script[], ch_console_script_end[];

static struct ch_sv between(const char *from, const char *to) {
    return ch_sv(from, (size_t)(to - from));
}

static void add_digest(struct ch_buf *out, struct ch_sv text) {
    unsigned char digest[CH_SHA256_SIZE];
    ch_sha256_of(text, digest);
    ch_buf_add_str(out, "'sha256-");
    ch_base64_add(out, ch_sv((const char *)digest, sizeof(digest)));
    ch_buf_addc(out, '\'');
}

/* data: is for the icon and for pictures that a user posted. */
static void add_policy(struct ch_buf *out) {
    ch_buf_add_str(out, "default-src 'none'; connect-src 'self'; img-src data:; script-src ");
    add_digest(out, between(ch_console_script, ch_console_script_end));
    ch_buf_add_str(out, "; style-src ");
    add_digest(out, between(ch_console_style, ch_console_style_end));
    ch_buf_add_str(out, "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
                        "; require-trusted-types-for 'script'; trusted-types 'none'");
}

void ch_console(struct ch_visit *v) {
    CH_BUF_AUTO policy = {0};
    add_policy(&policy);
    ch_visit_header(v, "Content-Security-Policy", ch_buf_str(&policy));
    ch_visit_header(v, "X-Frame-Options", "DENY");
    ch_visit_header(v, "Referrer-Policy", "no-referrer");
    ch_visit_header(v, "Cross-Origin-Opener-Policy", "same-origin");
    ch_visit_text(v, 200, "text/html; charset=utf-8",
                  between(ch_console_page, ch_console_page_end));
}
