# shapes.jq -- the members that the published schemas of the vendors' protocols require, with their types. `problems` of an object that a
# gateway sent gives the paths of what is missing or of another type; nothing if the object is as required.
#
# A shape has members NAME: TYPES. Types are those of JSON, "integer", "any", and the names of other shapes; "[X]" is a list of X.
def shapes: {
    # Open Responses, and OpenAI's Responses
    response: {id: "string", object: "=response", created_at: "integer", completed_at: "integer|null", status: "string", incomplete_details: "incomplete|null",
        model: "string", previous_response_id: "string|null", instructions: "string|null", output: "[item]", error: "failure|null", tools: "[tool]",
        tool_choice: "string|object", truncation: "=auto|=disabled", parallel_tool_calls: "boolean", text: "text", top_p: "number", presence_penalty: "number",
        frequency_penalty: "number", top_logprobs: "integer", temperature: "number", reasoning: "reasoning|null", usage: "usage|null",
        max_output_tokens: "integer|null", max_tool_calls: "integer|null", store: "boolean", background: "boolean", service_tier: "string", metadata: "object",
        safety_identifier: "string|null", prompt_cache_key: "string|null", access_programs: "any"},
    incomplete: {reason: "string"}, failure: {code: "string", message: "string"},
    tool: {type: "string"}, tool_function: {name: "string", description: "string|null", parameters: "object|null", strict: "boolean|null"},
    text: {format: "format"}, format: {type: "string"},
    format_json_schema: {name: "string", description: "string|null", schema: "any", strict: "boolean"},
    reasoning: {effort: "string|null", summary: "string|null"},
    usage: {input_tokens: "integer", output_tokens: "integer", total_tokens: "integer", input_tokens_details: "input_details", output_tokens_details: "output_details"},
    input_details: {cached_tokens: "integer", cache_write_tokens: "integer"}, output_details: {reasoning_tokens: "integer"},
    item: {type: "string", id: "string"},
    item_message: {status: "string", role: "=assistant", content: "[part]"},
    item_function_call: {call_id: "string", name: "string", arguments: "string", status: "string"},
    item_custom_tool_call: {call_id: "string", name: "string", input: "string"},
    item_reasoning: {summary: "[part]"},
    item_image_generation_call: {status: "string", result: "string|null"},
    part: {type: "string"}, part_output_text: {text: "string", annotations: "[annotation]", logprobs: "array"}, part_summary_text: {text: "string"},
    annotation: {type: "string"}, annotation_url_citation: {url: "string", start_index: "integer", end_index: "integer", title: "string"},
    event: {type: "string", sequence_number: "integer"},
    "event_response.created": {response: "response"}, "event_response.in_progress": {response: "response"}, "event_response.completed": {response: "response"},
    "event_response.incomplete": {response: "response"}, "event_response.failed": {response: "response"},
    "event_response.output_item.added": {output_index: "integer", item: "item"}, "event_response.output_item.done": {output_index: "integer", item: "item"},
    "event_response.content_part.added": {item_id: "string", output_index: "integer", content_index: "integer", part: "part"},
    "event_response.content_part.done": {item_id: "string", output_index: "integer", content_index: "integer", part: "part"},
    "event_response.output_text.delta": {item_id: "string", output_index: "integer", content_index: "integer", delta: "string", logprobs: "array"},
    "event_response.output_text.done": {item_id: "string", output_index: "integer", content_index: "integer", text: "string", logprobs: "array"},
    "event_response.reasoning_summary_part.added": {item_id: "string", output_index: "integer", summary_index: "integer", part: "part"},
    "event_response.reasoning_summary_part.done": {item_id: "string", output_index: "integer", summary_index: "integer", part: "part"},
    "event_response.reasoning_summary_text.delta": {item_id: "string", output_index: "integer", summary_index: "integer", delta: "string"},
    "event_response.reasoning_summary_text.done": {item_id: "string", output_index: "integer", summary_index: "integer", text: "string"},
    "event_response.function_call_arguments.delta": {item_id: "string", output_index: "integer", delta: "string"},
    "event_response.function_call_arguments.done": {item_id: "string", name: "string", output_index: "integer", arguments: "string"},
    "event_response.custom_tool_call_input.delta": {item_id: "string", output_index: "integer", delta: "string"},
    "event_response.custom_tool_call_input.done": {item_id: "string", output_index: "integer", input: "string"},
    # Chat Completions
    chat: {id: "string", object: "=chat.completion", created: "integer", model: "string", choices: "[choice]", usage: "chat_usage"},
    choice: {index: "integer", message: "chat_message", finish_reason: "string", logprobs: "object|null"},
    chat_message: {role: "=assistant", content: "string|null", refusal: "string|null"},
    chat_usage: {prompt_tokens: "integer", completion_tokens: "integer", total_tokens: "integer"},
    chunk: {id: "string", object: "=chat.completion.chunk", created: "integer", model: "string", choices: "[chunk_choice]"},
    chunk_choice: {index: "integer", delta: "object", finish_reason: "string|null"},
    # Messages
    message: {id: "string", type: "=message", role: "=assistant", model: "string", content: "[block]", container: "object|null", stop_details: "stop_details|null",
        stop_reason: "string|null", stop_sequence: "string|null", usage: "message_usage"},
    stop_details: {type: "=refusal", category: "string|null", explanation: "string|null"},
    message_usage: {cache_creation: "object|null", cache_creation_input_tokens: "integer|null", cache_read_input_tokens: "integer|null", inference_geo: "string|null",
        input_tokens: "integer", output_tokens: "integer", output_tokens_details: "thinking_tokens|null", server_tool_use: "object|null", service_tier: "string|null"},
    delta_usage: {cache_creation_input_tokens: "integer|null", cache_read_input_tokens: "integer|null", input_tokens: "integer|null", output_tokens: "integer",
        output_tokens_details: "thinking_tokens|null", server_tool_use: "object|null"},
    thinking_tokens: {thinking_tokens: "integer"},
    block: {type: "string"}, block_text: {text: "string", citations: "array|null"}, block_thinking: {thinking: "string", signature: "string"},
    block_redacted_thinking: {data: "string"}, block_tool_use: {id: "string", name: "string", input: "object", caller: "object"},
    change: {type: "string"}, change_message_start: {message: "message"}, change_message_delta: {delta: "stop", usage: "delta_usage"},
    stop: {container: "object|null", stop_details: "stop_details|null", stop_reason: "string|null", stop_sequence: "string|null"},
    change_content_block_start: {index: "integer", content_block: "block"}, change_content_block_delta: {index: "integer", delta: "object"},
    change_content_block_stop: {index: "integer"}
};
def variants: ["tool", "format", "item", "part", "annotation", "event", "block", "change"];
def problems_as($types; $path):
    . as $v | [$types | split("|")[] as $t
        | if $t == "any" or $t == ($v | type) or ($t == "integer" and ($v | type) == "number" and ($v | floor) == $v) then []
          elif $t[0:1] == "=" then (if $v == $t[1:] then [] else ["\($path): \($v | tojson)"] end)
          elif $t[0:1] == "[" then (if ($v | type) == "array" then [$v | to_entries[] | .key as $k | .value | problems_as($t[1:-1]; "\($path)[\($k)]")[]] else ["\($path): no list"] end)
          elif shapes[$t] == null then ["\($path): \($v | tojson)"]
          elif ($v | type) != "object" then ["\($path): no object"]
          else ([$t] + (if (variants | index($t)) and shapes["\($t)_\($v.type)"] then ["\($t)_\($v.type)"] else [] end)) as $names
            | [$names[] as $n | shapes[$n] | to_entries[] | . as $m
                | if ($v | has($m.key)) then ($v[$m.key] | problems_as($m.value; "\($path).\($m.key)")[]) else "\($path).\($m.key) is missing" end]
          end]
    | if any(.[]; . == []) then [] else .[0] end;
def problems($shape): problems_as($shape; "") | .[];
