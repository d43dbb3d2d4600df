import preact from "@preact/preset-vite";
import { defineConfig } from "vitest/config";

// `npm run dev` shows the page with changes at once; its data come from the server of HEADGATE_SERVER.
const server = process.env.HEADGATE_SERVER ?? "http://127.0.0.1:8440";
const asOwnPage = { "sec-fetch-site": "same-origin" }; // the server answers only its own pages

export default defineConfig({
  plugins: [preact()],
  build: {
    outDir: "../src/headgate/server/web",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0, // the server's Content-Security-Policy allows no data: addresses
    chunkSizeWarningLimit: 600,
  },
  server: {
    proxy: Object.fromEntries(
      ["/v1", "/metrics"].map((path) => [
        path,
        {
          target: server,
          changeOrigin: true,
          headers: { ...asOwnPage, origin: server },
        },
      ]),
    ),
  },
  test: { include: ["tests/**/*.test.ts"] },
});
