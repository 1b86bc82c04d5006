// Where the page begins, in a report file as on a server.

import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { embedded } from "./api";
import { startPrinting } from "./printing";
import { startRouter } from "./router";
import { Shell } from "./shell";

const root = document.getElementById("fenxi")!;
if (embedded) document.title = embedded.title;
startRouter();
startPrinting();
root.textContent = "";
render(<Shell />, root);
document.documentElement.dataset.ready = "true";
