// Keeps the part of a page that changes up to date: htmx asks every 2 s, unless the tab is hidden or the switch is off.
"use strict";
{
  const button = document.getElementById("live-switch");
  const clock = () => new Date().toTimeString().slice(0, 8);
  const ask = () => htmx.trigger("#live", "every");
  let isPaused = false;
  let shown = null; // the name of what the page shows, of which the server says only whether it has changed

  const say = (text, isWell) => {
    button.textContent = text;
    button.classList.toggle("bad", !isWell);
  };
  if (button) {
    button.hidden = false;
    button.addEventListener("click", () => {
      isPaused = !isPaused;
      button.setAttribute("aria-pressed", String(!isPaused));
      say(isPaused ? `paused at ${clock()}` : "live", true);
      if (!isPaused) ask();
    });
    document.addEventListener("visibilitychange", () => document.hidden || ask());
    document.addEventListener("htmx:config:request", (event) => {
      if (document.hidden || isPaused) event.preventDefault();
      else if (shown) event.detail.ctx.request.headers["If-None-Match"] = shown;
    });
    document.addEventListener("htmx:after:request", (event) => {
      const { status, headers } = event.detail.ctx.response;
      if (isPaused) return event.preventDefault(); // the switch was turned off meanwhile
      shown = headers.get("ETag");
      if (shown) say("live", true);
      else if (!button.classList.contains("bad")) say(`no news since ${clock()}`, false);
    });
    document.addEventListener("htmx:error", () => {
      if (!isPaused && !button.classList.contains("bad")) say(`no answer since ${clock()}`, false);
    });
  }
  // A notice is shown once: who reloads the page or sends its address to somebody means the page without it.
  const here = new URL(location);
  if (here.searchParams.has("done")) {
    here.searchParams.delete("done");
    history.replaceState(null, "", here);
  }
}
