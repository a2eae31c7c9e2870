"""A client of an SDK whose calls are noted, and the check that every public method was called.

`Noted` makes the blocking client look like the other one: a result may be awaited or iterated over with
`async for`, while the call itself runs on another thread.
"""
import asyncio
import inspect

_END = object()


class _Blocking:
    """The result of a call of the blocking client."""

    def __init__(self, call):
        self._call = call

    def __await__(self):
        return asyncio.to_thread(self._call).__await__()

    async def __aiter__(self):
        items = iter(self._call())
        while (item := await asyncio.to_thread(next, items, _END)) is not _END:
            yield item


async def _items(stream):
    """The items of a stream, also of one that has to be awaited first."""
    async for item in (await stream if inspect.isawaitable(stream) else stream):
        yield item


class Noted:
    def __init__(self, target, used, blocking, name=""):
        self._target, self._used, self._blocking, self._name = target, used, blocking, name

    def __getattr__(self, name):
        member = getattr(self._target, name)
        full = f"{self._name}.{name}".lstrip(".")
        if not callable(member):
            return Noted(member, self._used, self._blocking, full)

        def call(*arguments, **options):
            self._used.add(full)
            if self._blocking:
                return _Blocking(lambda: member(*arguments, **options))
            result = member(*arguments, **options)
            if "AsyncIterator" in str(inspect.signature(member).return_annotation):
                return _items(result)
            return result
        return call


def public_methods(target):
    return {name for name, _ in inspect.getmembers(type(target), callable) if not name.startswith("_")}


def public_methods_of_client(client):
    """Those of the client and its sub-clients: threads.create …"""
    found = set(public_methods(client))
    for name, part in vars(client).items():
        if not name.startswith("_"):
            found |= {f"{name}.{method}" for method in public_methods(part)}
    return found


def unused(found, used, left_out):
    """Lines about methods that neither a test calls nor a reason excuses."""
    lines = [f"no test calls {name}" for name in sorted(found - used - set(left_out))]
    lines += [f"{name} is left out, but it is called" for name in sorted(used & set(left_out))]
    return lines + [f"{name} is left out, but the SDK lacks it" for name in sorted(set(left_out) - found)]
