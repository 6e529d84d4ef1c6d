// Takes a fresh copy of the page every two seconds and swaps its live part in. Without this the page reloads itself.
"use strict";
const live = document.getElementById("live");
async function refresh() {
  try {
    const answer = await fetch(location.href, { cache: "no-store" });
    if (answer.ok) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      live.replaceChildren(...page.getElementById("live").childNodes);
      live.dataset.refreshed = 1 + Number(live.dataset.refreshed ?? 0);
    }
    live.classList.toggle("stale", !answer.ok);
  } catch {
    live.classList.add("stale");
  }
}
setInterval(() => { if (!document.hidden) refresh(); }, 2000);
