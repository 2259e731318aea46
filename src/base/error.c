/* error.c -- error names, error texts and ch_fail. */
#include "base/error.h"

#include <stdarg.h>

#include "base/buf.h"
#include "base/redact.h"
#include "base/utf8.h"

const char *chela_error_name(int code) {
    switch (code) {
    case CHELA_OK:
        return "OK";
#define NAME(name, value, text)                                                \
    case CHELA_##name:                                                         \
        return #name;
        CHELA_ERRORS(NAME)
#undef NAME
    }
    return "E?";
}

const char *chela_error_text(int code) {
    switch (code) {
    case CHELA_OK:
        return "ok";
#define TEXT(name, value, text)                                                \
    case CHELA_##name:                                                         \
        return text;
        CHELA_ERRORS(TEXT)
#undef TEXT
    }
    return "unknown error";
}

/* The message is formatted in full, redacted and then truncated. Truncating
 * first could leave half a secret, which redaction would not recognize. The
 * arguments may include err->message. */
int ch_fail(struct chela_error *err, int code, const char *fmt, ...) {
    if (!err)
        return code;
    CH_BUF_AUTO raw = {0};
    CH_BUF_AUTO text = {0};
    va_list ap;
    va_start(ap, fmt);
    ch_buf_vaddf(&raw, fmt, ap);
    va_end(ap);
    if (ch_utf8_add_valid(&text, ch_buf_sv(&raw)) < 0 || text.n == 0)
        ch_buf_add_str(&text, chela_error_text(code));
    ch_redact_line(text.p);
    struct ch_sv cut = ch_utf8_cut(ch_sv_str(text.p), sizeof(err->message) - 1);
    memcpy(err->message, cut.p, cut.n);
    err->message[cut.n] = '\0';
    err->code = code;
    return code;
}
