// Fetches a page again that says how often, filters rows while one types, and switches between light and dark. Nothing else: every page works
// without it.
"use strict";
// Before the page is painted. Who has not chosen has what the system has.
const root = document.documentElement;
try { root.dataset.theme = localStorage.getItem("theme") ?? ""; } catch { /* Storage may be forbidden. */ }

document.addEventListener("DOMContentLoaded", () => {
  for (const button of document.querySelectorAll("button.theme")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = isDark ? "light" : "dark";
      try { localStorage.setItem("theme", root.dataset.theme); } catch { /* It holds for this page. */ }
    });
  }

  // Where the menu is wider than the window.
  document.querySelector("nav a[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

  const page = document.querySelector("main[data-refresh]");
  const busy = () => {
    const selected = document.getSelection();
    const writes = document.activeElement && page.contains(document.activeElement) && document.activeElement.matches("input, select");
    return document.hidden || writes || (selected && !selected.isCollapsed);
  };
  const refresh = async () => {
    if (!busy()) {
      try {
        const answer = await fetch(location.href, { credentials: "same-origin", cache: "no-store" });
        if (answer.redirected) { location.assign(answer.url); return; }
        if (answer.ok) {
          const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
          if (fresh && !busy()) {
            const open = [...page.querySelectorAll("details")].map((one) => one.open);
            const places = [...page.querySelectorAll(".scroll, pre")].map((one) => [one.scrollLeft, one.scrollTop]);
            page.replaceChildren(...fresh.childNodes);
            page.querySelectorAll("details").forEach((one, at) => { one.open = Boolean(open[at]); });
            page.querySelectorAll(".scroll, pre").forEach((one, at) => { if (places[at]) [one.scrollLeft, one.scrollTop] = places[at]; });
          }
          document.body.classList.remove("stale");
        }
      } catch {
        document.body.classList.add("stale");
      }
    }
    setTimeout(refresh, Number(page.dataset.refresh));
  };
  if (page) setTimeout(refresh, Number(page.dataset.refresh));

  for (const field of document.querySelectorAll("input[data-rows]")) {
    field.addEventListener("input", () => {
      const wanted = field.value.toLowerCase();
      for (const row of document.querySelectorAll(`${field.dataset.rows} tbody tr`)) {
        row.hidden = !row.textContent.toLowerCase().includes(wanted);
      }
    });
  }
});
