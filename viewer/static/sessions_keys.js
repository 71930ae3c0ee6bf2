"use strict";
// The list by keys: j and k walk it, / goes to the search.
(() => {
  const form = document.querySelector("form[role=search]"), results = document.getElementById("results");
  if (!form || !results) return;

  function step(by) {
    const links = [...results.querySelectorAll("tbody .c-session > a:first-child")];
    const at = links.indexOf(document.activeElement);
    const next = links[Math.max(0, Math.min(links.length - 1, at + by))];
    if (next) { next.focus(); next.closest("tr").scrollIntoView({ block: "nearest" }); }
  }

  document.addEventListener("keydown", (event) => {
    if (document.documentElement.dataset.keys === "off") return;
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (event.key === "j") step(1);
    if (event.key === "k") step(-1);
    if (event.key === "/") {
      event.preventDefault();
      form.elements.q.focus();
      form.elements.q.select();
    }
  });
})();
