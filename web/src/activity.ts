// Colours of what time is spent on, as the field draws them: CPU green, I/O blue, locks red. Each is dark enough for white letters on it.

const PAINT: Record<string, string> = {
  "driver lag": "#5f6b7a",
  "waiting for a connection": "#7a5c3e",
  "waiting in a pool": "#94643a",
  "think time": "#4c5a86",
  "driver on CPU": "#45694f",
  "waiting for the driver": "#657a3a",
  "round trips": "#2f6f8f",
  "on CPU": "#1c7c3c",
  "on CPU, user": "#1c7c3c",
  "on CPU, system": "#12592a",
  "run queue": "#4f8f2f",
  throttled: "#8a7a00",
  "block I/O": "#1d5fc4",
  "user I/O": "#1d5fc4",
  "system I/O": "#2680a8",
  commit: "#b0641a",
  concurrency: "#7a1f2b",
  "locks and latches": "#b3242f",
  lock: "#c2333f",
  ipc: "#8b3fa0",
  "client, network": "#77733f",
  timeout: "#6b5a4d",
  extension: "#5d4fb0",
  protocol: "#3b7f7a",
  "other waits": "#5b6470",
  "idle in transaction": "#a0741a",
  // What commands wait for.
  disk: "#1d5fc4",
  flush: "#b0641a",
  "dirty pages": "#8a5a2b",
  memory: "#5d4fb0",
  "file lock": "#a3324a",
  "kernel lock": "#7a1f2b",
  receive: "#77733f",
  send: "#5f6a2f",
  connect: "#3b7f7a",
  accept: "#4a7070",
  pipe: "#2680a8",
  poll: "#6b5a4d",
  sleep: "#6f7885",
  child: "#7a5c3e",
  "file server": "#3f5fa0",
  stopped: "#8b3fa0",
};
const REST = "#8b939d";

/** Columns of questions, and classes of activity, by what they stand for. */
const COLUMNS: Record<string, string> = {
  cpu: "on CPU",
  "run queue": "run queue",
  "user io": "user I/O",
  "system io": "system I/O",
  commit: "commit",
  lock: "lock",
  "idle in transaction": "idle in transaction",
  on_cpu: "on CPU",
  run_queue: "run queue",
  user_io: "user I/O",
  system_io: "system I/O",
  commit_wait: "commit",
  concurrency: "concurrency",
  lock_wait: "lock",
  ipc: "ipc",
  client: "client, network",
  timeout: "timeout",
  extension: "extension",
  other: "other waits",
  idle_in_transaction: "idle in transaction",
};

export const paint = (part: string): string => PAINT[part] ?? REST;

/** What a column or a class of activity stands for, as a person reads it; undefined for what is none. */
export const partOf = (column: string): string | undefined => COLUMNS[column];

/** The colours of series by their columns or classes, when all of them but lines are classes of activity; else each chart has its own. */
export function paintsOf(columns: string[], isLine: boolean[]): string[] | undefined {
  const known = columns.every((column, i) => isLine[i] || column in COLUMNS);
  return known ? columns.map((column) => paint(COLUMNS[column] ?? "")) : undefined;
}
