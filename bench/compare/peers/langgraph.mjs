// langgraph.mjs -- LangGraph's ReAct agent with ChatAnthropic, messages streamed.
import { ChatAnthropic } from '@langchain/anthropic';
import { tool } from '@langchain/core/tools';
import { createReactAgent } from '@langchain/langgraph/prebuilt';
import { z } from 'zod';
import { add, compete, description, heard, url } from './contract.mjs';

const llm = new ChatAnthropic({ model: 'mock', apiKey: 'k', anthropicApiUrl: url, streaming: true, maxRetries: 0 });
const tools = [tool(add, { name: 'add', description, schema: z.object({ a: z.number(), b: z.number() }) })];
const agent = createReactAgent({ llm, tools });

await compete(async () => {
  const stream = await agent.stream({ messages: [{ role: 'user', content: 'go' }] },
    { streamMode: 'messages', recursionLimit: 1e6 });
  for await (const [message, where] of stream) {
    if (where.langgraph_node === 'agent') heard(message.text);
  }
});
