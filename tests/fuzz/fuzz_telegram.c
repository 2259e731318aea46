/* fuzz_telegram.c -- any JSON as a message of Telegram, any text as an answer to it.
 *
 * Input: JSON in the first line, Markdown in the rest. A message that is accepted has its ids.
 * The entities of an answer are JSON and lie inside its text. */
#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/utf8.h"
#include "channel/telegram.h"
#include "channel/telegram_message.h"
#include "channel/telegram_text.h"
#include "json/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void read_message(struct ch_arena *a, struct ch_sv text) {
    const struct ch_json *v = NULL;
    struct ch_telegram_message m = {0};
    struct chela_error err = {0};
    if (ch_json_parse(a, text, CH_JSON_STRICT, &v, NULL, NULL) < 0)
        return;
    int rc = ch_telegram_read(v, "7", "chela_bot", a, &m, &err);
    if (rc == 0 ? !m.id || !*m.id || !m.text : !err.message[0])
        abort();
    ch_telegram_read(v, NULL, NULL, a, &m, NULL);
}

static void write_answer(struct ch_arena *a, struct ch_sv markdown) {
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO entities = {0};
    const struct ch_json *list = NULL;
    if (!ch_utf8_valid(markdown))
        return;
    ch_telegram_text(markdown, &text, &entities);
    size_t units = ch_telegram_units(ch_buf_sv(&text));
    if (!ch_utf8_valid(ch_buf_sv(&text)) ||
        ch_json_parse(a, ch_buf_sv(&entities), CH_JSON_STRICT, &list, NULL, NULL) < 0)
        abort();
    for (CH_JSON_EACH(e, list)) {
        int64_t offset = ch_json_int(ch_json_get(e, "offset"), -1);
        int64_t length = ch_json_int(ch_json_get(e, "length"), -1);
        if (offset < 0 || length < 1 || (size_t)(offset + length) > units)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    CH_ARENA_AUTO a = {0};
    struct ch_sv rest = ch_sv((const char *)p, n), line = ch_sv_split(&rest, '\n');
    read_message(&a, line);
    if (rest.p)
        write_answer(&a, rest);
    return 0;
}
