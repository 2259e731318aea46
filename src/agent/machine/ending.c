/* ending.c -- see ending.h. */
#include "agent/machine/ending.h"

#include "base/utf8.h"

struct ending_words {
    const char *en, *zh;
};

#define GO_ON_EN " Write \"go on\" to continue."
#define GO_ON_ZH "回复“继续”可以接着做。"
#define LATER_EN " Please write again later."
#define LATER_ZH "请稍后再发一次。"

#define ENDING(en, zh) {.anywhere = {en, zh}}

static const struct ending_words ending_empty = {
    "There was no answer. Please write again, perhaps in other words.",
    "没有得到回答。请换个说法再发一次。"};

static const struct ending_words ending_rejected = {
    "The model service did not accept this request. The gateway's log has the reason.",
    "模型服务没有接受这个请求，原因见网关的日志。"};

static const struct {
    struct ending_words anywhere;
    struct ending_words chat; /* NULL: the same */
} endings[] = {
    [CH_REASON_REFUSED] =
        {{"The model declined to answer this. Write it in other words, or begin a new "
          "conversation.",
          "模型拒绝回答。请换个说法，或开始新的对话。"},
         {"The model declined to answer this. Write it in other words, or send /new to begin a new "
          "conversation.",
          "模型拒绝回答。请换个说法，或发送 /new 开始新的对话。"}},
    [CH_REASON_LENGTH] = ENDING(
        "The answer was cut at the limit of its length." GO_ON_EN,
        "回答达到长度上限，被截断了。" GO_ON_ZH),
    [CH_REASON_MAX_TURNS] = ENDING(
        "This took more steps than one message may take." GO_ON_EN,
        "已达到一条消息允许的步数上限，先停在这里。" GO_ON_ZH),
    [CH_REASON_MAX_TOOL_CALLS] = ENDING(
        "This took more tool calls than one message may take." GO_ON_EN,
        "已达到一条消息允许的工具调用上限，先停在这里。" GO_ON_ZH),
    [CH_REASON_TOKEN_BUDGET] = ENDING(
        "The budget is used up, so the work stopped. Write again later, or ask the operator "
        "for a higher budget.",
        "预算已用完，工作停止了。请稍后再发，或请管理员提高预算。"),
    [CH_REASON_COST_BUDGET] = ENDING(
        "The budget is used up, so the work stopped. Write again later, or ask the operator "
        "for a higher budget.",
        "预算已用完，工作停止了。请稍后再发，或请管理员提高预算。"),
    [CH_REASON_DEADLINE] = ENDING(
        "The time for one message is up." GO_ON_EN,
        "一条消息的处理时间已到，先停在这里。" GO_ON_ZH),
    [CH_REASON_TOO_MANY_ERRORS] = ENDING(
        "Several steps failed in a row, so the work stopped. Write what to do instead.",
        "连续多步失败，工作停止了。请说明接下来怎么做。"),
    [CH_REASON_LOOP] = ENDING(
        "The same step was repeated again and again, so the work stopped. Write what to do "
        "differently.",
        "同一步骤反复执行，工作停止了。请说明要怎样改做。"),
    [CH_REASON_CONTEXT_OVERFLOW] =
        {{"This is too long for the model. Begin a new conversation, or write a shorter message.",
          "内容太长，模型放不下。请开始新的对话，或发一条更短的消息。"},
         {"This is too long for the model. Send /new to begin a new conversation, or write a "
          "shorter message.",
          "内容太长，模型放不下。请发送 /new 开始新的对话，或发一条更短的消息。"}},
    [CH_REASON_MODEL_ERROR] = ENDING(
        "The model service failed, so there is no complete answer." LATER_EN,
        "模型服务出错，没有得到完整的回答。" LATER_ZH),
    [CH_REASON_STORE] = ENDING(
        "The conversation could not be saved, so the work stopped." LATER_EN,
        "对话无法保存，工作停止了。" LATER_ZH),
    [CH_REASON_INTERNAL] = ENDING(
        "Something failed here, so the work stopped." LATER_EN,
        "内部出错，工作停止了。" LATER_ZH),
    [CH_REASON_CANCELLED] = ENDING("The work was cancelled.", "工作已取消。"),
};

static const char *ending_pick(const struct ending_words *words, enum chela_language language) {
    return language == CHELA_LANGUAGE_ZH ? words->zh : words->en;
}

const char *ch_ending_say(enum ch_reason reason, bool empty, enum ch_ending_face face,
                          enum chela_language language) {
    const char *said = NULL;
    if (reason == CH_REASON_COMPLETED && empty)
        return ending_pick(&ending_empty, language);
    if ((size_t)reason < CH_LEN(endings) && face == CH_ENDING_CHAT)
        said = ending_pick(&endings[reason].chat, language);
    if ((size_t)reason < CH_LEN(endings) && !said)
        said = ending_pick(&endings[reason].anywhere, language);
    return said ? said : "";
}

const char *ch_ending_rejected(enum chela_language language) {
    return ending_pick(&ending_rejected, language);
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
    for (size_t i = 0; i < text.n;) {
        uint32_t c;
        size_t n = ch_utf8_next(ch_sv(text.p + i, text.n - i), &c);
        bool chinese = (c >= 0x3400 && c <= 0x9fff) || (c >= 0x20000 && c <= 0x3134f);
        if (chinese)
            return CHELA_LANGUAGE_ZH;
        i += n ? n : 1;
    }
    return CHELA_LANGUAGE_EN;
}
