import type { IncomingHttpHeaders } from 'node:http';
import { localhostAllowedHostnames, validateHostHeader, validateOriginHeader } from '@modelcontextprotocol/server';
import { isIPv6 } from 'node:net';
import type { McpHostSettings } from './config.ts';

const UNSPECIFIED = new Set(['0.0.0.0', '::']);

/** Host names under which /mcp may be called: loopback's, the address listened on, PUBLIC_HOSTS. */
export function admittedHosts({ HOST, PUBLIC_HOSTS }: Pick<McpHostSettings, 'HOST' | 'PUBLIC_HOSTS'>): readonly string[] {
  const own = UNSPECIFIED.has(HOST) ? [] : [isIPv6(HOST) ? `[${HOST}]` : HOST.toLowerCase()];
  const configured = (PUBLIC_HOSTS ?? '').split(',').map((host) => host.trim().toLowerCase());
  return [...localhostAllowedHostnames(), ...own, ...configured.filter((host) => host !== '')];
}

/**
 * Why a request must be refused, undefined when it may pass. Keeps web pages, also those that rebind their own name to this address, from
 * using a server through the browser of somebody who can reach it (MCP specification, transports, security warning).
 */
export function refusalOf(headers: IncomingHttpHeaders, admitted: readonly string[]): string | undefined {
  const host = validateHostHeader(headers.host, [...admitted]);
  if (!host.ok) return `${host.message}: not a name of this server; add it to PUBLIC_HOSTS if it should be one`;
  const origin = validateOriginHeader(headers.origin, [...admitted]);
  if (!origin.ok) return `${origin.message}: pages from there may not call this server; add the host to PUBLIC_HOSTS if they should`;
  return undefined;
}
