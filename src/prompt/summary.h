/* summary.h -- prepares the input of a summary and checks the result.
 *
 * The messages are given to the model as one text (the prompt around it is the catalogue's
 * summarizer prompt), with tool results truncated. The summary is checked against that
 * text: it must have the required headings and an acceptable length, contain the important
 * identifiers verbatim, and contain no invented ones. Writing and checking are pure;
 * agent/context/compaction.c makes the request. */
#ifndef CH_PROMPT_SUMMARY_H
#define CH_PROMPT_SUMMARY_H
#include "prompt/summary_carryover.h"

/* Append messages as a text of at most `room` tokens, 0: no limit; the less room, the
 * shorter each message. */
void ch_summary_tell(const struct ch_msg *const *msgs, size_t n, size_t room, struct ch_buf *out);

enum ch_summary_verdict {
    CH_SUMMARY_GOOD,
    CH_SUMMARY_POOR, /* identifiers are missing: usable if they are appended */
    CH_SUMMARY_BAD   /* not usable */
};

struct ch_summary_measure {
    const char *const *headings;        /* required headings; NULL-terminated, or NULL */
    const struct ch_identifiers *names; /* identifiers of the replaced text */
    struct ch_sv told;                  /* the text that was summarised */
    size_t room;                        /* intended maximum tokens */
};

/* why: the defects, for the model. */
enum ch_summary_verdict ch_summary_judge(struct ch_sv summary, const struct ch_summary_measure *by,
                                         struct ch_buf *why);

#endif
