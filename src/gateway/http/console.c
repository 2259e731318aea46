/* console.c -- GET /: the web console, one page inside the library.
 *
 * The assembler concatenates the files of console/ into one page, which is sent as it is.
 * The page needs no token to load: it holds no data, asks the user for the token, and gets
 * everything it shows from the other routes. Its content security policy allows only its own
 * style and script, named by their digests, and only connections to this gateway. The paths
 * below are relative to the directory that make runs in. */
#include "gateway/http/console.h"

#include "base/base64.h"
#include "gateway/request/request.h"

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

static struct ch_sv console_part(const char *from, const char *to) {
    return ch_sv(from, (size_t)(to - from));
}

static void console_add_digest(struct ch_buf *out, struct ch_sv text) {
    unsigned char digest[CH_SHA256_SIZE];
    ch_sha256_of(text, digest);
    ch_buf_add_str(out, "'sha256-");
    ch_base64_add(out, ch_sv((const char *)digest, sizeof(digest)));
    ch_buf_addc(out, '\'');
}

/* data: is for the icon and for pictures that users posted. */
static void add_policy(struct ch_buf *out) {
    ch_buf_add_str(out, "default-src 'none'; connect-src 'self'; img-src data:; script-src ");
    console_add_digest(out, console_part(ch_console_script, ch_console_script_end));
    ch_buf_add_str(out, "; style-src ");
    console_add_digest(out, console_part(ch_console_style, ch_console_style_end));
    ch_buf_add_str(out, "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
                        "; require-trusted-types-for 'script'; trusted-types 'none'");
}

void ch_console(struct ch_request *req) {
    CH_BUF_AUTO policy = {0};
    add_policy(&policy);
    ch_request_add_header(req, "Content-Security-Policy", ch_buf_str(&policy));
    ch_request_add_header(req, "X-Frame-Options", "DENY");
    ch_request_add_header(req, "Referrer-Policy", "no-referrer");
    ch_request_add_header(req, "Cross-Origin-Opener-Policy", "same-origin");
    ch_request_respond(req, 200, "text/html; charset=utf-8",
                       console_part(ch_console_page, ch_console_page_end));
}
