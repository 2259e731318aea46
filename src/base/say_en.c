/* say_en.c -- the sentences of say.h in English. */
#include "base/say_languages.h"

const char *const ch_say_en[CH_SAYS] = {
    [CH_SAY_ASKS] = "",
    [CH_SAY_ASKS_TITLE] = "May the agent do this?",
    [CH_SAY_ALLOW_ONCE] = "Allow once",
    [CH_SAY_ALLOW_ALWAYS] = "Allow always",
    [CH_SAY_ALWAYS] = "Always",
    [CH_SAY_APPROVAL_NEEDED] = "Approval needed",
    [CH_SAY_DENY] = "Deny",
    [CH_SAY_ALLOWED_ONCE] = "Allowed once",
    [CH_SAY_ALLOWED_ALWAYS] = "Allowed always",
    [CH_SAY_ALLOWED] = "Allowed",
    [CH_SAY_DENIED] = "Denied",
    [CH_SAY_DECIDED_BY] = "{1} by {2}",
    [CH_SAY_DECIDED_BEFORE] = "Decided before",
    [CH_SAY_DECIDE_HOW] = "To decide, write to the bot: /approve {1}, /approve {1} allow-always, "
                          "or /deny {1} REASON",
    [CH_SAY_DECIDE_WHICH] = "Say which: /approve ID, /approve ID allow-always, or /deny ID REASON.",
    [CH_SAY_DECIDE_UNKNOWN] = "No call with that id waits here.",
    [CH_SAY_DECIDE_FAILED] = "The decision failed: {1}",
    [CH_SAY_DECIDE_ERROR] = "{1}",
    [CH_SAY_ONLY_OWNER_DECIDES] = "Only an owner of this channel may decide.",
    [CH_SAY_ONLY_OWNER] = "Only an owner of this channel may do that.",
    [CH_SAY_ASK_SECRET] =
        "A call needs consent. It holds a secret, {1}, in a form that cannot be shown here: decide "
        "about {2} in the console, or write to the bot: /deny {2} REASON",
    [CH_SAY_ASK_TOO_LONG] =
        "A call needs consent. Its {1} bytes are too many to be shown here: decide about {2} in "
        "the console, or write to the bot: /deny {2} REASON",
    [CH_SAY_SHOWN_ABOVE] = "The call is shown above.",
    [CH_SAY_SHOWN_ALWAYS] = "always: this program, unchanged, with these arguments in this "
                            "directory; it reads {1}",
    [CH_SAY_SHOWN_PROGRAM] = "program",
    [CH_SAY_SHOWN_DIRECTORY] = "directory",
    [CH_SAY_SHOWN_ARGUMENTS] = "arguments",
    [CH_SAY_SHOWN_LINES] = "lines",
    [CH_SAY_SHOWN_LACKS] = "asked, for the sandbox lacks",
    [CH_SAY_SHOWN_CUT] = "[cut here: {1} of {2} bytes are not shown]",
    [CH_SAY_SHOWN_SENDS] = "sends to {1}: no list of egress allows this host, and nobody named the "
                           "address; always: this host until the session ends",
    [CH_SAY_SHOWN_MET] = "could carry data out: this conversation holds text of {1}, which nobody "
                         "vouched for, and private data ({2}); always: to this destination, until "
                         "the session ends",
    [CH_SAY_NOTHING_RUNS] = "Nothing is running here.",
    [CH_SAY_STOPPED] = "Stopped.",
    [CH_SAY_STATUS] = "agent: {1}\nmodel: {2}\nsession: {3}\nnow: {4}",
    [CH_SAY_STATE_WORKING] = "working",
    [CH_SAY_STATE_WAITING] = "waiting",
    [CH_SAY_STATE_IDLE] = "idle",
    [CH_SAY_NEW_DONE] = "This is a new conversation.",
    [CH_SAY_NEW_FAILED] = "A new conversation cannot be started now.",
    [CH_SAY_CONDENSED] = "Condensed: about {1} tokens instead of {2}.",
    [CH_SAY_CONDENSE_BUSY] = "The agent is working: repeat the command when it is done.",
    [CH_SAY_CONDENSE_NOTHING] = "There is nothing to condense.",
    [CH_SAY_COMMAND_FAILED] = "The command failed. The gateway's log has the reason.",
    [CH_SAY_WORDS_COMPACT] = " [WHAT MATTERS]",
    [CH_SAY_WORDS_APPROVE] = " [ID] [allow-once|allow-always|deny]",
    [CH_SAY_WORDS_DENY] = " [ID] [REASON]",
    [CH_SAY_WORDS_PAIR] = " CODE",
    [CH_SAY_WORDS_MODEL] = " [PROVIDER/MODEL|default]",
    [CH_SAY_WORDS_REASONING] = " [off|minimal|low|medium|high|xhigh|max|default]",
    [CH_SAY_WORDS_NONE] = "",
    [CH_SAY_HELP_STOP] = "stop the run in this chat",
    [CH_SAY_HELP_NEW] = "begin a new conversation",
    [CH_SAY_HELP_COMPACT] = "condense the conversation so far",
    [CH_SAY_HELP_STATUS] = "which agent this is, and whether it is working",
    [CH_SAY_HELP_APPROVE] = "decide about a call that needs consent",
    [CH_SAY_HELP_DENY] = "refuse a call that needs consent",
    [CH_SAY_HELP_PAIR] = "let the person with this code write here",
    [CH_SAY_HELP_MODEL] = "which model answers here",
    [CH_SAY_HELP_REASONING] = "how much it thinks",
    [CH_SAY_HELP_HELP] = "these commands",
    [CH_SAY_MODEL_NOW] = "{1} (/model PROVIDER/MODEL changes it)",
    [CH_SAY_REASONING_NOW] = "{1} (/reasoning off, minimal, low, medium, high, xhigh, max or "
                             "default changes it)",
    [CH_SAY_CHANGE_STORED] = "This applies from the next message on.",
    [CH_SAY_CHANGE_NOT_STORED] = "This applies until the next restart: it cannot be stored.",
    [CH_SAY_NOT_POSSIBLE] = "That is not possible.",
    [CH_SAY_NO_SUCH_MODEL] = "That is not possible: {1}",
    [CH_SAY_PAIR_CODE] =
        "I do not know you yet. Give this code to my operator within an hour: {1}",
    [CH_SAY_PAIR_WHICH] = "Which code? /pair CODE",
    [CH_SAY_PAIR_DONE] = "{1} may write from now on.",
    [CH_SAY_PAIR_FAILED] = "Pairing failed: {1}",
    [CH_SAY_TOO_MANY_WAIT] = "Too many messages are waiting. Please repeat yours later.",
    [CH_SAY_MESSAGE_REFUSED] = "{1}",
    [CH_SAY_BUDGET_USED_UP] = "{1}",
    [CH_SAY_ANSWER_HELD_BACK] = "The answer is held back: it holds a secret, {1}.",
    [CH_SAY_ANSWER_SENSITIVE] =
        "There is an answer, but the service does not let it through: it takes it for sensitive.",
    [CH_SAY_WHAT_IS_WANTED] =
        "I am not sure what to do with this. What exactly would you like?",
    [CH_SAY_WHAT_EXACTLY] = "What exactly is wanted?",
    [CH_SAY_CANNOT_HERE] = "This cannot be done here.",
    [CH_SAY_HOW_TO_GO_ON] = "This did not work out. How shall I go on?",
    [CH_SAY_PLAN_UNWANTED] = "No plan was accepted. What should be done differently?",
    [CH_SAY_PLAN_NOT_ACCEPTED] = "The plan was not accepted.",
    [CH_SAY_END_EMPTY] = "There was no answer. Please write again, perhaps in other words.",
    [CH_SAY_END_REJECTED] =
        "The model service did not accept this request. The gateway's log has the "
        "reason.",
    [CH_SAY_END_REFUSED] =
        "The model declined to answer this. Write it in other words, or begin a new "
        "conversation.",
    [CH_SAY_END_REFUSED_CHAT] =
        "The model declined to answer this. Write it in other words, or send /new to "
        "begin a new conversation.",
    [CH_SAY_END_LENGTH] =
        "The answer was cut at the limit of its length. Write \"go on\" to "
        "continue.",
    [CH_SAY_END_TURNS] =
        "This took more steps than one message may take. Write \"go on\" to "
        "continue.",
    [CH_SAY_END_CALLS] =
        "This took more tool calls than one message may take. Write \"go on\" to "
        "continue.",
    [CH_SAY_END_BUDGET] =
        "The budget is used up, so the work stopped. Write again later, or ask the "
        "operator for a higher budget.",
    [CH_SAY_END_DEADLINE] = "The time for one message is up. Write \"go on\" to continue.",
    [CH_SAY_END_ERRORS] =
        "Several steps failed in a row, so the work stopped. Write what to do "
        "instead.",
    [CH_SAY_END_LOOP] =
        "The same step was repeated again and again, so the work stopped. Write what "
        "to do differently.",
    [CH_SAY_END_OVERFLOW] =
        "This is too long for the model. Begin a new conversation, or write a shorter "
        "message.",
    [CH_SAY_END_OVERFLOW_CHAT] =
        "This is too long for the model. Send /new to begin a new conversation, or "
        "write a shorter message.",
    [CH_SAY_END_MODEL] =
        "The model service failed, so there is no complete answer. Please write again "
        "later.",
    [CH_SAY_END_STORE] =
        "The conversation could not be saved, so the work stopped. Please write again "
        "later.",
    [CH_SAY_END_INTERNAL] =
        "Something failed here, so the work stopped. Please write again "
        "later.",
    [CH_SAY_END_CANCELLED] = "The work was cancelled.",
    [CH_SAY_GENERAL] = "That did not work. Please try again later.",
};
