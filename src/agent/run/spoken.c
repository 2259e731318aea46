/* spoken.c -- see spoken.h. */
#include "agent/run/spoken.h"

#include "agent/handle/runtime.h"
#include "agent/run/feature.h"
#include "base/say.h"

#define MOST_MESSAGES 32 /* that are looked at */

/* The words of the last of the lines that a companion hears: "[10:02 om_3] Ann: words". */
static struct ch_sv last_line(struct ch_sv lines) {
    size_t from = 0;
    for (size_t i = 1; i < lines.n; i++)
        if (lines.p[i - 1] == '\n' && lines.p[i] == '[')
            from = i;
    return ch_sv(lines.p + from, lines.n - from);
}

/* The words of a message; in a chat, its line begins with its id and its sender. */
static struct ch_sv words_of(const chela_run *run, struct ch_sv text) {
    bool chat = run->session->channel->name != NULL;
    bool lines = chat && ch_sv_starts(text, "[") && ch_features_end_by_actions(run);
    if (lines)
        text = last_line(text);
    if (lines || ch_sv_starts(text, "[message_id: "))
        ch_sv_split(&text, ']');
    const char *name_end = chat && text.p ? memchr(text.p, ':', text.n) : NULL;
    return name_end ? ch_sv(name_end, (size_t)(text.p + text.n - name_end)) : text;
}

static enum chela_language language_of(const chela_run *run, const struct ch_msg *m) {
    enum chela_language found = CHELA_LANGUAGE_AUTO;
    for (uint32_t b = m->kind == CH_MSG_USER ? m->nblocks : 0; !found && b > 0; b--)
        if (m->blocks[b - 1].type == CH_BLOCK_TEXT)
            found = ch_say_language(words_of(run, m->blocks[b - 1].text));
    return found;
}

enum chela_language ch_run_language(const chela_run *run) {
    const struct ch_transcript *t = &run->session->transcript;
    enum chela_language found = (enum chela_language)run->session->channel->language;
    if (!found)
        found = run->session->agent->rt->language;
    for (size_t i = t->n; !found && i > 0 && t->n - i < MOST_MESSAGES; i--)
        found = language_of(run, t->msgs[i - 1]);
    return found ? found : CHELA_LANGUAGE_EN;
}
