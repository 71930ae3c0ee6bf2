"use strict";
// A form is sent once: a second click while the answer is on its way does nothing.
(() => {
  const buttons = (form) => [...form.elements].filter((one) => one.type === "submit");
  for (const form of document.querySelectorAll("form[data-once]")) {
    form.addEventListener("submit", (event) => {
      if (form.dataset.sent) { event.preventDefault(); return; }
      form.dataset.sent = "true";
      // Not "disabled": the button's own value has to be sent along.
      for (const button of buttons(form)) button.setAttribute("aria-disabled", "true");
    });
    // Back from the next page, or the sending was stopped.
    addEventListener("pageshow", () => {
      delete form.dataset.sent;
      for (const button of buttons(form)) button.removeAttribute("aria-disabled");
    });
  }
})();
