/* summary.h -- what a model is shown for a summary, and what its summary is worth.
 *
 * The messages go to the model as one text (the prompt around it is the
 * summariser's of the catalogue), results of tools cut to what a summary needs
 * of them. What comes back is held against that text: it must have its
 * headings, be of a bearable length, name what matters exactly as it was named,
 * and name nothing that was not there. Writing and judging are pure; who asks is
 * agent/context/compaction.c. */
#ifndef CH_PROMPT_SUMMARY_H
#define CH_PROMPT_SUMMARY_H
#include "prompt/summary_carryover.h"

/* Append messages as a text of at most `room` tokens, 0: of any length; the
 * less room there is the less is told of each. */
void ch_summary_tell(const struct ch_msg *const *msgs, size_t n, size_t room, struct ch_buf *out);

enum ch_summary_verdict {
    CH_SUMMARY_GOOD,
    CH_SUMMARY_POOR, /* identifiers are missing: usable if they are added */
    CH_SUMMARY_BAD   /* not usable */
};

struct ch_summary_measure {
    const char *const *headings;        /* that it must have; NULL-terminated, or NULL */
    const struct ch_identifiers *names; /* of what it replaces */
    struct ch_sv told;                  /* the text it was made from */
    size_t room;                        /* tokens that it should have at most */
};

/* why, for the model: what is wrong with it. */
enum ch_summary_verdict ch_summary_judge(struct ch_sv summary, const struct ch_summary_measure *by,
                                         struct ch_buf *why);

#endif
