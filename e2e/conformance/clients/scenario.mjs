// What an agent does in a session, from create to destroy, as every client of the
// TypeScript SDKs has to see it. A client is { tools(), call(name, args, options) },
// whose options are { progress(text), signal, timeout }.
import assert from 'node:assert/strict';

const PARALLEL = 40, STEPS = 10;

export async function scenario(client) {
  const step = steps();
  const names = await client.tools();
  for (const name of ['sandbox_create', 'exec', 'exec_poll', 'exec_input', 'exec_kill', 'write_file', 'read_file',
    'edit_file', 'list_files', 'snapshot', 'fork', 'rollback', 'sandbox_destroy']) assert(names.includes(name), name);

  const box = new Sandbox(client, await ok(client, 'sandbox_create', { name: 'agent', env: { WHO: 'agent' } }));
  step('create');
  await files(box);
  step('files');
  await commands(box);
  step('commands');
  await cancels(box);
  step('cancel');
  await handOver(box);
  step('hand-over');
  await snapshots(box);
  step('snapshot, roll back, fork');
  await storm(box, 0.3);
  step(`${PARALLEL} calls with ${STEPS} steps of progress`);
  await storm(box, 0);
  step('the same without a pause');
  await box.do('sandbox_destroy');
  const list = await ok(client, 'sandbox_list', {});
  assert(!list.sandboxes.some(s => s.id === box.id));
  await refused(box, 'exec', { command: 'true' }, 'not_found');
  step('destroy');
}

class Sandbox {
  constructor(client, made) { this.client = client; this.id = made.id; }
  do(tool, args, options) { return ok(this.client, tool, { sandbox_id: this.id, ...args }, options); }
  exec(command, args, options) { return this.do('exec', { command, ...args }, options); }
}

// ok is the structured content of a call that must not fail.
async function ok(client, tool, args, options = {}) {
  const r = await client.call(tool, args, options);
  assert(!r.isError, `${tool}: ${JSON.stringify(r.content)}`);
  assert(r.content.some(c => c.type === 'text' && c.text.trim() !== ''), `${tool}: a result without text`);
  return r.structuredContent;
}

async function refused(box, tool, args, code) {
  const r = await box.client.call(tool, { sandbox_id: box.id, ...args }, {});
  assert(r.isError && r.content[0].text.startsWith(code + ': '), `${tool}: ${JSON.stringify(r)}`);
}

async function files(box) {
  await box.do('write_file', { path: 'app/run.sh', content: 'echo version 1 of $WHO\n' });
  assert.equal((await box.do('edit_file', { path: 'app/run.sh', old_text: 'version 1', new_text: 'version 2' })).replacements, 1);
  const read = await box.client.call('read_file', { sandbox_id: box.id, path: 'app/run.sh' }, {});
  assert(JSON.stringify(read).includes('version 2 of $WHO'), JSON.stringify(read));
  assert.deepEqual((await box.do('list_files', { path: 'app' })).entries.map(e => e.name), ['run.sh']);
  await refused(box, 'edit_file', { path: 'app/run.sh', old_text: 'nowhere', new_text: '' }, 'invalid_request');
  await refused(box, 'read_file', { path: 'none' }, 'not_found');
}

async function commands(box) {
  assert.equal((await box.exec('sh app/run.sh')).stdout, 'version 2 of agent\n');
  const r = await box.exec('echo out; echo err >&2; exit 3');
  assert.deepEqual([r.stdout, r.stderr, r.exit_code], ['out\n', 'err\n', 3]);
  assert((await box.exec('sleep 60', { timeout_seconds: 0.5 })).timed_out);
  // The command goes on only when its first line has been seen.
  let seen = '', went;
  const live = await box.exec('echo first; until [ -e go ]; do sleep 0.05; done; echo second', { timeout_seconds: 30 }, {
    progress: text => { seen += text; if (seen.includes('first')) went ??= box.exec('touch go'); },
  });
  await went;
  assert.equal(live.stdout, 'first\nsecond\n');
  assert.equal(seen, 'first\nsecond\n');
}

// cancels: a call that is given up, by hand or by a time limit, ends its command.
async function cancels(box) {
  const command = 'echo begun; sleep 300';
  const abort = new AbortController();
  await assert.rejects(box.exec(command, {}, { signal: abort.signal, progress: () => abort.abort('enough') }));
  await noSleep(box);
  await assert.rejects(box.exec(command, {}, { timeout: 1000 }));
  await noSleep(box);
}

const noSleep = box => until('the command ends', async () => (await box.exec('pidof sleep')).exit_code === 1);

async function handOver(box) {
  let x = await box.exec('echo one; until [ -e go2 ]; do sleep 0.05; done; echo two', { wait_seconds: 0.5 });
  assert.deepEqual([x.status, x.stdout], ['running', 'one\n']);
  await box.exec('touch go2');
  x = await box.do('exec_poll', { exec_id: x.exec_id, cursor: x.cursor });
  assert.deepEqual([x.status, x.stdout, x.exit_code], ['exited', 'two\n', 0]);

  x = await box.exec('cat', { background: true });
  x = await box.do('exec_input', { exec_id: x.exec_id, input: 'typed\n' });
  await until('what was typed comes back', async () =>
    (await box.do('exec_poll', { exec_id: x.exec_id, wait_seconds: 0 })).stdout === 'typed\n');
  await box.do('exec_kill', { exec_id: x.exec_id });
  x = await box.do('exec_poll', { exec_id: x.exec_id });
  assert.equal(x.status, 'exited');
}

async function snapshots(box) {
  const good = await box.do('snapshot', { name: 'good' });
  await box.exec('rm -r app; echo broken > broken');
  await box.do('rollback', { snapshot_id: good.id });
  assert.equal((await box.exec('ls broken; sh app/run.sh')).stdout, 'version 2 of agent\n');
  const { sandboxes, errors } = await ok(box.client, 'fork', { snapshot_id: good.id, count: 2, env: { WHO: 'fork' } });
  assert.deepEqual([sandboxes.length, errors.length], [2, 0]);
  await Promise.all(sandboxes.map(async (made, i) => {
    const fork = new Sandbox(box.client, made);
    assert.equal((await fork.exec(`sed -i s/2/${i + 3}/ app/run.sh; sh app/run.sh`)).stdout, `version ${i + 3} of fork\n`);
    await fork.do('sandbox_destroy');
  }));
  assert.equal((await box.exec('sh app/run.sh')).stdout, 'version 2 of agent\n');
  await ok(box.client, 'snapshot_delete', { snapshot_id: good.id });
}

// storm: each of many calls at a time hears of itself all that there is, in order.
async function storm(box, pause) {
  const want = i => Array.from({ length: STEPS }, (_, n) => `${i}.${n}\n`).join('');
  const calls = await Promise.all(Array.from({ length: PARALLEL }, async (_, i) => {
    let seen = '';
    const r = await box.exec(`for n in 0 1 2 3 4 5 6 7 8 9; do echo ${i}.$n; ${pause ? 'sleep ' + pause : ':'}; done`, {}, { progress: text => { seen += text; } });
    assert.equal(r.stdout, want(i));
    return seen;
  }));
  const missing = calls.reduce((n, seen, i) => n + (want(i).match(/.+/g).filter(line => !seen.split('\n').includes(line)).length), 0);
  assert.equal(missing, 0, `${missing} of ${PARALLEL * STEPS} steps are missing`);
  calls.forEach((seen, i) => assert.equal(seen, want(i)));
}

async function until(what, good) {
  for (const deadline = Date.now() + 20_000; !(await good());) assert(Date.now() < deadline, `not in time: ${what}`);
}

function steps() {
  let last = performance.now();
  return what => {
    const now = performance.now();
    console.log(`${(now - last).toFixed(0).padStart(6)} ms  ${what}`);
    last = now;
  };
}

// run is the end of every client's program: what the SDK complains of is a failure.
export async function run(client, complaints, close) {
  try {
    await scenario(client);
    await close();
    assert.deepEqual(complaints, []);
  } catch (e) {
    console.error(e);
    console.error('the client complained of', complaints);
    process.exit(1);
  }
  process.exit(0);
}
