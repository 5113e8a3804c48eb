// sdk.mjs NAME PROMPT: a program that asks once through an SDK, prints the answer as it
// comes, and lets an error end it.  Base URL and key are in the environment.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [name, prompt] = process.argv.slice(2);
const found = createRequire(process.env.MODULES + '/any.js');
const load = (module) => import(pathToFileURL(found.resolve(module)).href);
const say = (text) => process.stdout.write(text ?? '');

async function stream(model) {
  const { streamText } = await load('ai');
  let error;
  const result = streamText({ model, prompt, onError: (e) => { error = e.error; } });
  for await (const text of result.textStream) say(text);
  if (error) throw error;
}

const programs = {
  async 'anthropic-sdk'() {
    const { default: Anthropic } = await load('@anthropic-ai/sdk');
    const messages = [{ role: 'user', content: prompt }];
    const events = new Anthropic().messages.stream({ model: 'claude-sonnet-4-5', max_tokens: 500, messages });
    for await (const e of events) if (e.type === 'content_block_delta') say(e.delta.text);
    if ((await events.finalMessage()).usage.output_tokens === 0) throw new Error('no usage');
  },
  async 'openai-sdk-responses'() {
    const { default: OpenAI } = await load('openai');
    for await (const e of await new OpenAI().responses.create({ model: 'gpt-5', input: prompt, stream: true }))
      if (e.type === 'response.output_text.delta') say(e.delta);
  },
  async 'openai-sdk-chat'() {
    const { default: OpenAI } = await load('openai');
    const messages = [{ role: 'user', content: prompt }];
    for await (const c of await new OpenAI().chat.completions.create({ model: 'gpt-5', messages, stream: true })) {
      if (c.choices.length === 0) throw new Error('a chunk of usage that was not asked for');
      say(c.choices[0].delta.content);
    }
  },
  async 'ai-anthropic'() {
    const { createAnthropic } = await load('@ai-sdk/anthropic');
    await stream(createAnthropic({ baseURL: process.env.BASE_URL })('claude-sonnet-4-5'));
  },
  async 'ai-openai'() {
    const { createOpenAI } = await load('@ai-sdk/openai');
    await stream(createOpenAI({ baseURL: process.env.BASE_URL })('gpt-5'));
  },
  async 'ai-google'() {
    const { createGoogleGenerativeAI } = await load('@ai-sdk/google');
    await stream(createGoogleGenerativeAI({ baseURL: process.env.BASE_URL })('gemini-2.5-flash'));
  },
  async 'ai-gateway'() {
    const { createGateway } = await load('@ai-sdk/gateway');
    await stream(createGateway({ baseURL: process.env.BASE_URL })('anthropic/claude-sonnet-4.5'));
  },
};

try {
  await programs[name]();
  say('\n');
} catch (e) {
  console.error(String(e.stack ?? e));
  process.exitCode = 1;
}
