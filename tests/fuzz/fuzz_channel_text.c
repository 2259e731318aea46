/* fuzz_channel_text.c -- any text as what people write and as an answer, in the dialects of
 * Slack and Discord.
 *
 * Input: JSON in the first line, the people whom a message mentions; the text in the rest. Valid
 * text stays valid. An answer of Discord that fits a part fits a message. */
#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/utf8.h"
#include "channel/discord/discord_text.h"
#include "channel/slack/slack_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void valid(const struct ch_buf *out) {
    if (!ch_utf8_valid(ch_buf_sv(out)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO slack = {0}, said = {0}, discord = {0}, exact = {0}, read = {0};
    struct ch_sv text = ch_sv((const char *)p, n), line = ch_sv_split(&text, '\n');
    const struct ch_json *people = NULL;
    if (ch_json_parse(&a, line, CH_JSON_REPLACE, &people, NULL, NULL) < 0)
        people = NULL;
    if (!text.p || !ch_utf8_valid(text))
        return 0;
    ch_slack_format(&slack, text);
    valid(&slack);
    ch_slack_read(&said, text, "U1");
    valid(&said);
    ch_discord_format(&discord, text);
    valid(&discord);
    if (ch_discord_length(text) <= CH_DISCORD_SPLIT &&
        ch_discord_length(ch_buf_sv(&discord)) > CH_DISCORD_TEXT)
        abort();
    ch_discord_exact(&exact, text);
    valid(&exact);
    if (exact.n > 8 && memmem(exact.p + 4, exact.n - 8, "```", 3))
        abort();
    ch_discord_read(&read, text, people, "7");
    valid(&read);
    return 0;
}
