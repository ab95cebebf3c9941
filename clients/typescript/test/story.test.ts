// The common story against a server, at STEELTRAP_URL: save, find, correct, forget, two users apart, and a tool of a model.

import assert from "node:assert/strict";
import { test } from "node:test";
import { generateText, isStepCount } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { memoryTools } from "../src/ai.ts";
import { connect, type Memory, SteeltrapError } from "../src/index.ts";

const url = process.env["STEELTRAP_URL"] ?? "";
const skip = url === "" && "STEELTRAP_URL names no server";

function memoryOf(user: string): Memory {
  return connect(url, { headers: { "X-User-Id": user, "X-Agent-Id": "default" } });
}

async function texts(memory: Memory, query: string): Promise<string[]> {
  return (await memory.core.search({ query })).results.map((hit) => hit.content);
}

test("a memory is saved, found, corrected and forgotten, and another user never sees it", { skip }, async () => {
  const [ana, bob] = [memoryOf("ana"), memoryOf("bob")];
  const question = "What does Ana drink in the morning?";
  assert.equal((await ana.core.search({ query: question })).outcome.kind, "nothing_stored");

  const { id, version } = await ana.core.save({ content: "Ana drinks green tea in the morning." });
  assert.deepEqual(await texts(ana, question), ["Ana drinks green tea in the morning."]);
  assert.deepEqual(await texts(bob, question), []);

  await ana.core.update({ id, version, content: "Ana drinks black coffee in the morning." });
  assert.deepEqual(await texts(ana, question), ["Ana drinks black coffee in the morning."]);
  await assert.rejects(
    ana.core.update({ id, version, content: "Ana drinks water." }),
    (error: SteeltrapError) => error.code === "conflict",
  );

  assert.deepEqual((await ana.core.forget({ id })).forgotten, [id]);
  assert.deepEqual(await texts(ana, question), []);
  await assert.rejects(ana.core.get({ id }), (error: SteeltrapError) => error.code === "not_found");
});

test("a model's calls of the tools are made, and it reads of its mistake", { skip }, async () => {
  const calls = [
    { toolName: "remember", input: { content: "Carla is allergic to peanuts." } },
    { toolName: "recall", input: { query: "What is Carla allergic to?" } },
    { toolName: "forget_memory", input: { id: "no-id" } },
  ];
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 1, text: 1, reasoning: undefined },
  };
  let step = 0;
  const model = new MockLanguageModelV4({
    doGenerate: async () => {
      const call = calls[step++];
      if (call === undefined) {
        const finishReason = { unified: "stop", raw: undefined } as const;
        return { content: [{ type: "text", text: "Peanuts." }], finishReason, usage, warnings: [] };
      }
      const input = JSON.stringify(call.input);
      const content = { type: "tool-call", toolCallId: `${step}`, toolName: call.toolName, input } as const;
      const finishReason = { unified: "tool-calls", raw: undefined } as const;
      return { content: [content], finishReason, usage, warnings: [] };
    },
  });
  const result = await generateText({
    model,
    tools: memoryTools(memoryOf("carla")),
    stopWhen: isStepCount(5),
    prompt: "What is Carla allergic to?",
  });
  const answers = result.steps.flatMap((each) => each.toolResults.map((answer) => String(answer.output)));
  assert.equal(result.text, "Peanuts.");
  assert.equal(answers.length, 3);
  assert.match(answers[1] ?? "", /Carla is allergic to peanuts\./);
  assert.match(answers[2] ?? "", /^Error: /);
});
