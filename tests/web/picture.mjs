// Draws the picture of the page for the documentation: `node picture.mjs FILE`.

import { Site, close, open, visit } from "./site.mjs";

const site = new Site().fill();
try {
  for (const [tool, text] of [["deploy", "main"], ["note", "buy\u200b milk"], ["greet", "world"], ["greet", "everyone"]]) site.queue(tool, text);
  await site.serve();
  const { page } = await open(site, { viewport: { width: 1200, height: 760 } });
  await visit(page, "#/waiting");
  await page.screenshot({ path: process.argv[2] });
} finally {
  await close();
  site.end();
}
