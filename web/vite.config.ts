// One script and one style sheet with fixed names and no hashes: the same sources give the same bytes,
// so that CI can rebuild dist/ and compare.
import { defineConfig } from "vite";

export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2022",
    outDir: "dist",
    emptyOutDir: true,
    cssCodeSplit: false,
    modulePreload: false,
    reportCompressedSize: false,
    lib: {
      entry: "src/main.tsx",
      formats: ["iife"],
      name: "Fenxi",
      fileName: () => "app.js",
      cssFileName: "app",
    },
  },
});
