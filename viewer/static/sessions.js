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
})();
