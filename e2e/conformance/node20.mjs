// The conformance suite imports fs.globSync, which Node.js has since version 22, and
// uses it only in a command that is not used here. This lets it start on version 20.
import fs from 'node:fs';
import { register } from 'node:module';

const inline = code => 'data:text/javascript,' + encodeURIComponent(code);

if (!fs.globSync) {
  const withGlob = inline(`
    import fs from 'node:fs';
    export * from 'node:fs';
    export default fs;
    export const globSync = () => [];`);
  register(inline(`
    export async function resolve(name, context, next) {
      const suite = /node_modules\\/conformance(-next)?\\//.test(context.parentURL ?? '');
      return suite && name === 'fs' ? { url: ${JSON.stringify(withGlob)}, shortCircuit: true } : next(name, context);
    }`));
}
