"""The Python SDK's client, version 1: makes the visit told on standard input and prints what it saw (visit.ts)."""

import asyncio
import json
import sys

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client


async def visit(url, calls, prompt):
    async with streamable_http_client(url) as (read, write, _), ClientSession(read, write) as client:
        server = await client.initialize()
        tools = await client.list_tools()
        results = [await client.call_tool(call["name"], call["arguments"]) for call in calls]
        answer = prompt and await client.get_prompt(prompt["name"], prompt["arguments"])
        return {
            "revision": server.protocolVersion,
            "tools": [tool.name for tool in tools.tools],
            "results": [
                {
                    "text": "\n".join(block.text for block in result.content),
                    "structured": result.structuredContent,
                    "isError": result.isError,
                }
                for result in results
            ],
            "prompt": answer and "\n".join(message.content.text for message in answer.messages),
        }


print(json.dumps(asyncio.run(visit(**json.load(sys.stdin)))))
