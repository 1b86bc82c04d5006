// Printing a page whole: what is asked for and drawn only when it comes near is there before the printer looks.

import { everything } from "./shared";

/** Longest wait for answers, and how often it is looked, milliseconds. */
const PATIENCE = 60_000;
const LOOK = 100;

const isBusy = () => document.querySelector(".waiting, .pending, main[aria-busy=true]") !== null;
const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

/** Draws all of the page; when that is done, or takes too long. */
export async function drawEverything(): Promise<void> {
  everything.set(true);
  // Two looks in a row without anything awaited: what has just come may ask for more.
  for (let calm = 0, waited = 0; calm < 3 && waited < PATIENCE; waited += LOOK) {
    await pause(LOOK);
    calm = isBusy() ? 0 : calm + 1;
  }
}

/** Prints the page when all of it is drawn. */
export async function printWhole(): Promise<void> {
  await drawEverything();
  print();
}

/** The keys that print do so when all is drawn; a browser's own menu prints what is there, and begins to draw the rest. */
export function startPrinting(): void {
  addEventListener("keydown", (e) => {
    if (!(e.ctrlKey || e.metaKey) || e.key.toLowerCase() !== "p" || e.shiftKey || e.altKey) return;
    e.preventDefault();
    void printWhole();
  });
  addEventListener("beforeprint", () => everything.set(true));
}
