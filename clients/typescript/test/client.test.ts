// How a client behaves when calls are lost, refused or answered by somebody else: a server of this test plays that.

import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { connect, SteeltrapError } from "../src/index.ts";

interface Request {
  readonly path: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: unknown;
}
type Reply = (response: ServerResponse) => void;

const SAVED = { id: "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a30", version: 1, scope: "user/default", links: 0, existed: false };

function json(value: unknown, status = 200, headers: Record<string, string> = {}): Reply {
  const type = status === 200 ? "application/json" : "application/problem+json";
  return (response) => response.writeHead(status, { "Content-Type": type, ...headers }).end(JSON.stringify(value));
}

function problem(status: number, code: string, retryable: boolean, headers: Record<string, string> = {}): Reply {
  return json({ status, code, detail: `It is ${code}.`, retryable }, status, headers);
}

const goesAway: Reply = (response) => response.destroy();

/** A server that gives these replies, one a request; its URL and the requests that it got. */
async function played(context: TestContext, ...replies: Reply[]): Promise<{ url: string; requests: Request[] }> {
  const requests: Request[] = [];
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    requests.push({ path: request.url, headers: request.headers, body: JSON.parse(Buffer.concat(parts).toString()) });
    (replies[requests.length - 1] ?? goesAway)(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

function failed(code: string, message?: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof SteeltrapError);
    assert.equal(error.code, code);
    if (message) assert.match(error.message, message);
    return true;
  };
}

test("a call sends the arguments, the token and the zone of the user's days", async (context) => {
  const { url, requests } = await played(context, json({ memories: [], total: 0 }));
  const memory = connect(`${url}/`, { token: "stk_1", timezone: "Europe/Lisbon", headers: { "X-Gateway": "g" } });
  assert.deepEqual(await memory.core.list({ limit: 3 }), { memories: [], total: 0 });
  const [request] = requests;
  assert.equal(request?.path, "/v1/core/list");
  assert.deepEqual(request?.body, { limit: 3 });
  assert.equal(request?.headers.authorization, "Bearer stk_1");
  assert.equal(request?.headers["x-steeltrap-timezone"], "Europe/Lisbon");
  assert.equal(request?.headers["x-gateway"], "g");
});

test("a save whose answer was lost is sent again under the same key", async (context) => {
  const { url, requests } = await played(context, goesAway, json(SAVED));
  assert.equal((await connect(url).core.save({ content: "Ana likes tea." })).id, SAVED.id);
  const keys = requests.map((request) => request.headers["idempotency-key"]);
  assert.equal(keys.length, 2);
  assert.ok(keys[0]);
  assert.equal(keys[0], keys[1]);
});

test("a key of the caller's own is used", async (context) => {
  const { url, requests } = await played(context, json(SAVED));
  await connect(url).core.save({ content: "Ana likes tea." }, { idempotencyKey: "order-17" });
  assert.equal(requests[0]?.headers["idempotency-key"], "order-17");
});

test("what might be carried out twice is not repeated, and the error says so", async (context) => {
  const { url, requests } = await played(context, goesAway, json({}));
  const call = connect(url).core.forget({ id: SAVED.id });
  await assert.rejects(call, failed("unavailable", /`core.forget` may have been carried out/));
  assert.equal(requests.length, 1);
});

test("an edit of a named version is not repeated", async (context) => {
  const { url, requests } = await played(context, goesAway, json({}));
  await assert.rejects(connect(url).core.update({ id: SAVED.id, content: "x", version: 1 }), failed("unavailable"));
  assert.equal(requests.length, 1);
});

test("a call that was throttled waits as long as the server says, and is made again", async (context) => {
  const { url, requests } = await played(
    context,
    problem(429, "throttled", true, { "Retry-After": "0" }),
    json({ memories: [], total: 0 }),
  );
  await connect(url).core.list();
  assert.equal(requests.length, 2);
});

test("a wait that is too long is the caller's to decide", async (context) => {
  const { url, requests } = await played(context, problem(429, "throttled", true, { "Retry-After": "3600" }));
  await assert.rejects(connect(url).core.list(), (error: SteeltrapError) => error.retryAfter === 3600);
  assert.equal(requests.length, 1);
});

test("a refusal is an error with the server's sentence, and is not repeated", async (context) => {
  const { url, requests } = await played(context, problem(400, "invalid_input", false));
  await assert.rejects(connect(url).core.list(), failed("invalid_input", /It is invalid_input\./));
  assert.equal(requests.length, 1);
});

test("a page of somebody else is never an empty answer", async (context) => {
  const page: Reply = (response) => response.writeHead(200, { "Content-Type": "text/html" }).end("<p>Sign in</p>");
  const { url } = await played(context, page, page);
  await assert.rejects(connect(url).core.list(), failed("unavailable", /not as a steeltrap server does/));
  await assert.rejects(connect(url).core.list(), failed("unavailable"));
});

test("half an answer is an error", async (context) => {
  const half: Reply = (response) => {
    response.writeHead(200, { "Content-Type": "application/json" });
    response.write('{"memories": [');
    setImmediate(() => response.destroy());
  };
  const { url, requests } = await played(context, half, half);
  await assert.rejects(connect(url, { attempts: 2 }).core.list(), failed("unavailable"));
  assert.equal(requests.length, 2);
});

test("a server that doesn't answer in time is an error", async (context) => {
  const { url } = await played(context, () => {});
  const memory = connect(url, { timeout: 50, attempts: 1 });
  await assert.rejects(memory.core.list(), failed("unavailable", /did not answer in time/));
});

test("the caller's signal ends a call", async (context) => {
  const { url } = await played(context, () => {});
  const controller = new AbortController();
  const call = connect(url).core.list({}, { signal: controller.signal });
  controller.abort(new Error("the user left"));
  await assert.rejects(call, /the user left/);
});

test("nobody there is an error that says what to check", async () => {
  const memory = connect("http://127.0.0.1:1", { attempts: 1 });
  await assert.rejects(memory.core.list(), failed("unavailable", /check that the server runs/));
});

test("a place that is no URL of a server is refused at once", () => {
  for (const place of ["", "memory", "ftp://memory.example", "https://memory.example?x=1", "https://ana@memory.example"]) {
    assert.throws(() => connect(place), failed("invalid_input"));
  }
});

test("what JSON can't hold is refused before anything is sent", async () => {
  const round: Record<string, unknown> = {};
  round.self = round;
  for (const bad of [10n, NaN, -Infinity, round]) {
    const saving = connect("http://127.0.0.1:1").core.save({ content: "x", metadata: { bad } });
    await assert.rejects(saving, failed("invalid_input", /arguments of `core.save` are no JSON/));
  }
});

test("a tool that doesn't exist is refused before anything is sent", async () => {
  await assert.rejects(connect("http://127.0.0.1:1").call("core.sav"), failed("not_found"));
});
