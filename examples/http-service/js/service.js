// A small HTTP service: a greeting, JSON that comes back, an echo that streams, and a request of its own.

addEventListener("fetch", (event) => event.respondWith(answer(event.request)));

async function answer(request) {
  const url = new URL(request.url);
  switch (`${request.method} ${url.pathname}`) {
    case "GET /":
      return text("Hello from JavaScript\n");
    case "POST /json":
      return json(request);
    case "POST /echo":
      return streamed(request.body, 200);
    case "GET /fetch":
      return fetched(url.searchParams.get("url"));
    default:
      return text("there is no such method and path\n", 404);
  }
}

function text(content, status = 200) {
  return new Response(content, { status, headers: { "content-type": "text/plain" } });
}

// A body that is sent on as it comes. Through a TransformStream the host moves its pieces, so that none of them enters this
// component; passed on without one, a long body would use up the engine's handles.
function streamed(body, status) {
  const headers = { "content-type": "application/octet-stream" };
  return new Response(body?.pipeThrough(new TransformStream()), { status, headers });
}

async function json(request) {
  try {
    return Response.json({ method: request.method, received: await request.json() });
  } catch (error) {
    return text(`the body is not JSON: ${error.message}\n`, 400);
  }
}

// Gets `url`, and gives back its status and its body as that comes.
async function fetched(url) {
  if (!url) {
    return text("give a URL: /fetch?url=\n", 400);
  }
  try {
    const answer = await fetch(url);
    return streamed(answer.body, answer.status);
  } catch (error) {
    return text(`${url} did not answer: ${error.message}\n`, 502);
  }
}
