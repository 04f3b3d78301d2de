import { createHash } from 'node:crypto';
import type { OutgoingHttpHeaders } from 'node:http';
import { html, type Html } from './html.ts';
import { meanings, states, type State } from './state.ts';
import { script } from './script.ts';
import { style } from './style.ts';

/** A page loads nothing, runs and shows only what it carries itself, asks and posts to this registry alone, and is framed by nobody. */
const policy = [
  "default-src 'none'",
  `style-src '${hashOf(style)}'`,
  `script-src '${hashOf(script)}'`,
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

export const pageHeaders: OutgoingHttpHeaders = {
  'content-security-policy': policy,
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
};

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

interface PageOptions {
  /** of the window */
  readonly title: string;
  readonly main: Html;
  /** those that the page shows: they are explained below it */
  readonly states?: readonly State[];
}

/** The whole document. */
export function page({ title, main, states: shown = [] }: PageOptions): string {
  const head = html`<meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${title}</title>`;
  const body = html`<a class="skip" href="#main">Skip to the content</a>
    <header class="bar">
      <div>
        <a class="brand" href="/">MCP registry</a>
        <nav aria-label="API">
          <ul>
            <li><a href="/v0.1/servers?version=latest">API</a></li>
            <li><a href="/openapi.yaml">OpenAPI</a></li>
          </ul>
        </nav>
      </div>
    </header>
    <main id="main" tabindex="-1">${main}</main>
    ${shown.length > 0 ? legend(shown) : undefined}`;
  return `<!doctype html>
<html lang="en">
<head>${head.markup}
<style>${style}</style>
</head>
<body>${body.markup}
<script>${script}</script>
</body>
</html>
`;
}

function legend(shown: readonly State[]): Html {
  const terms = states
    .filter((state) => shown.includes(state))
    .map(
      (state) =>
        html`<div>
          <dt>${badge(state)}</dt>
          <dd>${meanings[state]}</dd>
        </div>`,
    );
  return html`<footer>
    <dl>${terms}</dl>
  </footer>`;
}

/** A state as a shape and its word. */
export function badge(state: State): Html {
  return html`<span class="state ${state}">${wordOf(state)}</span>`;
}

export function wordOf(state: State): string {
  return `${state.charAt(0).toUpperCase()}${state.slice(1)}`;
}

/** `2,000`. The locale's own way takes tens of milliseconds when it is first used. */
export function grouped(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
}

/** `1 server`, `2,000 servers` */
export function plural(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`;
}

const NAME = /^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/;

/** The page of a name, or of one of its versions; undefined for what is no name. */
export function serverAddress(name: string, version?: string): string | undefined {
  if (!NAME.test(name)) return undefined;
  return `/servers/${name}${version === undefined ? '' : `?${new URLSearchParams({ version }).toString()}`}`;
}
