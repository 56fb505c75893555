// The browser's side of .ci/pages: `make` writes result files to render, `check` opens what was rendered.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");

const WIDTHS = [1440, 360];
const SCHEMES = ["light", "dark"];
// The stall that a page with many results may have at most, with the slowest machine of CI's in mind.
const PATIENCE = 5000;

const clone = (value) => JSON.parse(JSON.stringify(value));

function make(sample, folder) {
  const report = JSON.parse(fs.readFileSync(sample, "utf8"));
  const told = report.results.filter(({ verdict }) => ["fail", "warn"].includes(verdict));
  const write = (name, value) => fs.writeFileSync(path.join(folder, name), JSON.stringify(value));

  const thousand = clone(report);
  for (let index = 0; index < 1000; index += 1) {
    const result = clone(told[index % told.length]);
    const info = report.requirements.find(({ id, revision }) => id === result.requirement && revision === result.revision);
    result.requirement += `-${index}`;
    thousand.results.push(result);
    thousand.requirements.push({ ...info, id: result.requirement });
  }
  write("thousand.json", thousand);

  // What is known or new, and a line that is stale.
  const excused = clone(report);
  for (const result of excused.results) {
    if (result.verdict === "fail") result.excuse = { kind: "known", reason: "the SDK does it, issue 7" };
    if (result.verdict === "warn") result.excuse = { kind: "new", reason: "not in 2025-11-25@1.0" };
  }
  excused.baseline = {
    file: "known.toml",
    entries: [{ line: 3, check: "ping-answered/ping", reason: "TODO", standing: "stale", why: "it passes now" }],
  };
  write("excused.json", excused);

  // What a server could say to get out of the text and into the page.
  const evil = `"'><img src=x onerror="window.caught=1"><script>window.caught=1</script></pre></script><a href="javascript:window.caught=1">`;
  const hostile = clone(report);
  hostile.target.server = hostile.target.name = evil;
  hostile.notes.push(evil);
  for (const result of hostile.results) {
    result.message = result.subject = evil;
    if (result.fix) result.fix = evil;
    result.evidence = { sent: { text: evil, head: [evil] }, received: { text: evil, caret: [3, 40] }, repro: evil };
  }
  for (const info of hostile.requirements) {
    info.text = evil;
    info.link = `javascript:window.caught=1//${evil}`;
    info.area = evil;
  }
  write("hostile.json", hostile);

  fs.mkdirSync(path.join(folder, "fleet"));
  for (let index = 0; index < 200; index += 1) {
    const one = clone(report);
    one.target.server = `server-${String((index * 37) % 200).padStart(3, "0")}`;
    one.target.name = `node server-${index}.js`;
    one.results = one.results.filter(({ verdict }, at) => verdict !== "fail" || (at + index) % 3 > 0);
    if (index % 29 === 7) Object.assign(one, { results: [], requirements: [], target: { ...one.target, status: "exited" } });
    write(`fleet/${index}.json`, one);
  }
}

// Runs in the page: visible text whose contrast with what lies behind it is too small.
function faint() {
  const rgb = (text) => {
    const [r, g, b, a = 1] = (text.match(/[\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
    return { r, g, b, a };
  };
  const light = ({ r, g, b }) => {
    const [x, y, z] = [r, g, b].map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgb(getComputedStyle(at).backgroundColor);
      if (colour.a === 1) return colour;
    }
    return { r: 255, g: 255, b: 255, a: 1 };
  };
  const found = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const element = node.parentElement;
    if (!node.textContent.trim() || element.closest("script, option, .sr, .skip") || !element.checkVisibility()) continue;
    const [a, b] = [light(rgb(getComputedStyle(element).color)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.set(`${element.tagName}.${element.className}`, `${ratio.toFixed(2)} ${node.textContent.trim().slice(0, 40)}`);
  }
  return [...found];
}

async function check(executablePath, folder, shots) {
  const { chromium } = require("playwright-core");
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  let passed = 0;

  // Opens a page, and holds it to what every page has to keep.
  const visit = async (name, width, colorScheme, act) => {
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
    const page = await context.newPage();
    const url = `file://${path.join(folder, `${name}.html`)}`;
    const trouble = [];
    page.on("request", (request) => request.url().split("#")[0] === url || trouble.push(`fetched ${request.url()}`));
    page.on("pageerror", (error) => trouble.push(`threw ${error.message}`));
    page.on("console", (message) => ["error", "warning"].includes(message.type()) && trouble.push(message.text()));
    page.on("dialog", (dialog) => trouble.push(`said ${dialog.message()}`));
    const what = `${name} at ${width} px, ${colorScheme}`;
    const started = Date.now();
    await page.goto(url);
    const took = Date.now() - started;
    assert.ok(took < PATIENCE, `${what} took ${took} ms to open`);
    const whole = async (state) => {
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(over <= 0, `${what}, ${state}: ${over} px wider than the window`);
      assert.deepEqual(await page.evaluate(faint), [], `${what}, ${state}: too faint`);
      if (shots) {
        const file = `${name}-${state}-${width}-${colorScheme}.png`;
        await page.screenshot({ path: path.join(shots, file), fullPage: name !== "thousand" && name !== "matrix" });
      }
    };
    await whole("opened");
    await act?.(page, whole, what);
    assert.equal(await page.evaluate(() => window.caught), undefined, `${what}: a text of the server ran`);
    assert.deepEqual(trouble, [], what);
    await context.close();
    passed += 1;
    console.log(`ok ${what}, opened in ${took} ms`);
  };

  // Names and structure, for who cannot see the page.
  const structure = async (page, what) => {
    const found = await page.evaluate(() => ({
      h1: document.querySelectorAll("h1").length,
      main: document.querySelectorAll("main").length,
      lang: document.documentElement.lang,
      unnamed: [...document.querySelectorAll("select, input, button, a, summary")].filter(
        (element) => !(element.labels?.length || element.textContent.trim() || element.ariaLabel),
      ).length,
      twice: [...document.querySelectorAll("[id]")].length - new Set([...document.querySelectorAll("[id]")].map(({ id }) => id)).size,
      rooms: [...document.querySelectorAll("[aria-labelledby]")].filter((e) => !document.getElementById(e.getAttribute("aria-labelledby"))).length,
    }));
    assert.deepEqual(found, { h1: 1, main: 1, lang: "en", unnamed: 0, twice: 0, rooms: 0 }, what);
  };

  const list = async (page, whole, what) => {
    await structure(page, what);
    const shown = page.locator(".findings .entry:not([hidden])");
    const all = await page.locator(".findings .entry").count();
    const told = async () => Number((await page.textContent(".told")).split(" ")[0]);
    const verdicts = async () => new Set(await shown.evaluateAll((entries) => entries.map(({ dataset }) => dataset.verdict)));
    const at_first = await shown.count();
    assert.ok(at_first > 0 && at_first < all, `${what}: ${at_first} of ${all} shown at first`);
    assert.ok(!(await verdicts()).has("pass"), `${what}: passes are no findings`);
    await page.selectOption("[name=verdict]", "fail");
    assert.deepEqual([...(await verdicts())], ["fail"]);
    assert.equal(await told(), await shown.count());
    await page.selectOption("[name=verdict]", "");
    assert.equal(await shown.count(), all);
    const area = await page.locator(".findings .entry").first().getAttribute("data-area");
    await page.selectOption("[name=area]", area);
    assert.deepEqual(new Set(await shown.evaluateAll((entries) => entries.map(({ dataset }) => dataset.area))), new Set([area]));
    await page.selectOption("[name=area]", "");
    await page.selectOption("[name=revision]", "2025-11-25");
    assert.ok((await shown.evaluateAll((entries) => entries.every(({ dataset }) => dataset.revisions.includes("2025-11-25")))));
    await page.selectOption("[name=revision]", "");
    const name = await page.locator(".findings .entry .name").first().textContent();
    await page.fill("[name=text]", name.toUpperCase());
    assert.ok((await shown.count()) >= 1 && (await shown.count()) < all, `${what}: the text is looked for`);
    assert.ok((await shown.first().textContent()).includes(name));
    await page.fill("[name=text]", "nothing-is-called-so");
    assert.equal(await shown.count(), 0);
    assert.ok(await page.locator(".findings .none").isVisible());
    await page.fill("[name=text]", "");
    await page.selectOption("[name=verdict]", "findings");

    // A finding by the keyboard alone.
    const first = shown.first();
    await first.locator("summary").focus();
    await page.keyboard.press("Enter");
    const inside = first.locator(".inside");
    assert.ok(await inside.isVisible(), `${what}: Enter opens a finding`);
    const text = await inside.textContent();
    for (const piece of ["MUST", "received", "Fix", "Repro"]) assert.ok(text.includes(piece), `${what}: no ${piece} in ${text}`);
    const link = await inside.locator("a").first().getAttribute("href");
    assert.ok(link.startsWith("https://modelcontextprotocol.io/specification/"), link);
    await whole("finding");
    const carets = await page.locator(".findings mark").count();
    assert.ok(carets > 0, `${what}: no caret`);
  };

  const theme = async (page) => {
    const seen = new Set();
    for (let press = 0; press < 3; press += 1) {
      seen.add(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
      await page.click(".theme");
    }
    assert.equal(seen.size, 2, "the switch changes the theme");
    assert.equal(await page.textContent(".theme"), "Theme: system");
  };

  for (const width of WIDTHS) {
    for (const scheme of SCHEMES) {
      await visit("run", width, scheme, list);
      await visit("sample", width, scheme, async (page, whole, what) => {
        await structure(page, what);
        await theme(page);
        for (const summary of await page.locator(".entry:not([hidden]) summary").all()) await summary.press("Enter");
        await whole("all-open");
      });
      await visit("support", width, scheme, async (page, _, what) => {
        await structure(page, what);
        assert.equal(await page.locator(".entry").count(), 0);
        assert.ok((await page.locator(".features tbody tr").count()) > 20, `${what}: the table of features`);
      });
      await visit("excused", width, scheme, async (page, whole, what) => {
        await structure(page, what);
        assert.ok((await page.locator(".alert").first().textContent()).includes("known.toml:3 ping-answered/ping"), what);
        const known = page.locator('.findings .entry[data-verdict="fail"]').first();
        assert.ok((await known.locator(".where").textContent()).endsWith("known"), `${what}: what is known is told in the list`);
        await known.locator("summary").press("Enter");
        assert.ok((await known.locator(".inside").textContent()).includes("known: the SDK does it, issue 7"));
        await whole("known");
      });
      await visit("hostile", width, scheme, async (page, whole) => {
        await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
        await whole("all-open");
        assert.equal(await page.locator("img, iframe, object, a[href^=javascript]").count(), 0);
      });
      await visit("matrix", width, scheme, async (page, whole, what) => {
        await structure(page, what);
        const rows = page.locator(".matrix tbody tr:not([hidden])");
        assert.equal(await rows.count(), 200);
        const names = () => rows.locator("th").evaluateAll((cells) => cells.map((cell) => cell.textContent));
        const sorted = await names();
        assert.deepEqual(sorted, [...sorted].sort(), "sorted by name");
        await page.click("[data-sort=warn]");
        const warnings = await rows.evaluateAll((all) => all.map(({ dataset }) => Number(dataset.warn)));
        assert.deepEqual(warnings, [...warnings].sort((a, b) => b - a), "sorted by warnings");
        await page.selectOption("[name=which]", "problem");
        assert.equal(await rows.count(), 7);
        await page.selectOption("[name=which]", "");
        await page.fill("[name=text]", "server-012");
        assert.equal(await rows.count(), 1);
        await page.selectOption("[name=columns]", "tools");
        assert.ok((await page.locator(".matrix thead .area").first().textContent()).includes("/tools-"));
        await whole("requirements");
        // A broken requirement leads to its finding, opened.
        const broken = page.locator(".matrix tbody tr:not([hidden]) .mark.v-warn").first();
        const column = await broken.evaluate((link) => link.closest("table").tHead.rows[0].cells[link.parentElement.cellIndex].textContent);
        await broken.click();
        assert.ok(await page.locator(".server:target h2").isVisible());
        assert.ok(!(await page.locator(".overview").isVisible()));
        const opened = await page.locator(".server:target details[open] .name").allTextContents();
        assert.deepEqual(opened, [column.split("/")[1]], `${what}: the cell of ${column}`);
        assert.ok(await page.locator(".server:target details[open] .wire").first().isVisible(), "the exchange behind the cell");
        await whole("server");
        await page.click(".server:target .back a");
        assert.ok(await page.locator(".overview").isVisible());
      });
    }
  }
  await visit("thousand", 1440, "light", async (page, _, what) => {
    assert.ok((await page.locator(".findings .entry").count()) > 1000);
    const took = await page.evaluate(async () => {
      const started = performance.now();
      const input = document.querySelector("[name=text]");
      input.value = "tools";
      input.dispatchEvent(new Event("input", { bubbles: true }));
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      return Math.round(performance.now() - started);
    });
    assert.ok(took < PATIENCE / 2, `${what}: the filter took ${took} ms`);
    console.log(`# the filter over 1,000 findings took ${took} ms`);
  });
  await browser.close();
  console.log(`${passed} passed, 0 failed`);
}

const [verb, ...rest] = process.argv.slice(2);
if (verb === "make") make(...rest);
else if (verb === "check") {
  check(...rest).catch((error) => {
    console.error(error);
    process.exitCode = 1;
  });
} else {
  console.error("make SAMPLE FOLDER, or check BROWSER FOLDER [SHOTS]");
  process.exitCode = 2;
}
