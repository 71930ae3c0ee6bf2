"use strict";
// What is chosen is shown at once; without this script the form's button does it.
for (const form of document.querySelectorAll("form[data-follow]")) {
  form.addEventListener("change", () => form.requestSubmit());
}
