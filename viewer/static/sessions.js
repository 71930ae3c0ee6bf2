"use strict";
// The list follows what is typed and chosen; without this script the form's button does it.
(() => {
  const form = document.querySelector("form[data-live]");
  const results = document.getElementById("results");
  if (!form || location.protocol === "file:") return;
  let waiting = 0, asked = 0;

  async function show(address, keep) {
    const mine = ++asked;
    results.classList.add("waiting");
    try {
      const answer = await fetch(address, { headers: { Accept: "text/html" } });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (mine !== asked) return;
      const found = page.getElementById("results");
      if (!answer.ok || !found) { location.assign(address); return; }
      results.replaceChildren(...found.childNodes);
      results.dataset.shown = address;
      if (keep) history.replaceState(null, "", address);
    } catch { if (mine === asked) location.assign(address); }
    finally { if (mine === asked) results.classList.remove("waiting"); }
  }

  const address = () => {
    const asked = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
    return `${form.getAttribute("action")}?${asked}`;
  };
  form.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(() => show(address(), true), 120); });
  form.addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(waiting); show(address(), true); });
  function step(by) {
    const links = [...results.querySelectorAll("tbody .c-session > a:first-child")];
    const at = links.indexOf(document.activeElement);
    const next = links[Math.max(0, Math.min(links.length - 1, at + by))];
    if (next) { next.focus(); next.closest("tr").scrollIntoView({ block: "nearest" }); }
  }

  document.addEventListener("keydown", (event) => {
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
