// Version 1 of the TypeScript SDK: node v1.mjs stdio PROGRAM ARGS… | http URL | sse URL
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { run } from './scenario.mjs';

const [kind, target, ...args] = process.argv.slice(2);
const Authorization = `Bearer ${process.env.KEY}`;
const transports = {
  stdio: () => new StdioClientTransport({ command: target, args, stderr: 'ignore' }),
  http: () => new StreamableHTTPClientTransport(new URL(target), { requestInit: { headers: { Authorization } } }),
  sse: () => new SSEClientTransport(new URL(target), {
    requestInit: { headers: { Authorization } },
    eventSourceInit: { fetch: (url, init) => fetch(url, { ...init, headers: { ...init.headers, Authorization } }) },
  }),
};

const client = new Client({ name: 'v1', version: '1' });
const complaints = [];
client.onerror = e => complaints.push(e.message);
await client.connect(transports[kind]());
await run({
  tools: async () => (await client.listTools()).tools.map(t => t.name),
  call: (name, args, { progress, signal, timeout }) => client.callTool({ name, arguments: args }, undefined,
    { signal, timeout, onprogress: progress && (p => progress(p.message ?? '')) }),
}, complaints, () => client.close());
