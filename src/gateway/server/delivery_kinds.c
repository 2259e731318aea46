/* delivery_kinds.c -- see delivery_kinds.h. */
#include "gateway/server/delivery_kinds.h"

#include "gateway/chat/approval_decision.h"
#include "gateway/chat/chat_commands.h"
#include "gateway/http/openai_responses.h"
#include "gateway/lane/client_input.h"
#include "gateway/lane/send_tool.h"
#include "gateway/server/timer_delivery.h"

const struct ch_delivery_kind *const ch_delivery_kinds[] = {
    &ch_delivery_event,
    &ch_client_message,
    &ch_client_turn,
    &ch_openai_response_turn,
    &ch_client_results,
    &ch_client_answers,
    &ch_client_decision,
    &ch_client_cancel,
    &ch_client_take_over,
    &ch_client_resume,
    &ch_client_release,
    &ch_send_message,
    &ch_chat_press,
    &ch_chat_stop,
    &ch_timer_delivery,
    NULL,
};
