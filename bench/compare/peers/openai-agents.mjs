// openai-agents.mjs -- OpenAI's Agents SDK: run with streaming, over Chat Completions, without tracing.
import { Agent, OpenAIChatCompletionsModel, run, setTracingDisabled, tool } from '@openai/agents';
import OpenAI from 'openai';
import { z } from 'zod';
import { add, compete, description, heard, url } from './contract.mjs';

setTracingDisabled(true);
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'k', maxRetries: 0 });
const agent = new Agent({
  name: 'peer',
  model: new OpenAIChatCompletionsModel(client, 'mock'),
  tools: [tool({ name: 'add', description, parameters: z.object({ a: z.number(), b: z.number() }), execute: add })],
});

await compete(async () => {
  const stream = await run(agent, 'go', { stream: true, maxTurns: 1e6 });
  for await (const piece of stream.toTextStream()) heard(piece);
  await stream.completed;
});
