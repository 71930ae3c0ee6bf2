"use strict";
// Searches, filters and sorts the list of a bundle: all of it is in a script beside the pages, loaded when it is wanted.
(() => {
  const form = document.querySelector("form[data-list]");
  const results = document.getElementById("results"), table = results?.querySelector("table.sessions");
  if (!form || !table) return;
  const MOST = 300, AROUND = 30, EXCERPT = 140;
  const body = table.tBodies[0], pages = results.querySelector(".pages"), first = [...body.childNodes];
  const names = [...table.tHead.querySelectorAll("[data-sort]")];
  const nothing = document.createElement("p");
  nothing.className = "empty";
  nothing.textContent = "No session is like that. All words have to be there; \"words in quotes\" as they stand; -word must not be there.";
  nothing.hidden = true;
  table.parentElement.after(nothing);
  const told = pages.querySelector("span"), told_first = told.textContent, others = [...pages.querySelectorAll("a")];
  let list = null, sort = "session";

  // Words as the viewer's index has them: letters and digits, without marks on them, each sign of a script without spaces.
  const SIGNS = /([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\u{20000}-\u{3ffff}])/gu;
  const wordsOf = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase().replace(SIGNS, " $1 ").match(/[\p{L}\p{N}\p{Co}]+/gu) || [];
  const haystack = (text) => ` ${wordsOf(text).join(" ")} `;

  function asked(text) {
    const terms = [...text.matchAll(/(-?)(?:"([^"]*)"?|(\S+))/g)]
      .map(([, minus, quoted, word]) => ({ minus: minus === "-", typed: word !== undefined, raw: (quoted ?? word).replace(/^[ "]+|[ "]+$/g, ""), words: wordsOf(quoted ?? word) }))
      .filter((term) => term.words.length);
    const wanted = terms.filter((term) => !term.minus), last = wanted.at(-1);
    // What is still being typed is found by its beginning.
    for (const term of terms) term.needle = ` ${term.words.join(" ")}${term === last && term.typed && !/\s$/.test(text) ? "" : " "}`;
    return { wanted, unwanted: terms.filter((term) => term.minus), empty: !text.trim() };
  }

  function load() {
    if (list) return Promise.resolve(list);
    return new Promise((done) => {
      const script = document.createElement("script");
      script.src = form.dataset.list;
      script.addEventListener("load", () => { list = window.apportionSessions; done(list); });
      document.head.append(script);
    });
  }

  function holds(talk, query) {
    talk[2] ??= haystack(`${talk[0]}\n${[...new Set(talk[1].map((turn) => turn[1]))].join("\n")}\n`) + talk[1].map((turn) => haystack(turn[2])).join("");
    return query.wanted.length > 0 && query.wanted.every((term) => talk[2].includes(term.needle)) && !query.unwanted.some((term) => talk[2].includes(term.needle));
  }

  // The turn in which something stands that was searched for, in the place of the lowest turn.
  function excerpt(row, talk, query) {
    const place = row.querySelector(".c-lowest");
    place.replaceChildren();
    const parts = query.wanted.map((term) => term.raw.normalize("NFD").replace(/\p{M}/gu, "").split(/[^\p{L}\p{N}]+/u).filter(Boolean)).filter((part) => part.length).sort((a, b) => b.join().length - a.join().length);
    const letters = (word) => [...word].map((sign) => sign + (/\p{L}/u.test(sign) ? "\\p{M}*" : "")).join("");
    const pattern = new RegExp(parts.map((part) => (part[0].search(SIGNS) === 0 ? "" : "(?<![\\p{L}\\p{N}\\p{M}])") + part.map(letters).join("[^\\p{L}\\p{N}]+")).join("|"), "iu");
    for (const [number, speaker, words] of talk[1]) {
      const text = words.normalize("NFD");
      const match = pattern.exec(text);
      if (!match) continue;
      let start = Math.max(0, match.index - AROUND);
      if (start) start = text.indexOf(" ", start) + 1 || start;
      if (start > match.index) start = match.index;
      const link = document.createElement("a"), who = document.createElement("b"), name = document.createElement("bdi");
      const said = document.createElement("span"), mark = document.createElement("mark");
      link.className = "excerpt";
      link.href = row.querySelector(".c-session a").getAttribute("href") + `#turn-${number}`;
      name.textContent = clean(speaker);
      who.append(`${number} `, name);
      mark.textContent = clean(match[0]);
      said.dir = "auto";
      said.append((start ? "…" : "") + clean(text.slice(start, match.index)), mark, clean(text.slice(match.index + match[0].length, start + EXCERPT)) + (start + EXCERPT < text.length ? "…" : ""));
      link.append(who, " ", said);
      place.append(link);
      return;
    }
  }
  // Marks that turn the direction of writing are dropped, as on every page.
  const clean = (text) => text.normalize("NFC").replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "");

  async function show() {
    const query = asked(form.elements.q.value), split = form.elements.split.value, warned = form.elements.only.checked;
    const plain = query.empty && !split && !warned && sort === "session";
    for (const link of others) link.hidden = !plain;
    if (plain) { body.replaceChildren(...first); head(); told.textContent = told_first; nothing.hidden = true; return; }
    const { rows, talks, columns } = await load();
    const column = columns.indexOf(sort.replace("-", "")), way = sort.startsWith("-") ? -1 : 1;
    const found = rows.filter(([, talk, of, warns]) => (!split || of === split) && (!warned || warns) && (query.empty || holds(talks[talk], query)));
    const value = (row) => row[4][column];
    found.sort((a, b) => {
      const x = value(a), y = value(b);
      if (x === null || y === null) return (x === null) - (y === null);
      return way * (x < y ? -1 : x > y ? 1 : 0);
    });
    // Each line was written, and escaped, when the bundle was made.
    const holder = document.createElement("template");
    holder.innerHTML = found.slice(0, MOST).map((row) => row[0]).join("");
    const shown = [...holder.content.querySelectorAll("tr")];
    if (!query.empty) shown.forEach((row, at) => excerpt(row, talks[found[at][1]], query));
    body.replaceChildren(...shown);
    head(); // With the rows: an arrow over rows of another order would say what is not so.
    nothing.hidden = found.length > 0;
    told.textContent = `${found.length ? 1 : 0}–${Math.min(MOST, found.length).toLocaleString("en")} of ${found.length.toLocaleString("en")}`;
    results.dataset.shown = `${form.elements.q.value}|${split}|${warned}|${sort}`;
  }

  function head() {
    const key = sort.replace("-", "");
    for (const button of names) {
      if (button.dataset.sort === "lowest") button.firstChild.data = form.elements.q.value.trim() ? "Found in" : "Lowest turn";
      const mine = button.dataset.sort.replace("-", "") === key;
      const cell = button.closest("th");
      if (mine) cell.setAttribute("aria-sort", sort.startsWith("-") ? "descending" : "ascending"); else cell.removeAttribute("aria-sort");
      button.querySelector(".way").textContent = mine ? (sort.startsWith("-") ? "↓" : "↑") : "";
    }
  }

  let waiting = 0;
  const soon = () => { clearTimeout(waiting); waiting = setTimeout(show, 120); };
  for (const [at, name] of names.entries()) {
    const button = document.createElement("button"), way = document.createElement("span");
    button.type = "button";
    button.className = "by";
    button.title = name.title;
    button.dataset.sort = name.dataset.sort;
    way.className = "way";
    way.setAttribute("aria-hidden", "true");
    button.append(name.textContent, way);
    name.replaceWith(button);
    names[at] = button;
    button.addEventListener("click", () => {
      const natural = button.dataset.sort, key = natural.replace("-", "");
      sort = sort.replace("-", "") === key ? (sort.startsWith("-") ? key : `-${key}`) : natural;
      form.elements.sort.value = natural;
      show();
    });
  }
  form.hidden = false;
  form.addEventListener("input", (event) => { if (event.target.name === "sort") sort = form.elements.sort.value; soon(); });
  form.addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(waiting); show(); });
  head();
})();
