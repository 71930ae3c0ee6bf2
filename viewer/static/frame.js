"use strict";
// Runs before the page is drawn, so that a chosen theme is there from the first picture on.
(() => {
  const root = document.documentElement;
  let kept = null;
  try { kept = localStorage.getItem("apportion-theme"); } catch { /* a page from a disk may keep nothing */ }
  if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  // Who speaks to a machine, or whose keys go astray, turns single keys off on a session's page: for all pages.
  try { if (localStorage.getItem("apportion-keys") === "off") root.dataset.keys = "off"; } catch { /* as above */ }
  root.classList.add("js");
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.querySelector("[data-theme-toggle]");
    button.hidden = false;
    button.addEventListener("click", () => {
      const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      try { localStorage.setItem("apportion-theme", root.dataset.theme); } catch { /* as above */ }
    });
  });
})();
