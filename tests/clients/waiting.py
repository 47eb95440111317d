"""Waiting for what the server does by itself: by asking again until a deadline, never by one sleep that is hoped to be long enough."""

import asyncio
import time

SECONDS = 20


def until(probe, seconds=SECONDS):
    """Calls `probe` until it gives something true, and returns that."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = probe()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError(f"did not come true within {seconds} seconds: {probe}")


async def until_async(probe, seconds=SECONDS):
    """The same for a `probe` that is awaited."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = await probe()
        if found:
            return found
        await asyncio.sleep(0.01)
    raise AssertionError(f"did not come true within {seconds} seconds: {probe}")
