"""The Python SDK's client, version 2: makes the visit told on standard input, in the mode of its argument, and prints what it saw (visit.ts)."""

import asyncio
import json
import sys

from mcp import Client


async def visit(url, calls, prompt):
    async with Client(url, mode=sys.argv[1]) as client:
        tools = await client.list_tools()
        results = [await client.call_tool(call["name"], call["arguments"]) for call in calls]
        answer = prompt and await client.get_prompt(prompt["name"], prompt["arguments"])
        return {
            "revision": client.protocol_version,
            "tools": [tool.name for tool in tools.tools],
            "results": [
                {
                    "text": "\n".join(block.text for block in result.content),
                    "structured": result.structured_content,
                    "isError": result.is_error,
                }
                for result in results
            ],
            "prompt": answer and "\n".join(message.content.text for message in answer.messages),
        }


print(json.dumps(asyncio.run(visit(**json.load(sys.stdin)))))
