/* ending.c -- see ending.h. */
#include "agent/machine/ending.h"

#include "base/say.h"

static const struct {
    bool there;
    enum ch_say anywhere, chat;
} endings[] = {
#define ENDING(key) {true, CH_SAY_END_##key, CH_SAY_END_##key}
    [CH_REASON_REFUSED] = {true, CH_SAY_END_REFUSED, CH_SAY_END_REFUSED_CHAT},
    [CH_REASON_LENGTH] = ENDING(LENGTH),
    [CH_REASON_MAX_TURNS] = ENDING(TURNS),
    [CH_REASON_MAX_TOOL_CALLS] = ENDING(CALLS),
    [CH_REASON_TOKEN_BUDGET] = ENDING(BUDGET),
    [CH_REASON_COST_BUDGET] = ENDING(BUDGET),
    [CH_REASON_DEADLINE] = ENDING(DEADLINE),
    [CH_REASON_TOO_MANY_ERRORS] = ENDING(ERRORS),
    [CH_REASON_LOOP] = ENDING(LOOP),
    [CH_REASON_CONTEXT_OVERFLOW] = {true, CH_SAY_END_OVERFLOW, CH_SAY_END_OVERFLOW_CHAT},
    [CH_REASON_MODEL_ERROR] = ENDING(MODEL),
    [CH_REASON_STORE] = ENDING(STORE),
    [CH_REASON_INTERNAL] = ENDING(INTERNAL),
    [CH_REASON_CANCELLED] = ENDING(CANCELLED),
#undef ENDING
};

/* An ending without a sentence of its own gets the general one, unless the answer says it all. */
const char *ch_ending_say(enum ch_reason reason, bool empty, enum ch_ending_face face,
                          enum chela_language language) {
    enum ch_run_status status = ch_reason_status(reason);
    if (reason == CH_REASON_COMPLETED && empty)
        return ch_say(CH_SAY_END_EMPTY, language);
    if ((size_t)reason < CH_LEN(endings) && endings[reason].there)
        return ch_say(face == CH_ENDING_CHAT ? endings[reason].chat : endings[reason].anywhere,
                      language);
    bool fails = status == CH_STATUS_ERROR || status == CH_STATUS_STOPPED;
    return fails ? ch_say(CH_SAY_GENERAL, language) : "";
}

const char *ch_ending_rejected(enum chela_language language) {
    return ch_say(CH_SAY_END_REJECTED, language);
}

void ch_ending_write_all(struct ch_jw *w) {
    ch_jw_begin(w, '{');
    for (size_t i = 0; i < CH_LEN(endings); i++) {
        enum ch_reason reason = (enum ch_reason)i;
        const char *en = ch_ending_say(reason, true, CH_ENDING_ANYWHERE, CHELA_LANGUAGE_EN);
        if (!*en)
            continue;
        ch_jw_kbegin(w, ch_reason_name(reason), '{');
        ch_jw_kcstr(w, "en", en);
        ch_jw_kcstr(w, "zh",
                    ch_ending_say(reason, true, CH_ENDING_ANYWHERE, CHELA_LANGUAGE_ZH));
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, '}');
}

enum chela_language ch_ending_language(struct ch_sv text) {
    enum chela_language spoken = ch_say_language(text);
    return spoken ? spoken : CHELA_LANGUAGE_EN;
}
