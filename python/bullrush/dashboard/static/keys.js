// Keys: j and k go through the rows, / to the filter, r reads again, ? shows this. Pages work without them.
"use strict";
{
  let at = -1;
  const go = (to) => {
    // The live part of a page may have other rows now.
    const rows = document.querySelectorAll(".rows tbody tr, .walked li, .group");
    const link = rows[to] && rows[to].querySelector("a");
    if (!link) return;
    at = to;
    link.focus();
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    const keys = document.getElementById("keys");
    const filter = document.getElementById("filter");
    if (event.key === "j") go(at + 1);
    else if (event.key === "k") go(Math.max(at - 1, 0));
    else if (event.key === "r") location.reload();
    else if (event.key === "?") keys.open ? keys.close() : keys.showModal();
    else if (event.key === "/" && filter) {
      event.preventDefault();
      filter.focus();
    }
  });
}
