/* outcome.c -- see outcome.h. */
#include "cli/report/outcome.h"

#include <stdio.h>
#include <stdlib.h>

#include "chela/session.h"
#include "cli/support/draft.h"
#include "cli/support/mem.h"

#define S(n) ((n) == 1 ? "" : "s")
#define STR(s) (int)(s).n, (s).p

static const struct {
    enum chela_reason reason;
    const char *flag, *setting; /* setting may be NULL */
} limits[] = {
    {CHELA_REASON_MAX_TURNS, "--max-turns", "limits.maxTurns"},
    {CHELA_REASON_MAX_TOOL_CALLS, "--max-tool-calls", "limits.maxToolCalls"},
    {CHELA_REASON_TOKEN_BUDGET, "--token-budget", "limits.tokenBudget"},
    {CHELA_REASON_DEADLINE, "--timeout", "limits.timeoutSec"},
    {CHELA_REASON_TOO_MANY_ERRORS, "--max-errors", "limits.maxConsecutiveErrors"},
    {CHELA_REASON_COST_BUDGET, "--cost-budget", "limits.costBudgetUsd"},
    {CHELA_REASON_LOOP, "loopGuard", NULL},
};

/* True if the text has Chinese characters, in UTF-8. */
static bool outcome_has_chinese(struct chela_str text) {
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] >= 0xe4 && (unsigned char)text.p[i] <= 0xe9)
            return true;
    return false;
}

/* Where no setting decides, the sentence does, or the answer. */
static bool is_chinese(const struct ch_console *c, const struct chela_event *end) {
    return c->language == CHELA_LANGUAGE_ZH ||
           (c->language == CHELA_LANGUAGE_AUTO &&
            outcome_has_chinese(end->end.ending.n ? end->end.ending : end->end.text));
}

/* The options that set the limit. The caller frees it. */
static char *limit_options(enum chela_reason reason, bool zh) {
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        if (limits[i].reason == reason)
            return ch_format(zh ? "（上限由 %s%s%s 设置，0 表示不限）"
                                : " (%s%s%s sets the limit, 0: none)",
                             limits[i].flag, !limits[i].setting ? "" : zh ? " 或 " : " or ",
                             limits[i].setting ? limits[i].setting : "");
    return ch_dup("");
}

void ch_outcome_stopped(struct ch_console *c, const struct chela_event *end) {
    const char *reason = chela_reason_name(end->end.reason);
    unsigned turns = end->end.turns, calls = end->end.tool_calls;
    /* the error of such a limit says the same */
    bool told = end->end.reason == CHELA_REASON_MAX_TURNS ||
                end->end.reason == CHELA_REASON_MAX_TOOL_CALLS || end->end.error.n == 0;
    int n = told ? 0 : (int)end->end.error.n;
    bool zh = is_chinese(c, end);
    char *options = limit_options(end->end.reason, zh);
    if (zh)
        ch_console_error(c, "已停止：%s，共 %u 轮、%u 次工具调用%s%s%.*s", reason, turns, calls,
                         options, told ? "" : "：", n, end->end.error.p);
    else
        ch_console_error(c, "stopped: %s after %u turn%s and %u tool call%s%s%s%.*s", reason,
                         turns, S(turns), calls, S(calls), options, told ? "" : ": ", n,
                         end->end.error.p);
    free(options);
}

void ch_outcome_done(struct ch_console *c, const struct chela_event *end) {
    if (end->end.reason == CHELA_REASON_LENGTH)
        ch_console_note(c, is_chinese(c, end)
                               ? "已停止：length（上限由 --max-output-tokens 设置）"
                               : "stopped: length (--max-output-tokens sets the limit)");
    char cost[40] = "cost unknown";
    if (end->end.usage.cost_usd >= 0)
        snprintf(cost, sizeof(cost), "$%.4f", end->end.usage.cost_usd);
    ch_console_verbose(c, "[done] %u turn%s, %u tool call%s, %lld tokens in, %lld out, %s",
                       end->end.turns, S(end->end.turns), end->end.tool_calls,
                       S(end->end.tool_calls), (long long)end->end.usage.input,
                       (long long)end->end.usage.output, cost);
}

/* The answer of the first two reasons is a question: it says what is missing. */
void ch_outcome_declined(struct ch_console *c, const struct chela_event *end) {
    bool zh = is_chinese(c, end);
    if (end->end.reason == CHELA_REASON_ESCALATED)
        ch_console_error(c, "%s", zh ? "已上报：需要由人决定如何继续"
                                     : "escalated: a person has to decide how to go on");
    else if (end->end.reason == CHELA_REASON_CLARIFICATION)
        ch_console_error(c, "%s", zh ? "需要澄清：回答是一个反问"
                                     : "clarification: the answer is a question back");
    else if (end->end.error.n)
        ch_console_error(c, "%s%.*s", zh ? "已拒绝：服务拦截了这个请求："
                                         : "refused: the service blocked the request: ",
                         STR(end->end.error));
    else
        ch_console_error(c, "%s", zh ? "已拒绝：由模型或其过滤器拒绝"
                                     : "refused: by the model or its filter");
}

void ch_outcome_other(struct ch_console *c, const struct chela_event *end) {
    bool pauses = end->end.status == CHELA_STATUS_PAUSED && is_chinese(c, end);
    ch_console_error(c, "%s%s%s", pauses ? "已暂停" : chela_status_name(end->end.status),
                     pauses ? "：" : ": ", chela_reason_name(end->end.reason));
}

static const char *waits_for(enum chela_reason reason, bool zh) {
    if (reason == CHELA_REASON_APPROVAL)
        return zh ? "批准" : "approval";
    if (reason == CHELA_REASON_HUMAN)
        return zh ? "人的回答" : "a person's answer to its question";
    if (reason == CHELA_REASON_TIMER)
        return zh ? "一个时间，届时由网关继续" : "a time, at which a gateway resumes it";
    return zh ? "只有使用本库的程序才能给出的回答"
              : "an answer that only a program using the library can give";
}

void ch_outcome_waits(struct ch_console *c, enum chela_reason reason, const char *session,
                      const char *flags) {
    bool zh = c->language == CHELA_LANGUAGE_ZH;
    const char *what = waits_for(reason, zh);
    if (flags)
        ch_console_error(c,
                         zh ? "会话 %s 在等待%s；用 'chela sessions resume%s %s' 继续"
                            : "session %s waits for %s; 'chela sessions resume%s %s' goes on",
                         session, what, flags, session);
    else
        ch_console_error(c,
                         zh ? "会话 %s 在等待%s（在终端里会直接询问；--session 会保存会话，供 "
                              "'chela sessions resume' 继续）"
                            : "session %s waits for %s (on a terminal you would be asked; "
                              "--session keeps it for 'chela sessions resume')",
                         session, what);
}

void ch_outcome_review(struct ch_console *c, const char *session) {
    bool zh = c->language == CHELA_LANGUAGE_ZH;

    ch_console_note(c,
                    zh ? "改动尚未生效，等待审阅：chela diff %s 查看，chela apply %s 采纳"
                       : "the changes are not real yet: 'chela diff %s' shows them, 'chela apply "
                         "%s' makes them real",
                    session, session);
}
