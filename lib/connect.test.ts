import { expect, test } from 'vitest';
import { clientName, instructions } from './connect.ts';

const servers = [
  { name: 'dev.toolyard/fetch', url: 'http://127.0.0.1:8001/mcp' },
  { name: 'org.example/weather.v2', url: "http://127.0.0.1:9000/mcp?a=1&b='x'" },
];
const lines = instructions(servers, 'http://127.0.0.1:8080');

test('the VS Code snippet is JSON that names every server', () => {
  expect(JSON.parse(lines.vscode.join('\n'))).toEqual({
    servers: {
      fetch: { type: 'http', url: servers[0]?.url },
      'weather-v2': { type: 'http', url: servers[1]?.url },
    },
  });
  expect(JSON.parse(`{${lines.vscodeGallery}}`)).toEqual({ 'chat.mcp.gallery.serviceUrl': 'http://127.0.0.1:8080' });
});

test('an address that a shell would read otherwise is quoted', () => {
  expect(lines.claudeCode).toEqual([
    'claude mcp add --transport http fetch http://127.0.0.1:8001/mcp',
    String.raw`claude mcp add --transport http weather-v2 'http://127.0.0.1:9000/mcp?a=1&b='\''x'\'''`,
  ]);
});

test('the Inspector is pinned to the version that this release was tested with', () => {
  expect(lines.inspector[0]).toMatch(/^npx -y @modelcontextprotocol\/inspector@\d+\.\d+\.\d+ --transport http --server-url http:\/\/127/);
});

test('a client name holds nothing that a tool name may not', () => {
  expect(clientName('io.github.someone/a_b.c')).toBe('a-b-c');
});

test('headers that a client has to send are in every line, each quoted', () => {
  const headers = [{ name: 'Authorization', value: "Bearer <it's>" }];
  const { claudeCode, vscode, inspector } = instructions(
    [{ name: 'org.example/a', url: 'https://a.example/sse', transport: 'sse', headers }],
    '',
  );
  const option = String.raw`--header 'Authorization: Bearer <it'\''s>'`;
  expect(claudeCode).toEqual([`claude mcp add --transport sse a https://a.example/sse ${option}`]);
  expect(inspector[0]).toContain(`--transport sse --server-url https://a.example/sse ${option}`);
  expect(JSON.parse(vscode.join(''))).toEqual({
    servers: { a: { type: 'sse', url: 'https://a.example/sse', headers: { Authorization: "Bearer <it's>" } } },
  });
});

test('nothing in a line is invisible, drawn elsewhere or another line', () => {
  const hostile = {
    name: 'org.example/a',
    url: 'https://a.example/\u202epcm\u200b b\ud800',
    headers: [{ name: 'X\n; id', value: '\u202ea\u0000' }],
  };
  const { claudeCode, vscode, inspector } = instructions([hostile], '');
  for (const line of [...claudeCode, ...vscode, ...inspector]) expect(line).toMatch(/^[\x20-\x7e]+$/);
  expect(claudeCode[0]).toContain('https://a.example/%E2%80%AEpcm%E2%80%8B%20b');
});
