// Completes the line that runs it again with the folder that this page is in. The page itself has the same bytes in any
// folder, so it cannot name one.
"use strict";
(() => {
  if (location.protocol !== "file:") return;
  const path = decodeURIComponent(location.pathname).replace(/\/[^/]*$/, "");
  const quoted = /^[\w./=:,+@%-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
  for (const name of document.querySelectorAll(".folder")) name.textContent = quoted;
  for (const sentence of document.querySelectorAll(".where")) sentence.hidden = true;
})();
