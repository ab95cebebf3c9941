/** Long-term memory for AI agents: a steeltrap server's tools, typed, with lost calls repeated where that is safe. */

export { type CallOptions, connect, type ConnectOptions, type Memory } from "./client.ts";
export { type Code, SteeltrapError } from "./errors.ts";
export type * from "./generated/methods.ts";
