"use strict";
// Plays a session's recordings together: one clock in seconds of the session, whatever each file's own clock says.
window.SessionPlayer = class {
  constructor(elements, end, onTime) {
    this.end = end;
    this.onTime = onTime;
    this.manual = 0; // The clock where nothing can be played.
    this.media = elements.map((element) => ({ element, offset: Number(element.dataset.offset) || 0, broken: false }));
    for (const one of this.media) {
      one.element.addEventListener("error", () => this.breaks(one));
      for (const event of ["timeupdate", "seeked", "loadedmetadata"]) one.element.addEventListener(event, () => this.tell());
      one.element.addEventListener("play", () => this.run());
      one.element.addEventListener("pause", () => this.tell());
      one.element.addEventListener("ended", () => { if (one === this.leader) this.pause(); });
    }
  }

  get leader() { return this.media.find((one) => !one.broken); }
  get playing() { const leader = this.leader; return Boolean(leader) && !leader.element.paused; }
  get time() { const leader = this.leader; return leader ? leader.element.currentTime + leader.offset : this.manual; }

  breaks(one) {
    one.broken = true;
    const said = document.createElement("p");
    said.className = "gone";
    said.textContent = "This browser cannot play the recording, or it is no longer there.";
    one.element.replaceWith(said);
    this.tell();
  }

  seek(time) {
    const at = Math.min(Math.max(0, time), this.end);
    this.manual = at;
    for (const one of this.media) if (!one.broken) one.element.currentTime = Math.max(0, at - one.offset);
    this.onTime(at, this.playing);
  }

  toggle() { if (this.playing) this.pause(); else this.play(); }

  play() {
    const leader = this.leader;
    if (!leader) return;
    if (leader.element.ended) this.seek(0);
    for (const one of this.media) if (!one.broken) one.element.play().catch(() => { /* another file may still play */ });
  }

  pause() { for (const one of this.media) if (!one.broken) one.element.pause(); this.tell(); }

  speed(rate) { for (const one of this.media) one.element.playbackRate = rate; }

  // Files drift apart: those that follow are set right where they are off by more than can be heard.
  together() {
    const time = this.time, playing = this.playing;
    for (const one of this.media.filter((other) => !other.broken && other !== this.leader)) {
      const want = time - one.offset, inside = want >= 0 && !(want > one.element.duration);
      if (inside && Math.abs(one.element.currentTime - want) > 0.2) one.element.currentTime = want;
      if (!inside && !one.element.paused) one.element.pause();
      if (inside && playing && one.element.paused) one.element.play().catch(() => {});
    }
  }

  run() {
    if (this.running) return;
    this.running = true;
    const step = () => {
      this.tell();
      if (this.playing) { this.together(); requestAnimationFrame(step); } else this.running = false;
    };
    requestAnimationFrame(step);
  }

  tell() { this.onTime(this.time, this.playing); }
};
