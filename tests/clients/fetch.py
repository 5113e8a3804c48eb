"""fetch.py NAME URL: fetches one URL as NAME does it; an error ends it.  The proxy is in the environment."""
import asyncio
import sys

name, url = sys.argv[1:]


def requests():
    import requests as library
    answer = library.get(url)
    return answer.status_code, answer.text


def httpx():
    import httpx as library
    answer = library.get(url)
    return answer.status_code, answer.text


def aiohttp():
    import aiohttp as library

    async def get():
        async with library.ClientSession(trust_env=True) as session, session.get(url) as answer:
            return answer.status, await answer.text()
    return asyncio.run(get())


print(*{"requests": requests, "httpx": httpx, "aiohttp": aiohttp}[name]())
