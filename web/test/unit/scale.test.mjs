// From values to pixels, and ticks that read well.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const [{ linear, logarithmic, places, apart, extent, fromZero, tickTexts }] = await load(["charts/scale.ts"]);

test("a linear scale goes there and back, and its ticks are round", () => {
  const scale = linear([0, 100], [0, 1000]);
  assert.equal(scale.at(50), 500);
  assert.equal(scale.value(250), 25);
  // 13 ticks of 76 pixels fit: 100 / 13 is 7.7, and the next round step 10.
  assert.deepEqual(scale.ticks, [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
});

test("a vertical scale counts pixels from above", () => {
  const scale = linear([0, 100], [340, 0]);
  assert.equal(scale.at(0), 340);
  assert.equal(scale.at(100), 0);
  assert.equal(scale.value(170), 50);
  assert.equal(scale.ticks.length, 11, "ten of 34 pixels fit");
});

test("ticks go through zero, not around it", () => {
  assert.deepEqual(
    linear([-1, 1], [0, 200]).ticks.map((t) => t + 0),
    [-1, 0, 1],
  );
});

test("one value alone is in the middle", () => {
  const scale = linear([5, 5], [0, 100]);
  assert.deepEqual(scale.domain, [4.5, 5.5]);
  assert.equal(scale.at(5), 50);
});

test("a range that no number can step through gives few ticks, and ends", () => {
  assert.ok(linear([1e16, 1e16 + 2], [0, 1000]).ticks.length <= 14);
  assert.ok(linear([1.7e18, 1.7e18 + 512], [0, 1000]).ticks.length <= 14);
  assert.deepEqual(linear([Number.NaN, Number.NaN], [0, 100]).ticks, []);
  assert.equal(linear([0, 1e-300], [0, 152]).ticks.length, 3);
});

test("ticks of bytes are powers of two", () => {
  const MIB = 2 ** 20;
  const { ticks } = linear([0, 3 * MIB], [0, 304], "B");
  assert.deepEqual(ticks, [0, MIB, 2 * MIB, 3 * MIB]);
  assert.deepEqual(tickTexts(ticks, "B"), ["0 B", "1 MiB", "2 MiB", "3 MiB"]);
  assert.deepEqual(linear([0, 100 * MIB], [0, 160], "B/s").ticks, [0, 64 * MIB]);
});

test("a logarithmic scale gives each decade the same room", () => {
  const scale = logarithmic([1, 1000], [0, 300]);
  const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-9, `${a} is not ${b}`);
  near(scale.at(1), 0);
  near(scale.at(10), 100);
  near(scale.at(1000), 300);
  near(scale.value(200), 100);
  assert.deepEqual(scale.ticks, [1, 10, 100, 1000]);
  assert.deepEqual(logarithmic([1, 1000], [0, 1000]).ticks, [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]);
});

test("zero and what is below have no place on a logarithmic scale", () => {
  const scale = logarithmic([1, 10], [0, 100]);
  assert.ok(Number.isNaN(scale.at(0)));
  assert.ok(Number.isNaN(scale.at(-1)));
});

test("many decades are thinned", () => {
  const { ticks } = logarithmic([1e-9, 1e9], [0, 300]);
  assert.deepEqual(
    ticks.map((t) => Math.round(Math.log10(t))),
    [-6, 0, 6],
  );
});

test("within a decade a logarithmic scale has ticks too", () => {
  assert.deepEqual(logarithmic([30, 45], [0, 304]).ticks, [30, 35, 40, 45]);
  assert.ok(logarithmic([20, 80], [0, 160]).ticks.length >= 2);
});

test("names stand in the middle of their places", () => {
  const scale = places(3, [0, 300]);
  assert.deepEqual([0, 1, 2].map(scale.at), [50, 150, 250]);
  assert.deepEqual(scale.ticks, [0, 1, 2]);
  assert.deepEqual(places(8, [0, 160]).ticks, [0, 4], "two of 76 pixels fit");
  assert.deepEqual(places(0, [0, 160]).ticks, []);
});

test("levels that would stand on each other are left out, also upright and where there is no place", () => {
  assert.deepEqual(apart([10, 1, 1, 2], linear([0, 10], [0, 100])), [1, 10]);
  assert.deepEqual(apart([10, 1, 2], linear([0, 10], [100, 0])), [1, 10]);
  assert.deepEqual(apart([0, 1, 10], logarithmic([1, 10], [0, 100])), [1, 10]);
});

test("the extent is of the numbers there are", () => {
  assert.deepEqual(extent([3, null, Number.NaN, -2, undefined, Infinity]), [-2, 3]);
  assert.deepEqual(extent([]), [0, 1]);
  assert.deepEqual(extent([null]), [0, 1]);
  assert.deepEqual(extent([0]), [0, 0]);
});

test("a span from zero has a little air on the side where values are", () => {
  assert.deepEqual(fromZero([2, 50]), [0, 54]);
  assert.deepEqual(fromZero([-50, -2]), [-54, 0]);
  assert.deepEqual(fromZero([-100, 100]), [-108, 108]);
  assert.deepEqual(fromZero([0, 0]), [0, 1]);
});

test("labels of ticks are told apart, and none is rounded", () => {
  assert.deepEqual(tickTexts([0, 0.25, 0.5], "%"), ["0%", "0.25%", "0.5%"]);
  assert.deepEqual(tickTexts([100, 100.2, 100.4], "s"), ["100 s", "100.2 s", "100.4 s"]);
  assert.deepEqual(tickTexts([12.05, 12.1, 12.15], ""), ["12.05", "12.1", "12.15"]);
  assert.deepEqual(tickTexts([1000, 1002], "/s"), ["1 k/s", "1.002 k/s"]);
  assert.deepEqual(tickTexts([-1e-17, 0.1 + 0.2], ""), ["0", "0.3"], "what floating point adds is not shown");
  assert.deepEqual(tickTexts([], "s"), []);
});

test("a logarithmic axis of bytes has powers of two", () => {
  const MiB = 2 ** 20;
  const { ticks } = logarithmic([9 * MiB, 1100 * MiB], [200, 0], "B/s");
  assert.ok(ticks.length >= 3 && ticks.every((t) => Number.isInteger(Math.log2(t))), ticks.join());
});
