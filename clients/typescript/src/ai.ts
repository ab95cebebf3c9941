/** The toolset `agent` as tools of the Vercel AI SDK. */

import { jsonSchema, type Tool, tool } from "ai";
import type { Memory } from "./client.ts";
import { SteeltrapError } from "./errors.ts";
import { AGENT_TOOLS } from "./generated/agent_tools.ts";

type Name = (typeof AGENT_TOOLS)[number]["name"];

/**
 * The tools `remember`, `recall`, `recent_memories`, `revise_memory`, `forget_memory` and `undo_memory_change`, for
 * `generateText({ tools: memoryTools(memory) })`.
 *
 * A failure that the model can mend (`invalid_input`, `not_found`, `conflict`, `too_large`) is the tool's answer, in a
 * sentence; any other one is thrown.
 */
export function memoryTools(memory: Memory): Record<Name, Tool<Record<string, unknown>, string>> {
  const entries = AGENT_TOOLS.map(({ name, description, parameters }) => [
    name,
    tool({
      description,
      inputSchema: jsonSchema<Record<string, unknown>>(parameters as Parameters<typeof jsonSchema>[0]),
      execute: (args: Record<string, unknown>, { abortSignal }) => answer(memory, name, args, abortSignal),
    }),
  ]);
  return Object.fromEntries(entries) as Record<Name, Tool<Record<string, unknown>, string>>;
}

const FOR_THE_MODEL = new Set(["invalid_input", "not_found", "conflict", "too_large"]);

async function answer(
  memory: Memory,
  name: Name,
  args: Record<string, unknown>,
  signal: AbortSignal | undefined,
): Promise<string> {
  try {
    return String(await memory.call(`agent.${name}`, args, signal === undefined ? {} : { signal }));
  } catch (error) {
    if (error instanceof SteeltrapError && FOR_THE_MODEL.has(error.code)) return `Error: ${error.message}`;
    throw error;
  }
}
