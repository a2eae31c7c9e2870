"""The network between the hosts of a test: carries bytes between ports, and treats them as ordered.

Arguments: LINK=LISTEN_HOST:PORT=TARGET_HOST:PORT=DIALER for each link; DIALER (home or worker) is the
side that connects to the relay. Orders are JSON objects, one a line, on standard input; each is
answered by a line with what the link has carried.

  {"link": "b", "way": "up", "stall": true}     no byte passes: a silent cut. TCP keeps them.
  {..., "delay_ms": 200, "jitter": 0.5}         each piece comes later, in order
  {..., "rate": 125000}                         bytes a second
  {..., "gap": [0.05, 200]}                     as a lost packet: with this probability, a piece and all
                                                after it come so many ms later
  {..., "reset_after": 1000}                    the connection is reset after so many more bytes
  {..., "corrupt_after": 1000}                  a bit of a byte is turned over, once
  {..., "replay_after": 1000, "replay": 200}    these bytes come twice, once
  {"link": "b", "cut": true}                    connections are reset now
  {"link": "b", "half_open": true}              those there are go silent for ever, new ones work
  {"link": "b", "refuse": true}                 new connections are reset

`way` is up (worker to home), down, or both, which is the default.
"""
import asyncio
import collections
import json
import random
import socket
import struct
import sys

PIECE = 16 << 10
HELD_MAX = 64 << 10  # bytes a direction holds: a network is not a store
SLOW_BUFFER = 4 << 10


class Way:
    """The treatment of the bytes of one direction of a link."""

    def __init__(self):
        self.stall = False
        self.delay_ms, self.jitter, self.gap = 0, 0, (0, 0)
        self.rate = 0
        self.reset_after = self.corrupt_after = self.replay_after = None
        self.replay = 0
        self.carried = 0
        self.changed = asyncio.Event()

    def take(self, order):
        for name, what in order.items():
            if name in ("link", "way"):
                continue
            assert name in vars(self), name
            setattr(self, name, what)
        self.changed.set()
        self.changed = asyncio.Event()

    def wait_s(self, chance):
        wait = self.delay_ms * (1 + self.jitter * chance.uniform(-1, 1))
        often, how_long = self.gap
        if often and chance.random() < often:
            wait += how_long
        return wait / 1000

    def damage(self, data):
        """The bytes as they arrive, and whether the connection is reset after them."""
        is_reset = False
        if self.corrupt_after is not None:
            if self.corrupt_after < len(data):
                data = bytearray(data)
                data[self.corrupt_after] ^= 1
                self.corrupt_after = None
            else:
                self.corrupt_after -= len(data)
        if self.replay_after is not None:
            if self.replay_after < len(data):
                at, self.replay_after = self.replay_after, None
                data = data[:at] + data[max(0, at - self.replay):at] + data[at:]
            else:
                self.replay_after -= len(data)
        if self.reset_after is not None:
            if self.reset_after < len(data):
                data, is_reset, self.reset_after = data[:self.reset_after], True, None
            else:
                self.reset_after -= len(data)
        return data, is_reset


class Connection:
    """Two sockets, and a task for each direction that reads and one that writes."""

    def __init__(self, link, worker_side, home_side):
        self.link = link
        self.sockets = worker_side, home_side
        self.silent = False
        self.over = asyncio.Event()

    async def carry(self):
        worker, home = self.sockets
        ways = self.link.ways
        tasks = []
        for source, target, way in [(worker, home, ways["up"]), (home, worker, ways["down"])]:
            held = collections.deque()
            news = asyncio.Condition()
            tasks.append(asyncio.create_task(self.read(source, held, news, way)))
            tasks.append(asyncio.create_task(self.write(target, held, news, way)))
        await self.over.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for one in self.sockets:
            one.close()

    def reset(self):
        for one in self.sockets:
            try:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            except OSError:
                pass
        self.over.set()

    async def pass_stall(self, way):
        while way.stall or self.silent:
            await way.changed.wait()

    async def read(self, source, held, news, way):
        loop = asyncio.get_running_loop()
        last = 0
        while True:
            await self.pass_stall(way)
            async with news:
                await news.wait_for(lambda: sum(len(d) for _, d in held) < HELD_MAX)
            try:
                data = await loop.sock_recv(source, SLOW_BUFFER if way.rate else PIECE)
            except OSError:
                data = None
            last = max(last, loop.time() + way.wait_s(self.link.chance))
            async with news:
                held.append((last, data if data is not None else b""))
                news.notify_all()
            if not data:
                return

    async def write(self, target, held, news, way):
        loop = asyncio.get_running_loop()
        while True:
            async with news:
                await news.wait_for(lambda: held)
                due, data = held[0]
            await asyncio.sleep(max(0, due - loop.time()))
            await self.pass_stall(way)
            if not data:
                return self.reset()
            data, is_reset = way.damage(data)
            try:
                await self.put(target, data, way)
            except OSError:
                return self.reset()
            if is_reset:
                return self.reset()
            async with news:
                held.popleft()
                news.notify_all()

    async def put(self, target, data, way):
        loop = asyncio.get_running_loop()
        while data:
            size = max(1, way.rate // 50) if way.rate else len(data)
            await self.pass_stall(way)
            await loop.sock_sendall(target, data[:size])
            way.carried += min(size, len(data))
            if way.rate:
                await asyncio.sleep(min(size, len(data)) / way.rate)
            data = data[size:]


class Link:
    def __init__(self, name, listen, target, dialer, seed):
        self.name, self.listen, self.target, self.dialer = name, listen, target, dialer
        self.chance = random.Random(f"{seed} {name}")
        self.ways = {"up": Way(), "down": Way()}
        self.connections = set()
        self.made = 0
        self.refuse = False

    async def serve(self):
        loop = asyncio.get_running_loop()
        with socket.create_server(self.listen, backlog=64) as door:
            door.setblocking(False)
            while True:
                near, _ = await loop.sock_accept(door)
                asyncio.create_task(self.join(near))

    async def join(self, near):
        self.made += 1
        near.setblocking(False)
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        far = socket.socket()
        far.setblocking(False)
        far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sides = (far, near) if self.dialer == "home" else (near, far)
        one = Connection(self, *sides)
        try:
            if self.refuse:
                raise OSError("refused")
            # A cut network takes no connection either; here it stays half made.
            while self.ways["up"].stall or self.ways["down"].stall:
                await next(w for w in self.ways.values() if w.stall).changed.wait()
            await asyncio.wait_for(asyncio.get_running_loop().sock_connect(far, self.target), 5)
        except (OSError, asyncio.TimeoutError):
            one.reset()
            near.close()
            far.close()
            return
        self.connections.add(one)
        await one.carry()
        self.connections.discard(one)

    def take(self, order):
        if order.get("cut"):
            for one in self.connections:
                one.reset()
        elif order.get("half_open"):
            for one in self.connections:
                one.silent = True
            for way in self.ways.values():
                way.take({})
        elif "refuse" in order:
            self.refuse = order["refuse"]
        else:
            way = order.get("way", "both")
            for name in self.ways if way == "both" else [way]:
                self.ways[name].take(order)

    def carried(self):
        return {"link": self.name, "connections": self.made, "open": len(self.connections),
                **{name: way.carried for name, way in self.ways.items()}}


def endpoint(text):
    host, _, port = text.rpartition(":")
    return host, int(port)


async def main(arguments):
    seed, *texts = arguments
    links = {}
    for text in texts:
        name, listen, target, dialer = text.split("=")
        links[name] = Link(name, endpoint(listen), endpoint(target), dialer, seed)
    for link in links.values():
        asyncio.create_task(link.serve())
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    print("ready", flush=True)
    while line := await reader.readline():
        order = json.loads(line)
        link = links[order["link"]]
        link.take(order)
        print(json.dumps(link.carried()), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
