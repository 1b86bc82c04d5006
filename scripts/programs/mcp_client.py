"""The protocol's own client against `fenxi mcp`: mcp_client.py FENXI STORE."""

import asyncio
import base64
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(fenxi, store):
    server = StdioServerParameters(command=fenxi, args=["mcp", "--store", store, "--time-limit", "300"], env=dict(os.environ))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        hello = await session.initialize()
        assert hello.server_info.name == "fenxi", hello
        tools = {tool.name for tool in (await session.list_tools()).tools}
        assert {"list_runs", "catalogue", "ask", "sql", "findings", "explain", "compare", "chart"} <= tools, tools

        async def tell(name, **arguments):
            answer = await session.call_tool(name, arguments)
            assert not answer.is_error, (name, answer.content)
            return answer.content

        runs = json.loads((await tell("list_runs"))[0].text)["rows"]
        assert len(runs) >= 2, runs
        rows = json.loads((await tell("sql", q="SELECT count(*) AS n FROM cpu"))[0].text)["rows"]
        assert rows[0][0] > 0, rows
        table = json.loads((await tell("catalogue", table="cpu"))[0].text)
        assert any(column["name"] == "usr" and column["unit"] == "%" for column in table["columns"]), table
        for name, arguments in [
            ("questions", {}),
            ("ask", {"question": "cpu-summary"}),
            ("findings", {"run": ["@1"]}),
            ("compare", {"a": "@2", "b": "@1", "force": True}),
        ]:
            json.loads((await tell(name, **arguments))[0].text)
        picture = (await tell("chart", question="cpu-heatmap"))[0]
        assert picture.mime_type == "image/png" and base64.b64decode(picture.data).startswith(b"\x89PNG"), picture
        wrong = await session.call_tool("sql", {"q": "DELETE FROM cpu"})
        assert wrong.is_error, wrong
        listed = (await session.list_resources()).resources
        assert str(listed[0].uri) == "fenxi:///", listed
        page = (await session.read_resource(listed[1].uri)).contents[0]
        assert runs[0]["id"] in page.text, page
        assert (await session.list_resource_templates()).resource_templates
    print(f"mcp client: {len(tools)} tools, {len(listed)} resources, protocol {hello.protocol_version}")


asyncio.run(main(*sys.argv[1:3]))
