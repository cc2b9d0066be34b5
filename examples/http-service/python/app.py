"""A small HTTP service: a greeting, JSON that comes back, an echo that streams, and a request of its own.

The modules `wit_world` and `poll_loop` are made by componentize-py when the component is built.
"""

import asyncio
import json
from urllib.parse import SplitResult, parse_qs, urlsplit

import poll_loop
from componentize_py_types import Err, Ok
from poll_loop import PollLoop, Sink, Stream
from wit_world import exports
from wit_world.imports.streams import StreamError_Closed
from wit_world.imports.types import (
    Fields,
    IncomingBody,
    IncomingRequest,
    Method_Get,
    Method_Post,
    OutgoingBody,
    OutgoingRequest,
    OutgoingResponse,
    ResponseOutparam,
    Scheme_Http,
    Scheme_Https,
)

# The most bytes that are sent on at once.
PIECE = 64 * 1024


class IncomingHandler(exports.IncomingHandler):
    """What `wasi:http/incoming-handler` asks for: one call for each request."""

    def handle(self, request: IncomingRequest, response_out: ResponseOutparam) -> None:
        loop = PollLoop()
        asyncio.set_event_loop(loop)
        loop.run_until_complete(answer(request, response_out))


async def answer(request: IncomingRequest, out: ResponseOutparam) -> None:
    url = urlsplit(request.path_with_query() or "/")
    match request.method(), url.path:
        case Method_Get(), "/":
            await text(out, 200, "Hello from Python\n")
        case Method_Post(), "/json":
            await received(request, out)
        case Method_Post(), "/echo":
            pipe(request.consume(), begin(out, 200, "application/octet-stream"))
        case Method_Get(), "/fetch":
            await fetch(out, parse_qs(url.query).get("url", [""])[0])
        case _:
            await text(out, 404, "there is no such method and path\n")


async def received(request: IncomingRequest, out: ResponseOutparam) -> None:
    content = bytearray()
    stream = Stream(request.consume())
    while (chunk := await stream.next()) is not None:
        content += chunk
    try:
        answered = json.dumps({"method": "POST", "received": json.loads(content)})
    except ValueError as error:
        await text(out, 400, f"the body is not JSON: {error}\n")
    else:
        await text(out, 200, answered, "application/json")


async def fetch(out: ResponseOutparam, url: str) -> None:
    """Gets `url`, and gives back its status and its body as that comes."""
    if not url:
        await text(out, 400, "give a URL: /fetch?url=\n")
        return
    try:
        answered = await poll_loop.send(get(urlsplit(url)))
    except Err as error:
        await text(out, 502, f"{url} did not answer: {error.value}\n")
        return
    pipe(answered.consume(), begin(out, answered.status(), "application/octet-stream"))


def get(url: SplitResult) -> OutgoingRequest:
    request = OutgoingRequest(Fields.from_list([]))
    request.set_method(Method_Get())
    request.set_scheme(Scheme_Https() if url.scheme == "https" else Scheme_Http())
    request.set_authority(url.netloc)
    request.set_path_with_query(url._replace(scheme="", netloc="", fragment="").geturl() or "/")
    return request


def begin(out: ResponseOutparam, status: int, media_type: str) -> OutgoingBody:
    """Sends the head of a response, and answers its body."""
    response = OutgoingResponse(Fields.from_list([("content-type", media_type.encode())]))
    response.set_status_code(status)
    body = response.body()
    ResponseOutparam.set(out, Ok(response))
    return body


async def text(out: ResponseOutparam, status: int, content: str, media_type: str = "text/plain") -> None:
    sink = Sink(begin(out, status, media_type))
    await sink.send(content.encode())
    sink.close()


def pipe(body: IncomingBody, response: OutgoingBody) -> None:
    """Sends a body on as it comes. The host moves the pieces: none of them enters this component."""
    with body.stream() as source, response.write() as sink:
        try:
            while True:
                sink.blocking_splice(source, PIECE)
        except Err as error:
            if not isinstance(error.value, StreamError_Closed):
                raise
    OutgoingBody.finish(response, None)
