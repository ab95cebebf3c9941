import { errorOf, SteeltrapError } from "./errors.ts";
import type { Toolsets } from "./generated/methods.ts";
import { type Row, TOOLS } from "./generated/table.ts";

/** How a server is called. */
export interface ConnectOptions {
  /** An API key or a token; it names the user. */
  readonly token?: string;
  /** IANA name of the zone of the user's days, such as "Europe/Lisbon". */
  readonly timezone?: string;
  /** The conversation that calls belong to. */
  readonly conversation?: string;
  /** Headers that are added to every request, such as those of a gateway. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Milliseconds that one request may take; 60,000 by default. */
  readonly timeout?: number;
  /** Requests that one call may make; 5 by default. */
  readonly attempts?: number;
  /** The function that sends requests; the platform's `fetch` by default. */
  readonly fetch?: typeof fetch;
}

/** How one call is made. */
export interface CallOptions {
  /** A name for a save: repeated under it, also after a restart, it saves once. One is made where none is given. */
  readonly idempotencyKey?: string;
  readonly timezone?: string;
  /** Ends the call; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** One user's memory on a server: every toolset with its tools. */
export interface Memory extends Toolsets {
  /** Call a tool by a name such as "core.save", which a program knows only when it runs. */
  call(tool: string, args?: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<unknown>;
}

const FIRST_PAUSE = 200;
const LONGEST_PAUSE = 20_000;

/** The memory at a server's URL. The first call sends the first request. Throws SteeltrapError for an invalid URL. */
export function connect(url: string, options: ConnectOptions = {}): Memory {
  const server = new Server(url, options);
  const call = (tool: string, args: Readonly<Record<string, unknown>> = {}, more: CallOptions = {}) =>
    server.call(tool, args, more);
  const toolsets: Record<string, Record<string, unknown>> = {};
  for (const tool of Object.keys(TOOLS)) {
    const [toolset, name] = tool.split(".") as [string, string];
    (toolsets[toolset] ??= {})[name] = (args?: Record<string, unknown>, more?: CallOptions) => call(tool, args, more);
  }
  return Object.freeze({ ...toolsets, call }) as unknown as Memory;
}

/** A request that got no whole answer. `sent` is false where it certainly never reached the server. */
class Lost {
  readonly error: SteeltrapError;
  readonly sent: boolean;

  constructor(error: SteeltrapError, sent: boolean) {
    this.error = error;
    this.sent = sent;
  }
}

class Server {
  readonly #url: string;
  readonly #options: ConnectOptions;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: string, options: ConnectOptions) {
    this.#url = based(url);
    this.#options = options;
    this.#headers = {
      "Content-Type": "application/json",
      Accept: "application/problem+json, application/json, text/*",
      ...(options.token ? { Authorization: `Bearer ${options.token}` } : {}),
      ...(options.conversation ? { "X-Conversation-Id": options.conversation } : {}),
      ...options.headers,
    };
  }

  async call(tool: string, args: Readonly<Record<string, unknown>>, options: CallOptions): Promise<unknown> {
    const row = TOOLS[tool];
    if (row === undefined) {
      throw new SteeltrapError("not_found", `No tool \`${tool.slice(0, 60)}\`; docs/index.md lists all.`);
    }
    const headers: Record<string, string> = { ...this.#headers };
    const key = options.idempotencyKey ?? (row.repeats === "by_key" ? crypto.randomUUID() : undefined);
    if (key !== undefined) headers["Idempotency-Key"] = key;
    const timezone = options.timezone ?? this.#options.timezone;
    if (timezone !== undefined) headers["X-Steeltrap-Timezone"] = timezone;
    const body = encoded(tool, args);
    const attempts = this.#options.attempts ?? 5;
    for (let attempt = 1; ; attempt += 1) {
      const answer = await this.#send(row, headers, body, options.signal);
      const failure = answer instanceof Lost ? answer.error : answer instanceof SteeltrapError ? answer : null;
      if (failure === null) return answer;
      const sent = answer instanceof Lost ? answer.sent : true;
      const isSafe = mayRepeat(row, args, failure, sent);
      const pause = pauseOf(failure, attempt);
      if (!isSafe || attempt >= attempts || pause > LONGEST_PAUSE) {
        throw answer instanceof Lost && sent && !isSafe ? unsure(tool, failure) : failure;
      }
      await waited(pause, options.signal);
    }
  }

  /** The answer of one request, or how it failed. Throws only what the caller's signal says. */
  async #send(row: Row, headers: Record<string, string>, body: string, signal: AbortSignal | undefined) {
    const timeout = AbortSignal.timeout(this.#options.timeout ?? 60_000);
    const either = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
    const ask = this.#options.fetch ?? fetch;
    try {
      const request = { method: "POST", headers, body, signal: either, redirect: "manual" } as const;
      const response = await ask(this.#url + row.path, request);
      return this.#read(row, response, await response.text());
    } catch (cause) {
      signal?.throwIfAborted();
      const reason = timeout.aborted ? "did not answer in time" : "can't be reached, or went away before it answered";
      const message = `${this.#url} ${reason}; check that the server runs and that the URL is right.`;
      return new Lost(new SteeltrapError("unavailable", message, { retryable: true, cause }), !neverLeft(cause));
    }
  }

  #read(row: Row, response: Response, text: string): unknown {
    const type = (response.headers.get("Content-Type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
    const isAnswer = response.status === 200 && type !== "application/problem+json";
    if (isAnswer && row.isText && type.startsWith("text/") && !response.headers.has("X-Steeltrap-Error")) return text;
    const value = type.endsWith("json") ? parsed(text) : undefined;
    if (isAnswer && !row.isText && value !== undefined) return value;
    if (response.status >= 400 || value !== undefined) {
      const error = errorOf(response, value, this.#url);
      return [502, 503, 504].includes(response.status) && value === undefined ? new Lost(error, true) : error;
    }
    return new SteeltrapError(
      "unavailable",
      `${this.#url} answered with status ${response.status} and ${type || "no type"}, not as a steeltrap server does; ` +
        "check the URL.",
      { status: response.status },
    );
  }
}

function encoded(tool: string, args: object): string {
  try {
    return JSON.stringify(args, finite);
  } catch (cause) {
    const reason = String((cause as Error).message).split("\n")[0];
    throw new SteeltrapError("invalid_input", `The arguments of \`${tool}\` are no JSON (${reason}); give plain values.`, { cause });
  }
}

/** JSON would make a null of NaN, and nobody would know. */
function finite(_: string, value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError(`${value} has no JSON form`);
  return value;
}

function based(url: string): string {
  const message = `${JSON.stringify(url)} is no URL of a server; give one such as "https://memory.example".`;
  let parts: URL;
  try {
    parts = new URL(url);
  } catch (cause) {
    throw new SteeltrapError("invalid_input", message, { cause });
  }
  if (!["http:", "https:"].includes(parts.protocol) || parts.search || parts.hash || parts.username) {
    throw new SteeltrapError("invalid_input", message);
  }
  return parts.href.replace(/\/$/, "");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether the same call may be made again: that may help, and can't do anything twice. */
function mayRepeat(row: Row, args: Readonly<Record<string, unknown>>, failure: SteeltrapError, sent: boolean): boolean {
  if (!failure.retryable || failure.details["quota"] !== undefined) return false;
  if (failure.code === "throttled" || !sent) return true;
  // An edit of a named version would be refused by its own first attempt.
  return row.repeats !== "never" && args["version"] === undefined;
}

/** Milliseconds before the next attempt: as the server asks, else spread out, twice as many each time. */
function pauseOf(failure: SteeltrapError, attempt: number): number {
  return Math.max((failure.retryAfter ?? 0) * 1000, Math.random() * FIRST_PAUSE * 2 ** (attempt - 1));
}

function unsure(tool: string, failure: SteeltrapError): SteeltrapError {
  const message = `${failure.message} \`${tool}\` may have been carried out, so look before you call it again.`;
  return new SteeltrapError(failure.code, message, { status: failure.status, cause: failure });
}

const UNSENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);

/** Whether Node's `fetch` failed before a request went out. Other platforms don't tell. */
function neverLeft(failure: unknown): boolean {
  const cause = failure instanceof Error ? failure.cause : undefined;
  return typeof cause === "object" && cause !== null && "code" in cause && UNSENT.has(String(cause.code));
}

function waited(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const ended = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", ended);
      resolve();
    }, milliseconds);
    if (signal?.aborted) ended();
    signal?.addEventListener("abort", ended, { once: true });
  });
}
