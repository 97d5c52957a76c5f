// Version 2 of the TypeScript SDK: node v2.mjs VERSION stdio PROGRAM ARGS… | http URL, where VERSION is a protocol
// version of the era that is wanted.
import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { run } from './scenario.mjs';

const [version, kind, target, ...args] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${process.env.KEY}` };
const transports = {
  stdio: () => new StdioClientTransport({ command: target, args, stderr: 'ignore' }),
  http: () => new StreamableHTTPClientTransport(new URL(target), { requestInit: { headers } }),
};

const modern = version >= '2026-07-28';
const client = new Client({ name: 'v2', version: '1' }, modern ? { versionNegotiation: { mode: { pin: version } } } : {});
const complaints = [];
client.onerror = e => complaints.push(e.message);
await client.connect(transports[kind]());
assert.equal(client.getNegotiatedProtocolVersion(), version);
await run({
  tools: async () => (await client.listTools()).tools.map(t => t.name),
  call: (name, args, { progress, signal, timeout }) => client.callTool({ name, arguments: args },
    { signal, timeout, onprogress: progress && (p => progress(p.message ?? '')) }),
}, complaints, () => client.close());
