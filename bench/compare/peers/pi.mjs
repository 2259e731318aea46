// pi.mjs -- pi's agent core, over the Messages API.
import { Agent } from '@earendil-works/pi-agent-core';
import { Type } from '@earendil-works/pi-ai';
import { add, compete, description, heard, url } from './contract.mjs';

const model = {
  id: 'mock', name: 'mock', api: 'anthropic-messages', provider: 'anthropic', baseUrl: url, reasoning: false,
  input: ['text'], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 1e7, maxTokens: 1024,
};
const tools = [{
  name: 'add', label: 'add', description, parameters: Type.Object({ a: Type.Number(), b: Type.Number() }),
  execute: async (id, params) => ({ content: [{ type: 'text', text: await add(params) }], details: {} }),
}];

await compete(async () => {
  const agent = new Agent({ initialState: { systemPrompt: '', model, tools }, getApiKey: () => 'k' });
  agent.subscribe((event) => {
    if (event.type === 'message_update' && event.assistantMessageEvent.type === 'text_delta') heard(event.assistantMessageEvent.delta);
  });
  await agent.prompt('go');
  if (agent.state.errorMessage) throw new Error(agent.state.errorMessage);
});
