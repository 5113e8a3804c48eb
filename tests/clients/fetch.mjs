// fetch.mjs NAME URL: a program that fetches one URL as NAME does it, prints what it got,
// and lets an error end it as an error that nobody catches does.  The proxy is in the
// environment.
import http from 'node:http';
import https from 'node:https';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [name, url] = process.argv.slice(2);
const found = createRequire(process.env.MODULES + '/any.js');
const load = (module) => import(pathToFileURL(found.resolve(module)).href);
const say = (status, text) => console.log(status, text);
const get = (options) => (url.startsWith('https:') ? https : http).get(url, options, (answer) => {
  let text = '';
  answer.on('data', (piece) => { text += piece; }).on('end', () => say(answer.statusCode, text));
});

const programs = {
  async undici() {
    const { ProxyAgent, request } = await load('undici');
    const answer = await request(url, { dispatcher: new ProxyAgent(process.env.HTTPS_PROXY) });
    say(answer.statusCode, await answer.body.text());
  },
  async 'undici-env'() {
    const { EnvHttpProxyAgent, fetch } = await load('undici');
    const answer = await fetch(url, { dispatcher: new EnvHttpProxyAgent() });
    say(answer.status, await answer.text());
  },
  async axios() {
    const { default: axios } = await load('axios');
    const answer = await axios.get(url, { responseType: 'text' });
    say(answer.status, answer.data);
  },
  async 'https-proxy-agent'() {
    const { HttpsProxyAgent } = await load('https-proxy-agent');
    get({ agent: new HttpsProxyAgent(process.env.HTTPS_PROXY) });
  },
  async 'node-fetch'() {
    const answer = await fetch(url);
    say(answer.status, await answer.text());
  },
  async 'node-https'() {
    get({});
  },
};

await programs[name]();
