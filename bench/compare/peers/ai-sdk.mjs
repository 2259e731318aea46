// ai-sdk.mjs -- Vercel's AI SDK: streamText with tools, over the Messages API.
import { createAnthropic } from '@ai-sdk/anthropic';
import { stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { add, compete, description, heard, url } from './contract.mjs';

const model = createAnthropic({ baseURL: `${url}/v1`, apiKey: 'k' })('mock');
const tools = { add: tool({ description, inputSchema: z.object({ a: z.number(), b: z.number() }), execute: add }) };

await compete(async () => {
  const run = streamText({ model, tools, prompt: 'go', maxOutputTokens: 1024, stopWhen: stepCountIs(1e6), maxRetries: 0 });
  for await (const piece of run.textStream) heard(piece);
});
