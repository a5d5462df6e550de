#!/usr/bin/env python3
"""A door from this machine into a host of the lab: a port here leads to a port there.

    door.py PORT COMMAND…    listens on 127.0.0.1:PORT (0: any), says where, and runs COMMAND with
                             that socket as its standard input
    door.py - PORT           lets those who come to such a socket through to 127.0.0.1:PORT

A socket stays in the network in which it was made, whoever uses it. So the first opens it here, and
COMMAND runs the second on the host.
"""
import asyncio
import os
import socket
import sys


async def copy(reader, writer):
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


async def serve(port):
    async def enter(reader, writer):
        try:
            inside = await asyncio.open_connection("127.0.0.1", port)
        except OSError as error:
            print(f"door.py: nobody answers at port {port}: {error}", file=sys.stderr)
            writer.close()
            return
        await asyncio.gather(copy(reader, inside[1]), copy(inside[0], writer))

    server = await asyncio.start_server(enter, sock=socket.socket(fileno=0))
    await server.serve_forever()


def main(words):
    if words[0] == "-":
        asyncio.run(serve(int(words[1])))
        return
    door = socket.create_server(("127.0.0.1", int(words[0])))
    os.dup2(door.fileno(), 0, inheritable=True)
    print(f"http://127.0.0.1:{door.getsockname()[1]}/", flush=True)
    os.execvp(words[1], words[1:])


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1:])
