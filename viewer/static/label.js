"use strict";
// Labels are saved without leaving the page, and by keys; without this script each button sends its form.
(() => {
  const forms = [...document.querySelectorAll("form[data-answer]")];
  const recordings = [...document.querySelectorAll(".recordings :is(video, audio)")];
  const player = recordings.length ? new window.SessionPlayer(recordings, Infinity, () => {}) : null;
  let at = -1, lines = 0;

  const tell = (form, text, bad) => {
    const state = form.querySelector("[data-state]");
    state.textContent = text;
    state.classList.toggle("bad", bad);
  };

  // One after the other for each turn, so that the last answer is the one that stays.
  const queues = new Map();
  function save(form, submitter) {
    const fields = new URLSearchParams(new FormData(form, submitter));
    tell(form, "saving…", false);
    const saved = (queues.get(form) || Promise.resolve()).then(() => send(form, fields));
    queues.set(form, saved);
    return saved;
  }

  async function send(form, fields) {
    try {
      const answer = await fetch(form.getAttribute("action"), { method: "POST", body: fields, headers: { Accept: "application/json" } });
      if (!answer.ok) {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const why = page.querySelector("main p") || page.body;
        throw new Error(why.textContent.trim().slice(0, 200));
      }
      const said = await answer.json();
      const value = fields.get("value");
      for (const button of form.querySelectorAll("[aria-pressed]")) button.setAttribute("aria-pressed", String(button.value === value && value !== ""));
      const back = form.querySelector(".back");
      if (back) back.hidden = value === "";
      tell(form, value === "" ? "taken back" : "saved", false);
      // Answers for several turns overtake each other: the count that was made last is the one that holds.
      if (said.lines >= lines) {
        lines = said.lines;
        document.querySelector("[data-done]").textContent = said.labelled;
        document.querySelector("[data-progress]").value = said.labelled;
        if (said.said) document.querySelector("[data-said]").textContent = said.said;
      }
      return true;
    } catch (error) {
      tell(form, `not saved: ${error.message || "the viewer does not answer"}`, true);
      return false;
    }
  }

  function mark(number) {
    at = number;
    document.querySelector(".tolabel .current")?.classList.remove("current");
    forms[number].closest("li").classList.add("current");
  }

  function go(to) {
    if (!forms.length) return;
    mark(Math.max(0, Math.min(forms.length - 1, to)));
    const turn = forms[at].closest("li");
    turn.focus({ preventScroll: true });
    turn.scrollIntoView({ block: "nearest" });
  }

  forms.forEach((form, number) => {
    form.addEventListener("submit", (event) => { event.preventDefault(); save(form, event.submitter); });
    form.closest("li").addEventListener("focusin", () => { if (at !== number) mark(number); });
  });

  document.addEventListener("keydown", (event) => {
    if (document.documentElement.dataset.keys === "off") return;
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (event.key === "j") go(at + 1);
    else if (event.key === "k") go(at - 1);
    else if (/^([0-9]|Backspace)$/.test(event.key) && at >= 0) {
      const form = forms[at], here = at;
      const answer = form.querySelector(`[aria-pressed][value="${event.key}"]`);
      const button = answer || (/^(0|Backspace)$/.test(event.key) ? form.querySelector(".back:not([hidden])") : null);
      if (!button) return;
      save(form, button).then((saved) => { if (!saved) go(here); });
      if (answer) go(at + 1);
    } else if (event.key === " " && player && event.target.tagName !== "BUTTON") {
      player.toggle();
    } else return;
    event.preventDefault();
  });

  for (const button of document.querySelectorAll("[data-seek]")) {
    button.hidden = false;
    button.addEventListener("click", () => { player.seek(Number(button.dataset.seek)); player.play(); });
  }
  const keys = document.querySelector("[data-keys]");
  if (keys) keys.hidden = false;
  const wanted = forms.findIndex((form) => form.closest("li").id === location.hash.slice(1));
  if (wanted >= 0) go(wanted);
})();
