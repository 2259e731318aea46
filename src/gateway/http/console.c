/* console.c -- GET / and GET /console/NAME: the web console, inside the library.
 *
 * The assembler includes the files of console/, which are sent as they are. The files need no
 * token to load: they hold no data. The page asks the user for the token and gets everything
 * that it shows from the other routes. Its content security policy allows scripts and styles
 * of this gateway only, which serves no other ones, and connections to this gateway only.
 * console/endings.js is written from the catalogue of ending.h, so that the page says the same
 * sentences as the other faces, in its own language.
 * The paths below are relative to the directory that make runs in. */
#include "gateway/http/console.h"

#include "agent/machine/ending.h"
#include "gateway/request/request.h"

#define SCRIPT(X, name) X(name, #name ".js", "text/javascript; charset=utf-8")
#define FILES(X)                                                                                   \
    X(page, "page.html", "text/html; charset=utf-8")                                               \
    X(style, "style.css", "text/css; charset=utf-8")                                               \
    SCRIPT(X, api)                                                                                 \
    SCRIPT(X, app)                                                                                 \
    SCRIPT(X, attach)                                                                              \
    SCRIPT(X, chat)                                                                                \
    SCRIPT(X, content)                                                                             \
    SCRIPT(X, dom)                                                                                 \
    SCRIPT(X, highlight)                                                                           \
    SCRIPT(X, human)                                                                               \
    SCRIPT(X, jsontext)                                                                            \
    SCRIPT(X, log)                                                                                 \
    SCRIPT(X, manage)                                                                              \
    SCRIPT(X, markdown)                                                                            \
    SCRIPT(X, operate)                                                                             \
    SCRIPT(X, plot)                                                                                \
    SCRIPT(X, request)                                                                             \
    SCRIPT(X, session)                                                                             \
    SCRIPT(X, timeline)                                                                            \
    SCRIPT(X, usage)                                                                               \
    SCRIPT(X, words)                                                                               \
    SCRIPT(X, words_zh)

#define LABEL(symbol) ".global " symbol "\n.hidden " symbol "\n" symbol ":\n"
#define INCLUDE(name, file, type)                                                                  \
    LABEL("ch_console_" #name)                                                                     \
    ".incbin \"src/gateway/http/console/" file "\"\n" LABEL("ch_console_" #name "_end") ".byte 0\n"

__asm__(".pushsection .rodata\n" FILES(INCLUDE) ".popsection\n");

#define DECLARE(name, file, type)                                                                  \
    extern const char ch_console_##name[], ch_console_##name##_end[];
FILES(DECLARE)

#define ROW(name, file, type) {file, type, ch_console_##name, ch_console_##name##_end},
static const struct console_file {
    const char *name, *type, *from, *to;
} files[] = {FILES(ROW)};

/* data: and blob: are for the icon and for media of a conversation. */
static const char policy[] =
    "default-src 'none'; connect-src 'self'; img-src data: blob:; media-src data: blob:; "
    "script-src 'self'; style-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

static void console_respond(struct ch_request *req, const char *type, struct ch_sv body) {
    ch_request_add_header(req, "Content-Security-Policy", policy);
    ch_request_add_header(req, "X-Frame-Options", "DENY");
    ch_request_add_header(req, "Referrer-Policy", "no-referrer");
    ch_request_add_header(req, "Cross-Origin-Opener-Policy", "same-origin");
    ch_request_add_header(req, "Cross-Origin-Resource-Policy", "same-origin");
    ch_request_respond(req, 200, type, body);
}

static void console_respond_file(struct ch_request *req, const struct console_file *f) {
    console_respond(req, f->type, ch_sv(f->from, (size_t)(f->to - f->from)));
}

static void console_respond_endings(struct ch_request *req) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_buf_add_str(&out, "export const endings = ");
    ch_ending_write_all(&w);
    ch_buf_add_str(&out, ";\n");
    console_respond(req, "text/javascript; charset=utf-8", ch_buf_sv(&out));
}

void ch_console(struct ch_request *req) {
    console_respond_file(req, &files[0]);
}

void ch_console_file(struct ch_request *req) {
    for (size_t i = 1; i < CH_LEN(files); i++)
        if (ch_sv_is(req->param, files[i].name)) {
            console_respond_file(req, &files[i]);
            return;
        }
    if (ch_sv_is(req->param, "endings.js"))
        console_respond_endings(req);
    else
        ch_request_fail(req, 404, NULL, "the console has no file '%.*s'", CH_SV_FMT(req->param));
}
