// Bundles with fixed names and no hashes: the same sources give the same bytes, so that CI can rebuild dist/ and
// compare. `vite build` makes the page, `vite build --mode editor` the SQL editor, which is loaded on demand.
import { defineConfig } from "vite";
import { notices } from "./notices.ts";

export default defineConfig(({ mode }) => {
  const editor = mode === "editor";
  return {
    plugins: [notices()],
    oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
    define: { "process.env.NODE_ENV": '"production"' },
    build: {
      target: "es2022",
      outDir: "dist",
      emptyOutDir: !editor,
      cssCodeSplit: false,
      modulePreload: false,
      reportCompressedSize: false,
      lib: {
        entry: editor ? "src/ask/editor.ts" : "src/main.tsx",
        formats: ["iife"],
        name: editor ? "FenxiEditorBundle" : "Fenxi",
        fileName: () => (editor ? "editor.js" : "app.js"),
        cssFileName: "app",
      },
    },
  };
});
