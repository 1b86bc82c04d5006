// Colours of classes of activity.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const [{ paint, paintsOf }] = await load(["activity.ts"]);

test("series that are all classes have their colours, and lines beside them do not matter", () => {
  const [cpu, lock, line] = paintsOf(["on_cpu", "lock_wait", "cpus"], [false, false, true]);
  assert.deepEqual([cpu, lock], [paint("on CPU"), paint("lock")]);
  assert.notEqual(cpu, lock);
  assert.equal(typeof line, "string");
});

test("other series keep the colours of their chart", () => {
  assert.equal(paintsOf(["on_cpu", "waiters"], [false, false]), undefined);
});
