"use strict";
(() => {
  const $ = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const data = JSON.parse($("#data").textContent);
  const servers = all(".server");
  const filter = $("form.filter");
  const table = $("table.matrix");
  const rows = all("tbody tr", table).map((row, place) => ({ row, place, text: `${row.cells[0].textContent} ${row.dataset.search}`.toLowerCase() }));

  // The style shows one server or the table of all; a reader of the screen is told by the focus.
  const go = () => {
    const server = servers.find((section) => section.id === decodeURIComponent(location.hash.slice(1)));
    if (!server) return;
    scrollTo(0, 0);
    $("h2", server).focus({ preventScroll: true });
  };
  addEventListener("hashchange", go);
  go();

  // A cell leads to what it is about: the findings of its area, or of its requirement.
  table.addEventListener("click", (event) => {
    const link = event.target.closest("a.mark");
    if (!link) return;
    const about = $("thead tr", table).cells[link.parentElement.cellIndex].textContent;
    const server = document.getElementById(link.getAttribute("href").slice(1));
    const told = all(".entry", server).filter((entry) =>
      filter.elements.columns.value
        ? entry.dataset.revisions.split(" ").some((revision) => about === `${revision}/${$(".name", entry).textContent}`)
        : entry.dataset.area === about);
    if (!told.length) return;
    told.forEach((entry) => ($("details", entry).open = true));
    setTimeout(() => {
      told[0].scrollIntoView();
      $("summary", told[0]).focus({ preventScroll: true });
    });
  });

  const apply = () => {
    const { which, text } = filter.elements;
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { row, text: own } of rows) {
      const { fail, warn, problem } = row.dataset;
      const kinds = {
        fail: fail !== "0",
        warn: warn !== "0",
        clean: fail === "0" && warn === "0" && problem === "false",
        problem: problem === "true",
      };
      const fits = (!which.value || kinds[which.value]) && words.every((word) => own.includes(word));
      row.hidden = !fits;
      if (fits) shown += 1;
    }
    $(".told").textContent = `${shown} of ${rows.length} servers`;
    $(".none").hidden = shown > 0;
  };

  const head = $("thead tr", table);
  const areas = [...head.cells].slice(3);
  const cells = rows.map(({ row }) => [...row.cells].slice(3));
  const columns = (area) => {
    const requirements = data.requirements.map(([id, of], index) => ({ id, of, index })).filter(({ of }) => of === area);
    const heads = area
      ? requirements.map(({ id }) => {
          const cell = document.createElement("th");
          cell.scope = "col";
          cell.className = "area";
          const name = document.createElement("span");
          name.textContent = id;
          cell.append(name);
          return cell;
        })
      : areas;
    [...head.cells].slice(3).forEach((cell) => cell.remove());
    head.append(...heads);
    rows.forEach(({ row, place }) => {
      [...row.cells].slice(3).forEach((cell) => cell.remove());
      const href = $("a", row).getAttribute("href");
      row.append(...(area
        ? requirements.map(({ index }) => {
            const found = data.verdicts["abcdefgh".indexOf(data.standings[place][index])];
            const cell = document.createElement("td");
            cell.className = "cell";
            const link = document.createElement("a");
            link.href = href;
            link.className = `mark v-${found ? found.verdict : "none"}`;
            link.textContent = found ? found.sign : "";
            link.title = found ? found.said : "not asked";
            link.setAttribute("aria-label", link.title);
            cell.append(link);
            return cell;
          })
        : cells[place]));
    });
  };

  const sort = (button) => {
    const key = button.dataset.sort;
    const cell = button.parentElement;
    const down = cell.getAttribute("aria-sort") === (key === "name" ? "ascending" : "descending");
    const sign = (key === "name") === down ? -1 : 1;
    const value = ({ row, place }) => (key === "name" ? place : Number(row.dataset[key]));
    const order = [...rows].sort((a, b) => sign * (value(a) - value(b)) || a.place - b.place);
    all("[aria-sort]", head).forEach((other) => other.removeAttribute("aria-sort"));
    cell.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    $("tbody", table).append(...order.map(({ row }) => row));
  };
  all("button[data-sort]", head).forEach((button) => button.addEventListener("click", () => sort(button)));

  filter.hidden = false;
  filter.addEventListener("submit", (event) => event.preventDefault());
  filter.addEventListener("input", (event) => {
    if (event.target.name === "columns") columns(event.target.value);
    apply();
  });
  apply();
})();
