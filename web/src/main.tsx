// Where the page begins: reads the report embedded in it and draws it.

import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { App } from "./app";
import { readPayload } from "./payload";

const root = document.getElementById("fenxi")!;
try {
  const payload = readPayload();
  document.title = payload.title;
  root.textContent = "";
  render(<App payload={payload} />, root);
  document.documentElement.dataset.ready = "true";
} catch (error) {
  root.textContent = `This report cannot be drawn: ${error instanceof Error ? error.message : String(error)}`;
  throw error;
}
