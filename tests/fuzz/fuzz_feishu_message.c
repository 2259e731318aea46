/* fuzz_feishu_message.c -- any JSON as an event of Feishu, any text as an answer to it.
 *
 * Input: JSON in the first line, Markdown in the rest. A message that is accepted has a text;
 * the parts of an answer are UTF-8 and come to an end. */
#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/utf8.h"
#include "channel/feishu.h"
#include "channel/feishu_message.h"
#include "channel/feishu_post.h"
#include "channel/feishu_seal.h"
#include "channel/parts.h"
#include "json/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static struct chela_text no_header(const void *request, const char *name) {
    (void)request, (void)name;
    return (struct chela_text){NULL, 0};
}

static void read_event(struct ch_arena *a, struct ch_sv text) {
    static const struct ch_feishu_keys keys = {.app_id = "cli_1", .token = "t"};
    const struct ch_json *v = NULL;
    struct ch_feishu_message m = {0};
    struct ch_feishu_letter letter = {0};
    struct chela_error err = {0};
    const char *why = NULL;
    if (ch_json_parse(a, text, CH_JSON_STRICT, &v, NULL, NULL) < 0 ||
        !ch_json_is(v, CH_JSON_OBJECT))
        return;
    struct chela_channel_callback in = {
        .header = no_header, .body = ch_text(text), .now = 1700000000000};
    if (ch_feishu_unseal(&keys, &in, v, a, &letter, &why) != 0 && !why)
        abort();
    ch_feishu_unwrap(&keys, v, &letter, &why);
    if (ch_feishu_read(v, "ou_1", a, &m, &err) < 0 && !err.message[0])
        abort();
}

static void write_answer(struct ch_sv markdown) {
    struct ch_parts rest = {.text = markdown};
    CH_BUF_AUTO content = {0};
    size_t parts = 0;
    if (!ch_utf8_valid(markdown))
        return;
    while (ch_feishu_part(&rest, &content)) {
        if (!ch_utf8_valid(ch_buf_sv(&content)) || ++parts > markdown.n + 1)
            abort();
        ch_buf_clear(&content);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    CH_ARENA_AUTO a = {0};
    struct ch_sv rest = ch_sv((const char *)p, n), line = ch_sv_split(&rest, '\n');
    read_event(&a, line);
    if (rest.p)
        write_answer(rest);
    return 0;
}
