"use strict";
// Seconds that the page was looked at, how often it was left, and keys. Without this script the form is the same.
(() => {
  const form = document.querySelector("form[data-answers]");
  const seconds = form.querySelector("[data-seconds]");
  const lost = form.querySelector("[data-lost]");
  const before = { seconds: Number(seconds.dataset.seconds), lost: Number(lost.dataset.lost) };
  // Of this page alone and until it is sent, so that a reload does not begin at nought.
  const kept = `study-${form.elements.item.value}-${form.elements.revision.value}`;
  try {
    const [spent, left] = JSON.parse(sessionStorage.getItem(kept) || "[0, 0]");
    before.seconds += spent; before.lost += left;
  } catch { /* a browser may keep nothing */ }
  let shown = 0, left = 0, sent = false;
  let since = document.visibilityState === "visible" ? performance.now() : null;

  function stop() {
    if (since !== null) shown += (performance.now() - since) / 1000;
    since = null;
  }
  function note() {
    const running = since !== null;
    stop();
    if (running) since = performance.now();
    const own = { seconds: Number(seconds.dataset.seconds), lost: Number(lost.dataset.lost) };
    // What is sent along comes back with the page, if it comes back.
    const unsent = sent ? [0, 0] : [before.seconds - own.seconds + shown, before.lost - own.lost + left];
    try { sessionStorage.setItem(kept, JSON.stringify(unsent)); } catch { /* as above */ }
    seconds.value = (before.seconds + shown).toFixed(1);
    lost.value = String(before.lost + left);
  }
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") since = performance.now();
    else { left += 1; stop(); note(); }
  });
  // A window beside this one takes the focus without hiding the page; the clock runs on, since it may still be read.
  addEventListener("blur", () => { if (document.visibilityState === "visible") { left += 1; note(); } });
  addEventListener("pagehide", note);
  form.addEventListener("submit", () => { sent = true; note(); });
  addEventListener("pageshow", () => { sent = false; });

  const questions = [...form.querySelectorAll("[data-question], #q-reason")];
  const focusable = (question) => question.querySelector("input:checked") || question.querySelector("input, textarea");
  function go(from, step) {
    const to = questions[questions.indexOf(from) + step];
    if (to) { focusable(to).focus({ preventScroll: true }); to.scrollIntoView({ block: "nearest" }); }
  }
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { form.requestSubmit(); return; }
    if (event.ctrlKey || event.metaKey || event.altKey || /^(text|number|textarea)$/.test(event.target.type)) return;
    const question = event.target.closest("[data-question]");
    if (!question) return;
    if (event.key === "j") go(question, 1);
    else if (event.key === "k") go(question, -1);
    else if (/^[a-z]$/i.test(event.key)) {
      const rows = question.querySelectorAll("[data-row]");
      const input = rows.length === 1 && [...rows[0].querySelectorAll("input")].find((one) => one.value === event.key.toUpperCase());
      if (!input) return;
      input.click();
      input.focus();
    } else return;
    event.preventDefault();
  });
  const keys = form.querySelector("[data-keys]");
  keys.hidden = false;
  document.getElementById("faults")?.focus();
})();
