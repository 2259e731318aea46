/* fuzz_dingtalk.c -- any JSON as a message of DingTalk, any text as an answer to it.
 *
 * Input: JSON in the first line, Markdown in the rest. A message that is accepted has its ids and
 * a text; titles and answers of valid UTF-8 are valid UTF-8. */
#include <stdint.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "channel/dingtalk/dingtalk.h"
#include "channel/dingtalk/dingtalk_message.h"
#include "channel/kit/markdown.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    CH_ARENA_AUTO a = {0};
    struct ch_sv rest = ch_sv((const char *)p, n), line = ch_sv_split(&rest, '\n');
    const struct ch_json *v = NULL;
    struct chela_channel_message m = {0};
    CH_BUF_AUTO title = {0}, text = {0};
    if (ch_json_parse(&a, line, CH_JSON_REPLACE, &v, NULL, NULL) == 0 &&
        ch_dingtalk_read(v, &a, &m) && (!m.id || !m.chat || !m.sender || !m.text))
        abort();
    rest = rest.p ? rest : ch_sv("", 0);
    ch_dingtalk_title(&title, rest);
    ch_kit_format(&text, rest);
    if (!title.n || (ch_utf8_valid(rest) &&
                     (!ch_utf8_valid(ch_buf_sv(&title)) || !ch_utf8_valid(ch_buf_sv(&text)))))
        abort();
    return 0;
}
