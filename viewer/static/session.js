"use strict";
// The page of a session: turns, the player, methods, keys, links to a turn (#turn-12, #turn=12) and a second (?t=34.5).
(() => {
  const root = document.querySelector("[data-session]");
  if (!root) return;
  const find = (what, within = root) => within.querySelector(what);
  const all = (what, within = root) => [...within.querySelectorAll(what)];
  const timed = root.dataset.unit === "s", end = Number(root.dataset.end);
  const turns = all(".turn"), byNumber = new Map(turns.map((turn) => [turn.dataset.turn, turn]));
  const canvas = find("[data-canvas]"), playhead = find("[data-playhead]"), band = find("[data-band]");
  const help = document.querySelector("[data-keys]");
  let current = null, heard = null;

  // --- Where things stand
  const spot = (turn) => {
    if (timed) return turn.dataset.start ? [Number(turn.dataset.start), Number(turn.dataset.end)] : null;
    const place = turns.indexOf(turn);
    return [place, place + 1];
  };
  const clock = (seconds) => {
    const whole = Math.max(0, Math.floor(seconds)), rest = String(whole % 60).padStart(2, "0");
    const minutes = Math.floor(whole / 60);
    return minutes < 60 ? `${minutes}:${rest}` : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest}`;
  };
  const inView = (element) => {
    const box = element.getBoundingClientRect(), bar = find("[data-transport]"); // Where it is narrow, the player's bar is below.
    const below = bar && getComputedStyle(bar).position === "fixed" ? bar.getBoundingClientRect().top : innerHeight;
    return box.top > 60 && box.bottom < Math.min(below, innerHeight - 64);
  };
  // While the page still moves to one turn, what is in view says nothing of where it ends: the next is moved to as well.
  // What comes later, a film's height or behaviour, pushes a turn away from where the page was sent: it is sent again,
  // unless the person has gone on meanwhile.
  let moving = 0, wanted = null, tries = 0;
  const send = (element) => {
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (!calm) moving = performance.now() + 1000;
    element.scrollIntoView({ block: "center", behavior: calm ? "auto" : "smooth" });
  };
  const reveal = (element) => {
    wanted = element;
    if (performance.now() > moving && inView(element)) return;
    tries = 2;
    send(element);
  };
  const settle = () => {
    if (!wanted || inView(wanted)) tries = 0;
    else if (tries > 0) { tries -= 1; send(wanted); }
  };
  addEventListener("scrollend", () => { moving = 0; settle(); });
  new ResizeObserver(() => { tries = Math.max(tries, 1); settle(); }).observe(root);
  for (const own of ["wheel", "touchmove", "pointerdown", "keydown"]) {
    addEventListener(own, () => { wanted = null; }, { capture: true, passive: true });
  }

  // --- The player
  const player = new window.SessionPlayer(timed ? all("[data-player]") : [], end, (time, playing) => {
    playhead.style.left = `${(100 * Math.min(time, end)) / end}%`;
    const output = find("[data-clock]");
    if (output) output.textContent = clock(time);
    const button = find("[data-play]");
    button.classList.toggle("on", playing);
    button.setAttribute("aria-label", playing ? "Pause" : "Play");
    hear(time, playing);
  });
  // Turns are in the order of their start but may overlap: the last that has begun is the one that is heard.
  const starts = turns.filter((turn) => turn.dataset.start).sort((a, b) => a.dataset.start - b.dataset.start);
  function hear(time, playing) {
    let low = 0, high = starts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (Number(starts[middle].dataset.start) <= time + 0.01) low = middle + 1; else high = middle;
    }
    const turn = starts[low - 1] || null;
    if (turn === heard) return;
    heard?.classList.remove("heard");
    heard = turn;
    heard?.classList.add("heard");
    if (heard && playing && find("[data-follow]").checked) { select(heard, { seek: false, link: false }); follow(heard); }
  }
  const follow = (turn) => {
    reveal(turn);
    const view = canvas.parentElement, at = (spot(turn)[0] / end) * canvas.clientWidth;
    if (at < view.scrollLeft || at > view.scrollLeft + view.clientWidth) view.scrollLeft = at - view.clientWidth * 0.2;
  };

  // --- Turns
  function select(turn, { seek = true, link = true, scroll = false } = {}) {
    if (!turn) return;
    current?.classList.remove("current");
    current?.removeAttribute("aria-current");
    current = turn;
    current.classList.add("current");
    current.setAttribute("aria-current", "true");
    const place = spot(turn);
    band.hidden = !place;
    if (place) {
      band.style.left = `${(100 * place[0]) / end}%`;
      band.style.width = `${(100 * (place[1] - place[0])) / end}%`;
      if (seek && timed) player.seek(place[0]);
    }
    if (link) history.replaceState(null, "", `#turn-${turn.dataset.turn}`);
    if (scroll) reveal(turn);
  }
  const step = (by, only) => {
    const among = only ? turns.filter((turn) => turn.classList.contains("target")) : turns;
    const here = among.indexOf(current);
    let next = here + by;
    if (here < 0) {
      const place = turns.indexOf(current);
      next = by > 0 ? among.findIndex((turn) => turns.indexOf(turn) > place) : among.findLastIndex((turn) => turns.indexOf(turn) < place);
    }
    select(among[Math.min(Math.max(0, next), among.length - 1)], { scroll: true });
  };
  root.addEventListener("click", (event) => {
    if (event.target.closest(".why")) return;
    if (event.target.closest(".evidence, details, summary, button, select, label")) return;
    const turn = event.target.closest(".turn");
    const link = event.target.closest("a");
    if (turn && (!link || link.classList.contains("at"))) {
      event.preventDefault();
      // Words that are being marked are not a wish to go there.
      if (!String(getSelection())) select(turn);
    }
  });
  canvas.addEventListener("click", (event) => {
    if (event.target.closest("a, button, summary")) return;
    const box = canvas.getBoundingClientRect(), at = ((event.clientX - box.left) / box.width) * end;
    const named = event.target.closest("[data-turn]");
    const turn = named ? byNumber.get(named.dataset.turn) : turns.findLast((one) => spot(one) && spot(one)[0] <= at);
    if (timed) player.seek(at);
    if (turn) { select(turn, { seek: false }); reveal(turn); }
  });

  // --- Why: the evidence of a turn is asked for when it is wanted
  async function evidence(turn) {
    const open = find("details.evidence", turn), link = find("a.why", turn);
    if (open) { open.open = !open.open; return; }
    if (!link || link.dataset.waiting) return;
    link.dataset.waiting = "yes";
    const details = document.createElement("details"), summary = document.createElement("summary");
    details.className = "evidence";
    details.open = true;
    summary.textContent = link.firstChild.textContent;
    const text = await part(link.dataset.evidence);
    delete link.dataset.waiting;
    details.append(summary, text);
    link.hidden = true;
    turn.append(details);
  }
  // A part of a page comes from this server, escaped by it; what is wrong is told in its place.
  async function part(address) {
    const place = document.createElement("div");
    try {
      const answer = await fetch(address);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      place.append(...(answer.ok ? page.body.childNodes : [page.querySelector("main")?.textContent || `Nothing came (${answer.status}).`]));
    } catch {
      place.append("The viewer does not answer. Is it still running?");
    }
    return place;
  }
  root.addEventListener("click", (event) => {
    const link = event.target.closest("a.why");
    if (!link || event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    const turn = link.closest(".turn");
    select(turn, { seek: turn !== heard });
    evidence(turn);
  });

  // --- Methods
  const row = (number) => find(`[data-row="${number}"]`);
  function draw(number, on) {
    root.classList.toggle(`off-${number}`, !on);
    find(`[data-toggle="${number}"]`)?.setAttribute("aria-pressed", on ? "true" : "false");
  }
  function front(number) {
    if (!row(number)) return;
    draw(number, true);
    for (const one of all("[data-row]")) {
      const chosen = one.dataset.row === String(number);
      one.classList.toggle("front", chosen);
      if (chosen) find(".pick", one).setAttribute("aria-current", "true"); else find(".pick", one).removeAttribute("aria-current");
    }
    for (const turn of turns) {
      const cell = find(`[data-series="${number}"]`, turn), level = cell ? cell.dataset.l : "0";
      turn.className = turn.className.replace(/\bl-?\d(?=\s|$)/, `l${level}`);
    }
  }
  for (const link of all("[data-front]")) {
    link.addEventListener("click", (event) => {
      if (event.metaKey || event.ctrlKey) return;
      event.preventDefault();
      front(Number(link.dataset.front));
    });
  }
  const drawn = (number) => !root.classList.contains(`off-${number}`);
  for (const eye of all("[data-toggle]")) {
    eye.hidden = false;
    eye.addEventListener("click", () => draw(Number(eye.dataset.toggle), !drawn(eye.dataset.toggle)));
  }

  // --- Zoom
  let zoom = 1;
  function zoomBy(direction) {
    const view = canvas.parentElement, middle = (view.scrollLeft + view.clientWidth / 2) / canvas.clientWidth;
    zoom = Math.min(64, Math.max(1, zoom * (direction > 0 ? 2 : 0.5)));
    canvas.style.width = `${zoom * 100}%`;
    view.scrollLeft = middle * canvas.clientWidth - view.clientWidth / 2;
  }
  find("[data-zooms]").hidden = false;
  for (const button of all("[data-zoom]")) button.addEventListener("click", () => zoomBy(Number(button.dataset.zoom)));

  // --- Waves and behaviour come after the page
  // A page from a disk holds what cannot be asked for there.
  async function heardOf(place) {
    if (place.dataset.sound) return JSON.parse(place.dataset.sound);
    const answer = await fetch(place.dataset.peaks);
    return answer.status === 200 ? answer.json() : null;
  }
  async function waves() {
    for (const line of all("[data-wave]")) {
      const place = find("[data-peaks]", line), element = find(`[data-player="${line.dataset.wave}"]`);
      try {
        const sound = await heardOf(place), offset = Number(element?.dataset.offset) || 0;
        if (!sound || !element || !element.isConnected || !window.WaveSurfer) continue;
        if (!(sound.length_s > 0)) continue;
        line.hidden = false;
        place.style.marginLeft = `${(100 * offset) / end}%`;
        place.style.width = `${(100 * sound.length_s) / end}%`;
        const colour = getComputedStyle(place).color;
        window.WaveSurfer.create({
          container: place, media: element, peaks: [sound.peaks], duration: sound.length_s, height: 34, normalize: true,
          waveColor: colour, progressColor: colour, cursorWidth: 0, interact: false, hideScrollbar: true,
        });
      } catch { /* without a wave the rest of the page is as good */ }
    }
  }
  async function behaviour() {
    const place = find("[data-tracks]");
    if (place?.dataset.tracks) place.replaceChildren(await part(place.dataset.tracks));
  }

  // --- Links
  async function copy(button) {
    const address = new URL(location.href);
    address.searchParams.delete("t");
    if (timed && player.leader) address.searchParams.set("t", player.time.toFixed(1));
    address.hash = current ? `turn-${current.dataset.turn}` : "";
    history.replaceState(null, "", address);
    try { await navigator.clipboard.writeText(address.href); } catch { /* it stands in the address bar */ }
    if (button) { button.textContent = "copied"; setTimeout(() => { button.textContent = "link"; }, 1500); }
  }
  function arrive() {
    const number = /^#turn[-=](-?\d+)$/.exec(location.hash)?.[1], turn = byNumber.get(number);
    const second = new URLSearchParams(location.search).get("t"), at = second === null || second === "" ? NaN : Number(second);
    if (timed && Number.isFinite(at) && !turn) {
      player.seek(at);
      if (heard) { select(heard, { seek: false, link: false }); reveal(heard); }
    } else if (turn) {
      select(turn, { link: false, seek: !Number.isFinite(at) });
      if (timed && Number.isFinite(at)) player.seek(at);
      wanted = turn;
      turn.scrollIntoView({ block: "center" });
    }
  }
  addEventListener("hashchange", arrive);

  // --- Keys
  let keysOff = false;
  try { keysOff = localStorage.getItem("apportion-keys") === "off"; } catch { /* a page from a disk may keep nothing */ }
  const off = find("[data-keys-off]", help);
  off.checked = keysOff;
  off.addEventListener("change", () => {
    keysOff = off.checked;
    try { localStorage.setItem("apportion-keys", keysOff ? "off" : "on"); } catch { /* as above */ }
  });
  const helper = document.querySelector("[data-help]");
  helper.hidden = false;
  helper.addEventListener("click", () => help.showModal());
  const go = (rel) => document.querySelector(`a[rel="${rel}"]`)?.click();
  const KEYS = {
    j: () => step(1), k: () => step(-1), J: () => step(1, true), K: () => step(-1, true),
    ",": () => timed && player.seek(player.time - 3), ".": () => timed && player.seek(player.time + 3),
    0: () => all("[data-toggle]").forEach((eye) => draw(Number(eye.dataset.toggle), true)),
    e: () => current && evidence(current), l: () => copy(find("[data-copy]")),
    "[": () => go("prev"), "]": () => go("next"), "?": () => help.showModal(),
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || keysOff || help.open || event.isComposing) return;
    if (event.target.closest("input, select, textarea, [contenteditable]")) return;
    const digit = /^Digit([1-9])$/.exec(event.code)?.[1];
    if (event.key === " ") {
      // Space on a button presses it; elsewhere it plays, and scrolls where nothing is played.
      if (!player.leader || event.target.closest("button, summary")) return;
      player.toggle();
    } else if (digit && event.shiftKey && row(digit)) {
      draw(Number(digit), !drawn(digit));
    } else if (/^[1-9]$/.test(event.key)) {
      front(Number(event.key));
    } else if (Object.hasOwn(KEYS, event.key)) {
      KEYS[event.key]();
    } else return;
    event.preventDefault();
  });

  // --- Begin
  if (timed && player.leader) {
    find("[data-transport]").hidden = false;
    playhead.hidden = false;
    find("[data-play]").addEventListener("click", () => player.toggle());
    find("[data-speed]").addEventListener("change", (event) => player.speed(Number(event.target.value)));
    find("[data-copy]").addEventListener("click", (event) => copy(event.currentTarget));
    for (const button of all("[data-mute]")) {
      const element = find("[data-player]", button.closest("figure"));
      button.hidden = false;
      button.addEventListener("click", () => {
        element.muted = !element.muted;
        button.setAttribute("aria-pressed", String(element.muted));
      });
    }
    for (const screen of all("video[data-player]")) screen.addEventListener("click", () => player.toggle());
  } else if (timed) playhead.hidden = false;
  arrive();
  root.dataset.ready = "yes";
  const later = window.requestIdleCallback || ((work) => setTimeout(work, 50));
  later(() => { behaviour(); waves(); });
})();
