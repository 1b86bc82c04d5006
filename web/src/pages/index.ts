// The pages. Adding one is a file beside this and a line in the list.

import type { ComponentType } from "preact";
import { ask } from "./ask";
import { board } from "./board";
import { compare } from "./compare";
import { database } from "./database";
import { dbreport } from "./dbreport";
import { live } from "./live";
import { run } from "./run";
import { runs } from "./runs";
import { study } from "./study";
import { trend } from "./trend";

export interface Page {
  path: string;
  /** In the bar on top; a page that is only reached through others has none. */
  title?: string;
  /** Draws the page from the query of its address. */
  View: ComponentType<{ query: URLSearchParams }>;
}

export const PAGES: readonly Page[] = [runs, run, database, dbreport, compare, study, trend, ask, board, live];
