"use strict";
// What the page does besides: it works without this file, but for adding pictures.
(() => {
  const say = (text) => { document.getElementById("message").textContent = text; };

  // Running clocks.
  const words = (seconds) => {
    const minutes = Math.floor(Math.max(0, seconds) / 60);
    return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  };
  const tick = () => {
    for (const clock of document.querySelectorAll("[data-since]")) {
      const text = words((Date.now() - Number(clock.dataset.since)) / 1000);
      if (clock.textContent !== text) clock.textContent = text;
    }
  };
  setInterval(tick, 1000);

  // Loads the page again, and puts in place what has changed; not where somebody is typing.
  const fetchPage = async (path) => {
    const reply = await fetch(path, { headers: { Accept: "text/html" }, credentials: "same-origin" });
    if (reply.status === 404) say("What this page shows was deleted.");
    if (!reply.ok) throw new Error(`The server says ${reply.status}.`);
    return new DOMParser().parseFromString(await reply.text(), "text/html");
  };
  // Fields that nobody has changed here take what somebody has saved elsewhere.
  const refreshFields = (fresh) => {
    for (const was of document.querySelectorAll("[data-live-form] input[name^=was-]")) {
      const other = fresh.querySelector(`[data-live-form] input[name="${CSS.escape(was.name)}"]`);
      const field = was.form.elements[was.name.slice(4)];
      if (!other || !field || other.value === was.value || field === document.activeElement) continue;
      const isBox = field.type === "checkbox";
      if ((isBox ? (field.checked ? "on" : "off") : field.value) !== was.value) continue;
      if (isBox) field.checked = other.value === "on"; else field.value = other.value;
      was.value = other.value;
    }
  };
  let loading = false, again = false;
  const refresh = async () => {
    if (loading) { again = true; return; }
    loading = true;
    try {
      const fresh = await fetchPage(location.href);
      // A server that was started again takes no other.
      const token = document.body.dataset.token = fresh.body.dataset.token;
      for (const field of document.querySelectorAll("input[name=token]")) field.value = token;
      // How the page looks.
      document.documentElement.className = fresh.documentElement.className;
      refreshFields(fresh);
      for (const part of document.querySelectorAll("[data-live]")) {
        const other = fresh.getElementById(part.id);
        if (!other || other.innerHTML === part.innerHTML) continue;
        // What is being pressed would do nothing when it is let go.
        if (part.querySelector(":active")) { again = true; continue; }
        const focus = document.activeElement;
        if (part.contains(focus) && /^(INPUT|TEXTAREA|SELECT)$/.test(focus.tagName)) continue;
        // Nor where somebody has chosen, or has scrolled to what the first page does not have.
        if (part.querySelector("input:checked") || "older" in part.dataset) continue;
        const place = part.contains(focus) ? [...part.querySelectorAll("a, button")].indexOf(focus) : -1;
        part.replaceChildren(...other.childNodes);
        if (place >= 0) (part.querySelectorAll("a, button")[place] || document.getElementById("main")).focus();
      }
      tick();
      watchOlder();
    } catch { /* The stream of events tells when the server is back. */ }
    setTimeout(() => {
      loading = false;
      if (again) { again = false; refresh(); }
    }, 400);
  };

  // What happens elsewhere.
  if ("livePage" in document.body.dataset) {
    // What has happened since the server made this page, or since the connection was lost.
    let isMissing = true;
    const events = new EventSource("/events");
    events.addEventListener("open", () => say(""));
    events.addEventListener("error", () => {
      isMissing = true;
      say("The server does not answer. What you see may be old.");
    });
    events.addEventListener("changed", refresh);
    events.addEventListener("storage", (event) => {
      const reason = JSON.parse(event.data).reason;
      document.getElementById("outage").textContent = reason && `The storage is of no use now: ${reason}`;
      // The first event of a connection is this one: from here on everything is told.
      if (isMissing) { isMissing = false; refresh(); }
    });
    events.addEventListener("file", (event) => {
      const { file, state, text } = JSON.parse(event.data);
      for (const badge of document.querySelectorAll(`[data-file="${CSS.escape(file)}"] [data-badge]`)) {
        badge.className = `badge ${state}`;
        badge.textContent = text.split(":")[0];
        badge.title = text;
      }
    });
    addEventListener("pagehide", () => events.close());
  }

  // Older days, as far as one scrolls. The link to them is the end of the list.
  const watcher = new IntersectionObserver(async (entries) => {
    const link = entries.filter((entry) => entry.isIntersecting).map((entry) => entry.target)[0];
    if (!link) return;
    watcher.disconnect();
    try {
      const page = await fetchPage(link.href);
      const list = link.closest("[data-more]");
      if (!list) return;
      list.dataset.older = "";
      link.parentElement.remove();
      list.append(...page.getElementById(list.id).childNodes);
      watchOlder();
    } catch (error) { say(error.message); }
  }, { rootMargin: "600px" });
  const watchOlder = () => {
    watcher.disconnect();
    const older = document.getElementById("older");
    if (older) watcher.observe(older);
  };
  watchOlder();

  // Pictures: chosen, dropped or pasted; each is the body of one request, three at a time.
  const drop = document.getElementById("drop");
  if (!drop) return;
  drop.hidden = false;
  const list = document.getElementById("uploads");
  const waiting = [];
  let running = 0;
  const kinds = [
    ["image/jpeg", [0xff, 0xd8, 0xff], 0], ["image/png", [0x89, 0x50, 0x4e, 0x47], 0], ["image/gif", [0x47, 0x49, 0x46], 0],
    ["image/webp", [0x57, 0x45, 0x42, 0x50], 8], ["image/avif", [0x66, 0x74, 0x79, 0x70, 0x61, 0x76, 0x69], 4],
    ["image/heic", [0x66, 0x74, 0x79, 0x70], 4],
  ];
  const kind = async (file) => {
    const head = new Uint8Array(await file.slice(0, 12).arrayBuffer());
    const match = kinds.find(([, bytes, start]) => bytes.every((byte, index) => head[start + index] === byte));
    return match ? match[0] : "application/octet-stream";
  };
  const send = (file, type, bar) => new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", drop.dataset.upload);
    request.setRequestHeader("Content-Type", type);
    request.setRequestHeader("X-Journal-Token", document.body.dataset.token);
    request.setRequestHeader("Accept", "application/json");
    request.upload.addEventListener("progress", (event) => { bar.max = event.total; bar.value = event.loaded; });
    request.addEventListener("load", () => {
      if (request.status === 201) return resolve();
      let message = `The server says ${request.status}.`;
      try { message = JSON.parse(request.responseText).message; } catch { /* No sentence came. */ }
      reject(new Error(message));
    });
    request.addEventListener("error", () => reject(new Error("The server does not answer. Try it again.")));
    request.send(file);
  });
  const work = async () => {
    if (running >= 3 || !waiting.length) return;
    running += 1;
    const { file, line, bar, note } = waiting.shift();
    try {
      if (file.size > Number(drop.dataset.limit)) throw new Error("It is too large.");
      note.textContent = "on its way";
      await send(file, await kind(file), bar);
      line.remove();
      refresh();
    } catch (error) {
      bar.remove();
      note.className = "bad";
      note.textContent = error.message;
    }
    running -= 1;
    work();
  };
  const add = (files) => {
    for (const file of files) {
      const line = document.createElement("li"), bar = document.createElement("progress");
      const label = document.createElement("span"), note = document.createElement("span");
      label.textContent = `${file.name || "Pasted picture"}: `;
      note.textContent = "waiting";
      bar.max = file.size || 1;
      bar.value = 0;
      bar.setAttribute("aria-label", file.name || "Pasted picture");
      line.append(label, note, bar);
      list.append(line);
      waiting.push({ file, line, bar, note });
      work();
    }
  };
  const input = document.getElementById("files");
  input.addEventListener("change", () => { add(input.files); input.value = ""; });
  addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
  addEventListener("dragleave", () => drop.classList.remove("over"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    add(event.dataTransfer.files);
  });
  addEventListener("paste", (event) => add(event.clipboardData.files));
  addEventListener("beforeunload", (event) => { if (running) event.preventDefault(); });
})();
