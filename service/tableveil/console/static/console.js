// Follows what is live: the service sends each change, and the page asks for nothing. Everything else works without this.
"use strict";
for (const place of document.querySelectorAll("[data-live]")) {
  const source = new EventSource(place.dataset.live);
  source.onmessage = (event) => { place.innerHTML = event.data; };
  source.addEventListener("end", () => { source.close(); location.reload(); });
}
for (const place of document.querySelectorAll("[data-go]")) location.replace(place.dataset.go);
