/** The stable codes of failures; `unavailable` also covers a server that can't be reached or is none of steeltrap's. */
export type Code =
  | "invalid_input"
  | "identity_missing"
  | "access_denied"
  | "not_found"
  | "conflict"
  | "too_large"
  | "throttled"
  | "internal"
  | "unavailable";

/** The failure of a call. `message` says what to do; `retryable` whether the same call may succeed later. */
export class SteeltrapError extends Error {
  override readonly name = "SteeltrapError";
  readonly code: Code;
  /** The status of the answer; null where there was none. */
  readonly status: number | null;
  readonly retryable: boolean;
  /** Seconds until it may be tried again, as the server says. */
  readonly retryAfter: number | null;
  /** All that the problem document says. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: Code,
    message: string,
    more: {
      status?: number | null;
      retryable?: boolean;
      retryAfter?: number | null;
      details?: Record<string, unknown>;
      cause?: unknown;
    } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.code = code;
    this.status = more.status ?? null;
    this.retryable = more.retryable ?? false;
    this.retryAfter = more.retryAfter ?? null;
    this.details = more.details ?? {};
  }
}

const BY_STATUS: Readonly<Record<number, Code>> = {
  400: "invalid_input",
  401: "identity_missing",
  403: "access_denied",
  404: "not_found",
  409: "conflict",
  413: "too_large",
  429: "throttled",
  500: "internal",
};
const CODES = new Set<string>([...Object.values(BY_STATUS), "unavailable"]);

/** The error that an answer is. `value` is its JSON, undefined where it has none. */
export function errorOf(response: Response, value: unknown, url: string): SteeltrapError {
  const retryAfter = seconds(response.headers.get("Retry-After"));
  if (isProblem(value)) {
    const code = CODES.has(value.code) ? (value.code as Code) : (BY_STATUS[response.status] ?? "unavailable");
    return new SteeltrapError(code, value.detail, {
      status: response.status,
      retryable: value["retryable"] === true,
      retryAfter,
      details: value,
    });
  }
  return new SteeltrapError(
    BY_STATUS[response.status] ?? "unavailable",
    `${url} answered with status ${response.status}, without an error of steeltrap; check the URL and what is in front ` +
      "of the server.",
    { status: response.status, retryable: [429, 502, 503, 504].includes(response.status), retryAfter },
  );
}

function isProblem(value: unknown): value is { code: string; detail: string; [name: string]: unknown } {
  return (
    typeof value === "object" &&
    value !== null &&
    typeof (value as { code?: unknown }).code === "string" &&
    typeof (value as { detail?: unknown }).detail === "string"
  );
}

function seconds(text: string | null): number | null {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;
}
