// Writes src/generated from the OpenAPI document of a server: the types of every call, and a method for every tool with
// its description. Run by `npm run generate`; the folder is not kept in git.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { resolve } from "node:path";
import openapiTS, { astToString } from "openapi-typescript";

const folder = new URL("../src/generated/", import.meta.url);
const path = resolve(process.argv[2] ?? "openapi.json");
const document = JSON.parse(await readFile(path, "utf8"));

const tools = Object.entries(document.paths).flatMap(([path, { post }]) => {
  const [, toolset, name] = /^\/v1\/(\w+)\/(\w+)$/.exec(path) ?? [];
  return name === undefined ? [] : [{ path, toolset, name, operation: post }];
});
const toolsets = [...new Set(tools.map((tool) => tool.toolset))];

function comment(text, indent) {
  const lines = text.replaceAll("*/", "*\\/").trim().split("\n");
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`].join("\n");
}

function method({ name, operation }) {
  const body = operation.requestBody.content["application/json"].schema;
  const optional = (body.required ?? []).length === 0 ? " = {}" : "";
  const id = operation.operationId;
  return `${comment(operation.description, "  ")}
  ${name}(args${optional && "?"}: Arguments<"${id}">, options?: CallOptions): Promise<Answer<"${id}">>;`;
}

function type(toolset) {
  return `${toolset[0].toUpperCase()}${toolset.slice(1)}Tools`;
}

const header = "// Written by scripts/generate.mjs from the OpenAPI document: change the server's tools instead.\n";

function methods() {
  const interfaces = toolsets.map(
    (toolset) => `/** The tools of the toolset \`${toolset}\`. */
export interface ${type(toolset)} {
${tools.filter((tool) => tool.toolset === toolset).map(method).join("\n\n")}
}`,
  );
  return `${header}
import type { CallOptions } from "../client.ts";
import type { operations } from "./openapi.ts";

type Body<O extends keyof operations> = operations[O] extends { requestBody: { content: { "application/json": infer B } } } ? B : never;
type Content<O extends keyof operations> = operations[O] extends { responses: { 200: { content: infer C } } } ? C : never;
/** The arguments of a tool, by the id of its operation. */
export type Arguments<O extends keyof operations> = Body<O>;
/** The answer of a tool, by the id of its operation. */
export type Answer<O extends keyof operations> = Content<O>[keyof Content<O>];

${interfaces.join("\n\n")}

/** Each toolset by its name. */
export interface Toolsets {
${toolsets.map((toolset) => `  readonly ${toolset}: ${type(toolset)};`).join("\n")}
}
`;
}

function table() {
  const rows = tools.map(({ path, toolset, name, operation }) => {
    const keyed = (operation.parameters ?? []).some((each) => each.name === "Idempotency-Key");
    const repeats = operation["x-steeltrap-repeats"] ?? (keyed ? "by_key" : "never");
    const kinds = Object.keys(operation.responses["200"].content);
    return `  ${JSON.stringify(`${toolset}.${name}`)}: ${JSON.stringify({ path, repeats, isText: !kinds.includes("application/json") })},`;
  });
  return `${header}
/** How a tool is called: its path, whether a call whose answer was lost may be repeated, and whether it answers in text. */
export interface Row {
  readonly path: string;
  readonly repeats: "always" | "by_key" | "never";
  readonly isText: boolean;
}

export const TOOLS: Readonly<Record<string, Row>> = {
${rows.join("\n")}
};
`;
}

function agentTools() {
  const own = tools.filter((tool) => tool.toolset === "agent");
  const specifications = own.map(({ name, operation }) => ({
    name,
    description: operation.description,
    parameters: operation.requestBody.content["application/json"].schema,
  }));
  return `${header}
/** The tools of the toolset \`agent\` as a model gets them. */
export const AGENT_TOOLS = ${JSON.stringify(specifications, null, 2)} as const;
`;
}

await mkdir(folder, { recursive: true });
const ast = await openapiTS(pathToFileURL(path), { defaultNonNullable: false });
await writeFile(new URL("openapi.ts", folder), header + astToString(ast));
await writeFile(new URL("methods.ts", folder), methods());
await writeFile(new URL("table.ts", folder), table());
await writeFile(new URL("agent_tools.ts", folder), agentTools());
console.log(`${tools.length} tools of ${toolsets.length} toolsets in ${fileURLToPath(folder)}`);
