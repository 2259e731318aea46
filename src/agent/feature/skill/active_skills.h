/* active_skills.h -- the skills that a session uses, and the tools that they may use unasked.
 *
 * A skill is active from the moment at which the model has read its file, or a person has called
 * it, to the end of the session. While it is active, its allowed-tools (prompt/skill_tools.h) are
 * granted to the runs of the session, if the user trusts the workspace; otherwise a warning tells
 * that they are ignored. A run whose policy forgets remembered approvals gets no grants. The
 * names of active skills are stored with the runs. Trust is decided anew when an agent is
 * created. */
#ifndef CH_FEATURE_ACTIVE_SKILLS_H
#define CH_FEATURE_ACTIVE_SKILLS_H
#include "agent/run/feature.h"

extern const struct ch_feature ch_active_skills_feature;

#endif
