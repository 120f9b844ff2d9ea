#!/usr/bin/env node
// An agent for ColBench in Node.js, without dependencies: it asks two general questions, then answers.
//   colbench eval --agent "cmd:node agents/examples/node/agent.js" --limit 20
"use strict";
const readline = require("node:readline");

const QUESTIONS = [
  "What should the function return in the normal case?",
  "Which special cases or limits are there?",
];

function reply(messages) {
  const asked = messages.filter((message) => message.role === "assistant").length;
  if (asked < QUESTIONS.length) return QUESTIONS[asked];
  const [, name = "answer"] = messages[0].content.match(/def\s+(\w+)/) ?? [];
  return `I WANT TO ANSWER:\ndef ${name}(*args):\n    return None`;
}

function send(message) {
  process.stdout.write(JSON.stringify(message) + "\n");
}

send({ type: "ready", protocol: "colbench-agent/1", name: "node-example", version: "1", concurrent: true });
readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line);
  if (message.type === "messages") {
    send({ type: "reply", episode: message.episode, content: reply(message.messages) });
  }
});
