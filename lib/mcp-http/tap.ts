import type { McpServer, Transport } from '@modelcontextprotocol/server';

/** Has a look at the transport that the SDK connects to this server, before it does: both of its entry points go through `connect`. */
export function tap(server: McpServer, look: (transport: Transport) => void): McpServer {
  const connect = server.connect.bind(server);
  server.connect = (transport) => {
    look(transport);
    return connect(transport);
  };
  return server;
}
