"use strict";
// Plays a session's recordings together: one clock in seconds of the session, whatever each file's own clock says.
// A recording may begin after the session has and end before it does: the first that has something of a second tells
// the time then, and where none has, the clock goes on alone until one begins.
window.SessionPlayer = class {
  constructor(elements, end, onTime) {
    this.end = end;
    this.onTime = onTime;
    this.at = 0; // The session's second, as it was last seen or asked for.
    this.rate = 1;
    this.playing = false;
    this.media = elements.map((element) => ({ element, offset: Number(element.dataset.offset) || 0, broken: false }));
    for (const one of this.media) {
      one.element.addEventListener("error", () => this.breaks(one));
      for (const event of ["timeupdate", "seeked", "loadedmetadata"]) one.element.addEventListener(event, () => this.tell());
      // What somebody else began or ended: a key of the keyboard for players, the browser.
      one.element.addEventListener("play", () => { if (!one.element.paused && !this.playing) this.play(); });
      one.element.addEventListener("pause", () => { if (one.element.paused && this.playing && one === this.heard) this.pause(); });
    }
    // What could not be read before this script was there has said so to nobody.
    queueMicrotask(() => this.media.filter((one) => one.element.error).forEach((one) => this.breaks(one)));
  }

  // Whether a recording has something of a second; one whose length is not known yet may have.
  has(one, at) {
    const { ended, duration } = one.element;
    return !one.broken && at >= one.offset && !ended && !(at >= one.offset + duration);
  }

  get heard() { return this.media.find((one) => this.has(one, this.at)); }
  get leader() { return this.heard || this.media.find((one) => !one.broken); }
  get over() { return !this.heard && !this.media.some((one) => !one.broken && one.offset > this.at); }
  get time() {
    const heard = this.heard;
    if (heard) this.at = heard.element.currentTime + heard.offset;
    return this.at;
  }

  breaks(one) {
    if (one.broken) return;
    one.broken = true;
    const said = document.createElement("p");
    said.className = "gone";
    said.textContent = "This browser cannot play the recording, or it is no longer there.";
    one.element.replaceWith(said);
    this.tell();
  }

  seek(time) {
    this.at = Math.min(Math.max(0, time), this.end);
    for (const one of this.media) if (!one.broken) one.element.currentTime = Math.max(0, this.at - one.offset);
    this.onTime(this.at, this.playing);
  }

  toggle() { if (this.playing) this.pause(); else this.play(); }

  play() {
    if (!this.leader) return;
    if (this.over) this.seek(0);
    this.playing = true;
    this.together(); // At once: a browser lets play what a person has just asked for.
    this.run();
  }

  pause() {
    this.playing = false;
    for (const one of this.media) if (!one.broken) one.element.pause();
    this.tell();
  }

  speed(rate) {
    this.rate = rate;
    for (const one of this.media) one.element.playbackRate = rate;
  }

  // Files drift apart: those that follow are set right where they are off by more than can be heard.
  together() {
    const heard = this.heard;
    for (const one of this.media.filter((other) => !other.broken)) {
      if (!this.has(one, this.at)) { one.element.pause(); continue; }
      const want = this.at - one.offset;
      if (one !== heard && Math.abs(one.element.currentTime - want) > 0.2) one.element.currentTime = want;
      if (one.element.paused) one.element.play().catch(() => { if (this.playing && one === this.heard && one.element.paused) this.pause(); });
    }
  }

  run() {
    if (this.running) return;
    this.running = true;
    let before = performance.now();
    const step = (now) => {
      if (this.playing && this.over) this.pause();
      // A page that was out of sight for a while has not been played meanwhile.
      if (this.playing && !this.heard) this.at += this.rate * Math.min(0.25, Math.max(0, now - before) / 1000);
      before = now;
      this.tell();
      if (this.playing) { this.together(); requestAnimationFrame(step); } else this.running = false;
    };
    requestAnimationFrame(step);
  }

  tell() { this.onTime(this.time, this.playing); }
};
