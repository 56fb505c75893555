"use strict";
(() => {
  const root = document.documentElement;
  const $ = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];

  const theme = $(".theme");
  const themes = ["system", "light", "dark"];
  const wear = (name) => {
    if (name === "system") delete root.dataset.theme;
    else root.dataset.theme = name;
    theme.textContent = `Theme: ${name}`;
  };
  // A page from a file may have no storage; then the choice lasts as long as the page.
  const kept = () => {
    try { return localStorage.getItem("mcp-conform-theme"); } catch { return null; }
  };
  if (theme) {
    let worn = themes.includes(kept()) ? kept() : "system";
    wear(worn);
    theme.hidden = false;
    theme.addEventListener("click", () => {
      worn = themes[(themes.indexOf(worn) + 1) % themes.length];
      wear(worn);
      try { localStorage.setItem("mcp-conform-theme", worn); } catch { /* see above */ }
    });
  }

  if (navigator.clipboard) {
    document.addEventListener("click", async (event) => {
      const button = event.target.closest(".copy");
      if (!button) return;
      try {
        await navigator.clipboard.writeText($("code", button.parentElement).textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Not allowed";
      }
    });
  } else {
    all(".copy").forEach((button) => button.remove());
  }
})();
