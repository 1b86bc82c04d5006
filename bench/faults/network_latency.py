"""High network latency to a server: what is sent to it arrives a few milliseconds later; before, at once."""

import contextlib
import subprocess
import sys

import server_neighbour
import servers

TITLE = "high network latency to a database server"
CONNECTIONS = 8
FINDINGS = {"network-latency"}
PARTS = {"round trips"}
WORKLOAD = server_neighbour.WORKLOAD
DELAY = """
import asyncio, sys
async def hold_back(reader, writer):
    loop = asyncio.get_running_loop()
    while (text := await reader.read(65536)): loop.call_later(float(sys.argv[2]), writer.write, text)
    loop.call_later(float(sys.argv[2]), writer.close)
async def serve(reader, writer):
    server_reader, server_writer = await asyncio.open_connection("127.0.0.1", int(sys.argv[1]))
    await asyncio.gather(hold_back(reader, server_writer), hold_back(server_reader, writer))
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[3]))
    print("ready", flush=True)
    await server.serve_forever()
asyncio.run(main())
"""
SERVERS = {"PostgreSQL": servers.postgres, "MariaDB": servers.mariadb}


@contextlib.contextmanager
def injected(server):
    near, port = server.url, server.port + 1
    between = subprocess.Popen([sys.executable, "-c", DELAY, str(server.port), "0.003", str(port)], stdout=subprocess.PIPE, text=True)
    between.stdout.readline()
    server.url = near.replace(f":{server.port}/", f":{port}/")
    try:
        yield
    finally:
        server.url = near
        between.kill()
        between.wait()
