/* say_keys.h -- the keys of the sentences that chela says to people; see say.h. */
#ifndef CH_BASE_SAY_KEYS_H
#define CH_BASE_SAY_KEYS_H

#define CH_SAY_KEYS(X)                                                                         \
    /* approvals */                                                                            \
    X(ASKS)             /* the first line of a question, above the call */                     \
    X(ASKS_TITLE)       /* title of a card */                                                  \
    X(ALLOW_ONCE)       /* a button */                                                         \
    X(ALLOW_ALWAYS)     /* a button */                                                         \
    X(ALWAYS)           /* a narrow button */                                                  \
    X(APPROVAL_NEEDED)  /* title of a small card */                                            \
    X(DENY)             /* a button */                                                         \
    X(ALLOWED_ONCE)                                                                            \
    X(ALLOWED_ALWAYS)                                                                          \
    X(ALLOWED)                                                                                 \
    X(DENIED)                                                                                  \
    X(DECIDED_BY)       /* {1}: what was decided, {2}: who */                                  \
    X(DECIDED_BEFORE)                                                                          \
    X(DECIDE_HOW)       /* {1}: id of the approval */                                          \
    X(DECIDE_WHICH)                                                                            \
    X(DECIDE_UNKNOWN)                                                                          \
    X(DECIDE_FAILED)    /* {1}: why */                                                         \
    X(DECIDE_ERROR)     /* {1}: why; on a card */                                              \
    X(ONLY_OWNER_DECIDES)                                                                      \
    X(ONLY_OWNER)                                                                              \
    X(ASK_SECRET)       /* {1}: name of the secret, {2}: id */                                 \
    X(ASK_TOO_LONG)     /* {1}: bytes, {2}: id */                                              \
    X(SHOWN_ABOVE)                                                                             \
    X(SHOWN_ALWAYS)     /* {1}: the files that the program reads */                            \
    X(SHOWN_PROGRAM)    /* labels of a call that is shown */                                   \
    X(SHOWN_DIRECTORY)                                                                         \
    X(SHOWN_ARGUMENTS)                                                                         \
    X(SHOWN_LINES)                                                                             \
    X(SHOWN_LACKS)                                                                             \
    X(SHOWN_CUT)        /* {1}: bytes that are not shown, {2}: all bytes */                    \
    X(SHOWN_SENDS)      /* {1}: the host */                                                    \
    X(SHOWN_MET)        /* {1}: a source, {2}: private data */                                 \
    /* commands */                                                                             \
    X(NOTHING_RUNS)                                                                            \
    X(STOPPED)                                                                                 \
    X(STATUS)           /* {1}: agent, {2}: model, {3}: session, {4}: state */                 \
    X(STATE_WORKING)                                                                           \
    X(STATE_WAITING)                                                                           \
    X(STATE_IDLE)                                                                              \
    X(NEW_DONE)                                                                                \
    X(NEW_FAILED)                                                                              \
    X(CONDENSED)        /* {1}: tokens now, {2}: tokens before */                              \
    X(CONDENSE_BUSY)                                                                           \
    X(CONDENSE_NOTHING)                                                                        \
    X(COMMAND_FAILED)                                                                          \
    X(WORDS_COMPACT)    /* what follows a command, in the help */                              \
    X(WORDS_APPROVE)                                                                           \
    X(WORDS_DENY)                                                                              \
    X(WORDS_PAIR)                                                                              \
    X(WORDS_MODEL)                                                                             \
    X(WORDS_REASONING)                                                                         \
    X(WORDS_NONE)                                                                              \
    X(HELP_STOP)                                                                               \
    X(HELP_NEW)                                                                                \
    X(HELP_COMPACT)                                                                            \
    X(HELP_STATUS)                                                                             \
    X(HELP_APPROVE)                                                                            \
    X(HELP_DENY)                                                                               \
    X(HELP_PAIR)                                                                               \
    X(HELP_MODEL)                                                                              \
    X(HELP_REASONING)                                                                          \
    X(HELP_HELP)                                                                               \
    X(MODEL_NOW)        /* {1}: the model */                                                   \
    X(REASONING_NOW)    /* {1}: the level */                                                   \
    X(CHANGE_STORED)                                                                           \
    X(CHANGE_NOT_STORED)                                                                       \
    X(NOT_POSSIBLE)                                                                            \
    X(NO_SUCH_MODEL)    /* {1}: the model */                                                   \
    /* pairing */                                                                              \
    X(PAIR_CODE)        /* {1}: the code */                                                    \
    X(PAIR_WHICH)                                                                              \
    X(PAIR_DONE)        /* {1}: id of the person */                                            \
    X(PAIR_FAILED)                                                                             \
    /* messages */                                                                             \
    X(TOO_MANY_WAIT)                                                                           \
    X(MESSAGE_REFUSED)                                                                         \
    X(BUDGET_USED_UP)   /* {1}: date of the reset */                                           \
    X(ANSWER_HELD_BACK)                                                                        \
    X(ANSWER_SENSITIVE)                                                                        \
    /* roles */                                                                                \
    X(WHAT_IS_WANTED)                                                                          \
    X(WHAT_EXACTLY)                                                                            \
    X(CANNOT_HERE)                                                                             \
    X(HOW_TO_GO_ON)                                                                            \
    X(PLAN_UNWANTED)                                                                           \
    X(PLAN_NOT_ACCEPTED)                                                                       \
    /* how a run ended: what happened, and what the person can do */                           \
    X(END_EMPTY)                                                                               \
    X(END_REJECTED)                                                                            \
    X(END_REFUSED)                                                                             \
    X(END_REFUSED_CHAT)                                                                        \
    X(END_LENGTH)                                                                              \
    X(END_TURNS)                                                                               \
    X(END_CALLS)                                                                               \
    X(END_BUDGET)                                                                              \
    X(END_DEADLINE)                                                                            \
    X(END_ERRORS)                                                                              \
    X(END_LOOP)                                                                                \
    X(END_OVERFLOW)                                                                            \
    X(END_OVERFLOW_CHAT)                                                                       \
    X(END_MODEL)                                                                               \
    X(END_STORE)                                                                               \
    X(END_INTERNAL)                                                                            \
    X(END_CANCELLED)                                                                           \
    /* what is said where nothing else fits */                                                 \
    X(GENERAL)

#endif
