"use strict";
(() => {
  const $ = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];

  const findings = ["fail", "harness-error", "warn", "contested", "advice"];
  const filter = $("form.filter");
  if (filter) {
    const entries = all(".findings .entry");
    const texts = new Map();
    const text = (entry) => {
      if (!texts.has(entry)) texts.set(entry, entry.textContent.toLowerCase());
      return texts.get(entry);
    };
    const apply = () => {
      const { verdict, revision, area, text: input } = filter.elements;
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const entry of entries) {
        const data = entry.dataset;
        const fits =
          (!verdict.value || (verdict.value === "findings" ? findings.includes(data.verdict) : data.verdict === verdict.value)) &&
          (!revision.value || data.revisions.split(" ").includes(revision.value)) &&
          (!area.value || data.area === area.value) &&
          words.every((word) => text(entry).includes(word));
        entry.hidden = !fits;
        if (fits) shown += 1;
      }
      $(".told").textContent = `${shown} of ${entries.length} requirements with a verdict`;
      $(".none").hidden = shown > 0;
    };
    filter.hidden = false;
    filter.addEventListener("input", apply);
    filter.addEventListener("submit", (event) => event.preventDefault());
    apply();
    // A link to a finding shows it, whatever the filter hides.
    const follow = () => {
      const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
      if (target && target.matches(".entry details")) {
        target.parentElement.hidden = false;
        target.open = true;
        target.scrollIntoView();
      }
    };
    addEventListener("hashchange", follow);
    follow();
  }
})();
