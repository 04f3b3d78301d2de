"""LangChain's adapter: makes the visit told on standard input, through the tools an agent would be given, and prints what it saw (visit.ts)."""

import asyncio
import json
import sys

from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_mcp_adapters.client import MultiServerMCPClient


async def visit(url, calls, prompt):
    client = MultiServerMCPClient({"server": {"transport": "http", "url": url}})
    info = await client.get_server_info()
    tools = {tool.name: tool for tool in await client.get_tools()}
    # as a model's tool calls come, so that failures come back as messages
    messages = [
        await tools[call["name"]].ainvoke({"type": "tool_call", "id": str(at), "name": call["name"], "args": call["arguments"]})
        for at, call in enumerate(calls)
    ]
    answer = prompt and await client.get_prompt("server", prompt["name"], arguments=prompt["arguments"])
    return {
        "revision": info["server"].protocolVersion,
        # as models are told of them
        "tools": [convert_to_openai_tool(tool)["function"]["name"] for tool in tools.values()],
        "results": [
            {
                "text": message.text,
                "structured": message.artifact and message.artifact["structured_content"],
                "isError": message.status == "error",
            }
            for message in messages
        ],
        "prompt": answer and "\n".join(message.text for message in answer),
    }


print(json.dumps(asyncio.run(visit(**json.load(sys.stdin)))))
